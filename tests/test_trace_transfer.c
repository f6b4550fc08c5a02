/* From a provider's buffer to the archive: what is refused, in which order halves go, and what is
 * left behind.  Buffers are filled by hand; an event is two words, with its number in the
 * second.  */
#include "sampler-capture/trace/transfer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SIZE = 4096,
    DURABLE = 256,  /* bytes of a circular or streaming buffer of this size, ... */
    ROLLING = 1856, /* and of each half */
    ONESHOT = SIZE - (int)TRACE_HEADER_BYTES,
};

static struct transfer transfer;
static uint64_t *words;
static uint64_t got[1024]; /* what went to the archive */
static size_t got_count;

static bool take(void *context, const void *records, size_t size)
{
    (void)context;
    ck_assert_uint_le(got_count + size / 8, sizeof got / sizeof *got);
    memcpy(got + got_count, records, size);
    got_count += size / 8;
    return true;
}

static void begin(enum trace_mode mode)
{
    bool halves = mode != TRACE_ONESHOT;

    transfer =
        (struct transfer){ .fd = memfd_create("test", 0), .size = SIZE, .mode = mode, .put = take };
    ck_assert_int_eq(ftruncate(transfer.fd, SIZE), 0);
    words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, transfer.fd, 0);
    ck_assert(words != MAP_FAILED);
    words[0] = TRACE_BUFFER_MAGIC;
    words[1] = (uint64_t)mode << 16;
    words[2] = SIZE;
    words[3] = halves ? DURABLE : 0;
    words[4] = halves ? ROLLING : ONESHOT;
    got_count = 0;
}

static void teardown(void)
{
    transfer_release(&transfer);
    (void)munmap(words, SIZE);
    (void)close(transfer.fd);
}

static uint64_t *half(unsigned which)
{
    return words + 16 + words[3] / 8 + which * (words[4] / 8);
}

static uint64_t *put_event(uint64_t *at, uint64_t number)
{
    at[0] = 4 | 2 << 4;
    at[1] = number;
    return at + 2;
}

/* Two words of a kind of metadata.  */
static uint64_t *put_metadata(uint64_t *at, uint64_t type)
{
    at[0] = 0 | 2 << 4 | type << 16;
    at[1] = UINT64_MAX; /* no record, if it is taken for one */
    return at + 2;
}

static void set_wrapped(uint64_t count)
{
    words[1] = (words[1] & UINT32_MAX) | count << 32;
}

