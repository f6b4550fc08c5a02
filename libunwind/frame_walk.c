/* frame_walk.c - from frame to frame.  */
#include "libunwind/unwind_internal.h"
#include "libunwind/x86_code.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is remembered ---- */

#define MEMORY_BITS 14

struct remembered {
    const struct unwind_table *table;
    uint64_t vaddr;
    uint32_t rule;
};

/* How well the stack confirms a path.  */
enum proof {
    PROOF_NONE,
    PROOF_CODE, /* there is an address of code */
    PROOF_CALL, /* there is one that follows a call */
};

/* A way on which code without tables returns.  It holds as long as the code around it is the
 * same.  */
#define WAY_BITS  10
#define WAY_TRIES 4 /* searches for a better one */

struct remembered_way {
    uint64_t address;
    size_t size; /* of code; 0: none is remembered */
    uint8_t code[RETURN_LINE];
    /* Where the stack had a caller after a call, and in code of no object where it had code.  The
     * first may have been an accident of one stack, so both are kept.  */
    struct return_path called, possible;
    bool has_called, has_possible;
    unsigned searches; /* so far */
    bool halts;        /* there is no way, and no caller */
};

struct unwind_walker {
    struct remembered kept[1 << MEMORY_BITS];
    struct remembered_way *ways;  /* owned; NULL until code without tables is met */
    struct return_search *search; /* owned; likewise */
};

enum unwind_status unwind_walker_open(struct unwind_walker **out, struct unwind_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out ? UNWIND_OK : unwind_fail(error, UNWIND_NO_MEMORY, "out of memory");
}

void unwind_walker_forget(struct unwind_walker *walker)
{
    memset(walker->kept, 0, sizeof walker->kept);
    free(walker->ways);
    walker->ways = NULL;
}

void unwind_walker_close(struct unwind_walker *walker)
{
    if (!walker)
        return;
    free(walker->ways);
    return_search_close(walker->search);
    free(walker);
}

static bool find_rule(struct unwind_walker *walker, struct unwind_table *table, uint64_t vaddr,
                      uint32_t *rule)
{
    uint64_t key = (vaddr ^ (uint64_t)(uintptr_t)table) * UINT64_C(0x9e3779b97f4a7c15);
    struct remembered *kept = &walker->kept[key >> (64 - MEMORY_BITS)];

    if (kept->table != table || kept->vaddr != vaddr) {
        if (!table_rule(table, vaddr, rule))
            return false;
        *kept = (struct remembered){ table, vaddr, *rule };
    }
    *rule = kept->rule;
    return true;
}

/* ---- A walk ---- */

struct walk {
    struct unwind_walker *walker;
    const struct machine *machine;
    const struct unwind_memory *memory;
    const struct unwind_map *map;
    struct unwind_stack *stack;
    uint64_t registers[CFI_COLUMNS];
    uint64_t known; /* bit n: registers[n] is known */
    uint64_t pc;
    bool is_exact;  /* the program counter is no return address */
    bool ran_short; /* something was not in the pieces of memory */
    struct unwind_place place;
    uint64_t first_pointer;
    enum unwind_found found;
};

static bool is_known(const struct walk *walk, unsigned number)
{
    return walk->known >> number & 1;
}

static uint64_t stack_pointer(const struct walk *walk)
{
    return walk->registers[walk->machine->stack_pointer];
}

/* size bytes, little-endian.  */
static bool read_memory(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    struct walk *walk = context;
    const struct unwind_memory *memory = walk->memory;

    *value = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct unwind_piece *piece = &memory->pieces[i];
        uint64_t offset = address - piece->address, depth = address - walk->first_pointer + size;

        if (offset > piece->size || size > piece->size - offset)
            continue;
        memcpy(value, piece->bytes + offset, size);
        *value = le64toh(*value);
        if (address >= walk->first_pointer && depth > walk->stack->depth_bytes)
            walk->stack->depth_bytes = depth;
        return true;
    }
    if (!walk->ran_short)
        walk->stack->missing = address;
    walk->ran_short = true;
    return false;
}

static bool read_word(struct walk *walk, uint64_t address, uint64_t *value)
{
    return read_memory(walk, address, 8, value);
}

