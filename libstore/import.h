/* import.h - the parts of an import.  Private to libstore.
 *
 *   import.c        records in; the sink of libprofile's ingest; identity; finish and commit
 *   import_load.c   what a store knows already: modules, frames, call sites
 *   import_names.c  processes, threads, texts: their rows
 *   import_stacks.c frames and call sites of profile_stacks as rows
 *   import_samples.c samples: sorted by time, written when call sites are final
 *   import_heap.c   allocations and releases
 *   timeline*.c     slices, counters, scheduling, ...
 *   identity.c      the hash of a capture
 *   sorter.c        many rows in order in little memory
 *
 * The sink's context is the struct store_import.  Its members report failure of the writer with
 * PROFILE_STOPPED; the import then asks store_writer_status() for the reason.  */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "libstore/internal.h"
#include "libstore/writer.h"

struct store_timeline; /* timeline.c */

struct store_import {
    struct store *store; /* borrowed */
    struct store_writer *writer;
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;
    struct store_timeline *timeline;
    int64_t capture_id;
    struct store_import_counts counts;
};

/* import_names.c.  0, and a failed writer, when memory is short.  A process or thread is made when it
 * is not known yet; its row is written at the end, with the name it has by then.  */
int64_t store_import_upid(struct store_import *import, uint64_t process_koid);
int64_t store_import_utid(struct store_import *import, uint64_t process_koid, uint64_t thread_koid);

/* string.id of a text, the same for equal texts of one import.  For what repeats: keys, symbols.  */
int64_t store_import_string(struct store_import *import, const char *bytes, size_t length);

/* callsite.id of a final call site of import->stacks; 0 for 0.  */
int64_t store_import_callsite(struct store_import *import, profile_id callsite);

#endif /* STORE_IMPORT_H */
