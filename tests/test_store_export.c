/* Exports of stores that lie, machines without memory, outputs that are full.  */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_export.h>
#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/stores.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef enum store_status (*export_fn)(struct store *store, const struct store_filter *filter,
                                       const struct store_export_options *options,
                                       store_write_fn write, void *context,
                                       struct store_export_counts *counts,
                                       struct store_error *error);

static const struct {
    const char *name;
    export_fn write;
    const char *sample_type;
    enum store_csv_table table;
    bool is_profile; /* the capture was a pprof profile */
} exports[] = {
    { "folded", store_export_folded, NULL, STORE_CSV_ANY },
    { "folded of the heap", store_export_folded, "alloc_space", STORE_CSV_ANY },
    { "folded of profiles", store_export_folded, "walks", STORE_CSV_ANY },
    { "csv of samples", store_export_csv, NULL, STORE_CSV_CPU },
    { "csv of the heap", store_export_csv, NULL, STORE_CSV_HEAP },
    { "csv of profiles", store_export_csv, NULL, STORE_CSV_PROFILE },
    { "fxt", store_export_fxt, NULL, STORE_CSV_ANY },
    { "pprof", store_export_pprof, NULL, STORE_CSV_ANY },
    { "a profile unchanged", store_export_pprof, NULL, STORE_CSV_ANY, true },
};

