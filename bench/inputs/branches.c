/* branches - what an instruction trace is measured with: sorting through callbacks, recursion,
 * calls through a table, formatting.
 *
 *   branches ROUNDS    a round is about 100,000 instructions  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned state = 1;

static unsigned next_random(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static int by_value(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

    return left < right ? -1 : left > right;
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned add(unsigned a, unsigned b)
{
    return a + b;
}
static unsigned mix(unsigned a, unsigned b)
{
    return (a ^ b) * 2654435761U;
}
static unsigned turn(unsigned a, unsigned b)
{
    return a << (b & 7) | a >> (31 - (b & 7));
}
static unsigned (*volatile const table[])(unsigned, unsigned) = { add, mix, turn };

static unsigned interpret(unsigned steps)
{
    unsigned value = 1;

    for (unsigned i = 0; i < steps; i++)
        value = table[next_random() % 3](value, i);
    return value;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1, sum = 0;

    for (unsigned round = 0; round < rounds; round++) {
        unsigned values[256];
        char text[64];

        for (unsigned i = 0; i < 256; i++)
            values[i] = next_random();
        qsort(values, 256, sizeof *values, by_value);
        sum += values[7] + fibonacci(13) + interpret(500);
        for (unsigned i = 0; i < 20; i++)
            sum += (unsigned)snprintf(text, sizeof text, "%u %s %x", values[i], "text", sum) +
                   (unsigned)strlen(text);
    }
    printf("%u\n", sum);
    return 0;
}
