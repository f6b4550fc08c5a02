/* report_sched.c - threads and CPUs: who ran, who waited, and for whom.  */
#include <inttypes.h>

#include "libstore/reports/reports.h"

enum { CPU_TIME = 1 }; /* sample_type.id */

/* left_cpu(id): the waits of threads that had left one of the CPUs that are looked at.  A wait is
 * on no CPU; whoever records context switches on one sees those that begin there.  */
static void add_left_cpu(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(
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
    report_add_in(sql, "s.cpu", query->filter.cpus, false);
    base_text_adds(sql, "),\n");
}

/* "max(expression, bound)", if there is a bound.  */
static void add_bounded(struct base_text *sql, const char *function, const char *expression,
                        bool has_bound, int64_t bound)
{
    if (has_bound)
        base_text_addf(sql, "%s(%s, %" PRId64 ")", function, expression, bound);
    else
        base_text_adds(sql, expression);
}

/* name(utid, cpu, state, waker, dur): the rows of a table, cut to the time that is looked at.  */
static void add_intervals(const struct report_query *query, struct base_text *sql, const char *name,
                          const char *table, const char *columns, bool has_cpu)
{
    const struct store_filter *filter = &query->filter;

    if (!has_cpu && filter->cpus)
        add_left_cpu(query, sql);
    base_text_addf(sql, "%s AS (\n  SELECT * FROM (\n    SELECT %s, ", name, columns);
    add_bounded(sql, "min", "iif(s.dur < 0, c.end_ts, s.ts + s.dur)", filter->has_limit,
                filter->limit_ts);
    base_text_adds(sql, " - ");
    add_bounded(sql, "max", "s.ts", filter->has_from, filter->from_ts);
    base_text_addf(sql,
                   " AS dur\n"
                   "    FROM %s AS s LEFT JOIN thread AS th ON th.id = s.utid\n"
                   "    LEFT JOIN process AS p ON p.id = th.upid\n"
                   "    LEFT JOIN capture AS c ON c.id = coalesce(p.capture_id, %" PRId64
                   ")\n    WHERE 1",
                   table, filter->capture ? filter->capture : 1);
    report_add_conditions(query, sql,
                          STORE_FILTER_PROCESS | STORE_FILTER_THREAD | STORE_FILTER_COMM |
                              (has_cpu ? STORE_FILTER_CPU : 0),
                          "");
    if (!has_cpu && filter->cpus)
        base_text_adds(sql, " AND s.id IN left_cpu");
    base_text_adds(sql, ")\n  WHERE dur > 0)");
}

/* scheduled(id): the captures that have context switches.  What the others tell of running is the
 * time of their samples; so it is of all where stacks choose, which switches do not have.  */
static void add_scheduled(const struct report_query *query, struct base_text *sql)
{
    if (report_needs_functions(query)) {
        base_text_adds(sql, "scheduled(id) AS (SELECT NULL WHERE 0)");
        return;
    }
    base_text_adds(sql, "scheduled(id) AS MATERIALIZED (\n"
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
        base_text_addf(sql, ",\n       coalesce(%s, iif(scheduled.id, 0, NULL)) AS %s", name, name);
    else
        base_text_addf(sql, ",\n       NULL AS %s", name);
}

/* sampled(utid, samples, ns).  */
static void add_sampled_threads(const struct report_query *query, struct base_text *sql)
{
    bool is_cpu = query->type.kind == STORE_SAMPLES_CPU && query->type.id == CPU_TIME;

    base_text_adds(sql, "sampled(utid, samples, ns) AS (\n");
    if (!report_counts_samples(query) || query->missing) {
        base_text_adds(sql, "  SELECT NULL, NULL, NULL WHERE 0)");
    } else if (query->plain) {
        base_text_addf(sql, "  SELECT owner, sum(n), %s FROM (\n", is_cpu ? "sum(value)" : "NULL");
        report_add_samples(query, sql, true);
        base_text_adds(sql, ")\n  GROUP BY 1)");
    } else {
        base_text_addf(sql, "  SELECT owner, count, %s FROM fxt_call_top",
                       is_cpu ? "total" : "NULL");
        report_add_arguments(query, "thread", sql);
        base_text_adds(sql, ")");
    }
}

static const struct store_report_column threads_columns[] = {
    { "pid", STORE_REPORT_NUMBER, 1 },    { "process", STORE_REPORT_TEXT, 2 },
    { "tid", STORE_REPORT_NUMBER, 0 },    { "thread", STORE_REPORT_TEXT, 0 },
    { "samples", STORE_REPORT_COUNT, 0 }, { "cpu_ns", STORE_REPORT_NS, 0 },
    { "running", STORE_REPORT_NS, 3 },    { "runnable", STORE_REPORT_NS, 4 },
    { "blocked", STORE_REPORT_NS, 0 },    { "switches", STORE_REPORT_COUNT, 5 },
    { NULL, STORE_REPORT_TEXT, 0 },
};

static void write_threads(const struct report_query *query, struct base_text *sql)
{
    bool switches = !report_needs_functions(query);

    report_add_needs(query, sql, report_needs_functions(query));
    base_text_adds(sql, "WITH ");
    add_scheduled(query, sql);
    base_text_adds(sql, ",\n");
    add_intervals(query, sql, "run", "sched_slice", "s.utid", true);
    base_text_adds(sql, ",\n");
    add_intervals(query, sql, "wait", "thread_wait", "s.utid, s.state", false);
    base_text_adds(sql, ",\n");
    add_sampled_threads(query, sql);
    base_text_adds(
        sql, ",\nruns(utid, running, switches) AS (SELECT utid, sum(dur), count(*) FROM run GROUP "
             "BY 1),\n"
             "waits(utid, runnable, blocked) AS (\n"
             "  SELECT utid, sum(dur) FILTER (WHERE state IN ('R', 'W')),\n"
             "    sum(dur) FILTER (WHERE state NOT IN ('R', 'W'))\n  FROM wait GROUP BY 1)\n"
             "SELECT p.pid, p.name AS process, th.tid, th.name AS thread,\n"
             "       coalesce(samples, 0) AS samples,\n"
             "       iif(samples > 0, nullif(ns, 0), 0) AS cpu_ns");
    add_known(sql, "running", switches);
    add_known(sql, "runnable", switches);
    add_known(sql, "blocked", switches);
    add_known(sql, "switches", switches);
    base_text_addf(sql,
                   "\nFROM thread AS th LEFT JOIN process AS p ON p.id = th.upid\n"
                   "LEFT JOIN scheduled ON scheduled.id = p.capture_id\n"
                   "LEFT JOIN sampled ON sampled.utid = th.id LEFT JOIN runs ON runs.utid = th.id\n"
                   "LEFT JOIN waits ON waits.utid = th.id\n"
                   "WHERE (samples > 0%s)",
                   switches ? " OR running > 0 OR runnable > 0 OR blocked > 0" : "");
    report_add_conditions(query, sql,
                          STORE_FILTER_PROCESS | STORE_FILTER_THREAD | STORE_FILTER_COMM, "");
    base_text_adds(sql, "\nORDER BY cpu_ns DESC, samples DESC, running DESC, th.id");
    report_add_limit(query, sql);
}

static const struct report_lack threads_lacks[] = {
    { STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES | STORE_HAS_PROFILES,
      0,
      { .what = "no CPU samples and no context switches" } },
    { STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES | STORE_HAS_PROFILED_THREADS,
      0,
      { .what = "no CPU samples, no context switches, and no threads in its profiles" } },
    { STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES | REPORT_COUNTS_SAMPLES,
      0,
      { .what = "no CPU samples and no context switches, but a profile",
        .instead = "top",
        .instead_by = "thread" } },
    { .lack = { .what = NULL } },
};

/* Samples have stacks, and may have no CPU; switches have a CPU, and no stacks.  */
static const struct store_report_refusal threads_refusals[] = {
    { STORE_FILTER_STACK | STORE_FILTER_SHAPE, NULL, STORE_HAS_SWITCHES,
      STORE_HAS_CPU_SAMPLES | STORE_HAS_PROFILED_THREADS, "context switches have no stack" },
    { STORE_FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      "samples have no CPU" },
    { STORE_FILTER_TIME, NULL, STORE_HAS_PROFILES, STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      "samples of profiles have no time" },
    { STORE_FILTER_CPU, NULL, STORE_HAS_PROFILES, STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      "samples of profiles have no CPU" },
    { .filters = 0 },
};

static const struct report_by threads_rows[] = {
    { .columns = threads_columns,
      .write = write_threads,
      .lacks = threads_lacks,
      .is_thread = true },
};

const struct report report_threads = {
    .about = { .name = "threads",
               .summary = "samples and time on a CPU, runnable and blocked, by thread",
               .refusals = threads_refusals,
               .rows = 50 },
    .by = threads_rows,
    .needs_type = true,
};

/* ---- cpu ---- */

static const char *const cpu_by[] = { "cpu", "thread", "wait", NULL };

/* span(capture_id, ns): how long each capture that knows of CPUs lasted, of what is looked at.  A
 * sample stands for the time before it: where samples tell of running, the first one's counts.  */
static void add_span(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(sql, "span(capture_id, ns) AS (\n  SELECT id, max(");
    if (query->filter.has_limit)
        base_text_addf(sql, "min(end_ts, %" PRId64 ")", query->filter.limit_ts);
    else
        base_text_adds(sql, "end_ts");
    if (query->filter.has_from)
        base_text_addf(sql, " - max(began, %" PRId64 "), 0)", query->filter.from_ts);
    else
        base_text_adds(sql, " - began, 0)");
    base_text_adds(sql, " FROM (\n    SELECT c.id, end_ts, iif(c.id IN scheduled, start_ts,\n"
                        "      min(start_ts, coalesce(s.ts - s.weight, start_ts))) AS began\n"
                        "    FROM capture AS c LEFT JOIN cpu_sample AS s\n"
                        "    ON s.id = c.first_sample_id AND c.sample_count > 0\n"
                        "    AND s.sample_type_id = 1\n"
                        "    WHERE (c.id IN scheduled OR EXISTS (SELECT 1 FROM callsite_sum AS t\n"
                        "      WHERE t.capture_id = c.id AND t.sample_type_id = 1))");
    if (query->filter.capture)
        base_text_addf(sql, " AND c.id = %" PRId64, query->filter.capture);
    base_text_adds(sql, "))");
}

/* ran(cpu, utid, capture_id, ns, switches, samples, is_sampled): who ran where for how long, by the
 * context switches, or by the samples of a capture that has none of those.  held(key, ns): of the
 * CPU or thread, how much of its captures' time that takes, which is not more than there is: what
 * samples say of a short time may be.  */
static void add_ran(const struct report_query *query, struct base_text *sql, const char *key)
{
    report_add_needs(query, sql, report_needs_functions(query));
    base_text_adds(sql, "WITH ");
    add_scheduled(query, sql);
    base_text_adds(sql, ",\n");
    add_span(query, sql);
    base_text_adds(sql, ",\n");
    add_intervals(query, sql, "run", "sched_slice", "s.cpu, s.utid, c.id AS capture_id", true);
    base_text_adds(sql, ",\nsampled(cpu, utid, capture_id, samples, ns) AS (\n"
                        "  SELECT s.cpu, s.utid, p.capture_id, count(*), sum(s.weight)\n"
                        "  FROM cpu_sample AS s JOIN thread AS th ON th.id = s.utid\n"
                        "  LEFT JOIN process AS p ON p.id = th.upid\n"
                        "  WHERE s.sample_type_id = 1");
    report_add_conditions(query, sql, STORE_FILTER_ALL, "s.ts");
    base_text_addf(
        sql,
        "\n  GROUP BY 1, 2),\n"
        "ran(cpu, utid, capture_id, ns, switches, samples, is_sampled) AS MATERIALIZED (\n"
        "  SELECT cpu, utid, capture_id, sum(dur), count(*), 0, 0 FROM run\n"
        "  WHERE utid <> 0%s GROUP BY 1, 2\n"
        "  UNION ALL\n"
        "  SELECT cpu, utid, capture_id, iif(capture_id IN scheduled, 0, ns),\n"
        "         iif(capture_id IN scheduled, 0, NULL), samples,\n"
        "         iif(capture_id IN scheduled, 0, 1)\n"
        "  FROM sampled),\n",
        report_needs_functions(query) ? " AND 0" : "");
    base_text_addf(
        sql,
        "held(key, ns) AS (\n"
        "  SELECT key, sum(min(part.ns, span.ns)) FROM (\n"
        "    SELECT %s AS key, capture_id, sum(ns) AS ns FROM ran GROUP BY 1, 2) AS part\n"
        "  JOIN span USING (capture_id) GROUP BY 1)\n",
        key);
}

/* The columns that both ways to add rows of ran up have, key among them; span is SQL.  */
static void add_running_columns(struct base_text *sql, const char *span, const char *key)
{
    base_text_addf(
        sql,
        "sum(ran.ns) AS running,\n"
        "       round(100.0 * max(held.ns) / nullif((%s), 0), 2) AS utilisation,\n"
        "       sum(switches) AS switches, sum(samples) AS samples, %s,\n"
        "       iif(max(is_sampled), iif(min(is_sampled), 'samples', 'switches and samples'),\n"
        "           'switches') AS source",
        span, key);
}

static const struct store_report_column by_cpu_columns[] = {
    { "cpu", STORE_REPORT_NUMBER, 0 },          { "running", STORE_REPORT_NS, 0 },
    { "utilisation", STORE_REPORT_PERCENT, 0 }, { "switches", STORE_REPORT_COUNT, 2 },
    { "samples", STORE_REPORT_COUNT, 1 },       { "threads", STORE_REPORT_COUNT, 3 },
    { "source", STORE_REPORT_LABEL, 0 },        { NULL, STORE_REPORT_TEXT, 0 }
};

static void write_by_cpu(const struct report_query *query, struct base_text *sql)
{
    add_ran(query, sql, "cpu");
    base_text_adds(sql, "SELECT cpu, ");
    add_running_columns(sql, "SELECT sum(ns) FROM span", "count(DISTINCT utid) AS threads");
    base_text_adds(sql, "\nFROM ran LEFT JOIN held ON held.key = cpu\n"
                        "WHERE cpu IS NOT NULL GROUP BY cpu ORDER BY cpu");
    report_add_limit(query, sql);
}

static const struct store_report_column by_thread_columns[] = {
    { "running", STORE_REPORT_NS, 0 },     { "utilisation", STORE_REPORT_PERCENT, 0 },
    { "switches", STORE_REPORT_COUNT, 5 }, { "samples", STORE_REPORT_COUNT, 4 },
    { "cpus", STORE_REPORT_COUNT, 6 },     { "source", STORE_REPORT_LABEL, 2 },
    { "pid", STORE_REPORT_NUMBER, 1 },     { "process", STORE_REPORT_TEXT, 3 },
    { "tid", STORE_REPORT_NUMBER, 0 },     { "thread", STORE_REPORT_TEXT, 0 },
    { NULL, STORE_REPORT_TEXT, 0 }
};

static void write_by_thread(const struct report_query *query, struct base_text *sql)
{
    add_ran(query, sql, "utid");
    base_text_adds(sql, "SELECT ");
    add_running_columns(sql, "SELECT ns FROM span WHERE capture_id = p.capture_id",
                        "count(DISTINCT cpu) AS cpus");
    base_text_adds(sql, ",\n       p.pid, p.name AS process, th.tid, th.name AS thread\n"
                        "FROM ran JOIN thread AS th ON th.id = ran.utid\n"
                        "LEFT JOIN process AS p ON p.id = th.upid\n"
                        "LEFT JOIN held ON held.key = ran.utid\n"
                        "GROUP BY ran.utid ORDER BY running DESC, samples DESC, ran.utid");
    report_add_limit(query, sql);
}

static const struct store_report_column by_wait_columns[] = {
    { "waited", STORE_REPORT_NS, 0 },    { "times", STORE_REPORT_COUNT, 0 },
    { "longest", STORE_REPORT_NS, 2 },   { "state", STORE_REPORT_LABEL, 0 },
    { "waker", STORE_REPORT_TEXT, 0 },   { "pid", STORE_REPORT_NUMBER, 1 },
    { "process", STORE_REPORT_TEXT, 3 }, { "tid", STORE_REPORT_NUMBER, 0 },
    { "thread", STORE_REPORT_TEXT, 0 },  { NULL, STORE_REPORT_TEXT, 0 }
};

static void write_by_wait(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(sql, "WITH ");
    add_intervals(query, sql, "wait", "thread_wait", "s.utid, s.state, s.waker_utid", false);
    base_text_adds(
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
    report_add_limit(query, sql);
}

/* Reports that samples of events have no data for.  */
#define EVENTS_ALONE                                                                           \
    {                                                                                          \
        STORE_HAS_CPU_TIME | STORE_HAS_SWITCHES, STORE_HAS_CPU_SAMPLES,                        \
        {                                                                                      \
            .what = "no samples of CPU time and no context switches, but samples of an event", \
            .instead = "top"                                                                   \
        }                                                                                      \
    }

static const struct report_lack by_cpu_lacks[] = {
    EVENTS_ALONE,
    { STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      STORE_HAS_CPU_SAMPLES,
      { .what = "no CPUs in its samples, but threads", .instead = "cpu", .instead_by = "thread" } },
    { STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      STORE_HAS_PROFILES,
      { .what = "no CPU samples and no context switches, but a profile", .instead = "top" } },
    { STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      0,
      { .what = "no CPU samples and no context switches" } },
    { .lack = { .what = NULL } },
};

static const struct report_lack by_thread_lacks[] = {
    EVENTS_ALONE,
    { STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      STORE_HAS_PROFILES,
      { .what = "no CPU samples and no context switches, but a profile", .instead = "top" } },
    { STORE_HAS_CPU_SAMPLES | STORE_HAS_SWITCHES,
      0,
      { .what = "no CPU samples and no context switches" } },
    { .lack = { .what = NULL } },
};

static const struct report_lack by_wait_lacks[] = {
    { STORE_HAS_WAITS, 0, { .what = "no context switches" } },
    { .lack = { .what = NULL } },
};

static const struct store_report_refusal cpu_refusals[] = {
    { STORE_FILTER_STACK | STORE_FILTER_SHAPE, "wait", 0, 0, "waits have no stack" },
    { STORE_FILTER_STACK | STORE_FILTER_SHAPE, NULL, STORE_HAS_SWITCHES, STORE_HAS_CPU_SAMPLES,
      "context switches have no stack" },
    { STORE_FILTER_STACK | STORE_FILTER_SHAPE, "cpu", STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS,
      "samples have no CPU" },
    { STORE_FILTER_CPU, NULL, STORE_HAS_CPU_SAMPLES, STORE_HAS_SAMPLED_CPUS | STORE_HAS_SWITCHES,
      "samples have no CPU" },
    { .filters = 0 },
};

static const struct report_by cpu_rows[] = {
    { .columns = by_cpu_columns, .write = write_by_cpu, .lacks = by_cpu_lacks },
    { .columns = by_thread_columns, .write = write_by_thread, .lacks = by_thread_lacks },
    { .columns = by_wait_columns, .write = write_by_wait, .lacks = by_wait_lacks },
};

const struct report report_cpu = {
    .about = { .name = "cpu",
               .summary = "utilization of CPUs or threads; causes of waits (--by wait)",
               .by = cpu_by,
               .refusals = cpu_refusals,
               .rows = 50 },
    .by = cpu_rows,
};
