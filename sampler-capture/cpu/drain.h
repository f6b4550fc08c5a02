/* drain.h - from the kernel's rings into regions.
 *
 * Samples go into the region of their CPU; what else the kernel tells of tasks goes to whoever asks
 * for it.  What could not be kept is counted by cause.  */
#ifndef CPU_DRAIN_H
#define CPU_DRAIN_H

#include "sampler-capture/cpu/perf_events.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/unwinding.h"
#include "sampler-capture/perf_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples that are not kept, by cause.  Counts only ever grow.  */
struct loss {
    uint64_t ring;        /* the kernel's ring of samples was full */
    uint64_t sideband;    /* that of names and mappings was */
    uint64_t throttled;   /* times the kernel stopped an event until the next tick */
    uint64_t region_full; /* the region was full */
    uint64_t unreadable;  /* no user stack */
    uint64_t exited;      /* the thread had given up its ids */
    uint64_t stopped;     /* 1: it sampled no more once its region was full (DRAIN_ONESHOT); summed
                           * up, how many CPUs did */
};

/* Total of all causes; stopped is none, but why there may be more than that.  */
uint64_t loss_total(const struct loss *loss);

/* What happens when a region is full (docs/capture.md).  */
enum drain_mode {
    DRAIN_STREAMING, /* samples are dropped and counted until somebody makes room */
    DRAIN_ONESHOT,   /* its CPU samples no more, as in Zircon */
    DRAIN_CIRCULAR,  /* the older half is forgotten */
};

struct drain_cpu {
    struct region region;
    struct loss loss;
    /* Losses that its rings told of, part of loss.ring and loss.sideband.  */
    uint64_t told, told_sideband;
    bool active;   /* its rings held something */
    bool stopped;  /* DRAIN_ONESHOT: its region is full */
    bool has_next; /* its ring has a sample that waits for older ones of other rings */
    struct perf_record next;
};

/* Takes one side-band record: its bytes as the kernel wrote them, and what they say.  False ends
 * the drain: no memory.  */
typedef bool (*drain_sideband_fn)(void *context, struct drain_cpu *cpu, const uint8_t *bytes,
                                  size_t size, const struct perf_record *record);

struct drain {
    struct events *events; /* borrowed */
    enum drain_mode mode;
    struct drain_cpu *cpus; /* owned; one for each of events.cpus */
    /* How often a ring of names and mappings was found full.  More may have been lost then, which
     * the ring tells with the next record only.  */
    uint64_t sideband_full;
    drain_sideband_fn sideband; /* NULL: such records are not wanted */
    void *context;
    struct unwinding *unwinding; /* borrowed; finds the callers in samples, NULL: the kernel does */
    size_t max_frames;           /* of a sample */
    uint64_t previous_ns;        /* when the drain before began, if there is an unwinding */
};

/* Regions of region_size bytes.  False when there is no memory; drain_release() then frees what
 * there is.  */
bool drain_init(struct drain *drain, struct events *events, enum drain_mode mode,
                size_t region_size);

/* Let an unwinding find callers, at most max_frames of a sample.  Before the first drain.  */
void drain_unwind(struct drain *drain, struct unwinding *unwinding, size_t max_frames);

/* Move what the kernel has written up to now.  False when there is no memory.  */
bool drain_all(struct drain *drain);

/* Add what was lost behind the last records of the rings: once, at the end.  */
void drain_count_untold(struct drain *drain);

/* Losses of all CPUs added up.  */
struct loss drain_loss(const struct drain *drain);

void drain_release(struct drain *drain);

#endif /* CPU_DRAIN_H */
