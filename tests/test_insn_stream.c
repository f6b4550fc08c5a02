/* Packets to steps: a trace whose meaning is known, cut anywhere, damaged anywhere.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/insn.h>

/* 1000 call 1010; 1005 je 1009; 1007 nop; 1008 nop; 1009 call *%rax; 100b ret;
 * 1010 nop; 1011 ret; 1020 nop; 1021 ret  */
static const uint8_t code[] = {
    0xe8, 0x0b, 0, 0, 0, 0x74, 0x02, 0x90, 0x90, 0xff, 0xd0, 0xc3, 0, 0, 0, 0,    0x90,
    0xc3, 0,    0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0x90, 0xc3,
};
#define PSB 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82
static const uint8_t packets[] = {
    PSB,  0x19, 0xe8, 0x03, 0,    0, 0, 0, 0,    0x99, 1,    2, 0x23, /* TSC 1000, MODE, PSBEND */
    0x99, 1,    0x71, 0,    0x10, 0, 0, 0, 0,                         /* MODE, TIP.PGE 1000 */
    0x0e,                                                    /* return compressed, je taken */
    0x19, 0xd0, 0x07, 0,    0,    0, 0, 0, 0x2d, 0x20, 0x10, /* TSC 2000, TIP 1020 */
    0x06, 0x01,                                              /* return, TIP.PGD */
};

struct seen {
    struct insn_step steps[64];
    size_t count;
};

/* A block may come in several parts, of which all but the last end in no branch.  */
static bool continues(const struct seen *seen, const struct insn_step *step)
{
    const struct insn_step *last = seen->count > 0 ? &seen->steps[seen->count - 1] : NULL;

    return last && step->kind == INSN_STEP_BLOCK && last->kind == INSN_STEP_BLOCK &&
           last->branch == INSN_CLASS_OTHER;
}

static void join(struct insn_step *first, const struct insn_step *rest)
{
    const struct insn_step joined = { .kind = INSN_STEP_BLOCK,
                                      .branch = rest->branch,
                                      .length = rest->length,
                                      .count = (uint16_t)(first->count + rest->count),
                                      .has_ticks = rest->has_ticks,
                                      .ip = first->ip,
                                      .last_ip = rest->last_ip,
                                      .ticks = rest->ticks };

    *first = joined;
}

static enum insn_status take(void *context, const struct insn_step *steps, size_t count)
{
    struct seen *seen = context;

    for (size_t i = 0; i < count; i++) {
        if (continues(seen, &steps[i]))
            join(&seen->steps[seen->count - 1], &steps[i]);
        else if (seen->count < sizeof seen->steps / sizeof *seen->steps)
            seen->steps[seen->count++] = steps[i];
    }
    return INSN_OK;
}

static enum insn_status stop(void *context, const struct insn_step *steps, size_t count)
{
    (void)context;
    (void)steps;
    (void)count;
    return INSN_STOPPED;
}

static struct insn_code *pieces;
static struct insn_space *space;

