/* Budgets, suppressions and environments: what changes a verdict, and files that are wrong.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_report.h>
#include "tests/support/run_builder.h"

/* Three new runs of a side: main calls parse_head, which calls itself, and parse_body; medians are
 * those of the second.  A run with stacks false has the costs alone.  */
static void add_side(enum compare_side side, bool stacks)
{
    static const char *const names[] = { "main", "parse_head", "parse_body(int)" };
    static const double self[] = { 10, 20, 70 }, total[] = { 100, 20, 70 };

    for (int i = 0; i < 3; i++) {
        const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
        struct compare_run *run = compare_builder_begin_run(run_builder, side, label);
        double scale = (1 + i) * 0.5e6;

        run->samples = 1000;
        ck_assert_int_eq(compare_builder_set_type(run_builder, "cpu", "nanoseconds", NULL),
                         COMPARE_OK);
        if (stacks) {
            run_builder_stack("main", 10 * scale);
            run_builder_stack("main;parse_head;parse_head", 20 * scale);
            run_builder_stack("main;parse_body(int)", 70 * scale + i);
            continue;
        }
        run->cost = 100 * scale;
        for (size_t f = 0; f < 3; f++) {
            const struct compare_place place = { .name = names[f],
                                                 .file = "src/p.c",
                                                 .start_line = 5 };

            compare_builder_add_cost(run_builder,
                                     compare_builder_add_function(run_builder, side, &place),
                                     self[f] * scale, total[f] * scale);
        }
    }
}

static struct compare_report *open_report(void)
{
    struct compare_report *report = NULL;
    struct compare_error error = { .message = "" };

    ck_assert_msg(compare_report_open(run_builder_finish(), NULL, &report, &error) == COMPARE_OK,
                  "%s", error.message);
    return report;
}

/* ---- Budgets ---- */

static const struct {
    const char *line, *result;
    enum compare_outcome outcome;
    bool no_stacks;
} budgets[] = {
    { "total < 101ms", "100.0 ms, median of 3 runs", COMPARE_RULE_KEPT },
    { "total < 100ms", "100.0 ms, median of 3 runs", COMPARE_RULE_BROKEN },
    { "  cpu <= 0.2 s", "100.0 ms", COMPARE_RULE_KEPT },
    { "cpu < 99000us", "100.0 ms", COMPARE_RULE_BROKEN },
    { "wall < 1s", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "heap inuse < 64MiB", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "heap alloc < 1GB", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "heap free < 1kB", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "heap retained < 1KiB", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "samples < 1000", "these runs measure cpu in nanoseconds", COMPARE_RULE_UNKNOWN },
    { "total < 5B", "these runs measure nanoseconds, not bytes", COMPARE_RULE_UNKNOWN },
    { "function main self < 10.1%", "main: 10.00%, median of 3 runs", COMPARE_RULE_KEPT },
    { "function main self < 9.9%", "main: 10.00%, median of 3 runs", COMPARE_RULE_BROKEN },
    { "function main total <= 100%", "main: 100.00%", COMPARE_RULE_KEPT },
    { "function parse_body total < 70.5%", "parse_body(int): 70.00%", COMPARE_RULE_KEPT },
    { "function parse_?o?y(int) self < 1ns", "parse_body(int): 70.00 ms", COMPARE_RULE_BROKEN },
    { "function parse_* total < 90.5%", "parse_body(int) and 1 other: 90.00%", COMPARE_RULE_KEPT },
    { "function * total < 100.5%", "main and 2 others: 100.00%", COMPARE_RULE_KEPT },
    { "function *x*y self < 1%", "no such function in the runs: 0.00%", COMPARE_RULE_KEPT },
    { "function nobody self < 1 min", "no such function in the runs: 0.000 ns", COMPARE_RULE_KEPT },
    /* How often they call each other is not known.  */
    { "function parse_* total < 91%", "parse_body(int) and 1 other: 70.00% to 90.00%",
      COMPARE_RULE_KEPT, true },
    { "function parse_* total < 80%",
      "parse_body(int) and 1 other: 70.00% to 90.00%, median of 3 runs", COMPARE_RULE_UNKNOWN,
      true },
    { "function parse_* total < 60%", "parse_body(int) and 1 other: 70.00% to 90.00%",
      COMPARE_RULE_BROKEN, true },
    { "function parse_* self < 80%", "parse_body(int) and 1 other: 90.00%", COMPARE_RULE_BROKEN,
      true },
};

