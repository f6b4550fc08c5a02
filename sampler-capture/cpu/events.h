/* events.h - the kernel's side of a capture: perf events of one process and all it starts.
 *
 * Each CPU has two events.  The sampling event is task-clock, which runs while the task runs and
 * needs no hardware counter; it starts with the exec of the command.  The side-band event is a
 * dummy that is always on: the kernel gives mappings, names, forks and exits only to events that
 * are enabled, and those of the exec itself must not be missed.  Both are inherited by every thread
 * and process that the command makes.  Each has a ring of its own, so that a flood of samples
 * cannot push out the few records without which no sample has a meaning.  */
#ifndef CPU_EVENTS_H
#define CPU_EVENTS_H

#include "sampler-capture/cpu/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event {
    int fd;        /* poll it: readable when the ring is a quarter full */
    void *mapping; /* NULL: not open */
    size_t mapping_size;
    struct ring ring;
};

/* The events of one CPU.  */
struct cpu_events {
    unsigned cpu;
    struct event sideband;
    struct event samples;
};

struct events {
    struct cpu_events *cpus; /* owned */
    size_t count;
    unsigned cpu_limit;  /* the highest CPU number + 1 */
    uint32_t max_frames; /* how deep the kernel walks stacks */
};

/* What could not be done, for people: one sentence without a final dot.  */
struct events_error {
    char message[320];
};

/* Open the events of process pid, which is to exec, on every CPU that is online, sampling each
 * period_ns of CPU time.  ring_size is what is wanted for the samples of each CPU; where the limits
 * on locked memory do not allow it, rings are smaller.  On failure nothing is left open.  */
bool events_open(struct events *events, pid_t pid, uint64_t period_ns, size_t ring_size,
                 struct events_error *error);

/* Take no more samples.  What is in the rings stays.  */
void events_stop(const struct events *events);

/* How many records did not fit into the rings of a CPU so far, by the kernel's own count.  A ring
 * tells as well (PERF_RECORD_LOST), but only when the next record fits: what is lost last never
 * gets there.  0 where the kernel does not count (before 6.0).  */
uint64_t events_lost(const struct cpu_events *cpu);

void events_close(struct events *events);

#endif /* CPU_EVENTS_H */
