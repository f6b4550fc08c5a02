/* cfi_full.c - the walk with all registers, of whatever tables may say: signal frames, realigned
 * stacks, frame addresses in other registers.
 *
 * It begins in its own frame, since what registers had in a caller is found in what it called.  As
 * everywhere nothing is read but pages of the stack that can be read: after a signal frame, those
 * of the stack that was interrupted.  */
#include "sampler-capture/heap/shim/cfi_parts.h"

#include "sampler-capture/heap/shim/stack.h"

#ifdef SHIM_HAS_CFI

static bool read_word(uint64_t address, uint64_t *word)
{
    if (!shim_stack_has(address, sizeof *word))
        return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    memcpy(word, (const void *)(uintptr_t)address, sizeof *word);
    return true;
}

/* ---- Expressions (DWARF 5 section 2.5) ---- */

#define MAX_VALUES 16

struct values {
    uint64_t each[MAX_VALUES];
    unsigned count;
    bool bad; /* too many, too few, or an operation that we do not know */
};

static void push(struct values *values, uint64_t value)
{
    if (values->count == MAX_VALUES)
        values->bad = true;
    else
        values->each[values->count++] = value;
}

static uint64_t pop(struct values *values)
{
    if (values->count == 0) {
        values->bad = true;
        return 0;
    }
    return values->each[--values->count];
}

static void load(struct values *values)
{
    uint64_t word = 0;

    values->bad |= !read_word(pop(values), &word);
    push(values, word);
}

