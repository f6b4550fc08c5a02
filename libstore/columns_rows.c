/* The rows that a query wants.  */
#include "libstore/columns_tests.h"
#include "libstore/columns_window.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

/* An index is made when the same column was looked up so often, because each look may have been a
 * scan.  */
#define SCANS_BEFORE_INDEX 2
/* Of LIMIT: more are sorted like all.  */
#define MOST_FIRST 100000
#define ROWS_AHEAD 16

/* ---- Blocks ---- */

/* Make a group the current one.  */
static void enter(struct columns_cursor *cursor, size_t group)
{
    struct columns_vtab *table = cursor_table(cursor);
    const struct columns_source *source = &table->columns->sources[table->served->table];

    columns_make_room(table->columns);
    cursor->group = group;
    cursor->first = source->directory.groups[group].first_row;
    cursor->limit = cursor->first + (int64_t)source->directory.groups[group].count;
    cursor->first_id = source->directory.groups[group].first_id;
    cursor->blocks = &source->blocks[group * COLUMNS_MOST];
}

/* Make the row's group the current one.  */
static void enter_group(struct columns_cursor *cursor)
{
    struct columns_vtab *table = cursor_table(cursor);
    const struct columns_directory *directory =
        &table->columns->sources[table->served->table].directory;

    enter(cursor, columns_group_of_row(directory, cursor->row));
}

int rows_view(struct columns_cursor *cursor, unsigned column, const struct block **out)
{
    struct columns_vtab *table = cursor_table(cursor);

    return columns_view(table->columns, table->served->table, cursor->group, column, out);
}

/* ---- Conditions ---- */

static bool whole_bounds(char operation, int64_t value, int64_t *low, int64_t *high)
{
    switch (operation) {
    case '=':
        *low = *high = value;
        return true;
    case '>':
        *low = value + (value < INT64_MAX);
        return value < INT64_MAX;
    case ')':
        *low = value;
        return true;
    case '<':
        *high = value - (value > INT64_MIN);
        return value > INT64_MIN;
    default:
        *high = value;
        return true;
    }
}

static bool real_bounds(char operation, double value, int64_t *low, int64_t *high)
{
    bool is_upward = operation == '>' || operation == ')';
    double whole = floor(value);

    if (value >= 0x1p63)
        return operation == '<' || operation == '(';
    if (value < -0x1p63)
        return is_upward;
    if (whole == value)
        return whole_bounds(operation, (int64_t)value, low, high);
    if (operation == '=')
        return false;
    /* Between two whole numbers: above the lower one, or at most that one.  */
    return whole_bounds(is_upward ? '>' : '(', (int64_t)whole, low, high);
}

bool rows_bounds(char operation, sqlite3_value *value, int64_t *low, int64_t *high)
{
    *low = INT64_MIN;
    *high = INT64_MAX;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
        return whole_bounds(operation, sqlite3_value_int64(value), low, high);
    case SQLITE_FLOAT:
        return real_bounds(operation, sqlite3_value_double(value), low, high);
    case SQLITE_NULL:
        return false;
    default: /* a number is less than any text */
        return operation == '<' || operation == '(';
    }
}

