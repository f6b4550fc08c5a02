/* Records into a store: what rows come of them, and what is left when it goes wrong.  */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libstore/store_internal.h"
#include "tests/support/profile_records.h"
#include "tests/support/stores.h"

static const uint64_t deep[] = { 0x1000, 0x1801, 0x9001, 0xffffffff80000001 };
static const uint64_t other[] = { 0x1800, 0x5001 };

/* Import records as the trace whose only bytes are those of text: no assertions inside.  */
static enum store_status import(struct store *store, const char *text,
                                const struct fxt_record *records, size_t count,
                                struct store_error *error)
{
    struct store_import_options options = { .size = sizeof options, .name = text };
    struct fxt_bytes bytes = { (const uint8_t *)text, strlen(text) };
    struct store_import *in = NULL;
    enum store_status status = store_import_open(store, &options, &in, error);

    for (size_t i = 0; i < count && status == STORE_OK; i++, bytes.length = 0)
        status = store_import_record(in, &records[i], bytes, error);
    if (status == STORE_OK)
        status = store_import_finish(in, NULL, error);
    store_import_close(in);
    return status;
}

static void import_well(struct store *store, const char *text, const struct fxt_record *records,
                        size_t count)
{
    struct store_error error = { .status = STORE_OK };

    ck_assert_msg(import(store, text, records, count, &error) == STORE_OK, "%s", error.message);
}

/* ---- Samples ---- */

/* The root first.  */
#define STACK_OF(where)                                                                   \
    "WITH RECURSIVE up(n, id, text) AS (SELECT s.id, c.parent_id, f.name FROM "           \
    "cpu_sample AS s JOIN callsite AS c ON c.id = s.callsite_id JOIN frame_name AS f ON " \
    "f.id = c.frame_id UNION ALL SELECT n, c.parent_id, f.name || '>' || text FROM up "   \
    "JOIN callsite AS c ON c.id = up.id JOIN frame_name AS f ON f.id = c.frame_id) "      \
    "SELECT text FROM up WHERE id IS NULL " where " ORDER BY n"

/* Samples first, modules last, times backwards: as Fuchsia's profiler writes.  */
START_TEST(names_modules_that_come_after_their_samples)
{
    struct fxt_record records[] = {
        backtrace_record(30, 1, 1, deep, 2),     backtrace_record(10, 1, 1, other, 2),
        backtrace_record(20, 1, 1, deep, 2),     module_record(1, 0, "/bin/app", "AA"),
        mapping_record(1, 0, 0x1000, 0x1000, 0), module_record(1, 1, "lib.so", "BB"),
        mapping_record(1, 1, 0x5000, 0x1000, 0),
    };
    struct store *store = new_store(NULL);

    import_well(store, "late", records, COUNT_OF(records));
    ck_assert_rows(store, "SELECT ts FROM cpu_sample ORDER BY id", "10;20;30;");
    ck_assert_rows(store, STACK_OF(""), "[lib.so]>[app];[app]>[app];[app]>[app];");
    ck_assert_int_eq(row_number(store, "SELECT samples_ordered FROM capture"), 1);
    ck_assert_rows(store, "SELECT n || ' ' || typeof(value) FROM callsite_sum ORDER BY n",
                   "1 null;2 null;");
    ck_assert_rows(store,
                   "SELECT printf('%s %x', build_id, vaddr) FROM mapping JOIN module ON "
                   "module.id = module_id",
                   "4141 0;4242 0;");
    store_close(store);
}
END_TEST

/* Of a capture of ours samples are written while it is read: also where one of them needs what
 * comes later, and where they are a little out of order.  */
START_TEST(writes_early_what_is_known_early)
{
    struct fxt_arg args[] = { u64_arg("period_ns", 7) };
    struct fxt_record records[] = {
        event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, 1),
        module_record(1, 0, "app", "AA"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(20, 1, 1, deep, 2),
        backtrace_record(10, 1, 1, deep, 2),
        backtrace_record(30, 1, 1, other, 2), /* 0x5000 is in no module yet */
        backtrace_record(25, 1, 1, deep, 2),
        module_record(1, 1, "late.so", "BB"),
        mapping_record(1, 1, 0x5000, 0x1000, 0),
        backtrace_record(40, 1, 1, other, 2),
    };
    struct store *store = new_store(NULL);

    import_well(store, "ours", records, COUNT_OF(records));
    ck_assert_rows(store, "SELECT ts || ' ' || weight FROM cpu_sample ORDER BY id",
                   "10 7;20 7;25 7;30 7;40 7;");
    ck_assert_rows(store, STACK_OF("AND n > 3"), "[late.so]>[app];[late.so]>[app];");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM callsite"), 4);
    ck_assert_rows(store, "SELECT n || ' ' || value FROM callsite_sum ORDER BY n", "2 14;3 21;");
    store_close(store);
}
END_TEST

