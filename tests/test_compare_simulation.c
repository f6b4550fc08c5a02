/* The gate is right about noise: simulated runs whose truth is known (docs/comparison.md section
 * 6).  Seeds are fixed, so a failure is a change of the method.  FXT_TEST_LONG=1: twice as many
 * comparisons of each kind.  With AddressSanitizer, which looks for other errors, the code runs for
 * some comparisons, and no rates are expected.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sanitizer.h"
#include "tests/support/simulate.h"

enum { CHANGED = 5 };

static int rounds_of(int most)
{
    if (HAS_ASAN)
        return most / 20;
    return getenv("FXT_TEST_LONG") ? most : most / 2;
}

static struct compare_result *compared(const struct simulation *simulation, uint64_t seed)
{
    struct simulated runs;
    struct compare_result *comparison;

    simulate(simulation, seed, &runs);
    ck_assert_int_eq(compare_runs(&runs.input, NULL, &comparison, NULL), COMPARE_OK);
    simulated_release(&runs);
    return comparison;
}

static const struct {
    double noise, most; /* share of comparisons with a false flag */
} quiet[] = {
    { 0.03, 0.05 },
    { 0.08, 0.10 },
};

START_TEST(equal_builds_are_rarely_flagged)
{
    struct simulation simulation = { .runs = 5, .noise = quiet[_i].noise, .factor = 1 };
    int rounds = rounds_of(200);
    int flagged = 0;

    for (int round = 0; round < rounds; round++) {
        struct compare_result *comparison = compared(&simulation, 1000 + (uint64_t)round);

        flagged += comparison->verdict == COMPARE_FAIL || comparison->regressed_count ||
                   comparison->improved_count || comparison->moved_count;
        compare_result_free(comparison);
    }
    if (HAS_ASAN)
        return;
    ck_assert_int_le(flagged, (int)(quiet[_i].most * rounds));
}
END_TEST

/* Also: nobody else is blamed.  Functions 3 and 4 hold function 5 in their inclusive cost.  */
START_TEST(a_regression_of_15_percent_of_a_4_percent_function_is_found)
{
    struct simulation simulation = {
        .runs = 5, .noise = 0.03, .factor = 1.15, .changed = CHANGED, .own_share = 0.04
    };
    int rounds = rounds_of(800);
    int found = 0, blamed = 0;

    for (int round = 0; round < rounds; round++) {
        struct compare_result *comparison = compared(&simulation, 5000 + (uint64_t)round);
        bool others = false;

        found += comparison->functions[CHANGED].self.flag == COMPARE_REGRESSED &&
                 comparison->verdict == COMPARE_FAIL;
        for (size_t f = 0; f < comparison->function_count; f++)
            others |= f / 3 != CHANGED / 3 &&
                      (comparison->functions[f].self.flag || comparison->functions[f].total.flag);
        blamed += others;
        compare_result_free(comparison);
    }
    if (HAS_ASAN)
        return;
    ck_assert_msg(found * 10 >= rounds * 9, "found in %d of %d", found, rounds);
    ck_assert_int_le(blamed, rounds / 20);
}
END_TEST

/* What a function loses in share, all others gain: that they cost more is not said.  One of 40 %
 * has no say in what the others did.  */
static const struct {
    double share, factor;
} smaller[] = {
    { 0.2, 0 },
    { 0.2, 0.5 },
    { 0.4, 0.5 },
};

START_TEST(a_function_that_gets_faster_does_not_fail_the_gate)
{
    struct simulation simulation = { .runs = 5,
                                     .noise = 0.03,
                                     .factor = smaller[_i].factor,
                                     .changed = CHANGED,
                                     .own_share = smaller[_i].share };
    int rounds = rounds_of(100);
    int failed = 0, improved = 0;

    for (int round = 0; round < rounds; round++) {
        struct compare_result *comparison = compared(&simulation, 3000 + (uint64_t)round);

        failed += comparison->verdict == COMPARE_FAIL;
        improved += comparison->functions[CHANGED].self.flag == COMPARE_IMPROVED;
        compare_result_free(comparison);
    }
    if (HAS_ASAN)
        return;
    ck_assert_int_le(failed, rounds / 20);
    ck_assert_int_ge(improved, rounds * 95 / 100);
}
END_TEST

