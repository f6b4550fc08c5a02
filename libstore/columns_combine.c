/* Rows that are given in place of others.
 *
 * The others of a run are at first only added up. What is given for them are rows of pieces: the
 * first one has the smallest value of a column, the second one the largest, and as many as are
 * needed have the rest of the sum, in pieces between the two; a column for which fewer are needed
 * is NULL in the others, which sum(), min() and max() skip.  So each of these functions can be used
 * on a column, together with the others.  */
#include "libstore/columns_table.h"

#include <stdlib.h>

__extension__ typedef __int128 int128;

struct number {
    bool is_real;
    int64_t value; /* or the bits of a real */
};

/* Where values are read.  */
enum source { FROM_BLOCK, FROM_ID, FROM_NOTHING, FROM_STATES };

struct combined_column {
    const struct served_column *is;
    enum source source;
    uint8_t uses;
    bool has_key; /* of the first row of the run */
    struct number key;
    int64_t rank; /* of a text */

    /* Of the others: */
    uint64_t values; /* that are not NULL */
    int128 sum;
    struct number least, most;

    /* What is given for them: */
    unsigned extremes;       /* rows with least and most, before those with pieces of the sum */
    uint64_t pieces, longer; /* that many pieces are longer by 1 */
    int64_t piece;
};

struct combined {
    bool is_on; /* rows are combined, as far as they can be */
    bool at_end, is_made;
    struct combined_column columns[SERVED_MOST]; /* first those that are equal in a run */
    unsigned count, keys;
    uint64_t others;     /* of the run, without its first row */
    uint64_t rows, made; /* that are given for them; the current one */
};

/* ---- Which uses are possible ---- */

static bool can_be_equal(enum served_value value)
{
    return value == SERVED_INTEGER || value == SERVED_TEXT || value == SERVED_CATEGORY ||
           value == SERVED_NAME || value == SERVED_TYPE || value == SERVED_NUMBER ||
           value == SERVED_STATE_INTEGER || value == SERVED_STATE_CPU || value == SERVED_STATE;
}

static bool can_be_added(enum served_value value)
{
    return value == SERVED_INTEGER || value == SERVED_ID || value == SERVED_STATE_INTEGER ||
           value == SERVED_STATE_CPU;
}

bool combined_allows(const struct columns_vtab *table, const uint8_t uses[SERVED_MOST])
{
    for (unsigned i = 0; i < table->served->count; i++) {
        enum served_value value = table->served->columns[i].value;

        if (uses[i] == 0)
            continue;
        if (uses[i] == USE_EQUAL
                ? !can_be_equal(value)
                : (uses[i] & USE_EQUAL) ||
                      (!can_be_added(value) && (value != SERVED_NUMBER || (uses[i] & USE_SUM))))
            return false;
    }
    return true;
}

/* Whether sums of a column are those that SQLite finds row by row.  It reports an overflow if the
 * sum of some first rows is too large, which the sum of all may not be if it has both signs.  */
static bool adds_up(const struct columns_source *source, uint8_t column)
{
    const struct columns_range *range = &source->ranges[column];
    int64_t rows = source->directory.rows, product;

    return !range->has_reals &&
           (range->minimum >= 0 || (!__builtin_mul_overflow(range->minimum, rows, &product) &&
                                    !__builtin_mul_overflow(range->maximum, rows, &product)));
}

static bool all_add_up(const struct columns_cursor *cursor)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const struct columns_source *sources = table->columns->sources;

    for (unsigned i = 0; i < cursor->combined->count; i++) {
        const struct combined_column *column = &cursor->combined->columns[i];
        uint8_t number = column->is->column;

        if (!(column->uses & USE_SUM) || column->is->value == SERVED_ID)
            continue;
        if (!adds_up(&sources[table->served->table], number))
            return false;
        /* The thread follows the CPU in one of the parts of thread states.  */
        if (table->served->has_states && !adds_up(&sources[COLUMNS_WAIT], number < 2 ? number : 2))
            return false;
    }
    return true;
}

/* ---- Values ---- */

