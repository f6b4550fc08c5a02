#include "cmd/fxtq/dot_commands.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store.h>
#include "base/width.h"
#include "cmd/fxtq/files.h"

/* Files that read themselves must end.  */
#define FILES_MAX 16

/* ---- Output ---- */

/* Until end_output() it goes through the pager, if that is on.  */
static void start_output(struct commands *commands)
{
    commands->session->format.columns = cli_columns(
        stdout); /* the window may have another size now */
    if (commands->depth++ > 0 || !commands->pages)
        return;
    (void)signal(SIGPIPE, SIG_IGN); /* a pager that was left */
    pager_start(&commands->pager, commands->session->output);
}

/* Called before messages too: they come behind the rows.  */
static void settle(void *context)
{
    struct commands *commands = context;

    (void)cli_output_flush(commands->session->output);
    pager_end(&commands->pager, commands->session->output);
}

static void end_output(struct commands *commands)
{
    if (--commands->depth == 0)
        settle(commands);
}

static enum cli_exit wrong(const struct commands *commands, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum cli_exit wrong(const struct commands *commands, const char *format, ...)
{
    char message[300];
    va_list arguments;

    session_settle(commands->session);
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cli_error("%s%s", commands->where, message);
    return CLI_USAGE;
}

enum cli_exit commands_run_sql(struct commands *commands, const char *sql, const char *name)
{
    enum cli_exit status;

    start_output(commands);
    status = script_run(commands->session, sql, name);
    end_output(commands);
    return status;
}

static void show(struct commands *commands, const struct base_text *text)
{
    start_output(commands);
    (void)cli_output_write(commands->session->output, text->bytes, text->length);
    end_output(commands);
}

/* ---- What they do ---- */

/* Names in columns, top to bottom, as many as the terminal has room for.  */
static void add_names(struct base_text *text, const struct cli_texts *names, size_t columns)
{
    size_t widest = 1, across, down;

    for (size_t i = 0; i < names->count; i++)
        if (base_width_text(names->items[i], strlen(names->items[i])) > widest)
            widest = base_width_text(names->items[i], strlen(names->items[i]));
    across = columns > widest ? (columns + 2) / (widest + 2) : 1;
    down = (names->count + across - 1) / across;
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < names->count; i += down) {
            size_t width = base_width_text(names->items[i], strlen(names->items[i]));

            text_addf(text, "%s%*s", names->items[i],
                      i + down < names->count ? (int)(widest - width + 2) : 0, "");
        }
        text_adds(text, "\n");
    }
}

/* Temporary tables and views of the user: not those that columns are read through.  */
#define OWN_TEMPORARY                                                                       \
    "(SELECT * FROM temp.sqlite_schema WHERE instr(coalesce(sql, ''), '" STORE_COLUMNS_MARK \
    "') = 0)"

static enum cli_exit do_tables(struct commands *commands, char **arguments)
{
    static const char by_name[] =
        "SELECT name FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM " OWN_TEMPORARY
        ") WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' AND (?1 "
        "IS NULL OR name LIKE ?1) ORDER BY name";
    struct cli_texts names = { .items = NULL };
    struct base_text text = { .bytes = NULL };
    enum cli_exit status = CLI_OK;
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(commands->session->db, by_name, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, arguments[0], -1, SQLITE_STATIC);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct base_text name = { .bytes = NULL };
        const char *bytes = (const char *)sqlite3_column_text(statement, 0);

        text_add_visible(&name, bytes ? bytes : "", bytes ? strlen(bytes) : 0);
        cli_texts_add(&names, name.bytes);
    }
    if (sqlite3_finalize(statement) != SQLITE_OK || code != SQLITE_OK)
        status = session_fail(commands->session, sqlite3_errcode(commands->session->db));
    add_names(&text, &names, cli_columns(stdout));
    if (names.count > 0)
        show(commands, &text);
    for (size_t i = 0; i < names.count; i++)
        free((char *)names.items[i]);
    free(names.items);
    free(text.bytes);
    return status;
}

