/* Captures, costs, the tree of calls and the definitions of functions, as callbacks get them.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_content.h>
#include "tests/support/report_store.h"

static struct store *store;

static void make(void)
{
    store = new_report_store();
}

static void drop(void)
{
    store_close(store);
}

static void change(const char *sql)
{
    ck_assert_msg(sqlite3_exec(store_sqlite(store), sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(store_sqlite(store)));
}

/* What callbacks got, a line each.  */
struct lines {
    char text[1000];
    size_t used;
    int most; /* lines, after which they stop; 0: no end */
    int count;
};

static bool added(struct lines *lines, int length)
{
    lines->used += (size_t)length;
    return ++lines->count != lines->most;
}

#define LEFT(lines) (lines)->text + (lines)->used, sizeof(lines)->text - (lines)->used

static bool add_capture(void *context, const struct store_capture *capture)
{
    struct lines *lines = context;
    const char *texts[] = { capture->name, capture->command, capture->arch, capture->kernel,
                            capture->cpu_model };
    int length = snprintf(LEFT(lines), "%lld %lld", (long long)capture->id,
                          (long long)capture->period_ns);

    lines->used += (size_t)length;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        lines->used += (size_t)snprintf(LEFT(lines), " %s", texts[i] ? texts[i] : "-");
    return added(lines, snprintf(LEFT(lines), "\n"));
}

static bool add_cost(void *context, const struct store_cost *cost)
{
    struct lines *lines = context;

    return added(lines, snprintf(LEFT(lines), "%lld %g %g\n", (long long)cost->callsite_id,
                                 cost->samples, cost->value));
}

static bool add_call(void *context, const struct store_call *call)
{
    struct lines *lines = context;

    return added(lines, snprintf(LEFT(lines), "%u %s %s %g\n", call->depth, call->function,
                                 *call->module ? call->module : "-", call->self));
}

static bool add_definition(void *context, const struct store_definition *definition)
{
    struct lines *lines = context;

    return added(lines, snprintf(LEFT(lines), "%s %s %s %lld\n", definition->function,
                                 *definition->module ? definition->module : "-", definition->file,
                                 (long long)definition->line));
}

START_TEST(captures_come_in_the_order_of_ids_with_their_facts)
{
    struct lines all = { .used = 0 }, one = { .used = 0 }, first = { .most = 1 };

    change("DELETE FROM capture WHERE id BETWEEN 3 AND 6; UPDATE capture SET command = 'app -x',"
           " arch = 'x86_64', period_ns = 250 WHERE id = 2;"
           "UPDATE capture SET command = '' WHERE id = 7;"
           "INSERT INTO meta VALUES (2, 'kernel', '6.1'), (2, 'cpu_model', 'fast')");
    ck_assert_int_eq(store_captures_each(store, 0, add_capture, &all, NULL), STORE_OK);
    ck_assert_str_eq(all.text, "1 0 cpu - - - -\n"
                               "2 250 heap app -x x86_64 6.1 fast\n"
                               "7 0 allocated - - - -\n");
    ck_assert_int_eq(store_captures_each(store, 7, add_capture, &one, NULL), STORE_OK);
    ck_assert_str_eq(one.text, "7 0 allocated - - - -\n");
    ck_assert_int_eq(store_captures_each(store, 0, add_capture, &first, NULL), STORE_OK);
    ck_assert_str_eq(first.text, "1 0 cpu - - - -\n");
}
END_TEST

static const struct {
    const char *type;
    int64_t capture;
    const char *costs;
} costs[] = {
    { "cpu", 1, "1 1 10\n2 1 10\n3 2 20\n" },
    { "samples", 1, "1 1 10\n2 1 10\n3 2 20\n" }, /* those that it counts */
    { "free_space", 2, "0 2 100\n" },             /* the empty stack */
    { "cpu", 6, "1 1 0\n" },                      /* of unknown value */
    { "cpu", 0, "1 1 10\n2 1 10\n3 2 20\n1 1 0\n" },
};

START_TEST(costs_are_the_sums_of_the_store)
{
    struct store_sample_type type;
    struct lines lines = { .used = 0 };

    ck_assert_int_eq(store_sample_type_choose(store, costs[_i].type, 0, &type, NULL), STORE_OK);
    ck_assert_int_eq(store_costs_each(store, costs[_i].capture, &type, add_cost, &lines, NULL),
                     STORE_OK);
    store_sample_type_release(&type);
    ck_assert_str_eq(lines.text, costs[_i].costs);
}
END_TEST

