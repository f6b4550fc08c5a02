/* timeline_functions.c - table-valued functions over timelines: ancestors, descendants, slice_at,
 * intervals_intersect.
 *
 * Each runs statements on the connection and gives their rows, some of them or in pairs.  Names of
 * tables are resolved as in any other statement, so columns are used where they are.  */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/index.h"
#include "libstore/functions/functions.h"
#include "libstore/functions/slices_at.h"

enum kind { ANCESTORS, DESCENDANTS, SLICE_AT, INTERVALS_INTERSECT, KINDS };

#define MOST_ARGUMENTS 3
#define SLICE_COLUMNS                                                                         \
    "id INTEGER, ts INTEGER, dur INTEGER, track_id INTEGER, category TEXT, name TEXT, depth " \
    "INTEGER, parent_id INTEGER, arg_set_id INTEGER, "
#define SLICE_VALUES 9

enum { SLICE_ID = 0, SLICE_TRACK = 3, SLICE_DEPTH = 6, SLICE_PARENT = 7 };

static const struct {
    const char *name, *declaration;
    int values, arguments, needed; /* arguments that must be given */
} kinds[KINDS] = {
    [ANCESTORS] = { "ancestors", SLICE_COLUMNS "slice HIDDEN", SLICE_VALUES, 1, 1 },
    [DESCENDANTS] = { "descendants", SLICE_COLUMNS "slice HIDDEN", SLICE_VALUES, 1, 1 },
    [SLICE_AT] = { "slice_at", SLICE_COLUMNS "at HIDDEN, utid HIDDEN", SLICE_VALUES, 2, 2 },
    [INTERVALS_INTERSECT] = { "intervals_intersect",
                              "ts INTEGER, dur INTEGER, id_a, id_b, key, a HIDDEN, b HIDDEN, "
                              "by HIDDEN",
                              5, 3, 2 },
};

/* A view may call a function on itself.  */
#define MOST_NESTED 16
/* Of one side, that last at the same time.  */
#define MOST_OPEN ((size_t)1 << 22)

struct table {
    sqlite3_vtab base;
    struct functions *functions;
    enum kind kind;
    struct slices_at slices; /* those of all statements */
};

struct interval {
    int64_t ts, limit;
    sqlite3_value *id;
};

struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *rows;
    bool at_end;
    int64_t number; /* of the row */
    sqlite3_value *arguments[MOST_ARGUMENTS];

    /* Descendants: those met so far.  */
    struct base_index members;
    int64_t *ids;
    size_t id_count, id_capacity;
    int64_t depth; /* of the slice itself */

    /* Slices at a time: the answer, and the place in it.  */
    struct slices_at_answer answer;
    bool is_fresh;       /* the slices of the table are those of this statement */
    sqlite3_stmt *slice; /* one of them; `rows` while `is_found` */
    bool is_found;
    size_t found_at;

    /* Intervals: those of each side that may go on, and what the last row that was read meets.  */
    struct interval *open[2];
    size_t open_count[2], open_capacity[2], at;
    struct interval now;
    int side;
    sqlite3_value *key;
};

/* ---- Connecting ---- */

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **error)
{
    struct table *table = sqlite3_malloc(sizeof *table);
    enum kind kind = ANCESTORS;
    int code;

    (void)argc;
    (void)error;
    if (!table)
        return SQLITE_NOMEM;
    while (kind < KINDS - 1 && strcmp(kinds[kind].name, argv[0]) != 0)
        kind++;
    *table = (struct table){ .functions = context, .kind = kind };
    code = functions_declare(db, sqlite3_mprintf("CREATE TABLE x(%s)", kinds[kind].declaration));
    if (code == SQLITE_OK)
        *out = &table->base;
    else
        sqlite3_free(table);
    return code;
}

static int disconnect(sqlite3_vtab *base)
{
    slices_at_release(&((struct table *)base)->slices);
    return functions_disconnect(base);
}

/* ---- Planning ---- */

static int argument_of(const sqlite3_vtab *base, int column)
{
    return column - kinds[((const struct table *)base)->kind].values;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    enum kind kind = ((struct table *)base)->kind;

    info->estimatedCost = kind == INTERVALS_INTERSECT ? 1e7 : 1000;
    info->estimatedRows = kind == INTERVALS_INTERSECT ? 1000000 : 10;
    return functions_plan(base, info, argument_of);
}

