/* Logs with symbolizer markup into a store: what rows come of them, and what is left when it goes
 * wrong.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/store_internal.h"
#include "tests/support/profile_records.h"
#include "tests/support/stores.h"

/* No assertions inside.  */
static enum store_status import(struct store *store, const char *log,
                                struct store_profile_result *result, struct store_error *error)
{
    return import_bytes(store, STORE_PROFILE_MARKUP, log, strlen(log), result, error);
}

static struct store_profile_result import_well(struct store *store, const char *log)
{
    struct store_error error = { .status = STORE_OK };
    struct store_profile_result result;

    ck_assert_msg(import(store, log, &result, &error) == STORE_OK, "%s", error.message);
    return result;
}

#define MODULES                                \
    "{{{module:0:/bin/app:elf:4141}}}\n"       \
    "{{{module:7:lib.so:elf:}}}\n"             \
    "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n" \
    "{{{mmap:0x5000:0x1000:load:7:r:0x2000}}}\n"

/* The root first.  */
#define STACKS                                                                                \
    "WITH RECURSIVE up(n, id, text) AS (SELECT s.id, c.parent_id, f.name FROM "               \
    "profile_sample AS s JOIN callsite AS c ON c.id = s.callsite_id JOIN frame_name AS f ON " \
    "f.id = c.frame_id UNION ALL SELECT n, c.parent_id, f.name || '>' || text FROM up "       \
    "JOIN callsite AS c ON c.id = up.id JOIN frame_name AS f ON f.id = c.frame_id) "          \
    "SELECT text FROM up WHERE id IS NULL ORDER BY n"

START_TEST(makes_a_sample_of_every_backtrace)
{
    static const char log[] = MODULES
        "{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x5020:ra}}}\n{{{bt:2:0x1100:ra}}}\n"
        "{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x5020:ra}}}\n{{{bt:2:0x1100:ra}}}\n{{{pc:0x1}}}\n"
        "{{{bt:0:0x1010:pc}}}\n";
    struct store *store = new_store(NULL);
    struct store_profile_result result = import_well(store, log);

    ck_assert_uint_eq(result.samples, 3);
    ck_assert(!result.is_damaged && !result.has_notices);
    ck_assert_rows(store, STACKS, "[app]>[lib.so]>[app];[app]>[lib.so]>[app];[app];");
    ck_assert_rows(store,
                   "SELECT printf('%s %x', name, vaddr) FROM frame JOIN module ON module.id = "
                   "module_id ORDER BY vaddr",
                   "/bin/app 10;/bin/app ff;lib.so 201f;");
    ck_assert_rows(store, "SELECT build_id FROM module ORDER BY id", "4141;NULL;");
    ck_assert_rows(store,
                   "SELECT type || '/' || unit || ' ' || n || ' ' || value FROM callsite_sum "
                   "JOIN sample_type AS t ON t.id = sample_type_id ORDER BY n",
                   "samples/count 1 1;samples/count 2 2;");
    ck_assert_rows(store, "SELECT value FROM profile_value", "1;1;1;");
    ck_assert_rows(store, "SELECT format || ' ' || name || ' ' || record_count FROM capture",
                   "markup bytes 3;");
    ck_assert_rows(store, "SELECT koid || coalesce(name, '') FROM process", "0;");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM thread"), 0);
    ck_assert_rows(store,
                   "SELECT printf('%d %x %x %x %d', upid, address, size, vaddr, flags) FROM "
                   "mapping",
                   "1 1000 1000 0 5;1 5000 1000 2000 4;");
    store_close(store);
}
END_TEST

