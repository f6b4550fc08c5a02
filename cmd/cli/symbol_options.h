/* symbol_options.h - the options that say where names come from, and the session they open.
 *
 * --symbols PATH, --debuginfod and --no-cache mean the same in every program that has them.
 *
 *     if (cli_symbols_take(&symbols, key, &parser))
 *     ...
 *     status = cli_symbols_check(&symbols);
 *     status = cli_symbols_open(&symbols, &session);
 *     cli_symbols_release(&symbols);  */
#ifndef CLI_SYMBOL_OPTIONS_H
#define CLI_SYMBOL_OPTIONS_H

#include <fxt/symbolize.h>
#include "cmd/cli/cli.h"

struct cli_symbols {
    struct cli_texts paths; /* --symbols: borrowed texts, owned list */
    bool debuginfod;
    bool no_cache;
    bool no_symbolize; /* for the caller */
    bool no_inlines;
    bool bounds;   /* functions without names get separate names: sym_options.bounds */
    bool no_limit; /* the caller's own --no-limit was given; cli_bounds_options' counts anyway */
    bool details, relative_files, symbol_files, keep_tags; /* as in struct sym_options */
    const char *debug_root;                                /* likewise; borrowed */
    unsigned jobs;                                         /* threads; 0: one a CPU */

    /* For symbol_options.c only.  */
    struct sym_session *session;
    struct cli_progress progress; /* of the transfer that runs */
    char *name;                   /* of it; owned */
};

/* Groups of options (cli.h), and what takes them.  */
extern const struct cli_option cli_symbols_options[]; /* --symbols, --debuginfod, --no-cache */
extern const struct cli_option cli_naming_options[];  /* --no-symbolize, --no-inlines */

/* Take the option that the parser stands at.  False: key is none of them.  */
bool cli_symbols_take(struct cli_symbols *symbols, int key, const struct cli_parser *parser);

/* A mistyped --symbols would only show as missing names: say it before the work.  CLI_OK, or
 * CLI_ENVIRONMENT with a message.  */
enum cli_exit cli_symbols_check(const struct cli_symbols *symbols);

/* Open the session, or return the one that is open; transfers from servers show their progress.  On
 * failure a message was printed.  */
enum cli_exit cli_symbols_open(struct cli_symbols *symbols, struct sym_session **out);

/* A session of a thread's own with the same options, for sym_session_close(); it shows no progress.
 * NULL: none can be opened, which cli_symbols_open() will say.  */
struct sym_session *cli_symbols_of_thread(const struct cli_symbols *symbols);

/* Close it; it can be opened again.  Harmless when it was never opened.  */
void cli_symbols_close(struct cli_symbols *symbols);

/* Close it and forget the options.  */
void cli_symbols_release(struct cli_symbols *symbols);

#endif /* CLI_SYMBOL_OPTIONS_H */
