/* Spans: begins and ends brought together, self times exact.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/profile_records.h"

#define B(ts, name)      begin_record(ts, 1, 1, name)
#define E(ts, name)      end_record(ts, 1, 1, name)
#define X(ts, end, name) complete_record(ts, end, 1, 1, name)
#define MAX_RECORDS      8

/* Records, self times as folded text, counts as folded text, notices.  */
static struct {
    const char *what;
    struct fxt_record records[MAX_RECORDS];
    const char *self;
    const char *counts;
    struct profile_notices notices;
} cases[64];
static size_t case_count;

static void add_case(const char *what, const struct fxt_record *records, size_t count,
                     const char *self, const char *counts, struct profile_notices notices)
{
    cases[case_count].what = what;
    memcpy(cases[case_count].records, records, count * sizeof *records);
    cases[case_count].self = self;
    cases[case_count].counts = counts;
    cases[case_count++].notices = notices;
}

#define CASE(what, self, counts, notices, ...)                       \
    do {                                                             \
        const struct fxt_record list[] = { __VA_ARGS__ };            \
        add_case(what, list, COUNT_OF(list), self, counts, notices); \
    } while (0)
static const struct profile_notices none;
static const struct profile_notices stray = { .stray_ends = 1 };
static const struct profile_notices crossing = { .crossing_slices = 1 };
static const struct profile_notices both = { .crossing_slices = 1, .stray_ends = 1 };
static const struct profile_notices unfinished = { .unfinished_slices = 1 };

