/* timeline.c - events that need the order of time.
 *
 * While the trace is read they go to the sorter.  At the end they come back by time, equal times in
 * file order, and go to those who bring begins and ends together.
 *
 * One correction of file order: writers write completes when they end, so of what began at one time
 * the inner one stands first, and a moment inside stands before the complete around it.  Completes
 * and moments are therefore held back until all of their time are there, or until their thread
 * begins or ends something: then the longest complete goes first, and moments last.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/async.h"
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/flows.h"
#include "libprofile/ingest/sched.h"
#include "libprofile/ingest/slices.h"
#include "libprofile/ingest/spans.h"
#include "libprofile/ingest/timeline.h"

/* ---- Reading ---- */

static enum profile_status find_pair(struct profile_ingest *ingest, uint32_t thread,
                                     profile_id name, uint32_t *out, struct profile_error *error)
{
    struct ingest_timeline *timeline = ingest->timeline;
    uint64_t hash = base_hash(thread, name);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&timeline->pair_index, hash, &probe); *out;
         *out = base_index_next(&timeline->pair_index, hash, &probe)) {
        const struct span_pair *pair = &timeline->pairs[*out - 1];

        if (pair->thread_id == thread && pair->name == name)
            return PROFILE_OK;
    }
    status = ingest_reserve(&timeline->pairs, &timeline->pair_capacity, timeline->pair_count,
                            sizeof *timeline->pairs, &timeline->pair_index, error);
    if (status != PROFILE_OK)
        return status;
    timeline->pairs[timeline->pair_count++] = (struct span_pair){ .thread_id = thread,
                                                                  .name = name };
    *out = (uint32_t)timeline->pair_count;
    base_index_add(&timeline->pair_index, hash, *out);
    return PROFILE_OK;
}

enum profile_status ingest_sorter_status(const struct profile_ingest *ingest, int failure,
                                         struct profile_error *error)
{
    return failure ? profile_fail_temporary(error, failure, ingest->temporary_dir) : PROFILE_OK;
}

enum profile_status ingest_sorter_add(struct profile_ingest *ingest, struct base_sorter **sorter,
                                      size_t bytes, const void *item, size_t item_size,
                                      struct profile_error *error)
{
    struct base_sorter_options options = {
        .item_size = item_size,
        .bytes = bytes,
        .directory = ingest->temporary_dir,
        .by_ordinal = true,
    };
    int failure = *sorter ? 0 : base_sorter_open(&options, sorter);

    return ingest_sorter_status(ingest, failure ? failure : base_sorter_add(*sorter, item), error);
}

enum profile_status ingest_timeline_add(struct profile_ingest *ingest,
                                        const struct timeline_event *event,
                                        struct profile_error *error)
{
    return ingest_sorter_add(ingest, &ingest->timeline->sorter, ingest->options.sort_bytes, event,
                             sizeof *event, error);
}

enum profile_status ingest_timeline_named(struct profile_ingest *ingest,
                                          struct timeline_event *event, uint32_t thread,
                                          profile_id name, struct profile_error *error)
{
    enum profile_status status = find_pair(ingest, thread, name, &event->pair, error);

    return status == PROFILE_OK ? ingest_timeline_add(ingest, event, error) : status;
}

