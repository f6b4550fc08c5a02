/* From a set to a verdict: what counts, what does not, and the words for it.  */
#include <check.h>
#include <math.h>
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

/* Five runs a side of that many functions of equal cost, the first of which cost a part of it in
 * the new build; runs vary by about 8 %, and the new ones were slower.  */
static const struct compare_set *runs_with_improved(int functions, int improved, double factor,
                                                    double slower)
{
    static const double runs[] = { 1, 0.9, 1.1, 0.95, 1.05 };
    char stack[] = "main;f00";

    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);

            run->samples = 0;
            for (int f = 0; f < functions; f++) {
                double cost = side ? slower * (f < improved ? factor : 1) : 1;
                double samples = round(5000 * runs[i] * cost);

                stack[6] = (char)('0' + f / 10);
                stack[7] = (char)('0' + f % 10);
                run_builder_stack(stack, samples);
                run->samples += samples;
            }
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

static bool has_note(const struct compare_report *report, const char *words)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (strstr(report->notes[i], words))
            return true;
    return false;
}

/* Two functions of six stay as they are: too few for a reference, so that the total is one.  */
START_TEST(reports_that_costs_decided_where_most_got_faster)
{
    struct compare_report *report = open_report(runs_with_improved(6, 4, 0.4, 1), NULL);

    judge(report);
    ck_assert_int_eq(report->comparison->reference, COMPARE_REFERENCE_TOTAL);
    ck_assert_double_gt(report->comparison->scale, 1.5);
    ck_assert_uint_eq(report->regressed_count, 0);
    ck_assert_int_eq(report->verdict, COMPARE_PASS);
    ck_assert(has_note(report, "shares alone do not show which functions regressed"));
    compare_report_close(report);
}
END_TEST

START_TEST(compares_with_unchanged_functions_where_enough_are_known)
{
    struct compare_report *report = open_report(runs_with_improved(40, 20, 0.4, 1), NULL);

    judge(report);
    ck_assert_int_eq(report->comparison->reference, COMPARE_REFERENCE_FUNCTIONS);
    ck_assert_double_eq_tol(report->comparison->scale, 1 / 0.7, 0.01);
    ck_assert_uint_eq(report->regressed_count, 0);
    ck_assert(!has_note(report, "shares alone"));
    compare_report_close(report);
}
END_TEST

/* A third of the functions cost 11 % more than the others: they grew, or the others decreased.  */
START_TEST(is_undecided_if_the_total_is_too_noisy_to_show_who_changed)
{
    struct compare_options options;
    struct compare_report *report;

    compare_options_init(&options);
    options.min_share = 0.001;
    report = open_report(runs_with_improved(30, 20, 0.9, 1.07), &options);
    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_int_eq(report->comparison->reason, COMPARE_REASON_UNDECIDED);
    ck_assert_ptr_nonnull(strstr(report->reasons[0],
                                 "undecided: 10 functions grew beside the others, or the others "
                                 "decreased; runs vary by "));
    compare_report_close(report);
}
END_TEST

START_TEST(shares_of_runs_are_those_compared)
{
    struct compare_report *report = open_report(runs_of(4000), NULL);
    double shares[10], sums[2] = { 0, 0 };

    judge(report);
    ck_assert_double_eq(compare_row_shares(report, report->rows, COMPARE_METRIC_SELF, shares), 1);
    for (int i = 0; i < 10; i++) {
        double f = 20000 + (i >= 5 ? 4000 : 0) + 10 * (i % 5);

        ck_assert_double_eq_tol(shares[i], f / (f + 80000), 1e-12);
        sums[i >= 5] += shares[i];
    }
    ck_assert_double_eq_tol(sums[0] / 5, report->rows[0].self.base_share, 1e-6);
    ck_assert_double_eq_tol(sums[1] / 5, report->rows[0].self.new_share, 1e-6);
    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, "main") == 0) {
            (void)compare_row_shares(report, &report->rows[i], COMPARE_METRIC_SELF, shares);
            ck_assert_double_eq(shares[9], 0);
            (void)compare_row_shares(report, &report->rows[i], COMPARE_METRIC_TOTAL, shares);
            ck_assert_double_eq(shares[9], 1);
        }
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

