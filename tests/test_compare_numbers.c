/* The distributions and tests behind fxtdiff give published and hand-made values.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "libcompare/statistics/statistics.h"
#include "tests/support/simulate.h"

static const struct {
    double t, df, p;
} two_sided[] = {
    { 0, 5, 1 },
    { 12.706204736432095, 1, 0.05 }, /* tables of Student's t */
    { 2.3060041350333704, 8, 0.05 },
    { 4.032142983557536, 5, 0.01 },
    { 1.959963984540054, INFINITY, 0.05 },
    { 2, 10, 0.07338803477074 }, /* Simpson's rule over the density, 200,000 steps */
    { 0.3, 2.5, 0.7873423715 },
    { 5, 3, 0.0153924381 },
    { -5, 3, 0.0153924381 },
    { INFINITY, 3, 0 },
    { NAN, 3, 1 },
};

START_TEST(students_t_agrees_with_tables)
{
    ck_assert_double_eq_tol(compare_t_two_sided(two_sided[_i].t, two_sided[_i].df), two_sided[_i].p,
                            1e-8);
}
END_TEST

START_TEST(quantiles_undo_probabilities)
{
    static const double dfs[] = { 1, 2.5, 8, 100, INFINITY };

    for (size_t i = 0; i < 5; i++)
        for (int k = 1; k < 50; k++) {
            double p = k / 100.0;
            double t = compare_t_quantile(1 - p, dfs[i]);

            ck_assert_double_eq_tol(compare_t_two_sided(t, dfs[i]) / (2 * p), 1, 1e-9);
            ck_assert_double_eq_tol(compare_t_quantile(p, dfs[i]), -t, 1e-9 * t);
        }
    ck_assert_double_eq_tol(compare_t_quantile(0.8, INFINITY), 0.8416212335729143, 1e-9);
}
END_TEST

START_TEST(digamma_and_trigamma_agree_with_constants)
{
    ck_assert_double_eq_tol(compare_digamma(1), -0.5772156649015329, 1e-10);
    ck_assert_double_eq_tol(compare_digamma(0.5), -1.9635100260214235, 1e-10);
    ck_assert_double_eq_tol(compare_trigamma(1), M_PI * M_PI / 6, 1e-10);
    ck_assert_double_eq_tol(compare_trigamma(0.5), M_PI * M_PI / 2, 1e-10);
    for (int k = -7; k < 22; k++) {
        double x = ldexp(1, k);

        ck_assert_double_eq_tol(compare_trigamma_inverse(compare_trigamma(x)) / x, 1, 1e-8);
    }
}
END_TEST

/* p by counting on fingers.  */
static const struct {
    double values[9];
    size_t base, news;
    double p;
} permutations[] = {
    { { 1, 2, 3, 4, 5, 6, 7, 8 }, 4, 4, 2.0 / 70 },
    { { 5, 6, 7, 8, 1, 2, 3, 4 }, 4, 4, 2.0 / 70 },
    { { 7, 7, 7, 7, 7, 7 }, 3, 3, 1 },
    { { 1, 9 }, 1, 1, 1 },
    { { 1, 2, 9 }, 2, 1, 1.0 / 3 }, /* sums of one: 1, 2, 9 around 4: only 9 is 5 away */
    { { 1, 2, 4, 3 }, 3, 1, 1 },    /* 3 around 2.5: the others are as far or farther */
};

START_TEST(permutation_test_counts_all_ways)
{
    bool exact;
    double p = compare_permutation(permutations[_i].values, permutations[_i].base,
                                   permutations[_i].news, &exact);

    ck_assert(exact);
    ck_assert_double_eq_tol(p, permutations[_i].p, 1e-12);
}
END_TEST

/* 24 runs, 12 of which cost 1 more: how many of those are among the new ones is hypergeometric.  */
static const struct {
    int regressed_new;
    double p;
} drawn[] = {
    { 6, 1 },
    { 8, 0.22034690 }, /* 1 - (2 * 792^2 + 924^2) / 2704156 */
    { 12, 2.0 / 2704156 },
};

