/* report_sql.c - filters as SQL.  */
#include <inttypes.h>

#include "cmd/fxtq/report.h"

static void add_argument(struct text *sql, const char **separator, const char *name,
                         const char *value)
{
    if (!value)
        return;
    text_addf(sql, "%s%s = ", *separator, name);
    text_add_literal(sql, value);
    *separator = " AND ";
}

static void add_number(struct text *sql, const char **separator, const char *name, bool given,
                       int64_t value)
{
    if (!given)
        return;
    text_addf(sql, "%s%s = %" PRId64, *separator, name, value);
    *separator = " AND ";
}

/* A list is "1, 2" or "'a', 'b'" here, and "1,2" or "a,b" as an argument.  */
static void add_list(struct text *sql, const char **separator, const char *name,
                     const struct text *list)
{
    if (!list->bytes)
        return;
    text_addf(sql, "%s%s = ", *separator, name);
    text_adds(sql, "'");
    for (const char *c = list->bytes; *c; c++) {
        bool doubled = c[0] == '\'' && c[1] == '\'';

        if (doubled)
            text_adds(sql, "''");
        else if (*c != '\'' && !(*c == ' ' && c > list->bytes && c[-1] == ','))
            text_add(sql, c, 1);
        c += doubled;
    }
    text_adds(sql, "'");
    *separator = " AND ";
}

void request_add_arguments(const struct request *request, struct text *sql)
{
    const char *separator = " WHERE ";

    add_argument(sql, &separator, "type", request->type);
    add_argument(sql, &separator, "per", request->by);
    add_argument(sql, &separator, "focus", request->focus);
    add_argument(sql, &separator, "ignore", request->ignore);
    add_argument(sql, &separator, "hide", request->hide);
    add_argument(sql, &separator, "show_from", request->show_from);
    add_number(sql, &separator, "from_ts", request->has_from, request->from_ts);
    add_number(sql, &separator, "limit_ts", request->has_limit, request->limit_ts);
    add_list(sql, &separator, "pid", &request->pids);
    add_list(sql, &separator, "tid", &request->tids);
    add_list(sql, &separator, "comm", &request->comms);
    add_list(sql, &separator, "cpu", &request->cpus);
    add_number(sql, &separator, "capture", request->capture != 0, request->capture);
}

static void add_stack(struct text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    text_addf(sql, " AND %sin_stack(s.callsite_id, ", prefix);
    text_add_literal(sql, pattern);
    text_adds(sql, ")");
}

static void add_in(struct text *sql, const char *expression, const struct text *list)
{
    if (list->bytes)
        text_addf(sql, " AND %s IN (%s)", expression, list->bytes);
}

void request_add_conditions(const struct request *request, struct text *sql, unsigned wanted,
                            const char *ts)
{
    if (wanted & FILTER_STACK) {
        add_stack(sql, "", request->focus);
        add_stack(sql, "NOT ", request->ignore);
    }
    if ((wanted & FILTER_TIME) && request->has_from)
        text_addf(sql, " AND %s >= %" PRId64, ts, request->from_ts);
    if ((wanted & FILTER_TIME) && request->has_limit)
        text_addf(sql, " AND %s < %" PRId64, ts, request->limit_ts);
    if (wanted & FILTER_PROCESS)
        add_in(sql, "p.pid", &request->pids);
    if (wanted & FILTER_THREAD)
        add_in(sql, "th.tid", &request->tids);
    if (wanted & FILTER_COMM)
        add_in(sql, wanted & FILTER_THREAD ? "th.name" : "p.name", &request->comms);
    if (wanted & FILTER_CPU)
        add_in(sql, "s.cpu", &request->cpus);
    if (request->capture)
        text_addf(sql, " AND p.capture_id = %" PRId64, request->capture);
}

void request_add_limit(const struct request *request, struct text *sql)
{
    if (request->rows > 0)
        text_addf(sql, "\nLIMIT %" PRIu64, request->rows);
}

bool request_needs_samples(const struct request *request)
{
    return request->has_from || request->has_limit || request->tids.bytes || request->comms.bytes ||
           request->cpus.bytes;
}

bool request_needs_functions(const struct request *request)
{
    return request->focus || request->ignore || request->hide || request->show_from;
}