/* Signed return addresses of arm64 have their signature in bits that addresses do not need; bit 55
 * says which half of the address space it is.  */
static uint64_t strip(const struct walk *walk, uint64_t address)
{
    const uint64_t used = (UINT64_C(1) << 48) - 1;

    if (walk->machine != &unwind_machines[UNWIND_ARM64])
        return address;
    return address >> 55 & 1 ? address | ~used : address & used;
}

/* ---- Rules ---- */

enum step {
    STEP_DONE,
    STEP_OUTERMOST, /* there is no caller */
    STEP_SHORT,     /* of memory */
    STEP_REFUSED,
    STEP_NO_TABLE,
    STEP_NO_REGISTER,
};

static enum step failed(const struct walk *walk)
{
    return walk->ran_short ? STEP_SHORT : STEP_REFUSED;
}

static bool evaluate(struct walk *walk, uint32_t expression, const uint64_t *first,
                     uint64_t *result)
{
    const struct cfi_frame frame = {
        .registers = walk->registers, .known = walk->known, .read = read_memory, .context = walk
    };

    return cfi_evaluate(walk->place.table->expressions.bytes + expression, &frame, first, result);
}

/* The frame address by the frame pointer, which leads to where the caller's is saved, where the
 * stack pointer is not known: after a step by frame pointer on arm64.  */
static bool find_cfa_by_record(const struct walk *walk, const uint32_t *rule, uint64_t *cfa)
{
    unsigned pointer = walk->machine->frame_pointer;

    if (walk->machine->knows_stack || !is_known(walk, pointer))
        return false;
    for (unsigned i = 0; i < RULE_COUNT(rule[0]); i++) {
        const uint32_t *item = rule + 2 + (size_t)2 * i;

        if (RULE_COLUMN(item[0]) != pointer || RULE_KIND(item[0]) != CFI_SAVED)
            continue;
        *cfa = walk->registers[pointer] - (uint64_t)(int64_t)(int32_t)item[1];
        return true;
    }
    return false;
}

static enum step find_cfa(struct walk *walk, const uint32_t *rule, uint64_t *cfa)
{
    unsigned number = RULE_CFA(rule[0]);

    if (rule[0] & RULE_EXPRESSION)
        return evaluate(walk, rule[1], NULL, cfa) ? STEP_DONE : failed(walk);
    *cfa = walk->registers[number] + (uint64_t)(int64_t)(int32_t)rule[1];
    return is_known(walk, number) ||
                   (number == walk->machine->stack_pointer && find_cfa_by_record(walk, rule, cfa))
               ? STEP_DONE
               : STEP_NO_REGISTER;
}

/* What a register had in the caller.  False: that is not known.
 *
 * In an epilogue registers are popped while the table still says where they were.  What lies below
 * the stack pointer has been: then the register has its value already.  */
static bool find_register(struct walk *walk, const uint32_t *item, uint64_t cfa, uint64_t *value)
{
    unsigned number = RULE_COLUMN(item[0]);
    int64_t offset = (int32_t)item[1];

    switch ((enum cfi_kind)RULE_KIND(item[0])) {
    case CFI_SAME:
        *value = walk->registers[number];
        return is_known(walk, number);
    case CFI_UNDEFINED:
        return false;
    case CFI_SAVED:
        if (cfa + (uint64_t)offset < stack_pointer(walk) && is_known(walk, number)) {
            *value = walk->registers[number];
            return true;
        }
        return read_word(walk, cfa + (uint64_t)offset, value);
    case CFI_VALUE:
        *value = cfa + (uint64_t)offset;
        return true;
    case CFI_REGISTER:
        if (offset < 0 || offset >= CFI_COLUMNS)
            return false;
        *value = walk->registers[offset];
        return is_known(walk, (unsigned)offset);
    case CFI_SAVED_AT:
        return evaluate(walk, item[1], &cfa, value) && read_word(walk, *value, value);
    case CFI_VALUE_OF:
        return evaluate(walk, item[1], &cfa, value);
    }
    return false;
}

/* What is another in the caller.  All of it is found before any is set: rules are about the
 * registers of the frame that is left.  */
