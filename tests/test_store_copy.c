/* An older store is read from an upgraded copy: the rows that an upgrade gives, and no change.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"
#include "tests/support/stores.h"

static const uint64_t pcs[] = { 0x1000, 0x1801, 0x9001 };

#define VIEW(statement) "DROP VIEW stats; CREATE VIEW stats AS " statement

/* A store of each former version, as far as these rows differ.  */
static const struct {
    const char *sql;
    int version;
} olds[] = {
    { "DROP TABLE sample_event; PRAGMA user_version = 1;"
      "UPDATE track SET name = 'counter:n' WHERE type = 'counter'",
      1 },
    { "DROP TABLE sample_event; PRAGMA user_version = 2; UPDATE capture SET first_sched_id = 77",
      2 },
    { "DROP TABLE sample_event; PRAGMA user_version = 3", 3 },
    { VIEW("SELECT kind AS name FROM damage"), STORE_VERSION },
    { "DROP TABLE sample_event; PRAGMA user_version = 3; PRAGMA page_size = 512; VACUUM", 3 },
    { "DROP TABLE sample_event; PRAGMA user_version = 3; PRAGMA page_size = 65536; VACUUM", 3 },
    { "DROP TABLE sample_event; PRAGMA user_version = 3; PRAGMA journal_mode = WAL", 3 },
};

static void change(const char *sql)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

static void make(const char *sql)
{
    struct fxt_arg args[] = { u64_arg("n", 1) };
    struct fxt_record records[] = {
        process_record(1, "app"),
        module_record(1, 0, "/nowhere/app", "AA"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(3, 1, 1, pcs, 3),
        complete_record(5, 9, 1, 1, "outer"),
        event_record(FXT_EVENT_COUNTER, "c", "counter", args, 1),
    };

    make_store("s", "made", records, COUNT_OF(records));
    change(sql);
}

/* The bytes of the store, for free().  */
static char *contents(size_t *size)
{
    FILE *file = fopen("s", "rb");
    struct stat info;
    char *bytes;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &info), 0);
    *size = (size_t)info.st_size;
    bytes = malloc(*size);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    (void)fclose(file);
    return bytes;
}

/* SQLite leaves them where a connection only reads.  */
static void remove_wal(void)
{
    (void)unlink("s-wal");
    (void)unlink("s-shm");
}

/* The copy is made here, where leave_folder() finds what is left of it.  */
static enum store_status open_old(struct store **out, struct store_error *error)
{
    struct store_options options = { .size = sizeof options, .temporary_dir = "." };

    return store_open("s", &options, out, error);
}

static const char rows[] =
    "SELECT name FROM track UNION ALL SELECT first_sched_id FROM capture UNION ALL "
    "SELECT name FROM slice UNION ALL SELECT sample_type_id FROM cpu_sample UNION ALL "
    "SELECT count(*) FROM stats UNION ALL SELECT count(*) FROM sample_event";

START_TEST(gives_the_rows_that_an_upgrade_gives)
{
    struct store_error error = { .message = "" };
    struct store *store = NULL;
    size_t before_size, after_size;
    char *before, *after, *read;

    make(olds[_i].sql);
    before = contents(&before_size);
    ck_assert_msg(open_old(&store, &error) == STORE_OK, "%s", error.message);
    ck_assert_int_eq(store_upgraded_from(store), olds[_i].version);
    read = row_texts(store, rows);
    ck_assert_ptr_nonnull(strstr(read, "outer;"));
    /* Of another state than the tables now.  */
    ck_assert_int_eq(store_serve_columns(store, NULL), STORE_OK);
    ck_assert_ptr_null(store->serving);
    store_close(store);
    after = contents(&after_size);
    ck_assert_uint_eq(before_size, after_size);
    ck_assert_mem_eq(before, after, after_size);
    store_close(reopen_store("s", STORE_APPEND));
    store = reopen_store("s", STORE_READ);
    ck_assert_int_eq(store_upgraded_from(store), 0);
    ck_assert_rows(store, rows, read);
    store_close(store);
    free(before);
    free(after);
    free(read);
    remove_wal();
}
END_TEST

