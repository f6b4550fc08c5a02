#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/symbolize.h>
#include "tests/support/symbolize_build.h"

/* A .comment section of these bytes (as printf(1) takes them), and what is said of it.  */
static const struct {
    const char *name, *bytes;
    size_t size;
    const char *text;
} comments[] = {
    { "one compiler", "GCC: 12\\0", 100, "GCC: 12" },
    { "the same twice", "GCC: 12\\0GCC: 12\\0", 100, "GCC: 12" },
    { "two, in their order", "b\\0a\\0b\\0", 100, "b; a" },
    { "a part of another is another", "GCC: 12\\0GCC: 1\\0", 100, "GCC: 12; GCC: 1" },
    { "without a NUL at its end", "GCC: 12", 100, "GCC: 12" },
    { "with empty texts", "\\0\\0x\\0\\0", 100, "x" },
    { "what does not fit is left out", "abcdef\\0gh\\0ijklmnop\\0", 13, "abcdef; gh" },
    { "nothing fits", "abcdef\\0", 4, "" },
    { "no text", "\\0", 100, "" },
};

START_TEST(tells_what_the_file_says)
{
    char command[400], text[100] = "x";
    char *path = build_path("commented");
    struct sym_error error;
    enum sym_status status;

    (void)snprintf(command, sizeof command,
                   "printf '%s' > comment && echo 'int x;' | $CC -xc -c - -o plain && "
                   "objcopy -R .comment --add-section .comment=comment plain commented",
                   comments[_i].bytes);
    build_run(command);
    status = sym_compiler(path, text, comments[_i].size, &error);
    ck_assert_msg(strcmp(text, comments[_i].text) == 0, "%s: '%s'", comments[_i].name, text);
    ck_assert_int_eq(status, text[0] ? SYM_OK : SYM_NOT_FOUND);
    free(path);
}
END_TEST

START_TEST(names_the_compiler_of_a_real_object)
{
    char text[200];
    char *path = build_path("real");

    build_run("echo 'int x;' | gcc -xc -c - -o real");
    ck_assert_int_eq(sym_compiler(path, text, sizeof text, NULL), SYM_OK);
    ck_assert_ptr_nonnull(strstr(text, "GCC: ("));
    free(path);
}
END_TEST

START_TEST(refuses_what_is_no_object)
{
    char text[100];
    char *path = build_path("letter");

    build_write("letter", "Dear compiler");
    ck_assert_int_ne(sym_compiler(path, text, sizeof text, NULL), SYM_OK);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(sym_compiler("/nowhere/at/all", text, sizeof text, NULL), SYM_NOT_FOUND);
    ck_assert_int_eq(sym_compiler(path, text, 0, NULL), SYM_INVALID);
    ck_assert_int_eq(sym_compiler(NULL, text, sizeof text, NULL), SYM_INVALID);
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_compiler");
    TCase *tcase = tcase_create("compiler");
    SRunner *runner;
    int failed;

    (void)build_folder();
    tcase_add_loop_test(tcase, tells_what_the_file_says, 0,
                        (int)(sizeof comments / sizeof *comments));
    tcase_add_test(tcase, names_the_compiler_of_a_real_object);
    tcase_add_test(tcase, refuses_what_is_no_object);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    build_remove();
    return failed != 0;
}
