/* segments.c - overlapping address ranges to disjoint segments that are found by bisection. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

/* More ranges than any table of an honest object has: hostile range lists are shared by many
 * DIEs and so multiply.  */
static const size_t RANGES_LIMIT = (size_t)1 << 24;

enum sym_status sym_ranges_add(struct sym_ranges *ranges, struct sym_range range)
{
    if (range.low >= range.high)
        return SYM_OK;
    if (ranges->count >= RANGES_LIMIT)
        return SYM_MALFORMED;
    if (!base_make_room(&ranges->items, &ranges->capacity, ranges->count + 1,
                        sizeof *ranges->items))
        return SYM_NO_MEMORY;
    ranges->items[ranges->count++] = range;
    return SYM_OK;
}

void sym_ranges_release(struct sym_ranges *ranges)
{
    base_free(ranges->items);
    *ranges = (struct sym_ranges){ 0 };
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Which of two ranges answers where both cover: > 0 for a.  */
static int compare_claim(const struct sym_range *a, const struct sym_range *b)
{
    int order = compare_u64(a->rank, b->rank);

    if (!order)
        order = compare_u64(a->low, b->low);
    if (!order)
        order = compare_u64(a->tie, b->tie);
    if (!order)
        order = compare_u64(a->value, b->value);
    return order;
}

static int compare_low(const void *a, const void *b)
{
    const struct sym_range *left = a, *right = b;
    int order = compare_u64(left->low, right->low);

    if (!order)
        order = compare_u64(left->high, right->high);
    return order ? order : compare_claim(left, right);
}

/* The ranges around the current address, the one that answers on top.  Those that ended stay until
 * they get there.  */
struct heap {
    const struct sym_range **items;
    size_t count;
};

static void heap_push(struct heap *heap, const struct sym_range *range)
{
    size_t at = heap->count++;

    while (at > 0 && compare_claim(range, heap->items[(at - 1) / 2]) > 0) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = range;
}

static void heap_pop(struct heap *heap)
{
    const struct sym_range *last = heap->items[--heap->count];
    size_t at = 0;

    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            compare_claim(heap->items[child + 1], heap->items[child]) > 0)
            child++;
        if (compare_claim(last, heap->items[child]) >= 0)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
}

static void emit(struct sym_segments *segments, size_t first, uint64_t start, uint32_t value)
{
    if (segments->count > first && segments->items[segments->count - 1].value == value)
        return;
    segments->items[segments->count++] = (struct sym_segment){ .start = start, .value = value };
}

/* One sweep over the starts and ends: O(n log n), however the ranges overlap.  */
static void sweep(struct sym_segments *out, const struct sym_ranges *ranges, struct heap *heap)
{
    uint64_t at = ranges->items[0].low;
    size_t next = 0, first = out->count;

    for (;;) {
        while (next < ranges->count && ranges->items[next].low == at)
            heap_push(heap, &ranges->items[next++]);
        while (heap->count && heap->items[0]->high <= at)
            heap_pop(heap);
        emit(out, first, at, heap->count ? heap->items[0]->value : SYM_NO_VALUE);
        if (!heap->count && next == ranges->count)
            break;
        at = heap->count ? heap->items[0]->high : ranges->items[next].low;
        if (next < ranges->count && ranges->items[next].low < at)
            at = ranges->items[next].low;
    }
}

/* Ranges that do not overlap, as those of most functions.  */
static void lay_out(struct sym_segments *out, const struct sym_ranges *ranges)
{
    size_t first = out->count;

    for (size_t i = 0; i < ranges->count; i++) {
        const struct sym_range *range = &ranges->items[i];
        emit(out, first, range->low, range->value);
        if (i + 1 == ranges->count || ranges->items[i + 1].low > range->high)
            emit(out, first, range->high, SYM_NO_VALUE);
    }
}

static void sort_ranges(struct sym_ranges *ranges)
{
    size_t i = 1;

    while (i < ranges->count && compare_low(&ranges->items[i - 1], &ranges->items[i]) <= 0)
        i++;
    if (i < ranges->count) /* compilers mostly write them in order */
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_low);
}

static bool overlap(const struct sym_ranges *ranges)
{
    for (size_t i = 1; i < ranges->count; i++)
        if (ranges->items[i].low < ranges->items[i - 1].high)
            return true;
    return false;
}

enum sym_status sym_segments_append(struct sym_segments *out, struct sym_ranges *ranges,
                                    struct sym_sweep *room)
{
    if (ranges->count == 0)
        return SYM_OK;
    /* Each turn of the sweep starts or ends at least one range.  RANGES_LIMIT keeps the sum far
     * from wrapping.  */
    if (!base_make_room(&out->items, &out->capacity, out->count + ranges->count * 2 + 1,
                        sizeof *out->items))
        return SYM_NO_MEMORY;
    sort_ranges(ranges);
    if (!overlap(ranges)) {
        lay_out(out, ranges);
        return SYM_OK;
    }
    if (!base_make_room(&room->heap, &room->capacity, ranges->count, sizeof(struct sym_range *)))
        return SYM_NO_MEMORY;
    struct heap heap = { .items = room->heap };
    sweep(out, ranges, &heap);
    return SYM_OK;
}

void sym_sweep_release(struct sym_sweep *room)
{
    base_free(room->heap);
    *room = (struct sym_sweep){ 0 };
}

enum sym_status sym_segments_build(struct sym_segments *out, struct sym_ranges *ranges)
{
    struct sym_sweep room = { 0 };
    enum sym_status status = sym_segments_append(out, ranges, &room);

    sym_sweep_release(&room);
    return status;
}

ptrdiff_t sym_segments_search(const struct sym_segment *items, size_t count, uint64_t vaddr,
                              ptrdiff_t near)
{
    size_t low = 0, high = count;

    if (near >= 0 && (size_t)near < count && items[near].start <= vaddr) {
        low = (size_t)near + 1;
        if (low == count || items[low].start > vaddr)
            return near;
    }
    /* The first segment that starts after vaddr.  */
    BASE_BISECT(low, high, i, items[i].start <= vaddr);
    return (ptrdiff_t)low - 1;
}

ptrdiff_t sym_segments_narrow(const struct sym_segment *items, size_t count, uint64_t vaddr,
                              ptrdiff_t near, struct sym_span *span)
{
    ptrdiff_t at = sym_segments_search(items, count, vaddr, near);

    if (at >= 0 && items[at].start > span->start)
        span->start = items[at].start;
    if ((size_t)(at + 1) < count && items[at + 1].start < span->limit)
        span->limit = items[at + 1].start;
    return at;
}

void sym_segments_release(struct sym_segments *segments)
{
    base_free(segments->items);
    *segments = (struct sym_segments){ 0 };
}
