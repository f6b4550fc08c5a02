/* functions.c - level 2: which functions regressed?  (section 3)  */
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Functions of this share and more have the same weight among all tests: what a PASS requires to be
 * found has it (section 4).  */
#define LARGE_SHARE 0.05
/* The log likelihood that excludes that others grew as much: the one-sided 95 % limit.  */
#define GROUP_EXCLUDED (ONE_SIDED_95 * ONE_SIDED_95 / 2)
/* With so many on both sides, a function below the floor has a ratio of use.  */
#define SMALL_SAMPLES 100

enum family {
    FAMILY_SELF,
    FAMILY_TOTAL,
    FAMILIES,
};

/* One function in one family.  */
struct test {
    struct compare_change *change;
    enum family family;
    struct compare_spread spread;
    double deviance; /* twice the log likelihood ratio of two shares against one */
    double q_beyond; /* of growth beyond the scale, if that is above 1 */
};

/* What one test contributes to a correction for multiple tests.  */
struct probability {
    double p;
    double *q; /* to be set */
};

struct job {
    const struct compare_input *input;
    const struct compare_options *options;
    struct compare_result *comparison;
    size_t runs;
    double df;          /* of one function's dispersion */
    double n[2];        /* samples of each side */
    struct test *tests; /* room for all functions in both families */
    size_t test_count;
    struct compare_spread *spreads;
    struct probability *probabilities;
    struct compare_ratio *ratios;
    size_t ratio_count;
    bool ask_groups;        /* whether is_alone() is asked */
    double df_of[FAMILIES]; /* of the tests */
    struct compare_reference reference;
    double others_q; /* nobody's */
};

static int side_of(const struct job *job, size_t run)
{
    return run >= job->input->base_runs;
}

/* The function's share of a run, 0..1.  */
static double share_in(const struct job *job, const double *row, size_t run)
{
    double share = row[run] / job->input->cost[run];

    return share > 1 ? 1 : share;
}

/* log likelihood of y of n at share p, less its constant; y and n need not be whole.  */
static double likelihood(double y, double n, double p)
{
    return (y > 0 ? y * log(p) : 0) + (n - y > 0 ? (n - y) * log1p(-p) : 0);
}

/* Shares and costs of both sides.  */
static void summarize(const struct job *job, const double *row, struct compare_change *change)
{
    double y[2] = { 0, 0 };
    double cost[2] = { 0, 0 };

    for (size_t i = 0; i < job->runs; i++) {
        y[side_of(job, i)] += share_in(job, row, i) * job->input->samples[i];
        cost[side_of(job, i)] += row[i];
    }
    change->base_share = y[0] / job->n[0];
    change->new_share = y[1] / job->n[1];
    change->base_cost = cost[0] / (double)job->input->base_runs;
    change->new_cost = cost[1] / (double)job->input->new_runs;
    if (change->base_cost > 0)
        change->relative = change->new_cost / change->base_cost - 1;
    else
        change->relative = change->new_cost > 0 ? INFINITY : 0;
    change->p = change->q = change->dispersion = 1;
}

/* Pearson's X^2 of the runs around their side's share.  */
static double pearson(const struct job *job, const double *row, const struct compare_change *change)
{
    double sum = 0;

    for (size_t i = 0; i < job->runs; i++) {
        double p = side_of(job, i) ? change->new_share : change->base_share;
        double n = job->input->samples[i];
        double off = (share_in(job, row, i) - p) * n;

        if (p > 0 && p < 1)
            sum += off * off / (n * p * (1 - p));
    }
    return sum;
}

/* Of a test, before they are made 1 on average.  It depends on what both sides have together, which
 * tells nothing about their difference.  */
double compare_test_weight(double share, double floor)
{
    return sqrt(fmin(fmax(share, floor), fmax(LARGE_SHARE, floor)));
}

static void add_test(struct job *job, enum family family, const double *row,
                     struct compare_change *change)
{
    double n = job->n[0] + job->n[1];
    double y0, y1, pooled, mean;
    struct test *test;