START_TEST(keeps_processes_and_threads_apart)
{
    static const char log[] = "[1.0][10][11] {{{module:0:/bin/app:elf:4141}}}\n"
                              "[1.0][10][11] {{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
                              "[1.0][10][11] {{{bt:0:0x1010:pc}}}\n"
                              "[1.0][20][12] {{{bt:0:0x1010:pc}}}\n"
                              "[1.0][10][12] {{{bt:0:0x1020:pc}}}\n"
                              "[1.0][10][11] {{{bt:1:0x1030:pc}}}\n"
                              "{{{bt:0:0x1}}}\n"
                              "9223372036854775807\n8\n{{{bt:0:0x1}}}\n";
    struct store *store = new_store(NULL);

    import_well(store, log);
    ck_assert_rows(store,
                   "SELECT p.koid || '/' || coalesce(t.koid, '') || ' ' || (SELECT depth FROM "
                   "callsite WHERE id = callsite_id) FROM profile_sample AS s JOIN process AS p ON "
                   "p.id = s.upid LEFT JOIN thread AS t ON t.id = s.utid ORDER BY p.koid, t.koid",
                   "0/ 0;10/11 1;10/12 0;20/12 0;9223372036854775807/8 0;");
    ck_assert_rows(store, "SELECT koid FROM mapping AS m JOIN process AS p ON p.id = m.upid",
                   "10;");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM thread WHERE koid = 12"), 2);
    store_close(store);
}
END_TEST

/* A frame is the same in a trace and in a log, wherever it was loaded.  */
START_TEST(finds_the_frames_of_traces)
{
    static const uint64_t stack[] = { 0x1010, 0x1101 };
    const struct fxt_record records[] = { module_record(1, 1, "/bin/app", "AA"),
                                          mapping_record(1, 1, 0x1000, 0x1000, 0),
                                          backtrace_record(5, 1, 1, stack, 2) };
    struct store_import_options options = { .size = sizeof options, .name = "trace" };
    struct fxt_bytes bytes = { (const uint8_t *)"trace", 5 };
    struct store *store = new_store(NULL);
    struct store_profile_result result;
    struct store_import *in;

    ck_assert_int_eq(store_import_open(store, &options, &in, NULL), STORE_OK);
    for (size_t i = 0; i < COUNT_OF(records); i++)
        ck_assert_int_eq(store_import_record(in, &records[i], bytes, NULL), STORE_OK);
    ck_assert_int_eq(store_import_finish(in, NULL, NULL), STORE_OK);
    store_import_close(in);
    result = import_well(store, "{{{module:0:/bin/app:elf:4141}}}\n"
                                "{{{mmap:0x9000:0x1000:load:0:rx:0x0}}}\n"
                                "{{{bt:0:0x9010:pc}}}\n{{{bt:1:0x9101:ra}}}\n");
    ck_assert_uint_eq(result.callsites, 0);
    ck_assert_int_eq(result.capture_id, 2);
    ck_assert_rows(store, "SELECT module_id || ' ' || vaddr FROM frame WHERE vaddr NOT NULL",
                   "1 256;1 16;");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM module"), 1);
    ck_assert_rows(store, "SELECT count(*) FROM callsite_sum GROUP BY callsite_id", "2;");
    store_close(store);
}
END_TEST

START_TEST(names_what_has_no_address)
{
    static const char log[] = "{{{bt:0:0x1:pc}}}\n{{{reset}}}\n" MODULES
                              "{{{bt:0:0x1:pc}}}\n{{{bt:4:0x1010}}}\n";
    struct store *store = new_store(NULL);
    struct store_profile_result result = import_well(store, log);

    ck_assert_rows(store, STACKS, "[unknown];[app]>[missing]>[anon];");
    ck_assert_str_eq(result.damage,
                     "1 backtrace without some of its frames, the first at offset 188");
    ck_assert(result.is_damaged && result.has_notices);
    ck_assert_rows(store,
                   "SELECT kind || ' ' || count || ' ' || first_offset || ' ' || is_loss || ' ' || "
                   "description FROM damage ORDER BY kind",
                   "anonymous_frames 2 0 0 frames of code in no module;"
                   "incomplete_backtraces 1 188 1 backtraces that lack frames;");
    store_close(store);
}
END_TEST

