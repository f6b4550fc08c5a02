/* columns_tests.h - tests of rows before SQLite sees them.  Private to libstore.
 *
 * SQLite asks a virtual table only for conditions that compare a column with a value.  Of others,
 * such as
 *
 *     FROM slice AS c JOIN slice AS p ON p.id = c.parent_id WHERE c.dur * 2 > p.dur
 *
 * it looks up and computes the values row by row.  Here they are computed for many rows at a time,
 * and rows for which the condition is not true are left out.  SQLite tests the rest once more, so
 * what cannot be decided here (reals, an overflow) need not be.
 *
 * In the text of a plan, PLAN_TESTS, the table ('A' + its number) and the text of the tests follow.
 * It begins with PLAN_TABLE, a table and a column ('A' + its number), if a row of that table is
 * looked up whose id is in the column; rows for which there is none fail.  Then come the tests in
 * postfix notation:
 *
 *     a and a letter      a column of the row
 *     b and a letter      a column of the row that was looked up
 *     #, digits and ;     a number
 *     * + -               of the two values before
 *     = ! < ( > )         the row fails if the two values before compare so (( is <=, ) is >=)
 *     e n l m g h         the same, and also if one of them is NULL
 *     N                   the row fails if the value before is NULL
 *     V                   the row fails if it is not
 */
#ifndef STORE_COLUMNS_TESTS_H
#define STORE_COLUMNS_TESTS_H

#include "libstore/columns_table.h"

#define TEST_STEPS_MOST 48
#define TEST_DEPTH_MOST 4 /* values that wait */
#define TEST_ROWS       256U

struct tests {
    char *text;  /* that they were made of */
    bool is_off; /* nearly all rows pass */
    uint64_t rows, failed;

    bool has_lookup;
    uint8_t key; /* the column with the id */
    struct columns_vtab other;
    struct columns_cursor looked_up; /* in it */

    struct test_step {
        char operation;
        const struct served_column *column;
        int64_t number;
    } steps[TEST_STEPS_MOST];
    unsigned step_count;

    /* Rows from `first` to before `limit` were tested.  */
    int64_t first, limit;
    uint64_t fails[TEST_ROWS / 64];

    int64_t ids[TEST_ROWS];
    uint8_t id_states[TEST_ROWS];
    struct test_values {
        int64_t numbers[TEST_ROWS];
        uint8_t states[TEST_ROWS];
    } values[TEST_DEPTH_MOST];
};

/* Rows of the next plan are tested, if its text has tests.  SQLite's code.  */
int tests_start(struct columns_cursor *cursor, const char *text);
void tests_release(struct columns_cursor *cursor);

/* Test the rows around the current one.  SQLite's code.  */
int tests_make(struct columns_cursor *cursor);

/* Whether rows are tested one after the other, where no other condition chooses some of them.  */
static inline bool tests_are_on(const struct columns_cursor *cursor)
{
    return cursor->tests && !cursor->tests->is_off && cursor->tested == 0 && cursor->integers;
}

static inline bool tests_has_failed(const struct tests *tests, int64_t row)
{
    unsigned at = (unsigned)(row - tests->first);

    return tests->fails[at / 64] >> (at % 64) & 1;
}

/* Whether the current row fails.  SQLite's code.  */
static inline int tests_fail(struct columns_cursor *cursor, bool *out)
{
    const struct tests *tests = cursor->tests;
    int code = SQLITE_OK;

    if (cursor->row < tests->first || cursor->row >= tests->limit)
        code = tests_make(cursor);
    *out = tests_has_failed(tests, cursor->row);
    return code;
}

/* After a row that fails, the next one that does not, or is not tested yet.  */
static inline int64_t tests_skip(const struct columns_cursor *cursor)
{
    const struct tests *tests = cursor->tests;
    int64_t row = cursor->row;

    do
        row += cursor->step;
    while (row >= tests->first && row < tests->limit && tests_has_failed(tests, row));
    return row;
}

#endif /* STORE_COLUMNS_TESTS_H */
