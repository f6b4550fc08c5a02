/* profile.h - what a trace means: samples, stacks, spans; as a profile, as pprof, as folded stacks.
 *
 * This header is the manual of libprofile.  It has four parts, each standing on the one before:
 *
 *   stacks    strings, modules, frames and call sites, each stored once
 *   ingest    FXT records become calls of one sink: process, thread, mapping, sample, heap
 *             allocation and release, span, loss, and the timeline: slices, flows, counters,
 *             scheduling, logs, objects
 *   profile   a sink that adds samples and slices up; then symbolized, then filtered
 *   codec     a profile becomes pprof, folded stacks or a table
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
 * Memory follows what is different (stacks, threads, mappings), not how many samples there are.
 * Output depends on the input alone: not on the clock, the locale, hash seeds or the order in which
 * equal things were met.
 *
 * Nothing here prints or exits.  One handle belongs to one thread at a time.  */
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

/* Values are part of the interface and never reused.  */
enum profile_status {
    PROFILE_OK = 0,
    PROFILE_NO_MEMORY = 1, /* an allocation failed */
    PROFILE_IO = 2,        /* writing, or a temporary file, failed; error->system_errno says why */
    PROFILE_INVALID = 3,   /* an argument breaks the contract */
    PROFILE_LIMIT = 4,     /* more than 2^32 - 2 distinct strings, frames, call sites, ... */
    PROFILE_STOPPED = 5,   /* a callback asked to stop */
    PROFILE_MALFORMED = 6, /* the input is not in the format that was asked for */
};

/* What went wrong, for people.  Belongs to the caller, may be NULL; written on every status but
 * PROFILE_OK.  */
struct profile_error {
    enum profile_status status;
    int system_errno;
    char message[240]; /* a phrase: no newline, no final dot */
};

/* ---- Stacks: everything stored once ---- */

/* Ids count up from 1 in the order in which things were first met; 0 is "none": the empty string,
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
    uint8_t build_id[64];    /* longer ones are cut */
    uint8_t build_id_length; /* 0: unknown */
};

/* One position in source: a function, and where in it.  A frame with several lines holds inlined
 * functions, innermost first; the last one is the real function (pprof's Location.line).  */
struct profile_line {
    profile_id function;    /* string: readable name */
    profile_id system_name; /* string: linkage name; 0 when it does not differ or is unknown */
    profile_id file;        /* string */
    uint32_t line;
    uint32_t column;
    uint32_t start_line;
};

/* A frame is told from others by (module, vaddr) when it has an address, and by its lines when it
 * has none (module and vaddr 0): names from span traces, and what stands for addresses that say
 * nothing.  These are "[truncated]", the root of a stack that was cut; "[anon]", code in no module
 * (JIT); "[unknown]", an address of a process, or of the kernel, of which no mapping is known.  */
struct profile_frame {
    profile_id module;
    uint64_t vaddr; /* the lookup address, relative to the module */
    bool has_address;
    uint32_t line_count; /* 0: not symbolized, or nothing found */
    /* innermost first; borrowed until the frame gets other lines */
    const struct profile_line *lines;
};

/* A stack is one integer: the call site of its leaf.  */
struct profile_callsite {
    profile_id parent; /* the caller's; 0 for a root */
    profile_id frame;
    uint32_t depth; /* 1 for a root */
};

/* Put in, or find what is there.  All return PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_LIMIT.  */
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
PROFILE_API enum profile_status profile_stacks_callsite(struct profile_stacks *stacks,
                                                        profile_id parent, profile_id frame,
                                                        profile_id *out,
                                                        struct profile_error *error);

/* Give an address frame its lines (copied), replacing older ones.  PROFILE_OK, PROFILE_NO_MEMORY or
 * PROFILE_INVALID.  */
PROFILE_API enum profile_status profile_stacks_set_lines(struct profile_stacks *stacks,
                                                         profile_id frame,
                                                         const struct profile_line *lines,
                                                         size_t count, struct profile_error *error);

/* How many there are: valid ids are 1..count.  */
PROFILE_API profile_id profile_stacks_module_count(const struct profile_stacks *stacks);
PROFILE_API profile_id profile_stacks_frame_count(const struct profile_stacks *stacks);
PROFILE_API profile_id profile_stacks_callsite_count(const struct profile_stacks *stacks);

/* Look at one.  The pointer of a string (NUL-terminated; *length may be NULL) lives as long as
 * stacks; id 0 gives "".  The others come by value; id 0 gives zeros.  An id that was never handed
 * out is the caller's mistake.  */
PROFILE_API const char *profile_stacks_text(const struct profile_stacks *stacks, profile_id string,
                                            size_t *length);
PROFILE_API struct profile_module profile_stacks_get_module(const struct profile_stacks *stacks,
                                                            profile_id module);