/* The rank of a text; 0: no name is that.  */
static uint32_t find_rank(const struct columns_names *names, int which, const char *text,
                          size_t length)
{
    size_t low = 0, high = names->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct columns_text *is = &names->texts[which][names->sorted[which][middle]];
        int order = memcmp(is->bytes, text, is->length < length ? is->length : length);

        if (order == 0 && is->length == length)
            return is->rank;
        if (order < 0 || (order == 0 && is->length < length))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* A name in place of an id.  Values that are no text are compared by SQLite.  Returns false if no
 * row can have it.  */
static bool name_condition(const struct columns_names *names, int which, sqlite3_value *value,
                           struct condition *out)
{
    const char *text;

    if (sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    out->low = INT64_MIN;
    out->high = INT64_MAX;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return true;
    text = (const char *)sqlite3_value_text(value);
    out->text = (int8_t)which;
    out->rank = text ? find_rank(names, which, text, (size_t)sqlite3_value_bytes(value)) : 0;
    return out->rank > 0;
}

static bool passes(const struct columns_cursor *cursor, const struct condition *condition)
{
    const struct block *block = &cursor->blocks[condition->column];
    unsigned at = cursor_at(cursor);
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    int64_t value;

    if (block_is_null(block, at))
        return false;
    value = block_value(block, at);
    if (condition->text < 0)
        return value >= condition->low && value <= condition->high;
    return value > 0 && value <= (int64_t)names->count &&
           names->texts[condition->text][value].rank == condition->rank;
}

/* What the summary of a block says of a condition: no row passes, all do, or it must be tested.  */
enum verdict { NONE_PASS, ALL_PASS, SOME_PASS };

static enum verdict judge(const struct columns_cursor *cursor, const struct condition *condition)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const struct block_shape *shape = &table->columns->sources[table->served->table]
                                           .directory.groups[cursor->group]
                                           .shapes[condition->column];

    if (shape->flags & BLOCK_ALL_NULL)
        return NONE_PASS;
    if (condition->text >= 0)
        return SOME_PASS;
    if (shape->maximum < condition->low || shape->minimum > condition->high)
        return NONE_PASS;
    if (shape->minimum >= condition->low && shape->maximum <= condition->high &&
        !(shape->flags & BLOCK_HAS_NULLS))
        return ALL_PASS;
    return SOME_PASS;
}

/* Enter the row's group.  *skipped: none of its rows passes.  */
static int enter_tested(struct columns_cursor *cursor, bool *skipped)
{
    enter_group(cursor);
    *skipped = false;
    cursor->tested = 0;
    for (unsigned i = 0; i < cursor->condition_count; i++) {
        switch (judge(cursor, &cursor->conditions[i])) {
        case NONE_PASS:
            *skipped = true;
            return SQLITE_OK;
        case SOME_PASS:
            cursor->tested |= 1u << i;
            break;
        default:
            break;
        }
    }
    return SQLITE_OK;
}

static int view_tested(struct columns_cursor *cursor)
{
    for (unsigned i = 0; i < cursor->condition_count; i++) {
        unsigned column = cursor->conditions[i].column;

        if ((cursor->tested >> i & 1) && !cursor->blocks[column].bytes) {
            const struct block *block;
            int code = rows_view(cursor, column, &block);

            if (code != SQLITE_OK)
                return code;
        }
    }
    return SQLITE_OK;
}

static bool passes_all(const struct columns_cursor *cursor)
{
    for (unsigned tested = cursor->tested; tested; tested &= tested - 1)
        if (!passes(cursor, &cursor->conditions[__builtin_ctz(tested)]))
            return false;
    return true;
}

/* ---- One row after the other ---- */

static void count_left(struct columns_cursor *cursor)
{
    int64_t limit = cursor->limit < cursor->to ? cursor->limit : cursor->to;
    int64_t first = cursor->first > cursor->from ? cursor->first : cursor->from;

    cursor->left = 0;
    if (cursor->integers && cursor->tested == 0 && !tests_are_on(cursor))
        cursor->left = cursor->step > 0 ? limit - 1 - cursor->row : cursor->row - first;
}

/* Whether rows are tested for one number that none of the block lacks.  */
static bool has_one_number(const struct columns_cursor *cursor)
{
    const struct condition *condition;
    const struct block *block;

    if (cursor->tested == 0 || (cursor->tested & (cursor->tested - 1)))
        return false;
    condition = &cursor->conditions[__builtin_ctz(cursor->tested)];
    block = &cursor->blocks[condition->column];
    return condition->text < 0 && condition->low <= condition->high && !block->nulls &&
           !(block->flags & BLOCK_ALL_NULL);
}

/* Go on to the first row of the group that passes, or to its end.  */
static void skip_failing(struct columns_cursor *cursor)
{
    const struct condition *condition = &cursor->conditions[__builtin_ctz(cursor->tested)];
    const struct block *block = &cursor->blocks[condition->column];
    int64_t limit = cursor->limit < cursor->to ? cursor->limit : cursor->to;
    uint64_t low = (uint64_t)condition->low, span = (uint64_t)condition->high - low;
    unsigned at = cursor_at(cursor), end = (unsigned)(limit - cursor->first);

    while (at < end && (uint64_t)block_value(block, at) - low > span)
        at++;
    cursor->row = cursor->first + at;
}

int rows_settle(struct columns_cursor *cursor)
{
    while (cursor->row >= cursor->from && cursor->row < cursor->to) {
        bool skipped = false;
        int code = SQLITE_OK;

        if (cursor->row < cursor->first || cursor->row >= cursor->limit)
            code = enter_tested(cursor, &skipped);
        if (code == SQLITE_OK && !skipped && cursor->tested)
            code = view_tested(cursor);
        if (code != SQLITE_OK)
            return code;
        if (skipped) {
            cursor->row = cursor->step > 0 ? cursor->limit : cursor->first - 1;
            cursor->first = cursor->limit = 0;
            continue;
        }
        if (cursor->step > 0 && has_one_number(cursor)) {
            skip_failing(cursor);
            if (cursor->row >= cursor->limit)
                continue;
        }
        if (cursor->row < cursor->to && passes_all(cursor)) {
            bool fails = false;

            if (tests_are_on(cursor))
                code = tests_fail(cursor, &fails);
            if (!fails || code != SQLITE_OK) {
                count_left(cursor);
                return code;
            }
            cursor->row = tests_skip(cursor);
            continue;
        }
        cursor->row += cursor->step;
    }
    cursor->at_end = true;
    return SQLITE_OK;
}

static void drop_list(struct columns_cursor *cursor)
{
    if (!cursor->owned)
        return;
    cursor_table(cursor)->columns->list_bytes -= cursor->owned_bytes;
    free(cursor->owned);
    cursor->owned = NULL;
    cursor->owned_bytes = 0;
}

static void own_list(struct columns_cursor *cursor, uint32_t *rows, size_t count)
{
    cursor->owned = rows;
    cursor->owned_bytes = count * sizeof *rows;
    cursor_table(cursor)->columns->list_bytes += cursor->owned_bytes;
    cursor->list = rows;
    cursor->count = count;
}

/* All rows in the order of a key.  */
static int sort_whole(struct columns_cursor *cursor, const struct columns_key *key)
{
    struct columns_vtab *table = cursor_table(cursor);
    size_t count = (size_t)cursor->source->directory.rows;
    uint32_t *rows = malloc(count * sizeof *rows);

    if (!rows)
        return SQLITE_NOMEM;
    own_list(cursor, rows, count);
    return columns_sort_all(table->columns, table->served->table, rows, key);
}

static int settle_in_list(struct columns_cursor *cursor);

/* After the first row.  */
static int sort_rest(struct columns_cursor *cursor)
{
    uint32_t first = cursor->owned[0];
    int code;

    cursor->has_rest = false;
    drop_list(cursor);
    code = sort_whole(cursor, &cursor->key);
    if (code == SQLITE_OK && cursor->list[0] != first)
        code = SQLITE_CORRUPT_VTAB; /* summaries are not those of their blocks */
    cursor->at = 1;
    return code == SQLITE_OK ? settle_in_list(cursor) : code;
}

/* Rows of a list may be all over the table, so their values are rarely in a cache: ask for those of
 * a row that comes soon, if it is in another group.  GCC leaves out calls of a function that does
 * nothing else.  */
static inline __attribute__((always_inline)) void fetch_ahead(const struct columns_cursor *cursor)
{
    const struct columns_directory *directory = &cursor->source->directory;
    size_t group;
    uint32_t row, at;

    if (cursor->count - cursor->at <= ROWS_AHEAD)
        return;
    row = cursor->list[cursor->at + ROWS_AHEAD];
    if (row >= cursor->first && row < cursor->limit)
        return;
    group = row / BLOCK_ROWS;
    if (group >= directory->count || directory->groups[group].first_row > (int64_t)row)
        return; /* groups are smaller here */
    at = (uint32_t)((int64_t)row - directory->groups[group].first_row);
    for (unsigned read = cursor->read; read; read &= read - 1) {
        const struct block *block =
            &cursor->source->blocks[group * COLUMNS_MOST + (unsigned)__builtin_ctz(read)];

        if (block->bytes && at < directory->groups[group].count)
            __builtin_prefetch(block->bytes + ((size_t)at * block->width >> 3));
    }
}

/* The next row of the list that passes.  */
static int settle_in_list(struct columns_cursor *cursor)
{
    for (; cursor->at < cursor->count; cursor->at++) {
        int code;

        fetch_ahead(cursor);
        cursor->row = cursor->list[cursor->at];
        if (cursor->row < cursor->first || cursor->row >= cursor->limit)
            enter_group(cursor);
        if (cursor->tested == 0)
            return SQLITE_OK;
        code = view_tested(cursor);
        if (code != SQLITE_OK)
            return code;
        if (passes_all(cursor))
            return SQLITE_OK;
    }
    if (cursor->has_rest)
        return sort_rest(cursor);
    cursor->at_end = true;
    drop_list(cursor); /* the query may last */
    return SQLITE_OK;
}

static int next_plain(struct columns_cursor *cursor)
{
    int code = sqlite3_step(cursor->plain);

    cursor->row++; /* the rowid of what has no id */
    cursor->at_end = code != SQLITE_ROW;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    return cursor->beside ? window_next_plain(cursor) : SQLITE_OK;
}

void rows_go(struct columns_cursor *cursor, int64_t row)
{
    cursor->row = row;
    cursor->left = 0;
    cursor->at_end = false;
    if (row < cursor->first || row >= cursor->limit)
        enter_group(cursor);
}

int rows_next(struct columns_cursor *cursor)
{
    if (cursor->left > 0) {
        cursor->left--;
        cursor->row += cursor->step;
        return SQLITE_OK;
    }
    if (cursor->again == PLAN_ID) {
        cursor->at_end = true;
        return SQLITE_OK;
    }
    if (cursor->plain)
        return next_plain(cursor);
    if (cursor_table(cursor)->served->has_args)
        return args_next(cursor);
    if (cursor_table(cursor)->served->has_states)
        return states_next(cursor);
    if (cursor_table(cursor)->served->is_small)
        return small_next(cursor);
    if (cursor->list) {
        cursor->at++;
        return settle_in_list(cursor);
    }
    cursor->row += cursor->step;
    return rows_settle(cursor);
}

void rows_release(struct columns_cursor *cursor)
{
    drop_list(cursor);
    (void)sqlite3_finalize(cursor->plain);
    cursor->plain = NULL;
    cursor->integers = cursor_table(cursor)->integers;
    cursor->source = columns_source_of(cursor_table(cursor));
    cursor->again = PLAN_ROWS;
    cursor->left = 0;
    cursor->list = NULL;
    cursor->count = cursor->at = 0;
    cursor->has_rest = false;
    cursor->condition_count = 0;
    cursor->tested = 0;
    cursor->read = 0;
    cursor->first = cursor->limit = 0;
    cursor->at_end = false;
    cursor->row = 0;
    cursor->low_set = INT64_MIN;
    cursor->high_set = INT64_MAX;
    cursor->is_in_ends = false;
}

/* ---- The plain table ---- */

static const char *operator_of(char operation)
{
    switch (operation) {
    case '=':
        return "=";
    case '>':
        return ">";
    case ')':
        return ">=";
    case '<':
        return "<";
    default:
        return "<=";
    }
}

static char *plain_sql(const struct served_table *served, const char *text)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    const char *joint = " WHERE ";
    int argument = 0;

    sqlite3_str_appendf(sql, "SELECT * FROM main.\"%w\"", served->name);
    for (; *text != '/'; text += 2) {
        argument++;
        if (*text == 'L' || *text == 'O')
            continue;
        sqlite3_str_appendf(sql, "%s\"%w\" %s ?%d", joint, served->columns[text[1] - 'A'].name,
                            operator_of(*text), argument);
        joint = " AND ";
    }
    joint = " ORDER BY ";
    for (text++; plan_has_key(text); text += 2, joint = ", ")
        sqlite3_str_appendf(sql, "%s\"%w\"%s", joint, served->columns[text[1] - 'A'].name,
                            *text == '-' ? " DESC" : "");
    return sqlite3_str_finish(sql);
}

