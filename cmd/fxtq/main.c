/* fxtq - keep captures in a store, and ask it anything.  Finds the command and calls it.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"

static const struct fxtq_command commands[] = {
    { "import", fxtq_import, "write traces into a store" },
    { "symbolize", fxtq_symbolize, "give the frames of a store better names" },
    { "coverage", fxtq_coverage, "tell how many frames have names, by module" },
    { "schema", fxtq_schema, "print the tables of a store, and what they mean" },
};

static const struct cli_option options[] = { { 0 } };

static const char *const examples[] = {
    "what a store holds",
    "fxtq schema",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtq",
    .usage = "COMMAND [ARGUMENT]...",
    .summary = "Keep traces in an SQLite store, and ask it anything.",
    .options = options,
    .examples = examples,
    .stop_at_operand = true,
};

enum cli_exit fxtq_complain(const char *path, const struct store_error *error)
{
    if (path)
        cli_error("%s: %s", path, error->message);
    else
        cli_error("%s", error->message);
    switch (error->status) {
    case STORE_CORRUPT:
    case STORE_NOT_STORE:
        return CLI_DAMAGED;
    default:
        return CLI_ENVIRONMENT;
    }
}

static const struct fxtq_command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_commands(void)
{
    printf("Commands (each has a --help):\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].summary);
}

int main(int argc, char **argv)
{
    const struct fxtq_command *chosen;
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv + 1);
    if (argc < 2 || strcmp(argv[1], "help") == 0) {
        print_commands();
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    while ((key = cli_next(&parser)) != CLI_END && key != CLI_OPERAND)
        ; /* options of its own are answered by the parser */
    chosen = find_command(argv[1]);
    if (!chosen)
        cli_usage_error("there is no command '%s'", argv[1]);
    return (int)chosen->run(argv + 2);
}
