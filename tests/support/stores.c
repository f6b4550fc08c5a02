#include "tests/support/stores.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/describe.h"

void enter_folder(void)
{
    char folder[] = "/tmp/store.XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

void leave_folder(void)
{
    char folder[4096];

    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    (void)unlink("s");
    (void)unlink("s.part");
    ck_assert_int_eq(rmdir(folder), 0);
}

struct store *new_store(const char *path)
{
    struct store_error error = { .status = STORE_OK };
    struct store *store = NULL;

    ck_assert_msg(store_create(path, NULL, &store, &error) == STORE_OK, "%s", error.message);
    return store;
}

struct store *reopen_store(const char *path, enum store_mode mode)
{
    struct store_options options = { .size = sizeof options, .mode = mode };
    struct store_error error = { .status = STORE_OK };
    struct store *store = NULL;

    ck_assert_msg(store_open(path, &options, &store, &error) == STORE_OK, "%s", error.message);
    return store;
}

void make_store(const char *path, const char *name, const struct fxt_record *records, size_t count)
{
    struct store_import_options options = { .size = sizeof options, .name = name };
    /* A capture is known by the bytes of its records: here its name, with the first one.  */
    struct fxt_bytes bytes = { (const uint8_t *)name, strlen(name) };
    struct store *store = new_store(path);
    struct store_import *in = NULL;

    ck_assert_int_eq(store_import_open(store, &options, &in, NULL), STORE_OK);
    for (size_t i = 0; i < count; i++, bytes.length = 0)
        ck_assert_int_eq(store_import_record(in, &records[i], bytes, NULL), STORE_OK);
    ck_assert_int_eq(store_import_finish(in, NULL, NULL), STORE_OK);
    store_import_close(in);
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    store_close(store);
}

enum store_status import_bytes(struct store *store, enum store_profile_format format,
                               const void *bytes, size_t length,
                               struct store_profile_result *result, struct store_error *error)
{
    struct store_import_options options = { .size = sizeof options, .name = "bytes" };
    struct source source = { .bytes = bytes, .left = length };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
    };
    struct fxt_input *input;
    enum store_status status;

    if (fxt_input_open(&from, &input, NULL) != FXT_OK)
        return store_no_memory(error);
    status = store_import_profile(store, &options, input, format, result, error);
    fxt_input_close(input);
    return status;
}

static void has_one_row(struct store *store, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM %s", table);

    ck_assert_int_eq(row_number(store, sql), 1);
    sqlite3_free(sql);
}

unsigned long fail_every_allocation(struct store *store, const char *table, import_fn import,
                                    const void *context)
{
    for (unsigned long n = 1;; n++) {
        struct store_error error = { .status = STORE_OK };
        enum store_status status;

        allocation_fail_at(n);
        status = import(store, context, &error);
        allocation_fail_at(0);
        if (status == STORE_OK)
            return n - 1;
        ck_assert_msg(status == STORE_NO_MEMORY, "allocation %lu: status %d, %s", n, (int)status,
                      error.message);
        has_one_row(store, "capture");
        has_one_row(store, table);
    }
}

int64_t row_number(struct store *store, const char *sql)
{
    struct store_error error = { .status = STORE_OK };
    int64_t value = 0;

    ck_assert_msg(store_number(store, sql, &value, &error) == STORE_OK, "%s: %s", sql,
                  error.message);
    return value;
}

char *row_texts(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);

    ck_assert_msg(sqlite3_prepare_v2(store_sqlite(store), sql, -1, &statement, NULL) == SQLITE_OK,
                  "%s", sqlite3_errmsg(store_sqlite(store)));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);

        (void)fprintf(stream, "%s;", text ? (const char *)text : "NULL");
    }
    (void)sqlite3_finalize(statement);
    (void)fclose(stream);
    return out;
}

void make_store_by_sql(const char *sql)
{
    struct store *store = new_store("s");
    struct store_error error = { .message = "" };
    char *message = NULL;
    sqlite3 *db = NULL;

    ck_assert_int_eq(store_publish(store, &error), STORE_OK);
    store_close(store);
    ck_assert_int_eq(sqlite3_open("s", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s", message);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    store = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(store_make_columns(store, NULL, &error), STORE_OK);
    store_close(store);
}

struct store *open_served_store(void)
{
    struct store *store = reopen_store("s", STORE_READ);

    ck_assert_int_eq(store_serve_columns(store, NULL), STORE_OK);
    ck_assert_int_eq(
        row_number(store, "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'slice'"), 1);
    return store;
}

int answer_of(sqlite3_stmt *statement, char text[ANSWER_BYTES])
{
    size_t used = 0;
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement) && used < ANSWER_BYTES; i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);

            used += (size_t)snprintf(text + used, ANSWER_BYTES - used, "%d %s;",
                                     sqlite3_column_type(statement, i), value ? value : "NULL");
        }
    ck_assert_uint_lt(used, ANSWER_BYTES);
    (void)snprintf(text + used, ANSWER_BYTES - used, "%s",
                   code == SQLITE_DONE ? "" : sqlite3_errmsg(sqlite3_db_handle(statement)));
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
}

int answer_to(struct store *store, const char *sql, char text[ANSWER_BYTES])
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    int steps;

    ck_assert_msg(store_prepare(store, sql, &statement, &rest), "%s: %s", sql,
                  sqlite3_errmsg(store_sqlite(store)));
    ck_assert_str_eq(rest, "");
    steps = answer_of(statement, text);
    (void)sqlite3_finalize(statement);
    return steps;
}

void write_to_store(const char *sql)
{
    struct store *writer = reopen_store("s", STORE_APPEND);
    char *message = NULL;

    ck_assert_msg(sqlite3_exec(store_sqlite(writer), sql, NULL, NULL, &message) == SQLITE_OK, "%s",
                  message);
    store_close(writer);
}

sqlite3_stmt *prepare_once(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;

    ck_assert_msg(store_prepare_once(store, sql, &statement, &rest), "%s: %s", sql,
                  sqlite3_errmsg(store_sqlite(store)));
    ck_assert_str_eq(rest, "");
    return statement;
}
