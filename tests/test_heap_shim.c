/* What libfxtheap.so is made of, outside of it: which allocations are sampled, and the set of those
 * in use (docs/formats/memory-sampler.md section 5).  */
#include "sampler-capture/heap/shim/poisson.h"
#include "sampler-capture/heap/shim/shim_live.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- poisson.h ---- */

START_TEST(takes_logarithms_as_libm_does)
{
    struct poisson poisson = { .state = 1, .mean = 1 };

    for (int i = 0; i < 100000; i++) {
        double x = (double)((poisson_random(&poisson) >> 11) + 1) * 0x1p-53;
        double expected = log(x);

        ck_assert_double_le(fabs(poisson_log(x) - expected), 2e-15 * fabs(expected) + 1e-300);
    }
    ck_assert_double_eq(poisson_log(1), 0);
    ck_assert_double_le(fabs(poisson_log(0x1p-53) - log(0x1p-53)), 1e-14);
}
END_TEST

/* The interval's distribution, clamps apart: mean and standard deviation are the mean; half of the
 * intervals are under ln 2 times it.  */
START_TEST(draws_exponential_intervals)
{
    struct poisson poisson = { .state = 7, .mean = 131072 };
    double sum = 0, squares = 0;
    int below = 0, n = 1000000;

    for (int i = 0; i < n; i++) {
        double interval = (double)poisson_interval(&poisson) / 131072;

        sum += interval;
        squares += interval * interval;
        below += interval < 0.693147;
        ck_assert_double_le(interval, 20);
    }
    /* Five standard errors.  */
    ck_assert_double_eq_tol(sum / n, 1, 5e-3);
    ck_assert_double_eq_tol(squares / n, 2, 5 * sqrt(20.0 / n));
    ck_assert_double_eq_tol((double)below / n, 0.5, 5 * 0.5e-3);
}
END_TEST

START_TEST(clamps_intervals)
{
    struct poisson poisson = { .state = 3, .mean = POISSON_SMALL };
    bool least = false, most = false;

    for (int i = 0; i < 1000000; i++) {
        uint64_t interval = poisson_interval(&poisson);

        ck_assert_uint_ge(interval, 8);
        ck_assert_uint_le(interval, 20 * POISSON_SMALL);
        least |= interval == 8;
        most |= interval > 12 * POISSON_SMALL;
    }
    ck_assert(least && most);
}
END_TEST

/* An allocation of a size is sampled with probability 1 - exp(-size / mean), whatever came
 * before.  */
static const struct {
    uint64_t mean, size;
} sampled_sizes[] = {
    { 131072, 1000 },
    { 131072, 16384 },
    { 131072, 131072 },
    { 131072, 400000 },
    { 131072, 100 << 20 },
    /* Small means have no least interval.  */
    { 1, 1 },
    { 1, 2 },
    { 8, 1 },
    { 8, 8 },
    { 16, 24 },
    { 64, 1 },
    { 64, 24 },
    { 1000, 7 },
};

START_TEST(samples_with_the_probability_of_the_theory)
{
    struct poisson poisson = { .state = 11, .mean = sampled_sizes[_i].mean };
    uint64_t left = poisson_interval(&poisson), size = sampled_sizes[_i].size;
    double p = -expm1(-(double)size / (double)poisson.mean);
    int n = size > 1000000 ? 2000 : 400000, sampled = 0;

    for (int i = 0; i < n; i++) {
        if (left > size) {
            left -= size;
            continue;
        }
        left = poisson_skip(&poisson, left, size);
        sampled++;
    }
    ck_assert_double_eq_tol((double)sampled / n, p, 5 * sqrt(p * (1 - p) / n) + 1e-9);
}
END_TEST

START_TEST(skips_over_huge_allocations_in_no_time)
{
    struct poisson poisson = { .state = 5, .mean = 1 };
    uint64_t left = poisson_skip(&poisson, 0, UINT64_MAX);

    ck_assert_uint_le(left, 21);
}
END_TEST

/* ---- live.h ---- */

static uint64_t address_of(uint64_t i)
{
    return UINT64_C(0x7f0000000000) + i * 48;
}

static void *pointer_to(uint64_t i)
{
    return (void *)(uintptr_t)address_of(i); // NOLINT(performance-no-int-to-ptr)
}

