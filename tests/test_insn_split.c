/* Packets of a processor that two threads used, divided by its context switches.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/insn.h>

#define THREADS 3

struct part {
    uint8_t bytes[1 << 16];
    size_t size;
};
static struct part parts[THREADS];
static struct insn_splitter *splitter;
static struct insn_encoder *encoder;
static struct part written;

static enum insn_status take(void *context, uint64_t thread, uint64_t ticks, const uint8_t *bytes,
                             size_t size)
{
    struct part *part = &parts[thread];

    (void)context;
    (void)ticks;
    ck_assert_uint_lt(thread, THREADS);
    ck_assert_uint_le(size, sizeof part->bytes - part->size);
    memcpy(part->bytes + part->size, bytes, size);
    part->size += size;
    return INSN_OK;
}

static int keep(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    ck_assert_uint_le(size, sizeof written.bytes - written.size);
    memcpy(written.bytes + written.size, bytes, size);
    written.size += size;
    return 0;
}

static void begin(enum insn_timing timing)
{
    const struct insn_encoder_options options = { .size = sizeof options,
                                                  .timing = timing,
                                                  .no_return_compression = true };
    struct insn_config config;

    memset(parts, 0, sizeof parts);
    written.size = 0;
    insn_encoder_config(&config);
    ck_assert_int_eq(insn_splitter_open(&config, take, NULL, &splitter, NULL), INSN_OK);
    ck_assert_int_eq(insn_encoder_open(&options, keep, NULL, &encoder, NULL), INSN_OK);
}

static void end(void)
{
    insn_splitter_close(splitter);
    insn_encoder_close(encoder);
}

/* A run of a thread: a call there, and back to its start, from ticks on.  */
static void run(uint64_t ip, uint64_t ticks)
{
    const struct insn_opcode call = { .branch = INSN_CLASS_CALL_INDIRECT, .length = 2 };

    insn_encoder_enable(encoder, ip, ticks);
    insn_encoder_step(encoder, ip, &call, ip + 0x40, ticks + 1);
    insn_encoder_step(encoder, ip + 0x40, &call, ip, ticks + 2);
    insn_encoder_disable(encoder, ip, ticks + 3);
}

static void feed_all(void)
{
    insn_encoder_flush(encoder);
    ck_assert_int_eq(insn_splitter_feed(splitter, written.bytes, written.size, NULL), INSN_OK);
}

static void switch_to(uint64_t ticks, uint64_t thread)
{
    ck_assert_int_eq(insn_splitter_switch(splitter, ticks, thread, NULL), INSN_OK);
}

static const uint8_t psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                               2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };

START_TEST(a_part_begins_with_a_psb_packet_and_a_full_address)
{
    static const uint8_t second[] = {
        2,    0x82, 2,    0x82, 2,    0x82, 2,    0x82, 2,    0x82, 2, 0x82,
        2,    0x82, 2,    0x82, 0x19, 100,  0,    0,    0,    0,    0, 0, /* the time before */
        0x99, 0x01, 0x02, 0x03, 10,   0,    0x02, 0x23,                   /* mode, ratio, PSBEND */
        0x19, 200,  0,    0,    0,    0,    0,    0,                      /* its own time */
        0x02, 0x03, 10,   0,    0x99, 0x01,                               /* ratio, mode */
        0xd1, 0,    0x50, 0x40, 0,    0,    0,    0,    0,                /* TIP.PGE in full */
        0x2d, 0x40, 0x50, 0x2d, 0,    0x50, 0x3d, 0,    0x50, 1,          /* as they were */
    };

    begin(INSN_TIMING_TSC);
    run(0x401000, 100);
    run(0x405000, 200);
    feed_all();
    switch_to(50, 1);
    switch_to(150, 2);
    ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
    ck_assert_mem_eq(parts[1].bytes, psb, sizeof psb);
    ck_assert_uint_eq(parts[2].size, sizeof second);
    ck_assert_mem_eq(parts[2].bytes, second, sizeof second);
    end();
}
END_TEST

START_TEST(nothing_is_lost_or_given_twice)
{
    size_t first;

    begin(INSN_TIMING_TSC);
    run(0x401000, 100);
    insn_encoder_flush(encoder);
    first = written.size;
    run(0x405000, 200);
    feed_all();
    switch_to(50, 1);
    switch_to(150, 2);
    ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
    ck_assert_uint_eq(parts[1].size, first);
    ck_assert_mem_eq(parts[1].bytes, written.bytes, first);
    /* All the rest, of which the first address grew by six bytes, behind 32 of a PSB packet.  */
    ck_assert_uint_eq(parts[2].size, 32 + written.size - first + 6);
    end();
}
END_TEST

/* The switch is between two times: tracing was off there.  */
START_TEST(coarse_times_are_divided_where_tracing_was_off)
{
    static const struct {
        const char *name;
        uint64_t ticks;
    } switches[] = { { "at the end of the first", 104 }, { "at the start of the second", 200 } };

    begin(INSN_TIMING_TSC);
    run(0x401000, 100);
    run(0x405000, 200);
    feed_all();
    switch_to(50, 1);
    switch_to(switches[_i].ticks, 2);
    ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
    ck_assert_msg(parts[1].bytes[parts[1].size - 1] == 0x01, "%s: not the end of tracing",
                  switches[_i].name);
    ck_assert_uint_eq(parts[2].size, 65);
    end();
}
END_TEST

