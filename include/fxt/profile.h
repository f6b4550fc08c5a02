/* profile.h - the meaning of a trace: samples, stacks, spans; as a profile, as pprof, as folded
 * stacks.
 *
 * This header is the manual of libprofile.  It has four parts, each based on the one before:
 *
 *   stacks    strings, modules, frames and call sites, each stored once
 *   ingest    turns FXT records into calls of one sink: process, thread, mapping, sample, heap
 *             allocation and release, span, loss, and the timeline: slices, flows, counters,
 *             scheduling, logs, objects
 *   profile   a sink that adds up samples and slices; then symbolizes, then filters
 *   codec     writes a profile as pprof, folded stacks or a table
 *
 *     profile_open(&options, &profile, &error);
 *     profile_sink_of(profile, &sink);
 *     profile_ingest_open(&sink, profile_stacks_of(profile), NULL, &ingest, &error);
 *     while (fxt_reader_next(reader, &record, &fxt_error) == FXT_OK)
 *         profile_ingest_record(ingest, record, &error);
 *     profile_ingest_finish(ingest, &error);
 *     profile_symbolize(profile, session, &error);
 *     profile_write_pprof(profile, PROFILE_CPU, &pprof, write, context, &error);
 *
 * Memory use grows with the number of distinct stacks, threads and mappings, not with the number of
 * samples.  The output depends only on the input: not on the clock, the locale, hash seeds or the
 * order in which equal items were found.
 *
 * The library does not print or exit.  A handle must be used by one thread at a time.  */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>
#include <fxt/symbolize.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROFILE_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and are never reused.  */
enum profile_status {
    PROFILE_OK = 0,
    PROFILE_NO_MEMORY = 1, /* an allocation failed */
    PROFILE_IO = 2,        /* writing or a temporary file failed; see error->system_errno */
    PROFILE_INVALID = 3,   /* an argument violates the contract */
    PROFILE_LIMIT = 4,     /* more than 2^32 - 2 distinct strings, frames, call sites, ... */
    PROFILE_STOPPED = 5,   /* a callback requested a stop */
    PROFILE_MALFORMED = 6, /* the input is not in the requested format */
};

/* An error, described for people.  The caller owns it; a function that takes one accepts NULL.  It
 * is written on every status but PROFILE_OK.  */
struct profile_error {
    enum profile_status status;
    int system_errno;
    char message[240]; /* a phrase: no newline, no final dot */
};

/* ---- Stacks: each item stored once ---- */

/* Ids count up from 1 in the order in which items are first found.  0 is "none": the empty string,
 * no module, and the empty stack that is the parent of every root.  An id belongs to its struct
 * profile_stacks.  */
typedef uint32_t profile_id;

struct profile_stacks;

PROFILE_API enum profile_status profile_stacks_open(struct profile_stacks **out,
                                                    struct profile_error *error);
PROFILE_API void profile_stacks_close(struct profile_stacks *stacks); /* accepts NULL */

/* An ELF object, the same in every process.  */
struct profile_module {
    profile_id name;         /* string: its path, or "[vdso]", "[anon]", ... */
    uint8_t build_id[64];    /* longer ones are truncated */
    uint8_t build_id_length; /* 0: unknown */
};

/* One position in source: a function, and a place in it.  A frame with several lines holds inlined
 * functions, innermost first; the last one is the real function (pprof's Location.line).  */
struct profile_line {
    profile_id function;    /* string: readable name */
    profile_id system_name; /* string: linkage name; 0 if it is the same or unknown */
    profile_id file;        /* string */
    uint32_t line;
    uint32_t column;
    uint32_t start_line;
};

/* A frame that has an address is identified by (module, vaddr); a frame without one is identified
 * by its lines and, if it is known, its module (vaddr is 0).  Frames without an address are names
 * from span traces and from files of other profilers, and placeholders for addresses without a
 * meaning: "[truncated]", the root of a stack that was truncated; "[anon]", code in no module
 * (JIT); "[unknown]", an address of a process, or of the kernel, without any known mapping.  */
struct profile_frame {
    profile_id module;
    uint64_t vaddr; /* the lookup address, relative to the module */
    bool has_address;
    uint32_t line_count; /* 0: not symbolized, or nothing found */
    /* innermost first; borrowed until the lines of the frame are replaced */
    const struct profile_line *lines;
};

/* A stack is one integer: the call site of its leaf.  */
struct profile_callsite {
    profile_id parent; /* the caller's; 0 for a root */
    profile_id frame;
    uint32_t depth; /* the number of callers: 0 for a root */
};

/* Return the id of an item, and add the item if it is new.  All return PROFILE_OK,
 * PROFILE_NO_MEMORY or PROFILE_LIMIT.  */
PROFILE_API enum profile_status profile_stacks_string(struct profile_stacks *stacks,
                                                      const char *bytes, size_t length,
                                                      profile_id *out, struct profile_error *error);
PROFILE_API enum profile_status profile_stacks_module(struct profile_stacks *stacks,
                                                      const struct profile_module *module,
                                                      profile_id *out, struct profile_error *error);
PROFILE_API enum profile_status profile_stacks_address_frame(struct profile_stacks *stacks,
                                                             profile_id module, uint64_t vaddr,
                                                             profile_id *out,
                                                             struct profile_error *error);
PROFILE_API enum profile_status profile_stacks_named_frame(struct profile_stacks *stacks,
                                                           const struct profile_line *lines,
                                                           size_t count, profile_id *out,
                                                           struct profile_error *error);
/* A frame without an address whose code is known to be of a module; module 0 is unknown.  */
PROFILE_API enum profile_status profile_stacks_named_frame_in(struct profile_stacks *stacks,
                                                              profile_id module,
                                                              const struct profile_line *lines,
                                                              size_t count, profile_id *out,
                                                              struct profile_error *error);
PROFILE_API enum profile_status profile_stacks_callsite(struct profile_stacks *stacks,
                                                        profile_id parent, profile_id frame,
                                                        profile_id *out,
                                                        struct profile_error *error);

/* Set the lines of an address frame, which are copied and replace older ones.  Returns PROFILE_OK,
 * PROFILE_NO_MEMORY or PROFILE_INVALID.  */
