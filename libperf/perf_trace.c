/* perf_trace.c - from the records of a perf.data file to those of a trace.  */
#include "libperf/trace_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- Opening and closing ---- */

/* Bytes of records that were made by the writer.  */
static int take_bytes(void *context, const void *bytes, size_t size)
{
    struct perf_trace *trace = context;
    uint8_t *room = trace_room(trace, size);

    if (!room)
        return ENOMEM;
    memcpy(room, bytes, size);
    return 0;
}

static enum perf_data_status no_memory(struct perf_data_error *error)
{
    if (error)
        *error = (struct perf_data_error){ .status = PERF_DATA_NO_MEMORY,
                                           .message = "out of memory" };
    return PERF_DATA_NO_MEMORY;
}

enum perf_data_status perf_trace_open(int fd, const struct perf_trace_options *options,
                                      struct perf_trace **out, struct perf_data_error *error)
{
    struct perf_trace *trace = calloc(1, sizeof *trace);
    enum perf_data_status status;

    if (!trace)
        return no_memory(error);
    if (options)
        memcpy(&trace->options, options,
               options->size < sizeof *options ? options->size : sizeof *options);
    status = perf_data_open(fd, NULL, &trace->data, error);
    if (status == PERF_DATA_OK &&
        fxt_writer_open(take_bytes, trace, &trace->writer, NULL) != FXT_OK)
        status = no_memory(error);
    if (status != PERF_DATA_OK) {
        perf_trace_close(trace);
        return status;
    }
    *out = trace;
    return PERF_DATA_OK;
}

void perf_trace_close(struct perf_trace *trace)
{
    if (!trace)
        return;
    for (size_t i = 0; i < trace->waiting_count; i++)
        free(trace->waiting[i].addresses);
    free(trace->waiting);
#ifdef PERF_HAVE_INSN
    trace_aux_release(trace);
#endif
    trace_release_tasks(trace);
    fxt_writer_close(trace->writer);
    perf_data_close(trace->data);
    free(trace->addresses);
    free(trace->cpus);
    base_map_release(&trace->running);
    free(trace->bytes);
    free(trace);
}

const struct perf_data *perf_trace_data(const struct perf_trace *trace)
{
    return trace->data;
}

const struct perf_trace_counts *perf_trace_counts(const struct perf_trace *trace)
{
    return &trace->counts;
}

/* ---- Records ---- */

/* A record about every thread of a CPU has the thread that leaves and the thread that comes, and is
 * written once for each of them; but the kernel leaves out some of the first.  Keeps which thread
 * comes; *ran becomes the one that came with the record before, or 0.  False: no memory.  */
static bool follow_cpu(struct perf_trace *trace, const struct perf_data_record *record,
                       uint32_t comes, uint32_t *ran)
{
    const uint64_t *running = base_map_find(&trace->running, record->cpu);

    *ran = running ? (uint32_t)*running : 0;
    return base_map_set(&trace->running, record->cpu, comes);
}

/* The koid of a thread; 0: the idle one, or one that is ending and has no number any more.  False:
 * no memory.  */
static bool find_switched(struct perf_trace *trace, uint32_t pid, uint32_t tid, uint64_t *koid)
{
    const struct trace_thread *thread;

    *koid = 0;
    if (tid == 0 || tid == UINT32_MAX || pid == UINT32_MAX)
        return true;
    thread = trace_write_tasks(trace, pid, tid, false);
    if (thread)
        *koid = thread->koid;
    return thread;
}

/* A switch that names both threads.  One that leaves while it is ending is the one that ran.  */
static bool take_both(struct perf_trace *trace, const struct perf_data_record *record)
{
    uint32_t pids[] = { record->pid, record->context_switch.other_pid };
    uint32_t tids[] = { record->tid, record->context_switch.other_tid }, ran;
    bool is_in = !record->context_switch.is_out;
    uint32_t leaves = is_in, comes = !is_in;
    uint64_t outgoing, incoming;

    if (!follow_cpu(trace, record, tids[comes], &ran))
        return false;
    if (is_in && ran == tids[comes])
        return true;
    if (tids[leaves] == UINT32_MAX && ran != 0 && ran != UINT32_MAX) {
        tids[leaves] = ran;
        pids[leaves] = trace_pid_of(trace, ran);
    }
    return trace_introduce(trace) && find_switched(trace, pids[leaves], tids[leaves], &outgoing) &&
           find_switched(trace, pids[comes], tids[comes], &incoming) &&
           trace_put_switch(trace, record, outgoing, incoming);
}

