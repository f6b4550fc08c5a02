/* cpu_summary.h - what a capture tells its user at the end.  */
#ifndef CPU_SUMMARY_H
#define CPU_SUMMARY_H

#include "sampler-capture/cpu/cpu_session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary {
    const char *output; /* name of the file or folder */
    const char *kept;   /* folder of the modules' copies; NULL: none */
    bool fine;          /* nothing went wrong; otherwise the trace is not all there was */
    bool quiet;         /* only what is not in it is told */
    bool kernel;        /* the kernel was sampled too */
    bool regions;       /* a folder of raw regions */
    double seconds;
    const struct session_result *result;
    double user_seconds;   /* CPU time of what has ended; 0 unknown */
    double kernel_seconds; /* the part that no sample shows */
};

/* On stderr: what is in the trace, what is not and why, what to type next.  */
void summary_print(const struct summary *summary);

#endif /* CPU_SUMMARY_H */
