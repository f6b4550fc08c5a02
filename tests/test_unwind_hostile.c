/* Objects and stacks that somebody has damaged: each look-up and each walk ends, and reads nothing
 * that is not there.  */
#include "libunwind/unwind_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/random.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint8_t *whole; /* an object as compilers and linkers make it */
static size_t whole_size;

/* The C library's math functions: some hundred entries, a table to search, a PLT.  */
static void setup(void)
{
    static const char *const paths[] = { "/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6",
                                         "/proc/self/exe" };
    struct stat about;
    int fd = -1;

    for (size_t i = 0; fd < 0 && i < sizeof paths / sizeof *paths; i++)
        fd = open(paths[i], O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &about), 0);
    whole_size = (size_t)about.st_size;
    whole = malloc(whole_size);
    ck_assert_ptr_nonnull(whole);
    ck_assert_int_eq(read(fd, whole, whole_size), (ssize_t)whole_size);
    (void)close(fd);
}

static void teardown(void)
{
    free(whole);
}

static struct unwind_table *opened;

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context, (void)address;
    *out = (struct unwind_place){ UNWIND_PLACE_OBJECT, opened, 0, UINT64_MAX, 0 };
}

/* Walks that begin everywhere, with registers and a stack that are noise that looks like one.  */
static void walk_noise(uint64_t *random, uint64_t limit)
{
    uint64_t addresses[64], words[64];
    uint8_t found[64];
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = 64 };
    struct unwind_piece piece = { 0x7000, (const uint8_t *)words, sizeof words };
    struct unwind_memory memory = { &piece, 1 };
    struct unwind_map map = { .find = find };
    struct unwind_registers registers = { .machine = opened->report.machine, .known = UINT32_MAX };
    struct unwind_walker *walker;

    if (registers.machine == UNWIND_NO_MACHINE || unwind_walker_open(&walker, NULL) != UNWIND_OK)
        return;
    for (int i = 0; i < 20; i++) {
        for (size_t k = 0; k < 64; k++)
            words[k] = random_word(random) % 2 ? 0x7000 + random_word(random) % sizeof words
                                               : random_word(random) % limit;
        for (size_t k = 0; k < UNWIND_REGISTER_COUNT; k++)
            registers.values[k] = 0x7000 + random_word(random) % sizeof words / 8 * 8;
        registers.pc = random_word(random) % limit;
        ck_assert_int_eq(unwind_walk(walker, &registers, &memory, &map, &stack), UNWIND_OK);
        ck_assert_uint_ge(stack.count, 1);
        ck_assert_uint_le(stack.count, stack.capacity);
        ck_assert_uint_lt(stack.end, UNWIND_END_COUNT);
        ck_assert_uint_le(stack.depth_bytes, sizeof words);
    }
    unwind_walker_close(walker);
}

/* What an object may take whatever is in it, for each byte of the undamaged one: of memory, and of
 * instructions executed to find rows.  Undamaged, and in all these, it is less than one.  */
enum { MOST_MEMORY = 8, MOST_EXECUTED = 8 };

static enum unwind_status use(const uint8_t *bytes, size_t size, uint64_t *random)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1, .bytes = bytes, .size = size };
    struct unwind_error error = { .message = "" };
    enum unwind_status status = unwind_table_open(&object, &opened, &error);
    struct unwind_row row;

    if (status != UNWIND_OK) {
        ck_assert_str_ne(error.message, "");
        return status;
    }
    for (int i = 0; i < 100; i++) {
        uint64_t vaddr = random_word(random) % whole_size;

        status = unwind_table_row(opened, vaddr, &row);
        ck_assert(status != UNWIND_OK || (row.start <= vaddr && vaddr < row.limit));
    }
    (void)unwind_table_frame_pointers(opened);
    walk_noise(random, whole_size);
    ck_assert_uint_le(unwind_table_report(opened)->memory_bytes, MOST_MEMORY * whole_size);
    ck_assert_uint_le(opened->executed, MOST_EXECUTED * whole_size);
    unwind_table_close(opened);
    return UNWIND_OK;
}

