/* report_heap.c - what was allocated, what is still in use, and what was for a moment.  */
#include <inttypes.h>
#include <string.h>

#include "libstore/reports/reports.h"

#define HEAP_FILTERS                                                                      \
    (STORE_FILTER_STACK | STORE_FILTER_SHAPE | STORE_FILTER_TIME | STORE_FILTER_PROCESS | \
     STORE_FILTER_COMM)

static const char *const heap_by[] = { "kind", "function", "file", "module", NULL };

/* event: the allocations that are looked at; peak(capture_id, ts): when most was in use in each
 * capture.  What is in use in one is no business of another one, whatever the clocks say.  */
static void add_events(const struct report_query *query, struct base_text *sql)
{
    report_add_needs(query, sql, report_needs_functions(query));
    base_text_adds(sql,
                   "WITH event AS MATERIALIZED (\n"
                   "  SELECT s.*, c.id AS capture_id, c.start_ts, c.end_ts FROM heap_event AS s\n"
                   "  JOIN process AS p ON p.id = s.upid JOIN capture AS c ON c.id = p.capture_id\n"
                   "  WHERE 1");
    report_add_conditions(query, sql, HEAP_FILTERS, "s.ts");
    base_text_adds(
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
    base_text_adds(
        sql, "UNION ALL\nSELECT iif(count(DISTINCT t.upid) = 1, 'resident at most', 'resident at "
             "most, of one process'),\n"
             "       max(n.value) + 0.0, NULL, NULL, NULL, NULL\n"
             "FROM track AS t JOIN counter AS n ON n.track_id = t.id\n"
             "WHERE t.type = 'counter' AND t.category = 'memory' AND t.name GLOB "
             "'resident:peak_bytes*'\n"
             "  AND t.upid IN (SELECT upid FROM event)\nHAVING count(*) > 0\n");
}

static const struct store_report_column kind_columns[] = {
    { "what", STORE_REPORT_LABEL, 0 },    { "bytes", STORE_REPORT_BYTES, 0 },
    { "objects", STORE_REPORT_COUNT, 0 }, { "sampled", STORE_REPORT_COUNT, 2 },
    { "after", STORE_REPORT_NS, 1 },      { "ts", STORE_REPORT_HIDDEN, 0 },
    { NULL, STORE_REPORT_TEXT, 0 },
};

/* A time of the only capture; several captures have a peak each.  */
#define OF_ONE_CAPTURE(time) "iif(min(capture_id) = max(capture_id), max(" time "), NULL)"

static void write_kinds(const struct report_query *query, struct base_text *sql)
{
    static const struct {
        const char *what, *condition, *after, *ts;
    } kinds[] = {
        { "allocated", "1", "NULL", "NULL" },
        { "temporary", "temporary", "NULL", "NULL" },
        { "at the peak", "at_peak", OF_ONE_CAPTURE("peak_ts - start_ts"),
          OF_ONE_CAPTURE("peak_ts") },
        { "in use at the end", "freed = 0", "NULL", "NULL" },
        { "in use for less than 1 ms", "age < 1000000", "NULL", "NULL" },
        { "in use for 1 ms to 100 ms", "age >= 1000000 AND age < 100000000", "NULL", "NULL" },
        { "in use for 100 ms to 10 s", "age >= 100000000 AND age < 10000000000", "NULL", "NULL" },
        { "in use for 10 s and longer", "age >= 10000000000", "NULL", "NULL" },
    };

    add_events(query, sql);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        base_text_addf(sql,
                       "%sSELECT '%s' AS what, coalesce(sum(bytes), 0.0) AS bytes,\n"
                       "       coalesce(sum(objects), 0.0) AS objects, count(*) AS sampled,\n"
                       "       %s AS after,\n       %s AS ts\nFROM aged WHERE %s\n",
                       i ? "UNION ALL\n" : "", kinds[i].what, kinds[i].after, kinds[i].ts,
                       kinds[i].condition);
    add_resident(sql);
}

/* The function, file or module that allocated, after hide and show_from.  */
static void add_site(const struct report_query *query, struct base_text *sql)
{
    if (query->filter.hide || query->filter.show_from) {
        base_text_adds(sql, "coalesce(leaf(aged.callsite_id, ");
        report_add_shape(query, sql);
        base_text_addf(sql, ", '%s'), '[unknown]')", query->by_word);
        return;
    }
    base_text_addf(sql, "coalesce(nullif(%s, ''), '[unknown]')", query->by->expression);
}

static const struct store_report_column site_columns[] = {
    { "in_use", STORE_REPORT_BYTES, 0 },    { "in_use_objects", STORE_REPORT_COUNT, 4 },
    { "allocated", STORE_REPORT_BYTES, 0 }, { "objects", STORE_REPORT_COUNT, 5 },
    { "at_peak", STORE_REPORT_BYTES, 2 },   { "temporary", STORE_REPORT_BYTES, 3 },
    { "oldest", STORE_REPORT_NS, 1 },       { "name", STORE_REPORT_FUNCTION, 0 },
    { NULL, STORE_REPORT_TEXT, 0 },
};

static void write_sites(const struct report_query *query, struct base_text *sql)
{
    add_events(query, sql);
    base_text_adds(
        sql, "SELECT coalesce(sum(bytes) FILTER (WHERE freed = 0), 0.0) AS in_use,\n"
             "       coalesce(sum(objects) FILTER (WHERE freed = 0), 0.0) AS in_use_objects,\n"
             "       sum(bytes) AS allocated, sum(objects) AS objects,\n"
             "       coalesce(sum(bytes) FILTER (WHERE at_peak), 0.0) AS at_peak,\n"
             "       coalesce(sum(bytes) FILTER (WHERE temporary), 0.0) AS temporary,\n"
             "       max(age) AS oldest, ");
    add_site(query, sql);
    base_text_adds(sql, " AS name\n"
                        "FROM aged LEFT JOIN callsite AS c ON c.id = aged.callsite_id\n"
                        "LEFT JOIN frame_name AS f ON f.id = c.frame_id\n"
                        "GROUP BY 8 ORDER BY in_use DESC, allocated DESC, 8");
    report_add_limit(query, sql);
}

static const struct report_lack heap_lacks[] = {
    { STORE_HAS_ALLOCATIONS,
      REPORT_HAS_HEAP_PROFILES,
      { .what = "no allocations, but a profile of them", .instead = "top" } },
    { STORE_HAS_ALLOCATIONS, 0, { .what = "no allocations" } },
    { .lack = { .what = NULL } },
};

static const struct store_report_refusal heap_refusals[] = {
    { STORE_FILTER_THREAD, NULL, 0, 0, "allocations have no thread" },
    { STORE_FILTER_CPU, NULL, 0, 0, "allocations have no CPU" },
    { STORE_FILTER_TIME, NULL, STORE_HAS_ALLOCATIONS, STORE_HAS_ALLOCATION_TIMES,
      "allocations have no time" },
    { .filters = 0 },
};

static const struct report_by heap_rows[] = {
    { .columns = kind_columns, .write = write_kinds, .lacks = heap_lacks },
    { .columns = site_columns,
      .write = write_sites,
      .lacks = heap_lacks,
      .expression = "f.name",
      .is_function = true },
    { .columns = site_columns, .write = write_sites, .lacks = heap_lacks, .expression = "f.file" },
    { .columns = site_columns,
      .write = write_sites,
      .lacks = heap_lacks,
      .expression = "f.module" },
};

const struct report report_heap = {
    .about = { .name = "heap",
               .summary = "allocations, the peak, temporary blocks, and blocks in use, by age",
               .by = heap_by,
               .refusals = heap_refusals,
               .rows = 30,
               .has_names = true },
    .by = heap_rows,
};
