/* The virtual table thread_state: the rows of sched_slice except idle CPUs, and those of
 * thread_wait, as the view of that name defines them.  Each part is a cursor on its table, which
 * finds rows by its columns.  Only columns that the query reads are computed.  */
#include "libstore/columns_combine.h"

#include <stdlib.h>

#define RUNNING      "Running"
#define LETTER_WAKES 'W' /* a state that has a waker */
/* States of one letter up to this one come before Running.  */
#define LETTER_BEFORE_RUNNING 'R'

/* Columns of the parts as they are served: libstore/columns_table.c.  */
enum { RUN_TS = 1, RUN_DUR, RUN_CPU, RUN_UTID };
enum { WAIT_TS = 1, WAIT_DUR, WAIT_UTID, WAIT_STATE, WAIT_WAKER };

struct states_cursor {
    struct columns_cursor *parts[STATES_PARTS];
    unsigned part;      /* of the row */
    bool is_part_of_id; /* one row was asked for */
    char order;         /* of states: '+', '-'; '\0': none */
    bool has_state;     /* only rows of the state, by its number */
    bool runs, waits;   /* the parts that may have rows */
    int64_t state;
};

bool states_are_there(const struct store_columns *columns)
{
    return columns->are_current && columns->sources[COLUMNS_SCHED].is_there &&
           columns->sources[COLUMNS_WAIT].is_there &&
           columns->sources[COLUMNS_SCHED].ranges[RUN_UTID - 1].minimum >= 0;
}

bool states_can_order(const struct store_columns *columns)
{
    struct columns_key key = { .column = 3, .text = -1 }; /* of thread_wait */

    return states_are_there(columns) && columns_can_order(columns, COLUMNS_WAIT, &key);
}

/* ---- Values of the parts ---- */

/* A value of the current row; false: NULL.  */
static int part_value(struct columns_cursor *part, int number, bool *has, int64_t *out)
{
    unsigned column = cursor_table(part)->served->columns[number].column;
    const struct block *block;
    int code = cursor_block(part, column, &block);

    if (code != SQLITE_OK)
        return code;
    *has = !block_is_null(block, cursor_at(part));
    *out = *has ? block_value(block, cursor_at(part)) : 0;
    return SQLITE_OK;
}

/* The state of a row, which may be given in place of others: then it is their only key.  */
static int state_of(struct columns_cursor *wait, int64_t *out)
{
    bool has = false;

    if (!wait->is_made)
        return part_value(wait, WAIT_STATE, &has, out);
    *out = wait->combined->columns[0].key.value;
    return SQLITE_OK;
}

/* ---- From row to row ---- */

/* Which part has the next row.  Without an order, those on a CPU come first.  */
static int choose_part(struct columns_cursor *cursor)
{
    struct states_cursor *states = cursor->states;
    struct columns_cursor *run = states->parts[STATES_RUN], *wait = states->parts[STATES_WAIT];
    bool has_run = states->runs && !columns_at_end(&run->base);
    bool has_wait = states->waits && !columns_at_end(&wait->base), is_before = false;
    int64_t letter = 0;
    int code = SQLITE_OK;

    cursor->at_end = !has_run && !has_wait;
    if (states->order && has_run && has_wait) {
        code = state_of(wait, &letter);
        is_before = (letter <= LETTER_BEFORE_RUNNING) == (states->order == '+');
    }
    states->part = !has_run || is_before ? STATES_WAIT : STATES_RUN;
    return code;
}

int states_next(struct columns_cursor *cursor)
{
    struct states_cursor *states = cursor->states;
    int code;

    if (states->is_part_of_id) {
        cursor->at_end = true;
        return SQLITE_OK;
    }
    code = columns_next(&states->parts[states->part]->base);
    return code == SQLITE_OK ? choose_part(cursor) : code;
}

/* ---- Beginning ---- */

static int open_parts(struct columns_cursor *cursor)
{
    struct columns_vtab *table = cursor_table(cursor);
    int code = SQLITE_OK;

    if (!cursor->states)
        cursor->states = calloc(1, sizeof *cursor->states);
    if (!cursor->states)
        return SQLITE_NOMEM;
    for (unsigned i = 0; i < STATES_PARTS && code == SQLITE_OK; i++) {
        sqlite3_vtab_cursor *part = NULL;

        if (cursor->states->parts[i])
            continue;
        code = columns_open_cursor(&table->parts[i].base, &part);
        if (code == SQLITE_OK) {
            part->pVtab = &table->parts[i].base;
            cursor->states->parts[i] = (struct columns_cursor *)part;
        }
    }
    return code;
}

