/* sql_session.c - what SQL may do with a store.  */
#include "cmd/fxtq/sql_session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Virtual machine steps between two looks at clock and signals: some microseconds.  */
#define STEPS 2000

/* ---- SIGINT ---- */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    interrupts = 1;
    (void)signal_number;
}

void interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

bool interrupt_seen(void)
{
    return interrupts != 0;
}

void interrupt_forget(void)
{
    interrupts = 0;
    interrupt_catch();
}

void interrupt_pass_on(void)
{
    (void)signal(SIGINT, SIG_DFL);
    if (interrupts)
        (void)raise(SIGINT);
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Called all along; what is not 0 ends the statement with SQLITE_INTERRUPT.  */
static int on_progress(void *context)
{
    struct session *session = context;

    if (interrupts)
        return 1;
    if (session->deadline_ns == 0 || now_ns() < session->deadline_ns)
        return 0;
    session->timed_out = true;
    return 1;
}

/* ---- What is allowed ---- */

/* Pragmas that tell something, or that change this connection in a way that harms nothing.  */
static bool is_reading_pragma(const char *name, const char *value)
{
    static const char *const with_value[] = {
        "table_info",      "table_xinfo",       "table_list",   "index_list",
        "index_info",      "index_xinfo",       "quick_check",  "foreign_key_list",
        "integrity_check", "foreign_key_check", "temp_store",   "cache_size",
        "mmap_size",       "threads",           "busy_timeout", NULL
    };
    static const char *const without[] = { "application_id",
                                           "user_version",
                                           "schema_version",
                                           "data_version",
                                           "page_count",
                                           "page_size",
                                           "freelist_count",
                                           "encoding",
                                           "journal_mode",
                                           "database_list",
                                           "function_list",
                                           "module_list",
                                           "pragma_list",
                                           "collation_list",
                                           "trusted_schema",
                                           "compile_options",
                                           "query_only",
                                           "cell_size_check",
                                           NULL };

    for (size_t i = 0; name && with_value[i]; i++)
        if (strcasecmp(with_value[i], name) == 0)
            return true;
    for (size_t i = 0; name && !value && without[i]; i++)
        if (strcasecmp(without[i], name) == 0)
            return true;
    return false;
}

static bool is_reading(const struct session *session, int action, const char *first,
                       const char *second, const char *schema)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_DETACH:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_VIEW:
        return true;
    case SQLITE_UPDATE: /* of the schema: what SQLite asks when a table function declares itself */
        if (first && strcmp(first, "sqlite_master") == 0)
            return true;
        return schema && strcmp(schema, "temp") == 0;
    case SQLITE_INSERT:
    case SQLITE_DELETE:
        return schema && strcmp(schema, "temp") == 0;
    case SQLITE_PRAGMA:
        return is_reading_pragma(first, second);
    case SQLITE_ATTACH: /* for reading, as main is; not what VACUUM INTO attaches to write */
        return session->preparing;
    default:
        return false;
    }
}

static const char *action_name(int action)
{
    static const struct {
        int action;
        const char *name;
    } names[] = {
        { SQLITE_INSERT, "INSERT" },
        { SQLITE_UPDATE, "UPDATE" },
        { SQLITE_DELETE, "DELETE" },
        { SQLITE_CREATE_TABLE, "CREATE TABLE" },
        { SQLITE_CREATE_INDEX, "CREATE INDEX" },
        { SQLITE_CREATE_VIEW, "CREATE VIEW" },
        { SQLITE_CREATE_TRIGGER, "CREATE TRIGGER" },
        { SQLITE_CREATE_TEMP_TRIGGER, "CREATE TRIGGER" },
        { SQLITE_CREATE_VTABLE, "CREATE VIRTUAL TABLE" },
        { SQLITE_DROP_TABLE, "DROP TABLE" },
        { SQLITE_DROP_INDEX, "DROP INDEX" },
        { SQLITE_DROP_VIEW, "DROP VIEW" },
        { SQLITE_ALTER_TABLE, "ALTER TABLE" },
        { SQLITE_ANALYZE, "ANALYZE" },
        { SQLITE_REINDEX, "REINDEX" },
        { SQLITE_PRAGMA, "PRAGMA" },
        { SQLITE_ATTACH, "VACUUM" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].action == action)
            return names[i].name;
    return "this statement";
}

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *schema, const char *inside)
{
    struct session *session = context;
    bool names_schema = first && strncmp(first, "sqlite_", 7) == 0;
    const char *object = first && !names_schema ? first : "";

    (void)inside;
    if (action == SQLITE_FUNCTION && second && strcasecmp(second, "load_extension") == 0) {
        (void)snprintf(session->denied, sizeof session->denied,
                       "extensions cannot be loaded from SQL");
        return SQLITE_DENY;
    }
    if (session->write || is_reading(session, action, first, second, schema))
        return SQLITE_OK;
    (void)snprintf(session->denied, sizeof session->denied,
                   "%s%s%.100s would change the store; start fxtq with --write to allow it",
                   /* the first thing that CREATE asks for is a row of sqlite_master */
                   names_schema && action == SQLITE_INSERT ? "CREATE" : action_name(action),
                   *object ? " " : "", object);
    return SQLITE_DENY;
}

