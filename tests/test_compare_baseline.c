/* Baselines: what is written is read again, and what is wrong is said with its line.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/run_builder.h"

#define HEAD   "fxt-baseline 1\ntype cpu nanoseconds\ncost 1000 2000\nsamples 10 20\n"
#define HEAD_2 "fxt-baseline 2\ntype cpu nanoseconds\ncost 1000 2000\nsamples 10 20\n"
#define MAIN   "function main\tmain.c 1 2 3\tapp\t500000 500000\t1000000 1000000\n"

static enum compare_status read_text(const char *text, struct compare_error *error)
{
    return compare_read_baseline(run_builder, COMPARE_BASE, "base.txt", text, strlen(text), error);
}

/* ---- What is wrong ---- */

static const struct {
    const char *text, *message;
} bad[] = {
    { "", "base.txt:0: not a baseline: it does not begin with \"fxt-baseline 1\"" },
    { "something else\n", "base.txt:1: not a baseline" },
    { "fxt-baseline 3\n", "base.txt:1: a baseline of version 3, which is newer" },
    { "fxt-baseline 02\n", "base.txt:1: a baseline of version 02, which is newer" },
    { HEAD "root app\n" MAIN, "base.txt:5: what is \"root\"?" },
    { HEAD_2 "root \n" MAIN, "base.txt:5: a root without a name" },
    { HEAD_2 "root\n" MAIN, "base.txt:5: a root without a name" },
    { HEAD_2 "root b\nroot a\n" MAIN, "base.txt:6: roots are not sorted by name, each once: a" },
    { HEAD_2 "root a\nroot a\n" MAIN, "base.txt:6: roots are not sorted by name, each once: a" },
    { HEAD_2 "root a\n" MAIN, "base.txt:5: no function has the name of the root: a" },
    { HEAD_2 "root z\n" MAIN, "base.txt:5: no function has the name of the root: z" },
    { HEAD_2 "root main\n" MAIN, "base.txt:5: the root is a function of a file: main" },
    { HEAD, "base.txt:4: no functions" },
    { "fxt-baseline 1\ncost 1\nsamples 1\n"
      "function f\ta.c 0 0 0\t\t1\t1\n",
      "base.txt:4: no \"type\"" },
    { HEAD "<<<<<<< mine\n", "base.txt:5: a merge conflict" },
    { HEAD "=======\n", "base.txt:5: a merge conflict" },
    { HEAD ">>>>>>> theirs\n", "base.txt:5: a merge conflict" },
    { HEAD "colour red\n", "base.txt:5: what is \"colour\"?" },
    { HEAD "type cpu nanoseconds\n", "base.txt:5: a second \"type\"" },
    { "fxt-baseline 1\ntype cpu\n", "base.txt:2: a type has a name and a unit" },
    { "fxt-baseline 1\ntype cpu nano seconds\n", "base.txt:2: a type has a name and a unit" },
    { "fxt-baseline 1\ntype cpu nano\tseconds\n", "base.txt:2: a type has a name and a unit" },
    { HEAD "cost 3\n", "base.txt:5: a second \"cost\"" },
    { HEAD "samples 3\n", "base.txt:5: a second \"samples\"" },
    { "fxt-baseline 1\ncost\n", "base.txt:2: cost of 0 runs" },
    { "fxt-baseline 1\ncost 0\n", "base.txt:2: a run without cost" },
    { "fxt-baseline 1\ncost 12x\n", "base.txt:2: cost: not a number up to" },
    { "fxt-baseline 1\ncost -3\n", "base.txt:2: cost: not a number up to" },
    { "fxt-baseline 1\ncost 99999999999999999999\n", "base.txt:2: cost: not a number up to" },
    { "fxt-baseline 1\n" MAIN, "base.txt:2: functions before equally many numbers" },
    { "fxt-baseline 1\ncost 1 2\nsamples 1\n" MAIN, "base.txt:4: functions before equally many" },
    { HEAD "function main\tmain.c 1 2 3\tapp\t5 5\n", "base.txt:5: a function has five parts" },
    { HEAD "function \tmain.c 1 2 3\tapp\t5 5\t5 5\n", "base.txt:5: a function has five parts" },
    { HEAD MAIN MAIN, "base.txt:6: functions are not sorted by name, each once: main" },
    { HEAD "function main\tmain.c 1 2\tapp\t5 5\t5 5\n", "base.txt:5: a place is" },
    { HEAD "function main\tmain.c 1 2 99999999999\tapp\t5 5\t5 5\n", "base.txt:5: a place is" },
    { HEAD "function main\tmain.c 1 2 3\tapp\t5\t5 5\n",
      "base.txt:5: 1 numbers for 2 runs: was something merged by hand?" },
    { HEAD "function main\tmain.c 1 2 3\tapp\t5 5\t5 5 5\n", "base.txt:5: 3 numbers for 2 runs" },
    { HEAD "function main\tmain.c 1 2 3\tapp\t5 1000001\t5 5\n",
      "base.txt:5: own cost: not a number up to 1000000" },
    { HEAD "function main\tmain.c 1 2 3\tapp\t5 5\t5 x\n",
      "base.txt:5: cost with callees: not a number" },
    { HEAD "period_ns soon\n", "base.txt:5: not a period in nanoseconds: soon" },
    { HEAD "left_out 2\n", "base.txt:5: not a share up to 1: 2" },
    { HEAD "arch x\033[2J\n", "base.txt:5: control characters, or not UTF-8" },
    { HEAD "arch \xff\n", "base.txt:5: control characters, or not UTF-8" },
    { HEAD "arch \xc2\x9b\n", "base.txt:5: control characters, or not UTF-8" },
    { HEAD "arch \xef\xbf\xbe\n", "base.txt:5: control characters, or not UTF-8" },
};

