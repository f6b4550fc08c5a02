#include "sampler-capture/heap/shim/poisson.h"

#include <string.h>

#define LN2   0.693147180559945309417232121458
#define SQRT2 1.41421356237309504880168872421

uint64_t poisson_random(struct poisson *poisson)
{
    uint64_t z = poisson->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* x = m * 2^e with m in [1/sqrt 2, sqrt 2); ln m = 2 artanh s, s = (m - 1) / (m + 1), whose series
 * in s^2 < 0.03 is at 1e-17 after twelve terms.  Libm is not asked for it, since a library that
 * every captured process gets should not bring another one.  */
double poisson_log(double x)
{
    uint64_t bits;
    double m, s, square, sum = 0;
    int e;

    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
    memcpy(&m, &bits, sizeof m);
    if (m >= SQRT2) {
        m /= 2;
        e++;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    for (int term = 23; term >= 1; term -= 2)
        sum = sum * square + 1.0 / term;
    return e * LN2 + 2 * s * sum;
}

uint64_t poisson_interval(struct poisson *poisson)
{
    double u = (double)(poisson_random(poisson) >> 11) * 0x1p-53;
    double mean = (double)poisson->mean;
    double interval = -poisson_log(1 - u) * mean;

    if (interval > 20 * mean)
        interval = 20 * mean;
    if (poisson->mean < POISSON_SMALL) /* more than k with the probability exp(-k / mean) */
        return 1 + (uint64_t)interval;
    return interval < 8 ? 8 : (uint64_t)interval;
}

/* The process has no memory, so where an allocation covers more points than are worth drawing, the
 * next one behind it is an interval away as well.  */
#define MAX_DRAWS 64

uint64_t poisson_skip(struct poisson *poisson, uint64_t left, uint64_t size)
{
    uint64_t spill = size - left, sum = 0;
    /* The protocol's way lets a point on an allocation's end count for the next one.  */
    bool ends_count = poisson->mean >= POISSON_SMALL;

    for (int i = 0; i < MAX_DRAWS; i++) {
        sum += poisson_interval(poisson); /* at most 64 * 20 * 2^40 */
        if (sum > spill || (sum == spill && ends_count))
            return sum - spill;
    }
    return poisson_interval(poisson);
}
