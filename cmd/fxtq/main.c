/* fxtq - keep captures in a store, and ask it anything.  Finds the command and calls it.  */
#include <sqlite3.h>

#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/huge_pages.h"
#include "cmd/fxtq/query_command.h"
#include "cmd/fxtq/temporary_tables.h"

static const struct cli_command *const commands[] = {
    &fxtq_import, &fxtq_symbolize, &fxtq_coverage, &fxtq_flamegraph, &fxtq_report, &fxtq_trend,
    &fxtq_export, &fxtq_help,      &fxtq_schema,   &fxtq_upgrade,    NULL,
};

const struct cli_command fxtq_program = {
    .name = "fxtq",
    .usage = "[OPTION]... STORE|TRACE [SQL]...\n"
             "       fxtq COMMAND [ARGUMENT]...",
    .summary = "Query a store of captures in SQL, or print a report.  A trace is imported into "
               "memory first.  Without SQL, fxtq starts a shell on a terminal, and otherwise reads "
               "SQL from standard input.",
    .options = fxtq_query_options,
    .libraries = fxtq_libraries,
    .examples = fxtq_query_examples,
    .first = CLI_STORE,
    .run = fxtq_query,
    .commands = commands,
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

int main(int argc, char **argv)
{
    (void)argc;
    huge_pages_use();
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* each allocation would take a lock */
    temporary_tables_keep();
    return cli_main(&fxtq_program, argv);
}
