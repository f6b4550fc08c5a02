/* Columns of text on a terminal, and cutting in the middle.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/width.h"

static const struct {
    const char *text;
    size_t columns;
} widths[] = {
    { "", 0 },
    { "abc", 3 },
    { "é", 1 },
    { "日本", 4 },
    { "e\xcc\x81", 1 }, /* a combining accent */
    { "\xff", 1 },
    { "a\xe6\x97", 3 }, /* half a character */
    { "\xf0\x9f\x98\x80", 2 },
};

START_TEST(counts_columns)
{
    ck_assert_uint_eq(base_width_text(widths[_i].text, strlen(widths[_i].text)),
                      widths[_i].columns);
}
END_TEST

static const struct {
    const char *text;
    size_t columns;
    const char *head, *tail;
} cuts[] = {
    { "abc", 3, "abc", "" },           { "abcdef", 5, "ab", "ef" }, { "abcdef", 4, "ab", "f" },
    { "abcdef", 1, "", "" },           { "abcdef", 0, "", "" },     { "日本語文字", 6, "日", "字" },
    { "日本語文字", 7, "日", "文字" }, { "", 0, "", "" },
};

START_TEST(cuts_the_middle)
{
    const char *text = cuts[_i].text;
    size_t length = strlen(text);
    size_t head, tail;

    base_width_cut(text, length, cuts[_i].columns, &head, &tail);
    ck_assert_uint_eq(head, strlen(cuts[_i].head));
    ck_assert_uint_eq(tail, strlen(cuts[_i].tail));
    ck_assert_mem_eq(text, cuts[_i].head, head);
    ck_assert_mem_eq(text + length - tail, cuts[_i].tail, tail);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("width");
    TCase *tests = tcase_create("width");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, counts_columns, 0, sizeof widths / sizeof *widths);
    tcase_add_loop_test(tests, cuts_the_middle, 0, sizeof cuts / sizeof *cuts);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
