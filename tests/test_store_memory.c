/* The n-th allocation fails, SQLite's own among them: opening, SQL functions, coverage, symbols,
 * imports.  Each gives its status, or its answer, and works again afterwards; that nothing leaks is
 * what AddressSanitizer says.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/store_content.h>
#include <fxt/symbolize.h>
#include "libstore/columns_read.h"
#include "libstore/functions/functions.h"
#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"
#include "tests/support/stores.h"

static const uint64_t one[] = { 0x1000, 0x1801, 0x9001 };
static const uint64_t two[] = { 0x1010, 0x1801, 0x1901 };

/* From call to call the steps become longer: late allocations are much alike.  */
#define NEXT(n) ((n) + 1 + (n) / 30)

/* ---- A store ---- */

static struct store_error error; /* the last one */

/* No assertions inside: allocations may fail.  */
static enum store_status import(struct store *store, const char *name, bool other)
{
    struct fxt_arg args[] = { u64_arg("period_ns", 7), string_arg("command", "app"),
                              u64_arg("n", 1) };
    struct fxt_record records[] = {
        event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, 2),
        process_record(1, "app"),
        module_record(1, 0, "/nowhere/app", "AA"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(3, 1, 1, other ? two : one, 3),
        backtrace_record(5, 1, 2, one, 2),
        complete_record(5, 9, 1, 1, "outer"),
        event_record(FXT_EVENT_COUNTER, "c", "counter", args + 2, 1),
    };
    struct store_import_options options = { .size = sizeof options, .name = name };
    struct fxt_bytes bytes = { (const uint8_t *)name, strlen(name) };
    struct store_import *in = NULL;
    enum store_status status = store_import_open(store, &options, &in, &error);

    for (size_t i = 0; i < COUNT_OF(records) && status == STORE_OK; i++, bytes.length = 0)
        status = store_import_record(in, &records[i], bytes, &error);
    if (status == STORE_OK)
        status = store_import_finish(in, NULL, &error);
    store_import_close(in);
    return status;
}

/* The file s in the folder that the test has entered.  */
static void make_file(void)
{
    struct store *store = new_store("s");

    ck_assert_int_eq(import(store, "first", false), STORE_OK);
    ck_assert_int_eq(store_publish(store, NULL), STORE_OK);
    store_close(store);
}

/* Threads 1 and 2, which exist, and 0, which is none.  */
static struct fxt_record switch_record(uint64_t ticks, uint64_t outgoing, uint64_t incoming)
{
    return (struct fxt_record){
        .kind = FXT_RECORD_CONTEXT_SWITCH,
        .ticks = ticks,
        .value.sched = { .outgoing_state = 3, .outgoing_tid = outgoing, .incoming_tid = incoming }
    };
}

/* The same with slices in one another, arguments, values of a counter and context switches.  */
static void make_slices(void)
{
    struct fxt_arg args[] = { u64_arg("n", 1), string_arg("text", "words") };
    struct fxt_record records[] = {
        process_record(1, "app"),
        complete_record(5, 90, 1, 1, "outer"),
        complete_record(6, 40, 1, 1, "inner"),
        complete_record(7, 9, 1, 1, "leaf"),
        complete_record(50, 60, 1, 1, "inner"),
        complete_record(20, 30, 1, 2, "outer"),
        event_record(FXT_EVENT_COUNTER, "c", "counter", args, 1),
        event_record(FXT_EVENT_INSTANT, "c", "instant", args, 2),
        backtrace_record(3, 1, 1, one, 3),
        backtrace_record(5, 1, 2, two, 2),
        switch_record(2, 0, 1),
        switch_record(30, 1, 2),
        switch_record(40, 2, 0),
    };

    make_store("s", "slices", records, COUNT_OF(records));
}

/* ---- What is asked ---- */

/* The rows of a statement in text, or what went wrong; no assertions inside.  The statement is
 * finalized.  */
