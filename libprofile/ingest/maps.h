/* maps.h - modules and mappings; which of them an address belonged to.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_MAPS_H
#define PROFILE_INGEST_MAPS_H

#include "libprofile/ingest/ingest.h"

/* Addresses from here on belong to the kernel: they are looked up in process 0's map.  */
#define KERNEL_START (UINT64_C(1) << 63)

/* A piece of an address space that belonged to one module for some time.  Times are epochs: a
 * process's epoch advances only when a mapping takes addresses away from another module.  */
struct map_segment {
    struct map_segment *next; /* of the same process, newest first */
    uint64_t start, last;     /* addresses, both included: 2^64 - 1 can be one of them */
    uint64_t vaddr;           /* module-relative address of start */
    profile_id module;
    uint32_t since, until; /* epochs [since, until); until UINT32_MAX: never ended */
};

/* A mapping whose module record has not come yet.  */
struct map_pending {
    struct map_pending *next;
    uint64_t start, last, vaddr;
    unsigned flags;
    bool has_time;
    int64_t ts_ns;
};

/* (process, module id) as records name modules.  */
struct map_module {
    uint32_t process_id;
    uint16_t id;
    profile_id module;           /* 0: its record has not come yet */
    struct map_pending *pending; /* oldest first */
    struct map_pending *pending_last;
};

/* ---- Functions ---- */

enum profile_status ingest_map_module(struct profile_ingest *ingest,
                                      const struct fxt_record *record, struct profile_error *error);
enum profile_status ingest_map_mapping(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct profile_error *error);
/* A place [start, start + length) of a module that is known by its build ID alone.  */
enum profile_status ingest_map_segment(struct profile_ingest *ingest, uint32_t process,
                                       profile_id module, uint64_t start, uint64_t length,
                                       uint64_t vaddr, struct profile_error *error);
/* The module that has an address now, which it will have for the whole epoch: only a mapping of
 * another module could take it, and would begin a new one.  False: none has it yet.  */
bool ingest_map_find(const struct profile_ingest *ingest, uint32_t process, uint64_t address,
                     profile_id *module, uint64_t *vaddr);

/* Which module an address of an epoch belonged to.  */
struct map_query {
    uint32_t process_id;
    uint32_t epoch;
    uint64_t address;
    uint32_t frame;    /* the caller's */
    profile_id module; /* answer; 0: none */
    uint64_t vaddr;
};
/* Answer all queries; sorts them.  */
enum profile_status ingest_map_resolve(struct profile_ingest *ingest, struct map_query *queries,
                                       size_t count, struct profile_error *error);
/* The map of one process as it was in each epoch.  Epochs must be asked for in ascending order.  */
struct map_replay {
    const struct profile_ingest *ingest;
    struct map_change *changes; /* NULL: not opened */
    size_t count, next;
    void *map;
};
enum profile_status map_replay_open(const struct profile_ingest *ingest, uint32_t process,
                                    struct map_replay *out, struct profile_error *error);
enum profile_status map_replay_advance(struct map_replay *replay, uint32_t epoch,
                                       struct profile_error *error);
/* The segment of an address in the epoch that was advanced to; NULL: none.  */
const struct map_segment *map_replay_find(const struct map_replay *replay, uint64_t address);
/* The module of a segment: if it is known by its build ID alone, the named one with that ID.  */
profile_id ingest_map_module_of(const struct profile_ingest *ingest,
                                const struct map_segment *segment);
void map_replay_close(struct map_replay *replay); /* also one that is all zero */

void ingest_map_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_MAPS_H */
