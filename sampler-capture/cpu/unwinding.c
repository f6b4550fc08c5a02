#include "sampler-capture/cpu/unwinding.h"

#include "base/grow.h"
#include "sampler-capture/cpu/chain.h"
#include "sampler-capture/cpu/made_code.h"
#include "sampler-capture/cpu/region.h"
#include "sampler-capture/cpu/unwound.h"
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

/* What a walk finds.  */
struct walked {
    uint64_t addresses[REGION_FRAMES_LIMIT];
    uint8_t found[REGION_FRAMES_LIMIT];
    uint64_t pointers[REGION_FRAMES_LIMIT];
};

struct unwinding {
    struct unwind_walker *walker;
    struct process_table processes;
    struct told *told; /* owned; sorted when it is applied */
    size_t told_count, told_capacity;
    uint64_t told_number;
    bool is_sorted;
    struct unwound_modules modules;
    struct made_code *made; /* owned */
    uint64_t nowhere;       /* cuts in code of no file */
    struct unwinding_counts counts;

    struct copies copies;
    struct chain_tails tails;
    /* Of the sample that is unwound.  */
    const struct process *process;
    bool no_memory;
    struct walked walked, small; /* as it is told, and as a small copy would have it */
};

bool unwinding_is_possible(void)
{
    return MACHINE != UNWIND_NO_MACHINE;
}

struct unwinding *unwinding_open(void)
{
    struct unwinding *unwinding = calloc(1, sizeof *unwinding);

    if (unwinding && unwinding_is_possible() && (unwinding->made = made_code_open()) != NULL &&
        unwind_walker_open(&unwinding->walker, NULL) == UNWIND_OK) {
        copies_init(&unwinding->copies, &(struct copies_sizes){ .bytes = { 0 } });
        return unwinding;
    }
    if (unwinding)
        made_code_close(unwinding->made);
    free(unwinding);
    return NULL;
}

void unwinding_close(struct unwinding *unwinding)
{
    if (!unwinding)
        return;
    for (size_t i = 0; i < unwinding->told_count; i++)
        free(unwinding->told[i].bytes);
    free(unwinding->told);
    made_code_close(unwinding->made);
    unwound_release(&unwinding->modules);
    processes_release(&unwinding->processes);
    unwind_walker_close(unwinding->walker);
    free(unwinding);
}

void unwinding_adapt(struct unwinding *unwinding, const struct copies_sizes *sizes)
{
    copies_init(&unwinding->copies, sizes);
}

void unwinding_lost(struct unwinding *unwinding)
{
    copies_lost(&unwinding->copies);
}

enum copies_size unwinding_copies(const struct unwinding *unwinding)
{
    return unwinding->copies.now;
}

/* ---- Side-band records ---- */

/* A file is opened when it is mapped: when the record is due, it and its process may be gone.  */
static bool expect_module(struct unwinding *unwinding, const uint8_t *bytes, size_t size)
{
    struct perf_record record;
    const struct perf_map *map = &record.value.map;
    const struct module *module;

    if (!perf_record_parse(bytes, size, &record) || record.kind != PERF_KIND_MAP ||
        perf_map_is_anonymous(map))
        return true;
    module = modules_find(&unwinding->processes.modules, map, record.pid);
    return module && unwound_expect(&unwinding->modules, module, record.pid, map->start,
                                    map->start + map->length);
}

