/* store_export.h - captures of a store as a profile, folded stacks, CSV or FXT.
 *
 *     struct store_filter filter = { .size = sizeof filter, .pids = "1514" };
 *     store_export_folded(store, &filter, NULL, write, context, &counts, &error);
 *
 * The export reads in one transaction: if another program writes to the store meanwhile, the export
 * has the earlier contents.  The store is not trusted: contents that contradict themselves end the
 * export with STORE_CORRUPT, and the output written so far must be discarded.
 *
 * Memory use grows with the number of distinct stacks, names and threads (for folded and pprof also
 * of pairs of thread and stack), not with the number of samples.  The output depends only on the
 * store and the arguments.
 *
 * Statuses of all exports: STORE_OK; STORE_INVALID: the filter or the options request something
 * that this store or this format does not have, and error->message names it; STORE_STOPPED:
 * store_interrupt() was called, or progress returned false; STORE_IO: write failed and
 * error->system_errno is its return value, or reading failed; STORE_CORRUPT, STORE_BUSY,
 * STORE_LIMIT, STORE_NO_MEMORY.  */
#ifndef STORE_EXPORT_H
#define STORE_EXPORT_H

#include <fxt/profile_formats.h>
#include <fxt/store_content.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Take all size bytes.  Returns 0 or an errno value, which ends the export with STORE_IO.  */
typedef int (*store_write_fn)(void *context, const void *bytes, size_t size);

/* Called from time to time: done of about total rows were read.  Return false to stop.  */
typedef bool (*store_progress_fn)(void *context, uint64_t done, uint64_t total);

/* The number of items written.  */
struct store_export_counts {
    uint64_t captures; /* selected */
    uint64_t samples;  /* CPU samples, samples of profiles, sampled allocations */
    uint64_t events;   /* FXT: slices, instants, counter values, flows, logs, switches */
    uint64_t rows;     /* CSV: rows without the header; folded: lines; pprof: samples; FXT:
                        * records */
    uint64_t left_out; /* FXT: rows that the format cannot hold (store_export_fxt()) */
};

/* The kind of the rows of a CSV file.  */
enum store_csv_table {
    STORE_CSV_ANY = 0,     /* the kind of the sample type; without one, the first in the store */
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
    /* csv: put ' before texts that a spreadsheet would take for a formula: those that begin with =,
     * +, -, @, a tab or the end of a line.  */
    bool csv_safe;
};

/* options may be NULL in all of them.  counts is written on every status.  */

/* Export as profile.proto (docs/formats/pprof.md).  If a capture that came from a pprof file is
 * exported alone and without filters, the file has the same meaning: labels, mappings, comments,
 * every sample type.  */
STORE_API enum store_status store_export_pprof(struct store *store,
                                               const struct store_filter *filter,
                                               const struct store_export_options *options,
                                               store_write_fn write, void *context,
                                               struct store_export_counts *counts,
                                               struct store_error *error);

/* The same in any format of a profile.  CPU samples keep their times if the format shows times;
 * everything else is added up by stack and thread.  STORE_INVALID also if the format cannot hold
 * these samples.  */
STORE_API enum store_status store_export_profile(
    struct store *store, const struct store_filter *filter, const struct profile_format *format,
    const struct store_export_options *options, store_write_fn write, void *context,
    struct store_export_counts *counts, struct store_error *error);

/* Export as folded stacks of one sample type, like profile_write_folded() for the same trace: one
 * line for each distinct stack, root first, sorted by bytes.  */
STORE_API enum store_status store_export_folded(struct store *store,
                                                const struct store_filter *filter,
                                                const struct store_export_options *options,
                                                store_write_fn write, void *context,
                                                struct store_export_counts *counts,
                                                struct store_error *error);

/* Export as CSV according to RFC 4180: a header row, then a row for each sample, in the order of
 * the store.  docs/export.md describes the columns of each table.  */
STORE_API enum store_status store_export_csv(struct store *store, const struct store_filter *filter,
                                             const struct store_export_options *options,
                                             store_write_fn write, void *context,
                                             struct store_export_counts *counts,
                                             struct store_error *error);

/* Export one capture as FXT; filter->capture may be 0 if there is only one.  If the file is
 * imported again, it gives the same rows, with the exceptions listed in docs/export.md: names of
 * frames, and rows that do not become a record, remain only in the store.  sample_type, hide and
 * show_from must be NULL.  */
STORE_API enum store_status store_export_fxt(struct store *store, const struct store_filter *filter,
                                             const struct store_export_options *options,
                                             store_write_fn write, void *context,
                                             struct store_export_counts *counts,
                                             struct store_error *error);

#ifdef __cplusplus
}
#endif

#endif /* STORE_EXPORT_H */