PROFILE_API enum profile_status profile_stacks_set_lines(struct profile_stacks *stacks,
                                                         profile_id frame,
                                                         const struct profile_line *lines,
                                                         size_t count, struct profile_error *error);

/* The number of items: valid ids are 1..count.  */
PROFILE_API profile_id profile_stacks_module_count(const struct profile_stacks *stacks);
PROFILE_API profile_id profile_stacks_frame_count(const struct profile_stacks *stacks);
PROFILE_API profile_id profile_stacks_callsite_count(const struct profile_stacks *stacks);

/* Return one item.  A string is returned as a pointer (NUL-terminated; length may be NULL) that is
 * valid as long as stacks; id 0 returns "".  The others are returned by value; id 0 returns zeros.
 * The caller must pass only ids that were returned before.  */
PROFILE_API const char *profile_stacks_text(const struct profile_stacks *stacks, profile_id string,
                                            size_t *length);
PROFILE_API struct profile_module profile_stacks_get_module(const struct profile_stacks *stacks,
                                                            profile_id module);
PROFILE_API struct profile_frame profile_stacks_get_frame(const struct profile_stacks *stacks,
                                                          profile_id frame);
PROFILE_API struct profile_callsite profile_stacks_get_callsite(const struct profile_stacks *stacks,
                                                                profile_id callsite);

/* ---- Ingest: from records to meaning ---- */

/* The description that a capture contains of itself (instant fxt.capture/session), or its clock
 * alone (initialization record of four words).  Members that it does not contain are 0.  Strings
 * are borrowed for the call.  */
struct profile_capture {
    uint64_t period_ns;        /* CPU time between samples; if 0, samples have no nanoseconds */
    struct fxt_string event;   /* what samples count in place of time: "instructions" */
    uint64_t event_period;     /* events between samples */
    uint32_t max_frames;       /* a stack of that many frames was truncated at its root */
    int64_t realtime_ns;       /* Unix time ... */
    int64_t monotonic_ns;      /* ... of this timestamp */
    bool has_clock;            /* the two above are known */
    struct fxt_string command; /* the captured command */
    struct fxt_string arch;    /* "x86_64", "aarch64", ... */
    struct fxt_string kernel;  /* its release, "6.1.0-18-amd64" */
    struct fxt_string cpu_model;
};

/* A process.  Reported when it is first found, and again whenever its name becomes known or
 * changes.  */
struct profile_process {
    uint32_t id;            /* counts from 1; the timeline uses it */
    uint64_t koid;          /* pid | incarnation << 32 in our captures */
    struct fxt_string name; /* length 0: unknown */
};

/* A thread, reported likewise.  A name that came without its process is reported by
 * profile_ingest_finish().  */
struct profile_thread {
    uint32_t id;         /* counts from 1; the timeline uses it */
    uint32_t process_id; /* its process was reported before */
    uint64_t koid;
    uint64_t process_koid; /* 0 unknown */
    struct fxt_string name;
};

/* The address range of a module in a process, from now on.  */
struct profile_mapping {
    uint64_t process_koid; /* 0 is the kernel */
    profile_id module;
    uint64_t start; /* process address */
    uint64_t limit; /* first address after it; one less if that would be 2^64 */
    uint64_t vaddr; /* module-relative address of start */
    unsigned flags;
    bool has_time;
    int64_t ts_ns; /* time of the record; Fuchsia's profiler writes all mappings at the end */
};

/* One sample.  Its call site is provisional: it is resolved at the end (struct profile_sink,
 * callsites), when all mappings are known.  */
struct profile_sample {
    int64_t ts_ns;
    int32_t cpu; /* -1 unknown */
    uint64_t process_koid;
    uint64_t thread_koid;
    uint32_t thread_id; /* of struct profile_thread */
    uint32_t callsite;  /* provisional: 1..count */
    profile_id final;   /* the resolved call site; 0: not known yet, because a mapping is missing */
    uint64_t weight_ns; /* the capture's period; 0 unknown, or a sample of an event */
    uint32_t event;     /* of struct profile_event; 0: of the CPU's clock */
    uint64_t amount;    /* how much of the event the sample represents */
};

/* What samples count that are not of the CPU's clock: cycles, cache misses, page faults.  Reported
 * before the first sample of it.  Receivers without the member event get no such samples.  */
struct profile_event {
    uint32_t id;            /* counts from 1 in each trace */
    struct fxt_string name; /* "cycles" */
    struct fxt_string unit; /* "count" */
};

/* The samples of one stack and event in one process.  Reported by profile_ingest_finish() before
 * the call sites, and when the period changes.  There may be several for one process and call site;
 * add them up for the total of all samples.  */
struct profile_sample_sum {
    uint32_t process_id; /* of struct profile_process */
    uint32_t callsite;   /* provisional */
    uint64_t count;
    uint64_t weight_ns; /* of all together; 0 unknown, or samples of an event */
    uint32_t event;     /* as in struct profile_sample */
    uint64_t amount;    /* of all together */
    /* If the sink asks for sums of threads, these samples are of one thread; else 0.  */
    uint64_t process_koid, thread_koid;
    int64_t first_ns, last_ns; /* times of the first and last sample of all sums that are reported
                                * together */
};

/* What one thread did with one stack, by an instruction trace.  Reported by
 * profile_ingest_finish(), each pair of thread and stack once.  */
struct profile_executed {
    uint64_t process_koid;
    uint64_t thread_koid;
    profile_id callsite;   /* final; its leaf is the first instruction of a block */
    uint64_t instructions; /* executed in the leaf's function itself */
    uint64_t calls;        /* how often the leaf's function was entered there */
    uint64_t ns;           /* that the instructions took; not what system calls took */
};

/* One sampled allocation (docs/formats/memory-sampler.md sections 4 and 6).  A sampler with the
 * mean interval R takes an allocation of S bytes with probability p = 1 - e^(-S/R), so each sampled
 * allocation represents w = 1/p allocations.  The sums of the members objects and bytes are
 * estimates of the real numbers.  Over all n real allocations of S bytes the variance of that
 * estimate is n S^2 (1 - p) / p, in bytes.  */
