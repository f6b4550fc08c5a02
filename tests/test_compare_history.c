/* Change points: where costs of many commits changed, and where they did not.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_history.h>
#include "libcompare/history/changes.h"

enum { COMMITS = 60, FUNCTIONS = 12 };

/* A history with one run for each commit; functions are f0, f1, ...  */
struct made {
    struct compare_set set;
    struct compare_function functions[FUNCTIONS];
    char names[FUNCTIONS][8];
    struct compare_run runs[COMMITS];
    struct compare_cost costs[COMMITS][FUNCTIONS];
    uint32_t commits[COMMITS];
    struct compare_history *history;
    struct compare_random random;
};

/* By how much the work of a function is multiplied in a commit.  */
typedef double (*growth_fn)(size_t commit, size_t function);

/* About normal, with standard deviation 1.  */
static double noise_of(struct compare_random *random)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += (double)(compare_random_next(random) >> 11) / 9007199254740992.0;
    return sum;
}

static void make_run(struct made *made, size_t commit, double noise, growth_fn growth)
{
    struct compare_run *run = &made->runs[commit];
    double speed = exp(noise * noise_of(&made->random));

    *run = (struct compare_run){ .label = "run",
                                 .side = COMPARE_NEW,
                                 .samples = 50000,
                                 .costs = made->costs[commit],
                                 .cost_count = FUNCTIONS };
    for (size_t f = 0; f < FUNCTIONS; f++) {
        double work = 1e6 / (double)(f + 2) * growth(commit, f);
        double cost = work * speed * exp(noise * noise_of(&made->random));

        made->costs[commit][f] = (struct compare_cost){ (uint32_t)f, cost, cost };
        run->cost += cost;
    }
    made->commits[commit] = (uint32_t)commit;
}

static void make(struct made *made, uint64_t seed, double noise, growth_fn growth,
                 const struct compare_history_options *options)
{
    struct compare_error error = { .message = "" };

    memset(made, 0, sizeof *made);
    compare_random_seed(&made->random, seed);
    for (size_t f = 0; f < FUNCTIONS; f++) {
        (void)snprintf(made->names[f], sizeof made->names[f], "f%02zu", f);
        made->functions[f].name = made->names[f];
    }
    for (size_t c = 0; c < COMMITS; c++)
        make_run(made, c, noise, growth);
    made->set = (struct compare_set){ .type = { "cpu", "nanoseconds" },
                                      .functions = made->functions,
                                      .function_count = FUNCTIONS,
                                      .runs = made->runs,
                                      .run_count = COMMITS };
    ck_assert_msg(compare_history_open(&made->set, made->commits, COMMITS, options, &made->history,
                                       &error) == COMPARE_OK,
                  "%s", error.message);
}

/* The series of a function; the whole run for COMPARE_WHOLE_RUN.  */
static const struct compare_history_series *series_of(const struct made *made, uint32_t function)
{
    for (size_t s = 0; s < made->history->series_count; s++)
        if (made->history->series[s].function == function)
            return &made->history->series[s];
    ck_abort_msg("function %u was not tested", function);
    return NULL;
}

/* ---- Histories ---- */

static double same(size_t commit, size_t function)
{
    (void)commit;
    (void)function;
    return 1;
}

START_TEST(finds_nothing_where_nothing_changed)
{
    struct made made;

    make(&made, 1 + (uint64_t)_i, 0.03, same, NULL);
    ck_assert_uint_eq(made.history->point_count, 0);
    ck_assert_uint_eq(made.history->series_count, 1 + FUNCTIONS);
    for (size_t c = 0; c < COMMITS; c++)
        ck_assert_double_eq(made.history->scale[c], 1);
    compare_history_close(made.history);
}
END_TEST

static double step(size_t commit, size_t function)
{
    return function == 5 && commit >= 33 ? 1.2 : 1;
}

