/* Gathered output, hexadecimal digits, and texts that are copied as UTF-8.  */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/output.h"
#include "base/utf8.h"

struct sink {
    char bytes[100000];
    size_t size;
    unsigned calls, fail_at; /* 0: never */
};

static int take(void *context, const void *bytes, size_t size)
{
    struct sink *sink = context;

    if (++sink->calls == sink->fail_at)
        return ENOSPC;
    memcpy(sink->bytes + sink->size, bytes, size);
    sink->size += size;
    return 0;
}

static struct base_output output;
static struct sink sink;

START_TEST(bytes_arrive_in_order_and_in_few_pieces)
{
    char piece[1000];

    base_output_init(&output, take, &sink);
    for (int i = 0; i < 90; i++) {
        memset(piece, 'a' + i % 26, sizeof piece);
        base_output_put(&output, piece, sizeof piece);
    }
    ck_assert_uint_eq(sink.calls, 2);
    ck_assert_int_eq(base_output_flush(&output), 0);
    ck_assert_uint_eq(sink.calls, 3);
    ck_assert_uint_eq(sink.size, 90000);
    for (int i = 0; i < 90000; i++)
        ck_assert_int_eq(sink.bytes[i], 'a' + i / 1000 % 26);
    ck_assert_int_eq(base_output_flush(&output), 0);
    ck_assert_uint_eq(sink.calls, 3); /* nothing was left */
}
END_TEST

START_TEST(a_failure_is_kept_and_ends_the_writing)
{
    static const char piece[sizeof output.buffer];

    sink.fail_at = 2;
    base_output_init(&output, take, &sink);
    for (int i = 0; i < 4; i++)
        base_output_put(&output, piece, sizeof piece);
    ck_assert_int_eq(base_output_flush(&output), ENOSPC);
    ck_assert_uint_eq(sink.calls, 2);
    ck_assert_uint_eq(sink.size, sizeof piece);
}
END_TEST

START_TEST(bytes_become_digits)
{
    static const uint8_t bytes[] = { 0x00, 0x0f, 0xf0, 0xa5 };
    char text[10] = "xxxxxxxxx";

    ck_assert_uint_eq(base_hex(text, bytes, sizeof bytes), 8);
    ck_assert_str_eq(text, "000ff0a5x");
    ck_assert_uint_eq(base_hex(text, bytes, 0), 0);
}
END_TEST

static const struct {
    const char *text;
    size_t size;
    const char *copy;
} copies[] = {
    { "plain", 10, "plain" },
    { "plain", 3, "pla" },
    { "a\xc3\xa4z", 10, "a\xc3\xa4z" },
    { "a\xc3\xa4z", 2, "a" }, /* the character does not fit */
    { "a\xc3", 10, "a?" },
    { "\xff\xfez", 10, "??z" },
    { "\xed\xa0\x80", 10, "???" }, /* a surrogate */
    { "", 10, "" },
    { "x", 0, "" },
};

START_TEST(a_copy_is_utf8_and_fits)
{
    char out[16] = "################";
    size_t length = base_utf8_copy(out, copies[_i].size, copies[_i].text, strlen(copies[_i].text));

    ck_assert_uint_eq(length, strlen(copies[_i].copy));
    ck_assert_mem_eq(out, copies[_i].copy, length);
    ck_assert_int_eq(out[length], '#'); /* no NUL */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_output");
    TCase *tcase = tcase_create("output");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, bytes_arrive_in_order_and_in_few_pieces);
    tcase_add_test(tcase, a_failure_is_kept_and_ends_the_writing);
    tcase_add_test(tcase, bytes_become_digits);
    tcase_add_loop_test(tcase, a_copy_is_utf8_and_fits, 0, sizeof copies / sizeof *copies);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
