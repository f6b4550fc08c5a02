/* The small parts of libstore: texts and identities.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/import/identity.h"
#include "libstore/store_text.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define BAD             "\xef\xbf\xbd" /* U+FFFD */

/* ---- Texts ---- */

static const struct {
    const char *bytes;
    size_t length;
    const char *clean;
} texts[] = {
    { "", 0, "" },
    { "plain ASCII text", 16, "plain ASCII text" },
    { "Gr\xc3\xbc\xc3\x9f"
      "e, \xe2\x82\xac, \xf0\x9f\x99\x82",
      18,
      "Gr\xc3\xbc\xc3\x9f"
      "e, \xe2\x82\xac, \xf0\x9f\x99\x82" },
    { "a\0b", 3, "a" BAD "b" },
    { "12345678\0", 9, "12345678" BAD },
    { "\xff", 1, BAD },
    { "\xc3", 1, BAD },                         /* cut off */
    { "\xc0\x80", 2, BAD BAD },                 /* an over-long NUL */
    { "\xed\xa0\x80", 3, BAD BAD BAD },         /* a surrogate */
    { "\xf4\x90\x80\x80", 4, BAD BAD BAD BAD }, /* beyond U+10FFFF */
    { "\xe2\x82z", 3, BAD BAD "z" },
};

START_TEST(makes_texts_utf8)
{
    char out[128];
    size_t size = store_utf8_clean(texts[_i].bytes, texts[_i].length, out);

    ck_assert_uint_eq(size, strlen(texts[_i].clean));
    ck_assert_mem_eq(out, texts[_i].clean, size);
}
END_TEST

START_TEST(cuts_no_character)
{
    ck_assert_uint_eq(store_utf8_cut("abc\xe2\x82\xac", 3), 3);
    ck_assert_uint_eq(store_utf8_cut("abc\xe2\x82\xac", 4), 3);
    ck_assert_uint_eq(store_utf8_cut("abc\xe2\x82\xac", 5), 3);
    ck_assert_uint_eq(store_utf8_cut("abc\xe2\x82\xac.", 6), 6);
}
END_TEST

/* ---- Identities ---- */

static void identify(const char *bytes, size_t length, size_t piece, unsigned char out[16])
{
    struct store_identity identity;

    store_identity_start(&identity);
    for (size_t at = 0; at < length; at += piece)
        store_identity_add(&identity, bytes + at, length - at < piece ? length - at : piece);
    store_identity_end(&identity, out);
}

START_TEST(identity_does_not_depend_on_pieces)
{
    char bytes[1000];
    unsigned char whole[16], pieces[16];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i >> 3);
    for (size_t length = 0; length < sizeof bytes; length += 37) {
        identify(bytes, length, sizeof bytes, whole);
        for (size_t piece = 1; piece < 70; piece++) {
            identify(bytes, length, piece, pieces);
            ck_assert_mem_eq(whole, pieces, sizeof whole);
        }
    }
}
END_TEST

START_TEST(every_bit_changes_the_identity)
{
    char bytes[100] = { 0 };
    unsigned char first[16], second[16];

    identify(bytes, sizeof bytes, sizeof bytes, first);
    identify(bytes, sizeof bytes - 1, sizeof bytes, second); /* zeros at the end count */
    ck_assert_mem_ne(first, second, sizeof first);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] = (char)(1 << bit % 8);
        identify(bytes, sizeof bytes, sizeof bytes, second);
        ck_assert_mem_ne(first, second, sizeof first);
        ck_assert_mem_ne(first, second, 8);
        ck_assert_mem_ne(first + 8, second + 8, 8);
        bytes[bit / 8] = 0;
    }
}
END_TEST

/* Stores know their captures by it, so it stays what it is.  */
START_TEST(identity_is_the_same_in_all_versions)
{
    static const struct {
        size_t length;
        uint64_t skipped; /* behind the bytes */
        uint8_t identity[16];
    } known[] = {
        { 0,
          0,
          { 0xa4, 0xa2, 0x62, 0x92, 0x96, 0x59, 0x03, 0x4a, 0x05, 0x97, 0xc5, 0x34, 0x9e, 0xf4,
            0x1d, 0x3b } },
        { 31,
          0,
          { 0x2a, 0x18, 0x0e, 0x52, 0x6f, 0x89, 0x14, 0x5a, 0x0f, 0x17, 0xc3, 0x2c, 0xa1, 0x20,
            0x19, 0x80 } },
        { 100,
          0,
          { 0x1e, 0xa1, 0x12, 0xe4, 0xca, 0xe5, 0x86, 0x23, 0x33, 0xfb, 0xc4, 0x77, 0xf0, 0xd2,
            0x2e, 0x4e } },
        { 100,
          1 << 20,
          { 0x57, 0x3c, 0x08, 0x19, 0x1f, 0xad, 0x33, 0x09, 0xd3, 0xe6, 0x32, 0x6e, 0x9c, 0x72,
            0x41, 0x80 } },
    };
    struct store_identity identity;
    unsigned char bytes[100], out[16];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(7 * i);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        store_identity_start(&identity);
        store_identity_add(&identity, bytes, known[i].length);
        if (known[i].skipped)
            store_identity_skip(&identity, known[i].skipped);
        store_identity_end(&identity, out);
        ck_assert_mem_eq(out, known[i].identity, sizeof out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_parts");
    TCase *parts = tcase_create("parts");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(parts, makes_texts_utf8, 0, (int)COUNT_OF(texts));
    tcase_add_test(parts, cuts_no_character);
    tcase_add_test(parts, identity_does_not_depend_on_pieces);
    tcase_add_test(parts, every_bit_changes_the_identity);
    tcase_add_test(parts, identity_is_the_same_in_all_versions);
    suite_add_tcase(suite, parts);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