/* Two processes with the same module at different places, in two captures: one stack.  */
START_TEST(stores_a_stack_once_whoever_had_it)
{
    static const uint64_t elsewhere[] = { 0x71000, 0x71801 };
    struct fxt_record first[] = {
        module_record(1, 0, "app", "AA"),         mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, deep, 2),       module_record(2, 0, "app", "AA"),
        mapping_record(2, 0, 0x71000, 0x1000, 0), backtrace_record(2, 2, 5, elsewhere, 2),
    };
    struct fxt_record second[] = {
        backtrace_record(3, 2, 5, elsewhere, 2),
        module_record(2, 0, "app", "AA"),
        mapping_record(2, 0, 0x71000, 0x1000, 0),
        process_record(2, "second"),
    };
    struct store *store = new_store(NULL);

    import_well(store, "first", first, COUNT_OF(first));
    import_well(store, "second", second, COUNT_OF(second));
    ck_assert_int_eq(row_number(store, "SELECT count(DISTINCT callsite_id) FROM cpu_sample"), 1);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM callsite"), 2);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM module"), 1);
    ck_assert_rows(store,
                   "SELECT capture_id || ' ' || pid || ' ' || coalesce(name, '-') FROM "
                   "process ORDER BY id",
                   "1 1 -;1 2 -;2 2 second;");
    ck_assert_rows(store, "SELECT capture_id || ' ' || upid || ' ' || n FROM callsite_sum",
                   "1 1 1;1 2 1;2 3 1;");
    store_close(store);
}
END_TEST

/* ---- Once, or not at all ---- */

static const struct fxt_record *sample(void)
{
    static struct fxt_record record;

    record = backtrace_record(1, 1, 1, deep, 2);
    return &record;
}

START_TEST(takes_a_capture_once)
{
    struct store_error error = { .status = STORE_OK };
    struct store *store = new_store(NULL);

    import_well(store, "bytes", sample(), 1);
    import_well(store, "others", sample(), 1);
    ck_assert_int_eq(import(store, "bytes", sample(), 1, &error), STORE_KNOWN);
    ck_assert_str_eq(error.message, "the store has this capture already");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"), 2);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM cpu_sample"), 2);
    store_close(store);
}
END_TEST

static void make_file(void)
{
    struct store *store = new_store("s");

    import_well(store, "made", sample(), 1);
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    store_close(store);
}

START_TEST(leaves_nothing_of_an_import_that_was_given_up)
{
    struct store_import *in = NULL;
    struct store *store;

    enter_folder();
    make_file();
    store = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(store_import_open(store, NULL, &in, NULL), STORE_OK);
    ck_assert_int_eq(store_import_record(in, sample(), (struct fxt_bytes){ NULL, 0 }, NULL),
                     STORE_OK);
    store_import_close(in);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM process"), 1);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM cpu_sample"), 1);
    store_close(store);
    leave_folder();
}
END_TEST

START_TEST(gives_a_store_its_name_when_it_is_complete)
{
    struct store_error error = { .status = STORE_OK };
    struct store *store, *second = NULL;

    enter_folder();
    store = new_store("s");
    ck_assert_int_ne(access("s", F_OK), 0);
    ck_assert_int_eq(store_create("s", NULL, &second, &error), STORE_BUSY);
    ck_assert_str_eq(error.message, "another program is making the store");
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    ck_assert_int_eq(access("s", F_OK), 0);
    ck_assert_int_ne(access("s.part", F_OK), 0);
    ck_assert_int_eq(store_create("s", NULL, &second, NULL), STORE_EXISTS);
    store_close(store);
    ck_assert(store_is_database("s"));
    leave_folder();
}
END_TEST

/* What another process finds when it wants to write to the store.  */
static int write_from_another_process(void)
{
    sqlite3 *db = NULL;
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (sqlite3_open("s", &db) != SQLITE_OK)
            _exit(255);
        _exit(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) & 0xff);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

