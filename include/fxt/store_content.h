/* store_content.h - the captures, samples and stacks in a store, the properties that they record,
 * and filters that select some of them.
 *
 * The SQL functions, exports, reports and flame graphs use this header to find which sample type
 * comes first, which type a name refers to, and whether samples can pass a filter at all, so that
 * their answers agree.
 *
 *     struct store_sample_type type;
 *     if (store_sample_type_choose(store, NULL, 0, &type, &error) == STORE_OK && type.type)
 *         printf("%s in %s\n", type.type, type.unit);
 *     store_sample_type_release(&type);
 *
 * capture is capture.id, or 0 for all.  Unless stated otherwise, functions return STORE_OK,
 * STORE_NO_MEMORY, STORE_IO, STORE_BUSY, STORE_CORRUPT or STORE_STOPPED; only STORE_OK comes with a
 * result.  */
#ifndef STORE_CONTENT_H
#define STORE_CONTENT_H

#include <fxt/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Filters ---- */

/* Selects samples and events; the members have the names of the arguments of the SQL functions
 * (docs/sql.md).  If all members but size are zero, everything is selected.  All pointers are
 * borrowed for the call.
 *
 * Patterns are those of in_stack(): a function matches if a part of it matches, inlined functions
 * included.  Lists are separated by commas.  A row without a CPU, a thread or a time does not match
 * a filter for that property.  */
struct store_filter {
    size_t size; /* sizeof(struct store_filter) */
    /* sample_type.type or "type/unit": "cpu", "alloc_space/bytes".  "samples" are the numbers of
     * CPU samples; "alloc_objects", "inuse_objects" and "free_objects" those of allocations.  NULL:
     * the first type in the store of cpu (samples without a period), inuse_space, alloc_space, and
     * others; for pprof: all types; for a store without samples: none.  */
    const char *sample_type;
    const char *focus;         /* only stacks with a match */
    const char *ignore;        /* no stacks with a match */
    const char *hide;          /* leave matches out of stacks */
    const char *show_from;     /* stacks begin at the outermost match; stacks without a match are
                                * left out */
    bool has_from, has_limit;  /* the two below are used */
    int64_t from_ts, limit_ts; /* [from, limit); for free_space: of the release */
    const char *pids;          /* process.pid */
    const char *tids;          /* thread.tid */
    const char *comms;         /* names of threads; of processes if there is no thread */
    const char *cpus;
    int64_t capture; /* capture.id; 0: all */
};

/* Bits: the members of a filter.  */
enum {
    STORE_FILTER_STACK = 1 << 0,   /* focus, ignore */
    STORE_FILTER_SHAPE = 1 << 1,   /* hide, show_from */
    STORE_FILTER_TIME = 1 << 2,    /* has_from, has_limit */
    STORE_FILTER_PROCESS = 1 << 3, /* pids */
    STORE_FILTER_THREAD = 1 << 4,  /* tids */
    STORE_FILTER_COMM = 1 << 5,    /* comms */
    STORE_FILTER_CPU = 1 << 6,     /* cpus */
    STORE_FILTER_ALL = (1 << 7) - 1,
};

/* The bits of the members that select anything.  */
STORE_API unsigned store_filter_given(const struct store_filter *filter);

/* ---- Contents ---- */

/* Bits.  */
enum {
    STORE_HAS_CPU_SAMPLES = 1 << 0,      /* each has a time and a thread */
    STORE_HAS_SAMPLED_CPUS = 1 << 1,     /* a CPU sample that has a CPU */
    STORE_HAS_ALLOCATIONS = 1 << 2,      /* they have no thread and no CPU */
    STORE_HAS_ALLOCATION_TIMES = 1 << 3, /* an allocation that has a time */
    STORE_HAS_PROFILES = 1 << 4,         /* samples of imported profiles: no time, no CPU */
    STORE_HAS_PROFILED_THREADS = 1 << 5, /* a sample of a profile that has a thread */
    STORE_HAS_SWITCHES = 1 << 6,         /* a thread had a CPU */
    STORE_HAS_WAITS = 1 << 7,            /* a thread had none */
    STORE_HAS_DURATIONS = 1 << 8,        /* slices; instants are none */
    STORE_HAS_CPU_TIME = 1 << 9,         /* a CPU sample that no event was the cause of */
};

