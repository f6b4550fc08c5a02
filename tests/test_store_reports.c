/* Reports: the rows of each, in plain SQL too; what they need and refuse; every failure.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/report_store.h"
#include "tests/support/stores.h"

static struct store *store;

static void make(void)
{
    store = new_report_store();
}

static void drop(void)
{
    store_close(store);
}

/* ---- Rows ---- */

static const struct {
    const char *name, *by, *function;
    struct store_filter filter;
    uint64_t rows;
    double least;
    size_t bins;
    const char *text;
} answers[] = {
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "20|50|20|50|[app]|-|-|/bin/app;10|25|40|100|main|main.c|-|/bin/"
      "app;10|25|30|75|work|work.c|-|/bin/app;" },
    { "top",
      "line",
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "20|50|20|50|[app]|-|-|/bin/app;10|25|40|100|main|main.c|3|/bin/"
      "app;10|25|30|75|work|work.c|5|/bin/app;" },
    { "top",
      "file",
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "20|50|20|50|[unknown];10|25|40|100|main.c;10|25|30|75|work.c;" },
    { "top", "module", NULL, { .capture = CAPTURE_CPU }, 0, 0, 0, "40|100|40|100|/bin/app;" },
    { "top",
      "thread",
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "20|50|2|7|app|8|main;20|50|2|7|app|9|it's;" },
    { "top", "process", NULL, { .capture = CAPTURE_CPU }, 0, 0, 0, "40|100|4|7|app;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .tids = "9" },
      0,
      0,
      0,
      "10|50|20|100|main|main.c|-|/bin/app;10|50|10|50|[app]|-|-|/bin/app;0|0|10|50|work|work.c|-|/"
      "bin/app;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .comms = "it's,nobody" },
      1,
      0,
      0,
      "10|50|20|100|main|main.c|-|/bin/app;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .cpus = "0,5" },
      0,
      0,
      0,
      "10|50|20|100|work|work.c|-|/bin/app;10|50|10|50|[app]|-|-|/bin/"
      "app;0|0|20|100|main|main.c|-|/bin/app;" },
    { "top", NULL, NULL, { .capture = CAPTURE_CPU, .pids = "6" }, 0, 0, 0, "" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU,
        .has_from = true,
        .from_ts = 120,
        .has_limit = true,
        .limit_ts = 199 },
      0,
      0,
      0,
      "10|100|10|100|[app]|-|-|/bin/app;0|0|10|100|main|main.c|-|/bin/"
      "app;0|0|10|100|work|work.c|-|/bin/app;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .focus = "work", .hide = "^main$" },
      0,
      0,
      0,
      "20|66.67|20|66.67|[app]|-|-|/bin/app;10|33.33|30|100|work|work.c|-|/bin/app;" },
    { "top",
      "process",
      NULL,
      { .capture = CAPTURE_CPU, .ignore = "work", .show_from = "main" },
      0,
      0,
      0,
      "10|100|1|7|app;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_BARE },
      0,
      0,
      0,
      "1|100|1|100|main|main.c|-|/bin/app;" },
    { "top", "thread", NULL, { .capture = CAPTURE_BARE }, 0, 0, 0, "1|100|1|60|bare|61|bare;" },
    { "top",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .sample_type = "samples" },
      0,
      0,
      0,
      "2|50|2|50|[app]|-|-|/bin/app;1|25|4|100|main|main.c|-|/bin/app;1|25|3|75|work|work.c|-|/bin/"
      "app;" },
    { "top",
      NULL,
      NULL,
      { .sample_type = "alloc_space" },
      0,
      0,
      0,
      "100|51.02|196|100|work|work.c|-|/bin/app;96|48.98|96|48.98|[app]|-|-|/bin/"
      "app;0|0|196|100|main|main.c|-|/bin/app;" },
    { "top",
      "process",
      NULL,
      { .sample_type = "alloc_space", .comms = "hog,went" },
      0,
      0,
      0,
      "164|83.67|3|20|hog;32|16.33|1|70|went;" },
    { "top",
      "process",
      NULL,
      { .sample_type = "free_space", .has_from = true, .from_ts = 2500 },
      0,
      0,
      0,
      "100|100|2|20|hog;" },
    { "top",
      "process",
      NULL,
      { .sample_type = "inuse_space", .has_from = true, .from_ts = 0 },
      0,
      0,
      0,
      "64|100|1|20|hog;" },
    { "top", "process", NULL, { .sample_type = "delay" }, 0, 0, 0, "900|100|1|40|-;" },
    { "tree",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "40|100|0|0|all|0|-;40|100|10|1|main|1|0;30|75|10|2|work|2|1;20|50|20|3|[app]|3|2;" },
    { "tree",
      "file",
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      60,
      0,
      "40|100|0|0|all|0|-;40|100|10|1|main.c|1|0;30|75|10|2|work.c|2|1;" },
    { "callers",
      NULL,
      "leaf|app",
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "40|100|0|0|all|0|-;20|50|0|1|[app]|4|0;20|50|0|2|work|5|4;20|50|20|3|main|6|5;10|25|10|1|"
      "main|1|0;10|25|0|1|work|2|0;10|25|10|2|main|3|2;" },
    { "callees",
      NULL,
      "^it's$|^work$",
      { .capture = CAPTURE_CPU },
      2,
      0,
      0,
      "30|100|0|0|all|0|-;30|100|10|1|work|1|0;" },
    { "heap",
      NULL,
      NULL,
      { .capture = 0 },
      0,
      0,
      0,
      "allocated|164|3|2|-|-;temporary|100|2|1|-|-;at the peak|164|3|2|1000|2000;in use at the "
      "end|64|1|1|-|-;in use for less than 1 ms|64|1|1|-|-;in use for 1 ms to 100 ms|0|0|0|-|-;in "
      "use for 100 ms to 10 s|0|0|0|-|-;in use for 10 s and longer|0|0|0|-|-;resident at "
      "most|8192|-|-|-|-;" },
    { "heap",
      "function",
      NULL,
      { .capture = CAPTURE_HEAP },
      0,
      0,
      0,
      "64|1|64|1|64|0|4000|[app];0|0|100|2|100|100|-|work;" },
    { "heap",
      "file",
      NULL,
      { .hide = "^work$" },
      0,
      0,
      0,
      "64|1|64|1|64|0|4000|[unknown];0|0|100|2|100|100|-|main.c;" },
    { "heap",
      "module",
      NULL,
      { .has_from = true, .from_ts = 1500 },
      0,
      0,
      0,
      "0|0|100|2|100|100|-|/bin/app;" },
    { "threads",
      NULL,
      NULL,
      { .capture = 0 },
      0,
      0,
      0,
      "7|app|8|main|2|20|-|-|-|-;7|app|9|it's|2|20|-|-|-|-;30|line|31|drawer|0|0|80|0|20|2;30|line|"
      "32|waker|0|0|0|5|0|0;60|bare|61|bare|1|-|-|-|-|-;" },
    { "threads",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU, .focus = "leaf|app" },
      0,
      0,
      0,
      "7|app|8|main|2|20|-|-|-|-;7|app|9|it's|2|20|-|-|-|-;" },
    { "threads",
      NULL,
      NULL,
      { .has_from = true,
        .from_ts = 20,
        .has_limit = true,
        .limit_ts = 50,
        .capture = CAPTURE_TIMELINE },
      0,
      0,
      0,
      "30|line|31|drawer|0|0|20|0|10|1;" },
    { "threads",
      NULL,
      NULL,
      { .cpus = "2", .capture = CAPTURE_TIMELINE },
      0,
      0,
      0,
      "30|line|31|drawer|0|0|40|0|20|1;" },
    { "cpu",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      0,
      "0|20|18.35|-|2|1|samples;1|20|18.35|-|2|1|samples;" },
    { "cpu",
      NULL,
      NULL,
      { .capture = CAPTURE_TIMELINE },
      0,
      0,
      0,
      "2|40|40|1|0|1|switches;3|40|40|1|0|1|switches;" },
    { "cpu",
      "thread",
      NULL,
      { .capture = 0 },
      0,
      0,
      0,
      "80|80|2|0|2|switches|30|line|31|drawer;20|18.35|-|2|1|samples|7|app|8|main;20|18.35|-|2|1|"
      "samples|7|app|9|it's;-|-|-|1|0|samples|60|bare|61|bare;" },
    { "cpu",
      "thread",
      NULL,
      { .capture = CAPTURE_CPU,
        .focus = "work",
        .has_from = true,
        .from_ts = 100,
        .has_limit = true,
        .limit_ts = 150 },
      0,
      0,
      0,
      "20|40|-|2|1|samples|7|app|8|main;10|20|-|1|1|samples|7|app|9|it's;" },
    { "cpu",
      "wait",
      NULL,
      { .capture = CAPTURE_TIMELINE },
      0,
      0,
      0,
      "20|1|20|blocked|waker|30|line|31|drawer;5|1|5|runnable|-|30|line|32|waker;" },
    { "cpu", "wait", NULL, { .cpus = "2" }, 0, 0, 0, "20|1|20|blocked|waker|30|line|31|drawer;" },
    { "slices",
      NULL,
      NULL,
      { .capture = 0 },
      0,
      0,
      0,
      "3|40|10|20|28|29.8|30|1|gfx|draw;1|5|5|5|5|5|5|0||tick;" },
    { "slices",
      NULL,
      NULL,
      { .capture = CAPTURE_TIMELINE, .focus = "draw", .cpus = "3" },
      0,
      0,
      0,
      "1|0|-|-|-|-|-|1|gfx|draw;" },
    { "slices",
      NULL,
      NULL,
      { .ignore = "x",
        .hide = "y",
        .show_from = "draw",
        .tids = "31",
        .comms = "drawer",
        .has_limit = true,
        .limit_ts = 60 },
      0,
      0,
      0,
      "2|40|10|20|28|29.8|30|0|gfx|draw;1|5|5|5|5|5|5|0||tick;" },
    { "timeline",
      NULL,
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      2,
      "it's 7/9|0|100|1;it's 7/9|1|150|1;main 7/8|0|100|2;" },
    { "timeline",
      "cpu",
      NULL,
      { .capture = CAPTURE_CPU },
      0,
      0,
      4,
      "cpu 0|0|100|2;cpu 1|0|100|1;cpu 1|3|175|1;" },
    { "timeline",
      "process",
      NULL,
      { .capture = CAPTURE_CPU,
        .has_from = true,
        .from_ts = 105,
        .has_limit = true,
        .limit_ts = 125 },
      0,
      0,
      2,
      "app 7|0|105|1;app 7|1|115|1;" },
    { "timeline",
      "all",
      NULL,
      { .capture = CAPTURE_CPU, .focus = "leaf|work" },
      1,
      0,
      1,
      "all|0|100|3;" },
    { "damage",
      NULL,
      NULL,
      { .capture = 0 },
      0,
      0,
      0,
      "timeline|lost|dropped|9|-|-|lost by the capture;timeline|lost|provider 5|2|-|-|times that a "
      "buffer of gfx filled "
      "up;timeline|damage|cut|1|8|64|a record is cut;timeline|notice|odd|2|-|-|something is odd;" },
    { "damage", NULL, NULL, { .capture = CAPTURE_CPU }, 0, 0, 0, "" },
};

