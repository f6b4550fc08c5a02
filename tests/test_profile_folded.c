/* Folded text: clean names, sorted and merged lines, roots.  */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/profile_internal.h"
#include "tests/support/profile_records.h"

static const struct {
    const char *name;
    const char *clean;
} names[] = {
    { "plain", "plain" },
    { "operator new(unsigned long)", "operator new(unsigned long)" },
    { "a;b;c", "a:b:c" },
    { "two\nlines\tand\x01more", "two lines and more" },
    { "  blanks around \n", "blanks around" },
    { "'quoted' \"name\"", "'quoted' \"name\"" },
    { "<&'a str as Trait>::f", "<&'a str as Trait>::f" },
    { "loop 12", "loop_12" },
    { "loop 12.5", "loop_12.5" },
    { "loop12", "loop12" },
    { "12", "12" },
    { "loop 12 x", "loop 12 x" },
    { "", "[unknown]" },
    { " ' ", "'" },
    { "h\xc3\xa9llo", "h\xc3\xa9llo" },
    { "bad\xff\xc3(", "bad\xef\xbf\xbd\xef\xbf\xbd(" },
    { "cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd" },
    { "over\xc0\xafkill \xed\xa0\x80", "over\xef\xbf\xbd\xef\xbf\xbd"
                                       "kill "
                                       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
};

START_TEST(cleans_names_that_would_break_a_line)
{
    const struct fxt_record records[] = { complete_record(0, 7, 1, 1, names[_i].name) };
    struct bytes expected = { .bytes = NULL };
    char *text = folded_from(records, 1, PROFILE_SPAN);

    collect_bytes(&expected, names[_i].clean, strlen(names[_i].clean));
    collect_bytes(&expected, " 7\n", 3);
    ck_assert_str_eq(text, expected.bytes);
    free(text);
    free(expected.bytes);
}
END_TEST

START_TEST(merges_stacks_whose_clean_names_are_equal)
{
    const struct fxt_record records[] = {
        complete_record(0, 5, 1, 1, "a;b"),
        complete_record(10, 13, 1, 1, "a:b"),
        complete_record(20, 21, 1, 1, " a:b "),
    };
    char *text = folded_from(records, COUNT_OF(records), PROFILE_SPAN);

    ck_assert_str_eq(text, "a:b 9\n");
    free(text);
}
END_TEST

/* ' ' and '!' sort before ';', letters behind it.  */
START_TEST(sorts_lines_by_their_bytes)
{
    const struct fxt_record records[] = {
        complete_record(0, 10, 1, 1, "a"),         complete_record(1, 3, 1, 1, "z"),
        complete_record(20, 21, 1, 1, "a b"),      complete_record(30, 31, 1, 1, "a!"),
        complete_record(40, 43, 1, 1, "ab"),       complete_record(41, 42, 1, 1, "c"),
        complete_record(50, 51, 1, 1, "\xc3\xa9"), complete_record(60, 61, 1, 1, "B"),
        complete_record(70, 72, 1, 1, "a!"),       complete_record(70, 71, 1, 1, "x"),
    };
    char *text = folded_from(records, COUNT_OF(records), PROFILE_SPAN);

    ck_assert_str_eq(text, "B 1\na 8\na b 1\na! 2\na!;x 1\na;z 2\nab 2\nab;c 1\n\xc3\xa9 1\n");
    free(text);
}
END_TEST

START_TEST(names_the_root_as_asked)
{
    const struct fxt_record records[] = {
        process_record(1, "my app;1"),    thread_record(2, "io thread", NULL, 0),
        complete_record(0, 5, 1, 2, "f"), complete_record(0, 6, 1, 3, "f"),
        complete_record(0, 7, 4, 3, "f"),
    };
    static const char *const expected[] = {
        "my_app:1;f 11\npid-4;f 7\n",
        "my_app:1;io_thread;f 5\nmy_app:1;tid-3;f 6\npid-4;tid-3;f 7\n",
        "f 18\n",
    };
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_SPAN, (enum profile_root)_i, -1);
    ck_assert_str_eq(text, expected[_i]);
    free(text);
    taken_release(&taken);
}
END_TEST

