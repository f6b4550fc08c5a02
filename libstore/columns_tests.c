/* Tests of rows before SQLite sees them: a stack machine that works on many rows at a time.  */
#include "libstore/columns_tests.h"

#include <stdlib.h>

/* Tests go on if at least one row of so many fails.  */
#define ROWS_BEFORE_OFF 8192U
#define LEAST_FAILING   8U

/* States of values: NULL; not known here, such as a real.  Two states are one by |.  */
enum { IS_NULL = 1, IS_UNKNOWN = 2 };

/* ---- Making tests of their text ---- */

static const char *read_number(const char *text, int64_t *out)
{
    char *end;

    *out = strtoll(text, &end, 10);
    return *end == ';' ? end + 1 : NULL;
}

/* How many values a step pops and pushes.  Returns false if there is no such step.  */
static bool effect_of(char operation, unsigned *takes, unsigned *leaves)
{
    if (!operation)
        return false;
    *leaves = strchr("ab#*+-", operation) ? 1 : 0;
    if (strchr("ab#", operation))
        *takes = 0;
    else if (strchr("NV", operation))
        *takes = 1;
    else if (strchr("*+-=!<(>)enlmgh", operation))
        *takes = 2;
    else
        return false;
    return true;
}

/* Returns the text after a step, or NULL if it makes no sense.  */
static const char *read_step(const struct tests *tests, const struct served_table *own,
                             const char *text, struct test_step *step)
{
    const struct served_table *served = *text == 'a' ? own : tests->other.served;

    *step = (struct test_step){ .operation = *text++ };
    if (step->operation == '#')
        return read_number(text, &step->number);
    if (step->operation != 'a' && step->operation != 'b')
        return text;
    if (!served || *text < 'A' || *text >= (char)('A' + served->count))
        return NULL;
    step->column = &served->columns[*text - 'A'];
    return text + 1;
}

static bool read_steps(struct tests *tests, const struct served_table *own, const char *text)
{
    unsigned depth = 0, takes, leaves;

    while (*text) {
        struct test_step *step = &tests->steps[tests->step_count];

        if (tests->step_count == TEST_STEPS_MOST)
            return false;
        text = read_step(tests, own, text, step);
        if (!text || !effect_of(step->operation, &takes, &leaves) || depth < takes)
            return false;
        depth = depth - takes + leaves;
        if (depth > TEST_DEPTH_MOST)
            return false;
        tests->step_count++;
    }
    return depth == 0;
}

static const char *read_lookup(struct tests *tests, const struct served_table *own,
                               struct store_columns *columns, const char *text)
{
    if (*text != PLAN_TABLE)
        return text;
    if (text[1] < 'A' || text[1] >= (char)('A' + served_table_count) || text[2] < 'A' ||
        text[2] >= (char)('A' + own->count))
        return NULL;
    tests->has_lookup = true;
    tests->other.columns = columns;
    tests->other.served = &served_tables[text[1] - 'A'];
    tests->looked_up.base.pVtab = &tests->other.base;
    tests->key = (uint8_t)(text[2] - 'A');
    return text + 3;
}

/* Returns false if the text makes no sense, or needs more than there is room for.  */
static bool read_tests(struct columns_cursor *cursor, struct tests *tests)
{
    const struct columns_vtab *table = cursor_table(cursor);
    const char *text = read_lookup(tests, table->served, table->columns, tests->text);

    return text && read_steps(tests, table->served, text);
}

void tests_release(struct columns_cursor *cursor)
{
    if (!cursor->tests)
        return;
    if (cursor->tests->has_lookup)
        rows_release(&cursor->tests->looked_up);
    free(cursor->tests->text);
    free(cursor->tests);
    cursor->tests = NULL;
}

