/* sample_counters.h - dense counters, one for each call site, thread or process, that samples are
 * added to: by an SQL function, so that no row leaves SQLite, or from columns, without SQL.  */
#ifndef STORE_FUNCTIONS_SAMPLE_COUNTERS_H
#define STORE_FUNCTIONS_SAMPLE_COUNTERS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum of integers and reals: exact as long as there are only integers.  */
struct amount {
    sqlite3_int64 whole;
    double real;
};

void amount_add(struct amount *to, const struct amount *more);
bool amount_is_zero(const struct amount *amount);
double amount_number(const struct amount *amount);

enum sums_by { SUMS_BY_CALLSITE, SUMS_BY_THREAD, SUMS_BY_PROCESS };

struct sums {
    uint32_t count;        /* ids are 0..count */
    struct amount *n;      /* samples, allocations, slices */
    struct amount *values; /* of the sample type */
    bool n_is_real, values_are_real;
};

void sums_release(struct sums *sums);

/* What is added up, and where to.  */
struct counters {
    struct sums *sums;
    enum sums_by by;
    uint32_t callsite_count;
    const uint8_t *keep; /* bits of the call sites that count; NULL: all */
    bool counts;         /* values are how many there are */

    bool owner_is_thread;      /* owners are thread.id, else process.id */
    const uint8_t *owner_kept; /* [owner]: it counts; NULL: all do */
    uint32_t owner_count;
    const uint32_t *processes; /* [thread] */

    const int64_t *cpus; /* sorted; NULL: all */
    size_t cpu_count;
};

/* How counters are handed to the SQL function: sqlite3_bind_pointer().  */
#define COUNTERS_POINTER "fxt counters"

/* Register the function: fxt_add(counters, callsite, n, value [, owner [, cpu]]), an aggregate.
 * Returns SQLite's code.  */
int counters_register(sqlite3 *db);

struct columns_scanner;

/* CPU samples whose ids are in [first, limit).  */
struct counters_range {
    sqlite3_int64 first, limit;
    bool has_owners; /* only threads in [least_owner, most_owner] count */
    sqlite3_int64 least_owner, most_owner;
    sqlite3_int64 sample_type_id; /* only that type; 0: all */
};

/* Add up samples from the columns of a store.  *added is false if it has none: then the samples
 * are to be read from the table.  Returns SQLite's code.  */
int counters_add_columns(struct counters *counters, const struct columns_scanner *scanner,
                         const struct counters_range *range, bool *added);

#endif /* STORE_FUNCTIONS_SAMPLE_COUNTERS_H */
