/* What a virtual table can do for a query.  */
#include "libstore/columns_program.h"
#include "libstore/columns_window.h"

#include <stdio.h>
#include <stdlib.h>

/* Lists of rows take up to 8 bytes a row while they are sorted, 168 MB at most; SQLite sorts more
 * by means of files.  */
#define MOST_SORTED (INT64_C(20) << 20)
/* Rows of an order, to each of which rows of others are looked up, and an index for those: 12 bytes
 * a row.  */
#define MOST_JOINED (INT64_C(8) << 20)

/* Conditions, LIMIT and OFFSET, '/', keys, PLAN_USES, a use of each column, NUL.  Or PLAN_TESTS,
 * the table, tests.  */
_Static_assert(PLAN_TEXT_MOST >= 2 * (CONDITIONS_MOST + 2 + KEYS_MOST + SERVED_MOST) + 3 &&
                   PLAN_TEXT_MOST >= 2 * (CONDITIONS_MOST + 2 + KEYS_MOST) + 3 + TESTS_TEXT_MOST,
               "the text of a plan has room");

struct plan {
    const struct columns_vtab *table;
    const struct columns_source *source;
    sqlite3_index_info *info;
    char text[PLAN_TEXT_MOST];
    int length;
    int arguments;
    unsigned conditions;
    unsigned others; /* constraints that are left to SQLite */
    double rows;     /* estimated */
    double tested;   /* rows of an index, of which other conditions choose some; 0: no index */
};

static char operation_of(int op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
        return '>';
    case SQLITE_INDEX_CONSTRAINT_GE:
        return ')';
    case SQLITE_INDEX_CONSTRAINT_LT:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_LE:
        return '(';
    default:
        return '\0';
    }
}

bool columns_key_of(const struct served_table *served, int column, bool is_descending,
                    struct columns_key *out)
{
    const struct served_column *is = &served->columns[column < 0 ? 0 : column];

    *out = (struct columns_key){ .column = is->column,
                                 .text = -1,
                                 .is_id = is->value == SERVED_ID,
                                 .is_descending = is_descending };
    if (is->value == SERVED_CATEGORY)
        out->text = COLUMNS_CATEGORY;
    if (is->value == SERVED_NAME)
        out->text = COLUMNS_NAME;
    return is->value == SERVED_ID || is->value == SERVED_INTEGER || is->value == SERVED_TEXT ||
           out->text >= 0;
}

static bool is_id(const struct plan *plan, int column)
{
    enum served_value value = plan->table->served->columns[column < 0 ? 0 : column].value;

    return value == SERVED_ID || value == SERVED_STATE_ID;
}

static void add(struct plan *plan, char operation, int column)
{
    plan->text[plan->length++] = operation;
    plan->text[plan->length++] = (char)('A' + (column < 0 ? 0 : column));
}

static void take(struct plan *plan, int constraint, char operation, bool is_exact)
{
    add(plan, operation, plan->info->aConstraint[constraint].iColumn);
    plan->info->aConstraintUsage[constraint].argvIndex = ++plan->arguments;
    plan->info->aConstraintUsage[constraint].omit = is_exact;
}

/* How many rows have one value: at least as if each value in the range occurred.  */
static double rows_of_value(const struct plan *plan, unsigned column)
{
    const struct columns_range *range = &plan->source->ranges[column];
    double values = (double)range->maximum - (double)range->minimum + 1;
    double rows = (double)plan->source->directory.rows;

    return values < rows ? rows / values : 1;
}

static bool is_binary(struct plan *plan, int constraint)
{
    return strcmp(sqlite3_vtab_collation(plan->info, constraint), "BINARY") == 0;
}

/* Of a small table: its rows are compared one by one.  */
static bool take_equal(struct plan *plan, int constraint, char operation)
{
    if (operation != '=' || plan->info->aConstraint[constraint].iColumn < 0 ||
        !is_binary(plan, constraint))
        return false;
    plan->conditions++;
    plan->rows /= 4;
    take(plan, constraint, operation, false);
    return true;
}

