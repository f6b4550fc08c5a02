/* report_filters.c - filters as SQL, and the samples that pass them.  */
#include <inttypes.h>
#include <string.h>

#include "libstore/reports/reports.h"

/* ---- Texts ---- */

void report_add_literal(struct base_text *sql, const char *text, size_t length)
{
    base_text_add(sql, "'", 1);
    for (const char *quote; (quote = memchr(text, '\'', length)) != NULL;) {
        size_t part = (size_t)(quote - text) + 1;

        base_text_add(sql, text, part);
        base_text_add(sql, "'", 1);
        text += part;
        length -= part;
    }
    base_text_add(sql, text, length);
    base_text_add(sql, "'", 1);
}

void report_add_string(struct base_text *sql, const char *text)
{
    report_add_literal(sql, text, strlen(text));
}

void report_add_needs(const struct report_query *query, struct base_text *sql, bool needs)
{
    if (query->plain && needs)
        base_text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
}

/* ---- Arguments ---- */

void report_add_arguments(const struct report_query *query, const char *per, struct base_text *sql)
{
    const struct store_filter *filter = &query->filter;
    const struct {
        const char *name, *text;
        bool is_number;
        int64_t number;
    } arguments[] = {
        { "type", filter->sample_type ? filter->sample_type : query->type.type, false, 0 },
        { "per", per, false, 0 },
        { "focus", filter->focus, false, 0 },
        { "ignore", filter->ignore, false, 0 },
        { "hide", filter->hide, false, 0 },
        { "show_from", filter->show_from, false, 0 },
        { "from_ts", NULL, filter->has_from, filter->from_ts },
        { "limit_ts", NULL, filter->has_limit, filter->limit_ts },
        { "pid", filter->pids, false, 0 },
        { "tid", filter->tids, false, 0 },
        { "comm", filter->comms, false, 0 },
        { "cpu", filter->cpus, false, 0 },
        { "capture", NULL, filter->capture != 0, filter->capture },
    };
    const char *separator = " WHERE ";

    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (!arguments[i].text && !arguments[i].is_number)
            continue;
        base_text_addf(sql, "%s%s = ", separator, arguments[i].name);
        if (arguments[i].text)
            report_add_string(sql, arguments[i].text);
        else
            base_text_addf(sql, "%" PRId64, arguments[i].number);
        separator = " AND ";
    }
}

/* ---- Conditions ---- */

void report_add_in(struct base_text *sql, const char *expression, const char *list, bool names)
{
    if (!list)
        return;
    base_text_addf(sql, " AND %s IN (", expression);
    for (const char *item = list;;) {
        size_t length = strcspn(item, ",");

        if (names)
            report_add_literal(sql, item, length);
        else
            base_text_add(sql, item, length);
        if (item[length] == '\0')
            break;
        base_text_adds(sql, ", ");
        item += length + 1;
    }
    base_text_adds(sql, ")");
}

static void add_stack(struct base_text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    base_text_addf(sql, " AND %sin_stack(s.callsite_id, ", prefix);
    report_add_string(sql, pattern);
    base_text_adds(sql, ")");
}

void report_add_shape(const struct report_query *query, struct base_text *sql)
{
    const char *patterns[] = { query->filter.hide, query->filter.show_from };

    for (size_t i = 0; i < 2; i++) {
        base_text_adds(sql, i ? ", " : "");
        if (patterns[i])
            report_add_string(sql, patterns[i]);
        else
            base_text_adds(sql, "NULL");
    }
}

void report_add_conditions(const struct report_query *query, struct base_text *sql,
                           unsigned filters, const char *ts)
{
    if (filters & STORE_FILTER_STACK) {
        add_stack(sql, "", query->filter.focus);
        add_stack(sql, "NOT ", query->filter.ignore);
    }
    if ((filters & STORE_FILTER_SHAPE) && (query->filter.hide || query->filter.show_from)) {
        base_text_adds(sql, " AND leaf(s.callsite_id, ");
        report_add_shape(query, sql);
        base_text_adds(sql, ") IS NOT NULL");
    }
    if ((filters & STORE_FILTER_TIME) && query->filter.has_from)
        base_text_addf(sql, " AND %s >= %" PRId64, ts, query->filter.from_ts);
    if ((filters & STORE_FILTER_TIME) && query->filter.has_limit)
        base_text_addf(sql, " AND %s < %" PRId64, ts, query->filter.limit_ts);
    if (filters & STORE_FILTER_PROCESS)
        report_add_in(sql, "p.pid", query->filter.pids, false);
    if (filters & STORE_FILTER_THREAD)
        report_add_in(sql, "th.tid", query->filter.tids, false);
    if (filters & STORE_FILTER_COMM)
        report_add_in(sql, filters & STORE_FILTER_THREAD ? "th.name" : "p.name",
                      query->filter.comms, true);
    if (filters & STORE_FILTER_CPU)
        report_add_in(sql, "s.cpu", query->filter.cpus, false);
    if (query->filter.capture)
        base_text_addf(sql, " AND p.capture_id = %" PRId64, query->filter.capture);
}

