/* Reading and writing pprof messages entry by entry.  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>

#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/pprof_text.h"

static const char example_text[] =
    "0= 1=samples 2=count 3=cpu 4=nanoseconds 5=/bin/app 6=0badcafe 7=/lib/libc.so.6 8=main "
    "9=_Z4mainv 10=app.cc 11=inner 12=work() 13=thread 14=T 1 15=bytes 16=kilobytes 17=malloc|free "
    "18=main 19=taken on a Sunday 20=by hand 21=https://example.org/ \n"
    "types 1/2 3/4 default 1 period 1 3/4 10000000 time 1700000000000000000 duration 2500000000 "
    "drop 17 keep 18 url 21 comments 19 20 of 2 3 3 3\n"
    "mapping 7 [400000, 500000) 1000 5 6 1111\n"
    "mapping 9 [7f0000000000, 7f0000100000) 0 7 0 0000\n"
    "function 1 8 9 10 10\n"
    "function 2 11 11 10 -1\n"
    "function ffffffffffffffff 12 0 0 0\n"
    "location 3 1 401000 0 2:3:14 1:12:0\n"
    "location ffffffff80000000 2 7f0000000010 1\n"
    "location 5 0 0 0 3:-5:0\n"
    "sample 2 3 1 = 1 10000000 (13 14 0 0)\n"
    "sample 3 1 1 = -3 -9223372036854775808 (15 0 -512 16) (15 14 3 16) (13 0 0 0)\n"
    "sample = 0 0\n";

static struct pprof_bytes example(bool raw)
{
    struct pprof_bytes bytes = { .count = 0 };

    ck_assert_int_eq(pprof_example(raw, &bytes), PROFILE_OK);
    return bytes;
}

/* The calls as text, to be freed.  */
static char *told(const void *bytes, size_t length, size_t step,
                  const struct profile_read_options *options, struct profile_read_notices *notices)
{
    struct pprof_bytes text = { .count = 0 };
    struct profile_pprof_sink sink;
    struct profile_error error;
    enum profile_status status;

    pprof_text_sink(&text, &sink);
    status = pprof_read_bytes(bytes, length, step, &sink, options, notices, &error);
    ck_assert_msg(status == PROFILE_OK, "%s", error.message);
    return (char *)text.items;
}

static void check_sound(const struct profile_read_notices *notices)
{
    char text[200];

    ck_assert(!profile_read_is_damaged(notices));
    ck_assert(!profile_read_describe(notices, text, sizeof text));
    ck_assert_str_eq(text, "");
}

/* ---- What is told ---- */

START_TEST(tells_every_field)
{
    static const size_t steps[] = { 0, 1, 7 };
    struct profile_read_notices notices;
    struct pprof_bytes bytes = example(_i % 2 == 0);
    char *text = told(bytes.items, bytes.count, steps[_i / 2], NULL, &notices);

    ck_assert_str_eq(text, example_text);
    check_sound(&notices);
    free(text);
    free(bytes.items);
}
END_TEST

START_TEST(keeps_samples_in_a_file)
{
    const struct profile_read_options options = { .size = sizeof options,
                                                  .sample_bytes = (size_t)_i };
    struct profile_read_notices notices;
    struct pprof_bytes bytes = example(true);
    char *text = told(bytes.items, bytes.count, 0, &options, &notices);

    ck_assert_str_eq(text, example_text);
    free(text);
    free(bytes.items);
}
END_TEST

