/* compare_history.h - costs over many commits: where they changed, by how much, and how surely.
 *
 *     compare_builder_begin_run(builder, COMPARE_NEW, "4f2a91c/1.fxt"); ... all runs on one side
 *     compare_builder_finish(builder, &set, &error);
 *     compare_history_open(set, commit_of_run, commit_count, NULL, &history, &error);
 *     for (i = 0; i < history->series_count; i++)
 *         for (k = 0; k < history->series[i].point_count; k++)
 *             print(&history->series[i].points[k]);
 *     compare_history_close(history);
 *
 * A commit is one observation, the mean of its runs: runs of one commit share its luck.  The
 * observations of a series without a change are taken to be exchangeable, as in measurements that
 * do not depend on each other.  docs/comparison.md, section 11, explains the method.  */
#ifndef FXT_COMPARE_HISTORY_H
#define FXT_COMPARE_HISTORY_H

#include <fxt/compare_set.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* Fewer commits cannot show a change: so many of them must have the new level, and so many the
     * old one.  */
    COMPARE_HISTORY_SIDE = 3,
    COMPARE_HISTORY_MIN_COMMITS = 8,
    COMPARE_HISTORY_MAX_COMMITS = 2000,
};

#define COMPARE_NO_COMMIT UINT32_MAX /* a run that is left out */
#define COMPARE_WHOLE_RUN UINT32_MAX /* in place of a function: the total */

struct compare_history_options {
    size_t size;      /* sizeof(struct compare_history_options) */
    double level;     /* probability of any change point in a history without a change: 0.05 */
    double floor;     /* functions whose share never reaches this level are not tested: 0.005 */
    double min_rel;   /* smaller relative changes are ignored: 0.02 */
    double min_share; /* likewise changes of a function, in parts of the program: 0.001 */
    enum compare_metric metric; /* COMPARE_METRIC_SELF */
};

/* Set the defaults, which are the values above.  */
COMPARE_API void compare_history_options_init(struct compare_history_options *options);

enum compare_shape {
    COMPARE_STEP = 0,  /* between two commits */
    COMPARE_CREEP = 1, /* little by little, between last_good and first_bad */
};

/* Commits are numbered from 0, in the order of the caller.  */
struct compare_change_point {
    enum compare_shape shape;
    size_t at;        /* the commit from which on the cost most likely is the new one */
    size_t last_good; /* of a step: the change lies between these with 95 % confidence; */
    size_t first_bad; /* of creep: it begins after one and ends at the other */
    double before;    /* medians of the commits on each side, in the unit of the series */
    double after;
    double relative; /* after / before - 1, by the Hodges-Lehmann shift of logarithms; infinite if
                      * the median before is 0, -1 if that after is 0 */
    double low;      /* 95 % limits of relative */
    double high;
    double p; /* of the permutation test that found it */
};

/* The values of one function, or of the whole run, commit by commit.  */
struct compare_history_series {
    uint32_t function; /* of the set, or COMPARE_WHOLE_RUN */
    bool with_callees;
    /* One a commit.  Of the whole run: the mean cost of its runs, in the unit of the set.  Of a
     * function: the mean of its shares of them, scaled by struct compare_history.scale.  */
    double *values;
    double noise; /* standard deviation from commit to commit, relative to the value */
    struct compare_change_point *points; /* in the order of commits */
    size_t point_count;
};

struct compare_history {
    const struct compare_set *set; /* borrowed */
    struct compare_history_options options;
    size_t commit_count;
    size_t *runs; /* of each commit; at least 1 */
    /* If a part of a program disappears, the shares of all other functions grow by one ratio.
     * Shares are divided by it, so that they are parts of the program as it mostly was: 1 for each
     * commit unless that ratio itself changed.  */
    double *scale;
    struct compare_history_series *series; /* the whole run first, then by name of the function */
    size_t series_count;
    double level_each; /* the level at which each series was tested: level / series_count */
    size_t point_count;
    size_t changed_count; /* series that have any */
};

/* Find the change points of a set.  commits[run] is the commit of each run of the set, below
 * commit_count, or COMPARE_NO_COMMIT; every commit needs a run.  The set is borrowed until
 * compare_history_close().  options may be NULL.
 *
 * Returns COMPARE_OK; COMPARE_INVALID (an option, a commit without a run, a run without a cost; the
 * message names it), COMPARE_LIMIT (more than COMPARE_HISTORY_MAX_COMMITS) or COMPARE_NO_MEMORY.
 * With fewer than COMPARE_HISTORY_MIN_COMMITS commits there are series, but no change points.  */
COMPARE_API enum compare_status compare_history_open(const struct compare_set *set,
                                                     const uint32_t *commits, size_t commit_count,
                                                     const struct compare_history_options *options,
                                                     struct compare_history **out,
                                                     struct compare_error *error);
COMPARE_API void compare_history_close(struct compare_history *history); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif /* FXT_COMPARE_HISTORY_H */
