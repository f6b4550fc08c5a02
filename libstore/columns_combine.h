/* columns_combine.h - rows that are given in place of others.  Private to libstore.  */
#ifndef STORE_COLUMNS_COMBINE_H
#define STORE_COLUMNS_COMBINE_H

#include "libstore/columns_table.h"

__extension__ typedef __int128 combined_sum;

struct combined_number {
    bool is_real;
    int64_t value; /* or the bits of a real */
};

/* Values of rows that are not NULL.  */
struct combined_values {
    uint64_t count;
    combined_sum sum;
    struct combined_number least, most;
};

/* Where the values of a column come from.  */
enum combined_source { FROM_BLOCK, FROM_ID, FROM_NOTHING };

struct combined_column {
    const struct served_column *is;
    enum combined_source source;
    uint8_t uses;
    bool has_key; /* of the first row of the run */
    struct combined_number key;
    int64_t rank; /* of a text */

    struct combined_values others; /* of the run, without its first row */

    /* What is given for them: */
    unsigned extremes;       /* rows with least and most, before those with pieces of the sum */
    uint64_t pieces, longer; /* that many pieces are longer by 1 */
    int64_t piece;
};

struct combined {
    bool is_on; /* rows are combined, as far as they can be */
    bool at_end;
    struct combined_column columns[SERVED_MOST]; /* first those that are equal in a run */
    unsigned count, keys;
    uint64_t others; /* rows of the run, without its first one */
    unsigned runs;   /* the first ones, and their rows: whether runs are long enough */
    uint64_t runs_rows;
    bool are_short;
    uint64_t rows, made;   /* that are given for them; the current one */
    char *plan;            /* the text that `columns` are of */
    unsigned lookups;      /* how often rows were looked up by that plan */
    struct totals *totals; /* runs are read from these; NULL: from rows that come in order */
    uint64_t key;          /* of the run, in totals */
    int step;              /* to the next key: 1 or -1; 0: the run is the only one */
};

/* ---- Reading ---- */

/* A value of the cursor's row; *has is false if it is NULL.  SQLite's code.  */
static inline int combined_read(struct columns_cursor *cursor, const struct combined_column *column,
                                bool *has, struct combined_number *out)
{
    const struct block *block;
    unsigned at = cursor_at(cursor);
    int code;

    *out = (struct combined_number){ .is_real = false };
    *has = true;
    if (column->source != FROM_BLOCK) {
        out->value = column->source == FROM_ID ? columns_id_of(cursor) : 0;
        return SQLITE_OK;
    }
    code = cursor_block(cursor, column->is->column, &block);
    if (code != SQLITE_OK)
        return code;
    *has = !block_is_null(block, at);
    if (!*has)
        return SQLITE_OK;
    out->value = block_value(block, at);
    out->is_real = (block->flags & (BLOCK_HAS_REALS | BLOCK_ALL_REAL)) && block_is_real(block, at);
    return SQLITE_OK;
}

static inline bool combined_is_text(const struct combined_column *column)
{
    return column->is->value == SERVED_NAME || column->is->value == SERVED_CATEGORY;
}

/* Names of several ids may be the same.  */
static inline int64_t combined_rank(const struct columns_cursor *cursor,
                                    const struct combined_column *column, int64_t id)
{
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    int which = column->is->value == SERVED_NAME ? COLUMNS_NAME : COLUMNS_CATEGORY;

    if (!combined_is_text(column))
        return id;
    return id > 0 && id <= (int64_t)names->count ? names->texts[which][id].rank : 0;
}

/* ---- Adding up ---- */

static inline long double combined_number_value(const struct combined_number *number)
{
    double real;

    if (!number->is_real)
        return (long double)number->value;
    memcpy(&real, &number->value, sizeof real);
    return (long double)real;
}

/* As SQLite compares; a long double has the bits of both types.  */
static inline bool combined_is_less(const struct combined_number *a,
                                    const struct combined_number *b)
{
    if (!a->is_real && !b->is_real)
        return a->value < b->value;
    return combined_number_value(a) < combined_number_value(b);
}

static inline void combined_add(struct combined_values *values, uint8_t uses,
                                const struct combined_number *number)
{
    if (uses & USE_SUM)
        values->sum += number->value;
    if (uses != USE_SUM) {
        if (values->count == 0 || combined_is_less(number, &values->least))
            values->least = *number;
        if (values->count == 0 || combined_is_less(&values->most, number))
            values->most = *number;
    }
    values->count++;
}

/* Whether the sum of so many values of that range is the one that SQLite finds row by row.  */
bool combined_adds_up(const struct columns_range *range, int64_t rows);

/* ---- Totals (columns_totals.c) ---- */

/* How many rows from the current one on are in its group, and all wanted.  */
static inline unsigned combined_ahead(const struct columns_cursor *cursor)
{
    return cursor->step > 0 && cursor->left > 0 && cursor->left < BLOCK_ROWS
               ? (unsigned)cursor->left + 1
               : 1;
}

/* Add the values of these rows, and make the last of them the current one.  Those of row i and
 * column j are added to values[count * places[i] + j].  The table is one of blocks.  SQLite's
 * code.  */
int combined_add_ahead(struct columns_cursor *cursor, const struct combined_column *columns,
                       unsigned count, struct combined_values *values, const uint32_t *places);

/* The rows of a scan by the values of one column.  The key of a value is its distance from the
 * smallest one, and 1 more; that of a text is its rank; NULL has key 0.  */
struct totals {
    struct combined_column by;
    int64_t minimum;
    uint64_t keys;
    unsigned columns;
    struct total {
        uint32_t first; /* row */
        uint32_t rows;
    } * groups;                     /* by key */
    struct combined_values *values; /* of each column of each group, without its first row */
};

/* Add up the cursor's rows, from the current one on, for the columns of cursor->combined.  *out is
 * NULL if there may be too many values.  SQLite's code.  */
int totals_make(struct columns_cursor *cursor, const struct combined_column *by,
                struct totals **out);
void totals_release(struct totals *totals); /* accepts NULL */

/* From a key on, by steps of 1 or -1, the first one that has rows; false: there is none.  */
bool totals_seek(const struct totals *totals, uint64_t *key, int step);

/* The key of a value; false: no row has it.  */
bool totals_find(const struct totals *totals, int64_t value, uint64_t *key);

#endif /* STORE_COLUMNS_COMBINE_H */
