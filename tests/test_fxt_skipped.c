/* The bytes behind records and behind damage, as the reader shows them to its caller.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>
#include "tests/support/hex_text.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

#define MAGIC  "10 00 04 46 78 54 16 00 "
#define THREAD "33 00 01 00 00 00 00 00  0a 00 00 00 00 00 00 00  0b 00 00 00 00 00 00 00 "
/* An event whose category of 40 bytes has 8.  */
#define BAD  "34 00 02 01 28 80 00 00  64 00 00 00 00 00 00 00  73 68 6f 72 74 73 74 72 "
#define LATE "24 00 02 01 00 00 00 00  00 00 00 00 00 00 00 80 " /* at tick 2^63 */
#define ZERO "00 00 00 00 00 00 00 00 "

static const struct {
    const char *name;
    const char *bytes;
    enum fxt_damage_kind kind; /* of what is skipped */
} traces[] = {
    { "nothing skipped", MAGIC THREAD, FXT_DAMAGE_KINDS },
    { "zero words", MAGIC ZERO ZERO ZERO THREAD ZERO, FXT_DAMAGE_ZERO_WORDS },
    { "a bad record", MAGIC BAD THREAD, FXT_DAMAGE_BAD_RECORD },
    { "a time out of range", MAGIC LATE THREAD, FXT_DAMAGE_TIME_OVERFLOW },
    { "a cut record", MAGIC THREAD "33 00 01 00 00 00 00 00  0a", FXT_DAMAGE_TRUNCATED_TAIL },
    { "stray bytes", MAGIC THREAD "33 00 01", FXT_DAMAGE_STRAY_BYTES },
};

/* Bytes given out a few at a time, and all that came back.  */
struct session {
    const uint8_t *bytes;
    size_t left;
    size_t step; /* bytes a read */
    uint8_t shown[1 << 10];
    size_t shown_bytes;
    uint64_t skipped_bytes;
    enum fxt_damage_kind kind; /* of the last skipped stretch */
};

static ptrdiff_t give(void *context, void *buffer, size_t size)
{
    struct session *session = context;

    if (size > session->step)
        size = session->step;
    if (size > session->left)
        size = session->left;
    memcpy(buffer, session->bytes, size);
    session->bytes += size;
    session->left -= size;
    return (ptrdiff_t)size;
}

static void show(struct session *session, struct fxt_bytes bytes)
{
    ck_assert_uint_le(bytes.length, sizeof session->shown - session->shown_bytes);
    memcpy(session->shown + session->shown_bytes, bytes.bytes, (size_t)bytes.length);
    session->shown_bytes += (size_t)bytes.length;
}

static void show_skipped(void *context, const struct fxt_skipped *skipped)
{
    struct session *session = context;

    ck_assert_uint_eq(skipped->bytes.length, skipped->size);
    ck_assert_uint_eq(skipped->offset, session->shown_bytes);
    session->kind = skipped->kind;
    session->skipped_bytes += skipped->size;
    show(session, skipped->bytes);
}

START_TEST(shows_every_byte_once_and_in_order)
{
    static const size_t steps[] = { 1, 7, 13, 4096 };
    uint8_t bytes[256];
    size_t length = hex_bytes(traces[_i].bytes, bytes, sizeof bytes);

    for (int i = 0; i < ROWS(steps); i++) {
        struct session session = {
            .bytes = bytes, .left = length, .step = steps[i], .kind = FXT_DAMAGE_KINDS
        };
        const struct fxt_reader_options options = { .size = sizeof options,
                                                    .skipped = show_skipped,
                                                    .skipped_context = &session };
        const struct fxt_record *record;
        struct fxt_reader *reader;
        struct fxt_input *input;

        ck_assert_int_eq(fxt_input_open_callback(give, &session, &input, NULL), FXT_OK);
        ck_assert_int_eq(fxt_reader_open(input, &options, &reader, NULL), FXT_OK);
        ck_assert_uint_eq(fxt_reader_bytes(reader).length, 0);
        while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
            ck_assert_uint_eq(fxt_reader_bytes(reader).length, record->size);
            ck_assert_uint_eq(record->offset, session.shown_bytes);
            show(&session, fxt_reader_bytes(reader));
        }
        ck_assert_uint_eq(fxt_reader_bytes(reader).length, 0);
        ck_assert_uint_eq(session.shown_bytes, length);
        ck_assert_mem_eq(session.shown, bytes, length);
        ck_assert_int_eq(session.kind, traces[_i].kind);
        if (session.kind < FXT_DAMAGE_KINDS)
            ck_assert_uint_eq(session.skipped_bytes,
                              fxt_reader_damage(reader)->kinds[session.kind].bytes);
        fxt_reader_close(reader);
        fxt_input_close(input);
    }
}
END_TEST

