/* Stacks of samples by what is copied into them, and what side-band records said before.  */
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/unwinding.h"
#include "tests/support/perf_bytes.h"

#include <check.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifdef __x86_64__

#define REGISTER_COUNT ((size_t)__builtin_popcountll(PERF_USER_REGISTERS))

/* In the order of the kernel's mask.  */
enum { RBP = 6, RSP = 7, RIP = 8 };

#define PID      50
#define CODE     0x10000 /* of no file, so it keeps frame pointers */
#define STACK_AT 0x7000

static struct unwinding *unwinding;
static struct perf_bytes bytes;
static uint64_t stack[8];
static uint64_t registers[64];
static uint8_t frames[8 * REGION_FRAMES_LIMIT];

static void map(uint64_t start, uint64_t time_ns)
{
    bytes.size = 0;
    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = PID,
                                                    .tid = PID,
                                                    .time_ns = time_ns,
                                                    .start = start,
                                                    .length = 0x1000,
                                                    .name = "//anon" });
    ck_assert(unwinding_tell(unwinding, bytes.bytes, bytes.size, time_ns));
}

/* Three frames: the code at CODE + 1, called from CODE + 0x20, called from CODE + 0x30.  */
static void setup(void)
{
    unwinding = unwinding_open();
    ck_assert_ptr_nonnull(unwinding);
    stack[0] = STACK_AT + 16; /* the frame of the caller */
    stack[1] = CODE + 0x20;
    stack[2] = 0; /* the chain ends */
    stack[3] = CODE + 0x30;
    registers[RBP] = STACK_AT;
    registers[RSP] = STACK_AT;
    registers[RIP] = CODE + 1;
}

static void teardown(void)
{
    unwinding_close(unwinding);
}

/* A sample whose stack has so many words; the kernel's walk found chain.  */
static size_t walk(uint64_t time_ns, size_t words, const uint64_t *chain, size_t chain_count)
{
    struct perf_bytes_stack sample = { .pid = PID,
                                       .tid = PID,
                                       .time_ns = time_ns,
                                       .chain = chain,
                                       .chain_count = chain_count,
                                       .abi = PERF_SAMPLE_REGS_ABI_64,
                                       .registers = registers,
                                       .register_count = REGISTER_COUNT,
                                       .stack = stack,
                                       .room = sizeof stack,
                                       .filled = 8 * words };
    struct perf_record record;
    size_t count;

    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert(unwinding_frames(unwinding, &record, false, frames, REGION_FRAMES_LIMIT, &count));
    return count;
}

static uint64_t frame(size_t i)
{
    uint64_t address;

    memcpy(&address, frames + 8 * i, sizeof address);
    return address;
}

START_TEST(walks_the_copy)
{
    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 8, NULL, 0), 3);
    ck_assert_uint_eq(frame(0), CODE + 1);
    ck_assert_uint_eq(frame(1), CODE + 0x20);
    ck_assert_uint_eq(frame(2), CODE + 0x30);
    ck_assert_uint_eq(unwinding_counts(unwinding)->whole, 1);
}
END_TEST

/* A mapping that came later than a sample is none for it, in whatever order they were told.  */
START_TEST(applies_what_was_told_up_to_the_sample)
{
    map(CODE + 0x100000, 9);
    map(CODE, 5);
    ck_assert_uint_eq(walk(4, 8, NULL, 0), 1);
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NOT_CODE], 1);
    /* Of a return address, and of a program counter.  */
    ck_assert_str_eq(unwind_end_name(UNWIND_END_NOT_CODE), "an address in no executable mapping");
    ck_assert_uint_eq(walk(6, 8, NULL, 0), 3);
    registers[RIP] = CODE + 0x100000;
    ck_assert_uint_eq(walk(7, 8, NULL, 0), 1);
    ck_assert_uint_eq(walk(9, 8, NULL, 0), 3);
    ck_assert_uint_eq(unwinding_counts(unwinding)->stacks, 4);
}
END_TEST

/* Where the kernel's walk ends does not say that there are no more callers.  */
START_TEST(continues_with_the_kernels_walk)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20, CODE + 0x30, CODE + 0x40 };

    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 5), 4);
    ck_assert_uint_eq(frame(3), CODE + 0x40);
    ck_assert_uint_eq(unwinding_complete(unwinding_counts(unwinding)), 0);
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NO_STACK], 1);
    ck_assert_uint_eq(walk(2, 2, chain, 3), 2); /* it went no further than the copy */
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NO_STACK], 2);
}
END_TEST

