/* Tracks, slices and flows as rows.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import_timeline.h"

bool store_timeline_text(struct store_import *import, enum store_table table,
                         struct store_cell *cell, profile_id text)
{
    size_t length;
    const char *bytes = profile_stacks_text(import->stacks, text, &length);

    return store_writer_text(import->writer, table, cell, bytes, length);
}

int64_t store_timeline_name(struct store_import *import, profile_id category, profile_id name)
{
    struct store_timeline *timeline = import->timeline;
    bool is_new;
    uint32_t number = base_pairs_add(&timeline->names, category, name, &is_new);
    struct store_cell *cells;

    if (number == 0) {
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
        return 0;
    }
    if (is_new) {
        cells = store_writer_row(import->writer, STORE_EVENT_NAME, NULL);
        if (!cells || !store_timeline_text(import, STORE_EVENT_NAME, &cells[1], category) ||
            !store_timeline_text(import, STORE_EVENT_NAME, &cells[2], name))
            return 0;
    }
    return timeline->first_name + number - 1;
}

/* ---- Tracks ---- */

/* A series is named as PerfettoSQL names it: "counter:argument:id".  */
static bool name_series(struct store_import *import, struct store_cell *cell,
                        const struct profile_track *track)
{
    size_t length, series_length;
    const char *name = profile_stacks_text(import->stacks, track->name, &length);
    const char *series = profile_stacks_text(import->stacks, track->series, &series_length);
    char id[24];
    size_t id_length = (size_t)snprintf(id, sizeof id, ":%" PRIu64, track->counter_id);
    char *whole = malloc(length + 1 + series_length + id_length);
    bool done;

    if (!whole)
        return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    memcpy(whole, name, length);
    whole[length] = ':';
    memcpy(whole + length + 1, series, series_length);
    memcpy(whole + length + 1 + series_length, id, id_length);
    done = store_writer_text(import->writer, STORE_TRACK, cell, whole,
                             length + 1 + series_length + id_length);
    free(whole);
    return done;
}

static bool name_track(struct store_import *import, struct store_cell *cells,
                       const struct profile_track *track)
{
    bool named = track->kind == PROFILE_TRACK_COUNTER
                     ? name_series(import, &cells[3], track)
                     : store_timeline_text(import, STORE_TRACK, &cells[3], track->name);

    return named && store_timeline_text(import, STORE_TRACK, &cells[4], track->category);
}

static enum profile_status take_track(void *context, const struct profile_track *track)
{
    static const char *const types[] = { [PROFILE_TRACK_THREAD] = "thread",
                                         [PROFILE_TRACK_ASYNC] = "async",
                                         [PROFILE_TRACK_COUNTER] = "counter" };
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_TRACK, NULL);
    const char *type = types[track->kind];

    if (!cells || !store_writer_text(import->writer, STORE_TRACK, &cells[2], type, strlen(type)))
        return PROFILE_STOPPED;
    store_int(&cells[1], import->capture_id);
    store_id(&cells[5], store_import_upid(import, track->process_id));
    store_id(&cells[6], store_import_utid(import, track->thread_id));
    if (track->kind == PROFILE_TRACK_COUNTER)
        store_unsigned(&cells[7], track->counter_id);
    return store_import_sink_status(track->kind == PROFILE_TRACK_THREAD ||
                                    name_track(import, cells, track));
}

static int64_t track_id(const struct store_import *import, uint32_t track)
{
    return import->timeline->first_track + track - 1;
}

/* ---- Slices ---- */

static int64_t slice_id(const struct store_import *import, uint64_t slice)
{
    return slice ? import->first_slice_id + (int64_t)slice - 1 : 0;
}

/* Arguments of the end belong to the slice's set; where the begin has some of its own, a row brings
 * both together.  */
static bool join_args(struct store_import *import, const struct profile_slice *slice)
{
    struct store_cell *cells;

    if (!slice->args || !slice->end_args)
        return true;
    cells = store_writer_row(import->writer, STORE_ARG_SET_END, NULL);
    if (!cells)
        return false;
    store_int(&cells[0], store_timeline_args(import, slice->args));
    store_int(&cells[1], store_timeline_args(import, slice->end_args));
    return true;
}

