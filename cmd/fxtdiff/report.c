/* report.c - from a comparison to a verdict with its reasons.  */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_set.h>
#include "cmd/fxtdiff/arena.h"
#include "cmd/fxtdiff/compare.h"
#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/policies.h"

/* ---- Texts ---- */

static const char *format_text(struct diff_report *report, const char *format, va_list arguments)
{
    char *text = NULL;
    const char *copy;
    int length = vasprintf(&text, format, arguments);

    if (length < 0) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    copy = diff_arena_copy(report->arena, text, (size_t)length);
    free(text);
    return copy;
}

const char *diff_report_text(struct diff_report *report, const char *format, ...)
{
    const char *text;
    va_list arguments;

    va_start(arguments, format);
    text = format_text(report, format, arguments);
    va_end(arguments);
    return text;
}

void diff_report_reason(struct diff_report *report, const char *format, ...)
{
    va_list arguments;

    report->reasons = diff_grow(report->reasons, &report->reason_capacity, report->reason_count + 1,
                                sizeof *report->reasons);
    va_start(arguments, format);
    report->reasons[report->reason_count++] = format_text(report, format, arguments);
    va_end(arguments);
}

void diff_report_note(struct diff_report *report, const char *format, ...)
{
    va_list arguments;

    report->notes = diff_grow(report->notes, &report->note_capacity, report->note_count + 1,
                              sizeof *report->notes);
    va_start(arguments, format);
    report->notes[report->note_count++] = format_text(report, format, arguments);
    va_end(arguments);
}

struct diff_rule *diff_report_rule(struct diff_report *report)
{
    report->rules = diff_grow(report->rules, &report->rule_capacity, report->rule_count + 1,
                              sizeof *report->rules);
    report->rules[report->rule_count] =
        (struct diff_rule){ .text = "", .result = "", .place = "", .file = "" };
    return &report->rules[report->rule_count++];
}

/* ---- Means ---- */

double diff_mean_cost(const struct diff_set *set, enum diff_side side)
{
    double sum = 0;

    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side)
            sum += set->runs[i].cost;
    return set->side_runs[side] ? sum / (double)set->side_runs[side] : 0;
}

double *diff_mean_stacks(const struct diff_set *set)
{
    double *means = cli_allocate(2 * set->node_count, sizeof *means);

    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        for (size_t k = 0; k < run->stack_count; k++)
            means[2 * (size_t)run->stacks[k].node + (size_t)run->side] +=
                run->stacks[k].value / (double)set->side_runs[run->side];
    }
    return means;
}

/* ---- Rows ---- */

/* A function of one sample is missing on the other side by chance alone.  What the other side
 * would have had of it, at the same share, is 5 samples or more before its absence says anything:
 * the chance of none is then below 1 %.  */
#define EXPECTED_SAMPLES 5

static bool would_be_seen(const struct diff_report *report, double share, int side)
{
    const struct diff_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++) /* a baseline lacks what is small */
        if (set->runs[i].side == (enum diff_side)side && share <= set->runs[i].left_out)
            return false;
    return share * report->comparison->mean_samples[side] *
               (double)report->comparison->runs[side] >=
           EXPECTED_SAMPLES;
}

static enum diff_state state_of(const struct diff_report *report,
                                const struct diff_function *function,
                                const struct compare_change *total)
{
    if (function->renamed)
        return DIFF_RENAMED;
    if (!function->places[DIFF_BASE].name && would_be_seen(report, total->new_share, DIFF_BASE))
        return DIFF_NEW_FUNCTION;
    if (!function->places[DIFF_NEW].name && would_be_seen(report, total->base_share, DIFF_NEW))
        return DIFF_GONE;
    return DIFF_BOTH;
}

/* The worse of two: regressed, moved, improved, none.  */
static int severity(enum compare_flag flag)
{
    static const int of[] = { [COMPARE_UNCHANGED] = 0,
                              [COMPARE_IMPROVED] = 1,
                              [COMPARE_MOVED] = 2,
                              [COMPARE_REGRESSED] = 3 };

    return of[flag];
}

static enum compare_flag flag_of(const struct diff_report *report, const struct diff_row *row)
{
    switch (report->settings->metric) {
    case DIFF_METRIC_SELF:
        return row->self.flag;
    case DIFF_METRIC_TOTAL:
        return row->total.flag;
    case DIFF_METRIC_BOTH:
        break;
    }
    return severity(row->self.flag) >= severity(row->total.flag) ? row->self.flag : row->total.flag;
}

static void fill_interval(const struct compare_result *comparison,
                          const struct compare_change *change, double interval[2])
{
    interval[0] = interval[1] = change->new_share - change->base_share;
    if (change->tested && comparison->runs[0] + comparison->runs[1] > 2)
        compare_result_interval(comparison, change, &interval[0], &interval[1]);
}

