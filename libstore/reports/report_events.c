/* report_events.c - slices, the timeline, and what is wrong with captures.  */
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "libstore/reports/reports.h"

/* ---- slices ---- */

static void add_pattern(struct base_text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    base_text_addf(sql, " AND n.name %sREGEXP ", prefix);
    report_add_string(sql, pattern);
}

/* Slices that are, or lie in, one that matches.  */
static void add_show_from(struct base_text *sql, const char *pattern)
{
    if (!pattern)
        return;
    base_text_adds(
        sql, " AND s.id IN (WITH RECURSIVE below(id) AS (SELECT s.id FROM slice_data AS s JOIN "
             "event_name AS n ON n.id = s.name_id WHERE n.name REGEXP ");
    report_add_string(sql, pattern);
    base_text_adds(sql,
                   " UNION SELECT s.id FROM below JOIN slice_data AS s ON s.parent_id = below.id) "
                   "SELECT id FROM below)");
}

/* When what has not ended ends.  */
#define NEVER "9223372036854775807"

/* ran_there(id): slices whose thread ran on one of the CPUs that are looked at while they lasted:
 * more of its runs there began before the slice ended than ended before it began.  Slices do not
 * tell a CPU.  */
static void add_ran_there(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(sql,
                   "ran(utid, ts, stop) AS (\n"
                   "  SELECT utid, ts, iif(dur < 0, " NEVER ", ts + dur) FROM sched_slice AS s\n"
                   "  WHERE utid <> 0");
    report_add_in(sql, "s.cpu", query->filter.cpus, false);
    base_text_adds(
        sql, "),\n"
             /* in the order of time; at one time ends, then slices, then begins */
             "point(utid, ts, place, began, ended, id) AS (\n"
             "  SELECT utid, ts, 2, 1, 0, NULL FROM ran UNION ALL\n"
             "  SELECT utid, stop, 0, 0, 1, NULL FROM ran UNION ALL\n"
             "  SELECT t.utid, s.ts, 1, 0, NULL, s.id FROM slice_data AS s JOIN track AS t\n"
             "  ON t.id = s.track_id WHERE t.utid IS NOT NULL AND s.instant = 0 UNION ALL\n"
             "  SELECT t.utid, iif(s.dur < 0, " NEVER ", s.ts + max(s.dur, 1)), 1, NULL, 0, s.id\n"
             "  FROM slice_data AS s JOIN track AS t ON t.id = s.track_id\n"
             "  WHERE t.utid IS NOT NULL AND s.instant = 0),\n"
             "ran_there(id) AS MATERIALIZED (\n"
             "  SELECT id FROM (\n"
             "    SELECT id, iif(began IS NULL, total(began) OVER by_time, -total(ended) OVER "
             "by_time) AS runs\n"
             "    FROM point WINDOW by_time AS (PARTITION BY utid ORDER BY ts, place))\n"
             "  WHERE id IS NOT NULL GROUP BY id HAVING sum(runs) > 0),\n");
}

static const struct store_report_column slices_columns[] = {
    { "count", STORE_REPORT_COUNT, 0 },   { "total", STORE_REPORT_NS, 0 },
    { "min", STORE_REPORT_NS, 4 },        { "p50", STORE_REPORT_NS, 1 },
    { "p90", STORE_REPORT_NS, 3 },        { "p99", STORE_REPORT_NS, 0 },
    { "max", STORE_REPORT_NS, 0 },        { "open", STORE_REPORT_COUNT, 5 },
    { "category", STORE_REPORT_TEXT, 2 }, { "name", STORE_REPORT_TEXT, 0 },
    { NULL, STORE_REPORT_TEXT, 0 }
};

static void write_slices(const struct report_query *query, struct base_text *sql)
{
    struct report_query tracks = *query; /* a track has a capture, but not always a process */

    tracks.filter.capture = 0;
    if (query->plain)
        base_text_adds(sql, "-- Needs libfxtsql.so, or fxtq: percentile().\n");
    base_text_adds(sql, "WITH ");
    if (query->filter.cpus)
        add_ran_there(query, sql);
    base_text_adds(
        sql, "picked AS (\n"
             "  SELECT n.category, n.name, iif(s.dur < 0, NULL, s.dur) AS dur\n"
             "  FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id\n"
             "  JOIN track AS t ON t.id = s.track_id LEFT JOIN thread AS th ON th.id = t.utid\n"
             "  LEFT JOIN process AS p ON p.id = coalesce(t.upid, th.upid)\n"
             "  WHERE s.instant = 0");
    report_add_conditions(&tracks, sql,
                          STORE_FILTER_TIME | STORE_FILTER_PROCESS | STORE_FILTER_THREAD, "s.ts");
    report_add_in(sql, "iif(th.id IS NULL, p.name, th.name)", query->filter.comms, true);
    if (query->filter.capture)
        base_text_addf(sql, " AND t.capture_id = %" PRId64, query->filter.capture);
    if (query->filter.cpus)
        base_text_adds(sql, " AND s.id IN ran_there");
    add_pattern(sql, "", query->filter.focus);
    add_pattern(sql, "NOT ", query->filter.ignore);
    add_pattern(sql, "NOT ", query->filter.hide);
    add_show_from(sql, query->filter.show_from);
    base_text_adds(sql,
                   ")\nSELECT count(*) AS count, coalesce(sum(dur), 0) AS total, min(dur) AS min,\n"
                   "       percentile(dur, 50) AS p50, percentile(dur, 90) AS p90,\n"
                   "       percentile(dur, 99) AS p99, max(dur) AS max,\n"
                   "       count(*) - count(dur) AS open, category, name\n"
                   "FROM picked GROUP BY category, name ORDER BY total DESC, count DESC, category, "
                   "name");
    report_add_limit(query, sql);
}

