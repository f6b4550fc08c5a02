/* block_scan.h - rows of a table by columns, a group at a time, without SQL.  Private to libstore.
 *
 * Who adds up many rows reads them so: it touches the columns that it needs, and no others.  The
 * functions of libstore/functions get them through a pointer, because the SQLite extension has
 * these functions, and no columns.  */
#ifndef STORE_BLOCK_SCAN_H
#define STORE_BLOCK_SCAN_H

#include "libstore/blocks/column_block.h"

/* The tables that have columns.  */
enum columns_table {
    COLUMNS_SLICE,
    COLUMNS_COUNTER,
    COLUMNS_SCHED,
    COLUMNS_WAIT,
    COLUMNS_SAMPLE,
    COLUMNS_ARG,
    COLUMNS_TABLES,
};

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

/* Calls each() for all groups that have such rows, in the order of their ids.  *answered is false,
 * and each() was not called, if the plain table must be read instead: the store's columns are
 * missing or out of date, store_serve_columns() turned them off, or one of the columns contains
 * reals.  Returns SQLite's code.  */
struct store;
typedef int columns_scan_fn(struct store *store, const struct columns_scan *scan,
                            columns_rows_fn *each, void *context, bool *answered);

/* A scan function and its store; both are NULL if there are no columns.  */
struct columns_scanner {
    struct store *store;
    columns_scan_fn *scan;
};

#endif /* STORE_BLOCK_SCAN_H */
