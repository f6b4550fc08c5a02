/* stacks.c - top, tree, callers, callees.  */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/fxtq/report/report.h"

static const char *self_column(const struct request *request)
{
    return request->counts ? "self_count" : "self";
}

static const char *total_column(const struct request *request)
{
    return request->counts ? "count" : "total";
}

/* ---- top ---- */

static const char *const top_by[] = { "function", "file",    "line", "module",
                                      "thread",   "process", NULL };

static bool is_by(const struct request *request, const char *by)
{
    return strcmp(request->by, by) == 0;
}

static const struct report_column *top_columns(const struct request *request)
{
    static const struct report_column functions[] = {
        { "self", REPORT_VALUE, 0 },    { "self_percent", REPORT_PERCENT, 0 },
        { "total", REPORT_VALUE, 0 },   { "total_percent", REPORT_PERCENT, 0 },
        { "name", REPORT_FUNCTION, 0 }, { "file", REPORT_TEXT, 1 },
        { "line", REPORT_HIDDEN, 0 },   { "module", REPORT_TEXT, 2 },
        { NULL, REPORT_TEXT, 0 }
    };
    static const struct report_column lines[] = {
        { "self", REPORT_VALUE, 0 },    { "self_percent", REPORT_PERCENT, 0 },
        { "total", REPORT_VALUE, 0 },   { "total_percent", REPORT_PERCENT, 0 },
        { "name", REPORT_FUNCTION, 0 }, { "file", REPORT_TEXT, 0 },
        { "line", REPORT_NUMBER, 0 },   { "module", REPORT_TEXT, 2 },
        { NULL, REPORT_TEXT, 0 }
    };
    static const struct report_column names[] = {
        { "self", REPORT_VALUE, 0 },    { "self_percent", REPORT_PERCENT, 0 },
        { "total", REPORT_VALUE, 0 },   { "total_percent", REPORT_PERCENT, 0 },
        { "name", REPORT_FUNCTION, 0 }, { NULL, REPORT_TEXT, 0 }
    };
    static const struct report_column threads[] = {
        { "self", REPORT_VALUE, 0 },   { "self_percent", REPORT_PERCENT, 1 },
        { "count", REPORT_COUNT, 2 },  { "pid", REPORT_NUMBER, 0 },
        { "process", REPORT_TEXT, 3 }, { "tid", REPORT_NUMBER, 0 },
        { "thread", REPORT_TEXT, 0 },  { NULL, REPORT_TEXT, 0 }
    };
    static const struct report_column processes[] = {
        { "self", REPORT_VALUE, 0 },   { "self_percent", REPORT_PERCENT, 0 },
        { "count", REPORT_COUNT, 0 },  { "pid", REPORT_NUMBER, 0 },
        { "process", REPORT_TEXT, 0 }, { NULL, REPORT_TEXT, 0 }
    };

    if (is_by(request, "thread"))
        return threads;
    if (is_by(request, "process"))
        return processes;
    if (is_by(request, "line"))
        return lines;
    return is_by(request, "file") || is_by(request, "module") ? names : functions;
}

/* "round(100.0 * x / all, 2)", 0 when there is nothing.  */
static void add_percent(struct base_text *sql, const char *value, const char *all, const char *name)
{
    text_addf(sql, "coalesce(round(100.0 * %s / %s, 2), 0.0) AS %s", value, all, name);
}

/* What the rows of call_top() become, in the order of the columns.  */
static void add_top_columns(const struct request *request, struct base_text *sql)
{
    bool names = is_by(request, "file") || is_by(request, "module");

    text_adds(sql, "SELECT self, ");
    add_percent(sql, "self", "(SELECT sum(self) FROM top)", "self_percent");
    text_adds(sql, ", total, ");
    add_percent(sql, "total", "(SELECT sum(self) FROM top)", "total_percent");
    text_adds(sql, names ? ", name\n" : ", name, file, line, module\n");
    text_adds(sql, "FROM top\nORDER BY self DESC, total DESC, name, file, line");
    request_add_limit(request, sql);
}

/* Rows of owner, n, value to the columns of threads or processes.  */
static void add_owner_columns(const struct request *request, struct base_text *sql)
{
    bool threads = is_by(request, "thread");

    text_adds(sql, "SELECT self, ");
    add_percent(sql, "self", "(SELECT sum(self) FROM top)", "self_percent");
    text_addf(sql,
              ", n AS count, p.pid, p.name AS process%s\nFROM top\n"
              "%sLEFT JOIN process AS p ON p.id = %s\n"
              "ORDER BY self DESC, count DESC, owner",
              threads ? ", th.tid, th.name AS thread" : "",
              threads ? "LEFT JOIN thread AS th ON th.id = owner\n" : "",
              threads ? "th.upid" : "owner");
    request_add_limit(request, sql);
}

/* ---- top, as plain SQL ---- */

