/* Rows into tables: batches, a queue, and the thread that hands them to SQLite.  */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/columns.h"
#include "libstore/row_batch.h"
#include "libstore/store_internal.h"
#include "libstore/store_tables.h"
#include "libstore/store_text.h"

#define QUEUE_LENGTH 8
/* Ids stay far from the end of what an INTEGER PRIMARY KEY can be.  */
#define LARGEST_ID (INT64_C(1) << 62)

struct store_writer {
    struct store *store; /* borrowed */
    struct store_batch *filling[STORE_TABLES];
    int64_t next_id[STORE_TABLES];
    enum store_status status; /* of the filling side */
    struct store_error error;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct store_batch *queue[QUEUE_LENGTH]; /* a ring: first, first + 1, ... */
    unsigned first, queued;
    struct store_batch *spare; /* emptied batches */
    bool ending;
    enum store_status thread_status;
    struct store_error thread_error;

    /* The thread's alone.  */
    struct store_batch_source source;
    sqlite3_stmt *statements[STORE_TABLES];
    sqlite3_stmt *page_count;
    struct columns_writer *columns; /* NULL: the store has none */
};

/* ---- The thread ---- */

/* Whether the store has become larger than the import may make it.  */
static enum store_status check_size(struct store_writer *writer, struct store_error *error)
{
    struct store *store = writer->store;
    uint64_t bytes;

    if (store->most_bytes == 0)
        return STORE_OK;
    if (!writer->page_count && sqlite3_prepare_v2(store->db, "PRAGMA main.page_count", -1,
                                                  &writer->page_count, NULL) != SQLITE_OK)
        return store_fail_sqlite(error, store->db, sqlite3_errcode(store->db));
    if (sqlite3_step(writer->page_count) != SQLITE_ROW)
        return store_fail_sqlite(error, store->db, sqlite3_reset(writer->page_count));
    bytes = (uint64_t)sqlite3_column_int64(writer->page_count, 0) * STORE_PAGE_BYTES;
    (void)sqlite3_reset(writer->page_count);
    return bytes <= store->most_bytes
               ? STORE_OK
               : store_fail(error, STORE_TOO_LARGE,
                            "it would make the store grow by more than the limit");
}

static enum store_status insert_batch(struct store_writer *writer, struct store_batch *batch,
                                      struct store_error *error)
{
    sqlite3_stmt **statement = &writer->statements[batch->table];
    enum store_status status = check_size(writer, error);
    int code = SQLITE_OK;

    if (status != STORE_OK)
        return status;

    if (writer->store->interrupted)
        return store_fail(error, STORE_STOPPED, "interrupted");
    if (!*statement)
        code = store_batch_prepare(writer->store->db, batch->table, statement);
    writer->source.batch = batch;
    if (code == SQLITE_OK) {
        code = sqlite3_step(*statement);
        (void)sqlite3_reset(*statement);
    }
    writer->source.batch = NULL;
    return code == SQLITE_DONE ? columns_writer_add(writer->columns, batch, error)
                               : store_fail_sqlite(error, writer->store->db, code);
}

/* The next batch, or NULL at the end.  The lock is held.  */
static struct store_batch *next_batch(struct store_writer *writer)
{
    struct store_batch *batch;

    while (writer->queued == 0 && !writer->ending)
        (void)pthread_cond_wait(&writer->changed, &writer->lock);
    if (writer->queued == 0)
        return NULL;
    batch = writer->queue[writer->first];
    writer->first = (writer->first + 1) % QUEUE_LENGTH;
    writer->queued--;
    (void)pthread_cond_broadcast(&writer->changed);
    return batch;
}

