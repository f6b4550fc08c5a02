/* Rows in the order of columns: a radix sort of row numbers, which reads values where they are.  */
#include "libstore/columns_read.h"

#include <stdlib.h>

/* Counters of a digit stay in the first-level cache, but for a key that one larger digit holds.  */
#define DIGIT_BITS      11u
#define LONG_DIGIT_BITS 16u
#define MOST_DIGITS     6u
/* Places of keys, or of their upper bits: 32 MB.  */
#define MOST_ENDS ((uint64_t)1 << 23)
#define MOST_RUNS ((uint64_t)1 << 20)

/* Reads one column, row by row.  */
struct reader {
    struct store_columns *columns;
    enum columns_table table;
    const struct columns_key *key;
    uint64_t top; /* the largest key */
    int64_t minimum;
    const struct columns_text *texts;
    size_t text_count;
    int64_t first, limit; /* rows of the block */
    struct block block;
};

bool columns_can_order(const struct store_columns *columns, enum columns_table table,
                       const struct columns_key *key)
{
    const struct columns_range *range = &columns->sources[table].ranges[key->column];

    if (key->is_id || key->text >= 0)
        return true;
    if (columns_tables[table].texts >> key->column & 1) /* one letter is its own number */
        return range->minimum >= 0 && range->maximum < 256;
    return !range->has_reals &&
           (uint64_t)range->maximum - (uint64_t)range->minimum < UINT64_MAX - 2;
}

static void start(struct reader *reader, struct store_columns *columns, enum columns_table table,
                  const struct columns_key *key)
{
    const struct columns_source *source = &columns->sources[table];
    const struct columns_range *range = &source->ranges[key->column];

    *reader = (struct reader){ .columns = columns,
                               .table = table,
                               .key = key,
                               .minimum = range->minimum,
                               .top = (uint64_t)range->maximum - (uint64_t)range->minimum + 1 };
    if (key->is_id)
        reader->top = (uint64_t)source->directory.rows;
    if (!key->is_id && key->text >= 0) {
        reader->texts = columns->names.texts[key->text];
        reader->text_count = columns->names.count;
        reader->top = columns->names.count;
    }
}

static int enter(struct reader *reader, int64_t row)
{
    const struct columns_directory *directory = &reader->columns->sources[reader->table].directory;
    size_t group = columns_group_of_row(directory, row);
    const struct block *block;
    int code;

    columns_make_room(reader->columns);
    code = columns_view(reader->columns, reader->table, group, reader->key->column, &block);
    reader->block = *block;
    reader->first = directory->groups[group].first_row;
    reader->limit = reader->first + (int64_t)directory->groups[group].count;
    return code;
}

/* Keys begin with 1; 0 is NULL, which comes first.  Blocks may be damaged: no key is above the
 * top.  */
static inline int read_key(struct reader *reader, uint32_t row, uint64_t *out)
{
    uint64_t key = (uint64_t)row + 1;
    unsigned at;

    if (!reader->key->is_id) {
        if ((int64_t)row < reader->first || (int64_t)row >= reader->limit) {
            int code = enter(reader, row);

            if (code != SQLITE_OK)
                return code;
        }
        at = (unsigned)((int64_t)row - reader->first);
        key = 0;
        if (!block_is_null(&reader->block, at)) {
            int64_t value = block_value(&reader->block, at);

            if (!reader->texts)
                key = (uint64_t)value - (uint64_t)reader->minimum + 1;
            else if (value > 0 && value <= (int64_t)reader->text_count)
                key = reader->texts[value].rank;
        }
    }
    if (key > reader->top)
        key = reader->top;
    *out = reader->key->is_descending ? reader->top - key : key;
    return SQLITE_OK;
}

/* How often each value of each digit occurs.  */
struct counts {
    unsigned digits, bits;
    uint32_t *of[MOST_DIGITS];
};

