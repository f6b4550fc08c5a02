/* The functions that tables for unwinding tell: those that readelf reads, of several machines, both
 * tables, both sizes and byte orders; and nothing outside of the bytes that are there.  */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsymbolize/function_bounds.h"
#include "tests/support/symbolize_build.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum { CODE_START = 0x1000, CODE_LIMIT = 0x3000 };

/* ---- Objects ---- */

static const struct {
    const char *name, *compiler, *options;
} builds[] = {
    { "x86-64", "gcc", "-O2 -g0" },
    { "x86-64 by Clang", "clang", "-O2 -g0" },
    { "x86-64 with .debug_frame", "gcc", "-O2 -g -fno-asynchronous-unwind-tables -gz=none" },
    { "i386", "gcc", "-m32 -O2 -nostdlib -ffreestanding -shared -fPIC" },
    { "arm64", "aarch64-linux-gnu-gcc", "-O2 -nostdlib -ffreestanding -shared" },
    { "riscv64", "riscv64-linux-gnu-gcc",
      "-O2 -nostdlib -ffreestanding -shared -fasynchronous-unwind-tables" },
    { "C++ with personality routines", "g++", "-O2 -xc++ -fexceptions" },
};

/* Each range that readelf prints, "pc=START..LIMIT": both of its ends are looked up.  */
static size_t check_ranges(const struct sym_bounds *bounds, const struct sym_object *object)
{
    char *path = build_path("ranges");
    FILE *file = fopen(path, "r");
    uint64_t start, limit, found;
    size_t count = 0;

    ck_assert_ptr_nonnull(file);
    while (fscanf(file, "%lx..%lx", &start, &limit) == 2) { // NOLINT: two numbers, or the end
        struct sym_span span = { .limit = UINT64_MAX };
        if (start == limit || !sym_object_code(object, start))
            continue;
        ck_assert_msg(sym_bounds_find(bounds, start, &span, &found) && found == start, "%lx",
                      start);
        ck_assert(sym_bounds_find(bounds, limit - 1, &span, &found));
        ck_assert_uint_eq(found, start);
        count++;
    }
    (void)fclose(file);
    free(path);
    return count;
}

START_TEST(reads_the_ranges_that_readelf_reads)
{
    struct sym_bounds bounds = { .starts = NULL };
    struct sym_object *object;
    char command[400];
    char *path = build_path("object");

    (void)snprintf(
        command, sizeof command,
        "rm -f object ranges; if command -v %s >/dev/null; then %s %s -o object code.c && "
        "readelf --debug-dump=frames -wN object 2>/dev/null | "
        "sed -n 's/.* FDE .*pc=\\([0-9a-f.]*\\).*/\\1/p' >ranges; fi",
        builds[_i].compiler, builds[_i].compiler, builds[_i].options);
    build_run(command);
    if (sym_object_open(path, SYM_OBJECT_MAIN, &object, NULL) != SYM_OK) {
        printf("SKIP: no %s for %s\n", builds[_i].compiler, builds[_i].name);
        free(path);
        return;
    }
    ck_assert_int_eq(sym_bounds_read(&bounds, object), SYM_OK);
    ck_assert_msg(check_ranges(&bounds, object) >= 3, "%s: hardly a range", builds[_i].name);
    sym_bounds_release(&bounds);
    sym_object_free(object);
    free(path);
}
END_TEST

/* ---- Bytes ---- */

static struct sym_code code = { .start = CODE_START, .limit = CODE_LIMIT };

/* Reads a section at vaddr 0x100 of an object with code; how many functions it tells.  */
static size_t count_functions(const uint8_t *bytes, size_t size, bool is_64, bool big_endian,
                              bool is_eh_frame, uint64_t *start)
{
    struct sym_object object = {
        .is_64 = is_64, .big_endian = big_endian, .code = &code, .code_count = 1
    };
    struct sym_bytes section = { .data = bytes, .size = size };
    struct sym_bounds bounds = { .starts = NULL };
    struct sym_ranges ranges = { 0 };

    ck_assert_int_eq(sym_bounds_add(&bounds, &ranges, &object, section, 0x100, is_eh_frame),
                     SYM_OK);
    size_t count = bounds.count;
    *start = count ? bounds.starts[0] : 0;
    sym_ranges_release(&ranges);
    sym_bounds_release(&bounds);
    return count;
}

#define CIE_ZR(encoding) \
    0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, encoding, 0, 0, 0

