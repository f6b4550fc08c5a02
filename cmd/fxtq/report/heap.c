/* heap.c - what was allocated, what is still in use, and what was for a moment.  */
#include <inttypes.h>
#include <string.h>

#include "cmd/fxtq/report/report.h"

#define HEAP_FILTERS (FILTER_STACK | FILTER_SHAPE | FILTER_TIME | FILTER_PROCESS | FILTER_COMM)

static const char *const heap_by[] = { "kind", "function", "file", "module", NULL };

/* event: the allocations that are looked at; peak(capture_id, ts): when most was in use in each
 * capture.  What is in use in one is no business of another one, whatever the clocks say.  */
static void add_events(const struct request *request, struct base_text *sql)
{
    if (request->plain && request_needs_functions(request))
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    text_adds(sql, "WITH event AS MATERIALIZED (\n"
                   "  SELECT s.*, c.id AS capture_id, c.start_ts, c.end_ts FROM heap_event AS s\n"
                   "  JOIN process AS p ON p.id = s.upid JOIN capture AS c ON c.id = p.capture_id\n"
                   "  WHERE 1");
    request_add_conditions(request, sql, HEAP_FILTERS, "s.ts");
    text_adds(
        sql,
        "),\nstep(capture_id, ts, change) AS (\n"
        "  SELECT capture_id, ts, bytes FROM event WHERE ts IS NOT NULL UNION ALL\n"
        "  SELECT capture_id, free_ts, -bytes FROM event WHERE freed <> 0 AND free_ts IS NOT "
        "NULL),\n"
        "running(capture_id, ts, bytes) AS MATERIALIZED (\n"
        "  SELECT capture_id, ts, sum(change) OVER (PARTITION BY capture_id ORDER BY ts) FROM "
        "step),\n"
        "highest(capture_id, bytes) AS (SELECT capture_id, max(bytes) FROM running GROUP BY 1),\n"
        /* nearly equal sums are one height: reals are added in another order elsewhere */
        "peak(capture_id, ts) AS (\n"
        "  SELECT capture_id, min(ts) FROM running AS r JOIN highest AS h USING (capture_id)\n"
        "  WHERE r.bytes >= h.bytes * 0.999999999 GROUP BY 1),\n"
        "aged AS MATERIALIZED (\n"
        "  SELECT event.*, peak.ts AS peak_ts, freed <> 0 AND free_ts - event.ts < 1000000 AS "
        "temporary,\n"
        "         coalesce(event.ts <= peak.ts AND (freed = 0 OR free_ts > peak.ts), 0) AS "
        "at_peak,\n"
        "         iif(freed = 0, end_ts - event.ts, NULL) AS age\n"
        "  FROM event LEFT JOIN peak USING (capture_id))\n");
}

/* What the kernel said of the processes that allocated, if the capture asked it.  Their maxima need
 * not be of the same time, so they are not added up.  */
static void add_resident(struct base_text *sql)
{
    text_adds(sql,
              "UNION ALL\nSELECT iif(count(DISTINCT t.upid) = 1, 'resident at most', 'resident at "
              "most, of one process'),\n"
              "       max(n.value) + 0.0, NULL, NULL, NULL, NULL\n"
              "FROM track AS t JOIN counter AS n ON n.track_id = t.id\n"
              "WHERE t.type = 'counter' AND t.category = 'memory' AND t.name GLOB "
              "'resident:peak_bytes*'\n"
              "  AND t.upid IN (SELECT upid FROM event)\nHAVING count(*) > 0\n");
}

static const struct report_column *write_kinds(const struct request *request, struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "what", REPORT_LABEL, 0 },    { "bytes", REPORT_BYTES, 0 },
        { "objects", REPORT_COUNT, 0 }, { "sampled", REPORT_COUNT, 2 },
        { "after", REPORT_NS, 1 },      { "ts", REPORT_HIDDEN, 0 },
        { NULL, REPORT_TEXT, 0 }
    };
    static const struct {
        const char *what, *condition;
    } kinds[] = {
        { "allocated", "1" },
        { "temporary", "temporary" },
        { "at the peak", "at_peak" },
        { "in use at the end", "freed = 0" },
        { "in use for less than 1 ms", "age < 1000000" },
        { "in use for 1 ms to 100 ms", "age >= 1000000 AND age < 100000000" },
        { "in use for 100 ms to 10 s", "age >= 100000000 AND age < 10000000000" },
        { "in use for 10 s and longer", "age >= 10000000000" },
    };

    add_events(request, sql);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        /* of several captures each has its own */
        bool peak = strcmp(kinds[i].condition, "at_peak") == 0;

        text_addf(sql,
                  "%sSELECT '%s' AS what, coalesce(sum(bytes), 0.0) AS bytes,\n"
                  "       coalesce(sum(objects), 0.0) AS objects, count(*) AS sampled,\n"
                  "       %s AS after,\n       %s AS ts\nFROM aged WHERE %s\n",
                  i ? "UNION ALL\n" : "", kinds[i].what,
                  peak ? "iif(min(capture_id) = max(capture_id), max(peak_ts - start_ts), NULL)"
                       : "NULL",
                  peak ? "iif(min(capture_id) = max(capture_id), max(peak_ts), NULL)" : "NULL",
                  kinds[i].condition);
    }
    add_resident(sql);
    return columns;
}

