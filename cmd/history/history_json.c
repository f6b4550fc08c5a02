/* history_json.c - the history as one JSON object (schemas/fxthistory.schema.json).
 *
 * The version counts up when a key changes its meaning or goes; new keys may come without.  */
#include <stdlib.h>

#include "cmd/history/history.h"
#include "cmd/history/set_json.h"

#define SCHEMA_VERSION 1

/* To six digits: noise is larger.  */
static double rounded(double number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%.6g", number);
    return strtod(text, NULL);
}

static void put_options(struct json *json, const struct compare_history *history)
{
    static const char *const metrics[] = { "both", "self", "total" };

    json_open(json, "options", '{');
    json_double(json, "level", history->options.level);
    json_double(json, "floor", history->options.floor);
    json_double(json, "min_rel", history->options.min_rel);
    json_double(json, "min_share", history->options.min_share);
    json_text(json, "metric", metrics[history->options.metric]);
    json_close(json, '}');
}

static void put_commit(struct json *json, const struct history_view *view, size_t i)
{
    const struct commit *commit = &view->commits->items[i];

    json_open(json, NULL, '{');
    json_text(json, "label", commit->label);
    json_text_or_null(json, "hash", commit->hash);
    json_text_or_null(json, "subject", commit->subject);
    json_unsigned(json, "runs", view->history->runs[i]);
    json_double(json, "scale", view->history->scale[i]);
    json_close(json, '}');
}

static void put_point(struct json *json, const struct compare_change_point *point)
{
    static const char *const shapes[] = { "step", "creep" };

    json_open(json, NULL, '{');
    json_text(json, "shape", shapes[point->shape]);
    json_unsigned(json, "at", point->at);
    json_unsigned(json, "last_good", point->last_good);
    json_unsigned(json, "first_bad", point->first_bad);
    json_double(json, "before", point->before);
    json_double(json, "after", point->after);
    json_double_or_null(json, "relative", point->relative);
    json_double_or_null(json, "low", point->low);
    json_double_or_null(json, "high", point->high);
    json_double(json, "p", point->p);
    json_close(json, '}');
}

static void put_series(struct json *json, const struct history_view *view,
                       const struct compare_history_series *series)
{
    const struct compare_set *set = view->history->set;
    bool whole = series->function == COMPARE_WHOLE_RUN;
    uint32_t line = 0;
    const char *file = whole ? NULL : compare_file_of(&set->functions[series->function], &line);

    json_open(json, NULL, '{');
    set_json_text(json, "name", set, history_name(view, series));
    json_text(json, "kind", whole ? "run" : series->with_callees ? "total" : "self");
    set_json_text_or_null(json, "file", set, file);
    json_unsigned(json, "line", line);
    json_double(json, "noise", series->noise);
    json_open(json, "values", '[');
    for (size_t i = 0; i < view->history->commit_count; i++)
        json_double(json, NULL, rounded(series->values[i]));
    json_close(json, ']');
    json_open(json, "changes", '[');
    for (size_t i = 0; i < series->point_count; i++)
        put_point(json, &series->points[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void history_put_json(const struct history_view *view, struct json *json)
{
    const struct compare_history *history = view->history;

    json_open(json, NULL, '{');
    json_text(json, "schema", "fxthistory");
    json_unsigned(json, "version", SCHEMA_VERSION);
    json_text(json, "sample_type", history->set->type.type);
    json_text(json, "unit", history->set->type.unit);
    json_text(json, "order", view->commits->order);
    json_text_or_null(json, "note", view->commits->note);
    json_bool(json, "enough", history->commit_count >= COMPARE_HISTORY_MIN_COMMITS);
    put_options(json, history);
    json_double(json, "level_each", history->level_each);
    json_open(json, "commits", '[');
    for (size_t i = 0; i < history->commit_count; i++)
        put_commit(json, view, i);
    json_close(json, ']');
    json_open(json, "series", '[');
    for (size_t i = 0; i < history->series_count; i++)
        put_series(json, view, &history->series[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void history_write_json(const struct history_view *view, struct cli_output *output)
{
    struct json json = { .output = output };

    history_put_json(view, &json);
    json_end_line(&json);
}
