/* order.c - records that wait for others of an earlier time.
 *
 * perf reads the rings of the CPUs one after the other, and writes a round's end when it has read
 * all of them.  What comes after that end is later than what came before the end before: so at each
 * end, what is not later than the latest record of the round before goes on.
 *
 * The records of one ring are in order.  So what waits is a few runs, which are merged as it goes
 * on; nothing is sorted.  Of two records of one time the earlier in the file goes first.  */
#include <stdlib.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

/* ---- Blocks ---- */

struct perf_block *perf_block_take(struct perf_blocks *blocks)
{
    struct perf_block *block = blocks->free;

    if (block)
        blocks->free = block->next;
    else
        block = malloc(sizeof *block);
    if (!block)
        return NULL;
    block->next = NULL;
    block->users = 1;
    blocks->given++;
    return block;
}

void perf_block_drop(struct perf_blocks *blocks, struct perf_block *block)
{
    if (!block || --block->users > 0)
        return;
    block->next = blocks->free;
    blocks->free = block;
    blocks->given--;
}

void perf_blocks_release(struct perf_blocks *blocks)
{
    while (blocks->free) {
        struct perf_block *next = blocks->free->next;

        free(blocks->free);
        blocks->free = next;
    }
}

/* ---- Adding ---- */

/* A copy of bytes that are in no block.  */
static const uint8_t *copy(struct perf_order *order, const uint8_t *bytes, size_t size)
{
    uint8_t *to;

    if (!order->filled || size > PERF_BLOCK_BYTES - order->used) {
        struct perf_block *block = perf_block_take(order->blocks);

        if (!block)
            return NULL;
        perf_block_drop(order->blocks, order->filled);
        order->filled = block;
        order->used = 0;
    }
    to = order->filled->bytes + order->used;
    memcpy(to, bytes, size);
    order->used += (size + 7) & ~(size_t)7;
    return to;
}

/* The run that the next record is added to: the last one, or a new one.  */
static struct perf_run *run_for(struct perf_order *order, uint64_t time_ns)
{
    struct perf_run *last;

    if (order->is_open) {
        last = &order->runs[order->run_count - 1];
        if (time_ns >= order->items[last->limit - 1].time_ns)
            return last;
    }
    if (!base_make_room(&order->runs, &order->run_capacity, order->run_count + 1,
                        sizeof *order->runs))
        return NULL;
    last = &order->runs[order->run_count++];
    *last = (struct perf_run){ time_ns, order->count, order->count };
    order->is_open = true;
    return last;
}

bool perf_order_add(struct perf_order *order, uint64_t time_ns, uint64_t offset,
                    const uint8_t *bytes, size_t size, struct perf_block *block)
{
    struct perf_run *run;

    if (!base_make_room(&order->items, &order->capacity, order->count + 1, sizeof *order->items))
        return false;
    if (!block) {
        bytes = copy(order, bytes, size);
        block = order->filled;
    }
    run = bytes ? run_for(order, time_ns) : NULL;
    if (!run)
        return false;
    order->items[order->count++] = (struct perf_waiting){
        .time_ns = time_ns, .offset = offset, .bytes = bytes, .size = (uint32_t)size, .block = block
    };
    run->limit = order->count;
    block->users++;
    order->bytes += size + sizeof *order->items;
    order->waiting++;
    if (time_ns > order->latest_ns)
        order->latest_ns = time_ns;
    return true;
}

/* ---- Merging ---- */

static inline bool run_before(const struct perf_run *a, const struct perf_run *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->next < b->next;
}

/* The runs are a heap but for the one at this place.  */
static void sift_down(struct perf_order *order, size_t at)
{
    struct perf_run moving = order->runs[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= order->run_count)
            break;
        if (child + 1 < order->run_count &&
            run_before(&order->runs[child + 1], &order->runs[child]))
            child++;
        if (run_before(&moving, &order->runs[child]))
            break;
        order->runs[at] = order->runs[child];
        at = child;
    }
    order->runs[at] = moving;
}

/* At most most records that are not later than limit_ns go on.  */
static void drain(struct perf_order *order, uint64_t limit_ns, size_t most)
{
    order->is_draining = order->waiting > 0;
    order->limit_ns = limit_ns;
    order->left = most;
    for (size_t i = order->run_count / 2; i-- > 0;)
        sift_down(order, i);
}

static int by_place(const void *a, const void *b)
{
    const struct perf_run *x = a, *y = b;

    return x->next < y->next ? -1 : 1;
}

/* The rest waits.  It moves to the front, in the order in which it came.  */
static void stop(struct perf_order *order)
{
    size_t count = 0;

    qsort(order->runs, order->run_count, sizeof *order->runs, by_place);
    for (size_t i = 0; i < order->run_count; i++) {
        struct perf_run *run = &order->runs[i];
        size_t length = run->limit - run->next;

        memmove(order->items + count, order->items + run->next, length * sizeof *order->items);
        run->next = count;
        run->limit = count += length;
    }
    order->count = count;
    order->is_open = false;
    order->is_draining = false;
}

void perf_order_round(struct perf_order *order)
{
    if (order->has_round)
        drain(order, order->round_ns, SIZE_MAX);
    order->has_round = true;
    order->round_ns = order->latest_ns;
}

void perf_order_half(struct perf_order *order)
{
    drain(order, UINT64_MAX, (order->waiting + 1) / 2);
}

void perf_order_finish(struct perf_order *order)
{
    drain(order, UINT64_MAX, SIZE_MAX);
}

bool perf_order_next(struct perf_order *order, struct perf_waiting *out)
{
    struct perf_run *run = order->runs;

    if (!order->is_draining)
        return false;
    if (order->left == 0 || order->waiting == 0 || run->time_ns > order->limit_ns) {
        stop(order);
        return false;
    }
    *out = order->items[run->next++];
    order->left--;
    order->waiting--;
    if (run->next == run->limit)
        *run = order->runs[--order->run_count];
    else
        run->time_ns = order->items[run->next].time_ns;
    sift_down(order, 0);
    return true;
}

void perf_order_give_back(struct perf_order *order, const struct perf_waiting *waiting)
{
    order->bytes -= waiting->size + sizeof *waiting;
    perf_block_drop(order->blocks, waiting->block);
}

bool perf_order_is_full(const struct perf_order *order)
{
    /* Blocks of which little is used count, too.  */
    return order->bytes > order->limit ||
           order->blocks->given / 2 > order->limit / PERF_BLOCK_BYTES + 2;
}

void perf_order_release(struct perf_order *order)
{
    struct perf_waiting waiting;

    perf_order_finish(order);
    while (perf_order_next(order, &waiting))
        perf_order_give_back(order, &waiting);
    perf_block_drop(order->blocks, order->filled);
    free(order->items);
    free(order->runs);
    *order = (struct perf_order){ .items = NULL };
}
