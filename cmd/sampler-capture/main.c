/* sampler-capture - record what programs do, as traces in the Fuchsia trace format.  */
#include "cmd/cli/cli.h"
#include "sampler-capture/background.h"
#include "sampler-capture/cpu/cpu_options.h"
#include "sampler-capture/heap/heap_options.h"
#ifdef FXT_CAN_TRACE_INSN
#include "sampler-capture/insn/insn_options.h"
#endif
#include "sampler-capture/trace/trace_options.h"

static const char *const examples[] = {
    "Sample the CPU time of a program and its child processes",
    "sampler-capture cpu -o out.fxt -- ./program input",
    "Sample the allocations of a program",
    "sampler-capture heap -o heap.fxt -- ./program input",
    "Sample a running process until 'sampler-capture stop'",
    "sampler-capture cpu --background -p 1234 -o out.fxt",
    "List all options of a capture",
    "sampler-capture cpu --help",
    NULL,
};

static const struct cli_command *const commands[] = {
    &cpu_command,
    &heap_command,
#ifdef FXT_CAN_TRACE_INSN
    &insn_command,
#endif
    &trace_command,
    &background_status_command,
    &background_stop_command,
    &background_abort_command,
    NULL,
};

static const struct cli_command sampler_capture = {
    .name = "sampler-capture",
    .usage = "COMMAND [OPTION]...",
    .summary = "Record programs as traces in the Fuchsia trace format.",
    .examples = examples,
    .stop_at_operand = true,
    .commands = commands,
#ifdef FXT_CAN_TRACE_INSN
    .libraries = insn_decoder_name,
#endif
};

int main(int argc, char **argv)
{
    (void)argc;
    return cli_main(&sampler_capture, argv);
}
