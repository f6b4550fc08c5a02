/* Instructions of x86-64: their lengths are those that objdump finds in the C library.  */
#include "libunwind/x86_code.h"

#include <check.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lengths ---- */

static int find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so"))
        return 0;
    (void)snprintf(path, 4096, "%s", info->dlpi_name);
    return 1;
}

static FILE *disassemble(void)
{
    static char path[4096], command[5000];

    (void)dl_iterate_phdr(find_libc, path);
    (void)snprintf(command, sizeof command, "objdump -d -w --insn-width=16 '%s' 2>/dev/null", path);
    return popen(command, "r"); /* NOLINT(cert-env33-c): the path is the loader's */
}

/* The bytes of a line: address, tab, bytes, tab, text.  */
static size_t read_bytes(const char *line, uint8_t bytes[16])
{
    const char *at = strchr(line, '\t'), *limit = at ? strchr(at + 1, '\t') : NULL;
    size_t count = 0;

    if (!limit)
        return 0;
    for (at++; count < 16 && at + 2 < limit && *at != ' '; at += 3)
        bytes[count++] = (uint8_t)strtoul(at, NULL, 16);
    return count;
}

START_TEST(has_the_lengths_of_objdump)
{
    static char line[4096];
    FILE *file = disassemble();
    size_t seen = 0;

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        uint8_t bytes[16];
        size_t size = read_bytes(line, bytes);
        struct x86_code code;

        if (size == 0 || strstr(line, "(bad)") || strstr(line, "data16"))
            continue;
        ck_assert_msg(x86_code_read(bytes, size, &code), "refused: %s", line);
        ck_assert_msg(code.length == size, "%u of %zu: %s", code.length, size, line);
        ck_assert_msg(!x86_code_read(bytes, size - 1, &code), "cut: %s", line);
        seen++;
    }
    (void)pclose(file);
    ck_assert_uint_gt(seen, 10000);
}
END_TEST

/* ---- Registers ---- */

enum { RAX = 1, RCX = 2, RBX = 8, RSP = 16, RBP = 32, R12 = 1 << 12 };

static const struct {
    const char *name;
    uint8_t bytes[X86_CODE_MOST];
    size_t size;
    uint16_t changed;
} rows[] = {
    { "add %ecx, %ebp", { 0x01, 0xcd }, 2, RBP },
    { "add %rbp, (%rax)", { 0x48, 0x01, 0x28 }, 3, 0 },
    { "add (%rax), %rbp", { 0x48, 0x03, 0x28 }, 3, RBP },
    { "cmp %rsp, %rbp", { 0x48, 0x39, 0xe5 }, 3, 0 },
    { "cmp $1, %rbp", { 0x48, 0x83, 0xfd, 1 }, 4, 0 },
    { "and $-16, %rsp", { 0x48, 0x83, 0xe4, 0xf0 }, 4, RSP },
    { "add $1, %ch", { 0x80, 0xc5, 1 }, 3, RCX },
    { "add $1, %bpl", { 0x40, 0x80, 0xc5, 1 }, 4, RBP },
    { "mov $1, %r12", { 0x49, 0xc7, 0xc4, 1, 0, 0, 0 }, 7, R12 },
    { "mov $1, %ebp", { 0xbd, 1, 0, 0, 0 }, 5, RBP },
    { "mov $1, %ch", { 0xb5, 1 }, 2, RCX },
    { "xchg %rax, %rsp", { 0x48, 0x94 }, 2, RSP },
    { "xchg %rbp, %rcx", { 0x48, 0x87, 0xe9 }, 3, RBP | RCX },
    { "movslq %ecx, %rbp", { 0x48, 0x63, 0xe9 }, 3, RBP },
    { "imul $3, %rcx, %rbp", { 0x48, 0x6b, 0xe9, 3 }, 4, RBP },
    { "test %rbp, %rbp", { 0x48, 0x85, 0xed }, 3, 0 },
    { "neg %rbp", { 0x48, 0xf7, 0xdd }, 3, RBP },
    { "inc %r12d", { 0x41, 0xff, 0xc4 }, 3, R12 },
    { "shl $3, %rbp", { 0x48, 0xc1, 0xe5, 3 }, 4, RBP },
    { "cmove %rcx, %rbp", { 0x48, 0x0f, 0x44, 0xe9 }, 4, RBP },
    { "sete %bpl", { 0x40, 0x0f, 0x94, 0xc5 }, 4, RBP },
    { "sete %ch", { 0x0f, 0x94, 0xc5 }, 3, RCX },
    { "bswap %ebp", { 0x0f, 0xcd }, 2, RBP },
    { "cpuid", { 0x0f, 0xa2 }, 2, RBX },
    { "movd %xmm5, %ebp", { 0x66, 0x0f, 0x7e, 0xed }, 4, RBP },
    { "movq %xmm5, %xmm4", { 0xf3, 0x0f, 0x7e, 0xe5 }, 4, 0 },
    { "movaps %xmm5, %xmm4", { 0x0f, 0x28, 0xe5 }, 3, 0 },
    { "pmovmskb %xmm1, %ebp", { 0x66, 0x0f, 0xd7, 0xe9 }, 4, RBP },
    { "pextrb $0, %xmm1, %ebp", { 0x66, 0x0f, 0x3a, 0x14, 0xcd, 0 }, 6, RBP },
    { "crc32 %cl, %ebp", { 0xf2, 0x0f, 0x38, 0xf0, 0xe9 }, 5, RBP },
    { "andn %ecx, %eax, %ebp", { 0xc4, 0xe2, 0x78, 0xf2, 0xe9 }, 5, RBP | RAX },
    { "blsr %ecx, %ebp", { 0xc4, 0xe2, 0x50, 0xf3, 0xc9 }, 5, RBP },
    { "rorx $1, %ecx, %ebp", { 0xc4, 0xe3, 0x7b, 0xf0, 0xe9, 1 }, 6, RBP },
    { "kmovd %k1, %ebp", { 0xc5, 0xfb, 0x93, 0xe9 }, 4, RBP },
    { "vpaddd %ymm5, %ymm4, %ymm5", { 0xc5, 0xdd, 0xfe, 0xed }, 4, 0 },
};

START_TEST(names_the_registers_that_change)
{
    struct x86_code code;

    ck_assert_msg(x86_code_read(rows[_i].bytes, rows[_i].size, &code), "%s", rows[_i].name);
    ck_assert_msg(x86_code_changed(&code) == rows[_i].changed, "%s: %#x", rows[_i].name,
                  x86_code_changed(&code));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind_x86_code");
    TCase *tests = tcase_create("x86 code");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 120);
#ifdef __x86_64__
    tcase_add_test(tests, has_the_lengths_of_objdump);
#else
    (void)has_the_lengths_of_objdump;
#endif
    tcase_add_loop_test(tests, names_the_registers_that_change, 0, sizeof rows / sizeof rows[0]);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
