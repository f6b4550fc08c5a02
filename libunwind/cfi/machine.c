/* machine.c - executes call frame instructions (DWARF 5 section 6.4.2).  */
#include "libunwind/cfi/cfi.h"

/* Rules of vector registers and the like are left out: no caller is found by them.  */
static void set(struct cfi_machine *machine, uint64_t number, enum cfi_kind kind, int64_t value)
{
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = (uint8_t)kind;
    machine->now.values[number].offset = value;
}

/* factor * value, which wraps around as the numbers of hostile tables do.  */
static int64_t scale(const struct cfi_machine *machine, uint64_t value)
{
    return (int64_t)(value * (uint64_t)machine->data_factor);
}

static void set_expression(struct cfi_machine *machine, enum cfi_kind kind)
{
    uint64_t number = cfi_take_uleb(&machine->rest);
    const uint8_t *expression = machine->rest.next;

    cfi_skip(&machine->rest, cfi_take_uleb(&machine->rest));
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = (uint8_t)kind;
    machine->now.values[number].expression = expression;
}

static void restore(struct cfi_machine *machine, uint64_t number)
{
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = machine->initial.kinds[number];
    machine->now.values[number] = machine->initial.values[number];
}

static void remember(struct cfi_machine *machine)
{
    if (machine->depth == CFI_MAX_REMEMBERED)
        machine->odd = true;
    else
        machine->remembered[machine->depth++] = machine->now;
}

static void recall(struct cfi_machine *machine)
{
    if (machine->depth == 0)
        machine->odd = true;
    else
        machine->now = machine->remembered[--machine->depth];
}

static void define_cfa(struct cfi_machine *machine, uint64_t number, int64_t offset)
{
    machine->now.cfa_expression = NULL;
    machine->now.cfa_register = number;
    machine->now.cfa_offset = offset;
}

/* Beyond the end of the entry there are no rows.  */
static void advance(struct cfi_machine *machine, uint64_t units)
{
    uint64_t bytes, location;

    if (__builtin_mul_overflow(units, machine->code_factor, &bytes) ||
        __builtin_add_overflow(machine->location, bytes, &location) || location > machine->limit)
        location = machine->limit;
    machine->location = location;
}

/* Instructions that set a register's rule; false: it is none of these.  */
static bool execute_rule(struct cfi_machine *machine, unsigned code)
{
    struct cfi_bytes *bytes = &machine->rest;
    uint64_t number = cfi_take_uleb(bytes);

    switch (code) {
    case 0x05: /* offset_extended */
        set(machine, number, CFI_SAVED, scale(machine, cfi_take_uleb(bytes)));
        break;
    case 0x06: /* restore_extended */
        restore(machine, number);
        break;
    case 0x07: /* undefined */
        set(machine, number, CFI_UNDEFINED, 0);
        break;
    case 0x08: /* same_value */
        set(machine, number, CFI_SAME, 0);
        break;
    case 0x09: /* register */
        set(machine, number, CFI_REGISTER, (int64_t)cfi_take_uleb(bytes));
        break;
    case 0x11: /* offset_extended_sf */
        set(machine, number, CFI_SAVED, scale(machine, (uint64_t)cfi_take_sleb(bytes)));
        break;
    case 0x14: /* val_offset */
        set(machine, number, CFI_VALUE, scale(machine, cfi_take_uleb(bytes)));
        break;
    case 0x15: /* val_offset_sf */
        set(machine, number, CFI_VALUE, scale(machine, (uint64_t)cfi_take_sleb(bytes)));
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        set(machine, number, CFI_SAVED, scale(machine, -cfi_take_uleb(bytes)));
        break;
    default:
        return false;
    }
    return true;
}

