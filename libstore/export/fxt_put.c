/* fxt_put.c - one record at a time.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/fxt_export.h"

#define MOST_STRINGS 32767u
#define MOST_THREADS 255u
#define LARGEST_BLOB (16u << 20) /* of an argument: more is no blob of ours */

/* ---- Records ---- */

enum store_status fx_put(struct fx *fx, struct fxt_record *record)
{
    struct export *export = fx->export;
    struct fxt_error error;
    enum fxt_status status = fxt_writer_record(fx->writer, record, &error);

    if (status == FXT_NO_MEMORY)
        return store_no_memory(export->error);
    if (status == FXT_INVALID) {
        export->counts->left_out++;
        return STORE_OK;
    }
    if (status != FXT_OK) /* only export_put() could fail, and it keeps that */
        return store_fail(export->error, STORE_IO, "%s", error.message);
    export->counts->rows++;
    return export_progress(export);
}

enum store_status fx_put_at(struct fx *fx, struct fxt_record *record, int64_t ts)
{
    int64_t end = ts;

    record->ticks = (uint64_t)ts + fx->base_ticks;
    if (record->kind == FXT_RECORD_EVENT &&
        record->value.event.type == FXT_EVENT_DURATION_COMPLETE) {
        end = record->value.event.end_ns;
        record->value.event.end_ticks = (uint64_t)end + fx->base_ticks;
    }
    if (!fx->timed || ts < fx->least_ts)
        fx->least_ts = ts;
    if (!fx->timed || end > fx->most_ts)
        fx->most_ts = end;
    fx->timed = true;
    return fx_put(fx, record);
}

/* ---- Strings ---- */

struct fxt_string fx_inline(const char *text)
{
    return fxt_inline(text ? text : "");
}

enum store_status fx_string(struct fx *fx, enum fx_text of, int64_t id, const char *text,
                            struct fxt_string *out)
{
    struct fxt_record record = { .kind = FXT_RECORD_STRING };
    bool is_new = false;
    uint32_t number;

    *out = fx_inline(text);
    /* Tables are the provider's own; what has none, some readers drop.  */
    if (out->length == 0 || fx->current != fx->main || fx->main == FX_NO_PROVIDER)
        return STORE_OK;
    if (fx->strings.count >= MOST_STRINGS)
        number = base_pairs_find(&fx->strings, (uint64_t)id, of);
    else if ((number = base_pairs_add(&fx->strings, (uint64_t)id, of, &is_new)) == 0)
        return store_no_memory(fx->export->error);
    if (number == 0)
        return STORE_OK;
    if (is_new) {
        record.value.table.index = (uint16_t)number;
        record.name = *out;
    }
    out->index = (uint16_t)number;
    return is_new ? fx_put(fx, &record) : STORE_OK;
}

/* ---- Names of events ---- */

static void release_name(struct fx_name *name)
{
    export_free_text(name->category);
    export_free_text(name->name);
    *name = (struct fx_name){ .was_read = false };
}

void fx_release_names(struct fx *fx)
{
    for (size_t i = 0; fx->kept && i < FX_KEPT_NAMES; i++)
        release_name(&fx->kept[i]);
    free(fx->kept);
    release_name(&fx->passed);
}

static enum store_status read_name(struct fx *fx, int64_t id, struct fx_name *out)
{
    struct export *export = fx->export;
    enum store_status status = STORE_OK;

    (void)sqlite3_bind_int64(fx->names, 1, id);
    if (export_step(export, fx->names, &status)) {
        status = export_copy_text(export, fx->names, 0, &out->category);
        if (status == STORE_OK)
            status = export_copy_text(export, fx->names, 1, &out->name);
    } else if (status == STORE_OK) {
        status = export_corrupt(export, "an event's name is not there");
    }
    (void)sqlite3_reset(fx->names);
    out->was_read = status == STORE_OK;
    if (status != STORE_OK)
        release_name(out);
    return status;
}

/* Most events have one of few names.  */
static enum store_status find_name(struct fx *fx, int64_t id, const struct fx_name **out)
{
    struct fx_name *name = &fx->passed;
    enum store_status status;

