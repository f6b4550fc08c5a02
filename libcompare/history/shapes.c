/* shapes.c - how large a change is, and whether it is a step or creep (section 11.4).  */
#include "libcompare/history/changes.h"

#include <math.h>

#define PAIRS_MOST        40000 /* differences that are looked at: more values are thinned out */
#define RANK_EFFICIENCY   0.955 /* of the shift (Hodges and Lehmann 1956) */
#define STEP_BEFORE_CREEP 6.0   /* by which creep must fit better than one step */
#define SHORTEST_CREEP    3

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

double changes_median(double *values, size_t count)
{
    compare_sort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- Size ---- */

bool changes_size(const struct changes *changes, const double *values, const size_t ends[4],
                  struct change_size *out)
{
    size_t before = ends[1] - ends[0], after = ends[3] - ends[2];
    size_t step = 1 + before * after / PAIRS_MOST, used = 0;
    double *differences = compare_array(before * after / step + 1, sizeof *differences);
    double variance = changes->noise * changes->noise * (1 / (double)before + 1 / (double)after) /
                      RANK_EFFICIENCY;
    double error;

    if (!differences)
        return false;
    if (ends[1] == ends[2]) /* a step */
        variance += changes_place_variance(changes, ends[0], ends[1], ends[3]);
    for (size_t i = 0; i < before * after; i += step)
        differences[used++] = values[ends[2] + i % after] - values[ends[0] + i / after];
    out->shift = changes_median(differences, used);
    error = sqrt(variance) * compare_t_quantile(0.975, (double)(before + after - 2));
    out->low = out->shift - error;
    out->high = out->shift + error;
    free(differences);
    return true;
}

/* ---- Creep ---- */

/* What a slope needs of values [start, limit), beside their sums.  */
struct slope_sums {
    size_t start, limit;
    double *moments; /* [i]: sum of k * values[k] for k below i */
};

/* The squares that values leave of a level before start, one from end on, and a line between.  */
static double creep_residue(const struct changes *changes, const struct slope_sums *sums,
                            size_t start, size_t end)
{
    const double *total = changes->sums, *moment = sums->moments;
    double length = (double)(end - start);
    double flat = (double)(start + 1 - sums->start), high = (double)(sums->limit - end);
    double inner = length - 1; /* values between both ends, whose weights are k / length */
    double weights = high + inner / 2;
    double squares = high + inner * (2 * length - 1) / (6 * length);
    double count = flat + inner + high;
    double cross = total[sums->limit] - total[end] +
                   (moment[end] - moment[start + 1] -
                    (double)start * (total[end] - total[start + 1])) /
                       length;
    double all = total[sums->limit] - total[sums->start];
    double spread = squares - weights * weights / count;
    double slope = cross - weights * all / count;

    return -all * all / count - (spread > 0 ? slope * slope / spread : 0);
}

/* The same of levels between the changes.  Both leave out the squares of the values.  */
static double steps_residue(const struct changes *changes, size_t first, size_t limit, size_t start,
                            size_t end)
{
    double residue = 0;

    for (size_t i = first; i <= limit; i++) {
        size_t stop = i == limit ? end : changes->items[i].at;
        double sum = changes->sums[stop] - changes->sums[start];

        residue -= sum * sum / (double)(stop - start);
        start = stop;
    }
    return residue;
}

bool changes_creep(const struct changes *changes, size_t first, size_t limit, size_t count,
                   size_t *start, size_t *end)
{
    struct slope_sums sums = { changes_start(changes, first),
                               changes_limit(changes, limit - 1, count), changes->scratch };
    double steps = steps_residue(changes, first, limit, sums.start, sums.limit);
    double square = changes->noise * changes->noise, best = INFINITY;
    double numbers = 2.0 * (double)(limit - first) - 3; /* that steps have more */

    sums.moments[0] = 0;
    for (size_t i = 0; i + 1 < changes->capacity; i++)
        sums.moments[i + 1] = sums.moments[i] + (i < count ? (double)i * changes->clean[i] : 0);
    for (size_t i = sums.start; i < sums.limit; i++)
        for (size_t k = i + SHORTEST_CREEP; k < sums.limit; k++) {
            double residue = creep_residue(changes, &sums, i, k);

            if (residue < best) {
                best = residue;
                *start = i;
                *end = k;
            }
        }
    return (steps - best) / square + numbers * log((double)(sums.limit - sums.start)) >
           (limit - first == 1 ? STEP_BEFORE_CREEP : 0);
}
