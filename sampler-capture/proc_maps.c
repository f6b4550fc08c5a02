#include "sampler-capture/proc_maps.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

static bool reserve(struct address_map *map, size_t more)
{
    return map->count + more <= MAPS_MAX_MAPPINGS &&
           base_make_room(&map->mappings, &map->capacity, map->count + more, sizeof *map->mappings);
}

/* The first mapping that ends behind address.  */
static size_t first_behind(const struct address_map *map, uint64_t address)
{
    size_t low = 0, high = map->count;

    BASE_BISECT(low, high, i, map->mappings[i].limit <= address);
    return low;
}

/* Put count mappings in the place of those in [first, last); there is room.  */
static void splice(struct address_map *map, size_t first, size_t last,
                   const struct mapping *mappings, size_t count)
{
    memmove(map->mappings + first + count, map->mappings + last,
            (map->count - last) * sizeof *mappings);
    memcpy(map->mappings + first, mappings, count * sizeof *mappings);
    map->count = map->count - (last - first) + count;
}

static bool contains(const struct mapping *mapping, const struct mapping *other)
{
    if (mapping->start > other->start || other->limit > mapping->limit ||
        mapping->module != other->module)
        return false;
    return !mapping->module || (mapping->flags == other->flags &&
                                mapping->vaddr - mapping->start == other->vaddr - other->start);
}

/* What a mapping over those in [first, last) must bring into the trace.  */
static struct mapping placed(const struct address_map *map, size_t first, size_t last,
                             const struct mapping *mapping)
{
    struct mapping new = *mapping;
    bool over_module = false;

    new.over_anonymous = false;
    for (size_t i = first; i < last; i++) {
        if (!map->mappings[i].module)
            new.over_anonymous = true;
        else
            over_module |= map->mappings[i].written;
    }
    if (!new.module)
        new.over_anonymous = false;
    new.written = !new.module && !over_module;
    return new;
}

bool address_map_add(struct address_map *map, const struct mapping *mapping)
{
    size_t first = first_behind(map, mapping->start), last = first;
    struct mapping parts[3]; /* what is left before it, itself, what is left behind it */
    size_t count = 0;

    if (first < map->count && contains(&map->mappings[first], mapping))
        return true;
    while (last < map->count && map->mappings[last].start < mapping->limit)
        last++;
    if (!reserve(map, 2)) /* one mapping can become three */
        return false;

    if (last > first && map->mappings[first].start < mapping->start) {
        parts[count] = map->mappings[first];
        parts[count++].limit = mapping->start;
    }
    map->has_anonymous |= !mapping->module;
    parts[count] = placed(map, first, last, mapping);
    map->has_unwritten |= !parts[count++].written;
    if (last > first && map->mappings[last - 1].limit > mapping->limit) {
        parts[count] = map->mappings[last - 1];
        if (parts[count].module)
            parts[count].vaddr += mapping->limit - parts[count].start;
        parts[count++].start = mapping->limit;
    }
    splice(map, first, last, parts, count);
    return true;
}

bool address_map_fork(const struct address_map *map, uint64_t time_ns, struct address_map *out)
{
    if (map->count == 0)
        return true;
    if (!reserve(out, map->count))
        return false;
    out->has_anonymous = map->has_anonymous;
    for (size_t i = 0; i < map->count; i++) {
        struct mapping *mapping = &out->mappings[out->count++];
        *mapping = map->mappings[i];
        mapping->time_ns = time_ns;
        mapping->written = !mapping->module;
        mapping->over_anonymous = false;
        out->has_unwritten |= !mapping->written;
    }
    return true;
}

void address_map_forget_written(struct address_map *map)
{
    map->has_unwritten = false;
    for (size_t i = 0; i < map->count; i++) {
        struct mapping *mapping = &map->mappings[i];

        mapping->written = !mapping->module;
        mapping->over_anonymous = false;
        map->has_unwritten |= !mapping->written;
    }
}

const struct mapping *address_map_find(const struct address_map *map, uint64_t address)
{
    size_t at = first_behind(map, address);

    return at < map->count && map->mappings[at].start <= address ? &map->mappings[at] : NULL;
}

void address_map_release(struct address_map *map)
{
    free(map->mappings);
    memset(map, 0, sizeof *map);
}
