/* jit.h - names of code that programs make while they run.
 *
 * Runtimes write them where perf looks for them: /tmp/perf-PID.map, and the dump jit-PID.dump, of
 * which they map a page.  Both are looked for where the process sees them, under the id that it has
 * there, and read when the capture ends; of their functions those are told that samples were
 * taken in.
 *
 * What is in these files is hostile: they are read only if they are regular files of the process's
 * user or root, and as libperf/jit_files.h says.  */
#ifndef CPU_JIT_H
#define CPU_JIT_H

#include "sampler-capture/perf_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_process;

/* All zero is empty.  */
struct jit {
    struct jit_process *processes; /* owned */
    size_t count, capacity;
    size_t address_count; /* of all processes */
};

/* A process has just mapped what is no file, or a dump: remember where its files will be.  False:
 * no memory.  */
bool jit_expect(struct jit *jit, uint32_t pid, const struct perf_map *map);

/* A sample of a process, whose koid tells it from others of that pid, has an address in code of no
 * file.  False: no memory.  */
bool jit_saw(struct jit *jit, uint64_t koid, uint32_t pid, uint64_t address);

/* Takes lines "START SIZE NAME" about a process.  False ends the telling.  */
typedef bool (*jit_tell_fn)(void *context, uint64_t koid, const char *lines, size_t size);

/* Read the files and tell of all functions that were seen.  False: tell did, or no memory.  */
bool jit_tell(struct jit *jit, jit_tell_fn tell, void *context);

void jit_release(struct jit *jit);

#endif /* CPU_JIT_H */
