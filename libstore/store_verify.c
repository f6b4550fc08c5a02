/* Whether the tables of a file are those of a store.
 *
 * A file that says it is a store may come from anybody.  Where it has a view in place of a table,
 * reading that table may never end; a virtual table, a default, a CHECK or a generated column runs
 * what its maker liked.  So everything that schemas/store.sql makes has to be there as it makes it;
 * comments and blanks do not count.  What a file has beside that (tables, views and indexes of its
 * user) is left alone: nobody asks for it but the user.
 *
 * Views and triggers that differ are made anew before a store is written to: an fxtq of the same
 * version may have had other texts of them.  */
#include <string.h>
#include <strings.h>

#include "libstore/store_internal.h"

#define MOST_ITEMS 128u

/* What schemas/store.sql makes: the places of its CREATE statements.  */
struct items {
    const char *sql[MOST_ITEMS];
    bool found[MOST_ITEMS];
    size_t count;
};

static void list_items(struct items *items)
{
    const char *at = store_schema();

    items->count = 0;
    while (items->count < MOST_ITEMS && (at = strstr(at, "\nCREATE ")) != NULL) {
        items->found[items->count] = false;
        items->sql[items->count++] = ++at;
    }
}

/* Blanks and comments as one blank.  Quoted text has none: quote is what it began with, or 0.  */
static char next_character(const char **at, char *quote)
{
    const char *start = *at;

    while (!*quote && (**at <= ' ' || **at == '-')) { /* most characters are neither */
        *at += strspn(*at, " \t\r\n");
        if (strncmp(*at, "--", 2) != 0)
            break;
        *at += strcspn(*at, "\n");
    }
    if (*at > start)
        return ' ';
    if (*quote)
        *quote = **at == *quote ? '\0' : *quote;
    else if (**at == '\'' || **at == '"')
        *quote = **at;
    return *(*at)++;
}

/* Whether sql, as SQLite keeps it, is the statement that expected begins with.  */
static bool is_statement(const char *sql, const char *expected)
{
    char quote = '\0', expected_quote = '\0';
    size_t length = strlen(sql);

    if (strncmp(sql, expected, length) == 0 && expected[length] == ';')
        return true; /* usually */
    for (;;) {
        char a, b = next_character(&expected, &expected_quote);

        if (*sql == '\0')
            return b == ';';
        a = next_character(&sql, &quote);
        if (a == ' ' && *sql == '\0')
            return b == ';';
        if (a != b)
            return false;
    }
}

/* What a statement makes: "VIEW stats".  */
static const char *thing_of(const char *statement, int *length)
{
    const char *thing = statement + strlen("CREATE ");
    size_t type = strcspn(thing, " ") + 1;

    *length = (int)(type + strcspn(thing + type, " "));
    return thing;
}

/* Whether the statement makes a thing of that name, and of that type if it is not NULL.  */
static bool makes(const char *statement, const char *type, const char *name)
{
    int length;
    const char *thing = thing_of(statement, &length), *end = thing + length;
    size_t type_length = strcspn(thing, " ");
    const char *own = thing + type_length + 1;

    return (!type || (strlen(type) == type_length && strncasecmp(thing, type, type_length) == 0)) &&
           strlen(name) == (size_t)(end - own) && strncasecmp(own, name, strlen(name)) == 0;
}

static enum store_status fail_about(const char *statement, const char *what,
                                    struct store_error *error)
{
    const char *name = strchr(statement + strlen("CREATE "), ' ') + 1;

    return store_fail(error, STORE_CORRUPT, "the store is corrupt: %.*s %s",
                      (int)strcspn(name, " "), name, what);
}

static enum store_status fail_old(const char *statement, struct store_error *error)
{
    int length;
    const char *thing = thing_of(statement, &length);

    return store_fail(error, STORE_TOO_OLD,
                      "%.*s is missing or of another fxtq; 'fxtq upgrade' makes it anew", length,
                      thing);
}

/* Views and triggers hold no rows: store_renew_views() makes them anew.  */
static bool can_be_renewed(const char *statement)
{
    const char *type = statement + strlen("CREATE ");

    return strncmp(type, "VIEW ", 5) == 0 || strncmp(type, "TRIGGER ", 8) == 0;
}

/* Columns: type, name, sql.  What is no item of ours is passed by.  */
static enum store_status check_row(struct items *items, sqlite3_stmt *row,
                                   struct store_error *error)
{
    const char *type = (const char *)sqlite3_column_text(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *sql = (const char *)sqlite3_column_text(row, 2);
    bool is_rows = type && (strcmp(type, "table") == 0 || strcmp(type, "view") == 0);

    for (size_t i = 0; type && name && sql && i < items->count; i++) {
        if (!makes(items->sql[i], NULL, name) || !(is_rows || makes(items->sql[i], type, name)))
            continue;
        if (!makes(items->sql[i], type, name))
            return fail_about(items->sql[i], "is not what stores have under that name", error);
        items->found[i] = is_statement(sql, items->sql[i]);
        return items->found[i] || can_be_renewed(items->sql[i])
                   ? STORE_OK
                   : fail_about(items->sql[i], "is not what stores have under that name", error);
    }
    return STORE_OK;
}

enum store_status store_verify_schema(struct store *store, struct store_error *error)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = NULL;
    struct items items;
    int code = sqlite3_prepare_v2(store->db, "SELECT type, name, sql FROM main.sqlite_schema", -1,
                                  &row, NULL);

    list_items(&items);
    while (status == STORE_OK && code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        status = check_row(&items, row, error);
        code = SQLITE_OK;
    }
    if (status == STORE_OK && code != SQLITE_DONE)
        status = store_fail_sqlite(error, store->db, code);
    (void)sqlite3_finalize(row);
    for (size_t i = 0; status == STORE_OK && i < items.count; i++)
        if (!items.found[i] && !can_be_renewed(items.sql[i]))
            status = fail_about(items.sql[i], "is missing", error);
    for (size_t i = 0; status == STORE_OK && i < items.count; i++)
        if (!items.found[i])
            status = fail_old(items.sql[i], error);
    return status;
}
