/* store.h - captures as SQLite: a file that any client opens, with samples, heap and timeline.
 *
 * This header is the manual of libstore.  What the tables mean is said in schemas/store.sql, which
 * store_schema() returns and docs/store.md shows.
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
 * An import into a store that is there already (store_open() with STORE_APPEND) is one transaction:
 * other programs read the store meanwhile and see the capture when it is complete.  It waits for
 * those that are in the middle of reading when it begins, and for other writers, as long as
 * store_options.busy_ms says; then the status is STORE_BUSY.
 *
 * Memory follows what is different (stacks, names, threads, open slices, live sampled allocations),
 * not how long a capture is; long captures wait in unlinked temporary files.
 *
 * Limits: 2^32 - 2 distinct frames and call sites; texts of a row 1,000,000 bytes, longer ones are
 * cut; times and durations that fit 63 bits.
 *
 * Nothing here prints or exits.  One store belongs to one thread at a time; an import runs a second
 * thread of its own, which uses the store until the import is closed.  */
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

/* Values are part of the interface and never reused.  */
enum store_status {
    STORE_OK = 0,
    STORE_NO_MEMORY = 1, /* an allocation failed */
    STORE_IO = 2,        /* a file cannot be read, written, made; error->system_errno may say why */
    STORE_INVALID = 3,   /* an argument breaks the contract */
    STORE_EXISTS = 4,    /* a file of that name is there already */
    STORE_NOT_THERE = 5, /* there is no such file */
    STORE_NOT_STORE = 6, /* the file is something else */
    STORE_TOO_NEW = 7,   /* it was made by a later version, and is left alone */
    STORE_TOO_OLD = 8,   /* it needs an upgrade, and may not be written */
    STORE_BUSY = 9,      /* another program writes to it, and did not end in time */
    STORE_CORRUPT = 10,  /* its contents contradict themselves */
    STORE_KNOWN = 11,    /* the capture is in the store already; nothing was changed */
    STORE_LIMIT = 12,    /* a limit named above was reached */
    STORE_STOPPED = 13,  /* store_interrupt() was called */
    STORE_MALFORMED = 14, /* the input is not what it was said to be */
    STORE_UNMERGED = 15,  /* what was added is in PATH-wal, and not in the file alone */
    STORE_TOO_LARGE = 16, /* store_import_options.most_bytes was reached */
};

/* What went wrong, for people.  Belongs to the caller, may be NULL; written on every status but
 * STORE_OK.  */
struct store_error {
    enum store_status status;
    int system_errno;
    char message[400]; /* a phrase: no newline, no final dot; names no path that the caller gave */
};

/* ---- Stores ---- */

struct store;
struct sqlite3;

/* The value of SQLite's application_id ("FXTQ"), and the version of the schema in user_version.  */
#define STORE_APPLICATION_ID 0x46585451
#define STORE_VERSION        2

enum store_mode {
    STORE_READ = 0,   /* never written to, whatever SQL says */
    STORE_APPEND = 1, /* captures and symbols may be added; an older store is upgraded */
};

struct store_options {
    size_t size;               /* sizeof(struct store_options) */
    enum store_mode mode;      /* of store_open() */
    unsigned busy_ms;          /* how long to wait for another writer; 0: 5000 */
    size_t cache_bytes;        /* pages that SQLite keeps; 0: 32 MiB to write a file, else 4 MiB */
    const char *temporary_dir; /* for sorting; NULL: $TMPDIR, else /tmp.  Borrowed */
};

/* The schema, schemas/store.sql.  */
STORE_API const char *store_schema(void);

/* A new store that will be called path.  Until store_publish() it is PATH.part, which is removed by
 * store_close(), and which the next store_create() replaces if its maker was killed.  path NULL: a
 * store without a name, in memory and, where it gets larger than its cache (cache_bytes, 128 MiB),
 * in an unlinked file in $TMPDIR.  Returns STORE_OK, STORE_EXISTS, STORE_BUSY (somebody else is
 * making it), STORE_IO, STORE_INVALID or STORE_NO_MEMORY.  */
STORE_API enum store_status store_create(const char *path, const struct store_options *options,
                                         struct store **out, struct store_error *error);

/* Write everything to disk and give the new store its name.  Also when nothing was imported.
 * Returns STORE_OK, STORE_EXISTS (a file of that name appeared meanwhile), STORE_IO or
 * STORE_NO_MEMORY.  A store in memory, or one that is published, stays as it is.  */
