/* history_inputs.h - which runs are of which commit.  */
#ifndef FXTDIFF_HISTORY_INPUTS_H
#define FXTDIFF_HISTORY_INPUTS_H

#include "base/numbering.h"
#include "cmd/fxtdiff/fxtdiff.h"
#include "cmd/history/history.h"

/* The files of a history.  A folder in a folder is a commit, and its files are the runs; another
 * file is one of the commit that its name begins with.  */
struct history_inputs {
    struct cli_texts paths;    /* of files; each from malloc() */
    struct base_texts numbers; /* number i of a path is that of paths.items[i - 1] */
    uint32_t *commits;         /* of each path */
    size_t capacity;
};

void history_inputs_add(struct history_inputs *inputs, struct commits *commits,
                        const char *operand);

/* The commit of each run of the set, from malloc(): by the label of the capture, which every run
 * of a store has, else by file.  */
uint32_t *history_inputs_commits(const struct history_inputs *inputs, struct commits *commits,
                                 const struct compare_set *set);
void history_inputs_release(struct history_inputs *inputs);

#endif /* FXTDIFF_HISTORY_INPUTS_H */
