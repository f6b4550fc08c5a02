/* From a set to a verdict: what counts, what does not, and the words for it.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_report.h>
#include "tests/support/run_builder.h"

/* Five runs of f and g a side; of those of the new build f costs more.  */
static const struct compare_set *runs_of(double more)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);
            double f = 20000 + (side ? more : 0) + 10 * i;

            run->samples = f + 80000;
            run_builder_stack("main;f", f);
            run_builder_stack("main;g", 80000);
        }
    return run_builder_finish();
}

static struct compare_report *open_report(const struct compare_set *set,
                                          const struct compare_options *options)
{
    struct compare_report *report = NULL;
    struct compare_error error = { .message = "" };

    ck_assert_msg(compare_report_open(set, options, &report, &error) == COMPARE_OK, "%s",
                  error.message);
    return report;
}

static void judge(struct compare_report *report)
{
    ck_assert_int_eq(compare_report_judge(report, NULL), COMPARE_OK);
}

START_TEST(names_what_regressed)
{
    struct compare_report *report = open_report(runs_of(4000), NULL);

    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_uint_eq(report->regressed_count, 1);
    ck_assert_str_eq(report->rows[0].names->name, "f");
    ck_assert_int_eq(report->rows[0].flag, COMPARE_REGRESSED);
    ck_assert_double_lt(report->rows[0].self_interval[0],
                        report->rows[0].self.new_share - report->rows[0].self.base_share);
    ck_assert_double_gt(report->rows[0].self_interval[0], 0);
    compare_report_close(report);
}
END_TEST

START_TEST(what_is_suppressed_does_not_fail)
{
    struct compare_report *report = open_report(runs_of(4000), NULL);

    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, "f") == 0)
            report->rows[i].suppressed = "known";
    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_PASS);
    ck_assert_uint_eq(report->suppressed_count, 1);
    ck_assert_uint_eq(report->regressed_count, 0);
    compare_report_close(report);
}
END_TEST

START_TEST(a_broken_budget_fails_whatever_the_comparison_says)
{
    static const char budgets[] = "function f self < 1%\n";
    struct compare_report *report = open_report(runs_of(0), NULL);

    ck_assert_int_eq(compare_apply_budgets(report, "b", budgets, strlen(budgets), NULL),
                     COMPARE_OK);
    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_str_eq(report->reasons[0], "1 budget is exceeded");
    compare_report_close(report);
}
END_TEST

START_TEST(damaged_input_never_passes)
{
    struct compare_report *report;

    compare_builder_set_damaged(run_builder);
    report = open_report(runs_of(0), NULL);
    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_str_eq(report->reasons[0], "the input is damaged");
    compare_report_close(report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_report");
    TCase *tcase = tcase_create("report");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
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