static int start_plain(struct columns_cursor *cursor, const char *text, int argc,
                       sqlite3_value **argv)
{
    struct columns_vtab *table = cursor_table(cursor);
    char *sql = plain_sql(table->served, text);
    int code = sql ? sqlite3_prepare_v2(table->columns->db, sql, -1, &cursor->plain, NULL)
                   : SQLITE_NOMEM;

    sqlite3_free(sql);
    cursor->integers = 0;
    for (int i = 0; i < argc && i < sqlite3_bind_parameter_count(cursor->plain); i++)
        if (code == SQLITE_OK)
            code = sqlite3_bind_value(cursor->plain, i + 1, argv[i]);
    return code == SQLITE_OK ? next_plain(cursor) : code;
}

/* ---- Beginning ---- */

int rows_start_id(struct columns_cursor *cursor, int64_t id)
{
    struct columns_vtab *table = cursor_table(cursor);
    uint64_t place = (uint64_t)id - (uint64_t)cursor->first_id;

    cursor->at_end = true;
    if (place >= (uint64_t)(cursor->limit - cursor->first)) {
        const struct columns_directory *directory =
            &table->columns->sources[table->served->table].directory;
        size_t group = columns_group_of_id(directory, id);

        if (group == directory->count)
            return SQLITE_OK;
        enter(cursor, group);
        place = (uint64_t)id - (uint64_t)cursor->first_id;
    }
    cursor->row = cursor->first + (int64_t)place;
    cursor->from = cursor->row;
    cursor->to = cursor->row + 1;
    cursor->step = 1;
    cursor->at_end = false;
    return SQLITE_OK;
}

