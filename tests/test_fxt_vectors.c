/* The 36 byte vectors of docs/formats/fxt.md section 7, every decoded field compared.  Each
 * vector is read alone, so references by index stay unresolved ("[5]?") and the lack of a magic
 * record is counted.  */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/fxt_vectors.h"

#define VECTOR_COUNT (sizeof fxt_vectors / sizeof *fxt_vectors)

/* In the order of the vectors.  */
static const struct {
    enum fxt_status status;
    const char *damage;
    const char *records;
} expected[] = {
    { /* V1 magic */
      FXT_END, "", "@0+8 magic p0 number=16547846\n" },
    { /* V2 provider info */
      FXT_END, "no_magic=1@0+0", "@0+16 provider_info p12345678 name='abc' id=12345678\n" },
    { /* V3 provider section */
      FXT_END, "no_magic=1@0+0", "@0+8 provider_section p7 id=7\n" },
    { /* V4 provider event */
      FXT_END, "provider_loss=1@0+0 no_magic=1@0+0", "@0+8 provider_event p0 id=7 event=0\n" },
    { /* V5 init */
      FXT_END, "no_magic=1@0+0", "@0+16 init p0 ticks_per_second=24000000\n" },
    { /* V6 init extended */
      FXT_END, "no_magic=1@0+0",
      "@0+32 init p0 ticks_per_second=1000000000 base_ticks=0 "
      "base_time_ns=1700000000123456789\n" },
    { /* V7 string */
      FXT_END, "no_magic=1@0+0", "@0+24 string p0 name='helloé..' index=32767\n" },
    { /* V8 thread */
      FXT_END, "no_magic=1@0+0", "@0+24 thread p0 thread=5151/6262 index=255\n" },
    { /* V9 instant */
      FXT_END, "unresolved_string=1@0+0 no_magic=1@0+0",
      "@0+56 event p0 t=1000,1000ns thread=10/20 category='cat' name='instants' "
      "instant(0) arg[5]?:int32 -42\n" },
    { /* V10 duration complete */
      FXT_END, "unresolved_string=2@0+0 unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+72 event p0 t=3000,3000ns thread[255]? category[1]? name[2]? "
      "duration_complete(4) end=3700,3700ns arg='path':string value='/tmp/x' "
      "arg='self':pointer 0x5ab0c0de\n" },
    { /* V11 counter */
      FXT_END, "unresolved_string=3@0+0 unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+56 event p0 t=5,5ns thread[1]? name[3]? counter(1) id=77 arg[4]?:uint64 "
      "18446744073709551615 arg[5]?:double -2.5\n" },
    { /* V12 every argument type */
      FXT_END, "unresolved_string=14@0+0 unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+152 event p0 t=9,9ns thread[1]? category[1]? name[2]? instant(0) "
      "arg[1]?:null arg[1]?:int32 -2147483648 arg[1]?:uint32 4294967295 arg[1]?:int64 "
      "-9223372036854775808 arg[1]?:uint64 9223372036854775808 arg[1]?:double 1 "
      "arg[1]?:string value[2]? arg[1]?:pointer 0xdeadbeef arg[1]?:koid 1234 "
      "arg[1]?:bool true arg[1]?:blob 010203\n" },
    { /* V13 flow begin, step, end */
      FXT_END, "unresolved_thread=3@0+0 no_magic=1@0+0",
      "@0+24 event p0 t=18,18ns thread[1]? flow_begin(8) id=100\n"
      "@24+24 event p0 t=19,19ns thread[1]? flow_step(9) id=100\n"
      "@48+24 event p0 t=20,20ns thread[1]? flow_end(10) id=100\n" },
    { /* V14 blob */
      FXT_END, "no_magic=1@0+0", "@0+32 blob p0 name='snapshot9' type=3 payload=0a03010203\n" },
    { /* V15 userspace object, documented form */
      FXT_END, "unresolved_string=1@0+0 no_magic=1@0+0",
      "@0+40 userspace_object p0 thread=42/0 name='obj' pointer=7fff00001000 "
      "arg[1]?:uint32 7\n" },
    { /* V16 userspace object, C++ serializer form */
      FXT_END, "unresolved_string=1@0+0 no_magic=1@0+0",
      "@0+48 userspace_object p0 thread=42/43 name='obj' pointer=7fff00001000 "
      "arg[1]?:uint32 7\n" },
    { /* V17 kernel object */
      FXT_END, "no_magic=1@0+0",
      "@0+48 kernel_object p0 name='worker' type=2 koid=6262 arg='process':koid 5151\n" },
    { /* V18 legacy context switch */
      FXT_END, "unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+32 legacy_context_switch p0 t=500,500ns cpu=3 state=3 out=2 in=0 "
      "outgoing=1/2 incoming[255]? priorities=16,31\n" },
    { /* V19 context switch */
      FXT_END, "no_magic=1@0+0",
      "@0+80 context_switch p0 t=9000,9000ns cpu=300 state=3 out=71 in=72 "
      "arg='incoming_weight':int32 40 arg='outgoing_weight':int32 -2147483648\n" },
    { /* V20 thread wakeup */
      FXT_END, "no_magic=1@0+0",
      "@0+48 thread_wakeup p0 t=8000,8000ns cpu=65535 state=0 out=0 in=72 "
      "arg='waker':koid 71\n" },
    { /* V21 log */
      FXT_END, "no_magic=1@0+0",
      "@0+48 log p0 t=1500,1500ns thread=33/34 message='disk is hot'\n" },
    { /* V22 profiler module */
      FXT_END, "no_magic=1@0+0",
      "@0+72 module p0 t=4400,4400ns thread=77/0 name='libdemo.so' id=513 "
      "build_id=a1b2c3d4e5f60718293a4b5c6d7e8f9001122334\n" },
    { /* V23 profiler mapping */
      FXT_END, "no_magic=1@0+0",
      "@0+56 mapping p0 t=4400,4400ns thread=77/0 module=513 start=41d2340120 "
      "length=2f31 vaddr=1120 flags=5\n" },
    { /* V24 profiler backtrace */
      FXT_END, "no_magic=1@0+0",
      "@0+48 backtrace p0 t=4400,4400ns thread=77/78 frames=41d2341234,41d2340120\n" },
    { /* V25 large blob with metadata (kernel sampler shape) */
      FXT_END, "no_magic=1@0+0",
      "@0+64 large_blob p0 t=123456,123456ns thread=77/78 format=0 "
      "payload=341234d241000000200134d241000000\n" },
    { /* V26 large blob without metadata */
      FXT_END, "unresolved_string=1@0+0 no_magic=1@0+0",
      "@0+40 large_blob p0 category='cat' name[2]? format=1 payload=3132333435\n" },
    { /* V27 zero padding then a record */
      FXT_END, "zero_words=2@0+16 no_magic=1@0+0", "@16+24 thread p0 thread=3/4 index=1\n" },
    { /* V28 corrupt size */
      FXT_FATAL, "size_zero=1@0+0 no_magic=1@0+0", "" },
    { /* V29 truncated tail */
      FXT_END, "truncated_tail=1@0+12 no_magic=1@0+0", "" },
    { /* V30 unknown record type */
      FXT_END, "unknown_record=1@0+0 no_magic=1@0+0",
      "@0+24 unknown p0 type=11 subtype=0 words=1234003b,1,2\n"
      "@24+8 magic p0 number=16547846\n" },
    { /* V31 string longer than its record */
      FXT_END, "bad_record=1@0+24 no_magic=1@0+0", "" },
    { /* V32 instant with scope word */
      FXT_END, "unresolved_string=2@0+0 unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+24 event p0 t=50,50ns thread[1]? category[1]? name[2]? instant(0) scope=2\n" },
    { /* V33 mapping through a thread index */
      FXT_END, "unresolved_thread=1@0+0 no_magic=1@0+0",
      "@0+40 mapping p0 t=1,1ns thread[9]? module=65535 start=1000 length=2000 vaddr=0 "
      "flags=4\n" },
    { /* V34 module, superseded one-word inline form */
      FXT_END, "no_magic=1@0+0",
      "@0+40 module p0 t=1,1ns thread=77/0 name='libc' id=1 build_id=0001020304050607\n" },
    { /* V35 backtrace whose count byte wrapped */
      FXT_END, "truncated_tail=1@0+64 no_magic=1@0+0", "" },
    { /* V36 smallest complete CPU profile */
      FXT_END, "",
      "@0+8 magic p0 number=16547846\n"
      "@8+16 init p0 ticks_per_second=1000000000\n"
      "@24+24 kernel_object p0 name='app' type=1 koid=77\n"
      "@48+24 kernel_object p0 name='main' type=2 koid=78\n"
      "@72+48 backtrace p0 t=4400,4400ns thread=77/78 frames=41d2341234,41d2340120\n"
      "@120+48 module p0 t=4400,4400ns thread=77/0 name='app' id=0 build_id=cafe0123\n"
      "@168+56 mapping p0 t=4400,4400ns thread=77/0 module=0 start=41d2340120 "
      "length=2f31 vaddr=1120 flags=5\n" },
};

