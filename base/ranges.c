#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/bisect.h"
#include "base/grow.h"

size_t base_ranges_first(const struct base_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;

    BASE_BISECT(low, high, i, ranges->items[i].last < address);
    return low;
}

const struct base_range *base_ranges_find(const struct base_ranges *ranges, uint64_t address)
{
    size_t first = base_ranges_first(ranges, address);

    return first < ranges->count && ranges->items[first].start <= address ? &ranges->items[first]
                                                                          : NULL;
}

/* Put count pieces in the place of the ranges of [first, limit); there is room.  */
static void splice(struct base_ranges *ranges, size_t first, size_t limit,
                   const struct base_range *pieces, size_t count)
{
    memmove(ranges->items + first + count, ranges->items + limit,
            (ranges->count - limit) * sizeof *pieces);
    memcpy(ranges->items + first, pieces, count * sizeof *pieces);
    ranges->count = ranges->count - (limit - first) + count;
}

/* Replace the ranges of [first, limit) by range and what it leaves of the first and the last.  */
static void lay_over(struct base_ranges *ranges, size_t first, size_t limit,
                     const struct base_range *range)
{
    struct base_range pieces[3];
    size_t count = 0;

    if (first < limit && ranges->items[first].start < range->start) {
        pieces[count] = ranges->items[first];
        pieces[count++].last = range->start - 1;
    }
    pieces[count++] = *range;
    if (first < limit && ranges->items[limit - 1].last > range->last) {
        struct base_range *rest = &pieces[count++];

        *rest = ranges->items[limit - 1];
        rest->place += range->last + 1 - rest->start;
        rest->start = range->last + 1;
    }
    splice(ranges, first, limit, pieces, count);
}

enum base_ranges_result base_ranges_add(struct base_ranges *ranges, const struct base_range *range)
{
    size_t first = base_ranges_first(ranges, range->start), limit = first;

    while (limit < ranges->count && ranges->items[limit].start <= range->last)
        limit++;
    if (first < limit && ranges->items[first].start <= range->start &&
        ranges->items[first].last >= range->last && base_ranges_agree(&ranges->items[first], range))
        return BASE_RANGES_UNCHANGED;
    if (ranges->limit && ranges->count + 2 > ranges->limit)
        return BASE_RANGES_FULL;
    /* If it lies inside another range, one range becomes three.  */
    if (!base_make_room(&ranges->items, &ranges->capacity, ranges->count + 2, sizeof *range))
        return BASE_RANGES_NO_MEMORY;
    lay_over(ranges, first, limit, range);
    return first < limit ? BASE_RANGES_REPLACED : BASE_RANGES_ADDED;
}

void base_ranges_release(struct base_ranges *ranges)
{
    base_free(ranges->items);
    *ranges = (struct base_ranges){ .limit = ranges->limit };
}
