/* sql_session.h - an open database, what SQL may do with it, and running SQL.
 *
 * A store comes from anywhere, so nothing in it is trusted: its views may only call functions that
 * SQLite holds for harmless, its triggers do not fire, damaged pages are noticed, and what SQL can
 * ask for is bounded.  Without write, SQL can change nothing but temporary tables, whatever it
 * says.  */
#ifndef FXTQ_SQL_SESSION_H
#define FXTQ_SQL_SESSION_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "cmd/fxtq/format/fxtq_text.h"
#include "cmd/fxtq/format/row_format.h"

struct session {
    struct store *store; /* borrowed */
    sqlite3 *db;         /* its connection */
    bool write;
    double timeout_s;            /* of each statement; 0: none */
    struct cli_texts parameters; /* "NAME=VALUE", for :NAME, @NAME and $NAME */
    bool *parameters_used;       /* as many */
    struct cli_texts set;        /* the same, set meanwhile; from malloc() */
    struct format_options format;
    struct cli_output *output;
    bool timer; /* say on stderr how long each statement took */

    /* Called before a message, so that it comes behind the rows: NULL flushes output.  */
    void (*settle)(void *context);
    /* What a line that begins with a dot does; NULL: it is not SQL.  where is what messages begin
     * with.  */
    enum cli_exit (*command)(void *context, const char *where, char *line);
    void *context; /* of settle and command */
    bool quits;    /* nothing more is run */

    /* For sql_session.c and script.c only.  */
    int64_t deadline_ns;
    bool preparing;
    bool timed_out;
    char denied[200]; /* why the authorizer refused; "" it did not */
};

/* Harden the connection and take control of it.  Everything else of session is set before.  */
enum cli_exit session_start(struct session *session);
void session_end(struct session *session); /* frees what it owns, not db */

/* The time limit counts from now.  */
void session_begin_statement(struct session *session);

/* Run all statements and commands of sql (NUL-terminated) and print their rows.  name is what
 * messages call it: a file, or NULL for the command line.  The first failure ends it, with a
 * message that shows where: CLI_USAGE for what is wrong with the SQL, CLI_DAMAGED for a damaged
 * store, CLI_ENVIRONMENT for the rest.  Rows printed before stay.  */
enum cli_exit script_run(struct session *session, const char *sql, const char *name);

/* Let what was printed so far appear before a message.  */
void session_settle(const struct session *session);

/* What :name stands for from now on.  */
void session_set_parameter(struct session *session, const char *name, const char *value);

/* Parameters of the command line that no statement had: a mistyped name.  CLI_OK, or CLI_USAGE with
 * a message.  */
enum cli_exit script_check_parameters(const struct session *session);

/* A failed call of SQLite as exit status, with its message.  */
enum cli_exit session_fail(const struct session *session, int code);

/* ---- SIGINT ---- */

/* From now on SIGINT stops the statement that runs; the second one, if it does not stop, kills.  */
void interrupt_catch(void);
bool interrupt_seen(void);
void interrupt_forget(void); /* a new statement begins */

/* Give SIGINT its default meaning back and, if it was seen, die of it.  */
void interrupt_pass_on(void);

#endif /* FXTQ_SQL_SESSION_H */
