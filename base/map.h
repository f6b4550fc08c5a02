/* map.h - a hash table from 64-bit keys to 64-bit values.  */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_map_slot {
    uint64_t key;
    uint64_t value;
    bool used;
};

/* All zero is empty.  */
struct base_map {
    struct base_map_slot *slots; /* open addressing; none or a power of two */
    size_t slot_count;
    size_t count; /* keys */
};

/* The value of key, or NULL.  The pointer is valid until the map changes.  */
uint64_t *base_map_find(const struct base_map *map, uint64_t key);
/* Store the value of a key, new or not.  Returns false when memory is short.  */
bool base_map_set(struct base_map *map, uint64_t key, uint64_t value);
void base_map_release(struct base_map *map);

#endif /* BASE_MAP_H */
