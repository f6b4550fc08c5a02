/* ingest.h - the parts of an ingest.  Private to libprofile/ingest.
 *
 *   ingest.c     open, dispatch of records, finish
 *   capture.c    what captures say of themselves; losses
 *   entities.c   processes, threads and their names
 *   maps.c       modules and mappings; which of them an address belonged to
 *   samples.c    stacks of addresses, stored once as they are, resolved at the end
 *   seen.c       whole stacks that were met before
 *   heap.c       messages of the memory sampler: modules, allocations, releases
 *   live.c       the sampled blocks that are in use
 *   timeline.c   events that need the order of time: sorted, then given to the four below
 *   spans.c      durations of threads: begins and ends brought together
 *   async.c      durations of operations
 *   flows.c      arrows between slices
 *   sched.c      threads on CPUs, and waiting
 *   slices.c     finished slices, brought into the order in which they begin
 *   events.c     what is told at once: arguments, counters, logs, objects; tracks
 *   insn.c       instruction traces: packets to slices and charges (insn.h)
 *   table.c      from pairs of numbers to what is open
 *   sort.c       external merge sort
 */
#ifndef PROFILE_INGEST_INGEST_H
#define PROFILE_INGEST_INGEST_H

#include "base/sorter.h"
#include "libprofile/ingest/seen.h"
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
    bool has_time;
    int64_t ts_ns;
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
    bool own_name;               /* its kernel object named the process too */
    bool chosen;                 /* passes both filters */
    uint32_t koids;              /* entry for its koid */
    uint32_t track;              /* of its slices; 0: not told yet */
    struct span_stack *stack;    /* open slices; NULL before the first */
    struct sched_thread *waking; /* what it does on CPUs; NULL before the first record */
};

/* A thread koid.  Names often come without the process: they hold for every thread of that koid
 * that has no name of its own.  */
struct ingest_koid {
    uint64_t koid;
    profile_id name;
    uint32_t thread; /* entity id: the first with a process, else the first; 0: none */
    bool renamed;    /* since it has threads: they are told at the end */
    bool scheduled;  /* scheduling records name it */
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
    profile_id final; /* 0: its module was not known when it was first met */
};

struct raw_callsite {
    uint32_t parent; /* 0: root */
    uint32_t frame;
    uint64_t hits;    /* samples that ended there; counted at the end */
    profile_id final; /* 0: its frame or one of its callers' was not known */
};

#define RAW_TRUNCATED 1u

