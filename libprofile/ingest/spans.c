/* spans.c - durations of threads: begins and ends brought together, places in the nest, self times.
 *
 * Events come by time; each thread has one stack of open slices:
 *
 *   - Equal times: completes that end then are closed before anything begins, the rest is in the
 *     order of timeline.c.
 *   - An end closes the innermost open begin of its name and what is open above it (counted).  An
 *     end without a name closes the innermost open begin: writers that nest strictly leave the name
 *     out.  With no such begin it is ignored (counted).  Completes end by themselves.
 *   - Time is given to the innermost open slice.  So a child that outlives its parent is cut in the
 *     self times; its slice keeps the end that was recorded, also when that end comes after the
 *     slice around it has closed it: until a slice of that name begins again, it is waited for.
 *   - What happens at a moment lies in what is open then, the slice that ends at that very moment
 *     included.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/events.h"
#include "libprofile/ingest/slices.h"
#include "libprofile/ingest/spans.h"
#include "libprofile/ingest/timeline.h"

/* Deeper begins are left out and counted.  What real programs nest is bounded by the stack of a
 * thread, 8 MiB of frames of 16 bytes or more; a trace of begins without ends is not.  */
#define MAX_DEPTH 1000000u

struct open_slice {
    int64_t start_ns;
    int64_t end_ns;    /* of a complete; INT64_MAX for a begin */
    int64_t first_end; /* the earliest end of a complete here or below; INT64_MAX: none */
    uint64_t child_ns; /* time spent in children that are closed */
    uint64_t id;       /* in the timeline */
    uint64_t args;     /* set */
    uint32_t pair;
    profile_id category;
    uint32_t outer;      /* next open begin of the same name: place + 1; 0 none */
    profile_id callsite; /* 0: not asked for yet */
    bool complete;
};

struct span_stack {
    struct open_slice *slices; /* outermost first */
    size_t count, capacity;
    size_t completes;  /* of these */
    uint64_t left_out; /* begins beyond MAX_DEPTH that wait for their ends */
};

/* ---- Call sites ---- */

static enum profile_status frame_of(struct profile_ingest *ingest, struct span_pair *pair,
                                    profile_id *out, struct profile_error *error)
{
    struct profile_line line = { .function = pair->name };
    enum profile_status status = PROFILE_OK;

    if (pair->frame == 0)
        status = profile_stacks_named_frame(ingest->stacks, &line, 1, &pair->frame, error);
    *out = pair->frame;
    return status;
}

/* The call site of the slice at place at.  Those below it get theirs on the way, once: from then on
 * nothing can go between them any more.  */
static enum profile_status callsite_of(struct profile_ingest *ingest, struct span_stack *stack,
                                       size_t at, profile_id *out, struct profile_error *error)
{
    size_t next = at + 1;
    enum profile_status status = PROFILE_OK;

    while (next > 0 && stack->slices[next - 1].callsite == 0)
        next--;
    *out = next > 0 ? stack->slices[next - 1].callsite : 0;
    for (; next <= at && status == PROFILE_OK; next++) {
        struct open_slice *slice = &stack->slices[next];
        profile_id frame;

        status = frame_of(ingest, &ingest->timeline->pairs[slice->pair - 1], &frame, error);
        if (status == PROFILE_OK)
            status = profile_stacks_callsite(ingest->stacks, *out, frame, &slice->callsite, error);
        *out = slice->callsite;
    }
    return status;
}

/* ---- The stack of a thread ---- */

/* There must be room.  */
static void push(struct ingest_timeline *timeline, struct span_stack *stack,
                 struct open_slice slice)
{
    struct span_pair *pair = &timeline->pairs[slice.pair - 1];
    int64_t below = stack->count > 0 ? stack->slices[stack->count - 1].first_end : INT64_MAX;

    slice.first_end = slice.complete && slice.end_ns < below ? slice.end_ns : below;
    slice.callsite = 0;
    if (slice.complete) {
        stack->completes++;
    } else {
        slice.outer = pair->open;
        pair->open = (uint32_t)stack->count + 1;
    }
    stack->slices[stack->count++] = slice;
}

