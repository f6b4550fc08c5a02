/* events.c - what the timeline tells at once: arguments, counters, logs, objects; and tracks.  */
#include <stdio.h>
#include <stdlib.h>

#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/timeline.h"

enum profile_status ingest_text(struct profile_ingest *ingest, const struct fxt_string *text,
                                profile_id *out, struct profile_error *error)
{
    char shown[32];
    int length;

    if (!text->missing)
        return profile_stacks_string(ingest->stacks, text->bytes, text->length, out, error);
    length = snprintf(shown, sizeof shown, "<string %u>", (unsigned)text->index);
    return profile_stacks_string(ingest->stacks, shown, (size_t)length, out, error);
}

enum profile_status ingest_args(struct profile_ingest *ingest, const struct fxt_record *record,
                                uint64_t set, struct profile_error *error)
{
    profile_id names[FXT_MAX_ARGS];
    struct profile_args call = { set, record->args, names, record->arg_count };
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < record->arg_count && status == PROFILE_OK; i++)
        status = ingest_text(ingest, &record->args[i].name, &names[i], error);
    if (status != PROFILE_OK)
        return status;
    return ingest_sink_status(ingest->sink.args(ingest->sink.context, &call), error);
}

/* ---- Tracks ---- */

enum profile_status ingest_track(struct profile_ingest *ingest, struct profile_track *track,
                                 struct profile_error *error)
{
    if (ingest->tracks->count >= UINT32_MAX - 1)
        return profile_fail(error, PROFILE_LIMIT, "more than %u tracks in a trace", UINT32_MAX - 1);
    track->id = ++ingest->tracks->count;
    if (!ingest->sink.track)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.track(ingest->sink.context, track), error);
}

static enum profile_status add_series(struct profile_ingest *ingest, struct counter_series *series,
                                      uint64_t hash, struct profile_error *error)
{
    struct ingest_tracks *tracks = ingest->tracks;
    struct profile_track track = { .kind = PROFILE_TRACK_COUNTER,
                                   .process_id = series->process_id,
                                   .category = series->category,
                                   .name = series->name,
                                   .series = series->series,
                                   .counter_id = series->counter_id };
    enum profile_status status = ingest_reserve(&tracks->series, &tracks->series_capacity,
                                                tracks->series_count, sizeof *tracks->series,
                                                &tracks->series_index, error);
    if (status == PROFILE_OK)
        status = ingest_track(ingest, &track, error);
    if (status != PROFILE_OK)
        return status;
    series->track = track.id;
    tracks->series[tracks->series_count++] = *series;
    base_index_add(&tracks->series_index, hash, (uint32_t)tracks->series_count);
    return PROFILE_OK;
}

/* The track of a counter's argument.  */
static enum profile_status find_series(struct profile_ingest *ingest, struct counter_series *series,
                                       struct profile_error *error)
{
    struct ingest_tracks *tracks = ingest->tracks;
    uint64_t hash = base_hash(base_hash(series->process_id, series->counter_id),
                              base_hash(base_hash(series->category, series->name), series->series));
    size_t probe;

    for (uint32_t id = base_index_first(&tracks->series_index, hash, &probe); id;
         id = base_index_next(&tracks->series_index, hash, &probe)) {
        const struct counter_series *other = &tracks->series[id - 1];

        if (other->process_id == series->process_id && other->counter_id == series->counter_id &&
            other->category == series->category && other->name == series->name &&
            other->series == series->series) {
            series->track = other->track;
            return PROFILE_OK;
        }
    }
    return add_series(ingest, series, hash, error);
}

void ingest_tracks_release(struct profile_ingest *ingest)
{
    free(ingest->tracks->series);
    base_index_release(&ingest->tracks->series_index);
}

/* ---- Counters ---- */

static bool number_of(const struct fxt_arg *arg, double *out)
{
    switch (arg->type) {
    case FXT_ARG_INT32:
        *out = arg->value.int32;
        return true;
    case FXT_ARG_UINT32:
        *out = arg->value.uint32;
        return true;
    case FXT_ARG_INT64:
        *out = (double)arg->value.int64;
        return true;
    case FXT_ARG_UINT64:
        *out = (double)arg->value.uint64;
        return true;
    case FXT_ARG_DOUBLE:
        *out = arg->value.number;
        return true;
    default:
        return false;
    }
}

