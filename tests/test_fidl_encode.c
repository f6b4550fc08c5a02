/* Encoding messages of fuchsia.memory.sampler, and decoding them again.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "tests/support/fidl_vectors.h"
#include "tests/support/hex_text.h"

static uint8_t buffer[2 * FIDL_MAX_MESSAGE];
static size_t length;

static void ck_assert_encoded(const char *hex)
{
    static uint8_t expected[512];
    size_t size = hex_bytes(hex, expected, sizeof expected);

    ck_assert_uint_eq(length, size);
    ck_assert_mem_eq(buffer, expected, size);
}

/* ---- The vectors ---- */

START_TEST(encodes_allocations_of_both_generations)
{
    static const uint64_t frames[] = { 0xaaaa, 0xbbbb };

    ck_assert_int_eq(fidl_encode_allocation(FIDL_GENERATION_1, 0x1122, frames, 2, 0x40, buffer,
                                            sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_encoded(VECTOR_ALLOCATION_1);
    ck_assert_int_eq(fidl_encode_allocation(FIDL_GENERATION_2, 0x1122, frames, 2, 0x40, buffer,
                                            sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_encoded(VECTOR_ALLOCATION_2);
}
END_TEST

START_TEST(encodes_deallocations_of_both_generations)
{
    static const uint64_t frames[] = { 0xcccc };

    ck_assert_int_eq(fidl_encode_deallocation(FIDL_GENERATION_1, 0x1122, frames, 1, buffer,
                                              sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_encoded(VECTOR_DEALLOCATION_1);
    ck_assert_int_eq(fidl_encode_deallocation(FIDL_GENERATION_2, 0x1122, frames, 1, buffer,
                                              sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_encoded(VECTOR_DEALLOCATION_2);
}
END_TEST

static const uint8_t build_id[20] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                      10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
static const struct fidl_segment one_segment = {
    .start_address = 0x10000,
    .size = 0x2000,
    .relative_address = 0x1000,
    .has_start_address = true,
    .has_size = true,
    .has_relative_address = true,
};
static const struct fidl_module_source one_module = { build_id, 20, &one_segment, 1 };

START_TEST(encodes_process_info)
{
    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_1, "app", &one_module, 1, buffer,
                                              sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_encoded(VECTOR_PROCESS_INFO);

    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, "app", &one_module, 1, buffer,
                                              sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_uint_eq(buffer[6], 0x80);
    buffer[6] = 0;
    ck_assert_encoded(VECTOR_PROCESS_INFO); /* nothing else tells the generations apart */
}
END_TEST

START_TEST(leaves_out_what_is_null)
{
    struct fidl_module_source bare = { 0 };
    struct fidl_message message;
    struct fidl_module module;
    struct fidl_segment segment;

    ck_assert_int_eq(
        fidl_encode_process_info(FIDL_GENERATION_2, NULL, NULL, 7, buffer, sizeof buffer, &length),
        FIDL_OK);
    ck_assert_encoded("00000000 02008001 8317e506 7155a068 00000000 00000000 ffffffff ffffffff");

    ck_assert_int_eq(
        fidl_encode_process_info(FIDL_GENERATION_2, NULL, &bare, 1, buffer, sizeof buffer, &length),
        FIDL_OK);
    ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
    ck_assert(!message.has_name && message.has_modules);
    ck_assert(fidl_module_next(&message.modules, &module));
    ck_assert_ptr_null(module.build_id);
    ck_assert(!fidl_segment_next(&module.segments, &segment));
    ck_assert(!fidl_module_next(&message.modules, &module));

    ck_assert_int_eq(
        fidl_encode_process_info(FIDL_GENERATION_2, "", &bare, 0, buffer, sizeof buffer, &length),
        FIDL_OK);
    ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
    ck_assert(message.has_name && message.has_modules);
    ck_assert_uint_eq(message.name_length, 0);
    ck_assert(!fidl_module_next(&message.modules, &module));
}
END_TEST

/* ---- Names ---- */

static const struct {
    const char *given;
    const char *sent;
} names[] = {
    { "", "" },
    { "app", "app" },
    { "0123456789012345678901234567890", "0123456789012345678901234567890" },
    { "01234567890123456789012345678901", "0123456789012345678901234567890" },
    { "01234567890123456789012345678\xc3\xa9", "01234567890123456789012345678\xc3\xa9" },
    { "012345678901234567890123456789\xc3\xa9", "012345678901234567890123456789" },
    { "0123456789012345678901234567\xf0\x9f\x98\x80", "0123456789012345678901234567" },
    { "caf\xc3\xa9", "caf\xc3\xa9" },
    { "caf\xe9!", "caf?!" },      /* Latin-1 */
    { "cut \xe2\x82", "cut ??" }, /* as the kernel cuts a task's name */
    { "\xed\xa0\x80", "???" },    /* a surrogate */
    { "012345678901234567890123456789\xff\xff", "012345678901234567890123456789?" },
};

START_TEST(sends_names_as_whole_characters)
{
    struct fidl_message message;

    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, names[_i].given, NULL, 0, buffer,
                                              sizeof buffer, &length),
                     FIDL_OK);
    ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
    ck_assert_uint_eq(message.name_length, strlen(names[_i].sent));
    ck_assert_mem_eq(message.name, names[_i].sent, message.name_length);
}
END_TEST

/* ---- Sizes (section 3) ---- */

static uint64_t many_frames[2 * FIDL_MAX_MESSAGE / 8];

static enum fidl_status encode_record(enum fidl_method method, enum fidl_generation generation,
                                      size_t frames, uint8_t *to, size_t capacity)
{
    if (method == FIDL_RECORD_ALLOCATION)
        return fidl_encode_allocation(generation, 1, many_frames, frames, 2, to, capacity, &length);
    return fidl_encode_deallocation(generation, 1, many_frames, frames, to, capacity, &length);
}

static const struct {
    enum fidl_method method;
    enum fidl_generation generation;
    size_t base; /* bytes without frames */
    size_t most; /* frames of the largest message */
} limits[] = {
    { FIDL_RECORD_ALLOCATION, FIDL_GENERATION_1, 72, 8183 },
    { FIDL_RECORD_DEALLOCATION, FIDL_GENERATION_1, 64, 8184 },
    { FIDL_RECORD_ALLOCATION, FIDL_GENERATION_2, 112, 8178 },
    { FIDL_RECORD_DEALLOCATION, FIDL_GENERATION_2, 96, 8180 },
};

START_TEST(fills_a_message_up_to_the_limit_of_a_channel)
{
    static const size_t counts[] = { 0, 1, 512 };
    enum fidl_method method = limits[_i].method;
    enum fidl_generation generation = limits[_i].generation;
    struct fidl_message message;

    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(encode_record(method, generation, counts[i], buffer, FIDL_MAX_MESSAGE),
                         FIDL_OK);
        ck_assert_uint_eq(length, limits[_i].base + 8 * counts[i]);
    }
    ck_assert_int_eq(encode_record(method, generation, limits[_i].most, buffer, FIDL_MAX_MESSAGE),
                     FIDL_OK);
    ck_assert_uint_eq(length, limits[_i].base + 8 * limits[_i].most);
    ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
    ck_assert_uint_eq(message.stack.count, limits[_i].most);

    length = 77;
    ck_assert_int_eq(
        encode_record(method, generation, limits[_i].most + 1, buffer, FIDL_MAX_MESSAGE),
        FIDL_NO_ROOM);
    /* A larger buffer does not help: no channel would carry the message.  */
    ck_assert_int_eq(encode_record(method, generation, limits[_i].most + 1, buffer, sizeof buffer),
                     FIDL_NO_ROOM);
    ck_assert_int_eq(encode_record(method, generation, SIZE_MAX / 8 + 2, buffer, sizeof buffer),
                     FIDL_NO_ROOM);
    ck_assert_uint_eq(length, 77);
}
END_TEST

START_TEST(writes_nothing_behind_a_small_buffer)
{
    size_t needed;

    ck_assert_int_eq(
        encode_record(limits[_i].method, limits[_i].generation, 3, buffer, sizeof buffer), FIDL_OK);
    needed = length;
    for (size_t capacity = 0; capacity <= needed; capacity++) {
        uint8_t *exact = malloc(capacity + 1); /* of the exact size, for a sanitizer to see */
        ck_assert_ptr_nonnull(exact);
        ck_assert_int_eq(
            encode_record(limits[_i].method, limits[_i].generation, 3, exact + 1, capacity),
            capacity < needed ? FIDL_NO_ROOM : FIDL_OK);
        free(exact);
    }
}
END_TEST

START_TEST(splits_modules_where_430_fill_a_message)
{
    static struct fidl_module_source modules[700];
    struct fidl_message message;
    struct fidl_module module;
    size_t count = 0;

    for (size_t i = 0; i < 700; i++)
        modules[i] = one_module;
    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, "app", modules, 430, buffer,
                                              FIDL_MAX_MESSAGE, &length),
                     FIDL_OK);
    ck_assert_uint_eq(length, 64 + 24 + 430 * 152);
    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, "app", modules, 431, buffer,
                                              FIDL_MAX_MESSAGE, &length),
                     FIDL_NO_ROOM);
    /* The rest goes into another message, which need not repeat the name.  */
    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, NULL, modules + 430, 270, buffer,
                                              FIDL_MAX_MESSAGE, &length),
                     FIDL_OK);
    ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
    while (fidl_module_next(&message.modules, &module))
        count++;
    ck_assert_uint_eq(count, 270);
}
END_TEST

