/* async.c - durations of operations, distinguished by process, category, name and correlation id.
 *
 * Operations of one (process, category, name) overlap.  Each takes a track that is free when it
 * begins, so there are as many tracks as were ever open together, not as there were operations.  */
#include <stdlib.h>

#include "libprofile/ingest/async.h"
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/slices.h"
#include "libprofile/ingest/timeline.h"

static enum profile_status find_group(struct profile_ingest *ingest,
                                      const struct timeline_event *event, uint32_t *out,
                                      struct profile_error *error)
{
    struct ingest_async *async = ingest->async;
    const struct span_pair *pair = &ingest->timeline->pairs[event->pair - 1];
    struct async_group group = { .process_id = ingest->threads[pair->thread_id - 1].process_id,
                                 .category = event->category,
                                 .name = pair->name };
    uint64_t hash = base_hash(base_hash(group.process_id, group.category), group.name);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&async->group_index, hash, &probe); *out;
         *out = base_index_next(&async->group_index, hash, &probe)) {
        const struct async_group *other = &async->groups[*out - 1];

        if (other->process_id == group.process_id && other->category == group.category &&
            other->name == group.name)
            return PROFILE_OK;
    }
    status = ingest_reserve(&async->groups, &async->group_capacity, async->group_count,
                            sizeof *async->groups, &async->group_index, error);
    if (status != PROFILE_OK)
        return status;
    async->groups[async->group_count++] = group;
    *out = (uint32_t)async->group_count;
    base_index_add(&async->group_index, hash, *out);
    return PROFILE_OK;
}

/* ---- Tracks ---- */

static void put_track_back(struct ingest_async *async, uint32_t group, uint32_t track)
{
    async->next_free[track] = async->groups[group - 1].free_track;
    async->groups[group - 1].free_track = track;
}

static enum profile_status take_track(struct profile_ingest *ingest, uint32_t group, uint32_t *out,
                                      struct profile_error *error)
{
    struct ingest_async *async = ingest->async;
    struct async_group *owner = &async->groups[group - 1];
    struct profile_track track = { .kind = PROFILE_TRACK_ASYNC,
                                   .process_id = owner->process_id,
                                   .category = owner->category,
                                   .name = owner->name };
    enum profile_status status;

    *out = owner->free_track;
    if (*out) {
        owner->free_track = async->next_free[*out];
        return PROFILE_OK;
    }
    status = ingest_track(ingest, &track, error);
    if (status != PROFILE_OK)
        return status;
    if (!base_make_room(&async->next_free, &async->next_free_capacity, (size_t)track.id + 1,
                        sizeof *async->next_free))
        return profile_no_memory(error);
    *out = track.id;
    return PROFILE_OK;
}

/* ---- Open slices ---- */

static enum profile_status new_slice(struct ingest_async *async, uint32_t *out,
                                     struct profile_error *error)
{
    async->open_count++;
    *out = async->free_slice;
    if (*out) {
        async->free_slice = async->slices[*out - 1].outer;
        return PROFILE_OK;
    }
    if (!base_make_room(&async->slices, &async->slice_capacity, async->slice_count + 1,
                        sizeof *async->slices))
        return profile_no_memory(error);
    *out = (uint32_t)++async->slice_count;
    return PROFILE_OK;
}

/* A slice that begins with the event: inside the innermost one that is open, whose entry is given,
 * or, if that is NULL, on a free track.  */
static enum profile_status nest(struct profile_ingest *ingest, const struct timeline_event *event,
                                uint32_t group, const struct base_pair_entry *entry,
                                struct open_async *out, struct profile_error *error)
{
    *out = (struct open_async){
        .start_ns = event->key.ts_ns,
        .args = ingest_args_of(event),
        .thread_id = ingest->timeline->pairs[event->pair - 1].thread_id,
        .group = group,
    };
    if (!entry)
        return take_track(ingest, group, &out->track, error);
    out->outer = entry->value;
    out->track = ingest->async->slices[entry->value - 1].track;
    out->depth = entry->count;
    return PROFILE_OK;
}

