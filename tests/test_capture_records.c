/* perf records and the rings they come in.  */
#include "sampler-capture/cpu/ring.h"
#include "sampler-capture/perf_record.h"
#include "tests/support/perf_bytes.h"

#include <check.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct perf_bytes bytes;

static void setup(void)
{
    bytes.size = 0;
}

START_TEST(reads_a_sample)
{
    static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
    struct perf_record record;

    perf_bytes_sample(&bytes, 5, 6, 700, chain, 3);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_SAMPLE);
    ck_assert_uint_eq(record.pid, 5);
    ck_assert_uint_eq(record.tid, 6);
    ck_assert_uint_eq(record.time_ns, 700);
    ck_assert_uint_eq(record.value.sample.count, 3);
}
END_TEST

#define REGISTER_COUNT ((size_t)__builtin_popcountll(PERF_USER_REGISTERS))

static const uint64_t some_words[64] = { 1, 2, 3, 4 };
static const uint64_t some_chain[] = { PERF_CONTEXT_USER, 0x401000 };

static const struct perf_bytes_stack stack_sample = { .pid = 5,
                                                      .tid = 6,
                                                      .time_ns = 700,
                                                      .chain = some_chain,
                                                      .chain_count = 2,
                                                      .abi = PERF_SAMPLE_REGS_ABI_64,
                                                      .registers = some_words,
                                                      .register_count = REGISTER_COUNT,
                                                      .stack = some_words,
                                                      .room = 64,
                                                      .filled = 32 };

START_TEST(reads_registers_and_stack)
{
    struct perf_bytes_stack sample = stack_sample;
    struct perf_record record;

    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_uint_eq(record.value.sample.count, 2);
    ck_assert_uint_eq(record.value.sample.abi, PERF_SAMPLE_REGS_ABI_64);
    ck_assert_mem_eq(record.value.sample.registers, some_words, 8 * REGISTER_COUNT);
    ck_assert_mem_eq(record.value.sample.stack, some_words, 32);
    ck_assert_uint_eq(record.value.sample.stack_size, 32);
    bytes.size = 0;
    sample.abi = PERF_SAMPLE_REGS_ABI_NONE;
    sample.room = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_uint_eq(record.value.sample.abi, PERF_SAMPLE_REGS_ABI_NONE);
    ck_assert_uint_eq(record.value.sample.stack_size, 0);
}
END_TEST

START_TEST(refuses_stacks_that_are_not_there)
{
    struct perf_bytes_stack sample = stack_sample;
    struct perf_record record;

    sample.filled = 65;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(!perf_record_parse(bytes.bytes, bytes.size, &record));
    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &stack_sample);
    for (size_t size = 8 + 16 + 8 + 16 + 8; size < bytes.size; size++)
        ck_assert(!perf_record_parse(bytes.bytes, size, &record));
}
END_TEST

START_TEST(reads_a_mapping_with_build_id)
{
    struct perf_record record;

    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = 5,
                                                    .tid = 6,
                                                    .time_ns = 9,
                                                    .start = 0x1000,
                                                    .length = 0x2000,
                                                    .file_offset = 0x3000,
                                                    .name = "/lib/libc.so",
                                                    .build_id = "abcdefghijklmnopqrst" });
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_MAP);
    ck_assert_uint_eq(record.time_ns, 9);
    ck_assert_uint_eq(record.value.map.start, 0x1000);
    ck_assert_uint_eq(record.value.map.length, 0x2000);
    ck_assert_uint_eq(record.value.map.file_offset, 0x3000);
    ck_assert_uint_eq(record.value.map.build_id_size, 20);
    ck_assert_mem_eq(record.value.map.build_id, "abcdefghijklmnopqrst", 20);
    ck_assert_uint_eq(record.value.map.protection, PROT_READ | PROT_EXEC);
    ck_assert_str_eq(record.value.map.name, "/lib/libc.so");
}
END_TEST

START_TEST(reads_a_mapping_with_inode)
{
    struct perf_record record;

    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = 5, .tid = 5, .name = "x", .inode = 42 });
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_uint_eq(record.value.map.build_id_size, 0);
    ck_assert_uint_eq(record.value.map.inode, 42);
    ck_assert_uint_eq(record.value.map.device, (uint64_t)8 << 32 | 1);
}
END_TEST

