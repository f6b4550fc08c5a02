#include "sampler-capture/heap/shim/stack.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096 /* the smallest there is; pages may be larger */
/* Larger frames than that end a stack that is not the thread's own.  */
#define MAX_FRAME ((uintptr_t)1 << 20)
/* As far as that the thread's own stack is looked for, and so often in vain.  */
#define MAX_OWN      ((uintptr_t)16 << 20)
#define MAX_FAILURES 8

__thread struct shim_stack_pages shim_stack_pages
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static uintptr_t page_of(uintptr_t address)
{
    return address & -(uintptr_t)PAGE;
}

/* The kernel reads the new set before it looks at what is to be done with it, and that is
 * nothing.  */
static bool is_readable_page(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) == 0 || errno != EFAULT;
}

/* Whether all pages can be read from that at low, which can, to that at high.  */
static bool is_one(struct shim_stack_pages *pages, uintptr_t low, uintptr_t high)
{
    if (low > high || high - low > MAX_OWN || pages->failures == MAX_FAILURES)
        return false;
    for (uintptr_t page = page_of(low) + PAGE; page <= page_of(high); page += PAGE) {
        if (!is_readable_page(page)) {
            pages->failures++;
            return false;
        }
    }
    return true;
}

/* An address at the top of the thread's own stack: the kernel has put there what the first thread
 * begins with, and libc what it keeps of each other one, with a page below the stack that cannot be
 * read.  */
static uintptr_t own_top(void)
{
    bool is_first = syscall(SYS_gettid) == syscall(SYS_getpid);

    return is_first ? getauxval(AT_RANDOM) : (uintptr_t)__builtin_thread_pointer();
}

/* Whether frame is on the thread's own stack.  */
static bool is_own(struct shim_stack_pages *pages, uintptr_t frame)
{
    if (frame >= pages->own_low && frame < pages->own_high)
        return true;
    if (pages->own_high == 0) { /* nothing is known but its last page */
        pages->own_low = page_of(own_top());
        pages->own_high = pages->own_low + PAGE;
    }
    if (!is_one(pages, frame, pages->own_low))
        return false;
    pages->own_low = page_of(frame); /* deeper than before */
    return true;
}

void shim_stack_begin(uintptr_t frame, bool is_readable)
{
    struct shim_stack_pages *pages = &shim_stack_pages;

    pages->low = page_of(frame);
    pages->tried_low = pages->low;
    pages->tried_high = pages->low + (is_readable ? PAGE : 0);
    pages->is_own = is_own(pages, frame);
}

bool shim_stack_try(uintptr_t address, uintptr_t end)
{
    struct shim_stack_pages *pages = &shim_stack_pages;

    if (address < pages->low || end > (pages->is_own ? pages->own_high : UINTPTR_MAX - PAGE))
        return false;
    if (pages->is_own) {
        if (address < pages->tried_low || address > pages->tried_high)
            pages->tried_low = pages->tried_high = page_of(address);
    } else if (end > pages->tried_high && end - pages->tried_high > MAX_FRAME) {
        return false;
    }
    while (pages->tried_high < end) {
        if (!is_readable_page(pages->tried_high))
            return false;
        pages->tried_high += PAGE;
    }
    return true;
}
