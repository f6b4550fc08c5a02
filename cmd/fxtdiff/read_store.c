/* read_store.c - captures of a store as runs: all of them, or one as STORE#CAPTURE.
 *
 * What is added up in the store (callsite_sum) is what a run costs.  Frames with an address are
 * looked up like those of traces, and keep the store's names where nothing is found.  */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_content.h>
#include "cmd/cli/select.h"
#include "cmd/fxtdiff/readers.h"

/* A store being read.  */
struct job {
    struct diff_runs *runs;
    struct store *store;
    sqlite3 *db;
    const char *label;
    bool failed; /* a message was printed */
    enum cli_exit status;
    struct store_stacks loaded;
};

static bool fail(struct job *job, enum cli_exit status, const char *message)
{
    if (!job->failed)
        cli_error("%s: %s", job->label, message);
    job->failed = true;
    job->status = status;
    return false;
}

/* What SQLite refused last.  */
static bool fail_sqlite(struct job *job)
{
    int code = sqlite3_errcode(job->db);
    bool memory = (code & 0xff) == SQLITE_NOMEM ||
                  sqlite3_extended_errcode(job->db) == SQLITE_IOERR_NOMEM;

    return fail(job, memory ? CLI_ENVIRONMENT : CLI_DAMAGED,
                memory ? "out of memory" : sqlite3_errmsg(job->db));
}

/* What the library refused.  */
static bool check(struct job *job, enum store_status status, const struct store_error *error)
{
    if (status == STORE_OK)
        return true;
    return fail(job, status == STORE_CORRUPT ? CLI_DAMAGED : CLI_ENVIRONMENT, error->message);
}

/* The call site of a row; 0: an empty stack.  */
static bool find_callsite(struct job *job, sqlite3_stmt *row, profile_id *out)
{
    sqlite3_int64 id = sqlite3_column_int64(row, 0);

    *out = 0;
    if (id == 0)
        return true;
    if (id < 1 || (uint64_t)id > job->loaded.callsite_count)
        return fail(job, CLI_DAMAGED, "the store is corrupt: a row refers to what is not there");
    *out = job->loaded.callsites[id - 1];
    return true;
}

/* ---- Captures ---- */

static const char *copy_or_null(struct job *job, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text && *text ? compare_builder_text(job->runs->builder, text, strlen(text)) : NULL;
}

/* Whether samples weigh anything: without a period they are only counted.  */
static bool find_values(struct job *job, sqlite3_int64 capture, sqlite3_int64 type, bool *out)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(job->db,
                                  "SELECT 1 FROM main.callsite_sum WHERE capture_id = ?1 AND "
                                  "sample_type_id = ?2 AND value IS NOT NULL LIMIT 1",
                                  -1, &row, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, capture);
        (void)sqlite3_bind_int64(row, 2, type);
        code = sqlite3_step(row);
    }
    *out = code == SQLITE_ROW;
    (void)sqlite3_finalize(row);
    return code == SQLITE_ROW || code == SQLITE_DONE || fail_sqlite(job);
}

/* The type asked for, or that of the runs before, or the first of those people look at first.
 * type->type is NULL without samples: the report says so.  *counts: it is a number of samples.  */
static bool choose_type(struct job *job, sqlite3_int64 capture, struct store_sample_type *type,
                        bool *counts)
{
    const char *asked = job->runs->reading->sample_type;
    const char *wanted = asked ? asked : compare_builder_type(job->runs->builder).type;
    bool has_values = false, unweighed;
    struct store_error error;

    if (!check(job, store_sample_type_choose(job->store, wanted, capture, type, &error), &error))
        return false;
    if (!type->there) {
        store_sample_type_release(type);
        return !asked || fail(job, CLI_USAGE, "has no such sample type");
    }
    if (!type->counted_id && !find_values(job, capture, type->id, &has_values))
        return false;
    *counts = !has_values;
    unweighed = !has_values && !type->counted_id;
    job->runs->kind = type->kind == STORE_SAMPLES_CPU || strcmp(type->type, "cpu") == 0
                          ? PROFILE_CPU
                          : PROFILE_HEAP;
    if (diff_set_type(job->runs, unweighed ? "samples" : type->type,
                      unweighed ? "count" : type->unit))
        return true;
    job->failed = true;
    job->status = CLI_USAGE;
    return false;
}

