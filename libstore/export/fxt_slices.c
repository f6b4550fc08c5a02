/* fxt_slices.c - slices, asynchronous operations and flows.
 *
 * Rows come in the order in which slices begin.  Ends are written when the walk has passed their
 * time, or when what comes next begins outside of what is open; so events of one time stand in the
 * order that gives the same nest again.  A slice that outlives one around it is written as one
 * record with its end (a complete), which keeps its end when that one closes it; all others as
 * begin and end.
 *
 * Flows lie in the slices that were open then: their events are written when that slice is the
 * innermost one.  Every arrow says where it begins and ends; one that goes on where another of its
 * flow ended is a step.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/fxt_export.h"

#define NEVER       INT64_MAX
#define MOST_HELD   256u /* events of flows at one time */
#define MOST_TRACKS (1u << 28)

/* ---- Tracks ---- */

static enum store_status take_track(struct fx *fx, struct fx_track *track, sqlite3_stmt *row)
{
    const struct export *export = fx->export;
    const char *type = (const char *)sqlite3_column_text(row, 1);
    int64_t process = sqlite3_column_int64(row, 2), thread = sqlite3_column_int64(row, 3);
    enum store_status status = STORE_OK;

    *track = (struct fx_track){ .type = FX_NONE };
    if (process < 0 || process > (int64_t) export->process_count || thread < 0 ||
        thread > (int64_t) export->thread_count)
        return export_corrupt(fx->export, "a track's thread is not there");
    if (type)
        track->type = strcmp(type, "thread") == 0 && thread ? FX_THREAD
                      : strcmp(type, "async") == 0          ? FX_ASYNC
                      : strcmp(type, "counter") == 0        ? FX_COUNTER
                                                            : FX_NONE;
    track->process = (uint32_t)process;
    track->thread = (uint32_t)thread;
    track->cookie = (uint64_t)sqlite3_column_int64(row, 4);
    if (track->type == FX_COUNTER) {
        status = export_copy_text(fx->export, row, 5, &track->name);
        if (status == STORE_OK)
            status = export_copy_text(fx->export, row, 6, &track->category);
    }
    return status;
}

enum store_status fx_load_tracks(struct fx *fx)
{
    struct export *export = fx->export;
    enum store_status status = STORE_OK;
    size_t capacity = 0;
    void *items = NULL;
    sqlite3_stmt *row = export_prepare(
        export,
        "SELECT id, type, coalesce(upid, 0), coalesce(utid, 0), cookie, name, category "
        "FROM main.track WHERE capture_id = ?1 ORDER BY id",
        &status);

    fx->thread_tracks = calloc(export->thread_count + 1, sizeof *fx->thread_tracks);
    if (status == STORE_OK && !fx->thread_tracks)
        status = store_no_memory(export->error);
    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(export, row, &status)) {
        int64_t id = sqlite3_column_int64(row, 0);

        if (fx->track_count == 0)
            fx->first_track = id;
        if (id != fx->first_track + (int64_t)fx->track_count || fx->track_count == MOST_TRACKS) {
            status = export_corrupt(export, "its tracks have gaps");
        } else if (!stacks_grow(&items, &capacity, fx->track_count + 1, sizeof *fx->tracks)) {
            status = store_no_memory(export->error);
        } else {
            fx->tracks = items;
            status = take_track(fx, &fx->tracks[fx->track_count++], row);
        }
        if (status == STORE_OK && fx->thread_tracks &&
            fx->tracks[fx->track_count - 1].type == FX_THREAD)
            fx->thread_tracks[fx->tracks[fx->track_count - 1].thread] = (uint32_t)fx->track_count;
    }
    (void)sqlite3_finalize(row);
    return status;
}

void fx_release_tracks(struct fx *fx)
{
    for (size_t i = 0; i < fx->track_count; i++) {
        sqlite3_free(fx->tracks[i].open);
        export_free_text(fx->tracks[i].name);
        export_free_text(fx->tracks[i].category);
    }
    sqlite3_free(fx->tracks);
    sqlite3_free(fx->due);
    free(fx->thread_tracks);
}

/* ---- What is due ---- */

static bool is_sooner(const struct fx_due *a, const struct fx_due *b)
{
    return a->end != b->end ? a->end < b->end : a->order > b->order;
}

static void sift_down(struct fx *fx, size_t at)
{
    while (true) {
        size_t soonest = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < fx->due_count && is_sooner(&fx->due[child], &fx->due[soonest]))
                soonest = child;
        if (soonest == at)
            return;
        struct fx_due swapped = fx->due[at];
        fx->due[at] = fx->due[soonest];
        fx->due[soonest] = swapped;
        at = soonest;
    }
}

