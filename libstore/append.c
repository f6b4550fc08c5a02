/* Adding to a store that is there: WAL mode while it lasts, and one plain file afterwards.
 *
 * In WAL mode readers go on beside an import.  A store in WAL mode cannot be read where nobody may
 * write beside it, so a store that was switched on is switched back.  One that its user put into
 * WAL mode stays so.  */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libstore/columns.h"
#include "libstore/store_internal.h"

static enum store_status get_journal_mode(struct store *store, bool *is_wal,
                                          struct store_error *error)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &row, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(row, 0);

        *is_wal = mode && strcmp(mode, "wal") == 0;
    }
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW ? STORE_OK : store_fail_sqlite(error, store->db, code);
}

enum store_status store_enter_wal(struct store *store, struct store_error *error)
{
    enum store_status status;
    bool is_wal = false;

    if (store->in_wal)
        return STORE_OK;
    status = get_journal_mode(store, &is_wal, error);
    /* SQLite merges after a commit, too, but does not report what comes of it.  */
    if (status == STORE_OK)
        status = store_run(store, "PRAGMA wal_autocheckpoint = 0", error);
    if (status == STORE_OK && !is_wal)
        status = store_run(store, "PRAGMA journal_mode = WAL", error);
    if (status == STORE_OK) {
        store->in_wal = true;
        store->keeps_wal = is_wal;
    }
    return status;
}

/* A commit writes into the WAL; merging it afterwards must not fail for lack of room, since the
 * file alone would be neither the old store nor the new one.  File systems that cannot reserve room
 * are left to report it then.  */
enum store_status store_reserve_file(struct store *store, struct store_error *error)
{
    int64_t pages = 0, page_size = 0;
    enum store_status status = store_number(store, "PRAGMA page_count", &pages, error);
    struct stat info;

    if (status == STORE_OK)
        status = store_number(store, "PRAGMA page_size", &page_size, error);
    if (status != STORE_OK || store->space_fd < 0 || fstat(store->space_fd, &info) != 0 ||
        pages * page_size <= info.st_size)
        return status;
    while (fallocate(store->space_fd, FALLOC_FL_KEEP_SIZE, info.st_size,
                     pages * page_size - info.st_size) != 0) {
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            return store_fail_errno(error, errno, "cannot write the store");
        if (errno != EINTR)
            break;
    }
    return STORE_OK;
}

/* Room that was reserved and not used is given back.  Nobody else may write to the file then.  */
static void release_reserve(struct store *store)
{
    struct stat info;

    if (store->space_fd < 0 || store_run(store, "BEGIN EXCLUSIVE", NULL) != STORE_OK)
        return;
    if (fstat(store->space_fd, &info) == 0 && info.st_blocks * 512 > info.st_size + 65536)
        (void)!ftruncate(store->space_fd, info.st_size);
    (void)store_run(store, "ROLLBACK", NULL);
}

static enum store_status fail_to_merge(struct store *store, int code, struct store_error *error)
{
    struct store_error why;

    if ((code & 0xff) == SQLITE_BUSY)
        return store_fail(error, STORE_BUSY,
                          "another program reads the store in a transaction that began earlier: "
                          "until it ends, a copy needs the -wal file, too");
    (void)store_fail_sqlite(&why, store->db, code);
    bool is_full = why.system_errno == ENOSPC || why.system_errno == EDQUOT;
    return store_fail(error, STORE_UNMERGED,
                      "nothing is lost, but what was added cannot be moved from the -wal file into "
                      "the store: %.150s; %s import it again; until then a copy needs the -wal "
                      "file, too",
                      why.message, is_full ? "make room and" : "when that is mended,");
}

/* A WAL that cannot be emptied does no harm once the file has all that is in it.  */
static bool is_moved(struct store *store)
{
    int logged = -1, moved = -1;

    return sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_PASSIVE, &logged,
                                     &moved) == SQLITE_OK &&
           logged >= 0 && moved == logged;
}

/* Move what the WAL has into the file.  */
static enum store_status checkpoint(struct store *store, struct store_error *error)
{
    int logged = 0, moved = 0;
    int mode = store->keeps_wal ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
    int code = sqlite3_wal_checkpoint_v2(store->db, "main", mode, &logged, &moved);

    /* In a store that is in WAL mode anyway, readers of an older state are nothing unusual.  */
    if (code == SQLITE_OK || ((code & 0xff) == SQLITE_BUSY && store->keeps_wal))
        return STORE_OK;
    if ((code & 0xff) != SQLITE_BUSY && is_moved(store))
        return STORE_OK;
    return fail_to_merge(store, code, error);
}

/* SQLite does not wait for this by itself.  The WAL is empty, and everybody else shut out for as
 * long as one page takes.  */
static enum store_status leave_wal(struct store *store, struct store_error *error)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    enum store_status status = STORE_OK;

    for (unsigned waited_ms = 0;; waited_ms += 10) {
        status = store_run(store, "PRAGMA journal_mode = DELETE", error);
        if (status != STORE_BUSY || waited_ms >= store->busy_ms)
            break;
        (void)nanosleep(&pause, NULL);
    }
    if (status == STORE_BUSY)
        return store_fail(error, STORE_BUSY,
                          "another program reads the store all the time: it stays in WAL mode");
    return STORE_OK; /* without room for that page, too, the file alone is whole */
}

enum store_status store_merge(struct store *store, struct store_error *error)
{
    enum store_status status;
    struct columns_watch watch;

    if (!store->in_wal || store->importing)
        return STORE_OK;
    store->in_wal = false;
    status = checkpoint(store, error);
    if (status != STORE_OK || store->keeps_wal)
        return status;
    watch = store_columns_watch(store);
    status = leave_wal(store, error);
    store_columns_watched(store, &watch);
    if (status == STORE_OK) {
        release_reserve(store);
        store_columns_stamp(store);
    }
    return status;
}
