/* series.h - between the files of libcompare/history only: costs of commits, from runs.  */
#ifndef COMPARE_SERIES_H
#define COMPARE_SERIES_H

#include <fxt/compare_history.h>

#include "libcompare/compare_internal.h"

/* The runs of a set by commit.  */
struct commit_runs {
    const struct compare_set *set;
    const uint32_t *commits; /* of each run */
    size_t commit_count;
    size_t *runs;    /* of each commit */
    double *cost;    /* mean of the runs of each commit */
    double *samples; /* sum of them */
};

/* Add to the history, with their values: the series of the whole run, which comes first; those of
 * all functions that are tested, by their own cost or by that with callees.  These return false if
 * there is no memory.  */
bool series_make_total(const struct commit_runs *runs, struct compare_history *history);
bool series_make_family(const struct commit_runs *runs, struct compare_history *history,
                        bool with_callees);
void series_drop(struct compare_history *history, bool with_callees);

/* What the shares of functions that did not change were multiplied by in each commit, by the series
 * of own costs, as logarithms; and the largest share that a function usually has.  Returns false if
 * there is no memory.  */
bool series_reference(const struct compare_history *history, double *out, double *largest);
/* The logarithm of what the shares of functions that did not change were multiplied by from commits
 * [ends[0], ends[1]) to [ends[2], ends[3]): the weighted median of the ratios of means, as between
 * two builds (section 3.4).  0 if no function is in both.  Returns false if there is no memory.  */
bool series_step(const struct compare_history *history, const size_t ends[4], double *out);

#endif /* COMPARE_SERIES_H */