PROFILE_API struct profile_frame profile_stacks_get_frame(const struct profile_stacks *stacks,
                                                          profile_id frame);
PROFILE_API struct profile_callsite profile_stacks_get_callsite(const struct profile_stacks *stacks,
                                                                profile_id callsite);

/* ---- Ingest: records become meaning ---- */

/* What a capture says of itself (instant fxt.capture/session), or its clock alone (initialization
 * record of four words).  Members it does not say are 0.  Strings are borrowed for the call.  */
struct profile_capture {
    uint64_t period_ns;        /* CPU time between samples; without, samples have no nanoseconds */
    uint32_t max_frames;       /* a stack of that many frames was cut at its root */
    int64_t realtime_ns;       /* Unix time ... */
    int64_t monotonic_ns;      /* ... of this timestamp */
    bool has_clock;            /* the two above are known */
    struct fxt_string command; /* what was captured */
    struct fxt_string arch;    /* "x86_64", "aarch64", ... */
    struct fxt_string kernel;  /* its release, "6.1.0-18-amd64" */
    struct fxt_string cpu_model;
};

/* A process.  Called when it is first met and again whenever its name becomes known or changes.  */
struct profile_process {
    uint32_t id;            /* counts from 1; what the timeline calls it */
    uint64_t koid;          /* pid | incarnation << 32 in our captures */
    struct fxt_string name; /* length 0: unknown */
};

/* A thread, likewise; a name that came without its process is told by profile_ingest_finish().  */
struct profile_thread {
    uint32_t id;         /* counts from 1; what the timeline calls it */
    uint32_t process_id; /* its process was told before */
    uint64_t koid;
    uint64_t process; /* koid; 0 unknown */
    struct fxt_string name;
};

/* Where a process has a module, from now on.  */
struct profile_mapping {
    uint64_t process; /* koid; 0 is the kernel */
    profile_id module;
    uint64_t start; /* process address */
    uint64_t limit; /* first address behind it; one less where that would be 2^64 */
    uint64_t vaddr; /* module-relative address of start */
    unsigned flags;
    bool has_time;
    int64_t ts_ns; /* when it was recorded; Fuchsia's profiler writes all at the end */
};

/* One sample.  Its call site is provisional: it becomes a real one at the end (struct profile_sink,
 * callsites), when all mappings are known.  */
struct profile_sample {
    int64_t ts_ns;
    int32_t cpu;        /* -1 unknown */
    uint64_t process;   /* koid */
    uint64_t thread;    /* koid */
    uint32_t thread_id; /* of struct profile_thread */
    uint32_t callsite;  /* provisional: 1..count */
    profile_id final;   /* what it will become; 0: not known yet, because a mapping is missing */
    uint64_t weight_ns; /* the capture's period; 0 unknown */
};

/* How many samples there were of one stack in one process: told by profile_ingest_finish() before
 * the call sites, and when the period changes.  Several may be of one process and call site; their
 * sum is that of all samples.  */
struct profile_sample_sum {
    uint32_t process_id; /* of struct profile_process */
    uint32_t callsite;   /* provisional */
    uint64_t count;
    uint64_t weight_ns; /* of all together; 0 unknown */
};

/* One sampled allocation (docs/formats/memory-sampler.md sections 4 and 6).  A sampler of the mean
 * interval R takes an allocation of S bytes with probability p = 1 - e^(-S/R), so one that it took
 * stands for w = 1/p of them: members objects and bytes, whose sums estimate what was really
 * allocated.  Over all n real allocations of S bytes the variance of that estimate is
 * n S^2 (1 - p) / p, in bytes.  */
struct profile_allocation {
    uint64_t id;   /* 1, 2, ... in this trace, in the order of its messages */
    bool has_time; /* false in a recorded stream of messages, which has no times: ts_ns is 0 */
    int64_t ts_ns;
    uint64_t process; /* koid */
    uint64_t thread;  /* koid; 0 unknown */
    uint64_t address;
    uint64_t size_bytes;     /* as asked for; may be 0 */
    uint64_t interval_bytes; /* R; 0: every allocation was recorded, so w is 1 */
    double objects;          /* w */
    double bytes;            /* size_bytes * w */
    uint32_t callsite;       /* provisional, see callsites below; 0: the message has no stack */
};

/* The end of an allocation that was told before: the block was released.  There is none for blocks
 * still in use when the trace ends, and none for releases of blocks nobody knows, which are counted
 * (struct profile_notices).  */
struct profile_release {
    bool has_time;
    int64_t ts_ns;
    uint64_t process;  /* koid */
    uint64_t thread;   /* koid of who released; 0 unknown */
    uint32_t callsite; /* provisional: where it was released; 0: no stack */
    /* Nobody told of the release: its address was allocated anew, so it must have happened before
     * that, the time of which this has.  There is no call site.  */
    bool assumed;
    const struct profile_allocation *allocation; /* what it ends, as it was told */
};