/* A capture with a row of every kind, and samples of a profile beside them.  */
static const char contents[] =
    "INSERT INTO capture VALUES (1, x'01', 'a.fxt', 'fxt', 8, 1, 10, 900, 1000, 3, 5, 6, 'a b', "
    "'x86_64', 1, 3, 1, 1, 4, 1, 9);"
    "INSERT INTO meta VALUES (1, 'kernel', '6.1'), (1, 'cpu_model', 'c');"
    "INSERT INTO provider VALUES (1, 1, 7, 'p', 2), (2, 1, 3, 'cpu-2', 0);"
    "INSERT INTO loss VALUES (1, 'ring', 4), (1, 'heap_frees', 1), (1, 'provider_events', 2);"
    "INSERT INTO process (id, capture_id, koid, name) VALUES (1, 1, 100, 'one'), (2, 1, 0, NULL);"
    "INSERT INTO thread (id, upid, koid, name) VALUES (1, 1, 101, 'main'), (2, 1, 102, NULL), "
    "(3, 2, 102, 'twice');"
    "INSERT INTO module (id, name, build_id) VALUES (1, '/lib/m.so', 'cafe'), (2, '', 'cafe'), (3, "
    "'/n.so', NULL);"
    "INSERT INTO mapping (id, upid, module_id, ts, address, size, vaddr, flags) VALUES (1, 1, 1, "
    "20, 65536, 65536, 0, 5), (2, 1, 2, NULL, 262144, 4096, "
    "65536, 0), (3, 1, 3, 500, 65536, 8192, 0, 5), (4, 2, 3, 20, -4096, 4095, 0, 1);"
    "INSERT INTO frame (id, module_id, vaddr) VALUES (1, 1, 16), (2, 1, 32), (3, NULL, NULL), (4, "
    "3, 8), (5, NULL, NULL);"
    "INSERT INTO string VALUES (1, '[truncated]'), (2, 'f'), (3, 'k'), (4, '[anon]');"
    "INSERT INTO symbol (frame_id, inline_depth, function, system_name, file, line, \"column\", "
    "start_line, quality) VALUES (3, 0, 1, NULL, NULL, NULL, NULL, NULL, 5), (1, 0, 2, NULL, NULL, "
    "1, "
    "NULL, NULL, 4), (5, 0, 4, NULL, NULL, NULL, NULL, NULL, 5);"
    "INSERT INTO callsite VALUES (1, NULL, 3, 0), (2, 1, 2, 1), (3, 2, 1, 2), (4, 3, 2, 3), "
    "(5, NULL, 1, 0), (6, NULL, 4, 0), (7, 5, 5, 1);"
    "INSERT INTO cpu_sample VALUES (1, 30, 2, 1, 4, 1000, 1), (2, 40, NULL, 2, 5, NULL, 1), "
    "(3, 600, 2, 1, 6, 1000, 1), (4, 900, 2, 1, 7, 1000, 1);"
    "INSERT INTO heap_event VALUES (1, 50, 1, 70, 1, 4096, 100, 5.5, 550, 5, 5), (2, 80, 2, 90, 1, "
    "4096, 0, 1, 0, NULL, NULL), (3, NULL, 0, NULL, 1, 4096, 8, 2, 16, 5, NULL);"
    "INSERT INTO sample_type (id, type, unit) VALUES (5, 'walks', 'count');"
    "INSERT INTO profile_sample (id, capture_id, upid, utid, callsite_id, arg_set_id) VALUES (1, "
    "1, NULL, NULL, 5, 1), (2, 1, 1, 1, NULL, NULL);"
    "INSERT INTO profile_value VALUES (1, 0, 5, 3), (2, 0, 5, 4);"
    "INSERT INTO callsite_sum VALUES (1, 1, 1, 4, 1, 1000);"
    "INSERT INTO event_name VALUES (1, 'c', 'n');"
    "INSERT INTO track VALUES (1, 1, 'thread', NULL, NULL, 1, 1, NULL), (2, 1, 'async', 'n', 'c', "
    "1, "
    "NULL, NULL), (3, 1, 'counter', 'n:a', 'c', 1, NULL, 9);"
    "INSERT INTO slice_data VALUES (1, 10, 50, 1, 1, 0, NULL, 1, 0, NULL, NULL), (2, 20, 60, 1, 1, "
    "1, 1, NULL, 0, NULL, NULL), (3, 25, 0, 1, 1, 2, 2, NULL, 1, NULL, 2), (4, 30, -1, 2, 1, 0, "
    "NULL, NULL, 0, 77, NULL);"
    "INSERT INTO counter VALUES (1, 11, 3, 5), (2, 12, 3, 1.5), (3, 13, 3, NULL);"
    "INSERT INTO flow VALUES (1, 1, 2, 5, 1, 15, 22, 1), (2, 2, NULL, 5, 1, 22, 300, NULL);"
    "INSERT INTO sched_slice VALUES (1, 10, 20, 0, 1, 'S', 7), (2, 30, 10, 0, 0, NULL, NULL), "
    "(3, 40, -1, 0, 1, NULL, 7);"
    "INSERT INTO thread_wait VALUES (1, 30, 5, 1, 'S', NULL), (2, 35, 5, 1, 'W', 2);"
    "INSERT INTO log VALUES (1, 33, 1, 'm');"
    "INSERT INTO object VALUES (1, 1, 'kernel', 1, 100, NULL, 'one', NULL), (2, 1, 'user', NULL, "
    "5, "
    "1, 'u', 1);"
    "INSERT INTO arg (arg_set_id, ordinal, key_id, type, value) VALUES (1, 0, 3, 1, 5), (1, 1, 3, "
    "6, 't'), (1, 2, 3, 5, NULL), (1, 3, 3, 10, "
    "x'00ff'), (1, 4, 3, 11, NULL), (1, 5, 3, 9, 1), (1, 6, 3, 4, -1);"
    "INSERT INTO arg_set_end VALUES (1, 1)";

/* Makes a profile of it.  */
static const char profile[] =
    "UPDATE capture SET format = 'pprof';"
    "INSERT INTO meta VALUES (1, 'period', 7), (1, 'doc_url', 'u'), (1, 'comment.1', 'c');"
    "INSERT INTO profile_type VALUES (1, 0, 2, 3, 5, 1, NULL);"
    "INSERT INTO profile_mapping VALUES (1, 1, 1, 1, 0, 4096, 0, 2, 3, 1);"
    "INSERT INTO profile_location VALUES (1, 1, 1, 1, 16, 0, 1), (1, 2, 2, NULL, 8, 0, 4);"
    "UPDATE profile_sample SET locations = x'0200000001000000' WHERE id = 2";