/* The whole number that an equal integer is; false: there is none.  */
static bool is_whole(sqlite3_value *value, int64_t *out)
{
    int64_t high;

    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return rows_bounds('=', value, out, &high);
    *out = sqlite3_value_int64(value);
    return true;
}

static int start_id(struct columns_cursor *cursor, sqlite3_value *value)
{
    int64_t low;

    cursor->again = PLAN_ID;
    if (is_whole(value, &low))
        return rows_start_id(cursor, low);
    cursor->at_end = true;
    return SQLITE_OK;
}

/* The rows of an index that have one value.  */
static int start_equal(struct columns_cursor *cursor, sqlite3_value *value)
{
    const struct columns_index *index = &cursor->source->indexes[cursor->again_column];
    const struct columns_range *range = &cursor->source->ranges[cursor->again_column];
    int64_t low;
    int code = SQLITE_OK;

    cursor->at = cursor->count = 0;
    if (is_whole(value, &low) && low >= range->minimum && low <= range->maximum) {
        if (index->shift == 0) {
            const uint32_t *end = &index->ends[(uint64_t)low - (uint64_t)range->minimum + 1];

            cursor->list = index->rows + end[-1]; /* key 0 is NULL */
            cursor->count = end[0] - end[-1];
        } else {
            code = columns_find(cursor_table(cursor)->columns, cursor_table(cursor)->served->table,
                                cursor->again_column, low, &cursor->list, &cursor->count);
        }
    }
    cursor->at_end = cursor->count == 0;
    if (code != SQLITE_OK || cursor->at_end)
        return code;
    cursor->row = cursor->list[0];
    if (cursor->row < cursor->first || cursor->row >= cursor->limit)
        enter_group(cursor);
    return SQLITE_OK;
}

