#include "libstore/functions/selection.h"

#include <stdlib.h>
#include <string.h>

#include "libstore/functions/content_queries.h"
#include "libstore/functions/cpu_list.h"
#include "libstore/functions/shape.h"

/* More rows than any store holds would only cost memory.  */
#define OWNERS_MAX (1u << 28)
/* Ids of captures that were deleted.  Ids that are made up must not cost memory.  */
#define OWNER_GAPS_MAX (1 << 22)

/* ---- One selection ---- */

struct job {
    sqlite3 *db;
    const struct stacks *stacks;
    const struct selection *selection;
    char **error;
    struct counters counters;
    struct store_sample_type type;

    uint8_t *keep;
    uint8_t *threads_kept, *processes_kept;
    uint32_t *thread_processes;
    uint32_t thread_count, process_count;
    int64_t *cpus;
    bool one_of_types; /* the store has CPU samples of other types, which do not count */
};

static int fail(const struct job *job, const char *format, const char *argument)
{
    *job->error = sqlite3_mprintf(format, argument);
    return *job->error ? SQLITE_ERROR : SQLITE_NOMEM;
}

static int sql_failed(const struct job *job, int code)
{
    if (code != SQLITE_OK && code != SQLITE_NOMEM && !*job->error)
        *job->error = sqlite3_mprintf("%s", sqlite3_errmsg(job->db));
    return code;
}

/* Run sql, whose ?1 is the counters and ?2.. are numbers.  */
static int run(struct job *job, const char *sql, const sqlite3_int64 *numbers, int count)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(job->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_pointer(statement, 1, &job->counters, COUNTERS_POINTER, NULL);
    for (int i = 0; i < count && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(statement, i + 2, numbers[i]);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        code = SQLITE_OK;
    code = sql_failed(job, code == SQLITE_DONE ? SQLITE_OK : code);
    (void)sqlite3_finalize(statement);
    return code;
}

/* One number that sql finds for up to two numbers; fallback when there is no row, or NULL.  */
static int ask(struct job *job, const char *sql, sqlite3_int64 first, sqlite3_int64 second,
               sqlite3_int64 fallback, sqlite3_int64 *answer)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(job->db, sql, -1, &statement, NULL);

    *answer = fallback;
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        code = sqlite3_bind_int64(statement, 1, first);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 1)
        code = sqlite3_bind_int64(statement, 2, second);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *answer = sqlite3_column_int64(statement, 0);
    code = sql_failed(job, code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code);
    (void)sqlite3_finalize(statement);
    return code;
}

/* ---- The sample type ---- */

/* Nothing can pass a filter that no sample has a column for: that is said, not answered with
 * nothing.  */
static int check_filters(struct job *job)
{
    const struct selection *selection = job->selection;
    unsigned asked = 0;
    const char *untold;
    int code;

    if (selection->cpus)
        asked |= STORE_FILTER_CPU;
    if (selection->has_from || selection->has_limit)
        asked |= STORE_FILTER_TIME;
    if (selection->tids || job->counters.by == SUMS_BY_THREAD)
        asked |= STORE_FILTER_THREAD;
    code = content_missing(job->db, &job->type, selection->capture, asked, &untold);
    if (code != SQLITE_OK || !untold)
        return sql_failed(job, code);
    *job->error = sqlite3_mprintf("samples of type %s have no %s", job->type.type, untold);
    return *job->error ? SQLITE_ERROR : SQLITE_NOMEM;
}

static int choose_type(struct job *job)
{
    const char *wanted = job->selection->type;
    int code = content_choose_type(job->db, wanted, job->selection->capture, &job->type);

    if (code != SQLITE_OK)
        return sql_failed(job, code);
    if (wanted && !job->type.type)
        return fail(job, "there is no sample type '%s' in the store: see table sample_type",
                    wanted);
    return check_filters(job);
}

/* ---- Who counts ---- */

static bool list_has_number(const char *list, sqlite3_int64 number)
{
    char text[32];

    (void)sqlite3_snprintf((int)sizeof text, text, "%lld", number);
    return match_list(list, text);
}

/* Columns: id, capture, pid, process name, tid, thread name, upid; processes have the first 4.  */
static bool owner_counts(const struct selection *selection, sqlite3_stmt *row, bool is_thread)
{
    const char *name = (const char *)sqlite3_column_text(row, is_thread ? 5 : 3);

    if (selection->capture && sqlite3_column_int64(row, 1) != selection->capture)
        return false;
    if (selection->pids && !list_has_number(selection->pids, sqlite3_column_int64(row, 2)))
        return false;
    if (is_thread && selection->tids &&
        !list_has_number(selection->tids, sqlite3_column_int64(row, 4)))
        return false;
    return !selection->comms || (name && match_list(selection->comms, name)); /* NULL: unknown */
}