START_TEST(a_budget_is_held_against_the_median)
{
    struct compare_report *report;
    char text[200];

    add_side(COMPARE_NEW, !budgets[_i].no_stacks);
    report = open_report();
    (void)snprintf(text, sizeof text, "# limits\n\n%s  \r\n", budgets[_i].line);
    ck_assert_int_eq(compare_apply_budgets(report, "b.txt", text, strlen(text), NULL), COMPARE_OK);
    ck_assert_uint_eq(report->rule_count, 1);
    ck_assert_str_eq(report->rules[0].text, budgets[_i].line + strspn(budgets[_i].line, " "));
    ck_assert_str_eq(report->rules[0].place, "b.txt:3");
    ck_assert_msg(
        report->rules[0].outcome == budgets[_i].outcome &&
            strncmp(report->rules[0].result, budgets[_i].result, strlen(budgets[_i].result)) == 0,
        "%s: %d, %s", budgets[_i].line, (int)report->rules[0].outcome, report->rules[0].result);
    ck_assert_int_eq(compare_report_judge(report, NULL), COMPARE_OK);
    ck_assert_int_eq(report->verdict, budgets[_i].outcome == COMPARE_RULE_KEPT ? COMPARE_PASS
                                      : budgets[_i].outcome == COMPARE_RULE_BROKEN
                                          ? COMPARE_FAIL
                                          : COMPARE_INCONCLUSIVE);
    ck_assert_str_eq(report->power, "none: budgets only check limits, and detect no change");
    compare_report_close(report);
}
END_TEST

START_TEST(the_place_of_a_function_is_that_of_its_budget)
{
    static const char text[] = "function main self < 1%";
    struct compare_report *report;

    add_side(COMPARE_BASE, false); /* without new runs, those of the base count */
    report = open_report();
    ck_assert_int_eq(compare_apply_budgets(report, "b", text, strlen(text), NULL), COMPARE_OK);
    ck_assert_str_eq(report->rules[0].file, "src/p.c");
    ck_assert_uint_eq(report->rules[0].line, 5);
    compare_report_close(report);
}
END_TEST

START_TEST(units_of_runs_that_nobody_knows_are_no_limit)
{
    static const char text[] = "total < 5\nfunction f self < 60%\n";
    struct compare_report *report;
    struct compare_run *run = compare_builder_begin_run(run_builder, COMPARE_NEW, "n");

    run->samples = 1;
    ck_assert_int_eq(compare_builder_set_type(run_builder, "fuel", "litres", NULL), COMPARE_OK);
    run_builder_stack("f", 3);
    report = open_report();
    ck_assert_int_eq(compare_apply_budgets(report, "b", text, strlen(text), NULL), COMPARE_OK);
    ck_assert_str_eq(report->rules[0].result, "these runs measure litres, not count");
    ck_assert_int_eq(report->rules[1].outcome, COMPARE_RULE_BROKEN);
    compare_report_close(report);
}
END_TEST

static const struct {
    const char *text, *message;
} bad_budgets[] = {
    { "", "b.txt: no budgets" },
    { "# nothing\n", "b.txt: no budgets" },
    { "total 5s\n", "b.txt:1: no \"< LIMIT\"" },
    { "\ntotal < much\n", "b.txt:2: not a limit such as 5%, 120ms, 64MiB or 1000: much" },
    { "total < 5 parsecs\n", "b.txt:1: not a limit such as" },
    { "total < -5\n", "b.txt:1: not a limit such as" },
    { "total < 9999999999999999999999\n", "b.txt:1: not a limit such as" },
    { "total < 5%\n", "b.txt:1: the limit of a total cannot be a percentage" },
    { "cpu < 5%\n", "b.txt:1: the limit of a total cannot be a percentage" },
    { "gpu < 5s\n", "b.txt:1: none of \"function\", \"total\"" },
    { "heap < 5B\n", "b.txt:1: neither \"inuse\", \"alloc\" nor \"free\" after \"heap\"" },
    { "heap inuse now < 5B\n", "b.txt:1: unexpected text: now" },
    { "function f < 5s\n", "b.txt:1: neither \"self\" nor \"total\" before the limit" },
    { "function self < 5s\n", "b.txt:1: no name after \"function\"" },
};

