/* sql.c - filters as SQL.  */
#include <inttypes.h>

#include "cmd/fxtq/report/report.h"

void request_add_arguments(const struct request *request, struct text *sql)
{
    filters_add_arguments(&request->filters, request->type, request->by, sql);
}

static void add_stack(struct text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    text_addf(sql, " AND %sin_stack(s.callsite_id, ", prefix);
    text_add_literal(sql, pattern);
    text_adds(sql, ")");
}

void request_add_conditions(const struct request *request, struct text *sql, unsigned wanted,
                            const char *ts)
{
    if (wanted & FILTER_STACK) {
        add_stack(sql, "", request->filters.focus);
        add_stack(sql, "NOT ", request->filters.ignore);
    }
    if ((wanted & FILTER_TIME) && request->filters.has_from)
        text_addf(sql, " AND %s >= %" PRId64, ts, request->filters.from_ts);
    if ((wanted & FILTER_TIME) && request->filters.has_limit)
        text_addf(sql, " AND %s < %" PRId64, ts, request->filters.limit_ts);
    if (wanted & FILTER_PROCESS)
        filters_add_in(sql, "p.pid", &request->filters.pids, false);
    if (wanted & FILTER_THREAD)
        filters_add_in(sql, "th.tid", &request->filters.tids, false);
    if (wanted & FILTER_COMM)
        filters_add_in(sql, wanted & FILTER_THREAD ? "th.name" : "p.name", &request->filters.comms,
                       true);
    if (wanted & FILTER_CPU)
        filters_add_in(sql, "s.cpu", &request->filters.cpus, false);
    if (request->filters.capture)
        text_addf(sql, " AND p.capture_id = %" PRId64, request->filters.capture);
}

void request_add_limit(const struct request *request, struct text *sql)
{
    if (request->rows > 0)
        text_addf(sql, "\nLIMIT %" PRIu64, request->rows);
}

bool request_needs_samples(const struct request *request)
{
    return request->filters.has_from || request->filters.has_limit || request->filters.tids.bytes ||
           request->filters.comms.bytes || request->filters.cpus.bytes;
}

bool request_needs_functions(const struct request *request)
{
    return request->filters.focus || request->filters.ignore || request->filters.hide ||
           request->filters.show_from;
}

bool request_finds(const struct request *request, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    bool found = sqlite3_prepare_v2(request->db, sql, -1, &statement, NULL) != SQLITE_OK ||
                 sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_int(statement, 0) != 0;

    (void)sqlite3_finalize(statement);
    return found;
}
