/* columns_bytecode.h - SQLite's program of a statement.  Private to libstore.  */
#ifndef STORE_COLUMNS_BYTECODE_H
#define STORE_COLUMNS_BYTECODE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* What is to be known of an instruction; p1 to p3 are its operands.  */
enum operation {
    OTHER,
    FILTER,
    NEXT,
    VALUE,       /* of a virtual table */
    OTHER_VALUE, /* of a table that does not move meanwhile */
    STEP,
    COLLATION,
    COMPARE,
    COPY,        /* p1 and the p3 registers after it */
    MOVE,        /* p3 registers from p1 on */
    COPY_ONE,    /* p1 */
    CALL,        /* reads nothing here */
    CALL_IF,     /* the same, if p1 */
    THREE_JUMPS, /* p1, p2 and p3 */
    JUMP,        /* to p2, if p1 and p3 */
    CONSTANT,
    ARITHMETIC, /* of p2 and p1, to p3 */
    CONTROL,    /* no register changes */
};

struct instruction {
    enum operation operation;
    const char *name; /* of it; "" if nobody asks for it */
    int p1, p2, p3;
    unsigned flags; /* p5 */
    char *detail;   /* p4 */
};

struct bytecode {
    struct instruction *items;
    size_t count, capacity;
};

/* Read the program of a statement; it is empty before.  SQLite's code.  */
int bytecode_read(sqlite3 *db, const char *sql, int length, struct bytecode *program);
void bytecode_release(struct bytecode *program);

/* The VNext of the loop that the VFilter at `filter` begins, and which begins again right after
 * that; program->count if it has another form.  */
size_t bytecode_loop_end(const struct bytecode *program, size_t filter);

/* Whether there is an instruction of that name at `at`; it must be one of columns_bytecode.c.  */
bool bytecode_is_named(const struct bytecode *program, size_t at, const char *name);

/* Whether the instructions from `first` to `last` are run for each row of a loop around them.  */
bool bytecode_is_in_loop(const struct bytecode *program, size_t first, size_t last);

/* Whether two statements have the same columns.  */
bool bytecode_are_alike(sqlite3_stmt *a, sqlite3_stmt *b);

#endif /* STORE_COLUMNS_BYTECODE_H */
