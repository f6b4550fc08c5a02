/* threads.c - the library's own threads. */
#include "libsymbolize/threads.h"
#include <signal.h>
#include <unistd.h>

unsigned sym_job_count(unsigned jobs)
{
    long online = jobs ? (long)jobs : sysconf(_SC_NPROCESSORS_ONLN);

    return online < 1 ? 1 : online > SYM_JOBS_MAX ? SYM_JOBS_MAX : (unsigned)online;
}

unsigned sym_threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context),
                           void *context)
{
    sigset_t all, before;
    unsigned started = 0;

    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS); /* mapped_file.c mends what a file that was cut does */
    (void)sigdelset(&all, SIGSEGV);
    (void)sigdelset(&all, SIGFPE);
    (void)sigdelset(&all, SIGILL);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return 0;
    while (started < count && pthread_create(&threads[started], NULL, run, context) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void sym_threads_join(const pthread_t *threads, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}
