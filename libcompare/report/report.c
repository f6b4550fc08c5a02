/* report.c - a report without a verdict: the comparison, a row for each function, notes.  */
#include "libcompare/report/report.h"

#include <stdarg.h>

/* ---- Texts ---- */

static const char *format_text(struct compare_report *report, const char *format, va_list arguments)
{
    struct base_text *text = &report->memory->scratch;
    const char *copy = NULL;

    base_text_clear(text);
    base_text_addv(text, format, arguments);
    if (!text->failed)
        copy = base_arena_text(&report->memory->arena, text->bytes, text->length);
    report->memory->failed |= !copy;
    return copy ? copy : "";
}

const char *report_text(struct compare_report *report, const char *format, ...)
{
    const char *text;
    va_list arguments;

    va_start(arguments, format);
    text = format_text(report, format, arguments);
    va_end(arguments);
    return text;
}

static void add_text(struct compare_report *report, const char ***texts, size_t *count,
                     size_t *capacity, const char *text)
{
    if (base_make_room(texts, capacity, *count + 1, sizeof **texts))
        (*texts)[(*count)++] = text;
    else
        report->memory->failed = true;
}

void report_reason(struct compare_report *report, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(report, &report->reasons, &report->reason_count, &report->memory->reason_capacity,
             format_text(report, format, arguments));
    va_end(arguments);
}

void report_note(struct compare_report *report, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add_text(report, &report->notes, &report->note_count, &report->memory->note_capacity,
             format_text(report, format, arguments));
    va_end(arguments);
}

void compare_report_add_note(struct compare_report *report, const char *text)
{
    report_note(report, "%s", text);
}

struct compare_rule *report_rule(struct compare_report *report)
{
    struct compare_rule *rule;

    if (!base_make_room(&report->rules, &report->memory->rule_capacity, report->rule_count + 1,
                        sizeof *report->rules)) {
        report->memory->failed = true;
        return NULL;
    }
    rule = &report->rules[report->rule_count++];
    *rule = (struct compare_rule){ .text = "", .result = "", .place = "", .file = "" };
    return rule;
}

enum compare_status report_status(const struct compare_report *report, struct compare_error *error)
{
    return report->memory->failed ? compare_no_memory(error) : COMPARE_OK;
}

/* ---- Rows ---- */

/* A function of one sample is missing on the other side by chance alone.  What the other side
 * would have had of it, at the same share, is 5 samples or more before its absence says anything:
 * the chance of none is then below 1 %.  */
#define EXPECTED_SAMPLES 5

static bool would_be_seen(const struct compare_report *report, double share, int side)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->run_count; i++) /* a baseline lacks what is small */
        if (set->runs[i].side == (enum compare_side)side && share <= set->runs[i].left_out)
            return false;
    return share * report->comparison->mean_samples[side] *
               (double)report->comparison->runs[side] >=
           EXPECTED_SAMPLES;
}

static enum compare_state state_of(const struct compare_report *report,
                                   const struct compare_function *function,
                                   const struct compare_change *total)
{
    if (function->renamed)
        return COMPARE_STATE_RENAMED;
    if (!function->places[COMPARE_BASE].name &&
        would_be_seen(report, total->new_share, COMPARE_BASE))
        return COMPARE_STATE_NEW;
    if (!function->places[COMPARE_NEW].name &&
        would_be_seen(report, total->base_share, COMPARE_NEW))
        return COMPARE_STATE_GONE;
    return COMPARE_STATE_BOTH;
}

static enum compare_flag flag_of(const struct compare_report *report, const struct compare_row *row)
{
    switch (report->options.metric) {
    case COMPARE_METRIC_SELF:
        return row->self.flag;
    case COMPARE_METRIC_TOTAL:
        return row->total.flag;
    case COMPARE_METRIC_BOTH:
        break;
    }
    return report_severity(row->self.flag) >= report_severity(row->total.flag) ? row->self.flag
                                                                               : row->total.flag;
}

