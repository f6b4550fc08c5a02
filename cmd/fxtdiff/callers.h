/* callers.h - what the direct callers of a function cost.  */
#ifndef FXTDIFF_CALLERS_H
#define FXTDIFF_CALLERS_H

#include "cmd/fxtdiff/fxtdiff.h"

struct diff_callers;

/* Of a set whose runs all have stacks; borrowed.  Takes 20 bytes a node and 12 for each stack of
 * each run, and time in proportion to them.  */
struct diff_callers *diff_callers_open(const struct diff_set *set);

/* Fill row with what the functions that call this one, itself aside, cost together in each run,
 * with all they call: each stack once.  False: nothing calls it.
 *
 * Takes time in proportion to the nodes of those functions, not to all of them.  */
bool diff_callers_cost(struct diff_callers *callers, uint32_t function, double *row);

void diff_callers_close(struct diff_callers *callers); /* accepts NULL */

#endif /* FXTDIFF_CALLERS_H */
