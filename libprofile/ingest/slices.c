/* slices.c - finished slices, brought into the order in which they begin.
 *
 * Slices are finished children first.  A receiver that writes rows wants a parent before its
 * children and rows in the order of time, so they are sorted once more, by their ids.  */
#include "libprofile/ingest/slices.h"

enum profile_status ingest_slice_add(struct profile_ingest *ingest,
                                     const struct closed_slice *slice, struct profile_error *error)
{
    /* The sorter of events still holds its share.  */
    return ingest_sorter_add(ingest, &ingest->slices->sorter, ingest->options.sort_bytes / 2, slice,
                             sizeof *slice, error);
}

static enum profile_status tell(const struct profile_ingest *ingest,
                                const struct closed_slice *slice, struct profile_error *error)
{
    enum profile_slice_type type = (enum profile_slice_type)(slice->flags & CLOSED_TYPE);
    bool async = type == PROFILE_SLICE_ASYNC || type == PROFILE_SLICE_ASYNC_INSTANT;
    struct profile_slice call = {
        .id = slice->key.ordinal,
        .parent = slice->parent,
        .depth = slice->depth,
        .track = slice->track,
        .thread_id = slice->thread_id,
        .type = type,
        .start_ns = slice->key.ts_ns,
        .end_ns = slice->end_ns,
        .unfinished = slice->flags & CLOSED_UNFINISHED,
        .cut = slice->flags & CLOSED_CUT,
        .category = slice->category,
        .name = slice->name,
        .args = slice->args,
        .end_args = slice->end_args,
        .correlation_id = async ? slice->number : 0,
        .scope = async ? 0 : slice->number,
    };

    return ingest_sink_status(ingest->sink.slice(ingest->sink.context, &call), error);
}

enum profile_status ingest_slice_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    struct base_sorter *sorter = ingest->slices->sorter;
    enum profile_status status = ingest_sorter_status(
        ingest, sorter ? base_sorter_finish(sorter) : 0, error);
    const void *slice = NULL;

    while (sorter && status == PROFILE_OK) {
        status = ingest_sorter_status(ingest, base_sorter_next(sorter, &slice), error);
        if (status != PROFILE_OK || !slice)
            break;
        status = tell(ingest, slice, error);
    }
    return status;
}

void ingest_slice_release(struct profile_ingest *ingest)
{
    base_sorter_close(ingest->slices->sorter);
}
