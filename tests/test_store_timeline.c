/* The timeline's rows: values as SQLite can hold them, ids, references.  Which slices there are is
 * test_profile_timeline.c's matter.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"

/* ---- Importing and asking ---- */

/* No assertions inside: allocations may be made to fail.  */
static enum store_status import(struct store *store, const char *text,
                                const struct fxt_record *records, size_t count)
{
    struct store_import_options options = { .size = sizeof options, .name = text };
    struct fxt_bytes bytes = { (const uint8_t *)text, strlen(text) };
    struct store_import *in = NULL;
    enum store_status status = store_import_open(store, &options, &in, NULL);

    for (size_t i = 0; i < count && status == STORE_OK; i++, bytes.length = 0)
        status = store_import_record(in, &records[i], bytes, NULL);
    if (status == STORE_OK)
        status = store_import_finish(in, NULL, NULL);
    store_import_close(in);
    return status;
}

static struct store *store_with(const struct fxt_record *records, size_t count)
{
    struct store *store = NULL;

    ck_assert_int_eq(store_create(NULL, NULL, &store, NULL), STORE_OK);
    ck_assert_int_eq(import(store, "one", records, count), STORE_OK);
    return store;
}

/* Rows as lines, values separated by '|', NULL as "-".  */
static const char *ask(struct store *store, const char *sql)
{
    static char text[8192];
    size_t length = 0;
    sqlite3_stmt *statement = NULL;

    ck_assert_msg(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s",
                  sql, sqlite3_errmsg(store->db));
    text[0] = 0;
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);

            length += (size_t)snprintf(text + length, sizeof text - length, "%s%c",
                                       value ? value : "-",
                                       i + 1 < sqlite3_column_count(statement) ? '|' : '\n');
            ck_assert_uint_lt(length, sizeof text);
        }
    (void)sqlite3_finalize(statement);
    return text;
}

/* ---- Records ---- */

static struct fxt_record event(enum fxt_event_type type, int64_t ts_ns, const char *name,
                               const struct fxt_arg *args, size_t count)
{
    struct fxt_record record = event_record(type, "c", name, args, count);

    record.ts_ns = ts_ns;
    record.thread.process = 1;
    record.thread.thread = 1;
    return record;
}

static struct fxt_arg arg(enum fxt_arg_type type, const char *name, uint64_t value)
{
    struct fxt_arg made = u64_arg(name, value);

    made.type = type;
    return made;
}

static struct fxt_arg number_arg(const char *name, double value)
{
    struct fxt_arg made = arg(FXT_ARG_DOUBLE, name, 0);

    made.value.number = value;
    return made;
}

/* ---- Arguments ---- */

START_TEST(keeps_arguments_of_every_type)
{
    static const uint8_t bytes[] = { 1, 0, 255 };
    struct fxt_arg args[15] = {
        arg(FXT_ARG_NULL, "null", 0),
        arg(FXT_ARG_INT32, "int32", 0),
        arg(FXT_ARG_UINT32, "uint32", 0),
        arg(FXT_ARG_INT64, "int64", UINT64_C(1) << 63),
        arg(FXT_ARG_UINT64, "uint64", UINT64_MAX),
        number_arg("double", -2.5),
        string_arg("string", "caf\xc3\xa9 \xff"), /* the last byte is no UTF-8 */
        arg(FXT_ARG_POINTER, "pointer", 0xdeadbeef),
        arg(FXT_ARG_KOID, "koid", UINT64_C(1) << 63 | 5),
        arg(FXT_ARG_BOOL, "bool", 0),
        arg(FXT_ARG_BLOB, "blob", 0),
        arg(FXT_ARG_UNKNOWN, "unknown", 0),
        number_arg("nan", NAN),
        number_arg("infinite", INFINITY),
        string_arg("", ""),
    };
    args[1].value.int32 = INT32_MIN;
    args[2].value.uint32 = UINT32_MAX;
    args[9].value.boolean = true;
    args[10].value.blob = (struct fxt_bytes){ bytes, sizeof bytes };
    const struct fxt_record records[] = { event(FXT_EVENT_INSTANT, 5, "i", args, 15) };
    struct store *store = store_with(records, 1);

    ck_assert_str_eq(ask(store, "SELECT k.text, typeof(value), CASE type WHEN 10 THEN hex(value) "
                                "ELSE value END FROM arg JOIN string AS k ON k.id = key_id "
                                "ORDER BY ordinal"),
                     "null|null|-\n"
                     "int32|integer|-2147483648\n"
                     "uint32|integer|4294967295\n"
                     "int64|integer|-9223372036854775808\n"
                     "uint64|integer|-1\n"
                     "double|real|-2.5\n"
                     "string|text|caf\xc3\xa9 \xef\xbf\xbd\n"
                     "pointer|integer|3735928559\n"
                     "koid|integer|-9223372036854775803\n"
                     "bool|integer|1\n"
                     "blob|blob|0100FF\n"
                     "unknown|null|-\n"
                     "nan|null|-\n"
                     "infinite|real|Inf\n"
                     "|text|\n");
    ck_assert_str_eq(ask(store, "SELECT key, display_value FROM args WHERE value_type IN "
                                "('uint', 'pointer', 'bool', 'blob') AND arg_set_id = (SELECT "
                                "arg_set_id FROM slice)"),
                     "uint32|4294967295\nuint64|18446744073709551615\npointer|0xdeadbeef\n"
                     "koid|9223372036854775813\nbool|true\nblob|0100FF\n");
    store_close(store);
}
END_TEST