bool unwinding_tell(struct unwinding *unwinding, const uint8_t *bytes, size_t size,
                    uint64_t time_ns)
{
    uint8_t *copy = malloc(size);

    if (!copy ||
        !base_make_room(&unwinding->told, &unwinding->told_capacity, unwinding->told_count + 1,
                        sizeof *unwinding->told) ||
        !expect_module(unwinding, bytes, size)) {
        free(copy);
        return false;
    }
    memcpy(copy, bytes, size);
    unwinding->told[unwinding->told_count++] = (struct told){
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

void unwinding_renew(struct unwinding *unwinding)
{
    made_code_renew(unwinding->made);
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

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    struct unwinding *unwinding = context;
    const struct mapping *mapping = address_map_find(&unwinding->process->map, address);
    struct unwound *known;

    if (!mapping)
        return;
    out->start = mapping->start;
    out->limit = mapping->limit;
    out->kind = UNWIND_PLACE_OTHER;
    if (!mapping->module)
        return;
    known = unwound_find(&unwinding->modules, mapping, unwinding->process->pid);
    unwinding->no_memory |= !known;
    out->kind = UNWIND_PLACE_OBJECT;
    out->table = known ? known->table : NULL;
    out->bias = mapping->start - mapping->vaddr;
}

/* From the memory of the process or, if that is gone, the file.  */
static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    struct unwinding *unwinding = context;
    const struct mapping *mapping = address_map_find(&unwinding->process->map, address);
    uint32_t pid = unwinding->process->pid;
    size_t got = made_code_read(unwinding->made, (pid_t)pid, address, bytes, size);

    if (got > 0 || !mapping || !mapping->module)
        return got;
    return unwound_code(&unwinding->modules, mapping, pid, address, bytes, size);
}

static struct unwind_place place_of(struct unwinding *unwinding, uint64_t address)
{
    struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };

    find(unwinding, address, &place);
    return place;
}

/* Of code without tables nothing else is to be had.  */
static bool keeps_frame_pointers(const struct unwind_place *place)
{
    return place->kind == UNWIND_PLACE_OTHER ||
           (place->table && unwind_table_frame_pointers(place->table) != UNWIND_FRAME_POINTERS_NO);
}

static bool is_outermost(const struct unwind_place *place, uint64_t address)
{
    return place->table && unwind_table_is_outermost(place->table, address - place->bias);
}

/* ---- Where the copy ends early ---- */

/* The callers of the last frame are known from a whole stack.  */
static bool append_tail(struct unwinding *unwinding, struct unwind_stack *stack)
{
    uint64_t last = stack->addresses[stack->count - 1];
    const struct chain_tail *tail = chain_tail_of(&unwinding->tails, last);

    if (tail->address != last || tail->count > stack->capacity - stack->count)
        return false;
    for (size_t i = 0; i < tail->count; i++) /* it may be another process */
        if (place_of(unwinding, tail->each[i].address - 1).table != tail->each[i].code)
            return false;
    for (size_t i = 0; i < tail->count; i++) {
        stack->found[stack->count] = UNWIND_FOUND_FRAME_POINTER;
        stack->addresses[stack->count++] = tail->each[i].address;
    }
    return true;
}

/* Where the C library, which keeps no frame pointers, starts a thread or main() of a program that
 * does: its last one or two functions, and the entry point of the program.  Other functions are
 * called from many places.  */
static void learn_tail(struct unwinding *unwinding, const struct unwind_stack *stack)
{
    struct chain_tail tail = { .count = 0 };
    size_t first = stack->count - 1; /* that one has no caller, whatever it keeps */
    struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };

    for (; first > 0 && stack->count - first <= CHAIN_MAX_TAIL + 1; first--) {
        if (stack->found[first] != UNWIND_FOUND_TABLE)
            return;
        place = place_of(unwinding, stack->addresses[first - 1] - (first > 1));
        if (keeps_frame_pointers(&place))
            break;
    }
    if (first == 0 || first + 1 >= stack->count || stack->count - first > CHAIN_MAX_TAIL + 1)
        return;
    tail.address = stack->addresses[first];
    for (size_t i = first + 1; i < stack->count; i++, tail.count++) {
        tail.each[tail.count].address = stack->addresses[i];
        tail.each[tail.count].code = place_of(unwinding, stack->addresses[i] - 1).table;
    }
    place = place_of(unwinding, tail.address - 1);
    if (place.table && place.table == tail.each[0].code)
        *chain_tail_of(&unwinding->tails, tail.address) = tail;
}

