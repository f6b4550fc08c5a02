/* derived_table.h - a virtual table with the rows of a subquery.  Private to libstore.
 *
 * It runs the subquery at the first look-up, as SQLite does, or when it is opened if there will be
 * one, and gives rows by their key alone.  */
#ifndef STORE_DERIVED_TABLE_H
#define STORE_DERIVED_TABLE_H

#include "libstore/columns_read.h"
#include "libstore/sql_subquery.h"

struct derived {
    struct store_columns *columns; /* counts a reference */
    unsigned references;
    int64_t number;    /* ends its name */
    char *sql;         /* the subquery, in the order of its key */
    char *declaration; /* of the table */
    unsigned count, key;
    char types[SUBQUERY_ITEMS]; /* see keyed_open() */
    char plan[32];              /* of a look-up, in SQLite's programs */
    /* The subquery is run before the scan that looks up begins: that takes less memory.  */
    bool is_early;
};

/* A table in place of a subquery, which SQL knows; NULL: there is none for this one.  It stays
 * after derived_drop(), until some more have been made.  */
struct derived *derived_make(struct store_columns *columns, const struct subquery *subquery);
void derived_drop(void *derived);

#endif /* STORE_DERIVED_TABLE_H */
