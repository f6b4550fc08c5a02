/* The smallest and largest values of columns: in few steps, and those of the plain tables.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "libstore/columns_read.h"
#include "tests/support/stores.h"

#define ROWS "20000"
/* Bytes of blocks; the times alone take more.  */
#define MOST_READ 50000

/* Slices in five groups of blocks whose times overlap a little, some without a parent; and
 * counters, one of them with reals.  */
static const char fill[] =
    "BEGIN;"
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, first_sample_id, "
    "sample_count, samples_ordered, first_slice_id, slice_count, first_sched_id, sched_count) "
    "VALUES (1, x'00', 'made', 'fxt', 0, 0, 1, 0, 1, 1, " ROWS ", 1, 0);"
    "INSERT INTO track (id, capture_id, type) VALUES (1, 1, 'thread'), (2, 1, 'counter');"
    "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, 'c', 'a');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " ROWS ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant) SELECT i, "
    "1000 * i - 1999 * (i % 7), i * 7919 % 20011, 1, 1 + i % 2, i % 3, nullif(i % 9001, 0), 0 FROM "
    "n;"
    "INSERT INTO counter (id, ts, track_id, value) SELECT id, ts, 2, iif(id % 5, id, id / 2.0) "
    "FROM slice_data;"
    "COMMIT";

/* A scan takes more steps than there are rows.  */
static const struct {
    const char *sql;
    int most; /* steps; 0: all rows are read */
} questions[] = {
    { "SELECT min(ts) FROM slice", 100 },
    { "SELECT max(ts) FROM slice", 100 },
    { "SELECT min(id) FROM slices", 100 },
    { "SELECT max(dur), id FROM slice", 100 },
    { "SELECT min(ts), max(ts) FROM slice", 100 },
    { "SELECT max(ts) - min(ts) FROM slices", 100 },
    { "SELECT min(id), max(id), MIN(dur), Max(parent_id), min(parent_id) FROM slice", 300 },
    { "SELECT max(async_id), min(async_id), max(scope) FROM slice_data", 200 },
    { "SELECT max(ts), min(ts) FROM thread_wait", 100 },
    { "SELECT max(dur), max(ts) FROM slice HAVING max(ts) > 5", 100 },
    { "SELECT count(*), sum(dur) FROM slice WHERE ts >= (SELECT min(ts) + (max(ts) - min(ts)) / 2 "
      "FROM slice) AND ts < (SELECT min(ts) + (max(ts) - min(ts)) / 2 + 2000 FROM slice)",
      300 },
    { "SELECT (SELECT max(ts) - min(ts) FROM counter), (SELECT max(dur) + min(dur) FROM slice)",
      300 },
    { "SELECT min(ts), max(ts), max(dur) FROM slice UNION ALL SELECT 1, 2, 3", 200 },
    /* These want more than extremes, or not of integers.  */
    { "SELECT min(ts), max(ts), count(*) FROM slice", 0 },
    { "SELECT min(ts), max(ts + dur) FROM slice", 0 },
    { "SELECT min(ts), max(ts), sum(dur) FROM slice", 0 },
    { "SELECT min(name), max(name) FROM slice", 0 },
    { "SELECT min(value), max(value) FROM counter", 0 },
    { "SELECT min(ts), max(ts) FROM slice WHERE dur > 5", 0 },
    { "SELECT min(ts), max(ts) FROM slice WHERE name = 'a' AND depth = 1", 0 },
    { "SELECT depth, min(ts), max(dur) FROM slice GROUP BY depth", 0 },
    { "SELECT min(ts) FILTER (WHERE depth = 1), max(ts) FROM slice", 0 },
    { "SELECT min(ts, dur), max(ts) FROM slice", 0 },
    { "SELECT max(m), max(d) FROM (SELECT min(ts, 5) AS m, max(dur, 9) AS d FROM slice)", 0 },
    { "SELECT max(7), min(9), max(ts) FROM slice", 0 },
    { "SELECT max(a.ts), min(b.ts) FROM slice AS a, counter AS b WHERE b.id < 3", 0 },
    { "SELECT max(a.ts), min(b.ts) FROM track AS t LEFT JOIN counter AS b ON b.track_id = t.id "
      "LEFT JOIN slice AS a ON a.id = b.id",
      0 },
    { "SELECT max(m), min(m) FROM (SELECT min(ts) OVER (ORDER BY id) AS m FROM slice)", 0 },
    { "SELECT max(DISTINCT depth), min(DISTINCT depth) FROM slice", 0 },
    { "SELECT min(ts), max(ts) FROM (SELECT DISTINCT ts FROM slice)", 0 },
    { "SELECT min(ts), max(ts) FROM (SELECT ts FROM slice LIMIT 9)", 0 },
};

START_TEST(reads_few_rows_for_extremes)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *plain, *served;
    int steps;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    (void)answer_to(plain, questions[_i].sql, expected);
    steps = answer_to(served, questions[_i].sql, text);
    ck_assert_str_eq(text, expected);
    if (questions[_i].most > 0) {
        ck_assert_msg(steps < questions[_i].most, "%d steps", steps);
        ck_assert_uint_lt(served->serving->kept_bytes, MOST_READ);
    }
    store_close(plain);
    store_close(served);
}
END_TEST

/* The rows after the first one of an order are sorted when they are wanted.  */
START_TEST(goes_on_after_the_first_row_of_an_order)
{
    static const char *const orders[] = { "ts DESC",        "dur",      "dur DESC",  "parent_id",
                                          "parent_id DESC", "async_id", "depth DESC" };
    char sql[256];
    struct store *plain, *served;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    (void)snprintf(sql, sizeof sql, "SELECT id FROM slice ORDER BY %s", orders[_i]);
    char *expected = row_texts(plain, sql);
    ck_assert_rows(served, sql, expected);
    free(expected);
    store_close(plain);
    store_close(served);
}
END_TEST

/* A statement that was prepared before answers from what the store is when it runs.  */
START_TEST(reads_all_rows_if_the_columns_are_out_of_date)
{
    static const char sql[] = "SELECT min(ts), max(ts) FROM slice";
    struct store *store, *writer;
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    char text[ANSWER_BYTES];

    make_store_by_sql(fill);
    store = open_served_store();
    ck_assert(store_prepare(store, sql, &statement, &rest));
    ck_assert_int_lt(answer_of(statement, text), 100);
    (void)sqlite3_reset(statement);
    writer = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(writer),
                                  "UPDATE slice_data SET ts = -7777 WHERE id = 5000; UPDATE "
                                  "slice_data SET ts = 99000000 WHERE id = 7",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    (void)answer_of(statement, text);
    ck_assert_str_eq(text, "1 -7777;1 99000000;");
    (void)sqlite3_finalize(statement);
    store_close(writer);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_extremes");
    TCase *extremes = tcase_create("extremes");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(extremes, enter_folder, leave_folder);
    tcase_add_loop_test(extremes, reads_few_rows_for_extremes, 0,
                        (int)(sizeof questions / sizeof *questions));
    tcase_add_loop_test(extremes, goes_on_after_the_first_row_of_an_order, 0, 7);
    tcase_add_test(extremes, reads_all_rows_if_the_columns_are_out_of_date);
    suite_add_tcase(suite, extremes);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
