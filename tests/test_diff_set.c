/* From runs to a set: which functions are one, what they cost with their callees, what comes out of
 * it.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/run_builder.h"

/* A stack "main;f;g", root first, of the current run.  */
static void add_stack(const char *folded, double value)
{
    profile_id callsite = 0;

    while (*folded) {
        size_t length = strcspn(folded, ";");

        callsite = run_builder_call(callsite, folded, length, (struct profile_line){ .line = 0 });
        folded += length + (folded[length] == ';');
    }
    diff_add_stack(run_builder, callsite, value);
}

static const struct diff_function *function_named(const struct diff_set *set, const char *name,
                                                  uint32_t *id)
{
    for (size_t f = 0; f < set->function_count; f++)
        if (strcmp(set->functions[f].name, name) == 0) {
            *id = (uint32_t)f;
            return &set->functions[f];
        }
    return NULL;
}

static struct diff_cost cost_of(const struct diff_set *set, size_t run, const char *name)
{
    uint32_t id = 0;

    ck_assert_ptr_nonnull(function_named(set, name, &id));
    for (size_t i = 0; i < set->runs[run].cost_count; i++)
        if (set->runs[run].costs[i].function == id)
            return set->runs[run].costs[i];
    return (struct diff_cost){ id, 0, 0 };
}

static void expect_cost(const struct diff_set *set, size_t run, const char *name, double self,
                        double total)
{
    struct diff_cost cost = cost_of(set, run, name);

    ck_assert_msg(cost.self == self && cost.total == total, "%s: self %g, total %g", name,
                  cost.self, cost.total);
}

START_TEST(adds_up_each_stack_once)
{
    const struct diff_set *set;

    (void)diff_begin_run(run_builder, DIFF_BASE, "a");
    add_stack("main;f;g", 5);
    add_stack("main;f", 2);
    add_stack("main;f;g;f;g", 10); /* recursion */
    add_stack("main;g", 1);
    set = diff_builder_finish(run_builder);
    ck_assert_ptr_nonnull(set);
    ck_assert_double_eq(set->runs[0].cost, 18);
    expect_cost(set, 0, "main", 0, 18);
    expect_cost(set, 0, "f", 2, 17);
    expect_cost(set, 0, "g", 16, 16);
}
END_TEST

START_TEST(runs_of_the_base_come_first)
{
    const struct diff_set *set;

    (void)diff_begin_run(run_builder, DIFF_NEW, "n1");
    add_stack("main", 1);
    (void)diff_begin_run(run_builder, DIFF_BASE, "b1");
    add_stack("main", 2);
    (void)diff_begin_run(run_builder, DIFF_NEW, "n2");
    add_stack("main", 3);
    set = diff_builder_finish(run_builder);
    ck_assert_uint_eq(set->side_runs[DIFF_BASE], 1);
    ck_assert_str_eq(set->runs[0].label, "b1");
    ck_assert_str_eq(set->runs[1].label, "n1");
    ck_assert_str_eq(set->runs[2].label, "n2");
    expect_cost(set, 0, "main", 2, 2);
    expect_cost(set, 1, "main", 1, 1);
    expect_cost(set, 2, "main", 3, 3);
}
END_TEST

START_TEST(clones_are_one_function_in_the_tree)
{
    const struct diff_set *set;
    double *means;

    (void)diff_begin_run(run_builder, DIFF_BASE, "a");
    add_stack("main;f.isra.0", 4);
    add_stack("main;f.cold", 1);
    (void)diff_begin_run(run_builder, DIFF_NEW, "b");
    add_stack("main;f", 6);
    set = diff_builder_finish(run_builder);
    expect_cost(set, 0, "f", 5, 5);
    expect_cost(set, 1, "f", 6, 6);
    ck_assert_uint_eq(set->node_count, 3); /* none, main, main;f */
    means = diff_mean_stacks(set);
    ck_assert_double_eq(means[2 * 2 + DIFF_BASE], 5);
    ck_assert_double_eq(means[2 * 2 + DIFF_NEW], 6);
    free(means);
}
END_TEST