static enum profile_status tell_counter(struct profile_ingest *ingest,
                                        const struct fxt_record *record, const struct fxt_arg *arg,
                                        uint32_t thread, struct counter_series *series,
                                        struct profile_error *error)
{
    struct profile_counter call = { .thread_id = thread, .ts_ns = record->ts_ns, .exact = arg };
    enum profile_status status;

    if (!number_of(arg, &call.value)) {
        ingest->notices.non_numeric_counters++;
        return PROFILE_OK;
    }
    status = ingest_text(ingest, &arg->name, &series->series, error);
    if (status == PROFILE_OK)
        status = find_series(ingest, series, error);
    if (status != PROFILE_OK)
        return status;
    call.track = series->track;
    return ingest_sink_status(ingest->sink.counter(ingest->sink.context, &call), error);
}

enum profile_status ingest_counter(struct profile_ingest *ingest, const struct fxt_record *record,
                                   struct profile_error *error)
{
    struct counter_series series = { .counter_id = record->value.event.id };
    enum profile_status status;
    uint32_t thread;

    if (!ingest->sink.counter) {
        ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
    status = ingest_thread(ingest, &record->thread, &thread, error);
    if (status != PROFILE_OK || !ingest->threads[thread - 1].chosen)
        return status;
    series.process_id = ingest->threads[thread - 1].process_id;
    status = ingest_text(ingest, &record->category, &series.category, error);
    if (status == PROFILE_OK)
        status = ingest_text(ingest, &record->name, &series.name, error);
    for (size_t i = 0; i < record->arg_count && status == PROFILE_OK; i++)
        status = tell_counter(ingest, record, &record->args[i], thread, &series, error);
    return status;
}

/* ---- Logs and objects ---- */

enum profile_status ingest_log(struct profile_ingest *ingest, const struct fxt_record *record,
                               struct profile_error *error)
{
    struct profile_log call = { .ts_ns = record->ts_ns, .message = record->value.log.message };
    enum profile_status status;

    if (!ingest->sink.log) {
        ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
    status = ingest_thread(ingest, &record->thread, &call.thread_id, error);
    if (status != PROFILE_OK || !ingest->threads[call.thread_id - 1].chosen)
        return status;
    return ingest_sink_status(ingest->sink.log(ingest->sink.context, &call), error);
}

/* The process of an object, and whether the object is wanted.  */
static enum profile_status owner_of(struct profile_ingest *ingest, const struct fxt_record *record,
                                    uint32_t *process, bool *wanted, struct profile_error *error)
{
    const struct fxt_arg *owner = fxt_record_arg(record, "process");
    enum profile_status status = PROFILE_OK;

    *process = 0;
    *wanted = true;
    if (record->kind == FXT_RECORD_USERSPACE_OBJECT)
        status = ingest_process(ingest, record->thread.process, process, error);
    else if (owner && owner->type == FXT_ARG_KOID)
        status = ingest_process(ingest, owner->value.uint64, process, error);
    if (status == PROFILE_OK && *process)
        *wanted = ingest->processes[*process - 1].chosen;
    return status;
}

enum profile_status ingest_tell_object(struct profile_ingest *ingest,
                                       const struct fxt_record *record, struct profile_error *error)
{
    bool userspace = record->kind == FXT_RECORD_USERSPACE_OBJECT;
    struct profile_object call = {
        .userspace = userspace,
        .type = record->value.object.type,
        .koid = userspace ? 0 : record->value.object.koid,
        .pointer = userspace ? record->value.object.pointer : 0,
    };
    enum profile_status status;
    bool wanted;

    if (!ingest->sink.object)
        return PROFILE_OK;
    status = owner_of(ingest, record, &call.process_id, &wanted, error);
    if (status == PROFILE_OK && wanted)
        status = ingest_text(ingest, &record->name, &call.name, error);
    if (status != PROFILE_OK || !wanted)
        return status;
    if (record->arg_count > 0 && ingest->sink.args) {
        call.args = ++ingest->timeline->ordinal;
        status = ingest_args(ingest, record, call.args, error);
    }
    if (status != PROFILE_OK)
        return status;
    return ingest_sink_status(ingest->sink.object(ingest->sink.context, &call), error);
}