static int read_all(sqlite3 *db, sqlite3_stmt *statement, int code, char text[4096])
{
    size_t length = 0;

    text[0] = 0;
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement) && length < 4000; i++) {
            const char *cell = (const char *)sqlite3_column_text(statement, i);

            if (!cell && sqlite3_errcode(db) == SQLITE_NOMEM) {
                (void)sqlite3_finalize(statement);
                return SQLITE_NOMEM;
            }
            length += (size_t)snprintf(text + length, 4096 - length, "%.40s|", cell ? cell : "-");
        }
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int ask(sqlite3 *db, const char *sql, char text[4096])
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    return read_all(db, statement, code, text);
}

/* As fxtq asks.  */
static int ask_store(struct store *store, const char *sql, char text[4096])
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    bool prepared = store_prepare_once(store, sql, &statement, &rest);
    int code = prepared ? SQLITE_OK : sqlite3_errcode(store_sqlite(store));

    return read_all(store_sqlite(store), statement, code, text);
}

static const char *const questions[] = {
    "SELECT folded(id), leaf(id), depth(id), in_stack(id, 'app') FROM callsite",
    "SELECT in_stack(1, 'a') + in_stack(1, 'b') + in_stack(1, 'c')",
    "SELECT demangle('_Z3fooi'), hex(255), hex(x'ff'), 'abc' REGEXP 'b+'",
    "SELECT extract_arg(1, 'n'), extract_arg(arg_set_id, 'n') FROM slice_data",
    "SELECT percentile(ts, 50), percentile(ts, 99) FROM cpu_sample",
    "SELECT * FROM call_tree",
    "SELECT * FROM flamegraph WHERE focus = 'app' AND ignore = 'nothing'",
    "SELECT * FROM callers('app') WHERE per = 'line'",
    "SELECT * FROM callees('.') WHERE hide = 'xyz' AND show_from = '.'",
    "SELECT * FROM call_top WHERE per = 'thread' AND pid = '1'",
    "SELECT * FROM call_top WHERE from_ts = 1 AND limit_ts = 10",
    "SELECT * FROM callsite_counts WHERE tid = 1 AND comm = 'x' AND capture = 1",
};

START_TEST(functions_answer_or_say_that_memory_is_short)
{
    static char expected[4096], text[4096];
    unsigned long failures = 0;
    struct store *store;

    allocation_take_sqlite();
    enter_folder();
    make_file();
    for (unsigned long n = 1;; n = NEXT(n)) {
        struct store *opened = reopen_store("s", STORE_READ);
        unsigned long asked;
        int code;

        ck_assert_int_eq(ask(store_sqlite(opened), "SELECT count(*) FROM slice", text), SQLITE_OK);
        allocation_fail_at(n);
        code = functions_register(store_sqlite(opened), NULL);
        if (code == SQLITE_OK)
            code = ask(store_sqlite(opened), questions[_i], text);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM,
                      "allocation %lu: %d, %s", n, code, sqlite3_errmsg(store_sqlite(opened)));
        failures += code != SQLITE_OK;
        store_close(opened);
        if (asked < n)
            break;
    }
    ck_assert_uint_gt(failures, 10);
    store = reopen_store("s", STORE_READ);
    ck_assert_int_eq(store_add_functions(store, NULL), STORE_OK);
    for (unsigned long n = 1;; n = NEXT(n)) { /* in one connection: what failed is not kept */
        int code;

        ck_assert_int_eq(ask(store_sqlite(store), questions[_i], expected), SQLITE_OK);
        ck_assert_int_eq(
            sqlite3_exec(store_sqlite(store), "PRAGMA shrink_memory", NULL, NULL, NULL), SQLITE_OK);
        allocation_fail_at(n);
        code = ask(store_sqlite(store), questions[_i], text);
        if (allocation_count() < n)
            break;
        allocation_fail_at(0);
        ck_assert_int_eq(code == SQLITE_OK ? strcmp(text, expected) : 0, 0);
    }
    allocation_fail_at(0);
    store_close(store);
    leave_folder();
}
END_TEST

/* ---- Columns ---- */

