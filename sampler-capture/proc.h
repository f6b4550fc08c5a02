/* proc.h - what /proc says of tasks that were there before us.
 *
 * Tasks come and go while it is read: what has ended in between is left out.  */
#ifndef CAPTURE_PROC_H
#define CAPTURE_PROC_H

#include "sampler-capture/perf_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_ids {
    pid_t *ids; /* owned; free() it */
    size_t count;
    size_t capacity;
};

bool proc_add_id(struct proc_ids *ids, pid_t id); /* false when there is no memory */

/* Each of these adds to ids, in ascending order, and returns false when there is no memory.  */

/* The threads of a process; none when it has ended.  */
bool proc_threads(pid_t pid, struct proc_ids *ids);

/* All processes.  */
bool proc_processes(struct proc_ids *ids);

/* A process and all that descend from it.  */
bool proc_tree(pid_t pid, struct proc_ids *ids);

/* Whether a process has this name (comm, of which the kernel keeps 15 bytes), and lives.  */
bool proc_has_name(pid_t pid, const char *name);

/* Whether a thread is one of the kernel's, which executes no code of a program.  */
bool proc_is_kernel_thread(pid_t tid);

/* Whether a thread with this id lives (a zombie does not), and its process; 0: there is none.  */
pid_t proc_process_of(pid_t tid);

/* Takes one record; it is borrowed for the call.  False ends the telling.  */
typedef bool (*proc_tell_fn)(void *context, const struct perf_record *record);

/* Tell the names of a process's threads and its executable mappings, as if the kernel did so now.
 * False when tell did.  */
bool proc_describe(pid_t pid, proc_tell_fn tell, void *context);

#endif /* CAPTURE_PROC_H */
