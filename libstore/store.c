/* Making stores, opening them, giving them their names.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libstore/columns.h"
#include "libstore/store_internal.h"

#define DEFAULT_BUSY_MS 5000
/* SQLite also sorts this much at a time; what lies in a CPU's cache sorts three times as fast.  */
#define READ_CACHE_BYTES  ((size_t)4 << 20)
#define WRITE_CACHE_BYTES ((size_t)32 << 20)
/* Of a store without a name: what does not fit goes to an unlinked file in $TMPDIR.  */
#define UNNAMED_CACHE_BYTES ((size_t)1 << 30)
#define LARGEST_VALUE       (64 << 20) /* bytes of a text or blob that we look at */

/* ---- SQL ---- */

enum store_status store_run(struct store *store, const char *sql, struct store_error *error)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(error, store->db, code);
}

enum store_status store_number(struct store *store, const char *sql, int64_t *out,
                               struct store_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

    *out = 0;
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    return store_finish_rows(store, statement, code, error);
}

enum store_status store_finish_rows(struct store *store, sqlite3_stmt *query, int code,
                                    struct store_error *error)
{
    enum store_status status = STORE_OK;

    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        status = store_fail_sqlite(error, store->db, code);
    (void)sqlite3_finalize(query);
    return status;
}

char *store_copy_column(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return strdup(text ? text : "");
}

/* ---- Connections ---- */

/* Files of others may be hostile: their views, triggers, defaults and generated columns get nothing
 * to act with, and pages are checked before they are used.  */
enum store_status store_configure(struct store *store, const struct store_options *options,
                                  struct store_error *error)
{
    bool writes = store->mode == STORE_APPEND && store->path;
    size_t most = options && options->cache_bytes ? options->cache_bytes
                  : !store->path                  ? UNNAMED_CACHE_BYTES
                  : writes                        ? WRITE_CACHE_BYTES
                                                  : READ_CACHE_BYTES;
    /* Pages of a file without a name are all changed, and stay up to the limit of changed pages.
     */
    size_t cache = !store->path && most > READ_CACHE_BYTES ? READ_CACHE_BYTES : most;
    char pragma[192];

    (void)sqlite3_extended_result_codes(store->db, 1);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, LARGEST_VALUE);
    (void)sqlite3_busy_timeout(store->db, (int)store->busy_ms);
    (void)snprintf(pragma, sizeof pragma,
                   "PRAGMA mmap_size = 0; PRAGMA cell_size_check = 1; PRAGMA cache_size = -%zu;"
                   "PRAGMA main.cache_spill = -%zu; PRAGMA temp_store = FILE;"
                   "PRAGMA foreign_keys = OFF",
                   cache / 1024, most / 1024);
    return store_run(store, pragma, error);
}

/* A store that is read belongs to one thread at a time, and needs no locks for each call of SQLite;
 * sqlite3_interrupt() takes none.  */
static enum store_status open_connection(struct store *store, const char *path, int flags,
                                         const struct store_options *options,
                                         struct store_error *error)
{
    flags |= flags & SQLITE_OPEN_READONLY ? SQLITE_OPEN_NOMUTEX : SQLITE_OPEN_FULLMUTEX;
    int code = sqlite3_open_v2(path, &store->db, flags, NULL);

    if (code != SQLITE_OK)
        return store_fail_sqlite(error, store->db, code);
    return store_configure(store, options, error);
}

static struct store *new_store(const char *path, const struct store_options *options)
{
    struct store *store = calloc(1, sizeof *store);
    const char *directory = options && options->temporary_dir ? options->temporary_dir
                                                              : getenv("TMPDIR");

    if (!store)
        return NULL;
    store->lock_fd = -1;
    store->space_fd = -1;
    store->busy_ms = options && options->busy_ms ? options->busy_ms : DEFAULT_BUSY_MS;
    store->mode = options ? options->mode : STORE_READ;
    store->replaces = options && options->replaces;
    store->path = path ? strdup(path) : NULL;
    store->temporary_dir = strdup(directory && *directory ? directory : "/tmp");
    if ((path && !store->path) || !store->temporary_dir) {
        store_close(store);
        return NULL;
    }
    return store;
}

static bool options_are_whole(const struct store_options *options)
{
    return !options || options->size >= sizeof *options;
}

void store_interrupt(struct store *store)
{
    store->interrupted = 1;
    sqlite3_interrupt(store->db);
}

