/* callers.c - what the direct callers of a function cost, and others together.
 *
 * Nodes are put in preorder: what is below a node is then a range of positions, and what a run
 * spent there the difference of two running sums over its stacks.  */
#include "libcompare/report/callers.h"

#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "libcompare/compare_internal.h"

#define NOBODY UINT32_MAX

/* The stacks of a run.  */
struct sums {
    uint32_t *positions; /* ascending */
    double *before;      /* of each, what all before it cost; one more: what all cost */
    size_t count;
};

struct callers {
    const struct compare_set *set;
    uint32_t *limits;    /* of each position: the first one that is not below it */
    uint32_t *functions; /* of each position */
    uint32_t *callers;   /* of each position: the function above it, or NOBODY */
    size_t *first;       /* of each function, where its positions begin; [function + 1]: end */
    uint32_t *positions; /* ascending */
    struct sums *runs;

    /* Scratch of one question.  */
    uint32_t *asked; /* of each function: the question + 1 for which it was found to call */
    uint32_t question;
    uint32_t *found; /* functions */
    size_t found_count, found_capacity;
    uint32_t *starts; /* positions */
    size_t start_count, start_capacity;
};

/* ---- The order ---- */

/* The position of each node.  Parents lie before their children, so that one way up knows how many
 * are below each, and one way down where they lie.  Position 0 is that of node 0.  */
static bool order_nodes(const struct compare_set *set, uint32_t *positions, uint32_t *limits)
{
    uint32_t *sizes = compare_array(set->node_count, sizeof *sizes);
    uint32_t *next = compare_array(set->node_count, sizeof *next); /* where the next child goes */
    bool ok = sizes && next;

    for (size_t node = set->node_count; ok && node-- > 1;)
        sizes[set->nodes[node].parent] += ++sizes[node];
    if (ok) {
        next[0] = 1;
        limits[0] = (uint32_t)set->node_count;
    }
    for (size_t node = 1; ok && node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent;

        positions[node] = next[parent];
        next[parent] += sizes[node];
        next[node] = positions[node] + 1;
        limits[positions[node]] = positions[node] + sizes[node];
    }
    free(sizes);
    free(next);
    return ok;
}

/* Who calls whom, by positions.  */
static bool place_functions(struct callers *callers, const uint32_t *positions)
{
    const struct compare_set *set = callers->set;
    size_t *next = compare_array(set->function_count, sizeof *next);
    bool ok = next != NULL;

    for (size_t node = 1; ok && node < set->node_count; node++) {
        uint32_t parent = set->nodes[node].parent;

        callers->functions[positions[node]] = set->nodes[node].function;
        callers->callers[positions[node]] = parent ? set->nodes[parent].function : NOBODY;
        callers->first[set->nodes[node].function + 1]++;
    }
    for (size_t f = 0; ok && f < set->function_count; f++) {
        callers->first[f + 1] += callers->first[f];
        next[f] = callers->first[f];
    }
    for (uint32_t at = 1; ok && at < set->node_count; at++)
        callers->positions[next[callers->functions[at]]++] = at;
    free(next);
    return ok;
}

/* values: of each position, zeros between runs.  */
static bool sum_run(const struct compare_set *set, const struct compare_run *run,
                    const uint32_t *positions, double *values, struct sums *sums)
{
    double sum = 0;

    for (size_t i = 0; i < run->stack_count; i++)
        values[positions[run->stacks[i].node]] = run->stacks[i].value;
    sums->positions = compare_array(run->stack_count, sizeof *sums->positions);
    sums->before = compare_array(run->stack_count + 1, sizeof *sums->before);
    if (!sums->positions || !sums->before)
        return false;
    for (uint32_t at = 1; at < set->node_count; at++) {
        if (!(values[at] > 0))
            continue;
        sums->positions[sums->count] = at;
        sums->before[sums->count++] = sum;
        sum += values[at];
        values[at] = 0;
    }
    sums->before[sums->count] = sum;
    return true;
}

static bool sum_runs(struct callers *callers, const uint32_t *positions)
{
    const struct compare_set *set = callers->set;
    double *values = compare_array(set->node_count, sizeof *values);
    bool ok = values != NULL;

    for (size_t i = 0; ok && i < set->run_count; i++)
        ok = sum_run(set, &set->runs[i], positions, values, &callers->runs[i]);
    free(values);
    return ok;
}

