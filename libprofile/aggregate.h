/* aggregate.h - what a struct profile holds.  Private to libprofile; the codecs read it.  */
#ifndef PROFILE_AGGREGATE_H
#define PROFILE_AGGREGATE_H

#include <stdio.h>

#include <fxt/profile_types.h>
#include "libprofile/profile_internal.h"

/* Values of one stack in one thread, as many as the table has types.  */
struct profile_value {
    profile_id callsite;
    uint32_t thread_id; /* struct profile_owner: id */
    uint64_t amounts[];
};

/* One kind's values, ids 1..count in order of meeting; see profile_value_at().  */
struct profile_values {
    unsigned char *items;
    size_t types; /* amounts of each value */
    size_t count, capacity;
    struct base_index index;
    uint32_t *hints; /* add_sample() in profile.c */
    size_t hint_count, hint_capacity;

    uint64_t samples;   /* samples, spans, sampled allocations, ... that were taken in */
    uint64_t unweighed; /* of them without nanoseconds */
    uint64_t stacks;    /* distinct call sites; counted at the end of each trace */

    /* Over all traces, as pprof merges: earliest start, durations added up.  0: unknown.  */
    int64_t time_ns; /* Unix time */
    uint64_t duration_ns;

    /* Of the trace being taken in.  */
    int64_t first_ns, last_ns;
    bool has_first;
};

static inline struct profile_value *profile_value_at(const struct profile_values *values,
                                                     size_t index)
{
    size_t size = sizeof(struct profile_value) + values->types * sizeof(uint64_t);

    return (struct profile_value *)(void *)(values->items + index * size);
}

/* Add to the value of (call site, thread), which gets amounts of 0 when it is new.  *out is its
 * index; it may be NULL.  PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_LIMIT (profile.c).  */
enum profile_status profile_values_add(struct profile_values *values, profile_id callsite,
                                       uint32_t thread, const uint64_t *amounts, size_t *out);
/* Forget all values; types stays.  */
void profile_values_clear(struct profile_values *values);
void profile_values_note_times(struct profile_values *values, int64_t start_ns, int64_t end_ns);

struct profile_owner_process {
    uint64_t koid;
    profile_id name;
};

struct profile_owner {
    uint64_t process_koid;
    uint64_t koid;
    uint32_t process_id; /* id of the process */
    uint32_t base;       /* id of the same thread without an age; 0: this has none */
    uint8_t age;         /* 0: none; 1: below a microsecond; then ten times as much each */
    profile_id name;     /* of the one without an age */
};

/* Where a module lies, for pprof's mappings.  The range of module-relative addresses covers all its
 * mappings; start is where the process that was met first has the range's first byte.  */
struct profile_place {
    uint64_t vaddr, last; /* module-relative, both included */
    uint64_t bias;        /* address - vaddr in the first mapping, modulo 2^64 */
    uint64_t file_offset; /* of vaddr */
    bool has_file_offset;
    bool mapped;
    uint64_t process_koid; /* who mapped it first */
};

/* ---- Times (times.c) ---- */

/* A CPU sample, as it is kept.  */
struct profile_kept {
    int64_t ts_ns;
    uint64_t weight_ns;
    uint32_t callsite;  /* provisional in the file */
    uint32_t thread_id; /* struct profile_owner: id */
    int32_t cpu;        /* -1 unknown */
    uint32_t slot;      /* sample type of its weight; 0: none */
};

#define PROFILE_KEPT_BUFFER 1024

/* CPU samples in a temporary file, trace by trace.  */
struct profile_times {
    int fd;
    char *directory; /* of the file; owned */
    uint64_t count;  /* in the file */
    size_t used;     /* in the buffer, which goes to the file next */
    struct profile_kept buffer[PROFILE_KEPT_BUFFER];
    struct profile_times_trace {
        uint64_t limit;    /* number of the first sample after it */
        profile_id *final; /* of its provisional call sites; owned */
    } * traces;
    size_t trace_count, trace_capacity;
};

enum profile_status profile_times_add(struct profile_times *times, const struct profile_kept *kept,
                                      struct profile_error *error);
/* The trace is over: final call sites.  */
enum profile_status profile_times_settle(struct profile_times *times, const profile_id *final,
                                         uint32_t count, struct profile_error *error);
/* Forget the samples of a trace that was given up.  */
void profile_times_forget(struct profile_times *times);
void profile_times_close(struct profile_times *times); /* accepts NULL */

/* Call each for all samples, with final call sites.  Returns PROFILE_OK, what each returned, or
 * PROFILE_IO.  */
typedef enum profile_status (*profile_kept_fn)(void *context, const struct profile_kept *kept);
enum profile_status profile_times_each(const struct profile_times *times, profile_kept_fn each,
                                       void *context, struct profile_error *error);

/* ---- Heap (profile_heap.c) ---- */

/* What is in use in one place - a process, or all of them - and the most there ever was.  */
struct heap_level {
    uint64_t live; /* bytes, in PROFILE_BYTE_UNITS */
    uint64_t peak;
    uint64_t epoch; /* of the peak: how many there were so far */
    int64_t peak_ns;
    bool has_time; /* peak_ns is known */
    uint64_t resident_bytes;
};

/* What a stack of a thread had at the peak, if it changed since.  */
struct heap_past {
    uint64_t epoch; /* the peak that amounts are of */
    uint64_t amounts[4];
};