static void make_cases(void)
{
    CASE("one", "a 10\n", "a 1\n", none, B(0, "a"), E(10, "a"));
    CASE("nested", "a 6\na;b 4\n", "a 1\na;b 1\n", none, B(0, "a"), B(2, "b"), E(6, "b"),
         E(10, "a"));
    CASE("completes, inner one written first", "a 6\na;b 4\n", "a 1\na;b 1\n", none, X(2, 6, "b"),
         X(0, 10, "a"));
    CASE("case 43: ends at times before their begins in the file", "a 6\na;b 4\n", "a 1\na;b 1\n",
         none, E(6, "b"), E(10, "a"), B(0, "a"), B(2, "b"));
    CASE("siblings that touch", "a 5\nb 5\n", "a 1\nb 1\n", none, B(0, "a"), E(5, "a"), B(5, "b"),
         E(10, "b"));
    CASE("completes that touch, later one written first", "a 5\nb 5\n", "a 1\nb 1\n", none,
         X(5, 10, "b"), X(0, 5, "a"));
    CASE("a complete ends where a begin follows", "a 5\nb 5\n", "a 1\nb 1\n", none, B(5, "b"),
         X(0, 5, "a"), E(10, "b"));
    CASE("case 42: equal begins in file order", "a;b 10\n", "a 1\na;b 1\n", none, B(0, "a"),
         B(0, "b"), E(10, "b"), E(10, "a"));
    CASE("completes that begin together: the longer one is outside", "a 6\na;b 4\n", "a 1\na;b 1\n",
         none, X(0, 4, "b"), X(0, 10, "a"));
    CASE("three completes that begin together, inner first", "a 1\na;b 1\na;b;c 8\n",
         "a 1\na;b 1\na;b;c 1\n", none, X(0, 8, "c"), X(0, 9, "b"), X(0, 10, "a"));
    CASE("completes of equal times, in file order", "a;b 10\n", "a 1\na;b 1\n", none, X(0, 10, "a"),
         X(0, 10, "b"));
    CASE("an empty complete", "a 10\n", "a 1\na;i 1\n", none, B(0, "a"), X(5, 5, "i"), E(10, "a"));
    CASE("an empty complete at its parent's begin and one at its end", "a 10\n",
         "a 1\na;i 1\na;j 1\n", none, B(0, "a"), X(0, 0, "i"), X(10, 10, "j"), E(10, "a"));
    CASE("nothing but an empty complete", "", "i 1\n", none, X(5, 5, "i"));
    CASE("empty completes of one time are no children of each other", "", "i 1\nj 1\n", none,
         X(5, 5, "i"), X(5, 5, "j"));
    CASE("an empty begin and end", "", "a 1\n", none, B(5, "a"), E(5, "a"));
    CASE("an end closes the innermost of its name", "a 6\na;a 4\n", "a 1\na;a 1\n", none, B(0, "a"),
         B(2, "a"), E(6, "a"), E(10, "a"));
    CASE("case 42: an end closes what is open above it", "a 2\na;b 8\n", "a 1\na;b 1\n", crossing,
         B(0, "a"), B(2, "b"), E(10, "a"));
    CASE("its own end is then a stray", "a 2\na;b 8\n", "a 1\na;b 1\n", both, B(0, "a"), B(2, "b"),
         E(10, "a"), E(12, "b"));
    CASE("case 42: a stray end changes nothing", "a 10\n", "a 1\n", stray, B(0, "a"), E(5, "b"),
         E(10, "a"));
    CASE("an end does not close a complete of its name", "a 4\na;a 6\n", "a 1\na;a 1\n", crossing,
         B(0, "a"), X(4, 20, "a"), E(10, "a"));
    CASE("ends without a name close the innermost begin", "a 6\na;b 4\n", "a 1\na;b 1\n", none,
         B(0, "a"), B(2, "b"), E(6, ""), E(10, ""));
    CASE("beside ends with names", "a 4\na;b 3\na;c 3\n", "a 1\na;b 1\na;c 1\n", none, B(0, "a"),
         B(2, "b"), E(5, ""), B(6, "c"), E(9, "c"), E(10, ""));
    CASE("begins without a name", "[unknown] 6\n[unknown];b 4\n", "[unknown] 1\n[unknown];b 1\n",
         none, B(0, ""), B(2, "b"), E(6, ""), E(10, ""));
    CASE("an end without a name leaves completes alone", "a 4\na;c 6\n", "a 1\na;c 1\n", both,
         B(0, "a"), X(4, 20, "c"), E(10, ""), E(12, ""));
    CASE("a stray end without a name", "a 10\n", "a 1\n", stray, E(0, ""), X(0, 10, "a"));
    CASE("a child that outlives its parent is cut", "a 6\na;b 4\n", "a 1\na;b 1\n", crossing,
         X(0, 10, "a"), X(6, 15, "b"));
    CASE("a complete closes a begin inside it", "a 6\na;b 4\n", "a 1\na;b 1\n", both, X(0, 10, "a"),
         B(6, "b"), E(12, "b"));
    CASE("ends together with the complete around it", "a 6\na;b 4\n", "a 1\na;b 1\n", none,
         X(0, 10, "a"), B(6, "b"), E(10, "b"));
    CASE("ends together with the complete inside it", "a 6\na;b 4\n", "a 1\na;b 1\n", none,
         B(0, "a"), X(6, 10, "b"), E(10, "a"));
    CASE("case 42: never ended: lasts to the end of the trace", "a 5\nb 5\n", "a 1\nb 1\n",
         unfinished, B(0, "a"), E(5, "a"), B(15, "b"),
         event_record(FXT_EVENT_INSTANT, "c", "i", NULL, 0), backtrace_record(20, 1, 1, NULL, 0));
    CASE("negative times", "a 10\n", "a 1\n", none, B(-15, "a"), E(-5, "a"));
    CASE("the longest time there is", "a 9223372036854775807\n", "a 1\n", none, B(INT64_MIN, "a"),
         E(INT64_MAX, "a"));
    CASE("a begin that never ends beside a complete at the end of time", "a 9223372036854775807\n",
         "a 1\na;b 1\n", unfinished, B(INT64_MIN, "a"), X(INT64_MAX, INT64_MAX, "b"));
    CASE("threads and processes have stacks of their own", "a 10\nb 6\n", "a 1\nb 1\nc 1\n", none,
         B(0, "a"), begin_record(2, 1, 2, "b"), begin_record(3, 2, 1, "c"),
         end_record(3, 2, 1, "c"), end_record(8, 1, 2, "b"), E(10, "a"));
}

START_TEST(gives_each_moment_to_the_innermost_slice)
{
    size_t count = 0;
    struct taken taken;
    const struct profile_notices *notices;

    while (count < MAX_RECORDS && cases[_i].records[count].kind != FXT_RECORD_UNKNOWN)
        count++;
    ck_assert_int_eq(take_records(cases[_i].records, count, NULL, &taken), PROFILE_OK);
    char *self = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_NONE, 1);
    char *counts = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_NONE, 0);

    notices = profile_ingest_notices(taken.ingest);
    ck_assert_msg(strcmp(self, cases[_i].self) == 0, "%s: self\n%s", cases[_i].what, self);
    ck_assert_msg(strcmp(counts, cases[_i].counts) == 0, "%s: counts\n%s", cases[_i].what, counts);
    ck_assert_msg(notices->stray_ends == cases[_i].notices.stray_ends, "%s: strays",
                  cases[_i].what);
    ck_assert_msg(notices->crossing_slices == cases[_i].notices.crossing_slices, "%s: crossing",
                  cases[_i].what);
    ck_assert_msg(notices->unfinished_slices == cases[_i].notices.unfinished_slices,
                  "%s: unfinished", cases[_i].what);
    free(self);
    free(counts);
    taken_release(&taken);
}
END_TEST

