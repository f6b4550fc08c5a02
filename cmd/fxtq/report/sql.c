/* sql.c - filters as SQL.  */
#include <inttypes.h>
#include <string.h>

#include "cmd/fxtq/report/report.h"

void request_add_arguments(const struct request *request, struct base_text *sql)
{
    filters_add_arguments(&request->filters,
                          request->wanted_type ? request->wanted_type : request->type.type,
                          request->by, sql);
}

static void add_stack(struct base_text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    text_addf(sql, " AND %sin_stack(s.callsite_id, ", prefix);
    text_add_literal(sql, pattern);
    text_adds(sql, ")");
}

void request_add_shape(const struct request *request, struct base_text *sql)
{
    const char *patterns[] = { request->filters.hide, request->filters.show_from };

    for (size_t i = 0; i < 2; i++) {
        text_adds(sql, i ? ", " : "");
        if (patterns[i])
            text_add_literal(sql, patterns[i]);
        else
            text_adds(sql, "NULL");
    }
}

void request_add_conditions(const struct request *request, struct base_text *sql, unsigned wanted,
                            const char *ts)
{
    if (wanted & FILTER_STACK) {
        add_stack(sql, "", request->filters.focus);
        add_stack(sql, "NOT ", request->filters.ignore);
    }
    if ((wanted & FILTER_SHAPE) && (request->filters.hide || request->filters.show_from)) {
        text_adds(sql, " AND leaf(s.callsite_id, ");
        request_add_shape(request, sql);
        text_adds(sql, ") IS NOT NULL");
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

void request_add_limit(const struct request *request, struct base_text *sql)
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

/* ---- Samples one by one ---- */

static void add_cpu_samples(const struct request *request, struct base_text *sql, bool threads)
{
    text_addf(sql,
              "\n  UNION ALL\n"
              "  SELECT s.callsite_id, %s, count(*), sum(coalesce(s.weight, 0))\n"
              "  FROM cpu_sample AS s JOIN thread AS th ON th.id = s.utid\n"
              "  LEFT JOIN process AS p ON p.id = th.upid\n  WHERE 1",
              threads ? "s.utid" : "th.upid");
    request_add_conditions(request, sql, FILTER_ALL, "s.ts");
    text_adds(sql, "\n  GROUP BY 1, 2");
}

static void add_heap_events(const struct request *request, struct base_text *sql)
{
    bool in_use = request->type.kind == STORE_SAMPLES_IN_USE;
    bool freed = request->type.kind == STORE_SAMPLES_RELEASED;

    text_addf(sql,
              "\n  UNION ALL\n"
              "  SELECT coalesce(s.%scallsite_id, 0), s.upid, sum(s.objects), sum(s.bytes)\n"
              "  FROM heap_event AS s JOIN process AS p ON p.id = s.upid\n  WHERE %s",
              freed ? "free_" : "",
              in_use  ? "s.freed = 0"
              : freed ? "s.freed <> 0"
                      : "1");
    request_add_conditions(request, sql, FILTER_TIME | FILTER_PROCESS | FILTER_COMM,
                           freed ? "s.free_ts" : "s.ts");
    text_adds(sql, "\n  GROUP BY 1, 2");
}

/* What a value stands for is said by another one of the same sample.  */
static void add_profile_samples(const struct request *request, struct base_text *sql, bool threads)
{
    text_addf(sql,
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
    text_add_literal(sql, request->type.type);
    text_adds(sql, " AND t.unit = ");
    text_add_literal(sql, request->type.unit);
    if (threads)
        text_adds(sql, " AND s.utid IS NOT NULL");
    request_add_conditions(request, sql,
                           FILTER_STACK | FILTER_SHAPE | FILTER_PROCESS | FILTER_THREAD, "");
    filters_add_in(sql, "iif(th.id IS NULL, p.name, th.name)", &request->filters.comms, true);
    text_adds(sql, "\n  GROUP BY 1, 2");
}

void request_add_samples(const struct request *request, struct base_text *sql, bool threads)
{
    bool timed = request->filters.has_from || request->filters.has_limit;

    /* the names of the columns, and the rows where no kind of samples can pass */
    text_adds(sql, "  SELECT 0 AS callsite_id, 0 AS owner, 0 AS n, 0 AS value WHERE 0");
    if (request->type.kind == STORE_SAMPLES_CPU)
        add_cpu_samples(request, sql, threads);
    if (store_samples_are_heap(request->type.kind) && !threads && !request->filters.tids.bytes &&
        !request->filters.cpus.bytes)
        add_heap_events(request, sql);
    if (!timed && !request->filters.cpus.bytes) /* which profiles do not tell */
        add_profile_samples(request, sql, threads);
}

/* ---- Questions to the store ---- */

bool request_has(const struct request *request, unsigned content)
{
    unsigned found = 0;
    int code = store_has(request->db, request->filters.capture, content, &found);

    if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM) /* there may be enough the next time */
        cli_out_of_memory();
    return code != SQLITE_OK || found;
}