/* The row of the first id that is at least that.  */
static int64_t row_of_id(const struct columns_directory *directory, int64_t id)
{
    size_t group = columns_first_group(directory, id);

    if (group == directory->count)
        return directory->rows;
    return directory->groups[group].first_row +
           (id > directory->groups[group].first_id ? id - directory->groups[group].first_id : 0);
}

static void narrow_ids(struct columns_cursor *cursor, int64_t low, int64_t high)
{
    struct columns_vtab *table = cursor_table(cursor);
    const struct columns_directory *directory =
        &table->columns->sources[table->served->table].directory;
    int64_t from = row_of_id(directory, low);
    int64_t to = high == INT64_MAX ? directory->rows : row_of_id(directory, high + 1);

    if (from > cursor->from)
        cursor->from = from;
    if (to < cursor->to)
        cursor->to = to;
}

static void narrow_sets(struct columns_cursor *cursor, int64_t low, int64_t high)
{
    if (low > cursor->low_set)
        cursor->low_set = low;
    if (high < cursor->high_set)
        cursor->high_set = high;
}

/* Returns false if no row can pass.  */
static bool add_condition(struct columns_cursor *cursor, char operation,
                          const struct served_column *column, sqlite3_value *value)
{
    struct condition *condition = &cursor->conditions[cursor->condition_count];
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    int64_t low, high;

    *condition = (struct condition){ .column = column->column, .text = -1 };
    switch (column->value) {
    case SERVED_ID:
        if (!rows_bounds(operation, value, &low, &high))
            return false;
        narrow_ids(cursor, low, high);
        return true;
    case SERVED_SET:
        if (!rows_bounds(operation, value, &low, &high))
            return false;
        narrow_sets(cursor, low, high);
        return true;
    case SERVED_CATEGORY:
    case SERVED_NAME:
        cursor->condition_count++;
        return name_condition(names, column->value == SERVED_NAME ? COLUMNS_NAME : COLUMNS_CATEGORY,
                              value, condition);
    default:
        cursor->condition_count++;
        return rows_bounds(operation, value, &condition->low, &condition->high);
    }
}

