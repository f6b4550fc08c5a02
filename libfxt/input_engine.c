/* A trace-engine buffer (trace-provider sections 3 and 5): header, durable, rolling 0, rolling 1.
 *
 * The header is copied and checked once; nothing is read from it twice.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "libfxt/fxt_input.h"
#include "libfxt/trace_format.h"

#define HEADER_BYTES FXT_HEAD_BYTES
#define MAGIC        UINT64_C(0x627566EE68656164)
#define PROVIDER     1u
#define MOST_HELD    (UINT64_C(64) << 20)

enum { ONESHOT = 0, CIRCULAR = 1, STREAMING = 2 };

struct header {
    unsigned version;
    unsigned mode;
    uint64_t wrapped_count;
    uint64_t total_size;
    uint64_t durable_size;
    uint64_t rolling_size;
    uint64_t durable_end;
    uint64_t rolling_end[2];
    uint64_t dropped;
};

bool fxt_is_engine_buffer(const uint8_t *bytes, size_t length)
{
    return length >= 8 && fxt_load_u64(bytes) == MAGIC;
}

static void load(const uint8_t *bytes, struct header *header)
{
    uint64_t word = fxt_load_u64(bytes + 8);

    *header = (struct header){
        .version = (unsigned)fxt_bits(word, 0, 15),
        .mode = (unsigned)fxt_bits(word, 16, 23),
        .wrapped_count = fxt_bits(word, 32, 63),
        .total_size = fxt_load_u64(bytes + 16),
        .durable_size = fxt_load_u64(bytes + 24),
        .rolling_size = fxt_load_u64(bytes + 32),
        .durable_end = fxt_load_u64(bytes + 40),
        .rolling_end = { fxt_load_u64(bytes + 48), fxt_load_u64(bytes + 56) },
        .dropped = fxt_load_u64(bytes + 64),
    };
}

/* What is wrong with the sizes, or NULL.  After the second check nothing can overflow.  */
static const char *check_sizes(const struct header *header)
{
    uint64_t total = header->total_size, durable = header->durable_size,
             rolling = header->rolling_size;

    if (total % 8 || durable % 8 || rolling % 8)
        return "a size is not a multiple of 8";
    if (total < HEADER_BYTES || total > UINT64_C(1) << 32)
        return "its size is not 128 bytes to 4 GiB";
    if (header->mode == ONESHOT)
        return rolling == total - HEADER_BYTES && durable == 0
                   ? NULL
                   : "the sizes of its parts do not add "
                     "up to its own";
    if (rolling >= total / 2 || durable >= rolling || HEADER_BYTES + durable + 2 * rolling != total)
        return "the sizes of its parts do not add up to its own";
    return NULL;
}

/* What is wrong with the header, or NULL.  wrapped_count may be anything.  */
static const char *check(const struct header *header)
{
    const char *what;

    if (header->version != 0)
        return "its version is not 0";
    if (header->mode > STREAMING)
        return "its mode is none of oneshot, circular and streaming";
    what = check_sizes(header);
    if (what)
        return what;
    if (header->durable_end % 8 || header->rolling_end[0] % 8 || header->rolling_end[1] % 8)
        return "records do not end at a multiple of 8";
    if (header->durable_end > header->durable_size ||
        header->rolling_end[0] > header->rolling_size ||
        header->rolling_end[1] > header->rolling_size)
        return "records end after the room for them";
    return NULL;
}

/* ---- The order of reading ---- */

/* Up to end, or, where the provider did not get to write that down, as far as records go.  */
static void add_segment(struct fxt_engine *engine, const char *name, uint64_t offset, uint64_t end,
                        uint64_t room)
{
    engine->segments[engine->segment_count++] = (struct fxt_segment){
        .name = name, .offset = offset, .size = end ? end : room, .walk = end == 0
    };
}

static void add_rolling(struct fxt_engine *engine, const struct header *header, unsigned half)
{
    add_segment(engine, half ? "rolling buffer 1" : "rolling buffer 0",
                HEADER_BYTES + header->durable_size + half * header->rolling_size,
                header->rolling_end[half], header->rolling_size);
    engine->segments[engine->segment_count - 1].is_circular = header->mode == CIRCULAR;
    engine->segments[engine->segment_count - 1].turn = trace_half_turn(header->wrapped_count, half);
}

/* Section 5: durable, older, newer.  A provider that was stopped has written all ends down, and its
 * durable buffer holds an initialization at least; one that was killed has not.  Then the only end
 * there may be is that of the half it filled last, and wrapped_count is old.  */
