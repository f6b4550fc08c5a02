/* signals - handlers that return, that jump out, that interrupt system calls; ignored signals.  */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static sigjmp_buf place;

static void count(int number)
{
    (void)number;
    seen++;
}

static void jump(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

__attribute__((noinline)) static int fault(volatile int *at)
{
    return *at + 1;
}

int main(void)
{
    struct itimerval soon = { { 0, 20000 }, { 0, 20000 } }, never = { { 0, 0 }, { 0, 0 } };
    char byte;
    int ends[2];

    handle(SIGUSR1, count, 0);
    for (int i = 0; i < 5; i++)
        (void)raise(SIGUSR1);
    /* What a stepper must not take for its own.  */
    handle(SIGTRAP, count, 0);
    __asm__ volatile("int3");
    if (seen != 6)
        return 4;
    handle(SIGUSR2, SIG_IGN, 0);
    (void)raise(SIGUSR2);
    handle(SIGSEGV, jump, SA_NODEFER);
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(place, 1) == 0)
            fault((volatile int *)8);
    /* A read that the timer interrupts.  */
    if (pipe(ends) != 0)
        return 1;
    handle(SIGALRM, count, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (read(ends[0], &byte, 1) >= 0)
        return 2;
    /* One that goes on afterwards, until the child writes.  */
    handle(SIGALRM, count, SA_RESTART);
    if (fork() == 0) {
        usleep(50000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    if (read(ends[0], &byte, 1) != 1)
        return 3;
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%c\n", byte);
    return 0;
}