/* After a failure batches are taken and dropped, so that the other side never waits for ever.  */
static void *run(void *context)
{
    struct store_writer *writer = context;
    struct store_error error = { .status = STORE_OK };
    struct store_batch *batch;

    (void)pthread_mutex_lock(&writer->lock);
    while ((batch = next_batch(writer)) != NULL) {
        enum store_status status = writer->thread_status;

        (void)pthread_mutex_unlock(&writer->lock);
        if (status == STORE_OK)
            status = insert_batch(writer, batch, &error);
        (void)pthread_mutex_lock(&writer->lock);
        if (status != STORE_OK && writer->thread_status == STORE_OK) {
            writer->thread_status = status;
            writer->thread_error = error;
        }
        batch->next = writer->spare;
        writer->spare = batch;
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* ---- Filling ---- */

static bool fail(struct store_writer *writer, enum store_status status, const char *message)
{
    if (writer->status == STORE_OK)
        writer->status = store_fail(&writer->error, status, "%s", message);
    return false;
}

/* Put a batch into the queue; waits while it is full.  */
static bool enqueue(struct store_writer *writer, struct store_batch *batch)
{
    (void)pthread_mutex_lock(&writer->lock);
    while (writer->queued == QUEUE_LENGTH)
        (void)pthread_cond_wait(&writer->changed, &writer->lock);
    writer->queue[(writer->first + writer->queued++) % QUEUE_LENGTH] = batch;
    if (writer->thread_status != STORE_OK && writer->status == STORE_OK) {
        writer->status = writer->thread_status;
        writer->error = writer->thread_error;
    }
    (void)pthread_cond_broadcast(&writer->changed);
    (void)pthread_mutex_unlock(&writer->lock);
    return writer->status == STORE_OK;
}

static struct store_batch *take_spare(struct store_writer *writer)
{
    struct store_batch *batch;

    (void)pthread_mutex_lock(&writer->lock);
    batch = writer->spare;
    if (batch)
        writer->spare = batch->next;
    (void)pthread_mutex_unlock(&writer->lock);
    return batch ? batch : store_batch_new();
}

/* An empty batch for the table, after handing over the one that is there.  */
static struct store_batch *renew(struct store_writer *writer, enum store_table table)
{
    struct store_batch *batch = writer->filling[table];

    writer->filling[table] = NULL;
    if (batch && !enqueue(writer, batch))
        return NULL;
    batch = take_spare(writer);
    if (!batch) {
        (void)fail(writer, STORE_NO_MEMORY, "out of memory");
        return NULL;
    }
    batch->table = table;
    batch->columns = store_tables[table].column_count;
    batch->capacity = STORE_BATCH_CELLS / batch->columns;
    batch->rows = 0;
    batch->used = 0;
    writer->filling[table] = batch;
    return batch;
}

struct store_cell *store_writer_row(struct store_writer *writer, enum store_table table,
                                    int64_t *id)
{
    struct store_batch *batch = writer->filling[table];
    struct store_cell *row;

    if (writer->status != STORE_OK)
        return NULL;
    if (!batch || batch->rows == batch->capacity || batch->used > STORE_BATCH_BYTES) {
        batch = renew(writer, table);
        if (!batch)
            return NULL;
    }
    row = &batch->cells[batch->rows++ * batch->columns];
    memset(row, 0, batch->columns * sizeof *row);
    if (store_tables[table].has_id) {
        store_int(&row[0], writer->next_id[table]++);
        if (id)
            *id = row[0].value.integer;
    }
    return row;
}

int64_t store_writer_next_id(const struct store_writer *writer, enum store_table table)
{
    return writer->next_id[table];
}

bool store_writer_blob(struct store_writer *writer, enum store_table table, struct store_cell *cell,
                       const void *bytes, size_t length)
{
    return store_writer_bytes(writer, table, cell, bytes,
                              length < STORE_TEXT_BYTES ? length : STORE_TEXT_BYTES);
}

bool store_writer_bytes(struct store_writer *writer, enum store_table table,
                        struct store_cell *cell, const void *bytes, size_t length)
{
    struct store_batch *batch = writer->filling[table];

    if (!store_batch_reserve(batch, length))
        return fail(writer, STORE_NO_MEMORY, "out of memory");
    if (length > 0)
        memcpy(batch->bytes + batch->used, bytes, length);
    cell->value.offset = (uint32_t)batch->used;
    cell->length = (uint32_t)length;
    cell->type = STORE_BLOB;
    batch->used += length;
    return true;
}

bool store_writer_text(struct store_writer *writer, enum store_table table, struct store_cell *cell,
                       const char *bytes, size_t length)
{
    struct store_batch *batch = writer->filling[table];
    size_t size;

    if (length > STORE_TEXT_BYTES)
        length = store_utf8_cut(bytes, STORE_TEXT_BYTES);
    /* A byte can become the three of U+FFFD.  */
    if (!store_batch_reserve(batch, 3 * length))
        return fail(writer, STORE_NO_MEMORY, "out of memory");
    size = length ? store_utf8_clean(bytes, length, batch->bytes + batch->used) : 0;
    cell->value.offset = (uint32_t)batch->used;
    cell->length = (uint32_t)size;
    cell->type = STORE_TEXT;
    batch->used += size;
    return true;
}

enum store_status store_writer_status(struct store_writer *writer, struct store_error *error)
{
    if (writer->status == STORE_OK) {
        (void)pthread_mutex_lock(&writer->lock);
        writer->status = writer->thread_status;
        writer->error = writer->thread_error;
        (void)pthread_mutex_unlock(&writer->lock);
    }
    if (writer->status != STORE_OK && error)
        *error = writer->error;
    return writer->status;
}

/* ---- Opening and closing ---- */

static enum store_status find_ids(struct store_writer *writer, struct store_error *error)
{
    enum store_status status = STORE_OK;

    for (int table = 0; table < STORE_TABLES && status == STORE_OK; table++) {
        char *sql;

        if (!store_tables[table].has_id)
            continue;
        sql = sqlite3_mprintf("SELECT max(id) FROM \"%w\"", store_tables[table].name);
        if (!sql)
            return store_no_memory(error);
        status = store_number(writer->store, sql, &writer->next_id[table], error);
        sqlite3_free(sql);
        if (status == STORE_OK &&
            (writer->next_id[table] < 0 || writer->next_id[table] >= LARGEST_ID))
            return store_fail(error, STORE_CORRUPT, "the store is corrupt: ids of %s out of range",
                              store_tables[table].name);
        writer->next_id[table]++;
    }
    return status;
}

enum store_status store_writer_open(struct store *store, struct store_writer **out,
                                    struct store_error *error)
{
    struct store_writer *writer = calloc(1, sizeof *writer);
    enum store_status status;

    if (!writer)
        return store_no_memory(error);
    writer->store = store;
    (void)pthread_mutex_init(&writer->lock, NULL);
    (void)pthread_cond_init(&writer->changed, NULL);
    status = find_ids(writer, error);
    if (status == STORE_OK && store_batch_register(store->db, &writer->source) != SQLITE_OK)
        status = store_no_memory(error);
    if (status == STORE_OK)
        status = columns_writer_open(store, &writer->columns, error);
    if (status == STORE_OK && pthread_create(&writer->thread, NULL, run, writer) != 0)
        status = store_fail(error, STORE_NO_MEMORY, "cannot start a thread");
    writer->has_thread = status == STORE_OK;
    if (status != STORE_OK) {
        store_writer_close(writer);
        return status;
    }
    *out = writer;
    return STORE_OK;
}

static void end_thread(struct store_writer *writer)
{
    if (!writer->has_thread)
        return;
    (void)pthread_mutex_lock(&writer->lock);
    writer->ending = true;
    (void)pthread_cond_broadcast(&writer->changed);
    (void)pthread_mutex_unlock(&writer->lock);
    (void)pthread_join(writer->thread, NULL);
    writer->has_thread = false;
}

enum store_status store_writer_finish(struct store_writer *writer, struct store_error *error)
{
    enum store_status status;

    for (int table = 0; table < STORE_TABLES; table++) {
        struct store_batch *batch = writer->filling[table];

        writer->filling[table] = NULL;
        if (batch)
            (void)enqueue(writer, batch);
    }
    end_thread(writer);
    (void)sqlite3_finalize(writer->page_count);
    writer->page_count = NULL;
    for (int table = 0; table < STORE_TABLES; table++) {
        (void)sqlite3_finalize(writer->statements[table]);
        writer->statements[table] = NULL;
    }
    status = store_writer_status(writer, error);
    if (status == STORE_OK)
        status = columns_writer_finish(writer->columns, error);
    columns_writer_close(writer->columns);
    writer->columns = NULL;
    return status;
}

static void free_batches(struct store_batch *batch)
{
    while (batch) {
        struct store_batch *next = batch->next;

        store_batch_free(batch);
        batch = next;
    }
}

void store_writer_close(struct store_writer *writer)
{
    if (!writer)
        return;
    if (writer->has_thread) { /* what waits is dropped */
        (void)pthread_mutex_lock(&writer->lock);
        if (writer->thread_status == STORE_OK)
            writer->thread_status = store_fail(&writer->thread_error, STORE_STOPPED, "given up");
        (void)pthread_mutex_unlock(&writer->lock);
    }
    end_thread(writer);
    (void)sqlite3_finalize(writer->page_count);
    writer->page_count = NULL;
    for (int table = 0; table < STORE_TABLES; table++) {
        (void)sqlite3_finalize(writer->statements[table]);
        store_batch_free(writer->filling[table]);
    }
    columns_writer_close(writer->columns);
    store_batch_unregister(writer->store->db);
    free_batches(writer->spare);
    (void)pthread_mutex_destroy(&writer->lock);
    (void)pthread_cond_destroy(&writer->changed);
    free(writer);
}
