/* The virtual tables.  */
#include "libstore/columns_tests.h"
#include "libstore/columns_window.h"

#include <stdlib.h>

#define INTEGER(name, column)                   \
    {                                           \
        name, "INTEGER", SERVED_INTEGER, column \
    }
/* As in the plain table, no row is NULL: then SQLite asks for the order in which min() comes first.
 */
#define WHOLE(name, column)                              \
    {                                                    \
        name, "INTEGER NOT NULL", SERVED_INTEGER, column \
    }
#define ID(name)                               \
    {                                          \
        name, "INTEGER NOT NULL", SERVED_ID, 0 \
    }

#define TEXT(name, column)                \
    {                                     \
        name, "TEXT", SERVED_TEXT, column \
    }

const struct served_table served_tables[] = {
    { .name = "slice",
      .table = COLUMNS_SLICE,
      .has_names = true,
      .count = 14,
      .columns = { ID("id"),
                   WHOLE("ts", 0),
                   WHOLE("dur", 1),
                   WHOLE("track_id", 2),
                   { "category", "TEXT", SERVED_CATEGORY, 3 },
                   { "name", "TEXT", SERVED_NAME, 3 },
                   WHOLE("depth", 4),
                   INTEGER("parent_id", 5),
                   INTEGER("arg_set_id", 6),
                   { "type", "TEXT", SERVED_TYPE, 0 },
                   ID("slice_id"),
                   { "cat", "TEXT", SERVED_CATEGORY, 3 },
                   INTEGER("async_id", 8),
                   { "capture_id", "INTEGER", SERVED_CAPTURE, 2 } } },
    { .name = "slice_data",
      .table = COLUMNS_SLICE,
      .count = 11,
      .columns = { ID("id"), WHOLE("ts", 0), WHOLE("dur", 1), WHOLE("track_id", 2),
                   WHOLE("name_id", 3), WHOLE("depth", 4), INTEGER("parent_id", 5),
                   INTEGER("arg_set_id", 6), WHOLE("instant", 7), INTEGER("async_id", 8),
                   INTEGER("scope", 9) } },
    { .name = "counter",
      .table = COLUMNS_COUNTER,
      .count = 4,
      .columns = { ID("id"),
                   WHOLE("ts", 0),
                   WHOLE("track_id", 1),
                   { "value", "", SERVED_NUMBER, 2 } } },
    { .name = "sched_slice",
      .table = COLUMNS_SCHED,
      .count = 7,
      .columns = { ID("id"), WHOLE("ts", 0), WHOLE("dur", 1), WHOLE("cpu", 2), WHOLE("utid", 3),
                   TEXT("end_state", 4), INTEGER("priority", 5) } },
    { .name = "thread_wait",
      .table = COLUMNS_WAIT,
      .count = 6,
      .columns = { ID("id"), WHOLE("ts", 0), WHOLE("dur", 1), WHOLE("utid", 2), TEXT("state", 3),
                   INTEGER("waker_utid", 4) } },
    { .name = "cpu_sample",
      .table = COLUMNS_SAMPLE,
      .count = 7,
      .columns = { ID("id"), WHOLE("ts", 0), INTEGER("cpu", 1), WHOLE("utid", 2),
                   WHOLE("callsite_id", 3), INTEGER("weight", 4), WHOLE("sample_type_id", 5) } },
    { .name = "args",
      .table = COLUMNS_ARG,
      .has_args = true,
      .count = 8,
      .columns = { { "arg_set_id", "INTEGER", SERVED_SET, ARG_SET },
                   { "key", "TEXT", SERVED_KEY, ARG_KEY },
                   { "flat_key", "TEXT", SERVED_KEY, ARG_KEY },
                   { "int_value", "INTEGER", SERVED_INT_VALUE, ARG_VALUE },
                   { "string_value", "TEXT", SERVED_STRING_VALUE, ARG_VALUE },
                   { "real_value", "REAL", SERVED_REAL_VALUE, ARG_VALUE },
                   { "value_type", "TEXT", SERVED_VALUE_TYPE, ARG_TYPE },
                   { "display_value", "TEXT", SERVED_DISPLAY_VALUE, ARG_VALUE } } },
    { .name = "thread_state",
      .table = COLUMNS_SCHED,
      .has_states = true,
      .count = 8,
      .columns = { { "id", "INTEGER", SERVED_STATE_ID, 0 },
                   { "ts", "INTEGER", SERVED_STATE_INTEGER, 0 },
                   { "dur", "INTEGER", SERVED_STATE_INTEGER, 1 },
                   { "cpu", "INTEGER", SERVED_STATE_CPU, 2 },
                   { "utid", "INTEGER", SERVED_STATE_INTEGER, 3 },
                   { "state", "TEXT", SERVED_STATE, 0 },
                   { "waker_utid", "INTEGER", SERVED_WAKER, 0 },
                   { "capture_id", "INTEGER", SERVED_THREAD_CAPTURE, 0 } } },
    { .name = "track",
      .table = COLUMNS_TABLES,
      .is_small = true,
      .count = 8,
      .columns = { ID("id"), WHOLE("capture_id", 1), TEXT("type", 2), TEXT("name", 3),
                   TEXT("category", 4), INTEGER("upid", 5), INTEGER("utid", 6),
                   INTEGER("cookie", 7) } },
};
const unsigned served_table_count = sizeof served_tables / sizeof *served_tables;