/* One row by its id: even ids are those on a CPU.  */
static int start_id(struct columns_cursor *cursor, sqlite3_value *value)
{
    struct states_cursor *states = cursor->states;
    struct columns_cursor *part;
    int64_t id, high, thread = 0;
    bool found = false;
    int code;

    cursor->at_end = true;
    states->is_part_of_id = true;
    if (!rows_bounds('=', value, &id, &high))
        return SQLITE_OK;
    states->part = id & 1 ? STATES_WAIT : STATES_RUN;
    part = states->parts[states->part];
    combined_release(part);
    code = rows_start_id(part, (id - (id & 1)) / 2);
    if (code != SQLITE_OK || part->at_end)
        return code;
    if (states->part == STATES_RUN) /* not of an idle CPU */
        code = part_value(part, RUN_UTID, &found, &thread);
    cursor->at_end = states->part == STATES_RUN && (!found || thread == 0);
    return code;
}

/* Take over a state that the query asks for.  SQLite itself compares values other than text.  */
static void want_state(struct states_cursor *states, sqlite3_value *value)
{
    const char *text;
    int64_t number;

    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return;
    text = (const char *)sqlite3_value_text(value);
    if (!text) /* memory is short: SQLite compares */
        return;
    if (!block_text_number(text, (size_t)sqlite3_value_bytes(value), &number)) {
        states->runs = states->waits = false;
        return;
    }
    states->runs = states->runs && strcmp(text, RUNNING) == 0;
    states->waits = states->waits && (!states->has_state || states->state == number);
    states->has_state = true;
    states->state = number;
}

/* What the parts are asked, in their own letters.  */
struct asked {
    char text[PLAN_TEXT_MOST];
    int length;
};

static void ask(struct asked *asked, char operation, int number)
{
    asked->text[asked->length++] = operation;
    asked->text[asked->length++] = (char)('A' + number);
}

/* The column of a part that has the values of another column; 0: it has none.  */
static int part_number(unsigned part, const struct served_column *is)
{
    bool is_wait = part == STATES_WAIT;

    switch (is->value) {
    case SERVED_STATE_INTEGER: /* the thread follows the CPU in one of the parts */
        return is_wait && is->column == RUN_UTID - 1 ? WAIT_UTID : is->column + 1;
    case SERVED_STATE_CPU:
        return is_wait ? 0 : RUN_CPU;
    case SERVED_STATE:
        return is_wait ? WAIT_STATE : 0;
    default:
        return 0;
    }
}

/* Whether sums of the parts are those that SQLite finds in their rows.  */
static bool adds_up(const struct columns_vtab *table, const struct served_column *is)
{
    struct columns_range both = { .minimum = INT64_MAX, .maximum = INT64_MIN };
    int64_t rows = 0;

    for (unsigned i = 0; i < STATES_PARTS; i++) {
        const struct columns_source *source = columns_source_of(&table->parts[i]);
        int number = part_number(i, is);
        const struct columns_range *range;

        if (number == 0)
            continue;
        range = &source->ranges[table->parts[i].served->columns[number].column];
        both.has_reals |= range->has_reals;
        both.minimum = range->minimum < both.minimum ? range->minimum : both.minimum;
        both.maximum = range->maximum > both.maximum ? range->maximum : both.maximum;
        rows += source->directory.rows;
    }
    return combined_adds_up(&both, rows);
}

/* Let the parts combine rows, each its own; then their rows have the sums that are asked for.  */
static void ask_to_combine(const struct columns_vtab *table, const char *uses,
                           struct asked asked[STATES_PARTS])
{
    for (const char *at = uses; *at; at += 2)
        if (((at[0] - '@') & USE_SUM) && !adds_up(table, &table->served->columns[at[1] - 'A']))
            return;
    for (unsigned i = 0; i < STATES_PARTS; i++) {
        asked[i].text[asked[i].length++] = PLAN_USES;
        for (const char *at = uses; *at; at += 2) {
            int number = part_number(i, &table->served->columns[at[1] - 'A']);

            if (number > 0) /* else it is constant in this part */
                ask(&asked[i], at[0], number);
        }
    }
}

/* What no condition of a query says: no idle CPUs, and only one state.  */
static void add_always(const struct states_cursor *states)
{
    struct columns_cursor *run = states->parts[STATES_RUN], *wait = states->parts[STATES_WAIT];

    run->has_always = true;
    run->always =
        (struct condition){ .column = RUN_UTID - 1, .text = -1, .low = 1, .high = INT64_MAX };
    wait->has_always = states->has_state;
    wait->always = (struct condition){
        .column = WAIT_STATE - 1, .text = -1, .low = states->state, .high = states->state
    };
}

static int start_parts(struct columns_cursor *cursor, struct asked asked[STATES_PARTS], int argc,
                       sqlite3_value **argv)
{
    struct states_cursor *states = cursor->states;
    const bool may[STATES_PARTS] = { states->runs, states->waits };
    int code = SQLITE_OK;

    add_always(states);
    for (unsigned i = 0; i < STATES_PARTS && code == SQLITE_OK; i++) {
        asked[i].text[asked[i].length] = '\0';
        if (may[i])
            code = columns_filter(&states->parts[i]->base, PLAN_ROWS, asked[i].text, argc, argv);
    }
    return code == SQLITE_OK ? choose_part(cursor) : code;
}

/* The conditions of a plan, for both parts, but one on the state.  Returns how many there are, with
 * their values.  */
