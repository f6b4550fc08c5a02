/* Each single bit of small objects flipped, bytes set to limits, and each truncation: within a
 * second of CPU time and 64 MiB of memory there is an answer or a sentence.
 *
 * testdata/symbolize/hostile/make tells how the objects were made.  With FXT_TEST_FULL=1 in the
 * environment all of it is done, which takes minutes, and libdwarf is tried with one flipped bit of
 * each fourth byte, not the same in each.  Otherwise one bit of each byte is flipped, and every
 * third byte set and every fourth truncation made; with AddressSanitizer a third of that.  libdwarf
 * is tried for every eighth object.  */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libsymbolize/symbolize_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/sanitizer.h"
#include "tests/support/symbolize_build.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum {
    OBJECT_MAX = 16 << 10,
    ADDRESSES = 64,
    STEP_BYTES = 64 << 20,
    LOCALS_MAX = 1 << 20, /* no object of this size has so many */
    DATA_BYTES = 0x800,   /* from the first address on */
    MUTATIONS = 60,       /* of each object, for what is told of variables */
};

#define STEP_SECONDS (HAS_ASAN ? 10 : 1)
#define SPARSE       (HAS_ASAN ? (size_t)3 : 1)

static const struct {
    const char *damaged; /* in testdata/symbolize/hostile */
    const char *other;   /* the object that is asked for names, or a file beside the one that is */
    bool asked;          /* the former */
    uint64_t first_vaddr;
    size_t step;
    size_t answers; /* frames of the undamaged object, at least */
} objects[] = {
    { "x86-64-dwarf5.so", NULL, false, 0x1000, 2, 40 },
    { "x86-64-gcc.so", NULL, false, 0x1000, 2, 20 },
    { "x86-64-zlib-gabi.so", NULL, false, 0x1000, 2, 40 },
    { "x86-64-zlib-gnu.so", NULL, false, 0x1000, 2, 40 },
    { "x86-64-zstd.so", NULL, false, 0x1000, 2, 40 },
    { "i386-dwarf4", NULL, false, 0x1000, 2, 40 },
    { "ppc32-dwarf2", NULL, false, 0x1000, 4, 40 },
    { "ppc64-dwarf3.so", NULL, false, 0x1000, 4, 40 },
    { "x86-64-dwarf4.o", NULL, false, 0, 4, 20 },
    { "i386-dwarf5.o", NULL, false, 0, 4, 20 },
    { "split", "split.dwp", false, 0x1000, 2, 40 },
    { "split.dwp", "split", true, 0x1000, 2, 40 },
    { "split4.dwp", "split4", true, 0x1000, 2, 40 },
    { "x86-64-debugdata.so", NULL, false, 0x1000, 2, 20 },
    { "breakpad.sym", NULL, false, 0x1000, 2, 40 },
};

static uint8_t object[OBJECT_MAX];
static size_t object_size;
static char *damaged_path;
static char *other_path;
static const char *asked_path;
static int damaged_fd;
static int row;

/* ---- The object under test ---- */

static char *source_path(const char *name)
{
    const char *root = getenv("ROOT");
    char *path;

    ck_assert_int_gt(asprintf(&path, "%s/testdata/symbolize/hostile/%s", root ? root : ".", name),
                     0);
    return path;
}

static size_t load(const char *name, uint8_t *bytes)
{
    char *path = source_path(name);
    FILE *file = fopen(path, "rb");
    size_t size;

    ck_assert_msg(file != NULL, "%s: not there", path);
    size = fread(bytes, 1, OBJECT_MAX, file);
    ck_assert_msg(feof(file), "%s is larger than %d bytes", path, OBJECT_MAX);
    (void)fclose(file);
    free(path);
    return size;
}

static int store(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    return fd;
}

static void set_up_object(int which)
{
    row = which;
    damaged_path = build_path(objects[row].damaged);
    other_path = build_path(objects[row].other ? objects[row].other : "none");
    asked_path = objects[row].asked ? other_path : damaged_path;
    if (objects[row].other) {
        object_size = load(objects[row].other, object);
        (void)close(store(other_path, object, object_size));
    }
    object_size = load(objects[row].damaged, object);
    damaged_fd = store(damaged_path, object, object_size);
}

