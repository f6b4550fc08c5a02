/* Tables that a statement makes by GROUP BY and looks up rows in: the answers of the plain tables.
 */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "libstore/columns_read.h"
#include "tests/support/stores.h"

/* Slices in five groups of blocks, of three tracks; some have no parent, and many no children.  */
static const char fill[] =
    "BEGIN;" MADE_CAPTURE "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, "
    "'c', 'a');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " MADE_SLICES ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant) SELECT i, "
    "1000 * i - 1999 * (i % 7), i * 7919 % 2011, 1 + i * 31 % 97 % 3, 1 + i % 2, i % 3, "
    "nullif(i * 7 % 9001, 0), 0 FROM n;"
    "COMMIT";

/* Children by their parents, looked up for each slice.  */
#define CHILDREN(columns)                                                                  \
    "(SELECT parent_id, " columns " AS n FROM slice WHERE parent_id IS NOT NULL GROUP BY " \
    "parent_id)"
#define OF_CHILDREN(columns)                                                                  \
    "SELECT count(*), count(c.n), sum(c.n), min(c.n), max(c.n), min(typeof(c.n)) FROM slice " \
    "AS s LEFT JOIN " CHILDREN(columns) " AS c ON c.parent_id = s.id"

static const struct {
    const char *sql;
    bool is_replaced; /* the subquery */
} questions[] = {
    { "SELECT s.name, sum(s.dur - coalesce(c.child, 0)) AS self FROM slice AS s LEFT JOIN (SELECT "
      "parent_id, sum(dur) AS child FROM slice WHERE parent_id IS NOT NULL GROUP BY parent_id) AS "
      "c ON c.parent_id = s.id GROUP BY s.name ORDER BY s.name",
      true },
    { OF_CHILDREN("sum(dur)"), true },
    { OF_CHILDREN("count(*)"), true },
    { OF_CHILDREN("avg(dur)"), true },
    { OF_CHILDREN("max(name)"), true },
    { OF_CHILDREN("group_concat(id)"), true },
    { OF_CHILDREN("nullif(min(dur), 0)"), true },
    { OF_CHILDREN("CAST(max(name) AS BLOB)"), true },
    { OF_CHILDREN("CASE WHEN parent_id % 3 = 0 THEN 'x' ELSE sum(dur) END"), true },
    { OF_CHILDREN("CASE parent_id % 3 WHEN 0 THEN 1.5 WHEN 1 THEN NULL ELSE sum(dur) END"), true },
    /* Where the key is, and how it is written.  */
    { "SELECT sum(s.dur), sum(n), sum(c.p) FROM slice s LEFT JOIN (SELECT sum(dur) n, parent_id p "
      "FROM "
      "slice GROUP BY parent_id)c ON s.id=c.p",
      true },
    { "SELECT sum(s.dur), sum(n) FROM slice s CROSS JOIN( -- of )\n SELECT sum(dur) n, [parent_id] "
      "AS p "
      "FROM slice GROUP BY [parent_id] HAVING count(*) > 1) AS `c` ON s.id = c.p",
      true },
    { "SELECT s.depth, count(*), sum(n) FROM slice AS s LEFT JOIN (SELECT parent_id AS id, "
      "count(*) AS "
      "n FROM slice GROUP BY 1) AS c USING (id) GROUP BY s.depth",
      false },
    { "SELECT s.depth, count(*), sum(n) FROM slice AS s LEFT JOIN (SELECT parent_id AS id, "
      "count(*) AS "
      "n FROM slice GROUP BY parent_id) AS c USING (id) GROUP BY s.depth",
      true },
    { "SELECT * FROM slice_data AS s JOIN (SELECT max(dur) AS m, track_id FROM slice GROUP BY "
      "track_id) AS c ON c.track_id = s.depth + 1 WHERE s.id < 30 ORDER BY s.id",
      true },
    { "SELECT count(*), sum(c.n) FROM slice AS s, (SELECT depth, count(*) AS n FROM slice GROUP BY "
      "depth) AS c WHERE c.depth = s.track_id",
      false }, /* a scan of the subquery, and slices by their track */
    { "SELECT count(*), sum(c.n), max(c.depth) FROM slice AS s LEFT JOIN (SELECT depth, track_id, "
      "count(*) AS n FROM slice GROUP BY depth, track_id) AS c ON c.depth = s.track_id",
      false },
    /* Values that are looked up.  */
    { "SELECT s.id, c.* FROM slice_data AS s LEFT JOIN (SELECT parent_id, sum(dur) AS n FROM slice "
      "GROUP BY parent_id) AS c ON c.parent_id = CASE s.id WHEN 1 THEN 7 WHEN 2 THEN '7' WHEN 3 "
      "THEN 7.0 WHEN 4 THEN 7.5 WHEN 5 THEN ' 7 ' WHEN 6 THEN 'x' WHEN 7 THEN x'37' WHEN 8 THEN "
      "9223372036854775807 WHEN 9 THEN -9223372036854775808 WHEN 10 THEN 1e300 WHEN 11 THEN -1 "
      "WHEN 12 THEN '7e0' WHEN 13 THEN 7e0 WHEN 14 THEN 9000 WHEN 15 THEN 9001 END WHERE s.id < "
      "17 ORDER BY s.id",
      true },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id / 2.0",
      true },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id AND c.n > s.dur",
      true },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.name",
      true },
    /* Conditions that SQLite moves into the subquery.  */
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id WHERE c.n > 5000",
      false },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id WHERE c.parent_id > 5000",
      false },
    /* Comparisons as text, and collations.  */
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id AND c.n = s.name",
      false },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN (SELECT parent_id, count(*) AS n, "
      "max(name) "
      "COLLATE NOCASE AS m FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id AND c.m = 'B'",
      false },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id ORDER BY s.name COLLATE NOCASE",
      false },
    /* Names that a subquery does not have, or that mean something else.  */
    { "SELECT s.rowid FROM slice_data AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON c.parent_id = s.id "
                      "ORDER BY 1 LIMIT 9",
      false },
    { "WITH slice AS (SELECT 5 AS parent_id, 7 AS dur, 5 AS id) SELECT count(*), sum(c.n) FROM "
      "slice AS s LEFT JOIN " CHILDREN("sum(dur)") " AS c ON c.parent_id = s.id",
      false },
    { "SELECT count(*), min(c.x), max(c.x) FROM slice AS s LEFT JOIN (SELECT parent_id, "
      "max(\"name\") AS x FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id",
      false },
    /* More than once, and in a loop.  */
    { "SELECT count(*), sum(c.n), sum(d.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id LEFT JOIN " CHILDREN(
                          "max(dur)") " AS d ON d.parent_id = s.id",
      false },
    { "SELECT u.id, (SELECT sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON "
                      "c.parent_id = s.id WHERE s.depth = u.id) FROM thread AS u",
      false },
    { "SELECT sum(c.n) FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON c.parent_id = s.id "
                      "UNION ALL SELECT 5",
      true },
    { "SELECT c.n FROM slice AS s LEFT JOIN " CHILDREN(
          "sum(dur)") " AS c ON c.parent_id = s.id LIMIT 5",
      true },
    { "SELECT n, parent_id FROM " CHILDREN("sum(dur)") " WHERE parent_id = 7", false },
    { "SELECT s.id, (SELECT max(n) FROM " CHILDREN("sum(dur)") " AS c WHERE c.parent_id = s.id) "
                                                               "FROM slice AS s WHERE s.id < 4",
      false },
    { "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN (SELECT parent_id, sum(dur) AS n FROM "
      "slice "
      "GROUP BY parent_id ORDER BY parent_id LIMIT 99) AS c ON c.parent_id = s.id",
      false },
    /* What a tester's generator of queries found: types to which a column converts others.  */
    { "SELECT s.id, c.m FROM slice_data AS s LEFT JOIN (SELECT depth, CAST(max(depth) AS INTEGER) "
      "AS m, count(*) FROM slice GROUP BY depth) AS c ON c.depth = s.id WHERE s.id < 9 AND c.m IN "
      "('1', '2', 'x')",
      false },
    { "SELECT s.id, c.value IN ('15', '2', 'x', 'y') FROM slice_data AS s LEFT JOIN (SELECT "
      "arg_set_id, value, count(*) FROM arg GROUP BY arg_set_id) AS c ON c.arg_set_id = s.id WHERE "
      "s.id < 9",
      false },
    { "SELECT s.id, (SELECT z IN ('1', '0', '7') FROM (SELECT c.parent_id AS z)) FROM slice_data "
      "AS s LEFT JOIN " CHILDREN("sum(dur)") " AS c ON c.parent_id = s.id WHERE s.id < 30",
      false },
    { "SELECT s.id, c.n, typeof(c.n) FROM slice_data AS s LEFT JOIN (SELECT depth, CAST(sum(dur) "
      "* 1.0 AS NUMERIC) AS n FROM slice GROUP BY depth) AS c ON c.depth = s.id WHERE s.id < 5",
      true },
    { "SELECT s.id, c.n, typeof(c.n) FROM slice_data AS s LEFT JOIN (SELECT depth, CAST(avg(dur) "
      "AS NUMERIC) AS n, CAST('x' || depth AS TEXT) FROM slice GROUP BY depth) AS c ON c.depth = "
      "s.id WHERE s.id < 5",
      true },
    /* Ties, where the key has another column's name.  */
    { "SELECT s.id, c.m FROM slice_data AS s LEFT JOIN (SELECT depth AS parent_id, max(id) AS m "
      "FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id WHERE s.id < 9 LIMIT 400",
      false },
    { "SELECT s.id, c.m FROM slice_data AS s LEFT JOIN (SELECT parent_id, depth AS [1], count(*) "
      "AS m FROM slice GROUP BY 1) AS c ON c.[1] = s.id WHERE s.id < 9 LIMIT 400",
      false },
    /* IS NOT NULL is moved into the subquery.  */
    { "SELECT count(*), max(c.n) FROM slice AS s LEFT JOIN (SELECT parent_id, sum(iif(parent_id IS "
      "NULL, 9223372036854775807, dur)) AS n FROM slice GROUP BY parent_id) AS c ON c.parent_id = "
      "s.id WHERE c.parent_id IS NOT NULL",
      false },
    /* A subquery that is not run, since no row is looked up.  */
    { "SELECT count(*), count(c.n) FROM slice AS s LEFT JOIN (SELECT parent_id, "
      "sum(9223372036854775807) AS n FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id "
      "WHERE s.id < 0",
      true },
    { "SELECT count(*), count(c.n) FROM sched_slice AS s LEFT JOIN (SELECT parent_id, "
      "sum(9223372036854775807) AS n FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id",
      false },
    /* Errors are those of the subquery.  */
    { "SELECT count(*) FROM slice AS s LEFT JOIN (SELECT parent_id, sum(9223372036854775807 - dur) "
      "AS n "
      "FROM slice GROUP BY parent_id) AS c ON c.parent_id = s.id",
      true },
};