static void plan(struct fxt_engine *engine, const struct header *header)
{
    bool killed = header->durable_end == 0;
    unsigned newer = header->wrapped_count & 1;

    engine->total = header->total_size;
    if (header->mode == ONESHOT) {
        add_rolling(engine, header, 0);
        return;
    }
    add_segment(engine, "durable buffer", HEADER_BYTES, header->durable_end, header->durable_size);
    if (killed && (header->rolling_end[0] == 0) != (header->rolling_end[1] == 0))
        newer = header->rolling_end[0] == 0 ? 0 : 1;
    if (killed || (header->wrapped_count > 0 && header->rolling_end[1 - newer] > 0))
        add_rolling(engine, header, 1 - newer);
    if (killed || header->rolling_end[newer] > 0)
        add_rolling(engine, header, newer);
}

/* Where both halves of a killed provider's buffer are without an end, the second was never begun:
 * then, too, the first is read first.  */
static void order_unended(struct fxt_engine *engine, const struct header *header)
{
    struct fxt_segment half;

    if (engine->segment_count < 3 || header->rolling_end[0] || header->rolling_end[1] ||
        header->wrapped_count > 0)
        return;
    half = engine->segments[1];
    engine->segments[1] = engine->segments[2];
    engine->segments[2] = half;
}