static bool fill(struct callers *callers)
{
    const struct compare_set *set = callers->set;
    uint32_t *positions = compare_array(set->node_count, sizeof *positions);
    bool ok;

    callers->runs = compare_array(set->run_count, sizeof *callers->runs);
    callers->limits = compare_array(set->node_count, sizeof *callers->limits);
    callers->functions = compare_array(set->node_count, sizeof *callers->functions);
    callers->callers = compare_array(set->node_count, sizeof *callers->callers);
    callers->first = compare_array(set->function_count + 1, sizeof *callers->first);
    callers->positions = compare_array(set->node_count, sizeof *callers->positions);
    callers->asked = compare_array(set->function_count, sizeof *callers->asked);
    ok = positions && callers->runs && callers->limits && callers->functions && callers->callers &&
         callers->first && callers->positions && callers->asked &&
         order_nodes(set, positions, callers->limits) && place_functions(callers, positions) &&
         sum_runs(callers, positions);
    free(positions);
    return ok;
}

bool callers_open(const struct compare_set *set, struct callers **out)
{
    struct callers *callers = calloc(1, sizeof *callers);

    if (!callers)
        return false;
    callers->set = set;
    if (fill(callers)) {
        *out = callers;
        return true;
    }
    callers_close(callers);
    return false;
}

void callers_close(struct callers *callers)
{
    if (!callers)
        return;
    for (size_t i = 0; callers->runs && i < callers->set->run_count; i++) {
        free(callers->runs[i].positions);
        free(callers->runs[i].before);
    }
    free(callers->limits);
    free(callers->functions);
    free(callers->callers);
    free(callers->first);
    free(callers->positions);
    free(callers->runs);
    free(callers->asked);
    free(callers->found);
    free(callers->starts);
    free(callers);
}

/* ---- Questions ---- */

/* The first of the ascending positions [from, limit) that is not below position.  */
static size_t first_from(const uint32_t *positions, size_t from, size_t limit, uint32_t position)
{
    BASE_BISECT(from, limit, i, positions[i] < position);
    return from;
}

/* Add a function to what was found, once.  False: no memory.  */
static bool add_found(struct callers *callers, uint32_t function)
{
    if (callers->asked[function] == callers->question)
        return true;
    callers->asked[function] = callers->question;
    if (!base_make_room(&callers->found, &callers->found_capacity, callers->found_count + 1,
                        sizeof *callers->found))
        return false;
    callers->found[callers->found_count++] = function;
    return true;
}

static bool find_callers(struct callers *callers, uint32_t function)
{
    for (size_t i = callers->first[function]; i < callers->first[function + 1]; i++) {
        uint32_t caller = callers->callers[callers->positions[i]];

        if (caller != NOBODY && caller != function && !add_found(callers, caller))
            return false;
    }
    return true;
}

static bool find_callees(struct callers *callers, uint32_t function)
{
    for (size_t i = callers->first[function]; i < callers->first[function + 1]; i++) {
        uint32_t at = callers->positions[i], limit = callers->limits[at];

        for (uint32_t callee = at + 1; callee < limit; callee = callers->limits[callee])
            if (!add_found(callers, callers->functions[callee]))
                return false;
    }
    return true;
}

/* What one function cost in a run, which knows it; NULL: nothing.  */
static const struct compare_cost *cost_in(const struct compare_run *run, uint32_t function)
{
    size_t low = 0, high = run->cost_count;

    BASE_BISECT(low, high, c, run->costs[c].function < function);
    return low < run->cost_count && run->costs[low].function == function ? &run->costs[low] : NULL;
}

static void take_cost(const struct compare_set *set, uint32_t function, double *row)
{
    for (size_t i = 0; i < set->run_count; i++) {
        const struct compare_cost *cost = cost_in(&set->runs[i], function);

        if (cost)
            row[i] = cost->total;
    }
}

/* Where a function lies, but for what lies below itself.  */
static bool add_starts(struct callers *callers, uint32_t function)
{
    size_t limit = callers->first[function + 1];

    for (size_t i = callers->first[function]; i < limit;) {
        uint32_t at = callers->positions[i];

        if (!base_make_room(&callers->starts, &callers->start_capacity, callers->start_count + 1,
                            sizeof *callers->starts))
            return false;
        callers->starts[callers->start_count++] = at;
        i = first_from(callers->positions, i + 1, limit, callers->limits[at]);
    }
    return true;
}