START_TEST(says_which_budget_is_wrong)
{
    struct compare_error error = { .status = COMPARE_OK };
    const char *text = bad_budgets[_i].text;
    struct compare_report *report;

    ck_assert_int_eq(compare_apply_budgets(NULL, "b.txt", text, strlen(text), &error),
                     COMPARE_MALFORMED);
    ck_assert_msg(
        strncmp(error.message, bad_budgets[_i].message, strlen(bad_budgets[_i].message)) == 0, "%s",
        error.message);
    add_side(COMPARE_NEW, true);
    report = open_report();
    ck_assert_int_eq(compare_apply_budgets(report, "b.txt", text, strlen(text), NULL),
                     COMPARE_MALFORMED);
    compare_report_close(report);
}
END_TEST

/* ---- Suppressions ---- */

static const struct {
    const char *text, *message; /* message NULL: it is fine */
} suppressions[] = {
    { "function f until 2026-12-31: known\n", NULL },
    { "total until 2028-02-29: known\n", NULL },
    { "# none\n", NULL },
    { "function f: known\n", "s.txt:1: no \"until DATE\"; a suppression must have an end" },
    { "function  until 2026-12-31: x\n", "s.txt:1: no name after \"function\"" },
    { "module f until 2026-12-31: x\n",
      "s.txt:1: neither \"function NAME\" nor \"total\": module" },
    { "total until 2026-12-31\n", "s.txt:1: no reason after the date" },
    { "total until 2026-12-31:\n", "s.txt:1: no reason after the date" },
    { "total until 2026-13-31: x\n", "s.txt:1: not a date such as 2026-12-31: 2026-13-31" },
    { "total until tomorrow: x\n", "s.txt:1: not a date such as 2026-12-31: tomorrow" },
};

START_TEST(says_which_suppression_is_wrong)
{
    struct compare_error error = { .message = "" };
    const char *text = suppressions[_i].text, *message = suppressions[_i].message;

    ck_assert_int_eq(
        compare_apply_suppressions(NULL, "s.txt", text, strlen(text), "2026-01-01", &error),
        message ? COMPARE_MALFORMED : COMPARE_OK);
    ck_assert_msg(!message || strncmp(error.message, message, strlen(message)) == 0, "%s",
                  error.message);
}
END_TEST

static const struct {
    const char *text;
    bool is_date;
} dates[] = {
    { "2026-12-31", true },  { "2024-02-29", true },
    { "2000-02-29", true },  { "2026-02-29", false },
    { "1900-02-29", false }, { "2026-04-31", false },
    { "2026-00-10", false }, { "2026-10-00", false },
    { "2026-1-10", false },  { "2026-12-311", false },
    { "2026/12/31", false }, { "20261231", false },
    { "", false },           { "2026-12-3", false },
};

START_TEST(knows_the_days_of_the_calendar)
{
    ck_assert_int_eq(compare_is_date(dates[_i].text), dates[_i].is_date);
}
END_TEST

START_TEST(today_is_a_date)
{
    struct compare_error error;

    ck_assert_int_eq(compare_apply_suppressions(NULL, "s", "", 0, "today", &error),
                     COMPARE_INVALID);
    ck_assert_str_eq(error.message, "not a date such as 2026-12-31: today");
}
END_TEST

/* Five runs a side; f and all costs more in the new ones.  */
static void add_regression(void)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);
            double f = (side ? 40000 : 20000) + 10 * i;

            run->samples = f + 80000;
            run_builder_stack("main;ns::f(int)", f);
            run_builder_stack("main;g", 80000);
        }
}

static const struct {
    const char *text, *today;
    enum compare_verdict verdict;
    size_t suppressed, notes;
} applied[] = {
    { "function ns::f until 2026-06-30: known\ntotal until 2026-06-30: too\n", "2026-06-30",
      COMPARE_PASS, 1, 1 },
    { "function ns::f until 2026-06-30: known\n", "2026-06-30", COMPARE_FAIL, 1, 0 },
    { "total until 2026-06-30: too\n", "2026-06-30", COMPARE_FAIL, 0, 1 },
    { "function * until 2026-06-30: known\nfunction ns::f until 2027-06-30: again\n"
      "total until 2026-07-30: too\n",
      "2026-07-01", COMPARE_PASS, 1, 2 },
    { "function ns::f until 2026-06-30: known\n", "2026-07-01", COMPARE_FAIL, 0, 1 },
    { "function g until 2026-06-30: known\ntotal until 2026-06-30: too\n", "2026-06-30",
      COMPARE_FAIL, 0, 1 },
};

