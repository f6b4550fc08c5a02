/* csv.c - a row a sample, for spreadsheets and data frames (RFC 4180; docs/export.md).  Lines end
 * with \n, as the sqlite3 shell's.  */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "libstore/export/export.h"

/* Sample types of imported profiles, a column each.  */
struct csv_type {
    int64_t id;
    char *name; /* "type/unit" */
};

/* Of a sample of a profile; folded stacks may have fractions.  */
struct value {
    bool has, is_real;
    int64_t integer;
    double real;
};

struct csv {
    enum store_csv_table table;
    bool by_release;
    bool in_use_only;
    struct base_text line;
    struct csv_type *types;
    size_t type_count;
    struct value *values;
    sqlite3_stmt *of_sample; /* values of a sample */
    sqlite3_stmt *labels;    /* arguments of a set */
    sqlite3_stmt *start;     /* of a capture */
    int64_t start_capture;   /* whose start is known */
    bool has_start;
    int64_t start_ts;
    bool safe;   /* no text may be taken for a formula */
    bool failed; /* no memory for the line */
};

/* ---- Cells ---- */

static void add(struct csv *csv, const char *bytes, size_t length)
{
    csv->failed |= !base_text_append(&csv->line, bytes, length);
}

static void next_cell(struct csv *csv)
{
    if (csv->line.length > 0)
        add(csv, ",", 1);
}

/* Quoted where it holds what RFC 4180 asks to quote, or blanks at an end, which readers may drop.
 */
static void text_cell(struct csv *csv, const char *bytes, size_t length)
{
    bool plain = length == 0 || (bytes[0] != ' ' && bytes[length - 1] != ' ');
    bool is_formula = csv->safe && base_is_formula(bytes, length);

    next_cell(csv);
    for (size_t i = 0; i < length && plain; i++)
        plain = bytes[i] != ',' && bytes[i] != '"' && bytes[i] != '\n' && bytes[i] != '\r';
    if (plain) {
        add(csv, "'", is_formula);
        add(csv, bytes, length);
        return;
    }
    add(csv, is_formula ? "\"'" : "\"", is_formula ? 2 : 1);
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            add(csv, "\"", 1);
        add(csv, bytes + i, 1);
    }
    add(csv, "\"", 1);
}

static void name_cell(struct csv *csv, const char *name)
{
    text_cell(csv, name ? name : "", name ? strlen(name) : 0);
}

static void number_cell(struct csv *csv, bool has, int64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRId64, number);

    next_cell(csv);
    if (has)
        add(csv, text, (size_t)length);
}

static void unsigned_cell(struct csv *csv, const char *format, uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof text, *format == 'x' ? "0x%" PRIx64 : "%" PRIu64, number);

    next_cell(csv);
    add(csv, text, (size_t)length);
}

/* Six digits are more than an estimate has.  */
static void real_cell(struct csv *csv, double number)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%.10g", number);

    next_cell(csv);
    if (isfinite(number))
        add(csv, text, (size_t)length);
}

static void value_cell(struct csv *csv, const struct value *value)
{
    if (value->is_real)
        real_cell(csv, value->real);
    else
        number_cell(csv, value->has, value->integer);
}

/* Nanoseconds as seconds, exactly.  */
static void seconds_cell(struct csv *csv, bool has, int64_t ns)
{
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[48];
    int length = snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "",
                          magnitude / 1000000000, magnitude % 1000000000);

    next_cell(csv);
    if (has)
        add(csv, text, (size_t)length);
}

/* The stack, and its innermost function before it.  */
static enum store_status stack_cells(struct export *export, struct csv *csv, uint32_t callsite,
                                     bool function)
{
    const struct base_text *stack;
    enum store_status status = export_stack(export, callsite, &stack);
    size_t leaf = status == STORE_OK ? stack->length : 0;

    if (status != STORE_OK)
        return status;
    while (leaf > 0 && stack->bytes[leaf - 1] != ';')
        leaf--;
    if (function)
        text_cell(csv, stack->length > 0 ? stack->bytes + leaf : "", stack->length - leaf);
    text_cell(csv, stack->length > 0 ? stack->bytes : "", stack->length);
    return STORE_OK;
}