static enum source source_of(const struct columns_cursor *cursor, const struct served_column *is)
{
    if (cursor_table(cursor)->served->has_states)
        return FROM_STATES;
    if (is->value == SERVED_ID)
        return FROM_ID;
    return is->value == SERVED_TYPE ? FROM_NOTHING : FROM_BLOCK;
}

/* A value of the cursor's row; *has is false if it is NULL.  */
static inline int read_value(struct columns_cursor *cursor, const struct combined_column *column,
                             bool *has, struct number *out)
{
    const struct block *block;
    unsigned at = cursor_at(cursor);
    int code;

    *out = (struct number){ .is_real = false };
    *has = true;
    if (column->source == FROM_STATES)
        return states_value(cursor, column->is, has, &out->value);
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

/* Names of several ids may be the same.  */
static inline int64_t rank_of(const struct columns_cursor *cursor, enum served_value value,
                              int64_t id)
{
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    int which = value == SERVED_NAME ? COLUMNS_NAME : COLUMNS_CATEGORY;

    if (value != SERVED_NAME && value != SERVED_CATEGORY)
        return id;
    return id > 0 && id <= (int64_t)names->count ? names->texts[which][id].rank : 0;
}

static long double as_long_double(const struct number *number)
{
    double real;

    if (!number->is_real)
        return (long double)number->value;
    memcpy(&real, &number->value, sizeof real);
    return (long double)real;
}

/* As SQLite compares; a long double has the bits of both types.  */
static inline bool is_less(const struct number *a, const struct number *b)
{
    if (!a->is_real && !b->is_real)
        return a->value < b->value;
    return as_long_double(a) < as_long_double(b);
}

/* ---- A run of rows ---- */

/* Begin a run with the current row.  */
static int begin_run(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->others = 0;
    for (unsigned i = 0; i < combined->keys; i++) {
        struct combined_column *column = &combined->columns[i];
        int code = read_value(cursor, column, &column->has_key, &column->key);

        if (code != SQLITE_OK)
            return code;
        column->rank = rank_of(cursor, column->is->value, column->key.value);
    }
    for (unsigned i = combined->keys; i < combined->count; i++) {
        combined->columns[i].values = 0;
        combined->columns[i].sum = 0;
    }
    return SQLITE_OK;
}

/* Whether the current row continues the run.  */
static inline int continues(struct columns_cursor *cursor, bool *out)
{
    const struct combined *combined = cursor->combined;

    *out = true;
    for (unsigned i = 0; i < combined->keys && *out; i++) {
        const struct combined_column *column = &combined->columns[i];
        struct number number;
        bool has;
        int code = read_value(cursor, column, &has, &number);

        if (code != SQLITE_OK)
            return code;
        *out = has == column->has_key && number.is_real == column->key.is_real &&
               (number.value == column->key.value ||
                rank_of(cursor, column->is->value, number.value) == column->rank);
    }
    return SQLITE_OK;
}

static inline void add_extremes(struct combined_column *column, const struct number *number)
{
    if (column->values == 0 || is_less(number, &column->least))
        column->least = *number;
    if (column->values == 0 || is_less(&column->most, number))
        column->most = *number;
}

/* Add the current row to the run.  */
static inline int add_row(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    for (unsigned i = combined->keys; i < combined->count; i++) {
        struct combined_column *column = &combined->columns[i];
        struct number number;
        bool has;
        int code = read_value(cursor, column, &has, &number);

        if (code != SQLITE_OK)
            return code;
        if (!has)
            continue;
        if (column->uses & USE_SUM)
            column->sum += number.value;
        if (column->uses != USE_SUM)
            add_extremes(column, &number);
        column->values++;
    }
    combined->others++;
    return SQLITE_OK;
}

/* Go on to the first row that is not of the run.  */
static int read_run(struct columns_cursor *cursor)
{
    bool goes_on = true;
    int code = rows_next(cursor);

    while (code == SQLITE_OK && !cursor->at_end) {
        code = continues(cursor, &goes_on);
        if (code == SQLITE_OK && !goes_on)
            break;
        if (code == SQLITE_OK)
            code = add_row(cursor);
        if (code == SQLITE_OK)
            code = rows_next(cursor);
    }
    return code;
}

/* ---- The rows in place of others ---- */

/* Divide a number into the fewest pieces that are between 0 and longest, which has its sign.  */
static void divide(struct combined_column *column, int128 number, int64_t longest)
{
    int128 rest;

    column->pieces = column->longer = 0;
    column->piece = 0;
    if (number == 0)
        return;
    column->pieces = (uint64_t)((number + longest - (number > 0 ? 1 : -1)) / longest);
    column->piece = (int64_t)(number / (int128)column->pieces);
    rest = number % (int128)column->pieces;
    column->longer = (uint64_t)(rest < 0 ? -rest : rest);
}

/* What is given for a column.  If extremes are wanted, too, no piece is below the smallest or above
 * the largest value; there were as many values as there are pieces, or more, so it is none of them
 * alone that the sum is made of.  */
static void plan_rows(struct combined_column *column)
{
    int128 rest;

    column->extremes = 0;
    column->pieces = 0;
    if (column->values == 0)
        return;
    if (column->uses == USE_SUM) {
        divide(column, column->sum, column->sum > 0 ? INT64_MAX : INT64_MIN);
        column->pieces += column->pieces == 0;
        return;
    }
    column->extremes = column->values > 1 && column->uses != USE_LEAST && column->uses != USE_MOST
                           ? 2
                           : 1;
    if (!(column->uses & USE_SUM) || column->values < 3)
        return;
    rest = column->sum - column->least.value - column->most.value;
    divide(column, rest, rest > 0 ? column->most.value : column->least.value);
}

static void make_rows(struct combined *combined)
{
    combined->rows = combined->others > 0;
    combined->made = 0;
    for (unsigned i = combined->keys; i < combined->count && combined->others > 0; i++) {
        struct combined_column *column = &combined->columns[i];

        plan_rows(column);
        if (column->extremes + column->pieces > combined->rows)
            combined->rows = column->extremes + column->pieces;
    }
}

/* The value of a column in the current one of these rows; false: NULL.  */
static bool made_value(const struct combined *combined, const struct combined_column *column,
                       struct number *out)
{
    uint64_t made = combined->made, piece = made - column->extremes;

    if (made < column->extremes) {
        *out = made == 1 || column->uses == USE_MOST ? column->most : column->least;
        return true;
    }
    *out = (struct number){ .value = column->piece };
    if (piece < column->longer)
        out->value += column->piece > 0 ? 1 : -1;
    return piece < column->pieces;
}

/* ---- From row to row ---- */

static void show(struct columns_cursor *cursor, bool is_made)
{
    struct combined *combined = cursor->combined;
    struct store_columns *columns = cursor_table(cursor)->columns;

    combined->is_made = is_made;
    columns->weight = 1;
    if (is_made)
        columns->weight = combined->made == 0 ? (int64_t)combined->others : 0;
}

/* Show the current row of the table as the first one of a run.  */
static int show_first(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->at_end = cursor->at_end;
    show(cursor, false);
    return combined->is_on && !combined->at_end ? begin_run(cursor) : SQLITE_OK;
}

int combined_next(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;
    int code;

    if (!combined->is_on) {
        code = rows_next(cursor);
        combined->at_end = cursor->at_end;
        return code;
    }
    if (combined->is_made) {
        combined->made++;
    } else {
        code = read_run(cursor);
        if (code != SQLITE_OK)
            return code;
        make_rows(combined);
    }
    if (combined->made >= combined->rows)
        return show_first(cursor);
    show(cursor, true);
    return SQLITE_OK;
}

bool combined_at_end(const struct columns_cursor *cursor)
{
    return cursor->combined->at_end;
}

bool combined_is_made(const struct columns_cursor *cursor)
{
    return cursor->combined->is_made;
}

static void result_key(const struct columns_cursor *cursor, sqlite3_context *context,
                       const struct combined_column *column)
{
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    double real;

    if (!column->has_key)
        return;
    switch (column->is->value) {
    case SERVED_NAME:
        columns_result_name(context, names, COLUMNS_NAME, column->key.value);
        break;
    case SERVED_CATEGORY:
        columns_result_name(context, names, COLUMNS_CATEGORY, column->key.value);
        break;
    case SERVED_TEXT:
    case SERVED_STATE:
        columns_result_short_text(context, column->key.value);
        break;
    case SERVED_TYPE:
        sqlite3_result_text(context, "internal_slice", 14, SQLITE_STATIC);
        break;
    default:
        memcpy(&real, &column->key.value, sizeof real);
        if (column->key.is_real)
            sqlite3_result_double(context, real);
        else
            sqlite3_result_int64(context, column->key.value);
        break;
    }
}

int combined_column(struct columns_cursor *cursor, sqlite3_context *context, int number)
{
    const struct combined *combined = cursor->combined;
    const struct served_column *is = &cursor_table(cursor)->served->columns[number];
    struct number value;
    double real;

    for (unsigned i = 0; i < combined->count; i++) {
        const struct combined_column *column = &combined->columns[i];

        if (column->is != is)
            continue;
        if (column->uses == USE_EQUAL) {
            result_key(cursor, context, column);
        } else if (made_value(combined, column, &value)) {
            memcpy(&real, &value.value, sizeof real);
            if (value.is_real)
                sqlite3_result_double(context, real);
            else
                sqlite3_result_int64(context, value.value);
        }
        return SQLITE_OK;
    }
    return SQLITE_ERROR; /* the program reads what its plan does not allow */
}

/* ---- Beginning ---- */

/* Columns that are equal in a run come first.  */
static void read_uses(struct columns_cursor *cursor, const char *text)
{
    struct combined *combined = cursor->combined;
    const struct served_table *served = cursor_table(cursor)->served;

    text = strchr(text, PLAN_USES) + 1;
    combined->count = combined->keys = 0;
    for (int turn = 0; turn < 2; turn++)
        for (const char *at = text; *at; at += 2) {
            uint8_t uses = (uint8_t)(at[0] - '@');
            const struct served_column *is = &served->columns[at[1] - 'A'];

            if ((uses == USE_EQUAL) != (turn == 0))
                continue;
            combined->columns[combined->count++] =
                (struct combined_column){ .is = is, .source = source_of(cursor, is), .uses = uses };
            combined->keys += turn == 0;
        }
}

int combined_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
                   sqlite3_value **argv)
{
    const struct columns_vtab *table = cursor_table(cursor);
    int code;

    if (!cursor->combined)
        cursor->combined = calloc(1, sizeof *cursor->combined);
    if (!cursor->combined)
        return SQLITE_NOMEM;
    code = rows_start(cursor, plan, text, argc, argv);
    if (code != SQLITE_OK)
        return code;
    read_uses(cursor, text);
    cursor->combined->is_on = plan != PLAN_EXTREMES && !cursor->plain &&
                              (cursor->integers || table->served->has_states) && all_add_up(cursor);
    return show_first(cursor);
}

