/* A trace on its way into a store.  The parts are listed in import.h.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "libstore/columns.h"
#include "libstore/import/import_timeline.h"

#define SORT_BYTES ((size_t)48 << 20) /* of ingest's own sorter */

bool store_import_fail(struct store_import *import, enum store_status status, const char *message)
{
    if (import->error.status == STORE_OK)
        (void)store_fail(&import->error, status, "%s", message);
    return false;
}

static enum store_status fail_sorting(const struct store *store, int failure,
                                      struct store_error *error)
{
    char what[200];

    (void)snprintf(what, sizeof what, "temporary file in %s (TMPDIR names another folder)",
                   store->temporary_dir);
    return store_fail_base(error, failure, what);
}

bool store_import_sorted(struct store_import *import, int failure)
{
    if (failure && import->error.status == STORE_OK)
        (void)fail_sorting(import->store, failure, &import->error);
    return failure == 0;
}

enum store_status store_import_sorter_open(struct store_import *import, size_t row_size,
                                           size_t bytes, struct base_sorter **out,
                                           struct store_error *error)
{
    struct base_sorter_options options = {
        .item_size = row_size,
        .bytes = bytes,
        .directory = import->store->temporary_dir,
    };
    int failed = base_sorter_open(&options, out);

    return failed ? fail_sorting(import->store, failed, error) : STORE_OK;
}

/* Why something failed: a part of the import, the writer, or ingest itself.  */
static enum store_status failure(struct store_import *import, const struct profile_error *ingest,
                                 struct store_error *error)
{
    if (import->error.status == STORE_OK &&
        store_writer_status(import->writer, &import->error) == STORE_OK && ingest)
        (void)store_fail(&import->error,
                         ingest->status == PROFILE_NO_MEMORY ? STORE_NO_MEMORY
                         : ingest->status == PROFILE_LIMIT   ? STORE_LIMIT
                                                             : STORE_IO,
                         "%s", ingest->message);
    if (error)
        *error = import->error;
    return import->error.status;
}

/* ---- The transaction ---- */

/* A new store's first capture needs no way back: if it fails, the store begins anew.  Later ones
 * do.  */
static enum store_status begin(struct store_import *import, struct store_error *error)
{
    struct store *store = import->store;
    enum store_status status = STORE_OK;
    int64_t captures = 0;

    if (!store->is_new) {
        status = store_enter_wal(store, error);
    } else {
        status = store_number(store, "SELECT count(*) FROM capture", &captures, error);
    }
    if (status == STORE_OK && captures > 0)
        status = store_run(store, "PRAGMA journal_mode = TRUNCATE", error);
    if (status == STORE_OK)
        status = store_run(store, "BEGIN IMMEDIATE", error);
    import->in_transaction = status == STORE_OK;
    import->can_roll_back = !store->is_new || captures > 0;
    return status;
}

/* The first capture of a new store failed, which has no journal: begin it anew.  It stays broken
 * only where even that fails, as on a full disk.  */
static void begin_anew(struct store *store)
{
    store->broken = sqlite3_db_config(store->db, SQLITE_DBCONFIG_RESET_DATABASE, 1, NULL) !=
                        SQLITE_OK ||
                    store_run(store, "VACUUM", NULL) != STORE_OK ||
                    sqlite3_db_config(store->db, SQLITE_DBCONFIG_RESET_DATABASE, 0, NULL) !=
                        SQLITE_OK ||
                    store_make_schema(store, NULL) != STORE_OK;
}

static void roll_back(struct store_import *import)
{
    if (!import->in_transaction)
        return;
    import->in_transaction = false;
    (void)store_run(import->store, "ROLLBACK", NULL);
    if (!import->can_roll_back && import->counts.records > 0)
        begin_anew(import->store);
}

/* ---- Opening and closing ---- */

/* Call sites are final: everything that waited for them is written.  */
static enum profile_status take_callsites(void *context, const profile_id *final, uint32_t count)
{
    struct store_import *import = context;

    (void)count;
    return store_import_sink_status(store_import_write_stacks(import) &&
                                    store_import_write_samples(import, final) &&
                                    store_import_write_heap(import, final));
}

static enum store_status open_ingest(struct store_import *import,
                                     const struct store_import_options *options,
                                     struct store_error *error)
{
    struct profile_sink sink = {
        .size = sizeof sink,
        .context = import,
        .callsites = take_callsites,
    };
    struct profile_ingest_options ingest = {
        .size = sizeof ingest,
        .arm64 = options && options->arm64,
        .temporary_dir = import->store->temporary_dir,
        .sort_bytes = SORT_BYTES,
        .session = options ? options->session : NULL,
    };
    struct profile_error profile_error;
    enum store_status status;

