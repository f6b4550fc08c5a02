/* A program whose profile is known: all its CPU time is spent in hot_function(), called by
 * middle_function().  Compiled by tests/cli/test_capture_*.sh with frame pointers.
 *
 *   workload MS [STATUS]         use MS ms of CPU time, exit with STATUS
 *   workload threads N MS        in N threads, worker-0 to worker-(N-1), one after the other
 *   workload forks N MS          in N child processes, one after the other
 *   workload exec MS             then once more, after an exec of itself
 *   workload sleep MS            no CPU time
 *
 * Prints the user CPU time that it and its children used, in nanoseconds.  */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) uint64_t hot_function(uint64_t rounds);
__attribute__((noinline)) uint64_t middle_function(uint64_t rounds);

uint64_t hot_function(uint64_t rounds)
{
    volatile uint64_t x = 1;

    for (uint64_t i = 0; i < rounds; i++)
        x = x * 3 + i;
    return x;
}

uint64_t middle_function(uint64_t rounds)
{
    uint64_t x = hot_function(rounds);

    return x + 1; /* after the call: it must not become a jump */
}

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void use_cpu(uint64_t ms)
{
    uint64_t start = cpu_ns();

    while (cpu_ns() - start < ms * 1000000)
        middle_function(100000);
}

static void *run_thread(void *ms)
{
    use_cpu(*(const uint64_t *)ms);
    return NULL;
}

static void use_threads(unsigned count, uint64_t ms)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        char name[16];

        /* A new thread takes the name of the one that makes it.  */
        (void)snprintf(name, sizeof name, "worker-%u", i);
        prctl(PR_SET_NAME, name);
        if (pthread_create(&thread, NULL, run_thread, &ms) != 0)
            exit(99);
        prctl(PR_SET_NAME, "workload");
        pthread_join(thread, NULL);
    }
}

static void use_forks(unsigned count, uint64_t ms)
{
    for (unsigned i = 0; i < count; i++) {
        pid_t child = fork();

        if (child < 0)
            exit(99);
        if (child == 0) {
            use_cpu(ms);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static uint64_t user_ns(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000000 + (uint64_t)usage.ru_utime.tv_usec * 1000;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "0";
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t second = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    int status = 0;

    if (strcmp(mode, "threads") == 0) {
        use_threads((unsigned)first, second);
    } else if (strcmp(mode, "forks") == 0) {
        use_forks((unsigned)first, second);
    } else if (strcmp(mode, "exec") == 0) {
        use_cpu(first);
        execl("/proc/self/exe", "workload", argv[2], (char *)NULL);
        return 99;
    } else if (strcmp(mode, "sleep") == 0) {
        usleep((useconds_t)first * 1000);
    } else {
        use_cpu(strtoull(mode, NULL, 10));
        status = (int)first;
    }
    printf("%" PRIu64 "\n", user_ns(RUSAGE_SELF) + user_ns(RUSAGE_CHILDREN));
    return status;
}
