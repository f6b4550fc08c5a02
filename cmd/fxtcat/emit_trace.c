#include "cmd/fxtcat/emit_trace.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC_NUMBER 0x16547846u
#define STRING_COUNT 32768u
#define NO_PROVIDER  SIZE_MAX
#define NAMELESS     (UINT64_C(1) << 32) /* the key of the nameless one: no id is as large */
#define FIRST_NEW_ID 1u                  /* section 5 rule 1: not 0 */

/* A provider of the input, and how far the output knows it.  */
struct emit_provider {
    uint32_t id;     /* in the output */
    bool nameless;   /* stands before all provider records, there too */
    bool introduced; /* its provider info record was written */
    bool has_clock;  /* the three below were written as an initialization record */
    uint64_t ticks_per_second;
    uint64_t base_ticks;
    int64_t base_time_ns;
    uint8_t *strings; /* bits: which indexes the output has as the input has them; or NULL */
    uint8_t threads[32];
};

static bool has_bit(const uint8_t *bits, unsigned i)
{
    return bits[i / 8] >> i % 8 & 1;
}

static void set_bit(uint8_t *bits, unsigned i, bool value)
{
    unsigned mask = 1u << i % 8;

    bits[i / 8] = (uint8_t)(value ? bits[i / 8] | mask : bits[i / 8] & ~mask);
}

/* ---- Writing ---- */

static void put_magic(struct emit *emit)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAGIC };

    record.value.magic.number = MAGIC_NUMBER;
    job_put(emit->job, emit->writer, &record);
}

/* ---- Providers ---- */

enum cli_exit emit_open(struct emit *emit, struct job *job, enum emit_tables tables)
{
    struct fxt_error error;

    *emit = (struct emit){
        .job = job, .tables = tables, .next_id = FIRST_NEW_ID, .present = NO_PROVIDER
    };
    if (fxt_writer_open(cli_output_write, &job->output, &emit->writer, &error) != FXT_OK) {
        cli_error("%s", error.message);
        return CLI_ENVIRONMENT;
    }
    put_magic(emit);
    return CLI_OK;
}

static void forget_providers(struct emit *emit)
{
    for (size_t i = 0; i < emit->count; i++)
        free(emit->providers[i].strings);
    emit->count = 0;
    base_map_release(&emit->by_id);
}

void emit_start(struct emit *emit, const char *path)
{
    forget_providers(emit);
    emit->present = emit->source = NO_PROVIDER;
    emit->in_default = true;
    put_base_name(emit->name, sizeof emit->name, strcmp(path, "-") == 0 ? "standard input" : path);
}

void emit_close(struct emit *emit)
{
    forget_providers(emit);
    free(emit->providers);
    base_map_release(&emit->taken);
    fxt_writer_close(emit->writer);
}

/* The id of a new provider in the output: its own if it can be, or the first that is free.  */
static uint32_t choose_id(struct emit *emit, uint64_t id)
{
    if (emit->tables == EMIT_AS_NEEDED)
        return (uint32_t)id;
    if (id == 0 || id > UINT32_MAX || base_map_find(&emit->taken, id)) {
        while (base_map_find(&emit->taken, emit->next_id))
            emit->next_id++;
        id = emit->next_id;
    }
    cli_map_set(&emit->taken, id, 0);
    return (uint32_t)id;
}

/* The index of the provider with that id in the input (or NAMELESS), new if there is none;
 * NO_PROVIDER when there are too many.  */
static size_t find_provider(struct emit *emit, uint64_t id)
{
    uint64_t *known = base_map_find(&emit->by_id, id);
    struct emit_provider *grown;

    if (known)
        return (size_t)*known;
    if (emit->count == EMIT_MAX_PROVIDERS) {
        cli_error("%s: more than %s providers", emit->job->trace.path,
                  cli_grouped(EMIT_MAX_PROVIDERS));
        job_fail(emit->job, CLI_ENVIRONMENT);
        return NO_PROVIDER;
    }
    if (emit->count == emit->capacity) {
        emit->capacity = emit->capacity ? 2 * emit->capacity : 8;
        grown = cli_allocate(emit->capacity, sizeof *grown);
        if (emit->count)
            memcpy(grown, emit->providers, emit->count * sizeof *grown);
        free(emit->providers);
        emit->providers = grown;
    }
    emit->providers[emit->count] = (struct emit_provider){
        .id = choose_id(emit, id),
        .nameless = id == NAMELESS && emit->tables == EMIT_AS_NEEDED,
    };
    cli_map_set(&emit->by_id, id, emit->count);
    return emit->count++;
}

