/* What compare_runs() says of runs whose numbers can be checked by hand.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare.h>
#include "libcompare/statistics/statistics.h"
#include "tests/support/allocation.h"
#include "tests/support/simulate.h"

enum { RUNS = 8, FUNCTIONS = 4 };

/* 4 + 4 runs of 1000 samples, cost 1000, and what the functions have of it.  */
struct fixture {
    struct compare_input input;
    double cost[RUNS], samples[RUNS];
    double self[FUNCTIONS * RUNS], total[FUNCTIONS * RUNS];
    uint32_t group[FUNCTIONS];
};

static void set_self(struct fixture *fixture, size_t function, double base, double news)
{
    for (size_t i = 0; i < RUNS; i++)
        fixture->self[function * RUNS + i] = fixture->total[function * RUNS + i] = i < RUNS / 2
                                                                                       ? base
                                                                                       : news;
}

static void set_up(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    for (size_t i = 0; i < RUNS; i++)
        fixture->cost[i] = fixture->samples[i] = 1000;
    for (size_t f = 0; f < FUNCTIONS; f++)
        set_self(fixture, f, 200, 200);
    fixture->input = (struct compare_input){
        .base_runs = RUNS / 2,
        .new_runs = RUNS / 2,
        .cost = fixture->cost,
        .samples = fixture->samples,
        .function_count = FUNCTIONS,
        .self = fixture->self,
        .total = fixture->total,
    };
}

static struct compare_result *compared(const struct fixture *fixture)
{
    struct compare_result *comparison = NULL;
    struct compare_options options;
    struct compare_error error;

    compare_options_init(&options);
    options.need_share = options.need_change = 0; /* few samples do */
    ck_assert_int_eq(compare_runs(&fixture->input, &options, &comparison, &error), COMPARE_OK);
    return comparison;
}

START_TEST(equal_runs_pass)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->verdict, COMPARE_PASS);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_NONE);
    ck_assert_double_eq(comparison->total.p, 1);
    ck_assert_double_eq(comparison->total.shift, 0);
    ck_assert_uint_eq(comparison->test_count, 8);
    ck_assert_double_eq(comparison->functions[0].self.p, 1);
    compare_result_free(comparison);
}
END_TEST

/* Medians, shift and p by hand: differences of {10, 12, 14, 16} and {13, 15, 20, 24} are -3 -1 1 1
 * 3 3 3 4 5 6 8 8 10 10 12 14, their median 4.5.  */
START_TEST(total_is_described_by_medians_and_shift)
{
    static const double costs[RUNS] = { 10, 12, 14, 16, 13, 15, 20, 24 };
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    memcpy(fixture.cost, costs, sizeof costs);
    memset(fixture.self, 0, sizeof fixture.self);
    memset(fixture.total, 0, sizeof fixture.total);
    comparison = compared(&fixture);
    ck_assert_double_eq(comparison->total.base, 13);
    ck_assert_double_eq(comparison->total.new_cost, 17.5);
    ck_assert_double_eq(comparison->total.shift, 4.5);
    ck_assert_double_eq_tol(comparison->total.relative, 4.5 / 13, 1e-12);
    ck_assert(comparison->total.exact);
    /* Ranks 1, 2, 4, 6 and 3, 5, 7, 8: sums at least 5 from 18, of 7 choices each.  */
    ck_assert_double_eq_tol(comparison->total.p, 14.0 / 70, 1e-12);
    ck_assert_double_lt(comparison->total.low, comparison->total.relative);
    ck_assert_double_gt(comparison->total.high, comparison->total.relative);
    ck_assert_int_eq(comparison->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOO_NOISY);
    ck_assert_uint_eq(comparison->total.runs_wanted, 0); /* more than anybody makes */
    compare_result_free(comparison);
}
END_TEST

/* Of the 6 pairs of runs of each side 4 are 10 % apart: the noise is 10.7 %.  n runs a side see 5 %
 * when (t(0.975) + t(0.8)) * 0.107 * sqrt(2 / n / 0.955) <= 0.05; with the normal distribution for
 * t that is n = 75.2.  */