STORE_API enum store_status store_publish(struct store *store, struct store_error *error);

/* Make a store that was added to one plain file again: until then, captures are in it and in
 * PATH-wal together.  store_close() does so, too, but cannot report what comes of it.  A store that
 * was in WAL mode when it was opened stays so.  Returns STORE_OK, also if there is nothing to do;
 * STORE_BUSY: another program reads the store in a transaction; STORE_UNMERGED: there is no room.
 * Nothing is lost then, but the file must not be copied without PATH-wal.  */
STORE_API enum store_status store_merge(struct store *store, struct store_error *error);

/* A store that is there.  Its schema is not trusted: what its views and triggers might do beside
 * reading is off, and a file whose tables and views are not those of schemas/store.sql is
 * STORE_CORRUPT; what it has beside them does not matter.  Returns STORE_OK, STORE_NOT_THERE,
 * STORE_NOT_STORE, STORE_TOO_NEW, STORE_TOO_OLD, STORE_BUSY, STORE_CORRUPT, STORE_IO, STORE_INVALID
 * or STORE_NO_MEMORY.  */
STORE_API enum store_status store_open(const char *path, const struct store_options *options,
                                       struct store **out, struct store_error *error);

/* Whether the file at path begins as an SQLite database does, so that store_open() is to be asked,
 * and not a reader of traces.  False if it cannot be read.  */
STORE_API bool store_is_database(const char *path);

/* The connection, for SQL; the store's until store_close().  Not to be used while an import is
 * open.  */
STORE_API struct sqlite3 *store_sqlite(struct store *store);

/* Put the SQL functions (docs/sql.md: folded(), in_stack(), call_tree, flamegraph, ...) into a
 * connection to a store, from store_sqlite() or another one.  Returns SQLite's code: SQLITE_OK, or
 * SQLITE_NOMEM.  */
STORE_API int store_add_functions(struct sqlite3 *connection);

/* Make what runs end with STORE_STOPPED.  From any thread, or a signal handler.  */
STORE_API void store_interrupt(struct store *store);

/* Accepts NULL.  */
STORE_API void store_close(struct store *store);

/* The bytes of module.build_id, a hexadecimal text, up to what is none; at most capacity.  text
 * may be NULL.  Returns their number.  */
STORE_API size_t store_parse_build_id(const char *text, uint8_t *id, size_t capacity);

/* ---- Import of traces ---- */

struct store_import;

struct store_import_options {
    size_t size;      /* sizeof(struct store_import_options) */
    const char *name; /* of the capture: its file, without folders */
    bool arm64;       /* as in struct profile_ingest_options */
    /* That the store may grow by, or a little more; an import that would exceed it ends with
     * STORE_TOO_LARGE.  A hostile file of a megabyte can become gigabytes.  0: no bound.  */
    uint64_t most_bytes;
};

/* Begin to import a capture into a store made by store_create() or opened with STORE_APPEND; one at
 * a time.  Returns STORE_OK, STORE_BUSY, STORE_CORRUPT, STORE_IO, STORE_INVALID or
 * STORE_NO_MEMORY.  */
STORE_API enum store_status store_import_open(struct store *store,
                                              const struct store_import_options *options,
                                              struct store_import **out, struct store_error *error);

/* Take one record, in file order, and the bytes it was made from (fxt_reader_bytes(); none for
 * records that do not stand in the trace, as modules from files of markup).  Nothing is kept by
 * reference.  */
STORE_API enum store_status store_import_record(struct store_import *import,
                                                const struct fxt_record *record,
                                                struct fxt_bytes bytes, struct store_error *error);

/* Take bytes that no record covers, which are part of the capture's identity: the member skipped of
 * struct fxt_reader_options, with the import as its context.  */
STORE_API void store_import_skipped(void *import, const struct fxt_skipped *skipped);

/* The trace is over: write what is left and commit.  damage (may be NULL) is the reader's.
 * STORE_KNOWN: a capture of the same bytes is there already, and the store stays as it was; its id
 * is what store_import_capture() gives.  In a new store an import that failed leaves nothing that
 * could be published.  */
STORE_API enum store_status store_import_finish(struct store_import *import,
                                                const struct fxt_damage *damage,
                                                struct store_error *error);

