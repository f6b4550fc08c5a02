/* sort.h - external merge sort of span events.  */
#ifndef PROFILE_INGEST_SORT_H
#define PROFILE_INGEST_SORT_H

#include "libprofile/profile.h"

enum span_event_type {
    SPAN_BEGIN = 0,
    SPAN_END = 1,
    SPAN_COMPLETE = 2,
};

/* 32 bytes.  Sorted by (ts_ns, ordinal); ordinals are distinct, so the order is total.  */
struct span_key {
    int64_t ts_ns;
    uint64_t ordinal; /* place in the file */
    int64_t end_ns;   /* SPAN_COMPLETE */
    uint32_t pair;    /* struct span_pair */
    uint32_t type;    /* enum span_event_type */
};

struct span_sorter;

/* At most sort_bytes (at least one key) are held before a run goes to an unlinked file in
 * directory, which is copied.  */
enum profile_status span_sorter_open(const char *directory, size_t sort_bytes,
                                     struct span_sorter **out, struct profile_error *error);
enum profile_status span_sorter_add(struct span_sorter *sorter, const struct span_key *key,
                                    struct profile_error *error);
/* Nothing is added any more.  Then next() gives the keys in order; *out is NULL behind the last. */
enum profile_status span_sorter_finish(struct span_sorter *sorter, struct profile_error *error);
enum profile_status span_sorter_next(struct span_sorter *sorter, const struct span_key **out,
                                     struct profile_error *error);
void span_sorter_close(struct span_sorter *sorter); /* accepts NULL */

#endif /* PROFILE_INGEST_SORT_H */