START_TEST(writes_what_was_read)
{
    struct pprof_bytes bytes = example(true), again = { .count = 0 };
    const struct profile_writer_options raw = { .size = sizeof raw, .raw = true };
    struct profile_writer *writer;
    struct profile_pprof_sink sink;

    ck_assert_int_eq(profile_writer_open(profile_format_named("pprof"), &raw, pprof_bytes_write,
                                         &again, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    ck_assert_int_eq(pprof_read_bytes(bytes.items, bytes.count, 0, &sink, NULL, NULL, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_writer_finish(writer, NULL), PROFILE_OK);
    profile_writer_close(writer);
    ck_assert_uint_eq(again.count, bytes.count);
    ck_assert_mem_eq(again.items, bytes.items, bytes.count);
    free(bytes.items);
    free(again.items);
}
END_TEST

/* ---- Small messages, byte by byte ---- */

#define STRINGS        \
    "\x32\x00\x32\x01" \
    "a"                \
    "\x32\x01"         \
    "b"
#define TYPE "\x0a\x04\x08\x01\x10\x02" /* a in b */

static const struct {
    const char *name;
    const char *bytes;
    size_t length;
    const char *text;   /* behind the strings */
    const char *damage; /* as described */
} messages[] = {
#define MESSAGE(bytes) (bytes), sizeof(bytes) - 1
#define HEADER(rest) \
    "types 1/2 default 0 period 0 0/0 0 time 0 duration 0 drop 0 keep 0 url 0 " rest
    { "locations one by one",
      MESSAGE(TYPE "\x22\x02\x08\x05\x12\x06\x08\x05\x08\x05\x10\x01" STRINGS),
      HEADER("comments of 0 0 1 1\nlocation 5 0 0 0\nsample 1 1 = 1\n"), "" },
    { "values packed", MESSAGE("\x12\x03\x12\x01\x03" TYPE STRINGS),
      HEADER("comments of 0 0 0 1\nsample = 3\n"), "" },
    { "comments packed", MESSAGE(TYPE "\x6a\x02\x01\x02" STRINGS),
      HEADER("comments 1 2 of 0 0 0 0\n"), "" },
    { "the last of two numbers", MESSAGE(TYPE "\x50\x01\x50\x00" STRINGS),
      HEADER("comments of 0 0 0 0\n"), "" },
    { "a field of the future", MESSAGE("\xc2\x3e\x02hi\xc8\x3e\x05" TYPE STRINGS),
      HEADER("comments of 0 0 0 0\n"), "" },
    { "a mapping that is not there", MESSAGE(TYPE "\x22\x04\x08\x01\x10\x09" STRINGS),
      HEADER("comments of 0 0 1 0\nlocation 1 0 0 0\n"), "" },
    { "a string that is not there", MESSAGE(TYPE "\x2a\x04\x08\x01\x10\x03" STRINGS),
      HEADER("comments of 0 1 0 0\nfunction 1 0 0 0 0\n"), "1 string that is not in the table" },
    { "a string below 0",
      MESSAGE(TYPE "\x2a\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" STRINGS),
      HEADER("comments of 0 1 0 0\nfunction 1 0 0 0 0\n"), "1 string that is not in the table" },
    { "an id used twice", MESSAGE(TYPE "\x22\x02\x08\x01\x22\x04\x08\x01\x18\x07" STRINGS),
      HEADER("comments of 0 0 1 0\nlocation 1 0 0 0\n"), "1 entry of id 0 or of one used before" },
    { "id 0", MESSAGE(TYPE "\x22\x00\x1a\x00\x2a\x00" STRINGS), HEADER("comments of 0 0 0 0\n"),
      "3 entries of id 0 or of one used before" },
    { "a location that is not there", MESSAGE(TYPE "\x12\x05\x0a\x01\x07\x10\x01" STRINGS),
      HEADER("comments of 0 0 0 1\nsample 0 = 1\n"), "1 location or function that is not there" },
    { "a line of no function", MESSAGE(TYPE "\x22\x06\x08\x01\x22\x02\x10\x05" STRINGS),
      HEADER("comments of 0 0 1 0\nlocation 1 0 0 0 0:5:0\n"),
      "1 location or function that is not there" },
    { "too many values", MESSAGE(TYPE "\x12\x04\x10\x01\x10\x01\x12\x02\x10\x02" STRINGS),
      HEADER("comments of 0 0 0 2\nsample = 2\n"), "1 sample with a wrong number of values" },
    { "no values", MESSAGE(TYPE "\x12\x00" STRINGS), HEADER("comments of 0 0 0 1\n"),
      "1 sample with a wrong number of values" },
    { "a sample that is not one", MESSAGE(TYPE "\x12\x02\x10\xff\x12\x02\x10\x02" STRINGS),
      HEADER("comments of 0 0 0 2\nsample = 2\n"), "1 unreadable entry" },
    { "a function that is not one", MESSAGE(TYPE "\x2a\x02\x08\xff" STRINGS),
      HEADER("comments of 0 0 0 0\n"), "1 unreadable entry" },
    { "samples as a number", MESSAGE(TYPE "\x10\x07" STRINGS), HEADER("comments of 0 0 0 0\n"),
      "1 unreadable entry" },
    { "a period in bytes", MESSAGE(TYPE "\x62\x01\x07" STRINGS), HEADER("comments of 0 0 0 0\n"),
      "1 unreadable entry" },
    { "a group", MESSAGE(TYPE STRINGS "\x13\x14\x32\x00 and more, of no use to anybody"),
      HEADER("comments of 0 0 0 0\n"), "unreadable from byte 14 on" },
    { "an unreadable entry, and a cut one", MESSAGE("\x10\x07" TYPE STRINGS "\x12\xff\xff\xff\x07"),
      HEADER("comments of 0 0 0 0\n"), "cut short at byte 16; 1 unreadable entry" },
    { "a length that nothing follows", MESSAGE(TYPE STRINGS "\x12\xff\xff\xff\x07"),
      HEADER("comments of 0 0 0 0\n"), "cut short at byte 14" },
    { "a length beyond measure",
      MESSAGE(TYPE STRINGS "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 and so on"),
      HEADER("comments of 0 0 0 0\n"), "cut short at byte 14" },
    { "half a tag", MESSAGE(TYPE STRINGS "\x80"), HEADER("comments of 0 0 0 0\n"),
      "cut short at byte 14" },
    { "half a number", MESSAGE(TYPE STRINGS "\x60\x80"), HEADER("comments of 0 0 0 0\n"),
      "cut short at byte 14" },
};

START_TEST(reads_message)
{
    struct profile_read_notices notices;
    char *text = told(messages[_i].bytes, messages[_i].length, 0, NULL, &notices);
    char damage[200];

    (void)profile_read_describe(&notices, damage, sizeof damage);
    ck_assert_msg(strncmp(text, "0= 1=a 2=b \n", 12) == 0, "%s: %s", messages[_i].name, text);
    ck_assert_msg(strcmp(text + 12, messages[_i].text) == 0, "%s:\n%s", messages[_i].name, text);
    ck_assert_msg(strcmp(damage, messages[_i].damage) == 0, "%s: %s", messages[_i].name, damage);
    free(text);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    const char *message;
} refused[] = {
    { "", 0, "empty" },
    { MESSAGE(TYPE), "a pprof profile without strings" },
    { MESSAGE(TYPE "\x32\x01x"), "a pprof profile whose string 0 is not \"\"" },
    { MESSAGE("\x0a\x04\x08\x01"), "not a pprof profile, or one that is cut short" },
    { MESSAGE(TYPE "\x12\x20\x10\x02"), "cut short before its strings" },
    { MESSAGE("once upon a time in the west"), "not a pprof profile" },
    { MESSAGE("\x13\x14"), "not a pprof profile, or one that is cut short" },
    { MESSAGE(TYPE "\x12\x02\x10\x02"
                   "\x13\x14\x32\x00 and more, of no use to anybody"),
      "a pprof profile that is unreadable from byte 10 on, before its strings" },
    { MESSAGE(STRINGS TYPE "\x48\x05" STRINGS TYPE "\x48\x06 and more"),
      "several pprof profiles in one file, a second time of recording at byte 30: pass them as "
      "files of their own" },
};

START_TEST(refuses_what_is_none)
{
    const struct profile_pprof_sink sink = { .size = sizeof sink };
    struct profile_error error = { .status = PROFILE_OK };

    ck_assert_int_eq(
        pprof_read_bytes(refused[_i].bytes, refused[_i].length, 0, &sink, NULL, NULL, &error),
        PROFILE_MALFORMED);
    ck_assert_str_eq(error.message, refused[_i].message);
}
END_TEST

/* ---- Hostile ---- */

/* Every prefix gives its whole entries, or nothing that could be one.  */
START_TEST(reads_what_is_left_of_a_cut_file)
{
    struct pprof_bytes bytes = example(_i == 0);

    for (size_t length = 0; length < bytes.count; length++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_read_notices notices;
        struct profile_pprof_sink sink;
        enum profile_status status;

        pprof_text_sink(&text, &sink);
        status = pprof_read_bytes(bytes.items, length, 0, &sink, NULL, &notices, NULL);
        ck_assert(status == PROFILE_OK || status == PROFILE_MALFORMED);
        ck_assert(status == PROFILE_MALFORMED || _i == 0 || notices.cut);
        ck_assert(text.count < sizeof example_text);
        ck_assert(notices.first_offset <= length || _i == 1);
        free(text.items);
    }
    free(bytes.items);
}
END_TEST

START_TEST(survives_any_bit_flipped)
{
    struct pprof_bytes bytes = example(_i == 0);

    for (size_t bit = 0; bit < 8 * bytes.count; bit++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_read_notices notices;
        struct profile_pprof_sink sink;
        char damage[200];
        enum profile_status status;

        bytes.items[bit / 8] ^= (uint8_t)(1 << bit % 8);
        pprof_text_sink(&text, &sink);
        status = pprof_read_bytes(bytes.items, bytes.count, 0, &sink, NULL, &notices, NULL);
        ck_assert(status == PROFILE_OK || status == PROFILE_MALFORMED);
        ck_assert(profile_read_describe(&notices, damage, sizeof damage) ==
                  profile_read_is_damaged(&notices));
        free(text.items);
        bytes.items[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes.items);
}
END_TEST

START_TEST(passes_by_large_entries)
{
    const struct profile_read_options options = { .size = sizeof options, .entry_bytes = 8 };
    struct profile_read_notices notices;
    char *text = told(MESSAGE(TYPE "\x32\x00\x32\x09long name\x32\x01"
                                   "b"),
                      1, &options, &notices);

    ck_assert_ptr_eq(strstr(text, "0= 1= 2=b \n"), text); /* the others keep their numbers */
    char damage[200];

    ck_assert_uint_eq(notices.bad_entries, 0);
    ck_assert_uint_eq(notices.long_entries, 1);
    ck_assert_uint_eq(notices.first_offset, 8);
    ck_assert(profile_read_describe(&notices, damage, sizeof damage));
    ck_assert_str_eq(damage, "1 entry or line too long to be read");
    free(text);
}
END_TEST

START_TEST(stops_where_tables_grow_too_large)
{
    const struct profile_read_options options = { .size = sizeof options, .table_bytes = 500 };
    const struct profile_pprof_sink sink = { .size = sizeof sink };
    struct pprof_bytes bytes = example(true);
    struct profile_error error;

    ck_assert_int_eq(pprof_read_bytes(bytes.items, bytes.count, 0, &sink, &options, NULL, &error),
                     PROFILE_LIMIT);
    ck_assert_str_eq(error.message, "the tables of the profile need more than 500 bytes of memory");
    free(bytes.items);
}
END_TEST

static const char *const texts[] = {
    "P1;T2;/a.py:f:1;/a.py:g:2 10\nP1;T3;/b.py:h:1;/b.py:k:2 20\n",
    "prog 1 [000] 1.000000: 5 cycles:u:\n\t401000 f+0x1 (/bin/a)\n\t402000 g+0x2 (/bin/b)\n\n",
    ("heap profile: 1: 2 [1: 2] @ heap/1\n1: 2 [1: 2] @ 0x401000 0x402000\n"
     "#\t0x400fff\tmain.f+0x1\t/src/main.go:1\n"),
};

static enum profile_status read_text(const char *text, size_t table_bytes,
                                     struct profile_error *error)
{
    const struct profile_read_options options = { .size = sizeof options,
                                                  .table_bytes = table_bytes };
    const struct profile_pprof_sink sink = { .size = sizeof sink };
    struct source source = { .bytes = (const uint8_t *)text, .left = strlen(text) };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
    };
    struct fxt_input *input = NULL;
    enum profile_status status;

    ck_assert_int_eq(fxt_input_open(&from, &input, NULL), FXT_OK);
    status = profile_read(input, &sink, &options, NULL, error);
    fxt_input_close(input);
    return status;
}

/* At whatever table the limit is reached, its message stays, and memory is not what is short.  */
START_TEST(limits_of_texts_keep_their_message)
{
    enum profile_status status;
    struct profile_error error;
    char expected[200];
    size_t bytes = 8;

    while ((status = read_text(texts[_i], bytes, &error)) != PROFILE_OK) {
        (void)snprintf(expected, sizeof expected,
                       "the tables of the profile need more than %zu bytes of memory", bytes);
        ck_assert_int_eq(status, PROFILE_LIMIT);
        ck_assert_str_eq(error.message, expected);
        bytes += 8;
    }
    ck_assert_uint_gt(bytes, 500);
    ck_assert_int_eq(read_text(texts[_i], SIZE_MAX, &error), PROFILE_OK);
}
END_TEST

/* Formats without tables that begin well: nothing was damaged, or everything after the start.  */
static const struct {
    const char *bytes;
    const char *message;
} empty_texts[] = {
    { "# austin: 3.6.0\n# mode: wall\n", "the text of Austin without samples" },
    { "# austin: 3.6.0\nno stack\n", "the text of Austin, but no sample of it can be read" },
    { "--- heapz 1 ---\nformat = java\n", "a profile of Java as text without samples" },
};

START_TEST(texts_without_samples_are_called_so)
{
    struct profile_error error;

    ck_assert_int_eq(read_text(empty_texts[_i].bytes, 0, &error), PROFILE_MALFORMED);
    ck_assert_str_eq(error.message, empty_texts[_i].message);
}
END_TEST

static enum profile_status stop(void *context, const struct profile_pprof_location *location)
{
    (void)context;
    return location->id == 5 ? PROFILE_STOPPED : PROFILE_OK;
}

START_TEST(ends_when_the_sink_says_so)
{
    const struct profile_pprof_sink sink = { .size = sizeof sink, .location = stop };
    struct pprof_bytes bytes = example(true);

    ck_assert_int_eq(pprof_read_bytes(bytes.items, bytes.count, 0, &sink, NULL, NULL, NULL),
                     PROFILE_STOPPED);
    free(bytes.items);
}
END_TEST

static ptrdiff_t fail_to_read(void *context, void *buffer, size_t size)
{
    (void)context;
    (void)buffer;
    (void)size;
    errno = EIO;
    return -1;
}

START_TEST(says_why_reading_failed)
{
    const struct fxt_input_options from = { .size = sizeof from, .read = fail_to_read };
    const struct profile_pprof_sink sink = { .size = sizeof sink };
    struct fxt_input *input;
    struct profile_error error;

    ck_assert_int_eq(fxt_input_open(&from, &input, NULL), FXT_OK);
    ck_assert_int_eq(profile_read_pprof(input, &sink, NULL, NULL, &error), PROFILE_IO);
    ck_assert_int_eq(error.system_errno, EIO);
    fxt_input_close(input);
}
END_TEST

START_TEST(says_why_the_temporary_file_failed)
{
    const struct profile_read_options options = { .size = sizeof options,
                                                  .temporary_dir = "/nowhere",
                                                  .sample_bytes = 1 };
    const struct profile_pprof_sink sink = { .size = sizeof sink };
    struct pprof_bytes bytes = example(true);
    struct profile_error error;

    ck_assert_int_eq(pprof_read_bytes(bytes.items, bytes.count, 0, &sink, &options, NULL, &error),
                     PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOENT);
    ck_assert_ptr_eq(strstr(error.message, "temporary file in /nowhere (TMPDIR"), error.message);
    free(bytes.items);
}
END_TEST

/* Nothing that libcheck allocates happens between setting a failure and taking it back.  */
START_TEST(says_when_memory_is_short)
{
    const struct profile_read_options options = { .size = sizeof options, .sample_bytes = 1 };
    struct pprof_bytes bytes = example(false);
    enum profile_status status = PROFILE_NO_MEMORY;
    unsigned long n;

    for (n = 1; status != PROFILE_OK && n < 1000; n++) {
        struct pprof_bytes again = { .count = 0 };
        struct profile_writer *writer = NULL;
        struct profile_pprof_sink sink;

        allocation_fail_at(n);
        status = profile_writer_open(profile_format_named("pprof"), NULL, pprof_bytes_write, &again,
                                     &writer, NULL);
        if (status == PROFILE_OK) {
            profile_writer_sink(writer, &sink);
            status = pprof_read_bytes(bytes.items, bytes.count, 1, &sink, &options, NULL, NULL);
        }
        if (status == PROFILE_OK)
            status = profile_writer_finish(writer, NULL);
        profile_writer_close(writer);
        allocation_fail_at(0);
        ck_assert(status == PROFILE_OK || status == PROFILE_NO_MEMORY ||
                  (status == PROFILE_IO && again.failed));
        free(again.items);
    }
    ck_assert_uint_gt(n, 20);
    ck_assert_int_eq(status, PROFILE_OK);
    free(bytes.items);
}
END_TEST

/* ---- Writing ---- */

START_TEST(writes_a_string_once)
{
    const struct profile_writer_options raw = { .size = sizeof raw, .raw = true };
    struct pprof_bytes bytes = { .count = 0 };
    struct profile_writer *writer;
    uint32_t ids[4];

    ck_assert_int_eq(profile_writer_open(profile_format_named("pprof"), &raw, pprof_bytes_write,
                                         &bytes, &writer, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "one", 3, &ids[0]), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "", 0, &ids[1]), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "two", 3, &ids[2]), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "one", 3, &ids[3]), PROFILE_OK);
    ck_assert_int_eq(profile_writer_finish(writer, NULL), PROFILE_OK);
    profile_writer_close(writer);
    ck_assert(ids[0] == 1 && ids[1] == 0 && ids[2] == 2 && ids[3] == 1);
    ck_assert_uint_eq(bytes.count, 12);
    ck_assert_mem_eq(bytes.items, "\x32\x00\x32\x03one\x32\x03two", 12);
    free(bytes.items);
}
END_TEST