START_TEST(gives_a_slice_the_arguments_of_its_end)
{
    struct fxt_arg args[] = { u64_arg("first", 1), u64_arg("second", 2), u64_arg("third", 3) };
    const struct fxt_record records[] = {
        event(FXT_EVENT_DURATION_BEGIN, 1, "both", args, 1),
        event(FXT_EVENT_DURATION_END, 2, "both", args + 1, 2),
        event(FXT_EVENT_DURATION_BEGIN, 3, "end alone", NULL, 0),
        event(FXT_EVENT_DURATION_END, 4, "end alone", args + 2, 1),
        event(FXT_EVENT_DURATION_BEGIN, 5, "none", NULL, 0),
        event(FXT_EVENT_DURATION_END, 6, "none", NULL, 0),
    };
    struct store *store = store_with(records, COUNT_OF(records));

    ck_assert_str_eq(ask(store, "SELECT name, key, int_value FROM slice LEFT JOIN args USING "
                                "(arg_set_id) ORDER BY ts, int_value"),
                     "both|first|1\nboth|second|2\nboth|third|3\nend alone|third|3\nnone|-|-\n");
    ck_assert_str_eq(ask(store, "SELECT count(*) FROM arg_set_end"), "1\n");
    store_close(store);
}
END_TEST

/* ---- Counters ---- */

START_TEST(keeps_numbers_of_counters)
{
    struct fxt_arg args[] = {
        u64_arg("large", UINT64_MAX), u64_arg("small", INT64_MAX),
        number_arg("real", 0.5),      arg(FXT_ARG_INT64, "negative", UINT64_MAX),
        string_arg("text", "x"),
    };
    struct fxt_record record = event(FXT_EVENT_COUNTER, 7, "n", args, COUNT_OF(args));
    struct store *store;

    record.value.event.id = UINT64_MAX;
    store = store_with(&record, 1);
    ck_assert_str_eq(ask(store,
                         "SELECT t.name, typeof(value), value, cookie FROM counter AS c JOIN "
                         "counter_track AS t ON t.id = c.track_id ORDER BY c.id"),
                     "n:large:18446744073709551615|real|1.84467440737096e+19|-1\n"
                     "n:small:18446744073709551615|integer|9223372036854775807|-1\n"
                     "n:real:18446744073709551615|real|0.5|-1\n"
                     "n:negative:18446744073709551615|integer|-1|-1\n");
    ck_assert_str_eq(ask(store, "SELECT count FROM damage WHERE kind = 'non_numeric_counters'"),
                     "1\n");
    store_close(store);
}
END_TEST

/* ---- Durations ---- */

