/* A small table whose rows are wanted in some order: tracks.
 *
 * Queries that group slices or values of counters by something of their tracks read the tracks in
 * that order, and the rows of each by an index, so that nothing is sorted.  */
#include "libstore/columns_table.h"

#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

/* Larger tables are read by SQLite.  */
#define MOST_ROWS  ((size_t)1 << 16)
#define MOST_BYTES ((size_t)16 << 20)

/* ---- Loading ---- */

/* Texts are places in bytes until all are there.  Returns false if memory is short.  */
static bool add_cell(struct columns_small *small, size_t *capacity, size_t *cells,
                     sqlite3_stmt *row, int column)
{
    struct columns_cell *cell;
    const void *text;

    if (!base_make_room(&small->cells, cells, small->cell_count + 1, sizeof *small->cells))
        return false;
    cell = &small->cells[small->cell_count++];
    *cell = (struct columns_cell){ .type = (uint8_t)sqlite3_column_type(row, column) };
    cell->value = sqlite3_column_int64(row, column);
    if (cell->type != SQLITE_TEXT)
        return true;
    text = sqlite3_column_text(row, column);
    cell->length = (uint32_t)sqlite3_column_bytes(row, column);
    cell->value = (int64_t)small->byte_count;
    if (!text || !base_make_room(&small->bytes, capacity, small->byte_count + cell->length + 1, 1))
        return false;
    memcpy(small->bytes + small->byte_count, text, cell->length);
    small->byte_count += cell->length;
    return true;
}

static int read_rows(struct columns_small *small, sqlite3_stmt *row, unsigned columns)
{
    size_t capacity = 0, cells = 0;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        if (small->rows == MOST_ROWS || small->byte_count > MOST_BYTES)
            return SQLITE_FULL;
        for (unsigned i = 0; i < columns; i++) {
            if (!add_cell(small, &capacity, &cells, row, (int)i))
                return SQLITE_NOMEM;
            if (small->cells[small->cell_count - 1].type == SQLITE_FLOAT ||
                small->cells[small->cell_count - 1].type == SQLITE_BLOB)
                return SQLITE_FULL;
        }
        small->rows++;
    }
    return code;
}

static char *rows_sql(const struct served_table *served)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "SELECT ");
    for (unsigned i = 0; i < served->count; i++)
        sqlite3_str_appendf(sql, "%s\"%w\"", i > 0 ? ", " : "", served->columns[i].name);
    sqlite3_str_appendf(sql, " FROM main.\"%w\" ORDER BY 1", served->name);
    return sqlite3_str_finish(sql);
}

int small_load(struct store_columns *columns, const struct served_table *served)
{
    struct columns_small *small = &columns->tracks;
    char *sql;
    sqlite3_stmt *row = NULL;
    int code;

    if (small->was_read || !columns->are_current)
        return SQLITE_OK;
    sql = rows_sql(served);
    code = sql ? sqlite3_prepare_v2(columns->db, sql, -1, &row, NULL) : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = read_rows(small, row, served->count);
    (void)sqlite3_finalize(row);
    sqlite3_free(sql);
    if (code != SQLITE_DONE)
        small_release(small);
    small->is_there = code == SQLITE_DONE;
    small->was_read = code == SQLITE_DONE || code == SQLITE_FULL;
    return small->was_read ? SQLITE_OK : code;
}

void small_release(struct columns_small *small)
{
    free(small->cells);
    free(small->bytes);
    *small = (struct columns_small){ .was_read = false };
}

/* ---- Rows ---- */

static const struct columns_cell *cell_of(const struct columns_cursor *cursor, uint32_t row,
                                          unsigned column)
{
    const struct columns_vtab *table = cursor_table(cursor);

    return &table->columns->tracks.cells[(size_t)row * table->served->count + column];
}

/* The row of an id; ids grow from row to row.  */
static bool find_id(const struct columns_cursor *cursor, int64_t id, uint32_t *out)
{
    size_t low = 0, high = cursor_table(cursor)->columns->tracks.rows, count = high;

    if (id > 0 && (size_t)id <= count && cell_of(cursor, (uint32_t)id - 1, 0)->value == id) {
        *out = (uint32_t)id - 1; /* most often there are no gaps */
        return true;
    }
    BASE_BISECT(low, high, i, cell_of(cursor, (uint32_t)i, 0)->value < id);
    *out = (uint32_t)low;
    return low < count && cell_of(cursor, (uint32_t)low, 0)->value == id;
}

