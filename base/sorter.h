/* sorter.h - external merge sort: any number of items of one size, in little memory.
 *
 *     base_sorter_open(&options, &sorter);
 *     base_sorter_add(sorter, &item);                  for each
 *     base_sorter_finish(sorter);
 *     while ((failure = base_sorter_next(sorter, &item)) == 0 && item)
 *         ...
 *     base_sorter_close(sorter);
 *
 * Functions return 0 or an errno value: ENOMEM, or the failure of the temporary file.  */
#ifndef BASE_SORTER_H
#define BASE_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of every item.  Items are sorted by key, equal keys in the order in which they
 * were added.  With options.by_ordinal an item begins with both members and equal keys are sorted
 * by ordinal; ordinals are distinct, so the order is total.  */
struct base_sort_key {
    int64_t key;
    uint64_t ordinal;
};

#define BASE_SORTER_MAX_ITEM 128u /* bytes */

struct base_sorter_options {
    size_t item_size; /* a multiple of 8, at most BASE_SORTER_MAX_ITEM */
    /* Items are held in at most two thirds of these bytes (at least one item), and sorted with the
     * rest; then they go to the file.  While runs are merged, a quarter as much is added.  */
    size_t bytes;
    const char *directory; /* for the temporary file; copied */
    bool by_ordinal;
};

struct base_sorter;

int base_sorter_open(const struct base_sorter_options *options, struct base_sorter **out);
/* Add a copy of item.  */
int base_sorter_add(struct base_sorter *sorter, const void *item);
/* No more items will be added.  */
int base_sorter_finish(struct base_sorter *sorter);
/* Give the next item, valid until the next call.  *out is NULL after the last one.  */
int base_sorter_next(struct base_sorter *sorter, const void **out);
void base_sorter_close(struct base_sorter *sorter); /* accepts NULL */

#endif /* BASE_SORTER_H */
