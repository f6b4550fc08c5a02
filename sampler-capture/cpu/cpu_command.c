#include "sampler-capture/cpu/cpu_command.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/background.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/command.h"
#include "sampler-capture/cpu/cpu_options.h"
#include "sampler-capture/cpu/cpu_session.h"
#include "sampler-capture/cpu/cpu_stats.h"
#include "sampler-capture/cpu/cpu_summary.h"
#include "sampler-capture/cpu/repeat.h"
#include "sampler-capture/host.h"
#include "sampler-capture/named.h"
#include "sampler-capture/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run {
    struct cpu_options options;
    struct host host;
    struct trace_session about;
    struct output output;
    int regions_fd;
    struct command command;
    struct session *session;
    struct pollfd *polled; /* owned; the signals, then the rings */
    size_t polled_count;
    uint64_t started_ns;
    struct named named;    /* with --comm */
    struct keeper *keeper; /* with --keep-modules */
    uint64_t looked_ns, checked_ns;
    unsigned dumps; /* snapshots of a flight recorder */
};

/* A failure before anything runs.  */
static int own_failure(const struct run *run)
{
    return run->options.command[0] ? COMMAND_NOT_STARTED : CLI_ENVIRONMENT;
}

static int out_of_memory(const struct run *run)
{
    cli_error("out of memory");
    return own_failure(run);
}

/* ---- Starting ---- */

static int open_regions(struct run *run)
{
    const char *path = run->options.regions;

    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        cli_error("%s: %s", path, strerror(errno));
        return own_failure(run);
    }
    run->regions_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->regions_fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        return own_failure(run);
    }
    return 0;
}

static int open_output(struct run *run)
{
    if (run->options.kept && !(run->keeper = keeper_open(run->options.kept))) {
        cli_error("%s: %s", run->options.kept, strerror(errno));
        return own_failure(run);
    }
    if (run->options.regions)
        return open_regions(run);
    if (output_open(&run->output, run->options.output))
        return 0;
    cli_error("%s: %s", run->options.output, strerror(errno));
    return own_failure(run);
}

/* Whether the time of -d is over.  It runs from the start of the capture, that of --comm from when
 * it begins to wait.  */
static bool is_late(const struct run *run)
{
    return run->options.duration_ns &&
           host_clock_ns(CLOCK_MONOTONIC) - run->started_ns >= run->options.duration_ns;
}

/* At most so many milliseconds.  */
static int time_to_wait(const struct run *run, int most_ms)
{
    uint64_t passed_ns = host_clock_ns(CLOCK_MONOTONIC) - run->started_ns;
    uint64_t left_ms;

    if (!run->options.duration_ns || passed_ns >= run->options.duration_ns)
        return run->options.duration_ns ? 0 : most_ms;
    left_ms = (run->options.duration_ns - passed_ns) / 1000000 + 1;
    return left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
}

/* Wait for the first processes of that name.  CLI_OK, or a status after a message.  */
static int wait_for_name(struct run *run)
{
    struct cpu_options *options = &run->options;
    struct proc_ids ids = { .ids = NULL };
    struct pollfd signals = { .fd = run->command.signal_fd, .events = POLLIN };
    int status = CLI_OK;

    run->named.name = options->comm;
    while (status == CLI_OK && ids.count == 0) {
        bool is_first = run->named.count == 0;

        if (!named_look(&run->named, host_clock_ns(CLOCK_MONOTONIC), &ids))
            status = out_of_memory(run);
        else if (ids.count > 0)
            break;
        else if (is_first)
            cli_note("waiting for a process named %s", options->comm);
        if (status == CLI_OK && is_late(run)) {
            cli_error("no process was named %s within the duration (-d)", options->comm);
            status = CLI_ENVIRONMENT;
        }
        if (status == CLI_OK && poll(&signals, 1, time_to_wait(run, NAMED_LOOK_MS)) > 0 &&
            command_take_signals(&run->command))
            status = CLI_ENVIRONMENT;
    }
    options->tasks = calloc(ids.count + 1, sizeof *options->tasks);
    for (size_t i = 0; options->tasks && i < ids.count; i++)
        options->tasks[options->task_count++] = (struct session_task){ .kind = SESSION_PROCESS,
                                                                       .id = ids.ids[i] };
    free(ids.ids);
    return status;
}

/* Let a child that was not let go yet, and all that it will start, run on one CPU only.  */
static bool pin(pid_t pid, unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(pid, sizeof set, &set) == 0)
        return true;
    cli_error("--cpu %u: %s; nproc(1) and taskset(1) show which CPUs may be used", cpu,
              strerror(errno));
    return false;
}

/* What is sampled: the command's child, or the tasks of the command line.  */
static int find_tasks(struct run *run)
{
    struct cpu_options *options = &run->options;

    if (options->comm) {
        int status = wait_for_name(run);

        if (status != CLI_OK)
            return status;
    }
    if (!options->command[0])
        return options->tasks ? 0 : out_of_memory(run);
    if (!command_start(&run->command, options->command, run->output.is_stdout)) {
        cli_error("cannot start a process: %s", strerror(errno));
        return COMMAND_NOT_STARTED;
    }
    if (options->pinned && !pin(run->command.pid, options->cpu))
        return COMMAND_NOT_STARTED;
    options->tasks = calloc(1, sizeof *options->tasks);
    if (!options->tasks)
        return out_of_memory(run);
    options->tasks[options->task_count++] = (struct session_task){ .kind = SESSION_LAUNCH,
                                                                   .id = run->command.pid };
    return 0;
}

