/* leaves.h - in which code samples were taken, to tell of functions without a frame pointer: where
 * callers are found by frame pointers, the direct caller of such a function is missing, and its
 * caller stands in its place.  */
#ifndef CPU_LEAVES_H
#define CPU_LEAVES_H

#include "sampler-capture/cpu/region.h"
#include "sampler-capture/processes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaf_module;

/* All zero is empty.  Memory: 2 KiB for each module with samples.  */
struct leaves {
    struct leaf_module *modules; /* owned; by serial number */
    size_t capacity;
};

/* Count the innermost frame.  Without memory it is not counted.  */
void leaves_count(struct leaves *leaves, const struct process *process,
                  const struct region_sample *sample);

struct leaf_share {
    const char *module; /* borrowed from the table of modules */
    uint64_t samples;
};

/* Samples at addresses where the module's unwind tables say that the frame pointer was not set up:
 * how many, and in which modules most, most first.  Where a module has more samples than
 * LEAVES_ADDRESSES, the number is estimated from as many, chosen at random.  Files that are gone by
 * now are not judged, nor are those of machines other than x86-64, whose tables do not tell.  */
#define LEAVES_ADDRESSES 256
#define LEAVES_NAMED     3
struct leaf_result {
    uint64_t samples;
    struct leaf_share most[LEAVES_NAMED];
    size_t count; /* of most */
};
struct leaf_result leaves_judge(const struct leaves *leaves);

void leaves_release(struct leaves *leaves);

#endif /* CPU_LEAVES_H */
