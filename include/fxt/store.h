/* store.h - captures as SQLite: a file that any client can open, with samples, heap and timeline.
 *
 * This header is the manual of libstore.  schemas/store.sql describes the tables; store_schema()
 * returns it and docs/store.md shows it.
 *
 * A new store is built under another name beside its own and appears whole or not at all:
 *
 *     store_create("run.fxtq", NULL, &store, &error);
 *     store_import_open(store, &options, &import, &error);
 *     while (fxt_reader_next(reader, &record, &fxt_error) == FXT_OK)
 *         store_import_record(import, record, fxt_reader_bytes(reader), &error);
 *     store_import_finish(import, fxt_reader_damage(reader), &error);
 *     store_import_close(import);
 *     store_publish(store, &error);
 *     store_close(store);
 *
 * An import into an existing store (store_open() with STORE_APPEND) is one transaction: other
 * programs can read the store meanwhile and see the capture when it is complete.  The import waits
 * for programs that are reading when it begins, and for other writers, for at most
 * store_options.busy_ms; then the status is STORE_BUSY.
 *
 * Memory use grows with the number of distinct items (stacks, names, threads, open slices, live
 * sampled allocations), not with the length of a capture.  The rows of long captures are kept in
 * unlinked temporary files during the import.
 *
 * Limits: 2^32 - 2 distinct frames and call sites; texts of a row 1,000,000 bytes, longer ones are
 * truncated; times and durations that fit 63 bits.
 *
 * The library does not print or exit.  A store must be used by one thread at a time; an import runs
 * a second thread of its own, which uses the store until the import is closed.  */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>
#include <fxt/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef STORE_API
#define STORE_API __attribute__((visibility("default")))
#endif

/* ---- Status and errors ---- */

/* Values are part of the interface and are never reused.  */
enum store_status {
    STORE_OK = 0,
    STORE_NO_MEMORY = 1, /* an allocation failed */
    STORE_IO = 2,        /* a file cannot be read, written or created; system_errno may be set */
    STORE_INVALID = 3,   /* an argument violates the contract */
    STORE_EXISTS = 4,    /* a file with that name already exists */
    STORE_NOT_THERE = 5, /* the file does not exist */
    STORE_NOT_STORE = 6, /* the file is not a store */
    STORE_TOO_NEW = 7,   /* made by a later version; the store is left unchanged */
    STORE_TOO_OLD = 8,   /* the store or a view in it needs an upgrade: store_options.refuses_old */
    STORE_BUSY = 9,      /* another program writes to the store and did not finish in time */
    STORE_CORRUPT = 10,  /* the contents contradict themselves */
    STORE_KNOWN = 11,    /* the capture is already in the store; nothing was changed */
    STORE_LIMIT = 12,    /* one of the limits above was reached */
    STORE_STOPPED = 13,  /* store_interrupt() was called */
    STORE_MALFORMED = 14, /* the input is not of the given format */
    STORE_UNMERGED = 15,  /* the added contents are in PATH-wal, and not in the file alone */
    STORE_TOO_LARGE = 16, /* store_import_options.most_bytes was reached */
    STORE_END = 17,       /* after the last row; not an error, *error is not written */
};

/* An error, described for people.  The caller owns it; a function that takes one accepts NULL.  It
 * is written on every status but STORE_OK and STORE_END.  */
struct store_error {
    enum store_status status;
    int system_errno;
    char message[400]; /* a phrase: no newline, no final dot; contains no path that the caller
                        * passed */
};

/* ---- Stores ---- */

struct store;
struct sqlite3;
struct sqlite3_stmt;

/* The value of SQLite's application_id ("FXTQ"), and the version of the schema in user_version.  */
#define STORE_APPLICATION_ID 0x46585451
#define STORE_VERSION        4

enum store_mode {
    STORE_READ = 0,   /* never written, whatever the SQL; an older store is read from a copy */
    STORE_APPEND = 1, /* captures and symbols may be added; an older store is upgraded */
};

