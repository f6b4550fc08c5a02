#include "sampler-capture/heap/shim/stack.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096 /* the smallest there is; pages may be larger */
/* Larger frames than that end a stack.  */
#define MAX_FRAME ((uintptr_t)1 << 20)

__thread struct shim_stack_pages shim_stack_pages
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

void shim_stack_begin(uintptr_t frame)
{
    struct shim_stack_pages *pages = &shim_stack_pages;

    if (frame >= pages->low && frame < pages->high)
        return;
    pages->low = frame & -(uintptr_t)PAGE;
    pages->high = pages->low + PAGE;
}

/* The kernel reads the new set before it looks at what is to be done with it, and that is
 * nothing.  */
static bool is_readable(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;
}

bool shim_stack_try(uintptr_t end)
{
    struct shim_stack_pages *pages = &shim_stack_pages;

    if (end - pages->high > MAX_FRAME)
        return false;
    while (pages->high < end) {
        if (!is_readable(pages->high))
            return false;
        pages->high += PAGE;
    }
    return true;
}
