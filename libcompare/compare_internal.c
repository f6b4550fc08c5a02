#include "libcompare/compare_internal.h"

#include "base/fail.h"

enum compare_status compare_fail(struct compare_error *error, enum compare_status status,
                                 const char *format, ...)
{
    if (!error)
        return status;
    error->status = status;
    BASE_FORMAT(error->message, format);
    return status;
}
