/* sampler-capture - record what programs do, as traces in the Fuchsia trace format.  */
#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/cpu.h"

#include <string.h>

static const struct cli_option no_options[] = { { 0, 0, NULL, NULL, NULL } };

static const char *const examples[] = {
    "Sample the CPU time of a program and of all it starts",
    "sampler-capture cpu -o out.fxt -- ./program input",
    "All options of a capture",
    "sampler-capture cpu --help",
    NULL,
};

static const struct cli_command sampler_capture = {
    .name = "sampler-capture",
    .usage = "cpu [OPTION]... -o OUT.fxt -- COMMAND [ARGUMENT]...",
    .summary = "Record what a program does, as a trace in the Fuchsia trace format.\n\n"
               "Captures:\n"
               "  cpu                       where threads spend CPU time: samples of their stacks",
    .options = no_options,
    .examples = examples,
    .stop_at_operand = true,
};

int main(int argc, char **argv)
{
    struct cli_parser parser;

    cli_start(&parser, &sampler_capture, argv + (argc > 0));
    (void)cli_next(&parser); /* answers --help and --version, refuses other options */
    if (!parser.argv[0])
        cli_usage_error("which capture? There is: cpu");
    if (strcmp(parser.argv[0], "cpu") != 0)
        cli_usage_error("no capture '%s'. There is: cpu", parser.argv[0]);
    return cpu_main(parser.argv + 1);
}
