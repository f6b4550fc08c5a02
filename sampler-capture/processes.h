/* processes.h - processes and threads of a capture, as the kernel's side-band records tell of them.
 *
 * The records of all CPUs must come in order of time.  A fork copies the parent's mappings; an exec
 * begins a new incarnation with none; the end of the last thread frees a process.  A task that no
 * record announced (its record was lost) is made up when it is first named.
 *
 * A koid has one name in a trace.  A thread that changes its name once it has samples goes on under
 * another koid of its tid, so that each sample has the name of its time; under a name that it had
 * before it has the koid from then.  */
#ifndef CAPTURE_PROCESSES_H
#define CAPTURE_PROCESSES_H

#include "sampler-capture/capture_modules.h"
#include "sampler-capture/id_table.h"
#include "sampler-capture/perf_record.h"
#include "sampler-capture/proc_maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_NAME_SIZE 64 /* with NUL; the kernel's are 16 */

/* A module that the trace has for a process, and its number there.  */
struct known_module {
    const struct module *module;
    uint16_t id;
};

struct process {
    uint64_t koid;
    uint32_t pid;
    char name[TASK_NAME_SIZE]; /* of its first thread, as ps shows it */
    bool name_written;
    struct address_map map;
    struct known_module *known; /* owned; in the order in which they were written */
    size_t known_count, known_capacity;
    uint32_t next_local_id; /* where to look for a number once they repeat over the file */
    struct thread *threads; /* owned list of the living */
    bool sampled;           /* it has a sample in the trace */
};

/* What a thread is called, and what the trace knows it by then.  */
struct thread_name {
    uint64_t koid;
    char text[TASK_NAME_SIZE];
    bool written;
    bool sampled; /* it has a sample in the trace */
};

#define THREAD_MAX_NAMES 64 /* beyond these the last one is taken for all that follows */

struct thread {
    uint32_t tid;
    struct thread_name name;
    struct thread_name *names; /* owned; those that it had before */
    size_t name_count, name_capacity;
    bool sampled; /* under any name */
    struct process *process;
    struct thread *next;
};

/* All zero is an empty table.  */
struct process_table {
    struct id_table processes; /* pid to struct process */
    struct id_table threads;   /* tid to struct thread */
    struct module_table modules;
    uint64_t mappings_dropped; /* for want of room: MAPS_MAX_MAPPINGS */
};

/* Apply a side-band record; other kinds change nothing.  False when there is no memory.  */
bool processes_apply(struct process_table *table, const struct perf_record *record);

/* The thread that took a sample.  NULL when there is no memory.  Lives until the next
 * processes_apply().  */
struct thread *processes_thread(struct process_table *table, uint32_t pid, uint32_t tid);

/* Another trace begins: nothing of what is known has been written to it.  */
void processes_forget_written(struct process_table *table);

/* The number of a module in a process, both to be written under.  *is_new says that the trace does
 * not have the module for this process yet.  Unique in the file while numbers last, then in the
 * process.  False when there is no memory or the process has 65,536 modules.  */
bool process_module_id(struct process *process, const struct module *module, uint16_t *id,
                       bool *is_new);

/* A process that is in no table, such as a heap capture's: free what it owns.  */
void process_release(struct process *process);

void processes_release(struct process_table *table);

#endif /* CAPTURE_PROCESSES_H */
