#include "tests/fuzz/store_files.h"

#include <stdio.h>
#include <string.h>

enum store_status fuzz_import(struct store *store, const void *bytes, size_t size,
                              struct store_error *error)
{
    const struct store_import_options options = { .size = sizeof options, .name = "trace" };
    struct fxt_reader_options reader_options = { .size = sizeof reader_options,
                                                 .trust_start = true,
                                                 .skipped = store_import_skipped };
    struct store_import *import = NULL;
    struct fxt_reader *reader = NULL;
    struct fuzz_source source;
    struct fxt_input *input = fuzz_open(&source, bytes, size, (struct pieces){ .most = 0 });
    const struct fxt_record *record;
    enum store_status status = store_import_open(store, &options, &import, error);

    reader_options.skipped_context = import;
    HOLD(fxt_reader_open(input, &reader_options, &reader, NULL) == FXT_OK);
    while (status == STORE_OK && fxt_reader_next(reader, &record, NULL) == FXT_OK)
        status = store_import_record(import, record, fxt_reader_bytes(reader), error);
    if (status == STORE_OK)
        status = store_import_finish(import, fxt_reader_damage(reader), error);
    store_import_close(import);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return status;
}

int64_t fuzz_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t number;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW) {
        (void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        fuzz_broken(__FILE__, __LINE__, sql);
    }
    number = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    return number;
}

/* Columns that refer to rows; 0 stands for none where a comment of the schema says so.  */
static const struct {
    const char *table, *column, *to;
} references[] = {
    { "provider", "capture_id", "capture" },
    { "process", "capture_id", "capture" },
    { "thread", "nullif(upid, 0)", "process" },
    { "mapping", "upid", "process" },
    { "mapping", "module_id", "module" },
    { "frame", "module_id", "module" },
    { "symbol", "frame_id", "frame" },
    { "symbol", "function", "string" },
    { "symbol", "system_name", "string" },
    { "symbol", "file", "string" },
    { "callsite", "parent_id", "callsite" },
    { "callsite", "frame_id", "frame" },
    { "cpu_sample", "utid", "thread" },
    { "cpu_sample", "nullif(callsite_id, 0)", "callsite" },
    { "cpu_sample", "sample_type_id", "sample_type" },
    { "sample_event", "capture_id", "capture" },
    { "sample_event", "sample_type_id", "sample_type" },
    { "heap_event", "upid", "process" },
    { "heap_event", "callsite_id", "callsite" },
    { "heap_event", "free_callsite_id", "callsite" },
    { "callsite_sum", "capture_id", "capture" },
    { "callsite_sum", "nullif(upid, 0)", "process" },
    { "callsite_sum", "sample_type_id", "sample_type" },
    { "callsite_sum", "nullif(callsite_id, 0)", "callsite" },
    { "track", "capture_id", "capture" },
    { "track", "upid", "process" },
    { "track", "utid", "thread" },
    { "slice_data", "track_id", "track" },
    { "slice_data", "name_id", "event_name" },
    { "slice_data", "parent_id", "slice_data" },
    { "counter", "track_id", "track" },
    { "flow", "slice_out", "slice_data" },
    { "flow", "slice_in", "slice_data" },
    { "flow", "name_id", "event_name" },
    { "sched_slice", "nullif(utid, 0)", "thread" },
    { "thread_wait", "utid", "thread" },
    { "thread_wait", "waker_utid", "thread" },
    { "log", "utid", "thread" },
    { "object", "capture_id", "capture" },
    { "object", "upid", "process" },
    { "arg", "key_id", "string" },
    { "loss", "capture_id", "capture" },
    { "damage", "capture_id", "capture" },
};

/* Sets of arguments have no table of their own.  */
static const char *const with_args[] = { "slice_data", "flow", "object" };

static const char *const without_gaps[] = {
    "capture", "provider", "process",     "thread",      "module",     "mapping",    "frame",
    "string",  "callsite", "cpu_sample",  "track",       "heap_event", "event_name", "slice_data",
    "counter", "flow",     "sched_slice", "thread_wait", "log",        "object",
};