static struct store_report_request request_of(size_t i, struct store_filter *filter)
{
    *filter = answers[i].filter;
    filter->size = sizeof *filter;
    return (struct store_report_request){ .size = sizeof(struct store_report_request),
                                          .name = answers[i].name,
                                          .by = answers[i].by,
                                          .function = answers[i].function,
                                          .filter = filter,
                                          .rows = answers[i].rows,
                                          .least_percent = answers[i].least,
                                          .bins = answers[i].bins };
}

START_TEST(a_report_has_the_rows_that_the_data_give)
{
    struct store_error error = { .status = STORE_OK };
    struct store_filter filter;
    struct store_report_request request = request_of((size_t)_i, &filter);
    char text[4096];
    enum store_status status = report_rows_text(store, &request, text, sizeof text, &error);

    ck_assert_msg(status == STORE_OK, "%s: %s", answers[_i].name, error.message);
    ck_assert_str_eq(text, answers[_i].text);
}
END_TEST

/* The rows of sql in the same form.  Fails the test if there are none to get.  */
static void run_sql(const char *sql, char *text, size_t size)
{
    sqlite3_stmt *row = NULL;
    size_t used = 0;
    int count;

    ck_assert_msg(sqlite3_prepare_v2(store_sqlite(store), sql, -1, &row, NULL) == SQLITE_OK,
                  "%s: %s", sqlite3_errmsg(store_sqlite(store)), sql);
    count = sqlite3_column_count(row);
    *text = '\0';
    while (sqlite3_step(row) == SQLITE_ROW)
        for (int i = 0; i < count; i++) {
            const char *cell = (const char *)sqlite3_column_text(row, i);
            bool is_real = sqlite3_column_type(row, i) == SQLITE_FLOAT;
            const char *end = i + 1 < count ? "|" : ";";

            used += (size_t)(is_real ? snprintf(text + used, size - used, "%g%s",
                                                sqlite3_column_double(row, i), end)
                                     : snprintf(text + used, size - used, "%s%s", cell ? cell : "-",
                                                end));
        }
    ck_assert_int_eq(sqlite3_finalize(row), SQLITE_OK);
}

