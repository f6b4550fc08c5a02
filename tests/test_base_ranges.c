/* base/ranges.h: a map of addresses, compared with an array that has an entry for each address.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"
#include "tests/support/allocation.h"
#include "tests/support/random.h"

#define ADDRESSES 64

struct cell {
    uint64_t place, owner; /* owner 0: not mapped */
};

static struct base_range made(uint64_t start, uint64_t last, uint64_t place, uint64_t owner)
{
    return (struct base_range){ start, last, place, owner };
}

static void assert_same(const struct base_ranges *ranges, const struct cell *cells)
{
    for (size_t i = 1; i < ranges->count; i++)
        ck_assert_uint_lt(ranges->items[i - 1].last, ranges->items[i].start);
    for (uint64_t address = 0; address < ADDRESSES; address++) {
        const struct base_range *range = base_ranges_find(ranges, address);

        ck_assert_uint_eq(range ? range->owner : 0, cells[address].owner);
        if (range)
            ck_assert_uint_eq(range->place + (address - range->start), cells[address].place);
    }
}

/* The result that the cells call for; they are brought up to date.  */
static enum base_ranges_result paint(struct cell *cells, const struct base_range *range)
{
    bool any = false, all = true;

    for (uint64_t address = range->start; address <= range->last; address++) {
        struct cell new = { range->place + (address - range->start), range->owner };

        any |= cells[address].owner != 0;
        all &= memcmp(&cells[address], &new, sizeof new) == 0;
        cells[address] = new;
    }
    return all ? BASE_RANGES_UNCHANGED : any ? BASE_RANGES_REPLACED : BASE_RANGES_ADDED;
}

START_TEST(later_ranges_replace_what_they_overlap)
{
    struct base_ranges ranges = { .count = 0 };
    struct cell cells[ADDRESSES] = { { 0, 0 } };
    uint64_t state = 1 + (uint64_t)_i;

    for (int i = 0; i < 200; i++) {
        uint64_t start = random_word(&state) % ADDRESSES;
        uint64_t last = start + random_word(&state) % (ADDRESSES - start);
        uint64_t slide = random_word(&state) % 2 * 1000;
        struct base_range range = made(start, last, start + slide, 1 + random_word(&state) % 2);
        enum base_ranges_result expected = paint(cells, &range);
        enum base_ranges_result result = base_ranges_add(&ranges, &range);

        /* Several ranges that agree with it may hold its addresses: it then takes their place.  */
        if (expected != BASE_RANGES_UNCHANGED || result != BASE_RANGES_REPLACED)
            ck_assert_int_eq(result, expected);
        assert_same(&ranges, cells);
    }
    base_ranges_release(&ranges);
}
END_TEST

START_TEST(ranges_reach_the_last_address)
{
    struct base_ranges ranges = { .count = 0 };
    struct base_range whole = made(0, UINT64_MAX, 7, 1), top = made(UINT64_MAX, UINT64_MAX, 0, 2);

    ck_assert_int_eq(base_ranges_add(&ranges, &whole), BASE_RANGES_ADDED);
    ck_assert_int_eq(base_ranges_add(&ranges, &top), BASE_RANGES_REPLACED);
    ck_assert_uint_eq(ranges.count, 2);
    ck_assert_uint_eq(base_ranges_find(&ranges, UINT64_MAX)->owner, 2);
    ck_assert_uint_eq(base_ranges_find(&ranges, UINT64_MAX - 1)->owner, 1);
    ck_assert_uint_eq(base_ranges_first(&ranges, UINT64_MAX), 1);
    base_ranges_release(&ranges);
}
END_TEST

/* With every number of ranges before: one that lies inside another makes two more of them, for
 * which there must be room (sanitizers see it if there is none).  */
START_TEST(there_is_room_for_the_rest_of_a_split_range)
{
    for (uint64_t others = 0; others < 40; others++) {
        struct base_ranges ranges = { .count = 0 };
        struct base_range wide = made(1000, 2000, 0, 1), inner = made(1500, 1600, 0, 2);

        for (uint64_t i = 0; i < others; i++) {
            struct base_range other = made(10 * i, 10 * i + 5, 0, 1);

            ck_assert_int_eq(base_ranges_add(&ranges, &other), BASE_RANGES_ADDED);
        }
        ck_assert_int_eq(base_ranges_add(&ranges, &wide), BASE_RANGES_ADDED);
        ck_assert_int_eq(base_ranges_add(&ranges, &inner), BASE_RANGES_REPLACED);
        ck_assert_uint_eq(ranges.count, others + 3);
        ck_assert_uint_le(ranges.count, ranges.capacity);
        ck_assert_uint_eq(base_ranges_find(&ranges, 2000)->place, 601);
        base_ranges_release(&ranges);
    }
}
END_TEST

START_TEST(stops_at_its_limit)
{
    struct base_ranges ranges = { .limit = 3 };
    struct base_range wide = made(0, 100, 0, 1), inner = made(10, 20, 0, 2);
    struct base_range other = made(200, 300, 0, 1);

    ck_assert_int_eq(base_ranges_add(&ranges, &wide), BASE_RANGES_ADDED);
    ck_assert_int_eq(base_ranges_add(&ranges, &inner), BASE_RANGES_REPLACED);
    ck_assert_int_eq(base_ranges_add(&ranges, &other), BASE_RANGES_FULL);
    ck_assert_int_eq(base_ranges_add(&ranges, &inner), BASE_RANGES_UNCHANGED);
    ck_assert_uint_eq(ranges.count, 3);
    ck_assert_ptr_null(base_ranges_find(&ranges, 200));
    base_ranges_release(&ranges);
    ck_assert_uint_eq(ranges.limit, 3);
}
END_TEST

START_TEST(a_failed_allocation_changes_nothing)
{
    struct base_ranges ranges = { .count = 0 };
    struct base_range range = made(0, 100, 0, 1);

    allocation_fail_at(1);
    ck_assert_int_eq(base_ranges_add(&ranges, &range), BASE_RANGES_NO_MEMORY);
    allocation_fail_at(0);
    ck_assert_uint_eq(ranges.count, 0);
    ck_assert_int_eq(base_ranges_add(&ranges, &range), BASE_RANGES_ADDED);
    base_ranges_release(&ranges);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_ranges");
    TCase *tcase = tcase_create("ranges");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, later_ranges_replace_what_they_overlap, 0, 20);
    tcase_add_test(tcase, ranges_reach_the_last_address);
    tcase_add_test(tcase, there_is_room_for_the_rest_of_a_split_range);
    tcase_add_test(tcase, stops_at_its_limit);
    tcase_add_test(tcase, a_failed_allocation_changes_nothing);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
