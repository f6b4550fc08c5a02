/* internal.h - what all files of libcompare share: errors.  */
#ifndef COMPARE_INTERNAL_H
#define COMPARE_INTERNAL_H

#include <fxt/compare.h>

/* Fill *error, which may be NULL, and return status.  */
enum compare_status compare_fail(struct compare_error *error, enum compare_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline enum compare_status compare_no_memory(struct compare_error *error)
{
    (void)compare_fail(error, COMPARE_NO_MEMORY, "out of memory");
    return COMPARE_NO_MEMORY; /* static analyzers see one file at a time */
}

#endif /* COMPARE_INTERNAL_H */
