/* Rows that are given in place of others.
 *
 * The others of a run are at first only added up. What is given for them are rows of pieces: the
 * first one has the smallest value of a column, the second one the largest, and as many as are
 * needed have the rest of the sum, in pieces between the two; a column for which fewer are needed
 * is NULL in the others, which sum(), min() and max() skip.  So each of these functions can be used
 * on a column, together with the others.  */
#include "libstore/columns_combine.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether runs are too short is decided after so many.  */
#define RUNS_LOOKED_AT 1000U
#define LEAST_RUN      4U

/* ---- Which uses are possible ---- */

static bool can_be_equal(enum served_value value)
{
    return value == SERVED_INTEGER || value == SERVED_TEXT || value == SERVED_CATEGORY ||
           value == SERVED_NAME || value == SERVED_TYPE || value == SERVED_NUMBER ||
           value == SERVED_STATE_INTEGER || value == SERVED_STATE_CPU || value == SERVED_STATE;
}

static bool can_be_added(enum served_value value)
{
    return value == SERVED_INTEGER || value == SERVED_ID || value == SERVED_STATE_INTEGER ||
           value == SERVED_STATE_CPU;
}

bool combined_allows(const struct columns_vtab *table, const uint8_t uses[SERVED_MOST])
{
    for (unsigned i = 0; i < table->served->count; i++) {
        enum served_value value = table->served->columns[i].value;

        if (uses[i] == 0)
            continue;
        if (uses[i] == USE_EQUAL
                ? !can_be_equal(value)
                : (uses[i] & USE_EQUAL) ||
                      (!can_be_added(value) && (value != SERVED_NUMBER || (uses[i] & USE_SUM))))
            return false;
    }
    return true;
}

/* SQLite reports an overflow if the sum of some first rows is too large, which the sum of all may
 * not be if it has both signs.  */
bool combined_adds_up(const struct columns_range *range, int64_t rows)
{
    int64_t product;

    return !range->has_reals &&
           (range->minimum >= 0 || (!__builtin_mul_overflow(range->minimum, rows, &product) &&
                                    !__builtin_mul_overflow(range->maximum, rows, &product)));
}

static bool all_add_up(const struct columns_cursor *cursor)
{
    const struct columns_source *source = columns_source_of(cursor_table(cursor));

    for (unsigned i = 0; i < cursor->combined->count; i++) {
        const struct combined_column *column = &cursor->combined->columns[i];

        if ((column->uses & USE_SUM) && column->is->value != SERVED_ID &&
            !combined_adds_up(&source->ranges[column->is->column], source->directory.rows))
            return false;
    }
    return true;
}

/* ---- Values ---- */

static enum combined_source source_of(const struct served_column *is)
{
    if (is->value == SERVED_ID)
        return FROM_ID;
    return is->value == SERVED_TYPE ? FROM_NOTHING : FROM_BLOCK;
}

/* ---- A run of rows ---- */

/* Begin a run with the current row.  */
static int begin_run(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->others = 0;
    for (unsigned i = 0; i < combined->keys; i++) {
        struct combined_column *column = &combined->columns[i];
        int code = combined_read(cursor, column, &column->has_key, &column->key);

        if (code != SQLITE_OK)
            return code;
        column->rank = combined_rank(cursor, column, column->key.value);
    }
    for (unsigned i = combined->keys; i < combined->count; i++) {
        combined->columns[i].others.count = 0;
        combined->columns[i].others.sum = 0;
    }
    return SQLITE_OK;
}

/* Whether the current row continues the run.  */
static inline int continues(struct columns_cursor *cursor, bool *out)
{
    const struct combined *combined = cursor->combined;

    *out = true;
    for (unsigned i = 0; i < combined->keys && *out; i++) {
        const struct combined_column *column = &combined->columns[i];
        struct combined_number number;
        bool has;
        int code = combined_read(cursor, column, &has, &number);

        if (code != SQLITE_OK)
            return code;
        *out = has == column->has_key && number.is_real == column->key.is_real &&
               (number.value == column->key.value ||
                (combined_is_text(column) &&
                 combined_rank(cursor, column, number.value) == column->rank));
    }
    return SQLITE_OK;
}

