/* Statements that want the smallest and largest values of columns.
 *
 * SQLite asks a table for one row when a query has a single min() or max(); for two of them it
 * reads all rows.  Therefore a statement with several is planned a second time: then scans without
 * a condition, of columns of integers, are planned as PLAN_EXTREMES, which gives only the rows that
 * have the smallest and largest values.  That is the same for min() and max(), and for nothing
 * else, so the second plan is taken only if SQLite's program (EXPLAIN) has loops of the form
 *
 *     VFilter, then VColumn, CollSeq, AggStep min(1) or max(1) for each of them, then VNext
 *
 * around each such scan.  A program of another form, or of another version of SQLite, is not taken.
 * When SQLite plans a statement anew by itself, scans are the usual ones.  */
#include "libstore/columns_table.h"

#include <strings.h>

/* Whether the text may have two of the functions.  */
static bool may_want_extremes(const char *sql, size_t length)
{
    unsigned found = 0;

    for (size_t i = 0; i + 3 < length && found < 2; i++)
        found += strncasecmp(sql + i, "min", 3) == 0 || strncasecmp(sql + i, "max", 3) == 0;
    return found == 2;
}

/* ---- Checking a program ---- */

enum place { OUTSIDE, AT_COLUMN, AT_COLLATION, AT_STEP };

struct checking {
    enum place place; /* in a loop over a table: what must come next */
    int cursor, value;
    bool is_found, is_refused;
};

static const char *text_of(sqlite3_stmt *program, int column)
{
    const char *text = (const char *)sqlite3_column_text(program, column);

    return text ? text : "";
}

/* The next instruction of the program.  */
static void check(struct checking *checking, sqlite3_stmt *program)
{
    const char *name = text_of(program, 1), *detail = text_of(program, 5);
    int p1 = sqlite3_column_int(program, 2), p2 = sqlite3_column_int(program, 3);
    bool is_expected = false;

    switch (checking->place) {
    case OUTSIDE:
        if (strcmp(name, "VFilter") != 0 || strncmp(detail, "/^", 2) != 0)
            return;
        checking->cursor = p1;
        is_expected = checking->is_found = true;
        checking->place = AT_COLUMN;
        break;
    case AT_COLUMN:
        is_expected = p1 == checking->cursor &&
                      (strcmp(name, "VColumn") == 0 || strcmp(name, "VNext") == 0);
        checking->value = sqlite3_column_int(program, 4);
        checking->place = strcmp(name, "VNext") == 0 ? OUTSIDE : AT_COLLATION;
        break;
    case AT_COLLATION:
        is_expected = strcmp(name, "CollSeq") == 0 && p1 == 0;
        checking->place = AT_STEP;
        break;
    default:
        is_expected = strcmp(name, "AggStep") == 0 && p1 == 0 && p2 == checking->value &&
                      (strcmp(detail, "min(1)") == 0 || strcmp(detail, "max(1)") == 0);
        checking->place = AT_COLUMN;
        break;
    }
    checking->is_refused |= !is_expected;
}

/* Whether each scan for extremes in the statement's program is used for nothing else, and there is
 * one.  */
static bool has_right_loops(sqlite3 *db, const char *sql, int length)
{
    struct checking checking = { .place = OUTSIDE };
    char *text = sqlite3_mprintf("EXPLAIN %.*s", length, sql);
    sqlite3_stmt *program = NULL;
    int code = text ? sqlite3_prepare_v2(db, text, -1, &program, NULL) : SQLITE_NOMEM;

    while (code == SQLITE_OK && (code = sqlite3_step(program)) == SQLITE_ROW) {
        check(&checking, program);
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(program);
    sqlite3_free(text);
    return code == SQLITE_DONE && checking.is_found && !checking.is_refused &&
           checking.place == OUTSIDE;
}

/* ---- Preparing ---- */

/* In place of *statement, one that reads extremes, if it can.  */
static void prepare_extremes(struct store_columns *columns, const char *sql, int length,
                             sqlite3_stmt **statement)
{
    sqlite3_stmt *other = NULL;

    if (columns_hold(columns) != SQLITE_OK)
        return;
    columns->plans_extremes = true;
    if (has_right_loops(columns->db, sql, length))
        (void)sqlite3_prepare_v2(columns->db, sql, length, &other, NULL);
    columns->plans_extremes = false;
    columns_let_go(columns);
    if (!other)
        return;
    (void)sqlite3_finalize(*statement);
    *statement = other;
}

bool store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, const char **rest)
{
    int code;
    size_t length;

    store_columns_withdraw(store);
    code = sqlite3_prepare_v2(store->db, sql, -1, out, rest);
    length = code == SQLITE_OK ? (size_t)(*rest - sql) : 0;

    if (code == SQLITE_OK && *out && store->serving && length < INT32_MAX &&
        sqlite3_stmt_readonly(*out) && !sqlite3_stmt_isexplain(*out) &&
        may_want_extremes(sql, length))
        prepare_extremes(store->serving, sql, (int)length, out);
    return code == SQLITE_OK;
}
