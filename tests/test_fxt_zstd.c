/* Zstandard data on their way in: frames, what is between them, and what is wrong with them.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/pack.h"
#include "tests/support/whole_input.h"

/* Several blocks of 128 KiB, half of it noise.  */
static uint8_t plain[400000];
static uint8_t packed[500000];
static size_t packed_length;

static void make_bytes(void)
{
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof plain; i++) {
        state = state * 1103515245 + 12345;
        plain[i] = i / 64 % 2 ? (uint8_t)(state >> 24) : 'a';
    }
    packed_length = pack_zstd(plain, sizeof plain, true, packed, sizeof packed);
}

START_TEST(unpacks_a_frame)
{
    for (int with_size = 0; with_size < 2; with_size++) {
        struct source source;
        struct fxt_input *input;
        size_t total;

        packed_length = pack_zstd(plain, sizeof plain, with_size, packed, sizeof packed);
        input = open_bytes(&source, packed, packed_length, unpack_pieces[_i].step);
        ck_assert_int_eq(fxt_input_compression(input), FXT_PLAIN); /* not looked at yet */
        ck_assert_int_eq(read_to_end(input, unpack_pieces[_i].size, &total), FXT_END);
        ck_assert_uint_eq(total, sizeof plain);
        ck_assert_mem_eq(unpacked, plain, sizeof plain);
        ck_assert_int_eq(fxt_input_compression(input), FXT_ZSTD);
        ck_assert(!fxt_input_is_cut(input));
        ck_assert_uint_eq(fxt_input_raw_bytes(input), packed_length);
        fxt_input_close(input);
    }
}
END_TEST

/* Parts by letter: a and b are packed with their size, A and B without, e is nothing packed, s and
 * S are skippable frames of the first and the last kind, g is a gzip member, 0 are zero bytes, ! is
 * garbage, and ~ garbage that begins like a frame.  */
static const struct {
    const char *parts;
    enum fxt_status status;
    const char *unpacked;
    const char *message;
} joined[] = {
    { "a", FXT_END, "a", "" },
    { "aB", FXT_END, "aB", "" },
    { "AbaB", FXT_END, "AbaB", "" },
    { "e", FXT_END, "", "" },
    { "aeb", FXT_END, "ab", "" },
    { "s", FXT_END, "", "" },
    { "sa", FXT_END, "a", "" }, /* as pzstd writes */
    { "SasAS", FXT_END, "aA", "" },
    { "a0", FXT_FATAL, "a", "bytes after the end of the zstd data are not zstd" },
    { "a!", FXT_FATAL, "a", "bytes after the end of the zstd data are not zstd" },
    { "as!", FXT_FATAL, "a", "bytes after the end of the zstd data are not zstd" },
    { "ag", FXT_FATAL, "a", "bytes after the end of the zstd data are not zstd" },
    { "a~", FXT_FATAL, "a", "corrupt zstd data" },
    { "s~", FXT_FATAL, "", "corrupt zstd data" },
};

static size_t join(const char *parts, uint8_t *bytes, size_t size)
{
    /* The first five bytes begin a frame, with a reserved bit set; the others begin nothing.  */
    static const uint8_t garbage[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x0f, 'g',
                                       'a',  'r',  'b',  'a',  'g',  'e' };
    size_t used = 0;

    for (; *parts; parts++) {
        switch (*parts) {
        case '0':
            memset(bytes + used, 0, 5);
            used += 5;
            break;
        case '!':
            memcpy(bytes + used, garbage + 5, 7);
            used += 7;
            break;
        case '~':
            memcpy(bytes + used, garbage, sizeof garbage);
            used += sizeof garbage;
            break;
        case 's':
        case 'S':
            used += pack_skippable(*parts == 's' ? 0 : 300, *parts == 's' ? 0 : 15, bytes + used,
                                   size - used);
            break;
        case 'g':
            used += pack_gzip(parts, 1, bytes + used, size - used);
            break;
        default:
            used += pack_zstd(parts, *parts == 'e' ? 0 : 1, *parts >= 'a', bytes + used,
                              size - used);
            break;
        }
    }
    return used;
}

