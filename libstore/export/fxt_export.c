/* fxt_export.c - a capture as FXT.
 *
 *   magic; providers; what the capture says of itself
 *   objects, which name processes and threads
 *   slices and flows; counters; logs; switches and wakeups
 *   mappings, samples, allocations and releases
 *   losses; threads and processes that nothing else mentions; the first and the last time
 */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/fxt_export.h"

#define TICKS_PER_SECOND 1000000000u
#define MOST_LOST        1000000 /* marks of a full buffer: more says no more */

/* ---- The capture ---- */

static enum store_status choose_capture(struct fx *fx)
{
    struct export *export = fx->export;
    const struct store_filter *filter = &export->filter;
    enum store_status status;

    if (filter->sample_type || filter->hide || filter->show_from)
        return store_fail(export->error, STORE_INVALID,
                          "FXT has addresses: it takes no sample type, and no functions out of "
                          "stacks");
    if (export->counts->captures != 1)
        return store_fail(export->error, STORE_INVALID,
                          export->counts->captures ? "the store has several captures: choose one"
                                                   : "there is no capture in the store");
    status = export_number(export, "SELECT id FROM main.capture WHERE ?1 IN (0, id)",
                           filter->capture, 0, 0, &fx->capture);
    if (status == STORE_OK) {
        int64_t fxt;

        status = export_number(export, "SELECT format = 'fxt' FROM main.capture WHERE id = ?1",
                               fx->capture, 0, 0, &fxt);
        if (status == STORE_OK && !fxt)
            status = store_fail(export->error, STORE_INVALID,
                                "capture %lld was not imported from a trace: export it as pprof or "
                                "folded stacks",
                                (long long)fx->capture);
    }
    return status;
}

/* Threads and processes of other captures are not to be met.  */
static void keep_own(struct fx *fx)
{
    struct export *export = fx->export;

    for (size_t i = 1; i <= export->process_count; i++)
        export->processes[i].kept &= export->processes[i].capture == fx->capture;
    for (size_t i = 1; i <= export->thread_count; i++) {
        struct export_thread *thread = &export->threads[i];

        thread->kept &= export->processes[thread->process].capture == fx->capture;
        if (thread->kept && !fx->first_threads[thread->process])
            fx->first_threads[thread->process] = (uint32_t)i;
    }
}

