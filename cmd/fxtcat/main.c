/* fxtcat - cut, merge, mend, compress, convert and symbolize Fuchsia traces.  */
#include "cmd/fxtcat/fxtcat.h"

static const char *const examples[] = {
    "Keep the second second of one process",
    "fxtcat cut --pid 1234 --time +1s,+2s -o part.fxt trace.fxt",
    "Join several traces",
    "fxtcat merge -o all.fxt one.fxt two.fxt.gz three.fxt.zst",
    "Recover the readable part of a damaged trace",
    "fxtcat recover -o mended.fxt damaged.fxt",
    "Make a trace smaller",
    "fxtcat compress --level 19 -o trace.fxt.zst trace.fxt",
    "Name the FIDL methods in a trace of Fuchsia",
    "fxtcat symbolize-fidl --ir fidl_ir -o named.fxt trace.fxt",
    "List all options of a command",
    "fxtcat cut --help",
    NULL,
};

static const struct cli_command *const commands[] = {
    &cut_command,
    &merge_command,
    &recover_command,
    &compress_command,
    &convert_command,
    &symbolize_fidl_command,
    NULL,
};

static const struct cli_command fxtcat = {
    .name = "fxtcat",
    .usage = "COMMAND [OPTION]... FILE...",
    .summary = "Cut, merge, recover, compress, convert and symbolize traces in the Fuchsia trace "
               "format. - is standard input.",
    .examples = examples,
    .stop_at_operand = true,
    .commands = commands,
};

int main(int argc, char **argv)
{
    (void)argc;
    return cli_main(&fxtcat, argv);
}
