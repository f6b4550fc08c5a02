/* order.c - records that wait for others of an earlier time.
 *
 * perf reads the rings of the CPUs one after the other, and writes a round's end when it has read
 * all of them.  What comes after that end is later than what came before the end before: so at each
 * end, what is not later than the latest record of the round before goes on.  */
#include <stdlib.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

#define BLOCK_BYTES ((size_t)256 << 10)

struct perf_block {
    struct perf_block *next;
    size_t used;
    size_t live; /* records that are still borrowed or wait */
    uint8_t bytes[];
};

/* A block with room for size bytes.  */
static struct perf_block *block_for(struct perf_order *order, size_t size)
{
    struct perf_block *block = order->blocks;

    if (block && size <= BLOCK_BYTES - block->used)
        return block;
    block = order->free;
    if (block)
        order->free = block->next;
    else
        block = malloc(sizeof *block + BLOCK_BYTES);
    if (!block)
        return NULL;
    block->used = block->live = 0;
    block->next = order->blocks;
    order->blocks = block;
    return block;
}

bool perf_order_add(struct perf_order *order, uint64_t time_ns, uint64_t offset,
                    const uint8_t *bytes, size_t size)
{
    struct perf_waiting *items = base_grow(order->items, &order->capacity, order->count + 1,
                                           sizeof *items);
    struct perf_block *block;

    if (!items)
        return false;
    order->items = items;
    block = block_for(order, size);
    if (!block)
        return false;
    memcpy(block->bytes + block->used, bytes, size);
    items[order->count++] = (struct perf_waiting){ .time_ns = time_ns,
                                                   .ordinal = order->ordinal++,
                                                   .offset = offset,
                                                   .bytes = block->bytes + block->used,
                                                   .size = (uint32_t)size,
                                                   .block = block };
    block->used += (size + 7) & ~(size_t)7;
    block->live++;
    order->bytes += size + sizeof *items;
    if (time_ns > order->latest_ns)
        order->latest_ns = time_ns;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct perf_waiting *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->ordinal < y->ordinal ? -1 : 1;
}

static void sort(struct perf_order *order)
{
    for (size_t i = 1; i < order->count; i++)
        if (order->items[i].time_ns < order->items[i - 1].time_ns) {
            qsort(order->items, order->count, sizeof *order->items, compare);
            return;
        }
}

/* What is not later than limit_ns goes on.  */
static void drain(struct perf_order *order, uint64_t limit_ns)
{
    sort(order);
    order->drained = order->to_drain = 0;
    while (order->to_drain < order->count && order->items[order->to_drain].time_ns <= limit_ns)
        order->to_drain++;
}

void perf_order_round(struct perf_order *order)
{
    if (order->has_round)
        drain(order, order->round_ns);
    order->has_round = true;
    order->round_ns = order->latest_ns;
}

void perf_order_half(struct perf_order *order)
{
    sort(order);
    order->drained = 0;
    order->to_drain = (order->count + 1) / 2;
}

void perf_order_finish(struct perf_order *order)
{
    drain(order, UINT64_MAX);
}

bool perf_order_next(struct perf_order *order, struct perf_waiting *out)
{
    if (order->drained == order->to_drain) {
        order->count -= order->drained;
        if (order->drained > 0 && order->count > 0)
            memmove(order->items, order->items + order->drained,
                    order->count * sizeof *order->items);
        order->drained = order->to_drain = 0;
        return false;
    }
    *out = order->items[order->drained++];
    return true;
}

/* Blocks of which nothing is used any more are filled again.  */
static void reuse_block(struct perf_order *order, struct perf_block *unused)
{
    struct perf_block **link = &order->blocks;

    if (unused == order->blocks) {
        unused->used = 0;
        return;
    }
    while (*link != unused)
        link = &(*link)->next;
    *link = unused->next;
    unused->next = order->free;
    order->free = unused;
}

void perf_order_give_back(struct perf_order *order, const struct perf_waiting *waiting)
{
    order->bytes -= waiting->size + sizeof *waiting;
    if (--waiting->block->live == 0)
        reuse_block(order, waiting->block);
}

static void free_blocks(struct perf_block *block)
{
    while (block) {
        struct perf_block *next = block->next;

        free(block);
        block = next;
    }
}

void perf_order_release(struct perf_order *order)
{
    free_blocks(order->blocks);
    free_blocks(order->free);
    free(order->items);
    *order = (struct perf_order){ .items = NULL };
}
