/* capture_modules.h - the files that processes run code from, each opened once.  */
#ifndef CAPTURE_MODULES_H
#define CAPTURE_MODULES_H

#include "base/index.h"
#include "sampler-capture/elf_image.h"
#include "sampler-capture/keep.h"
#include "sampler-capture/perf_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One file.  Owned by its table and never freed before it.  */
struct module {
    uint32_t serial; /* 1, 2, ... in the order of first sight; 0 is code of no file */
    char *name;      /* as the kernel gave it, without " (deleted)" */
    /* What the kernel gave to tell files of one name apart.  */
    uint8_t kernel_build_id[PERF_BUILD_ID_SIZE];
    size_t kernel_build_id_size;
    uint64_t device;
    uint64_t inode;
    uint64_t inode_generation;

    struct elf_image image; /* build ID from the kernel or the file; segments from the file */
};

/* All zero is an empty table.  Memory: O(distinct files mapped).  */
struct module_table {
    struct base_index index;
    struct module **items; /* owned; by serial, from 1 on */
    size_t count, capacity;
    uint64_t unplaced;     /* mappings whose file does not give their vaddr: modules_vaddr() */
    struct keeper *keeper; /* takes each file; borrowed; NULL: none does */
};

/* Whether a mapping belongs to no file: code made at run time.  */
bool perf_map_is_anonymous(const struct perf_map *map);

/* The module of a mapping that process pid made just now; it is opened if it is new.  NULL when
 * there is no memory.  */
struct module *modules_find(struct module_table *table, const struct perf_map *map, uint32_t pid);

/* Open the file of a module again, through process pid, which has it at [start, limit); only if it
 * still is the file that was mapped.  Returns a descriptor, which is the caller's, or -1.  */
int modules_open(const struct module *module, uint32_t pid, uint64_t start, uint64_t limit);

/* The vDSO is no file: where this process has it, if the module is the vDSO; else NULL.  size is
 * that of its mapping.  */
const void *modules_memory(const struct module *module, uint64_t size, size_t *available);

/* The ELF virtual address at which a mapping of the module starts.  If the file was gone,
 * unreadable, another one by now, or not ELF, *out is the file offset, and false is returned.  */
bool modules_vaddr(const struct module *module, uint64_t file_offset, uint64_t *out);

void modules_release(struct module_table *table);

#endif /* CAPTURE_MODULES_H */
