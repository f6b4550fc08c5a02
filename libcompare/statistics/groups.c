/* Whether a function whose share grew is alone beside the reference, or may be one of a group that
 * grew as much (docs/comparison.md section 3.4).  */
#include "libcompare/statistics/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Some functions changed by themselves; their ratios may be anywhere around the others'.  */
#define ODD_PART   0.05
#define ODD_SPREAD 0.3

/* Fewer functions than one of these are no group.  */
#define GROUP_PART      0.15
#define GROUP_FUNCTIONS 4

/* Of the largest functions.  More are as clear, and each candidate is held against all of them.  */
#define MOST_RATIOS 1000

enum { FIT_STEPS = 15, GROUP_STEPS = 7 };

/* Logarithms of ratios are distributed around one or two means.  */
struct mixture {
    double center; /* of the reference */
    double group;  /* of the others, above it */
    double part;   /* of the functions that is in the group, */
    double least;  /* and at least this; 0: there is no group */
};

/* Without the constant factor of the normal distribution.  */
static double density(double x, double mean, double deviation)
{
    double z = (x - mean) / deviation;

    return exp(-z * z / 2) / deviation;
}

struct chances {
    double center, group, all;
};

static struct chances chances_of(const struct compare_ratio *ratio, const struct mixture *mixture)
{
    double x = log(ratio->value);
    double odd = ODD_PART * density(x, mixture->center, hypot(ratio->error, ODD_SPREAD));
    struct chances chances = {
        .center = (1 - ODD_PART) * (1 - mixture->part) * density(x, mixture->center, ratio->error),
        .group = (1 - ODD_PART) * mixture->part * density(x, mixture->group, ratio->error),
    };

    chances.all = fmax(chances.center + chances.group + odd, DBL_MIN);
    return chances;
}

/* A step of expectation and maximization (Dempster, Laird and Rubin 1977).  Returns the log
 * likelihood before it.  */
static double improve_fit(const struct compare_ratio *ratios, size_t count,
                          const struct compare_change *left_out, struct mixture *mixture)
{
    double likelihood = 0, sum = 0, weights = 0, members = 0, functions = 0;

    for (size_t i = 0; i < count; i++) {
        struct chances chances;
        double weight;

        if (ratios[i].of == left_out)
            continue;
        chances = chances_of(&ratios[i], mixture);
        weight = chances.center / chances.all / (ratios[i].error * ratios[i].error);
        likelihood += log(chances.all);
        sum += weight * log(ratios[i].value);
        weights += weight;
        members += chances.group / chances.all;
        functions++;
    }
    if (weights > 0)
        mixture->center = fmin(sum / weights, mixture->group);
    mixture->part = fmin(fmax(members / functions, mixture->least), 0.5);
    return likelihood;
}

/* The log likelihood of all ratios but one.  */
static double fit(const struct compare_ratio *ratios, size_t count,
                  const struct compare_change *left_out, struct mixture mixture)
{
    double likelihood = 0;

    mixture.part = mixture.least;
    for (int step = 0; step < FIT_STEPS; step++)
        likelihood = improve_fit(ratios, count, left_out, &mixture);
    return likelihood;
}

static int by_weight(const void *a, const void *b)
{
    const struct compare_ratio *x = a;
    const struct compare_ratio *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

size_t compare_keep_largest(struct compare_ratio *ratios, size_t count)
{
    qsort(ratios, count, sizeof *ratios, by_weight);
    return count < MOST_RATIOS ? count : MOST_RATIOS;
}

double compare_find_group(const struct compare_ratio *ratios, size_t count,
                          const struct compare_reference *reference,
                          const struct compare_ratio *candidate)
{
    double center = log(reference->ratio), value = log(candidate->value), best = -INFINITY;
    double least = fmin(fmax(GROUP_PART, GROUP_FUNCTIONS / (double)count), 0.5);
    double alone = fit(ratios, count, candidate->of,
                       (struct mixture){ .center = center, .group = INFINITY });

    /* The candidate may be one of the group by chance, far from its mean.  */
    for (int step = 0; step < GROUP_STEPS; step++) {
        double off = step * 0.5; /* in standard errors */
        struct mixture mixture = {
            .center = center,
            .group = value - off * candidate->error,
            .least = least,
        };

        if (mixture.group <= center)
            break;
        best = fmax(best, fit(ratios, count, candidate->of, mixture) - off * off / 2);
    }
    return best - alone;
}