struct profile_allocation {
    uint64_t id;   /* 1, 2, ... in this trace, in the order of its messages */
    bool has_time; /* false in a recorded stream of messages, which has no times: ts_ns is 0 */
    int64_t ts_ns;
    uint64_t process_koid;
    uint64_t thread_koid; /* 0 unknown */
    uint64_t address;
    uint64_t size_bytes;     /* as requested; may be 0 */
    uint64_t interval_bytes; /* R; 0: every allocation was recorded, so w is 1 */
    double objects;          /* w */
    double bytes;            /* size_bytes * w */
    uint32_t callsite;       /* provisional, see callsites below; 0: the message has no stack */
};

/* The end of an allocation that was reported before: the block was released.  Blocks that are still
 * in use when the trace ends have none.  Releases of unknown blocks are not reported but counted
 * (struct profile_notices).  */
struct profile_release {
    bool has_time;
    int64_t ts_ns;
    uint64_t process_koid;
    uint64_t thread_koid; /* the thread that released it; 0 unknown */
    uint32_t callsite;    /* provisional: the stack of the release; 0: no stack */
    /* The release is not in the trace.  It is assumed because the address was allocated again, and
     * it has the time of that allocation; the release happened earlier.  There is no call site.  */
    bool assumed;
    const struct profile_allocation *allocation; /* the allocation that it ends, as reported */
};

/* A block that is still in use when the trace ends.  */
struct profile_in_use {
    bool has_time; /* the trace has times, and so does the allocation */
    int64_t ts_ns; /* the last time of the trace */
    const struct profile_allocation *allocation; /* as reported */
};

/* One finished slice of a thread, as the span profile counts it.  Reported by
 * profile_ingest_finish(); the slices of one thread come in the order in which they were closed:
 * children before parents.  */
struct profile_span {
    int64_t start_ns;
    int64_t end_ns;  /* as recorded: a complete event may outlive its parent.  For a slice that
                       * never ended, the last time of the trace; for a begin that was closed
                       * because a slice around it ended, the end of that slice */
    int64_t self_ns; /* time in it outside children, which are first cut at their parent's end */
    uint64_t process_koid;
    uint64_t thread_koid;
    profile_id callsite; /* final: the stack of slice names, outermost first */
    bool unfinished;     /* no end was recorded */
};

/* An interval in which a thread had no CPU, as the off-CPU profile counts it.  Reported by
 * profile_ingest_finish() in the order of the ends.  A wait that a wakeup ends and the following
 * wait for a CPU are two intervals.  */
struct profile_off_cpu {
    int64_t start_ns;
    int64_t end_ns; /* if it still waited, the last time of the trace */
    uint64_t process_koid;
    uint64_t thread_koid;
    /* Final: the slices that were open at its start, outermost first, then the reason for the wait:
     * "[blocked]", "[runnable]", "[suspended]", "[state 9]".  Threads that have ended do not
     * wait.  */
    profile_id callsite;
};

/* ---- The timeline: each item once, in final form ----
 *
 * The timeline is made for a receiver that writes rows.  An item is reported once, never changes,
 * and refers only to items reported before.  Flows are the exception: they name slices that come
 * later.
 *
 * profile_ingest_record() reports args, counter, log and object, in file order.
 * profile_ingest_finish() reports first sched and thread_state, in the order in which they end, and
 * flow, in the order of arrival; then all slices, in the order in which they begin.
 *
 * Threads and processes are ids of struct profile_thread and profile_process; names are strings of
 * the stacks.  Names and arguments of ends are kept separate from those of begins.  */

/* Arguments of one event or object.  Items that are reported later refer to them by the number of
 * their set.  Sets increase from call to call, with gaps.  The arguments of counters and scheduling
 * records are reported as values.  */
struct profile_args {
    uint64_t set; /* never 0 */
    /* The ten types of FXT (and FXT_ARG_UNKNOWN: a name without a value), as in the record.  */
    const struct fxt_arg *args;
    const profile_id *names; /* of the args */
    size_t count;            /* 1..FXT_MAX_ARGS */
};

/* A track holds slices or counter values.  It is reported when it is first needed.  */
enum profile_track_kind {
    PROFILE_TRACK_THREAD = 0, /* a thread's slices and instants; they nest */
    /* Async slices of one (process, category, name).  Slices of different correlation ids may
     * overlap and then lie on several tracks; a new slice uses a track that is free.  */
    PROFILE_TRACK_ASYNC = 1,
    PROFILE_TRACK_COUNTER = 2, /* one series: (process, category, name, counter id, argument) */
};

struct profile_track {
    uint32_t id; /* counts from 1 */
    enum profile_track_kind kind;
    uint32_t process_id;
    uint32_t thread_id;  /* PROFILE_TRACK_THREAD; else 0 */
    profile_id category; /* 0 for PROFILE_TRACK_THREAD */
    profile_id name;     /* likewise */
    profile_id series;   /* PROFILE_TRACK_COUNTER: name of the argument */
    uint64_t counter_id; /* PROFILE_TRACK_COUNTER */
};

enum profile_slice_type {
    PROFILE_SLICE_DURATION = 0, /* begin and end, or complete */
    PROFILE_SLICE_INSTANT = 1,  /* takes no time; may have a parent, never children */
    PROFILE_SLICE_ASYNC = 2,
    PROFILE_SLICE_ASYNC_INSTANT = 3,
};

/* A slice and its position in the nest.  The parent of a slice of a thread is the slice that was
 * open when it began.  A slice may end after its parent, as recorded, and is not cut here.  Async
 * slices nest only if one begins while another of the same (process, category, name, correlation
 * id) is open.  */
struct profile_slice {
    uint64_t id;     /* counts from 1 in the order in which slices begin and are reported */
    uint64_t parent; /* id, reported before; 0 none */
    uint32_t depth;  /* 0: no parent */
    uint32_t track;
    uint32_t thread_id; /* the thread that began it; also for async slices */
    enum profile_slice_type type;
    int64_t start_ns;
    int64_t end_ns;      /* like in struct profile_span */
    bool unfinished;     /* no end was recorded: end_ns is the end of the trace */
    bool cut;            /* no end was recorded: end_ns is the end of the slice around it */
    profile_id category; /* of the begin */
    profile_id name;
    uint64_t args;           /* set; 0 none */
    uint64_t end_args;       /* set of the end event; 0 none */
    uint64_t correlation_id; /* async */
    uint64_t scope;          /* instants: enum fxt_scope or any other number */
};

