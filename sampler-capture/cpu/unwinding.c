#include "sampler-capture/cpu/unwinding.h"

#include "base/grow.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/processes.h"

#include <endian.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE UNWIND_X86_64
#elif defined __aarch64__
#define MACHINE UNWIND_ARM64
#elif defined __riscv && __riscv_xlen == 64
#define MACHINE UNWIND_RISCV64
#else
#define MACHINE UNWIND_NO_MACHINE
#endif

/* A side-band record that waits for its time.  */
struct told {
    uint64_t time_ns;
    uint64_t number; /* in the order of arrival */
    uint8_t *bytes;  /* owned */
    size_t size;
};

/* What is known of a module.  */
struct unwound_module {
    const struct module *module; /* NULL: not met yet */
    struct unwind_table *table;  /* owned; NULL: none could be had */
    uint64_t cuts;
};

struct unwinding {
    struct unwind_walker *walker;
    struct process_table processes;
    struct told *told; /* owned; sorted when it is applied */
    size_t told_count, told_capacity;
    uint64_t told_number;
    bool is_sorted;
    struct unwound_module *modules; /* owned; by serial number */
    size_t module_capacity;
    struct unwound_module nowhere; /* cuts in code of no file */
    struct unwinding_counts counts;
    /* Of the sample that is unwound.  */
    const struct process *process;
    bool no_memory;
    uint64_t addresses[REGION_FRAMES_LIMIT];
    uint8_t found[REGION_FRAMES_LIMIT];
    uint64_t pointers[REGION_FRAMES_LIMIT];
};

bool unwinding_is_possible(void)
{
    return MACHINE != UNWIND_NO_MACHINE;
}

struct unwinding *unwinding_open(void)
{
    struct unwinding *unwinding = calloc(1, sizeof *unwinding);

    if (unwinding && unwinding_is_possible() &&
        unwind_walker_open(&unwinding->walker, NULL) == UNWIND_OK)
        return unwinding;
    free(unwinding);
    return NULL;
}

void unwinding_close(struct unwinding *unwinding)
{
    if (!unwinding)
        return;
    for (size_t i = 0; i < unwinding->module_capacity; i++)
        unwind_table_close(unwinding->modules[i].table);
    for (size_t i = 0; i < unwinding->told_count; i++)
        free(unwinding->told[i].bytes);
    free(unwinding->told);
    free(unwinding->modules);
    processes_release(&unwinding->processes);
    unwind_walker_close(unwinding->walker);
    free(unwinding);
}

/* ---- Side-band records ---- */

bool unwinding_tell(struct unwinding *unwinding, const uint8_t *bytes, size_t size,
                    uint64_t time_ns)
{
    struct told *told = base_grow(unwinding->told, &unwinding->told_capacity,
                                  unwinding->told_count + 1, sizeof *told);
    uint8_t *copy = malloc(size);

    if (told)
        unwinding->told = told;
    if (!told || !copy) {
        free(copy);
        return false;
    }
    memcpy(copy, bytes, size);
    told[unwinding->told_count++] = (struct told){
        .time_ns = time_ns, .number = unwinding->told_number++, .bytes = copy, .size = size
    };
    unwinding->is_sorted = false;
    return true;
}

static int compare_told(const void *left, const void *right)
{
    const struct told *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool apply(struct unwinding *unwinding, const struct told *told)
{
    struct perf_record record;

    return !perf_record_parse(told->bytes, told->size, &record) ||
           processes_apply(&unwinding->processes, &record);
}

bool unwinding_advance(struct unwinding *unwinding, uint64_t time_ns)
{
    size_t applied = 0;
    bool fine = true;

    if (!unwinding->is_sorted && unwinding->told_count > 1)
        qsort(unwinding->told, unwinding->told_count, sizeof *unwinding->told, compare_told);
    unwinding->is_sorted = true;
    while (applied < unwinding->told_count && unwinding->told[applied].time_ns <= time_ns) {
        fine &= apply(unwinding, &unwinding->told[applied]);
        free(unwinding->told[applied++].bytes);
    }
    unwinding->told_count -= applied;
    if (applied > 0)
        memmove(unwinding->told, unwinding->told + applied,
                unwinding->told_count * sizeof *unwinding->told);
    return fine;
}

/* ---- Modules ---- */

/* The page of the vDSO is the same in every process: this one's is read.  */
static void open_table(struct unwound_module *known, const struct mapping *mapping, uint32_t pid)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };

    object.bytes = modules_memory(known->module, mapping->limit - mapping->start, &object.size);
    if (!object.bytes)
        object.fd = modules_open(known->module, pid, mapping->start, mapping->limit);
    if (object.bytes || object.fd >= 0)
        (void)unwind_table_open(&object, &known->table, NULL);
    if (object.fd >= 0)
        (void)close(object.fd);
}

