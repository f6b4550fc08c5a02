/* return_path.c - where the return address of x86-64 code is, read from the code itself.
 *
 * Code without tables often has no frame pointer either: assembler, trampolines that CPython
 * copies, and what Java's compiler makes.  But each instruction up to the return says what it does
 * to the stack pointer and to the registers that callers want back.  Wherever a function returns,
 * its stack pointer is the same.  A way may lead out of the function all the same, past a call that
 * never comes back, so the caller of the search looks at what the stack has there, and may reject
 * it.
 *
 * A loop without end has no way out.  Then a way from the beginning of the function says the same:
 * before the address, bytes are looked for that begin a function, and the code after them must
 * lead to the address.  */
#include "libunwind/unwind_internal.h"
#include "libunwind/x86_code.h"

#include <stdlib.h>
#include <string.h>

enum { RSP = 4, RBP = 5, DWARF_RBP = 6, HLT = 0xf4 };

#define MOST_CODES      8000       /* instructions looked at */
#define MOST_BRANCHES   256        /* that wait for their turn */
#define MOST_BACK       (32 << 10) /* bytes before the code that are searched for a beginning */
#define MOST_BEGINNINGS 8
#define MOST_SLOTS      8
#define MOST_JUMPS      4
#define VISITED_BITS    14 /* of a set that is never more than half full */

/* What was stored below the first stack pointer.  */
struct slot {
    int64_t offset;
    struct return_value value;
};

/* What the registers hold.  */
struct state {
    uint64_t address;
    bool is_popped; /* the last instruction has popped the frame pointer */
    struct return_value each[RETURN_REGISTERS]; /* by the numbers of the encoding */
    struct slot slots[MOST_SLOTS];
    size_t slot_count;
};

struct jumps {
    struct return_path each[MOST_JUMPS];
    size_t count;
};

struct return_search {
    const struct return_code *code;
    uint64_t line_at; /* RETURN_LINE bytes of code are kept */
    size_t line_size;
    uint8_t line[RETURN_LINE];
    uint64_t visited[1 << VISITED_BITS];
    struct state waiting[MOST_BRANCHES];
    size_t waiting_count;
    struct jumps last_jumps; /* after the last pop */
    struct jumps jumps;      /* others that may leave the function */
    bool is_entering;        /* on the way from a beginning to the address */
    bool is_found;           /* an accepted way */
    bool returns;            /* a return was met */
    bool halts;              /* hlt was met, after a system call that ends a thread or a program */
};

/* ---- Code ---- */

/* Up to size bytes.  */
static size_t read_code(struct return_search *search, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct return_code *code = search->code;
    size_t got = 0;

    while (got < size && address + got >= code->start && address + got < code->limit) {
        uint64_t at = (address + got) & ~(uint64_t)(RETURN_LINE - 1);
        size_t offset = (size_t)(address + got - at), more;

        if (search->line_size == 0 || search->line_at != at) {
            search->line_at = at;
            search->line_size = code->read(code->context, at, search->line, RETURN_LINE);
        }
        if (search->line_size > RETURN_LINE || offset >= search->line_size)
            break;
        more = search->line_size - offset < size - got ? search->line_size - offset : size - got;
        memcpy(bytes + got, search->line + offset, more);
        got += more;
    }
    return got;
}

/* Where an address is in the set, or belongs.  */
static uint64_t *visited(struct return_search *search, uint64_t address)
{
    uint64_t mask = (1 << VISITED_BITS) - 1;
    uint64_t i = address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - VISITED_BITS);

    while (search->visited[i] != 0 && search->visited[i] != address)
        i = (i + 1) & mask;
    return &search->visited[i];
}

/* ---- Values ---- */

static const struct return_value unknown = { .kind = RETURN_UNKNOWN };

/* An address is what a register held plus a number.  */
static struct return_value moved(struct return_value value, int64_t amount)
{
    if (value.kind != RETURN_VALUE || __builtin_add_overflow(value.offset, amount, &value.offset))
        return unknown;
    return value;
}