/* What allocated, as --hide and --show-from leave its stack.  */
static void add_site(const struct request *request, struct base_text *sql)
{
    if (request->filters.hide || request->filters.show_from) {
        text_adds(sql, "coalesce(leaf(aged.callsite_id, ");
        request_add_shape(request, sql);
        text_addf(sql, ", '%s'), '[unknown]')", request->by);
        return;
    }
    text_addf(sql, "coalesce(nullif(f.%s, ''), '[unknown]')",
              strcmp(request->by, "function") == 0 ? "name" : request->by);
}

static const struct report_column *write_sites(const struct request *request, struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "in_use", REPORT_BYTES, 0 },    { "in_use_objects", REPORT_COUNT, 4 },
        { "allocated", REPORT_BYTES, 0 }, { "objects", REPORT_COUNT, 5 },
        { "at_peak", REPORT_BYTES, 2 },   { "temporary", REPORT_BYTES, 3 },
        { "oldest", REPORT_NS, 1 },       { "name", REPORT_FUNCTION, 0 },
        { NULL, REPORT_TEXT, 0 }
    };

    add_events(request, sql);
    text_adds(sql,
              "SELECT coalesce(sum(bytes) FILTER (WHERE freed = 0), 0.0) AS in_use,\n"
              "       coalesce(sum(objects) FILTER (WHERE freed = 0), 0.0) AS in_use_objects,\n"
              "       sum(bytes) AS allocated, sum(objects) AS objects,\n"
              "       coalesce(sum(bytes) FILTER (WHERE at_peak), 0.0) AS at_peak,\n"
              "       coalesce(sum(bytes) FILTER (WHERE temporary), 0.0) AS temporary,\n"
              "       max(age) AS oldest, ");
    add_site(request, sql);
    text_adds(sql, " AS name\n"
                   "FROM aged LEFT JOIN callsite AS c ON c.id = aged.callsite_id\n"
                   "LEFT JOIN frame_name AS f ON f.id = c.frame_id\n"
                   "GROUP BY 8 ORDER BY in_use DESC, allocated DESC, 8");
    request_add_limit(request, sql);
    return columns;
}

static const struct report_column *write_heap(const struct request *request, struct base_text *sql)
{
    return strcmp(request->by, "kind") == 0 ? write_kinds(request, sql) : write_sites(request, sql);
}

/* Profiles of allocations have their types.  */
static bool see_heap(void *context, const struct store_sample_type *type)
{
    bool *seen = context;

    *seen |= type->there && store_samples_are_heap(type->kind);
    return !*seen;
}

static const char *lacks_heap(const struct request *request)
{
    bool profiled = false;

    if (request_has(request, STORE_HAS_ALLOCATIONS))
        return NULL;
    (void)store_sample_types_each(request->db, request->filters.capture, see_heap, &profiled);
    return profiled ? "no allocations, but a profile of them: report top" : "no allocations";
}

static const struct report_refusal heap_refusals[] = {
    { FILTER_THREAD, NULL, 0, 0, "allocations have no thread" },
    { FILTER_CPU, NULL, 0, 0, "allocations have no CPU" },
    { FILTER_TIME, NULL, STORE_HAS_ALLOCATIONS, STORE_HAS_ALLOCATION_TIMES,
      "allocations have no time" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_heap = {
    .name = "heap",
    .summary = "allocations, the peak, temporary blocks, and blocks in use, by age",
    .by = heap_by,
    .refusals = heap_refusals,
    .rows = 30,
    .write = write_heap,
    .lacks = lacks_heap,
};
