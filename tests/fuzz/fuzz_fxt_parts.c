/* Regions of the kernel sampler, trace-engine buffers and recorded messages: libfxt/input_region.c,
 * input_engine.c, input_messages.c, input_parts.c; docs/formats/zx-sampler.md section 3,
 * trace-provider.md sections 3 and 5, memory-sampler.md.
 *
 * The bytes are read three times: as one file whose format they tell; as what stands behind the
 * header of an engine buffer, which their first bytes describe and which is sound; and as a group
 * of regions, whose first bytes say how long each is.
 *
 * - In pieces of any size, the same records, damage and parts come as in one piece.
 * - A record that is said to stand at a place of a part stands there, to the last byte.
 * - What is wrong with one region changes nothing in another: each gives the records that it gives
 *   alone.  */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/support.h"

enum { REGIONS = 4 };

/* What the bytes of all parts are, by part.  */
struct given {
    const uint8_t *bytes[REGIONS];
    size_t length[REGIONS];
    size_t count;
};

struct outcome {
    enum fxt_status status;
    struct fxt_damage damage;
    struct fuzz_buffer records[REGIONS]; /* digests of those that stand in a part */
    struct fuzz_buffer parts;            /* what is said of each */
    struct fuzz_buffer all;              /* digests of all */
};

static void outcome_release(struct outcome *outcome)
{
    for (size_t i = 0; i < REGIONS; i++)
        free(outcome->records[i].bytes);
    free(outcome->parts.bytes);
    free(outcome->all.bytes);
}

static void take_record(const struct fxt_input *input, const struct fxt_reader *reader,
                        const struct fxt_record *record, const struct given *given,
                        struct outcome *outcome)
{
    struct fxt_bytes bytes = fxt_reader_bytes(reader);
    uint64_t offset = 0;
    size_t part = 0;

    digest_record(&outcome->all, record, DIGEST_WHOLE);
    if (!fxt_input_locate(input, record->offset, &part, &offset)) {
        HOLD(record->kind == FXT_RECORD_MAGIC || record->kind == FXT_RECORD_PROVIDER_INFO ||
             record->kind == FXT_RECORD_PROVIDER_EVENT ||
             fxt_input_part(input, 0)->format == FXT_FORMAT_MESSAGES);
        return;
    }
    HOLD(part < given->count && part < fxt_input_part_count(input));
    HOLD(offset <= given->length[part] && bytes.length <= given->length[part] - offset);
    HOLD(memcmp(bytes.bytes, given->bytes[part] + offset, (size_t)bytes.length) == 0);
    digest_record(&outcome->records[part], record, DIGEST_WRITTEN);
}

static void take_parts(const struct fxt_input *input, const struct given *given,
                       struct outcome *outcome)
{
    HOLD(fxt_input_part_count(input) == given->count);
    for (size_t i = 0; i < given->count; i++) {
        const struct fxt_part *part = fxt_input_part(input, i);
        const uint64_t numbers[] = { (uint64_t)part->format, part->cpu,
                                     part->dropped_records,  part->damage_count,
                                     part->lost_bytes,       part->damage.offset };

        HOLD(part->lost_bytes <= given->length[i]);
        HOLD((part->damage_count > 0) == (part->damage.status != FXT_OK));
        HOLD(part->damage_count == 0 || part->damage.message[0]);
        HOLD(part->damage_count > 0 || part->lost_bytes == 0);
        fuzz_append(&outcome->parts, numbers, sizeof numbers);
    }
}

