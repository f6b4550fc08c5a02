/* calls - every way of calling and returning that C has.  */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static jmp_buf place;
static volatile int sink;

__attribute__((noinline)) static int leaf(int n)
{
    return n * 3 + sink;
}

__attribute__((noinline)) static int tail(int n)
{
    sink = n;
    return leaf(n + 1); /* a jump, with optimization */
}

__attribute__((noinline)) static int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Deeper than the 64 calls whose returns are compressed.  */
__attribute__((noinline)) static int deep(int n)
{
    return n == 0 ? 0 : deep(n - 1) + 1;
}

__attribute__((noinline)) static void jump_out(int depth)
{
    if (depth == 0)
        longjmp(place, 1);
    jump_out(depth - 1);
    sink++;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Returns to another place than its call's: the processor's own stack is of no use.  */
__attribute__((noinline)) static long thunk(long n)
{
    long result;

    __asm__ volatile("call 1f\n"
                     "2: pause; jmp 2b\n"
                     "1: lea 3f(%%rip), %%rax\n"
                     "mov %%rax, (%%rsp)\n"
                     "ret\n"
                     "3: lea 1(%1), %0\n"
                     : "=r"(result)
                     : "r"(n)
                     : "rax", "memory");
    return result;
}

/* Calls the next instruction, to know where it is.  */
__attribute__((noinline)) static long where(void)
{
    long result;

    __asm__ volatile("call 1f\n1: pop %0\n" : "=r"(result));
    return result != 0;
}

static int (*const functions[])(int) = { leaf, tail, fibonacci, deep };

int main(void)
{
    int numbers[64], sum = 0;
    char text[300];
    struct timespec now;

    for (int i = 0; i < 64; i++)
        numbers[i] = (i * 37) % 64;
    qsort(numbers, 64, sizeof numbers[0], by_value);
    for (int i = 0; i < 40; i++)
        sum += functions[i % 4](i % 12);
    sum += deep(200);
    if (setjmp(place) == 0)
        jump_out(20);
    for (int i = 0; i < 10; i++)
        sum += (int)thunk(i) + (int)where();
    memset(text, 'x', sizeof text);
    __asm__ volatile("" : : "r"(text) : "memory");
    {
        void *to = text;
        long count = sizeof text;

        __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"('y') : "memory");
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%d %d %c\n", sum, numbers[63], text[299]);
    return 7;
}
