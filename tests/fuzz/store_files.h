/* store_files.h - stores for the fuzz targets.  */
#ifndef FUZZ_STORE_FILES_H
#define FUZZ_STORE_FILES_H

#include <sqlite3.h>

#include <fxt/store.h>
#include "tests/fuzz/support.h"

/* Import bytes as a trace, with its damage.  */
enum store_status fuzz_import(struct store *store, const void *bytes, size_t size,
                              struct store_error *error);

/* The first column of the first row, a number; the query must succeed.  */
int64_t fuzz_number(sqlite3 *db, const char *sql);

/* What schemas/store.sql promises: every row refers to rows that are there, ids have no gaps,
 * callers and slices come before what is in them, sums are those of the samples.  */
void fuzz_hold_consistent(sqlite3 *db);

/* A small store in memory with rows in every table of a capture; loose: its tables take values of
 * any type, until fuzz_make_strict().  The caller's: sqlite3_close().  */
sqlite3 *fuzz_small_store(bool loose);
void fuzz_make_strict(sqlite3 *db);

/* ---- Choices ---- */

/* Bytes of an input, one after the other; 0 behind the end.  */
struct fuzz_choices {
    const uint8_t *bytes;
    size_t left;
};

uint64_t fuzz_choose(struct fuzz_choices *choices, unsigned size_bytes);

/* A value of any type, small or at a limit, for parameter index.  */
void fuzz_bind(struct fuzz_choices *choices, sqlite3_stmt *statement, int index);

/* Step a statement to its end, reading every cell, and finalize it.  Returns SQLite's code;
 * SQLITE_INTERRUPT when it takes too long.  */
int fuzz_run(sqlite3 *db, sqlite3_stmt *statement);

#endif /* FUZZ_STORE_FILES_H */
