/* Stores of former versions become stores of this one.  */
#include <stdio.h>

#include "libstore/internal.h"

/* Version 1 is the first.  A change of schemas/store.sql adds a step here.  */
const struct store_migration store_migrations[] = { { NULL } };
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