/* Add the current row to the run.  */
static int add_row(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->others++;
    for (unsigned i = combined->keys; i < combined->count; i++) {
        struct combined_number number;
        bool has;
        int code = combined_read(cursor, &combined->columns[i], &has, &number);

        if (code != SQLITE_OK)
            return code;
        if (has)
            combined_add(&combined->columns[i].others, combined->columns[i].uses, &number);
    }
    return SQLITE_OK;
}

/* All rows that are left are of one run.  */
static int read_all(struct columns_cursor *cursor)
{
    static const uint32_t places[BLOCK_ROWS]; /* all the same */
    struct combined *combined = cursor->combined;
    struct combined_values values[SERVED_MOST];
    int code = rows_next(cursor);

    for (unsigned i = 0; i < combined->count; i++)
        values[i] = combined->columns[i].others;
    while (code == SQLITE_OK && !cursor->at_end) {
        combined->others += combined_ahead(cursor);
        code = combined_add_ahead(cursor, combined->columns, combined->count, values, places);
        if (code == SQLITE_OK)
            code = rows_next(cursor);
    }
    for (unsigned i = 0; i < combined->count; i++)
        combined->columns[i].others = values[i];
    return code;
}

/* Go on to the first row that is not of the run.  */
static int read_run(struct columns_cursor *cursor)
{
    bool goes_on = true;
    int code = rows_next(cursor);

    while (code == SQLITE_OK && !cursor->at_end) {
        code = continues(cursor, &goes_on);
        if (code == SQLITE_OK && !goes_on)
            break;
        if (code == SQLITE_OK)
            code = add_row(cursor);
        if (code == SQLITE_OK)
            code = rows_next(cursor);
    }
    return code;
}

/* ---- The rows in place of others ---- */

/* Divide a number into the fewest pieces that are between 0 and longest, which has its sign.  */
static void divide(struct combined_column *column, combined_sum number, int64_t longest)
{
    combined_sum rest;

    column->pieces = column->longer = 0;
    column->piece = 0;
    if (number == 0)
        return;
    column->pieces = (uint64_t)((number + longest - (number > 0 ? 1 : -1)) / longest);
    column->piece = (int64_t)(number / (combined_sum)column->pieces);
    rest = number % (combined_sum)column->pieces;
    column->longer = (uint64_t)(rest < 0 ? -rest : rest);
}

/* What is given for a column.  If extremes are wanted, too, no piece is below the smallest or above
 * the largest value; there were as many values as there are pieces, or more, so it is none of them
 * alone that the sum is made of.  */
static void plan_rows(struct combined_column *column)
{
    combined_sum rest;

    column->extremes = 0;
    column->pieces = 0;
    if (column->others.count == 0)
        return;
    if (column->uses == USE_SUM) {
        divide(column, column->others.sum, column->others.sum > 0 ? INT64_MAX : INT64_MIN);
        column->pieces += column->pieces == 0;
        return;
    }
    column->extremes =
        column->others.count > 1 && column->uses != USE_LEAST && column->uses != USE_MOST ? 2 : 1;
    if (!(column->uses & USE_SUM) || column->others.count < 3)
        return;
    rest = column->others.sum - column->others.least.value - column->others.most.value;
    divide(column, rest, rest > 0 ? column->others.most.value : column->others.least.value);
}

static void make_rows(struct combined *combined)
{
    combined->rows = combined->others > 0;
    combined->made = 0;
    for (unsigned i = combined->keys; i < combined->count && combined->others > 0; i++) {
        struct combined_column *column = &combined->columns[i];

        plan_rows(column);
        if (column->extremes + column->pieces > combined->rows)
            combined->rows = column->extremes + column->pieces;
    }
}

/* The value of a column in the current one of these rows; false: NULL.  */
static bool made_value(const struct combined *combined, const struct combined_column *column,
                       struct combined_number *out)
{
    uint64_t made = combined->made, piece = made - column->extremes;

    if (made < column->extremes) {
        *out = made == 1 || column->uses == USE_MOST ? column->others.most : column->others.least;
        return true;
    }
    *out = (struct combined_number){ .value = column->piece };
    if (piece < column->longer)
        out->value += column->piece > 0 ? 1 : -1;
    return piece < column->pieces;
}

