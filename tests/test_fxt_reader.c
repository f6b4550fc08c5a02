/* What the reader makes of bytes: the cases of docs/formats/fxt.md section 6, one by one.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/hex_text.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- Small traces, every byte in sight ---- */

#define MAGIC "10 00 04 46 78 54 16 00 "
/* Thread 1 is thread 11 of process 10; on it a duration begins, without a name, at tick 100.  */
#define THREAD_1   "33 00 01 00 00 00 00 00  0a 00 00 00 00 00 00 00  0b 00 00 00 00 00 00 00 "
#define BEGIN      "24 00 02 01 00 00 00 00  64 00 00 00 00 00 00 00 "
#define MAGIC_LINE "@0+8 magic p0 number=16547846\n"

struct reading_case {
    const char *name;
    enum fxt_status status;
    const char
        *bytes; /* behind the magic record; a word is eight bytes, a row one record or part */
    const char *records; /* behind the magic record */
    const char *damage;  /* kind=count@offset of the first+bytes */
};

/* The whole at once, byte by byte, and in pieces that cut every word (case 14).  */
static void check_reading(const struct reading_case *row)
{
    static const size_t steps[] = { 0, 1, 7, 13 };
    uint8_t bytes[1024];
    char records[8192], damage_text[512];
    struct fxt_damage damage;
    size_t length = hex_bytes(MAGIC, bytes, sizeof bytes);

    length += hex_bytes(row->bytes, bytes + length, sizeof bytes - length);
    for (int i = 0; i < ROWS(steps); i++) {
        enum fxt_status status = describe_all(bytes, length, steps[i], records, sizeof records,
                                              &damage);

        describe_damage(&damage, damage_text, sizeof damage_text);
        ck_assert_msg(status == row->status, "%s: status %d", row->name, (int)status);
        ck_assert_mem_eq(records, MAGIC_LINE, strlen(MAGIC_LINE));
        ck_assert_msg(strcmp(records + strlen(MAGIC_LINE), row->records) == 0, "%s:\n%s", row->name,
                      records);
        ck_assert_msg(strcmp(damage_text, row->damage) == 0, "%s: %s", row->name, damage_text);
    }
}

/* Cases 3, 7, 8, 13, 22, 60: what stands where a header is due.  */
static const struct reading_case no_records[] = {
    { "case 3: only the magic", FXT_END, "", "", "" },
    { "case 7: zero word between two records", FXT_END, "00 00 00 00 00 00 00 00 " THREAD_1,
      "@16+24 thread p0 thread=10/11 index=1\n", "zero_words=1@8+8" },
    { "case 7: zero words at the end", FXT_END,
      THREAD_1 "00 00 00 00 00 00 00 00 "
               "00 00 00 00 00 00 00 00 "
               "00 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n", "zero_words=3@32+24" },
    { "case 8: size 0 is the end, what came before is kept", FXT_FATAL,
      THREAD_1 "00 00 05 00 00 00 00 00 " THREAD_1, "@8+24 thread p0 thread=10/11 index=1\n",
      "size_zero=1@32+0" },
    { "case 8: large record of size 0", FXT_FATAL, THREAD_1 "0f 00 00 00 00 00 00 00 " THREAD_1,
      "@8+24 thread p0 thread=10/11 index=1\n", "size_zero=1@32+0" },
    { "case 13: unknown types, sizes 1 and 2", FXT_END,
      "1b 00 23 01 00 00 00 00 "
      "2c 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00 "
      "1d 00 00 00 00 00 00 00 "
      "3e 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00",
      "@8+8 unknown p0 type=11 subtype=0 words=123001b\n"
      "@16+16 unknown p0 type=12 subtype=0 words=2c,7\n"
      "@32+8 unknown p0 type=13 subtype=0 words=1d\n"
      "@40+24 unknown p0 type=14 subtype=0 words=3e,8,9\n",
      "unknown_record=4@8+0" },
    { "case 22: metadata subtypes 0 and 5", FXT_END,
      "10 00 10 00 00 00 00 00 "
      "10 00 05 00 00 00 00 00",
      "@8+8 unknown p0 type=0 subtype=0 words=100010\n"
      "@16+8 unknown p0 type=0 subtype=5 words=50010\n",
      "unknown_record=2@8+0" },
    { "case 22: trace info that is not magic", FXT_END, "10 00 14 05 00 00 00 00",
      "@8+8 unknown p0 type=0 subtype=4 words=5140010\n", "unknown_record=1@8+0" },
    { "case 5: wrong magic number", FXT_END, "10 00 04 47 78 54 16 00",
      "@8+8 magic p0 number=16547847\n", "wrong_magic=1@8+0" },
    { "case 21: magic again resets nothing", FXT_END,
      "22 00 01 00 04 00 00 00  6b 65 70 74 00 00 00 00 "
      "10 00 04 46 78 54 16 00 " THREAD_1 "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='kept' index=1\n"
      "@24+8 magic p0 number=16547846\n"
      "@32+24 thread p0 thread=10/11 index=1\n"
      "@56+16 event p0 t=100,100ns thread[1]=10/11 name[1]='kept' duration_begin(2)\n",
      "" },
    { "case 50: scheduling subtype 3", FXT_END, "28 00 00 00 00 00 00 30  64 00 00 00 00 00 00 00",
      "@8+16 unknown p0 type=8 subtype=3 words=3000000000000028,64\n", "unknown_record=1@8+0" },
    { "case 60: profiler subtype 3", FXT_END, "2a 00 03 00 00 00 00 00  64 00 00 00 00 00 00 00",
      "@8+16 unknown p0 type=10 subtype=3 words=3002a,64\n", "unknown_record=1@8+0" },
    { "case 46: large record of another type", FXT_END,
      "2f 00 00 00 10 00 00 00  01 00 00 00 00 00 00 00",
      "@8+16 unknown p0 type=15 subtype=1 words=100000002f,1\n", "unknown_record=1@8+0" },
    { "case 46: large blob of format 2", FXT_END,
      "2f 00 00 00 00 02 00 00  01 00 00 00 00 00 00 00",
      "@8+16 unknown p0 type=15 subtype=0 words=2000000002f,1\n", "unknown_record=1@8+0" },
};

START_TEST(passes_over_what_is_no_record)
{
    check_reading(&no_records[_i]);
}
END_TEST

/* Cases 15 to 20.  */
static const struct reading_case providers[] = {
    { "case 15: names of 0 and 8 bytes", FXT_END,
      "10 00 11 00 00 00 00 00 "
      "20 00 21 00 00 00 80 00  61 62 63 64 65 66 67 68",
      "@8+8 provider_info p1 id=1\n"
      "@16+16 provider_info p2 name='abcdefgh' id=2\n",
      "" },
    { "case 15: name longer than the record: nothing is switched", FXT_END,
      "20 00 11 00 00 00 90 00  61 62 63 00 00 00 00 00 "
      "10 00 12 00 00 00 00 00",
      "@24+8 provider_section p1 id=1\n", "bad_record=1@8+16" },
    { "case 16: section of an unknown provider", FXT_END,
      "10 00 92 00 00 00 00 00 "
      "22 00 01 00 04 00 00 00  6e 69 6e 65 00 00 00 00 " THREAD_1
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+8 provider_section p9 id=9\n"
      "@16+16 string p9 name='nine' index=1\n"
      "@32+24 thread p9 thread=10/11 index=1\n"
      "@56+16 event p9 t=100,100ns thread[1]=10/11 name[1]='nine' duration_begin(2)\n",
      "" },
    { "case 17: string 1 and thread 1 of two providers", FXT_END,
      "20 00 11 00 00 00 10 00  61 00 00 00 00 00 00 00 "
      "22 00 01 00 03 00 00 00  6f 6e 65 00 00 00 00 00 " THREAD_1
      "20 00 21 00 00 00 10 00  62 00 00 00 00 00 00 00 "
      "22 00 01 00 03 00 00 00  74 77 6f 00 00 00 00 00 "
      "33 00 01 00 00 00 00 00  14 00 00 00 00 00 00 00  15 00 00 00 00 00 00 00 "
      "10 00 12 00 00 00 00 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00 "
      "10 00 22 00 00 00 00 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 provider_info p1 name='a' id=1\n"
      "@24+16 string p1 name='one' index=1\n"
      "@40+24 thread p1 thread=10/11 index=1\n"
      "@64+16 provider_info p2 name='b' id=2\n"
      "@80+16 string p2 name='two' index=1\n"
      "@96+24 thread p2 thread=20/21 index=1\n"
      "@120+8 provider_section p1 id=1\n"
      "@128+16 event p1 t=100,100ns thread[1]=10/11 name[1]='one' duration_begin(2)\n"
      "@144+8 provider_section p2 id=2\n"
      "@152+16 event p2 t=100,100ns thread[1]=20/21 name[1]='two' duration_begin(2)\n",
      "" },
    { "case 18: clocks of two providers", FXT_END,
      "20 00 11 00 00 00 10 00  61 00 00 00 00 00 00 00 "
      "21 00 00 00 00 00 00 00  0a 00 00 00 00 00 00 00 " THREAD_1 BEGIN
      "20 00 21 00 00 00 10 00  62 00 00 00 00 00 00 00 "
      "21 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00 " THREAD_1 BEGIN
      "10 00 12 00 00 00 00 00 " BEGIN,
      "@8+16 provider_info p1 name='a' id=1\n"
      "@24+16 init p1 ticks_per_second=10\n"
      "@40+24 thread p1 thread=10/11 index=1\n"
      "@64+16 event p1 t=100,10000000000ns thread[1]=10/11 duration_begin(2)\n"
      "@80+16 provider_info p2 name='b' id=2\n"
      "@96+16 init p2 ticks_per_second=1000\n"
      "@112+24 thread p2 thread=10/11 index=1\n"
      "@136+16 event p2 t=100,100000000ns thread[1]=10/11 duration_begin(2)\n"
      "@152+8 provider_section p1 id=1\n"
      "@160+16 event p1 t=100,10000000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 19: provider info again forgets the tables and the clock", FXT_END,
      "20 00 11 00 00 00 10 00  61 00 00 00 00 00 00 00 "
      "21 00 00 00 00 00 00 00  0a 00 00 00 00 00 00 00 "
      "22 00 01 00 03 00 00 00  6f 6c 64 00 00 00 00 00 " THREAD_1
      "20 00 11 00 00 00 10 00  62 00 00 00 00 00 00 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 provider_info p1 name='a' id=1\n"
      "@24+16 init p1 ticks_per_second=10\n"
      "@40+16 string p1 name='old' index=1\n"
      "@56+24 thread p1 thread=10/11 index=1\n"
      "@80+16 provider_info p1 name='b' id=1\n"
      "@96+16 event p1 t=100,100ns thread[1]? name[1]? duration_begin(2)\n",
      "unresolved_string=1@96+0 unresolved_thread=1@96+0" },
    { "the default context serves those that lack something", FXT_END,
      "22 00 01 00 06 00 00 00  73 68 61 72 65 64 00 00 " THREAD_1
      "21 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00 "
      "20 00 11 00 00 00 10 00  61 00 00 00 00 00 00 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='shared' index=1\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 init p0 ticks_per_second=1000\n"
      "@64+16 provider_info p1 name='a' id=1\n"
      "@80+16 event p1 t=100,100000000ns thread[1]=10/11 name[1]='shared' duration_begin(2)\n",
      "" },
    { "case 20: provider events do not switch", FXT_END,
      "20 00 11 00 00 00 10 00  61 00 00 00 00 00 00 00 "
      "10 00 23 00 00 00 00 00 "
      "10 00 13 00 00 00 00 00 "
      "10 00 33 00 00 00 70 00 " THREAD_1,
      "@8+16 provider_info p1 name='a' id=1\n"
      "@24+8 provider_event p1 id=2 event=0\n"
      "@32+8 provider_event p1 id=1 event=0\n"
      "@40+8 provider_event p1 id=3 event=7\n"
      "@48+24 thread p1 thread=10/11 index=1\n",
      "provider_loss=2@24+0" },
};

