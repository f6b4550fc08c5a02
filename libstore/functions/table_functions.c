/* table_functions.c - table-valued functions: call_tree, flamegraph, callers, callees, call_top,
 * callsite_counts.
 *
 * One module, whose tables differ in what they give.  All have the same hidden columns, which are
 * arguments and can as well be given as WHERE name = value: the filters of the reports.  */
#include <stdio.h>
#include <string.h>

#include "libstore/functions/functions.h"
#include "libstore/functions/graph.h"

enum kind { CALL_TREE, FLAMEGRAPH, CALLERS, CALLEES, CALL_TOP, CALLSITE_COUNTS, KINDS };

/* Hidden columns, in the order of the arguments.  */
enum argument {
    PATTERN, /* of callers and callees alone, so the others' arguments begin with the next */
    TYPE,
    PER,
    FOCUS,
    IGNORE,
    HIDE,
    SHOW_FROM,
    FROM_TS,
    LIMIT_TS,
    PID,
    TID,
    COMM,
    CPU,
    CAPTURE,
    ARGUMENTS
};

static const char HIDDEN[] =
    "type HIDDEN, per HIDDEN, focus HIDDEN, ignore HIDDEN, hide HIDDEN, show_from HIDDEN, "
    "from_ts HIDDEN, limit_ts HIDDEN, pid HIDDEN, tid HIDDEN, comm HIDDEN, cpu HIDDEN, "
    "capture HIDDEN)";

/* What a row is made of.  */
enum value {
    V_ID,
    V_PARENT,
    V_DEPTH,
    V_NAME,
    V_FILE,
    V_LINE,
    V_MODULE,
    V_SELF_COUNT,
    V_COUNT,
    V_SELF,
    V_TOTAL,
    V_OWNER,
};

static const enum value tree_values[] = { V_ID,     V_PARENT,     V_DEPTH, V_NAME, V_FILE, V_LINE,
                                          V_MODULE, V_SELF_COUNT, V_COUNT, V_SELF, V_TOTAL };
static const enum value flame_values[] = { V_DEPTH, V_TOTAL, V_NAME, V_SELF };
static const enum value top_values[] = { V_NAME,  V_FILE, V_LINE,  V_MODULE, V_SELF_COUNT,
                                         V_COUNT, V_SELF, V_TOTAL, V_OWNER };
static const enum value counts_values[] = { V_OWNER, V_SELF_COUNT, V_SELF };

#define TREE_COLUMNS                                                                     \
    "id INTEGER, parent_id INTEGER, depth INTEGER, name TEXT, file TEXT, line INTEGER, " \
    "module TEXT, self_count, count, self, total"

static const struct {
    const char *name;
    const char *columns;
    const enum value *values;
    int value_count;
} shapes[KINDS] = {
    [CALL_TREE] = { "call_tree", TREE_COLUMNS, tree_values, 11 },
    [FLAMEGRAPH] = { "flamegraph", "level INTEGER, value, label TEXT, self", flame_values, 4 },
    [CALLERS] = { "callers", TREE_COLUMNS ", pattern HIDDEN", tree_values, 11 },
    [CALLEES] = { "callees", TREE_COLUMNS ", pattern HIDDEN", tree_values, 11 },
    [CALL_TOP] = { "call_top",
                   "name TEXT, file TEXT, line INTEGER, module TEXT, self_count, count, self, "
                   "total, owner INTEGER",
                   top_values, 9 },
    [CALLSITE_COUNTS] = { "callsite_counts", "callsite_id INTEGER, count, value", counts_values,
                          3 },
};

/* A table of the user's with the plain name hides the function; reports use these.  */
#define ALIAS "fxt_"

struct table {
    sqlite3_vtab base;
    struct functions *functions;
    enum kind kind;
};

/* The whole answer; rows are looked up in it.  */
struct cursor {
    sqlite3_vtab_cursor base;
    struct stacks *stacks; /* held */
    struct graph graph;
    struct graph_place *walk;
    struct graph_totals totals;
    struct sums sums;
    bool by_owner; /* rows are sums, of call sites, threads or processes */
    uint32_t row, row_count;
    sqlite3_value *arguments[ARGUMENTS]; /* copies, owned */
};

/* ---- Connecting ---- */

