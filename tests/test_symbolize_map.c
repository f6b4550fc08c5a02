/* Files that change while they are read: no crash, and the report says so.  */
#include "libsymbolize/mapped_file.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sym_error error;
static struct sym_map *map;
static char *path;
static const long page_size = 4096; /* a page, or part of a larger one */

static void set_up(void)
{
    (void)build_folder();
    path = build_path("file");
    build_run("head -c 1048576 /dev/zero | tr '\\0' x >file");
    ck_assert_int_eq(sym_map_open(path, NULL, &map, &error), SYM_OK);
}

static void tear_down(void)
{
    sym_map_close(map);
    free(path);
    build_remove();
}

START_TEST(ends_with_a_zero_behind_the_file)
{
    struct sym_bytes bytes = sym_map_bytes(map);

    ck_assert_uint_eq(bytes.size, 1048576);
    ck_assert_uint_eq(strlen((const char *)bytes.data), bytes.size);
    ck_assert(!sym_map_changed(map, true));
}
END_TEST

START_TEST(reads_zeros_where_the_file_was_cut)
{
    struct sym_bytes bytes = sym_map_bytes(map);

    ck_assert_int_eq(truncate(path, 2 * page_size + 1), 0);
    ck_assert_int_eq(bytes.data[bytes.size - 1], 0);
    ck_assert_int_eq(bytes.data[3 * page_size], 0);
    ck_assert_int_eq(bytes.data[2 * page_size], 'x'); /* what is left stays readable */
    ck_assert(sym_map_changed(map, false));
}
END_TEST

/* Opening a tape drive, a watchdog or a terminal has effects, and a capture names what path it
 * likes.  A pipe stands for all of them here.  */
START_TEST(does_not_open_what_is_not_a_file)
{
    char *pipe = build_path("pipe");
    struct sym_map *other = NULL;
    char events[4096];
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_ge(inotify_add_watch(watch, pipe, IN_OPEN), 0);
    ck_assert_int_eq(sym_map_open(pipe, NULL, &other, &error), SYM_IO);
    ck_assert_ptr_nonnull(strstr(error.message, "not a regular file"));
    ck_assert_int_eq(read(watch, events, sizeof events), -1); /* nobody opened it */
    ck_assert_int_eq(errno, EAGAIN);
    (void)close(watch);
    free(pipe);
}
END_TEST

START_TEST(maps_a_kept_file_again_though_another_has_its_path)
{
    struct sym_map *first, *again;
    int kept = -1;

    ck_assert_int_eq(sym_map_open(path, &kept, &first, &error), SYM_OK);
    ck_assert_int_ge(kept, 0);
    sym_map_close(first);
    build_run("echo another >other && mv other file");
    ck_assert_int_eq(sym_map_open(path, &kept, &again, &error), SYM_OK);
    ck_assert_uint_eq(sym_map_bytes(again).size, 1048576);
    ck_assert_int_eq(sym_map_bytes(again).data[1048575], 'x');
    sym_map_close(again);
    sym_map_forget(&kept);
    ck_assert_int_eq(kept, -1);
}
END_TEST

START_TEST(keeps_few_descriptors)
{
    int kept[100], count = 0;

    for (int i = 0; i < 100; i++) {
        struct sym_map *other;
        kept[i] = -1;
        ck_assert_int_eq(sym_map_open(path, &kept[i], &other, &error), SYM_OK);
        sym_map_close(other);
        count += kept[i] >= 0;
    }
    ck_assert_int_eq(count, 64);
    for (int i = 0; i < 100; i++)
        sym_map_forget(&kept[i]);
    sym_map_close(map);
    ck_assert_int_eq(sym_map_open(path, &kept[99], &map, &error), SYM_OK);
    ck_assert_int_ge(kept[99], 0); /* there is room again */
    sym_map_forget(&kept[99]);
}
END_TEST

