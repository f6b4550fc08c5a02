#include "sampler-capture/cpu/options.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/cpu/region.h"

#include <string.h>
#include <unistd.h>

enum key {
    KEY_OUTPUT = 1,
    KEY_FREQUENCY,
    KEY_PERIOD,
    KEY_BUFFER_SIZE,
};

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "where the trace goes; - is standard output" },
    { KEY_FREQUENCY, 'F', "frequency", "HZ",
      "samples for each second of CPU time, 1 to 100000;\nthe default is 1000" },
    { KEY_PERIOD, 0, "period", "NS",
      "the same as a period in nanoseconds of CPU time,\nfrom 10000 on" },
    { KEY_BUFFER_SIZE, 0, "buffer-size", "SIZE",
      "the buffer of each CPU, such as 512k or 4M (the default),\nat most 1G" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Where does make spend its time, compilers included?",
    "sampler-capture cpu -o make.fxt -- make -j2",
    "Ten times as fine, for a short program",
    "sampler-capture cpu -F 10000 -o out.fxt -- ./program input",
    "What to do with the result",
    "fxt2pprof out.fxt -o profile.pb.gz",
    NULL,
};

static const struct cli_command cpu_command = {
    .name = "sampler-capture cpu",
    .usage = "[-F HZ | --period=NS] [--buffer-size=SIZE] -o OUT.fxt -- COMMAND [ARGUMENT]...",
    .summary = "Run COMMAND and sample the user stacks of all its threads and child processes\n"
               "while they use a CPU, into a trace in the Fuchsia trace format.\n\n"
               "The exit status is COMMAND's, 128 + N if signal N ended it; 127 if COMMAND is not\n"
               "found, 126 if it cannot run, 125 if the capture could not start, 4 if the trace\n"
               "could not be written to its end, 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .stop_at_operand = true,
};

uint64_t period_from_hz(uint64_t hz)
{
    return (1000000000 + hz / 2) / hz;
}

static void check(const struct cpu_options *options)
{
    if (!options->command[0])
        cli_usage_error("no COMMAND to run");
    if (!options->output)
        cli_usage_error("no output file: -o OUT.fxt");
    else if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
        cli_usage_error("a trace is no text for a terminal: redirect standard output");
}

void cpu_options_parse(struct cpu_options *options, char **argv)
{
    struct cli_parser parser;
    bool has_period = false;
    int key;

    *options = (struct cpu_options){ .period_ns = DEFAULT_PERIOD_NS,
                                     .region_size = DEFAULT_REGION_SIZE };
    cli_start(&parser, &cpu_command, argv);
    while ((key = cli_next(&parser)) > CLI_END) {
        if ((key == KEY_FREQUENCY || key == KEY_PERIOD) && has_period)
            cli_usage_error("-F and --period say the same thing: give one of them, once");
        switch ((enum key)key) {
        case KEY_OUTPUT:
            options->output = parser.value;
            break;
        case KEY_FREQUENCY:
            options->period_ns = period_from_hz(cli_number("-F", parser.value, 1, MAX_HZ));
            has_period = true;
            break;
        case KEY_PERIOD:
            options->period_ns = cli_number("--period", parser.value, MIN_PERIOD_NS, MAX_PERIOD_NS);
            has_period = true;
            break;
        case KEY_BUFFER_SIZE:
            options->region_size = (size_t)cli_size("--buffer-size", parser.value, 1,
                                                    REGION_MAX_SIZE);
            break;
        }
    }
    options->command = parser.argv;
    check(options);
}
