/* What SQLite's program of a statement does with the rows of a scan: whether they may be combined.
 *
 * A loop over rows is
 *
 *     VFilter, then instructions, then VNext back to the first of them
 *
 * Its rows may be combined if each instruction is in the list below, if jumps go forward and stay
 * in the loop (except for calls of the subroutine that gives a finished group), and if values of
 * columns are used only by
 *
 *     VColumn, AggStep sum(1)
 *     VColumn, CollSeq, AggStep min(1) or max(1)
 *
 * or are compared or copied; then rows with equal values of these columns do the same.  A loop of
 * another form, also of another version of SQLite, is not right, and its rows are given one by
 * one.  */
#include "libstore/columns_program.h"

#include <string.h>

#include "libstore/columns_bytecode.h"
#include "libstore/columns_computed.h"

#define REGISTERS_MOST 64 /* that values of sums are in, in one loop */

/* ---- A loop ---- */

/* Instructions from `from` to before `end`, which is VNext.  */
struct body {
    const struct bytecode *program;
    int cursor;
    size_t from, end;
    struct columns_loop *loop;
    int sums[REGISTERS_MOST]; /* registers that have values of sums or extremes */
    unsigned sum_count;
    bool is_wrong;
};

static bool is_within(const struct body *body, size_t at, int target)
{
    return target > 0 && (size_t)target > at && (size_t)target <= body->end;
}

static bool jumps_well(const struct body *body, size_t at)
{
    const struct instruction *is = &body->program->items[at];

    if (is->operation == THREE_JUMPS)
        return is_within(body, at, is->p1) && is_within(body, at, is->p2) &&
               is_within(body, at, is->p3);
    return is->operation != JUMP || is_within(body, at, is->p2);
}

static bool is_among(int number, int first, int count)
{
    return number >= first && number - first < count;
}

/* Whether an instruction that is none of STEP and VALUE reads a register.  */
static bool reads(const struct instruction *is, int number)
{
    switch (is->operation) {
    case COMPARE:
        return is_among(number, is->p1, is->p3) || is_among(number, is->p2, is->p3);
    case COPY:
        return is_among(number, is->p1, is->p3 + 1);
    case MOVE:
        return is_among(number, is->p1, is->p3);
    case COPY_ONE:
    case CALL_IF:
        return number == is->p1;
    case JUMP:
        return number == is->p1 || number == is->p3;
    default:
        return false;
    }
}

/* What the aggregate function does with the value that the instruction before it has read.  */
static unsigned use_of(const struct body *body, size_t at, size_t *step)
{
    const struct instruction *items = body->program->items;

    *step = at + 1;
    if (items[*step].operation == COLLATION)
        ++*step;
    if (*step >= body->end || items[*step].operation != STEP || items[*step].p1 != 0 ||
        items[*step].p2 != items[at].p3)
        return USE_EQUAL;
    if (*step == at + 1)
        return strcmp(items[*step].detail, "sum(1)") == 0 ? USE_SUM : USE_EQUAL;
    if (strcmp(items[*step].detail, "min(1)") == 0)
        return USE_LEAST;
    return strcmp(items[*step].detail, "max(1)") == 0 ? USE_MOST : USE_EQUAL;
}

static void forget_sum(struct body *body, int number)
{
    for (unsigned i = 0; i < body->sum_count; i++)
        if (body->sums[i] == number)
            body->sums[i--] = body->sums[--body->sum_count];
}

/* A value of the loop's own table.  Returns the last instruction of what is done with it.  */
static size_t take_value(struct body *body, size_t at)
{
    const struct instruction *is = &body->program->items[at];
    size_t step;
    unsigned use = use_of(body, at, &step);

    forget_sum(body, is->p3);
    if (is->p2 < 0 || is->p2 >= SERVED_MOST) {
        body->is_wrong = true;
        return at;
    }
    body->loop->uses[is->p2] |= (uint8_t)use;
    if (use == USE_EQUAL)
        return at;
    if (body->sum_count == REGISTERS_MOST)
        body->is_wrong = true;
    else
        body->sums[body->sum_count++] = is->p3;
    return step;
}

/* An instruction that reads no column of the loop's table.  */
static void check(struct body *body, size_t at)
{
    const struct instruction *is = &body->program->items[at];

    switch (is->operation) {
    case VALUE: /* of another table, which does not move meanwhile */
        forget_sum(body, is->p3);
        break;
    case OTHER_VALUE:
        body->is_wrong |= is->p1 == body->cursor;
        break;
    case STEP:
        body->loop->counts = true;
        body->is_wrong |= is->p1 != 0 || strcmp(is->detail, "count(0)") != 0;
        break;
    case OTHER:
    case FILTER:
    case NEXT:
    case ARITHMETIC:
    case CONTROL:
        body->is_wrong = true;
        break;
    default:
        body->is_wrong |= !jumps_well(body, at);
        for (unsigned i = 0; i < body->sum_count; i++)
            body->is_wrong |= reads(is, body->sums[i]);
        break;
    }
}

/* The loop may begin again with the registers that it left, so it is looked at twice.  */
static void check_body(struct body *body)
{
    const struct instruction *items = body->program->items;

    for (int turn = 0; turn < 2; turn++)
        for (size_t i = body->from; i < body->end && !body->is_wrong; i++)
            if (items[i].operation == VALUE && items[i].p1 == body->cursor)
                i = take_value(body, i);
            else
                check(body, i);
}

/* The loop that the VFilter begins.  */
static void check_loop(const struct bytecode *program, size_t at, struct columns_loop *loop)
{
    struct body body = { .program = program,
                         .cursor = program->items[at].p1,
                         .from = at + 1,
                         .end = bytecode_loop_end(program, at),
                         .loop = loop };

    if (body.end == program->count)
        return;
    check_body(&body);
    loop->is_right = !body.is_wrong;
    computed_find(program, at, loop->tests);
}

/* ---- The loops of a program ---- */

/* Loops of one plan do the same, or none of them is right.  */
static void merge(struct columns_loops *loops, const struct columns_loop *loop)
{
    struct columns_loop *same = columns_find_loop(loops, loop->plan);

    if (!same) {
        loops->items[loops->count++] = *loop;
        return;
    }
    same->is_right = same->is_right && loop->is_right;
    if (strcmp(same->tests, loop->tests) != 0)
        same->tests[0] = '\0';
    same->counts = same->counts || loop->counts;
    for (unsigned i = 0; i < SERVED_MOST; i++)
        same->uses[i] |= loop->uses[i];
}

struct columns_loop *columns_find_loop(struct columns_loops *loops, const char *plan)
{
    for (unsigned i = 0; i < loops->count; i++)
        if (strcmp(loops->items[i].plan, plan) == 0)
            return &loops->items[i];
    return NULL;
}

int columns_read_loops(sqlite3 *db, const char *sql, int length, struct columns_loops *loops)
{
    struct bytecode program = { .count = 0 };
    int code = bytecode_read(db, sql, length, &program);

    loops->count = 0;
    for (size_t i = 0; i < program.count && code == SQLITE_OK; i++) {
        struct columns_loop loop = { .is_right = false };
        const char *plan = program.items[i].detail;

        if (program.items[i].operation != FILTER ||
            !(strchr(plan, PLAN_USES) || strchr(plan, PLAN_TESTS)))
            continue;
        if (loops->count == LOOPS_MOST || strlen(plan) >= sizeof loop.plan) {
            code = SQLITE_FULL;
            break;
        }
        (void)stpcpy(loop.plan, plan);
        check_loop(&program, i, &loop);
        merge(loops, &loop);
    }
    bytecode_release(&program);
    return code;
}
