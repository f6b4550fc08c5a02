/* A query on columns allocates 20 to 100 MiB, mostly in pieces of a few KiB, and takes a tenth of a
 * second: a third of that went into page faults, 4 KiB each.
 *
 * malloc() asks for huge pages only by an environment variable (GLIBC_TUNABLES), which is read
 * before main().  So the heap is extended once, and madvise() permits huge pages in the new part
 * before any page of it exists.  */
#include "cmd/fxtq/huge_pages.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE      ((size_t)2 << 20) /* others are only less aligned */
#define HEAP_BYTES     ((size_t)128 << 20)
#define USUAL_PAD      ((size_t)128 << 10) /* by which malloc() makes the heap longer */
#define LARGEST_BYTES  ((size_t)32 << 20)  /* as large as mallopt() takes */
#define MORE_THAN_FREE ((size_t)1 << 20)   /* of the heap now */

#if defined __GLIBC__ && defined MADV_HUGEPAGE

/* If memory is limited, address space may be needed for other things.  */
static bool is_limited(int resource)
{
    struct rlimit limit;

    return getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/* malloc() takes memory from the front: leave what is in front of the first huge page unused.  */
static void skip_small_pages(uintptr_t top)
{
    static void *volatile skipped;

    (void)skipped;
    skipped = malloc(-top & (HUGE_PAGE - 1));
}

void huge_pages_use(void)
{
    char *start = sbrk(0), *end, *piece;
    volatile uintptr_t top; /* compilers leave out a piece that nobody uses */

    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
        return;
    /* What is freed stays in the heap, and large pieces come from it, too.  */
    if (!mallopt(M_TRIM_THRESHOLD, (int)HEAP_BYTES) ||
        !mallopt(M_MMAP_THRESHOLD, (int)LARGEST_BYTES) || !mallopt(M_TOP_PAD, (int)HEAP_BYTES))
        return;
    piece = malloc(MORE_THAN_FREE);
    top = (uintptr_t)piece;
    free(piece);
    (void)mallopt(M_TOP_PAD, (int)USUAL_PAD);
    end = sbrk(0);
    start += -(uintptr_t)start & (HUGE_PAGE - 1);
    if (end <= start || top >= (uintptr_t)end)
        return;
    if (madvise(start, (size_t)(end - start), MADV_HUGEPAGE) == 0)
        skip_small_pages(top);
}

#else

void huge_pages_use(void)
{
}

#endif