/* ---- Columns that tables share ---- */

/* Where the times of a capture count from; rows of a capture follow each other.  */
static enum store_status find_start(struct export *export, struct csv *csv, int64_t capture)
{
    enum store_status status = STORE_OK;

    if (csv->start_capture == capture)
        return STORE_OK;
    csv->start_capture = capture;
    csv->has_start = false;
    (void)sqlite3_bind_int64(csv->start, 1, capture);
    if (export_step(export, csv->start, &status)) {
        csv->has_start = sqlite3_column_type(csv->start, 0) == SQLITE_INTEGER;
        csv->start_ts = sqlite3_column_int64(csv->start, 0);
    }
    (void)sqlite3_reset(csv->start);
    return status;
}

static enum store_status time_cells(struct export *export, struct csv *csv,
                                    const struct export_row *row)
{
    enum store_status status = find_start(export, csv, row->capture);
    int64_t since = 0;
    bool known = row->has_ts && csv->has_start &&
                 !__builtin_sub_overflow(row->ts, csv->start_ts, &since);

    number_cell(csv, true, row->capture);
    number_cell(csv, row->has_ts, row->ts);
    seconds_cell(csv, known, since);
    return status;
}

static void owner_cells(struct export *export, struct csv *csv, const struct export_row *row,
                        bool threads)
{
    const struct export_process *process = &export->processes[row->process];
    const struct export_thread *thread = &export->threads[row->thread];

    number_cell(csv, row->process != 0, (int64_t)(uint32_t)process->koid);
    name_cell(csv, process->name);
    if (!threads)
        return;
    number_cell(csv, row->thread != 0, (int64_t)(uint32_t)thread->koid);
    name_cell(csv, thread->name);
}

static enum store_status end_row(struct export *export, struct csv *csv)
{
    if (csv->failed)
        return store_no_memory(export->error);
    add(csv, "\n", 1);
    if (csv->failed)
        return store_no_memory(export->error);
    export_put(export, csv->line.bytes, csv->line.length);
    csv->line.length = 0;
    export->counts->rows++;
    return STORE_OK;
}

/* ---- CPU samples ---- */

static enum store_status cpu_row(struct export *export, const struct export_row *row, void *context)
{
    struct csv *csv = context;
    enum store_status status = time_cells(export, csv, row);

    number_cell(csv, row->has_cpu, row->cpu);
    owner_cells(export, csv, row, true);
    number_cell(csv, row->has_value, row->value);
    if (status == STORE_OK)
        status = stack_cells(export, csv, row->callsite, true);
    export->counts->samples++;
    return status == STORE_OK ? end_row(export, csv) : status;
}

/* ---- Heap events ---- */

static enum store_status heap_row(struct export *export, const struct export_row *row,
                                  void *context)
{
    static const char *const freed[] = { "no", "yes", "assumed" };
    struct csv *csv = context;
    int64_t lifetime = 0;
    bool lived = row->freed && row->has_ts && row->has_free_ts &&
                 !__builtin_sub_overflow(row->free_ts, row->ts, &lifetime);
    enum store_status status;

    if (csv->in_use_only && row->freed)
        return STORE_OK;
    status = time_cells(export, csv, row);
    name_cell(csv, freed[row->freed]);
    number_cell(csv, row->freed && row->has_free_ts, row->free_ts);
    number_cell(csv, lived, lifetime);
    owner_cells(export, csv, row, false);
    unsigned_cell(csv, "x", row->address);
    unsigned_cell(csv, "u", row->size);
    real_cell(csv, row->objects);
    real_cell(csv, row->bytes);
    if (status == STORE_OK)
        status = stack_cells(export, csv, row->callsite, true);
    if (status == STORE_OK)
        status = stack_cells(export, csv, row->free_callsite, false);
    export->counts->samples++;
    return status == STORE_OK ? end_row(export, csv) : status;
}