START_TEST(notices_a_file_that_was_written_to)
{
    build_run("touch -d '2001-01-01 00:00:00' file");
    ck_assert(!sym_map_changed(map, false));
    ck_assert(sym_map_changed(map, true));
}
END_TEST

START_TEST(keeps_a_file_that_was_renamed_over)
{
    build_run("echo short >other && mv other file");
    ck_assert(!sym_map_changed(map, true));
    ck_assert_int_eq(sym_map_bytes(map).data[1048575], 'x');
}
END_TEST

static void *read_everything(void *context)
{
    struct sym_bytes bytes = sym_map_bytes(map);
    size_t *sum = context;

    for (size_t i = 0; i < bytes.size; i += 512)
        *sum += bytes.data[i];
    return NULL;
}

START_TEST(serves_threads_that_meet_the_cut_at_once)
{
    pthread_t threads[8];
    size_t sums[8] = { 0 };

    ck_assert_int_eq(truncate(path, 0), 0);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_everything, &sums[i]), 0);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_uint_eq(sums[i], 0);
    }
    ck_assert(sym_map_changed(map, false));
}
END_TEST

START_TEST(keeps_apart_more_files_than_it_has_room_for_at_first)
{
    struct sym_map *maps[200];

    for (size_t i = 0; i < 200; i++)
        ck_assert_int_eq(sym_map_open(path, NULL, &maps[i], &error), SYM_OK);
    ck_assert_int_eq(truncate(path, page_size), 0);
    ck_assert_int_eq(sym_map_bytes(maps[199]).data[page_size], 0);
    ck_assert(sym_map_changed(maps[199], false));
    ck_assert(!sym_map_changed(maps[7], false));
    for (size_t i = 0; i < 200; i++)
        sym_map_close(maps[i]);
}
END_TEST

START_TEST(reads_a_file_that_does_not_tell_its_size)
{
    struct sym_map *status;

    ck_assert_int_eq(sym_map_open("/proc/self/status", NULL, &status, &error), SYM_OK);
    ck_assert_uint_gt(sym_map_bytes(status).size, 100);
    ck_assert_int_eq(strncmp((const char *)sym_map_bytes(status).data, "Name:", 5), 0);
    sym_map_close(status);
}
END_TEST

/* ---- Signals that are not about our mappings ---- */

static volatile sig_atomic_t caught;

static void catch_with_facts(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    caught = info->si_code > 0 ? 2 : 1;
    if (caught == 2)
        _exit(42);
}

static void catch_plainly(int number)
{
    (void)number;
    caught = 1;
}