    if (!fx->kept)
        fx->kept = calloc(FX_KEPT_NAMES, sizeof *fx->kept);
    if (!fx->kept)
        return store_no_memory(fx->export->error);
    release_name(&fx->passed);
    if (id >= 0 && (uint64_t)id < FX_KEPT_NAMES &&
        (fx->kept[id].was_read || fx->kept_bytes < FX_KEPT_BYTES))
        name = &fx->kept[id];
    *out = name;
    if (name->was_read)
        return STORE_OK;
    status = read_name(fx, id, name);
    if (status == STORE_OK && name != &fx->passed)
        fx->kept_bytes += fx_inline(name->category).length + fx_inline(name->name).length;
    return status;
}

enum store_status fx_event_name(struct fx *fx, int64_t id, struct fxt_record *record)
{
    const struct fx_name *name = &fx->passed;
    enum store_status status = find_name(fx, id, &name);

    if (status == STORE_OK)
        status = fx_string(fx, FX_CATEGORY, id, name->category, &record->category);
    if (status == STORE_OK)
        status = fx_string(fx, FX_NAME, id, name->name, &record->name);
    return status;
}

/* ---- Threads ---- */

enum store_status fx_thread(struct fx *fx, uint32_t thread, struct fxt_thread *out)
{
    const struct export *export = fx->export;
    const struct export_thread *from = &export->threads[thread];
    struct fxt_record record = { .kind = FXT_RECORD_THREAD };
    bool is_new = false;
    uint32_t number;

    *out = (struct fxt_thread){ .process = export->processes[from->process].koid,
                                .thread = from->koid };
    fx->mentioned[thread] = true;
    if (fx->current != fx->main)
        return STORE_OK;
    if (fx->thread_indexes.count >= MOST_THREADS)
        number = base_pairs_find(&fx->thread_indexes, out->process, out->thread);
    else if ((number = base_pairs_add(&fx->thread_indexes, out->process, out->thread, &is_new)) ==
             0)
        return store_no_memory(export->error);
    if (is_new) {
        record.value.table.index = (uint16_t)number;
        record.thread = *out;
    }
    out->index = (uint8_t)number;
    return is_new ? fx_put(fx, &record) : STORE_OK;
}

enum store_status fx_mention(struct fx *fx, uint32_t thread, int64_t ts)
{
    struct fxt_record record = { .kind = FXT_RECORD_EVENT };
    enum store_status status = fx_thread(fx, thread, &record.thread);

    record.category = fx_inline("fxtq");
    record.name = fx_inline("thread");
    record.value.event.type = FXT_EVENT_COUNTER;
    return status == STORE_OK ? fx_put_at(fx, &record, ts) : status;
}

/* ---- Arguments ---- */

/* A copy of the column's bytes behind those that are there; where, as an offset.  */
static enum store_status keep_bytes(struct fx *fx, const void *bytes, size_t length, size_t *offset)
{
    *offset = fx->argument_bytes.length;
    if (base_text_append(&fx->argument_bytes, bytes ? bytes : "", bytes ? length : 0))
        return STORE_OK;
    return store_no_memory(fx->export->error);
}

static enum store_status take_value(struct fx *fx, struct fxt_arg *arg, size_t *offset)
{
    int64_t number = sqlite3_column_int64(fx->args, 3);
    size_t length;
    const void *bytes;

    switch (arg->type) {
    case FXT_ARG_INT32:
        arg->value.int32 = (int32_t)number;
        return STORE_OK;
    case FXT_ARG_UINT32:
        arg->value.uint32 = (uint32_t)number;
        return STORE_OK;
    case FXT_ARG_INT64:
        arg->value.int64 = number;
        return STORE_OK;
    case FXT_ARG_UINT64:
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        arg->value.uint64 = (uint64_t)number;
        return STORE_OK;
    case FXT_ARG_DOUBLE: /* SQLite has NULL for NaN */
        arg->value.number = sqlite3_column_type(fx->args, 3) == SQLITE_NULL
                                ? __builtin_nan("")
                                : sqlite3_column_double(fx->args, 3);
        return STORE_OK;
    case FXT_ARG_BOOL:
        arg->value.boolean = number != 0;
        return STORE_OK;
    case FXT_ARG_STRING:
    case FXT_ARG_BLOB:
        bytes = sqlite3_column_blob(fx->args, 3);
        length = (size_t)sqlite3_column_bytes(fx->args, 3);
        if (length > LARGEST_BLOB)
            length = LARGEST_BLOB;
        if (arg->type == FXT_ARG_STRING)
            arg->value.string = (struct fxt_string){ .bytes = "",
                                                     .length = bytes ? (uint32_t)length : 0 };
        else
            arg->value.blob = (struct fxt_bytes){ .length = bytes ? length : 0 };
        return keep_bytes(fx, bytes, length, offset);
    case FXT_ARG_NULL:
        return STORE_OK;
    case FXT_ARG_UNKNOWN:
        break;
    }
    arg->type = FXT_ARG_UNKNOWN;
    arg->value.unknown_type = FXT_ARG_UNKNOWN;
    return STORE_OK;
}