static bool make_counts(struct counts *counts, uint64_t top)
{
    unsigned bits = top ? 64 - (unsigned)__builtin_clzll(top) : 1;

    counts->bits = bits <= LONG_DIGIT_BITS ? bits : DIGIT_BITS;
    counts->digits = (bits + counts->bits - 1) / counts->bits;
    counts->of[0] = calloc((size_t)counts->digits << counts->bits, sizeof *counts->of[0]);
    for (unsigned i = 1; counts->of[0] && i < counts->digits; i++)
        counts->of[i] = counts->of[0] + ((size_t)i << counts->bits);
    return counts->of[0] != NULL;
}

/* Also finds whether the rows are in order.  */
static int count(struct reader *reader, const uint32_t *rows, size_t row_count,
                 struct counts *counts, bool *in_order)
{
    uint64_t mask = (UINT64_C(1) << counts->bits) - 1, key = 0, before = 0;

    *in_order = true;
    for (size_t i = 0; i < row_count; i++) {
        int code = read_key(reader, rows[i], &key);

        if (code != SQLITE_OK)
            return code;
        *in_order &= before <= key;
        before = key;
        for (unsigned d = 0; d < counts->digits; d++)
            counts->of[d][key >> (d * counts->bits) & mask]++;
    }
    return SQLITE_OK;
}

/* Counts become places.  Returns false if all rows have the same digit: nothing to do.  */
static bool add_up(uint32_t *counts, size_t size, size_t row_count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < size; i++) {
        uint32_t here = counts[i];

        if (here == row_count)
            return false;
        counts[i] = sum;
        sum += here;
    }
    return true;
}

static int distribute(struct reader *reader, const uint32_t *from, uint32_t *to, size_t row_count,
                      const struct counts *counts, unsigned digit)
{
    uint64_t mask = (UINT64_C(1) << counts->bits) - 1, key = 0;
    uint32_t *places = counts->of[digit];

    for (size_t i = 0; i < row_count; i++) {
        int code = read_key(reader, from[i], &key);

        if (code != SQLITE_OK)
            return code;
        to[places[key >> (digit * counts->bits) & mask]++] = from[i];
    }
    return SQLITE_OK;
}

/* By one key.  The result is in *rows; *other has as much room.  */
static int sort_by(struct reader *reader, uint32_t **rows, uint32_t **other, size_t row_count)
{
    struct counts counts = { .digits = 0 };
    int code = make_counts(&counts, reader->top) ? SQLITE_OK : SQLITE_NOMEM;
    bool in_order = false;

    if (code == SQLITE_OK)
        code = count(reader, *rows, row_count, &counts, &in_order);
    for (unsigned d = 0; d < counts.digits && code == SQLITE_OK && !in_order; d++) {
        uint32_t *former = *rows;

        if (!add_up(counts.of[d], (size_t)1 << counts.bits, row_count))
            continue;
        code = distribute(reader, former, *other, row_count, &counts, d);
        *rows = *other;
        *other = former;
    }
    free(counts.of[0]);
    return code;
}

/* By several keys, the last one first.  */
static int sort_by_keys(struct store_columns *columns, enum columns_table table,
                        const struct columns_key *keys, size_t key_count, uint32_t **rows,
                        uint32_t **other, size_t row_count)
{
    int code = SQLITE_OK;

    for (size_t i = key_count; i-- > 0 && code == SQLITE_OK;) {
        struct reader reader;

        start(&reader, columns, table, &keys[i]);
        code = sort_by(&reader, rows, other, row_count);
    }
    return code;
}

/* ---- By two keys, where the rows of each first key are in order ---- */

/* For each first key: */
struct runs {
    uint32_t *places; /* how many rows it has; then where the next one goes */
    uint64_t *last;   /* the second key of the last one */
};

/* *in_order becomes false at the first row that is not.  */
static int count_runs(struct reader *first, struct reader *second, const uint32_t *rows,
                      size_t row_count, struct runs *runs, bool *in_order)
{
    uint64_t run = 0, now = 0;

    for (size_t i = 0; i < row_count && *in_order; i++) {
        int code = read_key(first, rows[i], &run);

        if (code == SQLITE_OK)
            code = read_key(second, rows[i], &now);
        if (code != SQLITE_OK)
            return code;
        *in_order = runs->last[run] <= now;
        runs->last[run] = now;
        runs->places[run]++;
    }
    return SQLITE_OK;
}

