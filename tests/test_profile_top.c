/* The table of the hottest functions.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/profile.h"
#include "tests/support/profile_records.h"

static char *top_of(const struct taken *taken, enum profile_kind kind, size_t rows, size_t columns,
                    bool colour)
{
    struct profile_top_options options = {
        .size = sizeof options, .rows = rows, .columns = columns, .colour = colour
    };
    struct bytes out = { .bytes = NULL };

    ck_assert_int_eq(profile_write_top(taken->profile, kind, &options, collect_bytes, &out, NULL),
                     PROFILE_OK);
    return out.bytes;
}

static char *top_from(const struct fxt_record *records, size_t count, size_t rows, size_t columns,
                      bool colour)
{
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, count, NULL, &taken), PROFILE_OK);
    text = top_of(&taken, PROFILE_SPAN, rows, columns, colour);
    taken_release(&taken);
    return text;
}

START_TEST(counts_a_recursive_function_once_a_stack)
{
    const struct fxt_record records[] = {
        complete_record(0, 2000000000, 1, 1, "main"), complete_record(0, 1500000000, 1, 1, "f"),
        complete_record(0, 1200000, 1, 1, "f"),       complete_record(0, 3400, 1, 1, "g"),
        complete_record(4000, 4005, 1, 1, "h"),
    };
    char *text = top_from(records, COUNT_OF(records), 0, 0, false);

    ck_assert_str_eq(text, "Type: wall, total 2.00s, 4 of 4 functions\n"
                           "      flat   flat%        cum    cum%  function\n"
                           "     1.50s  75.00%      1.50s  75.00%  f\n"
                           "  500.00ms  25.00%      2.00s 100.00%  main\n"
                           "    3.40us   0.00%     3.40us   0.00%  g\n"
                           "       5ns   0.00%        5ns   0.00%  h\n");
    free(text);
}
END_TEST

START_TEST(shows_as_many_rows_as_asked)
{
    const struct fxt_record records[] = { complete_record(0, 7, 1, 1, "b"),
                                          complete_record(10, 17, 1, 1, "a"),
                                          complete_record(20, 26, 1, 1, "c") };
    char *text = top_from(records, COUNT_OF(records), 2, 0, false);

    ck_assert_str_eq(text, "Type: wall, total 20ns, 2 of 3 functions\n"
                           "      flat   flat%        cum    cum%  function\n"
                           "       7ns  35.00%        7ns  35.00%  a\n"
                           "       7ns  35.00%        7ns  35.00%  b\n");
    free(text);
}
END_TEST

START_TEST(cuts_long_names_in_their_middle)
{
    const struct fxt_record records[] = {
        complete_record(0, 7, 1, 1, "first_part_of_a_very_long_name_and_its_last_part"),
        complete_record(10, 12, 1, 1, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"),
    };
    char *text = top_from(records, COUNT_OF(records), 0, 70, false);

    ck_assert_ptr_nonnull(strstr(text, "77.78%  first_part_of_..._its_last_part\n"));
    ck_assert_ptr_nonnull(strstr(text, "22.22%  \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n"));
    for (const char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        ck_assert_int_le(end - line, 75); /* 70 columns; the last name has bytes of no width */
    }
    free(text);
}
END_TEST

START_TEST(colours_hot_and_warm_functions)
{
    const struct fxt_record records[] = { complete_record(0, 1000, 1, 1, "hot"),
                                          complete_record(1000, 1010, 1, 1, "warm"),
                                          complete_record(2000, 2001, 1, 1, "cold") };
    char *text = top_from(records, COUNT_OF(records), 0, 0, true);

    ck_assert_ptr_nonnull(
        strstr(text, "\033[31m    1.00us  98.91%     1.00us  98.91%\033[0m  hot"));
    ck_assert_ptr_nonnull(
        strstr(text, "\033[32m      10ns   0.99%       10ns   0.99%\033[0m  warm"));
    ck_assert_ptr_nonnull(strstr(text, "\n       1ns   0.10%        1ns   0.10%  cold\n"));
    free(text);
}
END_TEST

/* f is called and inlined, g inlined only; the hottest of f's lines is shown.  */
START_TEST(marks_inlined_functions_and_shows_the_hottest_line)
{
    static const uint64_t leaves[] = { 0x1000, 0x1001, 0x1002 };
    const struct fxt_record records[] = {
        module_record(1, 0, "/bin/app", "A"),     mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, &leaves[0], 1), backtrace_record(1, 1, 1, &leaves[1], 1),
        backtrace_record(1, 1, 1, &leaves[1], 1), backtrace_record(1, 1, 1, &leaves[2], 1),
    };
    struct taken taken;
    struct profile_stacks *stacks;
    profile_id f, g, file;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    stacks = profile_stacks_of(taken.profile);
    ck_assert_int_eq(profile_stacks_string(stacks, "f", 1, &f, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_string(stacks, "g", 1, &g, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_string(stacks, "/src/f.c", 8, &file, NULL), PROFILE_OK);
    const struct profile_line plain = { .function = f, .file = file, .line = 10 };
    const struct profile_line hot = { .function = f, .file = file, .line = 20 };
    const struct profile_line inlined[] = { { .function = g, .file = file, .line = 3 },
                                            { .function = f, .file = file, .line = 30 } };
    const struct profile_line into_g[] = { hot, inlined[0] };
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 2, &plain, 1, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 3, &hot, 1, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 4, inlined, 2, NULL), PROFILE_OK);
    text = top_of(&taken, PROFILE_CPU, 0, 0, false);
    ck_assert_str_eq(text, "Type: samples, total 4, 2 of 2 functions\n"
                           "      flat   flat%        cum    cum%  function\n"
                           "         3  75.00%          4 100.00%  f  /src/f.c:20\n"
                           "         1  25.00%          1  25.00%  g (inline)  /src/f.c:3\n");
    free(text);
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 2, into_g, 2, NULL), PROFILE_OK);
    text = top_of(&taken, PROFILE_CPU, 0, 60, false);
    ck_assert_ptr_nonnull(strstr(text, "100.00%  f (partial-inline)  "));
    free(text);
    taken_release(&taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_top");
    TCase *tcase = tcase_create("top");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, counts_a_recursive_function_once_a_stack);
    tcase_add_test(tcase, shows_as_many_rows_as_asked);
    tcase_add_test(tcase, cuts_long_names_in_their_middle);
    tcase_add_test(tcase, colours_hot_and_warm_functions);
    tcase_add_test(tcase, marks_inlined_functions_and_shows_the_hottest_line);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
