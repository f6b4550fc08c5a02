/* Columns that lie: their checksums and their identity fit, but their values are chosen.  Queries,
 * functions and orders on them give rows or a status, and touch no memory that is not theirs.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/columns.h"
#include "tests/fuzz/store_files.h"
#include "tests/fuzz/support.h"

static const char *const queries[] = {
    "SELECT * FROM slice ORDER BY name, dur DESC",
    "SELECT * FROM slice_data ORDER BY parent_id, ts DESC LIMIT 5",
    "SELECT p.id, c.id FROM slice AS p LEFT JOIN slice AS c ON c.parent_id = p.id AND c.ts >= p.ts",
    "SELECT name, count(*), sum(dur) FROM slice WHERE category >= 'a' GROUP BY name",
    "SELECT * FROM thread_slice WHERE id IN (1, 2, 3, 4096)",
    "SELECT * FROM args WHERE arg_set_id BETWEEN 0 AND 5 ORDER BY key",
    "SELECT s.id, a.* FROM slice AS s JOIN args AS a USING (arg_set_id)",
    "SELECT t.name, c.* FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id ORDER BY 1",
    "SELECT * FROM sched ORDER BY end_state, cpu DESC",
    "SELECT state, count(*), max(waker_utid), max(capture_id) FROM thread_state GROUP BY state",
    "SELECT * FROM thread_state WHERE state = 'W' OR id IN (2, 3, 9) ORDER BY ts",
    "SELECT th.id, s.* FROM thread AS th JOIN thread_state AS s ON s.utid = th.id AND s.ts > 0",
    "SELECT * FROM thread_wait ORDER BY state DESC, waker_utid",
    "SELECT * FROM perf_sample ORDER BY ts, callsite_id DESC",
    "SELECT * FROM call_top WHERE per = 'thread' AND cpu = '0,1'",
    "SELECT * FROM call_tree WHERE from_ts = 1 AND tid = '7'",
    "SELECT d.* FROM slice AS s, descendants(s.id) AS d",
    "SELECT a.* FROM slice AS s, ancestors(s.id) AS a, slice_at(s.ts, 1)",
    "SELECT * FROM intervals_intersect('thread_state', 'slice')",
    "SELECT min(ts), max(ts), max(parent_id), min(id) FROM slice",
    "SELECT c.id FROM slice AS c, slice AS p WHERE p.id = c.parent_id AND c.dur * 2 > p.dur + p.ts",
    "SELECT id FROM slice_data WHERE ts + dur > 7 AND async_id IS NULL ORDER BY scope",
    "SELECT max(cpu) - min(cpu), max(utid) FROM sched_slice",
    "SELECT max(arg_set_id), (SELECT min(dur) FROM slice) FROM slice",
    "SELECT id FROM slice_data ORDER BY async_id DESC",
    "SELECT name, count(*), sum(dur), min(ts), max(dur) FROM slice GROUP BY name ORDER BY 1 DESC",
    "SELECT depth, track_id, count(*), sum(id), max(parent_id) FROM slice GROUP BY depth, track_id",
    "SELECT t.id, sum(dur), max(s.id) FROM track t JOIN slice s ON track_id = t.id GROUP BY 1",
    "SELECT min(value), max(value), count(*) FROM counter",
    "SELECT state, count(*), sum(dur), min(cpu) FROM thread_state GROUP BY state",
    "SELECT cpu, lead(ts) OVER (PARTITION BY cpu ORDER BY ts) - ts AS n FROM sched WHERE dur > 0",
    ("SELECT s.id, n FROM slice AS s LEFT JOIN (SELECT parent_id AS p, sum(dur) AS n FROM slice "
     "GROUP BY parent_id) AS c ON c.p = s.id"),
    ("SELECT s.id, m FROM sched AS s LEFT JOIN (SELECT utid, max(end_state) AS m FROM sched GROUP "
     "BY utid) AS c ON c.utid = s.cpu"),
    "SELECT lag(parent_id) OVER (PARTITION BY track_id ORDER BY ts) AS n FROM slice ORDER BY n",
};

/* A store without a name, with columns of its rows.  */
static struct store *make_store(void)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    struct columns_writer *writer = NULL;
    struct store_error error = { .message = "" };
    struct store *store = NULL;

    HOLD(store_create(NULL, &options, &store, &error) == STORE_OK);
    HOLD(sqlite3_close(store->db) == SQLITE_OK);
    store->db = fuzz_small_store(false);
    store->columns.are_current = false;
    HOLD(store_run(store, "BEGIN", &error) == STORE_OK);
    HOLD(columns_writer_open(store, &writer, &error) == STORE_OK && writer);
    HOLD(columns_writer_finish(writer, &error) == STORE_OK);
    columns_writer_close(writer);
    HOLD(store_run(store, "COMMIT", &error) == STORE_OK);
    store_columns_written(store);
    return store;
}

