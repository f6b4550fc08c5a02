/* Trace-engine buffers as a trace (docs/formats/trace-provider.md sections 3 and 5).  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/pack.h"
#include "tests/support/parts.h"

enum { ONESHOT = 0, CIRCULAR = 1, STREAMING = 2 };

/* The split of 4096 bytes that the notes give.  */
enum { TOTAL = 4096, HEADER = 128, DURABLE = 256, ROLLING = 1856 };

static struct bytes durable, rolling[2]; /* records */
static struct bytes buffer, wanted, got;

static void make_records(void)
{
    durable.length = rolling[0].length = rolling[1].length = 0;
    put_init(&durable, 1000000000);
    put_string(&durable, 1, "zero");
    put_string(&durable, 2, "one");
    for (unsigned i = 0; i < 3; i++)
        put_event(&rolling[0], 1, 100 + i);
    for (unsigned i = 0; i < 5; i++)
        put_event(&rolling[1], 2, 200 + i);
}

struct ends {
    uint64_t durable;
    uint64_t rolling[2];
};

static void put_header(struct bytes *bytes, unsigned mode, uint64_t wrapped, struct ends ends,
                       uint64_t dropped)
{
    bytes->length = 0;
    put_word(bytes, UINT64_C(0x627566EE68656164));
    put_word(bytes, (uint64_t)mode << 16 | wrapped << 32);
    put_word(bytes, TOTAL);
    put_word(bytes, mode == ONESHOT ? 0 : DURABLE);
    put_word(bytes, mode == ONESHOT ? TOTAL - HEADER : ROLLING);
    put_word(bytes, ends.durable);
    put_word(bytes, ends.rolling[0]);
    put_word(bytes, ends.rolling[1]);
    put_word(bytes, dropped);
    put_zeros(bytes, 56);
}

static void put_padded(struct bytes *bytes, const struct bytes *records, size_t room)
{
    put_bytes(bytes, records);
    put_zeros(bytes, room - records->length);
}

/* A buffer in which the parts hold these records, or none; their ends are written down or not.  */
static void put_buffer(unsigned mode, uint64_t wrapped, const char *parts, bool ends)
{
    struct ends at = { 0 };
    static const struct bytes none;
    bool has_0 = strchr(parts, '0'), has_1 = strchr(parts, '1');

    if (ends)
        at = (struct ends){ mode == ONESHOT ? 0 : durable.length,
                            { has_0 ? rolling[0].length : 0, has_1 ? rolling[1].length : 0 } };
    put_header(&buffer, mode, wrapped, at, 0);
    if (mode == ONESHOT) {
        put_padded(&buffer, &rolling[0], TOTAL - HEADER);
        return;
    }
    put_padded(&buffer, &durable, DURABLE);
    put_padded(&buffer, has_0 ? &rolling[0] : &none, ROLLING);
    put_padded(&buffer, has_1 ? &rolling[1] : &none, ROLLING);
    ck_assert_uint_eq(buffer.length, TOTAL);
}

/* The archive: d durable, 0 and 1 the rolling buffers, ! a provider event.  */
static void want(const char *parts)
{
    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "trace-engine buffer");
    for (; *parts; parts++) {
        if (*parts == '!')
            put_loss(&wanted, 1);
        else
            put_bytes(&wanted, *parts == 'd' ? &durable : &rolling[*parts - '0']);
    }
}

static int as_file(const struct bytes *bytes)
{
    int fd = memfd_create("buffer", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes->data, bytes->length), (ssize_t)bytes->length);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* As a file, then from a pipe in steps, and packed: always the same.  check() looks at the input
 * after each.  */
static void read_all_ways(const char *what, enum fxt_status status,
                          void (*check)(const struct fxt_input *input))
{
    static uint8_t packed[65536];
    size_t packed_length = pack_zstd(buffer.data, buffer.length, true, packed, sizeof packed);

    for (size_t way = 0; way < 6; way++) {
        static const size_t sizes[] = { 65536, 1, 7, 4096, 65536, 3 };
        struct source source = { buffer.data, buffer.length, way };
        struct fxt_input *input;
        int fd = -1;

        if (way == 0 || way == 5) {
            fd = as_file(&buffer);
            ck_assert_int_eq(fxt_input_open_fd(fd, &input, NULL), FXT_OK);
        } else {
            if (way == 4)
                source = (struct source){ packed, packed_length, 0 };
            ck_assert_int_eq(fxt_input_open_callback(read_source, &source, &input, NULL), FXT_OK);
        }
        ck_assert_int_eq(read_trace(input, sizes[way], &got), status);
        same_bytes(&got, &wanted, what);
        ck_assert_int_eq(fxt_input_part(input, 0)->format, FXT_FORMAT_ENGINE_BUFFER);
        if (check)
            check(input);
        fxt_input_close(input);
        if (fd >= 0)
            (void)close(fd);
    }
}