/* ---- Cursors ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    *out = functions_zeroed((int)sizeof(struct cursor)); /* which begins with the base */
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static void release_side(struct cursor *cursor, int side)
{
    for (size_t i = 0; i < cursor->open_count[side]; i++)
        sqlite3_value_free(cursor->open[side][i].id);
    cursor->open_count[side] = 0;
}

static void clear(struct cursor *cursor)
{
    if (!cursor->is_found)
        (void)sqlite3_finalize(cursor->rows);
    (void)sqlite3_reset(cursor->slice);
    for (int i = 0; i < MOST_ARGUMENTS; i++)
        sqlite3_value_free(cursor->arguments[i]);
    base_index_release(&cursor->members);
    free(cursor->ids);
    for (int side = 0; side < 2; side++) {
        release_side(cursor, side);
        free(cursor->open[side]);
    }
    sqlite3_value_free(cursor->now.id);
    sqlite3_value_free(cursor->key);
    *cursor = (struct cursor){ .base = cursor->base,
                               .answer = cursor->answer,
                               .is_fresh = cursor->is_fresh,
                               .slice = cursor->slice };
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    clear(cursor);
    free(cursor->answer.found);
    (void)sqlite3_finalize(cursor->slice);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Prepare a statement and bind the first arguments.  */
static int prepare(struct cursor *cursor, const char *sql, int count)
{
    struct table *table = (struct table *)cursor->base.pVtab;
    int code = sql ? sqlite3_prepare_v2(table->functions->db, sql, -1, &cursor->rows, NULL)
                   : SQLITE_NOMEM;

    for (int i = 0; i < count && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(cursor->rows, i + 1, cursor->arguments[i]);
    return code;
}

/* ---- Slices ---- */

#define SLICE \
    "s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id"

/* A parent comes before its children; what does not is no parent, so no circle is followed.  */
static int start_ancestors(struct cursor *cursor)
{
    return prepare(cursor,
                   "WITH RECURSIVE up (id, n) AS ("
                   "SELECT parent_id, 1 FROM slice_data WHERE id = ?1 AND parent_id < id UNION ALL "
                   "SELECT s.parent_id, n + 1 FROM up JOIN slice_data AS s ON s.id = up.id "
                   "WHERE s.parent_id < s.id) "
                   "SELECT " SLICE " FROM up CROSS JOIN slice AS s ON s.id = up.id ORDER BY up.n",
                   1);
}

static bool is_member(const struct cursor *cursor, int64_t id)
{
    uint64_t hash = base_hash((uint64_t)id, 0);
    size_t probe;

    for (uint32_t i = base_index_first(&cursor->members, hash, &probe); i;
         i = base_index_next(&cursor->members, hash, &probe))
        if (cursor->ids[i - 1] == id)
            return true;
    return false;
}

static int add_member(struct cursor *cursor, int64_t id)
{
    if (cursor->id_count >= UINT32_MAX - 1 ||
        !base_make_room(&cursor->ids, &cursor->id_capacity, cursor->id_count + 1,
                        sizeof *cursor->ids) ||
        !base_index_reserve(&cursor->members))
        return SQLITE_NOMEM;
    cursor->ids[cursor->id_count++] = id;
    base_index_add(&cursor->members, base_hash((uint64_t)id, 0), (uint32_t)cursor->id_count);
    return SQLITE_OK;
}

/* What is below a slice follows it on its track, up to the next slice that is as high.  */
static int start_descendants(struct cursor *cursor)
{
    int code = prepare(cursor,
                       "SELECT " SLICE " FROM slice AS s WHERE s.id >= ?1 AND s.track_id = "
                       "(SELECT track_id FROM slice_data WHERE id = ?1) ORDER BY s.id",
                       1);

    if (code == SQLITE_OK)
        code = sqlite3_step(cursor->rows);
    if (code == SQLITE_DONE) /* no such slice */
        return SQLITE_OK;
    if (code != SQLITE_ROW)
        return code;
    cursor->depth = sqlite3_column_int64(cursor->rows, SLICE_DEPTH);
    return add_member(cursor, sqlite3_column_int64(cursor->rows, SLICE_ID));
}

static int next_descendant(struct cursor *cursor)
{
    int code;

    if (cursor->id_count == 0)
        return SQLITE_DONE;
    while ((code = sqlite3_step(cursor->rows)) == SQLITE_ROW) {
        if (sqlite3_column_int64(cursor->rows, SLICE_DEPTH) <= cursor->depth)
            return SQLITE_DONE;
        if (sqlite3_column_type(cursor->rows, SLICE_PARENT) == SQLITE_NULL ||
            !is_member(cursor, sqlite3_column_int64(cursor->rows, SLICE_PARENT)))
            continue;
        code = add_member(cursor, sqlite3_column_int64(cursor->rows, SLICE_ID));
        return code == SQLITE_OK ? SQLITE_ROW : code;
    }
    return code;
}

/* All slices before the time, which the statement compares with it.  */
static int read_slices_at(struct cursor *cursor)
{
    return prepare(cursor,
                   "SELECT " SLICE " FROM slice AS s WHERE s.ts <= ?1 AND s.track_id IN "
                   "(SELECT id FROM track WHERE type = 'thread' AND utid = ?2) "
                   "AND (s.dur < 0 OR ?1 - s.ts < s.dur) ORDER BY s.depth, s.id",
                   2);
}

/* Whole numbers are looked up.  What is compared in another way, or is too much, is read.  */
static int find_slices_at(struct cursor *cursor)
{
    struct table *table = (struct table *)cursor->base.pVtab;
    sqlite3 *db = table->functions->db;
    int code = SQLITE_FULL;

    if (!cursor->is_fresh)
        slices_at_refresh(&table->slices, db);
    cursor->is_fresh = true;

    if (sqlite3_value_type(cursor->arguments[0]) == SQLITE_INTEGER &&
        sqlite3_value_type(cursor->arguments[1]) == SQLITE_INTEGER)
        code = slices_at_find(&table->slices, db, sqlite3_value_int64(cursor->arguments[1]),
                              sqlite3_value_int64(cursor->arguments[0]), &cursor->answer);
    if (code == SQLITE_FULL)
        return read_slices_at(cursor);
    if (code == SQLITE_OK && !cursor->slice)
        code = sqlite3_prepare_v2(db, "SELECT " SLICE " FROM slice AS s WHERE s.id = ?1", -1,
                                  &cursor->slice, NULL);
    if (code == SQLITE_OK) {
        cursor->is_found = true;
        cursor->rows = cursor->slice;
    }
    return code;
}

static int next_slice_at(struct cursor *cursor)
{
    int code = cursor->rows ? SQLITE_OK : find_slices_at(cursor);

    if (code != SQLITE_OK)
        return code;
    if (!cursor->is_found)
        return sqlite3_step(cursor->rows);
    (void)sqlite3_reset(cursor->slice);
    if (cursor->found_at == cursor->answer.count)
        return SQLITE_DONE;
    code = sqlite3_bind_int64(cursor->slice, 1, cursor->answer.found[cursor->found_at++].id);
    return code == SQLITE_OK ? sqlite3_step(cursor->slice) : code;
}

/* ---- Intervals ---- */

/* A duration below 0 lasts to the end.  */
static int64_t limit_of(int64_t ts, int64_t dur)
{
    int64_t limit;

    return dur < 0 || __builtin_add_overflow(ts, dur, &limit) ? INT64_MAX : limit;
}

static int start_intervals(struct cursor *cursor)
{
    const char *names[MOST_ARGUMENTS];
    char *by, *sql;
    int code;

    for (int i = 0; i < MOST_ARGUMENTS; i++) {
        sqlite3_value *value = cursor->arguments[i];

        names[i] = value ? (const char *)sqlite3_value_text(value) : NULL;
    }
    by = names[2] ? sqlite3_mprintf("t.\"%w\"", names[2]) : sqlite3_mprintf("0");
    sql = by ? sqlite3_mprintf("SELECT key, ts, dur, id, side FROM ("
                               "SELECT %s AS key, ts, dur, id, 0 AS side FROM \"%w\" AS t "
                               "UNION ALL SELECT %s, ts, dur, id, 1 FROM \"%w\" AS t) "
                               "WHERE key IS NOT NULL AND ts IS NOT NULL AND dur IS NOT NULL "
                               "ORDER BY key COLLATE BINARY, ts, side",
                               by, names[0], by, names[1])
             : NULL;
    sqlite3_free(by);
    code = prepare(cursor, sql, 0);
    sqlite3_free(sql);
    return code;
}

/* As SQL compares them, without a collation.  */
static bool is_same(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a), other = sqlite3_value_type(b);
    int size;

    if (type == SQLITE_INTEGER && other == SQLITE_INTEGER)
        return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) &&
        (other == SQLITE_INTEGER || other == SQLITE_FLOAT))
        return sqlite3_value_double(a) == sqlite3_value_double(b);
    if (type != other)
        return false;
    size = sqlite3_value_bytes(a);
    return size == sqlite3_value_bytes(b) &&
           (size == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), (size_t)size) == 0);
}

