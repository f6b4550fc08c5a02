/* Packets byte by byte: what the encoder writes is what the format says.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/insn.h>

/* PSB, TSC 0, CBR, MODE, PSBEND; MODE: what comes before the first TIP.PGE.  */
#define START_SIZE (16 + 8 + 4 + 2 + 2 + 2)

struct written {
    uint8_t bytes[4096];
    size_t size;
    size_t calls;
};

static int take(void *context, const uint8_t *bytes, size_t size)
{
    struct written *written = context;

    ck_assert_uint_le(size, sizeof written->bytes - written->size);
    memcpy(written->bytes + written->size, bytes, size);
    written->size += size;
    written->calls++;
    return 0;
}

static struct written written;
static struct insn_encoder *encoder;

static void begin(bool no_return_compression)
{
    const struct insn_encoder_options options = { .size = sizeof options,
                                                  .timing = INSN_TIMING_TSC,
                                                  .no_return_compression = no_return_compression,
                                                  .psb_bytes = 256 };

    memset(&written, 0, sizeof written);
    ck_assert_int_eq(insn_encoder_open(&options, take, &written, &encoder, NULL), INSN_OK);
    insn_encoder_enable(encoder, 0x7f0000001000, 0);
}

static void step(uint64_t from, enum insn_class branch, uint8_t length, uint64_t to)
{
    const struct insn_opcode opcode = { .branch = branch, .length = length };

    insn_encoder_step(encoder, from, &opcode, to, 0);
}

