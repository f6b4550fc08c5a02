/* read_store.c - captures of a store as runs: all of them, or one as STORE#CAPTURE.
 *
 * Frames with an address are looked up like those of traces, and keep the store's names where
 * nothing is found.  */
#include <stdlib.h>

#include <fxt/store.h>
#include "cmd/cli/select.h"
#include "cmd/fxtdiff/readers.h"

static enum cli_exit read_captures(struct diff_runs *runs, enum compare_side side, const char *path,
                                   const char *label, int64_t capture)
{
    struct store_runs captures = { .builder = runs->builder,
                                   .side = side,
                                   .sample_type = runs->reading->sample_type,
                                   .only_labelled = runs->reading->only_labelled,
                                   .kind = -1 };
    enum cli_exit status = store_runs_read(&captures, path, label, capture);

    if (captures.kind >= 0)
        runs->kind = captures.kind;
    return status;
}

enum cli_exit diff_read_store(struct diff_runs *runs, enum compare_side side, const char *path,
                              const char *label)
{
    return read_captures(runs, side, path, label, 0);
}

bool diff_is_capture(const char *operand)
{
    int64_t capture;
    char *path = cli_split_capture(operand, &capture);
    bool is_store = path && store_is_database(path);

    free(path);
    return is_store;
}

enum cli_exit diff_read_capture(struct diff_runs *runs, enum compare_side side, const char *operand)
{
    int64_t capture = 0;
    char *path = cli_split_capture(operand, &capture);
    enum cli_exit status = path ? read_captures(runs, side, path, path, capture) : CLI_USAGE;

    free(path);
    return status;
}
