#include "sampler-capture/cpu/cpu.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/capture.h"
#include "sampler-capture/cpu/command.h"
#include "sampler-capture/cpu/events.h"
#include "sampler-capture/cpu/host.h"
#include "sampler-capture/cpu/options.h"
#include "sampler-capture/cpu/output.h"
#include "sampler-capture/cpu/summary.h"
#include "sampler-capture/cpu/trace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* As env(1) and timeout(1): from the exec on the status is the command's, so what happens before
 * has values that commands seldom use.  */
enum {
    EXIT_NOT_STARTED = 125,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
};

/* Rings are drained when one is a quarter full, and at least that often: soon enough to open the
 * files of processes that do not live long.  */
#define ROUND_MS 100

struct session {
    struct cpu_options options;
    struct host host;
    struct trace_session description;
    struct output output;
    struct command command;
    struct events events;
    struct trace *trace;
    struct capture capture;
    struct pollfd *polled; /* owned; the signals, then two rings for each of events.cpus */
    size_t polled_count;
    uint64_t started_ns;
};

/* ---- Starting ---- */

static bool open_polled(struct session *session)
{
    const struct events *events = &session->events;
    size_t count = 0;

    session->polled = calloc(1 + 2 * events->count, sizeof *session->polled);
    if (!session->polled)
        return false;
    session->polled[count++].fd = session->command.signal_fd;
    for (size_t i = 0; i < events->count; i++) {
        session->polled[count++].fd = events->cpus[i].sideband.fd;
        session->polled[count++].fd = events->cpus[i].samples.fd;
    }
    for (size_t i = 0; i < count; i++)
        session->polled[i].events = POLLIN;
    session->polled_count = count;
    return true;
}

/* Everything that can fail for want of memory, before the command runs.  */
static bool open_capture(struct session *session)
{
    session->trace = trace_open(session->output.fd, session->events.cpu_limit);
    return session->trace &&
           capture_init(&session->capture, &session->events, session->trace,
                        session->options.region_size) &&
           open_polled(session);
}

static int exec_failure(struct session *session, int cause)
{
    cli_error("%s: %s", session->options.command[0], strerror(cause));
    return cause == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct session *session)
{
    const struct cpu_options *options = &session->options;
    struct events_error error;
    int cause;

    if (!output_open(&session->output, options->output)) {
        cli_error("%s: %s", options->output, strerror(errno));
        return EXIT_NOT_STARTED;
    }
    if (!command_start(&session->command, options->command, session->output.is_stdout)) {
        cli_error("cannot start a process: %s", strerror(errno));
        return EXIT_NOT_STARTED;
    }
    if (!events_open(&session->events, session->command.pid, options->period_ns,
                     capture_ring_size(options->period_ns, options->region_size), &error)) {
        cli_error("%s", error.message);
        return EXIT_NOT_STARTED;
    }
    if (!open_capture(session)) {
        cli_error("out of memory");
        return EXIT_NOT_STARTED;
    }
    host_describe(&session->host, options->command, &session->description);
    session->description.period_ns = options->period_ns;
    session->description.max_frames = session->events.max_frames;
    session->description.clock = "task-clock";
    cause = command_exec(&session->command);
    if (cause != 0)
        return exec_failure(session, cause);
    output_keep(&session->output);
    return 0;
}

/* ---- Running ---- */

/* Rings whose command and children have all ended report that for ever.  */
static void forget_hung_up(struct session *session)
{
    for (size_t i = 1; i < session->polled_count; i++)
        if (session->polled[i].revents & (POLLHUP | POLLERR))
            session->polled[i].fd = -1;
}

/* Until the command ends or a signal asks for the end.  False when the trace cannot go on.  */
static bool run(struct session *session)
{
    bool ended = false;

    if (!trace_write_session(session->trace, &session->description))
        return false;
    while (!ended) {
        if (poll(session->polled, session->polled_count, ROUND_MS) > 0) {
            if (session->polled[0].revents)
                ended = command_take_signals(&session->command) || session->command.ended;
            forget_hung_up(session);
        }
        if (!ended && !capture_round(&session->capture, false))
            return false;
    }
    events_stop(&session->events);
    return capture_round(&session->capture, true);
}

static void report_failure(struct session *session)
{
    int cause = trace_errno(session->trace);

    events_stop(&session->events);
    if (cause == 0 || cause == ENOMEM)
        cli_error("out of memory: the trace ends here; the command runs on");
    else
        cli_error("%s: %s: the trace ends here; the command runs on", session->output.name,
                  strerror(cause));
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void summarize(const struct session *session, bool fine)
{
    const struct capture *capture = &session->capture;
    struct rusage usage = { 0 };
    struct summary summary = {
        .output = session->output.name,
        .fine = fine,
        .seconds = (double)(host_clock_ns(CLOCK_MONOTONIC) - session->started_ns) / 1e9,
        .period_ns = session->options.period_ns,
        .region_size = capture->cpus[0].region.size,
        .totals = trace_totals(session->trace),
        .loss = capture_loss(capture),
        .broken = capture->broken,
        .unplaced = capture->processes.modules.unplaced,
        .mappings_dropped = capture->processes.mappings_dropped,
    };

    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        summary.user_seconds = seconds(usage.ru_utime);
        summary.kernel_seconds = seconds(usage.ru_stime);
    }
    summary_print(&summary);
}

static int finish(struct session *session)
{
    bool fine = run(session);

    if (!fine)
        report_failure(session);
    if (!output_close(&session->output) && fine) {
        cli_error("%s: %s", session->output.name, strerror(errno));
        fine = false;
    }
    summarize(session, fine);
    command_wait(&session->command);
    return fine ? command_exit_status(&session->command) : CLI_ENVIRONMENT;
}

static void release(struct session *session)
{
    command_close(&session->command);
    if (session->capture.cpus)
        capture_release(&session->capture);
    trace_close(session->trace);
    events_close(&session->events);
    output_abandon(&session->output);
    free(session->polled);
}

int cpu_main(char **argv)
{
    struct session session = {
        .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
        .output = { .fd = -1 }
    };
    int status;

    cpu_options_parse(&session.options, argv);
    status = start(&session);
    session.started_ns = session.description.monotonic_ns;
    if (status == 0)
        status = finish(&session);
    release(&session);
    return status;
}
