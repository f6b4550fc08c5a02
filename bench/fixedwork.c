/* fixedwork - the same work each time: what does it cost?
 *
 *   fixedwork [ROUNDS]
 *
 * Sorts, in functions of its own that call each other, at the end of a stack of 20 frames and 8
 * KiB; prints the CPU time that took, in nanoseconds, by the process's own clock.  */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 4096, DEPTH = 16, FRAME_BYTES = 512 };

/* Functions that stay functions.  */
#define CALLED __attribute__((noinline))

/* Let a number sink into the heap below it.  */
CALLED static void sink(uint32_t *heap, size_t count, size_t at)
{
    uint32_t number = heap[at];
    size_t child;

    while ((child = 2 * at + 1) < count) {
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[child] <= number)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = number;
}

CALLED static void sort(uint32_t *numbers, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(numbers, count, i);
    for (size_t end = count; end-- > 1;) {
        uint32_t largest = numbers[0];

        numbers[0] = numbers[end];
        numbers[end] = largest;
        sink(numbers, end, 0);
    }
}

CALLED static uint64_t use(uint32_t seed)
{
    static uint32_t numbers[COUNT];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = seed = seed * 1664525 + 1013904223;
    sort(numbers, COUNT);
    for (uint32_t i = 0; i < COUNT; i += 64)
        sum += numbers[i];
    return sum;
}

CALLED static uint64_t descend(unsigned depth, uint32_t seed)
{
    volatile char frame[FRAME_BYTES];
    uint64_t sum;

    frame[depth] = 1;
    sum = depth ? descend(depth - 1, seed) : use(seed);
    return sum + (uint64_t)frame[depth];
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    struct timespec now;
    uint64_t sum = 0;

    for (unsigned long i = 0; i < rounds; i++)
        sum += descend(DEPTH, (uint32_t)i);
    if (sum == 1)
        return 1; /* the work must not be left out */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%" PRIu64 "\n", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    return 0;
}
