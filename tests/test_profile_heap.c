/* What messages of the memory sampler become: allocations and their ends.  */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/heap_records.h"
#include "tests/support/profile_records.h"

/* ---- A sink that writes down what it is told ---- */

struct heard {
    char text[4096];
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;
    struct profile_notices notices;
    struct profile_allocation last;
    char in_use[256];
    profile_id final[64];
    profile_id last_final; /* of the call site with the highest number */
};

static void write_down(struct heard *heard, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_down(struct heard *heard, const char *format, ...)
{
    size_t used = strlen(heard->text);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(heard->text + used, sizeof heard->text - used, format, arguments);
    va_end(arguments);
}

static enum profile_status hear_process(void *context, const struct profile_process *process)
{
    if (process->name.length > 0)
        write_down(context, "process %" PRIu64 " %.*s\n", process->koid, (int)process->name.length,
                   process->name.bytes);
    return PROFILE_OK;
}

static enum profile_status hear_mapping(void *context, const struct profile_mapping *mapping)
{
    write_down(context, "mapping %" PRIu64 " %" PRIx64 "-%" PRIx64 " at %" PRIx64 "\n",
               mapping->process_koid, mapping->start, mapping->limit, mapping->vaddr);
    return PROFILE_OK;
}

static enum profile_status hear_allocation(void *context,
                                           const struct profile_allocation *allocation)
{
    struct heard *heard = context;

    heard->last = *allocation;
    write_down(heard,
               "%" PRIu64 ": at %" PRId64 " process %" PRIu64 " allocates %" PRIu64 " at %" PRIx64
               ", site %u\n",
               allocation->id, allocation->ts_ns, allocation->process_koid, allocation->size_bytes,
               allocation->address, allocation->callsite);
    return PROFILE_OK;
}

static enum profile_status hear_release(void *context, const struct profile_release *release)
{
    write_down(context, "%" PRIu64 ": at %" PRId64 " %s after %" PRId64 ", site %u\n",
               release->allocation->id, release->ts_ns, release->assumed ? "gone" : "released",
               release->ts_ns - release->allocation->ts_ns, release->callsite);
    return PROFILE_OK;
}

static enum profile_status hear_callsites(void *context, const profile_id *final, uint32_t count)
{
    struct heard *heard = context;

    heard->last_final = final[count];
    if (count < COUNT_OF(heard->final))
        memcpy(heard->final, final, (count + 1) * sizeof *final);
    return PROFILE_OK;
}

static enum profile_status hear_in_use(void *context, const struct profile_in_use *in_use)
{
    struct heard *heard = context;
    size_t used = strlen(heard->in_use);

    (void)snprintf(heard->in_use + used, sizeof heard->in_use - used,
                   "%" PRIu64 " for %" PRId64 "\n", in_use->allocation->id,
                   in_use->ts_ns - in_use->allocation->ts_ns);
    return PROFILE_OK;
}

static void hear(struct heard *heard, const struct heap_record *records, size_t count,
                 const struct profile_ingest_options *options)
{
    const struct profile_sink sink = {
        .size = sizeof sink,
        .context = heard,
        .process = hear_process,
        .mapping = hear_mapping,
        .callsites = hear_callsites,
        .allocation = hear_allocation,
        .release = hear_release,
        .in_use = hear_in_use,
    };

    *heard = (struct heard){ .text = "" };
    ck_assert_int_eq(profile_stacks_open(&heard->stacks, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_open(&sink, heard->stacks, options, &heard->ingest, NULL),
                     PROFILE_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(profile_ingest_record(heard->ingest, &records[i].record, NULL),
                         PROFILE_OK);
    ck_assert_int_eq(profile_ingest_finish(heard->ingest, NULL), PROFILE_OK);
    heard->notices = *profile_ingest_notices(heard->ingest);
}

static void forget(struct heard *heard)
{
    profile_ingest_close(heard->ingest);
    profile_stacks_close(heard->stacks);
}

static const struct heap_maker usual = { .interval_bytes = 65536 };

/* Too large for the stack of a test.  */
static struct heap_record records[16];

/* The first count records tell text.  */
static struct profile_notices check_heard(size_t count, const char *text)
{
    struct heard heard;

    hear(&heard, records, count, NULL);
    ck_assert_str_eq(heard.text, text);
    forget(&heard);
    return heard.notices;
}

/* ---- Blocks ---- */

START_TEST(tells_allocations_and_what_ends_them)
{
    struct heap_maker maker = { .generation = (enum fidl_generation)_i, .interval_bytes = 65536 };

    heap_allocation(&records[0], &maker, 10, 7, 0x1000, 64, HEAP_STACK(0x11, 0x22));
    heap_allocation(&records[1], &maker, 20, 7, 0x2000, 0, HEAP_STACK(0x11, 0x22));
    heap_release(&records[2], &maker, 30, 7, 0x1000, HEAP_STACK(0x33, 0x22));
    heap_allocation(&records[3], &maker, 40, 7, 0x1000, 96, HEAP_STACK(0x11, 0x22));
    (void)check_heard(4, "1: at 10 process 7 allocates 64 at 1000, site 2\n"
                         "2: at 20 process 7 allocates 0 at 2000, site 2\n"
                         "1: at 30 released after 20, site 3\n"
                         "3: at 40 process 7 allocates 96 at 1000, site 2\n");
}
END_TEST

START_TEST(keeps_equal_addresses_of_two_processes_apart)
{
    heap_allocation(&records[0], &usual, 10, 7, 0x1000, 64, HEAP_STACK(0x11));
    heap_allocation(&records[1], &usual, 20, 8, 0x1000, 32, HEAP_STACK(0x11));
    heap_release(&records[2], &usual, 30, 8, 0x1000, HEAP_STACK(0x33));
    (void)check_heard(3, "1: at 10 process 7 allocates 64 at 1000, site 1\n"
                         "2: at 20 process 8 allocates 32 at 1000, site 2\n"
                         "2: at 30 released after 10, site 3\n");
}
END_TEST

START_TEST(takes_an_address_that_comes_again_for_released)
{
    heap_allocation(&records[0], &usual, 10, 7, 0x1000, 64, HEAP_STACK(0x11));
    heap_allocation(&records[1], &usual, 25, 7, 0x1000, 32, HEAP_STACK(0x11));
    heap_release(&records[2], &usual, 30, 7, 0x1000, HEAP_STACK(0x33));
    struct profile_notices notices = check_heard(3,
                                                 "1: at 10 process 7 allocates 64 at 1000, site 1\n"
                                                 "1: at 25 gone after 15, site 0\n"
                                                 "2: at 25 process 7 allocates 32 at 1000, site 1\n"
                                                 "2: at 30 released after 5, site 2\n");
    ck_assert_uint_eq(notices.repeated_blocks, 1);
}
END_TEST

/* Foreign streams tell of a release before its allocation: the block stays, as for the server.  */
START_TEST(counts_releases_of_unknown_blocks)
{
    heap_release(&records[0], &usual, 10, 7, 0x1000, HEAP_STACK(0x33));
    heap_allocation(&records[1], &usual, 11, 7, 0x1000, 64, HEAP_STACK(0x11));
    heap_release(&records[2], &usual, 12, 7, 0x2000, HEAP_STACK(0x33));
    struct profile_notices notices = check_heard(
        3, "1: at 11 process 7 allocates 64 at 1000, site 1\n");
    ck_assert_uint_eq(notices.unknown_frees, 2);
}
END_TEST

/* Reference values of docs/formats/memory-sampler.md section 4.  */
static const struct {
    uint64_t interval_bytes, size;
    double objects;
} weights[] = {
    { 0, 131072, 1.5819767068693265 }, /* nothing said: Fuchsia's interval */
    { 0, 1024, 128.5006510410044 },    { 1024, 1024, 1.5819767068693265 },        { 65536, 0, 1 },
    { 65536, UINT64_MAX, 1 },          { UINT64_MAX, 1, 18446744073709551616.0 },
};

START_TEST(weighs_by_size_and_interval)
{
    struct heap_maker maker = { .interval_bytes = weights[_i].interval_bytes };
    struct heard heard;

    heap_allocation(&records[0], &maker, 10, 7, 0x1000, weights[_i].size, HEAP_STACK(0x11));
    hear(&heard, records, 1, NULL);
    ck_assert_double_lt(fabs(heard.last.objects / weights[_i].objects - 1), 1e-12);
    ck_assert_double_lt(fabs(heard.last.bytes - (double)weights[_i].size * weights[_i].objects),
                        1e-12 * heard.last.bytes + 1e-300);
    forget(&heard);
}
END_TEST

/* An interval of 0 says that every allocation was recorded.  */
START_TEST(weighs_nothing_without_sampling)
{
    struct heard heard;

    heap_allocation(&records[0], &usual, 10, 7, 0x1000, 64, HEAP_STACK(0x11));
    records[0].interval.value.uint64 = 0;
    hear(&heard, records, 1, NULL);
    ck_assert_double_eq(heard.last.objects, 1);
    ck_assert_double_eq(heard.last.bytes, 64);
    forget(&heard);
}
END_TEST

START_TEST(looks_every_address_up_one_byte_before)
{
    struct profile_frame frame;
    struct heard heard;
    const struct fidl_segment segment = { 0x10000, 0x2000, 0x1000, true, true, true };
    const struct fidl_module_source module = { (const uint8_t *)"ABCD", 4, &segment, 1 };

    heap_process_info(&records[0], &usual, 5, 7, "app", &module, 1);
    heap_allocation(&records[1], &usual, 10, 7, 0x1000, 64, HEAP_STACK(0x12000));
    hear(&heard, records, 2, NULL);
    ck_assert_str_eq(heard.text, "process 7 app\n"
                                 "mapping 7 10000-12000 at 1000\n"
                                 "1: at 10 process 7 allocates 64 at 1000, site 1\n");
    frame = profile_stacks_get_frame(
        heard.stacks, profile_stacks_get_callsite(heard.stacks, heard.final[1]).frame);
    ck_assert_uint_eq(frame.vaddr, 0x2fff);
    ck_assert_mem_eq(profile_stacks_get_module(heard.stacks, frame.module).build_id, "ABCD", 4);
    forget(&heard);
}
END_TEST

START_TEST(takes_a_recorded_stream_for_one_process_without_times)
{
    const struct profile_ingest_options options = { .size = sizeof options, .message_process = 3 };
    const struct heap_maker maker = { .recorded_stream = true };
    struct heard heard;

    heap_allocation(&records[0], &maker, 10, 7, 0x1000, 64, HEAP_STACK(0x11));
    heap_release(&records[1], &maker, 20, 9, 0x1000, HEAP_STACK(0x33));
    hear(&heard, records, 2, &options);
    ck_assert_str_eq(heard.text, "1: at 0 process 3 allocates 64 at 1000, site 1\n"
                                 "1: at 0 released after 0, site 2\n");
    ck_assert(!heard.last.has_time);
    forget(&heard);
}
END_TEST

/* ---- What the capture says ---- */

static struct fxt_record session(struct fxt_arg args[2], uint64_t interval_bytes,
                                 uint64_t max_frames)
{
    args[0] = u64_arg("sampling_interval_bytes", interval_bytes);
    args[1] = u64_arg("max_frames", max_frames);
    return event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, 2);
}

/* The record's own interval goes before the session's.  */
START_TEST(takes_the_interval_of_the_session)
{
    struct heap_maker says_nothing = { .thread = 0 };
    struct fxt_arg args[2];
    struct heard heard;

    records[0].record = session(args, 1024, 10);
    heap_allocation(&records[1], &says_nothing, 10, 7, 0x1000, 1024, HEAP_STACK(0x11));
    hear(&heard, records, 2, NULL);
    ck_assert_uint_eq(heard.last.interval_bytes, 1024);
    forget(&heard);
    heap_allocation(&records[1], &usual, 10, 7, 0x1000, 1024, HEAP_STACK(0x11));
    hear(&heard, records, 2, NULL);
    ck_assert_uint_eq(heard.last.interval_bytes, 65536);
    forget(&heard);
}
END_TEST

/* Depth at which a stack is cut: the session's, else that of Fuchsia's client.  */
static const struct {
    uint64_t max_frames, frames;
    bool cut;
} depths[] = { { 0, 511, false }, { 0, 512, true }, { 20, 19, false }, { 20, 20, true } };

START_TEST(knows_a_stack_that_was_cut)
{
    static uint64_t pcs[512];
    const struct heap_stack stack = { pcs, depths[_i].frames };
    struct fxt_arg args[2];
    struct heard heard;
    profile_id root;

    for (size_t i = 0; i < COUNT_OF(pcs); i++)
        pcs[i] = 0x1001; /* recursion: one frame, and a call site each */
    records[0].record = session(args, 1024, depths[_i].max_frames);
    heap_allocation(&records[1], &usual, 10, 7, 0x1000, 1024, stack);
    hear(&heard, records, 2, NULL);
    ck_assert_uint_eq(heard.notices.truncated_stacks, depths[_i].cut);
    root = heard.last_final;
    ck_assert_uint_eq(profile_stacks_get_callsite(heard.stacks, root).depth + 1,
                      depths[_i].frames + depths[_i].cut);
    forget(&heard);
}
END_TEST

/* A message holds some 430 modules: more come in others, and after dlopen().  */
START_TEST(adds_modules_of_several_messages)
{
    const struct fidl_segment first = { 0x10000, 0x1000, 0, true, true, true };
    const struct fidl_segment second = { 0x20000, 0x1000, 0x800, true, true, true };
    const struct fidl_module_source modules[] = { { (const uint8_t *)"A", 1, &first, 1 },
                                                  { (const uint8_t *)"B", 1, &second, 1 } };

    heap_process_info(&records[0], &usual, 1, 7, "app", &modules[0], 1);
    heap_process_info(&records[1], &usual, 2, 7, NULL, &modules[1], 1);
    heap_process_info(&records[2], &usual, 3, 7, "app", modules, 2);
    (void)check_heard(3, "process 7 app\n"
                         "mapping 7 10000-11000 at 0\n"
                         "mapping 7 20000-21000 at 800\n"
                         "mapping 7 10000-11000 at 0\n"
                         "mapping 7 20000-21000 at 800\n");
}
END_TEST

/* Any member of a table may be missing; segments that wrap around are none.  */
START_TEST(passes_by_modules_that_make_no_sense)
{
    const struct fidl_segment segments[] = {
        { 0x10000, 0x1000, 0, true, false, true }, { 0x10000, 0x1000, 0, false, true, true },
        { 0x10000, 0, 0, true, true, true },       { UINT64_MAX - 10, 0x1000, 0, true, true, true },
        { 0x30000, 0x1000, 0, true, true, true },
    };
    const struct fidl_module_source modules[] = { { (const uint8_t *)"A", 1, segments, 5 },
                                                  { NULL, 0, segments + 4, 1 },
                                                  { (const uint8_t *)"C", 1, NULL, 0 } };

    heap_process_info(&records[0], &usual, 1, 7, NULL, modules, 3);
    struct profile_notices notices = check_heard(1, "mapping 7 30000-31000 at 0\n");
    ck_assert_uint_eq(notices.bad_mappings, 4);
    ck_assert_uint_eq(notices.unknown_modules, 1);
}
END_TEST

/* What is in use when the trace ends is told then, by the order of allocation.  */
START_TEST(tells_what_is_in_use_at_the_end)
{
    struct heard heard;

    for (int64_t i = 0; i < 4; i++)
        heap_allocation(&records[i], &usual, 10 * i, 7, (uint64_t)(0x9000 - 0x1000 * i), 64,
                        HEAP_STACK(0x11));
    heap_release(&records[4], &usual, 90, 7, 0x8000, HEAP_STACK(0x11));
    hear(&heard, records, 5, NULL);
    ck_assert_str_eq(heard.in_use, "1 for 90\n3 for 70\n4 for 60\n");
    forget(&heard);
}
END_TEST

/* Counted from the start, by process: the last counts.  A CPU of that number is another.  */
START_TEST(adds_up_what_the_capture_lost)
{
    const struct fxt_arg early[] = { u64_arg("allocations", 1), u64_arg("frees", 1) };
    const struct fxt_arg late[] = { u64_arg("allocations", 5), u64_arg("frees", 2),
                                    u64_arg("infos", 3),       u64_arg("rejected", 4),
                                    u64_arg("no_memory", 6),   u64_arg("forgotten", 8) };
    const struct fxt_arg ring[] = { u64_arg("ring", 9) };
    struct fxt_record lost[] = {
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "heap_lost", early, 2),
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "lost", ring, 1),
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "heap_lost", early, 2),
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "heap_lost", late, COUNT_OF(late)),
    };
    const struct profile_loss *loss;
    struct taken taken;

    lost[0].value.event.id = lost[1].value.event.id = lost[3].value.event.id = 7;
    lost[2].value.event.id = 8;
    ck_assert_int_eq(take_records(lost, COUNT_OF(lost), NULL, &taken), PROFILE_OK);
    loss = profile_loss_of(taken.profile);
    ck_assert_uint_eq(loss->heap_allocations, 6);
    ck_assert_uint_eq(loss->heap_frees, 3);
    ck_assert_uint_eq(loss->heap_infos, 3);
    ck_assert_uint_eq(loss->heap_rejected, 4);
    ck_assert_uint_eq(loss->heap_no_memory, 6);
    ck_assert_uint_eq(loss->heap_forgotten, 8);
    ck_assert_uint_eq(loss->ring, 9);
    taken_release(&taken);
}
END_TEST

