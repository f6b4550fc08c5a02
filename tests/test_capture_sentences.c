/* What a summary says of what is not in a trace: each sentence where it is true, and nowhere
 * else.  */
#include "sampler-capture/cpu/cpu_session.h"
#include "sampler-capture/cpu/cpu_stats.h"
#include "sampler-capture/cpu/cpu_summary.h"
#include "sampler-capture/heap/heap_losses.h"
#include "sampler-capture/trace/trace_report.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE .totals.samples = 1000, .period_ns = 1000000, .region_size = 4096

static const struct {
    const char *name;
    struct session_result result;
    const char *says; /* a part of the one line that is there beside the first and last */
    double user_seconds, kernel_seconds;
    unsigned more; /* lines */
    bool kernel;
} sentences[] = {
    { "nothing is wrong", { BASE }, NULL },
    { "samples",
      { BASE, .loss.ring = 1 },
      "lost: 1 sample, because the kernel's buffers were full" },
    { "names that are read again",
      { BASE, .loss.sideband = 740, .looks = 1 },
      "lost: 740 records of names and mappings, because the kernel's buffers were full; mappings "
      "were read again from /proc, so only what was gone by then is missing" },
    { "names that are not",
      { BASE, .loss.sideband = 1 },
      "lost: 1 record of names and mappings, because the kernel's buffers were full; code in them "
      "has no names" },
    { "throttled", { BASE, .loss.throttled = 2 }, "lost: the kernel throttled sampling 2 times" },
    { "a full region",
      { BASE, .loss.region_full = 3 },
      "lost: 3 samples, because buffers of 4,096 bytes were full" },
    { "a full region that ends it",
      { BASE, .loss.region_full = 3, .loss.stopped = 1 },
      "1 CPU stopped sampling, because their buffers of 4,096 bytes were full (--mode "
      "oneshot" },
    { "unreadable",
      { BASE, .loss.unreadable = 4 },
      "lost: 4 samples without a readable user stack" },
    { "exited", { BASE, .loss.exited = 5 }, "lost: 5 samples of threads that were just ending" },
    { "no samples",
      { .period_ns = 1000000 },
      "no samples: no thread used a CPU for 1,000,000 ns outside the kernel; use a higher -F" },
    { "no samples with the kernel's",
      { .period_ns = 1000000 },
      "no samples: no thread used a CPU for 1,000,000 ns; use a higher -F",
      .kernel = true },
    { "all were lost", { .period_ns = 1000000, .loss.ring = 7 }, "lost: 7 samples" },
    { "copies smaller than wanted",
      { BASE, .stack_size = 4096, .wanted_stack_size = 32768,
        .unwound = { .stacks = 9, .ended[UNWIND_END_NO_STACK] = 9 } },
      "the copy of the stack ended, since the kernel's buffers hold no larger one",
      .more = 1 },
    { "copies as wanted",
      { BASE, .stack_size = 32768, .wanted_stack_size = 32768,
        .unwound = { .stacks = 9, .ended[UNWIND_END_NO_STACK] = 9 } },
      "the copy of the stack ended; raise --stack-size",
      .more = 1 },
    { "copies as chosen",
      { BASE, .stack_size = 32768, .wanted_stack_size = 32768,
        .unwound = { .stacks = 9, .ended[UNWIND_END_NO_STACK] = 9, .outgrown = 9 } },
      "cut: 9 stacks: deeper than the copy that --unwind auto chose; --unwind dwarf copies 32,768 "
      "bytes of each",
      .more = 1 },
    { "stacks that others complete",
      { BASE, .unwound = { .stacks = 9, .whole = 3, .continued = 3, .joined = 3 } },
      "100.0 % of 9 stacks reach the thread's start" },
    { "no frame pointers", { BASE, .broken = 501 }, "most stacks end after one or two functions" },
    { "half have them", { BASE, .broken = 500 }, NULL },
    { "code without frame pointers",
      { BASE, .frameless = { .samples = 120,
                             .most = { { "/lib/libc.so.6", 100 }, { "/bin/x", 20 } },
                             .count = 2 } },
      "12.0 % of samples are in functions without a frame pointer, whose direct callers are "
      "therefore missing; --unwind auto finds them: /lib/libc.so.6 (10.0 %), /bin/x (2.0 %)" },
    { "too few to matter", { BASE, .frameless = { .samples = 9, .count = 1 } }, NULL },
    { "mappings of no code",
      { BASE, .unplaced = 2 },
      "2 mappings are not code of a readable ELF file: their addresses are file offsets" },
    { "too many mappings",
      { BASE, .mappings_dropped = 1, .totals.unmapped = 1 },
      "left out: 2 mappings of processes that have too many" },
    { "short threads",
      { BASE },
      "samples cover 1.00 s of 3.00 s CPU time outside the kernel",
      .user_seconds = 3 },
    { "short threads, but there were losses",
      { BASE, .loss.ring = 9 },
      "lost: 9 samples",
      .user_seconds = 3 },
    { "time in the kernel",
      { BASE },
      "0.50 s of 1.50 s CPU time were in the kernel",
      .user_seconds = 1,
      .kernel_seconds = 0.5 },
    { "time in the kernel that is too short to matter",
      { .totals.samples = 1, .period_ns = 1000000 },
      NULL,
      .user_seconds = 0.001,
      .kernel_seconds = 0.004 },
    { "time in the kernel that is sampled",
      { BASE },
      NULL,
      .kernel = true,
      .user_seconds = 1,
      .kernel_seconds = 0.5 },
    { "hidden names",
      { BASE, .kernel_hidden = true },
      "kernel functions have no names, because kernel.kptr_restrict or kernel.perf_event_paranoid "
      "hides their addresses",
      .kernel = true },
};