struct store_options {
    size_t size;          /* sizeof(struct store_options) */
    enum store_mode mode; /* for store_open() */
    unsigned busy_ms;     /* time limit for waiting for another writer; 0: 5000 */
    /* Bytes of pages that SQLite keeps in memory; 0: 32 MiB to write a file, 4 MiB to read one, 1
     * GiB for a store without a name, whose other pages go to an unlinked file in $TMPDIR.  At
     * least 64 KiB, at most 1 TiB.  */
    size_t cache_bytes;
    /* For sorting, and for the copy of an older store; NULL: $TMPDIR, else /tmp.  Borrowed.  */
    const char *temporary_dir;
    /* For store_create(): a file at path is no obstacle.  store_publish() replaces it, in one step,
     * if it is still the file that was there at store_create().  */
    bool replaces;
    /* For STORE_READ: return STORE_TOO_OLD if the store is older, and copy nothing.  */
    bool refuses_old;
};

/* The schema, schemas/store.sql.  */
STORE_API const char *store_schema(void);

/* Create a new store with the final name path.  Until store_publish() it is PATH.part.
 * store_close() removes that file; if its creator was killed, the next store_create() of the same
 * user replaces it.  If path is NULL, the store has no name and cannot be published: pages that
 * exceed cache_bytes go to an unlinked file in the folder that SQLite uses for temporary files
 * ($SQLITE_TMPDIR, $TMPDIR, /var/tmp, ...; not options->temporary_dir).  Returns STORE_OK,
 * STORE_EXISTS, STORE_BUSY (another program is creating it), STORE_IO (also if PATH.part belongs to
 * another user), STORE_INVALID or STORE_NO_MEMORY.  */
STORE_API enum store_status store_create(const char *path, const struct store_options *options,
                                         struct store **out, struct store_error *error);

/* Write everything to disk and give the new store its name, even if nothing was imported.  Returns
 * STORE_OK, STORE_EXISTS (a file with that name appeared meanwhile, or the one to be replaced was
 * changed), STORE_INVALID (an import failed and could not be undone), STORE_IO
 * or STORE_NO_MEMORY.
 * A store without a name, or one that is published already, is left unchanged.  */
STORE_API enum store_status store_publish(struct store *store, struct store_error *error);

/* Turn a store that was added to into one plain file again; until then, its captures are in the
 * file and in PATH-wal together.  store_close() does the same, but cannot report a failure.  A
 * store that was in WAL mode when it was opened stays in that mode.  Returns STORE_OK, also if
 * there is nothing to do; STORE_BUSY: another program reads the store in a transaction;
 * STORE_UNMERGED: there is no room.  No data are lost in these cases, but the file must not be
 * copied without PATH-wal.  */
STORE_API enum store_status store_merge(struct store *store, struct store_error *error);

/* Open an existing store.  Its schema is not trusted: its views can only read, and a file whose
 * tables, views and trigger differ from schemas/store.sql is STORE_CORRUPT.  Additional tables and
 * views are ignored; additional triggers never fire.  With STORE_APPEND and without additional
 * triggers, deleting a row of capture also deletes its rows in other tables.  Returns STORE_OK,
 * STORE_NOT_THERE, STORE_NOT_STORE, STORE_TOO_NEW, STORE_TOO_OLD, STORE_BUSY, STORE_CORRUPT,
 * STORE_IO, STORE_INVALID or STORE_NO_MEMORY.  */
STORE_API enum store_status store_open(const char *path, const struct store_options *options,
                                       struct store **out, struct store_error *error);

/* The version of a store that is read from an upgraded copy: STORE_VERSION if only a view or the
 * trigger of the store is of another program.  0: the file itself is read.
 *
 * With STORE_READ, store_open() copies an older store to a file without a name in
 * options->temporary_dir, and upgrades the copy.  All rows are those that an upgrade of the store
 * would give; the store is not changed.  The copy takes as much room on disk as the store, or
 * slightly more, until store_close().  It is of the state that the store has then: what others add
 * later is not in it, and its columns are not used.  If there is no room for it, or if it cannot be
 * made for another reason, store_open() returns STORE_IO.  */
STORE_API int store_upgraded_from(const struct store *store);

/* Whether the file at path begins like an SQLite database and should be opened by store_open() and
 * not by a reader of traces.  The file may be a store that is open: it keeps its locks.  Returns
 * false if the file cannot be read.  */
STORE_API bool store_is_database(const char *path);

/* The same for the first bytes of a file, of which 16 suffice.  */
STORE_API bool store_is_database_start(const void *start, size_t length);

