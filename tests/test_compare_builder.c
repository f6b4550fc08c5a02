/* What a builder takes, what it refuses, and what a set says of itself.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/run_builder.h"

/* ---- Failures are kept ---- */

static void begin(enum compare_side side)
{
    (void)compare_builder_begin_run(run_builder, side, "run");
}

static uint32_t add_main(void)
{
    const struct compare_place place = { .name = "main" };

    return compare_builder_add_function(run_builder, COMPARE_BASE, &place);
}

static void cost_before_any_run(void)
{
    compare_builder_add_cost(run_builder, add_main(), 1, 1);
}

static void stack_before_any_run(void)
{
    compare_builder_add_stack(run_builder, 0, 1);
}

static void negative_cost(void)
{
    begin(COMPARE_BASE);
    compare_builder_add_cost(run_builder, add_main(), -1, 1);
}

static void infinite_total(void)
{
    begin(COMPARE_BASE);
    compare_builder_add_cost(run_builder, add_main(), 1, INFINITY);
}

static void no_number(void)
{
    begin(COMPARE_BASE);
    compare_builder_add_stack(run_builder, 0, NAN);
}

static void unknown_function(void)
{
    begin(COMPARE_BASE);
    compare_builder_add_cost(run_builder, 7, 1, 1);
}

static void unknown_stack(void)
{
    begin(COMPARE_BASE);
    compare_builder_add_stack(run_builder, 7, 1);
}

static void third_side(void)
{
    begin(COMPARE_SIDES);
}

static const struct {
    void (*add)(void);
    const char *message;
} wrong[] = {
    { cost_before_any_run, "a cost outside of a run" },
    { stack_before_any_run, "a cost outside of a run" },
    { negative_cost, "run: -1 is not a cost" },
    { infinite_total, "run: inf is not a cost" },
    { no_number, "run: nan is not a cost" },
    { unknown_function, "run: a cost of no function" },
    { unknown_stack, "run: a value of no stack" },
    { third_side, "run: not a run of a side" },
};

START_TEST(keeps_the_first_failure)
{
    const struct compare_set *set = NULL;
    struct compare_error error = { .status = COMPARE_OK };

    wrong[_i].add();
    begin(COMPARE_BASE); /* what comes after it changes nothing */
    compare_builder_add_stack(run_builder, 0, -5);
    ck_assert_uint_eq(add_main(), UINT32_MAX);
    ck_assert_int_eq(compare_builder_set_type(run_builder, "cpu", "nanoseconds", NULL), COMPARE_OK);
    ck_assert_int_eq(compare_builder_finish(run_builder, &set, &error), COMPARE_INVALID);
    ck_assert_int_eq(error.status, COMPARE_INVALID);
    ck_assert_msg(strstr(error.message, wrong[_i].message), "%s", error.message);
    ck_assert_ptr_null(set);
}
END_TEST

START_TEST(a_set_is_made_once)
{
    const struct compare_set *set = run_builder_finish(), *again = NULL;

    ck_assert_uint_eq(set->run_count, 0);
    ck_assert_uint_eq(set->node_count, 1);
    ck_assert_str_eq(set->type.type, "samples");
    ck_assert_int_eq(compare_builder_finish(run_builder, &again, NULL), COMPARE_INVALID);
    ck_assert_ptr_null(again);
    ck_assert_ptr_nonnull(compare_builder_begin_run(run_builder, COMPARE_BASE, "late"));
    ck_assert_uint_eq(compare_builder_run_count(run_builder), 0);
    ck_assert_uint_eq(compare_builder_heaviest_module(run_builder, 0), 0);
}
END_TEST

START_TEST(options_of_another_size_are_refused)
{
    struct compare_builder_options options = { .size = 3 };
    struct compare_builder *builder = NULL;

    ck_assert_int_eq(compare_builder_open(&options, &builder, NULL), COMPARE_INVALID);
    ck_assert_ptr_null(builder);
    compare_builder_close(NULL);
}
END_TEST

