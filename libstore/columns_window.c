/* lead() and lag(), from the rows beside the current one.
 *
 * For a query such as
 *
 *     SELECT cpu, lead(ts) OVER (PARTITION BY cpu ORDER BY ts) - ts FROM sched
 *
 * SQLite puts each row into a temporary table and looks up the next one there, which takes most of
 * the time.  A scan that gives rows by cpu and ts has the next one at hand.  So a function takes
 * the place of the window in the text of the statement, and the scan is planned to give rows in the
 * order of the window.
 *
 * That has the same answer if
 *
 *   - the window's rows are those of the scan.  In the program of the statement (EXPLAIN), the loop
 *     of its only scan of a virtual table hands on values of columns and does nothing else:
 *
 *         VFilter, VColumn..., Yield, VNext back to the first VColumn
 *
 *     The last three columns are the partition, the order and the argument.  The plan of the scan
 *     has the first two as keys.  The rows go into the tables of the window as they come.
 *   - lead() or lag() of one argument is the only window function, so its value is the argument of
 *     the row after or before, or NULL where that is of another partition.
 *   - with the function, the scan is planned with the same conditions, and no more: SQLite may have
 *     moved one of an outer query into the scan, which the window must not notice.
 *   - the function is called in the loop of the scan, which has no row of NULLs for a join that
 *     found nothing, and the program has no other window, not even one from a view.
 *   - nothing depends on the text of the window, which is the name of a column without another.
 *
 * The scan must not be in another loop, where a window is made only once.  If SQLite prepares the
 * statement again by itself, no scan is planned for the window, and the function fails.  */
#include "libstore/columns_window.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libstore/columns_bytecode.h"
#include "libstore/sql_text.h"

#define NESTED_MOST 32 /* parentheses */
#define FIELDS_MOST 64 /* of a row of the window */

/* ---- The text ---- */

/* "lead(ts) OVER (PARTITION BY cpu ORDER BY ts)", and its argument, without parentheses.  */
struct call {
    const char *start, *end;
    const char *argument, *argument_end;
    int step;
};

/* What was open or closed by parentheses: the word before them, and what they hold.  */
struct group {
    struct sql_word before;
    const char *start, *end;
};

struct reader {
    const char *at, *end;
    struct group open[NESTED_MOST];
    unsigned depth;
    struct sql_word last; /* length 0: no word */
    struct group closed;  /* if the last token is ')' */
    bool is_closed;
    bool is_over;     /* the last word is OVER, after ')' */
    unsigned overs;   /* that were read */
    struct call call; /* of the last one */
    unsigned call_depth;
    bool is_in_window;  /* between its parentheses */
    bool has_partition; /* they begin with PARTITION */
    bool is_wrong;      /* the text has something that is not looked into */
};

/* OVER after "lead(...)" or "lag(...)".  */
static void read_over(struct reader *reader)
{
    struct sql_word name = reader->closed.before;

    reader->overs++;
    reader->is_over = reader->is_closed &&
                      (sql_is_word(&name, "lead") || sql_is_word(&name, "lag"));
    reader->call = (struct call){ .start = name.at,
                                  .argument = reader->closed.start,
                                  .argument_end = reader->closed.end,
                                  .step = sql_is_word(&name, "lead") ? 1 : -1 };
}

static void read_word(struct reader *reader)
{
    struct sql_word word = { .at = reader->at };

    while (reader->at < reader->end && sql_is_letter(*reader->at))
        reader->at++;
    word.length = (size_t)(reader->at - word.at);
    reader->is_over = false;
    if (sql_is_word(&word, "over"))
        read_over(reader);
    /* An unnamed column of a subquery has the text of the window as its name.  */
    reader->is_wrong |= sql_is_word(&word, "natural") || sql_is_word(&word, WINDOW_FUNCTION);
    if (reader->is_in_window && !reader->has_partition) {
        reader->has_partition = sql_is_word(&word, "partition");
        reader->is_wrong |= !reader->has_partition;
    }
    reader->last = word;
    reader->is_closed = false;
}