static bool has_pattern(enum kind kind)
{
    return kind == CALLERS || kind == CALLEES;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **error)
{
    struct functions *functions = context;
    struct table *table = sqlite3_malloc(sizeof *table);
    enum kind kind = CALL_TREE;
    const char *name;
    int code;

    (void)argc;
    (void)error;
    if (!table)
        return SQLITE_NOMEM;
    name = strncmp(argv[0], ALIAS, strlen(ALIAS)) == 0 ? argv[0] + strlen(ALIAS) : argv[0];
    while (kind < KINDS - 1 && strcmp(shapes[kind].name, name) != 0)
        kind++;
    memset(table, 0, sizeof *table);
    table->functions = functions;
    table->kind = kind;
    code = functions_declare(
        db, sqlite3_mprintf("CREATE TABLE x(%s, %s", shapes[kind].columns, HIDDEN));
    if (code == SQLITE_OK)
        *out = &table->base;
    else
        sqlite3_free(table);
    return code;
}

/* ---- Planning ---- */

/* The argument that a column is, or -1.  */
static int argument_of(const sqlite3_vtab *base, int column)
{
    const struct table *table = (const struct table *)base;
    int first = shapes[table->kind].value_count;

    if (column < first)
        return -1;
    return column - first + (has_pattern(table->kind) ? PATTERN : TYPE);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    info->estimatedCost = 1e6;
    info->estimatedRows = 10000;
    return functions_plan(base, info, argument_of);
}