/* Which threads, or processes, count: kept[id].  */
static int load_owners(struct job *job, bool threads, uint8_t **kept, uint32_t **processes,
                       uint32_t *count)
{
    static const char *const sql[] = {
        "SELECT id, capture_id, pid, name FROM main.process ORDER BY id",
        "SELECT t.id, p.capture_id, p.pid, p.name, t.tid, t.name, t.upid FROM main.thread AS t "
        "LEFT JOIN main.process AS p ON p.id = t.upid ORDER BY t.id"
    };
    sqlite3_stmt *statement;
    size_t capacity = 0, process_capacity = 0;
    sqlite3_int64 rows = 0;
    int code = sqlite3_prepare_v2(job->db, sql[threads], -1, &statement, NULL);

    *count = 0;
    if (code == SQLITE_OK && (!stacks_grow(kept, &capacity, 1, 1) ||
                              !stacks_grow(processes, &process_capacity, 1, sizeof(uint32_t))))
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        **kept = 0;
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        sqlite3_int64 id = sqlite3_column_int64(statement, 0);
        sqlite3_int64 upid = threads ? sqlite3_column_int64(statement, 6) : id;

        code = SQLITE_OK;
        if (id <= (sqlite3_int64)*count || id - ++rows > OWNER_GAPS_MAX || id > OWNERS_MAX ||
            upid < 0 || upid > OWNERS_MAX) {
            code = SQLITE_CORRUPT;
            *job->error = sqlite3_mprintf("the store is damaged: the ids of its %s make no sense",
                                          threads ? "threads" : "processes");
        } else if (!stacks_grow(kept, &capacity, (size_t)id + 1, 1) ||
                   !stacks_grow(processes, &process_capacity, (size_t)id + 1, sizeof(uint32_t))) {
            code = SQLITE_NOMEM;
        } else {
            memset(*kept + *count + 1, 0, (size_t)id - *count); /* captures that were deleted */
            memset(*processes + *count + 1, 0, ((size_t)id - *count) * sizeof(uint32_t));
            (*kept)[id] = owner_counts(job->selection, statement, threads);
            (*processes)[id] = (uint32_t)upid;
            *count = (uint32_t)id;
        }
    }
    (void)sqlite3_finalize(statement);
    return sql_failed(job, code == SQLITE_DONE ? SQLITE_OK : code);
}

/* "0,3,5" to sorted numbers.  */
static int parse_cpus(struct job *job)
{
    const char *list = job->selection->cpus;
    size_t capacity = 0, count = 0;

    for (const char *item = list; list;) {
        char *end;
        sqlite3_int64 number = strtoll(item, &end, 10);

        if (end == item || (*end != ',' && *end != '\0'))
            return fail(job, "cpu: '%s' is not a list of numbers", list);
        if (!stacks_grow(&job->cpus, &capacity, count + 1, sizeof *job->cpus))
            return SQLITE_NOMEM;
        job->cpus[count++] = number;
        if (*end == '\0')
            break;
        item = end + 1;
    }
    if (list)
        cpu_list_sort(job->cpus, count);
    job->counters.cpus = job->cpus;
    job->counters.cpu_count = count;
    return SQLITE_OK;
}

static int choose_stacks(struct job *job)
{
    const struct selection *selection = job->selection;
    struct shape_patterns patterns = { .focus = selection->focus,
                                       .ignore = selection->ignore,
                                       .hide = selection->hide,
                                       .show_from = selection->show_from };
    int code = shape_callsites(job->stacks, &patterns, &job->keep, job->error);

    job->counters.keep = job->keep;
    return code;
}

/* ---- Reading ---- */

/* The number of the first sample of [first, limit) at or after ts.  */
static int first_sample_at(struct job *job, sqlite3_int64 first, sqlite3_int64 limit,
                           sqlite3_int64 ts, sqlite3_int64 *found)
{
    while (first < limit) {
        sqlite3_int64 middle = first + (limit - first) / 2, at;
        int code = ask(job, "SELECT ts FROM main.cpu_sample WHERE id = ?1", middle, 0, ts, &at);

        if (code != SQLITE_OK)
            return code;
        if (at < ts)
            first = middle + 1;
        else
            limit = middle;
    }
    *found = first;
    return SQLITE_OK;
}

