/* columns_table.h - the virtual tables that columns are read through.  Private to libstore.  */
#ifndef STORE_COLUMNS_TABLE_H
#define STORE_COLUMNS_TABLE_H

#include "libstore/columns_read.h"

#define SERVED_MOST     14 /* columns of a virtual table */
#define CONDITIONS_MOST 8

/* What a column of a virtual table shows.  */
enum served_value {
    SERVED_ID,
    SERVED_INTEGER, /* a column */
    SERVED_NUMBER,  /* a column of integers and reals */
    SERVED_TEXT,    /* a column of short texts */
    SERVED_CATEGORY,
    SERVED_NAME,
    SERVED_TYPE,    /* 'internal_slice' */
    SERVED_CAPTURE, /* of its track */
    /* Of arguments (columns_args.c): */
    SERVED_SET,
    SERVED_KEY,
    SERVED_INT_VALUE,
    SERVED_STRING_VALUE,
    SERVED_REAL_VALUE,
    SERVED_VALUE_TYPE,
    SERVED_DISPLAY_VALUE,
    /* Of thread states (columns_states.c), of which `column` is that of sched_slice: */
    SERVED_STATE_ID,
    SERVED_STATE_INTEGER,
    SERVED_STATE_CPU,
    SERVED_STATE,
    SERVED_WAKER,
    SERVED_THREAD_CAPTURE,
};

struct served_column {
    const char *name, *type;
    enum served_value value;
    uint8_t column; /* of the columns_table */
};

/* A virtual table and the plain table or view whose rows it has, column for column.  */
struct served_table {
    const char *name;
    enum columns_table table;
    bool has_names, has_args, has_states, is_small;
    unsigned count;
    struct served_column columns[SERVED_MOST];
};

struct columns_vtab {
    sqlite3_vtab base;
    struct store_columns *columns;
    const struct served_table *served;
    struct columns_vtab *parts; /* of thread states: STATES_PARTS tables; NULL: no parts */
    unsigned integers; /* a bit for each column that is one of integers, where rows are in blocks */
};

/* ---- Plans (columns_plan.c) ----
 *
 * idxStr has two characters for each argument of xFilter, an operator ('=', '>', ')' for >=, '<',
 * '(' for <=, 'L' for LIMIT, 'O' for OFFSET) and a column ('A' + its number); then '/'; then two
 * for each key that rows are ordered by, '+' or '-' and a column.  idxNum is PLAN_ID for one
 * argument that is the id, and PLAN_EQUAL for one that a column of integers equals, without keys.
 * PLAN_EXTREMES has no arguments, and in place of keys a '^' and a column for each one that is
 * used: rows among which the smallest and the largest values of these columns are.
 *
 * PLAN_USES may follow: then rows may be combined.  After it, two characters for each column that
 * is used: '@' + bits of enum column_use, and the column.  Or PLAN_TESTS may follow: then rows that
 * fail a test of the query need not be given.  After it, the table and the tests (columns_tests.h).
 *
 * The text of PLAN_ID ends with PLAN_TABLE and the table ('A' + its number).
 *
 * PLAN_WINDOW has two keys, then PLAN_OF_WINDOW, '+' for lead() or '-' for lag(), and the number of
 * the window (columns_window.c).  */
enum { PLAN_ROWS, PLAN_ID, PLAN_EQUAL, PLAN_EXTREMES, PLAN_WINDOW };

#define PLAN_USES       '&'
#define PLAN_TESTS      '?'
#define PLAN_TABLE      '$'
#define PLAN_OF_WINDOW  '~'
#define TESTS_TEXT_MOST 100
#define PLAN_TEXT_MOST  (80 + TESTS_TEXT_MOST)

/* What a query does with the values of a column, besides conditions that the table takes.  */
enum column_use {
    USE_EQUAL = 1, /* the same with all equal values, once or often */
    USE_SUM = 2,
    USE_LEAST = 4,
    USE_MOST = 8,
};

/* How scans are planned (columns_prepare.c, columns_window.c).  */
enum planning {
    PLANNED_AS_USUAL,
    PLANNED_TO_ASK,     /* with PLAN_USES, to find out from the program what the uses are */
    PLANNED_TO_COMBINE, /* as the uses allow */
    PLANNED_FOR_WINDOW, /* in the order of a window */
};

int columns_best_index(sqlite3_vtab *base, sqlite3_index_info *info);

/* How a column is a key; false: rows cannot be ordered by it.  */
bool columns_key_of(const struct served_table *served, int column, bool is_descending,
                    struct columns_key *out);

