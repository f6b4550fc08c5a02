/* fxt_objects.c - objects, and what they do not name; counters; logs.  */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "libstore/export/fxt_export.h"

/* ---- Objects ---- */

static enum store_status put_object(struct fx *fx, sqlite3_stmt *row)
{
    const struct export *export = fx->export;
    const char *kind = (const char *)sqlite3_column_text(row, 0);
    bool user = kind && strcmp(kind, "user") == 0;
    struct fxt_record record = { .kind = user ? FXT_RECORD_USERSPACE_OBJECT
                                              : FXT_RECORD_KERNEL_OBJECT };
    int64_t process = sqlite3_column_int64(row, 3);
    uint64_t koid = (uint64_t)sqlite3_column_int64(row, 2);
    enum store_status status;

    if (process < 0 || process > (int64_t) export->process_count)
        return export_corrupt(fx->export, "an object's process is not there");
    if (export->owners_filtered && process && !export->processes[process].kept)
        return STORE_OK;
    status = fx_load_args(fx, sqlite3_column_int64(row, 5), &record);
    record.name = fx_inline((const char *)sqlite3_column_text(row, 4));
    if (user) {
        record.value.object.pointer = koid;
        record.thread.process = export->processes[process].koid;
        /* By index: writers of two minds about inline processes exist (section 2.9).  */
        if (status == STORE_OK && fx->first_threads[process])
            status = fx_thread(fx, fx->first_threads[process], &record.thread);
    } else {
        record.value.object.koid = koid;
        record.value.object.type = (unsigned)sqlite3_column_int64(row, 1) & 255;
    }
    return status == STORE_OK ? fx_put(fx, &record) : status;
}

/* Processes that no object names as the store has it were named by a message.  */
static enum store_status name_processes(struct fx *fx)
{
    struct export *export = fx->export;
    enum store_status status = STORE_OK;
    uint8_t message[1024];
    size_t length;
    sqlite3_stmt *row = export_prepare(
        export,
        "SELECT p.id, p.name FROM main.process AS p LEFT JOIN (SELECT koid, name, max(id) "
        "FROM main.object WHERE capture_id = ?1 AND kind = 'kernel' AND type = 1 AND name <> '' "
        "GROUP BY koid) AS o ON o.koid = p.koid WHERE p.capture_id = ?1 AND p.name IS NOT NULL "
        "AND p.name IS NOT o.name ORDER BY p.id",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(export, row, &status)) {
        int64_t id = sqlite3_column_int64(row, 0);
        const char *name = (const char *)sqlite3_column_text(row, 1);

        if (id < 1 || id > (int64_t) export->process_count || !name ||
            export->processes[id].koid == 0 || !fx->has_times ||
            !fx_keeps_process(fx, (uint32_t)id))
            continue;
        if (fidl_encode_process_info(FIDL_GENERATION_2, name, NULL, 0, message, sizeof message,
                                     &length) == FIDL_OK)
            status = fx_message(fx, export->processes[id].koid, fx->start_ts, message, length,
                                NULL);
    }
    (void)sqlite3_finalize(row);
    return status;
}

enum store_status fx_objects(struct fx *fx)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT kind, type, koid, coalesce(upid, 0), name, coalesce(arg_set_id, 0) "
        "FROM main.object WHERE capture_id = ?1 ORDER BY id",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(fx->export, row, &status))
        status = put_object(fx, row);
    (void)sqlite3_finalize(row);
    return status == STORE_OK ? name_processes(fx) : status;
}

/* ---- Counters ---- */

/* Values of one event: those that follow each other and differ in nothing but their series.  */
struct event {
    int64_t ts;
    const struct fx_track *of;
    size_t name_length; /* of the counter, in the name of its tracks */
    struct fxt_arg args[FXT_MAX_ARGS];
    size_t count;
};

/* "counter:argument:id" without the id.  */
static size_t series_limit(const struct fx_track *track)
{
    size_t length = strlen(track->name), id_length;
    char id[24];

    id_length = (size_t)snprintf(id, sizeof id, ":%" PRIu64, track->cookie);
    if (length < id_length || strcmp(track->name + length - id_length, id) != 0)
        return length;
    return length - id_length;
}

/* Before the last colon of the rest, for names of counters may have some.  */
static size_t counter_length(const struct fx_track *track)
{
    const char *colon = memrchr(track->name, ':', series_limit(track));

    return colon ? (size_t)(colon - track->name) : 0;
}

static struct fxt_string series_of(const struct fx_track *track)
{
    size_t start = counter_length(track), limit = series_limit(track);
    struct fxt_string series = fx_inline(track->name + start);