/* ---- Samples of profiles ---- */

static void add_json(struct csv *csv, struct base_text *json, const char *bytes, size_t length)
{
    csv->failed |= !base_text_append(json, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char escaped[8];

        if (c == '"' || c == '\\')
            csv->failed |= !base_text_append(json, "\\", 1);
        if (c >= ' ') {
            csv->failed |= !base_text_append(json, bytes + i, 1);
        } else {
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", c);
            csv->failed |= !export_text_adds(json, escaped);
        }
    }
    csv->failed |= !base_text_append(json, "\"", 1);
}

/* A column as text; "" for what is none.  */
static void add_json_column(struct csv *csv, struct base_text *json, int column)
{
    const char *text = (const char *)sqlite3_column_text(csv->labels, column);

    add_json(csv, json, text ? text : "", text ? strlen(text) : 0);
}

/* Labels as an object: {"bytes":64,"thread":"main"}.  */
static enum store_status labels_cell(struct export *export, struct csv *csv, int64_t set)
{
    struct base_text json = { .bytes = NULL };
    enum store_status status = STORE_OK;

    if (set == 0) {
        name_cell(csv, NULL);
        return STORE_OK;
    }
    (void)sqlite3_bind_int64(csv->labels, 1, set);
    while (export_step(export, csv->labels, &status)) {
        char number[32];

        csv->failed |= !export_text_adds(&json, json.length > 0 ? "," : "{");
        add_json_column(csv, &json, 0);
        csv->failed |= !base_text_append(&json, ":", 1);
        if (sqlite3_column_type(csv->labels, 1) == SQLITE_INTEGER) {
            (void)snprintf(number, sizeof number, "%" PRId64,
                           (int64_t)sqlite3_column_int64(csv->labels, 1));
            csv->failed |= !export_text_adds(&json, number);
        } else {
            add_json_column(csv, &json, 1);
        }
    }
    (void)sqlite3_reset(csv->labels);
    if (json.length > 0)
        csv->failed |= !base_text_append(&json, "}", 1);
    text_cell(csv, json.length > 0 ? json.bytes : "", json.length);
    free(json.bytes);
    return status;
}

static enum store_status read_values(struct export *export, struct csv *csv, int64_t sample)
{
    enum store_status status = STORE_OK;

    memset(csv->values, 0, csv->type_count * sizeof *csv->values);
    (void)sqlite3_bind_int64(csv->of_sample, 1, sample);
    while (export_step(export, csv->of_sample, &status))
        for (size_t i = 0; i < csv->type_count; i++)
            if (csv->types[i].id == sqlite3_column_int64(csv->of_sample, 0)) {
                csv->values[i].has = true;
                csv->values[i].is_real = sqlite3_column_type(csv->of_sample, 1) == SQLITE_FLOAT;
                csv->values[i].integer = sqlite3_column_int64(csv->of_sample, 1);
                csv->values[i].real = sqlite3_column_double(csv->of_sample, 1);
            }
    (void)sqlite3_reset(csv->of_sample);
    return status;
}

static enum store_status profile_row(struct export *export, const struct export_row *row,
                                     void *context)
{
    struct csv *csv = context;
    enum store_status status = read_values(export, csv, row->id);

    number_cell(csv, true, row->capture);
    owner_cells(export, csv, row, true);
    for (size_t i = 0; i < csv->type_count; i++)
        value_cell(csv, &csv->values[i]);
    if (status == STORE_OK)
        status = labels_cell(export, csv, row->arg_set);
    if (status == STORE_OK)
        status = stack_cells(export, csv, row->callsite, true);
    export->counts->samples++;
    return status == STORE_OK ? end_row(export, csv) : status;
}

/* ---- Sample types of profiles ---- */

#define MOST_TYPES 1000u