START_TEST(reads_frame_after_frame)
{
    uint8_t bytes[2048];
    size_t length = join(joined[_i].parts, bytes, sizeof bytes);

    check_unpacks_to(bytes, length, joined[_i].status, joined[_i].unpacked, joined[_i].message);
}
END_TEST

/* Two bytes are the fewest that say zstd; a skippable frame at the start takes four.  */
START_TEST(knows_frames_cut_anywhere)
{
    uint8_t bytes[2048];
    size_t ends[4] = { 0 }; /* of the first 0..3 frames */
    size_t total = 0;
    bool cut;

    ends[1] = join("a", bytes, sizeof bytes);
    ends[2] = ends[1] + join("S", bytes + ends[1], sizeof bytes - ends[1]);
    ends[3] = ends[2] + join("B", bytes + ends[2], sizeof bytes - ends[2]);
    for (size_t length = 2; length <= ends[3]; length++) {
        bool boundary = length == ends[1] || length == ends[2] || length == ends[3];

        ck_assert_int_eq(read_bytes(bytes, length, 0, &total, &cut), FXT_END);
        ck_assert_int_eq(cut, !boundary);
        ck_assert_mem_eq(unpacked, "aB", total);
        ck_assert(length < ends[1] || total >= 1);
    }
    ck_assert_uint_eq(total, 2);
    for (size_t length = 5; length < ends[2] - ends[1]; length++) {
        ck_assert_int_eq(read_bytes(bytes + ends[1], length, 1, &total, &cut), FXT_END);
        ck_assert(cut);
        ck_assert_uint_eq(total, 0);
    }
}
END_TEST

START_TEST(gives_what_a_cut_frame_holds)
{
    size_t total = 0, last = 0;
    bool cut;

    for (size_t length = 2; length < packed_length; length += length < 40 ? 1 : 1999) {
        ck_assert_int_eq(read_bytes(packed, length, 0, &total, &cut), FXT_END);
        ck_assert(cut);
        ck_assert_uint_ge(total, last);
        ck_assert_mem_eq(unpacked, plain, total);
        last = total;
    }
    ck_assert_uint_ge(last, (size_t)3 * 131072); /* all blocks but the last */
    ck_assert_int_eq(read_bytes(packed, packed_length - 1, 0, &total, &cut), FXT_END);
    ck_assert(cut);
    ck_assert_uint_eq(total, sizeof plain); /* only the checksum is cut */
}
END_TEST

START_TEST(notices_a_wrong_checksum)
{
    size_t total;
    bool cut;

    packed[packed_length - 1 - (size_t)_i] ^= 1;
    ck_assert_int_eq(read_bytes(packed, packed_length, 0, &total, &cut), FXT_FATAL);
    ck_assert_str_eq(unpack_error.message, "corrupt zstd data");
    ck_assert_int_eq(unpack_error.system_errno, 0);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_uint_eq(unpack_error.offset, total);
    ck_assert_mem_eq(unpacked, plain, total);
    ck_assert(!cut);
}
END_TEST

/* Any flipped bit shows behind the frame header's first byte, which has an unused one; the blocks
 * before that of the bit are given.  */
START_TEST(gives_what_comes_before_corrupt_data)
{
    for (size_t at = 5; at < packed_length; at += 997) {
        size_t total;
        bool cut;
        enum fxt_status status;

        packed[at] ^= 0x10;
        status = read_bytes(packed, packed_length, 0, &total, &cut);
        ck_assert_msg(status == FXT_FATAL || cut, "a flip at %zu goes unnoticed", at);
        ck_assert_uint_ge(total, at / (packed_length / 3 + 1) * 131072);
        if (at > packed_length / 2)
            ck_assert_mem_eq(unpacked, plain, 131072);
        packed[at] ^= 0x10;
    }
}
END_TEST

