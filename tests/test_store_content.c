/* What a store has, its sample types in their order, and what samples of them tell.  */
#include <check.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_content.h>
#include "libstore/functions/content_queries.h"

/* A capture of each kind: 1 has CPU samples, the first of which tells its CPU; 2 the same without
 * CPUs and without a period; 3 allocations, none of which is in use in the end, and a slice; 4 is a
 * profile, of two types that only profiles have, the second of which it wants to be shown, and of a
 * type that has the name of a trace's; 5 is empty.  */
static const char rows[] =
    "INSERT INTO capture SELECT value, CAST(value AS BLOB), '', iif(value = 4, 'pprof', 'fxt'), 0, "
    "0, 0, 9, "
    "NULL, "
    "NULL, NULL, NULL, NULL, NULL, iif(value = 2, 3, 1), iif(value < 3, 2, 0), 1, 1, value = 3, 1, "
    "0 "
    "FROM json_each('[1, 2, 3, 4, 5]');"
    "INSERT INTO process (id, capture_id, koid) VALUES (1, 1, 7), (2, 2, 7), (3, 3, 7), (4, 4, 7);"
    "INSERT INTO thread (id, upid, koid) VALUES (1, 1, 8), (2, 2, 8), (3, 3, 8), (4, 4, 8);"
    "INSERT INTO cpu_sample (id, ts, cpu, utid, callsite_id, weight) VALUES (1, 0, 3, 1, 1, 5), "
    "(2, 1, NULL, 1, 1, 5), (3, 0, NULL, 2, 1, NULL), (4, 1, NULL, 2, 1, NULL);"
    "INSERT INTO heap_event (id, upid, ts, address, size, callsite_id, objects, bytes, freed) "
    "VALUES (1, 3, 5, 0, 8, 1, 1.0, 8.0, 1);"
    "INSERT INTO event_name VALUES (1, '', 'x');"
    "INSERT INTO track VALUES (1, 3, 'thread', NULL, NULL, 3, 3, NULL);"
    "INSERT INTO slice_data VALUES (1, 0, 5, 1, 1, 0, NULL, NULL, 0, NULL, NULL);"
    "INSERT INTO sched_slice VALUES (1, 0, 5, 0, 3, NULL, NULL), (2, 5, 1, 0, 0, NULL, NULL);"
    "INSERT INTO sample_type VALUES (5, 'contentions', 'count'), (6, 'delay', 'nanoseconds'), "
    "(7, 'cpu', 'count');"
    "INSERT INTO profile_type VALUES (4, 0, 1, 1, 5, 0, NULL), (4, 1, 1, 1, 6, 1, 0), "
    "(4, 2, 1, 1, 7, 0, NULL);"
    "INSERT INTO profile_sample VALUES (1, 4, 4, NULL, 1, NULL, NULL), (2, 4, 4, 4, 1, NULL, NULL);"
    "INSERT INTO profile_value VALUES (1, 0, 5, 1), (1, 1, 6, 1), (2, 2, 7, 1);"
    "INSERT INTO callsite_sum VALUES (1, 1, 1, 1, 2, 10), (2, 1, 2, 1, 2, NULL), (3, 2, 3, 1, 1.0, "
    "8.0), (3, 4, 3, 1, 1.0, 8.0), (4, 5, 4, 1, 1, 1), (4, 6, 4, 1, 1, 1), (4, 7, 4, 1, 1, 1);";

static struct store *store;
static sqlite3 *db;