/* An interval joins those of its side.  */
static int keep_now(struct cursor *cursor)
{
    int side = cursor->side;

    if (!cursor->now.id)
        return SQLITE_OK;
    if (cursor->open_count[side] >= MOST_OPEN)
        return SQLITE_TOOBIG;
    if (!base_make_room(&cursor->open[side], &cursor->open_capacity[side],
                        cursor->open_count[side] + 1, sizeof *cursor->open[side])) {
        sqlite3_value_free(cursor->now.id);
        cursor->now.id = NULL;
        return SQLITE_NOMEM;
    }
    cursor->open[side][cursor->open_count[side]++] = cursor->now;
    cursor->now.id = NULL;
    return SQLITE_OK;
}

/* Read the next interval.  Returns SQLITE_ROW, SQLITE_DONE or an error.  */
static int read_interval(struct cursor *cursor)
{
    sqlite3_value *key;
    int code = keep_now(cursor);

    if (code == SQLITE_OK)
        code = sqlite3_step(cursor->rows);
    if (code != SQLITE_ROW)
        return code;
    key = sqlite3_column_value(cursor->rows, 0);
    if (!cursor->key || !is_same(cursor->key, key)) {
        release_side(cursor, 0);
        release_side(cursor, 1);
        sqlite3_value_free(cursor->key);
        cursor->key = sqlite3_value_dup(key);
        if (!cursor->key)
            return SQLITE_NOMEM;
    }
    cursor->now.ts = sqlite3_column_int64(cursor->rows, 1);
    cursor->now.limit = limit_of(cursor->now.ts, sqlite3_column_int64(cursor->rows, 2));
    cursor->now.id = sqlite3_value_dup(sqlite3_column_value(cursor->rows, 3));
    cursor->side = sqlite3_column_int(cursor->rows, 4);
    cursor->at = 0;
    return cursor->now.id ? SQLITE_ROW : SQLITE_NOMEM;
}

