/* dwarf_ahead.c - units decoded by several threads ahead of the answers.
 *
 * One task is one unit with all its addresses of a batch.  Tasks are claimed in the order in which
 * answers need them, by workers and, where it would have to wait, by who answers; whoever claims
 * one decodes all of it.  Damage and budgets are settled in that order too, so that nothing depends
 * on the number of threads. */
#include "libsymbolize/address_order.h"
#include "libsymbolize/symbolize_internal.h"
#include "libsymbolize/threads.h"
#include <stdlib.h>

#include "base/grow.h"

enum {
    WAITING_TASKS_MAX = 1024,
    OPEN_AHEAD = 64, /* units whose .dwo files are open before their turn */
};

/* Decoded units that answers have not reached; bounds the memory of a batch.  */
static const size_t WAITING_BYTES_MAX = (size_t)16 << 20;

/* Neighbouring addresses of one unit.  */
struct run {
    size_t first, count;
    uint32_t next; /* run of the unit, or SYM_NO_VALUE */
};

enum state { TASK_TO_DO, TASK_BUSY, TASK_DONE, TASK_TAKEN };

struct task {
    struct sym_unit *unit;
    uint32_t first_run, last_run; /* SYM_NO_VALUE: all functions of the unit */
    enum state state;
    enum sym_status status;
    bool damaged;
    char *damage; /* owned; NULL: none, or no memory for it */
};

struct sym_ahead {
    struct sym_dwarf *dwarf;
    struct base_account *account; /* of who answers, and so of all */
    const struct sym_order *order;
    struct run *runs;
    size_t run_count, run_capacity;
    struct task *tasks;
    size_t task_count, task_capacity;
    struct sym_decoder decoder; /* of who answers, while it helps */

    pthread_mutex_t lock; /* of states, and of what follows */
    pthread_cond_t changed;
    size_t next;          /* the first task to do */
    size_t opened;        /* tasks before this one may be done: their files are open */
    size_t waiting_count; /* done or busy, not taken */
    size_t waiting_bytes;
    bool stop;
    pthread_t threads[SYM_JOBS_MAX];
    unsigned thread_count;
};

/* ---- Tasks ---- */

static enum sym_status add_task(struct sym_ahead *ahead, struct sym_unit *unit)
{
    if (!base_make_room(&ahead->tasks, &ahead->task_capacity, ahead->task_count + 1,
                        sizeof *ahead->tasks))
        return SYM_NO_MEMORY;
    unit->task = (uint32_t)ahead->task_count;
    ahead->tasks[ahead->task_count++] =
        (struct task){ .unit = unit, .first_run = SYM_NO_VALUE, .last_run = SYM_NO_VALUE };
    sym_dwarf_forget(ahead->dwarf, unit); /* or it could be released while it is worked on */
    return SYM_OK;
}

static enum sym_status add_run(struct sym_ahead *ahead, struct sym_unit *unit, struct run run)
{
    if (!base_make_room(&ahead->runs, &ahead->run_capacity, ahead->run_count + 1,
                        sizeof *ahead->runs))
        return SYM_NO_MEMORY;
    uint32_t number = (uint32_t)ahead->run_count;
    ahead->runs[ahead->run_count++] = run;
    if (unit->task == SYM_NO_VALUE && add_task(ahead, unit))
        return SYM_NO_MEMORY;
    struct task *task = &ahead->tasks[unit->task];
    if (task->last_run == SYM_NO_VALUE)
        task->first_run = number;
    else
        ahead->runs[task->last_run].next = number;
    task->last_run = number;
    return SYM_OK;
}

/* A task for each unit that an address needs.  */
static enum sym_status plan_addresses(struct sym_ahead *ahead)
{
    const struct sym_segments *segments = &ahead->dwarf->segments;
    enum sym_status status = SYM_OK;
    size_t count = ahead->order->count, next;
    ptrdiff_t at = -1;