static enum store_status add_due(struct fx *fx, struct fx_due due)
{
    void *items = fx->due;
    size_t at = fx->due_count;

    if (!stacks_grow(&items, &fx->due_capacity, fx->due_count + 1, sizeof *fx->due))
        return store_no_memory(fx->export->error);
    fx->due = items;
    fx->due[fx->due_count++] = due;
    while (at > 0 && is_sooner(&fx->due[at], &fx->due[(at - 1) / 2])) {
        struct fx_due swapped = fx->due[at];

        fx->due[at] = fx->due[(at - 1) / 2];
        fx->due[(at - 1) / 2] = swapped;
        at = (at - 1) / 2;
    }
    return STORE_OK;
}

/* ---- Ends ---- */

static enum store_status thread_of(struct fx *fx, const struct fx_track *track,
                                   struct fxt_thread *out)
{
    return fx_thread(
        fx, track->type == FX_THREAD ? track->thread : fx->first_threads[track->process], out);
}

static enum store_status put_end(struct fx *fx, const struct fx_track *track,
                                 const struct fx_open *open)
{
    struct fxt_record record = { .kind = FXT_RECORD_EVENT };
    enum store_status status;

    if (open->complete || open->end == NEVER)
        return STORE_OK;
    record.value.event.type = track->type == FX_ASYNC ? FXT_EVENT_ASYNC_END
                                                      : FXT_EVENT_DURATION_END;
    record.value.event.id = open->async_id;
    status = thread_of(fx, track, &record.thread);
    if (status == STORE_OK)
        status = fx_event_name(fx, open->name_id, &record);
    if (status == STORE_OK)
        status = fx_load_args(fx, open->end_args, &record);
    return status == STORE_OK ? fx_put_at(fx, &record, open->end) : status;
}

static enum store_status close_innermost(struct fx *fx, struct fx_track *track)
{
    struct fx_open open = track->open[--track->count];

    return put_end(fx, track, &open);
}

/* The place of an open slice, from 1; 0: it is not open.  */
static size_t place_of(const struct fx_track *track, int64_t id)
{
    size_t place = track->count;

    while (place > 0 && track->open[place - 1].id != id)
        place--;
    return place;
}

/* Everything inside the slice at a place.  */
static enum store_status close_down_to(struct fx *fx, struct fx_track *track, size_t place)
{
    enum store_status status = STORE_OK;

    while (track->count > place && status == STORE_OK)
        status = close_innermost(fx, track);
    return status;
}

/* Everything that ends before ts.  */
static enum store_status close_before(struct fx *fx, int64_t ts)
{
    enum store_status status = STORE_OK;

    while (fx->due_count > 0 && fx->due[0].end < ts && status == STORE_OK) {
        struct fx_due due = fx->due[0];
        struct fx_track *track = &fx->tracks[due.track];
        size_t place = place_of(track, due.id);

        fx->due[0] = fx->due[--fx->due_count];
        sift_down(fx, 0);
        if (place > 0)
            status = close_down_to(fx, track, place - 1);
    }
    return status;
}

/* ---- Begins ---- */

struct slice {
    int64_t id, ts, dur, name_id, parent, args, end_args;
    size_t track;
    bool instant;
    uint64_t async_id, scope;
};

static enum store_status push(struct fx *fx, struct fx_track *track, const struct slice *slice,
                              int64_t end, bool complete)
{
    int64_t below = track->count > 0 ? track->open[track->count - 1].soonest : NEVER;
    void *items = track->open;

    if (!stacks_grow(&items, &track->capacity, track->count + 1, sizeof *track->open))
        return store_no_memory(fx->export->error);
    track->open = items;
    track->open[track->count++] = (struct fx_open){
        .id = slice->id,
        .end = end,
        .soonest = end < below ? end : below,
        .name_id = slice->name_id,
        .end_args = slice->end_args,
        .async_id = slice->async_id,
        .complete = complete,
    };
    if (complete || end == NEVER)
        return STORE_OK;
    return add_due(fx, (struct fx_due){ end, fx->order++, slice->id, (uint32_t)slice->track });
}

static unsigned type_of(const struct fx_track *track, const struct slice *slice, bool complete)
{
    if (track->type == FX_ASYNC)
        return slice->instant ? FXT_EVENT_ASYNC_INSTANT : FXT_EVENT_ASYNC_BEGIN;
    if (slice->instant)
        return FXT_EVENT_INSTANT;
    return complete ? FXT_EVENT_DURATION_COMPLETE : FXT_EVENT_DURATION_BEGIN;
}

