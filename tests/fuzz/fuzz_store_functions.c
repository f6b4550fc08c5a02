/* The SQL functions and table functions with arguments of any type, on a small store that is sound.
 *
 * - There is an answer or an error; the same call gives the same again.
 * - In a tree the total of the root is the sum of what all cost themselves; flamegraph() has the
 *   rows of call_tree().  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/functions/functions.h"
#include "tests/fuzz/store_files.h"

static const struct {
    const char *sql;
    int arguments;
} calls[] = {
    { "SELECT folded(?)", 1 },
    { "SELECT leaf(?)", 1 },
    { "SELECT depth(?)", 1 },
    { "SELECT in_stack(?, ?)", 2 },
    { "SELECT count(in_stack(id, ?)) FROM callsite", 1 },
    { "SELECT demangle(?)", 1 },
    { "SELECT hex(?)", 1 },
    { "SELECT ? REGEXP ?", 2 },
    { "SELECT extract_arg(?, ?)", 2 },
    { "SELECT percentile(column1, ?) FROM (VALUES (?), (?), (?))", 4 },
    { "SELECT count(*) FROM call_tree WHERE per = ?", 1 },
    { "SELECT * FROM callers(?) WHERE focus = ? AND ignore = ?", 3 },
    { "SELECT * FROM callees(?) WHERE hide = ? AND show_from = ?", 3 },
    { "SELECT * FROM call_top WHERE per = ? AND type = ?", 2 },
    { "SELECT * FROM call_top WHERE type = ? AND tid = ? AND pid = ?", 3 },
    { "SELECT * FROM callsite_counts WHERE from_ts = ? AND limit_ts = ? AND cpu = ?", 3 },
    { "SELECT * FROM callsite_counts(?) WHERE comm = ? AND capture = ?", 3 },
    { "SELECT f.level, t.depth FROM flamegraph AS f, call_tree AS t WHERE f.type = ? AND t.type = "
      "f.label LIMIT 20",
      1 },
    { "SELECT count(leaf(id, ?, ?, ?)) FROM callsite", 3 },
};

#define CALLS (sizeof calls / sizeof *calls)

/* What a statement gave, as text; from malloc().  */
static char *answer_of(sqlite3 *db, size_t call, struct fuzz_choices choices)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    int code;

    HOLD(stream != NULL);
    HOLD(sqlite3_prepare_v2(db, calls[call].sql, -1, &statement, NULL) == SQLITE_OK);
    for (int i = 1; i <= calls[call].arguments; i++)
        fuzz_bind(&choices, statement, i);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *cell = (const char *)sqlite3_column_text(statement, i);

            (void)fprintf(stream, "%s|", cell ? cell : "NULL");
        }
    HOLD(code == SQLITE_DONE || code == SQLITE_ERROR || code == SQLITE_TOOBIG ||
         code == SQLITE_NOMEM); /* a regular expression that takes too much */
    (void)fprintf(stream, "%d %s", code, code == SQLITE_DONE ? "" : sqlite3_errmsg(db));
    (void)sqlite3_finalize(statement);
    (void)fclose(stream);
    return text;
}

/* Filters of a tree: the same for all that compare it.  */
static int64_t tree_number(sqlite3 *db, const char *start, struct fuzz_choices choices, bool *known)
{
    char *sql = sqlite3_mprintf("%s WHERE focus = ? AND ignore = ? AND hide = ? AND pid = ? AND "
                                "type = ?",
                                start);
    sqlite3_stmt *statement = NULL;
    int64_t number = 0;

    HOLD(sql && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    for (int i = 1; i <= 5; i++)
        fuzz_bind(&choices, statement, i);
    *known = sqlite3_step(statement) == SQLITE_ROW;
    if (*known)
        number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    sqlite3_free(sql);
    return number;
}

static void hold_tree(sqlite3 *db, struct fuzz_choices choices)
{
    bool known, other_known;
    int64_t total = tree_number(db, "SELECT max(iif(depth = 0, total, NULL)) FROM call_tree",
                                choices, &known);
    int64_t rows = tree_number(db, "SELECT count(*) FROM call_tree", choices, &known);

    HOLD(tree_number(db, "SELECT sum(self) FROM call_tree", choices, &other_known) == total);
    HOLD(known == other_known);
    HOLD(tree_number(db, "SELECT count(*) FROM flamegraph", choices, &other_known) == rows);
    HOLD(tree_number(db, "SELECT sum(self) FROM flamegraph", choices, &other_known) == total);
}

/* The C library copies what is repeated: "a{9}{9}{9}" and "((a+)+)+" take memory at will.  A
 * pattern is the user's own, and no store's.  */
static bool is_costly(const uint8_t *data, size_t size)
{
    unsigned repeats = 0;

    for (size_t i = 0; i < size; i++) {
        if (data[i] == '{')
            return true;
        repeats += data[i] == '+';
    }
    return repeats > 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sqlite3 *db;
    struct fuzz_choices choices = { data, size };
    size_t call;
    char *answer, *again;

    if (!db) {
        db = fuzz_small_store(false);
        HOLD(functions_register(db, NULL) == SQLITE_OK);
    }
    if (is_costly(data, size))
        return 0;
    call = fuzz_choose(&choices, 1) % CALLS;
    answer = answer_of(db, call, choices);
    again = answer_of(db, call, choices);
    HOLD(strcmp(answer, again) == 0);
    free(answer);
    free(again);
    hold_tree(db, choices);
    return 0;
}
