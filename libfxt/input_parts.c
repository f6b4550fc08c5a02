/* A trace made of parts that are not streams: their records, with records before them that say
 * whose they are.  Only whole records go out, so that damage stays in its part.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/grow.h"
#include "libfxt/fxt_input.h"

#define WINDOW_BYTES ((size_t)128 * 1024)
#define MAGIC_RECORD UINT64_C(0x0016547846040010)

enum fxt_status fxt_parts_stop(struct fxt_input *input, enum fxt_status status, const char *what)
{
    input->status = status;
    return fxt_fail(&input->error, status, 0, input->given, "%s", what);
}

void fxt_parts_damage(struct fxt_input *input, uint64_t offset, uint64_t lost, int system_errno,
                      const char *format, ...)
{
    struct fxt_part *part = &input->parts[input->part];

    part->lost_bytes += lost;
    if (input->damage_count++ == 0)
        input->damaged_at = input->given;
    if (part->damage_count++ > 0)
        return;
    (void)fxt_fail(&part->damage, FXT_FATAL, system_errno, offset, "%s", "");
    BASE_FORMAT(part->damage.message, format);
}

/* ---- Where bytes come from ---- */

enum fxt_status fxt_parts_take(struct fxt_input *input, uint8_t *buffer, size_t size,
                               size_t *length)
{
    struct fxt_stream *stream = &input->stream;
    size_t left = input->head_end - input->head_next;
    enum fxt_status status;

    *length = 0;
    if (left > 0) {
        *length = size < left ? size : left;
        memcpy(buffer, input->head + input->head_next, *length);
        input->head_next += *length;
        return FXT_OK;
    }
    if (input->part_over)
        return FXT_END;
    status = fxt_stream_read(stream, buffer, size, length);
    if (status == FXT_OK || status == FXT_NO_MEMORY)
        return status;
    input->part_over = true;
    input->part_failed = status == FXT_FATAL || stream->cut;
    if (status == FXT_FATAL)
        fxt_parts_damage(input, stream->offset, 0, stream->error.system_errno, "%s",
                         stream->error.message);
    else if (stream->cut)
        fxt_parts_damage(input, stream->offset, 0, 0, "the compressed data are cut off");
    return FXT_END;
}

