/* lead() and lag() of rows that columns give in their order: the answers of the plain tables.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "libstore/columns_read.h"
#include "tests/support/stores.h"

/* Slices in five groups of blocks, of three tracks; no two have the same time, some have no parent.
 */
static const char fill[] =
    "BEGIN;" MADE_CAPTURE "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, "
    "'c', 'a');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " MADE_SLICES ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant) SELECT i, "
    "1000 * i - 1999 * (i % 7), i * 7919 % 2011, 1 + i * 31 % 97 % 3, 1 + i % 2, i % 3, "
    "nullif(i % 901, 0), 0 FROM n;"
    "COMMIT";

#define SUMS(of, from)                                                                             \
    "SELECT count(*), count(n), sum(n), sum(n * (id % 1009)), min(n), max(n) FROM (SELECT id, " of \
    " AS n FROM " from ")"

static const struct {
    const char *sql;
    bool is_replaced; /* the window is not SQLite's */
} questions[] = {
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), true },
    { SUMS("lag(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), true },
    { SUMS("lead(dur) OVER (PARTITION BY track_id ORDER BY ts DESC)", "slice"), true },
    { SUMS("lag(parent_id) OVER (PARTITION BY depth ORDER BY ts)", "slice_data"), true },
    { SUMS("lead(ts) OVER (PARTITION BY parent_id ORDER BY ts)", "slice"), true },
    { SUMS("lead(ts) OVER (PARTITION BY parent_id ORDER BY dur, ts)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts) - (ts + dur)", "slice"), true },
    { SUMS("LEAD (ts)over( /* ) */PARTITION BY track_id ORDER BY ts -- )\n)", "slice"), true },
    { SUMS("-lag(\"ts\" -- of )\n) OVER (PARTITION BY [track_id] ORDER BY `ts`)", "slices"), true },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE dur > 1000"), true },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)",
           "slice WHERE dur > 1000 AND ts < 9000000 AND id > 40"),
      true },
    { SUMS("lag(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE dur > 5000"), true },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE id = 7"), false },
    /* Conditions that SQLite tests itself.  */
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE dur % 2 = 0"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE name = 'a'"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)",
           "slice WHERE dur > 1990 OR depth = 1"),
      false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)",
           "slice WHERE parent_id IN (5, 6, 7)"),
      false },
    /* A partition or an order that needs no key, or another one.  */
    { SUMS("lead(ts) OVER (ORDER BY ts)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice WHERE track_id = 2"), true },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY id)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY -ts)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id, depth ORDER BY ts)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY name ORDER BY ts)", "slice"), false },
    /* Other values and functions.  */
    { SUMS("lead(ts + 1) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("lead(id) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("length(lead(name) OVER (PARTITION BY track_id ORDER BY ts))", "slice"), false },
    { SUMS("lead(ts, 2) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("lead(ts, 1, -5) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("sum(dur) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("first_value(ts) OVER (PARTITION BY track_id ORDER BY ts)", "slice"), false },
    { SUMS("lead(ts) OVER (PARTITION BY track_id ORDER BY ts) - lag(ts) OVER (PARTITION BY "
           "track_id ORDER BY ts)",
           "slice"),
      false },
    { SUMS("lead(ts) OVER w", "slice WINDOW w AS (PARTITION BY track_id ORDER BY ts)"), false },
    /* What is done with the rows.  Conditions of an outer query are none of the window.  */
    { "SELECT track_id, count(*), sum(gap), group_concat(CASE WHEN gap % 97 = 0 THEN ts END) FROM "
      "(SELECT track_id, ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) - (ts + dur) AS gap "
      "FROM slice WHERE dur >= 0) WHERE gap > 0 GROUP BY track_id ORDER BY track_id",
      true },
    { "SELECT track_id, sum(n) FROM (SELECT track_id, lag(ts) OVER (PARTITION BY track_id ORDER BY "
      "ts) AS n FROM slice) GROUP BY track_id ORDER BY track_id DESC",
      false },
    { "SELECT depth, sum(n), count(n) FROM (SELECT depth, lead(ts) OVER (PARTITION BY track_id "
      "ORDER BY ts) AS n FROM slice) GROUP BY depth ORDER BY depth",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) "
      "AS n FROM slice) WHERE ts > 7000000",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) "
      "AS n FROM slice WHERE ts > 5000) WHERE ts > 7000000",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT track_id, lead(ts) OVER (PARTITION BY track_id ORDER "
      "BY ts) AS n FROM slice) WHERE track_id = 2",
      true },
    { "SELECT count(*) FROM (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM "
      "slice) WHERE n IS NOT NULL",
      true },
    { "SELECT count(*) FROM (SELECT id, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n "
      "FROM slice) WHERE n IS NULL OR n % 3 = 1",
      true },
    { "SELECT id, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice ORDER BY n "
      "DESC, id LIMIT 30",
      true },
    { "SELECT id, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) FROM slice LIMIT 30", false },
    { "SELECT id, lag(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice LIMIT 30 OFFSET "
      "6600",
      true },
    { "SELECT DISTINCT lead(depth) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice",
      true },
    { "SELECT max(n) FROM (SELECT id, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) - ts AS n "
      "FROM slice LIMIT 500)",
      true },
    { "SELECT count(*), sum(a.n), sum(b.n) FROM (SELECT id, lead(ts) OVER (PARTITION BY track_id "
      "ORDER BY ts) AS n FROM slice) AS a, (SELECT 7 AS n UNION ALL SELECT 8) AS b",
      false },
    { "SELECT count(*), sum(n), count(n) FROM (SELECT 3 AS id) AS a LEFT JOIN (SELECT dur, "
      "lead(ts) "
      "OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice) AS b ON b.dur = a.id + 7000",
      false },
    { "WITH g AS (SELECT id, ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM "
      "slice) SELECT count(*), sum(a.n - b.n) FROM g AS a JOIN g AS b ON b.id = a.id + 1",
      true },
    { "SELECT count(*), sum(n) FROM (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n "
      "FROM slice WHERE dur > (SELECT avg(dur) FROM slice))",
      false },
    { "SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice UNION ALL SELECT "
      "ts FROM slice LIMIT 20",
      false },
    { "SELECT sum(n) OVER () FROM (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n "
      "FROM slice) LIMIT 1",
      false },
    { "SELECT depth, count(*), lead(depth) OVER (PARTITION BY track_id ORDER BY ts) FROM slice "
      "GROUP BY depth",
      false },
    { "SELECT count(*), sum(n), max(w.dur) FROM (SELECT utid, lead(ts) OVER (PARTITION BY utid "
      "ORDER BY ts) AS n FROM thread_wait) AS a, slice AS w WHERE w.id < 3",
      false },
    { "SELECT count(*), sum(n), count(t.name) FROM (SELECT track_id, lead(ts) OVER (PARTITION BY "
      "track_id ORDER BY ts) AS n FROM slice) AS a JOIN track AS t ON t.id = a.track_id",
      false },
    { "SELECT count(*), sum(n), sum(u.koid) FROM (SELECT depth, lead(ts) OVER (PARTITION BY "
      "track_id ORDER BY ts) AS n FROM slice) AS a JOIN thread AS u ON u.id = a.depth WHERE n > 9",
      true },
    { "SELECT count(*), sum(o) FROM (SELECT lead(d) OVER (PARTITION BY track_id ORDER BY ts) AS o "
      "FROM with_window)",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT dur, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) "
      "AS n FROM slice WHERE dur > 1 AND dur > 2 AND dur > 3 AND dur > 4 AND dur > 5 AND dur > 6 "
      "AND dur > 7 AND dur > 8) WHERE dur > 1000",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT dur, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) "
      "AS n FROM slice WHERE dur = 5) WHERE dur = 7",
      false },
    { "SELECT count(*), sum(n) FROM (SELECT dur, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) "
      "AS n FROM slice WHERE dur = 5) WHERE dur > 3",
      false },
    /* What was found by a generator of queries.  */
    { SUMS("lead(dur) OVER (ORDER BY track_id, ts)", "slice"), false },
    { SUMS("lag(dur) OVER (PARTITION BY track_id, ts)", "slice"), false },
    { "SELECT id FROM (SELECT id, track_id, ts, depth, dur AS d FROM slice ORDER BY track_id, ts) "
      "ORDER BY lead(d) OVER (PARTITION BY depth ORDER BY id), id LIMIT 30",
      false },
    { "SELECT id FROM (SELECT id, track_id, ts, dur AS d FROM slice ORDER BY track_id, ts) WHERE "
      "EXISTS (SELECT 1 FROM thread WHERE id = d % 20) ORDER BY lead(d) OVER (PARTITION BY "
      "track_id "
      "ORDER BY ts), id LIMIT 30",
      false },
    { "SELECT count(*), sum(n), count(n) FROM (SELECT ts, lead(ts) OVER (PARTITION BY track_id "
      "ORDER "
      "BY ts) AS n FROM slice WHERE dur > 1 AND dur > 2 AND dur > 3 AND dur > 4 AND dur > 5 AND "
      "dur "
      "> 6 AND ts BETWEEN 1000000 AND 9000000) WHERE ts >= 2000000 AND ts <= 3000000",
      false },
    { "WITH x AS MATERIALIZED (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) FROM "
      "slice) "
      "SELECT count(*) AS c FROM x NATURAL JOIN (SELECT 5 AS \"lead(ts) OVER (PARTITION BY "
      "track_id "
      "ORDER BY ts)\")",
      false },
    { "SELECT count(*), sum(q.n) FROM event_name AS e CROSS JOIN (SELECT ts, lead(ts) OVER "
      "(PARTITION BY track_id ORDER BY ts) AS n FROM slice) AS q ON q.n > e.id",
      false },
    { "SELECT 'lead(ts) OVER (x)', n FROM (SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY "
      "ts) AS n FROM slice) ORDER BY n LIMIT 5",
      true },
};

