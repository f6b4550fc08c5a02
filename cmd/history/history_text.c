/* history_text.c - the history for people: series with changes, each with a line of characters.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_report.h>
#include <fxt/profile.h>
#include "base/text.h"
#include "base/visible.h"
#include "base/width.h"
#include "cmd/history/history.h"

#define SPARK_MOST 72
#define LEVELS     8
#define FLAT       0.1 /* of the largest value: what varies by less is drawn by less */

struct page {
    const struct history_view *view;
    struct cli_output *output;
    bool colour, utf8;
};

static void print(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(const struct page *page, const char *format, ...)
{
    struct base_text text = { .bytes = NULL };
    va_list arguments;

    va_start(arguments, format);
    base_text_addv(&text, format, arguments);
    va_end(arguments);
    if (text.failed)
        cli_out_of_memory();
    (void)cli_output_write(page->output, text.bytes, text.length);
    base_text_release(&text);
}

static const char *paint(const struct page *page, const char *escape)
{
    return page->colour ? escape : "";
}

/* ---- A line of characters ---- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Medians of values that share a character.  */
static size_t gather(const double *values, size_t count, double *out)
{
    size_t width = count < SPARK_MOST ? count : SPARK_MOST;

    for (size_t i = 0; i < width; i++) {
        size_t start = i * count / width, limit = (i + 1) * count / width;
        double *part = cli_allocate(limit - start, sizeof *part);

        memcpy(part, values + start, (limit - start) * sizeof *part);
        qsort(part, limit - start, sizeof *part, by_value);
        out[i] = part[(limit - start) / 2];
        free(part);
    }
    return width;
}

static void print_spark(const struct page *page, const struct compare_history_series *series)
{
    static const char *const blocks[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const plain[LEVELS] = { "_", ".", "-", "=", "+", "*", "%", "#" };
    double values[SPARK_MOST], low = INFINITY, high = 0, span;
    size_t width = gather(series->values, page->view->history->commit_count, values);

    for (size_t i = 0; i < width; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    span = fmax(high - low, FLAT * high);
    for (size_t i = 0; i < width; i++) {
        size_t level = span > 0 ? (size_t)((values[i] - low) / span * (LEVELS - 0.01)) : 0;

        print(page, "%s", (page->utf8 ? blocks : plain)[level]);
    }
    print(page, "\n");
}

/* ---- Changes ---- */

static const char *value_text(const struct page *page, const struct compare_history_series *series,
                              double value, char text[COMPARE_NUMBER_BYTES])
{
    if (series->function == COMPARE_WHOLE_RUN)
        return compare_amount(page->view->history->set->type.unit, value, text);
    (void)snprintf(text, COMPARE_NUMBER_BYTES, "%.2f%%", 100 * value);
    return text;
}

static void print_size(const struct page *page, const struct compare_change_point *point)
{
    const char *escape = paint(page, point->relative > 0 ? "\033[31m" : "\033[32m");

    if (!isfinite(point->relative))
        print(page, "  %s%8s%s %19s", escape, "new", paint(page, "\033[0m"), "");
    else if (point->relative <= -1)
        print(page, "  %s%8s%s %19s", escape, "gone", paint(page, "\033[0m"), "");
    else
        print(page, "  %s%+7.1f%%%s %8s%+.1f%%, %+.1f%%]", escape, 100 * point->relative,
              paint(page, "\033[0m"), "[", 100 * point->low, 100 * point->high);
}

static void print_subject(const struct page *page, const struct commit *commit)
{
    struct base_text text = { .bytes = NULL };

    base_text_add_visible(&text, commit->subject, strlen(commit->subject));
    if (text.failed)
        cli_out_of_memory();
    if (text.length > 0)
        print(page, "  %s", text.bytes);
    base_text_release(&text);
}

static void print_point(const struct page *page, const struct compare_history_series *series,
                        const struct compare_change_point *point)
{
    const struct commit *commits = page->view->commits->items;
    size_t distance = point->first_bad - point->last_good;
    char before[COMPARE_NUMBER_BYTES], after[COMPARE_NUMBER_BYTES];

    print_size(page, point);
    print(page, "  %s..%s", history_label(&commits[point->last_good]).text,
          history_label(&commits[point->first_bad]).text);
    if (point->shape == COMPARE_CREEP)
        print(page, "  little by little, over %zu commits", distance);
    else if (distance > 1)
        print(page, "  one of %zu commits", distance);
    else if (commits[point->first_bad].subject)
        print_subject(page, &commits[point->first_bad]);
    print(page, "  (%s -> %s)\n", value_text(page, series, point->before, before),
          value_text(page, series, point->after, after));
}

static void print_name(const struct page *page, const struct compare_history_series *series)
{
    const char *name = history_name(page->view, series);
    char *brief = series->function == COMPARE_WHOLE_RUN ? NULL
                                                        : profile_short_name(name, strlen(name));

    print(page, "\n%s%s%s%s\n", paint(page, "\033[1m"), brief ? brief : name,
          paint(page, "\033[0m"), series->with_callees && brief ? ", with callees" : "");
    free(brief);
}

static void print_series(const struct page *page, const struct compare_history_series *series)
{
    print_name(page, series);
    print(page, "  ");
    print_spark(page, series);
    for (size_t i = 0; i < series->point_count; i++)
        print_point(page, series, &series->points[i]);
}

/* ---- Order ---- */

/* What its changes moved, in parts of the program; the whole run is before all functions.  */
static double weight_of(const struct compare_history_series *series)
{
    double most = 0;

    for (size_t i = 0; i < series->point_count; i++)
        most = fmax(most, fabs(series->points[i].after - series->points[i].before));
    return series->function == COMPARE_WHOLE_RUN ? INFINITY : most;
}

struct weighted {
    const struct compare_history_series *series;
    double weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct weighted *left = a, *right = b;

    if (left->weight > right->weight || left->weight < right->weight)
        return left->weight > right->weight ? -1 : 1;
    return (left->series > right->series) - (left->series < right->series);
}

static void print_all(const struct page *page)
{
    const struct compare_history *history = page->view->history;
    struct weighted *sorted = cli_allocate(history->series_count, sizeof *sorted);
    size_t count = 0, rows = page->view->rows;

    for (size_t s = 0; s < history->series_count; s++) {
        const struct compare_history_series *series = &history->series[s];

        if (s == 0 || series->point_count > 0)
            sorted[count++] = (struct weighted){ series, weight_of(series) };
    }
    qsort(sorted, count, sizeof *sorted, by_weight);
    for (size_t s = 0; s < count && (rows == 0 || s < rows); s++)
        print_series(page, sorted[s].series);
    if (rows > 0 && count > rows)
        print(page, "\n%zu more series changed (--rows 0)\n", count - rows);
    free(sorted);
}

/* ---- The text ---- */

static void print_noise(const struct page *page)
{
    const struct compare_history *history = page->view->history;
    double least = INFINITY, most = 0;

    for (size_t s = 1; s < history->series_count; s++) {
        least = fmin(least, history->series[s].noise);
        most = fmax(most, history->series[s].noise);
    }
    print(page, "noise from commit to commit: total %.1f%%", 100 * history->series[0].noise);
    if (history->series_count > 1)
        print(page, ", functions %.1f%% to %.1f%%", 100 * least, 100 * most);
    print(page, "\n");
}

static void print_counts(const struct page *page)
{
    const struct compare_history *history = page->view->history;
    const struct compare_set *set = history->set;
    size_t runs = 0;

    for (size_t c = 0; c < history->commit_count; c++)
        runs += history->runs[c];
    print(page, "%s, %s of %s in %s, %s\n", cli_counted(history->commit_count, "commit", "commits"),
          cli_counted(runs, "run", "runs"), set->type.type, set->type.unit,
          page->view->commits->order);
    if (page->view->commits->note)
        print(page, "note: %s\n", page->view->commits->note);
    if (history->commit_count < COMPARE_HISTORY_MIN_COMMITS) {
        print(page, "too few commits to find a change: at least %d are needed\n",
              COMPARE_HISTORY_MIN_COMMITS);
        return;
    }
    print(page, "%s in %zu of %zu series; without a change, %.3g of 100 histories would show any\n",
          cli_counted(history->point_count, "change", "changes"), history->changed_count,
          history->series_count, 100 * history->options.level);
    print_noise(page);
}

void history_write_text(const struct history_view *view, struct cli_output *output)
{
    const struct page page = { .view = view,
                               .output = output,
                               .colour = output->fd == 1 && cli_colour(stdout),
                               .utf8 = cli_is_utf8() };

    print_counts(&page);
    print_all(&page);
}

enum cli_exit history_status(const struct history_view *view, size_t recent)
{
    const struct compare_history *history = view->history;

    if (history->commit_count < COMPARE_HISTORY_MIN_COMMITS)
        return CLI_INCONCLUSIVE;
    for (size_t s = 0; s < history->series_count; s++)
        for (size_t i = 0; i < history->series[s].point_count; i++) {
            const struct compare_change_point *point = &history->series[s].points[i];

            if (point->relative > 0 && point->at + recent >= history->commit_count)
                return CLI_DIFFERENT;
        }
    return CLI_OK;
}
