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
#define HEADER_BYTES   64                  /* at least what malloc() puts before a piece */

#if defined __GLIBC__ && defined MADV_HUGEPAGE

/* If memory is limited, address space may be needed for other things.  */
static bool is_limited(int resource)
{
    struct rlimit limit;

    return getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

void huge_pages_use(void)
{
    static void *volatile unused[2];
    char *piece, *start, *end;

    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
        return;
    /* What is freed stays in the heap, and large pieces come from it, too.  */
    if (!mallopt(M_TRIM_THRESHOLD, (int)HEAP_BYTES) ||
        !mallopt(M_MMAP_THRESHOLD, (int)LARGEST_BYTES) || !mallopt(M_TOP_PAD, (int)HEAP_BYTES))
        return;
    unused[0] = piece = malloc(MORE_THAN_FREE);
    (void)mallopt(M_TOP_PAD, (int)USUAL_PAD);
    if (!piece)
        return;
    /* Behind the piece, malloc() has written how much of the heap is left, so the page there exists
     * and is small.  The first huge page begins after it.  What lies before stays unused and takes
     * only addresses.  */
    start = piece + MORE_THAN_FREE + HEADER_BYTES;
    start += -(uintptr_t)start & (HUGE_PAGE - 1);
    end = sbrk(0);
    if (start < end && madvise(start, (size_t)(end - start), MADV_HUGEPAGE) == 0)
        unused[1] = malloc((size_t)(start - (piece + MORE_THAN_FREE)));
    else
        free(piece);
    (void)unused;
}

#else

void huge_pages_use(void)
{
}

#endif
