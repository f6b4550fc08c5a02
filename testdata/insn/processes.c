/* processes - fork, posix_spawn, and an exec of itself.  */
#define _GNU_SOURCE /* environ */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int work(int n)
{
    return n <= 0 ? 1 : work(n - 1) + n;
}

int main(int argc, char **argv)
{
    char *again[] = { argv[0], "again", NULL };
    int status = 0;
    pid_t child;

    if (argc > 1)
        return work(20) == 211 ? 5 : 6;
    child = fork();
    if (child == 0)
        _exit(work(30) & 63);
    waitpid(child, &status, 0);
    if (posix_spawn(&child, argv[0], NULL, NULL, again, environ) != 0)
        return 1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
        return 2;
    execv(argv[0], again);
    return 3;
}
