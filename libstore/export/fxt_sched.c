/* fxt_sched.c - threads on CPUs, and waiting, as context switches and wakeups.
 *
 * A stretch on a CPU ends where the next one begins: that is a switch, and stretches stand in the
 * store in the order in which they ended.  A wait begins with a switch, of the thread that leaves,
 * or with a wakeup, as its state says.  Where a switch did not say who left (its CPU's first, or
 * one that contradicts the one before), that is told from the waits of its moment.  */
#include <stdlib.h>
#include <string.h>

#include "libstore/export/fxt_export.h"

#define RUNNABLE    1u /* as the record of a thread that could go on says */
#define MOST_CPUS   65536
#define IDLE_WEIGHT INT32_MIN

struct fx_switch_event {
    int64_t cpu;
    uint32_t out, in; /* thread ids; 0: idle, or unknown */
    unsigned state;   /* of the thread that leaves */
    bool known;       /* who leaves */
    unsigned wants;   /* if not: how much it wants a wait (open_switch()) */
    uint32_t ran;     /* if not: who did not leave, for somebody else did; 0: idle */
    bool has_priority;
    int64_t priority;
    bool matched; /* its wait is there */
};

struct fx_wait {
    uint32_t thread, waker;
    unsigned state;
    bool woken;
    bool instant; /* it took no time */
    bool done;
};

enum doing { UNKNOWN, RUNNING, WAITING };

struct sched {
    sqlite3_stmt *switches, *waits;
    bool switches_over, waits_over;
    struct fx_switch_event *at; /* switches of one moment */
    size_t count, capacity;
    struct fx_wait *waiting; /* waits that begin then */
    size_t wait_count, wait_capacity;
    unsigned char *doing; /* [thread id] */
    bool *shared;         /* [thread id]: others have its koid too */
};

/* ---- Reading ---- */

/* The number that a record has for a letter (docs/formats/fxt.md section 2.11).  */
static unsigned state_of(const char *text)
{
    if (!text || !*text)
        return RUNNABLE;
    switch (*text) {
    case 'T':
        return 2;
    case 'S':
        return 3;
    case 'Z':
        return 4;
    case 'X':
        return 5;
    case 'R':
        return RUNNABLE;
    default:
        return (unsigned)strtoul(text, NULL, 10) & 15;
    }
}

/* The thread in a column, 0 for those that the filter leaves out.  */
static enum store_status take_thread(struct fx *fx, sqlite3_stmt *row, int column, uint32_t *out)
{
    int64_t id = sqlite3_column_int64(row, column);

    *out = 0;
    if (id < 0 || id > (int64_t)fx->export->thread_count)
        return export_corrupt(fx->export, "a thread on a CPU is not there");
    if (fx->export->threads[id].kept)
        *out = (uint32_t)id;
    return STORE_OK;
}

/* Columns: time, order, cpu, out, state, known, in, priority.  */
static enum store_status take_switch(struct fx *fx, struct sched *sched)
{
    sqlite3_stmt *row = sched->switches;
    struct fx_switch_event event = { .cpu = sqlite3_column_int64(row, 2) };
    const char *state = (const char *)sqlite3_column_text(row, 4);
    void *items = sched->at;
    enum store_status status = take_thread(fx, row, 3, &event.out);

    if (status == STORE_OK)
        status = take_thread(fx, row, 6, &event.in);
    event.known = sqlite3_column_int64(row, 5) != 0 && state;
    event.state = state_of(state);
    event.ran = event.out;
    if (sqlite3_column_int64(row, 5) != 0)
        event.wants = sqlite3_column_int64(row, 3) == 0 ? 2 : 1;
    event.has_priority = sqlite3_column_type(row, 7) == SQLITE_INTEGER;
    event.priority = sqlite3_column_int64(row, 7);
    if (status != STORE_OK)
        return status;
    if (!stacks_grow(&items, &sched->capacity, sched->count + 1, sizeof *sched->at))
        return store_no_memory(fx->export->error);
    sched->at = items;
    sched->at[sched->count++] = event;
    return STORE_OK;
}

/* Columns: time, thread, state, waker, duration.  */
static enum store_status take_wait(struct fx *fx, struct sched *sched)
{
    sqlite3_stmt *row = sched->waits;
    const char *state = (const char *)sqlite3_column_text(row, 2);
    struct fx_wait wait = { .state = state_of(state),
                            .woken = state && *state == 'W',
                            .instant = sqlite3_column_int64(row, 4) == 0 };
    void *items = sched->waiting;
    enum store_status status = take_thread(fx, row, 1, &wait.thread);

