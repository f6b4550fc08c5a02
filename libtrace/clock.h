/* clock.h - nanoseconds of CLOCK_MONOTONIC, from the processor's counter where that is what the
 * kernel itself uses.
 *
 * The kernel's clock is steered (NTP), so the counter's rate is measured again four times a second
 * by whoever asks for the time then.  Time goes on where it was and approaches the kernel's.
 *
 * tests/test_trace_clock.c defines TRACE_CLOCK_MODEL and a counter and a kernel of its own.  */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(TRACE_CLOCK_MODEL)
#include <x86intrin.h>
static inline uint64_t trace_counter(void)
{
    return __rdtsc();
}
#endif
#if defined(__x86_64__) || defined(TRACE_CLOCK_MODEL)
#define TRACE_HAS_COUNTER 1
#endif

/* ns = base_ns + (counter - base) * multiplier / 2^32, for span counts from base on.  */
struct trace_rate {
    uint64_t sequence; /* odd while the others change */
    uint64_t base;
    uint64_t base_ns;
    uint64_t multiplier;
    uint64_t span; /* 0: not known (yet) */
} __attribute__((aligned(64)));

extern struct trace_rate trace_clock_rate;

/* Begin to measure the counter; it is used once 100 ms have passed.  Once a process.  */
void trace_clock_start(void);

/* In the child of a fork: nobody else is measuring.  */
void trace_clock_forget(void);

/* The same where that takes longer: goes on measuring, asks the kernel.  Async-signal-safe.  */
uint64_t trace_clock_ask(void);

#ifdef TRACE_HAS_COUNTER

/* False where the rate is not known, older than that many spans, or being changed.  */
static inline bool trace_clock_read(unsigned spans, uint64_t *ns)
{
    const struct trace_rate *rate = &trace_clock_rate;
    uint64_t sequence = __atomic_load_n(&rate->sequence, __ATOMIC_ACQUIRE);
    uint64_t base_ns = __atomic_load_n(&rate->base_ns, __ATOMIC_RELAXED);
    uint64_t multiplier = __atomic_load_n(&rate->multiplier, __ATOMIC_RELAXED);
    uint64_t passed = trace_counter() - __atomic_load_n(&rate->base, __ATOMIC_RELAXED);
    uint64_t span = __atomic_load_n(&rate->span, __ATOMIC_RELAXED);

    __extension__ unsigned __int128 product = (unsigned __int128)passed * multiplier;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    *ns = base_ns + (uint64_t)(product >> 32);
    return passed < span * spans && !(sequence & 1) &&
           __atomic_load_n(&rate->sequence, __ATOMIC_RELAXED) == sequence;
}

#endif

/* False where the time is to be asked for; *ns is any number then.  */
static inline bool trace_clock_is_quick(uint64_t *ns)
{
#ifdef TRACE_HAS_COUNTER
    return __builtin_expect(trace_clock_read(1, ns), 1);
#else
    *ns = 0;
    return false;
#endif
}

static inline uint64_t trace_clock_now(void)
{
    uint64_t ns;

    return trace_clock_is_quick(&ns) ? ns : trace_clock_ask();
}

#endif /* TRACE_CLOCK_H */
