/* simulate.c - see simulate.h.  */
#include "tests/support/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double simulate_unit(struct compare_random *random)
{
    return ((double)(compare_random_next(random) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller's, one of the two: calls stay independent of each other.  */
double simulate_normal(struct compare_random *random)
{
    double radius = sqrt(-2 * log(simulate_unit(random)));

    return radius * cos(2 * M_PI * simulate_unit(random));
}

static void base_shares(const struct simulation *simulation, double *shares)
{
    double rest = 0;

    for (size_t f = 0; f < SIMULATE_FUNCTIONS; f++)
        rest += shares[f] = 1.0 / (double)(f + 1);
    if (simulation->own_share > 0) {
        rest -= shares[simulation->changed];
        shares[simulation->changed] = rest * simulation->own_share / (1 - simulation->own_share);
        rest += shares[simulation->changed];
    }
    for (size_t f = 0; f < SIMULATE_FUNCTIONS; f++)
        shares[f] /= rest;
}

enum { GUIDE = 1024 };

/* The first function that can be meant by a place in each of GUIDE equal parts.  */
static void make_guide(const double *cumulated, double sum, size_t *guide)
{
    size_t function = 0;

    for (size_t i = 0; i < GUIDE; i++) {
        while (cumulated[function] <= sum * (double)i / GUIDE && function < SIMULATE_FUNCTIONS - 1)
            function++;
        guide[i] = function;
    }
}

/* One run: what each function cost this time, then samples of it.  */
static void simulate_run(const struct simulation *simulation, struct compare_random *random,
                         const double *shares, bool changed, size_t run, struct simulated *out)
{
    double costs[SIMULATE_FUNCTIONS], cumulated[SIMULATE_FUNCTIONS];
    size_t counts[SIMULATE_FUNCTIONS] = { 0 };
    size_t guide[GUIDE];
    double sum = 0, all;
    size_t runs = 2 * simulation->runs;

    for (size_t f = 0; f < SIMULATE_FUNCTIONS; f++) {
        costs[f] = shares[f] * exp(simulation->noise * simulate_normal(random));
        if (changed && f == simulation->changed)
            costs[f] *= simulation->factor;
        cumulated[f] = sum += costs[f];
    }
    all = 1e9 * sum * exp(simulation->noise * simulate_normal(random));
    make_guide(cumulated, sum, guide);
    for (size_t i = 0; i < SIMULATE_SAMPLES; i++) {
        double unit = simulate_unit(random);
        size_t function = guide[(size_t)(unit * GUIDE)];

        while (cumulated[function] <= sum * unit && function < SIMULATE_FUNCTIONS - 1)
            function++;
        counts[function]++;
    }
    out->cost[run] = all;
    out->samples[run] = SIMULATE_SAMPLES;
    for (size_t f = 0; f < SIMULATE_FUNCTIONS; f++) {
        double self = all * (double)counts[f] / SIMULATE_SAMPLES;

        out->self[f * runs + run] = self;
        for (size_t caller = f - f % 3; caller <= f; caller++)
            out->total[caller * runs + run] += self;
    }
}

void simulate(const struct simulation *simulation, uint64_t seed, struct simulated *out)
{
    struct compare_random random;
    double shares[SIMULATE_FUNCTIONS];
    size_t runs = 2 * simulation->runs;

    compare_random_seed(&random, seed);
    base_shares(simulation, shares);
    out->cost = calloc(runs, sizeof(double));
    out->samples = calloc(runs, sizeof(double));
    out->self = calloc(runs * SIMULATE_FUNCTIONS, sizeof(double));
    out->total = calloc(runs * SIMULATE_FUNCTIONS, sizeof(double));
    if (!out->cost || !out->samples || !out->self || !out->total)
        abort();
    for (size_t run = 0; run < runs; run++)
        simulate_run(simulation, &random, shares, run >= simulation->runs, run, out);
    out->input = (struct compare_input){
        .base_runs = simulation->runs,
        .new_runs = simulation->runs,
        .cost = out->cost,
        .samples = out->samples,
        .function_count = SIMULATE_FUNCTIONS,
        .self = out->self,
        .total = out->total,
    };
}

void simulated_release(struct simulated *simulated)
{
    free(simulated->cost);
    free(simulated->samples);
    free(simulated->self);
    free(simulated->total);
}
