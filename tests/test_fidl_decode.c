/* Decoding messages of fuchsia.memory.sampler.  Offsets in the tables below are those of the
 * vectors in tests/support/fidl_vectors.h.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "tests/support/fidl_vectors.h"
#include "tests/support/hex_text.h"

#define MOST 512u /* bytes of the longest message here */

static uint8_t bytes[MOST];
static struct fidl_message message;

/* Decode from a block of the exact size, so that a sanitizer sees every byte read behind it.  The
 * block stays until the next call.  */
static enum fidl_status decode_exactly(const uint8_t *from, size_t length)
{
    static uint8_t *copy;

    free(copy);
    copy = malloc(length ? length : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, from, length);
    return fidl_decode(length ? copy : copy + 1, length, &message);
}

static enum fidl_status decode_hex(const char *text)
{
    return decode_exactly(bytes, hex_bytes(text, bytes, sizeof bytes));
}

/* ---- What the vectors say ---- */

static const struct {
    const char *hex;
    enum fidl_method method;
    enum fidl_generation generation;
    size_t frame_count;
    uint64_t frames[2];
} records[] = {
    { VECTOR_ALLOCATION_1, FIDL_RECORD_ALLOCATION, FIDL_GENERATION_1, 2, { 0xaaaa, 0xbbbb } },
    { VECTOR_ALLOCATION_2, FIDL_RECORD_ALLOCATION, FIDL_GENERATION_2, 2, { 0xaaaa, 0xbbbb } },
    { VECTOR_DEALLOCATION_1, FIDL_RECORD_DEALLOCATION, FIDL_GENERATION_1, 1, { 0xcccc } },
    { VECTOR_DEALLOCATION_2, FIDL_RECORD_DEALLOCATION, FIDL_GENERATION_2, 1, { 0xcccc } },
};

START_TEST(decodes_records_of_both_generations)
{
    bool allocates = records[_i].method == FIDL_RECORD_ALLOCATION;

    ck_assert_int_eq(decode_hex(records[_i].hex), FIDL_OK);
    ck_assert_int_eq(message.method, records[_i].method);
    ck_assert_int_eq(message.generation, records[_i].generation);
    ck_assert_uint_eq(message.txid, 0);
    ck_assert(message.has_address && message.has_stack);
    ck_assert_uint_eq(message.address, 0x1122);
    ck_assert_int_eq(message.has_size, allocates);
    ck_assert_uint_eq(message.size, allocates ? 0x40 : 0);
    ck_assert_uint_eq(message.stack.count, records[_i].frame_count);
    for (size_t i = 0; i < records[_i].frame_count; i++)
        ck_assert_uint_eq(fidl_word(message.stack, i), records[_i].frames[i]);
    ck_assert(!message.has_name && !message.has_modules);
}
END_TEST

START_TEST(tells_generations_by_the_body_not_by_the_flags)
{
    size_t length = hex_bytes(records[_i].hex, bytes, sizeof bytes);

    bytes[6] ^= 0x80;
    ck_assert_int_eq(decode_exactly(bytes, length), FIDL_OK);
    ck_assert_int_eq(message.generation, records[_i].generation);
}
END_TEST

START_TEST(decodes_process_info)
{
    static const uint8_t build_id[20] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                          10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
    struct fidl_cursor modules;
    struct fidl_module module;
    struct fidl_segment segment;

    ck_assert_int_eq(decode_hex(VECTOR_PROCESS_INFO), FIDL_OK);
    ck_assert_int_eq(message.method, FIDL_SET_PROCESS_INFO);
    ck_assert_int_eq(message.generation, FIDL_GENERATION_1);
    ck_assert(message.has_name && message.has_modules);
    ck_assert_uint_eq(message.name_length, 3);
    ck_assert_mem_eq(message.name, "app", 3);

    modules = message.modules;
    ck_assert(fidl_module_next(&modules, &module));
    ck_assert_uint_eq(module.build_id_length, 20);
    ck_assert_mem_eq(module.build_id, build_id, 20);
    ck_assert(fidl_segment_next(&module.segments, &segment));
    ck_assert(segment.has_start_address && segment.has_size && segment.has_relative_address);
    ck_assert_uint_eq(segment.start_address, 0x10000);
    ck_assert_uint_eq(segment.size, 0x2000);
    ck_assert_uint_eq(segment.relative_address, 0x1000);
    ck_assert(!fidl_segment_next(&module.segments, &segment));
    ck_assert(!fidl_module_next(&modules, &module));
    ck_assert(!message.has_address && !message.has_stack && !message.has_size);
}
END_TEST

