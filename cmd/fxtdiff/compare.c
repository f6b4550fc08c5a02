/* compare.c - a set of runs as rows of numbers, for libcompare.  */
#include "cmd/fxtdiff/compare.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/callers.h"
#include "cmd/fxtdiff/files.h"

/* ---- Whether they can be compared ---- */

static const struct diff_run *run_with_other_period(const struct diff_set *set,
                                                    const struct diff_run **first)
{
    *first = NULL;
    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        if (run->environment.period_ns == 0)
            continue;
        if (!*first)
            *first = run;
        else if (run->environment.period_ns != (*first)->environment.period_ns)
            return run;
    }
    return NULL;
}

/* Counts of samples beside nanoseconds are not what a slower build looks like.  */
#define UNLIKELY_RATIO 1000

/* A run without a sample type whose cost is out of all proportion to those that have one.  */
static const struct diff_run *run_of_other_type(const struct diff_set *set,
                                                const struct diff_run **typed)
{
    *typed = NULL;
    for (size_t i = 0; i < set->run_count; i++)
        if (!set->runs[i].type_assumed && set->runs[i].cost > 0)
            *typed = &set->runs[i];
    for (size_t i = 0; *typed && i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        if (run->type_assumed && run->cost > 0 &&
            (run->cost > (*typed)->cost * UNLIKELY_RATIO ||
             run->cost < (*typed)->cost / UNLIKELY_RATIO))
            return run;
    }
    return NULL;
}

/* ---- Copies of one run ---- */

/* Short runs of few functions may be equal by chance; with as many samples of as many functions the
 * odds are below one in a million.  */
#define TELLING_SAMPLES   100
#define TELLING_FUNCTIONS 10

static bool is_telling(const struct diff_run *run)
{
    size_t functions = 0;

    for (size_t i = 0; i < run->cost_count; i++)
        functions += run->costs[i].self > 0;
    return run->samples >= TELLING_SAMPLES && functions >= TELLING_FUNCTIONS;
}

static bool has_same_costs(const struct diff_run *a, const struct diff_run *b)
{
    if (a->cost != b->cost || a->samples != b->samples || a->cost_count != b->cost_count ||
        a->stack_count != b->stack_count)
        return false;
    for (size_t i = 0; i < a->cost_count; i++)
        if (a->costs[i].function != b->costs[i].function || a->costs[i].self != b->costs[i].self ||
            a->costs[i].total != b->costs[i].total)
            return false;
    for (size_t i = 0; i < a->stack_count; i++)
        if (a->stacks[i].node != b->stacks[i].node || a->stacks[i].value != b->stacks[i].value)
            return false;
    return true;
}

/* Two runs of one side that are equal in every stack; which is the earlier.  */
static const struct diff_run *copied_run(const struct diff_set *set, const struct diff_run **first)
{
    for (size_t i = 0; i < set->run_count; i++)
        for (size_t k = 0; k < i; k++) {
            *first = &set->runs[k];
            if ((*first)->side == set->runs[i].side &&
                (strcmp((*first)->label, set->runs[i].label) == 0 ||
                 (has_same_costs(*first, &set->runs[i]) && is_telling(*first))))
                return &set->runs[i];
        }
    return NULL;
}

/* A copy of a run says nothing of what runs vary by.  Measured time is never twice the same; what
 * is counted - bytes, calls - may be.  */
static bool check_copies(struct diff_report *report)
{
    const struct diff_set *set = report->set;
    const struct diff_run *first, *copy = copied_run(set, &first);
    const char *unit = set->type.unit;

    if (!copy || !(copy->cost > 0))
        return true;
    if (strcmp(copy->label, first->label) == 0) {
        cli_error("%s is given twice: a copy of a run says nothing of how runs vary", copy->label);
        return false;
    }
    if (strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "microseconds") == 0) {
        cli_error("%s and %s are one run: a copy says nothing of how runs vary", first->label,
                  copy->label);
        return false;
    }
    diff_report_note(report,
                     "%s and %s are equal in every stack: a copy of a run says nothing of how "
                     "runs vary",
                     first->label, copy->label);
    return true;
}

static const char *side_name(enum diff_side side)
{
    return side == DIFF_BASE ? "base" : "new";
}

static const char *empty_run(struct diff_report *report)
{
    const struct diff_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++)
        if (!(set->runs[i].cost > 0) || !(set->runs[i].samples > 0))
            return diff_report_text(report, "the %s run %s has no %s", side_name(set->runs[i].side),
                                    set->runs[i].label,
                                    set->runs[i].lacks ? set->runs[i].lacks : "samples");
    return NULL;
}

