/* poisson.h - which allocations are sampled (docs/formats/memory-sampler.md section 5).
 *
 * A Poisson process runs over the bytes that a thread allocates, with one point every interval
 * bytes in the mean; an allocation that covers a point is sampled, once.  No libc, no
 * allocation.  */
#ifndef SHIM_POISSON_H
#define SHIM_POISSON_H

#include <stdbool.h>
#include <stdint.h>

struct poisson {
    uint64_t state; /* of the generator: any value */
    uint64_t mean;  /* bytes; 1 to 2^40 */
};

/* The next number of the generator (splitmix64): all 64 bits are random.  */
uint64_t poisson_random(struct poisson *poisson);

/* Bytes to the next point: -ln(1-u) times the mean for a random u in [0, 1), at least 8 and at most
 * 20 times the mean (8, if that is less), cut to an integer.  */
uint64_t poisson_interval(struct poisson *poisson);

/* An allocation of size bytes covers the next point, which is left <= size bytes away: bytes from
 * its end to the first point behind it.  */
uint64_t poisson_skip(struct poisson *poisson, uint64_t left, uint64_t size);

/* The natural logarithm of x in (0, 1], to about 1e-15 of itself.  */
double poisson_log(double x);

#endif /* SHIM_POISSON_H */
