/* statistics.h - between the files of libcompare/statistics only.  */
#ifndef COMPARE_STATISTICS_H
#define COMPARE_STATISTICS_H

#include <fxt/compare.h>
#include "libcompare/compare_internal.h"

/* ---- Distributions (special.c) ---- */

double compare_digamma(double x);          /* x > 0 */
double compare_trigamma(double x);         /* x > 0 */
double compare_trigamma_inverse(double y); /* y > 0 */

/* P(|T| >= t) of Student's t with df > 0 degrees of freedom; infinite df: the normal one.  */
double compare_t_two_sided(double t, double df);
/* The t with P(T <= t) = p, 0 < p < 1.  */
double compare_t_quantile(double p, double df);

#define ONE_SIDED_95 1.645 /* quantile of the normal distribution */

/* ---- Random numbers (random.c) ---- */

/* xoshiro256**, seeded through splitmix64 (Blackman and Vigna 2018).  */
struct compare_random {
    uint64_t state[4];
};

void compare_random_seed(struct compare_random *random, uint64_t seed);
uint64_t compare_random_next(struct compare_random *random);
/* Uniform in 0..limit - 1, without bias; limit > 0.  */
size_t compare_random_below(struct compare_random *random, size_t limit);

/* ---- The total (totals.c, permutation.c) ---- */

/* Two-sided p of the difference of means between the first base_count and the other new_count
 * values, together at most COMPARE_MAX_RUNS.  *exact tells whether all rearrangements were
 * looked at.  */
double compare_permutation(const double *values, size_t base_count, size_t new_count, bool *exact);

/* The relative change of the total that its test finds with 80 % probability at that level.  */
double compare_noise_floor(double noise, size_t base_count, size_t new_count, double level);

enum compare_status compare_totals(const struct compare_input *input,
                                   const struct compare_options *options,
                                   struct compare_total_change *out, struct compare_error *error);

/* ---- Functions (functions.c, dispersion.c, reference.c, groups.c, moved.c) ---- */

/* Dispersion over runs of one tested row.  */
struct compare_spread {
    double raw;  /* Pearson's X^2 over its degrees of freedom */
    double size; /* samples a run * share * (1 - share): what dispersion grows with */
};

struct compare_prior {
    double trend; /* c in 1 + c * size */
    double df;    /* how much it is to be trusted, in degrees of freedom; may be infinite */
};

/* What count rows with df degrees of freedom each say together (section 3.2).  */
struct compare_prior compare_fit_prior(const struct compare_spread *spreads, size_t count,
                                       double df);
double compare_shrink(const struct compare_prior *prior, const struct compare_spread *spread,
                      double df);

/* How a function's own share changed.  */
struct compare_ratio {
    double value;  /* new over base */
    double weight; /* the smaller of both shares; above 0 */
    /* Of compare_find_reference() and compare_find_group().  */
    double error;                    /* standard error of the logarithm of value */
    const struct compare_change *of; /* whose ratio it is */
};

/* What the shares of functions that did not change were multiplied by (reference.c).  */
struct compare_reference {
    double ratio; /* 1 if unknown */
    double low;   /* its lower 95 % limit; 0 if unknown */
    double error; /* standard error of its logarithm; infinite if unknown: too few functions */
};

/* Sorts the ratios.  */
struct compare_reference compare_find_reference(struct compare_ratio *ratios, size_t count);

/* Sorts the ratios by weight.  Returns how many of them compare_find_group() is to see.  */
size_t compare_keep_largest(struct compare_ratio *ratios, size_t count);

/* The logarithm of how much likelier all ratios are if others have that of a candidate beside the
 * reference, 15 % of them and four at least, than if none has (section 3.4).  The candidate's own
 * one is left out.  */
double compare_find_group(const struct compare_ratio *ratios, size_t count,
                          const struct compare_reference *reference,
                          const struct compare_ratio *candidate);

/* Cut weights to a tenth of their sum: a median of the others' weights is no longer that of one
 * function which has nearly half of them.  */
void compare_cap_weights(struct compare_ratio *ratios, size_t count);
/* The smallest value for which the weights of all up to it are half of all, which are above 0.  The
 * order of ratios changes.  At least one.  */
double compare_weighted_median(struct compare_ratio *ratios, size_t count);

/* How much the test of a function counts among all tests, by its share (section 3.3).  */
double compare_test_weight(double share, double floor);

enum compare_status compare_functions(const struct compare_input *input,
                                      const struct compare_options *options,
                                      struct compare_result *comparison,
                                      struct compare_error *error);

/* Turn REGRESSED into MOVED where the data say that the work only moved (section 3.5).  */
enum compare_status compare_find_moved(const struct compare_input *input,
                                       const struct compare_options *options,
                                       struct compare_result *comparison,
                                       struct compare_error *error);

/* ---- Other comparisons (others.c) ---- */

/* How many tests of functions or of totals; others may be NULL.  */
size_t compare_others_count(const struct compare_others *others, bool of_total);

/* ---- Power (power.c) ---- */

/* Whether what options.need_change asks of the total, and of functions, would have been found.  */
bool compare_total_seen(const struct compare_result *comparison);
bool compare_functions_seen(const struct compare_result *comparison);

/* Fill in runs_needed and samples_needed.  */
void compare_find_needed(struct compare_result *comparison);

#endif /* COMPARE_STATISTICS_H */
