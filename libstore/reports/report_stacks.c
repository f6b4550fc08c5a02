/* report_stacks.c - top, tree, callers, callees.  */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libstore/reports/reports.h"

static const char *self_column(const struct report_query *query)
{
    return query->counts ? "self_count" : "self";
}

static const char *total_column(const struct report_query *query)
{
    return query->counts ? "count" : "total";
}

/* ---- top ---- */

static const char *const top_by[] = { "function", "file",    "line", "module",
                                      "thread",   "process", NULL };

/* "round(100.0 * x / all, 2)", 0 when there is nothing.  */
static void add_percent(struct base_text *sql, const char *value, const char *all, const char *name)
{
    base_text_addf(sql, "coalesce(round(100.0 * %s / %s, 2), 0.0) AS %s", value, all, name);
}

/* The rows of call_top as the report's columns.  */
static void add_top_columns(const struct report_query *query, struct base_text *sql)
{
    base_text_adds(sql, "SELECT self, ");
    add_percent(sql, "self", "(SELECT sum(self) FROM top)", "self_percent");
    base_text_adds(sql, ", total, ");
    add_percent(sql, "total", "(SELECT sum(self) FROM top)", "total_percent");
    base_text_adds(sql, query->by->is_function ? ", name, file, line, module\n" : ", name\n");
    base_text_adds(sql, "FROM top\nORDER BY self DESC, total DESC, name, file, line");
    report_add_limit(query, sql);
}

/* Rows of owner, n, value to the columns of threads or processes.  */
static void add_owner_columns(const struct report_query *query, struct base_text *sql)
{
    bool threads = query->by->is_thread;

    base_text_adds(sql, "SELECT self, ");
    add_percent(sql, "self", "(SELECT sum(self) FROM top)", "self_percent");
    base_text_addf(sql,
                   ", n AS count, p.pid, p.name AS process%s\nFROM top\n"
                   "%sLEFT JOIN process AS p ON p.id = %s\n"
                   "ORDER BY self DESC, count DESC, owner",
                   threads ? ", th.tid, th.name AS thread" : "",
                   threads ? "LEFT JOIN thread AS th ON th.id = owner\n" : "",
                   threads ? "th.upid" : "owner");
    report_add_limit(query, sql);
}

/* ---- top, as plain SQL ---- */

/* picked(callsite_id, owner, n, value): what is counted, from where the report takes it too.  */
static void add_picked(const struct report_query *query, struct base_text *sql)
{
    const struct store_sample_type *type = &query->type;
    bool threads = query->by->is_thread;

    base_text_adds(sql, "picked(callsite_id, owner, n, value) AS (\n");
    if (report_needs_samples(query) || threads) {
        report_add_samples(query, sql, threads);
        base_text_adds(sql, ")");
        return;
    }
    base_text_adds(sql, "  SELECT s.callsite_id, s.upid, sum(s.n), sum(coalesce(s.value, 0))\n"
                        "  FROM callsite_sum AS s LEFT JOIN process AS p ON p.id = s.upid\n"
                        "  JOIN sample_type AS t ON t.id = s.sample_type_id\n  WHERE ");
    if (type->counted_id) {
        base_text_addf(sql, "(t.id = %" PRId64, type->counted_id);
        if (type->kind == STORE_SAMPLES_CPU)
            base_text_adds(sql, " OR t.id IN (SELECT sample_type_id FROM sample_event)");
        base_text_adds(sql, ")");
    } else {
        base_text_adds(sql, "t.type = ");
        report_add_string(sql, type->type);
        base_text_adds(sql, " AND t.unit = ");
        report_add_string(sql, type->unit);
    }
    report_add_conditions(query, sql, STORE_FILTER_PROCESS, "");
    base_text_adds(sql, "\n  GROUP BY 1, 2)");
}

