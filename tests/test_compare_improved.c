/* The gate does not fail where most of a program became faster, and still finds what regressed
 * beside it (docs/comparison.md section 3.4).  Runs are simulated; seeds are fixed, so a failure is
 * a change of the method.  FXT_TEST_LONG=1: ten times as many comparisons of each kind, and their
 * rates are printed.  With AddressSanitizer, which looks for other errors, the code runs for a few
 * comparisons, and no rates are expected.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sanitizer.h"
#include "tests/support/simulate.h"

enum {
    RUNS = 5, /* of each side */
    ALL_RUNS = 2 * RUNS,
    MODULE = 12, /* functions of one caller */
};

/* A program whose new build is faster.  */
struct improvement {
    size_t functions;
    double improved;    /* share of the functions that cost less */
    double least, most; /* their new cost, uniform between these parts of the old one */
    double noise;       /* of functions and of runs, from run to run */
    double run_noise;   /* of runs, if not 0 */
    double planted;     /* share of function 0; 0: as the others */
    double growth;      /* new cost of function 0 over the old one; 0: 1 */
    double samples;     /* of a run; 0: 20000 */
    int most_failed;    /* percent of comparisons; 0: as good as none */
    int least_found;    /* percent in which function 0 is found */
    int most_undecided; /* percent */
};

static double poisson(struct compare_random *random, double mean)
{
    double limit = exp(-mean), product = simulate_unit(random);
    int count = 0;

    if (mean > 30)
        return fmax(round(mean + sqrt(mean) * simulate_normal(random)), 0);
    for (; product > limit; count++)
        product *= simulate_unit(random);
    return count;
}

/* Shares that fall as 1 / (k + 3), in random order.  */
static void draw_shares(struct compare_random *random, const struct improvement *program,
                        double *shares)
{
    size_t count = program->functions;
    double sum = 0;

    for (size_t f = 0; f < count; f++)
        shares[f] = 1 / (double)(f + 3);
    for (size_t f = count - 1; f > 0; f--) {
        size_t other = compare_random_below(random, f + 1);
        double share = shares[f];

        shares[f] = shares[other];
        shares[other] = share;
    }
    for (size_t f = 1; f < count; f++)
        sum += shares[f];
    if (program->planted > 0)
        shares[0] = sum * program->planted / (1 - program->planted);
    sum += shares[0];
    for (size_t f = 0; f < count; f++)
        shares[f] /= sum;
}

/* What each function's cost is multiplied by.  */
static void draw_factors(struct compare_random *random, const struct improvement *program,
                         const double *shares, double *factors)
{
    double improved = 0;

    factors[0] = program->growth > 0 ? program->growth : 1;
    for (size_t f = 1; f < program->functions; f++) {
        factors[f] = 1;
        if (improved >= program->improved || shares[f] > program->improved - improved + 0.03)
            continue;
        factors[f] = program->least + (program->most - program->least) * simulate_unit(random);
        improved += shares[f];
    }
}

static void draw_run(struct compare_random *random, const struct improvement *program,
                     const double *costs, size_t run, struct simulated *out)
{
    double run_noise = program->run_noise > 0 ? program->run_noise : program->noise;
    double run_factor = exp(run_noise * simulate_normal(random));

    for (size_t f = 0; f < program->functions; f++) {
        double mean = costs[f] * run_factor * exp(program->noise * simulate_normal(random));
        double samples = mean > 0 ? poisson(random, mean) : 0;
        size_t caller = program->functions + f / MODULE;

        out->samples[run] += samples;
        out->cost[run] += samples * 1e6;
        out->self[f * ALL_RUNS + run] = out->total[f * ALL_RUNS + run] = samples * 1e6;
        out->total[caller * ALL_RUNS + run] += samples * 1e6;
    }
}

