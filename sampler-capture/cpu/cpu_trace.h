/* cpu_trace.h - what a capture writes.
 *
 * An archive (docs/formats/fxt.md section 1.5): provider cpu + 1, "cpu-N", holds the samples of one
 * CPU as the kernel sampler of Zircon writes them; provider 0xffff0000, "sampler-capture", holds
 * what samples mean: names, modules, mappings, the session and what was lost.  Or, if the options
 * say so, the stream of Fuchsia's profiler (section 4.2 there), or a folder of raw regions.  All
 * ticks are nanoseconds of CLOCK_MONOTONIC.  Whole records reach the file, many with one
 * write(2).  */
#ifndef CPU_TRACE_H
#define CPU_TRACE_H

#include "sampler-capture/cpu/drain.h"
#include "sampler-capture/cpu/kernel.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/unwinding.h"
#include "sampler-capture/host.h"
#include "sampler-capture/processes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_options {
    bool profiler;  /* the stream of Fuchsia's profiler instead of the archive */
    bool compress;  /* zstd, a frame each second */
    int regions_fd; /* of a folder, borrowed: raw regions and markup instead of a trace; -1: none */
};

struct trace;

/* A trace into fd, which is borrowed, for CPUs 0..cpu_limit-1.  NULL when there is no memory.  */
struct trace *trace_open(int fd, size_t cpu_limit, const struct trace_options *options);

/* Each of these returns false when the trace cannot go on: trace_errno() says why.  */

/* The start of the trace.  */
bool trace_write_session(struct trace *trace, const struct trace_session *session);

/* What kernel addresses mean, as process 0, and its symbols where the layout has a place for
 * them.  */
bool trace_write_kernel(struct trace *trace, const struct kernel *kernel, uint64_t ticks);

/* A sample of thread, after what the trace does not have yet of its process.  The ids in *sample
 * are not used.  */
bool trace_write_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                        struct thread *thread);

/* What was lost on a CPU up to now, if that changed since the last time or always is set.  */
bool trace_write_loss(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                      bool always);

/* Functions of a process's code that is in no file, as lines "START SIZE NAME", where the layout
 * has a place for them.  */
bool trace_write_code(struct trace *trace, uint64_t ticks, uint64_t process_koid, const char *lines,
                      size_t size);

/* How the stacks ended that were found by unwind tables, where the layout has a place for it.  */
bool trace_write_stacks(struct trace *trace, uint64_t ticks, const struct unwinding_counts *counts);

/* Bring everything to the file; of a compressed trace, every frame that is a second old.  After a
 * failed write the file is cut behind the last whole record or frame, where that is possible.  */
bool trace_flush(struct trace *trace);

/* The same, and nothing is held back: also the frame of a compressed trace ends.  */
bool trace_finish(struct trace *trace);

/* errno of the failure, ENOMEM included; 0 if there was none.  */
int trace_errno(const struct trace *trace);

/* What the trace holds so far.  */
struct trace_totals {
    uint64_t bytes;
    uint64_t samples;
    uint64_t processes; /* with samples */
    uint64_t threads;
    uint64_t unmapped; /* mappings left out: a process has only 65,536 module numbers */
};
const struct trace_totals *trace_totals(const struct trace *trace);

/* Accepts NULL.  Does not flush.  */
void trace_close(struct trace *trace);

/* Remove the files that an earlier capture left in a folder of regions, and no others.  False with
 * errno if one is left.  */
bool trace_clear_regions(int folder_fd);

#endif /* CPU_TRACE_H */
