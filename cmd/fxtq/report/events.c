/* events.c - slices, the timeline, and what is wrong with captures.  */
#include <inttypes.h>
#include <string.h>

#include "base/width.h"
#include "cmd/fxtq/report/report.h"

/* ---- slices ---- */

static void add_pattern(struct base_text *sql, const char *prefix, const char *pattern)
{
    if (!pattern)
        return;
    text_addf(sql, " AND n.name %sREGEXP ", prefix);
    text_add_literal(sql, pattern);
}

/* Slices that are, or lie in, one that matches.  */
static void add_show_from(struct base_text *sql, const char *pattern)
{
    if (!pattern)
        return;
    text_adds(sql,
              " AND s.id IN (WITH RECURSIVE below(id) AS (SELECT s.id FROM slice_data AS s JOIN "
              "event_name AS n ON n.id = s.name_id WHERE n.name REGEXP ");
    text_add_literal(sql, pattern);
    text_adds(sql, " UNION SELECT s.id FROM below JOIN slice_data AS s ON s.parent_id = below.id) "
                   "SELECT id FROM below)");
}

/* When what has not ended ends.  */
#define NEVER "9223372036854775807"

/* ran_there(id): slices whose thread ran on one of the CPUs that are looked at while they lasted:
 * more of its runs there began before the slice ended than ended before it began.  Slices do not
 * tell a CPU.  */
static void add_ran_there(const struct request *request, struct base_text *sql)
{
    text_adds(sql, "ran(utid, ts, stop) AS (\n"
                   "  SELECT utid, ts, iif(dur < 0, " NEVER ", ts + dur) FROM sched_slice AS s\n"
                   "  WHERE utid <> 0");
    filters_add_in(sql, "s.cpu", &request->filters.cpus, false);
    text_adds(sql,
              "),\n"
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

static const struct report_column *write_slices(const struct request *request,
                                                struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "count", REPORT_COUNT, 0 }, { "total", REPORT_NS, 0 },   { "min", REPORT_NS, 4 },
        { "p50", REPORT_NS, 1 },      { "p90", REPORT_NS, 3 },     { "p99", REPORT_NS, 0 },
        { "max", REPORT_NS, 0 },      { "open", REPORT_COUNT, 5 }, { "category", REPORT_TEXT, 2 },
        { "name", REPORT_TEXT, 0 },   { NULL, REPORT_TEXT, 0 }
    };

    struct request tracks = *request; /* a track has a capture, but not always a process */

    tracks.filters.capture = 0;
    if (request->plain)
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq: percentile().\n");
    text_adds(sql, "WITH ");
    if (request->filters.cpus.bytes)
        add_ran_there(request, sql);
    text_adds(sql,
              "picked AS (\n"
              "  SELECT n.category, n.name, iif(s.dur < 0, NULL, s.dur) AS dur\n"
              "  FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id\n"
              "  JOIN track AS t ON t.id = s.track_id LEFT JOIN thread AS th ON th.id = t.utid\n"
              "  LEFT JOIN process AS p ON p.id = coalesce(t.upid, th.upid)\n"
              "  WHERE s.instant = 0");
    request_add_conditions(&tracks, sql, FILTER_TIME | FILTER_PROCESS | FILTER_THREAD, "s.ts");
    filters_add_in(sql, "iif(th.id IS NULL, p.name, th.name)", &request->filters.comms, true);
    if (request->filters.capture)
        text_addf(sql, " AND t.capture_id = %" PRId64, request->filters.capture);
    if (request->filters.cpus.bytes)
        text_adds(sql, " AND s.id IN ran_there");
    add_pattern(sql, "", request->filters.focus);
    add_pattern(sql, "NOT ", request->filters.ignore);
    add_pattern(sql, "NOT ", request->filters.hide);
    add_show_from(sql, request->filters.show_from);
    text_adds(sql, ")\nSELECT count(*) AS count, coalesce(sum(dur), 0) AS total, min(dur) AS min,\n"
                   "       percentile(dur, 50) AS p50, percentile(dur, 90) AS p90,\n"
                   "       percentile(dur, 99) AS p99, max(dur) AS max,\n"
                   "       count(*) - count(dur) AS open, category, name\n"
                   "FROM picked GROUP BY category, name ORDER BY total DESC, count DESC, category, "
                   "name");
    request_add_limit(request, sql);
    return columns;
}

static const char *lacks_slices(const struct request *request)
{
    return request_has(request, STORE_HAS_DURATIONS) ? NULL : "no durations";
}

