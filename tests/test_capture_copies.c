/* How much of stacks is copied, by what the samples before would have needed.  */
#include "sampler-capture/cpu/stack_copies.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static struct copies copies;
static uint64_t now_ns; /* of the last sample; they come each millisecond */

#define MS     UINT64_C(1000000)
#define SECOND 1000U /* of samples */

#define FIRST COPIES_FIRST_FITTING
#define NEXT  ((enum copies_size)(COPIES_FIRST_FITTING + 1))

#define SMALL_FITS     true
#define SMALL_DOES_NOT false

static void begin(const struct copies_sizes *sizes)
{
    copies_init(&copies, sizes);
    now_ns = 5000 * MS;
}

static void setup(void)
{
    begin(&(struct copies_sizes){ .bytes = { 1024, 5120, 12288, 32768, 61440 } });
}

static void see(unsigned count, enum copies_size needed, bool fits_small)
{
    while (count-- > 0) {
        const struct copies_sample sample = {
            .time_ns = now_ns += MS, .taken = copies.now, .needed = needed, .fits_small = fits_small
        };

        copies_saw(&copies, &sample);
    }
}

/* While small copies are taken.  */
static void see_small(unsigned count, bool is_whole)
{
    ck_assert_int_eq(copies.now, COPIES_SMALL);
    see(count, COPIES_SMALL, is_whole);
}

START_TEST(finds_the_size_of_bytes)
{
    ck_assert_int_eq(copies_size_of(&copies.sizes, 0), COPIES_SMALL);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 1024), COPIES_SMALL);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 1025), FIRST);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 61441), COPIES_COUNT);
}
END_TEST

