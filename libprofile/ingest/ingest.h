/* ingest.h - an ingest and what all its parts use.  Private to libprofile/ingest.
 *
 * Each part has a header of its own, with its state and its functions.  The ingest only points to
 * the states, so a part includes the headers of the parts it uses and no others.
 *
 *   ingest.c     open, dispatch of records, finish
 *   capture.c    what captures say of themselves; losses
 *   entities.c   processes, threads and their names
 *   maps.c       modules and mappings; which of them an address belonged to
 *   samples.c    stacks of addresses, stored once as they are, resolved at the end
 *   copies.c     registers and copies of stacks, unwound at the end
 *   seen.c       whole stacks that were met before
 *   heap.c       messages of the memory sampler: modules, allocations, releases
 *   live.c       the sampled blocks that are in use
 *   timeline.c   events that need the order of time: sorted, then given to the four below
 *   spans.c      durations of threads: begins and ends brought together
 *   async.c      durations of operations
 *   flows.c      arrows between slices
 *   sched.c      threads on CPUs, and waiting
 *   slices.c     finished slices, brought into the order in which they begin
 *   events.c     passed on at once: arguments, counters, logs, objects; tracks
 *   insn_ingest.c instruction traces: packets to slices and charges (insn_ingest.h)
 *   table.c      from pairs of numbers to what is open
 */
#ifndef PROFILE_INGEST_INGEST_H
#define PROFILE_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/profile.h>
#include "base/arena.h"
#include "base/index.h"
#include "libprofile/profile_internal.h"

struct profile_ingest {
    struct profile_sink sink;
    struct profile_stacks *stacks; /* borrowed */
    struct profile_ingest_options options;
    uint64_t *pids; /* sorted, low 32 bits; options.pid_count of them */
    uint64_t *tids;
    char *temporary_dir;
    struct profile_notices notices;
    struct base_arena arena; /* segments, pending mappings */

    struct fxt_packets packets; /* of Perfetto, in blobs */

    /* capture.c */
    uint64_t period_ns;
    uint32_t max_frames;
    bool arm64;
    bool has_session;
    uint64_t provider_events;
    struct lost_counter *lost;
    size_t lost_count, lost_capacity;
    struct base_index lost_index;

    uint32_t *events; /* ids in the trace of the events that were reported, by id - 1; 0: none */
    size_t event_count, event_capacity;
    struct {
        char name[64];
        uint32_t name_length; /* 0: no event, or a name that is too long to compare */
        uint32_t event;       /* what each sample of the session is of; 0: of the CPU's clock */
        uint64_t amount;      /* of the event, between two samples */
    } session;

    /* entities.c */
    struct ingest_process *processes;
    size_t process_count, process_capacity;
    struct base_index process_index;
    struct ingest_thread *threads;
    size_t thread_count, thread_capacity;
    struct base_index thread_index;
    struct ingest_koid *koids;
    size_t koid_count, koid_capacity;
    struct base_index koid_index;

    /* maps.c */
    struct map_module *modules;
    size_t module_count, module_capacity;
    struct base_index module_index;
    struct base_index named_index; /* from build IDs to the module named first */
    struct map_segment **overlaps; /* scratch of one insertion */
    size_t overlap_capacity;

    /* The states of the other parts.  They are there from opening to closing.  */
    struct ingest_code *code;
    struct ingest_samples *samples;
    struct ingest_heap *heap;
    struct ingest_timeline *timeline;
    struct ingest_async *async;
    struct ingest_flows *flows;
    struct ingest_sched *sched;
    struct ingest_slices *slices;
    struct ingest_tracks *tracks;
    struct ingest_insn *insn;     /* NULL before the first need of it */
    struct ingest_copies *copies; /* likewise */

    int64_t last_ns; /* the latest time of the trace; meaningful when has_time */
    bool has_time;
    bool finished;
};

/* Make room for one more item, and in its index unless that is NULL.  array is the address of the
 * pointer to the items, as in base_make_room().  PROFILE_LIMIT after 2^32 - 2 items.  */
enum profile_status ingest_reserve(void *array, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index, struct profile_error *error);
/* What a sink's member returned, with a message where it is not PROFILE_OK.  */
enum profile_status ingest_sink_status(enum profile_status status, struct profile_error *error);
bool ingest_string_is(const struct fxt_string *string, const char *text);
/* An argument of any integer type; false, and *out untouched, if it is not there or negative.  */
bool ingest_argument_u64(const struct fxt_record *record, const char *name, uint64_t *out);

#endif /* PROFILE_INGEST_INGEST_H */
