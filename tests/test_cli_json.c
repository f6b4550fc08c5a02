/* JSON, byte for byte.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli_json.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* What is written stays in the output's buffer, which is larger than any of these.  */
static struct cli_output output;
static struct json json;

static void open_json(void)
{
    ck_assert_int_eq(cli_output_open(&output, NULL), CLI_OK);
    json = (struct json){ .output = &output };
}

static void close_json(void)
{
    cli_output_abort(&output);
}

static void assert_written(const char *name, const char *expected)
{
    ck_assert_msg(output.used == strlen(expected) &&
                      memcmp(output.buffer, expected, output.used) == 0,
                  "%s: %.*s", name, (int)output.used, (const char *)output.buffer);
}

/* ---- Strings ---- */

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *name;
    const char *bytes;
    size_t length;
    const char *text;
} strings[] = {
    { "nothing", "", 0, "" },
    { "ASCII", "plain ~ text", 12, "plain ~ text" },
    { "quote and backslash", "\"a\\b\"", 5, "\\\"a\\\\b\\\"" },
    { "a slash stays", "/", 1, "/" },
    { "short escapes", "\b\f\n\r\t", 5, "\\b\\f\\n\\r\\t" },
    { "other control bytes", "\x01\x0b\x1f\x7f", 4, "\\u0001\\u000b\\u001f\\u007f" },
    { "NUL", "a\0b", 3, "a\\u0000b" },
    { "two, three and four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f", 9,
      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f" },
    { "first and last of each length",
      "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 18,
      "\\u0080\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): what is tested */
    { "controls of C1, reading order and lines", "\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", 11,
      "\\u009b\\u202e\\u2066\\u2028" },
    { "on both sides of the surrogates", "\xed\x9f\xbf\xee\x80\x80", 6,
      "\xed\x9f\xbf\xee\x80\x80" },
    /* What is not UTF-8: one U+FFFD a byte.  */
    { "continuation byte alone", "a\x80z", 3, "a" FFFD "z" },
    { "overlong, two bytes", "\xc0\xaf", 2, FFFD FFFD },
    { "overlong, three bytes", "\xe0\x9f\xbf", 3, FFFD FFFD FFFD },
    { "overlong, four bytes", "\xf0\x8f\xbf\xbf", 4, FFFD FFFD FFFD FFFD },
    { "surrogates", "\xed\xa0\x80\xed\xbf\xbf", 6, FFFD FFFD FFFD FFFD FFFD FFFD },
    { "beyond U+10FFFF", "\xf4\x90\x80\x80", 4, FFFD FFFD FFFD FFFD },
    { "bytes that never occur", "\xc1\xf5\xf8\xfc\xfe\xff", 6, FFFD FFFD FFFD FFFD FFFD FFFD },
    { "cut by the end, after one byte", "\xc3", 1, FFFD },
    { "cut by the end, after two", "\xe2\x82", 2, FFFD FFFD },
    { "cut by the end, after three", "\xf0\x9f\x90", 3, FFFD FFFD FFFD },
    { "cut by another character", "\xe2\x82z\xc3\"", 5, FFFD FFFD "z" FFFD "\\\"" },
};

START_TEST(writes_any_bytes_as_a_string)
{
    char expected[256];

    json_string(&json, NULL, strings[_i].bytes, strings[_i].length);
    (void)snprintf(expected, sizeof expected, "\"%s\"", strings[_i].text);
    assert_written(strings[_i].name, expected);
}
END_TEST

/* The bytes behind the end do not complete a character.  */
START_TEST(reads_no_byte_behind_the_end)
{
    char *bytes = malloc(2);

    ck_assert_ptr_nonnull(bytes);
    bytes[0] = 'a';
    bytes[1] = '\xc3';
    json_string(&json, NULL, bytes, 2);
    free(bytes);
    assert_written("exactly two bytes", "\"a" FFFD "\"");
}
END_TEST

/* ---- Numbers ---- */

static const struct {
    double number;
    const char *text;
} doubles[] = {
    { 0.0, "0" },
    { -0.0, "-0" },
    { 1.0, "1" },
    { -2.5, "-2.5" },
    { 0.1, "0.1" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 1.0 / 3, "0.3333333333333333" },
    { 123456789012345678.0, "1.2345678901234568e+17" },
    { 9007199254740993.0, "9007199254740992" },
    { 9007199254740994.0, "9007199254740994.0" },
    { -9007199254740994.0, "-9007199254740994.0" },
    { 1.7976931348623157e308, "1.7976931348623157e+308" },
    { 2.2250738585072014e-308, "2.2250738585072014e-308" },
    { 5e-324, "5e-324" },
    { 1.5e-323, "1.5e-323" },
    { NAN, "\"NaN\"" },
    { -NAN, "\"NaN\"" },
    { INFINITY, "\"Infinity\"" },
    { -INFINITY, "\"-Infinity\"" },
};

START_TEST(writes_doubles_that_read_back_equal)
{
    json_double(&json, NULL, doubles[_i].number);
    assert_written(doubles[_i].text, doubles[_i].text);
    if (isfinite(doubles[_i].number)) {
        double back = strtod(doubles[_i].text, NULL);

        ck_assert(back == doubles[_i].number && signbit(back) == signbit(doubles[_i].number));
    }
}
END_TEST

/* Numbers as long as a double holds every one of them, then strings.  */
START_TEST(writes_integers_to_their_limits)
{
    json_open(&json, NULL, '[');
    json_number(&json, NULL, 0);
    json_number(&json, NULL, -1);
    json_number(&json, NULL, INT64_C(9007199254740992));
    json_number(&json, NULL, INT64_C(9007199254740993));
    json_number(&json, NULL, INT64_C(-9007199254740992));
    json_number(&json, NULL, INT64_C(-9007199254740993));
    json_number(&json, NULL, INT64_MIN);
    json_number(&json, NULL, INT64_MAX);
    json_unsigned(&json, NULL, UINT64_C(9007199254740992));
    json_unsigned(&json, NULL, UINT64_C(9007199254740993));
    json_unsigned(&json, NULL, UINT64_MAX);
    json_address(&json, NULL, UINT64_MAX);
    json_address(&json, NULL, 0);
    json_close(&json, ']');
    assert_written("integers", "[0,-1,9007199254740992,\"9007199254740993\",-9007199254740992,"
                               "\"-9007199254740993\",\"-9223372036854775808\","
                               "\"9223372036854775807\",9007199254740992,\"9007199254740993\","
                               "\"18446744073709551615\",\"0xffffffffffffffff\",\"0x0\"]");
}
END_TEST

/* ---- Structure ---- */

START_TEST(puts_commas_where_they_are_due)
{
    static const uint8_t bytes[] = { 0x00, 0x0f, 0xf0, 0xff };

    for (int line = 0; line < 2; line++) {
        json_open(&json, NULL, '{');
        json_open(&json, "empty", '[');
        json_close(&json, ']');
        json_text(&json, "text", "a");
        json_open(&json, "list", '[');
        json_open(&json, NULL, '{');
        json_null(&json, "null");
        json_bool(&json, "yes", true);
        json_bool(&json, "no", false);
        json_close(&json, '}');
        json_open(&json, NULL, '{');
        json_close(&json, '}');
        json_number(&json, NULL, 1);
        json_close(&json, ']');
        json_hex(&json, "hex", bytes, sizeof bytes);
        json_hex(&json, "none", bytes, 0);
        json_close(&json, '}');
        json_end_line(&json);
    }
#define LINE                                                                                  \
    "{\"empty\":[],\"text\":\"a\",\"list\":[{\"null\":null,\"yes\":true,\"no\":false},{},1]," \
    "\"hex\":\"000ff0ff\",\"none\":\"\"}\n"
    assert_written("two lines", LINE LINE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_json");
    TCase *tcase = tcase_create("json");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, open_json, close_json);
    tcase_add_loop_test(tcase, writes_any_bytes_as_a_string, 0, ROWS(strings));
    tcase_add_test(tcase, reads_no_byte_behind_the_end);
    tcase_add_loop_test(tcase, writes_doubles_that_read_back_equal, 0, ROWS(doubles));
    tcase_add_test(tcase, writes_integers_to_their_limits);
    tcase_add_test(tcase, puts_commas_where_they_are_due);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
