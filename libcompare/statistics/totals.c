/* totals.c - level 1: does a run cost more as a whole?  (section 2)  */
#include "base/bisect.h"
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RESAMPLES = 4000,
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Two groups of runs and room to work on them.  */
struct groups {
    const double *base, *news;
    size_t base_count, new_count;
    double *resampled; /* base_count + new_count */
    double *distances; /* of all pairs of runs of one side: room for either */
};

/* Doubles as whole numbers in the same order.  */
static uint64_t key_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* How many differences news[k] - base[i] are at most limit; both are sorted.  */
static size_t count_up_to(const struct groups *groups, const double *base, const double *news,
                          double limit)
{
    size_t count = 0, i = 0;

    for (size_t k = 0; k < groups->new_count; k++) {
        while (i < groups->base_count && news[k] - base[i] > limit)
            i++;
        count += groups->base_count - i;
    }
    return count;
}

/* The difference of that rank, from 1, by bisection over all doubles: exact, and in a time that
 * grows with the number of runs, not with that of their pairs.  */
static double ranked(const struct groups *groups, const double *base, const double *news,
                     size_t rank)
{
    uint64_t low = key_of(news[0] - base[groups->base_count - 1]);
    uint64_t high = key_of(news[groups->new_count - 1] - base[0]);

    BASE_BISECT(low, high, i, count_up_to(groups, base, news, value_of(i)) < rank);
    return value_of(low) + 0.0; /* no -0 */
}

/* Hodges and Lehmann 1963: the median of all differences.  Sorts both.  */
static double shift_of(double *base, double *news, const struct groups *groups)
{
    size_t count = groups->base_count * groups->new_count;
    double upper;

    qsort(base, groups->base_count, sizeof *base, by_value);
    qsort(news, groups->new_count, sizeof *news, by_value);
    upper = ranked(groups, base, news, count / 2 + 1);
    return count % 2 ? upper : (ranked(groups, base, news, count / 2) + upper) / 2;
}

static double median_of(const struct groups *groups, const double *values, size_t count)
{
    memcpy(groups->resampled, values, count * sizeof *values);
    return median(groups->resampled, count);
}

/* Where to cut the bootstrap distribution so that the interval is not too narrow for few runs: the
 * expanded percentile of Hesterberg 2015, section 2.3.  */
static double expanded_tail(size_t smaller_group)
{
    double n = (double)smaller_group;
    double z = sqrt(n / (n - 1)) * compare_t_quantile(0.975, n - 1);

    return compare_t_two_sided(z, INFINITY) / 2;
}

static double percentile(const double *sorted, size_t count, double p)
{
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;

    return below + 1 < count ? sorted[below] * (1 - part) + sorted[below + 1] * part
                             : sorted[count - 1];
}

/* Interval of shift / base: whole runs are drawn again, each side from itself.  */
static enum compare_status bootstrap(const struct groups *groups, struct compare_total_change *out,
                                     struct compare_error *error)
{
    struct compare_random random;
    double tail = expanded_tail(groups->base_count < groups->new_count ? groups->base_count
                                                                       : groups->new_count);
    double *shifts = malloc(RESAMPLES * sizeof *shifts);
    double *news = groups->resampled + groups->base_count;

    if (!shifts)
        return compare_no_memory(error);
    compare_random_seed(&random, 2);
    for (int i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < groups->base_count; k++)
            groups->resampled[k] = groups->base[compare_random_below(&random, groups->base_count)];
        for (size_t k = 0; k < groups->new_count; k++)
            news[k] = groups->news[compare_random_below(&random, groups->new_count)];
        shifts[i] = shift_of(groups->resampled, news, groups) / out->base;
    }
    qsort(shifts, RESAMPLES, sizeof *shifts, by_value);
    out->low = percentile(shifts, RESAMPLES, tail);
    out->high = percentile(shifts, RESAMPLES, 1 - tail);
    free(shifts);
    return COMPARE_OK;
}

static size_t pairs(size_t runs)
{
    return runs * (runs - 1) / 2;
}

static void add_distances(const double *values, size_t count, double *distances)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            distances[at++] = fabs(values[i] - values[k]);
}

/* The median distance between two values of a normal distribution, in standard deviations.  */
#define MEDIAN_DISTANCE 0.9539

/* By how much two such sides overstate their noise, by simulation of normal distributions; more
 * runs: by 0.47 / n.  */
