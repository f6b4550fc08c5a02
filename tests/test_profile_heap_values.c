/* Heap profiles: what is added up, of which time, and in which parts.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/heap_records.h"
#include "tests/support/profile_records.h"

enum { LARGEST = 600 };
static struct heap_record records[LARGEST]; /* too large for the stack of a test */

/* Interval 1,024 and blocks of 1,024 bytes: w is 1.58198.  */
static const struct heap_maker usual = { .interval_bytes = 1024 };
#define W 1.5819767068693265

/* ---- A profile of records ---- */

struct heap_profile {
    struct profile *profile;
    struct profile_ingest *ingest;
};

static enum profile_status add_trace(struct heap_profile *heap, size_t count)
{
    struct profile_sink sink;
    enum profile_status status;

    profile_ingest_close(heap->ingest);
    heap->ingest = NULL;
    profile_sink_of(heap->profile, &sink);
    status = profile_ingest_open(&sink, profile_stacks_of(heap->profile), NULL, &heap->ingest,
                                 NULL);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        status = profile_ingest_record(heap->ingest, &records[i].record, NULL);
    return status == PROFILE_OK ? profile_ingest_finish(heap->ingest, NULL) : status;
}

static struct heap_profile take(size_t count, const struct profile_heap_options *options,
                                int64_t until_ns)
{
    struct heap_profile heap = { .ingest = NULL };

    ck_assert_int_eq(profile_open(&heap.profile, NULL), PROFILE_OK);
    if (options)
        ck_assert_int_eq(profile_heap_configure(heap.profile, options, NULL), PROFILE_OK);
    profile_heap_until(heap.profile, until_ns);
    ck_assert_int_eq(add_trace(&heap, count), PROFILE_OK);
    return heap;
}

static void release(struct heap_profile *heap)
{
    profile_ingest_close(heap->ingest);
    profile_close(heap->profile);
}

static char *folded(const struct heap_profile *heap, enum profile_kind kind, int type)
{
    const struct taken taken = { heap->profile, heap->ingest };

    return folded_of(&taken, kind, PROFILE_ROOT_PROCESS, type);
}

static void expect(const struct heap_profile *heap, enum profile_kind kind, int type,
                   const char *expected)
{
    char *text = folded(heap, kind, type);

    ck_assert_str_eq(text, expected);
    free(text);
}

/* One module in every process, elsewhere in each, with one function for each stack.  */
enum { STACKS = 5, PROCESSES = 3 };

static uint64_t return_address(uint64_t process, unsigned stack)
{
    return 0x100000 * process + 16 * (uint64_t)stack + 1;
}

static void put_modules(struct heap_record *out, uint64_t process)
{
    const struct fidl_segment segment = { 0x100000 * process, 0x1000, 0, true, true, true };
    const struct fidl_module_source module = { (const uint8_t *)"MM", 2, &segment, 1 };
    char name[8];

    (void)snprintf(name, sizeof name, "p%u", (unsigned)process);
    heap_process_info(out, &usual, 0, process, name, &module, 1);
}

/* ---- What is added up ---- */

START_TEST(tells_allocated_and_in_use)
{
    struct heap_profile heap;

    put_modules(&records[0], 1);
    heap_allocation(&records[1], &usual, 10, 1, 0x10, 1024, HEAP_STACK(return_address(1, 1)));
    heap_allocation(&records[2], &usual, 20, 1, 0x20, 1024, HEAP_STACK(return_address(1, 1)));
    heap_release(&records[3], &usual, 30, 1, 0x10, HEAP_STACK(return_address(1, 2)));
    heap = take(4, NULL, 0);
    /* 2 w, 2 w * 1024, w, w * 1024 */
    expect(&heap, PROFILE_HEAP, 0, "p1;[4d4d] 3\n");
    expect(&heap, PROFILE_HEAP, 1, "p1;[4d4d] 3240\n");
    expect(&heap, PROFILE_HEAP, 2, "p1;[4d4d] 2\n");
    expect(&heap, PROFILE_HEAP, 3, "p1;[4d4d] 1620\n");
    expect(&heap, PROFILE_HEAP, -1, "p1;[4d4d] 1620\n");
    expect(&heap, PROFILE_HEAP_FREE, 0, "p1;[4d4d] 2\n");
    expect(&heap, PROFILE_HEAP_FREE, -1, "p1;[4d4d] 1620\n");
    ck_assert_uint_eq(profile_sample_count(heap.profile, PROFILE_HEAP), 2);
    ck_assert_uint_eq(profile_sample_count(heap.profile, PROFILE_HEAP_FREE), 1);
    ck_assert_uint_eq(profile_stack_count(heap.profile, PROFILE_HEAP), 1);
    release(&heap);
}
END_TEST