static bool is_replaced(sqlite3_stmt *statement)
{
    return strstr(sqlite3_sql(statement), "fxt_neighbour(") != NULL;
}

/* Of which windows are asked, too.  */
static void make_view(struct store *store)
{
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store),
                                  "CREATE TEMP VIEW with_window AS SELECT track_id, ts, lead(dur) "
                                  "OVER (PARTITION BY track_id ORDER BY ts) AS d FROM slice",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
}

static sqlite3_stmt *prepare_for_often(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;

    ck_assert(store_prepare(store, sql, &statement, &rest));
    return statement;
}

START_TEST(gives_the_rows_beside)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *plain, *served;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    make_view(plain);
    make_view(served);
    (void)answer_to(plain, questions[_i].sql, expected);
    ck_assert_uint_gt(strlen(expected), 2);
    statement = prepare_once(served, questions[_i].sql);
    (void)answer_of(statement, text);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", questions[_i].sql, text, expected);
    ck_assert_msg(is_replaced(statement) == questions[_i].is_replaced, "%s", questions[_i].sql);
    (void)sqlite3_finalize(statement);
    store_close(plain);
    store_close(served);
}
END_TEST

/* A statement that was prepared before answers from what the store is when it runs.  */
START_TEST(reads_plain_rows_if_the_columns_are_out_of_date)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *store;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    store = open_served_store();
    statement = prepare_once(store, questions[_i].sql);
    (void)answer_of(statement, text);
    (void)sqlite3_reset(statement);
    write_to_store(
        "UPDATE slice_data SET ts = ts - 3000 WHERE id % 5 = 0; UPDATE slice_data SET dur = "
        "dur + 1 WHERE id > 7; UPDATE slice_data SET parent_id = NULL WHERE id % 11 = 0");
    (void)answer_of(statement, text);
    (void)sqlite3_finalize(statement);
    store_close(store);
    store = reopen_store("s", STORE_READ);
    (void)answer_to(store, questions[_i].sql, expected);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", questions[_i].sql, text, expected);
    store_close(store);
}
END_TEST

