/* import.h - the parts of an import.  Private to libstore.
 *
 *   import_trace.c     records in; transaction; finish and commit
 *   import_capture.c   what a capture says of itself: session, providers, losses, damage
 *   import_entities.c  processes, threads, mappings; texts
 *   import_stacks.c    modules, frames and call sites: those the store has, rows for new ones
 *   import_samples.c   samples: sorted by time, written when call sites are final
 *   import_events.c    the sample types of events that samples were taken by
 *   import_heap.c      allocations brought together with their releases
 *   sums.c             callsite_sum
 *   *timeline*.c       slices, counters, scheduling, ...
 *   identity.c         the hash of a capture
 *
 * Imports of profiles (import_profiles.h) have transaction, writer and the capture's row from here.
 *
 * The sink's context is the struct store_import.  Its members report failure of the writer with
 * PROFILE_STOPPED (store_import_sink_status()); the import then asks the writer for the reason.
 *
 * Ids: a process or thread of ingest (counted from 1) becomes the store's by adding what was there
 * before.  Modules, frames and call sites are those of profile_stacks, into which those of the
 * store are loaded first, so that what is equal gets the id it has.  */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "base/grow.h"
#include "base/numbering.h"
#include "base/sorter.h"
#include "libstore/import/identity.h"
#include "libstore/row_writer.h"
#include "libstore/store_internal.h"

struct store_timeline; /* import_timeline.c */
struct import_samples; /* import_samples.c */

/* sample_type.id of store.sql.  */
enum { STORE_TYPE_CPU = 1, STORE_TYPE_ALLOC = 2, STORE_TYPE_INUSE = 3, STORE_TYPE_FREE = 4 };

/* ---- Sums (sums.c) ---- */

/* What samples of one type add up to by (process, call site).  */
struct store_sum {
    union {
        uint64_t integer;
        double real;
    } n, value;
};

struct store_sums {
    struct base_pairs keys; /* upid, callsite.id */
    struct store_sum *items;
    size_t capacity;
};

/* The sum of (upid, callsite), made if need be; NULL: out of memory.  */
struct store_sum *store_sums_at(struct store_sums *sums, int64_t upid, int64_t callsite);
void store_sums_release(struct store_sums *sums);

/* What the values of callsite_sum are.  */
enum store_sum_values {
    STORE_SUMS_COUNTED, /* integers; the values are not known */
    STORE_SUMS_WHOLE,   /* integers */
    STORE_SUMS_REAL,
};

/* ---- Events ---- */

struct import_event {
    uint32_t name, unit; /* in names */
    int64_t sample_type_id;
    struct store_sums sums; /* of (process of ingest, provisional call site) */
};

struct import_events {
    struct import_event *items; /* those of sample_event, in its order */
    size_t count, capacity;
    uint32_t *places; /* of the event with id i of ingest, at [i - 1]: its index in items */
    size_t place_count, place_capacity;
};

/* ---- Entities ---- */

struct import_process {
    uint64_t koid;
    uint32_t name; /* in names; 0 unknown */
};

struct import_thread {
    uint64_t koid;
    uint32_t process; /* of ingest; 0 unknown */
    uint32_t name;
};

struct import_provider {
    uint32_t name; /* in names; 0 unknown */
    uint64_t lost;
};

/* ---- Stacks ---- */

/* From ids of profile_stacks to the store's: that of i is at [i - 1].  */
struct import_ids {
    int64_t *items;
    size_t count, capacity;
};

/* ---- The import ---- */

struct store_import {
    struct store *store; /* borrowed */
    struct store_writer *writer;
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;
    struct store_timeline *timeline;
    struct store_error error; /* of the part that failed, where it is not the writer's */
    bool in_transaction;
    bool can_roll_back; /* else the new store begins anew after a failure */
    bool finished;
    char *name;
    const char *format; /* of capture.format */
    struct store_import_counts counts;

    /* import_capture.c */
    int64_t capture_id;
    struct store_identity identity;
    bool has_time;
    int64_t start_ns, end_ns;
    uint64_t period_ns;
    uint32_t max_frames;
    bool has_session; /* it is one of ours, so merged by time over all CPUs */
    bool has_clock;
    int64_t realtime_ns, monotonic_ns;
    uint32_t command, arch, kernel, cpu_model; /* in names */
    struct profile_loss loss;
    struct base_pairs provider_keys;
    struct import_provider *providers;
    size_t provider_capacity;

    /* import_entities.c */
    struct base_texts names;
    struct base_texts strings; /* number n has string.id first_string + n - 1 */
    int64_t first_upid, first_utid, first_string;
    struct import_process *processes;
    size_t process_count, process_capacity;
    struct base_pairs process_koids; /* number: index in koid_processes + 1 */
    uint32_t *koid_processes;
    size_t koid_capacity;
    struct import_thread *threads;
    size_t thread_count, thread_capacity;

    /* import_stacks.c */
    struct import_ids modules, frames, callsites;

    /* import_samples.c, import_events.c, import_heap.c */
    struct import_samples *samples;
    struct import_events events;
    bool samples_ordered; /* rows are in the order of their times */
    int64_t first_sample_id;
    struct base_sorter *heap;
    uint64_t heap_interval_bytes; /* the largest that allocations were sampled by */
    int64_t first_slice_id;
    int64_t first_sched_id;
};

