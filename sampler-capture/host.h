/* host.h - what a trace says about the machine and the run.  */
#ifndef CAPTURE_HOST_H
#define CAPTURE_HOST_H

#include <stdint.h>
#include <sys/utsname.h>

/* The arguments of the instant fxt.capture/session.  */
struct trace_session {
    uint64_t period_ns;    /* 0: samples are not taken by time, */
    const char *event;     /* but when this happened, "instructions", */
    uint64_t event_period; /* so many times; NULL and 0: by time */
    uint32_t max_frames;
    uint32_t stack_size;   /* bytes copied of each stack; 0: callers are found by frame pointers */
    uint32_t small_size;   /* or so many, where that is enough; 0: always stack_size */
    uint64_t realtime_ns;  /* CLOCK_REALTIME and */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC of the same moment */
    const char *clock;
    const char *arch;
    const char *kernel;
    const char *cpu_model;
    const char *command;
    const char *tool_version;
};

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

/* Have this process run soon after it wakes up, as far as it is allowed to: rings of the kernel
 * wait for it.  Its children have none of that.  */
void host_hurry(void);

/* Raise the soft limit of descriptors to the hard one.  A command that was started before keeps its
 * limit.  */
void host_raise_descriptor_limit(void);

#endif /* CAPTURE_HOST_H */
