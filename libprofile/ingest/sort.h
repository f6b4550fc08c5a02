/* sort.h - external merge sort of items of one size.  */
#ifndef PROFILE_INGEST_SORT_H
#define PROFILE_INGEST_SORT_H

#include <fxt/profile.h>

/* What every item begins with.  Items are sorted by (ts_ns, ordinal); ordinals are distinct, so the
 * order is total.  */
struct sort_key {
    int64_t ts_ns;
    uint64_t ordinal;
};

#define SORT_MAX_ITEM 128u /* bytes */

struct sorter;

/* An item is item_size bytes, a multiple of 8 and at most SORT_MAX_ITEM.  At most sort_bytes (at
 * least one item) are held before a run goes to an unlinked file in directory, which is copied.  */
enum profile_status sorter_open(const char *directory, size_t sort_bytes, size_t item_size,
                                struct sorter **out, struct profile_error *error);
enum profile_status sorter_add(struct sorter *sorter, const void *item,
                               struct profile_error *error);
/* Nothing is added any more.  Then next() gives the items in order, each valid until the next call;
 * *out is NULL behind the last.  */
enum profile_status sorter_finish(struct sorter *sorter, struct profile_error *error);
enum profile_status sorter_next(struct sorter *sorter, const void **out,
                                struct profile_error *error);
void sorter_close(struct sorter *sorter); /* accepts NULL */

#endif /* PROFILE_INGEST_SORT_H */