START_TEST(runs_have_one_type)
{
    struct compare_error error;
    const struct compare_set *set;

    begin(COMPARE_BASE);
    ck_assert_ptr_null(compare_builder_type(run_builder).type);
    ck_assert_int_eq(compare_builder_set_type(run_builder, "cpu", "nanoseconds", &error),
                     COMPARE_OK);
    ck_assert_str_eq(compare_builder_type(run_builder).type, "cpu");
    (void)compare_builder_begin_run(run_builder, COMPARE_NEW, "second");
    ck_assert_int_eq(compare_builder_set_type(run_builder, "cpu", "nanoseconds", &error),
                     COMPARE_OK);
    ck_assert_int_eq(compare_builder_set_type(run_builder, "cpu", "count", &error), COMPARE_UNLIKE);
    ck_assert_str_eq(error.message, "run has cpu/nanoseconds, second has cpu/count: what is "
                                    "compared must be the same");
    ck_assert_int_eq(compare_builder_set_type(run_builder, "wall", "nanoseconds", NULL),
                     COMPARE_UNLIKE);
    set = run_builder_finish();
    ck_assert_str_eq(set->type.unit, "nanoseconds");
}
END_TEST

/* ---- Functions ---- */

START_TEST(places_widen_what_is_known)
{
    static const struct compare_place places[] = {
        { .name = "f", .first_line = 5 }, /* of no file: lines mean nothing */
        { .name = "f.isra.0",
          .file = "a.c",
          .module = "prog",
          .start_line = 12,
          .first_line = 15,
          .last_line = 15 },
        { .name = "f", .file = "a.c", .start_line = 10, .first_line = 20, .last_line = 25 },
        { .name = "f", .file = "b.c", .start_line = 1, .first_line = 1, .last_line = 99 },
    };
    const struct compare_function *function;
    const struct compare_place *place;
    uint32_t line;

    begin(COMPARE_NEW);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        ck_assert_uint_eq(compare_builder_add_function(run_builder, COMPARE_NEW, &places[i]), 0);
    function = &run_builder_finish()->functions[0];
    place = &function->places[COMPARE_NEW];
    ck_assert_ptr_null(function->places[COMPARE_BASE].name);
    ck_assert_str_eq(place->file, "a.c");
    ck_assert_uint_eq(place->start_line, 10);
    ck_assert_uint_eq(place->first_line, 15);
    ck_assert_uint_eq(place->last_line, 25);
    ck_assert_str_eq(compare_file_of(function, &line), "a.c");
    ck_assert_uint_eq(line, 10);
}
END_TEST

START_TEST(the_file_is_that_of_the_new_build_else_of_the_base)
{
    struct compare_function function = { .places = { { "f", "base.c", "", 0, 7, 9 },
                                                     { "f", "", "", 3, 0, 0 } } };
    uint32_t line;

    ck_assert_str_eq(compare_file_of(&function, &line), "base.c");
    ck_assert_uint_eq(line, 7);
    function.places[COMPARE_NEW].file = "new.c";
    ck_assert_str_eq(compare_file_of(&function, NULL), "new.c");
    function = (struct compare_function){ .places = { { "f", "", "", 0, 0, 0 } } };
    ck_assert_str_eq(compare_file_of(&function, &line), "");
    ck_assert_uint_eq(line, 0);
    function.places[COMPARE_BASE].name = NULL;
    ck_assert_str_eq(compare_file_of(&function, &line), "");
}
END_TEST

/* Also: costs of one function are added up.  */
START_TEST(costs_without_stacks_make_a_set)
{
    const struct compare_place clones[] = { { .name = "f.part.0" }, { .name = "f" } };
    const struct compare_set *set;

    begin(COMPARE_BASE);
    for (size_t i = 0; i < 2; i++)
        compare_builder_add_cost(
            run_builder, compare_builder_add_function(run_builder, COMPARE_BASE, &clones[i]), 2, 3);
    set = run_builder_finish();
    ck_assert_uint_eq(set->runs[0].cost_count, 1);
    ck_assert_double_eq(set->runs[0].costs[0].self, 4);
    ck_assert_double_eq(set->runs[0].costs[0].total, 6);
    ck_assert_uint_eq(set->runs[0].stack_count, 0);
}
END_TEST

START_TEST(template_arguments_matter_unless_asked_not_to)
{
    struct compare_builder_options options = { .size = sizeof options, .ignore_templates = true };
    const struct compare_place places[] = { { .name = "sort<int>(int*)" },
                                            { .name = "sort<long>(long*)" } };
    struct compare_builder *builder;

    ck_assert_uint_ne(compare_builder_add_function(run_builder, COMPARE_BASE, &places[0]),
                      compare_builder_add_function(run_builder, COMPARE_BASE, &places[1]));
    ck_assert_int_eq(compare_builder_open(&options, &builder, NULL), COMPARE_OK);
    (void)compare_builder_add_function(builder, COMPARE_BASE, &places[0]);
    ck_assert_uint_eq(compare_builder_add_function(builder, COMPARE_BASE,
                                                   &(struct compare_place){ .name = "sort(int*)" }),
                      0);
    compare_builder_close(builder);
}
END_TEST

