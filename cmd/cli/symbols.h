/* symbols.h - the options that say where names come from, and the session they open.
 *
 * --symbols PATH, --debuginfod and --no-cache mean the same in every program that has them.  */
#ifndef CLI_SYMBOLS_H
#define CLI_SYMBOLS_H

#include "cmd/cli/cli.h"
#include "libsymbolize/symbolize.h"

struct cli_symbols {
    struct cli_texts paths; /* --symbols */
    bool debuginfod;
    bool no_cache;
    bool no_inlines;

    /* For symbols.c only.  */
    struct sym_session *session;
    struct cli_progress progress; /* of the transfer that runs */
    char *name;                   /* of it; owned */
};

/* A mistyped --symbols would only show as missing names: say it before the work.  CLI_OK, or
 * CLI_ENVIRONMENT with a message.  */
enum cli_exit cli_symbols_check(const struct cli_symbols *symbols);

/* Open the session; transfers from servers show their progress.  On failure a message was
 * printed.  */
enum cli_exit cli_symbols_open(struct cli_symbols *symbols, struct sym_session **out);

/* Close it, and forget the options.  Harmless when it was never opened.  */
void cli_symbols_close(struct cli_symbols *symbols);

#endif /* CLI_SYMBOLS_H */