/* Append what the kernel's walk found behind the last frame, as far as functions keep frame
 * pointers.  True: from there on the callers are known from another stack.  */
static bool append_chain(struct unwinding *unwinding, const struct perf_record *sample,
                         const struct unwind_registers *registers,
                         const struct unwind_memory *memory, struct unwind_stack *stack)
{
    size_t start, limit, at = chain_align(sample, registers, memory, stack);

    chain_user_part(sample, &start, &limit);
    if (at == CHAIN_NONE)
        at = limit;
    for (;;) {
        uint64_t last = unwind_lookup_address(stack, stack->count - 1), address;
        struct unwind_place place = place_of(unwinding, last);

        if (is_outermost(&place, last)) {
            stack->end = UNWIND_END_COMPLETE;
            return false;
        }
        if (stack->count == stack->capacity || ++at >= limit || !keeps_frame_pointers(&place))
            break;
        address = chain_word(sample, at);
        if (address == 0)
            break;
        if (place_of(unwinding, address - 1).kind == UNWIND_PLACE_NOTHING) {
            stack->end = UNWIND_END_NOT_CODE;
            stack->end_address = stack->addresses[stack->count - 1];
            return false;
        }
        stack->found[stack->count] = UNWIND_FOUND_FRAME_POINTER;
        stack->addresses[stack->count++] = address;
    }
    if (!append_tail(unwinding, stack))
        return false;
    stack->end = UNWIND_END_COMPLETE;
    return true;
}

/* Whether what is missing is on another stack: that which a signal handler on a stack of its own
 * interrupted.  The kernel copies only the one that runs, and stacks are rarely larger.  */
static bool is_elsewhere(const struct unwind_stack *stack)
{
    const uint64_t largest = UINT64_C(64) << 20;

    return stack->missing - stack->pointers[0] > largest;
}

/* How a stack was found.  */
struct manner {
    bool ended_early; /* the copy did not reach its end */
    bool is_joined;   /* the outermost functions are known from another stack */
};

static void count_end(struct unwinding *unwinding, const struct unwind_stack *stack,
                      struct manner manner)
{
    struct unwinding_counts *counts = &unwinding->counts;
    const struct mapping *mapping;

    counts->stacks++;
    if (stack->end == UNWIND_END_COMPLETE) {
        *(manner.is_joined     ? &counts->joined
          : manner.ended_early ? &counts->continued
                               : &counts->whole) += 1;
        return;
    }
    counts->ended[stack->end]++;
    if (stack->end == UNWIND_END_NO_STACK && is_elsewhere(stack))
        counts->other_stack++;
    if (stack->end == UNWIND_END_NO_STACK || stack->end == UNWIND_END_NO_ROOM)
        return; /* no module's fault */
    mapping = address_map_find(&unwinding->process->map, stack->end_address);
    if (mapping && mapping->module && mapping->module->serial < unwinding->modules.capacity)
        unwinding->modules.items[mapping->module->serial].cuts++;
    else
        unwinding->nowhere++;
}

/* Callers by tables, as far as size bytes of the copy go, and then by the kernel's walk.  False: no
 * memory.  */
static bool walk(struct unwinding *unwinding, const struct perf_record *sample,
                 const struct unwind_registers *registers, size_t size, struct unwind_stack *stack,
                 struct manner *manner)
{
    const struct unwind_piece piece = { .address = unwind_stack_pointer(registers),
                                        .bytes = sample->value.sample.stack,
                                        .size = size };
    const struct unwind_memory memory = { &piece, 1 };
    const struct unwind_map map = { .find = find, .context = unwinding, .read_code = read_code };

    unwinding->no_memory = false;
    if (unwind_walk(unwinding->walker, registers, &memory, &map, stack) != UNWIND_OK)
        return false;
    manner->ended_early = stack->end == UNWIND_END_NO_STACK;
    manner->is_joined = manner->ended_early &&
                        append_chain(unwinding, sample, registers, &memory, stack);
    return !unwinding->no_memory;
}