static enum store_status add_type(struct export *export, struct csv *csv, size_t *capacity,
                                  sqlite3_stmt *row)
{
    const char *type = (const char *)sqlite3_column_text(row, 1);
    const char *unit = (const char *)sqlite3_column_text(row, 2);
    void *items = csv->types;
    size_t size;

    if (csv->type_count >= MOST_TYPES)
        return store_fail(export->error, STORE_LIMIT, "profiles with more than %u sample types",
                          MOST_TYPES);
    if (!type || !unit)
        return export_corrupt(export, "a sample type without a name");
    if (!stacks_grow(&items, capacity, csv->type_count + 1, sizeof *csv->types))
        return store_no_memory(export->error);
    csv->types = items;
    size = strlen(type) + strlen(unit) + 2;
    csv->types[csv->type_count] = (struct csv_type){ .id = sqlite3_column_int64(row, 0),
                                                     .name = malloc(size) };
    if (!csv->types[csv->type_count].name)
        return store_no_memory(export->error);
    (void)snprintf(csv->types[csv->type_count++].name, size, "%s/%s", type, unit);
    return STORE_OK;
}

/* All of the captures that are meant, or the one asked for, in the order of the profiles.  */
static enum store_status load_types(struct export *export, struct csv *csv, int64_t only)
{
    enum store_status status = STORE_OK;
    size_t capacity = 0;
    sqlite3_stmt *row = export_prepare(
        export,
        "SELECT t.id, t.type, t.unit FROM (SELECT v.sample_type_id, min(v.ordinal) AS ordinal "
        "FROM main.profile_value AS v JOIN main.profile_sample AS s ON s.id = v.profile_sample_id "
        "WHERE ?1 = 0 OR s.capture_id = ?1 GROUP BY 1) JOIN main.sample_type AS t "
        "ON t.id = sample_type_id WHERE ?2 = 0 OR t.id = ?2 ORDER BY ordinal, t.id",
        &status);

    if (status == STORE_OK) {
        (void)sqlite3_bind_int64(row, 1, export->filter.capture);
        (void)sqlite3_bind_int64(row, 2, only);
    }
    while (export_step(export, row, &status))
        status = add_type(export, csv, &capacity, row);
    (void)sqlite3_finalize(row);
    csv->values = calloc(csv->type_count + 1, sizeof *csv->values);
    if (status == STORE_OK && !csv->values)
        status = store_no_memory(export->error);
    return status;
}

/* ---- Which table ---- */

static const char cpu_header[] =
    "capture,ts_ns,time_s,cpu,pid,process,tid,thread,weight_ns,function,stack";
static const char event_header[] =
    "capture,ts_ns,time_s,cpu,pid,process,tid,thread,weight,function,stack";
static const char heap_header[] =
    "capture,ts_ns,time_s,freed,free_ts_ns,lifetime_ns,pid,process,address,size_bytes,objects,"
    "bytes,function,stack,free_stack";

/* A table asked for must have what the sample type means.  */
static enum store_status choose_table(struct export *export, struct csv *csv,
                                      struct export_type *type)
{
    static const char *const of_table[] = { NULL, "cpu", "alloc_space", NULL };
    static const char *const names[] = { "", "CPU samples", "heap events", "samples of profiles" };
    enum store_csv_table wanted = export->options.table, found;
    unsigned samples = 0;
    enum store_status status;

