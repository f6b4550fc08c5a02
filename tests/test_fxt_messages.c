/* Recorded messages of the memory sampler as a trace (docs/formats/memory-sampler.md).  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <fxt/fidl_sampler.h>
#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/fidl_vectors.h"
#include "tests/support/hex_text.h"
#include "tests/support/parts.h"

static struct bytes stream, wanted, got;

/* ---- What is expected ---- */

static void start_wanted(void)
{
    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "memory-sampler");
    put_string(&wanted, 1, "memory");
    put_string(&wanted, 2, "fuchsia.memory.sampler");
}

/* A message, and the large blob that it becomes.  */
static void put_message(const struct bytes *message)
{
    put_bytes(&stream, message);
    put_word(&wanted, 15 | (3 + message->length / 8) << 4 | UINT64_C(1) << 40);
    put_word(&wanted, 1 | 2 << 16);
    put_word(&wanted, message->length);
    put_bytes(&wanted, message);
}

static void put_vector(const char *hex)
{
    static struct bytes message;

    message.length = hex_bytes(hex, message.data, sizeof message.data);
    put_message(&message);
}

/* An allocation of any number of frames.  */
static void put_allocation(size_t frames)
{
    static struct bytes message;
    static uint64_t stack[8192];

    ck_assert_uint_le(frames, sizeof stack / sizeof *stack);
    ck_assert_int_eq(fidl_encode_allocation(FIDL_GENERATION_2, 0x1000 + frames, stack, frames, 64,
                                            message.data, sizeof message.data, &message.length),
                     FIDL_OK);
    put_message(&message);
}

static void make_stream(void)
{
    stream.length = 0;
    start_wanted();
    put_vector(VECTOR_PROCESS_INFO);
    put_vector(VECTOR_ALLOCATION_1);
    put_vector(VECTOR_DEALLOCATION_1);
    put_vector(VECTOR_ALLOCATION_2);
    put_vector(VECTOR_DEALLOCATION_2);
}

static void expect(const struct fxt_part *part, uint64_t damages, uint64_t offset, uint64_t lost)
{
    ck_assert_int_eq(part->format, FXT_FORMAT_MESSAGES);
    ck_assert_uint_eq(part->damage_count, damages);
    ck_assert_uint_eq(part->damage.offset, offset);
    ck_assert_uint_eq(part->lost_bytes, lost);
}

/* The stream gives what is wanted, with that damage.  */
static void check(size_t step, size_t size, uint64_t damages, uint64_t offset, uint64_t lost)
{
    struct source source;
    struct fxt_input *input = open_bytes(&source, stream.data, stream.length, step);

    ck_assert_int_eq(read_trace(input, size, &got), FXT_END);
    same_bytes(&got, &wanted, "messages");
    expect(fxt_input_part(input, 0), damages, offset, lost);
    fxt_input_close(input);
}

/* ---- Sound streams ---- */

static const struct {
    size_t step; /* what the callback gives at most */
    size_t size; /* what is asked for at most */
} pieces[] = { { 0, 65536 }, { 1, 65536 }, { 0, 1 }, { 3, 7 }, { 4095, 4096 } };
#define COUNT_OF_PIECES (sizeof pieces / sizeof *pieces)

START_TEST(wraps_each_message)
{
    make_stream();
    check(pieces[_i].step, pieces[_i].size, 0, 0, 0);
}
END_TEST

/* The window ends in the midst of messages, and the longest just fits.  */
START_TEST(reads_messages_of_any_length)
{
    stream.length = 0;
    start_wanted();
    for (size_t frames = 0; frames < 100; frames += 7)
        put_allocation(frames);
    put_allocation(2000);
    put_allocation(1500);
    check(pieces[_i].step, pieces[_i].size, 0, 0, 0);
    stream.length = 0;
    start_wanted();
    put_allocation(8165); /* with the records before it just what a test has room for */
    wanted.length = 0;
    struct source source;
    struct fxt_input *input = open_bytes(&source, stream.data, stream.length, 0);
    struct reading result;
    static char text[400000];

    ck_assert_int_eq(describe_input(input, NULL, text, sizeof text, &result), FXT_END);
    ck_assert_uint_eq(result.records, 5);
    ck_assert_uint_eq(fxt_damage_total(&result.damage, true), 0);
}
END_TEST

