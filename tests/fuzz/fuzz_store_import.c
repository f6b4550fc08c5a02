/* A trace into a store, twice, and again into one that has another.
 *
 * - The database is sound, and keeps what schemas/store.sql promises (tests/fuzz/store_files.c).
 * - The same bytes are known the second time, and change nothing.
 * - Behind another capture the same rows come about, with other ids.  */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/store_files.h"

static const char *const tables[] = {
    "provider",   "loss",        "damage",      "process", "thread",     "mapping",
    "cpu_sample", "log",         "track",       "counter", "heap_event", "flow",
    "object",     "sched_slice", "thread_wait", "arg",     "slice_data",
};

#define TABLES (sizeof tables / sizeof *tables)

static struct store *new_store(void)
{
    struct store *store = NULL;

    HOLD(store_create(NULL, NULL, &store, NULL) == STORE_OK);
    return store;
}

static int64_t rows_of(struct store *store, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
    int64_t rows;

    HOLD(sql != NULL);
    rows = fuzz_number(store_sqlite(store), sql);
    sqlite3_free(sql);
    return rows;
}

static void hold_sound(struct store *store)
{
    sqlite3 *db = store_sqlite(store);

    HOLD(fuzz_number(db, "SELECT count(*) FROM pragma_integrity_check "
                         "WHERE integrity_check <> 'ok'") == 0);
    fuzz_hold_consistent(db);
}

/* Another capture, of an instant (format notes, v9-instant).  */
static const uint64_t before[] = {
    UINT64_C(0x0016547846040010), /* magic */
    UINT64_C(0x8003800300000044), /* event of four words, thread, category and name inline */
    UINT64_C(5),
    UINT64_C(100),
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store = new_store(), *other = new_store();
    struct store_error error;

    HOLD(fuzz_import(store, data, size, &error) == STORE_OK);
    hold_sound(store);
    HOLD(fuzz_import(store, data, size, &error) == STORE_KNOWN);
    HOLD(rows_of(store, "capture") == 1);
    hold_sound(store);
    HOLD(fuzz_import(other, before, sizeof before, &error) == STORE_OK);
    if (size != sizeof before || memcmp(data, before, size) != 0) {
        int64_t rows[TABLES];

        for (size_t i = 0; i < TABLES; i++)
            rows[i] = rows_of(other, tables[i]);
        HOLD(fuzz_import(other, data, size, &error) == STORE_OK);
        hold_sound(other);
        for (size_t i = 0; i < TABLES; i++)
            HOLD(rows_of(other, tables[i]) - rows[i] == rows_of(store, tables[i]));
    }
    store_close(store);
    store_close(other);
    return 0;
}
