/* The table of the hottest functions.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
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

START_TEST(counts_one_function_as_one)
{
    const struct fxt_record records[] = { complete_record(0, 7, 1, 1, "b") };
    char *text = top_from(records, COUNT_OF(records), 0, 0, false);

    ck_assert_ptr_eq(strstr(text, "Type: wall, total 7ns, 1 of 1 function\n"), text);
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

    ck_assert_ptr_nonnull(strstr(text, "77.78%  first_part_of_a…d_its_last_part\n"));
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
                           "         3  75.00%          4 100.00%  f           /src/f.c:20\n"
                           "         1  25.00%          1  25.00%  g (inline)  /src/f.c:3\n");
    free(text);
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 2, into_g, 2, NULL), PROFILE_OK);
    text = top_of(&taken, PROFILE_CPU, 0, 80, false);
    ck_assert_ptr_nonnull(strstr(text, "100.00%  f (partial-inline)  /src/f.c:20"));
    free(text);
    text = top_of(&taken, PROFILE_CPU, 0, 60, false); /* rather the name than the mark */
    ck_assert_ptr_nonnull(strstr(text, "100.00%  f             f.c:20"));
    free(text);
    taken_release(&taken);
}
END_TEST

/* ---- What terminals show ---- */

/* Samples of one function each, one more for each before the last; lines[i] is what is known of
 * it.  */
struct named_line {
    const char *function, *system_name, *file;
};

static char *top_of_lines(const struct named_line *lines, size_t count, size_t columns)
{
    struct fxt_record records[32] = { module_record(1, 0, "/bin/app", "A"),
                                      mapping_record(1, 0, 0x1000, 0x1000, 0) };
    static const uint64_t leaves[] = { 0x1000, 0x1001, 0x1002, 0x1003 };
    size_t used = 2;
    struct taken taken;
    struct profile_stacks *stacks;
    char *text;

    for (size_t i = 0; i < count; i++)
        for (size_t sample = i; sample < count; sample++)
            records[used++] = backtrace_record(1, 1, 1, &leaves[i], 1);
    ck_assert_int_eq(take_records(records, used, NULL, &taken), PROFILE_OK);
    stacks = profile_stacks_of(taken.profile);
    for (profile_id id = 1; id <= profile_stacks_frame_count(stacks); id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);
        struct profile_line line = { .line = 7 };

        if (!frame.has_address)
            continue;
        ck_assert_uint_lt(frame.vaddr, count);
        const struct named_line *named = &lines[frame.vaddr];
        ck_assert_int_eq(profile_stacks_string(stacks, named->function, strlen(named->function),
                                               &line.function, NULL),
                         PROFILE_OK);
        ck_assert_int_eq(profile_stacks_string(stacks, named->system_name,
                                               strlen(named->system_name), &line.system_name, NULL),
                         PROFILE_OK);
        ck_assert_int_eq(
            profile_stacks_string(stacks, named->file, strlen(named->file), &line.file, NULL),
            PROFILE_OK);
        ck_assert_int_eq(profile_stacks_set_lines(stacks, id, &line, 1, NULL), PROFILE_OK);
    }
    text = top_of(&taken, PROFILE_CPU, 0, columns, false);
    taken_release(&taken);
    return text;
}

START_TEST(shortens_names_that_stay_apart)
{
    static const struct named_line lines[] = {
        { "ns::f(int)", "_ZN2ns1fEi", "/a.cc" },
        { "ns::f(long)", "_ZN2ns1fEl", "/a.cc" },
        { "(anonymous namespace)::g(int)", "_ZN12_GLOBAL__N_11gEi", "/a.cc" },
        { "load (main)", "", "/a.cc" }, /* no C++ name: nothing to take off */
    };
    char *text = top_of_lines(lines, COUNT_OF(lines), 0);

    ck_assert_str_eq(text, "Type: samples, total 10, 4 of 4 functions\n"
                           "      flat   flat%        cum    cum%  function\n"
                           "         4  40.00%          4  40.00%  ns::f(int)   /a.cc:7\n"
                           "         3  30.00%          3  30.00%  ns::f(long)  /a.cc:7\n"
                           "         2  20.00%          2  20.00%  g            /a.cc:7\n"
                           "         1  10.00%          1  10.00%  load (main)  /a.cc:7\n");
    free(text);
}
END_TEST

START_TEST(shortens_paths_that_do_not_fit)
{
    static const struct named_line lines[] = {
        { "f", "", "/a/long/way/to/the/source.c" },
        { "g", "", "b.c" },
        { "h", "", "/x/a_folder_of_a_long_name/file.c" },
        { "i", "", "/x/y/the_longest_of_all_these_files.c" },
    };
    char *text = top_of_lines(lines, COUNT_OF(lines), 70);

    ck_assert_ptr_nonnull(strstr(text, "40.00%  f         the/source.c:7\n"));
    ck_assert_ptr_nonnull(strstr(text, "30.00%  g         b.c:7\n"));
    ck_assert_ptr_nonnull(strstr(text, "20.00%  h         file.c:7\n"));
    ck_assert_ptr_nonnull(strstr(text, "10.00%  i         the_longes…_files.c:7\n"));
    free(text);
    text = top_of_lines(lines, COUNT_OF(lines), 100);
    ck_assert_ptr_nonnull(strstr(text, "40.00%  f         /a/long/way/to/the/source.c:7\n"));
    free(text);
}
END_TEST

START_TEST(keeps_names_from_driving_the_terminal)
{
    static const struct named_line lines[] = {
        { "f\033[2J\n", "", "/a\177.c" },
        { "\xc2\x9b\xc2\xa0", "", "/b.c" },
    };
    char *text = top_of_lines(lines, COUNT_OF(lines), 0);

    ck_assert_ptr_nonnull(strstr(text, "66.67%  f\\x1b[2J\\n  /a\\x7f.c:7\n"));
    ck_assert_ptr_nonnull(strstr(text, "33.33%  \\x9b\xc2\xa0       /b.c:7\n"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_top");
    TCase *tcase = tcase_create("top");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, counts_a_recursive_function_once_a_stack);
    tcase_add_test(tcase, counts_one_function_as_one);
    tcase_add_test(tcase, shows_as_many_rows_as_asked);
    tcase_add_test(tcase, cuts_long_names_in_their_middle);
    tcase_add_test(tcase, colours_hot_and_warm_functions);
    tcase_add_test(tcase, marks_inlined_functions_and_shows_the_hottest_line);
    tcase_add_test(tcase, shortens_names_that_stay_apart);
    tcase_add_test(tcase, shortens_paths_that_do_not_fit);
    tcase_add_test(tcase, keeps_names_from_driving_the_terminal);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