/* Add up the samples whose ids are in a range, and of which further conditions hold.  */
static int run_on_samples(struct job *job, const char *columns, const char *conditions,
                          sqlite3_int64 numbers[7], int count)
{
    char sql[320];

    if (job->one_of_types)
        numbers[count++] = job->type.id;
    (void)sqlite3_snprintf((int)sizeof sql, sql,
                           "SELECT fxt_add(?1, callsite_id, 1, weight%s) FROM main.cpu_sample "
                           "WHERE id >= ?2 AND id < ?3%s",
                           columns, conditions);
    if (job->one_of_types)
        (void)sqlite3_snprintf((int)(sizeof sql - strlen(sql)), sql + strlen(sql),
                               " AND sample_type_id = ?%d", count + 1);
    return run(job, sql, numbers, count);
}

/* The owners that count lie in [*least, *most]: two comparisons spare calls for most of the others.
 */
static void find_owner_range(const struct job *job, sqlite3_int64 *least, sqlite3_int64 *most)
{
    *least = INT64_MIN;
    *most = INT64_MAX;
    if (!job->counters.owner_kept)
        return;
    *least = job->counters.owner_count + (sqlite3_int64)1;
    *most = 0;
    for (uint32_t i = 1; i <= job->counters.owner_count; i++) {
        if (!job->counters.owner_kept[i])
            continue;
        *most = i;
        if (i < *least)
            *least = i;
    }
}

/* The same from the columns of the store, if it has them: ids and owners are numbers[0] to [3].  */
static int add_columns(struct job *job, const sqlite3_int64 numbers[4], bool has_owners,
                       bool *added)
{
    struct counters_range range = { .first = numbers[0],
                                    .limit = numbers[1],
                                    .has_owners = has_owners,
                                    .least_owner = numbers[2],
                                    .most_owner = numbers[3],
                                    .sample_type_id = job->one_of_types ? job->type.id : 0 };

    return counters_add_columns(&job->counters, job->selection->scanner, &range, added);
}

static int add_sample_range(struct job *job, sqlite3_int64 first, sqlite3_int64 limit)
{
    const struct selection *selection = job->selection;
    bool all = !job->counters.owner_kept && job->counters.by == SUMS_BY_CALLSITE;
    sqlite3_int64 numbers[7] = { first, limit };
    bool is_added = false;
    int code = SQLITE_OK;

    if (selection->has_from)
        code = first_sample_at(job, first, limit, selection->from_ts, &numbers[0]);
    if (code == SQLITE_OK && selection->has_limit)
        code = first_sample_at(job, numbers[0], limit, selection->limit_ts, &numbers[1]);
    if (code != SQLITE_OK)
        return code;
    find_owner_range(job, &numbers[2], &numbers[3]);
    code = add_columns(job, numbers, !all || selection->cpus, &is_added);
    if (code != SQLITE_OK || is_added)
        return code;
    if (selection->cpus) {
        numbers[4] = job->cpus[0];
        numbers[5] = job->cpus[job->counters.cpu_count - 1];
        return run_on_samples(job, ", utid, cpu",
                              " AND utid BETWEEN ?4 AND ?5 AND cpu BETWEEN ?6 AND ?7", numbers, 6);
    }
    if (all)
        return run_on_samples(job, "", "", numbers, 2);
    return run_on_samples(job, ", utid", " AND utid BETWEEN ?4 AND ?5", numbers, 4);
}

/* Without a condition on the type, rows of a store that has one are read faster.  */
static int find_other_types(struct job *job)
{
    sqlite3_int64 events;
    int code = ask(job, "SELECT 1 FROM main.sample_event LIMIT 1", 0, 0, 0, &events);

    job->one_of_types = events && !job->type.counted_id;
    return code;
}

static int add_cpu_samples(struct job *job)
{
    sqlite3_stmt *statement = NULL;
    int code = find_other_types(job);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(job->db,
                                  "SELECT first_sample_id, sample_count FROM main.capture "
                                  "WHERE (?1 = 0 OR id = ?1) AND sample_count > 0 ORDER BY id",
                                  -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, job->selection->capture);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        sqlite3_int64 first = sqlite3_column_int64(statement, 0), limit;

        if (__builtin_add_overflow(first, sqlite3_column_int64(statement, 1), &limit))
            limit = INT64_MAX;
        code = add_sample_range(job, first, limit);
    }
    (void)sqlite3_finalize(statement);
    return sql_failed(job, code == SQLITE_DONE ? SQLITE_OK : code);
}

