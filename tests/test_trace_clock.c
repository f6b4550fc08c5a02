/* The clock of libtrace against a counter and a kernel that the test turns: how far off it is while
 * the kernel's clock is steered, and that it never goes back.  */
#include <check.h>
#include <stdlib.h>

#define TRACE_CLOCK_MODEL
#include <stdbool.h>
#include <stdint.h>

static uint64_t trace_counter(void);
static uint64_t kernel_ns(void);
static bool kernel_uses_counter(void);

#include "libtrace/clock.c" /* NOLINT(bugprone-suspicious-include): its static functions */

/* A counter of 2.5 GHz, and a kernel whose second has second_ns.  */
static struct {
    uint64_t counter;
    double ns;
    double second_ns;
    uint64_t read_counts; /* that a look at the kernel's clock takes */
    bool is_counter_used;
} world;

static void pass(double seconds)
{
    world.counter += (uint64_t)(seconds * 2.5e9);
    world.ns += seconds * world.second_ns;
}

static uint64_t trace_counter(void)
{
    return world.counter;
}

static uint64_t kernel_ns(void)
{
    pass((double)world.read_counts / 5e9);
    uint64_t ns = (uint64_t)world.ns;

    pass((double)world.read_counts / 5e9);
    return ns;
}

static bool kernel_uses_counter(void)
{
    return world.is_counter_used;
}

static void begin(void)
{
    world.counter = 1000000;
    world.ns = 5e9;
    world.second_ns = 1e9;
    world.read_counts = 100;
    world.is_counter_used = true;
    memset(&measuring, 0, sizeof measuring);
    memset(&trace_clock_rate, 0, sizeof trace_clock_rate);
    trace_clock_start();
}

static double off_ns(void)
{
    uint64_t said = trace_clock_now();

    return (double)said - world.ns;
}

/* Ask every step for some time; the largest error of the last half.  */
static double run_ns(double seconds, double step)
{
    uint64_t before = trace_clock_now();
    double worst = 0;

    unsigned steps = (unsigned)(seconds / step);

    for (unsigned i = 0; i < steps; i++) {
        uint64_t said;
        double off;

        pass(step);
        said = trace_clock_now();
        ck_assert_uint_ge(said, before);
        before = said;
        off = (double)said - world.ns;
        off = off < 0 ? -off : off;
        if (i > steps / 2 && off > worst)
            worst = off;
    }
    return worst;
}

START_TEST(follows_a_clock_that_is_steered)
{
    /* Parts per million that NTP makes of a clock, and what the clock may be off at each.  */
    static const double ppm[] = { 0, 1, -1, 20, -20, 100, -100, 500, -500, 0 };

    begin();
    for (size_t i = 0; i < sizeof ppm / sizeof *ppm; i++) {
        world.second_ns = 1e9 + 1000 * ppm[i];
        ck_assert_double_lt(run_ns(20, 0.0011), 100);
    }
}
END_TEST

START_TEST(is_right_after_a_rest)
{
    begin();
    (void)run_ns(1, 0.01);
    world.second_ns = 1e9 + 300000;
    pass(3600);
    ck_assert_double_lt(off_ns(), 100);
    ck_assert_double_gt(off_ns(), -100);
    ck_assert_double_lt(run_ns(5, 0.01), 100);
}
END_TEST

START_TEST(follows_a_counter_that_changes)
{
    begin();
    (void)run_ns(1, 0.01);
    world.counter = 5000; /* a suspended machine wakes up */
    world.ns += 1e6;
    ck_assert_double_lt(off_ns(), 100);
    ck_assert_double_lt(run_ns(5, 0.01), 100);
    world.counter += 400000000000; /* another machine */
    world.second_ns = 0.7e9;
    ck_assert_double_lt(run_ns(20, 0.01), 100);
}
END_TEST

START_TEST(takes_no_moment_that_was_interrupted)
{
    double worst;

    begin();
    (void)run_ns(1, 0.01);
    world.read_counts = 2500000; /* a millisecond: half of it may be the error */
    (void)trace_clock_now();
    pass(0.26);
    (void)trace_clock_now();
    world.read_counts = 100;
    worst = run_ns(2, 0.01);
    ck_assert_double_lt(worst, 100);
}
END_TEST

START_TEST(asks_the_kernel_without_a_counter)
{
    begin();
    world.is_counter_used = false;
    memset(&measuring, 0, sizeof measuring);
    trace_clock_start();
    (void)run_ns(2, 0.01);
    ck_assert_uint_eq(trace_clock_rate.span, 0);
}
END_TEST

START_TEST(is_not_held_up_by_who_measures)
{
    begin();
    (void)run_ns(1, 0.01);
    measuring.at_work = 1; /* a handler interrupted it, or the scheduler */
    trace_clock_rate.sequence |= 1;
    ck_assert_double_lt(run_ns(2, 0.01), 200);
    trace_clock_forget(); /* in a child */
    ck_assert_double_lt(run_ns(2, 0.01), 200);
    ck_assert_uint_gt(trace_clock_rate.span, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_clock");
    TCase *tcase = tcase_create("clock");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, follows_a_clock_that_is_steered);
    tcase_add_test(tcase, is_right_after_a_rest);
    tcase_add_test(tcase, follows_a_counter_that_changes);
    tcase_add_test(tcase, takes_no_moment_that_was_interrupted);
    tcase_add_test(tcase, asks_the_kernel_without_a_counter);
    tcase_add_test(tcase, is_not_held_up_by_who_measures);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