/* picked(callsite_id, owner, n, value): what is counted, from where the report takes it too.  */
static void add_picked(const struct request *request, struct base_text *sql)
{
    const struct store_sample_type *type = &request->type;
    bool threads = is_by(request, "thread");

    text_adds(sql, "picked(callsite_id, owner, n, value) AS (\n");
    if (request_needs_samples(request) || threads) {
        request_add_samples(request, sql, threads);
        text_adds(sql, ")");
        return;
    }
    text_adds(sql, "  SELECT s.callsite_id, s.upid, sum(s.n), sum(coalesce(s.value, 0))\n"
                   "  FROM callsite_sum AS s LEFT JOIN process AS p ON p.id = s.upid\n"
                   "  JOIN sample_type AS t ON t.id = s.sample_type_id\n  WHERE ");
    if (type->counted_id) {
        text_addf(sql, "t.id = %" PRId64, type->counted_id);
    } else {
        text_adds(sql, "t.type = ");
        text_add_literal(sql, type->type);
        text_adds(sql, " AND t.unit = ");
        text_add_literal(sql, type->unit);
    }
    request_add_conditions(request, sql, FILTER_PROCESS, "");
    text_adds(sql, "\n  GROUP BY 1, 2)");
}

/* named: the functions of frames, and the key that tells rows apart.  */
static void add_named(const struct request *request, struct base_text *sql)
{
    static const char function[] = "coalesce(nullif(fn.text, ''), m.label, '[unknown]')";
    bool lines = is_by(request, "line");
    const char *name = is_by(request, "file")     ? "coalesce(nullif(file.text, ''), '[unknown]')"
                       : is_by(request, "module") ? "coalesce(nullif(m.name, ''), '[unknown]')"
                                                  : function;

    text_addf(sql,
              "named(frame_id, inline_depth, name, file, line, module) AS (\n"
              "  SELECT f.id, coalesce(s.inline_depth, 0),\n         %s,\n"
              "         nullif(file.text, ''), %s, nullif(m.name, '')\n"
              "  FROM frame AS f LEFT JOIN symbol AS s ON s.frame_id = f.id\n"
              "  LEFT JOIN string AS fn ON fn.id = s.function\n"
              "  LEFT JOIN string AS file ON file.id = s.file\n"
              "  LEFT JOIN module AS m ON m.id = f.module_id)",
              name, lines ? "s.line" : "NULL");
}

static void add_plain_top(const struct request *request, struct base_text *sql)
{
    bool lines = is_by(request, "line");
    const char *key = lines ? "name, file, line" : "name";
    const char *amount = request->counts ? "n" : "value";

    text_adds(sql, "-- Plain SQL: it walks every stack, and may take 15 s where the report takes a "
                   "fraction of one.\nWITH RECURSIVE ");
    add_picked(request, sql);
    text_adds(sql, ",\nsums(callsite_id, amount) AS (\n  SELECT callsite_id, sum(");
    text_adds(sql, amount);
    text_adds(sql, ") FROM picked WHERE callsite_id <> 0 GROUP BY 1),\n");
    add_named(request, sql);
    text_adds(
        sql,
        ",\nup(leaf, at) AS (\n"
        "  SELECT callsite_id, callsite_id FROM sums\n  UNION ALL\n"
        "  SELECT up.leaf, c.parent_id FROM up JOIN callsite AS c ON c.id = up.at\n"
        "  WHERE c.parent_id IS NOT NULL),\n"
        "touched(leaf, frame_id) AS (\n"
        "  SELECT DISTINCT up.leaf, c.frame_id FROM up JOIN callsite AS c ON c.id = up.at),\n");
    text_addf(sql,
              "totals(%s, total) AS (\n"
              "  SELECT %s, sum(amount) FROM (\n"
              "    SELECT DISTINCT t.leaf, %s FROM touched AS t JOIN named USING (frame_id))\n"
              "  JOIN sums ON sums.callsite_id = leaf GROUP BY %s),\n"
              "places(%s, %sa_module) AS (\n"
              "  SELECT %s, %smin(module) FROM (SELECT DISTINCT frame_id FROM touched)\n"
              "  JOIN named USING (frame_id) GROUP BY %s),\n",
              key, key, key, key, key, lines ? "" : "a_file, ", key, lines ? "" : "min(file), ",
              key);
    text_addf(
        sql,
        "selves(%s, self) AS (\n"
        "  SELECT %s, sum(amount) FROM sums JOIN callsite AS c ON c.id = sums.callsite_id\n"
        "  JOIN named ON named.frame_id = c.frame_id AND named.inline_depth = 0 GROUP BY %s),\n",
        key, key, key);
    text_addf(sql,
              "top(name, file, line, module, self, total) AS (\n"
              "  SELECT t.name, %s, a_module, coalesce(self, 0), total\n"
              "  FROM totals AS t JOIN places AS p ON p.name = t.name%s\n"
              "  LEFT JOIN selves AS s ON s.name = t.name%s)\n",
              lines ? "t.file, t.line" : "a_file, NULL",
              lines ? " AND p.file IS t.file AND p.line IS t.line" : "",
              lines ? " AND s.file IS t.file AND s.line IS t.line" : "");
    add_top_columns(request, sql);
}

