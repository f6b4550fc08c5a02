/* means.c - what a set says without a comparison.  */
#include <fxt/compare_set.h>

#include "libcompare/compare_internal.h"

double compare_mean_cost(const struct compare_set *set, enum compare_side side)
{
    double sum = 0;

    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side)
            sum += set->runs[i].cost;
    return set->side_runs[side] ? sum / (double)set->side_runs[side] : 0;
}

double *compare_mean_stacks(const struct compare_set *set)
{
    double *means = compare_array(2 * set->node_count, sizeof *means);

    for (size_t i = 0; means && i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        for (size_t k = 0; k < run->stack_count; k++)
            means[2 * (size_t)run->stacks[k].node + (size_t)run->side] +=
                run->stacks[k].value / (double)set->side_runs[run->side];
    }
    return means;
}

/* Add what the functions of a side cost to costs, one number a function.  Returns the cost of all
 * runs.  */
static double sum_side(const struct compare_set *set, enum compare_side side, double *costs)
{
    double all = 0;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        for (size_t k = 0; k < run->cost_count && run->side == side; k++)
            costs[run->costs[k].function] += run->costs[k].self;
        all += run->side == side ? run->cost : 0;
    }
    return all;
}

double compare_unnamed_share(const struct compare_set *set, enum compare_side side,
                             const char **name)
{
    double *costs = compare_array(set->function_count, sizeof *costs);
    double all, unnamed = 0, largest = 0;

    *name = NULL;
    if (!costs)
        return -1;
    all = sum_side(set, side, costs);
    for (size_t f = 0; f < set->function_count; f++) {
        if (!compare_name_is_missing(set->functions[f].name))
            continue;
        unnamed += costs[f];
        if (costs[f] > largest) {
            largest = costs[f];
            *name = set->functions[f].name;
        }
    }
    free(costs);
    return all > 0 ? unnamed / all : 0;
}

const char *compare_file_of(const struct compare_function *function, uint32_t *line)
{
    const struct compare_place *place = &function->places[COMPARE_NEW];

    if (!place->name || !*place->file)
        place = &function->places[COMPARE_BASE];
    if (line)
        *line = place->start_line ? place->start_line : place->first_line;
    return place->name ? place->file : "";
}
