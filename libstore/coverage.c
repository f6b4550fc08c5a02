/* How many frames of a store's samples have names, by module.  */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/numbering.h"
#include "libstore/store_internal.h"

/* What a pass over the store gathers; arrays by id.  */
struct covering {
    struct store *store;
    struct store_error *error;
    enum store_status status;
    uint32_t *parents, *frames; /* of call sites */
    uint64_t *counts;           /* of call sites: samples that pass through */
    size_t callsites;
    uint64_t *hits; /* of frames */
    size_t frame_count;
    struct store_coverage *rows; /* by module; [0] for none */
    size_t row_count;
};

static bool fail_corrupt(struct covering *work, const char *what)
{
    work->status = store_fail(work->error, STORE_CORRUPT,
                              "the store is corrupt: a row refers to a %s that is not there", what);
    return false;
}

/* Call take for each row of sql.  */
static bool each(struct covering *work, const char *sql,
                 bool (*take)(struct covering *, sqlite3_stmt *))
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(work->store->db, sql, -1, &row, NULL);

    if (code == SQLITE_OK)
        while ((code = sqlite3_step(row)) == SQLITE_ROW && take(work, row))
            ;
    (void)sqlite3_finalize(row);
    if (work->status == STORE_OK && code != SQLITE_DONE)
        work->status = store_fail_sqlite(work->error, work->store->db, code);
    return work->status == STORE_OK;
}

/* The greatest id of a table, which is what is allocated for; ids have no gaps, so a store whose
 * greatest id is not its number of rows is broken.  greatest and rows are queries.  */
static bool size_of(struct covering *work, const char *greatest, const char *rows, size_t *out)
{
    int64_t number = 0, count = 0;

    work->status = store_number(work->store, greatest, &number, work->error);
    if (work->status == STORE_OK)
        work->status = store_number(work->store, rows, &count, work->error);
    if (work->status == STORE_OK && (number != count || number > UINT32_MAX - 1))
        work->status = store_fail(work->error, STORE_CORRUPT,
                                  "the store is corrupt: ids are out of place");
    *out = (size_t)number;
    return work->status == STORE_OK;
}

static bool take_callsite(struct covering *work, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0), parent = sqlite3_column_int64(row, 1);
    int64_t frame = sqlite3_column_int64(row, 2);

    if (id < 1 || (uint64_t)id > work->callsites || parent < 0 || parent >= id)
        return fail_corrupt(work, "call site");
    if (frame < 1 || (uint64_t)frame > work->frame_count)
        return fail_corrupt(work, "frame");
    work->parents[id] = (uint32_t)parent;
    work->frames[id] = (uint32_t)frame;
    return true;
}

/* Samples of one row: more is no capture's, and must not wrap around when it is added up.  */
#define MOST_COUNTED (UINT64_C(1) << 40)

static bool take_sum(struct covering *work, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    double count = sqlite3_column_double(row, 1);

    if (id < 0 || (uint64_t)id > work->callsites) /* 0: an empty stack */
        return fail_corrupt(work, "call site");
    if (count > 0) /* else it is none */
        work->counts[id] += count < MOST_COUNTED ? (uint64_t)count : MOST_COUNTED;
    return true;
}

static bool take_module(struct covering *work, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    struct store_coverage *module;

    if (id < 1 || (uint64_t)id >= work->row_count || work->rows[id].name)
        return fail_corrupt(work, "module");
    module = &work->rows[id];
    module->module_id = id;
    module->name = store_copy_column(row, 1);
    module->build_id = store_copy_column(row, 2);
    module->fallback = store_copy_column(row, 3);
    module->unread = store_copy_column(row, 4);
    if (!module->name || !module->build_id || !module->fallback || !module->unread)
        work->status = store_no_memory(work->error);
    return work->status == STORE_OK;
}

static bool take_frame(struct covering *work, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0), module = sqlite3_column_int64(row, 1);
    struct store_coverage *covered;
    uint64_t hits;

    if (id < 1 || (uint64_t)id > work->frame_count)
        return fail_corrupt(work, "frame");
    if (module < 0 || (uint64_t)module >= work->row_count)
        return fail_corrupt(work, "module");
    covered = &work->rows[module];
    hits = work->hits[id];
    covered->frames += hits;
    covered->named += sqlite3_column_int(row, 2) ? hits : 0;
    covered->lined += sqlite3_column_int(row, 3) ? hits : 0;
    return true;
}

/* Samples pass through all callers of their leaf: parents come before their children.  */
static void spread(struct covering *work)
{
    for (size_t id = work->callsites; id > 0; id--) {
        work->hits[work->frames[id]] += work->counts[id];
        work->counts[work->parents[id]] += work->counts[id];
    }
}