START_TEST(cuts_what_is_too_deep)
{
    char *log = malloc(5000 * 20 + 1);
    size_t length = 0;
    struct store *store = new_store(NULL);

    ck_assert_ptr_nonnull(log);
    for (int i = 0; i < 5000; i++)
        length += (size_t)snprintf(log + length, 21, "{{{bt:%d:0x10}}}\n", i);
    ck_assert(import_well(store, log).is_damaged);
    ck_assert_int_eq(row_number(store, "SELECT max(depth) FROM callsite"), 4096);
    ck_assert_rows(store,
                   "SELECT f.name FROM callsite AS c JOIN frame_name AS f ON f.id = c.frame_id "
                   "WHERE depth = 0",
                   "[truncated];");
    ck_assert_rows(store, "SELECT kind FROM damage WHERE is_loss", "deep_backtraces;");
    store_close(store);
    free(log);
}
END_TEST

/* Names are any bytes.  */
START_TEST(takes_names_that_are_no_text)
{
    static const char log[] = "{{{module:0:a\377\001b:elf:41}}}\n{{{module:1:a\377\001b:elf:42}}}\n"
                              "{{{mmap:0x1000:0x10:load:0:rx:0x0}}}\n"
                              "{{{mmap:0x2000:0x10:load:1:rx:0x0}}}\n"
                              "{{{bt:0:0x1000:pc}}}\n{{{bt:1:0x2000:pc}}}\n";
    struct store *store = new_store(NULL);

    import_well(store, log);
    ck_assert_rows(store, "SELECT hex(name) FROM module", "61EFBFBD0162;61EFBFBD0162;");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM frame"), 2);
    store_close(store);
}
END_TEST

/* ---- What goes wrong ---- */

START_TEST(refuses_other_text)
{
    struct store *store = new_store(NULL);
    struct store_profile_result result = { .capture_id = 0 };
    struct store_error error;

    ck_assert_int_eq(import(store, "text\n", &result, &error), STORE_MALFORMED);
    ck_assert_str_eq(error.message, "no symbolizer markup in it");
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"), 0);
    store_close(store);
}
END_TEST

START_TEST(knows_a_log_again)
{
    static const char log[] = MODULES "{{{bt:0:0x1010:pc}}}\n";
    struct store *store = new_store(NULL);
    struct store_profile_result result = { .capture_id = 0 };
    struct store_error error;

    import_well(store, log);
    ck_assert_int_eq(import(store, log, &result, &error), STORE_KNOWN);
    ck_assert_int_eq(result.capture_id, 1);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM profile_sample"), 1);
    store_close(store);
}
END_TEST

START_TEST(stops_when_interrupted)
{
    struct store *store = new_store(NULL);
    struct store_profile_result result = { .capture_id = 0 };
    struct store_error error;

    import_well(store, "{{{bt:0:0x1010:pc}}}\n");
    store_interrupt(store);
    ck_assert_int_eq(import(store, "{{{bt:0:0x20:pc}}}\n", &result, &error), STORE_STOPPED);
    store_close(store);
}
END_TEST

static enum store_status import_log(struct store *store, const void *log, struct store_error *error)
{
    struct store_profile_result result;

    return import(store, log, &result, error);
}

START_TEST(survives_every_failing_allocation)
{
    static const char log[] = MODULES
        "{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x5020:ra}}}\n{{{bt:3:0x1:ra}}}\n"
        "[1.0][1][2] {{{bt:0:0x1}}}\n{{{malformed}}}{{{bt:x}}}\n";
    struct store *store = new_store(NULL);

    import_well(store, "{{{bt:0:0x1010:pc}}}\n");
    ck_assert_uint_gt(fail_every_allocation(store, "profile_sample", import_log, log), 40);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM profile_sample"), 3);
    store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_markup");
    TCase *logs = tcase_create("logs");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(logs, 60);
    tcase_add_test(logs, makes_a_sample_of_every_backtrace);
    tcase_add_test(logs, keeps_processes_and_threads_apart);
    tcase_add_test(logs, finds_the_frames_of_traces);
    tcase_add_test(logs, names_what_has_no_address);
    tcase_add_test(logs, cuts_what_is_too_deep);
    tcase_add_test(logs, takes_names_that_are_no_text);
    tcase_add_test(logs, refuses_other_text);
    tcase_add_test(logs, knows_a_log_again);
    tcase_add_test(logs, stops_when_interrupted);
    tcase_add_test(logs, survives_every_failing_allocation);
    suite_add_tcase(suite, logs);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