START_TEST(packets_before_the_first_switch_and_of_nobody_are_dropped)
{
    begin(INSN_TIMING_TSC);
    run(0x401000, 100);
    run(0x405000, 200);
    run(0x401000, 300);
    feed_all();
    switch_to(150, 1);
    switch_to(250, INSN_NO_THREAD);
    ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
    ck_assert_uint_eq(parts[1].size, 65);
    ck_assert_uint_eq(parts[0].size + parts[2].size, 0);
    end();
}
END_TEST

/* The same parts, however the packets come, with each kind of timing; and threads that come again
 * continue their stream.  */
START_TEST(parts_do_not_depend_on_how_packets_come)
{
    static struct part whole[THREADS];

    for (size_t step = 0; step < 40; step += step < 3 ? 1 : 7) {
        size_t at = 0;

        begin((enum insn_timing)_i);
        for (uint64_t i = 0; i < 30; i++)
            run(i % 2 ? 0x7f0000405000 : 0x401000, 1000 * (i + 1));
        insn_encoder_flush(encoder);
        for (uint64_t i = 0; i < 30; i++) {
            /* Packets up to the switch are there; perhaps more.  */
            size_t limit = step == 0 ? written.size : written.size * (i + 1) / 30 + 80;

            while (at < written.size && at < limit) {
                size_t size = step == 0 ? written.size : step;

                if (size > written.size - at)
                    size = written.size - at;
                ck_assert_int_eq(insn_splitter_feed(splitter, written.bytes + at, size, NULL),
                                 INSN_OK);
                at += size;
                ck_assert_int_eq(insn_splitter_advance(splitter, 1000 * i, NULL, NULL), INSN_OK);
            }
            switch_to(1000 * (i + 1) - 400, 1 + i % 2);
        }
        ck_assert_int_eq(insn_splitter_feed(splitter, written.bytes + at, written.size - at, NULL),
                         INSN_OK);
        ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
        if (step == 0)
            memcpy(whole, parts, sizeof whole);
        for (size_t i = 0; i < THREADS; i++) {
            ck_assert_uint_eq(parts[i].size, whole[i].size);
            ck_assert_mem_eq(parts[i].bytes, whole[i].bytes, whole[i].size);
        }
        end();
    }
}
END_TEST

/* Damage is passed on, and what follows the next PSB packet is divided again.  */
START_TEST(goes_on_after_bad_packets)
{
    static const uint8_t bad[] = { 0x02, 0x04, 0x05, 0xff };

    begin(INSN_TIMING_TSC);
    run(0x401000, 100);
    insn_encoder_flush(encoder);
    ck_assert_int_eq(keep(NULL, bad, sizeof bad), 0);
    insn_encoder_sync(encoder, 0, 150);
    run(0x401000, 160);
    run(0x405000, 200);
    feed_all();
    switch_to(50, 1);
    switch_to(190, 2);
    ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
    ck_assert_ptr_nonnull(memmem(parts[1].bytes, parts[1].size, bad, sizeof bad));
    ck_assert_uint_eq(parts[2].size, 65);
    end();
}
END_TEST

/* Any bytes: no crash, and each byte goes to one thread, but for what begins a part.  */
START_TEST(takes_any_bytes)
{
    uint32_t random = 1;

    for (unsigned round = 0; round < 2000; round++) {
        size_t total = 0, added = 0;

        begin(INSN_TIMING_MTC);
        for (uint64_t i = 0; i < 4; i++)
            run(0x401000 + 0x4000 * (i % 2), 1000 * (i + 1));
        insn_encoder_flush(encoder);
        for (unsigned i = 0; i < 3; i++) {
            random = random * 1103515245 + 12345;
            written.bytes[(random >> 8) % written.size] = (uint8_t)(random >> 24);
        }
        switch_to(0, 1);
        feed_all();
        switch_to(1500 + round % 997, 2);
        ck_assert_int_eq(insn_splitter_finish(splitter, NULL), INSN_OK);
        for (size_t i = 0; i < THREADS; i++)
            total += parts[i].size;
        added = parts[2].size > 0 ? 32 + 6 : 0;
        ck_assert_uint_ge(total, written.size);
        ck_assert_uint_le(total, written.size + added + 8);
        end();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn split");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(all, 0);
    tcase_add_test(all, a_part_begins_with_a_psb_packet_and_a_full_address);
    tcase_add_test(all, nothing_is_lost_or_given_twice);
    tcase_add_loop_test(all, coarse_times_are_divided_where_tracing_was_off, 0, 2);
    tcase_add_test(all, packets_before_the_first_switch_and_of_nobody_are_dropped);
    tcase_add_loop_test(all, parts_do_not_depend_on_how_packets_come, 0, 3);
    tcase_add_test(all, goes_on_after_bad_packets);
    tcase_add_test(all, takes_any_bytes);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