START_TEST(takes_the_generation_of_process_info_from_the_flags)
{
    size_t length = hex_bytes(VECTOR_PROCESS_INFO, bytes, sizeof bytes);

    bytes[6] = 0x80;
    ck_assert_int_eq(decode_exactly(bytes, length), FIDL_OK);
    ck_assert_int_eq(message.generation, FIDL_GENERATION_2);
}
END_TEST

START_TEST(ignores_flags_that_readers_ignore)
{
    size_t length = hex_bytes(VECTOR_ALLOCATION_1, bytes, sizeof bytes);

    bytes[0] = 9; /* txid */
    bytes[4] = 0xff;
    bytes[5] = 0xff;
    ck_assert_int_eq(decode_exactly(bytes, length), FIDL_OK);
    ck_assert_uint_eq(message.txid, 9);
}
END_TEST

/* ---- Tables that hold more or less ---- */

#define HEADER_ALLOCATION   "00000000 02008001 4d826977 9fdd0a6b "
#define HEADER_DEALLOCATION "00000000 02008001 ebbe4dc3 5eff3b50 "
#define HEADER_INFO         "00000000 02008001 8317e506 7155a068 "
#define ONES                "ffffffff ffffffff "
#define NUMBER_8            "08000000 00000000 " /* also the envelope of a number */
#define NONE                "00000000 00000000 "

START_TEST(leaves_out_what_an_empty_table_leaves_out)
{
    ck_assert_int_eq(decode_hex(HEADER_ALLOCATION NONE ONES), FIDL_OK);
    ck_assert_int_eq(message.generation, FIDL_GENERATION_2);
    ck_assert(!message.has_address && !message.has_stack && !message.has_size);

    ck_assert_int_eq(decode_hex(HEADER_INFO NONE ONES), FIDL_OK);
    ck_assert(!message.has_name && !message.has_modules);
}
END_TEST

START_TEST(reads_the_last_member_behind_absent_ones)
{
    ck_assert_int_eq(decode_hex(HEADER_ALLOCATION "03000000 00000000 " ONES NONE NONE NUMBER_8
                                                  "77000000 00000000"),
                     FIDL_OK);
    ck_assert(!message.has_address && !message.has_stack && message.has_size);
    ck_assert_uint_eq(message.size, 0x77);
}
END_TEST

START_TEST(has_no_stack_where_the_stack_table_is_empty)
{
    ck_assert_int_eq(decode_hex(HEADER_DEALLOCATION "02000000 00000000 " ONES NONE
                                                    "10000000 00000000 " NONE ONES),
                     FIDL_OK);
    ck_assert(!message.has_stack);
}
END_TEST

START_TEST(has_a_stack_of_no_frames)
{
    ck_assert_int_eq(decode_hex(HEADER_DEALLOCATION
                                "02000000 00000000 " ONES NONE "28000000 00000000 "
                                "01000000 00000000 " ONES "10000000 00000000 " NONE ONES),
                     FIDL_OK);
    ck_assert(message.has_stack);
    ck_assert_uint_eq(message.stack.count, 0);
}
END_TEST

START_TEST(skips_ordinals_that_it_does_not_know)
{
    /* 1 address, 3 unknown of two words, 4 absent, 5 unknown and inline, 6 unknown of one word */
    ck_assert_int_eq(decode_hex(HEADER_DEALLOCATION
                                "06000000 00000000 " ONES NUMBER_8 NONE "10000000 00000000 " NONE
                                "aabbccdd 00000100 " NUMBER_8 "22110000 00000000 "
                                "01020304 05060708 090a0b0c 0d0e0f10 1112131415161718"),
                     FIDL_OK);
    ck_assert(message.has_address && !message.has_stack && !message.has_size);
    ck_assert_uint_eq(message.address, 0x1122);
}
END_TEST

START_TEST(refuses_unknown_members_of_odd_size)
{
    ck_assert_int_eq(decode_hex(HEADER_DEALLOCATION "03000000 00000000 " ONES NONE NONE
                                                    "0c000000 00000000 " ONES "ffffffff 00000000"),
                     FIDL_BAD_ENVELOPE);
}
END_TEST