/* What idxStr asks for.  */
struct wanted {
    struct columns_key keys[KEYS_MOST];
    unsigned key_count;
    bool has_limit;
    int64_t limit, offset;
    bool none; /* no row can pass */
};

static const char *read_arguments(struct columns_cursor *cursor, const char *text,
                                  sqlite3_value **argv, struct wanted *wanted)
{
    const struct served_table *served = cursor_table(cursor)->served;

    for (int i = 0; *text != '/'; text += 2, i++) {
        if (*text == 'L') {
            wanted->limit = sqlite3_value_int64(argv[i]);
            wanted->has_limit = true;
        } else if (*text == 'O') {
            wanted->offset = sqlite3_value_int64(argv[i]);
        } else if (!add_condition(cursor, *text, &served->columns[text[1] - 'A'], argv[i])) {
            wanted->none = true;
        }
    }
    return text + 1;
}

/* The number of rows that the query wants, if it is small; else 0.  */
static size_t rows_wanted(const struct wanted *wanted, int64_t rows)
{
    int64_t offset = wanted->offset > 0 ? wanted->offset : 0;

    if (!wanted->has_limit || wanted->limit < 1 || wanted->limit > MOST_FIRST ||
        offset > MOST_FIRST || wanted->limit + offset > rows / 4)
        return 0;
    return (size_t)(wanted->limit + offset);
}

/* Returns false if rows can no longer be ordered so: the plain table answers.  */
static bool read_keys(struct columns_cursor *cursor, const char *text, struct wanted *wanted)
{
    const struct columns_vtab *table = cursor_table(cursor);

    for (; plan_has_key(text); text += 2) {
        struct columns_key *key = &wanted->keys[wanted->key_count++];

        if (!columns_key_of(table->served, text[1] - 'A', *text == '-', key) ||
            !columns_can_order(table->columns, table->served->table, key))
            return false;
        if (key->is_id)
            break; /* no two rows are equal */
    }
    /* Rows are sorted in the order of their ids, and equal ones keep it.  */
    if (wanted->key_count > 1 && wanted->keys[wanted->key_count - 1].is_id &&
        !wanted->keys[wanted->key_count - 1].is_descending)
        wanted->key_count--;
    return true;
}

/* A condition on one value that many rows may have.  NULL: there is none.  */
static const struct condition *find_equality(const struct columns_cursor *cursor)
{
    for (unsigned i = 0; i < cursor->condition_count; i++)
        if (cursor->conditions[i].text < 0 &&
            cursor->conditions[i].low == cursor->conditions[i].high)
            return &cursor->conditions[i];
    return NULL;
}

/* The rows of an index, of which the other conditions and the range of ids are tested.  */
static int start_index(struct columns_cursor *cursor, const struct condition *equality)
{
    struct columns_vtab *table = cursor_table(cursor);
    const uint32_t *list = NULL;
    size_t count = 0;
    int code = columns_find(table->columns, table->served->table, equality->column, equality->low,
                            &list, &count);

    while (count > 0 && (int64_t)list[0] < cursor->from) {
        list++;
        count--;
    }
    while (count > 0 && (int64_t)list[count - 1] >= cursor->to)
        count--;
    cursor->list = list;
    cursor->count = count;
    cursor->at = 0;
    cursor->tested = cursor->condition_count > 1 ? (1u << cursor->condition_count) - 1 : 0;
    if (code != SQLITE_OK || count == 0) {
        cursor->at_end = true;
        return code;
    }
    return settle_in_list(cursor);
}

static int start_rows(struct columns_cursor *cursor, int plan, char letter)
{
    const struct condition *equality = find_equality(cursor);

    if (equality && cursor->step > 0 && /* an index has no other order */
        cursor->source->indexes[equality->column].scans++ >= SCANS_BEFORE_INDEX &&
        columns_may_index(cursor_table(cursor)->columns, cursor_table(cursor)->served->table,
                          equality->column)) {
        int code = start_index(cursor, equality);

        if (plan == PLAN_EQUAL && cursor->source->indexes[equality->column].rows) {
            cursor->again = PLAN_EQUAL;
            cursor->again_column = equality->column;
            cursor->again_letter = letter;
        }
        return code;
    }
    cursor->row = cursor->step > 0 ? cursor->from : cursor->to - 1;
    return rows_settle(cursor);
}

/* ---- Rows in an order ---- */