/* Whether an interval of the other side is over at that time.  An instant is in an interval that
 * lasts then.  */
static bool is_over(const struct interval *interval, int64_t ts)
{
    return interval->limit > interval->ts ? interval->limit <= ts : interval->ts < ts;
}

/* The next pair: the interval that was read last, and one of the other side that is still open.
 * Those that are over are forgotten.  */
static int next_pair(struct cursor *cursor)
{
    for (;;) {
        int other = 1 - cursor->side;

        while (cursor->now.id && cursor->at < cursor->open_count[other]) {
            struct interval *open = &cursor->open[other][cursor->at];

            if (!is_over(open, cursor->now.ts)) {
                cursor->at++;
                return SQLITE_ROW;
            }
            sqlite3_value_free(open->id);
            *open = cursor->open[other][--cursor->open_count[other]];
        }
        int code = read_interval(cursor);

        if (code != SQLITE_ROW)
            return code;
    }
}

static void put_pair(sqlite3_context *context, const struct cursor *cursor, int index)
{
    const struct interval *open = &cursor->open[1 - cursor->side][cursor->at - 1];
    int64_t limit = open->limit < cursor->now.limit ? open->limit : cursor->now.limit;

    if (index == 0)
        sqlite3_result_int64(context, cursor->now.ts);
    else if (index == 1)
        sqlite3_result_int64(context, limit == INT64_MAX ? -1 : limit - cursor->now.ts);
    else if (index == 4 && cursor->arguments[2])
        sqlite3_result_value(context, cursor->key);
    else if (index < 4)
        sqlite3_result_value(context,
                             (index == 2) == (cursor->side == 0) ? cursor->now.id : open->id);
}

/* ---- Rows ---- */

static int start(struct cursor *cursor, enum kind kind)
{
    switch (kind) {
    case ANCESTORS:
        return start_ancestors(cursor);
    case DESCENDANTS:
        return start_descendants(cursor);
    case SLICE_AT:
        return SQLITE_OK; /* the first row is looked for like the others */
    default:
        return start_intervals(cursor);
    }
}