/* Returns whether the constraint is taken.  */
static bool take_condition(struct plan *plan, int constraint)
{
    const struct sqlite3_index_constraint *is = &plan->info->aConstraint[constraint];
    const struct served_column *column =
        &plan->table->served->columns[is->iColumn < 0 ? 0 : is->iColumn];
    char operation = operation_of(is->op);
    double rows;

    if (!is->usable || !operation || plan->conditions == CONDITIONS_MOST ||
        (is->iColumn < 0 && column->value != SERVED_ID))
        return false;
    if (plan->table->served->is_small)
        return take_equal(plan, constraint, operation);
    if (plan->table->served->has_states) {
        if (column->value != SERVED_STATE_INTEGER &&
            (column->value != SERVED_STATE || operation != '=' || !is_binary(plan, constraint)))
            return false;
    } else if (column->value == SERVED_CATEGORY || column->value == SERVED_NAME) {
        if (operation != '=' || !is_binary(plan, constraint))
            return false;
    } else if (column->value != SERVED_ID && column->value != SERVED_SET &&
               (column->value != SERVED_INTEGER ||
                plan->source->ranges[column->column].has_reals)) {
        return false;
    }
    plan->conditions++;
    if (column->value == SERVED_STATE)
        rows = plan->rows / 4;
    else
        rows = column->value == SERVED_ID ? 1 : rows_of_value(plan, column->column);
    if (operation != '=') {
        plan->rows /= 4;
    } else {
        plan->rows = rows < plan->rows ? rows : plan->rows;
        plan->tested = plan->tested > 0 && plan->tested < rows ? plan->tested : rows;
    }
    take(plan, constraint, operation,
         column->value == SERVED_ID || column->value == SERVED_SET ||
             column->value == SERVED_INTEGER || column->value == SERVED_STATE_INTEGER);
    return true;
}

/* One row by its id needs nothing else.  */
static bool take_id(struct plan *plan)
{
    for (int i = 0; i < plan->info->nConstraint; i++) {
        const struct sqlite3_index_constraint *is = &plan->info->aConstraint[i];

        if (!is->usable || is->op != SQLITE_INDEX_CONSTRAINT_EQ || !is_id(plan, is->iColumn))
            continue;
        take(plan, i, '=', true);
        plan->info->idxNum = PLAN_ID;
        plan->info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        plan->info->orderByConsumed = 1;
        plan->rows = 1;
        return true;
    }
    return false;
}

static bool is_limit(int op)
{
    return op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET;
}

static void take_conditions(struct plan *plan)
{
    for (int i = 0; i < plan->info->nConstraint; i++)
        if (!is_limit(plan->info->aConstraint[i].op))
            plan->others += !take_condition(plan, i);
}

static bool can_order(const struct plan *plan)
{
    const sqlite3_index_info *info = plan->info;

    if (info->nOrderBy < 1 || info->nOrderBy > KEYS_MOST)
        return false;
    if (plan->table->served->is_small)
        return true;
    if (plan->source->directory.rows > MOST_SORTED)
        return false;
    if (plan->table->served->has_states)
        return info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
               plan->table->served->columns[info->aOrderBy[0].iColumn].value == SERVED_STATE &&
               states_can_order(plan->table->columns);
    for (int i = 0; i < info->nOrderBy; i++) {
        struct columns_key key;

        if (!columns_key_of(plan->table->served, info->aOrderBy[i].iColumn, false, &key) ||
            !columns_can_order(plan->table->columns, plan->table->served->table, &key))
            return false;
    }
    return true;
}

/* Whether the order is that of one column, and of ids among equal values.  */
static bool has_one_key(const struct plan *plan)
{
    const sqlite3_index_info *info = plan->info;
    struct columns_key key;

    return info->nOrderBy == 1 ||
           (info->nOrderBy == 2 && !info->aOrderBy[1].desc &&
            columns_key_of(plan->table->served, info->aOrderBy[1].iColumn, false, &key) &&
            key.is_id);
}

/* Rows that no condition chooses, by one key: as many as the query wants.  SQLite skips those of
 * OFFSET itself.  */
static void take_limit(struct plan *plan)
{
    if (plan->conditions > 0 || plan->others > 0 || !has_one_key(plan) ||
        plan->table->served->has_states || plan->table->served->is_small)
        return;
    for (int i = 0; i < plan->info->nConstraint; i++)
        if (!plan->info->aConstraint[i].usable)
            return;
    for (int i = 0; i < plan->info->nConstraint; i++)
        take(plan, i, plan->info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT ? 'L' : 'O',
             false);
}

