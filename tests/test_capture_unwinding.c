/* Stacks of samples by what is copied into them, and what side-band records said before.  */
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/unwinding.h"
#include "tests/support/perf_bytes.h"

#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    ck_assert_uint_eq(walk(6, 8, NULL, 0), 3);
    registers[RIP] = CODE + 0x100000;
    ck_assert_uint_eq(walk(7, 8, NULL, 0), 1);
    ck_assert_uint_eq(walk(9, 8, NULL, 0), 3);
    ck_assert_uint_eq(unwinding_counts(unwinding)->stacks, 4);
}
END_TEST

START_TEST(continues_with_the_kernels_walk)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20, CODE + 0x30, CODE + 0x40 };

    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 5), 4);
    ck_assert_uint_eq(frame(3), CODE + 0x40);
    ck_assert_uint_eq(unwinding_counts(unwinding)->continued, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 3), 2); /* it went no further than the copy */
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NO_STACK], 1);
}
END_TEST

START_TEST(tells_no_frame_that_is_no_code)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, CODE + 1, CODE + 0x20, 0x123456, CODE + 0x40 };
    struct unwinding_cut cut;

    map(CODE, 1);
    ck_assert_uint_eq(walk(2, 2, chain, 5), 2);
    ck_assert_uint_eq(unwinding_counts(unwinding)->ended[UNWIND_END_NOT_CODE], 1);
    ck_assert_uint_eq(unwinding_cuts(unwinding, &cut, 1), 1);
    ck_assert_str_eq(cut.module, "code of no file");
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
    ck_assert_uint_eq(frame(1), CODE + 1);
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
    tcase_add_test(test_case, tells_no_frame_that_is_no_code);
    tcase_add_test(test_case, takes_the_kernels_walk_without_registers);
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
