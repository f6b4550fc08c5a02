/* verdict.c - from a comparison to a verdict with its reasons.  */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "libcompare/report/report.h"

/* ---- Order ---- */

int report_severity(enum compare_flag flag)
{
    static const int of[] = { [COMPARE_UNCHANGED] = 0,
                              [COMPARE_IMPROVED] = 1,
                              [COMPARE_MOVED] = 2,
                              [COMPARE_REGRESSED] = 3 };

    return of[flag];
}

static int rank_of(const struct compare_row *row)
{
    return row->suppressed ? 0 : report_severity(row->flag);
}

static double change_of(const struct compare_row *row)
{
    double self = fabs(row->self.new_share - row->self.base_share);
    double total = fabs(row->total.new_share - row->total.base_share);

    return self > total ? self : total;
}

static int by_weight(const void *a, const void *b)
{
    const struct compare_row *left = a, *right = b;
    double x = change_of(left), y = change_of(right);
    /* Where the change is a function's own it says more than where it is its callees'.  */
    bool left_self = left->self.flag == left->flag, right_self = right->self.flag == right->flag;

    if (rank_of(left) != rank_of(right))
        return rank_of(right) - rank_of(left);
    if (left->by_callees != right->by_callees)
        return left->by_callees - right->by_callees;
    if (rank_of(left) > 0 && left_self != right_self)
        return right_self - left_self;
    if (x != y)
        return x > y ? -1 : 1;
    if (left->total.base_share != right->total.base_share) /* nothing changed: the larger */
        return left->total.base_share > right->total.base_share ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static void count_rows(struct compare_report *report)
{
    report->regressed_count = report->moved_count = report->improved_count = 0;
    report->caller_count = 0;
    report->suppressed_count = report->new_count = report->gone_count = report->renamed_count = 0;
    for (size_t i = 0; i < report->row_count; i++) {
        const struct compare_row *row = &report->rows[i];

        report->new_count += row->state == COMPARE_STATE_NEW;
        report->gone_count += row->state == COMPARE_STATE_GONE;
        report->renamed_count += row->state == COMPARE_STATE_RENAMED;
        if (row->suppressed)
            report->suppressed_count++;
        else if (row->by_callees)
            report->caller_count++;
        else if (row->flag == COMPARE_REGRESSED)
            report->regressed_count++;
        else if (row->flag == COMPARE_MOVED)
            report->moved_count++;
        else if (row->flag == COMPARE_IMPROVED)
            report->improved_count++;
    }
}

/* ---- What these runs could have found ---- */

static void say_percent(char *text, size_t size, double value)
{
    if (isinf(value) || value > 100)
        (void)snprintf(text, size, "nothing");
    else
        (void)snprintf(text, size, value < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * value);
}

/* "; NAME (12 %) 5.0 %"; name NULL: any function of that share.  */
static size_t add_function_power(const struct compare_report *report, const char *name,
                                 double share, char *text, size_t size)
{
    char percent[16], of[16];
    double change = compare_result_detectable(report->comparison, share);
    int length;

    say_percent(of, sizeof of, share);
    say_percent(percent, sizeof percent, change);
    if (name)
        length = snprintf(text, size, "; %s (%s) %s", name, of, percent);
    else
        length = snprintf(text, size, "; any function of %s by %s", of, percent);
    return length < 0 || (size_t)length >= size ? 0 : (size_t)length;
}

/* Functions with the largest own share of the base, for the power line: at most count.  */
static size_t find_hottest(const struct compare_report *report, const struct compare_row **rows,
                           size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < report->row_count; i++) {
        const struct compare_row *row = &report->rows[i];
        size_t at = found;

        if (!row->self.tested || row->self.base_share < report->options.floor)
            continue;
        while (at > 0 && rows[at - 1]->self.base_share < row->self.base_share)
            at--;
        if (at == count)
            continue;
        found += found < count;
        for (size_t k = found - 1; k > at; k--)
            rows[k] = rows[k - 1];
        rows[at] = row;
    }
    return found;
}

#define POWER_NAMES 3

