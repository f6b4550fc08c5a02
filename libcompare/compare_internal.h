/* compare_internal.h - shared by all files of libcompare: errors, and arrays that grow.  */
#ifndef COMPARE_INTERNAL_H
#define COMPARE_INTERNAL_H

#include <stdlib.h>

#include <fxt/compare.h>
#include "base/grow.h"

/* Fill *error, which may be NULL, and return status.  */
enum compare_status compare_fail(struct compare_error *error, enum compare_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline enum compare_status compare_no_memory(struct compare_error *error)
{
    (void)compare_fail(error, COMPARE_NO_MEMORY, "out of memory");
    return COMPARE_NO_MEMORY; /* static analyzers see one file at a time */
}

/* Zeroed room for count items of size bytes, to be released with free().  NULL: no memory.  */
static inline void *compare_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

/* qsort() of any number of items, also of none at NULL.  */
static inline void compare_sort(void *items, size_t count, size_t size,
                                int (*order)(const void *, const void *))
{
    if (count > 1)
        qsort(items, count, size, order);
}

#endif /* COMPARE_INTERNAL_H */