/* A value as an address.  The stack pointer always is one.  */
static struct return_value as_address(struct return_value value)
{
    if (value.kind == RETURN_SAME && value.number == RBP)
        return (struct return_value){ .kind = RETURN_VALUE, .base.is_frame = true };
    if (value.kind == RETURN_SAVED && !value.base.is_loaded)
        return (struct return_value){ .kind = RETURN_VALUE,
                                      .base = { value.base.is_frame, true, value.offset } };
    return value;
}

static struct return_value address_in(const struct state *state, unsigned number)
{
    return as_address(state->each[number]);
}

/* Whether an address is an offset from the first stack pointer.  */
static bool is_of_stack(const struct return_value *at)
{
    return at->kind == RETURN_VALUE && !at->base.is_frame && !at->base.is_loaded;
}

static void store(struct state *state, struct return_value at, struct return_value value)
{
    size_t i = 0;

    if (!is_of_stack(&at) || at.offset >= 0)
        return;
    while (i < state->slot_count && state->slots[i].offset != at.offset)
        i++;
    if (i == MOST_SLOTS)
        i = 0;
    state->slots[i] = (struct slot){ at.offset, value };
    state->slot_count += i == state->slot_count;
}

static struct return_value load(const struct state *state, struct return_value at)
{
    if (at.kind != RETURN_VALUE)
        return unknown;
    if (!is_of_stack(&at) || at.offset >= 0)
        return (struct return_value){ .kind = RETURN_SAVED, .base = at.base, .offset = at.offset };
    for (size_t i = 0; i < state->slot_count; i++)
        if (state->slots[i].offset == at.offset)
            return state->slots[i].value;
    return unknown;
}

static struct return_value memory_operand(const struct state *state, const struct x86_code *code)
{
    if (!code->is_memory || code->has_index || code->has_no_base || code->is_short_address)
        return unknown;
    return moved(address_in(state, code->rm), code->displacement);
}

/* ---- What instructions do ---- */

/* False: what is pushed would cover something of the caller.  */
static bool push(struct state *state, struct return_value value)
{
    struct return_value *pointer = &state->each[RSP];

    if (is_of_stack(pointer) && pointer->offset > 0)
        return false;
    *pointer = moved(*pointer, -8);
    store(state, *pointer, value);
    return pointer->kind == RETURN_VALUE;
}

static bool pop(struct state *state, unsigned number)
{
    struct return_value value = load(state, state->each[RSP]);

    state->each[RSP] = moved(state->each[RSP], 8);
    state->each[number] = number == RSP ? as_address(value) : value;
    return state->each[RSP].kind == RETURN_VALUE;
}

static bool leave(struct state *state)
{
    state->each[RSP] = address_in(state, RBP);
    return state->each[RSP].kind == RETURN_VALUE && pop(state, RBP);
}

/* mov and lea of 64 bits, and constants added to a register.  False: something else.  */
static bool move(struct state *state, const struct x86_code *code)
{
    if (code->map != 0 || code->is_vector || !(code->rex & X86_REX_W))
        return false;
    switch (code->opcode) {
    case 0x89:
        if (code->is_memory)
            store(state, memory_operand(state, code), state->each[code->reg]);
        else
            state->each[code->rm] = address_in(state, code->reg);
        return true;
    case 0x8b:
        state->each[code->reg] = code->is_memory ? load(state, memory_operand(state, code))
                                                 : address_in(state, code->rm);
        if (code->reg == RSP)
            state->each[RSP] = address_in(state, RSP);
        return true;
    case 0x8d:
        state->each[code->reg] = memory_operand(state, code);
        return true;
    case 0x81:
    case 0x83:
        if (code->is_memory || (code->extension != 0 && code->extension != 5))
            return false;
        state->each[code->rm] = moved(address_in(state, code->rm),
                                      code->extension == 0 ? code->immediate : -code->immediate);
        return true;
    default:
        return false;
    }
}