    store_import_capture_sink(&sink);
    store_import_entities_sink(&sink);
    store_import_events_sink(&sink);
    status = store_import_samples_open(import, &sink, error);
    if (status == STORE_OK)
        status = store_import_heap_open(import, &sink, error);
    if (status == STORE_OK)
        status = store_timeline_open(import, &sink, error);
    if (status == STORE_OK && profile_ingest_open(&sink, import->stacks, &ingest, &import->ingest,
                                                  &profile_error) != PROFILE_OK)
        status = store_fail(error, STORE_NO_MEMORY, "%s", profile_error.message);
    return status;
}

static void note_ids(struct store_import *import)
{
    import->capture_id = store_writer_next_id(import->writer, STORE_CAPTURE);
    import->first_upid = store_writer_next_id(import->writer, STORE_PROCESS);
    import->first_utid = store_writer_next_id(import->writer, STORE_THREAD);
    import->first_string = store_writer_next_id(import->writer, STORE_STRING);
    import->first_sample_id = store_writer_next_id(import->writer, STORE_CPU_SAMPLE);
    import->first_slice_id = store_writer_next_id(import->writer, STORE_SLICE);
    import->first_sched_id = store_writer_next_id(import->writer, STORE_SCHED_SLICE);
}

static enum store_status start(struct store_import *import,
                               const struct store_import_options *options,
                               struct store_error *error)
{
    struct profile_error profile_error;
    enum store_status status;

    if (profile_stacks_open(&import->stacks, &profile_error) != PROFILE_OK)
        return store_fail(error, STORE_NO_MEMORY, "%s", profile_error.message);
    status = store_import_load_stacks(import, error);
    if (status == STORE_OK)
        status = open_ingest(import, options, error);
    if (status == STORE_OK)
        store_timeline_start(import);
    return status;
}

static enum store_status limit_size(struct store_import *import, uint64_t most_bytes,
                                    struct store_error *error)
{
    struct store *store = import->store;
    int64_t pages = 0;
    enum store_status status = STORE_OK;

    store->most_bytes = 0;
    if (most_bytes > 0)
        status = store_number(store, "PRAGMA main.page_count", &pages, error);
    if (most_bytes > 0 &&
        __builtin_add_overflow((uint64_t)pages * STORE_PAGE_BYTES, most_bytes, &store->most_bytes))
        store->most_bytes = UINT64_MAX;
    return status;
}

/* The capture's name, the transaction and the writer.  */
static enum store_status start_writing(struct store_import *import,
                                       const struct store_import_options *options,
                                       struct store_error *error)
{
    enum store_status status;

    import->name = strdup(options && options->name ? options->name : "");
    if (!import->name)
        return store_no_memory(error);
    store_identity_start(&import->identity);
    status = begin(import, error);
    if (status == STORE_OK)
        status = limit_size(import, options ? options->most_bytes : 0, error);
    if (status == STORE_OK)
        status = store_writer_open(import->store, &import->writer, error);
    if (status == STORE_OK)
        note_ids(import);
    return status;
}

enum store_status store_import_begin(struct store *store,
                                     const struct store_import_options *options, const char *format,
                                     struct store_import **out, struct store_error *error)
{
    struct store_import *import;
    enum store_status status;

    if (options && options->size < sizeof *options)
        return store_fail(error, STORE_INVALID, "options of %zu bytes", options->size);
    if (store->importing || store->published || store->broken || store->mode != STORE_APPEND)
        return store_fail(error, STORE_INVALID, "nothing can be imported into this store now");
    import = calloc(1, sizeof *import);
    if (!import)
        return store_no_memory(error);
    import->store = store;
    import->format = format;
    store->importing = true;
    status = start_writing(import, options, error);
    if (status != STORE_OK) {
        store_import_close(import);
        return status;
    }
    *out = import;
    return STORE_OK;
}

enum store_status store_import_open(struct store *store, const struct store_import_options *options,
                                    struct store_import **out, struct store_error *error)
{
    struct store_import *import = NULL;
    enum store_status status = store_import_begin(store, options, "fxt", &import, error);

    if (status == STORE_OK && import)
        status = start(import, options, error);
    if (status != STORE_OK) {
        store_import_close(import);
        return status;
    }
    *out = import;
    return STORE_OK;
}

