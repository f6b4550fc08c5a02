/* Sessions of symbols as the programs' options ask for.  */
#include "cmd/cli/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cli_exit cli_symbols_check(const struct cli_symbols *symbols)
{
    for (size_t i = 0; i < symbols->paths.count; i++) {
        const char *path = symbols->paths.items[i];

        if (access(path, R_OK) != 0) {
            cli_error("--symbols: %s: %s", path, strerror(errno));
            return CLI_ENVIRONMENT;
        }
    }
    return CLI_OK;
}

/* Transfers of debug information run one after the other.  */
static bool show_transfer(void *context, const struct sym_progress *now)
{
    struct cli_symbols *symbols = context;

    if (!symbols->name || strcmp(symbols->name + strlen("fetching "), now->name) != 0) {
        cli_progress_end(&symbols->progress);
        free(symbols->name);
        symbols->name = cli_join("fetching ", now->name);
        cli_progress_start(&symbols->progress, symbols->name, now->total_bytes);
    }
    symbols->progress.total = now->total_bytes;
    cli_progress_show(&symbols->progress, now->bytes);
    return true;
}

enum cli_exit cli_symbols_open(struct cli_symbols *symbols, struct sym_session **out)
{
    struct sym_options options = { .size = sizeof options,
                                   .symbol_paths = symbols->paths.items,
                                   .symbol_path_count = symbols->paths.count,
                                   .debuginfod = symbols->debuginfod,
                                   .progress = show_transfer,
                                   .progress_context = symbols,
                                   .no_inlines = symbols->no_inlines,
                                   .no_cache = symbols->no_cache };
    struct sym_error error;

    if (sym_session_open(&options, &symbols->session, &error) == SYM_OK) {
        *out = symbols->session;
        return CLI_OK;
    }
    symbols->session = NULL;
    cli_error("%s", error.message);
    return error.status == SYM_INVALID ? CLI_USAGE : CLI_ENVIRONMENT;
}

void cli_symbols_close(struct cli_symbols *symbols)
{
    sym_session_close(symbols->session);
    cli_progress_end(&symbols->progress);
    free(symbols->name);
    free(symbols->paths.items);
    *symbols = (struct cli_symbols){ .debuginfod = false };
}
