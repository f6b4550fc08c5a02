/* siglongjmp - handlers that do not return, on a stack of their own.  */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf place;
static char own[65536];

static void handle(int number)
{
    siglongjmp(place, number);
}

int main(void)
{
    const stack_t stack = { .ss_sp = own, .ss_size = sizeof own };
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    volatile int count = 0;

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(place, 1) < 0 || count++ < 10) {
        if (count % 2)
            (void)raise(SIGUSR1);
        *(volatile int *)8 = 1;
    }
    return 0;
}