static void take_order(struct plan *plan)
{
    const sqlite3_index_info *info = plan->info;

    plan->text[plan->length++] = '/';
    if (!can_order(plan))
        return;
    for (int i = 0; i < info->nOrderBy; i++)
        add(plan, info->aOrderBy[i].desc ? '-' : '+', info->aOrderBy[i].iColumn);
    plan->info->orderByConsumed = 1;
}

/* One value of a column of integers is looked up in the shortest way.  */
static bool is_equality(const struct plan *plan)
{
    return plan->length == 3 && plan->text[0] == '=' &&
           (plan->table->integers >> (plan->text[1] - 'A') & 1);
}

/* ---- What the query does with the rows ---- */

/* Whether the program of the query is to be asked what it does with the rows of the scan.  */
static bool may_ask(const struct plan *plan)
{
    const struct served_table *served = plan->table->served;

    if (plan->table->columns->planning == PLANNED_AS_USUAL ||
        plan->table->columns->planning == PLANNED_FOR_WINDOW || served->has_args ||
        served->is_small || plan->info->colUsed >> served->count)
        return false;
    return plan->source->is_there && !memchr(plan->text, 'L', (size_t)plan->length);
}

/* That scan in the program: its plan, its table and the columns that it uses.  */
static void mark(const struct plan *plan, char text[PLAN_TEXT_MOST])
{
    (void)snprintf(text, PLAN_TEXT_MOST, "%.*s%c%c%llx", plan->length, plan->text, PLAN_USES,
                   (char)('A' + (plan->table->served - served_tables)),
                   (unsigned long long)plan->info->colUsed);
}

/* The loop of the scan; NULL: it is not known.  */
static const struct columns_loop *find_loop(const struct plan *plan)
{
    const struct columns_loops *loops = plan->table->columns->loops;
    char text[PLAN_TEXT_MOST];

    mark(plan, text);
    for (unsigned i = 0; i < loops->count; i++)
        if (strcmp(loops->items[i].plan, text) == 0)
            return &loops->items[i];
    return NULL;
}

/* Whether a column is one of integers, of which summaries of blocks have the extremes.  */
static bool has_extremes(const struct plan *plan, unsigned column)
{
    const struct served_column *is = &plan->table->served->columns[column];

    return is->value == SERVED_ID ||
           (is->value == SERVED_INTEGER && !plan->source->ranges[is->column].has_reals);
}

/* Whether the smallest and largest values of all rows are wanted, and nothing else.  */
static bool wants_extremes(const struct plan *plan, const struct columns_loop *loop)
{
    bool any = false;

    for (unsigned i = 0; i < plan->table->served->count; i++) {
        if (loop->uses[i] == 0)
            continue;
        if ((loop->uses[i] & (USE_EQUAL | USE_SUM)) || !has_extremes(plan, i))
            return false;
        any = true;
    }
    return any && !loop->counts && plan->info->nConstraint == 0 && plan->info->nOrderBy == 0 &&
           !plan->table->served->has_states;
}

static void take_uses(struct plan *plan, const struct columns_loop *loop)
{
    bool are_extremes = wants_extremes(plan, loop);

    for (unsigned i = 0; are_extremes && i < plan->table->served->count; i++)
        if (loop->uses[i])
            add(plan, '^', (int)i);
    plan->text[plan->length++] = PLAN_USES;
    for (unsigned i = 0; i < plan->table->served->count; i++)
        if (loop->uses[i])
            add(plan, (char)('@' + loop->uses[i]), (int)i);
    if (are_extremes)
        plan->info->idxNum = PLAN_EXTREMES;
}

static void take_tests(struct plan *plan, const struct columns_loop *loop)
{
    add(plan, PLAN_TESTS, (int)(plan->table->served - served_tables));
    plan->length += (int)(stpcpy(plan->text + plan->length, loop->tests) -
                          (plan->text + plan->length));
}

