/* unwind.c - who called the allocator.
 *
 * By unwind tables, read by ourselves where they are simple (cfi.h), else by an unwinder.
 * The unwinder is the compiler's, linked into the shim: a private copy shares no lock with the
 * program's, which may hold one of its own while it allocates, and nothing needs to be loaded.  */
#include "sampler-capture/heap/shim/cfi.h"
#include "sampler-capture/heap/shim/shim.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

/* The code of this library, from the linker.  */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool is_own(uint64_t pc)
{
    uint64_t start = (uint64_t)(uintptr_t)__ehdr_start;

    return pc - start < (uint64_t)(uintptr_t)etext - start;
}

struct walk {
    uint64_t *stack;
    size_t count;
};

/* What was called on the way from one hook to another - operator new calls malloc - is no caller
 * either, so frames of the shim forget all before them.  */
static bool add(struct walk *walk, uint64_t pc)
{
    if (is_own(pc))
        walk->count = 0;
    else
        walk->stack[walk->count++] = pc;
    return walk->count < HEAP_MAX_FRAMES;
}

static bool take_caller(void *walk, uint64_t pc)
{
    return add(walk, pc);
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
    int exact = 0; /* a signal arrived there: no call precedes the address */
    uint64_t pc = _Unwind_GetIPInfo(context, &exact);

    if (pc == 0)
        return _URC_END_OF_STACK;
    return add(argument, pc + (exact != 0)) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* ---- Frame pointers ---- */

/* Where the stack of a thread ends; found once.  */
static __thread struct {
    uintptr_t low, high;
} bounds __attribute__((tls_model("initial-exec")));

extern void *__libc_stack_end; // NOLINT(bugprone-reserved-identifier)

static void find_main_stack(void)
{
    struct rlimit limit = { 0, 0 };

    bounds.high = (uintptr_t)__libc_stack_end;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > bounds.high)
        limit.rlim_cur = (rlim_t)8 << 20;
    bounds.low = bounds.high - limit.rlim_cur;
}

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;

    if (syscall(SYS_gettid) == getpid()) {
        find_main_stack();
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
        bounds.low = (uintptr_t)start;
        bounds.high = bounds.low + size;
    }
    (void)pthread_attr_destroy(&attributes);
}

/* The C++ library between operator new and malloc may have no frame pointers: begin at its caller,
 * if that is still there and nothing that an exception left behind.  */
static uintptr_t skip_library(uintptr_t frame)
{
    uintptr_t outer = shim_thread.outer_frame;
    const uintptr_t *words;

    if (outer <= frame || outer % sizeof *words != 0 || outer >= bounds.high ||
        bounds.high - outer < 2 * sizeof *words)
        return frame;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    words = (const uintptr_t *)outer;
    return words[1] == shim_thread.outer_return ? outer : frame;
}

static bool is_in_stack(uintptr_t frame)
{
    return frame % sizeof(uintptr_t) == 0 && frame >= bounds.low && frame < bounds.high &&
           bounds.high - frame >= 2 * sizeof(uintptr_t);
}

/* Our own functions have frame pointers.  Behind them only what lies in the thread's own stack is
 * read, above what was read before: code without frame pointers leaves anything in the register,
 * and handlers and coroutines have stacks that we do not know.  */
static void follow_frames(struct walk *walk)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    bool own = true;

    if (bounds.high == 0)
        find_stack();
    if (is_in_stack(frame))
        frame = skip_library(frame);
    while (own || is_in_stack(frame)) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        const uintptr_t *words = (const uintptr_t *)frame;

        own = is_own(words[1]);
        if (words[1] == 0 || !add(walk, words[1]) || words[0] <= frame)
            break;
        frame = words[0];
    }
}

size_t shim_unwind(uint64_t stack[HEAP_MAX_FRAMES])
{
    struct walk walk = { .stack = stack };

    if (shim_settings.frame_pointers) {
        follow_frames(&walk);
    } else if (!shim_cfi_walk((uintptr_t)__builtin_frame_address(0), take_caller, &walk)) {
        walk.count = 0;
        (void)_Unwind_Backtrace(take_frame, &walk);
    }
    return walk.count;
}