static const char *const column_questions[] = {
    "SELECT * FROM slice ORDER BY dur DESC, id",
    "SELECT name, count(*), sum(dur) FROM slice GROUP BY name",
    "SELECT name, depth, count(*), min(ts), max(ts), sum(ts) FROM slice GROUP BY name, depth",
    ("SELECT t.name, count(*), sum(s.dur), max(s.dur) FROM track AS t JOIN slice AS s ON "
     "s.track_id = t.id GROUP BY t.name"),
    "SELECT p.id, c.id FROM slice AS p LEFT JOIN slice AS c ON c.track_id = p.track_id",
    "SELECT c.id FROM slice AS c JOIN slice AS p ON p.id = c.id WHERE c.dur * 2 >= p.dur",
    "SELECT id FROM slice WHERE ts + dur > 7 ORDER BY dur",
    ("SELECT s.id, c.* FROM slice AS s LEFT JOIN (SELECT track_id, sum(dur) AS n, max(name) FROM "
     "slice GROUP BY track_id) AS c ON c.track_id = s.id"),
    "SELECT * FROM args",
    "SELECT s.id, a.key, a.display_value FROM slice AS s JOIN args AS a USING (arg_set_id)",
    "SELECT * FROM counters",
    "SELECT * FROM perf_sample ORDER BY utid, ts DESC",
    "SELECT a.* FROM slice AS s, ancestors(s.id) AS a",
    "SELECT d.* FROM slice AS s, descendants(s.id) AS d",
    "SELECT a.* FROM slice AS s, slice_at(s.ts, 1) AS a",
    "SELECT * FROM intervals_intersect('slice', 'slice', 'track_id')",
    "SELECT * FROM call_top WHERE from_ts = 3 AND limit_ts = 5",
    "SELECT state, count(*), max(capture_id), sum(waker_utid) FROM thread_state GROUP BY state",
    ("SELECT t.name, c.* FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id "
     "GROUP BY t.name"),
    "SELECT s.id, t.* FROM track AS t JOIN slice AS s ON s.track_id = t.id ORDER BY s.ts, s.id",
    "SELECT t.*, s.* FROM thread AS t JOIN thread_state AS s USING (utid) ORDER BY s.id",
    "SELECT * FROM callsite_counts WHERE tid = 2",
    "SELECT min(ts), max(ts), max(parent_id) FROM slice",
    "SELECT max(ts), id FROM slice",
};

static struct store *open_served(void)
{
    struct store *store = reopen_store("s", STORE_READ);

    ck_assert_int_eq(store_add_functions(store, NULL), STORE_OK);
    ck_assert_int_eq(store_serve_columns(store, NULL), STORE_OK);
    ck_assert_ptr_nonnull(store->serving);
    return store;
}

/* An answer is the one of the plain tables.  */
START_TEST(columns_answer_or_say_that_memory_is_short)
{
    static char expected[4096], text[4096];
    unsigned long failures = 0, asked = 1;
    struct store *store;

    allocation_take_sqlite();
    enter_folder();
    make_slices();
    store = reopen_store("s", STORE_READ);
    ck_assert_int_eq(store_add_functions(store, NULL), STORE_OK);
    ck_assert_int_eq(ask(store_sqlite(store), column_questions[_i], expected), SQLITE_OK);
    ck_assert_uint_gt(strlen(expected), 3);
    store_close(store);
    for (unsigned long n = 1, last = 0; asked >= last; last = n, n = NEXT(n)) {
        int code;

        store = open_served();
        allocation_fail_at(n);
        code = ask_store(store, column_questions[_i], text);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(code == SQLITE_OK || (code & 0xff) == SQLITE_NOMEM ||
                          code == SQLITE_IOERR_NOMEM,
                      "allocation %lu: %d", n, code);
        ck_assert_msg(code != SQLITE_OK || strcmp(text, expected) == 0,
                      "allocation %lu: other rows", n);
        failures += code != SQLITE_OK;
        ck_assert_int_eq(ask(store_sqlite(store), column_questions[_i], text), SQLITE_OK);
        ck_assert_str_eq(text, expected); /* what failed is not kept */
        store_close(store);
    }
    ck_assert_uint_gt(failures, 10);
    leave_folder();
}
END_TEST