    summarize(job, row, change);
    y0 = change->base_share * job->n[0];
    y1 = change->new_share * job->n[1];
    pooled = (y0 + y1) / n;
    mean = (change->base_share + change->new_share) / 2;
    /* Many samples of one side do not hide what few of the other have.  What is in every sample has
     * no share to change.  */
    if (fmax(pooled, mean) < job->options->floor || pooled <= 0 || pooled >= 1)
        return;
    /* One run a side says nothing of what runs vary by.  */
    if (job->df < 1)
        return;
    change->tested = true;
    change->weight = compare_test_weight(pooled, job->options->floor);
    test = &job->tests[job->test_count++];
    test->change = change;
    test->family = family;
    test->spread.raw = pearson(job, row, change) / job->df;
    test->spread.size = n / (double)job->runs * pooled * (1 - pooled);
    test->deviance = 2 * (likelihood(y0, job->n[0], change->base_share) +
                          likelihood(y1, job->n[1], change->new_share) -
                          likelihood(y0 + y1, n, pooled));
}

/* Each family has a trend of its own: callers hold their callees' samples, so their rows repeat
 * each other.  */
static void test_family(struct job *job, enum family family)
{
    size_t count = 0;
    struct compare_prior prior;
    double df, pooled_df;

    for (size_t i = 0; i < job->test_count; i++)
        if (job->tests[i].family == family)
            job->spreads[count++] = job->tests[i].spread;
    prior = compare_fit_prior(job->spreads, count, job->df);
    pooled_df = job->df * (double)count;
    df = prior.df + job->df < pooled_df ? prior.df + job->df : pooled_df;
    job->df_of[family] = df;
    for (size_t i = 0; i < job->test_count; i++) {
        struct test *test = &job->tests[i];

        if (test->family != family)
            continue;
        test->change->dispersion = compare_shrink(&prior, &test->spread, job->df);
        test->change->p = compare_t_two_sided(
            sqrt(fmax(test->deviance, 0) / test->change->dispersion), job->df_of[family]);
    }
    if (family == FAMILY_SELF) {
        job->comparison->trend = prior.trend;
        job->comparison->degrees_of_freedom = df;
    }
}

static int by_p(const void *a, const void *b)
{
    const struct probability *x = a;
    const struct probability *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->q > y->q) - (x->q < y->q); /* a fixed order */
}

/* Benjamini and Hochberg (1995), with weights as Genovese, Roeder and Wasserman (2006) have them,
 * for the first count probabilities, of tests that grew or not, and for
 * those of other comparisons; all other tests count as tests that found nothing.  */
static void adjust(struct job *job, size_t count, bool grew)
{
    const struct compare_others *others = job->options->others;
    double smallest = 1;

    for (size_t i = 0; others && i < others->count; i++)
        if (!others->tests[i].of_total && others->tests[i].grew == grew)
            job->probabilities[count++] = (struct probability){ others->tests[i].p,
                                                                &job->others_q };
    qsort(job->probabilities, count, sizeof *job->probabilities, by_p);
    for (size_t i = count; i-- > 0;) {
        double q = job->probabilities[i].p * (double)job->comparison->all_test_count /
                   (double)(i + 1);

        smallest = fmin(smallest, q);
        *job->probabilities[i].q = smallest;
    }
}

/* What the correction ranks.  */
static double weighted(const struct test *test, double p)
{
    return p / test->change->weight;
}

/* Growth and decrease are corrected apart: functions that improved must not make it easier for the
 * others to be called regressed.  Nor must those that only moved, which keep their q.  */
static void adjust_one_way(struct job *job, bool grew)
{
    size_t count = 0;

    for (size_t i = 0; i < job->test_count; i++) {
        const struct test *test = &job->tests[i];
        struct compare_change *change = test->change;

        if (change->flag != COMPARE_MOVED && (change->new_share > change->base_share) == grew)
            job->probabilities[count++] = (struct probability){ weighted(test, change->p),
                                                                &change->q };
    }
    adjust(job, count, grew);
}

/* Variance of the log of the ratio of shares, which are both above 0.  */
static double ratio_variance(const struct job *job, const struct compare_change *change)
{
    return change->dispersion * ((1 - change->base_share) / (change->base_share * job->n[0]) +
                                 (1 - change->new_share) / (change->new_share * job->n[1]));
}

/* Variance of the log of the ratio of what runs cost.  */
static double run_variance(const struct job *job)
{
    return job->comparison->total.ratio_error * job->comparison->total.ratio_error;
}

/* The logarithm of what the function's cost was multiplied by.  If that is not what its share and
 * the total were multiplied by, some runs are odd, of which the total is not a mean; then the
 * latter.  Infinite for a function that appeared.  */