/* What was written after TIP.PGE.  */
static void expect(const uint8_t *bytes, size_t size)
{
    static const uint8_t enabled[] = { 0x91, 0, 0x10, 0, 0, 0, 0x7f };
    const size_t start = START_SIZE + sizeof enabled;

    insn_encoder_flush(encoder);
    ck_assert_int_eq(insn_encoder_status(encoder), INSN_OK);
    ck_assert_uint_eq(insn_encoder_bytes(encoder), written.size);
    insn_encoder_close(encoder);
    ck_assert_uint_ge(written.size, start);
    ck_assert_mem_eq(written.bytes + START_SIZE, enabled, sizeof enabled);
    ck_assert_uint_eq(written.size - start, size);
    if (size > 0)
        ck_assert_mem_eq(written.bytes + start, bytes, size);
}
#define EXPECT(...) \
    expect((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

START_TEST(puts_six_outcomes_into_a_packet_oldest_first)
{
    begin(false);
    for (unsigned i = 0; i < 7; i++) /* taken, and six times not */
        step(0x7f0000001000, INSN_CLASS_CONDITIONAL, 2, i == 0 ? 0x7f0000001000 : 0x7f0000001002);
    EXPECT(0xc0, 0x04); /* 1 100000 0; 1 0 0 */
}
END_TEST

START_TEST(writes_no_packet_for_direct_branches)
{
    begin(false);
    step(0x7f0000001000, INSN_CLASS_CALL, 5, 0x7f0000001100);
    step(0x7f0000001100, INSN_CLASS_JUMP, 2, 0x7f0000001000);
    step(0x7f0000001000, INSN_CLASS_OTHER, 0, 0x7f0000001004);
    expect(NULL, 0);
}
END_TEST

START_TEST(writes_as_few_bytes_of_an_address_as_differ)
{
    begin(false);
    step(0x7f0000001000, INSN_CLASS_JUMP_INDIRECT, 2, 0x7f0000002000);
    step(0x7f0000002000, INSN_CLASS_JUMP_INDIRECT, 2, 0x7f0000012000);
    step(0x7f0000012000, INSN_CLASS_JUMP_INDIRECT, 2, 0x7f0100012000);
    step(0x7f0100012000, INSN_CLASS_JUMP_INDIRECT, 2, 0xffff800100012000);
    EXPECT(0x2d, 0x00, 0x20, 0x4d, 0x00, 0x20, 0x01, 0x00, 0x8d, 0x00, 0x20, 0x01, 0x00, 0x01, 0x7f,
           0xcd, 0x00, 0x20, 0x01, 0x00, 0x01, 0x80, 0xff, 0xff);
}
END_TEST

START_TEST(compresses_returns_that_match_their_call)
{
    begin(false);
    step(0x7f0000001000, INSN_CLASS_CALL, 5, 0x7f0000001100);
    step(0x7f0000001100, INSN_CLASS_RETURN, 1, 0x7f0000001005);
    step(0x7f0000001005, INSN_CLASS_CALL, 5, 0x7f0000001100);
    step(0x7f0000001100, INSN_CLASS_RETURN, 1, 0x7f0000001200); /* elsewhere */
    EXPECT(0x06, 0x2d, 0x00, 0x12);
}
END_TEST

START_TEST(writes_targets_of_returns_if_told)
{
    begin(true);
    step(0x7f0000001000, INSN_CLASS_CALL, 5, 0x7f0000001100);
    step(0x7f0000001100, INSN_CLASS_RETURN, 1, 0x7f0000001005);
    EXPECT(0x2d, 0x05, 0x10);
}
END_TEST

START_TEST(ends_tracing_at_far_transfers_and_stops)
{
    begin(false);
    step(0x7f0000001000, INSN_CLASS_CONDITIONAL, 2, 0x7f0000001002);
    insn_encoder_disable(encoder, 0x7f0000001002, 0);
    insn_encoder_disable(encoder, 0x7f0000001002, 0); /* nothing more */
    EXPECT(0x04, 0x3d, 0x02, 0x10, 0x01);
}
END_TEST

START_TEST(drops_what_is_lost_and_tells_it)
{
    begin(false);
    step(0x7f0000001000, INSN_CLASS_CONDITIONAL, 2, 0x7f0000001002);
    insn_encoder_lose(encoder, 0);
    step(0x7f0000001002, INSN_CLASS_JUMP_INDIRECT, 2, 0x7f0000003000);
    insn_encoder_resume(encoder, 0x7f0000003000, 0);
    EXPECT(0x02, 0xf3, 0x19, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x03, 10, 0, 0x9d, 0x00, 0x30, 0x00, 0x00,
           0x00, 0x7f);
}
END_TEST

/* Everything before a PSB packet is handed over with it; calls before it are forgotten.  */
START_TEST(begins_anew_at_psb_packets)
{
    size_t before;

    begin(false);
    step(0x7f0000001000, INSN_CLASS_CALL, 5, 0x7f0000001100);
    ck_assert_uint_eq(written.calls, 0);
    for (unsigned i = 0; written.calls == 0 && i < 1000; i++)
        step(0x7f0000001100, INSN_CLASS_JUMP_INDIRECT, 2, 0x7f0000001100);
    ck_assert_uint_ge(written.size, 256);
    ck_assert_uint_le(written.size, 256 + 16);
    before = written.size;
    step(0x7f0000001100, INSN_CLASS_RETURN, 1, 0x7f0000001005);
    insn_encoder_flush(encoder);
    ck_assert_uint_eq(written.bytes[before], 0x02);
    ck_assert_uint_eq(written.bytes[before + 1], 0x82);
    /* TIP 1005, not an outcome.  */
    ck_assert_mem_eq(written.bytes + written.size - 3, ((uint8_t[]){ 0x2d, 0x05, 0x10 }), 3);
    insn_encoder_close(encoder);
}
END_TEST

static int refuse(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return 28; /* ENOSPC */
}

START_TEST(remembers_a_failed_write)
{
    ck_assert_int_eq(insn_encoder_open(NULL, refuse, NULL, &encoder, NULL), INSN_OK);
    insn_encoder_enable(encoder, 0x1000, 0);
    insn_encoder_flush(encoder);
    ck_assert_int_eq(insn_encoder_status(encoder), INSN_IO);
    insn_encoder_close(encoder);
}
END_TEST

START_TEST(refuses_psb_packets_that_leave_no_room)
{
    const struct insn_encoder_options options = { .size = sizeof options, .psb_bytes = 255 };
    struct insn_error error = { .status = INSN_OK };

    ck_assert_int_eq(insn_encoder_open(&options, refuse, NULL, &encoder, &error), INSN_INVALID);
    ck_assert_int_eq(error.status, INSN_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn encode");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(all, puts_six_outcomes_into_a_packet_oldest_first);
    tcase_add_test(all, writes_no_packet_for_direct_branches);
    tcase_add_test(all, writes_as_few_bytes_of_an_address_as_differ);
    tcase_add_test(all, compresses_returns_that_match_their_call);
    tcase_add_test(all, writes_targets_of_returns_if_told);
    tcase_add_test(all, ends_tracing_at_far_transfers_and_stops);
    tcase_add_test(all, drops_what_is_lost_and_tells_it);
    tcase_add_test(all, begins_anew_at_psb_packets);
    tcase_add_test(all, remembers_a_failed_write);
    tcase_add_test(all, refuses_psb_packets_that_leave_no_room);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