/* What is found breaks a promise.  */
static const char *const broken[] = {
    "SELECT count(*) FROM callsite AS c JOIN callsite AS p ON p.id = c.parent_id "
    "WHERE c.parent_id >= c.id OR c.depth <> p.depth + 1",
    "SELECT count(*) FROM callsite WHERE parent_id IS NULL AND depth <> 0",
    "SELECT count(*) - count(DISTINCT printf('%d %d', parent_id, frame_id)) FROM callsite",
    "SELECT count(*) - count(DISTINCT printf('%d %d', module_id, vaddr)) FROM frame "
    "WHERE vaddr IS NOT NULL",
    "SELECT count(*) FROM slice_data AS s JOIN slice_data AS p ON p.id = s.parent_id "
    "WHERE p.id >= s.id OR p.track_id <> s.track_id OR s.depth <> p.depth + 1 OR s.ts < p.ts",
    "SELECT count(*) FROM slice_data WHERE dur < -1 OR (instant AND dur <> 0) OR "
    "(parent_id IS NULL) <> (depth = 0)",
    "SELECT count(*) FROM sched_slice WHERE dur < -1",
    "SELECT count(*) FROM thread_wait WHERE dur < -1",
    "SELECT count(*) FROM flow WHERE in_ts < out_ts",
    "SELECT count(*) FROM heap_event WHERE freed NOT IN (0, 1, 2) OR free_ts < ts",
    "SELECT count(*) FROM arg AS a WHERE ordinal > 0 AND NOT EXISTS (SELECT 1 FROM arg AS b "
    "WHERE b.arg_set_id = a.arg_set_id AND b.ordinal = a.ordinal - 1)",
    "SELECT count(*) FROM arg WHERE type NOT BETWEEN 0 AND 11",
    "SELECT count(*) FROM damage WHERE count = 0",
    "SELECT (SELECT count(*) FROM cpu_sample) <> (SELECT sum(sample_count) FROM capture)",
    "SELECT (SELECT count(*) FROM slice_data) <> (SELECT sum(slice_count) FROM capture)",
    "SELECT count(*) FROM capture AS c JOIN cpu_sample AS s ON s.id >= c.first_sample_id AND "
    "s.id < c.first_sample_id + c.sample_count JOIN cpu_sample AS t ON t.id = s.id + 1 AND "
    "t.id < c.first_sample_id + c.sample_count WHERE c.samples_ordered AND t.ts < s.ts",
    "SELECT (SELECT coalesce(sum(n), 0) FROM callsite_sum WHERE sample_type_id NOT IN (2, 3, 4)) "
    "<> "
    "(SELECT count(*) FROM cpu_sample WHERE callsite_id <> 0)",
    "SELECT (SELECT count(*) FROM heap_event WHERE callsite_id IS NOT NULL) > 0 AND "
    "(SELECT count(*) FROM callsite_sum WHERE sample_type_id = 2) = 0",
    "SELECT count(*) FROM capture WHERE start_ts > end_ts",
};

static void hold_none(sqlite3 *db, const char *sql)
{
    if (fuzz_number(db, sql) != 0)
        fuzz_broken(__FILE__, __LINE__, sql);
}

void fuzz_hold_consistent(sqlite3 *db)
{
    char sql[300];

    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM %s WHERE %s IS NOT NULL AND "
                       "%s NOT IN (SELECT id FROM %s)",
                       references[i].table, references[i].column, references[i].column,
                       references[i].to);
        hold_none(db, sql);
    }
    for (size_t i = 0; i < sizeof with_args / sizeof *with_args; i++) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM %s WHERE arg_set_id > 0 AND arg_set_id NOT IN (SELECT "
                       "arg_set_id FROM "
                       "arg)",
                       with_args[i]);
        hold_none(db, sql);
    }
    for (size_t i = 0; i < sizeof without_gaps / sizeof *without_gaps; i++) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT coalesce(max(id), 0) <> count(*) OR min(id) < 1 FROM %s",
                       without_gaps[i]);
        hold_none(db, sql);
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        hold_none(db, broken[i]);
}

/* ---- A small store ---- */

