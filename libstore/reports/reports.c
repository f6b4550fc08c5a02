/* reports.c - <fxt/store_report.h>: the list of reports, checks, the query and its rows.  */
#include "libstore/reports/reports.h"

#include <stdlib.h>
#include <string.h>

#define BINS_DEFAULT 80
#define BINS_MAX     1000000
#define COLUMNS_MAX  16

static const struct report *const reports[] = {
    &report_top, &report_tree,   &report_callers,  &report_callees, &report_heap, &report_threads,
    &report_cpu, &report_slices, &report_timeline, &report_damage,  NULL,
};

const struct store_report_about *store_report_at(size_t index)
{
    size_t i = 0;

    while (i < index && reports[i])
        i++;
    return reports[i] ? &reports[i]->about : NULL;
}

static const struct report *find(const char *name)
{
    for (size_t i = 0; name && reports[i]; i++)
        if (strcmp(reports[i]->about.name, name) == 0)
            return reports[i];
    return NULL;
}

const struct store_report_about *store_report_find(const char *name)
{
    const struct report *report = find(name);

    return report ? &report->about : NULL;
}

/* ---- Checks of the request ---- */

/* The row of about.by that is asked for; NULL: there is none.  */
static const struct report_by *find_by(const struct report *report, const char *word,
                                       const char **out)
{
    const char *const *by = report->about.by;

    *out = NULL;
    if (!by)
        return word ? NULL : report->by;
    for (size_t i = 0; by[i]; i++)
        if (!word || strcmp(by[i], word) == 0) {
            *out = by[i];
            return &report->by[i];
        }
    return NULL;
}

/* Members that the report lacks, or has no use for.  */
static enum store_status check_members(const struct report_query *query, struct store_error *error)
{
    const struct store_report_about *about = &query->report->about;
    const struct store_report_request *request = &query->request;

    if (about->has_function != (request->function != NULL))
        return store_fail(error, STORE_INVALID, "report %s %s", about->name,
                          about->has_function ? "needs a pattern" : "takes no pattern");
    if (query->filter.sample_type && !about->has_type)
        return store_fail(error, STORE_INVALID, "report %s has no sample types", about->name);
    if (request->bins > BINS_MAX)
        return store_fail(error, STORE_INVALID, "%zu bins: at most %d are possible", request->bins,
                          BINS_MAX);
    return STORE_OK;
}

/* Lists of numbers become SQL as they are.  */
static enum store_status check_lists(const struct report_query *query, struct store_error *error)
{
    const char *lists[] = { query->filter.pids, query->filter.tids, query->filter.cpus };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *item = lists[i]; item;) {
            size_t digits = strspn(item, "0123456789");

            if (digits == 0 || digits > 19 || (item[digits] && item[digits] != ','))
                return store_fail(error, STORE_INVALID, "'%s' is not a list of numbers", lists[i]);
            item = item[digits] ? item + digits + 1 : NULL;
        }
    return STORE_OK;
}

/* Whether a refusal applies to the store; without one, whether it applies to all.  */
static enum store_status applies(const struct report_query *query,
                                 const struct store_report_refusal *refusal, bool *out,
                                 struct store_error *error)
{
    unsigned found = 0;
    enum store_status status = STORE_OK;

    *out = !refusal->has && !refusal->has_none_of;
    if (*out || !query->store)
        return STORE_OK;
    status = report_has(query, refusal->has, &found, error);
    if (status != STORE_OK || !found)
        return status;
    status = report_has(query, refusal->has_none_of, &found, error);
    *out = !found;
    return status;
}

static enum store_status check_filters(const struct report_query *query, unsigned *refused,
                                       struct store_error *error)
{
    const struct store_report_refusal *refusal = query->report->about.refusals;
    unsigned given = store_filter_given(&query->filter);
    enum store_status status = STORE_OK;
    bool is_refused = false;

    for (; refusal && refusal->filters && status == STORE_OK && !is_refused; refusal++) {
        bool is_of_by = !refusal->by ||
                        (query->by_word && strcmp(refusal->by, query->by_word) == 0);

        if (!(given & refusal->filters) || !is_of_by)
            continue;
        status = applies(query, refusal, &is_refused, error);
        if (is_refused) {
            *refused = refusal->filters;
            return store_fail(error, STORE_INVALID, "%s", refusal->why);
        }
    }
    return status;
}

/* Begin a query; store may be NULL.  */
static enum store_status begin(struct report_query *query, struct store *store,
                               const struct store_report_request *request, unsigned *refused,
                               struct store_error *error)
{
    enum store_status status;

