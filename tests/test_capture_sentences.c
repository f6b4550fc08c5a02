/* What a summary says of what is not in a trace: each sentence where it is true, and nowhere
 * else.  */
#include "sampler-capture/cpu/cpu_session.h"
#include "sampler-capture/cpu/cpu_summary.h"

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
      "1 CPU sampled no more after their buffers of 4,096 bytes were full (--mode "
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

/* What is printed to standard error.  */
static void print_into(char *text, size_t size, const struct summary *summary)
{
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    size_t length;

    ck_assert(file && before >= 0);
    (void)fflush(stderr);
    (void)dup2(fileno(file), STDERR_FILENO);
    summary_print(summary);
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

    print_into(text, sizeof text, &summary);
    ck_assert_msg(!sentences[_i].says || strstr(text, sentences[_i].says), "%s: %s",
                  sentences[_i].name, text);
    /* The contents, the sentence, and what to do next if there are samples.  */
    ck_assert_msg(count_lines(text) ==
                      1U + (sentences[_i].says != NULL) + has_samples + sentences[_i].more,
                  "%s: %s", sentences[_i].name, text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_sentences");
    TCase *tcase = tcase_create("summary");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, sentence_is_true, 0, sizeof sentences / sizeof *sentences);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