START_TEST(knows_what_is_in_it_and_little_else)
{
    const uint64_t stack[3] = { 1, 2, 3 };
    struct shim_live_set set = { .count = 0 };
    unsigned taken = 0, looked_for = 0;

    ck_assert(!shim_live_maybe(NULL));
    ck_assert(!shim_live_has(&set, NULL));
    ck_assert_ptr_null(shim_live_remove(&set, 16));
    for (uint64_t i = 0; i < 10000; i++)
        ck_assert(shim_live_insert(&set, address_of(i), i, stack, 1 + i % 3));
    ck_assert_uint_eq(set.count, 10000);
    for (uint64_t i = 0; i < 10000; i++)
        ck_assert(shim_live_maybe(pointer_to(i)) && shim_live_has(&set, pointer_to(i)));
    for (uint64_t i = 10000; i < 110000; i++) {
        looked_for += shim_live_maybe(pointer_to(i));
        taken += shim_live_has(&set, pointer_to(i));
    }
    ck_assert_uint_le(looked_for, 4000); /* of 100,000 */
    ck_assert_uint_eq(taken, 0);

    for (uint64_t i = 0; i < 10000; i++) {
        struct shim_live_block *block = shim_live_remove(&set, address_of(i));

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq(block->address, address_of(i));
        ck_assert_uint_eq(block->size, i);
        ck_assert_uint_eq(block->stack_count, 1 + i % 3);
        ck_assert_mem_eq(block->stack, stack, block->stack_count * sizeof *stack);
        shim_live_recycle(&set, block);
        ck_assert_ptr_null(shim_live_remove(&set, address_of(i)));
    }
    ck_assert_uint_eq(set.count, 0);
    for (uint64_t i = 0; i < 110000; i++) /* no bit stays behind */
        ck_assert(!shim_live_maybe(pointer_to(i)));
}
END_TEST

START_TEST(replaces_a_block_at_the_same_address)
{
    const uint64_t stack[2] = { 5, 6 };
    struct shim_live_set set = { .count = 0 };

    ck_assert(shim_live_insert(&set, 64, 1, stack, 1));
    ck_assert(shim_live_insert(&set, 64, 2, stack, 2));
    ck_assert_uint_eq(set.count, 1);
    ck_assert_uint_eq(shim_live_remove(&set, 64)->size, 2);
    ck_assert_ptr_null(shim_live_remove(&set, 64));
}
END_TEST

START_TEST(keeps_stacks_of_512_frames_and_no_longer)
{
    static uint64_t stack[1024];
    struct shim_live_set set = { .count = 0 };
    struct shim_live_block *block;

    for (size_t i = 0; i < 1024; i++)
        stack[i] = i;
    ck_assert(shim_live_insert(&set, 64, 1, stack, 512));
    block = shim_live_remove(&set, 64);
    ck_assert_mem_eq(block->stack, stack, 512 * sizeof *stack);
    ck_assert(!shim_live_insert(&set, 64, 1, stack, 1024));
    ck_assert(!shim_live_maybe((void *)64));
}
END_TEST

START_TEST(forgets_all)
{
    const uint64_t stack[1] = { 5 };
    struct shim_live_set set = { .count = 0 };

    for (uint64_t i = 0; i < 3000; i++)
        ck_assert(shim_live_insert(&set, address_of(i), 1, stack, 1));
    shim_live_clear(&set);
    ck_assert_uint_eq(set.count, 0);
    for (uint64_t i = 0; i < 3000; i++)
        ck_assert(!shim_live_maybe(pointer_to(i)));
}
END_TEST

/* The set itself lies in memory of shim_live_map(), as the shim's does.  */
START_TEST(is_empty_in_a_forked_child)
{
    const uint64_t stack[1] = { 5 };
    struct shim_live_set *set = shim_live_map(sizeof *set);
    int status;

    ck_assert_ptr_nonnull(set);
    for (uint64_t i = 0; i < 3000; i++)
        ck_assert(shim_live_insert(set, address_of(i), 1, stack, 1));
    if (fork() == 0) {
        bool fine = set->count == 0 && !shim_live_remove(set, address_of(1));

        for (uint64_t i = 0; i < 3000; i++)
            fine = fine && !shim_live_maybe(pointer_to(i));
        fine = fine && shim_live_insert(set, address_of(7), 9, stack, 1) &&
               shim_live_maybe(pointer_to(7));
        _exit(fine ? 0 : 1);
    }
    ck_assert_int_gt(wait(&status), 0);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(set->count, 3000);
    ck_assert(shim_live_maybe(pointer_to(2999)));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_shim");
    TCase *tcase = tcase_create("shim");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, takes_logarithms_as_libm_does);
    tcase_add_test(tcase, draws_exponential_intervals);
    tcase_add_test(tcase, clamps_intervals);
    tcase_add_loop_test(tcase, samples_with_the_probability_of_the_theory, 0,
                        (int)(sizeof sampled_sizes / sizeof *sampled_sizes));
    tcase_add_test(tcase, skips_over_huge_allocations_in_no_time);
    tcase_add_test(tcase, knows_what_is_in_it_and_little_else);
    tcase_add_test(tcase, replaces_a_block_at_the_same_address);
    tcase_add_test(tcase, keeps_stacks_of_512_frames_and_no_longer);
    tcase_add_test(tcase, forgets_all);
    tcase_add_test(tcase, is_empty_in_a_forked_child);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