/* ---- Why there is no verdict ---- */

/* A run of one function, "f" of its side or "common", without stacks.  */
static struct compare_run *add_run(enum compare_side side, const char *label, const char *function,
                                   double cost)
{
    const struct compare_place place = { .name = function };
    uint32_t id = compare_builder_add_function(run_builder, side, &place);
    struct compare_run *run = compare_builder_begin_run(run_builder, side, label);

    run->cost = run->samples = cost;
    compare_builder_add_cost(run_builder, id, cost / 2, cost / 2);
    return run;
}

/* count runs a side, whose costs vary by that part.  */
static void add_runs(int count, double spread)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < count; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };

            (void)add_run((enum compare_side)side, label, "common",
                          100000 * (1 + spread * (i % 3 - 1)) + i + 10 * side);
        }
}

static void one_run(void)
{
    add_runs(1, 0);
}

static void three_runs(void)
{
    add_runs(3, 0.01);
}

static void noisy_runs(void)
{
    add_runs(5, 0.3);
}

static void unreadable_inputs(void)
{
    add_runs(5, 0.01);
    compare_builder_add_unreadable(run_builder);
    compare_builder_add_unreadable(run_builder);
}

static void an_unreadable_input(void)
{
    add_runs(5, 0.01);
    compare_builder_add_unreadable(run_builder);
    compare_builder_set_damaged(run_builder);
}

static void an_empty_run(void)
{
    add_runs(5, 0.01);
    add_run(COMPARE_NEW, "n9", "common", 0)->lacks = "cpu samples, only heap";
}

static void an_empty_base(void)
{
    add_runs(5, 0.01);
    (void)add_run(COMPARE_BASE, "b9", "common", 0);
}

static void nothing_in_common(void)
{
    (void)add_run(COMPARE_BASE, "b0", "old", 1000);
    (void)add_run(COMPARE_NEW, "n0", "young", 1000);
}

static void all_of_one_function(void)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);

            run->samples = 10000;
            run_builder_stack("main", 10000 + i + 10 * side);
        }
}

static const struct {
    void (*add)(void);
    const char *reason, *power;
} undecided[] = {
    { one_run, "1 + 1 runs: a gate needs at least 4 + 4", "With one run per side, the noise" },
    { three_runs, "3 + 3 runs: a gate needs at least 4 + 4; 4 + 4 runs would detect +5 % in total",
      "3 + 3 runs detect with 80 % probability a regression of: total" },
    { noisy_runs, "too noisy: runs vary by 29.", "5 + 5 runs detect" },
    { unreadable_inputs, "2 inputs could not be read", "none: these runs" },
    { an_unreadable_input, "1 input could not be read", "none: these runs" },
    { an_empty_run, "the new run n9 has no cpu samples, only heap", "none: these runs" },
    { an_empty_base, "the base run b9 has no samples", "none: these runs" },
    { nothing_in_common, "the runs have no function in common: they are not builds of one program",
      "none: these runs" },
    { all_of_one_function, "no function has a share from 0.5 % to below 100 %: nothing was tested",
      "5 + 5 runs detect" },
};