/* Readers forget what a provider registered when it is introduced again.  */
static void forget_tables(struct emit_provider *provider)
{
    if (provider->strings)
        memset(provider->strings, 0, STRING_COUNT / 8);
    memset(provider->threads, 0, sizeof provider->threads);
    provider->has_clock = false;
    provider->introduced = false;
}

static void introduce(struct emit *emit, struct emit_provider *provider,
                      const struct fxt_provider *source)
{
    struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_INFO, .name = source->name };

    if (record.name.length == 0 && emit->tables == EMIT_IN_PLACE)
        record.name = fxt_inline(emit->name);
    record.value.provider.id = provider->id;
    job_put(emit->job, emit->writer, &record);
    provider->introduced = true;
}

/* Make the input's provider the current one of the output.  NULL after a failure.  */
static struct emit_provider *switch_provider(struct emit *emit, const struct fxt_provider *source)
{
    struct emit_provider *provider;

    if (emit->source == NO_PROVIDER)
        emit->source = find_provider(emit, emit->in_default ? NAMELESS : source->id);
    if (emit->source == NO_PROVIDER)
        return NULL;
    provider = &emit->providers[emit->source];
    if (!provider->nameless && !provider->introduced) {
        introduce(emit, provider, source);
    } else if (!provider->nameless && emit->present != emit->source) {
        struct fxt_record record = { .kind = FXT_RECORD_PROVIDER_SECTION };

        record.value.provider.id = provider->id;
        job_put(emit->job, emit->writer, &record);
    }
    emit->present = emit->source;
    return provider;
}

/* ---- What a record needs ---- */

static void remember_clock(struct emit_provider *provider, const struct fxt_provider *source)
{
    provider->has_clock = true;
    provider->ticks_per_second = source->ticks_per_second;
    provider->base_ticks = source->base_ticks;
    provider->base_time_ns = source->base_time_ns;
}

static void need_clock(struct emit *emit, struct emit_provider *provider,
                       const struct fxt_provider *source)
{
    struct fxt_record record = { .kind = FXT_RECORD_INIT };

    if (!source->initialized ||
        (provider->has_clock && provider->ticks_per_second == source->ticks_per_second &&
         provider->base_ticks == source->base_ticks &&
         provider->base_time_ns == source->base_time_ns))
        return;
    record.value.init.ticks_per_second = source->ticks_per_second;
    record.value.init.base_ticks = source->base_ticks;
    record.value.init.base_time_ns = source->base_time_ns;
    record.value.init.extended = source->base_ticks || source->base_time_ns;
    job_put(emit->job, emit->writer, &record);
    remember_clock(provider, source);
}

static void have_string(struct emit_provider *provider, unsigned index, bool have)
{
    if (!provider->strings && have)
        provider->strings = cli_allocate(STRING_COUNT / 8, 1);
    if (provider->strings)
        set_bit(provider->strings, index, have);
}

static void need_string(struct emit *emit, struct emit_provider *provider,
                        const struct fxt_string *string)
{
    struct fxt_record record = { .kind = FXT_RECORD_STRING, .name = *string };

    if (string->index == 0 || string->missing ||
        (provider->strings && has_bit(provider->strings, string->index)))
        return;
    record.value.table.index = string->index;
    job_put(emit->job, emit->writer, &record);
    have_string(provider, string->index, true);
}

