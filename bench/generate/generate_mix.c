/* --mix: events, scheduling, stacks, heap and counters in one trace, in the order of time.  */
#include "bench/generate/generate.h"

static void (*const steps[SUBJECTS])(uint64_t ticks) = {
    [MIX_EVENTS] = put_event, [MIX_SCHED] = put_sched,      [MIX_STACKS] = put_sample,
    [MIX_HEAP] = put_heap,    [MIX_COUNTERS] = put_counter,
};

static enum subject choose_subject(uint32_t total)
{
    uint32_t chance = below(total);
    enum subject subject = 0;

    while (chance >= wanted.mix[subject])
        chance -= wanted.mix[subject++];
    return subject;
}

static void start(uint64_t ticks)
{
    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    start_sched(ticks);
    for (uint32_t process = 0; wanted.mix[MIX_STACKS] && process < wanted.processes; process++)
        for (uint32_t module = 0; module < MODULES; module++)
            put_module(process, module, ticks);
    if (wanted.mix[MIX_HEAP])
        start_heap(ticks);
    if (wanted.mix[MIX_COUNTERS])
        start_counters();
}

void make_mix(void)
{
    uint64_t ticks = FIRST_NS;
    uint32_t total = 0;

    for (unsigned i = 0; i < SUBJECTS; i++)
        total += wanted.mix[i];
    start(ticks);
    for (uint64_t done = 0; !is_done(done); done++) {
        ticks += 1 + below(1000);
        steps[choose_subject(total)](ticks);
    }
}

void truth_mix(void)
{
    truth_begin("events");
    truth_events();
    truth_begin("sched");
    truth_sched();
    truth_begin("stacks");
    truth_samples();
    truth_begin("heap");
    truth_heap();
    truth_begin("counters");
    truth_counters();
}