/* "; parse (12 %) 5.0 %" of the hottest functions, and of any function of 1 %.  */
static void add_functions_power(struct compare_report *report, char *text, size_t size)
{
    const struct compare_row *hottest[POWER_NAMES];
    size_t count = find_hottest(report, hottest, POWER_NAMES), used = 0;

    for (size_t i = 0; i < count; i++) {
        const char *whole = hottest[i]->names->name;
        char *name = profile_short_name(whole, strlen(whole));

        report->memory->failed |= !name;
        if (name)
            used += add_function_power(report, name, hottest[i]->self.base_share, text + used,
                                       size - used);
        free(name);
    }
    used += add_function_power(report, NULL, 0.01, text + used, size - used);
    text[used] = '\0'; /* without a part that did not fit */
}

static const char *make_power(struct compare_report *report)
{
    const struct compare_result *comparison = report->comparison;
    double total = compare_result_detectable_total(comparison);
    char text[600] = "", percent[16];

    if (comparison->runs[0] + comparison->runs[1] < 3)
        return "With one run per side, the noise between runs is unknown, so no change can be "
               "detected.";
    say_percent(percent, sizeof percent, total);
    add_functions_power(report, text, sizeof text);
    return report_text(report,
                       "%zu + %zu runs detect with 80 %% probability a regression of: total %s%s",
                       comparison->runs[0], comparison->runs[1], percent, text);
}

/* ---- Verdict ---- */

bool compare_total_regressed(const struct compare_report *report)
{
    const struct compare_total_change *total = &report->comparison->total;

    return total->q <= report->options.q && total->relative >= report->options.min_total;
}

static bool has_runs_to_fail(const struct compare_report *report)
{
    return report->comparison->runs[0] >= COMPARE_MIN_RUNS &&
           report->comparison->runs[1] >= COMPARE_MIN_RUNS;
}

/* "; 7 + 7 runs would find +5 %".  */
static const char *wanted_runs(struct compare_report *report)
{
    size_t wanted = report->comparison->total.runs_wanted;
    double least = 100 * report->options.min_total;

    if (wanted == 0)
        return "";
    if (wanted < COMPARE_MIN_RUNS)
        wanted = COMPARE_MIN_RUNS;
    return report_text(report, "; %zu + %zu runs would detect %+.3g %% in total", wanted, wanted,
                       least);
}

/* "; 7 + 7 runs or 9,000 samples a run would do".  */
static const char *needed(struct compare_report *report)
{
    const struct compare_result *comparison = report->comparison;
    char text[BASE_GROUPED_BYTES];
    const char *samples = base_grouped((uint64_t)comparison->samples_needed, text);

    if (comparison->runs_needed > 0 && comparison->samples_needed > 0)
        return report_text(report, "; %zu + %zu runs, or %s samples in each run, would detect it",
                           comparison->runs_needed, comparison->runs_needed, samples);
    if (comparison->runs_needed > 0)
        return report_text(report, "; %zu + %zu runs would detect it", comparison->runs_needed,
                           comparison->runs_needed);
    if (comparison->samples_needed > 0)
        return report_text(report, "; %s samples in each run would detect it", samples);
    return "; more runs or samples are not enough: the runs must vary less";
}

/* "by 3.1 %".  */
static const char *noise_text(struct compare_report *report)
{
    char text[COMPARE_NUMBER_BYTES];

    return report_text(report, "by %s", compare_variation(report->comparison->total.noise, text));
}

