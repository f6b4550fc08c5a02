#include "sampler-capture/cpu/cpu_capture.h"

#include "base/grow.h"
#include "sampler-capture/host.h"
#include "sampler-capture/proc.h"

#include <endian.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool keep_sideband(struct capture *capture, struct drain_cpu *cpu, const uint8_t *bytes,
                          size_t size)
{
    if (size > CAPTURE_MAX_QUEUE - capture->queue_used) {
        cpu->loss.sideband++;
        return true;
    }
    if (!base_make_room(&capture->queue, &capture->queue_capacity, capture->queue_used + size, 1))
        return false;
    memcpy(capture->queue + capture->queue_used, bytes, size);
    capture->queue_used += size;
    return true;
}

/* A mapped file is opened at once: when the record is due, it and its process may be gone.  */
static bool take_sideband(void *context, struct drain_cpu *cpu, const uint8_t *bytes, size_t size,
                          const struct perf_record *record)
{
    struct capture *capture = context;

    if (record->kind == PERF_KIND_MAP && !perf_map_is_anonymous(&record->value.map) &&
        !modules_find(&capture->processes.modules, &record->value.map, record->pid))
        return false;
    if (record->kind == PERF_KIND_MAP &&
        !jit_expect(&capture->jit, record->pid, &record->value.map))
        return false;
    return keep_sideband(capture, cpu, bytes, size);
}

bool capture_tell(struct capture *capture, const struct perf_record *record)
{
    uint8_t bytes[PERF_RECORD_MAX_SIZE];
    struct drain_cpu *cpu = &capture->drain->cpus[0];
    size_t size;

    if (!perf_record_encode(record, bytes, sizeof bytes, &size))
        return true;
    if (capture->drain->unwinding &&
        !unwinding_tell(capture->drain->unwinding, bytes, size, record->time_ns))
        return false;
    return take_sideband(capture, cpu, bytes, size, record);
}

void capture_init(struct capture *capture, struct drain *drain, struct trace *trace)
{
    *capture = (struct capture){ .drain = drain, .trace = trace };
    drain->sideband = take_sideband;
    drain->context = capture;
}

void capture_release(struct capture *capture)
{
    processes_release(&capture->processes);
    leaves_release(&capture->leaves);
    jit_release(&capture->jit);
    free(capture->missing);
    free(capture->queue);
    free(capture->order);
}

/* ---- In order ---- */

static bool add_to_order(struct capture *capture, struct capture_entry entry)
{
    if (!base_make_room(&capture->order, &capture->order_capacity, capture->order_count + 1,
                        sizeof *capture->order))
        return false;
    capture->order[capture->order_count++] = entry;
    return true;
}

static bool order_samples(struct capture *capture, uint32_t cpu_index, uint64_t limit_ns)
{
    const struct region *region = &capture->drain->cpus[cpu_index].region;
    uint64_t ticks;

    for (size_t offset = 0, next; (next = region_next(region, offset, &ticks)); offset = next) {
        struct capture_entry entry = {
            .time_ns = ticks, .offset = offset, .cpu_index = cpu_index, .is_sample = true
        };
        if (ticks < limit_ns && !add_to_order(capture, entry))
            return false;
    }
    return true;
}

/* The record at offset of the queue, and the offset of the next.  */
static size_t read_queue(const struct capture *capture, size_t offset, struct perf_record *out)
{
    struct perf_event_header header;

    memcpy(&header, capture->queue + offset, sizeof header);
    (void)perf_record_parse(capture->queue + offset, header.size, out); /* it went well before */
    return offset + header.size;
}

static bool order_queue(struct capture *capture, uint64_t limit_ns)
{
    struct perf_record record;

    for (size_t offset = 0, next; offset < capture->queue_used; offset = next) {
        next = read_queue(capture, offset, &record);
        struct capture_entry entry = { .time_ns = record.time_ns, .offset = offset };
        if (record.time_ns < limit_ns && !add_to_order(capture, entry))
            return false;
    }
    return true;
}

bool capture_was_told_of(const struct capture *capture, uint32_t tid)
{
    struct perf_record record;

    for (size_t offset = 0; offset < capture->queue_used;) {
        offset = read_queue(capture, offset, &record);
        if (record.kind == PERF_KIND_FORK && record.tid == tid)
            return true;
    }
    return false;
}