    *query = (struct report_query){ .store = store };
    *refused = 0;
    if (request->size < sizeof *request ||
        (request->filter && request->filter->size < sizeof *request->filter))
        return store_fail(error, STORE_INVALID, "a request of %zu bytes", request->size);
    query->request = *request;
    if (request->filter)
        query->filter = *request->filter;
    query->report = find(request->name);
    if (!query->report)
        return store_fail(error, STORE_INVALID, "unknown report '%s'",
                          request->name ? request->name : "");
    query->by = find_by(query->report, request->by, &query->by_word);
    if (!query->by)
        return store_fail(error, STORE_INVALID, "report %s has no rows by %s", request->name,
                          request->by);
    status = check_members(query, error);
    if (status == STORE_OK)
        status = check_lists(query, error);
    return status == STORE_OK ? check_filters(query, refused, error) : status;
}

enum store_status store_report_check(const struct store_report_request *request, unsigned *refused,
                                     struct store_error *error)
{
    struct report_query query;
    unsigned ignored;

    return begin(&query, NULL, request, refused ? refused : &ignored, error);
}

/* ---- Questions to the store ---- */

bool report_counts_samples(const struct report_query *query)
{
    return query->type.kind == STORE_SAMPLES_CPU ||
           (query->type.type && strcmp(query->type.type, "samples") == 0);
}

static bool see_heap(void *context, const struct store_sample_type *type)
{
    bool *seen = context;

    *seen |= type->there && store_samples_are_heap(type->kind);
    return !*seen;
}

enum store_status report_has(const struct report_query *query, unsigned wanted, unsigned *found,
                             struct store_error *error)
{
    bool heap = false;
    enum store_status status = store_has(query->store, query->filter.capture, wanted, found, error);

    if (status == STORE_OK && (wanted & REPORT_HAS_HEAP_PROFILES))
        status = store_sample_types_each(query->store, query->filter.capture, see_heap, &heap,
                                         error);
    if (status != STORE_OK)
        return status;
    *found |= (heap ? REPORT_HAS_HEAP_PROFILES : 0u) | (query->type.type ? REPORT_HAS_TYPE : 0u) |
              (report_counts_samples(query) ? REPORT_COUNTS_SAMPLES : 0u);
    *found &= wanted;
    return STORE_OK;
}

/* The sample type that is asked for, or the first there is, and the properties of its samples.  */
static enum store_status learn_type(struct report_query *query, struct store_error *error)
{
    struct store *store = query->store;
    unsigned filters = store_filter_given(&query->filter);
    bool has_values = false;
    enum store_status status = store_sample_type_choose(store, query->filter.sample_type,
                                                        query->filter.capture, &query->type, error);

    if (status == STORE_OK)
        status = store_sample_type_has_values(store, &query->type, query->filter.capture,
                                              &has_values, error);
    if (status != STORE_OK)
        return status;
    query->counts = !has_values || query->type.counted_id;
    filters |= query->by->is_thread ? STORE_FILTER_THREAD : 0u;
    status = store_sample_type_missing(store, &query->type, query->filter.capture, filters,
                                       &query->missing, error);
    if (status == STORE_OK && query->missing && query->report->about.has_type)
        return store_fail(error, STORE_INVALID, "samples of type %s have no %s", query->type.type,
                          query->missing);
    return status;
}

int64_t report_limit_ts(const struct report_query *query)
{
    int64_t after = query->span.end_ts < INT64_MAX ? query->span.end_ts + 1 : INT64_MAX;

    return query->filter.has_limit && query->filter.limit_ts < after ? query->filter.limit_ts
                                                                     : after;
}

static void divide_time(struct report_query *query)
{
    struct store_report_bins *bins = &query->bins;
    int64_t limit = report_limit_ts(query);
    uint64_t span;

    bins->start_ts = bins->from_ts = query->span.start_ts;
    if (query->filter.has_from && query->filter.from_ts > bins->from_ts)
        bins->from_ts = query->filter.from_ts;
    bins->count = query->request.bins ? query->request.bins : BINS_DEFAULT;
    span = limit > bins->from_ts ? (uint64_t)limit - (uint64_t)bins->from_ts : 1;
    span = (span - 1) / bins->count + 1;
    bins->bin_ns = span < INT64_MAX ? (int64_t)span : INT64_MAX;
}

/* Everything that the query depends on.  query->type is to be released on every status.  */
static enum store_status prepare(struct report_query *query, struct store *store,
                                 const struct store_report_request *request, unsigned *refused,
                                 struct store_error *error)
{
    unsigned ignored;
    enum store_status status = begin(query, store, request, refused ? refused : &ignored, error);

    if (status == STORE_OK)
        status = store_span(store, query->filter.capture, &query->span, error);
    if (status == STORE_OK && query->report->needs_type)
        status = learn_type(query, error);
    if (status == STORE_OK)
        divide_time(query);
    return status;
}

/* ---- Rows ---- */

struct store_report {
    struct report_query query;
    sqlite3_stmt *rows;
    size_t count;
    struct store_report_column columns[COLUMNS_MAX];
    struct store_report_cell cells[COLUMNS_MAX];
};