static struct open_slice pop(struct ingest_timeline *timeline, struct span_stack *stack)
{
    struct open_slice slice = stack->slices[--stack->count];

    if (slice.complete)
        stack->completes--;
    else
        timeline->pairs[slice.pair - 1].open = slice.outer;
    return slice;
}

static int64_t clamp_ns(uint64_t duration_ns)
{
    return duration_ns > INT64_MAX ? INT64_MAX : (int64_t)duration_ns;
}

/* Why a slice is closed.  */
enum closing { CLOSE_ENDED, CLOSE_CUT, CLOSE_UNFINISHED };

static enum profile_status tell_span(struct profile_ingest *ingest, uint32_t thread,
                                     const struct open_slice *slice, profile_id callsite,
                                     int64_t now_ns, enum closing why, struct profile_error *error)
{
    const struct ingest_thread *owner = &ingest->threads[thread - 1];
    uint64_t duration_ns = (uint64_t)now_ns - (uint64_t)slice->start_ns;
    struct profile_span call = {
        .start_ns = slice->start_ns,
        .end_ns = slice->complete ? slice->end_ns : now_ns,
        .self_ns = clamp_ns(duration_ns - slice->child_ns),
        .process_koid = owner->process_koid,
        .thread_koid = owner->koid,
        .callsite = callsite,
        .unfinished = why == CLOSE_UNFINISHED,
    };

    return ingest_sink_status(ingest->sink.span(ingest->sink.context, &call), error);
}

/* The slice has its end, or will not get one any more.  */
static enum profile_status give_up_waiting(struct profile_ingest *ingest, struct span_pair *pair,
                                           struct profile_error *error)
{
    struct closed_slice *slice = pair->ended;
    enum profile_status status;

    if (!slice)
        return PROFILE_OK;
    pair->ended = NULL;
    status = ingest_slice_add(ingest, slice, error);
    free(slice);
    return status;
}

/* Keep a begin that the slice around it closed: its own end may follow.  */
static enum profile_status wait_for_end(struct profile_ingest *ingest, struct span_pair *pair,
                                        const struct closed_slice *slice,
                                        struct profile_error *error)
{
    if (pair->ended)
        return ingest_slice_add(ingest, slice, error);
    pair->ended = malloc(sizeof *pair->ended);
    if (!pair->ended)
        return profile_no_memory(error);
    *pair->ended = *slice;
    return PROFILE_OK;
}

/* stack is as it is without the slice.  */
static enum profile_status finish_slice(struct profile_ingest *ingest, uint32_t thread,
                                        const struct open_slice *slice, int64_t now_ns,
                                        enum closing why, uint64_t end_args,
                                        struct profile_error *error)
{
    const struct ingest_thread *owner = &ingest->threads[thread - 1];
    const struct span_stack *stack = owner->stack;
    struct span_pair *pair = &ingest->timeline->pairs[slice->pair - 1];
    struct closed_slice closed = {
        .key = { slice->start_ns, slice->id },
        .end_ns = slice->complete ? slice->end_ns : now_ns,
        .parent = stack->count > 0 ? stack->slices[stack->count - 1].id : 0,
        .args = slice->args,
        .end_args = end_args,
        .track = owner->track,
        .thread_id = thread,
        .category = slice->category,
        .name = pair->name,
        .depth = (uint32_t)stack->count,
        .flags = PROFILE_SLICE_DURATION,
    };

    if (why == CLOSE_UNFINISHED)
        closed.flags |= CLOSED_UNFINISHED;
    if (why != CLOSE_CUT || slice->complete)
        return ingest_slice_add(ingest, &closed, error);
    closed.flags |= CLOSED_CUT;
    return wait_for_end(ingest, pair, &closed, error);
}

