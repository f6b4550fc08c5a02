/* pair_map.c - unlike in an index, entries go away: memory follows how many there were at once.  */
#include "base/pair_map.h"
#include "base/account.h"
#include "base/index.h"

static size_t home_of(const struct base_pair_map *map, uint64_t a, uint64_t b)
{
    return base_hash(a, b) & map->mask;
}

struct base_pair_entry *base_pair_map_find(const struct base_pair_map *map, uint64_t a, uint64_t b)
{
    if (!map->entries)
        return NULL;
    for (size_t at = home_of(map, a, b); map->entries[at].count > 0; at = (at + 1) & map->mask)
        if (map->entries[at].a == a && map->entries[at].b == b)
            return &map->entries[at];
    return NULL;
}

static struct base_pair_entry *free_place(const struct base_pair_map *map, uint64_t a, uint64_t b)
{
    size_t at = home_of(map, a, b);

    while (map->entries[at].count > 0)
        at = (at + 1) & map->mask;
    return &map->entries[at];
}

static bool enlarge(struct base_pair_map *map)
{
    struct base_pair_map bigger = { .mask = map->entries ? 2 * map->mask + 1 : 63,
                                    .used = map->used };

    bigger.entries = base_calloc(bigger.mask + 1, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; map->entries && i <= map->mask; i++) {
        const struct base_pair_entry *entry = &map->entries[i];

        if (entry->count > 0)
            *free_place(&bigger, entry->a, entry->b) = *entry;
    }
    base_free(map->entries);
    *map = bigger;
    return true;
}

struct base_pair_entry *base_pair_map_add(struct base_pair_map *map, uint64_t a, uint64_t b)
{
    struct base_pair_entry *entry;

    if ((!map->entries || 2 * (map->used + 1) > map->mask) && !enlarge(map))
        return NULL;
    entry = free_place(map, a, b);
    *entry = (struct base_pair_entry){ .a = a, .b = b };
    map->used++;
    return entry;
}

/* Entries behind the gap move up where their search would pass it.  */
void base_pair_map_remove(struct base_pair_map *map, struct base_pair_entry *entry)
{
    size_t gap = (size_t)(entry - map->entries);

    for (size_t at = (gap + 1) & map->mask; map->entries[at].count > 0; at = (at + 1) & map->mask) {
        size_t home = home_of(map, map->entries[at].a, map->entries[at].b);

        if (((at - home) & map->mask) < ((at - gap) & map->mask))
            continue;
        map->entries[gap] = map->entries[at];
        gap = at;
    }
    map->entries[gap] = (struct base_pair_entry){ .count = 0 };
    map->used--;
}

void base_pair_map_release(struct base_pair_map *map)
{
    base_free(map->entries);
    *map = (struct base_pair_map){ .entries = NULL };
}
