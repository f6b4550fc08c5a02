/* What a capture says of itself, who wrote it, what is missing in it and what was wrong.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import.h"

/* ---- The sink ---- */

static bool keep_text(struct store_import *import, const struct fxt_string *text, uint32_t *out)
{
    return text->length == 0 || store_import_name(import, text, out);
}

/* Called for the session, and for clocks alone: what is said last holds.  */
static enum profile_status take_capture(void *context, const struct profile_capture *capture)
{
    struct store_import *import = context;

    import->has_session |= capture->period_ns != 0 || capture->max_frames != 0;
    if (capture->period_ns)
        import->period_ns = capture->period_ns;
    if (capture->max_frames)
        import->max_frames = capture->max_frames;
    if (capture->has_clock) {
        import->has_clock = true;
        import->realtime_ns = capture->realtime_ns;
        import->monotonic_ns = capture->monotonic_ns;
    }
    return store_import_sink_status(keep_text(import, &capture->command, &import->command) &&
                                    keep_text(import, &capture->arch, &import->arch) &&
                                    keep_text(import, &capture->kernel, &import->kernel) &&
                                    keep_text(import, &capture->cpu_model, &import->cpu_model));
}

static enum profile_status take_loss(void *context, const struct profile_loss *loss)
{
    ((struct store_import *)context)->loss = *loss;
    return PROFILE_OK;
}

void store_import_capture_sink(struct profile_sink *sink)
{
    sink->capture = take_capture;
    sink->loss = take_loss;
}

/* ---- Records ---- */

static struct import_provider *find_provider(struct store_import *import, uint32_t id)
{
    bool is_new;
    uint32_t number = base_pairs_add(&import->provider_keys, id, 0, &is_new);