START_TEST(noise_above_the_threshold_asks_for_more_runs)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS; i++)
        fixture.cost[i] = i % 2 ? 950 : 1050;
    comparison = compared(&fixture);
    ck_assert_double_eq_tol(comparison->total.noise, 0.1 / 0.9539 / 0.98, 1e-12);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOO_NOISY);
    ck_assert_uint_ge(comparison->total.runs_wanted, 75);
    ck_assert_uint_le(comparison->total.runs_wanted, 77);
    compare_result_free(comparison);
}
END_TEST

/* Runs of which one side is steady: 8 of the 12 distances within the sides are at most 2.  */
static const double one_wild_side[][RUNS] = {
    { 1000, 1001, 1000, 1001, 900, 901, 1100, 1102 },
    { 900, 901, 1100, 1102, 1000, 1001, 1000, 1001 },
};

START_TEST(a_steady_side_does_not_hide_the_noise_of_the_other)
{
    struct fixture fixture;
    struct compare_result *comparison;
    double steady = 1 / 0.9539 / 0.98, wild = 199 / 0.9539 / 0.98;

    set_up(&fixture);
    memcpy(fixture.cost, one_wild_side[_i], sizeof fixture.cost);
    comparison = compared(&fixture);
    ck_assert_double_eq_tol(comparison->total.noise * comparison->total.base,
                            sqrt((steady * steady + wild * wild) / 2), 1e-9);
    ck_assert_int_eq(comparison->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOO_NOISY);
    compare_result_free(comparison);
}
END_TEST

/* Base^2 / 3 + new^2 / 5 is the variance of the difference.  */
START_TEST(the_noise_of_the_smaller_side_counts_for_more)
{
    static const double costs[RUNS] = { 950, 1000, 1050, 1000, 1000, 1000, 1000, 1000 };
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    fixture.input.base_runs = 3;
    fixture.input.new_runs = 5;
    memcpy(fixture.cost, costs, sizeof costs);
    comparison = compared(&fixture);
    ck_assert_double_eq_tol(comparison->total.noise, 0.05 / 0.9539 / 1.38 * sqrt(5.0 / 8), 1e-12);
    compare_result_free(comparison);
}
END_TEST

START_TEST(regressed_total_fails)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS; i++)
        fixture.cost[i] = 1000 + (double)i + (i < 4 ? 0 : 100);
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->verdict, COMPARE_FAIL);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOTAL);
    ck_assert_double_eq_tol(comparison->total.p, 2.0 / 70, 1e-12);
    compare_result_free(comparison);
}
END_TEST

/* 10 % and 13 % of 4000 samples each, no variation at all: dispersion 1, deviance 17.730857, and p
 * by Simpson's rule over the density of t with 6 degrees of freedom.  */
START_TEST(share_of_one_function_is_tested_by_likelihood_ratio)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    fixture.input.function_count = 1;
    set_self(&fixture, 0, 100, 130);
    for (size_t i = 0; i < RUNS; i++)
        fixture.total[i] = fixture.cost[i]; /* in every sample: no test */
    comparison = compared(&fixture);
    ck_assert_uint_eq(comparison->test_count, 1);
    ck_assert_double_eq_tol(comparison->functions[0].self.p, 0.0056181549509733975, 1e-9);
    ck_assert_double_eq_tol(comparison->functions[0].self.q, 0.0056181549509733975, 1e-9);
    ck_assert_double_eq(comparison->functions[0].self.dispersion, 1);
    ck_assert_double_eq_tol(comparison->functions[0].self.relative, 0.3, 1e-12);
    ck_assert_int_eq(comparison->functions[0].self.flag, COMPARE_REGRESSED);
    ck_assert_int_eq(comparison->verdict, COMPARE_FAIL);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_FUNCTIONS);
    compare_result_free(comparison);
}
END_TEST

/* q of p values p1 <= p2 <= ... of one direction is min over k >= i of pk * n / k: two equal
 * changes of opposite sign among four functions and no others.  */