/* What stands against PASS, beside failures; false: nothing.  */
static bool is_inconclusive(struct compare_report *report)
{
    const struct compare_result *comparison = report->comparison;
    const struct compare_options *options = &comparison->options;
    double change = 100 * options->need_change;
    char number[BASE_GROUPED_BYTES];

    switch (comparison->not_pass) {
    case COMPARE_REASON_NOTHING_TO_TEST:
        report_reason(report,
                      "no function has a share from %.3g %% to below 100 %%: nothing was tested",
                      100 * options->floor);
        return true;
    case COMPARE_REASON_TOO_NOISY:
        if (isinf(comparison->total.detectable)) {
            report_reason(report,
                          "too few runs: no ranks of %zu + %zu runs are as unlikely as %.2g, so a "
                          "change in total would not be detected%s",
                          comparison->runs[0], comparison->runs[1], comparison->total_level,
                          needed(report));
            return true;
        }
        report_reason(
            report,
            "too noisy: runs vary %s, so a change of %+.3g %% in total would not be detected%s",
            noise_text(report), 100 * fmax(options->min_total, options->need_change),
            needed(report));
        return true;
    case COMPARE_REASON_UNDECIDED:
        report_reason(
            report,
            "undecided: %s function%s grew beside the others, or the others decreased; runs "
            "vary %s, so the total does not show which%s",
            base_grouped(comparison->undecided_count, number),
            comparison->undecided_count == 1 ? "" : "s", noise_text(report), wanted_runs(report));
        return true;
    case COMPARE_REASON_BLIND:
        report_reason(report,
                      "too little power: a function of %.3g %% that regressed by %.3g %% would not "
                      "be detected%s",
                      100 * options->need_share, change, needed(report));
        return true;
    default:
        break;
    }
    return false;
}

/* What PASS rests on if runs vary too much to see a change of their total.  */
static void say_what_decided(struct compare_report *report)
{
    if (report->comparison->total_is_blind)
        report_reason(report,
                      "decided by the functions: runs vary %s, so a change of %+.3g %% in total "
                      "would not be detected if all functions regressed alike%s",
                      noise_text(report), 100 * report->options.min_total, wanted_runs(report));
}

/* "the total regressed by 5.1 % (p = 0.008)".  */
static const char *total_text(struct compare_report *report)
{
    const struct compare_total_change *total = &report->comparison->total;
    char growth[COMPARE_NUMBER_BYTES], p[COMPARE_NUMBER_BYTES];

    return report_text(report, "the total regressed by %s (p %s%s)",
                       compare_growth(total->relative, growth), total->p < 0.001 ? "" : "= ",
                       compare_probability(total->p, p));
}

/* "2 functions regressed, and 3 with them that call them".  */
static const char *functions_text(struct compare_report *report)
{
    char number[BASE_GROUPED_BYTES], callers[BASE_GROUPED_BYTES];
    const char *text = report_text(report, "%s function%s regressed",
                                   base_grouped(report->regressed_count, number),
                                   report->regressed_count == 1 ? "" : "s");

    if (report->caller_count == 0)
        return text;
    return report_text(
        report, "%s, and with %s %s caller%s", text, report->regressed_count == 1 ? "it" : "them",
        base_grouped(report->caller_count, callers), report->caller_count == 1 ? "" : "s");
}

/* A change of code is no reason if both sides have the same code.  */
static enum compare_verdict judge_same_build(struct compare_report *report, const char *regressed)
{
    const char *build = report->memory->same_build;
    size_t id = strcspn(build, " ");

    report_reason(report,
                  "both sides are runs of one build of %s (%.*s), but %s: measure the build that "
                  "has the change, or allow one build with different input (--same-build)",
                  build[id] ? build + id + 1 : "the program", id > 16 ? 16 : (int)id, build,
                  regressed);
    return COMPARE_INCONCLUSIVE;
}

static enum compare_verdict judge_comparison(struct compare_report *report)
{
    const struct compare_result *comparison = report->comparison;
    bool total = compare_total_regressed(report) && !report->total_suppressed;
    char growth[COMPARE_NUMBER_BYTES];

    if (!has_runs_to_fail(report)) {
        report_reason(report, "%zu + %zu runs: a gate needs at least %d + %d%s",
                      comparison->runs[0], comparison->runs[1], COMPARE_MIN_RUNS, COMPARE_MIN_RUNS,
                      wanted_runs(report));
        return COMPARE_INCONCLUSIVE;
    }
    if (compare_total_regressed(report) && report->total_suppressed)
        report_note(report, "the total regressed by %s, suppressed: %s",
                    compare_growth(comparison->total.relative, growth), report->total_suppressed);
    if (report->memory->same_build && (total || report->regressed_count > 0))
        return judge_same_build(report, total ? total_text(report) : functions_text(report));
    if (total)
        report_reason(report, "%s", total_text(report));
    if (report->regressed_count > 0)
        report_reason(report, "%s", functions_text(report));
    if (total || report->regressed_count > 0)
        return COMPARE_FAIL;
    if (is_inconclusive(report))
        return COMPARE_INCONCLUSIVE;
    say_what_decided(report);
    return COMPARE_PASS;
}

