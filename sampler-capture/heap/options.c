#include "sampler-capture/heap/options.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/heap/heap.h"
#include "sampler-capture/heap/protocol.h"
#include "sampler-capture/keep.h"

#include <string.h>
#include <unistd.h>

enum key {
    KEY_OUTPUT = 1,
    KEY_INTERVAL,
    KEY_UNWIND,
    KEY_COMPRESS,
    KEY_KEEP_MODULES,
    KEY_QUIET,
};

static const char *const unwinders[] = { "cfi", "fp", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "where the trace goes; - is standard output",
      CLI_FILE },
    { KEY_INTERVAL, 0, "interval", "BYTES",
      "mean bytes allocated between two samples, such as 64k; the default is 128k" },
    { KEY_UNWIND, 0, "unwind", "HOW",
      "callers by unwind tables, cfi (the default), or by frame pointers, fp: faster, for code "
      "that keeps them",
      .choices = unwinders },
    { KEY_COMPRESS, 0, "compress", NULL, "as zstd frames" },
    KEEP_OPTION(KEY_KEEP_MODULES),
    { KEY_QUIET, 'q', "quiet", NULL, "no summary, only what was lost" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Which functions allocate, and what is never given back?",
    "sampler-capture heap -o heap.fxt -- ./program input",
    "Eight times as fine",
    "sampler-capture heap --interval 16k -o heap.fxt -- ./program input",
    "What to do with the result",
    "fxt2pprof heap.fxt -o heap.pb.gz",
    NULL,
};

const struct cli_command heap_command = {
    .name = "sampler-capture heap",
    .usage = "[OPTION]... -o OUT.fxt -- COMMAND [ARGUMENT]...",
    .summary =
        "Sample what COMMAND and all it starts allocate and free, with stacks, as Fuchsia's "
        "memory sampler does: one allocation for each so many bytes, at random, so that large "
        "and small ones are estimated without bias.\n\n"
        "The exit status is COMMAND's, 128 + N if signal N ended it; 127 if COMMAND is not "
        "found, 126 if it cannot run, 125 if it cannot be captured. 4 if the trace could not "
        "be written to its end, 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .stop_at_operand = true,
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = heap_main,
    .brief = "what allocates and frees memory: samples of it",
};

static void check(const struct heap_options *options)
{
    if (!options->command[0])
        cli_usage_error("nothing to run: -- COMMAND");
    if (!options->output)
        cli_usage_error("no output file: -o OUT.fxt");
    if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
        cli_usage_error("a trace is no text for a terminal: redirect standard output");
}

void heap_options_parse(struct heap_options *options, char **argv)
{
    struct cli_parser parser;
    int key;

    *options = (struct heap_options){ .interval_bytes = HEAP_DEFAULT_INTERVAL };
    cli_start(&parser, &heap_command, argv);
    while ((key = cli_next(&parser)) > CLI_END) {
        switch ((enum key)key) {
        case KEY_OUTPUT:
            options->output = parser.value;
            break;
        case KEY_INTERVAL:
            options->interval_bytes = cli_size("--interval", parser.value, HEAP_MIN_INTERVAL,
                                               HEAP_MAX_INTERVAL);
            break;
        case KEY_UNWIND:
            options->frame_pointers = parser.choice == 1;
            break;
        case KEY_COMPRESS:
            options->compress = true;
            break;
        case KEY_KEEP_MODULES:
            options->kept = parser.value;
            break;
        case KEY_QUIET:
            options->quiet = true;
            break;
        }
    }
    options->command = parser.argv;
    check(options);
}