/* The interval of a total that vanished among noisy runs ends below 0.  */
START_TEST(a_scale_is_never_below_1)
{
    struct simulation simulation = {
        .runs = 5, .noise = 1.2, .factor = 0.001, .changed = CHANGED, .own_share = 0.95
    };
    int below_zero = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct compare_result *comparison = compared(&simulation, seed);

        below_zero += comparison->total.low < -1;
        ck_assert_msg(comparison->scale >= 1 && comparison->scale <= 1e5, "%g", comparison->scale);
        compare_result_free(comparison);
    }
    ck_assert_int_gt(below_zero, 5);
}
END_TEST

/* The power line is true: what it calls detectable is found about 80 times in 100, thresholds of
 * size included, which decide where there is little noise.  */
static const struct {
    double share, noise;
} powers[] = {
    { 0.01, 0.005 }, { 0.01, 0.03 }, { 0.01, 0.08 }, { 0.04, 0.005 },
    { 0.04, 0.03 },  { 0.04, 0.08 }, { 0.2, 0.005 }, { 0.2, 0.03 },
    { 0.2, 0.08 },   { 0.4, 0.005 }, { 0.4, 0.03 },  { 0.4, 0.08 },
};

/* The median of what some comparisons say, for each knows the noise from its own runs alone.  */
static double called_detectable(const struct simulation *simulation, double share)
{
    enum { LINES = 5 };
    double said[LINES];

    for (size_t i = 0; i < LINES; i++) {
        struct compare_result *comparison = compared(simulation, 1 + (uint64_t)i);
        size_t at = i;
        double one = compare_result_detectable(comparison, share);

        for (; at > 0 && said[at - 1] > one; at--)
            said[at] = said[at - 1];
        said[at] = one;
        compare_result_free(comparison);
    }
    return said[LINES / 2];
}

START_TEST(what_is_called_detectable_is_found_four_times_in_five)
{
    struct simulation simulation = { .runs = 5,
                                     .noise = powers[_i].noise,
                                     .factor = 1,
                                     .changed = CHANGED,
                                     .own_share = powers[_i].share };
    int rounds = rounds_of(100);
    int found = 0;

    simulation.factor = 1 + called_detectable(&simulation, powers[_i].share);
    for (int round = 0; round < rounds; round++) {
        struct compare_result *comparison = compared(&simulation, 9000 + (uint64_t)round);

        found += comparison->functions[CHANGED].self.flag == COMPARE_REGRESSED;
        compare_result_free(comparison);
    }
    if (HAS_ASAN)
        return;
    ck_assert_msg(100 * found >= 65 * rounds && 100 * found <= 95 * rounds,
                  "share %g, noise %g: %g, found in %d", powers[_i].share, powers[_i].noise,
                  simulation.factor - 1, found);
}
END_TEST

/* ---- Looks ---- */

/* The first runs of each side of runs that were simulated together.  */
static void take_first(const struct simulated *all, size_t runs, struct simulated *out)
{
    const size_t most = all->input.base_runs;
    const double *const from[] = { all->cost, all->samples, all->self, all->total };
    double **const to[] = { &out->cost, &out->samples, &out->self, &out->total };

    for (size_t i = 0; i < 4; i++) {
        size_t rows = i < 2 ? 1 : SIMULATE_FUNCTIONS;

        *to[i] = calloc(rows * 2 * runs, sizeof(double));
        ck_assert_ptr_nonnull(*to[i]);
        for (size_t half = 0; half < 2 * rows; half++)
            memcpy(*to[i] + half * runs, from[i] + half * most, runs * sizeof(double));
    }
    out->input = all->input;
    out->input.base_runs = out->input.new_runs = runs;
    out->input.cost = out->cost;
    out->input.samples = out->samples;
    out->input.self = out->self;
    out->input.total = out->total;
}

