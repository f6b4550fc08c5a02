/* filters.h - which samples are meant: the options of reports and flame graphs, by the names that
 * pprof and perf have for them, and the arguments of the SQL functions they become.  */
#ifndef FXTQ_FILTERS_H
#define FXTQ_FILTERS_H

#include <sqlite3.h>

#include "cmd/cli/select.h"
#include "cmd/fxtq/fxtq.h"

/* Keys of the options, behind those of the command.  */
enum {
    SELECT_FIRST = 100,
    SELECT_TYPE = SELECT_FIRST,
    SELECT_FOCUS,
    SELECT_IGNORE,
    SELECT_HIDE,
    SELECT_SHOW_FROM,
    SELECT_TIME,
    SELECT_PID,
    SELECT_TID,
    SELECT_COMM,
    SELECT_CPU,
    SELECT_CAPTURE,
};

/* Rows for the option table of a command.  */
#define SELECT_OPTIONS                                                                         \
    { SELECT_TYPE, 0, "sample-type", "TYPE",                                                   \
      "what is added up: cpu, alloc_space, inuse_space,\nfree_space, ...; default: the first " \
      "there is" },                                                                            \
        { SELECT_FOCUS, 0, "focus", "REGEX", "only stacks with a function that matches" },     \
        { SELECT_IGNORE, 0, "ignore", "REGEX", "no stacks with a function that matches" },     \
        { SELECT_HIDE, 0, "hide", "REGEX", "leave functions that match out of stacks" },       \
        { SELECT_SHOW_FROM, 0, "show-from", "REGEX",                                           \
          "begin stacks at the outermost function that matches" },                             \
        { SELECT_TIME, 0, "time", "FROM,TO",                                                   \
          "only this time: +1.5s,+2s counts from the beginning" },                             \
        { SELECT_PID, 0, "pid", "PID,...", "only these processes" },                           \
        { SELECT_TID, 0, "tid", "TID,...", "only these threads" },                             \
        { SELECT_COMM, 0, "comm", "NAME,...", "only threads of these names" },                 \
        { SELECT_CPU, 0, "cpu", "CPU,...", "only what these CPUs ran" },                       \
    {                                                                                          \
        SELECT_CAPTURE, 0, "capture", "ID", "only this capture of the store; default: all"     \
    }

struct filters {
    const char *type; /* NULL: the first there is */
    const char *focus, *ignore, *hide, *show_from;
    const char *pids, *tids, *comms, *cpus;
    int64_t capture; /* 0: all */
    struct cli_select time;
};

/* Take an option of SELECT_OPTIONS.  False: key is none of them.  */
bool filters_take(struct filters *filters, int key, const char *value);

/* The arguments of flamegraph(), call_tree() and their like behind a pattern, as SQL parameters.
 * */
#define SELECT_ARGUMENTS                                                                        \
    ":type, :per, :focus, :ignore, :hide, :show_from, :from_ts, :limit_ts, :pid, :tid, :comm, " \
    ":cpu, :capture"

/* Bind them; those that were not asked for are NULL.  first_ts is where +TIME counts from.  */
void filters_bind(const struct filters *filters, sqlite3_stmt *statement, int64_t first_ts);

/* Where +TIME counts from: the earliest time of the capture, or of all.  SQLite's code.  */
int filters_first_ts(const struct filters *filters, sqlite3 *db, int64_t *out);

#endif /* FXTQ_FILTERS_H */
