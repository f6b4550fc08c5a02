/* segments.c - overlapping address ranges to disjoint segments that are found by bisection. */
#include "libsymbolize/internal.h"
#include <stdlib.h>

/* More ranges than any table of an honest object has: hostile range lists are shared by many
 * DIEs and so multiply.  */
static const size_t RANGES_LIMIT = (size_t)1 << 24;

enum sym_status sym_ranges_add(struct sym_ranges *ranges, struct sym_range range)
{
    if (range.low >= range.high)
        return SYM_OK;
    if (ranges->count >= RANGES_LIMIT)
        return SYM_MALFORMED;
    struct sym_range *items = sym_grow(ranges->items, &ranges->capacity, ranges->count,
                                       sizeof *items);
    if (!items)
        return SYM_NO_MEMORY;
    ranges->items = items;
    items[ranges->count++] = range;
    return SYM_OK;
}

void sym_ranges_release(struct sym_ranges *ranges)
{
    free(ranges->items);
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

static void segments_emit(struct sym_segments *segments, uint64_t start, uint32_t value)
{
    if (segments->count && segments->items[segments->count - 1].value == value)
        return;
    segments->items[segments->count++] = (struct sym_segment){ .start = start, .value = value };
}

/* One sweep over the starts and ends: O(n log n), however the ranges overlap.  */
static void sweep(struct sym_segments *out, const struct sym_ranges *ranges, struct heap *heap)
{
    uint64_t at = ranges->items[0].low;
    size_t next = 0;

    for (;;) {
        while (next < ranges->count && ranges->items[next].low == at)
            heap_push(heap, &ranges->items[next++]);
        while (heap->count && heap->items[0]->high <= at)
            heap_pop(heap);
        segments_emit(out, at, heap->count ? heap->items[0]->value : SYM_NO_VALUE);
        if (!heap->count && next == ranges->count)
            break;
        at = heap->count ? heap->items[0]->high : ranges->items[next].low;
        if (next < ranges->count && ranges->items[next].low < at)
            at = ranges->items[next].low;
    }
}

enum sym_status sym_segments_build(struct sym_segments *out, struct sym_ranges *ranges)
{
    struct heap heap = { 0 };

    if (ranges->count == 0)
        return SYM_OK;
    qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_low);
    heap.items = calloc(ranges->count, sizeof(struct sym_range *));
    /* Each turn of the sweep starts or ends at least one range.  */
    out->items = calloc(ranges->count * 2 + 1, sizeof *out->items);
    if (!heap.items || !out->items) {
        free(heap.items);
        return SYM_NO_MEMORY;
    }
    sweep(out, ranges, &heap);
    free(heap.items);
    return SYM_OK;
}

uint32_t sym_segments_find(const struct sym_segments *segments, uint64_t vaddr)
{
    size_t low = 0, high = segments->count;

    while (low < high) { /* the first segment that starts behind vaddr */
        size_t middle = low + (high - low) / 2;
        if (segments->items[middle].start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? segments->items[low - 1].value : SYM_NO_VALUE;
}

void sym_segments_release(struct sym_segments *segments)
{
    free(segments->items);
    *segments = (struct sym_segments){ 0 };
}