/* One block of bytes as they are, which is less than the frame has promised: that shows at its end,
 * and all before its last byte is given, in whatever pieces the frame comes.  */
START_TEST(gives_the_same_of_a_broken_promise_in_any_pieces)
{
    static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x00, 100, 0,   0,
                                     0,    0x61, 0,    0,    'a',  'b',  'c', 'd', 'e',
                                     'f',  'g',  'h',  'i',  'j',  'k',  'l' };

    for (size_t piece = 0; piece < sizeof frame; piece++) {
        size_t total;
        bool cut;

        ck_assert_int_eq(read_bytes(frame, sizeof frame, piece, &total, &cut), FXT_FATAL);
        ck_assert_uint_eq(total, 11);
        ck_assert_mem_eq(unpacked, "abcdefghijk", 11);
    }
}
END_TEST

START_TEST(counts_corruption_as_damage_of_the_trace)
{
    static const uint8_t magic[] = { 0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00 };
    uint8_t bytes[64];
    size_t length = pack_zstd(magic, sizeof magic, true, bytes, sizeof bytes);

    bytes[length - 1] ^= 1; /* the checksum */
    check_corrupt_trace(bytes, length, FXT_ZSTD, "corrupt zstd data");
}
END_TEST

/* Frame headers without single segment: descriptor 0, window descriptor exponent << 3 | mantissa
 * for a window of 2^(10 + exponent) * (1 + mantissa / 8) bytes; then an empty last block.  */
static const struct {
    uint8_t exponent, mantissa;
    bool accepted;
} windows[] = { { 0, 0, true },   { 13, 0, true },  { 17, 0, true },
                { 17, 1, false }, { 18, 0, false }, { 31, 7, false } };

START_TEST(bounds_the_window)
{
    const uint8_t bytes[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0, (uint8_t)(windows[_i].exponent << 3 | windows[_i].mantissa),
        1,    0,    0
    };
    size_t total;
    bool cut;

    ck_assert_int_eq(read_bytes(bytes, sizeof bytes, 0, &total, &cut),
                     windows[_i].accepted ? FXT_END : FXT_FATAL);
    ck_assert_uint_eq(total, 0);
    if (!windows[_i].accepted)
        ck_assert_str_eq(unpack_error.message,
                         "zstd data that take a window of more than 128 MiB; unpack "
                         "them first: zstd -d --long=31");
}
END_TEST

START_TEST(says_that_a_dictionary_is_needed)
{
    /* Dictionary id 7 in one byte.  */
    static const uint8_t bytes[] = { 0x28, 0xb5, 0x2f, 0xfd, 1, 0, 7, 1, 0, 0 };
    size_t total;
    bool cut;

    ck_assert_int_eq(read_bytes(bytes, sizeof bytes, 0, &total, &cut), FXT_FATAL);
    ck_assert_str_eq(unpack_error.message, "zstd data that need a dictionary; unpack them first: "
                                           "zstd -d -D DICTIONARY");
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fxt_zstd");
    TCase *tcase = tcase_create("zstd");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_bytes, NULL);
    tcase_add_loop_test(tcase, unpacks_a_frame, 0, UNPACK_PIECES);
    tcase_add_loop_test(tcase, reads_frame_after_frame, 0, ROWS(joined));
    tcase_add_test(tcase, knows_frames_cut_anywhere);
    tcase_add_test(tcase, gives_what_a_cut_frame_holds);
    tcase_add_loop_test(tcase, notices_a_wrong_checksum, 0, 4);
    tcase_add_test(tcase, gives_what_comes_before_corrupt_data);
    tcase_add_test(tcase, gives_the_same_of_a_broken_promise_in_any_pieces);
    tcase_add_test(tcase, counts_corruption_as_damage_of_the_trace);
    tcase_add_loop_test(tcase, bounds_the_window, 0, ROWS(windows));
    tcase_add_test(tcase, says_that_a_dictionary_is_needed);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