static const int question_count = (int)(sizeof questions / sizeof *questions);

static bool is_replaced(sqlite3_stmt *statement)
{
    return strstr(sqlite3_sql(statement), "fxt_derived_") != NULL;
}

static void check_answer(struct store *served, const char *sql, const char *expected)
{
    char text[ANSWER_BYTES];
    sqlite3_stmt *statement = prepare_once(served, sql);

    (void)answer_of(statement, text);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", sql, text, expected);
    (void)sqlite3_finalize(statement);
}

START_TEST(gives_the_rows_of_the_subquery)
{
    char expected[ANSWER_BYTES];
    struct store *plain, *served;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    (void)answer_to(plain, questions[_i].sql, expected);
    ck_assert_uint_gt(strlen(expected), 2);
    check_answer(served, questions[_i].sql, expected);
    statement = prepare_once(served, questions[_i].sql);
    ck_assert_msg(is_replaced(statement) == questions[_i].is_replaced, "%s", questions[_i].sql);
    (void)sqlite3_finalize(statement);
    store_close(plain);
    store_close(served);
}
END_TEST

/* From the first row on, or after some 3,000 of 9,000.  */
START_TEST(rows_that_are_too_many_are_in_a_temporary_database)
{
    char expected[ANSWER_BYTES];
    struct store *plain, *served;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    (void)answer_to(plain, questions[_i].sql, expected);
    served->serving->most_keyed_bytes = 0;
    check_answer(served, questions[_i].sql, expected);
    served->serving->most_keyed_bytes = 10000;
    check_answer(served, questions[_i].sql, expected);
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
        "UPDATE slice_data SET dur = dur + 1 WHERE id > 7; UPDATE slice_data SET parent_id = "
        "NULL WHERE id % 11 = 0");
    (void)answer_of(statement, text);
    (void)sqlite3_finalize(statement);
    store_close(store);
    store = reopen_store("s", STORE_READ);
    (void)answer_to(store, questions[_i].sql, expected);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", questions[_i].sql, text, expected);
    store_close(store);
}
END_TEST

