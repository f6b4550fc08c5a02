/* export_open.c - an export begins and ends: options, filter, owners, the transaction.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/export.h"

/* More rows than any store holds would only cost memory.  */
#define OWNERS_MAX     (1u << 28)
#define OWNER_GAPS_MAX (1 << 22) /* ids that are made up must not cost memory */
#define PROGRESS_EVERY 4096u

enum store_status export_corrupt(struct export *export, const char *what)
{
    return store_fail(export->error, STORE_CORRUPT, "the store is corrupt: %s", what);
}

/* ---- SQL ---- */

sqlite3_stmt *export_prepare(struct export *export, const char *sql, enum store_status *status)
{
    sqlite3_stmt *statement = NULL;
    int code;

    if (*status != STORE_OK)
        return NULL;
    code = sqlite3_prepare_v2(export->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        *status = store_fail_sqlite(export->error, export->db, code);
    return statement;
}

bool export_step(struct export *export, sqlite3_stmt *statement, enum store_status *status)
{
    int code;

    if (*status != STORE_OK)
        return false;
    if (export->store->interrupted) {
        *status = store_fail(export->error, STORE_STOPPED, "interrupted");
        return false;
    }
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        *status = store_fail_sqlite(export->error, export->db, code);
    return false;
}

enum store_status export_number(struct export *export, const char *sql, int64_t first,
                                int64_t second, int64_t fallback, int64_t *out)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *statement = export_prepare(export, sql, &status);

    *out = fallback;
    if (statement) {
        (void)sqlite3_bind_int64(statement, 1, first); /* refused where there is none */
        (void)sqlite3_bind_int64(statement, 2, second);
    }
    if (statement && export_step(export, statement, &status) &&
        sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *out = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return status;
}

enum store_status export_progress(struct export *export)
{
    if (++export->done % PROGRESS_EVERY != 0)
        return STORE_OK;
    if (export->output.system_errno != 0)
        return export_written(export);
    if (!export->options.progress ||
        export->options.progress(export->options.progress_context, export->done, export->total))
        return STORE_OK;
    return store_fail(export->error, STORE_STOPPED, "interrupted");
}

/* ---- Lists ---- */

static bool list_has_number(const char *list, uint64_t number)
{
    char text[32];

    (void)sqlite3_snprintf((int)sizeof text, text, "%llu", (unsigned long long)number);
    return match_list(list, text);
}

static enum store_status parse_cpus(struct export *export)
{
    const char *list = export->filter.cpus;
    size_t most = list ? strlen(list) / 2 + 1 : 0;

    if (!list)
        return STORE_OK;
    export->cpus = calloc(most, sizeof *export->cpus);
    if (!export->cpus)
        return store_no_memory(export->error);
    for (const char *item = list;;) {
        char *end;
        int64_t number = strtoll(item, &end, 10);

        if (end == item || (*end != ',' && *end != '\0'))
            return store_fail(export->error, STORE_INVALID, "cpu: '%s' is not a list of numbers",
                              list);
        export->cpus[export->cpu_count++] = number;
        if (*end == '\0')
            break;
        item = end + 1;
    }
    cpu_list_sort(export->cpus, export->cpu_count);
    return STORE_OK;
}

/* ---- Owners ---- */

/* Room for an id after *count, which becomes it; row is the number of the row.  Ids in between are
 * those of captures that were deleted: nobody's.  */
static enum store_status next_owner(struct export *export, int64_t id, int64_t row, void **items,
                                    size_t *capacity, size_t *count, size_t size)
{
    if (id <= (int64_t)*count || id - row > OWNER_GAPS_MAX || id > OWNERS_MAX)
        return export_corrupt(export, "the ids of its processes or threads make no sense");
    if (!stacks_grow(items, capacity, (size_t)id + 1, size))
        return store_no_memory(export->error);
    memset((char *)*items + (*count + 1) * size, 0, ((size_t)id - *count) * size);
    *count = (size_t)id;
    return STORE_OK;
}

enum store_status export_copy_text(struct export *export, sqlite3_stmt *row, int column,
                                   const char **out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    char *copy;

    *out = NULL;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return STORE_OK;
    if (!text)
        return store_no_memory(export->error);
    copy = malloc(strlen(text) + 1);
    if (!copy)
        return store_no_memory(export->error);
    memcpy(copy, text, strlen(text) + 1);
    *out = copy;
    return STORE_OK;
}

void export_free_text(const char *text)
{
    char *owned; /* const is for readers */

    memcpy(&owned, &text, sizeof owned);
    free(owned);
}

static bool keeps_process(const struct export *export, const struct export_process *process)
{
    const struct store_filter *filter = &export->filter;

    return (!filter->capture || process->capture == filter->capture) &&
           (!filter->pids || list_has_number(filter->pids, (uint32_t)process->koid)) &&
           !filter->tids &&
           (!filter->comms || (process->name && match_list(filter->comms, process->name)));
}

static bool keeps_thread(const struct export *export, const struct export_thread *thread)
{
    const struct store_filter *filter = &export->filter;
    const struct export_process *process = &export->processes[thread->process];

    return (!filter->capture || process->capture == filter->capture) &&
           (!filter->pids ||
            (thread->process && list_has_number(filter->pids, (uint32_t)process->koid))) &&
           (!filter->tids || list_has_number(filter->tids, (uint32_t)thread->koid)) &&
           (!filter->comms || (thread->name && match_list(filter->comms, thread->name)));
}

static enum store_status load_processes(struct export *export)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        export, "SELECT id, capture_id, koid, name FROM main.process ORDER BY id", &status);
    void *items = NULL;
    size_t capacity = 0;
    int64_t rows = 0;

    if (status == STORE_OK && !stacks_grow(&items, &capacity, 1, sizeof *export->processes))
        status = store_no_memory(export->error);
    export->processes = items;
    if (items)
        export->processes[0] = (struct export_process){ .kept = false };
    while (export_step(export, row, &status)) {
        status = next_owner(export, sqlite3_column_int64(row, 0), ++rows, &items, &capacity,
                            &export->process_count, sizeof *export->processes);
        if (status != STORE_OK || !items)
            break;
        export->processes = items;
        struct export_process *process = &export->processes[export->process_count];
        *process = (struct export_process){ .capture = sqlite3_column_int64(row, 1),
                                            .koid = (uint64_t)sqlite3_column_int64(row, 2) };
        status = export_copy_text(export, row, 3, &process->name);
        process->kept = keeps_process(export, process);
    }
    (void)sqlite3_finalize(row);
    return status;
}