    if (status == STORE_OK)
        status = take_thread(fx, row, 3, &wait.waker);
    if (status != STORE_OK || wait.thread == 0)
        return status;
    if (!stacks_grow(&items, &sched->wait_capacity, sched->wait_count + 1, sizeof *sched->waiting))
        return store_no_memory(fx->export->error);
    sched->waiting = items;
    sched->waiting[sched->wait_count++] = wait;
    return STORE_OK;
}

/* ---- Records ---- */

static bool takes_legacy(const struct sched *sched, const struct fx_switch_event *event)
{
    return (sched->shared[event->out] || sched->shared[event->in]) && event->cpu < 256 &&
           (!event->in || (event->has_priority && event->priority >= 0 && event->priority < 256));
}

static struct fxt_thread whole_thread(const struct export *export, uint32_t thread)
{
    const struct export_thread *from = &export->threads[thread];

    return (struct fxt_thread){ .process = export->processes[from->process].koid,
                                .thread = from->koid };
}

static enum store_status put_switch(struct fx *fx, struct sched *sched,
                                    const struct fx_switch_event *event, int64_t ts)
{
    const struct export *export = fx->export;
    struct fxt_arg args[2];
    struct fxt_record record = { .kind = FXT_RECORD_CONTEXT_SWITCH, .args = args };

    sched->doing[event->out] = WAITING;
    sched->doing[event->in] = RUNNING;
    fx->export->counts->events++;
    if (event->cpu < 0 || event->cpu >= MOST_CPUS) {
        fx->export->counts->left_out++;
        return STORE_OK;
    }
    record.value.sched.cpu = (unsigned)event->cpu;
    record.value.sched.outgoing_state = event->state;
    record.value.sched.outgoing_tid = event->out ? export->threads[event->out].koid : 0;
    record.value.sched.incoming_tid = event->in ? export->threads[event->in].koid : 0;
    if (takes_legacy(sched, event)) {
        record.kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH;
        record.value.sched.outgoing = whole_thread(export, event->out);
        record.value.sched.incoming = whole_thread(export, event->in);
        record.value.sched.outgoing_priority = event->out != 0;
        record.value.sched.incoming_priority = event->in ? (unsigned)event->priority : 0;
        return fx_put_at(fx, &record, ts);
    }
    if (!event->in ||
        (event->has_priority && event->priority >= INT32_MIN && event->priority <= INT32_MAX))
        args[record.arg_count++] = (struct fxt_arg){
            .type = FXT_ARG_INT32,
            .name = fx_inline("incoming_weight"),
            .value.int32 = event->in ? (int32_t)event->priority : IDLE_WEIGHT,
        };
    if (!event->out)
        args[record.arg_count++] = (struct fxt_arg){ .type = FXT_ARG_INT32,
                                                     .name = fx_inline("outgoing_weight"),
                                                     .value.int32 = IDLE_WEIGHT };
    return fx_put_at(fx, &record, ts);
}

/* Which CPU it was told on is not kept.  */
static enum store_status put_wakeup(struct fx *fx, struct sched *sched, struct fx_wait *wait,
                                    int64_t ts)
{
    struct fxt_arg waker = { .type = FXT_ARG_KOID,
                             .name = fx_inline("waker"),
                             .value.uint64 = fx->export->threads[wait->waker].koid };
    struct fxt_record record = { .kind = FXT_RECORD_THREAD_WAKEUP,
                                 .args = &waker,
                                 .arg_count = wait->waker != 0 };

    wait->done = true;
    if (!wait->instant) /* a running thread may be woken, and runs on */
        sched->doing[wait->thread] = WAITING;
    fx->export->counts->events++;
    record.value.sched.incoming_tid = fx->export->threads[wait->thread].koid;
    return fx_put_at(fx, &record, ts);
}

/* ---- One moment ---- */

/* The switch that a wait began with; NULL: none says so.  */
static struct fx_switch_event *switch_of(struct sched *sched, const struct fx_wait *wait)
{
    for (size_t i = 0; i < sched->count; i++) {
        struct fx_switch_event *event = &sched->at[i];

        if (!event->matched && event->known && event->out == wait->thread &&
            event->state == wait->state)
            return event;
    }
    return NULL;
}