static bool add_costs(struct job *job, struct compare_run *run, sqlite3_int64 capture,
                      const struct store_sample_type *type, bool counts)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(job->db,
                                  "SELECT callsite_id, n, value FROM main.callsite_sum "
                                  "WHERE capture_id = ? AND sample_type_id = ?",
                                  -1, &row, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, capture);
        (void)sqlite3_bind_int64(row, 2, type->counted_id ? type->counted_id : type->id);
        while (!job->failed && (code = sqlite3_step(row)) == SQLITE_ROW) {
            double cost = sqlite3_column_double(row, counts ? 1 : 2);
            profile_id callsite;

            if (!find_callsite(job, row, &callsite))
                break;
            run->samples += sqlite3_column_double(row, 1);
            run->cost += cost;
            if (cost > 0)
                compare_builder_add_stack(job->runs->builder, callsite, cost);
        }
    }
    (void)sqlite3_finalize(row);
    return !job->failed && (code == SQLITE_DONE || fail_sqlite(job));
}

static bool take_capture(struct job *job, sqlite3_stmt *row, enum compare_side side,
                         const char *store_label)
{
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    struct store_sample_type type = { .type = NULL };
    struct compare_run *run;
    char number[32];
    char *label;
    bool counts = false, ok;

    (void)snprintf(number, sizeof number, "#%lld", (long long)id);
    label = cli_join(store_label, number);
    run = diff_begin_run(job->runs, side, label);
    free(label);
    run->environment.command = copy_or_null(job, row, 1);
    run->environment.arch = copy_or_null(job, row, 2);
    run->environment.period_ns = (uint64_t)sqlite3_column_int64(row, 3);
    run->environment.kernel = copy_or_null(job, row, 4);
    run->environment.cpu_model = copy_or_null(job, row, 5);
    ok = choose_type(job, id, &type, &counts) &&
         (!type.type || add_costs(job, run, id, &type, counts));
    store_sample_type_release(&type);
    return ok;
}

static bool take_captures(struct job *job, enum compare_side side, const char *store_label,
                          int64_t capture)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(
        job->db,
        "SELECT c.id, c.command, c.arch, c.period_ns, "
        "(SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'kernel'), "
        "(SELECT value FROM main.meta WHERE capture_id = c.id AND key = 'cpu_model') "
        "FROM main.capture AS c WHERE ?1 = 0 OR c.id = ?1 ORDER BY c.id",
        -1, &row, NULL);
    bool any = false;

    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, capture);
        while (!job->failed && (code = sqlite3_step(row)) == SQLITE_ROW)
            any |= take_capture(job, row, side, store_label);
    }
    (void)sqlite3_finalize(row);
    if (!job->failed && code != SQLITE_DONE)
        return fail_sqlite(job);
    return !job->failed && (any || fail(job, CLI_USAGE, "the store has no such capture"));
}

/* ---- The store ---- */

static enum cli_exit read_captures(struct diff_runs *runs, enum compare_side side, const char *path,
                                   const char *label, int64_t capture)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_READ };
    struct job job = { .runs = runs, .label = label, .status = CLI_OK };
    struct store_error error;
    struct store *store = NULL;

    if (store_open(path, &options, &store, &error) != STORE_OK) {
        cli_error("%s: %s", label, error.message);
        compare_builder_add_unreadable(runs->builder);
        return error.status == STORE_CORRUPT || error.status == STORE_NOT_STORE ? CLI_DAMAGED
                                                                                : CLI_ENVIRONMENT;
    }
    job.db = store_sqlite(store);
    job.store = store;
    if (check(&job,
              store_load_stacks(store, profile_stacks_of(runs->profile), true, &job.loaded, &error),
              &error))
        (void)take_captures(&job, side, label, capture);
    if (job.status == CLI_DAMAGED)
        compare_builder_add_unreadable(runs->builder);
    store_stacks_release(&job.loaded);
    store_close(store);
    return job.status;
}

enum cli_exit diff_read_store(struct diff_runs *runs, enum compare_side side, const char *path,
                              const char *label)
{
    return read_captures(runs, side, path, label, 0);
}

bool diff_is_capture(const char *operand)
{
    int64_t capture;
    char *path = cli_split_capture(operand, &capture);
    bool is_store = path && store_is_database(path);

    free(path);
    return is_store;
}

enum cli_exit diff_read_capture(struct diff_runs *runs, enum compare_side side, const char *operand)
{
    int64_t capture = 0;
    char *path = cli_split_capture(operand, &capture);
    enum cli_exit status = path ? read_captures(runs, side, path, path, capture) : CLI_USAGE;

    free(path);
    return status;
}
