/* Statements whose rows may be combined, or tested before SQLite sees them, or of which only those
 * with extremes are wanted.
 *
 * A virtual table does not know what a query does with its rows, but SQLite's program (EXPLAIN)
 * shows it.  Therefore a statement with aggregate functions or conditions is planned again: once
 * with marks in the plans of scans, by which their loops are found in the program
 * (columns_program.c); once with plans that give fewer rows as the loops allow, of which the
 * program must be the same; and then for use.  When SQLite plans a statement again by itself,
 * scans are the usual ones.  */
#include "libstore/columns_prepare.h"

#include "libstore/columns_derived.h"
#include "libstore/columns_program.h"
#include "libstore/columns_window.h"

#include <string.h>
#include <strings.h>

/* Whether a word is somewhere in the text.  */
static bool has(const char *sql, size_t length, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= length; i++)
        if (strncasecmp(sql + i, word, size) == 0)
            return true;
    return false;
}

/* Whether the text may have a function for which rows can be combined.  */
static bool may_combine(const char *sql, size_t length)
{
    return has(sql, length, "sum") || has(sql, length, "min") || has(sql, length, "max") ||
           has(sql, length, "count");
}

/* Whether the text may have conditions of a WHERE or an ON.  */
static bool may_test(const char *sql, size_t length)
{
    return has(sql, length, "where") || has(sql, length, "join");
}

/* Whether a loop does with its rows what its plan allows.  */
static bool is_allowed(const struct store_columns *columns, const struct columns_loop *loop)
{
    const char *text = strchr(loop->plan, PLAN_USES), *tests = strchr(loop->plan, PLAN_TESTS);
    bool are_extremes = strchr(loop->plan, '^') != NULL;
    uint8_t allowed[SERVED_MOST] = { 0 };

    if (!text)
        return strcmp(tests + 2, loop->tests) == 0;
    for (text++; *text; text += 2)
        allowed[text[1] - 'A'] = (uint8_t)(text[0] - '@');
    for (unsigned i = 0; i < SERVED_MOST; i++)
        if (loop->uses[i] & ~allowed[i])
            return false;
    return loop->is_right && !(loop->counts && (are_extremes || !columns->counts));
}

/* Whether something is known of the loops that lets scans give fewer rows.  */
static bool can_help(struct store_columns *columns, bool may_be_combined,
                     struct columns_loops *loops)
{
    bool any = false, counts = false;

    for (unsigned i = 0; i < loops->count; i++)
        counts |= may_be_combined && loops->items[i].is_right && loops->items[i].counts;
    counts = counts && combined_count(columns);
    for (unsigned i = 0; i < loops->count; i++) {
        struct columns_loop *loop = &loops->items[i];

        loop->is_right = loop->is_right && may_be_combined && (counts || !loop->counts);
        any |= loop->is_right || loop->tests[0];
    }
    return any;
}

/* Whether the statement has loops to which scans can give fewer rows, and how it is planned then
 * does only what their plans allow.  */
static bool can_plan(struct store_columns *columns, const char *sql, int length,
                     struct columns_loops *loops)
{
    struct columns_loops planned;

    columns->planning = PLANNED_TO_ASK;
    if (columns_read_loops(columns->db, sql, length, loops) != SQLITE_OK ||
        !can_help(columns, may_combine(sql, (size_t)length), loops))
        return false;
    columns->loops = loops;
    columns->planning = PLANNED_TO_COMBINE;
    if (columns_read_loops(columns->db, sql, length, &planned) != SQLITE_OK)
        return false;
    for (unsigned i = 0; i < planned.count; i++)
        if (!is_allowed(columns, &planned.items[i]))
            return false;
    return planned.count > 0;
}

void columns_prepare_again(struct store_columns *columns, const char *sql, int length,
                           sqlite3_stmt **statement)
{
    sqlite3_stmt *other = NULL;
    struct columns_loops loops;

    if (!may_combine(sql, (size_t)length) && !may_test(sql, (size_t)length))
        return;
    if (can_plan(columns, sql, length, &loops))
        (void)sqlite3_prepare_v2(columns->db, sql, length, &other, NULL);
    columns->planning = PLANNED_AS_USUAL;
    columns->loops = NULL;
    if (!other)
        return;
    (void)sqlite3_finalize(*statement);
    *statement = other;
}

/* In place of *statement, one that needs less of SQLite, if there is one.  */
static void improve(struct store_columns *columns, const char *sql, size_t length, bool is_for_once,
                    sqlite3_stmt **statement)
{
    char *text = NULL;

    if (is_for_once && has(sql, length, "over") &&
        window_prepare(columns, sql, (int)length, statement))
        return;
    if (is_for_once && has(sql, length, "group"))
        text = derived_prepare(columns, sql, (int)length, statement);
    if (text)
        columns_prepare_again(columns, text, (int)strlen(text), statement);
    else
        columns_prepare_again(columns, sql, (int)length, statement);
    sqlite3_free(text);
}

static bool prepare(struct store *store, const char *sql, bool is_for_once, sqlite3_stmt **out,
                    const char **rest)
{
    int code;
    size_t length;

    store_columns_withdraw(store);
    code = sqlite3_prepare_v2(store->db, sql, -1, out, rest);
    length = code == SQLITE_OK ? (size_t)(*rest - sql) : 0;

    if (code == SQLITE_OK && *out && store->serving && length < INT32_MAX &&
        sqlite3_stmt_readonly(*out) && !sqlite3_stmt_isexplain(*out))
        improve(store->serving, sql, length, is_for_once, out);
    return code == SQLITE_OK;
}

bool store_prepare(struct store *store, const char *sql, sqlite3_stmt **out, const char **rest)
{
    return prepare(store, sql, false, out, rest);
}

bool store_prepare_once(struct store *store, const char *sql, sqlite3_stmt **out, const char **rest)
{
    return prepare(store, sql, true, out, rest);
}
