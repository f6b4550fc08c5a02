/* What counts as a finding: not what regressed between runs of one build, not each caller of what
 * regressed, and nothing of one run a side.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_report.h>
#include "tests/support/run_builder.h"

static struct compare_report *judged(const struct compare_options *options)
{
    const struct compare_set *set = run_builder_finish();
    struct compare_report *report = NULL;

    ck_assert_int_eq(compare_report_open(set, options, &report, NULL), COMPARE_OK);
    ck_assert_int_eq(compare_report_judge(report, NULL), COMPARE_OK);
    return report;
}

static const struct compare_row *row_of(const struct compare_report *report, const char *name)
{
    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, name) == 0)
            return &report->rows[i];
    ck_abort_msg("no row of %s", name);
}

/* ---- One build on both sides ---- */

#define MOST_BUILDS 3

struct sampled {
    const char *builds[MOST_BUILDS];
    double shares[MOST_BUILDS];
    double unidentified;
    double samples; /* of a run; 0: 100,000 */
};

static const struct {
    const char *name;
    struct sampled base, news, odd_run; /* odd_run: of the new side, in place of one of news */
    bool is_same;
} builds[] = {
    { "another build",
      { { "aa prog" }, { 1 }, 0 },
      { { "bb prog" }, { 1 }, 0 },
      { { "bb prog" }, { 1 }, 0 },
      false },
    { "the same build",
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog" }, { 1 }, 0 },
      true },
    { "the same build under another name",
      { { "aa old" }, { 1 }, 0 },
      { { "aa new" }, { 1 }, 0 },
      { { "aa new" }, { 1 }, 0 },
      true },
    { "one run sampled the vdso",
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog", "cc [vdso]" }, { 1, 0.2 }, 0 },
      true },
    { "one run sampled the loader",
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog", "dd ld.so" }, { 1, 0.002 }, 0 },
      true },
    { "only one side has a library that costs something",
      { { "aa prog" }, { 1 }, 0 },
      { { "aa prog", "dd libz.so" }, { 1, 0.1 }, 0 },
      { { "aa prog", "dd libz.so" }, { 1, 0.1 }, 0 },
      false },
    { "only one side sampled the loader of a short program, three times in all",
      { { "aa prog", "dd ld.so" }, { 1, 0.0062 }, 0, .samples = 97 },
      { { "aa prog" }, { 1 }, 0, .samples = 98 },
      { { "aa prog" }, { 1 }, 0, .samples = 98 },
      true },
    { "only one side has a library, with 48 samples in all",
      { { "aa prog", "dd libz.so" }, { 1, 0.1 }, 0, .samples = 97 },
      { { "aa prog" }, { 1 }, 0, .samples = 98 },
      { { "aa prog" }, { 1 }, 0, .samples = 98 },
      false },
    { "another build of a library, however little it costs",
      { { "aa prog", "dd libz.so" }, { 1, 0.001 }, 0 },
      { { "aa prog", "ee libz.so" }, { 1, 0.001 }, 0 },
      { { "aa prog", "ee libz.so" }, { 1, 0.001 }, 0 },
      false },
    { "programs without build IDs, and the same library",
      { { "dd libc.so" }, { 0.3 }, 1 },
      { { "dd libc.so" }, { 0.3 }, 1 },
      { { "dd libc.so" }, { 0.3 }, 1 },
      false },
    { "the kernel alone",
      { { "cc [kernel]" }, { 1 }, 0 },
      { { "cc [kernel]" }, { 1 }, 0 },
      { { "cc [kernel]" }, { 1 }, 0 },
      false },
    { "no builds at all",
      { { NULL }, { 0 }, 0 },
      { { NULL }, { 0 }, 0 },
      { { NULL }, { 0 }, 0 },
      false },
};

#define RUNS 5

/* Runs without stacks, whose function f costs a third more on the new side.  */
static void add_runs_of(const struct sampled *base, const struct sampled *news,
                        const struct sampled *odd_run)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < RUNS; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };
            const struct sampled *sampled = !side ? base : i == 2 ? odd_run : news;
            struct compare_run *run = compare_builder_begin_run(run_builder,
                                                                (enum compare_side)side, label);
            struct compare_environment *environment = &run->environment;

            run->cost = 100000 + 10 * i;
            run->samples = sampled->samples > 0 ? sampled->samples : run->cost;
            environment->builds = (const char **)sampled->builds;
            while (environment->build_count < MOST_BUILDS &&
                   sampled->builds[environment->build_count])
                environment->build_count++;
            environment->build_shares = sampled->shares;
            environment->unidentified = sampled->unidentified;
            for (int f = 0; f < 2; f++) {
                const struct compare_place place = { .name = f ? "f" : "g" };
                double cost = f ? side ? 40000 + 10 * i : 30000 + 10 * i : 20000;

                compare_builder_add_cost(
                    run_builder,
                    compare_builder_add_function(run_builder, (enum compare_side)side, &place),
                    cost, cost);
            }
        }
}