START_TEST(keeps_a_context_for_each_provider)
{
    check_reading(&providers[_i]);
}
END_TEST

/* Cases 23, 24, 43.  */
static const struct reading_case clocks[] = {
    { "case 24: no initialization: a tick is a nanosecond", FXT_END, THREAD_1 BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: two words", FXT_END,
      "21 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@8+16 init p0 ticks_per_second=1000\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: four words: the base is time 0", FXT_END,
      "41 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00  32 00 00 00 00 00 00 00 "
      "00 00 2a 36 fe 9c 97 17 " THREAD_1 BEGIN,
      "@8+32 init p0 ticks_per_second=1000 base_ticks=50 base_time_ns=1700000000000000000\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,50000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: three words: the third says nothing yet", FXT_END,
      "31 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00  32 00 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@8+24 init p0 ticks_per_second=1000\n"
      "@32+24 thread p0 thread=10/11 index=1\n"
      "@56+16 event p0 t=100,100000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: one word", FXT_END, "11 00 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@16+24 thread p0 thread=10/11 index=1\n"
      "@40+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@8+8" },
    { "case 23: 0 ticks a second change nothing", FXT_END,
      "41 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00  32 00 00 00 00 00 00 00 "
      "07 00 00 00 00 00 00 00 "
      "21 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
      "41 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 "
      "09 00 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@8+32 init p0 ticks_per_second=1000 base_ticks=50 base_time_ns=7\n"
      "@40+16 init p0 ticks_per_second=0\n"
      "@56+32 init p0 ticks_per_second=0 base_ticks=9 base_time_ns=9\n"
      "@88+24 thread p0 thread=10/11 index=1\n"
      "@112+16 event p0 t=100,50000000ns thread[1]=10/11 duration_begin(2)\n",
      "zero_ticks=2@40+0" },
    { "case 23: 1 tick a second", FXT_END,
      "21 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@8+16 init p0 ticks_per_second=1\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100000000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: 2^63 ticks a second", FXT_END,
      "21 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80 " THREAD_1 BEGIN
      "24 00 02 01 00 00 00 00  ff ff ff ff ff ff ff ff",
      "@8+16 init p0 ticks_per_second=9223372036854775808\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,0ns thread[1]=10/11 duration_begin(2)\n"
      "@64+16 event p0 t=18446744073709551615,1999999999ns thread[1]=10/11 "
      "duration_begin(2)\n",
      "" },
    { "case 23: the rate changes in mid-file", FXT_END,
      "21 00 00 00 00 00 00 00  0a 00 00 00 00 00 00 00 " THREAD_1 BEGIN
      "21 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00 " BEGIN,
      "@8+16 init p0 ticks_per_second=10\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,10000000000ns thread[1]=10/11 duration_begin(2)\n"
      "@64+16 init p0 ticks_per_second=1000\n"
      "@80+16 event p0 t=100,100000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 23: a two-word form after a four-word form: no base", FXT_END,
      "41 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00  32 00 00 00 00 00 00 00 "
      "07 00 00 00 00 00 00 00 "
      "21 00 00 00 00 00 00 00  e8 03 00 00 00 00 00 00 " THREAD_1 BEGIN,
      "@8+32 init p0 ticks_per_second=1000 base_ticks=50 base_time_ns=7\n"
      "@40+16 init p0 ticks_per_second=1000\n"
      "@56+24 thread p0 thread=10/11 index=1\n"
      "@80+16 event p0 t=100,100000000ns thread[1]=10/11 duration_begin(2)\n",
      "" },
    { "case 43: times out of order, out of range, in order again", FXT_END,
      "21 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 " THREAD_1 BEGIN
      "24 00 02 01 00 00 00 00  32 00 00 00 00 00 00 00 "
      "24 00 02 01 00 00 00 00  00 00 64 a7 b3 b6 e0 0d "
      "24 00 02 01 00 00 00 00  3c 00 00 00 00 00 00 00",
      "@8+16 init p0 ticks_per_second=1\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100000000000ns thread[1]=10/11 duration_begin(2)\n"
      "@64+16 event p0 t=50,50000000000ns thread[1]=10/11 duration_begin(2)\n"
      "@96+16 event p0 t=60,60000000000ns thread[1]=10/11 duration_begin(2)\n",
      "time_overflow=1@80+16" },
    { "case 43: times before the base are negative, rounded down", FXT_END,
      "41 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00 " THREAD_1 "24 00 02 01 00 00 00 00  63 00 00 00 00 00 00 00 "
      "24 00 02 01 00 00 00 00  61 00 00 00 00 00 00 00 "
      "24 00 02 01 00 00 00 00  00 00 00 00 00 00 00 00",
      "@8+32 init p0 ticks_per_second=3 base_ticks=100 base_time_ns=0\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=99,-333333334ns thread[1]=10/11 duration_begin(2)\n"
      "@80+16 event p0 t=97,-1000000000ns thread[1]=10/11 duration_begin(2)\n"
      "@96+16 event p0 t=0,-33333333334ns thread[1]=10/11 duration_begin(2)\n",
      "" },
};

START_TEST(takes_the_clock_from_the_initialization)
{
    check_reading(&clocks[_i]);
}
END_TEST

