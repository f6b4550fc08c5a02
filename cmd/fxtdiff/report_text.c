/* report_text.c - the report for people, as wide as their terminal.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/width.h"
#include "cmd/cli/strip.h"
#include "cmd/fxtdiff/finding_values.h"
#include "cmd/fxtdiff/format.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"

/* What stands before the name of a function in its row, blanks included, besides the mark.  Where
 * that leaves too little for names, columns are left out, the least telling ones first.  */
static const struct layout {
    size_t width;
    bool spread; /* of the change of share */
    bool base;   /* share of the base: what is new, less the change */
    bool test;   /* q, and which of both costs */
} layouts[] = {
    { 61, true, true, true },
    { 54, false, true, true },
    { 45, false, false, true },
    { 30, false, false, false },
};
#define NAME_MIN   20
#define NAME_LEAST 8 /* however narrow it gets */

/* Plots of the runs of findings: "    base |...|  10.00 ...  12.00 %".  */
#define STRIP_FINDINGS 10
#define STRIP_COLUMNS  80 /* at most, with all that stands beside the plot */
#define STRIP_LABELS   11
#define STRIP_LIMITS   20
#define STRIP_LEAST    8 /* narrower ones say nothing */

enum paint { PLAIN, BOLD, RED, GREEN, YELLOW };

struct page {
    const struct compare_report *report;
    const struct diff_settings *settings;
    struct cli_output *output;
    size_t columns; /* 0: as wide as it takes */
    bool colour;
    const struct layout *layout; /* of the table */
};

static const char *paint(const struct page *page, enum paint how)
{
    static const char *const escapes[] = { "\033[0m", "\033[1m", "\033[31m", "\033[32m",
                                           "\033[33m" };

    return page->colour ? escapes[how] : "";
}

/* The width of the word at text, and of the escapes in it nothing.  A percentage keeps its sign:
 * "5.0 %" is one word.  */
static size_t word_width(const char *text, const char **end)
{
    size_t width = 0;

    while (*text && (*text != ' ' || text[1] == '%')) {
        size_t columns = 0;

        if (*text == '\033') {
            text += strcspn(text, "m");
            text += *text != '\0';
            continue;
        }
        text += base_width_character(text, strnlen(text, 4), &columns);
        width += columns;
    }
    *end = text;
    return width;
}