static const struct report_refusal slices_refusals[] = {
    { FILTER_CPU, NULL, STORE_HAS_DURATIONS, STORE_HAS_SWITCHES,
      "slices have no CPU, and the store has no context switches to find it" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_slices = {
    .name = "slices",
    .summary = "durations by name: count, total and percentiles",
    .refusals = slices_refusals,
    .rows = 50,
    .write = write_slices,
    .lacks = lacks_slices,
};

/* ---- timeline ---- */

static const char *const timeline_by[] = { "thread", "cpu", "process", "all", NULL };

static int64_t from_of(const struct request *request)
{
    return request->filters.has_from && request->filters.from_ts > request->filters.start_ts
               ? request->filters.from_ts
               : request->filters.start_ts;
}

static int64_t limit_of(const struct request *request)
{
    int64_t behind = request->filters.end_ts < INT64_MAX ? request->filters.end_ts + 1 : INT64_MAX;

    return request->filters.has_limit && request->filters.limit_ts < behind
               ? request->filters.limit_ts
               : behind;
}

/* At least 1.  */
static int64_t bin_ns(const struct request *request)
{
    int64_t from = from_of(request), limit = limit_of(request);
    uint64_t span = limit > from ? (uint64_t)limit - (uint64_t)from : 1;
    uint64_t bins = request->bins;

    return (int64_t)((span + bins - 1) / bins);
}

static const struct report_column *write_timeline(const struct request *request,
                                                  struct base_text *sql)
{
    static const struct report_column columns[] = { { "lane", REPORT_TEXT, 0 },
                                                    { "bin", REPORT_COUNT, 0 },
                                                    { "ts", REPORT_TIME, 0 },
                                                    { "samples", REPORT_COUNT, 0 },
                                                    { NULL, REPORT_TEXT, 0 } };
    struct request bounded = *request;
    const char *lane = "printf('%s %d/%d', coalesce(th.name, p.name, ''), p.pid, th.tid)";

    if (strcmp(request->by, "cpu") == 0)
        lane = "printf('cpu %s', coalesce(s.cpu, 'unknown'))";
    else if (strcmp(request->by, "process") == 0)
        lane = "printf('%s %d', coalesce(p.name, ''), p.pid)";
    else if (strcmp(request->by, "all") == 0)
        lane = "'all'";
    if (request->plain && request_needs_functions(request))
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    bounded.filters.has_from = bounded.filters.has_limit = true;
    bounded.filters.from_ts = from_of(request);
    bounded.filters.limit_ts = limit_of(request);
    text_addf(sql,
              "WITH counted(lane, bin, samples) AS MATERIALIZED (\n"
              "  SELECT %s, (s.ts - %" PRId64 ") / %" PRId64 ", count(*)\n"
              "  FROM cpu_sample AS s JOIN thread AS th ON th.id = s.utid\n"
              "  LEFT JOIN process AS p ON p.id = th.upid WHERE 1",
              lane, bounded.filters.from_ts, bin_ns(request));
    request_add_conditions(&bounded, sql, FILTER_ALL, "s.ts");
    text_addf(sql, "\n  GROUP BY 1, 2),\n"
                   "lanes(lane, total) AS (SELECT lane, sum(samples) FROM counted GROUP BY 1 ORDER "
                   "BY 2 DESC, 1");
    request_add_limit(request, sql);
    text_addf(sql,
              ")\nSELECT lane, bin, %" PRId64 " + bin * %" PRId64 " AS ts, samples\n"
              "FROM lanes JOIN counted USING (lane) ORDER BY total DESC, lane, bin",
              bounded.filters.from_ts, bin_ns(request));
    return columns;
}

/* Eight heights, and nothing for nothing.  */
static const char *shade(int64_t samples, int64_t most)
{
    static const char *const shades[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

    if (samples <= 0 || most <= 0)
        return shades[0];
    return shades[1 + (samples - 1) * 8 / most];
}

/* One line of the heat map.  width: columns for the name, 0 for all it takes.  */
static void put_lane(struct cli_output *output, const char *lane, size_t width, const int64_t *bins,
                     size_t count, int64_t most)
{
    struct base_text line = { .bytes = NULL }, name = { .bytes = NULL };
    size_t head, tail = 0;

    for (size_t i = 0; i < count; i++)
        text_adds(&line, shade(bins[i], most));
    text_adds(&line, "│ ");
    text_add_visible(&name, lane, strlen(lane));
    head = name.length;
    if (width > 0)
        base_width_cut(name.bytes, name.length, width, &head, &tail);
    text_add(&line, name.bytes, head);
    if (head < name.length)
        text_adds(&line, "…");
    text_add(&line, name.bytes + name.length - tail, tail);
    text_adds(&line, "\n");
    (void)cli_output_write(output, line.bytes, line.length);
    free(line.bytes);
    free(name.bytes);
}

/* What the columns are.  */
static void put_foot(const struct request *request, struct cli_output *output, int64_t most)
{
    int64_t from = from_of(request), bin = bin_ns(request);
    double start = (double)from - (double)request->filters.start_ts;
    struct base_text foot = { .bytes = NULL };

    text_adds(&foot, "+");
    print_duration(&foot, start);
    text_adds(&foot, " to +");
    print_duration(&foot, start + (double)bin * (double)request->bins);
    text_adds(&foot, ", each column ");
    print_duration(&foot, (double)bin);
    text_addf(&foot, ", █ up to %s %s\n", cli_grouped((uint64_t)most),
              most == 1 ? "sample" : "samples");
    (void)cli_output_write(output, foot.bytes, foot.length);
    free(foot.bytes);
}

struct lanes {
    struct base_text names; /* NUL after each */
    int64_t *bins;          /* bin_count of each */
    size_t count;
    int64_t most;
};

static int collect(const struct request *request, sqlite3_stmt *rows, struct lanes *lanes)
{
    size_t last = 0; /* where the last name begins */
    int code;

    while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *lane = (const char *)sqlite3_column_text(rows, 0);
        int64_t bin = sqlite3_column_int64(rows, 1), samples = sqlite3_column_int64(rows, 3);

        lane = lane ? lane : "";
        if (lanes->count == 0 || strcmp(lanes->names.bytes + last, lane) != 0) {
            last = lanes->names.length;
            text_add(&lanes->names, lane, strlen(lane) + 1);
            lanes->count++;
            lanes->bins = reallocarray(lanes->bins, lanes->count, request->bins * sizeof(int64_t));
            if (!lanes->bins)
                return SQLITE_NOMEM;
            memset(lanes->bins + (lanes->count - 1) * request->bins, 0,
                   request->bins * sizeof(int64_t));
        }
        if (bin >= 0 && (uint64_t)bin < request->bins)
            lanes->bins[(lanes->count - 1) * request->bins + (size_t)bin] = samples;
        if (samples > lanes->most)
            lanes->most = samples;
    }
    return code;
}

static enum cli_exit show_timeline(const struct request *request, sqlite3_stmt *rows,
                                   struct cli_output *output, size_t columns, uint64_t *shown)
{
    struct lanes lanes = { .count = 0 };
    int code = collect(request, rows, &lanes);
    const char *name = lanes.names.bytes;
    size_t width = columns > request->bins + 12 ? columns - request->bins - 2 : 10;

    for (size_t i = 0; i < lanes.count && code == SQLITE_DONE; i++) {
        put_lane(output, name, columns > 0 ? width : 0, lanes.bins + i * request->bins,
                 request->bins, lanes.most);
        name += strlen(name) + 1;
    }
    if (code == SQLITE_DONE && lanes.count > 0)
        put_foot(request, output, lanes.most);
    *shown = lanes.count;
    free(lanes.names.bytes);
    free(lanes.bins);
    if (code == SQLITE_DONE)
        return CLI_OK;
    cli_error("%s", sqlite3_errmsg(request->db));
    return CLI_ENVIRONMENT;
}

static const char *lacks_timeline(const struct request *request)
{
    return request_has(request, STORE_HAS_CPU_SAMPLES) ? NULL : "no CPU samples";
}

static const struct report_refusal timeline_refusals[] = {
    { FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS, "samples have no CPU" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_timeline = {
    .name = "timeline",
    .summary = "samples over time, as a heat map",
    .by = timeline_by,
    .refusals = timeline_refusals,
    .rows = 40,
    .has_bins = true,
    .write = write_timeline,
    .lacks = lacks_timeline,
    .show = show_timeline,
};

/* ---- damage ---- */

static const struct report_column *write_damage(const struct request *request,
                                                struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "capture", REPORT_TEXT, 3 },     { "severity", REPORT_LABEL, 0 },
        { "kind", REPORT_LABEL, 0 },       { "count", REPORT_COUNT, 0 },
        { "bytes", REPORT_BYTES, 2 },      { "first_offset", REPORT_NUMBER, 1 },
        { "description", REPORT_TEXT, 0 }, { NULL, REPORT_TEXT, 0 }
    };

    text_addf(
        sql,
        "SELECT c.name AS capture, severity, kind, count, bytes, first_offset, description FROM (\n"
        "  SELECT capture_id, iif(is_loss, 'damage', 'notice') AS severity, kind, count, bytes, "
        "first_offset, description,\n         2 - is_loss AS place FROM damage\n  UNION ALL\n"
        "  SELECT capture_id, 'lost', name, count, NULL, NULL,\n"
        "         'records lost before the trace was written', 0 FROM loss\n  UNION ALL\n"
        "  SELECT capture_id, 'lost', 'provider ' || provider_id, lost, NULL, NULL,\n"
        "         'times that a buffer of ' || name || ' filled up', 0 FROM provider WHERE lost > "
        "0)\nJOIN capture AS c ON c.id = capture_id WHERE %" PRId64 " IN (0, c.id)\n"
        "ORDER BY c.id, place, kind",
        request->filters.capture);
    request_add_limit(request, sql);
    return columns;
}

static const struct report_refusal damage_refusals[] = {
    { FILTER_ALL, NULL, 0, 0, "damage is that of a whole capture, which --capture chooses" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_damage = {
    .name = "damage",
    .summary = "losses, damage and notices of captures",
    .refusals = damage_refusals,
    .write = write_damage,
};
