/* print.c - what the text and Markdown outputs share.  */
#include "cmd/fxtdiff/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/suite.h"

void diff_print(struct cli_output *output, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = cli_text(format, arguments);
    va_end(arguments);
    (void)cli_output_write(output, text, strlen(text));
    free(text);
}

enum cli_exit diff_write_whole(const struct compare_report *report,
                               const struct diff_settings *settings, const char *path,
                               diff_print_fn print)
{
    struct cli_output output;

    if (cli_output_open(&output, *path ? path : "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    print(report, settings, &output);
    return cli_output_commit(&output);
}

const struct compare_change *diff_row_family(const struct compare_row *row, const char **name,
                                             const double **interval)
{
    double own = fabs(row->self.new_share - row->self.base_share);
    double all = fabs(row->total.new_share - row->total.base_share);
    bool self = own > 0 ? own >= all : row->self.base_share > 0 && all <= 0;

    if (row->flag != COMPARE_UNCHANGED)
        self = row->self.flag == row->flag;
    *name = self ? "self" : "total";
    *interval = self ? row->self_interval : row->total_interval;
    return self ? &row->self : &row->total;
}

/* ---- Names ---- */

static char *name_of_row(const struct compare_row *row, bool whole)
{
    const char *name = row->names->name;
    char *text = whole ? cli_join(name, "") : profile_short_name(name, strlen(name));
    char *was, *both = NULL;

    if (!text)
        text = cli_join(name, "");
    if (row->state != COMPARE_STATE_RENAMED)
        return text;
    name = row->names->places[COMPARE_BASE].name;
    was = whole ? cli_join(name, "") : profile_short_name(name, strlen(name));
    if (asprintf(&both, "%s (was %s)", text, was ? was : name) < 0)
        both = NULL;
    free(was);
    if (!both)
        return text;
    free(text);
    return both;
}

struct named {
    const char *name;
    size_t row;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

char **diff_row_names(const struct compare_report *report, size_t count)
{
    char **names = cli_allocate(count, sizeof *names);
    struct named *sorted = cli_allocate(count, sizeof *sorted);
    bool *same = cli_allocate(count, sizeof *same);

    for (size_t i = 0; i < count; i++) {
        names[i] = name_of_row(&report->rows[i], false);
        sorted[i] = (struct named){ names[i], i };
    }
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i].name, sorted[i - 1].name) == 0)
            same[sorted[i].row] = same[sorted[i - 1].row] = true;
    for (size_t i = 0; i < count; i++) {
        if (!same[i])
            continue;
        free(names[i]);
        names[i] = name_of_row(&report->rows[i], true);
    }
    free(sorted);
    free(same);
    return names;
}

void diff_row_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

char *diff_row_place(const struct compare_row *row)
{
    uint32_t line;
    const char *file = compare_file_of(row->names, &line);
    const char *start = file + strlen(file);
    unsigned slashes = 0;
    char *text = NULL;

    while (start > file && slashes < 2)
        slashes += *--start == '/';
    start += slashes == 2;
    if (*file && line > 0 && asprintf(&text, "%s:%" PRIu32, start, line) >= 0)
        return text;
    return cli_join(start, "");
}

const char *diff_module_of(const struct compare_function *function)
{
    const struct compare_place *place = &function->places[COMPARE_NEW];

    if (!place->name || !place->module || !*place->module)
        place = &function->places[COMPARE_BASE];
    return place->name && place->module ? place->module : "";
}

const struct compare_run *diff_run_without_stacks(const struct compare_set *set)
{
    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].stack_count == 0)
            return &set->runs[i];
    return NULL;
}

double *diff_mean_stacks(const struct compare_set *set)
{
    double *means = compare_mean_stacks(set);

    if (!means)
        cli_out_of_memory();
    return means;
}

const char *diff_row_mark(const struct compare_row *row)
{
    static const char *const marks[5][4] = {
        { "", "NEW", "GONE", "RENAMED" },
        { "regressed", "regressed NEW", "regressed", "regressed RENAMED" },
        { "improved", "improved", "improved GONE", "improved RENAMED" },
        { "moved", "moved NEW", "moved", "moved RENAMED" },
        { "by callees", "by callees NEW", "by callees", "by callees RENAMED" },
    };
    const char *family;
    const double *interval;

    if (row->suppressed)
        return "suppressed";
    if (row->by_callees)
        return marks[4][row->state];
    if (row->flag != COMPARE_UNCHANGED || row->state != COMPARE_STATE_BOTH)
        return marks[row->flag][row->state];
    return diff_row_family(row, &family, &interval)->tested ? "~" : "";
}

size_t diff_shown_rows(const struct compare_report *report, const struct diff_settings *settings)
{
    size_t findings = report->regressed_count + report->caller_count + report->moved_count +
                      report->improved_count + report->suppressed_count;
    size_t rows = settings->rows;

    if (rows == 0 || rows > report->row_count)
        rows = report->row_count;
    return rows > findings ? rows : findings;
}

/* ---- Many benchmarks ---- */

char *diff_suite_summary(const struct compare_report *reports)
{
    static const char *const what[] = { [COMPARE_PASS] = "passed",
                                        [COMPARE_FAIL] = "failed",
                                        [COMPARE_INCONCLUSIVE] = "are inconclusive" };
    enum compare_verdict verdict = diff_reports_verdict(reports);
    char *names = cli_join("", ""), *text;
    size_t count = 0, of = 0;

    for (; reports; reports = reports->next, of++) {
        char *longer;

        if (reports->verdict != verdict)
            continue;
        longer = cli_join(names, count++ ? ", " : ": ");
        free(names);
        names = cli_join(longer, reports->benchmark ? reports->benchmark : "");
        free(longer);
    }
    if (asprintf(&text, "%s: %zu of %zu benchmarks %s%s", compare_verdict_name(verdict), count, of,
                 what[verdict], verdict == COMPARE_PASS ? "" : names) < 0)
        cli_out_of_memory();
    free(names);
    return text;
}
