/* Sums and extremes of rows by the values of one column, in one pass over the rows.  */
#include "libstore/columns_combine.h"

#include <stdlib.h>

#define TOTALS_MOST_BYTES ((uint64_t)16 << 20)

/* How many keys there may be; 0: too many.  */
static uint64_t count_keys(const struct columns_cursor *cursor, const struct totals *totals)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const struct columns_range *range = &cursor->source->ranges[totals->by.is->column];
    uint64_t each = sizeof *totals->groups + totals->columns * sizeof *totals->values;
    uint64_t most = TOTALS_MOST_BYTES / each, last;

    if (combined_is_text(&totals->by))
        last = table->columns->names.count;
    else if (range->has_reals)
        return 0;
    else
        last = (uint64_t)range->maximum - (uint64_t)range->minimum + 1;
    return last > 0 && last < most && last < (uint64_t)cursor->source->directory.rows ? last + 1
                                                                                      : 0;
}

/* ---- Rows of a block ---- */

/* Where the values of each of some rows are added: at values[stride * places[i]].  */
struct target {
    struct combined_values *values;
    size_t stride;
    const uint32_t *places;
};

/* Values that are all integers, and none is NULL.  */
static inline void add_integers(const struct block *block, unsigned at, unsigned count,
                                uint8_t uses, const struct target *target)
{
    for (unsigned i = 0; i < count; i++) {
        const struct combined_number number = { .value = block_value(block, at + i) };

        combined_add(&target->values[target->stride * target->places[i]], uses, &number);
    }
}

static void add_any(const struct block *block, unsigned at, unsigned count, uint8_t uses,
                    const struct target *target)
{
    for (unsigned i = 0; i < count; i++) {
        struct combined_number number = { .is_real = false };

        if (block_is_null(block, at + i))
            continue;
        number.value = block_value(block, at + i);
        number.is_real = block_is_real(block, at + i);
        combined_add(&target->values[target->stride * target->places[i]], uses, &number);
    }
}

static int add_column(struct columns_cursor *cursor, const struct combined_column *column,
                      unsigned count, const struct target *target)
{
    unsigned at = cursor_at(cursor);
    const struct block *block;
    int code;

    if (column->source == FROM_ID) {
        for (unsigned i = 0; i < count; i++) {
            const struct combined_number number = { .value = columns_id_of(cursor) + i };

            combined_add(&target->values[target->stride * target->places[i]], column->uses,
                         &number);
        }
        return SQLITE_OK;
    }
    code = cursor_block(cursor, column->is->column, &block);
    if (code != SQLITE_OK)
        return code;
    if (block->nulls || (block->flags & BLOCK_HAS_OTHERS))
        add_any(block, at, count, column->uses, target);
    else if (column->uses == USE_SUM) /* for the compiler: one loop for it alone */
        add_integers(block, at, count, USE_SUM, target);
    else
        add_integers(block, at, count, column->uses, target);
    return SQLITE_OK;
}

int combined_add_ahead(struct columns_cursor *cursor, const struct combined_column *columns,
                       unsigned count, struct combined_values *values, const uint32_t *places)
{
    unsigned rows = combined_ahead(cursor);
    int code = SQLITE_OK;

    for (unsigned i = 0; i < count && code == SQLITE_OK; i++) {
        const struct target target = { .values = values + i, .stride = count, .places = places };

        code = add_column(cursor, &columns[i], rows, &target);
    }
    cursor->row += rows - 1;
    cursor->left = 0;
    return code;
}

/* ---- All rows ---- */

/* Values that are integers, and none is NULL.  */
static void find_integers(const struct block *block, unsigned at, unsigned count,
                          const struct totals *totals, uint64_t *keys)
{
    const uint64_t first = (uint64_t)totals->minimum - 1;

    for (unsigned i = 0; i < count; i++)
        keys[i] = (uint64_t)block_value(block, at + i) - first;
}