START_TEST(says_why_there_is_no_verdict)
{
    struct compare_report *report;

    undecided[_i].add();
    report = open_report(run_builder_finish(), NULL);
    judge(report);
    ck_assert_int_eq(report->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_uint_eq(report->reason_count, 1);
    ck_assert_msg(strncmp(report->reasons[0], undecided[_i].reason, strlen(undecided[_i].reason)) ==
                      0,
                  "%s", report->reasons[0]);
    ck_assert_msg(strncmp(report->power, undecided[_i].power, strlen(undecided[_i].power)) == 0,
                  "%s", report->power);
    compare_report_close(report);
}
END_TEST

/* ---- What cannot be compared ---- */

static void two_periods(void)
{
    add_run(COMPARE_BASE, "b", "common", 100)->environment.period_ns = 1000000;
    add_run(COMPARE_BASE, "none", "common", 110);
    add_run(COMPARE_NEW, "n", "common", 120)->environment.period_ns = 2000000;
}

static void counts_beside_times(void)
{
    (void)add_run(COMPARE_BASE, "b", "common", 5e9);
    add_run(COMPARE_NEW, "n", "common", 1000)->type_assumed = true;
}

static void times_beside_counts(void)
{
    (void)add_run(COMPARE_BASE, "b", "common", 1000);
    add_run(COMPARE_NEW, "n", "common", 5e9)->type_assumed = true;
}

static void the_same_label(void)
{
    (void)add_run(COMPARE_BASE, "b", "common", 100);
    (void)add_run(COMPARE_BASE, "b", "common", 101);
    (void)add_run(COMPARE_NEW, "b", "common", 100);
}

/* Two runs that are equal in every stack.  */
static void add_copies(const char *unit)
{
    for (int i = 0; i < 3; i++) {
        struct compare_run *run = compare_builder_begin_run(run_builder,
                                                            i < 2 ? COMPARE_BASE : COMPARE_NEW,
                                                            i == 0   ? "a"
                                                            : i == 1 ? "b"
                                                                     : "n");

        run->samples = 5000;
        ck_assert_int_eq(compare_builder_set_type(run_builder, "type", unit, NULL), COMPARE_OK);
        for (int f = 0; f < 10; f++) {
            char stack[] = { 'm', ';', (char)('a' + f), '\0' };

            run_builder_stack(stack, 100 + f);
        }
    }
}

static void copies(void)
{
    add_copies("nanoseconds");
}

static void copies_of_microseconds(void)
{
    add_copies("microseconds");
}

static void many_runs(void)
{
    for (int i = 0; i < COMPARE_MAX_RUNS + 1; i++) {
        char label[] = { 'r',
                         (char)('0' + i / 1000),
                         (char)('0' + i / 100 % 10),
                         (char)('0' + i / 10 % 10),
                         (char)('0' + i % 10),
                         '\0' };

        (void)add_run(i % 2 ? COMPARE_NEW : COMPARE_BASE, label, "common", 100 + i);
    }
}

static const struct {
    void (*add)(void);
    enum compare_status status;
    const char *message;
} unlike[] = {
    { two_periods, COMPARE_UNLIKE,
      "b was sampled every 1,000,000 ns, n every 2,000,000 ns: capture both with the same period" },
    { counts_beside_times, COMPARE_UNLIKE,
      "the total of b is 5,000,000,000, that of n 1,000: they cannot have the same sample type" },
    { times_beside_counts, COMPARE_UNLIKE,
      "the total of b is 1,000, that of n 5,000,000,000: they cannot have the same sample type" },
    { the_same_label, COMPARE_UNLIKE, "b is given twice; each run may be given only once" },
    { copies, COMPARE_UNLIKE, "a and b are the same run; each run may be given only once" },
    { copies_of_microseconds, COMPARE_UNLIKE,
      "a and b are the same run; each run may be given only once" },
    { many_runs, COMPARE_LIMIT, "1,001 runs; at most 1000 can be compared" },
};

START_TEST(says_what_cannot_be_compared)
{
    struct compare_report *report = NULL;
    struct compare_error error;

    unlike[_i].add();
    ck_assert_int_eq(compare_report_open(run_builder_finish(), NULL, &report, &error),
                     unlike[_i].status);
    ck_assert_str_eq(error.message, unlike[_i].message);
    ck_assert_ptr_null(report);
}
END_TEST

/* Counts may be equal by what a program does; times never are.  */
START_TEST(equal_counts_are_noted)
{
    struct compare_report *report;

    add_copies("bytes");
    report = open_report(run_builder_finish(), NULL);
    ck_assert_str_eq(report->notes[0], "a and b are equal in every stack: if one is a copy of the "
                                       "other, remove it");
    compare_report_close(report);
}
END_TEST

START_TEST(options_that_mean_nothing_are_refused)
{
    struct compare_options options;
    struct compare_report *report = NULL;
    struct compare_error error;

    compare_options_init(&options);
    options.q = -1;
    ck_assert_int_eq(compare_report_open(runs_of(0), &options, &report, &error), COMPARE_INVALID);
    ck_assert_ptr_null(report);
    compare_report_close(NULL);
}
END_TEST

/* ---- Notes and states ---- */

START_TEST(what_is_odd_is_noted)
{
    struct compare_report *report;

    (void)add_run(COMPARE_BASE, "b0", "common", 100000);
    add_run(COMPARE_BASE, "b1", "common", 100001)->type_assumed = true;
    (void)add_run(COMPARE_NEW, "n0", "common", 1000);
    report = open_report(run_builder_finish(), NULL);
    compare_report_add_note(report, "and this");
    ck_assert_uint_eq(report->note_count, 3);
    ck_assert_str_eq(report->notes[0], "1 run has no sample type: assumed to be samples in count");
    ck_assert_str_eq(report->notes[1], "the new runs cost 1 % of the base runs: check that "
                                       "both did the same work");
    ck_assert_str_eq(report->notes[2], "and this");
    compare_report_close(report);
}
END_TEST

static const struct compare_row *row_of(const struct compare_report *report, const char *name)
{
    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, name) == 0)
            return &report->rows[i];
    ck_abort_msg("no row of %s", name);
}