static int put_by_run(struct reader *first, const uint32_t *from, uint32_t *to, size_t row_count,
                      struct runs *runs)
{
    uint64_t run = 0;

    (void)add_up(runs->places, (size_t)first->top + 1, row_count + 1);
    for (size_t i = 0; i < row_count; i++) {
        int code = read_key(first, from[i], &run);

        if (code != SQLITE_OK)
            return code;
        to[runs->places[run]++] = from[i];
    }
    return SQLITE_OK;
}

/* The rows of a CPU or a track mostly are in the order of time: then it is enough to put each row
 * after those of its CPU.  Sets *done if that is all, and the rows are in *other.  */
static int sort_runs(struct store_columns *columns, enum columns_table table,
                     const struct columns_key *keys, const uint32_t *rows, uint32_t *other,
                     size_t row_count, bool *done)
{
    struct reader first, second;
    struct runs runs;
    int code = SQLITE_NOMEM;

    start(&first, columns, table, &keys[0]);
    start(&second, columns, table, &keys[1]);
    if (first.top >= MOST_RUNS || first.top > 2 * (uint64_t)row_count + 1024)
        return SQLITE_OK;
    runs.places = calloc((size_t)first.top + 1, sizeof *runs.places);
    runs.last = calloc((size_t)first.top + 1, sizeof *runs.last);
    *done = true;
    if (runs.places && runs.last)
        code = count_runs(&first, &second, rows, row_count, &runs, done);
    if (code == SQLITE_OK && *done)
        code = put_by_run(&first, rows, other, row_count, &runs);
    free(runs.places);
    free(runs.last);
    return code;
}

int columns_sort(struct store_columns *columns, enum columns_table table, uint32_t *rows,
                 size_t row_count, const struct columns_key *keys, size_t key_count)
{
    uint32_t *other, *own, *now = rows;
    bool done = false;
    int code;

    columns_make_room_for(columns, 2 * row_count * sizeof *rows);
    other = own = calloc(row_count + 1, sizeof *other);
    code = other ? SQLITE_OK : SQLITE_NOMEM;

    if (code == SQLITE_OK && key_count == 2)
        code = sort_runs(columns, table, keys, now, other, row_count, &done);
    if (done)
        now = other;
    else if (code == SQLITE_OK)
        code = sort_by_keys(columns, table, keys, key_count, &now, &other, row_count);
    if (code == SQLITE_OK && now != rows)
        memcpy(rows, now, row_count * sizeof *rows);
    free(own);
    return code;
}

/* ---- All rows ---- */

/* Whether read_key() has nothing to decide for the rows of its block.  */
static bool is_plain(const struct reader *reader)
{
    return !reader->key->is_id && !reader->key->is_descending && !reader->block.nulls &&
           !(reader->block.flags & BLOCK_ALL_NULL);
}

/* The upper digits of the keys of a group's rows.  */
static int read_digits(struct reader *reader, const struct columns_group *group, unsigned shift,
                       uint32_t *digits)
{
    uint32_t row = (uint32_t)group->first_row;
    uint64_t key = 0;
    int code = read_key(reader, row, &key); /* enters the group */

    if (code == SQLITE_OK && is_plain(reader) && !reader->texts) {
        for (uint32_t i = 0; i < group->count; i++) {
            key = (uint64_t)block_value(&reader->block, i) - (uint64_t)reader->minimum + 1;
            digits[i] = (uint32_t)((key < reader->top ? key : reader->top) >> shift);
        }
        return SQLITE_OK;
    }
    for (uint32_t i = 0; i < group->count && code == SQLITE_OK; i++) {
        code = read_key(reader, row + i, &key);
        digits[i] = (uint32_t)(key >> shift);
    }
    return code;
}

/* Row numbers by the upper digit of their keys, which is less than digit_count; then ends[digit] is
 * where its rows end.  ends is zeroed.  */