/* Instructions that define the canonical frame address; false: it is none of these.  */
static bool execute_cfa(struct cfi_machine *machine, unsigned code)
{
    struct cfi_bytes *bytes = &machine->rest;
    uint64_t number;

    switch (code) {
    case 0x0c: /* def_cfa */
        number = cfi_take_uleb(bytes);
        define_cfa(machine, number, (int64_t)cfi_take_uleb(bytes));
        break;
    case 0x0d: /* def_cfa_register */
        define_cfa(machine, cfi_take_uleb(bytes), machine->now.cfa_offset);
        break;
    case 0x0e: /* def_cfa_offset */
        machine->now.cfa_offset = (int64_t)cfi_take_uleb(bytes);
        break;
    case 0x0f: /* def_cfa_expression */
        machine->now.cfa_expression = bytes->next;
        cfi_skip(bytes, cfi_take_uleb(bytes));
        break;
    case 0x12: /* def_cfa_sf */
        number = cfi_take_uleb(bytes);
        define_cfa(machine, number, scale(machine, (uint64_t)cfi_take_sleb(bytes)));
        break;
    case 0x13: /* def_cfa_offset_sf */
        machine->now.cfa_offset = scale(machine, (uint64_t)cfi_take_sleb(bytes));
        break;
    default:
        return false;
    }
    return true;
}

/* Instructions whose first byte has its highest two bits zero.  */
static void execute_extended(struct cfi_machine *machine, unsigned code)
{
    struct cfi_bytes *bytes = &machine->rest;

    switch (code) {
    case 0x00: /* nop */
        break;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        advance(machine, cfi_take(bytes, (size_t)1 << (code - 0x02)));
        break;
    case 0x0a:
        remember(machine);
        break;
    case 0x0b:
        recall(machine);
        break;
    case 0x10: /* expression */
        set_expression(machine, CFI_SAVED_AT);
        break;
    case 0x16: /* val_expression */
        set_expression(machine, CFI_VALUE_OF);
        break;
    case 0x2d: /* AARCH64_negate_ra_state: the walk strips signatures from every return address */
        machine->odd |= !machine->is_arm64;
        break;
    case 0x2e: /* GNU_args_size */
        (void)cfi_take_uleb(bytes);
        break;
    default:
        machine->odd |= !execute_cfa(machine, code) && !execute_rule(machine, code);
        break;
    }
}

static void execute(struct cfi_machine *machine)
{
    unsigned code = (unsigned)cfi_take(&machine->rest, 1), low = code & 0x3f;

    switch (code >> 6) {
    case 1: /* advance_loc */
        advance(machine, low);
        break;
    case 2: /* offset */
        set(machine, low, CFI_SAVED, scale(machine, cfi_take_uleb(&machine->rest)));
        break;
    case 3: /* restore */
        restore(machine, low);
        break;
    default:
        execute_extended(machine, code);
        break;
    }
    machine->odd |= machine->rest.bad;
}

bool cfi_begin(struct cfi_machine *machine, const struct cfi_program *program)
{
    machine->now = (struct cfi_row){ .return_column = (uint8_t)program->return_column,
                                     .is_signal = program->is_signal };
    machine->depth = 0;
    machine->code_factor = program->code_factor;
    machine->data_factor = program->data_factor;
    machine->is_arm64 = program->is_arm64;
    machine->location = program->start;
    machine->limit = program->limit;
    machine->odd = program->return_column >= CFI_COLUMNS || program->start > program->limit ||
                   program->initial_size > CFI_MAX_INITIAL ||
                   program->instructions_size > CFI_MAX_INSTRUCTIONS;
    machine->rest = (struct cfi_bytes){ .next = program->initial,
                                        .end = program->initial + program->initial_size };
    while (!machine->odd && machine->rest.next < machine->rest.end)
        execute(machine);
    machine->initial = machine->now;
    machine->location = program->start;
    machine->rest = (struct cfi_bytes){ .next = program->instructions,
                                        .end = program->instructions + program->instructions_size };
    return !machine->odd;
}

bool cfi_next(struct cfi_machine *machine)
{
    uint64_t start = machine->location;

    if (machine->odd || start >= machine->limit)
        return false;
    /* The rules in force when the location moves on are those of the row.  An instruction that
     * moves it sets no rule.  */
    while (machine->location == start && machine->rest.next < machine->rest.end && !machine->odd)
        execute(machine);
    if (machine->odd)
        return false;
    if (machine->location == start) /* the last row */
        machine->location = machine->limit;
    machine->now.start = start;
    machine->now.limit = machine->location;
    return true;
}
