/* threads.h - the library's own threads.  */
#ifndef SYMBOLIZE_THREADS_H
#define SYMBOLIZE_THREADS_H

#include <pthread.h>

enum { SYM_JOBS_MAX = 256 };

/* What jobs of struct sym_options means here: at least 1, at most SYM_JOBS_MAX.  */
unsigned sym_job_count(unsigned jobs);

/* Starts count threads that run with context, and take no signals but those that they cause: the
 * program's handlers expect its own threads.  How many did start: those that did not must not be
 * missed.  */
unsigned sym_threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context),
                           void *context);
void sym_threads_join(const pthread_t *threads, unsigned count);

#endif /* SYMBOLIZE_THREADS_H */
