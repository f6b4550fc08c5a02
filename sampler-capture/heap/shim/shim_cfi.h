/* shim_cfi.h - callers by unwind tables, fast where they are simple.
 *
 * On x86-64 nearly every function's table says the same few things: the canonical frame address is
 * so many bytes behind rsp or rbp, the return address lies below it, and rbp, if it was saved, at
 * some place there.  What a table says of one program counter is read once and kept.  Anything
 * else - signal frames, realigned stacks - needs all registers, and each table anew: then the walk
 * begins again, slowly.  Code of no object, such as a compiler makes while the program runs, is
 * taken to keep frame pointers.
 *
 * No libc but the loader's lock-free _dl_find_object(), no allocation, any number of threads.
 * Nothing is read but pages of the stack that are known to be there: tables may be wrong, and what
 * a stack that somebody made by hand begins with is no address of code.  The compiler's unwinder
 * reads either; it is for other machines and older C libraries.  */
#ifndef SHIM_CFI_H
#define SHIM_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dl_find_object;

struct cfi_walk {
    uint64_t *stack; /* return addresses, innermost first */
    size_t room;     /* for that many; at least one */
    size_t count;
    /* Called with each object that has some of them, and its mark (shim_object.h).  */
    void (*visit)(struct cfi_walk *walk, const struct dl_find_object *object, uint64_t mark);
    bool is_unknown; /* for visit() */
};

/* Walk the callers of the function that calls this, which must have a frame pointer: frame is its
 * __builtin_frame_address(0).  False where there is no such walk; then nothing was found.  */
bool shim_cfi_walk(uintptr_t frame, struct cfi_walk *walk);

#endif /* SHIM_CFI_H */
