#include "cmd/fxtq/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/width.h"
#include "cmd/fxtq/files.h"
#include "cmd/fxtq/lines.h"
#include "cmd/fxtq/pager.h"
#include "cmd/fxtq/words.h"

struct shell {
    struct session *session;
    struct pager pager;
    const char *path;
    bool pages;
    bool quits;
    char *parameter_texts[100]; /* owned; in session->parameters */
    size_t parameter_count;
};

static struct words words;

/* ---- Commands ---- */

static void set_switch(const char *name, const char *value, bool *out, bool inverted)
{
    if (strcmp(value, "on") == 0)
        *out = !inverted;
    else if (strcmp(value, "off") == 0)
        *out = inverted;
    else
        cli_error("%s takes on or off", name);
}

/* Output goes through the pager until end_pager(), if it is on.  */
static void start_pager(struct shell *shell)
{
    shell->session->format.columns = cli_columns(stdout); /* the window may have another size now */
    if (shell->pages)
        pager_start(&shell->pager, shell->session->output);
}

/* Called before messages too: they come behind the rows.  */
static void end_pager(void *context)
{
    struct shell *shell = context;

    (void)cli_output_flush(shell->session->output);
    pager_end(&shell->pager, shell->session->output);
}

static void run_sql(struct shell *shell, const char *sql, const char *name)
{
    interrupt_forget();
    start_pager(shell);
    (void)script_run(shell->session, sql, name);
    end_pager(shell);
}

static void show(struct shell *shell, const struct text *text)
{
    start_pager(shell);
    (void)cli_output_write(shell->session->output, text->bytes, text->length);
    end_pager(shell);
}

/* Names in columns, top to bottom, as many as the terminal has room for.  */
static void add_names(struct text *text, const struct cli_texts *names, size_t columns)
{
    size_t widest = 1, across, down;

    for (size_t i = 0; i < names->count; i++)
        if (width_text(names->items[i], strlen(names->items[i])) > widest)
            widest = width_text(names->items[i], strlen(names->items[i]));
    across = columns > widest ? (columns + 2) / (widest + 2) : 1;
    down = (names->count + across - 1) / across;
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < names->count; i += down) {
            size_t width = width_text(names->items[i], strlen(names->items[i]));

            text_addf(text, "%s%*s", names->items[i],
                      i + down < names->count ? (int)(widest - width + 2) : 0, "");
        }
        text_adds(text, "\n");
    }
}

static void do_tables(struct shell *shell, char **arguments)
{
    static const char by_name[] =
        "SELECT name FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM "
        "temp.sqlite_schema) WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' AND (?1 "
        "IS NULL OR name LIKE ?1) ORDER BY name";
    struct cli_texts names = { .items = NULL };
    struct text text = { .bytes = NULL };
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(shell->session->db, by_name, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, arguments[0], -1, SQLITE_STATIC);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct text name = { .bytes = NULL };
        const char *bytes = (const char *)sqlite3_column_text(statement, 0);

        text_add_visible(&name, bytes ? bytes : "", bytes ? strlen(bytes) : 0);
        cli_texts_add(&names, name.bytes);
    }
    if (sqlite3_finalize(statement) != SQLITE_OK || code != SQLITE_OK)
        cli_error("%s", sqlite3_errmsg(shell->session->db));
    add_names(&text, &names, cli_columns(stdout));
    if (names.count > 0)
        show(shell, &text);
    for (size_t i = 0; i < names.count; i++)
        free((char *)names.items[i]);
    free(names.items);
    free(text.bytes);
}

/* The stored text of what is called so; all of it without a name.  */
static void do_schema(struct shell *shell, char **arguments)
{
    static const char by_name[] =
        "SELECT sql || ';' FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM "
        "temp.sqlite_schema) WHERE sql IS NOT NULL AND (?1 IS NULL OR name LIKE ?1 OR tbl_name "
        "LIKE "
        "?1) ORDER BY tbl_name, type = 'index', name";
    struct text text = { .bytes = NULL };
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(shell->session->db, by_name, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, arguments[0], -1, SQLITE_STATIC) != SQLITE_OK) {
        cli_error("%s", sqlite3_errmsg(shell->session->db));
        (void)sqlite3_finalize(statement);
        return;
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
    if (!text.bytes) {
        cli_error("there is no table, view or index '%s'", arguments[0] ? arguments[0] : "");
        return;
    }
    show(shell, &text);
    free(text.bytes);
}