static const char rows[] =
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, start_ts, end_ts, "
    "period_ns, command, first_sample_id, sample_count, samples_ordered, first_slice_id, "
    "slice_count, first_sched_id, sched_count) VALUES (1, x'01', 'a.fxt', 'fxt', 9, 9, 100, 900, "
    "10, 'app', 1, 6, 1, 1, 3, 1, 2), (2, x'02', 'b.fxt', 'fxt', 9, 9, 0, 50, NULL, NULL, 7, 2, 0, "
    "4, 0, 3, 0);"
    "INSERT INTO meta (capture_id, key, value) VALUES (1, 'kernel', 'k');"
    "INSERT INTO provider (id, capture_id, provider_id, name, lost) VALUES (1, 1, 1, 'p', 2);"
    "INSERT INTO loss (capture_id, name, count) VALUES (1, 'ring', 3);"
    "INSERT INTO damage (capture_id, kind, count, first_offset, bytes, is_loss, description) "
    "VALUES (1, 'stray_ends', 1, NULL, NULL, 0, 'ends');"
    "INSERT INTO process (id, capture_id, koid, name) VALUES (1, 1, 7, 'app'), (2, 2, 8, NULL);"
    "INSERT INTO thread (id, upid, koid, name) VALUES (1, 1, 7, 'app'), (2, 1, 9, 'io'), (3, 2, 8, "
    "NULL);"
    "INSERT INTO module (id, name, build_id) VALUES (1, '/bin/app', 'c0ffee'), (2, '[vdso]', "
    "NULL), (3, '', '12');"
    "INSERT INTO mapping (id, upid, module_id, ts, address, size, vaddr, flags) VALUES (1, 1, 1, "
    "100, 4096, 8192, 0, 5);"
    "INSERT INTO frame (id, module_id, vaddr) VALUES (1, 1, 16), (2, 1, 32), (3, 2, 48), (4, NULL, "
    "NULL), (5, 3, 64);"
    "INSERT INTO string (id, text) VALUES (1, 'main'), (2, 'run'), (3, 'a.c'), (4, 'a;b'), (5, "
    "'key');"
    "INSERT INTO symbol (frame_id, inline_depth, function, system_name, file, line, \"column\", "
    "start_line, quality) VALUES (1, 0, 1, NULL, 3, 5, 1, 4, 4), (2, 0, 2, 2, 3, 9, NULL, NULL, "
    "4), (2, 1, 1, NULL, NULL, NULL, NULL, NULL, 4), (4, 0, 4, NULL, NULL, NULL, NULL, NULL, 5);"
    "INSERT INTO callsite (id, parent_id, frame_id, depth) VALUES (1, NULL, 1, 0), (2, 1, 2, 1), "
    "(3, 2, 2, 2), (4, 1, 3, 1), (5, NULL, 4, 0), (6, 4, 5, 2);"
    "INSERT INTO cpu_sample (id, ts, cpu, utid, callsite_id, weight) VALUES (1, 100, 0, 1, 2, 10), "
    "(2, 110, 1, 2, 3, 10), (3, 120, 0, 1, 3, 10), (4, 130, NULL, 1, 4, 20), (5, 140, 0, 2, 5, "
    "10), (6, 150, 0, 1, 6, 10), (7, 9, 0, 3, 1, NULL), (8, 5, 0, 3, 2, NULL);"
    "INSERT INTO heap_event (id, ts, freed, free_ts, upid, address, size, objects, bytes, "
    "callsite_id, free_callsite_id) VALUES (1, 200, 0, NULL, 1, 4096, 16, 8.0, 128.0, 2, NULL), "
    "(2, 210, 1, 220, 1, 8192, 32, 1.5, 48.0, 3, 4);"
    "INSERT INTO callsite_sum (capture_id, sample_type_id, upid, callsite_id, n, value) VALUES (1, "
    "1, 1, 2, 1, 10), (1, 1, 1, 3, 2, 20), (1, 1, 1, 4, 1, 20), (1, 1, 1, 5, 1, 10), (1, 1, 1, 6, "
    "1, 10), (1, 2, 1, 2, 8.0, 128.0), (1, 2, 1, 3, 1.5, 48.0), (1, 3, 1, 2, 8.0, 128.0), (1, 4, "
    "1, 4, 1.5, 48.0), (2, 1, 2, 1, 1, NULL), (2, 1, 2, 2, 1, NULL);"
    "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'draw'), (2, 'c', 'read');"
    "INSERT INTO track (id, capture_id, type, name, category, upid, utid, cookie) VALUES (1, 1, "
    "'thread', NULL, NULL, 1, 1, NULL), (2, 1, 'counter', 'n:x', 'c', 1, NULL, 3), (3, 1, 'async', "
    "'op', 'c', 1, NULL, NULL);"
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, arg_set_id, "
    "instant) VALUES (1, 100, 50, 1, 1, 0, NULL, 1, 0), (2, 110, -1, 1, 2, 1, 1, NULL, 0), (3, "
    "120, 0, 3, 2, 0, NULL, NULL, 1);"
    "INSERT INTO counter (id, ts, track_id, value) VALUES (1, 100, 2, 5);"
    "INSERT INTO flow (id, slice_out, slice_in, trace_id, name_id, out_ts, in_ts, arg_set_id) "
    "VALUES (1, 1, 2, 9, 1, 100, 110, NULL);"
    "INSERT INTO sched_slice (id, ts, dur, cpu, utid, end_state, priority) VALUES (1, 100, 10, 0, "
    "1, 'S', 5), (2, 110, -1, 0, 0, NULL, NULL);"
    "INSERT INTO thread_wait (id, ts, dur, utid, state, waker_utid) VALUES (1, 110, 30, 1, 'S', "
    "2), (2, 140, 5, 1, 'R', NULL);"
    "INSERT INTO log (id, ts, utid, message) VALUES (1, 100, 1, 'hello');"
    "INSERT INTO object (id, capture_id, kind, koid, name) VALUES (1, 1, 'kernel', 7, 'app');"
    "INSERT INTO arg (arg_set_id, ordinal, key_id, type, value) VALUES (1, 0, 5, 4, 12), (2, 0, 5, "
    "6, 'text');"
    "INSERT INTO arg_set_end (arg_set_id, end_arg_set_id) VALUES (1, 2);";

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fuzz_broken(__FILE__, __LINE__, message ? message : sql);
}

