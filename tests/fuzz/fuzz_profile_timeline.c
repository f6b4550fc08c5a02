/* A trace to its timeline: reader, ingest, nests, flows, operations, scheduling.
 *
 * - Slices come in the order of their ids and times; a parent comes before its children, on their
 *   track, one level up; nothing ends before it begins.
 * - What is told refers only to what was told: threads, tracks, sets of arguments, slices.
 * - An arrow does not lead back in time.
 * - A CPU runs one thread at a time, and a thread does not wait twice at once.
 * - Sorting in a file tells the same as sorting in memory, to the last byte.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "tests/fuzz/support.h"

#define MOST_CPUS 65536u

/* What was told, in one run.  */
struct told {
    struct fuzz_buffer bytes;  /* every member of every call */
    struct fuzz_buffer slices; /* struct profile_slice, by id */
    struct fuzz_buffer sets;   /* uint64_t, increasing */
    struct fuzz_buffer flows;  /* struct profile_flow */
    struct fuzz_buffer waits;  /* int64_t: by thread, when it may wait again */
    struct fuzz_buffer cpus;   /* int64_t, by CPU: when it may run again */
    uint32_t threads, tracks;
    uint64_t last_slice, last_flow;
};

static void note(struct told *told, const void *members, size_t size)
{
    fuzz_append(&told->bytes, members, size);
}

static bool has_set(const struct told *told, uint64_t set)
{
    const uint64_t *sets = (const uint64_t *)(const void *)told->sets.bytes;
    size_t low = 0, high = told->sets.used / sizeof *sets;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sets[middle] < set)
            low = middle + 1;
        else
            high = middle;
    }
    return set == 0 || (low < told->sets.used / sizeof *sets && sets[low] == set);
}

/* Number i of a buffer of times, which begins as never.  */
static int64_t *time_at(struct fuzz_buffer *times, size_t i)
{
    const int64_t never = INT64_MIN;

    while (times->used <= i * sizeof never)
        fuzz_append(times, &never, sizeof never);
    return &((int64_t *)(void *)times->bytes)[i];
}

static enum profile_status take_thread(void *context, const struct profile_thread *thread)
{
    struct told *told = context;

    if (thread->id > told->threads)
        told->threads = thread->id;
    return PROFILE_OK;
}

static enum profile_status take_track(void *context, const struct profile_track *track)
{
    struct told *told = context;

    HOLD(track->id == ++told->tracks);
    HOLD(track->thread_id <= told->threads);
    note(told, &track->kind, sizeof track->kind);
    return PROFILE_OK;
}

static enum profile_status take_args(void *context, const struct profile_args *args)
{
    struct told *told = context;

    HOLD(args->count >= 1 && args->count <= FXT_MAX_ARGS);
    HOLD(args->set > 0 && !has_set(told, args->set));
    HOLD(told->sets.used == 0 || args->set > ((const uint64_t *)(const void *)told->sets
                                                  .bytes)[told->sets.used / sizeof(uint64_t) - 1]);
    fuzz_append(&told->sets, &args->set, sizeof args->set);
    note(told, args->names, args->count * sizeof *args->names);
    return PROFILE_OK;
}

static enum profile_status take_slice(void *context, const struct profile_slice *slice)
{
    struct told *told = context;
    const struct profile_slice *slices =
        (const struct profile_slice *)(const void *)told->slices.bytes;

    HOLD(slice->id == ++told->last_slice);
    HOLD(slice->id == 1 || slice->start_ns >= slices[slice->id - 2].start_ns);
    HOLD(slice->end_ns >= slice->start_ns);
    HOLD(slice->track >= 1 && slice->track <= told->tracks);
    HOLD(slice->thread_id >= 1 && slice->thread_id <= told->threads);
    HOLD(has_set(told, slice->args) && has_set(told, slice->end_args));
    HOLD((slice->parent == 0) == (slice->depth == 0) && slice->parent < slice->id);
    if (slice->parent > 0) {
        const struct profile_slice *parent = &slices[slice->parent - 1];

        HOLD(parent->track == slice->track && parent->depth + 1 == slice->depth);
        HOLD(parent->type == PROFILE_SLICE_DURATION || parent->type == PROFILE_SLICE_ASYNC);
    }
    fuzz_append(&told->slices, slice, sizeof *slice);
    note(told, &slice->end_ns, sizeof slice->end_ns);
    note(told, &slice->name, sizeof slice->name);
    note(told, &slice->parent, sizeof slice->parent);
    return PROFILE_OK;
}

static enum profile_status take_flow(void *context, const struct profile_flow *flow)
{
    struct told *told = context;

    HOLD(flow->id == ++told->last_flow);
    HOLD(flow->in_ns >= flow->out_ns);
    HOLD(has_set(told, flow->in_args) && has_set(told, flow->out_args));
    fuzz_append(&told->flows, flow, sizeof *flow);
    note(told, &flow->out, sizeof flow->out);
    note(told, &flow->in, sizeof flow->in);
    return PROFILE_OK;
}

