/* ring.h - the kernel's ring buffer of one CPU, read record by record.
 *
 * The kernel moves head, the reader moves tail, both only ever up; what lies between them are whole
 * records.  A record that wraps around the end of the ring is put together in a buffer.  */
#ifndef CPU_RING_H
#define CPU_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_mmap_page;

struct ring {
    struct perf_event_mmap_page *control; /* borrowed: the first page of the mapping */
    const uint8_t *data;                  /* borrowed */
    size_t size;                          /* of data, a power of two */
    uint64_t head;
    uint64_t tail;
    uint8_t *joined; /* owned; NULL until a record wraps around */
};

/* A ring on a mapping made by mmap(2) of an event: one control page, then size bytes.  */
void ring_init(struct ring *ring, struct perf_event_mmap_page *control, const uint8_t *data,
               size_t size);

/* See what the kernel has written up to now.  */
void ring_begin(struct ring *ring);

/* The next record of those, or NULL after the last.  *size is its size.  It is borrowed until the
 * next call.  A record whose size makes no sense ends the round: everything up to head is skipped
 * and *corrupt set.  */
const uint8_t *ring_next(struct ring *ring, size_t *size, bool *corrupt);

/* Give what was read back to the kernel.  */
void ring_end(struct ring *ring);

/* Frees the buffer; the mapping is the caller's.  */
void ring_release(struct ring *ring);

#endif /* CPU_RING_H */
