#include "sampler-capture/insn/insn_options.h"

#include "sampler-capture/capture_output.h"
#include "sampler-capture/insn/insn_command.h"

#define BUFFER           (UINT64_C(4) << 20)
#define SIMULATED_BUFFER (UINT64_C(64) << 10)

enum key {
    KEY_OUTPUT = 1,
    KEY_SIMULATE,
    KEY_MODE,
    KEY_BUFFER_SIZE,
    KEY_CIRCULAR,
    KEY_SNAPSHOT_ON,
    KEY_FILTER,
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
static const char *const modes[] = { "cpu", "thread", NULL };       /* enum insn_mode */
static const char *const snapshots[] = { "SIGUSR2", NULL };
static const char *const clocks[] = { "instructions", "real", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "write the trace to OUT.fxt; - is standard output",
      CLI_FILE },
    { KEY_SIMULATE, 0, "simulate", NULL,
      "single-step COMMAND and write the packets that a processor with Intel PT would write: slow, "
      "but exact, and on any x86-64 machine" },
    { KEY_MODE, 0, "mode", "MODE",
      "a buffer per cpu (the default), whose packets are divided among threads by context "
      "switches, or per thread (the default with --simulate)",
      .choices = modes },
    { KEY_BUFFER_SIZE, 0, "buffer-size", "SIZE",
      "size of each buffer, a power of two from 4k to 256M (default: 4M, with --simulate 64k)" },
    { KEY_CIRCULAR, 0, "circular", NULL,
      "keep only the newest packets of each buffer, and write them at the end" },
    { KEY_SNAPSHOT_ON, 0, "snapshot-on", "SIGNAL",
      "also write them whenever this program receives SIGUSR2; implies --circular",
      .choices = snapshots },
    { KEY_FILTER, 0, "filter", "FUNCTION|RANGE",
      "trace only this code: FUNCTION[@FILE] or 0xSTART-0xEND[@FILE], by default of COMMAND's "
      "file; "
      "may be repeated" },
    { KEY_TIMING, 0, "timing", "PACKETS",
      "packets that carry time: tsc (few), mtc, or cyc (the default: before each branch packet)",
      .choices = timings },
    { KEY_CLOCK, 0, "clock", "CLOCK",
      "clock of these packets: instructions (the default: one nanosecond each), or real (which "
      "includes the time for stepping)",
      .choices = clocks },
    { KEY_NO_RETURN_COMPRESSION, 0, "no-return-compression", NULL,
      "write the target of every return" },
    { KEY_OVERFLOW_EVERY, 0, "overflow-every", "N",
      "drop packets at random positions, every N instructions on average" },
    { KEY_SEED, 0, "seed", "N", "seed of the random positions (default 1)" },
    { KEY_STEPS, 0, "steps", "FILE",
      "also write the thread and address of each executed instruction to FILE: 16 bytes each",
      CLI_FILE },
    { KEY_COMPRESS, 0, "compress", NULL, "compress with zstd" },
    { KEY_QUIET, 'q', "quiet", NULL, "print no summary, only losses" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Record every call of a short program, without hardware support",
    "sampler-capture insn --simulate -o insn.fxt -- ./program input",
    "Record only one function and the functions inlined into it",
    "sampler-capture insn --simulate --filter parse -o insn.fxt -- ./program",
    "Record the branches before each SIGUSR2, on a processor with Intel PT",
    "sampler-capture insn --snapshot-on SIGUSR2 -o last.fxt -- ./server",
    "Also record every executed instruction",
    "sampler-capture insn --simulate --steps s.bin -o insn.fxt -- ./program",
    NULL,
};

const struct cli_command insn_command = {
    .name = "sampler-capture insn",
    .usage = "[--simulate] [OPTION]... -o OUT -- COMMAND [ARG]...",
    .summary =
        "Record every branch that COMMAND and its child processes take in user mode, as packets of "
        "Intel Processor Trace.  The trace contains each call with its time.\n\nThe packets come "
        "from the processor, through perf_event_open(2), or with --simulate from single-stepping "
        "the command.  Recording from a processor has not been tested on real hardware yet; "
        "'make check-pt' tests it on a machine with Intel PT.\n\nThe exit status is that of "
        "COMMAND, 128 + N if signal N ended it, 127 if COMMAND is not found, 126 if it cannot be "
        "executed, "
        "and 125 if it cannot be captured.  The status is 4 if the processor has no Intel PT or "
        "the trace could not be completed, and 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .libraries = insn_decoder_name,
    .stop_at_operand = true,
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = insn_main,
    .brief = "record every branch as packets of Intel PT",
};

static void check(const struct insn_options *options, const char *only_simulated)
{
    if (!options->simulate && only_simulated)
        cli_usage_error("%s needs --simulate", only_simulated);
    if (!options->command[0])
        cli_usage_error("no command given; use -- COMMAND");
    output_check_operand(options->output);
}

static uint64_t buffer_size(const char *text)
{
    uint64_t size = cli_size("--buffer-size", text, INSN_PAGE, INSN_MAX_BUFFER_BYTES);

    if (size & (size - 1))
        cli_usage_error("--buffer-size: %s is not a power of two", text);
    return size;
}

/* Take an option that only a simulation has, and return its name; NULL: it is none of these.  */
static const char *take_simulated(struct insn_options *options, enum key key,
                                  const struct cli_parser *parser)
{
    switch (key) {
    case KEY_CLOCK:
        options->real_clock = parser->choice == 1;
        return "--clock";
    case KEY_OVERFLOW_EVERY:
        options->overflow_every = cli_number("--overflow-every", parser->value, 10,
                                             UINT64_C(1) << 40);
        return "--overflow-every";
    case KEY_SEED:
        options->seed = cli_number("--seed", parser->value, 1, UINT64_MAX);
        return "--seed";
    case KEY_STEPS:
        options->steps = parser->value;
        return "--steps";
    default:
        return NULL;
    }
}

static void take(struct insn_options *options, enum key key, const struct cli_parser *parser)
{
    switch (key) {
    case KEY_OUTPUT:
        options->output = parser->value;
        break;
    case KEY_SIMULATE:
        options->simulate = true;
        break;
    case KEY_MODE:
        options->mode = (enum insn_mode)parser->choice;
        break;
    case KEY_BUFFER_SIZE:
        options->buffer_size = buffer_size(parser->value);
        break;
    case KEY_SNAPSHOT_ON:
        options->snapshot = true;
        options->is_circular = true;
        break;
    case KEY_CIRCULAR:
        options->is_circular = true;
        break;
    case KEY_FILTER:
        cli_texts_add(&options->filters, parser->value);
        break;
    case KEY_TIMING:
        options->timing = (enum insn_timing)parser->choice;
        break;
    case KEY_NO_RETURN_COMPRESSION:
        options->no_return_compression = true;
        break;
    case KEY_COMPRESS:
        options->compress = true;
        break;
    default: /* KEY_QUIET */
        options->quiet = true;
        break;
    }
}

void insn_options_parse(struct insn_options *options, char **argv)
{
    const char *only_simulated = NULL; /* an option that was given */
    struct cli_parser parser;
    bool has_mode = false;
    int key;

    *options = (struct insn_options){ .timing = INSN_TIMING_CYC, .seed = 1 };
    cli_start(&parser, &insn_command, argv);
    while ((key = cli_next(&parser)) > CLI_END) {
        const char *simulated = take_simulated(options, (enum key)key, &parser);

        if (simulated)
            only_simulated = simulated;
        else
            take(options, (enum key)key, &parser);
        has_mode |= key == KEY_MODE;
    }
    options->command = parser.argv;
    check(options, only_simulated);
    if (!has_mode && options->simulate)
        options->mode = INSN_MODE_THREAD;
    if (options->buffer_size == 0)
        options->buffer_size = options->simulate ? SIMULATED_BUFFER : BUFFER;
}
