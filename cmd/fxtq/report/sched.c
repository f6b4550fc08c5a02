/* sched.c - threads and CPUs: who ran, who waited, and for whom.  */
#include <inttypes.h>
#include <string.h>

#include "cmd/fxtq/report/report.h"

/* left_cpu(id): the waits of threads that had left one of the CPUs that are looked at.  A wait is
 * on no CPU; whoever records context switches on one sees those that begin there.  */
static void add_left_cpu(const struct request *request, struct base_text *sql)
{
    text_adds(
        sql,
        "turn(wait_id, utid, ts, cpu) AS (\n"
        "  SELECT NULL, utid, ts, cpu FROM sched_slice WHERE utid <> 0 UNION ALL\n"
        "  SELECT id, utid, ts, NULL FROM thread_wait),\n"
        "numbered AS (\n"
        "  SELECT *, count(cpu) OVER (PARTITION BY utid ORDER BY ts, wait_id) AS run FROM turn),\n"
        "left_cpu(id) AS MATERIALIZED (\n"
        "  SELECT wait_id FROM (\n"
        "    SELECT wait_id, max(cpu) OVER (PARTITION BY utid, run) AS cpu FROM numbered) AS s\n"
        "  WHERE wait_id IS NOT NULL");
    filters_add_in(sql, "s.cpu", &request->filters.cpus, false);
    text_adds(sql, "),\n");
}

/* name(utid, cpu, state, waker, dur): the rows of a table, cut to the time that is looked at.  */
static void add_intervals(const struct request *request, struct base_text *sql, const char *name,
                          const char *table, const char *columns, bool has_cpu)
{
    struct base_text start = { .bytes = NULL }, end = { .bytes = NULL };

    if (!has_cpu && request->filters.cpus.bytes)
        add_left_cpu(request, sql);
    text_adds(&start, "s.ts");
    text_adds(&end, "iif(s.dur < 0, c.end_ts, s.ts + s.dur)");
    if (request->filters.has_from)
        text_addf(&start, ", %" PRId64, request->filters.from_ts);
    if (request->filters.has_limit)
        text_addf(&end, ", %" PRId64, request->filters.limit_ts);
    text_addf(sql,
              "%s AS (\n  SELECT * FROM (\n    SELECT %s, %s%s%s - %s%s%s AS dur\n"
              "    FROM %s AS s LEFT JOIN thread AS th ON th.id = s.utid\n"
              "    LEFT JOIN process AS p ON p.id = th.upid\n"
              "    LEFT JOIN capture AS c ON c.id = coalesce(p.capture_id, %" PRId64
              ")\n    WHERE 1",
              name, columns, request->filters.has_limit ? "min(" : "", end.bytes,
              request->filters.has_limit ? ")" : "", request->filters.has_from ? "max(" : "",
              start.bytes, request->filters.has_from ? ")" : "", table,
              request->filters.capture ? request->filters.capture : 1);
    request_add_conditions(
        request, sql, FILTER_PROCESS | FILTER_THREAD | FILTER_COMM | (has_cpu ? FILTER_CPU : 0),
        "");
    if (!has_cpu && request->filters.cpus.bytes)
        text_adds(sql, " AND s.id IN left_cpu");
    text_adds(sql, ")\n  WHERE dur > 0)");
    free(start.bytes);
    free(end.bytes);
}

/* scheduled(id): the captures that have context switches.  What the others tell of running is the
 * time of their samples; so it is of all where stacks choose, which switches do not have.  */
static void add_scheduled(const struct request *request, struct base_text *sql)
{
    if (request_needs_functions(request)) {
        text_adds(sql, "scheduled(id) AS (SELECT NULL WHERE 0)");
        return;
    }
    text_adds(sql, "scheduled(id) AS MATERIALIZED (\n"
                   "  SELECT c.id FROM capture AS c WHERE EXISTS (\n"
                   "    SELECT 1 FROM sched_slice AS s JOIN thread AS th ON th.id = s.utid\n"
                   "    JOIN process AS p ON p.id = th.upid WHERE p.capture_id = c.id))");
}

