/* stack.h - which memory may be read as the stack that we run on.
 *
 * Unwind tables and frame pointers may be wrong, and the stack may be any: a thread's, a signal
 * handler's, a coroutine's.  So pages are tried, one behind the other from our own frame on.  Those
 * of the thread's own stack are remembered, for they stay as long as it runs: that stack is what
 * can be read without a gap up to where the kernel or libc has put the thread's first things.  Of
 * other stacks nothing is remembered; one of them may be gone at the next sample, and a smaller one
 * be there.  Asking libc would not do: pthread_getattr_np(3) holds a lock while it allocates.  */
#ifndef SHIM_STACK_H
#define SHIM_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* What follows is about the calling thread, and the stack that has frame.  */
void shim_stack_begin(uintptr_t frame);

/* Pages of the stack that can be read.  */
struct shim_stack_pages {
    uintptr_t low, high;
    uintptr_t own_low, own_high; /* of the thread's own stack, as far as it is known */
    unsigned failures;           /* to find more of it */
};
extern __thread struct shim_stack_pages shim_stack_pages
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool shim_stack_try(uintptr_t end);

/* Whether size bytes at address can be read, and are of the stack: no less than the frame, and, if
 * it is not the thread's own, not so far behind what was read before that no function would have
 * such a frame.  */
static inline bool shim_stack_has(uintptr_t address, uintptr_t size)
{
    uintptr_t end;

    return address >= shim_stack_pages.low && !__builtin_add_overflow(address, size, &end) &&
           (end <= shim_stack_pages.high || shim_stack_try(end));
}

#endif /* SHIM_STACK_H */