/* Whether the rows have that order as they are.  */
static bool is_natural(const struct columns_cursor *cursor, const struct wanted *wanted)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const struct columns_source *source = &table->columns->sources[table->served->table];
    const struct columns_key *key = &wanted->keys[0];

    if (wanted->key_count == 0 || key->is_id)
        return true;
    return key->text < 0 && !key->is_descending && (source->sorted >> key->column & 1) &&
           wanted->key_count == 1;
}

static int gather(struct columns_cursor *cursor, uint32_t **rows, size_t *count)
{
    size_t capacity = 0;
    int code = start_rows(cursor, PLAN_ROWS, '\0');

    while (code == SQLITE_OK && !cursor->at_end) {
        if (!base_make_room(rows, &capacity, *count + 1, sizeof **rows))
            return SQLITE_NOMEM;
        (*rows)[(*count)++] = (uint32_t)cursor->row;
        code = rows_next(cursor);
    }
    return code;
}

/* All rows by one key: most often, min() and max() want but the first one, and the summaries of
 * blocks say where it is.  The others are sorted when they are asked for.  */
static int start_whole(struct columns_cursor *cursor, const struct columns_key *key)
{
    struct columns_vtab *table = cursor_table(cursor);
    uint32_t *rows;
    bool found = false;
    int code;

    if (key->text >= 0)
        return sort_whole(cursor, key);
    rows = malloc(sizeof *rows);
    if (!rows)
        return SQLITE_NOMEM;
    code = columns_least(table->columns, table->served->table, key, false, rows, &found);
    own_list(cursor, rows, 1);
    if (code != SQLITE_OK || found) {
        cursor->has_rest = found;
        cursor->key = *key;
        return code;
    }
    drop_list(cursor); /* all rows are NULL */
    return sort_whole(cursor, key);
}

/* The first rows by one key: *count of them at most.  */
static int start_first(struct columns_cursor *cursor, const struct columns_key *key, size_t count)
{
    struct columns_vtab *table = cursor_table(cursor);
    uint32_t *rows = malloc((count + 1) * sizeof *rows);
    int code;

    if (!rows)
        return SQLITE_NOMEM;
    code = columns_first(table->columns, table->served->table, key, rows, &count);
    own_list(cursor, rows, count);
    return code;
}

/* The rows that pass, by all keys.  */
static int start_passing(struct columns_cursor *cursor, const struct wanted *wanted)
{
    struct columns_vtab *table = cursor_table(cursor);
    uint32_t *rows = NULL;
    size_t count = 0;
    int code = gather(cursor, &rows, &count);

    if (code == SQLITE_OK && count > 0)
        code = columns_sort(table->columns, table->served->table, rows, count, wanted->keys,
                            wanted->key_count);
    own_list(cursor, rows, count);
    return code;
}

static int start_sorted(struct columns_cursor *cursor, const struct wanted *wanted)
{
    int64_t rows = cursor->source->directory.rows;
    size_t count = wanted->key_count == 1 ? rows_wanted(wanted, rows) : 0;
    int code;

    if (count > 0)
        code = start_first(cursor, wanted->keys, count);
    else if (wanted->key_count == 1 && cursor->condition_count == 0 && cursor->from == 0 &&
             cursor->to == rows && rows > 0 && !cursor->tests)
        code = start_whole(cursor, wanted->keys);
    else
        code = start_passing(cursor, wanted);
    cursor->at = 0;
    cursor->tested = 0;
    cursor->at_end = cursor->count == 0;
    return code == SQLITE_OK && cursor->count > 0 ? settle_in_list(cursor) : code;
}

/* Add the rows that have the smallest and the largest value of a column, if any.  */
static int add_extremes(struct columns_cursor *cursor, const struct served_column *column,
                        uint32_t *rows, size_t *count)
{
    struct columns_vtab *table = cursor_table(cursor);
    struct columns_key key = { .column = column->column, .text = -1 };
    bool found = true;
    int code = SQLITE_OK;

    if (column->value == SERVED_ID && cursor->to > 0) {
        rows[(*count)++] = 0;
        rows[(*count)++] = (uint32_t)cursor->to - 1;
    }
    if (column->value == SERVED_ID)
        return SQLITE_OK;
    for (int i = 0; i < 2 && code == SQLITE_OK && found; i++) {
        key.is_descending = i == 1;
        code = columns_least(table->columns, table->served->table, &key, true, &rows[*count],
                             &found);
        *count += found;
    }
    return code;
}

/* Rows among which the smallest and largest values of columns are.  *is_plain: a column has other
 * values than integers since the statement was prepared.  */
