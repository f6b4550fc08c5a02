/* clock.h - nanoseconds of CLOCK_MONOTONIC, from the processor's counter where that is what the
 * kernel itself uses.  */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* ns = base_ns + (counter - base) * multiplier / 2^32.  */
struct trace_rate {
    uint64_t base;
    uint64_t base_ns;
    uint64_t multiplier;
};

/* Shared; NULL: not known (yet), ask the kernel.  */
extern const struct trace_rate *trace_clock_rate;

/* Begin to measure the counter.  It is used once 100 ms have passed.  Again: measure anew.  */
void trace_clock_start(void);

/* The time from the kernel; goes on measuring.  */
uint64_t trace_clock_ask(void);

static inline uint64_t trace_clock_now(void)
{
#if defined(__x86_64__)
    const struct trace_rate *rate = __atomic_load_n(&trace_clock_rate, __ATOMIC_ACQUIRE);

    if (__builtin_expect(rate != NULL, 1)) {
        __extension__ unsigned __int128 product = (unsigned __int128)(__rdtsc() - rate->base) *
                                                  rate->multiplier;

        return rate->base_ns + (uint64_t)(product >> 32);
    }
#endif
    return trace_clock_ask();
}

#endif /* TRACE_CLOCK_H */