static int put_by_digit(struct reader *reader, uint32_t *rows, size_t digit_count, unsigned shift,
                        uint32_t *ends)
{
    const struct columns_directory *directory = &reader->columns->sources[reader->table].directory;
    uint32_t digits[BLOCK_ROWS] = { 0 }, sum = 0;
    int code = SQLITE_OK;

    for (size_t g = 0; g < directory->count && code == SQLITE_OK; g++) {
        code = read_digits(reader, &directory->groups[g], shift, digits);
        for (uint32_t i = 0; i < directory->groups[g].count && code == SQLITE_OK; i++)
            ends[digits[i]]++;
    }
    for (size_t i = 0; i < digit_count; i++) {
        uint32_t here = ends[i];

        ends[i] = sum;
        sum += here;
    }
    for (size_t g = 0; g < directory->count && code == SQLITE_OK; g++) {
        code = read_digits(reader, &directory->groups[g], shift, digits);
        for (uint32_t i = 0; i < directory->groups[g].count && code == SQLITE_OK; i++)
            rows[ends[digits[i]]++] = (uint32_t)directory->groups[g].first_row + i;
    }
    return code;
}

/* Each digit's rows by the rest of their keys.  */
static int sort_digits(struct reader *reader, uint32_t *rows, const uint32_t *ends, size_t digits)
{
    size_t most = 0, first = 0;
    uint32_t *scratch;
    int code = SQLITE_OK;

    for (size_t i = 0; i < digits; i++) {
        size_t count = ends[i] - (i > 0 ? ends[i - 1] : 0);

        most = count > most ? count : most;
    }
    scratch = malloc((most + 1) * sizeof *scratch);
    if (!scratch)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < digits && code == SQLITE_OK; first = ends[i++]) {
        uint32_t *now = rows + first, *other = scratch;

        if (ends[i] - first < 2)
            continue;
        code = sort_by(reader, &now, &other, ends[i] - first);
        if (now == scratch)
            memcpy(rows + first, scratch, (ends[i] - first) * sizeof *rows);
    }
    free(scratch);
    return code;
}

/* How many bits of keys from 0 to top do not fit a number of places that makes sense for the number
 * of rows.  */
static unsigned places_shift(uint64_t top, int64_t rows)
{
    uint64_t most = 4 * (uint64_t)rows + 1024;
    unsigned shift = 0;

    most = most < MOST_ENDS ? most : MOST_ENDS;
    while (top >> shift >= most)
        shift++;
    return shift;
}

/* Each key has its place.  */
static int sort_at_once(struct reader *reader, uint32_t *rows)
{
    size_t keys = (size_t)reader->top + 1;
    uint32_t *ends = calloc(keys, sizeof *ends);
    int code = ends ? put_by_digit(reader, rows, keys, 0, ends) : SQLITE_NOMEM;

    free(ends);
    return code;
}

int columns_sort_all(struct store_columns *columns, enum columns_table table, uint32_t *rows,
                     const struct columns_key *key)
{
    size_t row_count = (size_t)columns->sources[table].directory.rows;
    struct counts counts = { .digits = 0 };
    struct reader reader;
    unsigned shift;
    int code;

    columns_make_room_for(columns, row_count * sizeof *rows);
    start(&reader, columns, table, key);
    if (places_shift(reader.top, columns->sources[table].directory.rows) == 0)
        return sort_at_once(&reader, rows);
    if (!make_counts(&counts, reader.top))
        return SQLITE_NOMEM;
    shift = (counts.digits - 1) * counts.bits;
    code = put_by_digit(&reader, rows, (size_t)1 << counts.bits, shift, counts.of[0]);
    if (code == SQLITE_OK && counts.digits > 1)
        code = sort_digits(&reader, rows, counts.of[0], (size_t)1 << counts.bits);
    free(counts.of[0]);
    return code;
}

/* ---- The first few ---- */

