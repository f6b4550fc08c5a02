/* store_content.c - <fxt/store_content.h> for stores.  */
#include <fxt/store_content.h>

#include "libstore/columns.h"
#include "libstore/functions/content_queries.h"
#include "libstore/functions/functions.h"
#include "libstore/store_internal.h"

static enum store_status result(const struct store *store, int code, struct store_error *error)
{
    return code == SQLITE_OK ? STORE_OK : store_fail_sqlite(error, store->db, code);
}

enum store_status store_add_functions(struct store *store, struct store_error *error)
{
    struct columns_scanner scanner = { .store = store, .scan = columns_scan };

    return result(store, functions_register(store->db, &scanner), error);
}

unsigned store_filter_given(const struct store_filter *filter)
{
    return (filter->focus || filter->ignore ? STORE_FILTER_STACK : 0u) |
           (filter->hide || filter->show_from ? STORE_FILTER_SHAPE : 0u) |
           (filter->has_from || filter->has_limit ? STORE_FILTER_TIME : 0u) |
           (filter->pids ? STORE_FILTER_PROCESS : 0u) | (filter->tids ? STORE_FILTER_THREAD : 0u) |
           (filter->comms ? STORE_FILTER_COMM : 0u) | (filter->cpus ? STORE_FILTER_CPU : 0u);
}

enum store_status store_has(struct store *store, int64_t capture, unsigned wanted, unsigned *found,
                            struct store_error *error)
{
    return result(store, content_has(store->db, capture, wanted, found), error);
}

enum store_status store_span(struct store *store, int64_t capture, struct store_span *out,
                             struct store_error *error)
{
    static const char query[] =
        "SELECT min(start_ts), max(end_ts), count(*), count(start_ts), total(format <> 'fxt')"
        " FROM main.capture WHERE ?1 IN (0, id)";
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, query, -1, &row, NULL);

    *out = (struct store_span){ .captures = 0 };
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, capture);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        *out = (struct store_span){ .start_ts = sqlite3_column_int64(row, 0),
                                    .end_ts = sqlite3_column_int64(row, 1),
                                    .captures = (uint64_t)sqlite3_column_int64(row, 2),
                                    .timed = (uint64_t)sqlite3_column_int64(row, 3),
                                    .profiles = (uint64_t)sqlite3_column_int64(row, 4) };
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(row);
    return result(store, code, error);
}

enum store_status store_sample_types_each(struct store *store, int64_t capture,
                                          store_sample_type_fn each, void *context,
                                          struct store_error *error)
{
    return result(store, content_each_type(store->db, capture, each, context), error);
}

enum store_status store_sample_type_choose(struct store *store, const char *wanted, int64_t capture,
                                           struct store_sample_type *out, struct store_error *error)
{
    return result(store, content_choose_type(store->db, wanted, capture, out), error);
}

enum store_status store_sample_type_has_values(struct store *store,
                                               const struct store_sample_type *type,
                                               int64_t capture, bool *out,
                                               struct store_error *error)
{
    return result(store, content_has_values(store->db, type, capture, out), error);
}

enum store_status store_sample_type_is_known(struct store *store, const char *wanted, bool *out,
                                             struct store_error *error)
{
    return result(store, content_is_known(store->db, wanted, out), error);
}

enum store_status store_sample_type_missing(struct store *store,
                                            const struct store_sample_type *type, int64_t capture,
                                            unsigned filters, const char **out,
                                            struct store_error *error)
{
    return result(store, content_missing(store->db, type, capture, filters, out), error);
}