START_TEST(survives_mutated_objects)
{
    uint64_t random = 1;
    uint8_t *bytes = malloc(whole_size);
    struct unwind_object object = { .fd = -1, .debug_fd = -1, .bytes = whole, .size = whole_size };
    size_t opened_count = 0, frames, frames_size;
    clock_t start;

    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(unwind_table_open(&object, &opened, NULL), UNWIND_OK);
    frames = opened->object.frames.vaddr; /* of libm, read-only bytes lie at their vaddr */
    frames_size = opened->object.frames.size;
    unwind_table_close(opened);
    for (int round = 0; round < 3000; round++) {
        int changes = 1 + (int)(random_word(&random) % 40);

        memcpy(bytes, whole, whole_size);
        while (changes-- > 0) {
            uint64_t place = random_word(&random);
            size_t at = place % 3 == 0   ? place % 4096
                        : place % 3 == 1 ? whole_size - 1 - place % 4096
                                         : (frames + place % (frames_size + 1)) % whole_size;

            bytes[at] = (uint8_t)random_word(&random);
        }
        start = clock();
        opened_count += use(bytes, whole_size, &random) == UNWIND_OK;
        ck_assert_int_le(clock() - start,
                         10 * CLOCKS_PER_SEC); /* CPU time, of a millisecond's work */
    }
    ck_assert_uint_ge(opened_count, 600); /* the test reaches more than the first check */
    free(bytes);
}
END_TEST

/* A file that ends early, wherever that is: from a descriptor, too.  */
START_TEST(survives_cut_objects)
{
    uint64_t random = 2;
    int fd = memfd_create("cut", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, whole, whole_size), (ssize_t)whole_size);
    for (size_t size = whole_size; size > 1; size = size * 9 / 10) {
        struct unwind_object object = { .fd = fd, .debug_fd = fd };
        uint8_t *bytes = malloc(size);

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, whole, size);
        (void)use(bytes, size, &random);
        free(bytes);
        ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
        if (unwind_table_open(&object, &opened, NULL) == UNWIND_OK)
            unwind_table_close(opened);
    }
    (void)close(fd);
}
END_TEST

/* Open the object and make all its rows, while the n-th allocation fails.  Returns how many were
 * asked for.  */
static unsigned long use_memory(unsigned long n, enum unwind_status *status, bool *looked)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1, .bytes = whole, .size = whole_size };
    unsigned long count;
    uint32_t rule;

    opened = NULL;
    allocation_fail_at(n);
    *status = unwind_table_open(&object, &opened, NULL);
    if (*status == UNWIND_OK) {
        opened->section.header = opened->section.limit; /* nothing to search */
        *looked = table_rule(opened, 0, &rule);
    }
    count = allocation_count();
    allocation_fail_at(0);
    unwind_table_close(opened);
    return count;
}

START_TEST(says_so_when_memory_is_out)
{
    enum unwind_status status;
    bool looked = false;
    unsigned long count = use_memory(0, &status, &looked);

    ck_assert_uint_ge(count, 4);
    ck_assert(status == UNWIND_OK && looked);
    for (unsigned long n = 1; n <= count; n++) {
        (void)use_memory(n, &status, &looked);
        ck_assert_msg(status == UNWIND_NO_MEMORY || (status == UNWIND_OK && !looked),
                      "allocation %lu of %lu", n, count);
    }
}
END_TEST

/* ---- Other objects ---- */

static const struct {
    const char *name;
    size_t at;
    uint8_t value;
    enum unwind_status status;
    const char *says;
} foreign[] = {
    { "no ELF", 1, 'X', UNWIND_MALFORMED, "not an ELF object" },
    { "i386", 18, 3, UNWIND_UNSUPPORTED, "i386" },
    { "arm", 18, 40, UNWIND_UNSUPPORTED, "arm" },
    { "s390x", 18, 22, UNWIND_UNSUPPORTED, "s390x" },
    { "another machine", 18, 200, UNWIND_UNSUPPORTED, "machine 200" },
};

START_TEST(refuses_by_name)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1, .bytes = whole, .size = whole_size };
    struct unwind_error error;

    whole[foreign[_i].at] = foreign[_i].value;
    ck_assert_int_eq(unwind_table_open(&object, &opened, &error), foreign[_i].status);
    ck_assert_msg(strstr(error.message, foreign[_i].says), "%s", error.message);
    ck_assert_int_eq(error.status, foreign[_i].status);
}
END_TEST

