/* hooks.c - the allocator as the program sees it: every entry counts, and goes on to the allocator
 * that the program would have without us.
 *
 * An allocator's entries may call each other through these hooks: libstdc++'s operator new calls
 * malloc.  What the inner hook has counted the outer one does not count again; it sees that from
 * struct moment.  No flag is set meanwhile, for exceptions of operator new leave past us.  */
#include "sampler-capture/heap/shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

/* ---- The real ones ---- */

/* While the loader is asked for them, what it allocates comes from here, and stays.  */
static struct {
    uint8_t bytes[16384] __attribute__((aligned(16)));
    size_t used;
} early;

static bool is_early(const void *address)
{
    return (uintptr_t)address - (uintptr_t)early.bytes < sizeof early.bytes;
}

static void *allocate_early(size_t size)
{
    size_t at = early.used;

    if (size > sizeof early.bytes - 16 || (size + 15) / 16 * 16 > sizeof early.bytes - at) {
        errno = ENOMEM;
        return NULL;
    }
    early.used += (size + 15) / 16 * 16;
    return early.bytes + at;
}

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *address, size_t size);
static void first_free(void *address);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
} real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
};

/* What moves and frees where some of the blocks may be early ones, which seldom is.  */
static struct {
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} later;

static void *realloc_early_too(void *address, size_t size)
{
    size_t most = sizeof early.bytes - ((uintptr_t)address - (uintptr_t)early.bytes);
    void *moved;

    if (!is_early(address))
        return later.realloc(address, size);
    moved = real.malloc(size);
    if (moved)
        memcpy(moved, address, size < most ? size : most);
    return moved;
}

static void free_early_too(void *address)
{
    if (!is_early(address))
        later.free(address);
}

/* C++'s, by where they are in this table; all NULL where the program has no C++ library at its
 * start.  */
enum operator_index {
    NEW,
    NEW_ARRAY,
    NEW_NOTHROW,
    NEW_ARRAY_NOTHROW,
    NEW_ALIGNED,
    NEW_ARRAY_ALIGNED,
    NEW_ALIGNED_NOTHROW,
    NEW_ARRAY_ALIGNED_NOTHROW,
    DELETE,
    DELETE_ARRAY,
    DELETE_SIZED,
    DELETE_ARRAY_SIZED,
    DELETE_NOTHROW,
    DELETE_ARRAY_NOTHROW,
    DELETE_ALIGNED,
    DELETE_ARRAY_ALIGNED,
    DELETE_SIZED_ALIGNED,
    DELETE_ARRAY_SIZED_ALIGNED,
    DELETE_ALIGNED_NOTHROW,
    DELETE_ARRAY_ALIGNED_NOTHROW,
    OPERATORS,
};

static const char *const operator_names[OPERATORS] = {
    [NEW] = "_Znwm",
    [NEW_ARRAY] = "_Znam",
    [NEW_NOTHROW] = "_ZnwmRKSt9nothrow_t",
    [NEW_ARRAY_NOTHROW] = "_ZnamRKSt9nothrow_t",
    [NEW_ALIGNED] = "_ZnwmSt11align_val_t",
    [NEW_ARRAY_ALIGNED] = "_ZnamSt11align_val_t",
    [NEW_ALIGNED_NOTHROW] = "_ZnwmSt11align_val_tRKSt9nothrow_t",
    [NEW_ARRAY_ALIGNED_NOTHROW] = "_ZnamSt11align_val_tRKSt9nothrow_t",
    [DELETE] = "_ZdlPv",
    [DELETE_ARRAY] = "_ZdaPv",
    [DELETE_SIZED] = "_ZdlPvm",
    [DELETE_ARRAY_SIZED] = "_ZdaPvm",
    [DELETE_NOTHROW] = "_ZdlPvRKSt9nothrow_t",
    [DELETE_ARRAY_NOTHROW] = "_ZdaPvRKSt9nothrow_t",
    [DELETE_ALIGNED] = "_ZdlPvSt11align_val_t",
    [DELETE_ARRAY_ALIGNED] = "_ZdaPvSt11align_val_t",
    [DELETE_SIZED_ALIGNED] = "_ZdlPvmSt11align_val_t",
    [DELETE_ARRAY_SIZED_ALIGNED] = "_ZdaPvmSt11align_val_t",
    [DELETE_ALIGNED_NOTHROW] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    [DELETE_ARRAY_ALIGNED_NOTHROW] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

static void *real_operators[OPERATORS];

/* They are those of GCC's library, whose operator new calls malloc each time, and asks it for no
 * more than LIBRARY_ADDS bytes beyond what it is asked for, where no alignment is wanted.  */
static bool is_library_known;
#define LIBRARY_ADDS 1

static bool know_library(void)
{
    static const char name[] = "libstdc++.so";
    Dl_info info;
    const char *slash;

    if (!real_operators[NEW] || !dladdr(real_operators[NEW], &info) || !info.dli_fname)
        return false;
    slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, name, sizeof name - 1) == 0;
}

/* Called for the first allocation, when there is one thread; not later, since the loader's lock
 * could be held by a thread that waits for this one.  */
