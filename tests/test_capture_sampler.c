/* The calls, states and errors of zx_sampler_create() and its family (docs/formats/zx-sampler.md
 * section 1), on the kernel's own perf events.  */
#include <fxt/fxt.h>
#include "sampler-capture/cpu/sampler.h"
#include "sampler-capture/host.h"
#include "tests/support/allocation.h"

#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 100000

static const struct sampler_config usual = { .period = PERIOD_NS, .buffer_size = 1 << 20 };
static struct sampler *sampler;

/* zx_sampler_create(): what Zircon has to choose.  */
static enum sampler_status sampler_create(uint64_t options, const struct sampler_config *config,
                                          size_t config_size, struct sampler **out)
{
    const struct sampler_extras zircon = { .mode = DRAIN_ONESHOT, .max_frames = REGION_MAX_FRAMES };
    struct events_error error;

    return sampler_create_extra(options, config, config_size, &zircon, out, &error);
}

static enum sampler_status create(const struct sampler_config *config)
{
    return sampler_create(0, config, sizeof *config, &sampler);
}

/* Regions in place, one for each CPU that was online.  */
static size_t region_count(void)
{
    return sampler_drain_of(sampler)->events->count;
}

static const struct region *region_of(size_t i)
{
    return &sampler_drain_of(sampler)->cpus[i].region;
}

static enum sampler_status attach(pid_t thread)
{
    const struct events_target target = { .reach = EVENTS_THREAD, .tid = thread };

    return sampler_attach_target(sampler, &target);
}

static void setup(void)
{
    ck_assert_int_eq(create(&usual), SAMPLER_OK);
}

static void teardown(void)
{
    sampler_close(sampler);
}

/* Let the system call fail from here on.  */
static void deny_perf_events(int cause)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)cause),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = 4, .filter = code };

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static uint64_t cpu_ns(void)
{
    return host_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Use a CPU in user mode for so long.  */
static void work_for(uint64_t ns)
{
    uint64_t end = cpu_ns() + ns;

    while (cpu_ns() < end)
        for (volatile int i = 0; i < 20000; i++)
            continue;
}

/* ---- The table of errors ---- */

static const struct {
    enum sampler_status status;
    const char *name;
    int zx_status, linux_errno;
} rows[SAMPLER_STATUSES] = {
    { SAMPLER_OK, "ZX_OK", 0, 0 },
    { SAMPLER_NOT_SUPPORTED, "ZX_ERR_NOT_SUPPORTED", -2, ENOTSUP },
    { SAMPLER_NO_MEMORY, "ZX_ERR_NO_MEMORY", -4, ENOMEM },
    { SAMPLER_INVALID_ARGS, "ZX_ERR_INVALID_ARGS", -10, EINVAL },
    { SAMPLER_BAD_HANDLE, "ZX_ERR_BAD_HANDLE", -11, ESRCH },
    { SAMPLER_BAD_STATE, "ZX_ERR_BAD_STATE", -20, EBUSY },
    { SAMPLER_ALREADY_EXISTS, "ZX_ERR_ALREADY_EXISTS", -26, EEXIST },
    { SAMPLER_ACCESS_DENIED, "ZX_ERR_ACCESS_DENIED", -30, EACCES },
};

START_TEST(every_status_has_its_numbers)
{
    const struct sampler_status_entry *entry = sampler_status_entry(rows[_i].status);

    ck_assert_str_eq(entry->name, rows[_i].name);
    ck_assert_int_eq(entry->zx_status, rows[_i].zx_status);
    ck_assert_int_eq(entry->linux_errno, rows[_i].linux_errno);
}
END_TEST

/* ---- Create ---- */

static const struct {
    uint64_t options;
    struct sampler_config config;
    size_t size;
} invalid[] = {
    { 1, { PERIOD_NS, 4096, 0 }, 24 },           /* options */
    { 0, { PERIOD_NS, 4096, 0 }, 16 },           /* the config of another generation */
    { 0, { PERIOD_NS, 4096, 1 }, 24 },           /* discipline */
    { 0, { PERIOD_NS, 0, 0 }, 24 },              /* no buffer */
    { 0, { PERIOD_NS, (1U << 30) + 1, 0 }, 24 }, /* above 1 GiB */
    { 0, { PERIOD_NS, UINT64_MAX, 0 }, 24 },     /* rounding up would wrap */
    { 0, { SAMPLER_MIN_PERIOD_NS - 1, 4096, 0 }, 24 },
    { 0, { 0, 4096, 0 }, 24 },
    { 0, { -1, 4096, 0 }, 24 },
};

START_TEST(create_refuses_what_breaks_a_rule)
{
    ck_assert_int_eq(
        sampler_create(invalid[_i].options, &invalid[_i].config, invalid[_i].size, &sampler),
        SAMPLER_INVALID_ARGS);
    ck_assert_ptr_null(sampler);
    ck_assert_int_eq(create(&usual), SAMPLER_OK); /* nothing was left behind */
    sampler_close(sampler);
}
END_TEST

START_TEST(create_needs_a_config)
{
    ck_assert_int_eq(sampler_create(0, NULL, 24, &sampler), SAMPLER_INVALID_ARGS);
}
END_TEST

START_TEST(the_smallest_config_is_enough)
{
    const struct sampler_config smallest = { .period = SAMPLER_MIN_PERIOD_NS, .buffer_size = 1 };

    ck_assert_uint_eq(sizeof smallest, 24);
    ck_assert_int_eq(create(&smallest), SAMPLER_OK);
    ck_assert_uint_gt(region_count(), 0);
    ck_assert_uint_eq(region_of(0)->size, (size_t)sysconf(_SC_PAGESIZE));
    sampler_close(sampler);
}
END_TEST

START_TEST(there_is_one_session_at_a_time)
{
    struct sampler *second = NULL;

    ck_assert_int_eq(sampler_create(0, &usual, sizeof usual, &second), SAMPLER_ALREADY_EXISTS);
    ck_assert_ptr_null(second);
    sampler_close(sampler);
    ck_assert_int_eq(create(&usual), SAMPLER_OK);
}
END_TEST

static const struct {
    int cause;
    enum sampler_status status;
} denials[] = {
    { EACCES, SAMPLER_ACCESS_DENIED },
    { EPERM, SAMPLER_ACCESS_DENIED },
    { ENOSYS, SAMPLER_NOT_SUPPORTED },
};

START_TEST(create_tells_what_the_kernel_refuses)
{
    deny_perf_events(denials[_i].cause);
    ck_assert_int_eq(create(&usual), denials[_i].status);
    ck_assert_int_eq(create(&usual), denials[_i].status); /* not ALREADY_EXISTS */
}
END_TEST

START_TEST(create_without_memory_leaves_nothing)
{
    enum sampler_status status = SAMPLER_NO_MEMORY;
    unsigned long n = 0;

    while (status == SAMPLER_NO_MEMORY) {
        allocation_fail_at(++n);
        status = create(&usual);
        allocation_fail_at(0);
    }
    ck_assert_int_eq(status, SAMPLER_OK);
    ck_assert_uint_gt(n, 3);
    sampler_close(sampler);
}
END_TEST

/* In a child: the limit cannot be raised again.  */
START_TEST(create_without_descriptors_has_no_memory)
{
    const struct rlimit few = { .rlim_cur = 4, .rlim_max = 4 };
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(setrlimit(RLIMIT_NOFILE, &few) == 0 ? (int)create(&usual) : 99);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), SAMPLER_NO_MEMORY);
}
END_TEST

