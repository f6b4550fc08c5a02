/* filters.h - which samples and events are meant: the options of reports, flame graphs and exports,
 * by the names that pprof and perf have for them; read once, then told to whoever asks as SQL, as
 * arguments of the SQL functions, or as struct store_filter.
 *
 *     struct filters filters = { .type = NULL };
 *     while ((key = cli_next(&parser)) != CLI_END)
 *         if (!filters_take(&filters, key, parser.value))
 *             ...
 *     filters_resolve(&filters, db);              once there is a store
 *     filters_bind(&filters, statement);          or one of the others
 *     filters_release(&filters);  */
#ifndef FXTQ_FILTERS_H
#define FXTQ_FILTERS_H

#include <sqlite3.h>

#include <fxt/store_export.h>
#include "cmd/cli/select.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/text.h"

/* Bits of what was asked for.  */
enum {
    FILTER_STACK = 1,   /* --focus, --ignore */
    FILTER_SHAPE = 2,   /* --hide, --show-from */
    FILTER_TIME = 4,    /* --time */
    FILTER_PROCESS = 8, /* --pid */
    FILTER_THREAD = 16, /* --tid */
    FILTER_COMM = 32,   /* --comm */
    FILTER_CPU = 64,    /* --cpu */
    FILTER_ALL = 127,
};

struct filters {
    const char *type; /* NULL: the first there is */
    const char *focus, *ignore, *hide, *show_from;
    struct base_text pids, tids, comms, cpus; /* "1,2", "a,b"; bytes NULL: no such filter */
    int64_t capture;                          /* 0: all */
    struct cli_time from, limit;              /* as given */
    unsigned given;                           /* FILTER_... */

    /* By filters_resolve().  */
    bool has_from, has_limit;
    int64_t from_ts, limit_ts;
    int64_t start_ts, end_ts; /* of what is looked at; 0 if there are no times */
};

/* A group of options (cmd/cli/cli.h), and what takes them.  False: key is none of them.  */
extern const struct cli_option filters_options[];
bool filters_take(struct filters *filters, int key, const char *value);

/* End the program with CLI_USAGE unless pattern is one, a POSIX extended regular expression; name
 * begins the message, "--focus: ", and may be empty.  */
void filters_check_pattern(const char *name, const char *pattern);

/* The option that was given, of those that bits stand for: "--focus".  */
const char *filters_given_name(const struct filters *filters, unsigned bits);

/* Learn from the store what times mean.  A capture that is not there, times where captures have
 * none, and times that count from the start of several captures end the program with CLI_USAGE.
 * CLI_OK, or a message.  */
enum cli_exit filters_resolve(struct filters *filters, sqlite3 *db);

/* The arguments of flamegraph(), call_tree() and their like behind a pattern, as SQL parameters.
 * */
#define SELECT_ARGUMENTS                                                                        \
    ":type, :per, :focus, :ignore, :hide, :show_from, :from_ts, :limit_ts, :pid, :tid, :comm, " \
    ":cpu, :capture"

/* Bind them; those that were not asked for are NULL.  */
void filters_bind(const struct filters *filters, sqlite3_stmt *statement);

/* Append the same as " WHERE type = 'cpu' AND per = ... AND pid = '1,2'"; type and per may be NULL.
 */
void filters_add_arguments(const struct filters *filters, const char *type, const char *per,
                           struct base_text *sql);

/* Append " AND expression IN (1, 2)", or ('a', 'b') where it is names that the list has; nothing
 * for no list.  */
void filters_add_in(struct base_text *sql, const char *expression, const struct base_text *list,
                    bool names);

/* The same for libstore.  Borrows from filters.  */
void filters_to_store(const struct filters *filters, struct store_filter *out);

/* End the program with CLI_USAGE unless the store has, or might have had, samples of the type that
 * --sample-type asks for: the message says which there are.  path is what it calls the store.
 * CLI_OK, also where no type was asked for; or a message.  */
enum cli_exit filters_check_type(const struct filters *filters, sqlite3 *db, const char *path);

/* Why there are no samples to show, for people: "nothing passes the filters".  */
const char *filters_why_empty(const struct filters *filters, sqlite3 *db);

/* What samples must tell (STORE_TELLS_..., <fxt/store_content.h>) to pass.  */
unsigned filters_tell(const struct filters *filters);

void filters_release(struct filters *filters);

#endif /* FXTQ_FILTERS_H */