/* When the schema has changed, SQLite prepares the statement again; the table is still there.  */
START_TEST(survives_a_change_of_the_schema)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *store;
    sqlite3_stmt *statement;

    make_store_by_sql(fill);
    store = open_served_store();
    statement = prepare_once(store, questions[0].sql);
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

/* Tables of former statements are forgotten, those of the ones that wait are not.  */
START_TEST(many_statements_have_tables_of_their_own)
{
    static const char few[] =
        "SELECT count(*), sum(c.n) FROM slice AS s LEFT JOIN (SELECT parent_id, "
        "sum(dur + %d) AS n FROM slice WHERE id < 900 GROUP BY parent_id) AS "
        "c ON c.parent_id = s.id WHERE s.id < 5000";
    char expected[ANSWER_BYTES], text[ANSWER_BYTES], sql[512];
    sqlite3_stmt *statements[20];
    struct store *store;

    make_store_by_sql(fill);
    store = open_served_store();
    for (int i = 0; i < 200; i++) {
        if (i >= 20) {
            (void)answer_of(statements[i % 20], text);
            (void)snprintf(sql, sizeof sql, few, i - 20);
            (void)answer_to(store, sql, expected);
            ck_assert_str_eq(text, expected);
            (void)sqlite3_finalize(statements[i % 20]);
        }
        (void)snprintf(sql, sizeof sql, few, i);
        statements[i % 20] = prepare_once(store, sql);
        ck_assert(is_replaced(statements[i % 20]));
    }
    for (int i = 0; i < 20; i++)
        (void)sqlite3_finalize(statements[i]);
    store_close(store);
}
END_TEST