/* Five runs a side: old was renamed, gone and fresh are on one side, rare is by chance.  */
static const struct compare_set *states(double left_out)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            const struct compare_place places[] = {
                { .name = "main", .file = "src/m.c", .start_line = 1 },
                { .name = side ? "young" : "old", .file = "src/m.c", .start_line = 50 },
                { .name = side ? "fresh" : "gone" },
                { .name = side ? "main" : "rare", .file = "src/m.c" },
            };
            static const double costs[] = { 60000, 20000, 20000, 0.5 };
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);

            run->cost = run->samples = 100000 + i;
            run->left_out = left_out;
            for (size_t p = 0; p < 4; p++)
                compare_builder_add_cost(
                    run_builder,
                    compare_builder_add_function(run_builder, (enum compare_side)side, &places[p]),
                    costs[p], costs[p]);
        }
    return run_builder_finish();
}

START_TEST(rows_say_which_build_has_a_function)
{
    struct compare_report *report = open_report(states(0), NULL);

    judge(report);
    ck_assert_uint_eq(report->row_count, 5); /* old is young */
    ck_assert_int_eq(row_of(report, "young")->state, COMPARE_STATE_RENAMED);
    ck_assert_int_eq(row_of(report, "fresh")->state, COMPARE_STATE_NEW);
    ck_assert_int_eq(row_of(report, "gone")->state, COMPARE_STATE_GONE);
    ck_assert_int_eq(row_of(report, "main")->state, COMPARE_STATE_BOTH);
    ck_assert_int_eq(row_of(report, "rare")->state, COMPARE_STATE_BOTH);
    ck_assert_uint_eq(report->new_count + report->gone_count + report->renamed_count, 3);
    ck_assert_str_eq(report->rows[0].names->name, "fresh"); /* what regressed is first */
    ck_assert_str_eq(report->rows[1].names->name, "gone");
    ck_assert_uint_eq(report->improved_count, 1);
    compare_report_close(report);
}
END_TEST

/* A baseline lacks what is small: that proves nothing.  */
START_TEST(what_may_be_left_out_is_neither_new_nor_gone)
{
    struct compare_report *report = open_report(states(0.3), NULL);

    judge(report);
    ck_assert_int_eq(row_of(report, "fresh")->state, COMPARE_STATE_BOTH);
    ck_assert_int_eq(row_of(report, "gone")->state, COMPARE_STATE_BOTH);
    compare_report_close(report);
}
END_TEST

/* f's callees cost more, and f itself does not.  */
static const struct {
    enum compare_metric metric;
    enum compare_flag flag;
} metrics[] = {
    { COMPARE_METRIC_BOTH, COMPARE_REGRESSED },
    { COMPARE_METRIC_SELF, COMPARE_UNCHANGED },
    { COMPARE_METRIC_TOTAL, COMPARE_REGRESSED },
};

