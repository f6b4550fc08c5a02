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

/* Below that each byte is a point with the same probability, so that no estimate is biased.  The
 * protocol's least interval and rounding bias by about 8 / mean, which does not matter above.  */
#define POISSON_SMALL UINT64_C(4096)

/* Bytes to the next point: -ln(1-u) times the mean for a random u in [0, 1), at most 20 times the
 * mean, at least 8, cut to an integer.  Of a small mean it is the next integer, from 1 on.  */
uint64_t poisson_interval(struct poisson *poisson);

/* An allocation of size bytes covers the next point, which is left <= size bytes away: bytes from
 * its end to the first point behind it.  */
uint64_t poisson_skip(struct poisson *poisson, uint64_t left, uint64_t size);

/* The natural logarithm of x in (0, 1], to about 1e-15 of itself.  */
double poisson_log(double x);

#endif /* SHIM_POISSON_H */
