/* shim_unwind.c - who called the allocator.
 *
 * By unwind tables that we read ourselves (shim_cfi.h); where we do not, by the compiler's
 * unwinder, linked into the shim: a private copy shares no lock with the program's, which may hold
 * one of its own while it allocates, and nothing needs to be loaded.  */
#include "sampler-capture/heap/shim/shim.h"
#include "sampler-capture/heap/shim/shim_cfi.h"
#include "sampler-capture/heap/shim/stack.h"

#include <string.h>
#include <unwind.h>

/* The code of this library, from the linker.  */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool shim_is_own(uint64_t pc)
{
    uint64_t start = (uint64_t)(uintptr_t)__ehdr_start;

    return pc - start < (uint64_t)(uintptr_t)etext - start;
}

static bool add(struct cfi_walk *walk, uint64_t pc)
{
    walk->stack[walk->count++] = pc;
    return walk->count < walk->room;
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

/* The C++ library between operator new and malloc may have no frame pointers: begin at its caller,
 * if that is still there and nothing that an exception left behind.  */
static uintptr_t skip_library(uintptr_t frame)
{
    uintptr_t outer = shim_thread.outer_frame;
    const uintptr_t *words;

    if (outer <= frame || outer % sizeof *words != 0 || !shim_stack_has(outer, 2 * sizeof *words))
        return frame;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    words = (const uintptr_t *)outer;
    return words[1] == shim_thread.outer_return ? outer : frame;
}

/* Our own functions have frame pointers.  Behind them only what is of the same stack is read, above
 * what was read before: code without frame pointers leaves anything in the register.  */
static void follow_frames(struct cfi_walk *walk, uintptr_t frame)
{
    shim_stack_begin(frame, true);
    frame = skip_library(frame);
    while (frame % sizeof(uintptr_t) == 0 && shim_stack_has(frame, 2 * sizeof(uintptr_t))) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        const uintptr_t *words = (const uintptr_t *)frame;

        if (words[1] == 0 || !add(walk, words[1]) || words[0] <= frame)
            break;
        frame = words[0];
    }
}

/* ---- Both ---- */

/* What was called on the way from one hook to another - operator new calls malloc - is no caller
 * either, so frames of the shim go with all before them.  */
static void cut_own(struct shim_stack *stack)
{
    size_t first = stack->count;

    while (first > 0 && !shim_is_own(stack->words[first - 1]))
        first--;
    stack->frames = stack->words + first;
    stack->count -= first;
    if (stack->count > HEAP_MAX_FRAMES)
        stack->count = HEAP_MAX_FRAMES;
}

void shim_unwind(struct shim_stack *stack)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct cfi_walk walk = { .stack = stack->words,
                             .room = sizeof stack->words / sizeof *stack->words,
                             .visit = shim_modules_visit };
    bool is_visited = !shim_settings.frame_pointers && shim_cfi_walk(frame, &walk);

    if (!is_visited) {
        walk.count = 0;
        if (shim_settings.frame_pointers)
            follow_frames(&walk, frame);
        else
            (void)_Unwind_Backtrace(take_frame, &walk);
    }
    stack->count = walk.count;
    cut_own(stack);
    stack->is_unknown = is_visited ? walk.is_unknown
                                   : !shim_modules_know(stack->frames, stack->count);
}