static enum store_status find_times(struct fx *fx)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT start_ts, end_ts, coalesce(max_frames, 0), arch, realtime_ns, monotonic_ns = 0 "
        "AND coalesce(period_ns, max_frames, nullif(command, ''), nullif(arch, ''), "
        "(SELECT value FROM main.meta WHERE capture_id = ?1 AND key IN ('kernel', 'cpu_model') "
        "LIMIT 1)) IS NULL FROM main.capture WHERE id = ?1",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    if (export_step(fx->export, row, &status)) {
        const char *arch = (const char *)sqlite3_column_text(row, 3);
        int64_t frames = sqlite3_column_int64(row, 2);

        fx->has_times = sqlite3_column_type(row, 0) == SQLITE_INTEGER;
        fx->start_ts = sqlite3_column_int64(row, 0);
        fx->end_ts = sqlite3_column_int64(row, 1);
        fx->max_frames = frames > 0 && frames <= UINT32_MAX ? (uint32_t)frames : 0;
        fx->arm64 = arch && (strcmp(arch, "aarch64") == 0 || strcmp(arch, "arm64") == 0);
        if (!fx->has_times || sqlite3_column_int64(row, 5))
            fx->realtime_ns = sqlite3_column_int64(row, 4);
        if (fx->start_ts < 0)
            fx->base_ticks = 0 - (uint64_t)fx->start_ts;
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* ---- Providers ---- */

/* Which CPU a provider is of: cpu + 1 called "cpu-N".  */
static int64_t cpu_of(const struct fx_provider *provider)
{
    char *end;
    long long cpu;

    if (strncmp(provider->name, "cpu-", 4) != 0)
        return -1;
    cpu = strtoll(provider->name + 4, &end, 10);
    return *end == '\0' && cpu >= 0 && provider->number == (uint64_t)cpu + 1 ? cpu : -1;
}

static enum store_status take_provider(struct fx *fx, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    int64_t lost = sqlite3_column_int64(row, 2);
    void *items = fx->providers;
    struct fx_provider *provider;

    if (!stacks_grow(&items, &fx->provider_capacity, fx->provider_count + 1, sizeof *fx->providers))
        return store_no_memory(fx->export->error);
    fx->providers = items;
    provider = &fx->providers[fx->provider_count];
    *provider = (struct fx_provider){ .number = (uint32_t)sqlite3_column_int64(row, 0),
                                      .lost = lost > 0 ? (uint64_t)lost : 0 };
    provider->name = malloc((name ? strlen(name) : 0) + 1);
    if (!provider->name)
        return store_no_memory(fx->export->error);
    memcpy(provider->name, name ? name : "", (name ? strlen(name) : 0) + 1);
    provider->cpu = cpu_of(provider);
    if (fx->main == FX_NO_PROVIDER || (fx->providers[fx->main].cpu >= 0 && provider->cpu < 0))
        fx->main = fx->provider_count;
    fx->provider_count++;
    return STORE_OK;
}

static enum store_status put_init(struct fx *fx)
{
    struct fxt_record record = { .kind = FXT_RECORD_INIT };

    record.value.init.ticks_per_second = TICKS_PER_SECOND;
    record.value.init.extended = fx->base_ticks > 0 || fx->realtime_ns != 0;
    record.value.init.base_ticks = fx->base_ticks;
    record.value.init.base_time_ns = fx->realtime_ns;
    return fx_put(fx, &record);
}

/* All of them come first, so that they are numbered as they were.  */
static enum store_status put_providers(struct fx *fx)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT provider_id, name, lost FROM main.provider WHERE capture_id = ?1 ORDER BY id",
        &status);

    fx->main = FX_NO_PROVIDER;
    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(fx->export, row, &status))
        status = take_provider(fx, row);
    (void)sqlite3_finalize(row);
    for (size_t i = 0; i < fx->provider_count && status == STORE_OK; i++) {
        struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_INFO };

        record.value.provider.id = fx->providers[i].number;
        record.name = fx_inline(fx->providers[i].name);
        fx->current = i;
        status = fx_put(fx, &record);
        if (status == STORE_OK)
            status = put_init(fx);
    }
    if (status == STORE_OK && fx->provider_count == 0) {
        fx->current = FX_NO_PROVIDER;
        status = put_init(fx);
    }
    return status == STORE_OK ? fx_switch(fx, fx->main) : status;
}

/* A mark for each time that a provider said its buffer was full.  */
static enum store_status put_provider_losses(struct fx *fx)
{
    enum store_status status = STORE_OK;

    for (size_t i = 0; i < fx->provider_count; i++) {
        struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_EVENT };
        uint64_t lost = fx->providers[i].lost;

        record.value.provider.id = fx->providers[i].number;
        if (lost > MOST_LOST)
            fx->export->counts->left_out += lost - MOST_LOST;
        for (uint64_t k = 0; k < lost && k < MOST_LOST && status == STORE_OK; k++)
            status = fx_put(fx, &record);
    }
    return status;
}

/* ---- What the capture says of itself ---- */

static void add_number(struct fxt_record *record, struct fxt_arg *args, const char *name,
                       uint64_t number)
{
    args[record->arg_count++] =
        (struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fx_inline(name), .value.uint64 = number };
}

static void add_signed(struct fxt_record *record, struct fxt_arg *args, const char *name,
                       int64_t number)
{
    args[record->arg_count++] =
        (struct fxt_arg){ .type = FXT_ARG_INT64, .name = fx_inline(name), .value.int64 = number };
}

static void add_text(struct fxt_record *record, struct fxt_arg *args, const char *name,
                     sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    if (text && *text)
        args[record->arg_count++] = (struct fxt_arg){ .type = FXT_ARG_STRING,
                                                      .name = fx_inline(name),
                                                      .value.string = fx_inline(text) };
}