START_TEST(refuses_build_ids_over_the_bound)
{
    struct fidl_module_source module = one_module;

    module.build_id_length = 21;
    ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, "app", &module, 1, buffer,
                                              sizeof buffer, &length),
                     FIDL_OVER_BOUND);
}
END_TEST

/* ---- There and back ---- */

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % limit;
}

static uint64_t random_word(void)
{
    return random_below(1u << 31) << 33 | random_below(1u << 31) << 2 | random_below(4);
}

START_TEST(decodes_random_records_as_they_were_encoded)
{
    uint64_t frames[100];
    struct fidl_message message;

    random_state = (uint64_t)_i + 1;
    for (int round = 0; round < 200; round++) {
        enum fidl_method method = random_below(2) ? FIDL_RECORD_ALLOCATION
                                                  : FIDL_RECORD_DEALLOCATION;
        enum fidl_generation generation = random_below(2) ? FIDL_GENERATION_1 : FIDL_GENERATION_2;
        uint64_t address = random_word();
        uint64_t size = random_word();
        size_t count = random_below(101);
        for (size_t i = 0; i < count; i++)
            frames[i] = random_word();
        if (method == FIDL_RECORD_ALLOCATION)
            ck_assert_int_eq(fidl_encode_allocation(generation, address, frames, count, size,
                                                    buffer, sizeof buffer, &length),
                             FIDL_OK);
        else
            ck_assert_int_eq(fidl_encode_deallocation(generation, address, frames, count, buffer,
                                                      sizeof buffer, &length),
                             FIDL_OK);

        ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
        ck_assert_int_eq(message.method, method);
        ck_assert_int_eq(message.generation, generation);
        ck_assert(message.has_address && message.has_stack);
        ck_assert_uint_eq(message.address, address);
        ck_assert_int_eq(message.has_size, method == FIDL_RECORD_ALLOCATION);
        ck_assert_uint_eq(message.size, message.has_size ? size : 0);
        ck_assert_uint_eq(message.stack.count, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(fidl_word(message.stack, i), frames[i]);
    }
}
END_TEST

static struct fidl_segment random_segment(void)
{
    struct fidl_segment segment = {
        .has_start_address = random_below(2),
        .has_size = random_below(2),
        .has_relative_address = random_below(2),
    };

    segment.start_address = segment.has_start_address ? random_word() : 0;
    segment.size = segment.has_size ? random_word() : 0;
    segment.relative_address = segment.has_relative_address ? random_word() : 0;
    return segment;
}

static void assert_same_segment(struct fidl_segment a, struct fidl_segment b)
{
    ck_assert_int_eq(a.has_start_address, b.has_start_address);
    ck_assert_int_eq(a.has_size, b.has_size);
    ck_assert_int_eq(a.has_relative_address, b.has_relative_address);
    ck_assert_uint_eq(a.start_address, b.start_address);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_uint_eq(a.relative_address, b.relative_address);
}

START_TEST(decodes_random_process_info_as_it_was_encoded)
{
    static struct fidl_segment segments[8][5];
    struct fidl_module_source modules[8];
    struct fidl_message message;
    struct fidl_module module;
    struct fidl_segment segment;

    random_state = (uint64_t)_i + 1000;
    for (int round = 0; round < 100; round++) {
        size_t count = random_below(9);
        for (size_t m = 0; m < count; m++) {
            modules[m] = (struct fidl_module_source){
                .build_id = random_below(4) ? build_id : NULL,
                .build_id_length = (uint32_t)random_below(21),
                .segments = random_below(4) ? segments[m] : NULL,
                .segment_count = random_below(6),
            };
            for (size_t s = 0; s < 5; s++)
                segments[m][s] = random_segment();
        }
        ck_assert_int_eq(fidl_encode_process_info(FIDL_GENERATION_2, "p", modules, count, buffer,
                                                  sizeof buffer, &length),
                         FIDL_OK);

        ck_assert_int_eq(fidl_decode(buffer, length, &message), FIDL_OK);
        for (size_t m = 0; m < count; m++) {
            size_t expected = modules[m].segments ? modules[m].segment_count : 0;
            ck_assert(fidl_module_next(&message.modules, &module));
            ck_assert_int_eq(module.build_id != NULL, modules[m].build_id != NULL);
            ck_assert_uint_eq(module.build_id_length,
                              module.build_id ? modules[m].build_id_length : 0);
            for (size_t s = 0; s < expected; s++) {
                ck_assert(fidl_segment_next(&module.segments, &segment));
                assert_same_segment(segment, segments[m][s]);
            }
            ck_assert(!fidl_segment_next(&module.segments, &segment));
        }
        ck_assert(!fidl_module_next(&message.modules, &module));
    }
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *suite = suite_create("fidl_encode");
    TCase *tcase = tcase_create("encode");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, encodes_allocations_of_both_generations);
    tcase_add_test(tcase, encodes_deallocations_of_both_generations);
    tcase_add_test(tcase, encodes_process_info);
    tcase_add_test(tcase, leaves_out_what_is_null);
    tcase_add_loop_test(tcase, sends_names_as_whole_characters, 0, ROWS(names));
    tcase_add_loop_test(tcase, fills_a_message_up_to_the_limit_of_a_channel, 0, ROWS(limits));
    tcase_add_loop_test(tcase, writes_nothing_behind_a_small_buffer, 0, ROWS(limits));
    tcase_add_test(tcase, splits_modules_where_430_fill_a_message);
    tcase_add_test(tcase, refuses_build_ids_over_the_bound);
    tcase_add_loop_test(tcase, decodes_random_records_as_they_were_encoded, 0, 8);
    tcase_add_loop_test(tcase, decodes_random_process_info_as_it_was_encoded, 0, 8);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