static void make(void)
{
    struct store_error error = { .status = STORE_OK };

    ck_assert_msg(store_create(NULL, NULL, &store, &error) == STORE_OK, "%s", error.message);
    db = store_sqlite(store);
    ck_assert_msg(sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static void drop(void)
{
    store_close(store);
}

static const struct {
    int64_t capture;
    unsigned found;
} contents[] = {
    { 1, STORE_HAS_CPU_SAMPLES | STORE_HAS_SAMPLED_CPUS },
    { 2, STORE_HAS_CPU_SAMPLES },
    { 3, STORE_HAS_ALLOCATIONS | STORE_HAS_ALLOCATION_TIMES | STORE_HAS_SWITCHES |
             STORE_HAS_DURATIONS },
    { 4, STORE_HAS_PROFILES | STORE_HAS_PROFILED_THREADS },
    { 5, 0 },
    { 0, 511 & ~STORE_HAS_WAITS },
};

START_TEST(a_capture_has_what_its_rows_say)
{
    unsigned found = 0;

    ck_assert_int_eq(store_has(store, contents[_i].capture, 511, &found, NULL), STORE_OK);
    ck_assert_uint_eq(found, contents[_i].found);
    for (unsigned bit = 1; bit < 512; bit *= 2) { /* one by one it is the same */
        ck_assert_int_eq(store_has(store, contents[_i].capture, bit, &found, NULL), STORE_OK);
        ck_assert_uint_eq(found, contents[_i].found & bit);
    }
}
END_TEST

static bool append(void *context, const struct store_sample_type *type)
{
    char *line = context;
    size_t used = strlen(line);

    (void)snprintf(line + used, 200 - used, "%s%s%s/%s", used ? " " : "", type->there ? "" : "-",
                   type->type, type->unit);
    return true;
}

START_TEST(types_come_in_the_order_in_which_they_are_to_be_shown)
{
    char line[200] = "";

    ck_assert_int_eq(store_sample_types_each(store, 0, append, line, NULL), STORE_OK);
    ck_assert_str_eq(line, "cpu/nanoseconds cpu/count -inuse_space/bytes alloc_space/bytes "
                           "free_space/bytes delay/nanoseconds contentions/count");
    line[0] = '\0';
    ck_assert_int_eq(store_sample_types_each(store, 4, append, line, NULL), STORE_OK);
    ck_assert_str_eq(line, "-cpu/nanoseconds cpu/count -inuse_space/bytes -alloc_space/bytes "
                           "-free_space/bytes delay/nanoseconds contentions/count");
}
END_TEST

static const struct {
    const char *wanted;
    int64_t capture;
    int64_t id; /* of sample_type */
    enum store_samples kind;
    bool there, has_values;
} choices[] = {
    { NULL, 0, 1, STORE_SAMPLES_CPU, true, true },
    { NULL, 2, 1, STORE_SAMPLES_CPU, true, false },
    { NULL, 3, 2, STORE_SAMPLES_ALLOCATED, true, true }, /* nothing is in use */
    { NULL, 4, 7, STORE_SAMPLES_PROFILED, true, true },
    { NULL, 5, 0, STORE_SAMPLES_PROFILED, false, false },
    { "cpu", 0, 1, STORE_SAMPLES_CPU, true, true },
    { "cpu", 4, 7, STORE_SAMPLES_PROFILED, true, true },
    { "cpu/count", 0, 7, STORE_SAMPLES_PROFILED, true, true },
    { "cpu", 3, 1, STORE_SAMPLES_CPU, false, false }, /* the first of those called so */
    { "inuse_space", 0, 3, STORE_SAMPLES_IN_USE, false, false },
    { "free_space/bytes", 0, 4, STORE_SAMPLES_RELEASED, true, true },
    { "free_space/count", 0, 0, STORE_SAMPLES_PROFILED, false, false },
    { "gold", 0, 0, STORE_SAMPLES_PROFILED, false, false },
    { "", 0, 0, STORE_SAMPLES_PROFILED, false, false },
};

START_TEST(a_name_means_the_first_type_of_that_name_that_there_are_samples_of)
{
    struct store_sample_type type;
    bool has_values = true;

    ck_assert_int_eq(
        store_sample_type_choose(store, choices[_i].wanted, choices[_i].capture, &type, NULL),
        STORE_OK);
    ck_assert_int_eq(type.id, choices[_i].id);
    ck_assert_int_eq(type.kind, choices[_i].kind);
    ck_assert_int_eq(type.there, choices[_i].there);
    ck_assert_int_eq(content_has_values(db, &type, choices[_i].capture, &has_values), SQLITE_OK);
    ck_assert_int_eq(has_values, choices[_i].has_values);
    store_sample_type_release(&type);
    ck_assert_ptr_null(type.type);
}
END_TEST

static const struct {
    const char *type;
    int64_t capture;
    unsigned asked;
    const char *untold;
} questions[] = {
    { "cpu", 0, STORE_FILTER_CPU | STORE_FILTER_TIME | STORE_FILTER_THREAD, NULL },
    { "cpu", 2, STORE_FILTER_CPU, "CPU" },
    { "cpu", 2, STORE_FILTER_TIME | STORE_FILTER_THREAD, NULL },
    { "alloc_space", 0, STORE_FILTER_TIME, NULL },
    { "alloc_space", 0, STORE_FILTER_TIME | STORE_FILTER_THREAD, "thread" },
    { "alloc_space", 0, STORE_FILTER_CPU | STORE_FILTER_THREAD, "CPU" },
    { "inuse_space", 0, STORE_FILTER_THREAD, NULL }, /* there are none that could */
    { "cpu/count", 0, STORE_FILTER_THREAD, NULL },
    { "cpu/count", 0, STORE_FILTER_TIME, "time" },
    { "delay", 0, STORE_FILTER_THREAD, "thread" },
    { "delay", 0, 0, NULL },
};

START_TEST(what_no_sample_of_a_type_tells_is_named)
{
    struct store_sample_type type;
    const char *untold = "?";

    ck_assert_int_eq(
        store_sample_type_choose(store, questions[_i].type, questions[_i].capture, &type, NULL),
        STORE_OK);
    ck_assert_int_eq(store_sample_type_missing(store, &type, questions[_i].capture,
                                               questions[_i].asked, &untold, NULL),
                     STORE_OK);
    ck_assert_pstr_eq(untold, questions[_i].untold);
    store_sample_type_release(&type);
}
END_TEST

static const struct {
    const char *wanted;
    bool known;
} names[] = {
    { "cpu", true },   { "inuse_space", true },        { "alloc_space/bytes", true },
    { "delay", true }, { "delay/count", false },       { "gold", false },
    { "", false },     { "inuse_space/count", false },
};

START_TEST(a_type_is_known_that_has_samples_or_might_have_had_some)
{
    bool known = !names[_i].known;

    ck_assert_int_eq(store_sample_type_is_known(store, names[_i].wanted, &known, NULL), STORE_OK);
    ck_assert_int_eq(known, names[_i].known);
    ck_assert_int_eq(sqlite3_exec(db, "DELETE FROM heap_event", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(store_sample_type_is_known(store, "inuse_space", &known, NULL), STORE_OK);
    ck_assert(!known);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_answer)
{
    struct store_sample_type type;
    struct store_error error;
    unsigned found;

    ck_assert_int_eq(
        sqlite3_exec(db, "DROP TABLE callsite_sum; DROP TABLE cpu_sample", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(store_sample_type_choose(store, NULL, 0, &type, &error), STORE_CORRUPT);
    ck_assert_int_eq(type.id, 0);
    ck_assert_ptr_null(type.type);
    ck_assert_int_eq(store_has(store, 0, STORE_HAS_SAMPLED_CPUS, &found, NULL), STORE_CORRUPT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_content");
    TCase *tcase = tcase_create("content");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, make, drop);
    tcase_add_loop_test(tcase, a_capture_has_what_its_rows_say, 0,
                        sizeof contents / sizeof *contents);
    tcase_add_test(tcase, types_come_in_the_order_in_which_they_are_to_be_shown);
    tcase_add_loop_test(tcase, a_name_means_the_first_type_of_that_name_that_there_are_samples_of,
                        0, sizeof choices / sizeof *choices);
    tcase_add_loop_test(tcase, what_no_sample_of_a_type_tells_is_named, 0,
                        sizeof questions / sizeof *questions);
    tcase_add_loop_test(tcase, a_type_is_known_that_has_samples_or_might_have_had_some, 0,
                        sizeof names / sizeof *names);
    tcase_add_test(tcase, what_cannot_be_read_is_no_answer);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
