/* checks.c - whether the runs of a set can be compared.  */
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "libcompare/report/report.h"

/* ---- Of one kind ---- */

static const struct compare_run *run_with_other_period(const struct compare_set *set,
                                                       const struct compare_run **first)
{
    *first = NULL;
    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

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

static bool are_out_of_proportion(double a, double b)
{
    return a > b * UNLIKELY_RATIO || b > a * UNLIKELY_RATIO;
}

static double least_stack(const struct compare_run *run)
{
    double least = 0;

    for (size_t i = 0; i < run->stack_count; i++)
        if (run->stacks[i].value > 0 && (least == 0 || run->stacks[i].value < least))
            least = run->stacks[i].value;
    return least;
}

/* A run that stopped early costs less in all, but its smallest stack is one sample as well.  */
static bool are_of_two_units(const struct compare_run *a, const struct compare_run *b)
{
    return are_out_of_proportion(a->cost, b->cost) &&
           are_out_of_proportion(least_stack(a), least_stack(b));
}

/* A run without a sample type whose cost is out of all proportion to those that have one; if none
 * has one, that seems to be in another unit than the first run.  */
static const struct compare_run *run_of_other_type(const struct compare_set *set,
                                                   const struct compare_run **typed)
{
    *typed = NULL;
    for (size_t i = 0; i < set->run_count; i++)
        if (!set->runs[i].type_assumed && set->runs[i].cost > 0)
            *typed = &set->runs[i];
    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        if (!run->type_assumed || !(run->cost > 0))
            continue;
        if (!*typed)
            *typed = run;
        if ((*typed)->type_assumed ? are_of_two_units(run, *typed)
                                   : are_out_of_proportion(run->cost, (*typed)->cost))
            return run;
    }
    return NULL;
}

/* ---- Copies of one run ---- */

/* Short runs of few functions may be equal by chance; with as many samples of as many functions the
 * odds are below one in a million.  */
#define TELLING_SAMPLES   100
#define TELLING_FUNCTIONS 10

static bool is_telling(const struct compare_run *run)
{
    size_t functions = 0;

    for (size_t i = 0; i < run->cost_count; i++)
        functions += run->costs[i].self > 0;
    return run->samples >= TELLING_SAMPLES && functions >= TELLING_FUNCTIONS;
}

static bool has_same_costs(const struct compare_run *a, const struct compare_run *b)
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
static const struct compare_run *copied_run(const struct compare_set *set,
                                            const struct compare_run **first)
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
static enum compare_status check_copies(struct compare_report *report, struct compare_error *error)
{
    const struct compare_set *set = report->set;
    const struct compare_run *first, *copy = copied_run(set, &first);
    const char *unit = set->type.unit;

    if (!copy || !(copy->cost > 0))
        return COMPARE_OK;
    if (strcmp(copy->label, first->label) == 0)
        return compare_fail(error, COMPARE_UNLIKE,
                            "%s is given twice; each run may be given only once", copy->label);
    if (strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "microseconds") == 0)
        return compare_fail(error, COMPARE_UNLIKE,
                            "%s and %s are the same run; each run may be given only once",
                            first->label, copy->label);
    report_note(report,
                "%s and %s are equal in every stack: if one is a copy of the other, remove it",
                first->label, copy->label);
    return COMPARE_OK;
}

static enum compare_status check_kinds(const struct compare_set *set, struct compare_error *error)
{
    const struct compare_run *first, *other = run_with_other_period(set, &first);
    const char *unit = set->type.unit;
    char a[COMPARE_NUMBER_BYTES], b[COMPARE_NUMBER_BYTES];

    if (other)
        return compare_fail(
            error, COMPARE_UNLIKE,
            "%s was sampled every %s ns, %s every %s ns: capture both with the same period",
            first->label, base_grouped(first->environment.period_ns, a), other->label,
            base_grouped(other->environment.period_ns, b));
    other = run_of_other_type(set, &first);
    if (other)
        return compare_fail(
            error, COMPARE_UNLIKE,
            "the total of %s is %s, that of %s %s: they cannot have the same sample type",
            first->label, compare_amount(unit, first->cost, a), other->label,
            compare_amount(unit, other->cost, b));
    if (set->run_count > COMPARE_MAX_RUNS)
        return compare_fail(error, COMPARE_LIMIT, "%s runs; at most %d can be compared",
                            base_grouped(set->run_count, a), (int)COMPARE_MAX_RUNS);
    return COMPARE_OK;
}

/* ---- Something to compare ---- */

static const char *empty_run(struct compare_report *report)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_run *run = &set->runs[i];

        if (!(run->cost > 0) || !(run->samples > 0))
            return report_text(report, "the %s run %s has no %s",
                               run->side == COMPARE_BASE ? "base" : "new", run->label,
                               run->lacks ? run->lacks : "samples");
    }
    return NULL;
}

static bool has_common_function(struct compare_report *report)
{
    const struct compare_set *set = report->set;
    uint8_t *sides = compare_array(set->function_count, 1);
    bool found = false;

    if (!sides) {
        report->memory->failed = true;
        return true;
    }
    for (size_t i = 0; i < set->run_count; i++)
        for (size_t k = 0; k < set->runs[i].cost_count; k++)
            sides[set->runs[i].costs[k].function] |= (uint8_t)(1u << set->runs[i].side);
    for (size_t f = 0; f < set->function_count; f++)
        found |= sides[f] == 3;
    free(sides);
    return found;
}

static const char *find_problem(struct compare_report *report)
{
    const struct compare_set *set = report->set;
    const char *problem;

    if (set->unreadable_count > 0)
        return report_text(report, "%zu input%s could not be read", set->unreadable_count,
                           set->unreadable_count == 1 ? "" : "s");
    problem = empty_run(report);
    if (!problem && report_has_sides(report) && !has_common_function(report))
        problem = "the runs have no function in common: they are not builds of one program, or one "
                  "build has no symbols";
    return problem;
}

enum compare_status report_check_runs(struct compare_report *report, struct compare_error *error)
{
    enum compare_status status = check_kinds(report->set, error);

    if (status == COMPARE_OK)
        status = check_copies(report, error);
    if (status == COMPARE_OK)
        report->problem = find_problem(report);
    return status == COMPARE_OK ? report_status(report, error) : status;
}
