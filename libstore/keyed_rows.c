#include "libstore/keyed_rows.h"

#include "base/grow.h"
#include "libstore/blocks/column_block.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_ROWS 1024u

/* A column of a group.  */
struct part {
    size_t at; /* of its bytes */
    struct block_shape shape;
};

struct group {
    int64_t first, last; /* keys */
    uint32_t count;
    bool is_strict; /* no two rows have the same key */
};

/* What a column has besides NULL.  Texts are numbers: their places among `texts`.  */
enum kind { KIND_UNKNOWN, KIND_NUMBERS, KIND_TEXTS };

struct keyed_rows {
    unsigned count, key;
    char affinities[KEYED_COLUMNS];
    size_t most_bytes;
    uint8_t *bytes; /* owned; of all parts */
    size_t used, capacity;
    struct part *parts; /* owned; `count` of each group */
    size_t part_count, part_capacity;
    struct group *groups; /* owned */
    size_t group_count, group_capacity;
    enum kind kinds[KEYED_COLUMNS];
    char *texts; /* owned; each with its length before it */
    size_t text_used, text_capacity;
    /* Rows that wait to be packed.  */
    int64_t values[KEYED_COLUMNS][GROUP_ROWS];
    uint8_t types[KEYED_COLUMNS][GROUP_ROWS]; /* enum block_type */
    unsigned waiting;
    /* The row that was found, its key, and the blocks of its group.  */
    size_t group;
    unsigned row;
    int64_t sought;
    struct block blocks[KEYED_COLUMNS];
    /* Or: */
    sqlite3 *spill; /* NULL: all are packed */
    sqlite3_stmt *look;
    sqlite3_stmt *insert;
};

struct keyed_rows *keyed_open(unsigned count, unsigned key, const char *types, size_t most_bytes)
{
    struct keyed_rows *rows = calloc(1, sizeof *rows);

    if (!rows)
        return NULL;
    rows->count = count;
    rows->key = key;
    rows->most_bytes = most_bytes;
    rows->group = SIZE_MAX;
    memcpy(rows->affinities, types, count);
    return rows;
}

static void drop_packed(struct keyed_rows *rows)
{
    free(rows->bytes);
    free(rows->parts);
    free(rows->groups);
    free(rows->texts);
    rows->bytes = NULL;
    rows->parts = NULL;
    rows->groups = NULL;
    rows->texts = NULL;
    rows->group_count = rows->part_count = rows->used = rows->text_used = 0;
}

void keyed_close(struct keyed_rows *rows)
{
    if (!rows)
        return;
    drop_packed(rows);
    (void)sqlite3_finalize(rows->look);
    (void)sqlite3_finalize(rows->insert);
    (void)sqlite3_close(rows->spill);
    free(rows);
}

/* ---- Packed rows ---- */

static const char *text_at(const struct keyed_rows *rows, int64_t place, uint32_t *length)
{
    const char *text = rows->texts + place;

    memcpy(length, text, sizeof *length);
    return text + sizeof *length;
}

static bool pack_part(struct keyed_rows *rows, unsigned column)
{
    struct part *part = &rows->parts[rows->part_count];

    if (!base_make_room(&rows->bytes, &rows->capacity, rows->used + BLOCK_MOST_BYTES, 1))
        return false;
    *part = (struct part){ .at = rows->used };
    block_pack(rows->values[column], rows->types[column], rows->waiting, &part->shape,
               rows->bytes + rows->used);
    rows->used += part->shape.size;
    rows->part_count++;
    return true;
}

/* Pack the rows that wait.  False: no memory.  */
static bool pack(struct keyed_rows *rows)
{
    const int64_t *keys = rows->values[rows->key];
    struct group group = { .count = rows->waiting, .is_strict = true };

    if (rows->waiting == 0)
        return true;
    if (!base_make_room(&rows->parts, &rows->part_capacity, rows->part_count + rows->count,
                        sizeof *rows->parts) ||
        !base_make_room(&rows->groups, &rows->group_capacity, rows->group_count + 1,
                        sizeof *rows->groups))
        return false;
    for (unsigned i = 0; i < rows->count; i++)
        if (!pack_part(rows, i))
            return false;
    for (unsigned i = 1; i < rows->waiting; i++)
        group.is_strict = group.is_strict && keys[i] > keys[i - 1];
    group.first = keys[0];
    group.last = keys[rows->waiting - 1];
    rows->groups[rows->group_count++] = group;
    rows->waiting = 0;
    return true;
}

