/* What fuzzing found in libfxt: one test a finding, smaller than the input that showed it.  The
 * inputs are in testdata/fuzz.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/pack.h"

/* fuzz_fxt_input: bytes that had been unpacked, but had found no room in the caller's buffer, were
 * forgotten when the packed bytes ended there.  */
START_TEST(gives_all_that_a_cut_member_holds_to_small_reads)
{
    static const uint8_t plain[5000] = { 'p', 'l', 'a', 'i', 'n' };
    uint8_t packed[200], out[sizeof plain];
    size_t length = pack_gzip(plain, sizeof plain, packed, sizeof packed);
    size_t room = (size_t)_i;
    size_t total = 0;
    struct source source;
    struct fxt_input *input = open_bytes(&source, packed, length - 8, 0); /* without its trailer */
    enum fxt_status status = FXT_OK;

    while (status == FXT_OK) {
        size_t left = sizeof out - total;
        size_t part = 0;

        status = fxt_input_read(input, out + total, room < left ? room : left, &part, NULL);
        total += part;
        if (total == sizeof out)
            break;
    }
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(out, plain, sizeof plain);
    fxt_input_close(input);
}
END_TEST

/* fuzz_fxt_input: the block before a corrupt one was lost when both came in one read.  */
START_TEST(gives_every_zstd_block_before_a_corrupt_one)
{
    /* A frame of 1 KiB of window: a raw block of 16 bytes, then one of the type that does not
     * exist (RFC 8878 section 3.1.1.2).  */
    static const uint8_t frame[] = "\x28\xb5\x2f\xfd\x00\x00"
                                   "\x80\x00\x00"
                                   "sixteen letters."
                                   "\x06\x00\x00\x00\x00\x00\x00";
    struct fxt_error error;
    struct source source;
    struct fxt_input *input = open_bytes(&source, frame, sizeof frame - 1, (size_t)_i);
    char out[100];
    size_t total = 0;
    size_t length;

    while (fxt_input_read(input, out + total, sizeof out - total, &length, &error) == FXT_OK)
        total += length;
    ck_assert_int_eq(error.status, FXT_FATAL);
    ck_assert_str_eq(error.message, "corrupt zstd data");
    ck_assert_uint_eq(total, 16);
    ck_assert_mem_eq(out, "sixteen letters.", 16);
    fxt_input_close(input);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_fuzzed");
    TCase *tcase = tcase_create("fuzzed");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, gives_all_that_a_cut_member_holds_to_small_reads, 1, 300);
    tcase_add_loop_test(tcase, gives_every_zstd_block_before_a_corrupt_one, 0, 3);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
