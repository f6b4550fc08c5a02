/* Names from files are shown in one way: what drives a terminal, reverses or breaks a line is
 * escaped, everything else stays.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"

/* NOLINTBEGIN(misc-misleading-bidirectional): what is tested */
static const struct {
    const char *bytes;
    size_t length;
    const char *shown;
} names[] = {
    { "", 0, "" },
    { "std::vector<int>::at(unsigned long) const", 41,
      "std::vector<int>::at(unsigned long) const" },
    { "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x99\x82", 16,
      "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x99\x82" },
    { "a\\b", 3, "a\\b" },
    { "a\nb\tc\rd", 7, "a\\nb\\tc\\rd" },
    { "a\0b", 3, "a\\x00b" },
    { "\x1b[31mred", 8, "\\x1b[31mred" },
    { "\x7f", 1, "\\x7f" },
    { "\xc2\x9b"
      "31m",
      5, "\\x9b31m" },                                        /* C1 CSI */
    { "\xc2\x80\xc2\x9f\xc2\xa0", 6, "\\x80\\x9f\xc2\xa0" },  /* the edges of C1 */
    { "\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", 12, /* U+200D..U+2010 */
      "\xe2\x80\x8d\\u200e\\u200f\xe2\x80\x90" },
    { "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", 18,
      "\xe2\x80\xa7\\u2028\\u2029\\u202a\\u202e\xe2\x80\xaf" },
    { "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", 12,
      "\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa" },
    { "\xff\xc3", 2, "\\xff\\xc3" },          /* not UTF-8 */
    { "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" }, /* a surrogate */
};
/* NOLINTEND(misc-misleading-bidirectional) */

START_TEST(escapes_what_must_not_reach_a_person)
{
    struct base_text text = { .bytes = NULL };

    base_text_add_visible(&text, names[_i].bytes, names[_i].length);
    ck_assert_str_eq(text.bytes, names[_i].shown);
    base_text_release(&text);
}
END_TEST

/* Every character of Unicode, against the list in words.  */
START_TEST(refuses_the_listed_characters_and_no_other)
{
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        char b[4];
        size_t length, size;
        bool listed = point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e ||
                      point == 0x200f || point == 0x2028 || point == 0x2029 ||
                      (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);

        if (point >= 0xd800 && point < 0xe000)
            continue;
        length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        b[0] = (char)(length == 1   ? point
                      : length == 2 ? 0xc0 | point >> 6
                      : length == 3 ? 0xe0 | point >> 12
                                    : 0xf0 | point >> 18);
        for (size_t i = 1; i < length; i++)
            b[i] = (char)(0x80 | (point >> 6 * (length - 1 - i) & 0x3f));
        if (base_shown_as_is(b, length, &size) == listed || size != length ||
            base_code_point(b, length) != point)
            ck_abort_msg("U+%04X", (unsigned)point);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_visible");
    TCase *tcase = tcase_create("visible");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, escapes_what_must_not_reach_a_person, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_test(tcase, refuses_the_listed_characters_and_no_other);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
