#include "sampler-capture/heap/heap_options.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/heap/heap_command.h"
#include "sampler-capture/heap/protocol.h"
#include "sampler-capture/keep.h"

enum key {
    KEY_OUTPUT = 1,
    KEY_INTERVAL,
    KEY_UNWIND,
    KEY_MMAP,
    KEY_COMPRESS,
    KEY_KEEP_MODULES,
    KEY_QUIET,
};

static const char *const unwinders[] = { "cfi", "fp", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "write the trace to OUT.fxt; - is standard output",
      CLI_FILE },
    { KEY_INTERVAL, 0, "interval", "BYTES",
      "mean number of bytes between two samples, such as 64k (default 128k)" },
    { KEY_UNWIND, 0, "unwind", "HOW",
      "unwind by unwind tables (cfi, the default) or by frame pointers (fp), which is faster but "
      "requires code that keeps them",
      .choices = unwinders },
    { KEY_MMAP, 0, "mmap", NULL,
      "also record anonymous memory that the program maps itself with mmap(2), such as the arenas "
      "of interpreters: every mapping, with its stack below mmap" },
    { KEY_COMPRESS, 0, "compress", NULL, "compress with zstd" },
    KEEP_OPTION(KEY_KEEP_MODULES),
    { KEY_QUIET, 'q', "quiet", NULL, "print no summary, only losses" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Find out which functions allocate, and which memory is never released",
    "sampler-capture heap -o heap.fxt -- ./program input",
    "Sample eight times as many allocations",
    "sampler-capture heap --interval 16k -o heap.fxt -- ./program input",
    "Convert the trace to a profile",
    "fxt2pprof heap.fxt -o heap.pb.gz",
    NULL,
};

const struct cli_command heap_command = {
    .name = "sampler-capture heap",
    .usage = "[OPTION]... -o OUT.fxt -- COMMAND [ARGUMENT]...",
    .summary =
        "Sample the allocations and releases of COMMAND and its child processes, with stacks, as "
        "Fuchsia's memory sampler does.  One allocation per interval of bytes is chosen at random, "
        "so the estimates are unbiased for small and large allocations.\n\nThe exit status is that "
        "of COMMAND, 128 + N if signal N ended it, 127 if COMMAND is not found, 126 if it cannot "
        "be executed, and 125 if it cannot be captured.  The status is 4 if the trace could not be "
        "completed, and 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .stop_at_operand = true,
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = heap_main,
    .brief = "sample allocations and releases of memory",
};

static void check(const struct heap_options *options)
{
    if (!options->command[0])
        cli_usage_error("no command given; use -- COMMAND");
    output_check_operand(options->output);
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
        case KEY_MMAP:
            options->mappings = true;
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
