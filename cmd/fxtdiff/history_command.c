/* history_command.c - fxtdiff history: costs over many commits.  */
#include <stdlib.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/history_inputs.h"
#include "cmd/fxtdiff/options.h"

static const char *const examples[] = {
    "Find the commits that changed a cost, from a folder of runs for each commit",
    "fxtdiff history perf-runs/",
    "Write a page with all plots",
    "fxtdiff history perf-runs/ --html history.html",
    "Use the captures of a store (fxtq import --label commit=NAME)",
    "fxtdiff history history.fxtq",
    "Fail in CI if something became slower in the last 10 commits",
    "fxtdiff history --recent 10 perf-runs/",
    NULL,
};

static int run(char **argv);

const struct cli_command diff_history_command = {
    .name = "fxtdiff history",
    .usage = "[OPTION]... STORE|DIR|RUN...",
    .summary = "Find the commits at which the cost of a function, or the total, changed: steps, "
               "and slow growth that no comparison of two builds can detect.\n\nIn a directory, "
               "each directory is a commit, and the files in it are its runs.  A file is a run of "
               "the commit that it is named after: 4f2a91c.txt, 4f2a91c-2.fxt.  A baseline has "
               "several runs.  Captures of a store have the commit as a label (fxtq import --label "
               "commit=NAME); those without it are left out.",
    .options = history_options,
    .groups = diff_reading_groups,
    .libraries = sym_libraries,
    .examples = examples,
    .first = CLI_RUN,
    .rest = CLI_RUN,
    .run = run,
    .brief = "find the commits at which costs changed",
};

struct work {
    struct diff_reading reading;
    struct history_request request;
    struct cli_texts operands;
    struct commits commits;
    struct history_inputs inputs;
};

static void parse(struct work *work, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &diff_history_command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        if (key == CLI_OPERAND)
            cli_texts_add(&work->operands, parser.value);
        else if (!history_option(&work->request, key, &parser))
            (void)diff_reading_option(&work->reading, key, &parser);
    if (work->operands.count == 0)
        cli_usage_error("no store, directory or run given");
    history_check(&work->request, &work->operands);
}

static enum cli_exit analyse(struct work *work, const struct compare_set *set)
{
    uint32_t *of_run = history_inputs_commits(&work->inputs, &work->commits, set);
    enum cli_exit status = history_find(&work->request, set, &work->commits, of_run);

    free(of_run);
    return status;
}

static enum cli_exit read_runs(struct work *work)
{
    enum cli_exit status = cli_symbols_check(&work->reading.profiles.symbols), found;
    const struct compare_set *set;
    struct diff_runs runs;

    if (status != CLI_OK)
        return status;
    for (size_t i = 0; i < work->operands.count; i++)
        history_inputs_add(&work->inputs, &work->commits, work->operands.items[i]);
    if (work->inputs.paths.count == 0) {
        cli_error("%s: there are no runs in it", work->operands.items[0]);
        return CLI_USAGE;
    }
    diff_runs_open(&runs, &work->reading);
    status = diff_read(&runs, COMPARE_NEW, &work->inputs.paths);
    if (status == CLI_OK || status == CLI_DAMAGED) {
        set = diff_runs_finish(&runs);
        found = set ? analyse(work, set) : CLI_ENVIRONMENT;
        /* Without any run, the status says why there is none.  */
        status = found == CLI_USAGE && status != CLI_OK ? status : cli_worse(found, status);
    }
    diff_runs_close(&runs);
    return status;
}

static int run(char **argv)
{
    struct work work = { .reading = { .profiles = { .kind = -1 }, .only_labelled = true } };
    enum cli_exit status;

    history_request_init(&work.request);
    parse(&work, argv);
    status = read_runs(&work);
    history_inputs_release(&work.inputs);
    commits_release(&work.commits);
    free(work.operands.items);
    cli_profiles_release(&work.reading.profiles);
    return (int)status;
}