START_TEST(p_values_are_adjusted_for_their_number)
{
    struct fixture fixture;
    struct compare_result *comparison;
    const struct compare_function_change *functions;

    set_up(&fixture);
    set_self(&fixture, 0, 200, 260);
    set_self(&fixture, 1, 200, 140);
    comparison = compared(&fixture);
    functions = comparison->functions;
    ck_assert_double_lt(functions[0].self.p, 1e-3);
    ck_assert_double_lt(functions[1].self.p, functions[0].self.p);
    /* Self and total are the same here, so each p counts twice: ranks 1 and 2 of 8.  */
    ck_assert_double_eq_tol(functions[1].self.q / functions[1].self.p, 8.0 / 2, 1e-9);
    ck_assert_double_eq_tol(functions[0].self.q / functions[0].self.p, 8.0 / 2, 1e-9);
    ck_assert_int_eq(functions[0].self.flag, COMPARE_REGRESSED);
    ck_assert_int_eq(functions[1].self.flag, COMPARE_IMPROVED);
    ck_assert_uint_eq(comparison->regressed_count, 1);
    ck_assert_uint_eq(comparison->improved_count, 1);
    compare_result_free(comparison);
}
END_TEST

/* Half of the program disappears: all others' shares double, none of them costs more.  */
START_TEST(others_are_not_blamed_when_one_function_disappears)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    set_self(&fixture, 0, 500, 0);
    for (size_t f = 1; f < FUNCTIONS; f++)
        set_self(&fixture, f, 166, 166);
    for (size_t i = 4; i < RUNS; i++)
        fixture.cost[i] = fixture.samples[i] = 500;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->verdict, COMPARE_PASS);
    ck_assert_double_gt(comparison->functions[1].self.new_share, 0.3);
    ck_assert_double_lt(comparison->functions[1].self.q, 0.01);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_UNCHANGED);
    ck_assert_int_eq(comparison->functions[0].self.flag, COMPARE_IMPROVED);
    compare_result_free(comparison);
}
END_TEST

START_TEST(a_function_that_is_new_is_found)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    set_self(&fixture, 0, 0, 40);
    comparison = compared(&fixture);
    ck_assert(isinf(comparison->functions[0].self.relative));
    ck_assert_int_eq(comparison->functions[0].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);
}
END_TEST

/* What 0 loses, 1 wins; both stand in one file.  */
START_TEST(work_that_moves_inside_a_file_is_no_failure)
{
    struct fixture fixture;
    struct compare_result *comparison;
    uint32_t group[FUNCTIONS] = { 0, 0, 1, COMPARE_NO_GROUP };

    set_up(&fixture);
    set_self(&fixture, 0, 200, 120);
    set_self(&fixture, 1, 200, 280);
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);

    fixture.input.group = group;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_MOVED);
    ck_assert_int_eq(comparison->verdict, COMPARE_PASS);
    ck_assert_uint_eq(comparison->moved_count, 1);
    compare_result_free(comparison);
}
END_TEST

/* What 0 loses, 1 wins, and half as much again: one was deleted, and another that does its work is
 * regressed.  */
START_TEST(work_that_regressed_as_it_moved_is_a_failure)
{
    struct fixture fixture;
    struct compare_result *comparison;
    uint32_t group[FUNCTIONS] = { 0, 0, 1, COMPARE_NO_GROUP };

    set_up(&fixture);
    set_self(&fixture, 0, 80, 0);
    set_self(&fixture, 1, 0, 120);
    fixture.input.group = group;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);

    set_self(&fixture, 1, 0, 81); /* as dear as it was */
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_MOVED);
    compare_result_free(comparison);

    /* Four points more, of which the noise leaves no more certain than that there are some.  */
    for (size_t i = 0; i < RUNS / 2; i++)
        fixture.self[1 * RUNS + RUNS / 2 + i] = 95 + 16 * (double)i;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);
}
END_TEST

static bool steady_callers(void *context, enum compare_sum which, size_t function, double *row)
{
    (void)function;
    if (which != COMPARE_SUM_CALLERS)
        return false;
    for (size_t i = 0; i < RUNS; i++)
        row[i] = *(double *)context;
    return true;
}

/* Callers with 45 % of everything, steady, clear a function; callers that are the whole program
 * prove nothing, their share cannot grow.  */
START_TEST(steady_callers_clear_a_function)
{
    struct fixture fixture;
    struct compare_result *comparison;
    double callers = 450;

    set_up(&fixture);
    set_self(&fixture, 1, 200, 280);
    fixture.input.sum = steady_callers;
    fixture.input.context = &callers;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_MOVED);
    compare_result_free(comparison);

    callers = 1000;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);
}
END_TEST