/* What was imported.  */
struct store_import_counts {
    uint64_t records;
    uint64_t samples;
    uint64_t heap_events;
    uint64_t events;    /* slices, instants, counter values, flows, log messages */
    uint64_t sched;     /* rows of sched_slice */
    uint64_t callsites; /* that the store did not know */
};

/* After store_import_finish(): capture.id, counts, and what ingest noticed.  */
STORE_API int64_t store_import_capture(const struct store_import *import);
STORE_API const struct store_import_counts *store_import_counted(const struct store_import *import);
STORE_API const struct profile_notices *store_import_notices(const struct store_import *import);

/* Ends an import that was not finished without a trace of it.  Accepts NULL.  */
STORE_API void store_import_close(struct store_import *import);

/* ---- Import of profiles ---- */

/* Values are part of the interface and never reused.  */
enum store_profile_format {
    STORE_PROFILE_PPROF = 1,  /* <fxt/profile_files.h> tells it by profile_is_pprof() */
    STORE_PROFILE_FOLDED = 2, /* profile_is_folded(); one or two columns of numbers */
    STORE_PROFILE_MARKUP = 3, /* <fxt/profile_markup.h>: profile_is_markup() */
};

/* What store_import_profile() tells.  */
struct store_profile_result {
    int64_t capture_id;
    uint64_t samples;   /* rows of profile_sample */
    uint64_t callsites; /* that the store did not know */
    bool is_damaged;    /* the file says what its format does not allow: table damage has it all */
    bool has_notices;   /* something was odd that is no damage: likewise */
    char damage[400];   /* as a phrase, NUL-terminated; "" without any */
};

/* Import a profile, which has samples without times, from input to its end: read as a stream of
 * bytes (fxt_input_options.as_stream), whatever its compression.  It becomes a capture with rows
 * of profile_sample and profile_value; frames, call sites, symbols and callsite_sum are those that
 * traces have too.  All in one transaction, as the import of a trace; nothing needs to be opened
 * or closed.  options->arm64 is not looked at.  *out (may be NULL) is filled in on STORE_OK and
 * STORE_KNOWN, which gives capture_id alone.  The input stays the caller's.
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

/* What looking up one module's frames gave.  */
struct store_module_symbols {
    int64_t module_id;
    const char *name;                /* as the store has it */
    const char *build_id;            /* hexadecimal; "" unknown */
    uint64_t frames;                 /* that the store has of it */
    uint64_t improved;               /* of these: have better symbols now */
    uint64_t full;                   /* of these: have a line now */
    const struct sym_report *report; /* <fxt/symbolize.h>; valid during the call */
};

/* Return false to stop.  */
typedef bool (*store_module_fn)(void *context, const struct store_module_symbols *module);

/* Give frames the best symbols that session finds: those that have none, or none with a line
 * (symbol.quality).  What is there is never made worse, and names that the capture brought along
 * stay.  One transaction: others see the new symbols when all of them are there.  told may be
 * NULL.  Returns STORE_OK, STORE_BUSY, STORE_STOPPED, STORE_CORRUPT, STORE_IO, STORE_LIMIT,
 * STORE_INVALID (opened for reading) or STORE_NO_MEMORY; all but STORE_OK leave the store as it
 * was.  */
STORE_API enum store_status store_symbolize(struct store *store, struct sym_session *session,
                                            store_module_fn told, void *context,
                                            struct store_error *error);

/* How many frames of samples have names: each sample counts for every frame of its stack.  */
struct store_coverage {
    int64_t module_id; /* 0: code in no module */
    char *name;        /* of the module; "" for none */
    char *build_id;    /* hexadecimal; "" unknown */
    uint64_t frames;   /* occurrences in samples; in a store without samples, in allocations */
    uint64_t named;    /* of these with a function */
    uint64_t lined;    /* of these with a line */
};

/* A row for each module that samples are in, the one with most frames without a function first.
 * Frames without an address (folded stacks) have their names and are left out.  rows and *count are
 * the caller's until store_coverage_release().  Returns STORE_OK, STORE_CORRUPT, STORE_IO or
 * STORE_NO_MEMORY.  */
STORE_API enum store_status store_coverage(struct store *store, struct store_coverage **rows,
                                           size_t *count, struct store_error *error);
STORE_API void store_coverage_release(struct store_coverage *rows, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* STORE_H */
