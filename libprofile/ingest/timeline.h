/* timeline.h - events that need the order of time.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_TIMELINE_H
#define PROFILE_INGEST_TIMELINE_H

#include "libprofile/ingest/ingest.h"
#include "libprofile/ingest/sorting.h"

/* At most so many flows, and as many async slices, are open; more are left out and counted.  */
#define MAX_OPEN 1000000u

enum timeline_type {
    TIMELINE_BEGIN = 0,
    TIMELINE_END = 1,
    TIMELINE_COMPLETE = 2,
    TIMELINE_INSTANT = 3,
    TIMELINE_FLOW_BEGIN = 4,
    TIMELINE_FLOW_STEP = 5,
    TIMELINE_FLOW_END = 6,
    TIMELINE_ASYNC_BEGIN = 7,
    TIMELINE_ASYNC_INSTANT = 8,
    TIMELINE_ASYNC_END = 9,
    TIMELINE_SWITCH = 10,
    TIMELINE_WAKEUP = 11,
};

/* 40 bytes.  Its ordinal is its place in the file.  */
struct timeline_event {
    struct event_key key;
    uint64_t value;    /* complete: its end; flow, async: id; instant: scope; sched.c: threads */
    uint32_t pair;     /* struct span_pair; sched.c: CPU */
    uint32_t category; /* sched.c: priority */
    uint8_t type;      /* enum timeline_type */
    bool has_args;     /* as set ordinal + 1 */
    uint8_t state;     /* sched.c: of the outgoing thread */
    uint8_t flags;     /* sched.c */
    uint32_t reserved; /* 0 */
};

/* A thread and a name of its events.  Events carry this pair, so that the sorted pass needs no
 * look-up.  */
struct span_pair {
    uint32_t thread_id;
    profile_id name;
    profile_id frame;           /* 0: not made yet */
    uint32_t open;              /* innermost open begin of this name: its place in the stack + 1 */
    struct closed_slice *ended; /* ended by the slice around it; its own end may still come */
};

/* Events of one time that wait for the others of that time.  */
#define MAX_HELD 64u

struct ingest_timeline {
    bool slices, flows, sched;  /* what the sink wants */
    bool nested;                /* what threads have open is needed */
    struct base_sorter *sorter; /* NULL before the first event */
    struct span_pair *pairs;
    size_t pair_count, pair_capacity;
    struct base_index pair_index;
    uint64_t ordinal; /* of the next event or object */
    struct timeline_event held[MAX_HELD];
    size_t held_count;
};

static inline uint64_t ingest_args_of(const struct timeline_event *event)
{
    return event->has_args ? event->key.ordinal + 1 : 0;
}

/* ---- Functions ---- */

enum profile_status ingest_timeline_event(struct profile_ingest *ingest,
                                          const struct fxt_record *record,
                                          struct profile_error *error);
enum profile_status ingest_timeline_add(struct profile_ingest *ingest,
                                        const struct timeline_event *event,
                                        struct profile_error *error);
/* Walk all events by time.  */
enum profile_status ingest_timeline_finish(struct profile_ingest *ingest,
                                           struct profile_error *error);
void ingest_timeline_release(struct profile_ingest *ingest);

/* An event of a thread that is no record's: key, value, type and category are set.  */
enum profile_status ingest_timeline_named(struct profile_ingest *ingest,
                                          struct timeline_event *event, uint32_t thread,
                                          profile_id name, struct profile_error *error);

#endif /* PROFILE_INGEST_TIMELINE_H */