/* Cases 25, 26, 28, 29.  */
static const struct reading_case strings[] = {
    { "case 25: index 0 registers nothing", FXT_END,
      "22 00 00 00 04 00 00 00  6e 6f 6e 65 00 00 00 00 " THREAD_1 BEGIN,
      "@8+16 string p0 name='none' index=0\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "index_zero=1@8+0" },
    { "case 25: index 0x7fff", FXT_END,
      "22 00 ff 7f 04 00 00 00  6c 61 73 74 00 00 00 00 " THREAD_1
      "24 00 02 01 00 00 ff 7f  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='last' index=32767\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 name[32767]='last' duration_begin(2)\n",
      "" },
    { "case 25: length 0 is a string like any other", FXT_END,
      "12 00 01 00 00 00 00 00 " THREAD_1 "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+8 string p0 index=1\n"
      "@16+24 thread p0 thread=10/11 index=1\n"
      "@40+16 event p0 t=100,100ns thread[1]=10/11 name[1]='' duration_begin(2)\n",
      "" },
    { "case 25: lengths 7, 8 and 9", FXT_END,
      "22 00 01 00 07 00 00 00  31 32 33 34 35 36 37 00 "
      "22 00 02 00 08 00 00 00  31 32 33 34 35 36 37 38 "
      "32 00 03 00 09 00 00 00  31 32 33 34 35 36 37 38  39 00 00 00 00 00 00 00 " THREAD_1
      "24 00 02 01 01 00 02 00  64 00 00 00 00 00 00 00 "
      "24 00 02 01 03 00 00 00  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='1234567' index=1\n"
      "@24+16 string p0 name='12345678' index=2\n"
      "@40+24 string p0 name='123456789' index=3\n"
      "@64+24 thread p0 thread=10/11 index=1\n"
      "@88+16 event p0 t=100,100ns thread[1]=10/11 category[1]='1234567' "
      "name[2]='12345678' duration_begin(2)\n"
      "@104+16 event p0 t=100,100ns thread[1]=10/11 category[3]='123456789' "
      "duration_begin(2)\n",
      "" },
    { "case 25: length beyond the record", FXT_END,
      "22 00 01 00 09 00 00 00  31 32 33 34 35 36 37 38 " THREAD_1
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 name[1]? duration_begin(2)\n",
      "bad_record=1@8+16 unresolved_string=1@48+0" },
    { "case 25: bits 31 and 47 set", FXT_END,
      "22 00 01 80 04 80 00 00  62 69 74 73 00 00 00 00 " THREAD_1
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='bits' index=1\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 name[1]='bits' duration_begin(2)\n",
      "" },
    { "case 26: redefined between two events", FXT_END,
      "22 00 01 00 05 00 00 00  66 69 72 73 74 00 00 00 " THREAD_1
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00 "
      "52 00 01 00 1f 00 00 00  61 6e 64 20 74 68 65 20  73 65 63 6f 6e 64 2c 20 "
      "77 68 69 63 68 20 69 73  20 6c 6f 6e 67 65 72 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00 "
      "22 00 01 00 05 00 00 00  74 68 69 72 64 00 00 00 "
      "24 00 02 01 00 00 01 00  64 00 00 00 00 00 00 00",
      "@8+16 string p0 name='first' index=1\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 name[1]='first' duration_begin(2)\n"
      "@64+40 string p0 name='and the second, which is longer' index=1\n"
      "@104+16 event p0 t=100,100ns thread[1]=10/11 name[1]='and the second, which is "
      "longer' duration_begin(2)\n"
      "@120+16 string p0 name='third' index=1\n"
      "@136+16 event p0 t=100,100ns thread[1]=10/11 name[1]='third' duration_begin(2)\n",
      "" },
    { "case 28: not registered", FXT_END,
      THREAD_1 "24 00 02 01 04 00 05 00  64 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+16 event p0 t=100,100ns thread[1]=10/11 category[4]? name[5]? duration_begin(2)\n",
      "unresolved_string=2@32+0" },
    { "case 29: inline, length 0", FXT_END,
      THREAD_1 "34 00 02 01 00 80 03 80  64 00 00 00 00 00 00 00  61 62 63 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+24 event p0 t=100,100ns thread[1]=10/11 name='abc' duration_begin(2)\n",
      "" },
    { "case 29: inline, length 0x7fff in a short record", FXT_END,
      THREAD_1
      "34 00 02 01 00 00 ff ff  64 00 00 00 00 00 00 00  61 62 63 00 00 00 00 00 " THREAD_1,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@56+24 thread p0 thread=10/11 index=1\n",
      "bad_record=1@32+24" },
};

START_TEST(registers_strings)
{
    check_reading(&strings[_i]);
}
END_TEST

/* Cases 27, 28.  */
static const struct reading_case threads[] = {
    { "case 27: index 0 registers nothing", FXT_END,
      "33 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=1/2 index=0\n", "index_zero=1@8+0" },
    { "case 27: index 255", FXT_END,
      "33 00 ff 00 00 00 00 00  08 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 "
      "24 00 02 ff 00 00 00 00  64 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=8/9 index=255\n"
      "@32+16 event p0 t=100,100ns thread[255]=8/9 duration_begin(2)\n",
      "" },
    { "case 27: redefined between two events", FXT_END,
      "33 00 01 00 00 00 00 00  08 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 " BEGIN
      "33 00 01 00 00 00 00 00  ff ff ff ff ff ff ff ff  00 00 00 00 00 00 00 80 " BEGIN,
      "@8+24 thread p0 thread=8/9 index=1\n"
      "@32+16 event p0 t=100,100ns thread[1]=8/9 duration_begin(2)\n"
      "@48+24 thread p0 thread=18446744073709551615/9223372036854775808 index=1\n"
      "@72+16 event p0 t=100,100ns thread[1]=18446744073709551615/9223372036854775808 "
      "duration_begin(2)\n",
      "" },
    { "case 27: a word more than it needs", FXT_END,
      "43 00 01 00 00 00 00 00  08 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 "
      "ad de 00 00 00 00 00 00 " BEGIN,
      "@8+32 thread p0 thread=8/9 index=1\n"
      "@40+16 event p0 t=100,100ns thread[1]=8/9 duration_begin(2)\n",
      "" },
    { "case 27: a word less than it needs", FXT_END,
      "33 00 01 00 00 00 00 00  08 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 "
      "23 00 01 00 00 00 00 00  05 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=8/9 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=8/9 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 28: not registered", FXT_END, "24 00 02 4d 00 00 00 00  64 00 00 00 00 00 00 00",
      "@8+16 event p0 t=100,100ns thread[77]? duration_begin(2)\n", "unresolved_thread=1@8+0" },
    { "unknown inline thread", FXT_END,
      "44 00 02 00 00 00 00 00  64 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00",
      "@8+32 event p0 t=100,100ns thread=0/0 duration_begin(2)\n", "" },
};

START_TEST(registers_threads)
{
    check_reading(&threads[_i]);
}
END_TEST

/* Cases 31 to 35.  */
static const struct reading_case events[] = {
    { "case 31: type 0, all indexed", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "24 00 00 01 01 00 02 00  46 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=70,70ns thread[1]=10/11 category[1]='C' name[2]='N' instant(0)\n",
      "" },
    { "case 31: type 1, name inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "44 00 01 01 01 00 04 80  46 00 00 00 00 00 00 00  6e 61 6d 65 00 00 00 00 "
      "4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+32 event p0 t=70,70ns thread[1]=10/11 category[1]='C' name='name' counter(1) "
      "id=77\n",
      "" },
    { "case 31: type 2, category inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "34 00 02 01 03 80 02 00  46 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+24 event p0 t=70,70ns thread[1]=10/11 category='cat' name[2]='N' "
      "duration_begin(2)\n",
      "" },
    { "case 31: type 3, thread indexed", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "44 00 03 01 03 80 04 80  46 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00 "
      "6e 61 6d 65 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+32 event p0 t=70,70ns thread[1]=10/11 category='cat' name='name' duration_end(3)\n",
      "" },
    { "case 31: type 4, thread inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "54 00 04 00 01 00 02 00  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+40 event p0 t=70,70ns thread=20/21 category[1]='C' name[2]='N' "
      "duration_complete(4) end=77,77ns\n",
      "" },
    { "case 31: type 5, category indexed", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "64 00 05 00 01 00 04 80  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  6e 61 6d 65 00 00 00 00  4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+48 event p0 t=70,70ns thread=20/21 category[1]='C' name='name' async_begin(5) "
      "id=77\n",
      "" },
    { "case 31: type 6, name indexed", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "64 00 06 00 03 80 02 00  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00  4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+48 event p0 t=70,70ns thread=20/21 category='cat' name[2]='N' async_instant(6) "
      "id=77\n",
      "" },
    { "case 31: type 7, all inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "74 00 07 00 03 80 04 80  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00  6e 61 6d 65 00 00 00 00 "
      "4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+56 event p0 t=70,70ns thread=20/21 category='cat' name='name' async_end(7) id=77\n",
      "" },
    { "case 31: type 8, all indexed", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "34 00 08 01 01 00 02 00  46 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+24 event p0 t=70,70ns thread[1]=10/11 category[1]='C' name[2]='N' flow_begin(8) "
      "id=77\n",
      "" },
    { "case 31: type 9, all inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "74 00 09 00 03 80 04 80  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00  6e 61 6d 65 00 00 00 00 "
      "4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+56 event p0 t=70,70ns thread=20/21 category='cat' name='name' flow_step(9) id=77\n",
      "" },
    { "case 31: type 10, thread inline", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "54 00 0a 00 01 00 02 00  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+40 event p0 t=70,70ns thread=20/21 category[1]='C' name[2]='N' flow_end(10) "
      "id=77\n",
      "" },
    { "case 35: type 11, unassigned", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "74 00 0b 00 03 80 04 80  46 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00 "
      "15 00 00 00 00 00 00 00  63 61 74 00 00 00 00 00  6e 61 6d 65 00 00 00 00 "
      "55 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+56 event p0 t=70,70ns thread=20/21 category='cat' name='name' unknown(11) "
      "rest=55\n",
      "" },
    { "case 35: type 15, unassigned", FXT_END,
      "22 00 01 00 01 00 00 00  43 00 00 00 00 00 00 00 "
      "22 00 02 00 01 00 00 00  4e 00 00 00 00 00 00 00 " THREAD_1
      "34 00 0f 01 01 00 02 00  46 00 00 00 00 00 00 00  55 00 00 00 00 00 00 00",
      "@8+16 string p0 name='C' index=1\n"
      "@24+16 string p0 name='N' index=2\n"
      "@40+24 thread p0 thread=10/11 index=1\n"
      "@64+24 event p0 t=70,70ns thread[1]=10/11 category[1]='C' name[2]='N' unknown(15) "
      "rest=55\n",
      "" },
    { "case 32: instants without scope, with scopes 0, 1, 2, 99", FXT_END,
      THREAD_1 "24 00 00 01 00 00 00 00  64 00 00 00 00 00 00 00 "
               "34 00 00 01 00 00 00 00  64 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
               "34 00 00 01 00 00 00 00  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
               "34 00 00 01 00 00 00 00  64 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00 "
               "34 00 00 01 00 00 00 00  64 00 00 00 00 00 00 00  63 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+16 event p0 t=100,100ns thread[1]=10/11 instant(0)\n"
      "@48+24 event p0 t=100,100ns thread[1]=10/11 instant(0) scope=0\n"
      "@72+24 event p0 t=100,100ns thread[1]=10/11 instant(0) scope=1\n"
      "@96+24 event p0 t=100,100ns thread[1]=10/11 instant(0) scope=2\n"
      "@120+24 event p0 t=100,100ns thread[1]=10/11 instant(0) scope=99\n",
      "" },
    { "case 33: end equal to start, and before it", FXT_END,
      THREAD_1 "34 00 04 01 00 00 00 00  64 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00 "
               "34 00 04 01 00 00 00 00  64 00 00 00 00 00 00 00  63 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+24 event p0 t=100,100ns thread[1]=10/11 duration_complete(4) end=100,100ns\n"
      "@56+24 event p0 t=100,100ns thread[1]=10/11 duration_complete(4) end=99,100ns\n",
      "end_before_start=1@56+0" },
    { "case 43: end out of range", FXT_END,
      "21 00 00 00 00 00 00 00  00 ca 9a 3b 00 00 00 00 " THREAD_1
      "34 00 04 01 00 00 00 00  64 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80 " BEGIN,
      "@8+16 init p0 ticks_per_second=1000000000\n"
      "@24+24 thread p0 thread=10/11 index=1\n"
      "@72+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "time_overflow=1@48+24" },
    { "case 34: type 1 without its last word", FXT_END,
      THREAD_1 "24 00 01 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 4 without its last word", FXT_END,
      THREAD_1 "24 00 04 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 5 without its last word", FXT_END,
      THREAD_1 "24 00 05 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 6 without its last word", FXT_END,
      THREAD_1 "24 00 06 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 7 without its last word", FXT_END,
      THREAD_1 "24 00 07 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 8 without its last word", FXT_END,
      THREAD_1 "24 00 08 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 9 without its last word", FXT_END,
      THREAD_1 "24 00 09 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "case 34: type 10 without its last word", FXT_END,
      THREAD_1 "24 00 0a 01 00 00 00 00  64 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@48+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+16" },
    { "words after the last field", FXT_END,
      THREAD_1 "54 00 02 01 00 00 00 00  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
               "02 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00 "
               "44 00 01 01 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
               "05 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+40 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n"
      "@72+32 event p0 t=100,100ns thread[1]=10/11 counter(1) id=77\n",
      "" },
    { "no timestamp", FXT_END, THREAD_1 "14 00 02 01 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@40+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+8" },
    { "half an inline thread", FXT_END,
      "34 00 02 00 00 00 00 00  64 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00", "",
      "bad_record=1@8+24" },
};

START_TEST(reads_events)
{
    check_reading(&events[_i]);
}
END_TEST

/* Cases 36 to 41.  */
static const struct reading_case arguments[] = {
    { "case 36: 15 arguments", FXT_END,
      THREAD_1 "14 01 f2 01 00 00 00 00  64 00 00 00 00 00 00 00  12 00 00 00 00 00 00 00 "
               "12 00 00 00 01 00 00 00  12 00 00 00 02 00 00 00  12 00 00 00 03 00 00 00 "
               "12 00 00 00 04 00 00 00  12 00 00 00 05 00 00 00  12 00 00 00 06 00 00 00 "
               "12 00 00 00 07 00 00 00  12 00 00 00 08 00 00 00  12 00 00 00 09 00 00 00 "
               "12 00 00 00 0a 00 00 00  12 00 00 00 0b 00 00 00  12 00 00 00 0c 00 00 00 "
               "12 00 00 00 0d 00 00 00  12 00 00 00 0e 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+136 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':uint32 0 "
      "arg='':uint32 1 arg='':uint32 2 arg='':uint32 3 arg='':uint32 4 arg='':uint32 5 "
      "arg='':uint32 6 arg='':uint32 7 arg='':uint32 8 arg='':uint32 9 arg='':uint32 10 "
      "arg='':uint32 11 arg='':uint32 12 arg='':uint32 13 arg='':uint32 14\n",
      "" },
    { "case 36: count 15, 2 present", FXT_END,
      THREAD_1 "44 00 f2 01 00 00 00 00  64 00 00 00 00 00 00 00  12 00 00 00 01 00 00 00 "
               "12 00 00 00 02 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 36: size 0", FXT_END,
      THREAD_1 "34 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  02 00 00 00 01 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@56+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+24" },
    { "case 36: reaching past the record", FXT_END,
      THREAD_1 "44 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  33 00 00 00 00 00 00 00 "
               "05 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 36: unread words", FXT_END,
      THREAD_1 "64 00 22 01 00 00 00 00  64 00 00 00 00 00 00 00  32 00 00 00 01 00 00 00 "
               "ad de 00 00 00 00 00 00  ef be 00 00 00 00 00 00  12 00 00 00 02 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+48 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':uint32 1 "
      "arg='':uint32 2\n",
      "" },
    { "case 36: types 11 and 15 keep their name", FXT_END,
      THREAD_1 "94 00 32 01 00 00 00 00  64 00 00 00 00 00 00 00  4b 00 01 80 00 00 00 00 "
               "61 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00 "
               "2f 00 01 80 00 00 00 00  62 00 00 00 00 00 00 00  12 00 00 00 02 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+72 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='a':unknown type "
      "11 arg='b':unknown type 15 arg='':uint32 2\n",
      "" },
    { "case 36: value that the size leaves no room for", FXT_END,
      THREAD_1 "44 00 22 01 00 00 00 00  64 00 00 00 00 00 00 00  13 00 00 00 00 00 00 00 "
               "12 00 00 00 02 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 36: name that the size leaves no room for", FXT_END,
      THREAD_1 "54 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  22 00 09 80 00 00 00 00 "
               "05 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@72+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+40" },
    { "case 37: smallest numbers", FXT_END,
      THREAD_1 "c4 00 62 01 00 00 00 00  64 00 00 00 00 00 00 00  11 00 00 00 00 00 00 80 "
               "12 00 00 00 00 00 00 00  23 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80 "
               "24 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  27 00 00 00 00 00 00 00 "
               "00 00 00 00 00 00 00 00  28 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+96 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':int32 "
      "-2147483648 arg='':uint32 0 arg='':int64 -9223372036854775808 arg='':uint64 0 "
      "arg='':pointer 0x0 arg='':koid 0\n",
      "" },
    { "case 37: largest numbers", FXT_END,
      THREAD_1 "c4 00 62 01 00 00 00 00  64 00 00 00 00 00 00 00  11 00 00 00 ff ff ff 7f "
               "12 00 00 00 ff ff ff ff  23 00 00 00 00 00 00 00  ff ff ff ff ff ff ff 7f "
               "24 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff  27 00 00 00 00 00 00 00 "
               "ff ff ff ff ff ff ff ff  28 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+96 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':int32 "
      "2147483647 arg='':uint32 4294967295 arg='':int64 9223372036854775807 arg='':uint64 "
      "18446744073709551615 arg='':pointer 0xffffffffffffffff arg='':koid "
      "18446744073709551615\n",
      "" },
    { "case 37: infinities, -0.0, smallest denormal, largest double", FXT_END,
      THREAD_1 "c4 00 52 01 00 00 00 00  64 00 00 00 00 00 00 00  25 00 00 00 00 00 00 00 "
               "00 00 00 00 00 00 f0 7f  25 00 00 00 00 00 00 00  00 00 00 00 00 00 f0 ff "
               "25 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80  25 00 00 00 00 00 00 00 "
               "01 00 00 00 00 00 00 00  25 00 00 00 00 00 00 00  ff ff ff ff ff ff ef 7f",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+96 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':double inf "
      "arg='':double -inf arg='':double -0 arg='':double 4.9406564584124654e-324 "
      "arg='':double 1.7976931348623157e+308\n",
      "" },
    { "case 38: bool takes bit 32 alone", FXT_END,
      THREAD_1 "64 00 42 01 00 00 00 00  64 00 00 00 00 00 00 00  19 00 00 00 01 00 00 00 "
               "19 00 00 00 00 00 00 00  19 00 00 00 fe ff ff ff  19 00 00 00 ff ff ff ff",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+48 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':bool true "
      "arg='':bool false arg='':bool false arg='':bool true\n",
      "" },
    { "case 39: strings: both inline, both empty, value unknown", FXT_END,
      THREAD_1 "74 00 32 01 00 00 00 00  64 00 00 00 00 00 00 00  36 00 01 80 02 80 00 00 "
               "6e 00 00 00 00 00 00 00  76 76 00 00 00 00 00 00  16 00 00 00 00 00 00 00 "
               "16 00 00 00 07 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+56 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='n':string "
      "value='vv' arg='':string value='' arg='':string value[7]?\n",
      "unresolved_string=1@32+0" },
    { "case 39: string value longer than the argument", FXT_END,
      THREAD_1 "44 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  26 00 00 00 09 80 00 00 "
               "31 32 33 34 35 36 37 38 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 40: blobs: empty, exact, shorter than the space", FXT_END,
      THREAD_1 "84 00 32 01 00 00 00 00  64 00 00 00 00 00 00 00  1a 00 00 00 00 00 00 00 "
               "2a 00 00 00 08 00 00 00  31 32 33 34 35 36 37 38  3a 00 00 00 02 00 00 00 "
               "61 62 00 00 00 00 00 00  ad de 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+64 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='':blob  "
      "arg='':blob 3132333435363738 arg='':blob 6162\n",
      "" },
    { "case 40: blob longer than the space", FXT_END,
      THREAD_1 "44 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  2a 00 00 00 09 00 00 00 "
               "31 32 33 34 35 36 37 38 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 40: blob of 2^32 - 1 bytes", FXT_END,
      THREAD_1 "44 00 12 01 00 00 00 00  64 00 00 00 00 00 00 00  2a 00 00 00 ff ff ff ff "
               "31 32 33 34 35 36 37 38 " BEGIN,
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@64+16 event p0 t=100,100ns thread[1]=10/11 duration_begin(2)\n",
      "bad_record=1@32+32" },
    { "case 41: one name twice", FXT_END,
      THREAD_1 "64 00 22 01 00 00 00 00  64 00 00 00 00 00 00 00  22 00 01 80 01 00 00 00 "
               "61 00 00 00 00 00 00 00  22 00 01 80 02 00 00 00  61 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+48 event p0 t=100,100ns thread[1]=10/11 duration_begin(2) arg='a':uint32 1 "
      "arg='a':uint32 2\n",
      "" },
};

START_TEST(reads_arguments)
{
    check_reading(&arguments[_i]);
}
END_TEST

/* Cases 45 to 47, 62.  */
static const struct reading_case blobs[] = {
    { "case 45: types 0, 1, 2, 3, 255", FXT_END,
      "35 00 01 80 01 00 00 00  62 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 01 00  62 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 02 00  62 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 03 00  62 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 ff 00  62 00 00 00 00 00 00 00  ff 00 00 00 00 00 00 00",
      "@8+24 blob p0 name='b' type=0 payload=00\n"
      "@32+24 blob p0 name='b' type=1 payload=01\n"
      "@56+24 blob p0 name='b' type=2 payload=02\n"
      "@80+24 blob p0 name='b' type=3 payload=03\n"
      "@104+24 blob p0 name='b' type=255 payload=ff\n",
      "" },
    { "case 45: words behind the payload", FXT_END,
      "55 00 01 80 03 00 01 00  62 00 00 00 00 00 00 00  31 32 33 00 00 00 00 00 "
      "01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00",
      "@8+40 blob p0 name='b' type=1 payload=313233\n", "" },
    { "case 45: payload longer than the record", FXT_END,
      "35 00 01 80 09 00 01 00  62 00 00 00 00 00 00 00  31 32 33 00 00 00 00 00 " THREAD_1,
      "@32+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+24" },
    { "case 45: empty payload, no name", FXT_END, "15 00 00 00 00 00 01 00",
      "@8+8 blob p0 type=1 payload=\n", "" },
    { "case 45: chunks of one name in two providers", FXT_END,
      "20 00 11 00 00 00 10 00  70 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 01 00  62 00 00 00 00 00 00 00  31 00 00 00 00 00 00 00 "
      "20 00 21 00 00 00 10 00  71 00 00 00 00 00 00 00 "
      "35 00 01 80 01 00 01 00  62 00 00 00 00 00 00 00  32 00 00 00 00 00 00 00",
      "@8+16 provider_info p1 name='p' id=1\n"
      "@24+24 blob p1 name='b' type=1 payload=31\n"
      "@48+16 provider_info p2 name='q' id=2\n"
      "@64+24 blob p2 name='b' type=1 payload=32\n",
      "" },
    { "case 46: large, without metadata, 5 bytes", FXT_END,
      "5f 00 00 00 00 01 00 00  03 80 00 00 00 00 00 00  63 61 74 00 00 00 00 00 "
      "05 00 00 00 00 00 00 00  31 32 33 34 35 00 00 00",
      "@8+40 large_blob p0 category='cat' format=1 payload=3132333435\n", "" },
    { "case 46: large, empty payload, both formats", FXT_END,
      "3f 00 00 00 00 01 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
      "6f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00 "
      "05 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00",
      "@8+24 large_blob p0 format=1 payload=\n"
      "@32+48 large_blob p0 t=100,100ns thread=5/6 format=0 payload=\n",
      "" },
    { "case 47: large, with metadata: strings before the time, arguments behind it", FXT_END,
      "bf 00 00 00 00 00 00 00  03 80 04 80 01 00 00 00  63 61 74 00 00 00 00 00 "
      "6e 61 6d 65 00 00 00 00  64 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00 "
      "06 00 00 00 00 00 00 00  22 00 01 80 09 00 00 00  61 00 00 00 00 00 00 00 "
      "03 00 00 00 00 00 00 00  61 62 63 00 00 00 00 00",
      "@8+88 large_blob p0 t=100,100ns thread=5/6 category='cat' name='name' format=0 "
      "payload=616263 arg='a':uint32 9\n",
      "" },
    { "case 47: large, thread by index", FXT_END,
      THREAD_1 "4f 00 00 00 00 00 00 00  00 00 00 00 10 00 00 00  64 00 00 00 00 00 00 00 "
               "00 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 large_blob p0 t=100,100ns thread[1]=10/11 format=0 payload=\n",
      "" },
    { "case 62: large, stack_sample of a profile", FXT_END,
      "bf 00 00 00 00 00 00 00  0c 80 0c 80 00 00 00 00  63 70 75 5f 70 72 6f 66 "
      "69 6c 65 72 00 00 00 00  73 74 61 63 6b 5f 73 61  6d 70 6c 65 00 00 00 00 "
      "64 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00 "
      "08 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00",
      "@8+88 large_blob p0 t=100,100ns thread=5/6 category='cpu_profiler' "
      "name='stack_sample' format=0 payload=0100000000000000\n",
      "" },
    { "case 46: large, payload longer than the record", FXT_END,
      "4f 00 00 00 00 01 00 00  00 00 00 00 00 00 00 00  09 00 00 00 00 00 00 00 "
      "01 00 00 00 00 00 00 00 " THREAD_1,
      "@40+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+32" },
    { "case 46: large, 2^64 - 1 bytes", FXT_END,
      "4f 00 00 00 00 01 00 00  00 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff "
      "01 00 00 00 00 00 00 00 " THREAD_1,
      "@40+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+32" },
    { "case 46: large, 2^64 - 7 bytes", FXT_END,
      "4f 00 00 00 00 01 00 00  00 00 00 00 00 00 00 00  f9 ff ff ff ff ff ff ff "
      "01 00 00 00 00 00 00 00 " THREAD_1,
      "@40+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+32" },
    { "case 46: large, of one word", FXT_END, "1f 00 00 00 00 00 00 00 " THREAD_1,
      "@16+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+8" },
    { "case 47: large, cut in its metadata", FXT_END,
      "4f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00 "
      "05 00 00 00 00 00 00 00 " THREAD_1,
      "@40+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+32" },
    { "case 43: large, time out of range", FXT_END,
      "21 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "6f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 80 "
      "05 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 " THREAD_1,
      "@8+16 init p0 ticks_per_second=1\n"
      "@72+24 thread p0 thread=10/11 index=1\n",
      "time_overflow=1@24+48" },
};

START_TEST(reads_blobs)
{
    check_reading(&blobs[_i]);
}
END_TEST

/* Cases 48, 49.  */
static const struct reading_case objects[] = {
    { "case 48: userspace, process by index, pointer 0", FXT_END,
      THREAD_1 "36 00 01 01 80 00 00 00  00 00 00 00 00 00 00 00  6f 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+24 userspace_object p0 thread[1]=10/11 name='o' pointer=0\n",
      "" },
    { "case 48: userspace, one inline word", FXT_END,
      "46 00 00 01 80 00 00 00  00 10 00 00 00 00 00 00  2a 00 00 00 00 00 00 00 "
      "6f 00 00 00 00 00 00 00",
      "@8+32 userspace_object p0 thread=42/0 name='o' pointer=1000\n", "" },
    { "case 48: userspace, two inline words", FXT_END,
      "56 00 00 01 80 00 00 00  00 10 00 00 00 00 00 00  2a 00 00 00 00 00 00 00 "
      "2b 00 00 00 00 00 00 00  6f 00 00 00 00 00 00 00",
      "@8+40 userspace_object p0 thread=42/43 name='o' pointer=1000\n", "" },
    { "case 48: userspace, two inline words and an argument", FXT_END,
      "66 00 00 01 80 01 00 00  00 10 00 00 00 00 00 00  2a 00 00 00 00 00 00 00 "
      "2b 00 00 00 00 00 00 00  6f 00 00 00 00 00 00 00  12 00 00 00 07 00 00 00",
      "@8+48 userspace_object p0 thread=42/43 name='o' pointer=1000 arg='':uint32 7\n", "" },
    { "case 48: userspace, neither form exact: the documented one", FXT_END,
      "66 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00  2a 00 00 00 00 00 00 00 "
      "01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00",
      "@8+48 userspace_object p0 thread=42/0 pointer=1000\n", "" },
    { "case 48: userspace, no process at all", FXT_END,
      "26 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00 " THREAD_1,
      "@24+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+16" },
    { "case 48: userspace, unresolved strings count once", FXT_END,
      "46 00 00 09 00 00 00 00  00 10 00 00 00 00 00 00  2a 00 00 00 00 00 00 00 "
      "2b 00 00 00 00 00 00 00",
      "@8+32 userspace_object p0 thread=42/43 name[9]? pointer=1000\n", "unresolved_string=1@8+0" },
    { "case 49: process", FXT_END,
      "37 00 01 03 80 00 00 00  4d 00 00 00 00 00 00 00  61 70 70 00 00 00 00 00",
      "@8+24 kernel_object p0 name='app' type=1 koid=77\n", "" },
    { "case 49: thread with its process", FXT_END,
      "67 00 02 04 80 01 00 00  4e 00 00 00 00 00 00 00  6d 61 69 6e 00 00 00 00 "
      "38 00 07 80 00 00 00 00  70 72 6f 63 65 73 73 00  4d 00 00 00 00 00 00 00",
      "@8+48 kernel_object p0 name='main' type=2 koid=78 arg='process':koid 77\n", "" },
    { "case 49: thread without its process", FXT_END,
      "37 00 02 04 80 00 00 00  4e 00 00 00 00 00 00 00  6d 61 69 6e 00 00 00 00",
      "@8+24 kernel_object p0 name='main' type=2 koid=78\n", "" },
    { "case 49: process argument of another type", FXT_END,
      "57 00 02 04 80 01 00 00  4e 00 00 00 00 00 00 00  6d 61 69 6e 00 00 00 00 "
      "22 00 07 80 4d 00 00 00  70 72 6f 63 65 73 73 00",
      "@8+40 kernel_object p0 name='main' type=2 koid=78 arg='process':uint32 77\n", "" },
    { "case 49: type 200, koid with bit 63", FXT_END,
      "27 00 c8 00 00 00 00 00  05 00 00 00 00 00 00 80",
      "@8+16 kernel_object p0 type=200 koid=9223372036854775813\n", "" },
    { "case 49: name changed later", FXT_END,
      "37 00 01 03 80 00 00 00  4d 00 00 00 00 00 00 00  6f 6c 64 00 00 00 00 00 "
      "37 00 01 03 80 00 00 00  4d 00 00 00 00 00 00 00  6e 65 77 00 00 00 00 00",
      "@8+24 kernel_object p0 name='old' type=1 koid=77\n"
      "@32+24 kernel_object p0 name='new' type=1 koid=77\n",
      "" },
    { "case 49: no koid", FXT_END, "17 00 01 00 00 00 00 00 " THREAD_1,
      "@16+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+8" },
};

START_TEST(reads_objects)
{
    check_reading(&objects[_i]);
}
END_TEST

/* Cases 50, 51.  */
static const struct reading_case scheduling[] = {
    { "case 50: context switch, cpu 255", FXT_END,
      "48 00 f0 0f 00 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 "
      "48 00 00 00 00 00 00 00",
      "@8+32 context_switch p0 t=100,100ns cpu=255 state=0 out=71 in=72\n", "" },
    { "case 50: context switch, cpu 65535, state 15", FXT_END,
      "48 00 f0 ff ff 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 "
      "48 00 00 00 00 00 00 00",
      "@8+32 context_switch p0 t=100,100ns cpu=65535 state=15 out=71 in=72\n", "" },
    { "case 50: state 6", FXT_END,
      "48 00 00 00 60 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 "
      "48 00 00 00 00 00 00 00",
      "@8+32 context_switch p0 t=100,100ns cpu=0 state=6 out=71 in=72\n", "" },
    { "case 50: idle weight", FXT_END,
      "78 00 01 00 30 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 "
      "48 00 00 00 00 00 00 00  31 00 0f 80 00 00 00 80  6f 75 74 67 6f 69 6e 67 "
      "5f 77 65 69 67 68 74 00",
      "@8+56 context_switch p0 t=100,100ns cpu=0 state=3 out=71 in=72 "
      "arg='outgoing_weight':int32 -2147483648\n",
      "" },
    { "case 50: weight of another type", FXT_END,
      "78 00 01 00 30 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 "
      "48 00 00 00 00 00 00 00  32 00 0f 80 28 00 00 00  6f 75 74 67 6f 69 6e 67 "
      "5f 77 65 69 67 68 74 00",
      "@8+56 context_switch p0 t=100,100ns cpu=0 state=3 out=71 in=72 "
      "arg='outgoing_weight':uint32 40\n",
      "" },
    { "case 50: context switch without the incoming thread", FXT_END,
      "38 00 00 00 00 00 00 10  64 00 00 00 00 00 00 00  47 00 00 00 00 00 00 00 " THREAD_1,
      "@32+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+24" },
    { "case 50: wakeup, with and without waker", FXT_END,
      "68 00 11 00 00 00 00 20  64 00 00 00 00 00 00 00  48 00 00 00 00 00 00 00 "
      "38 00 05 80 00 00 00 00  77 61 6b 65 72 00 00 00  47 00 00 00 00 00 00 00 "
      "38 00 10 00 00 00 00 20  64 00 00 00 00 00 00 00  48 00 00 00 00 00 00 00",
      "@8+48 thread_wakeup p0 t=100,100ns cpu=1 state=0 out=0 in=72 arg='waker':koid 71\n"
      "@56+24 thread_wakeup p0 t=100,100ns cpu=1 state=0 out=0 in=72\n",
      "" },
    { "case 50: wakeup without a thread", FXT_END,
      "28 00 00 00 00 00 00 20  64 00 00 00 00 00 00 00 " THREAD_1,
      "@24+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+16" },
    { "case 50: legacy, both inline", FXT_END,
      "68 00 ff 03 00 00 f1 01  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "02 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00  04 00 00 00 00 00 00 00",
      "@8+48 legacy_context_switch p0 t=100,100ns cpu=255 state=3 out=2 in=4 outgoing=1/2 "
      "incoming=3/4 priorities=16,31\n",
      "" },
    { "case 50: legacy, outgoing by index", FXT_END,
      THREAD_1 "48 00 03 13 00 00 f1 01  64 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00 "
               "04 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 legacy_context_switch p0 t=100,100ns cpu=3 state=3 out=11 in=4 "
      "outgoing[1]=10/11 incoming=3/4 priorities=16,31\n",
      "" },
    { "case 50: legacy, incoming by index", FXT_END,
      THREAD_1 "48 00 03 03 10 00 f1 01  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
               "02 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 legacy_context_switch p0 t=100,100ns cpu=3 state=3 out=2 in=11 outgoing=1/2 "
      "incoming[1]=10/11 priorities=16,31\n",
      "" },
    { "case 50: legacy, both by index", FXT_END,
      THREAD_1 "33 00 02 00 00 00 00 00  0c 00 00 00 00 00 00 00  0d 00 00 00 00 00 00 00 "
               "28 00 03 13 20 00 f1 01  64 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+24 thread p0 thread=12/13 index=2\n"
      "@56+16 legacy_context_switch p0 t=100,100ns cpu=3 state=3 out=11 in=13 "
      "outgoing[1]=10/11 incoming[2]=12/13 priorities=16,31\n",
      "" },
    { "case 50: legacy, cut in an inline thread", FXT_END,
      "58 00 03 03 00 00 f1 01  64 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00 "
      "02 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00 " THREAD_1,
      "@48+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+40" },
    { "case 51: log of 0 bytes", FXT_END,
      "49 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00 "
      "06 00 00 00 00 00 00 00",
      "@8+32 log p0 t=100,100ns thread=5/6 message=''\n", "" },
    { "case 51: log by thread index", FXT_END,
      THREAD_1 "49 00 0b 00 01 00 00 00  64 00 00 00 00 00 00 00  64 69 73 6b 20 69 73 20 "
               "68 6f 74 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 log p0 t=100,100ns thread[1]=10/11 message='disk is hot'\n",
      "" },
    { "case 51: log of 0x7fff bytes in a short record", FXT_END,
      "59 00 ff 7f 00 00 00 00  64 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00 "
      "06 00 00 00 00 00 00 00  61 62 63 00 00 00 00 00 " THREAD_1,
      "@48+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+40" },
};

START_TEST(reads_scheduling_and_logs)
{
    check_reading(&scheduling[_i]);
}
END_TEST

/* Cases 54, 57 to 59: modules, mappings, backtraces.  */
static const struct reading_case profiler[] = {
    { "case 57: build ids of 0, 8 and 20 bytes", FXT_END,
      "5a 00 00 00 00 10 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00 "
      "6a 00 00 10 00 10 80 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00  01 02 03 04 05 06 07 08 "
      "8a 00 00 20 00 10 40 01  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00  01 02 03 04 05 06 07 08 "
      "09 0a 0b 0c 0d 0e 0f 10  11 12 13 14 00 00 00 00",
      "@8+40 module p0 t=100,100ns thread=77/0 name='m' id=0 build_id=\n"
      "@48+48 module p0 t=100,100ns thread=77/0 name='m' id=1 build_id=0102030405060708\n"
      "@96+64 module p0 t=100,100ns thread=77/0 name='m' id=2 "
      "build_id=0102030405060708090a0b0c0d0e0f1011121314\n",
      "" },
    { "case 57: module name of 0 bytes", FXT_END,
      "5a 00 00 f0 ff 0f 10 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  aa 00 00 00 00 00 00 00",
      "@8+40 module p0 t=100,100ns thread=77/0 id=65535 build_id=aa\n", "" },
    { "case 57: module name cut in the middle of a character", FXT_END,
      "6a 00 00 10 00 40 10 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  63 61 66 c3 00 00 00 00  aa 00 00 00 00 00 00 00",
      "@8+48 module p0 t=100,100ns thread=77/0 name='caf\303' id=1 build_id=aa\n", "" },
    { "case 59: module by thread index", FXT_END,
      THREAD_1 "4a 00 10 10 00 10 10 00  64 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00 "
               "aa 00 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 module p0 t=100,100ns thread[1]=10/11 name='m' id=1 build_id=aa\n",
      "" },
    { "case 59: module, one inline word", FXT_END,
      "5a 00 00 10 00 10 10 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "6d 00 00 00 00 00 00 00  aa 00 00 00 00 00 00 00",
      "@8+40 module p0 t=100,100ns thread=77/0 name='m' id=1 build_id=aa\n", "" },
    { "case 59: module, no inline word", FXT_END,
      "4a 00 00 10 00 10 10 00  64 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00 "
      "aa 00 00 00 00 00 00 00 " THREAD_1,
      "@40+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+32" },
    { "case 57: module, name longer than the record", FXT_END,
      "5a 00 00 10 00 90 10 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  6d 00 00 00 00 00 00 00 " THREAD_1,
      "@48+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+40" },
    { "case 59: mapping by thread index", FXT_END,
      THREAD_1 "5a 00 11 10 00 50 00 00  64 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00 "
               "00 20 00 00 00 00 00 00  00 30 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+40 mapping p0 t=100,100ns thread[1]=10/11 module=1 start=1000 length=2000 "
      "vaddr=3000 flags=5\n",
      "" },
    { "case 59: mapping, two inline words", FXT_END,
      "7a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00  00 20 00 00 00 00 00 00 "
      "00 30 00 00 00 00 00 00",
      "@8+56 mapping p0 t=100,100ns thread=77/0 module=1 start=1000 length=2000 vaddr=3000 "
      "flags=5\n",
      "" },
    { "case 59: mapping, one inline word", FXT_END,
      "6a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 10 00 00 00 00 00 00  00 20 00 00 00 00 00 00  00 30 00 00 00 00 00 00",
      "@8+48 mapping p0 t=100,100ns thread=77/0 module=1 start=1000 length=2000 vaddr=3000 "
      "flags=5\n",
      "" },
    { "case 59: mapping, no inline word", FXT_END,
      "5a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00 "
      "00 20 00 00 00 00 00 00  00 30 00 00 00 00 00 00 " THREAD_1,
      "@48+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+40" },
    { "mapping, a word after the last field", FXT_END,
      "8a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00  00 20 00 00 00 00 00 00 "
      "00 30 00 00 00 00 00 00  ad de 00 00 00 00 00 00",
      "@8+64 mapping p0 t=100,100ns thread=77/0 module=1 start=1000 length=2000 vaddr=3000 "
      "flags=5\n",
      "" },
    { "case 54: mapping, empty, and wrapping", FXT_END,
      "7a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  00 10 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00 "
      "7a 00 01 10 00 50 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "00 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff  ff ff ff ff ff ff ff ff "
      "00 00 00 00 00 00 00 00",
      "@8+56 mapping p0 t=100,100ns thread=77/0 module=1 start=1000 length=0 vaddr=0 "
      "flags=5\n"
      "@64+56 mapping p0 t=100,100ns thread=77/0 module=1 start=ffffffffffffffff "
      "length=ffffffffffffffff vaddr=0 flags=5\n",
      "" },
    { "case 58: backtraces of 0 and 1 frames", FXT_END,
      "4a 00 02 00 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "4e 00 00 00 00 00 00 00 "
      "5a 00 02 10 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "4e 00 00 00 00 00 00 00  bc 0a 00 00 00 00 00 00",
      "@8+32 backtrace p0 t=100,100ns thread=77/78 frames\n"
      "@40+40 backtrace p0 t=100,100ns thread=77/78 frames=abc\n",
      "" },
    { "case 58: backtrace by thread index", FXT_END,
      THREAD_1 "4a 00 12 20 00 00 00 00  64 00 00 00 00 00 00 00  bc 0a 00 00 00 00 00 00 "
               "ef 0d 00 00 00 00 00 00",
      "@8+24 thread p0 thread=10/11 index=1\n"
      "@32+32 backtrace p0 t=100,100ns thread[1]=10/11 frames=abc,def\n",
      "" },
    { "case 58: count larger than the size allows", FXT_END,
      "5a 00 02 90 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "4e 00 00 00 00 00 00 00  bc 0a 00 00 00 00 00 00",
      "@8+40 backtrace p0 t=100,100ns thread=77/78 frames=abc\n", "wrong_count=1@8+0" },
    { "case 58: count smaller than the size allows", FXT_END,
      "6a 00 02 10 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 "
      "4e 00 00 00 00 00 00 00  bc 0a 00 00 00 00 00 00  ef 0d 00 00 00 00 00 00",
      "@8+48 backtrace p0 t=100,100ns thread=77/78 frames=abc,def\n", "wrong_count=1@8+0" },
    { "case 58: backtrace without its thread", FXT_END,
      "3a 00 02 00 00 00 00 00  64 00 00 00 00 00 00 00  4d 00 00 00 00 00 00 00 " THREAD_1,
      "@32+24 thread p0 thread=10/11 index=1\n", "bad_record=1@8+24" },
};

START_TEST(reads_profiler_records)
{
    check_reading(&profiler[_i]);
}
END_TEST

/* ---- Traces that are too long to show ---- */

#define MAGIC_WORD UINT64_C(0x0016547846040010)

static uint8_t large[9000 * 8];
static char text[200000];
static struct reading result;

static void put_word(size_t index, uint64_t word)
{
    for (size_t i = 0; i < 8; i++)
        large[8 * index + i] = (uint8_t)(word >> (8 * i));
}

/* The magic record, then 'x' to the end of large.  */
static void fill_large(void)
{
    memset(large, 'x', sizeof large);
    put_word(0, MAGIC_WORD);
}

/* In pieces as a pipe would give them.  */
static enum fxt_status read_large(size_t words, uint64_t max_record_bytes)
{
    const struct fxt_reader_options options = { .size = sizeof options,
                                                .max_record_bytes = max_record_bytes };
    struct source source;

    return describe_input(open_bytes(&source, large, 8 * words, 5000), &options, text, sizeof text,
                          &result);
}

static void assert_damage(const char *expected)
{
    char found[512];

    describe_damage(&result.damage, found, sizeof found);
    ck_assert_str_eq(found, expected);
}

/* Fails unless text holds label, followed by count times 'x', as itself or in hex.  */
static void assert_text(const char *label, size_t count, const char *x)
{
    const char *found = strstr(text, label);

    ck_assert_msg(found != NULL, "no %s in %.200s", label, text);
    ck_assert_uint_eq(strspn(found + strlen(label), x), count * strlen(x));
}

/* Case 1.  */
START_TEST(case_1_reads_an_empty_file)
{
    ck_assert_int_eq(read_large(0, 0), FXT_END);
    ck_assert_uint_eq(result.records, 0);
    ck_assert_uint_eq(result.offset, 0);
    assert_damage("");
}
END_TEST

/* Case 2.  */
START_TEST(case_2_counts_stray_bytes)
{
    size_t stray = (size_t)_i;
    struct fxt_damage damage;

    fill_large();
    put_word(1, MAGIC_WORD);
    ck_assert_int_eq(describe_all(large, stray, 0, text, sizeof text, &damage), FXT_END);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].count, 1);
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].first_offset, 0);
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].bytes, stray);

    ck_assert_int_eq(describe_all(large, 8 + stray, 0, text, sizeof text, &damage), FXT_END);
    ck_assert_str_eq(text, MAGIC_LINE);
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].count, 1);
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].first_offset, 8);
    ck_assert_uint_eq(damage.kinds[FXT_DAMAGE_STRAY_BYTES].bytes, stray);
}
END_TEST

