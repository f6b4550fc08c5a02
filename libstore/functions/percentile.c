/* percentile.c - percentile(x, p): the value below which p of 100 parts of the rows lie.
 *
 * Between two rows it is interpolated, as spreadsheets and SQLite's own extension of that name do;
 * NULLs do not count, and no rows give NULL.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/functions/functions.h"

struct values {
    double *items;
    size_t count, capacity;
    double part; /* p */
    bool has_part;
};

static void step_percentile(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct values *values = sqlite3_aggregate_context(context, sizeof *values);
    int type = sqlite3_value_numeric_type(arguments[1]);
    double part = sqlite3_value_double(arguments[1]);

    (void)count;
    if (!values) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(part >= 0 && part <= 100)) {
        sqlite3_result_error(context, "percentile(x, p): p is not between 0 and 100", -1);
        return;
    }
    if (values->has_part && (part < values->part || part > values->part)) {
        sqlite3_result_error(context, "percentile(x, p): p is not the same for all rows", -1);
        return;
    }
    values->part = part;
    values->has_part = true;
    type = sqlite3_value_type(arguments[0]);
    if (type == SQLITE_NULL)
        return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "percentile(x, p): x is not a number", -1);
        return;
    }
    if (!stacks_grow(&values->items, &values->capacity, values->count + 1, sizeof(double))) {
        sqlite3_result_error_nomem(context);
        return;
    }
    values->items[values->count++] = sqlite3_value_double(arguments[0]);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void finish_percentile(sqlite3_context *context)
{
    struct values *values = sqlite3_aggregate_context(context, 0);

    if (!values)
        return;
    if (values->count > 0) {
        double place = values->part / 100 * (double)(values->count - 1);
        size_t below = (size_t)place;
        size_t above = below + 1 < values->count ? below + 1 : below;

        qsort(values->items, values->count, sizeof(double), compare);
        sqlite3_result_double(context,
                              values->items[below] + (values->items[above] - values->items[below]) *
                                                         (place - (double)below));
    }
    sqlite3_free(values->items);
}

int percentile_register(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "percentile", 2,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                      NULL, step_percentile, finish_percentile, NULL);
}