/* What is known of a mapping's module, which is opened when it is first met.  NULL: no memory.  */
static struct unwound_module *module_of(struct unwinding *unwinding, const struct mapping *mapping)
{
    uint32_t serial = mapping->module->serial;
    struct unwound_module *known;

    if (serial >= unwinding->module_capacity) {
        size_t capacity = unwinding->module_capacity;

        known = base_grow(unwinding->modules, &capacity, serial + 1, sizeof *known);
        if (!known)
            return NULL;
        memset(known + unwinding->module_capacity, 0,
               (capacity - unwinding->module_capacity) * sizeof *known);
        unwinding->modules = known;
        unwinding->module_capacity = capacity;
    }
    known = &unwinding->modules[serial];
    if (!known->module) {
        known->module = mapping->module;
        open_table(known, mapping, unwinding->process->pid);
    }
    return known;
}

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    struct unwinding *unwinding = context;
    const struct mapping *mapping = address_map_find(&unwinding->process->map, address);
    struct unwound_module *known;

    if (!mapping)
        return;
    out->start = mapping->start;
    out->limit = mapping->limit;
    out->kind = UNWIND_PLACE_OTHER;
    if (!mapping->module)
        return;
    known = module_of(unwinding, mapping);
    unwinding->no_memory |= !known;
    out->kind = UNWIND_PLACE_OBJECT;
    out->table = known ? known->table : NULL;
    out->bias = mapping->start - mapping->vaddr;
}

static bool keeps_frame_pointers(struct unwinding *unwinding, uint64_t address)
{
    struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };

    find(unwinding, address, &place);
    return place.kind == UNWIND_PLACE_OTHER ||
           (place.table && unwind_table_frame_pointers(place.table) == UNWIND_FRAME_POINTERS_YES);
}

/* ---- A sample ---- */

/* Where the user part of a callchain is: [*start, *limit) of its words.  */
static void find_user_part(const struct perf_record *sample, size_t *start, size_t *limit)
{
    size_t count = sample->value.sample.count;

    *start = *limit = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t word;

        memcpy(&word, sample->value.sample.words + 8 * i, sizeof word);
        if (word == PERF_CONTEXT_USER) {
            *start = i + 1;
        } else if (word >= PERF_CONTEXT_MAX && *start <= i) {
            *limit = i;
            return;
        }
    }
}

static uint64_t chain_word(const struct perf_record *sample, size_t i)
{
    uint64_t word;

    memcpy(&word, sample->value.sample.words + 8 * i, sizeof word);
    return word;
}

/* Append what the kernel's walk found behind the last frame that it shares with ours.  */
static void append_chain(struct unwinding *unwinding, const struct perf_record *sample,
                         struct unwind_stack *stack)
{
    size_t start, limit, at, before = stack->count;
    uint64_t last = stack->addresses[stack->count - 1];

    find_user_part(sample, &start, &limit);
    for (at = start; at < limit && chain_word(sample, at) != last; at++)
        ;
    if (at >= limit || !keeps_frame_pointers(unwinding, unwind_lookup_address(stack, before - 1)))
        return;
    for (at++; at < limit && stack->count < stack->capacity; at++) {
        uint64_t address = chain_word(sample, at);
        struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };

        if (address == 0)
            break;
        find(unwinding, address - 1, &place);
        if (place.kind == UNWIND_PLACE_NOTHING) {
            stack->end = UNWIND_END_NOT_CODE;
            stack->end_address = stack->addresses[stack->count - 1];
            return;
        }
        stack->found[stack->count] = UNWIND_FOUND_FRAME_POINTER;
        stack->addresses[stack->count++] = address;
    }
    if (stack->count > before && stack->count < stack->capacity && limit - start < 127)
        stack->end = UNWIND_END_COMPLETE;
}

/* Whether what is missing is on another stack: that which a signal handler on a stack of its own
 * interrupted.  The kernel copies only the one that runs, and stacks are rarely larger.  */
static bool is_elsewhere(const struct unwind_stack *stack)
{
    const uint64_t largest = UINT64_C(64) << 20;

    return stack->missing - stack->pointers[0] > largest;
}

static void count_end(struct unwinding *unwinding, const struct unwind_stack *stack, bool continued)
{
    const struct mapping *mapping;

    unwinding->counts.stacks++;
    if (stack->end == UNWIND_END_COMPLETE) {
        unwinding->counts.whole += !continued;
        unwinding->counts.continued += continued;
        return;
    }
    unwinding->counts.ended[stack->end]++;
    if (stack->end == UNWIND_END_NO_STACK && is_elsewhere(stack))
        unwinding->counts.other_stack++;
    if (stack->end == UNWIND_END_NO_STACK || stack->end == UNWIND_END_NO_ROOM)
        return; /* no module's fault */
    mapping = address_map_find(&unwinding->process->map, stack->end_address);
    if (mapping && mapping->module && mapping->module->serial < unwinding->module_capacity)
        unwinding->modules[mapping->module->serial].cuts++;
    else
        unwinding->nowhere.cuts++;
}