struct changes {
    unsigned count;
    bool has_return; /* a rule says where the return address is */
    bool is_first;   /* and that there is none */
    bool may_stay;   /* the stack pointer may be the caller's: a rule says what that is, or the
                      * return address is in a register */
    struct {
        unsigned number;
        bool is_known;
        uint64_t value;
    } each[CFI_COLUMNS];
};

static void find_changes(struct walk *walk, const uint32_t *rule, uint64_t cfa,
                         struct changes *changes)
{
    unsigned back = RULE_RETURN(rule[0]);

    changes->count = RULE_COUNT(rule[0]);
    changes->has_return = changes->is_first = changes->may_stay = false;
    for (unsigned i = 0; i < changes->count; i++) {
        const uint32_t *item = rule + 2 + (size_t)2 * i;

        changes->each[i].number = RULE_COLUMN(item[0]);
        changes->each[i].value = 0;
        changes->each[i].is_known = find_register(walk, item, cfa, &changes->each[i].value);
        changes->may_stay |= RULE_COLUMN(item[0]) == walk->machine->stack_pointer;
        if (RULE_COLUMN(item[0]) != back)
            continue;
        changes->has_return = true;
        changes->is_first = RULE_KIND(item[0]) == CFI_UNDEFINED;
        changes->may_stay |= RULE_KIND(item[0]) == CFI_REGISTER;
    }
}

static void set_register(struct walk *walk, unsigned number, bool known, uint64_t value)
{
    uint64_t bit = UINT64_C(1) << number;

    walk->registers[number] = value;
    walk->known = known ? walk->known | bit : walk->known & ~bit;
}

/* A rule may give the stack pointer, which is the frame address otherwise.  */
static void make_changes(struct walk *walk, const struct changes *changes, uint64_t cfa)
{
    set_register(walk, walk->machine->stack_pointer, true, cfa);
    for (unsigned i = 0; i < changes->count; i++)
        set_register(walk, changes->each[i].number, changes->each[i].is_known,
                     changes->each[i].value);
}

/* Callers' frames lie higher, but for what a signal has interrupted, which may be on any stack, and
 * for what has no frame and keeps its return address in a register, as vfork() does, and longjmp()
 * after it has set the stack pointer.  */
static bool is_above(const struct walk *walk, uint64_t before, bool is_signal, bool may_be_equal)
{
    uint64_t pointer = stack_pointer(walk);

    return is_signal || pointer > before || (may_be_equal && pointer == before);
}

static enum step step_by_rule(struct walk *walk, uint32_t place)
{
    const uint32_t *rule = (const uint32_t *)(const void *)(walk->place.table->rules.bytes + place);
    unsigned back = RULE_RETURN(rule[0]);
    uint64_t cfa, before = stack_pointer(walk);
    bool is_signal = rule[0] & RULE_SIGNAL, was_exact = walk->is_exact, in_register;
    struct changes changes;
    enum step step = find_cfa(walk, rule, &cfa);

    if (is_signal && !was_exact)
        walk->stack->found[walk->stack->count - 1] = UNWIND_FOUND_TRAMPOLINE;
    if (step != STEP_DONE)
        return step;
    find_changes(walk, rule, cfa, &changes);
    if (changes.is_first)
        return STEP_OUTERMOST;
    in_register = !changes.has_return && walk->machine->has_link && was_exact;
    if (!changes.has_return && !in_register)
        return STEP_REFUSED;
    make_changes(walk, &changes, cfa);
    if (!is_known(walk, back) || !is_known(walk, walk->machine->stack_pointer))
        return failed(walk);
    if (!is_above(walk, before, is_signal,
                  was_exact && (walk->machine->has_link || changes.may_stay)))
        return STEP_REFUSED;
    walk->pc = strip(walk, walk->registers[back]);
    walk->is_exact = is_signal;
    walk->found = is_signal     ? UNWIND_FOUND_SIGNAL
                  : in_register ? UNWIND_FOUND_LINK_REGISTER
                                : UNWIND_FOUND_TABLE;
    return STEP_DONE;
}

/* Entries of a procedure linkage table jump through a pointer, or push their number and jump to the
 * first, which pushes a pointer and jumps (psABI of each machine).  */
