#include "sampler-capture/insn/insn_command.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/host.h"
#include "sampler-capture/insn/insn_filter.h"
#include "sampler-capture/insn/pt_capture.h"
#include "sampler-capture/insn/stepper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct run {
    struct insn_options options;
    struct host host;
    struct trace_session about;
    struct output output;
    struct command command;
    struct stream *stream;
    struct insn_recorder recorder;
    struct filter filter;
    struct sim_hardware sim;
    struct insn_controller *controller;
    struct packet_taker taker;
    struct stepper stepper;
    struct pt_capture pt;
};

static bool put_session(const struct run *run)
{
    static const char *const timings[] = { "tsc", "mtc", "cyc" };
    const struct fxt_arg args[] = {
        stream_text("clock", run->about.clock),
        stream_text("layout", "insntrace"),
        stream_text("source", run->options.simulate ? "simulation" : "intel_pt"),
        stream_text("timing", timings[run->options.timing]),
        stream_text("ticks", run->options.real_clock || !run->options.simulate ? "nanoseconds"
                                                                               : "instructions"),
        stream_text("buffers", run->options.is_circular ? "circular" : "all"),
    };

    _Static_assert(sizeof args / sizeof *args <= STREAM_OWN_ARGS, "there is no room for more");
    return stream_session(run->stream, &run->about, args, sizeof args / sizeof *args);
}

/* ---- Simulation ---- */

#define SMALL_BUFFER (UINT64_C(16) << 10) /* one that needs PSB packets every 2 KiB */

static uint64_t simulated_ctl(const struct insn_options *options)
{
    uint64_t ctl = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH;

    if (options->buffer_size > SMALL_BUFFER)
        ctl |= UINT64_C(1) << INSN_CTL_PSB_FREQ_SHIFT;
    if (options->timing != INSN_TIMING_TSC)
        ctl |= INSN_CTL_MTC | (uint64_t)INSN_SIM_MTC_FREQ << INSN_CTL_MTC_FREQ_SHIFT;
    if (options->timing == INSN_TIMING_CYC)
        ctl |= INSN_CTL_CYC;
    if (options->no_return_compression)
        ctl |= INSN_CTL_NO_RETC;
    return ctl;
}

/* The controller of a simulated processor that traces.  False: no memory.  */
static bool prepare_simulation(struct run *run)
{
    enum insn_mode mode = run->options.mode;
    uint32_t traces = mode == INSN_MODE_CPU ? 1 : INSN_MAX_TRACES, descriptor;
    struct insn_buffer_config *buffer = &run->stepper.buffer;

    *buffer = (struct insn_buffer_config){ .is_circular = run->options.is_circular,
                                           .ctl = simulated_ctl(&run->options) };
    insn_buffer_set_size(buffer, run->options.buffer_size);
    insn_encoder_config(&run->recorder.config);
    run->recorder.time_mult = 1;
    run->recorder.time_zero = run->recorder.base_ns;
    run->stepper.sim = &run->sim;
    run->stepper.taker = &run->taker;
    run->stepper.filter = &run->filter;
    if (!sim_hardware_init(&run->sim) ||
        controller_open(&run->sim.hardware, &run->controller) != INSN_ANSWER_OK ||
        controller_initialize(run->controller, mode, traces) != INSN_ANSWER_OK ||
        !taker_init(&run->taker, run->controller, &run->recorder, mode, run->options.is_circular,
                    traces))
        return false;
    if (mode == INSN_MODE_CPU &&
        controller_allocate_buffer(run->controller, buffer, &descriptor) != INSN_ANSWER_OK)
        return false;
    run->stepper.controller = run->controller;
    return controller_start(run->controller) == INSN_ANSWER_OK;
}

static int start_stepper(struct run *run)
{
    errno = ENOMEM;
    if (!prepare_simulation(run))
        return command_fail("cannot simulate");
    if (!run->options.steps)
        return 0;
    run->stepper.steps = fopen(run->options.steps, "wbe");
    return run->stepper.steps ? 0 : command_fail(run->options.steps);
}

/* ---- The trace ---- */

/* 0, or the exit status after a message.  */
static int start_trace(struct run *run)
{
    run->stream = stream_open(run->output.fd, run->options.compress);
    if (!run->stream)
        return command_fail(run->output.name);
    host_describe(&run->host, run->options.command, &run->about);
    run->recorder.stream = run->stream;
    run->recorder.base_ns = run->about.monotonic_ns;
    run->stepper.options = &run->options;
    run->stepper.recorder = &run->recorder;
    run->stepper.command = &run->command;
    if (run->options.simulate) {
        int status = start_stepper(run);

        if (status != 0)
            return status;
    }
    errno = ENOMEM;
    return put_session(run) && stream_publish(run->stream, &run->output)
               ? 0
               : command_fail(run->output.name);
}