static struct fxt_skipped told;
static uint8_t told_bytes[8];

static void keep(void *context, const struct fxt_skipped *skipped)
{
    (void)context;
    told = *skipped;
    ck_assert_uint_le(skipped->bytes.length, sizeof told_bytes);
    if (skipped->bytes.length)
        memcpy(told_bytes, skipped->bytes.bytes, (size_t)skipped->bytes.length);
}

/* Read the bytes to their end and return how that was.  */
static enum fxt_status read_all(const uint8_t *bytes, size_t length)
{
    const struct fxt_reader_options options = { .size = sizeof options,
                                                .max_record_bytes = 32768,
                                                .skipped = keep };
    struct session session = { .bytes = bytes, .left = length, .step = SIZE_MAX };
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_input *input;
    enum fxt_status status;

    told.kind = FXT_DAMAGE_KINDS;
    ck_assert_int_eq(fxt_input_open_callback(give, &session, &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, &options, &reader, NULL), FXT_OK);
    do
        status = fxt_reader_next(reader, &record, NULL);
    while (status == FXT_OK);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return status;
}

START_TEST(shows_the_header_of_size_0)
{
    uint8_t bytes[64];
    size_t length = hex_bytes(MAGIC "04 00 05 00 00 00 00 00  01 02 03", bytes, sizeof bytes);

    ck_assert_int_eq(read_all(bytes, length), FXT_FATAL);
    ck_assert_int_eq(told.kind, FXT_DAMAGE_SIZE_ZERO);
    ck_assert_uint_eq(told.offset, 8);
    ck_assert_uint_eq(told.size, 0);
    ck_assert_uint_eq(told.bytes.length, 8);
    ck_assert_mem_eq(told_bytes, bytes + 8, 8);
}
END_TEST

START_TEST(tells_of_an_oversized_record_without_its_bytes)
{
    enum { SIZE = 8 * 5000 };
    static uint8_t bytes[8 + SIZE];

    (void)hex_bytes(MAGIC "8f 38 01 00 00 00 00 00", bytes, sizeof bytes); /* 5000 words */
    ck_assert_int_eq(read_all(bytes, sizeof bytes), FXT_END);
    ck_assert_int_eq(told.kind, FXT_DAMAGE_OVERSIZED_RECORD);
    ck_assert_uint_eq(told.offset, 8);
    ck_assert_uint_eq(told.size, SIZE);
    ck_assert_uint_eq(told.bytes.length, 0);
}
END_TEST

START_TEST(tells_of_an_oversized_record_that_is_cut)
{
    static uint8_t bytes[1000];

    (void)hex_bytes(MAGIC "8f 38 01 00 00 00 00 00", bytes, sizeof bytes);
    ck_assert_int_eq(read_all(bytes, sizeof bytes), FXT_END);
    ck_assert_int_eq(told.kind, FXT_DAMAGE_TRUNCATED_TAIL);
    ck_assert_uint_eq(told.offset, 8);
    ck_assert_uint_eq(told.size, sizeof bytes - 8);
    ck_assert_uint_eq(told.bytes.length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_skipped");
    TCase *tcase = tcase_create("skipped");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, shows_every_byte_once_and_in_order, 0, ROWS(traces));
    tcase_add_test(tcase, shows_the_header_of_size_0);
    tcase_add_test(tcase, tells_of_an_oversized_record_without_its_bytes);
    tcase_add_test(tcase, tells_of_an_oversized_record_that_is_cut);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
