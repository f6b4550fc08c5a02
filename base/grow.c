#include "base/grow.h"
#include <stdlib.h>
#include <string.h>

#include "base/account.h"

void *base_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity + *capacity / 2;
    size_t bytes;
    void *bigger;

    if (count <= *capacity && items)
        return items;
    if (wanted < count)
        wanted = count;
    if (wanted < 16)
        wanted = 16;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return NULL;
    bigger = base_realloc(items, bytes);
    if (bigger)
        *capacity = wanted;
    return bigger;
}

bool base_enlarge(void *array, size_t *capacity, size_t count, size_t size)
{
    void *items;

    memcpy(&items, array, sizeof items); /* a pointer of any type, which all look alike */
    items = base_grow(items, capacity, count, size);
    if (items)
        memcpy(array, &items, sizeof items);
    return items != NULL;
}