static enum profile_status begin(struct profile_ingest *ingest, const struct timeline_event *event,
                                 uint32_t group, struct profile_error *error)
{
    struct ingest_async *async = ingest->async;
    struct base_pair_entry *entry = base_pair_map_find(&async->table, group, event->value);
    enum profile_status status;
    struct open_async slice;
    uint32_t place;

    if (async->open_count == MAX_OPEN) {
        ingest->notices.deep_slices++;
        return PROFILE_OK;
    }
    status = nest(ingest, event, group, entry, &slice, error);
    if (status == PROFILE_OK)
        status = new_slice(async, &place, error);
    if (status != PROFILE_OK)
        return status;
    if (!entry)
        entry = base_pair_map_add(&async->table, group, event->value);
    if (!entry)
        return profile_no_memory(error);
    slice.id = ingest_slice_id(ingest);
    async->slices[place - 1] = slice;
    entry->value = place;
    entry->count++;
    return PROFILE_OK;
}

/* Finish an open slice.  */
static enum profile_status tell(struct profile_ingest *ingest, const struct open_async *slice,
                                uint64_t correlation_id, int64_t end_ns, uint64_t end_args,
                                uint32_t flags, struct profile_error *error)
{
    const struct ingest_async *async = ingest->async;
    const struct async_group *group = &async->groups[slice->group - 1];
    struct closed_slice closed = {
        .key = { slice->start_ns, slice->id },
        .end_ns = end_ns,
        .parent = slice->outer ? async->slices[slice->outer - 1].id : 0,
        .args = slice->args,
        .end_args = end_args,
        .number = correlation_id,
        .track = slice->track,
        .thread_id = slice->thread_id,
        .category = group->category,
        .name = group->name,
        .depth = slice->depth,
        .flags = flags,
    };

    return ingest_slice_add(ingest, &closed, error);
}

static enum profile_status end(struct profile_ingest *ingest, const struct timeline_event *event,
                               uint32_t group, struct profile_error *error)
{
    struct ingest_async *async = ingest->async;
    struct base_pair_entry *entry = base_pair_map_find(&async->table, group, event->value);
    struct open_async *slice;
    enum profile_status status;
    uint32_t place;

    if (!entry) {
        ingest->notices.stray_ends++;
        return PROFILE_OK;
    }
    place = entry->value;
    slice = &async->slices[place - 1];
    status = tell(ingest, slice, event->value, event->key.ts_ns, ingest_args_of(event),
                  PROFILE_SLICE_ASYNC, error);
    entry->value = slice->outer;
    if (entry->count > 1) {
        entry->count--;
    } else {
        put_track_back(async, group, slice->track);
        base_pair_map_remove(&async->table, entry);
    }
    slice->outer = async->free_slice;
    async->free_slice = place;
    async->open_count--;
    return status;
}

/* A moment of an operation; of one that is not open, on a track that is free.  */
static enum profile_status moment(struct profile_ingest *ingest, const struct timeline_event *event,
                                  uint32_t group, struct profile_error *error)
{
    struct ingest_async *async = ingest->async;
    const struct base_pair_entry *entry = base_pair_map_find(&async->table, group, event->value);
    struct open_async slice;
    enum profile_status status = nest(ingest, event, group, entry, &slice, error);

    if (status != PROFILE_OK)
        return status;
    if (!entry)
        put_track_back(async, group, slice.track);
    slice.id = ingest_slice_id(ingest);
    return tell(ingest, &slice, event->value, slice.start_ns, 0, PROFILE_SLICE_ASYNC_INSTANT,
                error);
}

enum profile_status ingest_async_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error)
{
    uint32_t group;
    enum profile_status status = find_group(ingest, event, &group, error);

    if (status != PROFILE_OK)
        return status;
    if (event->type == TIMELINE_ASYNC_BEGIN)
        return begin(ingest, event, group, error);
    if (event->type == TIMELINE_ASYNC_END)
        return end(ingest, event, group, error);
    return moment(ingest, event, group, error);
}

/* What is still open lasts to the end of the trace.  */
enum profile_status ingest_async_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    const struct ingest_async *async = ingest->async;
    const struct base_pair_map *table = &async->table;
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; table->entries && i <= table->mask; i++) {
        const struct base_pair_entry *entry = &table->entries[i];

        for (uint32_t place = entry->count > 0 ? entry->value : 0; place && status == PROFILE_OK;
             place = async->slices[place - 1].outer) {
            ingest->notices.unfinished_slices++;
            status = tell(ingest, &async->slices[place - 1], entry->b, ingest->last_ns, 0,
                          PROFILE_SLICE_ASYNC | CLOSED_UNFINISHED, error);
        }
    }
    return status;
}

void ingest_async_release(struct profile_ingest *ingest)
{
    free(ingest->async->groups);
    base_index_release(&ingest->async->group_index);
    free(ingest->async->next_free);
    free(ingest->async->slices);
    base_pair_map_release(&ingest->async->table);
}
