/* A small store whose contents were changed: values of wrong types and at limits in any column,
 * rows taken out and put in, and bytes of the file.
 *
 * - It is refused with a sentence or opened; then views, SQL functions, coverage, and, in a copy,
 *   an append and a search for symbols give rows or a status.
 * - Reading does not write.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/symbolize.h>
#include "tests/fuzz/store_files.h"

/* ---- Changes ---- */

#define MOST_CHANGES 24

static const char *name_at(sqlite3 *db, const char *sql, uint64_t place, char name[64])
{
    sqlite3_stmt *row = NULL;
    const char *text = NULL;

    HOLD(sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK);
    (void)sqlite3_bind_int64(row, 1, (sqlite3_int64)place);
    if (sqlite3_step(row) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(row, 0);
    (void)snprintf(name, 64, "%s", text ? text : "");
    (void)sqlite3_finalize(row);
    return name;
}

static const char TABLE_AT[] = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> "
                               "'strict_sql' ORDER BY name LIMIT 1 OFFSET ?1 % "
                               "(SELECT count(*) - 1 FROM sqlite_schema WHERE type = 'table')";

/* One value in all rows or in one, a row less, or a row of one value.  What a UNIQUE refuses is not
 * done.  */
static void change(sqlite3 *db, struct fuzz_choices *choices)
{
    unsigned kind = (unsigned)fuzz_choose(choices, 1);
    char table[64], column[64], first[64], columns_of[160];
    sqlite3_stmt *statement = NULL;
    char *sql;

    (void)name_at(db, TABLE_AT, fuzz_choose(choices, 1), table);
    (void)snprintf(columns_of, sizeof columns_of,
                   "SELECT name FROM pragma_table_info('%s') LIMIT 1 OFFSET ?1 %% (SELECT count(*) "
                   "FROM pragma_table_info('%s'))",
                   table, table);
    (void)name_at(db, columns_of, 0, first);
    (void)name_at(db, columns_of, fuzz_choose(choices, 1), column);
    if (kind % 4 == 0)
        sql = sqlite3_mprintf("DELETE FROM \"%w\" WHERE \"%w\" IS ?", table, first);
    else if (kind % 4 == 1)
        sql = sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\" (\"%w\") VALUES (?)", table, column);
    else
        sql = sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = ? WHERE %d OR \"%w\" = ?",
                              table, column, kind % 4 == 2, first);
    HOLD(sql && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    sqlite3_free(sql);
    fuzz_bind(choices, statement, 1);
    if (kind % 4 > 1)
        (void)sqlite3_bind_int64(statement, 2, kind / 4);
    (void)fuzz_run(db, statement);
}

/* ---- The file ---- */

static char path[64];

static void remove_file(void)
{
    char folder[64];

    (void)snprintf(folder, sizeof folder, "%s", path);
    (void)unlink(path);
    *strrchr(folder, '/') = '\0';
    (void)rmdir(folder);
}

