/* Rows become groups of columns.  */
#include "libstore/columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "libstore/store_tables.h"

/* Larger sets of arguments may leave a table without columns.  */
#define MOST_IN_SET 256u

/* Rows of a table that have no group yet.  */
struct pending {
    int64_t first_id;
    unsigned count;
    bool is_left_out; /* a value cannot be packed: the table has no columns */
    bool has_last;
    int64_t last_set, last_ordinal; /* of a table with sets: its row before */
    int64_t (*values)[BLOCK_ROWS];
    uint8_t (*types)[BLOCK_ROWS];
};

struct columns_writer {
    struct store *store;
    bool rebuilds; /* at the end, from the plain tables */
    int64_t next_block;
    struct columns_directory directories[COLUMNS_TABLES];
    struct pending pending[COLUMNS_TABLES];
    sqlite3_stmt *put;
    uint8_t packed[BLOCK_MOST_BYTES];
};

/* ---- Blobs ---- */

static enum store_status put_blob(struct columns_writer *writer, int64_t id, const void *bytes,
                                  size_t size, struct store_error *error)
{
    int code = SQLITE_OK;

    if (!writer->put)
        code = sqlite3_prepare_v2(
            writer->store->db, "INSERT OR REPLACE INTO main.column_data (id, data) VALUES (?1, ?2)",
            -1, &writer->put, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(writer->put, 1, id);
    if (code == SQLITE_OK)
        code = sqlite3_bind_blob64(writer->put, 2, bytes, size, SQLITE_STATIC);
    if (code == SQLITE_OK) {
        code = sqlite3_step(writer->put);
        (void)sqlite3_reset(writer->put);
    }
    return code == SQLITE_DONE ? STORE_OK : store_fail_sqlite(error, writer->store->db, code);
}

static enum store_status flush(struct columns_writer *writer, enum columns_table table,
                               struct store_error *error)
{
    struct columns_directory *directory = &writer->directories[table];
    struct pending *pending = &writer->pending[table];
    enum store_status status = STORE_OK;
    struct columns_group *group;

    if (pending->count == 0 || pending->is_left_out)
        return STORE_OK;
    group = columns_add_group(directory);
    if (!group)
        return store_no_memory(error);
    group->first_id = pending->first_id;
    group->count = pending->count;
    group->base = writer->next_block;
    group->first_row = directory->rows;
    directory->rows += pending->count;
    writer->next_block += columns_tables[table].count;
    for (unsigned i = 0; i < columns_tables[table].count && status == STORE_OK; i++) {
        struct block_shape *shape = &group->shapes[i];

        block_pack(pending->values[i], pending->types[i], pending->count, shape, writer->packed);
        if (shape->size > 0)
            status = put_blob(writer, group->base + i, writer->packed, shape->size, error);
    }
    pending->count = 0;
    return status;
}

/* ---- Rows ---- */

/* The place for the next row, in all columns; NULL: memory is short, or a write failed.  */
static struct pending *next_row(struct columns_writer *writer, enum columns_table table, int64_t id,
                                struct store_error *error)
{
    struct pending *pending = &writer->pending[table];

    if (!pending->values) {
        pending->values = calloc(COLUMNS_MOST, sizeof *pending->values);
        pending->types = calloc(COLUMNS_MOST, sizeof *pending->types);
    }
    if (!pending->values || !pending->types) {
        (void)store_no_memory(error);
        return NULL;
    }
    if ((pending->count == BLOCK_ROWS ||
         (pending->count > 0 && id != pending->first_id + (int64_t)pending->count)) &&
        flush(writer, table, error) != STORE_OK)
        return NULL;
    if (pending->count == 0)
        pending->first_id = id;
    pending->count++;
    return pending;
}

/* The id of the next row of a table with sets.  Rows that do not come in order leave it out.  */
static enum store_status enter_set(struct columns_writer *writer, enum columns_table table,
                                   int64_t set, int64_t ordinal, int64_t *id,
                                   struct store_error *error)
{
    const struct columns_directory *directory = &writer->directories[table];
    struct pending *pending = &writer->pending[table];
    enum store_status status = STORE_OK;

    if (!pending->has_last) {
        pending->last_set = directory->count > 0
                                ? directory->groups[directory->count - 1].shapes[ARG_SET].maximum
                                : INT64_MIN;
        pending->last_ordinal = INT64_MAX;
    }
    if (set < pending->last_set || (set == pending->last_set && (ordinal <= pending->last_ordinal ||
                                                                 pending->count == BLOCK_ROWS)))
        pending->is_left_out = true;
    else if (set != pending->last_set && pending->count > BLOCK_ROWS - MOST_IN_SET)
        status = flush(writer, table, error);
    pending->has_last = true;
    pending->last_set = set;
    pending->last_ordinal = ordinal;
    *id = directory->rows + pending->count + 1;
    return status;
}

static void put_real(double real, int64_t *value, uint8_t *type)
{
    memcpy(value, &real, sizeof real);
    *type = BLOCK_REAL;
}

/* Returns false for a value that columns have no place for.  */
static bool put_cell(const struct store_cell *cell, const char *bytes, bool is_text, int64_t *value,
                     uint8_t *type)
{
    *value = 0;
    *type = cell->type == STORE_NULL ? BLOCK_NULL : BLOCK_INTEGER;
    if (cell->type == STORE_NULL)
        return true;
    if (is_text)
        return cell->type == STORE_TEXT &&
               block_text_number(bytes + cell->value.offset, cell->length, value);
    if (cell->type == STORE_INTEGER)
        *value = cell->value.integer;
    else if (cell->type == STORE_REAL)
        put_real(cell->value.real, value, type);
    return cell->type == STORE_INTEGER || cell->type == STORE_REAL;
}

static enum store_status add_rows(struct columns_writer *writer, enum columns_table table,
                                  const struct store_batch *batch, struct store_error *error)
{
    const struct columns_table_info *info = &columns_tables[table];

    for (size_t i = 0; i < batch->rows; i++) {
        const struct store_cell *row = &batch->cells[i * batch->columns];
        struct pending *pending = next_row(writer, table, row[0].value.integer, error);

        if (!pending)
            return error->status;
        for (unsigned c = 0; c < info->count; c++)
            if (!put_cell(&row[c + 1], batch->bytes, info->texts >> c & 1,
                          &pending->values[c][pending->count - 1],
                          &pending->types[c][pending->count - 1]))
                pending->is_left_out = true;
        if (pending->is_left_out)
            return STORE_OK;
    }
    return STORE_OK;
}

/* An argument.  Its text or blob stays in the plain table.  */
static enum store_status add_arg(struct columns_writer *writer, const int64_t numbers[ARG_VALUE],
                                 enum store_cell_type type, int64_t value,
                                 struct store_error *error)
{
    struct pending *pending = &writer->pending[COLUMNS_ARG];
    int64_t id = 0;
    enum store_status status = enter_set(writer, COLUMNS_ARG, numbers[ARG_SET],
                                         numbers[ARG_ORDINAL], &id, error);

    if (!columns_arg_fits(numbers[ARG_TYPE], type))
        pending->is_left_out = true;
    if (status != STORE_OK || pending->is_left_out)
        return status;
    if (!next_row(writer, COLUMNS_ARG, id, error))
        return error->status;
    for (unsigned c = 0; c < ARG_VALUE; c++) {
        pending->values[c][pending->count - 1] = numbers[c];
        pending->types[c][pending->count - 1] = BLOCK_INTEGER;
    }
    pending->values[ARG_VALUE][pending->count - 1] = value;
    pending->types[ARG_VALUE][pending->count - 1] = type == STORE_INTEGER ? BLOCK_INTEGER
                                                    : type == STORE_REAL  ? BLOCK_REAL
                                                                          : BLOCK_NULL;
    return STORE_OK;
}

static enum store_status add_args(struct columns_writer *writer, const struct store_batch *batch,
                                  struct store_error *error)
{
    enum store_status status = STORE_OK;

    for (size_t i = 0;
         i < batch->rows && status == STORE_OK && !writer->pending[COLUMNS_ARG].is_left_out; i++) {
        const struct store_cell *row = &batch->cells[i * batch->columns];
        int64_t numbers[ARG_VALUE], value = 0;

        for (unsigned c = 0; c < ARG_VALUE; c++)
            numbers[c] = row[c].value.integer;
        if (row[ARG_VALUE].type == STORE_REAL)
            memcpy(&value, &row[ARG_VALUE].value.real, sizeof value);
        else if (row[ARG_VALUE].type == STORE_INTEGER)
            value = row[ARG_VALUE].value.integer;
        status = add_arg(writer, numbers, row[ARG_VALUE].type, value, error);
    }
    return status;
}

enum store_status columns_writer_add(struct columns_writer *writer, const struct store_batch *batch,
                                     struct store_error *error)
{
    if (!writer || writer->rebuilds)
        return STORE_OK;
    for (int table = 0; table < COLUMNS_TABLES; table++)
        if (columns_tables[table].table == batch->table && !writer->pending[table].is_left_out)
            return columns_tables[table].has_sets
                       ? add_args(writer, batch, error)
                       : add_rows(writer, (enum columns_table)table, batch, error);
    return STORE_OK;
}

/* ---- From the plain tables ---- */

static bool put_value(sqlite3_stmt *row, int column, bool is_text, int64_t *value, uint8_t *type)
{
    int kind = sqlite3_column_type(row, column);

    *value = 0;
    *type = kind == SQLITE_NULL ? BLOCK_NULL : BLOCK_INTEGER;
    if (kind == SQLITE_NULL)
        return true;
    if (is_text)
        return kind == SQLITE_TEXT &&
               block_text_number((const char *)sqlite3_column_text(row, column),
                                 (size_t)sqlite3_column_bytes(row, column), value);
    if (kind == SQLITE_INTEGER)
        *value = sqlite3_column_int64(row, column);
    else if (kind == SQLITE_FLOAT)
        put_real(sqlite3_column_double(row, column), value, type);
    return kind == SQLITE_INTEGER || kind == SQLITE_FLOAT;
}

static enum store_status scan_row(struct columns_writer *writer, enum columns_table table,
                                  sqlite3_stmt *row, struct store_error *error)
{
    const struct columns_table_info *info = &columns_tables[table];
    struct pending *pending = next_row(writer, table, sqlite3_column_int64(row, 0), error);

    if (!pending)
        return error->status;
    for (unsigned c = 0; c < info->count; c++)
        if (!put_value(row, (int)c + 1, info->texts >> c & 1,
                       &pending->values[c][pending->count - 1],
                       &pending->types[c][pending->count - 1]))
            pending->is_left_out = true;
    return STORE_OK;
}

static enum store_status scan_arg(struct columns_writer *writer, sqlite3_stmt *row,
                                  struct store_error *error)
{
    static const enum store_cell_type types[] = { [SQLITE_INTEGER] = STORE_INTEGER,
                                                  [SQLITE_FLOAT] = STORE_REAL,
                                                  [SQLITE_TEXT] = STORE_TEXT,
                                                  [SQLITE_BLOB] = STORE_BLOB,
                                                  [SQLITE_NULL] = STORE_NULL };
    enum store_cell_type type = types[sqlite3_column_type(row, ARG_VALUE)];
    int64_t numbers[ARG_VALUE], value = 0;
    double real = 0;

    for (int c = 0; c < ARG_VALUE; c++)
        numbers[c] = sqlite3_column_int64(row, c);
    if (type == STORE_INTEGER)
        value = sqlite3_column_int64(row, ARG_VALUE);
    if (type == STORE_REAL) {
        real = sqlite3_column_double(row, ARG_VALUE);
        memcpy(&value, &real, sizeof value);
    }
    return add_arg(writer, numbers, type, value, error);
}

static enum store_status scan(struct columns_writer *writer, enum columns_table table,
                              struct store_error *error)
{
    const char *columns = store_tables[columns_tables[table].table].columns;
    bool has_sets = columns_tables[table].has_sets;
    char *sql = sqlite3_mprintf("SELECT %s FROM main.\"%w\" ORDER BY %s", columns,
                                columns_tables[table].name,
                                has_sets ? "arg_set_id, ordinal" : "id");
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = NULL;
    int code = sql ? sqlite3_prepare_v2(writer->store->db, sql, -1, &row, NULL) : SQLITE_NOMEM;

    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return store_finish_rows(writer->store, row, code, error);
    while (status == STORE_OK && !writer->pending[table].is_left_out &&
           (code = sqlite3_step(row)) == SQLITE_ROW)
        status = writer->store->interrupted ? store_fail(error, STORE_STOPPED, "interrupted")
                 : has_sets                 ? scan_arg(writer, row, error)
                                            : scan_row(writer, table, row, error);
    if (status != STORE_OK) {
        (void)sqlite3_finalize(row);
        return status;
    }
    return store_finish_rows(writer->store, row, code, error);
}

static enum store_status rebuild(struct columns_writer *writer, struct store_error *error)
{
    enum store_status status = STORE_OK;

    for (int table = 0; table < COLUMNS_TABLES && status == STORE_OK; table++)
        status = scan(writer, (enum columns_table)table, error);
    return status;
}

/* ---- Beginning and ending ---- */

static enum store_status load_directory(struct columns_writer *writer, enum columns_table table,
                                        struct store_error *error)
{
    sqlite3_stmt *row = NULL;
    enum store_status status = STORE_CORRUPT;
    int code = sqlite3_prepare_v2(
        writer->store->db, "SELECT data FROM main.column_data WHERE id = ?1", -1, &row, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int(row, 1, 1 + (int)table);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        const uint8_t *bytes = sqlite3_column_blob(row, 0);

        status = columns_directory_parse(bytes, bytes ? (size_t)sqlite3_column_bytes(row, 0) : 0,
                                         table, &writer->directories[table]);
    }
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        (void)sqlite3_finalize(row);
    else
        status = store_finish_rows(writer->store, row, code, error);
    return status;
}

/* Add to the columns that are there.  A directory that is missing or damaged: make all again.  */
static enum store_status load(struct columns_writer *writer, struct store_error *error)
{
    enum store_status status = STORE_OK;

    for (int table = 0; table < COLUMNS_TABLES && status == STORE_OK; table++)
        status = load_directory(writer, (enum columns_table)table, error);
    writer->rebuilds = status == STORE_CORRUPT;
    if (status == STORE_CORRUPT)
        return STORE_OK;
    if (status != STORE_OK)
        return status == STORE_NO_MEMORY ? store_no_memory(error) : status;
    status = store_number(writer->store, "SELECT max(id) + 1 FROM main.column_data",
                          &writer->next_block, error);
    if (writer->next_block < COLUMNS_FIRST_BLOCK)
        writer->next_block = COLUMNS_FIRST_BLOCK;
    for (int table = 0; table < COLUMNS_TABLES; table++) {
        const struct columns_directory *directory = &writer->directories[table];
        const struct columns_group *last;

        if (directory->count == 0)
            continue;
        last = &directory->groups[directory->count - 1];
        if (last->base + COLUMNS_MOST > writer->next_block)
            writer->next_block = last->base + COLUMNS_MOST; /* empty blocks have no row */
    }
    return status;
}

/* A table of that name that is the user's stays; the store then has no columns.  */
static enum store_status make_table(struct store *store, bool *is_ours, struct store_error *error)
{
    int64_t others = 0;
    enum store_status status = store_number(store,
                                            "SELECT count(*) FROM main.sqlite_schema WHERE name = "
                                            "'column_data' AND sql IS NOT '" STORE_COLUMNS_TABLE
                                            "'",
                                            &others, error);

    *is_ours = others == 0;
    if (status != STORE_OK || !*is_ours)
        return status;
    return store_run(store,
                     "DROP TABLE IF EXISTS main.column_data;" STORE_COLUMNS_TABLE ";"
                     "INSERT INTO main.column_data (id, data) VALUES (0, zeroblob(32))",
                     error);
}

enum store_status columns_writer_open(struct store *store, struct columns_writer **out,
                                      struct store_error *error)
{
    bool is_current = store_columns_are_current(store), is_ours = true;
    enum store_status status = STORE_OK;
    struct columns_writer *writer;
    int64_t captures = 0;

    *out = NULL;
    if (store->keeps_wal)
        return STORE_OK;
    writer = calloc(1, sizeof *writer);
    if (!writer)
        return store_no_memory(error);
    writer->store = store;
    writer->next_block = COLUMNS_FIRST_BLOCK;
    if (is_current) {
        status = load(writer, error);
    } else {
        status = store_number(store, "SELECT count(*) FROM main.capture", &captures, error);
        writer->rebuilds = captures > 0;
        writer->next_block = COLUMNS_FIRST_BLOCK;
    }
    if (status == STORE_OK && (!is_current || writer->rebuilds))
        status = make_table(store, &is_ours, error);
    if (status == STORE_OK && is_ours) {
        *out = writer;
        return STORE_OK;
    }
    columns_writer_close(writer);
    return status;
}

static enum store_status write_directory(struct columns_writer *writer, enum columns_table table,
                                         struct store_error *error)
{
    enum store_status status = flush(writer, table, error);
    char without[64];
    uint8_t *bytes;
    size_t size;

    (void)snprintf(without, sizeof without, "DELETE FROM main.column_data WHERE id = %d",
                   1 + (int)table);
    if (status == STORE_OK && writer->pending[table].is_left_out)
        return store_run(writer->store, without, error);
    if (status != STORE_OK)
        return status;
    bytes = columns_directory_bytes(&writer->directories[table], table, &size);
    if (!bytes)
        return store_no_memory(error);
    status = put_blob(writer, 1 + (int)table, bytes, size, error);
    free(bytes);
    return status;
}

enum store_status columns_writer_finish(struct columns_writer *writer, struct store_error *error)
{
    struct store_error own = { .status = STORE_OK };
    enum store_status status = STORE_OK;

    if (!writer)
        return STORE_OK;
    if (!error)
        error = &own;
    if (writer->rebuilds)
        status = rebuild(writer, error);
    for (int table = 0; table < COLUMNS_TABLES && status == STORE_OK; table++)
        status = write_directory(writer, (enum columns_table)table, error);
    return status;
}

void columns_writer_close(struct columns_writer *writer)
{
    if (!writer)
        return;
    (void)sqlite3_finalize(writer->put);
    for (int table = 0; table < COLUMNS_TABLES; table++) {
        columns_directory_release(&writer->directories[table]);
        free(writer->pending[table].values);
        free(writer->pending[table].types);
    }
    free(writer);
}

/* ---- Outside of an import ---- */

/* Whether all blocks are what was written.  */
static enum store_status check_blocks(struct columns_writer *writer, enum columns_table table,
                                      bool *are_whole, struct store_error *error)
{
    const struct columns_directory *directory = &writer->directories[table];
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(
        writer->store->db, "SELECT data FROM main.column_data WHERE id = ?1", -1, &row, NULL);

    for (size_t i = 0; i < directory->count * columns_tables[table].count; i++) {
        const struct columns_group *group = &directory->groups[i / columns_tables[table].count];
        unsigned column = (unsigned)(i % columns_tables[table].count);
        const struct block_shape *shape = &group->shapes[column];

        if (code != SQLITE_OK || !*are_whole)
            break;
        if (shape->size == 0)
            continue;
        (void)sqlite3_bind_int64(row, 1, group->base + column);
        code = sqlite3_step(row);
        *are_whole = code == SQLITE_ROW && (uint32_t)sqlite3_column_bytes(row, 0) == shape->size &&
                     block_checksum(sqlite3_column_blob(row, 0), shape->size) == shape->checksum;
        code = code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
        (void)sqlite3_reset(row);
    }
    return store_finish_rows(writer->store, row, code, error);
}

static enum store_status check_all(struct columns_writer *writer, bool *are_whole,
                                   struct store_error *error)
{
    enum store_status status = STORE_OK;

    *are_whole = !writer->rebuilds;
    for (int table = 0; table < COLUMNS_TABLES && status == STORE_OK && *are_whole; table++)
        status = check_blocks(writer, (enum columns_table)table, are_whole, error);
    return status;
}

/* In a transaction.  */
static enum store_status make_columns(struct store *store, bool *made, struct store_error *error)
{
    struct columns_writer *writer = NULL;
    enum store_status status = columns_writer_open(store, &writer, error);
    bool are_whole = true, is_ours = true;

    if (status == STORE_OK && writer)
        status = check_all(writer, &are_whole, error);
    if (status == STORE_OK && !are_whole && !writer->rebuilds) {
        for (int table = 0; table < COLUMNS_TABLES; table++)
            columns_directory_release(&writer->directories[table]);
        writer->rebuilds = true;
        writer->next_block = COLUMNS_FIRST_BLOCK;
        status = make_table(store, &is_ours, error);
    }
    if (status == STORE_OK && !are_whole)
        status = columns_writer_finish(writer, error);
    *made = status == STORE_OK && !are_whole;
    columns_writer_close(writer);
    return status;
}

enum store_status store_make_columns(struct store *store, bool *out, struct store_error *error)
{
    enum store_status status;
    bool made = false;

    if (store->mode != STORE_APPEND || store->importing || store->is_new)
        return store_fail(error, STORE_INVALID, "the store is not open for writing");
    status = store_enter_wal(store, error);
    if (status == STORE_OK)
        status = store_run(store, "BEGIN IMMEDIATE", error);
    if (status != STORE_OK)
        return status;
    status = make_columns(store, &made, error);
    if (status == STORE_OK && made)
        status = store_reserve_file(store, error);
    if (status == STORE_OK)
        status = store_run(store, made ? "COMMIT" : "ROLLBACK", error);
    if (status != STORE_OK)
        (void)store_run(store, "ROLLBACK", NULL);
    if (status == STORE_OK && made)
        store_columns_written(store);
    if (out)
        *out = made;
    return status;
}