static enum store_status put_slice(struct fx *fx, const struct slice *slice)
{
    struct fx_track *track = &fx->tracks[slice->track];
    struct fxt_record record = { .kind = FXT_RECORD_EVENT };
    int64_t end = NEVER;
    size_t place = slice->parent ? place_of(track, slice->parent) : 0;
    bool complete;
    enum store_status status = STORE_OK;

    if (slice->dur >= 0 && __builtin_add_overflow(slice->ts, slice->dur, &end))
        end = NEVER - 1;
    if (place > 0 || slice->parent == 0)
        status = close_down_to(fx, track, place);
    complete = track->type == FX_THREAD && slice->dur >= 0 && track->count > 0 &&
               track->open[track->count - 1].soonest < end;
    record.value.event.type = type_of(track, slice, complete);
    record.value.event.id = slice->async_id;
    record.value.event.end_ns = end;
    record.value.event.has_scope = slice->scope != 0;
    record.value.event.scope = slice->scope;
    if (status == STORE_OK)
        status = thread_of(fx, track, &record.thread);
    if (status == STORE_OK)
        status = fx_event_name(fx, slice->name_id, &record);
    if (status == STORE_OK)
        status = fx_load_args(fx, slice->args, &record);
    if (status == STORE_OK)
        status = fx_put_at(fx, &record, slice->ts);
    fx->export->counts->events++;
    fx->export->counts->left_out += complete && slice->end_args != 0;
    if (status != STORE_OK || slice->instant)
        return status;
    return push(fx, track, slice, end, complete);
}

/* ---- Flows ---- */

struct flow_event {
    int64_t ts, slice; /* 0: in none */
    int64_t name_id, args;
    uint64_t trace_id;
    unsigned type;
};

struct flows {
    sqlite3_stmt *statement;
    bool over;
    struct flow_event next;  /* meaningful unless over */
    struct flow_event *held; /* of one time */
    size_t count, capacity;
    int64_t ts; /* of these */
};

static const char flow_sql[] =
    "WITH own AS (SELECT id, slice_out, slice_in, trace_id, name_id, out_ts, in_ts, arg_set_id "
    "FROM main.flow WHERE (slice_out >= ?1 AND slice_out < ?2) OR (slice_in >= ?1 AND slice_in < "
    "?2) OR (?3 AND slice_out IS NULL AND slice_in IS NULL)),\n"
    "arrow AS (SELECT *, lag(in_ts) OVER w AS before_ts, lag(slice_in) OVER w AS before_slice, "
    "lag(name_id) OVER w AS before_name, lag(arg_set_id) OVER w AS before_args, lead(out_ts) OVER "
    "w AS after_ts, "
    "lead(slice_out) OVER w AS after_slice, lead(name_id) OVER w AS after_name, "
    "lead(arg_set_id) OVER w AS after_args "
    "FROM own WINDOW w AS (PARTITION BY trace_id ORDER BY id))\n"
    "SELECT out_ts AS ts, coalesce(slice_out, 0), 8 AS type, trace_id, name_id, 0, id FROM arrow "
    "WHERE NOT (before_ts IS out_ts AND before_slice IS slice_out AND before_name IS name_id "
    "AND (arg_set_id IS NOT NULL OR before_args IS NULL))\n"
    "UNION ALL SELECT in_ts, coalesce(slice_in, 0), "
    "iif(after_ts IS in_ts AND after_slice IS slice_in AND after_name IS name_id AND "
    "(after_args IS NOT NULL OR arg_set_id IS NULL), 9, 10), "
    "trace_id, name_id, coalesce(arg_set_id, 0), id FROM arrow ORDER BY 1, 7, 3";

static enum store_status next_flow(struct fx *fx, struct flows *flows)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = flows->statement;

    flows->over = !export_step(fx->export, row, &status);
    if (!flows->over)
        flows->next = (struct flow_event){
            .ts = sqlite3_column_int64(row, 0),
            .slice = sqlite3_column_int64(row, 1),
            .type = (unsigned)sqlite3_column_int64(row, 2),
            .trace_id = (uint64_t)sqlite3_column_int64(row, 3),
            .name_id = sqlite3_column_int64(row, 4),
            .args = sqlite3_column_int64(row, 5),
        };
    return status;
}