START_TEST(a_step_is_found_with_its_commits_and_its_size)
{
    const struct compare_change_point *point;
    struct made made;

    make(&made, 1, 0.02, step, NULL);
    ck_assert_uint_eq(made.history->changed_count, 1);
    ck_assert_uint_eq(series_of(&made, 5)->point_count, 1);
    point = &series_of(&made, 5)->points[0];
    ck_assert_int_eq(point->shape, COMPARE_STEP);
    ck_assert_uint_lt(point->last_good, 33);
    ck_assert_uint_ge(point->first_bad, 33);
    ck_assert_uint_le(point->first_bad - point->last_good, 4);
    ck_assert_double_lt(fabs(point->relative - 0.2), 0.03);
    ck_assert(point->low < point->relative && point->relative < point->high);
    ck_assert_double_gt(point->after, point->before);
    ck_assert_double_le(point->p, made.history->level_each);
    compare_history_close(made.history);
}
END_TEST

static double creep(size_t commit, size_t function)
{
    return function == 5 && commit >= 20 ? pow(1.01, commit < 40 ? (double)commit - 19 : 20) : 1;
}

START_TEST(creep_is_one_change_from_its_first_commit_to_its_last)
{
    const struct compare_change_point *point;
    struct made made;

    make(&made, 1, 0.01, creep, NULL);
    ck_assert_uint_eq(series_of(&made, 5)->point_count, 1);
    point = &series_of(&made, 5)->points[0];
    ck_assert_int_eq(point->shape, COMPARE_CREEP);
    ck_assert_uint_ge(point->last_good, 15);
    ck_assert_uint_le(point->last_good, 24);
    ck_assert_uint_ge(point->first_bad, 35);
    ck_assert_uint_le(point->first_bad, 44);
    ck_assert_double_lt(fabs(point->relative - 0.22), 0.04);
    compare_history_close(made.history);
}
END_TEST

static double vanished(size_t commit, size_t function)
{
    return function == 0 && commit >= 30 ? 0 : 1;
}

/* All other shares grow by a quarter.  */
START_TEST(what_disappears_blames_no_other_function)
{
    struct made made;

    make(&made, 1, 0.02, vanished, NULL);
    ck_assert_uint_eq(made.history->changed_count, 2);
    ck_assert_uint_eq(series_of(&made, 0)->point_count, 1);
    ck_assert_double_eq(series_of(&made, 0)->points[0].relative, -1);
    ck_assert_uint_eq(series_of(&made, COMPARE_WHOLE_RUN)->point_count, 1);
    compare_history_close(made.history);
}
END_TEST

static double appeared(size_t commit, size_t function)
{
    return function == 4 && commit < 30 ? 0 : 1;
}

START_TEST(what_is_new_has_no_ratio)
{
    struct made made;

    make(&made, 1, 0.02, appeared, NULL);
    ck_assert_uint_eq(series_of(&made, 4)->point_count, 1);
    ck_assert(isinf(series_of(&made, 4)->points[0].relative));
    ck_assert_uint_eq(series_of(&made, 4)->points[0].at, 30);
    compare_history_close(made.history);
}
END_TEST

/* One run in a slow moment, and one commit that was taken back after four.  */
static double odd(size_t commit, size_t function)
{
    if (function == 2 && commit == 20)
        return 3;
    return function == 3 && commit >= 40 && commit < 44 ? 1.5 : 1;
}

START_TEST(one_odd_commit_is_no_change_and_four_are_two)
{
    struct made made;

    make(&made, 1, 0.02, odd, NULL);
    ck_assert_uint_eq(series_of(&made, 2)->point_count, 0);
    ck_assert_uint_eq(series_of(&made, 3)->point_count, 2);
    ck_assert_uint_eq(series_of(&made, 3)->points[0].at, 40);
    ck_assert_uint_eq(series_of(&made, 3)->points[1].at, 44);
    compare_history_close(made.history);
}
END_TEST

static double tiny(size_t commit, size_t function)
{
    return function == 5 && commit >= 33 ? 1.01 : 1;
}

