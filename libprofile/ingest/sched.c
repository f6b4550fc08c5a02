/* sched.c - threads on CPUs, and waiting.
 *
 * Most records name threads by koid alone, and which process a koid belongs to may be said much
 * later.  So events carry entries of koids while the trace is read, and threads are found for them
 * before they are walked by time.
 *
 * A switch ends a stretch of the CPU and begins another.  The thread that leaves waits from then
 * on; the thread that comes has waited until then.  A wakeup ends one wait and begins another.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/sched.h"
#include "libprofile/ingest/spans.h"
#include "libprofile/ingest/timeline.h"

/* Flags of an event.  */
enum {
    BY_THREAD = 1,    /* value holds thread entities, not koids */
    HAS_PRIORITY = 2, /* of the incoming thread */
};

/* value: the thread that leaves, or wakes, above the thread that comes, or is woken.  0: none, or
 * idle.  */
static uint64_t both(uint32_t first, uint32_t second)
{
    return (uint64_t)first << 32 | second;
}

/* ---- Reading ---- */

static bool weight_of(const struct fxt_record *record, const char *name, int32_t *out)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    if (!arg || arg->type != FXT_ARG_INT32)
        return false;
    *out = arg->value.int32;
    return true;
}

static enum profile_status name_koid(struct profile_ingest *ingest, uint64_t koid, bool idle,
                                     uint32_t *out, struct profile_error *error)
{
    enum profile_status status;

    *out = 0;
    if (idle || koid == 0)
        return PROFILE_OK;
    status = ingest_koid(ingest, koid, out, error);
    if (status == PROFILE_OK)
        ingest->koids[*out - 1].scheduled = true;
    return status;
}

/* Idle threads have the least weight there is (docs/formats/fxt.md section 2.11).  */
static enum profile_status read_switch(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct timeline_event *event, struct profile_error *error)
{
    int32_t in_weight = 0, out_weight = 0;
    bool weighed = weight_of(record, "incoming_weight", &in_weight);
    enum profile_status status;
    uint32_t in, out;

    (void)weight_of(record, "outgoing_weight", &out_weight);
    event->category = (uint32_t)in_weight;
    event->flags = weighed ? HAS_PRIORITY : 0;
    status = name_koid(ingest, record->value.sched.outgoing_tid, out_weight == INT32_MIN, &out,
                       error);
    if (status == PROFILE_OK)
        status = name_koid(ingest, record->value.sched.incoming_tid, in_weight == INT32_MIN, &in,
                           error);
    if (status == PROFILE_OK)
        event->value = both(out, in);
    return status;
}

/* Here idle is process 0 at priority 0.  */
static enum profile_status name_thread(struct profile_ingest *ingest,
                                       const struct fxt_thread *thread, unsigned priority,
                                       uint32_t *out, struct profile_error *error)
{
    *out = 0;
    if (thread->process == 0 && (priority == 0 || thread->thread == 0))
        return PROFILE_OK;
    return ingest_thread(ingest, thread, out, error);
}

static enum profile_status read_legacy_switch(struct profile_ingest *ingest,
                                              const struct fxt_record *record,
                                              struct timeline_event *event,
                                              struct profile_error *error)
{
    enum profile_status status;
    uint32_t in, out;

    event->category = record->value.sched.incoming_priority;
    event->flags = BY_THREAD | HAS_PRIORITY;
    status = name_thread(ingest, &record->value.sched.outgoing,
                         record->value.sched.outgoing_priority, &out, error);
    if (status == PROFILE_OK)
        status = name_thread(ingest, &record->value.sched.incoming,
                             record->value.sched.incoming_priority, &in, error);
    if (status == PROFILE_OK)
        event->value = both(out, in);
    return status;
}

static enum profile_status read_wakeup(struct profile_ingest *ingest,
                                       const struct fxt_record *record,
                                       struct timeline_event *event, struct profile_error *error)
{
    const struct fxt_arg *waker = fxt_record_arg(record, "waker");
    bool known = waker && waker->type == FXT_ARG_KOID;
    enum profile_status status;
    uint32_t by, woken;