/* Where the process keeps its one file.  */
static void choose_path(void)
{
    (void)snprintf(path, sizeof path, "%s/fuzz-store-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    HOLD(mkdtemp(path) != NULL);
    (void)strncat(path, "/s", sizeof path - strlen(path) - 1);
    HOLD(atexit(remove_file) == 0);
}

static void write_file(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    HOLD(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* The store with its changes, the bytes that are changed last.  From sqlite3_malloc().  */
static unsigned char *make_store(struct fuzz_choices *choices, size_t *size)
{
    static unsigned char *image; /* of the store before */
    static sqlite3_int64 image_size;
    unsigned char *bytes;
    sqlite3_int64 length;
    sqlite3 *db = NULL;
    unsigned flips;

    if (!image) {
        db = fuzz_small_store(true);
        image = sqlite3_serialize(db, "main", &image_size, 0);
        HOLD(image != NULL);
        (void)sqlite3_close(db);
        choose_path();
    }
    bytes = sqlite3_malloc64((sqlite3_uint64)image_size);
    HOLD(bytes && sqlite3_open(":memory:", &db) == SQLITE_OK);
    memcpy(bytes, image, (size_t)image_size);
    HOLD(sqlite3_deserialize(db, "main", bytes, image_size, image_size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
         SQLITE_OK);
    flips = (unsigned)fuzz_choose(choices, 1);
    flips = flips < 192 ? 0 : flips - 191; /* mostly none: they hide what values do */
    for (int i = 0; i < MOST_CHANGES && choices->left > 4 * (size_t)flips; i++)
        change(db, choices);
    fuzz_make_strict(db);
    bytes = sqlite3_serialize(db, "main", &length, 0);
    HOLD(bytes != NULL);
    (void)sqlite3_close(db);
    for (; flips > 0 && choices->left > 0; flips--)
        bytes[fuzz_choose(choices, 3) % (uint64_t)length] ^= (uint8_t)(fuzz_choose(choices, 1) | 1);
    *size = (size_t)length;
    return bytes;
}

/* ---- Asking ---- */

static const char *const queries[] = {
    "SELECT folded(id), leaf(id), depth(id), in_stack(id, 'a') FROM callsite LIMIT 100",
    "SELECT * FROM flamegraph LIMIT 1000",
    "SELECT * FROM flamegraph WHERE hide = 'm' AND focus = '.' LIMIT 1000",
    "SELECT * FROM callers('.') LIMIT 1000",
    "SELECT * FROM callees('a') WHERE type = 'alloc_space' LIMIT 1000",
    "SELECT * FROM call_top WHERE from_ts = 100 AND limit_ts = 900",
    "SELECT * FROM call_top WHERE per = 'thread'",
    "SELECT * FROM call_top WHERE per = 'process' AND type = 'inuse_space'",
    "SELECT * FROM call_top WHERE per = 'line' AND tid = '7,9' AND cpu = 0",
    "SELECT * FROM callsite_counts WHERE comm = 'app' AND capture = 1",
    "SELECT extract_arg(arg_set_id, 'key') FROM slice_data",
    "SELECT percentile(dur, 50), percentile(ts, 99) FROM slice_data GROUP BY name_id",
};

static void ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK)
        (void)fuzz_run(db, statement);
}

static void ask_views(sqlite3 *db)
{
    const char *at = store_schema();

    while ((at = strstr(at, "\nCREATE VIEW ")) != NULL) {
        char sql[120];

        at += strlen("\nCREATE VIEW ");
        (void)snprintf(sql, sizeof sql, "SELECT * FROM %.*s LIMIT 1000", (int)strcspn(at, " "), at);
        ask(db, sql);
    }
}

static void read_store(void)
{
    const struct store_options options = { .size = sizeof options, .mode = STORE_READ };
    struct store_error error = { .message = "" };
    struct store_coverage *coverage = NULL;
    struct store *store = NULL;
    size_t count = 0;

    if (store_open(path, &options, &store, &error) != STORE_OK) {
        HOLD(error.message[0] != '\0');
        return;
    }
    HOLD(store_add_functions(store, NULL) == STORE_OK);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        ask(store_sqlite(store), queries[i]);
    ask_views(store_sqlite(store));
    if (store_coverage(store, &coverage, &count, &error) == STORE_OK)
        store_coverage_release(coverage, count);
    store_close(store);
}

/* An instant (format notes, v9-instant).  */
static const uint64_t trace[] = {
    UINT64_C(0x0016547846040010), /* magic */
    UINT64_C(0x8003800300000044), /* event of four words, thread, category and name inline */
    UINT64_C(5),
    UINT64_C(100),
};

static void write_store(void)
{
    const struct store_options options = { .size = sizeof options, .mode = STORE_APPEND };
    const struct sym_options nowhere = { .size = sizeof nowhere, .no_cache = true };
    struct store_error error = { .message = "" };
    struct sym_session *session = NULL;
    struct store *store = NULL;

    if (store_open(path, &options, &store, &error) != STORE_OK)
        return;
    if (sym_session_open(&nowhere, &session, NULL) == SYM_OK)
        (void)store_symbolize(store, session, NULL, NULL, &error);
    sym_session_close(session);
    if (fuzz_import(store, trace, sizeof trace, &error) != STORE_OK)
        HOLD(error.message[0] != '\0');
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_choices choices = { data, size };
    size_t length;
    unsigned char *bytes = make_store(&choices, &length), *after = malloc(length);
    FILE *file;

    write_file(bytes, length);
    read_store();
    file = fopen(path, "rb");
    HOLD(after && file && fread(after, 1, length, file) == length && fgetc(file) == EOF);
    (void)fclose(file);
    HOLD(memcmp(bytes, after, length) == 0);
    write_store();
    free(after);
    sqlite3_free(bytes);
    return 0;
}
