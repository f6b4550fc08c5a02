/* live.h - the sampled blocks that are in use.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_LIVE_H
#define PROFILE_INGEST_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sampled block that is in use.  */
struct live_block {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t interval_bytes;
    uint64_t id;
    int64_t ts_ns;
    uint32_t process_id; /* 0: the slot is free */
    uint32_t thread_id;  /* 0 unknown */
    uint32_t callsite;
    bool has_time;
    bool told; /* the sink was told of it: its thread passes the filter */
};

/* By (process, address).  Open addressing; a block that goes is closed up at once, so that looking
 * for others never takes longer for it.  */
struct live_set {
    struct live_block *slots;
    size_t mask; /* slots - 1, a power of two.  Meaningless while slots is NULL */
    size_t count;
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
