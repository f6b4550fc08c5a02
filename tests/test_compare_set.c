/* From runs to a set: which functions are one, what they cost with their callees, what comes out of
 * it.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/run_builder.h"

static const struct compare_function *function_named(const struct compare_set *set,
                                                     const char *name, uint32_t *id)
{
    for (size_t f = 0; f < set->function_count; f++)
        if (strcmp(set->functions[f].name, name) == 0) {
            *id = (uint32_t)f;
            return &set->functions[f];
        }
    return NULL;
}

static struct compare_cost cost_of(const struct compare_set *set, size_t run, const char *name)
{
    uint32_t id = 0;

    ck_assert_ptr_nonnull(function_named(set, name, &id));
    for (size_t i = 0; i < set->runs[run].cost_count; i++)
        if (set->runs[run].costs[i].function == id)
            return set->runs[run].costs[i];
    return (struct compare_cost){ id, 0, 0 };
}

static void expect_cost(const struct compare_set *set, size_t run, const char *name, double self,
                        double total)
{
    struct compare_cost cost = cost_of(set, run, name);

    ck_assert_msg(cost.self == self && cost.total == total, "%s: self %g, total %g", name,
                  cost.self, cost.total);
}

START_TEST(adds_up_each_stack_once)
{
    const struct compare_set *set;

    (void)compare_builder_begin_run(run_builder, COMPARE_BASE, "a");
    run_builder_stack("main;f;g", 5);
    run_builder_stack("main;f", 2);
    run_builder_stack("main;f;g;f;g", 10); /* recursion */
    run_builder_stack("main;g", 1);
    set = run_builder_finish();
    ck_assert_ptr_nonnull(set);
    ck_assert_double_eq(set->runs[0].cost, 18);
    expect_cost(set, 0, "main", 0, 18);
    expect_cost(set, 0, "f", 2, 17);
    expect_cost(set, 0, "g", 16, 16);
}
END_TEST

START_TEST(texts_keep_the_bytes_they_were_made_of)
{
    static const char label[] = "a\x1b[31m", name[] = "\xe2\x80\x8eGun\xff.isra.0";
    const struct compare_place place = { .name = name, .file = "x\n.c", .module = "plain" };
    const struct compare_function *function;
    const struct compare_set *set;
    size_t length;

    (void)compare_builder_begin_run(run_builder, COMPARE_BASE, label)->samples;
    compare_builder_add_cost(run_builder,
                             compare_builder_add_function(run_builder, COMPARE_BASE, &place), 1, 1);
    set = run_builder_finish();
    ck_assert_ptr_nonnull(set);
    function = &set->functions[0];
    ck_assert_str_eq(set->runs[0].label, "a\\x1b[31m");
    ck_assert_str_eq(compare_raw_text(set, set->runs[0].label, &length), label);
    ck_assert_uint_eq(length, strlen(label));
    ck_assert_str_eq(function->name, "\\u200eGun\\xff");
    ck_assert_str_eq(compare_raw_text(set, function->name, &length), "\xe2\x80\x8eGun\xff");
    ck_assert_str_eq(compare_raw_text(set, function->places[COMPARE_BASE].name, &length), name);
    ck_assert_str_eq(compare_raw_text(set, function->places[COMPARE_BASE].file, &length), "x\n.c");
    /* Without escapes it is the text itself.  */
    ck_assert_ptr_eq(compare_raw_text(set, function->places[COMPARE_BASE].module, &length),
                     function->places[COMPARE_BASE].module);
    ck_assert_uint_eq(length, strlen("plain"));
}
END_TEST

START_TEST(runs_of_the_base_come_first)
{
    const struct compare_set *set;

    (void)compare_builder_begin_run(run_builder, COMPARE_NEW, "n1");
    run_builder_stack("main", 1);
    (void)compare_builder_begin_run(run_builder, COMPARE_BASE, "b1");
    run_builder_stack("main", 2);
    (void)compare_builder_begin_run(run_builder, COMPARE_NEW, "n2");
    run_builder_stack("main", 3);
    set = run_builder_finish();
    ck_assert_uint_eq(set->side_runs[COMPARE_BASE], 1);
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
    const struct compare_set *set;
    double *means;

    (void)compare_builder_begin_run(run_builder, COMPARE_BASE, "a");
    run_builder_stack("main;f.isra.0", 4);
    run_builder_stack("main;f.cold", 1);
    (void)compare_builder_begin_run(run_builder, COMPARE_NEW, "b");
    run_builder_stack("main;f", 6);
    set = run_builder_finish();
    expect_cost(set, 0, "f", 5, 5);
    expect_cost(set, 1, "f", 6, 6);
    ck_assert_uint_eq(set->node_count, 3); /* none, main, main;f */
    means = compare_mean_stacks(set);
    ck_assert_double_eq(means[2 * 2 + COMPARE_BASE], 5);
    ck_assert_double_eq(means[2 * 2 + COMPARE_NEW], 6);
    free(means);
}
END_TEST

START_TEST(text_of_a_trace_drives_no_terminal)
{
    const struct compare_set *set;
    uint32_t id;

    (void)compare_builder_begin_run(run_builder, COMPARE_BASE, "a\033[31m");
    run_builder_stack("evil\033[2Jname\n\xff\xc2\x9b", 4);
    set = run_builder_finish();
    ck_assert_str_eq(set->runs[0].label, "a\\x1b[31m");
    ck_assert_ptr_nonnull(function_named(set, "evil\\x1b[2Jname\\n\\xff\\x9b", &id));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_set");
    TCase *tcase = tcase_create("set");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_test(tcase, adds_up_each_stack_once);
    tcase_add_test(tcase, texts_keep_the_bytes_they_were_made_of);
    tcase_add_test(tcase, runs_of_the_base_come_first);
    tcase_add_test(tcase, clones_are_one_function_in_the_tree);
    tcase_add_test(tcase, text_of_a_trace_drives_no_terminal);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
