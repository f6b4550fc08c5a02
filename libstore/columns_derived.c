/* Tables that a statement makes by GROUP BY, and in which it looks up rows.
 *
 * For a query such as
 *
 *     SELECT s.name, sum(s.dur - coalesce(c.child, 0)) FROM slice AS s LEFT JOIN
 *         (SELECT parent_id, sum(dur) AS child FROM slice GROUP BY parent_id) AS c
 *         ON c.parent_id = s.id GROUP BY s.name
 *
 * SQLite writes the rows of the subquery into a temporary table, and all of them once more into an
 * index of it, which takes half of the time and most of the memory.  So a virtual table takes the
 * place of the subquery in the text of the statement.  It runs the subquery once (derived_table.h)
 * and packs its rows, which come in the order of the key (keyed_rows.h).
 *
 * A table with the same rows, names and types of columns gives the same answer.  What else could
 * change is looked up in the programs (EXPLAIN) of the statement, of the subquery by itself, and of
 * the new statement:
 *
 *   - the statement makes an index for the time of the query, and the new one makes one less.
 *   - it scans the same virtual tables in the same order, with the same conditions, and in between
 *     it looks up the key: so rows come in the same order.
 *   - what the statement compares is what the new one and the subquery compare: SQLite has moved no
 *     condition of the statement into the subquery.  Collations are the usual one.
 *   - the table is opened once.  In a loop, the subquery would be run each time.
 *   - values are converted to the same types where they are compared or kept.  A column of
 *     a subquery and one of a table may differ in this where texts are compared, so nothing may be
 *     compared as text.
 *
 * The text (sql_subquery.h) has no name of the row number, which a subquery does not have; no WITH,
 * which may give the names in the subquery another meaning; and in the subquery nothing in double
 * quotes, which SQLite takes for a text if it is the name of nothing.
 *
 * If SQLite prepares the statement again by itself, the table may be gone, and it fails.  */
#include "libstore/columns_derived.h"

#include "libstore/columns_bytecode.h"
#include "libstore/derived_table.h"

#include <string.h>

#define FILTERS_MOST   32 /* of a program */
#define MATCHES_MOST   64 /* the same */
#define MATCHING_TYPES 3

/* ---- The programs ---- */

static const char *const comparisons[] = { "Eq", "Ne",     "Lt",      "Le", "Gt",
                                           "Ge", "IsNull", "NotNull", "If", "IfNot" };

#define COMPARISONS (sizeof comparisons / sizeof *comparisons)

/* What is to be known of a program.  */
struct summary {
    unsigned compared[COMPARISONS][MATCHING_TYPES]; /* how often: as it is, as text, as number */
    const char *filters[FILTERS_MOST];              /* plans of scans, borrowed */
    unsigned filter_count;
    const char *matches[MATCHES_MOST]; /* types to which values are converted, borrowed */
    unsigned match_count;
    const char *kept; /* types to which an index's table converts columns, borrowed; NULL: none */
    unsigned indexes; /* for the time of the query */
    bool is_wrong;    /* it has something that is not looked into */
};

/* "BINARY-8", "k(2,B,-B)", or nothing.  */
static bool is_usual_collation(const char *detail)
{
    if (strncmp(detail, "k(", 2) != 0)
        return !*detail || strncmp(detail, "BINARY", 6) == 0;
    for (const char *at = strchr(detail, ','); at; at = strchr(at, ',')) {
        at++;
        at += *at == '-';
        at += strncmp(at, "N.", 2) == 0 ? 2 : 0; /* NULLs last */
        if (*at != ',' && *at != ')' && !(*at == 'B' && (at[1] == ',' || at[1] == ')')))
            return false;
    }
    return true;
}

/* SQLite's affinities differ in the lowest three bits: '@' is none, 'A' blob, 'B' text, and numbers
 * begin with 'C'.  */
static unsigned matching_type(unsigned flags)
{
    unsigned affinity = flags & 7;

    return affinity < 2 ? 0 : affinity == 2 ? 1 : 2;
}

static void look_at(struct summary *summary, const struct instruction *is)
{
    for (unsigned i = 0; i < COMPARISONS; i++)
        if (strcmp(is->name, comparisons[i]) == 0) {
            summary->compared[i][matching_type(is->flags)]++;
            summary->is_wrong |= !is_usual_collation(is->detail);
        }
    if (is->operation == FILTER) {
        if (summary->filter_count < FILTERS_MOST)
            summary->filters[summary->filter_count++] = is->detail;
        else
            summary->is_wrong = true;
    }
    summary->indexes += strcmp(is->name, "OpenAutoindex") == 0;
    if (strncmp(is->detail, "k(", 2) == 0 || is->operation == COLLATION)
        summary->is_wrong |= !is_usual_collation(is->detail);
}