static int add_heap_events(struct job *job)
{
    static const char allocated[] =
        "SELECT fxt_add(?1, callsite_id, objects, bytes, upid) FROM main.heap_event "
        "WHERE ?4 OR (ts >= ?2 AND ts < ?3)";
    static const char in_use[] =
        "SELECT fxt_add(?1, callsite_id, objects, bytes, upid) FROM main.heap_event "
        "WHERE freed = 0 AND (?4 OR (ts >= ?2 AND ts < ?3))";
    static const char freed[] =
        "SELECT fxt_add(?1, free_callsite_id, objects, bytes, upid) FROM main.heap_event "
        "WHERE freed <> 0 AND (?4 OR (free_ts >= ?2 AND free_ts < ?3))";
    const struct selection *selection = job->selection;
    sqlite3_int64 numbers[3] = { selection->has_from ? selection->from_ts : INT64_MIN,
                                 selection->has_limit ? selection->limit_ts : INT64_MAX,
                                 !selection->has_from && !selection->has_limit };

    return run(job,
               job->type.kind == STORE_SAMPLES_ALLOCATED ? allocated
               : job->type.kind == STORE_SAMPLES_IN_USE  ? in_use
                                                         : freed,
               numbers, 3);
}

/* How many a value stands for, as callsite_sum has it.  */
#define COUNTED                                                                          \
    "coalesce((SELECT c.value FROM main.profile_type AS t JOIN main.profile_value AS c " \
    "ON c.profile_sample_id = s.id AND c.ordinal = t.counted_by "                        \
    "WHERE t.capture_id = s.capture_id AND t.ordinal = v.ordinal), 1)"

static int add_stored_sums(struct job *job)
{
    sqlite3_int64 numbers[2] = { job->type.id, job->selection->capture };

    return run(job,
               "SELECT fxt_add(?1, callsite_id, n, value, upid) FROM main.callsite_sum "
               "WHERE sample_type_id = ?2 AND (?3 = 0 OR capture_id = ?3)",
               numbers, 2);
}

/* Samples of traces, each for one.  */
static int count_stored_sums(struct job *job)
{
    sqlite3_int64 numbers[2] = { job->type.counted_id, job->selection->capture };
    int code;

    job->counters.counts = true;
    code = run(job,
               "SELECT fxt_add(?1, callsite_id, n, n, upid) FROM main.callsite_sum "
               "WHERE " CONTENT_COUNTED(
                   "?2") " AND (?3 = 0 OR capture_id = ?3) "
                         "AND capture_id IN (SELECT id FROM main.capture WHERE format = 'fxt')",
               numbers, 2);
    job->counters.counts = false;
    return code;
}

/* Owners that count, as the fifth argument will be.  */
static int use_owners(struct job *job, bool threads)
{
    const struct selection *selection = job->selection;
    bool filtered = selection->pids || selection->tids || selection->comms;
    uint32_t *unused = NULL;
    int code = SQLITE_OK;

    if (threads && !job->threads_kept)
        code = load_owners(job, true, &job->threads_kept, &job->thread_processes,
                           &job->thread_count);
    if (!threads && !job->processes_kept)
        code = load_owners(job, false, &job->processes_kept, &unused, &job->process_count);
    sqlite3_free(unused);
    job->counters.owner_is_thread = threads;
    job->counters.owner_count = threads ? job->thread_count : job->process_count;
    job->counters.processes = job->thread_processes;
    job->counters.owner_kept = NULL;
    if (filtered || (selection->capture && !threads))
        job->counters.owner_kept = threads ? job->threads_kept : job->processes_kept;
    return code;
}

/* Samples of profiles count for their threads; those of no thread for their processes.  */
static int add_profile_samples(struct job *job)
{
    sqlite3_int64 numbers[2] = { job->type.id, job->selection->capture };
    int code = use_owners(job, true);

    if (code == SQLITE_OK)
        code = run(job,
                   "SELECT fxt_add(?1, coalesce(s.callsite_id, 0), " COUNTED ", v.value, s.utid) "
                   "FROM main.profile_sample AS s JOIN main.profile_value AS v "
                   "ON v.profile_sample_id = s.id WHERE v.sample_type_id = ?2 "
                   "AND (?3 = 0 OR s.capture_id = ?3) AND s.utid IS NOT NULL",
                   numbers, 2);
    if (code != SQLITE_OK || job->selection->tids || job->counters.by == SUMS_BY_THREAD)
        return code;
    code = use_owners(job, false);
    if (code != SQLITE_OK)
        return code;
    return run(job,
               "SELECT fxt_add(?1, coalesce(s.callsite_id, 0), " COUNTED ", v.value, "
               "coalesce(s.upid, 0)) FROM main.profile_sample AS s JOIN main.profile_value AS v "
               "ON v.profile_sample_id = s.id WHERE v.sample_type_id = ?2 "
               "AND (?3 = 0 OR s.capture_id = ?3) AND s.utid IS NULL",
               numbers, 2);
}

