#include "sampler-capture/cpu/capture.h"

#include "sampler-capture/cpu/host.h"

#include <endian.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIN_RING_SIZE    (16U << 10)
#define NORMAL_RING_SIZE (256U << 10) /* perf_event_mlock_kb allows users no more by default */
#define MAX_RING_SIZE    (4U << 20)
#define DEEPEST_SAMPLE   (UINT64_C(8) * (5 + 1 + REGION_MAX_FRAMES)) /* bytes in a ring */

size_t capture_ring_size(uint64_t period_ns, size_t region_size)
{
    uint64_t wanted = 250000000 / period_ns * DEEPEST_SAMPLE;
    size_t size = NORMAL_RING_SIZE;

    while (size < wanted && size < MAX_RING_SIZE)
        size *= 2;
    while (size > region_size / 2 && size > MIN_RING_SIZE)
        size /= 2;
    return size;
}

bool capture_init(struct capture *capture, struct events *events, struct trace *trace,
                  size_t region_size)
{
    *capture = (struct capture){ .events = events, .trace = trace };
    capture->cpus = calloc(events->count, sizeof *capture->cpus);
    if (!capture->cpus)
        return false;
    for (size_t i = 0; i < events->count; i++)
        if (events->cpus[i].samples.mapping && !region_init(&capture->cpus[i].region, region_size))
            return false;
    return true;
}

void capture_release(struct capture *capture)
{
    for (size_t i = 0; capture->cpus && i < capture->events->count; i++)
        region_release(&capture->cpus[i].region);
    free(capture->cpus);
    processes_release(&capture->processes);
    free(capture->queue);
    free(capture->order);
}

struct trace_loss capture_loss(const struct capture *capture)
{
    struct trace_loss sum = { .ring = 0 };

    for (size_t i = 0; i < capture->events->count; i++) {
        const struct trace_loss *loss = &capture->cpus[i].loss;
        sum.ring += loss->ring;
        sum.throttled += loss->throttled;
        sum.region_full += loss->region_full;
        sum.unreadable += loss->unreadable;
        sum.exited += loss->exited;
    }
    return sum;
}

/* ---- From the ring ---- */

/* The kernel gives 0 or -1 where a task has no ids any more.  */
static bool has_ids(const struct perf_record *record)
{
    return record->pid != 0 && record->pid != UINT32_MAX && record->tid != 0 &&
           record->tid != UINT32_MAX;
}

static void keep_sample(struct capture_cpu *cpu, const struct perf_record *record)
{
    uint8_t frames[8 * REGION_MAX_FRAMES];
    struct region_sample sample = {
        .ticks = record->time_ns, .pid = record->pid, .tid = record->tid, .frames = frames
    };

    sample.frame_count = perf_record_user_frames(
        record->value.sample.words, record->value.sample.count, frames, REGION_MAX_FRAMES);
    if (!has_ids(record))
        cpu->loss.exited++;
    else if (sample.frame_count == 0)
        cpu->loss.unreadable++;
    else if (!region_append(&cpu->region, &sample))
        cpu->loss.region_full = cpu->region.dropped;
}

/* items with twice the room, or NULL with them untouched.  */
static void *grow(void *items, size_t *capacity, size_t size, size_t first)
{
    size_t larger = *capacity ? *capacity * 2 : first;
    void *moved = reallocarray(items, larger, size);

    if (moved)
        *capacity = larger;
    return moved;
}

static bool keep_sideband(struct capture *capture, struct capture_cpu *cpu, const uint8_t *bytes,
                          size_t size)
{
    if (size > CAPTURE_MAX_QUEUE - capture->queue_used) {
        cpu->loss.ring++;
        return true;
    }
    if (size > capture->queue_capacity - capture->queue_used) { /* at most 64 KiB, as the growth */
        uint8_t *queue = grow(capture->queue, &capture->queue_capacity, 1, 65536);
        if (!queue)
            return false;
        capture->queue = queue;
    }
    memcpy(capture->queue + capture->queue_used, bytes, size);
    capture->queue_used += size;
    return true;
}

/* A mapped file is opened at once: when the record is due, it and its process may be gone.  */
static bool open_module(struct capture *capture, const struct perf_record *record)
{
    const struct perf_map *map = &record->value.map;

    return perf_map_is_anonymous(map) ||
           modules_find(&capture->processes.modules, map, record->pid) != NULL;
}

static bool take_record(struct capture *capture, struct capture_cpu *cpu, const uint8_t *bytes,
                        size_t size)
{
    struct perf_record record;

    if (!perf_record_parse(bytes, size, &record)) {
        cpu->loss.ring++;
        return true;
    }
    switch (record.kind) {
    case PERF_KIND_SAMPLE:
        keep_sample(cpu, &record);
        return true;
    case PERF_KIND_LOST:
        cpu->loss.ring += record.value.lost;
        cpu->told += record.value.lost;
        return true;
    case PERF_KIND_THROTTLE:
        cpu->loss.throttled++;
        return true;
    case PERF_KIND_OTHER:
        return true;
    case PERF_KIND_MAP:
        return open_module(capture, &record) && keep_sideband(capture, cpu, bytes, size);
    default:
        return keep_sideband(capture, cpu, bytes, size);
    }
}

