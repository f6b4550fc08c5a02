/* Captures as a profile, in all of its formats (<fxt/profile_formats.h>).  For pprof, a capture
 * that was a pprof profile is written as it was (export_unchanged.c).  Traces become what fxt2pprof
 * makes of them: a sample for each stack and thread, or one by one if the format shows times.
 * Other profiles, and stacks of which frames are hidden, are a sample each.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/export_entries.h"
#include "libstore/export/trace_types.h"

/* ---- Adding up samples of traces ---- */

/* When a capture's rows were.  */
struct times {
    bool has_time;
    int64_t first_ns, last_ns;
};

struct sums {
    struct base_pairs keys; /* thread << 32 | process, call site */
    uint64_t *items;        /* types.count amounts for each */
    size_t capacity;
    struct trace_types types;
    struct base_pairs captures;
    struct times *times; /* of captures */
    size_t times_capacity;
    bool unweighed; /* a CPU sample has no nanoseconds */
    enum store_samples kind;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static enum store_status take_amounts(struct export *export, struct sums *sums,
                                      const struct export_row *row, uint32_t callsite,
                                      const uint64_t more[PROFILE_MAX_TYPES])
{
    size_t width = sums->types.count;
    uint64_t *items;
    bool is_new;
    uint32_t number = base_pairs_add(&sums->keys, (uint64_t)row->thread << 32 | row->process,
                                     callsite, &is_new);

    if (!number ||
        !base_make_room(&sums->items, &sums->capacity, number, width * sizeof *sums->items))
        return store_no_memory(export->error);
    items = sums->items + (number - 1) * width;
    for (size_t i = 0; i < width; i++)
        items[i] = add(is_new ? 0 : items[i], more[i]);
    export->counts->samples++;
    return STORE_OK;
}

static enum store_status note_time(struct export *export, struct sums *sums, int64_t capture,
                                   bool has_ts, int64_t ts)
{
    bool is_new;
    uint32_t number = base_pairs_add(&sums->captures, (uint64_t)capture, 0, &is_new);
    struct times *times;

    if (!number ||
        !base_make_room(&sums->times, &sums->times_capacity, number, sizeof *sums->times))
        return store_no_memory(export->error);
    times = &sums->times[number - 1];
    if (is_new)
        *times = (struct times){ .has_time = false };
    if (!has_ts)
        return STORE_OK;
    if (!times->has_time || ts < times->first_ns)
        times->first_ns = ts;
    if (!times->has_time || ts > times->last_ns)
        times->last_ns = ts;
    times->has_time = true;
    return STORE_OK;
}

static enum store_status take_cpu(struct export *export, const struct export_row *row,
                                  void *context)
{
    struct sums *sums = context;
    uint64_t more[PROFILE_MAX_TYPES] = { 0 };
    enum store_status status = note_time(export, sums, row->capture, row->has_ts, row->ts);

    more[trace_types_place(&sums->types, row->sample_type)] = row->value > 0 ? (uint64_t)row->value
                                                                             : 0;
    more[0] = 1;
    sums->unweighed |= !row->has_value;
    return status == STORE_OK ? take_amounts(export, sums, row, row->callsite, more) : status;
}

static enum store_status take_heap(struct export *export, const struct export_row *row,
                                   void *context)
{
    struct sums *sums = context;
    bool released = sums->kind == STORE_SAMPLES_RELEASED;
    uint64_t objects = profile_to_units(row->objects, PROFILE_OBJECT_UNITS);
    uint64_t bytes = profile_to_units(row->bytes, PROFILE_BYTE_UNITS);
    uint64_t more[PROFILE_MAX_TYPES] = { objects, bytes, row->freed ? 0 : objects,
                                         row->freed ? 0 : bytes };
    enum store_status status = note_time(export, sums, row->capture, row->has_ts, row->ts);

    if (status == STORE_OK && row->has_free_ts)
        status = note_time(export, sums, row->capture, true, row->free_ts);
    return status == STORE_OK ? take_amounts(export, sums, row,
                                             released ? row->free_callsite : row->callsite, more)
                              : status;
}

static enum store_status add_up(struct export *export, struct sums *sums)
{
    return sums->kind == STORE_SAMPLES_CPU
               ? export_each_cpu(export, take_cpu, sums)
               : export_each_heap(export, sums->kind == STORE_SAMPLES_RELEASED, take_heap, sums);
}

static void sums_release(struct sums *sums)
{
    base_pairs_release(&sums->keys);
    base_pairs_release(&sums->captures);
    free(sums->items);
    free(sums->times);
    trace_types_release(&sums->types);
}

/* ---- The header of a profile of traces ---- */

/* How many types there are: not CPU time that is not known, unless events come after it.  */
static size_t type_count(const struct sums *sums)
{
    bool time_alone = sums->kind == STORE_SAMPLES_CPU && sums->types.count == 2;

    return time_alone && sums->unweighed ? 1 : sums->types.count;
}

/* Earliest start, durations added up: as pprof merges.  */
static bool find_times(struct out *work, const struct sums *sums,
                       struct profile_pprof_header *header)
{
    for (size_t i = 0; i < sums->captures.count; i++) {
        const struct times *times = &sums->times[i];
        int64_t capture = (int64_t)sums->captures.items[i].a, clock = 0, start, duration;

        if (!times->has_time)
            continue;
        if (__builtin_sub_overflow(times->last_ns, times->first_ns, &duration) ||
            __builtin_add_overflow(header->duration_ns, duration, &header->duration_ns))
            header->duration_ns = INT64_MAX;
        work->status = export_number(work->export,
                                     "SELECT realtime_ns - monotonic_ns FROM main.capture "
                                     "WHERE id = ?1",
                                     capture, 0, 0, &clock);
        if (work->status != STORE_OK)
            return false;
        if (clock && !__builtin_add_overflow(clock, times->first_ns, &start) &&
            (header->time_ns == 0 || start < header->time_ns))
            header->time_ns = start;
    }
    return true;
}

/* Samples that weigh nanoseconds were taken every period of them; blocks, one in the interval's
 * bytes on average.  */
static bool find_period(struct out *work, const struct sums *sums,
                        struct profile_pprof_header *header)
{
    bool heap = sums->kind != STORE_SAMPLES_CPU;