START_TEST(the_plain_query_has_the_same_rows)
{
    struct store_filter filter;
    struct store_report_request request = request_of((size_t)_i, &filter);
    char text[4096], *sql = NULL;

    ck_assert_int_eq(store_report_sql(store, &request, &sql, NULL, NULL), STORE_OK);
    ck_assert_str_eq(sql + strlen(sql) - 2, ";\n");
    run_sql(sql, text, sizeof text);
    free(sql);
    ck_assert_str_eq(text, answers[_i].text);
}
END_TEST

/* ---- The table of reports ---- */

START_TEST(every_choice_of_every_report_answers_with_the_columns_that_it_names)
{
    const struct store_report_about *about;
    size_t choices = 0;

    for (size_t i = 0; (about = store_report_at(i)) != NULL; i++) {
        ck_assert_ptr_eq(store_report_find(about->name), about);
        for (size_t by = 0; by == 0 || (about->by && about->by[by]); by++, choices++) {
            struct store_report_request request = { .size = sizeof request,
                                                    .name = about->name,
                                                    .by = about->by ? about->by[by] : NULL,
                                                    .function = about->has_function ? "." : NULL };
            const struct store_report_column *columns;
            struct store_report *report = NULL;
            sqlite3_stmt *statement = NULL;
            char *sql = NULL;
            size_t count;

            ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
            ck_assert_int_eq(store_report_sql(store, &request, &sql, NULL, NULL), STORE_OK);
            ck_assert_int_eq(sqlite3_prepare_v2(store_sqlite(store), sql, -1, &statement, NULL),
                             SQLITE_OK);
            columns = store_report_columns(report, &count);
            ck_assert_int_eq(sqlite3_column_count(statement), (int)count);
            for (size_t k = 0; k < count; k++) {
                ck_assert_str_eq(sqlite3_column_name(statement, (int)k), columns[k].name);
                ck_assert_int_ne(columns[k].kind, STORE_REPORT_VALUE);
            }
            (void)sqlite3_finalize(statement);
            free(sql);
            store_report_close(report);
        }
    }
    ck_assert_uint_eq(choices, 32);
    ck_assert_ptr_null(store_report_find("nothing"));
    ck_assert_ptr_null(store_report_find(NULL));
}
END_TEST

