/* counter.h - what samples count: CPU time, or events of the processor or the kernel.  */
#ifndef CPU_COUNTER_H
#define CPU_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* An event after so many of which a thread is sampled.  */
struct counter {
    const char *name;    /* as perf(1) calls it */
    uint32_t type;       /* of perf_event_open(2) */
    uint64_t config;     /* likewise */
    uint64_t period;     /* that is taken if none is given */
    uint64_t min_period; /* a shorter one floods the buffers */
    bool kernel_only;    /* it happens while the CPU is in the kernel */
};

/* The names of all of them, in the order of counter_at(); the first is CPU time.  NULL at the
 * end.  */
extern const char *const counter_names[];

/* NULL: the first, CPU time, which has no counter of its own.  */
const struct counter *counter_at(unsigned long index);

/* Whether the processor counts it.  */
bool counter_is_hardware(const struct counter *counter);

#endif /* CPU_COUNTER_H */