    if (!heap && (sums->unweighed || sums->types.items[1].counts))
        return true;
    work->status = export_number(
        work->export,
        heap ? "SELECT max(value) FROM main.meta WHERE key = 'heap_interval_bytes' "
               "AND typeof(value) = 'integer' AND (?1 = 0 OR capture_id = ?1)"
             : "SELECT max(period_ns) FROM main.capture WHERE ?1 = 0 OR id = ?1",
        work->export->filter.capture, 0, 0, &header->period);
    header->has_period_type = true;
    header->period_type = header->types[1];
    return work->status == STORE_OK &&
           (!heap || out_text(work, "space", &header->period_type.type));
}

static bool put_header(struct out *work, const struct sums *sums)
{
    struct profile_pprof_type told[PROFILE_MAX_TYPES] = { { .type = 0 } };
    struct profile_pprof_header header = { .types = told, .type_count = type_count(sums) };
    const struct profile_known_type *types = sums->types.items;
    size_t first = trace_types_default(&sums->types, work->export->filter.sample_type);

    for (size_t i = 0; i < header.type_count; i++)
        if (!out_text(work, types[i].type, &told[i].type) ||
            !out_text(work, types[i].unit, &told[i].unit))
            return false;
    header.default_sample_type = told[first < header.type_count ? first : 0].type;
    return find_times(work, sums, &header) && find_period(work, sums, &header) &&
           out_put(work, work->sink.header(work->sink.context, &header));
}

/* ---- Labels of processes and threads ---- */

static bool add_label(struct out *work, size_t *count, const char *key, const char *text,
                      uint64_t koid)
{
    void *items = work->labels;
    struct profile_pprof_label *label;

    if (text && !*text)
        return true;
    if (!out_reserve(work, &items, &work->label_capacity, *count + 1, sizeof *work->labels))
        return false;
    work->labels = items;
    label = &work->labels[(*count)++];
    *label = (struct profile_pprof_label){ .key = 0 };
    if (!out_text(work, key, &label->key))
        return false;
    if (text)
        return out_text(work, text, &label->str);
    label->num = (uint32_t)koid;
    return out_text(work, "id", &label->num_unit);
}

/* As fxt2pprof: process, thread, pid, tid.  A process that nothing is known of has none.  */
static bool owner_labels(struct out *work, uint32_t process_id, uint32_t thread_id, size_t *count)
{
    const struct export_process *process = &work->export->processes[process_id];
    const struct export_thread *thread = &work->export->threads[thread_id];
    const char *process_name = process->name ? process->name : "";
    const char *thread_name = thread->name ? thread->name : "";

    *count = 0;
    if (process_id && !add_label(work, count, "process", process_name, 0))
        return false;
    if (thread_id && !add_label(work, count, "thread", thread_name, 0))
        return false;
    if (process_id && (process->koid || work->capture == 0) &&
        !add_label(work, count, "pid", NULL, process->koid))
        return false;
    return !thread_id || add_label(work, count, "tid", NULL, thread->koid);
}

/* ---- Samples of traces ---- */

struct place_of_sum {
    uint32_t callsite;
    uint64_t owner;
    uint32_t index;
};

static int compare(const void *a, const void *b)
{
    const struct place_of_sum *x = a, *y = b;

    if (x->callsite != y->callsite)
        return x->callsite < y->callsite ? -1 : 1;
    return (x->owner > y->owner) - (x->owner < y->owner);
}

static bool put_sum(struct out *work, struct places *places, const struct sums *sums,
                    const struct place_of_sum *at)
{
    struct profile_pprof_sample sample = { .value_count = type_count(sums) };
    const uint64_t *items = sums->items + at->index * sums->types.count;
    int64_t values[PROFILE_MAX_TYPES];

    if (!places_stack(places, at->callsite, &sample.location_count))
        return false;
    if (sample.location_count == 0 && at->callsite) /* nothing is left of it */
        return true;
    if (!owner_labels(work, (uint32_t)at->owner, (uint32_t)(at->owner >> 32), &sample.label_count))
        return false;
    if (!out_thread(work, (uint32_t)at->owner, (uint32_t)(at->owner >> 32), &sample.thread))
        return false;
    for (size_t i = 0; i < sample.value_count; i++) {
        uint64_t value = profile_from_units(items[i], sums->types.items[i].units);

        values[i] = value < INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    sample.locations = work->stack;
    sample.stack = at->callsite;
    sample.values = values;
    sample.labels = work->labels;
    work->export->counts->rows++;
    return out_put(work, work->sink.sample(work->sink.context, &sample));
}

/* The process with most in it is the one whose program pprof shows as the profile's.  */
static bool find_heaviest(struct out *work, const struct sums *sums, uint32_t *heaviest)
{
    size_t processes = work->export->process_count;
    uint64_t *totals = calloc(processes + 1, sizeof *totals);

    *heaviest = 0;
    if (!totals)
        return out_no_memory(work);
    for (size_t i = 0; i < sums->keys.count; i++) {
        uint32_t process = (uint32_t)sums->keys.items[i].a;

        totals[process] = add(totals[process], sums->items[i * sums->types.count]);
    }
    for (uint32_t i = 1; i <= processes; i++)
        if (totals[i] > totals[*heaviest] || *heaviest == 0)
            *heaviest = i;
    free(totals);
    return true;
}

/* The first word of the command that was captured, from malloc(); NULL where none is known.  */
static bool find_command(struct out *work, char **command)
{
    sqlite3_stmt *row = out_prepare(work, "SELECT command FROM main.capture WHERE command IS NOT "
                                          "NULL AND (?1 = 0 OR id = ?1) ORDER BY id LIMIT 1");
    bool ok = row != NULL;
    int code;

    *command = NULL;
    if (!ok)
        return false;
    (void)sqlite3_bind_int64(row, 1, work->export->filter.capture);
    code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);

        *command = text ? strndup(text, strcspn(text, " ")) : NULL;
        ok = *command != NULL || out_no_memory(work);
    } else if (code != SQLITE_DONE) {
        ok = out_failed(work, code);
    }
    (void)sqlite3_finalize(row);
    return ok;
}