/* ---- Filters ---- */

START_TEST(passes_by_what_filters_leave_out)
{
    static const uint64_t tid = 70, pid = 7;
    struct profile_ingest_options options = { .size = sizeof options };
    struct heap_maker of_70 = { .thread = 70 }, of_71 = { .thread = 71 };
    struct heard heard;

    heap_allocation(&records[0], &of_70, 10, 7, 0x1000, 64, HEAP_STACK(0x11));
    heap_allocation(&records[1], &of_71, 20, 7, 0x2000, 64, HEAP_STACK(0x11));
    heap_allocation(&records[2], &of_70, 30, 8, 0x1000, 64, HEAP_STACK(0x11));
    heap_release(&records[3], &of_70, 40, 7, 0x2000, HEAP_STACK(0x33));
    heap_release(&records[4], &of_71, 50, 7, 0x1000, HEAP_STACK(0x33));
    options.pids = &pid;
    options.pid_count = 1;
    options.tids = &tid;
    options.tid_count = 1;
    hear(&heard, records, 5, &options);
    /* By whom a block is released does not matter.  */
    ck_assert_str_eq(heard.text, "1: at 10 process 7 allocates 64 at 1000, site 1\n"
                                 "1: at 50 released after 40, site 2\n");
    ck_assert_uint_eq(heard.notices.unknown_frees, 0);
    forget(&heard);
}
END_TEST