/* One arrow of a flow, from its begin or a step to the next step or its end.  A flow is identified
 * by process and id.  A step or end in another process continues the flow if exactly one process
 * has a flow of that id open.  */
struct profile_flow {
    uint64_t id;       /* counts from 1 */
    uint64_t trace_id; /* as in the trace */
    uint64_t out;      /* slice that was open in the thread at the start of the arrow; 0: none */
    uint64_t in;       /* likewise, at its end */
    int64_t out_ns, in_ns;
    uint32_t out_thread_id, in_thread_id;
    profile_id category, name; /* of the begin */
    uint64_t out_args;         /* set of the event at the start of the arrow; 0 none */
    uint64_t in_args;
    bool step; /* it ends in a step: another arrow may follow */
};

/* One value of one series.  Only arguments of a counter that are numbers are reported; the others
 * are counted.  */
struct profile_counter {
    uint32_t track;
    uint32_t thread_id; /* the thread of the event */
    int64_t ts_ns;
    double value;
    const struct fxt_arg *exact; /* int32, uint32, int64, uint64 or double */
};

/* States of threads.  0 to 5 are those of the format (section 2.11), with one exception: a thread
 * that is switched out while running or new could continue, so its state is
 * PROFILE_THREAD_RUNNABLE.  */
enum profile_thread_state_kind {
    PROFILE_THREAD_NEW = 0,     /* never reported */
    PROFILE_THREAD_RUNNING = 1, /* reported by sched */
    PROFILE_THREAD_SUSPENDED = 2,
    PROFILE_THREAD_BLOCKED = 3,
    PROFILE_THREAD_DYING = 4,
    PROFILE_THREAD_DEAD = 5,
    /* 6..15 as in the record */
    PROFILE_THREAD_RUNNABLE = 16, /* waits for a CPU: preempted, or woken */
    PROFILE_THREAD_UNKNOWN = 17,  /* of a time on a CPU: the record of its end is missing */
};

/* A thread ran on a CPU.  Activity of a CPU before its first switch is unknown and is not
 * reported.  */
struct profile_sched {
    int64_t start_ns;
    int64_t end_ns; /* if it still ran, the last time of the trace */
    bool unfinished;
    uint32_t cpu;
    uint32_t thread_id; /* 0: the CPU was idle */
    /* The state in which it was switched out.  PROFILE_THREAD_UNKNOWN if unfinished, or if the
     * record that ended it names another thread because switches were lost.  */
    unsigned end_state;
    bool has_priority;
    int32_t priority; /* incoming_weight, or the legacy record's priority */
};

/* A thread did not run.  */
struct profile_thread_state {
    int64_t start_ns;
    int64_t end_ns; /* like in struct profile_sched */
    bool unfinished;
    uint32_t thread_id;
    unsigned state; /* enum profile_thread_state_kind; never running or unknown */
    /* PROFILE_THREAD_RUNNABLE after a wakeup: the CPU it was woken on and, if recorded, the
     * waker.  */
    bool woken;
    uint32_t waker_id; /* thread; 0 unknown, or an idle CPU: a timer */
    uint32_t waker_cpu;
};

struct profile_log {
    int64_t ts_ns;
    uint32_t thread_id;
    struct fxt_string message; /* borrowed for the call */
};

/* A kernel object (also those that name processes and threads), or an object of a process
 * (userspace object record).  The newest record of a koid, or of a (process, pointer), is
 * valid.  */
struct profile_object {
    bool userspace;
    unsigned type;    /* kernel objects: enum fxt_object_type and others */
    uint64_t koid;    /* kernel objects */
    uint64_t pointer; /* userspace objects */
    uint32_t
        process_id; /* userspace objects, and kernel objects with an argument process; 0 none */
    profile_id name;
    uint64_t args; /* set; 0 none */
};

/* How much of a process was in memory at most so far (counter memory/resident).  */
struct profile_resident {
    uint64_t process_koid;
    uint64_t peak_bytes;
};

/* What a capture lost, by cause (counters of category fxt.capture, and provider events).
 * Totals, reported once by profile_ingest_finish().  */
struct profile_loss {
    uint64_t ring;            /* the kernel's ring buffer overran */
    uint64_t throttled;       /* times the kernel throttled sampling */
    uint64_t region_full;     /* a per-CPU region was full */
    uint64_t unreadable;      /* the stack could not be read */
    uint64_t exited;          /* samples of threads that were just ending */
    uint64_t provider_events; /* "a buffer filled up" marks of providers, without those that
                               * trace_records has the number of */
    /* Messages of the memory sampler that the capture did not receive (counter
     * fxt.capture/heap_lost).  */
    uint64_t heap_allocations;
    uint64_t heap_frees;
    uint64_t heap_infos;     /* modules of a process */
    uint64_t heap_rejected;  /* malformed ones */
    uint64_t heap_no_memory; /* allocations that the process could not record for lack of memory */
    uint64_t heap_forgotten; /* blocks whose release could not be reported */
    uint64_t sideband;       /* the kernel's buffer of names and mappings overran */
    uint64_t stopped;        /* CPUs that stopped sampling when their region was full */
    uint64_t trace_records;  /* that did not fit into the trace buffers of programs */
};

/* One of these counters.  */
struct profile_loss_cause {
    const char *name;        /* of the member, as in the table loss of a store */
    const char *description; /* what the count is of: "samples whose stack could not be read" */
    const char *phrase;      /* for people, to print after the count, with a remedy if one is
                              * known: "time that the kernel throttled sampling: lower -F" if the
                              * count is 1, otherwise "times ..." */
    const char *counter;     /* its name in a trace, of category fxt.capture, and */
    const char *argument;    /* of its argument; NULL: provider events */
    uint64_t count;          /* may be 0 */
};

/* Fill in the counter with that index; the first index is 0.  Returns false if there are no
 * more.  */
PROFILE_API bool profile_loss_at(const struct profile_loss *loss, size_t index,
                                 struct profile_loss_cause *out);

/* The receiver of the ingest.  NULL members are not called, and data that only they need are not
 * computed.  If a member returns a status other than PROFILE_OK, the ingest ends with that status.
 * All arguments are borrowed for the call.  */
