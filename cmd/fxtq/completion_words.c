#include "cmd/fxtq/completion_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fxt/store.h>
#include "cmd/cli/cli.h"

static void add(struct words *words, const char *text, size_t length)
{
    char *copy = cli_allocate(length + 1, 1);

    memcpy(copy, text, length);
    words->items = cli_grow(words->items, &words->capacity, words->count + 1, sizeof *words->items);
    words->items[words->count++] = copy;
}

static void add_column(struct words *words, sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return; /* completion is a help, not a promise */
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);

        if (text && *text)
            add(words, text, strlen(text));
    }
    (void)sqlite3_finalize(statement);
}

/* Columns of the views that every store has.  */
static void add_view_columns(struct words *words, sqlite3 *db)
{
    static const char start[] = "\nCREATE VIEW ";
    const char *at = store_schema();

    while ((at = strstr(at, start)) != NULL) {
        char sql[120];

        at += strlen(start);
        (void)snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_xinfo('%.*s')",
                       (int)strcspn(at, " "), at);
        add_column(words, db, sql);
    }
}

/* Of the table functions, which are in no list: among them what they are filtered by.  */
static const char *const function_columns[] = {
    "name",  "file",   "line",  "module",    "self_count", "count",    "self",
    "total", "owner",  "level", "value",     "label",      "type",     "per",
    "focus", "ignore", "hide",  "show_from", "from_ts",    "limit_ts", "pid",
    "tid",   "comm",   "cpu",   "capture",   NULL
};

/* SQLite's keywords, in small letters: what is typed keeps its case.  */
static void add_keywords(struct words *words)
{
    for (int i = 0; i < sqlite3_keyword_count(); i++) {
        const char *name;
        int length;
        char text[64];

        if (sqlite3_keyword_name(i, &name, &length) != SQLITE_OK || length >= (int)sizeof text)
            continue;
        for (int k = 0; k < length; k++)
            text[k] = (char)(name[k] >= 'A' && name[k] <= 'Z' ? name[k] + 32 : name[k]);
        add(words, text, (size_t)length);
    }
}

static int compare(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcasecmp(x, y);

    return order ? order : strcmp(x, y);
}

void words_load(struct words *words, sqlite3 *db)
{
    size_t kept = 0;

    words_release(words);
    add_keywords(words);
    add_column(words, db,
               "SELECT name FROM main.sqlite_schema UNION SELECT name FROM "
               "temp.sqlite_schema");
    /* Finding the columns of a foreign view may never end: a view made of two others takes twice
     * their time.  The views of the schema are known; see libstore/store_verify.c.  */
    add_column(words, db,
               "SELECT c.name FROM (SELECT name FROM main.sqlite_schema WHERE type = 'table' AND "
               "rootpage > 0 UNION SELECT name FROM temp.sqlite_schema) AS t, "
               "pragma_table_xinfo(t.name) AS c WHERE t.name NOT LIKE 'sqlite_%'");
    add_view_columns(words, db);
    add_column(
        words, db,
        "SELECT name FROM pragma_function_list WHERE name GLOB '[a-z]*' AND name <> 'fxt_add'");
    add_column(words, db, "SELECT name FROM pragma_module_list");
    for (const char *const *name = function_columns; *name; name++)
        add(words, *name, strlen(*name));
    if (words->count == 0)
        return;
    qsort(words->items, words->count, sizeof *words->items, compare);
    for (size_t i = 1; i < words->count; i++) {
        if (strcasecmp(words->items[i], words->items[kept]) == 0)
            free(words->items[i]);
        else
            words->items[++kept] = words->items[i];
    }
    words->count = kept + 1;
}

const char *words_match(const struct words *words, const char *text, size_t index)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < words->count; i++)
        if (strncasecmp(words->items[i], text, length) == 0 && index-- == 0)
            return words->items[i];
    return NULL;
}

void words_release(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){ .items = NULL };
}
