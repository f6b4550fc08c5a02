/* Samples: which address is looked up how, cut stacks, what captures say, names, filters.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/describe.h"
#include "tests/support/hex_text.h"
#include "tests/support/profile_records.h"

static struct taken taken;

static void take(const struct fxt_record *records, size_t count,
                 const struct profile_ingest_options *options)
{
    struct profile_error error;

    if (!taken.profile)
        ck_assert_int_eq(profile_open(&taken.profile, &error), PROFILE_OK);
    ck_assert_int_eq(take_more(&taken, records, count, options), PROFILE_OK);
}

static void release(void)
{
    taken_release(&taken);
}

static void expect(enum profile_root root, int value, const char *folded)
{
    char *text = folded_of(&taken, PROFILE_CPU, root, value);

    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, folded);
    free(text);
}

/* A session instant with these arguments.  */
static struct fxt_record session(struct fxt_arg *args, size_t count)
{
    return event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, count);
}

/* ---- Lookup addresses ---- */

/* Every byte of [0x1000, 0x1004) is a module of its own: the text tells what was looked up.  */
static const struct {
    const char *what;
    const char *arch; /* of the session; NULL: none */
    const char *folded;
    bool sampler;
    bool option; /* options.arm64 */
} lookups[] = {
    { "backtrace", NULL, "[0];[1];[3] 1\n", false, false },
    { "backtrace of arm64", "aarch64", "[0];[1];[3] 1\n", false, false },
    { "kernel sampler", NULL, "[0];[1];[3] 1\n", true, false },
    { "kernel sampler of x86", "x86_64", "[0];[1];[3] 1\n", true, false },
    { "kernel sampler of aarch64", "aarch64", "[0];[2];[3] 1\n", true, false },
    { "kernel sampler of arm64", "arm64", "[0];[2];[3] 1\n", true, false },
    { "kernel sampler, arm64 by option", NULL, "[0];[2];[3] 1\n", true, true },
    { "the session knows better than the option", "x86_64", "[0];[1];[3] 1\n", true, true },
};

START_TEST(subtracts_one_from_return_addresses_once)
{
    static const uint64_t pcs[] = { 0x1003, 0x1002, 0x1001 };
    static const char *const names[] = { "0", "1", "2", "3" };
    struct profile_ingest_options options = { .size = sizeof options, .arm64 = lookups[_i].option };
    struct fxt_arg args[1];
    struct fxt_record records[10];
    size_t count = 0;

    if (lookups[_i].arch) {
        args[0] = string_arg("arch", lookups[_i].arch);
        records[count++] = session(args, 1);
    }
    for (uint16_t i = 0; i < 4; i++) {
        records[count++] = module_record(1, i, names[i], names[i]);
        records[count++] = mapping_record(1, i, 0x1000 + i, 1, 0);
    }
    records[count++] = lookups[_i].sampler ? sampler_record(1, 1, 1, pcs, 3)
                                           : backtrace_record(1, 1, 1, pcs, 3);
    take(records, count, &options);
    expect(PROFILE_ROOT_NONE, 0, lookups[_i].folded);
}
END_TEST

/* ---- Cut stacks ---- */

static const struct {
    size_t depth;
    unsigned max_frames; /* of the session; 0: none */
    bool sampler;
    bool cut;
} depths[] = {
    { 63, 0, true, false },  { 64, 0, true, true },    { 9, 10, true, false },
    { 10, 10, true, true },  { 64, 127, true, false }, { 254, 0, false, false },
    { 255, 0, false, true }, { 19, 20, false, false }, { 20, 20, false, true },
};

START_TEST(puts_a_root_above_stacks_that_were_cut)
{
    static uint64_t pcs[255];
    struct fxt_arg args[] = { u64_arg("max_frames", depths[_i].max_frames) };
    struct fxt_record records[] = {
        session(args, depths[_i].max_frames ? 1 : 0),
        depths[_i].sampler ? sampler_record(1, 1, 1, pcs, depths[_i].depth)
                           : backtrace_record(1, 1, 1, pcs, depths[_i].depth),
    };
    char *text;

    for (size_t i = 0; i < COUNT_OF(pcs); i++)
        pcs[i] = 0x1000 + i;
    take(records, 2, NULL);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_int_eq(strncmp(text, "[truncated];[unknown];", 22) == 0, depths[_i].cut);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->truncated_stacks, depths[_i].cut);
    free(text);
}
END_TEST