START_TEST(the_metric_says_which_costs_count)
{
    struct compare_options options;
    struct compare_report *report;

    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < 5; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };

            compare_builder_begin_run(run_builder, (enum compare_side)side, label)->samples = 1e5;
            run_builder_stack("main", 700000 + i);
            run_builder_stack("main;f", 100000 + i);
            run_builder_stack("main;f;g", (side ? 400000 : 200000) + i);
        }
    compare_options_init(&options);
    options.metric = metrics[_i].metric;
    report = open_report(run_builder_finish(), &options);
    judge(report);
    ck_assert_int_eq(row_of(report, "f")->flag, metrics[_i].flag);
    ck_assert(compare_total_regressed(report));
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_msg(strncmp(report->reasons[0], "the total regressed by 20.0 % (p = 0.00", 39) == 0,
                  "%s", report->reasons[0]);
    compare_report_close(report);
}
END_TEST

/* ---- Words ---- */

static const struct {
    const char *unit;
    double value;
    const char *text;
} amounts[] = {
    { "nanoseconds", 999, "999.0 ns" },
    { "nanoseconds", 1.25e9, "1.250 s" },
    { "nanoseconds", 12345, "12.35 us" },
    { "microseconds", 1500, "1.500 ms" },
    { "milliseconds", 1500, "1.500 s" },
    { "seconds", 4000, "4000 s" },
    { "bytes", 12.0 * 1048576, "12.00 MiB" },
    { "bytes", 5, "5.000 B" },
    { "bytes", 1099511627776.0, "1.000 TiB" },
    { "count", 3400.4, "3,400" },
    { "count", -3, "-3" },
    { "count", 1e20, "1e+20" },
};

START_TEST(amounts_have_units)
{
    char text[COMPARE_NUMBER_BYTES];

    ck_assert_str_eq(compare_amount(amounts[_i].unit, amounts[_i].value, text), amounts[_i].text);
}
END_TEST

START_TEST(results_have_words)
{
    char text[COMPARE_NUMBER_BYTES];

    ck_assert_str_eq(compare_probability(0.0004, text), "<0.001");
    ck_assert_str_eq(compare_probability(0.0424, text), "0.042");
    ck_assert_str_eq(compare_verdict_name(COMPARE_PASS), "PASS");
    ck_assert_str_eq(compare_verdict_name(COMPARE_FAIL), "FAIL");
    ck_assert_str_eq(compare_verdict_name(COMPARE_INCONCLUSIVE), "INCONCLUSIVE");
    ck_assert_str_eq(compare_state_name(COMPARE_STATE_GONE), "GONE");
    ck_assert_str_eq(compare_flag_name(COMPARE_MOVED), "moved");
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
    tcase_add_test(tcase, reports_that_costs_decided_where_most_got_faster);
    tcase_add_test(tcase, compares_with_unchanged_functions_where_enough_are_known);
    tcase_add_test(tcase, is_undecided_if_the_total_is_too_noisy_to_show_who_changed);
    tcase_add_test(tcase, shares_of_runs_are_those_compared);
    tcase_add_test(tcase, what_is_suppressed_does_not_fail);
    tcase_add_test(tcase, a_broken_budget_fails_whatever_the_comparison_says);
    tcase_add_test(tcase, damaged_input_never_passes);
    tcase_add_loop_test(tcase, says_why_there_is_no_verdict, 0,
                        (int)(sizeof undecided / sizeof *undecided));
    tcase_add_loop_test(tcase, says_what_cannot_be_compared, 0,
                        (int)(sizeof unlike / sizeof *unlike));
    tcase_add_test(tcase, equal_counts_are_noted);
    tcase_add_test(tcase, options_that_mean_nothing_are_refused);
    tcase_add_test(tcase, what_is_odd_is_noted);
    tcase_add_test(tcase, rows_say_which_build_has_a_function);
    tcase_add_test(tcase, what_may_be_left_out_is_neither_new_nor_gone);
    tcase_add_loop_test(tcase, the_metric_says_which_costs_count, 0,
                        (int)(sizeof metrics / sizeof *metrics));
    tcase_add_loop_test(tcase, amounts_have_units, 0, (int)(sizeof amounts / sizeof *amounts));
    tcase_add_test(tcase, results_have_words);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