int tests_start(struct columns_cursor *cursor, const char *text)
{
    struct tests *tests = cursor->tests;

    text = strchr(text, PLAN_TESTS);
    if (!text || !text[1]) {
        tests_release(cursor);
        return SQLITE_OK;
    }
    text += 2;
    if (!tests || strcmp(tests->text, text) != 0) {
        tests_release(cursor);
        tests = calloc(1, sizeof *tests);
        if (!tests)
            return SQLITE_NOMEM;
        cursor->tests = tests;
        tests->text = strdup(text);
        if (!tests->text || !read_tests(cursor, tests)) {
            int code = tests->text ? SQLITE_OK : SQLITE_NOMEM;

            tests_release(cursor);
            return code;
        }
    }
    tests->first = tests->limit = 0;
    if (!tests->has_lookup)
        return SQLITE_OK;
    rows_release(&tests->looked_up);
    if (!tests->looked_up.source->is_there)
        tests_release(cursor);
    return SQLITE_OK;
}

/* ---- Values ---- */

/* Columns of the cursor's rows from tests->first on.  */
static int read_own(struct columns_cursor *cursor, const struct served_column *column,
                    unsigned count, int64_t *numbers, uint8_t *states)
{
    const struct block *block;
    unsigned at = (unsigned)(cursor->tests->first - cursor->first);
    int code;

    memset(states, 0, count);
    if (column->value == SERVED_ID) {
        for (unsigned i = 0; i < count; i++)
            numbers[i] = cursor->first_id + at + i;
        return SQLITE_OK;
    }
    code = cursor_block(cursor, column->column, &block);
    if (code != SQLITE_OK)
        return code;
    if (block->flags & BLOCK_HAS_OTHERS) {
        memset(states, block->flags & BLOCK_ALL_NULL ? IS_NULL : IS_UNKNOWN, count);
        return SQLITE_OK;
    }
    for (unsigned i = 0; i < count; i++)
        numbers[i] = block_value(block, at + i);
    for (unsigned i = 0; block->nulls && i < count; i++)
        states[i] = block_bit(block->nulls, at + i); /* IS_NULL */
    return SQLITE_OK;
}

/* A column of one row that was looked up.  */
static int read_other(struct columns_cursor *other, const struct served_column *column,
                      int64_t *number, uint8_t *state)
{
    const struct block *block;
    unsigned at = cursor_at(other);
    int code;

    *state = 0;
    if (column->value == SERVED_ID) {
        *number = columns_id_of(other);
        return SQLITE_OK;
    }
    code = cursor_block(other, column->column, &block);
    if (code != SQLITE_OK)
        return code;
    if (block_is_null(block, at))
        *state = IS_NULL;
    else if (block->flags & BLOCK_HAS_OTHERS)
        *state = IS_UNKNOWN;
    else
        *number = block_value(block, at);
    return SQLITE_OK;
}

static void fail(struct tests *tests, unsigned i)
{
    tests->fails[i / 64] |= UINT64_C(1) << (i % 64);
}

/* The column of the row that each row refers to.  */
static int read_others(struct tests *tests, const struct served_column *column, unsigned count,
                       struct test_values *out)
{
    struct columns_cursor *other = &tests->looked_up;

