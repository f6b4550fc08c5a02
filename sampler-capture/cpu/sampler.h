/* sampler.h - zx_sampler_create() and its family for Linux.
 *
 * Facts: docs/formats/zx-sampler.md section 1; "section N" means a section of it.  The names,
 * states, rules and errors are Zircon's (generation G1 with the read call of G2); a thread is a
 * Linux thread id, and every sample is what section 3 says, with pid and tid for koids and
 * nanoseconds of CLOCK_MONOTONIC for ticks.
 *
 *     struct sampler_config config = { .period = 1000000, .buffer_size = 4 << 20 };
 *
 *     sampler_create_extra(0, &config, sizeof config, &extras, &sampler, &error);
 *     sampler_attach_target(sampler, &target);
 *     sampler_start(sampler);
 *     while (working)
 *         sampler_drain(sampler);    often enough: a ring holds a quarter of a second
 *     sampler_stop(sampler);
 *     sampler_close(sampler);
 *
 * Two differences: Zircon's interrupt handler writes regions; here the kernel writes rings, and
 * sampler_drain() moves them.  sampler_stop() does so too; a ring that overran meanwhile is counted
 * (sampler_loss()).  And there is no call that copies the regions: they are in this process, where
 * the session reads them in place (sampler_drain_of()).
 *
 * There is one session a process at a time, as there is one in Zircon.  Calls come from one
 * thread.  */
#ifndef CPU_SAMPLER_H
#define CPU_SAMPLER_H

#include "sampler-capture/cpu/drain.h"
#include "sampler-capture/cpu/perf_events.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SAMPLER_MIN_PERIOD_NS   10000      /* ZX_SAMPLER_MIN_PERIOD */
#define SAMPLER_MAX_BUFFER_SIZE (1U << 30) /* ZX_SAMPLER_MAX_BUFFER_SIZE, for each CPU */
#define SAMPLER_DISCIPLINE_NONE 0          /* ZX_IOB_DISCIPLINE_TYPE_NONE */

/* ---- Status ---- */

/* The errors of section 1; sampler_status_entry() gives their numbers.  */
enum sampler_status {
    SAMPLER_OK = 0,
    SAMPLER_NOT_SUPPORTED = 1,  /* the kernel has no perf events */
    SAMPLER_NO_MEMORY = 2,      /* also: no descriptors, no memory that may be locked */
    SAMPLER_INVALID_ARGS = 3,   /* options, config or buffer break a rule */
    SAMPLER_BAD_HANDLE = 4,     /* not the session there is, or no such thread */
    SAMPLER_BAD_STATE = 5,      /* no session at all, or not in this state */
    SAMPLER_ALREADY_EXISTS = 6, /* there is a session */
    SAMPLER_ACCESS_DENIED = 7,  /* kernel.perf_event_paranoid, or somebody else's thread */
    SAMPLER_STATUSES = 8,
};

struct sampler_status_entry {
    const char *name; /* "ZX_ERR_BAD_STATE" */
    int zx_status;    /* -20 */
    int linux_errno;  /* EBUSY, ... */
};

/* One row of the table; valid statuses only.  */
const struct sampler_status_entry *sampler_status_entry(enum sampler_status status);

/* ---- Session ---- */

/* zx_sampler_config_t: 24 bytes.  */
struct sampler_config {
    int64_t period;               /* nanoseconds of CPU time, at least SAMPLER_MIN_PERIOD_NS */
    uint64_t buffer_size;         /* bytes a CPU, rounded up to pages; 1..SAMPLER_MAX_BUFFER_SIZE */
    uint64_t iobuffer_discipline; /* SAMPLER_DISCIPLINE_NONE */
};

struct sampler;

/* Configured to Running, and back.  Start after stop appends.  SAMPLER_BAD_HANDLE or
 * SAMPLER_BAD_STATE.  */
enum sampler_status sampler_start(struct sampler *sampler);
enum sampler_status sampler_stop(struct sampler *sampler);

/* Stops and destroys.  Accepts NULL.  */
void sampler_close(struct sampler *sampler);

/* ---- What Linux adds ---- */

/* Move what the kernel has written up to now into the regions.  A CPU whose region is full samples
 * no more.  SAMPLER_BAD_HANDLE or
 * SAMPLER_NO_MEMORY.  */
enum sampler_status sampler_drain(struct sampler *sampler);

/* What was lost up to now.  */
struct loss sampler_loss(const struct sampler *sampler);

/* Why the last call failed, in words, where the kernel was the reason; "" otherwise.  */
const char *sampler_message(const struct sampler *sampler);

/* ---- For a session on top (cpu_session.h) ---- */

struct sampler_extras {
    enum drain_mode mode;
    uint32_t max_frames; /* of the kernel's walk by frame pointers */
    /* How much of each stack is copied, so that callers are found by unwind tables, then at most
     * max_unwound of them; nothing: by frame pointers.  */
    struct copies_sizes copies;
    uint32_t max_unwound;
    const struct counter *counter; /* NULL: the clock, with the period of the config; borrowed */
    uint64_t counter_period;
    bool kernel;   /* kernel frames too */
    bool sideband; /* tell of mappings, names, forks and exits: to the listener of the drain */
};

/* zx_sampler_create() with more to choose; Zircon's choice is DRAIN_ONESHOT with REGION_MAX_FRAMES.
 * Checks in the order of section 1: options not 0, config_size not that of the struct, discipline,
 * buffer_size, period: SAMPLER_INVALID_ARGS; then SAMPLER_ALREADY_EXISTS, SAMPLER_NO_MEMORY,
 * SAMPLER_NOT_SUPPORTED, SAMPLER_ACCESS_DENIED.  The session is Configured.  error, where the
 * kernel was the reason, says why: a message is there even when there is no sampler.  */
enum sampler_status sampler_create_extra(uint64_t options, const struct sampler_config *config,
                                         size_t config_size, const struct sampler_extras *extras,
                                         struct sampler **out, struct events_error *error);

/* Sample a target, before or after start.  There is no detach: a thread is sampled until it ends.
 * SAMPLER_BAD_STATE (no session), SAMPLER_BAD_HANDLE (also: no such thread),
 * SAMPLER_ACCESS_DENIED or SAMPLER_NO_MEMORY.  */
enum sampler_status sampler_attach_target(struct sampler *sampler,
                                          const struct events_target *target);

/* Borrowed until close.  */
struct drain *sampler_drain_of(struct sampler *sampler);

/* The ring that samples of a period need, at most half a region: a quarter of a second of the
 * deepest stacks.  */
size_t sampler_ring_size(uint64_t period_ns, size_t region_size, uint32_t max_frames);

/* The same where stack_size bytes of the stack are copied into each sample: they do not reach the
 * region.  */
size_t sampler_stack_ring_size(uint64_t period_ns, uint32_t stack_size);

/* NULL: callers are found by frame pointers.  Borrowed until close.  */
const struct unwinding *sampler_unwinding(const struct sampler *sampler);

#endif /* CPU_SAMPLER_H */
