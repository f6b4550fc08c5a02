/* --kind sched: CPUs that run threads, threads that wait and are woken.  */
#include <stdio.h>
#include <stdlib.h>

#include "bench/generate/generate.h"

#define IDLE UINT32_MAX /* as a thread: the CPU runs none */

/* Thread states of the format (section 2.11): a thread that is switched out ready is running.  */
enum { OUT_READY = 1, OUT_BLOCKED = 3 };

enum state { RUNNING, READY, BLOCKED, STATES };
static const char *const state_names[STATES] = { "running", "ready", "blocked" };

static struct {
    enum state *of;                                   /* [thread] */
    uint64_t *since;                                  /* [thread]: ticks */
    uint64_t *lasted;                                 /* [thread][state]: ticks */
    uint32_t *running;                                /* [cpu]: thread or IDLE */
    uint64_t now;                                     /* ticks of the last record */
    uint16_t incoming_weight, outgoing_weight, waker; /* string indexes */
} sched;

static void enter(uint32_t thread, enum state state, uint64_t ticks)
{
    sched.lasted[thread * STATES + sched.of[thread]] += ticks - sched.since[thread];
    sched.since[thread] = ticks;
    sched.of[thread] = state;
}

/* Some thread in that state, or IDLE.  */
static uint32_t find(enum state state)
{
    uint32_t total = thread_total();
    uint32_t first = below(total);

    for (uint32_t i = 0; i < total; i++) {
        uint32_t thread = first + i < total ? first + i : first + i - total;
        if (sched.of[thread] == state)
            return thread;
    }
    return IDLE;
}

static uint64_t koid_of(uint32_t thread)
{
    return thread == IDLE ? 0 : tid_of(thread / wanted.threads, thread % wanted.threads);
}

static struct fxt_arg weight(uint16_t name, uint32_t thread)
{
    return (struct fxt_arg){ .type = FXT_ARG_INT32,
                             .name = { .index = name },
                             .value.int32 = thread == IDLE ? INT32_MIN : 40 };
}

static void put_wakeup(uint64_t ticks, uint32_t cpu, uint32_t thread)
{
    struct fxt_arg waker = { .type = FXT_ARG_KOID,
                             .name = { .index = sched.waker },
                             .value.uint64 = koid_of(sched.running[cpu]) };

    enter(thread, READY, ticks);
    put((struct fxt_record){
        .kind = FXT_RECORD_THREAD_WAKEUP,
        .ticks = ticks,
        .args = &waker,
        .arg_count = sched.running[cpu] == IDLE ? 0 : 1,
        .value.sched = { .cpu = cpu, .incoming_tid = koid_of(thread) },
    });
}

static void put_switch(uint64_t ticks, uint32_t cpu, uint32_t incoming, bool blocks)
{
    uint32_t outgoing = sched.running[cpu];
    struct fxt_arg args[] = { weight(sched.incoming_weight, incoming),
                              weight(sched.outgoing_weight, outgoing) };

    if (outgoing != IDLE)
        enter(outgoing, blocks ? BLOCKED : READY, ticks);
    if (incoming != IDLE)
        enter(incoming, RUNNING, ticks);
    sched.running[cpu] = incoming;
    put((struct fxt_record){
        .kind = FXT_RECORD_CONTEXT_SWITCH,
        .ticks = ticks,
        .args = args,
        .arg_count = 2,
        .value.sched = { .cpu = cpu,
                         .outgoing_state = outgoing != IDLE && blocks ? OUT_BLOCKED : OUT_READY,
                         .outgoing_tid = koid_of(outgoing),
                         .incoming_tid = koid_of(incoming) },
    });
}

/* All threads are blocked at first, all CPUs idle.  */
void start_sched(uint64_t ticks)
{
    uint32_t total = thread_total();

    sched.of = cli_allocate(total, sizeof *sched.of);
    sched.since = cli_allocate(total, sizeof *sched.since);
    sched.lasted = cli_allocate((size_t)total * STATES, sizeof *sched.lasted);
    sched.running = cli_allocate(wanted.cpus, sizeof *sched.running);
    sched.incoming_weight = put_string("incoming_weight");
    sched.outgoing_weight = put_string("outgoing_weight");
    sched.waker = put_string("waker");
    for (uint32_t i = 0; i < total; i++) {
        sched.of[i] = BLOCKED;
        sched.since[i] = ticks;
    }
    for (uint32_t i = 0; i < wanted.cpus; i++)
        sched.running[i] = IDLE;
}

/* Wake a thread, or switch; a thread is always blocked, ready or running, so something can be done
 * on some CPU.  */
void put_sched(uint64_t ticks)
{
    uint32_t cpu = below(wanted.cpus);
    uint32_t blocked = below(3) ? IDLE : find(BLOCKED);
    uint32_t ready;

    sched.now = ticks;
    if (blocked != IDLE) {
        put_wakeup(ticks, cpu, blocked);
        return;
    }
    ready = find(READY);
    if (ready == IDLE && sched.running[cpu] == IDLE)
        blocked = find(BLOCKED);
    if (blocked != IDLE) {
        put_wakeup(ticks, cpu, blocked);
        return;
    }
    while (ready == IDLE && sched.running[cpu] == IDLE)
        cpu = cpu + 1 < wanted.cpus ? cpu + 1 : 0;
    put_switch(ticks, cpu, ready, ready == IDLE || below(2));
}

void make_sched(void)
{
    uint64_t ticks = FIRST_NS;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    start_sched(ticks);
    for (uint64_t done = 0; !is_done(done); done++) {
        ticks += 1 + below(20000);
        put_sched(ticks);
    }
}

/* Up to the last record.  */
void truth_sched(void)
{
    for (uint32_t thread = 0; sched.of && thread < thread_total(); thread++) {
        enter(thread, sched.of[thread],
              sched.now > sched.since[thread] ? sched.now : sched.since[thread]);
        for (unsigned state = 0; state < STATES; state++) {
            char text[48];
            (void)snprintf(text, sizeof text, "thread-%u;%s", thread % wanted.threads,
                           state_names[state]);
            if (sched.lasted[thread * STATES + state])
                truth_text(thread / wanted.threads, text, sched.lasted[thread * STATES + state]);
        }
    }
    free(sched.of);
    free(sched.since);
    free(sched.lasted);
    free(sched.running);
}
