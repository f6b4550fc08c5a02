/* live.c - the sampled blocks that are in use, by process and address.  */
#include <stdlib.h>

#include "base/index.h"
#include "libprofile/ingest/live.h"

#define FIRST_SLOTS ((size_t)256)

static size_t first_slot(const struct live_set *live, uint32_t process, uint64_t address)
{
    return (size_t)base_hash(address, process) & live->mask;
}

struct live_block *live_find(const struct live_set *live, uint32_t process, uint64_t address)
{
    if (!live->slots)
        return NULL;
    for (size_t at = first_slot(live, process, address);; at = (at + 1) & live->mask) {
        struct live_block *block = &live->slots[at];

        if (block->process_id == 0)
            return NULL;
        if (block->process_id == process && block->address == address)
            return block;
    }
}

static void put(struct live_set *live, const struct live_block *block)
{
    size_t at = first_slot(live, block->process_id, block->address);

    while (live->slots[at].process_id != 0)
        at = (at + 1) & live->mask;
    live->slots[at] = *block;
}

/* At most three quarters of the slots are taken.  */
static bool reserve(struct live_set *live)
{
    size_t count = live->slots ? live->mask + 1 : 0;
    struct live_set larger = { .count = live->count };

    if (live->slots && live->count < count / 4 * 3)
        return true;
    larger.mask = (count ? 2 * count : FIRST_SLOTS) - 1; /* MAX_LIVE_BLOCKS keeps it small */
    larger.slots = calloc(larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < count; i++)
        if (live->slots[i].process_id != 0)
            put(&larger, &live->slots[i]);
    free(live->slots);
    *live = larger;
    return true;
}

bool live_add(struct live_set *live, const struct live_block *block)
{
    if (!reserve(live))
        return false;
    put(live, block);
    live->count++;
    return true;
}

/* What stands behind the block, up to the next free slot, moves up if it may stand there: if its
 * own first slot does not lie between the gap and where it is.  */
void live_remove(struct live_set *live, struct live_block *block)
{
    size_t gap = (size_t)(block - live->slots);

    for (size_t at = (gap + 1) & live->mask; live->slots[at].process_id != 0;
         at = (at + 1) & live->mask) {
        size_t first = first_slot(live, live->slots[at].process_id, live->slots[at].address);

        if (((at - first) & live->mask) < ((at - gap) & live->mask))
            continue;
        live->slots[gap] = live->slots[at];
        gap = at;
    }
    live->slots[gap].process_id = 0;
    live->count--;
}

void live_release(struct live_set *live)
{
    free(live->slots);
    *live = (struct live_set){ .slots = NULL };
}