/* By time.  At one time what the kernel says about a task comes before its samples, and each source
 * keeps its order.  */
static int compare_entries(const void *left, const void *right)
{
    const struct capture_entry *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->is_sample != b->is_sample)
        return a->is_sample ? 1 : -1;
    if (a->cpu_index != b->cpu_index)
        return a->cpu_index < b->cpu_index ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static const struct module *module_at(const struct process *process,
                                      const struct region_sample *sample, size_t frame)
{
    uint64_t address;
    const struct mapping *mapping;

    memcpy(&address, sample->frames + 8 * frame, sizeof address);
    mapping = address_map_find(&process->map, le64toh(address));
    return mapping ? mapping->module : NULL;
}

/* Whether a stack looks as if its callers were missing: one frame, or a caller that is no code of a
 * file or lies in the same one.  A thread's outermost function has a caller too, in the C library:
 * two frames in two files are all there is when main() itself does the work.  */
static bool is_broken(const struct process *process, const struct region_sample *sample)
{
    const struct module *caller;

    if (sample->frame_count != 2)
        return sample->frame_count < 2;
    caller = module_at(process, sample, 1);
    return !caller || caller == module_at(process, sample, 0);
}

static bool add_missing(struct capture *capture, uint64_t koid)
{
    if (!base_make_room(&capture->missing, &capture->missing_capacity, capture->missing_count + 1,
                        sizeof *capture->missing))
        return false;
    capture->missing[capture->missing_count++] = koid;
    return true;
}

/* Note which code of no file the sample is in.  */
static bool note_code(struct capture *capture, const struct process *process,
                      const struct region_sample *sample)
{
    for (size_t i = 0; i < sample->frame_count; i++) {
        const struct mapping *mapping;
        uint64_t address;

        memcpy(&address, sample->frames + 8 * i, sizeof address);
        address = le64toh(address);
        mapping = address_map_find(&process->map, address);
        if (mapping && !mapping->module &&
            !jit_saw(&capture->jit, process->koid, process->pid, address))
            return false;
    }
    return true;
}

static bool write_entry(struct capture *capture, const struct capture_entry *entry)
{
    struct region_sample sample;
    struct perf_record record;
    struct thread *thread;

    if (!entry->is_sample) {
        (void)read_queue(capture, entry->offset, &record);
        return processes_apply(&capture->processes, &record);
    }
    (void)region_read(&capture->drain->cpus[entry->cpu_index].region, entry->offset, &sample);
    thread = processes_thread(&capture->processes, sample.pid, sample.tid);
    if (!thread)
        return false;
    capture->broken += is_broken(thread->process, &sample);
    leaves_count(&capture->leaves, thread->process, &sample);
    if (thread->process->map.has_anonymous && !note_code(capture, thread->process, &sample))
        return false;
    if (!thread->process->sampled && thread->process->map.count == 0 &&
        !add_missing(capture, thread->process->koid))
        return false;
    return trace_write_sample(capture->trace, capture->drain->events->cpus[entry->cpu_index].cpu,
                              &sample, thread);
}

static void discard_queue_before(struct capture *capture, uint64_t limit_ns)
{
    struct perf_record record;
    size_t kept = 0;

    for (size_t offset = 0, next; offset < capture->queue_used; offset = next) {
        next = read_queue(capture, offset, &record);
        if (record.time_ns < limit_ns)
            continue;
        memmove(capture->queue + kept, capture->queue + offset, next - offset);
        kept += next - offset;
    }
    capture->queue_used = kept;
}

static bool write_in_order(struct capture *capture)
{
    if (capture->order_count > 1)
        qsort(capture->order, capture->order_count, sizeof *capture->order, compare_entries);
    for (size_t i = 0; i < capture->order_count; i++)
        if (!write_entry(capture, &capture->order[i]))
            return false;
    return true;
}

static bool write_before(struct capture *capture, uint64_t limit_ns)
{
    capture->order_count = 0;
    for (uint32_t i = 0; i < capture->drain->events->count; i++)
        if (!order_samples(capture, i, limit_ns))
            return false;
    if (!order_queue(capture, limit_ns) || !write_in_order(capture))
        return false;
    for (size_t i = 0; i < capture->drain->events->count; i++)
        region_discard_before(&capture->drain->cpus[i].region, limit_ns);
    discard_queue_before(capture, limit_ns);
    return true;
}