static void find_real(void)
{
    static bool finding;
    void *(*found_malloc)(size_t);
    void *(*found_calloc)(size_t, size_t);

    if (finding)
        return;
    finding = true;
    shim_thread.inside = true; /* what the loader allocates for its answers is not sampled */
    real.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    real.posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real.aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real.valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc");
    real.pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
    later.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    later.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    found_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    found_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    if (!found_malloc || !found_calloc || !later.realloc || !later.free)
        abort(); /* no C library is without them */
    real.malloc = found_malloc;
    real.calloc = found_calloc;
    real.realloc = early.used ? realloc_early_too : later.realloc;
    real.free = early.used ? free_early_too : later.free;
    for (size_t i = 0; i < OPERATORS && (i == 0 || real_operators[0]); i++)
        real_operators[i] = dlsym(RTLD_NEXT, operator_names[i]);
    is_library_known = know_library();
    (void)dlerror(); /* what was not found is no business of the program's */
    shim_thread.inside = false;
}

__attribute__((constructor(101))) static void begin(void)
{
    find_real(); /* if nothing was allocated so far */
}

static void *first_malloc(size_t size)
{
    find_real();
    return real.malloc == first_malloc ? allocate_early(size) : real.malloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;

    find_real();
    if (real.calloc != first_calloc)
        return real.calloc(count, size);
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return allocate_early(bytes); /* zero, since nothing there is used twice */
}

static void *first_realloc(void *address, size_t size)
{
    find_real();
    if (real.realloc != first_realloc)
        return real.realloc(address, size);
    return address ? NULL : allocate_early(size);
}

static void first_free(void *address)
{
    find_real();
    if (real.free != first_free)
        real.free(address);
}

/* ---- Counting ---- */

/* How far counting was; each allocation that is counted changes it, but for those of no bytes.  */
struct moment {
    uint64_t left;
    uint32_t decisions;
};

static inline struct moment now(void)
{
    return (struct moment){ shim_thread.left, shim_thread.decisions };
}

/* An allocation that came from a real entry, which may have called a hook since before.  */
static inline void *counted(struct moment before, void *address, size_t size)
{
    if (shim_thread.left == before.left && shim_thread.decisions == before.decisions && address &&
        shim_due(size))
        shim_record_allocation(address, size);
    return address;
}

/* No call before it becomes a jump: frame pointers lead through here to the caller.  */
static inline void *keep_frame(void *address)
{
    __asm__ volatile("" : "+r"(address));
    return address;
}

/* Apart, so that malloc needs no frame.  */
static __attribute__((noinline)) void *malloc_slowly(size_t size)
{
    bool sampled = shim_decide(size);
    void *address = real.malloc(size);

    if (sampled && address)
        shim_record_allocation(address, size);
    return keep_frame(address);
}

HOOK void *malloc(size_t size)
{
    if (__builtin_expect(shim_thread.left <= size, 0))
        return malloc_slowly(size);
    shim_thread.left -= size;
    return real.malloc(size);
}

static __attribute__((noinline)) void free_slowly(void *address)
{
    shim_record_free(address);
    real.free(address);
}

HOOK void free(void *address)
{
    if (__builtin_expect(shim_live_maybe(address), 0))
        free_slowly(address);
    else
        real.free(address);
}

HOOK void *calloc(size_t count, size_t size)
{
    struct moment before = now();

    return counted(before, real.calloc(count, size), count * size);
}

/* A sampled block is given back before and, if that fails, in use again after.  Size 0 gives it
 * back and returns NULL.  */
static __attribute__((noinline)) void *reallocate_slowly(void *address, size_t size)
{
    struct shim_live_block *block = shim_suspend(address);
    struct moment before = now();
    void *moved = real.realloc(address, size);

    if (block && !moved && size > 0)
        shim_restore(block);
    else if (block)
        shim_forget(block);
    return counted(before, moved, size);
}

HOOK void *realloc(void *address, size_t size)
{
    struct moment before;

    if (__builtin_expect(shim_live_maybe(address), 0))
        return reallocate_slowly(address, size);
    before = now();
    return counted(before, real.realloc(address, size), size);
}

HOOK void *reallocarray(void *address, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(address, bytes);
}

/* ---- Aligned ---- */

static void *no_such_entry(void)
{
    errno = ENOMEM;
    return NULL;
}

HOOK void *memalign(size_t alignment, size_t size)
{
    struct moment before = now();

    return counted(before, real.memalign ? real.memalign(alignment, size) : no_such_entry(), size);
}

HOOK int posix_memalign(void **out, size_t alignment, size_t size)
{
    struct moment before = now();
    int status = real.posix_memalign ? real.posix_memalign(out, alignment, size) : ENOMEM;

    if (status == 0)
        (void)counted(before, *out, size);
    return status;
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
    struct moment before = now();

    return counted(
        before, real.aligned_alloc ? real.aligned_alloc(alignment, size) : no_such_entry(), size);
}

HOOK void *valloc(size_t size)
{
    struct moment before = now();

    return counted(before, real.valloc ? real.valloc(size) : no_such_entry(), size);
}