START_TEST(suppresses_until_its_day_is_over)
{
    struct compare_report *report;

    add_regression();
    report = open_report();
    ck_assert_int_eq(compare_apply_suppressions(report, "s", applied[_i].text,
                                                strlen(applied[_i].text), applied[_i].today, NULL),
                     COMPARE_OK);
    ck_assert_int_eq(compare_report_judge(report, NULL), COMPARE_OK);
    ck_assert_int_eq(report->verdict, applied[_i].verdict);
    ck_assert_uint_eq(report->suppressed_count, applied[_i].suppressed);
    ck_assert_uint_eq(report->note_count, applied[_i].notes);
    compare_report_close(report);
}
END_TEST

/* ---- Hostile files ---- */

START_TEST(every_changed_byte_is_applied_or_refused)
{
    static const char text[] = "function a?b* self <= 5.5%\ntotal < 3 ms\n"
                               "function f until 2026-12-31: x\n";
    static const char values[] = { '\0', '\t', '\n', ' ', '<', '*', '9', '.', '\x1b', '\xff' };
    char copy[sizeof text];

    for (size_t at = 0; at + 1 < sizeof text; at++)
        for (size_t v = 0; v < sizeof values; v++) {
            enum compare_status status;

            memcpy(copy, text, sizeof text);
            copy[at] = values[v];
            status = compare_apply_budgets(NULL, "b", copy, at + 1, NULL);
            ck_assert(status == COMPARE_OK || status == COMPARE_MALFORMED);
            status = compare_apply_suppressions(NULL, "s", copy + 41, sizeof text - 42,
                                                "2026-01-01", NULL);
            ck_assert(status == COMPARE_OK || status == COMPARE_MALFORMED);
        }
}
END_TEST

START_TEST(files_without_end_are_refused)
{
    char *large = calloc(COMPARE_RULES_BYTES + 1, 1);
    struct compare_error error;

    ck_assert_int_eq(
        compare_apply_budgets(NULL, "b", large, COMPARE_RULES_BYTES + (size_t)1, &error),
        COMPARE_MALFORMED);
    ck_assert_str_eq(error.message, "b: more than 1,048,576 bytes");
    ck_assert_int_eq(compare_apply_suppressions(NULL, "s", large, COMPARE_RULES_BYTES + (size_t)1,
                                                "2026-01-01", &error),
                     COMPARE_MALFORMED);
    free(large);
}
END_TEST

/* ---- Environments ---- */

static const struct {
    struct compare_environment base, news;
    const char *note;  /* NULL: none */
    const char *error; /* of the strict check; NULL: none */
} environments[] = {
    { { .cpu_model = "A" }, { .cpu_model = "A" }, NULL, NULL },
    { { .cpu_model = "A" },
      { .cpu_model = "B" },
      "different environments: CPU of the base is \"A\", that of the new runs \"B\"",
      "CPU of the base is \"A\", that of the new runs \"B\"" },
    { { .kernel = "6" },
      { .kernel = NULL },
      NULL,
      "kernel of the base is \"6\", that of the new runs unknown" },
    { { .arch = NULL },
      { .arch = "arm" },
      NULL,
      "architecture of the base is unknown, that of the new runs \"arm\"" },
    { { .compiler = "cc 1" },
      { .compiler = "cc 2" },
      "different environments: compiler of the base is \"cc 1\", that of the new runs \"cc 2\"",
      "compiler of the base is \"cc 1\", that of the new runs \"cc 2\"" },
    { { .command = "a" }, { .command = "b" }, NULL, NULL },
    { { .period_ns = 5 }, { .period_ns = 5 }, NULL, NULL },
    { { .period_ns = 5 },
      { .period_ns = 0 },
      NULL,
      "sampling period of the base is \"5 ns\", that of the new runs unknown" },
    { { .builds = (const char *[]){ "aa prog" }, .build_count = 1 },
      { .builds = (const char *[]){ "aa prog" }, .build_count = 1 },
      "both sides are runs of the same builds",
      NULL },
    { { .builds = (const char *[]){ "aa prog" }, .build_count = 1 },
      { .builds = (const char *[]){ "bb prog" }, .build_count = 1 },
      NULL,
      NULL },
};

