/* The virtual table thread_state: the rows of sched_slice except idle CPUs, and those of
 * thread_wait, as the view of that name defines them.  Each part is a cursor on its table, which
 * finds rows by its columns.  Only columns that the query reads are computed.  */
#include "libstore/columns_table.h"

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
           columns->sources[COLUMNS_WAIT].is_there;
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

/* Whether the part's row is one.  */
static int is_row(const struct states_cursor *states, unsigned number, bool *out)
{
    struct columns_cursor *part = states->parts[number];
    int64_t value = 0;
    bool has = false;
    int code;

    *out = true;
    if (number == STATES_WAIT && !states->has_state)
        return SQLITE_OK;
    code = part_value(part, number == STATES_RUN ? RUN_UTID : WAIT_STATE, &has, &value);
    if (number == STATES_RUN)
        *out = has && value != 0;
    else
        *out = has && value == states->state;
    return code;
}

/* ---- From row to row ---- */

/* The part's next row that is one, from the current row on.  */
static int settle_part(const struct states_cursor *states, unsigned number)
{
    struct columns_cursor *part = states->parts[number];
    bool found = false;
    int code = SQLITE_OK;

    while (code == SQLITE_OK && !part->at_end) {
        code = is_row(states, number, &found);
        if (code != SQLITE_OK || found)
            break;
        code = rows_next(part);
    }
    return code;
}

/* Which part has the next row.  Without an order, those on a CPU come first.  */
static int choose_part(struct columns_cursor *cursor)
{
    struct states_cursor *states = cursor->states;
    struct columns_cursor *run = states->parts[STATES_RUN], *wait = states->parts[STATES_WAIT];
    int64_t letter = 0;
    bool has = false, is_before = false;
    int code = SQLITE_OK;

    cursor->at_end = run->at_end && wait->at_end;
    if (states->order && !run->at_end && !wait->at_end) {
        code = part_value(wait, WAIT_STATE, &has, &letter);
        is_before = (letter <= LETTER_BEFORE_RUNNING) == (states->order == '+');
    }
    states->part = run->at_end || is_before ? STATES_WAIT : STATES_RUN;
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
    code = rows_next(states->parts[states->part]);
    if (code == SQLITE_OK)
        code = settle_part(states, states->part);
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
    int64_t id, high;
    bool found = false;
    int code;

    cursor->at_end = true;
    states->is_part_of_id = true;
    states->has_state = false;
    if (!rows_bounds('=', value, &id, &high))
        return SQLITE_OK;
    states->part = id & 1 ? STATES_WAIT : STATES_RUN;
    code = rows_start_id(states->parts[states->part], (id - (id & 1)) / 2);
    if (code != SQLITE_OK || states->parts[states->part]->at_end)
        return code;
    code = is_row(states, states->part, &found);
    cursor->at_end = !found;
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
    char text[2 * (CONDITIONS_MOST + KEYS_MOST) + 2];
    int length;
};

static char letter_of(const struct served_table *part, uint8_t column, bool is_wait)
{
    /* ts and dur are the first columns of both; the thread follows the CPU in one of them */
    unsigned number = is_wait && column == RUN_UTID - 1 ? WAIT_UTID : column + 1u;

    return (char)('A' + (number < part->count ? number : 0));
}

static void ask(struct asked *asked, char operation, char letter)
{
    asked->text[asked->length++] = operation;
    asked->text[asked->length++] = letter;
}

static int start_parts(struct columns_cursor *cursor, struct asked asked[STATES_PARTS], int argc,
                       sqlite3_value **argv)
{
    struct states_cursor *states = cursor->states;
    const bool may[STATES_PARTS] = { states->runs, states->waits };
    int code = SQLITE_OK;

    for (unsigned i = 0; i < STATES_PARTS && code == SQLITE_OK; i++) {
        ask(&asked[i], '/', '\0');
        if (i == STATES_WAIT && states->order) {
            asked[i].length--;
            ask(&asked[i], states->order, (char)('A' + WAIT_STATE));
        }
        asked[i].text[asked[i].length] = '\0';
        states->parts[i]->at_end = true;
        if (may[i])
            code = rows_start(states->parts[i], PLAN_ROWS, asked[i].text, argc, argv);
        if (code == SQLITE_OK && may[i])
            code = settle_part(states, i);
    }
    return code == SQLITE_OK ? choose_part(cursor) : code;
}

int states_start(struct columns_cursor *cursor, int plan, const char *text, int argc,
                 sqlite3_value **argv)
{
    const struct columns_vtab *table = cursor_table(cursor);
    struct asked asked[STATES_PARTS] = { { .length = 0 } };
    sqlite3_value *values[CONDITIONS_MOST];
    struct states_cursor *states;
    int count = 0, code = open_parts(cursor);

    if (code != SQLITE_OK)
        return code;
    states = cursor->states;
    if (plan == PLAN_ID)
        return start_id(cursor, argv[0]);
    states->is_part_of_id = states->has_state = false;
    states->runs = states->waits = true;
    for (int i = 0; i < argc && *text != '/'; i++, text += 2) {
        const struct served_column *is = &table->served->columns[text[1] - 'A'];

        if (is->value == SERVED_STATE) {
            want_state(states, argv[i]);
            continue;
        }
        for (unsigned p = 0; p < STATES_PARTS; p++)
            ask(&asked[p], *text, letter_of(table->parts[p].served, is->column, p == STATES_WAIT));
        values[count++] = argv[i];
    }
    states->order = plan_has_key(text + 1) ? text[1] : '\0';
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

int states_value(struct columns_cursor *cursor, const struct served_column *is, bool *has,
                 int64_t *out)
{
    const struct states_cursor *states = cursor->states;
    struct columns_cursor *part = states->parts[states->part];
    bool is_wait = states->part == STATES_WAIT;

    *has = !is_wait;
    *out = 0;
    if (is->value == SERVED_STATE && is_wait)
        return part_value(part, WAIT_STATE, has, out);
    if (is->value == SERVED_STATE)
        (void)block_text_number(RUNNING, sizeof RUNNING - 1, out);
    else if (is->value != SERVED_STATE_CPU)
        return part_value(part, letter_of(cursor_table(part)->served, is->column, is_wait) - 'A',
                          has, out);
    else if (!is_wait)
        return part_value(part, RUN_CPU, has, out);
    return SQLITE_OK;
}

/* A column that both parts have, or a column of the part's own.  */
static int part_column(struct columns_cursor *cursor, sqlite3_context *context, int number)
{
    return columns_column(&cursor->states->parts[cursor->states->part]->base, context, number);
}

int states_column(struct columns_cursor *cursor, sqlite3_context *context,
                  const struct served_column *is)
{
    const struct states_cursor *states = cursor->states;
    struct columns_cursor *part = states->parts[states->part];
    bool is_wait = states->part == STATES_WAIT, has = false;
    int64_t utid = 0;
    int code;

    switch (is->value) {
    case SERVED_STATE_ID:
        sqlite3_result_int64(context, states_rowid(cursor));
        return SQLITE_OK;
    case SERVED_STATE_INTEGER:
        return part_column(cursor, context,
                           letter_of(cursor_table(part)->served, is->column, is_wait) - 'A');
    case SERVED_STATE_CPU:
        return is_wait ? SQLITE_OK : part_column(cursor, context, RUN_CPU);
    case SERVED_STATE:
        if (is_wait)
            return part_column(cursor, context, WAIT_STATE);
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
