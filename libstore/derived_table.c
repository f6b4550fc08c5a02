#include "libstore/derived_table.h"

#include "libstore/columns_prepare.h"
#include "libstore/keyed_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TABLES_KEPT 64 /* of former statements */

_Static_assert(SUBQUERY_ITEMS == KEYED_COLUMNS, "a table has the columns of its subquery");

struct derived_vtab {
    sqlite3_vtab base;
    struct derived *is;
};

struct derived_cursor {
    sqlite3_vtab_cursor base;
    struct keyed_rows *rows; /* owned; NULL: the subquery has not been run */
    bool found;
};

void derived_drop(void *context)
{
    struct derived *is = context;

    if (--is->references > 0)
        return;
    sqlite3_free(is->sql);
    sqlite3_free(is->declaration);
    columns_drop(is->columns);
    free(is);
}

static int connect_derived(sqlite3 *db, void *context, int argc, const char *const *argv,
                           sqlite3_vtab **out, char **message)
{
    struct derived *is = context;
    struct derived_vtab *table;
    int code = sqlite3_declare_vtab(db, is->declaration);

    (void)argc;
    (void)argv;
    (void)message;
    if (code != SQLITE_OK)
        return code;
    table = calloc(1, sizeof *table);
    if (!table)
        return SQLITE_NOMEM;
    table->is = is;
    is->references++;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_derived(sqlite3_vtab *base)
{
    struct derived_vtab *table = (struct derived_vtab *)base;

    derived_drop(table->is);
    free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct derived *is = ((struct derived_vtab *)base)->is;

    info->estimatedCost = 1e12;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

        if (!constraint->usable || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ ||
            constraint->iColumn != (int)is->key)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxStr = is->plan;
        info->estimatedCost = 10;
        info->estimatedRows = 1;
        break;
    }
    return SQLITE_OK;
}