static void set_up(void)
{
    (void)build_folder();
}

static void tear_down(void)
{
    (void)close(damaged_fd);
    free(damaged_path);
    free(other_path);
    build_remove();
}

/* ---- The library on it ---- */

static bool look_at(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *answers = context;

    (void)index;
    for (size_t i = 0; i < count; i++)
        *answers += strlen(frames[i].function) < 65536 && strlen(frames[i].file) < 65536 &&
                    strlen(frames[i].linkage_name) < 65536;
    return true;
}

static bool is_full(void)
{
    const char *full = getenv("FXT_TEST_FULL");

    return full && full[0] == '1';
}

/* Whether libdwarf is tried, too: a child process for each damaged unit takes most of the time.  */
static bool tries_libdwarf = true;

enum { NEITHER = -1, NO_MEMORY = -2 };

/* The number of frames; NEITHER an answer nor a sentence; NO_MEMORY, which is no answer either.  */
static long use_object(void)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const struct sym_module_key key = { .path = asked_path };
    const struct sym_report *report;
    struct sym_error error = { .message = "" };
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddrs[ADDRESSES];
    size_t length, answers = 0;
    enum sym_status status;
    uint8_t id[20];
    bool told = false;

    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = objects[row].first_vaddr + objects[row].step * i;
    status = sym_build_id(damaged_path, id, sizeof id, &length, &error);
    if (status != SYM_NO_MEMORY)
        status = status == SYM_OK || error.message[0] ? SYM_OK : SYM_INVALID;
    if (status == SYM_OK)
        status = sym_session_open(&options, &session, NULL);
    if (status != SYM_OK)
        return status == SYM_NO_MEMORY ? NO_MEMORY : NEITHER;
    status = sym_session_module(session, &key, &module, &error);
    if (status == SYM_OK) {
        module->loaded.dwarf.fallback.is_off = !tries_libdwarf;
        status = sym_module_resolve(module, vaddrs, ADDRESSES, look_at, &answers, &error);
    }
    if (status == SYM_OK) {
        report = sym_module_report(module);
        /* With symbols or DWARF "nothing covers this address" is an answer.  */
        told = answers > 0 || report->problem[0] || report->quality >= SYM_QUALITY_SYMTAB;
    }
    sym_session_close(session);
    if (status == SYM_NO_MEMORY)
        return NO_MEMORY;
    return told ? (long)answers : NEITHER;
}

static bool look_at_local(void *context, const struct sym_local *local)
{
    size_t *answers = context;

    *answers += strlen(local->function) < 65536 && strlen(local->name) < 65536 &&
                strlen(local->file) < 65536 && (local->has_frame_offset || !local->frame_offset) &&
                (local->has_size || !local->size) && (local->has_tag_offset || !local->tag_offset);
    return *answers < LOCALS_MAX;
}

/* What is told of the parameters and variables of functions, and of static variables; NO_MEMORY, or
 * NEITHER where a status is none of the promised ones.  */
static long ask_variables(struct sym_module *module)
{
    size_t answers = 0;
    enum sym_status status = SYM_OK;
    const char *file;
    uint32_t line;

    for (size_t i = 0; i < ADDRESSES && status == SYM_OK; i++)
        status = sym_module_locals(module, objects[row].first_vaddr + objects[row].step * i,
                                   look_at_local, &answers, NULL);
    for (uint64_t at = 0; at < DATA_BYTES && status != SYM_NO_MEMORY; at += 4) {
        status = sym_module_declaration(module, objects[row].first_vaddr + at, &file, &line, NULL);
        if (status == SYM_OK)
            answers += strlen(file) < 65536;
        else if (status != SYM_NOT_FOUND && status != SYM_NO_MEMORY)
            return NEITHER;
    }
    return status == SYM_NO_MEMORY ? NO_MEMORY : (long)answers;
}

static long use_variables(void)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const struct sym_module_key key = { .path = asked_path };
    struct sym_session *session;
    struct sym_module *module;
    long answers = NO_MEMORY;

    if (sym_session_open(&options, &session, NULL) != SYM_OK)
        return NO_MEMORY;
    if (sym_session_module(session, &key, &module, NULL) == SYM_OK)
        answers = ask_variables(module);
    sym_session_close(session);
    return answers;
}