static bool diluted_callers(void *context, enum compare_sum which, size_t function, double *row)
{
    const double *costs = context;

    (void)function;
    if (which != COMPARE_SUM_CALLERS)
        return false;
    for (size_t i = 0; i < RUNS; i++)
        row[i] = costs[i];
    return true;
}

/* A function of 7.5 % regresses by 20 %, and so the whole costs 1.5 % more.  Its callers had 48 %
 * and grow by all of that, but their share grows by little more than half of what the function's
 * does, with noise by less: they must not clear it.  */
START_TEST(callers_that_grew_with_a_function_do_not_clear_it)
{
    static const double noise[RUNS] = { 2, -2, 1, -1, -2, -4, -1, -3 };
    struct compare_result *comparison;
    double callers[RUNS];
    struct fixture fixture;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS; i++) {
        double more = i < RUNS / 2 ? 0 : 150;

        fixture.cost[i] = fixture.samples[i] = 10000 + more;
        for (size_t f = 0; f < FUNCTIONS; f++)
            fixture.self[f * RUNS + i] = fixture.total[f * RUNS + i] = f == 1 ? 750 + more : 2000;
        callers[i] = 4800 + more + noise[i] * 6;
    }
    fixture.input.sum = diluted_callers;
    fixture.input.context = callers;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);

    for (size_t i = RUNS / 2; i < RUNS; i++)
        callers[i] -= 150;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_MOVED);
    compare_result_free(comparison);
}
END_TEST

/* Rows of the sums; NULL: there are none.  */
struct sums {
    const double *rows[3]; /* by enum compare_sum */
};

static bool sum_of(void *context, enum compare_sum which, size_t function, double *row)
{
    const struct sums *sums = context;

    (void)function;
    if (sums->rows[which])
        memcpy(row, sums->rows[which], RUNS * sizeof *row);
    return sums->rows[which];
}

/* Function 1 calls more of what is in another file: its own file has a second function and the same
 * own cost as before, which says nothing of what it causes.  */
static void set_caller(struct fixture *fixture, uint32_t group[FUNCTIONS])
{
    set_up(fixture);
    for (size_t f = 0; f < FUNCTIONS; f++)
        group[f] = f < 2 ? 0 : 1;
    fixture->input.group = group;
    for (size_t i = 0; i < RUNS; i++) {
        fixture->self[RUNS + i] = 50;
        fixture->total[RUNS + i] = i < RUNS / 2 ? 200 : 280;
    }
}

START_TEST(a_caller_is_not_cleared_by_the_own_cost_of_its_file)
{
    static const double grew[RUNS] = { 300, 301, 299, 300, 380, 381, 379, 380 };
    static const double steady[RUNS] = { 300, 301, 299, 300, 301, 300, 300, 299 };
    struct fixture fixture;
    struct compare_result *comparison;
    struct sums sums = { .rows = { NULL } };
    uint32_t group[FUNCTIONS];

    set_caller(&fixture, group);
    comparison = compared(&fixture); /* no stacks: its callees grew */
    ck_assert_int_eq(comparison->functions[1].total.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);

    fixture.input.sum = sum_of;
    fixture.input.context = &sums;
    for (int which = 0; which < 3; which++)
        sums.rows[which] = grew;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].total.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);

    for (int which = 0; which < 3; which++) { /* any of the sums is evidence */
        sums.rows[which] = steady;
        comparison = compared(&fixture);
        ck_assert_int_eq(comparison->functions[1].total.flag, COMPARE_MOVED);
        compare_result_free(comparison);
        sums.rows[which] = grew;
    }
}
END_TEST

/* What function 1 called is its own code now; with callees it costs what it did.  */
START_TEST(what_was_inlined_is_no_failure)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    set_self(&fixture, 0, 80, 0);
    set_self(&fixture, 1, 200, 280);
    for (size_t i = 0; i < RUNS; i++)
        fixture.total[RUNS + i] = 280;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_MOVED);
    ck_assert_uint_eq(comparison->regressed_count, 0);
    compare_result_free(comparison);

    /* With callees it regressed, too: that is no move.  */
    for (size_t i = RUNS / 2; i < RUNS; i++)
        fixture.total[RUNS + i] = 350;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->functions[1].self.flag, COMPARE_REGRESSED);
    compare_result_free(comparison);
}
END_TEST

