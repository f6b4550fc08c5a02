/* sorting.h - items too many for memory, in the order of time.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_SORTING_H
#define PROFILE_INGEST_SORTING_H

#include "base/sorter.h"
#include "libprofile/ingest/ingest.h"

/* What the sorter compares, struct base_sort_key by ordinal.  */
struct event_key {
    int64_t ts_ns;
    uint64_t ordinal;
};

/* The status of a call of base/sorter.h.  */
enum profile_status ingest_sorter_status(const struct profile_ingest *ingest, int failure,
                                         struct profile_error *error);

/* Add item to *sorter, which is opened with bytes of memory if it is NULL.  */
enum profile_status ingest_sorter_add(struct profile_ingest *ingest, struct base_sorter **sorter,
                                      size_t bytes, const void *item, size_t item_size,
                                      struct profile_error *error);

#endif /* PROFILE_INGEST_SORTING_H */