static bool is_plain_possible(const struct request *request)
{
    /* Counts of traces and of profiles together are in two places.  */
    return !request_needs_functions(request) && request->type.type &&
           !(request->type.id && request->type.counted_id);
}

static const struct report_column *write_top(const struct request *request, struct base_text *sql)
{
    bool owners = is_by(request, "thread") || is_by(request, "process");

    if (request->plain && is_plain_possible(request) && !owners) {
        add_plain_top(request, sql);
        return top_columns(request);
    }
    if (request->plain && is_plain_possible(request)) {
        text_adds(sql, "WITH ");
        add_picked(request, sql);
        text_addf(sql,
                  ",\ntop(owner, n, self) AS (\n  SELECT owner, sum(n), sum(%s) FROM picked "
                  "GROUP BY 1)\n",
                  request->counts ? "n" : "value");
        add_owner_columns(request, sql);
        return top_columns(request);
    }
    if (request->plain)
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    if (owners)
        text_addf(
            sql, "WITH top AS MATERIALIZED (SELECT owner, count AS n, %s AS self FROM fxt_call_top",
            request->counts ? "count" : "total");
    else
        text_addf(sql,
                  "WITH top AS MATERIALIZED (SELECT name, file, line, module, %s AS self, %s AS "
                  "total FROM fxt_call_top",
                  self_column(request), total_column(request));
    request_add_arguments(request, sql);
    text_adds(sql, ")\n");
    (owners ? add_owner_columns : add_top_columns)(request, sql);
    return top_columns(request);
}

/* Of what --sample-type chose.  */
static const char *lacks_stacks(const struct request *request)
{
    if (request->type.type)
        return NULL;
    return request_has(request, STORE_HAS_DURATIONS)
               ? "no samples with stacks, but durations: report slices"
               : "no samples with stacks";
}

const struct report report_top = {
    .name = "top",
    .summary = "self and total cost of each function, file, module or thread",
    .by = top_by,
    .has_type = true,
    .rows = 30,
    .write = write_top,
    .lacks = lacks_stacks,
};

/* ---- Trees ---- */

static const char *const tree_by[] = { "function", "file", "line", "module", NULL };

static const struct report_column tree_columns[] = {
    { "total", REPORT_VALUE, 0 },      { "total_percent", REPORT_PERCENT, 0 },
    { "self", REPORT_VALUE, 1 },       { "depth", REPORT_DEPTH, 0 },
    { "name", REPORT_FUNCTION, 0 },    { "id", REPORT_HIDDEN, 0 },
    { "parent_id", REPORT_HIDDEN, 0 }, { NULL, REPORT_TEXT, 0 }
};

/* table: call_tree, or a call of callers() or callees().  */
static const struct report_column *write_tree(const struct request *request, struct base_text *sql,
                                              const char *table)
{
    if (request->plain)
        text_adds(sql, "-- Needs libfxtsql.so, or fxtq.\n");
    text_addf(
        sql,
        "WITH tree AS MATERIALIZED (SELECT id, parent_id, depth, name, %s AS self, %s AS total, "
        "row_number() OVER () AS place FROM %s",
        self_column(request), total_column(request), table);
    if (request->function) {
        text_adds(sql, "(");
        text_add_literal(sql, request->function);
        text_adds(sql, ")");
    }
    request_add_arguments(request, sql);
    text_adds(sql, ")\nSELECT total, ");
    add_percent(sql, "total", "(SELECT total FROM tree WHERE depth = 0)", "total_percent");
    text_addf(sql,
              ", self, depth, name, id, parent_id\nFROM tree\n"
              "WHERE depth = 0 OR total >= %.15g * (SELECT total FROM tree WHERE depth = 0)\n"
              "ORDER BY place",
              request->least / 100);
    request_add_limit(request, sql);
    return tree_columns;
}

static const struct report_column *write_call_tree(const struct request *request,
                                                   struct base_text *sql)
{
    return write_tree(request, sql, "fxt_call_tree");
}

static const struct report_column *write_callers(const struct request *request,
                                                 struct base_text *sql)
{
    return write_tree(request, sql, "fxt_callers");
}

static const struct report_column *write_callees(const struct request *request,
                                                 struct base_text *sql)
{
    return write_tree(request, sql, "fxt_callees");
}

const struct report report_tree = {
    .name = "tree",
    .summary = "the call tree, callers above callees",
    .by = tree_by,
    .has_type = true,
    .is_tree = true,
    .write = write_call_tree,
    .lacks = lacks_stacks,
};

const struct report report_callers = {
    .name = "callers",
    .summary = "callers of the functions that match a pattern",
    .by = tree_by,
    .has_type = true,
    .takes_function = true,
    .is_tree = true,
    .write = write_callers,
    .lacks = lacks_stacks,
};

const struct report report_callees = {
    .name = "callees",
    .summary = "callees of the functions that match a pattern",
    .by = tree_by,
    .has_type = true,
    .takes_function = true,
    .is_tree = true,
    .write = write_callees,
    .lacks = lacks_stacks,
};
