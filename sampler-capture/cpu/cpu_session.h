/* cpu_session.h - the Session of fuchsia.cpu.profiler for Linux, on top of the sampler.
 *
 * Facts: docs/formats/zx-sampler.md section 4.  Configure says what to sample and where to, Start
 * begins, Stop ends and tells what there is, Reset forgets; states, the order of checks and the
 * numbers of errors are Fuchsia's.
 *
 *     session_open(&session);
 *     session_configure(session, &config);            Unconfigured -> Stopped
 *     session_start(session, 0);                      Stopped -> Running
 *     while (working)
 *         session_round(session);                     each session_round_ms(), or earlier
 *     session_stop(session, &result);                 Running -> Stopped
 *     session_close(session);
 *
 * What Linux has instead: the output socket is a file descriptor; a task's koid is a process or
 * thread id; a job is a process and all that descend from it; a component to launch is a held child
 * process that is about to exec (struct command).  */
#ifndef CPU_SESSION_H
#define CPU_SESSION_H

#include "sampler-capture/cpu/cpu_trace.h"
#include "sampler-capture/cpu/leaves.h"
#include "sampler-capture/cpu/sampler.h"
#include "sampler-capture/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Errors of Configure: the numbers are those of SessionConfigureError.  */
enum session_error {
    SESSION_OK = 0,
    SESSION_BAD_SOCKET = 1,             /* no output */
    SESSION_BAD_STATE = 2,              /* not in the state that the call needs */
    SESSION_INVALID_CONFIGURATION = 3,  /* unknown kinds, or none of the tasks exists */
    SESSION_MISSING_SAMPLE_CONFIGS = 4, /* no sample spec */
    SESSION_MISSING_TARGET_CONFIGS = 5, /* no target */
    SESSION_MISSING_COMPONENT_URL = 6,  /* a launch of nothing */
    /* What ends the channel instead of being answered; session_message() says why.  */
    SESSION_INVALID_ARGS = 7, /* Start: not exactly one spec by time, by a strategy we have */
    SESSION_REFUSED = 8,      /* the sampler refused: session_message() says why */
    SESSION_WRITE_FAILED = 9, /* the output: session_errno() */
    SESSION_NO_MEMORY = 10,
};

/* Start answers with numbers of its own: SessionStartError.BAD_STATE is 1.  */
#define SESSION_START_BAD_STATE 1

enum session_timebase { /* CounterId */
                        SESSION_NANOSECONDS = 0,
                        SESSION_CYCLES = 1,
                        SESSION_INSTRUCTIONS_RETIRED = 2,
                        SESSION_BRANCHES_PREDICTED = 3,
                        SESSION_BRANCHES_MISPREDICTED = 4,
};

enum session_strategy { /* CallgraphStrategy */
                        SESSION_STRATEGY_NONE = 0,
                        SESSION_STRATEGY_DWARF = 1,
                        SESSION_STRATEGY_LAST_BRANCH_RECORD = 2,
                        SESSION_STRATEGY_SHADOW_CALL_STACK = 3,
                        SESSION_STRATEGY_FRAME_POINTER = 4,
                        /* Beyond Fuchsia's: by tables, with large copies of stacks only where
                         * programs keep no frame pointers; by frame pointers on machines whose
                         * tables are not read.  */
                        SESSION_STRATEGY_AUTO = 100,
};

struct session_sampling { /* SamplingConfig */
    uint64_t period_ns;   /* 0: 10 ms */
    enum session_timebase timebase;
    enum session_strategy strategy;
};

enum session_task_kind {
    SESSION_PROCESS = 1, /* its threads, and those it makes */
    SESSION_THREAD = 2,
    SESSION_JOB = 3, /* a process and all it has started and will start */
    SESSION_SYSTEM_WIDE = 4,
    SESSION_LAUNCH = 5, /* a child that waits to exec, and all it starts */
};

struct session_task {
    enum session_task_kind kind;
    pid_t id; /* means nothing for SESSION_SYSTEM_WIDE */
};

struct session_config {
    int output; /* descriptor, borrowed; -1: none */
    const struct session_sampling *samplings;
    size_t sampling_count;
    const struct session_task *tasks; /* copied */
    size_t task_count;