static void find_any(const struct columns_cursor *cursor, const struct block *block, unsigned count,
                     const struct totals *totals, uint64_t *keys)
{
    const uint64_t first = combined_is_text(&totals->by) ? 0 : (uint64_t)totals->minimum - 1;
    unsigned at = cursor_at(cursor);

    for (unsigned i = 0; i < count; i++) {
        keys[i] = 0;
        if (!block_is_null(block, at + i))
            keys[i] = (uint64_t)combined_rank(cursor, &totals->by, block_value(block, at + i)) -
                      first;
    }
}

/* Find the group of each of the next rows.  The values of its first row belong to none: their place
 * is after those of all groups.  */
static int find_places(struct columns_cursor *cursor, struct totals *totals, uint32_t *places)
{
    unsigned count = combined_ahead(cursor);
    uint64_t keys[BLOCK_ROWS];
    const struct block *block;
    int code = cursor_block(cursor, totals->by.is->column, &block);

    if (code != SQLITE_OK)
        return code;
    if (block->nulls || (block->flags & BLOCK_HAS_OTHERS) || combined_is_text(&totals->by))
        find_any(cursor, block, count, totals, keys);
    else
        find_integers(block, cursor_at(cursor), count, totals, keys);
    for (unsigned i = 0; i < count; i++) {
        struct total *group;

        if (keys[i] >= totals->keys)
            return SQLITE_CORRUPT_VTAB; /* the summary of the block is wrong */
        group = &totals->groups[keys[i]];
        places[i] = (uint32_t)keys[i];
        if (group->rows++ > 0)
            continue;
        group->first = (uint32_t)(cursor->row + i);
        places[i] = (uint32_t)totals->keys;
    }
    return SQLITE_OK;
}

static int add_rows(struct columns_cursor *cursor, struct totals *totals)
{
    const struct combined *combined = cursor->combined;
    uint32_t places[BLOCK_ROWS] = { 0 };
    int code = SQLITE_OK;

    while (code == SQLITE_OK && !cursor->at_end) {
        code = find_places(cursor, totals, places);
        if (code == SQLITE_OK)
            code = combined_add_ahead(cursor, combined->columns + combined->keys, totals->columns,
                                      totals->values, places);
        if (code == SQLITE_OK)
            code = rows_next(cursor);
    }
    return code;
}

int totals_make(struct columns_cursor *cursor, const struct combined_column *by,
                struct totals **out)
{
    const struct combined *combined = cursor->combined;
    struct totals *totals = calloc(1, sizeof *totals);
    int code = SQLITE_OK;

    *out = NULL;
    if (!totals)
        return SQLITE_NOMEM;
    totals->by = *by;
    totals->minimum = cursor->source->ranges[by->is->column].minimum;
    totals->columns = combined->count - combined->keys;
    totals->keys = count_keys(cursor, totals);
    if (totals->keys > 0) {
        totals->groups = calloc(totals->keys, sizeof *totals->groups);
        totals->values = calloc((totals->keys + 1) * (totals->columns + 1), sizeof *totals->values);
        code = totals->groups && totals->values ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (code == SQLITE_OK && totals->keys > 0)
        code = add_rows(cursor, totals);
    if (code != SQLITE_OK || totals->keys == 0) {
        totals_release(totals);
        return code;
    }
    *out = totals;
    return SQLITE_OK;
}

void totals_release(struct totals *totals)
{
    if (!totals)
        return;
    free(totals->groups);
    free(totals->values);
    free(totals);
}

bool totals_seek(const struct totals *totals, uint64_t *key, int step)
{
    while (*key < totals->keys && totals->groups[*key].rows == 0)
        *key += (uint64_t)(int64_t)step;
    return *key < totals->keys;
}

bool totals_find(const struct totals *totals, int64_t value, uint64_t *key)
{
    *key = (uint64_t)value - (uint64_t)totals->minimum + 1;
    return value >= totals->minimum && *key < totals->keys && totals->groups[*key].rows > 0;
}