static bool put_program(struct out *work, struct places *places, const struct sums *sums)
{
    uint32_t heaviest, program, number;
    char *command;

    if (!find_heaviest(work, sums, &heaviest) || !find_command(work, &command))
        return false;
    program = sums->keys.count > 0 ? places_program(places, heaviest, command) : 0;
    free(command);
    return !program || places_mapping(places, program, &number);
}

static bool put_sums(struct out *work, struct places *places, const struct sums *sums)
{
    size_t count = sums->keys.count;
    struct place_of_sum *order = calloc(count + 1, sizeof *order);
    bool ok = true;

    if (!order)
        return out_no_memory(work);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct place_of_sum){ (uint32_t)sums->keys.items[i].b, sums->keys.items[i].a,
                                          (uint32_t)i };
    qsort(order, count, sizeof *order, compare);
    for (size_t i = 0; i < count && ok; i++)
        ok = put_sum(work, places, sums, &order[i]);
    free(order);
    return ok;
}

/* ---- CPU samples one by one ---- */

struct timed {
    struct out *out;
    struct places *places;
    const struct sums *sums;
};

static enum store_status put_timed(struct export *export, const struct export_row *row,
                                   void *context)
{
    struct timed *timed = context;
    struct out *work = timed->out;
    int64_t values[PROFILE_MAX_TYPES] = { 0 };
    struct profile_pprof_sample sample = { .values = values,
                                           .value_count = type_count(timed->sums),
                                           .stack = row->callsite,
                                           .has_time = row->has_ts,
                                           .ts_ns = row->ts,
                                           .has_cpu = row->has_cpu && row->cpu >= 0,
                                           .cpu = (uint32_t)row->cpu };

    values[trace_types_place(&timed->sums->types, row->sample_type)] = row->value > 0 ? row->value
                                                                                      : 0;
    values[0] = 1;
    if (!places_stack(timed->places, row->callsite, &sample.location_count))
        return work->status;
    if (sample.location_count == 0 && row->callsite) /* nothing is left of it */
        return STORE_OK;
    if (!out_thread(work, row->process, row->thread, &sample.thread))
        return work->status;
    sample.locations = work->stack;
    export->counts->rows++;
    return out_put(work, work->sink.sample(work->sink.context, &sample)) ? STORE_OK : work->status;
}