/* The same addresses, cut once and whole once, are two stacks.  */
START_TEST(keeps_cut_and_whole_stacks_apart)
{
    static const uint64_t pcs[] = { 0x1000, 0x2000 };
    struct fxt_arg args[] = { u64_arg("max_frames", 2) };
    struct fxt_record records[] = {
        backtrace_record(1, 1, 1, pcs, 2), session(args, 1), backtrace_record(1, 1, 1, pcs, 2),
        backtrace_record(1, 1, 1, pcs, 2), session(args, 0), backtrace_record(1, 1, 1, pcs, 2),
    };

    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_NONE, 0, "[truncated];[unknown];[unknown] 2\n[unknown];[unknown] 2\n");
    ck_assert_uint_eq(profile_stack_count(taken.profile, PROFILE_CPU), 2);
}
END_TEST

/* ---- Code that is in no file ---- */

static struct fxt_record code_record(uint64_t process, const char *lines)
{
    struct fxt_record record = { .kind = FXT_RECORD_LARGE_BLOB,
                                 .category = text_of("fxt.capture"),
                                 .name = text_of("code_symbols"),
                                 .thread = { .process = process } };

    record.value.large_blob.payload.bytes = (const uint8_t *)lines;
    record.value.large_blob.payload.length = strlen(lines);
    return record;
}

/* Lists come last, and in pieces; a later line replaces an earlier one.  */
START_TEST(names_code_of_no_file)
{
    static const uint64_t pcs[] = { 0x1000, 0x2010, 0x3010, 0x4000 };
    const struct fxt_record records[] = {
        backtrace_record(1, 1, 11, pcs, 4),
        backtrace_record(1, 2, 21, pcs, 1),
        code_record(1, "1000 10 JS:~old /x.js:1\n2000 10 caller of all\n3000 8 short"),
        code_record(1, "FF0 20 JS:*new /x.js:1\n"),
        code_record(3, "1000 10 elsewhere\n"),
    };

    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_NONE, 0,
           "[unknown] 1\n[unknown];[unknown];caller of all;JS:*new /x.js:1 1\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->odd_code_symbols, 0);
}
END_TEST

/* Names of files that only the recorder had are used where a module is mapped; those of code of no
 * file are not, nor the other way round.  */
START_TEST(names_code_of_files_that_are_not_here)
{
    static const uint64_t pcs[] = { 0x1000, 0x2010 };
    struct fxt_record file = code_record(1, "1000 10 nowhere\n");
    struct fxt_record records[3] = { backtrace_record(1, 1, 11, pcs, 2),
                                     code_record(1, "2000 10 made\n") };

    file.name = text_of("file_symbols");
    records[2] = file;
    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_NONE, 0, "made;[unknown] 1\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->odd_code_symbols, 0);
}
END_TEST

static const char *const bad_lines[] = {
    "x 1 name",
    "1000 name",
    "1000 0 name",
    "1000 1 ",
    "1000 1",
    "10000000000000000 1 name",
    "",
    " 1 1 name",
    "ffffffffffffffff 2 past the end",
    "1000 -1 name",
};

START_TEST(counts_lines_that_name_nothing)
{
    static const uint64_t pc = 0x1000;
    char lines[128];
    struct fxt_record records[2] = { backtrace_record(1, 1, 11, &pc, 1) };

    (void)snprintf(lines, sizeof lines, "%s\n1000 1 good\n", bad_lines[_i]);
    records[1] = code_record(1, lines);
    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_NONE, 0, "good 1\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->odd_code_symbols, 1);
}
END_TEST

/* ---- What is no sample ---- */