/* ---- Attach ---- */

START_TEST(attach_wants_a_thread_that_lives)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(attach(child), SAMPLER_BAD_HANDLE);
    ck_assert_str_ne(sampler_message(sampler), "");
}
END_TEST

START_TEST(calls_want_the_session_there_is)
{
    struct sampler *closed = sampler;
    size_t other;

    sampler = (struct sampler *)&other; /* no session */
    ck_assert_int_eq(attach(getpid()), SAMPLER_BAD_HANDLE);
    ck_assert_int_eq(sampler_start(sampler), SAMPLER_BAD_HANDLE);
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_BAD_HANDLE);
    ck_assert_int_eq(sampler_drain(sampler), SAMPLER_BAD_HANDLE);
    sampler_close(closed);
    sampler = NULL;
    ck_assert_int_eq(attach(getpid()), SAMPLER_BAD_STATE);
    ck_assert_int_eq(sampler_start(sampler), SAMPLER_BAD_STATE);
}
END_TEST

/* ---- States ---- */

START_TEST(start_and_stop_want_their_states)
{
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_BAD_STATE);
    ck_assert_int_eq(sampler_start(sampler), SAMPLER_OK);
    ck_assert_int_eq(sampler_start(sampler), SAMPLER_BAD_STATE);
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_OK);
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_BAD_STATE);
}
END_TEST

/* ---- What is read ---- */

static size_t bytes_held(void)
{
    size_t sum = 0;

    for (size_t i = 0; i < region_count(); i++)
        sum += region_of(i)->used;
    return sum;
}

/* Section 3, word for word; returns how many records there are, all of this thread.  */
static size_t check_records(const uint8_t *bytes, size_t size)
{
    size_t count = 0;

    for (size_t at = 0; at < size; count++) {
        uint64_t frames = fxt_load_u64(bytes + at + 40) / 8;

        ck_assert_uint_ge(frames, 1);
        ck_assert_uint_le(frames, 64);
        ck_assert_uint_eq(fxt_load_u64(bytes + at), 15 | (6 + frames) << 4);
        ck_assert_uint_eq(fxt_load_u64(bytes + at + 8), 0);
        ck_assert_uint_eq(fxt_load_u64(bytes + at + 24), (uint64_t)getpid());
        ck_assert_uint_eq(fxt_load_u64(bytes + at + 32), (uint64_t)getpid());
        at += 8 * (6 + (size_t)frames);
        ck_assert_uint_le(at, size);
    }
    return count;
}

