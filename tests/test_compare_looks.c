/* Looks at runs that are being added: when, and at which level.  */
#include <check.h>
#include <stdlib.h>

#include <fxt/compare.h>

static const struct {
    size_t most, looks[8];
} plans[] = {
    { 4, { 4 } },
    { 5, { 5 } },
    { 6, { 5, 6 } },
    { 12, { 5, 8, 12 } },
    { 40, { 5, 8, 12, 18, 27, 40 } },
    { 41, { 5, 8, 12, 18, 27, 41 } },
};

START_TEST(looks_grow_by_half_up_to_the_most_runs)
{
    size_t runs = 0;

    for (size_t i = 0; plans[_i].looks[i]; i++) {
        runs = compare_next_look(runs, plans[_i].most);
        ck_assert_uint_eq(runs, plans[_i].looks[i]);
    }
    ck_assert_uint_eq(compare_next_look(runs, plans[_i].most), 0);
}
END_TEST

/* The union bound: what all looks may use is q, wherever the series ends.  */
START_TEST(looks_together_use_q)
{
    size_t count = 0;

    while (plans[_i].looks[count])
        count++;
    for (size_t end = 0; end < count; end++) {
        double used = 0;

        for (size_t look = 0; look < end; look++)
            used += compare_look_level(0.05, look, plans[_i].most, false);
        used += compare_look_level(0.05, end, plans[_i].most, true);
        ck_assert_double_eq_tol(used, 0.05, 1e-12);
    }
    ck_assert_double_eq(compare_look_level(0.05, count, plans[_i].most, true), 0);
}
END_TEST

static const struct {
    enum compare_verdict verdict, suspicion;
    bool decides;
} decisions[] = {
    { COMPARE_FAIL, COMPARE_FAIL, true },
    { COMPARE_PASS, COMPARE_PASS, true },
    { COMPARE_PASS, COMPARE_FAIL, false },
    { COMPARE_INCONCLUSIVE, COMPARE_FAIL, false },
    { COMPARE_INCONCLUSIVE, COMPARE_PASS, false },
    { COMPARE_INCONCLUSIVE, COMPARE_INCONCLUSIVE, false },
};

START_TEST(what_looks_regressed_is_not_passed)
{
    ck_assert_int_eq(compare_look_decides(decisions[_i].verdict, decisions[_i].suspicion),
                     decisions[_i].decides);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_looks");
    TCase *tcase = tcase_create("looks");
    SRunner *runner = srunner_create(suite);
    int plan_count = (int)(sizeof plans / sizeof *plans);
    int failed;

    tcase_add_loop_test(tcase, looks_grow_by_half_up_to_the_most_runs, 0, plan_count);
    tcase_add_loop_test(tcase, looks_together_use_q, 0, plan_count);
    tcase_add_loop_test(tcase, what_looks_regressed_is_not_passed, 0,
                        (int)(sizeof decisions / sizeof *decisions));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