/* named: the functions of frames, and the key that tells rows apart.  */
static void add_named(const struct report_query *query, struct base_text *sql)
{
    base_text_addf(sql,
                   "named(frame_id, inline_depth, name, file, line, module) AS (\n"
                   "  SELECT f.id, coalesce(s.inline_depth, 0),\n         %s,\n"
                   "         nullif(file.text, ''), %s, nullif(m.name, '')\n"
                   "  FROM frame AS f LEFT JOIN symbol AS s ON s.frame_id = f.id\n"
                   "  LEFT JOIN string AS fn ON fn.id = s.function\n"
                   "  LEFT JOIN string AS file ON file.id = s.file\n"
                   "  LEFT JOIN module AS m ON m.id = f.module_id)",
                   query->by->expression, query->by->has_lines ? "s.line" : "NULL");
}

/* totals, places, selves: what each key costs with and without its callees, and where it is.  */
static void add_key_sums(const struct report_query *query, const char *key, struct base_text *sql)
{
    bool lines = query->by->has_lines;

    base_text_addf(sql,
                   "totals(%s, total) AS (\n"
                   "  SELECT %s, sum(amount) FROM (\n"
                   "    SELECT DISTINCT t.leaf, %s FROM touched AS t JOIN named USING (frame_id))\n"
                   "  JOIN sums ON sums.callsite_id = leaf GROUP BY %s),\n"
                   "places(%s, %sa_module) AS (\n"
                   "  SELECT %s, %smin(module) FROM (SELECT DISTINCT frame_id FROM touched)\n"
                   "  JOIN named USING (frame_id) GROUP BY %s),\n",
                   key, key, key, key, key, lines ? "" : "a_file, ", key,
                   lines ? "" : "min(file), ", key);
    base_text_addf(
        sql,
        "selves(%s, self) AS (\n"
        "  SELECT %s, sum(amount) FROM sums JOIN callsite AS c ON c.id = sums.callsite_id\n"
        "  JOIN named ON named.frame_id = c.frame_id AND named.inline_depth = 0 GROUP BY %s),\n",
        key, key, key);
}

static void add_plain_top(const struct report_query *query, struct base_text *sql)
{
    bool lines = query->by->has_lines;

    base_text_adds(sql,
                   "-- Plain SQL: it walks every stack, and may take 15 s where the report takes a "
                   "fraction of one.\nWITH RECURSIVE ");
    add_picked(query, sql);
    base_text_adds(sql, ",\nsums(callsite_id, amount) AS (\n  SELECT callsite_id, sum(");
    base_text_adds(sql, query->counts ? "n" : "value");
    base_text_adds(sql, ") FROM picked WHERE callsite_id <> 0 GROUP BY 1),\n");
    add_named(query, sql);
    base_text_adds(
        sql,
        ",\nup(leaf, at) AS (\n"
        "  SELECT callsite_id, callsite_id FROM sums\n  UNION ALL\n"
        "  SELECT up.leaf, c.parent_id FROM up JOIN callsite AS c ON c.id = up.at\n"
        "  WHERE c.parent_id IS NOT NULL),\n"
        "touched(leaf, frame_id) AS (\n"
        "  SELECT DISTINCT up.leaf, c.frame_id FROM up JOIN callsite AS c ON c.id = up.at),\n");
    add_key_sums(query, lines ? "name, file, line" : "name", sql);
    base_text_addf(sql,
                   "top(name, file, line, module, self, total) AS (\n"
                   "  SELECT t.name, %s, a_module, coalesce(self, 0), total\n"
                   "  FROM totals AS t JOIN places AS p ON p.name = t.name%s\n"
                   "  LEFT JOIN selves AS s ON s.name = t.name%s)\n",
                   lines ? "t.file, t.line" : "a_file, NULL",
                   lines ? " AND p.file IS t.file AND p.line IS t.line" : "",
                   lines ? " AND s.file IS t.file AND s.line IS t.line" : "");
    add_top_columns(query, sql);
}

static bool is_plain_possible(const struct report_query *query)
{
    /* Counts of traces and of profiles together are in two places.  */
    return !report_needs_functions(query) && query->type.type &&
           !(query->type.id && query->type.counted_id);
}

static void write_functions(const struct report_query *query, struct base_text *sql)
{
    if (query->plain && is_plain_possible(query)) {
        add_plain_top(query, sql);
        return;
    }
    report_add_needs(query, sql, true);
    base_text_addf(sql,
                   "WITH top AS MATERIALIZED (SELECT name, file, line, module, %s AS self, %s AS "
                   "total FROM fxt_call_top",
                   self_column(query), total_column(query));
    report_add_arguments(query, query->by_word, sql);
    base_text_adds(sql, ")\n");
    add_top_columns(query, sql);
}

