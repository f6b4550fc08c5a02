/* power.c - what runs could have found (section 5).
 *
 * A function is flagged if its share and its cost grew beyond the thresholds.  Both have errors:
 * that of the share, and, of the cost, that of the share and that of the run's total.  */
#include "base/bisect.h"
#include "libcompare/statistics/statistics.h"

#include <math.h>

#define POWER 0.8
/* A function that grows a thousandfold is found, or none is.  */
#define MOST_GROWTH 1000.0

struct power {
    const struct compare_result *comparison;
    double share;       /* of the base */
    double t;           /* what the test's statistic must exceed */
    double total_error; /* standard error of the log of the total's ratio */
    double log_share;   /* the log of the share's ratio must reach this */
    double log_cost;    /* and that of the cost's */
};

static double normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* The standard error of the difference of two sides' means of a value that varies by noise.  */
static double error_of(const struct compare_result *comparison, double noise)
{
    return noise * sqrt(1 / (double)comparison->runs[0] + 1 / (double)comparison->runs[1]);
}

/* Of the log of a share's ratio.  */
static double share_error(const struct compare_result *comparison, double share)
{
    double inverse = 0, samples = 0, dispersion;

    for (int side = 0; side < 2; side++) {
        double n = comparison->mean_samples[side] * (double)comparison->runs[side];

        inverse += 1 / n;
        samples += n;
    }
    samples /= (double)(comparison->runs[0] + comparison->runs[1]);
    dispersion = 1 + comparison->trend * samples * share * (1 - share);
    return sqrt(dispersion * (1 - share) / share * inverse);
}

/* The probability that a function is flagged whose cost grows by a part: over the errors of its
 * share, that of the total's error which suffices.  */
static double chance(const struct power *power, double growth)
{
    double ratio = (1 + growth) / (1 + power->share * growth);
    double error = share_error(power->comparison, power->share * (1 + ratio) / 2); /* pooled */
    double least = fmax(power->log_share, power->t * error);
    double sum = 0, all = 0;

    for (int step = -300; step <= 300; step++) { /* to six standard errors */
        double z = step / 50.0;
        double weight = exp(-z * z / 2);
        double left = log1p(growth) + z * error - power->log_cost;

        all += weight;
        if (log(ratio) + z * error < least)
            continue;
        if (power->total_error > 0)
            sum += weight * normal_below(left / power->total_error);
        else
            sum += left >= 0 ? weight : 0;
    }
    return sum / all;
}

double compare_result_detectable(const struct compare_result *comparison, double share)
{
    const struct compare_options *options = &comparison->options;
    struct power power = { .comparison = comparison, .share = share };
    double level, low = 0, high = MOST_GROWTH;

    if (comparison->runs[0] + comparison->runs[1] < 3 || !(share > 0 && share < 1) ||
        share < options->floor)
        return INFINITY;
    power.total_error = error_of(comparison, comparison->total.noise);
    /* Alone among all tests: the first step of Benjamini and Hochberg's.  */
    level = options->q / (double)(comparison->all_test_count ? comparison->all_test_count : 1) *
            compare_test_weight(share, options->floor) / comparison->mean_weight;
    level = fmin(level, options->q);
    power.t = compare_t_quantile(1 - level / 2, comparison->degrees_of_freedom);
    power.log_share = log1p(fmax(options->min_rel, options->min_share / share));
    power.log_cost = log1p(options->min_rel);
    if (chance(&power, high) < POWER)
        return INFINITY;
    while (high - low > 1e-4 * high && high > 1e-6) {
        double middle = (low + high) / 2;

        if (chance(&power, middle) < POWER)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double compare_result_detectable_total(const struct compare_result *comparison)
{
    double df = (double)(comparison->runs[0] + comparison->runs[1]) - 2;
    double error;

    if (df < 1)
        return INFINITY;
    error = error_of(comparison, comparison->total.noise);
    return fmax(comparison->total.detectable,
                comparison->options.min_total + compare_t_quantile(POWER, df) * error);
}

/* ---- What a verdict of PASS requires ---- */

bool compare_total_seen(const struct compare_result *comparison)
{
    const struct compare_options *options = &comparison->options;

    return comparison->total.detectable <= fmax(options->min_total, options->need_change);
}

/* What the caller asked to ignore is not unseen: only the noise counts.  */
bool compare_functions_seen(const struct compare_result *comparison)
{
    struct compare_result other = *comparison;

    other.options.min_rel = other.options.min_share = 0;
    return !(other.options.need_share > 0) ||
           compare_result_detectable(&other, other.options.need_share) <= other.options.need_change;
}

static bool would_see(const struct compare_result *comparison, size_t runs, double samples_factor)
{
    struct compare_result other = *comparison;

    for (int side = 0; side < 2; side++) {
        other.runs[side] = runs ? runs : comparison->runs[side];
        other.mean_samples[side] *= samples_factor;
    }
    /* Each run tells one time more what a function varies by.  */
    other.degrees_of_freedom += (double)(other.runs[0] + other.runs[1]) -
                                (double)(comparison->runs[0] + comparison->runs[1]);
    other.total.detectable = compare_noise_floor(other.total.noise, other.runs[0], other.runs[1],
                                                 other.total_level);
    return compare_total_seen(&other) && compare_functions_seen(&other);
}

static size_t runs_needed(const struct compare_result *comparison)
{
    size_t low = comparison->runs[0] < comparison->runs[1] ? comparison->runs[0]
                                                           : comparison->runs[1];
    size_t high = COMPARE_MAX_RUNS / 2;

    if (low < COMPARE_MIN_RUNS)
        low = COMPARE_MIN_RUNS;
    if (!would_see(comparison, high, 1))
        return 0;
    BASE_BISECT(low, high, runs, !would_see(comparison, runs, 1));
    return low;
}

/* More samples a run than that are not asked for.  */
#define MOST_SAMPLES_FACTOR 1e4

static double samples_needed(const struct compare_result *comparison)
{
    double low = 1, high = MOST_SAMPLES_FACTOR;

    if (!would_see(comparison, 0, high))
        return 0;
    while (high / low > 1.01) {
        double middle = sqrt(low * high);

        if (would_see(comparison, 0, middle))
            high = middle;
        else
            low = middle;
    }
    return ceil(high * fmax(comparison->mean_samples[0], comparison->mean_samples[1]));
}

void compare_find_needed(struct compare_result *comparison)
{
    if (comparison->runs[0] + comparison->runs[1] < 3 ||
        (comparison->not_pass != COMPARE_REASON_TOO_NOISY &&
         comparison->not_pass != COMPARE_REASON_BLIND))
        return;
    comparison->runs_needed = runs_needed(comparison);
    comparison->samples_needed = samples_needed(comparison);
}