static int refuse(const struct run *run, enum session_error error)
{
    cli_error("%s", session_message(run->session));
    return error == SESSION_REFUSED ? CLI_ENVIRONMENT : own_failure(run);
}

static int start_session(struct run *run)
{
    const struct cpu_options *options = &run->options;
    const struct session_sampling sampling = { .period_ns = options->period_ns,
                                               .timebase = SESSION_NANOSECONDS,
                                               .strategy = options->strategy };
    const struct session_config config = {
        .output = options->regions ? run->regions_fd : run->output.fd,
        .samplings = &sampling,
        .sampling_count = 1,
        .tasks = options->tasks,
        .task_count = options->task_count,
        .mode = options->mode,
        .counter = options->counter,
        .counter_period = options->counter_period,
        .kernel = options->kernel,
        .stack_size = options->stack_size,
        .trace = { .profiler = options->profiler,
                   .compress = options->compress,
                   .regions_fd = run->regions_fd },
        .about = &run->about,
        .keeper = run->keeper,
    };
    enum session_error error;

    run->session = session_open();
    if (!run->session)
        return out_of_memory(run);
    host_describe(&run->host, options->command, &run->about);
    error = session_configure(run->session, &config);
    if (error == SESSION_OK)
        error = session_start(run->session, options->region_size);
    return error == SESSION_OK ? 0 : refuse(run, error);
}

static bool open_polled(struct run *run)
{
    size_t rings = session_fds(run->session, NULL, 0);
    int *fds = calloc(rings + 1, sizeof *fds);

    run->polled = calloc(rings + 1, sizeof *run->polled);
    if (!fds || !run->polled) {
        free(fds);
        return false;
    }
    (void)session_fds(run->session, fds + 1, rings);
    fds[0] = run->command.signal_fd;
    run->polled_count = rings + 1;
    for (size_t i = 0; i < run->polled_count; i++)
        run->polled[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    free(fds);
    return true;
}

/* A new file begins before the command does, so that none is ever empty.  */
static int begin_output(struct run *run)
{
    if (run->output.fd < 0 || !output_is_new(&run->output))
        return 0;
    if (session_flush(run->session) != SESSION_OK) {
        cli_error("%s: %s", run->output.name, session_message(run->session));
        return own_failure(run);
    }
    if (output_publish(&run->output))
        return 0;
    cli_error("%s: %s", run->output.name, strerror(errno));
    return own_failure(run);
}

/* The command runs: what an earlier capture left goes.  */
static void keep_output(struct run *run)
{
    if (run->output.fd >= 0)
        output_keep(&run->output);
    else if (!trace_clear_regions(run->regions_fd))
        cli_warning("%s: files of an earlier capture cannot be removed: %s; they are part of what "
                    "a reader finds there",
                    run->options.regions, strerror(errno));
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct run *run)
{
    int status;

    if (!command_watch(&run->command)) {
        cli_error("cannot watch signals: %s", strerror(errno));
        return own_failure(run);
    }
    status = open_output(run);
    if (status == 0)
        status = find_tasks(run);
    if (status == 0)
        status = start_session(run);
    if (status == 0 && !open_polled(run))
        status = out_of_memory(run);
    if (status == 0)
        status = begin_output(run);
    if (status == 0 && run->options.command[0])
        status = command_exec(&run->command, run->options.command[0]);
    if (status == 0)
        keep_output(run);
    return status;
}

/* ---- Running ---- */

/* Whether any target of the command line still lives.  */
static bool targets_live(const struct run *run)
{
    for (size_t i = 0; i < run->options.task_count; i++) {
        const struct session_task *task = &run->options.tasks[i];

        if (task->kind == SESSION_SYSTEM_WIDE || proc_process_of(task->id) != 0)
            return true;
    }
    return false;
}

/* Whether no target that was asked for lives any more; looked at each NAMED_LOOK_MS.  */
static bool targets_ended(struct run *run)
{
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);

    if (now_ns - run->checked_ns < NAMED_LOOK_MS * UINT64_C(1000000))
        return false;
    run->checked_ns = now_ns;
    return run->options.comm ? !named_lives(&run->named) : !targets_live(run);
}

static bool is_over(struct run *run)
{
    const struct cpu_options *options = &run->options;

    if (run->polled[0].revents && command_take_signals(&run->command))
        return true;
    if (is_late(run))
        return true;
    if (options->command[0])
        return run->command.ended;
    /* With --comm and -d there may always be another one.  */
    return !(options->comm && options->duration_ns) && targets_ended(run);
}

