#include "tests/support/report_store.h"

#include <check.h>
#include <sqlite3.h>
#include <stdio.h>

#include "tests/support/stores.h"

static const char rows[] =
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, start_ts, end_ts,"
    " first_sample_id, sample_count, samples_ordered, first_slice_id, slice_count, first_sched_id,"
    " sched_count) VALUES"
    " (1, x'01', 'cpu', 'fxt', 0, 0, 100, 199, 1, 4, 1, 1, 0, 1, 0),"
    " (2, x'02', 'heap', 'fxt', 0, 0, 1000, 5000, 5, 0, 1, 1, 0, 1, 0),"
    " (3, x'03', 'timeline', 'fxt', 0, 0, 0, 100, 5, 0, 1, 1, 5, 1, 3),"
    " (4, x'04', 'profile', 'pprof', 0, 0, NULL, NULL, 5, 0, 1, 6, 0, 4, 0),"
    " (5, x'05', 'empty', 'fxt', 0, 0, NULL, NULL, 5, 0, 1, 6, 0, 4, 0),"
    " (6, x'06', 'bare', 'fxt', 0, 0, 10, 20, 5, 1, 1, 6, 0, 4, 0),"
    " (7, x'07', 'allocated', 'pprof', 0, 0, NULL, NULL, 6, 0, 1, 6, 0, 4, 0);"
    "INSERT INTO process (id, capture_id, koid, name) VALUES (1, 1, 7, 'app'), (2, 2, 20, 'hog'),"
    " (3, 3, 30, 'line'), (4, 4, 40, NULL), (6, 6, 60, 'bare'), (7, 7, 70, 'went');"
    "INSERT INTO thread (id, upid, koid, name) VALUES (1, 1, 8, 'main'), (2, 1, 9, 'it''s'),"
    " (3, 3, 31, 'drawer'), (4, 3, 32, 'waker'), (6, 6, 61, 'bare'), (7, 7, 71, 'went');"
    /* main (of main.c) calls work (of work.c, line 5), which calls leaf, whose name is unknown */
    "INSERT INTO module (id, name) VALUES (1, '/bin/app');"
    "INSERT INTO frame (id, module_id, vaddr) VALUES (1, 1, 16), (2, 1, 32), (3, 1, 48);"
    "INSERT INTO string VALUES (1, 'main'), (2, 'work'), (3, 'main.c'), (4, 'work.c'), (5, "
    "'delay'),"
    " (6, 'nanoseconds'), (7, 'alloc_space'), (8, 'bytes');"
    "INSERT INTO symbol (frame_id, inline_depth, function, file, line, quality) VALUES"
    " (1, 0, 1, 3, 3, 4), (2, 0, 2, 4, 5, 4);"
    "INSERT INTO callsite VALUES (1, NULL, 1, 0), (2, 1, 2, 1), (3, 2, 3, 2);"
    "INSERT INTO cpu_sample (id, ts, cpu, utid, callsite_id, weight) VALUES (1, 100, 0, 1, 3, 10),"
    " (2, 110, 0, 1, 2, 10), (3, 120, 1, 2, 3, 10), (4, 199, 1, 2, 1, 10),"
    " (5, 15, NULL, 6, 1, NULL);"
    "INSERT INTO heap_event (id, ts, freed, free_ts, upid, address, size, objects, bytes,"
    " callsite_id) VALUES (1, 1000, 0, NULL, 2, 1, 64, 1.0, 64.0, 3),"
    " (2, 2000, 1, 3000, 2, 2, 50, 2.0, 100.0, 2);"
    "INSERT INTO sample_type VALUES (5, 'delay', 'nanoseconds');"
    "INSERT INTO profile_type VALUES (4, 0, 5, 6, 5, 1, NULL), (7, 0, 7, 8, 2, 1, NULL);"
    "INSERT INTO profile_sample VALUES (1, 4, 4, NULL, 2, NULL, NULL), (2, 7, 7, 7, 3, NULL, NULL);"
    "INSERT INTO profile_value VALUES (1, 0, 5, 900), (2, 0, 2, 32);"
    "INSERT INTO callsite_sum VALUES (1, 1, 1, 1, 1, 10), (1, 1, 1, 2, 1, 10), (1, 1, 1, 3, 2, 20),"
    " (2, 2, 2, 2, 2.0, 100.0), (2, 2, 2, 3, 1.0, 64.0), (2, 3, 2, 3, 1.0, 64.0),"
    " (2, 4, 2, 0, 2.0, 100.0), (4, 5, 4, 2, 1, 900), (6, 1, 6, 1, 1, NULL), (7, 2, 7, 3, 1, 32);"
    "INSERT INTO event_name VALUES (1, 'gfx', 'draw'), (2, '', 'tick');"
    "INSERT INTO track VALUES (1, 3, 'thread', NULL, NULL, 3, 3, NULL),"
    " (2, 2, 'counter', 'resident:peak_bytes', 'memory', 2, NULL, NULL);"
    "INSERT INTO counter VALUES (1, 1500, 2, 4096), (2, 2500, 2, 8192);"
    "INSERT INTO slice_data VALUES (1, 0, 10, 1, 1, 0, NULL, NULL, 0, NULL, NULL),"
    " (2, 20, 30, 1, 1, 0, NULL, NULL, 0, NULL, NULL), (3, 25, 5, 1, 2, 1, 2, NULL, 0, NULL, NULL),"
    " (4, 60, -1, 1, 1, 0, NULL, NULL, 0, NULL, NULL), (5, 61, 0, 1, 2, 0, NULL, NULL, 1, NULL,"
    " NULL);"
    "INSERT INTO sched_slice VALUES (1, 0, 40, 2, 3, 'S', NULL), (2, 40, 20, 2, 0, NULL, NULL),"
    " (3, 60, -1, 3, 3, NULL, NULL);"
    "INSERT INTO thread_wait VALUES (1, 40, 20, 3, 'S', 4), (2, 50, 5, 4, 'R', NULL);"
    "INSERT INTO damage VALUES (3, 'cut', 1, 64, 8, 1, 'a record is cut'),"
    " (3, 'odd', 2, NULL, NULL, 0, 'something is odd');"
    "INSERT INTO loss VALUES (3, 'dropped', 9);"
    "INSERT INTO provider VALUES (1, 3, 5, 'gfx', 2), (2, 3, 6, 'net', 0);";