struct ingest_samples {
    struct sample_space *spaces;
    size_t space_count, space_capacity;
    struct raw_frame *frames;
    size_t frame_count, frame_capacity;
    struct base_index frame_index;
    struct raw_callsite *callsites;
    size_t callsite_count, callsite_capacity;
    struct base_index callsite_index;
    struct seen_stacks seen; /* from whole stacks to their call sites */
    /* A ring of stacks that are looked up later; NULL before the first.  */
    struct sample_waiting *waiting;
    size_t waiting_first, waiting_count;
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

/* ---- Events in the order of time (timeline.c) ---- */

enum timeline_type {
    TIMELINE_BEGIN = 0,
    TIMELINE_END = 1,
    TIMELINE_COMPLETE = 2,
    TIMELINE_INSTANT = 3,
    TIMELINE_FLOW_BEGIN = 4,
    TIMELINE_FLOW_STEP = 5,
    TIMELINE_FLOW_END = 6,
    TIMELINE_ASYNC_BEGIN = 7,
    TIMELINE_ASYNC_INSTANT = 8,
    TIMELINE_ASYNC_END = 9,
    TIMELINE_SWITCH = 10,
    TIMELINE_WAKEUP = 11,
};

/* What the sorter compares, struct base_sort_key by ordinal.  */
struct event_key {
    int64_t ts_ns;
    uint64_t ordinal;
};

/* The status of a call of base/sorter.h.  */
enum profile_status ingest_sorter_status(const struct profile_ingest *ingest, int failure,
                                         struct profile_error *error);

/* Add item to *sorter, which is opened with bytes of memory if it is NULL.  */
enum profile_status ingest_sorter_add(struct profile_ingest *ingest, struct base_sorter **sorter,
                                      size_t bytes, const void *item, size_t item_size,
                                      struct profile_error *error);

/* 40 bytes.  Its ordinal is its place in the file.  */
struct timeline_event {
    struct event_key key;
    uint64_t value;    /* complete: its end; flow, async: id; instant: scope; sched.c: threads */
    uint32_t pair;     /* struct span_pair; sched.c: CPU */
    uint32_t category; /* sched.c: priority */
    uint8_t type;      /* enum timeline_type */
    bool has_args;     /* as set ordinal + 1 */
    uint8_t state;     /* sched.c: of the outgoing thread */
    uint8_t flags;     /* sched.c */
    uint32_t reserved; /* 0 */
};

/* A thread and a name of its events.  Events carry this pair, so that the sorted pass needs no
 * look-up.  */
struct span_pair {
    uint32_t thread; /* entity id */
    profile_id name;
    profile_id frame;           /* 0: not made yet */
    uint32_t open;              /* innermost open begin of this name: its place in the stack + 1 */
    struct closed_slice *ended; /* ended by the slice around it; its own end may still come */
};

/* Events of one time that wait for the others of that time.  */
#define MAX_HELD 64u

struct ingest_timeline {
    bool slices, flows, sched;  /* what the sink wants */
    bool nested;                /* what threads have open is needed */
    struct base_sorter *sorter; /* NULL before the first event */
    struct span_pair *pairs;
    size_t pair_count, pair_capacity;
    struct base_index pair_index;
    uint64_t ordinal; /* of the next event or object */
    struct timeline_event held[MAX_HELD];
    size_t held_count;
};

/* ---- What is open (table.c) ---- */

/* An entry is there while its count is not 0.  */
struct open_entry {
    uint64_t a, b; /* key */
    uint32_t value;
    uint32_t count;
};

struct open_table {
    struct open_entry *entries; /* open addressing; a power of two of them, at most half used */
    size_t mask, used;
};

/* At most so many flows, and as many async slices, are open; more are left out and counted.  */
#define MAX_OPEN 1000000u

/* The entry, or NULL.  */
struct open_entry *open_table_find(const struct open_table *table, uint64_t a, uint64_t b);
/* A new one, with value and count 0, for a key that is not there.  The caller makes its count other
 * than 0.  Moves entries; NULL when memory is short.  */
struct open_entry *open_table_add(struct open_table *table, uint64_t a, uint64_t b);
/* Moves entries.  */
void open_table_remove(struct open_table *table, struct open_entry *entry);
void open_table_release(struct open_table *table);

/* ---- Tracks and asynchronous slices (events.c, async.c) ---- */

struct async_group {
    uint32_t process; /* entity id */
    profile_id category, name;
    uint32_t free_track; /* 0 none; the others follow by ingest_async.next_free */
};

struct open_async {
    int64_t start_ns;
    uint64_t id, args;
    uint32_t thread;
    uint32_t group;
    uint32_t track;
    uint32_t outer; /* the slice around it, or the next free one */
    uint32_t depth;
};

struct ingest_async {
    struct async_group *groups;
    size_t group_count, group_capacity;
    struct base_index group_index;
    uint32_t *next_free; /* [track] */
    size_t next_free_count, next_free_capacity;
    struct open_async *slices;
    size_t slice_count, slice_capacity, open_count;
    uint32_t free_slice;     /* 0 none */
    struct open_table table; /* (group, correlation id) -> innermost open slice */
};

struct counter_series {
    uint32_t process; /* entity id */
    profile_id category, name, series;
    uint64_t counter_id;
    uint32_t track;
};

struct ingest_tracks {
    uint32_t count; /* told so far */
    struct counter_series *series;
    size_t series_count, series_capacity;
    struct base_index series_index;
};

/* ---- Flows (flows.c) ---- */

struct open_flow {
    uint64_t trace_id;
    uint64_t slice; /* where the next arrow begins */
    int64_t ts_ns;
    uint64_t args;
    uint32_t process; /* entity id */
    uint32_t thread;
    profile_id category, name;
    uint32_t next_free;
    bool ambiguous; /* another process began this id meanwhile: only its own process continues it */
};

struct ingest_flows {
    struct open_flow *flows;
    size_t flow_count, flow_capacity, open_count;
    uint32_t free_flow; /* 0 none */
    /* (process, id) -> flow, and (UINT64_MAX, id) -> the exclusive or of all flows of that id.  */
    struct open_table table;
    uint64_t last_id;
};

/* ---- Scheduling (sched.c) ---- */

struct sched_cpu {
    bool running; /* since_ns, thread and priority are known */
    bool has_priority;
    int64_t since_ns;
    uint32_t thread; /* entity id; 0 idle */
    int32_t priority;
};

/* What a thread does since since_ns.  */
struct sched_thread {
    int64_t since_ns;
    bool known; /* its state is known */
    bool woken;
    unsigned state; /* enum profile_thread_state_kind */
    uint32_t waker;
    uint32_t cpu;        /* it runs there, or was woken from there */
    profile_id callsite; /* of a wait, for the off-CPU profile; 0: not wanted */
};

struct ingest_sched {
    struct sched_cpu *cpus;
    size_t cpu_count, cpu_capacity;
};

/* ---- Finished slices (slices.c) ---- */

enum {
    CLOSED_UNFINISHED = 1 << 4,
    CLOSED_CUT = 1 << 5,
    CLOSED_TYPE = CLOSED_UNFINISHED - 1, /* enum profile_slice_type */
};

/* 80 bytes; key.ts_ns is when it begins, key.ordinal its id.  */
struct closed_slice {
    struct event_key key;
    int64_t end_ns;
    uint64_t parent;
    uint64_t args, end_args;
    uint64_t number; /* correlation id or scope */
    uint32_t track;
    uint32_t thread;
    profile_id category, name;
    uint32_t depth;
    uint32_t flags;
};

struct ingest_slices {
    struct base_sorter *sorter; /* NULL before the first */
    uint64_t last_id;
};

/* ---- The ingest ---- */

/* Cumulative counts of one CPU (counter fxt.capture/lost).  */
struct lost_counter {
    uint64_t id;
    bool heap; /* of a process (heap_lost), not of a CPU */
    struct profile_loss last;
};

/* ---- Code that is in no file (code.c) ---- */

struct code_symbol;

struct ingest_code {
    struct code_symbol *items;
    size_t count, capacity;
};

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

