/* Columns whose blocks are damaged after a connection has begun to read them: the rows are those of
 * the plain tables, which answer alone when much is damaged, and also when allocations fail.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libstore/columns_read.h"
#include "tests/support/allocation.h"
#include "tests/support/stores.h"

#define ROWS    "60000" /* 15 groups of blocks */
#define NEXT(n) ((n) + 1 + (n) / 30)

static const char fill[] =
    "BEGIN;"
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, first_sample_id, "
    "sample_count, samples_ordered, first_slice_id, slice_count, first_sched_id, sched_count) "
    "VALUES (1, x'00', 'made', 'fxt', 0, 0, 1, 0, 1, 1, " ROWS ", 1, 0);"
    "INSERT INTO track (id, capture_id, type) VALUES (1, 1, 'thread');"
    "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, 'c', 'a');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " ROWS ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant) SELECT i, "
    "1000 * i, i * 7919 % 60013, 1, 1 + i * 31 % 17 % 2, i % 3, nullif(i % 9001, 0), 0 FROM n;"
    "COMMIT";

static const char *const questions[] = {
    "SELECT count(*), sum(dur), min(dur), max(parent_id) FROM slice",
    "SELECT name, count(*), sum(dur), max(parent_id) FROM slice GROUP BY name ORDER BY name",
    "SELECT * FROM slice ORDER BY dur DESC, id LIMIT 5",
    "SELECT * FROM slice WHERE id IN (5, 20000, 59999)",
    "SELECT s.id, p.dur FROM slice AS s JOIN slice AS p ON p.id = s.parent_id WHERE s.id % 5e3 = 1",
    "SELECT sum(s.id) FROM slice s JOIN slice p ON p.id = s.parent_id WHERE s.dur - 7 > p.dur",
    "SELECT count(*), sum(id) FROM slice WHERE dur BETWEEN 100 AND 30000 AND depth = 1",
    ("SELECT sum(n) FROM slice AS s LEFT JOIN (SELECT parent_id, sum(dur) AS n FROM slice GROUP BY "
     "parent_id) AS c ON c.parent_id = s.id"),
    "SELECT sum(n) FROM (SELECT lead(ts) OVER (PARTITION BY depth ORDER BY ts) AS n FROM slice)",
};

/* The store as it was made, and with every block of slice_data damaged.  */
static struct {
    char *good, *bad;
    size_t size;
} file;

static void write_file(const char *bytes)
{
    FILE *out = fopen("s", "r+b");

    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, file.size, out), file.size);
    ck_assert_int_eq(fclose(out), 0);
}

static char *read_file(void)
{
    FILE *in = fopen("s", "rb");
    struct stat info;
    char *bytes;

    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(fstat(fileno(in), &info), 0);
    file.size = (size_t)info.st_size;
    bytes = malloc(file.size);
    ck_assert_uint_eq(fread(bytes, 1, file.size, in), file.size);
    (void)fclose(in);
    return bytes;
}

static void run(const char *sql)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static void make(void)
{
    struct store *store = new_store("s");
    struct store_error error = { .message = "" };

    ck_assert_int_eq(store_publish(store, &error), STORE_OK);
    store_close(store);
    run(fill);
    store = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(store_make_columns(store, NULL, &error), STORE_OK);
    store_close(store);
    file.good = read_file();
    run("UPDATE column_data SET data = CAST(substr(data, 1, length(data) - 1) || "
        "iif(substr(data, -1) = x'00', x'01', x'00') AS BLOB) WHERE id >= 16");
    file.bad = read_file();
    /* The first page has SQLite's count of changes, of which the columns are.  */
    memcpy(file.bad, file.good, 100);
    write_file(file.good);
}

static void release(void)
{
    free(file.good);
    free(file.bad);
    leave_folder();
}

static void begin(void)
{
    allocation_take_sqlite();
    enter_folder();
    make();
}

/* No assertions inside: allocations may fail.  */
static int ask(struct store *store, const char *sql, char text[4096])
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    size_t used = 0;
    int code = store_prepare_once(store, sql, &statement, &rest)
                   ? SQLITE_OK
                   : sqlite3_errcode(store_sqlite(store));

    text[0] = '\0';
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = SQLITE_OK;
        for (int i = 0; i < sqlite3_column_count(statement) && used < 4000; i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);

            if (!value && sqlite3_column_type(statement, i) != SQLITE_NULL)
                code = SQLITE_NOMEM;
            used += (size_t)snprintf(text + used, 4096 - used, "%.40s;", value ? value : "NULL");
        }
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static struct store *open_served(void)
{
    struct store *store = reopen_store("s", STORE_READ);

    ck_assert_int_eq(store_serve_columns(store, NULL), STORE_OK);
    return store;
}

