/* history_command.c - fxtdiff history: costs over many commits.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/fxtdiff/history_inputs.h"
#include "cmd/fxtdiff/options.h"

enum {
    KEY_JSON = 1,
    KEY_HTML,
    KEY_ORDER,
    KEY_REPOSITORY,
    KEY_RECENT,
    KEY_LEVEL,
    KEY_FLOOR,
    KEY_MIN_REL,
    KEY_MIN_SHARE,
    KEY_METRIC,
    KEY_ROWS,
    KEY_TITLE
};

static const char *const metrics[] = { "both", "self", "total", NULL }; /* as enum compare_metric */

static const struct cli_option own_options[] = {
    { KEY_JSON, 0, "json", NULL, "print one JSON object (schemas/fxthistory.schema.json)" },
    { KEY_HTML, 0, "html", "FILE", "write a page with a plot of each function", CLI_FILE },
    { KEY_ORDER, 0, "order", "ORDER",
      "order commits as git rev-list has them (git), by name, or as given; auto, the default, is "
      "git if a repository has them all, else name",
      .choices = history_orders },
    { KEY_REPOSITORY, 0, "repository", "DIR", "the git work tree to ask (default: this folder)",
      CLI_FOLDER },
    { KEY_RECENT, 0, "recent", "N",
      "exit with status 1 if a cost began to grow in the last N commits" },
    { KEY_LEVEL, 0, "level", "PART",
      "find something in this part of histories without a change (default 5%)" },
    { KEY_FLOOR, 0, "floor", "SHARE",
      "do not test functions that never reach this share (default 0.5%)" },
    { KEY_MIN_REL, 0, "min-rel", "PART", "ignore smaller relative changes (default 2%)" },
    { KEY_MIN_SHARE, 0, "min-share", "POINTS", "ignore smaller changes in share (default 0.1pp)" },
    { KEY_METRIC, 0, "metric", "METRIC",
      "test self cost (default), total cost (with callees), or both", .choices = metrics },
    { KEY_ROWS, 0, "rows", "N", "print N changed functions (default 20; 0: all)" },
    { KEY_TITLE, 0, "title", "TEXT", "title of the page (default: the first input)" },
    { 0 },
};

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
    .summary =
        "Find the commits at which the cost of a function, or the total, changed: steps, and "
        "growth "
        "little by little that no comparison of two builds can see.\n\n"
        "In a directory, each directory is a commit, and the files in it are its runs.  A file is "
        "a "
        "run of the commit that it is named after: 4f2a91c.txt, 4f2a91c-2.fxt.  A baseline has "
        "several runs.  Captures of a store have the commit as a label (fxtq import --label "
        "commit=NAME).",
    .options = own_options,
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
    struct compare_history_options options;
    struct cli_texts operands;
    enum history_order order;
    const char *repository, *html, *title;
    bool json;
    size_t rows, recent;
    struct commits commits;
    struct history_inputs inputs;
};

/* ---- The command line ---- */

static void take(struct work *work, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_JSON:
        work->json = true;
        break;
    case KEY_HTML:
        work->html = value;
        break;
    case KEY_ORDER:
        work->order = (enum history_order)parser->choice;
        break;
    case KEY_REPOSITORY:
        work->repository = value;
        break;
    case KEY_RECENT:
        work->recent = (size_t)cli_number("--recent", value, 1, COMPARE_HISTORY_MAX_COMMITS);
        break;
    case KEY_LEVEL:
        work->options.level = diff_part("--level", value, 0.5);
        if (!(work->options.level >= 1e-4))
            cli_usage_error("--level: the least is 0.01%%");
        break;
    case KEY_FLOOR:
        work->options.floor = diff_part("--floor", value, 1);
        break;
    case KEY_MIN_REL:
        work->options.min_rel = diff_part("--min-rel", value, 100);
        break;
    case KEY_MIN_SHARE:
        work->options.min_share = diff_part("--min-share", value, 1);
        break;
    case KEY_METRIC:
        work->options.metric = (enum compare_metric)parser->choice;
        break;
    case KEY_ROWS:
        work->rows = (size_t)cli_number("--rows", value, 0, UINT32_MAX);
        break;
    case KEY_TITLE:
        work->title = value;
        break;
    case CLI_OPERAND:
        cli_texts_add(&work->operands, value);
        break;
    default:
        (void)diff_reading_option(&work->reading, key, parser);
        break;
    }
}

