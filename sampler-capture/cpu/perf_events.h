/* perf_events.h - the kernel's side of a capture: perf events of threads, processes or everything.
 *
 * Each CPU has two rings, one for samples and one for what says what samples mean (side-band), so
 * that a flood of samples cannot push out the few records without which no sample has a meaning.
 * The rings belong to the capture; each target that is attached brings, for each CPU, an event that
 * samples and one that tells of mappings, names, forks and exits, and both write into the rings of
 * that CPU.
 *
 * The clock is task-clock, which runs while a task runs and needs no hardware counter; for the
 * whole system it is the CPU's clock, with idle time left out.  */
#ifndef CPU_PERF_EVENTS_H
#define CPU_PERF_EVENTS_H

#include "sampler-capture/cpu/counter.h"
#include "sampler-capture/cpu/ring.h"
#include "sampler-capture/cpu/stack_copies.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A ring and the event that owns it, which itself never counts anything.  */
struct event {
    int fd;        /* poll it: readable when the ring is a quarter full */
    void *mapping; /* NULL: not open */
    size_t mapping_size;
    struct ring ring;
};

/* The events of one target on one CPU; -1: none.  Of those that sample one is on at a time.  */
struct attached {
    int sideband;
    int samples[COPIES_COUNT];
    bool waits; /* for the exec that switches it on */
};

/* What one CPU has.  */
struct cpu_events {
    unsigned cpu;
    struct event sideband;
    struct event samples;
    struct attached *attached; /* owned */
    size_t attached_count;
    size_t attached_capacity;
    bool stopped; /* events_stop_cpu() */
};

struct events_config {
    uint64_t period_ns; /* with a counter, only what the sizes of rings assume */
    /* NULL: the clock; else a sample after each counter_period events.  Borrowed.  */
    const struct counter *counter;
    uint64_t counter_period;
    /* Wanted for the samples of each CPU; where the limits on locked memory do not allow it, rings
     * are smaller.  */
    size_t ring_size;
    uint32_t max_frames; /* how deep the kernel is to walk stacks */
    /* So many bytes of the program's stack, and its registers, are copied into each sample;
     * events_choose() says which of the sizes.  Less where rings are small.  */
    struct copies_sizes copies;
    bool kernel;   /* kernel frames too, and samples while the CPU is in the kernel */
    bool sideband; /* wanted at all */
};

struct events {
    struct events_config config; /* as it could be had */
    enum copies_size size;       /* copies of this one are taken */
    struct cpu_events *cpus;     /* owned */
    size_t count, capacity;
    unsigned cpu_limit; /* the highest CPU number + 1 */
};

/* What could not be done, for people: one sentence without a final dot.  */
struct events_error {
    int cause; /* errno */
    char message[320];
};

/* Rings on every CPU that is online.  On failure nothing is left open.  */
bool events_open(struct events *events, const struct events_config *config,
                 struct events_error *error);

enum events_reach {
    EVENTS_THREAD,  /* this thread alone */
    EVENTS_PROCESS, /* and threads that it and they make from now on */
    EVENTS_TREE,    /* and processes that they start */
    EVENTS_ALL,     /* every task of the system; the id means nothing */
};

struct events_target {
    enum events_reach reach;
    pid_t tid;
    bool on_exec; /* sampling starts when it calls exec; otherwise with events_start() */
    bool running; /* sampling starts at once */
};

/* Attach a target.  On failure it is not attached; error->cause is ESRCH when there is no such
 * thread.  */
bool events_attach(struct events *events, const struct events_target *target,
                   struct events_error *error);

/* Sample what is attached and does not wait for an exec; or take no more samples: what is in the
 * rings stays, and nothing waits any more.  */
void events_start(struct events *events);
void events_stop(struct events *events);
void events_stop_cpu(struct cpu_events *cpu);

/* Take copies of another size from now on, where sampling is not stopped.  */
void events_choose(struct events *events, enum copies_size size);

/* How many records did not fit into a ring of a CPU so far, by the kernel's own count.  A ring
 * tells as well (PERF_RECORD_LOST), but only when the next record fits: what is lost last never
 * gets there.  0 where the kernel does not count (before 6.0).  */
uint64_t events_lost(const struct cpu_events *cpu);
uint64_t events_lost_sideband(const struct cpu_events *cpu);

void events_close(struct events *events);

#endif /* CPU_PERF_EVENTS_H */