/* Returns false if parentheses do not match, or too many are open.  */
static bool read_parenthesis(struct reader *reader)
{
    if (*reader->at == '(') {
        if (reader->depth == NESTED_MOST)
            return false;
        if (reader->is_over) {
            reader->call_depth = reader->depth + 1;
            reader->is_in_window = true;
        }
        reader->open[reader->depth++] = (struct group){ .before = reader->last,
                                                        .start = reader->at + 1 };
        reader->is_closed = false;
    } else {
        if (reader->depth == 0)
            return false;
        if (reader->depth == reader->call_depth && !reader->call.end) {
            reader->call.end = reader->at + 1;
            reader->is_in_window = false;
        }
        reader->closed = reader->open[--reader->depth];
        reader->closed.end = reader->at;
        reader->is_closed = true;
    }
    reader->at++;
    return true;
}

/* A name in quotes that may be the text of the window.  */
static bool may_name_window(const char *at, const char *end)
{
    for (; *at != '\'' && at + 4 <= end; at++)
        if (strncasecmp(at, "over", 4) == 0)
            return true;
    return false;
}

/* The only window of a statement, if it has one partition and one order.  */
static bool find_call(const char *sql, size_t length, struct call *out)
{
    struct reader reader = { .at = sql, .end = sql + length };

    while (reader.at < reader.end) {
        const char *quoted = sql_skip_quoted(reader.at, reader.end);
        bool is_comment = quoted && sql_is_comment(reader.at);

        if (is_comment || strchr(" \t\r\n\f", *reader.at)) {
            reader.at = quoted ? quoted : reader.at + 1;
            continue;
        }
        if (!quoted && sql_is_letter(*reader.at)) {
            read_word(&reader);
            continue;
        }
        if (!quoted && (*reader.at == '(' || *reader.at == ')')) {
            if (!read_parenthesis(&reader))
                return false;
        } else {
            reader.is_wrong |= (quoted && may_name_window(reader.at, quoted)) ||
                               (reader.is_in_window && *reader.at == ',');
            reader.at = quoted ? quoted : reader.at + 1;
            reader.is_closed = false;
        }
        reader.is_over = false;
        reader.last.length = 0;
    }
    *out = reader.call;
    return reader.overs == 1 && out->end && out->argument && reader.has_partition &&
           !reader.is_wrong;
}

/* ---- The program of the statement ---- */

/* The only scan of a virtual table; program->count: none, or several.  */
static size_t find_scan(const struct bytecode *program)
{
    size_t scan = program->count;

    for (size_t i = 0; i < program->count; i++) {
        if (program->items[i].operation != FILTER)
            continue;
        if (scan != program->count)
            return program->count;
        scan = i;
    }
    return scan;
}

/* The columns that a loop hands on and does nothing else with.  Returns their number; 0: the loop
 * does more.  */
static unsigned read_fields(const struct bytecode *program, size_t scan, int fields[FIELDS_MOST])
{
    const struct instruction *items = program->items;
    size_t end = bytecode_loop_end(program, scan), i = scan + 1;
    unsigned count = 0;

    if (end == program->count)
        return 0;
    for (; i < end && items[i].operation == VALUE && count < FIELDS_MOST; i++, count++) {
        if (items[i].p1 != items[scan].p1 || items[i].p2 < 0 || items[i].p2 >= SERVED_MOST ||
            items[i].p3 != items[scan + 1].p3 + (int)count)
            return 0;
        fields[count] = items[i].p2;
    }
    return i + 1 == end && strcmp(items[i].name, "Yield") == 0 ? count : 0;
}

/* Whether the rows of the scan go into the tables of the window as they come: SQLite opens these
 * before it takes the first row.  */
static bool feeds_window(const struct bytecode *program, size_t scan)
{
    size_t end = bytecode_loop_end(program, scan);
    bool is_open = false;

    for (size_t i = end + 1; i < program->count; i++) {
        is_open |= bytecode_is_named(program, i, "OpenDup");
        if (bytecode_is_named(program, i, "Yield") &&
            program->items[i].p1 == program->items[end - 1].p1)
            return is_open;
    }
    return false;
}

/* Whether the value of the window is that field of the row beside the current one.  SQLite may
 * compute it in several places.  */
static bool reads_neighbour(const struct bytecode *program, int step, unsigned field)
{
    const char *function = step > 0 ? "lead(1)" : "lag(1)";
    bool is_read = false;

    for (size_t i = 0; i < program->count; i++) {
        if (bytecode_is_named(program, i, "AggValue") &&
            strcmp(program->items[i].detail, function) != 0)
            return false;
        is_read |= bytecode_is_named(program, i, "AddImm") && program->items[i].p2 == step &&
                   bytecode_is_named(program, i + 1, "SeekRowid") &&
                   bytecode_is_named(program, i + 2, "Column") &&
                   program->items[i + 2].p2 == (int)field;
    }
    return is_read;
}

