/* capture.c - what captures say of themselves: the session, the clock, and what was lost.  */
#include <string.h>

#include "libprofile/ingest/capture.h"
#include "libprofile/ingest/heap.h"
#include "libprofile/ingest/samples.h"

#define MOST_EVENTS 1024u

/* ---- Arguments, whatever integer type they were written with ---- */

bool ingest_argument_u64(const struct fxt_record *record, const char *name, uint64_t *out)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);
    int64_t number;

    if (!arg)
        return false;
    switch (arg->type) {
    case FXT_ARG_UINT32:
        *out = arg->value.uint32;
        return true;
    case FXT_ARG_UINT64:
        *out = arg->value.uint64;
        return true;
    case FXT_ARG_INT32:
        number = arg->value.int32;
        break;
    case FXT_ARG_INT64:
        number = arg->value.int64;
        break;
    default:
        return false;
    }
    if (number < 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool argument_i64(const struct fxt_record *record, const char *name, int64_t *out)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);
    uint64_t number;

    if (arg && arg->type == FXT_ARG_INT64) {
        *out = arg->value.int64;
        return true;
    }
    if (!ingest_argument_u64(record, name, &number) || number > INT64_MAX)
        return false;
    *out = (int64_t)number;
    return true;
}

static struct fxt_string argument_string(const struct fxt_record *record, const char *name)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    if (arg && arg->type == FXT_ARG_STRING)
        return arg->value.string;
    return (struct fxt_string){ .bytes = "" };
}

/* ---- Events ---- */

/* id: that of the trace; 0: no sample names the event.  */
static enum profile_status add_event(struct profile_ingest *ingest, uint32_t id,
                                     struct profile_event event, struct profile_error *error)
{
    if (!ingest->sink.event || event.name.length == 0 || ingest->event_count == MOST_EVENTS)
        return PROFILE_OK;
    if (!base_make_room(&ingest->events, &ingest->event_capacity, ingest->event_count + 1,
                        sizeof *ingest->events))
        return profile_no_memory(error);
    ingest->events[ingest->event_count++] = id;
    event.id = (uint32_t)ingest->event_count;
    return ingest_sink_status(ingest->sink.event(ingest->sink.context, &event), error);
}

/* A session that counts an event in place of time: what its samples are of.  A trace of many such
 * sessions has one event if they all have one name.  */
static enum profile_status take_session_event(struct profile_ingest *ingest,
                                              const struct profile_capture *capture,
                                              struct profile_error *error)
{
    const struct profile_event event = { .name = capture->event,
                                         .unit = { .bytes = "count", .length = 5 } };
    const struct fxt_string known = { ingest->session.name, ingest->session.name_length };
    size_t count = ingest->event_count;
    enum profile_status status;

    ingest->session.amount = capture->event_period;
    if (capture->event_period > 0 && known.length > 0 && event.name.length == known.length &&
        memcmp(event.name.bytes, known.bytes, known.length) == 0)
        return PROFILE_OK;
    ingest->session.event = 0;
    ingest->session.name_length = 0;
    if (capture->event_period == 0) /* or it counts none */
        return PROFILE_OK;
    status = add_event(ingest, 0, event, error);
    if (status != PROFILE_OK || ingest->event_count == count)
        return status;
    ingest->session.event = (uint32_t)ingest->event_count;
    if (event.name.length <= sizeof ingest->session.name) {
        memcpy(ingest->session.name, event.name.bytes, event.name.length);
        ingest->session.name_length = (uint32_t)event.name.length;
    }
    return PROFILE_OK;
}

/* ---- Session ---- */

static enum profile_status tell_capture(const struct profile_ingest *ingest,
                                        const struct profile_capture *capture,
                                        struct profile_error *error)
{
    if (!ingest->sink.capture)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.capture(ingest->sink.context, capture), error);
}

/* Instant fxt.capture/session: stands first in our captures, holds for what follows.  */
enum profile_status ingest_capture_session(struct profile_ingest *ingest,
                                           const struct fxt_record *record,
                                           struct profile_error *error)
{
    struct profile_capture capture = {
        .event = argument_string(record, "event"),
        .command = argument_string(record, "command"),
        .arch = argument_string(record, "arch"),
        .kernel = argument_string(record, "kernel"),
        .cpu_model = argument_string(record, "cpu_model"),
    };
    uint64_t max_frames = 0;

    (void)ingest_argument_u64(record, "period_ns", &capture.period_ns);
    (void)ingest_argument_u64(record, "period", &capture.event_period);
    if (ingest_argument_u64(record, "max_frames", &max_frames) && max_frames <= UINT32_MAX)
        capture.max_frames = (uint32_t)max_frames;
    capture.has_clock = argument_i64(record, "realtime_ns", &capture.realtime_ns) &&
                        argument_i64(record, "monotonic_ns", &capture.monotonic_ns);
    if (ingest_argument_u64(record, "sampling_interval_bytes", &ingest->heap->interval_bytes)) {
        ingest->heap->max_frames = capture.max_frames; /* a heap's: it says nothing of samples */
    } else {
        enum profile_status status = ingest_sample_tell(ingest, error); /* with the old period */

        if (status != PROFILE_OK)
            return status;
        ingest->period_ns = capture.period_ns;
        ingest->max_frames = capture.max_frames;
        status = take_session_event(ingest, &capture, error);
        if (status != PROFILE_OK)
            return status;
    }
    ingest->has_session = true;
    if (capture.arch.length > 0)
        ingest->arm64 = ingest_string_is(&capture.arch, "aarch64") ||
                        ingest_string_is(&capture.arch, "arm64");
    return tell_capture(ingest, &capture, error);
}