START_TEST(begins_with_the_largest_and_takes_what_is_enough)
{
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(49, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(1, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(5000, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

START_TEST(takes_small_copies_of_deep_stacks_whose_callers_frame_pointers_give)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    see_small(5000, true);
    see_small(1, true);
}
END_TEST

/* A second, and the rest of fifty samples.  */
START_TEST(takes_the_size_that_all_stacks_fit_into_for_a_second)
{
    const enum copies_size size = _i % 2 ? FIRST : NEXT;
    const bool fits_small = _i / 2;

    see(SECOND - 50, size, fits_small);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(100, size, fits_small);
    ck_assert_int_eq(copies.now, size);
    see(100 * SECOND, size, fits_small);
    ck_assert_int_eq(copies.now, size);
}
END_TEST

START_TEST(takes_a_smaller_one_when_stacks_become_less_deep)
{
    see(SECOND + 50, NEXT, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, NEXT);
    see(SECOND + 50, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, FIRST);
    see(SECOND + 50, COPIES_SMALL, SMALL_FITS); /* 1 KiB: no size is for less */
    ck_assert_int_eq(copies.now, FIRST);
}
END_TEST

/* One stack a second is deeper.  */
START_TEST(does_not_take_a_size_that_some_stacks_do_not_fit_into)
{
    for (int i = 0; i < 20; i++) {
        see(SECOND - 100, FIRST, SMALL_DOES_NOT);
        see(1, COPIES_LARGE, SMALL_DOES_NOT);
        ck_assert_int_eq(copies.now, COPIES_LARGE);
    }
}
END_TEST

START_TEST(goes_back_with_the_first_stack_that_does_not_fit_and_waits_for_longer)
{
    see(SECOND + 50, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, FIRST);
    see(1, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(4 * SECOND - 50, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(100, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, FIRST);
}
END_TEST

/* Then waiting is not worth while.  */
START_TEST(takes_small_copies_where_stacks_did_not_fit_before)
{
    see(SECOND + 50, FIRST, SMALL_FITS);
    ck_assert_int_eq(copies.now, FIRST);
    see(1, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(50, FIRST, SMALL_FITS);
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(goes_back_when_stacks_are_cut)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    see_small(100, true);
    see_small(2, false); /* two are not enough for a change */
    see_small(1, false);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(50, COPIES_LARGE, SMALL_FITS); /* and looks for longer then */
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(150, COPIES_LARGE, SMALL_FITS);
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

/* From small copies it is not known how deep stacks were.  */
START_TEST(does_not_trust_that_stacks_fit_after_small_copies)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    see_small(10 * SECOND, true);
    see_small(3, false);
    see(200, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

/* However long a program did something else, a third cut is enough.  */
START_TEST(goes_back_at_once_when_a_program_begins_something_else)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    see_small(100000, true);
    see_small(3, false);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
}
END_TEST

/* Where samples are lost, one in ten may be cut.  */
START_TEST(goes_back_later_when_samples_are_lost)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    copies_lost(&copies);
    for (int i = 0; i < 20; i++) {
        see_small(10, true);
        see_small(1, false);
    }
    see_small(3, false);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
}
END_TEST

START_TEST(lets_a_few_be_cut)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    for (int i = 0; i < 100; i++) {
        see_small(199, true);
        see_small(1, false);
    }
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(takes_the_largest_only_for_many)
{
    see(48, COPIES_LARGE, SMALL_DOES_NOT);
    see(2, COPIES_LARGEST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(45, COPIES_LARGE, SMALL_DOES_NOT);
    see(5, COPIES_LARGEST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(50, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

START_TEST(takes_the_smallest_and_lets_more_be_cut_rather_than_lost)
{
    see(50, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    copies_lost(&copies);
    ck_assert(copies_want_small(&copies, FIRST));
    see(47, FIRST, SMALL_DOES_NOT);
    see(3, COPIES_LARGE, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, FIRST);
    for (int i = 0; i < 3; i++) {
        see(16, FIRST, SMALL_FITS);
        see(1, COPIES_LARGE, SMALL_DOES_NOT);
    }
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(takes_no_size_that_there_is_not)
{
    begin(&(struct copies_sizes){ .bytes = { 1024, 0, 0, 32768, 0 } });
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(50, COPIES_LARGEST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(5 * SECOND, FIRST, SMALL_DOES_NOT);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(50, COPIES_LARGE, SMALL_FITS);
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(does_not_count_samples_from_before_a_change)
{
    see(50, COPIES_LARGE, SMALL_FITS);
    for (int i = 0; i < 100; i++)
        copies_saw(&copies, &(struct copies_sample){ .time_ns = now_ns,
                                                     .taken = COPIES_LARGEST,
                                                     .needed = COPIES_LARGE });
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_copies");
    TCase *test_case = tcase_create("copies");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, setup, NULL);
    tcase_add_test(test_case, finds_the_size_of_bytes);
    tcase_add_test(test_case, begins_with_the_largest_and_takes_what_is_enough);
    tcase_add_test(test_case, takes_small_copies_of_deep_stacks_whose_callers_frame_pointers_give);
    tcase_add_loop_test(test_case, takes_the_size_that_all_stacks_fit_into_for_a_second, 0, 4);
    tcase_add_test(test_case, takes_a_smaller_one_when_stacks_become_less_deep);
    tcase_add_test(test_case, does_not_take_a_size_that_some_stacks_do_not_fit_into);
    tcase_add_test(test_case,
                   goes_back_with_the_first_stack_that_does_not_fit_and_waits_for_longer);
    tcase_add_test(test_case, takes_small_copies_where_stacks_did_not_fit_before);
    tcase_add_test(test_case, goes_back_when_stacks_are_cut);
    tcase_add_test(test_case, does_not_trust_that_stacks_fit_after_small_copies);
    tcase_add_test(test_case, goes_back_at_once_when_a_program_begins_something_else);
    tcase_add_test(test_case, goes_back_later_when_samples_are_lost);
    tcase_add_test(test_case, lets_a_few_be_cut);
    tcase_add_test(test_case, takes_the_largest_only_for_many);
    tcase_add_test(test_case, takes_the_smallest_and_lets_more_be_cut_rather_than_lost);
    tcase_add_test(test_case, takes_no_size_that_there_is_not);
    tcase_add_test(test_case, does_not_count_samples_from_before_a_change);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
