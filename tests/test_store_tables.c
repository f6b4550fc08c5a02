/* What the writer believes of the tables, against the schema.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/store_internal.h"
#include "libstore/store_tables.h"

static struct store *empty(void)
{
    struct store_error error = { .status = STORE_OK };
    struct store *store = NULL;

    ck_assert_msg(store_create(NULL, NULL, &store, &error) == STORE_OK, "%s", error.message);
    return store;
}

START_TEST(every_table_has_the_columns_that_rows_are_written_with)
{
    const struct store_table_info *table = &store_tables[_i];
    struct store *store = empty();
    sqlite3_stmt *statement = NULL;
    char columns[512] = "";
    unsigned count = 0;
    bool has_id = false;
    char *sql = sqlite3_mprintf("SELECT name FROM pragma_table_info('%q')", table->name);

    /* table_info leaves generated columns out.  */
    ck_assert_int_eq(sqlite3_prepare_v2(store_sqlite(store), sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        const char *quote = strcmp(name, "column") == 0 ? "\"" : "";
        size_t used = strlen(columns);

        (void)snprintf(columns + used, sizeof columns - used, "%s%s%s%s", count ? ", " : "", quote,
                       name, quote);
        has_id |= count == 0 && strcmp(name, "id") == 0;
        count++;
    }
    (void)sqlite3_finalize(statement);
    sqlite3_free(sql);
    ck_assert_str_eq(table->columns, columns);
    ck_assert_uint_eq(table->column_count, count);
    ck_assert_int_eq(table->has_id, has_id);
    ck_assert_uint_le(count, STORE_MOST_COLUMNS);
    store_close(store);
}
END_TEST

START_TEST(every_table_of_the_schema_is_one_that_rows_are_written_to)
{
    struct store *store = empty();
    int64_t count;

    ck_assert_int_eq(store_number(store,
                                  "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                  "name NOT LIKE 'sqlite_%'",
                                  &count, NULL),
                     STORE_OK);
    ck_assert_int_eq(count, STORE_TABLES);
    store_close(store);
}
END_TEST

START_TEST(every_view_can_be_read)
{
    struct store *store = empty();
    sqlite3_stmt *views = NULL;
    unsigned count = 0;

    ck_assert_int_eq(sqlite3_prepare_v2(store_sqlite(store),
                                        "SELECT name FROM sqlite_schema WHERE type = 'view'", -1,
                                        &views, NULL),
                     SQLITE_OK);
    while (sqlite3_step(views) == SQLITE_ROW) {
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", sqlite3_column_text(views, 0));

        ck_assert_msg(sqlite3_exec(store_sqlite(store), sql, NULL, NULL, NULL) == SQLITE_OK,
                      "%s: %s", sql, sqlite3_errmsg(store_sqlite(store)));
        sqlite3_free(sql);
        count++;
    }
    (void)sqlite3_finalize(views);
    ck_assert_uint_gt(count, 20);
    store_close(store);
}
END_TEST

START_TEST(the_schema_says_the_version_that_the_header_says)
{
    struct store *store = empty();
    int64_t number;

    ck_assert_int_eq(store_number(store, "PRAGMA user_version", &number, NULL), STORE_OK);
    ck_assert_int_eq(number, STORE_VERSION);
    ck_assert_int_eq(store_number(store, "PRAGMA application_id", &number, NULL), STORE_OK);
    ck_assert_int_eq(number, STORE_APPLICATION_ID);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_tables");
    TCase *tables = tcase_create("tables");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tables, every_table_has_the_columns_that_rows_are_written_with, 0,
                        STORE_TABLES);
    tcase_add_test(tables, every_table_of_the_schema_is_one_that_rows_are_written_to);
    tcase_add_test(tables, every_view_can_be_read);
    tcase_add_test(tables, the_schema_says_the_version_that_the_header_says);
    suite_add_tcase(suite, tables);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