/* ---- Connecting ---- */

static const struct served_table *find_served(const char *name)
{
    for (unsigned i = 0; i < served_table_count; i++)
        if (strcmp(served_tables[i].name, name) == 0)
            return &served_tables[i];
    return NULL;
}

static char *declaration_of(const struct served_table *served)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "CREATE TABLE x(");
    for (unsigned i = 0; i < served->count; i++)
        sqlite3_str_appendf(sql, "%s\"%w\" %s", i > 0 ? ", " : "", served->columns[i].name,
                            served->columns[i].type);
    sqlite3_str_appendchar(sql, 1, ')');
    return sqlite3_str_finish(sql);
}

static unsigned integers_of(const struct served_table *served)
{
    unsigned integers = 0;

    for (unsigned i = 0; i < served->count; i++)
        if (!served->has_args && !served->has_states && !served->is_small &&
            served->columns[i].value == SERVED_INTEGER)
            integers |= 1u << i;
    return integers;
}

/* The tables that thread states are of; none for another table.  They live as long as it does.  */
static struct columns_vtab *make_parts(const struct served_table *served,
                                       struct store_columns *columns)
{
    struct columns_vtab *parts = calloc(STATES_PARTS, sizeof *parts);

    if (!parts || !served->has_states)
        return parts;
    parts[STATES_RUN] = (struct columns_vtab){ .columns = columns,
                                               .served = find_served("sched_slice") };
    parts[STATES_WAIT] = (struct columns_vtab){ .columns = columns,
                                                .served = find_served("thread_wait") };
    for (unsigned i = 0; i < STATES_PARTS; i++)
        parts[i].integers = integers_of(parts[i].served);
    return parts;
}

static int connect_table(sqlite3 *db, void *context, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **error)
{
    const struct served_table *served = find_served(argv[2]);
    struct columns_vtab *table, *parts;
    char *declaration;
    int code;

    (void)argc;
    if (!served) {
        *error = sqlite3_mprintf("there are no columns of %s", argv[2]);
        return SQLITE_ERROR;
    }
    table = calloc(1, sizeof *table);
    parts = make_parts(served, context);
    declaration = declaration_of(served);
    code = table && parts && declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
    sqlite3_free(declaration);
    if (code != SQLITE_OK) {
        free(parts);
        free(table);
        return code;
    }
    (void)sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    table->columns = context;
    table->columns->references++;
    table->served = served;
    table->parts = parts;
    table->integers = integers_of(served);
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
    struct columns_vtab *table = (struct columns_vtab *)base;

    columns_drop(table->columns);
    free(table->parts);
    free(table);
    return SQLITE_OK;
}

/* ---- Cursors ---- */