/* ---- threads ---- */

/* A column of what the context switches tell: NULL where there are none, and where a filter chose
 * by the stacks that they do not have.  */
static void add_known(struct base_text *sql, const char *name, bool known)
{
    if (known)
        text_addf(sql, "       coalesce(%s, iif(scheduled.id, 0, NULL)) AS %s,\n", name, name);
    else
        text_addf(sql, "       NULL AS %s,\n", name);
}

/* Whether what the sample type counts is what column samples does.  */
static bool counts_samples(const struct request *request)
{
    return request->type.kind == STORE_SAMPLES_CPU ||
           (request->type.type && strcmp(request->type.type, "samples") == 0);
}

/* sampled(utid, samples, ns).  */
static void add_sampled_threads(const struct request *request, struct base_text *sql)
{
    const char *ns = request->type.kind == STORE_SAMPLES_CPU ? "sum(value)" : "NULL";
    struct request samples = *request;

    text_adds(sql, "sampled(utid, samples, ns) AS (\n");
    samples.by = "thread";
    if (!counts_samples(request) || request->untold) {
        text_adds(sql, "  SELECT NULL, NULL, NULL WHERE 0)");
    } else if (request->plain) {
        text_addf(sql, "  SELECT owner, sum(n), %s FROM (\n", ns);
        request_add_samples(&samples, sql, true);
        text_adds(sql, ")\n  GROUP BY 1)");
    } else {
        text_addf(sql, "  SELECT owner, count, %s FROM fxt_call_top",
                  request->type.kind == STORE_SAMPLES_CPU ? "total" : "NULL");
        request_add_arguments(&samples, sql);
        text_adds(sql, ")");
    }
}

static const struct report_column *write_threads(const struct request *request,
                                                 struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "pid", REPORT_NUMBER, 1 },    { "process", REPORT_TEXT, 2 },
        { "tid", REPORT_NUMBER, 0 },    { "thread", REPORT_TEXT, 0 },
        { "samples", REPORT_COUNT, 0 }, { "cpu_ns", REPORT_NS, 0 },
        { "running", REPORT_NS, 3 },    { "runnable", REPORT_NS, 4 },
        { "blocked", REPORT_NS, 0 },    { "switches", REPORT_COUNT, 5 },
        { NULL, REPORT_TEXT, 0 }
    };

    bool switches = !request_needs_functions(request);

    if (request->plain && request_needs_functions(request))
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    text_adds(sql, "WITH ");
    add_scheduled(request, sql);
    text_adds(sql, ",\n");
    add_intervals(request, sql, "run", "sched_slice", "s.utid", true);
    text_adds(sql, ",\n");
    add_intervals(request, sql, "wait", "thread_wait", "s.utid, s.state", false);
    text_adds(sql, ",\n");
    add_sampled_threads(request, sql);
    text_adds(sql,
              ",\nruns(utid, running, switches) AS (SELECT utid, sum(dur), count(*) FROM run GROUP "
              "BY 1),\n"
              "waits(utid, runnable, blocked) AS (\n"
              "  SELECT utid, sum(dur) FILTER (WHERE state IN ('R', 'W')),\n"
              "    sum(dur) FILTER (WHERE state NOT IN ('R', 'W'))\n  FROM wait GROUP BY 1)\n"
              "SELECT p.pid, p.name AS process, th.tid, th.name AS thread,\n"
              "       coalesce(samples, 0) AS samples,\n"
              "       iif(samples > 0, nullif(ns, 0), 0) AS cpu_ns,\n");
    add_known(sql, "running", switches);
    add_known(sql, "runnable", switches);
    add_known(sql, "blocked", switches);
    add_known(sql, "switches", switches);
    sql->length -= 2; /* the last comma */
    text_addf(sql,
              "\nFROM thread AS th LEFT JOIN process AS p ON p.id = th.upid\n"
              "LEFT JOIN scheduled ON scheduled.id = p.capture_id\n"
              "LEFT JOIN sampled ON sampled.utid = th.id LEFT JOIN runs ON runs.utid = th.id\n"
              "LEFT JOIN waits ON waits.utid = th.id\n"
              "WHERE (samples > 0%s)",
              switches ? " OR running > 0 OR runnable > 0 OR blocked > 0" : "");
    request_add_conditions(request, sql, FILTER_PROCESS | FILTER_THREAD | FILTER_COMM, "");
    text_adds(sql, "\nORDER BY cpu_ns DESC, samples DESC, running DESC, th.id");
    request_add_limit(request, sql);
    return columns;
}