/* The name of a module without its folder, or its build ID; brackets are not doubled.  */
START_TEST(shows_modules_for_frames_without_names)
{
    static const uint64_t pcs[] = { 0x1000, 0x2001, 0x3001, 0x4001, 0x9001 };
    const struct fxt_record records[] = {
        module_record(1, 0, "/usr/lib/libc.so.6", "C"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        module_record(1, 1, "[vdso]", "V"),
        mapping_record(1, 1, 0x2000, 0x1000, 0),
        module_record(1, 2, "", "?"),
        mapping_record(1, 2, 0x3000, 0x1000, 0),
        module_record(1, 3, "", ""),
        mapping_record(1, 3, 0x4000, 0x1000, 0),
        backtrace_record(1, 1, 1, pcs, 5),
    };
    char *text = folded_from(records, COUNT_OF(records), PROFILE_CPU);

    ck_assert_str_eq(text, "[anon];[unknown];[3f];[vdso];[libc.so.6] 1\n");
    free(text);
}
END_TEST

START_TEST(writes_inlined_functions_outer_before_inner)
{
    static const uint64_t pcs[] = { 0x1000, 0x1101 };
    const struct fxt_record records[] = {
        module_record(1, 0, "m", "M"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, pcs, 2),
    };
    struct taken taken;
    struct profile_stacks *stacks;
    struct profile_line lines[3] = { { .line = 1 }, { .line = 2 }, { .line = 0 } };
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    stacks = profile_stacks_of(taken.profile);
    profile_stacks_string(stacks, "inner", 5, &lines[0].function, NULL);
    profile_stacks_string(stacks, "outer", 5, &lines[1].function, NULL);
    /* The third has no name.  Frame 1 is [truncated], 2 the caller, 3 the leaf.  */
    ck_assert_int_eq(profile_stacks_set_lines(stacks, 3, lines, 3, NULL), PROFILE_OK);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, -1);
    ck_assert_str_eq(text, "[m];[m];outer;inner 1\n");
    free(text);
    taken_release(&taken);
}
END_TEST

START_TEST(writes_nothing_for_nothing)
{
    char *text = folded_from(NULL, 0, PROFILE_SPAN);

    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

static int refuse(void *context, const void *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    return size > 0 ? ENOSPC : 0;
}

START_TEST(reports_what_writing_returned)
{
    const struct fxt_record records[] = { complete_record(0, 7, 1, 1, "a") };
    struct profile_error error;
    struct taken taken;

    ck_assert_int_eq(take_records(records, 1, NULL, &taken), PROFILE_OK);
    ck_assert_int_eq(profile_write_folded(taken.profile, PROFILE_SPAN, NULL, refuse, NULL, &error),
                     PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    ck_assert_str_eq(error.message, "writing: No space left on device");
    ck_assert_int_eq(profile_write_pprof(taken.profile, PROFILE_SPAN, NULL, refuse, NULL, &error),
                     PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    ck_assert_int_eq(profile_write_top(taken.profile, PROFILE_SPAN, NULL, refuse, NULL, &error),
                     PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    taken_release(&taken);
}
END_TEST

START_TEST(refuses_options_that_make_no_sense)
{
    static const struct {
        int kind, root, value;
        const char *message;
    } wrong[] = {
        { PROFILE_SPAN, PROFILE_ROOT_NONE, 2, "no sample type 2 among 2" },
        { PROFILE_SPAN, PROFILE_ROOT_NONE, -2, "no sample type -2 among 2" },
        { PROFILE_CPU, PROFILE_ROOT_NONE, 1, "no sample type 1 among 1" },
        { PROFILE_SPAN, 3, 0, "no root 3" },
        { 99, PROFILE_ROOT_NONE, 0, "no profile of kind 99" },
    };
    struct profile_error error;
    struct taken taken;

    ck_assert_int_eq(take_records(NULL, 0, NULL, &taken), PROFILE_OK);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct profile_folded_options options = { .size = sizeof options,
                                                  .root = (enum profile_root)wrong[i].root,
                                                  .value = wrong[i].value };

        ck_assert_int_eq(profile_write_folded(taken.profile, (enum profile_kind)wrong[i].kind,
                                              &options, collect_bytes, NULL, &error),
                         PROFILE_INVALID);
        ck_assert_str_eq(error.message, wrong[i].message);
    }
    taken_release(&taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_folded");
    TCase *tcase = tcase_create("folded");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, cleans_names_that_would_break_a_line, 0, (int)COUNT_OF(names));
    tcase_add_test(tcase, merges_stacks_whose_clean_names_are_equal);
    tcase_add_test(tcase, sorts_lines_by_their_bytes);
    tcase_add_loop_test(tcase, names_the_root_as_asked, 0, 3);
    tcase_add_test(tcase, shows_modules_for_frames_without_names);
    tcase_add_test(tcase, writes_inlined_functions_outer_before_inner);
    tcase_add_test(tcase, writes_nothing_for_nothing);
    tcase_add_test(tcase, reports_what_writing_returned);
    tcase_add_test(tcase, refuses_options_that_make_no_sense);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