static struct store *store;
static bool is_profile;

static void fill(void)
{
    struct store_error error = { .status = STORE_OK };

    store = new_store(NULL);
    ck_assert_msg(store_run(store, contents, &error) == STORE_OK, "%s", error.message);
}

static void fill_counted(void)
{
    allocation_take_sqlite();
    fill();
}

static void empty(void)
{
    store_close(store);
}

/* ---- Writing ---- */

/* What was written; fails with system_errno when limit bytes are there.  */
struct sink {
    size_t size, limit;
    uint64_t sum; /* of all bytes, each in its place */
    int system_errno;
};

static int take(void *context, const void *bytes, size_t size)
{
    struct sink *sink = context;

    if (sink->size + size > sink->limit)
        return sink->system_errno;
    for (size_t i = 0; i < size; i++)
        sink->sum = (sink->sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    sink->size += size;
    return 0;
}

static enum store_status run_export(size_t which, struct sink *sink, struct store_error *error)
{
    struct store_filter filter = { .size = sizeof filter,
                                   .sample_type = exports[which].sample_type };
    struct store_export_options options = { .size = sizeof options, .table = exports[which].table };
    struct store_export_counts counts;

    if (exports[which].is_profile && !is_profile)
        (void)store_run(store, profile, NULL); /* a store that lies may not take it */
    is_profile |= exports[which].is_profile;
    *error = (struct store_error){ .status = STORE_OK };
    return exports[which].write(store, &filter, &options, take, sink, &counts, error);
}

START_TEST(writes_every_format)
{
    struct sink sink = { .limit = SIZE_MAX };
    struct store_error error;

    ck_assert_msg(run_export((size_t)_i, &sink, &error) == STORE_OK, "%s: %s", exports[_i].name,
                  error.message);
    ck_assert_uint_gt(sink.size, 3);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM profile_location"),
                     exports[_i].is_profile ? 2 : 0);
}
END_TEST

START_TEST(tells_of_a_full_disk)
{
    struct sink sink = { .limit = 0, .system_errno = ENOSPC };
    struct store_error error;

    ck_assert_int_eq(run_export((size_t)_i, &sink, &error), STORE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    ck_assert_int_eq(sqlite3_get_autocommit(store_sqlite(store)), 1);
}
END_TEST

START_TEST(survives_every_failing_allocation)
{
    for (unsigned long n = 1; n < 2000; n++) {
        struct sink sink = { .limit = SIZE_MAX };
        struct store_error error;
        enum store_status status;

        allocation_fail_at(n);
        status = run_export((size_t)_i, &sink, &error);
        allocation_fail_at(0);
        if (status == STORE_OK)
            return;
        ck_assert_msg(status == STORE_NO_MEMORY, "%s, allocation %lu: %s", exports[_i].name, n,
                      error.message);
    }
    ck_abort_msg("%s allocates without end", exports[_i].name);
}
END_TEST

/* From call to call the steps become longer: late allocations are much alike.  */
#define NEXT(n) ((n) + 1 + (n) / 100)

START_TEST(writes_the_same_or_says_that_memory_is_short)
{
    struct sink whole = { .limit = SIZE_MAX };
    struct store_error error;
    unsigned long failures = 0;
    bool failed = true;

    ck_assert_msg(run_export((size_t)_i, &whole, &error) == STORE_OK, "%s", error.message);
    for (unsigned long n = 1; failed; n = NEXT(n)) {
        struct sink sink = { .limit = SIZE_MAX };
        enum store_status status;

        allocation_fail_at(n);
        status = run_export((size_t)_i, &sink, &error);
        failed = allocation_count() >= n;
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "%s, allocation %lu: %s",
                      exports[_i].name, n, error.message);
        ck_assert_msg(status != STORE_OK || (sink.size == whole.size && sink.sum == whole.sum),
                      "%s, allocation %lu: another output", exports[_i].name, n);
        failures += status != STORE_OK;
    }
    ck_assert_uint_gt(failures, 20);
}
END_TEST

