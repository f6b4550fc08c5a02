/* The n-th allocation fails, for every n, while a trace with every kind of record is read.  That
 * nothing leaks is for the address sanitizer to see.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/every_kind.h"
#include "tests/support/pack.h"
#include "tests/support/pass_on.h"

static struct copy trace;
static uint8_t *packed[2]; /* gzip, zstd */
static size_t packed_length[2];

/* A large record that no window holds at first, and enough providers and strings for every table
 * to grow.  */
static void write_growing(struct fxt_writer *to)
{
    static uint8_t payload[600000];
    struct fxt_record record = { .kind = FXT_RECORD_LARGE_BLOB,
                                 .value.large_blob = { .format = 1,
                                                       .payload = { payload, sizeof payload } } };

    ck_assert_int_eq(fxt_writer_record(to, &record, NULL), FXT_OK);
    for (uint32_t id = 0; id < 20; id++) {
        record = (struct fxt_record){ .kind = FXT_RECORD_PROVIDER_INFO, .value.provider.id = id };
        ck_assert_int_eq(fxt_writer_record(to, &record, NULL), FXT_OK);
        record = (struct fxt_record){ .kind = FXT_RECORD_STRING,
                                      .name = fxt_inline("text"),
                                      .value.table.index = (uint16_t)(10 * id + 1) };
        ck_assert_int_eq(fxt_writer_record(to, &record, NULL), FXT_OK);
        record = (struct fxt_record){ .kind = FXT_RECORD_THREAD, .value.table.index = 1 };
        ck_assert_int_eq(fxt_writer_record(to, &record, NULL), FXT_OK);
    }
}

static void make_trace(void)
{
    struct fxt_writer *to;

    ck_assert_int_eq(fxt_writer_open(copy_write, &trace, &to, NULL), FXT_OK);
    ck_assert_int_eq(every_kind_write(to), FXT_OK);
    write_growing(to);
    fxt_writer_close(to);
    for (int i = 0; i < 2; i++) {
        packed[i] = malloc(trace.used);
        ck_assert_ptr_nonnull(packed[i]);
    }
    packed_length[0] = pack_gzip(trace.bytes, trace.used, packed[0], trace.used);
    packed_length[1] = pack_zstd(trace.bytes, trace.used, false, packed[1], trace.used);
}

static void free_trace(void)
{
    free(trace.bytes);
    free(packed[0]);
    free(packed[1]);
    trace = (struct copy){ 0 };
}

/* What assertions would need memory for.  */
struct run {
    enum fxt_status status;
    enum fxt_status again; /* the same call once more */
    enum fxt_status told;  /* in the error */
    size_t records;
};

static struct run read_all(const uint8_t *bytes, size_t length)
{
    struct source source = { bytes, length, 0 };
    struct fxt_error error = { .status = FXT_OK };
    const struct fxt_record *record;
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    struct run run = { .status = fxt_input_open_callback(read_source, &source, &input, &error) };

    if (run.status == FXT_OK)
        run.status = fxt_reader_open(input, NULL, &reader, &error);
    while (run.status == FXT_OK &&
           (run.status = fxt_reader_next(reader, &record, &error)) == FXT_OK)
        run.records++;
    run.again = reader ? fxt_reader_next(reader, &record, NULL) : run.status;
    run.told = error.status;
    fxt_reader_close(reader);
    fxt_input_close(input);
    return run;
}

START_TEST(survives_every_failed_allocation)
{
    const uint8_t *bytes = _i ? packed[_i - 1] : trace.bytes;
    size_t length = _i ? packed_length[_i - 1] : trace.used;
    unsigned long allocations;
    struct run whole;

    allocation_fail_at(0);
    whole = read_all(bytes, length);
    allocations = allocation_count();
    ck_assert_int_eq(whole.status, FXT_END);
    ck_assert_uint_gt(allocations, 80);
    for (unsigned long n = 1; n <= allocations; n++) {
        struct run run;

        allocation_fail_at(n);
        run = read_all(bytes, length);
        allocation_fail_at(0);
        ck_assert_msg(run.status == FXT_NO_MEMORY, "allocation %lu: status %d", n, (int)run.status);
        ck_assert_int_eq(run.again, FXT_NO_MEMORY);
        ck_assert_int_eq(run.told, FXT_NO_MEMORY);
        ck_assert_uint_lt(run.records, whole.records);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_memory");
    TCase *tcase = tcase_create("memory");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_trace, free_trace);
    tcase_add_loop_test(tcase, survives_every_failed_allocation, 0, 3);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