/* Too many rows for an index are scanned.  */
START_TEST(an_index_beyond_the_bound_is_not_made)
{
    static const char sql[] = "SELECT p.id, c.id FROM slice AS p CROSS JOIN slice AS c "
                              "ON c.track_id = p.track_id ORDER BY p.id, c.id";
    static char expected[4096], text[4096];
    struct store *store;

    enter_folder();
    make_slices();
    store = open_served();
    ck_assert_int_eq(ask(store_sqlite(store), sql, expected), SQLITE_OK);
    ck_assert_uint_gt(store->serving->index_bytes, 0);
    store_close(store);
    store = open_served();
    store->serving->most_index_bytes = 3;
    ck_assert_int_eq(ask(store_sqlite(store), sql, text), SQLITE_OK);
    ck_assert_uint_eq(store->serving->index_bytes, 0);
    ck_assert_str_eq(text, expected);
    store_close(store);
    leave_folder();
}
END_TEST

/* ---- What is done ---- */

static enum store_status open_only(struct store *store)
{
    (void)store;
    return STORE_OK;
}

static enum store_status cover(struct store *store)
{
    struct store_coverage *rows = NULL;
    size_t count = 0;
    enum store_status status = store_coverage(store, &rows, &count, &error);

    if (status == STORE_OK)
        store_coverage_release(rows, count);
    return status;
}

static enum store_status symbolize(struct store *store)
{
    struct sym_options options = { .size = sizeof options, .no_cache = true };
    struct sym_session *session = NULL;
    enum store_status status = STORE_NO_MEMORY;

    if (sym_session_open(&options, &session, NULL) == SYM_OK)
        status = store_symbolize(store, session, NULL, NULL, &error);
    sym_session_close(session);
    return status;
}

static enum store_status append(struct store *store)
{
    return import(store, "second", true);
}

static const struct {
    const char *name;
    enum store_status (*run)(struct store *store);
    enum store_mode mode;
    int captures; /* afterwards */
} deeds[] = {
    { "open for reading", open_only, STORE_READ, 1 },
    { "open for writing", open_only, STORE_APPEND, 1 },
    { "coverage", cover, STORE_READ, 1 },
    { "symbolize", symbolize, STORE_APPEND, 1 },
    { "append", append, STORE_APPEND, 2 },
};

static enum store_status open_and_run(int deed)
{
    struct store_options options = { .size = sizeof options, .mode = deeds[deed].mode };
    struct store *store = NULL;
    enum store_status status = store_open("s", &options, &store, &error);

    if (status == STORE_OK)
        status = deeds[deed].run(store);
    store_close(store);
    return status;
}

START_TEST(deeds_are_done_or_leave_the_store_as_it_was)
{
    unsigned long failures = 0, asked;
    enum store_status status;

    allocation_take_sqlite();
    enter_folder();
    make_file();
    for (unsigned long n = 1;; n = NEXT(n)) {
        struct store *store;

        allocation_fail_at(n);
        status = open_and_run(_i);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "%s: allocation %lu: %d, %s",
                      deeds[_i].name, n, (int)status, error.message);
        failures += status != STORE_OK;
        store = reopen_store("s", STORE_READ);
        ck_assert_rows(store, "PRAGMA integrity_check", "ok;");
        ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"),
                         status == STORE_OK ? deeds[_i].captures : 1);
        store_close(store);
        if (asked < n)
            break;
        if (status == STORE_OK) { /* SQLite did without; once more */
            ck_assert_int_eq(unlink("s"), 0);
            make_file();
        }
    }
    ck_assert_uint_gt(failures, 20);
    ck_assert_int_eq(status, STORE_OK);
    leave_folder();
}
END_TEST

/* ---- What is read ---- */

