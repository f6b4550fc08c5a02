/* export_rows.c - rows of samples that pass the filter, in the order of the store.  */
#include <math.h>
#include <stdlib.h>

#include "libstore/export/export.h"

/* ---- Columns of strangers ---- */

static bool is_integer(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_INTEGER;
}

static bool is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

/* A number that may be missing; anything else is corrupt.  */
static enum store_status take_number(struct export *export, sqlite3_stmt *row, int column,
                                     bool *has, int64_t *out)
{
    *has = is_integer(row, column);
    *out = sqlite3_column_int64(row, column);
    return *has || is_null(row, column) ? STORE_OK
                                        : export_corrupt(export, "a sample with a strange number");
}

/* An id from 1 to limit, 0 where it is missing.  */
static enum store_status take_id(struct export *export, sqlite3_stmt *row, int column, size_t limit,
                                 uint32_t *out)
{
    int64_t id = sqlite3_column_int64(row, column);

    *out = 0;
    if (is_null(row, column))
        return STORE_OK;
    if (!is_integer(row, column) || id < 0 || (uint64_t)id > limit)
        return export_corrupt(export, "a sample refers to what is not there");
    *out = (uint32_t)id;
    return STORE_OK;
}

/* ---- The filter ---- */

static bool passes_time(const struct store_filter *filter, bool has_ts, int64_t ts)
{
    if (!filter->has_from && !filter->has_limit)
        return true;
    return has_ts && (!filter->has_from || ts >= filter->from_ts) &&
           (!filter->has_limit || ts < filter->limit_ts);
}

static bool passes_stack(const struct export *export, uint32_t callsite)
{
    return !export->keep || (callsite && export->keep[callsite >> 3] >> (callsite & 7) & 1);
}

bool export_keeps_cpu(const struct export *export, const struct export_row *row)
{
    return !export->cpus ||
           (row->has_cpu && cpu_list_has(export->cpus, export->cpu_count, row->cpu));
}

/* Who: the thread if it is known, else the process.  */
static bool passes_owner(const struct export *export, const struct export_row *row)
{
    if (row->thread)
        return export->threads[row->thread].kept;
    if (row->process)
        return export->processes[row->process].kept;
    return !export->owners_filtered;
}

/* The filter, for a row that counts at that time with that stack.  */
static bool passes(const struct export *export, const struct export_row *row, bool has_ts,
                   int64_t ts, uint32_t callsite)
{
    return passes_time(&export->filter, has_ts, ts) && passes_stack(export, callsite) &&
           export_keeps_cpu(export, row) && passes_owner(export, row) &&
           (!export->filter.capture || row->capture == export->filter.capture);
}

/* ---- CPU samples ---- */

static enum store_status read_cpu(struct export *export, sqlite3_stmt *from, struct export_row *row)
{
    enum store_status status;

    row->id = sqlite3_column_int64(from, 0);
    status = take_number(export, from, 1, &row->has_ts, &row->ts);
    if (status == STORE_OK)
        status = take_number(export, from, 2, &row->has_cpu, &row->cpu);
    if (status == STORE_OK)
        status = take_id(export, from, 3, export->thread_count, &row->thread);
    if (status == STORE_OK)
        status = take_id(export, from, 4, export->stacks->callsite_count, &row->callsite);
    if (status == STORE_OK)
        status = take_number(export, from, 5, &row->has_value, &row->value);
    row->sample_type = sqlite3_column_int64(from, 6);
    row->process = status == STORE_OK ? export->threads[row->thread].process : 0;
    return status;
}

static enum store_status each_of_capture(struct export *export, sqlite3_stmt *samples,
                                         int64_t capture, int64_t first, int64_t count,
                                         export_row_fn each, void *context)
{
    enum store_status status = STORE_OK;
    int64_t limit;

    if (__builtin_add_overflow(first, count, &limit))
        limit = INT64_MAX;
    (void)sqlite3_bind_int64(samples, 1, first);
    (void)sqlite3_bind_int64(samples, 2, limit);
    while (export_step(export, samples, &status)) {
        struct export_row row = { .capture = capture };

        status = export_progress(export);
        if (status == STORE_OK)
            status = read_cpu(export, samples, &row);
        if (status != STORE_OK)
            break;
        if ((!export->sampled || row.sample_type == export->sampled) &&
            passes(export, &row, row.has_ts, row.ts, row.callsite))
            status = each(export, &row, context);
    }
    (void)sqlite3_reset(samples);
    return status;
}

enum store_status export_each_cpu(struct export *export, export_row_fn each, void *context)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *captures = export_prepare(
        export,
        "SELECT id, first_sample_id, sample_count FROM main.capture WHERE sample_count > 0 "
        "AND (?1 = 0 OR id = ?1) ORDER BY id",
        &status);
    sqlite3_stmt *samples = export_prepare(
        export,
        "SELECT id, ts, cpu, utid, callsite_id, weight, sample_type_id FROM main.cpu_sample "
        "WHERE id >= ?1 AND id < ?2 ORDER BY id",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(captures, 1, export->filter.capture);
    while (export_step(export, captures, &status))
        status = each_of_capture(export, samples, sqlite3_column_int64(captures, 0),
                                 sqlite3_column_int64(captures, 1),
                                 sqlite3_column_int64(captures, 2), each, context);
    (void)sqlite3_finalize(captures);
    (void)sqlite3_finalize(samples);
    return status;
}