HOOK void *pvalloc(size_t size)
{
    struct moment before = now();

    return counted(before, real.pvalloc ? real.pvalloc(size) : no_such_entry(), size);
}

/* ---- C++ ---- */

typedef void *(*new_fn)(size_t size, size_t alignment);
typedef void (*delete_fn)(void *address, size_t a, size_t b);

/* The library of a plugin that was loaded later: what throws when there is no memory.  */
static void *fail_as_caller(enum operator_index index, size_t size, size_t alignment, void *caller)
{
    Dl_info info;
    void *library = dladdr(caller, &info) && info.dli_fname
                        ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    void *entry = library ? dlsym(library, operator_names[index]) : NULL;

    if (!entry)
        abort(); /* as a C++ library without exceptions does */
    return ((new_fn)entry)(size, alignment);
}

/* The C++ library came with a plugin, so that it is not behind us: do what it does.  */
static __attribute__((noinline)) void *new_without_library(enum operator_index index, size_t size,
                                                           size_t alignment, void *caller)
{
    size_t bytes = size ? size : 1;
    bool nothrow = index == NEW_NOTHROW || index == NEW_ARRAY_NOTHROW ||
                   index == NEW_ALIGNED_NOTHROW || index == NEW_ARRAY_ALIGNED_NOTHROW;
    void *address = index >= NEW_ALIGNED
                        ? aligned_alloc(alignment, (bytes + alignment - 1) & -alignment)
                        : malloc(bytes);

    if (address || nothrow)
        return address;
    return fail_as_caller(index, size, alignment, caller);
}

/* The second argument is an alignment, or the address of std::nothrow, or there is none; a third is
 * that address again, which the real ones do not look at.  All go in registers.  The hooks end with
 * a jump here, so this returns to their caller.  */
static __attribute__((noinline)) void *new_slowly(enum operator_index index, size_t size,
                                                  size_t alignment)
{
    struct moment before = now();
    void *caller = __builtin_return_address(0);
    uintptr_t own_frame = (uintptr_t)__builtin_frame_address(0);
    bool outermost = shim_thread.outer_frame <= own_frame; /* new[] calls new */
    void *address;

    if (outermost) {
        shim_thread.outer_frame = own_frame;
        shim_thread.outer_return = (uintptr_t)caller;
    }
    address = real_operators[index] ? ((new_fn)real_operators[index])(size, alignment)
                                    : new_without_library(index, size, alignment, caller);
    if (outermost)
        shim_thread.outer_frame = 0;
    return counted(before, address, size);
}

/* Where nothing can be due, malloc counts what the library asks it for.  */
static inline void *new_any(enum operator_index index, size_t size, size_t alignment)
{
    if (index < NEW_ALIGNED &&
        __builtin_expect(shim_thread.left > LIBRARY_ADDS &&
                             shim_thread.left - LIBRARY_ADDS > size && is_library_known,
                         1))
        return ((new_fn)real_operators[index])(size, alignment);
    return new_slowly(index, size, alignment);
}

static inline void delete_any(enum operator_index index, void *address, size_t a, size_t b)
{
    if (__builtin_expect(shim_live_maybe(address), 0))
        shim_record_free(address);
    if (real_operators[index])
        ((delete_fn)real_operators[index])(address, a, b);
    else
        free(address);
}

#define OPERATOR_NEW(name, index)                   \
    HOOK void *name(size_t size, size_t alignment); \
    HOOK void *name(size_t size, size_t alignment)  \
    {                                               \
        return new_any(index, size, alignment);     \
    }

#define OPERATOR_DELETE(name, index)                   \
    HOOK void name(void *address, size_t a, size_t b); \
    HOOK void name(void *address, size_t a, size_t b)  \
    {                                                  \
        delete_any(index, address, a, b);              \
    }

OPERATOR_NEW(_Znwm, NEW)
OPERATOR_NEW(_Znam, NEW_ARRAY)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, NEW_NOTHROW)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, NEW_ARRAY_NOTHROW)
OPERATOR_NEW(_ZnwmSt11align_val_t, NEW_ALIGNED)
OPERATOR_NEW(_ZnamSt11align_val_t, NEW_ARRAY_ALIGNED)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, NEW_ALIGNED_NOTHROW)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, NEW_ARRAY_ALIGNED_NOTHROW)
OPERATOR_DELETE(_ZdlPv, DELETE)
OPERATOR_DELETE(_ZdaPv, DELETE_ARRAY)
OPERATOR_DELETE(_ZdlPvm, DELETE_SIZED)
OPERATOR_DELETE(_ZdaPvm, DELETE_ARRAY_SIZED)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, DELETE_NOTHROW)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, DELETE_ARRAY_NOTHROW)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, DELETE_ALIGNED)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, DELETE_ARRAY_ALIGNED)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, DELETE_SIZED_ALIGNED)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, DELETE_ARRAY_SIZED_ALIGNED)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, DELETE_ALIGNED_NOTHROW)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, DELETE_ARRAY_ALIGNED_NOTHROW)