static bool put_samples(struct out *work, struct places *places, const struct sums *sums)
{
    struct timed timed = { .out = work, .places = places, .sums = sums };

    if (!work->format->timed || sums->kind != STORE_SAMPLES_CPU)
        return put_sums(work, places, sums);
    work->status = export_each_cpu(work->export, put_timed, &timed);
    return work->status == STORE_OK;
}

static bool export_traces(struct out *work)
{
    struct export_type type;
    struct sums sums = { .unweighed = false };
    struct places places = { .out = work };
    bool ok;

    work->status = export_choose_type(work->export, false, &type);
    if (work->status != STORE_OK)
        return false;
    sums.kind = type.kind;
    work->status = trace_types_load(work->export, type.kind, &sums.types);
    if (work->status == STORE_OK)
        work->status = add_up(work->export, &sums);
    ok = work->status == STORE_OK && put_header(work, &sums) && places_open(&places, work) &&
         put_program(work, &places, &sums) && put_samples(work, &places, &sums);
    places_release(&places);
    sums_release(&sums);
    return ok;
}

/* ---- Imported profiles ---- */

struct rows {
    struct out *out;
    struct places places;
    uint8_t *kept; /* of samples that pass */
    int64_t first, count;
};

static enum store_status keep_row(struct export *export, const struct export_row *row,
                                  void *context)
{
    struct rows *rows = context;
    int64_t number = row->id - rows->first;

    (void)export;
    rows->kept[number >> 3] |= (uint8_t)(1u << (number & 7));
    return STORE_OK;
}

