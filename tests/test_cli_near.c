/* Which known name a mistyped one was meant for.  */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "cmd/cli/near.h"

static const struct {
    const char *typed, *known;
    size_t distance;
    bool meant;
} pairs[] = {
    { "import", "import", 0, true },
    { "impotr", "import", 1, true },
    { "imprt", "import", 1, true },
    { "Report", "report", 0, true },
    { "samples", "cpu_sample", 5, true },
    { "heap", "heap_event", 6, true },
    { "slices", "slice", 1, true },
    { "slice_datas", "slice", 6, true },
    { "x", "top", 3, false },
    { "top", "tree", 3, false },
    { "id", "id2", 1, false },
    { "", "log", 3, false },
    { "nowhere", "thread", 6, false },
};

START_TEST(finds_what_was_meant)
{
    ck_assert_uint_eq(near_distance(pairs[_i].typed, pairs[_i].known), pairs[_i].distance);
    ck_assert_uint_eq(near_distance(pairs[_i].known, pairs[_i].typed), pairs[_i].distance);
    ck_assert_int_eq(near_is_meant(pairs[_i].typed, pairs[_i].known), pairs[_i].meant);
}
END_TEST

START_TEST(long_names_are_far)
{
    char name[66];

    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = 'a';
    name[65] = '\0';
    ck_assert_uint_eq(near_distance(name, "a"), SIZE_MAX);
    ck_assert(!near_is_meant(name, name));
    name[64] = '\0';
    ck_assert_uint_eq(near_distance(name, "a"), 63);
    ck_assert(near_is_meant(name, name));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("near");
    TCase *tcase = tcase_create("near");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, finds_what_was_meant, 0, sizeof pairs / sizeof *pairs);
    tcase_add_test(tcase, long_names_are_far);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
