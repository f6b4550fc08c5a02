/* moved.c - "moved, not slower" (section 3.5).
 *
 * A function that is inlined elsewhere, split or renamed in part regresses while another improves
 * by the same amount.  The evidence asked for is positive: a sum of functions with this one among
 * them grew provably less than the function itself did.  "No significant change" would not do: a
 * noisy sum never has one.
 *
 * Like is compared with like: the own cost of a function with that of its file, its cost with
 * callees with the cost of all stacks that contain a function of the file.  A caller whose callees
 * are in another file would otherwise always have moved.  Callers of what moved grew with it: what
 * else they do is judged.  */
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The share of a sum beyond this one can hardly grow.  */
#define MOST_SHARE 0.8

/* What of a sum is compared.  */
enum measure {
    AS_SHARE,
    AS_COST, /* as a part of the cost of a base run */
};

struct look {
    const struct compare_input *input;
    const struct compare_options *options;
    size_t runs;
    double base_cost;   /* mean of the base runs */
    double t_99, t_999; /* half widths of one-sided limits of a sum, in standard errors */
    double *row;
    /* Of each group: its functions' own cost, a row of runs, and how many functions it has.  NULL
     * where there are no groups.  */
    double *group_rows;
    size_t *group_sizes;
    bool *moved; /* of each function: found so far */
};

/* A cost of a function that regressed, its own or that with callees.  */
struct subject {
    size_t function;
    double share;  /* of the new runs */
    double growth; /* of its share, undiluted */
    double cost;   /* growth of its cost, as a part of the cost of a base run */
};

struct growth {
    double change; /* of the mean share */
    double error;  /* its standard error */
    double share;  /* of the base runs */
};

static double value_of(const struct look *look, enum measure measure, size_t run)
{
    return look->row[run] / (measure == AS_COST ? look->base_cost : look->input->cost[run]);
}

/* Of look->row: mean and standard error over runs (Welch's).  */
static struct growth growth_of(const struct look *look, enum measure measure)
{
    size_t counts[2] = { look->input->base_runs, look->input->new_runs };
    double mean[2] = { 0, 0 }, square[2] = { 0, 0 }, variance = 0;

    for (size_t i = 0; i < look->runs; i++) {
        int side = i >= counts[0];

        mean[side] += value_of(look, measure, i) / (double)counts[side];
    }
    for (size_t i = 0; i < look->runs; i++) {
        int side = i >= counts[0];
        double off = value_of(look, measure, i) - mean[side];

        square[side] += off * off;
    }
    for (int side = 0; side < 2; side++)
        variance += square[side] / (double)(counts[side] - 1) / (double)counts[side];
    return (struct growth){ mean[1] - mean[0], sqrt(variance), mean[0] };
}

/* When work of d is added to a program of cost T, the share s of what does it grows by
 * d (1 - s) / (T + d): the larger it was, the less.  What it grew by, had it been small.  */
static double undiluted(double growth, double share)
{
    return share < 1 ? growth / (1 - share) : 0;
}

/* Whether a sum regressed: it grew by as many points as a finding needs, of the whole and of the
 * function, and provably.  Little beside the growth of the function needs a better proof.  */
static bool did_regress(const struct look *look, const struct subject *subject,
                        const struct growth *sum)
{
    double t = sum->change < subject->growth / 4 ? look->t_999 : look->t_99;

    return sum->change >= look->options->min_share &&
           sum->change >= look->options->min_rel * subject->share && sum->change > t * sum->error;
}

/* Whether a sum grew by less than half of what the function did, and the data rule out that it grew
 * by as much.  One that regressed proves nothing: there the work moved, and regressed on the
 * way.  */
static bool grew_little(const struct look *look, const struct subject *subject,
                        const struct growth *sum)
{
    double most = sum->change + look->t_99 * sum->error;

    return !did_regress(look, subject, sum) &&
           undiluted(sum->change, sum->share) < subject->growth / 2 &&
           undiluted(most, sum->share) < subject->growth;
}

/* Whether the work is still in the sum of look->row, which is less than half of the program.  */
static bool did_not_grow(const struct look *look, const struct subject *subject)
{
    struct growth sum = growth_of(look, AS_SHARE);

    return sum.share <= 0.5 && grew_little(look, subject, &sum);
}

/* The same of a sum of many functions, which proves nothing if it decreased by as much: others in
 * it improved.  */