/* Which samples pass, as bits.  */
static bool find_kept(struct rows *rows)
{
    struct out *work = rows->out;
    struct export *export = work->export;
    int64_t last = 0;

    work->status = export_number(export,
                                 "SELECT min(id) FROM main.profile_sample WHERE capture_id = ?1",
                                 work->capture, 0, 1, &rows->first);
    if (work->status == STORE_OK)
        work->status = export_number(
            export, "SELECT max(id) FROM main.profile_sample WHERE capture_id = ?1", work->capture,
            0, 0, &last);
    if (work->status != STORE_OK)
        return false;
    if (rows->first < 1 || last > (INT64_C(1) << 40) || last - rows->first < -1)
        return out_corrupt(work, "ids of samples are out of range");
    rows->kept = calloc((size_t)(last - rows->first + 1) / 8 + 1, 1);
    if (!rows->kept)
        return out_no_memory(work);
    work->status = export_each_profile(export, 0, keep_row, rows);
    return work->status == STORE_OK;
}

static enum store_status put_row(struct export *export, const struct export_row *row, void *context)
{
    struct rows *rows = context;
    struct out *work = rows->out;
    struct profile_pprof_sample sample = { .value_count = work->type_count };

    export->counts->samples++;
    if (!places_stack(&rows->places, row->callsite, &sample.location_count))
        return work->status;
    if (sample.location_count == 0 && row->callsite)
        return STORE_OK;
    if (!out_values(work, row->id) ||
        !(row->arg_set ? out_labels(work, row->arg_set, &sample.label_count)
                       : owner_labels(work, row->process, row->thread, &sample.label_count)))
        return work->status;
    if (!out_thread(work, row->process, row->thread, &sample.thread))
        return work->status;
    sample.locations = work->stack;
    sample.stack = row->callsite;
    sample.values = work->values;
    sample.labels = work->labels;
    export->counts->rows++;
    return out_put(work, work->sink.sample(work->sink.context, &sample)) ? STORE_OK : work->status;
}

/* Samples of profiles know neither times nor CPUs, and not always threads.  */
static bool check_filter(struct out *work)
{
    const struct store_filter *filter = &work->export->filter;
    struct export_type type;

    if (!filter->cpus && !filter->has_from && !filter->has_limit && !filter->tids)
        return true;
    work->status = export_choose_type(work->export, true, &type);
    return work->status == STORE_OK;
}

static bool export_profile(struct out *work, bool is_pprof)
{
    struct export *export = work->export;
    struct rows rows = { .out = work, .places.out = work };
    bool filtered = export->keep || export->owners_filtered;
    bool ok = check_filter(work);

    if (ok && is_pprof && !work->sink.thread && !export->has_hide && !export->has_show_from) {
        ok = (!filtered || find_kept(&rows)) &&
             profile_tell(work, rows.kept, rows.first, &export->counts->rows);
        export->counts->samples = export->counts->rows;
    } else if (ok) {
        ok = out_header(work, export->filter.sample_type) && places_open(&rows.places, work);
        if (ok) {
            work->status = export_each_profile(export, 0, put_row, &rows);
            ok = work->status == STORE_OK;
        }
        places_release(&rows.places);
    }
    free(rows.kept);
    return ok;
}

/* ---- Which captures ---- */

/* One capture, or several traces: profiles have each their own sample types.  *format is that of
 * the last one, from malloc().  */