START_TEST(says_what_is_wrong_and_where)
{
    struct compare_error error = { .status = COMPARE_OK };

    ck_assert_int_eq(read_text(bad[_i].text, &error), COMPARE_MALFORMED);
    ck_assert_msg(strncmp(error.message, bad[_i].message, strlen(bad[_i].message)) == 0,
                  "%s, not %s", error.message, bad[_i].message);
    ck_assert_uint_eq(compare_builder_run_count(run_builder), 0);
    ck_assert_int_eq(read_text(bad[_i].text, NULL), COMPARE_MALFORMED);
}
END_TEST

START_TEST(refuses_what_is_too_large_and_bytes_of_zero)
{
    struct compare_error error;
    char *large = calloc(COMPARE_BASELINE_BYTES + 1, 1);

    memset(large, '#', COMPARE_BASELINE_BYTES + 1);
    ck_assert_int_eq(compare_read_baseline(run_builder, COMPARE_BASE, "b", large,
                                           COMPARE_BASELINE_BYTES + 1, &error),
                     COMPARE_MALFORMED);
    ck_assert_str_eq(error.message, "b: more than 100,000 bytes");
    ck_assert_int_eq(compare_read_baseline(run_builder, COMPARE_BASE, "b", "a\0b", 3, &error),
                     COMPARE_MALFORMED);
    ck_assert_str_eq(error.message, "b: not a text file");
    free(large);
}
END_TEST

START_TEST(more_runs_than_can_be_compared_are_refused)
{
    struct base_text text = { .bytes = NULL };
    struct compare_error error;

    base_text_adds(&text, "fxt-baseline 1\ncost");
    for (int i = 0; i <= COMPARE_MAX_RUNS; i++)
        base_text_adds(&text, " 1");
    ck_assert_int_eq(read_text(text.bytes, &error), COMPARE_MALFORMED);
    ck_assert_str_eq(error.message, "base.txt:2: cost of 1001 runs");
    base_text_release(&text);
}
END_TEST

/* ---- Hostile files ---- */

static const char whole[] =
    "fxt-baseline 2\n# kept\ntype cpu nanoseconds\ncpu_model Z80\nkernel 6\narch x86_64\n"
    "compiler cc 1\ncommand ./a\nperiod_ns 1000\nbuild 1f3a a\nleft_out 0.00012\n"
    "cost 1000 2000\nsamples 10 20.5\nroot app\nfunction app\t 0 0 0\t\t0 0\t1000000 1000000\n"
    "function f(int)\tf.c 4 5 6\ta\t500000 0\t500000 0\n"
    "function main\tmain.c 1 2 3\ta\t500000 1000000\t1000000 1000000\n";

