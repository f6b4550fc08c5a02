/* columns_read.h - blocks of a store's columns, and the names they refer to.  Private to libstore.
 *
 * One struct store_columns serves one connection.  Blocks are read when they are first used, and
 * kept until they take more than KEPT_BYTES.
 *
 * Damage changes no answer, and is counted.  When a connection begins to read a table, it checks
 * its directory and some of its blocks: if any is damaged, the plain table answers.  A block that
 * turns out to be damaged later is made again from the rows of its plain table; after a few of
 * these in a table, the plain table answers statements that are prepared from then on.  */
#ifndef STORE_COLUMNS_READ_H
#define STORE_COLUMNS_READ_H

#include "libstore/columns.h"

struct columns_text {
    const char *bytes;
    uint32_t length, rank;
};

/* Category and name by event_name.id, which counts from 1.  Texts have their place among all texts
 * as rank: equal ones have equal ranks.  */
struct columns_names {
    struct columns_text *texts[2]; /* categories, names: of count + 1 items */
    uint32_t *sorted[2];
    size_t count;
    char *bytes;
};

enum { COLUMNS_CATEGORY, COLUMNS_NAME };

/* Texts of string.id, each looked up when it is first needed: the keys of arguments.  */
struct columns_keys {
    int64_t first;
    size_t count;     /* of ids from `first` on */
    uint32_t *places; /* of each: 0 not looked up, 1 no such string, else 2 + its place in texts */
    struct columns_text *texts;
    size_t used, capacity, bytes;
    struct columns_text last; /* looked up when `texts` has as much as it may */
};

/* A table that is small enough to be in memory.  */
struct columns_cell {
    int64_t value; /* of a text: its place in bytes */
    uint32_t length;
    uint8_t type; /* SQLITE_INTEGER, SQLITE_TEXT or SQLITE_NULL */
};

struct columns_small {
    bool was_read, is_there;
    struct columns_cell *cells; /* row by row */
    size_t rows, cell_count;
    char *bytes;
    size_t byte_count;
};

/* The rows by the values of a column.  The key of a value is its distance from the smallest one,
 * and 1 more; NULL has key 0.  */
struct columns_index {
    uint32_t *rows; /* in the order of their keys; NULL: not made yet */
    uint32_t *ends; /* where the rows end whose key >> shift is that */
    unsigned shift;
    unsigned scans; /* how often a value was looked for */
};

struct columns_source {
    struct columns_directory directory;
    bool is_there;
    unsigned remade;      /* blocks that were damaged */
    uint32_t sorted;      /* a bit for each column whose values grow from row to row */
    struct block *blocks; /* of each column of each group; bytes are NULL: not read yet */
    struct columns_index indexes[COLUMNS_MOST];
    struct columns_range {
        int64_t minimum, maximum;
        bool has_reals, has_nulls;
    } ranges[COLUMNS_MOST]; /* of the whole table */
};

struct store_columns {
    struct store *store;
    sqlite3 *db;
    unsigned references;
    unsigned holds; /* cursors that are open: the state of the store is that of `hold` */
    sqlite3_stmt *hold, *block, *key;
    sqlite3_stmt *argument; /* what `args` shows of an argument whose value is not in columns */
    bool was_looked;        /* at data_version */
    uint32_t data_version;
    bool are_current; /* false: the plain tables answer */
    /* Combined rows (columns_combine.c): */
    int planning;                      /* enum planning */
    const struct columns_loops *loops; /* of the statement that is planned to combine rows */
    int64_t weight; /* of the current row: for how many rows it is given; else 1 */
    bool counts;    /* count(*) counts them */
    /* Windows (columns_window.c): */
    const struct columns_window *window; /* of the statement that is planned for it */
    int64_t last_window;                 /* number of it */
    struct columns_cursor *in_windows;   /* those that give rows of windows */
    /* Tables made by GROUP BY (columns_derived.c): */
    int64_t last_derived;    /* number of one */
    size_t most_keyed_bytes; /* of one in memory */
    struct columns_source sources[COLUMNS_TABLES];
    struct columns_names names;
    bool has_names;
    struct columns_keys keys;
    bool has_arg_ends; /* arg_set_end has rows */
    int64_t *captures; /* of tracks, by track.id; INT64_MIN: no such track */
    size_t capture_count;
    sqlite3_stmt *thread; /* the capture of a thread */
    struct columns_small tracks;
    size_t kept_bytes;
    size_t index_bytes, most_index_bytes; /* of all indexes; more are not made */
    size_t list_bytes;                    /* of rows in an order, of all cursors */
    uint64_t damaged;                     /* blocks and directories */
};

