/* trace_parts.h - the parts of a conversion.  Private to libperf.
 *
 *   perf_trace.c   open, read, dispatch of records
 *   trace_write.c  records of FXT
 *   trace_tasks.c  processes, threads, mappings
 *   trace_names.c  functions that the recorder knew
 *   trace_code.c   functions that programs made while they ran
 *   trace_stack.c  samples
 *   trace_unwind.c their callers from copies of stacks
 *   trace_aux.c    packets of Intel PT; built if libipt is installed
 */
#ifndef PERF_TRACE_PARTS_H
#define PERF_TRACE_PARTS_H

#include <fxt/fxt.h>

#include "base/index.h"
#include "base/map.h"
#include "libperf/jit_files.h"
#include "libperf/perf_trace.h"

#define TRACE_MOST_FRAMES   127                  /* kernel.perf_event_max_stack */
#define TRACE_TOOL_PROVIDER UINT32_C(0xffff0000) /* names, modules, sessions, losses */

struct trace_module {
    char *name; /* owned */
    uint8_t build_id[20];
    uint8_t build_id_length;
    bool is_code; /* of no file: "//anon", a heap, shared memory */
};

struct trace_mapping {
    uint64_t start, length, file_offset;
    uint64_t time_ns;
    uint64_t order;  /* of its coming */
    uint32_t module; /* index + 1 */
    bool written;
};

struct trace_process {
    uint32_t pid;
    uint64_t koid;
    char name[64];
    bool name_written;
    struct trace_mapping *mappings; /* oldest first */
    size_t mapping_count, mapping_capacity;
    size_t compact_at; /* how many there are when they are looked through for replaced ones */
    size_t written;    /* mappings before this one are */
    uint32_t *modules; /* index + 1 of those that are written, by id */
    size_t module_count, module_capacity;
    bool makes_code;      /* it has executable memory of no file, or had */
    struct jit_seen seen; /* addresses of its samples, if it makes code */
};

struct trace_thread {
    uint32_t tid;
    uint32_t process; /* index + 1 */
    uint64_t koid;
    char name[64];
    bool named; /* by itself, not by its process */
    bool written;
    uint64_t packet_bytes; /* of its instruction trace: written */
};

/* A sample whose user part comes later.  */
struct trace_waiting {
    uint64_t cookie, time_ns, period;
    uint32_t pid, tid, cpu, event;
    uint64_t *addresses; /* of its kernel part; owned */
    size_t count;
};

/* From a pid or tid to the latest process or thread of that number.  */
struct trace_latest {
    uint32_t number;
    uint32_t item;    /* index + 1 */
    uint32_t earlier; /* items of that number before it */
};

/* What a pid and a tid were found to be.  */
struct trace_recent {
    uint32_t pid, tid;
    uint32_t thread; /* index + 1; 0: nothing was looked up here */
};

struct trace_numbers {
    struct trace_latest *items;
    size_t count, capacity;
    struct base_index index;
};

struct perf_trace {
    struct perf_data *data;
    struct perf_trace_options options;
    struct perf_trace_counts counts;
    int failure; /* errno */
    bool ended;

    /* Bytes that were not read yet: [next, used) of bytes.  */
    uint8_t *bytes;
    size_t next, used, capacity;
    struct fxt_writer *writer;

    bool introduced;         /* the session is written */
    uint32_t provider;       /* current */
    bool *cpus;              /* which providers are introduced, by CPU */
    size_t cpu_count;        /* items of cpus */
    struct base_map running; /* from CPU to the tid that the last record of a switch names */
    size_t events_written;   /* events of the file that the trace has */
    uint32_t clock;          /* index + 1 of the event that is the CPU's clock; 0: none */
    uint64_t period_ns;      /* of the clock */
    uint64_t lost, throttled, sideband;

    struct trace_module *modules;
    size_t module_count, module_capacity;
    struct base_index module_index;
    struct trace_process *processes;
    size_t process_count, process_capacity;
    struct trace_numbers pids, tids;
    struct trace_recent recent[16]; /* by tid; forgotten when a number changes its meaning */
    struct trace_thread *threads;
    size_t thread_count, thread_capacity;
    uint64_t order;    /* of the next mapping */
    bool kernel_named; /* its symbols were asked for */
    uint32_t names;    /* of functions that are written */
    size_t seen;       /* addresses of samples in programs that make code */

    const struct perf_data_record *pending; /* waits for packets before it */
    bool finishing;                         /* all records were read */
    struct trace_aux *aux;                  /* NULL: no packets */
    uint32_t pmu_type;                      /* of their event; 0: none */

    uint64_t *addresses; /* of the sample that is being made */
    size_t address_count, address_capacity;
    uint64_t unwound[TRACE_MOST_FRAMES];
    struct trace_waiting *waiting;
    size_t waiting_count, waiting_capacity;
};

/* A time that a trace can have: 0 for those of damaged files that it cannot.  */
static inline uint64_t trace_time(uint64_t time_ns)
{
    return time_ns <= INT64_MAX ? time_ns : 0;
}

/* ---- Records of FXT (trace_write.c).  False: trace->failure is set. ---- */