static void fill_interval(const struct compare_result *comparison,
                          const struct compare_change *change, double interval[2])
{
    interval[0] = interval[1] = change->new_share - change->base_share;
    if (change->tested && comparison->runs[0] + comparison->runs[1] > 2)
        compare_result_interval(comparison, change, &interval[0], &interval[1]);
}

static bool fill_rows(struct compare_report *report)
{
    const struct compare_set *set = report->set;

    report->rows = compare_array(set->function_count, sizeof *report->rows);
    for (size_t f = 0; report->rows && f < set->function_count; f++) {
        const struct compare_function *function = &set->functions[f];
        struct compare_row *row = &report->rows[report->row_count];

        if (!function->places[COMPARE_BASE].name && !function->places[COMPARE_NEW].name)
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
    return report->rows != NULL;
}

/* ---- Opening ---- */

/* An improvement of this size is more often a program that stopped at once than a better one.  */
#define SUSPICIOUS_SAVING 0.9

#define SHOWN_ROOTS 3

static void note_roots(struct compare_report *report)
{
    const struct compare_set *set = report->set;

    for (size_t i = 0; i < set->root_count && i < SHOWN_ROOTS; i++)
        report_note(report,
                    "\"%s\" of the base is compared with \"%s\" of the new runs: both begin "
                    "stacks of mostly the same functions, as one process does under two names",
                    set->roots[i].base, set->roots[i].new_name);
    if (set->root_count > SHOWN_ROOTS)
        report_note(report, "%zu more roots of stacks are compared in the same way",
                    set->root_count - SHOWN_ROOTS);
}

/* What is worth a word beside the verdict.  */
static void add_notes(struct compare_report *report)
{
    const struct compare_set *set = report->set;
    size_t assumed = 0;

    for (size_t i = 0; i < set->run_count; i++)
        assumed += set->runs[i].type_assumed;
    if (assumed > 0 && assumed < set->run_count)
        report_note(report, "%zu run%s no sample type: assumed to be %s in %s", assumed,
                    assumed == 1 ? " has" : "s have", set->type.type, set->type.unit);
    if (report->comparison && report->comparison->total.relative <= -SUSPICIOUS_SAVING)
        report_note(report,
                    "the new runs cost %.2g %% of the base runs: check that both did the same work",
                    100 * (1 + report->comparison->total.relative));
    note_roots(report);
    report_note_environment(report);
}

static enum compare_status compare_sides(struct compare_report *report, struct compare_error *error)
{
    enum compare_status status = report_check_runs(report, error);

    if (status == COMPARE_OK && !report->problem && report_has_sides(report)) {
        status = report_compare(report, error);
        if (status == COMPARE_OK && !fill_rows(report))
            status = compare_no_memory(error);
    }
    if (status != COMPARE_OK)
        return status;
    add_notes(report);
    return report_status(report, error);
}

enum compare_status compare_report_open(const struct compare_set *set,
                                        const struct compare_options *options,
                                        struct compare_report **out, struct compare_error *error)
{
    struct compare_report *report = calloc(1, sizeof *report);
    enum compare_status status = COMPARE_NO_MEMORY;

    if (report)
        report->memory = calloc(1, sizeof *report->memory);
    if (report && report->memory) {
        report->set = set;
        compare_options_init(&report->options);
        if (options)
            report->options = *options;
        report->power = "";
        status = compare_sides(report, error);
    } else {
        (void)compare_no_memory(error);
    }
    if (status == COMPARE_OK)
        *out = report;
    else
        compare_report_close(report);
    return status;
}

void compare_report_close(struct compare_report *report)
{
    if (!report)
        return;
    compare_result_free(report->comparison);
    if (report->memory) {
        base_arena_release(&report->memory->arena);
        base_text_release(&report->memory->scratch);
    }
    free(report->memory);
    free(report->reasons);
    free(report->notes);
    free(report->rules);
    free(report->rows);
    free(report);
}