static void setup(void)
{
    uint32_t section;

    ck_assert_int_eq(insn_code_open(&pieces, NULL), INSN_OK);
    ck_assert_int_eq(insn_code_add(pieces, code, sizeof code, &section, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_open(pieces, &space, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_map(space, 0x1000, section, 0, sizeof code, NULL), INSN_OK);
}

static void teardown(void)
{
    insn_space_close(space);
    insn_code_close(pieces);
}

static struct insn_totals decode_as(const struct insn_config *config, const uint8_t *bytes,
                                    size_t size, size_t part, struct seen *seen)
{
    const struct insn_stream_options options = {
        .size = sizeof options, .config = *config, .threads = 1, .piece_bytes = 64
    };
    struct insn_stream *stream;
    struct insn_totals totals;

    *seen = (struct seen){ .count = 0 };
    ck_assert_int_eq(insn_stream_open(&options, space, take, seen, &stream, NULL), INSN_OK);
    for (size_t at = 0; at < size; at += part) {
        size_t length = part < size - at ? part : size - at;

        ck_assert_int_eq(insn_stream_feed(stream, bytes + at, length, NULL), INSN_OK);
    }
    ck_assert_int_eq(insn_stream_finish(stream, NULL), INSN_OK);
    totals = *insn_stream_totals(stream);
    ck_assert_uint_eq(totals.bytes, size);
    insn_stream_close(stream);
    return totals;
}

static struct insn_totals decode(const uint8_t *bytes, size_t size, size_t part, struct seen *seen)
{
    const struct insn_config unknown = { .family = 0 };

    return decode_as(&unknown, bytes, size, part, seen);
}

static void expect_block(const struct insn_step *step, uint64_t ip, uint64_t last_ip,
                         unsigned count, enum insn_class branch)
{
    ck_assert_int_eq(step->kind, INSN_STEP_BLOCK);
    ck_assert_uint_eq(step->ip, ip);
    ck_assert_uint_eq(step->last_ip, last_ip);
    ck_assert_uint_eq(step->count, count);
    ck_assert_int_eq(step->branch, branch);
}

static void expect_known(const struct seen *seen)
{
    const struct insn_step *step = seen->steps;

    ck_assert_uint_eq(seen->count, 8);
    ck_assert_int_eq(step[0].kind, INSN_STEP_ENABLED);
    ck_assert_uint_eq(step[0].ip, 0x1000);
    ck_assert(step[0].has_ticks);
    ck_assert_uint_eq(step[0].ticks, 1000);
    expect_block(&step[1], 0x1000, 0x1000, 1, INSN_CLASS_CALL);
    expect_block(&step[2], 0x1010, 0x1011, 2, INSN_CLASS_RETURN);
    expect_block(&step[3], 0x1005, 0x1005, 1, INSN_CLASS_CONDITIONAL);
    expect_block(&step[4], 0x1009, 0x1009, 1, INSN_CLASS_CALL_INDIRECT);
    ck_assert_uint_eq(step[4].ticks, 2000);
    ck_assert_uint_eq(step[4].length, 2);
    expect_block(&step[5], 0x1020, 0x1021, 2, INSN_CLASS_RETURN);
    expect_block(&step[6], 0x100b, 0x100b, 1, INSN_CLASS_RETURN);
    ck_assert_int_eq(step[7].kind, INSN_STEP_DISABLED);
}

START_TEST(decodes_a_known_trace_cut_anywhere)
{
    struct seen seen;
    struct insn_totals totals = decode(packets, sizeof packets, (size_t)_i, &seen);

    ck_assert_uint_eq(totals.instructions, 8);
    ck_assert_uint_eq(totals.blocks, 6);
    for (size_t i = 0; i < INSN_GAP_REASONS; i++)
        ck_assert_uint_eq(totals.gaps[i], 0);
    expect_known(&seen);
}
END_TEST

/* What comes before the first PSB packet is a gap of that size.  */
START_TEST(tells_bytes_before_the_first_psb_packet)
{
    uint8_t bytes[sizeof packets + 40];
    struct seen seen;
    struct insn_totals totals;

    memset(bytes, 0x82, 40);
    memcpy(bytes + 40, packets, sizeof packets);
    totals = decode(bytes, sizeof bytes, (size_t)_i, &seen);
    ck_assert_uint_eq(totals.gap_bytes[INSN_GAP_NO_SYNC], 40);
    ck_assert_uint_eq(totals.instructions, 8);
}
END_TEST

/* Two copies, the first damaged: the second is decoded whole, and the gap ends where it begins.  */
static const struct {
    const char *what;
    size_t at;
    uint8_t bytes[2];
    enum insn_gap_reason reason;
} damages[] = {
    { "an unknown opcode", 38, { 0x02, 0xff }, INSN_GAP_BAD_PACKET },
    { "a jump to where no code is", 47, { 0x20, 0x50 }, INSN_GAP_NO_CODE },
    { "a branch that returns", 38, { 0x0a, 0x0a }, INSN_GAP_MISMATCH },
};

/* A CYC packet may end in 02, and 82 is a TNT packet: the last 16 bytes of such a run are the PSB
 * packet.  */
START_TEST(finds_the_psb_packet_among_bytes_like_its_own)
{
    static const uint8_t before[] = { 0x07, 0x02, 0x82, 0x02, 0x82 };
    uint8_t bytes[sizeof before + sizeof packets];
    struct seen seen;
    struct insn_totals totals;

    memcpy(bytes, before, sizeof before);
    memcpy(bytes + sizeof before, packets, sizeof packets);
    totals = decode(bytes, sizeof bytes, (size_t)_i, &seen);
    ck_assert_uint_eq(totals.gap_bytes[INSN_GAP_NO_SYNC], sizeof before);
    ck_assert_uint_eq(totals.instructions, 8);
}
END_TEST

START_TEST(goes_on_at_the_next_psb_packet)
{
    uint8_t bytes[2 * sizeof packets];
    struct insn_totals totals;
    struct seen seen;

    memcpy(bytes, packets, sizeof packets);
    memcpy(bytes + sizeof packets, packets, sizeof packets);
    memcpy(bytes + damages[_i].at, damages[_i].bytes, 2);
    totals = decode(bytes, sizeof bytes, sizeof bytes, &seen);
    ck_assert_msg(totals.gaps[damages[_i].reason] == 1, "%s", damages[_i].what);
    for (size_t i = 0; i + 8 <= seen.count; i++) {
        if (seen.steps[i].kind != INSN_STEP_GAP)
            continue;
        ck_assert_uint_eq(seen.steps[i].ip + seen.steps[i].last_ip, sizeof packets);
        memmove(seen.steps, seen.steps + i + 1, (seen.count - i - 1) * sizeof *seen.steps);
        seen.count -= i + 1;
        expect_known(&seen);
        return;
    }
    ck_abort_msg("%s: no gap, or nothing after it", damages[_i].what);
}
END_TEST

/* jmp to itself, which never needs a packet, before one that cannot be reached.  */
START_TEST(leaves_endless_code)
{
    static const uint8_t loop[] = { 0xeb, 0xfe };
    static const uint8_t endless[] = { PSB,  0x99, 1, 2, 0x23, 0x99, 1,    0x71, 0,
                                       0x20, 0,    0, 0, 0,    0x0e, 0x0e, 0x0e };
    struct insn_totals totals;
    struct seen seen;
    uint32_t section;

    ck_assert_int_eq(insn_code_add(pieces, loop, sizeof loop, &section, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_map(space, 0x2000, section, 0, sizeof loop, NULL), INSN_OK);
    totals = decode(endless, sizeof endless, sizeof endless, &seen);
    ck_assert_uint_eq(totals.gaps[INSN_GAP_ENDLESS], 1);
    ck_assert_uint_le(totals.instructions, 1000000);
}
END_TEST

static size_t most_steps;

static enum insn_status count_most(void *context, const struct insn_step *steps, size_t count)
{
    (void)context;
    (void)steps;
    if (count > most_steps)
        most_steps = count;
    return INSN_OK;
}

/* Eighteen million branches without a PSB packet: their steps do not fit into memory.  */
START_TEST(bounds_the_steps_between_psb_packets)
{
    static const uint8_t loop[] = { 0x74, 0xfe }; /* je to itself */
    static const uint8_t begin[] = { PSB, 0x99, 1, 2, 0x23, 0x99, 1, 0x71, 0, 0x20, 0, 0, 0, 0 };
    const struct insn_stream_options options = { .size = sizeof options, .threads = (unsigned)_i };
    static uint8_t taken[1 << 16];
    struct insn_stream *stream;
    const struct insn_totals *totals;
    uint64_t lost = 0;
    uint32_t section;

    memset(taken, 0xfe, sizeof taken);
    most_steps = 0;
    ck_assert_int_eq(insn_code_add(pieces, loop, sizeof loop, &section, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_map(space, 0x2000, section, 0, sizeof loop, NULL), INSN_OK);
    ck_assert_int_eq(insn_stream_open(&options, space, count_most, NULL, &stream, NULL), INSN_OK);
    ck_assert_int_eq(insn_stream_feed(stream, begin, sizeof begin, NULL), INSN_OK);
    for (size_t i = 0; i < 48; i++)
        ck_assert_int_eq(insn_stream_feed(stream, taken, sizeof taken, NULL), INSN_OK);
    ck_assert_int_eq(insn_stream_feed(stream, packets, sizeof packets, NULL), INSN_OK);
    ck_assert_int_eq(insn_stream_finish(stream, NULL), INSN_OK);
    totals = insn_stream_totals(stream);
    for (size_t i = 0; i < INSN_GAP_REASONS; i++)
        lost += totals->gap_bytes[i];
    ck_assert_uint_ge(most_steps, 1000000);
    ck_assert_uint_le(most_steps, (1U << 21) + 2);
    ck_assert_uint_eq(totals->gaps[INSN_GAP_TOO_LONG], 1);
    /* What was decoded and the gaps are all of it; the last trace is decoded again.  */
    ck_assert_uint_ge(lost + totals->instructions / 6, 48 * sizeof taken - 1);
    ck_assert_uint_le(lost + totals->instructions / 6, 48 * sizeof taken + 1);
    insn_stream_close(stream);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* After the overflow the processor says that it traces at 1007, though it does not: a PSB packet
 * without an address follows.  */
static const uint8_t after_overflow[] = {
    PSB,  0x99, 1,    0x7d, 0x00, 0x10, 0, 0, 0, 0, 2, 0x23, /* MODE, FUP 1000, PSBEND */
    2,    0xf3, 0x3d, 0x07, 0x10,                            /* OVF, FUP 1007 */
    PSB,  0x99, 1,    2,    0x23,                            /* MODE, PSBEND */
    0x71, 0x10, 0x10, 0,    0,    0,    0,                   /* TIP.PGE 1010 */
    0x3d, 0x11, 0x10, 0x01,                                  /* FUP 1011, TIP.PGD */
};

START_TEST(processors_that_claim_to_trace_after_an_overflow_are_not_believed)
{
    const struct insn_config goldmont = { .family = 6, .model = 95 };
    struct seen seen;

    (void)decode_as(&goldmont, after_overflow, sizeof after_overflow, (size_t)_i, &seen);
    ck_assert_uint_eq(seen.count, 5);
    ck_assert_int_eq(seen.steps[0].kind, INSN_STEP_ENABLED);
    ck_assert_int_eq(seen.steps[1].kind, INSN_STEP_OVERFLOW);
    ck_assert_uint_eq(seen.steps[1].ip, 0);
    ck_assert_int_eq(seen.steps[2].kind, INSN_STEP_ENABLED);
    ck_assert_uint_eq(seen.steps[2].ip, 0x1010);
    expect_block(&seen.steps[3], 0x1010, 0x1010, 1, INSN_CLASS_OTHER);
    ck_assert_int_eq(seen.steps[4].kind, INSN_STEP_STOPPED);
}
END_TEST

/* je at 1005 leads to 1009 or 1007; the end of tracing has no address (erratum SKL014): the filter
 * says which instructions were traced before it.  */
START_TEST(filters_say_where_tracing_ended_where_the_processor_does_not)
{
    static const uint8_t ended[] = {
        PSB,  0x99, 1, 0x7d, 0x00, 0x10, 0, 0, 0, 0, 2, 0x23, /* MODE, FUP 1000, PSBEND */
        0x01,                                                 /* TIP.PGD without an address */
    };
    const struct insn_config skylake = {
        .family = 6,
        .model = 94,
        .filters = { { .mode = INSN_FILTER_TRACE, .start = 0x1000, .end = 0x100f } }
    };
    struct seen seen;

    (void)decode_as(&skylake, ended, sizeof ended, sizeof ended, &seen);
    ck_assert_uint_eq(seen.count, 3); /* the call leaves the range */
    expect_block(&seen.steps[1], 0x1000, 0x1000, 1, INSN_CLASS_CALL);
    ck_assert_int_eq(seen.steps[2].kind, INSN_STEP_DISABLED);
}
END_TEST

/* Gaps follow each other, none overlaps another one, each ends at a PSB packet or at the end, and
 * together they have lost bytes.  */
static void expect_gaps(const struct seen *seen, uint64_t lost, const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0, last = 0;

    for (size_t i = 0; i < seen->count; i++) {
        const struct insn_step *step = &seen->steps[i];

        if (step->kind != INSN_STEP_GAP)
            continue;
        ck_assert_uint_ge(step->ip, last);
        last = step->ip + step->last_ip;
        ck_assert_uint_le(last, size);
        if (step->last_ip > 0 && last < size)
            ck_assert_uint_eq(insn_first_psb(bytes + last, size - last), 0);
        sum += step->last_ip;
    }
    if (seen->count < sizeof seen->steps / sizeof *seen->steps)
        ck_assert_uint_eq(sum, lost);
}

/* Changes a stream in one place; room is for 16 more bytes.  Returns its size.  */
static size_t mutate(uint64_t *state, uint8_t *bytes, size_t size)
{
    size_t at = next_random(state) % size, count = 1 + next_random(state) % 16;

    switch (next_random(state) % 4) {
    case 0: /* remove bytes */
        if (count >= size - at)
            return size;
        memmove(bytes + at, bytes + at + count, size - at - count);
        return size - count;
    case 1: /* insert bytes */
        memmove(bytes + at + count, bytes + at, size - at);
        for (size_t i = 0; i < count; i++)
            bytes[at + i] = (uint8_t)next_random(state);
        return size + count;
    case 2: /* no decoder can begin at the next PSB packet */
        at += insn_first_psb(bytes + at, size - at);
        if (at < size)
            bytes[at + next_random(state) % 16] ^= 0x80;
        return size;
    default:
        bytes[at] = (uint8_t)next_random(state);
        return size;
    }
}

/* Ten thousand broken traces of three copies: no crash, no hang, and each byte was decoded or is in
 * one gap.  */
START_TEST(each_byte_of_a_mutated_stream_is_decoded_or_in_one_gap)
{
    uint64_t state = 0x9e3779b97f4a7c15U + (unsigned)_i;

    for (unsigned round = 0; round < 1000; round++) {
        uint8_t bytes[3 * sizeof packets + 80];
        size_t size = 3 * sizeof packets;
        struct insn_totals totals;
        struct seen seen;
        uint64_t lost = 0;

        for (size_t i = 0; i < 3; i++)
            memcpy(bytes + i * sizeof packets, packets, sizeof packets);
        for (uint64_t n = next_random(&state) % 4 + 1; n > 0; n--)
            size = mutate(&state, bytes, size);
        if (next_random(&state) % 4 == 0)
            size = next_random(&state) % size;
        totals = decode(bytes, size, 1 + next_random(&state) % 200, &seen);
        for (size_t i = 0; i < INSN_GAP_REASONS; i++)
            lost += totals.gap_bytes[i];
        ck_assert_uint_eq(totals.decoded_bytes + lost, size);
        expect_gaps(&seen, lost, bytes, size);
    }
}
END_TEST

START_TEST(later_mappings_replace_earlier_ones)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint8_t read_back[8];
    uint32_t section;

    ck_assert_int_eq(insn_code_add(pieces, bytes, sizeof bytes, &section, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_map(space, 0x5000, section, 0, 8, NULL), INSN_OK);
    ck_assert_int_eq(insn_space_map(space, 0x5002, section, 6, 2, NULL), INSN_OK);
    ck_assert_uint_eq(insn_space_read(space, 0x5000, read_back, 8), 8);
    ck_assert_mem_eq(read_back, ((uint8_t[]){ 1, 2, 7, 8, 5, 6, 7, 8 }), 8);
    ck_assert_uint_eq(insn_space_read(space, 0x5006, read_back, 8), 2);
    ck_assert_uint_eq(insn_space_read(space, 0x5008, read_back, 8), 0);
    /* Up to the last address there is.  */
    ck_assert_int_eq(insn_space_map(space, UINT64_MAX - 7, section, 0, 8, NULL), INSN_OK);
    ck_assert_uint_eq(insn_space_read(space, UINT64_MAX - 1, read_back, 8), 2);
    ck_assert_int_eq(insn_space_map(space, UINT64_MAX - 6, section, 0, 8, NULL), INSN_INVALID);
    ck_assert_int_eq(insn_space_map(space, 0x5000, section, 1, 8, NULL), INSN_INVALID);
    ck_assert_int_eq(insn_space_map(space, 0x5000, section + 1, 0, 1, NULL), INSN_INVALID);
    ck_assert_int_eq(insn_space_map(space, 0x5000, section, 0, 0, NULL), INSN_INVALID);
}
END_TEST

START_TEST(stops_when_the_receiver_says_so)
{
    struct insn_error error = { .status = INSN_OK };
    struct insn_stream *stream;

    ck_assert_int_eq(insn_stream_open(NULL, space, stop, NULL, &stream, NULL), INSN_OK);
    ck_assert_int_eq(insn_stream_feed(stream, packets, sizeof packets, &error), INSN_OK);
    ck_assert_int_eq(insn_stream_finish(stream, &error), INSN_STOPPED);
    ck_assert_int_eq(error.status, INSN_STOPPED);
    insn_stream_close(stream);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn stream");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(all, finds_the_psb_packet_among_bytes_like_its_own, 1,
                        (int)sizeof packets + 6);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 0);
    tcase_add_loop_test(all, decodes_a_known_trace_cut_anywhere, 1, (int)sizeof packets + 1);
    tcase_add_loop_test(all, tells_bytes_before_the_first_psb_packet, 1, 20);
    tcase_add_loop_test(all, goes_on_at_the_next_psb_packet, 0, sizeof damages / sizeof *damages);
    tcase_add_test(all, leaves_endless_code);
    tcase_add_loop_test(all, processors_that_claim_to_trace_after_an_overflow_are_not_believed, 1,
                        (int)sizeof after_overflow + 1);
    tcase_add_test(all, filters_say_where_tracing_ended_where_the_processor_does_not);
    tcase_add_loop_test(all, bounds_the_steps_between_psb_packets, 1, 3);
    tcase_add_loop_test(all, each_byte_of_a_mutated_stream_is_decoded_or_in_one_gap, 0, 10);
    tcase_add_test(all, later_mappings_replace_earlier_ones);
    tcase_add_test(all, stops_when_the_receiver_says_so);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