/* Whoever has the connection of a file may change its rows.  */
struct sqlite3 *store_sqlite(struct store *store)
{
    if (!store->is_new)
        store->columns.are_current = false;
    return store->db;
}

/* SQLite keeps the journal of an exclusive connection, empty: it would outlive PATH.part.  */
static void remove_journal(const struct store *store)
{
    char *journal;

    if (asprintf(&journal, "%s-journal", store->partial) < 0)
        return;
    (void)unlink(journal);
    free(journal);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    (void)store_merge(store, NULL);
    if (!store->is_new && store->mode == STORE_APPEND && !store->in_wal && store->db)
        store_columns_stamp(store);
    store_columns_close(store);
    (void)sqlite3_close(store->db);
    if (store->partial && store->lock_fd >= 0 && !store->published) {
        remove_journal(store);
        (void)unlink(store->partial);
    }
    if (store->lock_fd >= 0)
        (void)close(store->lock_fd); /* after SQLite's: it would drop SQLite's locks */
    if (store->space_fd >= 0)
        (void)close(store->space_fd); /* likewise */
    free(store->path);
    free(store->partial);
    free(store->temporary_dir);
    free(store);
}

/* ---- Making ---- */

static enum store_status refuse_partial(struct store_error *error)
{
    return store_fail(error, STORE_INVALID, "its .part is not a regular file: remove it first");
}

/* Whether the open file is PATH.part, ours and locked by us.  Its maker may have removed or renamed
 * it between the open and the lock; a file that somebody else put there stays theirs.  */
static enum store_status check_partial(const struct store *store, struct store_error *error)
{
    struct stat opened, named;

    if (fstat(store->lock_fd, &opened) != 0)
        return store_fail_errno(error, errno, "cannot make the store");
    if (!S_ISREG(opened.st_mode))
        return refuse_partial(error);
    if (opened.st_uid != geteuid() || opened.st_nlink > 1)
        return store_fail(error, STORE_IO, "its .part %s: remove it first",
                          opened.st_nlink > 1 ? "has another name, too"
                                              : "belongs to another user");
    bool locked = flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK)
        return store_fail_errno(error, errno, "cannot lock the store's .part");
    if (!locked || stat(store->partial, &named) != 0 || opened.st_ino != named.st_ino)
        return store_fail(error, STORE_BUSY, "another program is making the store");
    return STORE_OK;
}

/* PATH.part, locked and empty.  What a killed program left there is not locked, and reused.  */
static enum store_status make_partial(struct store *store, struct store_error *error)
{
    enum store_status status;

    if (asprintf(&store->partial, "%s.part", store->path) < 0) {
        store->partial = NULL;
        return store_no_memory(error);
    }
    store->lock_fd = open(store->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                          0666);
    if (store->lock_fd < 0 && (errno == ELOOP || errno == EISDIR)) /* a link, or a folder */
        return refuse_partial(error);
    if (store->lock_fd < 0)
        return store_fail_errno(error, errno, "cannot make the store");
    status = check_partial(store, error);
    if (status != STORE_OK) {
        (void)close(store->lock_fd);
        store->lock_fd = -1; /* store_close() removes what is ours */
    } else if (ftruncate(store->lock_fd, 0) != 0) {
        return store_fail_errno(error, errno, "cannot make the store");
    }
    return status;
}

/* A file nobody else knows needs neither journal nor locks; store_publish() makes it durable.  */
enum store_status store_make_schema(struct store *store, struct store_error *error)
{
    enum store_status status = store_run(store,
                                         "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;"
                                         "PRAGMA synchronous = OFF;"
                                         "PRAGMA locking_mode = EXCLUSIVE; BEGIN",
                                         error);

    if (status == STORE_OK)
        status = store_run(store, store_schema(), error);
    if (status == STORE_OK)
        status = store_run(store, "COMMIT", error);
    if (status == STORE_OK)
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
    return status;
}

static enum store_status check_absent(const struct store *store, struct store_error *error)
{
    struct stat info;

    return lstat(store->path, &info) != 0
               ? STORE_OK
               : store_fail(error, STORE_EXISTS, "there is a file of that name already");
}

enum store_status store_create(const char *path, const struct store_options *options,
                               struct store **out, struct store_error *error)
{
    enum store_status status = STORE_OK;
    struct store *store;

