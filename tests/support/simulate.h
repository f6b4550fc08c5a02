/* simulate.h - runs of a program that does not exist, with shares and noise that are known.  */
#ifndef TESTS_SIMULATE_H
#define TESTS_SIMULATE_H

#include "libcompare/statistics/statistics.h"

double simulate_unit(struct compare_random *random);   /* uniform in (0, 1) */
double simulate_normal(struct compare_random *random); /* mean 0, variance 1 */

enum {
    SIMULATE_FUNCTIONS = 300,
    SIMULATE_SAMPLES = 20000, /* of a run */
};

struct simulation {
    size_t runs;      /* of each side */
    double noise;     /* standard deviation of each function's cost, and of the run's, from run to
                       * run: 0.03 is 3 % */
    double factor;    /* the new build's cost of function changed: 1 is no change */
    size_t changed;   /* which function */
    double own_share; /* 0: Zipf's; else the base share of function changed, the rest in
                       * proportion */
};

struct simulated {
    struct compare_input input;
    double *cost, *samples, *self, *total;
};

/* Shares fall as Zipf's law has it: function k has 1 / (k + 1) of the first's.  Functions 3k,
 * 3k + 1 and 3k + 2 call each other: the inclusive cost of the first holds the others'.  Samples
 * are multinomial.  The caller releases.  */
void simulate(const struct simulation *simulation, uint64_t seed, struct simulated *out);
void simulated_release(struct simulated *simulated);

#endif /* TESTS_SIMULATE_H */
