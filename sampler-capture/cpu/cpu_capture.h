/* cpu_capture.h - from rings to trace, in rounds.
 *
 * A round moves what the kernel wrote into the regions (samples) and a queue (side-band records),
 * puts what is safe in order of time over all CPUs, and writes it.  Safe is what is older than the
 * start of the previous round: by then it has reached its ring, so nothing older can follow.  The
 * rest waits for the next round.
 *
 * That is DRAIN_STREAMING.  In the other modes samples stay in their regions until capture_dump();
 * rounds only empty the rings, and see to it that side-band records do not pile up.  */
#ifndef CPU_CAPTURE_H
#define CPU_CAPTURE_H

#include "sampler-capture/cpu/cpu_trace.h"
#include "sampler-capture/cpu/drain.h"
#include "sampler-capture/cpu/jit.h"
#include "sampler-capture/cpu/leaves.h"
#include "sampler-capture/processes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAX_QUEUE (64U << 20) /* bytes of side-band records that wait */

/* Where a record that waits is.  */
struct capture_entry {
    uint64_t time_ns;
    size_t offset;
    uint32_t cpu_index; /* in drain.cpus */
    bool is_sample;     /* offset is in that CPU's region, else in the queue */
};

struct capture {
    struct drain *drain; /* borrowed */
    struct trace *trace; /* borrowed */
    struct process_table processes;
    struct jit jit; /* code of no file, and its names */
    uint8_t *queue; /* owned; side-band records as the kernel wrote them, back to back */
    size_t queue_used;
    size_t queue_capacity;
    struct capture_entry *order; /* owned; of the current round */
    size_t order_count;
    size_t order_capacity;
    uint64_t previous_start_ns;
    /* After losses of side-band records, what /proc says.  */
    uint64_t sideband_lost; /* loss.sideband and drain.sideband_full at the last loss */
    unsigned looks_due;     /* rounds that are still to look */
    uint64_t look_after_ns; /* not before: looking takes at most a tenth of the time */
    uint64_t looks;
    uint64_t broken; /* samples whose stack ends early: code without frame pointers */
    struct leaves leaves;
    uint64_t *missing; /* owned; koids of processes sampled without any mapping */
    size_t missing_count;
    size_t missing_capacity;
};

/* A capture of what is drained into trace.  It becomes the drain's listener.  */
void capture_init(struct capture *capture, struct drain *drain, struct trace *trace);

/* Put in what /proc said, in order with what the kernel says.  False when there is no memory.  */
bool capture_tell(struct capture *capture, const struct perf_record *record);

/* Whether a record that waits tells of a thread: its parent is attached.  */
bool capture_was_told_of(const struct capture *capture, uint32_t tid);

/* One round; the last one of a capture writes everything that is left, and the final losses.  False
 * when it cannot go on: trace_errno() says why, or, where that is 0, memory is out.  */
bool capture_round(struct capture *capture, bool last);

/* Write everything there is into another trace, and forget it: what a flight recorder does when it
 * is asked.  False as capture_round().  */
bool capture_dump(struct capture *capture, struct trace *trace);

void capture_release(struct capture *capture);

#endif /* CPU_CAPTURE_H */