static bool take_switch(struct perf_trace *trace, const struct perf_data_record *record)
{
    bool is_out = record->context_switch.is_out;
    uint64_t own;

    if (record->cpu == UINT32_MAX) { /* a switch of a trace is one of a CPU */
        trace->counts.kinds[record->kind]++;
        return true;
    }
    if (record->kind == PERF_DATA_SWITCH_CPU_WIDE)
        return take_both(trace, record);
    return trace_introduce(trace) && find_switched(trace, record->pid, record->tid, &own) &&
           trace_put_switch(trace, record, is_out ? own : 0, is_out ? 0 : own);
}

/* A function that the kernel made: a program of BPF, a trampoline.  */
static bool take_ksymbol(struct perf_trace *trace, const struct perf_data_record *record)
{
    char line[640];

    if (record->ksymbol.is_gone)
        return true;
    (void)snprintf(line, sizeof line, "%" PRIx64 " %" PRIx32 " %.600s\n", record->ksymbol.address,
                   record->ksymbol.length, record->ksymbol.name);
    return trace_introduce(trace) &&
           trace_put_code(trace, "code_symbols", 0, record->time_ns, line, strlen(line));
}

static bool count_unused(struct perf_trace *trace, const struct perf_data_record *record)
{
    trace->counts.kinds[perf_data_kind_name(record->kind) ? record->kind : 0]++;
    return true;
}

#ifdef PERF_HAVE_INSN
static bool take_hardware(struct perf_trace *trace, const struct perf_data_record *record)
{
    return trace_aux_take(trace, record);
}

static bool take_comm(struct perf_trace *trace, const struct perf_data_record *record)
{
    return trace_take_comm(trace, record) &&
           (!record->comm.is_exec || trace_aux_exec(trace, record));
}
#else
static bool take_hardware(struct perf_trace *trace, const struct perf_data_record *record)
{
    bool is_switch = record->kind == PERF_DATA_SWITCH || record->kind == PERF_DATA_SWITCH_CPU_WIDE;

    return is_switch || count_unused(trace, record);
}

static bool take_comm(struct perf_trace *trace, const struct perf_data_record *record)
{
    return trace_take_comm(trace, record);
}
#endif

static bool take_record(struct perf_trace *trace, const struct perf_data_record *record)
{
    if (record->has_time && trace_time(record->time_ns) != record->time_ns) {
        trace->counts.bad_times++;
        return true;
    }
    switch (record->kind) {
    case PERF_DATA_SAMPLE:
        return trace_take_sample(trace, record);
    case PERF_DATA_CALLCHAIN_DEFERRED:
        return trace_take_deferred(trace, record);
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        return trace_take_mapping(trace, record);
    case PERF_DATA_COMM:
        return take_comm(trace, record);
    case PERF_DATA_FORK:
        return trace_take_fork(trace, record);
    case PERF_DATA_EXIT:
        return trace_take_exit(trace, record);
    case PERF_DATA_KSYMBOL:
        return take_ksymbol(trace, record);
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        return take_hardware(trace, record) && take_switch(trace, record);
    case PERF_DATA_AUX:
    case PERF_DATA_ITRACE_START:
    case PERF_DATA_AUXTRACE_INFO:
    case PERF_DATA_AUXTRACE:
        return take_hardware(trace, record);
    case PERF_DATA_LOST:
    case PERF_DATA_LOST_SAMPLES:
        trace->lost += record->lost;
        return true;
    case PERF_DATA_THROTTLE:
        trace->throttled++;
        return true;
    /* The reader has used them, or there is nothing to use.  */
    case PERF_DATA_UNTHROTTLE:
    case PERF_DATA_ATTR:
    case PERF_DATA_TRACING_DATA:
    case PERF_DATA_BUILD_ID:
    case PERF_DATA_FINISHED_ROUND:
    case PERF_DATA_ID_INDEX:
    case PERF_DATA_EVENT_UPDATE:
    case PERF_DATA_FEATURE:
    case PERF_DATA_COMPRESSED:
    case PERF_DATA_COMPRESSED2:
    case 73: /* THREAD_MAP, CPU_MAP, TIME_CONV, FINISHED_INIT: what perf was asked to watch */
    case 74:
    case 79:
    case 82:
        return true;
    default:
        return count_unused(trace, record);
    }
}

static bool finish(struct perf_trace *trace)
{
    trace->ended = true;
    return trace_introduce(trace) && trace_settle_samples(trace) && trace_name_code(trace) &&
           trace_put_losses(trace, trace_time(perf_data_facts(trace->data)->last_ns));
}

