/* permutation.c - exact permutation test of a difference of means, here of ranks (section 2.1).
 *
 * Under "nothing changed" the labels base and new could stand on the runs in any other way.  The p
 * value is the share of ways whose difference of means is at least as large as the one seen; with
 * fixed group sizes that is the distance of the sum of the new runs from what it is on average.  */
#include "libcompare/statistics/statistics.h"

#include <math.h>
#include <string.h>

enum {
    EXACT_LIMIT = 2000000, /* ways up to which all are looked at: 11 + 11 runs */
    DRAWS = 200000,        /* otherwise */
};

/* n over k, or limit + 1 when it is more than limit.  */
static uint64_t choose(size_t n, size_t k, uint64_t limit)
{
    uint64_t ways = 1;

    if (k > n - k)
        k = n - k;
    for (size_t i = 1; i <= k; i++) {
        ways = ways * (n - k + i) / i;
        if (ways > limit)
            return limit + 1;
    }
    return ways;
}

struct walk {
    const double *values;
    size_t count;
    double centre;   /* average of the sum of a choice */
    double distance; /* of the sum that was seen, less a hair for rounding */
    uint64_t ways, extreme;
};

/* All ways to choose some of values[next..], on top of sum.  Recursion is as deep as there are
 * runs: fewer than 30 when this is called at all.  */
static void visit(struct walk *walk, size_t next, size_t choose_count, double sum) /* NOLINT */
{
    if (choose_count == 0) {
        walk->ways++;
        walk->extreme += fabs(sum - walk->centre) >= walk->distance;
        return;
    }
    for (size_t i = next; i + choose_count <= walk->count; i++)
        visit(walk, i + 1, choose_count - 1, sum + walk->values[i]);
}

/* p from random rearrangements; the one seen counts as one of them, so that p is never 0 (Phipson
 * and Smyth 2010).  */
static void draw(struct walk *walk, size_t choose_count)
{
    struct compare_random random;
    double shuffled[COMPARE_MAX_RUNS] = { 0 };

    memcpy(shuffled, walk->values, walk->count * sizeof *shuffled);
    compare_random_seed(&random, 1);
    walk->ways = walk->extreme = 1;
    for (int i = 0; i < DRAWS; i++) {
        double sum = 0;

        for (size_t k = 0; k < choose_count; k++) {
            size_t other = k + compare_random_below(&random, walk->count - k);
            double value = shuffled[other];

            shuffled[other] = shuffled[k];
            shuffled[k] = value;
            sum += value;
        }
        walk->ways++;
        walk->extreme += fabs(sum - walk->centre) >= walk->distance;
    }
}

double compare_permutation(const double *values, size_t base_count, size_t new_count, bool *exact)
{
    struct walk walk = { .values = values, .count = base_count + new_count };
    /* To choose one side is to choose the other: the smaller one is fewer steps.  */
    size_t chosen = base_count < new_count ? base_count : new_count;
    double all = 0, seen = 0;

    for (size_t i = 0; i < walk.count; i++) {
        all += values[i];
        seen += (i < base_count) == (chosen == base_count) ? values[i] : 0;
    }
    walk.centre = all * (double)chosen / (double)walk.count;
    walk.distance = fabs(seen - walk.centre) - 1e-9 * all;
    *exact = choose(walk.count, chosen, EXACT_LIMIT) <= EXACT_LIMIT;
    if (*exact)
        visit(&walk, 0, chosen, 0);
    else
        draw(&walk, chosen);
    return (double)walk.extreme / (double)walk.ways;
}