/* The stored text of what is called so; all of it without a name.  */
static enum cli_exit do_schema(struct commands *commands, char **arguments)
{
    static const char by_name[] =
        "SELECT sql || ';' FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * "
        "FROM " OWN_TEMPORARY ") WHERE sql IS NOT NULL AND (?1 IS NULL OR name LIKE ?1 OR tbl_name "
        "LIKE "
        "?1) ORDER BY tbl_name, type = 'index', name";
    struct base_text text = { .bytes = NULL };
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(commands->session->db, by_name, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, arguments[0], -1, SQLITE_STATIC) != SQLITE_OK) {
        enum cli_exit status = session_fail(commands->session,
                                            sqlite3_errcode(commands->session->db));

        (void)sqlite3_finalize(statement);
        return status;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(statement, 0);

        /* Lines stay lines; everything else that could drive the terminal does not.  */
        for (const char *end; sql; sql = end ? end + 1 : NULL) {
            end = strchr(sql, '\n');
            text_add_visible(&text, sql, end ? (size_t)(end - sql) : strlen(sql));
            text_adds(&text, "\n");
        }
    }
    (void)sqlite3_finalize(statement);
    if (!text.bytes)
        return wrong(commands, "no such table, view or index: '%s'; .tables lists the tables",
                     arguments[0] ? arguments[0] : "");
    show(commands, &text);
    free(text.bytes);
    return CLI_OK;
}

static enum cli_exit do_format(struct commands *commands, char **arguments)
{
    for (size_t i = 0; format_names[i]; i++)
        if (strcmp(format_names[i], arguments[0]) == 0) {
            commands->session->format.kind = (enum format_kind)i;
            return CLI_OK;
        }
    return wrong(
        commands,
        "unknown format '%s'; formats are table, box, csv, tsv, json, jsonl, markdown and html",
        arguments[0]);
}

static enum cli_exit set_switch(const struct commands *commands, const char *name,
                                const char *value, bool *out, bool inverted)
{
    bool on = strcmp(value, "on") == 0;

    if (!on && strcmp(value, "off") != 0)
        return wrong(commands, "%s takes on or off", name);
    *out = on != inverted;
    return CLI_OK;
}

static enum cli_exit do_headers(struct commands *commands, char **arguments)
{
    return set_switch(commands, ".headers", arguments[0], &commands->session->format.no_header,
                      true);
}

static enum cli_exit do_timer(struct commands *commands, char **arguments)
{
    return set_switch(commands, ".timer", arguments[0], &commands->session->timer, false);
}

static enum cli_exit do_pager(struct commands *commands, char **arguments)
{
    return set_switch(commands, ".pager", arguments[0], &commands->pages, false);
}

static enum cli_exit do_timeout(struct commands *commands, char **arguments)
{
    char *end;
    double seconds = strtod(arguments[0], &end);

    if (end == arguments[0] || *end || !(seconds >= 0 && seconds < 1e9))
        return wrong(commands, ".timeout takes a number of seconds; 0 means no limit");
    commands->session->timeout_s = seconds;
    return CLI_OK;
}

static enum cli_exit do_parameter(struct commands *commands, char **arguments)
{
    session_set_parameter(commands->session, arguments[0], arguments[1]);
    return CLI_OK;
}

static enum cli_exit do_read(struct commands *commands, char **arguments)
{
    enum cli_exit status = CLI_ENVIRONMENT;
    char *sql;

    if (commands->depth > FILES_MAX)
        return wrong(commands, "%s is not read: .read is nested more than %d levels deep",
                     arguments[0], FILES_MAX);
    session_settle(commands->session);
    sql = file_read_text(arguments[0]);
    if (sql)
        status = commands_run_sql(commands, sql, arguments[0]);
    free(sql);
    return status;
}

static enum cli_exit do_quit(struct commands *commands, char **arguments)
{
    (void)arguments;
    commands->session->quits = true;
    return CLI_OK;
}

static enum cli_exit do_help(struct commands *commands, char **arguments);