static bool write_losses(struct capture *capture, uint64_t time_ns, bool last)
{
    for (size_t i = 0; i < capture->drain->events->count; i++)
        if (capture->drain->cpus[i].active &&
            !trace_write_loss(capture->trace, capture->drain->events->cpus[i].cpu, time_ns,
                              &capture->drain->cpus[i].loss, last))
            return false;
    return true;
}

/* The time of the oldest sample that a region holds, or otherwise.  */
static uint64_t oldest_sample(const struct capture *capture, uint64_t otherwise)
{
    uint64_t oldest = otherwise;

    for (size_t i = 0; i < capture->drain->events->count; i++) {
        uint64_t ticks;

        if (region_next(&capture->drain->cpus[i].region, 0, &ticks) && ticks < oldest)
            oldest = ticks;
    }
    return oldest;
}

/* What no sample that is still there needs to wait for is applied; the samples stay.  */
static bool apply_before(struct capture *capture, uint64_t limit_ns)
{
    capture->order_count = 0;
    if (!order_queue(capture, limit_ns) || !write_in_order(capture))
        return false;
    discard_queue_before(capture, limit_ns);
    return true;
}

/* Names of code of no file, in whole lines.  */
static bool write_code(void *context, uint64_t koid, const char *lines, size_t size)
{
    struct capture *capture = context;

    return trace_write_code(capture->trace, host_clock_ns(CLOCK_MONOTONIC), koid, lines, size);
}

static bool write_all(struct capture *capture)
{
    const struct unwinding *unwinding = capture->drain->unwinding;
    uint64_t time_ns;

    if (!write_before(capture, UINT64_MAX) || !jit_tell(&capture->jit, write_code, capture))
        return false;
    time_ns = host_clock_ns(CLOCK_MONOTONIC);
    return write_losses(capture, time_ns, true) &&
           (!unwinding ||
            trace_write_stacks(capture->trace, time_ns, unwinding_counts(unwinding))) &&
           trace_flush(capture->trace);
}

/* ---- After losses ---- */

static bool tell_again(void *context, const struct perf_record *record)
{
    return capture_tell(context, record);
}

/* A process is known once the record of its fork was applied, two rounds after the drain that read
 * it: a loss of that time can be made good from then on.  */
enum { LOOKS = 4 };

/* Mappings may be among what the kernel had no room for: take those that are there now.  */
static bool look_again(struct capture *capture, bool last)
{
    const struct id_table *processes = &capture->processes.processes;
    uint64_t lost = drain_loss(capture->drain).sideband + capture->drain->sideband_full;
    uint64_t start_ns, took_ns;

    if (lost != capture->sideband_lost) {
        capture->sideband_lost = lost;
        capture->looks_due = LOOKS;
    }
    start_ns = host_clock_ns(CLOCK_MONOTONIC);
    if (capture->looks_due == 0 || (start_ns < capture->look_after_ns && !last))
        return true;
    capture->looks_due--;
    capture->looks++;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->slots[i].object &&
            !proc_describe((pid_t)processes->slots[i].id, tell_again, capture))
            return false;
    took_ns = host_clock_ns(CLOCK_MONOTONIC) - start_ns;
    capture->look_after_ns = start_ns + 10 * took_ns;
    return true;
}

bool capture_round(struct capture *capture, bool last)
{
    uint64_t start_ns = host_clock_ns(CLOCK_MONOTONIC);
    uint64_t limit_ns = capture->previous_start_ns;

    if (!drain_all(capture->drain))
        return false;
    capture->previous_start_ns = start_ns;
    if (last)
        drain_count_untold(capture->drain);
    if (!look_again(capture, last))
        return false;
    if (last)
        return write_all(capture);
    if (capture->drain->mode != DRAIN_STREAMING)
        return apply_before(capture, oldest_sample(capture, limit_ns));
    return write_before(capture, limit_ns) && write_losses(capture, start_ns, false) &&
           trace_flush(capture->trace);
}

bool capture_dump(struct capture *capture, struct trace *trace)
{
    struct trace *before = capture->trace;
    bool fine;

    if (!drain_all(capture->drain))
        return false;
    processes_forget_written(&capture->processes);
    capture->trace = trace;
    fine = write_all(capture);
    capture->trace = before;
    processes_forget_written(&capture->processes);
    return fine;
}
