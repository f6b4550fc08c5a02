/* In --mix: values of counters, whole and real ones, of each process.  */
#include <stdio.h>
#include <stdlib.h>

#include "bench/generate/generate.h"

#define COUNTERS 8u /* of each process; every second one has real values */

static struct {
    uint16_t name[COUNTERS], value; /* indexes of strings */
    uint64_t *totals;               /* values of each counter of each process */
} counters;

static void counter_name(uint32_t counter, char name[16])
{
    (void)snprintf(name, 16, "counter-%u", counter);
}

void start_counters(void)
{
    counters.totals = cli_allocate((size_t)wanted.processes * COUNTERS, sizeof *counters.totals);
    counters.value = put_string("value");
    for (uint32_t i = 0; i < COUNTERS; i++) {
        char name[16];

        counter_name(i, name);
        counters.name[i] = put_string(name);
    }
}

void put_counter(uint64_t ticks)
{
    uint32_t thread = below(thread_total()), counter = below(COUNTERS);
    uint32_t number = below(1000000);
    struct fxt_arg arg = { .type = FXT_ARG_INT64, .name = { .index = counters.value } };

    if (counter % 2) {
        arg.type = FXT_ARG_DOUBLE;
        arg.value.number = number / 4.0;
    } else {
        arg.value.int64 = (int64_t)number - 500000;
    }
    counters.totals[thread / wanted.threads * COUNTERS + counter]++;
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = indexed_thread(thread),
        .category = { .index = 1 },
        .name = { .index = counters.name[counter] },
        .args = &arg,
        .arg_count = 1,
        .value.event = { .type = FXT_EVENT_COUNTER, .id = 1 },
    });
}

void truth_counters(void)
{
    for (uint32_t i = 0; counters.totals && i < wanted.processes * COUNTERS; i++) {
        char name[16];

        counter_name(i % COUNTERS, name);
        if (counters.totals[i])
            truth_text(i / COUNTERS, name, counters.totals[i]);
    }
    free(counters.totals);
}
