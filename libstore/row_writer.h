/* row_writer.h - rows into tables, fast.  Private to libstore.
 *
 * Whoever has rows fills batches; a thread of the writer hands them to SQLite meanwhile, so that
 * decoding and sorting have one core and SQLite another.  A batch goes in with one statement,
 * INSERT INTO table SELECT ... FROM a virtual table that reads the batch: no binding, no stepping
 * row by row.
 *
 *     struct store_cell *row = store_writer_row(writer, STORE_CPU_SAMPLE, &id);
 *     if (!row)
 *         return store_writer_status(writer, error);
 *     store_int(&row[1], ts_ns);
 *     ...
 *
 * Rows of one table arrive in the order in which they were asked for; of different tables in any
 * order, which nothing in the schema minds.  */
#ifndef STORE_ROW_WRITER_H
#define STORE_ROW_WRITER_H

#include <fxt/store.h>

/* Tables that rows are written to; libstore/store_tables.c has their columns, those of store.sql in
 * its order without the generated ones.  */
enum store_table {
    STORE_CAPTURE,
    STORE_PROVIDER,
    STORE_LOSS,
    STORE_DAMAGE,
    STORE_META,
    STORE_PROCESS,
    STORE_THREAD,
    STORE_MODULE,
    STORE_MAPPING,
    STORE_FRAME,
    STORE_STRING,
    STORE_STRING_BYTES,
    STORE_SYMBOL,
    STORE_CALLSITE,
    STORE_CPU_SAMPLE,
    STORE_HEAP_EVENT,
    STORE_CALLSITE_SUM,
    STORE_SAMPLE_TYPE,
    STORE_SAMPLE_EVENT,
    STORE_PROFILE_TYPE,
    STORE_PROFILE_SAMPLE,
    STORE_PROFILE_VALUE,
    STORE_PROFILE_LABEL,
    STORE_PROFILE_MAPPING,
    STORE_PROFILE_LOCATION,
    STORE_EVENT_NAME,
    STORE_TRACK,
    STORE_SLICE,
    STORE_COUNTER,
    STORE_FLOW,
    STORE_SCHED_SLICE,
    STORE_THREAD_WAIT,
    STORE_LOG,
    STORE_OBJECT,
    STORE_ARG,
    STORE_ARG_SET_END,
    STORE_TABLES,
};

enum store_cell_type { STORE_NULL = 0, STORE_INTEGER, STORE_REAL, STORE_TEXT, STORE_BLOB };

/* A value on its way.  */
struct store_cell {
    union {
        int64_t integer;
        double real;
        uint32_t offset; /* of a text or blob, in its batch's bytes */
    } value;
    uint32_t length; /* of a text or blob */
    enum store_cell_type type;
};

static inline void store_int(struct store_cell *cell, int64_t value)
{
    cell->value.integer = value;
    cell->type = STORE_INTEGER;
}

/* The one place where unsigned numbers of a trace become SQLite's.  */
static inline void store_unsigned(struct store_cell *cell, uint64_t value)
{
    store_int(cell, (int64_t)value);
}

static inline void store_real(struct store_cell *cell, double value)
{
    cell->value.real = value;
    cell->type = STORE_REAL;
}

/* A reference that 0 stands for nothing in: NULL then.  */
static inline void store_id(struct store_cell *cell, int64_t id)
{
    cell->value.integer = id;
    cell->type = id ? STORE_INTEGER : STORE_NULL;
}

struct store_writer;

/* The next row of a table: as many cells as it has columns, all NULL, to be filled before the next
 * call for that table.  In tables with a column id, cell 0 holds the row's id already, the next of
 * the table; *id (may be NULL) tells it.  NULL when writing has failed.  */
struct store_cell *store_writer_row(struct store_writer *writer, enum store_table table,
                                    int64_t *id);

/* The id that the next row will get.  */
int64_t store_writer_next_id(const struct store_writer *writer, enum store_table table);

/* Text for a cell of the row handed out last for that table, copied: at most STORE_TEXT_BYTES, with
 * U+FFFD for what is not UTF-8 and for NUL.  */
#define STORE_TEXT_BYTES 1000000u
bool store_writer_text(struct store_writer *writer, enum store_table table, struct store_cell *cell,
                       const char *bytes, size_t length);
bool store_writer_blob(struct store_writer *writer, enum store_table table, struct store_cell *cell,
                       const void *bytes, size_t length);
/* A blob that is not cut: the caller bounds it.  */
bool store_writer_bytes(struct store_writer *writer, enum store_table table,
                        struct store_cell *cell, const void *bytes, size_t length);

/* Why a row was NULL or a text false; also looks whether the thread has failed since.  */
enum store_status store_writer_status(struct store_writer *writer, struct store_error *error);

/* ---- For the owner ---- */

/* A writer on a connection that is inside a transaction.  */
enum store_status store_writer_open(struct store *store, struct store_writer **out,
                                    struct store_error *error);
/* Hand over what is left and wait until SQLite has it all; the thread ends.  */
enum store_status store_writer_finish(struct store_writer *writer, struct store_error *error);
void store_writer_close(struct store_writer *writer); /* accepts NULL; gives up what is left */

#endif /* STORE_ROW_WRITER_H */
