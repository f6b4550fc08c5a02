/* bench/tracing.c for Tracy's client, without a server: the same loops, the same line of figures, without threads.
 *
 * A program made of it and Tracy's client (TRACY_ENABLE) is a peer of bench/bench_trace.sh.  What is recorded is kept in
 * memory: few batches.
 *
 *   tracy-tracing [BATCHES]
 *
 * "off" is what an event costs without a server when the client is built with -DTRACY_ON_DEMAND: it is 0 here where it
 * is not.  */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <tracy/Tracy.hpp>
#include <tracy/TracyC.h>

#include "bench/least_ns.h"

static void instant(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TracyMessageL("instant");
}

/* A zone with a number is the nearest to an event with two integers.  */
static void integers(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ZoneScopedN("integers");
        ZoneValue(i);
        ZoneValue((uint64_t)-1);
    }
}

static void duration(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ZoneScopedN("duration");
        __asm__ volatile("" ::: "memory");
    }
}

int main(int argc, char **argv)
{
    unsigned batches = argc > 1 ? (unsigned)strtoul(argv[1], nullptr, 10) : 50;
    double loop = least_ns(nothing, batches);
    double one = least_ns(instant, batches) - loop, two = least_ns(integers, batches) - loop;
    double zone = least_ns(duration, batches) - loop;
    double off = 0;

#ifdef TRACY_ON_DEMAND
    off = zone;
#endif
    (void)printf("off=%.3f instant=%.3f integers=%.3f duration=%.3f\n", off, one, two, zone);
    (void)fflush(stdout);
    _Exit(0); /* the client waits for a server otherwise */
}
