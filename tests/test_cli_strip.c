/* Strip plots: equal values, one value, an odd one far away, zeros, more than digits can tell.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/cli/strip.h"

#define MOST 12

static const struct {
    double values[MOST];
    size_t count;
    double other; /* also on the axis, as a value of the other line */
    size_t columns;
    bool utf8;
    const char *text;
} strips[] = {
    { { 1, 2, 3 }, 3, 3, 11, false, "o    o    o" },
    { { 1, 2, 3 }, 3, 3, 11, true, "\xe2\x80\xa2    \xe2\x80\xa2    \xe2\x80\xa2" },
    { { 3, 1, 2 }, 3, 3, 11, false, "o    o    o" },
    { { 1, 2, 3 }, 3, 5, 11, false, "o  o o     " }, /* 2.5 is rounded up */
    { { 0.3, 0.3, 0.3, 0.3 }, 4, 0.3, 9, false, "    4    " },
    { { 0, 0, 0 }, 3, 0, 8, false, "   3    " },
    { { 0, 0, 0 }, 3, 1, 8, false, "3       " },
    { { 0.5 }, 1, 0.5, 5, true, "  \xe2\x80\xa2  " },
    { { 0.5 }, 1, 0.25, 5, false, "    o" },
    { { 1, 1.1, 1.05, 1.02, 1e9 }, 5, 1, 10, false, "4        o" },
    { { 1e-300, 2e-300 }, 2, 0, 3, false, " oo" },
    { { 7, 7, 7, 7, 7, 7, 7, 7, 7 }, 9, 8, 4, false, "9   " },
    { { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, 10, 8, 4, true, "#   " },
    { { 1, 2, 3 }, 3, 3, 1, false, "3" },
    { { 1, 2, 3 }, 3, 3, 2, false, "o2" },
    { { 0 }, 0, 1, 3, false, "   " },
};

START_TEST(marks_stand_where_values_are)
{
    struct cli_axis axis = CLI_NO_AXIS;
    char *text;

    cli_axis_extend(&axis, strips[_i].values, strips[_i].count);
    cli_axis_extend(&axis, &strips[_i].other, 1);
    text = cli_strip(strips[_i].values, strips[_i].count, axis, strips[_i].columns,
                     strips[_i].utf8);
    ck_assert_str_eq(text, strips[_i].text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_strip");
    TCase *tests = tcase_create("strip");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests, marks_stand_where_values_are, 0, sizeof strips / sizeof *strips);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
