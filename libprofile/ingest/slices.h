/* slices.h - finished slices, brought into the order in which they begin.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_SLICES_H
#define PROFILE_INGEST_SLICES_H

#include "libprofile/ingest/ingest.h"
#include "libprofile/ingest/sorting.h"

enum {
    CLOSED_UNFINISHED = 1 << 4,
    CLOSED_CUT = 1 << 5,
    CLOSED_TYPE = CLOSED_UNFINISHED - 1, /* enum profile_slice_type */
};

/* 80 bytes; key.ts_ns is when it begins, key.ordinal its id.  */
struct closed_slice {
    struct event_key key;
    int64_t end_ns;
    uint64_t parent;
    uint64_t args, end_args;
    uint64_t number; /* correlation id or scope */
    uint32_t track;
    uint32_t thread_id;
    profile_id category, name;
    uint32_t depth;
    uint32_t flags;
};

struct ingest_slices {
    struct base_sorter *sorter; /* NULL before the first */
    uint64_t last_id;
};

static inline uint64_t ingest_slice_id(struct profile_ingest *ingest)
{
    return ++ingest->slices->last_id;
}
enum profile_status ingest_slice_add(struct profile_ingest *ingest,
                                     const struct closed_slice *slice, struct profile_error *error);
enum profile_status ingest_slice_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_slice_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_SLICES_H */
