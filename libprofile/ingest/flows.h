/* flows.h - arrows between slices.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_FLOWS_H
#define PROFILE_INGEST_FLOWS_H

#include "base/pair_map.h"
#include "libprofile/ingest/ingest.h"

struct timeline_event;

struct open_flow {
    uint64_t trace_id;
    uint64_t slice; /* where the next arrow begins */
    int64_t ts_ns;
    uint64_t args;
    uint32_t process_id;
    uint32_t thread_id;
    profile_id category, name;
    uint32_t next_free;
    bool ambiguous; /* another process began this id meanwhile: only its own process continues it */
};

struct ingest_flows {
    struct open_flow *flows;
    size_t flow_count, flow_capacity, open_count;
    uint32_t free_flow; /* 0 none */
    /* (process, id) -> flow, and (UINT64_MAX, id) -> the exclusive or of all flows of that id.  */
    struct base_pair_map table;
    uint64_t last_id;
};

enum profile_status ingest_flow_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error);
void ingest_flow_finish(struct profile_ingest *ingest);
void ingest_flow_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_FLOWS_H */
