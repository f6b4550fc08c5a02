/* What functions cost together: compared with a look at every stack for every function.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libcompare/report/callers.h"
#include "tests/support/random.h"
#include "tests/support/run_builder.h"

#define MOST_FUNCTIONS 12
#define RUNS           3

static const struct {
    const char *name;
    unsigned functions, stacks, depth;
} programs[] = {
    { "one function, which calls itself", 1, 30, 9 },
    { "two that call each other", 2, 60, 12 },
    { "few functions, all of which call all", 5, 300, 8 },
    { "flat", 12, 40, 2 },
    { "no calls", 12, 20, 1 },
    { "many stacks", 12, 2000, 10 },
};

/* A stack of a random depth, most of which others share the beginning of.  */
static profile_id draw_stack(uint64_t *random, int row)
{
    unsigned depth = 1 + (unsigned)(random_word(random) % programs[row].depth);
    profile_id callsite = 0;

    while (depth-- > 0) {
        char name[2] = { (char)('a' + random_word(random) % programs[row].functions), '\0' };

        callsite = run_builder_call(callsite, name, 1, (struct profile_line){ .line = 1 });
    }
    return callsite;
}

static const struct compare_set *draw_runs(int row)
{
    uint64_t random = 1 + (uint64_t)row;

    for (int run = 0; run < RUNS; run++) {
        (void)compare_builder_begin_run(run_builder, run ? COMPARE_NEW : COMPARE_BASE, "run");
        for (unsigned i = 0; i < programs[row].stacks; i++)
            compare_builder_add_stack(run_builder, draw_stack(&random, row),
                                      (double)(1 + random_word(&random) % 100));
    }
    return run_builder_finish();
}

static bool is_on_stack(const struct compare_set *set, uint32_t node, const bool *functions)
{
    for (; node; node = set->nodes[node].parent)
        if (functions[set->nodes[node].function])
            return true;
    return false;
}

/* What all stacks cost that hold one of the functions.  */
static void cost_of(const struct compare_set *set, const bool *functions, double row[RUNS])
{
    memset(row, 0, RUNS * sizeof *row);
    for (size_t r = 0; r < RUNS; r++)
        for (size_t i = 0; i < set->runs[r].stack_count; i++)
            if (is_on_stack(set, set->runs[r].stacks[i].node, functions))
                row[r] += set->runs[r].stacks[i].value;
}

/* False: nothing calls it.  */
static bool look_for_callers(const struct compare_set *set, uint32_t function, double row[RUNS])
{
    bool callers[MOST_FUNCTIONS] = { false }, any = false;

    for (size_t node = 1; node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent;

        if (set->nodes[node].function == function && parent &&
            set->nodes[parent].function != function)
            callers[set->nodes[parent].function] = any = true;
    }
    cost_of(set, callers, row);
    return any;
}

/* False: it calls nothing but itself.  */
static bool look_for_callees(const struct compare_set *set, uint32_t function, double row[RUNS])
{
    bool found[MOST_FUNCTIONS] = { false }, any = false;

    found[function] = true;
    for (size_t node = 1; node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent, callee = set->nodes[node].function;

        if (parent && set->nodes[parent].function == function) {
            found[callee] = true;
            any |= callee != function;
        }
    }
    cost_of(set, found, row);
    return any;
}

static bool is_function(const struct compare_set *set, uint32_t node, uint32_t function)
{
    return node != 0 && set->nodes[node].function == function;
}

/* What a function, its callers and its callees cost alone.  False: there is only itself.  */
static bool look_for_neighbours(const struct compare_set *set, uint32_t function, double row[RUNS])
{
    bool found[MOST_FUNCTIONS] = { false }, any = false;

    found[function] = true;
    for (uint32_t node = 1; node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent;

        if (parent && is_function(set, node, function))
            found[set->nodes[parent].function] = true;
        if (is_function(set, parent, function))
            found[set->nodes[node].function] = true;
    }
    for (uint32_t f = 0; f < set->function_count; f++)
        any |= found[f] && f != function;
    memset(row, 0, RUNS * sizeof *row);
    for (size_t r = 0; r < RUNS; r++)
        for (size_t i = 0; i < set->runs[r].stack_count; i++)
            if (found[set->nodes[set->runs[r].stacks[i].node].function])
                row[r] += set->runs[r].stacks[i].value;
    return any;
}