/* Hold all of the next time.  */
static enum store_status hold_next(struct fx *fx, struct flows *flows)
{
    enum store_status status = STORE_OK;

    flows->count = 0;
    flows->ts = flows->next.ts;
    while (status == STORE_OK && !flows->over && flows->next.ts == flows->ts &&
           flows->count < MOST_HELD) {
        void *items = flows->held;

        if (!stacks_grow(&items, &flows->capacity, flows->count + 1, sizeof *flows->held))
            return store_no_memory(fx->export->error);
        flows->held = items;
        flows->held[flows->count++] = flows->next;
        status = next_flow(fx, flows);
    }
    return status;
}

/* A thread in which nothing is open; any if there is none.  */
static uint32_t idle_thread(const struct fx *fx)
{
    const struct export *export = fx->export;
    uint32_t any = 0;

    for (uint32_t i = 1; i <= export->thread_count; i++) {
        uint32_t track = fx->thread_tracks[i];

        if (!export->threads[i].kept)
            continue;
        if (track == 0 || fx->tracks[track - 1].count == 0)
            return i;
        if (any == 0)
            any = i;
    }
    return any;
}

/* The thread whose slice an event lies in.  */
static enum store_status find_place(struct fx *fx, sqlite3_stmt *track_of,
                                    const struct flow_event *event, uint32_t *thread)
{
    enum store_status status = STORE_OK;
    struct fx_track *track;
    int64_t index = -1;
    size_t place;

    *thread = 0;
    if (event->slice) {
        (void)sqlite3_bind_int64(track_of, 1, event->slice);
        if (export_step(fx->export, track_of, &status))
            index = sqlite3_column_int64(track_of, 0) - fx->first_track;
        (void)sqlite3_reset(track_of);
    }
    if (index < 0 || index >= (int64_t)fx->track_count || fx->tracks[index].type != FX_THREAD) {
        *thread = idle_thread(fx);
        return status;
    }
    track = &fx->tracks[index];
    *thread = track->thread;
    place = place_of(track, event->slice);
    return place > 0 ? close_down_to(fx, track, place) : status;
}

static enum store_status put_flow(struct fx *fx, sqlite3_stmt *track_of,
                                  const struct flow_event *event)
{
    struct fxt_record record = { .kind = FXT_RECORD_EVENT };
    uint32_t thread;
    enum store_status status = find_place(fx, track_of, event, &thread);

    if (status != STORE_OK || thread == 0 || !fx->export->threads[thread].kept ||
        !fx_keeps_time(fx, event->ts))
        return status;
    record.value.event.type = event->type;
    record.value.event.id = event->trace_id;
    status = fx_thread(fx, thread, &record.thread);
    if (status == STORE_OK)
        status = fx_event_name(fx, event->name_id, &record);
    if (status == STORE_OK)
        status = fx_load_args(fx, event->args, &record);
    fx->export->counts->events++;
    return status == STORE_OK ? fx_put_at(fx, &record, event->ts) : status;
}

/* Write those held that lie in slices before id, and that no event of the same flow waits before.
 */
static enum store_status put_held(struct fx *fx, sqlite3_stmt *track_of, struct flows *flows,
                                  int64_t id)
{
    enum store_status status = STORE_OK;
    size_t kept = 0;

    for (size_t i = 0; i < flows->count && status == STORE_OK; i++) {
        bool waits = flows->held[i].slice >= id;

        for (size_t k = 0; k < kept && !waits; k++)
            waits = flows->held[k].trace_id == flows->held[i].trace_id;
        if (waits)
            flows->held[kept++] = flows->held[i];
        else
            status = put_flow(fx, track_of, &flows->held[i]);
    }
    flows->count = kept;
    return status;
}

/* All flows before the slice of that time and id.  */
static enum store_status flows_before(struct fx *fx, sqlite3_stmt *track_of, struct flows *flows,
                                      int64_t ts, int64_t id)
{
    enum store_status status = STORE_OK;

    while (status == STORE_OK) {
        if (flows->count > 0 && flows->ts == ts && id != NEVER)
            return put_held(fx, track_of, flows, id);
        if (flows->count > 0 && flows->ts > ts)
            return STORE_OK;
        if (flows->count > 0) {
            status = close_before(fx, flows->ts);
            if (status == STORE_OK)
                status = put_held(fx, track_of, flows, NEVER);
        }
        if (status != STORE_OK || flows->over || flows->next.ts > ts)
            return status;
        status = hold_next(fx, flows);
    }
    return status;
}

/* ---- The walk ---- */