START_TEST(drawn_permutations_come_close_to_counted_ones)
{
    double values[24], p;
    bool exact;

    for (int i = 0; i < 24; i++)
        values[i] = 100 +
                    (i < 12 ? i >= drawn[_i].regressed_new : i - 12 < drawn[_i].regressed_new);
    p = compare_permutation(values, 12, 12, &exact);
    ck_assert(!exact);
    ck_assert_double_gt(p, 0);
    ck_assert_double_eq_tol(p, drawn[_i].p, 0.004);
}
END_TEST

START_TEST(random_numbers_have_their_moments)
{
    struct compare_random random;
    double sum = 0, squares = 0;
    size_t counts[7] = { 0 };

    compare_random_seed(&random, 7);
    for (int i = 0; i < 100000; i++) {
        double x = simulate_normal(&random);

        sum += x;
        squares += x * x;
        counts[compare_random_below(&random, 7)]++;
    }
    ck_assert_double_eq_tol(sum / 100000, 0, 0.015);
    ck_assert_double_eq_tol(squares / 100000, 1, 0.02);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq_tol((double)counts[i] / 100000, 1.0 / 7, 0.005);
}
END_TEST

/* The same dispersion everywhere but for chi-squared noise: the trend finds it, and the functions
 * are trusted together.  */
START_TEST(shrinking_finds_the_common_dispersion)
{
    struct compare_spread spreads[400];
    struct compare_random random;
    struct compare_prior prior;

    compare_random_seed(&random, 11);
    for (int i = 0; i < 400; i++) {
        double chi = 0;

        for (int k = 0; k < 8; k++) {
            double x = simulate_normal(&random);

            chi += x * x;
        }
        spreads[i].size = 50 + 10 * i;
        spreads[i].raw = (1 + 0.01 * spreads[i].size) * chi / 8;
    }
    prior = compare_fit_prior(spreads, 400, 8);
    ck_assert_double_eq_tol(prior.trend, 0.01, 0.0008);
    ck_assert_double_gt(prior.df, 100);
    spreads[0].raw = 100;
    ck_assert_double_lt(compare_shrink(&prior, &spreads[0], 8), 10);
    spreads[0].raw = 0;
    spreads[0].size = 0;
    ck_assert_double_eq(compare_shrink(&prior, &spreads[0], 8), 1);
}
END_TEST

START_TEST(too_few_functions_stand_for_themselves)
{
    struct compare_spread spreads[2] = { { 4, 100 }, { 2, 100 } };
    struct compare_prior prior = compare_fit_prior(spreads, 2, 8);

    ck_assert_double_eq(prior.df, 0);
    ck_assert_double_eq_tol(compare_shrink(&prior, &spreads[0], 8), 4, 1e-12);
    prior = compare_fit_prior(spreads, 0, 8);
    ck_assert_double_eq(prior.trend, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_numbers");
    TCase *tcase = tcase_create("numbers");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, students_t_agrees_with_tables, 0,
                        (int)(sizeof two_sided / sizeof *two_sided));
    tcase_add_test(tcase, quantiles_undo_probabilities);
    tcase_add_test(tcase, digamma_and_trigamma_agree_with_constants);
    tcase_add_loop_test(tcase, permutation_test_counts_all_ways, 0,
                        (int)(sizeof permutations / sizeof *permutations));
    tcase_add_loop_test(tcase, drawn_permutations_come_close_to_counted_ones, 0,
                        (int)(sizeof drawn / sizeof *drawn));
    tcase_add_test(tcase, random_numbers_have_their_moments);
    tcase_add_test(tcase, shrinking_finds_the_common_dispersion);
    tcase_add_test(tcase, too_few_functions_stand_for_themselves);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