static enum step step_from_plt(struct walk *walk, uint32_t rule)
{
    const struct machine *machine = walk->machine;
    bool is_first = rule == RULE_PLT_FIRST || rule == RULE_PLT_FIRST_PUSHED;
    bool is_pushed = rule == RULE_PLT_PUSHED || rule == RULE_PLT_FIRST_PUSHED;
    uint64_t cfa = stack_pointer(walk);

    if (!walk->is_exact || !is_known(walk, machine->stack_pointer))
        return STEP_NO_TABLE;
    if (machine->has_link) {
        if (!is_known(walk, machine->return_column))
            return STEP_NO_TABLE;
        cfa += is_pushed ? 16 : 0;
        walk->pc = strip(walk, walk->registers[machine->return_column]);
    } else {
        cfa += 8 * (UINT64_C(1) + is_first + is_pushed);
        if (!read_word(walk, cfa - 8, &walk->pc))
            return STEP_SHORT;
    }
    walk->registers[machine->stack_pointer] = cfa;
    walk->found = UNWIND_FOUND_PLT;
    walk->is_exact = false;
    return STEP_DONE;
}

/* ---- Frame pointers ---- */

/* As far above the stack pointer as a frame pointer may lead.  */
#define MAX_FRAME ((uint64_t)8 << 20)

/* Where no table covers the code.  A chain of frame pointers ends with a zero; where no chain has
 * begun a zero is only what a register happens to hold.  */
static enum step step_by_pointer(struct walk *walk)
{
    const struct machine *machine = walk->machine;
    uint64_t frame = walk->registers[machine->frame_pointer], low, pointer, pc;

    if (!is_known(walk, machine->frame_pointer))
        return STEP_NO_TABLE;
    if (frame == 0 && walk->found == UNWIND_FOUND_FRAME_POINTER)
        return STEP_OUTERMOST;
    low = frame + (uint64_t)machine->saved_pointer;
    if (frame % 8 != 0 || low < stack_pointer(walk) || low - stack_pointer(walk) > MAX_FRAME)
        return STEP_NO_TABLE;
    if (!read_word(walk, low, &pointer) ||
        !read_word(walk, frame + (uint64_t)machine->saved_return, &pc))
        return STEP_SHORT;
    walk->registers[machine->frame_pointer] = pointer;
    set_register(walk, machine->stack_pointer, machine->knows_stack,
                 frame + (uint64_t)machine->caller_stack);
    walk->pc = strip(walk, pc);
    walk->is_exact = false;
    walk->found = UNWIND_FOUND_FRAME_POINTER;
    return STEP_DONE;
}

/* ---- Code without tables ---- */

/* Room for what is remembered.  NULL: no memory.  */
static struct remembered_way *way_of(struct unwind_walker *walker, uint64_t pc)
{
    if (!walker->ways)
        walker->ways = calloc((size_t)1 << WAY_BITS, sizeof *walker->ways);
    if (!walker->search)
        walker->search = return_search_open();
    if (!walker->ways || !walker->search)
        return NULL;
    return &walker->ways[pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - WAY_BITS)];
}

/* False: it is not known.  */
static bool base_of(struct walk *walk, const struct return_base *base, uint64_t *out)
{
    unsigned number = base->is_frame ? walk->machine->frame_pointer : walk->machine->stack_pointer;

    *out = walk->registers[number];
    return is_known(walk, number) &&
           (!base->is_loaded || read_word(walk, *out + (uint64_t)base->place, out));
}

static bool value_of(struct walk *walk, const struct return_value *value, uint64_t *out)
{
    uint64_t base;

    switch (value->kind) {
    case RETURN_SAME:
        *out = walk->registers[value->number];
        return is_known(walk, value->number);
    case RETURN_VALUE:
        *out = base_of(walk, &value->base, &base) ? base + (uint64_t)value->offset : 0;
        return *out != 0;
    case RETURN_SAVED:
        return base_of(walk, &value->base, &base) &&
               read_word(walk, base + (uint64_t)value->offset, out);
    case RETURN_UNKNOWN:
        break;
    }
    return false;
}