/* A block that is still in use when the trace ends.  */
struct profile_in_use {
    bool has_time; /* the trace has times, and so has the allocation */
    int64_t ts_ns; /* the last of them */
    const struct profile_allocation *allocation; /* as it was told */
};

/* One finished slice of a thread as the span profile counts it.  Told by profile_ingest_finish(),
 * those of one thread in the order in which they were closed: children before parents.  */
struct profile_span {
    int64_t start_ns;
    int64_t end_ns;   /* as recorded: a complete may outlive its parent.  Of one that never ended,
                         the last time of the trace; of a begin that was closed because a slice
                         around it ended, that time */
    int64_t self_ns;  /* time in it and in no child; children are cut at their parent's end first */
    uint64_t process; /* koid */
    uint64_t thread;  /* koid */
    profile_id callsite; /* final: the stack of slice names, outermost first */
    bool unfinished;     /* no end was recorded */
};

/* A stretch of time in which a thread had no CPU, as the off-CPU profile counts it.  Told by
 * profile_ingest_finish() in the order in which they end.  A wait that a wakeup ends and the wait
 * for a CPU that follows are two.  */
struct profile_off_cpu {
    int64_t start_ns;
    int64_t end_ns;   /* of what still waited, the last time of the trace */
    uint64_t process; /* koid */
    uint64_t thread;  /* koid */
    /* Final: the slices that were open when it began, outermost first, and what it waited for:
     * "[blocked]", "[runnable]", "[suspended]", "[state 9]".  Threads that are gone wait for
     * nothing.  */
    profile_id callsite;
};

/* ---- The timeline: everything, once, in final form ----
 *
 * Made for a receiver that writes rows: what is told once never changes, and refers only to what
 * was told before (but for flows, which name slices that come after).
 *
 * By profile_ingest_record(), in file order: args, counter, log, object.
 * By profile_ingest_finish(): first sched and thread_state, in the order in which they end, and
 * flow, in the order of arrival; then all slices, in the order in which they begin.
 *
 * Threads and processes are ids of struct profile_thread and profile_process, names are strings of
 * the stacks.  Names and arguments of ends are kept apart from those of begins.  */

/* Arguments of one event or object.  Its set is the number by which what is told later refers to
 * them.  Sets increase from call to call, with gaps.  Counters and scheduling records have their
 * arguments as values.  */
struct profile_args {
    uint64_t set; /* never 0 */
    /* The ten types of FXT (and FXT_ARG_UNKNOWN: a name without a value), as they stand in the
     * record.  */
    const struct fxt_arg *args;
    const profile_id *names; /* of the args */
    size_t count;            /* 1..FXT_MAX_ARGS */
};

/* Where slices and counter values lie.  Told when it is first needed.  */
enum profile_track_kind {
    PROFILE_TRACK_THREAD = 0, /* a thread's slices and instants; they nest */
    /* Async slices of one (process, category, name).  What overlaps, being of other correlation
     * ids, lies in tracks beside each other; what begins takes a track that is free.  */
    PROFILE_TRACK_ASYNC = 1,
    PROFILE_TRACK_COUNTER = 2, /* one series: (process, category, name, counter id, argument) */
};