/* The SQLite connection, for SQL: it and the statements of store_prepare() are the only places
 * where this library shows that it uses SQLite.  The store owns it until store_close().  It must
 * not be used while an import is open.  */
STORE_API struct sqlite3 *store_sqlite(struct store *store);

/* Whether that can be a label of a capture: key consists of 1 to 64 ASCII letters, digits, '_', '-'
 * and '.', value of at most 1,000 bytes of UTF-8 in one line, without
 * control characters and bidirectional controls.  */
STORE_API bool store_is_label(const char *key, const char *value);

/* Give a capture a label, such as the commit that its program was built from: a row of meta whose
 * key is "label." and key.  A former value is replaced; an empty value removes the label.  Returns
 * STORE_OK, STORE_INVALID (it can be no label, or there is no such capture, or the store is not
 * open for writing) or what writing gave.  */
STORE_API enum store_status store_set_label(struct store *store, int64_t capture, const char *key,
                                            const char *value, struct store_error *error);

/* Add the SQL functions (docs/sql.md: folded(), in_stack(), call_tree, flamegraph, ...) to the
 * connection.  For connections that were not opened by this library, there is the SQLite extension
 * libfxtsql.so.  Returns STORE_OK or STORE_NO_MEMORY.  */
STORE_API enum store_status store_add_functions(struct store *store, struct store_error *error);

/* Let SQL on the connection read `slice`, `sched_slice`, `thread_state`, `counter` and the views on
 * them from the columns of the store (docs/store.md), which is several times faster.  Temporary
 * tables and views then have these names; `main.slice` is the plain one.  All rows are the same.  A
 * store without columns, or with columns that an edit has made out of date, is read as before; so
 * are one that is open for writing, and a table whose columns are damaged.  Returns STORE_OK,
 * STORE_IO, STORE_CORRUPT, STORE_BUSY or STORE_NO_MEMORY.  */
STORE_API enum store_status store_serve_columns(struct store *store, struct store_error *error);

/* The table of a store that has the columns.  */
#define STORE_COLUMNS_TABLE \
    "CREATE TABLE column_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT"

/* The end of the SQL text of each such temporary table and view.  */
#define STORE_COLUMNS_MARK "/* columns */"

/* Make the columns of a store that is open for writing, if it has none, or if they are out of date
 * or damaged.  *out (may be NULL) is set to whether they were made.  A store in WAL mode has none.
 * Returns STORE_OK, STORE_INVALID (opened for reading, or an import is open), STORE_BUSY,
 * STORE_CORRUPT, STORE_IO or STORE_NO_MEMORY.  */
STORE_API enum store_status store_make_columns(struct store *store, bool *out,
                                               struct store_error *error);

/* Prepare the first statement of sql on the connection of store_sqlite(), as sqlite3_prepare_v2()
 * does.  If the store's columns are served, a statement that uses rows of a table, or of each group
 * of them, only in count(*), and in sum(), min() and max() of columns, is given few rows that have
 * the same sums and extremes.  Its answer is the same.  sql ends with NUL; *rest is set to the next
 * statement.  The caller finalizes *out, which is NULL if sql contains no SQL.  Returns false if
 * SQLite cannot prepare the statement; the connection has the error.  */
STORE_API bool store_prepare(struct store *store, const char *sql, struct sqlite3_stmt **out,
                             const char **rest);

/* The same for a statement that is run at once.  Then lead() and lag() may need no window of
 * SQLite, and a subquery with GROUP BY no index, which take most of the time of such queries;
 * sqlite3_sql() gives the text that takes their place.  If SQLite prepares this statement again by
 * itself, because the temporary schema, a function or a collation of the connection has changed, or
 * because many others were prepared since, it may fail with SQLITE_ERROR.  */
STORE_API bool store_prepare_once(struct store *store, const char *sql, struct sqlite3_stmt **out,
                                  const char **rest);

/* The number of blocks and directories of columns that were found to be damaged, so that the plain
 * tables answered.  It is 0 unless store_serve_columns() was called.  */
STORE_API uint64_t store_columns_damaged(const struct store *store);

/* Make the running operation end with STORE_STOPPED.  May be called from any thread, or from a
 * signal handler.  */
STORE_API void store_interrupt(struct store *store);

/* Accepts NULL.  */
STORE_API void store_close(struct store *store);