/* ---- From row to row ---- */

static void show(struct columns_cursor *cursor, bool is_made)
{
    struct combined *combined = cursor->combined;
    struct store_columns *columns = cursor_table(cursor)->columns;

    cursor->is_made = is_made;
    columns->weight = 1;
    if (is_made)
        columns->weight = combined->made == 0 ? (int64_t)combined->others : 0;
}

/* Short runs take longer to combine than their rows: then rows are given one by one.  */
static void look_at_runs(struct combined *combined)
{
    if (combined->totals || combined->runs == RUNS_LOOKED_AT)
        return;
    combined->runs_rows += combined->others;
    combined->are_short = ++combined->runs == RUNS_LOOKED_AT &&
                          combined->runs_rows < (uint64_t)LEAST_RUN * RUNS_LOOKED_AT;
}

/* Show the current row of the table as the first one of a run.  */
static int show_first(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->at_end = cursor->at_end;
    show(cursor, false);
    if (combined->is_on)
        look_at_runs(combined);
    if (combined->are_short)
        combined->is_on = false;
    return combined->is_on && !combined->at_end ? begin_run(cursor) : SQLITE_OK;
}

/* Show the first row of the run that has combined->key in the totals, or one after it.  */
static int show_total(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;
    const struct totals *totals = combined->totals;
    int code;

    cursor->at_end = !totals_seek(totals, &combined->key, combined->step);
    if (!cursor->at_end)
        rows_go(cursor, totals->groups[combined->key].first);
    code = show_first(cursor);
    if (code != SQLITE_OK || cursor->at_end)
        return code;
    combined->others = totals->groups[combined->key].rows - 1;
    for (unsigned i = 0; i < totals->columns; i++)
        combined->columns[combined->keys + i].others =
            totals->values[combined->key * totals->columns + i];
    return SQLITE_OK;
}

static int next_total(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;

    combined->key += (uint64_t)(int64_t)combined->step;
    if (combined->step == 0)
        combined->key = combined->totals->keys;
    return show_total(cursor);
}

int combined_next(struct columns_cursor *cursor)
{
    struct combined *combined = cursor->combined;
    int code = SQLITE_OK;

    if (!combined->is_on) {
        code = rows_next(cursor);
        combined->at_end = cursor->at_end;
        return code;
    }
    if (cursor->is_made) {
        combined->made++;
    } else {
        if (!combined->totals)
            code = combined->keys == 0 && cursor->integers ? read_all(cursor) : read_run(cursor);
        if (code != SQLITE_OK)
            return code;
        make_rows(combined);
    }
    if (combined->made >= combined->rows)
        return combined->totals ? next_total(cursor) : show_first(cursor);
    show(cursor, true);
    return SQLITE_OK;
}

bool combined_at_end(const struct columns_cursor *cursor)
{
    return cursor->combined->at_end;
}

static void result_key(const struct columns_cursor *cursor, sqlite3_context *context,
                       const struct combined_column *column)
{
    const struct columns_names *names = &cursor_table(cursor)->columns->names;
    double real;

    if (!column->has_key)
        return;
    switch (column->is->value) {
    case SERVED_NAME:
        columns_result_name(context, names, COLUMNS_NAME, column->key.value);
        break;
    case SERVED_CATEGORY:
        columns_result_name(context, names, COLUMNS_CATEGORY, column->key.value);
        break;
    case SERVED_TEXT:
        columns_result_short_text(context, column->key.value);
        break;
    case SERVED_TYPE:
        sqlite3_result_text(context, "internal_slice", 14, SQLITE_STATIC);
        break;
    default:
        memcpy(&real, &column->key.value, sizeof real);
        if (column->key.is_real)
            sqlite3_result_double(context, real);
        else
            sqlite3_result_int64(context, column->key.value);
        break;
    }
}