/* ---- The rows of a query (columns_rows.c) ---- */

/* Values of a column from low to high, both included; with a rank, texts of that rank.  */
struct condition {
    uint8_t column;
    int8_t text; /* COLUMNS_CATEGORY or COLUMNS_NAME; -1: a number */
    uint32_t rank;
    int64_t low, high;
};

struct columns_cursor {
    sqlite3_vtab_cursor base;
    bool at_end;
    unsigned integers; /* those of the table; 0: rows are those of the plain table */
    /* PLAN_ID: the row of an id was asked for last, and nothing but another id has to be found.
     * PLAN_EQUAL: the same of rows of an index, of the column that has this letter in idxStr.
     * PLAN_ROWS: neither.  */
    int again;
    char again_letter;
    unsigned again_column;
    struct columns_source *source;

    /* The row, and the blocks of its group.  */
    int64_t row;
    int64_t first, limit; /* rows of the group; both 0: none */
    int64_t first_id;     /* of the group */
    size_t group;
    const struct block *blocks; /* of its columns; see cursor_block() */

    /* Rows one after the other, from `from` to `to`, without those that fail a condition.  */
    int64_t from, to;
    int step; /* 1 or -1 */
    struct condition conditions[CONDITIONS_MOST + 1];
    unsigned condition_count;
    struct condition always; /* besides those of the plan */
    bool has_always;
    unsigned tested; /* a bit for each condition that some row of the group may fail */
    int64_t left;    /* rows after this one that all are wanted, and in its group */

    /* Or the rows of a list.  */
    const uint32_t *list; /* NULL: no list */
    uint32_t *owned;      /* for free() */
    size_t owned_bytes;   /* of it, in columns->list_bytes */
    size_t at, count;
    unsigned read; /* a bit for each column of the table whose values were read from blocks */
    bool has_rest; /* all rows are wanted by `key`, and the list has but the first one */
    struct columns_key key;

    sqlite3_stmt *plain; /* or those of the plain table, which is not NULL then */

    /* Of arguments: sets from low_set to high_set; after those of the rows, the ones that
     * arg_set_end adds to another set, which is shown in their place.  */
    int64_t low_set, high_set, shown_set;
    sqlite3_stmt *ends;
    bool is_in_ends;
    size_t hint; /* for columns_lower_bound() */

    /* PLAN_WINDOW: */
    struct columns_cursor *next_in_window;
    int64_t window_number;
    int window_step;           /* to the row whose values are wanted: 1 or -1 */
    unsigned partition;        /* in the served table */
    unsigned partition_column; /* the same in the columns_table */
    sqlite3_stmt *beside;      /* `plain`, that step further */
    bool is_beside;            /* it has a row */

    struct states_cursor *states; /* of thread states */
    struct combined *combined;    /* NULL: rows are not combined */
    struct tests *tests;          /* NULL: none */
    bool is_made;                 /* the row is given in place of others */
};

static inline struct columns_vtab *cursor_table(const struct columns_cursor *cursor)
{
    return (struct columns_vtab *)cursor->base.pVtab;
}

static inline struct columns_source *columns_source_of(const struct columns_vtab *table)
{
    return &table->columns->sources[table->served->table];
}

/* Begin to read rows.  SQLite's code.  */
int rows_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
               sqlite3_value **argv);
/* Begin with the row of an id.  SQLite's code.  */
int rows_start_id(struct columns_cursor *cursor, int64_t id);
/* Whether the cursor had a row by its id before, and the value is one.  */
static inline bool rows_may_start_id(const struct columns_cursor *cursor, sqlite3_value *value)
{
    return cursor->again == PLAN_ID && cursor->source->is_there &&
           sqlite3_value_type(value) == SQLITE_INTEGER;
}
int rows_next(struct columns_cursor *cursor);
/* Make that row, which is one of the blocks, the current one.  */
void rows_go(struct columns_cursor *cursor, int64_t row);
void rows_release(struct columns_cursor *cursor);

/* From the current row on, the first one that passes.  SQLite's code.  */
int rows_settle(struct columns_cursor *cursor);

/* Read the block of a column for the current row.  SQLite's code.  */
int rows_view(struct columns_cursor *cursor, unsigned column, const struct block **out);

/* The block of a column for the current row, until the next row of any cursor.  SQLite's code.  */
static inline int cursor_block(struct columns_cursor *cursor, unsigned column,
                               const struct block **out)
{
    cursor->read |= 1u << column;
    if (!cursor->blocks[column].bytes)
        return rows_view(cursor, column, out);
    *out = &cursor->blocks[column];
    return SQLITE_OK;
}

