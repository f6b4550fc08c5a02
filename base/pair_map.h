/* pair_map.h - from pairs of numbers to what there is under them at a time.  */
#ifndef BASE_PAIR_MAP_H
#define BASE_PAIR_MAP_H

#include <stddef.h>
#include <stdint.h>

/* An entry is there while its count is not 0.  */
struct base_pair_entry {
    uint64_t a, b; /* key */
    uint32_t value;
    uint32_t count;
};

/* All zero is empty.  */
struct base_pair_map {
    struct base_pair_entry
        *entries; /* open addressing; a power of two of them, at most half used */
    size_t mask, used;
};

/* The entry, or NULL.  */
struct base_pair_entry *base_pair_map_find(const struct base_pair_map *map, uint64_t a, uint64_t b);
/* A new one, with value and count 0, for a key that is not there.  The caller makes its count other
 * than 0.  Moves entries; NULL when memory is short.  */
struct base_pair_entry *base_pair_map_add(struct base_pair_map *map, uint64_t a, uint64_t b);
/* Moves entries.  */
void base_pair_map_remove(struct base_pair_map *map, struct base_pair_entry *entry);
void base_pair_map_release(struct base_pair_map *map);

#endif /* BASE_PAIR_MAP_H */
