/* Stores of former versions become stores of this one.  */
#include <stdio.h>

#include "libstore/internal.h"

/* Woken threads were runnable, R, as preempted ones are; they are those that waited for something
 * else until then, or that have a waker.  Counters had no id in their names.  */
static const char to_version_2[] =
    "UPDATE thread_wait SET state = 'W' WHERE state = 'R' AND (waker_utid IS NOT NULL OR id IN (\n"
    "  SELECT id FROM (SELECT id, ts, lag(ts + dur) OVER (PARTITION BY utid ORDER BY ts, id) AS"
    " before FROM thread_wait) WHERE before = ts));\n"
    "UPDATE track SET name = name || ':' || printf('%u', cookie)\n"
    "WHERE type = 'counter' AND cookie IS NOT NULL;\n"
    "DROP VIEW thread_state;\n"
    "CREATE VIEW thread_state AS\n"
    "SELECT 2 * id AS id, ts, dur, cpu, utid, 'Running' AS state, NULL AS waker_utid\n"
    "FROM sched_slice WHERE utid <> 0\n"
    "UNION ALL\n"
    "SELECT 2 * id + 1, ts, dur, NULL, utid, state, iif(state = 'W', coalesce(waker_utid, utid), "
    "NULL)\n"
    "FROM thread_wait;";

/* Version 1 is the first.  A change of schemas/store.sql adds a step here.  */
const struct store_migration store_migrations[] = { { to_version_2 } };
const int store_migration_count = STORE_VERSION - 1;

static enum store_status run_steps(struct store *store, const struct store_migration *migrations,
                                   int count, struct store_error *error)
{
    enum store_status status;
    char pragma[48];
    int64_t version;

    status = store_number(store, "PRAGMA user_version", &version, error);
    if (status == STORE_OK && version < 1)
        return store_fail(error, STORE_NOT_STORE, "an SQLite database, but not a store of fxtq");
    for (; status == STORE_OK && version <= count; version++)
        status = store_run(store, migrations[version - 1].sql, error);
    if (status != STORE_OK)
        return status;
    (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %lld", (long long)version);
    return store_run(store, pragma, error);
}

enum store_status store_migrate(struct store *store, const struct store_migration *migrations,
                                int count, struct store_error *error)
{
    enum store_status status = store_run(store, "BEGIN IMMEDIATE", error);

    if (status != STORE_OK)
        return status;
    status = run_steps(store, migrations, count, error);
    if (status == STORE_OK)
        status = store_run(store, "COMMIT", error);
    if (status != STORE_OK)
        (void)store_run(store, "ROLLBACK", NULL);
    return status;
}
