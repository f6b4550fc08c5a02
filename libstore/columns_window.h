/* columns_window.h - lead() and lag() of rows in an order of columns.  Private to libstore.  */
#ifndef STORE_COLUMNS_WINDOW_H
#define STORE_COLUMNS_WINDOW_H

#include "libstore/columns_table.h"

/* The window of a statement that is planned again, and the scan that gives its rows.  */
struct columns_window {
    char plan
        [PLAN_TEXT_MOST]; /* of the scan: the first key is the partition, the second the order */
    unsigned table;       /* in served_tables */
    unsigned argument;    /* the column, in the served table */
    int step;             /* 1: lead(), -1: lag() */
    int64_t number;       /* of the statement */
};

/* The function that takes the place of lead() and lag():
 *
 *     fxt_neighbour(step, column, number, argument)
 *
 * The argument is that of lead() or lag(): it keeps the function in the loop over its table.  */
#define WINDOW_FUNCTION "fxt_neighbour"

/* In place of *statement, one that calls the function, if the statement has one window, and does
 * with it what is described in columns_window.c.  Returns whether it does.  */
bool window_prepare(struct store_columns *columns, const char *sql, int length,
                    sqlite3_stmt **statement);

/* Whether a scan of the table is planned to give the rows of columns->window.  */
bool window_is_of(const struct columns_vtab *table);

/* Rows of a plan of PLAN_WINDOW.  SQLite's code.  */
int window_start(struct columns_cursor *cursor, const char *text, int argc, sqlite3_value **argv);
/* After cursor->plain has moved.  SQLite's code.  */
int window_next_plain(struct columns_cursor *cursor);
/* The cursor has other rows from now on.  */
void window_leave(struct columns_cursor *cursor);

/* Make the function known.  SQLite's code.  */
int window_register(struct store_columns *columns);

#endif /* STORE_COLUMNS_WINDOW_H */
