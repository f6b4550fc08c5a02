/* grow.h - arrays that grow.  */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>

/* Return room for at least count items of size bytes, made from items (NULL or a former result) by
 * realloc(), and store in *capacity how many items fit.  Returns NULL when memory is short; items
 * is then untouched.  The array grows by half, so adding items one by one takes constant time each.
 *
 *     struct thing *bigger = base_grow(things, &capacity, count + 1, sizeof *bigger);
 *     if (!bigger)
 *         return NO_MEMORY;
 *     things = bigger;
 *     things[count++] = ...;  */
void *base_grow(void *items, size_t *capacity, size_t count, size_t size);

#endif /* BASE_GROW_H */
