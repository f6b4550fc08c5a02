/* read_store.c - captures of a store as runs: all of them, or one as STORE#CAPTURE.
 *
 * What is added up in the store (callsite_sum) is what a run costs.  Frames with an address are
 * looked up like those of traces, and keep the store's names where nothing is found.  */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store.h>
#include "cmd/cli/select.h"
#include "cmd/fxtdiff/readers.h"

/* A store being read; arrays by the store's ids.  */
struct job {
    struct diff_runs *runs;
    struct profile_stacks *stacks;
    sqlite3 *db;
    const char *label;
    bool failed; /* a message was printed */
    enum cli_exit status;
    profile_id *modules, *frames, *callsites;
    size_t module_count, frame_count, callsite_count;
    size_t module_capacity, frame_capacity, callsite_capacity;
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

static bool check(struct job *job, enum profile_status status, const struct profile_error *error)
{
    return status == PROFILE_OK || fail(job, CLI_ENVIRONMENT, error->message);
}

/* Ids count from 1 without gaps.  */
static bool in_place(struct job *job, sqlite3_stmt *row, size_t count)
{
    return sqlite3_column_int64(row, 0) == (sqlite3_int64)count + 1 ||
           fail(job, CLI_DAMAGED, "the store is corrupt: its ids have gaps");
}

/* What a reference stands for; 0 for NULL.  */
static bool find(struct job *job, sqlite3_stmt *row, int column, const profile_id *items,
                 size_t count, profile_id *out)
{
    sqlite3_int64 id = sqlite3_column_int64(row, column);

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return true;
    if (id < 1 || (uint64_t)id > count)
        return fail(job, CLI_DAMAGED, "the store is corrupt: a row refers to what is not there");
    *out = items[id - 1];
    return true;
}

static bool each(struct job *job, const char *sql, sqlite3_int64 argument,
                 bool (*take)(struct job *, sqlite3_stmt *))
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(job->db, sql, -1, &row, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, argument);
        while ((code = sqlite3_step(row)) == SQLITE_ROW && take(job, row))
            ;
    }
    (void)sqlite3_finalize(row);
    if (code == SQLITE_DONE || job->failed)
        return !job->failed;
    return fail_sqlite(job);
}

/* ---- Stacks ---- */

static bool intern(struct job *job, sqlite3_stmt *row, int column, profile_id *out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    struct profile_error error;

    *out = 0;
    return !text ||
           check(job,
                 profile_stacks_string(job->stacks, text, (size_t)sqlite3_column_bytes(row, column),
                                       out, &error),
                 &error);
}

static bool take_module(struct job *job, sqlite3_stmt *row)
{
    struct profile_module module = { .name = 0 };
    struct profile_error error;
    profile_id *to;

    if (!in_place(job, row, job->module_count) || !intern(job, row, 1, &module.name))
        return false;
    module.build_id_length = (uint8_t)store_parse_build_id(
        (const char *)sqlite3_column_text(row, 2), module.build_id, sizeof module.build_id);
    job->modules = cli_grow(job->modules, &job->module_capacity, job->module_count + 1,
                            sizeof *job->modules);
    to = &job->modules[job->module_count++];
    return check(job, profile_stacks_module(job->stacks, &module, to, &error), &error);
}

#define MOST_LINES 1000

/* The names that the store has for a frame, innermost first.  */
static size_t load_lines(struct job *job, sqlite3_stmt *names, sqlite3_int64 frame,
                         struct profile_line *lines)
{
    size_t count = 0;

    (void)sqlite3_bind_int64(names, 1, frame);
    while (count < MOST_LINES && sqlite3_step(names) == SQLITE_ROW) {
        struct profile_line *line = &lines[count++];

        *line = (struct profile_line){ .line = (uint32_t)sqlite3_column_int64(names, 3),
                                       .start_line = (uint32_t)sqlite3_column_int64(names, 4) };
        if (!intern(job, names, 0, &line->function) || !intern(job, names, 1, &line->system_name) ||
            !intern(job, names, 2, &line->file))
            break;
    }
    (void)sqlite3_reset(names);
    return count;
}

