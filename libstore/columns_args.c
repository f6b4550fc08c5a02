/* The rows of `args`: arguments with the texts of their keys.
 *
 * Rows are in the order of their sets.  The view that `args` is in the store shows the sets of
 * arg_set_end after all others, once more: so does this.  */
#include "libstore/columns_table.h"

#include <fxt/fxt.h>

/* ---- Rows ---- */

/* The rows of a set, or of several that follow one another.  SQLite's code.  */
static int narrow(struct columns_cursor *cursor, int64_t low, int64_t high)
{
    struct store_columns *columns = cursor_table(cursor)->columns;
    int code;

    columns_make_room(columns);
    code = columns_lower_bound(columns, COLUMNS_ARG, ARG_SET, low, &cursor->hint, &cursor->from);
    cursor->to = columns->sources[COLUMNS_ARG].directory.rows;
    if (code == SQLITE_OK && high < INT64_MAX)
        code = columns_lower_bound(columns, COLUMNS_ARG, ARG_SET, high + 1, &cursor->hint,
                                   &cursor->to);
    cursor->row = cursor->from;
    return code;
}

/* Begin to read the sets of arg_set_end.  */
static int start_ends(struct columns_cursor *cursor)
{
    int code = SQLITE_OK;

    if (!cursor->ends)
        code = sqlite3_prepare_v2(cursor_table(cursor)->columns->db,
                                  "SELECT arg_set_id, end_arg_set_id FROM main.arg_set_end "
                                  "WHERE arg_set_id BETWEEN ?1 AND ?2 ORDER BY arg_set_id",
                                  -1, &cursor->ends, NULL);
    else
        (void)sqlite3_reset(cursor->ends);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(cursor->ends, 1, cursor->low_set);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(cursor->ends, 2, cursor->high_set);
    cursor->is_in_ends = true;
    return code;
}

/* The next range of rows; *done: there is none.  */
static int next_range(struct columns_cursor *cursor, bool *done)
{
    int code = SQLITE_OK;
    int64_t set;

    *done = !cursor_table(cursor)->columns->has_arg_ends;
    if (*done)
        return SQLITE_OK;
    if (!cursor->is_in_ends)
        code = start_ends(cursor);
    if (code == SQLITE_OK)
        code = sqlite3_step(cursor->ends);
    *done = code == SQLITE_DONE;
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? SQLITE_OK : code;
    cursor->shown_set = sqlite3_column_int64(cursor->ends, 0);
    set = sqlite3_column_int64(cursor->ends, 1);
    return narrow(cursor, set, set);
}

/* From the current row on, the first one whose key is there.  */
static int settle(struct columns_cursor *cursor)
{
    const struct columns_text *key = NULL;
    const struct block *keys;
    bool done = false;
    int code = SQLITE_OK;

    for (; code == SQLITE_OK && !key; cursor->row += !key) {
        cursor->at_end = false;
        code = rows_settle(cursor);
        while (code == SQLITE_OK && cursor->at_end && !done) {
            code = next_range(cursor, &done);
            cursor->at_end = false;
            if (code == SQLITE_OK)
                code = rows_settle(cursor);
        }
        if (code != SQLITE_OK || done)
            break;
        code = cursor_block(cursor, ARG_KEY, &keys);
        if (code == SQLITE_OK)
            code = columns_load_key(cursor_table(cursor)->columns,
                                    block_value(keys, cursor_at(cursor)), &key);
    }
    cursor->at_end = done;
    return code;
}

int args_start(struct columns_cursor *cursor)
{
    int code = narrow(cursor, cursor->low_set, cursor->high_set);

    return code == SQLITE_OK ? settle(cursor) : code;
}

int args_next(struct columns_cursor *cursor)
{
    cursor->row++;
    return settle(cursor);
}

/* A set has at most BLOCK_ROWS rows.  Those of arg_set_end have negative numbers.  */
int64_t args_rowid(const struct columns_cursor *cursor)
{
    if (!cursor->is_in_ends)
        return cursor->row + 1;
    return (int64_t) ~((uint64_t)cursor->shown_set * BLOCK_ROWS +
                       (uint64_t)(cursor->row - cursor->from));
}

/* ---- Values ---- */

/* A column of the current row, none of which but the value can be NULL.  */
static int read_number(struct columns_cursor *cursor, unsigned column, int64_t *out)
{
    const struct block *block;
    int code = cursor_block(cursor, column, &block);

    if (code == SQLITE_OK)
        *out = block_value(block, cursor_at(cursor));
    return code;
}

static bool value_is_null(const struct columns_cursor *cursor)
{
    return block_is_null(&cursor->blocks[ARG_VALUE], cursor_at(cursor));
}

/* What columns do not have, and the forms of reals and blobs, as the view in the store makes them.
 * number is the column of the result.  */
