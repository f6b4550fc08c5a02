/* shares.c - what a row costs in each run, as the comparison has it.  */
#include <stdlib.h>

#include "libcompare/report/report.h"

static int by_function(const void *a, const void *b)
{
    uint32_t x = ((const struct compare_cost *)a)->function;
    uint32_t y = ((const struct compare_cost *)b)->function;

    return (x > y) - (x < y);
}

static double share_of(const struct compare_run *run, uint32_t function, bool self)
{
    const struct compare_cost wanted = { .function = function };
    const struct compare_cost *cost = NULL;
    double share;

    if (run->cost_count > 0)
        cost = bsearch(&wanted, run->costs, run->cost_count, sizeof wanted, by_function);
    if (!cost)
        return 0;
    share = (self ? cost->self : cost->total) / run->cost;
    return share > 1 ? 1 : share;
}

double compare_row_shares(const struct compare_report *report, const struct compare_row *row,
                          enum compare_metric metric, double *shares)
{
    bool self = metric == COMPARE_METRIC_SELF;
    const struct compare_change *change = self ? &row->self : &row->total;
    double scale = change->new_share > change->base_share ? report->comparison->scale : 1;

    for (size_t i = 0; i < report->set->run_count; i++) {
        const struct compare_run *run = &report->set->runs[i];

        shares[i] = share_of(run, row->function, self) / (run->side == COMPARE_NEW ? scale : 1);
    }
    return scale;
}
