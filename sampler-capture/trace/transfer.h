/* transfer.h - from a provider's buffer to the archive (docs/formats/trace-provider.md sections 3
 * to 5).
 *
 * The provider can change its buffer at any time, and may mean harm: bytes are copied once and
 * checked as copied.  What goes on is whole records; placeholders stay behind, and so do metadata
 * records, by which a provider would speak for another one.  */
#ifndef TRACE_TRANSFER_H
#define TRACE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfxt/trace_format.h"

/* Patterns of categories that are looked for in what is transferred, at most 64.  */
struct transfer_wanted {
    const char *const *patterns;
    size_t count;
    uint64_t found; /* a bit each */
};

/* Takes whole records, at most 512 KiB at once; false when they cannot be written.  */
typedef bool (*transfer_put)(void *context, const void *records, size_t size);

struct transfer {
    int fd;      /* of the buffer; borrowed */
    size_t size; /* that it was given */
    enum trace_mode mode;
    transfer_put put;
    void *context;
    struct transfer_wanted *wanted; /* borrowed; may be NULL */
    uint64_t *masks;                /* owned: which patterns a string matches */
    uint64_t durable_done;          /* bytes that the archive has */
    bool any_saved;
    uint32_t saved; /* wrapped count of the half that was saved last */
    uint32_t turn;  /* of the half that is being put */
    bool is_old;    /* what is being looked at is of another turn of a circular buffer */
    /* Of all transfers.  */
    uint64_t bytes;   /* of rolling buffers that went to the archive */
    uint64_t given;   /* of all that did */
    uint64_t broken;  /* bytes in which no record could be found */
    uint64_t refused; /* metadata records */
};

/* What the header says, checked.  */
struct transfer_header {
    uint32_t wrapped_count;
    uint64_t durable_size, rolling_size;
    uint64_t durable_end, rolling_end[2];
    uint64_t dropped;
};

enum transfer_status {
    TRANSFER_OK = 0,
    TRANSFER_BAD_BUFFER = 1, /* the header contradicts itself or what was asked for */
    TRANSFER_BAD_PACKET = 2, /* SAVE_BUFFER of what cannot be */
    TRANSFER_NO_OUTPUT = 3,  /* put failed, or memory */
};

enum transfer_status transfer_read_header(const struct transfer *transfer,
                                          struct transfer_header *header);

/* A half that is filled, for SAVE_BUFFER.  */
enum transfer_status transfer_half(struct transfer *transfer, uint32_t wrapped_count,
                                   uint64_t durable_end);

/* All that is left, when the provider has stopped or is gone.  */
enum transfer_status transfer_rest(struct transfer *transfer);

void transfer_release(struct transfer *transfer);

#endif /* TRACE_TRANSFER_H */