static bool drain_event(struct capture *capture, struct capture_cpu *cpu, struct event *event)
{
    bool corrupt = false, fine = true;
    const uint8_t *bytes;
    size_t size;

    if (!event->mapping)
        return true;
    ring_begin(&event->ring);
    while (fine && (bytes = ring_next(&event->ring, &size, &corrupt))) {
        cpu->active = true;
        fine = take_record(capture, cpu, bytes, size);
    }
    ring_end(&event->ring);
    if (corrupt)
        cpu->loss.ring++;
    return fine;
}

static bool drain_cpu(struct capture *capture, size_t i)
{
    struct cpu_events *events = &capture->events->cpus[i];

    return drain_event(capture, &capture->cpus[i], &events->sideband) &&
           drain_event(capture, &capture->cpus[i], &events->samples);
}

/* ---- In order ---- */

static bool add_to_order(struct capture *capture, struct capture_entry entry)
{
    if (capture->order_count == capture->order_capacity) {
        struct capture_entry *order = grow(capture->order, &capture->order_capacity, sizeof *order,
                                           1024);
        if (!order)
            return false;
        capture->order = order;
    }
    capture->order[capture->order_count++] = entry;
    return true;
}

static bool order_samples(struct capture *capture, uint32_t cpu_index, uint64_t limit_ns)
{
    const struct region *region = &capture->cpus[cpu_index].region;
    struct region_sample sample;

    for (size_t offset = 0, next; (next = region_read(region, offset, &sample)); offset = next) {
        struct capture_entry entry = {
            .time_ns = sample.ticks, .offset = offset, .cpu_index = cpu_index, .is_sample = true
        };
        if (sample.ticks < limit_ns && !add_to_order(capture, entry))
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

static bool write_entry(struct capture *capture, const struct capture_entry *entry)
{
    struct region_sample sample;
    struct perf_record record;
    struct thread *thread;

    if (!entry->is_sample) {
        (void)read_queue(capture, entry->offset, &record);
        return processes_apply(&capture->processes, &record);
    }
    (void)region_read(&capture->cpus[entry->cpu_index].region, entry->offset, &sample);
    thread = processes_thread(&capture->processes, sample.pid, sample.tid);
    if (!thread)
        return false;
    capture->broken += is_broken(thread->process, &sample);
    return trace_write_sample(capture->trace, capture->events->cpus[entry->cpu_index].cpu, &sample,
                              thread);
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

static bool write_before(struct capture *capture, uint64_t limit_ns)
{
    capture->order_count = 0;
    for (uint32_t i = 0; i < capture->events->count; i++)
        if (!order_samples(capture, i, limit_ns))
            return false;
    if (!order_queue(capture, limit_ns))
        return false;
    if (capture->order_count > 1)
        qsort(capture->order, capture->order_count, sizeof *capture->order, compare_entries);
    for (size_t i = 0; i < capture->order_count; i++)
        if (!write_entry(capture, &capture->order[i]))
            return false;
    for (size_t i = 0; i < capture->events->count; i++)
        region_discard_before(&capture->cpus[i].region, limit_ns);
    discard_queue_before(capture, limit_ns);
    return true;
}

static bool write_losses(struct capture *capture, uint64_t time_ns, bool last)
{
    for (size_t i = 0; i < capture->events->count; i++)
        if (capture->cpus[i].active &&
            !trace_write_loss(capture->trace, capture->events->cpus[i].cpu, time_ns,
                              &capture->cpus[i].loss, last))
            return false;
    return true;
}

/* What was lost behind the last records of the rings.  */
static void count_untold(struct capture *capture)
{
    for (size_t i = 0; i < capture->events->count; i++) {
        struct capture_cpu *cpu = &capture->cpus[i];
        uint64_t lost = events_lost(&capture->events->cpus[i]);
        if (lost > cpu->told)
            cpu->loss.ring += lost - cpu->told;
    }
}

bool capture_round(struct capture *capture, bool last)
{
    uint64_t start_ns = host_clock_ns(CLOCK_MONOTONIC);
    uint64_t limit_ns = last ? UINT64_MAX : capture->previous_start_ns;

    for (size_t i = 0; i < capture->events->count; i++)
        if (!drain_cpu(capture, i))
            return false;
    if (last)
        count_untold(capture);
    if (!write_before(capture, limit_ns) || !write_losses(capture, start_ns, last))
        return false;
    capture->previous_start_ns = start_ns;
    return trace_flush(capture->trace);
}