static void view(const struct keyed_rows *rows, size_t group, unsigned column, struct block *out)
{
    const struct part *part = &rows->parts[group * rows->count + column];

    block_view(out, &part->shape, rows->bytes + part->at, rows->groups[group].count);
}

/* ---- Rows in a temporary database ---- */

static int run(sqlite3 *db, char *sql)
{
    int code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

    sqlite3_free(sql);
    return code;
}

/* "?, ?, ?" */
static char *marks(unsigned count)
{
    char *text = sqlite3_mprintf("?");

    for (unsigned i = 1; i < count && text; i++) {
        char *longer = sqlite3_mprintf("%s, ?", text);

        sqlite3_free(text);
        text = longer;
    }
    return text;
}

static const char *type_of(const struct keyed_rows *rows, unsigned column)
{
    static const char *const types[] = { "", "", "TEXT", "NUMERIC", "INTEGER", "REAL" };
    unsigned letter = (unsigned char)rows->affinities[column] - (unsigned)'@';

    return letter < sizeof types / sizeof *types ? types[letter] : "";
}

/* The table r of c0, c1 and so on.  */
static int create(struct keyed_rows *rows)
{
    int code = run(rows->spill, sqlite3_mprintf("PRAGMA synchronous = OFF; PRAGMA journal_mode = "
                                                "OFF; CREATE TABLE r (c0 %s)",
                                                type_of(rows, 0)));
    char *sql, *values;

    for (unsigned i = 1; i < rows->count && code == SQLITE_OK; i++)
        code = run(rows->spill,
                   sqlite3_mprintf("ALTER TABLE r ADD COLUMN c%u %s", i, type_of(rows, i)));
    if (code == SQLITE_OK)
        code = run(rows->spill, sqlite3_mprintf("BEGIN"));
    values = marks(rows->count);
    sql = values ? sqlite3_mprintf("INSERT INTO r VALUES (%s)", values) : NULL;
    sqlite3_free(values);
    if (code == SQLITE_OK)
        code = sql ? sqlite3_prepare_v2(rows->spill, sql, -1, &rows->insert, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

static int insert(struct keyed_rows *rows)
{
    int code = sqlite3_step(rows->insert);

    (void)sqlite3_reset(rows->insert);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int bind_packed(struct keyed_rows *rows, const struct block *block, unsigned column,
                       unsigned row)
{
    int64_t value = block_is_null(block, row) ? 0 : block_value(block, row);
    int number = (int)column + 1;
    uint32_t length;
    const char *text;
    double real;

    if (block_is_null(block, row))
        return sqlite3_bind_null(rows->insert, number);
    if (rows->kinds[column] == KIND_TEXTS) {
        text = text_at(rows, value, &length);
        return sqlite3_bind_text(rows->insert, number, text, (int)length, SQLITE_STATIC);
    }
    if (!block_is_real(block, row))
        return sqlite3_bind_int64(rows->insert, number, value);
    memcpy(&real, &value, sizeof real);
    return sqlite3_bind_double(rows->insert, number, real);
}

static int move_group(struct keyed_rows *rows, size_t group)
{
    int code = SQLITE_OK;

    for (unsigned i = 0; i < rows->count; i++)
        view(rows, group, i, &rows->blocks[i]);
    for (unsigned row = 0; row < rows->groups[group].count && code == SQLITE_OK; row++) {
        for (unsigned i = 0; i < rows->count && code == SQLITE_OK; i++)
            code = bind_packed(rows, &rows->blocks[i], i, row);
        if (code == SQLITE_OK)
            code = insert(rows);
    }
    return code;
}

/* From now on, rows are in a temporary database, those before, too.  */
static int spill(struct keyed_rows *rows)
{
    int code = pack(rows) ? sqlite3_open("", &rows->spill) : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = create(rows);
    for (size_t i = 0; i < rows->group_count && code == SQLITE_OK; i++)
        code = move_group(rows, i);
    if (rows->insert)
        (void)sqlite3_clear_bindings(rows->insert); /* of texts that are packed */
    drop_packed(rows);
    return code;
}

static int add_to_spill(struct keyed_rows *rows, sqlite3_stmt *statement)
{
    int code = SQLITE_OK;

    for (unsigned i = 0; i < rows->count && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(rows->insert, (int)i + 1,
                                  sqlite3_column_value(statement, (int)i));
    return code == SQLITE_OK ? insert(rows) : code;
}

static int finish_spill(struct keyed_rows *rows)
{
    int code = run(rows->spill, sqlite3_mprintf("COMMIT; CREATE INDEX k ON r (c%u)", rows->key));
    char *sql = sqlite3_mprintf("SELECT * FROM r WHERE c%u = ? ORDER BY rowid", rows->key);

    if (code == SQLITE_OK)
        code = sql ? sqlite3_prepare_v2(rows->spill, sql, -1, &rows->look, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code;
}

/* ---- Filling ---- */

/* Put a text among the texts, and its place into *out.  False: no memory.  */
static bool add_text(struct keyed_rows *rows, sqlite3_stmt *statement, unsigned column,
                     int64_t *out)
{
    const unsigned char *text = sqlite3_column_text(statement, (int)column);
    uint32_t length = (uint32_t)sqlite3_column_bytes(statement, (int)column);

    if (!text || !base_make_room(&rows->texts, &rows->text_capacity,
                                 rows->text_used + sizeof length + length, 1))
        return false;
    *out = (int64_t)rows->text_used;
    memcpy(rows->texts + rows->text_used, &length, sizeof length);
    memcpy(rows->texts + rows->text_used + sizeof length, text, length);
    rows->text_used += sizeof length + length;
    return true;
}

/* Whether a column keeps values of a type as they are.  */
static bool keeps(const struct keyed_rows *rows, unsigned column, int type)
{
    switch (rows->affinities[column]) {
    case '@':
    case 'A':
        return true;
    case 'B':
        return type == SQLITE_TEXT;
    case 'E':
        return type == SQLITE_FLOAT;
    default:
        return type == SQLITE_INTEGER;
    }
}

/* Take a value of the row that waits last.  *fits is false if it cannot be packed.  */
static int take(struct keyed_rows *rows, sqlite3_stmt *statement, unsigned column, bool *fits)
{
    int64_t *number = &rows->values[column][rows->waiting];
    uint8_t *type = &rows->types[column][rows->waiting];
    enum kind kind = KIND_NUMBERS;
    double real;

    *number = 0;
    switch (sqlite3_column_type(statement, (int)column)) {
    case SQLITE_NULL:
        *type = BLOCK_NULL;
        return SQLITE_OK;
    case SQLITE_INTEGER:
        *type = BLOCK_INTEGER;
        *number = sqlite3_column_int64(statement, (int)column);
        break;
    case SQLITE_FLOAT:
        *type = BLOCK_REAL;
        real = sqlite3_column_double(statement, (int)column);
        memcpy(number, &real, sizeof real);
        break;
    case SQLITE_TEXT:
        kind = KIND_TEXTS;
        *type = BLOCK_INTEGER;
        break;
    default:
        *fits = false;
        return SQLITE_OK;
    }
    *fits = (rows->kinds[column] == KIND_UNKNOWN || rows->kinds[column] == kind) &&
            keeps(rows, column, sqlite3_column_type(statement, (int)column));
    if (!*fits)
        return SQLITE_OK;
    rows->kinds[column] = kind;
    return kind == KIND_NUMBERS || add_text(rows, statement, column, number) ? SQLITE_OK
                                                                             : SQLITE_NOMEM;
}

static size_t bytes_of(const struct keyed_rows *rows)
{
    return rows->used + rows->text_used + rows->part_count * sizeof *rows->parts;
}

/* Whether the key of the row that waits last is an integer that is not less than the one before. */
static bool key_fits(const struct keyed_rows *rows)
{
    const int64_t *keys = rows->values[rows->key];
    unsigned at = rows->waiting;

    if (rows->types[rows->key][at] != BLOCK_INTEGER || rows->kinds[rows->key] != KIND_NUMBERS)
        return false;
    if (at > 0)
        return keys[at] >= keys[at - 1];
    return rows->group_count == 0 || keys[at] >= rows->groups[rows->group_count - 1].last;
}

static int add(struct keyed_rows *rows, sqlite3_stmt *statement)
{
    bool fits = bytes_of(rows) <= rows->most_bytes;
    int code = SQLITE_OK;

    for (unsigned i = 0; i < rows->count && fits && code == SQLITE_OK; i++)
        code = take(rows, statement, i, &fits);
    if (code != SQLITE_OK)
        return code;
    if (!fits || !key_fits(rows)) {
        code = spill(rows);
        return code == SQLITE_OK ? add_to_spill(rows, statement) : code;
    }
    rows->waiting++;
    return rows->waiting < GROUP_ROWS || pack(rows) ? SQLITE_OK : SQLITE_NOMEM;
}

int keyed_fill(struct keyed_rows *rows, sqlite3_stmt *statement)
{
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (sqlite3_column_type(statement, (int)rows->key) == SQLITE_NULL)
            continue;
        code = rows->spill ? add_to_spill(rows, statement) : add(rows, statement);
        if (code != SQLITE_OK)
            return code;
    }
    if (code != SQLITE_DONE)
        return code;
    if (rows->spill)
        return finish_spill(rows);
    return pack(rows) ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- Looking up ---- */

/* The first group whose last key is at least that.  */
static size_t find_group(const struct keyed_rows *rows, int64_t key)
{
    size_t low = 0, high = rows->group_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rows->groups[middle].last < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void enter(struct keyed_rows *rows, size_t group)
{
    if (group == rows->group)
        return;
    rows->group = group;
    for (unsigned i = 0; i < rows->count; i++)
        view(rows, group, i, &rows->blocks[i]);
}

/* The first row of the group whose key is at least that; the group has one.  Where all keys are
 * different, it cannot be further from an end of the group than its key is.  */
static unsigned find_row(const struct keyed_rows *rows, int64_t key)
{
    const struct group *group = &rows->groups[rows->group];
    const struct block *keys = &rows->blocks[rows->key];
    uint64_t below = key > group->first ? (uint64_t)key - (uint64_t)group->first : 0;
    uint64_t above = (uint64_t)group->last - (uint64_t)key;
    unsigned low = 0, high = group->count - 1;

    if (group->is_strict && below < high)
        high = (unsigned)below;
    if (group->is_strict && above < group->count - 1)
        low = group->count - 1 - (unsigned)above;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (block_value(keys, middle) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the row has the key that is sought.  */
static bool is_sought(const struct keyed_rows *rows)
{
    return block_value(&rows->blocks[rows->key], rows->row) == rows->sought;
}

static bool seek(struct keyed_rows *rows, int64_t key)
{
    size_t group = rows->group;

    if (group >= rows->group_count || key <= rows->groups[group].first ||
        key > rows->groups[group].last)
        group = find_group(rows, key);
    if (group == rows->group_count)
        return false;
    enter(rows, group);
    rows->sought = key;
    rows->row = find_row(rows, key);
    return is_sought(rows);
}

static int step_spilled(struct keyed_rows *rows, bool *found)
{
    int code = sqlite3_step(rows->look);

    *found = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* An integer that equals the value.  */
static bool whole_of(sqlite3_value *value, int64_t *out)
{
    double real;

    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
        *out = sqlite3_value_int64(value);
        return true;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        if (real >= 0x1p63)
            return false;
        if (real < -0x1p63)
            return false;
        *out = (int64_t)real;
        return (double)*out == real;
    default:
        return false;
    }
}

int keyed_seek(struct keyed_rows *rows, sqlite3_value *key, bool *found)
{
    int64_t number;
    int code;

    *found = false;
    if (!rows->spill) {
        *found = whole_of(key, &number) && seek(rows, number);
        return SQLITE_OK;
    }
    (void)sqlite3_reset(rows->look);
    code = sqlite3_bind_value(rows->look, 1, key);
    return code == SQLITE_OK ? step_spilled(rows, found) : code;
}

int keyed_next(struct keyed_rows *rows, bool *found)
{
    if (rows->spill)
        return step_spilled(rows, found);
    *found = false;
    if (rows->row + 1 < rows->groups[rows->group].count) {
        rows->row++;
    } else if (rows->group + 1 < rows->group_count) {
        enter(rows, rows->group + 1);
        rows->row = 0;
    } else {
        return SQLITE_OK;
    }
    *found = is_sought(rows);
    return SQLITE_OK;
}

void keyed_column(struct keyed_rows *rows, sqlite3_context *context, unsigned column)
{
    const struct block *block = &rows->blocks[column];
    uint32_t length;
    const char *text;
    int64_t value;
    double real;

    if (rows->spill) {
        sqlite3_result_value(context, sqlite3_column_value(rows->look, (int)column));
        return;
    }
    if (block_is_null(block, rows->row))
        return;
    value = block_value(block, rows->row);
    if (rows->kinds[column] == KIND_TEXTS) {
        text = text_at(rows, value, &length);
        sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
    } else if (block_is_real(block, rows->row)) {
        memcpy(&real, &value, sizeof real);
        sqlite3_result_double(context, real);
    } else {
        sqlite3_result_int64(context, value);
    }
}
