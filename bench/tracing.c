/* What an event costs the program that writes it, in nanoseconds:
 *
 *   tracing [BATCHES]     off, the clock alone, an instant, one with two integers, a duration
 *   tracing count WHAT N  N of one kind, for a tool that counts instructions
 *
 * Each figure is the least of BATCHES batches (default 200) of 10,000: what else runs on the
 * machine only ever adds.  With FXT_TRACE_FILE the recorder is on.  "threads" is how many times as
 * many events two threads write as one does in the same time.  */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/trace.h>

#include "bench/least_ns.h"

/* ---- What is measured ---- */

static void off(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRACE_INSTANT("never", "off", TRACE_SCOPE_THREAD);
        __asm__ volatile("" ::: "memory");
    }
}

static void ticks(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t ticks = trace_get_ticks();

        __asm__ volatile("" ::"r"(ticks) : "memory");
    }
}

static void instant(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE_INSTANT("bench", "instant", TRACE_SCOPE_THREAD);
}

static void integers(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE_INSTANT("bench", "integers", TRACE_SCOPE_THREAD, "first", TA_UINT32(i), "second",
                      TA_INT32(-1));
}

static void duration(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRACE_DURATION("bench", "duration");
        __asm__ volatile("" ::: "memory");
    }
}

static const struct {
    const char *name;
    void (*run)(unsigned count);
} kinds[] = {
    { "nothing", nothing }, { "off", off },           { "clock", ticks },
    { "instant", instant }, { "integers", integers }, { "duration", duration },
};

/* ---- Two threads ---- */

struct run {
    unsigned batches;
    uint64_t begin_ns, end_ns;
};

static pthread_barrier_t together;

static void *write_events(void *argument)
{
    struct run *run = argument;

    instant(BATCH);
    (void)pthread_barrier_wait(&together);
    run->begin_ns = now_ns();
    for (unsigned i = 0; i < run->batches; i++)
        integers(BATCH);
    run->end_ns = now_ns();
    return NULL;
}

/* Nanoseconds an event, from the first that begins to the last that ends.  */
static double threads_ns(unsigned count, unsigned batches)
{
    struct run runs[2] = { { batches, 0, 0 }, { batches, 0, 0 } };
    uint64_t begin = UINT64_MAX, end = 0;
    pthread_t ids[2];

    if (pthread_barrier_init(&together, NULL, count) != 0)
        abort();
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&ids[i], NULL, write_events, &runs[i]) != 0)
            abort();
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(ids[i], NULL);
        begin = runs[i].begin_ns < begin ? runs[i].begin_ns : begin;
        end = runs[i].end_ns > end ? runs[i].end_ns : end;
    }
    (void)pthread_barrier_destroy(&together);
    return (double)(end - begin) / BATCH / batches / count;
}

static double scaling(unsigned batches)
{
    double best = 0;

    for (unsigned i = 0; i < 20; i++) {
        double ratio = threads_ns(1, batches) / threads_ns(2, batches);

        best = ratio > best ? ratio : best;
    }
    return best;
}

/* ---- */

static int count_one(const char *what, unsigned count)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, what) == 0) {
            kinds[i].run(count);
            return 0;
        }
    return 2;
}

int main(int argc, char **argv)
{
    unsigned batches = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    trace_provider_t *provider = trace_provider_create_with_name("tracing");
    double loop;
    int status = 0;

    for (uint64_t begin = now_ns(); now_ns() - begin < 300000000;)
        (void)trace_get_ticks(); /* until it knows the counter's rate */
    if (argc == 4) {
        status = count_one(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    } else {
        loop = least_ns(nothing, batches);
        for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++)
            (void)printf("%s=%.3f ", kinds[i].name, least_ns(kinds[i].run, batches) - loop);
        (void)printf("threads=%.2f\n", scaling(batches));
    }
    trace_provider_destroy(provider);
    return status;
}
