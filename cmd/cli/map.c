#include "cmd/cli/map.h"

#include <stdlib.h>

/* The slot that holds the key, or the free one where it would go.  */
static struct cli_map_slot *find_slot(const struct cli_map *map, uint64_t key)
{
    size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (map->slot_count - 1);

    while (map->slots[i].used && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

uint64_t *cli_map_find(const struct cli_map *map, uint64_t key)
{
    struct cli_map_slot *slot = map->slot_count ? find_slot(map, key) : NULL;

    return slot && slot->used ? &slot->value : NULL;
}

static void grow(struct cli_map *map)
{
    struct cli_map old = *map;

    map->slot_count = old.slot_count ? 2 * old.slot_count : 16;
    map->slots = cli_allocate(map->slot_count, sizeof *map->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i].used)
            *find_slot(map, old.slots[i].key) = old.slots[i];
    }
    free(old.slots);
}

void cli_map_add(struct cli_map *map, uint64_t key, uint64_t value)
{
    if (4 * (map->count + 1) > 3 * map->slot_count)
        grow(map);
    *find_slot(map, key) = (struct cli_map_slot){ key, value, true };
    map->count++;
}

void cli_map_release(struct cli_map *map)
{
    free(map->slots);
    *map = (struct cli_map){ .slots = NULL };
}
