/* heap_mappings.h - the anonymous memory that a process has mapped itself, as blocks of a heap.
 *
 * A call of mmap(2) allocates a block by its stack; munmap(2), or a mapping in its place,
 * releases it.  If only a part of a block goes, all of it is released and what is left is
 * allocated once more, by the stack that it had.  mremap(2) releases and allocates, as realloc(3)
 * does.  Addresses that are only reserved are no block until mprotect(2) gives access to them.
 *
 * Calls come in any order (protocol.h, tickets): a call leaves alone what was mapped after it.  */
#ifndef HEAP_MAPPINGS_H
#define HEAP_MAPPINGS_H

#include "sampler-capture/heap/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping_stack;

/* Addresses in [start, limit), which overlap no other piece's.  */
struct mapping_piece {
    uint64_t start, limit;
    uint64_t ticket;             /* of the call that mapped it, taken after that */
    struct mapping_stack *stack; /* that mapped it; NULL: it is only reserved */
};

/* A block comes or goes.  False: stop; mappings_apply() returns it.  */
typedef bool mapping_fn(void *context, bool is_release, uint64_t address, uint64_t size,
                        const uint64_t *frames, size_t count);

/* Zero is an empty one.  */
struct mappings {
    struct mapping_piece *pieces; /* by address */
    size_t count, capacity;
};

/* Pieces of one process: more than the kernel allows by far.  */
#define MAPPINGS_MAX ((size_t)1 << 20)

/* Read a packet.  False: it is no such call.  frames is borrowed from *call.  */
bool mappings_read(const uint8_t *bytes, size_t length, struct heap_mapping *call,
                   uint64_t frames[HEAP_MAX_FRAMES]);

enum mappings_status {
    MAPPINGS_OK = 0,
    MAPPINGS_STOPPED = 1, /* the function returned false */
    MAPPINGS_NO_MEMORY = 2,
    MAPPINGS_TOO_MANY = 3, /* MAPPINGS_MAX pieces: no process has so many */
};

/* Apply a call; sizes are rounded up to pages.  */
enum mappings_status mappings_apply(struct mappings *mappings, const struct heap_mapping *call,
                                    const uint64_t *frames, mapping_fn *hear, void *context);

void mappings_release(struct mappings *mappings);

#endif /* HEAP_MAPPINGS_H */