static enum compare_status read_mutated(const char *bytes, size_t length)
{
    struct compare_builder *builder;
    const struct compare_set *set;
    enum compare_status status;

    ck_assert_int_eq(compare_builder_open(NULL, &builder, NULL), COMPARE_OK);
    status = compare_read_baseline(builder, COMPARE_NEW, "b", bytes, length, NULL);
    if (status == COMPARE_OK)
        ck_assert_int_eq(compare_builder_finish(builder, &set, NULL), COMPARE_OK);
    compare_builder_close(builder);
    return status;
}

/* Exactly as many bytes as there are, so that a sanitizer sees one too many.  */
START_TEST(every_cut_is_read_or_refused)
{
    for (size_t length = 0; length < sizeof whole; length++) {
        char *part = malloc(length ? length : 1);
        enum compare_status status;

        memcpy(part, whole, length);
        status = read_mutated(part, length);
        ck_assert(status == COMPARE_MALFORMED || status == COMPARE_OK);
        free(part);
    }
}
END_TEST

START_TEST(every_changed_byte_is_read_or_refused)
{
    static const char values[] = { '\0', '\t', '\n', ' ', '0', '9', '.', '-', 'e', '\x7f', '\xff' };
    char copy[sizeof whole];

    for (size_t at = 0; at + 1 < sizeof whole; at++)
        for (size_t v = 0; v < sizeof values; v++) {
            enum compare_status status;

            memcpy(copy, whole, sizeof whole);
            copy[at] = values[v];
            status = read_mutated(copy, sizeof whole - 1);
            ck_assert_msg(status == COMPARE_MALFORMED || status == COMPARE_OK, "status %d: %s",
                          (int)status, copy);
        }
}
END_TEST

/* ---- Round trips ---- */

static char *write_text(const struct compare_set *set, const char *old, size_t *length)
{
    struct compare_error error = { .message = "" };
    char *text = NULL;

    ck_assert_msg(compare_write_baseline(set, COMPARE_BASE, old, old ? strlen(old) : 0, &text,
                                         length, &error) == COMPARE_OK,
                  "%s", error.message);
    return text;
}

START_TEST(what_was_read_is_written_again)
{
    size_t length;
    const struct compare_set *set;
    const struct compare_run *run;
    char *text;

    ck_assert(compare_is_baseline(whole, 16));
    ck_assert(!compare_is_baseline(whole, 5));
    ck_assert_int_eq(read_text(whole, NULL), COMPARE_OK);
    set = run_builder_finish();
    run = &set->runs[1];
    ck_assert_str_eq(run->label, "base.txt run 2");
    ck_assert_double_eq(run->cost, 2000);
    ck_assert_double_eq(run->samples, 20.5);
    ck_assert_double_eq(run->left_out, 0.00012);
    ck_assert_str_eq(run->environment.builds[0], "1f3a a");
    ck_assert_uint_eq(run->environment.period_ns, 1000);
    ck_assert_uint_eq(run->cost_count, 2);
    ck_assert_double_eq(run->costs[1].self, 2000);
    text = write_text(set, "# kept  \r\nnot kept\n# nor cut", &length);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_msg(strncmp(text, "fxt-baseline 2\n# kept\n# nor cut\ntype cpu", 40) == 0, "%s",
                  text);
    ck_assert_ptr_nonnull(
        strstr(text, "\ncost 1000 2000\nsamples 10 20.5\nroot app\nfunction app\t 0 0 0\t"
                     "\t0 0\t1000000 1000000\nfunction f(int)\tf.c 4 5 6"
                     "\ta\t500000 0\t500000 0\nfunction main\t"));
    free(text);
}
END_TEST

/* As every baseline was before there were roots: it stays as it is.  */
START_TEST(a_baseline_of_version_1_is_read_and_stays_one)
{
    size_t length;
    char *text;

    ck_assert_int_eq(read_text(HEAD MAIN, NULL), COMPARE_OK);
    text = write_text(run_builder_finish(), NULL, &length);
    ck_assert_str_eq(text, HEAD MAIN);
    free(text);
}
END_TEST