/* Weights are fractions: they cancel to the last bit.  */
START_TEST(has_nothing_in_use_when_all_is_released)
{
    struct heap_profile heap;

    for (size_t i = 0; i < 300; i++) {
        heap_allocation(&records[2 * i], &usual, (int64_t)i, 1, 0x10, 1 + 7 * i, HEAP_STACK(0x11));
        heap_release(&records[2 * i + 1], &usual, (int64_t)i, 1, 0x10, HEAP_STACK(0x22));
    }
    heap = take(600, NULL, 0);
    expect(&heap, PROFILE_HEAP, 2, "");
    expect(&heap, PROFILE_HEAP, 3, "");
    ck_assert_uint_eq(profile_get_value(heap.profile, PROFILE_HEAP, 0).values[3], 0);
    release(&heap);
}
END_TEST

/* 3 w are 4.7: rounded one by one it would be 6.  */
START_TEST(rounds_once)
{
    struct heap_profile heap;

    for (size_t i = 0; i < 3; i++)
        heap_allocation(&records[i], &usual, (int64_t)i, 1, 0x10 * i, 1024, HEAP_STACK(0x11));
    heap = take(3, NULL, 0);
    expect(&heap, PROFILE_HEAP, 0, "pid-1;[unknown] 5\n");
    release(&heap);
}
END_TEST

START_TEST(counts_messages_without_a_stack)
{
    const struct heap_stack none = { (const uint64_t[]){ 0 }, 0 };
    struct heap_profile heap;

    heap_allocation(&records[0], &usual, 1, 1, 0x10, 1 << 20, none);
    heap_allocation(&records[1], &usual, 1, 1, 0x20, 1 << 20, none);
    heap_release(&records[2], &usual, 2, 1, 0x10, none);
    heap = take(3, NULL, 0);
    expect(&heap, PROFILE_HEAP, 0, "pid-1;[unknown] 2\n");
    expect(&heap, PROFILE_HEAP_FREE, 0, "pid-1;[unknown] 1\n");
    release(&heap);
}
END_TEST

/* The block before is no longer in use, but nobody knows where it was released.  */
START_TEST(leaves_releases_that_nobody_told_of_out)
{
    struct heap_profile heap;

    heap_allocation(&records[0], &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(0x11));
    heap_allocation(&records[1], &usual, 2, 1, 0x10, 2 << 20, HEAP_STACK(0x11));
    heap = take(2, NULL, 0);
    expect(&heap, PROFILE_HEAP, 1, "pid-1;[unknown] 3145728\n");
    expect(&heap, PROFILE_HEAP, 3, "pid-1;[unknown] 2097152\n");
    expect(&heap, PROFILE_HEAP_FREE, 0, "");
    release(&heap);
}
END_TEST

START_TEST(adds_traces_up)
{
    struct heap_profile heap;

    heap_allocation(&records[0], &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(0x11));
    heap_allocation(&records[1], &usual, 2, 1, 0x20, 1 << 20, HEAP_STACK(0x11));
    heap_release(&records[2], &usual, 3, 1, 0x20, HEAP_STACK(0x11));
    heap = take(3, NULL, 0);
    ck_assert_int_eq(add_trace(&heap, 3), PROFILE_OK);
    expect(&heap, PROFILE_HEAP, 0, "pid-1;[unknown] 4\n");
    expect(&heap, PROFILE_HEAP, 2, "pid-1;[unknown] 2\n");
    expect(&heap, PROFILE_HEAP_FREE, 0, "pid-1;[unknown] 2\n");
    release(&heap);
}
END_TEST

