/* Configure, Start, Stop and Reset as fuchsia.cpu.profiler has them (docs/formats/zx-sampler.md
 * section 4): states, the order of checks, the numbers of errors, and what is sampled.  */
#include <fxt/fxt.h>
#include "sampler-capture/cpu/cpu_session.h"
#include "tests/support/allocation.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct session_sampling usual = { .period_ns = 1000000,
                                               .timebase = SESSION_NANOSECONDS,
                                               .strategy = SESSION_STRATEGY_FRAME_POINTER };
static const struct trace_session about = {
    .arch = "x86_64", .kernel = "", .cpu_model = "", .command = "", .clock = "", .tool_version = ""
};
static struct session_task self;
static struct session_config config;
static struct session *session;
static FILE *file;

static void setup(void)
{
    file = tmpfile();
    ck_assert_ptr_nonnull(file);
    self = (struct session_task){ .kind = SESSION_PROCESS, .id = getpid() };
    config = (struct session_config){ .output = fileno(file),
                                      .samplings = &usual,
                                      .sampling_count = 1,
                                      .tasks = &self,
                                      .task_count = 1,
                                      .trace.regions_fd = -1,
                                      .about = &about };
    session = session_open();
    ck_assert_ptr_nonnull(session);
}

static void teardown(void)
{
    session_close(session);
    (void)fclose(file);
}

/* ---- Configure ---- */

START_TEST(errors_have_fuchsias_numbers)
{
    ck_assert_int_eq(SESSION_BAD_SOCKET, 1);
    ck_assert_int_eq(SESSION_BAD_STATE, 2);
    ck_assert_int_eq(SESSION_INVALID_CONFIGURATION, 3);
    ck_assert_int_eq(SESSION_MISSING_SAMPLE_CONFIGS, 4);
    ck_assert_int_eq(SESSION_MISSING_TARGET_CONFIGS, 5);
    ck_assert_int_eq(SESSION_MISSING_COMPONENT_URL, 6);
    ck_assert_int_eq(SESSION_START_BAD_STATE, 1);
}
END_TEST

/* Each row breaks what the rows before it break too: the order of the checks.  */
static const struct {
    size_t tasks, samplings;
    int output, kind, id;
    enum session_error error;
} refused[] = {
    { 0, 0, -1, 99, 0, SESSION_BAD_SOCKET },
    { 0, 0, 1, 99, 0, SESSION_MISSING_TARGET_CONFIGS },
    { 1, 0, 1, 99, 0, SESSION_MISSING_SAMPLE_CONFIGS },
    { 1, 1, 1, 99, 0, SESSION_INVALID_CONFIGURATION },
    { 1, 1, 1, 0, 0, SESSION_INVALID_CONFIGURATION },
    { 1, 1, 1, SESSION_LAUNCH, 0, SESSION_MISSING_COMPONENT_URL },
    { 1, 1, 1, SESSION_PROCESS, 4194304, SESSION_INVALID_CONFIGURATION },
    { 1, 1, 1, SESSION_THREAD, 4194304, SESSION_INVALID_CONFIGURATION },
    { 1, 1, 1, SESSION_JOB, 4194304, SESSION_INVALID_CONFIGURATION },
    { 1, 1, 1, SESSION_PROCESS, -1, SESSION_INVALID_CONFIGURATION },
};

START_TEST(configure_checks_in_order)
{
    struct session_task task = { .kind = (enum session_task_kind)refused[_i].kind,
                                 .id = refused[_i].id };

    config.output = refused[_i].output < 0 ? -1 : fileno(file);
    config.tasks = &task;
    config.task_count = refused[_i].tasks;
    config.sampling_count = refused[_i].samplings;
    ck_assert_int_eq(session_configure(session, &config), refused[_i].error);
    ck_assert_str_ne(session_message(session), "");
    ck_assert_int_eq(session_start(session, 0), SESSION_BAD_STATE); /* Unconfigured */
}
END_TEST

