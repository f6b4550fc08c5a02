/* jit_files.h - names of code that programs make while they run, in the files that they write for
 * perf: map files, perf-PID.map, and dumps, jit-PID.dump.
 *
 * What is in these files is hostile: at most 256 MiB of one are read, at most 64 MiB of lines are
 * made of it, and numbers and lengths are checked.  */
#ifndef PERF_JIT_FILES_H
#define PERF_JIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/text.h"

/* ---- Addresses that were seen ---- */

/* Each once.  All zero is empty.  */
struct jit_seen {
    uint64_t *items; /* owned */
    size_t count, capacity;
    struct base_index index;
};

/* False: no memory.  */
bool jit_seen_add(struct jit_seen *seen, uint64_t address);
/* Put them in ascending order, after which none can be added until jit_seen_release().  */
void jit_seen_sort(struct jit_seen *seen);
void jit_seen_release(struct jit_seen *seen);

/* ---- The files ---- */

/* Addresses in ascending order.  */
struct jit_addresses {
    const uint64_t *items;
    size_t count;
};

/* Add lines "START SIZE NAME", with hexadecimal numbers, about the functions of a map file, or a
 * dump, that have any of the addresses.  What makes no sense is left out, and ends a dump.  False:
 * no memory.  */
bool jit_read_map(int fd, const struct jit_addresses *addresses, struct base_text *out);
bool jit_read_dump(int fd, const struct jit_addresses *addresses, struct base_text *out);

#endif /* PERF_JIT_FILES_H */
