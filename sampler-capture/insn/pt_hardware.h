/* pt_hardware.h - Intel PT of this machine: the PMU "intel_pt" of perf_event_open(2), whose packets
 * the kernel writes into AUX areas.
 *
 * The events are those of one command and all that it starts: in mode CPU, one per CPU, inherited;
 * in mode THREAD one for a thread, of which the kernel inherits none.  They are enabled by the
 * command's exec.
 *
 * Not tested on hardware yet; "make check-pt" does so.  */
#ifndef INSN_PT_HARDWARE_H
#define INSN_PT_HARDWARE_H

#include "sampler-capture/insn/hardware.h"
#include "sampler-capture/insn/insn_filter.h"

#include <fxt/insn.h>

#include <linux/perf_event.h>

#define PT_DEVICE "/sys/bus/event_source/devices/intel_pt"

/* What the kernel says about the PMU.  */
struct pt_facts {
    uint32_t type; /* of perf_event_attr */
    struct insn_abilities abilities;
    unsigned filters;           /* how many ranges there may be */
    struct insn_config decoder; /* what a decoder needs; family, model and stepping included */
};

/* Read the folder of the PMU (PT_DEVICE).  False: there is no PT that can be used, for the reason
 * in message.  */
bool pt_read_facts(const char *folder, struct pt_facts *out, char *message, size_t size);

/* IA32_RTIT_CTL for the kind of timing, from what the processor can do.  */
uint64_t pt_choose_ctl(const struct pt_facts *facts, enum insn_timing timing,
                       bool no_return_compression);

/* What to do about a failure of perf_event_open(), or of the mmap() of its buffer, to be put after
 * the cause; "" if nothing is known.  */
const char *pt_remedy(int cause, bool is_mmap);

/* The event of a buffer.  */
void pt_describe_event(const struct pt_facts *facts, const struct insn_buffer_config *config,
                       bool is_inherited, struct perf_event_attr *out);

/* Filters as PERF_EVENT_IOC_SET_FILTER takes them; owned by the caller.  NULL: no memory.  */
char *pt_filter_text(const struct filter *filter);

struct pt_buffer;

struct pt_hardware {
    struct insn_hardware hardware; /* for a controller */
    struct pt_facts facts;
    const char *filter;        /* borrowed; NULL: none */
    pid_t pid;                 /* the command, which waits for its exec */
    bool by_cpu;               /* mode CPU */
    struct pt_buffer *buffers; /* owned */
    size_t count;
    bool was_stopped;
    char message[192]; /* why the last call failed; "" if the kernel is not the reason */
};

/* For count buffers.  False: no memory.  pt must stay where it is.  */
bool pt_hardware_init(struct pt_hardware *pt, const struct pt_facts *facts, size_t count);
void pt_hardware_release(struct pt_hardware *pt); /* after its controller */

/* From TSC to nanoseconds of the kernel's: the numbers of docs/insntrace.md, of the first buffer.
 * False: the kernel does not tell them.  */
bool pt_clock(const struct pt_hardware *pt, uint64_t *shift, uint64_t *mult);

/* How often packets were dropped since the last call because the buffer was full.  */
uint64_t pt_truncated(struct pt_hardware *pt, uint32_t descriptor);

/* The descriptor to poll for a buffer; -1: none.  */
int pt_poll_fd(const struct pt_hardware *pt, uint32_t descriptor);

#endif /* INSN_PT_HARDWARE_H */