static bool choose_capture(struct out *work, char **format)
{
    struct export *export = work->export;
    sqlite3_stmt *row = out_prepare(work, "SELECT id, format FROM main.capture "
                                          "WHERE ?1 = 0 OR id = ?1 ORDER BY id");
    size_t captures = 0, profiles = 0;
    int code = SQLITE_DONE;
    bool ok = row != NULL;

    *format = NULL;
    if (row)
        (void)sqlite3_bind_int64(row, 1, export->filter.capture);
    while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 1);

        free(*format);
        *format = text ? strdup(text) : NULL;
        ok = *format != NULL || out_no_memory(work);
        profiles += *format && strcmp(*format, "fxt") != 0;
        work->capture = sqlite3_column_int64(row, 0);
        captures++;
    }
    if (ok && code != SQLITE_DONE)
        ok = out_failed(work, code);
    (void)sqlite3_finalize(row);
    if (ok && captures > 1 && profiles > 0) {
        work->status = store_fail(export->error, STORE_INVALID,
                                  "the store has several captures, profiles among them: choose one "
                                  "by its id");
        ok = false;
    }
    if (profiles == 0)
        work->capture = 0;
    return ok;
}

static int put_bytes(void *context, const void *bytes, size_t size)
{
    struct export *export = context;

    export_put(export, bytes, size);
    return export->output.system_errno;
}

/* Lines are what one_type.c's formats consist of.  */
static int put_lines(void *context, const void *bytes, size_t size)
{
    struct export *export = context;

    for (const char *next = bytes; size > 0;) {
        const char *end = memchr(next, '\n', size);
        size_t length = end ? (size_t)(end - next) + 1 : size;

        export->counts->rows += end != NULL;
        export_put(export, next, length);
        next += length;
        size -= length;
    }
    return export->output.system_errno;
}

static bool finish(struct out *work)
{
    struct profile_error error = { .status = PROFILE_OK };

    if (profile_writer_finish(work->writer, &error) == PROFILE_INVALID) {
        work->status = store_fail(work->export->error, STORE_INVALID, "%s", error.message);
        return false;
    }
    return out_put(work, error.status);
}

static bool export_all(struct out *work, struct export *export, const struct profile_format *format)
{
    char *origin = NULL;
    bool ok = out_open(work, export, format, format->one_type ? put_lines : put_bytes);

    if (ok && format->one_type)
        return one_type_tell(work) && finish(work);
    ok = ok && choose_capture(work, &origin);
    if (ok)
        ok = work->capture ? export_profile(work, origin && strcmp(origin, "pprof") == 0)
                           : export_traces(work);
    ok = ok && finish(work);
    free(origin);
    return ok;
}

enum store_status store_export_pprof(struct store *store, const struct store_filter *filter,
                                     const struct store_export_options *options,
                                     store_write_fn write, void *context,
                                     struct store_export_counts *counts, struct store_error *error)
{
    return store_export_profile(store, filter, profile_format_named("pprof"), options, write,
                                context, counts, error);
}

enum store_status store_export_folded(struct store *store, const struct store_filter *filter,
                                      const struct store_export_options *options,
                                      store_write_fn write, void *context,
                                      struct store_export_counts *counts, struct store_error *error)
{
    return store_export_profile(store, filter, profile_format_named("folded"), options, write,
                                context, counts, error);
}

enum store_status store_export_profile(struct store *store, const struct store_filter *filter,
                                       const struct profile_format *format,
                                       const struct store_export_options *options,
                                       store_write_fn write, void *context,
                                       struct store_export_counts *counts,
                                       struct store_error *error)
{
    struct store_error own_error = { .status = STORE_OK };
    struct store_export_counts own_counts;
    struct out work = { .status = STORE_OK };
    struct export *export = malloc(sizeof *export);
    enum store_status status;

    error = error ? error : &own_error;
    if (!export)
        return store_no_memory(error);
    status = export_begin(export, store, filter, options, write, context,
                          counts ? counts : &own_counts, error);
    if (status == STORE_OK && !export_all(&work, export, format))
        status = work.status;
    out_release(&work);
    if (status != STORE_OK && export->output.system_errno)
        status = export_written(export);
    status = export_end(export, status);
    free(export);
    return status;
}