START_TEST(tells_an_exec_from_a_new_name)
{
    struct perf_record record;
    size_t first;

    perf_bytes_name(&bytes, 5, 5, 1, "gcc", true);
    first = bytes.size;
    perf_bytes_name(&bytes, 5, 6, 2, "worker", false);
    ck_assert(perf_record_parse(bytes.bytes, first, &record));
    ck_assert(record.value.name.exec);
    ck_assert_str_eq(record.value.name.text, "gcc");
    ck_assert(perf_record_parse(bytes.bytes + first, bytes.size - first, &record));
    ck_assert(!record.value.name.exec);
    ck_assert_str_eq(record.value.name.text, "worker");
    ck_assert_uint_eq(record.tid, 6);
}
END_TEST

START_TEST(reads_forks_exits_losses_and_throttling)
{
    struct perf_record record;

    perf_bytes_fork(&bytes, 10, 5, 11, 6, 100);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_FORK);
    ck_assert_uint_eq(record.pid, 10);
    ck_assert_uint_eq(record.tid, 11);
    ck_assert_uint_eq(record.value.fork.parent_pid, 5);
    ck_assert_uint_eq(record.value.fork.parent_tid, 6);
    setup();
    perf_bytes_exit(&bytes, 10, 11, 100);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_EXIT);
    setup();
    perf_bytes_lost(&bytes, 33, 100);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_LOST);
    ck_assert_uint_eq(record.value.lost, 33);
    setup();
    perf_bytes_throttle(&bytes, 100);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert_int_eq(record.kind, PERF_KIND_THROTTLE);
}
END_TEST

/* The parser gets an exact copy, so that a read behind the end is one the sanitizer sees.  */
START_TEST(refuses_every_cut_of_a_record)
{
    static const uint64_t chain[] = { PERF_CONTEXT_USER, 1 };
    struct perf_record record;

    if (_i == 0)
        perf_bytes_sample(&bytes, 5, 6, 700, chain, 2);
    else if (_i == 1)
        perf_bytes_map(&bytes,
                       (struct perf_bytes_map){ .name = "/x", .build_id = "01234567890123456789" });
    else if (_i == 2)
        perf_bytes_fork(&bytes, 1, 2, 3, 4, 5);
    else
        perf_bytes_lost(&bytes, 1, 2);
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes.bytes, size);
        /* What is cut by 8 may still hold fields, but then not the text's end or the id.  */
        if (perf_record_parse(copy, size, &record))
            ck_assert_uint_ge(size, bytes.size - 16);
        free(copy);
    }
}
END_TEST

START_TEST(refuses_a_chain_longer_than_its_record)
{
    static const uint64_t chain[] = { PERF_CONTEXT_USER, 1 };
    static const uint64_t counts[] = { 3, UINT64_MAX, UINT64_MAX / 8 + 1 };
    struct perf_record record;

    perf_bytes_sample(&bytes, 5, 6, 700, chain, 2);
    memcpy(bytes.bytes + 24, &counts[_i], 8);
    ck_assert(!perf_record_parse(bytes.bytes, bytes.size, &record));
}
END_TEST

START_TEST(refuses_a_name_without_end)
{
    struct perf_record record;

    perf_bytes_name(&bytes, 5, 5, 1, "abcdefg", false);
    bytes.bytes[8 + 8 + 7] = 'h';
    ck_assert(!perf_record_parse(bytes.bytes, bytes.size, &record));
}
END_TEST

static const struct {
    const char *name;
    uint64_t chain[8];
    size_t count;
    uint64_t frames[4];
    size_t frame_count;
} chains[] = {
    { "user only", { PERF_CONTEXT_USER, 1, 2, 3 }, 4, { 1, 2, 3 }, 3 },
    { "kernel part first", { PERF_CONTEXT_KERNEL, 9, 8, PERF_CONTEXT_USER, 1 }, 5, { 1 }, 1 },
    { "kernel only", { PERF_CONTEXT_KERNEL, 9, 8 }, 3, { 0 }, 0 },
    { "no marker", { 9, 8 }, 2, { 0 }, 0 },
    { "nothing", { 0 }, 0, { 0 }, 0 },
    { "ends at a zero", { PERF_CONTEXT_USER, 1, 2, 0, 4 }, 5, { 1, 2 }, 2 },
    { "zero at the leaf", { PERF_CONTEXT_USER, 0, 2 }, 3, { 0 }, 0 },
    { "guest after user", { PERF_CONTEXT_USER, 1, PERF_CONTEXT_GUEST, 2 }, 4, { 1 }, 1 },
    { "more than the room", { PERF_CONTEXT_USER, 1, 2, 3, 4, 5, 6 }, 7, { 1, 2, 3, 4 }, 4 },
};