/* Columns: period, max_frames, realtime, monotonic, command, arch, kernel, cpu_model, interval.  */
static enum store_status put_session(struct fx *fx, sqlite3_stmt *row, int64_t period_ns, bool heap)
{
    struct fxt_arg args[FXT_MAX_ARGS];
    struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .category = fx_inline("fxt.capture"),
        .name = fx_inline("session"),
        .args = args,
    };

    record.value.event.type = FXT_EVENT_INSTANT;
    record.value.event.has_scope = true;
    record.value.event.scope = FXT_SCOPE_GLOBAL;
    if (heap)
        add_number(&record, args, "sampling_interval_bytes",
                   (uint64_t)sqlite3_column_int64(row, 8));
    if (period_ns > 0 && !heap)
        add_number(&record, args, "period_ns", (uint64_t)period_ns);
    if (fx->max_frames)
        add_number(&record, args, "max_frames", fx->max_frames);
    if (sqlite3_column_type(row, 2) == SQLITE_INTEGER && fx->realtime_ns == 0) {
        add_signed(&record, args, "realtime_ns", sqlite3_column_int64(row, 2));
        add_signed(&record, args, "monotonic_ns", sqlite3_column_int64(row, 3));
    }
    add_text(&record, args, "command", row, 4);
    add_text(&record, args, "arch", row, 5);
    add_text(&record, args, "kernel", row, 6);
    add_text(&record, args, "cpu_model", row, 7);
    if (record.arg_count == 0)
        return STORE_OK;
    return fx_put_at(fx, &record, fx->start_ts);
}

static enum store_status put_sessions(struct fx *fx, int64_t period_ns, bool heap)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT c.period_ns, c.max_frames, c.realtime_ns, c.monotonic_ns, c.command, c.arch, "
        "(SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'kernel'), "
        "(SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'cpu_model'), 131072 "
        "FROM main.capture AS c WHERE c.id = ?1",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    if (export_step(fx->export, row, &status)) {
        fx->period_ns = period_ns;
        if (heap)
            status = put_session(fx, row, period_ns, true);
        else
            status = put_session(fx, row, period_ns, false);
    }
    (void)sqlite3_finalize(row);
    return status;
}

enum store_status fx_session(struct fx *fx, int64_t period_ns)
{
    enum store_status status = fx_switch(fx, fx->main);

    return status == STORE_OK ? put_sessions(fx, period_ns, false) : status;
}

/* One of the heap, whose depth is its own, and one of the samples.  */
static enum store_status put_first_sessions(struct fx *fx)
{
    int64_t heap = 0, samples = 0, period = 0;
    enum store_status status;

    if (!fx->has_times)
        return STORE_OK;
    status = export_number(fx->export,
                           "SELECT 1 FROM main.heap_event WHERE upid IN (SELECT id FROM "
                           "main.process WHERE capture_id = ?1) LIMIT 1",
                           fx->capture, 0, 0, &heap);
    if (status == STORE_OK)
        status = export_number(fx->export, "SELECT sample_count FROM main.capture WHERE id = ?1",
                               fx->capture, 0, 0, &samples);
    if (status == STORE_OK)
        status = export_number(fx->export, "SELECT period_ns FROM main.capture WHERE id = ?1",
                               fx->capture, 0, 0, &period);
    if (status == STORE_OK && heap && fx->max_frames)
        status = put_sessions(fx, 0, true);
    if (status == STORE_OK && (samples || period || !heap || !fx->max_frames))
        status = put_sessions(fx, period, false);
    return status;
}

/* The events of samples: their ids are those of the sample types.  */
static enum store_status put_events(struct fx *fx)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export,
        "SELECT t.id, t.type, t.unit FROM main.sample_event AS e JOIN main.sample_type AS t "
        "ON t.id = e.sample_type_id WHERE e.capture_id = ?1 ORDER BY e.ordinal",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(fx->export, row, &status)) {
        struct fxt_arg args[3];
        struct fxt_record record = { .kind = FXT_RECORD_EVENT,
                                     .category = fx_inline("fxt.capture"),
                                     .name = fx_inline("sample_event"),
                                     .args = args };

        record.value.event.type = FXT_EVENT_INSTANT;
        record.value.event.has_scope = true;
        record.value.event.scope = FXT_SCOPE_GLOBAL;
        add_number(&record, args, "id", (uint64_t)sqlite3_column_int64(row, 0));
        add_text(&record, args, "name", row, 1);
        add_text(&record, args, "unit", row, 2);
        status = fx_put_at(fx, &record, fx->start_ts);
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* The period that holds for the whole capture is the one said last.  */
static enum store_status put_last_session(struct fx *fx)
{
    int64_t period = 0;
    enum store_status status = export_number(
        fx->export, "SELECT period_ns FROM main.capture WHERE id = ?1", fx->capture, 0, 0, &period);

    return status == STORE_OK && period != fx->period_ns ? fx_session(fx, period) : status;
}

/* ---- Losses ---- */

/* Counters of one name, of all CPUs, processes or providers together.  */
static enum store_status put_counter(struct fx *fx, const char *name, const struct fxt_arg *args,
                                     size_t count)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .category = fx_inline("fxt.capture"),
        .name = fx_inline(name),
        .args = args,
        .arg_count = count,
    };

    record.value.event.type = FXT_EVENT_COUNTER;
    return count > 0 ? fx_put_at(fx, &record, fx->end_ts) : STORE_OK;
}

