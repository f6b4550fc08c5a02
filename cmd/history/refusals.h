/* refusals.h - runs for libcompare, as fxtdiff and fxtq read them.  */
#ifndef CMD_HISTORY_REFUSALS_H
#define CMD_HISTORY_REFUSALS_H

#include <fxt/compare_set.h>

#include "cmd/cli/cli.h"

/* ---- What libcompare refuses (refusals.c) ---- */

/* The exit status for a status of libcompare other than success.  */
enum cli_exit runs_exit_of(enum compare_status status);
/* Print the message of an error.  Returns that status.  */
enum cli_exit runs_fail(const struct compare_error *error);
/* Likewise; if runs are of different types, name the option that helps.  */
enum cli_exit runs_fail_type(const struct compare_error *error);

/* ---- Captures of a store (store_runs.c) ---- */

/* Each capture is a run, which costs what the store has added up for its call sites.  Functions
 * have the names of the store.  */
struct store_runs {
    struct compare_builder *builder;
    enum compare_side side;
    const char *sample_type; /* NULL: that of the runs before, else the store's first */
    bool only_labelled;      /* leave out captures without the label "commit", with a warning */

    size_t left_out;    /* how many those were in the store that was read last */
    int kind;           /* enum profile_kind of the last run; -1: there is none */
    bool lacks_symbols; /* store_lacks_symbols() of the store that was read last */
};

/* How captures get such a label.  */
#define STORE_RUNS_REMEDY "label captures with 'fxtq import --label commit=NAME'"

/* Add the captures of the store at path, or that one if capture is not 0, to the builder.
 * Messages are printed, and call the store label; a run is called "LABEL#CAPTURE".  CLI_USAGE if
 * every capture is left out.  */
enum cli_exit store_runs_read(struct store_runs *runs, const char *path, const char *label,
                              int64_t capture);

#endif /* CMD_HISTORY_REFUSALS_H */
