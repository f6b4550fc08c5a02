/* cfi.h - callers by unwind tables, fast where they are simple.
 *
 * On x86-64 nearly every function's table says the same few things: the canonical frame address is
 * so many bytes behind rsp or rbp, the return address lies below it, and rbp, if it was saved, at
 * some place there.  What a table says of one program counter is read once and kept.  Anything
 * else - signal frames, realigned stacks, other machines - is left to the compiler's unwinder.
 *
 * No libc but the loader's lock-free _dl_find_object(), no allocation, any number of threads.  */
#ifndef SHIM_CFI_H
#define SHIM_CFI_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the next return address, innermost first; false ends the walk.  */
typedef bool (*cfi_take_fn)(void *context, uint64_t pc);

/* Walk the callers of the function that calls this, which must have a frame pointer: frame is its
 * __builtin_frame_address(0).  False when a table was not simple: then what was taken is to be
 * forgotten.  */
bool shim_cfi_walk(uintptr_t frame, cfi_take_fn take, void *context);

#endif /* SHIM_CFI_H */
