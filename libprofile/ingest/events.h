/* events.h - arguments, counters, logs, objects; tracks.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_EVENTS_H
#define PROFILE_INGEST_EVENTS_H

#include "libprofile/ingest/ingest.h"

struct counter_series {
    uint32_t process_id;
    profile_id category, name, series;
    uint64_t counter_id;
    uint32_t track;
};

struct ingest_tracks {
    uint32_t count; /* reported so far */
    struct counter_series *series;
    size_t series_count, series_capacity;
    struct base_index series_index;
};

/* ---- Functions ---- */

/* A text of a record; a reference to a string that is not there is shown as such.  */
enum profile_status ingest_text(struct profile_ingest *ingest, const struct fxt_string *text,
                                profile_id *out, struct profile_error *error);
/* Tell the record's arguments, if the sink wants any.  */
enum profile_status ingest_args(struct profile_ingest *ingest, const struct fxt_record *record,
                                uint64_t set, struct profile_error *error);
enum profile_status ingest_counter(struct profile_ingest *ingest, const struct fxt_record *record,
                                   struct profile_error *error);
enum profile_status ingest_log(struct profile_ingest *ingest, const struct fxt_record *record,
                               struct profile_error *error);
/* Kernel objects and userspace objects, for the timeline.  */
enum profile_status ingest_tell_object(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct profile_error *error);
/* Tell a track, whose id is made.  */
enum profile_status ingest_track(struct profile_ingest *ingest, struct profile_track *track,
                                 struct profile_error *error);
void ingest_tracks_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_EVENTS_H */
