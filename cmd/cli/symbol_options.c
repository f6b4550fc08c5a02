/* Sessions of symbols as the programs' options ask for.  */
#include "cmd/cli/symbol_options.h"

#include "cmd/cli/cli_bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_SYMBOLS = CLI_SYMBOLS_KEYS,
    KEY_DEBUGINFOD,
    KEY_NO_CACHE,
    KEY_NO_SYMBOLIZE,
    KEY_NO_INLINES
};

const struct cli_option cli_symbols_options[] = {
    { KEY_SYMBOLS, 's', "symbols", "PATH",
      "search PATH for symbols first: a file, a .build-id tree, or a folder of debug files; may be "
      "repeated",
      CLI_FILE },
    { KEY_DEBUGINFOD, 0, "debuginfod", NULL,
      "download missing debug files from the servers in DEBUGINFOD_URLS" },
    { KEY_NO_CACHE, 0, "no-cache", NULL,
      "neither read nor write the symbol cache ($XDG_CACHE_HOME/fxt/symbols)" },
    { 0 },
};

const struct cli_option cli_naming_options[] = {
    { KEY_NO_SYMBOLIZE, 0, "no-symbolize", NULL, "do not look up symbols; print addresses" },
    { KEY_NO_INLINES, 0, "no-inlines", NULL, "omit inlined frames" },
    { 0 },
};

bool cli_symbols_take(struct cli_symbols *symbols, int key, const struct cli_parser *parser)
{
    switch (key) {
    case KEY_SYMBOLS:
        cli_texts_add(&symbols->paths, parser->value);
        return true;
    case KEY_DEBUGINFOD:
        symbols->debuginfod = true;
        return true;
    case KEY_NO_CACHE:
        symbols->no_cache = true;
        return true;
    case KEY_NO_SYMBOLIZE:
        symbols->no_symbolize = true;
        return true;
    case KEY_NO_INLINES:
        symbols->no_inlines = true;
        return true;
    default:
        return false;
    }
}

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

static struct sym_options options_of(const struct cli_symbols *symbols)
{
    return (struct sym_options){ .size = sizeof(struct sym_options),
                                 .symbol_paths = symbols->paths.items,
                                 .symbol_path_count = symbols->paths.count,
                                 .debuginfod = symbols->debuginfod,
                                 .no_inlines = symbols->no_inlines,
                                 .bounds = symbols->bounds,
                                 .details = symbols->details,
                                 .relative_files = symbols->relative_files,
                                 .symbol_files = symbols->symbol_files,
                                 .keep_tags = symbols->keep_tags,
                                 .no_limit = symbols->no_limit || cli_bounds_are_lifted(),
                                 .debug_root = symbols->debug_root,
                                 .jobs = symbols->jobs,
                                 .no_cache = symbols->no_cache };
}

enum cli_exit cli_symbols_open(struct cli_symbols *symbols, struct sym_session **out)
{
    struct sym_options options = options_of(symbols);
    struct sym_error error;

    cli_bounds_lift_memory();
    options.progress = show_transfer;
    options.progress_context = symbols;
    if (symbols->session) {
        *out = symbols->session;
        return CLI_OK;
    }
    /* libdebuginfod tries thrice, and a server that hangs takes DEBUGINFOD_TIMEOUT each time.  */
    if (symbols->debuginfod)
        (void)setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
    if (sym_session_open(&options, &symbols->session, &error) == SYM_OK) {
        *out = symbols->session;
        return CLI_OK;
    }
    symbols->session = NULL;
    cli_error("%s", error.message);
    return error.status == SYM_INVALID ? CLI_USAGE : CLI_ENVIRONMENT;
}

struct sym_session *cli_symbols_of_thread(const struct cli_symbols *symbols)
{
    struct sym_options options = options_of(symbols);
    struct sym_session *session = NULL;

    return sym_session_open(&options, &session, NULL) == SYM_OK ? session : NULL;
}

/* Names may be missing for it.  */
static void tell_unread(const struct sym_session *session)
{
    struct sym_unread unread;

    sym_session_unread(session, &unread);
    if (unread.count == 1 && unread.path)
        cli_warning("--symbols: %s: %s", unread.path, strerror(unread.system_errno));
    else if (unread.count > 0)
        cli_warning("--symbols: %zu files and directories cannot be read; the first is %s: %s",
                    unread.count, unread.path ? unread.path : "not known",
                    strerror(unread.system_errno));
    if (unread.stopped)
        cli_warning("--symbols: a directory has more than a million files: not all of them were "
                    "looked at");
}

void cli_symbols_close(struct cli_symbols *symbols)
{
    if (symbols->session)
        tell_unread(symbols->session);
    sym_session_close(symbols->session);
    cli_progress_end(&symbols->progress);
    free(symbols->name);
    symbols->session = NULL;
    symbols->name = NULL;
}

void cli_symbols_release(struct cli_symbols *symbols)
{
    cli_symbols_close(symbols);
    free(symbols->paths.items);
    *symbols = (struct cli_symbols){ .debuginfod = false };
}
