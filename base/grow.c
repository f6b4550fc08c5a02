#include "base/grow.h"
#include <stdlib.h>

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
    bigger = realloc(items, bytes);
    if (bigger)
        *capacity = wanted;
    return bigger;
}
