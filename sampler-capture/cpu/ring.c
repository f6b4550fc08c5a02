#include "sampler-capture/cpu/ring.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORD_SIZE 65536 /* the size field has 16 bits */

void ring_init(struct ring *ring, struct perf_event_mmap_page *control, const uint8_t *data,
               size_t size)
{
    *ring = (struct ring){ .control = control, .data = data, .size = size };
    ring->tail = ring->head = control->data_tail;
}

void ring_begin(struct ring *ring)
{
    /* Pairs with the kernel's barrier between the records and data_head.  */
    ring->head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
}

/* size bytes at position tail, which may wrap around.  */
static const uint8_t *bytes_at_tail(struct ring *ring, size_t size)
{
    size_t start = (size_t)(ring->tail & (ring->size - 1));
    size_t before_end = ring->size - start;

    if (size <= before_end)
        return ring->data + start;
    if (!ring->joined)
        ring->joined = malloc(MAX_RECORD_SIZE);
    if (!ring->joined)
        return NULL;
    memcpy(ring->joined, ring->data + start, before_end);
    memcpy(ring->joined + before_end, ring->data, size - before_end);
    return ring->joined;
}

const uint8_t *ring_next(struct ring *ring, size_t *size, bool *corrupt)
{
    struct perf_event_header header;
    uint64_t left = ring->head - ring->tail;
    const uint8_t *record = NULL;

    if (left == 0)
        return NULL;
    /* Records are multiples of 8 bytes and so is the ring: a header never wraps around.  */
    if (left >= sizeof header && left <= ring->size) {
        memcpy(&header, ring->data + (ring->tail & (ring->size - 1)), sizeof header);
        if (header.size >= sizeof header && header.size % 8 == 0 && header.size <= left)
            record = bytes_at_tail(ring, header.size);
    }
    if (!record) {
        *corrupt = true;
        ring->tail = ring->head;
        return NULL;
    }
    *size = header.size;
    ring->tail += header.size;
    return record;
}

void ring_end(struct ring *ring)
{
    /* Everything read before this store: the kernel may overwrite it now.  */
    __atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
}

void ring_release(struct ring *ring)
{
    free(ring->joined);
    ring->joined = NULL;
}
