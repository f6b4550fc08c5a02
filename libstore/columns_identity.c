/* Whether columns are those of the plain tables.  */
#include "libstore/columns.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC          UINT64_C(0x6469796c6f637866)
#define FORMAT_VERSION 1u
#define HEADER_BYTES   100 /* of an SQLite file */

struct identity {
    uint64_t magic;
    uint32_t version;
    uint32_t changes; /* what SQLite has counted */
    uint32_t pages;
    uint32_t unused;
    uint64_t checksum; /* of the above */
};

static uint64_t checksum(const struct identity *identity)
{
    return block_checksum((const uint8_t *)identity, offsetof(struct identity, checksum));
}

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* What the file says of itself; false if it is in WAL mode, or cannot be read.  The connection has
 * a lock, so nobody changes it.  */
static bool read_file(struct store *store, struct identity *out)
{
    uint8_t header[HEADER_BYTES];
    sqlite3_file *file = NULL;

    *out = (struct identity){ .magic = MAGIC, .version = FORMAT_VERSION };
    if (sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods ||
        file->pMethods->xRead(file, header, HEADER_BYTES, 0) != SQLITE_OK)
        return false;
    out->changes = number_at(header + 24);
    out->pages = number_at(header + 28);
    out->checksum = checksum(out);
    return header[18] == 1 && header[19] == 1;
}

/* ---- Reading ---- */

/* Whether the table is there, and is ours.  */
static enum store_status find_table(struct store *store, bool *out, struct store_error *error)
{
    int64_t found = 0;
    enum store_status status = store_number(
        store,
        "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'column_data' AND "
        "rootpage > 0 AND sql = '" STORE_COLUMNS_TABLE "'",
        &found, error);

    *out = found == 1;
    return status;
}

enum store_status store_columns_look(struct store *store, bool *out, struct store_error *error)
{
    struct identity stored = { .magic = 0 }, now;
    sqlite3_stmt *row = NULL;
    bool found = false;
    enum store_status status;
    int code;

    *out = false;
    if (store->copied_version) /* rows were changed, and the count of changes proves nothing */
        return STORE_OK;
    status = find_table(store, &found, error);
    if (status != STORE_OK || !found)
        return status;
    code = sqlite3_prepare_v2(store->db, "SELECT data FROM main.column_data WHERE id = 0", -1, &row,
                              NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW && sqlite3_column_bytes(row, 0) == (int)sizeof stored)
        memcpy(&stored, sqlite3_column_blob(row, 0), sizeof stored);
    if (code == SQLITE_ROW && read_file(store, &now)) /* while the row keeps the lock */
        *out = memcmp(&stored, &now, sizeof now) == 0;
    return store_finish_rows(store, row, code, error);
}

/* ---- Connections that write ---- */

static int64_t data_version(struct store *store)
{
    int64_t version = -1;

    (void)store_number(store, "PRAGMA data_version", &version, NULL);
    return version;
}

enum store_status store_columns_open(struct store *store, struct store_error *error)
{
    enum store_status status = store_run(store, "BEGIN", error);

    store->columns = (struct columns_state){ .are_current = false };
    if (status != STORE_OK)
        return status;
    status = store_columns_look(store, &store->columns.are_current, error);
    store->columns.data_version = data_version(store);
    (void)store_run(store, "ROLLBACK", NULL);
    return status;
}

bool store_columns_are_current(struct store *store)
{
    return store->columns.are_current && store->columns.data_version == data_version(store);
}

void store_columns_written(struct store *store)
{
    store->columns = (struct columns_state){ .are_current = true,
                                             .data_version = data_version(store),
                                             .needs_stamp = true };
}

static enum store_status put_identity(struct store *store, struct identity *identity)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, "UPDATE main.column_data SET data = ?1 WHERE id = 0",
                                  -1, &statement, NULL);

    identity->checksum = checksum(identity);
    if (code == SQLITE_OK)
        code = sqlite3_bind_blob(statement, 1, identity, (int)sizeof *identity, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    return store_finish_rows(store, statement, code, NULL);
}

/* Whether nobody else has written.  Inside of a transaction that writes.  */
static bool is_alone(struct store *store, const struct identity *now)
{
    return store->columns.knows_changes ? store->columns.changes == now->changes
                                        : store_columns_are_current(store);
}

/* The count that the commit leads to.  A connection that keeps its lock may count nothing.  Returns
 * whether that is all.  */
static bool stamp(struct store *store, unsigned step)
{
    struct identity identity;
    enum store_status status = store_run(store, "BEGIN IMMEDIATE", NULL);
    bool is_current = false;

    if (status != STORE_OK)
        return true;
    if (!read_file(store, &identity) || !is_alone(store, &identity)) {
        (void)store_run(store, "ROLLBACK", NULL);
        store->columns.are_current = false;
        return true;
    }
    store->columns.knows_changes = false;
    store->columns.data_version = data_version(store);
    identity.changes += step;
    status = put_identity(store, &identity);
    if (status == STORE_OK)
        status = store_run(store, "COMMIT", NULL);
    if (status != STORE_OK)
        (void)store_run(store, "ROLLBACK", NULL);
    return status != STORE_OK || store_columns_look(store, &is_current, NULL) != STORE_OK ||
           is_current;
}

/* ---- Leaving WAL mode ----
 *
 * In WAL mode, SQLite counts no transactions in the file, and afterwards it no longer knows whether
 * another connection has written.  So the WAL itself is watched: it is empty, and whoever writes
 * before the mode changes makes it longer, although its name is gone then.  The change of mode is
 * one counted transaction.  */

struct columns_watch store_columns_watch(struct store *store)
{
    struct columns_watch watch = { .fd = -1 };
    struct identity now;
    char *name = NULL;

    if (!store->columns.are_current || asprintf(&name, "%s-wal", store->path) < 0)
        return watch;
    watch.fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    free(name);
    if (watch.fd < 0 || store_run(store, "BEGIN", NULL) != STORE_OK)
        return watch;
    watch.is_quiet = fstat(watch.fd, &watch.info) == 0 && watch.info.st_size == 0 &&
                     store_columns_are_current(store);
    (void)read_file(store, &now); /* it is still in WAL mode */
    watch.changes = now.changes;
    (void)store_run(store, "ROLLBACK", NULL);
    return watch;
}

void store_columns_watched(struct store *store, struct columns_watch *watch)
{
    struct stat now;

    store->columns.are_current = watch->is_quiet && fstat(watch->fd, &now) == 0 &&
                                 now.st_size == 0 &&
                                 now.st_mtim.tv_sec == watch->info.st_mtim.tv_sec &&
                                 now.st_mtim.tv_nsec == watch->info.st_mtim.tv_nsec;
    store->columns.knows_changes = true;
    store->columns.changes = watch->changes + 1;
    if (watch->fd >= 0)
        (void)close(watch->fd);
}

void store_columns_stamp(struct store *store)
{
    bool is_current = false;

    if (!store->columns.are_current || !store->path || store->importing)
        return;
    if (!store->columns.needs_stamp &&
        (store_columns_look(store, &is_current, NULL) != STORE_OK || is_current))
        return;
    store->columns.needs_stamp = false;
    if (!stamp(store, 1))
        (void)stamp(store, 0);
}
