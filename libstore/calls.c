/* calls.c - <fxt/store_content.h>: the tree of calls, and where functions are defined.  */
#include <fxt/store_content.h>

#include "libstore/store_internal.h"

static int bind_text(sqlite3_stmt *row, int parameter, const char *text)
{
    return text ? sqlite3_bind_text(row, parameter, text, -1, SQLITE_STATIC) : SQLITE_OK;
}

static int bind_number(sqlite3_stmt *row, int parameter, bool given, int64_t number)
{
    return given ? sqlite3_bind_int64(row, parameter, number) : SQLITE_OK;
}

/* The arguments of call_tree (docs/sql.md): those that are not given are NULL.  */
static int bind_filter(sqlite3_stmt *row, const struct store_filter *filter)
{
    const char *texts[] = { filter->sample_type, NULL,         filter->focus,
                            filter->ignore,      filter->hide, filter->show_from };
    const char *lists[] = { filter->pids, filter->tids, filter->comms, filter->cpus };
    int code = SQLITE_OK, parameter = 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == SQLITE_OK; i++)
        code = bind_text(row, ++parameter, texts[i]);
    if (code == SQLITE_OK)
        code = bind_number(row, ++parameter, filter->has_from, filter->from_ts);
    if (code == SQLITE_OK)
        code = bind_number(row, ++parameter, filter->has_limit, filter->limit_ts);
    for (size_t i = 0; i < sizeof lists / sizeof *lists && code == SQLITE_OK; i++)
        code = bind_text(row, ++parameter, lists[i]);
    if (code == SQLITE_OK)
        code = bind_number(row, ++parameter, filter->capture != 0, filter->capture);
    return code;
}

static const char *text_or_empty(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

enum store_status store_calls_each(struct store *store, const struct store_filter *filter,
                                   store_call_fn each, void *context, struct store_error *error)
{
    static const char query[] = "SELECT depth, name, module, self FROM fxt_call_tree(?, ?, ?, ?, ?,"
                                " ?, ?, ?, ?, ?, ?, ?, ?)";
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, query, -1, &row, NULL);
    bool more = true;

    if (code == SQLITE_OK)
        code = bind_filter(row, filter);
    while ((code == SQLITE_OK || code == SQLITE_ROW) && more &&
           (code = sqlite3_step(row)) == SQLITE_ROW)
        more = each(context, &(struct store_call){ .depth = (uint32_t)sqlite3_column_int64(row, 0),
                                                   .function = text_or_empty(row, 1),
                                                   .module = text_or_empty(row, 2),
                                                   .self = sqlite3_column_double(row, 3) });
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = store_fail_query(error, store->db, code);
    (void)sqlite3_finalize(row);
    return status;
}

enum store_status store_definitions_each(struct store *store, store_definition_fn each,
                                         void *context, struct store_error *error)
{
    static const char query[] =
        "SELECT f.text, coalesce(m.name, ''), p.text, g.line"
        " FROM (SELECT s.function, r.module_id, s.file, count(*) AS n,"
        "              min(coalesce(s.start_line, s.line)) AS line"
        "       FROM main.symbol AS s JOIN main.frame AS r ON r.id = s.frame_id"
        "       WHERE s.file IS NOT NULL GROUP BY 1, 2, 3) AS g"
        " JOIN main.string AS f ON f.id = g.function JOIN main.string AS p ON p.id = g.file"
        " LEFT JOIN main.module AS m ON m.id = g.module_id"
        " WHERE p.text <> '' ORDER BY n DESC, p.text, g.line";
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, query, -1, &row, NULL);
    bool more = true;

    while ((code == SQLITE_OK || code == SQLITE_ROW) && more &&
           (code = sqlite3_step(row)) == SQLITE_ROW)
        more = each(context, &(struct store_definition){ .function = text_or_empty(row, 0),
                                                         .module = text_or_empty(row, 1),
                                                         .file = text_or_empty(row, 2),
                                                         .line = sqlite3_column_int64(row, 3) });
    return store_finish_rows(store, row, code, error);
}