static bool has_common_function(const struct diff_set *set)
{
    uint8_t *sides = cli_allocate(set->function_count, 1);
    bool found = false;

    for (size_t i = 0; i < set->run_count; i++)
        for (size_t k = 0; k < set->runs[i].cost_count; k++)
            sides[set->runs[i].costs[k].function] |= (uint8_t)(1u << set->runs[i].side);
    for (size_t f = 0; f < set->function_count; f++)
        found |= sides[f] == 3;
    free(sides);
    return found;
}

bool diff_check_runs(struct diff_report *report, const char **problem)
{
    const struct diff_set *set = report->set;
    const struct diff_run *first, *other = run_with_other_period(set, &first);
    char a[32], b[32];

    if (other) {
        cli_error("%s was sampled every %s ns, %s every %s ns: capture both with the same period",
                  first->label, cli_grouped(first->environment.period_ns), other->label,
                  cli_grouped(other->environment.period_ns));
        return false;
    }
    other = run_of_other_type(set, &first);
    if (other) {
        cli_error("%s has %s in all, %s %s: they cannot be of one sample type", first->label,
                  diff_amount(set, first->cost, a), other->label, diff_amount(set, other->cost, b));
        return false;
    }
    if (set->run_count > COMPARE_MAX_RUNS) {
        cli_error("%s runs; at most %d can be compared", cli_grouped(set->run_count),
                  (int)COMPARE_MAX_RUNS);
        return false;
    }
    if (!check_copies(report))
        return false;
    *problem = NULL;
    if (set->unreadable_count > 0)
        *problem = diff_report_text(report, "%zu input%s could not be read", set->unreadable_count,
                                    set->unreadable_count == 1 ? "" : "s");
    if (!*problem)
        *problem = empty_run(report);
    if (!*problem && set->side_runs[DIFF_BASE] > 0 && set->side_runs[DIFF_NEW] > 0 &&
        !has_common_function(set))
        *problem = "no function is in both: these are not builds of one program, or one lacks its "
                   "symbols";
    return true;
}

/* ---- Rows ---- */

struct rows {
    const struct diff_set *set;
    double *cost, *samples;
    double *self, *total; /* of each function, run_count numbers */
    uint32_t *group;
    struct diff_callers *callers; /* NULL until somebody asks */
};

static void fill_rows(struct rows *rows)
{
    const struct diff_set *set = rows->set;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

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
static void fill_groups(struct rows *rows)
{
    const struct diff_set *set = rows->set;
    uint32_t *files = diff_number_files(set);
    uint32_t *groups = cli_allocate(set->function_count, DIFF_SIDES * sizeof *groups); /* + 1 */
    uint32_t count = 0;

    for (size_t f = 0; f < set->function_count; f++) {
        uint32_t file = files[DIFF_SIDES * f + DIFF_NEW];

        if (file == DIFF_NO_FILE)
            file = files[DIFF_SIDES * f + DIFF_BASE];
        if (file != DIFF_NO_FILE && groups[file] == 0)
            groups[file] = ++count;
        rows->group[f] = file == DIFF_NO_FILE ? COMPARE_NO_GROUP : groups[file] - 1;
    }
    free(files);
    free(groups);
}

/* Asked only of what regressed: most comparisons never do.  */
static bool fill_callers(void *context, size_t function, double *row)
{
    struct rows *rows = context;

    if (!rows->callers)
        rows->callers = diff_callers_open(rows->set);
    return diff_callers_cost(rows->callers, (uint32_t)function, row);
}

/* Callers are known where all runs have stacks.  */
static bool all_have_stacks(const struct diff_set *set)
{
    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].stack_count == 0)
            return false;
    return true;
}

bool diff_compare(struct diff_report *report)
{
    const struct diff_set *set = report->set;
    size_t cells = set->function_count * set->run_count;
    struct rows rows = { .set = set,
                         .cost = cli_allocate(set->run_count, sizeof *rows.cost),
                         .samples = cli_allocate(set->run_count, sizeof *rows.samples),
                         .self = cli_allocate(cells, sizeof *rows.self),
                         .total = cli_allocate(cells, sizeof *rows.total),
                         .group = cli_allocate(set->function_count, sizeof *rows.group) };
    struct compare_input input = { .base_runs = set->side_runs[DIFF_BASE],
                                   .new_runs = set->side_runs[DIFF_NEW],
                                   .cost = rows.cost,
                                   .samples = rows.samples,
                                   .function_count = set->function_count,
                                   .self = rows.self,
                                   .total = rows.total,
                                   .group = rows.group,
                                   .callers = all_have_stacks(set) ? fill_callers : NULL,
                                   .context = &rows };
    struct compare_error error;
    bool ok;

    fill_rows(&rows);
    fill_groups(&rows);
    ok = compare_runs(&input, &report->settings->compare, &report->comparison, &error) ==
         COMPARE_OK;
    if (!ok)
        cli_error("%s", error.message);
    free(rows.cost);
    free(rows.samples);
    free(rows.self);
    free(rows.total);
    free(rows.group);
    diff_callers_close(rows.callers);
    return ok;
}
