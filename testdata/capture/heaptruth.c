/* heaptruth - allocates known amounts on known stacks, once for each of SEEDS threads, one after
 * the other: each has a sampler of its own.  Prints what it did: for each stack its name, the size
 * of its blocks, how many there were and how many are still in use.
 *
 * -DSEEDS=200 -DNAMED='S(0) S(1) ...' makes the functions seed_0, seed_1, ... in which the threads
 * begin, so that stacks tell them apart.  */
#ifndef SEEDS
#define SEEDS 2
#define NAMED S(0) S(1)
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The compiler may neither see through it nor call past it.  */
static void *keep(void *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}

#define STACKS(X)            \
    X(small, 48, 3000, 1)    \
    X(strings, 200, 1200, 3) \
    X(records, 1000, 400, 2) \
    X(buffers, 16384, 50, 2) \
    X(pages, 30000, 64, 2)   \
    X(images, 300000, 4, 2)

/* name, bytes, blocks, one in how many stays.  Estimates are rounded to whole objects: the standard
 * error of each is a few of them.  */
// NOLINTBEGIN(bugprone-macro-parentheses,clang-analyzer-unix.Malloc)
#define FUNCTION(name, size, count, kept)             \
    __attribute__((noinline)) static void *name(void) \
    {                                                 \
        return keep(malloc(size));                    \
    }
STACKS(FUNCTION)
// NOLINTEND(bugprone-macro-parentheses,clang-analyzer-unix.Malloc)

static const struct {
    const char *name;
    void *(*allocate)(void);
    size_t size, count, kept;
} stacks[] = {
#define ROW(name, size, count, kept) { #name, name, size, count, kept },
    STACKS(ROW)
};

#define COUNT (sizeof stacks / sizeof *stacks)

__attribute__((noinline)) static void *work(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < stacks[i].count; k++) {
            void *block = stacks[i].allocate();

            if (k % stacks[i].kept != 0)
                free(block);
        }
    }
    return keep(NULL);
}

#define S(n)                              \
    static void *seed_##n(void *argument) \
    {                                     \
        (void)argument;                   \
        return keep(work());              \
    }
NAMED
#undef S

static void *(*const seeds[])(void *) = {
#define S(n) seed_##n,
    NAMED
};

int main(void)
{
    for (size_t i = 0; i < COUNT; i++)
        printf("%s %zu %zu %zu\n", stacks[i].name, stacks[i].size, stacks[i].count,
               (stacks[i].count + stacks[i].kept - 1) / stacks[i].kept);
    for (size_t i = 0; i < SEEDS; i++) {
        pthread_t id;

        if (pthread_create(&id, NULL, seeds[i], NULL) != 0 || pthread_join(id, NULL) != 0)
            return 4;
    }
    return 0;
}