/* Four runs of one sample each are equal, and say next to nothing.  */
START_TEST(runs_of_few_samples_are_noisy_however_equal)
{
    static const struct {
        double samples;
        enum compare_reason reason;
    } rows[] = { { 1, COMPARE_REASON_TOO_NOISY },
                 { 10, COMPARE_REASON_TOO_NOISY },
                 { 100, COMPARE_REASON_NONE } };
    struct compare_result *comparison;
    struct fixture fixture;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS; i++)
        fixture.samples[i] = rows[_i].samples;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->reason, rows[_i].reason);
    ck_assert_double_eq_tol(comparison->total.noise, 1 / sqrt(6) / rows[_i].samples, 1e-12);
    compare_result_free(comparison);
}
END_TEST

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Runs of all sizes, with ties: the median of all differences, sorted one by one.  */
START_TEST(shift_is_the_median_of_all_differences)
{
    struct compare_random random;
    double cost[80], samples[80], differences[40 * 40], expected;
    struct compare_input input = { .cost = cost, .samples = samples };
    struct compare_result *comparison = NULL;
    size_t count = 0;

    compare_random_seed(&random, (uint64_t)_i + 1);
    input.base_runs = 1 + compare_random_below(&random, 40);
    input.new_runs = 1 + compare_random_below(&random, 40);
    for (size_t i = 0; i < 80; i++) {
        cost[i] = _i % 2 ? 1 + (double)compare_random_below(&random, 5)
                         : 1e9 * simulate_unit(&random);
        samples[i] = 1000;
    }
    for (size_t i = 0; i < input.base_runs; i++)
        for (size_t k = 0; k < input.new_runs; k++)
            differences[count++] = cost[input.base_runs + k] - cost[i];
    qsort(differences, count, sizeof *differences, ascending);
    expected = (differences[count / 2] + differences[(count - 1) / 2]) / 2;
    ck_assert_int_eq(compare_runs(&input, NULL, &comparison, NULL), COMPARE_OK);
    ck_assert_double_eq(comparison->total.shift, expected);
    ck_assert(!signbit(comparison->total.shift) || expected < 0);
    compare_result_free(comparison);
}
END_TEST

/* Of a long base and short new runs: 2 % of these are 0.2 % of all samples.  */
START_TEST(what_is_new_in_fewer_samples_is_tested)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS / 2; i++)
        fixture.samples[i] = 10000;
    set_self(&fixture, 0, 0, 20);
    set_self(&fixture, 1, 0, 9); /* 0.9 % */
    comparison = compared(&fixture);
    ck_assert(comparison->functions[0].self.tested);
    ck_assert_int_eq(comparison->functions[0].self.flag, COMPARE_REGRESSED);
    ck_assert(!comparison->functions[1].self.tested);
    compare_result_free(comparison);
}
END_TEST

/* Nor does it hide what went from the many.  */
START_TEST(what_went_from_more_samples_is_tested)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    for (size_t i = 0; i < RUNS / 2; i++)
        fixture.samples[i] = 10000;
    set_self(&fixture, 0, 8, 0); /* 0.7 % of all samples, 0.4 % in the mean of both sides */
    comparison = compared(&fixture);
    ck_assert(comparison->functions[0].self.tested);
    ck_assert_int_eq(comparison->functions[0].self.flag, COMPARE_IMPROVED);
    compare_result_free(comparison);
}
END_TEST

/* As many runs as there may be, in seconds.  */
START_TEST(a_thousand_runs_are_compared)
{
    static double cost[COMPARE_MAX_RUNS], samples[COMPARE_MAX_RUNS];
    struct compare_input input = { .base_runs = _i ? 3 : COMPARE_MAX_RUNS / 2,
                                   .cost = cost,
                                   .samples = samples };
    struct compare_result *comparison = NULL;
    struct compare_random random;

    input.new_runs = COMPARE_MAX_RUNS - input.base_runs;
    compare_random_seed(&random, 3);
    for (size_t i = 0; i < COMPARE_MAX_RUNS; i++) {
        cost[i] = (i < input.base_runs ? 1000 : 1030) + 10 * simulate_normal(&random);
        samples[i] = 1000;
    }
    ck_assert_int_eq(compare_runs(&input, NULL, &comparison, NULL), COMPARE_OK);
    ck_assert_double_eq_tol(comparison->total.relative, 0.03, 0.02);
    ck_assert_double_lt(comparison->total.low, comparison->total.high);
    ck_assert_double_lt(comparison->total.p, 0.01);
    compare_result_free(comparison);
}
END_TEST

