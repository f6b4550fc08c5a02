/* store_internal.h - what all files of libstore share.  */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sqlite3.h>
#include <sys/stat.h>

#include <fxt/store.h>

/* ---- Errors ---- */

/* Fill *error, which may be NULL, and return status.  */
enum store_status store_fail(struct store_error *error, enum store_status status,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with STORE_IO and the phrase of system_errno.  */
enum store_status store_fail_errno(struct store_error *error, int system_errno, const char *what);
/* The same for a failure of base/, an errno value: STORE_NO_MEMORY for ENOMEM.  */
enum store_status store_fail_base(struct store_error *error, int failure, const char *what);

/* The same for what SQLite last refused on the connection, told from code.  */
enum store_status store_fail_sqlite(struct store_error *error, sqlite3 *db, int code);

/* The same for a query that calls the SQL functions, which explain in their messages what is wrong
 * with a pattern (STORE_INVALID) or with the store.  */
enum store_status store_fail_query(struct store_error *error, sqlite3 *db, int code);

static inline enum store_status store_no_memory(struct store_error *error)
{
    return store_fail(error, STORE_NO_MEMORY, "out of memory");
}

/* schemas/store.sql; the Makefile makes it.  */
extern const char store_sql[];

/* ---- Stores (store.c) ---- */

#define STORE_PAGE_BYTES 4096 /* of stores that are made; others may differ: limits are rough */

/* What a connection that may write knows of the store's columns (columns/columns.h).  */
struct columns_state {
    bool are_current;     /* if no other connection has written since */
    int64_t data_version; /* PRAGMA data_version, then */
    bool needs_stamp;     /* the identity in the store does not have it yet */
    bool knows_changes;   /* instead of data_version: what SQLite has counted in the file then */
    uint32_t changes;
};

struct store {
    sqlite3 *db;
    char *path;    /* NULL in memory */
    char *partial; /* PATH.part while it is being made */
    int lock_fd;   /* of partial, held by flock(); -1 */
    enum store_mode mode;
    bool is_new; /* made by store_create(): no journal, nothing to see for others */
    bool published;
    bool replaces;        /* what is at path when it is published */
    bool has_replaced;    /* there was a file at path when it was made: */
    struct stat replaced; /* that one, which alone may be replaced */
    bool broken;          /* a failed import could not be undone: there is nothing to publish */
    bool importing;
    bool in_wal;         /* what is added goes into the WAL, until store_merge() */
    bool keeps_wal;      /* it was in WAL mode before */
    unsigned busy_ms;    /* how long to wait for others */
    uint64_t most_bytes; /* during an import: how large the store may get; 0: no bound */
    int space_fd;        /* of the file, to reserve room; -1 */
    char *temporary_dir; /* for sorting, and for an upgraded copy */
    int version;         /* of the file, before it is upgraded */
    int copied_version;  /* db is an upgraded copy of a store of that version; 0: none */
    volatile int interrupted;
    struct columns_state columns;
    struct store_columns *serving; /* NULL: SQL reads the plain tables */
};

/* Run statements that give no rows.  */
enum store_status store_run(struct store *store, const char *sql, struct store_error *error);

/* The first column of the first row as a number; 0 where there is none.  */
enum store_status store_number(struct store *store, const char *sql, int64_t *out,
                               struct store_error *error);

/* Finalize a query after the last row that its caller wants; code is what its last step, or an
 * earlier call, returned.  */
enum store_status store_finish_rows(struct store *store, sqlite3_stmt *query, int code,
                                    struct store_error *error);

/* The tables of schemas/store.sql, in a file that nobody else knows and that is empty.  */
enum store_status store_make_schema(struct store *store, struct store_error *error);

/* A copy of a column's text, "" for what is none, for free(); NULL: out of memory.  */
char *store_copy_column(sqlite3_stmt *row, int column);

/* What a connection may do, and how much memory it takes.  */
enum store_status store_configure(struct store *store, const struct store_options *options,
                                  struct store_error *error);

/* Whether the connection's file is a store of this version; with upgrades, it is made one.  Returns
 * STORE_TOO_OLD if it has to be upgraded.  */
enum store_status store_check(struct store *store, bool upgrades, struct store_error *error);

/* ---- Reading an older store (store_copy.c) ---- */

/* Replace the connection of a store that is STORE_TOO_OLD by one that reads an upgraded copy.  */
enum store_status store_read_copy(struct store *store, const struct store_options *options,
                                  struct store_error *error);

/* ---- Adding to a store (append.c) ---- */

/* Before a transaction that adds to a store that is there.  Waits for readers and writers.  */
enum store_status store_enter_wal(struct store *store, struct store_error *error);

/* Before its COMMIT: reserve the room that the file needs for it.  */
enum store_status store_reserve_file(struct store *store, struct store_error *error);

/* ---- Trust (store_verify.c) ---- */

/* Whether the file has the tables and views of schemas/store.sql, and as they are there.  Returns
 * STORE_OK, STORE_CORRUPT, STORE_TOO_OLD (only views and triggers differ), or what reading gave.
 */
enum store_status store_verify_schema(struct store *store, struct store_error *error);

/* ---- Migration (migrate.c) ---- */

/* What makes a store of version from + index one of the next.  */
struct store_migration {
    const char *sql;
    /* Runs before sql.  NULL: nothing.  */
    enum store_status (*run)(struct store *store, struct store_error *error);
};

/* Bring a store up to date: migrations[i] leads from version i + 1 to i + 2.  In one transaction.
 */
enum store_status store_migrate(struct store *store, const struct store_migration *migrations,
                                int count, struct store_error *error);

/* Make all views and triggers anew, where store_verify_schema() returned STORE_TOO_OLD.  */
enum store_status store_renew_views(struct store *store, struct store_error *error);

/* The steps up to STORE_VERSION.  */
extern const struct store_migration store_migrations[];
extern const int store_migration_count;

#endif /* STORE_INTERNAL_H */
