/* Reading an older store: from an upgraded copy of it.
 *
 * The copy is a file in $TMPDIR without a name.  Three connections open it while it has one and is
 * empty: one takes the pages of the store, one upgrades them, and one, which can only read, is the
 * store's from then on.  If the program is killed, nothing is left.  */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "libstore/store_internal.h"

struct copy {
    char *folder, *path; /* only this user may look into the folder */
    sqlite3 *filler, *writer, *reader;
};

/* ---- The file ---- */

static enum store_status make_folder(const struct store *store, struct copy *copy,
                                     struct store_error *error)
{
    char *folder;

    if (asprintf(&folder, "%s/fxt-XXXXXX", store->temporary_dir) < 0)
        return store_no_memory(error);
    if (!mkdtemp(folder)) {
        free(folder);
        return store_fail_errno(error, errno, "cannot make a file");
    }
    copy->folder = folder;
    if (asprintf(&copy->path, "%s/store", folder) < 0) {
        copy->path = NULL;
        return store_no_memory(error);
    }
    return STORE_OK;
}

static enum store_status open_one(const struct copy *copy, int flags, sqlite3 **out,
                                  struct store_error *error)
{
    int code = sqlite3_open_v2(copy->path, out, flags, NULL);

    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(error, *out, code);
}

/* SQLite opens the file itself at once, and keeps it open.  */
static enum store_status open_all(struct copy *copy, struct store_error *error)
{
    const int writes = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    enum store_status status = open_one(copy, writes, &copy->filler, error);

    if (status == STORE_OK)
        status = open_one(copy, writes, &copy->writer, error);
    if (status == STORE_OK)
        status = open_one(copy, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &copy->reader, error);
    return status;
}

static enum store_status make_file(const struct store *store, struct copy *copy,
                                   struct store_error *error)
{
    enum store_status status = make_folder(store, copy, error);

    if (status == STORE_OK)
        status = open_all(copy, error);
    if (copy->path)
        (void)unlink(copy->path);
    if (copy->folder)
        (void)rmdir(copy->folder);
    return status;
}

static void release(struct copy *copy)
{
    (void)sqlite3_close(copy->filler);
    (void)sqlite3_close(copy->writer);
    (void)sqlite3_close(copy->reader);
    free(copy->path);
    free(copy->folder);
}

/* A journal would need the name.  If anything fails, the copy is dropped as a whole.  */
static enum store_status need_no_journal(sqlite3 *db, struct store_error *error)
{
    int code = sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL,
                            NULL);

    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(error, db, code);
}

/* ---- Its contents ---- */

/* A disk that is too small is not filled first.  */
static enum store_status check_room(struct store *store, struct store_error *error)
{
    int64_t pages = 0, page_size = 0;
    enum store_status status = store_number(store, "PRAGMA page_count", &pages, error);
    struct statvfs disk;

    if (status == STORE_OK)
        status = store_number(store, "PRAGMA page_size", &page_size, error);
    if (status != STORE_OK || statvfs(store->temporary_dir, &disk) != 0 || disk.f_frsize == 0)
        return status;
    if ((uint64_t)(pages * page_size) / disk.f_frsize >= disk.f_bavail)
        return store_fail_errno(error, ENOSPC, "it is too large");
    return STORE_OK;
}

/* The pages of one state of the store, those in its WAL included.  */
static enum store_status copy_pages(struct store *store, struct copy *copy,
                                    struct store_error *error)
{
    sqlite3_backup *backup = sqlite3_backup_init(copy->filler, "main", store->db, "main");
    int code = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(copy->filler);

    (void)sqlite3_backup_finish(backup); /* puts the reason into the connection that writes */
    return code == SQLITE_DONE ? STORE_OK : store_fail_sqlite(error, copy->filler, code);
}

/* Bytes 18 and 19 of a database have its mode.  WAL mode would need the name, too.  */
static enum store_status leave_wal_mode(struct copy *copy, struct store_error *error)
{
    static const uint8_t rollback[] = { 1, 1 };
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(copy->writer, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (code == SQLITE_OK)
        code = file->pMethods->xWrite(file, rollback, sizeof rollback, 18);
    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(error, copy->writer, code);
}

static enum store_status fill(struct store *store, struct copy *copy, struct store_error *error)
{
    enum store_status status = check_room(store, error);

    if (status == STORE_OK)
        status = make_file(store, copy, error);
    if (status == STORE_OK)
        status = need_no_journal(copy->filler, error);
    if (status == STORE_OK)
        status = copy_pages(store, copy, error);
    (void)sqlite3_close(copy->filler);
    copy->filler = NULL;
    return status == STORE_OK ? leave_wal_mode(copy, error) : status;
}

/* ---- The store ---- */

static enum store_status use(struct store *store, sqlite3 **db, const struct store_options *options,
                             bool upgrades, struct store_error *error)
{
    enum store_status status;

    (void)sqlite3_close(store->db);
    store->db = *db;
    *db = NULL;
    status = store_configure(store, options, error);
    return status == STORE_OK ? store_check(store, upgrades, error) : status;
}

/* The copy failed, and not the store.  */
static enum store_status explain(const struct store *store, enum store_status status,
                                 struct store_error *error)
{
    struct store_error why;

    if (status != STORE_IO || !error)
        return status;
    why = *error;
    (void)store_fail(error, STORE_IO,
                     "a store of version %d%s, which is read from an upgraded copy in $TMPDIR: "
                     "%.150s; 'fxtq upgrade' makes the copy unnecessary",
                     store->copied_version,
                     store->copied_version == STORE_VERSION ? " with views of another fxtq" : "",
                     why.message);
    error->system_errno = why.system_errno;
    return status;
}

enum store_status store_read_copy(struct store *store, const struct store_options *options,
                                  struct store_error *error)
{
    struct copy copy = { .folder = NULL };
    enum store_status status;

    store->copied_version = store->version;
    status = fill(store, &copy, error);
    if (status == STORE_OK)
        status = need_no_journal(copy.writer, error);
    if (status == STORE_OK)
        status = use(store, &copy.writer, options, true, error);
    if (status == STORE_OK)
        status = use(store, &copy.reader, options, false, error);
    release(&copy);
    return explain(store, status, error);
}
