/* labels.c - what users say about captures: rows of meta.  */
#include <string.h>

#include "base/visible.h"
#include "libstore/store_internal.h"

enum { LONGEST_KEY = 64, LONGEST_VALUE = 1000 };

static bool is_key(const char *key)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(key);

    return length > 0 && length <= LONGEST_KEY && strspn(key, letters) == length;
}

static bool is_value(const char *value)
{
    size_t length = strlen(value), size;

    if (length > LONGEST_VALUE)
        return false;
    for (size_t i = 0; i < length; i += size)
        if (!base_shown_as_is(value + i, length - i, &size))
            return false;
    return true;
}

bool store_is_label(const char *key, const char *value)
{
    return is_key(key) && is_value(value);
}

static enum store_status change(struct store *store, int64_t capture, const char *key,
                                const char *value, const char *sql, struct store_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, capture);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && *value)
        code = sqlite3_bind_text(statement, 3, value, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    return store_finish_rows(store, statement, code, error);
}

static enum store_status write_label(struct store *store, int64_t capture, const char *key,
                                     const char *value, struct store_error *error)
{
    enum store_status status = change(
        store, capture, key, value,
        *value ? "INSERT OR REPLACE INTO main.meta (capture_id, key, value) "
                 "SELECT id, 'label.' || ?2, ?3 FROM main.capture WHERE id = ?1"
               : "DELETE FROM main.meta WHERE capture_id = ?1 AND key = 'label.' || ?2",
        error);

    if (status == STORE_OK && *value && sqlite3_changes(store->db) == 0)
        return store_fail(error, STORE_INVALID, "there is no capture %lld", (long long)capture);
    return status;
}

enum store_status store_set_label(struct store *store, int64_t capture, const char *key,
                                  const char *value, struct store_error *error)
{
    enum store_status status;

    if (store->mode != STORE_APPEND || store->importing)
        return store_fail(error, STORE_INVALID, "the store is not open for writing");
    if (!store_is_label(key, value))
        return store_fail(error, STORE_INVALID, "that can be no label");
    /* A new store has no journal; from here on it needs one to go back by.  */
    status = store->is_new ? store_run(store, "PRAGMA journal_mode = TRUNCATE", error)
                           : store_enter_wal(store, error);
    return status == STORE_OK ? write_label(store, capture, key, value, error) : status;
}
