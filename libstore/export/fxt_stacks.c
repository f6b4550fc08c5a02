/* fxt_stacks.c - samples, allocations and releases, by time, with the mappings they need.  */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "libstore/export/fxt_export.h"

/* Depths at which readers hold a stack for cut, where the capture does not say (as
 * libprofile/ingest has them).  */
#define BLOB_FRAMES      64u
#define BACKTRACE_FRAMES 255u

struct fx_pcs {
    uint64_t *words; /* little-endian, leaf first */
    size_t count, capacity;
    bool truncated; /* its root says so */
    bool whole;     /* every frame has an address */
};

struct fx_stream {
    sqlite3_stmt *samples, *events;
    bool samples_over, events_over;
    struct fx_pcs pcs;
    uint64_t interval_bytes; /* found last */
    uint8_t *message;        /* FIDL_MAX_MESSAGE bytes */
};

/* ---- Stacks ---- */

/* The addresses of a stack as a record has them: all but the first `exact` point behind a call.  */
static enum store_status find_pcs(struct fx *fx, struct fx_pcs *pcs, uint32_t process,
                                  uint32_t callsite, size_t exact)
{
    const struct stacks *stacks = fx->export->stacks;
    enum store_status status = STORE_OK;

    pcs->count = 0;
    pcs->truncated = false;
    pcs->whole = true;
    for (uint32_t at = callsite; at && status == STORE_OK; at = stacks->parents[at]) {
        uint32_t frame = stacks->frames[at];
        uint64_t address = 0;
        bool found = false;

        if (stacks->parents[at] == 0 && at != callsite && stacks->modules[frame] == 0 &&
            strcmp(stacks_function(stacks, frame, 0), "[truncated]") == 0) {
            pcs->truncated = true;
            break;
        }
        if (!stacks_grow(&pcs->words, &pcs->capacity, pcs->count + 1, sizeof *pcs->words))
            return store_no_memory(fx->export->error);
        status = fx_address(fx, process, frame, &address, &found);
        pcs->whole &= found;
        pcs->words[pcs->count] = htole64(address + (pcs->count >= exact));
        pcs->count++;
    }
    return status;
}

/* Mappings that are written on the way change what was found before: once more, then.  */
static enum store_status find_stack(struct fx *fx, struct fx_pcs *pcs, uint32_t process,
                                    uint32_t callsite, size_t exact)
{
    const struct fx_space *space = &fx->maps.spaces[process];
    uint32_t generation = space->generation;
    enum store_status status = find_pcs(fx, pcs, process, callsite, exact);

    if (status == STORE_OK && space->generation != generation)
        status = find_pcs(fx, pcs, process, callsite, exact);
    fx->export->counts->left_out += status == STORE_OK && !pcs->whole;
    return status;
}

/* ---- CPU samples ---- */

/* Whether a reader that takes so many frames for a cut stack would be right.  */
static bool is_told_right(const struct fx_pcs *pcs, size_t depth)
{
    return pcs->truncated == (pcs->count >= depth);
}

/* The provider of a CPU; of none, one that is no CPU's.  Made if there is none.  */
static enum store_status find_provider(struct fx *fx, bool has_cpu, int64_t cpu, size_t *out)
{
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO };
    struct fxt_record init = { .kind = FXT_RECORD_INIT };
    void *items = fx->providers;
    struct fx_provider provider = { .cpu = has_cpu ? cpu : -1 };
    char name[32];
    enum store_status status;

    if (!has_cpu && (fx->main == FX_NO_PROVIDER || fx->providers[fx->main].cpu < 0)) {
        *out = fx->main;
        if (fx->current == fx->main)
            return STORE_OK;
    }
    for (size_t i = 0; i < fx->provider_count; i++)
        if (fx->providers[i].cpu == provider.cpu) {
            *out = i;
            return STORE_OK;
        }
    if (!stacks_grow(&items, &fx->provider_capacity, fx->provider_count + 1, sizeof *fx->providers))
        return store_no_memory(fx->export->error);
    fx->providers = items;
    (void)sqlite3_snprintf((int)sizeof name, name, has_cpu ? "cpu-%lld" : "fxtq", (long long)cpu);
    provider.number = has_cpu ? (uint32_t)cpu + 1 : 0xffff0001u;
    info.value.provider.id = provider.number;
    info.name = fx_inline(name);
    init.value.init.ticks_per_second = 1000000000;
    init.value.init.extended = fx->base_ticks > 0;
    init.value.init.base_ticks = fx->base_ticks;
    fx->providers[fx->provider_count] = provider;
    *out = fx->current = fx->provider_count++;
    status = fx_put(fx, &info);
    return status == STORE_OK ? fx_put(fx, &init) : status;
}