START_TEST(three_runs_never_fail_and_never_pass)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    set_self(&fixture, 0, 100, 400);
    fixture.input.base_runs = 4;
    fixture.input.new_runs = 3;
    fixture.input.function_count = 1; /* rows of 7 runs; the numbers do not matter */
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->verdict, COMPARE_INCONCLUSIVE);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOO_FEW_RUNS);
    compare_result_free(comparison);
}
END_TEST

START_TEST(one_run_a_side_is_described_but_not_judged)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    fixture.input.base_runs = fixture.input.new_runs = 1;
    fixture.cost[1] = 1100;
    comparison = compared(&fixture);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_TOO_FEW_RUNS);
    ck_assert_double_eq_tol(comparison->total.relative, 0.1, 1e-12);
    ck_assert_double_eq(comparison->total.p, 1);
    ck_assert(isinf(comparison->total.detectable));
    ck_assert(isinf(compare_result_detectable(comparison, 0.1)));
    compare_result_free(comparison);
}
END_TEST

START_TEST(small_functions_are_not_tested)
{
    struct fixture fixture;
    struct compare_result *comparison;

    set_up(&fixture);
    for (size_t f = 0; f < FUNCTIONS; f++)
        set_self(&fixture, f, 4, 4);
    comparison = compared(&fixture);
    ck_assert_uint_eq(comparison->test_count, 0);
    ck_assert_int_eq(comparison->reason, COMPARE_REASON_NOTHING_TO_TEST);
    compare_result_free(comparison);
}
END_TEST

static void no_base(struct fixture *fixture)
{
    fixture->input.base_runs = 0;
}
static void no_cost(struct fixture *fixture)
{
    fixture->cost[2] = 0;
}
static void no_samples(struct fixture *fixture)
{
    fixture->samples[7] = 0;
}
static void not_a_number(struct fixture *fixture)
{
    fixture->self[3] = NAN;
}
static void negative(struct fixture *fixture)
{
    fixture->total[3] = -1;
}
static void group_too_high(struct fixture *fixture)
{
    fixture->group[1] = COMPARE_NO_GROUP;
    fixture->group[2] = FUNCTIONS;
    fixture->input.group = fixture->group;
}

static void too_many(struct fixture *fixture)
{
    fixture->input.base_runs = 999;
}

static const struct {
    void (*spoil)(struct fixture *fixture);
    const char *message;
} invalid[] = {
    { no_base, "a side has no runs" },
    { no_cost, "a run without samples, or with a cost of 0" },
    { no_samples, "a run without samples, or with a cost of 0" },
    { not_a_number, "a cost that is negative or not a number" },
    { negative, "a cost that is negative or not a number" },
    { too_many, "1003 runs; at most 1000 can be compared" },
    { group_too_high, "function 2 is of group 4 of 4" },
};

START_TEST(what_breaks_the_contract_is_named)
{
    struct fixture fixture;
    struct compare_result *comparison = NULL;
    struct compare_error error;

    set_up(&fixture);
    invalid[_i].spoil(&fixture);
    ck_assert_int_eq(compare_runs(&fixture.input, NULL, &comparison, &error), COMPARE_INVALID);
    ck_assert_str_eq(error.message, invalid[_i].message);
    ck_assert_ptr_null(comparison);
}
END_TEST

/* 4 + 4 runs of 1000 samples at 20 %, no dispersion: the standard error is that of a binomial.  */
START_TEST(interval_of_a_share_is_that_of_its_samples)
{
    struct fixture fixture;
    struct compare_result *comparison;
    double low, high, error = sqrt(2 * 0.2 * 0.8 / 4000);

    set_up(&fixture);
    comparison = compared(&fixture);
    compare_result_interval(comparison, &comparison->functions[0].self, &low, &high);
    ck_assert_double_eq_tol(low, -high, 1e-12);
    ck_assert_double_gt(high, 1.959 * error);
    ck_assert_double_lt(high, 2.5 * error);
    compare_result_free(comparison);
}
END_TEST

