/* capture.h - from rings to trace, in rounds.
 *
 * A round moves what the kernel wrote into the regions (samples) and a queue (side-band records),
 * puts what is safe in order of time over all CPUs, and writes it.  Safe is what is older than the
 * start of the previous round: by then it has reached its ring, so nothing older can follow.  The
 * rest waits for the next round.  */
#ifndef CPU_CAPTURE_H
#define CPU_CAPTURE_H

#include "sampler-capture/cpu/events.h"
#include "sampler-capture/cpu/processes.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAX_QUEUE (64U << 20) /* bytes of side-band records that wait */

/* Where a record that waits is.  */
struct capture_entry {
    uint64_t time_ns;
    size_t offset;
    uint32_t cpu_index; /* in events.cpus */
    bool is_sample;     /* offset is in that CPU's region, else in the queue */
};

struct capture_cpu {
    struct region region;
    struct trace_loss loss;
    uint64_t told; /* losses that its rings told of, part of loss.ring */
    bool active;   /* its rings held something */
};

struct capture {
    struct events *events;    /* borrowed */
    struct trace *trace;      /* borrowed */
    struct capture_cpu *cpus; /* owned; one for each of events.cpus */
    struct process_table processes;
    uint8_t *queue; /* owned; side-band records as the kernel wrote them, back to back */
    size_t queue_used;
    size_t queue_capacity;
    struct capture_entry *order; /* owned; of the current round */
    size_t order_count;
    size_t order_capacity;
    uint64_t previous_start_ns;
    uint64_t broken; /* samples whose stack ends early: code without frame pointers */
};

/* The ring that the samples of a period need, at most half a region: a quarter of a second of the
 * deepest stacks.  */
size_t capture_ring_size(uint64_t period_ns, size_t region_size);

/* A capture of events into trace with regions of region_size bytes.  False when there is no memory;
 * capture_release() then frees what there is.  */
bool capture_init(struct capture *capture, struct events *events, struct trace *trace,
                  size_t region_size);

/* One round; the last writes everything that is left, and the final losses.  False when it cannot
 * go on: trace_errno() says why, or, where that is 0, memory is out.  */
bool capture_round(struct capture *capture, bool last);

/* Losses of all CPUs added up.  */
struct trace_loss capture_loss(const struct capture *capture);

void capture_release(struct capture *capture);

#endif /* CPU_CAPTURE_H */
