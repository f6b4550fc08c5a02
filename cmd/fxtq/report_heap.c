/* report_heap.c - what was allocated, what is still in use, and what was for a moment.  */
#include <inttypes.h>
#include <string.h>

#include "cmd/fxtq/report.h"

/* What lives no longer than this was for a moment: nanoseconds.  */
#define TEMPORARY_NS 1000000

#define HEAP_FILTERS (FILTER_STACK | FILTER_TIME | FILTER_PROCESS | FILTER_COMM)

static const char *const heap_by[] = { "kind", "function", "file", "module", NULL };

/* event: the allocations that are looked at; peak(ts): when most was in use.  */
static void add_events(const struct request *request, struct text *sql)
{
    if (request->plain && request_needs_functions(request))
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    text_adds(sql,
              "WITH event AS MATERIALIZED (\n"
              "  SELECT s.*, c.end_ts FROM heap_event AS s JOIN process AS p ON p.id = s.upid\n"
              "  JOIN capture AS c ON c.id = p.capture_id\n  WHERE 1");
    request_add_conditions(request, sql, HEAP_FILTERS, "s.ts");
    text_adds(
        sql,
        "),\nstep(ts, change) AS (\n"
        "  SELECT ts, bytes FROM event WHERE ts IS NOT NULL UNION ALL\n"
        "  SELECT free_ts, -bytes FROM event WHERE freed <> 0 AND free_ts IS NOT NULL),\n"
        "running(ts, bytes) AS (SELECT ts, sum(change) OVER (ORDER BY ts) FROM step),\n"
        /* nearly equal sums are one height: reals are added in another order elsewhere */
        "peak(ts) AS (\n"
        "  SELECT ts FROM running WHERE bytes >= (SELECT max(bytes) FROM running) * 0.999999999\n"
        "  ORDER BY ts LIMIT 1)\n");
}

static const struct report_column *write_kinds(const struct request *request, struct text *sql)
{
    static const struct report_column columns[] = {
        { "what", REPORT_LABEL, 0 },    { "bytes", REPORT_BYTES, 0 },
        { "objects", REPORT_COUNT, 0 }, { "sampled", REPORT_COUNT, 0 },
        { "ts", REPORT_TIME, 0 },       { NULL, REPORT_TEXT, 0 }
    };
    static const struct {
        const char *what, *ts, *condition;
    } kinds[] = {
        { "allocated", "NULL", "1" },
        { "temporary", "NULL", "freed <> 0 AND free_ts - ts < 1000000" },
        { "at the peak", "(SELECT ts FROM peak)",
          "ts <= (SELECT ts FROM peak) AND (freed = 0 OR free_ts > (SELECT ts FROM peak))" },
        { "in use at the end", "NULL", "freed = 0" },
        { "  for less than 1 ms", "NULL", "freed = 0 AND end_ts - ts < 1000000" },
        { "  1 ms to 100 ms", "NULL",
          "freed = 0 AND end_ts - ts >= 1000000 AND end_ts - ts < 100000000" },
        { "  100 ms to 10 s", "NULL",
          "freed = 0 AND end_ts - ts >= 100000000 AND end_ts - ts < 10000000000" },
        { "  10 s and longer", "NULL", "freed = 0 AND end_ts - ts >= 10000000000" },
    };

    add_events(request, sql);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        text_addf(sql,
                  "%sSELECT '%s' AS what, coalesce(sum(bytes), 0.0) AS bytes, "
                  "coalesce(sum(objects), 0.0) AS objects,\n"
                  "       count(*) AS sampled, %s AS ts FROM event WHERE %s\n",
                  i ? "UNION ALL\n" : "", kinds[i].what, kinds[i].ts, kinds[i].condition);
    return columns;
}

static const struct report_column *write_sites(const struct request *request, struct text *sql)
{
    static const struct report_column columns[] = {
        { "in_use", REPORT_BYTES, 0 },    { "in_use_objects", REPORT_COUNT, 0 },
        { "allocated", REPORT_BYTES, 0 }, { "objects", REPORT_COUNT, 0 },
        { "at_peak", REPORT_BYTES, 0 },   { "temporary", REPORT_BYTES, 0 },
        { "oldest", REPORT_NS, 0 },       { "name", REPORT_TEXT, 0 },
        { NULL, REPORT_TEXT, 0 }
    };
    const char *name = strcmp(request->by, "file") == 0     ? "coalesce(f.file, '[unknown]')"
                       : strcmp(request->by, "module") == 0 ? "coalesce(f.module, '[unknown]')"
                                                            : "coalesce(f.name, '[unknown]')";

    add_events(request, sql);
    text_addf(
        sql,
        "SELECT coalesce(sum(bytes) FILTER (WHERE freed = 0), 0.0) AS in_use,\n"
        "       coalesce(sum(objects) FILTER (WHERE freed = 0), 0.0) AS in_use_objects,\n"
        "       sum(bytes) AS allocated, sum(objects) AS objects,\n"
        "       coalesce(sum(bytes) FILTER (WHERE ts <= (SELECT ts FROM peak) AND (freed = 0 OR\n"
        "           free_ts > (SELECT ts FROM peak))), 0.0) AS at_peak,\n"
        "       coalesce(sum(bytes) FILTER (WHERE freed <> 0 AND free_ts - ts < %d), 0.0) AS "
        "temporary,\n"
        "       max(end_ts - ts) FILTER (WHERE freed = 0) AS oldest, %s AS name\n"
        "FROM event LEFT JOIN callsite AS c ON c.id = event.callsite_id\n"
        "LEFT JOIN frame_name AS f ON f.id = c.frame_id\n"
        "GROUP BY 8 ORDER BY in_use DESC, allocated DESC, 8",
        TEMPORARY_NS, name);
    request_add_limit(request, sql);
    return columns;
}

static const struct report_column *write_heap(const struct request *request, struct text *sql)
{
    return strcmp(request->by, "kind") == 0 ? write_kinds(request, sql) : write_sites(request, sql);
}

const struct report report_heap = {
    .name = "heap",
    .summary = "memory: allocated, at the peak, temporary, in use and for how long",
    .by = heap_by,
    .filters = HEAP_FILTERS,
    .rows = 30,
    .write = write_heap,
};
