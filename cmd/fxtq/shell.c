#include "cmd/fxtq/shell.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/completion_words.h"
#include "cmd/fxtq/line_editor.h"

static struct words words;

/* ---- Completion ---- */

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
    bool is_name = true;
    const char *found = line[0] == '.' ? commands_complete(text, index, line, &is_name) : NULL;

    return is_name && *text ? complete_sql(text, index) : found;
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

static void take_line(struct commands *commands, struct base_text *statement, char *line)
{
    interrupt_forget();
    if (statement->length == 0 && is_blank(line))
        return;
    if (statement->length == 0 && line[strspn(line, " \t")] == '.') {
        lines_remember(line);
        (void)commands_run(commands, "", line);
        return;
    }
    if (statement->length > 0)
        text_adds(statement, "\n");
    text_adds(statement, line);
    if (!sqlite3_complete(statement->bytes))
        return;
    lines_remember(statement->bytes);
    (void)commands_run_sql(commands, statement->bytes, NULL);
    if (changes_names(statement->bytes))
        words_load(&words, commands->session->db);
    statement->length = 0;
}

static void loop(struct commands *commands)
{
    const struct session *session = commands->session;
    struct base_text statement = { .bytes = NULL };

    while (!session->quits && !session->output->failed) {
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
        take_line(commands, &statement, line);
        free(line);
    }
    if (!session->quits)
        printf("\n");
    free(statement.bytes);
}

void shell_run(struct commands *commands, const char *path)
{
    const struct session *session = commands->session;

    cli_note("%s: %s.  Type .help for help, .quit to leave", path,
             session->write ? "open for writing" : "read-only");
    words_load(&words, session->db);
    lines_start(complete, ".read ");
    commands->pages = true;
    loop(commands);
    lines_end();
    words_release(&words);
}