static void parse(struct work *work, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &diff_history_command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        take(work, key, &parser);
    if (work->operands.count == 0)
        cli_usage_error("no store, directory or run given");
    if (work->html)
        cli_output_check(work->html, &work->operands);
}

/* ---- Outputs ---- */

static enum cli_exit write_to(const char *path, const struct history_view *view,
                              history_write_fn write)
{
    struct cli_output output;

    if (cli_output_open(&output, path) != CLI_OK)
        return CLI_ENVIRONMENT;
    write(view, &output);
    return cli_output_commit(&output);
}

static enum cli_exit write_all(const struct work *work, const struct compare_history *history)
{
    const struct history_view view = { .history = history,
                                       .commits = &work->commits,
                                       .rows = work->rows,
                                       .title = work->title ? work->title
                                                            : work->operands.items[0] };
    enum cli_exit status = history_status(&view, work->recent);
    bool text = !work->html || strcmp(work->html, "-") != 0;

    if (work->html)
        status = cli_worse(status, write_to(work->html, &view, history_write_page));
    if (text)
        status = cli_worse(
            status, write_to("-", &view, work->json ? history_write_json : history_write_text));
    return status;
}

/* ---- The work ---- */

static enum cli_exit find_changes(struct work *work, const struct compare_set *set,
                                  const uint32_t *commits)
{
    struct compare_history *history;
    struct compare_error error;
    enum cli_exit status;

    if (compare_history_open(set, commits, work->commits.count, &work->options, &history, &error) !=
        COMPARE_OK)
        return diff_fail(&error);
    status = write_all(work, history);
    compare_history_close(history);
    return status;
}

/* Runs without samples are left out.  Then some commits may be without a run.  */
static void leave_out_empty(const struct compare_set *set, struct commits *commits,
                            uint32_t *of_run)
{
    size_t *runs = cli_allocate(commits->count, sizeof *runs);
    uint32_t *to = cli_allocate(commits->count, sizeof *to);

    for (size_t r = 0; r < set->run_count; r++)
        if (set->runs[r].cost > 0 && set->runs[r].samples > 0) {
            runs[of_run[r]]++;
        } else {
            cli_warning("%s: no samples; it is left out", set->runs[r].label);
            of_run[r] = COMPARE_NO_COMMIT;
        }
    commits_keep(commits, runs, to);
    for (size_t r = 0; r < set->run_count; r++)
        if (of_run[r] != COMPARE_NO_COMMIT)
            of_run[r] = to[of_run[r]];
    free(runs);
    free(to);
}

static enum cli_exit analyse(struct work *work, const struct compare_set *set)
{
    uint32_t *of_run = history_inputs_commits(&work->inputs, &work->commits, set);
    uint32_t *to = NULL;
    enum cli_exit status = CLI_USAGE;

    if (!of_run)
        return CLI_USAGE;
    leave_out_empty(set, &work->commits, of_run);
    if (work->commits.count == 0)
        cli_error("no run could be read");
    else
        status = commits_sort(&work->commits, work->order, work->repository, &to);
    for (size_t r = 0; status == CLI_OK && r < set->run_count; r++)
        if (of_run[r] != COMPARE_NO_COMMIT)
            of_run[r] = to[of_run[r]];
    if (status == CLI_OK)
        status = find_changes(work, set, of_run);
    free(of_run);
    free(to);
    return status;
}

static enum cli_exit read_runs(struct work *work)
{
    enum cli_exit status = cli_symbols_check(&work->reading.profiles.symbols);
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
        status = set ? cli_worse(analyse(work, set), status) : CLI_ENVIRONMENT;
    }
    diff_runs_close(&runs);
    return status;
}

static int run(char **argv)
{
    struct work work = { .reading = { .profiles = { .kind = -1 } }, .repository = ".", .rows = 20 };
    enum cli_exit status;

    compare_history_options_init(&work.options);
    parse(&work, argv);
    status = read_runs(&work);
    history_inputs_release(&work.inputs);
    commits_release(&work.commits);
    free(work.operands.items);
    cli_profiles_release(&work.reading.profiles);
    return (int)status;
}