/* An index for the time of the query: its table, and where the key of a look-up is.  */
struct index {
    int table, key; /* a cursor, a register; -1: none */
};

static struct index find_index(const struct bytecode *program)
{
    struct index index = { -1, -1 };
    size_t open = 0;

    while (open < program->count && !bytecode_is_named(program, open, "OpenAutoindex"))
        open++;
    for (size_t i = open; i < program->count; i++) {
        if (index.table < 0 && bytecode_is_named(program, i, "Rewind"))
            index.table = program->items[i].p1;
        if (bytecode_is_named(program, i, "SeekGE") &&
            program->items[i].p1 == program->items[open].p1)
            index.key = program->items[i].p3;
    }
    return index;
}

/* Whether the instruction makes the key of the index.  */
static bool makes_key(const struct index *index, const struct bytecode *program, size_t at)
{
    return (bytecode_is_named(program, at, "Affinity") ||
            bytecode_is_named(program, at, "IsNull")) &&
           program->items[at].p1 == index->key;
}

/* Whether it makes the rows of the table of the index.  */
static bool makes_row(const struct index *index, const struct bytecode *program, size_t at)
{
    return bytecode_is_named(program, at + 1, "NewRowid") &&
           bytecode_is_named(program, at + 2, "Insert") &&
           program->items[at + 2].p1 == index->table;
}

/* Values of columns are converted to the types of others before they are compared, or kept.  */
static void look_at_types(struct summary *summary, const struct bytecode *program, size_t at,
                          const struct index *index)
{
    const struct instruction *is = &program->items[at];

    if (makes_row(index, program, at)) {
        summary->kept = is->detail;
        return;
    }
    if (!*is->detail)
        return;
    summary->is_wrong |= strchr(is->detail, 'B') != NULL || summary->match_count == MATCHES_MOST;
    if (!summary->is_wrong)
        summary->matches[summary->match_count++] = is->detail;
}

static struct summary summarize(const struct bytecode *program)
{
    struct summary summary = { .filter_count = 0 };
    const struct index index = find_index(program);

    for (size_t i = 0; i < program->count; i++) {
        if (makes_key(&index, program, i))
            continue;
        look_at(&summary, &program->items[i]);
        if (bytecode_is_named(program, i, "Affinity") ||
            bytecode_is_named(program, i, "MakeRecord"))
            look_at_types(&summary, program, i, &index);
    }
    for (unsigned i = 0; i < COMPARISONS; i++)
        summary.is_wrong |= summary.compared[i][1] > 0;
    return summary;
}