static void check_undamaged(const struct fxt_input *input)
{
    ck_assert_uint_eq(fxt_input_part_count(input), 1);
    ck_assert_uint_eq(fxt_input_part(input, 0)->damage_count, 0);
    ck_assert_uint_eq(fxt_input_part(input, 0)->lost_bytes, 0);
}

/* ---- Order ---- */

static const struct {
    const char *name;
    unsigned mode;
    bool ends; /* whether the header says where records end */
    uint64_t wrapped;
    const char *parts; /* which rolling buffers have records */
    const char *wanted;
} orders[] = {
    { "oneshot, stopped", ONESHOT, true, 0, "0", "0" },
    { "oneshot, killed", ONESHOT, false, 0, "0", "0" },
    { "circular, not wrapped", CIRCULAR, true, 0, "0", "d0" },
    { "circular, wrapped once", CIRCULAR, true, 1, "01", "d01" },
    { "circular, wrapped twice", CIRCULAR, true, 2, "01", "d10" },
    { "circular, wrapped 2^32 - 1 times", CIRCULAR, true, 0xffffffff, "01", "d01" },
    { "circular, wrapped, newer half empty", CIRCULAR, true, 1, "0", "d0" },
    { "circular, nothing but durable", CIRCULAR, true, 0, "", "d" },
    { "streaming, older half saved", STREAMING, true, 2, "0", "d0" },
    { "streaming, older half not saved", STREAMING, true, 2, "01", "d10" },
    { "streaming, wrapped three times", STREAMING, true, 3, "01", "d01" },
    { "circular, killed before it wrapped", CIRCULAR, false, 0, "0", "d0" },
    { "streaming, killed before it wrapped", STREAMING, false, 0, "0", "d0" },
    { "killed, both halves walked", CIRCULAR, false, 0, "01", "d01" },
    { "killed, wrapped count known", STREAMING, false, 2, "01", "d10" },
};

START_TEST(reads_durable_older_newer)
{
    put_buffer(orders[_i].mode, orders[_i].wrapped, orders[_i].parts, orders[_i].ends);
    want(orders[_i].wanted);
    read_all_ways(orders[_i].name, FXT_END, check_undamaged);
}
END_TEST

/* The end that was written at the last switch tells which half is older, whatever wrapped_count
 * says.  */
START_TEST(orders_the_halves_of_a_provider_killed_after_a_switch)
{
    for (uint64_t wrapped = 0; wrapped < 3; wrapped++) {
        struct ends ends = { 0, { 0, 0 } };

        ends.rolling[_i] = rolling[_i].length;
        put_buffer(CIRCULAR, wrapped, "01", false);
        put_header(&got, CIRCULAR, wrapped, ends, 0);
        memcpy(buffer.data, got.data, HEADER);
        want(_i ? "d10" : "d01");
        read_all_ways("killed after a switch", FXT_END, check_undamaged);
    }
}
END_TEST

