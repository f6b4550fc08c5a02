/* A library for testdata/capture/names.c: work() is FUNCTION, which does all the work itself.  */
#include <stdint.h>
#include <time.h>

__attribute__((noinline)) void FUNCTION(uint64_t ms);
void work(uint64_t ms);

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void FUNCTION(uint64_t ms)
{
    uint64_t end = cpu_ns() + ms * 1000000;

    while (cpu_ns() < end)
        for (volatile int i = 0; i < 100000; i++)
            continue;
}

void work(uint64_t ms)
{
    FUNCTION(ms);
}