/* Read all of the input, which is closed.  */
static void read_all(struct fxt_input *input, const struct given *given, struct outcome *outcome)
{
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;
    uint64_t sum = 0;

    HOLD(fxt_reader_open(input, NULL, &reader, NULL) == FXT_OK);
    while ((outcome->status = fxt_reader_next(reader, &record, NULL)) == FXT_OK) {
        sum += record->size;
        take_record(input, reader, record, given, outcome);
    }
    HOLD(outcome->status == FXT_END || outcome->status == FXT_FATAL);
    outcome->damage = *fxt_reader_damage(reader);
    for (int kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        sum += outcome->damage.kinds[kind].bytes;
    HOLD(sum == fxt_reader_offset(reader));
    take_parts(input, given, outcome);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

static void check_same_bytes(const struct fuzz_buffer *one, const struct fuzz_buffer *other)
{
    HOLD(one->used == other->used);
    HOLD(one->used == 0 || memcmp(one->bytes, other->bytes, one->used) == 0);
}

static void check_same(const struct outcome *one, const struct outcome *other)
{
    HOLD(one->status == other->status);
    HOLD(memcmp(&one->damage, &other->damage, sizeof one->damage) == 0);
    check_same_bytes(&one->all, &other->all);
    check_same_bytes(&one->parts, &other->parts);
}

/* ---- One file ---- */

static bool is_parts(const uint8_t *data, size_t size)
{
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data, size, (struct pieces){ .most = 0 });
    enum fxt_format format = FXT_FORMAT_STREAM;
    bool plain;

    (void)fxt_input_format(input, &format, NULL);
    plain = fxt_input_compression(input) == FXT_PLAIN;
    fxt_input_close(input);
    return plain && format != FXT_FORMAT_STREAM;
}

static void check_file(const uint8_t *data, size_t size)
{
    const struct given given = { .bytes = { data }, .length = { size }, .count = 1 };
    struct outcome whole = { .status = FXT_OK };
    struct outcome pieces = { .status = FXT_OK };
    struct fuzz_source source;

    if (!is_parts(data, size)) /* fuzz_fxt_reader and fuzz_fxt_input look at those */
        return;
    read_all(fuzz_open(&source, data, size, (struct pieces){ .most = 0 }), &given, &whole);
    read_all(
        fuzz_open(&source, data, size, (struct pieces){ .least = 1, .most = 90, .state = size }),
        &given, &pieces);
    check_same(&whole, &pieces);
    outcome_release(&whole);
    outcome_release(&pieces);
}

/* ---- An engine buffer ---- */

enum { HEADER = 128 };

static void put_word(uint8_t *bytes, size_t word, uint64_t value)
{
    for (size_t i = 0; i < 8; i++)
        bytes[8 * word + i] = (uint8_t)(value >> (8 * i));
}

/* An end of room, or none: as after a provider that was killed.  */
static uint64_t end_in(uint8_t choice, uint64_t room)
{
    return 8 * (uint64_t)choice < room ? 8 * (uint64_t)choice : room;
}

/* Sizes that agree with each other and ends inside them, from the first bytes; the records are the
 * rest.  */
static void check_engine(const uint8_t *data, size_t size)
{
    enum { CHOICES = 8 };
    unsigned mode = size > 0 ? data[0] % 3 : 0; /* oneshot, circular, streaming */
    uint64_t body, durable, rolling, total;
    uint8_t *bytes;

    if (size < CHOICES + 64)
        return;
    body = (size - CHOICES) / 16 * 16;
    durable = mode == 0 ? 0 : end_in(data[1] % 16, body / 4);
    rolling = mode == 0 ? body : (body - durable) / 16 * 8;
    total = HEADER + durable + (mode == 0 ? 1 : 2) * rolling;
    bytes = fuzz_allocate((size_t)total);
    memset(bytes, 0, HEADER);
    put_word(bytes, 0, UINT64_C(0x627566EE68656164));
    put_word(bytes, 1, (uint64_t)mode << 16 | (uint64_t)(data[2] % 4) << 32);
    put_word(bytes, 2, total);
    put_word(bytes, 3, durable);
    put_word(bytes, 4, rolling);
    put_word(bytes, 5, mode == 0 ? 0 : end_in(data[3], durable));
    put_word(bytes, 6, end_in(data[4], rolling));
    put_word(bytes, 7, mode == 0 ? 0 : end_in(data[5], rolling));
    put_word(bytes, 8, data[6]);
    memcpy(bytes + HEADER, data + CHOICES, (size_t)(total - HEADER));
    HOLD(is_parts(bytes, (size_t)total));
    check_file(bytes, (size_t)total);
    free(bytes);
}

/* ---- A group of regions ---- */

/* The first bytes say how long the regions are, in words; the last takes the rest.  */
static struct given cut_into_regions(const uint8_t *data, size_t size)
{
    struct given given = { .count = 0 };

    while (size > 0 && given.count < REGIONS) {
        size_t length = 1 + 8 * (size_t)data[0];

        if (length > size || given.count == REGIONS - 1)
            length = size;
        given.bytes[given.count] = data + 1;
        given.length[given.count++] = length - 1;
        data += length;
        size -= length;
    }
    return given;
}

static void read_regions(const struct given *given, size_t first, size_t count,
                         struct pieces pieces, struct outcome *outcome)
{
    struct fuzz_source sources[REGIONS];
    struct fxt_region regions[REGIONS] = { 0 };
    struct given chosen = { .count = count };
    struct fxt_input *input;

    for (size_t i = 0; i < count; i++) {
        chosen.bytes[i] = given->bytes[first + i];
        chosen.length[i] = given->length[first + i];
        sources[i] = (struct fuzz_source){ chosen.bytes[i], chosen.length[i], pieces };
        regions[i].read = fuzz_read;
        regions[i].context = &sources[i];
        regions[i].cpu = (uint32_t)(first + i);
    }
    HOLD(fxt_input_open_regions(regions, count, &input, NULL) == FXT_OK);
    read_all(input, &chosen, outcome);
}

/* The bytes of a compressed region are not those that its records are made of.  */
static bool has_compressed(const struct given *given)
{
    for (size_t i = 0; i < given->count; i++) {
        struct fuzz_source source;
        struct fxt_input *input = fuzz_open(&source, given->bytes[i], given->length[i],
                                            (struct pieces){ .most = 0 });
        uint8_t byte;
        size_t length;
        bool plain;

        (void)fxt_input_read(input, &byte, 1, &length, NULL);
        plain = fxt_input_compression(input) == FXT_PLAIN;
        fxt_input_close(input);
        if (!plain)
            return true;
    }
    return false;
}

static void check_group(const uint8_t *data, size_t size)
{
    const struct pieces whole = { .most = 0 };
    const struct pieces parts = { .least = 1, .most = 90, .state = size };
    struct given given = cut_into_regions(data, size);
    struct outcome group = { .status = FXT_OK };
    struct outcome again = { .status = FXT_OK };

    if (given.count == 0 || has_compressed(&given))
        return;
    read_regions(&given, 0, given.count, whole, &group);
    HOLD(group.status == FXT_END);
    read_regions(&given, 0, given.count, parts, &again);
    check_same(&group, &again);
    outcome_release(&again);
    for (size_t i = 0; i < given.count; i++) {
        struct outcome alone = { .status = FXT_OK };

        read_regions(&given, i, 1, whole, &alone);
        check_same_bytes(&group.records[i], &alone.records[0]);
        outcome_release(&alone);
    }
    outcome_release(&group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_file(data, size);
    check_engine(data, size);
    check_group(data, size);
    return 0;
}
