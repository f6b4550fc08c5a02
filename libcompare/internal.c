#include "libcompare/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"

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

bool compare_make_room(void *array, size_t *capacity, size_t count, size_t size)
{
    void *items;

    memcpy(&items, array, sizeof items);
    items = base_grow(items, capacity, count, size);
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    return true;
}
