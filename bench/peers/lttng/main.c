/* bench/tracing.c for LTTng-ust: the same loops, the same line of figures, without threads.
 *
 *   lttng-tracing [BATCHES]  */
#include <stdio.h>
#include <stdlib.h>

#include "bench/least_ns.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"

static void off(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lttng_ust_tracepoint(bench, off);
        __asm__ volatile("" ::: "memory");
    }
}

static void instant(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        lttng_ust_tracepoint(bench, instant);
}

static void integers(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        lttng_ust_tracepoint(bench, integers, i, -1);
}

static void duration(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lttng_ust_tracepoint(bench, begin);
        lttng_ust_tracepoint(bench, end);
    }
}

int main(int argc, char **argv)
{
    unsigned batches = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    double loop = least_ns(nothing, batches);

    (void)printf("off=%.3f instant=%.3f integers=%.3f duration=%.3f\n",
                 least_ns(off, batches) - loop, least_ns(instant, batches) - loop,
                 least_ns(integers, batches) - loop, least_ns(duration, batches) - loop);
    return 0;
}