enum profile_status ingest_capture_event(struct profile_ingest *ingest,
                                         const struct fxt_record *record,
                                         struct profile_error *error)
{
    const struct profile_event event = { .name = argument_string(record, "name"),
                                         .unit = argument_string(record, "unit") };
    uint64_t id;

    if (!ingest_argument_u64(record, "id", &id) || id == 0 || id > UINT32_MAX)
        return PROFILE_OK;
    for (size_t i = 0; i < ingest->event_count; i++)
        if (ingest->events[i] == id)
            return PROFILE_OK;
    return add_event(ingest, (uint32_t)id, event, error);
}

/* The long initialization record says which Unix time is time 0 (docs/formats/fxt.md section 2.2).
 * A session knows better.  */
enum profile_status ingest_capture_init(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    struct profile_capture capture = {
        .realtime_ns = record->value.init.base_time_ns,
        .has_clock = true,
        .event = { .bytes = "" },
        .command = { .bytes = "" },
        .arch = { .bytes = "" },
        .kernel = { .bytes = "" },
        .cpu_model = { .bytes = "" },
    };

    if (ingest->has_session || !record->value.init.extended || record->value.init.base_time_ns == 0)
        return PROFILE_OK;
    return tell_capture(ingest, &capture, error);
}

/* ---- Losses ---- */

static enum profile_status find_lost(struct profile_ingest *ingest, uint64_t id, size_t cause,
                                     struct profile_loss **out, struct profile_error *error)
{
    uint64_t hash = base_hash(id, cause);
    enum profile_status status;
    size_t probe;
    uint32_t at;

    for (at = base_index_first(&ingest->lost_index, hash, &probe); at;
         at = base_index_next(&ingest->lost_index, hash, &probe)) {
        *out = &ingest->lost[at - 1].last;
        if (ingest->lost[at - 1].id == id && ingest->lost[at - 1].cause == cause)
            return PROFILE_OK;
    }
    status = ingest_reserve(&ingest->lost, &ingest->lost_capacity, ingest->lost_count,
                            sizeof *ingest->lost, &ingest->lost_index, error);
    if (status != PROFILE_OK)
        return status;
    *out = &ingest->lost[ingest->lost_count].last;
    ingest->lost[ingest->lost_count++] = (struct lost_counter){ .id = id, .cause = cause };
    base_index_add(&ingest->lost_index, hash, (uint32_t)ingest->lost_count);
    return PROFILE_OK;
}

/* Counters lost, heap_lost and provider_records_dropped: the id is the CPU, the process or the
 * provider, and values are counted from the start.  So the last of each id is what counts.  */
enum profile_status ingest_capture_lost(struct profile_ingest *ingest,
                                        const struct fxt_record *record, bool *is_loss,
                                        struct profile_error *error)
{
    const struct profile_loss none = { .ring = 0 };
    struct profile_loss *last = NULL;
    struct profile_loss_cause cause;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; status == PROFILE_OK && profile_loss_at(&none, i, &cause); i++) {
        if (!cause.counter || !ingest_string_is(&record->name, cause.counter))
            continue;
        *is_loss = true;
        if (!last)
            status = find_lost(ingest, record->value.event.id, i, &last, error);
        if (last)
            (void)ingest_argument_u64(record, cause.argument, profile_loss_counter(last, i));
    }
    return status;
}

/* Counter memory/resident of a process; it is one of the timeline, too.  */
enum profile_status ingest_capture_resident(struct profile_ingest *ingest,
                                            const struct fxt_record *record,
                                            struct profile_error *error)
{
    struct profile_resident resident = { .process_koid = record->thread.process };

    if (!ingest->sink.resident || resident.process_koid == 0 ||
        !ingest_argument_u64(record, "peak_bytes", &resident.peak_bytes))
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.resident(ingest->sink.context, &resident), error);
}

enum profile_status ingest_capture_finish(struct profile_ingest *ingest,
                                          struct profile_error *error)
{
    struct profile_loss total = { .ring = 0 };
    uint64_t counted = 0; /* marks of losses that a counter gives the number of */

    if (!ingest->sink.loss)
        return PROFILE_OK;
    for (size_t i = 0; i < ingest->lost_count; i++) {
        profile_loss_add(&total, &ingest->lost[i].last);
        counted += ingest->lost[i].last.trace_records > 0;
    }
    if (ingest->provider_events > counted)
        total.provider_events = ingest->provider_events - counted;
    return ingest_sink_status(ingest->sink.loss(ingest->sink.context, &total), error);
}
