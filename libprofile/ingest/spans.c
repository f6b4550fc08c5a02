/* spans.c - durations: begins and ends brought together, self times.
 *
 * While the trace is read, events go to the sorter.  ingest_span_finish() walks them by time, with
 * one stack of open slices a thread:
 *
 *   - Equal times: completes that end then are closed before anything begins, the rest is in file
 *     order.  Only a complete that began together with shorter ones goes below them, since writers
 *     write completes when they end: the inner one first.
 *   - An end closes the innermost open begin of its name and what is open above it (counted).  With
 *     none it is ignored (counted).  Completes end by themselves.
 *   - Time is given to the innermost open slice.  So a child that outlives its parent is cut in the
 *     self times; its slice keeps the end that was recorded.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/ingest.h"

/* Deeper begins are left out and counted.  What real programs nest is bounded by the stack of a
 * thread, 8 MiB of frames of 16 bytes or more; a trace of begins without ends is not.  */
#define MAX_DEPTH 1000000u

/* A complete goes below at most so many shorter ones: bounds the work a hostile trace can ask for.
 */
#define MAX_SHORTER 64u

struct open_slice {
    int64_t start_ns;
    int64_t end_ns;    /* of a complete; INT64_MAX for a begin */
    int64_t first_end; /* the earliest end of a complete here or below; INT64_MAX: none */
    uint64_t child_ns; /* time spent in children that are closed */
    uint32_t pair;
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

/* ---- Reading ---- */

/* The name of a slice; a reference to a string that is not there is shown as such.  */
static enum profile_status name_slice(struct profile_ingest *ingest, const struct fxt_string *name,
                                      profile_id *out, struct profile_error *error)
{
    char text[32];
    int length;

    if (!name->missing)
        return profile_stacks_string(ingest->stacks, name->bytes, name->length, out, error);
    length = snprintf(text, sizeof text, "<string %u>", (unsigned)name->index);
    return profile_stacks_string(ingest->stacks, text, (size_t)length, out, error);
}

static enum profile_status find_pair(struct profile_ingest *ingest, uint32_t thread,
                                     profile_id name, uint32_t *out, struct profile_error *error)
{
    struct ingest_spans *spans = &ingest->spans;
    uint64_t hash = profile_hash(thread, name);
    enum profile_status status;
    size_t probe;

    for (*out = profile_index_first(&spans->pair_index, hash, &probe); *out;
         *out = profile_index_next(&spans->pair_index, hash, &probe)) {
        const struct span_pair *pair = &spans->pairs[*out - 1];

        if (pair->thread == thread && pair->name == name)
            return PROFILE_OK;
    }
    void *items = spans->pairs;
    status = ingest_reserve(&items, &spans->pair_capacity, spans->pair_count, sizeof *spans->pairs,
                            &spans->pair_index, error);
    spans->pairs = items;
    if (status != PROFILE_OK)
        return status;
    spans->pairs[spans->pair_count++] = (struct span_pair){ .thread = thread, .name = name };
    *out = (uint32_t)spans->pair_count;
    profile_index_add(&spans->pair_index, hash, *out);
    return PROFILE_OK;
}

enum profile_status ingest_span_event(struct profile_ingest *ingest,
                                      const struct fxt_record *record, struct profile_error *error)
{
    struct ingest_spans *spans = &ingest->spans;
    unsigned type = record->value.event.type;
    struct span_key key = {
        .ts_ns = record->ts_ns,
        .end_ns = record->value.event.end_ns,
        .type = type == FXT_EVENT_DURATION_BEGIN ? SPAN_BEGIN
                : type == FXT_EVENT_DURATION_END ? SPAN_END
                                                 : SPAN_COMPLETE,
    };
    enum profile_status status;
    uint32_t thread;
    profile_id name;

    if (!ingest->sink.span)
        return PROFILE_OK;
    status = ingest_thread(ingest, &record->thread, &thread, error);
    if (status != PROFILE_OK || !ingest->threads[thread - 1].chosen)
        return status;
    status = name_slice(ingest, &record->name, &name, error);
    if (status == PROFILE_OK)
        status = find_pair(ingest, thread, name, &key.pair, error);
    if (status == PROFILE_OK && !spans->sorter)
        status = span_sorter_open(ingest->temporary_dir, ingest->options.sort_bytes, &spans->sorter,
                                  error);
    if (status != PROFILE_OK)
        return status;
    key.ordinal = spans->ordinal++;
    return span_sorter_add(spans->sorter, &key, error);
}

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