static enum profile_status take_slice(void *context, const struct profile_slice *slice)
{
    struct store_import *import = context;
    int64_t name = store_timeline_name(import, slice->category, slice->name);
    uint64_t args = slice->args ? slice->args : slice->end_args;
    bool async = slice->type == PROFILE_SLICE_ASYNC || slice->type == PROFILE_SLICE_ASYNC_INSTANT;
    bool instant = slice->type == PROFILE_SLICE_INSTANT ||
                   slice->type == PROFILE_SLICE_ASYNC_INSTANT;
    struct store_cell *cells = name ? store_writer_row(import->writer, STORE_SLICE, NULL) : NULL;

    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], slice->start_ns);
    store_int(&cells[2],
              slice->unfinished ? -1 : store_timeline_dur(slice->start_ns, slice->end_ns));
    store_int(&cells[3], track_id(import, slice->track));
    store_int(&cells[4], name);
    store_int(&cells[5], slice->depth);
    store_id(&cells[6], slice_id(import, slice->parent));
    store_id(&cells[7], store_timeline_args(import, args));
    store_int(&cells[8], instant);
    if (async)
        store_unsigned(&cells[9], slice->correlation_id);
    else if (slice->scope) /* the thread's, 0, is what is meant without a word */
        store_unsigned(&cells[10], slice->scope);
    import->counts.events++;
    return store_import_sink_status(join_args(import, slice));
}

/* ---- Flows ---- */

static enum profile_status take_flow(void *context, const struct profile_flow *flow)
{
    struct store_import *import = context;
    int64_t name = store_timeline_name(import, flow->category, flow->name);
    struct store_cell *cells = name ? store_writer_row(import->writer, STORE_FLOW, NULL) : NULL;

    if (!cells)
        return PROFILE_STOPPED;
    store_id(&cells[1], slice_id(import, flow->out));
    store_id(&cells[2], slice_id(import, flow->in));
    store_unsigned(&cells[3], flow->trace_id);
    store_int(&cells[4], name);
    store_int(&cells[5], flow->out_ns);
    store_int(&cells[6], flow->in_ns);
    store_id(&cells[7],
             store_timeline_args(import, flow->in_args ? flow->in_args : flow->out_args));
    import->counts.events++;
    return PROFILE_OK;
}

/* ---- Counters ---- */

static enum profile_status take_counter(void *context, const struct profile_counter *counter)
{
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_COUNTER, NULL);

    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], counter->ts_ns);
    store_int(&cells[2], track_id(import, counter->track));
    switch (counter->exact->type) {
    case FXT_ARG_INT32:
        store_int(&cells[3], counter->exact->value.int32);
        break;
    case FXT_ARG_UINT32:
        store_int(&cells[3], counter->exact->value.uint32);
        break;
    case FXT_ARG_INT64:
        store_int(&cells[3], counter->exact->value.int64);
        break;
    default: /* beyond 2^63 a number is worth more than its last bits */
        if (counter->exact->type == FXT_ARG_UINT64 && counter->exact->value.uint64 <= INT64_MAX)
            store_unsigned(&cells[3], counter->exact->value.uint64);
        else
            store_real(&cells[3], counter->value);
        break;
    }
    import->counts.events++;
    return PROFILE_OK;
}

/* ---- Opening and closing ---- */

enum store_status store_timeline_open(struct store_import *import, struct profile_sink *sink,
                                      struct store_error *error)
{
    import->timeline = calloc(1, sizeof *import->timeline);
    if (!import->timeline)
        return store_no_memory(error);
    sink->track = take_track;
    sink->slice = take_slice;
    sink->flow = take_flow;
    sink->counter = take_counter;
    store_timeline_args_sink(sink);
    store_timeline_sched_sink(sink);
    return store_number(import->store, "SELECT max(arg_set_id) FROM arg",
                        &import->timeline->last_args, error);
}

void store_timeline_start(struct store_import *import)
{
    import->timeline->first_track = store_writer_next_id(import->writer, STORE_TRACK);
    import->timeline->first_name = store_writer_next_id(import->writer, STORE_EVENT_NAME);
}

void store_timeline_release(struct store_import *import)
{
    if (!import->timeline)
        return;
    base_pairs_release(&import->timeline->names);
    free(import->timeline->keys);
    free(import->timeline);
}