START_TEST(configure_comes_once)
{
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    config.output = -1; /* the state is looked at first */
    ck_assert_int_eq(session_configure(session, &config), SESSION_BAD_STATE);
    session_reset(session);
    ck_assert_int_eq(session_configure(session, &config), SESSION_BAD_SOCKET);
}
END_TEST

START_TEST(tasks_that_are_gone_are_skipped_while_one_is_left)
{
    const struct session_task tasks[] = { { SESSION_PROCESS, 4194304 }, self };

    config.tasks = tasks;
    config.task_count = 2;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 0), SESSION_OK);
}
END_TEST

/* ---- Start, Stop, Reset ---- */

static const struct {
    struct session_sampling sampling;
    size_t count;
} impossible[] = {
    { { 1000000, SESSION_NANOSECONDS, SESSION_STRATEGY_FRAME_POINTER }, 2 },
    { { 1000000, SESSION_CYCLES, SESSION_STRATEGY_FRAME_POINTER }, 1 },
    { { 1000000, SESSION_BRANCHES_MISPREDICTED, SESSION_STRATEGY_FRAME_POINTER }, 1 },
    { { 1000000, SESSION_NANOSECONDS, SESSION_STRATEGY_NONE }, 1 },
    { { 1000000, SESSION_NANOSECONDS, SESSION_STRATEGY_LAST_BRANCH_RECORD }, 1 },
    { { 1000000, SESSION_NANOSECONDS, SESSION_STRATEGY_SHADOW_CALL_STACK }, 1 },
};

START_TEST(start_takes_one_spec_by_time)
{
    const struct session_sampling twice[] = { impossible[_i].sampling, impossible[_i].sampling };

    config.samplings = twice;
    config.sampling_count = impossible[_i].count;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 0), SESSION_INVALID_ARGS);
    ck_assert_int_eq(session_configure(session, &config), SESSION_BAD_STATE); /* Stopped */
}
END_TEST

START_TEST(a_period_below_the_samplers_is_refused)
{
    const struct session_sampling fast = { 9999, SESSION_NANOSECONDS,
                                           SESSION_STRATEGY_FRAME_POINTER };

    config.samplings = &fast;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 0), SESSION_REFUSED);
    ck_assert_str_eq(session_message(session), "ZX_ERR_INVALID_ARGS");
}
END_TEST

START_TEST(period_and_buffer_have_fuchsias_defaults)
{
    const struct session_sampling unsaid = { 0, SESSION_NANOSECONDS,
                                             SESSION_STRATEGY_FRAME_POINTER };
    struct session_result result;

    config.samplings = &unsaid;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 0), SESSION_OK);
    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);
    ck_assert_uint_eq(result.period_ns, 10000000);
    ck_assert_uint_eq(result.region_size, 8 << 20);
}
END_TEST

START_TEST(calls_want_their_states)
{
    struct session_result result;

    ck_assert_int_eq(session_start(session, 0), SESSION_BAD_STATE);
    ck_assert_int_eq(session_stop(session, &result), SESSION_BAD_STATE);
    ck_assert_int_eq(session_round(session), SESSION_BAD_STATE);
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_stop(session, &result), SESSION_BAD_STATE);
    ck_assert_int_eq(session_add(session, &self), SESSION_BAD_STATE);
    ck_assert_int_eq(session_dump(session, fileno(file)), SESSION_BAD_STATE);
    ck_assert_int_eq(session_start(session, 0), SESSION_OK);
    ck_assert_int_eq(session_start(session, 0), SESSION_BAD_STATE);
    ck_assert_int_eq(session_configure(session, &config), SESSION_BAD_STATE);
    session_reset(session);
    ck_assert_int_eq(session_start(session, 0), SESSION_BAD_STATE); /* Unconfigured */
    ck_assert_int_eq(session_stop(session, &result), SESSION_BAD_STATE);
}
END_TEST

