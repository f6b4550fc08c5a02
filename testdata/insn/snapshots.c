/* Runs a loop eight times, and has its parent write a snapshot after each time.  */
#include <signal.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void work(int i)
{
    sink += i;
}

int main(void)
{
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 1000; i++)
            work(i);
        (void)kill(getppid(), SIGUSR2);
    }
    return 0;
}
