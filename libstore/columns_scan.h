/* columns_scan.h - rows of a table by columns, a group at a time, without SQL.  Private to libstore.
 *
 * What adds up many rows reads them so: it touches the columns that it needs, and no others.  */
#ifndef STORE_COLUMNS_SCAN_H
#define STORE_COLUMNS_SCAN_H

#include "libstore/columns.h"

#define SCAN_MOST 6

/* Rows of a group, by their place in it: those of [from, to) have consecutive ids.  */
struct columns_rows {
    unsigned from, to;
    const struct block *blocks; /* in the order of scan.columns; those that are not wanted: unset */
};

/* Groups without a value from low to high, both included, are left out.  */
struct columns_bound {
    int64_t low, high;
};

struct columns_scan {
    enum columns_table table;   /* with ids */
    int64_t first_id, limit_id; /* rows of [first, limit) */
    uint8_t columns[SCAN_MOST]; /* of integers */
    struct columns_bound bounds[SCAN_MOST];
    unsigned count;
    unsigned wanted; /* a bit for each of columns: read it, and respect its bound */
};

typedef void columns_rows_fn(void *context, const struct columns_rows *rows);

/* Call each() for all groups that have such rows, in the order of their ids.  *answered is false,
 * and each() was not called, if the plain table has to be read instead: the store has no columns of
 * what it is now, is not served from columns (store_serve_columns()), or has reals in one of the
 * columns.  Returns SQLite's code.  */
int columns_scan(struct store *store, const struct columns_scan *scan, columns_rows_fn *each,
                 void *context, bool *answered);

/* The function and its store, for the SQL functions: in the SQLite extension, which is made without
 * columns, both are NULL.  */
struct columns_scanner {
    struct store *store;
    int (*scan)(struct store *store, const struct columns_scan *scan, columns_rows_fn *each,
                void *context, bool *answered);
};

#endif /* STORE_COLUMNS_SCAN_H */
