/* random.c - xoshiro256**: fast, good, and the same on every machine.  */
#include "libcompare/statistics/statistics.h"

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

void compare_random_seed(struct compare_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = z ^ z >> 31;
    }
}

uint64_t compare_random_next(struct compare_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Lemire 2019: the upper half of a product, low remainders thrown away.  */
size_t compare_random_below(struct compare_random *random, size_t limit)
{
    uint64_t threshold = -(uint64_t)limit % limit;
    unsigned __int128 product;

    do
        product = (unsigned __int128)compare_random_next(random) * limit;
    while ((uint64_t)product < threshold);
    return (size_t)(product >> 64);
}
