#include "cmd/fxtq/trace_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

#define SETTLE_MS 50

/* ---- The trace ---- */

static int64_t to_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Whether any later change of the file gets a later ctime.  The kernel stamps files with its coarse
 * clock.  File systems that keep whole seconds may keep only every second one.  */
static bool is_settled(const struct stat *info)
{
    bool is_coarse = info->st_ctim.tv_nsec == 0 && info->st_mtim.tv_nsec == 0;
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
        return false;
    return to_ns(&now) > to_ns(&info->st_ctim) + (is_coarse ? 2000000000 : 0);
}

static void format_state(const struct stat *info, struct cache_trace *out)
{
    (void)snprintf(out->text, sizeof out->text, "%" PRIuMAX ":%" PRIdMAX ":%" PRId64 ":%" PRId64,
                   (uintmax_t)info->st_ino, (intmax_t)info->st_size, to_ns(&info->st_mtim),
                   to_ns(&info->st_ctim));
}

bool cache_is_unchanged(const char *path, const struct cache_trace *trace)
{
    struct cache_trace now = { .text = "" };
    struct stat info;

    if (stat(path, &info) == 0)
        format_state(&info, &now);
    return trace->text[0] && strcmp(now.text, trace->text) == 0;
}

bool cache_describe(const char *path, struct cache_trace *out)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    struct stat info;

    out->text[0] = '\0';
    for (int i = 0; i < SETTLE_MS; i++) {
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
            return false;
        if (is_settled(&info)) {
            format_state(&info, out);
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* ---- The mark ---- */

/* A value of meta with capture_id 0.  Returns false if there is none or it is longer.  */
static bool read_mark(sqlite3 *db, const char *key, char *value, size_t size)
{
    sqlite3_stmt *row = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(db, "SELECT value FROM main.meta WHERE capture_id = 0 AND key = ?1", -1,
                           &row, NULL) == SQLITE_OK &&
        sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_TEXT) {
        int length = snprintf(value, size, "%s", (const char *)sqlite3_column_text(row, 0));

        found = length >= 0 && (size_t)length < size;
    }
    (void)sqlite3_finalize(row);
    return found;
}

/* The first column of the first row; -1 if there is none.  */
static int64_t ask_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        number = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    return number;
}

/* Whether the store holds the capture that cache_mark() found in it, and no other.  */
static bool holds_only_the_trace(sqlite3 *db)
{
    return ask_number(db, "SELECT count(*) = 1 AND sum(lower(hex(hash)) = (SELECT value FROM"
                          " main.meta WHERE capture_id = 0 AND key = 'cache_capture'))"
                          " FROM main.capture") == 1;
}

/* The names of what schemas/store.sql makes, in an empty store.  */
static sqlite3 *open_own_schema(void)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_exec(db, store_schema(), NULL, NULL, NULL) == SQLITE_OK)
        return db;
    (void)sqlite3_close(db);
    return NULL;
}

/* Whether a row (type, name) is one of the statement's.  */
static bool is_listed(sqlite3_stmt *own, sqlite3_stmt *row)
{
    bool found = sqlite3_bind_value(own, 1, sqlite3_column_value(row, 0)) == SQLITE_OK &&
                 sqlite3_bind_value(own, 2, sqlite3_column_value(row, 1)) == SQLITE_OK &&
                 sqlite3_step(own) == SQLITE_ROW;

    (void)sqlite3_reset(own);
    return found;
}

/* Whether every table, view, index and trigger is one that stores have.  Those of former versions
 * are among those of this one.  SQLite's own (sqlite_...) cannot be made by users.  */
static bool has_only_own_objects(sqlite3 *db)
{
    sqlite3 *empty = open_own_schema();
    sqlite3_stmt *own = NULL, *row = NULL;
    int code = SQLITE_ERROR;
    bool only = true;

    if (empty &&
        sqlite3_prepare_v2(empty, "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2", -1,
                           &own, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "SELECT type, name FROM main.sqlite_schema"
                           " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
                           " AND sql IS NOT '" STORE_COLUMNS_TABLE "'",
                           -1, &row, NULL) == SQLITE_OK)
        while ((code = sqlite3_step(row)) == SQLITE_ROW && only)
            only = is_listed(own, row);
    (void)sqlite3_finalize(row);
    (void)sqlite3_finalize(own);
    (void)sqlite3_close(empty);
    return only && code == SQLITE_DONE;
}

/* Whether the store has a table, view or index of the user, or a fact about the store.  */
static bool has_things_of_user(sqlite3 *db)
{
    return ask_number(db, "SELECT count(*) FROM main.meta WHERE capture_id = 0 AND"
                          " key NOT LIKE 'cache\\_%' ESCAPE '\\' AND"
                          " key NOT LIKE 'libdwarf.%' AND key NOT LIKE 'unread.%'") != 0 ||
           !has_only_own_objects(db);
}

/* ---- Looking ---- */

static void refuse(struct cache_look *look, const char *why)
{
    look->state = CACHE_NO_CACHE;
    (void)snprintf(look->why, sizeof look->why, "%s", why);
}

/* Whether the file, if there is one, is this user's.  */
static bool is_own(const char *path, const char *suffix)
{
    char *name = cli_join(path, suffix);
    struct stat info;
    bool own = lstat(name, &info) != 0 || info.st_uid == geteuid();

    free(name);
    return own;
}

