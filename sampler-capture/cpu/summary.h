/* summary.h - what a capture tells its user at the end.  */
#ifndef CPU_SUMMARY_H
#define CPU_SUMMARY_H

#include "sampler-capture/cpu/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary {
    const char *output; /* name of the file */
    bool fine;          /* nothing went wrong; otherwise the trace is not all there was */
    double seconds;
    uint64_t period_ns;
    size_t region_size;
    const struct trace_totals *totals;
    struct trace_loss loss;
    uint64_t broken;       /* samples whose stack ends early */
    double user_seconds;   /* CPU time of what has ended */
    double kernel_seconds; /* the part that no sample shows */
    uint64_t unplaced;
    uint64_t mappings_dropped;
};

/* On stderr: what is in the trace, what is not and why, what to type next.  */
void summary_print(const struct summary *summary);

#endif /* CPU_SUMMARY_H */
