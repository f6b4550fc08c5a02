/* kinds.c - names of records and events, in perf's words.  */
#include <inttypes.h>
#include <stdio.h>

#include "libperf/perf_internal.h"

/* [number]; gaps are numbers without a meaning.  */
static const char *const kind_names[] = {
    [1] = "MMAP",
    [2] = "LOST",
    [3] = "COMM",
    [4] = "EXIT",
    [5] = "THROTTLE",
    [6] = "UNTHROTTLE",
    [7] = "FORK",
    [8] = "READ",
    [9] = "SAMPLE",
    [10] = "MMAP2",
    [11] = "AUX",
    [12] = "ITRACE_START",
    [13] = "LOST_SAMPLES",
    [14] = "SWITCH",
    [15] = "SWITCH_CPU_WIDE",
    [16] = "NAMESPACES",
    [17] = "KSYMBOL",
    [18] = "BPF_EVENT",
    [19] = "CGROUP",
    [20] = "TEXT_POKE",
    [21] = "AUX_OUTPUT_HW_ID",
    [22] = "CALLCHAIN_DEFERRED",
    [64] = "ATTR",
    [65] = "EVENT_TYPE",
    [66] = "TRACING_DATA",
    [67] = "BUILD_ID",
    [68] = "FINISHED_ROUND",
    [69] = "ID_INDEX",
    [70] = "AUXTRACE_INFO",
    [71] = "AUXTRACE",
    [72] = "AUXTRACE_ERROR",
    [73] = "THREAD_MAP",
    [74] = "CPU_MAP",
    [75] = "STAT_CONFIG",
    [76] = "STAT",
    [77] = "STAT_ROUND",
    [78] = "EVENT_UPDATE",
    [79] = "TIME_CONV",
    [80] = "FEATURE",
    [81] = "COMPRESSED",
    [82] = "FINISHED_INIT",
    [83] = "COMPRESSED2",
    [84] = "BPF_METADATA",
    [85] = "SCHEDSTAT_CPU",
    [86] = "SCHEDSTAT_DOMAIN",
    [127] = "SIMPLEPERF",
};

const char *perf_data_kind_name(uint32_t kind)
{
    return kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : NULL;
}

static const char *const hardware_names[] = {
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
};

static const char *const software_names[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

void perf_event_default_name(const struct perf_data_event *event, char *text, size_t size)
{
    static const struct {
        const char *const *names;
        size_t count;
    } types[] = {
        { hardware_names, sizeof hardware_names / sizeof *hardware_names },
        { software_names, sizeof software_names / sizeof *software_names },
    };

    if (event->type < 2 && event->config < types[event->type].count)
        (void)snprintf(text, size, "%s", types[event->type].names[event->config]);
    else if (event->type == 2)
        (void)snprintf(text, size, "tracepoint-%" PRIu64, event->config);
    else
        (void)snprintf(text, size, "type-%" PRIu32 "-config-0x%" PRIx64, event->type,
                       event->config);
}
