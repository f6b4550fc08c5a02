#include "libtrace/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEASURE_NS UINT64_C(100000000)

const struct trace_rate *trace_clock_rate;

static uint64_t kernel_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)

/* Where measuring began; 0: not begun, or not to be done.  One thread at a time ends it.  */
static struct trace_rate start;
static uint64_t measuring;
static struct trace_rate measured;

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

/* Counter and clock at one moment: the closest of a few pairs.  */
static struct trace_rate read_both(void)
{
    struct trace_rate best = { 0, 0, 0 };
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 5; i++) {
        uint64_t before = __rdtsc(), ns = kernel_ns(), after = __rdtsc();

        if (after - before >= least)
            continue;
        least = after - before;
        best = (struct trace_rate){ before + least / 2, ns, 0 };
    }
    return best;
}

void trace_clock_start(void)
{
    if (__atomic_load_n(&measuring, __ATOMIC_ACQUIRE) != 0 || trace_clock_rate ||
        !kernel_uses_counter())
        return;
    start = read_both();
    __atomic_store_n(&measuring, 1, __ATOMIC_RELEASE);
}

static void end_measuring(void)
{
    uint64_t once = 1;
    struct trace_rate now;

    if (!__atomic_compare_exchange_n(&measuring, &once, 2, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    now = read_both();
    if (now.base <= start.base)
        return;
    __extension__ unsigned __int128 ns = (unsigned __int128)(now.base_ns - start.base_ns) << 32;
    now.multiplier = (uint64_t)(ns / (now.base - start.base));
    measured = now;
    __atomic_store_n(&trace_clock_rate, &measured, __ATOMIC_RELEASE);
}

uint64_t trace_clock_ask(void)
{
    uint64_t now = kernel_ns();

    if (__atomic_load_n(&measuring, __ATOMIC_ACQUIRE) == 1 && now - start.base_ns > MEASURE_NS)
        end_measuring();
    return now;
}

#else

void trace_clock_start(void)
{
}

uint64_t trace_clock_ask(void)
{
    return kernel_ns();
}

#endif