START_TEST(keeps_durations_that_do_not_fit)
{
    struct fxt_record records[] = { complete_record(INT64_MIN, INT64_MAX, 1, 1, "a"),
                                    begin_record(5, 1, 2, "b") };
    struct store *store = store_with(records, COUNT_OF(records));

    ck_assert_str_eq(ask(store, "SELECT name, ts, dur FROM slice ORDER BY id"),
                     "a|-9223372036854775808|9223372036854775807\nb|5|-1\n");
    store_close(store);
}
END_TEST

START_TEST(tells_operations_and_moments_from_durations)
{
    struct fxt_record records[] = {
        complete_record(1, 9, 1, 1, "d"),
        event(FXT_EVENT_INSTANT, 2, "i", NULL, 0),
        event(FXT_EVENT_ASYNC_BEGIN, 3, "o", NULL, 0),
        event(FXT_EVENT_ASYNC_INSTANT, 4, "o", NULL, 0),
        event(FXT_EVENT_ASYNC_END, 5, "o", NULL, 0),
    };
    struct store *store;

    for (size_t i = 2; i < 5; i++)
        records[i].value.event.id = UINT64_MAX;
    store = store_with(records, COUNT_OF(records));
    ck_assert_str_eq(ask(store,
                         "SELECT s.id, s.dur, s.depth, s.parent_id, instant, async_id, t.type "
                         "FROM slice_data AS s JOIN track AS t ON t.id = track_id"),
                     "1|8|0|-|0|-|thread\n2|0|1|1|1|-|thread\n3|2|0|-|0|-1|async\n"
                     "4|0|1|3|1|-1|async\n");
    ck_assert_str_eq(ask(store, "SELECT name FROM instant"), "i\no\n");
    ck_assert_str_eq(ask(store, "SELECT name, async_id FROM async_slice"), "o|-1\no|-1\n");
    ck_assert_str_eq(ask(store, "SELECT name FROM thread_slice"), "d\ni\n");
    store_close(store);
}
END_TEST

START_TEST(keeps_whom_a_moment_belongs_to)
{
    static const uint64_t scopes[] = { 0, 1, 2, 99, UINT64_MAX };
    struct fxt_record records[COUNT_OF(scopes)];
    struct store *store;

    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        records[i] = event(FXT_EVENT_INSTANT, (int64_t)i, "i", NULL, 0);
        records[i].value.event.has_scope = i > 0;
        records[i].value.event.scope = scopes[i];
    }
    store = store_with(records, COUNT_OF(records));
    ck_assert_str_eq(ask(store, "SELECT scope FROM instant ORDER BY id"), "-\n1\n2\n99\n-1\n");
    store_close(store);
}
END_TEST

/* ---- Scheduling ---- */

static struct fxt_record switch_record(int64_t ts_ns, unsigned cpu, uint64_t outgoing,
                                       unsigned state, uint64_t incoming)
{
    struct fxt_record record = { .kind = FXT_RECORD_CONTEXT_SWITCH,
                                 .has_time = true,
                                 .ts_ns = ts_ns };

    record.value.sched.cpu = cpu;
    record.value.sched.outgoing_tid = outgoing;
    record.value.sched.outgoing_state = state;
    record.value.sched.incoming_tid = incoming;
    return record;
}

START_TEST(names_states_with_letters)
{
    struct fxt_record records[14];
    size_t count = 0;
    struct store *store;

    for (unsigned state = 0; state < 7; state++) {
        records[count++] = switch_record(INT64_C(10) * state, 3, 0, 1, 7);
        records[count++] = switch_record(INT64_C(10) * state + 4, 3, 7, state, 0);
    }
    store = store_with(records, count);
    ck_assert_str_eq(
        ask(store, "SELECT ts, dur, cpu, end_state, priority FROM sched WHERE utid <> 0"),
        "0|4|3|R|-\n10|4|3|R|-\n20|4|3|T|-\n30|4|3|S|-\n40|4|3|Z|-\n50|4|3|X|-\n"
        "60|4|3|6|-\n");
    ck_assert_str_eq(ask(store, "SELECT ts, dur, state FROM thread_state WHERE state <> 'Running'"),
                     "4|6|R\n14|6|R\n24|6|T\n34|6|S\n44|6|Z\n54|6|X\n64|-1|6\n");
    ck_assert_str_eq(ask(store, "SELECT count(*), count(DISTINCT id) FROM thread_state"),
                     "14|14\n");
    ck_assert_str_eq(ask(store, "SELECT count(*) FROM sched WHERE utid = 0"), "7\n");
    store_close(store);
}
END_TEST