static bool allocate(struct covering *work)
{
    size_t modules;

    if (!size_of(work, "SELECT coalesce(max(id), 0) FROM main.callsite",
                 "SELECT count(*) FROM main.callsite", &work->callsites) ||
        !size_of(work, "SELECT coalesce(max(id), 0) FROM main.frame",
                 "SELECT count(*) FROM main.frame", &work->frame_count) ||
        !size_of(work, "SELECT coalesce(max(id), 0) FROM main.module",
                 "SELECT count(*) FROM main.module", &modules))
        return false;
    work->parents = calloc(work->callsites + 1, sizeof *work->parents);
    work->frames = calloc(work->callsites + 1, sizeof *work->frames);
    work->counts = calloc(work->callsites + 1, sizeof *work->counts);
    work->hits = calloc(work->frame_count + 1, sizeof *work->hits);
    work->rows = calloc(modules + 1, sizeof *work->rows);
    work->row_count = work->rows ? modules + 1 : 0;
    if (work->parents && work->frames && work->counts && work->hits && work->rows)
        return true;
    work->status = store_no_memory(work->error);
    return false;
}

/* The type that is counted: CPU samples, else allocations, else what an imported profile has first.
 */
#define COUNTED                                              \
    "(SELECT sample_type_id FROM main.callsite_sum AS c "    \
    "JOIN main.sample_type AS t ON t.id = c.sample_type_id " \
    "ORDER BY t.type = 'cpu' DESC, t.type = 'alloc_space' DESC, t.id LIMIT 1)"

static bool gather(struct covering *work)
{
    if (!allocate(work) ||
        !each(work, "SELECT id, parent_id, frame_id FROM main.callsite", take_callsite) ||
        !each(work, "SELECT callsite_id, n FROM main.callsite_sum WHERE sample_type_id = " COUNTED,
              take_sum))
        return false;
    spread(work);
    return each(work,
                "SELECT id, name, build_id, coalesce(f.value, ''), coalesce(u.value, '') "
                "FROM main.module "
                "LEFT JOIN main.meta AS f ON f.capture_id = 0 AND f.key = 'libdwarf.' || id "
                "LEFT JOIN main.meta AS u ON u.capture_id = 0 AND u.key = 'unread.' || id",
                take_module) &&
           each(work,
                "SELECT f.id, f.module_id, count(iif(s.quality > 0, s.function, NULL)) > 0, "
                "max(coalesce(s.line, 0)) > 0 "
                "FROM main.frame AS f LEFT JOIN main.symbol AS s ON s.frame_id = f.id "
                "WHERE f.vaddr IS NOT NULL OR f.file_offset IS NOT NULL GROUP BY f.id",
                take_frame);
}

static int by_need(const void *a, const void *b)
{
    const struct store_coverage *x = a, *y = b;
    uint64_t missing_x = x->frames - x->named, missing_y = y->frames - y->named;

    if (missing_x != missing_y)
        return missing_x > missing_y ? -1 : 1;
    if (x->frames != y->frames)
        return x->frames > y->frames ? -1 : 1;
    return (x->module_id > y->module_id) - (x->module_id < y->module_id);
}

static void release_row(struct store_coverage *row)
{
    free(row->name);
    free(row->build_id);
    free(row->fallback);
    free(row->unread);
}

/* Keep the rows that samples are in.  */
static size_t keep_used(struct store_coverage *rows, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].frames > 0) {
            rows[used++] = rows[i];
            continue;
        }
        release_row(&rows[i]);
    }
    return used;
}

enum store_status store_coverage(struct store *store, struct store_coverage **rows, size_t *count,
                                 struct store_error *error)
{
    struct store_error own_error = { .status = STORE_OK };
    struct covering work = { .store = store, .error = error ? error : &own_error };

    if (gather(&work)) {
        work.rows[0].name = strdup("");
        work.rows[0].build_id = strdup("");
        work.rows[0].fallback = strdup("");
        work.rows[0].unread = strdup("");
        if (!work.rows[0].name || !work.rows[0].build_id || !work.rows[0].fallback ||
            !work.rows[0].unread)
            work.status = store_no_memory(work.error);
    }
    free(work.parents);
    free(work.frames);
    free(work.counts);
    free(work.hits);
    if (work.status != STORE_OK) {
        store_coverage_release(work.rows, work.row_count);
        return work.status;
    }
    *count = keep_used(work.rows, work.row_count);
    qsort(work.rows, *count, sizeof *work.rows, by_need);
    *rows = work.rows;
    return STORE_OK;
}

void store_coverage_release(struct store_coverage *rows, size_t count)
{
    for (size_t i = 0; rows && i < count; i++)
        release_row(&rows[i]);
    free(rows);
}

enum store_status store_lacks_symbols(struct store *store, bool *out, struct store_error *error)
{
    int64_t lacks;
    enum store_status status = store_number(
        store,
        "SELECT EXISTS (SELECT 1 FROM (SELECT vaddr FROM main.frame LIMIT 1000) WHERE vaddr IS NOT "
        "NULL) AND NOT EXISTS (SELECT 1 FROM main.symbol WHERE quality < 5)", /* 5: a capture's */
        &lacks, error);

    *out = lacks != 0;
    return status;
}