static bool stop(void *context, uint64_t done, uint64_t total)
{
    (void)total;
    *(uint64_t *)context = done;
    return false;
}

START_TEST(stops_when_progress_says_so)
{
    struct sink sink = { .limit = SIZE_MAX };
    uint64_t done = 0;
    struct store_export_options options = { .size = sizeof options,
                                            .progress = stop,
                                            .progress_context = &done };
    struct store_export_counts counts;
    struct store_error error = { .status = STORE_OK };

    ck_assert_int_eq(
        store_run(store,
                  "UPDATE capture SET sample_count = 10000;"
                  "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) "
                  "INSERT INTO cpu_sample SELECT i, 900, 2, 1, 5, 1000, 1 FROM n",
                  &error),
        STORE_OK);
    ck_assert_int_eq(store_export_csv(store, NULL, &options, take, &sink, &counts, &error),
                     STORE_STOPPED);
    ck_assert_uint_gt(done, 0);
    ck_assert_uint_lt(done, 9000);
}
END_TEST

/* ---- Stores that lie ---- */

/* Each turns the store into one that no import makes.  */
static const char *const lies[] = {
    "UPDATE cpu_sample SET utid = 99",
    "UPDATE cpu_sample SET utid = -1",
    "UPDATE cpu_sample SET callsite_id = 1000000",
    "UPDATE cpu_sample SET callsite_id = -5",
    "UPDATE cpu_sample SET ts = -9223372036854775807 - 1",
    "UPDATE cpu_sample SET cpu = -7, weight = -9",
    "UPDATE cpu_sample SET cpu = 9223372036854775807",
    "UPDATE capture SET first_sample_id = 9223372036854775807, sample_count = 9223372036854775807",
    "UPDATE capture SET first_slice_id = -9223372036854775807, slice_count = 9223372036854775807",
    "UPDATE capture SET start_ts = NULL, end_ts = NULL",
    "UPDATE capture SET start_ts = -9223372036854775807 - 1, end_ts = 9223372036854775807",
    "UPDATE capture SET max_frames = -1, period_ns = -1, realtime_ns = NULL",
    "UPDATE capture SET max_frames = 1",
    "UPDATE thread SET upid = 77",
    "UPDATE thread SET id = id + 5",
    "UPDATE process SET id = id + 5",
    "UPDATE process SET capture_id = 9",
    "UPDATE process SET koid = 0, name = 'x' || char(10) || 'y'",
    "UPDATE module SET id = id + 1",
    "UPDATE module SET name = '', build_id = 'zz'",
    "UPDATE mapping SET module_id = 50",
    "UPDATE mapping SET upid = 50",
    "UPDATE mapping SET size = 0",
    "UPDATE mapping SET size = -1",
    "UPDATE mapping SET address = -1, size = 2",
    "UPDATE mapping SET address = 0, size = 9223372036854775807",
    "DELETE FROM mapping",
    "UPDATE mapping SET vaddr = -1, ts = NULL, flags = -1",
    "UPDATE frame SET module_id = 44",
    "DELETE FROM symbol",
    "DELETE FROM string",
    "UPDATE callsite SET parent_id = 7",
    "UPDATE callsite SET frame_id = 70",
    "DELETE FROM callsite WHERE id = 2",
    "UPDATE heap_event SET freed = 9",
    "UPDATE heap_event SET upid = 9",
    "UPDATE heap_event SET callsite_id = 90, free_callsite_id = -1",
    "UPDATE heap_event SET objects = -1, bytes = -1e300",
    "UPDATE heap_event SET objects = 9e999, bytes = 9e999",
    "UPDATE heap_event SET objects = 1e300, size = -1",
    "UPDATE heap_event SET ts = 9223372036854775807, free_ts = -9223372036854775807",
    "UPDATE track SET type = 'x'",
    "UPDATE track SET utid = 55",
    "UPDATE track SET upid = -55",
    "UPDATE track SET upid = 2, utid = NULL",
    "UPDATE track SET name = NULL, category = NULL",
    "UPDATE track SET id = id + 1",
    "UPDATE slice_data SET track_id = 50",
    "UPDATE slice_data SET track_id = 3",
    "UPDATE slice_data SET name_id = 50",
    "UPDATE slice_data SET parent_id = id",
    "UPDATE slice_data SET parent_id = 4 - id",
    "UPDATE slice_data SET dur = 9223372036854775807",
    "UPDATE slice_data SET dur = -9223372036854775807, ts = 9223372036854775807",
    "UPDATE slice_data SET ts = 100 - ts",
    "UPDATE counter SET track_id = 1",
    "UPDATE counter SET value = 'text', ts = -9223372036854775807",
    "UPDATE counter SET value = 9e999",
    "UPDATE flow SET slice_out = 4, slice_in = 99",
    "UPDATE flow SET slice_out = NULL, slice_in = NULL, out_ts = NULL, in_ts = NULL",
    "UPDATE flow SET name_id = 40",
    "UPDATE flow SET in_ts = -9223372036854775807",
    "UPDATE sched_slice SET utid = 40",
    "UPDATE sched_slice SET cpu = -1",
    "UPDATE sched_slice SET cpu = 1000000",
    "UPDATE sched_slice SET dur = 9223372036854775807, ts = 9223372036854775807",
    "UPDATE sched_slice SET end_state = 'hello', priority = 9223372036854775807",
    "UPDATE sched_slice SET end_state = '99999999999999999999', utid = 3",
    "UPDATE thread_wait SET utid = -4",
    "UPDATE thread_wait SET state = '', waker_utid = 3",
    "UPDATE thread_wait SET waker_utid = 300",
    "UPDATE log SET utid = 90",
    "UPDATE object SET upid = 90",
    "UPDATE object SET upid = -90",
    "UPDATE object SET kind = 'user', koid = -1",
    "UPDATE object SET type = -1, name = char(0)",
    "UPDATE arg SET type = 99",
    "UPDATE arg SET type = -1",
    "UPDATE arg SET type = 10",
    "UPDATE arg SET type = 6, value = NULL",
    "UPDATE arg SET key_id = 99",
    "UPDATE arg SET type = 6, value = zeroblob(100000)",
    ("WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
     "INSERT INTO arg SELECT 1, i, 3, 1, i FROM n"),
    "UPDATE provider SET provider_id = 1e15, name = '', lost = 9223372036854775807",
    "UPDATE provider SET name = 'cpu-99999999999999999999'",
    "UPDATE loss SET count = -1, name = 'ring'  WHERE name = 'ring'",
    "UPDATE profile_sample SET upid = 50",
    "UPDATE profile_sample SET callsite_id = 500",
    "UPDATE profile_value SET value = -9223372036854775807",
    "UPDATE profile_value SET sample_type_id = 99",
    "UPDATE sample_type SET type = '', unit = ''",
    "DELETE FROM capture",
    "UPDATE event_name SET name = printf('%.*c', 40000, 'x')",
    "DROP TABLE cpu_sample",
    "DROP TABLE capture; CREATE TABLE capture (id, first_sample_id, sample_count)",
    ("DROP TABLE process; CREATE TABLE process (id, capture_id, koid, name); "
     "INSERT INTO process VALUES ('a', x'00', 1.5, 2)"),
    ("DROP TABLE thread; CREATE VIEW thread AS SELECT 1 AS id, NULL AS upid, NULL AS koid, NULL AS "
     "name"),
    ("DROP TABLE slice_data; CREATE TABLE slice_data (id, ts, dur, track_id, name_id, parent_id, "
     "arg_set_id, instant, async_id, scope); INSERT INTO slice_data VALUES (1, 'x', x'', 1, 1, "
     "'p', "
     "1.5, NULL, 'y', 'z')"),
    ("DROP TABLE heap_event; CREATE TABLE heap_event (id, ts, freed, free_ts, upid, address, size, "
     "objects, bytes, callsite_id, free_callsite_id); INSERT INTO heap_event VALUES ('a', 'b', "
     "'c', "
     "'d', 'e', 'f', 'g', 'h', 'i', 'j', 'k')"),
    ("DROP TABLE cpu_sample; CREATE TABLE cpu_sample (id INTEGER, ts, cpu, utid, callsite_id, "
     "weight, sample_type_id); INSERT INTO cpu_sample VALUES (1, 'x', 'y', 1, 5, 'z', 'a'), (2, "
     "NULL, NULL, NULL, NULL, NULL, NULL)"),
};

