/* trace_stack.c - samples: which addresses a stack has.
 *
 * A stack of a trace begins with the program counter, and each other address is one that a call
 * returns to: readers subtract 1 from it.  Addresses that are no return addresses get 1 added.  */
#include "libperf/trace_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

/* Markers in callchains (enum perf_callchain_context).  */
#define CONTEXT_HV            ((uint64_t)-32)
#define CONTEXT_USER          ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_GUEST         ((uint64_t)-2048)
#define CONTEXT_FIRST         ((uint64_t)-4095)

#define BRANCH_CALL_STACK (UINT64_C(1) << 11) /* PERF_SAMPLE_BRANCH_CALL_STACK */
#define KERNEL_START      (UINT64_C(1) << 63)
#define ELSEWHERE         (UINT64_C(1) << 61)
#define MOST_WAITING      4096U

enum { MODE_KERNEL = 1, MODE_USER = 2, MODE_HYPERVISOR = 3, MODE_GUEST_KERNEL = 4, MODE_GUEST = 5 };

bool trace_add_address(struct perf_trace *trace, uint64_t address)
{
    if (!base_make_room(&trace->addresses, &trace->address_capacity, trace->address_count + 1,
                        sizeof *trace->addresses))
        return false;
    trace->addresses[trace->address_count++] = address;
    return true;
}

/* What a guest or a hypervisor ran is in no map: such addresses become ones that no process and no
 * kernel has.  */
static uint64_t elsewhere(uint64_t address)
{
    return (address & (ELSEWHERE - 1)) | ELSEWHERE;
}

/* The frames of a callchain; the first of each part is a program counter.  Empty marked parts are
 * common: an interrupted kernel thread has no user part.  *cookie becomes that of a user part that
 * comes later; 0: none does.  */
static bool add_chain(struct perf_trace *trace, struct perf_data_words chain, unsigned mode,
                      bool kernel_only, uint64_t *cookie)
{
    bool is_elsewhere = mode == MODE_HYPERVISOR || mode == MODE_GUEST_KERNEL || mode == MODE_GUEST;
    bool is_skipped = false, is_first = true, swap = trace->data->swap;
    uint64_t *out;

    if (!base_make_room(&trace->addresses, &trace->address_capacity,
                        trace->address_count + chain.count, sizeof *trace->addresses))
        return false;
    out = trace->addresses + trace->address_count;
    for (size_t i = 0; i < chain.count; i++) {
        uint64_t address = perf_load_u64(chain.bytes + 8 * i, swap);

        if (address >= CONTEXT_FIRST) {
            is_elsewhere = address == CONTEXT_HV || address <= CONTEXT_GUEST;
            is_skipped = kernel_only && address == CONTEXT_USER;
            is_first = true;
            if (address == CONTEXT_USER_DEFERRED && i + 1 < chain.count)
                *cookie = perf_data_word(trace->data, chain, ++i);
            continue;
        }
        if (address == 0 || is_skipped)
            continue;
        address += is_first && out > trace->addresses;
        is_first = false;
        *out++ = is_elsewhere ? elsewhere(address) : address;
    }
    trace->address_count = (size_t)(out - trace->addresses);
    return true;
}

/* What the kernel's walk of the user's stack found behind an address, if it came across it.  */
static bool continue_chain(struct perf_trace *trace, struct perf_data_words chain, uint64_t last)
{
    bool is_user = false, is_behind = false;
    size_t added = 0;

    for (size_t i = 0; i < chain.count; i++) {
        uint64_t address = perf_data_word(trace->data, chain, i);

        if (address >= CONTEXT_FIRST)
            is_user = address == CONTEXT_USER;
        else if (is_user && is_behind && address != 0) {
            if (!trace_add_address(trace, address))
                return false;
            added++;
        } else
            is_behind |= is_user && address == last;
    }
    trace->counts.continued_stacks += added > 0;
    return true;
}

/* Callers from a copy of the stack: the program counter is no return address.  */
static bool add_unwound(struct perf_trace *trace, struct perf_data_words chain,
                        const uint64_t *addresses, size_t count, bool is_whole)
{
    bool good = trace_add_address(trace, addresses[0] + (trace->address_count > 0));

    for (size_t i = 1; i < count && good; i++)
        good = trace_add_address(trace, addresses[i]);
    return good && (is_whole || continue_chain(trace, chain, addresses[count - 1]));
}

/* Whether user code is in a callchain.  The processor may remember calls that others made, so that
 * perf uses them only where it is; where there is no callchain at all, they are all there is.  */
static bool has_user_part(const struct perf_trace *trace, struct perf_data_words chain)
{
    for (size_t i = 0; i < chain.count; i++)
        if (perf_data_word(trace->data, chain, i) == CONTEXT_USER)
            return true;
    return chain.count == 0;
}

/* The calls that the processor remembers, in place of a walk of the user's stack: the addresses of
 * the calls themselves.  */
static bool add_calls(struct perf_trace *trace, struct perf_data_words branches)
{
    bool good = true;

    if (branches.count >= 3)
        good = trace_add_address(trace, perf_data_word(trace->data, branches, 1) +
                                            (trace->address_count > 0));
    for (size_t i = 0; i + 2 < branches.count && good; i += 3)
        good = trace_add_address(trace, perf_data_word(trace->data, branches, i) + 1);
    return good;
}

