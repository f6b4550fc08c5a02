/* captures.c - <fxt/store_content.h>: captures, and the costs of their call sites.  */
#include <fxt/store_content.h>

#include "libstore/functions/content_queries.h"
#include "libstore/store_internal.h"

static const char *text_or_null(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text && *text ? text : NULL;
}

enum store_status store_captures_each(struct store *store, int64_t capture, store_capture_fn each,
                                      void *context, struct store_error *error)
{
    static const char query[] =
        "SELECT c.id, c.name, c.command, c.arch, c.period_ns,"
        " (SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'kernel'),"
        " (SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'cpu_model'),"
        " (SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'label.commit')"
        " FROM main.capture AS c WHERE ?1 IN (0, c.id) ORDER BY c.id";
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, query, -1, &row, NULL);
    bool more = true;

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, capture);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && more &&
           (code = sqlite3_step(row)) == SQLITE_ROW)
        more = each(context, &(struct store_capture){ .id = sqlite3_column_int64(row, 0),
                                                      .name = text_or_null(row, 1),
                                                      .command = text_or_null(row, 2),
                                                      .arch = text_or_null(row, 3),
                                                      .period_ns = sqlite3_column_int64(row, 4),
                                                      .kernel = text_or_null(row, 5),
                                                      .cpu_model = text_or_null(row, 6),
                                                      .commit = text_or_null(row, 7) });
    return store_finish_rows(store, row, code, error);
}

enum store_status store_costs_each(struct store *store, int64_t capture,
                                   const struct store_sample_type *type, store_cost_fn each,
                                   void *context, struct store_error *error)
{
    static const char valued[] = "SELECT callsite_id, n, value FROM main.callsite_sum WHERE "
                                 "?1 IN (0, capture_id) AND sample_type_id = ?2";
    static const char counted[] = "SELECT callsite_id, n, value FROM main.callsite_sum WHERE "
                                  "?1 IN (0, capture_id) AND " CONTENT_COUNTED("?2");
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, type->counted_id ? counted : valued, -1, &row, NULL);
    bool more = true;

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, capture);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 2, type->counted_id ? type->counted_id : type->id);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && more &&
           (code = sqlite3_step(row)) == SQLITE_ROW)
        more = each(context, &(struct store_cost){ .callsite_id = sqlite3_column_int64(row, 0),
                                                   .samples = sqlite3_column_double(row, 1),
                                                   .value = sqlite3_column_double(row, 2) });
    return store_finish_rows(store, row, code, error);
}