START_TEST(one_build_cannot_regress)
{
    struct compare_report *report;
    bool noted;

    add_runs_of(&builds[_i].base, &builds[_i].news, &builds[_i].odd_run);
    report = judged(NULL);
    noted = report->note_count == 1 &&
            strcmp(report->notes[0], "both sides are runs of the same builds") == 0;
    ck_assert_msg(noted == builds[_i].is_same, "%s", builds[_i].name);
    ck_assert_msg(report->verdict == (builds[_i].is_same ? COMPARE_INCONCLUSIVE : COMPARE_FAIL),
                  "%s: %s", builds[_i].name, compare_verdict_name(report->verdict));
    ck_assert_uint_eq(report->reason_count, 1);
    ck_assert_msg((strstr(report->reasons[0], "both sides are runs of one build of ") != NULL) ==
                      builds[_i].is_same,
                  "%s: %s", builds[_i].name, report->reasons[0]);
    ck_assert_int_eq(row_of(report, "f")->flag, COMPARE_REGRESSED);
    compare_report_close(report);
}
END_TEST

START_TEST(one_build_may_differ_in_its_input)
{
    static const struct sampled prog = { { "aa prog" }, { 1 }, 0 };
    struct compare_options options;
    struct compare_report *report;

    compare_options_init(&options);
    options.same_build = true;
    add_runs_of(&prog, &prog, &prog);
    report = judged(&options);
    ck_assert_int_eq(report->verdict, COMPARE_FAIL);
    ck_assert_uint_eq(report->note_count, 0);
    compare_report_close(report);
}
END_TEST

/* ---- Causes ---- */

#define MOST_STACKS 6

/* Stacks of main with their costs on both sides, in thousandths of 100,000 samples; what is left is
 * that of "main;rest".  */
static const struct {
    const char *name;
    struct {
        const char *stack;
        double costs[COMPARE_SIDES];
    } stacks[MOST_STACKS];
    const char *causes, *callers; /* in the order of the alphabet */
    const char *reason;
} causes[] = {
    { "a function, and those that call it",
      { { "main;parse;lex", { 60, 90 } }, { "main;parse", { 40, 40 } } },
      "lex",
      "parse",
      "1 function regressed, and with it 1 caller" },
    { "two callers of one",
      { { "main;run;parse;lex", { 60, 90 } }, { "main;run;parse", { 40, 40 } } },
      "lex",
      "parse run",
      "1 function regressed, and with it 2 callers" },
    { "two functions, and who calls both",
      { { "main;parse;lex", { 60, 90 } }, { "main;parse;hash", { 50, 75 } } },
      "hash lex",
      "parse",
      "2 functions regressed, and with them 1 caller" },
    { "a caller that regressed by itself as well",
      { { "main;parse;lex", { 60, 90 } }, { "main;parse", { 40, 70 } } },
      "lex parse",
      "",
      "2 functions regressed" },
    { "functions that do not call each other",
      { { "main;parse", { 60, 90 } }, { "main;print", { 40, 60 } } },
      "parse print",
      "",
      "2 functions regressed" },
    { "recursion",
      { { "main;walk;walk;visit", { 60, 90 } }, { "main;walk;visit", { 20, 30 } } },
      "visit",
      "walk",
      "1 function regressed, and with it 1 caller" },
};

static void add_stacks(int row, int side, double noise)
{
    double rest = 100000;

    for (size_t i = 0; i < MOST_STACKS && causes[row].stacks[i].stack; i++) {
        double cost = 100 * causes[row].stacks[i].costs[side] + noise;

        run_builder_stack(causes[row].stacks[i].stack, cost);
        rest -= cost;
    }
    run_builder_stack("main;rest", rest);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of findings, those by callees or the others.  */
static void list(const struct compare_report *report, bool by_callees, char text[200])
{
    const char *names[16];
    size_t count = 0, used = 0;

    for (size_t i = 0; i < report->row_count; i++)
        if (report->rows[i].flag == COMPARE_REGRESSED && report->rows[i].by_callees == by_callees)
            names[count++] = report->rows[i].names->name;
    if (count > 1)
        qsort(names, count, sizeof *names, by_text);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, 200 - used, "%s%s", i ? " " : "", names[i]);
}