static void sample_self(uint64_t ns)
{
    ck_assert_int_eq(sampler_start(sampler), SAMPLER_OK);
    work_for(ns);
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_OK);
}

START_TEST(samples_are_what_zircon_writes)
{
    size_t in_place = 0;

    ck_assert_int_eq(attach(getpid()), SAMPLER_OK);
    sample_self(30000000);
    for (size_t i = 0; i < region_count(); i++) {
        const struct region *region = region_of(i);

        in_place += check_records(region->bytes, region->used);
        for (size_t k = region->used; k < region->size; k += 8) /* the end of data */
            ck_assert_uint_eq(fxt_load_u64(region->bytes + k), 0);
    }
    ck_assert_uint_gt(in_place, 30); /* of 300; hypervisors take CPUs away */
}
END_TEST

START_TEST(restart_after_stop_appends)
{
    size_t used;

    ck_assert_int_eq(attach(getpid()), SAMPLER_OK);
    sample_self(20000000);
    used = bytes_held();
    ck_assert_uint_gt(used, 0);
    sample_self(20000000);
    ck_assert_uint_gt(bytes_held(), used);
}
END_TEST

START_TEST(attaching_while_running_samples_from_there)
{
    uint64_t begin;
    size_t count = 0;

    ck_assert_int_eq(sampler_start(sampler), SAMPLER_OK);
    ck_assert_int_eq(attach(getpid()), SAMPLER_OK);
    begin = cpu_ns();
    work_for(50000000);
    ck_assert_int_eq(sampler_stop(sampler), SAMPLER_OK);
    for (size_t i = 0; i < region_count(); i++)
        count += check_records(region_of(i)->bytes, region_of(i)->used);
    ck_assert_uint_gt(count, 0);
    ck_assert_uint_le(count, (cpu_ns() - begin) / PERIOD_NS * 11 / 10 + 2);
}
END_TEST

START_TEST(a_stopped_session_samples_nothing)
{
    ck_assert_int_eq(attach(getpid()), SAMPLER_OK);
    work_for(10000000);
    ck_assert_int_eq(sampler_drain(sampler), SAMPLER_OK);
    ck_assert_uint_eq(bytes_held(), 0);
}
END_TEST

START_TEST(a_full_region_ends_sampling_on_its_cpu)
{
    const struct sampler_config tiny = { .period = 20000, .buffer_size = 4096 };
    size_t size;

    sampler_close(sampler);
    ck_assert_int_eq(create(&tiny), SAMPLER_OK);
    ck_assert_int_eq(attach(getpid()), SAMPLER_OK);
    sample_self(50000000);
    ck_assert_uint_gt(sampler_loss(sampler).region_full, 0);
    size = bytes_held();
    ck_assert_uint_le(size, region_count() * 4096);
    ck_assert_uint_gt(size, 4096 - 560 - 8); /* one region at least is full but for one sample */
}
END_TEST

static bool permitted(void)
{
    bool fine = create(&usual) == SAMPLER_OK;

    sampler_close(sampler);
    sampler = NULL;
    if (!fine)
        printf("SKIP: perf_event_open is not permitted here\n");
    return fine;
}

int main(void)
{
    Suite *suite = suite_create("capture_sampler");
    TCase *free_standing = tcase_create("create");
    TCase *session = tcase_create("session");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!permitted()) {
        srunner_free(runner);
        return EXIT_SUCCESS;
    }
    tcase_add_loop_test(free_standing, every_status_has_its_numbers, 0, SAMPLER_STATUSES);
    tcase_add_loop_test(free_standing, create_refuses_what_breaks_a_rule, 0,
                        (int)(sizeof invalid / sizeof *invalid));
    tcase_add_test(free_standing, create_needs_a_config);
    tcase_add_test(free_standing, the_smallest_config_is_enough);
    tcase_add_loop_test(free_standing, create_tells_what_the_kernel_refuses, 0,
                        (int)(sizeof denials / sizeof *denials));
    tcase_add_test(free_standing, create_without_memory_leaves_nothing);
    tcase_add_test(free_standing, create_without_descriptors_has_no_memory);
    suite_add_tcase(suite, free_standing);
    tcase_add_checked_fixture(session, setup, teardown);
    tcase_add_test(session, there_is_one_session_at_a_time);
    tcase_add_test(session, attach_wants_a_thread_that_lives);
    tcase_add_test(session, calls_want_the_session_there_is);
    tcase_add_test(session, start_and_stop_want_their_states);
    tcase_add_test(session, samples_are_what_zircon_writes);
    tcase_add_test(session, restart_after_stop_appends);
    tcase_add_test(session, attaching_while_running_samples_from_there);
    tcase_add_test(session, a_stopped_session_samples_nothing);
    tcase_add_test(session, a_full_region_ends_sampling_on_its_cpu);
    suite_add_tcase(suite, session);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