static struct unwind_stack stack_in(struct walked *walked, size_t capacity)
{
    return (struct unwind_stack){ .addresses = walked->addresses,
                                  .found = walked->found,
                                  .pointers = walked->pointers,
                                  .capacity = capacity };
}

/* Of the kernel or of the program, with a marker; and both.  */
#define PART_WORDS  (REGION_KERNEL_FRAMES + 1)
#define CHAIN_WORDS (2 * PART_WORDS)

static bool has_chain(const struct perf_record *sample)
{
    size_t start, limit;

    chain_user_part(sample, &start, &limit);
    return start < limit;
}

/* The sample with the walk by frame pointers, if the kernel was not asked for it.  words has room
 * for CHAIN_WORDS.  */
static struct perf_record with_chain(const struct perf_record *sample, uint8_t *words)
{
    struct perf_record result = *sample;
    size_t count = sample->value.sample.count;

    if (has_chain(sample) || count > PART_WORDS)
        return result;
    memcpy(words, sample->value.sample.words, 8 * count);
    result.value.sample.words = words;
    result.value.sample.count += chain_from_copy(sample, words + 8 * count, PART_WORDS);
    return result;
}

/* Whether a small copy of the same stack would have given the same.  False: no memory.  */
static bool try_small(struct unwinding *unwinding, const struct perf_record *sample,
                      const struct unwind_registers *registers, const struct unwind_stack *stack,
                      bool *is_same)
{
    struct unwind_stack small = stack_in(&unwinding->small, stack->capacity);
    uint8_t words[8 * CHAIN_WORDS];
    const struct perf_record walked = with_chain(sample, words);
    size_t size = sample->value.sample.stack_size;
    uint32_t least = unwinding->copies.sizes.bytes[COPIES_SMALL];
    struct manner manner;

    if (!walk(unwinding, &walked, registers, size < least ? size : least, &small, &manner))
        return false;
    *is_same = small.count == stack->count &&
               (small.end == UNWIND_END_COMPLETE) == (stack->end == UNWIND_END_COMPLETE) &&
               memcmp(small.addresses, stack->addresses, stack->count * sizeof *stack->addresses) ==
                   0;
    return true;
}

/* Whether the copy is too small, or the kernel's walk is missing that may go on on another
 * stack.  */
static bool is_cut(struct unwinding *unwinding, const struct perf_record *sample,
                   const struct unwind_stack *stack, struct manner manner)
{
    struct unwind_place place;

    if (!manner.ended_early || stack->end == UNWIND_END_COMPLETE)
        return false;
    if (!is_elsewhere(stack))
        return true;
    place = place_of(unwinding, unwind_lookup_address(stack, stack->count - 1));
    return !has_chain(sample) && keeps_frame_pointers(&place);
}

/* Which copy the stack needs.  What the walk or an earlier stack has completed needs the same.
 * False: no memory.  */
static bool judge(struct unwinding *unwinding, const struct perf_record *sample,
                  const struct unwind_registers *registers, const struct unwind_stack *stack,
                  struct manner manner)
{
    const struct copies_sizes *sizes = &unwinding->copies.sizes;
    enum copies_size taken = copies_size_of(sizes, sample->value.sample.stack_room);
    bool cut = is_cut(unwinding, sample, stack, manner);
    struct copies_sample seen = { .time_ns = sample->time_ns, .taken = taken, .needed = taken };