START_TEST(refuses_numbers_not_told)
{
    static const struct profile_text not_empty = { "x", 1 };
    const struct profile_pprof_line line = { .function = 1 };
    const struct profile_pprof_location of_function = { .lines = &line, .line_count = 1 };
    const struct profile_pprof_location of_mapping = { .mapping = 1 };
    const uint32_t location = 1;
    const struct profile_pprof_sample sample = { .locations = &location, .location_count = 1 };
    const struct profile_pprof_header header = { .type_count = 0 };
    struct pprof_bytes bytes = { .count = 0 };
    struct profile_writer *writer;
    struct profile_pprof_sink sink;

    ck_assert_int_eq(profile_writer_open(profile_format_named("pprof"), NULL, pprof_bytes_write,
                                         &bytes, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    ck_assert_int_eq(sink.strings(sink.context, &not_empty, 1), PROFILE_INVALID);
    ck_assert_int_eq(sink.location(sink.context, &of_function), PROFILE_INVALID);
    ck_assert_int_eq(sink.location(sink.context, &of_mapping), PROFILE_INVALID);
    ck_assert_int_eq(sink.sample(sink.context, &sample), PROFILE_INVALID);
    ck_assert_int_eq(sink.header(sink.context, &header), PROFILE_OK);
    ck_assert_int_eq(sink.header(sink.context, &header), PROFILE_INVALID);
    profile_writer_close(writer); /* without an end */
    free(bytes.items);
}
END_TEST

static int disk_full(void *context, const void *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return ENOSPC;
}

START_TEST(says_why_writing_failed)
{
    struct profile_writer *writer;
    struct profile_error error;
    uint32_t id;

    ck_assert_int_eq(
        profile_writer_open(profile_format_named("pprof"), NULL, disk_full, NULL, &writer, NULL),
        PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "x", 1, &id), PROFILE_OK);
    ck_assert_int_eq(profile_writer_finish(writer, &error), PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    profile_writer_close(writer);
}
END_TEST

/* ---- Telling formats apart ---- */

static const struct {
    const char *bytes;
    size_t length;
    bool pprof, folded;
} starts[] = {
    { MESSAGE(TYPE STRINGS), true, false },
    { MESSAGE(STRINGS TYPE), true, false },
    { MESSAGE("\x12\x03\x12\x01\x03"), true, false },
    { "", 0, false, false },
    { MESSAGE("main;work 12\n"), false, true },
    { MESSAGE("main;work 12"), false, true },
    { MESSAGE("\n\r\nmain;work 3 12\n"), false, true },
    { MESSAGE("main;f(int, char) 0.5\r\n"), false, true },
    { MESSAGE("main;work\n"), false, false },
    { MESSAGE("12\n"), false, false },
    { MESSAGE("# fxt baseline\n"), false, false },
    { MESSAGE("\x10\x00\x04\x46\x78\x54\x16\x00"), false, false }, /* FXT */
    { MESSAGE("SQLite format 3\0"), false, false },
    { MESSAGE("\x7f"
              "ELF"),
      false, false },
    { MESSAGE("{{{reset}}}\n"), false, false },
    { MESSAGE("main;a\0b 1\n"), false, false },
};

START_TEST(tells_formats_apart)
{
    ck_assert(profile_is_pprof(starts[_i].bytes, starts[_i].length) == starts[_i].pprof);
    ck_assert(profile_is_folded(starts[_i].bytes, starts[_i].length) == starts[_i].folded);
}
END_TEST

/* A message of many samples, of which the first 4096 bytes end anywhere in a field: tag, length,
 * bytes.  */
START_TEST(tells_a_message_that_goes_on)
{
    static const char head[] = "\x0a\x04\x08\x01\x10\x02";
    char start[PROFILE_SNIFF_BYTES + 400];
    size_t length = sizeof head - 1;

    memcpy(start, head, length);
    while (length < PROFILE_SNIFF_BYTES) { /* a field of 2 + 1 + 200 bytes */
        size_t size = length == sizeof head - 1 ? (size_t)_i : 200;

        start[length] = 0x12;
        start[length + 1] = (char)(size | 0x80);
        start[length + 2] = (char)(size >> 7);
        memset(start + length + 3, 1, size);
        length += 3 + size;
    }
    ck_assert(profile_is_pprof(start, PROFILE_SNIFF_BYTES));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pprof files");
    TCase *reading = tcase_create("reading");
    TCase *hostile = tcase_create("hostile");
    TCase *writing = tcase_create("writing");

    tcase_add_loop_test(reading, tells_every_field, 0, 6);
    tcase_add_loop_test(reading, keeps_samples_in_a_file, 1, 80);
    tcase_add_test(reading, writes_what_was_read);
    tcase_add_loop_test(reading, reads_message, 0, (int)(sizeof messages / sizeof *messages));
    tcase_add_loop_test(reading, refuses_what_is_none, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(reading, tells_formats_apart, 0, (int)(sizeof starts / sizeof *starts));
    tcase_add_loop_test(reading, tells_a_message_that_goes_on, 0, 203);
    tcase_add_loop_test(hostile, reads_what_is_left_of_a_cut_file, 0, 2);
    tcase_add_loop_test(hostile, survives_any_bit_flipped, 0, 2);
    tcase_add_test(hostile, passes_by_large_entries);
    tcase_add_test(hostile, stops_where_tables_grow_too_large);
    tcase_add_loop_test(hostile, limits_of_texts_keep_their_message, 0,
                        (int)(sizeof texts / sizeof *texts));
    tcase_add_loop_test(hostile, texts_without_samples_are_called_so, 0,
                        (int)(sizeof empty_texts / sizeof *empty_texts));
    tcase_add_test(hostile, ends_when_the_sink_says_so);
    tcase_add_test(hostile, says_why_reading_failed);
    tcase_add_test(hostile, says_why_the_temporary_file_failed);
    tcase_add_test(hostile, says_when_memory_is_short);
    tcase_add_test(writing, writes_a_string_once);
    tcase_add_test(writing, refuses_numbers_not_told);
    tcase_add_test(writing, says_why_writing_failed);
    suite_add_tcase(s, reading);
    suite_add_tcase(s, hostile);
    suite_add_tcase(s, writing);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
