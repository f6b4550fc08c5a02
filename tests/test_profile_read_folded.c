/* Reading folded stacks line by line.  */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/pprof_text.h"

static enum profile_status say_line(void *context, const struct profile_folded_line *line)
{
    char text[400];
    size_t length = 0;

    length += (size_t)snprintf(text, sizeof text, "%" PRIu64 ":", line->number);
    for (size_t i = 0; i < line->frame_count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, " <%s>",
                                   line->frames[i].bytes);
    for (size_t i = 0; i < line->count_count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, " %s%.17g",
                                   line->counts[i].is_integer ? "" : "~", line->counts[i].number);
    text[length++] = '\n';
    return pprof_bytes_write(context, text, length) == 0 ? PROFILE_OK : PROFILE_NO_MEMORY;
}

static enum profile_status read_lines(const void *bytes, size_t length, size_t step,
                                      const struct profile_read_options *options,
                                      struct pprof_bytes *text,
                                      struct profile_read_notices *notices,
                                      struct profile_error *error)
{
    const struct profile_folded_sink sink = { .size = sizeof sink,
                                              .context = text,
                                              .line = say_line };
    struct source source = { .bytes = bytes, .left = length, .step = step };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
    };
    struct fxt_input *input = NULL;
    enum profile_status status = PROFILE_NO_MEMORY;

    if (fxt_input_open(&from, &input, NULL) == FXT_OK)
        status = profile_read_folded(input, &sink, options, notices, error);
    fxt_input_close(input);
    return status;
}

static const struct {
    const char *input;
    const char *text;
    const char *damage;
} inputs[] = {
    { "main;work 12\n", "1: <main> <work> 12\n", "" },
    { "main;work 12", "1: <main> <work> 12\n", "" },
    { "a 1\r\n\r\nb\t2\r\n", "1: <a> 1\n3: <b> 2\n", "" },
    { "a;operator new(unsigned long);b c 3\n", "1: <a> <operator new(unsigned long)> <b c> 3\n",
      "" },
    { "a;b 3 4\nc 0 5\n", "1: <a> <b> 3 4\n2: <c> 0 5\n", "" },
    { "a;b 3 4 5\n", "1: <a> <b 3> 4 5\n", "" },
    { "a 1.25\na 12.\na 0.5 7\n", "1: <a> ~1.25\n2: <a> 12\n3: <a> ~0.5 7\n", "" },
    { "a 18446744073709551615\na 18446744073709551616\n",
      "1: <a> 1.8446744073709552e+19\n2: <a> ~1.8446744073709552e+19\n", "" },
    { "a 0.1234567890123456789012345\n", "1: <a> ~0.12345678901234568\n", "" },
    { "a;;b ; c 1\n", "1: <a> <[unknown]> <b> <c> 1\n", "" },
    { " 7\n", "1: 7\n", "" },
    { "  a  ;b   9  \n", "1: <a> <b> 9\n", "" },
    { "a 1\nb\nc -1\nd 1e5\ne 1.2.3\nf .5\n12\ng 2\n", "1: <a> 1\n8: <g> 2\n",
      "6 lines without a count" },
    { "Zürich;日本 3\n", "1: <Zürich> <日本> 3\n", "" },
    { "\n\n", "", "" },
    { "", "", "" },
};

START_TEST(reads_lines)
{
    for (size_t step = 0; step < 3; step++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_read_notices notices;
        char damage[200];

        ck_assert_int_eq(read_lines(inputs[_i].input, strlen(inputs[_i].input), step, NULL, &text,
                                    &notices, NULL),
                         PROFILE_OK);
        (void)profile_read_describe(&notices, damage, sizeof damage);
        ck_assert_str_eq(text.items ? (const char *)text.items : "", inputs[_i].text);
        ck_assert_str_eq(damage, inputs[_i].damage);
        free(text.items);
    }
}
END_TEST

