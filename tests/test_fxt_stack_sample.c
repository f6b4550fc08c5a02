/* The parts of raw stacks (cpu_profiler/stack_sample), whole and damaged.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>

enum { WORDS = 64, REGISTER_BYTES = 24, WHOLE = 88 };

static uint64_t words[WORDS];

/* Registers of three words, a piece of 16 bytes at 0x7000 and one of 8 at 0x9000.  */
static struct fxt_bytes payload(size_t length)
{
    static const uint64_t all[] = { REGISTER_BYTES, 1, 2, 3, 0x7000, 16, 4, 5, 0x9000, 8, 6 };

    _Static_assert(sizeof all == WHOLE, "");
    memcpy(words, all, sizeof all);
    return (struct fxt_bytes){ (const uint8_t *)words, length };
}

static struct fxt_stack_sample sample;

START_TEST(reads_registers_and_pieces)
{
    fxt_stack_sample_read(payload(WHOLE), &sample);
    ck_assert(!sample.is_damaged);
    ck_assert_uint_eq(sample.registers.length, REGISTER_BYTES);
    ck_assert_ptr_eq(sample.registers.bytes, words + 1);
    ck_assert_uint_eq(sample.piece_count, 2);
    ck_assert_uint_eq(sample.pieces[0].address, 0x7000);
    ck_assert_uint_eq(sample.pieces[0].bytes.length, 16);
    ck_assert_ptr_eq(sample.pieces[1].bytes.bytes, words + 10);
    ck_assert_uint_eq(sample.pieces[1].address, 0x9000);
    ck_assert_uint_eq(sample.pieces[1].bytes.length, 8);
}
END_TEST

/* Every prefix: what precedes the cut is there.  */
START_TEST(keeps_what_precedes_a_cut)
{
    size_t length = (size_t)_i, in_pieces = length < 32 ? 0 : length - 32;
    uint64_t memory = 0;

    fxt_stack_sample_read(payload(length), &sample);
    ck_assert(sample.is_damaged == (length != WHOLE && length != 32 && length != 64));
    ck_assert_uint_eq(sample.registers.length, length < 32 ? 0 : 24);
    ck_assert_uint_eq(sample.piece_count, in_pieces < 16 ? 0U : in_pieces < 48 ? 1U : 2U);
    for (size_t i = 0; i < sample.piece_count; i++)
        memory += sample.pieces[i].bytes.length;
    ck_assert_uint_eq(memory, in_pieces < 16   ? 0
                              : in_pieces < 32 ? in_pieces - 16
                              : in_pieces < 48 ? 16
                                               : in_pieces - 32);
}
END_TEST

START_TEST(bounds_sizes_and_pieces)
{
    words[0] = UINT64_MAX - 7;
    fxt_stack_sample_read((struct fxt_bytes){ (const uint8_t *)words, 64 }, &sample);
    ck_assert(sample.is_damaged && sample.registers.length == 0 && sample.piece_count == 0);

    (void)payload(WHOLE);
    words[5] = UINT64_MAX; /* the size of the first piece */
    fxt_stack_sample_read((struct fxt_bytes){ (const uint8_t *)words, WHOLE }, &sample);
    ck_assert(sample.is_damaged && sample.piece_count == 1);
    ck_assert_uint_eq(sample.pieces[0].bytes.length, WHOLE - 48);

    memset(words, 0, sizeof words); /* no registers, and empty pieces */
    fxt_stack_sample_read((struct fxt_bytes){ (const uint8_t *)words, 8 + 16 * FXT_STACK_PIECES },
                          &sample);
    ck_assert(!sample.is_damaged && sample.piece_count == FXT_STACK_PIECES);
    fxt_stack_sample_read(
        (struct fxt_bytes){ (const uint8_t *)words, 8 + 16 * (FXT_STACK_PIECES + 1) }, &sample);
    ck_assert(sample.is_damaged && sample.piece_count == FXT_STACK_PIECES);
}
END_TEST

static struct fxt_string text(const char *bytes)
{
    return (struct fxt_string){ .bytes = bytes, .length = (uint32_t)strlen(bytes) };
}

START_TEST(knows_such_blobs_by_name)
{
    struct fxt_record record = { .kind = FXT_RECORD_LARGE_BLOB };

    record.category = text("cpu_profiler");
    record.name = text("stack_sample");
    ck_assert(fxt_record_is_stack_sample(&record));
    record.value.large_blob.format = 1;
    ck_assert(!fxt_record_is_stack_sample(&record));
    record.value.large_blob.format = 0;
    record.name = text("stack_samples");
    ck_assert(!fxt_record_is_stack_sample(&record));
    record.name = text("stack_sample");
    record.kind = FXT_RECORD_BLOB;
    ck_assert(!fxt_record_is_stack_sample(&record));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_stack_sample");
    TCase *tests = tcase_create("parts");
    SRunner *runner;
    int failed;

    tcase_add_test(tests, reads_registers_and_pieces);
    tcase_add_loop_test(tests, keeps_what_precedes_a_cut, 0, WHOLE + 1);
    tcase_add_test(tests, bounds_sizes_and_pieces);
    tcase_add_test(tests, knows_such_blobs_by_name);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
