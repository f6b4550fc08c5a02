/* Ticks to nanoseconds: docs/formats/fxt.md section 1.6.  */
#include <check.h>
#include <stdlib.h>

#include "libfxt/fxt_internal.h"
#include "tests/support/random.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

static const struct {
    uint64_t ticks;
    uint64_t ticks_per_second;
    bool fits;
    int64_t ns;
} conversions[] = {
    /* The check values of section 1.6.  */
    { 40, 10, true, 4000000000 },
    { 40000000000, 1000000000, true, 40000000000 },
    { 40000000000, 1, false, 0 },
    { 24000001, 24000000, true, 1000000041 },
    { 7, 3, true, 2333333333 },
    { 123456789012345, 19200000, true, 6430041094392968 },
    { 987654321987654321, 2700000000, true, 365797897032464563 },
    { 9223372036854775807, 1000000000, true, INT64_MAX },
    { UINT64_C(9223372036854775808), 1000000000, false, 0 },
    { UINT64_MAX, 2000000000, true, 9223372036854775807 },
    { 1000000000000000000, 62500000, false, 0 },
    /* Ends of the ranges.  */
    { 0, 1, true, 0 },
    { 0, UINT64_MAX, true, 0 },
    { UINT64_MAX, UINT64_MAX, true, 1000000000 },
    { UINT64_MAX - 1, UINT64_MAX, true, 999999999 },
    { UINT64_MAX, 1, false, 0 },
    { 9223372036, 1, true, 9223372036000000000 },
    { 9223372037, 1, false, 0 },
    { 0, 0, false, 0 },
    { 1, 0, false, 0 },
};

START_TEST(converts_exactly)
{
    int64_t ns = 42;
    bool fits = fxt_ticks_to_ns(conversions[_i].ticks, conversions[_i].ticks_per_second, &ns);

    ck_assert_int_eq(fits, conversions[_i].fits);
    ck_assert_int_eq(ns, fits ? conversions[_i].ns : 42); /* untouched */
}
END_TEST

/* Rates that divide nothing, against the definition in 128 bits.  */
START_TEST(rounds_down_whatever_the_rate)
{
    static const uint64_t rates[] = { 1,
                                      3,
                                      7,
                                      24000000,
                                      999999999,
                                      1000000000,
                                      1000000001,
                                      UINT64_C(18446744073),
                                      UINT64_C(18446744074),
                                      UINT64_C(1) << 63 };
    uint64_t rate = rates[_i];

    for (unsigned shift = 0; shift < 64; shift++) {
        for (int delta = -1; delta <= 1; delta++) {
            uint64_t ticks = (UINT64_C(1) << shift) + (uint64_t)delta;
            unsigned __int128 exact = (unsigned __int128)ticks * 1000000000u / rate;
            int64_t ns = 0;

            ck_assert_int_eq(fxt_ticks_to_ns(ticks, rate, &ns), exact <= INT64_MAX);
            if (exact <= INT64_MAX)
                ck_assert_uint_eq((uint64_t)ns, (uint64_t)exact);
        }
    }
}
END_TEST

static const struct {
    const char *name;
    uint64_t ticks;
    uint64_t base_ticks;
    uint64_t ticks_per_second;
    bool fits;
    int64_t ns;
} times[] = {
    { "at the base", 1000, 1000, 10, true, 0 },
    { "behind the base", 1001, 1000, 10, true, 100000000 },
    { "before the base", 999, 1000, 10, true, -100000000 },
    { "before the base, rounded down, not to 0", 999, 1000, 3, true, -333333334 },
    { "before the base by less than a nanosecond", 999, 1000, 10000000000, true, -1 },
    { "before the base, exact at an uneven rate", 997, 1000, 3, true, -1000000000 },
    { "the base saves a late tick from overflow", UINT64_MAX, UINT64_MAX - 5, 1, true, 5000000000 },
    { "farthest forward", INT64_MAX, 0, 1000000000, true, INT64_MAX },
    { "too far forward", UINT64_C(1) << 63, 0, 1000000000, false, 0 },
    { "farthest back", 0, INT64_MAX, 1000000000, true, -INT64_MAX },
    { "too far back", 0, UINT64_MAX, 1000000000, false, 0 },
    { "too far back at a slow rate", 0, 9223372037, 1, false, 0 },
    { "farthest back, rounded down", 0, UINT64_MAX, 2000000000, true, INT64_MIN },
};