int columns_open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct store_columns *columns = ((struct columns_vtab *)base)->columns;
    struct columns_cursor *cursor = calloc(1, sizeof *cursor);
    int code = cursor ? columns_hold(columns) : SQLITE_NOMEM;

    if (code != SQLITE_OK) {
        free(cursor);
        return code;
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

int columns_close_cursor(sqlite3_vtab_cursor *base)
{
    struct columns_cursor *cursor = (struct columns_cursor *)base;
    struct store_columns *columns = cursor_table(cursor)->columns;

    combined_release(cursor);
    tests_release(cursor);
    window_leave(cursor);
    rows_release(cursor);
    states_release(cursor);
    (void)sqlite3_finalize(cursor->ends);
    free(cursor);
    columns_let_go(columns);
    return SQLITE_OK;
}

int columns_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                   sqlite3_value **argv)
{
    struct columns_cursor *cursor = (struct columns_cursor *)base;
    int code;

    if (plan == PLAN_ID && rows_may_start_id(cursor, argv[0]))
        return rows_start_id(cursor, sqlite3_value_int64(argv[0]));
    if (plan != PLAN_ID && strchr(text, PLAN_USES) && !cursor_table(cursor)->served->has_states)
        return combined_start(cursor, plan, text, argc, argv);
    if (cursor->combined)
        combined_stop(cursor);
    code = tests_start(cursor, text);
    if (code != SQLITE_OK)
        return code;
    return plan == PLAN_WINDOW ? window_start(cursor, text, argc, argv)
                               : rows_start(cursor, plan, text, argc, argv);
}

int columns_next(sqlite3_vtab_cursor *base)
{
    struct columns_cursor *cursor = (struct columns_cursor *)base;

    return cursor->combined ? combined_next(cursor) : rows_next(cursor);
}

int columns_at_end(sqlite3_vtab_cursor *base)
{
    const struct columns_cursor *cursor = (const struct columns_cursor *)base;

    return cursor->combined ? combined_at_end(cursor) : cursor->at_end;
}

int64_t columns_id_of(const struct columns_cursor *cursor)
{
    return cursor->first_id + (cursor->row - cursor->first);
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct columns_cursor *cursor = (const struct columns_cursor *)base;

    const struct served_table *served = cursor_table(cursor)->served;

    if (cursor->integers)
        *out = columns_id_of(cursor);
    else if (cursor->plain)
        *out = served->has_args ? cursor->row : sqlite3_column_int64(cursor->plain, 0);
    else if (served->has_args)
        *out = args_rowid(cursor);
    else if (served->is_small)
        *out = small_rowid(cursor);
    else
        *out = states_rowid(cursor);
    return SQLITE_OK;
}

/* ---- Values ---- */

static void result_number(sqlite3_context *context, const struct block *block, unsigned at)
{
    int64_t value = block_value(block, at);
    double real;

    if (!block_is_real(block, at)) {
        sqlite3_result_int64(context, value);
        return;
    }
    memcpy(&real, &value, sizeof real);
    sqlite3_result_double(context, real);
}

void columns_result_short_text(sqlite3_context *context, int64_t value)
{
    char text[BLOCK_TEXT_BYTES];
    unsigned length = block_number_text(value, text);

    sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
}

/* Names outlive the statement: they change only while no cursor is open.  */
void columns_result_name(sqlite3_context *context, const struct columns_names *names, int which,
                         int64_t id)
{
    if (id > 0 && id <= (int64_t)names->count)
        sqlite3_result_text(context, names->texts[which][id].bytes,
                            (int)names->texts[which][id].length, SQLITE_STATIC);
}

static int result_capture(sqlite3_context *context, struct store_columns *columns, int64_t track)
{
    int code = columns_load_captures(columns);

    if (code == SQLITE_OK && track >= 0 && track < (int64_t)columns->capture_count &&
        columns->captures[track] != INT64_MIN)
        sqlite3_result_int64(context, columns->captures[track]);
    return code;
}

static int result_other(sqlite3_context *context, struct store_columns *columns,
                        const struct served_column *is, const struct block *block, unsigned at)
{
    int64_t value = block_value(block, at);

    switch (is->value) {
    case SERVED_NUMBER:
        result_number(context, block, at);
        break;
    case SERVED_TEXT:
        columns_result_short_text(context, value);
        break;
    case SERVED_CATEGORY:
        columns_result_name(context, &columns->names, COLUMNS_CATEGORY, value);
        break;
    case SERVED_CAPTURE:
        return result_capture(context, columns, value);
    default:
        break;
    }
    return SQLITE_OK;
}