static double cost_growth(const struct job *job, const struct compare_change *change)
{
    const struct compare_total_change *total = &job->comparison->total;
    double growth = log1p(change->relative), robust;

    if (!(change->base_share > 0 && change->new_share > 0 && total->relative > -1))
        return growth;
    robust = log(change->new_share / change->base_share) + log1p(total->relative);
    return fabs(growth - robust) > 2 * total->ratio_error ? robust : growth;
}

/* Whether the 99 % interval of the growth of cost contains 0.  A function that appeared or
 * disappeared has none.  */
static bool may_be_unchanged(const struct job *job, const struct compare_change *change)
{
    if (!(change->base_share > 0 && change->new_share > 0))
        return false;
    return fabs(cost_growth(job, change)) <=
           compare_t_quantile(0.995, job->df) *
               sqrt(ratio_variance(job, change) + run_variance(job));
}

static struct compare_ratio ratio_of(const struct job *job, const struct compare_change *change)
{
    return (struct compare_ratio){
        .value = change->new_share / change->base_share,
        .weight = fmin(change->base_share, change->new_share),
        .error = sqrt(ratio_variance(job, change)),
        .of = change,
    };
}

/* Functions below the floor also show whether others grew, though none by itself.  Samples are most
 * of their noise.  */
static void add_small_ratios(struct job *job)
{
    for (size_t f = 0; f < job->input->function_count; f++) {
        const struct compare_change *change = &job->comparison->functions[f].self;

        if (!change->tested && change->base_share < job->options->floor &&
            change->base_share * job->n[0] >= SMALL_SAMPLES &&
            change->new_share * job->n[1] >= SMALL_SAMPLES && may_be_unchanged(job, change))
            job->ratios[job->ratio_count++] = ratio_of(job, change);
    }
}

static void find_reference(struct job *job)
{
    for (size_t i = 0; i < job->test_count; i++) {
        const struct compare_change *change = job->tests[i].change;

        if (job->tests[i].family == FAMILY_SELF && may_be_unchanged(job, change))
            job->ratios[job->ratio_count++] = ratio_of(job, change);
    }
    job->reference = compare_find_reference(job->ratios, job->ratio_count);
    add_small_ratios(job);
    job->ratio_count = compare_keep_largest(job->ratios, job->ratio_count);
}

/* Whether the total got less, and so did even the functions that the reference is made of: it does
 * not say then what the shares of unchanged functions were multiplied by.  */
static bool most_got_faster(const struct job *job)
{
    const struct compare_reference *reference = &job->reference;
    double cost = reference->ratio * (1 + job->comparison->total.high);

    return job->comparison->total.high < 0 &&
           (!(reference->low > 1) || cost * exp(ONE_SIDED_95 * reference->error) < 1);
}

/* The most that the 95 % interval of the total allows shares of unchanged functions to have grown
 * by.  */
static double most_by_total(const struct job *job)
{
    const struct compare_total_change *total = &job->comparison->total;
    double most = total->base / total->new_cost *
                  exp(compare_t_quantile(0.975, job->df) * total->ratio_error);

    return fmax(most, 1);
}

static void use_scale(struct job *job, enum compare_reference_kind kind, double scale)
{
    job->comparison->reference = kind;
    job->comparison->scale = scale;
}

/* A function's cost has to grow beyond all that the interval of the total allows.  */
static void use_total(struct job *job)
{
    use_scale(job, COMPARE_REFERENCE_TOTAL, most_by_total(job));
}

/* The reference counts if its lower 95 % limit is above 1, so that noise is hardly ever taken for
 * it, and as far as the interval of the total allows.  */
static void use_functions(struct job *job)
{
    const struct compare_reference *reference = &job->reference;

    if (reference->low > 1 && most_by_total(job) > 1)
        use_scale(job, COMPARE_REFERENCE_FUNCTIONS,
                  fmin(reference->ratio * exp(reference->error), most_by_total(job)));
    else
        use_scale(job, COMPARE_REFERENCE_NONE, 1);
}

/* The share of the new build without what the shares of others made it grow by.  */
static double unscaled(const struct job *job, const struct compare_change *change)
{
    return change->new_share / job->comparison->scale;
}

/* The base share p for which shares p and p * scale are the likeliest for y of n samples of each
 * side: the root of scale (n0 + n1) p^2 - b p + y0 + y1 that is below 1 / scale.  */
static double common_share(const double y[2], const double n[2], double scale)
{
    double a = scale * (n[0] + n[1]);
    double c = y[0] + y[1];
    double b = c * (1 + scale) + n[0] - y[0] + scale * (n[1] - y[1]);

    return 2 * c / (b + sqrt(fmax(b * b - 4 * a * c, 0)));
}

