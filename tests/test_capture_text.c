/* Texts of a capture: names of any bytes made UTF-8, commands quoted as for a shell.  */
#include "sampler-capture/clean_text.h"
#include "sampler-capture/host.h"

#include <check.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *text;
    size_t size; /* of the buffer */
    const char *copy;
} copies[] = {
    { "", 8, "" },
    { "plain", 8, "plain" },
    { "caf\xc3\xa9", 8, "caf\xc3\xa9" },
    { "\xff\xc3", 8, "??" },           /* no character; the start of one */
    { "\xed\xa0\x80", 8, "???" },      /* a surrogate */
    { "\xc0\xaf", 8, "??" },           /* an overlong form */
    { "12345678", 8, "1234567" },      /* cut */
    { "123456\xc3\xa9", 8, "123456" }, /* cut before a whole character */
    { "12345\xc3\xa9", 8, "12345\xc3\xa9" },
    { "x", 1, "" },
};

START_TEST(text_is_copied_as_utf8)
{
    char buffer[16];

    memset(buffer, 'z', sizeof buffer);
    utf8_copy(buffer, copies[_i].size, copies[_i].text);
    ck_assert_str_eq(buffer, copies[_i].copy);
    ck_assert_int_eq(buffer[copies[_i].size], 'z');
}
END_TEST

static const struct {
    const char *text;
    const char *tail; /* in 8 bytes */
} tails[] = {
    { "", "" },
    { "1234567", "1234567" },
    { "/a/long/path", "ng/path" },
    { "xx\xe2\x82\xac"
      "12345",
      "12345" }, /* the front would be half a character */
    { "x\xe2\x82\xac"
      "1234",
      "\xe2\x82\xac"
      "1234" },
};

START_TEST(a_tail_begins_with_a_whole_character)
{
    char buffer[8];

    utf8_copy_tail(buffer, sizeof buffer, tails[_i].text);
    ck_assert_str_eq(buffer, tails[_i].tail);
}
END_TEST

static const struct {
    const char *argv[4];
    const char *command;
} commands[] = {
    { { "make", "-j2", "O=build" }, "make -j2 O=build" },
    { { "sh", "-c", "echo $HOME" }, "sh -c 'echo $HOME'" },
    { { "printf", "it's" }, "printf 'it'\\''s'" },
    { { "grep", "" }, "grep ''" },
};

START_TEST(a_command_is_quoted_as_for_a_shell)
{
    struct trace_session session = { 0 };
    struct host host;

    host_describe(&host, (char *const *)commands[_i].argv, &session);
    ck_assert_str_eq(session.command, commands[_i].command);
}
END_TEST

START_TEST(a_session_knows_machine_and_time)
{
    char *const argv[] = { (char *)"true", NULL };
    uint64_t before = host_clock_ns(CLOCK_MONOTONIC);
    struct trace_session session = { 0 };
    struct host host;

    host_describe(&host, argv, &session);
    ck_assert_uint_ge(session.monotonic_ns, before);
    ck_assert_uint_le(session.monotonic_ns, host_clock_ns(CLOCK_MONOTONIC));
    ck_assert_uint_gt(session.realtime_ns, UINT64_C(1000000000) * 1000000000); /* after 2001 */
    ck_assert_str_eq(session.kernel, host.system.release);
    ck_assert_str_ne(session.arch, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_text");
    TCase *tcase = tcase_create("text");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, text_is_copied_as_utf8, 0, sizeof copies / sizeof *copies);
    tcase_add_loop_test(tcase, a_tail_begins_with_a_whole_character, 0,
                        sizeof tails / sizeof *tails);
    tcase_add_loop_test(tcase, a_command_is_quoted_as_for_a_shell, 0,
                        sizeof commands / sizeof *commands);
    tcase_add_test(tcase, a_session_knows_machine_and_time);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