static const struct {
    const char *name;
    bool is_32, big_endian, debug_frame;
    size_t functions;
    uint64_t start;
    size_t size;
    uint8_t bytes[96];
} tables[] = {
    { "relative to its place",
      false,
      false,
      false,
      1,
      0x1100,
      36,
      { CIE_ZR(0x1b), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "two bytes, absolute",
      false,
      false,
      false,
      1,
      0x1234,
      32,
      { CIE_ZR(0x02), 0x08, 0, 0, 0, 0x18, 0, 0, 0, 0x34, 0x12, 0x20, 0 } },
    { "LEB128",
      false,
      false,
      false,
      1,
      0x1234,
      32,
      { CIE_ZR(0x01), 0x08, 0, 0, 0, 0x18, 0, 0, 0, 0xb4, 0x24, 0x20, 0 } },
    { "eight bytes",
      false,
      false,
      false,
      1,
      0x1234,
      44,
      { CIE_ZR(0x04), 0x14, 0, 0, 0, 0x18, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0x20 } },
    { "relative to data",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x3b), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "indirect",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x9b), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "an encoding that is none",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x07), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "outside of the code",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x1b), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0xff, 0, 0, 0x20, 0, 0, 0 } },
    { "empty",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x1b), 0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0, 0, 0, 0 } },
    { "a CIE before the section",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x1b), 0x0c, 0, 0, 0, 0xff, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "an entry as its CIE",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x1b), 0x0c, 0, 0, 0, 0x04, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "behind a terminator",
      false,
      false,
      false,
      0,
      0,
      40,
      { CIE_ZR(0x1b), 0, 0, 0, 0, 0x0c, 0, 0, 0, 0x1c, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20 } },
    { "longer than its section",
      false,
      false,
      false,
      0,
      0,
      36,
      { CIE_ZR(0x1b), 0x0d, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0x0f, 0, 0, 0x20, 0, 0, 0 } },
    { "no addresses",
      false,
      false,
      false,
      0,
      0,
      28,
      { CIE_ZR(0x1b), 0x04, 0, 0, 0, 0x18, 0, 0, 0 } },
    { ".debug_frame, 32 bits, big-endian",
      true,
      true,
      true,
      1,
      0x1234,
      32,
      { 0, 0, 0, 0x0c, 0xff, 0xff, 0xff, 0xff, 3, 0, 1,    0x7c, 8, 0, 0, 0,
        0, 0, 0, 0x0c, 0,    0,    0,    0,    0, 0, 0x12, 0x34, 0, 0, 0, 0x20 } },
    { ".debug_frame of DWARF 4",
      false,
      false,
      true,
      1,
      0x1234,
      40,
      { 0x0c, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1,    0x78, 16, 0, 0x14, 0, 0, 0,
        0,    0, 0, 0, 0x34, 0x12, 0,    0,    0, 0, 0, 0, 0x20, 0,    0,  0, 0,    0, 0, 0 } },
    { ".debug_frame with addresses of 3 bytes",
      false,
      false,
      true,
      0,
      0,
      40,
      { 0x0c, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 4, 0, 3, 0, 1,    0x78, 16, 0, 0x14, 0, 0, 0,
        0,    0, 0, 0, 0x34, 0x12, 0,    0,    0, 0, 0, 0, 0x20, 0,    0,  0, 0,    0, 0, 0 } },
    { ".debug_frame, 64-bit form",
      false,
      false,
      true,
      1,
      0x1234,
      64,
      { 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0,    0,  0, 0,   0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, 0, 0,   0,    0xff, 0xff,
        0xff, 0xff, 0x18, 0,    0,    0, 0, 0, 0,    0,  0, 0,   0,    0,    0,
        0,    0,    0,    0x34, 0x12, 0, 0, 0, 0,    0,  0, 0x20 } },
};

START_TEST(reads_each_form)
{
    uint64_t start;
    size_t size = tables[_i].size;
    size_t count = count_functions(tables[_i].bytes, size, !tables[_i].is_32, tables[_i].big_endian,
                                   !tables[_i].debug_frame, &start);

    ck_assert_msg(count == tables[_i].functions && start == tables[_i].start,
                  "%s: %zu functions, the first at %lx", tables[_i].name, count, start);
}
END_TEST

/* Each beginning of each table, in memory that ends with it.  */
START_TEST(reads_nothing_behind_the_end)
{
    uint64_t start;

    for (size_t size = 0; size <= tables[_i].size; size++) {
        uint8_t *bytes = malloc(size + 1);

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes + 1, tables[_i].bytes, size);
        ck_assert_uint_le(count_functions(bytes + 1, size, !tables[_i].is_32, tables[_i].big_endian,
                                          !tables[_i].debug_frame, &start),
                          tables[_i].functions);
        free(bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_bounds");
    TCase *tcase = tcase_create("bounds");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, reads_the_ranges_that_readelf_reads, 0, ROWS(builds));
    tcase_add_loop_test(tcase, reads_each_form, 0, ROWS(tables));
    tcase_add_loop_test(tcase, reads_nothing_behind_the_end, 0, ROWS(tables));
    suite_add_tcase(suite, tcase);
    (void)build_folder();
    build_write("code.c", "int one(int x) { return x * x; }\n"
                          "int __attribute__((noinline)) two(int x) { return one(x) + 1; }\n"
                          "int three(int (*f)(int), int x) { return f(x) + f(two(x)); }\n"
                          "int four(int x) { int a[64]; three(two, x); a[x & 63] = x; "
                          "return three(one, a[1]); }\n"
                          "int main(int argc, char **argv) { (void)argv; return four(argc); }\n");
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    build_remove();
    return failed != 0;
}
