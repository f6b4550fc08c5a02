#include "sampler-capture/cpu/drain.h"

#include <stdlib.h>

uint64_t loss_total(const struct loss *loss)
{
    return loss->ring + loss->throttled + loss->region_full + loss->unreadable + loss->exited;
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
        events_stop_cpu(&drain->events->cpus[index]);
    }
    cpu->loss.region_full++;
}

static void keep_sample(struct drain *drain, size_t index, const struct perf_record *record)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    const struct events_config *config = &drain->events->config;
    uint8_t frames[8 * REGION_FRAMES_LIMIT];
    struct region_sample sample = {
        .ticks = record->time_ns, .pid = record->pid, .tid = record->tid, .frames = frames
    };

    sample.frame_count = perf_record_frames(
        record->value.sample.words, record->value.sample.count, config->kernel, frames,
        config->kernel ? REGION_FRAMES_LIMIT : REGION_MAX_FRAMES);
    if (!has_ids(record))
        cpu->loss.exited++;
    else if (sample.frame_count == 0)
        cpu->loss.unreadable++;
    else if (cpu->stopped || !region_append(&cpu->region, &sample))
        overflow(drain, index, &sample);
}

static bool take_record(struct drain *drain, size_t index, const uint8_t *bytes, size_t size)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    struct perf_record record;

    if (!perf_record_parse(bytes, size, &record)) {
        cpu->loss.ring++;
        return true;
    }
    switch (record.kind) {
    case PERF_KIND_SAMPLE:
        keep_sample(drain, index, &record);
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
    default:
        return !drain->sideband || drain->sideband(drain->context, cpu, bytes, size, &record);
    }
}

static bool drain_event(struct drain *drain, size_t index, struct event *event)
{
    struct drain_cpu *cpu = &drain->cpus[index];
    bool corrupt = false, fine = true;
    const uint8_t *bytes;
    size_t size;

    if (!event->mapping)
        return true;
    ring_begin(&event->ring);
    while (fine && (bytes = ring_next(&event->ring, &size, &corrupt))) {
        cpu->active = true;
        fine = take_record(drain, index, bytes, size);
    }
    ring_end(&event->ring);
    if (corrupt)
        cpu->loss.ring++;
    return fine;
}

bool drain_all(struct drain *drain)
{
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

        if (lost > cpu->told)
            cpu->loss.ring += lost - cpu->told;
    }
}