START_TEST(counts_from_the_base_tick)
{
    const struct fxt_provider provider = { .ticks_per_second = times[_i].ticks_per_second,
                                           .base_ticks = times[_i].base_ticks };
    int64_t ns = 42;
    bool fits = fxt_provider_time(&provider, times[_i].ticks, &ns);
    struct fxt_clock clock;

    ck_assert_msg(fits == times[_i].fits, "%s", times[_i].name);
    ck_assert_msg(ns == (fits ? times[_i].ns : 42), "%s: %lld", times[_i].name, (long long)ns);

    ns = 42;
    fxt_clock_set(&clock, &provider);
    fits = fxt_clock_ns(&clock, &provider, times[_i].ticks, &ns);
    ck_assert_msg(fits == times[_i].fits, "%s, by the clock", times[_i].name);
    ck_assert_msg(ns == (fits ? times[_i].ns : 42), "%s, by the clock: %lld", times[_i].name,
                  (long long)ns);
}
END_TEST

static uint64_t random_state;

/* Of any size: half of them below 2^32.  */
static uint64_t random_number(void)
{
    uint64_t word = random_word(&random_state);

    return word >> (random_word(&random_state) & 63);
}

/* The clock that divides by multiplying, against the definition.  Message and comparison by hand: a
 * passed assertion is slow.  */
static void compare(const struct fxt_provider *provider, const struct fxt_clock *clock,
                    uint64_t ticks)
{
    int64_t slow = 42;
    int64_t fast = 42;
    bool slow_fits = fxt_provider_time(provider, ticks, &slow);
    bool fast_fits = fxt_clock_ns(clock, provider, ticks, &fast);

    if (slow_fits != fast_fits || slow != fast)
        ck_abort_msg("%llu ticks of %llu a second since %llu: %lld, by the clock %lld",
                     (unsigned long long)ticks, (unsigned long long)provider->ticks_per_second,
                     (unsigned long long)provider->base_ticks, (long long)slow, (long long)fast);
}

START_TEST(the_clock_is_exact_at_random_rates)
{
    random_state = (uint64_t)_i;
    for (unsigned i = 0; i < 20000; i++) {
        struct fxt_provider provider = { .ticks_per_second = random_number() | (i & 1),
                                         .base_ticks = i % 3 ? 0 : random_number() };
        struct fxt_clock clock;

        if (provider.ticks_per_second == 0)
            continue;
        fxt_clock_set(&clock, &provider);
        for (unsigned j = 0; j < 20; j++)
            compare(&provider, &clock, provider.base_ticks + random_number());
        compare(&provider, &clock, provider.base_ticks + clock.max_ticks);
        compare(&provider, &clock, provider.base_ticks + clock.max_ticks + 1);
        compare(&provider, &clock, random_number());
    }
}
END_TEST

/* Where an estimate of the quotient would go wrong first: around multiples of the divisor.  */
START_TEST(the_clock_is_exact_beside_whole_seconds)
{
    static const uint64_t rates[] = { 1,
                                      3,
                                      19200000,
                                      24000000,
                                      62500000,
                                      999999937,
                                      1000000000,
                                      2700000000,
                                      3579545,
                                      UINT64_C(18446744073),
                                      UINT64_C(18446744074),
                                      UINT64_C(1000000000000),
                                      UINT64_MAX };
    const struct fxt_provider provider = { .ticks_per_second = rates[_i] };
    struct fxt_clock clock;

    fxt_clock_set(&clock, &provider);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t ticks = random_number() / clock.divisor * clock.divisor;

        compare(&provider, &clock, ticks);
        compare(&provider, &clock, ticks - 1);
        compare(&provider, &clock, ticks + 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_time");
    TCase *tcase = tcase_create("time");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, converts_exactly, 0, ROWS(conversions));
    tcase_add_loop_test(tcase, rounds_down_whatever_the_rate, 0, 10);
    tcase_add_loop_test(tcase, counts_from_the_base_tick, 0, ROWS(times));
    tcase_add_loop_test(tcase, the_clock_is_exact_at_random_rates, 0, 4);
    tcase_add_loop_test(tcase, the_clock_is_exact_beside_whole_seconds, 0, 13);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
