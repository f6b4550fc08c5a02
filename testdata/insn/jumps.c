/* jumps - setjmp and longjmp through many frames, again and again.  */
#include <setjmp.h>

static jmp_buf place;

__attribute__((noinline)) static int down(int n)
{
    if (n == 0)
        longjmp(place, 1);
    return down(n - 1) + 1;
}

int main(void)
{
    volatile int round = 0;

    if (setjmp(place) < 0 || round++ < 100)
        down(round);
    return 0;
}