static enum compare_verdict verdict_at(const struct simulated *runs, double q)
{
    struct compare_options options;
    struct compare_result *comparison;
    enum compare_verdict verdict;

    compare_options_init(&options);
    options.q = q;
    ck_assert_int_eq(compare_runs(&runs->input, &options, &comparison, NULL), COMPARE_OK);
    verdict = comparison->verdict;
    compare_result_free(comparison);
    return verdict;
}

/* The verdict of a series of looks, and how many runs it took.  */
static enum compare_verdict verdict_of_series(const struct simulation *simulation, uint64_t seed,
                                              size_t *runs)
{
    struct simulated all, first;
    enum compare_verdict verdict = COMPARE_INCONCLUSIVE;
    bool decided = false;
    size_t next = 0;

    simulate(simulation, seed, &all);
    for (size_t looks = 0; !decided && (next = compare_next_look(next, simulation->runs)) != 0;) {
        take_first(&all, next, &first);
        verdict = verdict_at(&first, compare_look_level(0.05, looks++, simulation->runs, false));
        decided = compare_look_decides(verdict, verdict_at(&first, COMPARE_SUSPICION));
        *runs += next * decided;
        simulated_release(&first);
    }
    if (!decided)
        *runs += simulation->runs;
    simulated_release(&all);
    return verdict;
}

/* With no change, no more than 5 % of series fail, and nearly all pass with few runs.  */
START_TEST(series_of_equal_builds_rarely_fail)
{
    struct simulation simulation = { .runs = 18, .noise = quiet[_i].noise, .factor = 1 };
    int rounds = rounds_of(100);
    int failed = 0, passed = 0;
    size_t runs = 0;

    for (int round = 0; round < rounds; round++) {
        enum compare_verdict verdict = verdict_of_series(&simulation, 6000 + (uint64_t)round,
                                                         &runs);

        failed += verdict == COMPARE_FAIL;
        passed += verdict == COMPARE_PASS;
    }
    if (HAS_ASAN)
        return;
    ck_assert_int_le(failed, rounds / 20);
    ck_assert_int_ge(passed, rounds * 9 / 10);
    ck_assert_uint_le(runs, 10 * (size_t)rounds);
}
END_TEST

/* 12 % of a 4 % function at 3 % noise: 5 + 5 runs find it in 60 of 100 comparisons.  */
START_TEST(series_find_more_than_a_comparison_with_few_more_runs)
{
    struct simulation simulation = {
        .runs = 18, .noise = 0.03, .factor = 1.12, .changed = CHANGED, .own_share = 0.04
    };
    int rounds = rounds_of(100);
    int failed = 0;
    size_t runs = 0;

    for (int round = 0; round < rounds; round++)
        failed += verdict_of_series(&simulation, 8000 + (uint64_t)round, &runs) == COMPARE_FAIL;
    if (HAS_ASAN)
        return;
    ck_assert_int_ge(failed, rounds * 7 / 10);
    ck_assert_uint_le(runs, 8 * (size_t)rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_simulation");
    TCase *tcase = tcase_create("simulation");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, equal_builds_are_rarely_flagged, 0,
                        (int)(sizeof quiet / sizeof *quiet));
    tcase_add_test(tcase, a_regression_of_15_percent_of_a_4_percent_function_is_found);
    tcase_add_loop_test(tcase, a_function_that_gets_faster_does_not_fail_the_gate, 0,
                        (int)(sizeof smaller / sizeof *smaller));
    tcase_add_test(tcase, a_scale_is_never_below_1);
    tcase_add_loop_test(tcase, what_is_called_detectable_is_found_four_times_in_five, 0,
                        (int)(sizeof powers / sizeof *powers));
    tcase_add_loop_test(tcase, series_of_equal_builds_rarely_fail, 0,
                        (int)(sizeof quiet / sizeof *quiet));
    tcase_add_test(tcase, series_find_more_than_a_comparison_with_few_more_runs);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
