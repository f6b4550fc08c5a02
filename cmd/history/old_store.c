#include "cmd/history/old_store.h"

#include <string.h>

#include "cmd/cli/cli.h"

static struct cli_texts noted; /* paths */
static bool is_quiet;

void old_store_be_quiet(void)
{
    is_quiet = true;
}

static bool was_noted(const char *path)
{
    for (size_t i = 0; i < noted.count; i++)
        if (strcmp(noted.items[i], path) == 0)
            return true;
    return false;
}

void old_store_note(const struct store *store, const char *path)
{
    int version = store_upgraded_from(store);

    if (version == 0 || is_quiet || was_noted(path))
        return;
    cli_texts_add(&noted, cli_join(path, "")); /* for as long as the program runs */
    if (version == STORE_VERSION)
        cli_note("%s: a store with views of another fxtq, read from an upgraded copy; "
                 "'fxtq upgrade %s' makes the copy unnecessary",
                 path, path);
    else
        cli_note("%s: a store of version %d, read from an upgraded copy; 'fxtq upgrade %s' makes "
                 "the copy unnecessary",
                 path, version, path);
}
