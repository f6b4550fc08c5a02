/* export.h - what the exports share: the filter made ready, who counts, rows that pass, text on its
 * way out.  Private to libstore.
 *
 *   export_open.c   options, filter, owners, the transaction
 *   export_types.c  which samples a sample type means
 *   trace_types.c   the types of a profile of traces
 *   export_rows.c   samples, heap events and samples of profiles that pass the filter
 *   export_text.c   stacks as text; buffered output
 *   csv.c           rows as CSV
 *   fxt_export.h    a capture as FXT
 *
 * Ids of a store are dense; what has gaps, or refers to what is not there, is corrupt.  */
#ifndef STORE_EXPORT_EXPORT_H
#define STORE_EXPORT_EXPORT_H

#include <fxt/store_export.h>
#include "base/output.h"
#include "base/text.h"
#include "libstore/functions/cpu_list.h"
#include "libstore/functions/shape.h"
#include "libstore/store_internal.h"

/* ---- Owners ---- */

struct export_process {
    int64_t capture;
    uint64_t koid;
    const char *name; /* NULL: unknown */
    bool kept;        /* passes the filter as what has no thread */
};

struct export_thread {
    uint32_t process; /* 0: none that is there */
    uint64_t koid;
    const char *name; /* NULL: unknown */
    bool kept;
};

/* ---- Output ---- */

/* As base_text_append().  */
bool export_text_adds(struct base_text *text, const char *string);

/* ---- One export ---- */

#define EXPORT_CACHE 4096u /* stacks whose text is kept */

struct export_cached {
    uint32_t callsite; /* 0: none */
    struct base_text text;
};

struct export
{
    struct store *store;
    sqlite3 *db;
    struct store_filter filter;
    struct store_export_options options;
    struct store_export_counts *counts;
    struct store_error *error;
    bool began; /* the transaction is ours to end */

    struct stacks *stacks; /* named */
    uint8_t *keep;         /* bits of the call sites that pass; NULL: all */
    struct match hide, show_from;
    bool has_hide, has_show_from;

    struct export_process *processes; /* [id]; [0] is nobody */
    struct export_thread *threads;
    size_t process_count, thread_count; /* the last id */
    bool owners_filtered;               /* a row without an owner does not pass */
    int64_t *cpus;                      /* sorted */
    size_t cpu_count;

    struct export_cached *cached; /* EXPORT_CACHE of them */
    uint32_t *path;               /* scratch: call sites of a stack */
    size_t path_capacity;
    uint64_t done, total; /* rows, for progress */
    int64_t sampled;      /* CPU samples that pass have this cpu_sample.sample_type_id; 0: any */

    struct base_output output;
};

/* Check the arguments, begin to read, load what is different.  On any status export_end() is to be
 * called.  */
enum store_status export_begin(struct export *export, struct store *store,
                               const struct store_filter *filter,
                               const struct store_export_options *options, store_write_fn write,
                               void *context, struct store_export_counts *counts,
                               struct store_error *error);

/* Write what is buffered if status is STORE_OK, end the transaction, free everything.  Returns
 * status, or what went wrong now.  */
enum store_status export_end(struct export *export, enum store_status status);

/* A statement of ours; NULL with *status.  */
sqlite3_stmt *export_prepare(struct export *export, const char *sql, enum store_status *status);
/* The next row.  False at the end, and on failure, which *status tells.  */
bool export_step(struct export *export, sqlite3_stmt *statement, enum store_status *status);
/* One number; fallback for no row, and NULL.  */
enum store_status export_number(struct export *export, const char *sql, int64_t first,
                                int64_t second, int64_t fallback, int64_t *out);

/* A copy of a column, for export_free_text(); NULL for a column that is NULL.  */
enum store_status export_copy_text(struct export *export, sqlite3_stmt *row, int column,
                                   const char **out);
void export_free_text(const char *text); /* accepts NULL */
enum store_status export_corrupt(struct export *export, const char *what);

/* Now and then, by rows: STORE_OK or STORE_STOPPED.  */
enum store_status export_progress(struct export *export);

/* ---- Sample types (export_types.c) ---- */

struct export_type {
    enum store_samples kind;
    bool from_trace; /* rows of cpu_sample or heap_event count */
    bool counts;     /* how many, not how much */
    int64_t sampled; /* cpu_sample.sample_type_id; 0: all of them count */
    int64_t id;      /* in imported profiles; 0: they have none of it */
};

/* What the filter's sample_type means; without one, the first there is; of imported profiles alone,
 * if profiles.  Also checks that its samples know what the filter asks for.  A store without
 * samples has CPU samples, which are none.  */
enum store_status export_choose_type(struct export *export, bool profiles, struct export_type *out);

/* ---- Rows ---- */

struct export_row {
    int64_t id;
    int64_t capture;
    bool has_ts, has_cpu, has_value;
    int64_t ts, cpu;
    uint32_t process, thread; /* ids; 0 unknown */
    uint32_t callsite;        /* 0: no stack */
    int64_t value;            /* cpu: weight; profile: value of the type asked for */
    int64_t sample_type;      /* cpu: its sample_type.id */
    uint32_t millionths;      /* profile: what a value of folded stacks has beyond a whole number */

    /* Heap events.  */
    unsigned freed;
    bool has_free_ts;
    int64_t free_ts;
    uint64_t address, size;
    double objects, bytes;
    uint32_t free_callsite;

    int64_t arg_set; /* labels; 0: none */
};

/* Whether the filter keeps the CPU of a sample.  */
bool export_keeps_cpu(const struct export *export, const struct export_row *row);

typedef enum store_status (*export_row_fn)(struct export *export, const struct export_row *row,
                                           void *context);

/* Every CPU sample that passes, in the order of the store.  */
enum store_status export_each_cpu(struct export *export, export_row_fn each, void *context);

/* Every heap event that passes; released ones by the time of the release and by where that was, if
 * by_release.  */
enum store_status export_each_heap(struct export *export, bool by_release, export_row_fn each,
                                   void *context);

/* Every sample of an imported profile; with type_id, once for each of its values of that type.  */
enum store_status export_each_profile(struct export *export, int64_t type_id, export_row_fn each,
                                      void *context);

/* ---- Text ---- */

/* The stack as folded text, without a root frame: hide and show_from are applied.  *out lives until
 * the next call; its length is 0 when nothing is left.  */
enum store_status export_stack(struct export *export, uint32_t callsite,
                               const struct base_text **out);

/* Append "a;b;c" of the stack to text.  */
enum store_status export_add_stack(struct export *export, struct base_text *text,
                                   uint32_t callsite);

/* Keeps the first failure; export_end() tells of it.  */
void export_put(struct export *export, const char *bytes, size_t length);

/* STORE_OK, or STORE_IO if writing failed.  */
enum store_status export_written(struct export *export);

#endif /* STORE_EXPORT_EXPORT_H */