/* ---- Cursors ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    *out = functions_zeroed((int)sizeof(struct cursor)); /* which begins with the base */
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static void clear(struct cursor *cursor)
{
    for (int i = 0; i < ARGUMENTS; i++) {
        sqlite3_value_free(cursor->arguments[i]);
        cursor->arguments[i] = NULL;
    }
    graph_totals_release(&cursor->totals);
    sqlite3_free(cursor->walk);
    cursor->walk = NULL;
    graph_release(&cursor->graph);
    sums_release(&cursor->sums);
    stacks_drop(cursor->stacks);
    cursor->stacks = NULL;
    cursor->by_owner = false;
    cursor->row = cursor->row_count = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    clear(cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* ---- Arguments ---- */

static const char *text_argument(const struct cursor *cursor, enum argument argument)
{
    sqlite3_value *value = cursor->arguments[argument];

    return value ? (const char *)sqlite3_value_text(value) : NULL; /* NULL for NULL too */
}

/* *out and *given, or SQLITE_ERROR with *error for what is no whole number.  */
static int number_argument(const struct cursor *cursor, enum argument argument, const char *name,
                           sqlite3_int64 *out, bool *given, char **error)
{
    sqlite3_value *value = cursor->arguments[argument];
    int type = value ? sqlite3_value_numeric_type(value) : SQLITE_NULL;

    *given = type != SQLITE_NULL;
    *out = *given ? sqlite3_value_int64(value) : 0;
    if (type == SQLITE_NULL || type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        return SQLITE_OK;
    *error = sqlite3_mprintf("%s: '%s' is not a number", name, sqlite3_value_text(value));
    return SQLITE_ERROR;
}

/* *out as a list of numbers, "100,200"; or SQLITE_ERROR with *error.  */
static int list_argument(const struct cursor *cursor, enum argument argument, const char *name,
                         const char **out, char **error)
{
    const char *text = text_argument(cursor, argument);
    size_t digits = 0;

    *out = text;
    for (const char *next = text; next; next = next[digits] ? next + digits + 1 : NULL) {
        digits = strspn(next, "0123456789");
        if (digits > 0 && (next[digits] == ',' || next[digits] == '\0'))
            continue;
        *error = sqlite3_mprintf("%s: '%s' is not a list of numbers", name, text);
        return SQLITE_ERROR;
    }
    return SQLITE_OK;
}

static int read_selection(const struct cursor *cursor, const struct columns_scanner *scanner,
                          struct selection *selection, char **error)
{
    bool given;
    int code;

    *selection = (struct selection){ .scanner = scanner,
                                     .type = text_argument(cursor, TYPE),
                                     .focus = text_argument(cursor, FOCUS),
                                     .ignore = text_argument(cursor, IGNORE),
                                     .hide = text_argument(cursor, HIDE),
                                     .show_from = text_argument(cursor, SHOW_FROM),
                                     .comms = text_argument(cursor, COMM) };
    code = list_argument(cursor, PID, "pid", &selection->pids, error);
    if (code == SQLITE_OK)
        code = list_argument(cursor, TID, "tid", &selection->tids, error);
    if (code == SQLITE_OK)
        code = list_argument(cursor, CPU, "cpu", &selection->cpus, error);
    if (code == SQLITE_OK)
        code = number_argument(cursor, CAPTURE, "capture", &selection->capture, &given, error);
    if (code == SQLITE_OK)
        code = number_argument(cursor, FROM_TS, "from_ts", &selection->from_ts,
                               &selection->has_from, error);
    if (code == SQLITE_OK)
        code = number_argument(cursor, LIMIT_TS, "limit_ts", &selection->limit_ts,
                               &selection->has_limit, error);
    return code;
}

/* ---- Answers ---- */

static int make_sums(struct cursor *cursor, sqlite3 *db, const struct selection *selection,
                     enum sums_by by, char **error)
{
    int code = selection_add_up(db, cursor->stacks, selection, by, &cursor->sums, error);

    cursor->by_owner = true;
    cursor->row_count = code == SQLITE_OK ? cursor->sums.count + 1 : 0;
    return code;
}

static int make_graph(struct cursor *cursor, const struct table *table,
                      const struct selection *selection, enum graph_by by, char **error)
{
    const char *pattern = has_pattern(table->kind) ? text_argument(cursor, PATTERN) : NULL;
    struct graph graph;
    int code;

    if (has_pattern(table->kind) && !pattern) {
        *error = sqlite3_mprintf("%s() needs a pattern", shapes[table->kind].name);
        return SQLITE_ERROR;
    }
    code = graph_build(table->functions->db, cursor->stacks, selection, by, pattern, &graph, error);
    if (code != SQLITE_OK)
        return code;
    if (!pattern) {
        cursor->graph = graph;
        return SQLITE_OK;
    }
    code = (table->kind == CALLERS ? graph_callers : graph_callees)(&graph, &cursor->graph);
    graph_release(&graph);
    if (code == SQLITE_TOOBIG)
        *error = sqlite3_mprintf("callers() of '%s' is too large a tree: match less", pattern);
    return code;
}

static int walk_graph(struct cursor *cursor, enum kind kind)
{
    cursor->walk = graph_walk(&cursor->graph);
    if (!cursor->walk)
        return SQLITE_NOMEM;
    cursor->row_count = cursor->graph.node_count;
    if (kind != CALL_TOP)
        return SQLITE_OK;
    cursor->row_count = cursor->graph.label_count;
    return graph_add_up_labels(&cursor->graph, cursor->walk, &cursor->totals) ? SQLITE_OK
                                                                              : SQLITE_NOMEM;
}

static int answer(struct cursor *cursor, const struct table *table, char **error)
{
    static const char *const names[] = {
        "function", "file", "line", "module", "thread", "process"
    };
    const char *by_name = text_argument(cursor, PER);
    struct selection selection;
    size_t by = 0;
    int code;

    code = read_selection(cursor, &table->functions->scanner, &selection, error);
    if (code != SQLITE_OK)
        return code;
    while (by_name && by < 6 && strcmp(names[by], by_name) != 0)
        by++;
    if (by == 6 || (by > 3 && table->kind != CALL_TOP)) {
        *error = sqlite3_mprintf("per: '%s' is not one of function, file, line, module%s", by_name,
                                 table->kind == CALL_TOP ? ", thread, process" : "");
        return SQLITE_ERROR;
    }
    if (table->kind == CALLSITE_COUNTS)
        return make_sums(cursor, table->functions->db, &selection, SUMS_BY_CALLSITE, error);
    if (by > 3)
        return make_sums(cursor, table->functions->db, &selection,
                         by == 4 ? SUMS_BY_THREAD : SUMS_BY_PROCESS, error);
    code = make_graph(cursor, table, &selection, (enum graph_by)by, error);
    return code == SQLITE_OK ? walk_graph(cursor, table->kind) : code;
}

/* Rows of nothing are passed by; so is, in a table of functions, the root.  */
static bool is_row(const struct cursor *cursor, const struct table *table)
{
    if (cursor->by_owner)
        return !amount_is_zero(&cursor->sums.n[cursor->row]) ||
               !amount_is_zero(&cursor->sums.values[cursor->row]);
    return table->kind != CALL_TOP || cursor->row > 0;
}

static void pass_by(struct cursor *cursor)
{
    const struct table *table = (const struct table *)cursor->base.pVtab;

    while (cursor->row < cursor->row_count && !is_row(cursor, table))
        cursor->row++;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                  sqlite3_value **values)
{
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = (struct table *)base->pVtab;
    char *error = NULL;
    int code;

    (void)number;
    clear(cursor);
    code = functions_take_arguments(cursor->arguments, plan, count, values);
    if (code == SQLITE_OK)
        code = functions_refresh(table->functions, &error);
    if (code == SQLITE_OK) {
        cursor->stacks = stacks_hold(table->functions->stacks);
        code = answer(cursor, table, &error);
    }
    if (code == SQLITE_OK)
        pass_by(cursor);
    if (error) {
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = error;
    }
    return code;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    cursor->row++;
    pass_by(cursor);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;

    return cursor->row >= cursor->row_count;
}

/* ---- Columns ---- */

static void put_amount(sqlite3_context *context, const struct amount *amount, bool is_real)
{
    if (is_real)
        sqlite3_result_double(context, amount_number(amount));
    else
        sqlite3_result_int64(context, amount->whole);
}

static void put_text(sqlite3_context *context, const char *text)
{
    if (*text) /* else NULL: there is none */
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void put_label(sqlite3_context *context, const struct graph_label *label, enum value value)
{
    if (value == V_NAME)
        put_text(context, label->name);
    else if (value == V_FILE)
        put_text(context, label->file);
    else if (value == V_MODULE)
        put_text(context, label->module);
    else if (value == V_LINE && label->line)
        sqlite3_result_int64(context, label->line);
}

static void put_sum(sqlite3_context *context, const struct cursor *cursor, enum value value)
{
    const struct sums *sums = &cursor->sums;

    if (value == V_OWNER)
        sqlite3_result_int64(context, cursor->row);
    else if (value == V_SELF_COUNT || value == V_COUNT)
        put_amount(context, &sums->n[cursor->row], sums->n_is_real);
    else if (value == V_SELF || value == V_TOTAL)
        put_amount(context, &sums->values[cursor->row], sums->values_are_real);
}

static void put_total(sqlite3_context *context, const struct cursor *cursor, enum value value)
{
    const struct graph *graph = &cursor->graph;
    uint32_t label = cursor->row;

    if (value == V_SELF_COUNT)
        put_amount(context, &cursor->totals.self_n[label], graph->n_is_real);
    else if (value == V_COUNT)
        put_amount(context, &cursor->totals.n[label], graph->n_is_real);
    else if (value == V_SELF)
        put_amount(context, &cursor->totals.self_value[label], graph->values_are_real);
    else if (value == V_TOTAL)
        put_amount(context, &cursor->totals.value[label], graph->values_are_real);
    else
        put_label(context, &graph->labels[label], value);
}

static void put_node(sqlite3_context *context, const struct cursor *cursor, enum value value)
{
    const struct graph *graph = &cursor->graph;
    const struct graph_place *place = &cursor->walk[cursor->row];
    const struct graph_node *node = &graph->nodes[place->node];

    if (value == V_ID)
        sqlite3_result_int64(context, place->node);
    else if (value == V_PARENT && place->node != 0)
        sqlite3_result_int64(context, node->parent);
    else if (value == V_DEPTH)
        sqlite3_result_int64(context, place->depth);
    else if (value == V_SELF_COUNT)
        put_amount(context, &node->self_n, graph->n_is_real);
    else if (value == V_COUNT)
        put_amount(context, &node->n, graph->n_is_real);
    else if (value == V_SELF)
        put_amount(context, &node->self_value, graph->values_are_real);
    else if (value == V_TOTAL)
        put_amount(context, &node->value, graph->values_are_real);
    else
        put_label(context, &graph->labels[node->label], value);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct table *table = (const struct table *)base->pVtab;
    int argument = argument_of(&table->base, index);

    if (argument >= 0) {
        if (cursor->arguments[argument])
            sqlite3_result_value(context, cursor->arguments[argument]);
    } else if (cursor->by_owner) {
        put_sum(context, cursor, shapes[table->kind].values[index]);
    } else if (table->kind == CALL_TOP) {
        put_total(context, cursor, shapes[table->kind].values[index]);
    } else {
        put_node(context, cursor, shapes[table->kind].values[index]);
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((const struct cursor *)base)->row;
    return SQLITE_OK;
}

int tables_register(sqlite3 *db, struct functions *functions)
{
    static const sqlite3_module module = {
        .iVersion = 1, /* eponymous only: no xCreate */
        .xConnect = connect,
        .xBestIndex = best_index,
        .xDisconnect = functions_disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };

    for (int i = 0; i < 2 * KINDS; i++) {
        char name[48];
        int code;

        (void)snprintf(name, sizeof name, "%s%s", i < KINDS ? "" : ALIAS, shapes[i % KINDS].name);
        code = sqlite3_create_module_v2(db, name, &module, functions_hold(functions),
                                        functions_drop);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}