/* Convert module.build_id, a hexadecimal text, to bytes, at most capacity.  Conversion stops at the
 * first pair of characters that is not a byte.  text may be NULL.  Returns the number of bytes.  */
STORE_API size_t store_parse_build_id(const char *text, uint8_t *id, size_t capacity);

/* ---- Import of traces ---- */

struct store_import;

struct store_import_options {
    size_t size;      /* sizeof(struct store_import_options) */
    const char *name; /* of the capture: its file name, without folders */
    bool arm64;       /* as in struct profile_ingest_options */
    /* The number of bytes, or slightly more, by which the store may grow.  An import that would
     * exceed it ends with STORE_TOO_LARGE.  A hostile file of a megabyte can expand to gigabytes.
     * 0: no limit, nor one on the memory of readers of profiles (profile_read_options).  */
    uint64_t most_bytes;
    struct sym_session *session; /* as in struct profile_ingest_options; may be NULL */
};

/* Begin to import a capture into a store that was created by store_create() or opened with
 * STORE_APPEND.  Only one import may be open at a time.  Returns STORE_OK, STORE_BUSY,
 * STORE_CORRUPT, STORE_IO, STORE_INVALID or STORE_NO_MEMORY.  */
STORE_API enum store_status store_import_open(struct store *store,
                                              const struct store_import_options *options,
                                              struct store_import **out, struct store_error *error);

/* Take one record, in file order, and the bytes it was decoded from (fxt_reader_bytes(); empty for
 * records that are not in the trace, such as modules from markup files).  The import keeps no
 * reference to them.  */
STORE_API enum store_status store_import_record(struct store_import *import,
                                                const struct fxt_record *record,
                                                struct fxt_bytes bytes, struct store_error *error);

/* Take bytes that no record covers; they are part of the capture's identity.  This function is
 * meant for the member skipped of struct fxt_reader_options, with the import as its context.  */
STORE_API void store_import_skipped(void *import, const struct fxt_skipped *skipped);

/* End the trace: write the remaining rows and commit.  damage is the reader's and may be NULL.
 * STORE_KNOWN: a capture of the same bytes is already in the store, which stays unchanged;
 * store_import_capture() returns its id.  After any other failure the store has what it had
 * before.  */
STORE_API enum store_status store_import_finish(struct store_import *import,
                                                const struct fxt_damage *damage,
                                                struct store_error *error);

/* The number of imported items.  */
struct store_import_counts {
    uint64_t records;
    uint64_t samples;
    uint64_t heap_events;
    uint64_t events;    /* slices, instants, counter values, flows, log messages */
    uint64_t sched;     /* rows of sched_slice */
    uint64_t callsites; /* new to the store */
};

/* After store_import_finish(): capture.id, counts, and the notices of the ingest.  */
STORE_API int64_t store_import_capture(const struct store_import *import);
STORE_API const struct store_import_counts *store_import_counted(const struct store_import *import);
STORE_API const struct profile_notices *store_import_notices(const struct store_import *import);
/* Modules in which raw stacks ended early, as profile_ingest_cut_at().  */
STORE_API bool store_import_cut_at(const struct store_import *import, size_t index,
                                   struct profile_cut *out);

/* Close the import.  An import that was not finished is undone.  Accepts NULL.  */
STORE_API void store_import_close(struct store_import *import);

/* ---- Import of profiles ---- */

/* Values are part of the interface and are never reused.  */
enum store_profile_format {
    STORE_PROFILE_PPROF = 1,  /* <fxt/profile_files.h> detects it with profile_is_pprof() */
    STORE_PROFILE_FOLDED = 2, /* profile_is_folded(); one or two columns of numbers */
    STORE_PROFILE_MARKUP = 3, /* <fxt/profile_markup.h>: profile_is_markup() */
};

/* Result of store_import_profile().  */
struct store_profile_result {
    int64_t capture_id;
    uint64_t samples;   /* rows of profile_sample */
    uint64_t callsites; /* new to the store */
    bool is_damaged;    /* the file violates its format; table damage has the details */
    bool has_notices;   /* there were irregularities that are not damage: likewise */
    char damage[400];   /* as a phrase, NUL-terminated; "" if there is none */
    /* On failures, the only member that is set: reading the input failed, not writing the store. */
    bool is_of_input;
};