static enum store_status take_arg(struct fx *fx, size_t *name, size_t *value)
{
    struct fxt_arg *arg = &fx->arguments[fx->argument_count];
    const char *key = (const char *)sqlite3_column_text(fx->args, 1);
    int64_t type = sqlite3_column_int64(fx->args, 2);
    enum store_status status;

    arg->type = type >= FXT_ARG_NULL && type <= FXT_ARG_UNKNOWN ? (enum fxt_arg_type)type
                                                                : FXT_ARG_UNKNOWN;
    *value = 0;
    status = fx_string(fx, FX_KEY, sqlite3_column_int64(fx->args, 0), key, &arg->name);
    if (status == STORE_OK)
        status = keep_bytes(fx, key, arg->name.length, name);
    if (status == STORE_OK)
        status = take_value(fx, arg, value);
    fx->argument_count += status == STORE_OK;
    return status;
}

enum store_status fx_load_args(struct fx *fx, int64_t set, struct fxt_record *record)
{
    size_t names[FXT_MAX_ARGS] = { 0 }, values[FXT_MAX_ARGS] = { 0 };
    enum store_status status = STORE_OK;
    char *bytes;

    fx->argument_count = 0;
    fx->argument_bytes.length = 0;
    record->args = fx->arguments;
    record->arg_count = 0;
    if (set == 0)
        return STORE_OK;
    (void)sqlite3_bind_int64(fx->args, 1, set);
    while (export_step(fx->export, fx->args, &status)) {
        if (fx->argument_count == FXT_MAX_ARGS) {
            fx->export->counts->left_out++;
            break;
        }
        status = take_arg(fx, &names[fx->argument_count], &values[fx->argument_count]);
    }
    (void)sqlite3_reset(fx->args);
    bytes = fx->argument_bytes.bytes;
    for (size_t i = 0; i < fx->argument_count; i++) {
        struct fxt_arg *arg = &fx->arguments[i];

        if (arg->name.length > 0)
            arg->name.bytes = bytes + names[i];
        if (arg->type == FXT_ARG_STRING && arg->value.string.length > 0)
            arg->value.string.bytes = bytes + values[i];
        if (arg->type == FXT_ARG_BLOB && arg->value.blob.length > 0)
            arg->value.blob.bytes = (const uint8_t *)bytes + values[i];
    }
    record->arg_count = fx->argument_count;
    return status;
}

/* ---- Providers ---- */

enum store_status fx_switch(struct fx *fx, size_t provider)
{
    struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_SECTION };

    if (fx->current == provider || provider == FX_NO_PROVIDER)
        return STORE_OK;
    fx->current = provider;
    record.value.provider.id = fx->providers[provider].number;
    return fx_put(fx, &record);
}

/* ---- Messages of the memory sampler ---- */

enum store_status fx_message(struct fx *fx, uint64_t process, int64_t ts, const uint8_t *bytes,
                             size_t length, const uint64_t *interval_bytes)
{
    struct fxt_arg interval = { .type = FXT_ARG_UINT64,
                                .name = fx_inline("sampling_interval_bytes"),
                                .value.uint64 = interval_bytes ? *interval_bytes : 0 };
    struct fxt_record record = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .thread = { .process = process },
        .category = fx_inline("memory"),
        .name = fx_inline("fuchsia.memory.sampler"),
        .args = &interval,
        .arg_count = interval_bytes != NULL,
    };

    record.value.large_blob.payload = (struct fxt_bytes){ bytes, length };
    if (fx->has_times)
        return fx_put_at(fx, &record, ts);
    record.value.large_blob.format = 1; /* as recorded streams of messages are read */
    record.arg_count = 0;
    return fx_put(fx, &record);
}

/* ---- The filter ---- */

bool fx_keeps_process(const struct fx *fx, uint32_t process)
{
    return process && fx->export->processes[process].kept;
}

bool fx_keeps_time(const struct fx *fx, int64_t ts)
{
    const struct store_filter *filter = &fx->export->filter;

    return (!filter->has_from || ts >= filter->from_ts) &&
           (!filter->has_limit || ts < filter->limit_ts);
}