/* ---- What is wrong ---- */

START_TEST(counts_messages_that_are_none)
{
    heap_message(&records[0], &usual, 10, 7, "", 0);
    heap_message(&records[1], &usual, 10, 7, "not a message at all, but long enough for one", 45);
    struct profile_notices notices = check_heard(2, "");
    ck_assert_uint_eq(notices.bad_messages, 2);
}
END_TEST

/* A table without members: any of them may be missing on the wire.  */
START_TEST(counts_messages_that_lack_members)
{
    static const uint8_t nothing[][32] = {
        { [4] = 2,
          [6] = 0x80,
          1,
          0x4d,
          0x82,
          0x69,
          0x77,
          0x9f,
          0xdd,
          0x0a,
          0x6b,
          [24] = 255,
          255,
          255,
          255,
          255,
          255,
          255,
          255 },
        { [4] = 2,
          [6] = 0x80,
          1,
          0xeb,
          0xbe,
          0x4d,
          0xc3,
          0x5e,
          0xff,
          0x3b,
          0x50,
          [24] = 255,
          255,
          255,
          255,
          255,
          255,
          255,
          255 },
    };

    heap_message(&records[0], &usual, 10, 7, nothing[_i], sizeof nothing[_i]);
    struct profile_notices notices = check_heard(1, "");
    ck_assert_uint_eq(notices.bad_messages, 1);
}
END_TEST