/* Two modules.  The first has segments and an unknown third member; of its segments the first has
 * a size and an unknown, inline fourth member, the second a start.  The second module is empty.  */
#define SPARSE_MODULES                                                                            \
    HEADER_INFO "02000000 00000000 " ONES NONE "b8000000 00000000 "                               \
                "02000000 00000000 " ONES "03000000 00000000 " ONES NONE ONES NONE                \
                "68000000 00000000 " NUMBER_8 "02000000 00000000 " ONES "04000000 00000000 " ONES \
                "01000000 00000000 " ONES NONE NUMBER_8 NONE                                      \
                "aabbccdd 00000100 00900000 00000000 " NUMBER_8                                   \
                "00700000 00000000 eeeeeeee eeeeeeee"

START_TEST(walks_over_unknown_members_of_modules_and_segments)
{
    struct fidl_cursor modules;
    struct fidl_module module;
    struct fidl_segment segment;

    ck_assert_int_eq(decode_hex(SPARSE_MODULES), FIDL_OK);
    modules = message.modules;
    ck_assert(fidl_module_next(&modules, &module));
    ck_assert_ptr_null(module.build_id);
    ck_assert_uint_eq(module.build_id_length, 0);
    ck_assert(fidl_segment_next(&module.segments, &segment));
    ck_assert(!segment.has_start_address && segment.has_size && !segment.has_relative_address);
    ck_assert_uint_eq(segment.size, 0x9000);
    ck_assert(fidl_segment_next(&module.segments, &segment));
    ck_assert(segment.has_start_address && !segment.has_size && !segment.has_relative_address);
    ck_assert_uint_eq(segment.start_address, 0x7000);
    ck_assert_uint_eq(segment.size, 0);
    ck_assert(!fidl_segment_next(&module.segments, &segment));

    ck_assert(fidl_module_next(&modules, &module));
    ck_assert(!fidl_segment_next(&module.segments, &segment));
    ck_assert(!fidl_module_next(&modules, &module));
}
END_TEST

/* ---- What is refused ---- */

