/* callsite_sum: samples added up.  */
#include <stdlib.h>

#include "libstore/import/import.h"

struct store_sum *store_sums_at(struct store_sums *sums, int64_t upid, int64_t callsite)
{
    bool is_new;
    uint32_t number = base_pairs_add(&sums->keys, (uint64_t)upid, (uint64_t)callsite, &is_new);

    if (number == 0 || !base_make_room(&sums->items, &sums->capacity, number, sizeof *sums->items))
        return NULL;
    if (is_new)
        sums->items[number - 1] = (struct store_sum){ .n.integer = 0 };
    return &sums->items[number - 1];
}

void store_sums_release(struct store_sums *sums)
{
    base_pairs_release(&sums->keys);
    free(sums->items);
}

/* Rows in the order of the table's key: each goes behind the last.  */
struct sum_row {
    struct base_pair key;
    const struct store_sum *sum;
};

static int compare_rows(const void *a, const void *b)
{
    const struct sum_row *left = a, *right = b;

    if (left->key.a != right->key.a)
        return left->key.a < right->key.a ? -1 : 1;
    return (left->key.b > right->key.b) - (left->key.b < right->key.b);
}

static bool write_row(struct store_import *import, const struct sum_row *row, int64_t type,
                      enum store_sum_values values)
{
    struct store_cell *cells = store_writer_row(import->writer, STORE_CALLSITE_SUM, NULL);

    if (!cells)
        return false;
    store_int(&cells[0], import->capture_id);
    store_int(&cells[1], type);
    store_unsigned(&cells[2], row->key.a);
    store_unsigned(&cells[3], row->key.b);
    if (values == STORE_SUMS_REAL) {
        store_real(&cells[4], row->sum->n.real);
        store_real(&cells[5], row->sum->value.real);
    } else {
        store_unsigned(&cells[4], row->sum->n.integer);
        if (values == STORE_SUMS_WHOLE)
            store_unsigned(&cells[5], row->sum->value.integer);
    }
    return true;
}

bool store_import_write_sums(struct store_import *import, const struct store_sums *sums,
                             int64_t type, enum store_sum_values values)
{
    struct sum_row *rows = calloc(sums->keys.count + 1, sizeof *rows);
    bool ok = rows != NULL;

    if (!rows)
        return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < sums->keys.count; i++)
        rows[i] = (struct sum_row){ sums->keys.items[i], &sums->items[i] };
    qsort(rows, sums->keys.count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < sums->keys.count && ok; i++)
        ok = write_row(import, &rows[i], type, values);
    free(rows);
    return ok;
}