/* ---- Captures beside each other ---- */

/* A bit of everything.  */
static size_t make_trace(struct fxt_record *records, struct fxt_arg *args)
{
    size_t count = 0;

    args[0] = u64_arg("n", 1);
    args[1] = string_arg("s", "text");
    records[count++] = event(FXT_EVENT_DURATION_BEGIN, 1, "a", args, 1);
    records[count++] = event(FXT_EVENT_INSTANT, 2, "i", args, 2);
    records[count++] = event(FXT_EVENT_FLOW_BEGIN, 3, "f", args, 1);
    records[count++] = event(FXT_EVENT_DURATION_END, 4, "a", args + 1, 1);
    records[count++] = event(FXT_EVENT_COUNTER, 5, "c", args, 1);
    records[count++] = event(FXT_EVENT_DURATION_BEGIN, 6, "b", NULL, 0);
    records[count++] = event(FXT_EVENT_FLOW_END, 7, "f", NULL, 0);
    records[count++] = event(FXT_EVENT_ASYNC_BEGIN, 8, "o", args, 2);
    records[count++] = switch_record(8, 0, 0, 1, 1);
    records[count++] = switch_record(9, 0, 1, 3, 0);
    return count;
}

START_TEST(keeps_captures_apart)
{
    struct fxt_record records[16];
    struct fxt_arg args[2];
    size_t count = make_trace(records, args);
    struct store *store = store_with(records, count);

    ck_assert_int_eq(import(store, "two", records, count), STORE_OK);
    ck_assert_str_eq(ask(store,
                         "SELECT s.id, name, parent_id, group_concat(key) FROM slice AS s LEFT "
                         "JOIN args USING (arg_set_id) GROUP BY s.id ORDER BY s.id"),
                     "1|a|-|n,s\n2|i|1|n,s\n3|b|-|-\n4|o|-|n,s\n"
                     "5|a|-|n,s\n6|i|5|n,s\n7|b|-|-\n8|o|-|n,s\n");
    ck_assert_str_eq(ask(store, "SELECT slice_out, slice_in FROM flow"), "1|3\n5|7\n");
    ck_assert_str_eq(ask(store, "SELECT first_slice_id, slice_count FROM capture"), "1|4\n5|4\n");
    ck_assert_str_eq(ask(store, "SELECT count(DISTINCT utid), count(*) FROM sched WHERE utid <> 0"),
                     "2|2\n");
    store_close(store);
}
END_TEST

START_TEST(survives_any_allocation_that_fails)
{
    struct fxt_record records[16];
    struct fxt_arg args[2];
    size_t count = make_trace(records, args);
    enum store_status status = STORE_NO_MEMORY;

    for (unsigned long n = 1; status != STORE_OK; n++) {
        struct store *store = NULL;

        ck_assert_int_eq(store_create(NULL, NULL, &store, NULL), STORE_OK);
        allocation_fail_at(n);
        status = import(store, "one", records, count);
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "allocation %lu: %d", n,
                      (int)status);
        store_close(store);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_timeline");
    TCase *tcase = tcase_create("rows");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, keeps_arguments_of_every_type);
    tcase_add_test(tcase, gives_a_slice_the_arguments_of_its_end);
    tcase_add_test(tcase, keeps_numbers_of_counters);
    tcase_add_test(tcase, keeps_durations_that_do_not_fit);
    tcase_add_test(tcase, tells_operations_and_moments_from_durations);
    tcase_add_test(tcase, keeps_whom_a_moment_belongs_to);
    tcase_add_test(tcase, names_states_with_letters);
    tcase_add_test(tcase, keeps_captures_apart);
    tcase_add_test(tcase, survives_any_allocation_that_fails);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
