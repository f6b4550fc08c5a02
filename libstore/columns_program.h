/* columns_program.h - loops of SQLite's programs over virtual tables.  Private to libstore.  */
#ifndef STORE_COLUMNS_PROGRAM_H
#define STORE_COLUMNS_PROGRAM_H

#include "libstore/columns_table.h"

#define LOOPS_MOST 16

/* A loop over the rows of a scan whose plan has PLAN_USES or PLAN_TESTS.  */
struct columns_loop {
    char plan[PLAN_TEXT_MOST];
    bool is_right;               /* its rows may be combined, as far as `uses` allow it */
    bool counts;                 /* by count(*) */
    uint8_t uses[SERVED_MOST];   /* bits of enum column_use, for each column */
    char tests[TESTS_TEXT_MOST]; /* see PLAN_TESTS; "": none */
};

struct columns_loops {
    struct columns_loop items[LOOPS_MOST];
    unsigned count;
};

/* Read the loops of a statement.  SQLite's code; SQLITE_FULL if there are too many.  */
int columns_read_loops(sqlite3 *db, const char *sql, int length, struct columns_loops *loops);

/* The loop that has a plan; NULL: none.  */
struct columns_loop *columns_find_loop(struct columns_loops *loops, const char *plan);

#endif /* STORE_COLUMNS_PROGRAM_H */