/* Four calls from one place: which of them the copy ended in is told by where they are.  */
START_TEST(continues_in_recursion)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1,    CODE + 0x20, CODE + 0x20,
                               CODE + 0x20,       CODE + 0x20, CODE + 0x30 };

    for (size_t i = 0; i < 8; i += 2) {
        stack[i] = STACK_AT + 8 * (i + 2);
        stack[i + 1] = CODE + 0x20;
    }
    map(CODE, 1);
    for (size_t words = 2; words <= 8; words += 2) {
        ck_assert_uint_eq(walk(2, words, chain, 7), 6);
        for (size_t i = 1; i < 5; i++)
            ck_assert_uint_eq(frame(i), CODE + 0x20);
        ck_assert_uint_eq(frame(5), CODE + 0x30);
    }
}
END_TEST

/* The kernel took another way: it begins at the frame pointer, which leads past the callers.  */
START_TEST(leaves_a_walk_that_went_another_way)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x28, CODE + 0x30 };

    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 4), 2);
    ck_assert_uint_eq(frame(1), CODE + 0x20);
}
END_TEST

/* ---- Modules ---- */

extern char _start[]; /* the outermost function of a program, as its table says */

static uint64_t text_start, text_offset; /* of the mapping of this program that has it */

static void find_text(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    uint64_t start, limit, wanted = (uint64_t)(uintptr_t)_start;
    char line[4096];

    ck_assert_ptr_nonnull(file);
    text_start = 0;
    while (text_start == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &limit, &text_offset) ==
                3 &&
            start <= wanted && wanted < limit)
            text_start = start;
    (void)fclose(file);
    ck_assert_uint_ne(text_start, 0);
}

/* A mapping of a file that has the contents of this program, told at time 1.  */
static void map_program(const char *path)
{
    struct stat about;

    find_text();
    ck_assert_int_eq(stat(path, &about), 0);
    bytes.size = 0;
    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = PID,
                                                    .tid = PID,
                                                    .time_ns = 1,
                                                    .start = 0x555500000000,
                                                    .length = 0x100000,
                                                    .file_offset = text_offset,
                                                    .name = path,
                                                    .inode = about.st_ino,
                                                    .device = (uint64_t)major(about.st_dev) << 32 |
                                                              minor(about.st_dev) });
    ck_assert(unwinding_tell(unwinding, bytes.bytes, bytes.size, 1));
}

static uint64_t entry_point(void)
{
    return 0x555500000000 + (uint64_t)(uintptr_t)_start - text_start;
}

/* Of a file that is gone by the time its code is met.  */
static void map_copy(void)
{
    char path[] = "/tmp/unwinding.XXXXXX", command[256];
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    (void)snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), path);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c): of our own making
    map_program(path);
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(is_whole_where_the_kernels_walk_reaches_the_entry_point)
{
    uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20, 0 };

    map_copy();
    map(CODE, 1);
    chain[3] = entry_point() + 8;
    ck_assert_uint_eq(walk(2, 2, chain, 4), 3);
    ck_assert_uint_eq(unwinding_counts(unwinding)->continued, 1);
}
END_TEST

/* When its code is met, the file is gone, and no process has it open.  */
START_TEST(reads_tables_of_a_file_that_is_gone)
{
    map_copy();
    registers[RIP] = entry_point();
    ck_assert_uint_eq(walk(2, 8, NULL, 0), 1);
    ck_assert_uint_eq(unwinding_counts(unwinding)->whole, 1);
}
END_TEST

/* ---- Threads of the kernel ---- */

START_TEST(counts_no_stacks_of_kernel_threads)
{
    const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000100 };
    struct perf_bytes_stack sample = { .pid = PID, .tid = PID, .chain = chain, .chain_count = 3 };
    struct perf_record record;
    size_t count;

    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert(unwinding_frames(unwinding, &record, true, frames, REGION_FRAMES_LIMIT, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(unwinding_counts(unwinding)->stacks, 0);
    ck_assert_uint_eq(unwinding_counts(unwinding)->without_registers, 0);
}
END_TEST

START_TEST(tells_no_frame_that_is_no_code)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20, 0x123456, CODE + 0x40 };
    struct cli_cuts cuts;

    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 5), 2);
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NOT_CODE], 1);
    cuts = unwinding_cuts(unwinding);
    ck_assert_uint_eq(cuts.count, 1);
    ck_assert_ptr_null(cuts.worst[0].module);
}
END_TEST

