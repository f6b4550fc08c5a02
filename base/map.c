#include "base/map.h"
#include <stdlib.h>

#include "base/account.h"
#include "base/index.h"

/* The slot that holds the key, or the free one where it would go.  */
static struct base_map_slot *find_slot(const struct base_map *map, uint64_t key)
{
    size_t i = base_hash(key, 0) & (map->slot_count - 1);

    while (map->slots[i].used && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

uint64_t *base_map_find(const struct base_map *map, uint64_t key)
{
    struct base_map_slot *slot = map->slot_count ? find_slot(map, key) : NULL;

    return slot && slot->used ? &slot->value : NULL;
}

static bool enlarge(struct base_map *map)
{
    struct base_map bigger = { .slot_count = map->slot_count ? 2 * map->slot_count : 16,
                               .count = map->count };

    bigger.slots = base_calloc(bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].used)
            *find_slot(&bigger, map->slots[i].key) = map->slots[i];
    base_free(map->slots);
    *map = bigger;
    return true;
}

bool base_map_set(struct base_map *map, uint64_t key, uint64_t value)
{
    uint64_t *known = base_map_find(map, key);

    if (known) {
        *known = value;
        return true;
    }
    if (4 * (map->count + 1) > 3 * map->slot_count && !enlarge(map))
        return false;
    *find_slot(map, key) = (struct base_map_slot){ key, value, true };
    map->count++;
    return true;
}

void base_map_release(struct base_map *map)
{
    base_free(map->slots);
    *map = (struct base_map){ .slots = NULL };
}