    event->type = TIMELINE_WAKEUP;
    status = name_koid(ingest, known ? waker->value.uint64 : 0, false, &by, error);
    if (status == PROFILE_OK)
        status = name_koid(ingest, record->value.sched.incoming_tid, false, &woken, error);
    if (status == PROFILE_OK)
        event->value = both(by, woken);
    return status;
}

enum profile_status ingest_sched_record(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    struct timeline_event event = {
        .key.ts_ns = record->ts_ns,
        .pair = record->value.sched.cpu,
        .type = TIMELINE_SWITCH,
        .state = (uint8_t)(record->value.sched.outgoing_state & 15),
    };
    enum profile_status status;

    if (!ingest->timeline->sched) {
        ingest->notices.unhandled_records++;
        return PROFILE_OK;
    }
    event.key.ordinal = ingest->timeline->ordinal++;
    if (record->kind == FXT_RECORD_CONTEXT_SWITCH)
        status = read_switch(ingest, record, &event, error);
    else if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH)
        status = read_legacy_switch(ingest, record, &event, error);
    else
        status = read_wakeup(ingest, record, &event, error);
    return status == PROFILE_OK ? ingest_timeline_add(ingest, &event, error) : status;
}

enum profile_status ingest_sched_threads(struct profile_ingest *ingest, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < ingest->koid_count && status == PROFILE_OK; i++) {
        struct fxt_thread thread = { .thread = ingest->koids[i].koid };
        uint32_t id;

        if (ingest->koids[i].scheduled && ingest->koids[i].thread_id == 0)
            status = ingest_thread(ingest, &thread, &id, error);
    }
    return status;
}

/* ---- By time ---- */

static uint32_t thread_of(const struct profile_ingest *ingest, const struct timeline_event *event,
                          unsigned shift)
{
    uint32_t id = (uint32_t)(event->value >> shift);

    if (id == 0 || event->flags & BY_THREAD)
        return id;
    return ingest->koids[id - 1].thread_id;
}

static enum profile_status find_cpu(struct ingest_sched *sched, uint32_t cpu,
                                    struct sched_cpu **out, struct profile_error *error)
{
    if (!base_make_room(&sched->cpus, &sched->cpu_capacity, (size_t)cpu + 1, sizeof *sched->cpus))
        return profile_no_memory(error);
    while (sched->cpu_count <= cpu)
        sched->cpus[sched->cpu_count++] = (struct sched_cpu){ .running = false };
    *out = &sched->cpus[cpu];
    return PROFILE_OK;
}

static enum profile_status find_state(struct profile_ingest *ingest, uint32_t thread,
                                      struct sched_thread **out, struct profile_error *error)
{
    struct ingest_thread *owner = &ingest->threads[thread - 1];

    if (!owner->waking)
        owner->waking = base_arena_alloc(&ingest->arena, sizeof *owner->waking);
    *out = owner->waking;
    return *out ? PROFILE_OK : profile_no_memory(error);
}

/* With a filter, idle CPUs are nobody's.  */
static bool is_wanted(const struct profile_ingest *ingest, uint32_t thread)
{
    if (thread == 0)
        return ingest->options.pid_count == 0 && ingest->options.tid_count == 0;
    return ingest->threads[thread - 1].chosen;
}

/* What a thread is switched out to.  */
static unsigned waiting_state(unsigned outgoing_state)
{
    return outgoing_state <= PROFILE_THREAD_RUNNING ? PROFILE_THREAD_RUNNABLE : outgoing_state;
}

static enum profile_status tell_stretch(struct profile_ingest *ingest, uint32_t number,
                                        int64_t end_ns, bool unfinished, unsigned end_state,
                                        struct profile_error *error)
{
    const struct sched_cpu *cpu = &ingest->sched->cpus[number];
    struct profile_sched call = {
        .start_ns = cpu->since_ns,
        .end_ns = end_ns,
        .unfinished = unfinished,
        .cpu = number,
        .thread_id = cpu->thread_id,
        .end_state = end_state,
        .has_priority = cpu->has_priority && cpu->thread_id != 0,
        .priority = cpu->thread_id != 0 ? cpu->priority : 0,
    };