static void write_owners(const struct report_query *query, struct base_text *sql)
{
    if (query->plain && is_plain_possible(query)) {
        base_text_adds(sql, "WITH ");
        add_picked(query, sql);
        base_text_addf(sql,
                       ",\ntop(owner, n, self) AS (\n  SELECT owner, sum(n), sum(%s) FROM picked "
                       "GROUP BY 1)\n",
                       query->counts ? "n" : "value");
    } else {
        report_add_needs(query, sql, true);
        base_text_addf(sql,
                       "WITH top AS MATERIALIZED (SELECT owner, count AS n, %s AS self FROM "
                       "fxt_call_top",
                       query->counts ? "count" : "total");
        report_add_arguments(query, query->by_word, sql);
        base_text_adds(sql, ")\n");
    }
    add_owner_columns(query, sql);
}

/* ---- The table of top ---- */

static const struct store_report_column function_columns[] = {
    { "self", STORE_REPORT_VALUE, 0 },    { "self_percent", STORE_REPORT_PERCENT, 0 },
    { "total", STORE_REPORT_VALUE, 0 },   { "total_percent", STORE_REPORT_PERCENT, 0 },
    { "name", STORE_REPORT_FUNCTION, 0 }, { "file", STORE_REPORT_TEXT, 1 },
    { "line", STORE_REPORT_HIDDEN, 0 },   { "module", STORE_REPORT_TEXT, 2 },
    { NULL, STORE_REPORT_TEXT, 0 },
};

static const struct store_report_column line_columns[] = {
    { "self", STORE_REPORT_VALUE, 0 },    { "self_percent", STORE_REPORT_PERCENT, 0 },
    { "total", STORE_REPORT_VALUE, 0 },   { "total_percent", STORE_REPORT_PERCENT, 0 },
    { "name", STORE_REPORT_FUNCTION, 0 }, { "file", STORE_REPORT_TEXT, 0 },
    { "line", STORE_REPORT_NUMBER, 0 },   { "module", STORE_REPORT_TEXT, 2 },
    { NULL, STORE_REPORT_TEXT, 0 },
};

static const struct store_report_column name_columns[] = {
    { "self", STORE_REPORT_VALUE, 0 },  { "self_percent", STORE_REPORT_PERCENT, 0 },
    { "total", STORE_REPORT_VALUE, 0 }, { "total_percent", STORE_REPORT_PERCENT, 0 },
    { "name", STORE_REPORT_TEXT, 0 },   { NULL, STORE_REPORT_TEXT, 0 },
};

static const struct store_report_column thread_columns[] = {
    { "self", STORE_REPORT_VALUE, 0 },   { "self_percent", STORE_REPORT_PERCENT, 1 },
    { "count", STORE_REPORT_COUNT, 2 },  { "pid", STORE_REPORT_NUMBER, 0 },
    { "process", STORE_REPORT_TEXT, 3 }, { "tid", STORE_REPORT_NUMBER, 0 },
    { "thread", STORE_REPORT_TEXT, 0 },  { NULL, STORE_REPORT_TEXT, 0 },
};

static const struct store_report_column process_columns[] = {
    { "self", STORE_REPORT_VALUE, 0 },   { "self_percent", STORE_REPORT_PERCENT, 0 },
    { "count", STORE_REPORT_COUNT, 0 },  { "pid", STORE_REPORT_NUMBER, 0 },
    { "process", STORE_REPORT_TEXT, 0 }, { NULL, STORE_REPORT_TEXT, 0 },
};

/* Of the sample type that was chosen.  */
static const struct report_lack stacks_lacks[] = {
    { REPORT_HAS_TYPE,
      STORE_HAS_DURATIONS,
      { .what = "no samples with stacks, but durations", .instead = "slices" } },
    { REPORT_HAS_TYPE, 0, { .what = "no samples with stacks" } },
    { .lack = { .what = NULL } },
};

#define FUNCTION_NAME "coalesce(nullif(fn.text, ''), m.label, '[unknown]')"