START_TEST(takes_the_user_part_of_a_chain)
{
    uint64_t frames[4] = { 0 };
    size_t count = perf_record_frames((const uint8_t *)chains[_i].chain, chains[_i].count, false,
                                      (uint8_t *)frames, 4);

    ck_assert_msg(count == chains[_i].frame_count, "%s: %zu frames", chains[_i].name, count);
    ck_assert_mem_eq(frames, chains[_i].frames, sizeof frames);
}
END_TEST

START_TEST(takes_kernel_frames_before_those_of_the_user)
{
    static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 10, 11, PERF_CONTEXT_USER, 1, 2 };
    uint64_t frames[4] = { 0 };

    ck_assert_uint_eq(perf_record_frames((const uint8_t *)chain, 6, true, (uint8_t *)frames, 4), 4);
    ck_assert_uint_eq(frames[0], 10);
    ck_assert_uint_eq(frames[1], 11);
    ck_assert_uint_eq(frames[2], 1 + 1); /* exact: readers look for a call before it */
    ck_assert_uint_eq(frames[3], 2);
    ck_assert_uint_eq(perf_record_frames((const uint8_t *)chain, 6, true, (uint8_t *)frames, 3), 3);
    ck_assert_uint_eq(perf_record_frames((const uint8_t *)chain, 3, true, (uint8_t *)frames, 4), 2);
}
END_TEST

/* What /proc says goes through the same queue as what the kernel says.  */
START_TEST(what_is_encoded_reads_back)
{
    struct perf_record record = { .kind = PERF_KIND_MAP, .pid = 7, .tid = 8, .time_ns = 9 }, back;
    uint8_t written[512];
    size_t size = 0;

    record.value.map = (struct perf_map){ .start = 0x1000,
                                          .length = 0x2000,
                                          .file_offset = 0x3000,
                                          .device = (uint64_t)8 << 32 | 1,
                                          .inode = 5,
                                          .protection = 5,
                                          .name = "/usr/bin/x y" };
    ck_assert(perf_record_encode(&record, written, sizeof written, &size));
    ck_assert(perf_record_parse(written, size, &back));
    ck_assert_int_eq(back.kind, PERF_KIND_MAP);
    ck_assert_uint_eq(back.pid, 7);
    ck_assert_uint_eq(back.tid, 8);
    ck_assert_uint_eq(back.time_ns, 9);
    ck_assert_uint_eq(back.value.map.start, 0x1000);
    ck_assert_uint_eq(back.value.map.length, 0x2000);
    ck_assert_uint_eq(back.value.map.file_offset, 0x3000);
    ck_assert_uint_eq(back.value.map.device, (uint64_t)8 << 32 | 1);
    ck_assert_uint_eq(back.value.map.inode, 5);
    ck_assert_uint_eq(back.value.map.protection, 5);
    ck_assert_str_eq(back.value.map.name, "/usr/bin/x y");
    for (size_t room = 0; room < size; room++)
        ck_assert(!perf_record_encode(&record, written, room, &size));

    record = (struct perf_record){ .kind = PERF_KIND_NAME, .pid = 7, .tid = 8, .time_ns = 9 };
    record.value.name.text = "worker";
    ck_assert(perf_record_encode(&record, written, sizeof written, &size));
    ck_assert(perf_record_parse(written, size, &back));
    ck_assert_str_eq(back.value.name.text, "worker");
    ck_assert(!back.value.name.exec);

    record = (struct perf_record){ .kind = PERF_KIND_FORK, .pid = 7, .tid = 8, .time_ns = 9 };
    record.value.fork.parent_pid = 1;
    record.value.fork.parent_tid = 2;
    ck_assert(perf_record_encode(&record, written, sizeof written, &size));
    ck_assert(perf_record_parse(written, size, &back));
    ck_assert_int_eq(back.kind, PERF_KIND_FORK);
    ck_assert_uint_eq(back.tid, 8);
    ck_assert_uint_eq(back.value.fork.parent_tid, 2);

    record.kind = PERF_KIND_SAMPLE; /* nobody needs it */
    ck_assert(!perf_record_encode(&record, written, sizeof written, &size));
}
END_TEST

