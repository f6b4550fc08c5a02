/* varying - frames whose size is known only when they are made, arguments of any number, large
 * results, and the vdso.  */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct large {
    long parts[16];
};

__attribute__((noinline)) static int fill(char *room, int size)
{
    memset(room, size, (size_t)size);
    return room[size / 2];
}

__attribute__((noinline)) static int allocate(int size)
{
    return fill(__builtin_alloca((size_t)size), size);
}

__attribute__((noinline)) static long add(int count, ...)
{
    long sum = 0;
    va_list list;

    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(list, long);
    va_end(list);
    return sum;
}

__attribute__((noinline)) static struct large make(long first)
{
    struct large made;

    for (long i = 0; i < 16; i++)
        made.parts[i] = first + i;
    return made;
}

int main(void)
{
    struct timespec now;
    long sum = 0;

    for (int i = 1; i < 40; i++)
        sum += allocate(i * 8) + add(3, 1L, 2L, (long)i) + make(i).parts[i % 16];
    clock_gettime(CLOCK_MONOTONIC, &now); /* in the vdso */
    printf("%ld %d\n", sum, now.tv_nsec < 1000000000);
    return 0;
}
