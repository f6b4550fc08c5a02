/* A CPU's region of the kernel sampler (zx-sampler section 3).  */
#include "libfxt/fxt_input.h"

#define HEADER_WORDS  6u /* before the program counters */
#define MOST_FRAMES   64u
#define LONGEST_BYTES 560u /* of a sample of MOST_FRAMES */
#define PAGE_BYTES    4096u

bool fxt_is_sampler_record(const uint8_t *bytes)
{
    uint64_t header = fxt_load_u64(bytes);
    uint64_t words = fxt_bits(header, 4, 35);

    return fxt_bits(header, 0, 3) == 15 && fxt_bits(header, 36, 63) == 0 && words > HEADER_WORDS &&
           words <= HEADER_WORDS + MOST_FRAMES && fxt_load_u64(bytes + 8) == 0 &&
           fxt_load_u64(bytes + 40) == 8 * (words - HEADER_WORDS);
}

/* Bytes of the record, or 0: no record of a region begins so.  */
static size_t record_size(uint64_t header)
{
    uint64_t size = 8 * fxt_bits(header, 4, 35);

    return fxt_bits(header, 0, 3) == 15 && size <= FXT_LONGEST ? (size_t)size : 0;
}

/* Bytes of the whole records that the window begins with.  */
static size_t whole_records(const struct fxt_input *input)
{
    size_t left = input->end - input->begin;
    const uint8_t *next = input->window + input->begin;

    while (left >= 8) {
        size_t size = record_size(fxt_load_u64(next));

        if (size == 0 || size > left)
            break;
        next += size;
        left -= size;
    }
    return (size_t)(next - input->window) - input->begin;
}

static void skip_zeros(struct fxt_input *input)
{
    size_t before = input->begin;

    while (input->end - input->begin >= 8 && fxt_load_u64(input->window + input->begin) == 0)
        input->begin += 8;
    input->position += input->begin - before;
    input->unused += input->begin - before;
}

/* No record can be found from here on.  */
static enum fxt_status give_up(struct fxt_input *input)
{
    uint64_t header = fxt_load_u64(input->window + input->begin);
    unsigned type = (unsigned)fxt_bits(header, 0, 3);
    unsigned long long size = 8 * fxt_bits(header, 4, 35);
    uint64_t offset = input->position;
    uint64_t lost;
    enum fxt_status status;

    if (type != 15)
        fxt_parts_damage(input, offset, 0, 0, "a record of type %u, not a sample", type);
    else if (size == 0)
        fxt_parts_damage(input, offset, 0, 0, "a record of size 0");
    else
        fxt_parts_damage(input, offset, 0, 0, "a record of %llu bytes, longer than any sample",
                         size);
    status = fxt_parts_drop(input, &lost);
    input->parts[input->part].lost_bytes += lost;
    return status == FXT_OK ? FXT_END : status;
}

/* The region is over, left bytes behind its last whole record or word.  */
static enum fxt_status finish(struct fxt_input *input, size_t left)
{
    struct fxt_part *part = &input->parts[input->part];
    uint64_t size = input->position + left;
    enum fxt_status status = FXT_OK;

    if (input->part_failed)
        part->lost_bytes += left;
    else if (left >= 8)
        fxt_parts_damage(input, input->position, left, 0,
                         "a record of %zu bytes with %zu left in the region",
                         record_size(fxt_load_u64(input->window + input->begin)), left);
    else if (left > 0)
        fxt_parts_damage(input, input->position, left, 0, "%zu stray %s at the end", left,
                         left == 1 ? "byte" : "bytes");
    input->begin = input->end = 0;
    /* The sampler stops for good at the first sample that does not fit, and says so nowhere.  */
    if (part->damage_count == 0 && input->after_records > 0 && size % PAGE_BYTES == 0 &&
        size - input->after_records < LONGEST_BYTES)
        status = fxt_parts_loss(input, part->cpu + 1);
    return status == FXT_OK ? FXT_END : status;
}

enum fxt_status fxt_region_step(struct fxt_input *input)
{
    enum fxt_status status = fxt_parts_need(input, 8);
    size_t size;

    if (status != FXT_OK)
        return status;
    if (input->end - input->begin < 8)
        return finish(input, input->end - input->begin);
    if (fxt_load_u64(input->window + input->begin) == 0) {
        skip_zeros(input);
        return FXT_OK;
    }
    size = whole_records(input);
    if (size == 0) {
        size = record_size(fxt_load_u64(input->window + input->begin));
        if (size == 0)
            return give_up(input);
        status = fxt_parts_need(input, size);
        if (status != FXT_OK)
            return status;
        if (input->end - input->begin < size)
            return finish(input, input->end - input->begin);
    }
    return fxt_parts_give(input, size);
}
