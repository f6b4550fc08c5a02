/* Perfetto's packets in blobs are counted by kind, however they are split.  */
#include <fxt/fxt.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *what;
    size_t length;
    uint8_t bytes[24];
    uint64_t count;
    unsigned kinds[3]; /* of each packet, in ascending order */
    bool damaged;
} cases[] = {
    { "nothing", 0, { 0 }, 0, { 0 }, false },
    { "an empty packet", 2, { 0x0a, 0 }, 1, { 0 }, false },
    { "ftrace events", 4, { 0x0a, 2, 0x0a, 0 }, 1, { 1 }, false },
    { "a time and a track event", 8, { 0x0a, 6, 0x40, 0x96, 1, 0x5a, 1, 0 }, 1, { 11 }, false },
    { "a kind beyond 15, as two bytes of a tag",
      9,
      { 0x0a, 7, 0x82, 0x04, 4, 1, 2, 3, 4 },
      1,
      { 64 },
      false },
    { "two packets", 8, { 0x0a, 2, 0x12, 0, 0x0a, 2, 0x5a, 0 }, 2, { 2, 11 }, false },
    { "the first payload is what a packet is of",
      6,
      { 0x0a, 4, 0x12, 0, 0x0a, 0 },
      1,
      { 2 },
      false },
    { "numbers of fixed size",
      17,
      { 0x0a, 15, 0x41, 1, 2, 3, 4, 5, 6, 7, 8, 0x0d, 1, 2, 3, 4, 0 },
      0,
      { 0 },
      true }, /* 0: field 0 */
    { "a field nobody knows", 5, { 0x0a, 3, 0xf8, 0x3e, 0 }, 1, { 0 }, false },
    { "a field beside the packets", 5, { 0x12, 1, 0xff, 0x0a, 0 }, 1, { 0 }, false },
    { "a packet that goes on", 4, { 0x0a, 9, 0x5a, 7 }, 0, { 0 }, false },
    { "a field larger than its packet", 4, { 0x0a, 2, 0x5a, 1 }, 0, { 0 }, true },
    { "a packet that ends in a tag", 3, { 0x0a, 1, 0x80 }, 0, { 0 }, true },
    { "a wire type that is not used", 3, { 0x0a, 1, 0x0b }, 0, { 0 }, true },
    { "a number of 11 bytes",
      13,
      { 0x0a, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
      0,
      { 0 },
      true },
    { "a length of 2^64 - 1",
      11,
      { 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
      0,
      { 0 },
      false },
};

static void add(struct fxt_packets *packets, const uint8_t *bytes, size_t length)
{
    fxt_packets_add(packets, (struct fxt_bytes){ .bytes = bytes, .length = length });
}

START_TEST(counts_packets_by_kind)
{
    struct fxt_packets packets = { .count = 0 };
    size_t kind = 0;

    add(&packets, cases[_i].bytes, cases[_i].length);
    ck_assert_msg(packets.count == cases[_i].count, "%s: %d packets", cases[_i].what,
                  (int)packets.count);
    ck_assert_msg(packets.damaged == cases[_i].damaged, "%s: damage", cases[_i].what);
    for (unsigned i = 0; i < FXT_PACKET_KINDS; i++)
        for (uint64_t k = 0; k < packets.kinds[i]; k++)
            ck_assert_msg(cases[_i].kinds[kind++] == i, "%s: kind %u", cases[_i].what, i);
    ck_assert_uint_eq(kind, cases[_i].count);
}
END_TEST

/* Whole, and in two blobs split anywhere, and byte by byte.  */
static void compare_splits(const uint8_t *bytes, size_t length)
{
    struct fxt_packets whole = { .count = 0 }, single = { .count = 0 };

    add(&whole, bytes, length);
    for (size_t i = 0; i < length; i++)
        add(&single, bytes + i, 1);
    ck_assert_mem_eq(single.kinds, whole.kinds, sizeof whole.kinds);
    ck_assert_int_eq(single.damaged, whole.damaged);
    for (size_t cut = 0; cut <= length; cut++) {
        struct fxt_packets parts = { .count = 0 };

        add(&parts, bytes, cut);
        add(&parts, bytes + cut, length - cut);
        ck_assert_mem_eq(parts.kinds, whole.kinds, sizeof whole.kinds);
        ck_assert_int_eq(parts.damaged, whole.damaged);
    }
}

START_TEST(packets_go_on_in_the_next_blob)
{
    compare_splits(cases[_i].bytes, cases[_i].length);
}
END_TEST

/* Bytes of few values, so that many are packets.  */
START_TEST(random_bytes_count_the_same_in_parts)
{
    static const uint8_t values[] = { 0x0a, 0, 1, 2, 3, 4, 0x12, 0x5a, 0x40, 0x80, 0xff, 0x0d };
    unsigned seed = (unsigned)_i + 1;
    uint8_t bytes[64];

    for (size_t i = 0; i < sizeof bytes; i++) {
        seed = seed * 1103515245u + 12345u;
        bytes[i] = values[(seed >> 16) % sizeof values];
    }
    bytes[0] = 0x0a;
    compare_splits(bytes, sizeof bytes);
}
END_TEST

START_TEST(names_kinds)
{
    ck_assert_str_eq(fxt_packet_kind_name(1), "ftrace_events");
    ck_assert_str_eq(fxt_packet_kind_name(11), "track_event");
    ck_assert_str_eq(fxt_packet_kind_name(0), "other");
    ck_assert_str_eq(fxt_packet_kind_name(8), "other");
    ck_assert_str_eq(fxt_packet_kind_name(FXT_PACKET_KINDS), "other");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_packets");
    TCase *tcase = tcase_create("packets");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, counts_packets_by_kind, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, packets_go_on_in_the_next_blob, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, random_bytes_count_the_same_in_parts, 0, 200);
    tcase_add_test(tcase, names_kinds);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