static void do_format(struct shell *shell, char **arguments)
{
    for (size_t i = 0; format_names[i]; i++)
        if (strcmp(format_names[i], arguments[0]) == 0) {
            shell->session->format.kind = (enum format_kind)i;
            return;
        }
    cli_error("there are the formats table, box, csv, tsv, json, jsonl, markdown and html");
}

static void do_headers(struct shell *shell, char **arguments)
{
    set_switch(".headers", arguments[0], &shell->session->format.no_header, true);
}

static void do_timer(struct shell *shell, char **arguments)
{
    set_switch(".timer", arguments[0], &shell->session->timer, false);
}

static void do_pager(struct shell *shell, char **arguments)
{
    set_switch(".pager", arguments[0], &shell->pages, false);
}

static void do_timeout(struct shell *shell, char **arguments)
{
    char *end;
    double seconds = strtod(arguments[0], &end);

    if (end == arguments[0] || *end || !(seconds >= 0 && seconds < 1e9))
        cli_error(".timeout takes seconds; 0 for none");
    else
        shell->session->timeout_s = seconds;
}

static void do_parameter(struct shell *shell, char **arguments)
{
    struct session *session = shell->session;
    struct text item = { .bytes = NULL };

    if (shell->parameter_count == sizeof shell->parameter_texts / sizeof *shell->parameter_texts) {
        cli_error("no more than %zu parameters", shell->parameter_count);
        return;
    }
    text_addf(&item, "%s=%s", arguments[0], arguments[1]);
    shell->parameter_texts[shell->parameter_count++] = item.bytes;
    cli_texts_add(&session->parameters, item.bytes);
    session->parameters_used = realloc(session->parameters_used,
                                       session->parameters.count * sizeof(bool));
    if (!session->parameters_used) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    session->parameters_used[session->parameters.count - 1] = false;
}

static void do_read(struct shell *shell, char **arguments)
{
    char *sql = file_read_text(arguments[0]);

    if (sql)
        run_sql(shell, sql, arguments[0]);
    free(sql);
}

static void do_quit(struct shell *shell, char **arguments)
{
    (void)arguments;
    shell->quits = true;
}

static void do_help(struct shell *shell, char **arguments);

static const struct shell_command {
    const char *name;
    const char *arguments; /* "[X]" may be missing */
    int least, most;
    const char *help;
    void (*run)(struct shell *shell, char **arguments);
} commands[] = {
    { ".exit", "", 0, 0, "the same as .quit", do_quit },
    { ".format", "FORMAT", 1, 1, "table, box, csv, tsv, json, jsonl, markdown or html", do_format },
    { ".headers", "on|off", 1, 1, "whether the names of columns are printed", do_headers },
    { ".help", "", 0, 0, "show this", do_help },
    { ".mode", "FORMAT", 1, 1, "the same as .format", do_format },
    { ".pager", "on|off", 1, 1, "whether long output goes through $FXTQ_PAGER or $PAGER",
      do_pager },
    { ".parameter", "NAME VALUE", 2, 2, "what :NAME stands for from now on", do_parameter },
    { ".quit", "", 0, 0, "leave; so does Control-D", do_quit },
    { ".read", "FILE", 1, 1, "run the statements in a file", do_read },
    { ".schema", "[NAME]", 0, 1, "how a table, or all, are defined", do_schema },
    { ".tables", "[PATTERN]", 0, 1, "tables and views; % stands for anything", do_tables },
    { ".timeout", "SECONDS", 1, 1, "stop statements that take longer; 0: never", do_timeout },
    { ".timer", "on|off", 1, 1, "whether to say how long statements took", do_timer },
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void do_help(struct shell *shell, char **arguments)
{
    struct cli_output *output = shell->session->output;
    struct text text = { .bytes = NULL };

    (void)arguments;
    for (size_t i = 0; i < COMMANDS; i++)
        text_addf(&text, "%-10s %-12s %s\n", commands[i].name, commands[i].arguments,
                  commands[i].help);
    text_adds(&text,
              "\nAnything else is SQL and ends with a semicolon.  Tab completes tables, columns "
              "and functions;\nControl-C stops a statement.  'fxtq help sql' lists the SQL "
              "functions.\n");
    (void)cli_output_write(output, text.bytes, text.length);
    (void)cli_output_flush(output);
    free(text.bytes);
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

static void run_command(struct shell *shell, char *line)
{
    char *parts[5] = { NULL };
    size_t count = split(line, parts, 4);
    int arguments = (int)count - 1;

    if (count == 0)
        return;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, parts[0]) != 0)
            continue;
        if (arguments < commands[i].least || arguments > commands[i].most)
            cli_error("%s %s", commands[i].name, commands[i].arguments);
        else
            commands[i].run(shell, parts + 1);
        return;
    }
    cli_error("there is no %s; .help lists what there is", parts[0]);
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