/* Whether a cell may be equal to a value: SQLite compares again.  */
static bool may_equal(const struct columns_cursor *cursor, const struct columns_cell *cell,
                      sqlite3_value *value)
{
    int64_t low, high;

    if (cell->type == SQLITE_NULL || sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    if (cell->type == SQLITE_INTEGER)
        return rows_bounds('=', value, &low, &high) && low == cell->value;
    return sqlite3_value_type(value) != SQLITE_TEXT ||
           ((uint32_t)sqlite3_value_bytes(value) == cell->length &&
            memcmp(cursor_table(cursor)->columns->tracks.bytes + cell->value,
                   sqlite3_value_text(value), cell->length) == 0);
}

struct sorting {
    const struct columns_cursor *cursor;
    const char *keys; /* two characters each */
};

static int compare_cells(const struct columns_cursor *cursor, const struct columns_cell *a,
                         const struct columns_cell *b)
{
    const char *bytes = cursor_table(cursor)->columns->tracks.bytes;
    uint32_t length = a->length < b->length ? a->length : b->length;
    int order;

    if (a->type == SQLITE_NULL || b->type == SQLITE_NULL)
        return (a->type != SQLITE_NULL) - (b->type != SQLITE_NULL);
    if (a->type != SQLITE_TEXT)
        return (a->value > b->value) - (a->value < b->value);
    order = length ? memcmp(bytes + a->value, bytes + b->value, length) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    for (const char *key = sorting->keys; *key; key += 2) {
        unsigned column = (unsigned)(key[1] - 'A');
        int order = compare_cells(sorting->cursor, cell_of(sorting->cursor, left, column),
                                  cell_of(sorting->cursor, right, column));

        if (order != 0)
            return *key == '-' ? -order : order;
    }
    return left < right ? -1 : left > right;
}

static bool passes_all(const struct columns_cursor *cursor, uint32_t row, const char *text,
                       sqlite3_value **argv)
{
    for (int i = 0; *text != '/'; text += 2, i++)
        if (!may_equal(cursor, cell_of(cursor, row, (unsigned)(text[1] - 'A')), argv[i]))
            return false;
    return true;
}

int small_start(struct columns_cursor *cursor, int plan, const char *text, sqlite3_value **argv)
{
    size_t rows = cursor_table(cursor)->columns->tracks.rows;
    struct sorting sorting = { cursor, strchr(text, '/') + 1 };
    uint32_t *list = malloc((plan == PLAN_ID ? 1 : rows + 1) * sizeof *list);
    int64_t low, high;
    size_t count = 0;

    if (!list)
        return SQLITE_NOMEM;
    if (plan == PLAN_ID) {
        count = rows_bounds('=', argv[0], &low, &high) && find_id(cursor, low, &list[0]);
    } else {
        for (uint32_t row = 0; row < rows; row++)
            if (passes_all(cursor, row, text, argv))
                list[count++] = row;
        if (*sorting.keys)
            qsort_r(list, count, sizeof *list, compare_rows, &sorting);
    }
    cursor->list = cursor->owned = list;
    cursor->count = count;
    cursor->at = 0;
    cursor->at_end = count == 0;
    return SQLITE_OK;
}

int small_next(struct columns_cursor *cursor)
{
    cursor->at_end = ++cursor->at >= cursor->count;
    return SQLITE_OK;
}

int64_t small_rowid(const struct columns_cursor *cursor)
{
    return cell_of(cursor, cursor->list[cursor->at], 0)->value;
}

void small_column(const struct columns_cursor *cursor, sqlite3_context *context, unsigned column)
{
    const struct columns_cell *cell = cell_of(cursor, cursor->list[cursor->at], column);

    if (cell->type == SQLITE_INTEGER)
        sqlite3_result_int64(context, cell->value);
    else if (cell->type == SQLITE_TEXT) /* it outlives the statement, like names */
        sqlite3_result_text(context, cursor_table(cursor)->columns->tracks.bytes + cell->value,
                            (int)cell->length, SQLITE_STATIC);
}