struct store *new_report_store(void)
{
    struct store *store = new_store(NULL);

    ck_assert_int_eq(store_add_functions(store, NULL), STORE_OK);
    ck_assert_msg(sqlite3_exec(store_sqlite(store), rows, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(store_sqlite(store)));
    return store;
}

static int put_cell(char *out, size_t size, const struct store_report_cell *cell)
{
    switch (cell->type) {
    case STORE_REPORT_INTEGER:
        return snprintf(out, size, "%lld", (long long)cell->integer);
    case STORE_REPORT_REAL:
        return snprintf(out, size, "%g", cell->real);
    case STORE_REPORT_STRING:
        return snprintf(out, size, "%s", cell->text);
    default:
        return snprintf(out, size, "-");
    }
}

enum store_status report_rows_text(struct store *store, const struct store_report_request *request,
                                   char *out, size_t size, struct store_error *error)
{
    const struct store_report_cell *cells;
    struct store_report *report;
    size_t columns, used = 0;
    enum store_status status = store_report_open(store, request, &report, NULL, error);

    *out = '\0';
    if (status != STORE_OK)
        return status;
    (void)store_report_columns(report, &columns);
    while ((status = store_report_next(report, &cells, error)) == STORE_OK)
        for (size_t i = 0; i < columns && used + 100 < size; i++) {
            used += (size_t)put_cell(out + used, 90, &cells[i]);
            used += (size_t)snprintf(out + used, 2, "%s", i + 1 < columns ? "|" : ";");
        }
    store_report_close(report);
    return status == STORE_END ? STORE_OK : status;
}