/* What an event is here, and whether anybody wants it.  */
static bool classify(const struct ingest_timeline *timeline, const struct fxt_record *record,
                     struct timeline_event *event)
{
    event->value = record->value.event.id;
    switch (record->value.event.type) {
    case FXT_EVENT_INSTANT:
        event->type = TIMELINE_INSTANT;
        event->value = record->value.event.scope;
        return timeline->slices;
    case FXT_EVENT_DURATION_BEGIN:
        event->type = TIMELINE_BEGIN;
        return timeline->nested;
    case FXT_EVENT_DURATION_END:
        event->type = TIMELINE_END;
        return timeline->nested;
    case FXT_EVENT_DURATION_COMPLETE:
        event->type = TIMELINE_COMPLETE;
        event->value = (uint64_t)record->value.event.end_ns;
        return timeline->nested;
    case FXT_EVENT_ASYNC_BEGIN:
        event->type = TIMELINE_ASYNC_BEGIN;
        return timeline->slices;
    case FXT_EVENT_ASYNC_INSTANT:
        event->type = TIMELINE_ASYNC_INSTANT;
        return timeline->slices;
    case FXT_EVENT_ASYNC_END:
        event->type = TIMELINE_ASYNC_END;
        return timeline->slices;
    case FXT_EVENT_FLOW_BEGIN:
        event->type = TIMELINE_FLOW_BEGIN;
        return timeline->flows;
    case FXT_EVENT_FLOW_STEP:
        event->type = TIMELINE_FLOW_STEP;
        return timeline->flows;
    case FXT_EVENT_FLOW_END:
        event->type = TIMELINE_FLOW_END;
        return timeline->flows;
    default:
        return false;
    }
}

/* Only rows refer to categories and arguments: the span profile has none.  */
static enum profile_status describe(struct profile_ingest *ingest, const struct fxt_record *record,
                                    struct timeline_event *event, struct profile_error *error)
{
    bool arrow = event->type >= TIMELINE_FLOW_BEGIN && event->type <= TIMELINE_FLOW_END;
    enum profile_status status;

    if (!ingest->timeline->slices && !arrow)
        return PROFILE_OK;
    status = ingest_text(ingest, &record->category, &event->category, error);
    if (status != PROFILE_OK || record->arg_count == 0 || !ingest->sink.args)
        return status;
    event->has_args = true;
    return ingest_args(ingest, record, event->key.ordinal + 1, error);
}

enum profile_status ingest_timeline_event(struct profile_ingest *ingest,
                                          const struct fxt_record *record,
                                          struct profile_error *error)
{
    struct timeline_event event = { .key.ts_ns = record->ts_ns };
    enum profile_status status;
    uint32_t thread;
    profile_id name;

    if (!classify(ingest->timeline, record, &event)) {
        ingest->notices.unhandled_records += event.type > TIMELINE_COMPLETE ||
                                             record->value.event.type > FXT_EVENT_FLOW_END;
        return PROFILE_OK;
    }
    status = ingest_thread(ingest, &record->thread, &thread, error);
    if (status != PROFILE_OK || !ingest->threads[thread - 1].chosen)
        return status;
    event.key.ordinal = ingest->timeline->ordinal++;
    status = ingest_text(ingest, &record->name, &name, error);
    if (status == PROFILE_OK)
        status = describe(ingest, record, &event, error);
    return status == PROFILE_OK ? ingest_timeline_named(ingest, &event, thread, name, error)
                                : status;
}

/* ---- By time ---- */

static bool is_flow(const struct timeline_event *event)
{
    return event->type >= TIMELINE_FLOW_BEGIN && event->type <= TIMELINE_FLOW_END;
}

static enum profile_status take_held(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error)
{
    return is_flow(event) ? ingest_flow_take(ingest, event, error)
                          : ingest_span_take(ingest, event, error);
}

static enum profile_status release_all(struct profile_ingest *ingest, struct profile_error *error)
{
    struct ingest_timeline *timeline = ingest->timeline;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < timeline->held_count && status == PROFILE_OK; i++)
        status = take_held(ingest, &timeline->held[i], error);
    timeline->held_count = 0;
    return status;
}

static uint32_t thread_of(const struct ingest_timeline *timeline,
                          const struct timeline_event *event)
{
    return timeline->pairs[event->pair - 1].thread_id;
}

static enum profile_status release_thread(struct profile_ingest *ingest, uint32_t thread,
                                          struct profile_error *error)
{
    struct ingest_timeline *timeline = ingest->timeline;
    enum profile_status status = PROFILE_OK;
    size_t kept = 0;