/* Callers by tables.  False: no memory.  */
static bool walk(struct unwinding *unwinding, const struct perf_record *sample,
                 const struct unwind_registers *registers, struct unwind_stack *stack)
{
    const struct unwind_piece piece = { .address = unwind_stack_pointer(registers),
                                        .bytes = sample->value.sample.stack,
                                        .size = sample->value.sample.stack_size };
    const struct unwind_memory memory = { &piece, 1 };
    const struct unwind_map map = { .find = find, .context = unwinding };
    bool ended_early;

    unwinding->no_memory = false;
    if (unwind_walk(unwinding->walker, registers, &memory, &map, stack) != UNWIND_OK ||
        unwinding->no_memory)
        return false;
    ended_early = stack->end == UNWIND_END_NO_STACK;
    if (ended_early)
        append_chain(unwinding, sample, stack);
    count_end(unwinding, stack, ended_early);
    return true;
}

static void store(uint8_t *frames, size_t i, uint64_t address)
{
    address = htole64(address);
    memcpy(frames + 8 * i, &address, sizeof address);
}

static bool read_registers(const struct perf_record *sample, struct unwind_registers *out)
{
    uint64_t words[64];
    size_t count = (size_t)__builtin_popcountll(PERF_USER_REGISTERS);

    if (sample->value.sample.abi != PERF_SAMPLE_REGS_ABI_64)
        return false;
    memcpy(words, sample->value.sample.registers, count * sizeof *words);
    return unwind_registers_from_perf(MACHINE, PERF_USER_REGISTERS, words, count, out) == UNWIND_OK;
}

/* How many of the words of a callchain come before the program's.  */
static size_t kernel_part(const struct perf_record *sample)
{
    size_t start, limit;

    find_user_part(sample, &start, &limit);
    return start < sample->value.sample.count ? start - 1 : start;
}

bool unwinding_frames(struct unwinding *unwinding, const struct perf_record *sample, bool kernel,
                      uint8_t *frames, size_t max, size_t *count)
{
    struct unwind_registers registers;
    struct unwind_stack stack = { .addresses = unwinding->addresses,
                                  .found = unwinding->found,
                                  .pointers = unwinding->pointers };
    struct thread *thread;

    *count = 0;
    if (!read_registers(sample, &registers)) {
        unwinding->counts.stacks++;
        unwinding->counts.without_registers++;
        *count = perf_record_frames(sample->value.sample.words, sample->value.sample.count, kernel,
                                    frames, max);
        return true;
    }
    if (!unwinding_advance(unwinding, sample->time_ns))
        return false;
    thread = processes_thread(&unwinding->processes, sample->pid, sample->tid);
    if (!thread)
        return false;
    if (kernel)
        *count = perf_record_frames(sample->value.sample.words, kernel_part(sample), true, frames,
                                    max - 1);
    unwinding->process = thread->process;
    stack.capacity = max - *count;
    if (!walk(unwinding, sample, &registers, &stack))
        return false;
    for (size_t i = 0; i < stack.count; i++, (*count)++)
        store(frames, *count,
              perf_record_frame(stack.addresses[i], *count,
                                *count == 0 || stack.found[i] == UNWIND_FOUND_SIGNAL));
    return true;
}

/* ---- Telling ---- */

const struct unwinding_counts *unwinding_counts(const struct unwinding *unwinding)
{
    return &unwinding->counts;
}

static void add_cut(struct unwinding_cut *cuts, size_t *count, size_t max,
                    const struct unwinding_cut *cut)
{
    size_t at = *count;

    if (cut->stacks == 0)
        return;
    while (at > 0 && cuts[at - 1].stacks < cut->stacks)
        at--;
    if (at == max)
        return;
    if (*count < max)
        (*count)++;
    memmove(cuts + at + 1, cuts + at, (*count - at - 1) * sizeof *cuts);
    cuts[at] = *cut;
}

size_t unwinding_cuts(const struct unwinding *unwinding, struct unwinding_cut *cuts, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < unwinding->module_capacity; i++)
        if (unwinding->modules[i].module)
            add_cut(cuts, &count, max,
                    &(struct unwinding_cut){ unwinding->modules[i].module->name,
                                             unwinding->modules[i].cuts });
    add_cut(cuts, &count, max,
            &(struct unwinding_cut){ "code of no file", unwinding->nowhere.cuts });
    return count;
}