static const struct {
    const char *name;
    const char *hex;
    size_t offset; /* of what is changed */
    size_t size;   /* bytes of it */
    uint64_t value;
    enum fidl_status status;
} bad[] = {
    { "magic 0", VECTOR_ALLOCATION_1, 7, 1, 0, FIDL_BAD_MAGIC },
    { "magic 2", VECTOR_ALLOCATION_2, 7, 1, 2, FIDL_BAD_MAGIC },
    { "wire format 1", VECTOR_ALLOCATION_1, 4, 1, 0, FIDL_BAD_WIRE_FORMAT },
    { "other flags only", VECTOR_PROCESS_INFO, 4, 1, 0xfd, FIDL_BAD_WIRE_FORMAT },
    { "ordinal", VECTOR_ALLOCATION_1, 8, 8, 1, FIDL_UNKNOWN_METHOD },
    { "epitaph", VECTOR_ALLOCATION_1, 8, 8, UINT64_MAX, FIDL_UNKNOWN_METHOD },

    { "padding of the name", VECTOR_PROCESS_INFO, 67, 1, 1, FIDL_BAD_PADDING },
    { "last padding of the name", VECTOR_PROCESS_INFO, 71, 1, 1, FIDL_BAD_PADDING },
    { "padding of the build ID", VECTOR_PROCESS_INFO, 156, 1, 1, FIDL_BAD_PADDING },
    { "last padding of the build ID", VECTOR_PROCESS_INFO, 159, 1, 0x80, FIDL_BAD_PADDING },

    { "stack table absent", VECTOR_ALLOCATION_1, 32, 8, 0, FIDL_BAD_PRESENCE },
    { "frames absent", VECTOR_ALLOCATION_1, 64, 8, 0, FIDL_BAD_PRESENCE },
    { "frames neither", VECTOR_ALLOCATION_1, 64, 8, 1, FIDL_BAD_PRESENCE },
    { "neither struct nor table", VECTOR_ALLOCATION_2, 24, 8, 0, FIDL_BAD_PRESENCE },
    { "inner table absent", VECTOR_ALLOCATION_2, 72, 8, 0, FIDL_BAD_PRESENCE },
    { "payload absent", VECTOR_PROCESS_INFO, 24, 8, 0, FIDL_BAD_PRESENCE },
    { "name absent", VECTOR_PROCESS_INFO, 56, 8, 0, FIDL_BAD_PRESENCE },
    { "modules absent", VECTOR_PROCESS_INFO, 80, 8, 0, FIDL_BAD_PRESENCE },
    { "module absent", VECTOR_PROCESS_INFO, 96, 8, 0, FIDL_BAD_PRESENCE },
    { "build ID absent", VECTOR_PROCESS_INFO, 128, 8, 0, FIDL_BAD_PRESENCE },
    { "segments absent", VECTOR_PROCESS_INFO, 168, 8, 0, FIDL_BAD_PRESENCE },
    { "segment absent", VECTOR_PROCESS_INFO, 184, 8, 0, FIDL_BAD_PRESENCE },

    { "too many bytes for a number", VECTOR_ALLOCATION_2, 32, 4, 16, FIDL_BAD_ENVELOPE },
    { "too few bytes for a table", VECTOR_ALLOCATION_2, 40, 4, 0x30, FIDL_BAD_ENVELOPE },
    { "too many bytes for a table", VECTOR_ALLOCATION_2, 40, 4, 0x40, FIDL_BAD_ENVELOPE },
    { "bytes not a multiple of 8", VECTOR_ALLOCATION_2, 40, 4, 0x39, FIDL_BAD_ENVELOPE },
    { "bytes far too many", VECTOR_ALLOCATION_2, 48, 4, 0xfffffff8, FIDL_BAD_ENVELOPE },
    { "too many bytes for frames", VECTOR_ALLOCATION_1, 48, 4, 0x28, FIDL_BAD_ENVELOPE },
    { "no bytes but a handle", VECTOR_ALLOCATION_1, 48, 8, UINT64_C(1) << 32, FIDL_BAD_ENVELOPE },
    { "one handle", VECTOR_ALLOCATION_2, 36, 2, 1, FIDL_BAD_ENVELOPE },
    { "65535 handles", VECTOR_ALLOCATION_2, 36, 2, 65535, FIDL_BAD_ENVELOPE },
    { "a number inline", VECTOR_ALLOCATION_2, 38, 2, 1, FIDL_BAD_ENVELOPE },
    { "flags 2", VECTOR_ALLOCATION_2, 38, 2, 2, FIDL_BAD_ENVELOPE },
    { "flags 0x101", VECTOR_ALLOCATION_2, 38, 2, 0x101, FIDL_BAD_ENVELOPE },
    { "last member absent", VECTOR_ALLOCATION_2, 48, 8, 0, FIDL_BAD_ENVELOPE },
    { "only member absent", VECTOR_ALLOCATION_1, 48, 8, 0, FIDL_BAD_ENVELOPE },

    { "one frame too many", VECTOR_ALLOCATION_1, 56, 8, 3, FIDL_OVER_BOUND },
    { "2^61 frames", VECTOR_ALLOCATION_1, 56, 8, UINT64_C(1) << 61, FIDL_OVER_BOUND },
    { "2^64 - 1 frames", VECTOR_ALLOCATION_1, 56, 8, UINT64_MAX, FIDL_OVER_BOUND },
    { "2^61 members", VECTOR_ALLOCATION_1, 24, 8, UINT64_C(1) << 61, FIDL_OVER_BOUND },
    { "14 members", VECTOR_ALLOCATION_2, 16, 8, 14, FIDL_OVER_BOUND },
    { "name of 33", VECTOR_PROCESS_INFO, 48, 8, 33, FIDL_OVER_BOUND },
    { "name of 2^64 - 1", VECTOR_PROCESS_INFO, 48, 8, UINT64_MAX, FIDL_OVER_BOUND },
    { "build ID of 21", VECTOR_PROCESS_INFO, 120, 8, 21, FIDL_OVER_BOUND },
    { "2^60 modules", VECTOR_PROCESS_INFO, 72, 8, UINT64_C(1) << 60, FIDL_OVER_BOUND },
    { "2^60 segments", VECTOR_PROCESS_INFO, 160, 8, UINT64_C(1) << 60, FIDL_OVER_BOUND },

    { "byte ff", VECTOR_PROCESS_INFO, 64, 1, 0xff, FIDL_BAD_UTF8 },
    { "continuation first", VECTOR_PROCESS_INFO, 64, 1, 0x80, FIDL_BAD_UTF8 },
    { "character cut by the end", VECTOR_PROCESS_INFO, 66, 1, 0xc3, FIDL_BAD_UTF8 },
    { "overlong slash of two", VECTOR_PROCESS_INFO, 64, 2, 0xafc0, FIDL_BAD_UTF8 },
    { "overlong slash of three", VECTOR_PROCESS_INFO, 64, 3, 0xaf80e0, FIDL_BAD_UTF8 },
    { "surrogate", VECTOR_PROCESS_INFO, 64, 3, 0x80a0ed, FIDL_BAD_UTF8 },
    { "lead without the rest", VECTOR_PROCESS_INFO, 64, 3, 0x61aae2, FIDL_BAD_UTF8 },
};

