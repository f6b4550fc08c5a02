/* The messages of fuchsia.tracing.provider, bit for bit as docs/formats/trace-provider.md has
 * them.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_provider.h>

#include "tests/support/hex_text.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const struct {
    const char *name;
    struct fidl_provider_message message;
    const char *items[4];
    const char *bytes;
} vectors[] = {
    { "register",
      { .method = FIDL_REGISTRY_REGISTER, .pid = 1234, .name = { "demo", 4 } },
      { NULL },
      "0000000002000001 9c4708fa3daebc75 ffffffff00000000 d204000000000000 0400000000000000"
      "ffffffffffffffff 64656d6f00000000" },
    { "register synchronously",
      { .method = FIDL_REGISTRY_REGISTER_SYNC, .txid = 1, .pid = 1234, .name = { "demo", 4 } },
      { NULL },
      "0100000002000001 168f809a41ed3548 ffffffff00000000 d204000000000000 0400000000000000"
      "ffffffffffffffff 64656d6f00000000" },
    { "registered",
      { .method = FIDL_REGISTRY_REGISTERED, .txid = 1, .started = true },
      { NULL },
      "0100000002000001 168f809a41ed3548 0000000001000000" },
    { "initialize",
      { .method = FIDL_PROVIDER_INITIALIZE, .mode = 3 },
      { "gfx", "kernel:*" },
      "0000000002000001 f780b1d76716e309 03000000ffffffff ffffffff00000000 0200000000000000"
      "ffffffffffffffff 0300000000000000 ffffffffffffffff 0800000000000000 ffffffffffffffff"
      "6766780000000000 6b65726e656c3a2a" },
    { "start",
      { .method = FIDL_PROVIDER_START, .disposition = 1 },
      { NULL },
      "0000000002000001 15a866be602bae5b 0100000000000000 0000000000000000 ffffffffffffffff" },
    { "stop", { .method = FIDL_PROVIDER_STOP }, { NULL }, "0000000002000001 f07d89b1ebf83d13" },
    { "terminate",
      { .method = FIDL_PROVIDER_TERMINATE },
      { NULL },
      "0000000002000001 b126272f0364556b" },
    { "get categories",
      { .method = FIDL_PROVIDER_GET_CATEGORIES, .txid = 7 },
      { NULL },
      "0700000002000001 86f8f37ad70a5b5f" },
    { "categories",
      { .method = FIDL_PROVIDER_CATEGORIES, .txid = 7 },
      { "net", "what is sent", "gfx", "" },
      "0700000002000001 86f8f37ad70a5b5f 0200000000000000 ffffffffffffffff"
      "0300000000000000 ffffffffffffffff 0c00000000000000 ffffffffffffffff"
      "0300000000000000 ffffffffffffffff 0000000000000000 ffffffffffffffff"
      "6e65740000000000 7768617420697320 73656e7400000000 6766780000000000" },
};

static size_t count_of(const char *const items[4])
{
    size_t count = 0;

    while (count < 4 && items[count])
        count++;
    return count;
}

static bool is_answer(enum fidl_provider_method method)
{
    return method == FIDL_PROVIDER_CATEGORIES || method == FIDL_REGISTRY_REGISTERED;
}

START_TEST(encodes_the_bytes_of_the_protocol)
{
    uint8_t wanted[512], got[512];
    size_t length = 0, size = hex_bytes(vectors[_i].bytes, wanted, sizeof wanted);

    ck_assert_int_eq(fidl_provider_encode(&vectors[_i].message, vectors[_i].items,
                                          count_of(vectors[_i].items), got, sizeof got, &length),
                     FIDL_OK);
    ck_assert_uint_eq(length, size);
    ck_assert_mem_eq(got, wanted, size);
    for (size_t room = 0; room < size; room++)
        ck_assert_int_eq(fidl_provider_encode(&vectors[_i].message, vectors[_i].items,
                                              count_of(vectors[_i].items), got, room, &length),
                         FIDL_NO_ROOM);
}
END_TEST

START_TEST(decodes_the_bytes_of_the_protocol)
{
    const struct fidl_provider_message *wanted = &vectors[_i].message;
    struct fidl_provider_message message;
    struct fidl_string text, description;
    uint8_t bytes[512];
    size_t size = hex_bytes(vectors[_i].bytes, bytes, sizeof bytes), i = 0;

    ck_assert_int_eq(fidl_provider_decode(bytes, size, is_answer(wanted->method), &message),
                     FIDL_OK);
    ck_assert_int_eq(message.method, wanted->method);
    ck_assert_uint_eq(message.txid, wanted->txid);
    ck_assert_uint_eq(message.mode, wanted->mode);
    ck_assert_uint_eq(message.disposition, wanted->disposition);
    ck_assert_uint_eq(message.pid, wanted->pid);
    ck_assert_uint_eq(message.name.length, wanted->name.length);
    ck_assert(message.started == wanted->started);
    if (message.method == FIDL_PROVIDER_CATEGORIES)
        for (; fidl_strings_next_pair(&message.list, &text, &description); i += 2) {
            ck_assert_uint_eq(text.length, strlen(vectors[_i].items[i]));
            ck_assert_mem_eq(text.text, vectors[_i].items[i], text.length);
            ck_assert_uint_eq(description.length, strlen(vectors[_i].items[i + 1]));
        }
    else
        for (; fidl_strings_next(&message.list, &text); i++) {
            ck_assert_uint_eq(text.length, strlen(vectors[_i].items[i]));
            ck_assert_mem_eq(text.text, vectors[_i].items[i], text.length);
        }
    ck_assert_uint_eq(i, count_of(vectors[_i].items));
}
END_TEST

START_TEST(refuses_cut_and_longer_messages)
{
    struct fidl_provider_message message;
    bool answers = is_answer(vectors[_i].message.method);
    uint8_t bytes[520] = { 0 };
    size_t size = hex_bytes(vectors[_i].bytes, bytes, 512);

    for (size_t length = 0; length < size; length++) {
        uint8_t *cut = malloc(length + 1); /* so that a sanitizer sees a read behind the end */

        memcpy(cut, bytes, length);
        ck_assert_int_ne(fidl_provider_decode(cut, length, answers, &message), FIDL_OK);
        free(cut);
    }
    ck_assert_int_eq(fidl_provider_decode(bytes, size + 8, answers, &message), FIDL_TRAILING_BYTES);
}
END_TEST