/* ---- Hardening ---- */

/* Larger than anything a store of ours holds, smaller than what would hurt.  */
static void set_limits(sqlite3 *db)
{
    static const struct {
        int limit, value;
    } limits[] = {
        { SQLITE_LIMIT_LENGTH, 64 << 20 },
        { SQLITE_LIMIT_SQL_LENGTH, 16 << 20 },
        { SQLITE_LIMIT_COLUMN, 2000 },
        { SQLITE_LIMIT_EXPR_DEPTH, 1000 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 500 },
        { SQLITE_LIMIT_VDBE_OP, 2000000 },
        { SQLITE_LIMIT_FUNCTION_ARG, 127 },
        { SQLITE_LIMIT_ATTACHED, 10 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 5000 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 10 },
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(db, limits[i].limit, limits[i].value);
}

/* Triggers are libstore's matter.  */
static int harden(sqlite3 *db)
{
    static const struct {
        int option, value;
    } options[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
        { SQLITE_DBCONFIG_DQS_DML, 0 },
        { SQLITE_DBCONFIG_DQS_DDL, 0 },
        { SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int code = sqlite3_db_config(db, options[i].option, options[i].value, (int *)NULL);

        if (code != SQLITE_OK)
            return code;
    }
    set_limits(db);
    return sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

enum cli_exit session_start(struct session *session)
{
    int code = harden(session->db), has_trigger = 0;

    /* Triggers are off where there are others than the one that goes with the deletion of a
     * capture.  Foreign keys do what it does, slowly.  */
    if (code == SQLITE_OK && session->write)
        code = sqlite3_db_config(session->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &has_trigger);
    if (code == SQLITE_OK && session->write && !has_trigger)
        code = sqlite3_exec(session->db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return session_fail(session, code);
    session->parameters_used = cli_allocate(session->parameters.count, sizeof(bool));
    sqlite3_progress_handler(session->db, STEPS, on_progress, session);
    (void)sqlite3_set_authorizer(session->db, authorize, session);
    (void)sqlite3_busy_timeout(session->db, 5000);
    return CLI_OK;
}

void session_begin_statement(struct session *session)
{
    session->timed_out = false;
    session->deadline_ns = session->timeout_s > 0 ? now_ns() + (int64_t)(session->timeout_s * 1e9)
                                                  : 0;
}

void session_end(struct session *session)
{
    sqlite3_progress_handler(session->db, 0, NULL, NULL);
    (void)sqlite3_set_authorizer(session->db, NULL, NULL);
    free(session->parameters_used);
    session->parameters_used = NULL;
    for (size_t i = 0; i < session->set.count; i++)
        free((char *)session->set.items[i]);
    free(session->set.items);
    session->set = (struct cli_texts){ .items = NULL };
}

void session_settle(const struct session *session)
{
    if (session->settle)
        session->settle(session->context);
    else if (session->output)
        (void)cli_output_flush(session->output);
}

enum cli_exit session_fail(const struct session *session, int code)
{
    session_settle(session);
    if (code == SQLITE_IOERR_NOMEM || sqlite3_extended_errcode(session->db) == SQLITE_IOERR_NOMEM) {
        cli_error("out of memory");
        return CLI_ENVIRONMENT;
    }
    switch (code & 0xff) {
    case SQLITE_INTERRUPT:
        if (session->timed_out)
            cli_error("stopped after %g s; raise the limit with %s", session->timeout_s,
                      session->command ? "--timeout or .timeout" : "--timeout");
        else
            cli_error("interrupted");
        return CLI_ENVIRONMENT;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        if (strncmp(sqlite3_errmsg(session->db), "the store is damaged", 20) == 0)
            cli_error("%s", sqlite3_errmsg(session->db)); /* the SQL functions say it themselves */
        else
            cli_error("the store is damaged: %s", sqlite3_errmsg(session->db));
        return CLI_DAMAGED;
    case SQLITE_BUSY:
        cli_error("the store is locked by another program; try again when that has finished");
        return CLI_ENVIRONMENT;
    case SQLITE_AUTH:
        cli_error("%s", session->denied[0] ? session->denied : sqlite3_errmsg(session->db));
        return CLI_USAGE;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG:
    case SQLITE_READONLY:
        cli_error("%s", sqlite3_errmsg(session->db));
        return CLI_USAGE;
    default:
        cli_error("%s", sqlite3_errmsg(session->db));
        return CLI_ENVIRONMENT;
    }
}