struct profile_sink {
    size_t size;   /* sizeof(struct profile_sink) */
    void *context; /* first argument of every call */
    enum profile_status (*capture)(void *context, const struct profile_capture *capture);
    enum profile_status (*process)(void *context, const struct profile_process *process);
    enum profile_status (*thread)(void *context, const struct profile_thread *thread);
    enum profile_status (*mapping)(void *context, const struct profile_mapping *mapping);
    enum profile_status (*sample)(void *context, const struct profile_sample *sample);
    enum profile_status (*span)(void *context, const struct profile_span *span);
    enum profile_status (*off_cpu)(void *context, const struct profile_off_cpu *wait);
    enum profile_status (*loss)(void *context, const struct profile_loss *loss);
    enum profile_status (*resident)(void *context, const struct profile_resident *resident);
    /* A piece of the kernel's symbols, text as in /proc/kallsyms (blobs "linux.kallsyms").  */
    enum profile_status (*kernel_symbols)(void *context, const char *text, size_t size);
    /* Called once, by profile_ingest_finish(): final[i] is the final call site of provisional call
     * site i, 1 <= i <= count.  */
    enum profile_status (*callsites)(void *context, const profile_id *final, uint32_t count);
    /* The timeline.  args is called for the items to which members other than NULL can refer.  */
    enum profile_status (*track)(void *context, const struct profile_track *track);
    enum profile_status (*args)(void *context, const struct profile_args *args);
    enum profile_status (*slice)(void *context, const struct profile_slice *slice);
    enum profile_status (*flow)(void *context, const struct profile_flow *flow);
    enum profile_status (*counter)(void *context, const struct profile_counter *counter);
    enum profile_status (*sched)(void *context, const struct profile_sched *sched);
    enum profile_status (*thread_state)(void *context, const struct profile_thread_state *state);
    enum profile_status (*log)(void *context, const struct profile_log *log);
    enum profile_status (*object)(void *context, const struct profile_object *object);
    /* Sampled blocks, in the order of the messages.  Every release ends one allocation that was
     * reported before, and each allocation is ended only once.  Call sites of both are provisional
     * and share their numbers with those of samples.  */
    enum profile_status (*allocation)(void *context, const struct profile_allocation *allocation);
    enum profile_status (*release)(void *context, const struct profile_release *release);
    /* Called by profile_ingest_finish(), before callsites, for each block still in use, by its
     * id.  */
    enum profile_status (*in_use)(void *context, const struct profile_in_use *in_use);
    enum profile_status (*sample_sum)(void *context, const struct profile_sample_sum *sum);
    enum profile_status (*executed)(void *context, const struct profile_executed *executed);
    /* NULL, or where the receiver describes its failures before it returns them: the error of the
     * ingest is then this one, if it has the same status.  */
    const struct profile_error *error;
    enum profile_status (*event)(void *context, const struct profile_event *event);
    bool sums_of_threads; /* sample_sum gets the samples of each thread apart */
};

/* Irregularities found by the ingest; they are counted and are never an error.  */
struct profile_notices {
    uint64_t truncated_stacks;   /* samples as deep as the capture's limit: [truncated] */
    uint64_t anonymous_frames;   /* frames of samples in no module, counted once for each sample */
    uint64_t unmapped_processes; /* processes with samples and without any mapping */
    uint64_t odd_payloads;       /* sampler stacks whose payload is not whole words */
    uint64_t odd_code_symbols;   /* lines of lists of functions that cannot be read, or too many */
    uint64_t stray_ends;         /* duration and async ends without a begin */
    uint64_t crossing_slices;    /* slices closed because one around them ended */
    uint64_t unfinished_slices;  /* begun and never ended */
    uint64_t deep_slices;        /* left out because 1,000,000 slices were open in their thread, or
                                  * as many async slices in the trace */
    uint64_t unknown_modules;    /* mappings of a module that is not in the trace */
    uint64_t bad_mappings;       /* empty ones, and ones that wrap around 2^64 */
    uint64_t stack_captures;     /* cpu_profiler/stack_sample blobs: raw stacks, not unwound for
                                  * lack of a session */
    uint64_t unhandled_records;  /* without a meaning for the sink: logs, empty stacks, ... */
    uint64_t untimed_messages;   /* allocations and releases without a time */
    uint64_t bad_messages;       /* of the memory sampler, malformed or without a member */
    uint64_t repeated_blocks;    /* allocated at an address in use: the release is missing */
    uint64_t unknown_frees;      /* releases of unknown blocks: allocated before, or too early */
    uint64_t blocks_left_out;    /* allocated while 2^26 sampled blocks were in use */
    uint64_t stray_flows;        /* steps and ends of flows that never began */
    uint64_t unfinished_flows;   /* begun and never ended, or left out with 1,000,000 flows open */
    uint64_t unbound_flows;      /* arrows that begin or end in no slice */
    uint64_t non_numeric_counters; /* arguments of counters that are not numbers: not reported */
    uint64_t perfetto_packets;     /* packets of Perfetto in blobs: not read */
    uint64_t insn_overflows;       /* of instruction traces: the processor lost packets */
    uint64_t insn_gaps;            /* stretches of packets that could not be decoded */
    uint64_t insn_uncoded;         /* of these, for lack of the code that ran */
    uint64_t event_samples;        /* of events that the receiver does not take, or that are not
                                    * described in the trace */
    /* Of cpu_profiler/stack_sample blobs: those that give no sample, ... */
    uint64_t bad_copies;       /* without registers of a known machine, or larger than 1 MiB */
    uint64_t copies_of_32_bit; /* of 32-bit code on arm64 */
    /* ... those that end early, ... */
    uint64_t cut_copies; /* memory that is not as long as it claims, or in too many pieces */
    /* ... and stacks whose outermost function was not reached, by cause.  */
    uint64_t short_copies;    /* the next address is beyond the copied memory */
    uint64_t untabled_copies; /* code without unwind table and frame pointer */
    uint64_t stray_copies;    /* a return address that is in no module */
    uint64_t refused_copies;  /* unwind tables that make no sense */
};

/* One of these counters.  */
struct profile_notice {
    const char *name;   /* of the member, as in the table damage of a store */
    const char *phrase; /* for people, to print after the count: "end of a duration that nothing
                         * began, ignored" if the count is 1, else "ends of durations ..." */
    const char *many;   /* the plural phrase, whatever the count is */
    uint64_t count;     /* may be 0 */
};

