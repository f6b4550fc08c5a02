/* compare.h - between a set of runs and a report of it.  */
#ifndef FXTDIFF_COMPARE_H
#define FXTDIFF_COMPARE_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Whether the runs can be compared.  True; false after a message, when they are not of one kind.
 * *problem is a phrase of report's when they are but cannot be compared.  */
bool diff_check_runs(struct diff_report *report, const char **problem);

/* Fill in report->comparison.  False after a message.  */
bool diff_compare(struct diff_report *report);

#endif /* FXTDIFF_COMPARE_H */