static bool did_not_change(const struct look *look, const struct subject *subject)
{
    struct growth sum = growth_of(look, AS_SHARE);

    return sum.share <= MOST_SHARE && grew_little(look, subject, &sum) &&
           undiluted(sum.change, sum.share) > -subject->growth / 2;
}

static bool stayed(const struct look *look, const struct subject *subject)
{
    return did_not_grow(look, subject) || did_not_change(look, subject);
}

/* The same of a sum that contains the function, but none of what else its callers do: if it is most
 * of the program, its cost is compared.  The cost of a wider sum may have decreased because
 * something else improved.  */
static bool inside_stayed(const struct look *look, const struct subject *subject)
{
    struct growth sum = growth_of(look, AS_SHARE);

    if (sum.share <= MOST_SHARE)
        return stayed(look, subject);
    sum = growth_of(look, AS_COST);
    return !did_regress(look, subject, &sum) && sum.change < subject->cost / 2 &&
           sum.change + look->t_99 * sum.error < subject->cost;
}

/* Own cost: that of the functions of the file together.  */
static bool file_stayed(const struct look *look, const struct subject *subject)
{
    uint32_t group;

    if (!look->group_sizes)
        return false;
    group = look->input->group[subject->function];
    if (group == COMPARE_NO_GROUP || look->group_sizes[group] < 2)
        return false;
    memcpy(look->row, look->group_rows + group * look->runs, look->runs * sizeof *look->row);
    return stayed(look, subject);
}

/* Cost with callees: that of all stacks with any of those functions.  */
static bool sum_stayed(const struct look *look, enum compare_sum which,
                       const struct subject *subject)
{
    return look->input->sum &&
           look->input->sum(look->input->context, which, subject->function, look->row) &&
           stayed(look, subject);
}

/* Own costs of the function and those around it: code is inlined and outlined there.  */
static bool neighbours_stayed(const struct look *look, const struct subject *subject)
{
    return look->input->sum &&
           look->input->sum(look->input->context, COMPARE_SUM_NEIGHBOURS, subject->function,
                            look->row) &&
           did_not_change(look, subject);
}

/* What a function calls may become its own code: inlined without debug information.  Then its own
 * cost grows, and its cost with callees does not.  */
static bool function_did_not_grow(const struct look *look, const struct subject *subject)
{
    memcpy(look->row, look->input->total + subject->function * look->runs,
           look->runs * sizeof *look->row);
    return did_not_grow(look, subject);
}

/* Without stacks: its callees did not grow, so that its own cost did, and that is judged.  */
static bool only_own_cost_grew(const struct look *look, const struct subject *subject)
{
    const double *self = look->input->self + subject->function * look->runs;
    const double *total = look->input->total + subject->function * look->runs;

    if (look->input->sum)
        return false;
    for (size_t i = 0; i < look->runs; i++)
        look->row[i] = fmax(total[i] - self[i], 0);
    return did_not_grow(look, subject);
}

static bool own_cost_moved(const struct look *look, const struct subject *subject)
{
    return function_did_not_grow(look, subject) || file_stayed(look, subject) ||
           neighbours_stayed(look, subject) || sum_stayed(look, COMPARE_SUM_CALLERS, subject);
}

/* A callee that another function called before.  */
static bool callees_stayed(const struct look *look, const struct subject *subject)
{
    return look->input->sum &&
           look->input->sum(look->input->context, COMPARE_SUM_CALLEES, subject->function,
                            look->row) &&
           inside_stayed(look, subject);
}

static bool cost_with_callees_moved(const struct look *look, const struct subject *subject)
{
    return sum_stayed(look, COMPARE_SUM_GROUP, subject) ||
           sum_stayed(look, COMPARE_SUM_CALLERS, subject) || callees_stayed(look, subject) ||
           (only_own_cost_grew(look, subject) && file_stayed(look, subject));
}

static struct subject subject_of(const struct look *look, size_t function,
                                 const struct compare_change *change)
{
    return (struct subject){
        .function = function,
        .share = change->new_share,
        .growth = undiluted(change->new_share - change->base_share, change->base_share),
        .cost = (change->new_cost - change->base_cost) / look->base_cost,
    };
}