/* Fill in the counter with that index; the first index is 0.  Returns false if there are no
 * more.  */
PROFILE_API bool profile_notice_at(const struct profile_notices *notices, size_t index,
                                   struct profile_notice *out);

struct profile_ingest;

struct profile_ingest_options {
    size_t size; /* sizeof(struct profile_ingest_options) */
    /* Kernel-sampler stacks came from an arm64 machine, where Zircon itself subtracts 4 from the
     * first two entries (docs/formats/zx-sampler.md section 2).  Not needed for a capture that
     * contains its arch.  */
    bool arm64;
    const char *temporary_dir; /* for sorting long span traces; NULL: $TMPDIR, else /tmp */
    size_t sort_bytes; /* memory limit before a sorted run is written to the temporary file; 0:
                        * 64 MiB */
    /* Ingest only these processes (low 32 bits of their koid); pid_count 0: all.  Copied.  */
    const uint64_t *pids;
    size_t pid_count;
    const uint64_t *tids; /* only these threads, likewise; for blocks, those that allocated */
    size_t tid_count;
    /* The process of memory sampler messages that have none.  A recorded stream has none and comes
     * from a single process.  0: koid 1.  */
    uint64_t message_process;
    /* Where the code and the functions of instruction traces, and the unwind tables of raw stacks,
     * are found; borrowed until profile_ingest_close().  NULL: blobs insntrace/pt are not decoded,
     * and blobs cpu_profiler/stack_sample are not unwound.  */
    struct sym_session *session;
};

/* Open an ingest of one trace.  sink is copied; stacks is borrowed and must exist until
 * profile_ingest_close().  Returns PROFILE_OK, PROFILE_INVALID or PROFILE_NO_MEMORY.  */
PROFILE_API enum profile_status profile_ingest_open(const struct profile_sink *sink,
                                                    struct profile_stacks *stacks,
                                                    const struct profile_ingest_options *options,
                                                    struct profile_ingest **out,
                                                    struct profile_error *error);

/* Take one record, in file order.  The ingest keeps no reference to it.  */
PROFILE_API enum profile_status profile_ingest_record(struct profile_ingest *ingest,
                                                      const struct fxt_record *record,
                                                      struct profile_error *error);

/* End the trace: resolve addresses, close slices, report losses.  It must be called once, also for
 * a trace that was truncated.  */
PROFILE_API enum profile_status profile_ingest_finish(struct profile_ingest *ingest,
                                                      struct profile_error *error);

/* Complete after profile_ingest_finish().  Valid as long as the ingest.  */
PROFILE_API const struct profile_notices *profile_ingest_notices(
    const struct profile_ingest *ingest);

/* A module in which raw stacks ended before their outermost function was reached.  */
struct profile_cut {
    const char *module;  /* its name, borrowed from the stacks of the ingest; NULL: no module */
    uint64_t stacks;     /* that ended in it, except by the end of the copied memory; may be 0 */
    bool has_file;       /* its file was found and read */
    const char *problem; /* if it was: why rows of its unwind tables are missing, or "" */
};

/* Fill in the cut with that index; the first index is 0.  Returns false after the last one.  Only
 * after profile_ingest_finish().  */
PROFILE_API bool profile_ingest_cut_at(const struct profile_ingest *ingest, size_t index,
                                       struct profile_cut *out);

PROFILE_API void profile_ingest_close(struct profile_ingest *ingest); /* accepts NULL */

/* ---- Profile: sums ---- */

/* The profiles of a trace, in the order in which the default is chosen.  */
enum profile_kind {
    /* samples/count; cpu/nanoseconds if the trace has a period; and a type for each event that was
     * sampled, such as cycles/count.  Samples count those of all events.  */
    PROFILE_CPU = 0,
    /* Allocations by stack: alloc_objects/count, alloc_space/bytes, inuse_objects/count,
     * inuse_space/bytes; or the types set in struct profile_heap_options.  */
    PROFILE_HEAP = 1,
    PROFILE_HEAP_FREE = 2, /* releases by stack: free_objects/count, free_space/bytes */
    PROFILE_INSN = 3,    /* instructions/count, calls/count, cpu/nanoseconds: instruction traces */
    PROFILE_SPAN = 4,    /* spans/count, wall/nanoseconds: self time per stack of slice names */
    PROFILE_OFF_CPU = 5, /* waits/count, offcpu/nanoseconds: waits per stack of slice names */
    PROFILE_KINDS = 6,
};

/* "cpu", "heap", "heap-free", "insn", "span", "offcpu".  */
PROFILE_API const char *profile_kind_name(enum profile_kind kind);

struct profile;

/* Open an empty profile.  */
PROFILE_API enum profile_status profile_open(struct profile **out, struct profile_error *error);
PROFILE_API void profile_close(struct profile *profile); /* accepts NULL */

/* The profile's stacks, to be passed to profile_ingest_open().  */
PROFILE_API struct profile_stacks *profile_stacks_of(struct profile *profile);

/* Fill in a sink that adds to the profile.  Several traces may be added one after another, each
 * with an ingest of its own that must be finished before the next begins.  Equal items of several
 * traces are stored once.  Call this function again before each trace: it discards the samples of a
 * trace that was abandoned.  */
PROFILE_API void profile_sink_of(struct profile *profile, struct profile_sink *out);

/* Do not record the process, the thread and the time of CPU samples: their values then belong to
 * stacks alone.  If these are not needed, this is twice as fast.  Must be called before
 * profile_sink_of().  */
PROFILE_API void profile_omit_threads(struct profile *profile);

/* Do not record slices and times off the CPU: the kinds PROFILE_SPAN and PROFILE_OFF_CPU stay
 * empty.  Instruction traces take much less time and memory without them.  Must be called before
 * profile_sink_of().  */
PROFILE_API void profile_omit_spans(struct profile *profile);

/* Keep each CPU sample with its time, in a temporary file, for formats that show times
 * (<fxt/profile_formats.h>).  Must be called before profile_sink_of(), and not together with
 * profile_omit_threads().  temporary_dir is copied; NULL: $TMPDIR, else /tmp.  Returns PROFILE_OK,
 * PROFILE_NO_MEMORY, or PROFILE_IO if no file can be made there.  */
