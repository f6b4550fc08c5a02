#include "libtrace/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS UINT64_C(100000000) /* of the first measurement */
#define SPAN_NS  UINT64_C(250000000) /* then, from one to the next */
#define MOST_OFF 1000000             /* ns that are made up for slowly */
#define MOST_BAD 8u                  /* measurements that are thought to have been interrupted */
#define RESTED   4u                  /* spans without anybody asking, after which nobody compares */

struct trace_rate trace_clock_rate;

#ifndef TRACE_CLOCK_MODEL

static uint64_t kernel_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#ifdef TRACE_HAS_COUNTER

/* Only what the kernel trusts counts at one rate on all processors.  */
static bool kernel_uses_counter(void)
{
    char name[8] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return false;
    length = read(fd, name, sizeof name - 1);
    (void)close(fd);
    return length >= 4 && memcmp(name, "tsc\n", 4) == 0;
}

#endif
#endif /* TRACE_CLOCK_MODEL */

#ifdef TRACE_HAS_COUNTER

/* Counter and clock at one moment.  */
struct moment {
    uint64_t counter, ns;
    uint64_t width; /* in which the clock was read */
};

static struct {
    uint64_t begun;   /* shared: there is a moment to measure from */
    uint64_t at_work; /* shared: one thread at a time measures */
    struct moment last;
    uint64_t narrowest; /* width of the best moment so far */
    unsigned bad;       /* moments in a row that were thrown away */
} measuring;

/* The closest of a few pairs.  */
static struct moment read_both(void)
{
    struct moment best = { 0, 0, UINT64_MAX };

    for (unsigned i = 0; i < 5; i++) {
        uint64_t before = trace_counter(), ns = kernel_ns(), after = trace_counter();

        if (after - before < best.width)
            best = (struct moment){ before + (after - before) / 2, ns, after - before };
    }
    return best;
}

void trace_clock_start(void)
{
    if (__atomic_load_n(&measuring.begun, __ATOMIC_ACQUIRE) || !kernel_uses_counter())
        return;
    measuring.last = read_both();
    measuring.narrowest = measuring.last.width;
    __atomic_store_n(&measuring.begun, 1, __ATOMIC_RELEASE);
}

static void publish(uint64_t base, uint64_t base_ns, uint64_t multiplier, uint64_t span)
{
    struct trace_rate *rate = &trace_clock_rate;
    uint64_t sequence = rate->sequence | 1;

    __atomic_store_n(&rate->sequence, sequence, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&rate->base, base, __ATOMIC_RELAXED);
    __atomic_store_n(&rate->base_ns, base_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&rate->multiplier, multiplier, __ATOMIC_RELAXED);
    __atomic_store_n(&rate->span, span, __ATOMIC_RELAXED);
    __atomic_store_n(&rate->sequence, sequence + 1, __ATOMIC_RELEASE);
}

/* What is said now of a moment that is passed counts after the base.  */
static uint64_t said_ns(uint64_t passed)
{
    __extension__ unsigned __int128 product = (unsigned __int128)passed *
                                              trace_clock_rate.multiplier;

    return trace_clock_rate.base_ns + (uint64_t)(product >> 32);
}

/* Nobody is told a time before one that was told already: from there on the clock runs a little
 * slower or faster for a span, and is right at its end.  After a long rest, and where it is far
 * off, it jumps.  */
static void go_on_from(const struct moment *now, uint64_t multiplier, uint64_t span)
{
    uint64_t passed = now->counter - trace_clock_rate.base;
    int64_t off;

    if (passed >= trace_clock_rate.span * RESTED) {
        publish(now->counter, now->ns, multiplier, span);
        return;
    }
    off = (int64_t)(said_ns(passed) - now->ns);
    if (off > MOST_OFF || off < -MOST_OFF) {
        publish(now->counter, now->ns, multiplier, span);
        return;
    }
    __extension__ unsigned __int128 steered = (unsigned __int128)multiplier *
                                              (uint64_t)((int64_t)SPAN_NS - off);
    publish(now->counter, now->ns + (uint64_t)off, (uint64_t)(steered / SPAN_NS), span);
}

/* False: the thread was interrupted, the next one has more luck.  */
static bool is_close(const struct moment *now)
{
    if (now->width < measuring.narrowest)
        measuring.narrowest = now->width;
    if (now->width / 4 <= measuring.narrowest || ++measuring.bad > MOST_BAD) {
        measuring.bad = 0;
        return true;
    }
    return false;
}

/* A rate changes by less than a thousandth while it is steered.  */
static bool is_plausible(uint64_t multiplier)
{
    uint64_t before = trace_clock_rate.multiplier;
    uint64_t change = multiplier > before ? multiplier - before : before - multiplier;

    return trace_clock_rate.span == 0 || change <= before / 64;
}

static void measure(uint64_t ns)
{
    struct moment now;
    uint64_t counts, passed_ns = ns - measuring.last.ns, multiplier;

    if (passed_ns < (trace_clock_rate.span == 0 ? FIRST_NS : SPAN_NS / 2))
        return;
    now = read_both();
    if (!is_close(&now))
        return;
    counts = now.counter - measuring.last.counter;
    passed_ns = now.ns - measuring.last.ns;
    measuring.last = now;
    __extension__ unsigned __int128 wide = (unsigned __int128)passed_ns << 32;
    multiplier = counts > 0 ? (uint64_t)(wide / counts) : 0;
    if (multiplier == 0 ||
        !is_plausible(multiplier)) { /* the machine was suspended, or is another one: anew */
        publish(now.counter, now.ns, 0, 0);
        return;
    }
    wide = (unsigned __int128)SPAN_NS << 32;
    go_on_from(&now, multiplier, (uint64_t)(wide / multiplier));
}

uint64_t trace_clock_ask(void)
{
    uint64_t nobody = 0, ns;

    if (__atomic_load_n(&measuring.begun, __ATOMIC_ACQUIRE) &&
        __atomic_compare_exchange_n(&measuring.at_work, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
        measure(kernel_ns());
        __atomic_store_n(&measuring.at_work, 0, __ATOMIC_RELEASE);
    }
    return trace_clock_read(RESTED, &ns) ? ns : kernel_ns();
}

void trace_clock_forget(void)
{
    if (measuring.at_work) /* interrupted by the fork */
        publish(0, 0, 0, 0);
    measuring.at_work = 0;
}

#else

void trace_clock_start(void)
{
}

void trace_clock_forget(void)
{
}

uint64_t trace_clock_ask(void)
{
    return kernel_ns();
}

#endif
