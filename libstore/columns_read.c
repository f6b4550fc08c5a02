/* Blocks from the store, checked when they are first used.  */
#include "libstore/columns_read.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "libstore/keyed_rows.h"

#define KEPT_BYTES       ((size_t)160 << 20)
#define LEAST_KEPT_BYTES ((size_t)48 << 20)
/* While an index is made, it takes as much again.  */
#define INDEX_BYTES ((size_t)128 << 20)
/* Names of a hostile store: more are left to the plain tables.  */
#define MOST_NAMES       ((size_t)1 << 24)
#define MOST_NAMES_BYTES ((size_t)64 << 20)
/* Ids of strings between the first and the last key of arguments; and texts of keys.  */
#define MOST_KEY_IDS   ((size_t)1 << 22)
#define MOST_KEY_BYTES ((size_t)16 << 20)

static const uint8_t nothing[BLOCK_PADDING]; /* the bytes of a block without any */

/* ---- Handles ---- */

struct store_columns *columns_new(struct store *store)
{
    struct store_columns *columns = calloc(1, sizeof *columns);

    if (!columns)
        return NULL;
    columns->store = store;
    columns->db = store->db;
    columns->references = 1;
    columns->weight = 1;
    columns->most_index_bytes = INDEX_BYTES;
    columns->most_keyed_bytes = KEYED_MOST_BYTES;
    return columns;
}

static void drop_blocks(struct store_columns *columns)
{
    for (int table = 0; table < COLUMNS_TABLES; table++) {
        struct columns_source *source = &columns->sources[table];

        for (size_t i = 0; source->blocks && i < source->directory.count * COLUMNS_MOST; i++) {
            if (source->blocks[i].bytes != nothing)
                free((void *)source->blocks[i].bytes);
            source->blocks[i].bytes = NULL;
        }
    }
    columns->kept_bytes = 0;
}

static void drop_names(struct store_columns *columns)
{
    for (int i = 0; i < 2; i++) {
        free(columns->names.texts[i]);
        free(columns->names.sorted[i]);
    }
    free(columns->names.bytes);
    columns->names = (struct columns_names){ .bytes = NULL };
    columns->has_names = false;
    free(columns->captures);
    columns->captures = NULL;
    columns->capture_count = 0;
}

static void drop_keys(struct store_columns *columns)
{
    for (size_t i = 0; i < columns->keys.used; i++)
        free((void *)columns->keys.texts[i].bytes);
    free((void *)columns->keys.last.bytes);
    free(columns->keys.texts);
    free(columns->keys.places);
    columns->keys = (struct columns_keys){ .places = NULL };
}

/* Blocks and lists of rows share the bound; a query that goes from block to block needs few.  */
void columns_make_room_for(struct store_columns *columns, size_t bytes)
{
    size_t lists = columns->list_bytes + bytes;
    size_t most = lists < KEPT_BYTES - LEAST_KEPT_BYTES ? KEPT_BYTES - lists : LEAST_KEPT_BYTES;

    if (columns->kept_bytes <= most)
        return;
    drop_blocks(columns);
#ifdef __GLIBC__
    if (bytes > 0)
        (void)malloc_trim(0); /* blocks are small: what they took would stay in the heap */
#endif
}

void columns_make_room(struct store_columns *columns)
{
    columns_make_room_for(columns, 0);
}

/* Everything that was read from the store.  */
static void forget(struct store_columns *columns)
{
    drop_blocks(columns);
    drop_names(columns);
    drop_keys(columns);
    small_release(&columns->tracks);
    columns->index_bytes = 0;
    for (int table = 0; table < COLUMNS_TABLES; table++) {
        struct columns_source *source = &columns->sources[table];

        for (unsigned i = 0; i < COLUMNS_MOST; i++) {
            free(source->indexes[i].rows);
            free(source->indexes[i].ends);
        }
        free(source->blocks);
        columns_directory_release(&source->directory);
        *source = (struct columns_source){ .is_there = false };
    }
}

void columns_drop(void *context)
{
    struct store_columns *columns = context;

    if (!columns || --columns->references > 0)
        return;
    forget(columns);
    columns_finalize(columns);
    free(columns);
}