static int result_plain(struct columns_cursor *cursor, sqlite3_context *context, int number)
{
    struct store_columns *columns = cursor_table(cursor)->columns;
    int64_t set = 0, ordinal = 0;
    int code = read_number(cursor, ARG_SET, &set);

    if (code == SQLITE_OK)
        code = read_number(cursor, ARG_ORDINAL, &ordinal);
    if (code == SQLITE_OK && !columns->argument)
        code = sqlite3_prepare_v3(
            columns->db,
            "SELECT CAST(value AS TEXT), CAST(iif(type = 10, hex(value), value) AS TEXT) "
            "FROM main.arg WHERE arg_set_id = ?1 AND ordinal = ?2",
            -1, SQLITE_PREPARE_PERSISTENT, &columns->argument, NULL);
    if (code != SQLITE_OK)
        return code;
    (void)sqlite3_bind_int64(columns->argument, 1, set);
    (void)sqlite3_bind_int64(columns->argument, 2, ordinal);
    code = sqlite3_step(columns->argument);
    if (code == SQLITE_ROW)
        sqlite3_result_value(context, sqlite3_column_value(columns->argument, number));
    (void)sqlite3_reset(columns->argument);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static void result_format(sqlite3_context *context, const char *format, int64_t value)
{
    char text[32];

    (void)sqlite3_snprintf((int)sizeof text, text, format, value);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static int result_display(struct columns_cursor *cursor, sqlite3_context *context, int64_t type,
                          int64_t value)
{
    switch (type) {
    case FXT_ARG_DOUBLE:
    case FXT_ARG_STRING:
    case FXT_ARG_BLOB:
        return result_plain(cursor, context, 1);
    case FXT_ARG_NULL:
    case FXT_ARG_UNKNOWN:
        return SQLITE_OK;
    case FXT_ARG_POINTER:
        result_format(context, "0x%llx", value);
        break;
    case FXT_ARG_BOOL:
        sqlite3_result_text(context, value ? "true" : "false", -1, SQLITE_STATIC);
        break;
    case FXT_ARG_UINT32:
    case FXT_ARG_UINT64:
    case FXT_ARG_KOID:
        result_format(context, "%llu", value);
        break;
    default:
        result_format(context, "%lld", value);
        break;
    }
    return SQLITE_OK;
}

static const char *type_name(int64_t type)
{
    static const char *const names[] = {
        [FXT_ARG_NULL] = "null",     [FXT_ARG_INT32] = "int",       [FXT_ARG_UINT32] = "uint",
        [FXT_ARG_INT64] = "int",     [FXT_ARG_UINT64] = "uint",     [FXT_ARG_DOUBLE] = "real",
        [FXT_ARG_STRING] = "string", [FXT_ARG_POINTER] = "pointer", [FXT_ARG_KOID] = "uint",
        [FXT_ARG_BOOL] = "bool",     [FXT_ARG_BLOB] = "blob",       [FXT_ARG_UNKNOWN] = "null",
    };

    return names[type >= 0 && type <= FXT_ARG_UNKNOWN ? type : FXT_ARG_UNKNOWN];
}

static int result_key(struct columns_cursor *cursor, sqlite3_context *context)
{
    struct store_columns *columns = cursor_table(cursor)->columns;
    const struct columns_text *key = NULL;
    int64_t id = 0;
    int code = read_number(cursor, ARG_KEY, &id);

    if (code == SQLITE_OK)
        code = columns_load_key(columns, id, &key);
    if (code == SQLITE_OK && key)
        sqlite3_result_text(context, key->bytes, (int)key->length,
                            key == &columns->keys.last ? SQLITE_TRANSIENT : SQLITE_STATIC);
    return code;
}

static int result_value(struct columns_cursor *cursor, sqlite3_context *context,
                        enum served_value is)
{
    int64_t type = 0, value = 0;
    double real;
    int code = read_number(cursor, ARG_TYPE, &type);

    if (code == SQLITE_OK)
        code = read_number(cursor, ARG_VALUE, &value);
    if (code != SQLITE_OK)
        return code;
    if (is == SERVED_DISPLAY_VALUE)
        return result_display(cursor, context, type, value);
    if (is == SERVED_STRING_VALUE)
        return type == FXT_ARG_STRING ? result_plain(cursor, context, 0) : SQLITE_OK;
    if (value_is_null(cursor))
        return SQLITE_OK;
    if (is == SERVED_REAL_VALUE && type == FXT_ARG_DOUBLE) {
        memcpy(&real, &value, sizeof real);
        sqlite3_result_double(context, real);
    } else if (is == SERVED_INT_VALUE && type != FXT_ARG_DOUBLE) {
        sqlite3_result_int64(context, value);
    }
    return SQLITE_OK;
}

int args_column(struct columns_cursor *cursor, sqlite3_context *context,
                const struct served_column *is)
{
    int64_t number = cursor->shown_set;
    int code = SQLITE_OK;

    switch (is->value) {
    case SERVED_SET:
        if (!cursor->is_in_ends)
            code = read_number(cursor, ARG_SET, &number);
        if (code == SQLITE_OK)
            sqlite3_result_int64(context, number);
        return code;
    case SERVED_KEY:
        return result_key(cursor, context);
    case SERVED_VALUE_TYPE:
        code = read_number(cursor, ARG_TYPE, &number);
        if (code == SQLITE_OK)
            sqlite3_result_text(context, type_name(number), -1, SQLITE_STATIC);
        return code;
    default:
        return result_value(cursor, context, is->value);
    }
}