void combined_stop(struct columns_cursor *cursor)
{
    cursor_table(cursor)->columns->weight = 1;
    free(cursor->combined);
    cursor->combined = NULL;
}

void combined_release(struct columns_cursor *cursor)
{
    if (cursor->combined)
        combined_stop(cursor);
}

/* ---- Counting rows ---- */

static void count_row(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t *count = sqlite3_aggregate_context(context, sizeof *count);

    (void)argc;
    (void)argv;
    if (count)
        *count += ((const struct store_columns *)sqlite3_user_data(context))->weight;
    else
        sqlite3_result_error_nomem(context);
}

static void count_less(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t *count = sqlite3_aggregate_context(context, sizeof *count);

    (void)argc;
    (void)argv;
    if (count)
        --*count;
}

static void result_count(sqlite3_context *context)
{
    const int64_t *count = sqlite3_aggregate_context(context, 0);

    sqlite3_result_int64(context, count ? *count : 0);
}

bool combined_count(struct store_columns *columns)
{
    if (columns->counts)
        return true;
    columns->references++;
    /* SQLite drops the reference if it fails.  */
    columns->counts = sqlite3_create_window_function(
                          columns->db, "count", 0,
                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, columns, count_row,
                          result_count, result_count, count_less, columns_drop) == SQLITE_OK;
    return columns->counts;
}
