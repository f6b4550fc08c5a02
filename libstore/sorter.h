/* sorter.h - many rows in order, in little memory.  Private to libstore.
 *
 * Rows are structs of one size, a multiple of 8, that begin with an int64_t: the key.  They come
 * out by key, equal keys in the order in which they went in.  What does not fit memory waits in an
 * unlinked temporary file as sorted runs; rows that come in order already are never sorted.  */
#ifndef STORE_SORTER_H
#define STORE_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/store.h>

struct store_sorter;

/* Takes at most bytes (and half as much again while it sorts) of memory; directory is for the
 * temporary file.  */
enum store_status store_sorter_open(size_t row_size, size_t bytes, const char *directory,
                                    struct store_sorter **out, struct store_error *error);

/* A copy of one row.  */
enum store_status store_sorter_add(struct store_sorter *sorter, const void *row,
                                   struct store_error *error);
uint64_t store_sorter_count(const struct store_sorter *sorter);

/* No more rows will be added: begin to hand them out.  */
enum store_status store_sorter_start(struct store_sorter *sorter, struct store_error *error);

/* The next row, valid until the next call; NULL behind the last one, or when reading failed, which
 * *error tells by its status: set it to STORE_OK before.  */
const void *store_sorter_next(struct store_sorter *sorter, struct store_error *error);

void store_sorter_close(struct store_sorter *sorter); /* accepts NULL */

#endif /* STORE_SORTER_H */