static enum store_report_kind value_kind(const struct report_query *query)
{
    if (query->counts || !query->type.type)
        return STORE_REPORT_COUNT;
    if (strcmp(query->type.unit, "nanoseconds") == 0)
        return STORE_REPORT_NS;
    return strcmp(query->type.unit, "bytes") == 0 ? STORE_REPORT_BYTES : STORE_REPORT_COUNT;
}

static void choose_columns(struct store_report *report)
{
    const struct report_by *by = report->query.by;

    for (; report->count < COLUMNS_MAX && by->columns[report->count].name; report->count++) {
        struct store_report_column *column = &report->columns[report->count];

        *column = by->columns[report->count];
        if (column->kind == STORE_REPORT_VALUE)
            column->kind = value_kind(&report->query);
        if (column->kind == STORE_REPORT_FUNCTION && !by->is_function)
            column->kind = STORE_REPORT_TEXT;
    }
}

enum store_status store_report_open(struct store *store, const struct store_report_request *request,
                                    struct store_report **out, unsigned *refused,
                                    struct store_error *error)
{
    struct store_report *report = calloc(1, sizeof *report);
    struct base_text sql = { .bytes = NULL };
    enum store_status status;

    if (!report)
        return store_no_memory(error);
    status = prepare(&report->query, store, request, refused, error);
    if (status == STORE_OK) {
        choose_columns(report);
        report->query.by->write(&report->query, &sql);
        if (sql.failed)
            status = store_no_memory(error);
    }
    if (status == STORE_OK) {
        int code = sqlite3_prepare_v2(store->db, sql.bytes, -1, &report->rows, NULL);

        if (code != SQLITE_OK)
            status = store_fail_query(error, store->db, code);
    }
    base_text_release(&sql);
    if (status != STORE_OK) {
        store_report_close(report);
        return status;
    }
    *out = report;
    return STORE_OK;
}

enum store_status store_report_sql(struct store *store, const struct store_report_request *request,
                                   char **out, unsigned *refused, struct store_error *error)
{
    struct base_text sql = { .bytes = NULL };
    struct report_query query;
    enum store_status status = prepare(&query, store, request, refused, error);

    if (status == STORE_OK) {
        query.plain = true;
        query.by->write(&query, &sql);
        base_text_adds(&sql, ";\n");
        if (sql.failed)
            status = store_no_memory(error);
    }
    store_sample_type_release(&query.type);
    if (status == STORE_OK)
        *out = sql.bytes;
    else
        base_text_release(&sql);
    return status;
}

const struct store_report_column *store_report_columns(const struct store_report *report,
                                                       size_t *count)
{
    *count = report->count;
    return report->columns;
}

const struct store_report_bins *store_report_bins(const struct store_report *report)
{
    return &report->query.bins;
}

const struct store_sample_type *store_report_type(const struct store_report *report)
{
    return &report->query.type;
}

/* False: no memory.  */
static bool fetch(sqlite3_stmt *row, int column, struct store_report_cell *cell)
{
    *cell = (struct store_report_cell){ .type = STORE_REPORT_NULL, .text = "" };
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        cell->type = STORE_REPORT_INTEGER;
        cell->integer = sqlite3_column_int64(row, column);
        return true;
    case SQLITE_FLOAT:
        cell->type = STORE_REPORT_REAL;
        cell->real = sqlite3_column_double(row, column);
        return true;
    case SQLITE_TEXT:
        cell->type = STORE_REPORT_STRING;
        cell->text = (const char *)sqlite3_column_text(row, column);
        cell->length = (size_t)sqlite3_column_bytes(row, column);
        return cell->text != NULL;
    default:
        return true;
    }
}

enum store_status store_report_next(struct store_report *report,
                                    const struct store_report_cell **cells,
                                    struct store_error *error)
{
    int code = sqlite3_step(report->rows);

    if (code == SQLITE_DONE)
        return STORE_END;
    if (code != SQLITE_ROW)
        return store_fail_query(error, report->query.store->db, code);
    for (size_t i = 0; i < report->count; i++)
        if (!fetch(report->rows, (int)i, &report->cells[i]))
            return store_no_memory(error);
    *cells = report->cells;
    return STORE_OK;
}

enum store_status store_report_lacks(struct store_report *report, struct store_report_lack *out,
                                     struct store_error *error)
{
    const struct report_query *query = &report->query;

    *out = (struct store_report_lack){ .what = NULL };
    for (const struct report_lack *lack = query->by->lacks; lack->lack.what; lack++) {
        unsigned found = 0;
        enum store_status status = report_has(query, lack->unless | lack->has, &found, error);

        if (status != STORE_OK)
            return status;
        if ((found & lack->unless) || (lack->has && !(found & lack->has)))
            continue;
        *out = lack->lack;
        break;
    }
    return STORE_OK;
}

void store_report_close(struct store_report *report)
{
    if (!report)
        return;
    (void)sqlite3_finalize(report->rows);
    store_sample_type_release(&report->query.type);
    free(report);
}