#define LOSSES (sizeof(struct profile_loss) / sizeof(uint64_t))

/* Arguments by the counter that has them.  */
struct counters {
    const char *names[LOSSES];
    struct fxt_arg args[LOSSES][LOSSES];
    size_t counts[LOSSES], count;
};

static void add_loss(struct counters *counters, const char *name, int64_t value)
{
    const struct profile_loss none = { .ring = 0 };
    struct profile_loss_cause cause;
    size_t i = 0, k = 0;

    while (profile_loss_at(&none, i, &cause) && strcmp(name, cause.name) != 0)
        i++;
    if (i == LOSSES || !cause.counter)
        return;
    while (k < counters->count && strcmp(counters->names[k], cause.counter) != 0)
        k++;
    counters->names[k] = cause.counter;
    counters->count += k == counters->count;
    if (counters->counts[k] < LOSSES)
        counters->args[k][counters->counts[k]++] = (struct fxt_arg){
            .type = FXT_ARG_UINT64,
            .name = fx_inline(cause.argument),
            .value.uint64 = (uint64_t)value,
        };
}

static enum store_status put_losses(struct fx *fx)
{
    struct counters counters = { .count = 0 };
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export, "SELECT name, count FROM main.loss WHERE capture_id = ?1 ORDER BY name",
        &status);

    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(fx->export, row, &status)) {
        const char *name = (const char *)sqlite3_column_text(row, 0);

        if (name)
            add_loss(&counters, name, sqlite3_column_int64(row, 1));
    }
    (void)sqlite3_finalize(row);
    for (size_t k = 0; k < counters.count && status == STORE_OK; k++)
        status = put_counter(fx, counters.names[k], counters.args[k], counters.counts[k]);
    return status == STORE_OK ? put_provider_losses(fx) : status;
}

/* ---- What nothing else mentions ---- */

static enum store_status mention_time(struct fx *fx, uint32_t thread, uint32_t process, int64_t ts)
{
    if (thread)
        return fx_mention(fx, thread, ts);
    return process ? fx_mention_process(fx, process, ts) : STORE_OK;
}

static enum store_status mention_rest(struct fx *fx)
{
    const struct export *export = fx->export;
    uint32_t thread = 0, process = 0;
    enum store_status status = STORE_OK;

    for (uint32_t i = 1; i <= export->thread_count && status == STORE_OK; i++) {
        if (!export->threads[i].kept)
            continue;
        thread = i;
        if (!fx->mentioned[i] && fx->has_times)
            status = fx_mention(fx, i, fx->start_ts);
    }
    for (uint32_t i = 1; i <= export->process_count && status == STORE_OK; i++) {
        if (!export->processes[i].kept)
            continue;
        process = i;
        if (!fx->first_threads[i] && !fx->maps.spaces[i].mapped && fx->has_times)
            status = fx_mention_process(fx, i, fx->start_ts);
    }
    if (!fx->has_times)
        return status;
    if (status == STORE_OK && !export->filter.has_from &&
        (!fx->timed || fx->least_ts > fx->start_ts))
        status = mention_time(fx, thread, process, fx->start_ts);
    if (status == STORE_OK && !export->filter.has_limit && (!fx->timed || fx->most_ts < fx->end_ts))
        status = mention_time(fx, thread, process, fx->end_ts);
    return status;
}

/* ---- All of it ---- */

