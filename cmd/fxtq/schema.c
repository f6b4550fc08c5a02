/* fxtq schema: the tables and what they mean.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"

static const struct cli_option options[] = { { 0 } };

static const char *const examples[] = {
    "every table and view, with what its columns mean",
    "fxtq schema | less",
    "two of them",
    "fxtq schema cpu_sample callsite",
    "an empty store, made by hand",
    "fxtq schema | sqlite3 empty.fxtq",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtq schema",
    .usage = "[TABLE]...",
    .summary = "Print the schema of a store, which is its documentation too.",
    .options = options,
    .examples = examples,
};

/* Paragraphs of the schema are separated by empty lines: a table with the comment above it and the
 * indexes below it.  Returns the text behind the paragraph at text.  */
static const char *paragraph_end(const char *text)
{
    const char *end = strstr(text, "\n\n");

    return end ? end + 1 : text + strlen(text);
}

/* Whether the paragraph makes the table or view called name.  */
static bool makes(const char *text, const char *end, const char *name)
{
    static const char *const starts[] = { "CREATE TABLE ", "CREATE VIEW " };
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const char *found = strstr(text, starts[i]);

        if (found && found < end) {
            found += strlen(starts[i]);
            return strncmp(found, name, length) == 0 && found[length] == ' ';
        }
    }
    return false;
}

static bool print_table(const char *name)
{
    for (const char *text = store_schema(); *text;) {
        const char *end = paragraph_end(text);

        if (makes(text, end, name)) {
            (void)fwrite(text, 1, (size_t)(end - text), stdout);
            return true;
        }
        text = end + (*end == '\n');
    }
    return false;
}

enum cli_exit fxtq_schema(char **argv)
{
    struct cli_texts names = { .items = NULL };
    struct cli_parser parser;

    cli_start(&parser, &command, argv);
    while (cli_next(&parser) != CLI_END)
        cli_texts_add(&names, parser.value);
    if (names.count == 0)
        (void)fputs(store_schema(), stdout);
    for (size_t i = 0; i < names.count; i++) {
        if (i > 0)
            (void)putchar('\n');
        if (!print_table(names.items[i]))
            cli_usage_error("there is no table or view '%s'", names.items[i]);
    }
    free(names.items);
    if (fflush(stdout) == 0)
        return CLI_OK;
    cli_error("cannot write to standard output");
    return CLI_ENVIRONMENT;
}