/* Room for needed bytes from begin on, and for one more than there are.  */
static bool make_room(struct fxt_input *input, size_t needed)
{
    if (input->begin > 0) {
        memmove(input->window, input->window + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    return base_make_room(&input->window, &input->capacity, /* at most FXT_LONGEST */
                          needed < WINDOW_BYTES ? WINDOW_BYTES : needed, 1);
}

/* More bytes into the window, which has room.  FXT_OK or FXT_NO_MEMORY.  */
static enum fxt_status read_some(struct fxt_input *input)
{
    uint8_t *room = input->window + input->end;
    size_t size = input->capacity - input->end;
    size_t length = 0;
    enum fxt_status status = input->format == FXT_FORMAT_ENGINE_BUFFER
                                 ? fxt_engine_take(input, room, size, &length)
                                 : fxt_parts_take(input, room, size, &length);

    input->end += length;
    input->no_more = status == FXT_END;
    return status == FXT_END ? FXT_OK : status;
}

enum fxt_status fxt_parts_need(struct fxt_input *input, size_t needed)
{
    enum fxt_status status = FXT_OK;

    while (status == FXT_OK && input->end - input->begin < needed && !input->no_more) {
        if ((input->capacity - input->begin < needed || input->end == input->capacity) &&
            !make_room(input, needed))
            return FXT_NO_MEMORY;
        status = read_some(input);
    }
    return status;
}

enum fxt_status fxt_parts_drop(struct fxt_input *input, uint64_t *bytes)
{
    enum fxt_status status = FXT_OK;

    *bytes = 0;
    do {
        *bytes += input->end - input->begin;
        input->position += input->end - input->begin;
        input->begin = 0;
        input->end = 0;
        if (!input->no_more)
            status = fxt_parts_need(input, 1);
    } while (status == FXT_OK && input->end > 0);
    return status;
}

/* ---- What goes out ---- */

/* The bytes from the next one on stand in the part, or nowhere.  */
static enum fxt_status add_place(struct fxt_input *input, uint64_t part_offset, bool made)
{
    struct fxt_place place = { input->given, part_offset, input->part, made };
    size_t count = input->place_count;

    if (count > 0) {
        const struct fxt_place *last = &input->places[count - 1];

        if (last->part == place.part && last->made == made &&
            (made || place.offset - last->offset == part_offset - last->part_offset))
            return FXT_OK; /* it goes on */
    }
    if (!base_make_room(&input->places, &input->place_capacity, count + 1, sizeof place))
        return FXT_NO_MEMORY;
    input->places[input->place_count++] = place;
    return FXT_OK;
}

enum fxt_status fxt_parts_give(struct fxt_input *input, size_t size)
{
    input->ready = size;
    input->zeros = input->unused;
    input->unused = 0;
    input->after_records = input->position + size;
    return add_place(input, input->position - input->zeros, false);
}

/* The queue is empty when a part begins and when it is over, and has room for both.  */
static void queue_word(struct fxt_input *input, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        input->queue[input->queue_end++] = (uint8_t)(word >> (8 * i));
}

enum fxt_status fxt_parts_provider(struct fxt_input *input, uint32_t id, const char *name)
{
    size_t length = strlen(name);
    size_t words = (length + 7) / 8;

    if (input->given == 0)
        queue_word(input, MAGIC_RECORD);
    queue_word(input, (uint64_t)(1 + words) << 4 | UINT64_C(1) << 16 | (uint64_t)id << 20 |
                          (uint64_t)length << 52);
    memset(input->queue + input->queue_end, 0, words * 8);
    memcpy(input->queue + input->queue_end, name, length);
    input->queue_end += words * 8;
    return add_place(input, 0, true);
}

enum fxt_status fxt_parts_string(struct fxt_input *input, unsigned index, const char *text)
{
    size_t length = strlen(text);
    size_t words = (length + 7) / 8;

    queue_word(input,
               2 | (uint64_t)(1 + words) << 4 | (uint64_t)index << 16 | (uint64_t)length << 32);
    memset(input->queue + input->queue_end, 0, words * 8);
    memcpy(input->queue + input->queue_end, text, length);
    input->queue_end += words * 8;
    return add_place(input, 0, true);
}

void fxt_parts_give_behind(struct fxt_input *input, const uint64_t *words, size_t count,
                           size_t size)
{
    for (size_t i = 0; i < count; i++)
        queue_word(input, words[i]);
    input->ready = size;
}

enum fxt_status fxt_parts_loss(struct fxt_input *input, uint32_t id)
{
    queue_word(input, UINT64_C(1) << 4 | UINT64_C(3) << 16 | (uint64_t)id << 20);
    return add_place(input, 0, true);
}

/* ---- From part to part ---- */

static enum fxt_status begin_region(struct fxt_input *input)
{
    const struct fxt_region *region = input->regions ? &input->regions[input->part] : NULL;
    uint32_t cpu = input->parts[input->part].cpu;
    char name[16];

    if (region && fxt_stream_open(&input->stream, region->read, region->context, region->fd))
        return FXT_NO_MEMORY;
    (void)snprintf(name, sizeof name, "cpu-%lu", (unsigned long)cpu);
    return fxt_parts_provider(input, cpu + 1, name);
}

static enum fxt_status begin_part(struct fxt_input *input)
{
    if (input->part == input->part_count)
        return fxt_parts_stop(input, FXT_END, "");
    input->in_part = true;
    input->part_over = false;
    input->part_failed = false;
    input->no_more = false;
    input->position = 0;
    input->unused = 0;
    input->after_records = 0;
    switch (input->format) {
    case FXT_FORMAT_REGION:
        return begin_region(input);
    case FXT_FORMAT_ENGINE_BUFFER:
        return fxt_engine_start(input);
    case FXT_FORMAT_MESSAGES:
        return fxt_messages_start(input);
    case FXT_FORMAT_STREAM: /* is not made of parts */
        break;
    }
    return fxt_parts_stop(input, FXT_END, "");
}

static void end_part(struct fxt_input *input)
{
    enum fxt_compression compression = input->stream.compression;

    input->raw_bytes += input->stream.raw_bytes;
    fxt_stream_close(&input->stream);
    input->stream.compression = compression; /* of the part read last */
    input->parts[input->part].compression = compression;
    input->part++;
    input->in_part = false;
}

/* What was queued or found went out: go on.  */
static enum fxt_status step(struct fxt_input *input)
{
    enum fxt_status status;

    if (!input->in_part)
        return begin_part(input);
    status = input->format == FXT_FORMAT_REGION     ? fxt_region_step(input)
             : input->format == FXT_FORMAT_MESSAGES ? fxt_messages_step(input)
                                                    : fxt_engine_step(input);
    if (status != FXT_END)
        return status;
    end_part(input);
    return FXT_OK;
}

/* Queue, zeros, window: what there is.  */
static size_t hand_out(struct fxt_input *input, uint8_t *buffer, size_t size)
{
    size_t queued = input->queue_end - input->queue_next;
    size_t length;

    if (queued > 0) {
        length = size < queued ? size : queued;
        memcpy(buffer, input->queue + input->queue_next, length);
        input->queue_next += length;
        if (length == queued)
            input->queue_next = input->queue_end = 0;
    } else if (input->zeros > 0) {
        length = size < input->zeros ? size : (size_t)input->zeros;
        memset(buffer, 0, length);
        input->zeros -= length;
    } else if (input->ready == 0) {
        return 0;
    } else {
        length = size < input->ready ? size : input->ready;
        memcpy(buffer, input->window + input->begin, length);
        input->begin += length;
        input->position += length;
        input->ready -= length;
    }
    input->given += length;
    return length;
}

enum fxt_status fxt_parts_read(struct fxt_input *input, uint8_t *buffer, size_t size,
                               size_t *length)
{
    *length = 0;
    while (input->status == FXT_OK) {
        *length = hand_out(input, buffer, size);
        if (*length > 0)
            return FXT_OK;
        if (step(input) == FXT_NO_MEMORY)
            (void)fxt_parts_stop(input, FXT_NO_MEMORY, "out of memory");
    }
    return input->status;
}