/* Reads behind the end of a mapping that is not ours.  */
static int read_foreign_page(void)
{
    FILE *file = tmpfile();
    volatile const char *bytes;

    if (!file || ftruncate(fileno(file), 1) != 0)
        return 1;
    bytes = mmap(NULL, 2 * (size_t)page_size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    return bytes == MAP_FAILED ? 1 : bytes[page_size];
}

/* What a child that never mapped a file before ends with.  */
static int in_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(body());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* The handler is installed by the first mapping of a process, so this one must be first: Check
 * forks for each test, and its fixture here maps nothing.  */
static int pass_to_handler_with_facts(void)
{
    struct sigaction action = { .sa_sigaction = catch_with_facts, .sa_flags = SA_SIGINFO };

    if (sigaction(SIGBUS, &action, NULL) != 0 ||
        sym_map_open("/proc/self/exe", NULL, &map, &error) != SYM_OK)
        return 1;
    (void)raise(SIGBUS);
    if (caught != 1)
        return 2;
    return read_foreign_page();
}

START_TEST(passes_a_foreign_fault_to_the_handler_before)
{
    int status = in_child(pass_to_handler_with_facts);

    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status 0x%x", (unsigned)status);
}
END_TEST

static int pass_to_plain_handler(void)
{
    struct sigaction action = { .sa_handler = catch_plainly };

    if (sigaction(SIGBUS, &action, NULL) != 0 ||
        sym_map_open("/proc/self/exe", NULL, &map, &error) != SYM_OK)
        return 1;
    (void)raise(SIGBUS);
    return caught == 1 ? 42 : 2;
}

START_TEST(passes_a_sent_signal_to_the_handler_before)
{
    int status = in_child(pass_to_plain_handler);

    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status 0x%x", (unsigned)status);
}
END_TEST

static int pass_to_default(void)
{
    if (signal(SIGBUS, SIG_DFL) == SIG_ERR ||
        sym_map_open("/proc/self/exe", NULL, &map, &error) != SYM_OK)
        return 1;
    return read_foreign_page();
}

static int send_to_default(void)
{
    if (signal(SIGBUS, SIG_DFL) == SIG_ERR ||
        sym_map_open("/proc/self/exe", NULL, &map, &error) != SYM_OK)
        return 1;
    (void)raise(SIGBUS);
    return 0;
}

static int send_to_ignored(void)
{
    if (signal(SIGBUS, SIG_IGN) == SIG_ERR ||
        sym_map_open("/proc/self/exe", NULL, &map, &error) != SYM_OK)
        return 1;
    (void)raise(SIGBUS);
    return 42;
}

START_TEST(dies_of_a_foreign_fault_as_without_us)
{
    int status = in_child(pass_to_default);

    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "status 0x%x",
                  (unsigned)status);
    status = in_child(send_to_default);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "status 0x%x",
                  (unsigned)status);
    status = in_child(send_to_ignored);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status 0x%x", (unsigned)status);
}
END_TEST

/* ---- Reports ---- */

static bool cut_the_file(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)index, (void)frames, (void)count;
    return truncate(context, 4096) == 0;
}

static bool ignore_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)context, (void)index, (void)frames, (void)count;
    return true;
}

START_TEST(says_in_the_report_that_a_file_was_cut)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    struct sym_session *session;
    struct sym_module *module;
    char *program = build_path("program");
    struct sym_module_key key = { .path = program };

    build_write("source.c", "int f(int x) { return x + 1; }\nint main(void) { return f(2); }\n");
    build_run("$CC -g -O0 -Wl,--build-id=none -o program source.c");
    uint64_t vaddrs[] = { build_symbol("program", "f"), build_symbol("program", "main") };
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_DWARF);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 2, cut_the_file, program, &error), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 2, ignore_answer, NULL, &error), SYM_OK);
    ck_assert_ptr_nonnull(
        strstr(sym_module_report(module)->problem, "was cut or rewritten while it was read"));
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_NONE);
    ck_assert_ptr_nonnull(
        strstr(sym_module_report(module)->remedy, "run again when no program writes to that file"));
    sym_session_close(session);
    free(program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_map");
    TCase *tcase = tcase_create("map"), *signals = tcase_create("signals");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, ends_with_a_zero_behind_the_file);
    tcase_add_test(tcase, reads_zeros_where_the_file_was_cut);
    tcase_add_test(tcase, does_not_open_what_is_not_a_file);
    tcase_add_test(tcase, maps_a_kept_file_again_though_another_has_its_path);
    tcase_add_test(tcase, keeps_few_descriptors);
    tcase_add_test(tcase, notices_a_file_that_was_written_to);
    tcase_add_test(tcase, keeps_a_file_that_was_renamed_over);
    tcase_add_test(tcase, serves_threads_that_meet_the_cut_at_once);
    tcase_add_test(tcase, keeps_apart_more_files_than_it_has_room_for_at_first);
    tcase_add_test(tcase, reads_a_file_that_does_not_tell_its_size);
    tcase_add_test(tcase, says_in_the_report_that_a_file_was_cut);
    tcase_add_test(signals, passes_a_foreign_fault_to_the_handler_before);
    tcase_add_test(signals, passes_a_sent_signal_to_the_handler_before);
    tcase_add_test(signals, dies_of_a_foreign_fault_as_without_us);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, signals);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
