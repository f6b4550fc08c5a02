/* What the callers of a function cost: compared with a look at every stack for every function.  */
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

/* False: nothing calls it.  */
static bool look_at_all(const struct compare_set *set, uint32_t function, double row[RUNS])
{
    bool callers[MOST_FUNCTIONS] = { false }, any = false;

    memset(row, 0, RUNS * sizeof *row);
    for (size_t node = 1; node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent;

        if (set->nodes[node].function == function && parent &&
            set->nodes[parent].function != function)
            callers[set->nodes[parent].function] = any = true;
    }
    for (size_t r = 0; r < RUNS; r++)
        for (size_t i = 0; i < set->runs[r].stack_count; i++)
            if (is_on_stack(set, set->runs[r].stacks[i].node, callers))
                row[r] += set->runs[r].stacks[i].value;
    return any;
}

START_TEST(each_stack_below_a_caller_counts_once)
{
    const struct compare_set *set = draw_runs(_i);
    struct callers *callers;

    ck_assert_uint_le(set->function_count, MOST_FUNCTIONS);
    ck_assert(callers_open(set, &callers));
    for (int again = 0; again < 2; again++) /* one question leaves nothing for the next */
        for (uint32_t f = 0; f < set->function_count; f++) {
            double expected[RUNS], row[RUNS] = { -1, -1, -1 };
            bool any = false;

            ck_assert(callers_cost(callers, f, row, &any));
            ck_assert_int_eq(any, look_at_all(set, f, expected));
            for (int r = 0; r < RUNS; r++)
                ck_assert_msg(row[r] == expected[r], "%s: callers of %s in run %d: %g, not %g",
                              programs[_i].name, set->functions[f].name, r, row[r], expected[r]);
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
    tcase_add_loop_test(tcase, each_stack_below_a_caller_counts_once, 0,
                        (int)(sizeof programs / sizeof *programs));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
