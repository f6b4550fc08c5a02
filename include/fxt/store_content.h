/* store_content.h - what a store has samples and events of, and what they tell.
 *
 * The SQL functions, exports, reports and flame graphs ask here which sample type comes first,
 * which one a name means, and whether a filter is one that its samples can pass: so they agree.
 *
 *     struct store_sample_type type;
 *     if (store_sample_type_choose(connection, NULL, 0, &type) == SQLITE_OK && type.id)
 *         printf("%s in %s\n", type.type, type.unit);
 *     store_sample_type_release(&type);
 *
 * connection is one to a store, from store_sqlite() or another one; capture is capture.id, or 0 for
 * all.  What returns an int returns SQLITE_OK, or SQLite's code, for which sqlite3_errmsg() has
 * words; nothing then is an answer.  */
#ifndef STORE_CONTENT_H
#define STORE_CONTENT_H

#include <fxt/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What there is ---- */

/* Bits.  */
enum {
    STORE_HAS_CPU_SAMPLES = 1 << 0,      /* each tells a time and a thread */
    STORE_HAS_SAMPLED_CPUS = 1 << 1,     /* a CPU sample that tells its CPU */
    STORE_HAS_ALLOCATIONS = 1 << 2,      /* they tell no thread and no CPU */
    STORE_HAS_ALLOCATION_TIMES = 1 << 3, /* an allocation that tells its time */
    STORE_HAS_PROFILES = 1 << 4,         /* samples of imported profiles: no time, no CPU */
    STORE_HAS_PROFILED_THREADS = 1 << 5, /* a sample of a profile that tells its thread */
    STORE_HAS_SWITCHES = 1 << 6,         /* a thread had a CPU */
    STORE_HAS_WAITS = 1 << 7,            /* a thread had none */
    STORE_HAS_DURATIONS = 1 << 8,        /* slices; instants are none */
};

/* *found: those of wanted that are so.  */
STORE_API int store_has(struct sqlite3 *connection, int64_t capture, unsigned wanted,
                        unsigned *found);

/* ---- Sample types ---- */

/* The rows of traces that count for a type, beside imported profiles.  */
enum store_samples {
    STORE_SAMPLES_PROFILED = 0, /* none: profiles alone have it */
    STORE_SAMPLES_CPU = 1,
    STORE_SAMPLES_IN_USE = 2,
    STORE_SAMPLES_ALLOCATED = 3,
    STORE_SAMPLES_RELEASED = 4,
};

/* What a filter asks for.  */
enum {
    STORE_TELLS_CPU = 1 << 0,
    STORE_TELLS_TIME = 1 << 1,
    STORE_TELLS_THREAD = 1 << 2,
};

struct store_sample_type {
    int64_t id; /* sample_type.id; 0: none */
    const char *type, *unit;
    enum store_samples kind;
    bool there; /* in the captures that are looked at */
};

/* Whether wanted is "type" or "type/unit".  */
STORE_API bool store_sample_type_is(const char *wanted, const char *type, const char *unit);

/* Whether its values are those of events of the heap.  */
STORE_API bool store_samples_are_heap(enum store_samples kind);

/* A copy whose texts are the caller's.  False: no memory, and *out is all zero.  */
STORE_API bool store_sample_type_copy(struct store_sample_type *out,
                                      const struct store_sample_type *type);
STORE_API void store_sample_type_release(
    struct store_sample_type *type); /* accepts what is all zero */

/* Return false to stop.  */
typedef bool (*store_sample_type_fn)(void *context, const struct store_sample_type *type);

/* All types of the store, the one to be shown first first: those of traces before those of profiles
 * of that name, what a profile says it shows before what it does not.  Texts live during the call
 * of each.  */
STORE_API int store_sample_types_each(struct sqlite3 *connection, int64_t capture,
                                      store_sample_type_fn each, void *context);

/* The type called wanted, or, if that is NULL, any: the first that there are samples of.  Where
 * there are none of those called wanted, the first of these.  out->id is 0 if there is no such
 * type, or no sample.  Its texts are the caller's.  */
STORE_API int store_sample_type_choose(struct sqlite3 *connection, const char *wanted,
                                       int64_t capture, struct store_sample_type *out);

/* Whether any capture has samples of a type called wanted, or rows that could have been some:
 * allocations, of which none is in use.  Who asks for another one errs.  */
STORE_API int store_sample_type_is_known(struct sqlite3 *connection, const char *wanted, bool *out);

/* Whether any value of it is known, and not only how many there are: CPU samples of a capture
 * without a period have none.  */
STORE_API int store_sample_type_has_values(struct sqlite3 *connection,
                                           const struct store_sample_type *type, int64_t capture,
                                           bool *out);

/* The first of asked (STORE_TELLS_...) that no sample of the type tells, so that no sample can
 * pass: "a CPU", "a time", "a thread"; NULL: there is none, or there are no samples.  id 0 of
 * kind STORE_SAMPLES_PROFILED stands for all types of profiles.  */
STORE_API int store_sample_type_untold(struct sqlite3 *connection,
                                       const struct store_sample_type *type, int64_t capture,
                                       unsigned asked, const char **out);

#ifdef __cplusplus
}
#endif

#endif /* STORE_CONTENT_H */