/* Two-sided p of a share that is not the scale times that of the base.  */
static double p_beyond(const struct job *job, const struct test *test)
{
    const struct compare_change *change = test->change;
    const double y[2] = { change->base_share * job->n[0], change->new_share * job->n[1] };
    double share = common_share(y, job->n, job->comparison->scale);
    double deviance = 2 * (likelihood(y[0], job->n[0], change->base_share) +
                           likelihood(y[1], job->n[1], change->new_share) -
                           likelihood(y[0], job->n[0], share) -
                           likelihood(y[1], job->n[1], share * job->comparison->scale));

    return compare_t_two_sided(sqrt(fmax(deviance, 0) / change->dispersion),
                               job->df_of[test->family]);
}

static void test_beyond(struct job *job)
{
    size_t count = 0;

    for (size_t i = 0; i < job->test_count; i++) {
        struct test *test = &job->tests[i];

        test->q_beyond = 1;
        if (test->change->flag != COMPARE_MOVED &&
            unscaled(job, test->change) > test->change->base_share)
            job->probabilities[count++] = (struct probability){ weighted(test, p_beyond(job, test)),
                                                                &test->q_beyond };
    }
    adjust(job, count, true);
}

/* Whether a share that grew did so beyond the scale, by the same test and thresholds.  */
static bool grew_beyond(const struct job *job, const struct test *test)
{
    const struct compare_change *change = test->change;
    double share = unscaled(job, change);

    return share - change->base_share >= job->options->min_share &&
           share >= change->base_share * (1 + job->options->min_rel) &&
           test->q_beyond <= job->options->q;
}

/* Whether the data exclude that so many others grew as much that the reference decreased instead,
 * not they.  */
static bool is_alone(const struct job *job, const struct compare_change *change)
{
    struct compare_ratio candidate = ratio_of(job, change);

    return isinf(job->reference.error) ||
           compare_find_group(job->ratios, job->ratio_count, &job->reference, &candidate) <
               -GROUP_EXCLUDED;
}

/* Whether the 95 % interval of the growth of cost is above 0: by what the runs cost or, if their
 * noise hides it, by what the other functions did.  Beside others that may have grown as much, what
 * the runs cost must show it at 99 %: their noise is that of all functions at once.  */
static bool cost_provably_grew(const struct job *job, const struct compare_change *change,
                               double df)
{
    double share, growth, by_runs, by_others;

    if (!(change->base_cost > 0))
        return true;
    share = ratio_variance(job, change);
    growth = cost_growth(job, change);
    by_runs = sqrt(share + run_variance(job));
    by_others = log(change->new_share / change->base_share / job->reference.ratio) -
                compare_t_quantile(0.975, df) *
                    sqrt(share + job->reference.error * job->reference.error);
    if (job->comparison->reference == COMPARE_REFERENCE_TOTAL)
        return growth > compare_t_quantile(0.975, job->df) * by_runs;
    if (!(growth > compare_t_quantile(0.975, job->df) * by_runs || by_others > 0))
        return false;
    return !job->ask_groups || growth > compare_t_quantile(0.99, job->df) * by_runs ||
           is_alone(job, change);
}

/* Section 3.4: share and cost both moved the same way, and both far enough to matter.  Shares alone
 * would blame every function when one other disappears; cost alone, the conditions of a run.  */
static enum compare_flag flag_of(const struct job *job, const struct compare_change *change,
                                 double df)
{
    const struct compare_options *options = job->options;
    double difference = change->new_share - change->base_share;
    double by_share = difference / change->base_share; /* infinite for a new function */
    double by_cost = expm1(cost_growth(job, change));

    if (!change->tested || change->q > options->q || fabs(difference) < options->min_share)
        return COMPARE_UNCHANGED;
    if (difference > 0 && by_share >= options->min_rel && by_cost >= options->min_rel &&
        cost_provably_grew(job, change, df))
        return COMPARE_REGRESSED;
    if (difference < 0 && -by_share >= options->min_rel && -by_cost >= options->min_rel)
        return COMPARE_IMPROVED;
    return COMPARE_UNCHANGED;
}

static void flag_all(struct job *job)
{
    if (job->comparison->scale > 1)
        test_beyond(job);
    for (size_t i = 0; i < job->test_count; i++) {
        struct test *test = &job->tests[i];

        if (test->change->flag == COMPARE_MOVED)
            continue;
        test->change->flag = flag_of(job, test->change, job->df_of[test->family]);
        if (test->change->flag == COMPARE_REGRESSED && job->comparison->scale > 1 &&
            !grew_beyond(job, test))
            test->change->flag = COMPARE_UNCHANGED;
    }
}

