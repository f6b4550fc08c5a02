/* A trace's bytes, from wherever they come: what they are, and what they amount to.  */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "libfxt/fxt_input.h"

#define WORD           8u
#define SAMPLER_BYTES  48u /* of a sampler's record, before its program counters */
#define MESSAGE_BYTES  16u /* of a message's header */
#define MOST_REGIONS   65536u
#define FIRST_FREE_CPU 0xfffeffffu /* provider ids from 0xffff0000 on are not of CPUs */

static enum fxt_status no_memory(struct fxt_input *input, struct fxt_error *error)
{
    fxt_input_close(input);
    return fxt_fail(error, FXT_NO_MEMORY, 0, 0, "out of memory");
}

/* An input of count parts; NULL when there is no memory.  */
static struct fxt_input *create(size_t count)
{
    struct fxt_input *input = calloc(1, sizeof *input);

    if (!input)
        return NULL;
    input->part_count = count;
    input->parts = calloc(count, sizeof *input->parts);
    if (input->parts)
        return input;
    free(input);
    return NULL;
}

enum fxt_status fxt_input_open(const struct fxt_input_options *options, struct fxt_input **out,
                               struct fxt_error *error)
{
    struct fxt_input *input;

    if (options->size != sizeof *options)
        return fxt_fail(error, FXT_INVALID, 0, 0, "input options of another version");
    input = create(1);
    if (!input ||
        fxt_stream_open(&input->stream, options->read, options->context, options->fd) != FXT_OK)
        return no_memory(input, error);
    input->stream.wait = options->wait;
    input->stream.wait_context = options->wait_context;
    input->as_stream = options->as_stream || options->wait;
    *out = input;
    return FXT_OK;
}

enum fxt_status fxt_input_open_callback(fxt_read_fn read, void *context, struct fxt_input **out,
                                        struct fxt_error *error)
{
    struct fxt_input_options options = { .size = sizeof options, .read = read, .context = context };

    return fxt_input_open(&options, out, error);
}

enum fxt_status fxt_input_open_fd(int fd, struct fxt_input **out, struct fxt_error *error)
{
    struct fxt_input_options options = { .size = sizeof options, .fd = fd };

    return fxt_input_open(&options, out, error);
}

enum fxt_status fxt_input_open_regions(const struct fxt_region *regions, size_t count,
                                       struct fxt_input **out, struct fxt_error *error)
{
    struct fxt_input *input;

    if (count == 0 || count > MOST_REGIONS)
        return fxt_fail(error, FXT_INVALID, 0, 0, "%zu regions; 1 to 65,536 can be read", count);
    for (size_t i = 0; i < count; i++) {
        if (regions[i].cpu >= FIRST_FREE_CPU)
            return fxt_fail(error, FXT_INVALID, 0, 0, "no CPU has the number %lu",
                            (unsigned long)regions[i].cpu);
    }
    input = create(count);
    if (!input)
        return no_memory(input, error);
    input->regions = regions;
    input->examined = true;
    input->format = FXT_FORMAT_REGION;
    for (size_t i = 0; i < count; i++) {
        input->parts[i].name = regions[i].name;
        input->parts[i].cpu = regions[i].cpu;
        input->parts[i].format = FXT_FORMAT_REGION;
    }
    *out = input;
    return FXT_OK;
}

void fxt_input_close(struct fxt_input *input)
{
    if (!input)
        return;
    fxt_stream_close(&input->stream);
    free(input->parts);
    free(input->places);
    free(input->window);
    free(input->engine.held);
    free(input);
}

void fxt_input_trust(struct fxt_input *input)
{
    if (!input->examined)
        input->as_stream = true;
}

uint64_t fxt_input_damage(const struct fxt_input *input, uint64_t *offset)
{
    *offset = input->damaged_at;
    return input->damage_count;
}

enum fxt_compression fxt_input_compression(const struct fxt_input *input)
{
    return input->stream.compression;
}

bool fxt_input_is_cut(const struct fxt_input *input)
{
    return input->format == FXT_FORMAT_STREAM && input->stream.cut;
}

bool fxt_input_was_left(const struct fxt_input *input)
{
    return input->stream.left_off;
}