/* Section 4 of docs/formats/memory-sampler.md: live, dead and released.  */
START_TEST(has_the_six_types_of_fuchsia)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .types = PROFILE_HEAP_TYPES_FUCHSIA };
    static const char *const names[] = {
        "residual_allocated_objects", "residual_allocated_space",
        "allocated_objects",          "allocated_space",
        "deallocated_objects",        "deallocated_space",
    };
    static const uint64_t expected[][6] = {
        { 1, 1 << 21, 2, 3 << 20, 0, 0 }, /* allocated here */
        { 0, 0, 0, 0, 1, 1 << 20 },       /* released here */
    };
    struct profile_sample_type types[PROFILE_MAX_TYPES];
    struct heap_profile heap;

    put_modules(&records[0], 1);
    heap_allocation(&records[1], &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(return_address(1, 1)));
    heap_allocation(&records[2], &usual, 2, 1, 0x20, 2 << 20, HEAP_STACK(return_address(1, 1)));
    heap_release(&records[3], &usual, 3, 1, 0x10, HEAP_STACK(return_address(1, 2)));
    heap = take(4, &options, 0);
    ck_assert_uint_eq(profile_sample_types(heap.profile, PROFILE_HEAP, types), 6);
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP), 2);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(types[i].type, names[i]);
        ck_assert_str_eq(types[i].unit, i % 2 ? "bytes" : "count");
        for (size_t row = 0; row < 2; row++)
            ck_assert_uint_eq(profile_get_value(heap.profile, PROFILE_HEAP, row).values[i],
                              expected[row][i]);
    }
    expect(&heap, PROFILE_HEAP, -1, "p1;[4d4d] 2097152\n"); /* residual space */
    release(&heap);
}
END_TEST

/* ---- Modules with and without names ---- */

/* The capture names modules apart from the messages, before or after them; the path is found by
 * build ID, whose first 20 bytes are all that messages have.  */
START_TEST(names_modules_of_messages)
{
    static const char build_id[] = "0123456789abcdefghijklmnopqrstuv";
    const struct fidl_segment segment = { 0x1000, 0x1000, 0, true, true, true };
    const struct fidl_module_source module = { (const uint8_t *)build_id, 20, &segment, 1 };
    struct fxt_record named[] = { module_record(1, 0, "/lib/m.so", build_id),
                                  mapping_record(1, 0, 0x1000, 0x1000, 0) };
    struct heap_record info, block;
    struct fxt_record orders[][4] = {
        { named[0], named[1], { .kind = 0 }, { .kind = 0 } },
        { { .kind = 0 }, { .kind = 0 }, named[0], named[1] },
        { { .kind = 0 }, named[0], named[1], { .kind = 0 } },
    };
    char *text;

    heap_process_info(&info, &usual, 0, 1, NULL, &module, 1);
    heap_allocation(&block, &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(0x1234));
    orders[0][2] = orders[1][0] = orders[2][0] = info.record;
    orders[0][3] = orders[1][1] = orders[2][3] = block.record;
    text = folded_from(orders[_i], 4, PROFILE_HEAP);
    ck_assert_str_eq(text, "[m.so] 1048576\n");
    free(text);
}
END_TEST

/* dlclose() and dlopen() of something else at the place; and everything told again.  */
START_TEST(follows_modules_that_change)
{
    const struct fidl_segment segment = { 0x1000, 0x1000, 0, true, true, true };
    const struct fidl_module_source first = { (const uint8_t *)"A", 1, &segment, 1 };
    const struct fidl_module_source second = { (const uint8_t *)"B", 1, &segment, 1 };
    struct heap_profile heap;

    heap_process_info(&records[0], &usual, 0, 1, "p", &first, 1);
    heap_allocation(&records[1], &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(0x1234));
    heap_process_info(&records[2], &usual, 2, 1, NULL, &first, 1);
    heap_allocation(&records[3], &usual, 3, 1, 0x20, 1 << 20, HEAP_STACK(0x1234));
    heap_process_info(&records[4], &usual, 4, 1, NULL, &second, 1);
    heap_allocation(&records[5], &usual, 5, 1, 0x30, 1 << 20, HEAP_STACK(0x1234));
    heap = take(6, NULL, 0);
    expect(&heap, PROFILE_HEAP, 0, "p;[41] 2\np;[42] 1\n");
    release(&heap);
}
END_TEST

