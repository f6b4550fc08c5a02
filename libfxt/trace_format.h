/* trace_format.h - the buffers of fuchsia.tracing.provider, and the packets about them
 * (docs/formats/trace-provider.md), for who reads and who writes them.  Freestanding.  */
#ifndef FXT_TRACE_FORMAT_H
#define FXT_TRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_HEADER_BYTES 128u
#define TRACE_BUFFER_MAGIC UINT64_C(0x627566EE68656164)
#define TRACE_MIN_BYTES    4096u
#define TRACE_MAX_BYTES    (UINT64_C(1) << 32)
/* Of a record without a 32-bit size, with its header.  */
#ifndef TRACE_WORDS /* the model of tests has smaller ones */
#define TRACE_WORDS 4095u
#endif

enum trace_mode {
    TRACE_ONESHOT = 0,
    TRACE_CIRCULAR = 1,
    TRACE_STREAMING = 2,
};

/* The header of a buffer, as it is in memory that another process reads.  */
struct trace_header {
    uint64_t magic;
    uint64_t mode_and_wrapped; /* version 0-15, mode 16-23, wrapped count 32-63 */
    uint64_t total_size;
    uint64_t durable_size;
    uint64_t rolling_size;
    uint64_t durable_end;
    uint64_t rolling_end[2];
    uint64_t dropped;
    uint64_t reserved[7];
};

/* ---- Placeholders ---- */

/* The header of a blob record of type data without a name, at most TRACE_WORDS words.  */
static inline uint64_t trace_filler(uint64_t words)
{
    return 5 | words << 4 | (words - 1) * 8 << 32 | UINT64_C(1) << 48;
}

/* What a row of chunks begins with, over one word or all of them, up to what 32 bits hold: a large
 * record of a type that nobody defines, which readers pass over.  It tells the turn in which the
 * records after it were written, up to the next one of its kind: a writer may be stopped before it
 * has made a chunk its own, and that then is as it was while others go around.  */
static inline uint64_t trace_row(uint64_t words, uint32_t turn)
{
    return 15 | words << 4 | UINT64_C(15) << 36 | (uint64_t)turn << 44;
}

static inline bool trace_is_row(uint64_t header)
{
    return (header & UINT64_C(0xff00000000f)) == (15 | UINT64_C(15) << 36) &&
           (header >> 4 & 0xffffffff) > 0;
}

static inline uint32_t trace_row_turn(uint64_t header)
{
    return (uint32_t)(header >> 44);
}

#define TRACE_NO_TURN 0xfffffu /* of no half */

/* Of the half with that wrapped count.  */
static inline uint32_t trace_turn(uint64_t wrapped_count)
{
    return (uint32_t)(wrapped_count % TRACE_NO_TURN);
}

/* The turn of what a half of a circular buffer holds, by the count in its header: rows of other
 * turns were overtaken.  */
static inline uint32_t trace_half_turn(uint64_t wrapped_count, unsigned half)
{
    if ((wrapped_count & 1) == half)
        return trace_turn(wrapped_count);
    return wrapped_count > 0 ? trace_turn(wrapped_count - 1) : TRACE_NO_TURN;
}

static inline bool trace_is_filler(uint64_t header)
{
    uint64_t words = header >> 4 & 0xfff;

    return (words > 0 && header == trace_filler(words)) || trace_is_row(header);
}

/* ---- Packets between provider and manager (trace-provider.md, section 2) ---- */

enum {
    TRACE_PACKET_STARTED = 1,
    TRACE_PACKET_SAVE_BUFFER = 2,
    TRACE_PACKET_STOPPED = 3,
    TRACE_PACKET_ALERT = 4,
    TRACE_PACKET_BUFFER_SAVED = 0x100,
};

struct trace_packet {
    uint16_t request;
    uint16_t data16;
    uint32_t data32;
    uint64_t data64;
};

#define TRACE_PROTOCOL_VERSION 1u

#endif /* FXT_TRACE_FORMAT_H */