START_TEST(reads_every_field_of_the_vector)
{
    char records[4096], damage_text[512];
    struct fxt_damage damage;
    enum fxt_status status = describe_all(fxt_vectors[_i].bytes, fxt_vectors[_i].length, 0, records,
                                          sizeof records, &damage);

    describe_damage(&damage, damage_text, sizeof damage_text);
    ck_assert_msg(status == expected[_i].status, "%s: status %d", fxt_vectors[_i].name, status);
    ck_assert_str_eq(records, expected[_i].records);
    ck_assert_str_eq(damage_text, expected[_i].damage);
}
END_TEST

/* Pipes give what they have: byte by byte, or in pieces that cut every word.  */
START_TEST(case_14_reads_the_same_in_pieces)
{
    static const size_t steps[] = { 1, 3, 7, 8, 13 };
    char whole[4096], pieces[4096];

    (void)describe_all(fxt_vectors[_i].bytes, fxt_vectors[_i].length, 0, whole, sizeof whole, NULL);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        (void)describe_all(fxt_vectors[_i].bytes, fxt_vectors[_i].length, steps[i], pieces,
                           sizeof pieces, NULL);
        ck_assert_str_eq(pieces, whole);
    }
}
END_TEST

/* Whatever a bit does: reading ends, stays inside the bytes (the sanitizers watch), and every
 * byte is in a record or in the damage.  */
START_TEST(case_67_survives_each_flipped_bit)
{
    uint8_t bytes[sizeof fxt_vectors[0].bytes];
    char records[8192];

    for (size_t bit = 0; bit < 8 * fxt_vectors[_i].length; bit++) {
        enum fxt_status status;

        memcpy(bytes, fxt_vectors[_i].bytes, fxt_vectors[_i].length);
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        status = describe_all(bytes, fxt_vectors[_i].length, 0, records, sizeof records, NULL);
        ck_assert(status == FXT_END || status == FXT_FATAL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_vectors");
    TCase *cases = tcase_create("vectors");
    SRunner *runner = srunner_create(suite);
    int failed;

    _Static_assert(sizeof expected / sizeof *expected == VECTOR_COUNT, "a row for each vector");
    tcase_add_loop_test(cases, reads_every_field_of_the_vector, 0, (int)VECTOR_COUNT);
    tcase_add_loop_test(cases, case_14_reads_the_same_in_pieces, 0, (int)VECTOR_COUNT);
    tcase_add_loop_test(cases, case_67_survives_each_flipped_bit, 0, (int)VECTOR_COUNT);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