    status = store_has(export->store, export->filter.capture,
                       STORE_HAS_CPU_TIME | STORE_HAS_CPU_SAMPLES, &samples, export->error);
    if (status != STORE_OK)
        return status;
    /* Without CPU time, the first event is the default of all.  */
    if (!export->filter.sample_type &&
        (wanted != STORE_CSV_CPU || samples != STORE_HAS_CPU_SAMPLES))
        export->filter.sample_type = of_table[wanted];
    status = export_choose_type(export, wanted == STORE_CSV_PROFILE, type);
    export->sampled = type->sampled;
    found = type->kind == STORE_SAMPLES_CPU        ? STORE_CSV_CPU
            : type->kind == STORE_SAMPLES_PROFILED ? STORE_CSV_PROFILE
                                                   : STORE_CSV_HEAP;
    if (!type->from_trace)
        found = STORE_CSV_PROFILE;
    if (status == STORE_OK && wanted != STORE_CSV_ANY && found != wanted)
        return store_fail(export->error, STORE_INVALID, "there are no %s of that type",
                          names[wanted]);
    csv->table = found;
    csv->by_release = type->kind == STORE_SAMPLES_RELEASED;
    csv->in_use_only = type->kind == STORE_SAMPLES_IN_USE && export->filter.sample_type;
    return status;
}

static enum store_status write_header(struct export *export, struct csv *csv)
{
    switch (csv->table) {
    case STORE_CSV_HEAP:
        add(csv, heap_header, strlen(heap_header));
        break;
    case STORE_CSV_PROFILE:
        add(csv, "capture,pid,process,tid,thread", 30);
        for (size_t i = 0; i < csv->type_count; i++)
            name_cell(csv, csv->types[i].name);
        add(csv, ",labels,function,stack", 22);
        break;
    default:
        if (export->sampled > 1)
            add(csv, event_header, strlen(event_header));
        else
            add(csv, cpu_header, strlen(cpu_header));
        break;
    }
    return end_row(export, csv);
}

static enum store_status write_rows(struct export *export, struct csv *csv)
{
    switch (csv->table) {
    case STORE_CSV_HEAP:
        return export_each_heap(export, csv->by_release, heap_row, csv);
    case STORE_CSV_PROFILE:
        return export_each_profile(export, 0, profile_row, csv);
    default:
        return export_each_cpu(export, cpu_row, csv);
    }
}

static enum store_status prepare(struct export *export, struct csv *csv)
{
    enum store_status status = STORE_OK;

    csv->start_capture = -1;
    csv->start = export_prepare(export, "SELECT start_ts FROM main.capture WHERE id = ?1", &status);
    csv->of_sample = export_prepare(
        export, "SELECT sample_type_id, value FROM main.profile_value WHERE profile_sample_id = ?1",
        &status);
    csv->labels = export_prepare(export,
                                 "SELECT k.text, a.value FROM main.arg AS a "
                                 "JOIN main.string AS k ON k.id = a.key_id "
                                 "WHERE a.arg_set_id = ?1 ORDER BY a.ordinal",
                                 &status);
    return status;
}

static void release(struct csv *csv)
{
    for (size_t i = 0; i < csv->type_count; i++)
        free(csv->types[i].name);
    sqlite3_free(csv->types);
    free(csv->values);
    free(csv->line.bytes);
    (void)sqlite3_finalize(csv->start);
    (void)sqlite3_finalize(csv->of_sample);
    (void)sqlite3_finalize(csv->labels);
}

enum store_status store_export_csv(struct store *store, const struct store_filter *filter,
                                   const struct store_export_options *options, store_write_fn write,
                                   void *context, struct store_export_counts *counts,
                                   struct store_error *error)
{
    struct export export;
    struct export_type type = { .id = 0 };
    struct csv csv = { .table = STORE_CSV_ANY };
    enum store_status status = export_begin(&export, store, filter, options, write, context, counts,
                                            error);

    csv.safe = export.options.csv_safe;
    if (status == STORE_OK)
        status = choose_table(&export, &csv, &type);
    if (status == STORE_OK)
        status = prepare(&export, &csv);
    if (status == STORE_OK && csv.table == STORE_CSV_PROFILE)
        status = load_types(&export, &csv, filter && filter->sample_type ? type.id : 0);
    if (status == STORE_OK)
        status = write_header(&export, &csv);
    if (status == STORE_OK) {
        counts->rows = 0; /* without the header */
        status = write_rows(&export, &csv);
    }
    release(&csv);
    return export_end(&export, status);
}
