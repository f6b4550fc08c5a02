#include "sampler-capture/cpu/drain.h"

#include "sampler-capture/host.h"

#include <stdlib.h>
#include <time.h>

uint64_t loss_total(const struct loss *loss)
{
    return loss->ring + loss->sideband + loss->throttled + loss->region_full + loss->unreadable +
           loss->exited;
}

bool drain_init(struct drain *drain, struct events *events, enum drain_mode mode,
                size_t region_size)
{
    *drain = (struct drain){ .events = events, .mode = mode };
    drain->cpus = calloc(events->count, sizeof *drain->cpus);
    if (!drain->cpus)
        return false;
    for (size_t i = 0; i < events->count; i++)
        if (events->cpus[i].samples.mapping && !region_init(&drain->cpus[i].region, region_size))
            return false;
    return true;
}

void drain_release(struct drain *drain)
{
    for (size_t i = 0; drain->cpus && i < drain->events->count; i++)
        region_release(&drain->cpus[i].region);
    free(drain->cpus);
    *drain = (struct drain){ .cpus = NULL };
}

struct loss drain_loss(const struct drain *drain)
{
    struct loss sum = { .ring = 0 };

    for (size_t i = 0; i < drain->events->count; i++) {
        const struct loss *loss = &drain->cpus[i].loss;

        sum.ring += loss->ring;
        sum.sideband += loss->sideband;
        sum.stopped += loss->stopped;
        sum.throttled += loss->throttled;
        sum.region_full += loss->region_full;
        sum.unreadable += loss->unreadable;
        sum.exited += loss->exited;
    }
    return sum;
}

/* The kernel gives 0 or -1 where a task has no ids any more.  */
static bool has_ids(const struct perf_record *record)
{
    return record->pid != 0 && record->pid != UINT32_MAX && record->tid != 0 &&
           record->tid != UINT32_MAX;
}

/* What to do with a sample that its region has no room for.  */
static void overflow(struct drain *drain, size_t index, const struct region_sample *sample)
{
    struct drain_cpu *cpu = &drain->cpus[index];

    if (drain->mode == DRAIN_CIRCULAR) {
        region_discard_half(&cpu->region);
        if (region_append(&cpu->region, sample))
            return;
    }
    if (drain->mode == DRAIN_ONESHOT && !cpu->stopped) {
        cpu->stopped = true;
        cpu->loss.stopped = 1;
        events_stop_cpu(&drain->events->cpus[index]);
    }
    cpu->loss.region_full++;
}

static void keep_frames(struct drain *drain, size_t index, const struct perf_record *record,
                        const uint8_t *frames, size_t count)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    const struct region_sample sample = { .ticks = record->time_ns,
                                          .pid = record->pid,
                                          .tid = record->tid,
                                          .frames = frames,
                                          .frame_count = count };

    if (!has_ids(record))
        cpu->loss.exited++;
    else if (count == 0)
        cpu->loss.unreadable++;
    else if (cpu->stopped || !region_append(&cpu->region, &sample))
        overflow(drain, index, &sample);
}

/* As the kernel has walked the stack.  */
static void keep_chain(struct drain *drain, size_t index, const struct perf_record *record)
{
    bool kernel = drain->events->config.kernel;
    uint8_t frames[8 * REGION_KERNEL_FRAMES];
    size_t count = perf_record_frames(record->value.sample.words, record->value.sample.count,
                                      kernel, frames,
                                      kernel ? REGION_KERNEL_FRAMES : REGION_MAX_FRAMES);

    keep_frames(drain, index, record, frames, count);
}

static bool keep_unwound(struct drain *drain, size_t index, const struct perf_record *record)
{
    uint8_t frames[8 * REGION_FRAMES_LIMIT];
    size_t count = 0;

    if (has_ids(record) && !unwinding_frames(drain->unwinding, record, drain->events->config.kernel,
                                             frames, drain->max_frames, &count))
        return false;
    keep_frames(drain, index, record, frames, count);
    return true;
}

static bool take_sideband(struct drain *drain, struct drain_cpu *cpu, const uint8_t *bytes,
                          size_t size, const struct perf_record *record)
{
    if (drain->unwinding && !unwinding_tell(drain->unwinding, bytes, size, record->time_ns))
        return false;
    return !drain->sideband || drain->sideband(drain->context, cpu, bytes, size, record);
}

static void count_told(struct drain_cpu *cpu, uint64_t lost, bool is_sideband)
{
    *(is_sideband ? &cpu->loss.sideband : &cpu->loss.ring) += lost;
    *(is_sideband ? &cpu->told_sideband : &cpu->told) += lost;
}

static bool take_record(struct drain *drain, size_t index, const uint8_t *bytes, size_t size,
                        bool is_sideband)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    struct perf_record record;

    if (!perf_record_parse(bytes, size, &record)) {
        *(is_sideband ? &cpu->loss.sideband : &cpu->loss.ring) += 1;
        return true;
    }
    switch (record.kind) {
    case PERF_KIND_SAMPLE:
        keep_chain(drain, index, &record);
        return true;
    case PERF_KIND_LOST:
        count_told(cpu, record.value.lost, is_sideband);
        return true;
    case PERF_KIND_THROTTLE:
        cpu->loss.throttled++;
        return true;
    case PERF_KIND_OTHER:
        return true;
    default:
        return take_sideband(drain, cpu, bytes, size, &record);
    }
}