START_TEST(want_of_memory_leaves_a_stopped_session)
{
    enum session_error error = SESSION_NO_MEMORY;
    unsigned long n = 0;

    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    while (error != SESSION_OK) {
        allocation_fail_at(++n);
        error = session_start(session, 1 << 16);
        allocation_fail_at(0);
        ck_assert_int_ne(error, SESSION_BAD_STATE); /* still Stopped */
        ck_assert_uint_lt(n, 500);
    }
    ck_assert_uint_gt(n, 10);
}
END_TEST

/* ---- What is sampled ---- */

static void use_cpu(uint64_t ns)
{
    struct timespec now;
    uint64_t end = 0, at;

    do {
        for (volatile int i = 0; i < 10000; i++)
            continue;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        end = end ? end : at + ns;
    } while (at < end);
}

static void *work(void *argument)
{
    (void)argument;
    use_cpu(60000000);
    return NULL;
}

static pid_t start_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        use_cpu(60000000);
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    return child;
}

/* Distinct threads and processes with samples, and how many of them say their name.  */
struct seen {
    uint64_t samples, processes[8], threads[8];
    size_t process_count, thread_count;
    bool mapped;
};

static void add(uint64_t *ids, size_t *count, uint64_t id)
{
    for (size_t i = 0; i < *count; i++)
        if (ids[i] == id)
            return;
    if (*count < 8)
        ids[(*count)++] = id;
}

static struct seen look(void)
{
    struct seen seen = { .samples = 0 };
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;

    ck_assert_int_eq(fseek(file, 0, SEEK_SET), 0);
    ck_assert_int_eq(fxt_input_open_fd(fileno(file), &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        seen.mapped |= record->kind == FXT_RECORD_MAPPING;
        if (record->kind != FXT_RECORD_LARGE_BLOB && record->kind != FXT_RECORD_BACKTRACE)
            continue;
        seen.samples++;
        add(seen.processes, &seen.process_count, record->thread.process & UINT32_MAX);
        add(seen.threads, &seen.thread_count, record->thread.thread & UINT32_MAX);
    }
    ck_assert_uint_eq(fxt_damage_total(fxt_reader_damage(reader), true), 0);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return seen;
}

static void begin(enum session_task_kind kind)
{
    self.kind = kind;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 1 << 20), SESSION_OK);
}

static void end(void)
{
    struct session_result result;

    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);
    ck_assert_uint_eq(result.missing_count, 0);
    ck_assert_uint_eq(result.samples_collected, look().samples);
}

static void work_in_a_thread_and_a_child(void)
{
    pthread_t thread;
    pid_t child;

    ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
    child = start_child();
    use_cpu(60000000);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

START_TEST(a_process_is_all_its_threads_but_not_its_children)
{
    struct seen seen;

    begin(SESSION_PROCESS);
    work_in_a_thread_and_a_child();
    end();
    seen = look();
    ck_assert_uint_eq(seen.thread_count, 2);
    ck_assert_uint_eq(seen.process_count, 1);
    ck_assert_uint_eq(seen.processes[0], (uint64_t)getpid());
    ck_assert(seen.mapped);
}
END_TEST

START_TEST(a_thread_is_itself_alone)
{
    struct seen seen;

    begin(SESSION_THREAD);
    work_in_a_thread_and_a_child();
    end();
    seen = look();
    ck_assert_uint_eq(seen.thread_count, 1);
    ck_assert_uint_eq(seen.threads[0], (uint64_t)getpid());
    ck_assert(seen.mapped);
}
END_TEST

START_TEST(a_job_is_all_that_descends_from_it)
{
    pid_t before = start_child(); /* it was there before the session */
    struct seen seen;

    begin(SESSION_JOB);
    work_in_a_thread_and_a_child();
    ck_assert_int_eq(waitpid(before, NULL, 0), before);
    end();
    seen = look();
    ck_assert_uint_eq(seen.process_count, 3);
    ck_assert_uint_eq(seen.thread_count, 4);
}
END_TEST

/* Works when nobody holds the other end of the pipe any more.  */
static pid_t start_child_that_waits(int *hold)
{
    int ends[2];
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        (void)close(ends[1]);
        (void)read(ends[0], &byte, 1);
        use_cpu(60000000);
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    (void)close(ends[0]);
    *hold = ends[1];
    return child;
}

START_TEST(targets_are_added_while_it_runs)
{
    int hold;
    pid_t child = start_child_that_waits(&hold);
    const struct session_task more = { SESSION_PROCESS, child };
    const struct session_task gone = { SESSION_PROCESS, 4194304 };
    struct seen seen;

    begin(SESSION_THREAD);
    ck_assert_int_eq(session_add(session, &gone), SESSION_INVALID_CONFIGURATION);
    ck_assert_int_eq(session_add(session, &more), SESSION_OK);
    (void)close(hold);
    use_cpu(30000000);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    end();
    seen = look();
    ck_assert_uint_eq(seen.process_count, 2);
}
END_TEST

/* Twice the samples would be the sign.  */
START_TEST(targets_that_overlap_are_sampled_once)
{
    const struct session_task tasks[] = { { SESSION_PROCESS, getpid() },
                                          { SESSION_THREAD, getpid() },
                                          { SESSION_PROCESS, getpid() } };
    struct session_result result;

    config.tasks = tasks;
    config.task_count = 3;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 1 << 20), SESSION_OK);
    use_cpu(100000000);
    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);
    ck_assert_uint_gt(result.samples_collected, 10);
    ck_assert_uint_lt(result.samples_collected, 150);
}
END_TEST