/* A constant that follows the operation, of 1, 2, 4 or 8 bytes, unsigned and signed in turn.  */
static uint64_t constant(unsigned code, struct bytes *bytes)
{
    unsigned size = 1U << ((code - 0x08) / 2), unused = 64 - 8 * size;
    uint64_t value = take_fixed(bytes, size);

    return code & 1 ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static uint64_t combine(unsigned code, uint64_t a, uint64_t b, bool *bad)
{
    switch (code) {
    case 0x1a: /* and */
        return a & b;
    case 0x1c: /* minus */
        return a - b;
    case 0x1e: /* mul */
        return a * b;
    case 0x21: /* or */
        return a | b;
    case 0x22: /* plus */
        return a + b;
    case 0x24: /* shl */
        return b < 64 ? a << b : 0;
    case 0x25: /* shr */
        return b < 64 ? a >> b : 0;
    case 0x29: /* eq, ge, gt, le, lt, ne: of signed numbers */
        return a == b;
    case 0x2a:
        return (int64_t)a >= (int64_t)b;
    case 0x2b:
        return (int64_t)a > (int64_t)b;
    case 0x2c:
        return (int64_t)a <= (int64_t)b;
    case 0x2d:
        return (int64_t)a < (int64_t)b;
    case 0x2e:
        return a != b;
    default:
        *bad = true;
        return 0;
    }
}

static void operate(struct values *values, unsigned code, struct bytes *bytes,
                    const uint64_t *registers)
{
    uint64_t value;

    switch (code) {
    case 0x06: /* deref */
        load(values);
        break;
    case 0x10: /* constu */
        push(values, take_uleb(bytes));
        break;
    case 0x11: /* consts */
        push(values, (uint64_t)take_sleb(bytes));
        break;
    case 0x12: /* dup */
        value = pop(values);
        push(values, value);
        push(values, value);
        break;
    case 0x13: /* drop */
        (void)pop(values);
        break;
    case 0x23: /* plus_uconst */
        push(values, pop(values) + take_uleb(bytes));
        break;
    case 0x96: /* nop */
        break;
    default:
        if (code >= 0x08 && code <= 0x0f) {
            push(values, constant(code, bytes));
        } else if (code >= 0x30 && code <= 0x4f) { /* lit0 and so on */
            push(values, code - 0x30);
        } else if (code >= 0x70 && code < 0x70 + CFI_COLUMNS) { /* breg0 and so on */
            push(values, registers[code - 0x70] + (uint64_t)take_sleb(bytes));
        } else {
            value = pop(values);
            push(values, combine(code, pop(values), value, &values->bad));
        }
        break;
    }
}

/* What an expression gives where *first, if there is one, lies on the stack of values.  There are
 * no jumps, so it ends.  */
static bool evaluate(const uint8_t *expression, const uint64_t *registers, const uint64_t *first,
                     uint64_t *result)
{
    struct bytes bytes = { .next = expression, .end = expression + 10 }; /* of a LEB128 */
    struct values values = { .count = 0 };
    uint64_t size = take_uleb(&bytes);

    bytes.end = bytes.next + size; /* it lies in the entry: cfi_table.c has looked */
    if (first)
        push(&values, *first);
    while (bytes.next < bytes.end && !bytes.bad && !values.bad)
        operate(&values, (unsigned)take_fixed(&bytes, 1), &bytes, registers);
    *result = pop(&values);
    return !bytes.bad && !values.bad;
}

/* ---- Walking ---- */

struct state {
    uint64_t registers[CFI_COLUMNS];
    bool is_exact; /* the program counter is where a signal arrived, and not behind a call */
};

static bool find_cfa(const struct cfi_row *row, const uint64_t *registers, uint64_t *cfa)
{
    if (row->cfa_expression)
        return evaluate(row->cfa_expression, registers, NULL, cfa);
    if (row->cfa_register >= CFI_COLUMNS)
        return false;
    *cfa = registers[row->cfa_register] + (uint64_t)row->cfa_offset;
    return true;
}

static bool find_register(const struct cfi_row *row, unsigned number, const uint64_t *registers,
                          uint64_t cfa, uint64_t *value)
{
    int64_t offset = row->values[number].offset;
    const uint8_t *expression = row->values[number].expression;

    switch ((enum cfi_kind)row->kinds[number]) {
    case CFI_SAME:
        *value = number == CFI_RSP ? cfa : registers[number];
        return number != CFI_RA;
    case CFI_UNDEFINED:
        *value = 0;
        return true;
    case CFI_SAVED:
        return read_word(cfa + (uint64_t)offset, value);
    case CFI_VALUE:
        *value = cfa + (uint64_t)offset;
        return true;
    case CFI_REGISTER:
        if (offset < 0 || offset >= CFI_COLUMNS)
            return false;
        *value = registers[offset];
        return true;
    case CFI_SAVED_AT:
        return evaluate(expression, registers, &cfa, value) && read_word(*value, value);
    case CFI_VALUE_OF:
        return evaluate(expression, registers, &cfa, value);
    }
    return false;
}

/* Callers' frames lie higher, but for what a signal has interrupted, which may be on any stack.  */
static bool step(struct state *state, const struct cfi_row *row)
{
    struct state next = { .is_exact = row->is_signal };
    uint64_t cfa;

    if (!find_cfa(row, state->registers, &cfa))
        return false;
    for (unsigned i = 0; i < CFI_COLUMNS; i++)
        if (!find_register(row, i, state->registers, cfa, &next.registers[i]))
            return false;
    if (row->is_signal)
        shim_stack_begin(next.registers[CFI_RSP], false);
    else if (next.registers[CFI_RSP] <= state->registers[CFI_RSP])
        return false;
    *state = next;
    return true;
}

/* Code of no object: by its frame pointer.  */
static bool step_by_pointer(struct state *state)
{
    uint64_t *registers = state->registers;
    uint64_t frame = registers[CFI_RBP];

    if (frame < registers[CFI_RSP] || frame % 8 != 0 || !shim_stack_has(frame, 16))
        return false;
    registers[CFI_RSP] = frame + 16;
    state->is_exact = false;
    return read_word(frame + 8, &registers[CFI_RA]) && read_word(frame, &registers[CFI_RBP]);
}

static bool step_any(struct state *state, struct cfi_object *object, struct cfi_walk *walk)
{
    uint64_t pc = state->registers[CFI_RA] - !state->is_exact;
    struct cfi_row row;

    if (!cfi_find(pc, object, walk))
        return step_by_pointer(state);
    return object->header && shim_cfi_read(object->header, pc, &row) && step(state, &row);
}

/* What a caller must find as it was, at this place.  */
static inline __attribute__((always_inline)) void look(struct state *state)
{
    __asm__ volatile("movq %%rbx, 24(%0)\n"
                     "movq %%rbp, 48(%0)\n"
                     "movq %%rsp, 56(%0)\n"
                     "movq %%r12, 96(%0)\n"
                     "movq %%r13, 104(%0)\n"
                     "movq %%r14, 112(%0)\n"
                     "movq %%r15, 120(%0)\n"
                     "leaq 0(%%rip), %%rax\n"
                     "movq %%rax, 128(%0)\n"
                     :
                     : "r"(state->registers)
                     : "rax", "memory");
    state->is_exact = true;
}

__attribute__((noinline)) void shim_cfi_walk_fully(uintptr_t frame, struct cfi_walk *walk)
{
    struct cfi_object object = { .size = 0 };
    struct state state = { .is_exact = true };

    look(&state);
    shim_stack_begin(state.registers[CFI_RSP], true);
    walk->count = 0;
    while (state.registers[CFI_RA] != 0) {
        if (state.registers[CFI_RSP] > frame || walk->count > 0)
            walk->stack[walk->count++] = state.registers[CFI_RA] + state.is_exact;
        if (walk->count == walk->room || !step_any(&state, &object, walk))
            break;
    }
}

#else

typedef int cfi_full_is_empty; /* ISO C has no empty translation units */

#endif