static int ask_conditions(struct columns_cursor *cursor, const char *text, sqlite3_value **argv,
                          struct asked asked[STATES_PARTS], sqlite3_value **values)
{
    const struct columns_vtab *table = cursor_table(cursor);
    int count = 0;

    for (; *text != '/'; text += 2, argv++) {
        const struct served_column *is = &table->served->columns[text[1] - 'A'];

        if (is->value == SERVED_STATE) {
            want_state(cursor->states, *argv);
            continue;
        }
        for (unsigned i = 0; i < STATES_PARTS; i++)
            ask(&asked[i], *text, part_number(i, is));
        values[count++] = *argv;
    }
    return count;
}

int states_start(struct columns_cursor *cursor, int plan, const char *text, sqlite3_value **argv)
{
    struct asked asked[STATES_PARTS] = { { .length = 0 } };
    sqlite3_value *values[CONDITIONS_MOST];
    struct states_cursor *states;
    const char *uses = strchr(text, PLAN_USES), *keys = strchr(text, '/') + 1;
    int count, code = open_parts(cursor);

    if (code != SQLITE_OK)
        return code;
    states = cursor->states;
    if (plan == PLAN_ID)
        return start_id(cursor, argv[0]);
    states->is_part_of_id = states->has_state = false;
    states->runs = states->waits = true;
    count = ask_conditions(cursor, text, argv, asked, values);
    states->order = plan_has_key(keys) ? keys[0] : '\0';
    for (unsigned i = 0; i < STATES_PARTS; i++)
        asked[i].text[asked[i].length++] = '/';
    if (states->order)
        ask(&asked[STATES_WAIT], states->order, WAIT_STATE);
    if (uses)
        ask_to_combine(cursor_table(cursor), uses + 1, asked);
    return start_parts(cursor, asked, count, values);
}

void states_release(struct columns_cursor *cursor)
{
    for (unsigned i = 0; cursor->states && i < STATES_PARTS; i++)
        if (cursor->states->parts[i])
            (void)columns_close_cursor(&cursor->states->parts[i]->base);
    free(cursor->states);
    cursor->states = NULL;
}

/* ---- Values ---- */

int64_t states_rowid(const struct columns_cursor *cursor)
{
    const struct states_cursor *states = cursor->states;

    return 2 * columns_id_of(states->parts[states->part]) + (states->part == STATES_WAIT);
}

/* Who made a thread runnable; without a recorded waker, the thread itself.  */
static int result_waker(struct columns_cursor *wait, sqlite3_context *context)
{
    int64_t state = 0, waker = 0;
    bool has = false;
    int code = part_value(wait, WAIT_STATE, &has, &state);

    if (code != SQLITE_OK || state != LETTER_WAKES)
        return code;
    code = part_value(wait, WAIT_WAKER, &has, &waker);
    if (code == SQLITE_OK && !has)
        code = part_value(wait, WAIT_UTID, &has, &waker);
    if (code == SQLITE_OK && has)
        sqlite3_result_int64(context, waker);
    return code;
}

static int result_capture(struct store_columns *columns, int64_t utid, sqlite3_context *context)
{
    int code = SQLITE_OK;

    if (!columns->thread)
        code = sqlite3_prepare_v3(columns->db,
                                  "SELECT p.capture_id FROM main.thread AS t JOIN main.process AS "
                                  "p ON p.id = t.upid WHERE t.id = ?1",
                                  -1, SQLITE_PREPARE_PERSISTENT, &columns->thread, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(columns->thread, 1, utid);
    if (code == SQLITE_OK)
        code = sqlite3_step(columns->thread);
    if (code == SQLITE_ROW)
        sqlite3_result_value(context, sqlite3_column_value(columns->thread, 0));
    if (columns->thread)
        (void)sqlite3_reset(columns->thread);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int states_column(struct columns_cursor *cursor, sqlite3_context *context,
                  const struct served_column *is)
{
    const struct states_cursor *states = cursor->states;
    struct columns_cursor *part = states->parts[states->part];
    bool is_wait = states->part == STATES_WAIT, has = false;
    int64_t utid = 0;
    int code, number;

    switch (is->value) {
    case SERVED_STATE_ID:
        sqlite3_result_int64(context, states_rowid(cursor));
        return SQLITE_OK;
    case SERVED_STATE_INTEGER:
    case SERVED_STATE_CPU:
    case SERVED_STATE:
        number = part_number(states->part, is);
        if (number > 0)
            return columns_column(&part->base, context, number);
        if (is->value == SERVED_STATE)
            sqlite3_result_text(context, RUNNING, sizeof RUNNING - 1, SQLITE_STATIC);
        return SQLITE_OK;
    case SERVED_WAKER:
        return is_wait ? result_waker(part, context) : SQLITE_OK;
    default:
        code = part_value(part, is_wait ? WAIT_UTID : RUN_UTID, &has, &utid);
        return code == SQLITE_OK && has
                   ? result_capture(cursor_table(cursor)->columns, utid, context)
                   : code;
    }
}
