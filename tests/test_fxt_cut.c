/* A trace with every kind of record, cut at every length: whole records, and one cut tail.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/every_kind.h"
#include "tests/support/pack.h"
#include "tests/support/pass_on.h"

static struct copy trace;
static char whole[65536], part[65536];
static uint8_t packed[65536];
static size_t packed_length;
static struct reading result;

static void make_trace(void)
{
    struct fxt_writer *to;
    struct fxt_damage damage;

    ck_assert_int_eq(fxt_writer_open(copy_write, &trace, &to, NULL), FXT_OK);
    ck_assert_int_eq(every_kind_write(to), FXT_OK);
    fxt_writer_close(to);
    ck_assert_int_eq(describe_all(trace.bytes, trace.used, 0, whole, sizeof whole, &damage),
                     FXT_END);
    ck_assert_uint_eq(fxt_damage_total(&damage, false), 0);
    packed_length = pack_gzip(trace.bytes, trace.used, packed, sizeof packed);
}

static void free_trace(void)
{
    free(trace.bytes);
    trace = (struct copy){ 0 };
}

/* The end of the last record that is whole in length bytes, and how many those are.  The
 * reader says it of the whole trace: "@offset+size kind ...", a line each.  */
static uint64_t end_of_whole_records(size_t length, size_t *text_length)
{
    const char *line = whole;
    uint64_t end = 0;

    while (*line) {
        char *next;
        uint64_t offset = strtoull(line + 1, &next, 10);
        uint64_t size = strtoull(next + 1, NULL, 10);

        ck_assert_uint_eq(offset, end); /* no gaps */
        if (offset + size > length)
            break;
        end = offset + size;
        line = strchr(line, '\n') + 1;
    }
    *text_length = (size_t)(line - whole);
    return end;
}

/* The records of the prefix, and nothing wrong but the tail that is left behind them.  */
static void check_prefix(size_t length, bool packed_too)
{
    size_t text_length;
    uint64_t end = end_of_whole_records(length, &text_length);
    uint64_t left = length - end;
    bool stray = left > 0 && left < 8 && !packed_too;
    const struct fxt_damage *damage = &result.damage;

    ck_assert_uint_eq(strlen(part), text_length);
    ck_assert_mem_eq(part, whole, text_length);
    ck_assert_uint_eq(result.offset, length);
    ck_assert_uint_eq(fxt_damage_total(damage, false), left > 0 || packed_too);
    ck_assert_uint_eq(damage->kinds[FXT_DAMAGE_STRAY_BYTES].count, stray);
    ck_assert_uint_eq(
        damage->kinds[stray ? FXT_DAMAGE_STRAY_BYTES : FXT_DAMAGE_TRUNCATED_TAIL].bytes, left);
    if (left > 0)
        ck_assert_uint_eq(
            damage->kinds[stray ? FXT_DAMAGE_STRAY_BYTES : FXT_DAMAGE_TRUNCATED_TAIL].first_offset,
            end);
}

START_TEST(case_9_gives_the_whole_records_of_every_prefix)
{
    static const size_t steps[] = { 0, 1, 13 };

    for (size_t length = 0; length < trace.used; length++) {
        struct source source;

        ck_assert_int_eq(describe_input(open_bytes(&source, trace.bytes, length, steps[_i]), NULL,
                                        part, sizeof part, &result),
                         FXT_END);
        check_prefix(length, false);
    }
}
END_TEST

/* Packed, a prefix holds the more of the trace the longer it is; what it holds is read, and that
 * it is cut is always told.  */
START_TEST(gives_the_whole_records_of_every_packed_prefix)
{
    size_t last = 0;

    for (size_t length = 2; length < packed_length; length++) {
        struct source source;

        ck_assert_int_eq(describe_input(open_bytes(&source, packed, length, 0), NULL, part,
                                        sizeof part, &result),
                         FXT_END);
        ck_assert_int_eq(result.compression, FXT_GZIP);
        ck_assert_uint_ge(result.offset, last);
        last = result.offset;
        check_prefix(last, true);
    }
    ck_assert_uint_eq(last, trace.used); /* what lacks is the checksum alone */
}
END_TEST

/* Records of other sizes than they say: every size from 0 words to past the end.  */
START_TEST(accounts_for_every_byte_whatever_a_size_says)
{
    uint8_t *bytes = malloc(trace.used);
    uint64_t offset = 0;

    ck_assert_ptr_nonnull(bytes);
    for (const char *line = whole; *line; line = strchr(line, '\n') + 1) {
        char *next;

        offset = strtoull(line + 1, &next, 10);
        for (unsigned words = 0; words < 50; words++) {
            struct source source;
            enum fxt_status status;

            memcpy(bytes, trace.bytes, trace.used);
            bytes[offset] = (uint8_t)((bytes[offset] & 15) | (words & 15) << 4);
            bytes[offset + 1] = (uint8_t)(words >> 4);
            status = describe_input(open_bytes(&source, bytes, trace.used, 0), NULL, part,
                                    sizeof part, &result);
            ck_assert(status == FXT_END || status == FXT_FATAL);
            ck_assert(status == FXT_FATAL || result.offset == trace.used);
        }
    }
    ck_assert_uint_gt(offset, 0);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_cut");
    TCase *tcase = tcase_create("cut");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_trace, free_trace);
    tcase_add_loop_test(tcase, case_9_gives_the_whole_records_of_every_prefix, 0, 3);
    tcase_add_test(tcase, gives_the_whole_records_of_every_packed_prefix);
    tcase_add_test(tcase, accounts_for_every_byte_whatever_a_size_says);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