static void judge(const struct look *look, size_t function, struct compare_function_change *it)
{
    struct subject self = subject_of(look, function, &it->self);
    struct subject total = subject_of(look, function, &it->total);

    if (it->self.flag == COMPARE_REGRESSED && own_cost_moved(look, &self))
        it->self.flag = COMPARE_MOVED;
    if (it->total.flag == COMPARE_REGRESSED && cost_with_callees_moved(look, &total))
        it->total.flag = COMPARE_MOVED;
}

/* What a function costs without what moved to it or below it.  False: nothing did.  */
static bool take_rest(const struct look *look, size_t function, bool own_moved)
{
    const struct compare_input *input = look->input;
    size_t at = function * look->runs;

    if (!input->rest(input->context, function, look->moved, look->row)) {
        if (!own_moved)
            return false;
        memcpy(look->row, input->total + at, look->runs * sizeof *look->row);
    }
    for (size_t i = 0; own_moved && i < look->runs; i++)
        look->row[i] = fmax(look->row[i] - input->self[at + i], 0);
    return true;
}

/* If work moved to another function, the callers of that one regressed with it, up to the first
 * that also called it before.  */
static void judge_callers(const struct look *look, struct compare_result *comparison)
{
    bool any = false;

    for (size_t f = 0; f < comparison->function_count; f++) {
        const struct compare_function_change *it = &comparison->functions[f];

        look->moved[f] = it->self.flag == COMPARE_MOVED || it->total.flag == COMPARE_MOVED;
        any |= look->moved[f];
    }
    for (size_t f = 0; any && look->input->rest && f < comparison->function_count; f++) {
        struct compare_function_change *it = &comparison->functions[f];
        struct subject subject = subject_of(look, f, &it->total);

        if (it->total.flag == COMPARE_REGRESSED &&
            take_rest(look, f, it->self.flag == COMPARE_MOVED) && inside_stayed(look, &subject))
            it->total.flag = COMPARE_MOVED;
    }
}

static bool any_regressed(const struct compare_result *comparison)
{
    for (size_t f = 0; f < comparison->function_count; f++)
        if (comparison->functions[f].self.flag == COMPARE_REGRESSED ||
            comparison->functions[f].total.flag == COMPARE_REGRESSED)
            return true;
    return false;
}

static void sum_groups(struct look *look)
{
    const struct compare_input *input = look->input;

    for (size_t f = 0; f < input->function_count; f++) {
        if (input->group[f] == COMPARE_NO_GROUP)
            continue;
        look->group_sizes[input->group[f]]++;
        for (size_t i = 0; i < look->runs; i++)
            look->group_rows[input->group[f] * look->runs + i] += input->self[f * look->runs + i];
    }
}

/* False: out of memory.  */
static bool open_look(struct look *look)
{
    size_t functions = look->input->function_count;

    look->row = malloc(look->runs * sizeof *look->row);
    look->moved = calloc(functions + 1, sizeof *look->moved); /* not 0 */
    if (!look->row || !look->moved)
        return false;
    if (!look->input->group)
        return true;
    look->group_rows = calloc(functions * look->runs, sizeof *look->group_rows);
    look->group_sizes = calloc(functions, sizeof *look->group_sizes);
    if (!look->group_rows || !look->group_sizes)
        return false;
    sum_groups(look);
    return true;
}

enum compare_status compare_find_moved(const struct compare_input *input,
                                       const struct compare_options *options,
                                       struct compare_result *comparison,
                                       struct compare_error *error)
{
    enum compare_status status = COMPARE_OK;
    struct look look = { .input = input,
                         .options = options,
                         .runs = input->base_runs + input->new_runs };

    if (input->base_runs < 2 || input->new_runs < 2 || !any_regressed(comparison))
        return COMPARE_OK;
    look.t_99 = compare_t_quantile(0.99, (double)look.runs - 2);
    look.t_999 = compare_t_quantile(0.999, (double)look.runs - 2);
    for (size_t i = 0; i < input->base_runs; i++)
        look.base_cost += input->cost[i] / (double)input->base_runs;
    if (!open_look(&look))
        status = compare_no_memory(error);
    for (size_t f = 0; f < input->function_count && status == COMPARE_OK; f++)
        judge(&look, f, &comparison->functions[f]);
    if (status == COMPARE_OK)
        judge_callers(&look, comparison);
    free(look.row);
    free(look.moved);
    free(look.group_rows);
    free(look.group_sizes);
    return status;
}
