/* selection.h - samples added up by call site, thread or process, filtered.
 *
 * Without a filter on time, threads or CPUs the sums are in the store already (callsite_sum); with
 * one, the samples are read, from columns if the store is served from them.  */
#ifndef STORE_FUNCTIONS_SELECTION_H
#define STORE_FUNCTIONS_SELECTION_H

#include "libstore/functions/sample_counters.h"
#include "libstore/functions/stored_stacks.h"

/* What to add up.  NULL, 0 and false: no such filter.  Lists are separated by commas.  */
struct selection {
    const struct columns_scanner *scanner; /* samples may be read from columns */
    const char *type; /* sample_type.type, or "type/unit"; NULL: the first there is */
    sqlite3_int64 capture;
    const char *focus;     /* stacks that hold a match of this pattern (pattern_match.h) */
    const char *ignore;    /* no stacks that hold one */
    const char *hide;      /* leave these functions out of stacks: graph.h */
    const char *show_from; /* stacks begin at the outermost match, those without are left out */
    bool has_from, has_limit;
    sqlite3_int64 from_ts, limit_ts; /* [from, limit) */
    const char *pids, *tids, *cpus;
    const char *comms; /* names of threads; of processes where a sample has no thread */
};

/* Add up.  stacks must be current and named.  Returns SQLITE_OK or an error, with *error as in
 * stored_stacks.h.  */
int selection_add_up(sqlite3 *db, const struct stacks *stacks, const struct selection *selection,
                     enum sums_by by, struct sums *sums, char **error);

#endif /* STORE_FUNCTIONS_SELECTION_H */