/* The current row's place in the blocks.  */
static inline unsigned cursor_at(const struct columns_cursor *cursor)
{
    return (unsigned)(cursor->row - cursor->first);
}

/* The values of an operator that an integer column may have; false: none.  As SQLite compares: a
 * text that looks like a number is one.  */
bool rows_bounds(char operation, sqlite3_value *value, int64_t *low, int64_t *high);

/* Whether the text of a plan goes on with a key.  */
static inline bool plan_has_key(const char *text)
{
    return *text && *text != PLAN_USES && *text != PLAN_TESTS && *text != PLAN_TABLE &&
           *text != PLAN_OF_WINDOW;
}

/* ---- Combined rows (columns_combine.c) ----
 *
 * A query that counts rows, adds up columns of integers, or wants their smallest and largest values
 * gets the same answer from fewer rows.  Of rows that come one after the other, and are equal in
 * the columns that it uses in any other way, the first one is given as it is, and then a few rows
 * in place of all others: together they have their sums and extremes.  The first of these counts
 * for all others, and the rest for none: see count_rows().
 *
 * So no output can be between a row that counts for several and the end of its turn in the loop:
 * SQLite gives a finished group only when a column has changed.  */

/* Begin to read rows whose plan has uses.  SQLite's code.  */
int combined_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
                   sqlite3_value **argv);
int combined_next(struct columns_cursor *cursor);
bool combined_at_end(const struct columns_cursor *cursor);
/* A column of a row that is given in place of others.  */
int combined_column(struct columns_cursor *cursor, sqlite3_context *context, int number);
/* Rows of the next plan are not combined.  */
void combined_stop(struct columns_cursor *cursor);
void combined_release(struct columns_cursor *cursor);

/* Whether columns can have these uses.  */
bool combined_allows(const struct columns_vtab *table, const uint8_t uses[SERVED_MOST]);

/* Let count(*) on the connection count rows for as many as they are given for.  Returns whether it
 * does; it cannot begin while a statement runs.  */
bool combined_count(struct store_columns *columns);

/* ---- Arguments (columns_args.c) ---- */

/* After the range of rows is known.  SQLite's code.  */
int args_start(struct columns_cursor *cursor);
int args_next(struct columns_cursor *cursor);
int args_column(struct columns_cursor *cursor, sqlite3_context *context,
                const struct served_column *is);
int64_t args_rowid(const struct columns_cursor *cursor);

/* ---- Thread states (columns_states.c) ---- */

enum { STATES_RUN, STATES_WAIT, STATES_PARTS }; /* rows of sched_slice, of thread_wait */

/* Whether thread states can come in the order of their state.  */
bool states_can_order(const struct store_columns *columns);
/* Whether all parts have columns, in which idle CPUs are recognized.  */
bool states_are_there(const struct store_columns *columns);

int states_start(struct columns_cursor *cursor, int plan, const char *text, sqlite3_value **argv);
int states_next(struct columns_cursor *cursor);
int states_column(struct columns_cursor *cursor, sqlite3_context *context,
                  const struct served_column *is);
int64_t states_rowid(const struct columns_cursor *cursor);
void states_release(struct columns_cursor *cursor);

/* ---- Small tables (columns_small.c) ---- */

/* Read the table once; columns->tracks.is_there is false if it is not small.  SQLite's code.  */
int small_load(struct store_columns *columns, const struct served_table *served);
int small_start(struct columns_cursor *cursor, int plan, const char *text, sqlite3_value **argv);
int small_next(struct columns_cursor *cursor);
int64_t small_rowid(const struct columns_cursor *cursor);
void small_column(const struct columns_cursor *cursor, sqlite3_context *context, unsigned column);

/* ---- The module (columns_table.c) ---- */

/* For cursors of parts.  SQLite's code.  */
int columns_open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out);
int columns_close_cursor(sqlite3_vtab_cursor *base);
int columns_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                   sqlite3_value **argv);
int columns_next(sqlite3_vtab_cursor *base);
int columns_at_end(sqlite3_vtab_cursor *base);
int columns_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number);
/* The text of a name, or a short text.  */
void columns_result_name(sqlite3_context *context, const struct columns_names *names, int which,
                         int64_t id);
void columns_result_short_text(sqlite3_context *context, int64_t value);
int64_t columns_id_of(const struct columns_cursor *cursor);

extern const sqlite3_module columns_module;

/* Those that are served, and their number.  */
extern const struct served_table served_tables[];
extern const unsigned served_table_count;

#endif /* STORE_COLUMNS_TABLE_H */
