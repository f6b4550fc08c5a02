/* store_tables.h - the tables that rows are written to.  Private to libstore.  */
#ifndef STORE_TABLES_H
#define STORE_TABLES_H

#include "libstore/row_writer.h"

#define STORE_MOST_COLUMNS 21

struct store_table_info {
    const char *name;
    const char *columns; /* in the order of cells, separated by ", " */
    unsigned column_count;
    bool has_id; /* cell 0 is INTEGER PRIMARY KEY, counted by the writer */
};

extern const struct store_table_info store_tables[STORE_TABLES];

#endif /* STORE_TABLES_H */