static const char *lacks_threads(const struct request *request)
{
    if (request_has(request, STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES))
        return NULL;
    if (!request_has(request, STORE_HAS_PROFILES))
        return "no CPU samples and no context switches";
    if (!request_has(request, STORE_HAS_PROFILED_THREADS))
        return "no CPU samples, no context switches, and no threads in its profiles";
    return counts_samples(request)
               ? NULL
               : "no CPU samples and no context switches, but a profile: report top --by thread";
}

/* Samples have stacks, and may have no CPU; switches have a CPU, and no stacks.  */
static const struct report_refusal threads_refusals[] = {
    { FILTER_STACK | FILTER_SHAPE, NULL, STORE_HAS_SWITCHES,
      STORE_HAS_CPU_SAMPLES | STORE_HAS_PROFILED_THREADS, "context switches have no stack" },
    { FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      "samples have no CPU" },
    { FILTER_TIME, NULL, STORE_HAS_PROFILES, STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      "samples of profiles have no time" },
    { FILTER_CPU, NULL, STORE_HAS_PROFILES, STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      "samples of profiles have no CPU" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_threads = {
    .name = "threads",
    .summary = "samples and time on a CPU, runnable and blocked, by thread",
    .refusals = threads_refusals,
    .rows = 50,
    .write = write_threads,
    .lacks = lacks_threads,
};

/* ---- cpu ---- */

static const char *const cpu_by[] = { "cpu", "thread", "wait", NULL };

/* span(capture_id, ns): how long each capture that knows of CPUs lasted, of what is looked at.  A
 * sample stands for the time before it: where samples tell of running, the first one's counts.  */
static void add_span(const struct request *request, struct base_text *sql)
{
    text_adds(sql, "span(capture_id, ns) AS (\n  SELECT id, max(");
    if (request->filters.has_limit)
        text_addf(sql, "min(end_ts, %" PRId64 ")", request->filters.limit_ts);
    else
        text_adds(sql, "end_ts");
    if (request->filters.has_from)
        text_addf(sql, " - max(began, %" PRId64 "), 0)", request->filters.from_ts);
    else
        text_adds(sql, " - began, 0)");
    text_adds(sql, " FROM (\n    SELECT c.id, end_ts, iif(c.id IN scheduled, start_ts,\n"
                   "      min(start_ts, coalesce(s.ts - s.weight, start_ts))) AS began\n"
                   "    FROM capture AS c LEFT JOIN cpu_sample AS s\n"
                   "    ON s.id = c.first_sample_id AND c.sample_count > 0\n"
                   "    WHERE (sample_count > 0 OR c.id IN scheduled)");
    if (request->filters.capture)
        text_addf(sql, " AND c.id = %" PRId64, request->filters.capture);
    text_adds(sql, "))");
}

/* ran(cpu, utid, capture_id, ns, switches, samples, is_sampled): who ran where for how long, by the
 * context switches, or by the samples of a capture that has none of those.  held(key, ns): of the
 * CPU or thread, how much of its captures' time that takes, which is not more than there is: what
 * samples say of a short time may be.  */
static void add_ran(const struct request *request, struct base_text *sql, const char *key)
{
    if (request->plain && request_needs_functions(request))
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    text_adds(sql, "WITH ");
    add_scheduled(request, sql);
    text_adds(sql, ",\n");
    add_span(request, sql);
    text_adds(sql, ",\n");
    add_intervals(request, sql, "run", "sched_slice", "s.cpu, s.utid, c.id AS capture_id", true);
    text_adds(sql, ",\nsampled(cpu, utid, capture_id, samples, ns) AS (\n"
                   "  SELECT s.cpu, s.utid, p.capture_id, count(*), sum(s.weight)\n"
                   "  FROM cpu_sample AS s JOIN thread AS th ON th.id = s.utid\n"
                   "  LEFT JOIN process AS p ON p.id = th.upid WHERE 1");
    request_add_conditions(request, sql, FILTER_ALL, "s.ts");
    text_addf(sql,
              "\n  GROUP BY 1, 2),\n"
              "ran(cpu, utid, capture_id, ns, switches, samples, is_sampled) AS MATERIALIZED (\n"
              "  SELECT cpu, utid, capture_id, sum(dur), count(*), 0, 0 FROM run\n"
              "  WHERE utid <> 0%s GROUP BY 1, 2\n"
              "  UNION ALL\n"
              "  SELECT cpu, utid, capture_id, iif(capture_id IN scheduled, 0, ns),\n"
              "         iif(capture_id IN scheduled, 0, NULL), samples,\n"
              "         iif(capture_id IN scheduled, 0, 1)\n"
              "  FROM sampled),\n",
              request_needs_functions(request) ? " AND 0" : "");
    text_addf(sql,
              "held(key, ns) AS (\n"
              "  SELECT key, sum(min(part.ns, span.ns)) FROM (\n"
              "    SELECT %s AS key, capture_id, sum(ns) AS ns FROM ran GROUP BY 1, 2) AS part\n"
              "  JOIN span USING (capture_id) GROUP BY 1)\n",
              key);
}

/* The columns that both ways to add rows of ran up have, key among them; span is SQL.  */
static void add_running_columns(struct base_text *sql, const char *span, const char *key)
{
    text_addf(
        sql,
        "sum(ran.ns) AS running,\n"
        "       round(100.0 * max(held.ns) / nullif((%s), 0), 2) AS utilisation,\n"
        "       sum(switches) AS switches, sum(samples) AS samples, %s,\n"
        "       iif(max(is_sampled), iif(min(is_sampled), 'samples', 'switches and samples'),\n"
        "           'switches') AS source",
        span, key);
}

static const struct report_column *write_by_cpu(const struct request *request,
                                                struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "cpu", REPORT_NUMBER, 0 },          { "running", REPORT_NS, 0 },
        { "utilisation", REPORT_PERCENT, 0 }, { "switches", REPORT_COUNT, 2 },
        { "samples", REPORT_COUNT, 1 },       { "threads", REPORT_COUNT, 3 },
        { "source", REPORT_LABEL, 0 },        { NULL, REPORT_TEXT, 0 }
    };

    add_ran(request, sql, "cpu");
    text_adds(sql, "SELECT cpu, ");
    add_running_columns(sql, "SELECT sum(ns) FROM span", "count(DISTINCT utid) AS threads");
    text_adds(sql, "\nFROM ran LEFT JOIN held ON held.key = cpu\n"
                   "WHERE cpu IS NOT NULL GROUP BY cpu ORDER BY cpu");
    request_add_limit(request, sql);
    return columns;
}