    if (number == 0 || !base_make_room(&import->providers, &import->provider_capacity, number,
                                       sizeof *import->providers)) {
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (is_new)
        import->providers[number - 1] = (struct import_provider){ .name = 0 };
    return &import->providers[number - 1];
}

static bool note_provider(struct store_import *import, const struct fxt_record *record)
{
    struct import_provider *provider;

    if (record->kind != FXT_RECORD_PROVIDER_INFO && record->kind != FXT_RECORD_PROVIDER_SECTION &&
        record->kind != FXT_RECORD_PROVIDER_EVENT)
        return true;
    provider = find_provider(import, record->value.provider.id);
    if (!provider)
        return false;
    if (record->kind == FXT_RECORD_PROVIDER_EVENT)
        provider->lost += record->value.provider.event == 0;
    return record->kind != FXT_RECORD_PROVIDER_INFO ||
           store_import_name(import, &record->name, &provider->name);
}

bool store_import_note_record(struct store_import *import, const struct fxt_record *record)
{
    int64_t end_ns = record->ts_ns;

    import->counts.records++;
    if (!record->has_time)
        return note_provider(import, record);
    if (record->kind == FXT_RECORD_EVENT &&
        record->value.event.type == FXT_EVENT_DURATION_COMPLETE &&
        record->value.event.end_ns > end_ns)
        end_ns = record->value.event.end_ns;
    if (!import->has_time || record->ts_ns < import->start_ns)
        import->start_ns = record->ts_ns;
    if (!import->has_time || end_ns > import->end_ns)
        import->end_ns = end_ns;
    import->has_time = true;
    return true;
}

/* ---- Rows ---- */

bool store_import_write_capture_row(struct store_import *import,
                                    const unsigned char hash[STORE_IDENTITY_BYTES])
{
    struct store_writer *writer = import->writer;
    int64_t slice_end = store_writer_next_id(writer, STORE_SLICE);
    int64_t sched_end = store_writer_next_id(writer, STORE_SCHED_SLICE);
    struct store_cell *cells = store_writer_row(writer, STORE_CAPTURE, NULL);

    if (!cells ||
        !store_writer_blob(writer, STORE_CAPTURE, &cells[1], hash, STORE_IDENTITY_BYTES) ||
        !store_writer_text(writer, STORE_CAPTURE, &cells[2], import->name, strlen(import->name)) ||
        !store_writer_text(writer, STORE_CAPTURE, &cells[3], import->format,
                           strlen(import->format)))
        return false;
    store_unsigned(&cells[4], import->identity.length);
    store_unsigned(&cells[5], import->counts.records);
    if (import->has_time) {
        store_int(&cells[6], import->start_ns);
        store_int(&cells[7], import->end_ns);
    }
    store_id(&cells[8], (int64_t)import->period_ns);
    store_id(&cells[9], import->max_frames);
    if (import->has_clock) {
        store_int(&cells[10], import->realtime_ns);
        store_int(&cells[11], import->monotonic_ns);
    }
    if (!store_import_put_name(import, STORE_CAPTURE, &cells[12], import->command) ||
        !store_import_put_name(import, STORE_CAPTURE, &cells[13], import->arch))
        return false;
    store_int(&cells[14], import->first_sample_id);
    store_unsigned(&cells[15], import->counts.samples);
    store_int(&cells[16], import->samples_ordered);
    store_int(&cells[17], import->first_slice_id);
    store_int(&cells[18], slice_end - import->first_slice_id);
    store_int(&cells[19], import->first_sched_id);
    store_int(&cells[20], sched_end - import->first_sched_id);
    return true;
}

static bool write_meta(struct store_import *import, const char *key, uint32_t name)
{
    struct store_cell *cells = name ? store_writer_row(import->writer, STORE_META, NULL) : NULL;

    if (name == 0)
        return true;
    if (!cells)
        return false;
    store_int(&cells[0], import->capture_id);
    return store_writer_text(import->writer, STORE_META, &cells[1], key, strlen(key)) &&
           store_import_put_name(import, STORE_META, &cells[2], name);
}

static bool write_interval(struct store_import *import)
{
    struct store_cell *cells = import->heap_interval_bytes
                                   ? store_writer_row(import->writer, STORE_META, NULL)
                                   : NULL;

    if (import->heap_interval_bytes == 0)
        return true;
    if (!cells)
        return false;
    store_int(&cells[0], import->capture_id);
    store_unsigned(&cells[2], import->heap_interval_bytes);
    return store_writer_text(import->writer, STORE_META, &cells[1], "heap_interval_bytes", 19);
}

static bool write_providers(struct store_import *import)
{
    for (size_t i = 0; i < import->provider_keys.count; i++) {
        struct store_cell *cells = store_writer_row(import->writer, STORE_PROVIDER, NULL);

        if (!cells)
            return false;
        store_int(&cells[1], import->capture_id);
        store_unsigned(&cells[2], import->provider_keys.items[i].a);
        store_unsigned(&cells[4], import->providers[i].lost);
        if (!(import->providers[i].name
                  ? store_import_put_name(import, STORE_PROVIDER, &cells[3],
                                          import->providers[i].name)
                  : store_writer_text(import->writer, STORE_PROVIDER, &cells[3], "", 0)))
            return false;
    }
    return true;
}

static bool write_losses(struct store_import *import)
{
    struct profile_loss_cause cause;

    for (size_t i = 0; profile_loss_at(&import->loss, i, &cause); i++) {
        struct store_cell *cells;

        if (cause.count == 0)
            continue;
        cells = store_writer_row(import->writer, STORE_LOSS, NULL);
        if (!cells || !store_writer_text(import->writer, STORE_LOSS, &cells[1], cause.name,
                                         strlen(cause.name)))
            return false;
        store_int(&cells[0], import->capture_id);
        store_unsigned(&cells[2], cause.count);
    }
    return true;
}

/* ---- Damage and notices ---- */

struct store_cell *store_import_write_damage(struct store_import *import, const char *kind,
                                             uint64_t count, bool is_loss, const char *description)
{
    struct store_cell *cells = store_writer_row(import->writer, STORE_DAMAGE, NULL);

    if (!cells || !store_writer_text(import->writer, STORE_DAMAGE, &cells[1], kind, strlen(kind)) ||
        !store_writer_text(import->writer, STORE_DAMAGE, &cells[6], description,
                           strlen(description)))
        return NULL;
    store_int(&cells[0], import->capture_id);
    store_unsigned(&cells[2], count);
    store_int(&cells[5], is_loss);
    return cells;
}

static bool write_reader_damage(struct store_import *import, const struct fxt_damage *damage)
{
    for (int i = 0; i < FXT_DAMAGE_KINDS; i++) {
        enum fxt_damage_kind kind = (enum fxt_damage_kind)i;
        struct store_cell *cells;

        if (damage->kinds[i].count == 0)
            continue;
        cells = store_import_write_damage(import, fxt_damage_kind_name(kind),
                                          damage->kinds[i].count, fxt_damage_is_loss(kind),
                                          fxt_damage_kind_phrase(kind));
        if (!cells)
            return false;
        store_unsigned(&cells[3], damage->kinds[i].first_offset);
        store_unsigned(&cells[4], damage->kinds[i].bytes);
    }
    return true;
}

static bool write_notices(struct store_import *import)
{
    const struct profile_notices *notices = profile_ingest_notices(import->ingest);
    struct profile_notice notice;

    for (size_t i = 0; profile_notice_at(notices, i, &notice); i++)
        if (notice.count > 0 &&
            !store_import_write_damage(import, notice.name, notice.count, false, notice.many))
            return false;
    return true;
}

bool store_import_write_capture(struct store_import *import, const struct fxt_damage *damage,
                                const unsigned char hash[STORE_IDENTITY_BYTES])
{
    return store_import_write_capture_row(import, hash) &&
           write_meta(import, "kernel", import->kernel) &&
           write_meta(import, "cpu_model", import->cpu_model) && write_interval(import) &&
           write_providers(import) && write_losses(import) &&
           (!damage || write_reader_damage(import, damage)) && write_notices(import);
}
