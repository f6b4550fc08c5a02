/* runs.c - from two sides' runs to a verdict (section 4).  */
#include <fxt/compare.h>

#include <math.h>
#include <stdlib.h>

#include "libcompare/statistics/statistics.h"

void compare_options_init(struct compare_options *options)
{
    *options = (struct compare_options){
        .size = sizeof *options,
        .q = 0.05,
        .floor = 0.005,
        .min_share = 0.003,
        .min_rel = 0.05,
        .min_total = 0.05,
        .need_share = 0.05,
        .need_change = 0.25,
    };
}

static bool all_valid(const double *values, size_t count, bool zero_allowed)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || values[i] < 0 || (values[i] == 0 && !zero_allowed))
            return false;
    return true;
}

static enum compare_status check(const struct compare_input *input,
                                 const struct compare_options *options, struct compare_error *error)
{
    size_t runs = input->base_runs + input->new_runs;
    double limits[] = { options->q,          options->floor,     options->min_share,
                        options->min_rel,    options->min_total, options->need_share,
                        options->need_change };

    if (options->size != sizeof *options ||
        !all_valid(limits, sizeof limits / sizeof *limits, true) || options->q >= 1 ||
        options->need_share >= 1)
        return compare_fail(error, COMPARE_INVALID, "unusable comparison options");
    if (input->base_runs == 0 || input->new_runs == 0)
        return compare_fail(error, COMPARE_INVALID, "a side has no runs");
    if (runs > COMPARE_MAX_RUNS)
        return compare_fail(error, COMPARE_INVALID, "%zu runs; at most %d can be compared", runs,
                            (int)COMPARE_MAX_RUNS);
    if (!all_valid(input->cost, runs, false) || !all_valid(input->samples, runs, false))
        return compare_fail(error, COMPARE_INVALID, "a run without samples, or with a cost of 0");
    if (!all_valid(input->self, input->function_count * runs, true) ||
        !all_valid(input->total, input->function_count * runs, true))
        return compare_fail(error, COMPARE_INVALID, "a cost that is negative or not a number");
    for (size_t f = 0; input->group && f < input->function_count; f++)
        if (input->group[f] >= input->function_count && input->group[f] != COMPARE_NO_GROUP)
            return compare_fail(error, COMPARE_INVALID, "function %zu is of group %u of %zu", f,
                                input->group[f], input->function_count);
    return COMPARE_OK;
}

static bool either(const struct compare_function_change *function, enum compare_flag flag)
{
    return function->self.flag == flag || function->total.flag == flag;
}

static void count_flags(struct compare_result *comparison)
{
    for (size_t i = 0; i < comparison->function_count; i++) {
        const struct compare_function_change *function = &comparison->functions[i];

        if (either(function, COMPARE_REGRESSED))
            comparison->regressed_count++;
        else if (either(function, COMPARE_MOVED))
            comparison->moved_count++;
        else if (either(function, COMPARE_IMPROVED))
            comparison->improved_count++;
    }
}

static enum compare_reason reason_against_pass(const struct compare_result *comparison)
{
    if (!compare_total_seen(comparison))
        return COMPARE_REASON_TOO_NOISY;
    if (comparison->test_count == 0)
        return COMPARE_REASON_NOTHING_TO_TEST;
    if (comparison->undecided_count > 0)
        return COMPARE_REASON_UNDECIDED;
    if (!compare_functions_seen(comparison))
        return COMPARE_REASON_BLIND;
    return COMPARE_REASON_NONE;
}

static enum compare_reason reason_of(const struct compare_result *comparison,
                                     const struct compare_options *options)
{
    const struct compare_total_change *total = &comparison->total;

    if (comparison->runs[0] < COMPARE_MIN_RUNS || comparison->runs[1] < COMPARE_MIN_RUNS)
        return COMPARE_REASON_TOO_FEW_RUNS;
    if (total->q <= options->q && total->relative >= options->min_total)
        return COMPARE_REASON_TOTAL;
    if (comparison->regressed_count > 0)
        return COMPARE_REASON_FUNCTIONS;
    return comparison->not_pass;
}

static enum compare_verdict verdict_of(enum compare_reason reason)
{
    switch (reason) {
    case COMPARE_REASON_NONE:
        return COMPARE_PASS;
    case COMPARE_REASON_TOTAL:
    case COMPARE_REASON_FUNCTIONS:
        return COMPARE_FAIL;
    case COMPARE_REASON_TOO_FEW_RUNS:
    case COMPARE_REASON_TOO_NOISY:
    case COMPARE_REASON_NOTHING_TO_TEST:
    case COMPARE_REASON_BLIND:
    case COMPARE_REASON_UNDECIDED:
        break;
    }
    return COMPARE_INCONCLUSIVE;
}

static enum compare_status fill(const struct compare_input *input,
                                const struct compare_options *options,
                                struct compare_result *comparison, struct compare_error *error)
{
    struct compare_options of_total = *options;
    enum compare_status status;

    of_total.q /= (double)(1 + compare_others_count(options->others, true));
    status = compare_totals(input, &of_total, &comparison->total, error);
    comparison->total_level = of_total.q;
    comparison->runs[0] = input->base_runs;
    comparison->runs[1] = input->new_runs;
    comparison->options = *options;
    comparison->options.others = NULL;
    if (options->need_share > 0)
        comparison->options.need_share = fmax(options->need_share, options->floor);
    if (status == COMPARE_OK)
        status = compare_functions(input, options, comparison, error);
    comparison->t_95 = INFINITY;
    if (status == COMPARE_OK && comparison->degrees_of_freedom > 0)
        comparison->t_95 = compare_t_quantile(0.975, comparison->degrees_of_freedom);
    if (status != COMPARE_OK)
        return status;
    count_flags(comparison);
    comparison->total_is_blind = comparison->total.detectable > options->min_total;
    comparison->not_pass = reason_against_pass(comparison);
    compare_find_needed(comparison);
    comparison->reason = reason_of(comparison, options);
    comparison->verdict = verdict_of(comparison->reason);
    return COMPARE_OK;
}

enum compare_status compare_runs(const struct compare_input *input,
                                 const struct compare_options *options, struct compare_result **out,
                                 struct compare_error *error)
{
    struct compare_options defaults;
    struct compare_result *comparison;
    enum compare_status status;

    compare_options_init(&defaults);
    if (!options)
        options = &defaults;
    status = check(input, options, error);
    if (status != COMPARE_OK)
        return status;
    comparison = calloc(1, sizeof *comparison);
    if (!comparison)
        return compare_no_memory(error);
    comparison->function_count = input->function_count;
    comparison->functions = calloc(input->function_count + 1, sizeof *comparison->functions);
    status = comparison->functions ? fill(input, options, comparison, error)
                                   : compare_no_memory(error);
    if (status == COMPARE_OK)
        *out = comparison;
    else
        compare_result_free(comparison);
    return status;
}

void compare_result_free(struct compare_result *comparison)
{
    if (!comparison)
        return;
    free(comparison->functions);
    free(comparison);
}

void compare_result_interval(const struct compare_result *comparison,
                             const struct compare_change *change, double *low, double *high)
{
    double shares[2] = { change->base_share, change->new_share };
    double difference = change->new_share - change->base_share;
    double variance = 0, half;

    for (int side = 0; side < 2; side++)
        variance += shares[side] * (1 - shares[side]) /
                    (comparison->mean_samples[side] * (double)comparison->runs[side]);
    half = INFINITY;
    if (comparison->runs[0] + comparison->runs[1] > 2)
        half = comparison->t_95 * sqrt(variance * change->dispersion);
    *low = difference - half;
    *high = difference + half;
}