/* False: this is no way to a return.  */
static bool execute(struct state *state, const struct x86_code *code)
{
    unsigned numbered = (code->opcode & 7U) | (code->rex & X86_REX_B ? 8 : 0);
    uint16_t changed;

    if (code->map == 0 && !code->is_vector) {
        switch (code->opcode) {
        case 0x68:
        case 0x6a:
        case 0x9c: /* flags */
            return !code->is_16_bit && push(state, unknown);
        case 0x9d:
            state->each[RSP] = moved(state->each[RSP], 8);
            return !code->is_16_bit && state->each[RSP].kind == RETURN_VALUE;
        case 0xc9:
            return leave(state);
        case 0xff:
            if (code->extension == 6)
                return !code->is_16_bit && push(state, unknown);
            break;
        default:
            if ((code->opcode & 0xf8) == 0x50)
                return !code->is_16_bit && push(state, state->each[numbered]);
            if ((code->opcode & 0xf8) == 0x58)
                return !code->is_16_bit && pop(state, numbered);
        }
    }
    if (!move(state, code)) {
        changed = x86_code_changed(code);
        for (unsigned i = 0; i < RETURN_REGISTERS; i++)
            if (changed >> i & 1)
                state->each[i] = unknown;
    }
    return state->each[RSP].kind == RETURN_VALUE;
}

/* ---- Ways ---- */

enum flow { FLOW_ON, FLOW_JUMP, FLOW_JUMP_INDIRECT, FLOW_BRANCH, FLOW_RETURN, FLOW_NOWHERE };

static enum flow flow_of(const struct x86_code *code)
{
    uint8_t opcode = code->opcode;

    if (code->is_vector || code->map > 1)
        return FLOW_ON;
    if (code->map == 1)
        return (opcode & 0xf0) == 0x80 ? FLOW_BRANCH : opcode == 0x0b ? FLOW_NOWHERE : FLOW_ON;
    if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3))
        return FLOW_BRANCH;
    switch (opcode) {
    case 0xc2:
    case 0xc3:
        return FLOW_RETURN;
    case 0xe9:
    case 0xeb:
        return FLOW_JUMP;
    case 0xff: /* calls and pushes go on; far ones do not */
        return code->extension == 4                         ? FLOW_JUMP_INDIRECT
               : code->extension % 2 && code->extension > 2 ? FLOW_NOWHERE
                                                            : FLOW_ON;
    case 0xc8: /* enter */
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf1:
    case HLT:
        return FLOW_NOWHERE;
    default:
        return FLOW_ON;
    }
}

static void wait_for(struct return_search *search, const struct state *state, uint64_t address)
{
    if (search->waiting_count == MOST_BRANCHES || *visited(search, address) != 0)
        return;
    search->waiting[search->waiting_count] = *state;
    search->waiting[search->waiting_count++].address = address;
}

/* DWARF numbers the first eight in another order.  */
static void tell(const struct state *state, int64_t popped, struct return_path *out)
{
    static const uint8_t numbers[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };

    for (unsigned i = 0; i < RETURN_REGISTERS; i++) {
        struct return_value value = state->each[i];

        if (value.number < 8)
            value.number = numbers[value.number];
        out->each[i < 8 ? numbers[i] : i] = value;
    }
    out->back = state->each[RSP];
    out->popped = popped;
    out->is_guess = false;
}

static bool accepts(struct return_search *search, const struct return_path *path)
{
    search->is_found = search->code->accepts(search->code->judge, path);
    return search->is_found;
}

/* Who jumps after the last pop leaves the function, to one that returns to the caller.  Jumps to
 * addresses in registers or memory may leave it, too.  */
static void see_jump(struct return_search *search, const struct state *state, bool is_indirect)
{
    const struct return_value *pointer = &state->each[RSP];
    bool is_last = state->is_popped && (!is_of_stack(pointer) || pointer->offset > 0);
    struct jumps *jumps = is_last ? &search->last_jumps : &search->jumps;

    if ((!is_last && !is_indirect) || jumps->count == MOST_JUMPS)
        return;
    tell(state, 0, &jumps->each[jumps->count]);
    jumps->each[jumps->count++].is_guess = !is_last;
}

static bool is_pop(const struct x86_code *code)
{
    return code->map == 0 && !code->is_vector &&
           (code->opcode == 0xc9 || (code->opcode == 0x5d && !(code->rex & X86_REX_B)));
}