    for (unsigned i = 0; i < count; i++) {
        int code = SQLITE_OK;

        out->states[i] = IS_UNKNOWN;
        if (tests->id_states[i] != 0 || tests_has_failed(tests, tests->first + i))
            continue;
        code = rows_start_id(other, tests->ids[i]);
        if (code == SQLITE_OK && other->at_end)
            fail(tests, i);
        else if (code == SQLITE_OK)
            code = read_other(other, column, &out->numbers[i], &out->states[i]);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* ---- Steps ---- */

static void compute(char operation, struct test_values *left, const struct test_values *right,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t a = left->numbers[i], b = right->numbers[i];
        bool is_too_large;

        left->states[i] |= right->states[i];
        if (left->states[i])
            continue;
        if (operation == '*')
            is_too_large = __builtin_mul_overflow(a, b, &left->numbers[i]);
        else if (operation == '+')
            is_too_large = __builtin_add_overflow(a, b, &left->numbers[i]);
        else
            is_too_large = __builtin_sub_overflow(a, b, &left->numbers[i]);
        if (is_too_large)
            left->states[i] = IS_UNKNOWN; /* SQLite goes on with a real */
    }
}

static bool compares(char operation, int64_t a, int64_t b)
{
    switch (operation) {
    case '=':
    case 'e':
        return a == b;
    case '!':
    case 'n':
        return a != b;
    case '<':
    case 'l':
        return a < b;
    case '(':
    case 'm':
        return a <= b;
    case '>':
    case 'g':
        return a > b;
    default:
        return a >= b;
    }
}

static void compare(struct tests *tests, char operation, const struct test_values *left,
                    const struct test_values *right, unsigned count)
{
    bool fails_if_null = operation >= 'a' && operation <= 'z';

    for (unsigned i = 0; i < count; i++) {
        uint8_t state = left->states[i] | right->states[i];

        if (state == 0 ? compares(operation, left->numbers[i], right->numbers[i])
                       : state == IS_NULL && fails_if_null)
            fail(tests, i);
    }
}

static void check_null(struct tests *tests, bool fails_if_null, const struct test_values *value,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!(value->states[i] & IS_UNKNOWN) && (value->states[i] == IS_NULL) == fails_if_null)
            fail(tests, i);
}

static int take_step(struct columns_cursor *cursor, const struct test_step *step, unsigned count,
                     struct test_values **next)
{
    struct tests *tests = cursor->tests;
    struct test_values *values = *next;

    switch (step->operation) {
    case 'a':
        ++*next;
        return read_own(cursor, step->column, count, values->numbers, values->states);
    case 'b':
        ++*next;
        return read_others(tests, step->column, count, values);
    case '#':
        ++*next;
        memset(values->states, 0, count);
        for (unsigned i = 0; i < count; i++)
            values->numbers[i] = step->number;
        return SQLITE_OK;
    case '*':
    case '+':
    case '-':
        --*next;
        compute(step->operation, values - 2, values - 1, count);
        return SQLITE_OK;
    case 'N':
    case 'V':
        --*next;
        check_null(tests, step->operation == 'N', values - 1, count);
        return SQLITE_OK;
    default:
        *next -= 2;
        compare(tests, step->operation, values - 2, values - 1, count);
        return SQLITE_OK;
    }
}

/* ---- Rows ---- */

/* The ids of the rows that are looked up.  A row without one has none.  */
static int read_ids(struct columns_cursor *cursor, unsigned count)
{
    struct tests *tests = cursor->tests;
    int code = read_own(cursor, &cursor_table(cursor)->served->columns[tests->key], count,
                        tests->ids, tests->id_states);

    for (unsigned i = 0; i < count; i++)
        if (tests->id_states[i] == IS_NULL)
            fail(tests, i);
    return code;
}

int tests_make(struct columns_cursor *cursor)
{
    struct tests *tests = cursor->tests;
    int64_t row = cursor->row - (cursor->row - cursor->first) % TEST_ROWS;
    struct test_values *next = tests->values;
    unsigned count = (unsigned)(cursor->limit - row < TEST_ROWS ? cursor->limit - row : TEST_ROWS);
    int code = SQLITE_OK;

    tests->first = row;
    tests->limit = row + count;
    memset(tests->fails, 0, sizeof tests->fails);
    if (tests->has_lookup)
        code = read_ids(cursor, count);
    for (unsigned i = 0; i < tests->step_count && code == SQLITE_OK; i++)
        code = take_step(cursor, &tests->steps[i], count, &next);
    tests->rows += count;
    for (unsigned i = 0; i < TEST_ROWS / 64; i++)
        tests->failed += (unsigned)__builtin_popcountll(tests->fails[i]);
    tests->is_off = tests->rows >= ROWS_BEFORE_OFF && tests->failed * LEAST_FAILING < tests->rows;
    return code;
}
