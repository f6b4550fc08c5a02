/* An object that is cut, emptied and overwritten while it is read: never a signal, always an answer
 * or a sentence, and the names of before once it is whole again.  */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/symbolize_build.h"

enum {
    ADDRESSES = 500,
    READERS = 3,
    SECONDS = 3,
    BLOCK = 8192,
};

/* This program itself: some megabytes of DWARF, so that a look-up takes long enough to be
 * disturbed.  */
static char *whole_path;
static char *object_path;
static uint64_t first_vaddr;

static void set_up(void)
{
    (void)build_folder();
    whole_path = build_path("whole");
    object_path = build_path("object");
    char *command;

    ck_assert_int_gt(asprintf(&command, "cp /proc/%d/exe whole && cp whole object", (int)getpid()),
                     0);
    build_run(command);
    free(command);
    first_vaddr = build_symbol("whole", "main");
    ck_assert_uint_ne(first_vaddr, 0);
}

static void tear_down(void)
{
    free(whole_path);
    free(object_path);
    build_remove();
}

/* ---- Reading ---- */

static bool count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *total = context;

    (void)index;
    for (size_t i = 0; i < count; i++)
        *total += frames[i].function[0] != '\0' || frames[i].line != 0;
    return true;
}

/* Frames with something in them; -1: neither an answer nor a sentence.  */
static long use_object(void)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const struct sym_module_key key = { .path = object_path };
    struct sym_error error = { .message = "" };
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddrs[ADDRESSES];
    size_t answers = 0;
    bool told;

    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = first_vaddr + 4 * i;
    if (sym_session_open(&options, &session, NULL) != SYM_OK)
        return -1;
    told = sym_session_module(session, &key, &module, &error) == SYM_OK &&
           sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &answers, &error) == SYM_OK;
    if (told)
        told = answers > 0 || sym_module_report(module)->problem[0] ||
               sym_module_report(module)->quality >= SYM_QUALITY_SYMTAB;
    sym_session_close(session);
    return told ? (long)answers : -1;
}

static atomic_bool over;

struct reader {
    pthread_t thread;
    size_t looks;
    size_t wordless;
    size_t disturbed; /* looks that gave less than the whole object gives */
    long whole;
};

static void *read_on(void *context)
{
    struct reader *reader = context;

    while (!atomic_load(&over)) {
        long answers = use_object();

        reader->looks++;
        reader->wordless += answers < 0;
        reader->disturbed += answers != reader->whole;
    }
    return NULL;
}

/* ---- Disturbing, in a process of its own ---- */

static uint32_t random_below(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*state * limit >> 32);
}

/* The file's bytes again from start on.  */
static void mend(int whole, int object, off_t start, off_t limit)
{
    uint8_t block[BLOCK];

    while (start < limit) {
        ssize_t got = pread(whole, block, sizeof block, start);

        if (got <= 0 || pwrite(object, block, (size_t)got, start) != got)
            _exit(3);
        start += got;
    }
}

static void damage(int object, off_t size, uint32_t *state)
{
    uint8_t block[BLOCK];
    off_t start = (off_t)random_below(state, (uint32_t)size);

    switch (random_below(state, 4)) {
    case 0:
        (void)!ftruncate(object, 0);
        break;
    case 1:
        (void)!ftruncate(object, start);
        break;
    case 2:
        memset(block, (int)random_below(state, 256), sizeof block);
        (void)!pwrite(object, block, sizeof block, start);
        break;
    default: /* what a strip in place does: shorter, and something else in it */
        (void)!ftruncate(object, start);
        (void)!pwrite(object, block, sizeof block, start / 2);
        break;
    }
}

_Noreturn static void disturb(void)
{
    int whole = open(whole_path, O_RDONLY | O_CLOEXEC), object = open(object_path, O_RDWR);
    struct timespec pause = { .tv_nsec = 0 };
    uint32_t state = 1;
    struct stat facts;

    if (whole < 0 || object < 0 || fstat(whole, &facts) != 0)
        _exit(3);
    for (;;) {
        damage(object, facts.st_size, &state);
        pause.tv_nsec = random_below(&state, 3000000);
        (void)nanosleep(&pause, NULL);
        mend(whole, object, 0, facts.st_size);
        if (ftruncate(object, facts.st_size) != 0)
            _exit(3);
        pause.tv_nsec = random_below(&state, 20000000);
        (void)nanosleep(&pause, NULL);
    }
}

START_TEST(answers_or_says_why_while_the_object_changes)
{
    struct reader readers[READERS] = { 0 };
    struct timespec time = { .tv_sec = SECONDS };
    long whole = use_object();
    size_t disturbed = 0;
    pid_t child;

    ck_assert_int_gt(whole, ADDRESSES / 2);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        disturb();
    for (int i = 0; i < READERS; i++) {
        readers[i].whole = whole;
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    (void)nanosleep(&time, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_join(readers[i].thread, NULL), 0);
    (void)kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    for (int i = 0; i < READERS; i++) {
        ck_assert_uint_gt(readers[i].looks, 0);
        ck_assert_uint_eq(readers[i].wordless, 0);
        disturbed += readers[i].disturbed;
    }
    ck_assert_msg(disturbed > 0, "nobody was disturbed");
    build_run("cp whole object");
    ck_assert_int_eq(use_object(), whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_race");
    TCase *tcase = tcase_create("race");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, answers_or_says_why_while_the_object_changes);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