START_TEST(case_62_counts_what_it_cannot_use)
{
    static const uint64_t pc = 0x1000;
    struct fxt_record odd = sampler_record(1, 1, 1, &pc, 1), empty = odd, named = odd, raw = odd;
    struct fxt_record log = { .kind = FXT_RECORD_LOG }, magic = { .kind = FXT_RECORD_MAGIC };
    struct fxt_record counter = event_record(FXT_EVENT_COUNTER, "c", "lost", NULL, 0);

    odd.value.large_blob.payload.length = 7;
    empty.value.large_blob.payload.length = 0;
    named.name = text_of("x");
    raw.category = text_of("cpu_profiler");
    raw.name = text_of("stack_sample");
    const struct fxt_record records[] = {
        odd, empty, named, raw, log, magic, counter, backtrace_record(1, 1, 1, NULL, 0),
    };
    take(records, COUNT_OF(records), NULL);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 0);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->odd_payloads, 1);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->stack_captures, 1);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->unhandled_records, 5);
}
END_TEST

/* ---- A kernel sampler's bytes ---- */

/* Two regions as they lie in memory: no magic, no initialization, zeros behind the records, and one
 * payload that is not whole words.  */
START_TEST(case_61_takes_the_regions_of_a_kernel_sampler)
{
    static const char stream[] =
        "8f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  64 00 00 00 00 00 00 00 "
        "4d 00 00 00 00 00 00 00  4e 00 00 00 00 00 00 00  10 00 00 00 00 00 00 00 "
        "34 12 00 00 00 00 00 00  21 01 00 00 00 00 00 00 "
        "7f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  65 00 00 00 00 00 00 00 "
        "4d 00 00 00 00 00 00 00  4e 00 00 00 00 00 00 00  07 00 00 00 00 00 00 00 "
        "34 12 00 00 00 00 00 00 "
        "00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 "
        "7f 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  63 00 00 00 00 00 00 00 "
        "4d 00 00 00 00 00 00 00  4f 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00 "
        "34 12 00 00 00 00 00 00  00 00 00 00 00 00 00 00";
    struct fxt_record records[6];
    uint8_t bytes[512];
    size_t count = 0;
    struct source source;
    struct fxt_input *input = open_bytes(&source, bytes, hex_bytes(stream, bytes, sizeof bytes), 0);
    struct fxt_reader *reader;
    const struct fxt_record *record;

    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    ck_assert_int_eq(take_records(NULL, 0, NULL, &taken), PROFILE_OK);
    while (count < COUNT_OF(records) && fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        records[count] = *record; /* the window holds them all */
        take(&records[count++], 1, NULL);
    }
    ck_assert_uint_eq(count, 5); /* a magic and a provider record are added */
    ck_assert_uint_eq(fxt_reader_damage(reader)->kinds[FXT_DAMAGE_ZERO_WORDS].count, 3);
    ck_assert_uint_eq(fxt_damage_total(fxt_reader_damage(reader), false), 0);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 2);
    expect(PROFILE_ROOT_THREAD, 0,
           "pid-77;tid-78;[unknown];[unknown] 1\npid-77;tid-79;[unknown] 1\n");
    take(records, count, NULL); /* once more, as one trace */
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->odd_payloads, 1);
    fxt_reader_close(reader);
    fxt_input_close(input);
}
END_TEST

/* ---- Names ---- */

START_TEST(case_63_names_processes_and_threads_whenever_the_name_comes)
{
    static const uint64_t pc = 0x1000;
    struct fxt_arg owner[1];
    const struct fxt_record records[] = {
        process_record(1, "early"),
        backtrace_record(1, 1, 11, &pc, 1),
        backtrace_record(1, 2, 21, &pc, 1),
        backtrace_record(1, 2, 11, &pc, 1),
        backtrace_record(1, 3, 31, &pc, 1),
        process_record(2, "late"),
        thread_record(11, "worker one", NULL, 0), /* of any process */
        thread_record(11, "own", owner, 2),       /* of process 2 alone */
        process_record(1, "renamed later"),
        process_record(1, ""), /* no name: the last one stays */
    };

    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_THREAD, 0,
           "late;own;[unknown] 1\nlate;tid-21;[unknown] 1\npid-3;tid-31;[unknown] 1\n"
           "renamed_later;worker_one;[unknown] 1\n");
}
END_TEST

static enum profile_status count_call(void *context, const struct profile_thread *thread)
{
    unsigned *calls = context;

    *calls += 1;
    ck_assert_uint_eq(thread->koid, 5);
    return PROFILE_OK;
}

static enum profile_status ignore_sample(void *context, const struct profile_sample *sample)
{
    (void)context;
    (void)sample;
    return PROFILE_OK;
}