/* Values of the trace being taken in, with provisional call sites.  */
struct heap_table {
    struct profile_values values;
    struct heap_past *past; /* of each value, where a peak is asked for; else NULL */
    size_t past_count, past_capacity;
};

/* A partial profile, in the temporary file.  */
struct heap_partial {
    uint64_t offset; /* of its blocks; its releases follow */
    size_t blocks, releases;
    int64_t first_ns, last_ns; /* of its events */
};

struct profile_heap {
    struct profile_heap_options options;
    int64_t until_ns; /* of PROFILE_HEAP_AT_TIME */

    /* Of the trace being taken in.  */
    struct heap_table blocks;   /* objects and bytes in use, objects and bytes gone */
    struct heap_table releases; /* objects and bytes */
    struct heap_level total;
    struct heap_level *processes; /* of the profile's process id at [id - 1] */
    size_t process_count, process_capacity;

    /* Of the trace taken in last.  */
    struct profile_heap_peak *peaks;
    size_t peak_count;

    uint64_t interval_bytes; /* the largest of all traces */

    struct heap_partial *partials;
    size_t partial_count, partial_capacity;
    struct heap_partial open; /* the one that is being taken in; offset is where it goes */
    bool has_open;
    int64_t start_ns;      /* of the first event */
    int64_t open_limit_ns; /* events from here on belong to a later one */
    FILE *file;
    profile_id *final; /* call sites of partials; at [id] */
    uint32_t final_count;
    bool has_clock; /* of partials: Unix time - timestamp is clock_ns */
    int64_t clock_ns;
};

/* Samples of a provisional call site, and their nanoseconds.  */
struct profile_stack_sum {
    uint64_t count, weight_ns;
};

struct profile {
    struct profile_stacks *stacks;
    struct profile_values values[PROFILE_KINDS];
    struct profile_values pending; /* CPU samples of this trace with provisional call sites */

    /* The sample types of CPU samples: their count, then the CPU's time unless it is not known, and
     * each event.  */
    struct profile_known_type cpu_types[PROFILE_MAX_TYPES];
    size_t cpu_type_count;
    size_t cpu_slot;     /* of the CPU's time; 0: none */
    size_t *event_slots; /* of the events of the trace being taken in, by id - 1; 0: no room */
    size_t event_count, event_capacity;

    bool omits_spans;
    bool omits_threads;             /* of CPU samples: then these instead */
    struct profile_stack_sum *sums; /* of call site id at [id - 1] */
    size_t sum_count, sum_capacity;
    struct profile_times *times; /* NULL: not kept */
    struct profile_heap heap;
    struct profile_loss loss;

    struct profile_owner_process *processes;
    size_t process_count, process_capacity;
    struct base_index process_index;
    struct profile_owner *threads;
    size_t thread_count, thread_capacity;
    struct base_index thread_index;
    uint32_t last_thread; /* found last: most calls repeat it */

    struct profile_place *places; /* of module id at [id - 1] */
    size_t place_count, place_capacity;

    uint64_t period_ns;           /* the largest of all traces */
    struct profile_error failure; /* why a function of the sink failed last */
    profile_id command;           /* first word of the first command */
    struct profile_origin origin; /* of the trace being taken in */
    bool has_clock;               /* of it too: Unix time - timestamp is clock_ns */
    int64_t clock_ns;

    char *kernel_symbols; /* of the first trace that has any */
    size_t kernel_symbols_size, kernel_symbols_capacity;
    bool kernel_symbols_done; /* a later trace is taken in */

    enum profile_kind covered_kind; /* PROFILE_CPU, or the one given to profile_cover() */
    struct profile_coverage *coverage;
    size_t coverage_count;
};

/* The id of a thread that is met here (profile.c).  */
enum profile_status profile_find_owner(struct profile *profile, uint64_t process, uint64_t thread,
                                       uint32_t *out);

/* The thread's blocks of an age, of which there is no owner without the thread.  */
enum profile_status profile_find_aged(struct profile *profile, uint32_t thread, uint64_t age_ns,
                                      uint32_t *out);
static inline profile_id profile_owner_name(const struct profile *profile,
                                            const struct profile_owner *owner)
{
    return owner->base ? profile->threads[owner->base - 1].name : owner->name;
}
/* The least that an age stands for.  */
uint64_t profile_age_ns(uint8_t age);

/* The profile's part of heap sampling (profile_heap.c).  */
void profile_heap_take_sink(struct profile *profile, struct profile_sink *out);
/* The trace is over: final call sites.  */
enum profile_status profile_heap_take_callsites(struct profile *profile, const profile_id *final,
                                                uint32_t count);
void profile_heap_release(struct profile *profile);

/* The *count sample types that a kind has here, which is those of the table: no nanoseconds where
 * samples lack them.  The first is a count.  */
const struct profile_known_type *profile_types(const struct profile *profile,
                                               enum profile_kind kind, size_t *count);
/* Whether a thread stands for one: messages of the memory sampler need not say theirs.  */
static inline bool profile_knows_thread(enum profile_kind kind, const struct profile_owner *thread)
{
    return thread->koid != 0 || (kind != PROFILE_HEAP && kind != PROFILE_HEAP_FREE);
}

#endif /* PROFILE_AGGREGATE_H */