static void need_thread(struct emit *emit, struct emit_provider *provider,
                        const struct fxt_thread *thread)
{
    struct fxt_record record = { .kind = FXT_RECORD_THREAD, .thread = *thread };

    if (thread->index == 0 || thread->missing || has_bit(provider->threads, thread->index))
        return;
    record.value.table.index = thread->index;
    job_put(emit->job, emit->writer, &record);
    set_bit(provider->threads, thread->index, true);
}

static void need_all(struct emit *emit, struct emit_provider *provider,
                     const struct fxt_record *record)
{
    need_clock(emit, provider, record->provider); /* at once: section 5 rule 1 */
    if (record->has_thread)
        need_thread(emit, provider, &record->thread);
    if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH) {
        need_thread(emit, provider, &record->value.sched.outgoing);
        need_thread(emit, provider, &record->value.sched.incoming);
    }
    need_string(emit, provider, &record->category);
    need_string(emit, provider, &record->name);
    for (size_t i = 0; i < record->arg_count; i++) {
        need_string(emit, provider, &record->args[i].name);
        if (record->args[i].type == FXT_ARG_STRING)
            need_string(emit, provider, &record->args[i].value.string);
    }
}

/* ---- Records ---- */

static void take_provider_info(struct emit *emit, const struct fxt_record *record)
{
    emit->in_default = false;
    emit->source = find_provider(emit, record->value.provider.id);
    if (emit->source == NO_PROVIDER)
        return;
    forget_tables(&emit->providers[emit->source]);
    if (emit->tables == EMIT_IN_PLACE)
        (void)switch_provider(emit, record->provider);
}

static void take_provider_section(struct emit *emit, const struct fxt_record *record)
{
    emit->in_default = false;
    emit->source = find_provider(emit, record->value.provider.id);
    if (emit->source != NO_PROVIDER && emit->tables == EMIT_IN_PLACE)
        (void)switch_provider(emit, record->provider);
}

static void take_provider_event(struct emit *emit, const struct fxt_record *record)
{
    size_t about = find_provider(emit, record->value.provider.id);
    struct fxt_record event = *record;

    if (about == NO_PROVIDER)
        return;
    event.value.provider.id = emit->providers[about].id;
    job_put(emit->job, emit->writer, &event);
}

/* A record that sets state of its provider.  */
static void take_table(struct emit *emit, const struct fxt_record *record)
{
    bool in_place = emit->tables == EMIT_IN_PLACE;
    struct emit_provider *provider = NULL;

    if (in_place) {
        provider = switch_provider(emit, record->provider);
        job_put_as_read(emit->job, emit->writer, record);
    } else if (emit->source != NO_PROVIDER) {
        provider = &emit->providers[emit->source];
    }
    if (!provider)
        return; /* nothing of it was written yet */
    if (record->kind == FXT_RECORD_STRING && record->value.table.index)
        have_string(provider, record->value.table.index, in_place);
    else if (record->kind == FXT_RECORD_THREAD && record->value.table.index)
        set_bit(provider->threads, record->value.table.index, in_place);
    else if (record->kind == FXT_RECORD_INIT && record->value.init.ticks_per_second && in_place)
        remember_clock(provider, record->provider);
}

void emit_record(struct emit *emit, const struct fxt_record *record, bool wanted)
{
    struct emit_provider *provider;

    switch (record->kind) {
    case FXT_RECORD_MAGIC: /* one is enough */
        return;
    case FXT_RECORD_PROVIDER_INFO:
        take_provider_info(emit, record);
        return;
    case FXT_RECORD_PROVIDER_SECTION:
        take_provider_section(emit, record);
        return;
    case FXT_RECORD_PROVIDER_EVENT:
        if (wanted)
            take_provider_event(emit, record);
        return;
    case FXT_RECORD_INIT:
    case FXT_RECORD_STRING:
    case FXT_RECORD_THREAD:
        take_table(emit, record);
        return;
    default:
        break;
    }
    provider = wanted ? switch_provider(emit, record->provider) : NULL;
    if (!provider)
        return;
    need_all(emit, provider, record);
    job_put_as_read(emit->job, emit->writer, record);
}