static const struct {
    const char *name, *by;
    struct store_filter filter;
    const char *column;
    enum store_report_kind kind;
} kinds[] = {
    { "top", NULL, { .capture = CAPTURE_CPU }, "self", STORE_REPORT_NS },
    { "top", NULL, { .capture = CAPTURE_BARE }, "self", STORE_REPORT_COUNT },
    { "top",
      NULL,
      { .capture = CAPTURE_CPU, .sample_type = "samples" },
      "self",
      STORE_REPORT_COUNT },
    { "top", NULL, { .capture = CAPTURE_HEAP }, "self", STORE_REPORT_BYTES },
    { "top", NULL, { .capture = CAPTURE_EMPTY }, "self", STORE_REPORT_COUNT },
    { "top", NULL, { .capture = 0 }, "name", STORE_REPORT_FUNCTION },
    { "top", "line", { .capture = 0 }, "name", STORE_REPORT_FUNCTION },
    { "top", "file", { .capture = 0 }, "name", STORE_REPORT_TEXT },
    { "tree", NULL, { .capture = 0 }, "name", STORE_REPORT_FUNCTION },
    { "tree", "module", { .capture = 0 }, "name", STORE_REPORT_TEXT },
    { "heap", "function", { .capture = 0 }, "name", STORE_REPORT_FUNCTION },
    { "heap", "file", { .capture = 0 }, "name", STORE_REPORT_TEXT },
};