static const double overstated[] = { 1, 1, 1.31, 1.38, 0.98, 1.06, 1.14, 1.10, 1.05 };

/* The standard deviation of one side by the median distance of two of its runs, the lower one of
 * two medians (Shamos 1976): one odd run of four hardly moves it.  */
static double spread_of(const double *values, size_t count, double *distances)
{
    double bias = count < sizeof overstated / sizeof *overstated ? overstated[count]
                                                                 : 1 + 0.47 / (double)count;

    add_distances(values, count, distances);
    qsort(distances, pairs(count), sizeof *distances, by_value);
    return distances[(pairs(count) - 1) / 2] / MEDIAN_DISTANCE / bias;
}

/* Standard deviations of both sides, in costs.  One run has none of its own.  */
static void find_spreads(const struct groups *groups, double spreads[2])
{
    const double *const values[] = { groups->base, groups->news };
    const size_t counts[] = { groups->base_count, groups->new_count };

    for (int side = 0; side < 2; side++)
        spreads[side] = counts[side] > 1 ? spread_of(values[side], counts[side], groups->distances)
                                         : -1;
}

/* The standard deviation that gives the difference of both sides its variance, base^2 / N +
 * new^2 / M, if both have it: a steady side does not hide the noise of the other.  */
static double spread(const struct groups *groups, const double spreads[2])
{
    double n = (double)groups->base_count, m = (double)groups->new_count;

    if (spreads[0] < 0)
        return spreads[1];
    if (spreads[1] < 0)
        return spreads[0];
    return sqrt((m * spreads[0] * spreads[0] + n * spreads[1] * spreads[1]) / (n + m));
}

/* The same for the logarithm of the ratio of both sides: noise is relative to its own side.  */
static double ratio_error(const struct groups *groups, const double spreads[2], double counting,
                          const struct compare_total_change *total)
{
    double noises[2] = { spreads[0] / total->base, spreads[1] / total->new_cost };

    for (int side = 0; side < 2; side++)
        noises[side] = fmax(spreads[side] < 0 ? noises[!side] : noises[side], counting);
    return sqrt(noises[0] * noises[0] / (double)groups->base_count +
                noises[1] * noises[1] / (double)groups->new_count);
}

enum {
    FEW_RUNS = 12, /* of a side: with more, the levels that ranks can reach are dense */
    RANK_SUMS = FEW_RUNS * 2 * FEW_RUNS + 1,
};

/* The largest p that the test of ranks can have without ties, up to the given level: few runs have
 * few rank sums.  0: there is none.  */
static double reachable_level(size_t base, size_t news, double level)
{
    double ways[FEW_RUNS + 1][RANK_SUMS] = { { 1 } }; /* to choose so many ranks with that sum */
    double all = 0, tail = 0, reached = 0;

    if (base > FEW_RUNS || news > FEW_RUNS)
        return level;
    for (size_t rank = 1; rank <= base + news; rank++)
        for (size_t count = rank < base ? rank : base; count > 0; count--)
            for (size_t sum = rank; sum < RANK_SUMS; sum++)
                ways[count][sum] += ways[count - 1][sum - rank];
    for (size_t sum = 0; sum < RANK_SUMS; sum++)
        all += ways[base][sum];
    for (size_t sum = 0; sum < RANK_SUMS && 2 * (tail + ways[base][sum]) <= level * all; sum++) {
        tail += ways[base][sum];
        reached = 2 * tail / all;
    }
    return reached;
}

/* The test of ranks needs as many runs as a t test and 1 in 20 more (Hodges and Lehmann 1956).  */
#define RANK_EFFICIENCY 0.9549 /* 3 / pi */

double compare_noise_floor(double noise, size_t base_count, size_t new_count, double level)
{
    double df = (double)(base_count + new_count) - 2;

    level = reachable_level(base_count, new_count, level);
    if (!(level > 0))
        return INFINITY;
    return (compare_t_quantile(1 - level / 2, df) + compare_t_quantile(0.8, df)) * noise *
           sqrt((1 / (double)base_count + 1 / (double)new_count) / RANK_EFFICIENCY);
}

static size_t runs_wanted(double noise, const struct compare_options *options)
{
    size_t low = COMPARE_MIN_RUNS;
    size_t high = COMPARE_MAX_RUNS / 2;

    if (compare_noise_floor(noise, high, high, options->q) > options->min_total)
        return 0;
    BASE_BISECT(low, high, runs,
                compare_noise_floor(noise, runs, runs, options->q) > options->min_total);
    return low;
}

