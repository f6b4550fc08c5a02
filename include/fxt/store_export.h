/* store_export.h - captures of a store as pprof, folded stacks, CSV or FXT.
 *
 *     struct store_filter filter = { .size = sizeof filter, .pids = "1514" };
 *     store_export_folded(store, &filter, NULL, write, context, &counts, &error);
 *
 * Everything is read in one transaction: a store that another program writes to meanwhile is
 * exported as it was.  Nothing in the store is trusted: what contradicts itself ends the export
 * with STORE_CORRUPT, and what has been written up to there is to be thrown away.
 *
 * Memory follows what is different (stacks, names, threads; of folded and pprof also pairs of
 * thread and stack), not how many samples there are.  Output depends on the store and the arguments
 * alone.
 *
 * Statuses of all exports: STORE_OK; STORE_INVALID: the filter or the options ask for what this
 * store or this format has not, error->message says what; STORE_STOPPED: store_interrupt() was
 * called, or progress returned false; STORE_IO: write failed, error->system_errno is what it
 * returned, or reading did; STORE_CORRUPT, STORE_BUSY, STORE_LIMIT, STORE_NO_MEMORY.  */
#ifndef STORE_EXPORT_H
#define STORE_EXPORT_H

#include <fxt/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which samples and events are meant; the arguments of the SQL functions (docs/sql.md) by the same
 * names.  All zero but size: everything.  Everything is borrowed for the call.
 *
 * Patterns are those of in_stack(): functions of which a part matches, inlined ones included.
 * Lists are separated by commas.  What a row does not know - a CPU, a thread, a time - matches no
 * filter for it.  */
struct store_filter {
    size_t size; /* sizeof(struct store_filter) */
    /* sample_type.type or "type/unit": "cpu", "alloc_space/bytes".  "samples" are the numbers of
     * CPU samples; "alloc_objects", "inuse_objects" and "free_objects" those of allocations.  NULL:
     * the first there is of cpu (samples without a period), inuse_space, alloc_space, and others;
     * of pprof: all; of a store without samples nothing.  */
    const char *sample_type;
    const char *focus;         /* only stacks with a match */
    const char *ignore;        /* no stacks with a match */
    const char *hide;          /* leave matches out of stacks */
    const char *show_from;     /* stacks begin at the outermost match; none without */
    bool has_from, has_limit;  /* the two below are meant */
    int64_t from_ts, limit_ts; /* [from, limit); of free_space: of the release */
    const char *pids;          /* process.pid */
    const char *tids;          /* thread.tid */
    const char *comms;         /* names of threads; of processes where there is no thread */
    const char *cpus;
    int64_t capture; /* capture.id; 0: all */
};

/* Take all size bytes.  Returns 0 or an errno value, which ends the export with STORE_IO.  */
typedef int (*store_write_fn)(void *context, const void *bytes, size_t size);

/* Called now and then: done of about total rows were read.  Return false to stop.  */
typedef bool (*store_progress_fn)(void *context, uint64_t done, uint64_t total);

/* What was written.  */
struct store_export_counts {
    uint64_t captures; /* that were looked at */
    uint64_t samples;  /* CPU samples, samples of profiles, sampled allocations */
    uint64_t events;   /* FXT: slices, instants, counter values, flows, logs, switches */
    uint64_t rows;     /* CSV: rows but the header; folded: lines; pprof: samples; FXT: records */
    uint64_t left_out; /* FXT: rows that the format cannot hold (store_export_fxt()) */
};

/* What CSV has a row for.  */
enum store_csv_table {
    STORE_CSV_ANY = 0,     /* what the sample type is of; without one, the first there is */
    STORE_CSV_CPU = 1,     /* a CPU sample */
    STORE_CSV_HEAP = 2,    /* a sampled allocation, with its release */
    STORE_CSV_PROFILE = 3, /* a sample of an imported profile (pprof, folded stacks) */
};

struct store_export_options {
    size_t size;                /* sizeof(struct store_export_options) */
    store_progress_fn progress; /* may be NULL */
    void *progress_context;
    enum profile_root root; /* folded: the first frame of a stack */
    bool raw;               /* pprof: the bare message, no gzip */
    enum store_csv_table table;
};

/* options may be NULL in all of them.  counts is written whatever the status.  */

/* profile.proto (docs/formats/pprof.md).  A capture that came from a pprof file, alone and
 * unfiltered, gives a file of the same meaning: labels, mappings, comments, every sample type.  */
STORE_API enum store_status store_export_pprof(struct store *store,
                                               const struct store_filter *filter,
                                               const struct store_export_options *options,
                                               store_write_fn write, void *context,
                                               struct store_export_counts *counts,
                                               struct store_error *error);

/* Folded stacks of one sample type, as profile_write_folded() writes those of the same trace: one
 * line a distinct stack, root first, sorted by bytes.  */
STORE_API enum store_status store_export_folded(struct store *store,
                                                const struct store_filter *filter,
                                                const struct store_export_options *options,
                                                store_write_fn write, void *context,
                                                struct store_export_counts *counts,
                                                struct store_error *error);

/* RFC 4180: a header row, then a row a sample, in the order of the store.  docs/export.md says
 * what the columns of each table are.  */
STORE_API enum store_status store_export_csv(struct store *store, const struct store_filter *filter,
                                             const struct store_export_options *options,
                                             store_write_fn write, void *context,
                                             struct store_export_counts *counts,
                                             struct store_error *error);

/* FXT of one capture (filter->capture may be 0 where there is only one).  Imported again it gives
 * the same rows, but for what docs/export.md lists: names of frames stay in the store, and so does
 * what makes no record.  sample_type, hide and show_from must be NULL.  */
STORE_API enum store_status store_export_fxt(struct store *store, const struct store_filter *filter,
                                             const struct store_export_options *options,
                                             store_write_fn write, void *context,
                                             struct store_export_counts *counts,
                                             struct store_error *error);

#ifdef __cplusplus
}
#endif

#endif /* STORE_EXPORT_H */
