/* row_batch.h - rows of one table in memory, and the virtual table that SQLite reads them from.
 * Private to libstore.  */
#ifndef STORE_ROW_BATCH_H
#define STORE_ROW_BATCH_H

#include "libstore/row_writer.h"
#include "libstore/store_internal.h"

/* 16 bytes each: a batch stays in the second-level cache between the thread that fills it and the
 * one that empties it.  */
#define STORE_BATCH_CELLS 16384u
#define STORE_BATCH_BYTES 262144u /* of texts, after which a batch is full */

struct store_batch {
    struct store_batch *next; /* while it is spare */
    enum store_table table;
    unsigned columns;
    size_t rows, capacity;
    char *bytes; /* of texts and blobs */
    size_t used, room;
    struct store_cell cells[STORE_BATCH_CELLS];
};

struct store_batch *store_batch_new(void); /* NULL: out of memory */
void store_batch_free(struct store_batch *batch);

/* Room for size more bytes; false when memory is short, or offsets would not fit 32 bits.  */
bool store_batch_reserve(struct store_batch *batch, size_t size);

/* What the virtual tables read.  */
struct store_batch_source {
    const struct store_batch *batch;
};

/* Make the virtual tables known to a connection, and forget them.  source is borrowed.  */
int store_batch_register(sqlite3 *db, struct store_batch_source *source);
void store_batch_unregister(sqlite3 *db);

/* The statement that inserts the source's batch into its table.  */
int store_batch_prepare(sqlite3 *db, enum store_table table, sqlite3_stmt **out);

#endif /* STORE_ROW_BATCH_H */