START_TEST(refuses_a_changed_message)
{
    size_t length = hex_bytes(bad[_i].hex, bytes, sizeof bytes);
    enum fidl_status status;

    for (size_t i = 0; i < bad[_i].size; i++)
        bytes[bad[_i].offset + i] = (uint8_t)(bad[_i].value >> 8 * i);
    status = decode_exactly(bytes, length);
    ck_assert_msg(status == bad[_i].status, "%s: %s", bad[_i].name, fidl_status_phrase(status));
}
END_TEST

static const struct {
    uint64_t text; /* three bytes, first lowest */
} good_names[] = { { 0xac82e2 }, { 0xbf9fed }, { 0x61a9c3 }, { 0x80a0e0 }, { 0x000061 } };

START_TEST(takes_names_that_are_utf_8)
{
    size_t length = hex_bytes(VECTOR_PROCESS_INFO, bytes, sizeof bytes);

    for (size_t i = 0; i < 3; i++)
        bytes[64 + i] = (uint8_t)(good_names[_i].text >> 8 * i);
    ck_assert_int_eq(decode_exactly(bytes, length), FIDL_OK);
}
END_TEST

/* Characters of four bytes, in a name of their own.  */
static const struct {
    uint8_t text[4];
    enum fidl_status status;
} four_bytes[] = {
    { { 0xf0, 0x90, 0x80, 0x80 }, FIDL_OK },       /* the first one */
    { { 0xf4, 0x8f, 0xbf, 0xbf }, FIDL_OK },       /* the last one */
    { { 0xf0, 0x8f, 0x80, 0x80 }, FIDL_BAD_UTF8 }, /* overlong */
    { { 0xf4, 0x90, 0x80, 0x80 }, FIDL_BAD_UTF8 }, /* over U+10FFFF */
    { { 0xf5, 0x80, 0x80, 0x80 }, FIDL_BAD_UTF8 }, { { 0xf0, 0x90, 0x80, 0x2e }, FIDL_BAD_UTF8 },
};

START_TEST(knows_the_limits_of_unicode)
{
    size_t length = hex_bytes(VECTOR_PROCESS_INFO, bytes, sizeof bytes);

    bytes[48] = 4;
    memcpy(bytes + 64, four_bytes[_i].text, 4);
    ck_assert_int_eq(decode_exactly(bytes, length), four_bytes[_i].status);
}
END_TEST

static const char *const vectors[] = {
    VECTOR_ALLOCATION_1,   VECTOR_ALLOCATION_2, VECTOR_DEALLOCATION_1,
    VECTOR_DEALLOCATION_2, VECTOR_PROCESS_INFO,
};

START_TEST(refuses_trailing_bytes)
{
    size_t length = hex_bytes(vectors[_i], bytes, sizeof bytes);

    memset(bytes + length, 0, 8);
    ck_assert_int_eq(decode_exactly(bytes, length + 1), FIDL_TRAILING_BYTES);
    ck_assert_int_eq(decode_exactly(bytes, length + 8), FIDL_TRAILING_BYTES);
}
END_TEST

START_TEST(refuses_every_truncation)
{
    size_t length = hex_bytes(vectors[_i], bytes, sizeof bytes);

    for (size_t i = 0; i < length; i++) {
        enum fidl_status status = decode_exactly(bytes, i);
        ck_assert_msg(status == FIDL_TRUNCATED || status == FIDL_OVER_BOUND, "%zu bytes: %s", i,
                      fidl_status_phrase(status));
    }
}
END_TEST

/* Makes the compiler read what is only added up.  */
static volatile uint64_t sum;

