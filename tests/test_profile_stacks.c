/* Stacks: everything is stored once, under an id that counts meetings.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/profile_internal.h"

static struct profile_stacks *stacks;

static void open_stacks(void)
{
    ck_assert_int_eq(profile_stacks_open(&stacks, NULL), PROFILE_OK);
}

static void close_stacks(void)
{
    profile_stacks_close(stacks);
}

static profile_id string(const char *text)
{
    profile_id id;

    ck_assert_int_eq(profile_stacks_string(stacks, text, strlen(text), &id, NULL), PROFILE_OK);
    return id;
}

static profile_id address_frame(profile_id module, uint64_t vaddr)
{
    profile_id id;

    ck_assert_int_eq(profile_stacks_address_frame(stacks, module, vaddr, &id, NULL), PROFILE_OK);
    return id;
}

static profile_id callsite(profile_id parent, profile_id frame)
{
    profile_id id;

    ck_assert_int_eq(profile_stacks_callsite(stacks, parent, frame, &id, NULL), PROFILE_OK);
    return id;
}

START_TEST(numbers_strings_in_order_of_meeting)
{
    size_t length;

    ck_assert_uint_eq(string(""), 0);
    ck_assert_uint_eq(string("b"), 1);
    ck_assert_uint_eq(string("a"), 2);
    ck_assert_uint_eq(string("b"), 1);
    ck_assert_str_eq(profile_stacks_text(stacks, 2, &length), "a");
    ck_assert_uint_eq(length, 1);
    ck_assert_str_eq(profile_stacks_text(stacks, 0, &length), "");
    ck_assert_uint_eq(length, 0);
}
END_TEST

START_TEST(keeps_strings_with_nul_bytes_apart)
{
    profile_id first, second;

    ck_assert_int_eq(profile_stacks_string(stacks, "a\0b", 3, &first, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_string(stacks, "a\0c", 3, &second, NULL), PROFILE_OK);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_ne(first, string("a"));
}
END_TEST

/* Enough to grow every table and arena several times.  */
START_TEST(finds_each_of_many_strings_again)
{
    const char *first;
    char text[32];
    int failures = 0;

    string("0");
    first = profile_stacks_text(stacks, 1, NULL);
    for (profile_id round = 0; round < 2; round++)
        for (profile_id i = 0; i < 50000; i++) {
            profile_id id = 0;
            int length = snprintf(text, sizeof text, "%u", i);

            (void)profile_stacks_string(stacks, text, (size_t)length, &id, NULL);
            failures += id != i + 1;
        }
    ck_assert_int_eq(failures, 0);
    ck_assert_ptr_eq(first, profile_stacks_text(stacks, 1, NULL)); /* pointers stay */
}
END_TEST

START_TEST(tells_modules_by_name_and_build_id)
{
    struct profile_module module = { .name = string("libc.so"), .build_id_length = 2 };
    profile_id first, second, third, again;

    memcpy(module.build_id, "\x01\x02", 2);
    ck_assert_int_eq(profile_stacks_module(stacks, &module, &first, NULL), PROFILE_OK);
    module.build_id[1] = 3;
    ck_assert_int_eq(profile_stacks_module(stacks, &module, &second, NULL), PROFILE_OK);
    module.name = string("other");
    ck_assert_int_eq(profile_stacks_module(stacks, &module, &third, NULL), PROFILE_OK);
    module.build_id[7] = 9; /* behind its length: of no meaning */
    ck_assert_int_eq(profile_stacks_module(stacks, &module, &again, NULL), PROFILE_OK);
    ck_assert_uint_eq(first, 1);
    ck_assert_uint_eq(second, 2);
    ck_assert_uint_eq(third, 3);
    ck_assert_uint_eq(again, 3);
    ck_assert_uint_eq(profile_stacks_get_module(stacks, 2).build_id[1], 3);
    ck_assert_uint_eq(profile_stacks_module_count(stacks), 3);
}
END_TEST

START_TEST(tells_address_frames_by_module_and_address)
{
    struct profile_module module = { .name = string("m") };
    profile_id id;

    ck_assert_int_eq(profile_stacks_module(stacks, &module, &id, NULL), PROFILE_OK);
    ck_assert_uint_eq(address_frame(1, 0x10), 1);
    ck_assert_uint_eq(address_frame(0, 0x10), 2);
    ck_assert_uint_eq(address_frame(1, 0x11), 3);
    ck_assert_uint_eq(address_frame(1, 0x10), 1);
    ck_assert(profile_stacks_get_frame(stacks, 3).has_address);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, 3).vaddr, 0x11);
}
END_TEST