PROFILE_API enum profile_status profile_keep_times(struct profile *profile,
                                                   const char *temporary_dir,
                                                   struct profile_error *error);

/* Whether the samples of a kind have kept their times.  */
PROFILE_API bool profile_has_times(const struct profile *profile, enum profile_kind kind);

/* The number of samples added (of slices for PROFILE_SPAN; of sampled allocations and releases for
 * the heap), and the number of their distinct stacks.  */
PROFILE_API uint64_t profile_sample_count(const struct profile *profile, enum profile_kind kind);
PROFILE_API uint64_t profile_stack_count(const struct profile *profile, enum profile_kind kind);

/* The meaning of the values of a kind: "cpu" in "nanoseconds".  */
struct profile_sample_type {
    const char *type;
    const char *unit;
};

enum { PROFILE_MAX_TYPES = 16 };

/* Return the number of sample types of a kind in this profile; the first type is the count.  */
PROFILE_API size_t profile_sample_types(const struct profile *profile, enum profile_kind kind,
                                        struct profile_sample_type types[PROFILE_MAX_TYPES]);
/* Return the index of the type that is shown if only one is: time rather than the count, the first
 * of several events, and memory in use rather than all that was allocated.  */
PROFILE_API size_t profile_default_type(const struct profile *profile, enum profile_kind kind);

/* The values of one stack in one thread, summed over all traces.  Each index from 0 to
 * profile_value_count() - 1 refers to the same stack when more traces are added, so the values of
 * one trace are the difference.  */
struct profile_stack_value {
    profile_id callsite;
    uint64_t process_koid;
    uint64_t thread_koid;
    /* For the heap with ages: the age in nanoseconds is age_ns or more, up to ten times that.
     * age_ns is 0, or a power of ten from a microsecond on.  */
    bool has_age;
    uint64_t age_ns;
    uint64_t values[PROFILE_MAX_TYPES];
};
PROFILE_API size_t profile_value_count(const struct profile *profile, enum profile_kind kind);
PROFILE_API struct profile_stack_value profile_get_value(const struct profile *profile,
                                                         enum profile_kind kind, size_t index);

/* The description that the trace added last contains of itself; strings of the profile, 0
 * unknown.  */
struct profile_origin {
    uint64_t period_ns;
    profile_id command;
    profile_id arch;
    profile_id kernel;
    profile_id cpu_model;
};
PROFILE_API struct profile_origin profile_origin_of(const struct profile *profile);

/* The kernel's symbols from the traces, text as in /proc/kallsyms, which profile_symbolize() uses;
 * size 0 if there are none.  Valid until another trace is added.  */
PROFILE_API const char *profile_kernel_symbols_of(const struct profile *profile, size_t *size);

/* ---- The heap ---- */

/* The point in time of a heap profile.  All allocations and all releases up to that time are
 * counted; blocks in use are those in use at that time.  */
enum profile_heap_at {
    PROFILE_HEAP_AT_END = 0,
    PROFILE_HEAP_AT_TIME = 1, /* profile_heap_until() */
    /* The time when most bytes were in use, in all processes together; the first such time.  */
    PROFILE_HEAP_AT_PEAK = 2,
    PROFILE_HEAP_AT_PROCESS_PEAK = 3, /* the same, for each process by itself */
};

enum profile_heap_types {
    PROFILE_HEAP_TYPES_PPROF = 0, /* the types of PROFILE_HEAP above */
    /* The types of Fuchsia's memory sampler (docs/formats/memory-sampler.md section 4):
     * residual_allocated, allocated and deallocated, _objects/count and _space/bytes each.
     * PROFILE_HEAP then also contains the stacks of releases, with values of the last two only.  */
    PROFILE_HEAP_TYPES_FUCHSIA = 1,
};

struct profile_heap_options {
    size_t size; /* sizeof(struct profile_heap_options) */
    enum profile_heap_at at;
    enum profile_heap_types types;
    /* Not 0: make a partial profile for each interval of that many nanoseconds, counted from the
     * first event, that has an event; see profile_heap_partials().  At most 10,000.  */
    uint64_t every_ns;
    /* Separate blocks by age: for blocks in use, the time since their allocation; for released
     * blocks, the time from allocation to release.  See struct profile_stack_value.  */
    bool ages;
    const char *temporary_dir; /* for storing partial profiles; NULL: $TMPDIR, else /tmp */
};

/* Must be called before the first trace is added.  Returns PROFILE_OK or PROFILE_INVALID.  Partial
 * profiles have ends of their own, so with them at must be PROFILE_HEAP_AT_END.  The ages of blocks
 * at the ends of partial profiles, or at a peak, are not known.  */
PROFILE_API enum profile_status profile_heap_configure(struct profile *profile,
                                                       const struct profile_heap_options *options,
                                                       struct profile_error *error);

/* With PROFILE_HEAP_AT_TIME: ignore events after that time.  Must be called before any of those
 * events is added; until then all events are counted.  */
PROFILE_API void profile_heap_until(struct profile *profile, int64_t ts_ns);

/* The maximum that was in use at once, in the trace added last.  */
struct profile_heap_peak {
    uint64_t process_koid;
    uint64_t bytes;
    bool has_time;
    int64_t ts_ns; /* the time of that maximum */
    /* The most bytes that the process had resident at once, at whatever time; 0: the trace does not
     * say.  Of all processes together only if a single one allocated.  */
    uint64_t resident_bytes;
};

/* Return the peak of all processes together (process 0), then of each process that allocated, in
 * the order in which they were found; count is 0 if there were no allocations.  Valid until the
 * next trace is added.  */
PROFILE_API const struct profile_heap_peak *profile_heap_peaks(const struct profile *profile,
                                                               size_t *count);

/* The number of partial profiles of one trace, with every_ns.  Each has the releases in its
 * interval.  As allocated it has the blocks that were released in its interval or are in use at its
 * end.  Blocks in use are therefore in every profile until they are released, and allocations must
 * not be added up over profiles.  */
PROFILE_API size_t profile_heap_partials(const struct profile *profile);

/* Set PROFILE_HEAP and PROFILE_HEAP_FREE to partial profile index.  After profile_ingest_finish()
 * they are the last one.  Returns PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_IO.  */