struct profile_track {
    uint32_t id; /* counts from 1 */
    enum profile_track_kind kind;
    uint32_t process;
    uint32_t thread;     /* PROFILE_TRACK_THREAD; else 0 */
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

/* A slice with its place in the nest.  In a thread, the parent is what was open when it began.  It
 * may end after its parent: that is what was recorded, and here it is whole.  Async slices nest
 * only where one begins while another of its own (process, category, name, correlation id) is
 * open.  */
struct profile_slice {
    uint64_t id; /* counts from 1 in the order in which slices begin, which is that of telling */
    uint64_t parent; /* id, told before; 0 none */
    uint32_t depth;  /* 0: no parent */
    uint32_t track;
    uint32_t thread; /* that began it; of async slices as well */
    enum profile_slice_type type;
    int64_t start_ns;
    int64_t end_ns;      /* as of struct profile_span */
    bool unfinished;     /* no end was recorded: end_ns says where the trace ended */
    bool cut;            /* no end was recorded: end_ns is that of the slice around it */
    profile_id category; /* of the begin */
    profile_id name;
    uint64_t args;           /* set; 0 none */
    uint64_t end_args;       /* set of the end event; 0 none */
    uint64_t correlation_id; /* async */
    uint64_t scope;          /* instants: enum fxt_scope or any other number */
};

/* One arrow of a flow: from its begin or a step to the next step or its end.  Flows are told apart
 * by process and id.  A step or end in another process continues the flow if exactly one process
 * has one of that id open.  */
struct profile_flow {
    uint64_t id;       /* counts from 1 */
    uint64_t trace_id; /* as written */
    uint64_t out;      /* slice that was open in its thread where the arrow begins; 0: none was */
    uint64_t in;       /* likewise, where it ends */
    int64_t out_ns, in_ns;
    uint32_t out_thread, in_thread;
    profile_id category, name; /* of the begin */
    uint64_t out_args;         /* set of the event where the arrow begins; 0 none */
    uint64_t in_args;
    bool step; /* it ends in a step: another arrow may follow */
};

/* One value of one series.  Of a counter's arguments only numbers are told (counted otherwise).  */
struct profile_counter {
    uint32_t track;
    uint32_t thread; /* whose event it was */
    int64_t ts_ns;
    double value;
    const struct fxt_arg *exact; /* int32, uint32, int64, uint64 or double */
};

/* States of threads.  0 to 5 are the format's (section 2.11), except that a thread which is
 * switched out running or new is one that could go on: PROFILE_THREAD_RUNNABLE.  */
enum profile_thread_state_kind {
    PROFILE_THREAD_NEW = 0,     /* never told */
    PROFILE_THREAD_RUNNING = 1, /* told by sched */
    PROFILE_THREAD_SUSPENDED = 2,
    PROFILE_THREAD_BLOCKED = 3,
    PROFILE_THREAD_DYING = 4,
    PROFILE_THREAD_DEAD = 5,
    /* 6..15 as they are in the record */
    PROFILE_THREAD_RUNNABLE = 16, /* waits for a CPU: preempted, or woken */
    PROFILE_THREAD_UNKNOWN = 17,  /* of a stretch on a CPU: the record of its end is missing */
};

/* A thread ran on a CPU.  What a CPU did before its first switch is not known and not told.  */
struct profile_sched {
    int64_t start_ns;
    int64_t end_ns; /* of what still ran, the last time of the trace */
    bool unfinished;
    uint32_t cpu;
    uint32_t thread; /* 0: the CPU was idle */
    /* What it was switched out to.  PROFILE_THREAD_UNKNOWN if unfinished, or if the record that
     * ended it names another thread: switches were lost.  */
    unsigned end_state;
    bool has_priority;
    int32_t priority; /* incoming_weight, or the legacy record's priority */
};

/* A thread did not run.  */
struct profile_thread_state {
    int64_t start_ns;
    int64_t end_ns; /* as of struct profile_sched */
    bool unfinished;
    uint32_t thread;
    unsigned state; /* enum profile_thread_state_kind; never running or unknown */
    /* PROFILE_THREAD_RUNNABLE, when woken: on which CPU and, where the record says, by whom.  */
    bool woken;
    uint32_t waker; /* thread; 0 unknown, or an idle CPU: a timer */
    uint32_t waker_cpu;
};

struct profile_log {
    int64_t ts_ns;
    uint32_t thread;
    struct fxt_string message; /* borrowed for the call */
};

/* A kernel object (those that name processes and threads as well), or a process's own object
 * (userspace object record).  The newest record of a koid, or of a (process, pointer), holds.  */
struct profile_object {
    bool userspace;
    unsigned type;    /* kernel objects: enum fxt_object_type and others */
    uint64_t koid;    /* kernel objects */
    uint64_t pointer; /* userspace objects */
    uint32_t process; /* userspace objects, and kernel objects with an argument process; 0 none */
    profile_id name;
    uint64_t args; /* set; 0 none */
};

/* Records that were lost before the trace was written (counters fxt.capture/lost and heap_lost,
 * provider events).
 * Totals, given once by profile_ingest_finish().  */
struct profile_loss {
    uint64_t ring;            /* the kernel's ring buffer overran */
    uint64_t throttled;       /* times the kernel throttled sampling */
    uint64_t region_full;     /* a per-CPU region was full */
    uint64_t unreadable;      /* the stack could not be read */
    uint64_t exited;          /* the process was gone before its maps were read */
    uint64_t provider_events; /* "a buffer filled up" marks of any provider */
    /* Messages of the memory sampler that the capture did not get (counter fxt.capture/heap_lost).
     * */
    uint64_t heap_allocations;
    uint64_t heap_frees;
    uint64_t heap_infos;     /* modules of a process */
    uint64_t heap_rejected;  /* broken ones */
    uint64_t heap_no_memory; /* allocations that the process had no memory to remember */
    uint64_t heap_forgotten; /* blocks whose release it could not tell */
    uint64_t sideband;       /* the kernel's buffer of names and mappings overran */
    uint64_t stopped;        /* CPUs that sampled no more once their region was full */
};

/* Who listens.  NULL members are not called, and what only they need is not computed.  Whatever a
 * member returns but PROFILE_OK ends the ingest with that status.  Everything passed is borrowed
 * for the call.  */
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
    /* A piece of the kernel's symbols, text as in /proc/kallsyms (blobs "linux.kallsyms").  */
    enum profile_status (*kernel_symbols)(void *context, const char *text, size_t size);
    /* Once, by profile_ingest_finish(): final[i] is the call site that provisional call site i
     * became, 1 <= i <= count.  */
    enum profile_status (*callsites)(void *context, const profile_id *final, uint32_t count);
    /* The timeline.  args is called for what the members that are not NULL can refer to.  */
    enum profile_status (*track)(void *context, const struct profile_track *track);
    enum profile_status (*args)(void *context, const struct profile_args *args);
    enum profile_status (*slice)(void *context, const struct profile_slice *slice);
    enum profile_status (*flow)(void *context, const struct profile_flow *flow);
    enum profile_status (*counter)(void *context, const struct profile_counter *counter);
    enum profile_status (*sched)(void *context, const struct profile_sched *sched);
    enum profile_status (*thread_state)(void *context, const struct profile_thread_state *state);
    enum profile_status (*log)(void *context, const struct profile_log *log);
    enum profile_status (*object)(void *context, const struct profile_object *object);
    /* Sampled blocks, in the order of the messages: every release ends an allocation told before,
     * once.  Call sites of both are provisional, numbered together with those of samples.  */
    enum profile_status (*allocation)(void *context, const struct profile_allocation *allocation);
    enum profile_status (*release)(void *context, const struct profile_release *release);
    /* By profile_ingest_finish(), before callsites: each block still in use, by its id.  */
    enum profile_status (*in_use)(void *context, const struct profile_in_use *in_use);
    enum profile_status (*sample_sum)(void *context, const struct profile_sample_sum *sum);
};