void store_import_close(struct store_import *import)
{
    if (!import)
        return;
    store_writer_close(import->writer);
    roll_back(import);
    profile_ingest_close(import->ingest);
    profile_stacks_close(import->stacks);
    store_import_samples_release(import);
    store_import_events_release(import);
    base_sorter_close(import->heap);
    store_import_entities_release(import);
    store_import_stacks_release(import);
    store_timeline_release(import);
    base_pairs_release(&import->provider_keys);
    free(import->providers);
    free(import->name);
    import->store->importing = false;
    free(import);
}

/* ---- Records ---- */

enum store_status store_import_record(struct store_import *import, const struct fxt_record *record,
                                      struct fxt_bytes bytes, struct store_error *error)
{
    struct profile_error profile_error;

    if (import->finished)
        return store_fail(error, STORE_INVALID, "a record after the end of the trace");
    if (bytes.length > 0)
        store_identity_add(&import->identity, bytes.bytes, bytes.length);
    if (!store_import_note_record(import, record))
        return failure(import, NULL, error);
    if (profile_ingest_record(import->ingest, record, &profile_error) != PROFILE_OK)
        return failure(import, &profile_error, error);
    return STORE_OK;
}

void store_import_skipped(void *context, const struct fxt_skipped *skipped)
{
    struct store_import *import = context;

    if (skipped->bytes.length == skipped->size && skipped->size > 0)
        store_identity_add(&import->identity, skipped->bytes.bytes, skipped->bytes.length);
    else
        store_identity_skip(&import->identity, skipped->size);
}

/* ---- The end ---- */

/* Whether a capture of that hash is there; its id, or 0.  */
static enum store_status find_capture(struct store_import *import,
                                      const unsigned char hash[STORE_IDENTITY_BYTES], int64_t *out,
                                      struct store_error *error)
{
    char sql[64 + 2 * STORE_IDENTITY_BYTES];
    size_t length = (size_t)snprintf(sql, sizeof sql, "SELECT id FROM capture WHERE hash = x'");

    length += base_hex(sql + length, hash, STORE_IDENTITY_BYTES);
    (void)snprintf(sql + length, sizeof sql - length, "'");
    return store_number(import->store, sql, out, error);
}

static bool write_rest(struct store_import *import, const void *context,
                       const unsigned char hash[STORE_IDENTITY_BYTES])
{
    struct profile_error profile_error;

    if (profile_ingest_finish(import->ingest, &profile_error) != PROFILE_OK) {
        (void)failure(import, &profile_error, NULL);
        return false;
    }
    return store_import_write_entities(import) && store_import_write_capture(import, context, hash);
}

/* The capture's own row, too, would stand twice: nothing is written when it is known.  Writers end,
 * then nobody else uses the connection.  */
static enum store_status finish(struct store_import *import, store_import_rest_fn rest,
                                const void *context, struct store_error *error)
{
    unsigned char hash[STORE_IDENTITY_BYTES];
    enum store_status status;
    int64_t known;

    store_identity_end(&import->identity, hash);
    status = find_capture(import, hash, &known, error);
    if (status == STORE_OK && known) {
        import->capture_id = known;
        return store_fail(error, STORE_KNOWN, "the store has this capture already");
    }
    if (status == STORE_OK && !rest(import, context, hash))
        status = failure(import, NULL, error);
    if (status == STORE_OK)
        status = store_writer_finish(import->writer, error);
    if (status == STORE_OK && !import->store->is_new)
        status = store_reserve_file(import->store, error);
    if (status == STORE_OK)
        status = store_run(import->store, "COMMIT", error);
    if (status == STORE_OK)
        import->in_transaction = false;
    if (status == STORE_OK && !import->store->keeps_wal)
        store_columns_written(import->store);
    return status;
}

enum store_status store_import_end(struct store_import *import, store_import_rest_fn rest,
                                   const void *context, struct store_error *error)
{
    enum store_status status;

    if (import->finished)
        return store_fail(error, STORE_INVALID, "the trace was finished already");
    import->finished = true;
    status = finish(import, rest, context, error);
    if (status != STORE_OK) {
        store_writer_close(import->writer);
        import->writer = NULL;
        roll_back(import);
    }
    return status;
}

enum store_status store_import_finish(struct store_import *import, const struct fxt_damage *damage,
                                      struct store_error *error)
{
    return store_import_end(import, write_rest, damage, error);
}

int64_t store_import_capture(const struct store_import *import)
{
    return import->capture_id;
}

const struct store_import_counts *store_import_counted(const struct store_import *import)
{
    return &import->counts;
}

const struct profile_notices *store_import_notices(const struct store_import *import)
{
    return profile_ingest_notices(import->ingest);
}

bool store_import_cut_at(const struct store_import *import, size_t index, struct profile_cut *out)
{
    return profile_ingest_cut_at(import->ingest, index, out);
}