/* Each twelve functions have a caller without cost of its own.  The caller releases.  */
static void draw(const struct improvement *program, uint64_t seed, struct simulated *out)
{
    size_t rows = program->functions + program->functions / MODULE + 1;
    double *shares = calloc(program->functions, sizeof *shares);
    double *factors = calloc(program->functions, sizeof *factors);
    struct compare_random random;

    out->cost = calloc(ALL_RUNS, sizeof(double));
    out->samples = calloc(ALL_RUNS, sizeof(double));
    out->self = calloc(rows * ALL_RUNS, sizeof(double));
    out->total = calloc(rows * ALL_RUNS, sizeof(double));
    if (!shares || !factors || !out->cost || !out->samples || !out->self || !out->total)
        abort();
    compare_random_seed(&random, seed);
    draw_shares(&random, program, shares);
    draw_factors(&random, program, shares, factors);
    for (size_t f = 0; f < program->functions; f++)
        shares[f] *= program->samples > 0 ? program->samples : SIMULATE_SAMPLES;
    for (size_t run = 0; run < ALL_RUNS; run++) {
        for (size_t f = 0; run == RUNS && f < program->functions; f++)
            shares[f] *= factors[f];
        draw_run(&random, program, shares, run, out);
    }
    out->input = (struct compare_input){
        .base_runs = RUNS,
        .new_runs = RUNS,
        .cost = out->cost,
        .samples = out->samples,
        .function_count = rows,
        .self = out->self,
        .total = out->total,
    };
    free(shares);
    free(factors);
}

static const struct improvement improvements[] = {
    /* Most of the cost is halved.  */
    { 30, 0.6, 0.5, 0.5, 0.01, .most_failed = 0 },
    { 30, 0.8, 0.5, 0.5, 0.03, .most_failed = 0 },
    { 30, 0.8, 0.5, 0.5, 0.08, .most_failed = 5 },
    { 300, 0.6, 0.5, 0.5, 0.01, .most_failed = 0 },
    { 300, 0.6, 0.5, 0.5, 0.08, .most_failed = 5 },
    { 300, 0.8, 0.5, 0.5, 0.01, .most_failed = 0 },
    { 300, 0.8, 0.5, 0.5, 0.03, .most_failed = 5 },
    { 300, 0.8, 0.5, 0.5, 0.03, .samples = 2000, .most_failed = 5 },
    { 5000, 0.6, 0.5, 0.5, 0.03, .most_failed = 5 },
    { 5000, 0.8, 0.5, 0.5, 0.08, .most_failed = 5 },
    /* Most of it disappears.  */
    { 30, 0.6, 0, 0, 0.03, .most_failed = 5 },
    { 300, 0.8, 0, 0, 0.01, .most_failed = 5 },
    { 300, 0.8, 0, 0, 0.08, .most_failed = 5 },
    { 5000, 0.6, 0, 0, 0.03, .most_failed = 5 },
    /* Functions improve by various parts.  */
    { 30, 0.6, 0.2, 0.9, 0.08, .most_failed = 5 },
    { 300, 0.6, 0.2, 0.9, 0.01, .most_failed = 5 },
    { 300, 0.8, 0.2, 0.9, 0.03, .most_failed = 5 },
    { 300, 0.8, 0.2, 0.9, 0.08, .most_failed = 5 },
    { 5000, 0.8, 0.2, 0.9, 0.03, .most_failed = 5 },
    /* By a tenth, which noise may hide: it is then unknown which functions changed.  */
    { 300, 0.7, 0.9, 0.9, 0.03, .most_failed = 5, .most_undecided = 20 },
    { 300, 0.7, 0.9, 0.9, 0.01, .run_noise = 0.1, .most_failed = 5, .most_undecided = 40 },
    { 300, 0.8, 0.9, 0.9, 0.03, .run_noise = 0.1, .most_failed = 5, .most_undecided = 40 },
    { 300, 0.3, 0.85, 0.85, 0.01, .run_noise = 0.1, .most_failed = 5, .most_undecided = 40 },
    { 300, 0.8, 0.85, 0.85, 0.08, .most_failed = 5, .most_undecided = 40 },
};

static const struct improvement regressions[] = {
    { 300, 0, 1, 1, 0.03, .planted = 0.04, .growth = 1.15, .least_found = 90 },
    { 300, 0, 1, 1, 0.03, .run_noise = 0.1, .planted = 0.04, .growth = 1.2, .least_found = 85 },
    { 30, 0.6, 0.5, 0.5, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 95 },
    { 300, 0.6, 0.5, 0.5, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 97 },
    { 300, 0.6, 0.5, 0.5, 0.08, .planted = 0.05, .growth = 1.25, .least_found = 55 },
    { 300, 0.8, 0.5, 0.5, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 95 },
    { 300, 0.6, 0.5, 0.5, 0.01, .planted = 0.04, .growth = 1.15, .least_found = 95 },
    { 300, 0.6, 0.5, 0.5, 0.03, .planted = 0.04, .growth = 1.15, .least_found = 75 },
    { 300, 0.8, 0.5, 0.5, 0.03, .planted = 0.04, .growth = 1.15, .least_found = 55 },
    { 300, 0.6, 0, 0, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 95 },
    { 300, 0.8, 0, 0, 0.03, .planted = 0.04, .growth = 1.15, .least_found = 55 },
    { 300, 0.8, 0.2, 0.9, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 95 },
    { 5000, 0.6, 0.5, 0.5, 0.03, .planted = 0.05, .growth = 1.25, .least_found = 95 },
};