START_TEST(statements_that_take_turns_have_their_own_rows)
{
    static const char *const sql[] = {
        "SELECT lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice",
        "SELECT lag(dur) OVER (PARTITION BY depth ORDER BY ts) AS n FROM slice",
        "SELECT lead(ts) OVER (PARTITION BY depth ORDER BY ts) AS n FROM slice WHERE dur > 500",
    };
    struct store *plain, *served;
    sqlite3_stmt *expected[3], *statements[3];
    unsigned rows = 0;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    for (int i = 0; i < 3; i++) {
        expected[i] = prepare_once(plain, sql[i]);
        statements[i] = prepare_once(served, sql[i]);
        ck_assert(is_replaced(statements[i]) && !is_replaced(expected[i]));
    }
    for (int left = 3; left > 0;) {
        left = 3;
        for (int i = 0; i < 3; i++) {
            int code = expected[i] ? sqlite3_step(expected[i]) : SQLITE_DONE;

            if (expected[i])
                ck_assert_int_eq(sqlite3_step(statements[i]), code);
            if (code == SQLITE_ROW) {
                rows++;
                ck_assert_int_eq(sqlite3_column_type(statements[i], 0),
                                 sqlite3_column_type(expected[i], 0));
                ck_assert_int_eq(sqlite3_column_int64(statements[i], 0),
                                 sqlite3_column_int64(expected[i], 0));
                continue;
            }
            (void)sqlite3_finalize(expected[i]);
            (void)sqlite3_finalize(statements[i]);
            expected[i] = statements[i] = NULL;
            left--;
        }
    }
    ck_assert_uint_gt(rows, 40000);
    store_close(plain);
    store_close(served);
}
END_TEST

