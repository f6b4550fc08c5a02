/* Batches, and eponymous virtual tables that read them (https://sqlite.org/vtab.html).  There is
 * one for each number of columns, "store_batch_N".  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "libstore/row_batch.h"
#include "libstore/store_tables.h"

struct store_batch *store_batch_new(void)
{
    struct store_batch *batch = malloc(sizeof *batch);

    if (!batch)
        return NULL;
    batch->next = NULL;
    batch->bytes = NULL;
    batch->rows = batch->capacity = batch->used = batch->room = 0;
    return batch;
}

void store_batch_free(struct store_batch *batch)
{
    if (!batch)
        return;
    free(batch->bytes);
    free(batch);
}

bool store_batch_reserve(struct store_batch *batch, size_t size)
{
    return size <= UINT32_MAX / 4 && batch->used <= UINT32_MAX / 4 &&
           base_make_room(&batch->bytes, &batch->room, batch->used + size, 1);
}

/* ---- The virtual table ---- */

struct batch_vtab {
    sqlite3_vtab base;
    struct store_batch_source *source;
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    const struct store_batch *batch;
    size_t row;
};

/* What a module's client data says.  */
struct batch_module {
    struct store_batch_source *source;
    unsigned columns;
};

static int batch_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message)
{
    const struct batch_module *module = context;
    char sql[16 + 5 * STORE_MOST_COLUMNS];
    struct batch_vtab *vtab;
    size_t length = 0;
    int code;

    (void)argc;
    (void)argv;
    (void)message;
    for (unsigned i = 0; i < module->columns; i++)
        length += (size_t)snprintf(sql + length, sizeof sql - length, "%sc%u",
                                   i ? ", " : "CREATE TABLE x(", i);
    (void)snprintf(sql + length, sizeof sql - length, ")");
    code = sqlite3_declare_vtab(db, sql);
    if (code != SQLITE_OK)
        return code;
    vtab = sqlite3_malloc(sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    memset(vtab, 0, sizeof *vtab);
    vtab->source = module->source;
    *out = &vtab->base;
    return SQLITE_OK;
}

static int batch_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int batch_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    (void)info;
    return SQLITE_OK;
}

static int batch_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    struct batch_cursor *cursor = sqlite3_malloc(sizeof *cursor);

    (void)vtab;
    if (!cursor)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int batch_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int batch_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    struct batch_cursor *cursor = (struct batch_cursor *)base;

    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    cursor->batch = ((struct batch_vtab *)base->pVtab)->source->batch;
    cursor->row = 0;
    return SQLITE_OK;
}

static int batch_next(sqlite3_vtab_cursor *cursor)
{
    ((struct batch_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int batch_eof(sqlite3_vtab_cursor *base)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;

    return !cursor->batch || cursor->row >= cursor->batch->rows;
}

static int batch_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    const struct store_batch *batch = cursor->batch;
    const struct store_cell *cell = &batch->cells[cursor->row * batch->columns + (unsigned)column];

    switch (cell->type) {
    case STORE_NULL:
        break;
    case STORE_INTEGER:
        sqlite3_result_int64(context, cell->value.integer);
        break;
    case STORE_REAL:
        sqlite3_result_double(context, cell->value.real);
        break;
    case STORE_TEXT:
        sqlite3_result_text(context, batch->bytes + cell->value.offset, (int)cell->length,
                            SQLITE_STATIC);
        break;
    case STORE_BLOB:
        sqlite3_result_blob(context, batch->bytes + cell->value.offset, (int)cell->length,
                            SQLITE_STATIC);
        break;
    }
    return SQLITE_OK;
}

static int batch_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((struct batch_cursor *)cursor)->row;
    return SQLITE_OK;
}

/* ---- Making them known ---- */

/* No xCreate: the tables are there without a statement that makes them.  */
static const sqlite3_module batch_methods = {
    .xConnect = batch_connect,
    .xBestIndex = batch_best_index,
    .xDisconnect = batch_disconnect,
    .xOpen = batch_open,
    .xClose = batch_close,
    .xFilter = batch_filter,
    .xNext = batch_next,
    .xEof = batch_eof,
    .xColumn = batch_column,
    .xRowid = batch_rowid,
};

static void module_name(char name[32], unsigned columns)
{
    (void)snprintf(name, 32, "store_batch_%u", columns);
}

int store_batch_register(sqlite3 *db, struct store_batch_source *source)
{
    for (unsigned columns = 1; columns <= STORE_MOST_COLUMNS; columns++) {
        struct batch_module *module = malloc(sizeof *module);
        char name[32];
        int code;

        if (!module)
            return SQLITE_NOMEM;
        *module = (struct batch_module){ source, columns };
        module_name(name, columns);
        code = sqlite3_create_module_v2(db, name, &batch_methods, module, free);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

void store_batch_unregister(sqlite3 *db)
{
    for (unsigned columns = 1; columns <= STORE_MOST_COLUMNS; columns++) {
        char name[32];

        module_name(name, columns);
        (void)sqlite3_create_module_v2(db, name, NULL, NULL, NULL);
    }
}

/* SQLite gives ids itself, counting on from the largest as the writer does: that is faster than
 * looking whether one that is given is free.  */
int store_batch_prepare(sqlite3 *db, enum store_table table, sqlite3_stmt **out)
{
    const struct store_table_info *info = &store_tables[table];
    const char *columns = info->has_id ? info->columns + strlen("id, ") : info->columns;
    char cells[6 * STORE_MOST_COLUMNS] = "";
    size_t length = 0;
    char *sql;
    int code;

    for (unsigned i = info->has_id; i < info->column_count; i++)
        length += (size_t)snprintf(cells + length, sizeof cells - length, "%sc%u",
                                   i > info->has_id ? ", " : "", i);
    sql = sqlite3_mprintf("INSERT INTO main.\"%w\" (%s) SELECT %s FROM store_batch_%u", info->name,
                          columns, cells, info->column_count);
    if (!sql)
        return SQLITE_NOMEM;
    code = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    sqlite3_free(sql);
    return code;
}
