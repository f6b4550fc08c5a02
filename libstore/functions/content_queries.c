#include "libstore/functions/content_queries.h"

#include <string.h>

#include <fxt/profile_types.h>

/* Whether sql, of ?1 the capture and ?2 another number, has a row.  */
static int ask(sqlite3 *db, const char *sql, int64_t capture, int64_t number, bool *out)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, capture);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 1)
        code = sqlite3_bind_int64(statement, 2, number);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        *out = code == SQLITE_ROW;
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* ---- What there is ---- */

#define PROCESSES "(SELECT id FROM main.process WHERE capture_id = ?1)"
#define THREADS   "(SELECT id FROM main.thread WHERE upid IN " PROCESSES ")"

/* In the order of their bits.  */
static const char *const queries[] = {
    "SELECT 1 FROM main.capture WHERE ?1 IN (0, id) AND sample_count > 0",
    "SELECT 1 FROM main.capture AS c WHERE ?1 IN (0, c.id) AND EXISTS (SELECT 1 FROM "
    "main.cpu_sample AS s WHERE s.id >= c.first_sample_id AND s.id < c.first_sample_id + "
    "c.sample_count AND s.cpu IS NOT NULL)",
    "SELECT 1 FROM main.heap_event WHERE ?1 = 0 OR upid IN " PROCESSES,
    "SELECT 1 FROM main.heap_event WHERE ts IS NOT NULL AND (?1 = 0 OR upid IN " PROCESSES ")",
    "SELECT 1 FROM main.profile_sample WHERE ?1 IN (0, capture_id)",
    "SELECT 1 FROM main.profile_sample WHERE utid IS NOT NULL AND ?1 IN (0, capture_id)",
    "SELECT 1 FROM main.sched_slice WHERE utid <> 0 AND (?1 = 0 OR utid IN " THREADS ")",
    "SELECT 1 FROM main.thread_wait WHERE ?1 = 0 OR utid IN " THREADS,
    "SELECT 1 FROM main.capture AS c WHERE ?1 IN (0, c.id) AND EXISTS (SELECT 1 FROM "
    "main.slice_data AS s WHERE s.id >= c.first_slice_id AND s.id < c.first_slice_id + "
    "c.slice_count AND s.instant = 0)",
    "SELECT 1 FROM main.callsite_sum AS s JOIN main.capture AS c ON c.id = s.capture_id WHERE ?1 "
    "IN "
    "(0, c.id) AND s.sample_type_id = 1 AND c.format = 'fxt'",
};

int content_has(sqlite3 *db, int64_t capture, unsigned wanted, unsigned *found)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < sizeof queries / sizeof *queries; i++) {
        bool there = false;
        int code = wanted >> i & 1 ? ask(db, queries[i], capture, 0, &there) : SQLITE_OK;

        if (code != SQLITE_OK)
            return code;
        bits |= (unsigned)there << i;
    }
    *found = bits;
    return SQLITE_OK;
}

/* ---- Sample types ---- */

bool store_sample_type_is(const char *wanted, const char *type, const char *unit)
{
    size_t length = strlen(type);

    return strncmp(wanted, type, length) == 0 &&
           (wanted[length] == '\0' ||
            (wanted[length] == '/' && strcmp(wanted + length + 1, unit) == 0));
}

bool store_samples_are_heap(enum store_samples kind)
{
    return kind == STORE_SAMPLES_IN_USE || kind == STORE_SAMPLES_ALLOCATED ||
           kind == STORE_SAMPLES_RELEASED;
}

static enum store_samples samples_of(const struct profile_known_type *known)
{
    switch (known ? known->kind : PROFILE_KINDS) {
    case PROFILE_CPU:
        return STORE_SAMPLES_CPU;
    case PROFILE_HEAP:
        return known->level ? STORE_SAMPLES_IN_USE : STORE_SAMPLES_ALLOCATED;
    case PROFILE_HEAP_FREE:
        return STORE_SAMPLES_RELEASED;
    default:
        return STORE_SAMPLES_PROFILED;
    }
}

/* Types of profiles may have the names of those of traces, and other units.  Counts are in no row
 * of traces.  */
static enum store_samples kind_of(const char *type, const char *unit)
{
    const struct profile_known_type *known = profile_known_type_find(type, unit);

    return known && known->counts ? STORE_SAMPLES_PROFILED : samples_of(known);
}

/* All types, in the order of their ranks.  Ids up to 4 are those of traces; their events come
 * behind CPU time, in their order there.  NULL: no memory.  */