/* ---- Slices as the sink gets them ---- */

struct slices {
    struct profile_span items[16];
    size_t count;
};

static enum profile_status keep_slice(void *context, const struct profile_span *slice)
{
    struct slices *slices = context;

    slices->items[slices->count++] = *slice;
    return slices->count == 16 ? PROFILE_STOPPED : PROFILE_OK;
}

static enum profile_status ingest_into(struct slices *slices, const struct fxt_record *records,
                                       size_t count, struct profile_error *error)
{
    struct profile_sink sink = { .size = sizeof sink, .context = slices, .span = keep_slice };
    struct profile_stacks *stacks;
    struct profile_ingest *ingest;
    enum profile_status status;

    ck_assert_int_eq(profile_stacks_open(&stacks, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_ingest_open(&sink, stacks, NULL, &ingest, NULL), PROFILE_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(profile_ingest_record(ingest, &records[i], NULL), PROFILE_OK);
    status = profile_ingest_finish(ingest, error);
    profile_ingest_close(ingest);
    profile_stacks_close(stacks);
    return status;
}

START_TEST(keeps_slices_whole_that_the_profile_cuts)
{
    const struct fxt_record records[] = { X(0, 10, "a"), X(6, 15, "b"), B(20, "c") };
    struct slices slices = { .count = 0 };

    ck_assert_int_eq(ingest_into(&slices, records, COUNT_OF(records), NULL), PROFILE_OK);
    ck_assert_uint_eq(slices.count, 3);
    ck_assert_int_eq(slices.items[0].start_ns, 6); /* children before parents */
    ck_assert_int_eq(slices.items[0].end_ns, 15);
    ck_assert_int_eq(slices.items[0].self_ns, 4);
    ck_assert_int_eq(slices.items[1].end_ns, 10);
    ck_assert_int_eq(slices.items[1].self_ns, 6);
    ck_assert(!slices.items[1].unfinished);
    ck_assert(slices.items[2].unfinished);
    ck_assert_int_eq(slices.items[2].end_ns, 20); /* the last time of the trace */
}
END_TEST

START_TEST(can_be_omitted)
{
    for (int omitted = 0; omitted < 2; omitted++) {
        struct profile *profile;
        struct profile_sink sink;

        ck_assert_int_eq(profile_open(&profile, NULL), PROFILE_OK);
        if (omitted)
            profile_omit_spans(profile);
        profile_sink_of(profile, &sink);
        ck_assert_int_eq(sink.span == NULL, omitted);
        ck_assert_int_eq(sink.off_cpu == NULL, omitted);
        ck_assert(sink.sample || sink.sample_sum);
        profile_close(profile);
    }
}
END_TEST

START_TEST(stops_when_the_sink_says_so)
{
    struct fxt_record records[40];
    struct slices slices = { .count = 0 };
    struct profile_error error;

    for (size_t i = 0; i < 40; i++)
        records[i] = X((int64_t)i, (int64_t)i, "a");
    ck_assert_int_eq(ingest_into(&slices, records, 40, &error), PROFILE_STOPPED);
    ck_assert_uint_eq(slices.count, 16);
    ck_assert_str_eq(error.message, "stopped by the receiver");
}
END_TEST

START_TEST(shows_names_that_were_never_registered)
{
    struct fxt_record records[] = { X(0, 10, ""), X(20, 25, "") };
    char *text;

    records[1].name = (struct fxt_string){ .bytes = "", .index = 12, .missing = true };
    text = folded_from(records, 2, PROFILE_SPAN);
    ck_assert_str_eq(text, "<string 12> 5\n[unknown] 10\n");
    free(text);
}
END_TEST

/* Flows say how slices belong together; whatever is wrong with them, slices stay as they are.  */
START_TEST(case_44_leaves_slices_alone_whatever_flows_say)
{
    static const struct {
        enum fxt_event_type type;
        uint64_t id;
        uint64_t process;
    } flows[] = {
        { FXT_EVENT_FLOW_STEP, 1, 1 }, /* before its begin */
        { FXT_EVENT_FLOW_BEGIN, 1, 1 }, { FXT_EVENT_FLOW_END, 1, 1 },
        { FXT_EVENT_FLOW_BEGIN, 1, 1 }, /* after its end */
        { FXT_EVENT_FLOW_BEGIN, 1, 2 }, /* in another process */
        { FXT_EVENT_FLOW_END, 1, 3 },   /* in one where it never began */
    };
    struct fxt_record records[2 + COUNT_OF(flows)] = { B(0, "a") };
    struct taken taken;
    char *text;

    for (size_t i = 0; i < COUNT_OF(flows); i++) {
        records[1 + i] = event_record(flows[i].type, "c", "a", NULL, 0);
        records[1 + i].ts_ns = 5;
        records[1 + i].value.event.id = flows[i].id;
        records[1 + i].thread.process = flows[i].process;
    }
    records[1 + COUNT_OF(flows)] = E(10, "a");
    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_NONE, 1);
    ck_assert_str_eq(text, "a 10\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->unhandled_records, COUNT_OF(flows));
    free(text);
    taken_release(&taken);
}
END_TEST

/* Deep recursion is real; endless begins are not.  */
START_TEST(leaves_out_what_is_deeper_than_any_stack)
{
    enum { DEPTH = 1000000, MORE = 5 };
    struct fxt_record begin = B(0, "a"), end = E(1, "a");
    struct taken taken;
    struct profile_sink sink;
    int failures = 0;

    ck_assert_int_eq(profile_open(&taken.profile, NULL), PROFILE_OK);
    profile_sink_of(taken.profile, &sink);
    ck_assert_int_eq(
        profile_ingest_open(&sink, profile_stacks_of(taken.profile), NULL, &taken.ingest, NULL),
        PROFILE_OK);
    for (int i = 0; i < 2 * (DEPTH + MORE); i++)
        failures += profile_ingest_record(taken.ingest, i < DEPTH + MORE ? &begin : &end, NULL) !=
                    PROFILE_OK;
    ck_assert_int_eq(failures, 0);
    ck_assert_int_eq(profile_ingest_finish(taken.ingest, NULL), PROFILE_OK);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->deep_slices, MORE);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->stray_ends, 0);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_SPAN), DEPTH);
    ck_assert_uint_eq(profile_stack_count(taken.profile, PROFILE_SPAN), DEPTH);
    taken_release(&taken);
}
END_TEST