static int64_t served(struct store *store)
{
    return row_number(store, "SELECT count(*) FROM temp.sqlite_schema WHERE name IN ('slice', "
                             "'slice_data')");
}

static void expect(const char *sql, char text[4096])
{
    struct store *store = reopen_store("s", STORE_READ);

    ck_assert_int_eq(ask(store, sql, text), SQLITE_OK);
    ck_assert_uint_gt(strlen(text), 3);
    store_close(store);
}

START_TEST(damage_changes_no_answer)
{
    static char expected[4096], text[4096];
    struct store *store;

    expect(questions[_i], expected);
    store = open_served();
    ck_assert_int_eq(served(store), 2);
    write_file(file.bad);
    ck_assert_int_eq(ask(store, questions[_i], text), SQLITE_OK);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_gt(store_columns_damaged(store), 0);
    /* Once more: from the blocks that were made again, or from the plain tables.  */
    ck_assert_int_eq(ask(store, questions[_i], text), SQLITE_OK);
    ck_assert_str_eq(text, expected);
    store_close(store);
}
END_TEST

START_TEST(the_plain_table_takes_over_after_much_damage)
{
    static char text[4096];
    struct store *store = open_served();
    uint64_t damaged;

    write_file(file.bad);
    ck_assert_int_eq(ask(store, questions[0], text), SQLITE_OK);
    ck_assert_int_eq(ask(store, questions[1], text), SQLITE_OK);
    ck_assert_int_eq(served(store), 0);
    damaged = store_columns_damaged(store);
    ck_assert_uint_ge(damaged, 8);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        ck_assert_int_eq(ask(store, questions[i], text), SQLITE_OK);
    ck_assert_uint_eq(store_columns_damaged(store), damaged);
    store_close(store);
}
END_TEST

START_TEST(the_plain_table_answers_if_damage_is_found_at_first)
{
    static char expected[4096], text[4096];
    struct store *store;

    expect(questions[_i], expected);
    write_file(file.bad);
    store = open_served();
    ck_assert_int_eq(served(store), 0);
    ck_assert_int_eq(ask(store, questions[_i], text), SQLITE_OK);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_gt(store_columns_damaged(store), 0);
    store_close(store);
}
END_TEST

static bool is_short(int code)
{
    return (code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;
}

/* The n-th allocation fails while damaged blocks are made again.  */
START_TEST(damage_and_short_memory_change_no_answer)
{
    static char expected[4096], text[4096];
    unsigned long failures = 0, asked, n = 1;

    expect(questions[_i], expected);
    do {
        struct store *store;
        int code;

        write_file(file.good);
        store = open_served();
        write_file(file.bad);
        allocation_fail_at(n);
        code = ask(store, questions[_i], text);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(code == SQLITE_OK || is_short(code), "allocation %lu: %d", n, code);
        ck_assert_msg(code != SQLITE_OK || strcmp(text, expected) == 0,
                      "allocation %lu: other rows", n);
        failures += code != SQLITE_OK;
        ck_assert_int_eq(ask(store, questions[_i], text), SQLITE_OK);
        ck_assert_str_eq(text, expected);
        store_close(store);
    } while (asked >= n && (n = NEXT(n)));
    ck_assert_uint_gt(failures, 20);
}
END_TEST

/* The same while the columns are looked at.  */
START_TEST(columns_are_served_or_memory_is_short)
{
    static char expected[4096], text[4096];
    unsigned long failures = 0, asked, n = 1;

    expect(questions[0], expected);
    if (_i)
        write_file(file.bad);
    do {
        struct store *store = reopen_store("s", STORE_READ);
        enum store_status status;

        allocation_fail_at(n);
        status = store_serve_columns(store, NULL);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "allocation %lu: %d", n,
                      (int)status);
        failures += status != STORE_OK;
        ck_assert_int_eq(ask(store, questions[0], text), SQLITE_OK);
        ck_assert_str_eq(text, expected);
        store_close(store);
    } while (asked >= n && (n = NEXT(n)));
    ck_assert_uint_gt(failures, 20);
}
END_TEST

int main(void)
{
    const int count = sizeof questions / sizeof *questions;
    Suite *suite = suite_create("store_damage");
    TCase *damage = tcase_create("damage");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(damage, 300);
    tcase_add_checked_fixture(damage, begin, release);
    tcase_add_loop_test(damage, damage_changes_no_answer, 0, count);
    tcase_add_test(damage, the_plain_table_takes_over_after_much_damage);
    tcase_add_loop_test(damage, the_plain_table_answers_if_damage_is_found_at_first, 0, count);
    tcase_add_loop_test(damage, damage_and_short_memory_change_no_answer, 0, count);
    tcase_add_loop_test(damage, columns_are_served_or_memory_is_short, 0, 2);
    suite_add_tcase(suite, damage);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
