/* heap.h - messages of the memory sampler: modules, allocations, releases.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_HEAP_H
#define PROFILE_INGEST_HEAP_H

#include "libprofile/ingest/ingest.h"
#include "libprofile/ingest/live.h"

struct ingest_heap {
    struct live_set live;
    uint64_t allocations;    /* reported so far: the last id */
    uint64_t interval_bytes; /* of the session; 0: it says nothing */
    uint32_t max_frames;
};

bool ingest_is_heap_message(const struct fxt_record *record);
enum profile_status ingest_heap_message(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);

/* The trace is over: tell what is still in use.  */
enum profile_status ingest_heap_finish(struct profile_ingest *ingest, struct profile_error *error);

#endif /* PROFILE_INGEST_HEAP_H */