START_TEST(statements_with_parameters_and_those_to_keep_are_as_they_were)
{
    struct store *store;
    sqlite3_stmt *statement;
    const char *rest = NULL;

    make_store_by_sql(fill);
    store = open_served_store();
    statement = prepare_once(store, OF_CHILDREN("sum(dur + ?1)"));
    ck_assert(!is_replaced(statement));
    (void)sqlite3_finalize(statement);
    ck_assert(store_prepare(store, questions[0].sql, &statement, &rest));
    ck_assert(!is_replaced(statement));
    (void)sqlite3_finalize(statement);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_derived");
    TCase *derived = tcase_create("derived");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(derived, enter_folder, leave_folder);
    tcase_add_loop_test(derived, gives_the_rows_of_the_subquery, 0, question_count);
    tcase_add_loop_test(derived, rows_that_are_too_many_are_in_a_temporary_database, 0,
                        question_count);
    tcase_add_loop_test(derived, reads_plain_rows_if_the_columns_are_out_of_date, 0, 10);
    tcase_add_test(derived, survives_a_change_of_the_schema);
    tcase_add_test(derived, many_statements_have_tables_of_their_own);
    tcase_add_test(derived, statements_with_parameters_and_those_to_keep_are_as_they_were);
    suite_add_tcase(suite, derived);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