static bool are_equal(const char *const *a, const char *const *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

/* Whether the whole has the scans of the part, one right after the other, and apart from them those
 * of the rest, where the look-up does not count.  */
static bool scans_add_up(const struct summary *whole, const struct summary *part,
                         const struct summary *rest, const char *look_up)
{
    const char *others[FILTERS_MOST];
    unsigned count = 0;

    for (unsigned i = 0; i < rest->filter_count; i++)
        if (strcmp(rest->filters[i], look_up) != 0)
            others[count++] = rest->filters[i];
    if (count + 1 != rest->filter_count || count + part->filter_count != whole->filter_count)
        return false;
    for (unsigned at = 0; at <= count; at++)
        if (are_equal(whole->filters, others, at) &&
            are_equal(whole->filters + at, part->filters, part->filter_count) &&
            are_equal(whole->filters + at + part->filter_count, others + at, count - at))
            return true;
    return false;
}

/* How often a text is among others.  */
static unsigned times(const char *text, const char *const *among, unsigned count)
{
    unsigned found = 0;

    for (unsigned i = 0; i < count; i++)
        found += strcmp(text, among[i]) == 0;
    return found;
}

/* Whether the whole converts values as the part and the rest do.  */
static bool types_add_up(const struct summary *whole, const struct summary *part,
                         const struct summary *rest)
{
    if (whole->match_count != part->match_count + rest->match_count)
        return false;
    for (unsigned i = 0; i < whole->match_count; i++)
        if (times(whole->matches[i], whole->matches, whole->match_count) !=
            times(whole->matches[i], part->matches, part->match_count) +
                times(whole->matches[i], rest->matches, rest->match_count))
            return false;
    return true;
}

static bool add_up(const struct summary *whole, const struct summary *part,
                   const struct summary *rest, const char *look_up)
{
    if (whole->is_wrong || part->is_wrong || rest->is_wrong || whole->indexes == 0 ||
        whole->indexes != part->indexes + rest->indexes + 1)
        return false;
    for (unsigned i = 0; i < COMPARISONS; i++)
        for (unsigned type = 0; type < MATCHING_TYPES; type++)
            if (whole->compared[i][type] != part->compared[i][type] + rest->compared[i][type])
                return false;
    return types_add_up(whole, part, rest) && scans_add_up(whole, part, rest, look_up);
}

/* Whether the table is opened once, before any row is read, and its row number is not used.  */
static bool opens_once(const struct bytecode *program, const char *look_up)
{
    static const char *const parts[] = { "Once",  "InitCoroutine", "BeginSubrtn", "Return",
                                         "Yield", "VFilter",       NULL };
    const struct instruction *items = program->items;
    size_t filter = 0, open = 0;

    while (filter < program->count && strcmp(items[filter].detail, look_up) != 0)
        filter++;
    if (filter == program->count)
        return false;
    for (; open < program->count &&
           !(bytecode_is_named(program, open, "VOpen") && items[open].p1 == items[filter].p1);
         open++)
        for (const char *const *part = parts; *part; part++)
            if (bytecode_is_named(program, open, *part))
                return false;
    if (open == program->count || bytecode_is_in_loop(program, open, open))
        return false;
    for (size_t i = 0; i < program->count; i++)
        if (bytecode_is_named(program, i, "Rowid") && items[i].p1 == items[filter].p1)
            return false;
    return true;
}

/* Whether rows are looked up for the first row of the first scan, which is one of all rows.  */
static bool looks_up_at_once(const struct bytecode *program, const char *look_up)
{
    const struct instruction *items = program->items;
    size_t scan = 0, at;

    while (scan < program->count && items[scan].operation != FILTER)
        scan++;
    if (scan == program->count || *items[scan].detail != '/')
        return false;
    for (at = scan + 1; at < program->count; at++)
        if (items[at].operation != VALUE && items[at].operation != CONSTANT &&
            items[at].operation != COPY_ONE)
            break;
    return at < program->count && strcmp(items[at].detail, look_up) == 0;
}

/* The types to which the columns are converted; those of no type may be left out at the end.  */
static bool keep_types(struct derived *is, const char *types)
{
    if (!types || strlen(types) > is->count)
        return false;
    memset(is->types, 'A', is->count);
    memcpy(is->types, types, strlen(types));
    return true;
}

/* Whether the new text does the same as the old one.  */
static bool does_the_same(struct store_columns *columns, const char *sql, int length,
                          const struct subquery *subquery, const char *text, struct derived *is)
{
    struct bytecode whole = { .count = 0 }, part = { .count = 0 }, rest = { .count = 0 };
    bool does = false;

    if (bytecode_read(columns->db, sql, length, &whole) == SQLITE_OK &&
        bytecode_read(columns->db, subquery->start, (int)(subquery->end - subquery->start),
                      &part) == SQLITE_OK &&
        bytecode_read(columns->db, text, (int)strlen(text), &rest) == SQLITE_OK) {
        const struct summary of_whole = summarize(&whole), of_part = summarize(&part),
                             of_rest = summarize(&rest);

        does = add_up(&of_whole, &of_part, &of_rest, is->plan) && opens_once(&rest, is->plan);
        does = does && keep_types(is, of_whole.kept);
        is->is_early = looks_up_at_once(&rest, is->plan);
    }
    bytecode_release(&whole);
    bytecode_release(&part);
    bytecode_release(&rest);
    return does;
}

/* ---- Statements ---- */

/* The statement with a table in place of the subquery; NULL: not this one.  */
static char *replace(struct store_columns *columns, const char *sql, int length,
                     const struct subquery *subquery, sqlite3_stmt **statement)
{
    struct derived *is = derived_make(columns, subquery);
    sqlite3_stmt *other = NULL;
    char *text = NULL;

    if (!is)
        return NULL;
    text = sqlite3_mprintf("%.*s " DERIVED_NAME "%lld %.*s", (int)(subquery->start - 1 - sql), sql,
                           (long long)is->number, (int)(sql + length - subquery->end - 1),
                           subquery->end + 1);
    if (text && does_the_same(columns, sql, length, subquery, text, is))
        (void)sqlite3_prepare_v2(columns->db, text, -1, &other, NULL);
    derived_drop(is);
    if (other && bytecode_are_alike(*statement, other)) {
        (void)sqlite3_finalize(*statement);
        *statement = other;
        return text;
    }
    (void)sqlite3_finalize(other);
    sqlite3_free(text);
    return NULL;
}

char *derived_prepare(struct store_columns *columns, const char *sql, int length,
                      sqlite3_stmt **statement)
{
    struct subquery found[SUBQUERIES];
    unsigned count;
    char *text = NULL;

    /* Where a parameter is bound, SQLite may prepare the statement again.  */
    if (sqlite3_bind_parameter_count(*statement) > 0)
        return NULL;
    count = sql_find_subqueries(sql, (size_t)length, found);
    for (unsigned i = 0; i < count && !text; i++)
        text = replace(columns, sql, length, &found[i], statement);
    return text;
}
