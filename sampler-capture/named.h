/* named.h - processes of a name, now and as they come.
 *
 * A process gets its name by fork(2) (its parent's), by an exec and by prctl(2).  So those that are
 * new are looked at in each look, since they are about to exec, and all the others once a second: a
 * look costs little where there are thousands.  */
#ifndef CAPTURE_NAMED_H
#define CAPTURE_NAMED_H

#include "sampler-capture/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMED_LOOK_MS 100 /* between two looks */

struct named_process {
    pid_t pid;
    uint64_t since_ns; /* when it was seen first */
    bool is_found;     /* it was given out */
};

struct named {
    const char *name;            /* borrowed */
    struct named_process *known; /* owned; by pid */
    size_t count;
    uint64_t all_ns; /* when all were looked at */
};

/* Look at time now_ns, and add to found processes that have the name and were not given out before.
 * False when there is no memory.  */
bool named_look(struct named *named, uint64_t now_ns, struct proc_ids *found);

/* Whether any that was found lives.  */
bool named_lives(const struct named *named);

void named_release(struct named *named);

#endif /* CAPTURE_NAMED_H */