static bool is_integer(const struct store_columns *columns, const struct served_table *served,
                       int column)
{
    const struct served_column *is = &served->columns[column];

    return column < (int)served->count && is->value == SERVED_INTEGER &&
           !columns->sources[served->table].ranges[is->column].has_reals;
}

/* The plan of the scan, and whether its keys are the partition and the order.  */
static bool read_plan(const struct store_columns *columns, const char *text, const int *last_fields,
                      struct columns_window *out)
{
    const char *uses = strchr(text, PLAN_USES);
    size_t length = uses ? (size_t)(uses - text) : 0;
    const struct served_table *served;

    if (!uses || length < 5 || length >= sizeof out->plan || uses[1] < 'A' ||
        (unsigned)(uses[1] - 'A') >= served_table_count || text[length - 5] != '/')
        return false;
    out->table = (unsigned)(uses[1] - 'A');
    served = &served_tables[out->table];
    out->argument = (unsigned)last_fields[2];
    memcpy(out->plan, text, length);
    out->plan[length] = '\0';
    return !served->has_states && text[length - 3] - 'A' == last_fields[0] &&
           text[length - 1] - 'A' == last_fields[1] &&
           is_integer(columns, served, last_fields[0]) &&
           is_integer(columns, served, last_fields[1]) &&
           is_integer(columns, served, last_fields[2]);
}

/* The window of the statement as it is.  */
static bool find_window(struct store_columns *columns, const char *sql, int length,
                        struct columns_window *out)
{
    struct bytecode program = { .count = 0 };
    int fields[FIELDS_MOST];
    unsigned count = 0;
    bool is_right = false;
    int code;

    columns->planning = PLANNED_TO_ASK;
    code = bytecode_read(columns->db, sql, length, &program);
    columns->planning = PLANNED_AS_USUAL;
    if (code == SQLITE_OK) {
        size_t scan = find_scan(&program);

        if (scan < program.count)
            count = read_fields(&program, scan, fields);
        is_right = count >= 3 && feeds_window(&program, scan) &&
                   reads_neighbour(&program, out->step, count - 1) &&
                   read_plan(columns, program.items[scan].detail, &fields[count - 3], out);
    }
    bytecode_release(&program);
    return is_right;
}

/* ---- The program with the function ---- */

/* Whether it calls the function for rows of the scan alone, and these are the window's.  */
static bool calls_well(const struct bytecode *program, const struct columns_window *window)
{
    size_t scan = find_scan(program), end, calls = 0;
    size_t length = strlen(window->plan);

    if (scan == program->count)
        return false;
    end = bytecode_loop_end(program, scan);
    if (end == program->count || strncmp(program->items[scan].detail, window->plan, length) != 0 ||
        program->items[scan].detail[length] != PLAN_OF_WINDOW ||
        bytecode_is_in_loop(program, scan, end))
        return false;
    for (size_t i = 0; i < program->count; i++) {
        bool is_call = bytecode_is_named(program, i, "Function") &&
                       strncmp(program->items[i].detail, WINDOW_FUNCTION "(",
                               sizeof WINDOW_FUNCTION) == 0;

        if ((is_call && (i < scan || i > end)) || bytecode_is_named(program, i, "NullRow") ||
            bytecode_is_named(program, i, "AggValue"))
            return false;
        calls += is_call;
    }
    return calls > 0;
}

static bool is_planned_well(struct store_columns *columns, const char *sql)
{
    struct bytecode program = { .count = 0 };
    bool is_right = bytecode_read(columns->db, sql, (int)strlen(sql), &program) == SQLITE_OK &&
                    calls_well(&program, columns->window);

    bytecode_release(&program);
    return is_right;
}

