/* The timeline: every case of docs/formats/fxt.md sections 1.7 and 2.5, as the sink gets it.  */
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"

#define MAX_RECORDS 8

/* ---- A sink that writes down what it is told, a line a call ---- */

struct told {
    char text[4096];
    size_t length;
    struct profile_stacks *stacks;
};

static void say(struct told *told, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct told *told, const char *format, ...)
{
    va_list values;
    int length;

    va_start(values, format);
    length = vsnprintf(told->text + told->length, sizeof told->text - told->length, format, values);
    va_end(values);
    ck_assert(length >= 0 && (size_t)length < sizeof told->text - told->length);
    told->length += (size_t)length;
}

static const char *text_at(const struct told *told, profile_id text)
{
    return profile_stacks_text(told->stacks, text, NULL);
}

/* "ID NAME START-END dDEPTH pPARENT", and what is not as usual.  */
static enum profile_status take_slice(void *context, const struct profile_slice *slice)
{
    static const char *const types[] = { "", " instant", " async", " async-instant" };
    struct told *told = context;

    say(told, "%" PRIu64 " %s %" PRId64 "-%" PRId64, slice->id, text_at(told, slice->name),
        slice->start_ns, slice->end_ns);
    say(told, "%s", types[slice->type]);
    if (slice->parent)
        say(told, " d%u in %" PRIu64, slice->depth, slice->parent);
    else
        ck_assert_uint_eq(slice->depth, 0);
    if (slice->type == PROFILE_SLICE_ASYNC || slice->type == PROFILE_SLICE_ASYNC_INSTANT)
        say(told, " track %u id %" PRIu64, slice->track, slice->correlation_id);
    if (slice->scope)
        say(told, " scope %" PRIu64, slice->scope);
    if (slice->args)
        say(told, " args %" PRIu64, slice->args);
    if (slice->end_args)
        say(told, " end args %" PRIu64, slice->end_args);
    if (slice->unfinished)
        say(told, " unfinished");
    if (slice->cut)
        say(told, " cut");
    say(told, "\n");
    return PROFILE_OK;
}

static enum profile_status take_flow(void *context, const struct profile_flow *flow)
{
    say(context, "flow %" PRIu64 ": %" PRIu64 "@%" PRId64 " -> %" PRIu64 "@%" PRId64 "%s\n",
        flow->trace_id, flow->out, flow->out_ns, flow->in, flow->in_ns, flow->step ? " step" : "");
    return PROFILE_OK;
}

static enum profile_status take_counter(void *context, const struct profile_counter *counter)
{
    say(context, "track %u: %g @%" PRId64 "\n", counter->track, counter->value, counter->ts_ns);
    ck_assert_ptr_nonnull(counter->exact);
    return PROFILE_OK;
}

static enum profile_status take_sched(void *context, const struct profile_sched *sched)
{
    say(context, "cpu %u thread %u %" PRId64 "-%" PRId64 " then %u", sched->cpu, sched->thread_id,
        sched->start_ns, sched->end_ns, sched->end_state);
    if (sched->has_priority)
        say(context, " priority %d", sched->priority);
    say(context, "%s\n", sched->unfinished ? " unfinished" : "");
    return PROFILE_OK;
}

static enum profile_status take_state(void *context, const struct profile_thread_state *state)
{
    say(context, "thread %u state %u %" PRId64 "-%" PRId64, state->thread_id, state->state,
        state->start_ns, state->end_ns);
    if (state->woken)
        say(context, " woken by %u on %u", state->waker_id, state->waker_cpu);
    say(context, "%s\n", state->unfinished ? " unfinished" : "");
    return PROFILE_OK;
}

static enum profile_status take_log(void *context, const struct profile_log *log)
{
    say(context, "log @%" PRId64 " thread %u: %.*s\n", log->ts_ns, log->thread_id,
        (int)log->message.length, log->message.bytes);
    return PROFILE_OK;
}

static enum profile_status take_object(void *context, const struct profile_object *object)
{
    struct told *told = context;

    say(told,
        "%s object type %u koid %" PRIu64 " pointer %" PRIu64 " process %u: %s args %" PRIu64 "\n",
        object->userspace ? "user" : "kernel", object->type, object->koid, object->pointer,
        object->process_id, text_at(told, object->name), object->args);
    return PROFILE_OK;
}

static enum profile_status take_args(void *context, const struct profile_args *args)
{
    struct told *told = context;

    say(told, "args %" PRIu64 ":", args->set);
    for (size_t i = 0; i < args->count; i++)
        say(told, " %s=%s", text_at(told, args->names[i]), fxt_arg_type_name(args->args[i].type));
    say(told, "\n");
    return PROFILE_OK;
}

static enum profile_status take_track(void *context, const struct profile_track *track)
{
    struct told *told = context;

    if (track->kind == PROFILE_TRACK_COUNTER)
        say(told, "track %u: %s:%s %" PRIu64 " of process %u\n", track->id,
            text_at(told, track->name), text_at(told, track->series), track->counter_id,
            track->process_id);
    return PROFILE_OK;
}