static void fill_rows(struct diff_report *report)
{
    const struct diff_set *set = report->set;

    report->rows = cli_allocate(set->function_count, sizeof *report->rows);
    for (size_t f = 0; f < set->function_count; f++) {
        const struct diff_function *function = &set->functions[f];
        struct diff_row *row = &report->rows[report->row_count];

        if (!function->places[DIFF_BASE].name && !function->places[DIFF_NEW].name)
            continue; /* what it was is another's now */
        row->function = (uint32_t)f;
        row->names = function;
        row->state = state_of(report, function, &report->comparison->functions[f].total);
        row->self = report->comparison->functions[f].self;
        row->total = report->comparison->functions[f].total;
        fill_interval(report->comparison, &row->self, row->self_interval);
        fill_interval(report->comparison, &row->total, row->total_interval);
        row->flag = flag_of(report, row);
        report->row_count++;
    }
}

/* ---- Order ---- */

static int rank_of(const struct diff_row *row)
{
    return row->suppressed ? 0 : severity(row->flag);
}

double diff_row_change(const struct diff_row *row)
{
    double self = fabs(row->self.new_share - row->self.base_share);
    double total = fabs(row->total.new_share - row->total.base_share);

    return self > total ? self : total;
}

static int by_weight(const void *a, const void *b)
{
    const struct diff_row *left = a, *right = b;
    double x = diff_row_change(left), y = diff_row_change(right);
    /* Where the change is a function's own it says more than where it is its callees'.  */
    bool left_self = left->self.flag == left->flag, right_self = right->self.flag == right->flag;

    if (rank_of(left) != rank_of(right))
        return rank_of(right) - rank_of(left);
    if (rank_of(left) > 0 && left_self != right_self)
        return right_self - left_self;
    if (x != y)
        return x > y ? -1 : 1;
    if (left->total.base_share != right->total.base_share) /* nothing changed: the larger */
        return left->total.base_share > right->total.base_share ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static void count_rows(struct diff_report *report)
{
    report->regressed_count = report->moved_count = report->improved_count = 0;
    report->suppressed_count = report->new_count = report->gone_count = report->renamed_count = 0;
    for (size_t i = 0; i < report->row_count; i++) {
        const struct diff_row *row = &report->rows[i];

        report->new_count += row->state == DIFF_NEW_FUNCTION;
        report->gone_count += row->state == DIFF_GONE;
        report->renamed_count += row->state == DIFF_RENAMED;
        if (row->suppressed)
            report->suppressed_count++;
        else if (row->flag == COMPARE_REGRESSED)
            report->regressed_count++;
        else if (row->flag == COMPARE_MOVED)
            report->moved_count++;
        else if (row->flag == COMPARE_IMPROVED)
            report->improved_count++;
    }
}

/* ---- What these runs could have found ---- */

static void put_percent(char *text, size_t size, double value)
{
    (void)snprintf(text, size, value < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * value);
}

/* With the least effect that is asked for on top of what noise hides.  */
static double findable(const struct diff_report *report, double share)
{
    const struct compare_options *options = &report->settings->compare;
    double change = compare_result_detectable(report->comparison, share);

    if (change < options->min_rel)
        change = options->min_rel;
    return change < options->min_share / share ? options->min_share / share : change;
}

/* "; NAME (12 %) 5.0 %"; name NULL: any function of that share.  */
static size_t add_function_power(const struct diff_report *report, const char *name, double share,
                                 char *text, size_t size)
{
    char percent[16], of[16];
    double change = findable(report, share);
    int length;

    put_percent(of, sizeof of, share);
    if (isinf(change) || change > 100)
        (void)snprintf(percent, sizeof percent, "nothing");
    else
        put_percent(percent, sizeof percent, change);
    if (name)
        length = snprintf(text, size, "; %s (%s) %s", name, of, percent);
    else
        length = snprintf(text, size, "; any function of %s by %s", of, percent);
    return length < 0 || (size_t)length >= size ? 0 : (size_t)length;
}

/* Functions with the largest own share of the base, for the power line: at most count.  */
static size_t find_hottest(const struct diff_report *report, const struct diff_row **rows,
                           size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < report->row_count; i++) {
        const struct diff_row *row = &report->rows[i];
        size_t at = found;

        if (!row->self.tested || row->self.base_share < report->settings->compare.floor)
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

static const char *make_power(struct diff_report *report)
{
    const struct compare_result *comparison = report->comparison;
    const struct diff_row *hottest[POWER_NAMES];
    size_t count = find_hottest(report, hottest, POWER_NAMES);
    double total = comparison->total.detectable;
    char text[600], percent[16];
    size_t used = 0;

    if (isinf(total))
        return diff_report_text(report,
                                "One run a side tells nothing of the noise between runs: no change "
                                "is large enough to be told from it.");
    if (total < report->settings->compare.min_total)
        total = report->settings->compare.min_total;
    put_percent(percent, sizeof percent, total);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char *name = profile_short_name(hottest[i]->names->name, strlen(hottest[i]->names->name));

        if (name)
            used += add_function_power(report, name, hottest[i]->self.base_share, text + used,
                                       sizeof text - used);
        free(name);
    }
    used += add_function_power(report, NULL, 0.01, text + used, sizeof text - used);
    return diff_report_text(report,
                            "%zu + %zu runs find with 80 %% probability a regression of: total "
                            "%s%.*s",
                            comparison->runs[0], comparison->runs[1], percent, (int)used, text);
}

/* ---- Verdict ---- */

bool diff_total_regressed(const struct diff_report *report)
{
    const struct compare_total_change *total = &report->comparison->total;

    return total->p <= report->settings->compare.q &&
           total->relative >= report->settings->compare.min_total;
}

static bool has_runs_to_fail(const struct diff_report *report)
{
    return report->comparison->runs[0] >= COMPARE_MIN_RUNS &&
           report->comparison->runs[1] >= COMPARE_MIN_RUNS;
}

/* "; 7 + 7 runs would find +5 %".  */
static const char *wanted_runs(struct diff_report *report)
{
    size_t wanted = report->comparison->total.runs_wanted;
    double least = 100 * report->settings->compare.min_total;

    if (wanted == 0)
        return "";
    if (wanted < COMPARE_MIN_RUNS)
        wanted = COMPARE_MIN_RUNS;
    return diff_report_text(report, "; %zu + %zu would do to find %+.3g %% in total", wanted,
                            wanted, least);
}

static enum compare_verdict judge_comparison(struct diff_report *report)
{
    const struct compare_result *comparison = report->comparison;
    const struct compare_total_change *total = &comparison->total;
    double least = 100 * report->settings->compare.min_total;
    char p[32];

    if (!has_runs_to_fail(report)) {
        diff_report_reason(report, "%zu + %zu runs: a gate needs at least %d + %d%s",
                           comparison->runs[0], comparison->runs[1], COMPARE_MIN_RUNS,
                           COMPARE_MIN_RUNS, wanted_runs(report));
        return COMPARE_INCONCLUSIVE;
    }
    if (diff_total_regressed(report) && report->total_suppressed)
        diff_report_note(report, "the total regressed by %.1f %%, suppressed: %s",
                         100 * total->relative, report->total_suppressed);
    else if (diff_total_regressed(report))
        diff_report_reason(report, "the total regressed by %.1f %% (p %s%s)", 100 * total->relative,
                           total->p < 0.001 ? "" : "= ", diff_probability(total->p, p));
    if (report->regressed_count > 0)
        diff_report_reason(report, "%s function%s regressed", cli_grouped(report->regressed_count),
                           report->regressed_count == 1 ? "" : "s");
    if ((diff_total_regressed(report) && !report->total_suppressed) || report->regressed_count > 0)
        return COMPARE_FAIL;
    if (total->detectable > report->settings->compare.min_total) {
        diff_report_reason(report,
                           "too noisy: runs vary by %.1f %%, so that %+.3g %% in total would go "
                           "unseen%s",
                           100 * total->noise, least, wanted_runs(report));
        return COMPARE_INCONCLUSIVE;
    }
    if (comparison->test_count == 0) {
        diff_report_reason(
            report, "no function has a share from %.3g %% to below 100 %%: nothing was tested",
            100 * report->settings->compare.floor);
        return COMPARE_INCONCLUSIVE;
    }
    return COMPARE_PASS;
}

static size_t count_rules(const struct diff_report *report, enum diff_outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < report->rule_count; i++)
        count += report->rules[i].outcome == outcome;
    return count;
}