/* ---- What heap captures and trace captures lost ---- */

static const struct {
    struct record_loss lost;
    uint64_t closed, waits;
    const char *says; /* all of it */
} heap_losses[] = {
    { { 0 }, 0, 0, "" },
    { { .allocations = 1 },
      0,
      0,
      "lost: 1 sampled allocation, because the capture could not keep up: too little memory is "
      "shown; use a larger --interval\n" },
    { { .frees = 2345 },
      0,
      0,
      "lost: 2,345 releases, because the capture could not keep up: their blocks still appear to "
      "be "
      "in use; use a larger --interval\n" },
    { { .infos = 3 },
      0,
      0,
      "lost: 3 messages about modules, because the capture could not keep up: code in them has no "
      "names; use a larger --interval\n" },
    { { .rejected = 1 },
      0,
      0,
      "1 connection was closed, because of an invalid message or one mapping too many: not "
      "captured from then on\n" },
    { { .no_memory = 2 },
      0,
      0,
      "lost: 2 sampled allocations, because the program had no memory left to record them: too "
      "little is shown\n" },
    { { .forgotten = 4 },
      0,
      0,
      "lost: the release of 4 blocks, because a program lost its connection to the capture\n" },
    { { .forgotten = 4 },
      1,
      0,
      "a program closed the descriptor of the capture 1 time, and is a new process from then on; "
      "4 blocks in use remain in use in the earlier one\n" },
    { { 0 }, 0, 5, "a thread waited for the capture 5 times, at most 200 ms each\n" },
};

static const struct {
    struct report_losses losses;
    enum trace_mode mode;
    const char *says;
} trace_losses[] = {
    { { 0 }, TRACE_ONESHOT, "" },
    { { .dropped = 1 },
      TRACE_ONESHOT,
      "lost: 1 record that did not fit into the buffer of its program: use a larger "
      "--buffer-size, or --mode streaming\n" },
    { { .dropped = 2 },
      TRACE_STREAMING,
      "lost: 2 records that did not fit into the buffer of their program: use a larger "
      "--buffer-size\n" },
    { { .dropped = 2, .dropped_own = 3 },
      TRACE_CIRCULAR,
      "lost: 2 records that did not fit into the buffer of their program: use a larger "
      "--buffer-size\n"
      "lost: 3 records that did not fit into the buffer of their program: use a larger SIZE in "
      "--provider NAME:SIZE\n" },
    { { .broken = 16 },
      TRACE_CIRCULAR,
      "lost: 16 bytes of buffers that contained no valid record\n" },
    { { .refused = 1 },
      TRACE_CIRCULAR,
      "left out: 1 metadata record of a provider about another one\n" },
};

