/* The containers of base/: arenas, indexes, numberings, maps and text buffers.  */
#include <check.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/numbering.h"
#include "base/pair_map.h"
#include "base/text.h"

START_TEST(grows_by_half_and_keeps_what_was_there)
{
    uint64_t *items = NULL;
    size_t capacity = 0;

    for (size_t i = 0; i < 1000; i++) {
        uint64_t *bigger = base_grow(items, &capacity, i + 1, sizeof *bigger);

        ck_assert_ptr_nonnull(bigger);
        ck_assert_uint_gt(capacity, i);
        items = bigger;
        items[i] = i;
    }
    for (size_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(items[i], i);
    ck_assert_ptr_null(base_grow(items, &capacity, SIZE_MAX / 2, sizeof *items));
    ck_assert_uint_eq(items[999], 999); /* untouched */
    free(items);
}
END_TEST

START_TEST(arena_gives_zeroed_aligned_room_that_stays)
{
    struct base_arena arena = { .blocks = NULL };
    char *texts[300];

    for (size_t i = 0; i < 300; i++) {
        unsigned char *room = base_arena_alloc(&arena, i * 7);

        ck_assert_uint_eq((uintptr_t)room % alignof(max_align_t), 0);
        for (size_t at = 0; at < i * 7; at++)
            ck_assert_uint_eq(room[at], 0);
        memset(room, 0xff, i * 7);
        texts[i] = base_arena_text(&arena, "abcdefghij", i % 11);
    }
    for (size_t i = 0; i < 300; i++) {
        ck_assert_uint_eq(strlen(texts[i]), i % 11);
        ck_assert_mem_eq(texts[i], "abcdefghij", i % 11);
    }
    ck_assert_ptr_null(base_arena_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(base_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(base_arena_text(&arena, "", SIZE_MAX));
    base_arena_release(&arena);
}
END_TEST

START_TEST(arena_stops_at_its_limit)
{
    struct base_arena arena = { .limit = 100 };

    ck_assert_ptr_nonnull(base_arena_alloc(&arena, 60));
    ck_assert_ptr_null(base_arena_alloc(&arena, 41));
    ck_assert_ptr_nonnull(base_arena_alloc(&arena, 40));
    ck_assert_ptr_null(base_arena_text(&arena, "", 0));
    base_arena_release(&arena);
    ck_assert_ptr_nonnull(base_arena_alloc(&arena, 100));
    base_arena_release(&arena);
}
END_TEST

START_TEST(index_gives_every_id_of_a_hash)
{
    struct base_index index = { .slots = NULL };
    size_t probe;
    unsigned found = 0;

    ck_assert_uint_eq(base_index_first(&index, 5, &probe), 0);
    for (uint32_t id = 1; id <= 500; id++) {
        ck_assert(base_index_reserve(&index));
        base_index_add(&index, id % 5, id); /* a hundred of each hash */
    }
    for (uint32_t id = base_index_first(&index, 3, &probe); id;
         id = base_index_next(&index, 3, &probe)) {
        ck_assert_uint_eq(id % 5, 3);
        found++;
    }
    ck_assert_uint_eq(found, 100);
    base_index_release(&index);
}
END_TEST

START_TEST(cleared_index_is_empty_and_usable)
{
    static const uint32_t rounds[] = { 3, 1000, 2, 40 }; /* the third is small in a large table */
    struct base_index index = { .slots = NULL };
    size_t probe;

    base_index_clear(&index);
    for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
        for (uint32_t id = 1; id <= rounds[round]; id++) {
            ck_assert_uint_eq(base_index_first(&index, base_hash(id, 0), &probe), 0);
            ck_assert(base_index_reserve(&index));
            base_index_add(&index, base_hash(id, 0), id);
        }
        ck_assert_uint_eq(index.used, rounds[round]);
        base_index_clear(&index);
        ck_assert_uint_eq(index.used, 0);
    }
    base_index_release(&index);
}
END_TEST

START_TEST(numbers_pairs_and_texts_in_the_order_of_meeting)
{
    struct base_pairs pairs = { .count = 0 };
    struct base_texts names = { .count = 0 };
    bool is_new;

    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 10000; i++) {
            char text[8];

            ck_assert_uint_eq(base_pairs_add(&pairs, i % 7, i, &is_new), i + 1);
            ck_assert_int_eq(is_new, round == 0);
            memcpy(text, &i, sizeof text);
            ck_assert_uint_eq(base_texts_add(&names, text, 1 + i % 3 + 3, &is_new), i + 1);
            ck_assert_int_eq(is_new, round == 0);
        }
    ck_assert_uint_eq(base_pairs_find(&pairs, 3, 3), 4);
    ck_assert_uint_eq(base_pairs_find(&pairs, 3, 4), 0);
    ck_assert_uint_eq(base_texts_find(&names, "none", 4), 0);
    base_pairs_release(&pairs);
    base_texts_release(&names);
}
END_TEST

START_TEST(texts_stop_at_their_limit_and_stay_usable)
{
    struct base_texts names = { .arena.limit = 8 };
    size_t length;

    ck_assert_uint_eq(base_texts_add(&names, "abc", 3, NULL), 1);
    ck_assert_uint_eq(base_texts_add(&names, "abcd", 4, NULL), 0);
    ck_assert_uint_eq(base_texts_add(&names, "abc", 3, NULL), 1);
    ck_assert_uint_eq(base_texts_add(&names, "", 0, NULL), 2);
    ck_assert_str_eq(base_texts_get(&names, 1, &length), "abc");
    ck_assert_uint_eq(length, 3);
    base_texts_release(&names);
}
END_TEST

/* Random additions against an array of all keys.  */
START_TEST(map_holds_what_an_array_holds)
{
    static uint64_t expected[512]; /* value + 1; 0: not there */
    struct base_map map = { .slots = NULL };
    uint64_t state = 7;
    size_t count = 0;

    ck_assert_ptr_null(base_map_find(&map, 1));
    for (unsigned step = 0; step < 20000; step++) {
        uint64_t key, stride = UINT64_C(0x100000000); /* keys that differ in high bits alone */

        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        key = state >> 55;
        ck_assert(base_map_set(&map, key * stride, step));
        count += expected[key] == 0;
        expected[key] = step + 1;
        ck_assert_uint_eq(map.count, count);
        for (uint64_t i = step % 64; i < 512; i += 64) {
            const uint64_t *value = base_map_find(&map, i * stride);

            ck_assert_uint_eq(value ? *value + 1 : 0, expected[i]);
        }
    }
    base_map_release(&map);
}
END_TEST

START_TEST(pair_map_forgets_what_is_removed)
{
    struct base_pair_map map = { .entries = NULL };
    bool there[1000] = { false };
    uint64_t state = 1;

    ck_assert_ptr_null(base_pair_map_find(&map, 0, 0));
    for (size_t i = 0; i < 20000; i++) {
        uint32_t key = (uint32_t)((state = state * 6364136223846793005U + 1) >> 33) % 1000;
        struct base_pair_entry *entry = base_pair_map_find(&map, key % 3, key / 3);

        ck_assert_int_eq(entry != NULL, there[key]);
        if (entry) {
            ck_assert_uint_eq(entry->value, key);
            base_pair_map_remove(&map, entry);
        } else {
            entry = base_pair_map_add(&map, key % 3, key / 3);
            ck_assert_ptr_nonnull(entry);
            entry->value = key;
            entry->count = 1;
        }
        there[key] = !there[key];
    }
    for (uint32_t key = 0; key < 1000; key++)
        ck_assert_int_eq(base_pair_map_find(&map, key % 3, key / 3) != NULL, there[key]);
    base_pair_map_release(&map);
}
END_TEST

START_TEST(text_grows_and_remembers_a_failure)
{
    struct base_text text = { .limit = 1000 };

    for (int i = 0; i < 100; i++)
        base_text_addf(&text, "%02d,", i);
    ck_assert_uint_eq(text.length, 300);
    ck_assert_mem_eq(text.bytes + 297, "99,", 4);
    base_text_add(&text, text.bytes, 0);
    ck_assert(!text.failed);
    base_text_addf(&text, "%701s", "");
    ck_assert(text.failed);
    base_text_adds(&text, "x"); /* would fit, but something before it is missing */
    ck_assert_uint_eq(text.length, 300);
    base_text_clear(&text);
    ck_assert_str_eq(text.bytes, "");
    base_text_adds(&text, "x");
    ck_assert_str_eq(text.bytes, "x");
    base_text_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_tables");
    TCase *tcase = tcase_create("tables");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, grows_by_half_and_keeps_what_was_there);
    tcase_add_test(tcase, arena_gives_zeroed_aligned_room_that_stays);
    tcase_add_test(tcase, arena_stops_at_its_limit);
    tcase_add_test(tcase, index_gives_every_id_of_a_hash);
    tcase_add_test(tcase, cleared_index_is_empty_and_usable);
    tcase_add_test(tcase, numbers_pairs_and_texts_in_the_order_of_meeting);
    tcase_add_test(tcase, texts_stop_at_their_limit_and_stay_usable);
    tcase_add_test(tcase, map_holds_what_an_array_holds);
    tcase_add_test(tcase, pair_map_forgets_what_is_removed);
    tcase_add_test(tcase, text_grows_and_remembers_a_failure);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
