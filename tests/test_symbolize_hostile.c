/* What damaged objects do: every answer takes a bounded time and bounded memory.  */
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum {
    OBJECT_MAX = 16 << 10,
    ADDRESSES = 64,
    CHILD_SECONDS = 60,
    CHILD_BYTES = 1 << 30,
};

/* Reserves terabytes of address space by itself, so that no limit can be set.  */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

static const char source[] =
    "volatile int sink;\n"
    "static inline __attribute__((always_inline)) void inner(int v) { sink = v; }\n"
    "static inline __attribute__((always_inline)) void middle(int v)"
    " { if (v > 1) inner(v); else sink = 2; }\n"
    "__attribute__((noinline, section(\".text.far\"))) void far(int v) { middle(v); }\n"
    "__attribute__((noinline)) int near(int v) { middle(v + 1); return v; }\n"
    "int twice(int v) { far(v); return near(v) + near(v + 1); }\n";

static const struct {
    const char *name, *flags;
} builds[] = {
    { "DWARF 5", "-gdwarf-5" },
    { "DWARF 4", "-gdwarf-4" },
    { "compressed", "-gdwarf-5 -Wl,--compress-debug-sections=zlib-gabi" },
};

static uint8_t object[OBJECT_MAX];
static size_t object_size;
static uint64_t first_vaddr;
static char *damaged_path;

static void set_up(void)
{
    (void)build_folder();
    build_write("small.c", source);
    damaged_path = build_path("damaged.so");
}

static void tear_down(void)
{
    free(damaged_path);
    build_remove();
}

static void compile(const char *flags)
{
    char *command, *path = build_path("small.so");

    ck_assert_int_gt(asprintf(&command,
                              "$CC -O2 %s -fPIC -shared -nostdlib -Wl,-z,noseparate-code "
                              "-Wl,--build-id=sha1 -fno-asynchronous-unwind-tables -o small.so "
                              "small.c",
                              flags),
                     0);
    build_run(command);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    object_size = fread(object, 1, sizeof object, file);
    ck_assert_msg(feof(file), "the object is larger than %d bytes", OBJECT_MAX);
    (void)fclose(file);
    first_vaddr = build_symbol("small.so", "near") & ~(uint64_t)15;
    ck_assert_uint_ne(first_vaddr, 0);
    free(command);
    free(path);
}

static bool look_at(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *answers = context;

    (void)index;
    for (size_t i = 0; i < count; i++)
        *answers += strlen(frames[i].function) < 4096 && frames[i].file && frames[i].linkage_name;
    return true;
}

/* All of the library on what lies at damaged_path; the number of frames, -1 for no module.  */
static long use_object(void)
{
    uint64_t vaddrs[ADDRESSES];
    uint8_t id[20];
    size_t length, answers = 0;
    struct sym_session *session;
    struct sym_module *module;
    struct sym_module_key key = { .path = damaged_path };
    struct sym_options options = { .size = sizeof options, .debug_root = "" };
    long result = -1;

    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = first_vaddr + 2 * i;
    (void)sym_build_id(damaged_path, id, sizeof id, &length, NULL);
    if (sym_session_open(&options, &session, NULL))
        return -1;
    if (sym_session_module(session, &key, &module, NULL) == SYM_OK &&
        sym_module_resolve(module, vaddrs, ADDRESSES, look_at, &answers, NULL) == SYM_OK)
        result = (long)answers;
    sym_session_close(session);
    return result;
}

static void write_object(size_t size)
{
    int fd = open(damaged_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, object, size) != (ssize_t)size || close(fd) != 0)
        _exit(3);
}

/* Runs body(first) to body(limit - 1) in a child with little time and memory.  On a crash it says
 * where, and the test fails.  */
static void run_bounded(const char *name, size_t count, void (*body)(size_t step))
{
    int pipes[2], status = 0;
    size_t step = 0, at;

    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct rlimit memory = { CHILD_BYTES, CHILD_BYTES }, core = { 0, 0 };
        (void)setrlimit(RLIMIT_CORE, &core);
        if (!HAS_ASAN && setrlimit(RLIMIT_AS, &memory) != 0)
            _exit(3);
        (void)alarm(CHILD_SECONDS);
        for (size_t i = 0; i < count; i++) {
            if (write(pipes[1], &i, sizeof i) != (ssize_t)sizeof i)
                _exit(3);
            body(i);
        }
        if (HAS_ASAN)
            exit(0); /* which looks for leaks */
        _exit(0);
    }
    (void)close(pipes[1]);
    while (read(pipes[0], &at, sizeof at) == (ssize_t)sizeof at)
        step = at;
    (void)close(pipes[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "%s: status 0x%x at step %zu of %zu", name, (unsigned)status, step, count);
}

static void resolve_truncated(size_t step)
{
    write_object(step * 64);
    (void)use_object();
}

START_TEST(survives_truncation_at_every_64th_length)
{
    compile(builds[_i].flags);
    run_bounded(builds[_i].name, object_size / 64, resolve_truncated);
}
END_TEST

/* Every other byte, the odd ones in every other build: all would take long.  */
static int odd;

static void resolve_flipped(size_t step)
{
    uint8_t *byte = &object[2 * step + (size_t)odd];
    uint8_t bit = (uint8_t)(1 << (step * 5 % 8));

    *byte ^= bit;
    write_object(object_size);
    (void)use_object();
    *byte ^= bit;
}

START_TEST(survives_flipped_bits)
{
    compile(builds[_i].flags);
    odd = _i % 2;
    run_bounded(builds[_i].name, object_size / 2, resolve_flipped);
}
END_TEST

/* Bytes that often stand for limits.  */
static void resolve_overwritten(size_t step)
{
    static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
    size_t at = step * 3;
    uint8_t kept = object[at];

    object[at] = values[step % sizeof values];
    write_object(object_size);
    (void)use_object();
    object[at] = kept;
}

START_TEST(survives_bytes_set_to_limits)
{
    compile(builds[_i].flags);
    run_bounded(builds[_i].name, object_size / 3, resolve_overwritten);
}
END_TEST

START_TEST(answers_on_the_undamaged_object)
{
    compile(builds[_i].flags);
    write_object(object_size);
    ck_assert_int_gt(use_object(), 20); /* so the tests above damage something that matters */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_hostile");
    TCase *tcase = tcase_create("hostile");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, answers_on_the_undamaged_object, 0, ROWS(builds));
    tcase_add_loop_test(tcase, survives_truncation_at_every_64th_length, 0, ROWS(builds));
    tcase_add_loop_test(tcase, survives_flipped_bits, 0, ROWS(builds));
    tcase_add_loop_test(tcase, survives_bytes_set_to_limits, 0, ROWS(builds));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
