/* import_timeline.h - rows of the timeline, from what ingest tells.  Private to libstore.
 *
 *   import_timeline.c  tracks, slices, flows
 *   timeline_args.c    arguments, objects, logs
 *   timeline_sched.c   threads on CPUs, and waiting
 *
 * Ingest tells everything once, in final form, and a slice after its parent, so each call is a row
 * that never changes.  Ids of ingest (counted from 1) become the store's by adding what was there
 * before.  */
#ifndef STORE_IMPORT_TIMELINE_H
#define STORE_IMPORT_TIMELINE_H

#include "libstore/import/import.h"

struct store_timeline {
    int64_t first_track, first_name;
    int64_t last_args;       /* arg_set_id of the captures before: sets of ingest are added */
    struct base_pairs names; /* (category, name) -> event_name.id - first_name + 1 */
    int64_t *keys;           /* string.id of argument names, by profile_id; 0: none yet */
    size_t key_count, key_capacity;
};

/* Ask ingest for the timeline.  */
enum store_status store_timeline_open(struct store_import *import, struct profile_sink *sink,
                                      struct store_error *error);
/* After the writer is open, before the first record.  */
void store_timeline_start(struct store_import *import);
void store_timeline_release(struct store_import *import);

/* Members of the sink.  */
void store_timeline_args_sink(struct profile_sink *sink);
void store_timeline_sched_sink(struct profile_sink *sink);

/* event_name.id; 0: failed.  */
int64_t store_timeline_name(struct store_import *import, profile_id category, profile_id name);

static inline int64_t store_timeline_args(const struct store_import *import, uint64_t set)
{
    return set ? import->timeline->last_args + (int64_t)set : 0;
}

/* Durations beyond 63 bits stop there.  */
static inline int64_t store_timeline_dur(int64_t start_ns, int64_t end_ns)
{
    int64_t dur;

    return __builtin_sub_overflow(end_ns, start_ns, &dur) ? INT64_MAX : dur;
}

/* One of ingest's strings, into a cell of the row handed out last for that table.  */
bool store_timeline_text(struct store_import *import, enum store_table table,
                         struct store_cell *cell, profile_id text);

#endif /* STORE_IMPORT_TIMELINE_H */