START_TEST(one_cause_is_one_finding)
{
    struct compare_report *report;
    char text[200];

    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < RUNS; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };

            compare_builder_begin_run(run_builder, (enum compare_side)side, label)->samples = 1e5;
            add_stacks(_i, side, 3 * i);
        }
    report = judged(NULL);
    list(report, false, text);
    ck_assert_msg(strcmp(text, causes[_i].causes) == 0, "%s: %s", causes[_i].name, text);
    list(report, true, text);
    ck_assert_msg(strcmp(text, causes[_i].callers) == 0, "%s: callers %s", causes[_i].name, text);
    ck_assert_str_eq(report->reasons[0], causes[_i].reason);
    ck_assert_uint_eq(report->rows[0].by_callees, 0); /* causes first */
    compare_report_close(report);
}
END_TEST

/* What is suppressed explains nothing: who calls it may have another reason.  */
START_TEST(callers_of_what_is_suppressed_count)
{
    const struct compare_set *set;
    struct compare_report *report = NULL;

    for (int side = 0; side < COMPARE_SIDES; side++)
        for (int i = 0; i < RUNS; i++) {
            const char label[] = { side ? 'n' : 'b', (char)('0' + i), '\0' };

            compare_builder_begin_run(run_builder, (enum compare_side)side, label)->samples = 1e5;
            add_stacks(0, side, 3 * i);
        }
    set = run_builder_finish();
    ck_assert_int_eq(compare_report_open(set, NULL, &report, NULL), COMPARE_OK);
    for (size_t i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].names->name, "lex") == 0)
            report->rows[i].suppressed = "known";
    ck_assert_int_eq(compare_report_judge(report, NULL), COMPARE_OK);
    ck_assert_str_eq(report->reasons[0], "1 function regressed");
    ck_assert(!row_of(report, "parse")->by_callees);
    compare_report_close(report);
}
END_TEST

/* ---- One run a side ---- */

START_TEST(one_run_a_side_proves_nothing)
{
    struct compare_report *report;

    for (int side = 0; side < COMPARE_SIDES; side++) {
        compare_builder_begin_run(run_builder, (enum compare_side)side, side ? "n" : "b")->samples =
            1e5;
        add_stacks(0, side, 0);
    }
    report = judged(NULL);
    ck_assert_int_eq(report->verdict, COMPARE_INCONCLUSIVE);
    for (size_t i = 0; i < report->row_count; i++) {
        const struct compare_row *row = &report->rows[i];

        ck_assert_int_eq(row->flag, COMPARE_UNCHANGED);
        ck_assert(!row->self.tested && !row->total.tested);
        ck_assert_double_eq(row->self.q, 1);
        ck_assert_double_eq(row->self_interval[0], row->self_interval[1]);
    }
    ck_assert_str_eq(report->rows[0].names->name, "rest"); /* by the change of share */
    compare_report_close(report);
}
END_TEST

/* ---- Words ---- */

static const struct {
    double value;
    const char *growth, *variation;
} numbers[] = {
    { 0.0512, "5.1 %", "5.1 %" },
    { 0.99, "99.0 %", "99.0 %" },
    { 1.2, "120 %", "more than their cost" },
    { 1499, "a factor of 1,500", "more than their cost" },
    { 8.75007653616e18, "a factor above 1,000,000", "more than their cost" },
    { INFINITY, "a factor above 1,000,000", "more than their cost" },
};

START_TEST(numbers_are_bounded)
{
    char text[COMPARE_NUMBER_BYTES];

    ck_assert_str_eq(compare_growth(numbers[_i].value, text), numbers[_i].growth);
    ck_assert_str_eq(compare_variation(numbers[_i].value, text), numbers[_i].variation);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_findings");
    TCase *tcase = tcase_create("findings");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, one_build_cannot_regress, 0, (int)(sizeof builds / sizeof *builds));
    tcase_add_test(tcase, one_build_may_differ_in_its_input);
    tcase_add_loop_test(tcase, one_cause_is_one_finding, 0, (int)(sizeof causes / sizeof *causes));
    tcase_add_test(tcase, callers_of_what_is_suppressed_count);
    tcase_add_test(tcase, one_run_a_side_proves_nothing);
    tcase_add_loop_test(tcase, numbers_are_bounded, 0, (int)(sizeof numbers / sizeof *numbers));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