enum { CPU_TIME = 1 }; /* sample_type.id */

static enum store_status put_sample(struct fx *fx, struct fx_pcs *pcs, const struct export_row *row)
{
    const struct fxt_arg args[] = {
        { .type = FXT_ARG_UINT64,
          .name = fx_inline("event"),
          .value.uint64 = (uint64_t)row->sample_type },
        { .type = FXT_ARG_UINT64,
          .name = fx_inline("amount"),
          .value.uint64 = (uint64_t)row->value },
    };
    struct fxt_record record = { .kind = FXT_RECORD_LARGE_BLOB };
    bool is_event = row->sample_type != CPU_TIME;
    size_t blob = fx->max_frames ? fx->max_frames : BLOB_FRAMES;
    size_t backtrace = fx->max_frames ? fx->max_frames : BACKTRACE_FRAMES;
    size_t provider = fx->main;
    enum store_status status;

    status = find_provider(fx, row->has_cpu && row->cpu >= 0 && row->cpu < 0xfffe0000, row->cpu,
                           &provider);
    if (status == STORE_OK)
        status = fx_switch(fx, provider);
    if (status == STORE_OK)
        status = fx_thread(fx, row->thread, &record.thread);
    record.thread.index = 0; /* the sampler has them inline */
    record.value.large_blob.payload = (struct fxt_bytes){ (const uint8_t *)pcs->words,
                                                          8 * pcs->count };
    if (is_event) {
        record.category = fx_inline("fxt.capture");
        record.name = fx_inline("sample");
        record.args = args;
        record.arg_count = sizeof args / sizeof *args;
    }
    if (!is_event && !is_told_right(pcs, blob) && is_told_right(pcs, backtrace) && !fx->arm64) {
        record.kind = FXT_RECORD_BACKTRACE;
        record.value.backtrace.frames = (struct fxt_words){ (const uint8_t *)pcs->words,
                                                            pcs->count };
    } else {
        fx->export->counts->left_out += !is_told_right(pcs, blob);
    }
    fx->export->counts->samples++;
    return status == STORE_OK ? fx_put_at(fx, &record, row->ts) : status;
}

/* Columns: id, ts, cpu, utid, callsite, weight, sample type.  */
static enum store_status read_sample(struct fx *fx, sqlite3_stmt *from, struct export_row *row)
{
    const struct export *export = fx->export;
    int64_t thread = sqlite3_column_int64(from, 3), callsite = sqlite3_column_int64(from, 4);

    *row = (struct export_row){
        .ts = sqlite3_column_int64(from, 1),
        .has_cpu = sqlite3_column_type(from, 2) == SQLITE_INTEGER,
        .cpu = sqlite3_column_int64(from, 2),
        .value = sqlite3_column_int64(from, 5),
        .sample_type = sqlite3_column_int64(from, 6),
    };
    if (thread < 1 || thread > (int64_t) export->thread_count || callsite < 1 ||
        callsite > (int64_t) export->stacks->callsite_count)
        return export_corrupt(fx->export, "a sample's thread or stack is not there");
    row->thread = (uint32_t)thread;
    row->process = export->threads[thread].process;
    row->callsite = (uint32_t)callsite;
    return STORE_OK;
}

static bool keeps_stack(const struct fx *fx, uint32_t callsite)
{
    const uint8_t *keep = fx->export->keep;

    return !keep || (callsite && keep[callsite >> 3] >> (callsite & 7) & 1);
}

static bool keeps_sample(const struct fx *fx, const struct export_row *row)
{
    const struct export *export = fx->export;

    return fx_keeps_time(fx, row->ts) && export->threads[row->thread].kept &&
           keeps_stack(fx, row->callsite) && export_keeps_cpu(export, row);
}

static enum store_status take_sample(struct fx *fx, struct fx_stream *stream)
{
    struct export_row row = { .thread = 0 };
    enum store_status status = read_sample(fx, stream->samples, &row);