/* Which module lacks names is told of the kind that is shown, by what weighs there.  */
START_TEST(covers_the_stacks_of_the_heap)
{
    static const uint64_t nowhere = 0x10;
    const struct sym_options options = { .size = sizeof options, .no_cache = true };
    const struct profile_coverage *coverage;
    struct sym_session *session;
    struct heap_profile heap;
    size_t count;

    put_modules(&records[0], 1);
    heap_allocation(&records[1], &usual, 1, 1, 0x10, 1 << 20, HEAP_STACK(return_address(1, 1)));
    heap_allocation(&records[2], &usual, 2, 1, 0x20, 3 << 20, HEAP_STACK(0x10));
    records[3].record = backtrace_record(3, 1, 1, &nowhere, 1);
    heap = take(4, NULL, 0);
    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    ck_assert_int_eq(profile_symbolize(heap.profile, session, NULL), PROFILE_OK);
    coverage = profile_coverage_of(heap.profile, &count);
    ck_assert_uint_eq(count, 1); /* of CPU samples */
    ck_assert_uint_eq(coverage[0].module, 0);
    profile_cover(heap.profile, PROFILE_HEAP);
    ck_assert_int_eq(profile_symbolize(heap.profile, session, NULL), PROFILE_OK);
    coverage = profile_coverage_of(heap.profile, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(coverage[0].module, 0);
    ck_assert_uint_eq(coverage[1].module, 1);
    ck_assert_uint_eq(coverage[0].frames, 3 * coverage[1].frames);
    ck_assert_uint_gt(coverage[1].frames, 0);
    sym_session_close(session);
    release(&heap);
}
END_TEST

/* ---- Against a replay ---- */

/* Sums of a stack of a process.  */
struct sums {
    double objects, bytes;           /* in use */
    double all_objects, all_bytes;   /* allocated so far */
    double gone_objects, gone_bytes; /* released here */
};
struct state {
    struct sums sums[PROCESSES + 1][STACKS];
};

struct event {
    uint64_t process, address, size;
    int64_t ts_ns;
    unsigned stack;
    bool is_release;
};

static struct event events[LARGEST];
static struct state states[LARGEST + 1]; /* after so many events */

static double weight(uint64_t size)
{
    return size ? 1 / (1 - exp(-(double)size / 1024)) : 1;
}

static double in_use(const struct state *state, unsigned process)
{
    double sum = 0;

    for (unsigned i = 1; i <= PROCESSES; i++)
        for (unsigned stack = 0; stack < STACKS && (process == 0 || process == i); stack++)
            sum += state->sums[i][stack].bytes;
    return sum;
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static void apply(struct state *state, const struct event *event, const struct event *block)
{
    struct sums *at = &state->sums[event->process][block->stack];
    double objects = weight(block->size), bytes = objects * (double)block->size;

    if (!event->is_release) {
        at->objects += objects;
        at->bytes += bytes;
        at->all_objects += objects;
        at->all_bytes += bytes;
        return;
    }
    at->objects -= objects;
    at->bytes -= bytes;
    state->sums[event->process][event->stack].gone_objects += objects;
    state->sums[event->process][event->stack].gone_bytes += bytes;
}

/* count events after PROCESSES records of modules.  */
static void make_events(uint64_t seed, size_t count)
{
    enum { ADDRESSES = 12 };
    static struct event blocks[PROCESSES + 1][ADDRESSES];
    static bool used[PROCESSES + 1][ADDRESSES];
    uint64_t random = seed;
    int64_t ts_ns = 100;

    memset(used, 0, sizeof used);
    states[0] = (struct state){ .sums = { { { 0 } } } };
    for (unsigned i = 0; i < PROCESSES; i++)
        put_modules(&records[i], i + 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t process = 1 + next_random(&random) % PROCESSES;
        uint64_t slot = next_random(&random) % ADDRESSES;
        struct event event = { .process = process,
                               .address = 16 * slot,
                               .size = next_random(&random) % 5000,
                               .stack = (unsigned)(next_random(&random) % STACKS),
                               .ts_ns = ts_ns += (int64_t)(next_random(&random) % 10),
                               .is_release = used[process][slot] };
        struct heap_stack stack = HEAP_STACK(return_address(process, event.stack));

        if (event.is_release)
            heap_release(&records[PROCESSES + i], &usual, ts_ns, process, event.address, stack);
        else
            heap_allocation(&records[PROCESSES + i], &usual, ts_ns, process, event.address,
                            event.size, stack);
        if (!event.is_release)
            blocks[process][slot] = event;
        used[process][slot] = !event.is_release;
        states[i + 1] = states[i];
        apply(&states[i + 1], &event, &blocks[process][slot]);
        events[i] = event;
    }
}

/* Which stack a value is of.  */
static unsigned stack_of(struct profile *profile, profile_id callsite)
{
    const struct profile_stacks *stacks = profile_stacks_of(profile);
    profile_id frame = profile_stacks_get_callsite(stacks, callsite).frame;

    return (unsigned)(profile_stacks_get_frame(stacks, frame).vaddr / 16);
}

static void compare(struct profile *profile, const struct state *expected)
{
    struct state found = { .sums = { { { 0 } } } };
    double worst = 0;
    double values = profile_get_value(profile, PROFILE_HEAP, 0).has_age ? 4 : 1; /* ages */

    for (size_t i = 0; i < profile_value_count(profile, PROFILE_HEAP); i++) {
        struct profile_stack_value value = profile_get_value(profile, PROFILE_HEAP, i);
        struct sums *at = &found.sums[value.process_koid][stack_of(profile, value.callsite)];

        at->all_objects += (double)value.values[0];
        at->all_bytes += (double)value.values[1];
        at->objects += (double)value.values[2];
        at->bytes += (double)value.values[3];
    }
    for (size_t i = 0; i < profile_value_count(profile, PROFILE_HEAP_FREE); i++) {
        struct profile_stack_value value = profile_get_value(profile, PROFILE_HEAP_FREE, i);
        struct sums *at = &found.sums[value.process_koid][stack_of(profile, value.callsite)];

        at->gone_objects += (double)value.values[0];
        at->gone_bytes += (double)value.values[1];
    }
    for (unsigned process = 1; process <= PROCESSES; process++)
        for (unsigned stack = 0; stack < STACKS; stack++) {
            const double *is = (const double *)&found.sums[process][stack];
            const double *should = (const double *)&expected->sums[process][stack];

            for (size_t i = 0; i < sizeof(struct sums) / sizeof(double); i++)
                worst = fmax(worst, fabs(is[i] - should[i]));
        }
    ck_assert_double_lt(worst, 0.75 * values); /* half of it rounding, a little for units */
}

/* The first event after which most is in use; 0: before all.  */
static size_t find_peak(size_t count, unsigned process)
{
    size_t peak = 0;

    for (size_t i = 1; i <= count; i++)
        if (in_use(&states[i], process) > in_use(&states[peak], process) + 1e-6)
            peak = i;
    return peak;
}

enum { EVENTS = 300, SEEDS = 20 };

START_TEST(agrees_with_a_replay_at_the_end)
{
    struct heap_profile heap;

    make_events((uint64_t)_i, EVENTS);
    heap = take(PROCESSES + EVENTS, NULL, 0);
    compare(heap.profile, &states[EVENTS]);
    release(&heap);
}
END_TEST

START_TEST(agrees_with_a_replay_at_any_time)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .at = PROFILE_HEAP_AT_TIME };
    struct heap_profile heap;
    size_t counted = 0;

    make_events((uint64_t)_i, EVENTS);
    int64_t until_ns = events[(size_t)_i * (EVENTS / SEEDS)].ts_ns;
    while (counted < EVENTS && events[counted].ts_ns <= until_ns)
        counted++;
    heap = take(PROCESSES + EVENTS, &options, until_ns);
    compare(heap.profile, &states[counted]);
    release(&heap);
}
END_TEST

