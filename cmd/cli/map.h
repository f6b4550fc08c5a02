/* map.h - numbers to numbers: a hash table of 64-bit keys.  */
#ifndef CLI_MAP_H
#define CLI_MAP_H

#include "cmd/cli/cli.h"

/* All zero: empty.  */
struct cli_map {
    struct cli_map_slot {
        uint64_t key;
        uint64_t value;
        bool used;
    } * slots; /* open addressing; a power of two of them, or none */
    size_t slot_count;
    size_t count; /* keys */
};

/* The value of key, or NULL.  Lives until the next cli_map_add() or cli_map_release().  */
uint64_t *cli_map_find(const struct cli_map *map, uint64_t key);

/* Give a key that is not there its value.  */
void cli_map_add(struct cli_map *map, uint64_t key, uint64_t value);

/* Empty it and free what it owns.  */
void cli_map_release(struct cli_map *map);

#endif /* CLI_MAP_H */