/* What moved is found among what regressed.  Without it, the others are judged again.  */
static enum compare_status leave_out_moved(struct job *job, struct compare_error *error)
{
    enum compare_status status = compare_find_moved(job->input, job->options, job->comparison,
                                                    error);

    if (status != COMPARE_OK)
        return status;
    adjust_one_way(job, true);
    flag_all(job);
    return compare_find_moved(job->input, job->options, job->comparison, error);
}

static size_t count_regressed(const struct job *job)
{
    size_t count = 0;

    for (size_t f = 0; f < job->input->function_count; f++)
        count += job->comparison->functions[f].self.flag == COMPARE_REGRESSED ||
                 job->comparison->functions[f].total.flag == COMPARE_REGRESSED;
    return count;
}

/* Functions that regressed beside the others no longer count if so many may have grown as much that
 * the others may have decreased instead, and the cost does not show which.  */
static void leave_out_groups(struct job *job)
{
    size_t beside = count_regressed(job);

    job->ask_groups = true;
    flag_all(job);
    if (!(job->comparison->total.high < 0) && beside > count_regressed(job))
        job->comparison->undecided_count = beside - count_regressed(job);
}

static enum compare_status flag_by_reference(struct job *job, struct compare_error *error)
{
    enum compare_status status;

    use_functions(job);
    if (job->test_count == 0)
        return COMPARE_OK;
    if (most_got_faster(job))
        use_total(job);
    flag_all(job);
    status = leave_out_moved(job, error);
    if (status == COMPARE_OK && job->comparison->reference != COMPARE_REFERENCE_TOTAL)
        leave_out_groups(job);
    return status;
}

static void level_weights(struct job *job)
{
    double sum = 0, mean;

    for (size_t i = 0; i < job->test_count; i++)
        sum += job->tests[i].change->weight;
    mean = job->test_count ? sum / (double)job->test_count : 1;
    for (size_t i = 0; i < job->test_count; i++)
        job->tests[i].change->weight /= mean;
    job->comparison->mean_weight = mean;
}

static enum compare_status run_tests(struct job *job, struct compare_error *error)
{
    const struct compare_input *input = job->input;
    struct compare_result *comparison = job->comparison;

    for (size_t i = 0; i < job->runs; i++)
        job->n[side_of(job, i)] += input->samples[i];
    for (size_t f = 0; f < input->function_count; f++) {
        add_test(job, FAMILY_SELF, input->self + f * job->runs, &comparison->functions[f].self);
        add_test(job, FAMILY_TOTAL, input->total + f * job->runs, &comparison->functions[f].total);
    }
    level_weights(job);
    comparison->test_count = job->test_count;
    comparison->all_test_count = job->test_count +
                                 compare_others_count(job->options->others, false);
    comparison->mean_samples[0] = job->n[0] / (double)input->base_runs;
    comparison->mean_samples[1] = job->n[1] / (double)input->new_runs;
    for (int family = 0; family < FAMILIES; family++)
        test_family(job, (enum family)family);
    adjust_one_way(job, true);
    adjust_one_way(job, false);
    find_reference(job);
    return flag_by_reference(job, error);
}

enum compare_status compare_functions(const struct compare_input *input,
                                      const struct compare_options *options,
                                      struct compare_result *comparison,
                                      struct compare_error *error)
{
    enum compare_status status = COMPARE_OK;
    size_t most = input->function_count * FAMILIES + 1; /* not 0 */
    struct job job = {
        .input = input,
        .options = options,
        .comparison = comparison,
        .runs = input->base_runs + input->new_runs,
        .df = (double)(input->base_runs + input->new_runs) - 2,
        .tests = calloc(most, sizeof *job.tests),
        .spreads = calloc(most, sizeof *job.spreads),
        .probabilities = calloc(most + (options->others ? options->others->count : 0),
                                sizeof *job.probabilities),
        .ratios = calloc(most, sizeof *job.ratios),
    };

    if (job.tests && job.spreads && job.probabilities && job.ratios)
        status = run_tests(&job, error);
    else
        status = compare_no_memory(error);
    free(job.tests);
    free(job.spreads);
    free(job.probabilities);
    free(job.ratios);
    return status;
}