/* What is known from the program.  */
static void take_loop(struct plan *plan)
{
    const struct columns_loop *loop;

    if (!may_ask(plan))
        return;
    if (plan->table->columns->planning == PLANNED_TO_ASK) {
        char text[PLAN_TEXT_MOST];

        mark(plan, text);
        plan->length = (int)(stpcpy(plan->text, text) - plan->text);
        return;
    }
    loop = find_loop(plan);
    if (loop && loop->is_right && combined_allows(plan->table, loop->uses))
        take_uses(plan, loop);
    else if (loop && loop->tests[0] && !plan->table->served->has_states)
        take_tests(plan, loop);
}

/* Rows in the order of a window, whatever order the query wants.  */
static void take_window(struct plan *plan)
{
    const struct columns_window *window = plan->table->columns->window;
    const char *keys = strchr(window->plan, '/');
    const sqlite3_index_info *info = plan->info;
    bool is_order = info->nOrderBy > 0 && info->nOrderBy <= 2;

    for (int i = 0; is_order && i < info->nOrderBy; i++)
        is_order = keys[1 + 2 * i] == (info->aOrderBy[i].desc ? '-' : '+') &&
                   keys[2 + 2 * i] == 'A' + info->aOrderBy[i].iColumn;
    plan->info->orderByConsumed = is_order;
    plan->info->idxNum = PLAN_WINDOW;
    if (plan->conditions == CONDITIONS_MOST) /* a condition of the window may have been left out */
        keys = "/";
    plan->length += snprintf(plan->text + plan->length, sizeof plan->text - (size_t)plan->length,
                             "%s%c%c%lld", keys, PLAN_OF_WINDOW, window->step > 0 ? '+' : '-',
                             (long long)window->number);
}

static double cost(const struct plan *plan)
{
    double rows = plan->tested > 0 ? plan->tested : plan->rows;

    /* To a plan that begins with a virtual table, SQLite adds no cost for sorting its rows.  */
    if (plan->info->orderByConsumed && plan->info->nOrderBy > 0 && plan->conditions == 0 &&
        plan->info->idxNum == PLAN_ROWS && plan->rows <= MOST_JOINED)
        rows /= 2;
    return rows + 1;
}

static int finish(struct plan *plan)
{
    plan->text[plan->length] = '\0';
    plan->info->idxStr = sqlite3_mprintf("%s", plan->text);
    plan->info->needToFreeIdxStr = 1;
    plan->info->estimatedRows = plan->rows < 1 ? 1 : (sqlite3_int64)plan->rows;
    plan->info->estimatedCost = cost(plan);
    return plan->info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* How many rows there are before conditions.  */
static int count_rows(struct plan *plan)
{
    struct store_columns *columns = plan->table->columns;
    int code = SQLITE_OK;

    if (plan->table->served->is_small) {
        code = small_load(columns, plan->table->served);
        plan->rows = columns->tracks.is_there ? (double)columns->tracks.rows : 1e5;
        return code;
    }
    plan->source = &columns->sources[plan->table->served->table];
    plan->rows = plan->source->is_there ? (double)plan->source->directory.rows : 1e6;
    if (plan->table->served->has_states)
        plan->rows += (double)columns->sources[COLUMNS_WAIT].directory.rows;
    return SQLITE_OK;
}

static void take_as_usual(struct plan *plan)
{
    if (can_order(plan))
        take_limit(plan);
    take_order(plan);
    if (is_equality(plan))
        plan->info->idxNum = PLAN_EQUAL;
    take_loop(plan);
}

int columns_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct columns_vtab *table = (struct columns_vtab *)base;
    struct plan plan = { .table = table, .info = info };
    int code = columns_hold(table->columns);

    if (code != SQLITE_OK)
        return code;
    code = count_rows(&plan);
    if (code == SQLITE_OK && take_id(&plan)) {
        plan.text[plan.length++] = '/';
        if (!table->served->has_args && !table->served->is_small && !table->served->has_states)
            add(&plan, PLAN_TABLE, (int)(table->served - served_tables));
    } else if (code == SQLITE_OK) {
        take_conditions(&plan);
        if (window_is_of(table))
            take_window(&plan);
        else
            take_as_usual(&plan);
    }
    columns_let_go(table->columns);
    return code == SQLITE_OK ? finish(&plan) : code;
}
