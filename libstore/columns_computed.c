/* Conditions on what is computed from columns, in SQLite's program.
 *
 * A loop over rows begins with its conditions:
 *
 *     VFilter A, then values of A, arithmetic, VFilter B (the row of an id), values of B,
 *     comparisons that jump to the next row of A
 *
 * Up to the first instruction that is none of these, nothing but registers changes.  So a row that
 * such a comparison sends back can as well be left out.  */
#include "libstore/columns_computed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of comparisons (SQLite's p5): */
#define AFFINITY_MASK    0x47U
#define AFFINITY_TEXT    0x42U
#define JUMPS_IF_NULL    0x10U
#define KNOWN_FLAGS      (AFFINITY_MASK | JUMPS_IF_NULL)
#define EXPRESSION_BYTES 48
#define REGISTERS_MOST   32

/* What is in a register that the loop has set, as text of columns_tests.h; "": not known.  */
struct known {
    int number;
    char text[EXPRESSION_BYTES];
};

struct search {
    const struct bytecode *program;
    const struct served_table *served, *other; /* other: of the row that is looked up */
    int cursor, other_cursor;
    size_t end; /* VNext of the loop */
    struct known known[REGISTERS_MOST];
    unsigned count;
    int notes[2]; /* registers that were set to constants */
    unsigned noted;
    char *text; /* result */
    size_t length;
    bool any, is_over;
};

/* ---- Registers ---- */

static struct known *find_known(struct search *search, int number)
{
    for (unsigned i = 0; i < search->count; i++)
        if (search->known[i].number == number)
            return &search->known[i];
    return NULL;
}

/* Also that the value is not known: "".  */
static void set(struct search *search, int number, const char *text)
{
    struct known *known = find_known(search, number);

    if (!known && search->count == REGISTERS_MOST) {
        search->is_over = true;
        return;
    }
    if (!known)
        known = &search->known[search->count++];
    known->number = number;
    (void)stpcpy(known->text, strlen(text) < sizeof known->text ? text : "");
}

static void forget(struct search *search, int number)
{
    set(search, number, "");
}

static bool constant_of(const struct instruction *is, char text[EXPRESSION_BYTES])
{
    if (strcmp(is->name, "Integer") == 0)
        (void)snprintf(text, EXPRESSION_BYTES, "#%d;", is->p1);
    else if (strcmp(is->name, "Int64") == 0 && strlen(is->detail) < 24)
        (void)snprintf(text, EXPRESSION_BYTES, "#%s;", is->detail);
    else
        return false;
    return true;
}

/* Whether the instruction may change a register.  */
static bool may_change(const struct instruction *is, int number)
{
    switch (is->operation) {
    case ARITHMETIC:
    case VALUE:
    case OTHER_VALUE:
        return is->p3 == number;
    case CONSTANT:
        return number >= is->p2 && number <= (is->p3 > is->p2 ? is->p3 : is->p2);
    case COPY:
    case MOVE:
        return number >= is->p2 && number <= is->p2 + is->p3;
    case COPY_ONE:
        return is->p2 == number;
    case OTHER:
        return is->p1 == number || is->p2 == number || is->p3 == number;
    default:
        return false;
    }
}

/* Constants that are computed once come last in a program, at the target of Init, and keep their
 * registers.  Those that others are computed of there do not.  */
static bool find_constant(const struct search *search, int number, char text[EXPRESSION_BYTES])
{
    const struct bytecode *program = search->program;
    const struct instruction *found = NULL;

    for (size_t i = 0; i < program->count; i++) {
        const struct instruction *is = &program->items[i];
        bool is_first = (int)i >= program->items[0].p2;

        if (is_first && is->operation == ARITHMETIC && (is->p1 == number || is->p2 == number))
            return false;
        if (!may_change(is, number))
            continue;
        if (found || !is_first || is->operation != CONSTANT)
            return false;
        found = is;
    }
    return found && constant_of(found, text);
}

/* The text of a register's value.  Returns false if it is not known.  */
static bool value_of(struct search *search, int number, char text[EXPRESSION_BYTES])
{
    const struct known *known = find_known(search, number);

    if (!known)
        return find_constant(search, number, text);
    (void)stpcpy(text, known->text);
    return text[0] != '\0';
}

/* ---- Instructions ---- */

static bool is_number(const struct served_table *served, int column)
{
    return column >= 0 && column < (int)served->count &&
           (served->columns[column].value == SERVED_INTEGER ||
            served->columns[column].value == SERVED_ID);
}

static void take_value(struct search *search, const struct instruction *is)
{
    char text[3] = { 'a', (char)('A' + is->p2), '\0' };
    bool is_own = is->p1 == search->cursor;

    forget(search, is->p3);
    if (!is_own && !(search->other && is->p1 == search->other_cursor))
        return;
    if (!is_number(is_own ? search->served : search->other, is->p2))
        return;
    text[0] = is_own ? 'a' : 'b';
    set(search, is->p3, text);
}

/* In a loop, constants are what a row is looked up by; or they note that a row has been seen, which
 * may not be left out.  */