static bool put_sample(struct perf_trace *trace, const struct trace_waiting *sample)
{
    const struct trace_thread *thread;
    struct trace_process *process;
    struct trace_sample out = { .time_ns = sample->time_ns,
                                .cpu = sample->cpu,
                                .event = sample->event,
                                .amount = sample->period };
    uint64_t bits = 0;

    if (trace->address_count == 0) {
        trace->counts.empty_samples++;
        return true;
    }
    for (size_t i = 0; i < trace->address_count; i++)
        bits |= trace->addresses[i];
    if (!trace_introduce(trace))
        return false;
    thread = trace_write_tasks(trace, sample->pid, sample->tid, (bits & KERNEL_START) != 0);
    if (!thread)
        return false;
    process = &trace->processes[thread->process - 1];
    out.thread = thread->koid;
    out.process = process->koid;
    return trace_see_code(trace, process) && trace_put_sample(trace, &out);
}

/* Keep the sample of trace->addresses until its user part comes.  */
static bool wait_for_user_part(struct perf_trace *trace, struct trace_waiting *sample)
{
    if (trace->waiting_count >= MOST_WAITING && !trace_settle_samples(trace))
        return false;
    if (!base_make_room(&trace->waiting, &trace->waiting_capacity, trace->waiting_count + 1,
                        sizeof *trace->waiting))
        return false;
    sample->count = trace->address_count;
    sample->addresses = calloc(sample->count + 1, sizeof *sample->addresses);
    if (!sample->addresses)
        return false;
    if (sample->count > 0)
        memcpy(sample->addresses, trace->addresses, sample->count * sizeof *sample->addresses);
    trace->waiting[trace->waiting_count++] = *sample;
    return true;
}

bool trace_take_sample(struct perf_trace *trace, const struct perf_data_record *record)
{
    const struct perf_data_event *event = perf_data_event(trace->data, record->event);
    const struct perf_data_sample *from = &record->sample;
    struct trace_waiting sample = { .time_ns = record->time_ns,
                                    .period = from->period,
                                    .pid = record->pid,
                                    .tid = record->tid,
                                    .cpu = record->cpu,
                                    .event = record->event };
    unsigned mode = record->misc & 7;
    bool has_calls = event->branch_type & BRANCH_CALL_STACK && from->branches.count >= 3 &&
                     has_user_part(trace, from->chain);
    const uint64_t *unwound;
    size_t unwound_count;
    uint64_t cookie = 0;
    bool good, is_whole;

    trace->address_count = 0;
    good = trace_unwind(trace, record, &unwound, &unwound_count, &is_whole) &&
           add_chain(trace, from->chain, mode, has_calls || unwound_count > 0, &cookie);
    if (good && trace->address_count == 0 && from->ip != 0 &&
        (mode != MODE_USER || (unwound_count == 0 && !has_calls)))
        good = trace_add_address(trace, mode == MODE_HYPERVISOR || mode >= MODE_GUEST_KERNEL
                                            ? elsewhere(from->ip)
                                            : from->ip);
    if (good && unwound_count > 0)
        good = add_unwound(trace, from->chain, unwound, unwound_count, is_whole);
    else if (good && has_calls)
        good = add_calls(trace, from->branches);
    trace->counts.stacks_left += from->stack_size > 0 && unwound_count == 0;
    trace->counts.branches_left += from->branches.count > 0 && !has_calls;
    trace->counts.data_left += (from->address | from->weight | from->physical) != 0;
    if (good && cookie != 0) {
        sample.cookie = cookie;
        return wait_for_user_part(trace, &sample);
    }
    return good && put_sample(trace, &sample);
}

/* ---- User parts that come later ---- */

/* Write a sample that waited; its addresses are used up.  */
static bool put_waiting(struct perf_trace *trace, struct trace_waiting *sample,
                        struct perf_data_words chain)
{
    uint64_t cookie = 0;
    bool good = true;

    trace->address_count = 0;
    for (size_t i = 0; i < sample->count && good; i++)
        good = trace_add_address(trace, sample->addresses[i]);
    free(sample->addresses);
    sample->addresses = NULL;
    return good && add_chain(trace, chain, MODE_USER, false, &cookie) && put_sample(trace, sample);
}

bool trace_take_deferred(struct perf_trace *trace, const struct perf_data_record *record)
{
    size_t kept = 0;
    bool good = true;

    for (size_t i = 0; i < trace->waiting_count; i++) {
        struct trace_waiting *sample = &trace->waiting[i];

        if (good && sample->tid == record->tid && sample->cookie == record->deferred.cookie)
            good = put_waiting(trace, sample, record->deferred.chain);
        else
            trace->waiting[kept++] = *sample;
    }
    trace->waiting_count = kept;
    return good;
}

bool trace_settle_samples(struct perf_trace *trace)
{
    bool good = true;

    for (size_t i = 0; i < trace->waiting_count; i++) {
        trace->counts.waiting_stacks++;
        if (good)
            good = put_waiting(trace, &trace->waiting[i], (struct perf_data_words){ NULL, 0 });
        else
            free(trace->waiting[i].addresses);
    }
    trace->waiting_count = 0;
    return good;
}
