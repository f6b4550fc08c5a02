/* heappair - what an allocation costs that is not sampled.
 *
 *   heappair pairs THREADS LIVE COUNT     COUNT times malloc(64) and free in each thread
 *   heappair batch THREADS LIVE COUNT     COUNT blocks, 10,000 at a time, freed in random order
 *
 * First LIVE blocks are allocated that are larger than the sampling interval of the captures that
 * bench_heap.sh makes, so that about each of them is sampled and stays in use.  Each thread stays
 * on one CPU, so that two of these programs that run at the same time share each.  Prints the CPU
 * time of an operation - a pair, or a block of a batch - in nanoseconds.  */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH       10000
#define MAX_THREADS 64
#define LARGE       ((size_t)32 << 20) /* never touched, so it costs addresses alone */

static size_t count;
static int is_batch;
static double spent_ns[MAX_THREADS];

static void *keep(void *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}

static void pairs(void)
{
    for (size_t i = 0; i < count; i++)
        free(keep(malloc(64))); // NOLINT(clang-analyzer-unix.Malloc): keep() returns it
}

static void shuffle(unsigned *order, unsigned seed)
{
    for (unsigned i = 0; i < BATCH; i++)
        order[i] = i;
    for (unsigned i = BATCH - 1; i > 0; i--) {
        unsigned other, swapped = order[i];

        seed = seed * 1664525 + 1013904223;
        other = (unsigned)((uint64_t)seed * (i + 1) >> 32);
        order[i] = order[other];
        order[other] = swapped;
    }
}

static void batches(unsigned seed)
{
    unsigned order[BATCH];
    void *blocks[BATCH];

    shuffle(order, seed);
    for (size_t done = 0; done < count; done += BATCH) {
        for (unsigned i = 0; i < BATCH; i++)
            blocks[i] = keep(malloc(16 + i % 48 * 8));
        for (unsigned i = 0; i < BATCH; i++)
            free(blocks[order[i]]);
    }
}

static double cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Onto the CPU of index, of those that the process may use.  */
static void stay(size_t index)
{
    cpu_set_t usable, own;

    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return;
    index %= (size_t)CPU_COUNT(&usable);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && index-- == 0) {
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
            (void)pthread_setaffinity_np(pthread_self(), sizeof own, &own);
            return;
        }
}

static void *work(void *argument)
{
    size_t index = (size_t)((double *)argument - spent_ns);
    double start_ns;

    stay(index);
    start_ns = cpu_ns();
    if (is_batch)
        batches((unsigned)index + 1);
    else
        pairs();
    spent_ns[index] = cpu_ns() - start_ns;
    return NULL;
}

int main(int argc, char **argv)
{
    size_t threads, live;
    pthread_t ids[MAX_THREADS];
    double sum = 0;

    if (argc != 5)
        return 2;
    is_batch = strcmp(argv[1], "batch") == 0;
    threads = strtoul(argv[2], NULL, 10);
    live = strtoul(argv[3], NULL, 10);
    count = strtoul(argv[4], NULL, 10);
    if (threads == 0 || threads > MAX_THREADS)
        return 2;
    for (size_t i = 0; i < live; i++)
        (void)keep(malloc(LARGE)); // NOLINT(clang-analyzer-unix.Malloc)
    for (size_t i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, &spent_ns[i]) != 0)
            return 4;
    for (size_t i = 0; i < threads; i++)
        (void)pthread_join(ids[i], NULL);
    for (size_t i = 0; i < threads; i++)
        sum += spent_ns[i];
    printf("%.4f\n", sum / (double)threads / (double)count);
    return 0;
}
