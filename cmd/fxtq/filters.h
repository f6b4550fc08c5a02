/* filters.h - the options that select samples and events, for reports, flame graphs and exports,
 * with the names that pprof and perf have for them.
 *
 *     struct filters filters = FILTERS_NONE;
 *     while ((key = cli_next(&parser)) != CLI_END)
 *         if (!filters_take(&filters, key, parser.value))
 *             ...
 *     filters_resolve(&filters, store);           once there is a store
 *     store_export_csv(store, &filters.filter, ...
 *     filters_release(&filters);  */
#ifndef FXTQ_FILTERS_H
#define FXTQ_FILTERS_H

#include <fxt/store_content.h>
#include "cmd/cli/select.h"
#include "cmd/fxtq/format/fxtq_text.h"
#include "cmd/fxtq/fxtq.h"

struct filters {
    struct store_filter filter;               /* its times: by filters_resolve() */
    struct base_text pids, tids, comms, cpus; /* its lists */
    struct cli_time from, limit;              /* as given */
    int64_t start_ts; /* of what is looked at, by filters_resolve(); 0 if there are no times */
};

#define FILTERS_NONE                                     \
    {                                                    \
        .filter = {.size = sizeof(struct store_filter) } \
    }

/* A group of options (cmd/cli/cli.h), and what takes them.  False: key is none of them.  */
extern const struct cli_option filters_options[];
bool filters_take(struct filters *filters, int key, const char *value);

/* End the program with CLI_USAGE unless pattern is one, a POSIX extended regular expression; name
 * begins the message, "--focus: ", and may be empty.  */
void filters_check_pattern(const char *name, const char *pattern);

/* The option that was given, of those that bits (STORE_FILTER_...) stand for: "--focus"; NULL:
 * none.  */
const char *filters_given_name(const struct filters *filters, unsigned bits);

/* Learn from the store what times mean.  A capture that is not there, times where captures have
 * none, and times that count from the start of several captures end the program with CLI_USAGE.
 * CLI_OK, or a message.  */
enum cli_exit filters_resolve(struct filters *filters, struct store *store);

/* End the program with CLI_USAGE unless the store has, or might have had, samples of the type that
 * --sample-type asks for: the message says which there are.  path is what it calls the store.
 * CLI_OK, also where no type was asked for; or a message.  */
enum cli_exit filters_check_type(const struct filters *filters, struct store *store,
                                 const char *path);

/* Why there are no samples to show, for people: "nothing matches the filters".  */
const char *filters_why_empty(const struct filters *filters, struct store *store);

void filters_release(struct filters *filters);

#endif /* FXTQ_FILTERS_H */
