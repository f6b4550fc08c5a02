/* kernel.h - what kernel addresses mean: vmlinux and its modules, and the symbols that the running
 * kernel tells.
 *
 * Addresses of a kernel that was moved at boot (KASLR) mean nothing to the vmlinux file.  Mappings
 * lead from them to the addresses of the file, and the symbols are written with those, so that both
 * agree.  */
#ifndef CPU_KERNEL_H
#define CPU_KERNEL_H

#include "sampler-capture/elf_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* vmlinux, or a module.  */
struct kernel_image {
    char name[64]; /* "[kernel.kallsyms]", "[ext4]", as perf has it */
    uint64_t start, limit;
    uint64_t vaddr; /* in the file, of start; of a module: 0, the start of its .text */
    uint8_t build_id[ELF_IMAGE_MAX_BUILD_ID];
    size_t build_id_size; /* 0: unknown, or of no use because the file's addresses are not known */
};

struct kernel {
    struct kernel_image *images; /* owned; the kernel first */
    size_t count;
    size_t capacity;
    char *symbols; /* owned; lines of /proc/kallsyms, functions alone, addresses as in the files */
    size_t symbols_size;
    bool hidden; /* kernel.kptr_restrict hides addresses: there are neither images nor symbols */
};

/* Read what there is below root ("" for the machine itself).  False when there is no memory.  */
bool kernel_read(struct kernel *kernel, const char *root);

void kernel_release(struct kernel *kernel);

#endif /* CPU_KERNEL_H */
