/* profile_types.h - the table of sample types that profiles of traces have, and stores.
 *
 * Profiles, stores, exports, SQL functions, reports and comparisons all take names, units, scales
 * and the order of types from this table.  Profiles of other tools may have any other types.  */
#ifndef PROFILE_TYPES_H
#define PROFILE_TYPES_H

#include <fxt/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sampled blocks weigh fractions; whole numbers of small units add up and cancel exactly.  There is
 * room for 2^44 objects and 2^54 bytes; each block is off by less than a millionth of an object and
 * a thousandth of a byte.  */
#define PROFILE_OBJECT_UNITS (1u << 20)
#define PROFILE_BYTE_UNITS   (1u << 10)

struct profile_known_type {
    const char *type; /* "cpu" */
    const char *unit; /* "nanoseconds" */
    /* The profiles of traces that have it; PROFILE_KINDS: none, but those of other tools do, or the
     * heap's if struct profile_heap_options has its name.  */
    enum profile_kind kind;
    bool counts;    /* how many samples, allocations, ... the next row adds up */
    bool level;     /* what is in use at one time; all others are sums over the time of the trace */
    uint32_t units; /* amounts are whole numbers of 1/units: 1 or a power of two */
    unsigned rank;  /* where no other choice is made, the type with the lowest rank is shown */
};

/* The row with that index, from 0; NULL after the last one.  Rows of one kind follow one another in
 * the order in which profiles have them.  */
PROFILE_API const struct profile_known_type *profile_known_type_at(size_t index);

/* The rows of a kind, *count of them; NULL and 0 for PROFILE_KINDS.  */
PROFILE_API const struct profile_known_type *profile_known_types(enum profile_kind kind,
                                                                 size_t *count);

/* The first row of that name and, if unit is not NULL, that unit.  NULL: there is none.  */
PROFILE_API const struct profile_known_type *profile_known_type_find(const char *type,
                                                                     const char *unit);

/* The row that counts what the first row called type adds up: samples/count for "cpu" and for types
 * that are not in the table.  */
PROFILE_API const struct profile_known_type *profile_known_counter(const char *type);

/* The number of units that is nearest to an amount, which must not be negative.  At most 2^60, so
 * that a few can be added up.  */
static inline uint64_t profile_to_units(double amount, uint32_t units)
{
    amount *= units;
    return amount < 0x1p60 ? (uint64_t)(amount + 0.5) : (uint64_t)1 << 60;
}

/* A sum of units as people read it: rounded to whole numbers.  */
static inline uint64_t profile_from_units(uint64_t amount, uint32_t units)
{
    return amount / units + (amount % units >= units - units / 2);
}

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_TYPES_H */
