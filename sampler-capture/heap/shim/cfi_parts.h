/* cfi_parts.h - what the two walks by unwind tables (cfi.h) share: the tables.  */
#ifndef SHIM_CFI_PARTS_H
#define SHIM_CFI_PARTS_H

#include "sampler-capture/heap/shim/cfi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined __x86_64__ && defined DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
#define SHIM_HAS_CFI
#endif

/* ---- Reading bytes ---- */

struct bytes {
    const uint8_t *next;
    const uint8_t *end;
    bool bad;
};

static inline uint64_t take_fixed(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(bytes->end - bytes->next) < size) {
        bytes->bad = true;
        return 0;
    }
    memcpy(&value, bytes->next, size);
    bytes->next += size;
    return value;
}

static inline uint64_t take_uleb(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take_fixed(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    bytes->bad = true;
    return 0;
}

static inline int64_t take_sleb(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 57; shift += 7) {
        uint64_t byte = take_fixed(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return (int64_t)(byte & 0x40 ? value | (~UINT64_C(0) << (shift + 7)) : value);
    }
    bytes->bad = true;
    return 0;
}

static inline void skip(struct bytes *bytes, uint64_t size)
{
    if ((uint64_t)(bytes->end - bytes->next) < size)
        bytes->bad = true;
    else
        bytes->next += size;
}

/* ---- Tables ---- */

/* Registers as DWARF numbers them, and the return address.  */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_R12 = 12, CFI_RA = 16, CFI_COLUMNS };

/* Where what a register had in the caller is found.  An expression is a length, in LEB128, and
 * bytes.  */
enum cfi_kind {
    CFI_SAME, /* still there; also where nothing is said */
    CFI_UNDEFINED,
    CFI_SAVED,    /* in memory, at an offset from the canonical frame address */
    CFI_VALUE,    /* it is that address and the offset */
    CFI_REGISTER, /* in the register whose number the offset is */
    CFI_SAVED_AT, /* in memory, at what an expression gives */
    CFI_VALUE_OF, /* it is what an expression gives */
};

/* What a table says of one program counter.  */
struct cfi_row {
    const uint8_t *cfa_expression; /* gives the canonical frame address; NULL: the next two do */
    uint64_t cfa_register;
    int64_t cfa_offset;
    union {
        int64_t offset;
        const uint8_t *expression;
    } values[CFI_COLUMNS];
    uint8_t kinds[CFI_COLUMNS]; /* enum cfi_kind */
    bool is_signal;             /* the caller was interrupted where it is: it called nothing */
};

/* Find what the tables behind an .eh_frame_hdr say of pc.  False: nothing, or nothing we know.  */
bool shim_cfi_read(const uint8_t *header, uint64_t pc, struct cfi_row *row);

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
static inline bool cfi_find(uint64_t pc, struct cfi_object *object, struct cfi_walk *walk)
{
    return pc - object->start < object->size || shim_cfi_find(pc, object, walk);
}

/* ---- The other walk ---- */

/* As shim_cfi_walk(), with all registers; it ends where it knows no further.  */
void shim_cfi_walk_fully(uintptr_t frame, struct cfi_walk *walk);

#endif /* SHIM_CFI_PARTS_H */
