/* finding_values.h - what a finding costs in each run, for the outputs that show it.  */
#ifndef FXTDIFF_FINDING_VALUES_H
#define FXTDIFF_FINDING_VALUES_H

#include "cmd/fxtdiff/fxtdiff.h"

/* Shares of the family that the row shows (diff_row_family()).  */
struct diff_values {
    const char *family;
    double scale; /* by which those of the new runs are divided (compare_row_shares()) */
    const double *side[COMPARE_SIDES]; /* in the order of runs */
    size_t count[COMPARE_SIDES];
    double *memory;
};

/* Of how many findings, and of how many runs of a side, outputs for programs and browsers have the
 * values.  */
enum { DIFF_VALUES_FINDINGS = 100, DIFF_VALUES_RUNS = 100 };

/* Whether the row is a finding, of which each run is shown.  Findings are the first rows.  */
bool diff_is_finding(const struct compare_row *row);

void diff_values_open(struct diff_values *values, const struct compare_report *report,
                      const struct compare_row *row);
void diff_values_close(struct diff_values *values);

/* "shares that grew: those of new runs are divided by 1.250, ...", from malloc(); NULL if none are.
 * The report must have a comparison.  */
char *diff_scale_note(const struct compare_report *report);

#endif /* FXTDIFF_FINDING_VALUES_H */
