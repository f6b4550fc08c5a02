/* A profile on its way into a store.  The parts are listed in import_profiles.h.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import_profiles.h"
#include "libstore/store_text.h"

static const struct {
    enum store_profile_format format;
    const char *name; /* of capture.format */
    bool (*read)(struct profiles *profiles, struct fxt_input *input);
} formats[] = {
    { STORE_PROFILE_PPROF, "pprof", store_profiles_read_pprof },
    { STORE_PROFILE_FOLDED, "folded", store_profiles_read_folded },
    { STORE_PROFILE_MARKUP, "markup", store_profiles_read_markup },
};

/* ---- Facts ---- */

bool store_profiles_is_text(const char *bytes, size_t length)
{
    return length <= STORE_TEXT_BYTES && store_utf8_is_clean(bytes, length);
}

static struct store_cell *add_meta(struct profiles *profiles, const char *key)
{
    struct store_writer *writer = profiles->import->writer;
    struct store_cell *cells = store_writer_row(writer, STORE_META, NULL);

    if (!cells || !store_writer_text(writer, STORE_META, &cells[1], key, strlen(key)))
        return NULL;
    store_int(&cells[0], profiles->import->capture_id);
    return cells;
}

bool store_profiles_meta(struct profiles *profiles, const char *key, const char *bytes,
                         size_t length)
{
    struct store_cell *cells = add_meta(profiles, key);

    if (!cells)
        return false;
    return store_profiles_is_text(bytes, length)
               ? store_writer_text(profiles->import->writer, STORE_META, &cells[2], bytes, length)
               : store_writer_bytes(profiles->import->writer, STORE_META, &cells[2], bytes, length);
}

bool store_profiles_meta_number(struct profiles *profiles, const char *key, int64_t number)
{
    struct store_cell *cells = add_meta(profiles, key);

    if (cells)
        store_int(&cells[2], number);
    return cells != NULL;
}

bool store_profiles_damage(struct profiles *profiles, const char *kind, uint64_t count,
                           uint64_t first_offset, bool is_loss, const char *description)
{
    struct store_cell *cells;

    if (count == 0)
        return true;
    profiles->result->is_damaged |= is_loss;
    profiles->result->has_notices |= !is_loss;
    cells = store_import_write_damage(profiles->import, kind, count, is_loss, description);
    if (cells && first_offset != UINT64_MAX)
        store_unsigned(&cells[3], first_offset);
    return cells != NULL;
}

uint64_t store_profiles_first_bad(const struct profile_read_notices *notices)
{
    bool is_of_end = notices->first_offset == notices->end_offset && !notices->stopped;

    return is_of_end ? UINT64_MAX : notices->first_offset;
}

bool store_profiles_early_end(struct profiles *profiles, const struct profile_read_notices *notices)
{
    if (notices->cut)
        return store_profiles_damage(profiles, "truncated_tail", 1, notices->end_offset, true,
                                     "the file is cut short");
    if (notices->corrupt)
        return store_profiles_damage(profiles, "corrupt_input", 1, notices->end_offset, true,
                                     "compressed data that cannot be unpacked");
    return store_profiles_damage(profiles, "unreadable_rest", notices->stopped, notices->end_offset,
                                 true, "nothing after an unreadable entry can be found");
}

bool store_profiles_fail(struct profiles *profiles, enum profile_status status,
                         const struct profile_error *error)
{
    struct store_import *import = profiles->import;

    if (status == PROFILE_OK)
        return true;
    if (status == PROFILE_STOPPED) /* by us, who have said why */
        return false;
    profiles->result->is_of_input = true;
    switch (status) {
    case PROFILE_NO_MEMORY:
        return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    case PROFILE_LIMIT:
        return store_import_fail(import, STORE_LIMIT, error->message);
    case PROFILE_MALFORMED:
        return store_import_fail(import, STORE_MALFORMED, error->message);
    default:
        return store_import_fail(import, STORE_IO, error->message);
    }
}

void store_profiles_seen(void *context, const void *bytes, size_t length)
{
    store_identity_add(&((struct profiles *)context)->import->identity, bytes, length);
}

void store_profiles_describe(struct profiles *profiles, const struct profile_read_notices *notices,
                             uint64_t count, const char *one, const char *many)
{
    char *text = profiles->result->damage;
    size_t size = sizeof profiles->result->damage, length;

    (void)profile_read_describe(notices, text, size);
    length = strlen(text);
    if (count > 0)
        (void)snprintf(text + length, size - length, "%s%llu %s", length ? "; " : "",
                       (unsigned long long)count, count == 1 ? one : many);
}

/* Where a reader gave up the rest belongs to the capture's identity all the same.  */
static void read_rest(struct profiles *profiles, struct fxt_input *input)
{
    char bytes[4096];
    size_t length;

    while (fxt_input_read(input, bytes, sizeof bytes, &length, NULL) == FXT_OK)
        store_profiles_seen(profiles, bytes, length);
}

/* ---- The whole ---- */

static bool write_rest(struct store_import *import, const void *context,
                       const unsigned char hash[STORE_IDENTITY_BYTES])
{
    (void)context;
    return store_import_write_capture_row(import, hash);
}

static enum store_status why_failed(struct store_import *import, struct store_error *error)
{
    if (import->error.status == STORE_OK)
        (void)store_writer_status(import->writer, &import->error);
    if (error)
        *error = import->error;
    return import->error.status;
}

static enum store_status run(struct profiles *profiles, size_t format, struct fxt_input *input,
                             struct store_error *error)
{
    struct store_import *import = profiles->import;

    if (!store_profiles_load(profiles) || !store_profiles_open_samples(profiles))
        return why_failed(import, error);
    import->counts.records = 1; /* rows are being written */
    if (!formats[format].read(profiles, input) || !store_profiles_write_sums(profiles))
        return why_failed(import, error);
    read_rest(profiles, input);
    import->counts.records = profiles->result->samples;
    return store_import_end(import, write_rest, NULL, error);
}

static enum store_status import_as(struct store *store, size_t format,
                                   const struct store_import_options *options,
                                   struct fxt_input *input, struct store_profile_result *result,
                                   struct store_error *error)
{
    struct profiles profiles = { .result = result };
    enum store_status status = store_import_begin(store, options, formats[format].name,
                                                  &profiles.import, error);

    if (status != STORE_OK)
        return status;
    status = run(&profiles, format, input, error);
    result->capture_id = profiles.import->capture_id;
    store_profiles_samples_release(&profiles);
    store_profiles_frames_release(&profiles);
    store_import_close(profiles.import);
    return status;
}

enum store_status store_import_profile(struct store *store,
                                       const struct store_import_options *options,
                                       struct fxt_input *input, enum store_profile_format format,
                                       struct store_profile_result *out, struct store_error *error)
{
    struct store_profile_result result = { .capture_id = 0 };
    enum store_status status;
    size_t index = 0;

    while (index < sizeof formats / sizeof *formats && formats[index].format != format)
        index++;
    if (index == sizeof formats / sizeof *formats)
        return store_fail(error, STORE_INVALID, "no format of profiles has the number %d",
                          (int)format);
    status = import_as(store, index, options, input, &result, error);
    if (out && status == STORE_OK)
        *out = result;
    else if (out && status == STORE_KNOWN)
        *out = (struct store_profile_result){ .capture_id = result.capture_id };
    else if (out)
        *out = (struct store_profile_result){ .is_of_input = result.is_of_input };
    return status;
}
