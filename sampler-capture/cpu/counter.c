#include "sampler-capture/cpu/counter.h"

#include <linux/perf_event.h>
#include <stddef.h>

const char *const counter_names[] = { "cpu",         "instructions",     "cycles", "branches",
                                      "page-faults", "context-switches", NULL };

const struct counter *counter_at(unsigned long index)
{
    static const struct counter counters[] = {
        { "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000, 10000, false },
        { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000, 10000, false },
        { "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 200000, 2000, false },
        { "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 10, 1, false },
        { "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1, true },
    };

    return index == 0 ? NULL : &counters[index - 1];
}

bool counter_is_hardware(const struct counter *counter)
{
    return counter && counter->type == PERF_TYPE_HARDWARE;
}
