/* Cases of docs/formats/fxt.md section 6 that no table of bytes shows: those that ask for every
 * combination of something.  */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/every_string.h"
#include "tests/support/hex_text.h"
#include "tests/support/pack.h"
#include "tests/support/pass_on.h"

/* A trace as words.  */
static uint8_t bytes[4096];
static size_t words;

static void put(uint64_t word)
{
    for (size_t i = 0; i < 8; i++)
        bytes[8 * words + i] = (uint8_t)(word >> (8 * i));
    words++;
}

static void start(void)
{
    words = 0;
    put(UINT64_C(0x0016547846040010));
}

#define TEXT_C UINT64_C(0x43) /* "C", padded with zeros */
#define TEXT_N UINT64_C(0x4e)

/* Reads what was put; the only record behind the first expected_offset bytes, or NULL where there
 * is none.  */
struct one {
    struct fxt_input *input;
    struct fxt_reader *reader;
    struct source source;
    const struct fxt_record *record;
    const struct fxt_damage *damage;
};

static void open_one(struct one *one)
{
    ck_assert_ptr_nonnull(one->input = open_bytes(&one->source, bytes, 8 * words, 0));
    ck_assert_int_eq(fxt_reader_open(one->input, NULL, &one->reader, NULL), FXT_OK);
    one->damage = fxt_reader_damage(one->reader);
}

static void next(struct one *one)
{
    ck_assert_int_eq(fxt_reader_next(one->reader, &one->record, NULL), FXT_OK);
}

static void close_one(struct one *one)
{
    const struct fxt_record *record;

    ck_assert_int_eq(fxt_reader_next(one->reader, &record, NULL), FXT_END);
    fxt_reader_close(one->reader);
    fxt_input_close(one->input);
}

/* ---- Case 6 ---- */

START_TEST(case_6_reads_a_trace_behind_a_gzip_signature)
{
    uint8_t packed[256];
    char text[256];
    struct reading reading;
    struct source source;
    size_t length;

    start();
    length = pack_gzip(bytes, 8 * words, packed, sizeof packed);
    ck_assert_int_eq(
        describe_input(open_bytes(&source, packed, length, 1), NULL, text, sizeof text, &reading),
        FXT_END);
    ck_assert_str_eq(text, "@0+8 magic p0 number=16547846\n");
    ck_assert_int_eq(reading.compression, FXT_GZIP);
}
END_TEST

/* ---- Case 30 ---- */

static size_t strings_seen;

static void expect_text(const struct fxt_string *string)
{
    if (string->length == 0 && string->index == 0)
        return;
    ck_assert_uint_eq(string->length, every_string_text.length);
    ck_assert_mem_eq(string->bytes, every_string_text.bytes, string->length);
    strings_seen++;
}

START_TEST(case_30_keeps_bytes_that_are_no_text_in_every_kind_of_string)
{
    struct copy copy = { 0 };
    struct source source;
    struct fxt_input *input;
    struct fxt_reader *reader;
    struct fxt_writer *writer;
    const struct fxt_record *record;

    strings_seen = 0;
    ck_assert_int_eq(fxt_writer_open(copy_write, &copy, &writer, NULL), FXT_OK);
    ck_assert_int_eq(every_string_write(writer), FXT_OK);
    fxt_writer_close(writer);
    input = open_bytes(&source, copy.bytes, copy.used, 0);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        if (record->kind != FXT_RECORD_MAGIC)
            expect_text(&record->provider->name);
        expect_text(&record->category);
        expect_text(&record->name);
        for (size_t i = 0; i < record->arg_count; i++) {
            expect_text(&record->args[i].name);
            expect_text(&record->args[i].value.string);
        }
        if (record->kind == FXT_RECORD_LOG)
            expect_text(&record->value.log.message);
    }
    ck_assert_uint_eq(fxt_damage_total(fxt_reader_damage(reader), true), 0);
    /* Provider names 14, categories 4, names 11, arguments 6 * 4, a message.  */
    ck_assert_uint_eq(strings_seen, 14 + 4 + 11 + 24 + 1);
    fxt_reader_close(reader);
    fxt_input_close(input);
    free(copy.bytes);
}
END_TEST