START_TEST(reads_compressed_messages)
{
    static uint8_t packed[65536];
    struct source source;
    struct fxt_input *input;
    size_t length;

    make_stream();
    length = ZSTD_compress(packed, sizeof packed, stream.data, stream.length, 3);
    ck_assert(!ZSTD_isError(length));
    input = open_bytes(&source, packed, length, 0);
    ck_assert_int_eq(read_trace(input, 65536, &got), FXT_END);
    same_bytes(&got, &wanted, "zstd");
    expect(fxt_input_part(input, 0), 0, 0, 0);
    fxt_input_close(input);
    /* Of a second frame that is cut nothing comes out: the first is whole.  */
    memcpy(packed + length, packed, length);
    input = open_bytes(&source, packed, 2 * length - 4, 0);
    ck_assert_int_eq(read_trace(input, 65536, &got), FXT_END);
    same_bytes(&got, &wanted, "zstd, cut");
    ck_assert_uint_eq(fxt_input_part(input, 0)->damage_count, 1);
    fxt_input_close(input);
}
END_TEST

START_TEST(delivers_large_blobs_without_time)
{
    struct source source;
    struct fxt_input *input;
    struct fxt_reader *reader;
    const struct fxt_record *record;
    size_t part, blobs = 0;
    uint64_t offset;

    make_stream();
    input = open_bytes(&source, stream.data, stream.length, 0);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        ck_assert(!fxt_input_locate(input, record->offset, &part, &offset));
        if (record->kind != FXT_RECORD_LARGE_BLOB)
            continue;
        ck_assert(!record->has_time && !record->has_thread);
        ck_assert_mem_eq(record->category.bytes, "memory", 6);
        ck_assert_mem_eq(record->name.bytes, "fuchsia.memory.sampler", 22);
        blobs++;
    }
    ck_assert_uint_eq(blobs, 5);
    ck_assert_uint_eq(fxt_damage_total(fxt_reader_damage(reader), true), 0);
    fxt_reader_close(reader);
    fxt_input_close(input);
}
END_TEST

/* ---- What begins like messages and is none ---- */

static const struct {
    const char *name;
    size_t at; /* which byte of the first message is another */
    uint8_t byte;
} strangers[] = {
    { "magic", 7, 0 },
    { "wire format", 4, 0 },
    { "ordinal, first byte", 8, 0x84 },
    { "ordinal, last byte", 15, 0 },
};

START_TEST(leaves_other_bytes_alone)
{
    enum fxt_format format;
    struct source source;
    struct fxt_input *input;

    make_stream();
    stream.data[strangers[_i].at] = strangers[_i].byte;
    input = open_bytes(&source, stream.data, stream.length, 1);
    ck_assert_int_eq(fxt_input_format(input, &format, NULL), FXT_OK);
    ck_assert_msg(format == FXT_FORMAT_STREAM, "%s", strangers[_i].name);
    ck_assert_int_eq(read_trace(input, 65536, &got), FXT_END);
    same_bytes(&got, &stream, strangers[_i].name);
    fxt_input_close(input);
}
END_TEST

START_TEST(reads_half_a_header_as_a_stream)
{
    enum fxt_format format;
    struct source source;
    struct fxt_input *input;

    make_stream();
    input = open_bytes(&source, stream.data, 12, 0);
    ck_assert_int_eq(fxt_input_format(input, &format, NULL), FXT_OK);
    ck_assert_int_eq(format, FXT_FORMAT_STREAM);
    fxt_input_close(input);
}
END_TEST

/* ---- Damage ---- */

/* Bytes between messages that are none.  */
START_TEST(passes_over_what_is_no_message)
{
    size_t offset;

    stream.length = 0;
    start_wanted();
    put_vector(VECTOR_ALLOCATION_1);
    offset = stream.length;
    for (int i = 0; i < 1 + 3 * _i; i++)
        put_word(&stream, UINT64_C(0x5555555555555555));
    put_vector(VECTOR_DEALLOCATION_2);
    for (size_t i = 0; i < COUNT_OF_PIECES; i++)
        check(pieces[i].step, pieces[i].size, 1, offset, 8 * (1 + 3 * (uint64_t)_i));
}
END_TEST

/* A message whose members contradict each other costs itself alone.  */
START_TEST(passes_over_a_broken_message)
{
    struct bytes before;

    stream.length = 0;
    start_wanted();
    put_vector(VECTOR_ALLOCATION_1);
    before = wanted;
    put_vector(VECTOR_ALLOCATION_2);
    stream.data[88 + 24] = 0; /* the presence of its table */
    wanted = before;
    put_vector(VECTOR_DEALLOCATION_2);
    for (size_t i = 0; i < COUNT_OF_PIECES; i++)
        check(pieces[i].step, pieces[i].size, 1, 88, 128);
}
END_TEST

