/* history.c - from a set of runs to the change points of all its functions (section 11).  */
#include <math.h>
#include <string.h>

#include "libcompare/history/changes.h"
#include "libcompare/history/series.h"

#define HALF 0.5

void compare_history_options_init(struct compare_history_options *options)
{
    *options = (struct compare_history_options){ .size = sizeof *options,
                                                 .level = 0.05,
                                                 .floor = 0.005,
                                                 .min_rel = 0.02,
                                                 .min_share = 0.001,
                                                 .metric = COMPARE_METRIC_SELF };
}

/* ---- Checks ---- */

static enum compare_status check_options(const struct compare_history_options *options,
                                         struct compare_error *error)
{
    bool ok = options->level > 0 && options->level < 1 && options->floor >= 0 &&
              options->floor <= 1 && options->min_rel >= 0 && options->min_share >= 0 &&
              options->size == sizeof *options;

    return ok ? COMPARE_OK
              : compare_fail(error, COMPARE_INVALID, "an option of the history is out of range");
}

/* Fill in runs, cost and samples of the commits.  */
static enum compare_status count_runs(const struct commit_runs *runs, struct compare_error *error)
{
    for (size_t r = 0; r < runs->set->run_count; r++) {
        const struct compare_run *run = &runs->set->runs[r];
        uint32_t commit = runs->commits[r];

        if (commit == COMPARE_NO_COMMIT)
            continue;
        if (commit >= runs->commit_count)
            return compare_fail(error, COMPARE_INVALID, "%s: there is no such commit", run->label);
        if (!(run->cost > 0) || !(run->samples > 0))
            return compare_fail(error, COMPARE_INVALID, "%s: no samples", run->label);
        runs->runs[commit]++;
        runs->cost[commit] += run->cost;
        runs->samples[commit] += run->samples;
    }
    for (size_t c = 0; c < runs->commit_count; c++) {
        if (runs->runs[c] == 0)
            return compare_fail(error, COMPARE_INVALID, "commit %zu has no run", c);
        runs->cost[c] /= (double)runs->runs[c];
    }
    return COMPARE_OK;
}

/* ---- One series ---- */

struct work {
    const struct commit_runs *runs;
    struct compare_history *history;
    struct changes changes;
    double *logs;    /* of the series */
    double *scratch; /* one a commit */
    bool by_cost;    /* the scale is that of costs */
};

static void take_logs(const struct work *work, const struct compare_history_series *series)
{
    for (size_t c = 0; c < work->history->commit_count; c++) {
        double samples = work->runs->samples[c];

        if (series->function == COMPARE_WHOLE_RUN)
            work->logs[c] = log(series->values[c]);
        else /* a share of nothing is less than half a sample */
            work->logs[c] = log(series->values[c] + HALF / samples / work->history->scale[c]);
    }
}

static double median_of(const struct work *work, const double *values, size_t start, size_t limit)
{
    memcpy(work->scratch, values + start, (limit - start) * sizeof *values);
    return changes_median(work->scratch, limit - start);
}

/* The commits [ends[0], ends[1]) before a change, and [ends[2], ends[3]) after it.  */
static bool measure(const struct work *work, const struct compare_history_series *series,
                    const size_t ends[4], struct compare_change_point *out)
{
    struct change_size size;

    if (!changes_size(&work->changes, work->logs, ends, &size))
        return false;
    out->before = median_of(work, series->values, ends[0], ends[1]);
    out->after = median_of(work, series->values, ends[2], ends[3]);
    out->relative = expm1(size.shift);
    out->low = expm1(size.low);
    out->high = expm1(size.high);
    if (out->before <= 0)
        out->relative = out->low = out->high = INFINITY;
    else if (out->after <= 0)
        out->relative = out->low = out->high = -1;
    return true;
}

static bool measure_change(const struct work *work, const struct compare_history_series *series,
                           size_t i, struct compare_change_point *out)
{
    size_t at = work->changes.items[i].at;
    const size_t ends[4] = { changes_start(&work->changes, i), at, at,
                             changes_limit(&work->changes, i, work->history->commit_count) };

    *out = (struct compare_change_point){ .at = at, .p = work->changes.items[i].p };
    return measure(work, series, ends, out);
}

static double mean_log(const double *values, size_t start, size_t limit)
{
    double sum = 0;

    for (size_t i = start; i < limit; i++)
        sum += log(values[i]);
    return sum / (double)(limit - start);
}

/* Where the scale changed, a share that changed by it proves nothing unless the cost agrees.  */
static bool cost_agrees(const struct work *work, const struct compare_history_series *series,
                        size_t i, const struct compare_change_point *point)
{
    size_t start = changes_start(&work->changes, i), at = point->at;
    size_t limit = changes_limit(&work->changes, i, work->history->commit_count);
    const double *scale = work->history->scale, *cost = work->runs->cost;
    double scaled = mean_log(scale, at, limit) - mean_log(scale, start, at);
    double size = log1p(point->relative), grown;

    if (series->function == COMPARE_WHOLE_RUN || work->by_cost || !isfinite(size) ||
        fabs(scaled) <= HALF * fabs(size))
        return true;
    for (size_t c = start; c < limit; c++)
        work->changes.scratch[c] = log(cost[c] * scale[c]) + work->logs[c];
    grown = median_of(work, work->changes.scratch, at, limit) -
            median_of(work, work->changes.scratch, start, at);
    return grown / size > HALF;
}

