/* reference.c - what the shares of functions that did not change were multiplied by (section 3.4).
 *
 * If a part of the program disappears, the shares of all other functions grow by one ratio.  It is
 * the weighted median of the ratios of functions whose cost may be unchanged, as size factors of
 * counts are medians of ratios in DESeq (Anders and Huber 2010).  A large function has no more than
 * a tenth of the weights: what one function of 40 % does is not what the others do.  */
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

/* With fewer of equal weight, all of them are above their median in more than 5 of 100 cases.  */
#define LEAST_FUNCTIONS 5
#define MOST_WEIGHT     0.1 /* of one function, of the weights of all */

static int by_value(const void *a, const void *b)
{
    const struct compare_ratio *x = a;
    const struct compare_ratio *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

/* The smallest ratio for which the weights of all up to it have that sum.  */
static double ratio_at(const struct compare_ratio *ratios, size_t count, double weight)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += ratios[i].weight;
        if (sum >= weight)
            return ratios[i].value;
    }
    return ratios[count - 1].value;
}

static double sum_of(const struct compare_ratio *ratios, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += ratios[i].weight;
    return sum;
}

void compare_cap_weights(struct compare_ratio *ratios, size_t count)
{
    double most = MOST_WEIGHT * sum_of(ratios, count);

    for (size_t i = 0; i < count; i++)
        ratios[i].weight = fmin(ratios[i].weight, most);
}

double compare_weighted_median(struct compare_ratio *ratios, size_t count)
{
    qsort(ratios, count, sizeof *ratios, by_value);
    return ratio_at(ratios, count, sum_of(ratios, count) / 2);
}

struct compare_reference compare_find_reference(struct compare_ratio *ratios, size_t count)
{
    struct compare_reference reference = { .ratio = 1, .low = 0, .error = INFINITY };
    double sum, squares = 0, half;

    compare_cap_weights(ratios, count);
    sum = sum_of(ratios, count);
    for (size_t i = 0; i < count; i++)
        squares += ratios[i].weight * ratios[i].weight;
    if (sum <= 0 || sum * sum < LEAST_FUNCTIONS * squares)
        return reference;
    half = ONE_SIDED_95 * sqrt(squares) / 2;
    qsort(ratios, count, sizeof *ratios, by_value);
    reference.ratio = ratio_at(ratios, count, sum / 2);
    reference.low = ratio_at(ratios, count, sum / 2 - half);
    reference.error = log(ratio_at(ratios, count, sum / 2 + half) / reference.ratio) / ONE_SIDED_95;
    return reference;
}
