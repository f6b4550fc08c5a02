/* What a small input may make of a store: no more than its caller allows, in a file or in none.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "libstore/store_internal.h"
#include "tests/support/profile_records.h"
#include "tests/support/stores.h"

/* Small inputs that become many rows.  */
enum bomb { DEEP_STACKS, MANY_VALUES, BACKTRACES, SAMPLES, BOMBS };

struct input_bytes {
    char *items;
    size_t count, capacity;
};

static void add(struct input_bytes *bytes, const void *more, size_t size)
{
    bytes->items = base_grow(bytes->items, &bytes->capacity, bytes->count + size, 1);
    ck_assert_ptr_nonnull(bytes->items);
    memcpy(bytes->items + bytes->count, more, size);
    bytes->count += size;
}

/* Every frame is a call site of its own.  */
static void add_deep_stacks(struct input_bytes *bytes)
{
    for (int line = 0; line < 20; line++) {
        char first[32];

        add(bytes, first, (size_t)snprintf(first, sizeof first, "line%d", line));
        for (int frame = 0; frame < 10000; frame++)
            add(bytes, ";f", 2);
        add(bytes, " 1\n", 3);
    }
}

/* 60 sample types, and samples with 60 values of a byte each.  */
static void add_many_values(struct input_bytes *bytes)
{
    static const char tables[] = "\x32\0\x32\1a"; /* "" and "a" */
    char sample[4 + 60 + 3] = { 0x12, 65, 0x0a, 1, 1, 0x12, 60 };

    for (int type = 0; type < 60; type++)
        add(bytes, "\x0a\4\x08\1\x10\1", 6);
    add(bytes, tables, 5);
    add(bytes, "\x22\2\x08\1", 4);
    memset(sample + 7, 1, 60);
    for (int i = 0; i < 5000; i++)
        add(bytes, sample, sizeof sample);
}

static void add_backtraces(struct input_bytes *bytes)
{
    static const char start[] = "{{{reset}}}\n{{{module:0:a:elf:aabbcc}}}\n"
                                "{{{mmap:0x0:0x100000:load:0:rx:0x0}}}\n";

    add(bytes, start, sizeof start - 1);
    for (int i = 0; i < 40000; i++) {
        char line[48];

        add(bytes, line,
            (size_t)snprintf(line, sizeof line, "{{{bt:%d:0x%x:pc}}}\n", i % 100, i + 1));
    }
}

static enum store_status import_profile(struct store *store, enum bomb bomb, uint64_t most_bytes,
                                        struct store_error *error)
{
    static const enum store_profile_format formats[] = { STORE_PROFILE_FOLDED, STORE_PROFILE_PPROF,
                                                         STORE_PROFILE_MARKUP };
    static void (*const make[])(struct input_bytes *) = { add_deep_stacks, add_many_values,
                                                          add_backtraces };
    struct store_import_options options = { .size = sizeof options,
                                            .name = "bomb",
                                            .most_bytes = most_bytes };
    struct input_bytes bytes = { .count = 0 };
    FILE *file = tmpfile();
    struct fxt_input_options from = { .size = sizeof from, .fd = fileno(file), .as_stream = true };
    struct fxt_input *input;
    enum store_status status;

    make[bomb](&bytes);
    ck_assert_uint_eq(fwrite(bytes.items, 1, bytes.count, file), bytes.count);
    rewind(file);
    ck_assert_int_eq(fxt_input_open(&from, &input, NULL), FXT_OK);
    status = store_import_profile(store, &options, input, formats[bomb], NULL, error);
    fxt_input_close(input);
    (void)fclose(file);
    free(bytes.items);
    return status;
}

static enum store_status import_samples(struct store *store, uint64_t most_bytes,
                                        struct store_error *error)
{
    static const uint64_t stack[] = { 0x1000, 0x1801 };
    struct store_import_options options = { .size = sizeof options,
                                            .name = "bomb",
                                            .most_bytes = most_bytes };
    struct fxt_bytes bytes = { (const uint8_t *)"x", 1 };
    struct store_import *in = NULL;
    enum store_status status = store_import_open(store, &options, &in, error);

    for (int i = 0; i < 200000 && status == STORE_OK; i++, bytes.length = 0) {
        struct fxt_record record = sampler_record(i, 1, 1, stack, 2);

        status = store_import_record(in, &record, bytes, error);
    }
    if (status == STORE_OK)
        status = store_import_finish(in, NULL, error);
    store_import_close(in);
    return status;
}

static enum store_status import(struct store *store, enum bomb bomb, uint64_t most_bytes,
                                struct store_error *error)
{
    return bomb == SAMPLES ? import_samples(store, most_bytes, error)
                           : import_profile(store, bomb, most_bytes, error);
}

static const char *const counted[BOMBS] = {
    [DEEP_STACKS] = "SELECT count(*) > 100000 FROM callsite",
    [MANY_VALUES] = "SELECT count(*) > 100000 FROM profile_value",
    [BACKTRACES] = "SELECT count(*) > 10000 FROM callsite",
    [SAMPLES] = "SELECT count(*) > 100000 FROM cpu_sample",
};