/* ---- Modules ---- */

static profile_id address_frame(const char *path, uint8_t build, uint64_t vaddr)
{
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(run_builder));
    struct profile_module module = { .build_id = { build, 0xab },
                                     .build_id_length = build ? 2 : 0 };
    profile_id id, frame, callsite;

    ck_assert_int_eq(profile_stacks_string(stacks, path, strlen(path), &module.name, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_stacks_module(stacks, &module, &id, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_address_frame(stacks, id, vaddr, &frame, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_callsite(stacks, 0, frame, &callsite, NULL), PROFILE_OK);
    return callsite;
}

START_TEST(code_without_names_goes_by_its_module)
{
    const struct compare_set *set;
    const char *name;

    begin(COMPARE_BASE);
    compare_builder_add_stack(run_builder, address_frame("/lib/libc.so.6", 0x1f, 0x10), 3);
    compare_builder_add_stack(run_builder, address_frame("/lib/libc.so.6", 0x1f, 0x20), 4);
    compare_builder_add_stack(run_builder, address_frame("[vdso]", 0, 0x20), 1);
    compare_builder_add_stack(run_builder, address_frame("", 0, 0x20), 1);
    compare_builder_add_stack(run_builder, address_frame("/bin/a", 2, 0x20), 0);
    run_builder_stack("main", 1);
    compare_builder_add_stack(run_builder, 0, 10); /* the empty stack */
    ck_assert_uint_eq(compare_builder_heaviest_module(run_builder, 0), 1);
    ck_assert_uint_eq(compare_builder_heaviest_module(run_builder, 1), 0);
    set = run_builder_finish();
    ck_assert_double_eq(set->runs[0].cost, 20);
    ck_assert_uint_eq(set->runs[0].environment.build_count, 1); /* nothing of a was sampled */
    ck_assert_str_eq(set->runs[0].environment.builds[0], "1fab libc.so.6");
    ck_assert_double_eq_tol(set->runs[0].environment.build_shares[0], 7.0 / 20, 1e-9);
    ck_assert_double_eq_tol(set->runs[0].environment.unidentified, 13.0 / 20, 1e-9);
    ck_assert_double_eq_tol(compare_unnamed_share(set, COMPARE_BASE, &name), 9.0 / 20, 1e-9);
    ck_assert_str_eq(name, "[libc.so.6]");
    ck_assert_double_eq(compare_unnamed_share(set, COMPARE_NEW, &name), 0);
    ck_assert_ptr_null(name);
    ck_assert_double_eq(compare_mean_cost(set, COMPARE_BASE), 20);
    ck_assert_double_eq(compare_mean_cost(set, COMPARE_NEW), 0);
}
END_TEST

/* Inlined functions are nodes of their own, outer before inner.  */
START_TEST(inlined_functions_have_nodes)
{
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(run_builder));
    struct profile_line lines[2] = { { .line = 3 }, { .line = 9 } };
    profile_id frame, callsite;
    const struct compare_set *set;

    ck_assert_int_eq(profile_stacks_string(stacks, "inner", 5, &lines[0].function, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_stacks_string(stacks, "outer", 5, &lines[1].function, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_stacks_named_frame(stacks, lines, 2, &frame, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_callsite(stacks, 0, frame, &callsite, NULL), PROFILE_OK);
    begin(COMPARE_BASE);
    compare_builder_add_stack(run_builder, callsite, 6);
    set = run_builder_finish();
    ck_assert_uint_eq(set->node_count, 3);
    ck_assert_str_eq(set->functions[set->nodes[1].function].name, "outer");
    ck_assert_str_eq(set->functions[set->nodes[2].function].name, "inner");
    ck_assert_uint_eq(set->nodes[2].parent, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_builder");
    TCase *tcase = tcase_create("builder");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, keeps_the_first_failure, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tcase, a_set_is_made_once);
    tcase_add_test(tcase, options_of_another_size_are_refused);
    tcase_add_test(tcase, runs_have_one_type);
    tcase_add_test(tcase, places_widen_what_is_known);
    tcase_add_test(tcase, the_file_is_that_of_the_new_build_else_of_the_base);
    tcase_add_test(tcase, costs_without_stacks_make_a_set);
    tcase_add_test(tcase, template_arguments_matter_unless_asked_not_to);
    tcase_add_test(tcase, code_without_names_goes_by_its_module);
    tcase_add_test(tcase, inlined_functions_have_nodes);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