static void put(struct store *store, int64_t id, const void *bytes, size_t size)
{
    sqlite3_stmt *statement = NULL;

    HOLD(sqlite3_prepare_v2(store_sqlite(store),
                            "INSERT OR REPLACE INTO column_data (id, data) VALUES (?1, ?2)", -1,
                            &statement, NULL) == SQLITE_OK);
    HOLD(sqlite3_bind_int64(statement, 1, id) == SQLITE_OK &&
         sqlite3_bind_blob64(statement, 2, bytes, size, SQLITE_TRANSIENT) == SQLITE_OK);
    HOLD(sqlite3_step(statement) == SQLITE_DONE);
    (void)sqlite3_finalize(statement);
}

static bool get_directory(struct store *store, enum columns_table table,
                          struct columns_directory *out)
{
    sqlite3_stmt *row = NULL;
    bool found = false;

    HOLD(sqlite3_prepare_v2(store_sqlite(store), "SELECT data FROM column_data WHERE id = ?1", -1,
                            &row, NULL) == SQLITE_OK);
    HOLD(sqlite3_bind_int(row, 1, 1 + (int)table) == SQLITE_OK);
    *out = (struct columns_directory){ .groups = NULL };
    if (sqlite3_step(row) == SQLITE_ROW)
        found = columns_directory_parse(sqlite3_column_blob(row, 0),
                                        (size_t)sqlite3_column_bytes(row, 0), table,
                                        out) == STORE_OK;
    (void)sqlite3_finalize(row);
    return found && out->count > 0;
}

/* A group that says something else, and a block that fits it.  */
static void lie(struct store *store, struct fuzz_choices *choices)
{
    enum columns_table table = (enum columns_table)(fuzz_choose(choices, 1) % COLUMNS_TABLES);
    unsigned column = (unsigned)(fuzz_choose(choices, 1) % columns_tables[table].count);
    struct columns_directory directory;
    struct columns_group *group;
    struct block_shape *shape;
    uint8_t bytes[BLOCK_MOST_BYTES], *whole;
    unsigned bits;
    size_t size;

    if (!get_directory(store, table, &directory)) {
        columns_directory_release(&directory);
        return;
    }
    group = &directory.groups[0];
    shape = &group->shapes[column];
    shape->width = (uint8_t)(fuzz_choose(choices, 1) % 65);
    shape->flags = (uint8_t)(fuzz_choose(choices, 1) & 31);
    shape->minimum = (int64_t)fuzz_choose(choices, 8);
    shape->maximum = fuzz_choose(choices, 1) & 1 ? INT64_MAX : (int64_t)fuzz_choose(choices, 8);
    bits = (shape->flags & BLOCK_HAS_NULLS ? 1u : 0u) + (shape->flags & BLOCK_HAS_REALS ? 1u : 0u);
    shape->size = (group->count * shape->width + 7) / 8 + bits * ((group->count + 7) / 8);
    for (size_t i = 0; i < shape->size; i++)
        bytes[i] = (uint8_t)fuzz_choose(choices, 1);
    shape->checksum = block_checksum(bytes, shape->size);
    if (block_shape_is_valid(shape, group->count)) {
        if (shape->size > 0)
            put(store, group->base + column, bytes, shape->size);
        whole = columns_directory_bytes(&directory, table, &size);
        HOLD(whole != NULL);
        put(store, 1 + (int)table, whole, size);
        free(whole);
    }
    columns_directory_release(&directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices choices = { data, size };
    struct store *store = make_store();
    int lies = 1 + (int)(fuzz_choose(&choices, 1) % 8);

    for (int i = 0; i < lies; i++)
        lie(store, &choices);
    HOLD(store_add_functions(store, NULL) == STORE_OK);
    HOLD(store_serve_columns(store, NULL) == STORE_OK && store->serving);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *statement = NULL;
        const char *rest = NULL;

        HOLD(store_prepare_once(store, queries[i], &statement, &rest));
        (void)fuzz_run(store_sqlite(store), statement);
    }
    store_close(store);
    return 0;
}
