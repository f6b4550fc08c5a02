/* pager.h - output that is longer than the screen goes through $PAGER.  */
#ifndef FXTQ_PAGER_H
#define FXTQ_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

#include "cmd/cli/cli.h"

struct pager {
    pid_t pid; /* 0: there is none, output goes where it went */
    int saved_fd;
    bool cannot_run; /* there is no such program: do without from now on */
};

/* Let output write to one, which starts with the first bytes: $FXTQ_PAGER, $PAGER, or less.  Does
 * nothing if stdout is no terminal, when the variable is empty or "cat", or once it turned out that
 * what it says cannot be run.  *pager is all zero at first.
 *
 * Control-C while a statement has printed nothing yet is so for the statement alone: less would
 * take it as a wish to stay.  */
void pager_start(struct pager *pager, struct cli_output *output);

/* Write what is buffered and wait until the user has seen it.  */
void pager_end(struct pager *pager, struct cli_output *output);

#endif /* FXTQ_PAGER_H */