    if (!cpu->running || !ingest->sink.sched || !is_wanted(ingest, cpu->thread_id))
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.sched(ingest->sink.context, &call), error);
}

/* ---- The off-CPU profile ---- */

static const char *name_of_state(unsigned state, char number[24])
{
    switch (state) {
    case PROFILE_THREAD_RUNNABLE:
        return "[runnable]";
    case PROFILE_THREAD_BLOCKED:
        return "[blocked]";
    case PROFILE_THREAD_SUSPENDED:
        return "[suspended]";
    default:
        (void)snprintf(number, 24, "[state %u]", state);
        return number;
    }
}

/* Where a wait begins: in the slices that are open then.  */
static enum profile_status place_wait(struct profile_ingest *ingest, uint32_t thread,
                                      struct sched_thread *wait, struct profile_error *error)
{
    char number[24];
    const char *name = name_of_state(wait->state, number);
    profile_id parent, frame;
    enum profile_status status;

    if (!ingest->sink.off_cpu || wait->state == PROFILE_THREAD_RUNNING ||
        wait->state == PROFILE_THREAD_DYING || wait->state == PROFILE_THREAD_DEAD)
        return PROFILE_OK;
    status = ingest_span_callsite(ingest, thread, wait->since_ns, &parent, error);
    if (status == PROFILE_OK)
        status = profile_stacks_function_frame(ingest->stacks, name, strlen(name), &frame, error);
    if (status == PROFILE_OK)
        status = profile_stacks_callsite(ingest->stacks, parent, frame, &wait->callsite, error);
    return status;
}

static enum profile_status tell_off_cpu(struct profile_ingest *ingest, uint32_t thread,
                                        const struct sched_thread *wait, int64_t end_ns,
                                        struct profile_error *error)
{
    struct profile_off_cpu call = {
        .start_ns = wait->since_ns,
        .end_ns = end_ns,
        .process_koid = ingest->threads[thread - 1].process_koid,
        .thread_koid = ingest->threads[thread - 1].koid,
        .callsite = wait->callsite,
    };

    if (call.callsite == 0)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.off_cpu(ingest->sink.context, &call), error);
}

/* ---- Waits ---- */

/* Tell of the thread's wait, if it is known to wait.  */
static enum profile_status tell_wait(struct profile_ingest *ingest, uint32_t thread, int64_t end_ns,
                                     bool unfinished, struct profile_error *error)
{
    const struct sched_thread *state = ingest->threads[thread - 1].waking;
    struct profile_thread_state call = {
        .start_ns = state->since_ns,
        .end_ns = end_ns,
        .unfinished = unfinished,
        .thread_id = thread,
        .state = state->state,
        .woken = state->woken,
        .waker_id = state->waker_id && is_wanted(ingest, state->waker_id) ? state->waker_id : 0,
        .waker_cpu = state->woken ? state->cpu : 0,
    };

    enum profile_status status;

    if (!state->known || state->state == PROFILE_THREAD_RUNNING || !is_wanted(ingest, thread))
        return PROFILE_OK;
    status = tell_off_cpu(ingest, thread, state, end_ns, error);
    if (status != PROFILE_OK || !ingest->sink.thread_state)
        return status;
    return ingest_sink_status(ingest->sink.thread_state(ingest->sink.context, &call), error);
}

/* The thread does something else from now on.  */
static enum profile_status enter(struct profile_ingest *ingest, uint32_t thread,
                                 struct sched_thread next, struct profile_error *error)
{
    struct sched_thread *state;
    enum profile_status status = find_state(ingest, thread, &state, error);

    if (status == PROFILE_OK)
        status = tell_wait(ingest, thread, next.since_ns, false, error);
    if (status == PROFILE_OK)
        status = place_wait(ingest, thread, &next, error);
    if (status == PROFILE_OK)
        *state = next;
    return status;
}

/* The CPU ran another thread than the record says: where that one went is not in the trace.  */
static void lose(const struct profile_ingest *ingest, const struct sched_cpu *cpu)
{
    struct sched_thread *state;

    if (!cpu->running || cpu->thread_id == 0)
        return;
    state = ingest->threads[cpu->thread_id - 1].waking;
    if (state && state->state == PROFILE_THREAD_RUNNING)
        state->known = false;
}