/* Set *found to those bits of wanted that apply.  */
STORE_API enum store_status store_has(struct store *store, int64_t capture, unsigned wanted,
                                      unsigned *found, struct store_error *error);

/* The time that captures cover.  */
struct store_span {
    uint64_t captures;        /* that were selected: 0 if there is no such capture */
    uint64_t timed;           /* of these: captures with times */
    uint64_t profiles;        /* of these: imported profiles, which have no times */
    int64_t start_ts, end_ts; /* from the first to the last of all; 0 if timed is 0 */
};

STORE_API enum store_status store_span(struct store *store, int64_t capture, struct store_span *out,
                                       struct store_error *error);

/* ---- Captures ---- */

/* Texts are NULL if they are unknown, and are never empty otherwise.  */
struct store_capture {
    int64_t id;          /* capture.id */
    const char *name;    /* of the imported file, without folders */
    const char *command; /* the command line of the captured program */
    const char *arch, *kernel, *cpu_model;
    const char *commit; /* its label "commit", store_set_label() */
    int64_t period_ns;  /* between two CPU samples; 0: unknown */
};

/* Return false to stop.  */
typedef bool (*store_capture_fn)(void *context, const struct store_capture *capture);

/* Call each for the selected captures, in the order of their ids.  Texts are valid during the
 * call.  */
STORE_API enum store_status store_captures_each(struct store *store, int64_t capture,
                                                store_capture_fn each, void *context,
                                                struct store_error *error);

/* ---- Stacks ---- */

/* What the things of a store are in a struct profile_stacks: that of id i is at [i - 1].  */
struct store_stacks {
    profile_id *modules, *frames, *callsites;
    size_t module_count, frame_count, callsite_count;
};

/* Add the modules, frames and call sites of a store to stacks.  With names, frames with an address
 * get the functions that the store has for them; without, they have no lines, and all frames that
 * only imported profiles have become one.  Returns STORE_OK, STORE_CORRUPT, STORE_LIMIT, STORE_IO
 * or STORE_NO_MEMORY; *out is empty on failure.  */
STORE_API enum store_status store_load_stacks(struct store *store, struct profile_stacks *stacks,
                                              bool names, struct store_stacks *out,
                                              struct store_error *error);
STORE_API void store_stacks_release(struct store_stacks *stacks); /* accepts an all-zero struct */

/* ---- Sample types ---- */

/* The rows of traces that count for a type, in addition to imported profiles.  */
enum store_samples {
    STORE_SAMPLES_PROFILED = 0, /* none: only profiles have it */
    STORE_SAMPLES_CPU = 1, /* those of table cpu_sample that have the type: CPU time, or an event */
    STORE_SAMPLES_IN_USE = 2,
    STORE_SAMPLES_ALLOCATED = 3,
    STORE_SAMPLES_RELEASED = 4,
};

struct store_sample_type {
    const char *type, *unit; /* NULL: no such type */
    int64_t id;              /* sample_type.id of values of the type; 0: none */
    /* sample_type.id of the samples of traces that the type counts: that of cpu for "samples",
     * which counts those of events, too.  0: it is not a count, or there are no traces.  */
    int64_t counted_id;
    enum store_samples kind;
    bool there; /* in the selected captures */
};

/* Whether wanted is "type" or "type/unit".  */
STORE_API bool store_sample_type_is(const char *wanted, const char *type, const char *unit);

/* Whether the values are those of heap events.  */
STORE_API bool store_samples_are_heap(enum store_samples kind);

/* Make a copy whose texts the caller owns.  Returns false if there is no memory; *out is then all
 * zero.  */
STORE_API bool store_sample_type_copy(struct store_sample_type *out,
                                      const struct store_sample_type *type);
STORE_API void store_sample_type_release(
    struct store_sample_type *type); /* accepts an all-zero struct */

/* Return false to stop.  */
typedef bool (*store_sample_type_fn)(void *context, const struct store_sample_type *type);