/* What policies said stands behind what the comparison says.  */
static void put_behind(struct diff_report *report, size_t before)
{
    size_t count = report->reason_count, own = count - before;
    const char **ordered = cli_allocate(count, sizeof *ordered);

    if (own > 0)
        memcpy(ordered, report->reasons + before, own * sizeof *ordered);
    if (before > 0)
        memcpy(ordered + own, report->reasons, before * sizeof *ordered);
    if (count > 0)
        memcpy(report->reasons, ordered, count * sizeof *ordered);
    free(ordered);
}

void diff_report_judge(struct diff_report *report)
{
    size_t before = report->reason_count;
    size_t broken = count_rules(report, DIFF_RULE_BROKEN);
    size_t unknown = count_rules(report, DIFF_RULE_UNKNOWN);

    count_rows(report);
    if (report->row_count > 0)
        qsort(report->rows, report->row_count, sizeof *report->rows, by_weight);
    report->verdict = COMPARE_PASS;
    if (report->problem) {
        diff_report_reason(report, "%s", report->problem);
        report->verdict = COMPARE_INCONCLUSIVE;
    } else if (report->comparison) {
        report->verdict = judge_comparison(report);
        report->power = make_power(report);
    }
    if (!report->comparison)
        report->power = report->problem ? "nothing could be found: these runs cannot be compared"
                                        : "budgets alone find no change, only what exceeds them";
    if (report->input_status == CLI_DAMAGED && !report->problem) {
        diff_report_reason(report, "the input is damaged");
        if (report->verdict == COMPARE_PASS)
            report->verdict = COMPARE_INCONCLUSIVE;
    }
    if (broken > 0) {
        diff_report_reason(report, "%zu budget%s exceeded", broken, broken == 1 ? " is" : "s are");
        report->verdict = COMPARE_FAIL;
    } else if (unknown > 0 && report->verdict == COMPARE_PASS) {
        diff_report_reason(report, "%zu budget%s not be checked", unknown,
                           unknown == 1 ? " could" : "s could");
        report->verdict = COMPARE_INCONCLUSIVE;
    }
    put_behind(report, before);
}

