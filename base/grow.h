/* grow.h - arrays that grow.  */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Return room for at least count items of size bytes, made from items (NULL or a former result) by
 * realloc(), and store in *capacity how many items fit.  Returns NULL when memory is short; items
 * is then untouched.  The array grows by half, so adding items one by one takes constant time
 * each.  */
void *base_grow(void *items, size_t *capacity, size_t count, size_t size);

/* For base_make_room().  */
bool base_enlarge(void *array, size_t *capacity, size_t count, size_t size);

/* The same for a variable: array is the address of the pointer to the items, which is stored there.
 * Returns false when memory is short; the pointer is then unchanged.  It is not NULL after success,
 * even if count is 0.
 *
 *     if (!base_make_room(&things, &capacity, count + 1, sizeof *things))
 *         return NO_MEMORY;
 *     things[count++] = ...;  */
static inline bool base_make_room(void *array, size_t *capacity, size_t count, size_t size)
{
    return (count <= *capacity && *capacity > 0) || base_enlarge(array, capacity, count, size);
}

#endif /* BASE_GROW_H */