/* One that does not say who left, for a wait of that thread.  Where the CPU was idle, a thread did;
 * where another thread ran, a thread may have; and of a CPU's first switch nothing is known.  */
static struct fx_switch_event *open_switch(struct sched *sched, uint32_t thread)
{
    struct fx_switch_event *best = NULL;

    for (size_t i = 0; i < sched->count; i++) {
        struct fx_switch_event *event = &sched->at[i];

        if (!event->known && !event->matched && event->ran != thread &&
            (!best || event->wants > best->wants))
            best = event;
    }
    return best;
}

static void match(struct sched *sched)
{
    for (size_t i = 0; i < sched->wait_count; i++) {
        struct fx_wait *wait = &sched->waiting[i];
        struct fx_switch_event *event = wait->woken ? NULL : switch_of(sched, wait);

        wait->done = event != NULL;
        if (event)
            event->matched = true;
    }
    for (size_t i = 0; i < sched->count; i++) /* these end with somebody else */
        if (!sched->at[i].known)
            sched->at[i].out = 0;
    for (size_t i = 0; i < sched->wait_count; i++) {
        struct fx_wait *wait = &sched->waiting[i];
        struct fx_switch_event *event = wait->done || wait->woken
                                            ? NULL
                                            : open_switch(sched, wait->thread);

        if (!event)
            continue;
        event->matched = wait->done = true;
        event->out = wait->thread;
        event->state = wait->state;
    }
}

/* Whether a wakeup comes after the switches of its moment: after the one with which its thread
 * leaves, and where a running thread waits from then on.  Rows of one thread are in order.  */
static bool comes_late(const struct sched *sched, size_t at)
{
    const struct fx_wait *wakeup = &sched->waiting[at];

    for (size_t i = 0; i < at; i++)
        if (sched->waiting[i].thread == wakeup->thread && !sched->waiting[i].woken)
            return true;
    return sched->doing[wakeup->thread] == RUNNING && !wakeup->instant;
}

static enum store_status put_wakeups(struct fx *fx, struct sched *sched, int64_t ts, bool late)
{
    enum store_status status = STORE_OK;

    for (size_t i = 0; i < sched->wait_count && status == STORE_OK; i++) {
        struct fx_wait *wait = &sched->waiting[i];

        if (wait->done || (!late && comes_late(sched, i)))
            continue;
        if (wait->woken)
            status = put_wakeup(fx, sched, wait, ts);
        else
            fx->export->counts->left_out++;
    }
    return status;
}

static enum store_status put_moment(struct fx *fx, struct sched *sched, int64_t ts)
{
    enum store_status status;

    match(sched);
    if (!fx_keeps_time(fx, ts))
        return STORE_OK;
    status = put_wakeups(fx, sched, ts, false);
    for (size_t i = 0; i < sched->count && status == STORE_OK; i++)
        status = put_switch(fx, sched, &sched->at[i], ts);
    return status == STORE_OK ? put_wakeups(fx, sched, ts, true) : status;
}

/* ---- All of them ---- */

static const char switch_sql[] =
    "WITH s AS (SELECT id, ts, dur, cpu, utid, end_state, priority, lag(id) OVER w AS before, "
    "lead(utid) OVER w AS next_utid, lead(priority) OVER w AS next_priority "
    "FROM main.sched_slice WHERE id BETWEEN ?1 AND ?2 WINDOW w AS (PARTITION BY cpu ORDER BY id))\n"
    "SELECT ts, 0, cpu, 0, NULL, 0, utid, priority FROM s WHERE before IS NULL\n"
    "UNION ALL SELECT ts + dur, id, cpu, utid, end_state, 1, coalesce(next_utid, 0), next_priority "
    "FROM s WHERE dur >= 0 ORDER BY 1, 2";

static const char wait_sql[] =
    "SELECT ts, utid, state, coalesce(waker_utid, 0), dur FROM main.thread_wait "
    "WHERE utid BETWEEN ?1 AND ?2 ORDER BY ts, id";

/* Ids of the rows: idle CPUs are no thread's; of several captures those at the edges are nobody's.
 */
static enum store_status bind_bounds(struct fx *fx, struct sched *sched)
{
    struct export *export = fx->export;
    int64_t captures, first = 0, last = INT64_MAX, thread = 0, last_thread = -1;
    enum store_status status = export_number(export, "SELECT count(*) FROM main.capture", 0, 0, 0,
                                             &captures);

