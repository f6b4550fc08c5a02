/* ingest.h - the parts of an ingest.  Private to libprofile/ingest.
 *
 *   ingest.c     open, dispatch of records, finish
 *   capture.c    what captures say of themselves; losses
 *   entities.c   processes, threads and their names
 *   maps.c       modules and mappings; which of them an address belonged to
 *   samples.c    stacks of addresses, stored once as they are, resolved at the end
 *   heap.c       messages of the memory sampler: modules, allocations, releases
 *   live.c       the sampled blocks that are in use
 *   spans.c      durations: begins and ends brought together
 *   sort.c       external merge sort of the events of spans.c
 */
#ifndef PROFILE_INGEST_INGEST_H
#define PROFILE_INGEST_INGEST_H

#include "libprofile/ingest/sort.h"
#include "libprofile/internal.h"

/* ---- Address maps (maps.c) ---- */

/* Addresses from here on belong to the kernel: they are looked up in process 0's map.  */
#define KERNEL_START (UINT64_C(1) << 63)

/* A piece of an address space that belonged to one module for some time.  Times are epochs: a
 * process's epoch advances only when a mapping takes addresses away from another module.  */
struct map_segment {
    struct map_segment *next; /* of the same process, newest first */
    uint64_t start, last;     /* addresses, both included: 2^64 - 1 can be one of them */
    uint64_t vaddr;           /* module-relative address of start */
    profile_id module;
    uint32_t since, until; /* epochs [since, until); until UINT32_MAX: never ended */
};

/* A mapping whose module record has not come yet.  */
struct map_pending {
    struct map_pending *next;
    uint64_t start, last, vaddr;
    unsigned flags;
};

/* (process, module id) as records name modules.  */
struct map_module {
    uint32_t process; /* entity id */
    uint16_t id;
    profile_id module;           /* 0: its record has not come yet */
    struct map_pending *pending; /* oldest first */
    struct map_pending *pending_last;
};

/* ---- Processes and threads (entities.c) ---- */

/* A process.  Entity ids count from 1 in order of meeting.  */
struct ingest_process {
    uint64_t koid;
    profile_id name;
    bool chosen;  /* passes the pid filter */
    bool sampled; /* has samples */
    uint32_t epoch;
    uint32_t space;               /* (process, epoch) for samples; 0: none in this epoch yet */
    struct map_segment *segments; /* all there ever were, in the ingest's arena */
    void *map;                    /* tsearch() tree of those that hold now; they do not overlap */
};

struct ingest_thread {
    uint64_t process; /* koid */
    uint32_t process_id;
    uint64_t koid;
    profile_id name;
    bool own_name;            /* its kernel object named the process too */
    bool chosen;              /* passes both filters */
    uint32_t koids;           /* entry for its koid */
    struct span_stack *stack; /* open slices; NULL before the first */
};

/* A thread koid.  Names often come without the process: they hold for every thread of that koid
 * that has no name of its own.  */
struct ingest_koid {
    uint64_t koid;
    profile_id name;
    bool has_threads;
    bool renamed; /* since it has threads: they are told at the end */
};

/* ---- Samples (samples.c) ---- */

/* A process in one epoch.  */
struct sample_space {
    uint32_t process; /* entity id */
    uint32_t epoch;
};

/* A sampled address, before modules are known.  Frame 1 stands for what lies above a cut stack.  */
struct raw_frame {
    uint64_t address; /* lookup address */
    uint32_t space;   /* 0 for frame 1 */
};

struct raw_callsite {
    uint32_t parent; /* 0: root */
    uint32_t frame;
};

#define RAW_TRUNCATED 1u

struct ingest_samples {
    struct sample_space *spaces;
    size_t space_count, space_capacity;
    struct raw_frame *frames;
    size_t frame_count, frame_capacity;
    struct profile_index frame_index;
    struct raw_callsite *callsites;
    uint64_t *hits; /* per call site: samples that ended there */
    size_t callsite_count, callsite_capacity, hit_capacity;
    struct profile_index callsite_index;
    struct profile_index stack_index; /* from the hash of a whole stack to its call site */
};

