/* host.h - what a trace says about the machine and the run.  */
#ifndef CPU_HOST_H
#define CPU_HOST_H

#include "sampler-capture/cpu/trace.h"

#include <stdint.h>
#include <sys/utsname.h>

/* The texts of a session.  */
struct host {
    struct utsname system;
    char cpu_model[128];
    char command[4096]; /* as one would type it in a shell, cut to fit */
};

/* Describe this machine and a run of argv, starting now.  The session borrows from host.  */
void host_describe(struct host *host, char *const argv[], struct trace_session *session);

/* Nanoseconds on a clock such as CLOCK_MONOTONIC.  */
uint64_t host_clock_ns(int clock);

#endif /* CPU_HOST_H */
