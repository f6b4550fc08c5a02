/* region.h - the buffer of one CPU, with the contents that zx_sampler_create() gives its regions.
 *
 * A region holds FXT large blob records back to back (docs/formats/zx-sampler.md section 3), one
 * sample each, from its first byte on.  It never wraps: a sample that does not fit is dropped and
 * counted.  Between drain rounds records that are not yet safe to write stay at its start.  */
#ifndef CPU_REGION_H
#define CPU_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_MAX_FRAMES       64         /* as the kernel sampler of Zircon */
#define REGION_KERNEL_FRAMES    127        /* with kernel frames: kernel.perf_event_max_stack */
#define REGION_FRAMES_LIMIT     512        /* by unwind tables */
#define REGION_BACKTRACE_FRAMES 255        /* likewise, in the stream of Fuchsia's profiler */
#define REGION_MAX_SIZE         (1U << 30) /* ZX_SAMPLER_MAX_BUFFER_SIZE */
#define REGION_HEADER_WORDS     6          /* words before the first program counter */

struct region {
    uint8_t *bytes; /* owned */
    size_t size;    /* bytes, whole pages */
    size_t used;    /* bytes, whole words */
};

/* One sample.  The ids are those of the kernel, pid and tid: what a koid adds to them is known only
 * once the records of all CPUs are in order (processes.h).  */
struct region_sample {
    uint64_t ticks; /* CLOCK_MONOTONIC, ns */
    uint32_t pid;
    uint32_t tid;
    const uint8_t *frames; /* frame_count little-endian words, leaf first; borrowed */
    size_t frame_count;    /* 1..REGION_FRAMES_LIMIT */
    /* Of a sample that was read: its record, which needs only koids to be that of a trace.  */
    uint8_t *record;
    size_t record_size;
};

/* An empty region of size bytes, rounded up to whole pages.  False when size is 0, exceeds
 * REGION_MAX_SIZE, or there is no memory.  Pages are taken when first written.  */
bool region_init(struct region *region, size_t size);

/* Append a sample; false when it does not fit.  */
bool region_append(struct region *region, const struct region_sample *sample);

/* The offset of the record after the one at offset, which region_next(), region_read() or 0 gave,
 * and the ticks of the one at offset.  0 at the end, with *ticks untouched.  */
size_t region_next(const struct region *region, size_t offset, uint64_t *ticks);

/* Read the record at offset; returns what region_next() does, and leaves *out untouched at the end.
 * *out borrows from the region.  */
size_t region_read(const struct region *region, size_t offset, struct region_sample *out);

/* Replace pid and tid in the record of a sample that was read.  */
void region_set_koids(const struct region_sample *sample, uint64_t process, uint64_t thread);

/* Forget the records with ticks < limit; the others move to the start, in their order.  */
void region_discard_before(struct region *region, uint64_t limit);

/* Forget the older half of the bytes, or the records that begin in it.  */
void region_discard_half(struct region *region);

/* Frees what region_init() took.  Accepts a region of zero bytes.  */
void region_release(struct region *region);

#endif /* CPU_REGION_H */
