/* sampler-capture - record what programs do, as traces in the Fuchsia trace format.  */
#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/background.h"
#include "sampler-capture/cpu/cpu.h"
#include "sampler-capture/heap/heap.h"

#include <string.h>

static const struct cli_option no_options[] = { { 0, 0, NULL, NULL, NULL } };

static const char *const examples[] = {
    "Sample the CPU time of a program and of all it starts",
    "sampler-capture cpu -o out.fxt -- ./program input",
    "Sample what a program allocates and frees",
    "sampler-capture heap -o heap.fxt -- ./program input",
    "Sample what runs already, until 'sampler-capture stop'",
    "sampler-capture cpu --background -p 1234 -o out.fxt",
    "All options of a capture",
    "sampler-capture cpu --help",
    NULL,
};

static const struct {
    const char *name;
    int (*main)(char **argv);
} commands[] = {
    { "cpu", cpu_main },
    { "heap", heap_main },
    { "status", background_status_main },
    { "stop", background_stop_main },
    { "abort", background_abort_main },
};

#define NAMES "cpu, heap, status, stop, abort"

static const struct cli_command sampler_capture = {
    .name = "sampler-capture",
    .usage = "COMMAND [OPTION]...",
    .summary = "Record what programs do, as traces in the Fuchsia trace format.\n\n"
               "Commands:\n"
               "  cpu                       where threads spend CPU time: samples of their stacks\n"
               "  heap                      what allocates and frees memory: samples of it\n"
               "  status                    tell whether a background session runs\n"
               "  stop                      end the background session\n"
               "  abort                     end it and remove its output",
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
        cli_usage_error("which command? There are: " NAMES);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(parser.argv[0], commands[i].name) == 0)
            return commands[i].main(parser.argv + 1);
    cli_usage_error("no command '%s'. There are: " NAMES, parser.argv[0]);
}
