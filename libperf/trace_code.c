/* trace_code.c - names of code that programs made while they ran.
 *
 * A perf.data file does not have them.  The addresses of samples in programs that make code are
 * collected, and their names are asked for at the end, when the whole file was read.  */
#include "libperf/trace_parts.h"

#define MOST_ADDRESSES 1000000U /* of all processes */
#define USER_LIMIT     (UINT64_C(1) << 61)

bool trace_see_code(struct perf_trace *trace, struct trace_process *process)
{
    if (!process->makes_code || !trace->options.code_names)
        return true;
    for (size_t i = 0; i < trace->address_count; i++) {
        size_t before = process->seen.count;

        if (trace->addresses[i] >= USER_LIMIT)
            continue;
        if (trace->seen == MOST_ADDRESSES) {
            trace->counts.unseen_addresses++;
            continue;
        }
        if (!jit_seen_add(&process->seen, trace->addresses[i]))
            return false;
        trace->seen += process->seen.count - before;
    }
    return true;
}

/* Programs that a process ran before the latest one are left out: the names are those of the
 * latest.  */
bool trace_name_code(struct perf_trace *trace)
{
    uint64_t time_ns = trace_time(perf_data_facts(trace->data)->last_ns);
    bool good = true;

    for (size_t i = 0; i < trace->process_count && good; i++) {
        struct trace_process *process = &trace->processes[i];
        const char *lines;
        size_t size;

        if (process->seen.count == 0 || trace_process_of(trace, process->pid) != process)
            continue;
        jit_seen_sort(&process->seen);
        lines = trace->options.code_names(trace->options.context, process->pid, process->seen.items,
                                          process->seen.count, &size);
        good = !lines || trace_put_code(trace, "code_symbols", process->koid, time_ns, lines, size);
        jit_seen_release(&process->seen);
    }
    return good;
}