static void take_constant(struct search *search, const struct instruction *is)
{
    char text[EXPRESSION_BYTES];

    if (strcmp(is->name, "Noop") == 0)
        return;
    search->is_over = !constant_of(is, text) || search->noted == 2;
    if (!search->is_over)
        search->notes[search->noted++] = is->p2;
}

static void take_arithmetic(struct search *search, const struct instruction *is)
{
    char left[EXPRESSION_BYTES], right[EXPRESSION_BYTES], text[2 * EXPRESSION_BYTES + 1];
    bool are_known = value_of(search, is->p2, left) && value_of(search, is->p1, right);

    forget(search, is->p3);
    if (!are_known)
        return;
    (void)snprintf(text, sizeof text, "%s%s%c", left, right,
                   strcmp(is->name, "Multiply") == 0 ? '*'
                   : strcmp(is->name, "Add") == 0    ? '+'
                                                     : '-');
    set(search, is->p3, text);
}

/* Whether nothing is done from there on to the next row of the loop.  */
static bool is_next_row(const struct search *search, int target)
{
    size_t at = target > 0 ? (size_t)target : search->program->count;

    while (at < search->end && search->other && search->program->items[at].operation == NEXT &&
           search->program->items[at].p1 == search->other_cursor)
        at++; /* there was but one row */
    return at == search->end;
}

/* A row is looked up by its id.  */
static void take_lookup(struct search *search, const struct instruction *is)
{
    const char *table = strchr(is->detail, PLAN_TABLE);
    char id[EXPRESSION_BYTES];

    for (unsigned i = 0; i < search->noted; i++)
        search->is_over |= search->notes[i] != is->p3 && search->notes[i] != is->p3 + 1;
    search->noted = 0;
    search->is_over |= search->other || !table || !is_next_row(search, is->p2) ||
                       !value_of(search, is->p3 + 2, id) || id[0] != 'a' || strlen(id) != 2 ||
                       table[1] < 'A' || table[1] >= (char)('A' + served_table_count);
    if (search->is_over)
        return;
    search->other = &served_tables[table[1] - 'A'];
    search->other_cursor = is->p1;
    search->length = (size_t)snprintf(search->text, TESTS_TEXT_MOST, "%.2s%c", table, id[1]);
}

static void add_test(struct search *search, const char *left, const char *right, char operation)
{
    size_t room = TESTS_TEXT_MOST - search->length;
    int length = snprintf(search->text + search->length, room, "%s%s%c", left, right, operation);

    if (length >= 0 && (size_t)length < room) {
        search->length += (size_t)length;
        search->any = true;
    }
    search->text[search->length] = '\0';
}

static char comparison_of(const char *name, bool fails_if_null)
{
    static const struct {
        char name[3], operation, with_null;
    } comparisons[] = {
        { "Eq", '=', 'e' }, { "Ne", '!', 'n' }, { "Lt", '<', 'l' },
        { "Le", '(', 'm' }, { "Gt", '>', 'g' }, { "Ge", ')', 'h' },
    };

    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (strcmp(name, comparisons[i].name) == 0)
            return fails_if_null ? comparisons[i].with_null : comparisons[i].operation;
    return '\0';
}

static void take_comparison(struct search *search, const struct instruction *is)
{
    char operation = comparison_of(is->name, is->flags & JUMPS_IF_NULL);
    char left[EXPRESSION_BYTES], right[EXPRESSION_BYTES];

    search->is_over = search->noted > 0 || !is_next_row(search, is->p2);
    if (search->is_over)
        return;
    if (strcmp(is->name, "IsNull") == 0 || strcmp(is->name, "NotNull") == 0) {
        if (value_of(search, is->p1, left))
            add_test(search, left, "", is->name[0] == 'I' ? 'N' : 'V');
        return;
    }
    search->is_over = !operation;
    if (operation && !(is->flags & ~KNOWN_FLAGS) && (is->flags & AFFINITY_MASK) != AFFINITY_TEXT &&
        value_of(search, is->p3, left) && value_of(search, is->p1, right))
        add_test(search, left, right, operation);
}

static void take(struct search *search, const struct instruction *is)
{
    switch (is->operation) {
    case VALUE:
        take_value(search, is);
        break;
    case CONSTANT:
        take_constant(search, is);
        break;
    case ARITHMETIC:
        take_arithmetic(search, is);
        break;
    case FILTER:
        take_lookup(search, is);
        break;
    case JUMP:
        take_comparison(search, is);
        break;
    default:
        search->is_over = true;
        break;
    }
}

void computed_find(const struct bytecode *program, size_t filter, char text[TESTS_TEXT_MOST])
{
    const struct instruction *items = program->items;
    const char *mark = strchr(items[filter].detail, PLAN_USES);
    struct search search = { .program = program,
                             .cursor = items[filter].p1,
                             .end = bytecode_loop_end(program, filter),
                             .text = text };

    text[0] = '\0';
    mark = mark ? mark : strchr(items[filter].detail, PLAN_TESTS); /* a table follows */
    if (!mark || mark[1] < 'A' || mark[1] >= (char)('A' + served_table_count))
        return;
    search.served = &served_tables[mark[1] - 'A'];
    for (size_t i = filter + 1; i < search.end && !search.is_over; i++)
        take(&search, &items[i]);
    if (!search.any)
        text[0] = '\0';
}
