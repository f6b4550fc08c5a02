/* How much of stacks is copied, by what the samples before would have needed.  */
#include "sampler-capture/cpu/stack_copies.h"

#include <check.h>
#include <stdlib.h>

static struct copies copies;

static void setup(void)
{
    copies_init(&copies, &(struct copies_sizes){ .bytes = { 1024, 8192, 32768, 61440 } });
}

static void see(unsigned count, enum copies_size needed)
{
    while (count-- > 0)
        copies_saw(&copies, copies.now, needed);
}

START_TEST(finds_the_size_of_bytes)
{
    ck_assert_int_eq(copies_size_of(&copies.sizes, 0), COPIES_SMALL);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 1024), COPIES_SMALL);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 1025), COPIES_MEDIUM);
    ck_assert_int_eq(copies_size_of(&copies.sizes, 61441), COPIES_COUNT);
}
END_TEST

START_TEST(begins_large_and_takes_what_is_enough)
{
    const enum copies_size size = (enum copies_size)_i;
    const enum copies_size wanted = size == COPIES_MEDIUM ? COPIES_LARGE : size;

    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(49, size);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(1, size);
    ck_assert_int_eq(copies.now, wanted);
    see(5000, size);
    ck_assert_int_eq(copies.now, wanted);
}
END_TEST

START_TEST(takes_medium_copies_only_after_a_loss)
{
    see(200, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    copies_lost(&copies);
    see(50, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_MEDIUM);
}
END_TEST

START_TEST(goes_back_when_stacks_are_cut)
{
    see(50, COPIES_SMALL);
    see(100, COPIES_SMALL);
    see(2, COPIES_MEDIUM); /* two are no reason */
    ck_assert_int_eq(copies.now, COPIES_SMALL);
    see(1, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(50, COPIES_SMALL); /* and looks for longer then */
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(150, COPIES_SMALL);
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

/* However long a program did something else, a third cut is enough.  */
START_TEST(goes_back_at_once_when_a_program_begins_something_else)
{
    see(50, COPIES_SMALL);
    see(100000, COPIES_SMALL);
    see(3, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

/* Where samples are lost, one in ten may be cut.  */
START_TEST(goes_back_later_when_samples_are_lost)
{
    see(50, COPIES_SMALL);
    copies_lost(&copies);
    for (int i = 0; i < 20; i++) {
        see(10, COPIES_SMALL);
        see(1, COPIES_MEDIUM);
    }
    ck_assert_int_eq(copies.now, COPIES_SMALL);
    see(3, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

START_TEST(lets_a_few_be_cut)
{
    see(50, COPIES_SMALL);
    for (int i = 0; i < 100; i++) {
        see(199, COPIES_SMALL);
        see(1, COPIES_MEDIUM);
    }
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(takes_the_largest_only_for_many)
{
    see(48, COPIES_LARGE);
    see(2, COPIES_LARGEST);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(45, COPIES_LARGE);
    see(5, COPIES_LARGEST);
    ck_assert_int_eq(copies.now, COPIES_LARGEST);
    see(50, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
}
END_TEST

START_TEST(lets_more_be_cut_rather_than_lost)
{
    see(47, COPIES_MEDIUM);
    see(3, COPIES_LARGE);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    copies_lost(&copies);
    see(47, COPIES_MEDIUM);
    see(3, COPIES_LARGE);
    ck_assert_int_eq(copies.now, COPIES_MEDIUM);
}
END_TEST

START_TEST(takes_no_size_that_there_is_not)
{
    copies_init(&copies, &(struct copies_sizes){ .bytes = { 1024, 0, 32768, 0 } });
    see(50, COPIES_LARGEST);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(50, COPIES_MEDIUM);
    ck_assert_int_eq(copies.now, COPIES_LARGE);
    see(50, COPIES_SMALL);
    ck_assert_int_eq(copies.now, COPIES_SMALL);
}
END_TEST

START_TEST(does_not_count_samples_from_before_a_change)
{
    see(50, COPIES_SMALL);
    for (int i = 0; i < 100; i++)
        copies_saw(&copies, COPIES_LARGE, COPIES_LARGE);
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
    tcase_add_loop_test(test_case, begins_large_and_takes_what_is_enough, 0, COPIES_COUNT);
    tcase_add_test(test_case, takes_medium_copies_only_after_a_loss);
    tcase_add_test(test_case, goes_back_when_stacks_are_cut);
    tcase_add_test(test_case, goes_back_at_once_when_a_program_begins_something_else);
    tcase_add_test(test_case, goes_back_later_when_samples_are_lost);
    tcase_add_test(test_case, lets_a_few_be_cut);
    tcase_add_test(test_case, takes_the_largest_only_for_many);
    tcase_add_test(test_case, lets_more_be_cut_rather_than_lost);
    tcase_add_test(test_case, takes_no_size_that_there_is_not);
    tcase_add_test(test_case, does_not_count_samples_from_before_a_change);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