/* A plain file is read where it has what is next.  */
static void try_seeking(struct fxt_input *input)
{
    struct fxt_engine *engine = &input->engine;
    const struct fxt_stream *stream = &input->stream;
    struct stat info;
    off_t at;

    if (stream->compression != FXT_PLAIN || stream->context != stream ||
        fstat(stream->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    at = lseek(stream->fd, 0, SEEK_CUR);
    if (at < 0 || (uint64_t)at < stream->raw_bytes)
        return;
    engine->base = at - (int64_t)stream->raw_bytes;
    engine->actual = info.st_size > engine->base ? (uint64_t)(info.st_size - engine->base) : 0;
    engine->seeks = true;
}

/* The segment behind the next one, if it stands before it and cannot be gone back to.  */
static const struct fxt_segment *to_hold(const struct fxt_engine *engine)
{
    const struct fxt_segment *next = &engine->segments[engine->segment];

    if (engine->seeks || engine->segment + 1 >= engine->segment_count ||
        next[1].offset > next->offset)
        return NULL;
    return next + 1;
}

static bool must_hold_too_much(struct fxt_engine *engine)
{
    bool too_much = false;

    for (engine->segment = 0; engine->segment < engine->segment_count; engine->segment++) {
        const struct fxt_segment *held = to_hold(engine);

        too_much = too_much || (held && held->size > MOST_HELD);
    }
    engine->segment = 0;
    return too_much;
}

static enum fxt_status refuse(struct fxt_input *input, const char *what)
{
    input->status = FXT_FATAL;
    fxt_parts_damage(input, 0, 0, 0, "a trace-engine buffer that cannot be read: %s", what);
    input->error = input->parts[0].damage;
    return FXT_FATAL;
}

enum fxt_status fxt_engine_start(struct fxt_input *input)
{
    struct fxt_engine *engine = &input->engine;
    struct fxt_part *part = &input->parts[0];
    struct header header;
    enum fxt_status status;
    const char *what;

    if (input->head_end < HEADER_BYTES)
        return refuse(input, "it is cut off in its header");
    load(input->head, &header);
    what = check(&header);
    if (what)
        return refuse(input, what);
    input->head_next = HEADER_BYTES;
    engine->at = HEADER_BYTES;
    plan(engine, &header);
    order_unended(engine, &header);
    try_seeking(input);
    if (must_hold_too_much(engine))
        return refuse(input, "its newer half comes first and is larger than 64 MiB: pass it as an "
                             "uncompressed file");
    part->dropped_records = header.dropped;
    status = fxt_parts_provider(input, PROVIDER, "trace-engine buffer");
    if (status == FXT_OK && header.dropped > 0)
        status = fxt_parts_loss(input, PROVIDER);
    return status;
}

/* ---- Bytes ---- */

/* The buffer ends at or before engine->at, and says that it is longer.  */
static void note_cut(struct fxt_input *input)
{
    struct fxt_engine *engine = &input->engine;
    uint64_t actual = engine->at;

    if (engine->cut)
        return;
    if (engine->seeks && engine->actual < actual)
        actual = engine->actual;
    engine->cut = true;
    if (input->part_failed)
        input->parts[0].lost_bytes += engine->total - actual;
    else
        fxt_parts_damage(input, actual, engine->total - actual, 0,
                         "cut off: %llu of %llu bytes are there", (unsigned long long)actual,
                         (unsigned long long)engine->total);
}

/* Bytes from engine->at on.  FXT_OK, FXT_END or FXT_NO_MEMORY.  */
static enum fxt_status read_here(struct fxt_input *input, uint8_t *buffer, size_t size,
                                 size_t *length)
{
    struct fxt_engine *engine = &input->engine;
    enum fxt_status status;
    ssize_t got;

    if (!engine->seeks) {
        status = fxt_parts_take(input, buffer, size, length);
        engine->at += *length;
        return status;
    }
    *length = 0;
    if (input->part_over)
        return FXT_END;
    do
        got = pread(input->stream.fd, buffer, size, (off_t)engine->at + engine->base);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        int reason = errno;

        input->part_over = input->part_failed = true;
        fxt_parts_damage(input, engine->at, 0, reason, "%s", strerror(reason));
    }
    if (got <= 0)
        return FXT_END;
    *length = (size_t)got;
    engine->at += *length;
    input->raw_bytes += *length;
    return FXT_OK;
}

enum fxt_status fxt_engine_take(struct fxt_input *input, uint8_t *buffer, size_t size,
                                size_t *length)
{
    struct fxt_engine *engine = &input->engine;
    enum fxt_status status = FXT_OK;

    *length = 0;
    if (engine->left == 0)
        return FXT_END;
    if (size > engine->left)
        size = (size_t)engine->left;
    if (engine->from_held) {
        *length = size < engine->held_size - engine->held_next
                      ? size
                      : engine->held_size - engine->held_next;
        memcpy(buffer, engine->held + engine->held_next, *length);
        engine->held_next += *length;
        status = *length > 0 ? FXT_OK : FXT_END;
    } else {
        status = read_here(input, buffer, size, length);
        if (status == FXT_END)
            note_cut(input);
    }
    engine->left -= *length;
    return status;
}

/* Read on for nothing up to an offset of the buffer, or to the end.  */
static enum fxt_status pass_to(struct fxt_input *input, uint64_t offset)
{
    struct fxt_engine *engine = &input->engine;
    uint8_t scratch[4096];
    enum fxt_status status = FXT_OK;

    if (engine->seeks) {
        engine->at = offset;
        return FXT_OK;
    }
    while (status == FXT_OK && engine->at < offset) {
        uint64_t left = offset - engine->at;
        size_t length;

        status = read_here(input, scratch, left < sizeof scratch ? (size_t)left : sizeof scratch,
                           &length);
    }
    return status == FXT_END ? FXT_OK : status;
}

/* Keep the segment in memory.  It may be cut off.  */
static enum fxt_status hold(struct fxt_input *input, const struct fxt_segment *segment,
                            uint8_t **out, size_t *size)
{
    enum fxt_status status = pass_to(input, segment->offset);
    size_t capacity = 0;

    *out = NULL;
    *size = 0;
    while (status == FXT_OK && *size < segment->size) {
        size_t length;

        /* Room follows what is really there.  */
        if (!base_make_room(out, &capacity, *size ? *size + 1 : 65536, 1))
            return FXT_NO_MEMORY;
        length = capacity < segment->size ? capacity : (size_t)segment->size;
        status = read_here(input, *out + *size, length - *size, &length);
        *size += length;
    }
    return status == FXT_END ? FXT_OK : status;
}

/* ---- Records ---- */

/* Bytes of the record that begins with the header; 0: none does.  */
static size_t record_size(uint64_t header)
{
    bool large = fxt_bits(header, 0, 3) == 15;
    uint64_t size = 8 * (large ? fxt_bits(header, 4, 35) : fxt_bits(header, 4, 15));

    return size <= FXT_LONGEST ? (size_t)size : 0;
}

/* Bytes of the whole records that the window begins with.  Zero words are passed on as they are,
 * unless they tell where records end.  */
static size_t whole_records(const struct fxt_input *input, bool walk)
{
    size_t left = input->end - input->begin;
    const uint8_t *next = input->window + input->begin;

    while (left >= 8) {
        uint64_t header = fxt_load_u64(next);
        size_t size = header || walk ? record_size(header) : 8;

        if (size == 0 || size > left || trace_is_filler(header))
            break;
        next += size;
        left -= size;
    }
    return (size_t)(next - input->window) - input->begin;
}

static enum fxt_status open_segment(struct fxt_input *input)
{
    struct fxt_engine *engine = &input->engine;
    const struct fxt_segment *segment = &engine->segments[engine->segment];
    const struct fxt_segment *held = to_hold(engine);
    enum fxt_status status = FXT_OK;

    engine->from_held = engine->held != NULL;
    if (held)
        status = hold(input, held, &engine->held, &engine->held_size);
    if (status == FXT_OK && !engine->from_held)
        status = pass_to(input, segment->offset);
    engine->open = true;
    engine->is_old = false;
    engine->left = segment->size;
    input->position = segment->offset;
    input->no_more = false;
    return status;
}

static void close_segment(struct fxt_input *input)
{
    input->begin = input->end = 0;
    input->engine.open = false;
    input->engine.segment++;
}

/* No record can be found from here on: what is left of the segment is lost, or was never used.  */
static enum fxt_status give_up(struct fxt_input *input, bool lost)
{
    struct fxt_part *part = &input->parts[0];
    uint64_t bytes;
    enum fxt_status status = fxt_parts_drop(input, &bytes);

    part->lost_bytes += lost ? bytes : 0;
    close_segment(input);
    return status;
}

/* The segment ends inside a record, or before the next one.  */
static enum fxt_status end_segment(struct fxt_input *input)
{
    const struct fxt_engine *engine = &input->engine;
    size_t left = input->end - input->begin;

    if (left >= 8 && !engine->cut && !input->part_failed)
        fxt_parts_damage(input, input->position, 0, 0, "%s: a record of %zu bytes with %zu left",
                         engine->segments[engine->segment].name,
                         record_size(fxt_load_u64(input->window + input->begin)), left);
    return give_up(input, true);
}

/* A placeholder - a blob of type data without a name - says that nothing is there.  */
static enum fxt_status pass(struct fxt_input *input, size_t size)
{
    enum fxt_status status = fxt_parts_need(input, size);

    if (status != FXT_OK)
        return status;
    if (input->end - input->begin < size)
        return end_segment(input);
    input->begin += size;
    input->position += size;
    return FXT_OK;
}

static enum fxt_status read_segment(struct fxt_input *input)
{
    const struct fxt_segment *segment = &input->engine.segments[input->engine.segment];
    enum fxt_status status = fxt_parts_need(input, 8);
    uint64_t header;
    size_t size;

    if (status != FXT_OK)
        return status;
    if (input->end - input->begin < 8)
        return end_segment(input);
    header = fxt_load_u64(input->window + input->begin);
    if (header == 0 && segment->walk)
        return give_up(input, false);
    if (trace_is_row(header))
        input->engine.is_old = segment->is_circular && trace_row_turn(header) != segment->turn;
    if ((trace_is_filler(header) || input->engine.is_old) && record_size(header) > 0)
        return pass(input, record_size(header));
    size = whole_records(input, segment->walk);
    if (size == 0) {
        size = record_size(header);
        if (size == 0) {
            fxt_parts_damage(
                input, input->position, 0, 0, "%s: a record of %llu bytes", segment->name,
                8ULL * (unsigned long long)(fxt_bits(header, 0, 3) == 15 ? fxt_bits(header, 4, 35)
                                                                         : 0));
            return give_up(input, true);
        }
        status = fxt_parts_need(input, size);
        if (status != FXT_OK)
            return status;
        if (input->end - input->begin < size)
            return end_segment(input);
    }
    return fxt_parts_give(input, size);
}

/* All records were read: is the buffer as long as it says?  */
static enum fxt_status finish(struct fxt_input *input)
{
    struct fxt_engine *engine = &input->engine;
    enum fxt_status status = FXT_OK;

    if (!engine->seeks) {
        status = pass_to(input, UINT64_MAX);
        engine->actual = engine->at;
    }
    engine->at = engine->actual;
    if (status != FXT_OK)
        return status;
    if (engine->actual < engine->total)
        note_cut(input);
    else if (engine->actual > engine->total)
        fxt_parts_damage(input, engine->total, engine->actual - engine->total, 0,
                         "%llu %s after its end",
                         (unsigned long long)(engine->actual - engine->total),
                         engine->actual - engine->total == 1 ? "byte" : "bytes");
    return FXT_END;
}

enum fxt_status fxt_engine_step(struct fxt_input *input)
{
    const struct fxt_engine *engine = &input->engine;

    if (engine->open)
        return read_segment(input);
    return engine->segment < engine->segment_count ? open_segment(input) : finish(input);
}