/* What counting alone makes of it: a run is a whole number of samples, so that a cost of 1.3 of
 * them is one or two.  Of a fraction f the variance is f (1 - f), 1/6 on average.  Runs of few
 * samples that agree by chance would otherwise seem to have no noise at all.  */
static double counting_noise(const struct groups *groups, const double *samples)
{
    size_t runs = groups->base_count + groups->new_count;
    double sum = 0;

    for (size_t i = 0; i < runs; i++)
        sum += 1 / (6 * samples[i] * samples[i]);
    return sqrt(sum / (double)runs);
}

static void find_noise(const struct groups *groups, const double *samples,
                       const struct compare_options *options, struct compare_total_change *out)
{
    double df = (double)(groups->base_count + groups->new_count) - 2;
    double counting = counting_noise(groups, samples);
    double spreads[2];

    out->detectable = out->ratio_error = INFINITY;
    if (df < 1)
        return;
    find_spreads(groups, spreads);
    out->noise = fmax(spread(groups, spreads) / out->base, counting);
    out->ratio_error = ratio_error(groups, spreads, counting, out);
    out->detectable = compare_noise_floor(out->noise, groups->base_count, groups->new_count,
                                          options->q);
    out->runs_wanted = runs_wanted(out->noise, options);
}

/* Ranks from 1; equal values share the mean of theirs.  */
static void rank_runs(const double *values, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        double below = 0, equal = 0;

        for (size_t k = 0; k < count; k++) {
            below += values[k] < values[i];
            equal += values[k] == values[i];
        }
        ranks[i] = below + (equal + 1) / 2;
    }
}

/* How many totals changed that way, this one included, with at most that p.  */
static double rank_of(const struct compare_others *others, bool grew, double p)
{
    double rank = 1;

    for (size_t i = 0; others && i < others->count; i++)
        rank += others->tests[i].of_total && others->tests[i].grew == grew &&
                others->tests[i].p <= p;
    return rank;
}

/* Benjamini and Hochberg's of this p among those of all totals.  */
static double adjusted(double p, bool grew, const struct compare_others *others)
{
    double count = (double)(1 + compare_others_count(others, true));
    double least = p * count / rank_of(others, grew, p);

    for (size_t i = 0; others && i < others->count; i++) {
        const struct compare_other *one = &others->tests[i];

        if (one->of_total && one->grew == grew && one->p > p)
            least = fmin(least, one->p * count / rank_of(others, grew, one->p));
    }
    return fmin(least, 1);
}

static enum compare_status fill(const struct groups *groups, const double *samples,
                                const struct compare_options *options,
                                struct compare_total_change *out, struct compare_error *error)
{
    size_t runs = groups->base_count + groups->new_count;

    out->base = median_of(groups, groups->base, groups->base_count);
    out->new_cost = median_of(groups, groups->news, groups->new_count);
    memcpy(groups->resampled, groups->base, runs * sizeof *groups->base); /* news stand behind */
    out->shift = shift_of(groups->resampled, groups->resampled + groups->base_count, groups);
    out->relative = out->low = out->high = out->shift / out->base;
    find_noise(groups, samples, options, out);
    rank_runs(groups->base, runs, groups->resampled);
    out->p = compare_permutation(groups->resampled, groups->base_count, groups->new_count,
                                 &out->exact);
    out->q = adjusted(out->p, out->shift > 0, options->others);
    if (groups->base_count > 1 && groups->new_count > 1)
        return bootstrap(groups, out, error);
    return COMPARE_OK;
}

enum compare_status compare_totals(const struct compare_input *input,
                                   const struct compare_options *options,
                                   struct compare_total_change *out, struct compare_error *error)
{
    enum compare_status status = COMPARE_NO_MEMORY;
    struct groups groups = {
        .base = input->cost,
        .news = input->cost + input->base_runs,
        .base_count = input->base_runs,
        .new_count = input->new_runs,
        .resampled = malloc((input->base_runs + input->new_runs) * sizeof(double)),
        .distances = malloc((pairs(input->base_runs) + pairs(input->new_runs) + 1) *
                            sizeof(double)),
    };

    *out = (struct compare_total_change){ 0 };
    if (groups.resampled && groups.distances)
        status = fill(&groups, input->samples, options, out, error);
    else
        compare_no_memory(error);
    free(groups.resampled);
    free(groups.distances);
    return status;
}