START_TEST(agrees_with_a_replay_at_the_peak)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .at = PROFILE_HEAP_AT_PEAK };
    const struct profile_heap_peak *peaks;
    struct heap_profile heap;
    size_t peak, count;

    make_events((uint64_t)_i, EVENTS);
    peak = find_peak(EVENTS, 0);
    heap = take(PROCESSES + EVENTS, &options, 0);
    compare(heap.profile, &states[peak]);
    peaks = profile_heap_peaks(heap.profile, &count);
    ck_assert_uint_eq(count, 1 + PROCESSES);
    ck_assert_int_eq(peaks[0].ts_ns, events[peak - 1].ts_ns);
    ck_assert_double_lt(fabs((double)peaks[0].bytes - in_use(&states[peak], 0)), 1.5);
    for (size_t i = 1; i < count; i++) {
        peak = find_peak(EVENTS, (unsigned)peaks[i].process_koid);
        ck_assert_int_eq(peaks[i].ts_ns, events[peak - 1].ts_ns);
        ck_assert_double_lt(
            fabs((double)peaks[i].bytes - in_use(&states[peak], (unsigned)peaks[i].process_koid)),
            1.5);
    }
    release(&heap);
}
END_TEST

START_TEST(agrees_with_a_replay_at_the_peak_of_each_process)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .at = PROFILE_HEAP_AT_PROCESS_PEAK };
    struct state expected = { .sums = { { { 0 } } } };
    struct heap_profile heap;

    make_events((uint64_t)_i, EVENTS);
    for (unsigned process = 1; process <= PROCESSES; process++)
        memcpy(expected.sums[process], states[find_peak(EVENTS, process)].sums[process],
               sizeof expected.sums[process]);
    heap = take(PROCESSES + EVENTS, &options, 0);
    compare(heap.profile, &expected);
    release(&heap);
}
END_TEST

/* What was released in (before, after], and what is in use after.  */
static struct state part(const struct state *before, const struct state *after)
{
    struct state out = *after;