static bool add_frame(struct job *job, sqlite3_stmt *row, const struct profile_line *lines,
                      size_t count)
{
    struct profile_error error;
    profile_id module, *frame;

    job->frames = cli_grow(job->frames, &job->frame_capacity, job->frame_count + 1,
                           sizeof *job->frames);
    frame = &job->frames[job->frame_count++];
    if (!find(job, row, 1, job->modules, job->module_count, &module))
        return false;
    if (sqlite3_column_type(row, 2) == SQLITE_NULL)
        return check(job, profile_stacks_named_frame(job->stacks, lines, count, frame, &error),
                     &error);
    return check(job,
                 profile_stacks_address_frame(
                     job->stacks, module, (uint64_t)sqlite3_column_int64(row, 2), frame, &error),
                 &error) &&
           (count == 0 ||
            check(job, profile_stacks_set_lines(job->stacks, *frame, lines, count, &error),
                  &error));
}

static bool load_frames(struct job *job)
{
    struct profile_line *lines = cli_allocate(MOST_LINES, sizeof *lines);
    sqlite3_stmt *row = NULL, *names = NULL;
    int code = sqlite3_prepare_v2(
        job->db,
        "SELECT fn.text, sys.text, file.text, s.line, s.start_line FROM main.symbol AS s "
        "LEFT JOIN main.string AS fn ON fn.id = s.function "
        "LEFT JOIN main.string AS sys ON sys.id = s.system_name "
        "LEFT JOIN main.string AS file ON file.id = s.file "
        "WHERE s.frame_id = ? ORDER BY inline_depth",
        -1, &names, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            job->db, "SELECT id, module_id, vaddr FROM main.frame ORDER BY id", -1, &row, NULL);
    while (code == SQLITE_OK && !job->failed && sqlite3_step(row) == SQLITE_ROW) {
        size_t count = load_lines(job, names, sqlite3_column_int64(row, 0), lines);

        if (!job->failed && in_place(job, row, job->frame_count))
            (void)add_frame(job, row, lines, count);
    }
    if (code == SQLITE_OK)
        code = sqlite3_reset(row);
    (void)sqlite3_finalize(row);
    (void)sqlite3_finalize(names);
    free(lines);
    return !job->failed && (code == SQLITE_OK || fail_sqlite(job));
}

static bool take_callsite(struct job *job, sqlite3_stmt *row)
{
    struct profile_error error;
    profile_id parent, frame, *callsite;

    if (!in_place(job, row, job->callsite_count) ||
        !find(job, row, 1, job->callsites, job->callsite_count, &parent) ||
        !find(job, row, 2, job->frames, job->frame_count, &frame))
        return false;
    if (!frame)
        return fail(job, CLI_DAMAGED, "the store is corrupt: a call site without a frame");
    job->callsites = cli_grow(job->callsites, &job->callsite_capacity, job->callsite_count + 1,
                              sizeof *job->callsites);
    callsite = &job->callsites[job->callsite_count++];
    return check(job, profile_stacks_callsite(job->stacks, parent, frame, callsite, &error),
                 &error);
}

/* ---- Captures ---- */

static const char *copy_or_null(struct job *job, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text && *text ? compare_builder_text(job->runs->builder, text, strlen(text)) : NULL;
}