    for (size_t i = 0; i < count && !status; i = next) {
        at = sym_segments_search(segments->items, segments->count, sym_order_vaddr(ahead->order, i),
                                 at);
        uint64_t limit = (size_t)(at + 1) < segments->count ? segments->items[at + 1].start
                                                            : UINT64_MAX;
        for (next = i + 1; next < count && sym_order_vaddr(ahead->order, next) < limit;)
            next++;
        if (at < 0 || segments->items[at].value == SYM_NO_VALUE)
            continue;
        status = add_run(ahead, &ahead->dwarf->units[segments->items[at].value],
                         (struct run){ .first = i, .count = next - i, .next = SYM_NO_VALUE });
    }
    return status;
}

static enum sym_status plan_all(struct sym_ahead *ahead)
{
    const struct sym_segments *segments = &ahead->dwarf->segments;
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < segments->count && !status; i++) {
        uint32_t number = segments->items[i].value;
        if (number != SYM_NO_VALUE && ahead->dwarf->units[number].task == SYM_NO_VALUE)
            status = add_task(ahead, &ahead->dwarf->units[number]);
    }
    return status;
}

/* ---- Working ---- */

static enum sym_status decode_run(const struct sym_ahead *ahead, struct sym_decoder *decoder,
                                  struct sym_unit *unit, const struct run *run)
{
    const struct sym_segments *segments = &unit->scopes.segments;
    enum sym_status status = SYM_OK;
    ptrdiff_t at = -1, last = -1;

    for (size_t i = run->first; i < run->first + run->count && !status; i++) {
        at = sym_segments_search(segments->items, segments->count, sym_order_vaddr(ahead->order, i),
                                 at);
        if (at != last && at >= 0 && segments->items[at].value != SYM_NO_VALUE)
            status = sym_function_decode(decoder, unit, segments->items[at].value);
        last = at;
    }
    return status;
}

static void work(const struct sym_ahead *ahead, struct sym_decoder *decoder, struct task *task)
{
    uint32_t number = task->first_run;

    task->status = sym_unit_decode(decoder, task->unit);
    if (!task->status && number == SYM_NO_VALUE)
        task->status = sym_functions_decode(decoder, task->unit);
    while (!task->status && number != SYM_NO_VALUE) {
        task->status = decode_run(ahead, decoder, task->unit, &ahead->runs[number]);
        number = ahead->runs[number].next;
    }
    task->damaged = decoder->damaged;
    task->damage = decoder->damaged ? sym_format("%s", decoder->damage) : NULL;
    decoder->damaged = false;
}

static bool may_claim(const struct sym_ahead *ahead)
{
    return ahead->next < ahead->opened && ahead->waiting_count < WAITING_TASKS_MAX &&
           ahead->waiting_bytes < WAITING_BYTES_MAX;
}

/* Does the first task to do.  The lock is held before and behind.  */
static void do_next(struct sym_ahead *ahead, struct sym_decoder *decoder)
{
    struct task *task = &ahead->tasks[ahead->next++];

    task->state = TASK_BUSY;
    ahead->waiting_count++;
    sym_unit_charge(decoder, task->unit);
    (void)pthread_mutex_unlock(&ahead->lock);
    work(ahead, decoder, task);
    (void)pthread_mutex_lock(&ahead->lock);
    task->state = TASK_DONE;
    ahead->waiting_bytes += sym_unit_bytes(task->unit);
    (void)pthread_cond_broadcast(&ahead->changed);
}

