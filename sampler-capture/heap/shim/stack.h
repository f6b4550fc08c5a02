/* stack.h - which memory may be read as the stack that we run on.
 *
 * Unwind tables and frame pointers may be wrong, and the stack may be any: a thread's, a signal
 * handler's, a coroutine's.  So each page is tried, in each walk, before it is read: what was a
 * stack at the last sample may be gone at the next one, and another one be there.
 *
 * The thread's own stack is what can be read without a gap up to where the kernel or libc has put
 * the thread's first things.  Its frames may have any size, so of it only the pages that are read
 * are tried; how deep it was seen to be is remembered.  Of other stacks all pages are, one behind
 * the other, so that a walk does not go on to a neighbour.  Asking libc would not do:
 * pthread_getattr_np(3) holds a lock while it allocates.  */
#ifndef SHIM_STACK_H
#define SHIM_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* What follows is about the calling thread, and the stack that has frame, on a page that can be
 * read, or may be.  */
void shim_stack_begin(uintptr_t frame, bool is_readable);

struct shim_stack_pages {
    uintptr_t low;                   /* page of the frame; nothing below is of the stack */
    uintptr_t tried_low, tried_high; /* pages that can be read */
    bool is_own;                     /* it is the thread's own stack */
    uintptr_t own_low, own_high;     /* of that, as far as it is known */
    unsigned failures;               /* to find more of it */
};
extern __thread struct shim_stack_pages shim_stack_pages
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The same for what was not tried before.  */
bool shim_stack_try(uintptr_t address, uintptr_t end);

/* Whether size bytes at address, no more than a page, can be read, and are of the stack: no less
 * than the frame, and, if it is not the thread's own, not so far behind what was read before that
 * no function would have such a frame.  */
static inline bool shim_stack_has(uintptr_t address, uintptr_t size)
{
    uintptr_t end;

    return !__builtin_add_overflow(address, size, &end) &&
           ((address >= shim_stack_pages.tried_low && end <= shim_stack_pages.tried_high) ||
            shim_stack_try(address, end));
}

#endif /* SHIM_STACK_H */