START_TEST(a_side_without_samples_is_not_written)
{
    struct compare_error error;
    struct compare_run *run;
    const struct compare_set *set;
    char *text;
    size_t length;

    run = compare_builder_begin_run(run_builder, COMPARE_BASE, "empty");
    run->cost = 4;
    set = run_builder_finish();
    ck_assert_int_eq(compare_write_baseline(set, COMPARE_NEW, NULL, 0, &text, &length, &error),
                     COMPARE_INVALID);
    ck_assert_str_eq(error.message, "no runs");
    ck_assert_int_eq(compare_write_baseline(set, COMPARE_BASE, NULL, 0, &text, &length, &error),
                     COMPARE_INVALID);
    ck_assert_str_eq(error.message, "empty: no samples");
}
END_TEST

/* runs of functions of equal shares.  */
static const struct compare_set *equal_functions(int runs, int functions)
{
    for (int r = 0; r < runs; r++) {
        char label[32], name[64];
        struct compare_run *run;

        (void)snprintf(label, sizeof label, "run %d", r);
        run = compare_builder_begin_run(run_builder, COMPARE_BASE, label);
        run->cost = run->samples = functions;
        for (int f = 0; f < functions; f++) {
            const struct compare_place place = { .name = name };

            (void)snprintf(name, sizeof name, "a_function_with_a_name_of_some_length_%d", f);
            compare_builder_add_cost(
                run_builder, compare_builder_add_function(run_builder, COMPARE_BASE, &place), 1, 1);
        }
    }
    return run_builder_finish();
}

START_TEST(the_smallest_are_left_out_first)
{
    size_t length;
    char *text = write_text(equal_functions(4, 5000), NULL, &length);

    ck_assert_uint_le(length, COMPARE_BASELINE_BYTES);
    ck_assert_uint_gt(length, COMPARE_BASELINE_BYTES - 1000);
    ck_assert_ptr_nonnull(strstr(text, "\nleft_out 0.000200\n"));
    free(text);
}
END_TEST

START_TEST(too_many_runs_do_not_fit)
{
    struct compare_error error;
    char *text;
    size_t length;

    ck_assert_int_eq(compare_write_baseline(equal_functions(900, 100), COMPARE_BASE, NULL, 0, &text,
                                            &length, &error),
                     COMPARE_LIMIT);
    ck_assert_str_eq(error.message, "900 runs do not fit into 100,000 bytes without leaving out "
                                    "functions of 1.0%; take fewer runs");
}
END_TEST

START_TEST(runs_of_two_types_are_not_mixed)
{
    struct compare_error error;

    (void)compare_builder_begin_run(run_builder, COMPARE_NEW, "other");
    ck_assert_int_eq(compare_builder_set_type(run_builder, "inuse_space", "bytes", NULL),
                     COMPARE_OK);
    ck_assert_int_eq(read_text(whole, &error), COMPARE_UNLIKE);
    ck_assert_str_eq(error.message, "other has inuse_space/bytes, base.txt run 1 has "
                                    "cpu/nanoseconds: what is compared must be the same");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_baseline");
    TCase *tcase = tcase_create("baseline");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, says_what_is_wrong_and_where, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(tcase, refuses_what_is_too_large_and_bytes_of_zero);
    tcase_add_test(tcase, more_runs_than_can_be_compared_are_refused);
    tcase_add_test(tcase, every_cut_is_read_or_refused);
    tcase_add_test(tcase, every_changed_byte_is_read_or_refused);
    tcase_add_test(tcase, what_was_read_is_written_again);
    tcase_add_test(tcase, a_baseline_of_version_1_is_read_and_stays_one);
    tcase_add_test(tcase, a_side_without_samples_is_not_written);
    tcase_add_test(tcase, the_smallest_are_left_out_first);
    tcase_add_test(tcase, too_many_runs_do_not_fit);
    tcase_add_test(tcase, runs_of_two_types_are_not_mixed);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
