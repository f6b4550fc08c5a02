/* async.h - durations of operations.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_ASYNC_H
#define PROFILE_INGEST_ASYNC_H

#include "base/index.h"
#include "base/pair_map.h"
#include "libprofile/ingest/ingest.h"

struct timeline_event;

struct async_group {
    uint32_t process_id;
    profile_id category, name;
    uint32_t free_track; /* 0 none; the others follow by ingest_async.next_free */
};

struct open_async {
    int64_t start_ns;
    uint64_t id, args;
    uint32_t thread_id;
    uint32_t group;
    uint32_t track;
    uint32_t outer; /* the slice around it, or the next free one */
    uint32_t depth;
};

struct ingest_async {
    struct async_group *groups;
    size_t group_count, group_capacity;
    struct base_index group_index;
    uint32_t *next_free; /* [track] */
    size_t next_free_capacity;
    struct open_async *slices;
    size_t slice_count, slice_capacity, open_count;
    uint32_t free_slice;        /* 0 none */
    struct base_pair_map table; /* (group, correlation id) -> innermost open slice */
};

enum profile_status ingest_async_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error);
enum profile_status ingest_async_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_async_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_ASYNC_H */
