/* store_content.h - the kinds of samples and events in a store, and the properties that they
 * record.
 *
 * The SQL functions, exports, reports and flame graphs use this header to find which sample type
 * comes first, which type a name refers to, and whether samples can pass a filter at all, so that
 * their answers agree.
 *
 *     struct store_sample_type type;
 *     if (store_sample_type_choose(connection, NULL, 0, &type) == SQLITE_OK && type.type)
 *         printf("%s in %s\n", type.type, type.unit);
 *     store_sample_type_release(&type);
 *
 * connection is a connection to a store, from store_sqlite() or another one; capture is capture.id,
 * or 0 for all.  A function that returns an int returns SQLITE_OK or another SQLite code, for which
 * sqlite3_errmsg() has a message; there is no result then.  */
#ifndef STORE_CONTENT_H
#define STORE_CONTENT_H

#include <fxt/store.h>

#ifdef __cplusplus
extern "C" {
#endif

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
};

/* Set *found to those bits of wanted that apply.  */
STORE_API int store_has(struct sqlite3 *connection, int64_t capture, unsigned wanted,
                        unsigned *found);

/* ---- Sample types ---- */

/* The rows of traces that count for a type, in addition to imported profiles.  */
enum store_samples {
    STORE_SAMPLES_PROFILED = 0, /* none: only profiles have it */
    STORE_SAMPLES_CPU = 1,
    STORE_SAMPLES_IN_USE = 2,
    STORE_SAMPLES_ALLOCATED = 3,
    STORE_SAMPLES_RELEASED = 4,
};

/* The property that a filter needs.  */
enum {
    STORE_TELLS_CPU = 1 << 0,
    STORE_TELLS_TIME = 1 << 1,
    STORE_TELLS_THREAD = 1 << 2,
};

struct store_sample_type {
    const char *type, *unit; /* NULL: no such type */
    int64_t id;              /* sample_type.id of values of the type; 0: none */
    /* sample_type.id of the samples of traces that the type counts: that of cpu for "samples".  0:
     * it is not a count, or there are no traces.  */
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
 * (<fxt/profile_types.h> has the order).  Types of traces come before types of profiles with the
 * same name, and the default type of a profile before its other types.  Texts are valid during the
 * call of each.  */
STORE_API int store_sample_types_each(struct sqlite3 *connection, int64_t capture,
                                      store_sample_type_fn each, void *context);

/* Choose the type called wanted or, if wanted is NULL, any type: the first that has samples.  If no
 * type called wanted has samples, the first type with that name is chosen.  wanted may also be the
 * count of a type of traces: "samples" of cpu, "inuse_objects", ...  out->type is NULL if there is
 * no such type, or no sample.  The caller owns the texts.  */
STORE_API int store_sample_type_choose(struct sqlite3 *connection, const char *wanted,
                                       int64_t capture, struct store_sample_type *out);

/* Whether any capture has samples of a type called wanted, or rows that could have produced some,
 * such as allocations of which none is in use.  Requesting any other type is an error.  */
STORE_API int store_sample_type_is_known(struct sqlite3 *connection, const char *wanted, bool *out);

/* Whether any value of the type is known, and not only the number of samples: CPU samples of a
 * capture without a period have no values.  */
STORE_API int store_sample_type_has_values(struct sqlite3 *connection,
                                           const struct store_sample_type *type, int64_t capture,
                                           bool *out);

/* Find the first property of asked (STORE_TELLS_...) that no sample of the type has, so that no
 * sample can pass the filter: "CPU", "time", "thread"; NULL if there is none, or there are no
 * samples.  id 0 of kind STORE_SAMPLES_PROFILED means all types of profiles.  */
STORE_API int store_sample_type_untold(struct sqlite3 *connection,
                                       const struct store_sample_type *type, int64_t capture,
                                       unsigned asked, const char **out);

#ifdef __cplusplus
}
#endif

#endif /* STORE_CONTENT_H */
