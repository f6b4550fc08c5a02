/* shim_mappings.c - mmap(2) and its like as the program sees them: each goes on to the one that the
 * program would have without us, and is told afterwards if the capture wants to know.
 *
 * The C library and the loader call their own; what comes here is the program's.  No lock is held
 * over the system call: tickets tell the server which of two calls came later.  */
#include "sampler-capture/heap/shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

/* ---- The real ones ---- */

static void *as_address(long result)
{
    void *address;

    memcpy(&address, &result, sizeof address);
    return address;
}

static void *first_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return as_address(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}

static int first_munmap(void *address, size_t size)
{
    return (int)syscall(SYS_munmap, address, size);
}

static void *first_mremap(void *address, size_t old_size, size_t size, int flags, void *wanted)
{
    return as_address(syscall(SYS_mremap, address, old_size, size, flags, wanted));
}

static int first_mprotect(void *address, size_t size, int protection)
{
    return (int)syscall(SYS_mprotect, address, size, protection);
}

/* Until they are found, the system calls.  */
static struct {
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*mprotect)(void *, size_t, int);
} real = { first_mmap, first_munmap, first_mremap, first_mprotect };

/* Code of the allocator, if it is a library that maps memory by these calls: what it maps it gives
 * out by malloc(3), which is recorded already.  */
static uintptr_t allocator_start, allocator_limit;

static int find_allocator(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t code = (uintptr_t)context;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;

        if (header->p_type != PT_LOAD || code - start >= header->p_memsz)
            continue;
        allocator_start = start;
        allocator_limit = start + header->p_memsz;
        return 1;
    }
    return 0;
}

__attribute__((constructor(102))) static void find_real(void)
{
    void *found_mmap = dlsym(RTLD_NEXT, "mmap"), *found_munmap = dlsym(RTLD_NEXT, "munmap");
    void *found_mremap = dlsym(RTLD_NEXT, "mremap"), *found_mprotect = dlsym(RTLD_NEXT, "mprotect");
    void *found_malloc = dlsym(RTLD_NEXT, "malloc");

    if (found_mmap)
        real.mmap = (void *(*)(void *, size_t, int, int, int, off_t))found_mmap;
    if (found_munmap)
        real.munmap = (int (*)(void *, size_t))found_munmap;
    if (found_mremap)
        real.mremap = (void *(*)(void *, size_t, size_t, int, void *))found_mremap;
    if (found_mprotect)
        real.mprotect = (int (*)(void *, size_t, int))found_mprotect;
    if (found_malloc && getenv(HEAP_ENV_MMAP))
        (void)dl_iterate_phdr(find_allocator, found_malloc);
    (void)dlerror(); /* what was not found is no business of the program's */
}

static bool is_told(const void *caller)
{
    return __builtin_expect(shim_settings.mappings, 0) && shim_records_mappings() &&
           (uintptr_t)caller - allocator_start >= allocator_limit - allocator_start;
}

/* ---- Hooks ---- */

static void *map(void *address, size_t size, int protection, int flags, int fd, off_t offset,
                 const void *caller)
{
    struct heap_mapping call = { .kind = HEAP_MAPPED, .size = size };
    void *result;

    if (!is_told(caller))
        return real.mmap(address, size, protection, flags, fd, offset);
    call.before = shim_ticket();
    result = real.mmap(address, size, protection, flags, fd, offset);
    call.address = (uint64_t)(uintptr_t)result;
    if (!(flags & MAP_ANONYMOUS))
        call.kind = HEAP_UNMAPPED;
    else if (protection == PROT_NONE)
        call.kind = HEAP_RESERVED;
    /* A file takes the place of memory only where the program says so.  */
    if (result != MAP_FAILED && (call.kind != HEAP_UNMAPPED || (flags & MAP_FIXED)))
        shim_record_mapping(&call, (uintptr_t)real.mmap);
    return result;
}

HOOK void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return map(address, size, protection, flags, fd, offset, __builtin_return_address(0));
}

HOOK void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return map(address, size, protection, flags, fd, offset, __builtin_return_address(0));
}

HOOK int munmap(void *address, size_t size)
{
    struct heap_mapping call = { .kind = HEAP_UNMAPPED,
                                 .address = (uint64_t)(uintptr_t)address,
                                 .size = size };
    int status;

    if (!is_told(__builtin_return_address(0)))
        return real.munmap(address, size);
    call.before = shim_ticket();
    status = real.munmap(address, size);
    if (status == 0)
        shim_record_mapping(&call, (uintptr_t)real.munmap);
    return status;
}

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

HOOK void *mremap(void *address, size_t old_size, size_t size, int flags, ...)
{
    struct heap_mapping call = { .kind = HEAP_MOVED,
                                 .size = size,
                                 .old_address = (uint64_t)(uintptr_t)address,
                                 .old_size = old_size };
    void *wanted = NULL, *result;

    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_list arguments;

        va_start(arguments, flags);
        wanted = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (!is_told(__builtin_return_address(0)))
        return real.mremap(address, old_size, size, flags, wanted);
    call.before = shim_ticket();
    result = real.mremap(address, old_size, size, flags, wanted);
    call.address = (uint64_t)(uintptr_t)result;
    if (flags & MREMAP_DONTUNMAP) { /* the old place is there still, as if it were new */
        call.kind = HEAP_MAPPED;
        call.old_address = call.old_size = 0;
    }
    if (result != MAP_FAILED)
        shim_record_mapping(&call, (uintptr_t)real.mremap);
    return result;
}

HOOK int mprotect(void *address, size_t size, int protection)
{
    struct heap_mapping call = { .kind = HEAP_OPENED,
                                 .address = (uint64_t)(uintptr_t)address,
                                 .size = size };
    int status;

    if (protection == PROT_NONE || !is_told(__builtin_return_address(0)))
        return real.mprotect(address, size, protection);
    call.before = shim_ticket();
    status = real.mprotect(address, size, protection);
    if (status == 0)
        shim_record_mapping(&call, (uintptr_t)real.mprotect);
    return status;
}
