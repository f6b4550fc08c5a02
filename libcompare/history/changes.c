/* changes.c - the change points of one series, by a permutation test (section 11).
 *
 * The statistic is the largest difference of means to both sides of a value, in standard errors,
 * over intervals of many lengths, so that a level of a few commits is seen as well as one that
 * lasts.  As in E-divisive (Matteson and James 2014), what it may reach without a change is
 * seen from permutations of the same values; the series is then divided, and each part is tested
 * again.  */
#include "libcompare/history/changes.h"

#include <math.h>
#include <string.h>

enum {
    SIDE = COMPARE_HISTORY_SIDE,
    WINDOW = 2 * SIDE - 1, /* of the running median: a level of SIDE values is its majority */
    NEAR = 3,              /* so many commits off is still found */
    ENOUGH = 10,           /* permutations beyond the statistic after which p is no longer small */
};
#define ODD              3.0  /* noise, by which a value may be off its neighbours */
#define LEAST_NOISE      1e-6 /* relative: equal values have some, too */
#define PER_LEVEL        4    /* permutations: so many over the level */
#define RANGE_95         7.35 /* section 11.4 */
#define NEARLY_BEST      0.95 /* of the probability that the change is near a place */
#define CHANCE_OF_HALVES M_SQRT2
#define NORMAL_MEDIAN    1.4826 /* standard deviation over the median distance from the median */

bool changes_init(struct changes *changes, size_t capacity)
{
    *changes = (struct changes){ .capacity = capacity };
    changes->clean = compare_array(capacity, sizeof *changes->clean);
    changes->shuffled = compare_array(capacity, sizeof *changes->shuffled);
    changes->scratch = compare_array(capacity, sizeof *changes->scratch);
    changes->sums = compare_array(capacity + 1, sizeof *changes->sums);
    changes->chances = compare_array(capacity, sizeof *changes->chances);
    changes->items = compare_array(capacity, sizeof *changes->items);
    return changes->clean && changes->shuffled && changes->scratch && changes->sums &&
           changes->chances && changes->items;
}

void changes_release(struct changes *changes)
{
    free(changes->clean);
    free(changes->shuffled);
    free(changes->scratch);
    free(changes->sums);
    free(changes->chances);
    free(changes->items);
}

/* ---- Noise, and odd values ---- */