START_TEST(counts_lines_with_two_numbers)
{
    static const char input[] = "a 1 2\nb 3\nnothing\n";
    struct pprof_bytes text = { .count = 0 };
    struct profile_read_notices notices;

    ck_assert_int_eq(read_lines(input, sizeof input - 1, 0, NULL, &text, &notices, NULL),
                     PROFILE_OK);
    ck_assert_uint_eq(notices.lines, 2);
    ck_assert_uint_eq(notices.wide_lines, 1);
    ck_assert_uint_eq(notices.bad_lines, 1);
    ck_assert_uint_eq(notices.first_offset, 10);
    free(text.items);
}
END_TEST

START_TEST(passes_by_long_lines)
{
    const struct profile_read_options options = { .size = sizeof options, .entry_bytes = 8 };
    static const char input[] = "a 1\na line that is too long 5\nlong;b 2\nc;long 3\nend;long 4";

    for (size_t step = 0; step < 5; step++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_read_notices notices;

        ck_assert_int_eq(read_lines(input, sizeof input - 1, step, &options, &text, &notices, NULL),
                         PROFILE_OK);
        ck_assert_str_eq((char *)text.items, "1: <a> 1\n3: <long> <b> 2\n4: <c> <long> 3\n");
        ck_assert_uint_eq(notices.bad_lines, 0);
        ck_assert_uint_eq(notices.long_entries, 2);
        ck_assert_uint_eq(notices.first_offset, 4);
        free(text.items);
    }
}
END_TEST

START_TEST(refuses_other_text)
{
    struct pprof_bytes text = { .count = 0 };
    struct profile_error error;

    ck_assert_int_eq(read_lines("once upon\na time\n", 17, 0, NULL, &text, NULL, &error),
                     PROFILE_MALFORMED);
    ck_assert_str_eq(error.message, "not folded stacks: no line ends in a count");
}
END_TEST

static const struct {
    const char *text;
    bool is_folded, is_foreign;
    const char *format; /* of profile_read() */
} starts[] = {
    { "main;work 12\n", true, false },
    { "main 1.5\n", true, false },
    { "heap profile: x;main 3\n", true, false },
    { "my profile: a;main 3\n", true, false },
    { "once upon\n", false, false },
    { "goroutine 1 [running]:\nmain.main()\n", false, true },
    { "goroutine 1;main 12\n", true, false },
    { "heap profile: 3: 4096\n", false, true },
    { "--- heapz 9 ---\n", false, true },
    { "--- Memory map: ---\n", false, true },
    { "P1;T2;a.py:f:1 100\n", false, false, "the text of Austin" },
    { "P1;T;f 100\n", true, false },
    { "prog 1 [002] 3.5: 1 cycles:u:\n", false, false, "the text of perf script" },
    { "prog 1 [002] 3.5 1 cycles 7\n", true, false },
    { "goroutine profile: total 1\n1 @ 0x43 0x42\n", false, false, "a profile as text of Go" },
    { "goroutine profile: total 12", false, false, "a profile as text of Go" },
    { "threadcreate profile: total 7\n", false, false, "a profile as text of Go" },
    { "my/own profile: total 3\n", false, false, "a profile as text of Go" },
    { "heap profile: 3: 4096 [9: 8192] @ heap/1048576\n", false, false, "a heap profile as text" },
    { "heap profile:      1:    21 [     1:    21] @ heapprofile\n", false, false,
      "a heap profile as text" },
    { "--- contention:\ncycles/second=2300\n", false, false, "a contention profile as text" },
    { "--- mutex:\ncycles/second=2300\n", false, false, "a contention profile as text" },
    { "--- threadz 1 ---\n", false, false, "a list of threads" },
};

START_TEST(knows_profiles_of_others_from_folded_stacks)
{
    size_t length = strlen(starts[_i].text);

    ck_assert_int_eq(profile_is_folded(starts[_i].text, length), starts[_i].is_folded);
    ck_assert_int_eq(profile_foreign_text(starts[_i].text, length) != NULL, starts[_i].is_foreign);
    ck_assert_pstr_eq(profile_format_of(starts[_i].text, length), starts[_i].format);
}
END_TEST

