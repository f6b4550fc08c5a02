/* live.h - the sampled blocks that are in use.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_LIVE_H
#define PROFILE_INGEST_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"

/* A sampled block that is in use.  */
struct live_block {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t interval_bytes;
    uint64_t id;
    int64_t ts_ns;
    uint32_t process_id; /* 0: it is free */
    uint32_t thread_id;  /* 0 unknown */
    uint32_t callsite;
    bool has_time;
    bool told; /* the sink was told of it: its thread passes the filter */
};

/* All zero is empty; places.used blocks are in use.  */
struct live_set {
    struct base_pair_map places; /* index in blocks by (process, address) */
    struct live_block *blocks;
    size_t capacity;
    uint32_t used;      /* blocks that are in use or free again */
    uint32_t next_free; /* used, or a free one, whose id is the next one that is free */
};

/* What can be in use at once: a heap of many terabytes, with the usual interval.  */
#define MAX_LIVE_BLOCKS ((size_t)1 << 26)

/* The block, or NULL.  Valid until the set changes.  */
struct live_block *live_find(const struct live_set *live, uint32_t process, uint64_t address);
/* Put in a block that is not there.  False when memory is short.  */
bool live_add(struct live_set *live, const struct live_block *block);
void live_remove(struct live_set *live, struct live_block *block);
void live_release(struct live_set *live);

#endif /* PROFILE_INGEST_LIVE_H */