    for (unsigned process = 1; process <= PROCESSES; process++)
        for (unsigned stack = 0; stack < STACKS; stack++) {
            const struct sums *was = &before->sums[process][stack];
            struct sums *sums = &out.sums[process][stack];

            /* allocated - in use is gone: what was gone before does not count again */
            sums->all_objects -= was->all_objects - was->objects;
            sums->all_bytes -= was->all_bytes - was->bytes;
            sums->gone_objects -= was->gone_objects;
            sums->gone_bytes -= was->gone_bytes;
        }
    return out;
}

START_TEST(agrees_with_a_replay_in_parts)
{
    const struct profile_heap_options options = { .size = sizeof options, .every_ns = 150 };
    struct heap_profile heap;
    size_t first = 0, next, parts = 0;

    make_events((uint64_t)_i, EVENTS);
    heap = take(PROCESSES + EVENTS, &options, 0);
    for (; first < EVENTS; first = next) {
        uint64_t stretch = (uint64_t)(events[first].ts_ns - events[0].ts_ns) / 150;

        for (next = first; next < EVENTS; next++)
            if ((uint64_t)(events[next].ts_ns - events[0].ts_ns) / 150 != stretch)
                break;
        struct state expected = part(&states[first], &states[next]);

        ck_assert_uint_lt(parts, profile_heap_partials(heap.profile));
        ck_assert_int_eq(profile_heap_show_partial(heap.profile, parts++, NULL), PROFILE_OK);
        compare(heap.profile, &expected);
    }
    ck_assert_uint_eq(profile_heap_partials(heap.profile), parts);
    ck_assert_uint_gt(parts, 4);
    ck_assert_int_eq(profile_heap_show_partial(heap.profile, parts, NULL), PROFILE_INVALID);
    release(&heap);
}
END_TEST

/* ---- Ages ---- */

static void expect_age(const struct profile *profile, enum profile_kind kind, size_t index,
                       uint64_t age_ns, size_t type, uint64_t amount)
{
    struct profile_stack_value value = profile_get_value(profile, kind, index);

    ck_assert(value.has_age);
    ck_assert_uint_eq(value.age_ns, age_ns);
    ck_assert_uint_eq(value.values[type], amount);
}

/* Blocks of one stack, of 1 to 4 MiB.  */
static void make_ages(void)
{
    for (uint64_t i = 0; i < 4; i++)
        heap_allocation(&records[i], &usual, 1000, 1, 16 * i, (i + 1) << 20, HEAP_STACK(0x11));
    heap_release(&records[4], &usual, 1999, 1, 0, HEAP_STACK(0x22));
    heap_release(&records[5], &usual, 2000, 1, 16, HEAP_STACK(0x22));
    heap_allocation(&records[6], &usual, 11001000 - 1, 1, 64, 5 << 20, HEAP_STACK(0x11));
    heap_release(&records[7], &usual, 11001000, 1, 32, HEAP_STACK(0x22));
}

START_TEST(tells_ages_apart)
{
    const struct profile_heap_options options = { .size = sizeof options, .ages = true };
    struct heap_profile heap;

    make_ages();
    heap = take(8, &options, 0);
    /* As released: below 1 us, 1 us, 10 ms; still in use at the end: 10 ms and below 1 us.  */
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP), 3);
    expect_age(heap.profile, PROFILE_HEAP, 0, 0, 1, 6 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 0, 0, 3, 5 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 1, 1000, 1, 2 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 1, 1000, 3, 0);
    expect_age(heap.profile, PROFILE_HEAP, 2, 10000000, 1, 7 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 2, 10000000, 3, 4 << 20);
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP_FREE), 3);
    expect_age(heap.profile, PROFILE_HEAP_FREE, 0, 0, 1, 1 << 20);
    expect_age(heap.profile, PROFILE_HEAP_FREE, 1, 1000, 1, 2 << 20);
    expect_age(heap.profile, PROFILE_HEAP_FREE, 2, 10000000, 1, 3 << 20);
    release(&heap);
}
END_TEST

/* At a time, those count that are released later, with the age they have then.  */
START_TEST(tells_ages_at_a_time)
{
    const struct profile_heap_options options = { .size = sizeof options,
                                                  .at = PROFILE_HEAP_AT_TIME,
                                                  .ages = true };
    struct heap_profile heap;

    make_ages();
    heap = take(8, &options, 1999);
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP), 1);
    expect_age(heap.profile, PROFILE_HEAP, 0, 0, 1, 10 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 0, 0, 3, 9 << 20);
    release(&heap);
    heap = take(8, &options, 2500);
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP), 2);
    expect_age(heap.profile, PROFILE_HEAP, 0, 0, 1, 1 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 1, 1000, 1, 9 << 20);
    expect_age(heap.profile, PROFILE_HEAP, 1, 1000, 3, 7 << 20);
    release(&heap);
}
END_TEST