/* Instructions and bytes may have no noise at all: a small change is certain, but small.  */
START_TEST(values_without_noise_are_compared_with_the_smallest_change_that_counts)
{
    struct compare_history_options options;
    struct made made;

    make(&made, 1, 0, tiny, NULL);
    ck_assert_uint_eq(made.history->point_count, 0);
    compare_history_close(made.history);
    compare_history_options_init(&options);
    options.min_rel = 0.005;
    options.min_share = 0;
    make(&made, 1, 0, tiny, &options);
    ck_assert_uint_eq(made.history->changed_count, 1);
    ck_assert_uint_eq(series_of(&made, 5)->points[0].last_good, 32);
    ck_assert_uint_eq(series_of(&made, 5)->points[0].first_bad, 33);
    compare_history_close(made.history);
}
END_TEST

START_TEST(costs_with_callees_are_series_of_their_own)
{
    struct compare_history_options options;
    struct made made;

    compare_history_options_init(&options);
    options.metric = COMPARE_METRIC_BOTH;
    make(&made, 1, 0.02, step, &options);
    ck_assert_uint_eq(made.history->series_count, 1 + 2 * FUNCTIONS);
    ck_assert_uint_eq(made.history->changed_count, 2);
    compare_history_close(made.history);
    options.metric = COMPARE_METRIC_TOTAL;
    make(&made, 1, 0.02, step, &options);
    ck_assert_uint_eq(made.history->series_count, 1 + FUNCTIONS);
    ck_assert(series_of(&made, 5)->with_callees);
    compare_history_close(made.history);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(few_commits_have_series_and_no_changes)
{
    struct made made;
    struct compare_history *history;

    make(&made, 1, 0, step, NULL);
    compare_history_close(made.history);
    made.set.run_count = COMPARE_HISTORY_MIN_COMMITS - 1;
    for (size_t count = 1; count < COMPARE_HISTORY_MIN_COMMITS; count++) {
        made.set.run_count = count;
        ck_assert_int_eq(compare_history_open(&made.set, made.commits, count, NULL, &history, NULL),
                         COMPARE_OK);
        ck_assert_uint_eq(history->point_count, 0);
        compare_history_close(history);
    }
}
END_TEST

static const struct {
    const char *message;
    size_t commits;
    uint32_t first; /* commit of the first run */
    double cost, level;
} refused[] = {
    { "a history needs commits", 0, 0, 1, 0.05 },
    { "2001 commits are more than a history can have, 2000", 2001, 0, 1, 0.05 },
    { "run: there is no such commit", COMMITS, COMMITS, 1, 0.05 },
    { "commit 0 has no run", COMMITS, COMPARE_NO_COMMIT, 1, 0.05 },
    { "run: no samples", COMMITS, 0, 0, 0.05 },
    { "an option of the history is out of range", COMMITS, 0, 1, 0 },
};

START_TEST(says_what_is_wrong_with_a_history)
{
    struct compare_history_options options;
    struct compare_error error;
    struct compare_history *history;
    struct made made;

    make(&made, 1, 0.02, same, NULL);
    compare_history_close(made.history);
    compare_history_options_init(&options);
    options.level = refused[_i].level;
    made.commits[0] = refused[_i].first;
    made.runs[0].cost *= refused[_i].cost;
    ck_assert_int_ne(compare_history_open(&made.set, made.commits, refused[_i].commits, &options,
                                          &history, &error),
                     COMPARE_OK);
    ck_assert_str_eq(error.message, refused[_i].message);
    ck_assert_ptr_null(history);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_history");
    TCase *tcase = tcase_create("history");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 0);
    tcase_add_loop_test(tcase, finds_nothing_where_nothing_changed, 0, 5);
    tcase_add_test(tcase, a_step_is_found_with_its_commits_and_its_size);
    tcase_add_test(tcase, creep_is_one_change_from_its_first_commit_to_its_last);
    tcase_add_test(tcase, what_disappears_blames_no_other_function);
    tcase_add_test(tcase, what_is_new_has_no_ratio);
    tcase_add_test(tcase, one_odd_commit_is_no_change_and_four_are_two);
    tcase_add_test(tcase, values_without_noise_are_compared_with_the_smallest_change_that_counts);
    tcase_add_test(tcase, costs_with_callees_are_series_of_their_own);
    tcase_add_test(tcase, few_commits_have_series_and_no_changes);
    tcase_add_loop_test(tcase, says_what_is_wrong_with_a_history, 0,
                        (int)(sizeof refused / sizeof *refused));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