START_TEST(a_look_at_an_open_store_keeps_its_locks)
{
    struct store *store;

    enter_folder();
    store = new_store("s");
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    store_close(store);
    store = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store), "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(write_from_another_process(), SQLITE_BUSY);
    ck_assert(store_is_database("s"));
    ck_assert(store_is_database("./s"));
    ck_assert_int_eq(symlink("s", "link"), 0);
    ck_assert(store_is_database("link"));
    ck_assert_int_eq(write_from_another_process(), SQLITE_BUSY);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store), "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(write_from_another_process(), SQLITE_OK);
    store_close(store);
    ck_assert_int_eq(unlink("link"), 0);
    leave_folder();
}
END_TEST

START_TEST(what_is_no_regular_file_of_sqlite_is_no_database)
{
    enter_folder();
    ck_assert(!store_is_database("s"));
    ck_assert(!store_is_database("."));
    ck_assert(!store_is_database(""));
    ck_assert_int_eq(mkfifo("s", 0600), 0);
    ck_assert(!store_is_database("s"));
    ck_assert_int_eq(unlink("s"), 0);
    ck_assert_int_eq(close(open("s", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    ck_assert(!store_is_database("s"));
    leave_folder();
}
END_TEST

START_TEST(replaces_what_a_killed_import_left)
{
    struct store *store;
    FILE *left;

    enter_folder();
    left = fopen("s.part", "w");
    ck_assert_ptr_nonnull(left);
    (void)fputs("half a store", left);
    (void)fclose(left);
    store = new_store("s");
    import_well(store, "made", sample(), 1);
    store_close(store);
    ck_assert_int_ne(access("s.part", F_OK), 0);
    ck_assert_int_ne(access("s", F_OK), 0);
    leave_folder();
}
END_TEST

START_TEST(writes_nothing_to_a_store_that_is_read)
{
    struct store_import *in = NULL;
    struct store *store;

    enter_folder();
    make_file();
    store = reopen_store("s", STORE_READ);
    ck_assert_int_eq(store_import_open(store, NULL, &in, NULL), STORE_INVALID);
    ck_assert_int_ne(sqlite3_exec(store_sqlite(store), "DELETE FROM capture", NULL, NULL, NULL),
                     SQLITE_OK);
    store_close(store);
    leave_folder();
}
END_TEST

/* A provider without a name is the only text of its batch.  */
START_TEST(keeps_a_text_that_is_empty)
{
    struct fxt_record records[] = { { .kind = FXT_RECORD_PROVIDER_SECTION,
                                      .value.provider.id = 7 } };
    struct store *store = new_store(NULL);

    import_well(store, "made", records, 1);
    ck_assert_rows(store, "SELECT provider_id || name || '.' FROM provider", "7.;");
    store_close(store);
}
END_TEST

/* ---- Files of others ---- */

static const struct {
    const char *name;
    const char *sql;
    const char *message; /* "": the import goes well */
} changes[] = {
    { "a module that is not there", "UPDATE frame SET module_id = 9",
      "the store is corrupt: a row refers to 9, which is not there" },
    { "a gap", "DELETE FROM frame WHERE id = 1", "the store is corrupt: frame 2 is out of place" },
    { "an id at the end", "INSERT INTO log VALUES (9223372036854775807, 1, 1, '')",
      "the store is corrupt: ids of log out of range" },
    { "a table less", "DROP TABLE thread", "the store is corrupt: thread is missing" },
    { "a trigger", "CREATE TRIGGER t AFTER INSERT ON cpu_sample BEGIN DELETE FROM capture; END",
      "" },
    { "another index", "CREATE INDEX mine ON cpu_sample (utid)", "" },
    { "tables and views of the user's own",
      "CREATE TABLE mine (x); CREATE VIEW slowest AS SELECT * FROM slice ORDER BY dur DESC", "" },
    { "other comments and blanks",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', "
      "'NOT -- a comment' || char(10, 9) || 'NULL')",
      "" },
    { "a view for a table",
      "DROP TABLE frame; CREATE VIEW frame AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT "
      "id + 1 FROM n) SELECT id, NULL AS module_id, id AS vaddr FROM n",
      "the store is corrupt: frame is not what stores have under that name" },
    { "another view, which is made anew",
      "DROP VIEW sched; CREATE VIEW sched AS SELECT load_extension('./evil') AS id", "" },
    { "a view less", "DROP VIEW sched", "" },
    { "a table for a view", "DROP VIEW sched; CREATE TABLE sched (id)",
      "the store is corrupt: sched is not what stores have under that name" },
    { "a virtual table", "DROP TABLE log; CREATE VIRTUAL TABLE log USING fts5 (message)",
      "the store is corrupt: log is not what stores have under that name" },
    { "another column", "ALTER TABLE module ADD COLUMN x BLOB AS (zeroblob(1000000000)) VIRTUAL",
      "the store is corrupt: module is not what stores have under that name" },
    { "a default",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT', "
      "'name TEXT DEFAULT (hex(zeroblob(1e9)))') WHERE name = 'thread'",
      "the store is corrupt: thread is not what stores have under that name" },
    { "a comment within a text",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '''[unknown]''', "
      "'''[-- x' || char(10) || 'unknown]''') WHERE name = 'frame_name'",
      "" },
    { "an index less", "DROP INDEX callsite_by_parent",
      "the store is corrupt: callsite_by_parent is missing" },
};

/* Open the store s and import into it.  */
static enum store_status append(const struct fxt_record *records, size_t count,
                                struct store_error *error)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct store *store = NULL;
    enum store_status status = store_open("s", &options, &store, error);

    if (status == STORE_OK)
        status = import(store, "more", records, count, error);
    store_close(store);
    return status;
}

START_TEST(trusts_no_store)
{
    struct store_error error = { .status = STORE_OK, .message = "" };
    struct fxt_record records[] = { module_record(1, 0, "app", "AA"),
                                    mapping_record(1, 0, 0x1000, 0x1000, 0), *sample() };
    sqlite3_stmt *row = NULL;
    struct store *store;
    sqlite3 *db = NULL;

    enter_folder();
    store = new_store("s");
    import_well(store, "made", records, COUNT_OF(records));
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    store_close(store);
    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, changes[_i].sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    (void)sqlite3_close(db);
    ck_assert_int_eq(append(records, COUNT_OF(records), &error),
                     changes[_i].message[0] ? STORE_CORRUPT : STORE_OK);
    ck_assert_str_eq(error.message, changes[_i].message);
    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT count(*) FROM capture", -1, &row, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(row, 0), changes[_i].message[0] ? 1 : 2);
    (void)sqlite3_finalize(row);
    /* Views were made anew, if they were not ours.  */
    ck_assert_int_eq(sqlite3_prepare_v2(db,
                                        "SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND"
                                        " (sql LIKE '%-- x%' OR sql LIKE '%evil%')",
                                        -1, &row, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(row, 0), 0);
    (void)sqlite3_finalize(row);
    (void)sqlite3_close(db);
    leave_folder();
}
END_TEST

/* ---- Versions ---- */

static const struct store_migration steps[] = {
    { "CREATE TABLE added_by_2 (x)" },
    { "INSERT INTO added_by_2 VALUES ('by 3')" },
};
static const struct store_migration broken[] = {
    { "CREATE TABLE added_by_2 (x)" },
    { "INSERT INTO nowhere VALUES (1)" },
};

START_TEST(brings_an_old_store_up_to_date_step_by_step)
{
    struct store *store = new_store(NULL);

    ck_assert_int_eq(store_run(store, "PRAGMA user_version = 1", NULL), STORE_OK);
    ck_assert_int_eq(store_migrate(store, steps, 2, NULL), STORE_OK);
    ck_assert_int_eq(row_number(store, "PRAGMA user_version"), 3);
    ck_assert_rows(store, "SELECT x FROM added_by_2", "by 3;");
    ck_assert_int_eq(store_migrate(store, steps, 2, NULL), STORE_OK); /* nothing to do */
    ck_assert_rows(store, "SELECT x FROM added_by_2", "by 3;");
    store_close(store);
}
END_TEST

START_TEST(leaves_an_old_store_as_it_is_when_a_step_fails)
{
    struct store *store = new_store(NULL);

    ck_assert_int_eq(store_run(store, "PRAGMA user_version = 1", NULL), STORE_OK);
    ck_assert_int_eq(store_migrate(store, broken, 2, NULL), STORE_CORRUPT);
    ck_assert_int_eq(row_number(store, "PRAGMA user_version"), 1);
    ck_assert_int_eq(
        row_number(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'added_by_2'"), 0);
    store_close(store);
}
END_TEST

static const struct {
    const char *sql;
    enum store_status status;
    const char *message;
} versions[] = {
    { "PRAGMA user_version = 1000", STORE_TOO_NEW,
      "a store of version 1000, made by a later fxtq" },
    { "PRAGMA user_version = 0", STORE_NOT_STORE, "an SQLite database, but not a store of fxtq" },
    { "PRAGMA application_id = 7", STORE_NOT_STORE, "an SQLite database, but not a store of fxtq" },
};

START_TEST(refuses_versions_it_does_not_know)
{
    struct store_error error = { .status = STORE_OK };
    struct store *store = NULL;
    sqlite3 *db = NULL;

    enter_folder();
    make_file();
    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, versions[_i].sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    ck_assert_int_eq(store_open("s", NULL, &store, &error), versions[_i].status);
    ck_assert_int_eq(strncmp(error.message, versions[_i].message, strlen(versions[_i].message)), 0);
    leave_folder();
}
END_TEST

START_TEST(an_empty_file_is_no_store)
{
    static const enum store_mode modes[] = { STORE_READ, STORE_APPEND };
    struct store_error error = { .status = STORE_OK };
    struct store *store = NULL;

    enter_folder();
    (void)fclose(fopen("s", "w"));
    for (size_t i = 0; i < 2; i++) {
        struct store_options options = { .size = sizeof options, .mode = modes[i] };

        ck_assert_int_eq(store_open("s", &options, &store, &error), STORE_NOT_STORE);
        ck_assert_str_eq(error.message, "empty, not a store");
        ck_assert_ptr_null(store);
    }
    leave_folder();
}
END_TEST

/* ---- Memory ---- */

/* Each allocation fails once; then there is a status, and the store is as it was or complete.  */
struct trace {
    const struct fxt_record *records;
    size_t count;
};

static enum store_status import_trace(struct store *store, const void *context,
                                      struct store_error *error)
{
    const struct trace *trace = context;

    return import(store, "bytes", trace->records, trace->count, error);
}

START_TEST(survives_every_failed_allocation)
{
    struct fxt_arg args[] = { u64_arg("period_ns", 7), string_arg("command", "app"),
                              u64_arg("n", 1) };
    struct fxt_record records[] = {
        event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, 2),
        process_record(1, "app"),
        backtrace_record(3, 1, 1, deep, 4),
        module_record(1, 0, "app", "AA"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, other, 2),
        complete_record(5, 6, 1, 1, "inner"),
        complete_record(5, 9, 1, 1, "outer"),
        event_record(FXT_EVENT_COUNTER, "c", "counter", args + 2, 1),
    };
    const struct trace trace = { records, COUNT_OF(records) };
    struct store *store = new_store(NULL);

    import_well(store, "before", sample(), 1);
    ck_assert_uint_gt(fail_every_allocation(store, "cpu_sample", import_trace, &trace), 50);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM cpu_sample"), 3);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_import");
    TCase *imports = tcase_create("imports");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(imports, 60);
    tcase_add_test(imports, names_modules_that_come_after_their_samples);
    tcase_add_test(imports, writes_early_what_is_known_early);
    tcase_add_test(imports, stores_a_stack_once_whoever_had_it);
    tcase_add_test(imports, takes_a_capture_once);
    tcase_add_test(imports, leaves_nothing_of_an_import_that_was_given_up);
    tcase_add_test(imports, gives_a_store_its_name_when_it_is_complete);
    tcase_add_test(imports, a_look_at_an_open_store_keeps_its_locks);
    tcase_add_test(imports, what_is_no_regular_file_of_sqlite_is_no_database);
    tcase_add_test(imports, replaces_what_a_killed_import_left);
    tcase_add_test(imports, writes_nothing_to_a_store_that_is_read);
    tcase_add_test(imports, keeps_a_text_that_is_empty);
    tcase_add_loop_test(imports, trusts_no_store, 0, (int)COUNT_OF(changes));
    tcase_add_test(imports, brings_an_old_store_up_to_date_step_by_step);
    tcase_add_test(imports, leaves_an_old_store_as_it_is_when_a_step_fails);
    tcase_add_loop_test(imports, refuses_versions_it_does_not_know, 0, (int)COUNT_OF(versions));
    tcase_add_test(imports, an_empty_file_is_no_store);
    tcase_add_test(imports, survives_every_failed_allocation);
    suite_add_tcase(suite, imports);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
