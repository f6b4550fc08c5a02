/* Whichever allocation fails, from an empty builder to a verdict and a baseline: there is a status,
 * nothing leaks, and what was handed out can be closed.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_report.h>
#include "tests/support/allocation.h"

static const char baseline[] =
    "fxt-baseline 2\ntype cpu nanoseconds\nkernel 6\nbuild aa prog\ncost 100000 100100\n"
    "samples 5000 5010\nroot ./prog\nfunction ./prog\t 0 0 0\t\t0 0\t1000000 1000000\n"
    "function main\tsrc/m.c 1 2 9\tprog\t300000 300000\t1000000 1000000\n"
    "function old\tsrc/m.c 20 22 29\tprog\t700000 700000\t700000 700000\n";
static const char budgets[] = "function ma?n* self < 5%\ntotal < 1us\nheap inuse < 5B\n"
                              "function nobody total < 1s\n";
static const char suppressions[] = "function none until 2030-01-01: x\n"
                                   "function main until 2030-01-01: x\n"
                                   "total until 2020-01-01: y\n";

/* What the runs are of.  */
static const struct way {
    bool base_too;  /* five runs a side, so that callers are asked for; else a baseline */
    bool processes; /* stacks begin with the name and the number of one */
} ways[] = { { false, false }, { true, false }, { true, true }, { false, true } };

/* The call site of a process, with a number that no other run has.  */
static enum profile_status add_process(struct profile_stacks *stacks, enum compare_side side,
                                       int run, profile_id *callsite)
{
    struct profile_line line = { .line = 0 };
    char name[32];
    profile_id frame;
    int length = snprintf(name, sizeof name, "%s-%d", side == COMPARE_BASE ? "a" : "b", 100 + run);
    enum profile_status status = profile_stacks_string(stacks, name, (size_t)length, &line.function,
                                                       NULL);

    if (status == PROFILE_OK)
        status = profile_stacks_named_frame(stacks, &line, 1, &frame, NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_callsite(stacks, 0, frame, callsite, NULL);
    return status;
}

/* A stack of one function below another, in a file of the profile.  */
static enum profile_status add_stack(struct compare_builder *builder, profile_id callsite,
                                     const char *function, uint32_t line, double value)
{
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(builder));
    struct profile_line lines[2] = { { .line = 2, .start_line = 1 },
                                     { .line = line + 2, .start_line = line } };
    struct profile_module module = { .build_id = { 0xbb }, .build_id_length = 1 };
    profile_id frame = 0;
    enum profile_status status;

    status = profile_stacks_string(stacks, "main", 4, &lines[0].function, NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, function, strlen(function), &lines[1].function,
                                       NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, "src/m.c", 7, &lines[0].file, NULL);
    lines[1].file = lines[0].file;
    for (int i = 0; i < 2 && status == PROFILE_OK; i++) {
        status = profile_stacks_named_frame(stacks, &lines[i], 1, &frame, NULL);
        if (status == PROFILE_OK)
            status = profile_stacks_callsite(stacks, callsite, frame, &callsite, NULL);
    }
    if (status == PROFILE_OK)
        status = profile_stacks_string(stacks, "/bin/prog", 9, &module.name, NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_module(stacks, &module, &frame, NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_address_frame(stacks, frame, line, &frame, NULL);
    if (status == PROFILE_OK)
        status = profile_stacks_callsite(stacks, callsite, frame, &callsite, NULL);
    if (status == PROFILE_OK)
        compare_builder_add_stack(builder, callsite, value);
    return status;
}

static enum profile_status add_runs(struct compare_builder *builder, const struct way *way)
{
    enum profile_status status = PROFILE_OK;

    for (int i = 0; i < 10 && status == PROFILE_OK; i++) {
        enum compare_side side = i % 2 ? COMPARE_BASE : COMPARE_NEW;
        const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
        struct compare_run *run;
        profile_id root = 0;

        if (side == COMPARE_BASE && !way->base_too)
            continue;
        run = compare_builder_begin_run(builder, side, label);
        run->samples = 5000;
        run->environment.kernel = compare_builder_text(builder, side ? "7" : "6", 1);
        (void)compare_builder_set_type(builder, "cpu", "nanoseconds", NULL);
        if (way->processes)
            status = add_process(profile_stacks_of(compare_builder_profile(builder)), side, i,
                                 &root);
        if (status == PROFILE_OK)
            status = add_stack(builder, root, side || !way->base_too ? "young" : "old", 20,
                               (side ? 90000 : 70000) + i);
        if (status == PROFILE_OK)
            status = add_stack(builder, root, "helper", 40, 30000 + i);
    }
    return status;
}

static enum compare_status report_on(const struct compare_set *set)
{
    struct compare_report *report;
    enum compare_status status = compare_report_open(set, NULL, &report, NULL);
    char *text = NULL;
    size_t length;

    if (status != COMPARE_OK)
        return status;
    status = compare_apply_budgets(report, "b", budgets, strlen(budgets), NULL);
    if (status == COMPARE_OK)
        status = compare_apply_suppressions(report, "s", suppressions, strlen(suppressions),
                                            "2026-01-01", NULL);
    if (status == COMPARE_OK && compare_require_environment(report, NULL) == COMPARE_NO_MEMORY)
        status = COMPARE_NO_MEMORY;
    if (status == COMPARE_OK)
        status = compare_report_judge(report, NULL);
    compare_report_close(report);
    if (status == COMPARE_OK)
        status = compare_write_baseline(set, COMPARE_NEW, baseline, strlen(baseline), &text,
                                        &length, NULL);
    free(text);
    return status;
}

/* The status of the first that failed.  */
static enum compare_status go_through(const struct way *way)
{
    struct compare_builder *builder;
    const struct compare_set *set;
    enum compare_status status = compare_builder_open(NULL, &builder, NULL), finished;

    if (status != COMPARE_OK)
        return status;
    if (!way->base_too)
        status = compare_read_baseline(builder, COMPARE_BASE, "base", baseline, strlen(baseline),
                                       NULL);
    if (status == COMPARE_OK && add_runs(builder, way) != PROFILE_OK)
        status = COMPARE_NO_MEMORY;
    finished = compare_builder_finish(builder, &set, NULL);
    if (status == COMPARE_OK)
        status = finished;
    if (status == COMPARE_OK)
        status = report_on(set);
    compare_builder_close(builder);
    return status;
}

START_TEST(any_allocation_may_fail)
{
    enum compare_status status = COMPARE_NO_MEMORY;
    unsigned long n = 0, asked = 1;

    allocation_fail_at(0);
    ck_assert_int_eq(go_through(&ways[_i]), COMPARE_OK);
    while (status != COMPARE_OK || n <= asked) {
        allocation_fail_at(++n);
        status = go_through(&ways[_i]);
        asked = allocation_count();
        allocation_fail_at(0);
        if (n <= asked)
            ck_assert_msg(status == COMPARE_NO_MEMORY, "allocation %lu: status %d", n, (int)status);
        else
            ck_assert_int_eq(status, COMPARE_OK);
    }
    ck_assert_uint_gt(n, 150);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_memory");
    TCase *tcase = tcase_create("memory");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 0);
    tcase_add_loop_test(tcase, any_allocation_may_fail, 0, (int)(sizeof ways / sizeof *ways));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
