#include <stdarg.h>
#include <stdio.h>

#include "libfxt/internal.h"

enum fxt_status fxt_fail(struct fxt_error *error, enum fxt_status status, int system_errno,
                         uint64_t offset, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return status;
    error->status = status;
    error->system_errno = system_errno;
    error->offset = offset;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return status;
}