/* Read all that a message says, and return how many bytes that is.  */
static uint64_t walk(const struct fidl_message *decoded)
{
    struct fidl_cursor modules = decoded->modules;
    struct fidl_module module;
    struct fidl_segment segment;
    uint64_t seen = 8 * decoded->stack.count + decoded->name_length;

    for (uint64_t i = 0; i < decoded->stack.count; i++)
        sum += fidl_word(decoded->stack, i);
    for (uint32_t i = 0; i < decoded->name_length; i++)
        sum += (uint8_t)decoded->name[i];
    while (fidl_module_next(&modules, &module)) {
        seen += module.build_id_length;
        for (uint32_t i = 0; i < module.build_id_length; i++)
            sum += module.build_id[i];
        while (fidl_segment_next(&module.segments, &segment)) {
            seen += segment.has_start_address ? 8 : 0;
            sum += segment.start_address + segment.size + segment.relative_address;
        }
    }
    return seen;
}

START_TEST(survives_every_flipped_bit)
{
    size_t length = hex_bytes(vectors[_i], bytes, sizeof bytes);
    size_t taken = 0;

    for (size_t bit = 0; bit < 8 * length; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (decode_exactly(bytes, length) == FIDL_OK) {
            ck_assert_uint_le(walk(&message), length);
            taken++;
        }
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_uint_gt(taken, 64); /* numbers can be any */
    ck_assert_uint_lt(taken, 8 * length);
}
END_TEST

/* ---- Streams of messages ---- */

START_TEST(finds_where_each_message_of_a_stream_ends)
{
    static uint8_t stream[4 * MOST];
    size_t lengths[5];
    size_t used = 0;
    size_t at = 0;
    size_t found;

    for (size_t i = 0; i < 5; i++) {
        lengths[i] = hex_bytes(vectors[i], stream + used, sizeof stream - used);
        used += lengths[i];
    }
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(fidl_message_length(stream + at, used - at, &found), FIDL_OK);
        ck_assert_uint_eq(found, lengths[i]);
        ck_assert_int_eq(decode_exactly(stream + at, found), FIDL_OK);
        at += found;
    }
    ck_assert_int_eq(fidl_message_length(stream + at, 0, &found), FIDL_TRUNCATED);
    stream[7] = 0;
    ck_assert_int_eq(fidl_message_length(stream, used, &found), FIDL_BAD_MAGIC);
}
END_TEST

START_TEST(has_a_phrase_for_every_status)
{
    for (int i = FIDL_OK; i <= FIDL_NO_ROOM; i++)
        for (int k = FIDL_OK; k < i; k++)
            ck_assert_str_ne(fidl_status_phrase((enum fidl_status)i),
                             fidl_status_phrase((enum fidl_status)k));
    ck_assert_ptr_nonnull(fidl_status_phrase((enum fidl_status)99));
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *suite = suite_create("fidl_decode");
    TCase *tcase = tcase_create("decode");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, decodes_records_of_both_generations, 0, ROWS(records));
    tcase_add_loop_test(tcase, tells_generations_by_the_body_not_by_the_flags, 0, ROWS(records));
    tcase_add_test(tcase, decodes_process_info);
    tcase_add_test(tcase, takes_the_generation_of_process_info_from_the_flags);
    tcase_add_test(tcase, ignores_flags_that_readers_ignore);
    tcase_add_test(tcase, leaves_out_what_an_empty_table_leaves_out);
    tcase_add_test(tcase, reads_the_last_member_behind_absent_ones);
    tcase_add_test(tcase, has_no_stack_where_the_stack_table_is_empty);
    tcase_add_test(tcase, has_a_stack_of_no_frames);
    tcase_add_test(tcase, skips_ordinals_that_it_does_not_know);
    tcase_add_test(tcase, refuses_unknown_members_of_odd_size);
    tcase_add_test(tcase, walks_over_unknown_members_of_modules_and_segments);
    tcase_add_loop_test(tcase, refuses_a_changed_message, 0, ROWS(bad));
    tcase_add_loop_test(tcase, takes_names_that_are_utf_8, 0, ROWS(good_names));
    tcase_add_loop_test(tcase, knows_the_limits_of_unicode, 0, ROWS(four_bytes));
    tcase_add_loop_test(tcase, refuses_trailing_bytes, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, refuses_every_truncation, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, survives_every_flipped_bit, 0, ROWS(vectors));
    tcase_add_test(tcase, finds_where_each_message_of_a_stream_ends);
    tcase_add_test(tcase, has_a_phrase_for_every_status);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