static void stay_on_one_cpu(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)sched_getcpu(), &set);
    ck_assert_int_eq(sched_setaffinity(0, sizeof set, &set), 0);
}

/* Zircon's sampler stops a CPU that is full; a flight recorder keeps the latest.  */
static const struct {
    enum drain_mode mode;
    bool first, last; /* which of the samples are there */
} modes[] = {
    { DRAIN_STREAMING, true, true },
    { DRAIN_ONESHOT, true, false },
    { DRAIN_CIRCULAR, false, true },
};

START_TEST(modes_differ_in_what_they_keep)
{
    const struct session_sampling fast = { 20000, SESSION_NANOSECONDS,
                                           SESSION_STRATEGY_FRAME_POINTER };
    struct session_result result;
    struct timespec now;
    uint64_t begin_ns, end_ns, first = UINT64_MAX, last = 0, length;
    const struct fxt_record *record;
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;

    stay_on_one_cpu(); /* regions of others would fill later */
    config.samplings = &fast;
    config.mode = modes[_i].mode;
    ck_assert_int_eq(session_configure(session, &config), SESSION_OK);
    ck_assert_int_eq(session_start(session, 8192), SESSION_OK);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    begin_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    for (int i = 0; i < 40; i++) {
        use_cpu(2000000);
        ck_assert_int_eq(session_round(session), SESSION_OK);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    end_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    length = end_ns - begin_ns;
    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);

    ck_assert_int_eq(fseek(file, 0, SEEK_SET), 0);
    ck_assert_int_eq(fxt_input_open_fd(fileno(file), &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        if (record->kind != FXT_RECORD_LARGE_BLOB)
            continue;
        first = record->ticks < first ? record->ticks : first;
        last = record->ticks > last ? record->ticks : last;
    }
    fxt_reader_close(reader);
    fxt_input_close(input);
    ck_assert_uint_gt(last, 0);
    ck_assert_int_eq(first < begin_ns + length / 2, modes[_i].first);
    ck_assert_int_eq(last > begin_ns + length / 2, modes[_i].last);
    if (modes[_i].mode != DRAIN_STREAMING) /* which depends on how often rounds come */
        ck_assert_int_eq(result.loss.region_full > 0, modes[_i].mode == DRAIN_ONESHOT);
}
END_TEST

/* Each snapshot is a trace of its own, with the names and mappings that its samples need.  */
START_TEST(a_flight_recorder_is_written_when_asked)
{
    FILE *snapshot = tmpfile(), *whole = file;
    struct seen seen;

    ck_assert_ptr_nonnull(snapshot);
    config.mode = DRAIN_CIRCULAR;
    begin(SESSION_PROCESS);
    use_cpu(30000000);
    ck_assert_int_eq(session_dump(session, fileno(snapshot)), SESSION_OK);
    file = snapshot;
    seen = look();
    ck_assert_uint_gt(seen.samples, 5);
    ck_assert(seen.mapped);
    file = whole;
    use_cpu(30000000);
    end();
    seen = look();
    ck_assert_uint_gt(seen.samples, 5);
    ck_assert_uint_lt(seen.samples, 50); /* only the later ones */
    ck_assert(seen.mapped);
    (void)fclose(snapshot);
}
END_TEST

static const struct trace_options forms[] = {
    { .regions_fd = -1 },
    { .compress = true, .regions_fd = -1 },
    { .profiler = true, .regions_fd = -1 },
    { .profiler = true, .compress = true, .regions_fd = -1 },
};

START_TEST(every_layout_holds_the_samples)
{
    struct seen seen;

    config.trace = forms[_i];
    begin(SESSION_PROCESS);
    use_cpu(50000000);
    end();
    seen = look();
    ck_assert_uint_gt(seen.samples, 10);
    ck_assert(seen.mapped);
}
END_TEST

START_TEST(a_session_can_run_again)
{
    struct session_result result;
    uint64_t first;

    begin(SESSION_PROCESS);
    use_cpu(30000000);
    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);
    first = result.samples_collected;
    ck_assert_uint_gt(first, 5);
    ck_assert_int_eq(session_start(session, 1 << 20), SESSION_OK);
    use_cpu(30000000);
    ck_assert_int_eq(session_stop(session, &result), SESSION_OK);
    ck_assert_uint_gt(result.samples_collected, 5);
    ck_assert_uint_lt(result.samples_collected, 3 * first + 20); /* its own */
}
END_TEST