struct fxt_arg trace_number(const char *name, uint64_t value);
uint8_t *trace_room(struct perf_trace *trace, size_t size);
bool trace_put(struct perf_trace *trace, const struct fxt_record *record);
bool trace_to_tool(struct perf_trace *trace);
bool trace_to_cpu(struct perf_trace *trace, uint32_t cpu);
/* Everything that stands before the first sample.  */
bool trace_introduce(struct perf_trace *trace);
bool trace_put_process(struct perf_trace *trace, const struct trace_process *process);
bool trace_put_thread(struct perf_trace *trace, const struct trace_thread *thread);
bool trace_put_module(struct perf_trace *trace, uint64_t koid, const struct trace_module *module,
                      uint16_t id, uint64_t time_ns);
bool trace_put_mapping(struct perf_trace *trace, uint64_t koid, const struct trace_mapping *mapping,
                       uint64_t vaddr, uint16_t id);
/* Lines about functions: name is "code_symbols" (of no file), or "file_symbols".  */
bool trace_put_code(struct perf_trace *trace, const char *name, uint64_t koid, uint64_t time_ns,
                    const char *lines, size_t size);
bool trace_put_kernel_symbols(struct perf_trace *trace, const char *text, size_t size);
bool trace_put_losses(struct perf_trace *trace, uint64_t time_ns);
bool trace_put_switch(struct perf_trace *trace, const struct perf_data_record *record,
                      uint64_t outgoing, uint64_t incoming);
/* The sample of trace->addresses.  */
struct trace_sample {
    uint64_t time_ns, process, thread; /* koids */
    uint64_t amount;
    uint32_t cpu, event;
};
bool trace_put_sample(struct perf_trace *trace, const struct trace_sample *sample);

/* ---- Processes (trace_tasks.c) ---- */

#define TRACE_KERNEL_PID UINT32_MAX

/* Find or make.  NULL: no memory.  Valid until the next call.  */
struct trace_process *trace_process_of(struct perf_trace *trace, uint32_t pid);
struct trace_thread *trace_thread_of(struct perf_trace *trace, uint32_t pid, uint32_t tid);
bool trace_take_mapping(struct perf_trace *trace, const struct perf_data_record *record);
bool trace_take_comm(struct perf_trace *trace, const struct perf_data_record *record);
bool trace_take_fork(struct perf_trace *trace, const struct perf_data_record *record);
bool trace_take_exit(struct perf_trace *trace, const struct perf_data_record *record);
/* Write names and mappings of a process and a thread, as far as they are not written.  Returns the
 * thread, as trace_thread_of(), or NULL: trace->failure is set, or no memory.  */
struct trace_thread *trace_write_tasks(struct perf_trace *trace, uint32_t pid, uint32_t tid,
                                       bool kernel);
/* The process of a thread; UINT32_MAX: no record has named it yet.  */
uint32_t trace_pid_of(const struct perf_trace *trace, uint32_t tid);
/* Whether a mapping comes in place of another one of its process.  */
bool trace_replaces_code(const struct perf_trace *trace, const struct perf_data_record *record);
void trace_release_tasks(struct perf_trace *trace);

/* ---- Names of functions (trace_names.c) ---- */

/* Write what the recorder knew of the functions in a mapping of that vaddr.  False:
 * trace->failure is set, or no memory.  */
bool trace_name_functions(struct perf_trace *trace, const struct trace_process *process,
                          const struct perf_data_file *file, const struct trace_mapping *mapping,
                          uint64_t vaddr);

/* ---- Code that programs made (trace_code.c) ---- */

/* Take the addresses of the sample that is being made.  False: no memory.  */
bool trace_see_code(struct perf_trace *trace, struct trace_process *process);
/* Write the names, after the last sample.  False: trace->failure is set, or no memory.  */
bool trace_name_code(struct perf_trace *trace);

/* ---- Samples (trace_stack.c) ---- */

bool trace_take_sample(struct perf_trace *trace, const struct perf_data_record *record);
bool trace_take_deferred(struct perf_trace *trace, const struct perf_data_record *record);
/* Write the samples that wait, without their user parts.  */
bool trace_settle_samples(struct perf_trace *trace);
bool trace_add_address(struct perf_trace *trace, uint64_t address);

/* ---- Packets of Intel PT (trace_aux.c).  False: trace->failure is set. ---- */

#ifdef PERF_HAVE_INSN
/* Write the packets before a record, or before the end (NULL), or some of them: then *is_done is
 * false, and bytes were added.  */
bool trace_aux_before(struct perf_trace *trace, const struct perf_data_record *record,
                      bool *is_done);
/* Take a record AUXTRACE_INFO, AUXTRACE, AUX, ITRACE_START or of a context switch.  */
bool trace_aux_take(struct perf_trace *trace, const struct perf_data_record *record);
/* A process runs another program: its tasks have changed.  */
bool trace_aux_exec(struct perf_trace *trace, const struct perf_data_record *record);
void trace_aux_release(struct perf_trace *trace);
#endif

/* ---- Copies of stacks (trace_unwind.c) ---- */

/* The callers that a copy of the stack tells, valid until the next call.  *count 0: none.  False:
 * no memory.  */
bool trace_unwind(struct perf_trace *trace, const struct perf_data_record *record,
                  const uint64_t **addresses, size_t *count, bool *is_whole);

#endif /* PERF_TRACE_PARTS_H */