/* What ingest noticed: counted, never an error.  */
struct profile_notices {
    uint64_t truncated_stacks;   /* samples that reached the capture's depth: [truncated] */
    uint64_t anonymous_frames;   /* frames of samples in no module, each as often as sampled */
    uint64_t unmapped_processes; /* processes with samples and without any mapping */
    uint64_t odd_payloads;       /* sampler stacks whose payload is not whole words */
    uint64_t stray_ends;         /* duration and async ends with nothing to close */
    uint64_t crossing_slices;    /* slices closed because one around them ended */
    uint64_t unfinished_slices;  /* begun and never ended */
    uint64_t deep_slices;        /* left out because 1,000,000 slices were open in their thread, or
                                    as many async slices in the trace */
    uint64_t unknown_modules;    /* mappings of a module that is not in the trace */
    uint64_t bad_mappings;       /* empty ones, and ones that wrap around 2^64 */
    uint64_t stack_captures;     /* cpu_profiler/stack_sample blobs: raw stacks, not unwound */
    uint64_t unhandled_records;  /* of no meaning for the sink: logs, empty stacks, ... */
    uint64_t untimed_messages;   /* allocations and releases without a time */
    uint64_t bad_messages;     /* of the memory sampler that break their format, or lack members */
    uint64_t repeated_blocks;  /* allocated at an address in use: a release was not told of */
    uint64_t unknown_frees;    /* released and not known: allocated before, or told too early */
    uint64_t blocks_left_out;  /* allocated while 2^26 sampled blocks were in use */
    uint64_t stray_flows;      /* steps and ends of flows that did not begin */
    uint64_t unfinished_flows; /* begun and never ended, or left out with 1,000,000 flows open */
    uint64_t unbound_flows;    /* arrows that begin or end in no slice */
    uint64_t non_numeric_counters; /* arguments of counters that are no numbers: not told */
    uint64_t perfetto_packets;     /* packets of Perfetto in blobs: not read */
};

/* One of these counters.  */
struct profile_notice {
    const char *name;   /* of the member, as the table damage of a store has it */
    const char *phrase; /* for people, to follow the count: "end of a duration that nothing began,
                           ignored" where it is 1, else "ends of durations ..." */
    const char *many;   /* the phrase of several, whatever the count is */
    uint64_t count;     /* may be 0 */
};

/* Fills in the counter of that index, from 0; false when there are no more.  */
PROFILE_API bool profile_notice_at(const struct profile_notices *notices, size_t index,
                                   struct profile_notice *out);

struct profile_ingest;