/* Call each for all types with values in the store, beginning with the default type
 * (<fxt/profile_types.h> has the order; events come after CPU time, in the order of their trace).
 * Types of traces come before types of profiles with the
 * same name, and the default type of a profile before its other types.  Texts are valid during the
 * call of each.  */
STORE_API enum store_status store_sample_types_each(struct store *store, int64_t capture,
                                                    store_sample_type_fn each, void *context,
                                                    struct store_error *error);

/* Choose the type called wanted or, if wanted is NULL, any type: the first that has samples.  If no
 * type called wanted has samples, the first type with that name is chosen.  wanted may also be the
 * count of a type of traces: "samples" of cpu, "inuse_objects", ...  out->type is NULL if there is
 * no such type, or no sample.  The caller owns the texts.  */
STORE_API enum store_status store_sample_type_choose(struct store *store, const char *wanted,
                                                     int64_t capture, struct store_sample_type *out,
                                                     struct store_error *error);

/* Set *out to whether any value of the type is known, and not only the number of samples: samples
 * of CPU time without a sampling interval have no values.  */
STORE_API enum store_status store_sample_type_has_values(struct store *store,
                                                         const struct store_sample_type *type,
                                                         int64_t capture, bool *out,
                                                         struct store_error *error);

/* Whether any capture has samples of a type called wanted, or rows that could have produced some,
 * such as allocations of which none is in use.  Requesting any other type is an error.  */
STORE_API enum store_status store_sample_type_is_known(struct store *store, const char *wanted,
                                                       bool *out, struct store_error *error);

/* Find the first property which the filters (STORE_FILTER_CPU, _TIME, _THREAD; others are ignored)
 * need and no sample of the type has, so that no sample can pass: "CPU", "time", "thread";
 * NULL if there is none, or there are no samples.  */
STORE_API enum store_status store_sample_type_missing(struct store *store,
                                                      const struct store_sample_type *type,
                                                      int64_t capture, unsigned filters,
                                                      const char **out, struct store_error *error);

/* ---- Costs ---- */

/* The samples of a type whose stacks end at one call site.  */
struct store_cost {
    int64_t callsite_id; /* callsite.id; 0: the empty stack */
    double samples;
    double value; /* 0 if it is unknown */
};

/* Return false to stop.  */
typedef bool (*store_cost_fn)(void *context, const struct store_cost *cost);

/* Call each for the call sites at which samples of the type, or samples that the type counts, were
 * taken: once for each of the selected captures, in no particular order.  */
STORE_API enum store_status store_costs_each(struct store *store, int64_t capture,
                                             const struct store_sample_type *type,
                                             store_cost_fn each, void *context,
                                             struct store_error *error);

/* A function in the tree of calls, below its caller.  */
struct store_call {
    uint32_t depth;       /* 0: the root, all samples */
    const char *function; /* never NULL */
    const char *module;   /* "" if it is unknown or there are several */
    double self;          /* in the unit of the sample type, without what it calls */
};

/* Return false to stop.  */
typedef bool (*store_call_fn)(void *context, const struct store_call *call);

/* Call each for the tree of calls of the samples that pass the filter, from callers to callees, the
 * callee with the highest cost first.  filter->sample_type may be NULL as in every filter.  Texts
 * are valid during the call.  The store must have the SQL functions (store_add_functions()).
 * Returns also STORE_INVALID: a pattern of the filter is wrong.  */
STORE_API enum store_status store_calls_each(struct store *store, const struct store_filter *filter,
                                             store_call_fn each, void *context,
                                             struct store_error *error);

/* A function in the file that holds most of its lines, and the lowest of them.  */
struct store_definition {
    const char *function, *module; /* module: "" if it is unknown */
    const char *file;
    int64_t line; /* 0: unknown */
};

/* Return false to stop.  */
typedef bool (*store_definition_fn)(void *context, const struct store_definition *definition);

/* Call each for the functions whose source files are known.  A function that has lines in several
 * files, such as an overloaded one, comes once for each, the file with most lines first.  Texts are
 * valid during the call.  */
STORE_API enum store_status store_definitions_each(struct store *store, store_definition_fn each,
                                                   void *context, struct store_error *error);

#ifdef __cplusplus
}
#endif

#endif /* STORE_CONTENT_H */