/* Each prefix gives its whole messages, and counts what is left of one.  */
START_TEST(counts_a_cut_end)
{
    static struct bytes whole, all;
    size_t ends[] = { 240, 328, 400, 528, 632 };
    size_t archive[] = { 8 + 24 + 16 + 32, 0, 0, 0, 0, 0 };
    size_t before = 0;

    make_stream();
    whole = stream;
    all = wanted;
    for (size_t i = 0; i < 5; i++)
        archive[i + 1] = archive[i] + 24 + ends[i] - (i ? ends[i - 1] : 0);
    ck_assert_uint_eq(archive[5], all.length);
    for (size_t length = 16; length < whole.length; length++) {
        size_t messages = 0;

        while (messages < 5 && ends[messages] <= length)
            messages++;
        before = messages ? ends[messages - 1] : 0;
        stream.length = length;
        wanted.length = archive[messages];
        check(0, 65536, before < length, before < length ? before : 0, length - before);
    }
}
END_TEST

/* Broken messages by the thousand are not looked at one by one for ever.  */
START_TEST(gives_up_at_last)
{
    static uint8_t many[16 * 12000];
    struct source source;
    struct fxt_input *input;

    make_stream();
    for (size_t i = 0; i < sizeof many; i += 16)
        memcpy(many + i, stream.data, 16);
    input = open_bytes(&source, many, sizeof many, 0);
    start_wanted();
    ck_assert_int_eq(read_trace(input, 65536, &got), FXT_END);
    same_bytes(&got, &wanted, "no message");
    expect(fxt_input_part(input, 0), 10000, 0, sizeof many);
    fxt_input_close(input);
}
END_TEST

static ptrdiff_t fail_later(void *context, void *buffer, size_t size)
{
    struct source *source = context;

    if (source->left == 0) {
        errno = EIO;
        return -1;
    }
    return read_source(source, buffer, size);
}

START_TEST(tells_of_a_failing_read)
{
    struct source source;
    struct fxt_input *input;
    const struct fxt_part *part;

    make_stream();
    source = (struct source){ stream.data, stream.length, 100 };
    ck_assert_int_eq(fxt_input_open_callback(fail_later, &source, &input, NULL), FXT_OK);
    ck_assert_int_eq(read_trace(input, 65536, &got), FXT_END);
    same_bytes(&got, &wanted, "before the failure");
    part = fxt_input_part(input, 0);
    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_int_eq(part->damage.system_errno, EIO);
    fxt_input_close(input);
}
END_TEST

START_TEST(survives_failing_allocations)
{
    enum fxt_status status = FXT_NO_MEMORY;
    unsigned long n;

    make_stream();
    for (n = 1; status == FXT_NO_MEMORY && n < 100; n++) {
        struct source source = { stream.data, stream.length, 0 };
        struct fxt_input *input = NULL;

        allocation_fail_at(n);
        status = fxt_input_open_callback(read_source, &source, &input, NULL);
        got.length = 0;
        while (status == FXT_OK) {
            size_t length = 0;

            status = fxt_input_read(input, got.data + got.length, sizeof got.data - got.length,
                                    &length, NULL);
            got.length += length;
        }
        allocation_fail_at(0);
        fxt_input_close(input);
    }
    ck_assert_int_eq(status, FXT_END);
    ck_assert_uint_gt(n, 4);
    same_bytes(&got, &wanted, "after all");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_messages");
    TCase *tcase = tcase_create("messages");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, wraps_each_message, 0, COUNT_OF_PIECES);
    tcase_add_loop_test(tcase, reads_messages_of_any_length, 0, COUNT_OF_PIECES);
    tcase_add_test(tcase, reads_compressed_messages);
    tcase_add_test(tcase, delivers_large_blobs_without_time);
    tcase_add_loop_test(tcase, leaves_other_bytes_alone, 0, 4);
    tcase_add_test(tcase, reads_half_a_header_as_a_stream);
    tcase_add_loop_test(tcase, passes_over_what_is_no_message, 0, 3);
    tcase_add_test(tcase, passes_over_a_broken_message);
    tcase_add_test(tcase, counts_a_cut_end);
    tcase_add_test(tcase, gives_up_at_last);
    tcase_add_test(tcase, tells_of_a_failing_read);
    tcase_add_test(tcase, survives_failing_allocations);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