/* A mapping's record with the longest path, and some.  */
#define LONG_RECORD 5120

static bool drain_event(struct drain *drain, size_t index, struct event *event)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    bool is_sideband = event == &drain->events->cpus[index].sideband;
    bool corrupt = false, fine = true;
    const uint8_t *bytes;
    size_t size, sum = 0;

    if (!event->mapping)
        return true;
    ring_begin(&event->ring);
    while (fine && (bytes = ring_next(&event->ring, &size, &corrupt))) {
        cpu->active = true;
        sum += size;
        fine = take_record(drain, index, bytes, size, is_sideband);
    }
    ring_end(&event->ring);
    if (is_sideband && sum + LONG_RECORD > event->ring.size)
        drain->sideband_full++;
    if (corrupt)
        *(is_sideband ? &cpu->loss.sideband : &cpu->loss.ring) += 1;
    return fine;
}

/* ---- Samples of all CPUs in order of time, with what was told of before each ---- */

/* Find the next sample of a CPU; what else is in its ring is taken at once.  */
static bool fetch(struct drain *drain, size_t index)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    struct ring *ring = &drain->events->cpus[index].samples.ring;
    bool corrupt = false;
    const uint8_t *bytes;
    size_t size;

    cpu->has_next = false;
    while ((bytes = ring_next(ring, &size, &corrupt))) {
        cpu->active = true;
        if (perf_record_parse(bytes, size, &cpu->next) && cpu->next.kind == PERF_KIND_SAMPLE) {
            cpu->has_next = true;
            return true;
        }
        if (!take_record(drain, index, bytes, size, false))
            return false;
    }
    cpu->loss.ring += corrupt;
    return true;
}

/* The CPU whose next sample is the oldest; count: there is none.  */
static size_t oldest(const struct drain *drain)
{
    size_t found = drain->events->count;

    for (size_t i = 0; i < drain->events->count; i++)
        if (drain->cpus[i].has_next &&
            (found == drain->events->count ||
             drain->cpus[i].next.time_ns < drain->cpus[found].next.time_ns))
            found = i;
    return found;
}

static bool keep_in_order(struct drain *drain)
{
    for (size_t i = 0; i < drain->events->count; i++)
        if (drain->events->cpus[i].samples.mapping && !fetch(drain, i))
            return false;
    for (size_t i; (i = oldest(drain)) < drain->events->count;)
        if (!keep_unwound(drain, i, &drain->cpus[i].next) || !fetch(drain, i))
            return false;
    return true;
}

/* How far the rings of samples are is seen first, and side-band records are read then.  So what
 * made code executable is known before any sample of that code is looked at.  */
static bool drain_unwinding(struct drain *drain)
{
    uint64_t start_ns = host_clock_ns(CLOCK_MONOTONIC), lost = drain_loss(drain).ring;
    bool fine = true;

    unwinding_renew(drain->unwinding);
    for (size_t i = 0; i < drain->events->count; i++)
        if (drain->events->cpus[i].samples.mapping)
            ring_begin(&drain->events->cpus[i].samples.ring);
    for (size_t i = 0; i < drain->events->count && fine; i++)
        fine = drain_event(drain, i, &drain->events->cpus[i].sideband);
    fine = fine && keep_in_order(drain);
    for (size_t i = 0; i < drain->events->count; i++) {
        drain->cpus[i].has_next = false;
        if (drain->events->cpus[i].samples.mapping)
            ring_end(&drain->events->cpus[i].samples.ring);
    }
    fine = fine && unwinding_advance(drain->unwinding, drain->previous_ns);
    if (drain_loss(drain).ring > lost)
        unwinding_lost(drain->unwinding);
    events_choose(drain->events, unwinding_copies(drain->unwinding));
    drain->previous_ns = start_ns;
    return fine;
}

void drain_unwind(struct drain *drain, struct unwinding *unwinding, size_t max_frames)
{
    drain->unwinding = unwinding;
    drain->max_frames = max_frames;
}

bool drain_all(struct drain *drain)
{
    if (drain->unwinding)
        return drain_unwinding(drain);
    for (size_t i = 0; i < drain->events->count; i++)
        if (!drain_event(drain, i, &drain->events->cpus[i].sideband) ||
            !drain_event(drain, i, &drain->events->cpus[i].samples))
            return false;
    return true;
}

void drain_count_untold(struct drain *drain)
{
    for (size_t i = 0; i < drain->events->count; i++) {
        struct drain_cpu *cpu = &drain->cpus[i];
        uint64_t lost = events_lost(&drain->events->cpus[i]);
        uint64_t lost_sideband = events_lost_sideband(&drain->events->cpus[i]);

        if (lost > cpu->told)
            cpu->loss.ring += lost - cpu->told;
        if (lost_sideband > cpu->told_sideband)
            cpu->loss.sideband += lost_sideband - cpu->told_sideband;
    }
}