/* A column of a row of a block, but its id.  */
static int result_of_block(struct columns_cursor *cursor, sqlite3_context *context,
                           const struct served_column *is)
{
    struct store_columns *columns = cursor_table(cursor)->columns;
    const struct block *block;
    unsigned at = cursor_at(cursor);
    int code = cursor_block(cursor, is->column, &block);

    if (code != SQLITE_OK || block_is_null(block, at))
        return code;
    if (is->value == SERVED_INTEGER && !(block->flags & (BLOCK_ALL_REAL | BLOCK_HAS_REALS)))
        sqlite3_result_int64(context, block_value(block, at));
    else if (is->value == SERVED_NAME)
        columns_result_name(context, &columns->names, COLUMNS_NAME, block_value(block, at));
    else
        return result_other(context, columns, is, block, at);
    return SQLITE_OK;
}

static int result_of_row(struct columns_cursor *cursor, sqlite3_context *context, int number)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const struct served_column *is = &table->served->columns[number];

    if (cursor->integers && is->value == SERVED_ID) {
        sqlite3_result_int64(context, columns_id_of(cursor));
        return SQLITE_OK;
    }
    if (cursor->integers && is->value == SERVED_NAME)
        return result_of_block(cursor, context, is);
    if (cursor->plain) {
        sqlite3_result_value(context, sqlite3_column_value(cursor->plain, number));
        return SQLITE_OK;
    }
    if (table->served->has_args)
        return args_column(cursor, context, is);
    if (table->served->has_states)
        return states_column(cursor, context, is);
    if (table->served->is_small) {
        small_column(cursor, context, (unsigned)number);
        return SQLITE_OK;
    }
    if (is->value == SERVED_TYPE) {
        sqlite3_result_text(context, "internal_slice", 14, SQLITE_STATIC);
        return SQLITE_OK;
    }
    return result_of_block(cursor, context, is);
}

/* Columns other than integers of a block, and those of rows that are given in place of others.  */
static __attribute__((noinline)) int column_of_any(struct columns_cursor *cursor,
                                                   sqlite3_context *context, int number)
{
    const struct served_column *is = &cursor_table(cursor)->served->columns[number];

    if (cursor->is_made)
        return combined_column(cursor, context, number);
    if (cursor->integers && is->value == SERVED_NAME) {
        const struct block *block = &cursor->blocks[is->column];
        unsigned at = cursor_at(cursor);

        cursor->read |= 1u << is->column;
        if (block->bytes && !block_is_null(block, at)) {
            columns_result_name(context, &cursor_table(cursor)->columns->names, COLUMNS_NAME,
                                block_value(block, at));
            return SQLITE_OK;
        }
    }
    return result_of_row(cursor, context, number);
}

/* Most columns of most rows are integers: they take the short way, in a function that calls no
 * other one, but at its end.  */
int columns_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    struct columns_cursor *cursor = (struct columns_cursor *)base;

    if (!cursor->is_made && (cursor->integers >> number & 1)) {
        unsigned column = cursor_table(cursor)->served->columns[number].column;
        const struct block *block = &cursor->blocks[column];
        unsigned at = cursor_at(cursor);

        cursor->read |= 1u << column;
        if (block->bytes && !(block->flags & BLOCK_HAS_OTHERS)) {
            if (!block->nulls || !block_bit(block->nulls, at))
                sqlite3_result_int64(context, block_value(block, at));
            return SQLITE_OK;
        }
    }
    return column_of_any(cursor, context, number);
}

/* ---- The module ---- */

const sqlite3_module columns_module = {
    .iVersion = 1,
    .xCreate = connect_table,
    .xConnect = connect_table,
    .xBestIndex = columns_best_index,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = columns_open_cursor,
    .xClose = columns_close_cursor,
    .xFilter = columns_filter,
    .xNext = columns_next,
    .xEof = columns_at_end,
    .xColumn = columns_column,
    .xRowid = rowid,
};
