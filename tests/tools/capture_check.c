/* capture_check - what a test wants to know about a trace of sampler-capture.
 *
 *   capture_check TRACE [MODULE LOW HIGH]
 *
 * Prints NAME=NUMBER lines.  MODULE is the end of a module's name, LOW and HIGH are hexadecimal ELF
 * addresses.
 *
 *   samples      stacks
 *   tasks        distinct (process, thread) with samples
 *   processes    distinct processes with samples
 *   unnamed      samples whose process or thread has no name before them
 *   unmapped     samples whose innermost program counter is in no mapping written before them
 *   hits         samples whose innermost program counter is in MODULE, [LOW, HIGH)
 *   disorder     samples that are older than the one before them
 *   lost         sum of the last fxt.capture/lost of every CPU
 *   lost_events  provider events that tell of lost records
 *   damage       damage and notices that the reader counted, without those events  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/cli_trace.h"

#define MAX_CPUS 1024

struct range {
    uint64_t process, start, limit, vaddr;
    bool wanted; /* a mapping of MODULE */
};

struct module {
    uint64_t process;
    uint16_t id;
    bool wanted;
};

struct task {
    uint64_t process, thread;
};

static struct {
    const char *module;
    uint64_t low, high;
    struct range *ranges;
    struct module *modules;
    struct task *tasks; /* sampled */
    struct task *names; /* process and 0, or 0 and thread: kernel objects */
    size_t range_count, module_count, task_count, name_count;
    uint64_t samples, processes, unnamed, unmapped, hits, disorder, lost_events;
    uint64_t lost[MAX_CPUS];
    int64_t last_ns;
} state;

/* items with room for one more of size bytes; blocks grow by doubling.  */
static void *append(void *items, size_t *count, size_t size)
{
    if ((*count & (*count - 1)) == 0)
        items = realloc(items, (*count ? 2 * *count : 1) * size);
    if (!items)
        exit(CLI_ENVIRONMENT);
    memset((char *)items + *count * size, 0, size);
    ++*count;
    return items;
}

static bool find_task(const struct task *tasks, size_t count, uint64_t process, uint64_t thread)
{
    for (size_t i = count; i-- > 0;)
        if (tasks[i].process == process && tasks[i].thread == thread)
            return true;
    return false;
}

static void visit_object(const struct fxt_record *record)
{
    struct task *name;

    state.names = append(state.names, &state.name_count, sizeof *state.names);
    name = &state.names[state.name_count - 1];
    if (record->value.object.type == FXT_OBJECT_THREAD)
        name->thread = record->value.object.koid;
    else
        name->process = record->value.object.koid;
}

static void visit_module(const struct fxt_record *record)
{
    size_t length = state.module ? strlen(state.module) : 0;
    struct module *module;

    state.modules = append(state.modules, &state.module_count, sizeof *state.modules);
    module = &state.modules[state.module_count - 1];
    module->process = record->thread.process;
    module->id = record->value.module.id;
    if (length > 0 && record->name.length >= length)
        module->wanted = memcmp(record->name.bytes + record->name.length - length, state.module,
                                length) == 0;
}

static void visit_mapping(const struct fxt_record *record)
{
    struct range *range;

    state.ranges = append(state.ranges, &state.range_count, sizeof *state.ranges);
    range = &state.ranges[state.range_count - 1];
    range->process = record->thread.process;
    range->start = record->value.mapping.start;
    range->limit = range->start + record->value.mapping.length;
    range->vaddr = record->value.mapping.vaddr;
    for (size_t i = 0; i < state.module_count; i++)
        if (state.modules[i].process == range->process &&
            state.modules[i].id == record->value.mapping.module_id)
            range->wanted = state.modules[i].wanted;
}

/* The newest mapping wins.  */
static const struct range *find_range(uint64_t process, uint64_t pc)
{
    for (size_t i = state.range_count; i-- > 0;) {
        const struct range *range = &state.ranges[i];
        if (range->process == process && range->start <= pc && pc < range->limit)
            return range;
    }
    return NULL;
}