    if (status != STORE_OK || !keeps_sample(fx, &row))
        return status;
    if (row.sample_type == CPU_TIME && row.value != fx->period_ns)
        status = fx_session(fx, row.value);
    if (status == STORE_OK)
        status = fx_maps_until(fx, row.process, true, row.ts);
    if (status == STORE_OK)
        status = find_stack(fx, &stream->pcs, row.process, row.callsite, fx->arm64 ? 2 : 1);
    return status == STORE_OK ? put_sample(fx, &stream->pcs, &row) : status;
}

/* ---- The heap ---- */

/* As libprofile/ingest/heap.c weighs an allocation.  */
static double weight(uint64_t size, uint64_t interval)
{
    if (size == 0 || interval == 0)
        return 1;
    return -1 / expm1(-(double)size / (double)interval);
}

static bool gives(uint64_t size, uint64_t interval, double objects)
{
    double difference = weight(size, interval) - objects;

    return difference <= 0 && difference >= 0;
}

/* The sampling interval that gave an allocation its weight: what gave the one before, or the number
 * beside the formula's inverse that fits to the last bit.  */
static uint64_t find_interval(uint64_t size, double objects, uint64_t before)
{
    double inverse;
    uint64_t near;

    if (gives(size, before, objects))
        return before;
    if (!(objects > 1) || size == 0)
        return 0;
    inverse = -(double)size / log1p(-1 / objects);
    if (!(inverse >= 1 && inverse < 0x1p62))
        return 1;
    near = (uint64_t)llround(inverse);
    for (uint64_t i = 0; i < 64; i++) {
        if (gives(size, near + i, objects))
            return near + i;
        if (near > i && gives(size, near - i, objects))
            return near - i;
    }
    return near;
}

struct fx_event {
    bool release, has_ts;
    int64_t ts;
    uint32_t process, callsite;
    uint64_t address, size;
    double objects;
};

/* Columns: order by time, order, release, ts, upid, address, size, objects, callsite.  */
static enum store_status read_event(struct fx *fx, sqlite3_stmt *from, struct fx_event *event)
{
    const struct export *export = fx->export;
    int64_t process = sqlite3_column_int64(from, 4), callsite = sqlite3_column_int64(from, 8);

    if (process < 1 || process > (int64_t) export->process_count || callsite < 0 ||
        callsite > (int64_t) export->stacks->callsite_count)
        return export_corrupt(fx->export, "an allocation's process or stack is not there");
    *event = (struct fx_event){
        .release = sqlite3_column_int64(from, 2) != 0,
        .has_ts = sqlite3_column_type(from, 3) == SQLITE_INTEGER,
        .ts = sqlite3_column_int64(from, 3),
        .process = (uint32_t)process,
        .address = (uint64_t)sqlite3_column_int64(from, 5),
        .size = (uint64_t)sqlite3_column_int64(from, 6),
        .objects = sqlite3_column_double(from, 7),
        .callsite = (uint32_t)callsite,
    };
    return STORE_OK;
}

static bool keeps_event(const struct fx *fx, const struct fx_event *event)
{
    return fx_keeps_process(fx, event->process) && !fx->export->cpus &&
           (event->release || keeps_stack(fx, event->callsite)) &&
           (event->has_ts ? fx_keeps_time(fx, event->ts)
                          : !fx->export->filter.has_from && !fx->export->filter.has_limit);
}

static enum store_status put_event(struct fx *fx, struct fx_stream *stream,
                                   const struct fx_event *event)
{
    const struct fx_pcs *pcs = &stream->pcs;
    uint64_t koid = fx->export->processes[event->process].koid;
    enum fidl_status encoded;
    size_t length;

    if (event->release)
        encoded = fidl_encode_deallocation(FIDL_GENERATION_2, event->address, pcs->words,
                                           pcs->count, stream->message, FIDL_MAX_MESSAGE, &length);
    else
        encoded = fidl_encode_allocation(FIDL_GENERATION_2, event->address, pcs->words, pcs->count,
                                         event->size, stream->message, FIDL_MAX_MESSAGE, &length);
    if (encoded != FIDL_OK) {
        fx->export->counts->left_out++;
        return STORE_OK;
    }
    fx->export->counts->samples += !event->release;
    return fx_message(fx, koid, event->has_ts ? event->ts : fx->start_ts, stream->message, length,
                      event->release ? NULL : &stream->interval_bytes);
}

