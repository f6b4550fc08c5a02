/* keyed_rows.h - rows that are looked up by an integer.  Private to libstore.
 *
 * Rows come in the order of their keys and are packed as columns are (column_block.h), so that one
 * of a key and a sum takes some 6 bytes, where an index of SQLite takes 40.  Rows that do not fit
 * that form, or into KEYED_MOST_BYTES, are in a temporary database instead, which SQLite keeps in a
 * file: their answers are the same, and slower.  */
#ifndef STORE_KEYED_ROWS_H
#define STORE_KEYED_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYED_COLUMNS    8u /* at most, with the key */
#define KEYED_MOST_BYTES ((size_t)96 << 20)

struct keyed_rows;

/* Rows of count columns, of which one is the key; most_bytes in memory.  types has a letter for
 * each column, as SQLite's affinities: '@' or 'A' keeps values as they are, 'B' converts them as
 * a column of TEXT does, 'C' NUMERIC, 'D' INTEGER, 'E' REAL.  NULL: no memory.  */
struct keyed_rows *keyed_open(unsigned count, unsigned key, const char *types, size_t most_bytes);
void keyed_close(struct keyed_rows *rows); /* accepts NULL */

/* Take the rows of a statement, in the order of their keys.  A row whose key is NULL is left out,
 * because NULL equals nothing.  SQLite's code.  */
int keyed_fill(struct keyed_rows *rows, sqlite3_stmt *statement);

/* Go to the first row whose key equals a value, as SQLite compares a column of integers with it;
 * then to the next one.  *found is false if there is none.  SQLite's code.  */
int keyed_seek(struct keyed_rows *rows, sqlite3_value *key, bool *found);
int keyed_next(struct keyed_rows *rows, bool *found);

/* A column of the row that was found.  */
void keyed_column(struct keyed_rows *rows, sqlite3_context *context, unsigned column);

#endif /* STORE_KEYED_ROWS_H */