struct counts {
    int rounds, failed, found, blamed, undecided;
};

static bool is_other_blamed(const struct compare_result *comparison, size_t caller)
{
    for (size_t f = 1; f < comparison->function_count; f++)
        if (f != caller && (comparison->functions[f].self.flag == COMPARE_REGRESSED ||
                            comparison->functions[f].total.flag == COMPARE_REGRESSED))
            return true;
    return false;
}

static struct counts counted(const struct improvement *program, uint64_t seed)
{
    struct counts counts = { .rounds = program->functions > 1000 ? 10 : 40 };

    counts.rounds *= getenv("FXT_TEST_LONG") ? 10 : 1;
    if (HAS_ASAN)
        counts.rounds = 3;
    for (int round = 0; round < counts.rounds; round++) {
        struct compare_result *comparison;
        struct simulated runs;

        draw(program, seed + (uint64_t)round, &runs);
        ck_assert_int_eq(compare_runs(&runs.input, NULL, &comparison, NULL), COMPARE_OK);
        counts.failed += comparison->verdict == COMPARE_FAIL;
        counts.found += comparison->functions[0].self.flag == COMPARE_REGRESSED;
        counts.blamed += is_other_blamed(comparison, program->functions);
        counts.undecided += comparison->reason == COMPARE_REASON_UNDECIDED;
        compare_result_free(comparison);
        simulated_release(&runs);
    }
    if (getenv("FXT_TEST_LONG"))
        printf("%4zu functions, %2.0f %% to %.1f..%.1f, noise %.0f %%, %2.0f %% function +%.0f %%: "
               "of %d "
               "%.1f %% failed, %.1f %% found, %.1f %% blamed, %.1f %% undecided\n",
               program->functions, 100 * program->improved, program->least, program->most,
               100 * program->noise, 100 * program->planted,
               program->growth > 0 ? 100 * (program->growth - 1) : 0, counts.rounds,
               100.0 * counts.failed / counts.rounds, 100.0 * counts.found / counts.rounds,
               100.0 * counts.blamed / counts.rounds, 100.0 * counts.undecided / counts.rounds);
    return counts;
}

START_TEST(most_of_a_program_that_gets_faster_does_not_fail_the_gate)
{
    const struct improvement *program = &improvements[_i];
    struct counts counts = counted(program, 11000);

    if (HAS_ASAN)
        return;
    ck_assert_msg(100 * counts.failed <= program->most_failed * counts.rounds,
                  "row %d: %d of %d failed", _i, counts.failed, counts.rounds);
    ck_assert_msg(100 * counts.undecided <= program->most_undecided * counts.rounds,
                  "row %d: %d of %d undecided", _i, counts.undecided, counts.rounds);
}
END_TEST

START_TEST(a_regression_beside_a_large_improvement_is_found)
{
    const struct improvement *program = &regressions[_i];
    struct counts counts = counted(program, 12000);

    if (HAS_ASAN)
        return;
    ck_assert_msg(100 * counts.found >= program->least_found * counts.rounds,
                  "row %d: found in %d of %d", _i, counts.found, counts.rounds);
    ck_assert_msg(20 * counts.blamed <= counts.rounds, "row %d: others blamed in %d of %d", _i,
                  counts.blamed, counts.rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_improved");
    TCase *tcase = tcase_create("improved");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, most_of_a_program_that_gets_faster_does_not_fail_the_gate, 0,
                        (int)(sizeof improvements / sizeof *improvements));
    tcase_add_loop_test(tcase, a_regression_beside_a_large_improvement_is_found, 0,
                        (int)(sizeof regressions / sizeof *regressions));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