/* Else a hostile trace has them told as often as there are threads times names.  */
START_TEST(tells_threads_of_one_koid_their_name_once)
{
    static const uint64_t pc = 0x1000;
    char name[16];
    unsigned calls = 0;
    struct profile_sink sink = {
        .size = sizeof sink, .context = &calls, .thread = count_call, .sample = ignore_sample
    };
    struct profile_ingest *ingest;

    ck_assert_int_eq(profile_open(&taken.profile, NULL), PROFILE_OK);
    ck_assert_int_eq(
        profile_ingest_open(&sink, profile_stacks_of(taken.profile), NULL, &ingest, NULL),
        PROFILE_OK);
    for (uint64_t i = 1; i <= 50; i++) {
        const struct fxt_record sample = backtrace_record(1, i, 5, &pc, 1);
        (void)snprintf(name, sizeof name, "name %u", (unsigned)i);
        const struct fxt_record thread = thread_record(5, name, NULL, 0);

        ck_assert_int_eq(profile_ingest_record(ingest, &sample, NULL), PROFILE_OK);
        ck_assert_int_eq(profile_ingest_record(ingest, &thread, NULL), PROFILE_OK);
    }
    ck_assert_uint_eq(calls, 50);
    ck_assert_int_eq(profile_ingest_finish(ingest, NULL), PROFILE_OK);
    ck_assert_uint_eq(calls, 100);
    profile_ingest_close(ingest);
}
END_TEST

/* koid = pid | incarnation << 32 */
START_TEST(shows_the_pid_of_an_incarnation)
{
    static const uint64_t pc = 0x1000;
    const struct fxt_record records[] = {
        backtrace_record(1, 5 | UINT64_C(1) << 32, 6, &pc, 1),
        backtrace_record(1, 5, 6, &pc, 1),
    };

    take(records, COUNT_OF(records), NULL);
    expect(PROFILE_ROOT_PROCESS, 0, "pid-5;[unknown] 2\n");
}
END_TEST

/* ---- Filters ---- */

START_TEST(takes_only_chosen_processes_and_threads)
{
    static const uint64_t pc = 0x1000, pids[] = { 9, 1 }, tids[] = { 11, 91 };
    const struct fxt_record records[] = {
        backtrace_record(1, 1 | UINT64_C(7) << 32, 11, &pc, 1), /* any incarnation */
        backtrace_record(1, 1, 12, &pc, 1),
        backtrace_record(1, 2, 11, &pc, 1),
        backtrace_record(1, 9, 91, &pc, 1),
        complete_record(0, 5, 2, 11, "other"),
        complete_record(0, 5, 1, 11, "mine"),
    };
    struct profile_ingest_options options = { .size = sizeof options };
    char *text;

    options.pids = pids;
    options.pid_count = 2;
    take(records, COUNT_OF(records), &options);
    expect(PROFILE_ROOT_PROCESS, 0, "pid-1;[unknown] 2\npid-9;[unknown] 1\n");
    release();
    options.tids = tids;
    options.tid_count = 2;
    take(records, COUNT_OF(records), &options);
    expect(PROFILE_ROOT_THREAD, 0, "pid-1;tid-11;[unknown] 1\npid-9;tid-91;[unknown] 1\n");
    text = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_NONE, 1);
    ck_assert_str_eq(text, "mine 5\n");
    free(text);
}
END_TEST

/* ---- What captures say ---- */

START_TEST(weighs_samples_with_the_period_where_there_is_one)
{
    static const uint64_t pc = 0x1000;
    struct fxt_arg args[] = { u64_arg("period_ns", 1000000) };
    const struct fxt_record weighed[] = { session(args, 1), backtrace_record(1, 1, 1, &pc, 1),
                                          backtrace_record(2, 1, 1, &pc, 1) };
    struct bytes top = { .bytes = NULL };

    take(weighed, 3, NULL);
    expect(PROFILE_ROOT_PROCESS, -1, "pid-1;[unknown] 2000000\n");
    expect(PROFILE_ROOT_PROCESS, 0, "pid-1;[unknown] 2\n");
    ck_assert_int_eq(profile_write_top(taken.profile, PROFILE_CPU, NULL, collect_bytes, &top, NULL),
                     PROFILE_OK);
    ck_assert_ptr_nonnull(strstr(top.bytes, "Type: cpu, total 2.00ms, 1 of 1 function\n"));
    free(top.bytes);
    /* One more trace, without: nanoseconds would be wrong for its samples.  */
    take(weighed + 1, 1, NULL);
    expect(PROFILE_ROOT_PROCESS, -1, "pid-1;[unknown] 3\n");
    ck_assert_ptr_null(folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 1));
}
END_TEST

