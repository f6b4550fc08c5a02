/* stored_stacks.h - the call sites of a store, and their names, in dense arrays.
 *
 * Loaded once a connection, and again when the store has changed: a stack is then walked without
 * SQL, and "is this function in that stack" is one bit.  Ids are those of the store, which count
 * from 1 without gaps; a store that breaks this, whose parents do not come before their children,
 * or that lacks a table that the functions read, is damaged (SQLITE_CORRUPT).  */
#ifndef STORE_FUNCTIONS_STORED_STACKS_H
#define STORE_FUNCTIONS_STORED_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstore/functions/sqlite.h"

/* One function of a frame, as the row of symbol; members are string.id, 0 for none.  */
struct stack_line {
    uint32_t function;
    uint32_t file;
    uint32_t line;
};

struct stacks {
    unsigned references;
    unsigned version; /* of the store when it was loaded */

    uint32_t callsite_count;
    uint32_t *parents; /* [callsite]; 0 for a root */
    uint32_t *frames;
    uint32_t *depths; /* 0 for a root */

    /* By stacks_load_names().  */
    bool named;
    uint32_t frame_count;
    uint32_t *modules;     /* [frame]; 0 for none */
    uint32_t *first_lines; /* [frame] in lines; [frame + 1] is behind its last.  Innermost first */
    struct stack_line *lines;
    uint32_t line_count;
    uint32_t string_count;
    size_t *strings; /* [string] in pool; NUL-terminated */
    uint32_t module_count;
    size_t *module_names;  /* [module] in pool: as the store has it */
    size_t *module_labels; /* [module] in pool: "[name]", what stands for a function without name */
    char *pool;
    size_t pool_size;
};

/* The call sites as the store has them now, in *held, which holds a reference or is NULL.  Returns
 * SQLITE_OK, SQLITE_NOMEM, SQLITE_CORRUPT, or what reading gave; *error (sqlite3_malloc()) then
 * says why, or is NULL.  */
int stacks_refresh(sqlite3 *db, struct stacks **held, char **error);

/* Whether all that the functions read are tables.  As above, and SQLITE_ERROR with *error for a
 * store of another version.  */
int stacks_check_tables(sqlite3 *db, char **error);

/* Frames, symbols, strings and modules.  As above.  */
int stacks_load_names(sqlite3 *db, struct stacks *stacks, char **error);

struct stacks *stacks_hold(struct stacks *stacks);
void stacks_drop(struct stacks *stacks); /* accepts NULL */

const char *stacks_text(const struct stacks *stacks, uint32_t string);

/* What a frame without lines is called, and with: its number of functions is at least 1.  Index 0
 * is the innermost.  */
uint32_t stacks_function_count(const struct stacks *stacks, uint32_t frame);
const char *stacks_function(const struct stacks *stacks, uint32_t frame, uint32_t index);
const char *stacks_file(const struct stacks *stacks, uint32_t frame, uint32_t index);
uint32_t stacks_line(const struct stacks *stacks, uint32_t frame, uint32_t index);
const char *stacks_module(const struct stacks *stacks, uint32_t frame); /* "" for none */

/* Room for count items of size in *items (sqlite3_malloc()), whose capacity is *capacity.  False:
 * no memory, nothing changed.  */
bool stacks_grow(void *items, size_t *capacity, size_t count, size_t size);

#endif /* STORE_FUNCTIONS_STORED_STACKS_H */