/* The type asked for, or that of the runs before, or the first of those people look at first.  */
static bool choose_type(struct job *job, sqlite3_int64 capture, sqlite3_int64 *type, bool *counts)
{
    const char *known = compare_builder_type(job->runs->builder).type;
    const char *wanted = job->runs->reading->sample_type;
    sqlite3_stmt *row = NULL;
    bool ok = false;

    wanted = wanted ? wanted : known;
    *type = 0; /* without samples: the report says so */
    *counts = false;
    if (sqlite3_prepare_v2(
            job->db,
            "SELECT t.id, coalesce(t.type, ''), coalesce(t.unit, ''), max(s.value IS NOT NULL) "
            "FROM main.callsite_sum AS s "
            "JOIN main.sample_type AS t ON t.id = s.sample_type_id WHERE s.capture_id = ?1 "
            "AND (?2 IS NULL OR t.type = ?2 OR (?2 = 'samples' AND t.type = 'cpu')) GROUP BY t.id "
            "ORDER BY t.type = 'cpu' DESC, t.type = 'inuse_space' DESC, t.id LIMIT 1",
            -1, &row, NULL) != SQLITE_OK)
        return fail_sqlite(job);
    (void)sqlite3_bind_int64(row, 1, capture);
    (void)sqlite3_bind_text(row, 2, wanted, -1, SQLITE_STATIC);
    if (sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 1);
        const char *unit = (const char *)sqlite3_column_text(row, 2);

        *type = sqlite3_column_int64(row, 0);
        *counts = !sqlite3_column_int(row, 3) || (wanted && strcmp(wanted, "samples") == 0);
        ok = diff_set_type(job->runs, *counts ? "samples" : name, *counts ? "count" : unit);
        job->failed |= !ok;
        job->status = ok ? job->status : CLI_USAGE;
        job->runs->kind = strcmp(name, "cpu") == 0 ? PROFILE_CPU : PROFILE_HEAP;
    } else if (wanted && job->runs->reading->sample_type) {
        (void)fail(job, CLI_USAGE, "has no such sample type");
    } else {
        ok = true;
    }
    (void)sqlite3_finalize(row);
    return ok;
}

static bool add_costs(struct job *job, struct compare_run *run, sqlite3_int64 capture,
                      sqlite3_int64 type, bool counts)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(job->db,
                                  "SELECT callsite_id, n, value FROM main.callsite_sum "
                                  "WHERE capture_id = ? AND sample_type_id = ?",
                                  -1, &row, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, capture);
        (void)sqlite3_bind_int64(row, 2, type);
        while (!job->failed && (code = sqlite3_step(row)) == SQLITE_ROW) {
            double cost = sqlite3_column_double(row, counts ? 1 : 2);
            profile_id callsite;

            if (!find(job, row, 0, job->callsites, job->callsite_count, &callsite))
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
    sqlite3_int64 id = sqlite3_column_int64(row, 0), type;
    struct compare_run *run;
    char number[32];
    char *label;
    bool counts;

    (void)snprintf(number, sizeof number, "#%lld", (long long)id);
    label = cli_join(store_label, number);
    run = diff_begin_run(job->runs, side, label);
    free(label);
    run->environment.command = copy_or_null(job, row, 1);
    run->environment.arch = copy_or_null(job, row, 2);
    run->environment.period_ns = (uint64_t)sqlite3_column_int64(row, 3);
    run->environment.kernel = copy_or_null(job, row, 4);
    run->environment.cpu_model = copy_or_null(job, row, 5);
    if (!choose_type(job, id, &type, &counts))
        return false;
    return type == 0 || add_costs(job, run, id, type, counts);
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

static void release(struct job *job)
{
    free(job->modules);
    free(job->frames);
    free(job->callsites);
}

static enum cli_exit read_captures(struct diff_runs *runs, enum compare_side side, const char *path,
                                   const char *label, int64_t capture)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_READ };
    struct job job = {
        .runs = runs, .stacks = profile_stacks_of(runs->profile), .label = label, .status = CLI_OK
    };
    struct store_error error;
    struct store *store = NULL;

    if (store_open(path, &options, &store, &error) != STORE_OK) {
        cli_error("%s: %s", label, error.message);
        compare_builder_add_unreadable(runs->builder);
        return error.status == STORE_CORRUPT || error.status == STORE_NOT_STORE ? CLI_DAMAGED
                                                                                : CLI_ENVIRONMENT;
    }
    job.db = store_sqlite(store);
    if (each(&job, "SELECT id, name, build_id FROM main.module WHERE ?1 = 0 ORDER BY id", 0,
             take_module) &&
        load_frames(&job) &&
        each(&job, "SELECT id, parent_id, frame_id FROM main.callsite WHERE ?1 = 0 ORDER BY id", 0,
             take_callsite))
        (void)take_captures(&job, side, label, capture);
    if (job.status == CLI_DAMAGED)
        compare_builder_add_unreadable(runs->builder);
    release(&job);
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