    struct ingest_code code;
    struct ingest_samples samples;
    struct ingest_heap heap;
    struct ingest_timeline timeline;
    struct ingest_async async;
    struct ingest_flows flows;
    struct ingest_sched sched;
    struct ingest_slices slices;
    struct ingest_tracks tracks;
    struct ingest_insn *insn; /* NULL before the first need of it */

    int64_t last_ns; /* the latest time of the trace; meaningful when has_time */
    bool has_time;
    bool finished;
};

/* Room for one more item of an array with an index; PROFILE_LIMIT beyond 2^32 - 2.  */
enum profile_status ingest_reserve(void **items, size_t *capacity, size_t count, size_t size,
                                   struct base_index *index, struct profile_error *error);
/* What a sink's member returned, with a message where it is not PROFILE_OK.  */
enum profile_status ingest_sink_status(enum profile_status status, struct profile_error *error);

/* capture.c */
enum profile_status ingest_capture_session(struct profile_ingest *ingest,
                                           const struct fxt_record *record,
                                           struct profile_error *error);
enum profile_status ingest_capture_init(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* Take a list of functions of a process.  */
enum profile_status ingest_code_symbols(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* All lists are there.  */
void ingest_code_sort(struct profile_ingest *ingest);
/* The name of the function at an address of a process; 0: none is known.  */
profile_id ingest_code_find(const struct profile_ingest *ingest, uint32_t process,
                            uint64_t address);
void ingest_code_release(struct profile_ingest *ingest);

enum profile_status ingest_capture_lost(struct profile_ingest *ingest,
                                        const struct fxt_record *record, bool heap,
                                        struct profile_error *error);
enum profile_status ingest_capture_resident(struct profile_ingest *ingest,
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
/* The kernel object of a process or thread.  */
enum profile_status ingest_object(struct profile_ingest *ingest, const struct fxt_record *record,
                                  struct profile_error *error);
/* A thread of which only the koid is known: an entry of koids.  */
enum profile_status ingest_koid(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
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
/* The module that has an address now, which it will have for the whole epoch: only a mapping of
 * another module could take it, and would begin a new one.  False: none has it yet.  */
bool ingest_map_find(const struct profile_ingest *ingest, uint32_t process, uint64_t address,
                     profile_id *module, uint64_t *vaddr);

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
/* Tell how often each stack was sampled since the last time: before the period changes, and at the
 * end.  */
enum profile_status ingest_sample_tell(struct profile_ingest *ingest, struct profile_error *error);
/* Look up what waits: before a map changes, for it belongs to the map as it was.  */
enum profile_status ingest_sample_settle(struct profile_ingest *ingest,
                                         struct profile_error *error);
enum profile_status ingest_sample_finish(struct profile_ingest *ingest,
                                         struct profile_error *error);
void ingest_sample_release(struct profile_ingest *ingest);

/* heap.c */
bool ingest_is_heap_message(const struct fxt_record *record);
enum profile_status ingest_heap_message(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);

/* The trace is over: tell what is still in use.  */
enum profile_status ingest_heap_finish(struct profile_ingest *ingest, struct profile_error *error);

/* live.c */
/* The block, or NULL.  Valid until the set changes.  */
struct live_block *live_find(const struct live_set *live, uint32_t process, uint64_t address);
/* Put in a block that is not there.  False when memory is short.  */
bool live_add(struct live_set *live, const struct live_block *block);
void live_remove(struct live_set *live, struct live_block *block);
void live_release(struct live_set *live);

/* timeline.c */
enum profile_status ingest_timeline_event(struct profile_ingest *ingest,
                                          const struct fxt_record *record,
                                          struct profile_error *error);
enum profile_status ingest_timeline_add(struct profile_ingest *ingest,
                                        const struct timeline_event *event,
                                        struct profile_error *error);
/* Walk all events by time.  */
enum profile_status ingest_timeline_finish(struct profile_ingest *ingest,
                                           struct profile_error *error);
void ingest_timeline_release(struct profile_ingest *ingest);

/* An event of a thread that is no record's: key, value, type and category are set.  */
enum profile_status ingest_timeline_named(struct profile_ingest *ingest,
                                          struct timeline_event *event, uint32_t thread,
                                          profile_id name, struct profile_error *error);

/* spans.c: events of threads, by time.  */
enum profile_status ingest_span_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error);
/* The innermost slice of the event's thread at its time; its place is 0 and its id 0 if there is
 * none.  What ends at that very time is still there.  */
struct span_place {
    uint64_t id;
    size_t depth; /* open slices */
};
enum profile_status ingest_span_place(struct profile_ingest *ingest,
                                      const struct timeline_event *event, struct span_place *out,
                                      struct profile_error *error);
/* The call site of the innermost slice that is open in a thread at that time, likewise; 0: none.
 * */
enum profile_status ingest_span_callsite(struct profile_ingest *ingest, uint32_t thread,
                                         int64_t ts_ns, profile_id *out,
                                         struct profile_error *error);
enum profile_status ingest_span_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_span_release(struct profile_ingest *ingest);

/* async.c, flows.c */
enum profile_status ingest_async_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error);
enum profile_status ingest_async_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_async_release(struct profile_ingest *ingest);
enum profile_status ingest_flow_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error);
void ingest_flow_finish(struct profile_ingest *ingest);
void ingest_flow_release(struct profile_ingest *ingest);

/* sched.c */
enum profile_status ingest_sched_record(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* Find or make the threads that scheduling records name.  */
enum profile_status ingest_sched_threads(struct profile_ingest *ingest,
                                         struct profile_error *error);
enum profile_status ingest_sched_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error);
enum profile_status ingest_sched_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_sched_release(struct profile_ingest *ingest);

/* slices.c */
static inline uint64_t ingest_slice_id(struct profile_ingest *ingest)
{
    return ++ingest->slices.last_id;
}
enum profile_status ingest_slice_add(struct profile_ingest *ingest,
                                     const struct closed_slice *slice, struct profile_error *error);
enum profile_status ingest_slice_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_slice_release(struct profile_ingest *ingest);

/* events.c */
/* A text of a record; a reference to a string that is not there is shown as such.  */
enum profile_status ingest_text(struct profile_ingest *ingest, const struct fxt_string *text,
                                profile_id *out, struct profile_error *error);
/* Tell the record's arguments, if the sink wants any.  */
enum profile_status ingest_args(struct profile_ingest *ingest, const struct fxt_record *record,
                                uint64_t set, struct profile_error *error);
static inline uint64_t ingest_args_of(const struct timeline_event *event)
{
    return event->has_args ? event->key.ordinal + 1 : 0;
}
enum profile_status ingest_counter(struct profile_ingest *ingest, const struct fxt_record *record,
                                   struct profile_error *error);
enum profile_status ingest_log(struct profile_ingest *ingest, const struct fxt_record *record,
                               struct profile_error *error);
/* Kernel objects and userspace objects, for the timeline.  */
enum profile_status ingest_tell_object(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct profile_error *error);
/* Tell a track, whose id is made.  */
enum profile_status ingest_track(struct profile_ingest *ingest, struct profile_track *track,
                                 struct profile_error *error);
void ingest_tracks_release(struct profile_ingest *ingest);

/* ---- Instruction traces (insn.c) ---- */

struct ingest_insn;

#ifdef PROFILE_HAVE_INSN
/* Whether a large blob is of an instruction trace that somebody wants decoded.  */
bool ingest_is_insn(const struct profile_ingest *ingest, const struct fxt_record *record);
enum profile_status ingest_insn_blob(struct profile_ingest *ingest, const struct fxt_record *record,
                                     struct profile_error *error);
/* A mapping comes: before the ingest's map has it.  */
enum profile_status ingest_insn_mapping(struct profile_ingest *ingest, uint32_t process,
                                        const struct profile_mapping *mapping,
                                        struct profile_error *error);
/* The trace is over: before the maps are used up.  */
enum profile_status ingest_insn_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_insn_release(struct profile_ingest *ingest);
#endif

#endif /* PROFILE_INGEST_INGEST_H */