/* What the schema says, without the words that bind types.  */
#define LOOSE_SQL                                                                                \
    "replace(replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), ') STRICT', ')'), 'NOT NULL', " \
    "'')"

/* A changed schema is read anew by the next connection only: one from the bytes of the first.  */
static sqlite3 *copy_of(sqlite3 *db)
{
    sqlite3 *copy = NULL;
    sqlite3_int64 size = 0;
    unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);

    HOLD(bytes != NULL && sqlite3_open(":memory:", &copy) == SQLITE_OK);
    HOLD(sqlite3_deserialize(copy, "main", bytes, size, size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
         SQLITE_OK);
    return copy;
}

sqlite3 *fuzz_small_store(bool loose)
{
    sqlite3 *db = NULL, *copy;

    HOLD(sqlite3_open(":memory:", &db) == SQLITE_OK);
    run_sql(db, "PRAGMA page_size = 512");
    run_sql(db, store_schema());
    run_sql(db, rows);
    if (!loose)
        return db;
    run_sql(db, "CREATE TABLE strict_sql (name PRIMARY KEY, sql);"
                "INSERT INTO strict_sql SELECT name, sql FROM sqlite_schema "
                "WHERE type = 'table' AND name <> 'strict_sql';"
                "PRAGMA writable_schema = ON;"
                "UPDATE sqlite_schema SET sql = " LOOSE_SQL " WHERE type = 'table'");
    copy = copy_of(db);
    (void)sqlite3_close(db);
    return copy;
}

void fuzz_make_strict(sqlite3 *db)
{
    run_sql(db, "PRAGMA writable_schema = ON;"
                "UPDATE sqlite_master SET sql = (SELECT s.sql FROM strict_sql AS s "
                "WHERE s.name = sqlite_master.name) WHERE name IN (SELECT name FROM strict_sql)");
}

/* ---- Choices ---- */

uint64_t fuzz_choose(struct fuzz_choices *choices, unsigned size_bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size_bytes && choices->left > 0; i++, choices->left--)
        value = value << 8 | *choices->bytes++;
    return value;
}

void fuzz_bind(struct fuzz_choices *choices, sqlite3_stmt *statement, int index)
{
    static const sqlite3_int64 limits[] = { INT64_MAX, INT64_MIN, UINT32_MAX, INT32_MAX, -1, 0 };
    static const char *const texts[] = { "",       "main", ".",   "^a",  "cpu", "alloc_space",
                                         "file",   "1",    "1,2", "app", "(",   "x*",
                                         "thread", "key",  "line" };
    unsigned kind = (unsigned)fuzz_choose(choices, 1);
    double real;
    uint64_t bits;
    size_t length;

    switch (kind % 8) {
    case 0:
        (void)sqlite3_bind_null(statement, index);
        return;
    case 1:
        (void)sqlite3_bind_int64(statement, index, (sqlite3_int64)fuzz_choose(choices, 1));
        return;
    case 2:
        (void)sqlite3_bind_int64(statement, index, limits[kind / 8 % 6]);
        return;
    case 3:
        (void)sqlite3_bind_int64(statement, index, (sqlite3_int64)fuzz_choose(choices, 8));
        return;
    case 4:
        bits = fuzz_choose(choices, 8);
        memcpy(&real, &bits, sizeof real);
        (void)sqlite3_bind_double(statement, index, real);
        return;
    case 5:
        (void)sqlite3_bind_text(statement, index, texts[kind / 8 % 15], -1, SQLITE_STATIC);
        return;
    default:
        break;
    }
    length = (size_t)fuzz_choose(choices, 1);
    length = length < choices->left ? length : choices->left;
    if (kind % 8 == 6)
        (void)sqlite3_bind_text(statement, index, (const char *)choices->bytes, (int)length,
                                SQLITE_STATIC);
    else
        (void)sqlite3_bind_blob(statement, index, choices->bytes, (int)length, SQLITE_STATIC);
    choices->bytes += length;
    choices->left -= length;
}

static int stop(void *calls)
{
    return ++*(int *)calls > 200;
}

int fuzz_run(sqlite3 *db, sqlite3_stmt *statement)
{
    int calls = 0, code;

    sqlite3_progress_handler(db, 10000, stop, &calls);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            (void)sqlite3_column_text(statement, i);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    (void)sqlite3_finalize(statement);
    return code;
}