static enum profile_status keep_capture(void *context, const struct profile_capture *capture)
{
    struct profile_capture *kept = context;

    *kept = *capture; /* its strings are those of the test */
    return PROFILE_OK;
}

START_TEST(tells_where_a_capture_was_made)
{
    struct fxt_arg args[] = { string_arg("kernel", "6.1.0"), string_arg("cpu_model", "Xeon") };
    struct fxt_record record = session(args, 2);
    struct profile_capture capture = { .period_ns = 7 };
    struct profile_sink sink = { .size = sizeof sink,
                                 .context = &capture,
                                 .capture = keep_capture };
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;

    ck_assert_int_eq(profile_stacks_open(&stacks, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_open(&sink, stacks, NULL, &ingest, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_record(ingest, &record, NULL), PROFILE_OK);
    ck_assert_uint_eq(capture.period_ns, 0);
    ck_assert_str_eq(capture.kernel.bytes, "6.1.0");
    ck_assert_str_eq(capture.cpu_model.bytes, "Xeon");
    profile_ingest_close(ingest);
    profile_stacks_close(stacks);
}
END_TEST

/* What fxtdiff lives on: the values of a trace are what it added.  */
START_TEST(values_keep_their_places_when_a_trace_joins)
{
    static const uint64_t pc = 0x1000, deep[] = { 0x1000, 0x2000 };
    struct fxt_arg args[] = { u64_arg("period_ns", 1000000) };
    const struct fxt_record first[] = { session(args, 1), backtrace_record(1, 1, 2, &pc, 1) };
    const struct fxt_record second[] = { session(args, 1), backtrace_record(1, 1, 2, deep, 2),
                                         backtrace_record(2, 1, 2, &pc, 1) };
    struct profile_sample_type types[PROFILE_MAX_TYPES];
    struct profile_stack_value value;

    take(first, 2, NULL);
    ck_assert_uint_eq(profile_value_count(taken.profile, PROFILE_CPU), 1);
    take_more(&taken, second, 3, NULL);
    ck_assert_uint_eq(profile_value_count(taken.profile, PROFILE_CPU), 2);
    ck_assert_uint_eq(profile_sample_types(taken.profile, PROFILE_CPU, types), 2);
    ck_assert_str_eq(types[1].type, "cpu");
    ck_assert_str_eq(types[1].unit, "nanoseconds");
    value = profile_get_value(taken.profile, PROFILE_CPU, 0);
    ck_assert_uint_eq(value.values[0], 2);
    ck_assert_uint_eq(value.values[1], 2000000);
    ck_assert_uint_eq(value.process_koid, 1);
    ck_assert_uint_eq(value.thread_koid, 2);
    ck_assert_uint_eq(profile_get_value(taken.profile, PROFILE_CPU, 1).values[0], 1);
}
END_TEST

START_TEST(adds_up_the_last_losses_of_each_cpu)
{
    struct fxt_arg first[] = { u64_arg("ring", 5), u64_arg("throttled", 1) };
    struct fxt_arg second[] = { u64_arg("ring", 7),       u64_arg("region_full", 2),
                                u64_arg("unreadable", 3), u64_arg("exited", 4),
                                u64_arg("sideband", 6),   u64_arg("stopped", 1) };
    struct fxt_record lost[] = {
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "lost", first, 2),
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "lost", second, 6),
        event_record(FXT_EVENT_COUNTER, "fxt.capture", "lost", first, 2),
        { .kind = FXT_RECORD_PROVIDER_EVENT },
        { .kind = FXT_RECORD_PROVIDER_EVENT },
        { .kind = FXT_RECORD_PROVIDER_EVENT },
    };
    const struct profile_loss *loss;

    lost[2].value.event.id = 3;       /* another CPU */
    lost[5].value.provider.event = 1; /* not a loss */
    take(lost, COUNT_OF(lost), NULL);
    take(lost + 2, 1, NULL); /* losses of several traces add up */
    loss = profile_loss_of(taken.profile);
    ck_assert_uint_eq(loss->ring, 7 + 5 + 5);
    ck_assert_uint_eq(loss->throttled, 3);
    ck_assert_uint_eq(loss->region_full, 2);
    ck_assert_uint_eq(loss->unreadable, 3);
    ck_assert_uint_eq(loss->exited, 4);
    ck_assert_uint_eq(loss->sideband, 6);
    ck_assert_uint_eq(loss->stopped, 1);
    ck_assert_uint_eq(loss->provider_events, 2);
}
END_TEST

