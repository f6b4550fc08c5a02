/* content_queries.h - <fxt/store_content.h> for a connection, in place of a store.
 *
 * The SQL functions use it, in libstore and in the extension, which has no struct store.  Each
 * function returns SQLITE_OK or another code of SQLite, for which sqlite3_errmsg() has a message;
 * there is no result then.  */
#ifndef STORE_FUNCTIONS_CONTENT_QUERIES_H
#define STORE_FUNCTIONS_CONTENT_QUERIES_H

#include <fxt/store_content.h>
#include "libstore/functions/sqlite.h"

/* The condition for sample_type_id of what a count of samples counts: those of sample_type.id n, an
 * SQL expression; with those of CPU time, the samples of events.  */
#define CONTENT_COUNTED(n)                                                                        \
    "sample_type_id IN (SELECT " n " UNION SELECT sample_type_id FROM main.sample_event WHERE " n \
    " = 1)"

int content_has(sqlite3 *db, int64_t capture, unsigned wanted, unsigned *found);
int content_each_type(sqlite3 *db, int64_t capture, store_sample_type_fn each, void *context);
int content_choose_type(sqlite3 *db, const char *wanted, int64_t capture,
                        struct store_sample_type *out);
int content_is_known(sqlite3 *db, const char *wanted, bool *out);

/* Whether any value of the type is known, and not only the number of samples: CPU samples of a
 * capture without a period have no values.  */
int content_has_values(sqlite3 *db, const struct store_sample_type *type, int64_t capture,
                       bool *out);

/* id 0 of kind STORE_SAMPLES_PROFILED means all types of profiles.  */
int content_missing(sqlite3 *db, const struct store_sample_type *type, int64_t capture,
                    unsigned filters, const char **out);

#endif /* STORE_FUNCTIONS_CONTENT_QUERIES_H */