START_TEST(takes_what_may_be_large)
{
    struct store *store = new_store("s");
    struct store_error error = { .status = STORE_OK };

    ck_assert_msg(import(store, (enum bomb)_i, 0, &error) == STORE_OK, "%s", error.message);
    ck_assert_int_eq(row_number(store, counted[_i]), 1);
    store_close(store);
}
END_TEST

/* A new store gets hardly larger than it may, is empty afterwards, and takes the next capture.  */
START_TEST(stops_at_the_limit_of_a_new_store)
{
    struct store *store = new_store("s");
    struct store_error error = { .status = STORE_OK };
    struct stat info;

    ck_assert_int_eq(import(store, (enum bomb)_i, 256 << 10, &error), STORE_TOO_LARGE);
    ck_assert_int_eq(stat("s.part", &info), 0);
    ck_assert_int_lt(info.st_size, 4 << 20);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"), 0);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM string"), 0);
    ck_assert_msg(import(store, (enum bomb)_i, 0, &error) == STORE_OK, "%s", error.message);
    ck_assert_int_eq(row_number(store, counted[_i]), 1);
    ck_assert_int_eq(store_publish(store, &error), STORE_OK);
    store_close(store);
}
END_TEST

/* A store that is there stays what it was, and takes the next capture without a limit.  */
START_TEST(stops_at_the_limit_of_a_store_that_is_there)
{
    struct store *store = new_store("s");
    struct store_error error = { .status = STORE_OK };

    ck_assert_int_eq(store_publish(store, &error), STORE_OK);
    store_close(store);
    store = reopen_store("s", STORE_APPEND);
    ck_assert_int_eq(import(store, (enum bomb)_i, 256 << 10, &error), STORE_TOO_LARGE);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"), 0);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM callsite"), 0);
    ck_assert_int_eq(import(store, (enum bomb)_i, 0, &error), STORE_OK);
    ck_assert_int_eq(row_number(store, counted[_i]), 1);
    store_close(store);
}
END_TEST

/* Its pages leave memory for a file when the cache is full; the rows are all there.  */
START_TEST(keeps_no_more_than_its_cache_without_a_name)
{
    struct store_options options = { .size = sizeof options, .cache_bytes = 512 << 10 };
    struct store_error error = { .status = STORE_OK };
    struct store *store;
    int used, most;

    ck_assert_int_eq(store_create(NULL, &options, &store, &error), STORE_OK);
    ck_assert_msg(import(store, (enum bomb)_i, 0, &error) == STORE_OK, "%s", error.message);
    ck_assert_int_eq(
        sqlite3_db_status(store_sqlite(store), SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0),
        SQLITE_OK);
    ck_assert_int_lt(used, 2 << 20);
    ck_assert_int_gt(row_number(store, "PRAGMA page_count") * 4096, 3 * (int64_t)used / 2);
    ck_assert_int_eq(row_number(store, counted[_i]), 1);
    store_close(store);
}
END_TEST

/* So do columns: what they are made of may have left memory.  */
START_TEST(reads_columns_beyond_its_cache_without_a_name)
{
    static const char sums[] = "SELECT printf('%d %d %d', count(*), sum(id), sum(ts)) FROM ";
    struct store_options options = { .size = sizeof options, .cache_bytes = 512 << 10 };
    struct store_error error = { .status = STORE_OK };
    char columns[128], plain[128];
    struct store *store;
    char *expected;
    int used, most;

    (void)snprintf(columns, sizeof columns, "%scpu_sample", sums);
    (void)snprintf(plain, sizeof plain, "%smain.cpu_sample", sums);
    ck_assert_int_eq(store_create(NULL, &options, &store, &error), STORE_OK);
    ck_assert_msg(import(store, SAMPLES, 0, &error) == STORE_OK, "%s", error.message);
    ck_assert_int_eq(store_serve_columns(store, &error), STORE_OK);
    ck_assert_int_eq(
        row_number(store, "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'cpu_sample'"), 1);
    ck_assert_int_gt(row_number(store, "SELECT (SELECT page_count FROM pragma_page_count) * 4096"),
                     3 * (512 << 10) / 2);
    expected = row_texts(store, plain);
    ck_assert_rows(store, columns, expected);
    free(expected);
    ck_assert_int_eq(
        sqlite3_db_status(store_sqlite(store), SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0),
        SQLITE_OK);
    ck_assert_int_lt(used, 2 << 20);
    ck_assert_uint_eq(store_columns_damaged(store), 0);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_bounds");
    TCase *tcase = tcase_create("bombs");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
    tcase_add_loop_test(tcase, takes_what_may_be_large, 0, BOMBS);
    tcase_add_loop_test(tcase, stops_at_the_limit_of_a_new_store, 0, BOMBS);
    tcase_add_loop_test(tcase, stops_at_the_limit_of_a_store_that_is_there, 0, BOMBS);
    tcase_add_loop_test(tcase, keeps_no_more_than_its_cache_without_a_name, 0, BOMBS);
    tcase_add_test(tcase, reads_columns_beyond_its_cache_without_a_name);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