    if (start < limit && track->name[start] == ':')
        series = fx_inline(track->name + ++start);
    series.length = (uint32_t)(limit - start);
    return series;
}

static bool belongs(const struct event *event, int64_t ts, const struct fx_track *track)
{
    const struct fx_track *of = event->of;

    return event->count > 0 && event->count < FXT_MAX_ARGS && ts == event->ts &&
           track->process == of->process && track->cookie == of->cookie && track->name &&
           counter_length(track) == event->name_length &&
           memcmp(track->name, of->name, event->name_length) == 0 &&
           strcmp(track->category ? track->category : "", of->category ? of->category : "") == 0;
}

static enum store_status put_counter(struct fx *fx, struct event *event)
{
    struct fxt_record record = { .kind = FXT_RECORD_EVENT,
                                 .args = event->args,
                                 .arg_count = event->count };
    uint32_t thread = event->count > 0 ? fx->first_threads[event->of->process] : 0;
    enum store_status status;

    if (event->count == 0)
        return STORE_OK;
    event->count = 0;
    if (thread == 0) {
        fx->export->counts->left_out++;
        return STORE_OK;
    }
    record.category = fx_inline(event->of->category);
    record.name = fx_inline(event->of->name);
    record.name.length = (uint32_t)event->name_length;
    record.value.event.type = FXT_EVENT_COUNTER;
    record.value.event.id = event->of->cookie;
    status = fx_thread(fx, thread, &record.thread);
    return status == STORE_OK ? fx_put_at(fx, &record, event->ts) : status;
}

static enum store_status take_counter(struct fx *fx, struct event *event, sqlite3_stmt *row)
{
    int64_t ts = sqlite3_column_int64(row, 0), index = sqlite3_column_int64(row, 1);
    const struct fx_track *track;
    enum store_status status = STORE_OK;
    struct fxt_arg *arg;

    index -= fx->first_track;
    if (index < 0 || index >= (int64_t)fx->track_count)
        return export_corrupt(fx->export, "a counter's track is not there");
    track = &fx->tracks[index];
    if (!track->name || !fx_keeps_time(fx, ts) || !fx_keeps_process(fx, track->process))
        return STORE_OK;
    if (!belongs(event, ts, track)) {
        status = put_counter(fx, event);
        *event = (struct event){ .ts = ts, .of = track, .name_length = counter_length(track) };
    }
    arg = &event->args[event->count++];
    *arg = (struct fxt_arg){ .type = FXT_ARG_INT64, .name = series_of(track) };
    if (sqlite3_column_type(row, 2) == SQLITE_INTEGER) {
        arg->value.int64 = sqlite3_column_int64(row, 2);
    } else {
        arg->type = FXT_ARG_DOUBLE;
        arg->value.number = sqlite3_column_type(row, 2) == SQLITE_FLOAT
                                ? sqlite3_column_double(row, 2)
                                : __builtin_nan("");
    }
    fx->export->counts->events++;
    return status;
}

enum store_status fx_counters(struct fx *fx)
{
    struct event event = { .count = 0 };
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT c.ts, c.track_id, c.value FROM main.counter AS c JOIN main.track AS t "
        "ON t.id = c.track_id AND t.capture_id = ?1 ORDER BY c.id",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(fx->export, row, &status))
        status = take_counter(fx, &event, row);
    (void)sqlite3_finalize(row);
    return status == STORE_OK ? put_counter(fx, &event) : status;
}

/* ---- Logs ---- */

enum store_status fx_logs(struct fx *fx)
{
    struct export *export = fx->export;
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(export, "SELECT ts, utid, message FROM main.log ORDER BY id",
                                       &status);

    while (export_step(export, row, &status)) {
        struct fxt_record record = { .kind = FXT_RECORD_LOG };
        int64_t ts = sqlite3_column_int64(row, 0), thread = sqlite3_column_int64(row, 1);

        if (thread < 0 || thread > (int64_t) export->thread_count) {
            status = export_corrupt(export, "a log message's thread is not there");
            break;
        }
        if (!export->threads[thread].kept || !fx_keeps_time(fx, ts))
            continue;
        status = fx_thread(fx, (uint32_t)thread, &record.thread);
        record.value.log.message = fx_inline((const char *)sqlite3_column_text(row, 2));
        if (status == STORE_OK)
            status = fx_put_at(fx, &record, ts);
        export->counts->events++;
    }
    (void)sqlite3_finalize(row);
    return status;
}
