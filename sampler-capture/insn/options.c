#include "sampler-capture/insn/options.h"

#include "sampler-capture/insn/insn.h"

#include <string.h>
#include <unistd.h>

enum key {
    KEY_OUTPUT = 1,
    KEY_SIMULATE,
    KEY_TIMING,
    KEY_CLOCK,
    KEY_NO_RETURN_COMPRESSION,
    KEY_OVERFLOW_EVERY,
    KEY_SEED,
    KEY_STEPS,
    KEY_COMPRESS,
    KEY_QUIET,
};

static const char *const timings[] = { "tsc", "mtc", "cyc", NULL }; /* enum insn_timing */
static const char *const clocks[] = { "instructions", "real", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "where the trace goes; - is standard output",
      CLI_FILE },
    { KEY_SIMULATE, 0, "simulate", NULL,
      "step COMMAND instruction by instruction and write the packets that a processor with Intel "
      "PT would have written: slow, but exact, and on any machine" },
    { KEY_TIMING, 0, "timing", "PACKETS",
      "packets that carry the time: tsc (few), mtc, or cyc (the default: before each packet of "
      "branches)",
      .choices = timings },
    { KEY_CLOCK, 0, "clock", "CLOCK",
      "the clock of those packets: instructions, each of which takes a nanosecond (the default), "
      "or real, which the stepping slows down",
      .choices = clocks },
    { KEY_NO_RETURN_COMPRESSION, 0, "no-return-compression", NULL,
      "write the target of each return" },
    { KEY_OVERFLOW_EVERY, 0, "overflow-every", "N",
      "lose packets at random places, every N instructions on average" },
    { KEY_SEED, 0, "seed", "N", "of these places; the default is 1" },
    { KEY_STEPS, 0, "steps", "FILE",
      "also write the thread and address of each instruction that was stepped: 16 bytes each",
      CLI_FILE },
    { KEY_COMPRESS, 0, "compress", NULL, "as zstd frames" },
    { KEY_QUIET, 'q', "quiet", NULL, "no summary, only what was lost" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Every call of a short program, without hardware support",
    "sampler-capture insn --simulate -o insn.fxt -- ./program input",
    "And each instruction, as it was stepped",
    "sampler-capture insn --simulate --steps s.bin -o insn.fxt -- ./program",
    NULL,
};

const struct cli_command insn_command = {
    .name = "sampler-capture insn",
    .usage = "--simulate [OPTION]... -o OUT -- COMMAND [ARG]...",
    .summary =
        "Record every branch that COMMAND and all it starts take in user mode, as packets of "
        "Intel Processor Trace, so that each call is known with its time.\n\n"
        "The packets are made by single-stepping (--simulate); this program does not read them "
        "from a processor.\n\n"
        "The exit status is COMMAND's, 128 + N if signal N ended it; 127 if COMMAND is not "
        "found, 126 if it cannot run, 125 if it cannot be captured. 4 if the trace could not "
        "be written to its end, 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .libraries = insn_decoder_name,
    .stop_at_operand = true,
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = insn_main,
    .brief = "every branch a program takes, as packets of Intel PT",
};

static void check(const struct insn_options *options)
{
    if (!options->simulate)
        cli_usage_error("only made packets can be captured: --simulate");
    if (!options->command[0])
        cli_usage_error("nothing to run: -- COMMAND");
    if (!options->output)
        cli_usage_error("no output file: -o OUT.fxt");
    if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
        cli_usage_error("a trace is no text for a terminal: redirect standard output");
}

void insn_options_parse(struct insn_options *options, char **argv)
{
    struct cli_parser parser;
    int key;

    *options = (struct insn_options){ .timing = INSN_TIMING_CYC, .seed = 1 };
    cli_start(&parser, &insn_command, argv);
    while ((key = cli_next(&parser)) > CLI_END) {
        switch ((enum key)key) {
        case KEY_OUTPUT:
            options->output = parser.value;
            break;
        case KEY_SIMULATE:
            options->simulate = true;
            break;
        case KEY_TIMING:
            options->timing = (enum insn_timing)parser.choice;
            break;
        case KEY_CLOCK:
            options->real_clock = parser.choice == 1;
            break;
        case KEY_NO_RETURN_COMPRESSION:
            options->no_return_compression = true;
            break;
        case KEY_OVERFLOW_EVERY:
            options->overflow_every = cli_number("--overflow-every", parser.value, 10,
                                                 UINT64_C(1) << 40);
            break;
        case KEY_SEED:
            options->seed = cli_number("--seed", parser.value, 1, UINT64_MAX);
            break;
        case KEY_STEPS:
            options->steps = parser.value;
            break;
        case KEY_COMPRESS:
            options->compress = true;
            break;
        case KEY_QUIET:
            options->quiet = true;
            break;
        }
    }
    options->command = parser.argv;
    check(options);
}