static const struct report_lack slices_lacks[] = {
    { STORE_HAS_DURATIONS, 0, { .what = "no durations" } },
    { .lack = { .what = NULL } },
};

static const struct store_report_refusal slices_refusals[] = {
    { STORE_FILTER_CPU, NULL, STORE_HAS_DURATIONS, STORE_HAS_SWITCHES,
      "slices have no CPU, and the store has no context switches to find it" },
    { .filters = 0 },
};

static const struct report_by slices_rows[] = {
    { .columns = slices_columns, .write = write_slices, .lacks = slices_lacks },
};

const struct report report_slices = {
    .about = { .name = "slices",
               .summary = "durations by name: count, total and percentiles",
               .refusals = slices_refusals,
               .rows = 50 },
    .by = slices_rows,
};

/* ---- timeline ---- */

static const char *const timeline_by[] = { "thread", "cpu", "process", "all", NULL };

static const struct store_report_column timeline_columns[] = { { "lane", STORE_REPORT_TEXT, 0 },
                                                               { "bin", STORE_REPORT_COUNT, 0 },
                                                               { "ts", STORE_REPORT_TIME, 0 },
                                                               { "samples", STORE_REPORT_COUNT, 0 },
                                                               { NULL, STORE_REPORT_TEXT, 0 } };

#define JOIN_OWNERS                          \
    " JOIN thread AS th ON th.id = s.utid\n" \
    "  LEFT JOIN process AS p ON p.id = th.upid"

/* The samples of each thread, on each CPU if lanes are CPUs, by bin.  Threads are looked up for
 * each sample only if a filter needs that, and thread and bin are one number, which SQLite sorts in
 * a third of the time.  */
static void add_by_bin(const struct report_query *query, struct base_text *sql)
{
    const struct store_report_bins *bins = &query->bins;
    const struct store_filter *filter = &query->filter;
    struct report_query bounded = *query;

    bounded.filter.has_from = bounded.filter.has_limit = true;
    bounded.filter.from_ts = bins->from_ts;
    bounded.filter.limit_ts = report_limit_ts(query);
    base_text_addf(sql,
                   "placed(place, cpu, n) AS (\n"
                   "  SELECT s.utid * %zu + (s.ts - %" PRId64 ") / %" PRId64 ", %s, count(*)\n"
                   "  FROM cpu_sample AS s",
                   bins->count, bins->from_ts, bins->bin_ns,
                   query->by->has_cpus ? "s.cpu" : "NULL");
    if (filter->pids || filter->tids || filter->comms || filter->capture)
        base_text_adds(sql, JOIN_OWNERS);
    base_text_adds(sql, " WHERE 1");
    report_add_type(query, sql);
    report_add_conditions(&bounded, sql, STORE_FILTER_ALL, "s.ts");
    base_text_addf(sql,
                   "\n  GROUP BY 1%s),\n"
                   "by_bin(utid, bin, cpu, n) AS (\n"
                   "  SELECT place / %zu, place %% %zu, cpu, n FROM placed),\n",
                   query->by->has_cpus ? ", 2" : "", bins->count, bins->count);
}

static void write_timeline(const struct report_query *query, struct base_text *sql)
{
    const struct store_report_bins *bins = &query->bins;

    report_add_needs(query, sql, report_needs_functions(query));
    base_text_adds(sql, "WITH ");
    add_by_bin(query, sql);
    base_text_addf(sql,
                   "counted(lane, bin, samples) AS MATERIALIZED (\n"
                   "  SELECT %s, bin, sum(n) FROM by_bin AS s" JOIN_OWNERS "\n"
                   "  GROUP BY 1, 2),\n",
                   query->by->expression);
    base_text_adds(sql,
                   "lanes(lane, total) AS (SELECT lane, sum(samples) FROM counted GROUP BY 1 ORDER "
                   "BY 2 DESC, 1");
    report_add_limit(query, sql);
    base_text_addf(sql,
                   ")\nSELECT lane, bin, %" PRId64 " + bin * %" PRId64 " AS ts, samples\n"
                   "FROM lanes JOIN counted USING (lane) ORDER BY total DESC, lane, bin",
                   bins->from_ts, bins->bin_ns);
}

