/* fxtq upgrade: stores of former versions become stores of this one.  */
#include <stdlib.h>

#include "cmd/fxtq/fxtq.h"

static const char *const examples[] = {
    "Upgrade a store of an earlier fxtq",
    "fxtq upgrade run.fxtq",
    NULL,
};

enum key { KEY_QUIET = 1 };

static const struct cli_option options[] = {
    { KEY_QUIET, 'q', "quiet", NULL, "no summary" },
    { 0 },
};

static int run(char **argv);

const struct cli_command fxtq_upgrade = {
    .name = "fxtq upgrade",
    .usage = "STORE...",
    .summary = "Upgrade stores of earlier versions in place.  Importing into a store upgrades it, "
               "too; commands that read it use an upgraded copy.  Earlier programs cannot read the "
               "store afterwards.  Column data, from which "
               "SQL is answered, are created again if they are missing, out of date or damaged.",
    .options = options,
    .examples = examples,
    .first = CLI_STORE,
    .rest = CLI_STORE,
    .run = run,
    .brief = "upgrade stores of earlier versions",
};

/* Columns are made where they are missing, out of date or damaged.  A store that cannot be written
 * needs none.  */
static enum cli_exit make_columns(const char *path, bool *made)
{
    struct store_options store_options = { .size = sizeof store_options, .mode = STORE_APPEND };
    struct store_error error;
    struct store *store = NULL;
    enum store_status status = store_open(path, &store_options, &store, &error);

    *made = false;
    if (status == STORE_OK)
        status = store_make_columns(store, made, &error);
    if (status == STORE_OK)
        status = store_merge(store, &error);
    store_close(store);
    return status == STORE_OK ? CLI_OK : fxtq_complain(path, &error);
}

static enum cli_exit upgrade(const char *path, bool quiet)
{
    struct store_options store_options = { .size = sizeof store_options,
                                           .mode = STORE_READ,
                                           .refuses_old = true };
    struct store_error error;
    struct store *store = NULL;
    enum store_status status = store_open(path, &store_options, &store, &error);
    bool is_old = status == STORE_TOO_OLD, made = false;
    enum cli_exit result;

    store_close(store);
    if (status != STORE_OK && !is_old)
        return fxtq_complain(path, &error);
    result = make_columns(path, &made);
    if (result == CLI_OK && !quiet)
        cli_note("%s: %s version %d%s", path, is_old ? "upgraded to" : "has already", STORE_VERSION,
                 made ? "; made its columns" : "");
    return result;
}

static int run(char **argv)
{
    struct cli_texts paths = { .items = NULL };
    enum cli_exit status = CLI_OK;
    struct cli_parser parser;
    bool quiet = false;
    int key;

    cli_start(&parser, &fxtq_upgrade, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        if (key == KEY_QUIET)
            quiet = true;
        else
            cli_texts_add(&paths, parser.value);
    if (paths.count == 0)
        cli_usage_error("no store given");
    for (size_t i = 0; i < paths.count; i++)
        status = cli_worse(status, upgrade(paths.items[i], quiet));
    free(paths.items);
    return (int)status;
}