/* Whether the bytes before an address are a call.  */
static bool follows_call(const struct walk *walk, uint64_t address)
{
    uint8_t bytes[X86_CALL_MOST];
    size_t got = walk->map->read_code(walk->map->context, address - sizeof bytes, bytes,
                                      sizeof bytes);

    return got == sizeof bytes && x86_code_ends_in_call(bytes);
}

/* Where the return address is, by a path.  False: the path leads nowhere.  */
static bool place_of_return(struct walk *walk, const struct return_path *path, uint64_t *place)
{
    uint64_t before = stack_pointer(walk);

    return value_of(walk, &path->back, place) && *place >= before && *place - before <= MAX_FRAME &&
           *place % 8 == 0;
}

/* A path that leads beyond the copy of the stack is believed.  */
static enum proof prove(struct walk *walk, const struct return_path *path)
{
    struct unwind_place place = { .kind = UNWIND_PLACE_NOTHING };
    uint64_t pointer, pc;

    walk->ran_short = false;
    if (!place_of_return(walk, path, &pointer) || !read_word(walk, pointer, &pc))
        return walk->ran_short && !path->is_guess ? PROOF_CALL : PROOF_NONE;
    walk->map->find(walk->map->context, pc - 1, &place);
    if (place.kind != UNWIND_PLACE_NOTHING && follows_call(walk, pc))
        return PROOF_CALL;
    /* Interpreters push return addresses, and the outermost function may return to zero.  */
    return (place.kind != UNWIND_PLACE_NOTHING || pc == 0) && !path->is_guess &&
                   walk->place.kind == UNWIND_PLACE_OTHER
               ? PROOF_CODE
               : PROOF_NONE;
}

static bool is_called(void *judge, const struct return_path *path)
{
    return prove(judge, path) == PROOF_CALL;
}

static bool is_code_there(void *judge, const struct return_path *path)
{
    return prove(judge, path) >= PROOF_CODE;
}

/* A path that is proven, and in code of no object one that may be.  */
static void search_way(struct walk *walk, struct remembered_way *way)
{
    struct return_code code = { .read = walk->map->read_code,
                                .context = walk->map->context,
                                .start = walk->place.start,
                                .limit = walk->place.limit,
                                .accepts = is_called,
                                .judge = walk };
    struct return_search *search = walk->walker->search;
    enum return_result result;
    struct return_path path;

    way->searches++;
    result = return_path_find(search, &code, walk->pc, &path);
    if (result == RETURN_FOUND) {
        way->called = path;
        way->has_called = true;
    } else if (!way->has_called) {
        way->halts = result == RETURN_HALTS;
    }
    if (way->has_possible || walk->place.kind != UNWIND_PLACE_OTHER)
        return;
    code.accepts = is_code_there;
    if (return_path_find(search, &code, walk->pc, &path) == RETURN_FOUND) {
        way->possible = path;
        way->has_possible = true;
    }
}

/* The path of a way that this stack confirms; NULL: none.  */
static const struct return_path *confirmed(struct walk *walk, const struct remembered_way *way)
{
    if (way->has_called && prove(walk, &way->called) == PROOF_CALL)
        return &way->called;
    return way->has_possible && prove(walk, &way->possible) != PROOF_NONE ? &way->possible : NULL;
}

/* What the code at the program counter does before it returns; *path is NULL where none is seen,
 * *out where the code cannot be read.  False: no memory.  */
static bool find_way(struct walk *walk, const struct remembered_way **out,
                     const struct return_path **path)
{
    const struct unwind_map *map = walk->map;
    uint8_t bytes[RETURN_LINE];
    size_t size = map->read_code(map->context, walk->pc & ~(uint64_t)(RETURN_LINE - 1), bytes,
                                 sizeof bytes);
    struct remembered_way *way;
    uint64_t depth = walk->stack->depth_bytes;

    *out = NULL;
    if (size == 0 || size > sizeof bytes)
        return true;
    way = way_of(walk->walker, walk->pc);
    if (!way)
        return false;
    if (way->address != walk->pc || way->size != size || memcmp(way->code, bytes, size) != 0) {
        *way = (struct remembered_way){ .address = walk->pc, .size = size };
        memcpy(way->code, bytes, size);
    }
    if ((!way->has_called || prove(walk, &way->called) != PROOF_CALL) && !way->halts &&
        way->searches < WAY_TRIES)
        search_way(walk, way);
    *path = confirmed(walk, way);
    walk->ran_short = false; /* of the paths that were tried */
    walk->stack->depth_bytes = depth;
    *out = way;
    return true;
}