static void *run_worker(void *context)
{
    struct sym_ahead *ahead = context;
    struct sym_decoder decoder = { .dwarf = ahead->dwarf };

    (void)base_account_enter(ahead->account);
    (void)pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->next < ahead->task_count) {
        if (may_claim(ahead))
            do_next(ahead, &decoder);
        else
            (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    (void)pthread_mutex_unlock(&ahead->lock);
    sym_decoder_release(&decoder);
    return NULL;
}

/* ---- For who answers ---- */

/* Opens the split units of some tasks from number on: looking for files is not for workers.  */
static enum sym_status open_splits(struct sym_ahead *ahead, size_t number)
{
    size_t opened = ahead->opened, limit = number + OPEN_AHEAD;
    enum sym_status status = SYM_OK;

    if (limit > ahead->task_count)
        limit = ahead->task_count;
    while (opened < limit && !status)
        status = sym_unit_open_split(ahead->dwarf, ahead->tasks[opened++].unit);
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->opened = opened;
    (void)pthread_cond_broadcast(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
    return status;
}

enum sym_status sym_ahead_start(struct sym_dwarf *dwarf, const struct sym_order *order,
                                unsigned jobs)
{
    unsigned workers = sym_job_count(jobs) - 1;

    if (workers == 0 || dwarf->unit_count < 2 || dwarf->ahead)
        return SYM_OK;
    struct sym_ahead *ahead = base_calloc(1, sizeof *ahead);
    if (!ahead)
        return SYM_NO_MEMORY;
    *ahead = (struct sym_ahead){
        .dwarf = dwarf,
        .account = base_account_current(),
        .order = order,
        .decoder = { .dwarf = dwarf },
    };
    (void)pthread_mutex_init(&ahead->lock, NULL);
    (void)pthread_cond_init(&ahead->changed, NULL);
    dwarf->ahead = ahead;
    enum sym_status status = order ? plan_addresses(ahead) : plan_all(ahead);
    if (workers >= ahead->task_count)
        workers = ahead->task_count ? (unsigned)ahead->task_count - 1 : 0;
    if (!status && workers)
        status = open_splits(ahead, 0);
    if (status || workers == 0) {
        sym_ahead_end(dwarf);
        return status;
    }
    ahead->thread_count = sym_threads_start(ahead->threads, workers, run_worker, ahead);
    return SYM_OK;
}

enum sym_status sym_ahead_take(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_ahead *ahead = dwarf->ahead;
    struct task *task = &ahead->tasks[unit->task];
    enum sym_status status = open_splits(ahead, unit->task);

    if (status)
        return status;
    (void)pthread_mutex_lock(&ahead->lock);
    while (task->state != TASK_DONE) {
        /* Its own turn comes whatever waits; others only while there is room.  */
        if (task->state == TASK_TO_DO || may_claim(ahead))
            do_next(ahead, &ahead->decoder);
        else
            (void)pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    task->state = TASK_TAKEN;
    ahead->waiting_count--;
    size_t bytes = sym_unit_bytes(unit);
    ahead->waiting_bytes -= bytes < ahead->waiting_bytes ? bytes : ahead->waiting_bytes;
    (void)pthread_cond_broadcast(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
    unit->task = SYM_NO_VALUE;
    if (task->damaged)
        sym_decoder_damage(&dwarf->decoder, "%s", task->damage ? task->damage : "damaged unit");
    return task->status;
}

void sym_ahead_end(struct sym_dwarf *dwarf)
{
    struct sym_ahead *ahead = dwarf->ahead;

    if (!ahead)
        return;
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    (void)pthread_cond_broadcast(&ahead->changed);
    (void)pthread_mutex_unlock(&ahead->lock);
    sym_threads_join(ahead->threads, ahead->thread_count);
    dwarf->ahead = NULL;
    for (size_t i = 0; i < ahead->task_count; i++) {
        struct task *task = &ahead->tasks[i];
        if (task->state != TASK_TAKEN) {
            task->unit->task = SYM_NO_VALUE;
            sym_dwarf_keep(dwarf, task->unit);
        }
        base_free(task->damage);
    }
    sym_decoder_release(&ahead->decoder);
    (void)pthread_cond_destroy(&ahead->changed);
    (void)pthread_mutex_destroy(&ahead->lock);
    base_free(ahead->tasks);
    base_free(ahead->runs);
    base_free(ahead);
}