START_TEST(a_copy_cannot_be_written)
{
    struct store *store = NULL;

    make(olds[0].sql);
    ck_assert_int_eq(open_old(&store, NULL), STORE_OK);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store), "DELETE FROM capture", NULL, NULL, NULL) &
                         0xff,
                     SQLITE_READONLY);
    ck_assert_int_eq(
        sqlite3_exec(store_sqlite(store), "CREATE TEMP TABLE mine AS SELECT 1", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_rows(store, "SELECT count(*) FROM capture", "1;");
    store_close(store);
}
END_TEST

START_TEST(refuses_an_older_store_on_request)
{
    struct store_options options = { .size = sizeof options, .refuses_old = true };
    struct store_error error = { .message = "" };
    struct store *store = NULL;

    make(olds[_i].sql);
    ck_assert_int_eq(store_open("s", &options, &store, &error), STORE_TOO_OLD);
    ck_assert_ptr_nonnull(strstr(error.message, "'fxtq upgrade' makes it"));
    ck_assert_ptr_null(store);
    remove_wal();
}
END_TEST

/* Changes that damage an older store, or that put a table of the user where the upgrade makes one,
 * and a part of the message.  */
static const struct {
    const char *sql, *message;
} bad[] = {
    { "DROP TABLE sample_event; CREATE TABLE sample_event (mine)", "rename it" },
    { "DROP TABLE sample_event; DROP TABLE log", "the store is corrupt: log is missing" },
    { "DROP TABLE sample_event; DROP TABLE cpu_sample; CREATE VIEW cpu_sample AS SELECT 1 AS id",
      "the store is corrupt: cpu_sample" },
    { "DROP TABLE sample_event; DROP VIEW slices; CREATE TABLE slices (a)",
      "the store is corrupt" },
};

START_TEST(damage_of_an_older_store_is_reported_as_by_an_upgrade)
{
    struct store_error error = { .message = "" }, other = { .message = "" };
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct store *store = NULL;

    make(bad[_i].sql);
    change("PRAGMA user_version = 3");
    ck_assert_int_eq(open_old(&store, &error), STORE_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.message, bad[_i].message));
    ck_assert_int_eq(store_open("s", &options, &store, &other), STORE_CORRUPT);
    ck_assert_str_eq(error.message, other.message);
}
END_TEST

START_TEST(names_the_upgrade_where_no_copy_can_be_made)
{
    struct store_options options = { .size = sizeof options, .temporary_dir = "/nowhere" };
    struct store_error error = { .message = "" };
    struct store *store = NULL;

    make(olds[0].sql);
    ck_assert_int_eq(store_open("s", &options, &store, &error), STORE_IO);
    ck_assert_str_eq(error.message,
                     "a store of version 1, which is read from an upgraded copy in $TMPDIR: cannot "
                     "make a file: No such file or directory; 'fxtq upgrade' makes the copy "
                     "unnecessary");
}
END_TEST

START_TEST(every_failing_allocation_is_reported)
{
    unsigned long failures = 0, asked, n = 1;
    struct store *store;

    allocation_take_sqlite();
    make(olds[0].sql);
    do {
        struct store_error error = { .message = "" };
        enum store_status status;

        store = NULL;
        allocation_fail_at(n);
        status = open_old(&store, &error);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "allocation %lu: %d, %s", n,
                      (int)status, error.message);
        if (status == STORE_OK)
            ck_assert_rows(store, "SELECT name FROM track WHERE type = 'counter'", "counter:n:0;");
        failures += status != STORE_OK;
        store_close(store);
    } while (asked >= n && (n += 1 + n / 30)); /* late ones are much alike */
    ck_assert_uint_gt(failures, 50);
    store = reopen_store("s", STORE_READ);
    ck_assert_int_eq(store_upgraded_from(store), 1);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_copy");
    TCase *copies = tcase_create("copies");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(copies, 120);
    tcase_add_checked_fixture(copies, enter_folder, leave_folder);
    tcase_add_loop_test(copies, gives_the_rows_that_an_upgrade_gives, 0, (int)COUNT_OF(olds));
    tcase_add_test(copies, a_copy_cannot_be_written);
    tcase_add_loop_test(copies, refuses_an_older_store_on_request, 0, (int)COUNT_OF(olds));
    tcase_add_loop_test(copies, damage_of_an_older_store_is_reported_as_by_an_upgrade, 0,
                        (int)COUNT_OF(bad));
    tcase_add_test(copies, names_the_upgrade_where_no_copy_can_be_made);
    tcase_add_test(copies, every_failing_allocation_is_reported);
    suite_add_tcase(suite, copies);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