/* Whatever the store says: a status with a sentence, and nothing else.  */
START_TEST(takes_no_lie_for_truth)
{
    struct store_error error = { .status = STORE_OK };

    (void)sqlite3_db_config(store_sqlite(store), SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    if (sqlite3_exec(store_sqlite(store), lies[_i], NULL, NULL, NULL) != SQLITE_OK)
        ck_assert_int_ne(sqlite3_errcode(store_sqlite(store)), SQLITE_ERROR);
    for (size_t i = 0; i < COUNT_OF(exports); i++) {
        struct sink sink = { .limit = SIZE_MAX };
        enum store_status status = run_export(i, &sink, &error);

        ck_assert_msg(status == STORE_OK || status == STORE_CORRUPT || status == STORE_INVALID ||
                          status == STORE_LIMIT,
                      "%s: %s: status %d: %s", lies[_i], exports[i].name, (int)status,
                      error.message);
        ck_assert_msg(status == STORE_OK || strlen(error.message) > 10, "%s: no sentence",
                      lies[_i]);
        ck_assert_int_eq(sqlite3_get_autocommit(store_sqlite(store)), 1);
    }
}
END_TEST

/* ---- Arguments ---- */

START_TEST(refuses_what_is_no_filter)
{
    struct sink sink = { .limit = SIZE_MAX };
    struct store_filter filters[] = {
        { .size = 1 },
        { .size = sizeof *filters, .focus = "(" },
        { .size = sizeof *filters, .cpus = "1,x" },
        { .size = sizeof *filters, .capture = 5 },
        { .size = sizeof *filters, .sample_type = "nothing" },
    };
    struct store_export_counts counts;
    struct store_error error;

    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        error = (struct store_error){ .status = STORE_OK };
        ck_assert_int_eq(store_export_csv(store, &filters[i], NULL, take, &sink, &counts, &error),
                         STORE_INVALID);
        ck_assert_uint_gt(strlen(error.message), 5);
    }
    ck_assert_uint_eq(sink.size, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *result = suite_create("store_export");
    TCase *tests = tcase_create("exports"), *memory = tcase_create("memory");

    tcase_add_checked_fixture(tests, fill, empty);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, writes_every_format, 0, COUNT_OF(exports));
    tcase_add_loop_test(tests, tells_of_a_full_disk, 0, COUNT_OF(exports));
    tcase_add_loop_test(tests, survives_every_failing_allocation, 0, COUNT_OF(exports));
    tcase_add_test(tests, stops_when_progress_says_so);
    tcase_add_loop_test(tests, takes_no_lie_for_truth, 0, COUNT_OF(lies));
    tcase_add_test(tests, refuses_what_is_no_filter);
    suite_add_tcase(result, tests);
    tcase_add_checked_fixture(memory, fill_counted, empty);
    tcase_set_timeout(memory, 60);
    tcase_add_loop_test(memory, writes_the_same_or_says_that_memory_is_short, 0, COUNT_OF(exports));
    suite_add_tcase(result, memory);
    return result;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
