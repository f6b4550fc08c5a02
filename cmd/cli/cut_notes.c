/* cut_notes.c - notes on the modules in which stacks end early.  */
#include "cmd/cli/cli.h"
#include "cmd/cli/cuts.h"

/* The sentence that follows the number of stacks.  */
static const char *reason_of(const struct cli_cut *cut)
{
    if (!cut->module)
        return "";
    if (!cut->has_file)
        return "its file was not found, or cannot be read";
    return cut->problem;
}

void cli_cuts_print(const struct cli_cuts *cuts, const char *prefix, const char *remedy)
{
    for (size_t i = 0; i < cuts->count; i++) {
        const struct cli_cut *cut = &cuts->worst[i];
        const char *reason = reason_of(cut);
        bool helps = *remedy && cut->module && !cut->has_file;

        cli_note("%scut in %s: %s%s%s%s%s", prefix, cut->module ? cut->module : "code of no file",
                 cli_counted(cut->stacks, "stack", "stacks"), *reason ? "; " : "", reason,
                 helps ? ": " : "", helps ? remedy : "");
    }
    if (cuts->others)
        cli_note("%scut in %s, in fewer stacks each", prefix,
                 cli_counted(cuts->others, "more module", "more modules"));
}