/* ---- Rings ---- */

#define RING_SIZE 256

/* A ring as mmap() gives it, filled by hand.  */
static struct perf_event_mmap_page control;
static uint8_t data[RING_SIZE];

static void kernel_writes(const struct perf_bytes *records)
{
    for (size_t i = 0; i < records->size; i++)
        data[(control.data_head + i) % RING_SIZE] = records->bytes[i];
    control.data_head += records->size;
}

START_TEST(reads_records_that_wrap_around)
{
    static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401000 };
    struct perf_record record;
    struct ring ring;
    const uint8_t *found;
    size_t size;
    bool corrupt = false;

    control = (struct perf_event_mmap_page){ .data_head = (uint64_t)_i * 8,
                                             .data_tail = (uint64_t)_i * 8 };
    ring_init(&ring, &control, data, RING_SIZE);
    for (uint64_t time = 1; time < 20; time++) {
        setup();
        perf_bytes_sample(&bytes, 5, 6, time, chain, 2);
        perf_bytes_lost(&bytes, time, time);
        kernel_writes(&bytes);
        ring_begin(&ring);
        found = ring_next(&ring, &size, &corrupt);
        ck_assert_ptr_nonnull(found);
        ck_assert(perf_record_parse(found, size, &record));
        ck_assert_uint_eq(record.time_ns, time);
        ck_assert_uint_eq(record.value.sample.count, 2);
        found = ring_next(&ring, &size, &corrupt);
        ck_assert_ptr_nonnull(found);
        ck_assert(perf_record_parse(found, size, &record));
        ck_assert_uint_eq(record.value.lost, time);
        ck_assert_ptr_null(ring_next(&ring, &size, &corrupt));
        ck_assert_uint_ne(control.data_tail, control.data_head);
        ring_end(&ring);
        ck_assert_uint_eq(control.data_tail, control.data_head);
    }
    ck_assert(!corrupt);
    ring_release(&ring);
}
END_TEST

static const uint16_t bad_sizes[] = { 0, 4, 9, 64 };

START_TEST(skips_a_ring_whose_sizes_make_no_sense)
{
    struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = bad_sizes[_i] };
    struct ring ring;
    size_t size;
    bool corrupt = false;

    control = (struct perf_event_mmap_page){ .data_head = 32 };
    memcpy(data, &header, sizeof header);
    ring_init(&ring, &control, data, RING_SIZE);
    ring_begin(&ring);
    ck_assert_ptr_null(ring_next(&ring, &size, &corrupt));
    ck_assert(corrupt);
    ring_end(&ring);
    ck_assert_uint_eq(control.data_tail, 32);
    ring_release(&ring);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_records");
    TCase *tcase = tcase_create("records");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, reads_a_sample);
    tcase_add_test(tcase, reads_registers_and_stack);
    tcase_add_test(tcase, refuses_stacks_that_are_not_there);
    tcase_add_test(tcase, reads_a_mapping_with_build_id);
    tcase_add_test(tcase, reads_a_mapping_with_inode);
    tcase_add_test(tcase, tells_an_exec_from_a_new_name);
    tcase_add_test(tcase, reads_forks_exits_losses_and_throttling);
    tcase_add_loop_test(tcase, refuses_every_cut_of_a_record, 0, 4);
    tcase_add_loop_test(tcase, refuses_a_chain_longer_than_its_record, 0, 3);
    tcase_add_test(tcase, refuses_a_name_without_end);
    tcase_add_test(tcase, takes_kernel_frames_before_those_of_the_user);
    tcase_add_test(tcase, what_is_encoded_reads_back);
    tcase_add_loop_test(tcase, takes_the_user_part_of_a_chain, 0, sizeof chains / sizeof *chains);
    tcase_add_loop_test(tcase, reads_records_that_wrap_around, 0, RING_SIZE / 8);
    tcase_add_loop_test(tcase, skips_a_ring_whose_sizes_make_no_sense, 0, 4);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