void report_add_limit(const struct report_query *query, struct base_text *sql)
{
    if (query->request.rows > 0)
        base_text_addf(sql, "\nLIMIT %" PRIu64, query->request.rows);
}

bool report_needs_samples(const struct report_query *query)
{
    return query->filter.has_from || query->filter.has_limit || query->filter.tids ||
           query->filter.comms || query->filter.cpus;
}

bool report_needs_functions(const struct report_query *query)
{
    return query->filter.focus || query->filter.ignore || query->filter.hide ||
           query->filter.show_from;
}

/* ---- Samples one by one ---- */

void report_add_type(const struct report_query *query, struct base_text *sql)
{
    if (query->type.kind == STORE_SAMPLES_CPU && !query->type.counted_id)
        base_text_addf(sql, " AND s.sample_type_id = %" PRId64, query->type.id);
}

static void add_cpu_samples(const struct report_query *query, struct base_text *sql, bool threads)
{
    base_text_addf(sql,
                   "\n  UNION ALL\n"
                   "  SELECT s.callsite_id, %s, count(*), sum(coalesce(s.weight, 0))\n"
                   "  FROM cpu_sample AS s JOIN thread AS th ON th.id = s.utid\n"
                   "  LEFT JOIN process AS p ON p.id = th.upid\n  WHERE 1",
                   threads ? "s.utid" : "th.upid");
    report_add_type(query, sql);
    report_add_conditions(query, sql, STORE_FILTER_ALL, "s.ts");
    base_text_adds(sql, "\n  GROUP BY 1, 2");
}

static void add_heap_events(const struct report_query *query, struct base_text *sql)
{
    bool in_use = query->type.kind == STORE_SAMPLES_IN_USE;
    bool freed = query->type.kind == STORE_SAMPLES_RELEASED;

    base_text_addf(sql,
                   "\n  UNION ALL\n"
                   "  SELECT coalesce(s.%scallsite_id, 0), s.upid, sum(s.objects), sum(s.bytes)\n"
                   "  FROM heap_event AS s JOIN process AS p ON p.id = s.upid\n  WHERE %s",
                   freed ? "free_" : "",
                   in_use  ? "s.freed = 0"
                   : freed ? "s.freed <> 0"
                           : "1");
    report_add_conditions(query, sql, STORE_FILTER_TIME | STORE_FILTER_PROCESS | STORE_FILTER_COMM,
                          freed ? "s.free_ts" : "s.ts");
    base_text_adds(sql, "\n  GROUP BY 1, 2");
}

/* What a value stands for is said by another one of the same sample.  */
static void add_profile_samples(const struct report_query *query, struct base_text *sql,
                                bool threads)
{
    base_text_addf(
        sql,
        "\n  UNION ALL\n"
        "  SELECT coalesce(s.callsite_id, 0), %s, sum(coalesce((\n"
        "      SELECT c.value FROM profile_type AS k JOIN profile_value AS c\n"
        "      ON c.profile_sample_id = s.id AND c.ordinal = k.counted_by\n"
        "      WHERE k.capture_id = s.capture_id AND k.ordinal = v.ordinal), 1)),\n"
        "    sum(v.value)\n"
        "  FROM profile_sample AS s JOIN profile_value AS v ON v.profile_sample_id = s.id\n"
        "  JOIN sample_type AS t ON t.id = v.sample_type_id\n"
        "  LEFT JOIN thread AS th ON th.id = s.utid LEFT JOIN process AS p ON p.id = "
        "s.upid\n  WHERE t.type = ",
        threads ? "s.utid" : "s.upid");
    report_add_string(sql, query->type.type);
    base_text_adds(sql, " AND t.unit = ");
    report_add_string(sql, query->type.unit);
    if (threads)
        base_text_adds(sql, " AND s.utid IS NOT NULL");
    report_add_conditions(
        query, sql,
        STORE_FILTER_STACK | STORE_FILTER_SHAPE | STORE_FILTER_PROCESS | STORE_FILTER_THREAD, "");
    report_add_in(sql, "iif(th.id IS NULL, p.name, th.name)", query->filter.comms, true);
    base_text_adds(sql, "\n  GROUP BY 1, 2");
}

void report_add_samples(const struct report_query *query, struct base_text *sql, bool threads)
{
    bool timed = query->filter.has_from || query->filter.has_limit;

    /* the names of the columns, and the rows where no kind of samples can pass */
    base_text_adds(sql, "  SELECT 0 AS callsite_id, 0 AS owner, 0 AS n, 0 AS value WHERE 0");
    if (query->type.kind == STORE_SAMPLES_CPU)
        add_cpu_samples(query, sql, threads);
    if (store_samples_are_heap(query->type.kind) && !threads && !query->filter.tids &&
        !query->filter.cpus)
        add_heap_events(query, sql);
    if (!timed && !query->filter.cpus) /* which profiles do not tell */
        add_profile_samples(query, sql, threads);
}
