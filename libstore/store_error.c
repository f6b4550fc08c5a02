/* Errors: one sentence each.  */
#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "libstore/store_internal.h"

enum store_status store_fail(struct store_error *error, enum store_status status,
                             const char *format, ...)
{
    BASE_FAIL(error, status, format);
    return status;
}

enum store_status store_fail_errno(struct store_error *error, int system_errno, const char *what)
{
    (void)store_fail(error, STORE_IO, "%s: %s", what, strerror(system_errno));
    if (error)
        error->system_errno = system_errno;
    return STORE_IO;
}

enum store_status store_fail_base(struct store_error *error, int failure, const char *what)
{
    return failure == ENOMEM ? store_no_memory(error) : store_fail_errno(error, failure, what);
}

/* Which of ours a result of SQLite is.  */
static enum store_status status_of(int code)
{
    if (code == SQLITE_IOERR_NOMEM) /* in the middle of reading or writing a file */
        return STORE_NO_MEMORY;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return STORE_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STORE_BUSY;
    case SQLITE_NOTADB:
        return STORE_NOT_STORE;
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT: /* also SQLITE_ERROR: our statements are right, so the schema is not */
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
        return STORE_CORRUPT;
    case SQLITE_INTERRUPT:
        return STORE_STOPPED;
    case SQLITE_TOOBIG:
        return STORE_LIMIT;
    default:
        return STORE_IO;
    }
}

enum store_status store_fail_sqlite(struct store_error *error, sqlite3 *db, int code)
{
    enum store_status status = status_of(code);
    int kind = code & 0xff;
    /* SQLite keeps that of the last call that failed so, also when others fail later.  */
    bool has_errno = db && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN);
    int system_errno = has_errno ? sqlite3_system_errno(db) : 0;

    switch (status) {
    case STORE_NO_MEMORY:
        return store_no_memory(error);
    case STORE_BUSY:
        return store_fail(error, status,
                          "another program is using the store: try again when it has ended");
    case STORE_NOT_STORE:
        return store_fail(error, status, "not a store: not an SQLite database");
    case STORE_STOPPED:
        return store_fail(error, status, "interrupted");
    case STORE_CORRUPT:
        return store_fail(error, status, "the store is corrupt: %s",
                          db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    default:
        break;
    }
    if (kind == SQLITE_FULL)
        system_errno = ENOSPC;
    if (kind == SQLITE_IOERR && system_errno == 0)
        return store_fail(error, status,
                          "the store cannot be read or written (disk full or broken)");
    (void)store_fail(error, status, "%s",
                     system_errno ? strerror(system_errno)
                     : db         ? sqlite3_errmsg(db)
                                  : sqlite3_errstr(code));
    if (error)
        error->system_errno = system_errno;
    return status;
}

enum store_status store_fail_query(struct store_error *error, sqlite3 *db, int code)
{
    const char *message = sqlite3_errmsg(db);

    if ((code & 0xff) == SQLITE_ERROR)
        return store_fail(error, STORE_INVALID, "%s", message);
    if ((code & 0xff) == SQLITE_CORRUPT && strncmp(message, "the store is damaged", 20) == 0)
        return store_fail(error, STORE_CORRUPT, "%s", message);
    return store_fail_sqlite(error, db, code);
}