START_TEST(text_of_a_trace_drives_no_terminal)
{
    const struct diff_set *set;
    uint32_t id;

    (void)diff_begin_run(run_builder, DIFF_BASE, "a\033[31m");
    add_stack("evil\033[2Jname\n\xff\xc2\x9b", 4);
    set = diff_builder_finish(run_builder);
    ck_assert_str_eq(set->runs[0].label, "a?[31m");
    ck_assert_ptr_nonnull(function_named(set, "evil?[2Jname????", &id));
}
END_TEST

/* ---- Reports ---- */

/* Five runs of f and g a side; of those of the new build f costs more.  */
static struct diff_set *runs_of(double more)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { 'r', 'u', 'n', ' ', (char)('0' + i), '\0' };
            struct diff_run *run = diff_begin_run(run_builder, (enum diff_side)side, label);
            double f = 20000 + (side ? more : 0) + 10 * i;

            run->samples = f + 80000;
            add_stack("main;f", f);
            add_stack("main;g", 80000);
        }
    return diff_builder_finish(run_builder);
}

static struct diff_settings settings_of(enum diff_metric metric)
{
    struct diff_settings settings = { .metric = metric, .rows = 20 };

    compare_options_init(&settings.compare);
    return settings;
}

START_TEST(names_what_regressed)
{
    struct diff_settings settings = settings_of(DIFF_METRIC_BOTH);
    struct diff_report *report = diff_report_open(runs_of(4000), &settings);

    ck_assert_ptr_nonnull(report);
    diff_report_judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_int_eq(diff_report_exit(report), CLI_DIFFERENT);
    ck_assert_uint_eq(report->regressed_count, 1);
    ck_assert_str_eq(report->rows[0].names->name, "f");
    ck_assert_int_eq(report->rows[0].flag, COMPARE_REGRESSED);
    ck_assert_double_lt(report->rows[0].self_interval[0],
                        report->rows[0].self.new_share - report->rows[0].self.base_share);
    ck_assert_double_gt(report->rows[0].self_interval[0], 0);
    diff_report_close(report);
}
END_TEST

START_TEST(what_is_suppressed_does_not_fail)
{
    struct diff_settings settings = settings_of(DIFF_METRIC_BOTH);
    struct diff_report *report = diff_report_open(runs_of(4000), &settings);

    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, "f") == 0)
            report->rows[i].suppressed = "known";
    diff_report_judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_PASS);
    ck_assert_uint_eq(report->suppressed_count, 1);
    ck_assert_uint_eq(report->regressed_count, 0);
    diff_report_close(report);
}
END_TEST

START_TEST(a_broken_budget_fails_whatever_the_comparison_says)
{
    struct diff_settings settings = settings_of(DIFF_METRIC_BOTH);
    struct diff_report *report = diff_report_open(runs_of(0), &settings);

    diff_report_rule(report)->outcome = DIFF_RULE_BROKEN;
    diff_report_judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_str_eq(report->reasons[0], "1 budget is exceeded");
    diff_report_close(report);
}
END_TEST

START_TEST(damaged_input_never_passes)
{
    struct diff_settings settings = settings_of(DIFF_METRIC_BOTH);
    struct diff_report *report = diff_report_open(runs_of(0), &settings);

    report->input_status = CLI_DAMAGED;
    diff_report_judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_INCONCLUSIVE);
    diff_report_close(report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diff_set");
    TCase *tcase = tcase_create("set");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_test(tcase, adds_up_each_stack_once);
    tcase_add_test(tcase, runs_of_the_base_come_first);
    tcase_add_test(tcase, clones_are_one_function_in_the_tree);
    tcase_add_test(tcase, text_of_a_trace_drives_no_terminal);
    tcase_add_test(tcase, names_what_regressed);
    tcase_add_test(tcase, what_is_suppressed_does_not_fail);
    tcase_add_test(tcase, a_broken_budget_fails_whatever_the_comparison_says);
    tcase_add_test(tcase, damaged_input_never_passes);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