START_TEST(differences_of_environments_are_noted)
{
    struct compare_report *report;
    struct compare_error error = { .message = "" };

    for (int side = 0; side < COMPARE_SIDES; side++) {
        struct compare_run *run = compare_builder_begin_run(run_builder, (enum compare_side)side,
                                                            side ? "n" : "b");

        run->samples = 1;
        run->cost = 4;
        run->environment = side ? environments[_i].news : environments[_i].base;
        compare_builder_add_cost(
            run_builder,
            compare_builder_add_function(run_builder, (enum compare_side)side,
                                         &(struct compare_place){ .name = "f" }),
            4, 4);
    }
    report = open_report();
    ck_assert_uint_eq(report->note_count, environments[_i].note ? 1 : 0);
    if (environments[_i].note)
        ck_assert_str_eq(report->notes[0], environments[_i].note);
    ck_assert_int_eq(compare_require_environment(report, &error),
                     environments[_i].error ? COMPARE_UNLIKE : COMPARE_OK);
    ck_assert_str_eq(error.message, environments[_i].error ? environments[_i].error : "");
    compare_report_close(report);
}
END_TEST

START_TEST(runs_of_several_builds_on_one_side_are_noted)
{
    static const char *builds[] = { "aa prog", "bb prog" };
    struct compare_report *report;

    for (int i = 0; i < 3; i++) {
        struct compare_run *run = compare_builder_begin_run(run_builder,
                                                            i == 2 ? COMPARE_BASE : COMPARE_NEW,
                                                            i == 0   ? "first"
                                                            : i == 1 ? "second"
                                                                     : "base");

        run->samples = 1;
        run->environment.builds = &builds[i % 2];
        run->environment.build_count = 1;
        run->cost = 1 + i;
        compare_builder_add_cost(
            run_builder,
            compare_builder_add_function(run_builder, run->side,
                                         &(struct compare_place){ .name = "f" }),
            1, 1);
    }
    report = open_report();
    ck_assert_uint_eq(report->note_count, 1);
    ck_assert_str_eq(report->notes[0], "new runs are of several builds of prog: first and second");
    compare_report_close(report);
}
END_TEST

START_TEST(one_side_has_no_other_environment)
{
    struct compare_report *report;

    add_side(COMPARE_NEW, true);
    report = open_report();
    ck_assert_int_eq(compare_require_environment(report, NULL), COMPARE_OK);
    compare_report_close(report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_rules");
    TCase *tcase = tcase_create("rules");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, a_budget_is_held_against_the_median, 0,
                        (int)(sizeof budgets / sizeof *budgets));
    tcase_add_test(tcase, the_place_of_a_function_is_that_of_its_budget);
    tcase_add_test(tcase, units_of_runs_that_nobody_knows_are_no_limit);
    tcase_add_loop_test(tcase, says_which_budget_is_wrong, 0,
                        (int)(sizeof bad_budgets / sizeof *bad_budgets));
    tcase_add_loop_test(tcase, says_which_suppression_is_wrong, 0,
                        (int)(sizeof suppressions / sizeof *suppressions));
    tcase_add_loop_test(tcase, knows_the_days_of_the_calendar, 0,
                        (int)(sizeof dates / sizeof *dates));
    tcase_add_test(tcase, today_is_a_date);
    tcase_add_loop_test(tcase, suppresses_until_its_day_is_over, 0,
                        (int)(sizeof applied / sizeof *applied));
    tcase_add_test(tcase, every_changed_byte_is_applied_or_refused);
    tcase_add_test(tcase, files_without_end_are_refused);
    tcase_add_loop_test(tcase, differences_of_environments_are_noted, 0,
                        (int)(sizeof environments / sizeof *environments));
    tcase_add_test(tcase, runs_of_several_builds_on_one_side_are_noted);
    tcase_add_test(tcase, one_side_has_no_other_environment);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