/* Over all ages it is the same.  */
START_TEST(agrees_with_a_replay_by_age)
{
    const struct profile_heap_options at_end = { .size = sizeof at_end, .ages = true };
    struct profile_heap_options at_time = at_end;
    struct heap_profile heap;
    size_t counted = 0;

    make_events((uint64_t)_i, EVENTS);
    heap = take(PROCESSES + EVENTS, &at_end, 0);
    compare(heap.profile, &states[EVENTS]);
    release(&heap);
    at_time.at = PROFILE_HEAP_AT_TIME;
    int64_t until_ns = events[(size_t)_i * (EVENTS / SEEDS)].ts_ns;
    while (counted < EVENTS && events[counted].ts_ns <= until_ns)
        counted++;
    heap = take(PROCESSES + EVENTS, &at_time, until_ns);
    compare(heap.profile, &states[counted]);
    release(&heap);
}
END_TEST

START_TEST(knows_no_ages_where_there_are_none)
{
    static const struct profile_heap_options wrong[] = {
        { .size = sizeof *wrong, .ages = true, .every_ns = 1 },
        { .size = sizeof *wrong, .ages = true, .at = PROFILE_HEAP_AT_PEAK },
        { .size = sizeof *wrong, .ages = true, .at = PROFILE_HEAP_AT_PROCESS_PEAK },
    };
    const struct profile_heap_options options = { .size = sizeof options, .ages = true };
    const struct heap_maker stream = { .recorded_stream = true };
    struct profile *profile;
    struct heap_profile heap;

    ck_assert_int_eq(profile_open(&profile, NULL), PROFILE_OK);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        ck_assert_int_eq(profile_heap_configure(profile, &wrong[i], NULL), PROFILE_INVALID);
    profile_close(profile);
    heap_allocation(&records[0], &stream, 0, 1, 0x10, 1 << 24, HEAP_STACK(0x11));
    heap = take(1, &options, 0);
    ck_assert_uint_eq(profile_value_count(heap.profile, PROFILE_HEAP), 1);
    ck_assert(!profile_get_value(heap.profile, PROFILE_HEAP, 0).has_age);
    ck_assert_uint_eq(profile_get_value(heap.profile, PROFILE_HEAP, 0).values[3], 1 << 24);
    release(&heap);
}
END_TEST

/* ---- Limits ---- */

START_TEST(bounds_the_number_of_parts)
{
    const struct profile_heap_options options = { .size = sizeof options, .every_ns = 1 };
    struct profile_heap_options wrong = options;
    struct heap_profile heap = { .ingest = NULL };
    struct profile_sink sink;
    enum profile_status status = PROFILE_OK;
    int64_t ts_ns = 0;

    ck_assert_int_eq(profile_open(&heap.profile, NULL), PROFILE_OK);
    wrong.at = PROFILE_HEAP_AT_PEAK;
    ck_assert_int_eq(profile_heap_configure(heap.profile, &wrong, NULL), PROFILE_INVALID);
    ck_assert_int_eq(profile_heap_configure(heap.profile, &options, NULL), PROFILE_OK);
    profile_sink_of(heap.profile, &sink);
    ck_assert_int_eq(
        profile_ingest_open(&sink, profile_stacks_of(heap.profile), NULL, &heap.ingest, NULL),
        PROFILE_OK);
    for (; ts_ns < 20000 && status == PROFILE_OK; ts_ns += 2) {
        heap_allocation(&records[0], &usual, ts_ns, 1, 0x10, 64, HEAP_STACK(0x11));
        status = profile_ingest_record(heap.ingest, &records[0].record, NULL);
    }
    ck_assert_int_eq(status, PROFILE_OK);
    heap_allocation(&records[0], &usual, 30000, 1, 0x10, 64, HEAP_STACK(0x11));
    ck_assert_int_eq(profile_ingest_record(heap.ingest, &records[0].record, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_finish(heap.ingest, NULL), PROFILE_LIMIT);
    release(&heap);
}
END_TEST

/* Weights out of all reason add up to the top and come down again.  */
START_TEST(survives_sizes_and_intervals_out_of_reason)
{
    static const uint64_t extremes[] = { 0, 1, UINT64_MAX / 2, UINT64_MAX };
    struct profile_heap_options options = { .size = sizeof options, .at = PROFILE_HEAP_AT_PEAK };
    struct heap_profile heap;
    size_t count = 0;

    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 16; i++) {
            struct heap_maker maker = { .interval_bytes = extremes[i / 4] };

            if (round == 0)
                heap_allocation(&records[count], &maker, (int64_t)count, 1, i, extremes[i % 4],
                                HEAP_STACK(0x11));
            else
                heap_release(&records[count], &maker, (int64_t)count, 1, i, HEAP_STACK(0x22));
            count++;
        }
    heap = take(count, &options, 0);
    release(&heap);
    options.at = PROFILE_HEAP_AT_END;
    heap = take(count, &options, 0);
    expect(&heap, PROFILE_HEAP, 3, "");
    release(&heap);
}
END_TEST