static enum profile_status take_switch(struct profile_ingest *ingest,
                                       const struct timeline_event *event,
                                       struct profile_error *error)
{
    uint32_t out = thread_of(ingest, event, 32), in = thread_of(ingest, event, 0);
    struct sched_thread next = { .since_ns = event->key.ts_ns, .known = true };
    struct sched_cpu *cpu;
    enum profile_status status = find_cpu(ingest->sched, event->pair, &cpu, error);
    bool expected;

    if (status != PROFILE_OK)
        return status;
    expected = cpu->thread_id == out;
    next.state = waiting_state(event->state);
    status = tell_stretch(ingest, event->pair, event->key.ts_ns, false,
                          expected ? next.state : PROFILE_THREAD_UNKNOWN, error);
    if (!expected)
        lose(ingest, cpu);
    if (status == PROFILE_OK && out)
        status = enter(ingest, out, next, error);
    next.state = PROFILE_THREAD_RUNNING;
    next.cpu = event->pair;
    if (status == PROFILE_OK && in)
        status = enter(ingest, in, next, error);
    *cpu = (struct sched_cpu){
        .running = true,
        .has_priority = event->flags & HAS_PRIORITY,
        .since_ns = event->key.ts_ns,
        .thread_id = in,
        .priority = (int32_t)event->category,
    };
    return status;
}

/* A wakeup of a running thread, as where the clocks of CPUs are a little out of step: a wait that
 * takes no time keeps its waker, and the thread runs on.  */
static enum profile_status tell_needless(struct profile_ingest *ingest, uint32_t thread,
                                         const struct sched_thread *wait,
                                         struct profile_error *error)
{
    struct profile_thread_state call = {
        .start_ns = wait->since_ns,
        .end_ns = wait->since_ns,
        .thread_id = thread,
        .state = wait->state,
        .woken = true,
        .waker_id = wait->waker_id && is_wanted(ingest, wait->waker_id) ? wait->waker_id : 0,
        .waker_cpu = wait->cpu,
    };

    if (!ingest->sink.thread_state || !is_wanted(ingest, thread))
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.thread_state(ingest->sink.context, &call), error);
}

/* Each wakeup begins a wait, so that its waker is kept, also where the thread could go on already.
 */
static enum profile_status take_wakeup(struct profile_ingest *ingest,
                                       const struct timeline_event *event,
                                       struct profile_error *error)
{
    uint32_t thread = thread_of(ingest, event, 0);
    struct sched_thread next = {
        .since_ns = event->key.ts_ns,
        .known = true,
        .woken = true,
        .state = PROFILE_THREAD_RUNNABLE,
        .waker_id = thread_of(ingest, event, 32),
        .cpu = event->pair,
    };
    struct sched_thread *state;
    enum profile_status status;

    if (thread == 0)
        return PROFILE_OK;
    status = find_state(ingest, thread, &state, error);
    if (status != PROFILE_OK)
        return status;
    if (state->known && state->state == PROFILE_THREAD_RUNNING)
        return tell_needless(ingest, thread, &next, error);
    return enter(ingest, thread, next, error);
}

enum profile_status ingest_sched_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error)
{
    if (event->type == TIMELINE_WAKEUP)
        return take_wakeup(ingest, event, error);
    return take_switch(ingest, event, error);
}

enum profile_status ingest_sched_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    for (uint32_t i = 0; i < ingest->sched->cpu_count && status == PROFILE_OK; i++)
        status = tell_stretch(ingest, i, ingest->last_ns, true, PROFILE_THREAD_UNKNOWN, error);
    for (uint32_t i = 1; i <= ingest->thread_count && status == PROFILE_OK; i++)
        if (ingest->threads[i - 1].waking)
            status = tell_wait(ingest, i, ingest->last_ns, true, error);
    return status;
}

void ingest_sched_release(struct profile_ingest *ingest)
{
    free(ingest->sched->cpus);
}