/* Of all that was told, in its order.  */
static uint64_t digest;

static void see(const char *text)
{
    for (text = text ? text : "NULL"; *text; text++)
        digest = (digest ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    digest = (digest ^ '|') * UINT64_C(0x100000001b3);
}

static void see_number(double number)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.17g", number);
    see(text);
}

static bool see_capture(void *context, const struct store_capture *capture)
{
    const char *const texts[] = { capture->name,   capture->command,   capture->arch,
                                  capture->kernel, capture->cpu_model, capture->commit };

    (void)context;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        see(texts[i]);
    see_number((double)capture->period_ns);
    return true;
}

static enum store_status read_captures(struct store *store)
{
    return store_captures_each(store, 0, see_capture, NULL, &error);
}

static bool see_type(void *context, const struct store_sample_type *type)
{
    (void)context;
    see(type->type);
    see(type->unit);
    see_number(type->there);
    return true;
}

static enum store_status read_types(struct store *store)
{
    return store_sample_types_each(store, 0, see_type, NULL, &error);
}

static bool see_cost(void *context, const struct store_cost *cost)
{
    (void)context;
    see_number((double)cost->callsite_id);
    see_number(cost->samples);
    see_number(cost->value);
    return true;
}

static enum store_status read_costs(struct store *store)
{
    struct store_sample_type type;
    enum store_status status = store_sample_type_choose(store, NULL, 0, &type, &error);

    if (status == STORE_OK) {
        see_type(NULL, &type);
        status = store_costs_each(store, 0, &type, see_cost, NULL, &error);
        store_sample_type_release(&type);
    }
    return status;
}

static bool see_call(void *context, const struct store_call *call)
{
    (void)context;
    see_number(call->depth);
    see(call->function);
    see(call->module);
    see_number(call->self);
    return true;
}

static enum store_status read_calls(struct store *store)
{
    const struct store_filter filter = { .size = sizeof filter, .comms = "app", .hide = "nothing" };
    enum store_status status = store_add_functions(store, &error);

    return status == STORE_OK ? store_calls_each(store, &filter, see_call, NULL, &error) : status;
}

static bool see_definition(void *context, const struct store_definition *definition)
{
    (void)context;
    see(definition->function);
    see(definition->module);
    see(definition->file);
    see_number((double)definition->line);
    return true;
}

static enum store_status read_definitions(struct store *store)
{
    return store_definitions_each(store, see_definition, NULL, &error);
}

static enum store_status read_coverage(struct store *store)
{
    struct store_coverage *rows = NULL;
    size_t count = 0;
    enum store_status status = store_coverage(store, &rows, &count, &error);

    if (status != STORE_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        see(rows[i].name);
        see(rows[i].build_id);
        see_number((double)rows[i].frames);
        see_number((double)rows[i].named);
    }
    store_coverage_release(rows, count);
    return STORE_OK;
}

static enum store_status read_stacks(struct store *store)
{
    struct profile_stacks *stacks = NULL;
    struct store_stacks loaded;
    enum store_status status = STORE_NO_MEMORY;

    if (profile_stacks_open(&stacks, NULL) == PROFILE_OK)
        status = store_load_stacks(store, stacks, true, &loaded, &error);
    if (status == STORE_OK) {
        for (size_t i = 0; i < loaded.module_count; i++)
            see(profile_stacks_text(
                stacks, profile_stacks_get_module(stacks, loaded.modules[i]).name, NULL));
        for (size_t i = 0; i < loaded.frame_count; i++) {
            struct profile_frame frame = profile_stacks_get_frame(stacks, loaded.frames[i]);

            for (uint32_t line = 0; line < frame.line_count; line++) {
                see(profile_stacks_text(stacks, frame.lines[line].function, NULL));
                see(profile_stacks_text(stacks, frame.lines[line].file, NULL));
            }
        }
        see_number((double)loaded.callsite_count);
        store_stacks_release(&loaded);
    }
    profile_stacks_close(stacks);
    return status;
}