struct candidate {
    uint64_t key;
    uint32_t row;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

/* Of rows with equal keys, former ones come first, so a later one must be smaller.  */
static int choose(struct reader *reader, size_t row_count, struct candidate *chosen, size_t wanted,
                  size_t *count)
{
    uint64_t worst = UINT64_MAX, key = 0;
    size_t used = 0;

    for (size_t i = 0; i < row_count; i++) {
        int code = read_key(reader, (uint32_t)i, &key);

        if (code != SQLITE_OK)
            return code;
        if (key >= worst)
            continue;
        chosen[used++] = (struct candidate){ .key = key, .row = (uint32_t)i };
        if (used < 2 * wanted)
            continue;
        qsort(chosen, used, sizeof *chosen, compare_candidates);
        used = wanted;
        worst = chosen[used - 1].key;
    }
    qsort(chosen, used, sizeof *chosen, compare_candidates);
    *count = used < wanted ? used : wanted;
    return SQLITE_OK;
}

int columns_first(struct store_columns *columns, enum columns_table table,
                  const struct columns_key *key, uint32_t *rows, size_t *count)
{
    struct candidate *chosen = malloc((2 * *count + 1) * sizeof *chosen);
    struct reader reader;
    int code;

    if (!chosen)
        return SQLITE_NOMEM;
    start(&reader, columns, table, key);
    code = choose(&reader, (size_t)columns->sources[table].directory.rows, chosen, *count, count);
    for (size_t i = 0; i < *count && code == SQLITE_OK; i++)
        rows[i] = chosen[i].row;
    free(chosen);
    return code;
}

/* Whether a group may have the first row; of rows that are NULL, if those come first.  */
static bool may_have_least(const struct reader *reader, const struct columns_group *group,
                           bool nulls_first)
{
    const struct columns_range *range =
        &reader->columns->sources[reader->table].ranges[reader->key->column];
    const struct block_shape *shape = &group->shapes[reader->key->column];

    if (nulls_first)
        return (shape->flags & (BLOCK_HAS_NULLS | BLOCK_ALL_NULL)) != 0;
    if (shape->flags & BLOCK_ALL_NULL)
        return false;
    return reader->key->is_descending ? shape->maximum == range->maximum
                                      : shape->minimum == range->minimum;
}

/* A smaller key than *least, in the rows of a group that are not NULL, or that all count.  */
static int find_least(struct reader *reader, const struct columns_group *group, uint64_t null_key,
                      uint64_t *least, uint32_t *out)
{
    uint64_t key = 0;

    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t row = (uint32_t)group->first_row + i;
        int code = read_key(reader, row, &key);

        if (code != SQLITE_OK)
            return code;
        if (key < *least && key != null_key) {
            *least = key;
            *out = row;
        }
    }
    return SQLITE_OK;
}

int columns_least(struct store_columns *columns, enum columns_table table,
                  const struct columns_key *key, bool is_valued, uint32_t *out, bool *found)
{
    const struct columns_directory *directory = &columns->sources[table].directory;
    bool nulls_first = columns->sources[table].ranges[key->column].has_nulls && !is_valued &&
                       !key->is_descending;
    uint64_t least = UINT64_MAX, best = !nulls_first && !key->is_descending, null_key = UINT64_MAX;
    struct reader reader;
    int code = SQLITE_OK;

    start(&reader, columns, table, key);
    if (is_valued)
        null_key = key->is_descending ? reader.top : 0;
    for (size_t i = 0; i < directory->count && least > best && code == SQLITE_OK; i++)
        if (may_have_least(&reader, &directory->groups[i], nulls_first))
            code = find_least(&reader, &directory->groups[i], null_key, &least, out);
    *found = least < UINT64_MAX;
    return code;
}

/* ---- Indexes ---- */

/* Of a key, the digit that indexes have the ends of: as many bits as fit the bound, and as make
 * sense for the number of rows.  */
static unsigned index_shift(const struct columns_source *source, unsigned column, size_t *digits)
{
    const struct columns_range *range = &source->ranges[column];
    uint64_t top = (uint64_t)range->maximum - (uint64_t)range->minimum + 1;
    unsigned shift = places_shift(top, source->directory.rows);

    *digits = (size_t)(top >> shift) + 1;
    return shift;
}