/* gzip -c of "main;work 12\n", and the same cut short.  */
START_TEST(reads_compressed_lines)
{
    static const uint8_t packed[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                      0xff, 0xcb, 0x4d, 0xcc, 0xcc, 0xb3, 0x2e, 0xcf, 0x2f,
                                      0xca, 0x56, 0x30, 0x34, 0xe2, 0x02, 0x00, 0x2a, 0xb4,
                                      0x0b, 0x5d, 0x0d, 0x00, 0x00, 0x00 };
    struct pprof_bytes text = { .count = 0 };
    struct profile_read_notices notices;

    ck_assert_int_eq(read_lines(packed, sizeof packed - 6, 0, NULL, &text, &notices, NULL),
                     PROFILE_OK);
    ck_assert_str_eq((char *)text.items, "1: <main> <work> 12\n");
    ck_assert(notices.cut);
    free(text.items);
}
END_TEST

/* Compressed data that end in a count: it may be any count that begins like that.  */
START_TEST(leaves_out_a_line_that_is_torn)
{
    static const char packed[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff" /* one block, as it is: */
                                 "\x01\x20\0\xdf\xff"
                                 "main;work 12\nmain;rest 34";
    struct pprof_bytes text = { .count = 0 };
    struct profile_read_notices notices;
    char damage[200];

    ck_assert_int_eq(read_lines(packed, sizeof packed - 1, 0, NULL, &text, &notices, NULL),
                     PROFILE_OK);
    ck_assert_str_eq((char *)text.items, "1: <main> <work> 12\n");
    ck_assert(profile_read_describe(&notices, damage, sizeof damage));
    ck_assert_str_eq(damage, "cut short at byte 13");
    free(text.items);
}
END_TEST

/* The same with a wrong checksum.  */
START_TEST(says_that_compressed_data_are_corrupt)
{
    static const uint8_t packed[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                      0xff, 0xcb, 0x4d, 0xcc, 0xcc, 0xb3, 0x2e, 0xcf, 0x2f,
                                      0xca, 0x56, 0x30, 0x34, 0xe2, 0x02, 0x00, 0x2b, 0xb4,
                                      0x0b, 0x5d, 0x0d, 0x00, 0x00, 0x00 };
    struct pprof_bytes text = { .count = 0 };
    struct profile_read_notices notices;
    char damage[200];

    ck_assert_int_eq(read_lines(packed, sizeof packed, 0, NULL, &text, &notices, NULL), PROFILE_OK);
    ck_assert(profile_read_describe(&notices, damage, sizeof damage));
    ck_assert_str_eq(damage, "compressed data that cannot be unpacked after byte 13");
    free(text.items);
}
END_TEST

START_TEST(says_when_memory_is_short)
{
    static const char input[] = "a;b 1\nc;d;e 2\n";
    enum profile_status status = PROFILE_NO_MEMORY;
    unsigned long n;

    for (n = 1; status != PROFILE_OK && n < 100; n++) {
        struct pprof_bytes text = { .count = 0 };

        allocation_fail_at(n);
        status = read_lines(input, sizeof input - 1, 1, NULL, &text, NULL, NULL);
        allocation_fail_at(0);
        free(text.items);
        ck_assert(status == PROFILE_OK || status == PROFILE_NO_MEMORY);
    }
    ck_assert_uint_gt(n, 4);
    ck_assert_int_eq(status, PROFILE_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_read_folded");
    TCase *tcase = tcase_create("lines");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, reads_lines, 0, (int)(sizeof inputs / sizeof *inputs));
    tcase_add_test(tcase, counts_lines_with_two_numbers);
    tcase_add_test(tcase, passes_by_long_lines);
    tcase_add_test(tcase, refuses_other_text);
    tcase_add_loop_test(tcase, knows_profiles_of_others_from_folded_stacks, 0,
                        sizeof starts / sizeof *starts);
    tcase_add_test(tcase, reads_compressed_lines);
    tcase_add_test(tcase, leaves_out_a_line_that_is_torn);
    tcase_add_test(tcase, says_that_compressed_data_are_corrupt);
    tcase_add_test(tcase, says_when_memory_is_short);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
