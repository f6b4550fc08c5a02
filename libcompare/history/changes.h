/* changes.h - between the files of libcompare/history only: the change points of one series.  */
#ifndef COMPARE_CHANGES_H
#define COMPARE_CHANGES_H

#include <fxt/compare_history.h>

#include "libcompare/compare_internal.h"
#include "libcompare/statistics/statistics.h"

/* ---- Finding them (changes.c) ---- */

struct change {
    size_t at; /* the first value of the new level */
    double p;
};

/* Room for the work on series of up to count values, and where what was found goes.  */
struct changes {
    size_t capacity;
    double *clean;    /* the series without odd values: [0, count) */
    double noise;     /* standard deviation from value to value */
    double *shuffled; /* scratch, likewise sums, one longer */
    double *scratch;
    double *sums;
    double *chances;      /* by the length of a part: what it may well reach */
    struct change *items; /* in the order of the series */
    size_t count;
    struct compare_random random;
};

/* Returns false if there is no memory.  */
bool changes_init(struct changes *changes, size_t capacity);
void changes_release(struct changes *changes); /* accepts one that is all zero */

/* Find the change points of count finite values.  Without any, the probability to find one is at
 * most level.  */
void changes_find(struct changes *changes, const double *values, size_t count, double level);

/* The value after which change i - 1 ended, and before which change i + 1 begins.  */
size_t changes_start(const struct changes *changes, size_t i);
size_t changes_limit(const struct changes *changes, size_t i, size_t count);

/* Move each change to where it most likely is, or is near (section 11.3).  */
void changes_place(struct changes *changes, size_t count);
/* The variance of the difference of levels [start, at) and [at, limit) because the place between
 * them is an estimate, too.  */
double changes_place_variance(const struct changes *changes, size_t start, size_t at, size_t limit);
void changes_remove(struct changes *changes, size_t i);

/* Where change i lies with 95 % confidence: first <= at <= last.  */
void changes_range(const struct changes *changes, size_t i, size_t count, size_t *first,
                   size_t *last);

/* ---- Their sizes and shapes (shapes.c) ---- */

/* Whether changes [first, limit) are rather one that went on from value *start, the last of the old
 * level, to *end, the first of the new one.  */
bool changes_creep(const struct changes *changes, size_t first, size_t limit, size_t count,
                   size_t *start, size_t *end);

/* Hodges-Lehmann shift of logarithms from values [a, b) to [c, d), and its 95 % limits.  */
struct change_size {
    double shift, low, high;
};
bool changes_size(const struct changes *changes, const double *values, const size_t ends[4],
                  struct change_size *out);

/* The median of values, which become sorted.  */
double changes_median(double *values, size_t count);

#endif /* COMPARE_CHANGES_H */
