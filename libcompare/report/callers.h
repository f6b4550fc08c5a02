/* callers.h - what functions cost together: each stack that holds any of them once.  */
#ifndef COMPARE_CALLERS_H
#define COMPARE_CALLERS_H

#include <fxt/compare_set.h>

struct callers;

/* Of a set whose runs all have stacks; borrowed.  Takes 24 bytes a node and 12 for each stack of
 * each run, and time in proportion to them.  Returns false when memory is short.  */
bool callers_open(const struct compare_set *set, struct callers **out);

/* Fill row with what the functions that call this one, itself aside, cost together in each run,
 * with all they call: each stack once.  *any becomes whether something calls it.  Returns false
 * when memory is short.
 *
 * Takes time in proportion to the nodes of those functions, not to all of them.  */
bool callers_cost(struct callers *callers, uint32_t function, double *row, bool *any);

/* Likewise the function together with all that it calls directly, also under other callers.  *any
 * becomes whether it calls something.  */
bool callers_cost_with_callees(struct callers *callers, uint32_t function, double *row, bool *any);

/* Likewise these functions.  */
bool callers_cost_together(struct callers *callers, const uint32_t *functions, size_t count,
                           double *row);

/* What the function, its direct callers and its direct callees cost alone, without what they call.
 * *any becomes whether there are others than itself.  */
bool callers_cost_of_neighbours(struct callers *callers, uint32_t function, double *row, bool *any);

/* Fill row with what the function costs in each run with what it calls, without the stacks in which
 * it calls, directly or not, one of the functions for which moved is set.  *any becomes whether
 * there are such calls.  Returns false when memory is short.
 *
 * Takes time in proportion to the nodes of both.  */
bool callers_cost_of_rest(struct callers *callers, uint32_t function, const bool *moved,
                          double *row, bool *any);

void callers_close(struct callers *callers); /* accepts NULL */

#endif /* COMPARE_CALLERS_H */
