/* error.c - filling struct compare_error.  */
#include <stdarg.h>
#include <stdio.h>

#include "libcompare/internal.h"

enum compare_status compare_fail(struct compare_error *error, enum compare_status status,
                                 const char *format, ...)
{
    va_list arguments;

    if (!error)
        return status;
    error->status = status;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return status;
}
