/* Which packets the server of a heap capture takes (docs/formats/memory-sampler.md sections 1 to
 * 4).  */
#include "sampler-capture/heap/message.h"

#include "tests/support/fidl_vectors.h"
#include "tests/support/hex_text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A member of a table that stays away: one of two, address alone.  */
#define NO_STACK                                                                \
    "00000000 02008001 ebbe4dc3 5eff3b50  01000000 00000000 ffffffff ffffffff " \
    "08000000 00000000 22110000 00000000"
#define NO_SIZE                                                                 \
    "00000000 02008001 4d826977 9fdd0a6b  02000000 00000000 ffffffff ffffffff " \
    "08000000 00000000 30000000 00000000  22110000 00000000 01000000 00000000 " \
    "ffffffff ffffffff 18000000 00000000  01000000 00000000 ffffffff ffffffff " \
    "cccc0000 00000000"
#define EMPTY_INFO       "00000000 02000001 8317e506 7155a068  00000000 00000000 ffffffff ffffffff"
#define UNKNOWN_FLEXIBLE "00000000 02008001 01020304 05060708"
#define UNKNOWN_STRICT   "00000000 02000001 01020304 05060708"

static const struct {
    const char *name;
    const char *hex;
    size_t cut;    /* bytes left out at the end */
    size_t offset; /* of a byte that is changed */
    int value;     /* to this; -1: none is */
    enum message_verdict verdict;
} packets[] = {
    { "allocation of 2023", VECTOR_ALLOCATION_1, 0, 0, -1, MESSAGE_ACCEPTED },
    { "allocation of today", VECTOR_ALLOCATION_2, 0, 0, -1, MESSAGE_ACCEPTED },
    { "free of 2023", VECTOR_DEALLOCATION_1, 0, 0, -1, MESSAGE_ACCEPTED },
    { "free of today", VECTOR_DEALLOCATION_2, 0, 0, -1, MESSAGE_ACCEPTED },
    { "process info", VECTOR_PROCESS_INFO, 0, 0, -1, MESSAGE_ACCEPTED },
    { "process info of nothing", EMPTY_INFO, 0, 0, -1, MESSAGE_ACCEPTED },
    { "today's with the flags of 2023", VECTOR_ALLOCATION_2, 0, 6, 0, MESSAGE_ACCEPTED },
    { "unknown at-rest flags", VECTOR_ALLOCATION_2, 0, 5, 0xff, MESSAGE_ACCEPTED },
    { "unknown flexible method", UNKNOWN_FLEXIBLE, 0, 0, -1, MESSAGE_SKIPPED },
    { "unknown strict method", UNKNOWN_STRICT, 0, 0, -1, MESSAGE_REJECTED },
    { "free without stack", NO_STACK, 0, 0, -1, MESSAGE_REJECTED },
    { "allocation without size", NO_SIZE, 0, 0, -1, MESSAGE_REJECTED },
    { "bad magic", VECTOR_ALLOCATION_2, 0, 7, 2, MESSAGE_REJECTED },
    { "wire format 1", VECTOR_ALLOCATION_2, 0, 4, 0, MESSAGE_REJECTED },
    { "padding that is not zero", VECTOR_PROCESS_INFO, 0, 0x47, 1, MESSAGE_REJECTED },
    { "vector that is absent", VECTOR_ALLOCATION_2, 0, 0x48, 0, MESSAGE_REJECTED },
    { "envelope of the wrong size", VECTOR_ALLOCATION_2, 0, 0x20, 16, MESSAGE_REJECTED },
    { "envelope with handles", VECTOR_ALLOCATION_2, 0, 0x24, 1, MESSAGE_REJECTED },
    { "envelope with unknown flags", VECTOR_ALLOCATION_2, 0, 0x26, 2, MESSAGE_REJECTED },
    { "more frames than bytes", VECTOR_ALLOCATION_2, 0, 0x58, 3, MESSAGE_REJECTED },
    { "name that is not UTF-8", VECTOR_PROCESS_INFO, 0, 0x40, 0xff, MESSAGE_REJECTED },
    { "cut short", VECTOR_ALLOCATION_2, 8, 0, -1, MESSAGE_REJECTED },
    { "half a header", VECTOR_ALLOCATION_2, 120, 0, -1, MESSAGE_REJECTED },
};

START_TEST(judges_a_packet)
{
    uint8_t bytes[256];
    size_t length = hex_bytes(packets[_i].hex, bytes, sizeof bytes) - packets[_i].cut;
    struct fidl_message message;
    const char *why = NULL;

    if (packets[_i].value >= 0)
        bytes[packets[_i].offset] = (uint8_t)packets[_i].value;
    ck_assert_msg(message_judge(bytes, length, &message, &why) == packets[_i].verdict, "%s: %s",
                  packets[_i].name, why);
    ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(rejects_bytes_behind_a_message)
{
    uint8_t bytes[256] = { 0 };
    size_t length = hex_bytes(VECTOR_DEALLOCATION_1, bytes, sizeof bytes);
    struct fidl_message message;
    const char *why;

    ck_assert_int_eq(message_judge(bytes, length + 8, &message, &why), MESSAGE_REJECTED);
}
END_TEST

START_TEST(rejects_what_no_channel_carries)
{
    size_t length = FIDL_MAX_MESSAGE + 8;
    uint8_t *bytes = calloc(1, length);
    struct fidl_message message;
    const char *why;

    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(message_judge(bytes, length, &message, &why), MESSAGE_REJECTED);
    ck_assert_str_eq(why, "larger than a channel carries");
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_message");
    TCase *tcase = tcase_create("message");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, judges_a_packet, 0, (int)(sizeof packets / sizeof *packets));
    tcase_add_test(tcase, rejects_bytes_behind_a_message);
    tcase_add_test(tcase, rejects_what_no_channel_carries);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