/* Packets come before the record that changes what they mean.  NULL after the last record.  */
static bool take_in_turn(struct perf_trace *trace, const struct perf_data_record *record)
{
    bool is_done = true;

#ifdef PERF_HAVE_INSN
    if (!trace_aux_before(trace, record, &is_done))
        return false;
#endif
    trace->pending = is_done ? NULL : record;
    if (!is_done)
        return true;
    return record ? take_record(trace, record) : finish(trace);
}

/* The bytes of one more record, if it makes some.  */
static bool take_next(struct perf_trace *trace)
{
    const struct perf_data_record *record = trace->pending;
    struct perf_data_error error;
    enum perf_data_status status = PERF_DATA_OK;

    if (!record && !trace->finishing)
        status = perf_data_next(trace->data, &record, &error);
    trace->finishing = trace->finishing || status == PERF_DATA_END;
    if (status == PERF_DATA_OK || status == PERF_DATA_END)
        return take_in_turn(trace, trace->finishing ? NULL : record);
    trace->failure = status == PERF_DATA_NO_MEMORY ? ENOMEM
                     : error.system_errno          ? error.system_errno
                                                   : EIO;
    return false;
}

/* Make bytes, at least wanted unless it is the end.  A failure comes after the whole records before
 * it.  */
static void make_bytes(struct perf_trace *trace, size_t wanted)
{
    trace->next = trace->used = 0;
    while (trace->used < wanted && !trace->ended) {
        size_t whole = trace->used;

        if (take_next(trace))
            continue;
        trace->used = whole;
        trace->failure = trace->failure ? trace->failure : ENOMEM;
        return;
    }
}

ptrdiff_t perf_trace_read(void *context, void *buffer, size_t size)
{
    enum { BATCH = 16384 }; /* stays in the first cache */
    struct perf_trace *trace = context;
    size_t done = 0;

    while (done < size) {
        size_t part = size - done;

        if (trace->next == trace->used && (trace->ended || trace->failure))
            break;
        if (trace->next == trace->used)
            make_bytes(trace, part < BATCH ? part : BATCH);
        if (part > trace->used - trace->next)
            part = trace->used - trace->next;
        if (part > 0)
            memcpy((char *)buffer + done, trace->bytes + trace->next, part);
        trace->next += part;
        done += part;
    }
    if (done == 0 && trace->failure) {
        errno = trace->failure;
        return -1;
    }
    return (ptrdiff_t)done;
}

/* ---- What is not used ---- */

static void add(char *text, size_t size, size_t *used, uint64_t count, const char *one,
                const char *many)
{
    int length;

    if (count == 0 || *used >= size)
        return;
    length = snprintf(text + *used, size - *used, "%s%" PRIu64 " %s", *used ? ", " : "", count,
                      count == 1 ? one : many);
    *used += length > 0 ? (size_t)length : 0;
}

bool perf_trace_describe_unused(const struct perf_trace *trace, char *text, size_t size)
{
    const struct perf_trace_counts *counts = &trace->counts;
    size_t used = 0;
    char one[64], many[64];

    text[0] = '\0';
    for (uint32_t kind = 0; kind < sizeof counts->kinds / sizeof *counts->kinds; kind++) {
        const char *name = kind ? perf_data_kind_name(kind) : "unknown";

        if (counts->kinds[kind] == 0)
            continue;
        (void)snprintf(one, sizeof one, "%s record", name);
        (void)snprintf(many, sizeof many, "%s records", name);
        add(text, size, &used, counts->kinds[kind], one, many);
    }
    add(text, size, &used, counts->empty_samples, "sample without an address",
        "samples without an address");
    add(text, size, &used, counts->stacks_left, "copy of a user stack that was not unwound",
        "copies of user stacks that were not unwound");
    add(text, size, &used, counts->branches_left, "branch stack", "branch stacks");
    add(text, size, &used, counts->data_left, "address or weight of an access to memory",
        "addresses or weights of accesses to memory");
    add(text, size, &used, counts->mappings_left,
        "old mapping of a process that has more than 65,536",
        "old mappings of processes that have more than 65,536");
    add(text, size, &used, counts->names_left,
        "mapping with functions that are not named, beyond 4,194,304",
        "mappings with functions that are not named, beyond 4,194,304");
    add(text, size, &used, counts->unseen_addresses,
        "address in a program that makes code, beyond 1,000,000",
        "addresses in programs that make code, beyond 1,000,000");
    add(text, size, &used, counts->bad_times, "record with an impossible time",
        "records with impossible times");
    return used > 0;
}
