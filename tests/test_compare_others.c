/* Comparisons of one report rank their tests together.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/simulate.h"

enum { BENCHMARKS = 5 };

static struct compare_result *compared(const struct simulated *runs,
                                       const struct compare_others *others)
{
    struct compare_options options;
    struct compare_result *comparison;

    compare_options_init(&options);
    options.others = others;
    ck_assert_int_eq(compare_runs(&runs->input, &options, &comparison, NULL), COMPARE_OK);
    return comparison;
}

static const struct simulation regressed = {
    .runs = 5, .noise = 0.03, .factor = 1.3, .changed = 5, .own_share = 0.04
};

/* Tests that find nothing count: each q grows with their number.  */
START_TEST(tests_that_find_nothing_make_it_harder)
{
    struct compare_others others = { .count = 0 };
    struct compare_result *alone, *among;
    struct simulated runs;

    simulate(&regressed, 1, &runs);
    alone = compared(&runs, NULL);
    others.tests = calloc(alone->test_count + 3, sizeof *others.tests);
    ck_assert_ptr_nonnull(others.tests);
    for (; others.count < alone->test_count + 3; others.count++)
        others.tests[others.count] = (struct compare_other){
            .p = 1, .grew = true, .of_total = others.count >= alone->test_count
        };
    among = compared(&runs, &others);
    ck_assert_uint_eq(among->test_count, alone->test_count);
    ck_assert_uint_eq(among->all_test_count, 2 * alone->test_count);
    ck_assert_double_eq_tol(among->functions[5].self.q, 2 * alone->functions[5].self.q, 1e-12);
    ck_assert_double_eq_tol(among->total.q, among->total.p * 4 < 1 ? among->total.p * 4 : 1, 1e-12);
    ck_assert_double_gt(among->total_level * 4, 0.05 - 1e-12);
    ck_assert_double_gt(compare_result_detectable(among, 0.04),
                        compare_result_detectable(alone, 0.04));
    compare_result_free(alone);
    compare_result_free(among);
    compare_others_release(&others);
    simulated_release(&runs);
}
END_TEST

/* Benjamini and Hochberg's of totals with p 0.01, 0.02, 0.9: 0.03, 0.03, 0.9; one that decreased
 * counts as a test, and is not ranked.  */
START_TEST(totals_are_ranked_among_those_that_changed_the_same_way)
{
    double base[5] = { 100, 101, 102, 103, 104 }, samples[10];
    double cost[10], self[20], total[20];
    struct compare_other tests[] = { { 0.001, true, true },
                                     { 0.9, true, true },
                                     { 0.001, false, true } };
    struct compare_others others = { tests, 3, 3 };
    struct simulated runs = { .input = { .base_runs = 5,
                                         .new_runs = 5,
                                         .cost = cost,
                                         .samples = samples,
                                         .function_count = 2,
                                         .self = self,
                                         .total = total } };
    struct compare_result *comparison;

    for (size_t i = 0; i < 10; i++) {
        cost[i] = i < 5 ? base[i] : 10 + base[i - 5];
        samples[i] = 1000;
        self[i] = total[i] = cost[i] / 2;
        self[10 + i] = total[10 + i] = cost[i] / 2;
    }
    comparison = compared(&runs, &others);
    ck_assert_double_eq_tol(comparison->total.p, 2.0 / 252, 1e-12);
    ck_assert_double_eq_tol(comparison->total.q, 2.0 / 252 * 4 / 2, 1e-12);
    compare_result_free(comparison);
}
END_TEST

/* Whether a suite fails: each benchmark knows the tests of all others.  */
static bool suite_fails(const struct simulation *first, uint64_t seed, bool *first_found)
{
    static const struct simulation equal = { .runs = 5, .noise = 0.08, .factor = 1 };
    struct compare_others others[BENCHMARKS] = { { .count = 0 } };
    struct simulated runs[BENCHMARKS];
    bool fails = false;

    for (size_t i = 0; i < BENCHMARKS; i++) {
        struct compare_result *alone;

        simulate(i == 0 && first ? first : &equal, seed * BENCHMARKS + i, &runs[i]);
        alone = compared(&runs[i], NULL);
        for (size_t k = 0; k < BENCHMARKS; k++)
            if (k != i)
                ck_assert_int_eq(compare_others_add(&others[k], alone, NULL), COMPARE_OK);
        compare_result_free(alone);
    }
    for (size_t i = 0; i < BENCHMARKS; i++) {
        struct compare_result *comparison = compared(&runs[i], &others[i]);

        fails |= comparison->verdict == COMPARE_FAIL;
        if (i == 0)
            *first_found = comparison->verdict == COMPARE_FAIL;
        compare_result_free(comparison);
        compare_others_release(&others[i]);
        simulated_release(&runs[i]);
    }
    return fails;
}

START_TEST(suites_of_equal_builds_rarely_fail)
{
    int rounds = getenv("FXT_TEST_LONG") ? 200 : 40;
    int failed = 0;
    bool ignored;

    for (int round = 0; round < rounds; round++)
        failed += suite_fails(NULL, 70 + (uint64_t)round, &ignored);
    /* 5 %, and 1.645 standard errors of that.  */
    ck_assert_msg(failed <= rounds * 0.05 + 1.645 * sqrt(rounds * 0.05 * 0.95), "%d of %d failed",
                  failed, rounds);
}
END_TEST

START_TEST(a_regression_of_one_benchmark_of_five_is_found)
{
    int found = 0;
    bool first;

    for (int round = 0; round < 10; round++) {
        (void)suite_fails(&regressed, 900 + (uint64_t)round, &first);
        found += first;
    }
    ck_assert_int_ge(found, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_others");
    TCase *tcase = tcase_create("others");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, tests_that_find_nothing_make_it_harder);
    tcase_add_test(tcase, totals_are_ranked_among_those_that_changed_the_same_way);
    tcase_add_test(tcase, suites_of_equal_builds_rarely_fail);
    tcase_add_test(tcase, a_regression_of_one_benchmark_of_five_is_found);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
