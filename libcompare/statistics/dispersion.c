/* dispersion.c - how much more than samples alone functions vary from run to run (section 3.2).
 *
 * With few runs the dispersion of one function is badly known.  Functions of similar size share
 * their luck's causes, so they are asked together: a trend over size, and how far single functions
 * stray from it, both by the moments of the logarithm, as limma (Smyth 2004) and edgeR's
 * quasi-likelihood do for variances and dispersions of genes.  */
#include "libcompare/statistics/statistics.h"

#include <math.h>

/* A dispersion of 0 (no variation at all: tiny functions) has no logarithm.  */
static double log_raw(const struct compare_spread *spread)
{
    return log(spread->raw > 1e-3 ? spread->raw : 1e-3);
}

/* Mean of log(raw) - log(1 + trend * size), less what chi-squared noise makes of it.  */
static double mean_distance(const struct compare_spread *spreads, size_t count, double df,
                            double trend)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += log_raw(&spreads[i]) - log1p(trend * spreads[i].size);
    return sum / (double)count - (compare_digamma(df / 2) - log(df / 2));
}

/* The trend at which functions lie around it, neither above nor below; 0 when they lie below even
 * without.  */
static double fit_trend(const struct compare_spread *spreads, size_t count, double df)
{
    double low = 0;
    double high = 1e-9;

    if (mean_distance(spreads, count, df, 0) <= 0)
        return 0;
    while (mean_distance(spreads, count, df, high) > 0 && high < 1e9)
        high *= 4;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;

        if (mean_distance(spreads, count, df, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct compare_prior compare_fit_prior(const struct compare_spread *spreads, size_t count,
                                       double df)
{
    struct compare_prior prior = { .trend = 0, .df = 0 };
    double mean, variance = 0, excess;

    if (count == 0 || df <= 0)
        return prior;
    prior.trend = fit_trend(spreads, count, df);
    if (count < 3) /* too few to know how far they stray: each stands for itself */
        return prior;
    mean = mean_distance(spreads, count, df, prior.trend) + (compare_digamma(df / 2) - log(df / 2));
    for (size_t i = 0; i < count; i++) {
        double e = log_raw(&spreads[i]) - log1p(prior.trend * spreads[i].size) - mean;

        variance += e * e / (double)(count - 1);
    }
    excess = variance - compare_trigamma(df / 2);
    prior.df = excess > 1e-8 ? 2 * compare_trigamma_inverse(excess) : INFINITY;
    /* No more than all functions together have to say (limma's df.pooled).  */
    if (prior.df > df * (double)(count - 1))
        prior.df = df * (double)(count - 1);
    return prior;
}

double compare_shrink(const struct compare_prior *prior, const struct compare_spread *spread,
                      double df)
{
    double expected = 1 + prior->trend * spread->size;
    double shrunk = (prior->df * expected + df * spread->raw) / (prior->df + df);

    return shrunk > 1 ? shrunk : 1;
}