static enum profile_status take_all(const struct profile_heap_options *options)
{
    struct heap_profile heap = { .ingest = NULL };
    struct profile_error error;
    struct bytes out = { .bytes = NULL };
    enum profile_status status = profile_open(&heap.profile, &error);

    if (status != PROFILE_OK)
        return status;
    status = profile_heap_configure(heap.profile, options, &error);
    if (status == PROFILE_OK)
        status = add_trace(&heap, PROCESSES + 60);
    for (size_t i = 0; i < profile_heap_partials(heap.profile) && status == PROFILE_OK; i++)
        status = profile_heap_show_partial(heap.profile, i, &error);
    if (status == PROFILE_OK)
        status = profile_write_pprof(heap.profile, PROFILE_HEAP, NULL, collect_bytes, &out, &error);
    if (status == PROFILE_OK)
        status = profile_write_top(heap.profile, PROFILE_HEAP_FREE, NULL, collect_bytes, &out,
                                   &error);
    free(out.bytes);
    release(&heap);
    return status;
}

/* Whatever allocation fails, the status says so and nothing leaks.  */
START_TEST(survives_failing_allocations)
{
    const struct profile_heap_options options[] = {
        { .size = sizeof *options, .at = PROFILE_HEAP_AT_PEAK },
        { .size = sizeof *options, .every_ns = 60, .types = PROFILE_HEAP_TYPES_FUCHSIA },
        { .size = sizeof *options, .ages = true },
    };
    enum profile_status status = PROFILE_NO_MEMORY;
    unsigned long n, asked;

    make_events(7, 60);
    allocation_fail_at(0);
    status = take_all(&options[_i]);
    asked = allocation_count();
    ck_assert_int_eq(status, PROFILE_OK);
    for (n = 1; n <= asked; n++) {
        allocation_fail_at(n);
        status = take_all(&options[_i]);
        allocation_fail_at(0);
        /* Writing fails with the errno of its callback.  */
        ck_assert_msg(status == PROFILE_NO_MEMORY || status == PROFILE_IO, "%lu: %d", n, status);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("profile_heap_values");
    TCase *tcase = tcase_create("heap values");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, tells_allocated_and_in_use);
    tcase_add_test(tcase, has_nothing_in_use_when_all_is_released);
    tcase_add_test(tcase, rounds_once);
    tcase_add_test(tcase, counts_messages_without_a_stack);
    tcase_add_test(tcase, leaves_releases_that_nobody_told_of_out);
    tcase_add_test(tcase, adds_traces_up);
    tcase_add_test(tcase, has_the_six_types_of_fuchsia);
    tcase_add_loop_test(tcase, names_modules_of_messages, 0, 3);
    tcase_add_test(tcase, follows_modules_that_change);
    tcase_add_test(tcase, covers_the_stacks_of_the_heap);
    tcase_add_loop_test(tcase, agrees_with_a_replay_at_the_end, 0, SEEDS);
    tcase_add_loop_test(tcase, agrees_with_a_replay_at_any_time, 0, SEEDS);
    tcase_add_loop_test(tcase, agrees_with_a_replay_at_the_peak, 0, SEEDS);
    tcase_add_loop_test(tcase, agrees_with_a_replay_at_the_peak_of_each_process, 0, SEEDS);
    tcase_add_loop_test(tcase, agrees_with_a_replay_in_parts, 0, SEEDS);
    tcase_add_test(tcase, tells_ages_apart);
    tcase_add_test(tcase, tells_ages_at_a_time);
    tcase_add_loop_test(tcase, agrees_with_a_replay_by_age, 0, SEEDS);
    tcase_add_test(tcase, knows_no_ages_where_there_are_none);
    tcase_add_test(tcase, bounds_the_number_of_parts);
    tcase_add_test(tcase, survives_sizes_and_intervals_out_of_reason);
    tcase_add_loop_test(tcase, survives_failing_allocations, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