/* The sums of the store know processes and nothing finer.  */
static bool are_sums_enough(const struct job *job)
{
    const struct selection *selection = job->selection;

    return !selection->has_from && !selection->has_limit && !selection->tids && !selection->cpus &&
           !selection->comms && job->counters.by != SUMS_BY_THREAD;
}

/* What knows less than is asked for does not pass: heap events no threads and CPUs, profiles no
 * times and CPUs.  */
static int add_samples(struct job *job)
{
    const struct selection *selection = job->selection;
    bool timed = selection->has_from || selection->has_limit;
    int code = SQLITE_OK;

    job->counters.counts = job->type.counted_id != 0;
    if (store_samples_are_heap(job->type.kind) && !selection->tids && !selection->cpus &&
        job->counters.by != SUMS_BY_THREAD) {
        code = use_owners(job, false);
        if (code == SQLITE_OK)
            code = add_heap_events(job);
    }
    if (job->type.kind == STORE_SAMPLES_CPU) {
        code = use_owners(job, true);
        if (code == SQLITE_OK)
            code = add_cpu_samples(job);
    }
    job->counters.counts = false;
    return code == SQLITE_OK && job->type.id && !timed && !selection->cpus
               ? add_profile_samples(job)
               : code;
}

static int allocate_sums(struct job *job, struct sums *sums, enum sums_by by)
{
    sqlite3_int64 count = job->stacks->callsite_count, rows = 0;
    int code = SQLITE_OK;

    if (by != SUMS_BY_CALLSITE)
        code = ask(job,
                   by == SUMS_BY_THREAD ? "SELECT max(id) FROM main.thread"
                                        : "SELECT max(id) FROM main.process",
                   0, 0, 0, &count);
    if (code == SQLITE_OK && by != SUMS_BY_CALLSITE) /* ids that are made up must not cost memory */
        code = ask(job,
                   by == SUMS_BY_THREAD ? "SELECT count(*) FROM main.thread"
                                        : "SELECT count(*) FROM main.process",
                   0, 0, 0, &rows);
    if (code != SQLITE_OK)
        return code;
    if (by != SUMS_BY_CALLSITE && (count - rows > OWNER_GAPS_MAX || count > OWNERS_MAX))
        return fail(job, "the store is damaged: %s", "ids of threads or processes make no sense");
    sums->count = (uint32_t)count;
    sums->n = sqlite3_malloc64(((size_t)count + 1) * sizeof *sums->n);
    sums->values = sqlite3_malloc64(((size_t)count + 1) * sizeof *sums->values);
    if (!sums->n || !sums->values)
        return SQLITE_NOMEM;
    memset(sums->n, 0, ((size_t)count + 1) * sizeof *sums->n);
    memset(sums->values, 0, ((size_t)count + 1) * sizeof *sums->values);
    return SQLITE_OK;
}

static int add_up(struct job *job)
{
    int code = choose_type(job);

    if (code != SQLITE_OK || !job->type.type) /* an empty store */
        return code;
    if ((code = choose_stacks(job)) != SQLITE_OK || (code = parse_cpus(job)) != SQLITE_OK)
        return code;
    if (!are_sums_enough(job))
        return add_samples(job);
    code = use_owners(job, false);
    if (code == SQLITE_OK && job->type.counted_id)
        code = count_stored_sums(job);
    return code == SQLITE_OK && job->type.id ? add_stored_sums(job) : code;
}

int selection_add_up(sqlite3 *db, const struct stacks *stacks, const struct selection *selection,
                     enum sums_by by, struct sums *sums, char **error)
{
    struct job job = { .db = db, .stacks = stacks, .selection = selection, .error = error };
    int code;

    *error = NULL;
    *sums = (struct sums){ .count = 0 };
    job.counters =
        (struct counters){ .sums = sums, .by = by, .callsite_count = stacks->callsite_count };
    code = allocate_sums(&job, sums, by);
    if (code == SQLITE_OK)
        code = add_up(&job);
    store_sample_type_release(&job.type);
    sqlite3_free(job.keep);
    sqlite3_free(job.threads_kept);
    sqlite3_free(job.processes_kept);
    sqlite3_free(job.thread_processes);
    sqlite3_free(job.cpus);
    if (code != SQLITE_OK)
        sums_release(sums);
    return code;
}
