/* Reading JSON: tokens, text, what is no JSON, however its bytes come.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

struct source {
    const char *bytes;
    size_t left, piece;
};

static ssize_t fill(void *context, void *bytes, size_t size)
{
    struct source *source = context;
    size_t length = source->left < source->piece ? source->left : source->piece;

    if (length > size)
        length = size;
    memcpy(bytes, source->bytes, length);
    source->bytes += length;
    source->left -= length;
    return (ssize_t)length;
}

/* The tokens as one text: brackets, keys with a colon, strings in quotes, "!" when it is bad.  */
static void tokens_of(const char *json, size_t length, size_t piece, char *out, size_t size)
{
    static const char *const plain[] = {
        [BASE_JSON_END] = "$",        [BASE_JSON_BAD] = "!",   [BASE_JSON_OBJECT] = "{",
        [BASE_JSON_OBJECT_END] = "}", [BASE_JSON_ARRAY] = "[", [BASE_JSON_ARRAY_END] = "]",
        [BASE_JSON_TRUE] = "t",       [BASE_JSON_FALSE] = "f", [BASE_JSON_NULL] = "n",
        [BASE_JSON_NUMBER] = NULL
    };
    struct source source = { json, length, piece };
    static struct base_json_reader reader;
    enum base_json_token token;
    size_t used = 0;

    base_json_init(&reader, fill, &source);
    do {
        token = base_json_next(&reader);
        if (token == BASE_JSON_KEY)
            used += (size_t)snprintf(out + used, size - used, "%s:", reader.text);
        else if (token == BASE_JSON_STRING)
            used += (size_t)snprintf(out + used, size - used, "\"%s\"", reader.text);
        else if (token == BASE_JSON_NUMBER)
            used += (size_t)snprintf(out + used, size - used, "%s ", reader.text);
        else
            used += (size_t)snprintf(out + used, size - used, "%s", plain[token]);
        ck_assert_uint_lt(used, size);
    } while (token != BASE_JSON_END && token != BASE_JSON_BAD);
    ck_assert((token == BASE_JSON_BAD) == (reader.problem != NULL));
    ck_assert_int_eq(base_json_next(&reader), token); /* again and again */
}

static const struct {
    const char *json, *tokens;
} documents[] = {
    { "{}", "{}$" },
    { " [ ] ", "[]$" },
    { "{\"a\": 1, \"b\":[true,false,null]}", "{a:1 b:[tfn]}$" },
    { "[0, -0, 12, -1.5, 1e9, 2E-7, 0.25]", "[0 -0 12 -1.5 1e9 2E-7 0.25 ]$" },
    { "18446744073709551615", "18446744073709551615 $" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\"\\/\b\f\n\r\t\"$" },
    { "\"\\u0041\\u00e9\\u65e5\\ud83d\\ude00\"", "\"Aé日😀\"$" },
    { "\"\\ud83d\"", "\"\xef\xbf\xbd\"$" },
    { "\"\\ud83dx\\ude00\\ud83d\\ud83d\\ude00\"", "\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd😀\"$" },
    { "[[[[{\"x\":{}}]]]]", "[[[[{x:{}}]]]]$" },
    /* What is no JSON.  */
    { "", "!" },
    { "{", "{!" },
    { "{\"a\"}", "{!" },
    { "{\"a\":}", "{a:!" },
    { "{\"a\":1,}", "{a:1 !" },
    { "{a:1}", "{!" },
    { "[1,]", "[1 !" },
    { "[1 2]", "[1 !" },
    { "[1}", "[1 !" },
    { "{\"a\":1]", "{a:1 !" },
    { "01", "0 !" },
    { "-", "!" },
    { "1.", "!" },
    { "1e", "!" },
    { "+1", "!" },
    { "tru", "!" },
    { "nul!", "!" },
    { "\"abc", "!" },
    { "\"a\nb\"", "!" },
    { "\"\\x\"", "!" },
    { "\"\\u12g4\"", "!" },
    { "{} {}", "{}!" },
    { "]", "!" },
    { "\xef\xbb\xbf{}", "!" },
};

START_TEST(reads_tokens)
{
    const char *json = documents[_i].json;
    char tokens[256];

    for (size_t piece = 1; piece <= 64; piece *= 2) {
        tokens_of(json, strlen(json), piece, tokens, sizeof tokens);
        ck_assert_str_eq(tokens, documents[_i].tokens);
    }
}
END_TEST

START_TEST(bounds_depth_and_text)
{
    static char json[2 * BASE_JSON_DEPTH + 8], tokens[4 * BASE_JSON_DEPTH];
    static char text[BASE_JSON_TEXT + 100];
    struct source source = { text, sizeof text, 100 };
    static struct base_json_reader reader;

    memset(json, '[', BASE_JSON_DEPTH + 1);
    tokens_of(json, BASE_JSON_DEPTH + 1, 7, tokens, sizeof tokens);
    ck_assert_uint_eq(strlen(tokens), BASE_JSON_DEPTH + 1);
    ck_assert_int_eq(tokens[BASE_JSON_DEPTH], '!');
    memset(json + BASE_JSON_DEPTH, ']', BASE_JSON_DEPTH);
    tokens_of(json, (size_t)2 * BASE_JSON_DEPTH, 7, tokens, sizeof tokens);
    ck_assert_int_eq(tokens[strlen(tokens) - 1], '$');

    memset(text, 'x', sizeof text);
    text[0] = text[sizeof text - 1] = '"';
    base_json_init(&reader, fill, &source);
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_STRING);
    ck_assert(reader.is_cut);
    ck_assert_uint_eq(reader.length, BASE_JSON_TEXT);
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_END);
}
END_TEST

START_TEST(skips_what_is_not_wanted)
{
    static const char json[] = "{\"a\":{\"b\":[1,{\"c\":\"]\"}]},\"d\":2}";
    struct source source = { json, sizeof json - 1, 3 };
    static struct base_json_reader reader;

    base_json_init(&reader, fill, &source);
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_OBJECT);
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_KEY);
    ck_assert(base_json_skip(&reader, base_json_next(&reader)));
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_KEY);
    ck_assert_str_eq(reader.text, "d");
    ck_assert(base_json_skip(&reader, base_json_next(&reader)));
    ck_assert_int_eq(base_json_next(&reader), BASE_JSON_OBJECT_END);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_read");
    TCase *tests = tcase_create("json_read");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, reads_tokens, 0, (int)(sizeof documents / sizeof *documents));
    tcase_add_test(tests, bounds_depth_and_text);
    tcase_add_test(tests, skips_what_is_not_wanted);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
