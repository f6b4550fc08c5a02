/* cfi_parts.h - what the two walks by unwind tables (shim_cfi.h) share: rows of the tables, which
 * libunwind/cfi reads, and objects.  */
#ifndef SHIM_CFI_PARTS_H
#define SHIM_CFI_PARTS_H

#include "libunwind/cfi/cfi.h"
#include "sampler-capture/heap/shim/shim_cfi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined __x86_64__ && defined DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
#define SHIM_HAS_CFI
#endif

/* ---- Objects ---- */

/* The one that the last program counter was in: callers often are in the same one.  */
struct cfi_object {
    uint64_t start, size;
    const uint8_t *header; /* .eh_frame_hdr, or NULL */
    /* Part of the key of its rules, since another one may be loaded where one was.  */
    uint64_t mark;
};

/* Find the one that pc is in.  False: there is none.  */
bool shim_cfi_find(uint64_t pc, struct cfi_object *object, struct cfi_walk *walk);

/* The same where it may be *object already.  */
static inline bool find_object(uint64_t pc, struct cfi_object *object, struct cfi_walk *walk)
{
    return pc - object->start < object->size || shim_cfi_find(pc, object, walk);
}

/* Find what an object's tables say of pc.  False: nothing, or nothing we know.  */
static inline bool find_row(const struct cfi_object *object, uint64_t pc, struct cfi_row *row)
{
    struct cfi_section section = {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        .start = (const uint8_t *)(uintptr_t)object->start,
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        .limit = (const uint8_t *)(uintptr_t)(object->start + object->size),
        .header = object->header,
    };

    return object->header && cfi_find(&section, pc, row) == CFI_FOUND;
}

/* ---- The other walk ---- */

/* As shim_cfi_walk(), with all registers; it ends where it knows no further.  */
void shim_cfi_walk_fully(uintptr_t frame, struct cfi_walk *walk);

#endif /* SHIM_CFI_PARTS_H */