struct profile_ingest_options {
    size_t size; /* sizeof(struct profile_ingest_options) */
    /* Kernel-sampler stacks came from an arm64 machine, where Zircon subtracts 4 from the first two
     * entries itself (docs/formats/zx-sampler.md section 2).  A capture that says its arch needs no
     * help.  */
    bool arm64;
    const char *temporary_dir; /* for sorting long span traces; NULL: $TMPDIR, else /tmp */
    size_t sort_bytes; /* memory before a sorted run goes to the temporary file; 0: 64 MiB */
    /* Only these processes (low 32 bits of their koid); pid_count 0: all.  Copied.  */
    const uint64_t *pids;
    size_t pid_count;
    const uint64_t *tids; /* only these threads, likewise; of blocks, those they allocated */
    size_t tid_count;
    /* The process of messages of the memory sampler that come without one, as in a recorded stream:
     * such a stream is of one process.  0: koid 1.  */
    uint64_t message_process;
};

/* An ingest of one trace.  sink is copied; stacks is borrowed and must stay until
 * profile_ingest_close().  Returns PROFILE_OK, PROFILE_INVALID or PROFILE_NO_MEMORY.  */
PROFILE_API enum profile_status profile_ingest_open(const struct profile_sink *sink,
                                                    struct profile_stacks *stacks,
                                                    const struct profile_ingest_options *options,
                                                    struct profile_ingest **out,
                                                    struct profile_error *error);

/* Take one record, in file order.  Nothing of it is kept by reference.  */
PROFILE_API enum profile_status profile_ingest_record(struct profile_ingest *ingest,
                                                      const struct fxt_record *record,
                                                      struct profile_error *error);

/* The trace is over: resolve addresses, close slices, report losses.  Call it once, also for a
 * trace that was cut.  */
PROFILE_API enum profile_status profile_ingest_finish(struct profile_ingest *ingest,
                                                      struct profile_error *error);

/* Complete after profile_ingest_finish().  Lives as long as the ingest.  */
PROFILE_API const struct profile_notices *profile_ingest_notices(
    const struct profile_ingest *ingest);

PROFILE_API void profile_ingest_close(struct profile_ingest *ingest); /* accepts NULL */

/* ---- Profile: added up ---- */

/* Which profile of a trace; in the order in which one is chosen when nobody says which.  */
enum profile_kind {
    PROFILE_CPU = 0, /* samples/count, and cpu/nanoseconds where the trace has a period */
    /* What was allocated, by where: alloc_objects/count, alloc_space/bytes, inuse_objects/count,
     * inuse_space/bytes; or as struct profile_heap_options has it.  */
    PROFILE_HEAP = 1,
    PROFILE_HEAP_FREE = 2, /* what was released, by where: free_objects/count, free_space/bytes */
    PROFILE_SPAN = 3,      /* spans/count, wall/nanoseconds: self time per stack of slice names */
    PROFILE_OFF_CPU = 4,   /* waits/count, offcpu/nanoseconds: waits per stack of slice names */
    PROFILE_KINDS = 5,
};

/* "cpu", "heap", "heap-free", "span", "offcpu".  */
PROFILE_API const char *profile_kind_name(enum profile_kind kind);

struct profile;

/* An empty profile.  */
PROFILE_API enum profile_status profile_open(struct profile **out, struct profile_error *error);
PROFILE_API void profile_close(struct profile *profile); /* accepts NULL */

/* The profile's stacks: give them to profile_ingest_open().  */
PROFILE_API struct profile_stacks *profile_stacks_of(struct profile *profile);

/* A sink that adds to the profile.  Several traces may be taken in one after another (each with an
 * ingest of its own, finished before the next begins); what is equal in them becomes one.  Ask for
 * the sink before each: that forgets the samples of a trace that was given up.  */
PROFILE_API void profile_sink_of(struct profile *profile, struct profile_sink *out);

/* Leave out whose CPU samples are: their values are of stacks alone, in no process and no thread,
 * and when they were is not told.  Where nobody asks for that, this is twice as fast.  Before
 * profile_sink_of().  */
PROFILE_API void profile_omit_threads(struct profile *profile);

/* How many samples went in (slices, for PROFILE_SPAN; sampled allocations and releases, for the
 * heap), and how many distinct stacks they have.  */
PROFILE_API uint64_t profile_sample_count(const struct profile *profile, enum profile_kind kind);
PROFILE_API uint64_t profile_stack_count(const struct profile *profile, enum profile_kind kind);

/* What the values of a kind mean: "cpu" in "nanoseconds".  */
struct profile_sample_type {
    const char *type;
    const char *unit;
};

enum { PROFILE_MAX_TYPES = 6 };

/* How many sample types a kind has here; the first is the count.  */
PROFILE_API size_t profile_sample_types(const struct profile *profile, enum profile_kind kind,
                                        struct profile_sample_type types[PROFILE_MAX_TYPES]);

/* The values of one stack in one thread, those of all traces added up.  Each index from 0 to
 * profile_value_count() - 1 stays the same stack when more traces are taken in, so what a trace
 * added is the difference.  */