/* What a function costs but for stacks in which it calls one that moved.  False: it never does.  */
static bool look_for_rest(const struct compare_set *set, uint32_t function, const bool *moved,
                          double row[RUNS])
{
    bool any = false;

    memset(row, 0, RUNS * sizeof *row);
    for (size_t r = 0; r < RUNS; r++)
        for (size_t i = 0; i < set->runs[r].stack_count; i++) {
            bool is_there = false, has_moved = false, below = false;

            for (uint32_t node = set->runs[r].stacks[i].node; node;
                 node = set->nodes[node].parent) {
                is_there |= is_function(set, node, function);
                has_moved |= below && is_function(set, node, function);
                below |= moved[set->nodes[node].function];
            }
            any |= has_moved;
            if (is_there && !has_moved)
                row[r] += set->runs[r].stacks[i].value;
        }
    return any;
}

/* Every third function.  */
static void look_for_third(const struct compare_set *set, uint32_t first, double row[RUNS])
{
    bool found[MOST_FUNCTIONS] = { false };

    for (uint32_t f = first; f < set->function_count; f += 3)
        found[f] = true;
    cost_of(set, found, row);
}

static void check_row(const struct compare_set *set, int program, const char *what, uint32_t f,
                      const double *row, const double *expected)
{
    for (int r = 0; r < RUNS; r++)
        ck_assert_msg(row[r] == expected[r], "%s: %s %s in run %d: %g, not %g",
                      programs[program].name, what, set->functions[f].name, r, row[r], expected[r]);
}

START_TEST(each_stack_with_any_of_them_counts_once)
{
    const struct compare_set *set = draw_runs(_i);
    struct callers *callers;

    ck_assert_uint_le(set->function_count, MOST_FUNCTIONS);
    ck_assert(callers_open(set, &callers));
    for (int again = 0; again < 2; again++) /* one question leaves nothing for the next */
        for (uint32_t f = 0; f < set->function_count; f++) {
            double expected[RUNS], row[RUNS] = { -1, -1, -1 };
            uint32_t third[MOST_FUNCTIONS];
            bool moved[MOST_FUNCTIONS] = { false };
            size_t count = 0;
            bool any = false;

            ck_assert(callers_cost(callers, f, row, &any));
            ck_assert_int_eq(any, look_for_callers(set, f, expected));
            check_row(set, _i, "callers of", f, row, expected);
            ck_assert(callers_cost_with_callees(callers, f, row, &any));
            ck_assert_int_eq(any, look_for_callees(set, f, expected));
            check_row(set, _i, "callees of", f, row, expected);
            ck_assert(callers_cost_of_neighbours(callers, f, row, &any));
            ck_assert_int_eq(any, look_for_neighbours(set, f, expected));
            check_row(set, _i, "neighbours of", f, row, expected);
            for (uint32_t k = f; k < set->function_count; k += 3)
                moved[third[count++] = k] = true;
            for (uint32_t k = 0; k < set->function_count; k++) {
                ck_assert(callers_cost_of_rest(callers, k, moved, row, &any));
                ck_assert_int_eq(any, look_for_rest(set, k, moved, expected));
                check_row(set, _i, "rest of", k, row, expected);
            }
            ck_assert(callers_cost_together(callers, third, count, row));
            look_for_third(set, f, expected);
            check_row(set, _i, "every third from", f, row, expected);
        }
    callers_close(callers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_callers");
    TCase *tcase = tcase_create("callers");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, each_stack_with_any_of_them_counts_once, 0,
                        (int)(sizeof programs / sizeof *programs));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