/* Do what the code will do.  Registers change only if the return address is found.  */
static enum step follow_return_path(struct walk *walk, const struct return_path *path)
{
    struct walk after = *walk;
    uint64_t pointer;

    if (!place_of_return(walk, path, &pointer) || !read_word(walk, pointer, &after.pc))
        return STEP_SHORT;
    for (unsigned i = 0; i < RETURN_REGISTERS; i++) {
        uint64_t value = 0;
        bool known = value_of(walk, &path->each[i], &value);

        set_register(&after, i, known, value);
    }
    set_register(&after, walk->machine->stack_pointer, true, pointer + 8 + (uint64_t)path->popped);
    after.is_exact = false;
    after.found = UNWIND_FOUND_RETURN_PATH;
    *walk = after;
    return STEP_DONE;
}

/* Where code without tables cannot return, a frame pointer of zero says that it is the outermost
 * (psABI).  */
static bool is_last(const struct walk *walk, const struct remembered_way *way)
{
    unsigned pointer = walk->machine->frame_pointer;

    return way->halts && !walk->is_exact && is_known(walk, pointer) &&
           walk->registers[pointer] == 0;
}

/* The instructions on the way to where it returns say where the return address is; frame pointers,
 * where no such way is seen.  False: no memory.  */
static bool step_without_table(struct walk *walk, enum step *result)
{
    const struct remembered_way *way = NULL;
    const struct return_path *path = NULL;

    *result = STEP_NO_TABLE;
    if (walk->machine == &unwind_machines[UNWIND_X86_64] && walk->map->read_code &&
        is_known(walk, walk->machine->stack_pointer) && !find_way(walk, &way, &path))
        return false;
    if (path)
        *result = follow_return_path(walk, path);
    else if (way && is_last(walk, way))
        *result = STEP_OUTERMOST;
    if (*result == STEP_NO_TABLE)
        *result = step_by_pointer(walk);
    return true;
}

/* ---- Frames ---- */

static bool is_code(struct walk *walk, uint64_t address)
{
    struct unwind_place *place = &walk->place;

    if (place->kind == UNWIND_PLACE_NOTHING || address < place->start || address >= place->limit) {
        *place = (struct unwind_place){ .kind = UNWIND_PLACE_NOTHING };
        walk->map->find(walk->map->context, address, place);
    }
    return place->kind != UNWIND_PLACE_NOTHING;
}

/* The rule of a vaddr, in the table of the object that has the code.  False: no memory.  */
static bool rule_at(struct walk *walk, uint64_t vaddr, uint32_t *rule)
{
    struct unwind_table *table = walk->place.table;

    *rule = RULE_NONE;
    return walk->place.kind != UNWIND_PLACE_OBJECT || !table ||
           &unwind_machines[table->report.machine] != walk->machine ||
           find_rule(walk->walker, table, vaddr, rule);
}

/* Where no row covers the byte before a return address, and one begins with the address itself,
 * there is no call: whoever made the stack, for a coroutine perhaps, put the address there for
 * what comes last.  False: no memory.  */
static bool step_uncovered(struct walk *walk, uint64_t vaddr, enum step *result)
{
    uint32_t rule = RULE_NONE;

    if (!walk->is_exact && !rule_at(walk, vaddr + 1, &rule))
        return false;
    if (rule < RULE_FIRST)
        return step_without_table(walk, result);
    *result = STEP_OUTERMOST;
    return true;
}

