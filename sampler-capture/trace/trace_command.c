#include "sampler-capture/trace/trace_command.h"

#include "base/visible.h"
#include "cmd/cli/cli.h"
#include "sampler-capture/background.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/command.h"
#include "sampler-capture/host.h"
#include "sampler-capture/trace/manager.h"
#include "sampler-capture/trace/trace_options.h"
#include "sampler-capture/trace/trace_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_MS 100
#define LIST_NS  UINT64_C(1000000000) /* for programs that run to notice us */
#define FIRST_NS UINT64_C(1500000000) /* the same where they look once a second */

struct run {
    struct recording_options options;
    struct host host;
    struct trace_session about;
    struct output output;
    struct command command;
    struct stream *stream;
    struct manager manager;
};

static int own_failure(const struct run *run)
{
    return run->options.command[0] && run->options.action == TRACE_RECORD ? COMMAND_NOT_STARTED
                                                                          : CLI_ENVIRONMENT;
}

static int fail(const struct run *run, const char *what)
{
    cli_error("%s: %s", what, strerror(errno));
    return own_failure(run);
}

static uint64_t passed_ns(const struct run *run)
{
    return host_clock_ns(CLOCK_MONOTONIC) - run->about.monotonic_ns;
}

/* ---- Lists ----
 *
 * Names are the programs': each stays in its line and column.  */

static void print_category(const struct provider *provider, const char *name, size_t name_length,
                           const char *description, size_t description_length)
{
    struct base_text line = { .bytes = NULL };

    base_text_adds(&line, manager_shown(provider));
    base_text_add(&line, "\t", 1);
    base_text_add_visible(&line, name, name_length);
    base_text_add(&line, "\t", 1);
    base_text_add_visible(&line, description, description_length);
    if (!line.failed)
        (void)puts(line.bytes);
    base_text_release(&line);
}

static int list(struct run *run)
{
    struct manager *manager = &run->manager;
    int status = CLI_ENVIRONMENT;

    host_describe(&run->host, run->options.command, &run->about);
    if (manager_open(manager, &run->options)) {
        uint64_t wait_ns = run->options.duration_ns     ? run->options.duration_ns
                           : manager->registry.is_first ? FIRST_NS
                                                        : LIST_NS;

        if (run->options.action == TRACE_LIST_CATEGORIES)
            manager->on_category = print_category;
        while (passed_ns(run) < wait_ns ||
               (!manager_has_answers(manager) && passed_ns(run) < wait_ns + LIST_NS))
            manager_round(manager, -1, 20);
        for (size_t i = 0; i < manager->count && !manager->on_category; i++)
            if (manager->providers[i]->state == PROVIDER_READY)
                printf("%" PRIu64 "\t%s\n", manager->providers[i]->pid,
                       manager_shown(manager->providers[i]));
        status = cli_flush_stdout();
    }
    manager_close(manager);
    return status;
}

/* ---- Starting ---- */

static bool start_trace(struct run *run)
{
    struct fxt_arg args[2];

    run->stream = stream_open(run->output.fd, run->options.compress);
    if (!run->stream)
        return false;
    host_describe(&run->host, run->options.command, &run->about);
    args[0] = stream_text("trace_mode", run->options.mode == TRACE_ONESHOT    ? "oneshot"
                                        : run->options.mode == TRACE_CIRCULAR ? "circular"
                                                                              : "streaming");
    args[1] = stream_number("trace_buffer_bytes", run->options.buffer_bytes);
    run->manager.stream = run->stream;
    return stream_session(run->stream, &run->about, args, 2);
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct run *run)
{
    int status = 0;

    if (!command_watch(&run->command))
        return fail(run, "cannot watch signals");
    if (!output_open(&run->output, run->options.output))
        return fail(run, run->options.output);
    if (!manager_open(&run->manager, &run->options))
        return own_failure(run);
    if (!start_trace(run)) {
        errno = run->stream && stream_errno(run->stream) ? stream_errno(run->stream) : ENOMEM;
        return fail(run, run->options.output);
    }
    if (run->options.command[0]) {
        if (setenv("FXT_TRACE_SOCKET", run->manager.registry.path, 1) != 0 ||
            !command_start(&run->command, run->options.command, run->output.is_stdout))
            return fail(run, "cannot start a process");
        status = command_exec(&run->command, run->options.command[0]);
    }
    if (status == 0 && !output_publish(&run->output))
        status = fail(run, run->options.output);
    if (status == 0)
        output_keep(&run->output);
    return status;
}

/* ---- Recording ---- */

static bool is_over(struct run *run)
{
    if (run->manager.polled_count > 0 && run->manager.polled[0].revents &&
        command_take_signals(&run->command))
        return true;
    if (run->command.dump) {
        run->command.dump = false;
        cli_warning("SIGUSR2 is ignored by this capture; --mode circular with --trigger keeps the "
                    "events before an alert");
    }
    if (run->options.duration_ns && passed_ns(run) >= run->options.duration_ns)
        return true;
    return run->manager.triggered || run->manager.failed ||
           (run->options.command[0] && run->command.ended);
}

static int time_to_wait(const struct run *run)
{
    uint64_t passed = passed_ns(run);

    if (!run->options.duration_ns)
        return ROUND_MS;
    if (passed >= run->options.duration_ns)
        return 0;
    passed = (run->options.duration_ns - passed) / 1000000 + 1;
    return passed < ROUND_MS ? (int)passed : ROUND_MS;
}

/* Until it is over, and all that providers wrote is written.  False: the trace cannot go on.  */
static bool work(struct run *run)
{
    run->manager.phase = PHASE_STARTED;
    while (!is_over(run)) {
        manager_round(&run->manager, run->command.signal_fd, time_to_wait(run));
        if (!run->manager.failed && !stream_flush(run->stream, false))
            run->manager.failed = true;
    }
    manager_stop(&run->manager);
    while (!manager_is_over(&run->manager) && !run->manager.failed) {
        manager_round(&run->manager, run->command.signal_fd, ROUND_MS);
        (void)command_take_signals(&run->command);
    }
    return !run->manager.failed && stream_flush(run->stream, true);
}

static int finish(struct run *run)
{
    bool fine;

    host_raise_descriptor_limit(); /* a provider takes three */
    background_ready(false);
    fine = work(run);
    if (!fine)
        output_report_early_end(run->output.name, stream_errno(run->stream),
                                run->command.ended ? "" : "; programs run on");
    fine = output_finish(&run->output, fine);
    manager_sort(&run->manager);
    report_summary(&run->manager, run->output.name, (double)passed_ns(run) / 1e9,
                   run->options.quiet);
    report_missing(&run->manager);
    if (run->options.print_stats)
        report_stats(&run->manager, fine);
    if (run->options.stats_json && report_json(&run->manager, run->options.stats_json) != CLI_OK)
        fine = false;
    manager_close(&run->manager);
    return command_finish(&run->command, &run->output, fine, run->options.quiet);
}

int trace_main(char **argv)
{
    static struct run run = {
        .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
        .output = { .fd = -1 },
        .manager = { .registry = { .fd = -1, .lock_fd = -1 } },
    };
    int status;

    trace_options_parse(&run.options, argv);
    if (run.options.action != TRACE_RECORD)
        return list(&run);
    if (run.options.background)
        background_begin(run.options.output);
    status = start(&run);
    if (status == 0)
        status = finish(&run);
    else
        background_ready(true);
    manager_close(&run.manager);
    command_close(&run.command);
    stream_close(run.stream);
    output_abandon(&run.output);
    return status;
}
