/* callers.h - what the direct callers of a function cost.  */
#ifndef COMPARE_CALLERS_H
#define COMPARE_CALLERS_H

#include <fxt/compare_set.h>

struct callers;

/* Of a set whose runs all have stacks; borrowed.  Takes 20 bytes a node and 12 for each stack of
 * each run, and time in proportion to them.  Returns false when memory is short.  */
bool callers_open(const struct compare_set *set, struct callers **out);

/* Fill row with what the functions that call this one, itself aside, cost together in each run,
 * with all they call: each stack once.  *any becomes whether something calls it.  Returns false
 * when memory is short.
 *
 * Takes time in proportion to the nodes of those functions, not to all of them.  */
bool callers_cost(struct callers *callers, uint32_t function, double *row, bool *any);

void callers_close(struct callers *callers); /* accepts NULL */

#endif /* COMPARE_CALLERS_H */
