/* fxtdiff: did the new build regress?  Runs of two builds compared, and a verdict.  */
#include <string.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/options.h"
#include "cmd/fxtdiff/policies.h"
#include "cmd/fxtdiff/suite.h"

static const char *const examples[] = {
    "Compare five runs of each build; exit status: 0 pass, 1 fail, 5 inconclusive",
    "fxtdiff base-*.fxt -- new-*.fxt",
    "Capture both builds in turn and compare them",
    "fxtdiff run -n 5 --base './old --bench' --new './new --bench'",
    "Compare pprof heap profiles by allocated bytes",
    "fxtdiff --sample-type alloc_space old/*.pb.gz -- new/*.pb.gz",
    "Write a comment for a pull request",
    "fxtdiff --markdown base/ -- new/ > comment.md",
    NULL,
};

enum { KEY_SUITE = 1 };

static const struct cli_option own_options[] = {
    { KEY_SUITE, 0, "suite", NULL,
      "BASE and NEW are folders of benchmarks: compare those with the same name in both, with one "
      "verdict" },
    { 0 },
};

static int run(char **argv);

static const struct cli_command *const commands[] = { &diff_run_command, &diff_history_command,
                                                      &diff_baseline_command, NULL };

static const struct cli_command command = {
    .name = "fxtdiff",
    .usage = "[OPTION]... BASE... -- NEW...\n"
             "       fxtdiff COMMAND [OPTION]...",
    .summary = "Compare runs of two builds, and report PASS, FAIL or INCONCLUSIVE with the "
               "functions that regressed by more than the runs vary.  Inputs are FXT traces, pprof "
               "profiles, folded stacks and stores.  Each capture of a store is a run; STORE#N is "
               "capture N alone.  A directory represents the files in it; - is standard input.",
    .options = own_options,
    .groups = diff_groups,
    .libraries = sym_libraries,
    .examples = examples,
    .first = CLI_RUN,
    .rest = CLI_RUN,
    .run = run,
    .commands = commands,
};

/* ---- The command line ---- */

/* Budgets are what runs without a base can be held against; other policies would only look on.  */
static bool has_budgets(const struct diff_settings *settings)
{
    for (size_t i = 0; diff_policies[i]; i++)
        if (settings->policies[i] && diff_policies[i] == diff_apply_budgets)
            return true;
    return false;
}

/* Two operands are base and new; else "--" stands between them.  */
static void split_pair(struct diff_settings *settings)
{
    struct cli_texts *base = &settings->inputs[COMPARE_BASE];

    if (settings->inputs[COMPARE_NEW].count > 0 || base->count != 2)
        return;
    cli_texts_add(&settings->inputs[COMPARE_NEW], base->items[1]);
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
    for (int side = 0; side < (divided ? COMPARE_SIDES : 1); side++) {
        struct cli_parser parser;
        int key;

        cli_start(&parser, &command, side ? split + 1 : argv);
        while ((key = cli_next(&parser)) != CLI_END)
            if (key == CLI_OPERAND)
                cli_texts_add(&settings->inputs[side], parser.value);
            else if (key == KEY_SUITE)
                settings->suite = true;
            else
                (void)diff_option(settings, key, &parser);
    }
    if (!divided)
        split_pair(settings);
    if (settings->inputs[COMPARE_BASE].count == 0 && settings->inputs[COMPARE_NEW].count == 0)
        cli_usage_error("no runs given");
    if (settings->inputs[COMPARE_NEW].count == 0 && has_budgets(settings)) {
        settings->inputs[COMPARE_NEW] = settings->inputs[COMPARE_BASE];
        settings->inputs[COMPARE_BASE] = (struct cli_texts){ .count = 0 };
    }
    if (settings->inputs[COMPARE_NEW].count == 0)
        cli_usage_error("no new runs given; usage: fxtdiff BASE... -- NEW...");
    if (settings->inputs[COMPARE_BASE].count == 0 && !has_budgets(settings))
        cli_usage_error("no base runs given before --");
    diff_check_outputs(settings);
    if (settings->suite)
        diff_find_benchmarks(settings);
}

static int run(char **argv)
{
    struct diff_settings settings;
    enum cli_exit status;

    diff_settings_init(&settings);
    parse(&settings, argv);
    status = diff_main(&settings, NULL);
    diff_settings_release(&settings);
    return diff_exit_status(&settings, status);
}

int main(int argc, char **argv)
{
    (void)argc;
    return cli_main(&command, argv);
}
