/* Map files and dumps of code that programs make while they run.  */
#include "libperf/jit_files.h"
#include "sampler-capture/cpu/jit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct base_text text;
static const uint64_t seen[] = { 0x1000, 0x2010, 0x5000, UINT64_MAX };
static const struct jit_addresses addresses = { seen, sizeof seen / sizeof *seen };

static void teardown(void)
{
    base_text_release(&text);
    text = (struct base_text){ .bytes = NULL };
}

static int file_of(const void *bytes, size_t size)
{
    int fd = memfd_create("file", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* ---- Maps ---- */

static const struct {
    const char *map, *lines;
} maps[] = {
    { "1000 10 one\n2000 20 two words\n", "1000 10 one\n2000 20 two words\n" },
    { "0x1000 0x10 hexadecimal\n", "1000 10 hexadecimal\n" },
    { "ff0 10 whose last byte is a call\n", "ff0 10 whose last byte is a call\n" },
    { "1001 10 behind\n800 8 before\n", "" }, /* nobody was there */
    { "1000 10 no newline", "1000 10 no newline\n" },
    { "1000 0 empty\n1000  10 blanks\n 1000 10 blank\n-1000 10 sign\n1000 -1 sign\n", "" },
    { "1000\n1000 10\n1000 10 \n\nname\n", "" },
    { "fffffffffffffff0 20 past the end\n10000000000000000 1 too large\n", "" },
    { "fffffffffffffff0 f at the end\n", "fffffffffffffff0 f at the end\n" },
};

START_TEST(reads_maps)
{
    int fd = file_of(maps[_i].map, strlen(maps[_i].map));

    ck_assert(jit_read_map(fd, &addresses, &text));
    ck_assert_str_eq(text.bytes ? text.bytes : "", maps[_i].lines);
    (void)close(fd);
}
END_TEST

/* A name without an end is cut, and what is left of it is no line.  */
START_TEST(cuts_long_names)
{
    size_t size = 100000;
    char *map = malloc(size);
    int fd;

    ck_assert_ptr_nonnull(map);
    (void)snprintf(map, size, "1000 10 %0*d\n2000 20 b\n", (int)size / 2, 1);
    fd = file_of(map, strlen(map));
    ck_assert(jit_read_map(fd, &addresses, &text));
    ck_assert_uint_lt(text.length, 5000);
    ck_assert_str_eq(text.bytes + text.length - 10, "2000 20 b\n");
    (void)close(fd);
    free(map);
}
END_TEST

/* ---- Dumps ---- */

static uint8_t dump[4096];
static size_t used;

static void put(const void *bytes, size_t size)
{
    memcpy(dump + used, bytes, size);
    used += size;
}

static void begin_dump(void)
{
    const struct {
        uint32_t magic, version, size, machine, pad, pid;
        uint64_t timestamp, flags;
    } header = { 0x4a695444, 1, 40, 62, 0, 7, 0, 0 };

    used = 0;
    put(&header, sizeof header);
}

static void put_record(uint32_t id, const uint64_t *words, size_t count, const char *name)
{
    const struct {
        uint32_t id, size;
        uint64_t timestamp;
        uint32_t pid, tid;
    } record = { id, (uint32_t)(24 + 8 * count + strlen(name) + 1), 0, 7, 7 };

    put(&record, sizeof record);
    put(words, 8 * count);
    put(name, strlen(name) + 1);
}

/* vma, address, size, index */
static void put_load(uint64_t address, uint64_t size, uint64_t index, const char *name)
{
    put_record(0, (const uint64_t[]){ address, address, size, index }, 4, name);
}

START_TEST(reads_dumps)
{
    int fd;

    begin_dump();
    put_load(0x1000, 0x10, 0, "py::one:/a.py");
    put_load(0x3000, 0x10, 1, "moves");
    put_load(0x9000, 0x10, 2, "nobody was there");
    put_record(2, (const uint64_t[]){ 0 }, 1, "lines of something");
    put_record(1, (const uint64_t[]){ 0x5000, 0x3000, 0x5000, 0x10, 1 }, 5, "");
    put_record(1, (const uint64_t[]){ 0x5000, 0x3000, 0x5000, 0x10, 77 }, 5, ""); /* of nothing */
    fd = file_of(dump, used);
    ck_assert(jit_read_dump(fd, &addresses, &text));
    ck_assert_str_eq(text.bytes, "1000 10 py::one:/a.py\n5000 10 moves\n");
    (void)close(fd);
}
END_TEST

/* The process is still writing, or was killed.  */
START_TEST(reads_cut_dumps)
{
    begin_dump();
    put_load(0x1000, 0x10, 0, "one");
    put_load(0x2000, 0x20, 1, "two");
    for (size_t size = 0; size <= used; size++) {
        int fd = file_of(dump, size);

        ck_assert(jit_read_dump(fd, &addresses, &text));
        ck_assert(text.length == 0 || strncmp(text.bytes, "1000 10 ", 8) == 0);
        ck_assert(size < used || strcmp(text.bytes, "1000 10 one\n2000 20 two\n") == 0);
        base_text_clear(&text);
        (void)close(fd);
    }
}
END_TEST

START_TEST(ends_with_a_record_of_no_size)
{
    int fd;

    begin_dump();
    put_load(0x1000, 0x10, 0, "one");
    put(&(const uint64_t[]){ 0, 0 }, 16);
    put_load(0x2000, 0x20, 1, "two");
    fd = file_of(dump, used);
    ck_assert(jit_read_dump(fd, &addresses, &text));
    ck_assert_str_eq(text.bytes, "1000 10 one\n");
    (void)close(fd);
}
END_TEST

/* ---- Finding them ---- */

static char told[4096];

static bool tell(void *context, uint64_t koid, const char *lines, size_t size)
{
    (void)context;
    (void)snprintf(told, sizeof told, "%llu: %.*s", (unsigned long long)koid, (int)size, lines);
    return true;
}

/* This process has a map, of which one function is seen.  What is not its own is not read.  */
START_TEST(finds_the_map_of_a_process)
{
    const struct perf_map anonymous = { .name = "//anon" };
    struct jit jit = { .count = 0 };
    char path[64], other[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    (void)snprintf(other, sizeof other, "/tmp/other-%d.map", (int)getpid());
    (void)unlink(path);
    file = fopen(other, "we");
    ck_assert_ptr_nonnull(file);
    (void)fputs("1000 10 function\n2000 10 never\n", file);
    (void)fclose(file);
    told[0] = '\0';
    ck_assert(jit_expect(&jit, (uint32_t)getpid(), &anonymous));
    ck_assert(jit_saw(&jit, 5, (uint32_t)getpid(), 0x1008));
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes: it must not be waited for */
    ck_assert(jit_tell(&jit, tell, NULL));
    ck_assert_str_eq(told, "");
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert(jit_saw(&jit, 5, (uint32_t)getpid(), 0x1008));
    ck_assert(jit_saw(&jit, 5, (uint32_t)getpid(), 0x1008));
    ck_assert(jit_tell(&jit, tell, NULL));
    ck_assert_str_eq(told, "5: 1000 10 function\n");
    (void)unlink(path);
    jit_release(&jit);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_jit");
    TCase *test_case = tcase_create("jit");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, NULL, teardown);
    tcase_add_loop_test(test_case, reads_maps, 0, sizeof maps / sizeof *maps);
    tcase_add_test(test_case, cuts_long_names);
    tcase_add_test(test_case, reads_dumps);
    tcase_add_test(test_case, reads_cut_dumps);
    tcase_add_test(test_case, ends_with_a_record_of_no_size);
    tcase_add_test(test_case, finds_the_map_of_a_process);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