/* ---- Heap (heap.c, live.c) ---- */

/* A sampled block that is in use.  */
struct live_block {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t interval_bytes;
    uint64_t id;
    int64_t ts_ns;
    uint32_t process; /* entity id; 0: the slot is free */
    uint32_t thread;  /* entity id; 0 unknown */
    uint32_t callsite;
    bool has_time;
    bool told; /* the sink was told of it: its thread passes the filter */
};

/* By (process, address).  Open addressing; a block that goes is closed up at once, so that looking
 * for others never takes longer for it.  */
struct live_set {
    struct live_block *slots;
    size_t mask; /* slots - 1, a power of two.  Meaningless while slots is NULL */
    size_t count;
};

/* What can be in use at once: a heap of many terabytes, with the usual interval.  */
#define MAX_LIVE_BLOCKS ((size_t)1 << 26)

struct ingest_heap {
    struct live_set live;
    uint64_t allocations;    /* told so far: the last id */
    uint64_t interval_bytes; /* of the session; 0: it says nothing */
    uint32_t max_frames;
};

/* ---- Spans (spans.c) ---- */

/* A thread and a name of its slices.  Events carry this pair, so that the sorted pass needs no
 * look-up.  */
struct span_pair {
    uint32_t thread; /* entity id */
    profile_id name;
    profile_id frame; /* 0: not made yet */
    uint32_t open;    /* innermost open begin of this name: its place in the stack + 1; 0 none */
};

struct ingest_spans {
    struct span_sorter *sorter; /* NULL before the first event */
    struct span_pair *pairs;
    size_t pair_count, pair_capacity;
    struct profile_index pair_index;
    uint64_t ordinal; /* of the next event */
};

/* ---- The ingest ---- */

/* Cumulative counts of one CPU (counter fxt.capture/lost).  */
struct lost_counter {
    uint64_t id;
    struct profile_loss last;
};

struct profile_ingest {
    struct profile_sink sink;
    struct profile_stacks *stacks; /* borrowed */
    struct profile_ingest_options options;
    uint64_t *pids; /* sorted, low 32 bits; options.pid_count of them */
    uint64_t *tids;
    char *temporary_dir;
    struct profile_notices notices;
    struct profile_arena arena; /* segments, pending mappings */

    /* capture.c */
    uint64_t period_ns;
    uint32_t max_frames;
    bool arm64;
    bool has_session;
    uint64_t provider_events;
    struct lost_counter *lost;
    size_t lost_count, lost_capacity;
    struct profile_index lost_index;

    /* entities.c */
    struct ingest_process *processes;
    size_t process_count, process_capacity;
    struct profile_index process_index;
    struct ingest_thread *threads;
    size_t thread_count, thread_capacity;
    struct profile_index thread_index;
    struct ingest_koid *koids;
    size_t koid_count, koid_capacity;
    struct profile_index koid_index;

    /* maps.c */
    struct map_module *modules;
    size_t module_count, module_capacity;
    struct profile_index module_index;
    struct profile_index named_index; /* from build IDs to the module named first */
    struct map_segment **overlaps;    /* scratch of one insertion */
    size_t overlap_capacity;

    struct ingest_samples samples;
    struct ingest_heap heap;
    struct ingest_spans spans;

    int64_t last_ns; /* the latest time of the trace; meaningful when has_time */
    bool has_time;
    bool finished;
};

/* Room for one more item of an array with an index; PROFILE_LIMIT beyond 2^32 - 2.  */
enum profile_status ingest_reserve(void **items, size_t *capacity, size_t count, size_t size,
                                   struct profile_index *index, struct profile_error *error);