static void count_task(uint64_t process, uint64_t thread)
{
    bool new_process = true;

    if (!find_task(state.names, state.name_count, process, 0) ||
        !find_task(state.names, state.name_count, 0, thread))
        state.unnamed++;
    if (find_task(state.tasks, state.task_count, process, thread))
        return;
    for (size_t i = 0; i < state.task_count; i++)
        new_process = new_process && state.tasks[i].process != process;
    state.processes += new_process;
    state.tasks = append(state.tasks, &state.task_count, sizeof *state.tasks);
    state.tasks[state.task_count - 1] = (struct task){ process, thread };
}

static void visit_sample(const struct fxt_record *record, uint64_t pc)
{
    const struct range *range = find_range(record->thread.process, pc);
    uint64_t vaddr;

    state.samples++;
    state.disorder += record->ts_ns < state.last_ns;
    state.last_ns = record->ts_ns;
    count_task(record->thread.process, record->thread.thread);
    if (!range) {
        state.unmapped++;
        return;
    }
    vaddr = pc - range->start + range->vaddr;
    state.hits += range->wanted && vaddr >= state.low && vaddr < state.high;
}

static void visit_event(const struct fxt_record *record)
{
    static const char *const causes[] = { "ring",       "throttled", "region_full",
                                          "unreadable", "exited",    "sideband" };
    uint64_t cpu = record->value.event.id, sum = 0;

    /* Other counters tell of other things.  */
    if (record->value.event.type != FXT_EVENT_COUNTER || cpu >= MAX_CPUS ||
        record->name.length != 4 || memcmp(record->name.bytes, "lost", 4) != 0)
        return;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const struct fxt_arg *arg = fxt_record_arg(record, causes[i]);
        sum += arg ? arg->value.uint64 : 0;
    }
    state.lost[cpu] = sum;
}

static void visit(const struct fxt_record *record)
{
    struct fxt_words pcs;

    switch (record->kind) {
    case FXT_RECORD_KERNEL_OBJECT:
        visit_object(record);
        break;
    case FXT_RECORD_MODULE:
        visit_module(record);
        break;
    case FXT_RECORD_MAPPING:
        visit_mapping(record);
        break;
    case FXT_RECORD_EVENT:
        visit_event(record);
        break;
    case FXT_RECORD_PROVIDER_EVENT:
        state.lost_events++;
        break;
    default:
        if (fxt_record_sampler_stack(record, &pcs))
            visit_sample(record, fxt_word(pcs, 0));
        break;
    }
}

static void print(const char *name, uint64_t number)
{
    printf("%s=%llu\n", name, (unsigned long long)number);
}

static void print_all(uint64_t damage)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < MAX_CPUS; i++)
        lost += state.lost[i];
    print("samples", state.samples);
    print("tasks", state.task_count);
    print("processes", state.processes);
    print("unnamed", state.unnamed);
    print("unmapped", state.unmapped);
    print("hits", state.hits);
    print("disorder", state.disorder);
    print("lost", lost);
    print("lost_events", state.lost_events);
    print("damage", damage - state.lost_events);
}

int main(int argc, char **argv)
{
    struct cli_trace trace;
    const struct fxt_record *record;
    enum cli_exit status;

    if (argc != 2 && argc != 5)
        return CLI_USAGE;
    if (argc == 5) {
        state.module = argv[2];
        state.low = strtoull(argv[3], NULL, 16);
        state.high = strtoull(argv[4], NULL, 16);
    }
    status = cli_trace_open(&trace, argv[1], NULL);
    if (status != CLI_OK)
        return (int)status;
    while (cli_trace_next(&trace, &record))
        visit(record);
    print_all(fxt_damage_total(fxt_reader_damage(trace.reader), true));
    free(state.ranges);
    free(state.modules);
    free(state.tasks);
    free(state.names);
    return (int)cli_trace_close(&trace, false);
}