static const struct report_column *write_by_thread(const struct request *request,
                                                   struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "running", REPORT_NS, 0 },     { "utilisation", REPORT_PERCENT, 0 },
        { "switches", REPORT_COUNT, 5 }, { "samples", REPORT_COUNT, 4 },
        { "cpus", REPORT_COUNT, 6 },     { "source", REPORT_LABEL, 2 },
        { "pid", REPORT_NUMBER, 1 },     { "process", REPORT_TEXT, 3 },
        { "tid", REPORT_NUMBER, 0 },     { "thread", REPORT_TEXT, 0 },
        { NULL, REPORT_TEXT, 0 }
    };

    add_ran(request, sql, "utid");
    text_adds(sql, "SELECT ");
    add_running_columns(sql, "SELECT ns FROM span WHERE capture_id = p.capture_id",
                        "count(DISTINCT cpu) AS cpus");
    text_adds(sql, ",\n       p.pid, p.name AS process, th.tid, th.name AS thread\n"
                   "FROM ran JOIN thread AS th ON th.id = ran.utid\n"
                   "LEFT JOIN process AS p ON p.id = th.upid\n"
                   "LEFT JOIN held ON held.key = ran.utid\n"
                   "GROUP BY ran.utid ORDER BY running DESC, samples DESC, ran.utid");
    request_add_limit(request, sql);
    return columns;
}