static sqlite3_stmt *prepare_planned(struct store_columns *columns, const char *sql,
                                     sqlite3_stmt *original)
{
    sqlite3_stmt *statement = NULL;

    if (!is_planned_well(columns, sql) ||
        sqlite3_prepare_v2(columns->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    if (bytecode_are_alike(original, statement))
        return statement;
    (void)sqlite3_finalize(statement);
    return NULL;
}

bool window_prepare(struct store_columns *columns, const char *sql, int length,
                    sqlite3_stmt **statement)
{
    struct columns_window window = { .number = columns->last_window + 1 };
    sqlite3_stmt *other = NULL;
    struct call call;
    char *text;

    /* Where a parameter is bound, SQLite may prepare the statement again.  */
    if (sqlite3_bind_parameter_count(*statement) > 0 || !find_call(sql, (size_t)length, &call))
        return false;
    window.step = call.step;
    if (!find_window(columns, sql, length, &window))
        return false;
    text = sqlite3_mprintf("%.*s " WINDOW_FUNCTION "(%d, %u, %lld, %.*s\n) %.*s",
                           (int)(call.start - sql), sql, window.step, window.argument,
                           (long long)window.number, (int)(call.argument_end - call.argument),
                           call.argument, (int)(sql + length - call.end), call.end);
    if (!text)
        return false;
    columns->last_window++;
    columns->planning = PLANNED_FOR_WINDOW;
    columns->window = &window;
    other = prepare_planned(columns, text, *statement);
    columns->planning = PLANNED_AS_USUAL;
    columns->window = NULL;
    sqlite3_free(text);
    if (!other)
        return false;
    (void)sqlite3_finalize(*statement);
    *statement = other;
    return true;
}

bool window_is_of(const struct columns_vtab *table)
{
    const struct store_columns *columns = table->columns;

    return columns->planning == PLANNED_FOR_WINDOW && columns->window &&
           table->served == &served_tables[columns->window->table];
}

/* ---- Rows ---- */

void window_leave(struct columns_cursor *cursor)
{
    struct columns_cursor **at = &cursor_table(cursor)->columns->in_windows;

    while (*at && *at != cursor)
        at = &(*at)->next_in_window;
    if (*at)
        *at = cursor->next_in_window;
    (void)sqlite3_finalize(cursor->beside);
    cursor->beside = NULL;
    cursor->window_number = 0;
}

/* Start a second statement on the plain table: for lead() it is always one row further than the
 * first, for lag() one row less far.  */
static int start_beside(struct columns_cursor *cursor)
{
    char *sql = sqlite3_expanded_sql(cursor->plain);
    int code = sql ? sqlite3_prepare_v2(cursor_table(cursor)->columns->db, sql, -1, &cursor->beside,
                                        NULL)
                   : SQLITE_NOMEM;

    sqlite3_free(sql);
    cursor->is_beside = cursor->window_step > 0; /* else window_next_plain() takes it as ended */
    for (int i = 0; i < 2 && code == SQLITE_OK && cursor->window_step > 0; i++)
        code = window_next_plain(cursor);
    return code;
}

int window_next_plain(struct columns_cursor *cursor)
{
    int code;

    if (cursor->window_step > 0 && !cursor->is_beside) /* SQLite would begin an ended one again */
        return SQLITE_OK;
    code = sqlite3_step(cursor->beside);
    cursor->is_beside = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int window_start(struct columns_cursor *cursor, const char *text, int argc, sqlite3_value **argv)
{
    struct columns_vtab *table = cursor_table(cursor);
    const char *mark = strchr(text, PLAN_OF_WINDOW);
    struct columns_key partition;
    int code;

    window_leave(cursor);
    code = rows_start(cursor, PLAN_ROWS, text, argc, argv);
    if (code != SQLITE_OK)
        return code;
    cursor->partition = (unsigned)(mark[-3] - 'A');
    (void)columns_key_of(table->served, (int)cursor->partition, false, &partition);
    cursor->partition_column = partition.column;
    cursor->window_step = mark[1] == '+' ? 1 : -1;
    cursor->window_number = strtoll(mark + 2, NULL, 10);
    cursor->next_in_window = table->columns->in_windows;
    table->columns->in_windows = cursor;
    return cursor->plain && !cursor->at_end ? start_beside(cursor) : SQLITE_OK;
}

/* The value of a column of any row.  SQLite's code.  */
static int value_at(struct columns_cursor *cursor, int64_t row, unsigned column, bool *is_null,
                    int64_t *out)
{
    const struct columns_directory *directory = &cursor->source->directory;
    const struct block *block;
    int64_t first = cursor->first;
    int code;

    if (row >= cursor->first && row < cursor->limit) {
        code = cursor_block(cursor, column, &block);
    } else {
        size_t group = columns_group_of_row(directory, row);

        first = directory->groups[group].first_row;
        code = columns_view(cursor_table(cursor)->columns, cursor_table(cursor)->served->table,
                            group, column, &block);
    }
    if (code == SQLITE_OK && (block->flags & (BLOCK_ALL_REAL | BLOCK_HAS_REALS)))
        code = SQLITE_CORRUPT_VTAB;
    if (code == SQLITE_OK)
        *is_null = block_is_null(block, (unsigned)(row - first));
    if (code == SQLITE_OK && !*is_null)
        *out = block_value(block, (unsigned)(row - first));
    return code;
}

static int result_of_columns(struct columns_cursor *cursor, sqlite3_context *context,
                             unsigned column)
{
    bool is_null = false, is_other_null = false;
    int64_t value = 0, other = 0;
    size_t at = cursor->at + (size_t)cursor->window_step;
    int code;

    if (at >= cursor->count) /* also before the first one */
        return SQLITE_OK;
    code = value_at(cursor, cursor->row, cursor->partition_column, &is_null, &value);
    if (code == SQLITE_OK)
        code = value_at(cursor, cursor->list[at], cursor->partition_column, &is_other_null, &other);
    if (code != SQLITE_OK || is_null != is_other_null || value != other)
        return code;
    code = value_at(cursor, cursor->list[at], cursor_table(cursor)->served->columns[column].column,
                    &is_null, &value);
    if (code == SQLITE_OK && !is_null)
        sqlite3_result_int64(context, value);
    return code;
}

/* Whether the rows are of one partition, as SQLite compares values.  SQLite's code.  */
static int compare_plain(const struct columns_cursor *cursor, bool *out)
{
    int column = (int)cursor->partition;
    sqlite3_stmt *compare = NULL;
    int code = sqlite3_prepare_v2(cursor_table(cursor)->columns->db, "SELECT ?1 IS ?2", -1,
                                  &compare, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_value(compare, 1, sqlite3_column_value(cursor->plain, column));
    if (code == SQLITE_OK)
        code = sqlite3_bind_value(compare, 2, sqlite3_column_value(cursor->beside, column));
    if (code == SQLITE_OK && (code = sqlite3_step(compare)) == SQLITE_ROW) {
        *out = sqlite3_column_int(compare, 0) != 0;
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(compare);
    return code;
}

static int result_of_plain(const struct columns_cursor *cursor, sqlite3_context *context,
                           unsigned column)
{
    bool is_same = false;
    int code = cursor->is_beside ? compare_plain(cursor, &is_same) : SQLITE_OK;

    if (code == SQLITE_OK && is_same)
        sqlite3_result_value(context, sqlite3_column_value(cursor->beside, (int)column));
    return code;
}

/* ---- The function ---- */

static struct columns_cursor *find_cursor(const struct store_columns *columns, int64_t number)
{
    struct columns_cursor *cursor = columns->in_windows;

    while (cursor && cursor->window_number != number)
        cursor = cursor->next_in_window;
    return cursor;
}

static void neighbour(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct store_columns *columns = sqlite3_user_data(context);
    struct columns_cursor *cursor = find_cursor(columns, sqlite3_value_int64(argv[2]));
    int64_t column = sqlite3_value_int64(argv[1]);
    int code;

    (void)argc;
    if (!cursor || cursor->at_end || column < 0 || column >= cursor_table(cursor)->served->count) {
        sqlite3_result_error(context,
                             WINDOW_FUNCTION
                             "() is called for lead() and lag() alone; a query with "
                             "these has to be prepared again",
                             -1);
        return;
    }
    code = cursor->plain ? result_of_plain(cursor, context, (unsigned)column)
                         : result_of_columns(cursor, context, (unsigned)column);
    if (code != SQLITE_OK)
        sqlite3_result_error_code(context, code);
}

int window_register(struct store_columns *columns)
{
    columns->references++;
    return sqlite3_create_function_v2(columns->db, WINDOW_FUNCTION, 4,
                                      SQLITE_UTF8 | SQLITE_DIRECTONLY, columns, neighbour, NULL,
                                      NULL, columns_drop);
}
