/* suite.h - the benchmarks of one comparison: each with runs of both sides, all with one verdict
 * (suite.c).  Most comparisons have a single one, without a name.  */
#ifndef FXTDIFF_SUITE_H
#define FXTDIFF_SUITE_H

#include "cmd/fxtdiff/fxtdiff.h"

struct diff_suite {
    const struct diff_settings *settings; /* borrowed */
    struct diff_bench {
        const char *name; /* NULL: the only one */
        struct diff_runs runs;
        const struct compare_set *set;
    } * benches;
    size_t count;
};

/* Read the runs of all benchmarks.  The status is CLI_OK, CLI_DAMAGED (and the reports say so), or
 * another one after a message.  Close it in any case.  */
enum cli_exit diff_suite_open(struct diff_suite *suite, const struct diff_settings *settings);
void diff_suite_close(struct diff_suite *suite);

/* Compare at a level of the tests, which all benchmarks share, and judge with all policies.  series
 * may be NULL.  The reports are linked, in the order of the benchmarks; NULL after a message, with
 * the status.  */
struct compare_report *diff_suite_report(struct diff_suite *suite, double q,
                                         const struct compare_series *series,
                                         enum cli_exit *status);
void diff_reports_close(struct compare_report *reports); /* accepts NULL */

/* FAIL if a benchmark fails, else INCONCLUSIVE if one is.  */
enum compare_verdict diff_reports_verdict(const struct compare_report *reports);

/* Make benchmarks of the folders and files in two folders, those of the same name.  Ends the
 * program with CLI_USAGE if there are none.  */
void diff_find_benchmarks(struct diff_settings *settings);

#endif /* FXTDIFF_SUITE_H */