    for (uint32_t i = 1; i <= export->thread_count; i++)
        if (export->processes[export->threads[i].process].capture == fx->capture) {
            thread = thread ? thread : i;
            last_thread = i;
        }
    if (status == STORE_OK && captures > 1)
        status = export_number(export,
                               "SELECT min(id) FROM main.sched_slice WHERE utid BETWEEN ?1 AND ?2",
                               thread, last_thread, 0, &first);
    if (status == STORE_OK && captures > 1)
        status = export_number(export,
                               "SELECT max(id) FROM main.sched_slice WHERE utid BETWEEN ?1 AND ?2",
                               thread, last_thread, -1, &last);
    (void)sqlite3_bind_int64(sched->switches, 1, first);
    (void)sqlite3_bind_int64(sched->switches, 2, last);
    (void)sqlite3_bind_int64(sched->waits, 1, thread);
    (void)sqlite3_bind_int64(sched->waits, 2, last_thread);
    return status;
}

static enum store_status find_shared(struct fx *fx, struct sched *sched)
{
    const struct export *export = fx->export;
    struct base_pairs koids = { .count = 0 };
    uint32_t *owners = calloc(export->thread_count + 1, sizeof *owners);
    enum store_status status = STORE_OK;

    if (!owners || !sched->shared) {
        free(owners);
        return store_no_memory(export->error);
    }
    for (uint32_t i = 1; i <= export->thread_count && status == STORE_OK; i++) {
        bool is_new;
        uint32_t number;

        if (export->processes[export->threads[i].process].capture != fx->capture)
            continue;
        number = base_pairs_add(&koids, export->threads[i].koid, 0, &is_new);
        if (number == 0)
            status = store_no_memory(export->error);
        else if (is_new)
            owners[number - 1] = i;
        else
            sched->shared[i] = sched->shared[owners[number - 1]] = true;
    }
    base_pairs_release(&koids);
    free(owners);
    return status;
}

static enum store_status walk(struct fx *fx, struct sched *sched)
{
    enum store_status status = STORE_OK;

    sched->switches_over = !export_step(fx->export, sched->switches, &status);
    sched->waits_over = !export_step(fx->export, sched->waits, &status);
    while (status == STORE_OK && (!sched->switches_over || !sched->waits_over)) {
        int64_t next_switch = sqlite3_column_int64(sched->switches, 0);
        int64_t next_wait = sqlite3_column_int64(sched->waits, 0);
        int64_t ts = sched->switches_over || (!sched->waits_over && next_wait < next_switch)
                         ? next_wait
                         : next_switch;

        sched->count = sched->wait_count = 0;
        while (status == STORE_OK && !sched->switches_over &&
               sqlite3_column_int64(sched->switches, 0) == ts) {
            status = take_switch(fx, sched);
            sched->switches_over = !export_step(fx->export, sched->switches, &status);
        }
        while (status == STORE_OK && !sched->waits_over &&
               sqlite3_column_int64(sched->waits, 0) == ts) {
            status = take_wait(fx, sched);
            sched->waits_over = !export_step(fx->export, sched->waits, &status);
        }
        if (status == STORE_OK)
            status = put_moment(fx, sched, ts);
    }
    return status;
}

enum store_status fx_sched(struct fx *fx)
{
    struct export *export = fx->export;
    struct sched sched = { .count = 0 };
    enum store_status status = STORE_OK;

    sched.switches = export_prepare(export, switch_sql, &status);
    sched.waits = export_prepare(export, wait_sql, &status);
    sched.doing = calloc(export->thread_count + 1, sizeof *sched.doing);
    sched.shared = calloc(export->thread_count + 1, sizeof *sched.shared);
    if (status == STORE_OK && !sched.doing)
        status = store_no_memory(export->error);
    if (status == STORE_OK)
        status = find_shared(fx, &sched);
    if (status == STORE_OK)
        status = bind_bounds(fx, &sched);
    if (status == STORE_OK)
        status = walk(fx, &sched);
    (void)sqlite3_finalize(sched.switches);
    (void)sqlite3_finalize(sched.waits);
    sqlite3_free(sched.at);
    sqlite3_free(sched.waiting);
    free(sched.doing);
    free(sched.shared);
    return status;
}