static enum store_status take_event(struct fx *fx, struct fx_stream *stream)
{
    struct fx_event event = { .release = false };
    enum store_status status = read_event(fx, stream->events, &event);

    if (status != STORE_OK || !keeps_event(fx, &event))
        return status;
    if (!event.release)
        stream->interval_bytes = find_interval(event.size, event.objects, stream->interval_bytes);
    status = fx_switch(fx, fx->main);
    if (status == STORE_OK)
        status = fx_maps_until(fx, event.process, event.has_ts, event.ts);
    if (status == STORE_OK)
        status = find_stack(fx, &stream->pcs, event.process, event.callsite, 0);
    for (size_t i = 0; i < stream->pcs.count; i++) /* the encoder takes numbers */
        stream->pcs.words[i] = le64toh(stream->pcs.words[i]);
    return status == STORE_OK ? put_event(fx, stream, &event) : status;
}

/* ---- Both, by time ---- */

/* Messages stand in the order of their times, but allocations in their own, and a release before
 * its address is given out again: so readers bring the same ones together.  */
static const char event_sql[] =
    "WITH h AS (SELECT e.id, e.ts, e.freed, e.free_ts, e.upid, e.address, e.size, e.objects, "
    "e.callsite_id, e.free_callsite_id, max(coalesce(e.ts, -9223372036854775807)) OVER (ORDER BY "
    "e.id) AS t FROM main.heap_event AS e JOIN main.process AS p ON p.id = e.upid AND "
    "p.capture_id = ?1),\n"
    "n AS (SELECT *, lead(t) OVER (PARTITION BY upid, address ORDER BY id) AS next_t FROM h)\n"
    "SELECT t, 2 * id + 1, 0, ts, upid, address, size, objects, coalesce(callsite_id, 0) FROM n\n"
    "UNION ALL SELECT min(max(coalesce(free_ts, t), t), coalesce(next_t, 9223372036854775807)), "
    "2 * id + 2, 1, free_ts, upid, address, size, objects, coalesce(free_callsite_id, 0) FROM n "
    "WHERE freed = 1 ORDER BY 1, 2";

static const char sample_sql[] =
    "SELECT id, ts, cpu, utid, callsite_id, coalesce(weight, 0), sample_type_id FROM "
    "main.cpu_sample "
    "WHERE id >= (SELECT first_sample_id FROM main.capture WHERE id = ?1) AND id < "
    "(SELECT first_sample_id + sample_count FROM main.capture WHERE id = ?1) ORDER BY id";

static enum store_status walk(struct fx *fx, struct fx_stream *stream)
{
    enum store_status status = STORE_OK;

    stream->samples_over = !export_step(fx->export, stream->samples, &status);
    stream->events_over = !export_step(fx->export, stream->events, &status);
    while (status == STORE_OK && (!stream->samples_over || !stream->events_over)) {
        bool sample = stream->events_over ||
                      (!stream->samples_over && sqlite3_column_int64(stream->samples, 1) <
                                                    sqlite3_column_int64(stream->events, 0));

        status = sample ? take_sample(fx, stream) : take_event(fx, stream);
        if (sample)
            stream->samples_over = !export_step(fx->export, stream->samples, &status);
        else
            stream->events_over = !export_step(fx->export, stream->events, &status);
    }
    return status;
}

enum store_status fx_stacks(struct fx *fx)
{
    struct fx_stream stream = { .interval_bytes = 0 };
    enum store_status status = fx_first_maps(fx);

    stream.samples = export_prepare(fx->export, sample_sql, &status);
    stream.events = export_prepare(fx->export, event_sql, &status);
    stream.message = malloc(FIDL_MAX_MESSAGE);
    if (status == STORE_OK && !stream.message)
        status = store_no_memory(fx->export->error);
    if (status == STORE_OK) {
        (void)sqlite3_bind_int64(stream.samples, 1, fx->capture);
        (void)sqlite3_bind_int64(stream.events, 1, fx->capture);
        status = walk(fx, &stream);
    }
    (void)sqlite3_finalize(stream.samples);
    (void)sqlite3_finalize(stream.events);
    sqlite3_free(stream.pcs.words);
    free(stream.message);
    if (status == STORE_OK)
        status = fx_switch(fx, fx->main);
    return status == STORE_OK ? fx_last_maps(fx) : status;
}
