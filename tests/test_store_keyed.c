/* Rows that are looked up by an integer: those that SQLite finds in a table, in its order.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "libstore/keyed_rows.h"

static sqlite3 *db;
static struct keyed_rows *rows;

static void run_sql(const char *sql)
{
    char *message = NULL;

    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s: %s", sql, message);
}

/* found(KEY, N, COLUMN): of the N-th row of a key, from 0 on; '-' if there are fewer.  */
static void found(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int left = sqlite3_value_int(argv[1]);
    bool is_there = false;

    ck_assert_int_eq(argc, 3);
    ck_assert_int_eq(keyed_seek(rows, argv[0], &is_there), SQLITE_OK);
    for (; is_there && left > 0; left--)
        ck_assert_int_eq(keyed_next(rows, &is_there), SQLITE_OK);
    if (is_there)
        keyed_column(rows, context, (unsigned)sqlite3_value_int(argv[2]));
    else
        sqlite3_result_text(context, "-", 1, SQLITE_STATIC);
}

/* Rows of the table r (a, k, b, c), of which k is the key.  */
static void fill(size_t most_bytes)
{
    sqlite3_stmt *statement = NULL;

    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT a, k, b, c FROM r ORDER BY k, n", -1, &statement, NULL),
        SQLITE_OK);
    rows = keyed_open(4, 1, "ADAA", most_bytes);
    ck_assert_ptr_nonnull(rows);
    ck_assert_int_eq(keyed_fill(rows, statement), SQLITE_OK);
    (void)sqlite3_finalize(statement);
}

/* How many look-ups of all keys, and of others, give another row.  */
static int wrong_answers(void)
{
    static const char sql[] =
        "WITH asked (v) AS MATERIALIZED (SELECT k FROM r UNION SELECT k + 1 FROM r WHERE n % 7 = 0 "
        "UNION SELECT k - 1 FROM r WHERE n % 7 = 0 UNION VALUES (NULL), ('7'), (7.0), (7.5), "
        "('x'), "
        "(x'37'), (1e19), (-1e19), "
        "(9223372036854775807), (-9223372036854775808), (9223372036854775808.0), (' 12 '), ('')), "
        "times (t) AS (VALUES (0), (1), (2), (1200)), "
        "of_key (n, k, t) AS MATERIALIZED (SELECT n, k, row_number() OVER (PARTITION BY k ORDER BY "
        "n) "
        "- 1 FROM r WHERE k IS NOT NULL), "
        "expected (v, t, n) AS MATERIALIZED (SELECT v, times.t, n FROM asked CROSS JOIN times LEFT "
        "JOIN of_key ON of_key.k = v AND of_key.t = times.t) "
        "SELECT count(*) FROM expected AS e LEFT JOIN r ON r.n = e.n WHERE "
        "quote(found(e.v, e.t, 0)) <> CASE WHEN e.n IS NULL THEN '''-''' ELSE quote(r.a) END OR "
        "quote(found(e.v, e.t, 1)) <> CASE WHEN e.n IS NULL THEN '''-''' ELSE quote(r.k) END OR "
        "quote(found(e.v, e.t, 2)) <> CASE WHEN e.n IS NULL THEN '''-''' ELSE quote(r.b) END OR "
        "typeof(found(e.v, e.t, 3)) <> CASE WHEN e.n IS NULL THEN 'text' ELSE typeof(r.c) END OR "
        "quote(found(e.v, e.t, 3)) <> CASE WHEN e.n IS NULL THEN '''-''' ELSE quote(r.c) END";
    sqlite3_stmt *statement = NULL;
    int wrong;

    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_msg(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    wrong = sqlite3_column_int(statement, 0);
    (void)sqlite3_finalize(statement);
    return wrong;
}

static const struct {
    const char *keys, *a, *b, *c; /* of a number i */
} tables[] = {
    { "i * 3 - 900", "i * 7919 % 1009", "'t' || i % 50", "i / 4.0" },
    { "i", "nullif(i % 5, 0)", "NULL", "nullif(i % 3, 1) * 0.5" },
    { "i / 3", "i", "nullif('x' || i % 9, 'x4')", "iif(i % 2, i, i / 8.0)" },
    { "i / 2500", "i", "printf('%.*c', i % 70, 'y')", "-i" },
    { "i * 4096 * 1048576 * 1048576 - 4611686018427387904", "9223372036854775807 - i",
      "char(0, i % 90)", "9e999" },
    { "iif(i < 1500, -9223372036854775807 - 1, 9223372036854775807)",
      "iif(i % 2, 1, -1) * "
      "9223372036854775807",
      "''", "-0.0" },
    { "nullif(i % 4, 2)", "i", "''", "i" },
    { "1 << (i % 64)", "i", "iif(i = 2900, 5, 'five')", "i" },
    { "i", "i", "'x'", "iif(i = 40, x'00ff', i)" },
    { "i", "iif(i % 2, NULL, zeroblob(3))", "NULL", "i" },
    { "iif(i = 17, 'x', i)", "i", "i", "i" },
    { "iif(i = 17, 16.5, i)", "i", "i", "i" },
};

static void make_rows(int i)
{
    char sql[1024];

    run_sql("CREATE TABLE r (n INTEGER PRIMARY KEY, k INTEGER, a, b, c)");
    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE s (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM s WHERE i < "
                   "3000) INSERT INTO r SELECT i, %s, %s, %s, %s FROM s",
                   tables[i].keys, tables[i].a, tables[i].b, tables[i].c);
    run_sql(sql);
    run_sql("CREATE INDEX r_k ON r (k)");
}

START_TEST(finds_what_a_table_has)
{
    static const size_t most[] = { KEYED_MOST_BYTES, 5000, 0 };

    make_rows(_i);
    for (unsigned i = 0; i < 3; i++) {
        fill(most[i]);
        ck_assert_int_eq(wrong_answers(), 0);
        keyed_close(rows);
    }
}
END_TEST

START_TEST(no_rows_are_none)
{
    make_rows(0);
    run_sql("DELETE FROM r");
    for (int i = 0; i < 2; i++) {
        fill(i == 0 ? KEYED_MOST_BYTES : 0);
        ck_assert_int_eq(wrong_answers(), 0);
        keyed_close(rows);
    }
}
END_TEST

static void open_database(void)
{
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_create_function_v2(db, "found", 3, SQLITE_UTF8, NULL, found, NULL, NULL, NULL),
        SQLITE_OK);
}

static void close_database(void)
{
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    Suite *suite = suite_create("store_keyed");
    TCase *keyed = tcase_create("keyed");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(keyed, 60);
    tcase_add_checked_fixture(keyed, open_database, close_database);
    tcase_add_loop_test(keyed, finds_what_a_table_has, 0, (int)(sizeof tables / sizeof *tables));
    tcase_add_test(keyed, no_rows_are_none);
    suite_add_tcase(suite, keyed);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