static const struct {
    const char *name;
    enum store_status (*run)(struct store *store);
} readings[] = {
    { "captures", read_captures },
    { "sample types", read_types },
    { "costs", read_costs },
    { "calls", read_calls },
    { "definitions", read_definitions },
    { "coverage", read_coverage },
    { "stacks", read_stacks },
};

/* A text that cannot be read for want of memory is no empty text, nor the last one.  */
START_TEST(what_is_read_is_whole_or_a_status)
{
    unsigned long failures = 0;
    uint64_t whole = 0;
    struct store *store;
    bool failed = true;

    allocation_take_sqlite();
    enter_folder();
    make_file();
    store = reopen_store("s", STORE_APPEND);
    ck_assert_msg(
        store_run(
            store,
            "DELETE FROM symbol;"
            "INSERT INTO string SELECT (SELECT max(id) FROM string) + id, 'file' || id FROM frame;"
            "INSERT INTO symbol (frame_id, inline_depth, function, file, line, quality) "
            "SELECT f.id, 0, 1, s.id, 7, 4 FROM frame AS f JOIN string AS s ON s.text = 'file' || "
            "f.id;"
            "INSERT INTO meta VALUES (1, 'kernel', 6), (1, 'label.commit', 'c')",
            &error) == STORE_OK,
        "%s", error.message);
    store_close(store);
    for (unsigned long n = 0; failed; n = NEXT(n)) {
        enum store_status status;

        store = reopen_store("s", STORE_READ);
        digest = 0;
        allocation_fail_at(n);
        status = readings[_i].run(store);
        failed = allocation_count() >= n;
        allocation_fail_at(0);
        whole = n ? whole : digest;
        ck_assert_msg(
            status == (n ? status : STORE_OK) && (status == STORE_OK || status == STORE_NO_MEMORY),
            "%s: allocation %lu: %d, %s", readings[_i].name, n, (int)status, error.message);
        ck_assert_msg(status != STORE_OK || digest == whole, "%s: allocation %lu: others",
                      readings[_i].name, n);
        failures += status != STORE_OK;
        store_close(store);
    }
    ck_assert_uint_gt(failures, 5);
    ck_assert_uint_ne(whole, 0);
    leave_folder();
}
END_TEST

START_TEST(a_new_store_is_made_or_is_not_there)
{
    unsigned long failures = 0, asked;
    enum store_status status;

    allocation_take_sqlite();
    enter_folder();
    for (unsigned long n = 1;; n = NEXT(n)) {
        struct store *store = NULL;

        allocation_fail_at(n);
        status = store_create("s", NULL, &store, &error);
        if (status == STORE_OK)
            status = import(store, "first", false);
        if (status == STORE_OK)
            status = store_publish(store, &error);
        store_close(store);
        asked = allocation_count();
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "allocation %lu: %d, %s", n,
                      (int)status, error.message);
        failures += status != STORE_OK;
        ck_assert_int_ne(access("s.part", F_OK), 0);
        ck_assert_int_eq(access("s", F_OK) == 0, status == STORE_OK);
        if (asked < n)
            break;
        (void)unlink("s");
    }
    ck_assert_uint_gt(failures, 20);
    leave_folder();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_memory");
    TCase *memory = tcase_create("memory");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(memory, 120);
    tcase_add_loop_test(memory, functions_answer_or_say_that_memory_is_short, 0,
                        (int)COUNT_OF(questions));
    tcase_add_loop_test(memory, columns_answer_or_say_that_memory_is_short, 0,
                        (int)COUNT_OF(column_questions));
    tcase_add_test(memory, an_index_beyond_the_bound_is_not_made);
    tcase_add_loop_test(memory, deeds_are_done_or_leave_the_store_as_it_was, 0,
                        (int)COUNT_OF(deeds));
    tcase_add_loop_test(memory, what_is_read_is_whole_or_a_status, 0, (int)COUNT_OF(readings));
    tcase_add_test(memory, a_new_store_is_made_or_is_not_there);
    suite_add_tcase(suite, memory);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