static const struct report_column *write_by_wait(const struct request *request,
                                                 struct base_text *sql)
{
    static const struct report_column columns[] = {
        { "waited", REPORT_NS, 0 },    { "times", REPORT_COUNT, 0 }, { "longest", REPORT_NS, 2 },
        { "state", REPORT_LABEL, 0 },  { "waker", REPORT_TEXT, 0 },  { "pid", REPORT_NUMBER, 1 },
        { "process", REPORT_TEXT, 3 }, { "tid", REPORT_NUMBER, 0 },  { "thread", REPORT_TEXT, 0 },
        { NULL, REPORT_TEXT, 0 }
    };

    text_adds(sql, "WITH ");
    add_intervals(request, sql, "wait", "thread_wait", "s.utid, s.state, s.waker_utid", false);
    text_adds(
        sql,
        "\nSELECT sum(dur) AS waited, count(*) AS times, max(dur) AS longest,\n"
        "       CASE state WHEN 'R' THEN 'runnable' WHEN 'W' THEN 'woken' WHEN 'S' THEN 'blocked'\n"
        "                  WHEN 'T' THEN 'suspended' WHEN 'Z' THEN 'dying' WHEN 'X' THEN 'dead'\n"
        "                  ELSE state END AS state,\n"
        "       w.name AS waker, p.pid, p.name AS process, th.tid, th.name AS thread\n"
        "FROM wait JOIN thread AS th ON th.id = wait.utid\n"
        "LEFT JOIN process AS p ON p.id = th.upid LEFT JOIN thread AS w ON w.id = wait.waker_utid\n"
        "GROUP BY wait.utid, wait.state, wait.waker_utid\n"
        "ORDER BY waited DESC, wait.utid, wait.state, wait.waker_utid");
    request_add_limit(request, sql);
    return columns;
}

static const struct report_column *write_cpu(const struct request *request, struct base_text *sql)
{
    if (strcmp(request->by, "thread") == 0)
        return write_by_thread(request, sql);
    return strcmp(request->by, "wait") == 0 ? write_by_wait(request, sql)
                                            : write_by_cpu(request, sql);
}

static const char *lacks_cpu(const struct request *request)
{
    if (strcmp(request->by, "wait") == 0)
        return request_has(request, STORE_HAS_WAITS) ? NULL : "no context switches";
    if (request_has(request, STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES))
        return NULL;
    if (request_has(request, STORE_HAS_CPU_SAMPLES))
        return strcmp(request->by, "cpu") == 0
                   ? "no CPUs in its samples, but threads: report cpu --by thread"
                   : NULL;
    return request_has(request, STORE_HAS_PROFILES)
               ? "no CPU samples and no context switches, but a profile: report top"
               : "no CPU samples and no context switches";
}

static const struct report_refusal cpu_refusals[] = {
    { FILTER_STACK | FILTER_SHAPE, "wait", 0, 0, "waits have no stack" },
    { FILTER_STACK | FILTER_SHAPE, NULL, STORE_HAS_SWITCHES, STORE_HAS_CPU_SAMPLES,
      "context switches have no stack" },
    { FILTER_STACK | FILTER_SHAPE, "cpu", STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS,
      "samples have no CPU" },
    { FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      "samples have no CPU" },
    { 0, NULL, 0, 0, NULL },
};

const struct report report_cpu = {
    .name = "cpu",
    .summary = "utilization of CPUs or threads; causes of waits (--by wait)",
    .by = cpu_by,
    .refusals = cpu_refusals,
    .rows = 50,
    .write = write_cpu,
    .lacks = lacks_cpu,
};