START_TEST(takes_the_kernels_walk_without_registers)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20 };
    struct perf_bytes_stack sample = { .pid = PID, .tid = PID, .chain = chain, .chain_count = 3 };
    struct perf_record record;
    size_t count;

    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert(unwinding_frames(unwinding, &record, false, frames, REGION_FRAMES_LIMIT, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(unwinding_counts(unwinding)->without_registers, 1);
}
END_TEST

/* Samples have no walk of the kernel's while copies are large.  */
START_TEST(computes_from_a_copy_what_the_kernels_walk_would_find)
{
    const struct copies_sizes sizes = { .bytes = {
                                            [COPIES_SMALL] = 16, [COPIES_LARGE] = sizeof stack } };

    map_copy();
    map(CODE, 1);
    stack[3] = entry_point() + 8;
    unwinding_adapt(unwinding, &sizes);
    for (int i = 0; i < 49; i++)
        ck_assert_uint_eq(walk(2, 8, NULL, 0), 3);
    ck_assert_int_eq(unwinding_copies(unwinding), COPIES_LARGE);
    ck_assert_uint_eq(walk(2, 8, NULL, 0), 3);
    ck_assert_int_eq(unwinding_copies(unwinding), COPIES_SMALL);
}
END_TEST

/* A sample of a 32-bit program, without the kernel's walk.  */
static size_t walk_32_bit(const uint32_t *words, size_t word_count)
{
    struct perf_bytes_stack sample = { .pid = PID,
                                       .tid = PID,
                                       .abi = PERF_SAMPLE_REGS_ABI_32,
                                       .registers = registers,
                                       .register_count = REGISTER_COUNT,
                                       .stack = stack,
                                       .room = sizeof stack,
                                       .filled = word_count * sizeof *words };
    struct perf_record record;
    size_t count;

    memcpy(stack, words, word_count * sizeof *words);
    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert(unwinding_frames(unwinding, &record, false, frames, REGION_FRAMES_LIMIT, &count));
    return count;
}

START_TEST(follows_frame_pointers_of_32_bit_programs_in_the_copy)
{
    const uint32_t words[] = { STACK_AT + 8, CODE + 0x20, STACK_AT + 0x1000, CODE + 0x30 };

    ck_assert_uint_eq(walk_32_bit(words, 4), 3);
    ck_assert_uint_eq(frame(0), CODE + 1);
    ck_assert_uint_eq(frame(1), CODE + 0x20);
    ck_assert_uint_eq(frame(2), CODE + 0x30);
    ck_assert_uint_eq(unwinding_counts(unwinding)->without_registers, 1);
}
END_TEST

/* Frame pointers that lead in circles.  */
START_TEST(ends_a_walk_that_does_not_end)
{
    const uint32_t words[] = { STACK_AT, CODE + 0x20 };

    ck_assert_uint_eq(walk_32_bit(words, 2), REGION_KERNEL_FRAMES);
}
END_TEST

START_TEST(puts_kernel_frames_first)
{
    const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000000, PERF_CONTEXT_USER,
                               CODE + 1 };
    struct perf_bytes_stack sample = { .pid = PID,
                                       .tid = PID,
                                       .time_ns = 2,
                                       .chain = chain,
                                       .chain_count = 4,
                                       .abi = PERF_SAMPLE_REGS_ABI_64,
                                       .registers = registers,
                                       .register_count = REGISTER_COUNT,
                                       .stack = stack,
                                       .room = sizeof stack,
                                       .filled = sizeof stack };
    struct perf_record record;
    size_t count;

    map(CODE, 1);
    bytes.size = 0;
    perf_bytes_stack_sample(&bytes, &sample);
    ck_assert(perf_record_parse(bytes.bytes, bytes.size, &record));
    ck_assert(unwinding_frames(unwinding, &record, true, frames, REGION_FRAMES_LIMIT, &count));
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(frame(0), 0xffffffff81000000);
    ck_assert_uint_eq(frame(1), CODE + 1 + 1); /* exact: readers look for a call before it */
    ck_assert(unwinding_frames(unwinding, &record, false, frames, REGION_FRAMES_LIMIT, &count));
    ck_assert_uint_eq(count, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_unwinding");
    TCase *test_case = tcase_create("unwinding");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, setup, teardown);
    tcase_add_test(test_case, walks_the_copy);
    tcase_add_test(test_case, applies_what_was_told_up_to_the_sample);
    tcase_add_test(test_case, continues_with_the_kernels_walk);
    tcase_add_test(test_case, continues_in_recursion);
    tcase_add_test(test_case, leaves_a_walk_that_went_another_way);
    tcase_add_test(test_case, is_whole_where_the_kernels_walk_reaches_the_entry_point);
    tcase_add_test(test_case, reads_tables_of_a_file_that_is_gone);
    tcase_add_test(test_case, counts_no_stacks_of_kernel_threads);
    tcase_add_test(test_case, tells_no_frame_that_is_no_code);
    tcase_add_test(test_case, takes_the_kernels_walk_without_registers);
    tcase_add_test(test_case, computes_from_a_copy_what_the_kernels_walk_would_find);
    tcase_add_test(test_case, follows_frame_pointers_of_32_bit_programs_in_the_copy);
    tcase_add_test(test_case, ends_a_walk_that_does_not_end);
    tcase_add_test(test_case, puts_kernel_frames_first);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#else

int main(void)
{
    (void)puts("SKIP: registers are those of x86-64");
    return 0;
}

#endif