static char *types_query(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    const struct profile_known_type *known;
    unsigned last = 0;

    sqlite3_str_appendf(
        sql,
        "WITH event(id, place) AS MATERIALIZED (SELECT sample_type_id, min(ordinal) FROM "
        "main.sample_event WHERE ?1 IN (0, capture_id) GROUP BY 1) "
        "SELECT t.id, t.type, t.unit, EXISTS (SELECT 1 FROM main.capture AS c WHERE ?1 IN "
        "(0, c.id) AND EXISTS (SELECT 1 FROM main.callsite_sum WHERE capture_id = c.id AND "
        "sample_type_id = t.id)), e.id IS NOT NULL FROM main.sample_type AS t LEFT JOIN event AS e "
        "ON e.id = t.id ORDER BY CASE WHEN e.id IS NOT NULL THEN %u ELSE CASE t.type",
        profile_known_type_find("cpu", "nanoseconds")->rank);
    for (size_t i = 0; (known = profile_known_type_at(i)) != NULL; i++) {
        sqlite3_str_appendf(sql, " WHEN %Q THEN %u", known->type, known->rank);
        last = known->rank > last ? known->rank : last;
    }
    sqlite3_str_appendf(sql,
                        " ELSE %u END END, t.id > 4, e.id IS NULL, e.place, coalesce((SELECT "
                        "max(p.is_default) FROM "
                        "main.profile_type AS p WHERE p.sample_type_id = t.id AND ?1 IN (0, "
                        "p.capture_id)), 0) DESC, t.id",
                        last);
    return sqlite3_str_finish(sql);
}

int content_each_type(sqlite3 *db, int64_t capture, store_sample_type_fn each, void *context)
{
    sqlite3_stmt *row = NULL;
    char *sql = types_query();
    bool more = true;
    int code = sql ? sqlite3_prepare_v2(db, sql, -1, &row, NULL) : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, capture);
    while (code == SQLITE_OK && more && (code = sqlite3_step(row)) == SQLITE_ROW) {
        struct store_sample_type type = { .id = sqlite3_column_int64(row, 0),
                                          .type = (const char *)sqlite3_column_text(row, 1),
                                          .unit = (const char *)sqlite3_column_text(row, 2),
                                          .there = sqlite3_column_int(row, 3) != 0 };

        code = SQLITE_NOMEM; /* no type and no unit is NULL: schemas/store.sql */
        if (!type.type || !type.unit)
            break;
        code = SQLITE_OK;
        type.kind = sqlite3_column_int(row, 4) ? STORE_SAMPLES_CPU : kind_of(type.type, type.unit);
        more = each(context, &type);
    }
    (void)sqlite3_finalize(row);
    sqlite3_free(sql);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

bool store_sample_type_copy(struct store_sample_type *out, const struct store_sample_type *type)
{
    *out = *type;
    out->type = sqlite3_mprintf("%s", type->type);
    out->unit = sqlite3_mprintf("%s", type->unit);
    if (out->type && out->unit)
        return true;
    store_sample_type_release(out);
    return false;
}

void store_sample_type_release(struct store_sample_type *type)
{
    sqlite3_free((char *)type->type);
    sqlite3_free((char *)type->unit);
    *type = (struct store_sample_type){ .type = NULL };
}

struct choice {
    const char *wanted;
    struct store_sample_type *out;
    bool no_memory;
};

static bool consider(void *context, const struct store_sample_type *type)
{
    struct choice *choice = context;
    struct store_sample_type *out = choice->out;

    if (choice->wanted ? !store_sample_type_is(choice->wanted, type->type, type->unit)
                       : !type->there)
        return true;
    if (out->type && !type->there)
        return true;
    store_sample_type_release(out);
    choice->no_memory = !store_sample_type_copy(out, type);
    return !choice->no_memory && !out->there;
}

/* The row of sample_type whose samples of traces are of a kind, and whether there are any in the
 * capture.  */