/* ---- Case 31 ---- */

/* Whether the type has a word behind its arguments that every such event must have.  */
static bool has_last_word(unsigned type)
{
    return type == FXT_EVENT_COUNTER ||
           (type >= FXT_EVENT_DURATION_COMPLETE && type <= FXT_EVENT_FLOW_END);
}

static void put_tables(void)
{
    put(2 | 2 << 4 | UINT64_C(1) << 16 | UINT64_C(1) << 32); /* string 1: "C" */
    put(TEXT_C);
    put(2 | 2 << 4 | UINT64_C(2) << 16 | UINT64_C(1) << 32); /* string 2: "N" */
    put(TEXT_N);
    put(3 | 3 << 4 | UINT64_C(9) << 16); /* thread 9 */
    put(71);
    put(72);
}

static void put_event(unsigned type, bool thread_inline, bool category_inline, bool name_inline)
{
    uint64_t size = 2 + 2 * (uint64_t)thread_inline + category_inline + name_inline +
                    has_last_word(type);

    put(4 | size << 4 | (uint64_t)type << 16 | (uint64_t)(thread_inline ? 0 : 9) << 24 |
        (uint64_t)(category_inline ? 0x8001 : 1) << 32 |
        (uint64_t)(name_inline ? 0x8001 : 2) << 48);
    put(1000);
    if (thread_inline) {
        put(71);
        put(72);
    }
    if (category_inline)
        put(TEXT_C);
    if (name_inline)
        put(TEXT_N);
    if (has_last_word(type))
        put(1234);
}

/* _i: type * 8 + combination.  */
START_TEST(case_31_reads_every_event_type_with_every_mix_of_references)
{
    unsigned type = (unsigned)_i / 8;
    bool thread_inline = _i & 4, category_inline = _i & 2, name_inline = _i & 1;
    struct one one = { .reader = NULL };
    const struct fxt_record *record;

    start();
    put_tables();
    put_event(type, thread_inline, category_inline, name_inline);
    open_one(&one);
    for (int i = 0; i < 5; i++)
        next(&one);
    record = one.record;
    ck_assert_int_eq(record->kind, FXT_RECORD_EVENT);
    ck_assert_uint_eq(record->value.event.type, type);
    ck_assert_uint_eq(record->ticks, 1000);
    ck_assert_uint_eq(record->thread.process, 71);
    ck_assert_uint_eq(record->thread.thread, 72);
    ck_assert_uint_eq(record->thread.index, thread_inline ? 0 : 9);
    ck_assert_uint_eq(record->category.length, 1);
    ck_assert_int_eq(record->category.bytes[0], 'C');
    ck_assert_uint_eq(record->category.index, category_inline ? 0 : 1);
    ck_assert_uint_eq(record->name.length, 1);
    ck_assert_int_eq(record->name.bytes[0], 'N');
    ck_assert_uint_eq(record->name.index, name_inline ? 0 : 2);
    ck_assert_uint_eq(record->arg_count, 0);
    if (type == FXT_EVENT_DURATION_COMPLETE)
        ck_assert_int_eq(record->value.event.end_ns, 1234);
    else
        ck_assert_uint_eq(record->value.event.id, has_last_word(type) ? 1234 : 0);
    ck_assert_uint_eq(fxt_damage_total(one.damage, true), 0);
    close_one(&one);
}
END_TEST

/* ---- Case 37 ---- */

START_TEST(case_37_keeps_the_bits_of_every_nan)
{
    static const uint64_t bits[] = { 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
                                     0xffffffffffffffff };
    struct one one = { .reader = NULL };
    uint64_t found;

    start();
    put(4 | 6 << 4 | UINT64_C(1) << 20); /* instant, one argument, inline thread */
    put(1);
    put(71);
    put(72);
    put(5 | 2 << 4);
    put(bits[_i]);
    open_one(&one);
    next(&one);
    next(&one);
    ck_assert_uint_eq(one.record->arg_count, 1);
    ck_assert(isnan(one.record->args[0].value.number));
    memcpy(&found, &one.record->args[0].value.number, sizeof found);
    ck_assert_uint_eq(found, bits[_i]);
    close_one(&one);
}
END_TEST