        status = frame_of(ingest, &ingest->spans.pairs[slice->pair - 1], &frame, error);
        if (status == PROFILE_OK)
            status = profile_stacks_callsite(ingest->stacks, *out, frame, &slice->callsite, error);
        *out = slice->callsite;
    }
    return status;
}

/* ---- The stack of a thread ---- */

/* There must be room.  */
static void push(struct ingest_spans *spans, struct span_stack *stack, struct open_slice slice)
{
    struct span_pair *pair = &spans->pairs[slice.pair - 1];
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

static struct open_slice pop(struct ingest_spans *spans, struct span_stack *stack)
{
    struct open_slice slice = stack->slices[--stack->count];

    if (slice.complete)
        stack->completes--;
    else
        spans->pairs[slice.pair - 1].open = slice.outer;
    return slice;
}

static int64_t clamp_ns(uint64_t duration_ns)
{
    return duration_ns > INT64_MAX ? INT64_MAX : (int64_t)duration_ns;
}

/* Take the innermost slice off at time now_ns and tell the sink of it.  */
static enum profile_status close_innermost(struct profile_ingest *ingest,
                                           const struct ingest_thread *thread, int64_t now_ns,
                                           bool unfinished, struct profile_error *error)
{
    struct span_stack *stack = thread->stack;
    profile_id callsite;
    enum profile_status status = callsite_of(ingest, stack, stack->count - 1, &callsite, error);
    struct open_slice slice;
    uint64_t duration_ns;

    if (status != PROFILE_OK)
        return status;
    slice = pop(&ingest->spans, stack);
    duration_ns = (uint64_t)now_ns - (uint64_t)slice.start_ns;
    if (stack->count > 0)
        stack->slices[stack->count - 1].child_ns += duration_ns;

    struct profile_span call = {
        .start_ns = slice.start_ns,
        .end_ns = slice.complete ? slice.end_ns : now_ns,
        .self_ns = clamp_ns(duration_ns - slice.child_ns),
        .process = thread->process,
        .thread = thread->koid,
        .callsite = callsite,
        .unfinished = unfinished,
    };
    return ingest_sink_status(ingest->sink.span(ingest->sink.context, &call), error);
}

/* Close everything down to place at, whose own end is now.  What is above it and does not end now
 * by itself is cut.  */
static enum profile_status close_down_to(struct profile_ingest *ingest,
                                         const struct ingest_thread *thread, size_t at,
                                         int64_t now_ns, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    while (thread->stack->count > at && status == PROFILE_OK) {
        const struct open_slice *slice = &thread->stack->slices[thread->stack->count - 1];

        if (thread->stack->count - 1 > at && (!slice->complete || slice->end_ns != now_ns))
            ingest->notices.crossing_slices++;
        status = close_innermost(ingest, thread, now_ns, false, error);
    }
    return status;
}

/* Close the completes that end by now_ns, in the order of their ends.  */
static enum profile_status close_completes(struct profile_ingest *ingest,
                                           const struct ingest_thread *thread, int64_t now_ns,
                                           struct profile_error *error)
{
    struct span_stack *stack = thread->stack;
    enum profile_status status = PROFILE_OK;

    while (status == PROFILE_OK && stack->completes > 0 &&
           stack->slices[stack->count - 1].first_end <= now_ns) {
        int64_t end_ns = stack->slices[stack->count - 1].first_end;
        size_t at = stack->count - 1;

        while (!stack->slices[at].complete || stack->slices[at].end_ns != end_ns)
            at--;
        status = close_down_to(ingest, thread, at, end_ns, error);
    }
    return status;
}

/* ---- Events, by time ---- */

static enum profile_status reserve(struct span_stack *stack, struct profile_error *error)
{
    struct open_slice *bigger = profile_grow(stack->slices, &stack->capacity, stack->count + 1,
                                             sizeof *bigger);

    if (!bigger)
        return profile_no_memory(error);
    stack->slices = bigger;
    return PROFILE_OK;
}

/* How many slices at the top are completes that began with slice and end before it.  */
static size_t count_shorter(const struct span_stack *stack, const struct open_slice *slice)
{
    size_t count = 0;

    while (count < stack->count && count < MAX_SHORTER) {
        const struct open_slice *other = &stack->slices[stack->count - 1 - count];

        if (!other->complete || other->start_ns != slice->start_ns ||
            other->end_ns >= slice->end_ns)
            break;
        count++;
    }
    return count;
}

static enum profile_status open_slice(struct profile_ingest *ingest,
                                      const struct ingest_thread *thread,
                                      const struct span_key *key, struct profile_error *error)
{
    struct span_stack *stack = thread->stack;
    struct open_slice slice = {
        .start_ns = key->ts_ns,
        .end_ns = key->type == SPAN_COMPLETE ? key->end_ns : INT64_MAX,
        .pair = key->pair,
        .complete = key->type == SPAN_COMPLETE,
    };
    struct open_slice shorter[MAX_SHORTER];
    size_t count;

    if (stack->count >= MAX_DEPTH) {
        stack->left_out += !slice.complete;
        ingest->notices.deep_slices++;
        return PROFILE_OK;
    }
    enum profile_status status = reserve(stack, error);
    if (status != PROFILE_OK)
        return status;
    count = slice.complete ? count_shorter(stack, &slice) : 0;
    for (size_t i = 0; i < count; i++)
        shorter[i] = pop(&ingest->spans, stack);
    push(&ingest->spans, stack, slice);
    while (count > 0)
        push(&ingest->spans, stack, shorter[--count]);
    /* Nothing can be inside an empty one.  */
    if (slice.complete && slice.end_ns <= slice.start_ns)
        return close_innermost(ingest, thread, slice.start_ns, false, error);
    return PROFILE_OK;
}

static enum profile_status end_slice(struct profile_ingest *ingest,
                                     const struct ingest_thread *thread, const struct span_key *key,
                                     struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint32_t open;

    /* A complete that ends now may be around this slice, so it is left for later; if it is inside,
     * it is closed with the slice.  */
    if (key->ts_ns > INT64_MIN)
        status = close_completes(ingest, thread, key->ts_ns - 1, error);
    if (status != PROFILE_OK)
        return status;
    if (thread->stack->left_out > 0) {
        thread->stack->left_out--;
        return PROFILE_OK;
    }
    open = ingest->spans.pairs[key->pair - 1].open;
    if (open == 0) {
        ingest->notices.stray_ends++;
        return PROFILE_OK;
    }
    return close_down_to(ingest, thread, open - 1, key->ts_ns, error);
}

static enum profile_status take_event(struct profile_ingest *ingest, const struct span_key *key,
                                      struct profile_error *error)
{
    struct ingest_thread *thread = &ingest->threads[ingest->spans.pairs[key->pair - 1].thread - 1];
    enum profile_status status;

    if (!thread->stack)
        thread->stack = calloc(1, sizeof *thread->stack);
    if (!thread->stack)
        return profile_no_memory(error);
    if (key->type == SPAN_END)
        return end_slice(ingest, thread, key, error);
    status = close_completes(ingest, thread, key->ts_ns, error);
    if (status != PROFILE_OK)
        return status;
    return open_slice(ingest, thread, key, error);
}

/* What is still open: completes end when they said, begins at the last time of the trace.  */
static enum profile_status close_thread(struct profile_ingest *ingest,
                                        const struct ingest_thread *thread,
                                        struct profile_error *error)
{
    enum profile_status status = close_completes(ingest, thread, ingest->last_ns, error);

    while (thread->stack->count > 0 && status == PROFILE_OK) {
        ingest->notices.unfinished_slices++;
        status = close_innermost(ingest, thread, ingest->last_ns, true, error);
    }
    return status;
}

enum profile_status ingest_span_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    struct span_sorter *sorter = ingest->spans.sorter;
    enum profile_status status = sorter ? span_sorter_finish(sorter, error) : PROFILE_OK;
    const struct span_key *key = NULL;

    while (sorter && status == PROFILE_OK) {
        status = span_sorter_next(sorter, &key, error);
        if (status != PROFILE_OK || !key)
            break;
        status = take_event(ingest, key, error);
    }
    for (size_t i = 0; i < ingest->thread_count && status == PROFILE_OK; i++)
        if (ingest->threads[i].stack)
            status = close_thread(ingest, &ingest->threads[i], error);
    return status;
}

void ingest_span_release(struct profile_ingest *ingest)
{
    for (size_t i = 0; i < ingest->thread_count; i++)
        if (ingest->threads[i].stack) {
            free(ingest->threads[i].stack->slices);
            free(ingest->threads[i].stack);
        }
    span_sorter_close(ingest->spans.sorter);
    free(ingest->spans.pairs);
    profile_index_release(&ingest->spans.pair_index);
}
