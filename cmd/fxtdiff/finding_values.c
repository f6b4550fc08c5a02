/* finding_values.c - what a finding costs in each run, for the outputs that show it.  */
#include "cmd/fxtdiff/finding_values.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/fxtdiff/print.h"

bool diff_is_finding(const struct compare_row *row)
{
    return row->flag != COMPARE_UNCHANGED;
}

void diff_values_open(struct diff_values *values, const struct compare_report *report,
                      const struct compare_row *row)
{
    const struct compare_set *set = report->set;
    const double *interval;
    const struct compare_change *change = diff_row_family(row, &values->family, &interval);

    values->memory = cli_allocate(set->run_count, sizeof *values->memory);
    values->scale = compare_row_shares(
        report, row, change == &row->self ? COMPARE_METRIC_SELF : COMPARE_METRIC_TOTAL,
        values->memory);
    values->side[COMPARE_BASE] = values->memory;
    values->side[COMPARE_NEW] = values->memory + set->side_runs[COMPARE_BASE];
    for (int side = 0; side < COMPARE_SIDES; side++)
        values->count[side] = set->side_runs[side];
}

void diff_values_close(struct diff_values *values)
{
    free(values->memory);
}

char *diff_scale_note(const struct compare_report *report)
{
    static const char *const why[] = {
        [COMPARE_REFERENCE_NONE] = "",
        [COMPARE_REFERENCE_FUNCTIONS] = "as all shares grow when a part of the program costs less",
        [COMPARE_REFERENCE_TOTAL] = "the most that unchanged functions grew by, says the total",
    };
    double scale = report->comparison->scale;
    char *note = NULL;

    if (!(scale > 1))
        return NULL;
    if (asprintf(&note, "shares that grew: those of new runs are divided by %.3f, %s", scale,
                 why[report->comparison->reference]) < 0)
        cli_out_of_memory();
    return note;
}
