/* least_ns.h - what one of many equal events costs, in nanoseconds: for bench/tracing.c and its
 * peers, in C and in C++.  */
#ifndef BENCH_LEAST_NS_H
#define BENCH_LEAST_NS_H

#include <stdint.h>
#include <time.h>

#define BATCH 10000u

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The loop alone.  */
static void nothing(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        __asm__ volatile("" ::: "memory");
}

/* Of a call run(BATCH), divided by BATCH: the least of so many batches, because what else runs on
 * the machine only ever adds.  */
static double least_ns(void (*run)(unsigned count), unsigned batches)
{
    uint64_t least = UINT64_MAX;

    run(BATCH);
    for (unsigned i = 0; i < batches; i++) {
        uint64_t before = now_ns(), passed;

        run(BATCH);
        passed = now_ns() - before;
        if (passed < least)
            least = passed;
    }
    return (double)least / BATCH;
}

#endif
