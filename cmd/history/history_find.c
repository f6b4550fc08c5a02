/* history_find.c - the change points of a set, and all outputs that were asked for.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/history/history.h"
#include "cmd/history/refusals.h"

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

static enum cli_exit write_all(const struct history_request *request, const struct commits *commits,
                               const struct compare_history *history)
{
    const struct history_view view = {
        .history = history, .commits = commits, .rows = request->rows, .title = request->title
    };
    enum cli_exit status = history_status(&view, request->recent);
    bool text = !request->html || strcmp(request->html, "-") != 0;

    if (request->html)
        status = cli_worse(status, write_to(request->html, &view, history_write_page));
    if (text)
        status = cli_worse(
            status, write_to("-", &view, request->json ? history_write_json : history_write_text));
    return status;
}

/* ---- The work ---- */

static enum cli_exit find_changes(const struct history_request *request,
                                  const struct compare_set *set, const struct commits *commits,
                                  const uint32_t *of_run)
{
    struct compare_history *history;
    struct compare_error error;
    enum cli_exit status;

    if (compare_history_open(set, of_run, commits->count, &request->options, &history, &error) !=
        COMPARE_OK)
        return runs_fail(&error);
    status = write_all(request, commits, history);
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

enum cli_exit history_find(const struct history_request *request, const struct compare_set *set,
                           struct commits *commits, uint32_t *of_run)
{
    uint32_t *to = NULL;
    enum cli_exit status = CLI_USAGE;

    leave_out_empty(set, commits, of_run);
    if (commits->count == 0)
        cli_error("no run could be read");
    else
        status = commits_sort(commits, request->order, request->repository, &to);
    for (size_t r = 0; status == CLI_OK && r < set->run_count; r++)
        if (of_run[r] != COMPARE_NO_COMMIT)
            of_run[r] = to[of_run[r]];
    if (status == CLI_OK)
        status = find_changes(request, set, commits, of_run);
    free(to);
    return status;
}