START_TEST(a_column_has_the_unit_of_its_sample_type)
{
    struct store_filter filter = kinds[_i].filter;
    struct store_report_request request = {
        .size = sizeof request, .name = kinds[_i].name, .by = kinds[_i].by, .filter = &filter
    };
    const struct store_report_column *columns;
    struct store_report *report = NULL;
    size_t count, i = 0;

    filter.size = sizeof filter;
    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    columns = store_report_columns(report, &count);
    while (i < count && strcmp(columns[i].name, kinds[_i].column) != 0)
        i++;
    ck_assert_uint_lt(i, count);
    ck_assert_int_eq(columns[i].kind, kinds[_i].kind);
    store_report_close(report);
}
END_TEST

/* ---- Bins ---- */

START_TEST(bins_cover_the_time_that_is_looked_at)
{
    static const struct {
        struct store_filter filter;
        size_t bins;
        struct store_report_bins expected;
    } cases[] = {
        { { .capture = CAPTURE_CPU }, 10, { 100, 100, 10, 10 } },
        { { .capture = CAPTURE_CPU }, 0, { 100, 100, 2, 80 } },
        { { .capture = CAPTURE_CPU, .has_from = true, .from_ts = 0 }, 1, { 100, 100, 100, 1 } },
        { { .capture = CAPTURE_CPU, .has_from = true, .from_ts = 500 }, 7, { 100, 500, 1, 7 } },
        { { .capture = CAPTURE_CPU, .has_limit = true, .limit_ts = 103 }, 2, { 100, 100, 2, 2 } },
        { { .capture = CAPTURE_EMPTY }, 3, { 0, 0, 1, 3 } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_filter filter = cases[i].filter;
        struct store_report_request request = {
            .size = sizeof request, .name = "timeline", .filter = &filter, .bins = cases[i].bins
        };
        struct store_report *report = NULL;

        filter.size = sizeof filter;
        ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
        ck_assert_mem_eq(store_report_bins(report), &cases[i].expected, sizeof cases[i].expected);
        store_report_close(report);
    }
}
END_TEST

START_TEST(times_that_no_number_holds_are_divided_too)
{
    struct store_report_request request = { .size = sizeof request, .name = "timeline", .bins = 1 };
    struct store_report *report = NULL;
    char text[4096];

    ck_assert_int_eq(sqlite3_exec(store_sqlite(store),
                                  "UPDATE capture SET start_ts = -9223372036854775807 - 1, end_ts ="
                                  " 9223372036854775807 WHERE id = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    ck_assert_int_eq(store_report_bins(report)->bin_ns, INT64_MAX);
    store_report_close(report);
    ck_assert_int_eq(report_rows_text(store, &request, text, sizeof text, NULL), STORE_OK);
}
END_TEST

/* ---- Refusals ---- */

static const struct {
    struct store_report_request request;
    struct store_filter filter;
    bool always; /* whatever the store has */
    unsigned refused;
    const char *message;
} refusals[] = {
    { { .name = "nothing" }, { 0 }, true, 0, "unknown report 'nothing'" },
    { { .name = NULL }, { 0 }, true, 0, "unknown report ''" },
    { { .name = "top", .by = "kind" }, { 0 }, true, 0, "report top has no rows by kind" },
    { { .name = "damage", .by = "kind" }, { 0 }, true, 0, "report damage has no rows by kind" },
    { { .name = "top", .function = "x" }, { 0 }, true, 0, "report top takes no pattern" },
    { { .name = "callers" }, { 0 }, true, 0, "report callers needs a pattern" },
    { { .name = "cpu" }, { .sample_type = "cpu" }, true, 0, "report cpu has no sample types" },
    { { .name = "timeline", .bins = 1000001 },
      { 0 },
      true,
      0,
      "1000001 bins: at most 1000000 are possible" },
    { { .name = "top" }, { .pids = "1) OR (1" }, true, 0, "'1) OR (1' is not a list of numbers" },
    { { .name = "top" }, { .tids = "" }, true, 0, "'' is not a list of numbers" },
    { { .name = "top" }, { .cpus = "1,,2" }, true, 0, "'1,,2' is not a list of numbers" },
    { { .name = "top" }, { .cpus = "-1" }, true, 0, "'-1' is not a list of numbers" },
    { { .name = "top" },
      { .cpus = "99999999999999999999" },
      true,
      0,
      "'99999999999999999999' is not a list of numbers" },
    { { .name = "damage" },
      { .pids = "1" },
      true,
      STORE_FILTER_ALL,
      "damage is that of a whole capture, which --capture chooses" },
    { { .name = "heap" },
      { .tids = "1" },
      true,
      STORE_FILTER_THREAD,
      "allocations have no thread" },
    { { .name = "heap" }, { .cpus = "1" }, true, STORE_FILTER_CPU, "allocations have no CPU" },
    { { .name = "cpu", .by = "wait" },
      { .hide = "x" },
      true,
      STORE_FILTER_STACK | STORE_FILTER_SHAPE,
      "waits have no stack" },
    { { .name = "cpu" },
      { .focus = "x", .capture = CAPTURE_TIMELINE },
      false,
      STORE_FILTER_STACK | STORE_FILTER_SHAPE,
      "context switches have no stack" },
    { { .name = "cpu", .by = "cpu" },
      { .focus = "x", .capture = CAPTURE_BARE },
      false,
      STORE_FILTER_STACK | STORE_FILTER_SHAPE,
      "samples have no CPU" },
    { { .name = "cpu", .by = "thread" },
      { .cpus = "1", .capture = CAPTURE_BARE },
      false,
      STORE_FILTER_CPU,
      "samples have no CPU" },
    { { .name = "threads" },
      { .ignore = "x", .capture = CAPTURE_TIMELINE },
      false,
      STORE_FILTER_STACK | STORE_FILTER_SHAPE,
      "context switches have no stack" },
    { { .name = "threads" },
      { .has_from = true, .capture = CAPTURE_PROFILE },
      false,
      STORE_FILTER_TIME,
      "samples of profiles have no time" },
    { { .name = "threads" },
      { .cpus = "1", .capture = CAPTURE_PROFILE },
      false,
      STORE_FILTER_CPU,
      "samples of profiles have no CPU" },
    { { .name = "timeline" },
      { .cpus = "1", .capture = CAPTURE_BARE },
      false,
      STORE_FILTER_CPU,
      "samples have no CPU" },
    { { .name = "top" },
      { .cpus = "1", .capture = CAPTURE_BARE },
      false,
      0,
      "samples of type cpu have no CPU" },
    { { .name = "top", .by = "thread" },
      { .capture = CAPTURE_HEAP },
      false,
      0,
      "samples of type inuse_space have no thread" },
    { { .name = "tree" },
      { .has_limit = true, .capture = CAPTURE_PROFILE },
      false,
      0,
      "samples of type delay have no time" },
};

START_TEST(a_request_that_nothing_could_answer_is_refused)
{
    struct store_report_request request = refusals[_i].request;
    struct store_filter filter = refusals[_i].filter;
    struct store_report *report = NULL;
    struct store_error error = { .status = STORE_OK };
    unsigned refused = 77;
    char *sql = NULL;

    request.size = sizeof request;
    request.filter = &filter;
    filter.size = sizeof filter;
    ck_assert_int_eq(store_report_check(&request, &refused, &error),
                     refusals[_i].always ? STORE_INVALID : STORE_OK);
    ck_assert_uint_eq(refused, refusals[_i].always ? refusals[_i].refused : 0);
    ck_assert_int_eq(store_report_open(store, &request, &report, &refused, &error), STORE_INVALID);
    ck_assert_str_eq(error.message, refusals[_i].message);
    ck_assert_uint_eq(refused, refusals[_i].refused);
    ck_assert_ptr_null(report);
    ck_assert_int_eq(store_report_sql(store, &request, &sql, NULL, NULL), STORE_INVALID);
    ck_assert_ptr_null(sql);
}
END_TEST

START_TEST(a_request_of_another_size_is_refused)
{
    struct store_filter filter = { .size = 1 };
    struct store_report_request request = { .size = sizeof request, .name = "top" };

    ck_assert_int_eq(store_report_check(&request, NULL, NULL), STORE_OK);
    request.filter = &filter;
    ck_assert_int_eq(store_report_check(&request, NULL, NULL), STORE_INVALID);
    request = (struct store_report_request){ .size = 8, .name = "top" };
    ck_assert_int_eq(store_report_check(&request, NULL, NULL), STORE_INVALID);
}
END_TEST

/* ---- Data that are missing ---- */

static const struct {
    const char *name, *by;
    int64_t capture;
    const char *what, *instead, *instead_by;
} lacks[] = {
    { "top", NULL, CAPTURE_CPU, NULL, NULL, NULL },
    { "top", NULL, CAPTURE_TIMELINE, "no samples with stacks, but durations", "slices", NULL },
    { "tree", NULL, CAPTURE_EMPTY, "no samples with stacks", NULL, NULL },
    { "heap", NULL, CAPTURE_HEAP, NULL, NULL, NULL },
    { "heap", NULL, CAPTURE_ALLOCATED, "no allocations, but a profile of them", "top", NULL },
    { "heap", NULL, CAPTURE_CPU, "no allocations", NULL, NULL },
    { "threads", NULL, CAPTURE_TIMELINE, NULL, NULL, NULL },
    { "threads", NULL, CAPTURE_EMPTY, "no CPU samples and no context switches", NULL, NULL },
    { "threads", NULL, CAPTURE_PROFILE,
      "no CPU samples, no context switches, and no threads in its profiles", NULL, NULL },
    { "threads", NULL, CAPTURE_ALLOCATED, "no CPU samples and no context switches, but a profile",
      "top", "thread" },
    { "cpu", NULL, CAPTURE_CPU, NULL, NULL, NULL },
    { "cpu", "cpu", CAPTURE_BARE, "no CPUs in its samples, but threads", "cpu", "thread" },
    { "cpu", "thread", CAPTURE_BARE, NULL, NULL, NULL },
    { "cpu", "cpu", CAPTURE_PROFILE, "no CPU samples and no context switches, but a profile", "top",
      NULL },
    { "cpu", "thread", CAPTURE_PROFILE, "no CPU samples and no context switches, but a profile",
      "top", NULL },
    { "cpu", "thread", CAPTURE_HEAP, "no CPU samples and no context switches", NULL, NULL },
    { "cpu", "wait", CAPTURE_CPU, "no context switches", NULL, NULL },
    { "cpu", "wait", CAPTURE_TIMELINE, NULL, NULL, NULL },
    { "slices", NULL, CAPTURE_CPU, "no durations", NULL, NULL },
    { "slices", NULL, CAPTURE_TIMELINE, NULL, NULL, NULL },
    { "timeline", NULL, CAPTURE_TIMELINE, "no CPU samples", NULL, NULL },
    { "damage", NULL, CAPTURE_EMPTY, NULL, NULL, NULL },
};

START_TEST(what_a_store_lacks_is_named_with_a_report_on_what_it_has)
{
    struct store_filter filter = { .size = sizeof filter, .capture = lacks[_i].capture };
    struct store_report_request request = {
        .size = sizeof request, .name = lacks[_i].name, .by = lacks[_i].by, .filter = &filter
    };
    struct store_report *report = NULL;
    struct store_report_lack lack;

    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    ck_assert_int_eq(store_report_lacks(report, &lack, NULL), STORE_OK);
    ck_assert_pstr_eq(lack.what, lacks[_i].what);
    ck_assert_pstr_eq(lack.instead, lacks[_i].instead);
    ck_assert_pstr_eq(lack.instead_by, lacks[_i].instead_by);
    ck_assert(!lack.instead || store_report_find(lack.instead));
    store_report_close(report);
}
END_TEST

/* ---- Failures ---- */

START_TEST(a_wrong_pattern_is_an_invalid_request)
{
    struct store_report_request request = { .size = sizeof request,
                                            .name = "callers",
                                            .function = "(" };
    struct store_error error = { .status = STORE_OK };
    char text[4096];

    ck_assert_int_eq(report_rows_text(store, &request, text, sizeof text, &error), STORE_INVALID);
    ck_assert_ptr_nonnull(strstr(error.message, "'('"));
}
END_TEST

START_TEST(a_store_that_contradicts_itself_is_corrupt)
{
    struct store_report_request request = { .size = sizeof request, .name = "top" };
    struct store_error error = { .status = STORE_OK };
    char text[4096];

    ck_assert_int_eq(
        sqlite3_exec(store_sqlite(store), "UPDATE callsite SET parent_id = 3", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(report_rows_text(store, &request, text, sizeof text, &error), STORE_CORRUPT);
    ck_assert_int_eq(strncmp(error.message, "the store is damaged", 20), 0);
}
END_TEST

START_TEST(a_store_that_cannot_be_read_gives_no_report)
{
    struct store_report_request request = { .size = sizeof request, .name = "top" };
    struct store_report *report = NULL;
    struct store_report_lack lack;

    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store),
                                  "DELETE FROM callsite_sum; DROP TABLE slice_data", NULL, NULL,
                                  NULL),
                     SQLITE_OK);
    store_report_close(report);
    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    ck_assert_int_eq(store_report_lacks(report, &lack, NULL), STORE_CORRUPT);
    store_report_close(report);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store), "DROP TABLE callsite_sum", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_CORRUPT);
    store_report_close(NULL);
}
END_TEST