/* ---- Against an oracle ----
 *
 * Random nested spans of several threads, written as begins and ends or as completes, shuffled by
 * thread.  Every nanosecond below HORIZON has an owner in a table of its own.  */

#define HORIZON 4000
#define THREADS 3
#define SPANS   ((size_t)100000)
#define NAMES   5

static unsigned long random_state;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(random_state >> 33) % limit;
}

struct generator {
    struct fxt_record *records;
    size_t count;
    uint64_t self[THREADS][NAMES]; /* by the name of the innermost span */
    uint64_t spans[NAMES];
};

static const char *const span_names[NAMES] = { "n0", "n1", "n2", "n3", "n4" };

/* Spans inside [start, end) of one thread, each with random children; what they leave is the
 * parent's.  Times are even for starts and odd for ends where ties would be ambiguous.  */
static void generate(struct generator *generator, unsigned thread, int64_t start, int64_t end,
                     unsigned parent, unsigned depth)
{
    int64_t at = start;

    while (at < end && generator->count + 2 < 2 * SPANS) {
        int64_t span_start = at + random_below(4);
        int64_t span_end = span_start + 1 + random_below((unsigned)(1 + (end - start) / 3));
        unsigned name = random_below(NAMES);

        if (span_start >= end || span_end > end)
            break;
        generator->self[thread][parent] += (uint64_t)(span_start - at);
        if (random_below(2)) {
            generator->records[generator->count++] = begin_record(span_start, 1, thread + 1,
                                                                  span_names[name]);
            if (depth < 12)
                generate(generator, thread, span_start + 1, span_end - 1, name, depth + 1);
            else
                generator->self[thread][name] += span_end - span_start > 2
                                                     ? (uint64_t)(span_end - span_start - 2)
                                                     : 0;
            generator->records[generator->count++] = end_record(span_end, 1, thread + 1,
                                                                span_names[name]);
        } else { /* written when it ends, after its children */
            if (depth < 12)
                generate(generator, thread, span_start + 1, span_end - 1, name, depth + 1);
            else
                generator->self[thread][name] += span_end - span_start > 2
                                                     ? (uint64_t)(span_end - span_start - 2)
                                                     : 0;
            generator->records[generator->count++] = complete_record(span_start, span_end, 1,
                                                                     thread + 1, span_names[name]);
        }
        /* The first and the last nanosecond are always the span's own.  */
        generator->self[thread][name] += span_end - span_start >= 2 ? 2 : 1;
        generator->spans[name]++;
        at = span_end;
    }
    if (end > at)
        generator->self[thread][parent] += (uint64_t)(end - at);
}