/* A line, with breaks between words where the terminal ends; what goes on is indented.  */
static void put_line(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_line(const struct page *page, const char *format, ...)
{
    const char *at, *end;
    va_list arguments;
    size_t column = 0;
    char *text;

    va_start(arguments, format);
    text = cli_text(format, arguments);
    va_end(arguments);
    for (at = text; *at; at = end) {
        size_t blanks = strspn(at, " ");
        size_t width = word_width(at + blanks, &end);

        if (page->columns && column > 4 && column + blanks + width > page->columns) {
            diff_print(page->output, "\n    ");
            column = 4;
            at += blanks;
            blanks = 0;
        }
        diff_print(page->output, "%.*s", (int)(end - at), at);
        column += blanks + width;
    }
    diff_print(page->output, "\n");
    free(text);
}

/* ---- Verdict and total ---- */

static void put_verdict(const struct page *page)
{
    static const enum paint paints[] = {
        [COMPARE_PASS] = GREEN, [COMPARE_FAIL] = RED, [COMPARE_INCONCLUSIVE] = YELLOW
    };
    const struct compare_report *report = page->report;
    char *reasons = cli_join("", "");

    for (size_t i = 0; i < report->reason_count; i++) {
        char *before = cli_join(reasons, i ? "; " : ": ");

        free(reasons);
        reasons = cli_join(before, report->reasons[i]);
        free(before);
    }
    put_line(page, "%s%s%s%s%s", paint(page, BOLD), paint(page, paints[report->verdict]),
             compare_verdict_name(report->verdict), paint(page, PLAIN), reasons);
    free(reasons);
}

static void put_total(const struct page *page)
{
    const struct compare_set *set = page->report->set;
    const struct compare_result *comparison = page->report->comparison;
    const struct compare_total_change *total = &comparison->total;
    char base[32], new_cost[32], change[32], low[32], high[32], p[32];
    char noise[64] = "", variation[COMPARE_NUMBER_BYTES];
    char interval[80] = "";

    if (comparison->runs[0] + comparison->runs[1] > 2)
        (void)snprintf(noise, sizeof noise, ", runs vary by %s",
                       compare_variation(total->noise, variation));
    if (total->low < total->high)
        (void)snprintf(interval, sizeof interval, "  [%s, %s]", diff_relative(total->low, low),
                       diff_relative(total->high, high));
    diff_print(page->output, "\n");
    put_line(page, "%s per run: %s -> %s  %s%s%s%s  p %s%s  (%zu + %zu runs%s)", set->type.type,
             compare_amount(set->type.unit, total->base, base),
             compare_amount(set->type.unit, total->new_cost, new_cost), paint(page, BOLD),
             diff_relative(total->relative, change), paint(page, PLAIN), interval,
             total->p < 0.001 ? "" : "= ", compare_probability(total->p, p), comparison->runs[0],
             comparison->runs[1], noise);
}

/* ---- Functions ---- */

static enum paint paint_of(const struct compare_row *row)
{
    if (row->suppressed || row->by_callees)
        return YELLOW;
    switch (row->flag) {
    case COMPARE_REGRESSED:
        return RED;
    case COMPARE_IMPROVED:
        return GREEN;
    case COMPARE_MOVED:
        return YELLOW;
    case COMPARE_UNCHANGED:
        break;
    }
    return PLAIN;
}

static void put_row(const struct page *page, const struct compare_row *row, const char *name,
                    size_t names, size_t marks)
{
    const char *family;
    const double *interval;
    const struct compare_change *change = diff_row_family(row, &family, &interval);
    const struct layout *layout = page->layout;
    char relative[32], q[32], half[32], spread[40] = "";
    char *place = diff_row_place(row);
    size_t width = base_width_text(name, strlen(name));
    char *fitted = cli_checked(page->columns && width > names
                                   ? profile_fit_name(name, strlen(name), names)
                                   : cli_join(name, ""));

    if (*diff_spread(interval, half))
        (void)snprintf(spread, sizeof spread, "\xc2\xb1%s", half);
    width = base_width_text(fitted, strlen(fitted));
    if (layout->base)
        diff_print(page->output, "%7.2f%% ", 100 * change->base_share);
    diff_print(page->output, "%7.2f%%  %+7.2f ", 100 * change->new_share,
               100 * (change->new_share - change->base_share));
    if (layout->spread)
        diff_print(page->output, "%-*s ", *spread ? 7 : 6, spread);
    diff_print(page->output, "%8s  ", diff_relative(change->relative, relative));
    if (layout->test)
        diff_print(page->output, "%6s  %-5s  ",
                   change->tested ? compare_probability(change->q, q) : "", family);
    diff_print(page->output, "%s%-*s%s  %s", paint(page, paint_of(row)), (int)marks,
               diff_row_mark(row), paint(page, PLAIN), fitted);
    if (*place && (!page->columns ||
                   layout->width + marks + names + 2 + base_width_text(place, strlen(place)) <=
                       page->columns))
        diff_print(page->output, "%*s  %s", width < names ? (int)(names - width) : 0, "", place);
    diff_print(page->output, "\n");
    free(fitted);
    free(place);
}

/* The widest layout that leaves room for names as wide as that, or for the beginning of them.  */
static const struct layout *choose_layout(const struct page *page, size_t widest, size_t marks)
{
    size_t names = widest < NAME_MIN ? widest : NAME_MIN;
    size_t i = 0;

    while (page->columns && i + 1 < sizeof layouts / sizeof *layouts &&
           layouts[i].width + marks + names > page->columns)
        i++;
    return &layouts[i];
}

/* Of the names' column: no wider than it must be, and no wider than fits.  */
static size_t names_width(struct page *page, char **names, size_t count, size_t marks)
{
    size_t numbers, room, widest = 0;

    for (size_t i = 0; i < count; i++) {
        size_t width = base_width_text(names[i], strlen(names[i]));

        /* Where nothing is cut, a longer name moves its own place only.  */
        if (width > widest && (page->columns || width <= 48))
            widest = width;
    }
    page->layout = choose_layout(page, widest, marks);
    numbers = page->layout->width + marks;
    room = page->columns > numbers + NAME_LEAST ? page->columns - numbers : NAME_LEAST;
    return page->columns && widest > room ? room : widest;
}

static void put_heading(const struct page *page, size_t marks)
{
    const struct layout *layout = page->layout;

    diff_print(page->output, "\n%s", paint(page, BOLD));
    if (layout->base)
        diff_print(page->output, "%8s ", "base");
    diff_print(page->output, "%8s  %7s ", "new", "points");
    if (layout->spread)
        diff_print(page->output, "%6s ", "");
    diff_print(page->output, "%8s  ", "cost");
    if (layout->test)
        diff_print(page->output, "%6s  %-5s  ", "q", "of");
    diff_print(page->output, "%*s  function%s\n", (int)marks, "", paint(page, PLAIN));
}

static void put_rows(struct page *page)
{
    const struct compare_report *report = page->report;
    size_t count = diff_shown_rows(report, page->settings);
    char **names = diff_row_names(report, count);
    size_t marks = 0, width;

    for (size_t i = 0; i < count; i++)
        if (marks < strlen(diff_row_mark(&report->rows[i])))
            marks = strlen(diff_row_mark(&report->rows[i]));
    width = names_width(page, names, count, marks);

    if (count > 0)
        put_heading(page, marks);
    for (size_t i = 0; i < count; i++) {
        put_row(page, &report->rows[i], names[i], width, marks);
        if (report->rows[i].suppressed)
            put_line(page, "%18s suppressed: %s", "", report->rows[i].suppressed);
    }
    diff_row_names_free(names, count);
    if (count < report->row_count)
        put_line(page, "... and %s function%s with smaller changes (--rows 0)",
                 cli_grouped(report->row_count - count), report->row_count - count == 1 ? "" : "s");
}

/* ---- Runs of the findings ---- */

/* How wide plots are; 0: there is no room.  */
static size_t strip_width(const struct page *page, bool *limits)
{
    size_t columns = page->columns && page->columns < STRIP_COLUMNS ? page->columns : STRIP_COLUMNS;

    *limits = columns >= STRIP_LABELS + STRIP_LEAST + STRIP_LIMITS;
    if (*limits)
        return columns - STRIP_LABELS - STRIP_LIMITS;
    return columns >= STRIP_LABELS + STRIP_LEAST ? columns - STRIP_LABELS : 0;
}

static void put_strip(const struct page *page, const struct diff_values *values, int side,
                      struct cli_axis axis)
{
    bool limits;
    size_t width = strip_width(page, &limits);
    struct cli_axis own = CLI_NO_AXIS;
    char *marks = cli_strip(values->side[side], values->count[side], axis, width, cli_is_utf8());

    cli_axis_extend(&own, values->side[side], values->count[side]);
    diff_print(page->output, "    %-4s |%s|", side == COMPARE_BASE ? "base" : "new", marks);
    if (limits)
        diff_print(page->output, " %6.2f ... %6.2f %%", 100 * own.low, 100 * own.high);
    diff_print(page->output, "\n");
    free(marks);
}

static void put_finding(const struct page *page, const struct compare_row *row, const char *name)
{
    struct diff_values values;
    struct cli_axis axis = CLI_NO_AXIS;
    size_t room = page->columns > STRIP_LABELS + NAME_LEAST ? page->columns - STRIP_LABELS
                                                            : NAME_LEAST;
    char *fitted = cli_checked(page->columns ? profile_fit_name(name, strlen(name), room)
                                             : cli_join(name, ""));

    diff_values_open(&values, page->report, row);
    for (int side = 0; side < COMPARE_SIDES; side++)
        cli_axis_extend(&axis, values.side[side], values.count[side]);
    diff_print(page->output, "  %s (%s)\n", fitted, values.family);
    for (int side = 0; side < COMPARE_SIDES; side++)
        put_strip(page, &values, side, axis);
    diff_values_close(&values);
    free(fitted);
}

static void put_findings(const struct page *page)
{
    const struct compare_report *report = page->report;
    size_t count = 0, shown;
    char **names, *scaled;
    bool limits;

    while (count < report->row_count && diff_is_finding(&report->rows[count]))
        count++;
    if (count == 0 || strip_width(page, &limits) == 0)
        return;
    shown = count < STRIP_FINDINGS ? count : STRIP_FINDINGS;
    names = diff_row_names(report, shown);
    diff_print(page->output, "\n");
    put_line(page, "%sshare of each run%s (a digit: so many runs in one place)", paint(page, BOLD),
             paint(page, PLAIN));
    scaled = diff_scale_note(report);
    if (scaled)
        put_line(page, "  %s", scaled);
    free(scaled);
    for (size_t i = 0; i < shown; i++)
        put_finding(page, &report->rows[i], names[i]);
    diff_row_names_free(names, shown);
    if (shown < count)
        put_line(page, "... and %s more (--json)", cli_grouped(count - shown));
}

/* ---- The rest ---- */

static void put_counts(const struct page *page)
{
    const struct compare_report *report = page->report;
    const struct {
        size_t count;
        const char *what;
    } counts[] = {
        { report->regressed_count, "regressed" },
        { report->caller_count, "by what they call" },
        { report->moved_count, "moved, not slower" },
        { report->improved_count, "improved" },
        { report->suppressed_count, "suppressed" },
        { report->new_count, "new" },
        { report->gone_count, "gone" },
        { report->renamed_count, "renamed" },
    };
    char text[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].count > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s", used ? "," : ";",
                                     cli_grouped(counts[i].count), counts[i].what);
    diff_print(page->output, "\n");
    put_line(page, "functions: %s%s", cli_grouped(report->row_count), text);
}