static int stop(void *context)
{
    (void)context;
    return 1;
}

START_TEST(a_report_can_be_stopped)
{
    struct store_report_request request = { .size = sizeof request, .name = "slices" };
    const struct store_report_cell *cells;
    struct store_report *report = NULL;

    ck_assert_int_eq(store_report_open(store, &request, &report, NULL, NULL), STORE_OK);
    sqlite3_progress_handler(store_sqlite(store), 1, stop, NULL);
    ck_assert_int_eq(store_report_next(report, &cells, NULL), STORE_STOPPED);
    sqlite3_progress_handler(store_sqlite(store), 0, NULL, NULL);
    store_report_close(report);
}
END_TEST

START_TEST(every_allocation_that_fails_is_a_status)
{
    static const size_t asked[] = { 0, 17, 23, 25, 27, 29, 33, 39, 42, 46 };
    struct store_filter filter;
    struct store_report_request request = request_of(asked[_i], &filter);
    unsigned long failures = 0;
    char text[4096];

    for (unsigned long n = 1;; n += 1 + n / 20) {
        struct store_error error = { .status = STORE_OK };
        enum store_status status;
        char *sql = NULL;

        allocation_fail_at(n);
        status = report_rows_text(store, &request, text, sizeof text, &error);
        if (status == STORE_OK)
            status = store_report_sql(store, &request, &sql, NULL, &error);
        if (allocation_count() < n)
            status = STORE_END;
        allocation_fail_at(0);
        free(sql);
        if (status == STORE_END)
            break;
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "allocation %lu: %d, %s", n,
                      (int)status, error.message);
        failures += status != STORE_OK;
    }
    ck_assert_uint_gt(failures, 2);
    ck_assert_int_eq(report_rows_text(store, &request, text, sizeof text, NULL), STORE_OK);
    ck_assert_str_eq(text, answers[asked[_i]].text);
}
END_TEST

#define LOOP(test, table) \
    tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("store_reports");
    TCase *tcase = tcase_create("reports");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, make, drop);
    LOOP(a_report_has_the_rows_that_the_data_give, answers);
    LOOP(the_plain_query_has_the_same_rows, answers);
    tcase_add_test(tcase, every_choice_of_every_report_answers_with_the_columns_that_it_names);
    LOOP(a_column_has_the_unit_of_its_sample_type, kinds);
    tcase_add_test(tcase, bins_cover_the_time_that_is_looked_at);
    tcase_add_test(tcase, times_that_no_number_holds_are_divided_too);
    LOOP(a_request_that_nothing_could_answer_is_refused, refusals);
    tcase_add_test(tcase, a_request_of_another_size_is_refused);
    LOOP(what_a_store_lacks_is_named_with_a_report_on_what_it_has, lacks);
    tcase_add_test(tcase, a_wrong_pattern_is_an_invalid_request);
    tcase_add_test(tcase, a_store_that_contradicts_itself_is_corrupt);
    tcase_add_test(tcase, a_store_that_cannot_be_read_gives_no_report);
    tcase_add_test(tcase, a_report_can_be_stopped);
    tcase_add_loop_test(tcase, every_allocation_that_fails_is_a_status, 0, 10);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