struct profile_stack_value {
    profile_id callsite;
    uint64_t process; /* koid */
    uint64_t thread;  /* koid */
    /* Of the heap with ages: so many nanoseconds or more, up to ten times that; 0, or a power of
     * ten from a microsecond on.  */
    bool has_age;
    uint64_t age_ns;
    uint64_t values[PROFILE_MAX_TYPES];
};
PROFILE_API size_t profile_value_count(const struct profile *profile, enum profile_kind kind);
PROFILE_API struct profile_stack_value profile_get_value(const struct profile *profile,
                                                         enum profile_kind kind, size_t index);

/* What the trace taken in last says of itself; strings of the profile, 0 unknown.  */
struct profile_origin {
    uint64_t period_ns;
    profile_id command;
    profile_id arch;
    profile_id kernel;
    profile_id cpu_model;
};
PROFILE_API struct profile_origin profile_origin_of(const struct profile *profile);

/* The kernel's symbols that the traces brought, text as in /proc/kallsyms, which
 * profile_symbolize() uses; size 0 without any.  Lives until another trace is taken in.  */
PROFILE_API const char *profile_kernel_symbols_of(const struct profile *profile, size_t *size);

/* ---- The heap ---- */

/* Of when a heap profile tells.  Up to there, everything that was allocated counts as such, and so
 * does everything released; in use is what was in use just then.  */
enum profile_heap_at {
    PROFILE_HEAP_AT_END = 0,
    PROFILE_HEAP_AT_TIME = 1, /* profile_heap_until() */
    /* When most bytes were in use, in all processes together; the first such time.  */
    PROFILE_HEAP_AT_PEAK = 2,
    PROFILE_HEAP_AT_PROCESS_PEAK = 3, /* the same, for each process by itself */
};

enum profile_heap_types {
    PROFILE_HEAP_TYPES_PPROF = 0, /* those of PROFILE_HEAP above */
    /* Those of Fuchsia's memory sampler (docs/formats/memory-sampler.md section 4):
     * residual_allocated, allocated and deallocated, _objects/count and _space/bytes each.  Stacks
     * that released stand in PROFILE_HEAP, too, with the last two alone.  */
    PROFILE_HEAP_TYPES_FUCHSIA = 1,
};

struct profile_heap_options {
    size_t size; /* sizeof(struct profile_heap_options) */
    enum profile_heap_at at;
    enum profile_heap_types types;
    /* Not 0: a partial profile for each stretch of so many nanoseconds, counted from the first
     * event, in which there is any event; see profile_heap_partials().  At most 10,000.  */
    uint64_t every_ns;
    /* Apart by age: of what is in use, how long it has been; of what was released, how long it was.
     * See struct profile_stack_value.  */
    bool ages;
    const char *temporary_dir; /* where partial profiles wait; NULL: $TMPDIR, else /tmp */
};

/* Before the first trace is taken in.  Returns PROFILE_OK or PROFILE_INVALID: partial profiles have
 * ends of their own, so at must be PROFILE_HEAP_AT_END; and how old blocks were at their ends, or
 * at a peak, is not known.  */
PROFILE_API enum profile_status profile_heap_configure(struct profile *profile,
                                                       const struct profile_heap_options *options,
                                                       struct profile_error *error);

/* With PROFILE_HEAP_AT_TIME: events later than that do not count.  Before any of them is taken in;
 * until then all count.  */
PROFILE_API void profile_heap_until(struct profile *profile, int64_t ts_ns);

/* The most that was in use at once, in the trace taken in last.  */
struct profile_heap_peak {
    uint64_t process; /* koid */
    uint64_t bytes;
    bool has_time;
    int64_t ts_ns; /* when that was reached */
};

/* Of all processes together (process 0), then of each that allocated, in the order in which they
 * were met; count 0 where nothing was allocated.  Valid until the next trace is taken in.  */
PROFILE_API const struct profile_heap_peak *profile_heap_peaks(const struct profile *profile,
                                                               size_t *count);

/* With every_ns, of one trace: how many partial profiles there are.  Each has what was released in
 * its time, and as allocated what was released in its time or is in use at its end: so blocks in
 * use stand in every profile until they are released, and what was allocated must not be added up
 * over profiles.  */
PROFILE_API size_t profile_heap_partials(const struct profile *profile);

/* Let PROFILE_HEAP and PROFILE_HEAP_FREE be partial profile index.  After profile_ingest_finish()
 * they are the last one.  Returns PROFILE_OK, PROFILE_NO_MEMORY or PROFILE_IO.  */
PROFILE_API enum profile_status profile_heap_show_partial(struct profile *profile, size_t index,
                                                          struct profile_error *error);

/* All losses of all traces taken in.  */
PROFILE_API const struct profile_loss *profile_loss_of(const struct profile *profile);

/* Give every address frame its lines, each module's addresses in one batch.  Frames that nothing is
 * known of stay as they are.  The session may be closed afterwards.  */