/* ---- Case 41 ---- */

START_TEST(case_41_finds_the_first_of_two_arguments_and_the_one_without_a_name)
{
    struct one one = { .reader = NULL };

    start();
    put(4 | 9 << 4 | UINT64_C(3) << 20); /* instant, three arguments, inline thread */
    put(1);
    put(71);
    put(72);
    put(2 | 2 << 4 | UINT64_C(0x8001) << 16 | UINT64_C(1) << 32);
    put(TEXT_N);
    put(2 | 2 << 4 | UINT64_C(0x8001) << 16 | UINT64_C(2) << 32);
    put(TEXT_N);
    put(2 | 1 << 4 | UINT64_C(3) << 32);
    open_one(&one);
    next(&one);
    next(&one);
    ck_assert_uint_eq(one.record->arg_count, 3);
    ck_assert_uint_eq(fxt_record_arg(one.record, "N")->value.uint32, 1);
    ck_assert_uint_eq(fxt_record_arg(one.record, "")->value.uint32, 3);
    ck_assert_ptr_null(fxt_record_arg(one.record, "M"));
    close_one(&one);
}
END_TEST

/* ---- What a dropped record leaves behind ---- */

/* Of a record that is dropped, only that is counted: its references, wrong counts and ends tell
 * nothing of what was delivered (section 3.2).  */
static const struct {
    const char *name;
    const char *bytes;
    const char *damage;
} dropped[] = {
    { "strings, a thread, then an argument too long",
      "34 00 12 05 07 00 08 00  64 00 00 00 00 00 00 00  26 00 09 00 00 00 00 00",
      "bad_record=1@8+24" },
    { "an argument's name, then its value out of place",
      "54 00 12 00 00 00 00 00  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "02 00 00 00 00 00 00 00  13 00 07 00 00 00 00 00",
      "bad_record=1@8+40" },
    { "an end that is out of range",
      "21 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "34 00 04 05 07 00 00 00  64 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff",
      "time_overflow=1@24+24" },
    { "the next is counted as ever",
      "34 00 12 05 07 00 08 00  64 00 00 00 00 00 00 00  26 00 09 00 00 00 00 00 "
      "24 00 02 05 07 00 08 00  64 00 00 00 00 00 00 00",
      "bad_record=1@8+24 unresolved_string=2@32+0 unresolved_thread=1@32+0" },
    { "as is the one before",
      "24 00 02 05 07 00 08 00  64 00 00 00 00 00 00 00 "
      "34 00 12 05 07 00 08 00  64 00 00 00 00 00 00 00  26 00 09 00 00 00 00 00",
      "bad_record=1@24+24 unresolved_string=2@8+0 unresolved_thread=1@8+0" },
};

START_TEST(counts_of_a_dropped_record_that_it_was_dropped)
{
    struct fxt_damage damage;
    char text[1024];

    start();
    words += hex_bytes(dropped[_i].bytes, bytes + 8, sizeof bytes - 8) / 8;
    ck_assert_int_eq(describe_all(bytes, 8 * words, 0, text, sizeof text, &damage), FXT_END);
    describe_damage(&damage, text, sizeof text);
    ck_assert_msg(strcmp(text, dropped[_i].damage) == 0, "%s: %s", dropped[_i].name, text);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fxt_cases");
    TCase *tcase = tcase_create("cases");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, case_6_reads_a_trace_behind_a_gzip_signature);
    tcase_add_test(tcase, case_30_keeps_bytes_that_are_no_text_in_every_kind_of_string);
    tcase_add_loop_test(tcase, case_31_reads_every_event_type_with_every_mix_of_references, 0,
                        16 * 8);
    tcase_add_loop_test(tcase, case_37_keeps_the_bits_of_every_nan, 0, 4);
    tcase_add_test(tcase, case_41_finds_the_first_of_two_arguments_and_the_one_without_a_name);
    tcase_add_loop_test(tcase, counts_of_a_dropped_record_that_it_was_dropped, 0, ROWS(dropped));
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
