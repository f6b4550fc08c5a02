/* fxtq trend: the captures of a store by their commits, and where costs changed.  */
#include <stdlib.h>

#include "cmd/cli/profile_options.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/store_source.h"
#include "cmd/history/history.h"
#include "cmd/history/refusals.h"

enum { KEY_TYPE = 1 };

static const struct cli_option own_options[] = {
    { KEY_TYPE, 0, "sample-type", "TYPE",
      "sample type, as in table sample_type: cpu, alloc_space, inuse_space, ... (default: the "
      "first in the store)",
      CLI_HINT, cli_sample_types },
    { 0 },
};

static const struct cli_option *const groups[] = { own_options, NULL };

static const char *const examples[] = {
    "Add a capture of a commit",
    "fxtq import run.fxt --label commit=4f2a91c -o history.fxtq",
    "Find the commits that changed a cost",
    "fxtq trend history.fxtq",
    "Write a page with all plots",
    "fxtq trend history.fxtq --html history.html",
    "Fail in CI if something became slower in the last 10 commits",
    "fxtq trend --recent 10 history.fxtq",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_trend = {
    .name = "fxtq trend",
    .usage = "[OPTION]... STORE[#N]...",
    .summary = "Find the commits at which the cost of a function, or the total, changed.  The "
               "captures of the stores, or capture N alone, are the runs, and their label 'commit' "
               "gives the commit (fxtq import --label commit=NAME); captures without it are left "
               "out.  The result is that of fxtdiff history, with the names in the stores.",
    .options = history_options,
    .groups = groups,
    .examples = examples,
    .first = CLI_STORE,
    .rest = CLI_STORE,
    .run = run,
    .brief = "find the commits at which costs changed",
};

struct work {
    struct history_request request;
    struct cli_texts stores;
    struct cli_texts nameless; /* those in which no address has a name */
    const char *sample_type;
};

static void parse(struct work *work, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &fxtq_trend, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        if (key == CLI_OPERAND)
            cli_texts_add(&work->stores, parser.value);
        else if (key == KEY_TYPE)
            work->sample_type = parser.value;
        else
            (void)history_option(&work->request, key, &parser);
    if (work->stores.count == 0)
        cli_usage_error("no store given");
    history_check(&work->request, &work->stores);
}

/* A store, or one capture of it.  */
static enum cli_exit read_store(struct work *work, struct compare_builder *builder,
                                const char *operand)
{
    struct store_runs runs = { .builder = builder,
                               .side = COMPARE_NEW,
                               .sample_type = work->sample_type,
                               .only_labelled = true };
    int64_t capture = 0;
    const char *path = source_take_capture(operand, &capture);

    enum cli_exit status = store_runs_read(&runs, path, path, capture);

    if (runs.lacks_symbols)
        cli_texts_add(&work->nameless, path);
    return status;
}

/* Where addresses have no names, functions are whole modules.  */
static void hint_names(const struct cli_texts *stores)
{
    for (size_t i = 0; i < stores->count; i++)
        source_hint_symbolize(stores->items[i]);
}

static enum cli_exit analyse(const struct work *work, const struct compare_set *set)
{
    uint32_t *of_run = cli_allocate(set->run_count, sizeof *of_run);
    struct commits commits = { .items = NULL };
    enum cli_exit status;

    for (size_t r = 0; r < set->run_count; r++)
        of_run[r] = commits_add(&commits, set->runs[r].environment.commit);
    status = history_find(&work->request, set, &commits, of_run);
    if (status == CLI_INCONCLUSIVE)
        cli_note("there are too few commits to find a change, %zu of %d; " STORE_RUNS_REMEDY,
                 commits.count, COMPARE_HISTORY_MIN_COMMITS);
    commits_release(&commits);
    free(of_run);
    return status;
}

/* All that could be read.  */
static enum cli_exit find(struct work *work, struct compare_builder *builder)
{
    enum cli_exit status = CLI_OK;
    const struct compare_set *set;
    struct compare_error error;

    for (size_t i = 0; i < work->stores.count; i++)
        status = cli_worse(status, read_store(work, builder, work->stores.items[i]));
    if ((status != CLI_OK && status != CLI_DAMAGED) || compare_builder_run_count(builder) == 0)
        return status;
    if (compare_builder_finish(builder, &set, &error) != COMPARE_OK)
        return cli_worse(status, runs_fail(&error));
    status = cli_worse(status, analyse(work, set));
    if (status != CLI_DAMAGED && status != CLI_ENVIRONMENT && status != CLI_USAGE)
        hint_names(&work->nameless);
    return status;
}

static int run(char **argv)
{
    struct compare_builder *builder;
    struct work work = { .sample_type = NULL };
    enum cli_exit status;

    history_request_init(&work.request);
    parse(&work, argv);
    if (compare_builder_open(NULL, &builder, NULL) != COMPARE_OK)
        cli_out_of_memory();
    status = find(&work, builder);
    compare_builder_close(builder);
    free(work.stores.items);
    free(work.nameless.items);
    return (int)status;
}
