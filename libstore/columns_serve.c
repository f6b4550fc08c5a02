/* The virtual tables in place of the plain ones.
 *
 * They are temporary tables of the same names, which hide those of the store from SQL.  A view of
 * the store reads the store's tables, whatever is called so in the temporary schema, so views on
 * tables with columns are made once more there, with the text that schemas/store.sql has.  */
#include "libstore/columns_window.h"

static const char *const views[] = { "slices",
                                     "instant",
                                     "thread_slice",
                                     "async_slice",
                                     "process_slice",
                                     "thread_track",
                                     "process_track",
                                     "counter_track",
                                     "process_counter_track",
                                     "counters",
                                     "sched",
                                     "perf_sample",
                                     "cpu_profile_stack_sample" };

static enum store_status run(struct store *store, char *sql, struct store_error *error)
{
    enum store_status status = sql ? store_run(store, sql, error) : store_no_memory(error);

    sqlite3_free(sql);
    return status;
}

/* The text of a view after its name, up to its semicolon, which is in no comment or text of these
 * views.  */
static enum store_status make_view(struct store *store, const char *name, struct store_error *error)
{
    char *start = sqlite3_mprintf("\nCREATE VIEW %s AS", name);
    const char *at = start ? strstr(store_schema(), start) : NULL;
    enum store_status status;

    if (!at) {
        sqlite3_free(start);
        return start ? STORE_OK : store_no_memory(error);
    }
    at += strlen(start);
    sqlite3_free(start);
    status = run(store,
                 sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS %.*s " STORE_COLUMNS_MARK, name,
                                 (int)strcspn(at, ";"), at),
                 error);
    return status;
}

static bool has_own(const char *name, sqlite3 *db)
{
    return sqlite3_table_column_metadata(db, "temp", name, NULL, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

static bool has_rows(const struct store_columns *columns, enum columns_table table)
{
    return columns_can_read(columns, table) && columns->sources[table].directory.rows > 0;
}

/* Whether the columns of a table, or of its parts, can be read.  Tracks are for joins with tables
 * that are read from columns.  */
static bool can_serve(const struct store_columns *columns, const struct served_table *served)
{
    if (served->is_small)
        return has_rows(columns, COLUMNS_SLICE) || has_rows(columns, COLUMNS_COUNTER);
    return columns_can_read(columns, served->table) &&
           (!served->has_states || columns_can_read(columns, COLUMNS_WAIT));
}

/* Look at the directories before anything is planned with them: a plan for columns would be a bad
 * one for a plain table, to which SQLite adds indexes of its own.  */
static enum store_status look(struct store *store, struct store_error *error)
{
    int code = columns_hold(store->serving);

    if (code != SQLITE_OK)
        return store_fail_sqlite(error, store->db, code);
    columns_let_go(store->serving);
    return STORE_OK;
}

static enum store_status serve_all(struct store *store, struct store_error *error)
{
    enum store_status status = look(store, error);
    bool any = false;

    for (unsigned i = 0; i < served_table_count && status == STORE_OK; i++) {
        if (!can_serve(store->serving, &served_tables[i]))
            continue;
        any = true;
        if (!has_own(served_tables[i].name, store->db))
            status = run(
                store,
                sqlite3_mprintf("CREATE VIRTUAL TABLE temp.\"%w\" USING " STORE_COLUMNS_MODULE
                                "(" STORE_COLUMNS_MARK ")",
                                served_tables[i].name),
                error);
    }
    for (size_t i = 0; any && i < sizeof views / sizeof *views && status == STORE_OK; i++)
        status = make_view(store, views[i], error);
    return status;
}

/* Whether there are columns of what the store is now.  */
static enum store_status are_there(struct store *store, bool *out, struct store_error *error)
{
    enum store_status status;

    *out = store->columns.are_current;
    if (!store->path)
        return STORE_OK;
    status = store_run(store, "BEGIN", error);
    if (status == STORE_OK)
        status = store_columns_look(store, out, error);
    (void)store_run(store, "ROLLBACK", NULL);
    return status;
}

enum store_status store_serve_columns(struct store *store, struct store_error *error)
{
    enum store_status status;
    bool are = false;

    if (store->serving || (store->path && store->mode != STORE_READ))
        return STORE_OK;
    status = are_there(store, &are, error);
    if (status != STORE_OK || !are)
        return status;
    store->serving = columns_new(store);
    if (!store->serving)
        return store_no_memory(error);
    store->serving->references++; /* the module's, and the store's */
    if (sqlite3_create_module_v2(store->db, STORE_COLUMNS_MODULE, &columns_module, store->serving,
                                 columns_drop) != SQLITE_OK)
        return store_no_memory(error); /* SQLite has dropped its reference */
    if (window_register(store->serving) != SQLITE_OK)
        return store_no_memory(error);
    status = store_run(store, "SAVEPOINT columns", error);
    if (status == STORE_OK)
        status = serve_all(store, error);
    (void)store_run(store,
                    status == STORE_OK ? "RELEASE columns" : "ROLLBACK TO columns; RELEASE columns",
                    NULL);
    return status;
}

void store_columns_withdraw(struct store *store)
{
    const struct store_columns *columns = store->serving;

    if (!columns || columns->holds > 0 || !columns->are_current)
        return;
    for (unsigned i = 0; i < served_table_count; i++)
        if (!can_serve(columns, &served_tables[i]) && has_own(served_tables[i].name, store->db))
            (void)run(store, sqlite3_mprintf("DROP TABLE temp.\"%w\"", served_tables[i].name),
                      NULL);
}

uint64_t store_columns_damaged(const struct store *store)
{
    return store->serving ? store->serving->damaged : 0;
}

void store_columns_close(struct store *store)
{
    if (!store->serving)
        return;
    columns_finalize(store->serving);
    columns_drop(store->serving);
    store->serving = NULL;
}