static bool permitted(void)
{
    const struct sampler_config smallest = { .period = 10000, .buffer_size = 1 };
    const struct sampler_extras extras = { .mode = DRAIN_ONESHOT, .max_frames = REGION_MAX_FRAMES };
    struct events_error error;
    struct sampler *sampler = NULL;
    bool fine = sampler_create_extra(0, &smallest, sizeof smallest, &extras, &sampler, &error) ==
                SAMPLER_OK;

    sampler_close(sampler);
    if (!fine)
        printf("SKIP: perf_event_open is not permitted here\n");
    return fine;
}

int main(void)
{
    Suite *suite = suite_create("capture_session");
    TCase *tcase = tcase_create("session");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!permitted()) {
        srunner_free(runner);
        return EXIT_SUCCESS;
    }
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, errors_have_fuchsias_numbers);
    tcase_add_loop_test(tcase, configure_checks_in_order, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tcase, configure_comes_once);
    tcase_add_test(tcase, tasks_that_are_gone_are_skipped_while_one_is_left);
    tcase_add_loop_test(tcase, start_takes_one_spec_by_time, 0,
                        (int)(sizeof impossible / sizeof *impossible));
    tcase_add_test(tcase, a_period_below_the_samplers_is_refused);
    tcase_add_test(tcase, period_and_buffer_have_fuchsias_defaults);
    tcase_add_test(tcase, calls_want_their_states);
    tcase_add_test(tcase, want_of_memory_leaves_a_stopped_session);
    tcase_add_test(tcase, a_process_is_all_its_threads_but_not_its_children);
    tcase_add_test(tcase, a_thread_is_itself_alone);
    tcase_add_test(tcase, a_job_is_all_that_descends_from_it);
    tcase_add_test(tcase, targets_are_added_while_it_runs);
    tcase_add_test(tcase, targets_that_overlap_are_sampled_once);
    tcase_add_loop_test(tcase, modes_differ_in_what_they_keep, 0,
                        (int)(sizeof modes / sizeof *modes));
    tcase_add_test(tcase, a_flight_recorder_is_written_when_asked);
    tcase_add_loop_test(tcase, every_layout_holds_the_samples, 0,
                        (int)(sizeof forms / sizeof *forms));
    tcase_add_test(tcase, a_session_can_run_again);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