static enum profile_status take_counter(void *context, const struct profile_counter *counter)
{
    struct told *told = context;

    HOLD(counter->track >= 1 && counter->track <= told->tracks);
    note(told, &counter->ts_ns, sizeof counter->ts_ns);
    return PROFILE_OK;
}

static enum profile_status take_sched(void *context, const struct profile_sched *sched)
{
    struct told *told = context;
    int64_t *until;

    HOLD(sched->cpu < MOST_CPUS && sched->thread_id <= told->threads);
    until = time_at(&told->cpus, sched->cpu);
    HOLD(sched->end_ns >= sched->start_ns && sched->start_ns >= *until);
    *until = sched->end_ns;
    note(told, &sched->start_ns, sizeof sched->start_ns);
    note(told, &sched->end_state, sizeof sched->end_state);
    return PROFILE_OK;
}

static enum profile_status take_state(void *context, const struct profile_thread_state *state)
{
    struct told *told = context;
    int64_t *until;

    HOLD(state->thread_id >= 1 && state->thread_id <= told->threads);
    HOLD(state->waker_id <= told->threads);
    HOLD(state->state != PROFILE_THREAD_RUNNING && state->state != PROFILE_THREAD_UNKNOWN);
    until = time_at(&told->waits, state->thread_id - 1);
    HOLD(state->end_ns >= state->start_ns && state->start_ns >= *until);
    *until = state->end_ns;
    note(told, &state->start_ns, sizeof state->start_ns);
    return PROFILE_OK;
}

static enum profile_status take_log(void *context, const struct profile_log *log)
{
    note(context, log->message.bytes, log->message.length);
    return PROFILE_OK;
}

static enum profile_status take_object(void *context, const struct profile_object *object)
{
    HOLD(has_set(context, object->args));
    note(context, &object->koid, sizeof object->koid);
    return PROFILE_OK;
}

static void read_trace(const uint8_t *data, size_t size, struct profile_ingest *ingest)
{
    const struct fxt_reader_options trusting = { .size = sizeof trusting, .trust_start = true };
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, data, size, (struct pieces){ .most = 0 });
    const struct fxt_record *record;
    struct fxt_reader *reader;

    HOLD(fxt_reader_open(input, &trusting, &reader, NULL) == FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK)
        HOLD(profile_ingest_record(ingest, record, NULL) == PROFILE_OK);
    HOLD(profile_ingest_finish(ingest, NULL) == PROFILE_OK);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

static struct told tell(const uint8_t *data, size_t size, size_t sort_bytes)
{
    struct told told = { .threads = 0 };
    const struct profile_sink sink = {
        .size = sizeof sink,
        .context = &told,
        .thread = take_thread,
        .track = take_track,
        .args = take_args,
        .slice = take_slice,
        .flow = take_flow,
        .counter = take_counter,
        .sched = take_sched,
        .thread_state = take_state,
        .log = take_log,
        .object = take_object,
    };
    const struct profile_ingest_options options = { .size = sizeof options,
                                                    .sort_bytes = sort_bytes };
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;

    HOLD(profile_stacks_open(&stacks, NULL) == PROFILE_OK);
    HOLD(profile_ingest_open(&sink, stacks, &options, &ingest, NULL) == PROFILE_OK);
    read_trace(data, size, ingest);
    profile_ingest_close(ingest);
    profile_stacks_close(stacks);
    return told;
}

/* Flows name slices that are told after them.  */
static void check_flows(const struct told *told)
{
    const struct profile_flow *flows = (const struct profile_flow *)(const void *)told->flows.bytes;
    const struct profile_slice *slices =
        (const struct profile_slice *)(const void *)told->slices.bytes;

    for (size_t i = 0; i < told->flows.used / sizeof *flows; i++) {
        HOLD(flows[i].out <= told->last_slice && flows[i].in <= told->last_slice);
        HOLD(flows[i].out == 0 || slices[flows[i].out - 1].start_ns <= flows[i].out_ns);
        HOLD(flows[i].in == 0 || slices[flows[i].in - 1].thread_id == flows[i].in_thread_id);
    }
}

static void release(struct told *told)
{
    free(told->bytes.bytes);
    free(told->slices.bytes);
    free(told->sets.bytes);
    free(told->flows.bytes);
    free(told->waits.bytes);
    free(told->cpus.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told told = tell(data, size, 0), again = tell(data, size, 1);

    HOLD(told.bytes.used == again.bytes.used);
    HOLD(told.bytes.used == 0 || memcmp(told.bytes.bytes, again.bytes.bytes, told.bytes.used) == 0);
    check_flows(&told);
    release(&told);
    release(&again);
    return 0;
}