static int step(struct cursor *cursor, enum kind kind)
{
    if (kind == DESCENDANTS)
        return next_descendant(cursor);
    if (kind == INTERVALS_INTERSECT)
        return next_pair(cursor);
    if (kind == SLICE_AT)
        return next_slice_at(cursor);
    return sqlite3_step(cursor->rows);
}

/* An error of a statement, in the words of SQLite.  */
static int report(struct table *table, int code)
{
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = NULL;
    if (code == SQLITE_TOOBIG)
        table->base.zErrMsg = sqlite3_mprintf("%s(): more than %d intervals overlap; give it "
                                              "fewer intervals",
                                              kinds[table->kind].name, (int)MOST_OPEN);
    else if (code == SQLITE_ERROR)
        table->base.zErrMsg = sqlite3_mprintf("%s(): %s", kinds[table->kind].name,
                                              sqlite3_errmsg(table->functions->db));
    return code;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    int code;

    if (table->functions->nested >= MOST_NESTED) {
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = sqlite3_mprintf("%s(): more than %d such functions inside each "
                                               "other; a view may call itself",
                                               kinds[table->kind].name, MOST_NESTED);
        return SQLITE_ERROR;
    }
    table->functions->nested++;
    code = step(cursor, table->kind);
    table->functions->nested--;
    cursor->number++;
    cursor->at_end = code != SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : report(table, code);
}

/* Whether the arguments that are needed are there.  A slice or time that is NULL has no rows.  */
static int check_arguments(struct cursor *cursor, struct table *table, bool *none)
{
    for (int i = 0; i < kinds[table->kind].needed; i++) {
        if (!cursor->arguments[i]) {
            table->base.zErrMsg = sqlite3_mprintf(
                "%s() needs %d argument%s", kinds[table->kind].name, kinds[table->kind].needed,
                kinds[table->kind].needed == 1 ? "" : "s");
            return SQLITE_ERROR;
        }
        *none |= sqlite3_value_type(cursor->arguments[i]) == SQLITE_NULL;
    }
    if (!cursor->arguments[2] || sqlite3_value_type(cursor->arguments[2]) != SQLITE_NULL)
        return SQLITE_OK;
    sqlite3_value_free(cursor->arguments[2]); /* by NULL: by nothing */
    cursor->arguments[2] = NULL;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                  sqlite3_value **values)
{
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    bool none = false;
    int code;

    (void)number;
    clear(cursor);
    code = functions_take_arguments(cursor->arguments, plan, count, values);
    if (code != SQLITE_OK)
        return code;
    sqlite3_free(base->pVtab->zErrMsg);
    base->pVtab->zErrMsg = NULL;
    code = check_arguments(cursor, table, &none);
    if (code != SQLITE_OK)
        return code;
    cursor->at_end = none;
    if (none)
        return SQLITE_OK;
    code = start(cursor, table->kind);
    return code == SQLITE_OK ? next(base) : report(table, code);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((const struct cursor *)base)->at_end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    const struct cursor *cursor = (const struct cursor *)base;
    enum kind kind = ((struct table *)base->pVtab)->kind;

    if (index >= kinds[kind].values) {
        if (cursor->arguments[index - kinds[kind].values])
            sqlite3_result_value(context, cursor->arguments[index - kinds[kind].values]);
    } else if (kind == INTERVALS_INTERSECT) {
        put_pair(context, cursor, index);
    } else {
        sqlite3_result_value(context, sqlite3_column_value(cursor->rows, index));
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((const struct cursor *)base)->number;
    return SQLITE_OK;
}

int timeline_register(sqlite3 *db, struct functions *functions)
{
    static const sqlite3_module module = {
        .iVersion = 1,
        .xConnect = connect, /* no xCreate: there are no others of its kind */
        .xDisconnect = disconnect,
        .xBestIndex = best_index,
        .xFilter = filter,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
        .xOpen = open_cursor,
        .xClose = close_cursor,
    };
    int code = SQLITE_OK;

    for (int i = 0; i < KINDS && code == SQLITE_OK; i++)
        code = sqlite3_create_module_v2(db, kinds[i].name, &module, functions_hold(functions),
                                        functions_drop);
    return code;
}
