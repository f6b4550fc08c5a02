#include "libstore/functions/sample_counters.h"

#include "libstore/blocks/block_scan.h"
#include "libstore/functions/cpu_list.h"

void amount_add(struct amount *to, const struct amount *more)
{
    sqlite3_int64 sum;

    if (__builtin_add_overflow(to->whole, more->whole, &sum))
        to->real += (double)more->whole; /* sums beyond 63 bits are not exact */
    else
        to->whole = sum;
    to->real += more->real;
}

bool amount_is_zero(const struct amount *amount)
{
    return amount->whole == 0 && !(amount->real < 0 || amount->real > 0);
}

double amount_number(const struct amount *amount)
{
    return (double)amount->whole + amount->real;
}

void sums_release(struct sums *sums)
{
    sqlite3_free(sums->n);
    sqlite3_free(sums->values);
    *sums = (struct sums){ .count = 0 };
}

/* ---- Which counter ---- */

/* The counter that a sample of owner and call site belongs to; false: none.  */
static inline bool counter_of(const struct counters *counters, sqlite3_int64 callsite,
                              sqlite3_int64 owner, uint32_t *counter)
{
    sqlite3_int64 index = callsite;

    if (callsite < 0 || callsite > counters->callsite_count)
        return false;
    if (counters->keep && !(counters->keep[callsite >> 3] >> (callsite & 7) & 1))
        return false;
    if (counters->owner_kept &&
        (owner < 0 || owner > counters->owner_count || !counters->owner_kept[owner]))
        return false;
    if (counters->by != SUMS_BY_CALLSITE)
        index = owner;
    if (counters->by == SUMS_BY_PROCESS && counters->owner_is_thread) {
        if (owner < 0 || owner > counters->owner_count)
            return false;
        index = (sqlite3_int64)counters->processes[owner];
    }
    *counter = (uint32_t)index;
    return index >= 0 && index <= counters->sums->count;
}

/* ---- By SQL ---- */

static void add_value(struct amount *to, sqlite3_value *value, bool *is_real)
{
    struct amount more = { 0, 0 };

    if (sqlite3_value_type(value) == SQLITE_FLOAT) {
        more.real = sqlite3_value_double(value);
        *is_real = true;
    } else {
        more.whole = sqlite3_value_int64(value); /* 0 for NULL: a weight that is not known */
    }
    amount_add(to, &more);
}

static bool cpu_counts(const struct counters *counters, sqlite3_value *cpu)
{
    return !counters->cpus ||
           (sqlite3_value_type(cpu) != SQLITE_NULL &&
            cpu_list_has(counters->cpus, counters->cpu_count, sqlite3_value_int64(cpu)));
}

static void step_add(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct counters *counters = sqlite3_value_pointer(values[0], COUNTERS_POINTER);
    sqlite3_int64 owner = count > 4 ? sqlite3_value_int64(values[4]) : 0;
    uint32_t counter;

    (void)context;
    if (!counters || (count > 5 && !cpu_counts(counters, values[5])) ||
        !counter_of(counters, sqlite3_value_int64(values[1]), owner, &counter))
        return;
    add_value(&counters->sums->n[counter], values[2], &counters->sums->n_is_real);
    add_value(&counters->sums->values[counter], values[counters->counts ? 2 : 3],
              &counters->sums->values_are_real);
}

static void finish_add(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

int counters_register(sqlite3 *db)
{
    int code = SQLITE_OK;

    for (int arguments = 4; arguments <= 6 && code == SQLITE_OK; arguments++)
        code = sqlite3_create_function_v2(db, "fxt_add", arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                          NULL, NULL, step_add, finish_add, NULL);
    return code;
}

/* ---- From columns ---- */

/* Columns of cpu_sample, and the place of each among those that are read.  */
enum { SAMPLE_CPU = 1, SAMPLE_UTID, SAMPLE_CALLSITE, SAMPLE_WEIGHT, SAMPLE_TYPE };
enum { CALLSITE, WEIGHT, UTID, CPU, TYPE };

struct adding {
    struct counters *counters;
    const struct counters_range *range;
    bool has_types;
};

/* A number in place of NULL, which is what sqlite3_value_int64() gives.  */
static inline int64_t value_or_0(const struct block *block, unsigned row)
{
    return block_is_null(block, row) ? 0 : block_value(block, row);
}

/* As the conditions of the query say.  */
static inline bool is_wanted(const struct adding *adding, const struct block *blocks, unsigned row,
                             int64_t *owner)
{
    const struct counters *counters = adding->counters;

    if (counters->cpus) {
        if (block_is_null(&blocks[CPU], row) ||
            !cpu_list_has(counters->cpus, counters->cpu_count, block_value(&blocks[CPU], row)))
            return false;
    }
    if (adding->range->sample_type_id &&
        (block_is_null(&blocks[TYPE], row) ||
         block_value(&blocks[TYPE], row) != adding->range->sample_type_id))
        return false;
    *owner = 0;
    if (!adding->range->has_owners)
        return true;
    if (block_is_null(&blocks[UTID], row))
        return false;
    *owner = block_value(&blocks[UTID], row);
    return *owner >= adding->range->least_owner && *owner <= adding->range->most_owner;
}

static void add_rows(void *context, const struct columns_rows *rows)
{
    const struct adding *adding = context;
    const struct counters *counters = adding->counters;
    const struct block *blocks = rows->blocks;

    for (unsigned row = rows->from; row < rows->to; row++) {
        struct amount n = { 1, 0 }, value = { 1, 0 };
        uint32_t counter;
        int64_t owner;

        if (!is_wanted(adding, blocks, row, &owner) ||
            !counter_of(counters, value_or_0(&blocks[CALLSITE], row), owner, &counter))
            continue;
        if (!counters->counts)
            value.whole = value_or_0(&blocks[WEIGHT], row);
        amount_add(&counters->sums->n[counter], &n);
        amount_add(&counters->sums->values[counter], &value);
    }
}

int counters_add_columns(struct counters *counters, const struct columns_scanner *scanner,
                         const struct counters_range *range, bool *added)
{
    struct adding adding = { .counters = counters, .range = range };
    struct columns_scan scan = { .table = COLUMNS_SAMPLE,
                                 .first_id = range->first,
                                 .limit_id = range->limit,
                                 .columns = { [CALLSITE] = SAMPLE_CALLSITE,
                                              [WEIGHT] = SAMPLE_WEIGHT,
                                              [UTID] = SAMPLE_UTID,
                                              [CPU] = SAMPLE_CPU,
                                              [TYPE] = SAMPLE_TYPE },
                                 .count = 5,
                                 .wanted = 1u << CALLSITE };

    for (unsigned i = 0; i < scan.count; i++)
        scan.bounds[i] = (struct columns_bound){ INT64_MIN, INT64_MAX };
    if (!counters->counts)
        scan.wanted |= 1u << WEIGHT;
    if (range->has_owners) {
        scan.wanted |= 1u << UTID;
        scan.bounds[UTID] = (struct columns_bound){ range->least_owner, range->most_owner };
    }
    if (counters->cpus) {
        scan.wanted |= 1u << CPU;
        scan.bounds[CPU] = (struct columns_bound){ counters->cpus[0],
                                                   counters->cpus[counters->cpu_count - 1] };
    }
    if (range->sample_type_id) {
        scan.wanted |= 1u << TYPE;
        scan.bounds[TYPE] = (struct columns_bound){ range->sample_type_id, range->sample_type_id };
    }
    *added = false;
    return scanner->scan ? scanner->scan(scanner->store, &scan, add_rows, &adding, added)
                         : SQLITE_OK;
}
