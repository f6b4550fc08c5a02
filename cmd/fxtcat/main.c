/* fxtcat - cut, merge, mend, compress and convert traces in the Fuchsia trace format.  */
#include <string.h>

#include "cmd/fxtcat/fxtcat.h"

static const struct cli_option no_options[] = { { 0, 0, NULL, NULL, NULL } };

static const char *const examples[] = {
    "The second second of one process",
    "fxtcat cut --pid 1234 --time +1s,+2s -o part.fxt trace.fxt",
    "Several traces as one",
    "fxtcat merge -o all.fxt one.fxt two.fxt.gz three.fxt.zst",
    "All that can be read of a damaged trace",
    "fxtcat recover -o mended.fxt damaged.fxt",
    "A trace on a diet",
    "fxtcat compress --level 19 -o trace.fxt.zst trace.fxt",
    "All options of a command",
    "fxtcat cut --help",
    NULL,
};

static const struct cli_command fxtcat = {
    .name = "fxtcat",
    .usage = "COMMAND [OPTION]... FILE...",
    .summary = "Make traces from traces in the Fuchsia trace format; - is standard input.\n\n"
               "Commands:\n"
               "  cut                       some of the records: by time, process, type\n"
               "  merge                     several traces one after another, providers apart\n"
               "  recover                   without what is damaged\n"
               "  compress                  with zstd, in frames that unpack each for itself\n"
               "  convert                   in the layout that another program asks for",
    .options = no_options,
    .examples = examples,
    .stop_at_operand = true,
};

static const struct {
    const char *name;
    enum cli_exit (*run)(char **argv);
} commands[] = {
    { "cut", cut_main },           { "merge", merge_main },     { "recover", recover_main },
    { "compress", compress_main }, { "convert", convert_main },
};

int main(int argc, char **argv)
{
    struct cli_parser parser;

    cli_start(&parser, &fxtcat, argv + (argc > 0));
    (void)cli_next(&parser); /* answers --help and --version, refuses other options */
    if (!parser.argv[0])
        cli_usage_error("which command? There are: cut, merge, recover, compress, convert");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(parser.argv[0], commands[i].name) == 0)
            return (int)commands[i].run(parser.argv + 1);
    }
    cli_usage_error("no command '%s'. There are: cut, merge, recover, compress, convert",
                    parser.argv[0]);
}
