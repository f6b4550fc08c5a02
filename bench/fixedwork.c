/* fixedwork - the same work each time: what does it cost?
 *
 *   fixedwork [ROUNDS]
 *
 * Sorts and searches, allocates and copies, in functions that call each other; prints the CPU time
 * that took, in nanoseconds, by the process's own clock.  */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 4096 };

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint64_t sort(uint32_t seed)
{
    uint32_t *numbers = malloc(COUNT * sizeof *numbers);
    uint64_t sum = 0;

    if (!numbers)
        abort();
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = seed = seed * 1664525 + 1013904223;
    qsort(numbers, COUNT, sizeof *numbers, compare);
    for (uint32_t i = 0; i < COUNT; i += 64)
        sum += bsearch(&numbers[i], numbers, COUNT, sizeof *numbers, compare) ? numbers[i] : 0;
    free(numbers);
    return sum;
}

static uint64_t descend(unsigned depth, uint32_t seed)
{
    return depth ? descend(depth - 1, seed) + 1 : sort(seed); /* a stack of some depth */
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    struct timespec now;
    uint64_t sum = 0;

    for (unsigned long i = 0; i < rounds; i++)
        sum += descend(12, (uint32_t)i);
    if (sum == 1)
        return 1; /* the work must not be left out */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%" PRIu64 "\n", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    return 0;
}