enum cli_exit diff_report_exit(const struct diff_report *report)
{
    switch (report->verdict) {
    case COMPARE_PASS:
        return CLI_OK;
    case COMPARE_FAIL:
        return CLI_DIFFERENT;
    case COMPARE_INCONCLUSIVE:
        break;
    }
    return CLI_INCONCLUSIVE;
}

/* ---- Opening ---- */

/* So much without names is said: a change in it is nobody's.  */
#define UNNAMED_SHARE 0.05

/* Which share of a side's cost has no name, and of which function of that kind most is.  */
static double unnamed_share(const struct diff_set *set, enum diff_side side, const char **most)
{
    double *costs = cli_allocate(set->function_count, sizeof *costs);
    double all = 0, unnamed = 0, largest = 0;

    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        for (size_t k = 0; k < run->cost_count && run->side == side; k++)
            costs[run->costs[k].function] += run->costs[k].self;
        all += run->side == side ? run->cost : 0;
    }
    for (size_t f = 0; f < set->function_count; f++) {
        if (!compare_name_is_missing(set->functions[f].name))
            continue;
        unnamed += costs[f];
        if (costs[f] > largest) {
            largest = costs[f];
            *most = set->functions[f].name;
        }
    }
    free(costs);
    return all > 0 ? unnamed / all : 0;
}

static void note_unnamed(struct diff_report *report)
{
    static const char *const sides[] = { "the base", "the new runs" };

    for (int side = 0; side < DIFF_SIDES; side++) {
        const char *most = "";
        double share = unnamed_share(report->set, (enum diff_side)side, &most);

        if (share >= UNNAMED_SHARE)
            diff_report_note(report,
                             "%.1f %% of the cost of %s is in code without names, most in %s "
                             "(--symbols)",
                             100 * share, sides[side], most);
    }
}

/* An improvement of this size is more often a program that stopped at once than a better one.  */
#define SUSPICIOUS_SAVING 0.9

/* What is worth a word beside the verdict.  */
static void add_notes(struct diff_report *report)
{
    const struct diff_set *set = report->set;
    size_t assumed = 0;

    for (size_t i = 0; i < set->run_count; i++)
        assumed += set->runs[i].type_assumed;
    if (assumed > 0 && assumed < set->run_count)
        diff_report_note(report, "%zu run%s no sample type: taken for %s in %s", assumed,
                         assumed == 1 ? " says" : "s say", set->type.type, set->type.unit);
    if (report->comparison && report->comparison->total.relative <= -SUSPICIOUS_SAVING)
        diff_report_note(report,
                         "the new runs cost %.2g %% of what those of the base did: was it the same "
                         "work?",
                         100 * (1 + report->comparison->total.relative));
    note_unnamed(report);
    diff_note_environment(report);
}

struct diff_report *diff_report_open(const struct diff_set *set,
                                     const struct diff_settings *settings)
{
    struct diff_report *report = cli_allocate(1, sizeof *report);
    bool ok;

    report->arena = diff_arena_open();
    report->set = set;
    report->settings = settings;
    report->power = "";
    ok = diff_check_runs(report, &report->problem);
    if (ok && !report->problem && set->side_runs[DIFF_BASE] > 0 && set->side_runs[DIFF_NEW] > 0) {
        ok = diff_compare(report);
        if (ok)
            fill_rows(report);
    }
    if (ok) {
        add_notes(report);
        return report;
    }
    diff_report_close(report);
    return NULL;
}

void diff_report_close(struct diff_report *report)
{
    if (!report)
        return;
    compare_result_free(report->comparison);
    diff_arena_close(report->arena);
    free(report->reasons);
    free(report->notes);
    free(report->rules);
    free(report->rows);
    free(report);
}