PROFILE_API enum profile_status profile_symbolize(struct profile *profile,
                                                  struct sym_session *session,
                                                  struct profile_error *error);

/* How well one module was symbolized, weighted by samples: a sample counts for the module of each
 * distinct frame once.  */
struct profile_coverage {
    profile_id module; /* 0: code in no module */
    uint64_t frames;   /* frame occurrences in samples */
    uint64_t named;    /* of these with a function name */
    uint64_t lined;    /* of these with a line number */
    /* The same of innermost frames alone, one in each sample: where the time itself was spent.  */
    uint64_t self, self_named, self_lined;
    /* The members of struct sym_report, copied into the profile's strings.  */
    enum sym_quality quality;
    profile_id debug_path;
    profile_id problem;
    profile_id remedy;
};

/* Which kind's stacks profile_symbolize() is to say the coverage of; else those of PROFILE_CPU or,
 * where that has none, of PROFILE_HEAP.  */
PROFILE_API void profile_cover(struct profile *profile, enum profile_kind kind);

/* Coverage of the modules in that kind's stacks, of the heap weighted by bytes allocated; the least
 * covered frames first.  Valid until the profile changes.  Before profile_symbolize() the count is
 * 0.  */
PROFILE_API const struct profile_coverage *profile_coverage_of(const struct profile *profile,
                                                               size_t *count);

/* ---- Codecs ---- */

/* Take all size bytes.  Returns 0 or an errno value, which ends the codec with PROFILE_IO.  */
typedef int (*profile_write_fn)(void *context, const void *bytes, size_t size);

/* The root frame of folded stacks.  */
enum profile_root {
    PROFILE_ROOT_PROCESS = 0, /* the process's name, blanks as '_'; "pid-N" when it has none */
    PROFILE_ROOT_THREAD = 1,  /* the process, then the thread's name; "tid-N" when it has none */
    PROFILE_ROOT_NONE = 2,
};

/* Clean a name of a frame in place, as it stands in folded stacks; it never grows.  ';' separates
 * frames, a blank and digits at the end would read as a count.  Quotes stay: Rust's &'a T is not
 * &a T.  Returns its length; 0: nothing is left.  */
PROFILE_API size_t profile_folded_name(char *bytes, size_t length);

struct profile_folded_options {
    size_t size; /* sizeof(struct profile_folded_options) */
    enum profile_root root;
    int value; /* index of the sample type to print; -1: time if there is any, bytes in use, ... */
};

/* Folded stacks (docs/formats/pprof.md section 5): one line a distinct stack, root first, sorted by
 * bytes.  Unsymbolized frames print as "[module]".  options may be NULL.  */
PROFILE_API enum profile_status profile_write_folded(const struct profile *profile,
                                                     enum profile_kind kind,
                                                     const struct profile_folded_options *options,
                                                     profile_write_fn write, void *context,
                                                     struct profile_error *error);

struct profile_pprof_options {
    size_t size;        /* sizeof(struct profile_pprof_options) */
    bool raw;           /* the bare message; otherwise gzip, with mtime 0 and no name */
    size_t sample_type; /* index + 1 of the one that viewers show first; 0: the main one */
};

/* profile.proto (docs/formats/pprof.md sections 1 to 3): labels pid, tid, thread, process; mappings
 * with build IDs; period and time where the trace has them.  options may be NULL.  */
PROFILE_API enum profile_status profile_write_pprof(const struct profile *profile,
                                                    enum profile_kind kind,
                                                    const struct profile_pprof_options *options,
                                                    profile_write_fn write, void *context,
                                                    struct profile_error *error);

struct profile_top_options {
    size_t size;        /* sizeof(struct profile_top_options) */
    size_t rows;        /* 0: all */
    size_t columns;     /* of the terminal: longer names are cut in their middle, and paths to their
                     * last two parts; 0: not cut */
    bool colour;        /* ANSI escapes */
    size_t sample_type; /* index + 1 of the one to show; 0: the main one */
};

/* The hottest functions as a table: self and total of one sample type, function, file:line
 * of its hottest line, whether it was inlined.  C++ and Rust names go without return type,
 * parameters, anonymous namespaces and long template arguments unless two rows would then read
 * the same; control characters as '?'. options may be NULL.  */
PROFILE_API enum profile_status profile_write_top(const struct profile *profile,
                                                  enum profile_kind kind,
                                                  const struct profile_top_options *options,
                                                  profile_write_fn write, void *context,
                                                  struct profile_error *error);

/* A demangled C++ or Rust name without return type, parameters, qualifiers, anonymous namespaces
 * and long template arguments; the whole name where it reads like nothing a demangler writes.
 * From malloc(); NULL when memory is short.  */
PROFILE_API char *profile_short_name(const char *name, size_t length);

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_H */