static void print_summary(const void *summary)
{
    summary_print(summary);
}

static void print_heap_losses(const void *index)
{
    const int *i = index;

    heap_losses_print(&heap_losses[*i].lost, heap_losses[*i].closed, heap_losses[*i].waits);
}

static void print_trace_losses(const void *index)
{
    const int *i = index;

    report_losses(&trace_losses[*i].losses, trace_losses[*i].mode);
}

/* What is printed to standard error.  */
static void print_into(char *text, size_t size, void (*print)(const void *), const void *context)
{
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    size_t length;

    ck_assert(file && before >= 0);
    (void)fflush(stderr);
    (void)dup2(fileno(file), STDERR_FILENO);
    print(context);
    (void)fflush(stderr);
    (void)dup2(before, STDERR_FILENO);
    (void)close(before);
    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static unsigned count_lines(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

START_TEST(sentence_is_true)
{
    const struct summary summary = { .output = "out.fxt",
                                     .fine = true,
                                     .kernel = sentences[_i].kernel,
                                     .seconds = 1,
                                     .result = &sentences[_i].result,
                                     .user_seconds = sentences[_i].user_seconds,
                                     .kernel_seconds = sentences[_i].kernel_seconds };
    bool has_samples = sentences[_i].result.totals.samples > 0;
    char text[4096];

    print_into(text, sizeof text, print_summary, &summary);
    ck_assert_msg(!sentences[_i].says || strstr(text, sentences[_i].says), "%s: %s",
                  sentences[_i].name, text);
    /* The contents, the sentence, and what to do next if there are samples.  */
    ck_assert_msg(count_lines(text) ==
                      1U + (sentences[_i].says != NULL) + has_samples + sentences[_i].more,
                  "%s: %s", sentences[_i].name, text);
}
END_TEST

static void print_stats(const void *result)
{
    stats_print(result);
}

START_TEST(says_how_many_processes_a_list_leaves_out)
{
    uint64_t pids[100];
    struct session_result result = { .missing_process_mappings = pids, .missing_count = 2 };
    char text[4096];
    unsigned listed = 1;
    const char *at;

    for (size_t i = 0; i < 100; i++)
        pids[i] = 1000000 + i;
    print_into(text, sizeof text, print_stats, &result);
    ck_assert_msg(strstr(text, "Processes missing mappings: [1000000, 1000001]\n"), "%s", text);
    result.missing_count = 100;
    print_into(text, sizeof text, print_stats, &result);
    at = strstr(text, "[1000000, 1000001, ");
    ck_assert_msg(at, "%s", text);
    for (; *at != ']'; at++)
        listed += *at == ',';
    (void)snprintf(text + sizeof text / 2, sizeof text / 2,
                   "] and %u more (--stats-json lists all)\n", 100 - listed);
    ck_assert_msg(strstr(text, text + sizeof text / 2) < text + sizeof text / 2, "%s", text);
}
END_TEST

START_TEST(tells_what_a_heap_capture_lost)
{
    char text[1024];

    print_into(text, sizeof text, print_heap_losses, &_i);
    ck_assert_str_eq(text, heap_losses[_i].says);
}
END_TEST

START_TEST(tells_what_a_trace_capture_lost)
{
    char text[1024];

    print_into(text, sizeof text, print_trace_losses, &_i);
    ck_assert_str_eq(text, trace_losses[_i].says);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_sentences");
    TCase *tcase = tcase_create("summary");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, sentence_is_true, 0, sizeof sentences / sizeof *sentences);
    tcase_add_test(tcase, says_how_many_processes_a_list_leaves_out);
    tcase_add_loop_test(tcase, tells_what_a_heap_capture_lost, 0,
                        (int)(sizeof heap_losses / sizeof heap_losses[0]));
    tcase_add_loop_test(tcase, tells_what_a_trace_capture_lost, 0,
                        (int)(sizeof trace_losses / sizeof trace_losses[0]));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