/* Fits fxt_write_fn.  */
static int put_bytes(void *context, const void *bytes, size_t size)
{
    struct export *export = context;

    export_put(export, bytes, size);
    return export->output.system_errno;
}

static enum store_status prepare(struct fx *fx)
{
    struct export *export = fx->export;
    struct fxt_error error;
    enum store_status status = choose_capture(fx);

    if (status == STORE_OK)
        status = find_times(fx);
    fx->mentioned = calloc(export->thread_count + 1, sizeof *fx->mentioned);
    fx->first_threads = calloc(export->process_count + 1, sizeof *fx->first_threads);
    if (status == STORE_OK && (!fx->mentioned || !fx->first_threads ||
                               fxt_writer_open(put_bytes, export, &fx->writer, &error) != FXT_OK))
        status = store_no_memory(export->error);
    fx->args = export_prepare(export,
                              "SELECT a.key_id, k.text, a.type, a.value FROM main.arg AS a "
                              "LEFT JOIN main.string AS k ON k.id = a.key_id "
                              "WHERE a.arg_set_id = ?1 ORDER BY a.ordinal",
                              &status);
    fx->names = export_prepare(export, "SELECT category, name FROM main.event_name WHERE id = ?1",
                               &status);
    if (status != STORE_OK || !fx->first_threads)
        return status;
    keep_own(fx);
    status = fx_load_tracks(fx);
    return status == STORE_OK ? fx_load_maps(fx) : status;
}

/* About how many records there will be.  */
static enum store_status estimate(struct fx *fx)
{
    int64_t records = 0;
    enum store_status status = export_number(
        fx->export,
        "SELECT total(sample_count) + 2 * total(slice_count) "
        "+ 2 * coalesce((SELECT max(id) FROM main.heap_event), 0) "
        "+ coalesce((SELECT max(id) FROM main.counter), 0) "
        "+ 2 * coalesce((SELECT max(id) FROM main.flow), 0) "
        "+ coalesce((SELECT max(id) FROM main.sched_slice), 0) "
        "+ coalesce((SELECT max(id) FROM main.log), 0) FROM main.capture WHERE id = ?1",
        fx->capture, 0, 0, &records);

    fx->export->total = records > 0 ? (uint64_t)records : 0;
    return status;
}

static enum store_status put_all(struct fx *fx)
{
    static enum store_status (*const parts[])(struct fx * fx) = {
        estimate,     put_providers, put_first_sessions, put_events, fx_objects,       fx_slices,
        fx_counters,  fx_logs,       fx_sched,           fx_stacks,  put_last_session, put_losses,
        mention_rest,
    };
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };
    enum store_status status;

    magic.value.magic.number = 0x16547846;
    status = fx_put(fx, &magic);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == STORE_OK; i++)
        status = parts[i](fx);
    return status;
}

static void release(struct fx *fx)
{
    fx_release_tracks(fx);
    fx_release_maps(fx);
    for (size_t i = 0; i < fx->provider_count; i++)
        free(fx->providers[i].name);
    sqlite3_free(fx->providers);
    base_pairs_release(&fx->strings);
    base_pairs_release(&fx->thread_indexes);
    free(fx->argument_bytes.bytes);
    fx_release_names(fx);
    free(fx->mentioned);
    free(fx->first_threads);
    (void)sqlite3_finalize(fx->args);
    (void)sqlite3_finalize(fx->names);
    fxt_writer_close(fx->writer);
}

/* Sorting what does not fit into memory.  */
static void sort_in_files(struct store *store, bool files)
{
    if (sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db,
                           files ? "PRAGMA temp_store = FILE" : "PRAGMA temp_store = MEMORY", NULL,
                           NULL, NULL);
}

enum store_status store_export_fxt(struct store *store, const struct store_filter *filter,
                                   const struct store_export_options *options, store_write_fn write,
                                   void *context, struct store_export_counts *counts,
                                   struct store_error *error)
{
    struct export export;
    struct fx fx = { .export = &export };
    enum store_status status;

    sort_in_files(store, true);
    status = export_begin(&export, store, filter, options, write, context, counts, error);
    if (status == STORE_OK)
        status = prepare(&fx);
    if (status == STORE_OK)
        status = put_all(&fx);
    release(&fx);
    status = export_end(&export, status);
    sort_in_files(store, false);
    return status;
}
