/* The virtual tables in place of the plain ones.
 *
 * They are temporary tables of the same names, which hide those of the store from SQL.  A view of
 * the store reads the store's tables, whatever is called so in the temporary schema, so views on
 * tables with columns are made once more there, with the text that schemas/store.sql has.  */
#include "libstore/columns_table.h"

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

static enum store_status serve_all(struct store *store, struct store_error *error)
{
    enum store_status status = STORE_OK;

    for (unsigned i = 0; i < served_table_count && status == STORE_OK; i++)
        if (!has_own(served_tables[i].name, store->db))
            status = run(
                store,
                sqlite3_mprintf("CREATE VIRTUAL TABLE temp.\"%w\" USING " STORE_COLUMNS_MODULE
                                "(" STORE_COLUMNS_MARK ")",
                                served_tables[i].name),
                error);
    for (size_t i = 0; i < sizeof views / sizeof *views && status == STORE_OK; i++)
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
    status = store_run(store, "SAVEPOINT columns", error);
    if (status == STORE_OK)
        status = serve_all(store, error);
    (void)store_run(store,
                    status == STORE_OK ? "RELEASE columns" : "ROLLBACK TO columns; RELEASE columns",
                    NULL);
    return status;
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