/* ---- Heap events ---- */

static enum store_status read_heap(struct export *export, sqlite3_stmt *from,
                                   struct export_row *row)
{
    bool has_freed;
    int64_t freed = 0;
    enum store_status status;

    row->id = sqlite3_column_int64(from, 0);
    status = take_number(export, from, 1, &row->has_ts, &row->ts);
    if (status == STORE_OK)
        status = take_number(export, from, 2, &has_freed, &freed);
    if (status == STORE_OK && (!has_freed || freed < 0 || freed > 2))
        status = export_corrupt(export, "a heap event that is neither released nor not");
    if (status == STORE_OK)
        status = take_number(export, from, 3, &row->has_free_ts, &row->free_ts);
    if (status == STORE_OK)
        status = take_id(export, from, 4, export->process_count, &row->process);
    row->freed = status == STORE_OK ? (unsigned)freed : 0;
    row->address = (uint64_t)sqlite3_column_int64(from, 5);
    row->size = (uint64_t)sqlite3_column_int64(from, 6);
    row->objects = sqlite3_column_double(from, 7);
    row->bytes = sqlite3_column_double(from, 8);
    if (status == STORE_OK && !(row->objects >= 0 && row->bytes >= 0))
        status = export_corrupt(export, "a heap event of negative weight");
    if (status == STORE_OK)
        status = take_id(export, from, 9, export->stacks->callsite_count, &row->callsite);
    if (status == STORE_OK)
        status = take_id(export, from, 10, export->stacks->callsite_count, &row->free_callsite);
    row->capture = status == STORE_OK ? export->processes[row->process].capture : 0;
    return status;
}

enum store_status export_each_heap(struct export *export, bool by_release, export_row_fn each,
                                   void *context)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *events = export_prepare(
        export,
        "SELECT id, ts, freed, free_ts, upid, address, size, objects, bytes, callsite_id, "
        "free_callsite_id FROM main.heap_event ORDER BY id",
        &status);

    while (export_step(export, events, &status)) {
        struct export_row row = { .id = 0 };

        status = export_progress(export);
        if (status == STORE_OK)
            status = read_heap(export, events, &row);
        if (status != STORE_OK)
            break;
        if (by_release
                ? row.freed && passes(export, &row, row.has_free_ts, row.free_ts, row.free_callsite)
                : passes(export, &row, row.has_ts, row.ts, row.callsite))
            status = each(export, &row, context);
    }
    (void)sqlite3_finalize(events);
    return status;
}

/* ---- Samples of profiles ---- */

/* Folded stacks may have fractions, which are kept to the sixth digit.  */
static enum store_status take_value(struct export *export, sqlite3_stmt *from, int column,
                                    struct export_row *row)
{
    double real = sqlite3_column_double(from, column);

    if (sqlite3_column_type(from, column) != SQLITE_FLOAT)
        return take_number(export, from, column, &row->has_value, &row->value);
    row->has_value = true;
    row->value = real >= 0x1p63 ? INT64_MAX : !(real >= -0x1p63) ? INT64_MIN : (int64_t)floor(real);
    if (real >= 0 && real < 0x1p53)
        row->millionths = (uint32_t)lround((real - floor(real)) * 1e6);
    return STORE_OK;
}

static enum store_status read_profile(struct export *export, sqlite3_stmt *from,
                                      struct export_row *row)
{
    bool has_set;
    enum store_status status = take_id(export, from, 2, export->process_count, &row->process);

    row->id = sqlite3_column_int64(from, 0);
    row->capture = sqlite3_column_int64(from, 1);
    if (status == STORE_OK)
        status = take_id(export, from, 3, export->thread_count, &row->thread);
    if (status == STORE_OK)
        status = take_id(export, from, 4, export->stacks->callsite_count, &row->callsite);
    if (status == STORE_OK)
        status = take_number(export, from, 5, &has_set, &row->arg_set);
    if (status == STORE_OK)
        status = take_value(export, from, 6, row);
    return status;
}

enum store_status export_each_profile(struct export *export, int64_t type_id, export_row_fn each,
                                      void *context)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *samples = export_prepare(
        export,
        type_id ? "SELECT s.id, s.capture_id, s.upid, s.utid, s.callsite_id, s.arg_set_id, v.value "
                  "FROM main.profile_sample AS s JOIN main.profile_value AS v "
                  "ON v.profile_sample_id = s.id AND v.sample_type_id = ?1 ORDER BY s.id, v.ordinal"
                : "SELECT s.id, s.capture_id, s.upid, s.utid, s.callsite_id, s.arg_set_id, NULL "
                  "FROM main.profile_sample AS s ORDER BY s.id",
        &status);

    if (status == STORE_OK && type_id)
        (void)sqlite3_bind_int64(samples, 1, type_id);
    while (export_step(export, samples, &status)) {
        struct export_row row = { .has_ts = false };

        status = export_progress(export);
        if (status == STORE_OK)
            status = read_profile(export, samples, &row);
        if (status != STORE_OK)
            break;
        if (passes(export, &row, false, 0, row.callsite))
            status = each(export, &row, context);
    }
    (void)sqlite3_finalize(samples);
    return status;
}