static void check_events(const uint64_t *numbers, size_t count)
{
    ck_assert_uint_eq(got_count, 2 * count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(got[2 * i], 4 | 2 << 4);
        ck_assert_uint_eq(got[2 * i + 1], numbers[i]);
    }
}
#define EVENTS(...)                                 \
    check_events((const uint64_t[]){ __VA_ARGS__ }, \
                 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* ---- What a provider may not say ---- */

START_TEST(leaves_out_metadata_by_which_a_provider_would_speak_for_others)
{
    uint64_t *at;

    begin((enum trace_mode)_i);
    at = put_event(half(0), 1);
    for (uint64_t type = 0; type < 5; type++) /* info, section, event, trace info, ... */
        at = put_metadata(at, type);
    at = put_event(at, 2);
    words[6] = (uint64_t)(at - half(0)) * 8;
    words[5] = _i == TRACE_ONESHOT ? 0 : 16;
    if (_i != TRACE_ONESHOT)
        (void)put_metadata(words + 16, 1); /* in the durable part, too */
    ck_assert_int_eq(transfer_rest(&transfer), TRANSFER_OK);
    EVENTS(1, 2);
    ck_assert_uint_eq(transfer.refused, _i == TRACE_ONESHOT ? 5 : 6);
    ck_assert_uint_eq(transfer.broken, 0);
}
END_TEST

START_TEST(counts_no_metadata_in_what_others_have_overtaken)
{
    uint64_t *at;

    begin(TRACE_CIRCULAR);
    set_wrapped(4);
    at = half(0);
    *at++ = trace_row(1, trace_turn(2)); /* two turns ago */
    at = put_metadata(put_event(at, 1), 1);
    *at++ = trace_row(1, trace_turn(4));
    at = put_event(at, 2);
    words[6] = (uint64_t)(at - half(0)) * 8;
    words[5] = 16;
    (void)put_event(words + 16, 0);
    words[7] = 16;
    (void)put_event(half(1), 3); /* without a turn: as it is */
    ck_assert_int_eq(transfer_rest(&transfer), TRANSFER_OK);
    EVENTS(0, 3, 2);
    ck_assert_uint_eq(transfer.refused, 0);
}
END_TEST

/* Each is one word of a sound header, changed.  */
static const struct {
    const char *name;
    unsigned word;
    uint64_t value;
} bad_headers[] = {
    { "magic", 0, TRACE_BUFFER_MAGIC + 1 },
    { "version", 1, (uint64_t)TRACE_STREAMING << 16 | 1 },
    { "another mode", 1, (uint64_t)TRACE_CIRCULAR << 16 },
    { "mode 3", 1, 3 << 16 },
    { "total size", 2, SIZE + 4096 },
    { "durable size of none", 3, 0 },
    { "durable size that is no word", 3, DURABLE + 1 },
    { "durable size beyond the buffer", 3, UINT64_MAX - 7 },
    { "rolling size", 4, ROLLING + 8 },
    { "rolling size that overflows", 4, UINT64_C(1) << 63 },
    { "durable end", 5, DURABLE + 8 },
    { "durable end that is no word", 5, 12 },
    { "end of half 0", 6, ROLLING + 8 },
    { "end of half 1", 7, ROLLING + 8 },
    { "end of half 1 that is no word", 7, 9 },
};

START_TEST(refuses_a_header_that_contradicts_itself)
{
    struct transfer_header header;

    begin(TRACE_STREAMING);
    ck_assert_int_eq(transfer_read_header(&transfer, &header), TRANSFER_OK);
    words[bad_headers[_i].word] = bad_headers[_i].value;
    ck_assert_msg(transfer_rest(&transfer) == TRANSFER_BAD_BUFFER, "%s", bad_headers[_i].name);
    ck_assert_int_eq(transfer_half(&transfer, 0, 16), TRANSFER_BAD_BUFFER);
    ck_assert_uint_eq(got_count, 0);
}
END_TEST

/* SAVE_BUFFER: after half 0 was handed over with 32 durable bytes.  */
static const struct {
    const char *name;
    uint64_t wrapped;
    uint64_t durable_end;
    enum transfer_status status;
} packets[] = {
    { "the next one", 1, 40, TRANSFER_OK },
    { "the same one", 0, 40, TRANSFER_BAD_PACKET },
    { "one too far", 2, 40, TRANSFER_BAD_PACKET },
    { "fewer durable bytes than before", 1, 24, TRANSFER_BAD_PACKET },
    { "durable bytes that are no words", 1, 36, TRANSFER_BAD_PACKET },
    { "more durable bytes than there are", 1, DURABLE + 8, TRANSFER_BAD_PACKET },
};

START_TEST(refuses_a_half_that_cannot_be_handed_over)
{
    begin(TRACE_STREAMING);
    for (unsigned i = 0; i < 2; i++) {
        (void)put_event(half(i), i);
        words[6 + i] = 16;
    }
    (void)put_event(put_event(words + 16, 10), 11);
    words[20] = trace_filler(1);
    ck_assert_int_eq(transfer_half(&transfer, 1, 32), TRANSFER_BAD_PACKET); /* not the first */
    ck_assert_int_eq(transfer_half(&transfer, 0, 8), TRANSFER_BAD_PACKET);  /* no record */
    ck_assert_int_eq(transfer_half(&transfer, 0, 32), TRANSFER_OK);
    EVENTS(10, 11, 0);
    ck_assert_msg(transfer_half(&transfer, (uint32_t)packets[_i].wrapped,
                                packets[_i].durable_end) == packets[_i].status,
                  "%s", packets[_i].name);
    if (packets[_i].status == TRANSFER_OK)
        EVENTS(10, 11, 0, 1);
    else
        EVENTS(10, 11, 0);
}
END_TEST

/* ---- Order, ends ---- */

/* The durable part, the older half, the newer one; what was handed over is not there twice.  */
static const struct {
    const char *name;
    enum trace_mode mode;
    int saved; /* the first so many halves were handed over */
    uint64_t wrapped;
    uint64_t expected[4];
    size_t count;
} orders[] = {
    { "circular, not wrapped", TRACE_CIRCULAR, 0, 0, { 9, 100 }, 2 },
    { "circular, wrapped once", TRACE_CIRCULAR, 0, 1, { 9, 100, 101 }, 3 },
    { "circular, wrapped twice", TRACE_CIRCULAR, 0, 2, { 9, 101, 100 }, 3 },
    { "streaming, not wrapped", TRACE_STREAMING, 0, 0, { 9, 100 }, 2 },
    { "streaming, wrapped, not handed over", TRACE_STREAMING, 0, 1, { 9, 100, 101 }, 3 },
    { "streaming, wrapped, handed over", TRACE_STREAMING, 1, 1, { 9, 100, 101 }, 3 },
    { "streaming, wrapped twice, one handed over", TRACE_STREAMING, 1, 2, { 9, 100, 101, 100 }, 4 },
    { "streaming, killed after a half was handed over", TRACE_STREAMING, 1, 0, { 9, 100 }, 2 },
};

START_TEST(writes_the_durable_part_then_the_older_half)
{
    begin(orders[_i].mode);
    (void)put_event(words + 16, 9);
    words[5] = 16;
    for (unsigned i = 0; i < 2; i++) {
        (void)put_event(half(i), 100 + i);
        words[6 + i] = 16;
    }
    for (int i = 0; i < orders[_i].saved; i++)
        ck_assert_int_eq(transfer_half(&transfer, (uint32_t)i, 16), TRANSFER_OK);
    set_wrapped(orders[_i].wrapped);
    ck_assert_int_eq(transfer_rest(&transfer), TRANSFER_OK);
    ck_assert_msg(got_count == 2 * orders[_i].count, "%s", orders[_i].name);
    check_events(orders[_i].expected, orders[_i].count);
}
END_TEST

START_TEST(keeps_a_last_record_that_fills_the_buffer)
{
    uint64_t *at;

    begin(TRACE_ONESHOT);
    for (at = half(0); at < words + SIZE / 8 - 2;)
        at = put_event(at, 1);
    (void)put_event(at, 7);
    ck_assert_int_eq(transfer_rest(&transfer), TRANSFER_OK); /* no end: it was killed */
    ck_assert_uint_eq(got_count, (size_t)ONESHOT / 8);
    ck_assert_uint_eq(got[got_count - 1], 7);
    ck_assert_uint_eq(transfer.broken, 0);
}
END_TEST

START_TEST(counts_bytes_in_which_no_record_is_found)
{
    begin(TRACE_ONESHOT);
    (void)put_event(half(0), 1);
    half(0)[2] = 4 | 4095 << 4; /* reaches beyond the end */
    words[6] = 48;
    ck_assert_int_eq(transfer_rest(&transfer), TRANSFER_OK);
    EVENTS(1);
    ck_assert_uint_eq(transfer.broken, 32);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *suite = suite_create("trace_transfer");
    TCase *tcase = tcase_create("trace_transfer");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, leaves_out_metadata_by_which_a_provider_would_speak_for_others, 0,
                        3);
    tcase_add_test(tcase, counts_no_metadata_in_what_others_have_overtaken);
    tcase_add_loop_test(tcase, refuses_a_header_that_contradicts_itself, 0, ROWS(bad_headers));
    tcase_add_loop_test(tcase, refuses_a_half_that_cannot_be_handed_over, 0, ROWS(packets));
    tcase_add_loop_test(tcase, writes_the_durable_part_then_the_older_half, 0, ROWS(orders));
    tcase_add_test(tcase, keeps_a_last_record_that_fills_the_buffer);
    tcase_add_test(tcase, counts_bytes_in_which_no_record_is_found);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