/* ---- Handles ---- */

/* Returns NULL when memory is short.  */
struct store_columns *columns_new(struct store *store);
void columns_drop(void *columns);

/* Until columns_let_go(), the store does not change.  SQLite's code.  */
int columns_hold(struct store_columns *columns);
void columns_let_go(struct store_columns *columns);

/* ---- Reading ---- */

/* Whether scans that begin may read the table's columns: they are there, and few of their blocks
 * have turned out to be damaged.  */
bool columns_can_read(const struct store_columns *columns, enum columns_table table);

/* Drop all blocks if they take much memory.  Called where nobody looks at one but through a cursor.
 */
void columns_make_room(struct store_columns *columns);
/* The same before memory of that size is allocated for a while.  */
void columns_make_room_for(struct store_columns *columns, size_t bytes);

/* View a block, until blocks are dropped.  SQLite's code.  */
int columns_view(struct store_columns *columns, enum columns_table table, size_t group,
                 unsigned column, const struct block **out);

/* The group that has a row, or an id; directory->count if there is none.  */
size_t columns_group_of_row(const struct columns_directory *directory, int64_t row);
size_t columns_group_of_id(const struct columns_directory *directory, int64_t id);
/* The first group that has an id of at least that; directory->count if there is none.  */
size_t columns_first_group(const struct columns_directory *directory, int64_t id);

/* The first row whose value is at least that, in a column whose values grow; the number of rows if
 * there is none.  *hint is a group where it may be, and becomes the one where it is.  SQLite's
 * code.  */
int columns_lower_bound(struct store_columns *columns, enum columns_table table, unsigned column,
                        int64_t value, size_t *hint, int64_t *out);

/* Load the names, or the captures of tracks, once.  SQLite's code.  */
int columns_load_names(struct store_columns *columns);
int columns_load_captures(struct store_columns *columns);

/* The text of a string; NULL if there is no such string.  It is valid until the last cursor closes,
 * but &columns->keys.last only until the next call.  SQLite's code.  */
int columns_load_key(struct store_columns *columns, int64_t id, const struct columns_text **out);

/* The statements of a connection that is about to close.  */
void columns_finalize(struct store_columns *columns);

void small_release(struct columns_small *small); /* (columns_small.c) */

/* ---- Order (columns_order.c) ---- */

#define KEYS_MOST 4 /* of a query */

/* The columns that rows are sorted by.  */
struct columns_key {
    uint8_t column; /* of the table */
    int8_t text;    /* COLUMNS_CATEGORY or COLUMNS_NAME of the value; -1: the value */
    bool is_id;     /* column means nothing */
    bool is_descending;
};

/* Whether rows can be ordered by that.  */
bool columns_can_order(const struct store_columns *columns, enum columns_table table,
                       const struct columns_key *key);

/* Sort count rows by at most KEYS_MOST keys, the first one first; rows that are equal keep their
 * order.  SQLite's code.  */
int columns_sort(struct store_columns *columns, enum columns_table table, uint32_t *rows,
                 size_t count, const struct columns_key *keys, size_t key_count);

/* All rows of a table by one key, into rows, which has room for them.  It takes less memory: rows
 * are put where the upper bits of their keys belong, and sorted there.  SQLite's code.  */
int columns_sort_all(struct store_columns *columns, enum columns_table table, uint32_t *rows,
                     const struct columns_key *key);

/* The first *count rows (at most that many) in the order of key.  SQLite's code.  */
int columns_first(struct store_columns *columns, enum columns_table table,
                  const struct columns_key *key, uint32_t *rows, size_t *count);

/* The first row of all in the order of key, which is no text; with is_valued, of the rows that are
 * not NULL.  Only blocks are read whose summaries say that they may have it.  *found is false if no
 * row has a value.  SQLite's code.  */
int columns_least(struct store_columns *columns, enum columns_table table,
                  const struct columns_key *key, bool is_valued, uint32_t *out, bool *found);

/* Whether there is an index of the column, or one may be made.  */
bool columns_may_index(const struct store_columns *columns, enum columns_table table,
                       unsigned column);

/* The rows whose column has the value, in their order, from an index that is made once: *out points
 * to *count rows.  Only for columns that columns_can_order() accepts.  SQLite's code.  */
int columns_find(struct store_columns *columns, enum columns_table table, unsigned column,
                 int64_t value, const uint32_t **out, size_t *count);

#endif /* STORE_COLUMNS_READ_H */