void columns_finalize(struct store_columns *columns)
{
    (void)sqlite3_finalize(columns->hold);
    (void)sqlite3_finalize(columns->block);
    (void)sqlite3_finalize(columns->key);
    (void)sqlite3_finalize(columns->argument);
    (void)sqlite3_finalize(columns->thread);
    columns->hold = columns->block = columns->key = columns->argument = columns->thread = NULL;
}

/* ---- The state of the store ---- */

static void note_range(struct columns_range *range, const struct block_shape *shape, bool is_first)
{
    range->has_nulls |= (shape->flags & (BLOCK_HAS_NULLS | BLOCK_ALL_NULL)) != 0;
    range->has_reals |= (shape->flags & (BLOCK_ALL_REAL | BLOCK_HAS_REALS)) != 0;
    if (is_first || shape->minimum < range->minimum)
        range->minimum = shape->minimum;
    if (is_first || shape->maximum > range->maximum)
        range->maximum = shape->maximum;
}

/* Whether no value of the column is less than one of a row before.  */
static bool is_sorted(const struct columns_directory *directory, unsigned column)
{
    for (size_t i = 0; i < directory->count; i++) {
        const struct block_shape *shape = &directory->groups[i].shapes[column];

        if (!(shape->flags & BLOCK_IS_SORTED) ||
            (i > 0 && shape->minimum < directory->groups[i - 1].shapes[column].maximum))
            return false;
    }
    return true;
}

static void note_ranges(struct columns_source *source, enum columns_table table)
{
    for (unsigned c = 0; c < columns_tables[table].count; c++) {
        bool is_first = true;

        source->sorted |= (uint32_t)is_sorted(&source->directory, c) << c;
        for (size_t i = 0; i < source->directory.count; i++) {
            const struct block_shape *shape = &source->directory.groups[i].shapes[c];

            source->ranges[c].has_nulls |= (shape->flags & BLOCK_ALL_NULL) != 0;
            if (shape->flags & BLOCK_ALL_NULL)
                continue;
            note_range(&source->ranges[c], shape, is_first);
            is_first = false;
        }
    }
}

/* To make a damaged block again costs a scan of its rows, for each of its columns.  If many blocks
 * are damaged, the plain table is faster.  */
#define CHECKED_BLOCKS 16u
#define MOST_REMADE    8u

bool columns_can_read(const struct store_columns *columns, enum columns_table table)
{
    const struct columns_source *source = &columns->sources[table];

    return columns->are_current && source->is_there && source->remade < MOST_REMADE;
}

static int read_block(struct store_columns *columns, int64_t id, const struct block_shape *shape,
                      uint8_t **out);

/* Whether a block, by its number in the table, is as it was written.  SQLite's code.  */
static int check_block(struct store_columns *columns, enum columns_table table, size_t number,
                       bool *is_sound)
{
    const struct columns_directory *directory = &columns->sources[table].directory;
    const struct columns_group *group = &directory->groups[number % directory->count];
    unsigned column = (unsigned)(number / directory->count);
    uint8_t *bytes = NULL;
    int code = SQLITE_OK;

    if (group->shapes[column].size > 0) {
        code = read_block(columns, group->base + column, &group->shapes[column], &bytes);
        *is_sound = bytes || code != SQLITE_OK;
    }
    free(bytes);
    return code;
}

/* Check some blocks, from all parts of the table; all if there are few.  */
static int check_blocks(struct store_columns *columns, enum columns_table table)
{
    struct columns_source *source = &columns->sources[table];
    size_t count = source->directory.count * columns_tables[table].count;
    bool is_sound = true;
    int code = SQLITE_OK;

    if (source->directory.count == 0)
        return SQLITE_OK;
    for (size_t i = 0; i < count && i < CHECKED_BLOCKS && is_sound && code == SQLITE_OK; i++) {
        /* Multiples of the golden ratio are spread evenly, and in no pattern.  */
        size_t at = (size_t)((i * UINT64_C(0x9e3779b97f4a7c15) >> 32) * count >> 32);

        code = check_block(columns, table, count <= CHECKED_BLOCKS ? i : at, &is_sound);
    }
    columns->damaged += !is_sound;
    source->is_there = source->is_there && is_sound;
    return code;
}

/* Whether the columns are of as many rows as the plain table; a cheap look at what the identity
 * proves.  */