START_TEST(tells_named_frames_by_their_lines)
{
    struct profile_line lines[2] = { { .function = string("inner"), .line = 1 },
                                     { .function = string("outer"), .line = 2 } };
    profile_id both, one, again;

    ck_assert_int_eq(profile_stacks_named_frame(stacks, lines, 2, &both, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_named_frame(stacks, lines, 1, &one, NULL), PROFILE_OK);
    lines[1].column = 7;
    ck_assert_int_eq(profile_stacks_named_frame(stacks, lines, 2, &again, NULL), PROFILE_OK);
    ck_assert_uint_eq(both, 1);
    ck_assert_uint_eq(one, 2);
    ck_assert_uint_eq(again, 3);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, both).lines[1].column, 0); /* copied */
}
END_TEST

START_TEST(gives_address_frames_their_lines_later)
{
    struct profile_line line = { .function = string("f"), .line = 3 };
    profile_id frame = address_frame(0, 5);
    struct profile_error error;

    ck_assert_int_eq(profile_stacks_set_lines(stacks, frame, &line, 1, NULL), PROFILE_OK);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, frame).lines[0].line, 3);
    line.line = 4;
    ck_assert_int_eq(profile_stacks_set_lines(stacks, frame, &line, 1, NULL), PROFILE_OK);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, frame).lines[0].line, 4);
    ck_assert_uint_eq(address_frame(0, 5), frame); /* told by its address all the same */
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 2, &line, 1, &error), PROFILE_INVALID);
    ck_assert_str_eq(error.message, "frame 2 has no address");
}
END_TEST

START_TEST(stores_a_stack_as_one_integer)
{
    profile_id main_frame = address_frame(0, 1), f = address_frame(0, 2);
    profile_id root = callsite(0, main_frame), leaf = callsite(root, f);

    ck_assert_uint_eq(root, 1);
    ck_assert_uint_eq(leaf, 2);
    ck_assert_uint_eq(callsite(0, main_frame), root);
    ck_assert_uint_eq(callsite(root, f), leaf);
    ck_assert_uint_eq(callsite(0, f), 3); /* the same frame under another parent */
    ck_assert_uint_eq(profile_stacks_get_callsite(stacks, leaf).parent, root);
    ck_assert_uint_eq(profile_stacks_get_callsite(stacks, leaf).frame, f);
    ck_assert_uint_eq(profile_stacks_get_callsite(stacks, leaf).depth, 1);
    ck_assert_uint_eq(profile_stacks_get_callsite(stacks, root).depth, 0);
    ck_assert_uint_eq(profile_stacks_callsite_count(stacks), 3);
}
END_TEST

/* One half is a koid that the trace chooses: that must not make all hashes of it equal.  */
START_TEST(hashes_of_one_koid_differ)
{
    static const uint64_t koids[] = { 0, UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93),
                                      UINT64_MAX };

    for (size_t i = 0; i < sizeof koids / sizeof *koids; i++)
        for (uint64_t other = 0; other < 100; other++) {
            ck_assert_uint_ne(base_hash(koids[i], other), base_hash(koids[i], other + 1));
            ck_assert_uint_ne(base_hash(other, koids[i]), base_hash(other + 1, koids[i]));
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_stacks");
    TCase *tcase = tcase_create("stacks");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, open_stacks, close_stacks);
    tcase_add_test(tcase, numbers_strings_in_order_of_meeting);
    tcase_add_test(tcase, keeps_strings_with_nul_bytes_apart);
    tcase_add_test(tcase, finds_each_of_many_strings_again);
    tcase_add_test(tcase, tells_modules_by_name_and_build_id);
    tcase_add_test(tcase, tells_address_frames_by_module_and_address);
    tcase_add_test(tcase, tells_named_frames_by_their_lines);
    tcase_add_test(tcase, gives_address_frames_their_lines_later);
    tcase_add_test(tcase, stores_a_stack_as_one_integer);
    tcase_add_test(tcase, hashes_of_one_koid_differ);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