/* Blocks come and go in any order; the set of those in use must find each of them.  */
START_TEST(finds_every_block_among_many)
{
    enum { BLOCKS = 3000, STEPS = 30000 };
    static bool in_use[BLOCKS];
    const struct profile_sink none = { .size = sizeof none, .allocation = NULL };
    struct profile_sink sink = none;
    struct heard heard = { .text = "" };
    uint64_t random = 1;
    uint64_t wrong = 0;

    sink.release = hear_release; /* its text fills up; what counts is what is not known */
    sink.context = &heard;
    memset(in_use, 0, sizeof in_use);
    ck_assert_int_eq(profile_stacks_open(&heard.stacks, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_open(&sink, heard.stacks, NULL, &heard.ingest, NULL),
                     PROFILE_OK);
    for (int step = 0; step < STEPS; step++) {
        uint64_t block;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        block = (random >> 33) % BLOCKS;
        if (in_use[block])
            heap_release(&records[0], &usual, step, 7, 16 * block, HEAP_STACK(1));
        else
            heap_allocation(&records[0], &usual, step, 7, 16 * block, 64, HEAP_STACK(1));
        in_use[block] = !in_use[block];
        wrong += profile_ingest_record(heard.ingest, &records[0].record, NULL) != PROFILE_OK;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(profile_ingest_notices(heard.ingest)->unknown_frees, 0);
    ck_assert_uint_eq(profile_ingest_notices(heard.ingest)->repeated_blocks, 0);
    forget(&heard);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("profile_heap");
    TCase *tcase = tcase_create("heap");

    tcase_add_loop_test(tcase, tells_allocations_and_what_ends_them, FIDL_GENERATION_1,
                        FIDL_GENERATION_2 + 1);
    tcase_add_test(tcase, keeps_equal_addresses_of_two_processes_apart);
    tcase_add_test(tcase, takes_an_address_that_comes_again_for_released);
    tcase_add_test(tcase, counts_releases_of_unknown_blocks);
    tcase_add_loop_test(tcase, weighs_by_size_and_interval, 0, COUNT_OF(weights));
    tcase_add_test(tcase, weighs_nothing_without_sampling);
    tcase_add_test(tcase, looks_every_address_up_one_byte_before);
    tcase_add_test(tcase, takes_a_recorded_stream_for_one_process_without_times);
    tcase_add_test(tcase, passes_by_what_filters_leave_out);
    tcase_add_test(tcase, takes_the_interval_of_the_session);
    tcase_add_loop_test(tcase, knows_a_stack_that_was_cut, 0, COUNT_OF(depths));
    tcase_add_test(tcase, adds_modules_of_several_messages);
    tcase_add_test(tcase, passes_by_modules_that_make_no_sense);
    tcase_add_test(tcase, tells_what_is_in_use_at_the_end);
    tcase_add_test(tcase, adds_up_what_the_capture_lost);
    tcase_add_test(tcase, counts_messages_that_are_none);
    tcase_add_loop_test(tcase, counts_messages_that_lack_members, 0, 2);
    tcase_add_test(tcase, finds_every_block_among_many);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
