/* A provider that keeps a log of its own: what the archive is compared with.
 *
 *   work LOG THREADS EVENTS [KILLS]
 *   work LOG THREADS EVENTS in-turn
 *
 * Each thread writes EVENTS instants of category "work" with "thread" and "seq".  The log is lines
 * "pid thread events" of what was written.  With KILLS, that many children do it, one after
 * another, and each is killed after a random number of events; the log is then of what had returned
 * when it was killed.
 *
 * in-turn: each thread begins when the one before it has written all.  Nothing that orders memory
 * tells it so, and no thread ends before all have written: what the library does not order itself
 * stays without an order.  */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fxt/trace.h>

#define MOST_THREADS 1000

static _Atomic uint32_t *done; /* shared with the parent: events of each thread */
static uint32_t events;
static bool in_turn;
static pthread_barrier_t all_written;

static void *work(void *argument)
{
    uint32_t thread = (uint32_t)(uintptr_t)argument;

    while (in_turn && thread > 0 &&
           atomic_load_explicit(&done[thread - 1], memory_order_relaxed) < events)
        (void)sched_yield();
    for (uint32_t i = 0; i < events; i++) {
        TRACE_INSTANT("work", "step", TRACE_SCOPE_THREAD, "thread", TA_UINT32(thread), "seq",
                      TA_UINT32(i));
        atomic_store(&done[thread], i + 1);
    }
    (void)pthread_barrier_wait(&all_written);
    return NULL;
}

static void run(uint32_t threads)
{
    static pthread_t ids[MOST_THREADS];
    trace_provider_t *provider = trace_provider_create_with_name("work");

    if (pthread_barrier_init(&all_written, NULL, threads) != 0)
        abort();
    for (uint32_t i = 0; i < threads; i++)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number */
        if (pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i) != 0)
            abort();
    for (uint32_t i = 0; i < threads; i++)
        (void)pthread_join(ids[i], NULL);
    trace_provider_destroy(provider);
}

static void write_log(FILE *log, pid_t pid, uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++)
        (void)fprintf(log, "%d %" PRIu32 " %" PRIu32 "\n", (int)pid, i, atomic_load(&done[i]));
}

static void run_killed(FILE *log, uint32_t threads, uint32_t when)
{
    int status;
    pid_t pid;

    for (uint32_t i = 0; i < threads; i++)
        atomic_store(&done[i], 0);
    (void)fflush(log);
    pid = fork();
    if (pid == 0) {
        run(threads);
        _exit(0);
    }
    while (atomic_load(&done[0]) < when && waitpid(pid, &status, WNOHANG) == 0)
        continue;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    write_log(log, pid, threads);
}

int main(int argc, char **argv)
{
    uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    FILE *log = argc > 3 ? fopen(argv[1], "w") : NULL;

    if (!log || threads == 0 || threads > MOST_THREADS)
        return 2;
    events = (uint32_t)strtoul(argv[3], NULL, 10);
    done = mmap(NULL, MOST_THREADS * sizeof *done, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (done == MAP_FAILED)
        return 2;
    srandom(20261122);
    in_turn = argc > 4 && strcmp(argv[4], "in-turn") == 0;
    if (argc > 4 && !in_turn)
        for (long kills = strtol(argv[4], NULL, 10); kills > 0; kills--)
            run_killed(log, threads, (uint32_t)random() % events);
    else
        run(threads);
    if (argc <= 4 || in_turn)
        write_log(log, getpid(), threads);
    return fclose(log) != 0;
}
