/* spans.h - durations of threads: begins and ends brought together.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_SPANS_H
#define PROFILE_INGEST_SPANS_H

#include "libprofile/ingest/ingest.h"

struct timeline_event;

/* Events of threads, by time.  */
enum profile_status ingest_span_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error);
/* The innermost slice of the event's thread at its time; its place is 0 and its id 0 if there is
 * none.  What ends at that very time is still there.  */
struct span_place {
    uint64_t id;
    size_t depth; /* open slices */
};
enum profile_status ingest_span_place(struct profile_ingest *ingest,
                                      const struct timeline_event *event, struct span_place *out,
                                      struct profile_error *error);
/* The call site of the innermost slice that is open in a thread at that time, likewise; 0: none.
 * */
enum profile_status ingest_span_callsite(struct profile_ingest *ingest, uint32_t thread,
                                         int64_t ts_ns, profile_id *out,
                                         struct profile_error *error);
enum profile_status ingest_span_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_span_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_SPANS_H */