static bool is_shouted(const char *text)
{
    return *text && strcspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text);
}

/* A word of SQL: behind the dot of "s.call" a column, a keyword in the letters that are typed.  */
static const char *complete_sql(const char *text, size_t index)
{
    static char word[300];
    const char *dot = strrchr(text, '.');
    const char *start = dot ? dot + 1 : text;
    const char *found = words_match(&words, start, index);

    if (!found || strlen(found) + (size_t)(start - text) >= sizeof word)
        return NULL;
    (void)snprintf(word, sizeof word, "%.*s%s", (int)(start - text), text, found);
    if (is_shouted(start) && sqlite3_keyword_check(found, (int)strlen(found)))
        for (char *c = word + (start - text); *c; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
    return word;
}

static const char *complete(const char *text, size_t index, const char *line)
{
    static const char *const switches[] = { "on", "off", NULL };

    if (line[0] != '.')
        return *text ? complete_sql(text, index) : NULL;
    for (size_t i = 0; i < COMMANDS; i++) {
        size_t length = strlen(commands[i].name);

        if (strcmp(line, text) == 0) {
            if (strncmp(commands[i].name, text, strlen(text)) == 0 && index-- == 0)
                return commands[i].name;
        } else if (strncmp(line, commands[i].name, length) == 0 && line[length] == ' ') {
            if (strcmp(commands[i].arguments, "FORMAT") == 0)
                return match(format_names, text, index);
            if (strcmp(commands[i].arguments, "on|off") == 0)
                return match(switches, text, index);
        }
    }
    return strcmp(line, text) != 0 && *text ? complete_sql(text, index) : NULL;
}

/* ---- The loop ---- */

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t\r")] == '\0';
}

/* Whether the statements changed what completion knows.  */
static bool changes_names(const char *sql)
{
    return strcasestr(sql, "create") || strcasestr(sql, "drop") || strcasestr(sql, "attach");
}

static void take_line(struct shell *shell, struct text *statement, char *line)
{
    if (statement->length == 0 && is_blank(line))
        return;
    if (statement->length == 0 && line[strspn(line, " \t")] == '.') {
        lines_remember(line);
        run_command(shell, line);
        return;
    }
    if (statement->length > 0)
        text_adds(statement, "\n");
    text_adds(statement, line);
    if (!sqlite3_complete(statement->bytes))
        return;
    lines_remember(statement->bytes);
    run_sql(shell, statement->bytes, NULL);
    if (changes_names(statement->bytes))
        words_load(&words, shell->session->db);
    statement->length = 0;
}

static void loop(struct shell *shell)
{
    struct text statement = { .bytes = NULL };

    while (!shell->quits && !shell->session->output->failed) {
        char *line;

        interrupt_forget();
        line = lines_read(statement.length ? "  ...> " : "fxtq> ");
        if (!line && interrupt_seen()) { /* forget what was typed */
            statement.length = 0;
            printf("\n");
            continue;
        }
        if (!line)
            break;
        take_line(shell, &statement, line);
        free(line);
    }
    if (!shell->quits)
        printf("\n");
    free(statement.bytes);
}

enum cli_exit shell_run(struct session *session, const char *path)
{
    struct shell shell = { .session = session, .path = path, .pages = true };

    (void)signal(SIGPIPE, SIG_IGN); /* a pager that was left */
    cli_note("%s: %s.  .help for help, .quit to leave", path,
             session->write ? "open for writing" : "read-only");
    words_load(&words, session->db);
    lines_start(complete, ".read ");
    session->settle = end_pager;
    session->settle_context = &shell;
    loop(&shell);
    lines_end();
    session->settle = NULL;
    session->settle_context = NULL;
    words_release(&words);
    for (size_t i = 0; i < shell.parameter_count; i++)
        free(shell.parameter_texts[i]);
    return session->output->failed ? CLI_ENVIRONMENT : CLI_OK;
}
