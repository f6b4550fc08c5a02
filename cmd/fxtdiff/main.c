/* fxtdiff: did the new build get dearer?  Runs of two builds compared, and a verdict.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"

static const char *const examples[] = {
    "Five runs of each build; the status is 0 pass, 1 fail, 5 inconclusive",
    "fxtdiff base-*.fxt -- new-*.fxt",
    "Capture them in turn, then compare",
    "fxtdiff run -n 5 --base './old --bench' --new './new --bench'",
    "pprof profiles of a heap, by what was allocated",
    "fxtdiff --sample-type alloc_space old/*.pb.gz -- new/*.pb.gz",
    "A comment for a pull request",
    "fxtdiff --markdown base/ -- new/ > comment.md",
    NULL,
};

static struct cli_command command = {
    .name = "fxtdiff",
    .usage = "[OPTION]... BASE... -- NEW...\n"
             "       fxtdiff COMMAND [OPTION]...",
    .summary =
        "Compare runs of two builds and say PASS, FAIL or INCONCLUSIVE: which functions got\n"
        "dearer beyond what runs vary by.  Inputs are FXT traces, pprof profiles, folded\n"
        "stacks and stores, whose captures are runs (STORE#N: capture N alone); a directory\n"
        "stands for the files in it, - is standard input.  Commands:\n"
        "run (capture both builds in turn), baseline (keep runs as a small file in a\n"
        "repository); see fxtdiff COMMAND --help.",
    .libraries = sym_libraries,
    .examples = examples,
};

/* ---- The command line ---- */

static bool has_policy(const struct diff_settings *settings)
{
    for (size_t i = 0; diff_policies[i].option; i++)
        if (settings->policies[i])
            return true;
    return false;
}

/* Two operands are base and new; else "--" stands between them.  */
static void split_pair(struct diff_settings *settings)
{
    struct cli_texts *base = &settings->inputs[DIFF_BASE];

    if (settings->inputs[DIFF_NEW].count > 0 || base->count != 2)
        return;
    cli_texts_add(&settings->inputs[DIFF_NEW], base->items[1]);
    base->count = 1;
}

/* Options may stand on both sides of "--".  */
static void parse(struct diff_settings *settings, char **argv)
{
    char **split = argv;
    bool divided;

    while (*split && strcmp(*split, "--") != 0)
        split++;
    divided = *split != NULL;
    *split = NULL;
    for (int side = 0; side < (divided ? DIFF_SIDES : 1); side++) {
        struct cli_parser parser;
        int key;

        cli_start(&parser, &command, side ? split + 1 : argv);
        while ((key = cli_next(&parser)) != CLI_END)
            if (key == CLI_OPERAND)
                cli_texts_add(&settings->inputs[side], parser.value);
            else
                (void)diff_option(settings, key, parser.value);
    }
    if (!divided)
        split_pair(settings);
    if (settings->inputs[DIFF_BASE].count == 0 && settings->inputs[DIFF_NEW].count == 0)
        cli_usage_error("no runs given");
    if (settings->inputs[DIFF_NEW].count == 0 && has_policy(settings)) { /* budgets alone */
        settings->inputs[DIFF_NEW] = settings->inputs[DIFF_BASE];
        settings->inputs[DIFF_BASE] = (struct cli_texts){ .count = 0 };
    }
    if (settings->inputs[DIFF_NEW].count == 0)
        cli_usage_error("no new runs: put them behind --, BASE... -- NEW...");
    if (settings->inputs[DIFF_BASE].count == 0 && !has_policy(settings))
        cli_usage_error("no base runs before --");
}

int main(int argc, char **argv)
{
    struct diff_settings settings;
    struct cli_option *options = diff_all_options(NULL);
    enum cli_exit status;

    (void)argc;
    for (size_t i = 0; argv[1] && diff_commands[i].name; i++) {
        if (strcmp(argv[1], diff_commands[i].name) != 0)
            continue;
        free(options);
        return (int)diff_commands[i].run(argv + 2);
    }
    command.options = options;
    diff_settings_init(&settings);
    parse(&settings, argv + 1);
    status = diff_main(&settings);
    free(options);
    diff_settings_release(&settings);
    return (int)status;
}