/* The value of that rank; the order of values changes.  */
static double ranked(double *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;

        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double swap = values[i];

                values[i++] = values[j];
                values[j] = swap;
                if (j-- == 0)
                    break;
            }
        }
        if (j < count && rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

static double near_median(const double *values, size_t count, size_t i)
{
    double near[WINDOW] = { 0 };
    size_t size = count < WINDOW ? count : WINDOW;
    size_t start = i < SIDE - 1 ? 0 : i - (SIDE - 1);

    if (start > count - size)
        start = count - size;
    for (size_t k = 0; k < size; k++) {
        size_t at = k;

        for (; at > 0 && near[at - 1] > values[start + k]; at--)
            near[at] = near[at - 1];
        near[at] = values[start + k];
    }
    return near[size / 2];
}

/* Of three neighbours, the value that has the variance of one and no level (Hall, Kay and
 * Titterington 1990): of its kind, it has the least error.  */
static double contrast(const double *values)
{
    return fabs(0.8090 * values[0] - 0.5 * values[1] - 0.3090 * values[2]);
}

/* By contrasts of neighbours, which a change of level hardly touches.  Twice: contrasts beyond what
 * the median says are cut.  At least three values.  */
static double noise_of(const double *values, size_t count, double *scratch)
{
    size_t used = count - 2;
    double cut, sum = 0;

    for (size_t i = 0; i < used; i++)
        scratch[i] = contrast(values + i);
    cut = ODD * fmax(NORMAL_MEDIAN * ranked(scratch, used, used / 2), LEAST_NOISE);
    for (size_t i = 0; i < used; i++) {
        double distance = fmin(contrast(values + i), cut);

        sum += distance * distance;
    }
    return fmax(sqrt(sum / (double)used), LEAST_NOISE);
}

/* An odd value is no change of level: it is brought to within the noise of its neighbours' median.
 * Returns the noise.  */
static double clean(const double *values, size_t count, double *out, double *scratch)
{
    double noise = noise_of(values, count, scratch);

    for (size_t i = 0; i < count; i++) {
        double middle = near_median(values, count, i);

        out[i] = fmin(fmax(values[i], middle - ODD * noise), middle + ODD * noise);
    }
    return noise_of(out, count, scratch);
}

static void add_up(const double *values, size_t count, double *sums)
{
    sums[0] = 0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + values[i];
}

/* ---- The test ---- */

struct best {
    double score;
    size_t at;
};

/* Weight of the squares that a division of values explains, by the lengths of both parts.  */
static double excess_of(const double *sums, size_t start, size_t at, size_t limit)
{
    double left = (double)(at - start), right = (double)(limit - at), length = left + right;
    double excess = (sums[at] - sums[start]) - (sums[limit] - sums[start]) * left / length;

    return excess * excess * length / (left * right);
}

/* What an interval is searched with: noise, and what parts of each length may well reach by chance,
 * because there are more places for a short one (as in SMUCE, Frick et al. 2014).  */
struct search {
    const double *sums;
    double noise;
    const double *chances; /* NULL: all parts may reach as much as halves */
};

/* The best division of values [ends[0], ends[1]), in noise less what may be chance.  */
static void search_interval(const struct search *search, const size_t ends[2], struct best *best)
{
    for (size_t at = ends[0] + SIDE; at + SIDE <= ends[1]; at++) {
        size_t shorter = at - ends[0] < ends[1] - at ? at - ends[0] : ends[1] - at;
        double chance = search->chances ? search->chances[shorter] : CHANCE_OF_HALVES;
        double score = sqrt(excess_of(search->sums, ends[0], at, ends[1])) / search->noise - chance;

        if (score > best->score)
            *best = (struct best){ score, at };
    }
}

/* Over the whole, and over intervals whose lengths shrink by the square root of 2, each overlapping
 * the next by half (seeded intervals, Kovacs et al. 2023).  A level that begins late or ends early
 * and has no other end is a part of the whole, of which there is but one: it is not held to what is
 * asked of a short part of one of many intervals.  */
static struct best search_all(const struct search *search, size_t count)
{
    struct search whole = { search->sums, search->noise, NULL };
    struct best best = { -INFINITY, SIDE };
    double shrinking = (double)count / sqrt(2);

    search_interval(&whole, (const size_t[]){ 0, count }, &best);
    for (size_t length = (size_t)ceil(shrinking); length >= (size_t)2 * SIDE;
         shrinking /= sqrt(2), length = (size_t)ceil(shrinking)) {
        for (size_t start = 0; start + length < count; start += length / 2)
            search_interval(search, (const size_t[]){ start, start + length }, &best);
        search_interval(search, (const size_t[]){ count - length, count }, &best);
    }
    return best;
}

static struct best statistic(struct changes *changes, const double *values, size_t count,
                             double *cleaned)
{
    struct search search = { changes->sums, clean(values, count, cleaned, changes->scratch),
                             changes->chances };

    add_up(cleaned, count, changes->sums);
    return search_all(&search, count);
}

/* What parts of each length may reach, in a series of count values.  */
static void fill_chances(double *chances, size_t count)
{
    for (size_t length = 1; length <= count / 2; length++)
        chances[length] = sqrt(2 * (1 + log((double)count / (2 * (double)length))));
}

static void shuffle(struct compare_random *random, double *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = compare_random_below(random, i);
        double swap = values[i - 1];

        values[i - 1] = values[other];
        values[other] = swap;
    }
}

/* The p value of a statistic; exact as far as it matters: permutations end once it is not small
 * (Besag and Clifford 1991).  cleaned is scratch.  */
static double probability(struct changes *changes, const double *values, size_t count, double score,
                          double level, double *cleaned)
{
    size_t most = (size_t)ceil(PER_LEVEL / level) - 1, beyond = 0, done = 0;

    memcpy(changes->shuffled, values, count * sizeof *values);
    while (done < most && beyond < ENOUGH) {
        shuffle(&changes->random, changes->shuffled, count);
        beyond += statistic(changes, changes->shuffled, count, cleaned).score >= score;
        done++;
    }
    return beyond < ENOUGH ? (double)(beyond + 1) / (double)(done + 1)
                           : (double)beyond / (double)done;
}

/* Values [start, limit), and what is left of and right of a change in them.  As deep as there are
 * changes: each takes SIDE values from its part.  */
static void divide(struct changes *changes, const double *values, size_t start, /* NOLINT */
                   size_t limit, double level)
{
    double *cleaned = changes->clean + start;
    struct best best;
    double p;

    if (limit - start < COMPARE_HISTORY_MIN_COMMITS)
        return;
    fill_chances(changes->chances, limit - start);
    best = statistic(changes, values + start, limit - start, cleaned);
    p = probability(changes, values + start, limit - start, best.score, level, cleaned);
    if (p > level)
        return;
    divide(changes, values, start, start + best.at, level);
    changes->items[changes->count++] = (struct change){ start + best.at, p };
    divide(changes, values, start + best.at, limit, level);
}