static bool is_counted(const struct work *work, const struct compare_history_series *series,
                       size_t i, const struct compare_change_point *point)
{
    const struct compare_history_options *options = &work->history->options;
    double share = fabs(point->after - point->before);

    return fabs(point->relative) >= options->min_rel &&
           (series->function == COMPARE_WHOLE_RUN || share >= options->min_share) &&
           cost_agrees(work, series, i, point);
}

/* Without the changes that are too small: the least one first, because its values then belong to a
 * longer level.  */
static bool leave_out_small(struct work *work, const struct compare_history_series *series)
{
    struct compare_change_point point;
    size_t least;

    do {
        double size = INFINITY;

        least = SIZE_MAX;
        for (size_t i = 0; i < work->changes.count; i++) {
            if (!measure_change(work, series, i, &point))
                return false;
            if (!is_counted(work, series, i, &point) && fabs(point.relative) < size) {
                size = fabs(point.relative);
                least = i;
            }
        }
        if (least != SIZE_MAX) {
            changes_remove(&work->changes, least);
            changes_place(&work->changes, work->history->commit_count);
        }
    } while (least != SIZE_MAX);
    return true;
}

/* ---- Its points ---- */

static bool is_same_way(const struct compare_change_point *a, const struct compare_change_point *b)
{
    return (a->relative > 0) == (b->relative > 0);
}

/* How many changes from i on are one creep; 0: change i is a step.  */
static size_t find_creep(const struct work *work, const struct compare_change_point *points,
                         size_t i, size_t *start, size_t *end)
{
    size_t limit = i + 1;

    while (limit < work->changes.count && is_same_way(&points[i], &points[limit]))
        limit++;
    for (; limit > i; limit--)
        if (changes_creep(&work->changes, i, limit, work->history->commit_count, start, end))
            return limit - i;
    return 0;
}

static bool fill_point(const struct work *work, const struct compare_history_series *series,
                       size_t i, size_t *used, struct compare_change_point *points)
{
    struct compare_change_point *point = &points[i];
    size_t first, last;
    size_t count = find_creep(work, points, i, &first, &last);
    size_t ends[4] = { changes_start(&work->changes, i) };

    *used = count ? count : 1;
    if (count == 0) {
        changes_range(&work->changes, i, work->history->commit_count, &first, &last);
        point->last_good = first - 1;
        point->first_bad = last;
        return true;
    }
    ends[1] = first + 1;
    ends[2] = last;
    ends[3] = changes_limit(&work->changes, i + count - 1, work->history->commit_count);
    for (size_t k = i + 1; k < i + count; k++)
        point->p = fmin(point->p, points[k].p);
    point->shape = COMPARE_CREEP;
    point->last_good = first;
    point->at = first + 1;
    point->first_bad = last;
    return measure(work, series, ends, point);
}

static bool fill_points(const struct work *work, struct compare_history_series *series)
{
    size_t count = work->changes.count, used;
    bool ok = true;

    series->noise = work->changes.noise;
    series->points = compare_array(count, sizeof *series->points);
    for (size_t i = 0; series->points && ok && i < count; i++)
        ok = measure_change(work, series, i, &series->points[i]);
    for (size_t i = 0; series->points && ok && i < count; i += used) {
        ok = fill_point(work, series, i, &used, series->points);
        series->points[series->point_count++] = series->points[i];
    }
    return ok && series->points;
}

static bool find_points(struct work *work, struct compare_history_series *series)
{
    take_logs(work, series);
    changes_find(&work->changes, work->logs, work->history->commit_count,
                 work->history->level_each);
    if (!leave_out_small(work, series) || !fill_points(work, series))
        return false;
    work->history->point_count += series->point_count;
    work->history->changed_count += series->point_count > 0;
    return true;
}

/* ---- The scale ---- */

/* Shares of a program of which one function is half cannot be distinguished from that function:
 * their scale is that of costs.  */
static void scale_by_cost(struct work *work)
{
    size_t count = work->history->commit_count;
    double usual = median_of(work, work->runs->cost, 0, count);

    work->by_cost = true;
    for (size_t c = 0; c < count; c++)
        work->history->scale[c] = usual / work->runs->cost[c];
}

/* The levels of the ratio, if it changed at all; the median level is 1.  Where it changed is seen
 * from its series, at the level of one of many: a false step would be a step of all functions.  How
 * much it changed is seen from what functions cost in all commits before and after.  */