START_TEST(merges_traces_taken_in_one_after_another)
{
    static const uint64_t pcs[] = { 0x1010, 0x5021 };
    const struct fxt_record first[] = { module_record(1, 0, "m", "M"),
                                        mapping_record(1, 0, 0x1000, 0x8000, 0),
                                        backtrace_record(1, 1, 1, pcs, 2) };
    const struct fxt_record second[] = { module_record(1, 4, "m", "M"),
                                         mapping_record(1, 4, 0x1000, 0x8000, 0),
                                         backtrace_record(1, 1, 1, pcs, 2) };

    take(first, 3, NULL);
    take(second, 3, NULL);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 2);
    ck_assert_uint_eq(profile_stack_count(taken.profile, PROFILE_CPU), 1);
}
END_TEST

/* A trace that cannot be taken in to its end, as when the disk for sorting is full.  */
START_TEST(forgets_a_trace_that_was_given_up)
{
    static const uint64_t given_up[] = { 0x1000, 0x1001 }, kept = 0x2000;
    const struct fxt_record records[] = { module_record(1, 0, "m", "M"),
                                          mapping_record(1, 0, 0x1000, 0x8000, 0),
                                          backtrace_record(9, 1, 1, &kept, 1) };
    const struct fxt_record lost[] = { backtrace_record(1, 1, 1, given_up, 2),
                                       backtrace_record(1, 1, 1, given_up, 1) };
    struct profile_sink sink;
    struct profile_ingest *ingest;
    char *text;

    ck_assert_int_eq(take_records(NULL, 0, NULL, &taken), PROFILE_OK);
    profile_sink_of(taken.profile, &sink);
    ck_assert_int_eq(
        profile_ingest_open(&sink, profile_stacks_of(taken.profile), NULL, &ingest, NULL),
        PROFILE_OK);
    for (size_t i = 0; i < COUNT_OF(lost); i++)
        ck_assert_int_eq(profile_ingest_record(ingest, &lost[i], NULL), PROFILE_OK);
    profile_ingest_close(ingest);
    take(records, COUNT_OF(records), NULL);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 1);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_str_eq(text, "[m] 1\n");
    free(text);
}
END_TEST

/* Samples of two processes and three threads, some of them deep; the modules of one process come at
 * the end, those of the other are replaced in the middle, where the period comes.  Returns how many
 * records.  */
static size_t make_crowd(struct fxt_record *records, struct fxt_arg *args)
{
    static const uint64_t stacks[][3] = { { 0x1001, 0x1101, 0x1201 },
                                          { 0x1101, 0x1201, 0x1301 },
                                          { 0x1301, 0x1101, 0x1101 },
                                          { 0x9001, 0x1101, 0x1201 } };
    static uint64_t deep[128];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(deep); i++)
        deep[i] = 0x1001 + 0x10 * i;
    records[count++] = module_record(1, 0, "m", "0102030405060708");
    records[count++] = mapping_record(1, 0, 0x1000, 0x1000, 0);
    for (unsigned i = 0; i < 60; i++) {
        if (i % 20 == 13)
            records[count++] = backtrace_record(i, 1, 10, deep, 60 + i);
        if (i == 27) {
            records[count++] = module_record(1, 1, "o", "1112131415161718");
            records[count++] = mapping_record(1, 1, 0x1000, 0x200, 0);
        }
        if (i == 30) {
            args[0] = u64_arg("period_ns", 1000);
            records[count++] = session(args, 1);
        }
        records[count++] = backtrace_record(i, 1 + i % 2, 10 + i % 3, stacks[i * i % 11 % 4],
                                            1 + i % 3);
    }
    records[count++] = module_record(2, 0, "n", "0807060504030201");
    records[count++] = mapping_record(2, 0, 0x1000, 0x1000, 0);
    return count;
}

