/* dot_commands.h - what begins with a dot: ".tables", ".read FILE".
 *
 * As in the sqlite3 shell a line that begins with a dot where a statement could begin is one, in
 * the shell, in files, on standard input and on the command line.  commands_start() lets
 * script_run() know them.  */
#ifndef FXTQ_DOT_COMMANDS_H
#define FXTQ_DOT_COMMANDS_H

#include "cmd/fxtq/pager.h"
#include "cmd/fxtq/sql_session.h"

struct commands {
    struct session *session; /* borrowed until commands_end() */
    bool pages;              /* long output goes through a pager */
    struct pager pager;
    const char *where; /* what a message begins with, such as "file:3: " */
    unsigned depth;    /* of files that read files */
};

/* *commands is all zero but for pages.  */
void commands_start(struct commands *commands, struct session *session);
void commands_end(struct commands *commands);

/* One line, which is cut into its words.  CLI_OK, or, with a message, CLI_USAGE for what is wrong
 * with it; else what script_run() returns.  Messages begin with where.  */
enum cli_exit commands_run(struct commands *commands, const char *where, char *line);

/* script_run(), through the pager.  */
enum cli_exit commands_run_sql(struct commands *commands, const char *sql, const char *name);

/* The index-th completion of text, the last word of line, which begins with a dot; NULL: no more.
 * *is_name: what is wanted there is a name of the database, which commands do not know.  */
const char *commands_complete(const char *text, size_t index, const char *line, bool *is_name);

#endif /* FXTQ_DOT_COMMANDS_H */
