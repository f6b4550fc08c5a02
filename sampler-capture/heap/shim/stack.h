/* stack.h - which memory may be read as the stack that we run on.
 *
 * Unwind tables and frame pointers may be wrong, and the stack may be any: a thread's, a signal
 * handler's, a coroutine's.  So pages are tried, one behind the other from our own frame on, and
 * those that are there are remembered: the pages of a stack do not go while it is in use.  Asking
 * libc would not do: pthread_getattr_np(3) holds a lock while it allocates.  */
#ifndef SHIM_STACK_H
#define SHIM_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* What follows is about the calling thread, and the stack that has frame.  */
void shim_stack_begin(uintptr_t frame);

/* Pages of the stack that were tried.  */
struct shim_stack_pages {
    uintptr_t low, high;
};
extern __thread struct shim_stack_pages shim_stack_pages
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool shim_stack_try(uintptr_t end);

/* Whether size bytes at address can be read, and are of the stack: no less than the frame, and not
 * so far behind what was read before that no function would have such a frame.  */
static inline bool shim_stack_has(uintptr_t address, uintptr_t size)
{
    uintptr_t end;

    return address >= shim_stack_pages.low && !__builtin_add_overflow(address, size, &end) &&
           (end <= shim_stack_pages.high || shim_stack_try(end));
}

#endif /* SHIM_STACK_H */