/* One instruction.  False: the way ends here.  */
static bool advance(struct return_search *search, struct state *state, struct return_path *out)
{
    uint8_t bytes[X86_CODE_MOST];
    struct x86_code code;
    enum flow flow;

    uint64_t *place = visited(search, state->address);

    if (*place != 0)
        return false;
    *place = state->address;
    if (!x86_code_read(bytes, read_code(search, state->address, bytes, sizeof bytes), &code))
        return false;
    flow = flow_of(&code);
    state->address += code.length;
    switch (flow) {
    case FLOW_ON:
        state->is_popped = is_pop(&code);
        return execute(state, &code);
    case FLOW_BRANCH:
        wait_for(search, state, state->address + (uint64_t)code.immediate);
        return true;
    case FLOW_JUMP:
        see_jump(search, state, false);
        state->address += (uint64_t)code.immediate;
        return !state->is_popped;
    case FLOW_JUMP_INDIRECT:
        see_jump(search, state, true);
        return false;
    case FLOW_RETURN:
        search->returns = true;
        tell(state, code.opcode == 0xc2 ? code.immediate & 0xffff : 0, out);
        if (!search->is_entering)
            (void)accepts(search, out);
        return false;
    case FLOW_NOWHERE:
        search->halts |= code.map == 0 && code.opcode == HLT;
        return false;
    }
    return false;
}

static void begin(struct return_search *search, uint64_t address, struct state *state)
{
    search->line_size = search->waiting_count = search->last_jumps.count = search->jumps.count = 0;
    search->is_found = search->returns = search->halts = false;
    memset(search->visited, 0, sizeof search->visited);
    *state = (struct state){ .address = address };
    for (uint8_t i = 0; i < RETURN_REGISTERS; i++)
        state->each[i] = (struct return_value){ .kind = RETURN_SAME, .number = i };
    state->each[RSP] = (struct return_value){ .kind = RETURN_VALUE };
}

/* Go on with another way if this one ends.  False: there is none.  */
static bool advance_any(struct return_search *search, struct state *state, struct return_path *out)
{
    if (advance(search, state, out))
        return true;
    if (search->waiting_count == 0)
        return false;
    *state = search->waiting[--search->waiting_count];
    return true;
}

static bool accepts_any(struct return_search *search, const struct jumps *jumps,
                        struct return_path *out)
{
    for (size_t i = 0; i < jumps->count; i++) {
        *out = jumps->each[i];
        if (accepts(search, out))
            return true;
    }
    return false;
}

static bool find_exit(struct return_search *search, uint64_t address, struct return_path *out)
{
    struct state state;

    begin(search, address, &state);
    for (unsigned i = 0; i < MOST_CODES && !search->is_found; i++)
        if (!advance_any(search, &state, out))
            break;
    return search->is_found || accepts_any(search, &search->last_jumps, out) ||
           accepts_any(search, &search->jumps, out);
}

/* ---- From the beginning of a function ---- */

#define BEGINNING_BYTES 12
#define BEFORE_BYTES    2 /* looked at before a beginning */

enum beginning { BEGINNING_NONE, BEGINNING_FRAME, BEGINNING_GUESS };

/* push %rbp, and then sub $N, %rsp or mov %rsp, %rbp; or, as in Java's leaf functions, sub $N, %rsp
 * and then mov %rbp, N(%rsp).  */
static bool sets_up_frame(const uint8_t code[BEGINNING_BYTES])
{
    static const uint8_t save[3] = { 0x48, 0x89, 0x6c };

    if (code[0] == 0x55 && code[1] == 0x48)
        return ((code[2] == 0x81 || code[2] == 0x83) && code[3] == 0xec) ||
               (code[2] == 0x89 && code[3] == 0xe5) || (code[2] == 0x8b && code[3] == 0xec);
    return code[0] == 0x48 && code[2] == 0xec &&
           ((code[1] == 0x83 && memcmp(code + 4, save, sizeof save) == 0) ||
            (code[1] == 0x81 && memcmp(code + 7, save, 2) == 0));
}

/* Functions are aligned, and follow a return, a jump, or bytes that are never executed: nop, int3,
 * ud2, or zeros at the end of a long nop.  */
static bool may_precede_start(const uint8_t before[BEFORE_BYTES])
{
    uint8_t last = before[BEFORE_BYTES - 1];

    return last == 0x90 || last == 0xcc || last == 0xc3 || last == 0 ||
           (last == 0x0b && before[BEFORE_BYTES - 2] == 0x0f);
}