static size_t index_size(const struct columns_source *source, unsigned column)
{
    size_t digits;

    (void)index_shift(source, column, &digits);
    return ((size_t)source->directory.rows + 1 + digits) * sizeof(uint32_t);
}

bool columns_may_index(const struct store_columns *columns, enum columns_table table,
                       unsigned column)
{
    const struct columns_source *source = &columns->sources[table];
    struct columns_key key = { .column = (uint8_t)column, .text = -1 };

    return source->indexes[column].rows ||
           (columns_can_order(columns, table, &key) &&
            index_size(source, column) + columns->index_bytes <= columns->most_index_bytes);
}

static int make_index(struct store_columns *columns, enum columns_table table, unsigned column)
{
    struct columns_source *source = &columns->sources[table];
    struct columns_key key = { .column = (uint8_t)column, .text = -1 };
    size_t row_count = (size_t)source->directory.rows, digits;
    struct columns_index made = { .shift = index_shift(source, column, &digits) };
    struct reader reader;
    int code = SQLITE_NOMEM;

    columns_make_room_for(columns, index_size(source, column));
    made.rows = calloc(row_count + 1, sizeof *made.rows);
    made.ends = calloc(digits, sizeof *made.ends);
    start(&reader, columns, table, &key);
    if (made.rows && made.ends)
        code = put_by_digit(&reader, made.rows, digits, made.shift, made.ends);
    if (code == SQLITE_OK && made.shift > 0)
        code = columns_sort_all(columns, table, made.rows, &key);
    if (code != SQLITE_OK) {
        free(made.rows);
        free(made.ends);
        return code;
    }
    made.scans = source->indexes[column].scans;
    source->indexes[column] = made;
    columns->index_bytes += index_size(source, column);
    return SQLITE_OK;
}

/* From *out to limit in the index, the first place whose key is at least that.  */
static int find_place(struct reader *reader, const uint32_t *rows, size_t limit, uint64_t key,
                      size_t *out)
{
    size_t low = *out, high = limit;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t here = 0;
        int code = read_key(reader, rows[middle], &here);

        if (code != SQLITE_OK)
            return code;
        if (here < key)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return SQLITE_OK;
}

/* The rows of a digit from *first to *limit -> those of a key.  */
static int narrow_places(struct store_columns *columns, enum columns_table table, unsigned column,
                         uint64_t wanted, size_t *first, size_t *limit)
{
    const uint32_t *rows = columns->sources[table].indexes[column].rows;
    struct columns_key key = { .column = (uint8_t)column, .text = -1 };
    size_t next;
    struct reader reader;
    int code;

    start(&reader, columns, table, &key);
    code = find_place(&reader, rows, *limit, wanted, first);
    next = *first;
    if (code == SQLITE_OK)
        code = find_place(&reader, rows, *limit, wanted + 1, &next);
    *limit = next;
    return code;
}

int columns_find(struct store_columns *columns, enum columns_table table, unsigned column,
                 int64_t value, const uint32_t **out, size_t *found)
{
    struct columns_source *source = &columns->sources[table];
    const struct columns_range *range = &source->ranges[column];
    const struct columns_index *index = &source->indexes[column];
    uint64_t wanted = (uint64_t)value - (uint64_t)range->minimum + 1, digit;
    size_t first = 0, limit = 0;
    int code = SQLITE_OK;

    *found = 0;
    *out = NULL;
    if (value < range->minimum || value > range->maximum)
        return SQLITE_OK;
    if (!index->rows)
        code = make_index(columns, table, column);
    if (code != SQLITE_OK)
        return code;
    digit = wanted >> index->shift;
    first = digit > 0 ? index->ends[digit - 1] : 0;
    limit = index->ends[digit];
    if (index->shift > 0)
        code = narrow_places(columns, table, column, wanted, &first, &limit);
    *out = index->rows + first;
    *found = limit - first;
    return code;
}