static int by_position(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* What lies at a position and below it, times sign.  */
static void add_below(const struct callers *callers, uint32_t at, double sign, double *row)
{
    for (size_t r = 0; r < callers->set->run_count; r++) {
        const struct sums *sums = &callers->runs[r];
        size_t first = first_from(sums->positions, 0, sums->count, at);
        size_t last = first_from(sums->positions, first, sums->count, callers->limits[at]);

        row[r] += sign * (sums->before[last] - sums->before[first]);
    }
}

/* What lies below any of the starts.  */
static void sum_below(struct callers *callers, double *row)
{
    uint32_t limit = 0;

    compare_sort(callers->starts, callers->start_count, sizeof *callers->starts, by_position);
    for (size_t i = 0; i < callers->start_count; i++) {
        uint32_t at = callers->starts[i];

        if (at < limit) /* below the one before */
            continue;
        limit = callers->limits[at];
        add_below(callers, at, 1, row);
    }
}

/* What is found costs together.  */
static bool sum_found(struct callers *callers, double *row)
{
    memset(row, 0, callers->set->run_count * sizeof *row);
    if (callers->found_count == 1) {
        take_cost(callers->set, callers->found[0], row);
        return true;
    }
    callers->start_count = 0;
    for (size_t i = 0; i < callers->found_count; i++)
        if (!add_starts(callers, callers->found[i]))
            return false;
    sum_below(callers, row);
    return true;
}

static void ask(struct callers *callers)
{
    callers->question++;
    callers->found_count = 0;
}

bool callers_cost(struct callers *callers, uint32_t function, double *row, bool *any)
{
    ask(callers);
    if (!find_callers(callers, function))
        return false;
    *any = callers->found_count > 0;
    return sum_found(callers, row);
}

bool callers_cost_with_callees(struct callers *callers, uint32_t function, double *row, bool *any)
{
    ask(callers);
    if (!add_found(callers, function) || !find_callees(callers, function))
        return false;
    *any = callers->found_count > 1;
    return sum_found(callers, row);
}

bool callers_cost_of_neighbours(struct callers *callers, uint32_t function, double *row, bool *any)
{
    const struct compare_set *set = callers->set;

    ask(callers);
    if (!add_found(callers, function) || !find_callers(callers, function) ||
        !find_callees(callers, function))
        return false;
    *any = callers->found_count > 1;
    memset(row, 0, set->run_count * sizeof *row);
    for (size_t i = 0; i < set->run_count; i++)
        for (size_t f = 0; f < callers->found_count; f++) {
            const struct compare_cost *cost = cost_in(&set->runs[i], callers->found[f]);

            row[i] += cost ? cost->self : 0;
        }
    return true;
}

/* All positions of functions that moved, ascending, also below each other.  */
static bool find_moved(struct callers *callers, const bool *moved)
{
    callers->start_count = 0;
    for (uint32_t at = 1; at < callers->set->node_count; at++) {
        if (!moved[callers->functions[at]])
            continue;
        if (!base_make_room(&callers->starts, &callers->start_capacity, callers->start_count + 1,
                            sizeof *callers->starts))
            return false;
        callers->starts[callers->start_count++] = at;
    }
    return true;
}

/* What lies below the position and a function that moved.  */
static bool take_moved(const struct callers *callers, uint32_t position, double *row)
{
    uint32_t next = position + 1, limit = callers->limits[position];
    size_t i = first_from(callers->starts, 0, callers->start_count, next);
    bool any = false;

    while (i < callers->start_count && callers->starts[i] < limit) {
        uint32_t at = callers->starts[i];

        add_below(callers, at, -1, row);
        any = true;
        i = first_from(callers->starts, i + 1, callers->start_count, callers->limits[at]);
    }
    return any;
}

bool callers_cost_of_rest(struct callers *callers, uint32_t function, const bool *moved,
                          double *row, bool *any)
{
    size_t limit = callers->first[function + 1];

    *any = false;
    memset(row, 0, callers->set->run_count * sizeof *row);
    if (!find_moved(callers, moved))
        return false;
    for (size_t i = callers->first[function]; i < limit;) {
        uint32_t at = callers->positions[i];

        add_below(callers, at, 1, row);
        *any |= take_moved(callers, at, row);
        i = first_from(callers->positions, i + 1, limit, callers->limits[at]);
    }
    for (size_t r = 0; r < callers->set->run_count; r++)
        row[r] = fmax(row[r], 0); /* sums of differences */
    return true;
}

bool callers_cost_together(struct callers *callers, const uint32_t *functions, size_t count,
                           double *row)
{
    ask(callers);
    for (size_t i = 0; i < count; i++)
        if (!add_found(callers, functions[i]))
            return false;
    return sum_found(callers, row);
}
