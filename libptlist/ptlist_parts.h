/* ptlist_parts.h - the parts of a list.  Private to libptlist.
 *
 *   sideband.c   everything but the packets
 *   ptlist.c     the trace
 */
#ifndef PTLIST_PARTS_H
#define PTLIST_PARTS_H

#include <fxt/insn.h>
#include "libptlist/ptlist.h"

/* The packets of a CPU.  */
struct ptlist_file {
    uint32_t cpu;
    char *path; /* owned */
};

/* A process and the address space that it had from ticks on.  */
struct ptlist_process {
    uint64_t koid, cr3, ticks;
    bool written;
};

struct ptlist_name {
    uint64_t koid;
    char text[40];
};

struct ptlist_module {
    uint64_t koid;     /* of the process */
    uint32_t sequence; /* of the lines about it */
    uint64_t base;     /* of vaddr 0 */
    uint64_t start, limit;
    uint8_t build_id[32];
    uint8_t build_id_length;
    char *name; /* owned; NULL: the lines are not complete */
};

struct ptlist_sideband {
    struct ptlist_file *files;
    size_t file_count, file_capacity;
    struct ptlist_process *processes; /* in the order of their creation */
    size_t process_count, process_capacity;
    struct ptlist_name *names;
    size_t name_count, name_capacity;
    struct ptlist_module *modules;
    size_t module_count, module_capacity;
    struct insn_config config;
    uint64_t ticks_per_ms; /* 0: unknown */
    uint64_t kernel_cr3;   /* 0: unknown */
    struct ptlist_counts counts;
};

/* Read the files whose list is at path.  False: message, and what was read is to be released.  */
bool ptlist_read_sideband(struct ptlist_sideband *sideband, const char *path, char *message,
                          size_t size);
/* Count a file of which errno says why it is not read.  */
void ptlist_miss(struct ptlist_sideband *sideband, const char *path);
void ptlist_release_sideband(struct ptlist_sideband *sideband);

#endif /* PTLIST_PARTS_H */
