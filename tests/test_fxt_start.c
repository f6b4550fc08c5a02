/* What is no FXT trace is named for what it is; what might be one is read.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/hex_text.h"
#include "tests/support/pack.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

static char text[4096];
static struct reading result;

static enum fxt_status read_start(const void *bytes, size_t length, size_t step, bool trust)
{
    const struct fxt_reader_options options = { .size = sizeof options, .trust_start = trust };
    struct source source;

    return describe_input(open_bytes(&source, bytes, length, step), &options, text, sizeof text,
                          &result);
}

static const struct {
    const char *bytes;
    size_t length;
    const char *message;
} foreign[] = {
    { "\x00\x16\x54\x78\x46\x04\x00\x10\x00\x00", 10,
      "a big-endian FXT trace; only little-endian ones can be read" },
    { "{{{reset}}}\n{{{module:0:a:elf:00}}}\n", 36,
      "symbolizer markup text, not FXT; fxtsym --markup and fxtq import read it" },
    { "\x7f"
      "ELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00",
      18, "an ELF file, not an FXT trace" },
    { "\xfd\x37\x7a\x58\x5a\x00\x00\x04", 8, "xz data; unpack it first: xz -d" },
    { "BZh91AY&SY\x00\x00", 12, "bzip2 data; unpack it first: bzip2 -d" },
    { "PK\x03\x04\x14\x00\x00\x00", 8, "a zip archive, not an FXT trace" },
    { "PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00", 16, "a perf.data file, not an FXT trace" },
    { "SQLite format 3\x00\x10\x00", 18,
      "an SQLite database, not an FXT trace; "
      "if it is a store, 'fxtq export' writes its captures as traces and profiles" },
    { "{\"traceEvents\": [\n", 18, "text, not an FXT trace" },
    { "main;f 1\nmain;g 2\n", 18, "text, not an FXT trace" },
    { "<!DOCTYPE html>\r\n\t", 18, "text, not an FXT trace" },
    { "8 bytes.", 8, "text, not an FXT trace" },
    { "BZhang is a name.", 17, "text, not an FXT trace" },
    /* Nothing known, and nothing that could be a record.  */
    { "\x00\x00\x04\x46\x78\x54\x16\x00", 8,
      "not an FXT trace: no magic number, and the first record has size 0" },
    { "\x1b\x00\x00\x00\x00\x00\x00\x80", 8,
      "not an FXT trace: no magic number, and the first record is of no known type" },
    { "\x24\x00\x02\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80", 16,
      "not an FXT trace: no magic number, and the first record's time is out of range" },
    { "\x14\x00\x02\x00\x00\x00\x00\x80", 8,
      "not an FXT trace: no magic number, and the first record makes no sense" },
    { "\xf4\x0f\x02\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80", 16,
      "not an FXT trace: no magic number, and the first record does not fit" },
    { "\xff\xff\xff\xff\x0f\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80", 16,
      "not an FXT trace: no magic number, and the first record does not fit" },
};

START_TEST(cases_5_and_64_name_what_is_no_trace)
{
    for (size_t step = 0; step < 4; step++) {
        ck_assert_int_eq(read_start(foreign[_i].bytes, foreign[_i].length, step, false), FXT_FATAL);
        ck_assert_str_eq(result.error.message, foreign[_i].message);
        ck_assert_int_eq(result.error.system_errno, 0);
        ck_assert_uint_eq(result.error.offset, 0);
        ck_assert_str_eq(text, "");
    }
}
END_TEST

START_TEST(reads_whatever_it_is_told_to_trust)
{
    enum fxt_status status = read_start(foreign[_i].bytes, foreign[_i].length, 0, true);

    ck_assert(status == FXT_END || result.damage.kinds[FXT_DAMAGE_SIZE_ZERO].count == 1);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_NO_MAGIC].count, 1);
}
END_TEST

START_TEST(names_what_is_packed_twice)
{
    uint8_t once[256], twice[256];
    size_t length = pack_gzip("whatever", 8, once, sizeof once);

    length = pack_gzip(once, length, twice, sizeof twice);
    ck_assert_int_eq(read_start(twice, length, 0, false), FXT_FATAL);
    ck_assert_str_eq(result.error.message, "gzip data inside compressed data; unpack it once more");

    length = pack_gzip("\x28\xb5\x2f\xfd\x04\x58\x41\x00\x00", 9, once, sizeof once);
    ck_assert_int_eq(read_start(once, length, 0, false), FXT_FATAL);
    ck_assert_str_eq(result.error.message, "zstd data inside compressed data; unpack it once more");
}
END_TEST

/* Any sane record does: kernel samplers write no magic (case 4).  */
static const struct {
    const char *name;
    const char *bytes;
    const char *records;
    const char *damage;
} bare[] = {
    { "case 4: an event",
      "44 00 02 00 00 00 00 00 64 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 "
      "06 00 00 00 00 00 00 00",
      "@0+32 event p0 t=100,100ns thread=5/6 duration_begin(2)\n", "no_magic=1@0+0" },
    { "zero fill and an event",
      "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
      "44 00 02 00 00 00 00 00 64 00 00 00 00 00 00 00 "
      "05 00 00 00 00 00 00 00 06 00 00 00 00 00 00 00",
      "@16+32 event p0 t=100,100ns thread=5/6 duration_begin(2)\n",
      "zero_words=2@0+16 no_magic=1@0+0" },
    { "a magic record with another number", "10 00 04 47 78 54 16 00",
      "@0+8 magic p0 number=16547847\n", "no_magic=1@0+0 wrong_magic=1@0+0" },
    { "a sane record, then nonsense",
      "33 00 01 00 00 00 00 00 05 00 00 00 00 00 00 00 "
      "06 00 00 00 00 00 00 00 1b 00 00 00 00 00 00 80",
      "@0+24 thread p0 thread=5/6 index=1\n"
      "@24+8 unknown p0 type=11 subtype=0 words=800000000000001b\n",
      "unknown_record=1@24+0 no_magic=1@0+0" },
    { "a cut magic record", "10 00 04 46 78", "", "stray_bytes=1@0+5" },
    { "less than a word", "01 02 03", "", "stray_bytes=1@0+3 no_magic=1@0+0" },
    { "nothing", "", "", "" },
};

START_TEST(reads_what_lacks_the_magic)
{
    uint8_t bytes[64];
    char damage[256];
    size_t length = hex_bytes(bare[_i].bytes, bytes, sizeof bytes);

    for (int trust = 0; trust < 2; trust++) {
        ck_assert_msg(read_start(bytes, length, 1, trust) == FXT_END, "%s: %s", bare[_i].name,
                      result.error.message);
        describe_damage(&result.damage, damage, sizeof damage);
        ck_assert_str_eq(text, bare[_i].records);
        ck_assert_str_eq(damage, bare[_i].damage);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_start");
    TCase *tcase = tcase_create("start");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, cases_5_and_64_name_what_is_no_trace, 0, ROWS(foreign));
    tcase_add_loop_test(tcase, reads_whatever_it_is_told_to_trust, 0, ROWS(foreign));
    tcase_add_test(tcase, names_what_is_packed_twice);
    tcase_add_loop_test(tcase, reads_what_lacks_the_magic, 0, ROWS(bare));
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