/* ---- Places ---- */

size_t changes_start(const struct changes *changes, size_t i)
{
    return i == 0 ? 0 : changes->items[i - 1].at;
}

size_t changes_limit(const struct changes *changes, size_t i, size_t count)
{
    return i + 1 == changes->count ? count : changes->items[i + 1].at;
}

void changes_remove(struct changes *changes, size_t i)
{
    changes->count--;
    memmove(&changes->items[i], &changes->items[i + 1],
            (changes->count - i) * sizeof *changes->items);
}

/* How likely a change between both ends lies at each place, in parts of the likeliest, by the
 * squares that it explains; returns that place.  weights has room for all values.  */
static size_t weigh_places(const struct changes *changes, const size_t ends[2], double *weights)
{
    const double *sums = changes->sums;
    size_t first = ends[0] + SIDE, likeliest = first;
    double best = -1;

    for (size_t at = first; at + SIDE <= ends[1]; at++) {
        weights[at] = excess_of(sums, ends[0], at, ends[1]);
        if (weights[at] > best) {
            best = weights[at];
            likeliest = at;
        }
    }
    for (size_t at = first; at + SIDE <= ends[1]; at++)
        weights[at] = exp((weights[at] - best) / (2 * changes->noise * changes->noise));
    return likeliest;
}

/* How likely the change is within NEAR of a place.  */
static double near_weight(const double *weights, const size_t ends[2], size_t at)
{
    size_t from = at < ends[0] + SIDE + NEAR ? ends[0] + SIDE : at - NEAR;
    double sum = 0;

    for (size_t i = from; i <= at + NEAR && i + SIDE <= ends[1]; i++)
        sum += weights[i];
    return sum;
}

/* Where the change is most likely near; of the places about as good, the likeliest.  The likeliest
 * place alone is further off more often, where noise makes several of them likely.  */
static size_t best_place(const struct changes *changes, const size_t ends[2])
{
    double *weights = changes->scratch, best = 0, highest = -1;
    size_t place = weigh_places(changes, ends, weights);

    for (size_t at = ends[0] + SIDE; at + SIDE <= ends[1]; at++)
        best = fmax(best, near_weight(weights, ends, at));
    for (size_t at = ends[0] + SIDE; at + SIDE <= ends[1]; at++)
        if (weights[at] > highest && near_weight(weights, ends, at) >= NEARLY_BEST * best) {
            highest = weights[at];
            place = at;
        }
    return place;
}

void changes_place(struct changes *changes, size_t count)
{
    for (size_t i = 0; i < changes->count; i++) {
        const size_t ends[2] = { changes_start(changes, i), changes_limit(changes, i, count) };

        changes->items[i].at = best_place(changes, ends);
    }
}

static double difference_of_means(const double *sums, const size_t ends[2], size_t at)
{
    return (sums[ends[1]] - sums[at]) / (double)(ends[1] - at) -
           (sums[at] - sums[ends[0]]) / (double)(at - ends[0]);
}

double changes_place_variance(const struct changes *changes, size_t start, size_t at, size_t limit)
{
    const size_t ends[2] = { start, limit };
    double here = difference_of_means(changes->sums, ends, at);
    double *weights = changes->scratch, all = 0, sum = 0;

    (void)weigh_places(changes, ends, weights);
    for (size_t i = start + SIDE; i + SIDE <= limit; i++) {
        double off = difference_of_means(changes->sums, ends, i) - here;

        all += weights[i];
        sum += weights[i] * off * off;
    }
    return sum / all;
}

void changes_range(const struct changes *changes, size_t i, size_t count, size_t *first,
                   size_t *last)
{
    const size_t ends[2] = { changes_start(changes, i), changes_limit(changes, i, count) };
    size_t likeliest = weigh_places(changes, ends, changes->scratch);
    double least = excess_of(changes->sums, ends[0], likeliest, ends[1]) -
                   RANGE_95 * changes->noise * changes->noise;

    *first = *last = changes->items[i].at;
    for (size_t at = ends[0] + 1; at < ends[1]; at++) {
        if (excess_of(changes->sums, ends[0], at, ends[1]) < least)
            continue;
        *first = at < *first ? at : *first;
        *last = at > *last ? at : *last;
    }
}

void changes_find(struct changes *changes, const double *values, size_t count, double level)
{
    changes->count = 0;
    changes->noise = 0;
    compare_random_seed(&changes->random, 1);
    if (count < SIDE)
        return;
    divide(changes, values, 0, count, level);
    changes->noise = clean(values, count, changes->clean, changes->scratch);
    add_up(changes->clean, count, changes->sums);
    changes_place(changes, count);
}
