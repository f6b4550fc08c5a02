/* functions.h - the SQL functions of a store: what the files of libstore/functions share.
 *
 * docs/sql.md is their manual.  register.c puts them into a connection.  */
#ifndef STORE_FUNCTIONS_FUNCTIONS_H
#define STORE_FUNCTIONS_FUNCTIONS_H

#include "libstore/blocks/block_scan.h"
#include "libstore/functions/shape.h"
#include "libstore/functions/stored_stacks.h"

#define PATTERNS_KEPT 8u
#define SHAPES_KEPT   2u /* each has two numbers a call site */

/* What the functions of one connection know.  Freed with the last of them.  */
struct functions {
    unsigned references;
    sqlite3 *db;                    /* borrowed: it outlives its functions */
    struct columns_scanner scanner; /* of the store that the connection is of */
    struct stacks *stacks;          /* NULL: not loaded yet */
    /* Patterns of in_stack() that were asked for last.  */
    struct pattern {
        char *text;
        uint8_t *bits; /* of match_callsites() */
        unsigned version;
    } patterns[PATTERNS_KEPT];
    unsigned next_pattern; /* to be replaced */
    /* What leaf() was asked for last.  */
    struct kept_shape {
        char *hide, *show_from; /* NULL: no such pattern */
        struct shape shape;     /* frames NULL: nothing is kept here */
        unsigned version;
    } shapes[SHAPES_KEPT];
    unsigned next_shape;
    unsigned nested; /* functions that run a statement now */
};

/* Make functions->stacks current and give them their names.  SQLITE_OK or an error, with *error as
 * in stored_stacks.h.  */
int functions_refresh(struct functions *functions, char **error);

/* Hand an error to SQLite; *error is freed.  */
void functions_fail(sqlite3_context *context, int code, char *error);

/* Forget a shape.  */
void functions_release_shape(struct kept_shape *kept);

struct functions *functions_hold(struct functions *functions);
void functions_drop(void *functions);

/* For virtual tables.  Declare the columns of one: declaration is memory of SQLite, which is freed;
 * NULL means that memory was short.  Returns SQLite's code.  */
int functions_declare(sqlite3 *db, char *declaration);
/* xDisconnect of tables that are one allocation.  */
int functions_disconnect(sqlite3_vtab *base);
/* Plan a query: idxStr gets a letter for each value that filter() receives, 'A' + the number of its
 * argument, as argument_of() counts them from 0; it returns -1 for a column that is none.  Returns
 * SQLite's code.  */
int functions_plan(sqlite3_vtab *base, sqlite3_index_info *info,
                   int (*argument_of)(const sqlite3_vtab *base, int column));
/* Copy the values that filter() received by such a plan.  Returns SQLite's code.  */
int functions_take_arguments(sqlite3_value **arguments, const char *plan, int count,
                             sqlite3_value **values);
/* Zeroed memory of SQLite, or NULL.  */
void *functions_zeroed(int size);

int scalar_register(sqlite3 *db, struct functions *functions);
int percentile_register(sqlite3 *db);
int tables_register(sqlite3 *db, struct functions *functions);
int timeline_register(sqlite3 *db, struct functions *functions);

/* All of them.  scanner is that of the store whose connection it is, and is copied; NULL: libstore
 * has not opened it.  Returns SQLite's code.  */
int functions_register(sqlite3 *db, const struct columns_scanner *scanner);

#endif /* STORE_FUNCTIONS_FUNCTIONS_H */