static int load_source(struct store_columns *columns, enum columns_table table)
{
    struct columns_source *source = &columns->sources[table];
    enum store_status status = STORE_CORRUPT;
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(columns->db, "SELECT data FROM main.column_data WHERE id = ?1",
                                  -1, &row, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int(row, 1, 1 + (int)table);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        const uint8_t *bytes = sqlite3_column_blob(row, 0);

        status = columns_directory_parse(bytes, bytes ? (size_t)sqlite3_column_bytes(row, 0) : 0,
                                         table, &source->directory);
        columns->damaged += status == STORE_CORRUPT;
    }
    (void)sqlite3_finalize(row);
    if (status == STORE_NO_MEMORY)
        return SQLITE_NOMEM;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    if (status != STORE_OK || source->directory.rows >= UINT32_MAX)
        return SQLITE_OK;
    source->blocks = calloc(source->directory.count * COLUMNS_MOST + 1, sizeof *source->blocks);
    if (!source->blocks)
        return SQLITE_NOMEM;
    source->is_there = true;
    note_ranges(source, table);
    return check_blocks(columns, table);
}

/* Arguments: whether ids of keys are few enough, and whether some slices have two sets.  */
static int look_at_args(struct store_columns *columns)
{
    struct columns_source *source = &columns->sources[COLUMNS_ARG];
    const struct columns_range *range = &source->ranges[ARG_KEY];
    sqlite3_stmt *row = NULL;
    int code;

    if (!source->is_there)
        return SQLITE_OK;
    if (source->directory.rows > 0 &&
        (!(source->sorted >> ARG_SET & 1) || range->has_nulls || range->has_reals ||
         (uint64_t)range->maximum - (uint64_t)range->minimum >= MOST_KEY_IDS))
        source->is_there = false;
    code = sqlite3_prepare_v2(columns->db, "SELECT 1 FROM main.arg_set_end LIMIT 1", -1, &row,
                              NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    columns->has_arg_ends = code == SQLITE_ROW;
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int look(struct store_columns *columns)
{
    struct store_error error;
    int code = SQLITE_OK;

    forget(columns);
    columns->are_current = columns->store->columns.are_current;
    if (columns->store->path && !columns->store->is_new &&
        store_columns_look(columns->store, &columns->are_current, &error) != STORE_OK)
        return error.status == STORE_NO_MEMORY ? SQLITE_NOMEM : SQLITE_IOERR;
    for (int table = 0; table < COLUMNS_TABLES && columns->are_current && code == SQLITE_OK;
         table++)
        code = load_source(columns, (enum columns_table)table);
    if (code == SQLITE_OK)
        code = look_at_args(columns);
    if (code != SQLITE_OK)
        forget(columns);
    return code;
}

int columns_hold(struct store_columns *columns)
{
    uint32_t version = 0;
    int code = SQLITE_OK;

    if (columns->holds++ > 0)
        return SQLITE_OK;
    if (!columns->hold)
        code = sqlite3_prepare_v3(columns->db, "SELECT 1 FROM main.sqlite_schema", -1,
                                  SQLITE_PREPARE_PERSISTENT, &columns->hold, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(columns->hold);
    if (code == SQLITE_ROW)
        code = sqlite3_file_control(columns->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    if (code == SQLITE_OK && (!columns->was_looked || version != columns->data_version)) {
        columns->was_looked = false;
        code = look(columns);
        columns->was_looked = code == SQLITE_OK;
        columns->data_version = version;
    }
    if (code != SQLITE_OK)
        columns_let_go(columns);
    return code;
}

void columns_let_go(struct store_columns *columns)
{
    if (--columns->holds == 0)
        (void)sqlite3_reset(columns->hold);
}

/* ---- Blocks ---- */

static uint8_t *copy(const uint8_t *bytes, size_t size)
{
    uint8_t *result = calloc(1, size + BLOCK_PADDING);

    if (result && size > 0)
        memcpy(result, bytes, size);
    return result;
}

static bool row_value(sqlite3_stmt *row, bool is_text, bool is_argument, int64_t *value,
                      uint8_t *type)
{
    double real;

    *value = 0;
    *type = BLOCK_NULL;
    if (is_argument && sqlite3_column_type(row, 1) != SQLITE_INTEGER &&
        sqlite3_column_type(row, 1) != SQLITE_FLOAT)
        return true; /* texts and blobs are in the plain table alone */
    switch (sqlite3_column_type(row, 1)) {
    case SQLITE_INTEGER:
        *value = sqlite3_column_int64(row, 1);
        *type = BLOCK_INTEGER;
        return !is_text;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(row, 1);
        memcpy(value, &real, sizeof real);
        *type = BLOCK_REAL;
        return !is_text;
    case SQLITE_TEXT:
        *type = BLOCK_INTEGER;
        return is_text && block_text_number((const char *)sqlite3_column_text(row, 1),
                                            (size_t)sqlite3_column_bytes(row, 1), value);
    case SQLITE_NULL:
        return true;
    default:
        return false;
    }
}

struct remade {
    int64_t values[BLOCK_ROWS];
    uint8_t types[BLOCK_ROWS], packed[BLOCK_MOST_BYTES];
};

/* The rows of a group, from the plain table.  */
static int read_rows(sqlite3_stmt *row, const struct columns_group *group,
                     const struct columns_table_info *info, unsigned column, struct remade *out)
{
    int code = SQLITE_DONE;
    unsigned i = 0;

    while (i < group->count && (code = sqlite3_step(row)) == SQLITE_ROW) {
        if ((!info->has_sets && sqlite3_column_int64(row, 0) != group->first_id + (int64_t)i) ||
            !row_value(row, info->texts >> column & 1, info->has_sets && column == ARG_VALUE,
                       &out->values[i], &out->types[i]))
            return SQLITE_CORRUPT;
        i++;
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    return i == group->count ? SQLITE_OK : SQLITE_CORRUPT;
}

/* A block that is damaged.  Its group then has the shape of what is made here.  */
static int remake(struct store_columns *columns, enum columns_table table,
                  const struct columns_group *group, unsigned column, struct block_shape *shape,
                  uint8_t **out)
{
    const struct columns_table_info *info = &columns_tables[table];
    char *sql = sqlite3_mprintf("SELECT %s, \"%w\" FROM main.\"%w\" WHERE %s >= ?1 ORDER BY %s",
                                info->has_sets ? "arg_set_id" : "id", info->columns[column],
                                info->name, info->has_sets ? "arg_set_id" : "id",
                                info->has_sets ? "arg_set_id, ordinal" : "id");
    struct remade *remade = malloc(sizeof *remade);
    sqlite3_stmt *row = NULL;
    int code = sql && remade ? sqlite3_prepare_v2(columns->db, sql, -1, &row, NULL) : SQLITE_NOMEM;

    columns->damaged++;
    columns->sources[table].remade++;
    sqlite3_free(sql);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(
            row, 1, info->has_sets ? group->shapes[ARG_SET].minimum : group->first_id);
    if (code == SQLITE_OK)
        code = read_rows(row, group, info, column, remade);
    if (code == SQLITE_OK) {
        block_pack(remade->values, remade->types, group->count, shape, remade->packed);
        *out = copy(remade->packed, shape->size);
        code = *out ? SQLITE_OK : SQLITE_NOMEM;
    }
    (void)sqlite3_finalize(row);
    free(remade);
    return code;
}

/* The bytes of a block; *out is NULL if they are not what was written.  */
static int read_block(struct store_columns *columns, int64_t id, const struct block_shape *shape,
                      uint8_t **out)
{
    int code = SQLITE_OK;

    *out = NULL;
    if (!columns->block)
        code = sqlite3_prepare_v3(columns->db, "SELECT data FROM main.column_data WHERE id = ?1",
                                  -1, SQLITE_PREPARE_PERSISTENT, &columns->block, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(columns->block, 1, id);
    if (code == SQLITE_OK)
        code = sqlite3_step(columns->block);
    if (code == SQLITE_ROW) {
        const uint8_t *bytes = sqlite3_column_blob(columns->block, 0);

        if ((uint32_t)sqlite3_column_bytes(columns->block, 0) == shape->size && bytes &&
            block_checksum(bytes, shape->size) == shape->checksum) {
            *out = copy(bytes, shape->size);
            code = *out ? SQLITE_OK : SQLITE_NOMEM;
        }
    }
    if (columns->block)
        (void)sqlite3_reset(columns->block);
    return code == SQLITE_ROW || code == SQLITE_DONE || (code & 0xff) == SQLITE_CORRUPT ? SQLITE_OK
                                                                                        : code;
}

static int load_block(struct store_columns *columns, enum columns_table table, size_t group,
                      unsigned column)
{
    struct columns_source *source = &columns->sources[table];
    struct columns_group *of = &source->directory.groups[group];
    struct block_shape *shape = &of->shapes[column];
    struct block *block = &source->blocks[group * COLUMNS_MOST + column];
    uint8_t *bytes = NULL;
    int code;

    if (shape->size == 0) {
        block_view(block, shape, nothing, of->count);
        return SQLITE_OK;
    }
    code = read_block(columns, of->base + column, shape, &bytes);
    if (code == SQLITE_OK && !bytes)
        code = remake(columns, table, of, column, shape, &bytes);
    if (code != SQLITE_OK)
        return code;
    block_view(block, shape, bytes, of->count);
    columns->kept_bytes += shape->size + BLOCK_PADDING;
    return SQLITE_OK;
}

int columns_view(struct store_columns *columns, enum columns_table table, size_t group,
                 unsigned column, const struct block **out)
{
    const struct block *block = &columns->sources[table].blocks[group * COLUMNS_MOST + column];

    *out = block;
    return block->bytes ? SQLITE_OK : load_block(columns, table, group, column);
}

/* ---- Finding ---- */

size_t columns_group_of_row(const struct columns_directory *directory, int64_t row)
{
    size_t guess = (size_t)row / BLOCK_ROWS, low = 0, high = directory->count;

    if (guess < high && row >= directory->groups[guess].first_row &&
        row - directory->groups[guess].first_row < directory->groups[guess].count)
        return guess;
    BASE_BISECT(low, high, i,
                row >= directory->groups[i].first_row + (int64_t)directory->groups[i].count);
    return low;
}

size_t columns_first_group(const struct columns_directory *directory, int64_t id)
{
    size_t low = 0, high = directory->count;

    BASE_BISECT(low, high, i,
                id >= directory->groups[i].first_id + (int64_t)directory->groups[i].count);
    return low;
}

size_t columns_group_of_id(const struct columns_directory *directory, int64_t id)
{
    size_t group;

    if (directory->count == 0 || id < directory->groups[0].first_id)
        return directory->count;
    if (id - directory->groups[0].first_id < directory->rows) {
        size_t guess = (size_t)(id - directory->groups[0].first_id) / BLOCK_ROWS;

        if (guess < directory->count && id >= directory->groups[guess].first_id &&
            id - directory->groups[guess].first_id < directory->groups[guess].count)
            return guess;
    }
    group = columns_first_group(directory, id);
    return group < directory->count && id >= directory->groups[group].first_id ? group
                                                                               : directory->count;
}

/* In the group.  */
static int lower_bound_in(struct store_columns *columns, enum columns_table table, unsigned column,
                          int64_t value, size_t group, int64_t *out)
{
    const struct columns_group *of = &columns->sources[table].directory.groups[group];
    unsigned low = 0, high = of->count;
    const struct block *block;
    int code = columns_view(columns, table, group, column, &block);

    if (code == SQLITE_OK)
        BASE_BISECT(low, high, i, block_value(block, i) < value);
    *out = of->first_row + (int64_t)low;
    return code;
}

int columns_lower_bound(struct store_columns *columns, enum columns_table table, unsigned column,
                        int64_t value, size_t *hint, int64_t *out)
{
    const struct columns_directory *directory = &columns->sources[table].directory;
    size_t low = 0, high = directory->count;

    if (*hint < high && directory->groups[*hint].shapes[column].minimum < value &&
        value <= directory->groups[*hint].shapes[column].maximum)
        low = high = *hint;
    BASE_BISECT(low, high, i, directory->groups[i].shapes[column].maximum < value);
    *out = directory->rows;
    if (low == directory->count)
        return SQLITE_OK;
    *hint = low;
    return lower_bound_in(columns, table, column, value, low, out);
}

/* ---- Names ---- */

struct texts {
    char *bytes;
    size_t used, capacity;
    size_t *starts[2];
    size_t capacities[2];
};

static bool add_text(struct texts *texts, int which, size_t id, sqlite3_stmt *row)
{
    const void *text = sqlite3_column_text(row, which + 1);
    size_t length = (size_t)sqlite3_column_bytes(row, which + 1);

    if (!text && sqlite3_column_type(row, which + 1) != SQLITE_NULL)
        return false;
    if (!base_make_room(&texts->starts[which], &texts->capacities[which], id + 2,
                        sizeof *texts->starts[which]) ||
        !base_make_room(&texts->bytes, &texts->capacity, texts->used + length + 1, 1))
        return false;
    texts->starts[which][id] = texts->used;
    if (text)
        memcpy(texts->bytes + texts->used, text, length);
    texts->used += length;
    texts->bytes[texts->used++] = '\0';
    return true;
}

static int compare_texts(const void *a, const void *b, void *context)
{
    const struct columns_text *texts = context;
    const struct columns_text *left = &texts[*(const uint32_t *)a];
    const struct columns_text *right = &texts[*(const uint32_t *)b];
    uint32_t length = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->bytes, right->bytes, length);

    if (order != 0 || left->length == right->length)
        return order;
    return left->length < right->length ? -1 : 1;
}

static bool rank(struct columns_names *names, int which)
{
    struct columns_text *texts = names->texts[which];
    uint32_t *sorted = malloc((names->count + 1) * sizeof *sorted);

    if (!sorted)
        return false;
    for (size_t i = 0; i < names->count; i++)
        sorted[i] = (uint32_t)i + 1;
    qsort_r(sorted, names->count, sizeof *sorted, compare_texts, texts);
    for (size_t i = 0; i < names->count; i++) {
        bool is_equal = i > 0 && compare_texts(&sorted[i - 1], &sorted[i], texts) == 0;

        texts[sorted[i]].rank = i == 0 ? 1 : texts[sorted[i - 1]].rank + !is_equal;
    }
    names->sorted[which] = sorted;
    return true;
}

/* Texts get their addresses when no more are added.  */
static bool place(struct columns_names *names, const struct texts *texts, int which)
{
    struct columns_text *items = calloc(names->count + 2, sizeof *items);

    if (!items || (names->count > 0 && (!texts->starts[0] || !texts->starts[1]))) {
        free(items);
        return false;
    }
    names->texts[which] = items;
    for (size_t i = 1; i <= names->count; i++) {
        size_t start = texts->starts[which][i];
        size_t next = which == COLUMNS_CATEGORY ? texts->starts[COLUMNS_NAME][i]
                      : i < names->count        ? texts->starts[COLUMNS_CATEGORY][i + 1]
                                                : texts->used;

        items[i].bytes = texts->bytes + start;
        items[i].length = (uint32_t)(next - start - 1);
    }
    return rank(names, which);
}

/* Ids that have gaps, or are too many, leave no name: then the plain tables answer.  */
static int read_names(sqlite3_stmt *row, struct texts *texts, size_t *count, bool *fits)
{
    int code;

    *count = 0;
    *fits = true;
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        if (sqlite3_column_int64(row, 0) != (int64_t)*count + 1 || *count >= MOST_NAMES ||
            texts->used > MOST_NAMES_BYTES) {
            *fits = false;
            return SQLITE_DONE;
        }
        ++*count;
        if (!add_text(texts, COLUMNS_CATEGORY, *count, row) ||
            !add_text(texts, COLUMNS_NAME, *count, row))
            return SQLITE_NOMEM;
    }
    return code;
}

int columns_load_names(struct store_columns *columns)
{
    struct columns_names *names = &columns->names;
    const struct columns_range *range = &columns->sources[COLUMNS_SLICE].ranges[3];
    struct texts texts = { .bytes = NULL };
    sqlite3_stmt *row = NULL;
    bool fits = true;
    int code;

    if (columns->has_names)
        return SQLITE_OK;
    code = sqlite3_prepare_v2(
        columns->db, "SELECT id, category, name FROM main.event_name ORDER BY id", -1, &row, NULL);
    if (code == SQLITE_OK)
        code = read_names(row, &texts, &names->count, &fits);
    names->bytes = texts.bytes;
    if (code == SQLITE_DONE && fits &&
        (!place(names, &texts, COLUMNS_CATEGORY) || !place(names, &texts, COLUMNS_NAME)))
        code = SQLITE_NOMEM;
    (void)sqlite3_finalize(row);
    free(texts.starts[0]);
    free(texts.starts[1]);
    if (code != SQLITE_DONE) {
        drop_names(columns);
        return code;
    }
    /* A slice without a name is no row of the view.  */
    if (!fits || (columns->sources[COLUMNS_SLICE].directory.rows > 0 &&
                  (range->minimum < 1 || range->maximum > (int64_t)names->count ||
                   range->has_nulls || range->has_reals)))
        columns->sources[COLUMNS_SLICE].is_there = false;
    columns->has_names = true;
    return SQLITE_OK;
}

int columns_load_captures(struct store_columns *columns)
{
    size_t capacity = 0;
    sqlite3_stmt *row = NULL;
    int code;

    if (columns->captures)
        return SQLITE_OK;
    code = sqlite3_prepare_v2(columns->db,
                              "SELECT id, capture_id FROM main.track WHERE id > 0 ORDER BY id", -1,
                              &row, NULL);
    columns->capture_count = 0;
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(row, 0);

        code = SQLITE_OK;
        if (id > (int64_t)MOST_NAMES) { /* the plain tables answer */
            columns->sources[COLUMNS_SLICE].is_there = false;
            code = SQLITE_DONE;
            break;
        }
        if (!base_make_room(&columns->captures, &capacity, (size_t)id + 1,
                            sizeof *columns->captures))
            code = SQLITE_NOMEM;
        while (code == SQLITE_OK && columns->capture_count < (size_t)id)
            columns->captures[columns->capture_count++] = INT64_MIN;
        if (code == SQLITE_OK)
            columns->captures[columns->capture_count++] = sqlite3_column_int64(row, 1);
    }
    if (code == SQLITE_DONE)
        code = base_make_room(&columns->captures, &capacity, 1, sizeof *columns->captures)
                   ? SQLITE_OK
                   : SQLITE_NOMEM;
    (void)sqlite3_finalize(row);
    if (code != SQLITE_OK) {
        free(columns->captures);
        columns->captures = NULL;
    }
    return code;
}

/* ---- Keys of arguments ---- */

static int add_key(struct columns_keys *keys, sqlite3_stmt *row, uint32_t *place)
{
    const void *text = sqlite3_column_text(row, 0);
    size_t length = (size_t)sqlite3_column_bytes(row, 0);
    char *bytes = text ? malloc(length + 1) : NULL;

    if (!bytes ||
        !base_make_room(&keys->texts, &keys->capacity, keys->used + 1, sizeof *keys->texts)) {
        free(bytes);
        return SQLITE_NOMEM;
    }
    memcpy(bytes, text, length + 1);
    free((void *)keys->last.bytes);
    keys->last = (struct columns_text){ .bytes = bytes, .length = (uint32_t)length };
    if (keys->bytes + length + sizeof *keys->texts > MOST_KEY_BYTES)
        return SQLITE_OK;
    keys->bytes += length + sizeof *keys->texts;
    keys->texts[keys->used] = keys->last;
    keys->last.bytes = NULL;
    *place = (uint32_t)(2 + keys->used++);
    return SQLITE_OK;
}

static int find_key(struct store_columns *columns, int64_t id, uint32_t *place)
{
    int code = SQLITE_OK;

    if (!columns->key)
        code = sqlite3_prepare_v3(columns->db, "SELECT text FROM main.string WHERE id = ?1", -1,
                                  SQLITE_PREPARE_PERSISTENT, &columns->key, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(columns->key, 1, id);
    if (code == SQLITE_OK)
        code = sqlite3_step(columns->key);
    if (code == SQLITE_DONE)
        *place = 1;
    if (code == SQLITE_ROW)
        code = add_key(&columns->keys, columns->key, place);
    if (columns->key)
        (void)sqlite3_reset(columns->key);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int columns_load_key(struct store_columns *columns, int64_t id, const struct columns_text **out)
{
    struct columns_keys *keys = &columns->keys;
    const struct columns_range *range = &columns->sources[COLUMNS_ARG].ranges[ARG_KEY];
    size_t at;
    int code = SQLITE_OK;

    *out = NULL;
    if (id < range->minimum || id > range->maximum)
        return SQLITE_OK;
    if (!keys->places) {
        keys->first = range->minimum;
        keys->count = (size_t)(range->maximum - range->minimum) + 1;
        keys->places = calloc(keys->count, sizeof *keys->places);
        if (!keys->places)
            return SQLITE_NOMEM;
    }
    at = (size_t)(id - keys->first);
    if (keys->places[at] == 0)
        code = find_key(columns, id, &keys->places[at]);
    if (code == SQLITE_OK && keys->places[at] > 1)
        *out = &keys->texts[keys->places[at] - 2];
    else if (code == SQLITE_OK && keys->places[at] == 0)
        *out = &keys->last;
    return code;
}