START_TEST(refuses_what_is_no_file)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };
    struct unwind_error error;

    ck_assert_int_eq(unwind_table_open(&object, &opened, &error), UNWIND_INVALID);
    object.fd = open("/", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(unwind_table_open(&object, &opened, &error), UNWIND_MALFORMED);
    (void)close(object.fd);
}
END_TEST

/* ---- Registers ---- */

START_TEST(takes_registers_of_perf)
{
    uint64_t words[33];
    struct unwind_registers registers;

    for (size_t i = 0; i < 33; i++)
        words[i] = 100 + i;
    ck_assert_int_eq(unwind_registers_from_perf(UNWIND_X86_64, 0xff0fff, words, 20, &registers),
                     UNWIND_OK);
    ck_assert_uint_eq(registers.values[0], 100);  /* rax */
    ck_assert_uint_eq(registers.values[3], 101);  /* rbx */
    ck_assert_uint_eq(registers.values[7], 107);  /* rsp */
    ck_assert_uint_eq(registers.values[15], 119); /* r15 follows flags, cs, ss */
    ck_assert_uint_eq(registers.pc, 108);
    ck_assert_int_eq(unwind_registers_from_perf(UNWIND_ARM64, 0x1ffffffff, words, 33, &registers),
                     UNWIND_OK);
    ck_assert_uint_eq(unwind_stack_pointer(&registers), 131);
    ck_assert_uint_eq(registers.pc, 132);
    ck_assert_int_eq(unwind_registers_from_perf(UNWIND_RISCV64, 0xffffffff, words, 32, &registers),
                     UNWIND_OK);
    ck_assert_uint_eq(registers.pc, 100);
    ck_assert_uint_eq(registers.values[1], 101);
    ck_assert_int_eq(unwind_registers_from_perf(UNWIND_X86_64, 0xff, words, 8, &registers),
                     UNWIND_INVALID); /* no program counter */
    ck_assert_int_eq(unwind_registers_from_perf(UNWIND_X86_64, 0xff0fff, words, 19, &registers),
                     UNWIND_INVALID);
}
END_TEST

START_TEST(takes_registers_of_zircon)
{
    uint64_t words[35];
    struct unwind_registers registers;

    for (size_t i = 0; i < 35; i++)
        words[i] = 100 + i;
    words[33] = 0x20000000; /* cpsr: 64-bit */
    ck_assert_int_eq(unwind_registers_from_zircon((uint8_t *)words, 160, &registers), UNWIND_OK);
    ck_assert_int_eq(registers.machine, UNWIND_X86_64);
    ck_assert_uint_eq(registers.values[3], 101); /* rbx */
    ck_assert_uint_eq(registers.values[1], 103); /* rdx */
    ck_assert_uint_eq(registers.values[6], 106); /* rbp */
    ck_assert_uint_eq(registers.pc, 116);
    ck_assert_int_eq(unwind_registers_from_zircon((uint8_t *)words, 280, &registers), UNWIND_OK);
    ck_assert_int_eq(registers.machine, UNWIND_ARM64);
    ck_assert_uint_eq(unwind_stack_pointer(&registers), 131);
    ck_assert_uint_eq(registers.pc, 132);
    words[33] |= 1U << 4;
    ck_assert_int_eq(unwind_registers_from_zircon((uint8_t *)words, 280, &registers),
                     UNWIND_UNSUPPORTED);
    ck_assert_int_eq(unwind_registers_from_zircon((uint8_t *)words, 256, &registers), UNWIND_OK);
    ck_assert_uint_eq(registers.pc, 100);
    ck_assert_uint_eq(registers.values[2], 102);
    ck_assert_int_eq(unwind_registers_from_zircon((uint8_t *)words, 8, &registers), UNWIND_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind_hostile");
    TCase *test_case = tcase_create("hostile");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, setup, teardown);
    tcase_set_timeout(test_case, 0);
    tcase_add_test(test_case, survives_mutated_objects);
    tcase_add_test(test_case, survives_cut_objects);
    tcase_add_test(test_case, says_so_when_memory_is_out);
    tcase_add_loop_test(test_case, refuses_by_name, 0, sizeof foreign / sizeof *foreign);
    tcase_add_test(test_case, refuses_what_is_no_file);
    tcase_add_test(test_case, takes_registers_of_perf);
    tcase_add_test(test_case, takes_registers_of_zircon);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
