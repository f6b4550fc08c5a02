/* columns_derived.h - tables that a statement makes by GROUP BY.  Private to libstore.  */
#ifndef STORE_COLUMNS_DERIVED_H
#define STORE_COLUMNS_DERIVED_H

#include "libstore/columns_read.h"

/* In place of *statement, whose text is sql, one that looks up rows of such a table by their key,
 * if it can be done as columns_derived.c says.  Returns the text of that, for sqlite3_free(); NULL:
 * the statement remains.  */
char *derived_prepare(struct store_columns *columns, const char *sql, int length,
                      sqlite3_stmt **statement);

#endif /* STORE_COLUMNS_DERIVED_H */