static size_t count_rules(const struct compare_report *report, enum compare_outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < report->rule_count; i++)
        count += report->rules[i].outcome == outcome;
    return count;
}

/* Where shares do not show which functions changed.  */
static void note_reference(struct compare_report *report)
{
    if (report->comparison->reference == COMPARE_REFERENCE_TOTAL)
        report_note(report, "so much of the program changed that shares alone do not show which "
                            "functions regressed: their cost must have grown as well, beyond the "
                            "interval of the total");
}

/* What the comparison says, and what it could have found.  */
static void judge_runs(struct compare_report *report)
{
    report->verdict = COMPARE_PASS;
    if (report->problem) {
        report_reason(report, "%s", report->problem);
        report->verdict = COMPARE_INCONCLUSIVE;
        report->power = "none: these runs cannot be compared";
    } else if (report->comparison) {
        report->verdict = judge_comparison(report);
        note_reference(report);
        report->power = make_power(report);
    } else {
        report->power = "none: budgets only check limits, and detect no change";
    }
    if (report->set->damaged && !report->problem) {
        report_reason(report, "the input is damaged");
        if (report->verdict == COMPARE_PASS)
            report->verdict = COMPARE_INCONCLUSIVE;
    }
}

static void judge_rules(struct compare_report *report)
{
    size_t broken = count_rules(report, COMPARE_RULE_BROKEN);
    size_t unknown = count_rules(report, COMPARE_RULE_UNKNOWN);

    if (broken > 0) {
        report_reason(report, "%zu budget%s exceeded", broken, broken == 1 ? " is" : "s are");
        report->verdict = COMPARE_FAIL;
    } else if (unknown > 0 && report->verdict == COMPARE_PASS) {
        report_reason(report, "%zu budget%s not be checked", unknown,
                      unknown == 1 ? " could" : "s could");
        report->verdict = COMPARE_INCONCLUSIVE;
    }
}

/* ---- A series of looks ---- */

const char *compare_stop_name(enum compare_stop stop)
{
    static const char *const names[] = { [COMPARE_STOP_DECIDED] = "decided",
                                         [COMPARE_STOP_MOST] = "runs",
                                         [COMPARE_STOP_TIME] = "time",
                                         [COMPARE_STOP_FUTILE] = "futile" };

    return names[stop];
}

static void note_series(struct compare_report *report)
{
    const struct compare_series *series = &report->series;
    static const char *const why[] = {
        [COMPARE_STOP_DECIDED] = "the verdict is decided",
        [COMPARE_STOP_MOST] = "no more runs are allowed",
        [COMPARE_STOP_TIME] = "the time limit is reached",
        [COMPARE_STOP_FUTILE] = "the runs that are left would not change the verdict",
    };

    if (series->looks > 0 && !report->problem && !report->set->damaged)
        report_note(report,
                    "%zu run%s of each build, at most %zu; stopped at look %zu because %s; this "
                    "look tested at %.2g, so that all looks together keep %.2g",
                    report->set->side_runs[COMPARE_NEW],
                    report->set->side_runs[COMPARE_NEW] == 1 ? "" : "s", series->most,
                    series->looks, why[series->stop], report->options.q, series->q);
}

enum compare_status compare_report_judge(struct compare_report *report, struct compare_error *error)
{
    report_find_callers(report);
    count_rows(report);
    compare_sort(report->rows, report->row_count, sizeof *report->rows, by_weight);
    judge_runs(report);
    judge_rules(report);
    note_series(report);
    return report_status(report, error);
}
