/* columns.h - the timeline of a store a second time, by columns.  Private to libstore.
 *
 * The plain tables of schemas/store.sql are the contract.  Columns are a copy of the large ones
 * that is read several times faster: fxtq reads `slice` and its like from them, through virtual
 * tables.  They are blobs in one more table of the store,
 *
 *     CREATE TABLE column_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT
 *
 * which any tool may drop: a store without it is read from the plain tables, only slower.
 *
 *   id 0                 the identity: which state of the store the columns belong to
 *   id 1 + columns_table the directory of a table: its groups of at most BLOCK_ROWS rows with
 *                        consecutive ids; for each column of a group, how it is packed, smallest
 *                        and largest value, and the checksum of its block
 *   other ids            the blocks (column_block.h).  Those of a group have consecutive ids, in
 *                        the order of its columns.  A block of no bytes has no row
 *
 * Identity: SQLite counts the transactions that write to a file, at bytes 24 to 27 of the file, for
 * every program that writes.  The identity has the count that its own transaction leads to, so
 * columns that are older than any other change of the file are recognized.  In a store in WAL mode,
 * SQLite does not count; such a store has no columns.
 *
 *   blocks/             values <-> packed bytes
 *   columns_format.c    directories <-> bytes; which columns there are
 *   columns_identity.c  the identity: whether columns are current, and saying so
 *   columns_write.c     rows -> groups
 *   columns_read.c      blocks from the store, checked when they are first used
 *   columns_order.c     rows in the order of a column
 *   columns_scan.c      rows without SQL
 *   columns_rows.c      the rows that a query wants
 *   columns_plan.c      what a virtual table can do for a query
 *   columns_combine.c   rows that are given in place of others, for sums and extremes
 *   columns_totals.c    sums and extremes of rows by the values of one column
 *   columns_program.c   what SQLite's program of a statement does with rows
 *   columns_prepare.c   statements whose rows may be combined
 *   columns_window.c    lead() and lag() of rows in an order
 *   columns_derived.c   subqueries with GROUP BY that rows are looked up in
 *   columns_args.c      arguments, with the texts of their keys
 *   columns_small.c     tracks, in memory
 *   columns_states.c    what threads did: intervals on a CPU, and of waiting
 *   columns_table.c     the virtual tables
 *   columns_serve.c     the virtual tables in place of the plain ones  */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "libstore/blocks/block_scan.h"
#include "libstore/row_batch.h"
#include "libstore/store_internal.h"

/* ---- What has columns (columns_format.c) ---- */

#define COLUMNS_MOST 10 /* of a table, without its id */

struct columns_table_info {
    enum store_table table;
    const char *name;
    unsigned count;
    const char *columns[COLUMNS_MOST]; /* in the order of the table, without id */
    unsigned texts;                    /* a bit for each column of short texts */
    bool has_sets; /* no id, and rows in the order of the first two columns: row i has id i + 1 */
};

/* Columns of arguments.  Texts and blobs stay in the plain table, and are NULL here.  No group
 * begins inside of a set of arguments.  */
enum { ARG_SET, ARG_ORDINAL, ARG_KEY, ARG_TYPE, ARG_VALUE };

/* Whether an argument of that type has such a value: then `args` shows the same as its view does
 * after it has converted values.  */
bool columns_arg_fits(int64_t type, enum store_cell_type value);

extern const struct columns_table_info columns_tables[COLUMNS_TABLES];

/* ---- Directories (columns_format.c) ---- */

struct columns_group {
    int64_t first_id; /* ids are consecutive in a group, and grow from group to group */
    int64_t first_row;
    int64_t base; /* id of the block of its first column */
    uint32_t count;
    struct block_shape shapes[COLUMNS_MOST];
};

struct columns_directory {
    struct columns_group *groups;
    size_t count, capacity;
    int64_t rows;
};

/* One more group; NULL: out of memory.  */
struct columns_group *columns_add_group(struct columns_directory *directory);
void columns_directory_release(struct columns_directory *directory);

/* The bytes of a directory, for free(); NULL: out of memory.  */
uint8_t *columns_directory_bytes(const struct columns_directory *directory,
                                 enum columns_table table, size_t *size);

/* The directory in bytes.  Returns STORE_OK, STORE_CORRUPT (nothing in it can be used) or
 * STORE_NO_MEMORY.  */
enum store_status columns_directory_parse(const uint8_t *bytes, size_t size,
                                          enum columns_table table, struct columns_directory *out);

/* The id of the last block of all directories, and at least the last one of a directory.  */
#define COLUMNS_FIRST_BLOCK 16

/* ---- The identity (columns_identity.c) ---- */

/* Set *out to whether the store's file has columns of its present state.  Needs a read transaction.
 * Returns STORE_OK, or what reading gave.  */
enum store_status store_columns_look(struct store *store, bool *out, struct store_error *error);

/* When a connection for writing opens: note whether columns are current.  */
enum store_status store_columns_open(struct store *store, struct store_error *error);

/* Inside of a transaction: whether columns are those of the tables.  */
bool store_columns_are_current(struct store *store);

/* Inside of a transaction that has made columns of all its rows.  */
void store_columns_written(struct store *store);

/* After the last change of the tables: write the identity, in a transaction of its own.  What fails
 * leaves columns that nobody uses.  */
void store_columns_stamp(struct store *store);

/* While the store leaves WAL mode: whether another connection writes.  */
struct columns_watch {
    int fd; /* of the WAL; -1 */
    bool is_quiet;
    struct stat info;
    uint32_t changes; /* that SQLite has counted in the file */
};

struct columns_watch store_columns_watch(struct store *store); /* the WAL is merged */
void store_columns_watched(struct store *store, struct columns_watch *watch);

/* ---- Writing (columns_write.c) ---- */

struct columns_writer;

/* Begin to write columns, in the transaction of an import.  *out is NULL if the store can have
 * none.  Columns that are not current are made again at the end, from the plain tables.  */
enum store_status columns_writer_open(struct store *store, struct columns_writer **out,
                                      struct store_error *error);
/* The rows of a batch, which are inserted into their plain table, too.  */
enum store_status columns_writer_add(struct columns_writer *writer, const struct store_batch *batch,
                                     struct store_error *error);
/* Write what is left.  */
enum store_status columns_writer_finish(struct columns_writer *writer, struct store_error *error);
void columns_writer_close(struct columns_writer *writer); /* accepts NULL */

/* ---- Reading without SQL (columns_scan.c) ---- */

columns_scan_fn columns_scan;

/* ---- Serving (columns_serve.c) ---- */

#define STORE_COLUMNS_MODULE "fxt_columns"

/* Before a statement is prepared: if much of a table's columns is damaged, its plain table takes
 * their place.  */
void store_columns_withdraw(struct store *store);

/* Before the connection is closed.  */
void store_columns_close(struct store *store);

#endif /* STORE_COLUMNS_H */