int combined_column(struct columns_cursor *cursor, sqlite3_context *context, int number)
{
    const struct combined *combined = cursor->combined;
    const struct served_column *is = &cursor_table(cursor)->served->columns[number];
    struct combined_number value;
    double real;

    for (unsigned i = 0; i < combined->count; i++) {
        const struct combined_column *column = &combined->columns[i];

        if (column->is != is)
            continue;
        if (column->uses == USE_EQUAL) {
            result_key(cursor, context, column);
        } else if (made_value(combined, column, &value)) {
            memcpy(&real, &value.value, sizeof real);
            if (value.is_real)
                sqlite3_result_double(context, real);
            else
                sqlite3_result_int64(context, value.value);
        }
        return SQLITE_OK;
    }
    return SQLITE_ERROR; /* the program reads what its plan does not allow */
}

/* ---- Beginning ---- */

/* Columns that are equal in a run come first.  */
static void read_uses(struct columns_cursor *cursor, const char *text)
{
    struct combined *combined = cursor->combined;
    const struct served_table *served = cursor_table(cursor)->served;

    text = strchr(text, PLAN_USES) + 1;
    combined->count = combined->keys = 0;
    for (int turn = 0; turn < 2; turn++)
        for (const char *at = text; *at; at += 2) {
            uint8_t uses = (uint8_t)(at[0] - '@');
            const struct served_column *is = &served->columns[at[1] - 'A'];

            if ((uses == USE_EQUAL) != (turn == 0))
                continue;
            combined->columns[combined->count++] =
                (struct combined_column){ .is = is, .source = source_of(is), .uses = uses };
            combined->keys += turn == 0;
        }
}

/* ---- Beginning with totals ---- */

/* The column whose groups come in an order, if rows can be added up by it: the only one that is
 * equal in a run, and the only key.  */
static const struct combined_column *grouped_by(const struct combined *combined)
{
    const char *keys = strchr(combined->plan, '/') + 1;
    const struct combined_column *column = &combined->columns[0];

    if (combined->keys != 1 || !plan_has_key(keys) || plan_has_key(keys + 2) ||
        column->source != FROM_BLOCK)
        return NULL;
    return column;
}

/* Groups in an order, from rows in none.  Sorting all rows takes longer.  */
static int start_groups(struct columns_cursor *cursor, int argc, sqlite3_value **argv)
{
    struct combined *combined = cursor->combined;
    const struct combined_column *by = grouped_by(combined);
    const char *keys = strchr(combined->plan, '/') + 1;
    char text[PLAN_TEXT_MOST];
    int code;

    if (!by || cursor_table(cursor)->served->columns + (keys[1] - 'A') != by->is)
        return SQLITE_OK;
    (void)snprintf(text, sizeof text, "%.*s", (int)(keys - combined->plan), combined->plan);
    code = rows_start(cursor, PLAN_ROWS, text, argc, argv);
    if (code == SQLITE_OK && cursor->integers && all_add_up(cursor))
        code = totals_make(cursor, by, &combined->totals);
    if (code != SQLITE_OK || !combined->totals)
        return code;
    combined->step = keys[0] == '-' ? -1 : 1;
    combined->key = keys[0] == '-' ? combined->totals->keys - 1 : 0;
    return SQLITE_OK;
}

/* Whether summaries of blocks leave out less than half of a scan for one value.  */
static bool may_be_everywhere(const struct columns_source *source, unsigned column,
                              sqlite3_value *value)
{
    const struct columns_directory *directory = &source->directory;
    int64_t low, high;
    size_t may = 0;

    if (!rows_bounds('=', value, &low, &high))
        return false;
    for (size_t i = 0; i < directory->count; i++)
        may += directory->groups[i].shapes[column].minimum <= low &&
               low <= directory->groups[i].shapes[column].maximum;
    return may > directory->count / 2;
}

/* Rows are looked up by one value: this time or from the next time on, in the totals of all values,
 * which take as long as a scan.  */
static int start_lookups(struct columns_cursor *cursor, sqlite3_value *value)
{
    struct combined *combined = cursor->combined;
    const struct columns_source *source = columns_source_of(cursor_table(cursor));
    const struct served_column *is =
        &cursor_table(cursor)->served->columns[combined->plan[1] - 'A'];
    struct combined_column by = { .is = is, .source = source_of(is) };
    int code;

    if (combined->keys > 0 || by.source != FROM_BLOCK || combined->lookups > 1)
        return SQLITE_OK;
    if (combined->lookups++ == 0 && !may_be_everywhere(source, is->column, value))
        return SQLITE_OK;
    combined->lookups = 2;
    code = rows_start(cursor, PLAN_ROWS, "/", 0, NULL);
    if (code == SQLITE_OK && cursor->integers && all_add_up(cursor))
        code = totals_make(cursor, &by, &combined->totals);
    combined->step = 0;
    return code;
}

