#include "sampler-capture/insn/insn_command.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/host.h"
#include "sampler-capture/insn/stepper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct run {
    struct insn_options options;
    struct host host;
    struct trace_session about;
    struct output output;
    struct command command;
    struct stream *stream;
    struct insn_recorder recorder;
    struct stepper stepper;
};

static int fail(const char *what)
{
    cli_error("%s: %s", what, strerror(errno));
    return COMMAND_NOT_STARTED;
}

static bool put_session(const struct run *run)
{
    static const char *const timings[] = { "tsc", "mtc", "cyc" };
    const struct fxt_arg args[] = {
        stream_text("clock", run->about.clock),
        stream_text("layout", "insntrace"),
        stream_text("source", "simulation"),
        stream_text("timing", timings[run->options.timing]),
        stream_text("ticks", run->options.real_clock ? "nanoseconds" : "instructions"),
    };

    _Static_assert(sizeof args / sizeof *args <= STREAM_OWN_ARGS, "there is no room for more");
    return stream_session(run->stream, &run->about, args, sizeof args / sizeof *args);
}

/* 0, or the exit status after a message.  */
static int start_trace(struct run *run)
{
    run->stream = stream_open(run->output.fd, run->options.compress);
    if (!run->stream)
        return fail(run->output.name);
    host_describe(&run->host, run->options.command, &run->about);
    run->recorder.stream = run->stream;
    run->recorder.base_ns = run->about.monotonic_ns;
    insn_encoder_config(&run->recorder.config);
    run->stepper.options = &run->options;
    run->stepper.recorder = &run->recorder;
    run->stepper.command = &run->command;
    if (run->options.steps) {
        run->stepper.steps = fopen(run->options.steps, "wbe");
        if (!run->stepper.steps)
            return fail(run->options.steps);
    }
    errno = ENOMEM;
    return put_session(run) && stream_publish(run->stream, &run->output) ? 0
                                                                         : fail(run->output.name);
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct run *run)
{
    int status;

    if (!command_watch(&run->command))
        return fail("cannot watch signals");
    if (!output_open(&run->output, run->options.output))
        return fail(run->options.output);
    status = start_trace(run);
    if (status == 0 && !command_start(&run->command, run->options.command, run->output.is_stdout))
        status = fail("cannot start a process");
    if (status == 0 && !stepper_attach(&run->stepper))
        status = fail("cannot step the command");
    if (status == 0)
        status = command_exec(&run->command, run->options.command[0]);
    if (status == 0)
        output_keep(&run->output);
    return status;
}

static void report_failure(const struct run *run)
{
    int cause = stream_errno(run->stream) ? stream_errno(run->stream) : run->stepper.failed;

    if (cause == 0 || cause == ENOMEM)
        cli_error("out of memory: the trace ends here; the command runs on");
    else
        cli_error("%s: %s: the trace ends here; the command runs on", run->output.name,
                  strerror(cause));
}

static void summarize(const struct run *run)
{
    const struct stepper *stepper = &run->stepper;

    if (!run->options.quiet)
        cli_note("%s: %s of %s; %s of packets", run->output.name,
                 cli_counted(stepper->instructions, "instruction", "instructions"),
                 cli_counted(stepper->threads, "thread", "threads"),
                 cli_counted(run->recorder.packet_bytes, "byte", "bytes"));
    if (stepper->overflows)
        cli_note("packets were dropped %s (--overflow-every)",
                 cli_counted(stepper->overflows, "time", "times"));
    if (stepper->foreign)
        cli_note(
            "%s of 32 bits, which is not traced",
            cli_counted(stepper->foreign, "thread is in a program", "threads are in programs"));
}

static bool close_steps(struct run *run)
{
    if (!run->stepper.steps || fclose(run->stepper.steps) == 0)
        return true;
    cli_error("%s: %s", run->options.steps, strerror(errno));
    return false;
}

static int finish(struct run *run)
{
    bool fine = stepper_run(&run->stepper) && stream_flush(run->stream, true);

    if (!fine)
        report_failure(run);
    fine = close_steps(run) && fine;
    if (!output_close(&run->output) && fine) {
        cli_error("%s: %s", run->output.name, strerror(errno));
        fine = false;
    }
    summarize(run);
    command_wait(&run->command);
    if (run->command.abort && !run->output.is_stdout)
        (void)unlink(run->options.output);
    return fine ? command_exit_status(&run->command) : CLI_ENVIRONMENT;
}

int insn_main(char **argv)
{
    static struct run run = {
        .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
        .output = { .fd = -1 },
    };
    int status;

    insn_options_parse(&run.options, argv);
    status = start(&run);
    if (status == 0)
        status = finish(&run);
    command_close(&run.command);
    insn_recorder_release(&run.recorder);
    stream_close(run.stream);
    output_abandon(&run.output);
    return status;
}