    /* Beyond Fuchsia's.  */
    enum drain_mode mode;
    /* Sample after each counter_period events, not by time; NULL: by time.  Borrowed.  */
    const struct counter *counter;
    uint64_t counter_period;
    bool kernel;                /* kernel frames too */
    uint32_t stack_size;        /* bytes of stack for SESSION_STRATEGY_DWARF and AUTO; 0: 32 KiB */
    struct trace_options trace; /* layout and so on */
    const struct trace_session *about; /* period, frames and clock are filled in; borrowed */
    struct keeper *keeper;             /* of the modules' files; borrowed; NULL: none */
};

enum session_state {
    SESSION_UNCONFIGURED,
    SESSION_STOPPED,
    SESSION_RUNNING,
};

/* What was lost on one CPU.  */
struct session_cpu_loss {
    unsigned cpu;
    struct loss loss;
};

/* SessionResult, and what Linux can say besides.  Sample times are absent, as with kernel sampling
 * on Fuchsia.  */
struct session_result {
    uint64_t samples_collected;
    const uint64_t *missing_process_mappings; /* koids with samples and without modules; borrowed */
    size_t missing_count;
    struct loss loss;                          /* on all CPUs */
    const struct session_cpu_loss *cpu_losses; /* of CPUs that lost something; borrowed */
    size_t cpu_loss_count;
    struct trace_totals totals;
    uint64_t looks;  /* times that mappings were read again after a loss */
    uint64_t broken; /* samples whose stack ends early */
    /* With SESSION_STRATEGY_FRAME_POINTER: samples in modules that keep none.  */
    struct leaf_result frameless;
    /* By unwind tables; else no stacks are counted.  */
    struct unwinding_counts unwound;
    struct cli_cuts cuts;                   /* what cut most stacks; its names are borrowed */
    uint32_t stack_size, wanted_stack_size; /* as memory that may be locked allowed, and not */
    uint64_t unplaced;                      /* mappings whose file could not tell their vaddr */
    uint64_t mappings_dropped;              /* for want of room */
    size_t region_size;
    uint64_t period_ns;            /* 0: by a counter, */
    const struct counter *counter; /* which is this, borrowed, */
    uint64_t counter_period;       /* after so many events */
    uint32_t max_frames;
    bool kernel_hidden; /* kernel frames have no names: kernel.kptr_restrict */
};

struct session;

/* NULL when there is no memory.  */
struct session *session_open(void);

/* Checks in the order of section 4: state, output, targets, sample specs, kinds and existence.
 * Tasks that do not exist are skipped as long as one does.  */
enum session_error session_configure(struct session *session, const struct session_config *config);

/* Sample into buffers of buffer_size bytes a CPU; 0: 8 MiB.  After SESSION_REFUSED and the like the
 * session is still Stopped.  */
enum session_error session_start(struct session *session, size_t buffer_size);

/* Write what there is to the output now: after session_start() that is what the trace begins with,
 * and after it a reader can read what was captured, whenever the capture is killed.  Status as of
 * session_round().  */
enum session_error session_flush(struct session *session);

/* One more target while Running: SESSION_BAD_STATE, SESSION_INVALID_CONFIGURATION (it does not
 * exist), SESSION_REFUSED, SESSION_NO_MEMORY.  */
enum session_error session_add(struct session *session, const struct session_task *task);

/* Empty the kernel's rings and, when streaming, write what is due.  SESSION_BAD_STATE,
 * SESSION_WRITE_FAILED or SESSION_NO_MEMORY.  */
enum session_error session_round(struct session *session);

/* How many milliseconds after a round the next one is due, if no ring is a quarter full before.
 * It is due sooner where stacks are copied and nearly fill their copies: only when the rings are
 * emptied does the capture see that stacks have become deeper, and make the copies larger.  */
int session_round_ms(const struct session *session);

/* A flight recorder's snapshot: everything held is written to output, a trace of its own, and
 * forgotten.  */
enum session_error session_dump(struct session *session, int output);

/* Write what is left and fill *result, which borrows from the session until its next start, reset
 * or close.  Also after a failed write or want of memory the result is filled.  */
enum session_error session_stop(struct session *session, struct session_result *result);

/* To Unconfigured, from any state; what was not written is lost.  */
void session_reset(struct session *session);

/* Why the last call failed, a sentence without a final dot; "" when there is no more to say.  */
const char *session_message(const struct session *session);
int session_errno(const struct session *session);

/* The CPUs' rings, for poll(): fill fds, room for capacity, and return how many there are.  */
size_t session_fds(const struct session *session, int *fds, size_t capacity);

void session_close(struct session *session); /* accepts NULL */

#endif /* CPU_SESSION_H */
