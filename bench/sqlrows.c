/* sqlrows - how fast bare SQLite takes rows of samples and the timeline: the peer of fxtq import.
 *
 *   sqlrows FILE samples|slices|sched COUNT ARGS
 *
 * Writes COUNT samples, COUNT slices with ARGS arguments each, or COUNT scheduling records (a
 * stretch on a CPU and a wait), into tables as in schemas/store.sql, one prepared statement a row,
 * one transaction, no journal.  Nothing is decoded, sorted or nested.  Prints seconds=S rows=N.
 * */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/cli/cli.h"

static const char tables[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA cache_size = -32768;"
    "CREATE TABLE slice_data (id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, dur INTEGER NOT NULL,"
    " track_id INTEGER NOT NULL, name_id INTEGER NOT NULL, depth INTEGER NOT NULL,"
    " parent_id INTEGER, arg_set_id INTEGER, instant INTEGER NOT NULL, async_id INTEGER) STRICT;"
    "CREATE TABLE arg (arg_set_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,"
    " key_id INTEGER NOT NULL, type INTEGER NOT NULL, value ANY,"
    " PRIMARY KEY (arg_set_id, ordinal)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE sched_slice (id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, dur INTEGER NOT NULL,"
    " cpu INTEGER NOT NULL, utid INTEGER NOT NULL, end_state TEXT, priority INTEGER) STRICT;"
    "CREATE TABLE thread_wait (id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, dur INTEGER NOT NULL,"
    " utid INTEGER NOT NULL, state TEXT NOT NULL, waker_utid INTEGER) STRICT;"
    "CREATE TABLE cpu_sample (id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, cpu INTEGER,"
    " utid INTEGER NOT NULL, callsite_id INTEGER NOT NULL, weight INTEGER) STRICT;"
    "BEGIN";

static sqlite3 *db;

static _Noreturn void fail(void)
{
    cli_error("%s", sqlite3_errmsg(db));
    exit(CLI_ENVIRONMENT);
}

static void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail();
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail();
    return statement;
}

static void put(sqlite3_stmt *statement, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        (void)sqlite3_bind_int64(statement, i + 1, values[i]);
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail();
    (void)sqlite3_reset(statement);
}

static uint64_t put_slices(int64_t count, int64_t args)
{
    sqlite3_stmt *slice = prepare("INSERT INTO slice_data VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, "
                                  "NULL)");
    sqlite3_stmt *arg = prepare("INSERT INTO arg VALUES (?, ?, ?, ?, ?)");

    for (int64_t i = 1; i <= count; i++) {
        int64_t ts = 5000000000 + i * 500;

        for (int64_t j = 0; j < args; j++)
            put(arg, (const int64_t[]){ i, j, 1 + j, 4, j % 2 ? i % 100000 : ts * 3 }, 5);
        put(slice, (const int64_t[]){ i, ts, 500, 1 + i % 12, 1 + i % 1000, 0, i, 0 }, 8);
    }
    (void)sqlite3_finalize(slice);
    (void)sqlite3_finalize(arg);
    return (uint64_t)(count * (1 + args));
}

static uint64_t put_sched(int64_t count)
{
    sqlite3_stmt *stretch = prepare("INSERT INTO sched_slice VALUES (?, ?, ?, ?, ?, 'S', ?)");
    sqlite3_stmt *wait = prepare("INSERT INTO thread_wait VALUES (?, ?, ?, ?, 'R', NULL)");

    for (int64_t i = 1; i <= count; i++) {
        int64_t ts = 5000000000 + i * 10000;

        put(stretch, (const int64_t[]){ i, ts, 40000, i % 4, 1 + i % 12, 40 }, 6);
        put(wait, (const int64_t[]){ i, ts, 40000, 1 + i % 12 }, 4);
    }
    (void)sqlite3_finalize(stretch);
    (void)sqlite3_finalize(wait);
    return (uint64_t)count * 2;
}

static uint64_t put_samples(int64_t count)
{
    sqlite3_stmt *sample = prepare("INSERT INTO cpu_sample VALUES (?, ?, ?, ?, ?, ?)");

    for (int64_t i = 1; i <= count; i++)
        put(sample,
            (const int64_t[]){ i, 5000000000 + i * 250, i % 4, 1 + i % 12, 1 + (i * 7919) % 100000,
                               1000000 },
            6);
    (void)sqlite3_finalize(sample);
    return (uint64_t)count;
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    int64_t count = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    int64_t args = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
    double start;
    uint64_t rows;

    if (argc < 4 || count <= 0 || args < 0) {
        (void)fprintf(stderr, "usage: sqlrows FILE samples|slices|sched COUNT ARGS\n");
        return CLI_USAGE;
    }
    (void)remove(argv[1]);
    start = now();
    if (sqlite3_open(argv[1], &db) != SQLITE_OK)
        fail();
    run(tables);
    rows = strcmp(argv[2], "sched") == 0     ? put_sched(count)
           : strcmp(argv[2], "samples") == 0 ? put_samples(count)
                                             : put_slices(count, args);
    run("COMMIT");
    (void)sqlite3_close(db);
    (void)printf("seconds=%.4f rows=%" PRIu64 "\n", now() - start, rows);
    return CLI_OK;
}