static enum beginning beginning_at(struct return_search *search, uint64_t address,
                                   const uint8_t code[BEGINNING_BYTES])
{
    static const uint8_t landing[4] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
    uint8_t before[BEFORE_BYTES];

    if (sets_up_frame(code))
        return BEGINNING_FRAME;
    if (memcmp(code, landing, sizeof landing) == 0)
        return BEGINNING_GUESS;
    return address % 16 == 0 &&
                   read_code(search, address - BEFORE_BYTES, before, BEFORE_BYTES) ==
                       BEFORE_BYTES &&
                   may_precede_start(before)
               ? BEGINNING_GUESS
               : BEGINNING_NONE;
}

/* What a register of the beginning holds now, or where it was saved.  */
static struct return_value value_at_beginning(const struct state *state, uint8_t number,
                                              int64_t depth)
{
    const struct return_value *now = &state->each[number];

    for (size_t i = 0; i < state->slot_count; i++) {
        const struct slot *slot = &state->slots[i];

        if (slot->value.kind == RETURN_SAME && slot->value.number == number &&
            slot->offset >= -depth)
            return (struct return_value){ .kind = RETURN_SAVED, .offset = slot->offset + depth };
    }
    return now->kind == RETURN_SAME && now->number == number ? *now : unknown;
}

/* The stack pointer has moved down since the beginning.  Both ways to set up a frame put the
 * caller's frame pointer below the return address.  */
static bool tell_entered(const struct state *state, enum beginning beginning,
                         struct return_path *out)
{
    struct return_value at = state->each[RSP];
    int64_t depth = -at.offset;
    struct state before = { .is_popped = false };

    if (!is_of_stack(&at) || depth < (beginning == BEGINNING_FRAME ? 8 : 0))
        return false;
    for (uint8_t i = 0; i < RETURN_REGISTERS; i++)
        before.each[i] = value_at_beginning(state, i, depth);
    before.each[RSP] = (struct return_value){ .kind = RETURN_VALUE, .offset = depth };
    tell(&before, 0, out);
    if (beginning == BEGINNING_FRAME)
        out->each[DWARF_RBP] = (struct return_value){ .kind = RETURN_SAVED, .offset = depth - 8 };
    out->is_guess = beginning == BEGINNING_GUESS;
    return true;
}

/* Whether the code from start on leads to address, in *state then.  */
static bool leads_to(struct return_search *search, uint64_t start, uint64_t address,
                     struct state *state, struct return_path *out)
{
    begin(search, start, state);
    search->is_entering = true;
    for (unsigned i = 0; i < MOST_CODES && state->address != address; i++)
        if (!advance_any(search, state, out))
            break;
    search->is_entering = false;
    return state->address == address;
}

/* The beginning of a kind before address from which there is a way to it.  */
static bool find_entry(struct return_search *search, uint64_t address, enum beginning wanted,
                       struct return_path *out)
{
    unsigned tried = 0;

    for (uint64_t back = 0; back <= MOST_BACK && tried < MOST_BEGINNINGS; back++) {
        uint8_t bytes[BEGINNING_BYTES];
        struct state state;

        if (read_code(search, address - back, bytes, sizeof bytes) < sizeof bytes) {
            if (back < sizeof bytes)
                continue; /* at the end of the code */
            return false;
        }
        if (beginning_at(search, address - back, bytes) != wanted)
            continue;
        tried++;
        if (leads_to(search, address - back, address, &state, out) &&
            tell_entered(&state, wanted, out) && accepts(search, out))
            return true;
    }
    return false;
}

struct return_search *return_search_open(void)
{
    return malloc(sizeof(struct return_search));
}

void return_search_close(struct return_search *search)
{
    free(search);
}

enum return_result return_path_find(struct return_search *search, const struct return_code *code,
                                    uint64_t address, struct return_path *out)
{
    bool halts;

    search->code = code;
    search->is_entering = false;
    if (find_exit(search, address, out))
        return RETURN_FOUND;
    halts = search->halts && !search->returns;
    /* There are many guesses, so they are tried last.  */
    if (find_entry(search, address, BEGINNING_FRAME, out) ||
        find_entry(search, address, BEGINNING_GUESS, out))
        return RETURN_FOUND;
    return halts ? RETURN_HALTS : RETURN_NONE;
}