static enum store_status load_threads(struct export *export)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        export, "SELECT id, upid, koid, name FROM main.thread ORDER BY id", &status);
    void *items = NULL;
    size_t capacity = 0;
    int64_t rows = 0;

    if (status == STORE_OK && !stacks_grow(&items, &capacity, 1, sizeof *export->threads))
        status = store_no_memory(export->error);
    export->threads = items;
    if (items)
        export->threads[0] = (struct export_thread){ .kept = false };
    while (export_step(export, row, &status)) {
        int64_t process = sqlite3_column_int64(row, 1);

        status = next_owner(export, sqlite3_column_int64(row, 0), ++rows, &items, &capacity,
                            &export->thread_count, sizeof *export->threads);
        if (status == STORE_OK && (process < 0 || process > (int64_t) export->process_count))
            status = export_corrupt(export, "a thread's process is not there");
        if (status != STORE_OK || !items)
            break;
        export->threads = items;
        struct export_thread *thread = &export->threads[export->thread_count];
        *thread = (struct export_thread){ .process = (uint32_t)process,
                                          .koid = (uint64_t)sqlite3_column_int64(row, 2) };
        status = export_copy_text(export, row, 3, &thread->name);
        thread->kept = keeps_thread(export, thread);
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* ---- Stacks ---- */

/* SQLite's code with a message of the SQL functions.  */
static enum store_status from_functions(struct export *export, int code, char *message)
{
    enum store_status status;

    if (code == SQLITE_OK)
        return STORE_OK;
    if (code == SQLITE_ERROR && message)
        status = store_fail(export->error, STORE_INVALID, "%s", message);
    else if (code == SQLITE_CORRUPT && message)
        status = store_fail(export->error, STORE_CORRUPT, "%s", message);
    else
        status = store_fail_sqlite(export->error, export->db, code);
    sqlite3_free(message);
    return status;
}

static enum store_status open_match(struct export *export, const char *pattern, struct match *match,
                                    bool *has)
{
    char *message = NULL;
    int code;

    if (!pattern)
        return STORE_OK;
    code = match_open(match, export->stacks, pattern, &message);
    *has = code == SQLITE_OK;
    return from_functions(export, code, message);
}

static enum store_status keep_stacks(struct export *export)
{
    const struct store_filter *filter = &export->filter;
    struct shape_patterns patterns = { .focus = filter->focus,
                                       .ignore = filter->ignore,
                                       .hide = filter->hide,
                                       .show_from = filter->show_from };
    char *message = NULL;
    int code = shape_callsites(export->stacks, &patterns, &export->keep, &message);

    return from_functions(export, code, message);
}

static enum store_status load_stacks(struct export *export)
{
    const struct store_filter *filter = &export->filter;
    char *message = NULL;
    int code = stacks_refresh(export->db, &export->stacks, &message);
    enum store_status status;

    if (code == SQLITE_OK)
        code = stacks_load_names(export->db, export->stacks, &message);
    status = from_functions(export, code, message);
    if (status == STORE_OK)
        status = keep_stacks(export);
    if (status == STORE_OK)
        status = open_match(export, filter->hide, &export->hide, &export->has_hide);
    if (status == STORE_OK)
        status = open_match(export, filter->show_from, &export->show_from, &export->has_show_from);
    return status;
}

/* ---- Beginning and end ---- */

static enum store_status check(struct export *export, const struct store_filter *filter,
                               const struct store_export_options *options)
{
    if (filter && filter->size < sizeof *filter)
        return store_fail(export->error, STORE_INVALID, "a filter of %zu bytes", filter->size);
    if (options && options->size < sizeof *options)
        return store_fail(export->error, STORE_INVALID, "options of %zu bytes", options->size);
    if (export->store->importing)
        return store_fail(export->error, STORE_INVALID, "an import is open");
    if ((unsigned)export->options.root > PROFILE_ROOT_NONE ||
        (unsigned)export->options.table > STORE_CSV_PROFILE)
        return store_fail(export->error, STORE_INVALID, "no such root or table");
    return STORE_OK;
}

static enum store_status check_capture(struct export *export)
{
    int64_t count;
    enum store_status status = export_number(
        export, "SELECT count(*) FROM main.capture WHERE ?1 = 0 OR id = ?1", export->filter.capture,
        0, 0, &count);

    export->counts->captures = (uint64_t)count;
    if (status == STORE_OK && export->filter.capture && count == 0)
        return store_fail(export->error, STORE_INVALID, "there is no capture %lld in the store",
                          (long long)export->filter.capture);
    return status;
}

/* About how many rows will be read.  */
static enum store_status estimate(struct export *export)
{
    int64_t rows = 0;
    enum store_status status = export_number(
        export,
        "SELECT (SELECT total(sample_count) FROM main.capture WHERE ?1 IN (0, id)) "
        "+ coalesce((SELECT max(id) FROM main.heap_event), 0) "
        "+ coalesce((SELECT max(id) FROM main.profile_sample), 0)",
        export->filter.capture, 0, 0, &rows);

    export->total = rows > 0 ? (uint64_t)rows : 0;
    return status;
}

enum store_status export_begin(struct export *export, struct store *store,
                               const struct store_filter *filter,
                               const struct store_export_options *options, store_write_fn write,
                               void *context, struct store_export_counts *counts,
                               struct store_error *error)
{
    enum store_status status;

    memset(export, 0, offsetof(struct export, output)); /* the buffer needs none */
    memset(counts, 0, sizeof *counts);
    base_output_init(&export->output, write, context);
    export->store = store;
    export->db = store->db;
    export->counts = counts;
    export->error = error;
    if (filter)
        export->filter = *filter;
    if (options)
        export->options = *options;
    status = check(export, filter, options);
    if (status == STORE_OK && sqlite3_get_autocommit(store->db)) {
        status = store_run(store, "BEGIN", error);
        export->began = status == STORE_OK;
    }
    export->owners_filtered = export->filter.pids || export->filter.tids || export->filter.comms;
    if (status == STORE_OK)
        status = check_capture(export);
    if (status == STORE_OK)
        status = estimate(export);
    if (status == STORE_OK)
        status = parse_cpus(export);
    if (status == STORE_OK)
        status = load_processes(export);
    if (status == STORE_OK)
        status = load_threads(export);
    return status == STORE_OK ? load_stacks(export) : status;
}

static void release(struct export *export)
{
    for (size_t i = 1; export->processes && i <= export->process_count; i++)
        export_free_text(export->processes[i].name);
    for (size_t i = 1; export->threads && i <= export->thread_count; i++)
        export_free_text(export->threads[i].name);
    for (size_t i = 0; export->cached && i < EXPORT_CACHE; i++)
        free(export->cached[i].text.bytes);
    if (export->has_hide)
        match_release(&export->hide);
    if (export->has_show_from)
        match_release(&export->show_from);
    sqlite3_free(export->processes);
    sqlite3_free(export->threads);
    sqlite3_free(export->keep);
    sqlite3_free(export->path);
    free(export->cached);
    free(export->cpus);
    stacks_drop(export->stacks);
}

enum store_status export_end(struct export *export, enum store_status status)
{
    if (status == STORE_OK)
        status = export_written(export);
    if (export->began)
        (void)sqlite3_exec(export->db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
    release(export);
    return status;
}