/* For members of the sink: PROFILE_OK if ok, else PROFILE_STOPPED.  */
static inline enum profile_status store_import_sink_status(bool ok)
{
    return ok ? PROFILE_OK : PROFILE_STOPPED;
}

/* Keep why a part failed; the first failure holds.  Returns false.  */
bool store_import_fail(struct store_import *import, enum store_status status, const char *message);
/* Keep a failure of base/sorter.h, 0 for none.  Returns whether there was none.  */
bool store_import_sorted(struct store_import *import, int failure);
enum store_status store_import_sorter_open(struct store_import *import, size_t row_size,
                                           size_t bytes, struct base_sorter **out,
                                           struct store_error *error);

/* import_trace.c, for imports of profiles as well: a transaction and a writer, without ingest.  */
enum store_status store_import_begin(struct store *store,
                                     const struct store_import_options *options, const char *format,
                                     struct store_import **out, struct store_error *error);
/* Write what is left once it is clear that the store has no such capture; false: it failed.  */
typedef bool (*store_import_rest_fn)(struct store_import *import, const void *context,
                                     const unsigned char hash[STORE_IDENTITY_BYTES]);
enum store_status store_import_end(struct store_import *import, store_import_rest_fn rest,
                                   const void *context, struct store_error *error);

/* import_capture.c */
bool store_import_write_capture_row(struct store_import *import,
                                    const unsigned char hash[STORE_IDENTITY_BYTES]);
/* A row of damage with neither offset nor bytes, cells 3 and 4; NULL: it failed.  */
struct store_cell *store_import_write_damage(struct store_import *import, const char *kind,
                                             uint64_t count, bool is_loss, const char *description);
void store_import_capture_sink(struct profile_sink *sink);
bool store_import_note_record(struct store_import *import, const struct fxt_record *record);
bool store_import_write_capture(struct store_import *import, const struct fxt_damage *damage,
                                const unsigned char hash[STORE_IDENTITY_BYTES]);

/* import_entities.c */
void store_import_entities_sink(struct profile_sink *sink);
bool store_import_write_entities(struct store_import *import);
void store_import_entities_release(struct store_import *import);

/* process.id and thread.id of ingest's; 0 for 0.  Rows are written at the end, with the names
 * processes and threads have by then.  */
static inline int64_t store_import_upid(const struct store_import *import, uint32_t process)
{
    return process ? import->first_upid + process - 1 : 0;
}

static inline int64_t store_import_utid(const struct store_import *import, uint32_t thread)
{
    return thread ? import->first_utid + thread - 1 : 0;
}

/* process.id of a process that was told; 0 for others.  */
int64_t store_import_upid_of_koid(struct store_import *import, uint64_t koid);

/* string.id of a text, the same for equal texts of one import: for what repeats.  0: failed.  */
int64_t store_import_string(struct store_import *import, const char *bytes, size_t length);

/* A number for a text in import->names, 0 for the empty one.  False when memory is short.  */
bool store_import_name(struct store_import *import, const struct fxt_string *text, uint32_t *out);
/* Write such a text into a cell; NULL for 0.  */
bool store_import_put_name(struct store_import *import, enum store_table table,
                           struct store_cell *cell, uint32_t name);

/* import_stacks.c */

/* What the capture itself says a frame is called; ids of string, 0 for none.  */
struct import_symbol {
    int64_t frame, depth;
    int64_t function, system_name, file;
    int64_t line, column, start_line;
};
bool store_import_write_symbol(struct store_import *import, const struct import_symbol *symbol);

enum store_status store_import_load_stacks(struct store_import *import, struct store_error *error);
/* Rows for what import->stacks has and the store has not.  */
bool store_import_write_modules(struct store_import *import);
bool store_import_write_stacks(struct store_import *import);
void store_import_stacks_release(struct store_import *import);

static inline int64_t store_import_module(const struct store_import *import, profile_id module)
{
    return module ? import->modules.items[module - 1] : 0;
}

/* callsite.id of a final call site that was written; 0 for 0.  */
static inline int64_t store_import_callsite(const struct store_import *import, profile_id callsite)
{
    return callsite ? import->callsites.items[callsite - 1] : 0;
}

/* import_samples.c */
enum store_status store_import_samples_open(struct store_import *import, struct profile_sink *sink,
                                            struct store_error *error);
bool store_import_write_samples(struct store_import *import, const profile_id *final);

void store_import_samples_release(struct store_import *import);

/* import_events.c */
void store_import_events_sink(struct profile_sink *sink);
void store_import_events_release(struct store_import *import);

/* import_heap.c */
enum store_status store_import_heap_open(struct store_import *import, struct profile_sink *sink,
                                         struct store_error *error);
bool store_import_write_heap(struct store_import *import, const profile_id *final);

/* sums.c */
bool store_import_write_sums(struct store_import *import, const struct store_sums *sums,
                             int64_t type, enum store_sum_values values);

#endif /* STORE_IMPORT_H */
