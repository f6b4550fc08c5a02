/* costs.c - a set of runs as rows of numbers, for compare_runs().  */
#include <string.h>

#include "libcompare/report/callers.h"
#include "libcompare/report/report.h"
#include "libcompare/set/source_files.h"

struct rows {
    const struct compare_set *set;
    double *cost, *samples;
    double *self, *total; /* of each function, run_count numbers */
    uint32_t *group;
    uint32_t *members;       /* room for the functions of a group */
    double **files;          /* of each group, what it costs together; NULL until asked for */
    struct callers *callers; /* NULL until somebody asks */
    bool failed;             /* memory was short for an answer */
};

static bool open_rows(struct rows *rows)
{
    const struct compare_set *set = rows->set;
    size_t cells;

    if (__builtin_mul_overflow(set->function_count, set->run_count, &cells))
        return false;
    rows->cost = compare_array(set->run_count, sizeof *rows->cost);
    rows->samples = compare_array(set->run_count, sizeof *rows->samples);
    rows->self = compare_array(cells, sizeof *rows->self);
    rows->total = compare_array(cells, sizeof *rows->total);
    rows->group = compare_array(set->function_count, sizeof *rows->group);
    rows->members = compare_array(set->function_count, sizeof *rows->members);
    rows->files = compare_array(set->function_count, sizeof *rows->files);
    return rows->cost && rows->samples && rows->self && rows->total && rows->group &&
           rows->members && rows->files;
}

static void close_rows(struct rows *rows)
{
    free(rows->cost);
    free(rows->samples);
    free(rows->self);
    free(rows->total);
    free(rows->group);
    free(rows->members);
    for (size_t i = 0; rows->files && i < rows->set->function_count; i++)
        free(rows->files[i]);
    free(rows->files);
    callers_close(rows->callers);
}

static void fill_rows(struct rows *rows)
{
    const struct compare_set *set = rows->set;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        rows->cost[i] = run->cost;
        rows->samples[i] = run->samples;
        for (size_t k = 0; k < run->cost_count; k++) {
            size_t at = (size_t)run->costs[k].function * set->run_count + i;

            rows->self[at] = run->costs[k].self;
            rows->total[at] = run->costs[k].total;
        }
    }
}

/* Functions of one file, in the new build if they are there.  Files are numbered anew, for groups
 * have numbers below that of functions.  */
static bool fill_groups(struct rows *rows)
{
    const struct compare_set *set = rows->set;
    uint32_t *files = source_files_number(set);
    uint32_t *groups = compare_array(set->function_count, COMPARE_SIDES * sizeof *groups); /* + 1 */
    bool ok = files && groups;
    uint32_t count = 0;

    for (size_t f = 0; ok && f < set->function_count; f++) {
        uint32_t file = files[COMPARE_SIDES * f + COMPARE_NEW];

        if (file == SOURCE_FILES_NONE)
            file = files[COMPARE_SIDES * f + COMPARE_BASE];
        if (file != SOURCE_FILES_NONE && groups[file] == 0)
            groups[file] = ++count;
        rows->group[f] = file == SOURCE_FILES_NONE ? COMPARE_NO_GROUP : groups[file] - 1;
    }
    free(files);
    free(groups);
    return ok;
}

/* False: no memory.  */
static bool sum_file(struct rows *rows, uint32_t group)
{
    size_t count = 0;

    for (size_t f = 0; f < rows->set->function_count; f++)
        if (rows->group[f] == group)
            rows->members[count++] = (uint32_t)f;
    rows->files[group] = compare_array(rows->set->run_count, sizeof **rows->files);
    return rows->files[group] &&
           callers_cost_together(rows->callers, rows->members, count, rows->files[group]);
}

static bool fill_file(struct rows *rows, size_t function, double *row, bool *any)
{
    uint32_t group = rows->group[function];

    *any = group != COMPARE_NO_GROUP;
    if (!*any)
        return true;
    if (!rows->files[group] && !sum_file(rows, group))
        return false;
    memcpy(row, rows->files[group], rows->set->run_count * sizeof *row);
    return true;
}

/* Asked only of what regressed: most comparisons never do.  */
static bool fill_sum(void *context, enum compare_sum which, size_t function, double *row)
{
    struct rows *rows = context;
    bool any = false, ok = rows->callers || callers_open(rows->set, &rows->callers);

    switch (which) {
    case COMPARE_SUM_CALLERS:
        ok = ok && callers_cost(rows->callers, (uint32_t)function, row, &any);
        break;
    case COMPARE_SUM_CALLEES:
        ok = ok && callers_cost_with_callees(rows->callers, (uint32_t)function, row, &any);
        break;
    case COMPARE_SUM_NEIGHBOURS:
        ok = ok && callers_cost_of_neighbours(rows->callers, (uint32_t)function, row, &any);
        break;
    case COMPARE_SUM_GROUP:
        ok = ok && fill_file(rows, function, row, &any);
        break;
    }
    rows->failed |= !ok;
    return ok && any;
}

static bool fill_rest(void *context, size_t function, const bool *moved, double *row)
{
    struct rows *rows = context;
    bool any = false;
    bool ok = (rows->callers || callers_open(rows->set, &rows->callers)) &&
              callers_cost_of_rest(rows->callers, (uint32_t)function, moved, row, &any);

    rows->failed |= !ok;
    return ok && any;
}

/* Sums are known if all runs have stacks.  */
static bool all_have_stacks(const struct compare_set *set)
{
    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].stack_count == 0)
            return false;
    return true;
}

static enum compare_status compare_rows(struct rows *rows, struct compare_report *report,
                                        struct compare_error *error)
{
    const struct compare_set *set = rows->set;
    bool has_stacks = all_have_stacks(set);
    struct compare_input input = { .base_runs = set->side_runs[COMPARE_BASE],
                                   .new_runs = set->side_runs[COMPARE_NEW],
                                   .cost = rows->cost,
                                   .samples = rows->samples,
                                   .function_count = set->function_count,
                                   .self = rows->self,
                                   .total = rows->total,
                                   .group = rows->group,
                                   .sum = has_stacks ? fill_sum : NULL,
                                   .rest = has_stacks ? fill_rest : NULL,
                                   .context = rows };
    enum compare_status status;

    fill_rows(rows);
    if (!fill_groups(rows))
        return compare_no_memory(error);
    status = compare_runs(&input, &report->options, &report->comparison, error);
    return status == COMPARE_OK && rows->failed ? compare_no_memory(error) : status;
}

enum compare_status report_compare(struct compare_report *report, struct compare_error *error)
{
    struct rows rows = { .set = report->set };
    enum compare_status status = open_rows(&rows) ? compare_rows(&rows, report, error)
                                                  : compare_no_memory(error);

    close_rows(&rows);
    report->options.others = NULL; /* which may be gone from here on */
    return status;
}