/* What a sink's member returned, with a message where it is not PROFILE_OK.  */
enum profile_status ingest_sink_status(enum profile_status status, struct profile_error *error);

/* capture.c */
enum profile_status ingest_capture_session(struct profile_ingest *ingest,
                                           const struct fxt_record *record,
                                           struct profile_error *error);
enum profile_status ingest_capture_init(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
enum profile_status ingest_capture_lost(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
enum profile_status ingest_capture_finish(struct profile_ingest *ingest,
                                          struct profile_error *error);
bool ingest_string_is(const struct fxt_string *string, const char *text);
/* An argument of any integer type; false, and *out untouched, if it is not there or negative.  */
bool ingest_argument_u64(const struct fxt_record *record, const char *name, uint64_t *out);

/* entities.c.  Ids are found or made; a new entity is announced to the sink.  */
enum profile_status ingest_process(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                   struct profile_error *error);
enum profile_status ingest_thread(struct profile_ingest *ingest, const struct fxt_thread *thread,
                                  uint32_t *out, struct profile_error *error);
enum profile_status ingest_object(struct profile_ingest *ingest, const struct fxt_record *record,
                                  struct profile_error *error);

enum profile_status ingest_process_name(struct profile_ingest *ingest, uint64_t koid,
                                        const char *bytes, size_t length,
                                        struct profile_error *error);

/* Tell names that came after their threads.  */
enum profile_status ingest_entities_finish(struct profile_ingest *ingest,
                                           struct profile_error *error);

/* maps.c */
enum profile_status ingest_map_module(struct profile_ingest *ingest,
                                      const struct fxt_record *record, struct profile_error *error);
enum profile_status ingest_map_mapping(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct profile_error *error);
/* A place [start, start + length) of a module that is known by its build ID alone.  */
enum profile_status ingest_map_segment(struct profile_ingest *ingest, uint32_t process,
                                       profile_id module, uint64_t start, uint64_t length,
                                       uint64_t vaddr, struct profile_error *error);
/* Which module an address of an epoch belonged to.  */
struct map_query {
    uint32_t process; /* entity id */
    uint32_t epoch;
    uint64_t address;
    uint32_t frame;    /* the caller's */
    profile_id module; /* answer; 0: none */
    uint64_t vaddr;
};
/* Answer all queries; sorts them.  The maps are used up.  */
enum profile_status ingest_map_resolve(struct profile_ingest *ingest, struct map_query *queries,
                                       size_t count, struct profile_error *error);
void ingest_map_release(struct profile_ingest *ingest);

/* samples.c */
enum profile_status ingest_sample_stack(struct profile_ingest *ingest,
                                        const struct fxt_record *record, struct fxt_words pcs,
                                        bool kernel_sampler, struct profile_error *error);
/* The provisional call site of a stack of return addresses, all of them; 0 when it is empty.  cut:
 * it reached the capture's depth.  */
enum profile_status ingest_return_stack(struct profile_ingest *ingest, uint64_t process,
                                        struct fxt_words pcs, bool cut, uint32_t *out,
                                        struct profile_error *error);
enum profile_status ingest_sample_finish(struct profile_ingest *ingest,
                                         struct profile_error *error);
void ingest_sample_release(struct profile_ingest *ingest);

/* heap.c */
bool ingest_is_heap_message(const struct fxt_record *record);
enum profile_status ingest_heap_message(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);

/* live.c */
/* The block, or NULL.  Valid until the set changes.  */
struct live_block *live_find(const struct live_set *live, uint32_t process, uint64_t address);
/* Put in a block that is not there.  False when memory is short.  */
bool live_add(struct live_set *live, const struct live_block *block);
void live_remove(struct live_set *live, struct live_block *block);
void live_release(struct live_set *live);

/* spans.c */
enum profile_status ingest_span_event(struct profile_ingest *ingest,
                                      const struct fxt_record *record, struct profile_error *error);
enum profile_status ingest_span_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_span_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_INGEST_H */