static int find_counted(sqlite3 *db, const struct profile_known_type *sum, int64_t capture,
                        int64_t *id, bool *there)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "SELECT t.id, EXISTS (SELECT 1 FROM main.capture AS c WHERE ?1 IN (0, c.id) AND c.format = "
        "'fxt' AND EXISTS (SELECT 1 FROM main.callsite_sum WHERE capture_id = c.id "
        "AND " CONTENT_COUNTED(
            "t.id") ")) FROM main.sample_type AS t WHERE t.type = ?2 AND t.unit = ?3",
        -1, &row, NULL);

    *id = 0;
    *there = false;
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(row, 1, capture);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(row, 2, sum->type, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(row, 3, sum->unit, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        *id = sqlite3_column_int64(row, 0);
        *there = sqlite3_column_int(row, 1) != 0;
    }
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* The count that wanted is, "samples" or "samples/count"; NULL: it is none of traces.  */
static const struct profile_known_type *find_count(const char *wanted)
{
    const struct profile_known_type *known;

    for (size_t i = 0; (known = profile_known_type_at(i)) != NULL; i++)
        if (known->counts && samples_of(known) != STORE_SAMPLES_PROFILED &&
            store_sample_type_is(wanted, known->type, known->unit))
            break;
    return known;
}

/* *out is what profiles have of the count, if anything.  */
static int add_counted(sqlite3 *db, const struct profile_known_type *count, int64_t capture,
                       struct store_sample_type *out)
{
    const struct store_sample_type type = { .type = count->type, .unit = count->unit };
    int64_t counted_id;
    bool there;
    int code = find_counted(db, count + 1, capture, &counted_id, &there);

    if (code != SQLITE_OK || !counted_id || (out->there && !there))
        return code;
    if (!out->type && !store_sample_type_copy(out, &type))
        return SQLITE_NOMEM;
    out->counted_id = counted_id;
    out->kind = samples_of(count);
    out->there |= there;
    return SQLITE_OK;
}

int content_choose_type(sqlite3 *db, const char *wanted, int64_t capture,
                        struct store_sample_type *out)
{
    const struct profile_known_type *count = wanted ? find_count(wanted) : NULL;
    struct choice choice = { .wanted = wanted, .out = out };
    int code;

    *out = (struct store_sample_type){ .type = NULL };
    code = content_each_type(db, capture, consider, &choice);
    if (code == SQLITE_OK && choice.no_memory)
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK && count)
        code = add_counted(db, count, capture, out);
    if (code != SQLITE_OK)
        store_sample_type_release(out);
    return code;
}

int content_is_known(sqlite3 *db, const char *wanted, bool *out)
{
    struct store_sample_type type;
    unsigned rows = 0, found = 0;
    int code = content_choose_type(db, wanted, 0, &type);

    if (type.kind == STORE_SAMPLES_CPU)
        rows = STORE_HAS_CPU_SAMPLES;
    else if (store_samples_are_heap(type.kind))
        rows = STORE_HAS_ALLOCATIONS;
    if (code == SQLITE_OK && !type.there)
        code = content_has(db, 0, rows, &found);
    *out = type.there || found;
    store_sample_type_release(&type);
    return code;
}

int content_has_values(sqlite3 *db, const struct store_sample_type *type, int64_t capture,
                       bool *out)
{
    *out = true;
    if (type->counted_id && type->there)
        return SQLITE_OK;
    return ask(db,
               "SELECT 1 FROM main.capture AS c WHERE ?1 IN (0, c.id) AND EXISTS (SELECT 1 FROM "
               "main.callsite_sum WHERE capture_id = c.id AND sample_type_id = ?2 AND value IS NOT "
               "NULL)",
               capture, type->id, out);
}

/* ---- What samples of a type tell ---- */

static int tells_thread(sqlite3 *db, const struct store_sample_type *type, int64_t capture,
                        bool *out)
{
    if (type->id == 0 && type->kind == STORE_SAMPLES_PROFILED) {
        unsigned found = 0;
        int code = content_has(db, capture, STORE_HAS_PROFILED_THREADS, &found);

        *out = found != 0;
        return code;
    }
    return ask(db,
               "SELECT 1 FROM main.profile_sample AS s JOIN main.profile_value AS v ON "
               "v.profile_sample_id = s.id WHERE v.sample_type_id = ?2 AND s.utid IS NOT NULL AND "
               "?1 IN (0, s.capture_id)",
               capture, type->id, out);
}

static int tells(sqlite3 *db, const struct store_sample_type *type, int64_t capture, unsigned what,
                 bool *out)
{
    unsigned wanted = 0, found = 0;
    int code;

    if (type->kind == STORE_SAMPLES_CPU)
        wanted = what == STORE_FILTER_CPU ? STORE_HAS_SAMPLED_CPUS : STORE_HAS_CPU_SAMPLES;
    else if (store_samples_are_heap(type->kind) && what == STORE_FILTER_TIME)
        wanted = STORE_HAS_ALLOCATION_TIMES;
    code = content_has(db, capture, wanted, &found);
    *out = found != 0;
    if (code == SQLITE_OK && !*out && what == STORE_FILTER_THREAD)
        code = tells_thread(db, type, capture, out);
    return code;
}

int content_missing(sqlite3 *db, const struct store_sample_type *type, int64_t capture,
                    unsigned asked, const char **out)
{
    static const struct {
        unsigned bit;
        const char *name;
    } parts[] = {
        { STORE_FILTER_CPU, "CPU" },
        { STORE_FILTER_TIME, "time" },
        { STORE_FILTER_THREAD, "thread" },
    };

    *out = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && type->there; i++) {
        bool told = true;
        int code = asked & parts[i].bit ? tells(db, type, capture, parts[i].bit, &told) : SQLITE_OK;

        if (code != SQLITE_OK)
            return code;
        if (!told) {
            *out = parts[i].name;
            break;
        }
    }
    return SQLITE_OK;
}