static void put_rules(const struct page *page)
{
    static const char *const outcomes[] = { "kept", "EXCEEDED", "unknown" };
    static const enum paint paints[] = { GREEN, RED, YELLOW };
    const struct compare_report *report = page->report;

    if (report->rule_count > 0)
        diff_print(page->output, "\n%sbudgets%s\n", paint(page, BOLD), paint(page, PLAIN));
    for (size_t i = 0; i < report->rule_count; i++) {
        const struct compare_rule *rule = &report->rules[i];

        put_line(page, "  %s%-8s%s  %s: %s", paint(page, paints[rule->outcome]),
                 outcomes[rule->outcome], paint(page, PLAIN), rule->text, rule->result);
    }
}

static void put_benchmark(struct page *page)
{
    const struct compare_report *report = page->report;

    if (report->benchmark)
        diff_print(page->output, "\n%s== %s%s\n", paint(page, BOLD), report->benchmark,
                   paint(page, PLAIN));
    put_verdict(page);
    if (report->comparison) {
        put_total(page);
        put_rows(page);
        put_findings(page);
        put_counts(page);
    }
    put_rules(page);
    for (size_t i = 0; i < report->note_count; i++)
        put_line(page, "note: %s", report->notes[i]);
    put_line(page, "power: %s", report->power);
}

static void put_report(const struct compare_report *report, const struct diff_settings *settings,
                       struct cli_output *output)
{
    struct page page = { .report = report, .settings = settings, .output = output };

    if (output->fd == STDOUT_FILENO) {
        page.columns = cli_columns(stdout);
        page.colour = cli_colour(stdout);
    }
    if (report->benchmark) {
        char *summary = diff_suite_summary(report);

        put_line(&page, "%s%s", paint(&page, BOLD), summary);
        diff_print(output, "%s", paint(&page, PLAIN));
        free(summary);
    }
    for (; page.report; page.report = page.report->next)
        put_benchmark(&page);
}

enum cli_exit diff_write_text(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path)
{
    return diff_write_whole(report, settings, path, put_report);
}