START_TEST(interval_of_one_run_a_side_is_open)
{
    struct fixture fixture;
    struct compare_result *comparison;
    double low, high;

    set_up(&fixture);
    fixture.input.base_runs = fixture.input.new_runs = 1;
    comparison = compared(&fixture);
    compare_result_interval(comparison, &comparison->functions[0].self, &low, &high);
    ck_assert(isinf(low) && low < 0);
    ck_assert(isinf(high) && high > 0);
    compare_result_free(comparison);
}
END_TEST

START_TEST(every_failing_allocation_is_reported)
{
    struct fixture fixture;
    enum compare_status status = COMPARE_NO_MEMORY;
    unsigned long n = 0;

    set_up(&fixture);
    set_self(&fixture, 0, 200, 400); /* found, and looked at with its group */
    fixture.input.group = fixture.group;
    while (status != COMPARE_OK) {
        struct compare_result *comparison = NULL;

        allocation_fail_at(++n);
        status = compare_runs(&fixture.input, NULL, &comparison, NULL);
        allocation_fail_at(0);
        ck_assert(status == COMPARE_OK || status == COMPARE_NO_MEMORY);
        ck_assert((comparison != NULL) == (status == COMPARE_OK));
        compare_result_free(comparison);
    }
    ck_assert_uint_gt(n, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_runs");
    TCase *tcase = tcase_create("runs");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 0); /* a thousand runs, on whatever else the machine does */
    tcase_add_test(tcase, equal_runs_pass);
    tcase_add_test(tcase, what_is_new_in_fewer_samples_is_tested);
    tcase_add_test(tcase, what_went_from_more_samples_is_tested);
    tcase_add_test(tcase, total_is_described_by_medians_and_shift);
    tcase_add_test(tcase, noise_above_the_threshold_asks_for_more_runs);
    tcase_add_loop_test(tcase, a_steady_side_does_not_hide_the_noise_of_the_other, 0,
                        (int)(sizeof one_wild_side / sizeof *one_wild_side));
    tcase_add_test(tcase, the_noise_of_the_smaller_side_counts_for_more);
    tcase_add_test(tcase, regressed_total_fails);
    tcase_add_test(tcase, share_of_one_function_is_tested_by_likelihood_ratio);
    tcase_add_test(tcase, p_values_are_adjusted_for_their_number);
    tcase_add_test(tcase, others_are_not_blamed_when_one_function_disappears);
    tcase_add_test(tcase, a_function_that_is_new_is_found);
    tcase_add_test(tcase, work_that_moves_inside_a_file_is_no_failure);
    tcase_add_test(tcase, work_that_regressed_as_it_moved_is_a_failure);
    tcase_add_test(tcase, steady_callers_clear_a_function);
    tcase_add_test(tcase, callers_that_grew_with_a_function_do_not_clear_it);
    tcase_add_test(tcase, a_caller_is_not_cleared_by_the_own_cost_of_its_file);
    tcase_add_test(tcase, what_was_inlined_is_no_failure);
    tcase_add_loop_test(tcase, runs_of_few_samples_are_noisy_however_equal, 0, 3);
    tcase_add_loop_test(tcase, shift_is_the_median_of_all_differences, 0, 40);
    tcase_add_loop_test(tcase, a_thousand_runs_are_compared, 0, 2);
    tcase_add_test(tcase, three_runs_never_fail_and_never_pass);
    tcase_add_test(tcase, one_run_a_side_is_described_but_not_judged);
    tcase_add_test(tcase, small_functions_are_not_tested);
    tcase_add_loop_test(tcase, what_breaks_the_contract_is_named, 0,
                        (int)(sizeof invalid / sizeof *invalid));
    tcase_add_test(tcase, interval_of_a_share_is_that_of_its_samples);
    tcase_add_test(tcase, interval_of_one_run_a_side_is_open);
    tcase_add_test(tcase, every_failing_allocation_is_reported);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