/* A failed snapshot costs the snapshot, not the flight recorder.  */
static void dump(struct run *run)
{
    char name[4200];
    int fd;

    run->command.dump = false;
    if (run->options.mode != DRAIN_CIRCULAR) {
        cli_warning("SIGUSR2 is ignored: only --mode circular writes a trace on it");
        return;
    }
    run->dumps++;
    repeat_name(run->options.output, run->dumps, 0, name, sizeof name);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        cli_warning("%s: %s", name, strerror(errno));
        return;
    }
    if (session_dump(run->session, fd) == SESSION_OK)
        cli_note("%s: written", name);
    else
        cli_warning("%s: %s", name, session_message(run->session));
    if (close(fd) != 0)
        cli_warning("%s: %s", name, strerror(errno));
}

/* Processes that have the name by now.  One that cannot be sampled costs itself.  */
static void take_later(struct run *run)
{
    uint64_t now_ns = host_clock_ns(CLOCK_MONOTONIC);
    struct proc_ids ids = { .ids = NULL };

    if (now_ns - run->looked_ns < NAMED_LOOK_MS * UINT64_C(1000000))
        return;
    run->looked_ns = now_ns;
    if (!named_look(&run->named, now_ns, &ids))
        cli_warning("out of memory: later processes are not sampled");
    for (size_t i = 0; i < ids.count; i++) {
        const struct session_task task = { .kind = SESSION_PROCESS, .id = ids.ids[i] };
        enum session_error error = session_add(run->session, &task);

        if (error != SESSION_OK && error != SESSION_INVALID_CONFIGURATION) /* it has ended */
            cli_warning("process %d is not sampled: %s", (int)ids.ids[i],
                        session_message(run->session));
    }
    free(ids.ids);
}

/* Until it is over.  False when the trace cannot go on.  */
static bool work(struct run *run)
{
    for (;;) {
        (void)poll(run->polled, run->polled_count,
                   time_to_wait(run, session_round_ms(run->session)));
        if (is_over(run))
            return true;
        if (run->command.dump)
            dump(run);
        if (run->options.comm)
            take_later(run);
        if (session_round(run->session) != SESSION_OK)
            return false;
    }
}

static const char *output_name(const struct run *run)
{
    return run->options.regions ? run->options.regions : run->output.name;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void summarize(const struct run *run, const struct session_result *result, bool fine)
{
    struct rusage usage = { 0 };
    struct summary summary = {
        .output = output_name(run),
        .fine = fine,
        .quiet = run->options.quiet,
        .kept = run->options.kept,
        .kernel = run->options.kernel,
        .regions = run->options.regions != NULL,
        .seconds = (double)(host_clock_ns(CLOCK_MONOTONIC) - run->started_ns) / 1e9,
        .result = result,
    };

    if (run->options.command[0] && getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        summary.user_seconds = seconds(usage.ru_utime);
        summary.kernel_seconds = seconds(usage.ru_stime);
    }
    summary_print(&summary);
}

static enum cli_exit tell_stats(const struct run *run, const struct session_result *result)
{
    if (run->options.print_stats)
        stats_print(result);
    return run->options.stats_json ? stats_write_json(result, run->options.stats_json) : CLI_OK;
}

static int finish(struct run *run)
{
    struct session_result result;
    bool fine;

    background_ready(false);
    host_hurry(); /* the command is another process already */
    fine = session_flush(run->session) == SESSION_OK && work(run);
    if (session_stop(run->session, &result) != SESSION_OK || !fine) {
        output_report_early_end(output_name(run), session_errno(run->session),
                                run->options.command[0] ? "; the command runs on" : "");
        fine = false;
    }
    if (run->output.fd >= 0)
        fine = output_finish(&run->output, fine);
    summarize(run, &result, fine);
    if (run->keeper) {
        const struct keep_result kept = keeper_finish(run->keeper);

        keep_summarize(&kept, run->options.kept, run->options.quiet);
        fine &= kept.failed == 0;
    }
    fine &= tell_stats(run, &result) == CLI_OK;
    return command_finish(&run->command, &run->output, fine, run->options.quiet);
}

static void release(struct run *run)
{
    command_close(&run->command);
    session_close(run->session);
    keeper_close(run->keeper);
    output_abandon(&run->output);
    if (run->regions_fd >= 0)
        (void)close(run->regions_fd);
    free(run->polled);
    named_release(&run->named);
    free(run->options.tasks);
}

static int capture(const struct cpu_options *options)
{
    struct run run = { .options = *options,
                       .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
                       .output = { .fd = -1 },
                       .regions_fd = -1 };
    int status;

    if (run.options.background)
        background_begin(run.options.output ? run.options.output : run.options.regions);
    run.started_ns = host_clock_ns(CLOCK_MONOTONIC);
    status = start(&run);
    if (!run.options.comm)
        run.started_ns = run.about.monotonic_ns;
    if (status == 0)
        status = finish(&run);
    else
        background_ready(true);
    release(&run);
    return status;
}

int cpu_main(char **argv)
{
    struct cpu_options options;
    int status;

    cpu_options_parse(&options, argv);
    if (!options.repeat)
        return capture(&options); /* which frees the tasks */
    status = repeat_captures(&options, capture);
    free(options.tasks);
    return status;
}
