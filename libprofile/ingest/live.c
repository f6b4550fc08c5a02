/* live.c - the sampled blocks that are in use, by process and address.  */
#include <stdlib.h>

#include "base/grow.h"
#include "libprofile/ingest/live.h"

struct live_block *live_find(const struct live_set *live, uint32_t process, uint64_t address)
{
    const struct base_pair_entry *entry = base_pair_map_find(&live->places, process, address);

    return entry ? &live->blocks[entry->value] : NULL;
}

bool live_add(struct live_set *live, const struct live_block *block)
{
    struct base_pair_entry *entry;
    uint32_t place = live->next_free;

    if (place == live->used &&
        !base_make_room(&live->blocks, &live->capacity, live->used + 1, sizeof *block))
        return false;
    entry = base_pair_map_add(&live->places, block->process_id, block->address);
    if (!entry)
        return false;
    live->next_free = place == live->used ? ++live->used : (uint32_t)live->blocks[place].id;
    entry->value = place;
    entry->count = 1;
    live->blocks[place] = *block;
    return true;
}

void live_remove(struct live_set *live, struct live_block *block)
{
    base_pair_map_remove(&live->places,
                         base_pair_map_find(&live->places, block->process_id, block->address));
    *block = (struct live_block){ .id = live->next_free };
    live->next_free = (uint32_t)(block - live->blocks);
}

void live_release(struct live_set *live)
{
    free(live->blocks);
    base_pair_map_release(&live->places);
    *live = (struct live_set){ .blocks = NULL };
}