/* Take the innermost slice off at time now_ns and tell of it.  */
static enum profile_status close_innermost(struct profile_ingest *ingest, uint32_t thread,
                                           int64_t now_ns, enum closing why, uint64_t end_args,
                                           struct profile_error *error)
{
    struct span_stack *stack = ingest->threads[thread - 1].stack;
    enum profile_status status = PROFILE_OK;
    profile_id callsite = 0;
    struct open_slice slice;

    if (ingest->sink.span)
        status = callsite_of(ingest, stack, stack->count - 1, &callsite, error);
    if (status != PROFILE_OK)
        return status;
    slice = pop(ingest->timeline, stack);
    if (stack->count > 0)
        stack->slices[stack->count - 1].child_ns += (uint64_t)now_ns - (uint64_t)slice.start_ns;
    if (ingest->sink.span)
        status = tell_span(ingest, thread, &slice, callsite, now_ns, why, error);
    if (status == PROFILE_OK && ingest->timeline->slices)
        status = finish_slice(ingest, thread, &slice, now_ns, why, end_args, error);
    return status;
}

/* Close everything down to place at, whose own end is now.  What is above it and does not end now
 * by itself is cut.  */
static enum profile_status close_down_to(struct profile_ingest *ingest, uint32_t thread, size_t at,
                                         int64_t now_ns, uint64_t end_args,
                                         struct profile_error *error)
{
    const struct span_stack *stack = ingest->threads[thread - 1].stack;
    enum profile_status status = PROFILE_OK;

    while (stack->count > at && status == PROFILE_OK) {
        const struct open_slice *slice = &stack->slices[stack->count - 1];
        bool own = stack->count - 1 == at || (slice->complete && slice->end_ns == now_ns);

        ingest->notices.crossing_slices += !own;
        status = close_innermost(ingest, thread, now_ns, own ? CLOSE_ENDED : CLOSE_CUT,
                                 stack->count - 1 == at ? end_args : 0, error);
    }
    return status;
}

/* Close the completes that end by now_ns, in the order of their ends.  */
static enum profile_status close_completes(struct profile_ingest *ingest, uint32_t thread,
                                           int64_t now_ns, struct profile_error *error)
{
    const struct span_stack *stack = ingest->threads[thread - 1].stack;
    enum profile_status status = PROFILE_OK;

    while (status == PROFILE_OK && stack->completes > 0 &&
           stack->slices[stack->count - 1].first_end <= now_ns) {
        int64_t end_ns = stack->slices[stack->count - 1].first_end;
        size_t at = stack->count - 1;

        while (!stack->slices[at].complete || stack->slices[at].end_ns != end_ns)
            at--;
        status = close_down_to(ingest, thread, at, end_ns, 0, error);
    }
    return status;
}

/* ---- Events, by time ---- */

static enum profile_status reserve(struct span_stack *stack, struct profile_error *error)
{
    if (!base_make_room(&stack->slices, &stack->capacity, stack->count + 1, sizeof *stack->slices))
        return profile_no_memory(error);
    return PROFILE_OK;
}

/* The thread's track is reported before its first slice.  */
static enum profile_status need_track(struct profile_ingest *ingest, uint32_t thread,
                                      struct profile_error *error)
{
    struct ingest_thread *owner = &ingest->threads[thread - 1];
    struct profile_track track = { .kind = PROFILE_TRACK_THREAD,
                                   .process_id = owner->process_id,
                                   .thread_id = thread };
    enum profile_status status;

    if (owner->track)
        return PROFILE_OK;
    status = ingest_track(ingest, &track, error);
    owner->track = track.id;
    return status;
}

static enum profile_status open_slice(struct profile_ingest *ingest, uint32_t thread,
                                      const struct timeline_event *event,
                                      struct profile_error *error)
{
    struct span_stack *stack = ingest->threads[thread - 1].stack;
    struct open_slice slice = {
        .start_ns = event->key.ts_ns,
        .end_ns = event->type == TIMELINE_COMPLETE ? (int64_t)event->value : INT64_MAX,
        .args = ingest_args_of(event),
        .pair = event->pair,
        .category = event->category,
        .complete = event->type == TIMELINE_COMPLETE,
    };
    enum profile_status status;