START_TEST(delivers_what_the_records_say)
{
    struct reading result;
    struct source source;
    char text[4096], damage[256];

    put_buffer(CIRCULAR, 2, "01", true);
    ck_assert_int_eq(describe_input(open_bytes(&source, buffer.data, buffer.length, 0), NULL, text,
                                    sizeof text, &result),
                     FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(damage, "");
    ck_assert_uint_eq(result.records, 2 + 3 + 8);
    ck_assert_ptr_nonnull(strstr(text, "event p1 t=204"));
    ck_assert_ptr_nonnull(strstr(text, "one"));
    ck_assert(strstr(text, "t=204") < strstr(text, "t=100")); /* older first */
}
END_TEST

static void check_dropped(const struct fxt_input *input)
{
    ck_assert_uint_eq(fxt_input_part(input, 0)->dropped_records, UINT64_MAX);
    check_undamaged(input);
}

START_TEST(tells_of_dropped_records)
{
    put_buffer(CIRCULAR, 0, "0", true);
    memset(buffer.data + 64, 0xff, 8);
    want("!d0");
    read_all_ways("dropped records", FXT_END, check_dropped);
}
END_TEST

/* The original's comparison loses it.  */
START_TEST(reads_a_last_record_that_fills_the_buffer)
{
    rolling[0].length = 0;
    while (rolling[0].length < TOTAL - HEADER)
        put_event(&rolling[0], 1, rolling[0].length);
    ck_assert_uint_eq(rolling[0].length, TOTAL - HEADER);
    put_buffer(ONESHOT, 0, "0", _i);
    want("0");
    read_all_ways("full", FXT_END, check_undamaged);
}
END_TEST

/* ---- Damage ---- */

static void check_overrun(const struct fxt_input *input)
{
    const struct fxt_part *part = fxt_input_part(input, 0);

    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_str_eq(part->damage.message, "durable buffer: a record of 32760 bytes with 32 left");
    ck_assert_uint_eq(part->damage.offset, HEADER + 16);
    ck_assert_uint_eq(part->lost_bytes, 32);
}

static void check_size_zero(const struct fxt_input *input)
{
    const struct fxt_part *part = fxt_input_part(input, 0);

    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_str_eq(part->damage.message, "durable buffer: a record of 0 bytes");
    ck_assert_uint_eq(part->damage.offset, HEADER + 16);
    ck_assert_uint_eq(part->lost_bytes, 32);
}

START_TEST(keeps_damage_to_its_part)
{
    struct bytes whole = durable;
    bool overrun = _i & 1;

    put_buffer(CIRCULAR, 1, "01", true);
    ck_assert_uint_eq(durable.length, 48);
    buffer.data[HEADER + 16] = overrun ? 0xf2 : 2; /* the size of the first string record */
    buffer.data[HEADER + 17] = overrun ? 0xff : 0;
    durable.length = 16;
    want("d01");
    read_all_ways("a broken record", FXT_END, overrun ? check_overrun : check_size_zero);
    durable = whole;
}
END_TEST

static void check_two(const struct fxt_input *input)
{
    const struct fxt_part *part = fxt_input_part(input, 0);

    ck_assert_uint_eq(part->damage_count, 2);
    ck_assert_str_eq(part->damage.message, "rolling buffer 0: a record of 0 bytes");
    ck_assert_uint_eq(part->damage.offset, HEADER + DURABLE);
    ck_assert_uint_eq(part->lost_bytes, rolling[0].length + rolling[1].length);
}

START_TEST(counts_each_broken_part)
{
    put_buffer(STREAMING, 1, "01", true);
    buffer.data[HEADER + DURABLE] = 4; /* size 0 */
    buffer.data[HEADER + DURABLE + ROLLING] = 4;
    want("d");
    read_all_ways("two broken parts", FXT_END, check_two);
}
END_TEST

START_TEST(counts_a_broken_part_as_damage_of_the_trace)
{
    struct reading result;
    struct source source;
    char text[4096], damage[256];

    put_buffer(STREAMING, 1, "01", true);
    buffer.data[HEADER + DURABLE] = 4; /* size 0 */
    ck_assert_int_eq(describe_input(open_bytes(&source, buffer.data, buffer.length, 0), NULL, text,
                                    sizeof text, &result),
                     FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(damage, "corrupt_region=1@88+0"); /* behind 40 bytes and the durable ones */
    ck_assert_uint_eq(result.records, 2 + 3 + 5);
}
END_TEST

/* Zero words where records should be, before a written end: shown as elsewhere.  */
START_TEST(passes_zero_words_on)
{
    struct bytes gap = { .length = 0 };

    put_event(&gap, 1, 100);
    put_zeros(&gap, 16);
    put_event(&gap, 1, 101);
    rolling[0] = gap;
    put_buffer(CIRCULAR, 0, "0", true);
    want("d0");
    read_all_ways("zero words", FXT_END, check_undamaged);
    /* Where no end was written they are the end.  */
    put_buffer(CIRCULAR, 0, "0", false);
    rolling[0].length = 32;
    want("d0");
    read_all_ways("zero words end a walk", FXT_END, check_undamaged);
}
END_TEST

static void check_extra(const struct fxt_input *input)
{
    const struct fxt_part *part = fxt_input_part(input, 0);

    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_str_eq(part->damage.message, "24 bytes after its end");
    ck_assert_uint_eq(part->damage.offset, TOTAL);
    ck_assert_uint_eq(part->lost_bytes, 24);
}

START_TEST(tells_of_bytes_behind_the_buffer)
{
    put_buffer(CIRCULAR, 2, "01", true);
    put_zeros(&buffer, 24);
    want("d10");
    read_all_ways("bytes after", FXT_END, check_extra);
}
END_TEST

static void check_one_more(const struct fxt_input *input)
{
    ck_assert_str_eq(fxt_input_part(input, 0)->damage.message, "1 byte after its end");
}

START_TEST(counts_one_byte_as_one)
{
    put_buffer(CIRCULAR, 2, "01", true);
    buffer.data[buffer.length++] = 0;
    want("d10");
    read_all_ways("a byte after", FXT_END, check_one_more);
}
END_TEST

/* Cut anywhere: records of what is there, in the same order, and one damage.  */
START_TEST(gives_the_whole_records_of_a_buffer_cut_anywhere)
{
    static const char *const order[] = { "d10", "d01" };
    struct bytes whole[3] = { rolling[0], rolling[1], durable };
    const size_t starts[3] = { HEADER + DURABLE, HEADER + DURABLE + ROLLING, HEADER };

    put_buffer(CIRCULAR, (uint64_t)_i, "01", true);
    for (size_t length = HEADER; length < TOTAL; length += length < 700 ? 1 : 97) {
        struct bytes *parts[3] = { &rolling[0], &rolling[1], &durable };

        for (int i = 0; i < 3; i++) { /* what is left of each, in whole records */
            size_t left = length > starts[i] ? length - starts[i] : 0;
            static const size_t durable_ends[] = { 0, 16, 32, 48 };

            *parts[i] = whole[i];
            if (left >= parts[i]->length)
                continue;
            parts[i]->length = left / 32 * 32;
            for (int k = 0; i == 2 && k < 4; k++)
                parts[i]->length = left >= durable_ends[k] ? durable_ends[k] : parts[i]->length;
        }
        want(order[_i % 2]);
        for (int way = 0; way < 2; way++) {
            struct bytes cut = buffer;
            struct source source = { buffer.data, length, 0 };
            const struct fxt_part *part;
            struct fxt_input *input;
            int fd;

            cut.length = length;
            fd = as_file(&cut);
            if (way == 0)
                ck_assert_int_eq(fxt_input_open_fd(fd, &input, NULL), FXT_OK);
            else
                ck_assert_int_eq(fxt_input_open_callback(read_source, &source, &input, NULL),
                                 FXT_OK);
            ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
            same_bytes(&got, &wanted, "cut");
            part = fxt_input_part(input, 0);
            ck_assert_uint_eq(part->damage_count, 1);
            ck_assert_msg(strncmp(part->damage.message, "cut off: ", 9) == 0, "%s",
                          part->damage.message);
            ck_assert_uint_eq(part->damage.offset, length);
            ck_assert_uint_ge(part->lost_bytes, TOTAL - length); /* and part of a record */
            ck_assert_uint_lt(part->lost_bytes, TOTAL - length + 32);
            fxt_input_close(input);
            (void)close(fd);
        }
    }
}
END_TEST

/* ---- The header ---- */

static struct fxt_error error;

static enum fxt_status read_error(const uint8_t *bytes, size_t length)
{
    struct source source;
    struct fxt_input *input = open_bytes(&source, bytes, length, 0);
    enum fxt_status status = FXT_OK;
    uint8_t block[4096];
    size_t part;

    error.message[0] = '\0';
    got.length = 0;
    while (status == FXT_OK) {
        status = fxt_input_read(input, block, sizeof block, &part, &error);
        memcpy(got.data + got.length, block, part);
        got.length += part;
    }
    fxt_input_close(input);
    return status;
}

START_TEST(refuses_half_a_header)
{
    put_buffer(CIRCULAR, 0, "0", true);
    for (size_t length = 8; length < HEADER; length++) {
        ck_assert_int_eq(read_error(buffer.data, length), FXT_FATAL);
        ck_assert_str_eq(error.message,
                         "a trace-engine buffer that cannot be read: it is cut off in its header");
        ck_assert_int_eq(error.system_errno, 0);
    }
}
END_TEST

static const struct {
    const char *message;
    size_t offset;
    uint64_t value; /* of 8 bytes there */
    unsigned mode;
} wrong[] = {
    { "its version is not 0", 8, CIRCULAR << 16 | 1, CIRCULAR },
    { "its mode is none of oneshot, circular and streaming", 8, 3 << 16, CIRCULAR },
    { "a size is not a multiple of 8", 16, TOTAL + 4, CIRCULAR },
    { "a size is not a multiple of 8", 24, DURABLE + 1, CIRCULAR },
    { "a size is not a multiple of 8", 32, ROLLING + 2, CIRCULAR },
    { "its size is not 128 bytes to 4 GiB", 16, 120, ONESHOT },
    { "its size is not 128 bytes to 4 GiB", 16, (UINT64_C(1) << 32) + 8, ONESHOT },
    { "the sizes of its parts do not add up to its own", 16, TOTAL + 8, CIRCULAR },
    { "the sizes of its parts do not add up to its own", 24, DURABLE - 8, CIRCULAR },
    { "the sizes of its parts do not add up to its own", 32, ROLLING + 8, CIRCULAR },
    { "the sizes of its parts do not add up to its own", 32, UINT64_C(1) << 63, CIRCULAR },
    { "the sizes of its parts do not add up to its own", 24, UINT64_C(0) - 8, CIRCULAR },
    { "the sizes of its parts do not add up to its own", 24, 8, ONESHOT },
    { "the sizes of its parts do not add up to its own", 32, ROLLING, ONESHOT },
    { "the sizes of its parts do not add up to its own", 8, STREAMING << 16, ONESHOT },
    { "records do not end at a multiple of 8", 40, 12, CIRCULAR },
    { "records do not end at a multiple of 8", 48, 1, CIRCULAR },
    { "records do not end at a multiple of 8", 56, 4, CIRCULAR },
    { "records end after the room for them", 40, DURABLE + 8, CIRCULAR },
    { "records end after the room for them", 48, ROLLING + 8, CIRCULAR },
    { "records end after the room for them", 56, UINT64_C(0) - 8, CIRCULAR },
    { "records end after the room for them", 48, TOTAL - HEADER + 8, ONESHOT },
    { "records end after the room for them", 40, 8, ONESHOT },
};

START_TEST(refuses_a_header_that_contradicts_itself)
{
    char message[200];
    struct source source;
    struct fxt_input *input;
    struct reading result;
    char text[64];

    put_buffer(wrong[_i].mode, 0, "0", true);
    for (size_t i = 0; i < 8; i++)
        buffer.data[wrong[_i].offset + i] = (uint8_t)(wrong[_i].value >> (8 * i));
    ck_assert_int_eq(read_error(buffer.data, buffer.length), FXT_FATAL);
    (void)snprintf(message, sizeof message, "a trace-engine buffer that cannot be read: %s",
                   wrong[_i].message);
    ck_assert_str_eq(error.message, message);
    ck_assert_uint_eq(got.length, 0);
    /* So does the reader.  */
    input = open_bytes(&source, buffer.data, buffer.length, 0);
    ck_assert_int_eq(describe_input(input, NULL, text, sizeof text, &result), FXT_FATAL);
    ck_assert_str_eq(result.error.message, message);
    ck_assert_uint_eq(result.records, 0);
}
END_TEST

/* What a flip of a bit may do: refused; other records, because an end or the order is another; the
 * same records.  */
enum effect { NOT_A_BUFFER, REFUSED, OTHER, SAME };

static enum effect effect_of(unsigned bit)
{
    static const enum effect words[16] = { NOT_A_BUFFER, REFUSED, REFUSED, REFUSED, REFUSED, OTHER,
                                           OTHER,        OTHER,   OTHER,   SAME,    SAME,    SAME,
                                           SAME,         SAME,    SAME,    SAME };
    unsigned word = bit / 64, in_word = bit % 64;

    if (word == 1 && in_word >= 24)
        return in_word < 32 ? SAME : OTHER; /* reserved; wrapped_count */
    if (word >= 5 && word <= 7 && (in_word < 3 || in_word > 12))
        return REFUSED; /* no multiple of 8, or behind the room */
    return words[word];
}

START_TEST(survives_every_flipped_bit_of_the_header)
{
    struct bytes same;

    put_buffer(CIRCULAR, 2, "01", true);
    want("d10");
    same = wanted;
    for (unsigned bit = 0; bit < 8 * HEADER; bit++) {
        enum effect effect = effect_of(bit);
        enum fxt_status status;

        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (bit == 80 || bit == 81) { /* circular to streaming is fine; to oneshot, or 3, is not */
            buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            continue;
        }
        status = read_error(buffer.data, buffer.length);
        if (effect == REFUSED || effect == NOT_A_BUFFER)
            ck_assert_msg(status == (effect == REFUSED ? FXT_FATAL : FXT_END), "bit %u", bit);
        else
            ck_assert_msg(status == FXT_END || (effect == OTHER && status == FXT_FATAL), "bit %u",
                          bit);
        if (effect == NOT_A_BUFFER)
            same_bytes(&got, &buffer, "no buffer");
        if (effect == SAME)
            same_bytes(&got, &same, "reserved");
        if (effect == OTHER && status == FXT_END) {
            ck_assert_uint_ge(got.length, 40);
            ck_assert_mem_eq(got.data, same.data, 40);
        }
        buffer.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

/* ---- Large ones ---- */

/* From a pipe the newer half would have to wait in memory for the older one.  */
START_TEST(holds_no_more_than_64_mib)
{
    const uint64_t half = UINT64_C(72) << 20;
    const uint64_t total = HEADER + DURABLE + 2 * half;
    struct fxt_input *input;
    struct source source;
    int fd;

    put_header(&buffer, CIRCULAR, 2, (struct ends){ durable.length, { half, 32 } }, 0);
    for (size_t i = 0; i < 8; i++) {
        buffer.data[16 + i] = (uint8_t)(total >> (8 * i));
        buffer.data[32 + i] = (uint8_t)(half >> (8 * i));
    }
    put_bytes(&buffer, &durable);
    input = open_bytes(&source, buffer.data, buffer.length, 0);
    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_FATAL);
    ck_assert_uint_eq(got.length, 0);
    fxt_input_close(input);
    ck_assert_int_eq(read_error(buffer.data, buffer.length), FXT_FATAL);
    ck_assert_ptr_nonnull(strstr(error.message, "pass it as an uncompressed file"));

    /* A file can be gone back in: the older half, at its end, comes first.  */
    fd = as_file(&buffer);
    ck_assert_int_eq(ftruncate(fd, (off_t)total), 0);
    rolling[1].length = 32;
    ck_assert_int_eq(pwrite(fd, rolling[1].data, 32, (off_t)(HEADER + DURABLE + half)), 32);
    ck_assert_int_eq(fxt_input_open_fd(fd, &input, NULL), FXT_OK);
    want("d1");
    got.length = 0;
    while (got.length < wanted.length) {
        size_t length;

        ck_assert_int_eq(
            fxt_input_read(input, got.data + got.length, wanted.length - got.length, &length, NULL),
            FXT_OK);
        got.length += length;
    }
    same_bytes(&got, &wanted, "a large file");
    fxt_input_close(input);
    (void)close(fd);
}
END_TEST

/* A file that something stands before, up to where its descriptor is.  */
START_TEST(reads_a_file_from_where_it_stands)
{
    struct bytes shifted = { .length = 0 };
    struct fxt_input *input;
    int fd;

    put_buffer(CIRCULAR, 2, "01", true);
    put_zeros(&shifted, 1000);
    put_bytes(&shifted, &buffer);
    fd = as_file(&shifted);
    ck_assert_int_eq(lseek(fd, 1000, SEEK_SET), 1000);
    ck_assert_int_eq(fxt_input_open_fd(fd, &input, NULL), FXT_OK);
    want("d10");
    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
    same_bytes(&got, &wanted, "shifted");
    check_undamaged(input);
    fxt_input_close(input);
    (void)close(fd);
}
END_TEST

START_TEST(leads_back_to_the_buffer)
{
    struct source source;
    struct fxt_input *input;
    uint64_t at;
    size_t part;

    put_buffer(CIRCULAR, 2, "01", true);
    input = open_bytes(&source, buffer.data, buffer.length, 0);
    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
    for (size_t i = 0; i < got.length; i++) {
        bool stands = fxt_input_locate(input, i, &part, &at);

        ck_assert_int_eq(stands, i >= 40);
        if (stands)
            ck_assert_uint_eq(buffer.data[at], got.data[i]);
    }
    ck_assert(fxt_input_locate(input, 40 + durable.length, &part, &at));
    ck_assert_uint_eq(at, HEADER + DURABLE + ROLLING); /* the older half */
    fxt_input_close(input);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    enum fxt_status status = FXT_NO_MEMORY;

    put_buffer(CIRCULAR, 2, "01", true);
    for (unsigned long n = 1; status != FXT_END; n++) {
        struct source source = { buffer.data, buffer.length, 100 };
        struct fxt_error why = { .status = FXT_OK };
        struct fxt_input *input;
        uint8_t block[512];
        size_t length;

        allocation_fail_at(n);
        status = fxt_input_open_callback(read_source, &source, &input, &why);
        if (status == FXT_OK) {
            while ((status = fxt_input_read(input, block, sizeof block, &length, &why)) == FXT_OK)
                continue;
            fxt_input_close(input);
        }
        allocation_fail_at(0);
        ck_assert_msg(status == FXT_END || status == FXT_NO_MEMORY, "allocation %lu", n);
        ck_assert_int_eq(why.status, status == FXT_END ? FXT_OK : FXT_NO_MEMORY);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* What libfxttrace has where there is no record (libfxt/trace_format.h).  */
static void put_placeholder(struct bytes *bytes, uint64_t words)
{
    put_word(bytes, 5 | words << 4 | (words - 1) * 8 << 32 | UINT64_C(1) << 48);
    for (uint64_t i = 1; i < words; i++)
        put_word(bytes, i);
}

START_TEST(passes_placeholders_over)
{
    want("d0");
    put_placeholder(&durable, 2);
    rolling[0].length = 0;
    put_placeholder(&rolling[0], 1);
    for (unsigned i = 0; i < 3; i++) {
        put_event(&rolling[0], 1, 100 + i);
        put_placeholder(&rolling[0], 10 + i);
    }
    put_buffer(CIRCULAR, 0, "0", _i);
    read_all_ways("placeholders", FXT_END, check_undamaged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_engine");
    TCase *tcase = tcase_create("engine");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_records, NULL);
    tcase_add_loop_test(tcase, reads_durable_older_newer, 0, ROWS(orders));
    tcase_add_loop_test(tcase, orders_the_halves_of_a_provider_killed_after_a_switch, 0, 2);
    tcase_add_test(tcase, delivers_what_the_records_say);
    tcase_add_test(tcase, tells_of_dropped_records);
    tcase_add_loop_test(tcase, passes_placeholders_over, 0, 2);
    tcase_add_loop_test(tcase, reads_a_last_record_that_fills_the_buffer, 0, 2);
    tcase_add_loop_test(tcase, keeps_damage_to_its_part, 0, 2);
    tcase_add_test(tcase, counts_each_broken_part);
    tcase_add_test(tcase, counts_a_broken_part_as_damage_of_the_trace);
    tcase_add_test(tcase, passes_zero_words_on);
    tcase_add_test(tcase, tells_of_bytes_behind_the_buffer);
    tcase_add_test(tcase, counts_one_byte_as_one);
    tcase_add_loop_test(tcase, gives_the_whole_records_of_a_buffer_cut_anywhere, 1, 3);
    tcase_add_test(tcase, refuses_half_a_header);
    tcase_add_loop_test(tcase, refuses_a_header_that_contradicts_itself, 0, ROWS(wrong));
    tcase_add_test(tcase, survives_every_flipped_bit_of_the_header);
    tcase_add_test(tcase, holds_no_more_than_64_mib);
    tcase_add_test(tcase, reads_a_file_from_where_it_stands);
    tcase_add_test(tcase, leads_back_to_the_buffer);
    tcase_add_test(tcase, survives_every_failed_allocation);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