/* ---- One step after the other, in a child that time and memory bound ---- */

static void bound_step(void)
{
    const struct itimerval time = { .it_value.tv_sec = STEP_SECONDS };

    (void)setitimer(ITIMER_PROF, &time, NULL);
}

static void bound_memory(void)
{
    const struct rlimit none = { 0, 0 };
    const struct rlimit memory = { STEP_BYTES, STEP_BYTES };

    (void)setrlimit(RLIMIT_CORE, &none);
    if (!HAS_ASAN && setrlimit(RLIMIT_DATA, &memory) != 0)
        _exit(3);
}

/* Runs body(0) to body(count - 1); body returns false where the library gave neither.  */
static void run_bounded(const char *what, size_t count, bool (*body)(size_t step))
{
    int pipes[2], status = 0;
    size_t step = 0, at;
    pid_t child;

    ck_assert_int_eq(pipe(pipes), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bound_memory();
        for (size_t i = 0; i < count; i++) {
            if (write(pipes[1], &i, sizeof i) != (ssize_t)sizeof i)
                _exit(3);
            bound_step();
            if (!body(i))
                _exit(4);
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
    if (WIFSIGNALED(status))
        ck_abort_msg("%s: %s %zu of %zu: signal %d (%d: more than %d s)", objects[row].damaged,
                     what, step, count, WTERMSIG(status), SIGPROF, STEP_SECONDS);
    ck_assert_msg(WEXITSTATUS(status) == 0, "%s: %s %zu of %zu: %s", objects[row].damaged, what,
                  step, count,
                  WEXITSTATUS(status) == 4 ? "neither an answer nor a sentence" : "failed");
}

/* Each bit or, of each byte, another one.  */
static bool flip(size_t step)
{
    size_t bit = is_full() ? step : 8 * SPARSE * step + step * 5 % 8;
    uint8_t damaged = object[bit / 8] ^ (uint8_t)(1u << (bit % 8));
    bool told;

    tries_libdwarf = is_full() ? bit % 8 == bit / 32 * 5 % 8 && bit / 8 % 4 == 0 : step % 8 == 0;
    if (pwrite(damaged_fd, &damaged, 1, (off_t)(bit / 8)) != 1)
        _exit(3);
    told = use_object() >= 0;
    if (pwrite(damaged_fd, &object[bit / 8], 1, (off_t)(bit / 8)) != 1)
        _exit(3);
    return told;
}

/* Bytes that often stand for limits, and fields of 4 and 8 bytes full of them.  */
static bool overwrite(size_t step)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    size_t at = is_full() ? step : SPARSE * step * 3;
    size_t length = (size_t)1 << (step % 3 + (step % 3 > 0)); /* 1, 4, 8 */
    uint8_t damaged[8];
    bool told;

    tries_libdwarf = step % 8 == 0;
    if (length > object_size - at)
        length = 1;
    memset(damaged, values[step % sizeof values], sizeof damaged);
    if (pwrite(damaged_fd, damaged, length, (off_t)at) != (ssize_t)length)
        _exit(3);
    told = use_object() >= 0;
    if (pwrite(damaged_fd, &object[at], length, (off_t)at) != (ssize_t)length)
        _exit(3);
    return told;
}

static bool truncate_to(size_t step)
{
    size_t length = object_size - 1 - (is_full() ? step : SPARSE * 4 * step);

    tries_libdwarf = step % 8 == 0;
    return ftruncate(damaged_fd, (off_t)length) == 0 && use_object() >= 0;
}

/* Up to four places get random bytes, limits, or the bytes of another place; the same in every
 * run.  */
static bool mutate(size_t step)
{
    uint64_t state = 0x9e3779b97f4a7c15u * (step + 1) + (uint64_t)row;
    size_t changes = 1 + step % 4;
    bool told;

    for (size_t i = 0; i < changes; i++) {
        uint8_t bytes[4];
        size_t at, from;

        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        at = (size_t)(state >> 16) % (object_size - sizeof bytes);
        from = (size_t)(state >> 40) % (object_size - sizeof bytes);
        if (state % 3 == 0)
            memcpy(bytes, &object[from], sizeof bytes);
        else
            memset(bytes, state % 3 == 1 ? 0xff : (int)(state >> 8 & 0xff), sizeof bytes);
        if (pwrite(damaged_fd, bytes, 1 + (size_t)(state >> 60) % 4, (off_t)at) < 1)
            _exit(3);
    }
    told = use_variables() >= 0;
    if (pwrite(damaged_fd, object, object_size, 0) != (ssize_t)object_size)
        _exit(3);
    return told;
}

/* Each byte on its own, where it is one of the debug information's forms or expressions.  */
static bool flip_for_variables(size_t step)
{
    size_t at = step * 7 + step % 7;
    uint8_t damaged = object[at % object_size] ^ (uint8_t)(1u << step % 8);
    bool told;

    if (pwrite(damaged_fd, &damaged, 1, (off_t)(at % object_size)) != 1)
        _exit(3);
    told = use_variables() >= 0;
    if (pwrite(damaged_fd, &object[at % object_size], 1, (off_t)(at % object_size)) != 1)
        _exit(3);
    return told;
}

/* Only the tables of variables are known in DWARF.  */
static bool has_variables(void)
{
    return !strstr(objects[row].damaged, "debugdata") && !strstr(objects[row].damaged, ".sym");
}

START_TEST(tells_variables_of_the_undamaged_object)
{
    set_up_object(_i);
    long answers = use_variables();
    ck_assert_msg(has_variables() ? answers > 0 : answers == 0, "%s: %ld variables",
                  objects[row].damaged, answers);
}
END_TEST

START_TEST(survives_mutations_when_asked_for_variables)
{
    set_up_object(_i);
    run_bounded("mutation", MUTATIONS, mutate);
    run_bounded("place", object_size / 14, flip_for_variables);
}
END_TEST

START_TEST(answers_on_the_undamaged_object)
{
    set_up_object(_i);
    ck_assert_msg(use_object() >= (long)objects[row].answers, "%s: %ld answers",
                  objects[row].damaged, use_object());
}
END_TEST

START_TEST(survives_each_flipped_bit)
{
    set_up_object(_i);
    run_bounded(is_full() ? "bit" : "byte", is_full() ? 8 * object_size : object_size / SPARSE,
                flip);
}
END_TEST

START_TEST(survives_bytes_set_to_limits)
{
    set_up_object(_i);
    run_bounded("place", is_full() ? object_size : object_size / 3 / SPARSE, overwrite);
}
END_TEST

START_TEST(survives_each_truncation)
{
    set_up_object(_i);
    run_bounded("truncation", is_full() ? object_size : object_size / 4 / SPARSE, truncate_to);
}
END_TEST

/* Everything that the objects need is read, then each allocation for it fails in turn; the leak
 * checker of the address sanitizer looks for what is left behind.  */
START_TEST(says_so_when_memory_is_short)
{
    unsigned long count;
    long whole;

    set_up_object(_i);
    allocation_fail_at(0);
    whole = use_object();
    count = allocation_count();
    ck_assert_uint_gt(count, 20);
    for (unsigned long n = 1; n <= count; n++) {
        long answers;

        allocation_fail_at(n);
        answers = use_object();
        allocation_fail_at(0);
        ck_assert_msg(answers == NO_MEMORY, "%s: allocation %lu of %lu: %ld", objects[row].damaged,
                      n, count, answers);
    }
    ck_assert_int_eq(use_object(), whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_hostile");
    TCase *tcase = tcase_create("hostile");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, answers_on_the_undamaged_object, 0, ROWS(objects));
    tcase_add_loop_test(tcase, tells_variables_of_the_undamaged_object, 0, ROWS(objects));
    tcase_add_loop_test(tcase, survives_mutations_when_asked_for_variables, 0, ROWS(objects));
    tcase_add_loop_test(tcase, survives_each_flipped_bit, 0, ROWS(objects));
    tcase_add_loop_test(tcase, survives_bytes_set_to_limits, 0, ROWS(objects));
    tcase_add_loop_test(tcase, survives_each_truncation, 0, ROWS(objects));
    tcase_add_loop_test(tcase, says_so_when_memory_is_short, 0, ROWS(objects));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