static void everything(struct told *told, struct profile_sink *sink)
{
    *told = (struct told){ .length = 0 };
    *sink = (struct profile_sink){
        .size = sizeof *sink,
        .context = told,
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
    ck_assert_int_eq(profile_stacks_open(&told->stacks, NULL), PROFILE_OK);
}

/* Ingest the records, with runs of a few events, and return what was noticed.  */
static struct profile_notices ingest(const struct profile_sink *sink, struct told *told,
                                     const struct fxt_record *records, size_t count,
                                     struct profile_ingest_options options)
{
    struct profile_ingest *taken;
    struct profile_notices notices;

    options.size = sizeof options;
    options.sort_bytes = 200;
    ck_assert_int_eq(profile_ingest_open(sink, told->stacks, &options, &taken, NULL), PROFILE_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(profile_ingest_record(taken, &records[i], NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_finish(taken, NULL), PROFILE_OK);
    notices = *profile_ingest_notices(taken);
    profile_ingest_close(taken);
    profile_stacks_close(told->stacks);
    return notices;
}

/* ---- Cases ---- */

#define B(ts, name)      begin_record(ts, 1, 1, name)
#define E(ts, name)      end_record(ts, 1, 1, name)
#define X(ts, end, name) complete_record(ts, end, 1, 1, name)

static struct fxt_record event(enum fxt_event_type type, int64_t ts_ns, uint64_t process,
                               uint64_t thread, const char *name, uint64_t id)
{
    struct fxt_record record = event_record(type, "c", name, NULL, 0);

    record.ts_ns = ts_ns;
    record.thread.process = process;
    record.thread.thread = thread;
    record.value.event.id = id;
    return record;
}

#define I(ts, name)                   event(FXT_EVENT_INSTANT, ts, 1, 1, name, 0)
#define FB(ts, process, thread, id)   event(FXT_EVENT_FLOW_BEGIN, ts, process, thread, "f", id)
#define FS(ts, process, thread, id)   event(FXT_EVENT_FLOW_STEP, ts, process, thread, "f", id)
#define FE(ts, process, thread, id)   event(FXT_EVENT_FLOW_END, ts, process, thread, "f", id)
#define X2(ts, end, process, thr, nm) complete_record(ts, end, process, thr, nm)
#define AB(ts, name, id)              event(FXT_EVENT_ASYNC_BEGIN, ts, 1, 1, name, id)
#define AI(ts, name, id)              event(FXT_EVENT_ASYNC_INSTANT, ts, 1, 1, name, id)
#define AE(ts, name, id)              event(FXT_EVENT_ASYNC_END, ts, 1, 1, name, id)

static struct fxt_record sched(enum fxt_record_kind kind, int64_t ts_ns, unsigned cpu,
                               uint64_t outgoing, unsigned state, uint64_t incoming)
{
    struct fxt_record record = { .kind = kind, .has_time = true, .ts_ns = ts_ns };

    record.value.sched.cpu = cpu;
    record.value.sched.outgoing_tid = outgoing;
    record.value.sched.outgoing_state = state;
    record.value.sched.incoming_tid = incoming;
    return record;
}

#define SW(ts, cpu, out, state, in) sched(FXT_RECORD_CONTEXT_SWITCH, ts, cpu, out, state, in)
#define WK(ts, cpu, tid)            sched(FXT_RECORD_THREAD_WAKEUP, ts, cpu, 0, 0, tid)

static struct fxt_record with(struct fxt_record record, const struct fxt_arg *args, size_t count)
{
    record.args = args;
    record.arg_count = count;
    return record;
}

static struct fxt_record scoped(struct fxt_record record, uint64_t scope)
{
    record.value.event.has_scope = true;
    record.value.event.scope = scope;
    return record;
}

static struct {
    const char *what;
    struct fxt_record records[MAX_RECORDS];
    const char *told;
    struct profile_notices notices;
} cases[120];
static size_t case_count;

static void add_case(const char *what, const struct fxt_record *records, size_t count,
                     const char *told, struct profile_notices notices)
{
    if (case_count == COUNT_OF(cases) || count > MAX_RECORDS)
        abort();
    cases[case_count].what = what;
    memcpy(cases[case_count].records, records, count * sizeof *records);
    cases[case_count].told = told;
    cases[case_count++].notices = notices;
}

#define CASE(what, told, notices, ...)                       \
    do {                                                     \
        const struct fxt_record list[] = { __VA_ARGS__ };    \
        add_case(what, list, COUNT_OF(list), told, notices); \
    } while (0)

static const struct profile_notices none;
static const struct profile_notices stray = { .stray_ends = 1 };
static const struct profile_notices crossing = { .crossing_slices = 1 };
static const struct profile_notices unfinished = { .unfinished_slices = 1 };
static const struct profile_notices unbound = { .unbound_flows = 1 };
static const struct profile_notices stray_flow = { .stray_flows = 1 };
static const struct profile_notices open_flow = { .unfinished_flows = 1 };

static void make_nesting_cases(void)
{
    CASE("nested", "1 a 0-10\n2 b 2-6 d1 in 1\n", none, B(0, "a"), B(2, "b"), E(6, "b"),
         E(10, "a"));
    CASE("in the order in which they begin, whatever the file says",
         "1 a 0-10\n2 b 2-6 d1 in 1\n3 c 3-4 d2 in 2\n", none, X(3, 4, "c"), E(6, "b"), E(10, "a"),
         B(2, "b"), B(0, "a"));
    CASE("completes that begin together: the longer one is outside",
         "1 a 0-10\n2 b 0-9 d1 in 1\n3 c 0-8 d2 in 2\n", none, X(0, 8, "c"), X(0, 9, "b"),
         X(0, 10, "a"));
    CASE("completes of equal times, in file order", "1 a 0-10\n2 b 0-10 d1 in 1\n", none,
         X(0, 10, "a"), X(0, 10, "b"));
    CASE("an empty complete inside one that begins then", "1 a 0-10\n2 i 0-0 d1 in 1\n", none,
         X(0, 0, "i"), X(0, 10, "a"));
    CASE("siblings that touch", "1 a 0-5\n2 b 5-10\n", none, X(5, 10, "b"), X(0, 5, "a"));
    CASE("case 42: equal begins in file order", "1 a 0-10\n2 b 0-10 d1 in 1\n", none, B(0, "a"),
         B(0, "b"), E(10, "b"), E(10, "a"));
    CASE("a complete that outlives its parent is whole", "1 a 0-10\n2 b 6-15 d1 in 1\n", crossing,
         X(0, 10, "a"), X(6, 15, "b"));
    CASE("and what begins after the parent is not in it", "1 a 0-10\n2 b 6-15 d1 in 1\n3 c 12-14\n",
         crossing, X(0, 10, "a"), X(6, 15, "b"), X(12, 14, "c"));
    CASE("a begin that outlives its parent is whole", "1 a 0-10\n2 b 6-15 d1 in 1\n", crossing,
         B(0, "a"), B(6, "b"), E(10, "a"), E(15, "b"));
    CASE("and inside a complete as well", "1 a 0-10\n2 b 6-15 d1 in 1\n", crossing, X(0, 10, "a"),
         B(6, "b"), E(15, "b"));
    CASE("without an end of its own it is cut", "1 a 0-10\n2 b 6-10 d1 in 1 cut\n", crossing,
         B(0, "a"), B(6, "b"), E(10, "a"));
    CASE("nor does a later slice's end belong to it", "1 a 0-10\n2 b 6-10 d1 in 1 cut\n3 b 12-15\n",
         crossing, B(0, "a"), B(6, "b"), E(10, "a"), B(12, "b"), E(15, "b"));
    CASE("of two of one name the inner one gets the end",
         "1 a 0-10\n2 b 2-10 d1 in 1 cut\n3 b 6-15 d2 in 2\n",
         ((struct profile_notices){ .crossing_slices = 2 }), B(0, "a"), B(2, "b"), B(6, "b"),
         E(10, "a"), E(15, "b"));
    CASE("case 42: a stray end changes nothing", "1 a 0-10\n", stray, B(0, "a"), E(5, "b"),
         E(10, "a"));
    CASE("ends without a name close the innermost begin",
         "1 a 0-10\n2 b 2-6 d1 in 1\n3 b 7-8 d1 in 1\n", none, B(0, "a"), B(2, "b"), E(6, ""),
         B(7, "b"), E(8, ""), E(10, ""));
    CASE("and are no begin's own when that one was closed", "1 a 0-10\n2 b 6-10 d1 in 1 cut\n",
         ((struct profile_notices){ .crossing_slices = 1, .stray_ends = 1 }), X(0, 10, "a"),
         B(6, "b"), E(15, ""));
    CASE("case 42: never ended: lasts to the end of the trace",
         "1 b 15-20 unfinished\n2 i 20-20 instant d1 in 1\n", unfinished, B(15, "b"), I(20, "i"));
    CASE("threads of equal koids in two processes have stacks of their own", "1 a 0-10\n2 c 3-4\n",
         none, B(0, "a"), begin_record(3, 2, 1, "c"), end_record(4, 2, 1, "c"), E(10, "a"));
    CASE("negative times", "1 a -15--5\n", none, B(-15, "a"), E(-5, "a"));
    CASE("the longest time there is", "1 a -9223372036854775808-9223372036854775807\n", none,
         B(INT64_MIN, "a"), E(INT64_MAX, "a"));
}

static void make_instant_cases(void)
{
    CASE("an instant lies in what is open", "1 a 0-10\n2 i 5-5 instant d1 in 1\n", none, B(0, "a"),
         I(5, "i"), E(10, "a"));
    CASE("at a complete's begin, before it in the file", "1 a 5-10\n2 i 5-5 instant d1 in 1\n",
         none, I(5, "i"), X(5, 10, "a"));
    CASE("at a complete's end", "1 a 0-5\n2 i 5-5 instant d1 in 1\n", none, X(0, 5, "a"),
         I(5, "i"));
    CASE("at an end, in file order", "1 a 0-5\n2 i 5-5 instant d1 in 1\n3 j 5-5 instant\n", none,
         B(0, "a"), I(5, "i"), E(5, "a"), I(5, "j"));
    CASE("where one ends and another begins: in the other",
         "1 a 0-5\n2 b 5-9\n3 i 5-5 instant d1 in 2\n", none, X(0, 5, "a"), I(5, "i"),
         X(5, 9, "b"));
    CASE("instants have no children", "1 i 5-5 instant\n2 j 5-5 instant\n", none, I(5, "i"),
         I(5, "j"));
    CASE("case 32: scopes", "1 i 5-5 instant scope 2\n2 j 6-6 instant scope 99\n", none,
         scoped(I(5, "i"), 2), scoped(I(6, "j"), 99));
}

static void make_flow_cases(void)
{
    CASE("from slice to slice", "flow 7: 1@1 -> 2@21\n1 a 0-10\n2 b 20-30\n", none, X(0, 10, "a"),
         FB(1, 1, 1, 7), X2(20, 30, 1, 2, "b"), FE(21, 1, 2, 7));
    CASE("by a step",
         "flow 7: 1@1 -> 2@21 step\nflow 7: 2@21 -> 3@41\n1 a 0-10\n2 b 20-30\n3 c "
         "40-50\n",
         none, X(0, 10, "a"), FB(1, 1, 1, 7), X(20, 30, "b"), FS(21, 1, 1, 7), X(40, 50, "c"),
         FE(41, 1, 1, 7));
    CASE("innermost", "flow 7: 2@3 -> 1@9\n1 a 0-10\n2 b 2-4 d1 in 1\n", none, X(0, 10, "a"),
         X(2, 4, "b"), FB(3, 1, 1, 7), FE(9, 1, 1, 7));
    CASE("at the begin and at the end of completes", "flow 7: 1@0 -> 2@30\n1 a 0-10\n2 b 20-30\n",
         none, FB(0, 1, 1, 7), X(0, 10, "a"), X(20, 30, "b"), FE(30, 1, 1, 7));
    CASE("in no slice", "flow 7: 0@1 -> 1@21\n1 b 20-30\n", unbound, FB(1, 1, 1, 7), X(20, 30, "b"),
         FE(21, 1, 1, 7));
    CASE("case 44: a step before its begin", "flow 7: 1@3 -> 1@4\n1 a 0-10\n", stray_flow,
         X(0, 10, "a"), FS(2, 1, 1, 7), FB(3, 1, 1, 7), FE(4, 1, 1, 7));
    CASE("case 44: used again after its end", "flow 7: 1@1 -> 1@2\nflow 7: 1@3 -> 1@4\n1 a 0-10\n",
         none, X(0, 10, "a"), FB(1, 1, 1, 7), FE(2, 1, 1, 7), FB(3, 1, 1, 7), FE(4, 1, 1, 7));
    CASE("case 44: after its end nothing goes on", "flow 7: 1@1 -> 1@2\n1 a 0-10\n", stray_flow,
         X(0, 10, "a"), FB(1, 1, 1, 7), FE(2, 1, 1, 7), FE(3, 1, 1, 7));
    CASE("case 44: same id in two processes",
         "flow 7: 1@1 -> 1@3\nflow 7: 2@2 -> 2@4\n1 a 0-10\n2 b 0-10\n", none, X(0, 10, "a"),
         X2(0, 10, 2, 2, "b"), FB(1, 1, 1, 7), FB(2, 2, 2, 7), FE(3, 1, 1, 7), FE(4, 2, 2, 7));
    CASE("goes on in a process that did not begin it", "flow 7: 1@1 -> 2@3\n1 a 0-10\n2 b 0-10\n",
         none, X(0, 10, "a"), X2(0, 10, 2, 2, "b"), FB(1, 1, 1, 7), FE(3, 2, 2, 7));
    CASE("but not when two did", "1 a 0-10\n",
         ((struct profile_notices){ .stray_flows = 1, .unfinished_flows = 2 }), X(0, 10, "a"),
         FB(1, 1, 1, 7), FB(1, 2, 2, 7), FE(3, 3, 3, 7));
    CASE("nor when one of them is over", "flow 7: 1@1 -> 1@2\n1 a 0-10\n",
         ((struct profile_notices){ .stray_flows = 1, .unfinished_flows = 1 }), X(0, 10, "a"),
         FB(1, 1, 1, 7), FB(1, 2, 2, 7), FE(2, 1, 1, 7), FE(3, 3, 3, 7));
    CASE("nor when the other is over", "flow 7: 0@1 -> 0@2\n1 a 0-10\n",
         ((struct profile_notices){ .stray_flows = 1, .unfinished_flows = 1, .unbound_flows = 1 }),
         X(0, 10, "a"), FB(1, 1, 1, 7), FB(1, 2, 2, 7), FE(2, 2, 2, 7), FE(3, 3, 3, 7));
    CASE("an id is unambiguous again when all of its flows are over",
         "flow 7: 1@1 -> 1@2\nflow 7: 0@1 -> 0@2\nflow 7: 1@4 -> 0@5\n1 a 0-10\n",
         ((struct profile_notices){ .unbound_flows = 2 }), X(0, 10, "a"), FB(1, 1, 1, 7),
         FB(1, 2, 2, 7), FE(2, 1, 1, 7), FE(2, 2, 2, 7), FB(4, 1, 1, 7), FE(5, 3, 3, 7));
    CASE("never ended", "1 a 0-10\n", open_flow, X(0, 10, "a"), FB(1, 1, 1, 7));
    CASE("begun again before its end", "flow 7: 1@2 -> 1@3\n1 a 0-10\n", open_flow, X(0, 10, "a"),
         FB(1, 1, 1, 7), FB(2, 1, 1, 7), FE(3, 1, 1, 7));
}

static void make_async_cases(void)
{
    CASE("async", "1 a 0-10 async track 1 id 5\n", none, AB(0, "a", 5), AE(10, "a", 5));
    CASE("ends out of order in the file", "1 a 0-10 async track 1 id 5\n", none, AE(10, "a", 5),
         AB(0, "a", 5));
    CASE("what overlaps lies beside", "1 a 0-10 async track 1 id 5\n2 a 5-15 async track 2 id 6\n",
         none, AB(0, "a", 5), AB(5, "a", 6), AE(10, "a", 5), AE(15, "a", 6));
    CASE("what follows takes a free track",
         "1 a 0-10 async track 1 id 5\n2 a 10-15 async track 1 id 6\n", none, AB(0, "a", 5),
         AE(10, "a", 5), AB(10, "a", 6), AE(15, "a", 6));
    CASE("names have tracks of their own",
         "1 a 0-10 async track 1 id 5\n2 b 20-30 async track 2 id 5\n", none, AB(0, "a", 5),
         AE(10, "a", 5), AB(20, "b", 5), AE(30, "b", 5));
    CASE("one inside another of its own id",
         "1 a 0-10 async track 1 id 5\n2 a 2-6 async d1 in 1 track 1 id 5\n", none, AB(0, "a", 5),
         AB(2, "a", 5), AE(6, "a", 5), AE(10, "a", 5));
    CASE("a moment of it",
         "1 a 0-10 async track 1 id 5\n2 a 4-4 async-instant d1 in 1 track 1 id 5\n", none,
         AB(0, "a", 5), AI(4, "a", 5), AE(10, "a", 5));
    CASE("a moment of none", "1 a 4-4 async-instant track 1 id 5\n", none, AI(4, "a", 5));
    CASE("case 42: async end without begin", "", stray, AE(4, "a", 5));
    CASE("case 42: async begin without end",
         "1 a 0-9 async track 1 id 5 unfinished\n2 a 9-9 "
         "async-instant track 2 id 6\n",
         unfinished, AB(0, "a", 5), AI(9, "a", 6));
    CASE("a process's operations are its own", "1 a 0-10 async track 1 id 5\n",
         ((struct profile_notices){ .stray_ends = 1 }), AB(0, "a", 5),
         event(FXT_EVENT_ASYNC_END, 5, 2, 1, "a", 5), AE(10, "a", 5));
    CASE("another thread of the process may end it", "1 a 0-10 async track 1 id 5\n", none,
         AB(0, "a", 5), event(FXT_EVENT_ASYNC_END, 10, 1, 9, "a", 5));
}

static struct fxt_arg int32_arg(const char *name, int32_t value)
{
    struct fxt_arg arg = u64_arg(name, 0);

    arg.type = FXT_ARG_INT32;
    arg.value.int32 = value;
    return arg;
}

static struct fxt_record legacy(int64_t ts_ns, unsigned state, struct fxt_thread out,
                                unsigned out_priority, struct fxt_thread in, unsigned in_priority)
{
    struct fxt_record record = sched(FXT_RECORD_LEGACY_CONTEXT_SWITCH, ts_ns, 3, out.thread, state,
                                     in.thread);

    record.value.sched.outgoing = out;
    record.value.sched.incoming = in;
    record.value.sched.outgoing_priority = out_priority;
    record.value.sched.incoming_priority = in_priority;
    return record;
}

static struct fxt_arg waker[1], weights[2], to_idle[2], from_idle[2], mistyped[1];

static void make_sched_cases(void)
{
    static const struct fxt_thread idle, first = { .process = 1, .thread = 2 },
                                         second = { .process = 5151, .thread = 6262 };

    waker[0] = u64_arg("waker", 8);
    waker[0].type = FXT_ARG_KOID;
    weights[0] = int32_arg("incoming_weight", 40);
    weights[1] = int32_arg("outgoing_weight", 20);
    to_idle[0] = int32_arg("incoming_weight", INT32_MIN);
    to_idle[1] = weights[1];
    from_idle[0] = weights[0];
    from_idle[1] = int32_arg("outgoing_weight", INT32_MIN);
    mistyped[0] = u64_arg("incoming_weight", 40);

    CASE("a switch ends one stretch and begins another",
         "cpu 3 thread 2 5-9 then 3\nthread 1 state 16 5-9\n"
         "cpu 3 thread 1 9-9 then 17 unfinished\nthread 2 state 3 9-9 unfinished\n",
         none, SW(5, 3, 8, 1, 7), SW(9, 3, 7, 3, 8));
    CASE("a wakeup ends one wait and begins another",
         "cpu 0 thread 1 1-5 then 3\nthread 1 state 3 5-7\ncpu 0 thread 0 5-9 then 16\n"
         "thread 1 state 16 7-9 woken by 2 on 1\ncpu 0 thread 1 9-9 then 17 unfinished\n",
         none, SW(1, 0, 0, 1, 7), SW(5, 0, 7, 3, 0), with(WK(7, 1, 7), waker, 1),
         SW(9, 0, 0, 1, 7));
    CASE("waking a running thread changes nothing, and keeps its waker",
         "thread 1 state 16 2-2 woken by 2 on 1\ncpu 0 thread 1 1-9 then 3\ncpu 0 thread 0 9-9 "
         "then 17 unfinished\n"
         "thread 1 state 3 9-9 unfinished\n",
         none, SW(1, 0, 0, 1, 7), with(WK(2, 1, 7), waker, 1), SW(9, 0, 7, 3, 0));
    CASE("the waker of a preempted thread is kept",
         "cpu 0 thread 1 1-2 then 16\nthread 1 state 16 2-4\ncpu 0 thread 2 2-9 then 3\n"
         "thread 1 state 16 4-9 woken by 2 on 1\ncpu 0 thread 1 9-9 then 17 unfinished\n"
         "thread 2 state 3 9-9 unfinished\n",
         none, SW(1, 0, 0, 1, 7), SW(2, 0, 7, 1, 8), with(WK(4, 1, 7), waker, 1),
         SW(9, 0, 8, 3, 7));
    CASE("a second wakeup begins another wait",
         "thread 1 state 16 3-4 woken by 0 on 1\nthread 1 state 16 4-9 woken by 2 on 2\n"
         "cpu 0 thread 1 9-9 then 17 unfinished\n",
         none, WK(3, 1, 7), with(WK(4, 2, 7), waker, 1), SW(9, 0, 0, 1, 7));
    CASE("a thread of which nothing is known but a wakeup",
         "thread 1 state 16 3-3 woken by 0 on 1 unfinished\n", none, WK(3, 1, 7));
    CASE("records of CPUs one after another, in the order of time",
         "cpu 0 thread 1 1-4 then 16\nthread 1 state 16 4-6\n"
         "cpu 0 thread 0 4-6 then 17 unfinished\ncpu 1 thread 1 6-6 then 17 unfinished\n",
         none, SW(6, 1, 0, 1, 7), SW(1, 0, 0, 1, 7), SW(4, 0, 7, 1, 0));
    CASE("weights",
         "cpu 0 thread 2 1-5 then 3 priority 40\nthread 1 state 2 1-5\n"
         "cpu 0 thread 1 5-5 then 17 unfinished\nthread 2 state 3 5-5 unfinished\n",
         none, with(SW(1, 0, 8, 2, 7), weights, 2), SW(5, 0, 7, 3, 8));
    CASE("case 50: the least weight is an idle thread's",
         "cpu 0 thread 0 1-5 then 16\nthread 1 state 3 1-5\n"
         "cpu 0 thread 1 5-5 then 17 priority 40 unfinished\n",
         none, with(SW(1, 0, 8, 3, 99), to_idle, 2), with(SW(5, 0, 99, 1, 8), from_idle, 2));
    CASE("case 50: a weight of another type is none",
         "cpu 0 thread 2 1-1 then 17 unfinished\nthread 1 state 3 1-1 unfinished\n", none,
         with(SW(1, 0, 8, 3, 7), mistyped, 1));
    CASE("case 50: states that nobody assigned",
         "cpu 0 thread 2 1-1 then 17 unfinished\n"
         "thread 1 state 9 1-1 unfinished\n",
         none, SW(1, 0, 8, 9, 7));
    CASE("where a switch is missing, nothing is made up",
         "cpu 0 thread 1 1-5 then 17\ncpu 0 thread 3 5-5 then 17 unfinished\n"
         "thread 2 state 3 5-5 unfinished\n",
         none, SW(1, 0, 0, 1, 7), SW(5, 0, 8, 3, 9));
    CASE("legacy switches have processes and priorities; idle is process 0 at priority 0",
         "cpu 3 thread 2 500-600 then 3 priority 31\ncpu 3 thread 0 600-600 then 17 unfinished\n"
         "thread 1 state 3 500-600 unfinished\nthread 2 state 3 600-600 unfinished\n",
         none, legacy(500, 3, first, 16, second, 31), legacy(600, 3, second, 31, idle, 0));
    CASE("legacy switches: thread 0 of process 0 is nobody, whatever its priority",
         "cpu 3 thread 1 500-600 then 3 priority 31\n"
         "cpu 3 thread 0 600-600 then 17 unfinished\nthread 1 state 3 600-600 unfinished\n",
         none, legacy(500, 3, idle, 16, second, 31), legacy(600, 3, second, 31, idle, 5));
    CASE("a koid alone stands for the thread whose process is known",
         "cpu 0 thread 1 1-2 then 3\ncpu 0 thread 0 2-4 then 17 unfinished\n"
         "thread 1 state 3 2-4 unfinished\n1 a 3-4\n",
         none, SW(1, 0, 0, 1, 1), SW(2, 0, 1, 3, 0), X(3, 4, "a"));
}

static void make_cases(void)
{
    make_nesting_cases();
    make_instant_cases();
    make_flow_cases();
    make_async_cases();
    make_sched_cases();
}

START_TEST(tells_what_happened)
{
    size_t count = 0;
    struct told told;
    struct profile_sink sink;
    struct profile_notices notices;

    while (count < MAX_RECORDS && cases[_i].records[count].kind != FXT_RECORD_UNKNOWN)
        count++;
    everything(&told, &sink);
    notices = ingest(&sink, &told, cases[_i].records, count,
                     (struct profile_ingest_options){ .size = 0 });
    ck_assert_msg(strcmp(told.text, cases[_i].told) == 0, "%s:\n%s", cases[_i].what, told.text);
    ck_assert_msg(memcmp(&notices, &cases[_i].notices, sizeof notices) == 0, "%s: notices",
                  cases[_i].what);
}
END_TEST

/* ---- What is told at once ---- */

START_TEST(tells_arguments_before_what_refers_to_them)
{
    struct fxt_arg args[] = { u64_arg("n", 1), string_arg("s", "x"), int32_arg("n", -1) };
    const struct fxt_record records[] = {
        with(B(5, "a"), args, 2),      with(E(9, "a"), args + 1, 2),
        with(I(7, "i"), args, 3),      X(6, 8, "b"),
        with(FB(1, 1, 1, 7), args, 1),
    };
    struct told told;
    struct profile_sink sink;

    everything(&told, &sink);
    (void)ingest(&sink, &told, records, COUNT_OF(records),
                 (struct profile_ingest_options){ .size = 0 });
    ck_assert_str_eq(told.text, "args 1: n=uint64 s=string\n"
                                "args 2: s=string n=int32\n"
                                "args 3: n=uint64 s=string n=int32\n"
                                "args 5: n=uint64\n"
                                "1 a 5-9 args 1 end args 2\n"
                                "2 b 6-8 d1 in 1\n"
                                "3 i 7-7 instant d2 in 2 args 3\n");
}
END_TEST

START_TEST(tells_each_series_of_a_counter)
{
    struct fxt_arg args[] = { u64_arg("free", UINT64_MAX), int32_arg("used", -3),
                              string_arg("unit", "bytes") };
    const struct fxt_record records[] = {
        with(event(FXT_EVENT_COUNTER, 5, 1, 1, "memory", 77), args, 3),
        with(event(FXT_EVENT_COUNTER, 3, 1, 2, "memory", 77), args, 1),
        with(event(FXT_EVENT_COUNTER, 7, 1, 1, "memory", 78), args, 1),
        with(event(FXT_EVENT_COUNTER, 9, 2, 1, "memory", 77), args, 1),
    };
    struct told told;
    struct profile_sink sink;
    struct profile_notices notices;

    everything(&told, &sink);
    notices = ingest(&sink, &told, records, COUNT_OF(records),
                     (struct profile_ingest_options){ .size = 0 });
    ck_assert_str_eq(told.text, "track 1: memory:free 77 of process 1\n"
                                "track 1: 1.84467e+19 @5\n"
                                "track 2: memory:used 77 of process 1\n"
                                "track 2: -3 @5\n"
                                "track 1: 1.84467e+19 @3\n"
                                "track 3: memory:free 78 of process 1\n"
                                "track 3: 1.84467e+19 @7\n"
                                "track 4: memory:free 77 of process 2\n"
                                "track 4: 1.84467e+19 @9\n");
    ck_assert_uint_eq(notices.non_numeric_counters, 1);
}
END_TEST

static struct fxt_record object_record(enum fxt_record_kind kind, unsigned type, uint64_t koid,
                                       uint64_t pointer, const char *name)
{
    struct fxt_record record = { .kind = kind, .name = text_of(name) };

    record.thread.process = kind == FXT_RECORD_USERSPACE_OBJECT ? 5 : 0;
    record.value.object.type = type;
    record.value.object.koid = koid;
    record.value.object.pointer = pointer;
    return record;
}

START_TEST(tells_objects_and_logs)
{
    struct fxt_arg owner = u64_arg("process", 5), count = u64_arg("count", 1);
    struct fxt_record log = { .kind = FXT_RECORD_LOG, .has_time = true, .ts_ns = 1500 };
    struct told told;
    struct profile_sink sink;

    owner.type = FXT_ARG_KOID;
    log.thread = (struct fxt_thread){ .process = 5, .thread = 34 };
    log.value.log.message = text_of("disk is hot");
    const struct fxt_record records[] = {
        with(object_record(FXT_RECORD_KERNEL_OBJECT, 3, 99, 0, "vmo"), &owner, 1),
        object_record(FXT_RECORD_KERNEL_OBJECT, 200, 100, 0, "odd"),
        object_record(FXT_RECORD_KERNEL_OBJECT, 1, 5, 0, "app"),
        with(object_record(FXT_RECORD_USERSPACE_OBJECT, 0, 0, 0x1000, "view"), &count, 1),
        log,
    };

    everything(&told, &sink);
    (void)ingest(&sink, &told, records, COUNT_OF(records),
                 (struct profile_ingest_options){ .size = 0 });
    ck_assert_str_eq(told.text, "args 1: process=koid\n"
                                "kernel object type 3 koid 99 pointer 0 process 1: vmo args 1\n"
                                "kernel object type 200 koid 100 pointer 0 process 0: odd args 0\n"
                                "kernel object type 1 koid 5 pointer 0 process 0: app args 0\n"
                                "args 2: count=uint64\n"
                                "user object type 0 koid 0 pointer 4096 process 1: view args 2\n"
                                "log @1500 thread 1: disk is hot\n");
}
END_TEST

/* ---- The off-CPU profile ---- */

/* Thread 1 of process 1 leaves its CPU in a nest of slices, outside of all, and for good.  */
START_TEST(counts_waits_by_open_slices)
{
    const struct fxt_record records[] = {
        B(1, "a"),          X(2, 30, "b"),      SW(1, 0, 0, 1, 1),
        SW(5, 0, 1, 3, 0), /* blocked in b ... */
        WK(7, 1, 1),       /* ... and waiting for a CPU there */
        SW(10, 0, 0, 1, 1), E(40, "a"),         SW(50, 0, 1, 9, 0), /* until 54 */
        SW(54, 0, 0, 1, 1), SW(60, 0, 1, 4, 0),                     /* dies */
        SW(60, 1, 0, 1, 2), SW(61, 1, 2, 2, 0), /* another thread, suspended to the end */
        I(70, "i"),
    };
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_OFF_CPU, PROFILE_ROOT_NONE, 1);
    ck_assert_str_eq(text, "[state 9] 4\n[suspended] 9\na;b;[blocked] 2\na;b;[runnable] 3\n");
    free(text);
    text = folded_of(&taken, PROFILE_OFF_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_str_eq(text, "[state 9] 1\n[suspended] 1\na;b;[blocked] 1\na;b;[runnable] 1\n");
    free(text);
    text = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_NONE, 1); /* which has no waits */
    ck_assert_str_eq(text, "a 11\na;b 28\n");
    free(text);
    taken_release(&taken);
}
END_TEST

/* ---- What is not wanted ---- */

START_TEST(leaves_out_what_a_filter_leaves_out)
{
    struct fxt_arg args[] = { u64_arg("n", 1) };
    static const uint64_t pids[] = { 1 };
    const struct fxt_record records[] = {
        X(0, 9, "a"),
        with(X2(0, 9, 2, 2, "b"), args, 1),
        event(FXT_EVENT_ASYNC_BEGIN, 1, 2, 2, "b", 1),
        with(event(FXT_EVENT_COUNTER, 1, 2, 2, "b", 1), args, 1),
        SW(1, 0, 0, 1, 1), /* thread 1 is of process 1 */
        SW(3, 0, 1, 3, 2),
        SW(5, 0, 2, 3, 0),
    };
    struct told told;
    struct profile_sink sink;

    everything(&told, &sink);
    (void)ingest(&sink, &told, records, COUNT_OF(records),
                 (struct profile_ingest_options){ .pids = pids, .pid_count = 1 });
    ck_assert_str_eq(told.text, "cpu 0 thread 1 1-3 then 3\n"
                                "thread 1 state 3 3-9 unfinished\n"
                                "1 a 0-9\n");
}
END_TEST

START_TEST(does_nothing_for_a_sink_that_wants_nothing)
{
    struct fxt_arg args[] = { u64_arg("n", 1) };
    const struct fxt_record records[] = {
        with(X(0, 9, "a"), args, 1),
        with(I(1, "i"), args, 1),
        AB(1, "a", 1),
        with(event(FXT_EVENT_COUNTER, 1, 1, 1, "a", 1), args, 1),
        SW(1, 0, 0, 1, 1),
        FB(1, 1, 1, 1),
    };
    struct told told;
    struct profile_sink sink;
    struct profile_notices notices;

    everything(&told, &sink);
    sink = (struct profile_sink){ .size = sizeof sink, .context = &told };
    notices = ingest(&sink, &told, records, COUNT_OF(records),
                     (struct profile_ingest_options){ .size = 0 });
    ck_assert_str_eq(told.text, "");
    ck_assert_uint_eq(notices.unhandled_records, 5); /* all but the slice */
}
END_TEST

/* ---- Bounds ---- */

START_TEST(keeps_at_most_a_million_flows_open)
{
    struct fxt_record begin = FB(1, 1, 1, 0);
    struct told told;
    struct profile_sink sink;
    struct profile_ingest *taken;
    int failures = 0;

    everything(&told, &sink);
    ck_assert_int_eq(profile_ingest_open(&sink, told.stacks, NULL, &taken, NULL), PROFILE_OK);
    for (uint64_t i = 0; i < 1000010; i++) {
        begin.value.event.id = i;
        failures += profile_ingest_record(taken, &begin, NULL) != PROFILE_OK;
    }
    ck_assert_int_eq(failures, 0);
    ck_assert_int_eq(profile_ingest_finish(taken, NULL), PROFILE_OK);
    ck_assert_uint_eq(profile_ingest_notices(taken)->unfinished_flows, 1000010);
    profile_ingest_close(taken);
    profile_stacks_close(told.stacks);
}
END_TEST

/* ---- Many ---- */

/* Async operations and flows that come and go: as many tracks as were open together, and each flow
 * finds its end.  */
#define ROUNDS 20000

struct sums {
    uint32_t tracks;
    uint64_t slices, flows;
    uint64_t last_id;
    int64_t last_ns;
    bool in_order;
};

static enum profile_status count_track(void *context, const struct profile_track *track)
{
    struct sums *sums = context;

    sums->tracks += track->kind == PROFILE_TRACK_ASYNC;
    return PROFILE_OK;
}

static enum profile_status count_slice(void *context, const struct profile_slice *slice)
{
    struct sums *sums = context;

    sums->in_order &= slice->id == sums->last_id + 1 && slice->start_ns >= sums->last_ns &&
                      slice->parent < slice->id && slice->end_ns == slice->start_ns + 5;
    sums->last_id = slice->id;
    sums->last_ns = slice->start_ns;
    sums->slices++;
    return PROFILE_OK;
}

static enum profile_status count_flow(void *context, const struct profile_flow *flow)
{
    struct sums *sums = context;

    sums->flows += flow->in_ns == flow->out_ns + 3;
    return PROFILE_OK;
}

START_TEST(brings_many_together)
{
    static struct fxt_record records[4 * ROUNDS];
    struct told told;
    struct profile_sink sink;
    struct sums sums = { .in_order = true };
    unsigned long state = 7;

    for (size_t i = 0; i < ROUNDS; i++) {
        int64_t ts_ns = (int64_t)i;

        records[4 * i] = AB(ts_ns, "a", i % 100);
        records[4 * i + 1] = AE(ts_ns + 5, "a", i % 100);
        records[4 * i + 2] = FB(ts_ns, 1 + i % 3, 1, i % 100);
        records[4 * i + 3] = FE(ts_ns + 3, 1 + i % 3, 1, i % 100);
    }
    for (size_t i = 4 * ROUNDS - 1; i > 0; i--) { /* in any order */
        struct fxt_record moving = records[i];
        size_t other;

        state = state * 6364136223846793005UL + 1442695040888963407UL;
        other = (state >> 33) % (i + 1);
        records[i] = records[other];
        records[other] = moving;
    }
    everything(&told, &sink);
    sink = (struct profile_sink){ .size = sizeof sink,
                                  .context = &sums,
                                  .track = count_track,
                                  .slice = count_slice,
                                  .flow = count_flow };
    (void)ingest(&sink, &told, records, COUNT_OF(records),
                 (struct profile_ingest_options){ .size = 0 });
    ck_assert(sums.in_order);
    ck_assert_uint_eq(sums.slices, ROUNDS);
    ck_assert_uint_eq(sums.flows, ROUNDS);
    ck_assert_uint_ge(sums.tracks, 5);
    ck_assert_uint_le(sums.tracks, 6);
}
END_TEST

/* ---- Failures ---- */

static enum profile_status run_everything(struct told *told, const struct profile_sink *sink)
{
    struct profile_ingest_options options = { .size = sizeof options, .sort_bytes = 200 };
    struct profile_ingest *taken;
    enum profile_status status = profile_ingest_open(sink, told->stacks, &options, &taken, NULL);

    if (status != PROFILE_OK)
        return status;
    for (size_t i = 0; i < case_count && status == PROFILE_OK; i++)
        for (size_t j = 0; j < MAX_RECORDS && status == PROFILE_OK; j++)
            if (cases[i].records[j].kind != FXT_RECORD_UNKNOWN)
                status = profile_ingest_record(taken, &cases[i].records[j], NULL);
    if (status == PROFILE_OK)
        status = profile_ingest_finish(taken, NULL);
    profile_ingest_close(taken);
    return status;
}

START_TEST(survives_any_allocation_that_fails)
{
    struct told told;
    struct profile_sink sink;
    struct sums sums = { .in_order = true };
    enum profile_status status = PROFILE_NO_MEMORY;

    for (unsigned long n = 1; status != PROFILE_OK; n++) {
        everything(&told, &sink);
        sink = (struct profile_sink){ .size = sizeof sink,
                                      .context = &sums,
                                      .track = count_track,
                                      .slice = count_slice,
                                      .flow = count_flow };
        allocation_fail_at(n);
        status = run_everything(&told, &sink);
        allocation_fail_at(0);
        profile_stacks_close(told.stacks);
        ck_assert(status == PROFILE_OK || status == PROFILE_NO_MEMORY);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_timeline");
    TCase *tcase = tcase_create("timeline");
    SRunner *runner = srunner_create(suite);
    int failed;

    make_cases();
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, tells_what_happened, 0, (int)case_count);
    tcase_add_test(tcase, tells_arguments_before_what_refers_to_them);
    tcase_add_test(tcase, tells_each_series_of_a_counter);
    tcase_add_test(tcase, tells_objects_and_logs);
    tcase_add_test(tcase, counts_waits_by_open_slices);
    tcase_add_test(tcase, leaves_out_what_a_filter_leaves_out);
    tcase_add_test(tcase, does_nothing_for_a_sink_that_wants_nothing);
    tcase_add_test(tcase, keeps_at_most_a_million_flows_open);
    tcase_add_test(tcase, brings_many_together);
    tcase_add_test(tcase, survives_any_allocation_that_fails);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
