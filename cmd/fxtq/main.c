/* fxtq - keep captures in a store, and ask it anything.  Finds the command and calls it.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/query.h"
#include "cmd/fxtq/text.h"

static const struct fxtq_command commands[] = {
    { "import", fxtq_import, "write traces into a store" },
    { "symbolize", fxtq_symbolize, "give the frames of a store better names" },
    { "coverage", fxtq_coverage, "tell how many frames have names, by module" },
    { "flamegraph", fxtq_flamegraph, "write a page that shows the stacks" },
    { "report", fxtq_report, "answer a question that has a name: top, tree, heap, ..." },
    { "export", fxtq_export, "write captures as folded stacks or CSV" },
    { "help", fxtq_help, "explain SQL functions, filters or formats" },
    { "schema", fxtq_schema, "print the tables of a store, and what they mean" },
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

/* What --help says before the options.  From malloc().  */
static char *make_summary(void)
{
    struct text text = { .bytes = NULL };

    text_adds(&text, "Ask a store of captures anything, in SQL or by a report's name.  A trace is "
                     "imported into\nmemory.  Without SQL: a shell, or SQL from standard input.\n\n"
                     "Commands (each has a --help):");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        text_addf(&text, "\n  %-12s %s", commands[i].name, commands[i].summary);
    return text.bytes;
}

int main(int argc, char **argv)
{
    const struct fxtq_command *chosen = argc > 1 ? find_command(argv[1]) : NULL;
    enum cli_exit status;
    char *summary;

    if (chosen)
        return (int)chosen->run(argv + 2);
    summary = make_summary();
    status = fxtq_query(argv + (argc > 0), summary);
    free(summary);
    return (int)status;
}