    for (size_t i = 0; i < timeline->held_count && status == PROFILE_OK; i++) {
        if (thread_of(timeline, &timeline->held[i]) == thread)
            status = take_held(ingest, &timeline->held[i], error);
        else
            timeline->held[kept++] = timeline->held[i];
    }
    timeline->held_count = kept;
    return status;
}

/* Longer completes first, those of equal ends in file order, then moments in file order.  */
static enum profile_status hold(struct profile_ingest *ingest, const struct timeline_event *event,
                                struct profile_error *error)
{
    struct ingest_timeline *timeline = ingest->timeline;
    struct timeline_event *held = timeline->held;
    enum profile_status status = PROFILE_OK;
    size_t at;

    if (timeline->held_count == MAX_HELD)
        status = release_all(ingest, error);
    at = timeline->held_count++;
    if (event->type == TIMELINE_COMPLETE)
        while (at > 0 && (held[at - 1].type != TIMELINE_COMPLETE ||
                          (int64_t)held[at - 1].value < (int64_t)event->value))
            at--;
    memmove(&held[at + 1], &held[at], (timeline->held_count - 1 - at) * sizeof *held);
    held[at] = *event;
    return status;
}

static enum profile_status take(struct profile_ingest *ingest, const struct timeline_event *event,
                                struct profile_error *error)
{
    struct ingest_timeline *timeline = ingest->timeline;
    enum profile_status status = PROFILE_OK;

    if (timeline->held_count > 0 && timeline->held[0].key.ts_ns != event->key.ts_ns)
        status = release_all(ingest, error);
    if (status != PROFILE_OK)
        return status;
    switch ((enum timeline_type)event->type) {
    case TIMELINE_BEGIN:
    case TIMELINE_END:
        if (timeline->held_count > 0)
            status = release_thread(ingest, thread_of(timeline, event), error);
        return status == PROFILE_OK ? ingest_span_take(ingest, event, error) : status;
    case TIMELINE_ASYNC_BEGIN:
    case TIMELINE_ASYNC_INSTANT:
    case TIMELINE_ASYNC_END:
        return ingest_async_take(ingest, event, error);
    case TIMELINE_SWITCH:
    case TIMELINE_WAKEUP:
        return ingest_sched_take(ingest, event, error);
    default:
        return hold(ingest, event, error);
    }
}

static enum profile_status walk(struct profile_ingest *ingest, struct profile_error *error)
{
    struct base_sorter *sorter = ingest->timeline->sorter;
    enum profile_status status = ingest_sorter_status(ingest, base_sorter_finish(sorter), error);
    const void *event = NULL;

    while (status == PROFILE_OK) {
        status = ingest_sorter_status(ingest, base_sorter_next(sorter, &event), error);
        if (status != PROFILE_OK || !event)
            break;
        status = take(ingest, event, error);
    }
    return status == PROFILE_OK ? release_all(ingest, error) : status;
}

enum profile_status ingest_timeline_finish(struct profile_ingest *ingest,
                                           struct profile_error *error)
{
    enum profile_status status = ingest->timeline->sorter ? walk(ingest, error) : PROFILE_OK;

    if (status == PROFILE_OK)
        status = ingest_sched_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_span_finish(ingest, error);
    if (status == PROFILE_OK)
        status = ingest_async_finish(ingest, error);
    if (status != PROFILE_OK)
        return status;
    ingest_flow_finish(ingest);
    base_sorter_close(ingest->timeline->sorter); /* before slices are merged: its memory is large */
    ingest->timeline->sorter = NULL;
    return ingest_slice_finish(ingest, error);
}

void ingest_timeline_release(struct profile_ingest *ingest)
{
    ingest_span_release(ingest);
    ingest_async_release(ingest);
    ingest_flow_release(ingest);
    ingest_sched_release(ingest);
    ingest_slice_release(ingest);
    ingest_tracks_release(ingest);
    base_sorter_close(ingest->timeline->sorter);
    free(ingest->timeline->pairs);
    base_index_release(&ingest->timeline->pair_index);
}