    if (stack->count >= MAX_DEPTH) {
        stack->left_out += !slice.complete;
        ingest->notices.deep_slices++;
        return PROFILE_OK;
    }
    status = reserve(stack, error);
    if (status == PROFILE_OK && ingest->timeline->slices)
        status = need_track(ingest, thread, error);
    if (status == PROFILE_OK && !slice.complete)
        status = give_up_waiting(ingest, &ingest->timeline->pairs[event->pair - 1], error);
    if (status != PROFILE_OK)
        return status;
    slice.id = ingest_slice_id(ingest);
    push(ingest->timeline, stack, slice);
    /* Nothing can be inside an empty one.  */
    if (slice.complete && slice.end_ns <= slice.start_ns)
        return close_innermost(ingest, thread, slice.start_ns, CLOSE_ENDED, 0, error);
    return PROFILE_OK;
}

/* An end that nothing open waits for.  */
static enum profile_status late_end(struct profile_ingest *ingest,
                                    const struct timeline_event *event, struct profile_error *error)
{
    struct span_pair *pair = &ingest->timeline->pairs[event->pair - 1];

    if (!pair->ended) {
        ingest->notices.stray_ends++;
        return PROFILE_OK;
    }
    pair->ended->end_ns = event->key.ts_ns;
    pair->ended->end_args = ingest_args_of(event);
    pair->ended->flags &= ~(uint32_t)CLOSED_CUT;
    return give_up_waiting(ingest, pair, error);
}

/* Close the completes of a thread that end before that time.  */
static enum profile_status close_before(struct profile_ingest *ingest, uint32_t thread,
                                        int64_t ts_ns, struct profile_error *error)
{
    if (ts_ns == INT64_MIN)
        return PROFILE_OK;
    return close_completes(ingest, thread, ts_ns - 1, error);
}

/* The begin that an end closes, as its place + 1; 0: none is open.  */
static size_t find_begin(const struct span_stack *stack, const struct span_pair *pair)
{
    size_t place = stack->count;

    if (pair->name != 0)
        return pair->open;
    if (stack->completes == stack->count)
        return 0;
    while (stack->slices[place - 1].complete)
        place--;
    return place;
}

static enum profile_status end_slice(struct profile_ingest *ingest, uint32_t thread,
                                     const struct timeline_event *event,
                                     struct profile_error *error)
{
    struct span_stack *stack = ingest->threads[thread - 1].stack;
    /* A complete that ends now may be around this slice, so it is left for later; if it is inside,
     * it is closed with the slice.  */
    enum profile_status status = close_before(ingest, thread, event->key.ts_ns, error);
    size_t open;

    if (status != PROFILE_OK)
        return status;
    if (stack->left_out > 0) {
        stack->left_out--;
        return PROFILE_OK;
    }
    open = find_begin(stack, &ingest->timeline->pairs[event->pair - 1]);
    if (open == 0)
        return late_end(ingest, event, error);
    return close_down_to(ingest, thread, open - 1, event->key.ts_ns, ingest_args_of(event), error);
}

static enum profile_status stack_of(struct profile_ingest *ingest,
                                    const struct timeline_event *event, uint32_t *thread,
                                    struct profile_error *error)
{
    struct ingest_thread *owner;

    *thread = ingest->timeline->pairs[event->pair - 1].thread_id;
    owner = &ingest->threads[*thread - 1];
    if (!owner->stack)
        owner->stack = calloc(1, sizeof *owner->stack);
    return owner->stack ? PROFILE_OK : profile_no_memory(error);
}

enum profile_status ingest_span_place(struct profile_ingest *ingest,
                                      const struct timeline_event *event, struct span_place *out,
                                      struct profile_error *error)
{
    const struct span_stack *stack;
    uint32_t thread;
    enum profile_status status = stack_of(ingest, event, &thread, error);

