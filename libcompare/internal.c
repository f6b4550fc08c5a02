#include "libcompare/internal.h"

#include <string.h>

#include "base/fail.h"
#include "base/grow.h"

enum compare_status compare_fail(struct compare_error *error, enum compare_status status,
                                 const char *format, ...)
{
    if (!error)
        return status;
    error->status = status;
    BASE_FORMAT(error->message, format);
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