    if (stack->end == UNWIND_END_COMPLETE && !manner.ended_early)
        learn_tail(unwinding, stack);
    if (taken == COPIES_SMALL)
        seen.fits_small = !cut;
    else if (!cut && copies_want_small(&unwinding->copies, taken) &&
             !try_small(unwinding, sample, registers, stack, &seen.fits_small))
        return false;
    if (cut)
        seen.needed = (enum copies_size)(taken + 1);
    else if (!manner.ended_early || stack->end != UNWIND_END_COMPLETE)
        seen.needed = copies_size_of(sizes, stack->depth_bytes);
    unwinding->counts.small += taken == COPIES_SMALL;
    unwinding->counts.fitting += copies_is_fitting(taken);
    unwinding->counts.outgrown += taken < COPIES_LARGE && stack->end == UNWIND_END_NO_STACK &&
                                  !is_elsewhere(stack);
    copies_saw(&unwinding->copies, &seen);
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

/* Where the program's part of a callchain begins, and how many words come before it.  */
static size_t kernel_part(const struct perf_record *sample, bool *has_user_part)
{
    size_t start, limit;

    chain_user_part(sample, &start, &limit);
    *has_user_part = start < limit;
    return start < sample->value.sample.count ? start - 1 : start;
}

/* Threads of the kernel have neither registers nor a stack of a program.  */
static void take_chain(struct unwinding *unwinding, const struct perf_record *sample, bool kernel,
                       uint8_t *frames, size_t max, size_t *count)
{
    uint8_t words[8 * CHAIN_WORDS];
    const struct perf_record walked = with_chain(sample, words);
    bool has_user_part;

    (void)kernel_part(&walked, &has_user_part);
    unwinding->counts.stacks += has_user_part;
    unwinding->counts.without_registers += has_user_part;
    *count = perf_record_frames(walked.value.sample.words, walked.value.sample.count, kernel,
                                frames, max);
}

bool unwinding_frames(struct unwinding *unwinding, const struct perf_record *sample, bool kernel,
                      uint8_t *frames, size_t max, size_t *count)
{
    struct unwind_registers registers;
    struct unwind_stack stack;
    struct manner manner;
    struct thread *thread;
    bool has_user_part;

    *count = 0;
    if (!read_registers(sample, &registers)) {
        take_chain(unwinding, sample, kernel, frames, max, count);
        return true;
    }
    if (!unwinding_advance(unwinding, sample->time_ns))
        return false;
    thread = processes_thread(&unwinding->processes, sample->pid, sample->tid);
    if (!thread)
        return false;
    if (kernel)
        *count = perf_record_frames(sample->value.sample.words, kernel_part(sample, &has_user_part),
                                    true, frames, max - 1);
    unwinding->process = thread->process;
    stack = stack_in(&unwinding->walked, max - *count);
    if (!walk(unwinding, sample, &registers, sample->value.sample.stack_size, &stack, &manner))
        return false;
    count_end(unwinding, &stack, manner);
    if (unwinding->copies.sizes.bytes[COPIES_SMALL] > 0 &&
        !judge(unwinding, sample, &registers, &stack, manner))
        return false;
    for (size_t i = 0; i < stack.count; i++, (*count)++)
        store(frames, *count,
              perf_record_frame(stack.addresses[i], *count, unwind_is_exact(&stack, i)));
    return true;
}

/* ---- Telling ---- */

const struct unwinding_counts *unwinding_counts(const struct unwinding *unwinding)
{
    return &unwinding->counts;
}

static struct cli_cut cut_of(const struct unwound *known)
{
    return (struct cli_cut){ .module = known->module->name,
                             .stacks = known->cuts,
                             .has_file = known->table != NULL,
                             .problem = known->table ? unwind_table_report(known->table)->problem
                                                     : "" };
}

struct cli_cuts unwinding_cuts(const struct unwinding *unwinding)
{
    struct cli_cuts cuts = { .count = 0 };
    struct cli_cut cut;

    for (size_t i = 0; i < unwinding->modules.capacity; i++) {
        if (!unwinding->modules.items[i].module)
            continue;
        cut = cut_of(&unwinding->modules.items[i]);
        cli_cuts_add(&cuts, &cut);
    }
    cut = (struct cli_cut){ .module = NULL, .stacks = unwinding->nowhere };
    cli_cuts_add(&cuts, &cut);
    return cuts;
}