    if (status == PROFILE_OK)
        status = close_before(ingest, thread, event->key.ts_ns, error);
    if (status != PROFILE_OK)
        return status;
    stack = ingest->threads[thread - 1].stack;
    out->depth = stack->count;
    out->id = stack->count > 0 ? stack->slices[stack->count - 1].id : 0;
    return PROFILE_OK;
}

enum profile_status ingest_span_callsite(struct profile_ingest *ingest, uint32_t thread,
                                         int64_t ts_ns, profile_id *out,
                                         struct profile_error *error)
{
    struct span_stack *stack = ingest->threads[thread - 1].stack;
    enum profile_status status;

    *out = 0;
    if (!stack)
        return PROFILE_OK;
    status = close_before(ingest, thread, ts_ns, error);
    if (status != PROFILE_OK || stack->count == 0)
        return status;
    return callsite_of(ingest, stack, stack->count - 1, out, error);
}

static enum profile_status take_instant(struct profile_ingest *ingest, uint32_t thread,
                                        const struct timeline_event *event,
                                        struct profile_error *error)
{
    struct span_place place;
    enum profile_status status = ingest_span_place(ingest, event, &place, error);

    if (status == PROFILE_OK)
        status = need_track(ingest, thread, error);
    if (status != PROFILE_OK)
        return status;
    struct closed_slice instant = {
        .key = { event->key.ts_ns, ingest_slice_id(ingest) },
        .end_ns = event->key.ts_ns,
        .parent = place.id,
        .args = ingest_args_of(event),
        .number = event->value,
        .track = ingest->threads[thread - 1].track,
        .thread_id = thread,
        .category = event->category,
        .name = ingest->timeline->pairs[event->pair - 1].name,
        .depth = (uint32_t)place.depth,
        .flags = PROFILE_SLICE_INSTANT,
    };
    return ingest_slice_add(ingest, &instant, error);
}

enum profile_status ingest_span_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error)
{
    uint32_t thread;
    enum profile_status status = stack_of(ingest, event, &thread, error);

    if (status != PROFILE_OK)
        return status;
    if (event->type == TIMELINE_END)
        return end_slice(ingest, thread, event, error);
    if (event->type == TIMELINE_INSTANT)
        return take_instant(ingest, thread, event, error);
    status = close_completes(ingest, thread, event->key.ts_ns, error);
    if (status != PROFILE_OK)
        return status;
    return open_slice(ingest, thread, event, error);
}

/* What is still open: completes end when they said, begins at the last time of the trace.  */
static enum profile_status close_thread(struct profile_ingest *ingest, uint32_t thread,
                                        struct profile_error *error)
{
    const struct span_stack *stack = ingest->threads[thread - 1].stack;
    enum profile_status status = close_completes(ingest, thread, ingest->last_ns, error);

    while (stack->count > 0 && status == PROFILE_OK) {
        ingest->notices.unfinished_slices++;
        status = close_innermost(ingest, thread, ingest->last_ns, CLOSE_UNFINISHED, 0, error);
    }
    return status;
}

enum profile_status ingest_span_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    for (uint32_t i = 1; i <= ingest->thread_count && status == PROFILE_OK; i++)
        if (ingest->threads[i - 1].stack)
            status = close_thread(ingest, i, error);
    for (size_t i = 0; i < ingest->timeline->pair_count && status == PROFILE_OK; i++)
        status = give_up_waiting(ingest, &ingest->timeline->pairs[i], error);
    return status;
}

void ingest_span_release(struct profile_ingest *ingest)
{
    for (size_t i = 0; i < ingest->thread_count; i++)
        if (ingest->threads[i].stack) {
            free(ingest->threads[i].stack->slices);
            free(ingest->threads[i].stack);
        }
    for (size_t i = 0; i < ingest->timeline->pair_count; i++)
        free(ingest->timeline->pairs[i].ended);
}
