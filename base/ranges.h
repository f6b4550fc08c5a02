/* ranges.h - a map of addresses: disjoint ranges, sorted by address.  A later range replaces what
 * it overlaps of earlier ones.  */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_range {
    uint64_t start, last; /* both included, because last may be the last address */
    uint64_t place;       /* of start in what is mapped: an offset, a vaddr */
    uint64_t owner;       /* number of what is mapped; 0 if there is only one */
};

/* All zero is empty.  */
struct base_ranges {
    struct base_range *items; /* owned; by address, disjoint */
    size_t count, capacity;
    size_t limit; /* of count; 0 none */
};

enum base_ranges_result {
    BASE_RANGES_ADDED,     /* it overlaps no other range */
    BASE_RANGES_REPLACED,  /* it replaces all or parts of earlier ranges */
    BASE_RANGES_UNCHANGED, /* its addresses had the same owner and places before */
    BASE_RANGES_FULL,      /* the limit may be exceeded; nothing changed */
    BASE_RANGES_NO_MEMORY, /* nothing changed */
};

/* Add a range, start <= last.  */
enum base_ranges_result base_ranges_add(struct base_ranges *ranges, const struct base_range *range);

/* The range that contains address, or NULL.  Valid until the map changes.  */
const struct base_range *base_ranges_find(const struct base_ranges *ranges, uint64_t address);

/* The index of the first range that ends at address or later; count if there is none.  */
size_t base_ranges_first(const struct base_ranges *ranges, uint64_t address);

/* Return whether every address that two ranges share has the same owner and place in both.  */
static inline bool base_ranges_agree(const struct base_range *a, const struct base_range *b)
{
    return a->owner == b->owner && a->place - a->start == b->place - b->start;
}

void base_ranges_release(struct base_ranges *ranges);

#endif /* BASE_RANGES_H */