static const struct report_lack timeline_lacks[] = {
    { STORE_HAS_CPU_SAMPLES, 0, { .what = "no CPU samples" } },
    { .lack = { .what = NULL } },
};

static const struct store_report_refusal timeline_refusals[] = {
    { STORE_FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS,
      "samples have no CPU" },
    { .filters = 0 },
};

static const struct report_by timeline_rows[] = {
    { .columns = timeline_columns,
      .write = write_timeline,
      .lacks = timeline_lacks,
      .expression = "printf('%s %d/%d', coalesce(th.name, p.name, ''), p.pid, th.tid)" },
    { .columns = timeline_columns,
      .write = write_timeline,
      .lacks = timeline_lacks,
      .has_cpus = true,
      .expression = "printf('cpu %s', coalesce(s.cpu, 'unknown'))" },
    { .columns = timeline_columns,
      .write = write_timeline,
      .lacks = timeline_lacks,
      .expression = "printf('%s %d', coalesce(p.name, ''), p.pid)" },
    { .columns = timeline_columns,
      .write = write_timeline,
      .lacks = timeline_lacks,
      .expression = "'all'" },
};

const struct report report_timeline = {
    .about = { .name = "timeline",
               .summary = "samples over time, as a heat map",
               .by = timeline_by,
               .refusals = timeline_refusals,
               .rows = 40,
               .has_bins = true },
    .by = timeline_rows,
    .needs_type = true,
};

/* ---- damage ---- */

static const struct store_report_column damage_columns[] = {
    { "capture", STORE_REPORT_TEXT, 3 },     { "severity", STORE_REPORT_LABEL, 0 },
    { "kind", STORE_REPORT_LABEL, 0 },       { "count", STORE_REPORT_COUNT, 0 },
    { "bytes", STORE_REPORT_BYTES, 2 },      { "first_offset", STORE_REPORT_NUMBER, 1 },
    { "description", STORE_REPORT_TEXT, 0 }, { NULL, STORE_REPORT_TEXT, 0 }
};

/* Rows of the table loss: what their count is of.  */
static void write_loss_descriptions(struct base_text *sql)
{
    const struct profile_loss none = { .ring = 0 };
    struct profile_loss_cause cause;

    base_text_adds(sql, "CASE name");
    for (size_t i = 0; profile_loss_at(&none, i, &cause); i++) {
        char *when = sqlite3_mprintf(" WHEN %Q THEN %Q", cause.name, cause.description);

        sql->failed |= !when;
        base_text_adds(sql, when ? when : "");
        sqlite3_free(when);
    }
    base_text_adds(sql, " ELSE 'lost by the capture' END");
}

static void write_damage(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(
        sql,
        "SELECT c.name AS capture, severity, kind, count, bytes, first_offset, description FROM (\n"
        "  SELECT capture_id, iif(is_loss, 'damage', 'notice') AS severity, kind, count, bytes, "
        "first_offset, description,\n         2 - is_loss AS place FROM damage\n  UNION ALL\n"
        "  SELECT capture_id, 'lost', name, count, NULL, NULL,\n         ");
    write_loss_descriptions(sql);
    base_text_addf(
        sql,
        ", 0 FROM loss\n  UNION ALL\n"
        "  SELECT capture_id, 'lost', 'provider ' || provider_id, lost, NULL, NULL,\n"
        "         'times that a buffer of ' || name || ' filled up', 0 FROM provider WHERE lost > "
        "0)\nJOIN capture AS c ON c.id = capture_id WHERE %" PRId64 " IN (0, c.id)\n"
        "ORDER BY c.id, place, kind",
        query->filter.capture);
    report_add_limit(query, sql);
}

static const struct store_report_refusal damage_refusals[] = {
    { STORE_FILTER_ALL, NULL, 0, 0, "damage is that of a whole capture, which --capture chooses" },
    { .filters = 0 },
};

static const struct report_lack damage_lacks[] = {
    { .lack = { .what = NULL } },
};

static const struct report_by damage_rows[] = {
    { .columns = damage_columns, .write = write_damage, .lacks = damage_lacks },
};

const struct report report_damage = {
    .about = { .name = "damage",
               .summary = "losses, damage and notices of captures",
               .refusals = damage_refusals,
               .nothing = "nothing was lost, and nothing was odd" },
    .by = damage_rows,
};