PROFILE_API enum profile_status profile_heap_show_partial(struct profile *profile, size_t index,
                                                          struct profile_error *error);

/* All losses of all traces added.  */
PROFILE_API const struct profile_loss *profile_loss_of(const struct profile *profile);

/* Whether a function's name stands for its bounds alone, "[libcrypto.so.3+0x1a2b40]": nothing names
 * the function that begins at this address of the module (sym_options.bounds).  Such names do not
 * count as names in coverage.  */
PROFILE_API bool profile_name_is_bounds(const char *name, size_t length);

/* Set the lines of every address frame; the addresses of a module are looked up in one batch.
 * Frames without a result stay unchanged.  The session may be closed afterwards.  */
PROFILE_API enum profile_status profile_symbolize(struct profile *profile,
                                                  struct sym_session *session,
                                                  struct profile_error *error);

/* Symbolization coverage of one module, weighted by samples: a sample counts once for the module of
 * each distinct frame.  */
struct profile_coverage {
    profile_id module; /* 0: code in no module */
    uint64_t frames;   /* frame occurrences in samples */
    uint64_t named;    /* of these with a function name */
    uint64_t lined;    /* of these with a line number */
    /* The same for innermost frames alone, one in each sample: they are where the time was
     * spent.  */
    uint64_t self, self_named, self_lined;
    /* The members of struct sym_report, copied into the profile's strings.  */
    enum sym_quality quality;
    profile_id debug_path;
    profile_id problem;
    profile_id remedy;
    profile_id fallback;
    profile_id unread;
};

/* Choose the kind of stacks whose coverage profile_symbolize() computes.  The default is
 * PROFILE_CPU or, if it has no stacks, PROFILE_HEAP.  */
PROFILE_API void profile_cover(struct profile *profile, enum profile_kind kind);

/* Return the coverage of the modules in the stacks of that kind, for the heap weighted by bytes
 * allocated; the modules with the most uncovered frames come first.  Valid until the profile
 * changes.  The count is 0 before profile_symbolize().  */
PROFILE_API const struct profile_coverage *profile_coverage_of(const struct profile *profile,
                                                               size_t *count);

/* ---- Codecs ---- */

/* Take all size bytes.  Returns 0 or an errno value, which ends the codec with PROFILE_IO.  */
typedef int (*profile_write_fn)(void *context, const void *bytes, size_t size);

/* The root frame of folded stacks.  */
enum profile_root {
    PROFILE_ROOT_PROCESS = 0, /* the process's name, blanks as '_'; "pid-N" if it has none */
    PROFILE_ROOT_THREAD = 1,  /* the process, then the thread's name; "tid-N" if it has none */
    PROFILE_ROOT_NONE = 2,
};

/* Clean the name of a frame in place for use in folded stacks; it never grows.  ';' separates
 * frames, and a blank followed by digits at the end would be read as a count.  Quotes are kept:
 * Rust's &'a T is not &a T.  Returns the length; 0 if nothing is left.  */
PROFILE_API size_t profile_folded_name(char *bytes, size_t length);

struct profile_folded_options {
    size_t size; /* sizeof(struct profile_folded_options) */
    enum profile_root root;
    int value; /* index of the sample type to print; -1: time if any, bytes in use, ... */
};

/* Write folded stacks (docs/formats/pprof.md section 5): one line for each distinct stack, root
 * first, sorted by bytes.  Unsymbolized frames print as "[module]".  options may be NULL.  */
PROFILE_API enum profile_status profile_write_folded(const struct profile *profile,
                                                     enum profile_kind kind,
                                                     const struct profile_folded_options *options,
                                                     profile_write_fn write, void *context,
                                                     struct profile_error *error);

struct profile_pprof_options {
    size_t size;        /* sizeof(struct profile_pprof_options) */
    bool raw;           /* the bare message; otherwise gzip, with mtime 0 and no name */
    size_t sample_type; /* index + 1 of the type that viewers show first; 0: the main one */
};

/* Write profile.proto (docs/formats/pprof.md sections 1 to 3): labels pid, tid, thread, process;
 * mappings with build IDs; period and time if the trace has them.  options may be NULL.  */
PROFILE_API enum profile_status profile_write_pprof(const struct profile *profile,
                                                    enum profile_kind kind,
                                                    const struct profile_pprof_options *options,
                                                    profile_write_fn write, void *context,
                                                    struct profile_error *error);

struct profile_top_options {
    size_t size;        /* sizeof(struct profile_top_options) */
    size_t rows;        /* 0: all */
    size_t columns;     /* of the terminal: longer names are shortened in the middle, and paths to
                         * their last two parts; 0: no limit */
    bool colour;        /* ANSI escapes */
    size_t sample_type; /* index + 1 of the type to show; 0: the main one */
};

/* Write the hottest functions as a table: self and total of one sample type, function, file:line of
 * its hottest line, and whether it was inlined.  C++ and Rust names are printed without return
 * type, parameters, anonymous namespaces and long template arguments unless two rows would then
 * look the same; control characters are printed as '?'.  options may be NULL.  */
PROFILE_API enum profile_status profile_write_top(const struct profile *profile,
                                                  enum profile_kind kind,
                                                  const struct profile_top_options *options,
                                                  profile_write_fn write, void *context,
                                                  struct profile_error *error);

/* Return a demangled C++ or Rust name without return type, parameters, qualifiers, anonymous
 * namespaces and long template arguments, or the whole name if it is not in the form that a
 * demangler writes.  The result is from malloc(); NULL if there is no memory.  */
PROFILE_API char *profile_short_name(const char *name, size_t length);

/* Return a name that profile_short_name() returned in at most columns columns of a terminal.  The
 * function's own name is the last to go: a name that is too wide loses its template arguments and
 * the modules in the types of a Rust impl, then leading namespaces or packages
 * ("…::vector<...>::push_back"), then its middle.  A whole name, which a table shows to keep two
 * overloads apart, only loses its middle.  U+2026 marks what is missing; columns is at least 1.  A
 * byte that is not UTF-8 counts as one column.  The result is from malloc(); NULL if there is no
 * memory.  */
PROFILE_API char *profile_fit_name(const char *name, size_t length, size_t columns);

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_H */