static int look_up(struct columns_cursor *cursor, sqlite3_value *value)
{
    struct combined *combined = cursor->combined;
    int64_t low, high;

    if (!rows_bounds('=', value, &low, &high) ||
        !totals_find(combined->totals, low, &combined->key))
        combined->key = combined->totals->keys;
    return show_total(cursor);
}

/* ---- Beginning ---- */

/* Get ready for a plan; its uses are read once.  */
static int prepare(struct columns_cursor *cursor, const char *text)
{
    if (cursor->combined && strcmp(cursor->combined->plan, text) == 0)
        return SQLITE_OK;
    if (cursor->combined)
        combined_stop(cursor);
    cursor->combined = calloc(1, sizeof *cursor->combined);
    if (!cursor->combined)
        return SQLITE_NOMEM;
    cursor->combined->plan = strdup(text);
    if (!cursor->combined->plan) {
        combined_stop(cursor);
        return SQLITE_NOMEM;
    }
    read_uses(cursor, text);
    return SQLITE_OK;
}

/* Totals, if they are of use for the plan.  */
static int start_totals(struct columns_cursor *cursor, int plan, int argc, sqlite3_value **argv)
{
    struct combined *combined = cursor->combined;

    if (plan == PLAN_EQUAL)
        return combined->totals ? SQLITE_OK : start_lookups(cursor, argv[0]);
    totals_release(combined->totals);
    combined->totals = NULL;
    return plan == PLAN_ROWS ? start_groups(cursor, argc, argv) : SQLITE_OK;
}

int combined_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
                   sqlite3_value **argv)
{
    struct combined *combined;
    int code = prepare(cursor, text);

    if (code == SQLITE_OK)
        code = start_totals(cursor, plan, argc, argv);
    if (code != SQLITE_OK)
        return code;
    combined = cursor->combined;
    combined->is_on = true;
    if (combined->totals)
        return plan == PLAN_EQUAL ? look_up(cursor, argv[0]) : show_total(cursor);
    code = rows_start(cursor, plan, text, argc, argv);
    if (code != SQLITE_OK)
        return code;
    combined->is_on = plan != PLAN_EXTREMES && !cursor->plain && cursor->integers &&
                      all_add_up(cursor);
    return show_first(cursor);
}

void combined_stop(struct columns_cursor *cursor)
{
    cursor_table(cursor)->columns->weight = 1;
    cursor->is_made = false;
    totals_release(cursor->combined->totals);
    free(cursor->combined->plan);
    free(cursor->combined);
    cursor->combined = NULL;
}

void combined_release(struct columns_cursor *cursor)
{
    if (cursor->combined)
        combined_stop(cursor);
}

/* ---- Counting rows ---- */

static void count_row(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t *count = sqlite3_aggregate_context(context, sizeof *count);

    (void)argc;
    (void)argv;
    if (count)
        *count += ((const struct store_columns *)sqlite3_user_data(context))->weight;
    else
        sqlite3_result_error_nomem(context);
}

static void count_less(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t *count = sqlite3_aggregate_context(context, sizeof *count);

    (void)argc;
    (void)argv;
    if (count)
        --*count;
}

static void result_count(sqlite3_context *context)
{
    const int64_t *count = sqlite3_aggregate_context(context, 0);

    sqlite3_result_int64(context, count ? *count : 0);
}

bool combined_count(struct store_columns *columns)
{
    if (columns->counts)
        return true;
    columns->references++;
    /* SQLite drops the reference if it fails.  */
    columns->counts = sqlite3_create_window_function(
                          columns->db, "count", 0,
                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, columns, count_row,
                          result_count, result_count, count_less, columns_drop) == SQLITE_OK;
    return columns->counts;
}
