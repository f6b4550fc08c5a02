/* capture.h - what captures report about themselves; losses.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_CAPTURE_H
#define PROFILE_INGEST_CAPTURE_H

#include "libprofile/ingest/ingest.h"

/* Cumulative counts of one CPU (counter fxt.capture/lost).  */
struct lost_counter {
    uint64_t id;
    size_t cause; /* the first that the counter tells */
    struct profile_loss last;
};

enum profile_status ingest_capture_session(struct profile_ingest *ingest,
                                           const struct fxt_record *record,
                                           struct profile_error *error);
/* Instant fxt.capture/sample_event: what samples of an event are of.  */
enum profile_status ingest_capture_event(struct profile_ingest *ingest,
                                         const struct fxt_record *record,
                                         struct profile_error *error);
enum profile_status ingest_capture_init(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* A counter of category fxt.capture.  *is_loss is set if it counts losses.  */
enum profile_status ingest_capture_lost(struct profile_ingest *ingest,
                                        const struct fxt_record *record, bool *is_loss,
                                        struct profile_error *error);
enum profile_status ingest_capture_resident(struct profile_ingest *ingest,
                                            const struct fxt_record *record,
                                            struct profile_error *error);
enum profile_status ingest_capture_finish(struct profile_ingest *ingest,
                                          struct profile_error *error);

#endif /* PROFILE_INGEST_CAPTURE_H */