    if (!options_are_whole(options))
        return store_fail(error, STORE_INVALID, "options of %zu bytes", options->size);
    store = new_store(path, options);
    if (!store)
        return store_no_memory(error);
    store->is_new = true;
    store->mode = STORE_APPEND;
    if (path && !store->replaces)
        status = check_absent(store, error);
    if (path && status == STORE_OK)
        status = make_partial(store, error);
    if (path && status == STORE_OK)
        store->has_replaced = lstat(path, &store->replaced) == 0;
    if (status == STORE_OK)
        status = open_connection(store, path ? store->partial : "" /* a file of SQLite's own */,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options, error);
    if (status == STORE_OK)
        status = store_make_schema(store, error);
    if (status != STORE_OK) {
        store_close(store);
        return status;
    }
    *out = store;
    return STORE_OK;
}

/* The rename is durable when the directory is.  */
static enum store_status sync_directory(const char *path, struct store_error *error)
{
    char *copy = strdup(path);
    char *slash = copy ? strrchr(copy, '/') : NULL;
    enum store_status status = STORE_OK;
    int fd;

    if (!copy)
        return store_no_memory(error);
    if (slash)
        slash[slash == copy] = '\0';
    fd = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        status = store_fail_errno(error, errno, "cannot make the store durable");
    if (fd >= 0)
        (void)close(fd);
    free(copy);
    return status;
}

/* Rename unless target is there; some file systems can only do it with two names for a moment.
 * Returns 0, or -1 with errno set.  */