/* Import a profile, which has samples without times, from input, to its end.  The input is read as
 * a stream of bytes (fxt_input_options.as_stream), whatever its compression.  The profile becomes a
 * capture with rows of profile_sample and profile_value; frames, call sites, symbols and
 * callsite_sum are shared with traces.  Like the import of a trace, it is one transaction; no other
 * call is needed to open or close it.  options->arm64 is ignored.  *out (out may be NULL) is filled
 * in on STORE_OK, on STORE_KNOWN, which sets only capture_id, and on failures, which set only
 * is_of_input.  The caller keeps ownership of the input.
 *
 * Returns STORE_OK, also for a damaged profile, whose readable part is imported; STORE_KNOWN;
 * STORE_MALFORMED: nothing of the profile can be read, and nothing was changed; STORE_LIMIT,
 * STORE_STOPPED, STORE_BUSY, STORE_CORRUPT, STORE_IO, STORE_INVALID or STORE_NO_MEMORY.  */
STORE_API enum store_status store_import_profile(
    struct store *store, const struct store_import_options *options, struct fxt_input *input,
    enum store_profile_format format, struct store_profile_result *out, struct store_error *error);

/* ---- Symbols ---- */

struct sym_session;
struct sym_report;

/* Result of the symbol lookup for one module's frames.  */
struct store_module_symbols {
    int64_t module_id;
    const char *name;                /* as in the store */
    const char *build_id;            /* hexadecimal; "" unknown */
    uint64_t frames;                 /* frames of the module in the store */
    uint64_t improved;               /* of these: frames that have better symbols now */
    uint64_t full;                   /* of these: frames that have a line now */
    const struct sym_report *report; /* <fxt/symbolize.h>; valid during the call */
};

/* Return false to stop.  */
typedef bool (*store_module_fn)(void *context, const struct store_module_symbols *module);

/* Look up better symbols in session for frames that have none, or none with a line
 * (symbol.quality).  Existing symbols never become worse, and names that came with the capture are
 * kept.  The lookup is one transaction: other programs see the new symbols when all of them are
 * written.  visit may be NULL.  Returns STORE_OK, STORE_BUSY, STORE_STOPPED, STORE_CORRUPT,
 * STORE_IO, STORE_LIMIT, STORE_INVALID (opened for reading) or STORE_NO_MEMORY; on every status but
 * STORE_OK the store is unchanged.  */
STORE_API enum store_status store_symbolize(struct store *store, struct sym_session *session,
                                            store_module_fn visit, void *context,
                                            struct store_error *error);

/* The number of frames of samples that have names: each sample counts for every frame of its
 * stack.  */
struct store_coverage {
    int64_t module_id; /* 0: code in no module */
    char *name;        /* of the module; "" if there is none */
    char *build_id;    /* hexadecimal; "" unknown */
    uint64_t frames;   /* occurrences in samples; in a store without samples, in allocations */
    uint64_t named;    /* of these with a function */
    uint64_t lined;    /* of these with a line */
    char *fallback;    /* the report's phrase of the last lookup that had one: "2 units read by
                        * libdwarf, because ours could not: ..."; "" none */
    char *unread;      /* likewise: "1 unit of the debug information was not read completely: ...";
                        * "" also if a later lookup read all that it needed */
};

/* Return a row for each module that samples are in; the module with the most frames without a
 * function comes first.  Frames without an address (folded stacks) have names of their own and are
 * left out.  The caller owns rows and *count until store_coverage_release().  Returns STORE_OK,
 * STORE_CORRUPT, STORE_IO or STORE_NO_MEMORY.  */
STORE_API enum store_status store_coverage(struct store *store, struct store_coverage **rows,
                                           size_t *count, struct store_error *error);
STORE_API void store_coverage_release(struct store_coverage *rows, size_t count);

/* Set *out to whether the store has addresses and no symbol was looked up for any of them; names
 * that came with a capture do not count.  This is much faster than store_coverage().  Returns
 * STORE_OK, STORE_CORRUPT, STORE_IO or STORE_NO_MEMORY.  */
STORE_API enum store_status store_lacks_symbols(struct store *store, bool *out,
                                                struct store_error *error);

#ifdef __cplusplus
}
#endif

#endif /* STORE_H */
