/* proc_maps.h - which code a process has at which address, and what of it the trace already
 * says.  */
#ifndef CAPTURE_PROC_MAPS_H
#define CAPTURE_PROC_MAPS_H

#include "sampler-capture/capture_modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_MAX_MAPPINGS (1U << 18) /* in one process; four times what Linux allows by default */

struct mapping {
    uint64_t start; /* process addresses, [start, limit) */
    uint64_t limit;
    uint64_t vaddr;              /* ELF virtual address of start */
    const struct module *module; /* borrowed; NULL: code of no file, which has no vaddr */
    uint64_t time_ns;            /* when it was made */
    unsigned flags;              /* as ELF p_flags: 1 execute, 2 write, 4 read */
    bool written;                /* the trace has it, or need not have it */
    bool over_anonymous;         /* it replaces code of no file that the trace says nothing of */
};

/* Disjoint mappings in order of address.  All zero is an empty map.  */
struct address_map {
    struct mapping *mappings; /* owned */
    size_t count;
    size_t capacity;
    bool has_unwritten;
    bool has_anonymous; /* there is, or was, code of no file */
};

/* Add a mapping, over what was at its addresses.  One that is there already changes nothing.  One
 * without a module is to be written only where it replaces a mapping that the trace has: readers
 * take addresses without a mapping for code of no file.  Returns false when there is no memory or
 * no room (MAPS_MAX_MAPPINGS); the map is as before then.  */
bool address_map_add(struct address_map *map, const struct mapping *mapping);

/* Make *out, which is empty, the map of a process forked at time_ns: the same mappings, none of
 * them written.  False when there is no memory.  */
bool address_map_fork(const struct address_map *map, uint64_t time_ns, struct address_map *out);

/* Another trace begins: it has none of these mappings.  */
void address_map_forget_written(struct address_map *map);

/* What is at address, borrowed until the map changes; NULL: nothing.  */
const struct mapping *address_map_find(const struct address_map *map, uint64_t address);

void address_map_release(struct address_map *map);

#endif /* CAPTURE_PROC_MAPS_H */