/* Case 7.  */
START_TEST(case_7_passes_over_zero_fill)
{
    memset(large, 0, sizeof large);
    ck_assert_int_eq(read_large(513, 0), FXT_END);
    ck_assert_uint_eq(result.records, 0);
    assert_damage("zero_words=513@0+4104 no_magic=1@0+0");

    put_word(0, MAGIC_WORD);
    ck_assert_int_eq(read_large(513, 0), FXT_END);
    ck_assert_uint_eq(result.records, 1);
    assert_damage("zero_words=512@8+4096");
}
END_TEST

/* Case 10: a blob of 4095 words.  */
START_TEST(case_10_reads_the_largest_record_that_12_bits_allow)
{
    fill_large();
    put_word(1, 5 | 4095u << 4 | UINT64_C(32752) << 32 | UINT64_C(255) << 48);
    put_word(1 + 4095, MAGIC_WORD);
    ck_assert_int_eq(read_large(1 + 4095 + 1, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage("");
    assert_text("@8+32760 blob p0 type=255 payload=", 32752, "78");

    /* The length field could say more than there is room for.  */
    put_word(1, 5 | 4095u << 4 | UINT64_C(32753) << 32 | UINT64_C(255) << 48);
    ck_assert_int_eq(read_large(1 + 4095 + 1, 0), FXT_END);
    ck_assert_uint_eq(result.records, 2);
    assert_damage("bad_record=1@8+32760");
}
END_TEST

/* Case 25: no limit of 32,000 bytes, as no reader has one for string records.  */
START_TEST(case_25_registers_the_longest_string)
{
    fill_large();
    put_word(1, 2 | 4095u << 4 | 1u << 16 | UINT64_C(32752) << 32);
    put_word(4096, 7 | 2u << 4 | UINT64_C(1) << 24); /* a kernel object of that name */
    put_word(4097, 77);
    ck_assert_int_eq(read_large(4098, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage("");
    assert_text("kernel_object p0 name[1]='", 32752, "x");
}
END_TEST

/* Case 29: the document's limit of 32,000 bytes is not ours.  */
START_TEST(case_29_reads_an_inline_string_of_32001_bytes)
{
    fill_large();
    put_word(1, 7 | 4003u << 4 | UINT64_C(0xfd01) << 24);
    put_word(2, 77);
    put_word(4004, MAGIC_WORD);
    ck_assert_int_eq(read_large(4005, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage("");
    assert_text("kernel_object p0 name='", 32001, "x");
}
END_TEST

/* Cases 15, 57.  */
START_TEST(case_57_reads_names_and_build_ids_of_255_bytes)
{
    fill_large();
    put_word(1, UINT64_C(33) << 4 | 1u << 16 | 5u << 20 | UINT64_C(255) << 52);
    put_word(34, 10 | 68u << 4 | UINT64_C(9) << 28 | UINT64_C(255) << 44 | UINT64_C(255) << 52);
    put_word(35, 100);
    put_word(36, 77);
    put_word(37, 0);
    ck_assert_int_eq(read_large(102, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage("");
    assert_text("provider_info p5 name='", 255, "x");
    assert_text("module p5 t=100,100ns thread=77/0 name='", 255, "x");
    assert_text("id=9 build_id=", 255, "78");
}
END_TEST

/* Case 58: a count of 8 bits cannot say 256; the size does.  */
START_TEST(case_58_reads_256_frames_that_the_count_calls_0)
{
    static const int counts[] = { 255, 256 };
    unsigned count = (unsigned)counts[_i];

    fill_large();
    put_word(1, 10 | (4 + count) << 4 | 2u << 16 | (uint64_t)(count & 0xff) << 28);
    put_word(2, 100);
    put_word(3, 77);
    put_word(4, 78);
    for (size_t i = 0; i < count; i++)
        put_word(5 + i, i);
    put_word(5 + count, MAGIC_WORD);
    ck_assert_int_eq(read_large(6 + count, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage(count == 256 ? "wrong_count=1@8+0" : "");
    ck_assert_ptr_nonnull(strstr(text, count == 256 ? ",fe,ff\n" : ",fd,fe\n"));
}
END_TEST

/* A large blob without metadata of so many words, then the magic record.  */
static size_t put_large_blob(size_t index, uint64_t words)
{
    put_word(index, 15 | words << 4 | UINT64_C(1) << 40);
    put_word(index + 1, 0);
    put_word(index + 2, 8 * (words - 3));
    put_word(index + words, MAGIC_WORD);
    return index + words + 1;
}

/* Case 11: sizes that 12 bits cannot hold, or hold as 0 and 1.  The window grows for them.  */
START_TEST(case_11_reads_large_records)
{
    static const uint64_t sizes[] = { 3, 4095, 4096, 4097, 8192 };
    size_t words;

    fill_large();
    words = put_large_blob(1, sizes[_i]);
    ck_assert_int_eq(read_large(words, 0), FXT_END);
    ck_assert_uint_eq(result.records, 3);
    assert_damage("");
    assert_text("large_blob p0 format=1 payload=", 8 * (sizes[_i] - 3), "78");
}
END_TEST

START_TEST(grows_its_window_to_a_record_larger_than_it)
{
    const size_t words = 100003; /* 800 kB; the window starts with 256 KiB */
    uint8_t *bytes = malloc(8 * (words + 2));
    struct source source;

    ck_assert_ptr_nonnull(bytes);
    fill_large();
    (void)put_large_blob(1, 8192);
    memset(bytes, 'x', 8 * (words + 2));
    memcpy(bytes, large, 32); /* magic, header, format word, length */
    memcpy(bytes + 8 * (words + 1), large, 8);
    for (size_t i = 0; i < 4; i++) {
        bytes[8 + i] = (uint8_t)((15 | words << 4) >> (8 * i));
        bytes[24 + i] = (uint8_t)(8 * (words - 3) >> (8 * i));
    }
    ck_assert_int_eq(describe_input(open_bytes(&source, bytes, 8 * (words + 2), 4093), NULL, text,
                                    sizeof text, &result),
                     FXT_END);
    free(bytes);
    ck_assert_uint_eq(result.records, 3);
    ck_assert_uint_eq(result.offset, 8 * (words + 2));
    assert_damage("");
}
END_TEST

/* Case 12: what is announced is not allocated.  */
START_TEST(case_12_survives_a_record_of_32_gigabytes_in_a_small_file)
{
    static const uint64_t bounds[] = { 0, UINT64_MAX };

    fill_large();
    put_word(1, 15 | UINT64_C(0xffffffff) << 4);
    ck_assert_int_eq(read_large(8, bounds[_i]), FXT_END);
    ck_assert_uint_eq(result.records, 1);
    ck_assert_uint_eq(result.offset, 64);
    assert_damage("truncated_tail=1@8+56");
}
END_TEST

START_TEST(skips_records_over_the_bound)
{
    size_t words;

    fill_large();
    words = put_large_blob(1, 4096); /* 32,768 bytes: just allowed */
    words = put_large_blob(words, 4097);
    ck_assert_int_eq(read_large(words, 32768), FXT_END);
    ck_assert_uint_eq(result.records, 4);
    assert_damage("oversized_record=1@32784+32776");
    ck_assert_ptr_nonnull(strstr(text, "@65560+8 magic p0")); /* what is behind it, in place */
}
END_TEST

START_TEST(ends_inside_a_record_over_the_bound)
{
    static const size_t cuts[] = { 1, 2, 700, 4096 };

    fill_large();
    (void)put_large_blob(1, 4097);
    ck_assert_int_eq(read_large(1 + cuts[_i], 32768), FXT_END);
    ck_assert_uint_eq(result.records, 1);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_OVERSIZED_RECORD].count, 0);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_TRUNCATED_TAIL].count, 1);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_TRUNCATED_TAIL].first_offset, 8);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_TRUNCATED_TAIL].bytes, 8 * cuts[_i]);
}
END_TEST

START_TEST(refuses_options_it_cannot_honour)
{
    struct fxt_reader_options options = { .size = sizeof options, .max_record_bytes = 32767 };
    struct fxt_reader *reader = NULL;
    struct fxt_error error;
    struct source source;
    struct fxt_input *input = open_bytes(&source, large, 8, 0);

    ck_assert_int_eq(fxt_reader_open(input, &options, &reader, &error), FXT_INVALID);
    ck_assert_int_eq(error.status, FXT_INVALID);
    ck_assert_str_eq(error.message, "max_record_bytes is below 32,768");
    options = (struct fxt_reader_options){ .size = sizeof options - 1 };
    ck_assert_int_eq(fxt_reader_open(input, &options, &reader, &error), FXT_INVALID);
    ck_assert_str_eq(error.message, "reader options of another version");
    ck_assert_ptr_null(reader);
    fxt_input_close(input);
}
END_TEST

/* Offsets in errors lead to the place.  */
START_TEST(says_where_a_record_of_size_0_stands)
{
    fill_large();
    put_word(1, MAGIC_WORD);
    put_word(2, 0x00050000);
    ck_assert_int_eq(read_large(4, 0), FXT_FATAL);
    ck_assert_uint_eq(result.records, 2);
    ck_assert_uint_eq(result.offset, 16);
    ck_assert_uint_eq(result.error.offset, 16);
    ck_assert_int_eq(result.error.system_errno, 0);
    ck_assert_str_eq(result.error.message,
                     "record of size 0 at offset 16; nothing after it can be read");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_reader");
    TCase *tcase = tcase_create("reader");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, passes_over_what_is_no_record, 0, ROWS(no_records));
    tcase_add_loop_test(tcase, keeps_a_context_for_each_provider, 0, ROWS(providers));
    tcase_add_loop_test(tcase, takes_the_clock_from_the_initialization, 0, ROWS(clocks));
    tcase_add_loop_test(tcase, registers_strings, 0, ROWS(strings));
    tcase_add_loop_test(tcase, registers_threads, 0, ROWS(threads));
    tcase_add_loop_test(tcase, reads_events, 0, ROWS(events));
    tcase_add_loop_test(tcase, reads_arguments, 0, ROWS(arguments));
    tcase_add_loop_test(tcase, reads_blobs, 0, ROWS(blobs));
    tcase_add_loop_test(tcase, reads_objects, 0, ROWS(objects));
    tcase_add_loop_test(tcase, reads_scheduling_and_logs, 0, ROWS(scheduling));
    tcase_add_loop_test(tcase, reads_profiler_records, 0, ROWS(profiler));
    tcase_add_test(tcase, case_1_reads_an_empty_file);
    tcase_add_loop_test(tcase, case_2_counts_stray_bytes, 1, 8);
    tcase_add_test(tcase, case_7_passes_over_zero_fill);
    tcase_add_test(tcase, case_10_reads_the_largest_record_that_12_bits_allow);
    tcase_add_test(tcase, case_25_registers_the_longest_string);
    tcase_add_test(tcase, case_29_reads_an_inline_string_of_32001_bytes);
    tcase_add_test(tcase, case_57_reads_names_and_build_ids_of_255_bytes);
    tcase_add_loop_test(tcase, case_58_reads_256_frames_that_the_count_calls_0, 0, 2);
    tcase_add_loop_test(tcase, case_11_reads_large_records, 0, 5);
    tcase_add_test(tcase, grows_its_window_to_a_record_larger_than_it);
    tcase_add_loop_test(tcase, case_12_survives_a_record_of_32_gigabytes_in_a_small_file, 0, 2);
    tcase_add_test(tcase, skips_records_over_the_bound);
    tcase_add_loop_test(tcase, ends_inside_a_record_over_the_bound, 0, 4);
    tcase_add_test(tcase, refuses_options_it_cannot_honour);
    tcase_add_test(tcase, says_where_a_record_of_size_0_stands);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