static int start_extremes(struct columns_cursor *cursor, const char *text, bool *is_plain)
{
    const struct served_table *served = cursor_table(cursor)->served;
    uint32_t *rows = malloc((size_t)2 * SERVED_MOST * sizeof *rows);
    size_t count = 0;
    int code = rows ? SQLITE_OK : SQLITE_NOMEM;

    cursor->to = cursor->source->directory.rows;
    for (; plan_has_key(text) && code == SQLITE_OK; text += 2) {
        const struct served_column *column = &served->columns[text[1] - 'A'];

        *is_plain |= cursor->source->ranges[column->column].has_reals;
        code = add_extremes(cursor, column, rows, &count);
    }
    own_list(cursor, rows, count);
    cursor->at_end = count == 0;
    return code == SQLITE_OK && count > 0 ? settle_in_list(cursor) : code;
}

static int start_columns(struct columns_cursor *cursor, int plan, const char *text,
                         sqlite3_value **argv, bool *is_plain)
{
    struct columns_vtab *table = cursor_table(cursor);
    struct wanted wanted = { .key_count = 0 };
    const char letter = *text != '/' ? text[1] : '\0';

    cursor->from = 0;
    cursor->to = table->columns->sources[table->served->table].directory.rows;
    cursor->step = 1;
    text = read_arguments(cursor, text, argv, &wanted);
    if (cursor->has_always)
        cursor->conditions[cursor->condition_count++] = cursor->always;
    *is_plain = !read_keys(cursor, text, &wanted);
    if (*is_plain)
        return SQLITE_OK;
    if (wanted.none) {
        cursor->at_end = true;
        return SQLITE_OK;
    }
    if (table->served->has_args)
        return args_start(cursor);
    if (!is_natural(cursor, &wanted))
        return start_sorted(cursor, &wanted);
    if (wanted.key_count > 0 && wanted.keys[0].is_id && wanted.keys[0].is_descending)
        cursor->step = -1;
    return start_rows(cursor, plan, letter);
}

/* Of a table of two parts.  */
static int start_states(struct columns_cursor *cursor, int plan, const char *text, int argc,
                        sqlite3_value **argv)
{
    const struct store_columns *columns = cursor_table(cursor)->columns;
    bool is_ordered = plan_has_key(strchr(text, '/') + 1);

    rows_release(cursor);
    if (is_ordered ? states_can_order(columns) : states_are_there(columns))
        return states_start(cursor, plan, text, argv);
    return start_plain(cursor, text, argc, argv);
}

static int start_small(struct columns_cursor *cursor, int plan, const char *text, int argc,
                       sqlite3_value **argv)
{
    struct columns_vtab *table = cursor_table(cursor);
    int code;

    rows_release(cursor);
    code = small_load(table->columns, table->served);
    if (code != SQLITE_OK)
        return code;
    return table->columns->tracks.is_there ? small_start(cursor, plan, text, argv)
                                           : start_plain(cursor, text, argc, argv);
}

int rows_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
               sqlite3_value **argv)
{
    struct columns_vtab *table = cursor_table(cursor);
    struct columns_source *source;
    const char *plain = plan == PLAN_EXTREMES ? "/" : text;
    bool is_plain = false;
    int code = SQLITE_OK;

    if (plan != PLAN_ROWS && cursor->again == plan && cursor->source->is_there) {
        if (plan == PLAN_ID)
            return start_id(cursor, argv[0]);
        if (cursor->again_letter == text[1])
            return start_equal(cursor, argv[0]);
    }
    if (table->served->has_states)
        return start_states(cursor, plan, text, argc, argv);
    if (table->served->is_small)
        return start_small(cursor, plan, text, argc, argv);
    source = &table->columns->sources[table->served->table];
    rows_release(cursor);
    if (table->columns->are_current && source->is_there && table->served->has_names)
        code = columns_load_names(table->columns);
    if (code != SQLITE_OK)
        return code;
    if (!table->columns->are_current || !source->is_there)
        return start_plain(cursor, plain, argc, argv);
    if (plan == PLAN_ID)
        return start_id(cursor, argv[0]);
    if (plan == PLAN_EXTREMES)
        code = start_extremes(cursor, text + 1, &is_plain);
    else
        code = start_columns(cursor, plan, text, argv, &is_plain);
    if (code != SQLITE_OK || !is_plain)
        return code;
    rows_release(cursor);
    return start_plain(cursor, plain, argc, argv);
}
