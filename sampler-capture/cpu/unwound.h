/* unwound.h - the unwind tables, and the code, of the modules that processes run code of.
 *
 * A table is read when code of its module is first met.  Until then its file is kept open from when
 * it was mapped, as far as descriptors allow: by then the file may be deleted, and the process that
 * mapped it gone.  */
#ifndef CPU_UNWOUND_H
#define CPU_UNWOUND_H

#include "sampler-capture/proc_maps.h"

#include <fxt/unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a module.  */
struct unwound {
    const struct module *module; /* NULL: not met yet */
    struct unwind_table *table;  /* owned; NULL: none could be had */
    bool has_fd;
    int fd;        /* owned, if has_fd */
    uint32_t pid;  /* through which the file was looked for last */
    unsigned left; /* how often it may be looked for once more, through another process */
    uint64_t cuts; /* stacks that ended in it */
    /* Of its code, which is read where no table covers it and the process has ended.  */
    bool has_code, code_was_tried;
    int code_fd; /* owned, if has_code */
};

/* All zero is empty.  */
struct unwound_modules {
    struct unwound *items; /* owned; by serial number */
    size_t capacity;
    size_t kept; /* descriptors */
};

/* Process pid maps a module at [start, limit).  False: no memory.  */
bool unwound_expect(struct unwound_modules *modules, const struct module *module, uint32_t pid,
                    uint64_t start, uint64_t limit);

/* What is known of the module of a mapping of process pid.  NULL: no memory.  */
struct unwound *unwound_find(struct unwound_modules *modules, const struct mapping *mapping,
                             uint32_t pid);

/* Copy at most size bytes of the file's code, which a mapping of process pid has at an address.
 * Returns their number; 0: the file cannot be had.  */
size_t unwound_code(struct unwound_modules *modules, const struct mapping *mapping, uint32_t pid,
                    uint64_t address, uint8_t *bytes, size_t size);

void unwound_release(struct unwound_modules *modules);

#endif /* CPU_UNWOUND_H */