static const struct report_by top_rows[] = {
    { .columns = function_columns,
      .write = write_functions,
      .lacks = stacks_lacks,
      .expression = FUNCTION_NAME,
      .is_function = true },
    { .columns = name_columns,
      .write = write_functions,
      .lacks = stacks_lacks,
      .expression = "coalesce(nullif(file.text, ''), '[unknown]')" },
    { .columns = line_columns,
      .write = write_functions,
      .lacks = stacks_lacks,
      .expression = FUNCTION_NAME,
      .is_function = true,
      .has_lines = true },
    { .columns = name_columns,
      .write = write_functions,
      .lacks = stacks_lacks,
      .expression = "coalesce(nullif(m.name, ''), '[unknown]')" },
    { .columns = thread_columns, .write = write_owners, .lacks = stacks_lacks, .is_thread = true },
    { .columns = process_columns, .write = write_owners, .lacks = stacks_lacks },
};

const struct report report_top = {
    .about = { .name = "top",
               .summary = "self and total cost of each function, file, module or thread",
               .by = top_by,
               .rows = 30,
               .has_type = true,
               .has_names = true },
    .by = top_rows,
    .needs_type = true,
};

/* ---- Trees ---- */

static const char *const tree_by[] = { "function", "file", "line", "module", NULL };

static const struct store_report_column tree_columns[] = {
    { "total", STORE_REPORT_VALUE, 0 },      { "total_percent", STORE_REPORT_PERCENT, 0 },
    { "self", STORE_REPORT_VALUE, 1 },       { "depth", STORE_REPORT_DEPTH, 0 },
    { "name", STORE_REPORT_FUNCTION, 0 },    { "id", STORE_REPORT_HIDDEN, 0 },
    { "parent_id", STORE_REPORT_HIDDEN, 0 }, { NULL, STORE_REPORT_TEXT, 0 },
};

static void write_tree(const struct report_query *query, struct base_text *sql)
{
    report_add_needs(query, sql, true);
    base_text_addf(
        sql,
        "WITH tree AS MATERIALIZED (SELECT id, parent_id, depth, name, %s AS self, %s AS total, "
        "row_number() OVER () AS place FROM %s",
        self_column(query), total_column(query), query->by->expression);
    if (query->request.function) {
        base_text_adds(sql, "(");
        report_add_string(sql, query->request.function);
        base_text_adds(sql, ")");
    }
    report_add_arguments(query, query->by_word, sql);
    base_text_adds(sql, ")\nSELECT total, ");
    add_percent(sql, "total", "(SELECT total FROM tree WHERE depth = 0)", "total_percent");
    base_text_addf(sql,
                   ", self, depth, name, id, parent_id\nFROM tree\n"
                   "WHERE depth = 0 OR total >= %.15g * (SELECT total FROM tree WHERE depth = 0)\n"
                   "ORDER BY place",
                   query->request.least_percent / 100);
    report_add_limit(query, sql);
}

#define TREE_ROW(table, functions)                                           \
    {                                                                        \
        .columns = tree_columns, .write = write_tree, .lacks = stacks_lacks, \
        .expression = (table), .is_function = (functions)                    \
    }
/* A report of trees; rows are in the order of tree_by.  */
#define TREE_REPORT(word, of_function, table, phrase)                                      \
    {                                                                                      \
        .about = { .name = (word),                                                         \
                   .summary = (phrase),                                                    \
                   .by = tree_by,                                                          \
                   .has_type = true,                                                       \
                   .has_function = (of_function),                                          \
                   .is_tree = true,                                                        \
                   .has_names = true },                                                    \
        .by = (const struct report_by[]){ TREE_ROW(table, true), TREE_ROW(table, false),   \
                                          TREE_ROW(table, true), TREE_ROW(table, false) }, \
        .needs_type = true,                                                                \
    }

const struct report report_tree = TREE_REPORT("tree", false, "fxt_call_tree",
                                              "the call tree, callers above callees");
const struct report report_callers = TREE_REPORT("callers", true, "fxt_callers",
                                                 "callers of the functions that match a pattern");
const struct report report_callees = TREE_REPORT("callees", true, "fxt_callees",
                                                 "callees of the functions that match a pattern");