static int start_processor(struct run *run)
{
    char message[256] = "";
    enum insn_answer answer = pt_capture_start(&run->pt, &run->options, &run->filter,
                                               &run->recorder, &run->command, message,
                                               sizeof message);

    if (answer == INSN_ANSWER_OK)
        return 0;
    if (message[0])
        cli_error("%s", message);
    else
        cli_error("cannot record with Intel PT: %s",
                  strerror(insn_answer_entry(answer)->linux_errno));
    return COMMAND_NOT_STARTED;
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct run *run)
{
    int status;

    if (!command_watch(&run->command))
        return command_fail("cannot watch signals");
    if (!output_open(&run->output, run->options.output))
        return command_fail(run->options.output);
    status = start_trace(run);
    if (status == 0 && !command_start(&run->command, run->options.command, run->output.is_stdout))
        status = command_fail("cannot start a process");
    if (status == 0 && run->options.simulate && !stepper_attach(&run->stepper))
        status = command_fail("cannot step the command");
    if (status == 0 && !run->options.simulate)
        status = start_processor(run);
    if (status == 0)
        status = command_exec(&run->command, run->options.command[0]);
    if (status == 0)
        output_keep(&run->output);
    return status;
}

static void report_failure(const struct run *run)
{
    int own = run->options.simulate ? run->stepper.failed : run->pt.failed;
    int cause = stream_errno(run->stream);

    output_report_early_end(run->output.name, cause ? cause : own,
                            run->command.ended ? "" : "; the command runs on");
}

static void summarize_processor(const struct run *run)
{
    if (!run->options.quiet)
        cli_note("%s: %s of packets", run->output.name,
                 cli_counted(run->recorder.packet_bytes, "byte", "bytes"));
    if (run->pt.truncated)
        cli_note("packets were dropped %s because a buffer was full; use a larger --buffer-size",
                 cli_counted(run->pt.truncated, "time", "times"));
    if (run->pt.lost)
        cli_note("the kernel dropped %s about mappings and threads: code in them may be missing",
                 cli_counted(run->pt.lost, "record", "records"));
}

static void summarize(const struct run *run)
{
    const struct stepper *stepper = &run->stepper;

    if (!run->options.simulate) {
        summarize_processor(run);
        return;
    }
    if (!run->options.quiet)
        cli_note("%s: %s of %s; %s of packets", run->output.name,
                 cli_counted(stepper->instructions, "instruction", "instructions"),
                 cli_counted(stepper->threads, "thread", "threads"),
                 cli_counted(run->recorder.packet_bytes, "byte", "bytes"));
    if (stepper->overflows)
        cli_note("packets were dropped %s (--overflow-every)",
                 cli_counted(stepper->overflows, "time", "times"));
    if (stepper->refused)
        cli_note("%s not traced, because %d were alive at the same time",
                 cli_counted(stepper->refused, "thread was", "threads were"), INSN_MAX_TRACES);
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
    bool fine = (run->options.simulate ? stepper_run(&run->stepper) : pt_capture_run(&run->pt)) &&
                stream_flush(run->stream, true);

    if (!fine)
        report_failure(run);
    fine = close_steps(run) && fine;
    fine = output_finish(&run->output, fine);
    summarize(run);
    return command_finish(&run->command, &run->output, fine, run->options.quiet);
}

/* Before anything is started or written.  0, or the exit status after a message.  */
static int check_hardware(struct run *run)
{
    char message[256];

    if (run->options.simulate || pt_read_facts(PT_DEVICE, &run->pt.facts, message, sizeof message))
        return 0;
    cli_error("%s", message);
    return CLI_ENVIRONMENT;
}

static int read_filters(struct run *run)
{
    const struct insn_options *options = &run->options;
    char message[256];

    for (size_t i = 0; i < options->filters.count; i++) {
        if (!filter_add(&run->filter, options->filters.items[i], options->command[0], message,
                        sizeof message)) {
            cli_error("--filter: %s", message);
            return CLI_USAGE;
        }
    }
    if (options->simulate || run->filter.count <= run->pt.facts.filters)
        return 0;
    if (run->pt.facts.filters == 0)
        cli_error("--filter: the Intel PT of this processor cannot be limited to ranges of code; "
                  "omit --filter, or use --simulate");
    else
        cli_error("--filter: %zu ranges of code, but this processor has %u; give fewer, or use "
                  "--simulate",
                  run->filter.count, run->pt.facts.filters);
    return CLI_ENVIRONMENT;
}

int insn_main(char **argv)
{
    static struct run run = {
        .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
        .output = { .fd = -1 },
    };
    int status;

    insn_options_parse(&run.options, argv);
    status = check_hardware(&run);
    if (status == 0)
        status = read_filters(&run);
    if (status == 0)
        status = start(&run);
    if (status == 0)
        status = finish(&run);
    command_close(&run.command);
    taker_release(&run.taker);
    controller_close(run.controller);
    sim_hardware_release(&run.sim);
    pt_capture_release(&run.pt);
    insn_recorder_release(&run.recorder);
    filter_release(&run.filter);
    stream_close(run.stream);
    output_abandon(&run.output);
    return status;
}
