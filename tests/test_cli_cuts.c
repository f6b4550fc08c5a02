/* The modules that cut stacks: the worst are kept, the others are counted.  */
#include <check.h>
#include <stdlib.h>

#include "cmd/cli/cuts.h"

static void add(struct cli_cuts *cuts, const char *module, uint64_t stacks)
{
    const struct cli_cut cut = { .module = module, .stacks = stacks, .problem = "" };

    cli_cuts_add(cuts, &cut);
}

/* In each order in which four modules can come.  */
START_TEST(keeps_the_worst_in_order)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct cli_cuts cuts = { .count = 0 };
    unsigned left[] = { 0, 1, 2, 3 }, rest = (unsigned)_i;

    for (unsigned i = 0; i < 4; i++) {
        unsigned at = rest % (4 - i), which = left[at];

        rest /= 4 - i;
        for (unsigned k = at; k + 1 < 4; k++)
            left[k] = left[k + 1];
        add(&cuts, names[which], 10 - which);
    }
    ck_assert_uint_eq(cuts.count, 3);
    ck_assert_uint_eq(cuts.others, 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(cuts.worst[i].module, names[i]);
        ck_assert_uint_eq(cuts.worst[i].stacks, 10 - i);
    }
}
END_TEST

START_TEST(ignores_modules_that_cut_nothing)
{
    struct cli_cuts cuts = { .count = 0 };

    add(&cuts, "a", 0);
    ck_assert_uint_eq(cuts.count, 0);
    for (int i = 0; i < 5; i++) {
        add(&cuts, "b", 1);
        add(&cuts, "c", 0);
    }
    ck_assert_uint_eq(cuts.count, 3);
    ck_assert_uint_eq(cuts.others, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_cuts");
    TCase *tests = tcase_create("cuts");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests, keeps_the_worst_in_order, 0, 24);
    tcase_add_test(tests, ignores_modules_that_cut_nothing);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