/* Whether a file is at path that may be opened as a cache; else out says what is there.  */
static bool is_candidate(const char *path, struct cache_look *out)
{
    struct stat info;

    if (lstat(path, &info) != 0) {
        out->state = CACHE_ABSENT;
        if (errno != ENOENT)
            refuse(out, strerror(errno));
        return false;
    }
    if (!S_ISREG(info.st_mode)) {
        refuse(out, "it is not a regular file");
        return false;
    }
    if (!is_own(path, "") || !is_own(path, "-wal") || !is_own(path, "-journal")) {
        refuse(out, "it belongs to another user, whom --cache does not trust");
        return false;
    }
    return true;
}

static bool is_made_here(sqlite3 *db, const char *path)
{
    char program[40], inode[40], expected[40];
    struct stat info;

    if (!read_mark(db, "cache_program", program, sizeof program) ||
        !read_mark(db, "cache_inode", inode, sizeof inode) || lstat(path, &info) != 0)
        return false;
    (void)snprintf(expected, sizeof expected, "%" PRIuMAX, (uintmax_t)info.st_ino);
    return strcmp(program, FXT_TOOLCHAIN_VERSION) == 0 && strcmp(inode, expected) == 0;
}

static void examine(sqlite3 *db, const char *path, const struct cache_trace *trace,
                    struct cache_look *out)
{
    char recorded[sizeof trace->text], damaged[8];
    bool has_state = read_mark(db, "cache_trace", recorded, sizeof recorded);

    if (!has_state) {
        refuse(out, "--cache did not make it");
    } else if (holds_only_the_trace(db) && is_made_here(db, path) && recorded[0] &&
               strcmp(recorded, trace->text) == 0) {
        out->state = CACHE_FRESH;
        out->is_damaged = read_mark(db, "cache_damaged", damaged, sizeof damaged);
    } else if (!holds_only_the_trace(db) || has_things_of_user(db)) {
        refuse(out, "it was changed since --cache made it");
    } else {
        out->state = CACHE_STALE;
    }
}

/* A store of a former version: only whether it may be replaced.  Its owner is this user.  */
static void examine_old(const char *path, const char *why, struct cache_look *out)
{
    char recorded[100];
    sqlite3 *db = NULL;

    refuse(out, why);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
        read_mark(db, "cache_trace", recorded, sizeof recorded)) {
        if (holds_only_the_trace(db) && !has_things_of_user(db))
            out->state = CACHE_STALE;
        else
            refuse(out, "it was changed since --cache made it");
    }
    (void)sqlite3_close(db);
}

void cache_look(const char *path, const struct cache_trace *trace, struct cache_look *out)
{
    struct store_options options = { .size = sizeof options,
                                     .mode = STORE_READ,
                                     .refuses_old = true };
    struct store_error error;
    struct store *store;
    enum store_status status;

    *out = (struct cache_look){ .state = CACHE_ABSENT };
    if (!is_candidate(path, out))
        return;
    if (!store_is_database(path)) {
        refuse(out, "it is not a store");
        return;
    }
    status = store_open(path, &options, &store, &error);
    if (status == STORE_OK) {
        examine(store_sqlite(store), path, trace, out);
        if (out->state == CACHE_FRESH)
            out->store = store;
        else
            store_close(store);
    } else if (status == STORE_TOO_OLD) {
        examine_old(path, error.message, out);
    } else if (status == STORE_NOT_THERE) { /* by now */
        out->state = CACHE_ABSENT;
    } else {
        refuse(out, error.message);
    }
}

/* ---- Making ---- */

static char *mark_sql(const char *partial, const struct cache_trace *trace, bool is_damaged)
{
    struct stat info;

    if (stat(partial, &info) != 0)
        return NULL;
    return sqlite3_mprintf("INSERT INTO main.meta (capture_id, key, value)"
                           " SELECT 0, 'cache_capture', lower(hex(hash)) FROM main.capture;"
                           "INSERT INTO main.meta (capture_id, key, value) VALUES"
                           " (0, 'cache_program', %Q), (0, 'cache_inode', '%llu'),"
                           " (0, 'cache_trace', %Q)%s",
                           FXT_TOOLCHAIN_VERSION, (unsigned long long)info.st_ino, trace->text,
                           is_damaged ? ", (0, 'cache_damaged', 'yes')" : "");
}

enum store_status cache_mark(struct store *store, const char *path, const struct cache_trace *trace,
                             bool is_damaged, struct store_error *error)
{
    char *partial = cli_join(path, ".part"), *sql = mark_sql(partial, trace, is_damaged);
    sqlite3 *db = store_sqlite(store);
    enum store_status status = STORE_OK;

    if (!sql || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        int code = sql ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;

        status = STORE_IO;
        *error = (struct store_error){ .status = status };
        (void)snprintf(error->message, sizeof error->message, "cannot mark the cache: %s",
                       code == SQLITE_FULL    ? strerror(ENOSPC)
                       : code == SQLITE_IOERR ? "disk full or broken"
                                              : sqlite3_errstr(code));
    }
    sqlite3_free(sql);
    free(partial);
    return status;
}