uint64_t fxt_input_raw_bytes(const struct fxt_input *input)
{
    return input->raw_bytes + input->stream.raw_bytes;
}

size_t fxt_input_part_count(const struct fxt_input *input)
{
    return input->part_count;
}

const struct fxt_part *fxt_input_part(const struct fxt_input *input, size_t part)
{
    return &input->parts[part];
}

bool fxt_input_locate(const struct fxt_input *input, uint64_t offset, size_t *part,
                      uint64_t *part_offset)
{
    size_t low = 0, high = input->place_count;
    const struct fxt_place *place;

    *part = 0;
    *part_offset = offset;
    if (input->format == FXT_FORMAT_STREAM)
        return true;
    BASE_BISECT(low, high, i, input->places[i].offset <= offset);
    if (low == 0 || input->places[low - 1].made)
        return false;
    place = &input->places[low - 1];
    *part = place->part;
    *part_offset = place->part_offset + (offset - place->offset);
    return true;
}

/* ---- What it is ---- */

/* Have length bytes in head, or all there are.  */
static enum fxt_status fill_head(struct fxt_input *input, size_t length)
{
    enum fxt_status status = FXT_OK;

    while (status == FXT_OK && input->head_end < length) {
        size_t got;

        status = fxt_stream_read(&input->stream, input->head + input->head_end,
                                 length - input->head_end, &got);
        input->head_end += got;
    }
    return status == FXT_NO_MEMORY ? status : FXT_OK; /* another end comes again */
}

/* Read no more than it takes: a growing stream would have to be waited for.  */
static enum fxt_status examine(struct fxt_input *input)
{
    enum fxt_status status;

    input->examined = true;
    if (input->as_stream)
        return FXT_OK;
    status = fill_head(input, WORD);
    if (status == FXT_OK && fxt_is_engine_buffer(input->head, input->head_end)) {
        input->format = FXT_FORMAT_ENGINE_BUFFER;
        status = fill_head(input, FXT_HEAD_BYTES);
    } else if (status == FXT_OK && input->head_end == WORD && (input->head[0] & 15) == 15) {
        status = fill_head(input, SAMPLER_BYTES);
        if (status == FXT_OK && input->head_end == SAMPLER_BYTES &&
            fxt_is_sampler_record(input->head))
            input->format = FXT_FORMAT_REGION;
    } else if (status == FXT_OK && input->head_end == WORD && input->head[7] == 1) {
        status = fill_head(input, MESSAGE_BYTES);
        if (status == FXT_OK && input->head_end == MESSAGE_BYTES && fxt_is_message(input->head))
            input->format = FXT_FORMAT_MESSAGES;
    }
    if (status != FXT_OK)
        input->format = FXT_FORMAT_STREAM; /* whose end is that of reading */
    input->parts[0].format = input->format;
    return status;
}

static enum fxt_status read_stream(struct fxt_input *input, uint8_t *buffer, size_t size,
                                   size_t *length)
{
    size_t left = input->head_end - input->head_next;

    if (left == 0)
        return fxt_stream_read(&input->stream, buffer, size, length);
    *length = size < left ? size : left;
    memcpy(buffer, input->head + input->head_next, *length);
    input->head_next += *length;
    return FXT_OK;
}

enum fxt_status fxt_input_format(struct fxt_input *input, enum fxt_format *format,
                                 struct fxt_error *error)
{
    enum fxt_status status = input->examined ? FXT_OK : examine(input);

    if (status == FXT_OK && input->head_next == input->head_end && input->stream.status != FXT_END)
        status = input->stream.status; /* nothing could be read */
    *format = input->format;
    if (status != FXT_OK && error)
        *error = input->stream.error;
    return status;
}

enum fxt_status fxt_input_read(struct fxt_input *input, void *buffer, size_t size, size_t *length,
                               struct fxt_error *error)
{
    bool stream;
    enum fxt_status status = input->examined ? FXT_OK : examine(input);

    *length = 0;
    stream = input->format == FXT_FORMAT_STREAM || status != FXT_OK;
    if (status == FXT_OK)
        status = (stream ? read_stream : fxt_parts_read)(input, buffer, size, length);
    if (status != FXT_OK && status != FXT_END && error)
        *error = stream ? input->stream.error : input->error;
    return status;
}