/* Run the subquery.  It is one more statement, within a row of the one that runs.  */
static int fill(const struct derived *is, struct keyed_rows *rows)
{
    struct store_columns *columns = is->columns;
    int64_t weight = columns->weight;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(columns->db, is->sql, -1, &statement, NULL);

    if (code == SQLITE_OK) {
        columns_prepare_again(columns, is->sql, (int)strlen(is->sql), &statement);
        columns->weight = 1;
        code = keyed_fill(rows, statement);
        columns->weight = weight;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* The rows are there from now on, or it fails and there are none.  */
static int fill_cursor(struct derived_cursor *cursor)
{
    const struct derived *is = ((struct derived_vtab *)cursor->base.pVtab)->is;
    int code;

    cursor->rows = keyed_open(is->count, is->key, is->types, is->columns->most_keyed_bytes);
    code = cursor->rows ? fill(is, cursor->rows) : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        return code;
    keyed_close(cursor->rows);
    cursor->rows = NULL;
    return code;
}

static int close_derived(sqlite3_vtab_cursor *base)
{
    struct derived_cursor *cursor = (struct derived_cursor *)base;

    keyed_close(cursor->rows);
    free(cursor);
    return SQLITE_OK;
}

/* If the subquery fails here, it is run again at the first look-up, which reports the error.
 * Without a look-up, SQLite would not have run it.  */
static int open_derived(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct derived_cursor *cursor = calloc(1, sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    cursor->base.pVtab = base;
    if (((struct derived_vtab *)base)->is->is_early)
        (void)fill_cursor(cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int filter_derived(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                          sqlite3_value **argv)
{
    struct derived_cursor *cursor = (struct derived_cursor *)base;
    int code = argc == 1 ? SQLITE_OK : SQLITE_INTERNAL;

    (void)plan;
    (void)text;
    cursor->found = false;
    if (code == SQLITE_OK && !cursor->rows)
        code = fill_cursor(cursor);
    if (code == SQLITE_OK)
        return keyed_seek(cursor->rows, argv[0], &cursor->found);
    if (code != SQLITE_NOMEM)
        base->pVtab->zErrMsg = sqlite3_mprintf(
            "%s", sqlite3_errmsg(((struct derived_vtab *)base->pVtab)->is->columns->db));
    return code;
}

static int next_derived(sqlite3_vtab_cursor *base)
{
    struct derived_cursor *cursor = (struct derived_cursor *)base;

    return keyed_next(cursor->rows, &cursor->found);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return !((const struct derived_cursor *)base)->found;
}

static int column_derived(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    keyed_column(((struct derived_cursor *)base)->rows, context, (unsigned)number);
    return SQLITE_OK;
}

/* No program that is used asks for it.  */
static int rowid_derived(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    (void)base;
    *out = 0;
    return SQLITE_INTERNAL;
}

static const sqlite3_module derived_module = {
    .iVersion = 1,
    .xConnect = connect_derived, /* no xCreate: it is there without a CREATE */
    .xBestIndex = best_index,
    .xDisconnect = disconnect_derived,
    .xOpen = open_derived,
    .xClose = close_derived,
    .xFilter = filter_derived,
    .xNext = next_derived,
    .xEof = at_end,
    .xColumn = column_derived,
    .xRowid = rowid_derived,
};

/* "CREATE TABLE x (...)" with the columns of a statement.  */
static char *declare(sqlite3_stmt *statement)
{
    char *text = sqlite3_mprintf("CREATE TABLE x (");

    for (int i = 0; i < sqlite3_column_count(statement) && text; i++) {
        const char *type = sqlite3_column_decltype(statement, i);
        char *longer = sqlite3_mprintf("%s%s\"%w\" %s", text, i > 0 ? ", " : "",
                                       sqlite3_column_name(statement, i), type ? type : "");

        sqlite3_free(text);
        text = longer;
    }
    if (text) {
        char *whole = sqlite3_mprintf("%s)", text);

        sqlite3_free(text);
        text = whole;
    }
    return text;
}

/* Whether rows of the statement can be such a table.  */
static bool is_right(sqlite3_stmt *statement, const char *rest, const char *end, unsigned key)
{
    int count = sqlite3_column_count(statement);
    const char *type;

    if (rest != end || !sqlite3_stmt_readonly(statement) ||
        sqlite3_bind_parameter_count(statement) > 0 || count < 2 || count > (int)KEYED_COLUMNS ||
        key >= (unsigned)count)
        return false;
    type = sqlite3_column_decltype(statement, (int)key);
    return type && strcasecmp(type, "INTEGER") == 0;
}

/* Of each TABLES_KEPT tables, those of the TABLES_KEPT before.  */
static void forget_old(struct store_columns *columns, int64_t number)
{
    char name[48];

    for (int64_t i = TABLES_KEPT; number % TABLES_KEPT == 0 && i < INT64_C(2) * TABLES_KEPT; i++) {
        (void)sqlite3_snprintf(sizeof name, name, DERIVED_NAME "%lld", (long long)(number - i));
        (void)sqlite3_create_module_v2(columns->db, name, NULL, NULL, NULL);
    }
}

/* Let SQL know the table.  */
static bool introduce(struct store_columns *columns, struct derived *is)
{
    char name[48];

    forget_old(columns, is->number);
    (void)sqlite3_snprintf(sizeof name, name, DERIVED_NAME "%lld", (long long)is->number);
    is->references++;
    return sqlite3_create_module_v2(columns->db, name, &derived_module, is, derived_drop) ==
           SQLITE_OK;
}

struct derived *derived_make(struct store_columns *columns, const struct subquery *subquery)
{
    int length = (int)(subquery->end - subquery->start);
    struct derived *is = calloc(1, sizeof *is);
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;

    if (!is)
        return NULL;
    is->columns = columns;
    columns->references++;
    is->references = 1;
    if (sqlite3_prepare_v2(columns->db, subquery->start, length, &statement, &rest) == SQLITE_OK &&
        statement) {
        is->key = sql_key_of(subquery);
        is->count = (unsigned)sqlite3_column_count(statement);
        if (is_right(statement, rest, subquery->end, is->key)) {
            is->sql = sqlite3_mprintf("%.*s\nORDER BY %u", length, subquery->start, is->key + 1);
            is->declaration = declare(statement);
        }
    }
    (void)sqlite3_finalize(statement);
    if (is->sql && is->declaration) {
        is->number = ++columns->last_derived;
        (void)sqlite3_snprintf(sizeof is->plan, is->plan, "derived %lld", (long long)is->number);
        if (introduce(columns, is))
            return is;
    }
    derived_drop(is);
    return NULL;
}