/* But for whose they are, they are the same samples; over several traces, too.  */
START_TEST(leaves_out_whose_samples_they_are)
{
    struct fxt_record records[80];
    struct fxt_arg args[1];
    size_t count = make_crowd(records, args);
    char *whole[2], *text;

    for (int traces = 0; traces < 2; traces++)
        take(records, count, NULL);
    for (int value = 0; value < 2; value++)
        whole[value] = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, value ? -1 : 0);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 126);
    taken_release(&taken);

    ck_assert_int_eq(profile_open(&taken.profile, NULL), PROFILE_OK);
    profile_omit_threads(taken.profile);
    for (int traces = 0; traces < 2; traces++) {
        struct profile_ingest *given_up;
        struct profile_sink sink;

        profile_sink_of(taken.profile, &sink); /* of a trace that is not finished */
        ck_assert_ptr_null(sink.sample);
        ck_assert_int_eq(
            profile_ingest_open(&sink, profile_stacks_of(taken.profile), NULL, &given_up, NULL),
            PROFILE_OK);
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(profile_ingest_record(given_up, &records[i], NULL), PROFILE_OK);
        profile_ingest_close(given_up);
        take(records, count, NULL);
    }
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 126);
    for (int value = 0; value < 2; value++) {
        text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, value ? -1 : 0);
        ck_assert_str_eq(text, whole[value]);
        free(text);
        free(whole[value]);
    }
    for (size_t i = 0; i < profile_value_count(taken.profile, PROFILE_CPU); i++)
        ck_assert_uint_eq(profile_get_value(taken.profile, PROFILE_CPU, i).process_koid, 0);
}
END_TEST

START_TEST(refuses_records_after_the_end)
{
    const struct fxt_record record = process_record(1, "a");
    struct profile_error error;

    take(&record, 1, NULL);
    ck_assert_int_eq(profile_ingest_record(taken.ingest, &record, &error), PROFILE_INVALID);
    ck_assert_str_eq(error.message, "a record after the end of the trace");
    ck_assert_int_eq(profile_ingest_finish(taken.ingest, &error), PROFILE_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_samples");
    TCase *tcase = tcase_create("samples");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, subtracts_one_from_return_addresses_once, 0, (int)COUNT_OF(lookups));
    tcase_add_loop_test(tcase, puts_a_root_above_stacks_that_were_cut, 0, (int)COUNT_OF(depths));
    tcase_add_test(tcase, keeps_cut_and_whole_stacks_apart);
    tcase_add_test(tcase, case_61_takes_the_regions_of_a_kernel_sampler);
    tcase_add_test(tcase, names_code_of_no_file);
    tcase_add_test(tcase, names_code_of_files_that_are_not_here);
    tcase_add_loop_test(tcase, counts_lines_that_name_nothing, 0,
                        sizeof bad_lines / sizeof *bad_lines);
    tcase_add_test(tcase, case_62_counts_what_it_cannot_use);
    tcase_add_test(tcase, case_63_names_processes_and_threads_whenever_the_name_comes);
    tcase_add_test(tcase, tells_threads_of_one_koid_their_name_once);
    tcase_add_test(tcase, shows_the_pid_of_an_incarnation);
    tcase_add_test(tcase, takes_only_chosen_processes_and_threads);
    tcase_add_test(tcase, weighs_samples_with_the_period_where_there_is_one);
    tcase_add_test(tcase, tells_where_a_capture_was_made);
    tcase_add_test(tcase, values_keep_their_places_when_a_trace_joins);
    tcase_add_test(tcase, adds_up_the_last_losses_of_each_cpu);
    tcase_add_test(tcase, merges_traces_taken_in_one_after_another);
    tcase_add_test(tcase, forgets_a_trace_that_was_given_up);
    tcase_add_test(tcase, leaves_out_whose_samples_they_are);
    tcase_add_test(tcase, refuses_records_after_the_end);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