static bool find_scale(struct work *work)
{
    struct compare_history *history = work->history;
    struct changes *changes = &work->changes;
    size_t count = history->commit_count;
    double largest, usual;

    for (size_t c = 0; c < count; c++)
        history->scale[c] = 1;
    if (!series_reference(history, work->logs, &largest))
        return false;
    changes_find(changes, work->logs, count,
                 history->options.level / (double)history->series_count);
    if (changes->count == 0)
        return true;
    if (largest >= HALF) {
        scale_by_cost(work);
        return true;
    }
    for (size_t i = 0; i < changes->count; i++) {
        size_t at = changes->items[i].at, limit = changes_limit(changes, i, count);
        const size_t ends[4] = { changes_start(changes, i), at, at, limit };
        double step;

        if (!series_step(history, ends, &step))
            return false;
        for (size_t c = at; c < limit; c++)
            history->scale[c] = history->scale[at - 1] * exp(step);
    }
    usual = median_of(work, history->scale, 0, count);
    for (size_t c = 0; c < count; c++)
        history->scale[c] /= usual;
    return true;
}

static void apply_scale(struct compare_history *history)
{
    for (size_t s = 1; s < history->series_count; s++)
        for (size_t c = 0; c < history->commit_count; c++)
            history->series[s].values[c] /= history->scale[c];
}

/* ---- All series ---- */

static int by_name(const void *a, const void *b, void *context)
{
    const struct compare_history_series *left = a, *right = b;
    const struct compare_set *set = context;
    int order = strcmp(set->functions[left->function].name, set->functions[right->function].name);

    return order ? order : (int)left->with_callees - (int)right->with_callees;
}

static bool make_series(struct work *work)
{
    struct compare_history *history = work->history;
    enum compare_metric metric = history->options.metric;

    if (!series_make_total(work->runs, history) ||
        !series_make_family(work->runs, history, false) || !find_scale(work))
        return false;
    if (metric == COMPARE_METRIC_TOTAL)
        series_drop(history, false);
    if (metric != COMPARE_METRIC_SELF && !series_make_family(work->runs, history, true))
        return false;
    apply_scale(history);
    qsort_r(history->series + 1, history->series_count - 1, sizeof *history->series, by_name,
            (void *)history->set);
    return true;
}

static bool analyse(struct compare_history *history, const struct commit_runs *runs)
{
    struct work work = { .runs = runs, .history = history };
    bool ok = changes_init(&work.changes, history->commit_count + 1);

    work.logs = compare_array(history->commit_count, sizeof *work.logs);
    work.scratch = compare_array(history->commit_count, sizeof *work.scratch);
    ok = ok && work.logs && work.scratch && make_series(&work);
    if (ok)
        history->level_each = history->options.level / (double)history->series_count;
    for (size_t s = 0; ok && s < history->series_count; s++)
        ok = find_points(&work, &history->series[s]);
    changes_release(&work.changes);
    free(work.logs);
    free(work.scratch);
    return ok;
}

/* ---- Public ---- */

void compare_history_close(struct compare_history *history)
{
    if (!history)
        return;
    for (size_t s = 0; s < history->series_count; s++) {
        free(history->series[s].values);
        free(history->series[s].points);
    }
    free(history->series);
    free(history->scale);
    free(history->runs);
    free(history);
}

static enum compare_status open_history(const struct compare_set *set, const uint32_t *commits,
                                        struct compare_history *history,
                                        struct compare_error *error)
{
    size_t count = history->commit_count;
    struct commit_runs runs = { .set = set, .commits = commits, .commit_count = count };
    enum compare_status status = COMPARE_NO_MEMORY;

    history->set = set;
    history->runs = runs.runs = compare_array(count, sizeof *runs.runs);
    history->scale = compare_array(count, sizeof *history->scale);
    runs.cost = compare_array(count, sizeof *runs.cost);
    runs.samples = compare_array(count, sizeof *runs.samples);
    if (runs.runs && history->scale && runs.cost && runs.samples)
        status = count_runs(&runs, error);
    if (status == COMPARE_OK && !analyse(history, &runs))
        status = COMPARE_NO_MEMORY;
    free(runs.cost);
    free(runs.samples);
    return status == COMPARE_NO_MEMORY ? compare_no_memory(error) : status;
}

enum compare_status compare_history_open(const struct compare_set *set, const uint32_t *commits,
                                         size_t commit_count,
                                         const struct compare_history_options *options,
                                         struct compare_history **out, struct compare_error *error)
{
    struct compare_history *history;
    struct compare_history_options defaults;
    enum compare_status status;

    compare_history_options_init(&defaults);
    options = options ? options : &defaults;
    *out = NULL;
    status = check_options(options, error);
    if (status == COMPARE_OK && commit_count == 0)
        status = compare_fail(error, COMPARE_INVALID, "a history needs commits");
    if (status == COMPARE_OK && commit_count > COMPARE_HISTORY_MAX_COMMITS)
        status = compare_fail(error, COMPARE_LIMIT,
                              "%zu commits are more than a history can have, %d", commit_count,
                              COMPARE_HISTORY_MAX_COMMITS);
    if (status != COMPARE_OK)
        return status;
    history = compare_array(1, sizeof *history);
    if (!history)
        return compare_no_memory(error);
    history->commit_count = commit_count;
    history->options = *options;
    status = open_history(set, commits, history, error);
    if (status == COMPARE_OK)
        *out = history;
    else
        compare_history_close(history);
    return status;
}