static const struct {
    const char *name;
    size_t at;     /* of this byte of "initialize" ... */
    uint8_t value; /* ... this value is wrong */
    enum fidl_status status;
} wrong[] = {
    { "magic", 7, 2, FIDL_BAD_MAGIC },
    { "wire format", 4, 0, FIDL_BAD_WIRE_FORMAT },
    { "ordinal", 9, 0xff, FIDL_UNKNOWN_METHOD },
    { "mode 0", 16, 0, FIDL_OVER_BOUND },
    { "mode 4", 16, 4, FIDL_OVER_BOUND },
    { "padding after the mode", 17, 1, FIDL_BAD_PADDING },
    { "no buffer", 20, 0, FIDL_BAD_PRESENCE },
    { "no packets", 24, 0, FIDL_BAD_PRESENCE },
    { "too many categories", 34, 1, FIDL_OVER_BOUND },
    { "absent list", 40, 0, FIDL_BAD_PRESENCE },
    { "a name of 101 bytes", 48, 101, FIDL_OVER_BOUND },
    { "an absent name", 56, 0, FIDL_BAD_PRESENCE },
    { "padding after a name", 84, 1, FIDL_BAD_PADDING },
    { "no UTF-8", 80, 0xff, FIDL_BAD_UTF8 },
};

START_TEST(refuses_wrong_bytes)
{
    struct fidl_provider_message message;
    uint8_t bytes[512];
    size_t size = hex_bytes(vectors[3].bytes, bytes, sizeof bytes);

    bytes[wrong[_i].at] = wrong[_i].value;
    ck_assert_msg(fidl_provider_decode(bytes, size, false, &message) == wrong[_i].status, "%s",
                  wrong[_i].name);
}
END_TEST

START_TEST(refuses_what_is_over_a_bound)
{
    static char name[103];
    struct fidl_provider_message message = { .method = FIDL_REGISTRY_REGISTER, .pid = 1 };
    uint8_t bytes[256];
    size_t length;

    memset(name, 'x', 101);
    message.name = (struct fidl_string){ name, 101 };
    ck_assert_int_eq(fidl_provider_encode(&message, NULL, 0, bytes, sizeof bytes, &length),
                     FIDL_OVER_BOUND);
    message.name = (struct fidl_string){ "\xff", 1 };
    ck_assert_int_eq(fidl_provider_encode(&message, NULL, 0, bytes, sizeof bytes, &length),
                     FIDL_BAD_UTF8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fidl_provider");
    TCase *tcase = tcase_create("messages");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, encodes_the_bytes_of_the_protocol, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, decodes_the_bytes_of_the_protocol, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, refuses_cut_and_longer_messages, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, refuses_wrong_bytes, 0, ROWS(wrong));
    tcase_add_test(tcase, refuses_what_is_over_a_bound);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