static const struct {
    struct store_filter filter;
    const char *calls;
} trees[] = {
    { { .capture = CAPTURE_CPU },
      "0 all - 0\n1 main /bin/app 10\n2 work /bin/app 10\n3 [app] /bin/app 20\n" },
    { { .capture = CAPTURE_CPU, .tids = "9" }, /* sample 4, and 3 two calls below it */
      "0 all - 0\n1 main /bin/app 10\n2 work /bin/app 0\n3 [app] /bin/app 10\n" },
    { { .capture = CAPTURE_CPU,
        .has_from = true,
        .from_ts = 120,
        .has_limit = true,
        .limit_ts = 199 },
      "0 all - 0\n1 main /bin/app 0\n2 work /bin/app 0\n3 [app] /bin/app 10\n" },
    { { .capture = CAPTURE_CPU, .focus = "work", .hide = "main" },
      "0 all - 0\n1 work /bin/app 10\n2 [app] /bin/app 20\n" },
    { { .capture = CAPTURE_CPU, .ignore = "work" }, "0 all - 0\n1 main /bin/app 10\n" },
    { { .capture = CAPTURE_CPU, .show_from = "work" },
      "0 all - 0\n1 work /bin/app 10\n2 [app] /bin/app 20\n" },
    { { .capture = CAPTURE_CPU, .cpus = "1", .pids = "7", .comms = "it's" },
      "0 all - 0\n1 main /bin/app 10\n2 work /bin/app 0\n3 [app] /bin/app 10\n" },
    { { .sample_type = "delay" }, "0 all - 0\n1 main /bin/app 0\n2 work /bin/app 900\n" },
};

START_TEST(calls_are_those_that_pass_the_filter)
{
    struct lines lines = { .used = 0 };
    struct store_filter filter = trees[_i].filter;
    struct store_error error = { .status = STORE_OK };

    filter.size = sizeof filter;
    ck_assert_msg(store_calls_each(store, &filter, add_call, &lines, &error) == STORE_OK, "%s",
                  error.message);
    ck_assert_str_eq(lines.text, trees[_i].calls);
}
END_TEST

START_TEST(a_wrong_pattern_is_invalid_and_a_lost_table_is_damage)
{
    struct store_filter filter = { .size = sizeof filter, .focus = "(" };
    struct lines lines = { .used = 0 };
    struct store_error error = { .status = STORE_OK };

    ck_assert_int_eq(store_calls_each(store, &filter, add_call, &lines, &error), STORE_INVALID);
    ck_assert_ptr_nonnull(strstr(error.message, "'('"));
    change("DROP TABLE symbol; DROP TABLE meta");
    ck_assert_int_eq(store_definitions_each(store, add_definition, &lines, &error), STORE_CORRUPT);
    ck_assert_int_eq(store_captures_each(store, 0, add_capture, &lines, &error), STORE_CORRUPT);
    ck_assert_int_eq(lines.count, 0);
}
END_TEST

/* Function work has most of its lines in work.c, the lowest of which is 5.  */
START_TEST(a_function_is_defined_where_most_of_its_lines_are)
{
    struct lines lines = { .used = 0 }, two = { .most = 2 };

    change("INSERT INTO frame (id, module_id, vaddr) VALUES (4, 1, 33), (5, 1, 34), (6, 1, 35);"
           "INSERT INTO string VALUES (20, '');"
           "INSERT INTO symbol (frame_id, inline_depth, function, file, line, quality) VALUES"
           " (4, 0, 2, 4, 9, 4), (5, 0, 2, 3, NULL, 4), (6, 0, 2, 20, 7, 4)");
    ck_assert_int_eq(store_definitions_each(store, add_definition, &lines, NULL), STORE_OK);
    ck_assert_str_eq(lines.text, "work /bin/app work.c 5\n"
                                 "work /bin/app main.c 0\n"
                                 "main /bin/app main.c 3\n");
    ck_assert_int_eq(store_definitions_each(store, add_definition, &two, NULL), STORE_OK);
    ck_assert_int_eq(two.count, 2);
}
END_TEST

START_TEST(a_store_lacks_symbols_until_one_was_looked_up)
{
    bool lacks = true;

    ck_assert_int_eq(store_lacks_symbols(store, &lacks, NULL), STORE_OK);
    ck_assert(!lacks);
    change("UPDATE symbol SET quality = 5"); /* names of the capture */
    ck_assert_int_eq(store_lacks_symbols(store, &lacks, NULL), STORE_OK);
    ck_assert(lacks);
    change("UPDATE frame SET vaddr = NULL");
    ck_assert_int_eq(store_lacks_symbols(store, &lacks, NULL), STORE_OK);
    ck_assert(!lacks);
    change("DROP TABLE symbol");
    ck_assert_int_eq(store_lacks_symbols(store, &lacks, NULL), STORE_CORRUPT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_calls");
    TCase *tcase = tcase_create("calls");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, make, drop);
    tcase_add_test(tcase, captures_come_in_the_order_of_ids_with_their_facts);
    tcase_add_loop_test(tcase, costs_are_the_sums_of_the_store, 0, sizeof costs / sizeof *costs);
    tcase_add_loop_test(tcase, calls_are_those_that_pass_the_filter, 0,
                        sizeof trees / sizeof *trees);
    tcase_add_test(tcase, a_wrong_pattern_is_invalid_and_a_lost_table_is_damage);
    tcase_add_test(tcase, a_function_is_defined_where_most_of_its_lines_are);
    tcase_add_test(tcase, a_store_lacks_symbols_until_one_was_looked_up);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
