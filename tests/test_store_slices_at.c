/* slice_at(): slices are found in few steps, and those of the store as it is.  */
#include <check.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <fxt/store.h>

#include "libstore/functions/functions.h"
#include "libstore/functions/slices_at.h"
#include "tests/support/stores.h"

#define SLICES 20000

/* Two threads; slice i of the first one lasts from 10 i, and every hundredth for 900.  */
static const char fill[] =
    "INSERT INTO track (id, capture_id, type, utid) VALUES (1, 1, 'thread', 1), (2, 1, 'thread', "
    "2); INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'n');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, instant) "
    "SELECT i, 10 * i, iif(i % 100 = 0, 900, 4), 1, 1, i % 100 > 0, 0 FROM n;"
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, instant) "
    "VALUES (30000, 0, 1000000, 2, 1, 0, 0)";

static sqlite3 *open_file(void)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_int_eq(functions_register(db, NULL), SQLITE_OK);
    return db;
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;

    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s", message);
}

static sqlite3 *make(void)
{
    sqlite3 *db = open_file();

    run(db, store_schema());
    run(db, fill);
    return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t result;

    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_msg(sqlite3_step(row) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    result = sqlite3_column_int64(row, 0);
    ck_assert_int_eq(sqlite3_finalize(row), SQLITE_OK);
    return result;
}

START_TEST(a_look_up_bisects)
{
    struct slices_at slices = { .threads = NULL };
    struct slices_at_answer answer = { .found = NULL };
    sqlite3 *db = make();

    ck_assert_int_eq(slices_at_find(&slices, db, 1, 5, &answer), SQLITE_OK);
    ck_assert_uint_eq(answer.count, 0);
    ck_assert_uint_le(slices.visited, SLICES + 40); /* all are read once */
    slices.visited = 0;
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(slices_at_find(&slices, db, 1, 1001 + 190 * i, &answer), SQLITE_OK);
        ck_assert_uint_ge(answer.count, 1);
        ck_assert_uint_le(answer.count, 2);
    }
    ck_assert_uint_le(slices.visited, 64000); /* of each, twice two nodes on 16 levels */
    free(answer.found);
    slices_at_release(&slices);
    (void)sqlite3_close(db);
}
END_TEST

static int count_steps(void *context)
{
    ++*(size_t *)context;
    return 0;
}

/* Instructions of SQLite's machine, those of statements inside included, in tens.  */
START_TEST(a_correlated_subquery_reads_the_thread_once)
{
    static const char sql[] =
        "SELECT sum((SELECT max(depth) FROM slice_at(s.ts + 1, 1))) FROM slice AS s WHERE s.id <= "
        "300";
    sqlite3 *db = make();
    size_t tens = 0;

    sqlite3_progress_handler(db, 10, count_steps, &tens);
    ck_assert_int_eq(number(db, sql), 297);
    ck_assert_uint_lt(tens, 60000);
    tens = 0;
    ck_assert_int_eq(number(db, sql), 297); /* nor does the next statement */
    ck_assert_uint_lt(tens, 6000);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    (void)sqlite3_close(db);
}
END_TEST

#define AT_1 "SELECT count(*) FROM slice_at(11, 1)"

START_TEST(a_statement_sees_what_changed_before_it)
{
    sqlite3 *db = make(), *other = open_file();
    sqlite3_stmt *statement = NULL;

    ck_assert_int_eq(sqlite3_prepare_v2(db, AT_1, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int64(statement, 0), 1);
    ck_assert_int_eq(sqlite3_reset(statement), SQLITE_OK);
    run(other, "UPDATE slice_data SET dur = 1 WHERE id = 1");
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int64(statement, 0), 0);
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);

    run(db, "BEGIN; UPDATE slice_data SET dur = 9 WHERE id = 1");
    ck_assert_int_eq(number(db, AT_1), 1);
    run(db, "SAVEPOINT a; UPDATE slice_data SET dur = 1 WHERE id = 1");
    ck_assert_int_eq(number(db, AT_1), 0);
    run(db, "ROLLBACK TO a");
    ck_assert_int_eq(number(db, AT_1), 1);
    run(db, "ROLLBACK");
    ck_assert_int_eq(number(db, AT_1), 0);
    run(db, "CREATE TEMP VIEW slice AS SELECT * FROM main.slice UNION ALL SELECT 99999, 2, 30, 1, "
            "'', '', 0, NULL, NULL, '', 0, '', 0, 1");
    ck_assert_int_eq(number(db, AT_1), 1);
    run(db, "DROP VIEW temp.slice");
    ck_assert_int_eq(number(db, AT_1), 0);
    (void)sqlite3_close(db);
    (void)sqlite3_close(other);
}
END_TEST

/* While the first thread is read, the second one is.  */
START_TEST(a_view_of_slices_may_look_slices_up)
{
    sqlite3 *db = make();

    run(db, "CREATE TEMP VIEW slice AS SELECT s.* FROM main.slice AS s WHERE s.id <> 50 OR "
            "(SELECT count(*) FROM slice_at(s.ts, 2)) < 1 AND s.id > 0");
    (void)sqlite3_exec(db, "SELECT count(*) FROM slice_at(501, 1)", NULL, NULL, NULL);
    ck_assert_int_eq(number(db, "SELECT count(*) FROM main.slice"), SLICES + 1);
    (void)sqlite3_close(db);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_slices_at");
    TCase *look_ups = tcase_create("look_ups");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(look_ups, enter_folder, leave_folder);
    tcase_add_test(look_ups, a_look_up_bisects);
    tcase_add_test(look_ups, a_correlated_subquery_reads_the_thread_once);
    tcase_add_test(look_ups, a_statement_sees_what_changed_before_it);
    tcase_add_test(look_ups, a_view_of_slices_may_look_slices_up);
    suite_add_tcase(suite, look_ups);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