static const char slice_sql[] =
    "SELECT s.id, s.ts, s.dur, s.track_id, s.name_id, coalesce(s.parent_id, 0), "
    "coalesce(s.arg_set_id, 0), coalesce(e.end_arg_set_id, 0), s.instant, s.async_id, "
    "s.scope "
    "FROM main.slice_data AS s LEFT JOIN main.arg_set_end AS e ON e.arg_set_id = s.arg_set_id "
    "WHERE s.id >= ?1 AND s.id < ?2 ORDER BY s.id";

static enum store_status read_slice(struct fx *fx, sqlite3_stmt *row, struct slice *slice)
{
    int64_t track = sqlite3_column_int64(row, 3) - fx->first_track;

    if (track < 0 || track >= (int64_t)fx->track_count ||
        (fx->tracks[track].type != FX_THREAD && fx->tracks[track].type != FX_ASYNC))
        return export_corrupt(fx->export, "a slice's track is not there");
    *slice = (struct slice){
        .id = sqlite3_column_int64(row, 0),
        .ts = sqlite3_column_int64(row, 1),
        .dur = sqlite3_column_int64(row, 2),
        .track = (size_t)track,
        .name_id = sqlite3_column_int64(row, 4),
        .parent = sqlite3_column_int64(row, 5),
        .args = sqlite3_column_int64(row, 6),
        .end_args = sqlite3_column_int64(row, 7),
        .instant = sqlite3_column_int64(row, 8) != 0,
        .async_id = (uint64_t)sqlite3_column_int64(row, 9),
        .scope = (uint64_t)sqlite3_column_int64(row, 10),
    };
    return STORE_OK;
}

static bool keeps_slice(const struct fx *fx, const struct slice *slice)
{
    const struct fx_track *track = &fx->tracks[slice->track];

    if (!fx_keeps_time(fx, slice->ts))
        return false;
    if (track->type == FX_THREAD)
        return fx->export->threads[track->thread].kept;
    return fx_keeps_process(fx, track->process) && fx->first_threads[track->process] != 0;
}

static enum store_status walk(struct fx *fx, sqlite3_stmt *slices, sqlite3_stmt *track_of,
                              struct flows *flows)
{
    enum store_status status = next_flow(fx, flows);
    struct slice slice = { .id = 0 };

    while (export_step(fx->export, slices, &status)) {
        status = read_slice(fx, slices, &slice);
        if (status == STORE_OK)
            status = flows_before(fx, track_of, flows, slice.ts, slice.id);
        if (status == STORE_OK)
            status = close_before(fx, slice.ts);
        if (status == STORE_OK && keeps_slice(fx, &slice))
            status = put_slice(fx, &slice);
    }
    while (status == STORE_OK && (flows->count > 0 || !flows->over))
        status = flows_before(fx, track_of, flows, NEVER, NEVER);
    return status == STORE_OK ? close_before(fx, NEVER) : status;
}

enum store_status fx_slices(struct fx *fx)
{
    struct export *export = fx->export;
    struct flows flows = { .held = NULL };
    int64_t first = 0, count = 0, captures = 0;
    enum store_status status = export_number(
        export, "SELECT first_slice_id FROM main.capture WHERE id = ?1", fx->capture, 0, 0, &first);
    sqlite3_stmt *slices, *track_of;

    if (status == STORE_OK)
        status = export_number(export, "SELECT slice_count FROM main.capture WHERE id = ?1",
                               fx->capture, 0, 0, &count);
    if (status == STORE_OK)
        status = export_number(export, "SELECT count(*) FROM main.capture", 0, 0, 0, &captures);
    slices = export_prepare(export, slice_sql, &status);
    track_of = export_prepare(export, "SELECT track_id FROM main.slice_data WHERE id = ?1",
                              &status);
    flows.statement = export_prepare(export, flow_sql, &status);
    if (__builtin_add_overflow(first, count, &count))
        count = NEVER;
    if (status == STORE_OK) {
        (void)sqlite3_bind_int64(slices, 1, first);
        (void)sqlite3_bind_int64(slices, 2, count);
        (void)sqlite3_bind_int64(flows.statement, 1, first);
        (void)sqlite3_bind_int64(flows.statement, 2, count);
        (void)sqlite3_bind_int64(flows.statement, 3, captures == 1);
        status = walk(fx, slices, track_of, &flows);
    }
    sqlite3_free(flows.held);
    (void)sqlite3_finalize(slices);
    (void)sqlite3_finalize(track_of);
    (void)sqlite3_finalize(flows.statement);
    return status;
}