static int rename_new(const char *source, const char *target)
{
    if (renameat2(AT_FDCWD, source, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(source, target) == 0 ? unlink(source) : -1;
}

/* Whether the open file is the one that may be replaced.  */
static bool may_replace(const struct store *store, int fd)
{
    struct stat now;

    return fd >= 0 && store->has_replaced && fstat(fd, &now) == 0 &&
           now.st_dev == store->replaced.st_dev && now.st_ino == store->replaced.st_ino &&
           now.st_size == store->replaced.st_size &&
           now.st_mtim.tv_sec == store->replaced.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == store->replaced.st_mtim.tv_nsec;
}

static bool is_named(const char *path, int fd)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Journals of the former file: SQLite would apply them to the new one.  */
static void remove_journals_of_replaced(const struct store *store)
{
    static const char *const suffixes[] = { "-journal", "-wal", "-shm" };

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *name;

        if (asprintf(&name, "%s%s", store->path, suffixes[i]) < 0)
            return;
        (void)unlink(name);
        free(name);
    }
}

/* The former file and the new one exchange names, so that a file that somebody put there at the
 * last moment can have its name back.  While it is called PATH.part it is locked, else another
 * program would take it for what a killed one left.  Returns 0, or -1 with errno set.  */
static int exchange(const struct store *store, int former)
{
    remove_journals_of_replaced(store);
    if (renameat2(AT_FDCWD, store->partial, AT_FDCWD, store->path, RENAME_EXCHANGE) != 0)
        return errno == EINVAL || errno == ENOSYS ? rename(store->partial, store->path) : -1;
    if (is_named(store->partial, former))
        return unlink(store->partial);
    (void)renameat2(AT_FDCWD, store->partial, AT_FDCWD, store->path, RENAME_EXCHANGE);
    errno = EEXIST;
    return -1;
}

/* Returns 0, or -1 with errno set: EEXIST where another file is in the way.  */
static int rename_over(const struct store *store)
{
    int fd = open(store->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), result = -1, why;

    if (fd < 0 && errno == ENOENT)
        return rename_new(store->partial, store->path);
    if (may_replace(store, fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        result = exchange(store, fd);
    else
        errno = EEXIST;
    why = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = why;
    return result;
}

enum store_status store_publish(struct store *store, struct store_error *error)
{
    int failed;

    if (!store->is_new || !store->path || store->published)
        return STORE_OK;
    if (store->broken || store->importing)
        return store_fail(error, STORE_INVALID, "an import into the store did not end well");
    store_columns_stamp(store);
    if (fsync(store->lock_fd) != 0)
        return store_fail_errno(error, errno, "cannot write the store");
    remove_journal(store); /* while the name is ours */
    failed = store->replaces ? rename_over(store) : rename_new(store->partial, store->path);
    if (failed)
        return errno == EEXIST
                   ? store_fail(error, STORE_EXISTS, "there is a file of that name already")
                   : store_fail_errno(error, errno, "cannot name the store");
    store->published = true;
    return sync_directory(store->path, error);
}

/* ---- Opening ---- */

/* Where capture_deleted, which was verified, is the only trigger, it may fire.  Those of others
 * never do.  */
static enum store_status allow_own_trigger(struct store *store, struct store_error *error)
{
    int64_t triggers = 0;
    enum store_status status = store_number(
        store, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'trigger'", &triggers, error);

    if (status == STORE_OK && triggers == 1)
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
    return status;
}

static enum store_status check_version(struct store *store, bool upgrades,
                                       struct store_error *error)
{
    int64_t application, version, pages;
    struct stat info;
    enum store_status status = store_number(store, "PRAGMA application_id", &application, error);

    if (status == STORE_OK)
        status = store_number(store, "PRAGMA user_version", &version, error);
    if (status == STORE_OK)
        status = store_number(store, "PRAGMA page_count", &pages, error);
    if (status != STORE_OK)
        return status;
    if (pages == 0) /* SQLite takes a file without a byte for a database, and a device, too */
        return store_fail(error, STORE_NOT_STORE,
                          stat(store->path, &info) == 0 && !S_ISREG(info.st_mode)
                              ? "not a regular file, so not a store"
                              : "empty, not a store");
    if (application != STORE_APPLICATION_ID || version < 1)
        return store_fail(error, STORE_NOT_STORE, "an SQLite database, but not a store of fxtq");
    if (version > STORE_VERSION)
        return store_fail(
            error, STORE_TOO_NEW,
            "a store of version %lld, made by a later fxtq; this one knows version %d",
            (long long)version, STORE_VERSION);
    store->version = (int)version;
    if (version == STORE_VERSION)
        return STORE_OK;
    if (!upgrades)
        return store_fail(error, STORE_TOO_OLD,
                          "a store of version %lld; 'fxtq upgrade' makes it one of version %d",
                          (long long)version, STORE_VERSION);
    return store_migrate(store, store_migrations, store_migration_count, error);
}

enum store_status store_check(struct store *store, bool upgrades, struct store_error *error)
{
    enum store_status status = check_version(store, upgrades, error);

    if (status == STORE_OK)
        status = store_verify_schema(store, error);
    if (status == STORE_TOO_OLD && upgrades)
        status = store_renew_views(store, error);
    return status;
}

int store_upgraded_from(const struct store *store)
{
    return store->copied_version;
}

enum store_status store_open(const char *path, const struct store_options *options,
                             struct store **out, struct store_error *error)
{
    enum store_status status;
    struct store *store;

    if (!options_are_whole(options))
        return store_fail(error, STORE_INVALID, "options of %zu bytes", options->size);
    if (access(path, F_OK) != 0)
        return errno == ENOENT ? store_fail(error, STORE_NOT_THERE, "there is no such file")
                               : store_fail_errno(error, errno, "cannot open the store");
    store = new_store(path, options);
    if (!store)
        return store_no_memory(error);
    if (store->mode == STORE_APPEND)
        store->space_fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    status = open_connection(
        store, path, store->mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
        options, error);
    if (status == STORE_OK)
        status = store_check(store, store->mode == STORE_APPEND, error);
    if (status == STORE_TOO_OLD && !(options && options->refuses_old))
        status = store_read_copy(store, options, error);
    if (status == STORE_OK && store->mode == STORE_APPEND)
        status = allow_own_trigger(store, error);
    if (status == STORE_OK && store->mode == STORE_APPEND)
        status = store_columns_open(store, error);
    if (status != STORE_OK) {
        store_close(store);
        return status;
    }
    *out = store;
    return STORE_OK;
}

bool store_is_database_start(const void *start, size_t length)
{
    static const char magic[16] = "SQLite format 3";

    return length >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

/* The first bytes, read by SQLite's own means: if this program closed another descriptor of a store
 * that it has open, the kernel would drop the locks of that store.  */
static bool read_start(const char *path, char *start, int size)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    char *full = malloc((size_t)vfs->mxPathname + 1);
    sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
    const char *name = NULL;
    bool result = false;

    if (full && file && (vfs->xFullPathname(vfs, path, vfs->mxPathname + 1, full) & 0xff) == 0)
        name = sqlite3_create_filename(full, "", "", 0, NULL);
    if (name &&
        vfs->xOpen(vfs, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL) == SQLITE_OK)
        result = file->pMethods->xRead(file, start, size, 0) == SQLITE_OK;
    if (file && file->pMethods)
        (void)file->pMethods->xClose(file);
    sqlite3_free_filename(name);
    free(file);
    free(full);
    return result;
}

bool store_is_database(const char *path)
{
    char start[16];
    struct stat info;

    /* Opening and closing a pipe would end the program that writes to it.  */
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           read_start(path, start, (int)sizeof start) &&
           store_is_database_start(start, sizeof start);
}