/* False: no memory.  */
static bool step(struct walk *walk, enum step *result)
{
    uint64_t vaddr = walk->pc - !walk->is_exact - walk->place.bias;
    uint32_t rule;

    walk->ran_short = false;
    if (!walk->machine->has_link) { /* expressions may ask for the program counter */
        walk->registers[CFI_X86_RA] = walk->pc;
        walk->known |= UINT64_C(1) << CFI_X86_RA;
    }
    if (!rule_at(walk, vaddr, &rule))
        return false;
    switch (rule) {
    case RULE_NONE:
        return step_uncovered(walk, vaddr, result);
    case RULE_ENTRY:
        *result = STEP_OUTERMOST;
        break;
    case RULE_REFUSED:
        *result = STEP_REFUSED;
        break;
    case RULE_PLT:
    case RULE_PLT_PUSHED:
    case RULE_PLT_FIRST:
    case RULE_PLT_FIRST_PUSHED:
        *result = step_from_plt(walk, rule);
        break;
    default:
        *result = step_by_rule(walk, rule);
        break;
    }
    return true;
}

static void add_frame(const struct walk *walk)
{
    struct unwind_stack *stack = walk->stack;

    stack->addresses[stack->count] = walk->pc;
    stack->found[stack->count] = (uint8_t)walk->found;
    if (stack->pointers)
        stack->pointers[stack->count] = stack_pointer(walk);
    stack->count++;
}

static enum unwind_end end_of(enum step step)
{
    switch (step) {
    case STEP_OUTERMOST:
        return UNWIND_END_COMPLETE;
    case STEP_SHORT:
        return UNWIND_END_NO_STACK;
    case STEP_NO_TABLE:
        return UNWIND_END_NO_TABLE;
    case STEP_NO_REGISTER:
        return UNWIND_END_NO_REGISTER;
    default:
        return UNWIND_END_REFUSED;
    }
}

/* The next frame was found: whether it is one.  A frame pointer that leads nowhere was none, and so
 * was one that leads to a zero before a chain of them has begun.  */
static bool is_frame(struct walk *walk, enum unwind_found before, enum unwind_end *end)
{
    bool is_guess = walk->found == UNWIND_FOUND_FRAME_POINTER;

    *end = is_guess ? UNWIND_END_NO_TABLE : UNWIND_END_NOT_CODE;
    if (walk->pc == 0) {
        if (!is_guess || before == UNWIND_FOUND_FRAME_POINTER)
            *end = UNWIND_END_COMPLETE;
        return false;
    }
    return is_code(walk, walk->pc - !walk->is_exact);
}

/* False: no memory.  */
static bool follow(struct walk *walk)
{
    struct unwind_stack *stack = walk->stack;
    enum step result;

    stack->end = UNWIND_END_NOT_CODE;
    stack->end_address = walk->pc;
    if (!is_code(walk, walk->pc))
        return true;
    for (;;) {
        uint64_t pointer = stack_pointer(walk), pc = walk->pc;
        enum unwind_found before = walk->found;

        stack->end_address = pc;
        if (!step(walk, &result))
            return false;
        if (result != STEP_DONE) {
            stack->end = end_of(result);
            return true;
        }
        if (!is_frame(walk, before, &stack->end))
            return true;
        stack->end = UNWIND_END_LOOP;
        if (walk->pc == pc && stack_pointer(walk) == pointer)
            return true;
        stack->end = UNWIND_END_NO_ROOM;
        if (stack->count == stack->capacity)
            return true;
        add_frame(walk);
    }
}

enum unwind_status unwind_walk(struct unwind_walker *walker,
                               const struct unwind_registers *registers,
                               const struct unwind_memory *memory, const struct unwind_map *map,
                               struct unwind_stack *stack)
{
    struct walk walk = { .walker = walker, .memory = memory, .map = map, .stack = stack };

    stack->count = 0;
    stack->depth_bytes = stack->missing = 0;
    if (registers->machine < UNWIND_X86_64 || registers->machine > UNWIND_RISCV64 ||
        stack->capacity == 0)
        return UNWIND_INVALID;
    walk.machine = &unwind_machines[registers->machine];
    walk.known = registers->known;
    memcpy(walk.registers, registers->values, sizeof registers->values);
    walk.pc = registers->pc;
    walk.is_exact = true;
    walk.first_pointer = stack_pointer(&walk);
    if (!is_known(&walk, walk.machine->stack_pointer))
        return UNWIND_INVALID;
    add_frame(&walk);
    return follow(&walk) ? UNWIND_OK : UNWIND_NO_MEMORY;
}
