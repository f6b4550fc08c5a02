/* moved.c - "moved, not slower" (section 3.5).
 *
 * A function that is inlined elsewhere, split or renamed in part regresses while another improves
 * by the same amount.  The evidence asked for is positive: a sum of functions with this one among
 * them grew provably less than the function itself did.  "No significant change" would not do: a
 * noisy sum never has one.
 *
 * Like is compared with like: the own cost of a function with that of its file, its cost with
 * callees with the cost of all stacks that contain a function of the file.  A caller whose callees
 * are in another file would otherwise always have moved.  */
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct look {
    const struct compare_input *input;
    const struct compare_options *options;
    size_t runs;
    double t_99, t_999; /* half widths of one-sided limits of a sum, in standard errors */
    double *row;
    /* Of each group: its functions' own cost, a row of runs, and how many functions it has.  NULL
     * where there are no groups.  */
    double *group_rows;
    size_t *group_sizes;
};

/* A cost of a function that regressed, its own or that with callees.  */
struct subject {
    size_t function;
    double share;  /* of the new runs */
    double growth; /* of its share, undiluted */
};

struct growth {
    double change; /* of the mean share */
    double error;  /* its standard error */
    double share;  /* of the base runs */
};

/* Of the share of look->row: mean and standard error over runs (Welch's).  */
static struct growth growth_of(const struct look *look)
{
    size_t counts[2] = { look->input->base_runs, look->input->new_runs };
    double mean[2] = { 0, 0 }, square[2] = { 0, 0 }, variance = 0;

    for (size_t i = 0; i < look->runs; i++) {
        int side = i >= counts[0];

        mean[side] += look->row[i] / look->input->cost[i] / (double)counts[side];
    }
    for (size_t i = 0; i < look->runs; i++) {
        int side = i >= counts[0];
        double off = look->row[i] / look->input->cost[i] - mean[side];

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

/* Whether what is in look->row grew by less than half of what the function did, and the data rule
 * out that it grew by as much.  A sum that is most of the program proves nothing: its share can
 * hardly grow.  Nor does one that regressed: there the work moved, and regressed on the way.  */
static bool did_not_grow(const struct look *look, const struct subject *subject)
{
    struct growth sum = growth_of(look);
    double most = sum.change + look->t_99 * sum.error;

    return !did_regress(look, subject, &sum) && sum.share <= 0.5 &&
           undiluted(sum.change, sum.share) < subject->growth / 2 &&
           undiluted(most, sum.share) < subject->growth;
}

/* Own cost: that of the functions of the file together.  */
static bool file_did_not_grow(const struct look *look, const struct subject *subject)
{
    uint32_t group;

    if (!look->group_sizes)
        return false;
    group = look->input->group[subject->function];
    if (group == COMPARE_NO_GROUP || look->group_sizes[group] < 2)
        return false;
    memcpy(look->row, look->group_rows + group * look->runs, look->runs * sizeof *look->row);
    return did_not_grow(look, subject);
}

/* Cost with callees: that of all stacks with any of those functions.  */
static bool sum_did_not_grow(const struct look *look, enum compare_sum which,
                             const struct subject *subject)
{
    return look->input->sum &&
           look->input->sum(look->input->context, which, subject->function, look->row) &&
           did_not_grow(look, subject);
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
    return function_did_not_grow(look, subject) || file_did_not_grow(look, subject) ||
           sum_did_not_grow(look, COMPARE_SUM_CALLERS, subject);
}

static bool cost_with_callees_moved(const struct look *look, const struct subject *subject)
{
    return sum_did_not_grow(look, COMPARE_SUM_GROUP, subject) ||
           sum_did_not_grow(look, COMPARE_SUM_CALLERS, subject) ||
           sum_did_not_grow(look, COMPARE_SUM_CALLEES, subject) ||
           (only_own_cost_grew(look, subject) && file_did_not_grow(look, subject));
}

static struct subject subject_of(size_t function, const struct compare_change *change)
{
    return (
        struct subject){ function, change->new_share,
                         undiluted(change->new_share - change->base_share, change->base_share) };
}

static void judge(const struct look *look, size_t function, struct compare_function_change *it)
{
    struct subject self = subject_of(function, &it->self);
    struct subject total = subject_of(function, &it->total);

    if (it->self.flag == COMPARE_REGRESSED && own_cost_moved(look, &self))
        it->self.flag = COMPARE_MOVED;
    if (it->total.flag == COMPARE_REGRESSED && cost_with_callees_moved(look, &total))
        it->total.flag = COMPARE_MOVED;
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
    if (!look->row || !look->input->group)
        return look->row;
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
    if (!open_look(&look))
        status = compare_no_memory(error);
    for (size_t f = 0; f < input->function_count && status == COMPARE_OK; f++)
        judge(&look, f, &comparison->functions[f]);
    free(look.row);
    free(look.group_rows);
    free(look.group_sizes);
    return status;
}
