/* fxtq schema: the tables and what they mean.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"

static const char *const examples[] = {
    "Print every table and view, with its columns",
    "fxtq schema | less",
    "Print two tables",
    "fxtq schema cpu_sample callsite",
    "Create an empty store by hand",
    "fxtq schema | sqlite3 empty.fxtq",
    NULL,
};

/* Paragraphs of the schema are separated by empty lines: a table with the comment above it and the
 * indexes below it.  Returns the text behind the paragraph at text.  */
static const char *paragraph_end(const char *text)
{
    const char *end = strstr(text, "\n\n");

    return end ? end + 1 : text + strlen(text);
}

/* The name of the table or view that the paragraph makes, and its length; NULL: none.  */
static const char *made_in(const char *text, const char *end, size_t *length)
{
    static const char *const starts[] = { "CREATE TABLE ", "CREATE VIEW " };

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const char *found = strstr(text, starts[i]);

        if (found && found < end) {
            found += strlen(starts[i]);
            *length = strcspn(found, " (");
            return found;
        }
    }
    return NULL;
}

/* Table or view i.  */
static const char *table_word(size_t i, const char **brief)
{
    static char name[64];

    *brief = "a table or view";
    for (const char *text = store_schema(); *text;) {
        const char *end = paragraph_end(text), *found;
        size_t length;

        found = made_in(text, end, &length);
        if (found && i-- == 0) {
            (void)snprintf(name, sizeof name, "%.*s", (int)length, found);
            return name;
        }
        text = end + (*end == '\n');
    }
    return NULL;
}

static int run(char **argv);

const struct cli_command fxtq_schema = {
    .name = "fxtq schema",
    .usage = "[TABLE]...",
    .summary = "Print the schema of a store, with a description of each table, view and column.",
    .examples = examples,
    .word = table_word,
    .rest = CLI_WORD,
    .run = run,
    .brief = "print the tables and columns of a store, documented",
};

static bool print_table(const char *name)
{
    for (const char *text = store_schema(); *text;) {
        const char *end = paragraph_end(text), *found;
        size_t length;

        found = made_in(text, end, &length);
        if (found && strlen(name) == length && strncmp(found, name, length) == 0) {
            (void)fwrite(text, 1, (size_t)(end - text), stdout);
            return true;
        }
        text = end + (*end == '\n');
    }
    return false;
}

static int run(char **argv)
{
    struct cli_texts names = { .items = NULL };
    struct cli_parser parser;

    cli_start(&parser, &fxtq_schema, argv);
    while (cli_next(&parser) != CLI_END)
        cli_texts_add(&names, parser.value);
    if (names.count == 0)
        (void)fputs(store_schema(), stdout);
    for (size_t i = 0; i < names.count; i++) {
        if (i > 0)
            (void)putchar('\n');
        if (!print_table(names.items[i]))
            cli_usage_error("no such table or view: '%s'; 'fxtq schema' prints all of them",
                            names.items[i]);
    }
    free(names.items);
    return cli_flush_stdout();
}