static const struct command {
    const char *name;
    const char *arguments; /* "[X]" may be missing */
    int least, most;
    const char *help;
    enum cli_exit (*run)(struct commands *commands, char **arguments);
} table[] = {
    { ".exit", "", 0, 0, "leave the shell", do_quit },
    { ".format", "FORMAT", 1, 1, "table, box, csv, tsv, json, jsonl, markdown or html", do_format },
    { ".headers", "on|off", 1, 1, "print column names", do_headers },
    { ".help", "", 0, 0, "print this list", do_help },
    { ".mode", "FORMAT", 1, 1, "the same as .format", do_format },
    { ".pager", "on|off", 1, 1, "show long output in $FXTQ_PAGER or $PAGER", do_pager },
    { ".parameter", "NAME VALUE", 2, 2, "bind VALUE to :NAME in the following statements",
      do_parameter },
    { ".quit", "", 0, 0, "leave the shell, as does Control-D", do_quit },
    { ".read", "FILE", 1, 1, "run the statements in FILE", do_read },
    { ".schema", "[NAME]", 0, 1, "print the definition of a table, or of all", do_schema },
    { ".tables", "[PATTERN]", 0, 1, "list tables and views; % matches any text", do_tables },
    { ".timeout", "SECONDS", 1, 1, "interrupt statements that take longer; 0: never", do_timeout },
    { ".timer", "on|off", 1, 1, "print the duration of each statement", do_timer },
};

#define COMMANDS (sizeof table / sizeof *table)

static enum cli_exit do_help(struct commands *commands, char **arguments)
{
    struct base_text text = { .bytes = NULL };

    (void)arguments;
    for (size_t i = 0; i < COMMANDS; i++)
        text_addf(&text, "%-10s %-12s %s\n", table[i].name, table[i].arguments, table[i].help);
    text_adds(&text, "\nAll other input is SQL and ends with a semicolon.  Tab completes tables, "
                     "columns and functions;\nControl-C interrupts a statement.  'fxtq help sql' "
                     "lists the SQL functions.\n");
    show(commands, &text);
    free(text.bytes);
    return CLI_OK;
}

/* The words of a line, in place; how many there are.  */
static size_t split(char *line, char **parts, size_t most)
{
    size_t count = 0;

    for (char *next = line; count < most;) {
        next += strspn(next, " \t");
        if (*next == '\0')
            break;
        parts[count++] = next;
        next += strcspn(next, " \t");
        if (*next)
            *next++ = '\0';
    }
    return count;
}

enum cli_exit commands_run(struct commands *commands, const char *where, char *line)
{
    char *parts[5] = { NULL };
    size_t count = split(line, parts, 4);
    int arguments = (int)count - 1;

    if (count == 0)
        return CLI_OK;
    commands->where = where;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(table[i].name, parts[0]) != 0)
            continue;
        if (arguments < table[i].least || arguments > table[i].most)
            return wrong(commands, "%s %s", table[i].name, table[i].arguments);
        return table[i].run(commands, parts + 1);
    }
    return wrong(commands, "unknown command %s; .help lists the commands", parts[0]);
}

static enum cli_exit run_line(void *context, const char *where, char *line)
{
    struct commands *commands = context;
    enum cli_exit status = commands_run(commands, where, line);

    commands->where = "";
    return status;
}

void commands_start(struct commands *commands, struct session *session)
{
    commands->session = session;
    commands->where = "";
    session->settle = settle;
    session->command = run_line;
    session->context = commands;
}

void commands_end(struct commands *commands)
{
    commands->session->settle = NULL;
    commands->session->command = NULL;
    commands->session->context = NULL;
}

/* ---- Completion ---- */

/* The index-th of names that begins with text.  */
static const char *match(const char *const *names, const char *text, size_t index)
{
    for (; *names; names++)
        if (strncmp(*names, text, strlen(text)) == 0 && index-- == 0)
            return *names;
    return NULL;
}

static const char *match_command(const char *text, size_t index)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strncmp(table[i].name, text, strlen(text)) == 0 && index-- == 0)
            return table[i].name;
    return NULL;
}

const char *commands_complete(const char *text, size_t index, const char *line, bool *is_name)
{
    static const char *const switches[] = { "on", "off", NULL };

    *is_name = false;
    if (strcmp(line, text) == 0)
        return match_command(text, index);
    for (size_t i = 0; i < COMMANDS; i++) {
        size_t length = strlen(table[i].name);

        if (strncmp(line, table[i].name, length) != 0 || line[length] != ' ')
            continue;
        if (strcmp(table[i].arguments, "FORMAT") == 0)
            return match(format_names, text, index);
        if (strcmp(table[i].arguments, "on|off") == 0)
            return match(switches, text, index);
    }
    *is_name = true;
    return NULL;
}