/* SQLite prepares a statement again when the schema has changed, and then plans no scan for the
 * window.  */
START_TEST(says_that_a_query_has_to_be_prepared_again)
{
    char text[ANSWER_BYTES];
    struct store *store;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    store = open_served_store();
    statement = prepare_once(store, questions[0].sql);
    ck_assert_int_eq(
        sqlite3_exec(store_sqlite(store), "CREATE TEMP TABLE of_somebody (x)", NULL, NULL, NULL),
        SQLITE_OK);
    (void)answer_of(statement, text);
    ck_assert_str_eq(text, "fxt_neighbour() is called for lead() and lag() alone; a query with "
                           "these has to be prepared again");
    (void)sqlite3_finalize(statement);
    (void)answer_to(store, questions[0].sql, text);
    ck_assert_ptr_nonnull(strstr(text, "1 20000;1 19997;"));
    (void)answer_to(store, "SELECT fxt_neighbour(1, 1, 1, 1)", text);
    ck_assert_ptr_nonnull(strstr(text, "is called for lead() and lag() alone"));
    store_close(store);
}
END_TEST

/* SQLite may prepare a statement again after a parameter is bound, or whenever it is kept.  */
START_TEST(statements_that_may_be_prepared_again_keep_their_windows)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *store;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    store = open_served_store();
    statement = prepare_once(store,
                             "SELECT ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) AS n "
                             "FROM slice WHERE dur > ?1");
    ck_assert(!is_replaced(statement));
    (void)sqlite3_finalize(statement);
    statement = prepare_for_often(store, questions[0].sql);
    ck_assert(!is_replaced(statement));
    (void)answer_of(statement, expected);
    (void)sqlite3_reset(statement);
    ck_assert_int_eq(
        sqlite3_exec(store_sqlite(store), "CREATE TEMP TABLE of_somebody (x)", NULL, NULL, NULL),
        SQLITE_OK);
    (void)answer_of(statement, text);
    ck_assert_str_eq(text, expected);
    (void)sqlite3_finalize(statement);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_windows");
    TCase *windows = tcase_create("windows");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(windows, enter_folder, leave_folder);
    tcase_add_loop_test(windows, gives_the_rows_beside, 0,
                        (int)(sizeof questions / sizeof *questions));
    tcase_add_loop_test(windows, reads_plain_rows_if_the_columns_are_out_of_date, 0, 12);
    tcase_add_test(windows, statements_that_take_turns_have_their_own_rows);
    tcase_add_test(windows, says_that_a_query_has_to_be_prepared_again);
    tcase_add_test(windows, statements_that_may_be_prepared_again_keep_their_windows);
    suite_add_tcase(suite, windows);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
