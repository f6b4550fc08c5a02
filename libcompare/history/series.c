/* series.c - the share of each function in each commit, where any is worth a look.  */
#include "libcompare/history/series.h"

#include <math.h>
#include <string.h>

#include "libcompare/statistics/statistics.h"

/* ---- Which functions ---- */

static double cost_of(const struct compare_cost *cost, bool with_callees)
{
    return with_callees ? cost->total : cost->self;
}

/* The mean share of every function in one commit, added to shares, which is all zero.  */
static void add_commit(const struct commit_runs *runs, size_t commit, bool with_callees,
                       double *shares)
{
    for (size_t r = 0; r < runs->set->run_count; r++) {
        const struct compare_run *run = &runs->set->runs[r];

        for (size_t i = 0; runs->commits[r] == commit && i < run->cost_count; i++)
            shares[run->costs[i].function] += cost_of(&run->costs[i], with_callees) / run->cost /
                                              (double)runs->runs[commit];
    }
}

/* Count commits in which a function reaches the floor: fewer than SIDE are no level.  */
static bool find_large(const struct commit_runs *runs, double floor, bool with_callees,
                       uint8_t *commits_of)
{
    size_t functions = runs->set->function_count;
    double *shares = compare_array(functions, sizeof *shares);
    bool ok = shares != NULL;

    for (size_t c = 0; ok && c < runs->commit_count; c++) {
        memset(shares, 0, functions * sizeof *shares);
        add_commit(runs, c, with_callees, shares);
        for (size_t f = 0; f < functions; f++)
            if (shares[f] >= floor && commits_of[f] < COMPARE_HISTORY_SIDE)
                commits_of[f]++;
    }
    free(shares);
    return ok;
}

/* ---- Their values ---- */

static bool add_series(struct compare_history *history, uint32_t function, bool with_callees)
{
    struct compare_history_series *series = &history->series[history->series_count];

    *series = (struct compare_history_series){ .function = function, .with_callees = with_callees };
    series->values = compare_array(history->commit_count, sizeof *series->values);
    history->series_count += series->values != NULL;
    return series->values != NULL;
}

/* By function; UINT32_MAX: none of the series from first on.  */
static bool fill_values(const struct commit_runs *runs, struct compare_history *history,
                        size_t first)
{
    uint32_t *places = compare_array(runs->set->function_count, sizeof *places);

    if (!places)
        return false;
    memset(places, 0xff, runs->set->function_count * sizeof *places);
    for (size_t s = first; s < history->series_count; s++)
        places[history->series[s].function] = (uint32_t)s;
    for (size_t r = 0; r < runs->set->run_count; r++) {
        const struct compare_run *run = &runs->set->runs[r];
        uint32_t commit = runs->commits[r];

        for (size_t i = 0; commit != COMPARE_NO_COMMIT && i < run->cost_count; i++) {
            uint32_t place = places[run->costs[i].function];

            if (place != UINT32_MAX)
                history->series[place].values[commit] +=
                    cost_of(&run->costs[i], history->series[place].with_callees) / run->cost /
                    (double)runs->runs[commit];
        }
    }
    free(places);
    return true;
}

bool series_make_family(const struct commit_runs *runs, struct compare_history *history,
                        bool with_callees)
{
    size_t functions = runs->set->function_count, count = 0;
    size_t first = history->series_count, room = first;
    uint8_t *large = compare_array(functions, sizeof *large);
    bool ok = large && find_large(runs, history->options.floor, with_callees, large);

    for (size_t f = 0; ok && f < functions; f++)
        count += large[f] == COMPARE_HISTORY_SIDE;
    ok = ok && base_make_room(&history->series, &room, first + count, sizeof *history->series);
    for (size_t f = 0; ok && f < functions; f++)
        ok = large[f] < COMPARE_HISTORY_SIDE || add_series(history, (uint32_t)f, with_callees);
    free(large);
    return ok && fill_values(runs, history, first);
}

bool series_make_total(const struct commit_runs *runs, struct compare_history *history)
{
    history->series = compare_array(1, sizeof *history->series);
    if (!history->series || !add_series(history, COMPARE_WHOLE_RUN, true))
        return false;
    memcpy(history->series[0].values, runs->cost, runs->commit_count * sizeof *runs->cost);
    return true;
}

void series_drop(struct compare_history *history, bool with_callees)
{
    size_t kept = 1;

    for (size_t s = 1; s < history->series_count; s++)
        if (history->series[s].with_callees == with_callees)
            free(history->series[s].values);
        else
            history->series[kept++] = history->series[s];
    history->series_count = kept;
}

/* ---- What they have in common ---- */

/* The median of a function's shares over all commits.  */
static double usual_share(const struct compare_history_series *series, size_t count,
                          struct compare_ratio *scratch)
{
    for (size_t c = 0; c < count; c++)
        scratch[c] = (struct compare_ratio){ series->values[c], 1 };
    return compare_weighted_median(scratch, count);
}

bool series_reference(const struct compare_history *history, double *out, double *largest)
{
    size_t commits = history->commit_count, count = history->series_count;
    struct compare_ratio *items = compare_array(commits + count, sizeof *items);
    double *usual = compare_array(count, sizeof *usual);
    bool ok = items && usual;

    for (size_t s = 1; ok && s < count; s++)
        usual[s] = usual_share(&history->series[s], commits, items);
    for (size_t c = 0; ok && c < commits; c++) {
        size_t used = 0;

        out[c] = 0;
        for (size_t s = 1; s < count; s++) {
            double share = history->series[s].values[c];

            if (usual[s] > 0 && share > 0)
                items[used++] = (struct compare_ratio){ log(share / usual[s]),
                                                        fmin(share, usual[s]) };
        }
        compare_cap_weights(items, used);
        if (used > 0)
            out[c] = compare_weighted_median(items, used);
    }
    free(items);
    *largest = 0;
    for (size_t s = 1; ok && s < count; s++)
        *largest = fmax(*largest, usual[s]);
    free(usual);
    return ok;
}

/* The mean of a function's shares in commits [start, limit).  */
static double mean_share(const struct compare_history_series *series, size_t start, size_t limit)
{
    double sum = 0;

    for (size_t c = start; c < limit; c++)
        sum += series->values[c];
    return sum / (double)(limit - start);
}

bool series_step(const struct compare_history *history, const size_t ends[4], double *out)
{
    size_t count = history->series_count, used = 0;
    struct compare_ratio *items = compare_array(count, sizeof *items);

    *out = 0;
    if (!items)
        return false;
    for (size_t s = 1; s < count; s++) {
        double before = mean_share(&history->series[s], ends[0], ends[1]);
        double after = mean_share(&history->series[s], ends[2], ends[3]);

        if (before > 0 && after > 0)
            items[used++] = (struct compare_ratio){ log(after / before), fmin(before, after) };
    }
    compare_cap_weights(items, used);
    if (used > 0)
        *out = compare_weighted_median(items, used);
    free(items);
    return true;
}
