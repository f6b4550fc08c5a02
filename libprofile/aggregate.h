/* aggregate.h - what a struct profile holds.  Private to libprofile; the codecs read it.  */
#ifndef PROFILE_AGGREGATE_H
#define PROFILE_AGGREGATE_H

#include "libprofile/internal.h"

/* Values of one stack in one thread.  */
struct profile_value {
    profile_id callsite;
    uint32_t thread; /* struct profile_owner: id */
    uint64_t count;  /* samples, spans */
    uint64_t ns;     /* cpu time, wall time */
};

/* One kind's values, ids 1..count in order of meeting.  */
struct profile_values {
    struct profile_value *items;
    size_t count, capacity;
    struct profile_index index;

    uint64_t samples;   /* sum of all counts */
    uint64_t unweighed; /* of them without nanoseconds */
    uint64_t stacks;    /* distinct call sites; counted at the end of each trace */

    /* Over all traces, as pprof merges: earliest start, durations added up.  0: unknown.  */
    int64_t time_ns; /* Unix time */
    uint64_t duration_ns;

    /* Of the trace being taken in.  */
    int64_t first_ns, last_ns;
    bool has_first;
};

struct profile_owner_process {
    uint64_t koid;
    profile_id name;
};

struct profile_owner {
    uint64_t process; /* koid */
    uint64_t koid;
    uint32_t process_id; /* id of the process */
    profile_id name;
};

/* Where a module lies, for pprof's mappings.  The range of module-relative addresses covers all its
 * mappings; start is where the process that was met first has the range's first byte.  */
struct profile_place {
    uint64_t vaddr, last; /* module-relative, both included */
    uint64_t bias;        /* address - vaddr in the first mapping, modulo 2^64 */
    uint64_t file_offset; /* of vaddr */
    bool has_file_offset;
    bool mapped;
    uint64_t process; /* koid; who mapped it first */
};

struct profile {
    struct profile_stacks *stacks;
    struct profile_values values[PROFILE_KINDS];
    struct profile_values pending; /* CPU samples of this trace with provisional call sites */
    struct profile_loss loss;

    struct profile_owner_process *processes;
    size_t process_count, process_capacity;
    struct profile_index process_index;
    struct profile_owner *threads;
    size_t thread_count, thread_capacity;
    struct profile_index thread_index;
    uint32_t last_thread; /* found last: most calls repeat it */

    struct profile_place *places; /* of module id at [id - 1] */
    size_t place_count, place_capacity;

    uint64_t period_ns; /* the largest of all traces */
    profile_id command; /* first word of the first command */
    bool has_clock;     /* of the trace being taken in: Unix time - timestamp is clock_ns */
    int64_t clock_ns;

    char *kernel_symbols; /* of the first trace that has any */
    size_t kernel_symbols_size, kernel_symbols_capacity;
    bool kernel_symbols_done; /* a later trace is taken in */

    struct profile_coverage *coverage;
    size_t coverage_count;
};

/* Names of a kind's sample types.  */
struct profile_type {
    const char *type;
    const char *unit;
};

/* How many sample types a kind has here, 1 or 2: no nanoseconds where samples lack them.  The first
 * is the count.  */
size_t profile_types(const struct profile *profile, enum profile_kind kind,
                     struct profile_type types[2]);
/* The value of type index.  */
uint64_t profile_value_of(const struct profile_value *value, size_t type);

#endif /* PROFILE_AGGREGATE_H */
