/* coroutines - two stacks that take turns.  */
#include <stdio.h>
#include <ucontext.h>

static ucontext_t home, other;
static char stack[65536];
static int total;

__attribute__((noinline)) static void yield_from(ucontext_t *from, ucontext_t *to)
{
    total++;
    swapcontext(from, to);
}

__attribute__((noinline)) static void inner(int n)
{
    for (int i = 0; i < n; i++)
        yield_from(&other, &home);
}

static void body(void)
{
    inner(5);
    inner(3);
}

int main(void)
{
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = &home;
    makecontext(&other, body, 0);
    for (int i = 0; i < 9; i++)
        yield_from(&home, &other);
    printf("%d\n", total);
    return 0;
}
