/* cfi_full.c - the walk with all registers, of whatever tables may say: signal frames, realigned
 * stacks, frame addresses in other registers.
 *
 * It begins in its own frame, since what registers had in a caller is found in what it called.  As
 * everywhere nothing is read but pages of the stack that can be read: after a signal frame, those
 * of the stack that was interrupted.  */
#include "sampler-capture/heap/shim/cfi_parts.h"

#include "sampler-capture/heap/shim/stack.h"

#ifdef SHIM_HAS_CFI

static bool read_number(void *context, uint64_t address, unsigned size, uint64_t *value)
{
    (void)context;
    *value = 0;
    if (!shim_stack_has(address, size))
        return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    memcpy(value, (const void *)(uintptr_t)address, size);
    return true;
}

static bool read_word(uint64_t address, uint64_t *word)
{
    return read_number(NULL, address, sizeof *word, word);
}

static bool evaluate(const uint8_t *expression, const uint64_t *registers, const uint64_t *first,
                     uint64_t *result)
{
    const struct cfi_frame frame = { .registers = registers,
                                     .known = UINT64_MAX,
                                     .read = read_number };

    return cfi_evaluate(expression, &frame, first, result);
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
        *value = number == CFI_X86_RSP ? cfa : registers[number];
        return number != CFI_X86_RA;
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
        shim_stack_begin(next.registers[CFI_X86_RSP], false);
    else if (next.registers[CFI_X86_RSP] <= state->registers[CFI_X86_RSP])
        return false;
    *state = next;
    return true;
}

/* Code of no object: by its frame pointer.  */
static bool step_by_pointer(struct state *state)
{
    uint64_t *registers = state->registers;
    uint64_t frame = registers[CFI_X86_RBP];

    if (frame < registers[CFI_X86_RSP] || frame % 8 != 0 || !shim_stack_has(frame, 16))
        return false;
    registers[CFI_X86_RSP] = frame + 16;
    state->is_exact = false;
    return read_word(frame + 8, &registers[CFI_X86_RA]) &&
           read_word(frame, &registers[CFI_X86_RBP]);
}

static bool step_any(struct state *state, struct cfi_object *object, struct cfi_walk *walk)
{
    uint64_t pc = state->registers[CFI_X86_RA] - !state->is_exact;
    struct cfi_row row;

    if (!find_object(pc, object, walk))
        return step_by_pointer(state);
    if (!find_row(object, pc, &row))
        return false;
    if (row.is_signal && !state->is_exact && walk->count > 0)
        walk->stack[walk->count - 1]++; /* exact: no call precedes it */
    return step(state, &row);
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
    shim_stack_begin(state.registers[CFI_X86_RSP], true);
    walk->count = 0;
    while (state.registers[CFI_X86_RA] != 0) {
        if (state.registers[CFI_X86_RSP] > frame || walk->count > 0)
            walk->stack[walk->count++] = state.registers[CFI_X86_RA] + state.is_exact;
        if (walk->count == walk->room || !step_any(&state, &object, walk))
            break;
    }
}

#else

typedef int cfi_full_is_empty; /* ISO C has no empty translation units */

#endif
