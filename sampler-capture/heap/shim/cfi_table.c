/* cfi_table.c - reads .eh_frame of x86-64 (System V ABI, LSB "Exception Frames", DWARF 5).  */
#include "sampler-capture/heap/shim/cfi_parts.h"

#ifdef SHIM_HAS_CFI

#include <string.h>

/* The contents of the entry at address, CIE or FDE, behind its length.  */
static struct bytes entry_at(const uint8_t *address)
{
    uint32_t length;

    memcpy(&length, address, sizeof length);
    if (length >= 0xfffffff0) /* the 64-bit form */
        length = 0;
    return (struct bytes){ .next = address + 4, .end = address + 4 + length };
}

/* ---- Finding the entry of a function ---- */

#define PCREL_SDATA4   0x1b
#define DATAREL_SDATA4 0x3b
#define UDATA4         0x03

/* The FDE that begins last before pc, by the table of .eh_frame_hdr; NULL: none, or another form of
 * table than linkers make.  */
static const uint8_t *find_entry(const uint8_t *header, uint64_t pc)
{
    int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)header);
    uint32_t count, low = 0;
    int32_t row[2];

    if (header[0] != 1 || header[1] != PCREL_SDATA4 || header[2] != UDATA4 ||
        header[3] != DATAREL_SDATA4)
        return NULL;
    memcpy(&count, header + 8, sizeof count);
    for (uint32_t high = count; low < high;) { /* rows before low begin at or before pc */
        uint32_t middle = low + (high - low) / 2;

        memcpy(row, header + 12 + (size_t)middle * sizeof row, sizeof row);
        if (row[0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    memcpy(row, header + 12 + (size_t)(low - 1) * sizeof row, sizeof row);
    return header + row[1];
}

/* ---- Executing it ---- */

/* Deeper than compilers nest them; the stack that this runs on may be a small one.  */
#define MAX_REMEMBERED 4

struct machine {
    struct cfi_row now, initial;
    struct cfi_row remembered[MAX_REMEMBERED];
    unsigned depth;
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t location, wanted;
    bool odd; /* something that we do not know */
};

/* Registers that the ABI has none of, or that no callers are found by, are left out.  */
static void set(struct machine *machine, uint64_t number, enum cfi_kind kind, int64_t value)
{
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = (uint8_t)kind;
    machine->now.values[number].offset = value;
}

static void set_expression(struct machine *machine, enum cfi_kind kind, struct bytes *bytes)
{
    uint64_t number = take_uleb(bytes);
    const uint8_t *expression = bytes->next;

    skip(bytes, take_uleb(bytes));
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = (uint8_t)kind;
    machine->now.values[number].expression = expression;
}

static void restore(struct machine *machine, uint64_t number)
{
    if (number >= CFI_COLUMNS)
        return;
    machine->now.kinds[number] = machine->initial.kinds[number];
    machine->now.values[number] = machine->initial.values[number];
}

static void remember(struct machine *machine)
{
    if (machine->depth == MAX_REMEMBERED)
        machine->odd = true;
    else
        machine->remembered[machine->depth++] = machine->now;
}

static void recall(struct machine *machine)
{
    if (machine->depth == 0)
        machine->odd = true;
    else
        machine->now = machine->remembered[--machine->depth];
}

static void define_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->now.cfa_expression = NULL;
    machine->now.cfa_register = number;
    machine->now.cfa_offset = offset;
}

/* An instruction whose first byte has its highest two bits zero.  */
static void execute_extended(struct machine *machine, unsigned code, struct bytes *bytes)
{
    uint64_t number;

    switch (code) {
    case 0x00: /* nop */
        break;
    case 0x02: /* advance_loc1, 2, 4 */
        machine->location += take_fixed(bytes, 1) * machine->code_factor;
        break;
    case 0x03:
        machine->location += take_fixed(bytes, 2) * machine->code_factor;
        break;
    case 0x04:
        machine->location += take_fixed(bytes, 4) * machine->code_factor;
        break;
    case 0x05: /* offset_extended */
        number = take_uleb(bytes);
        set(machine, number, CFI_SAVED, (int64_t)take_uleb(bytes) * machine->data_factor);
        break;
    case 0x06: /* restore_extended */
        restore(machine, take_uleb(bytes));
        break;
    case 0x07: /* undefined */
        set(machine, take_uleb(bytes), CFI_UNDEFINED, 0);
        break;
    case 0x08: /* same_value */
        set(machine, take_uleb(bytes), CFI_SAME, 0);
        break;
    case 0x09: /* register */
        number = take_uleb(bytes);
        set(machine, number, CFI_REGISTER, (int64_t)take_uleb(bytes));
        break;
    case 0x0a: /* remember_state */
        remember(machine);
        break;
    case 0x0b: /* restore_state */
        recall(machine);
        break;
    case 0x0c: /* def_cfa */
        number = take_uleb(bytes);
        define_cfa(machine, number, (int64_t)take_uleb(bytes));
        break;
    case 0x0d: /* def_cfa_register */
        define_cfa(machine, take_uleb(bytes), machine->now.cfa_offset);
        break;
    case 0x0e: /* def_cfa_offset */
        machine->now.cfa_offset = (int64_t)take_uleb(bytes);
        break;
    case 0x0f: /* def_cfa_expression */
        machine->now.cfa_expression = bytes->next;
        skip(bytes, take_uleb(bytes));
        break;
    case 0x10: /* expression */
        set_expression(machine, CFI_SAVED_AT, bytes);
        break;
    case 0x11: /* offset_extended_sf */
        number = take_uleb(bytes);
        set(machine, number, CFI_SAVED, take_sleb(bytes) * machine->data_factor);
        break;
    case 0x12: /* def_cfa_sf */
        number = take_uleb(bytes);
        define_cfa(machine, number, take_sleb(bytes) * machine->data_factor);
        break;
    case 0x13: /* def_cfa_offset_sf */
        machine->now.cfa_offset = take_sleb(bytes) * machine->data_factor;
        break;
    case 0x14: /* val_offset */
        number = take_uleb(bytes);
        set(machine, number, CFI_VALUE, (int64_t)take_uleb(bytes) * machine->data_factor);
        break;
    case 0x15: /* val_offset_sf */
        number = take_uleb(bytes);
        set(machine, number, CFI_VALUE, take_sleb(bytes) * machine->data_factor);
        break;
    case 0x16: /* val_expression */
        set_expression(machine, CFI_VALUE_OF, bytes);
        break;
    case 0x2e: /* GNU_args_size */
        (void)take_uleb(bytes);
        break;
    default:
        machine->odd = true;
        break;
    }
}

/* Up to the address that is wanted, or the end.  */
static void execute(struct machine *machine, struct bytes bytes)
{
    while (bytes.next < bytes.end && !bytes.bad && !machine->odd &&
           machine->location <= machine->wanted) {
        unsigned code = (unsigned)take_fixed(&bytes, 1), low = code & 0x3f;

        switch (code >> 6) {
        case 1: /* advance_loc */
            machine->location += low * machine->code_factor;
            break;
        case 2: /* offset */
            set(machine, low, CFI_SAVED, (int64_t)take_uleb(&bytes) * machine->data_factor);
            break;
        case 3: /* restore */
            restore(machine, low);
            break;
        default:
            execute_extended(machine, code, &bytes);
            break;
        }
    }
    machine->odd |= bytes.bad;
}

/* Reads a CIE and executes it.  False when it is none that we know.  */
static bool read_common(const uint8_t *address, struct machine *machine)
{
    struct bytes bytes = entry_at(address), augmentation;
    const char *letters;
    bool pcrel = false;

    if (take_fixed(&bytes, 4) != 0 || take_fixed(&bytes, 1) != 1) /* its id and version */
        return false;
    letters = (const char *)bytes.next;
    if (take_fixed(&bytes, 1) != 'z')
        return false;
    while (take_fixed(&bytes, 1) != 0 && !bytes.bad)
        ;
    machine->code_factor = take_uleb(&bytes);
    machine->data_factor = take_sleb(&bytes);
    if (take_fixed(&bytes, 1) != CFI_RA)
        return false;
    augmentation = bytes;
    skip(&bytes, take_uleb(&bytes));
    (void)take_uleb(&augmentation);
    for (letters++; *letters && !augmentation.bad; letters++) {
        uint64_t encoding;

        switch (*letters) {
        case 'R':
            pcrel = take_fixed(&augmentation, 1) == PCREL_SDATA4;
            break;
        case 'P': /* of a personality routine; 4 bytes or 8 */
            encoding = take_fixed(&augmentation, 1) & 7;
            skip(&augmentation, encoding == 3 ? 4 : 8);
            break;
        case 'L':
            skip(&augmentation, 1);
            break;
        case 'S':
            machine->now.is_signal = true;
            break;
        default:
            return false;
        }
    }
    if (!pcrel || bytes.bad || augmentation.bad)
        return false;
    machine->wanted = UINT64_MAX; /* all of it, whatever the address */
    execute(machine, bytes);
    machine->initial = machine->now;
    return !machine->odd;
}

bool shim_cfi_read(const uint8_t *header, uint64_t pc, struct cfi_row *row)
{
    struct machine machine = { .depth = 0 };
    const uint8_t *address = find_entry(header, pc);
    const uint8_t *common;
    struct bytes bytes;
    uint64_t start;

    if (!address)
        return false;
    bytes = entry_at(address);
    common = bytes.next;
    common -= take_fixed(&bytes, 4);
    if (bytes.bad || common == address + 4 || !read_common(common, &machine))
        return false;
    start = (uint64_t)(uintptr_t)bytes.next;
    start += (uint64_t)(int64_t)(int32_t)take_fixed(&bytes, 4);
    if (pc - start >= take_fixed(&bytes, 4) || bytes.bad)
        return false;
    skip(&bytes, take_uleb(&bytes));
    machine.location = start;
    machine.wanted = pc;
    execute(&machine, bytes);
    *row = machine.now;
    return !machine.odd;
}

#else

typedef int cfi_table_is_empty; /* ISO C has no empty translation units */

#endif