/* Sum of the values of all lines that end with the name.  */
static uint64_t sum_of(const char *folded, const char *root, const char *name)
{
    uint64_t sum = 0;
    const char *next;

    for (const char *line = folded; *line; line = next) {
        const char *blank;

        next = strchr(line, '\n') + 1;
        for (blank = next; *blank != ' ';)
            blank--;
        if (strncmp(line, root, strlen(root)) == 0 &&
            strncmp(blank - strlen(name), name, strlen(name)) == 0)
            sum += strtoull(blank + 1, NULL, 10);
    }
    return sum;
}

static void check_generated(const struct generator *generator, size_t sort_bytes)
{
    struct profile_ingest_options options = { .size = sizeof options, .sort_bytes = sort_bytes };
    struct taken taken;
    char root[32];

    ck_assert_int_eq(take_records(generator->records, generator->count, &options, &taken),
                     PROFILE_OK);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->stray_ends, 0);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->crossing_slices, 0);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->unfinished_slices, 0);
    char *self = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_THREAD, 1);
    char *counts = folded_of(&taken, PROFILE_SPAN, PROFILE_ROOT_THREAD, 0);
    for (unsigned name = 0; name < NAMES; name++) {
        for (unsigned thread = 0; thread < THREADS; thread++) {
            (void)snprintf(root, sizeof root, "pid-1;tid-%u;", thread + 1);
            ck_assert_uint_eq(sum_of(self, root, span_names[name]), generator->self[thread][name]);
        }
        ck_assert_uint_eq(sum_of(counts, "pid-1;", span_names[name]), generator->spans[name]);
    }
    free(self);
    free(counts);
    taken_release(&taken);
}

START_TEST(agrees_with_the_generator_of_random_spans)
{
    static const size_t sort_bytes[] = { 0, 100000, 4096 };
    struct generator generator = { .records = calloc(2 * SPANS + 100, sizeof(struct fxt_record)) };

    random_state = 7;
    ck_assert_ptr_nonnull(generator.records);
    for (unsigned round = 0; generator.count + 2 < 2 * SPANS && round < 4000; round++)
        for (unsigned thread = 0; thread < THREADS; thread++) {
            int64_t start = (int64_t)round * HORIZON;
            size_t first = generator.count;

            generate(&generator, thread, start + 1, start + HORIZON - 1, 0, 0);
            /* All below a span of the first name.  */
            generator.records[generator.count++] = complete_record(start, start + HORIZON, 1,
                                                                   thread + 1, span_names[0]);
            generator.self[thread][0] += 2;
            generator.spans[0]++;
            ck_assert_uint_gt(generator.count, first);
        }
    ck_assert_uint_gt(generator.count, SPANS);
    check_generated(&generator, sort_bytes[_i]);
    free(generator.records);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_spans");
    TCase *tcase = tcase_create("spans");
    SRunner *runner = srunner_create(suite);
    int failed;

    make_cases();
    tcase_add_loop_test(tcase, gives_each_moment_to_the_innermost_slice, 0, (int)case_count);
    tcase_add_test(tcase, keeps_slices_whole_that_the_profile_cuts);
    tcase_add_test(tcase, can_be_omitted);
    tcase_add_test(tcase, stops_when_the_sink_says_so);
    tcase_add_test(tcase, shows_names_that_were_never_registered);
    tcase_add_test(tcase, case_44_leaves_slices_alone_whatever_flows_say);
    tcase_add_test(tcase, leaves_out_what_is_deeper_than_any_stack);
    tcase_add_loop_test(tcase, agrees_with_the_generator_of_random_spans, 0, 3);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
