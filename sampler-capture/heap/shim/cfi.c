/* cfi.c - .eh_frame of x86-64 (System V ABI, LSB "Exception Frames", DWARF 5 section 6.4).  */
#include "sampler-capture/heap/shim/cfi.h"

#include "sampler-capture/heap/shim/object.h"
#include "sampler-capture/heap/shim/stack.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#if defined __x86_64__ && defined DLFO_STRUCT_HAS_EH_DBASE

/* What a table says of one program counter.  */
struct rule {
    bool simple;
    bool is_end;        /* the return address is undefined: the first function of a thread */
    bool from_rbp;      /* the canonical frame address is relative to rbp, not rsp */
    bool saves_rbp;     /* at rbp_offset from it */
    int32_t cfa_offset; /* bytes */
    int32_t rbp_offset; /* bytes */
};

/* ---- Reading bytes ---- */

struct bytes {
    const uint8_t *next;
    const uint8_t *end;
    bool bad;
};

static uint64_t take_fixed(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(bytes->end - bytes->next) < size) {
        bytes->bad = true;
        return 0;
    }
    memcpy(&value, bytes->next, size);
    bytes->next += size;
    return value;
}

static uint64_t take_uleb(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take_fixed(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    bytes->bad = true;
    return 0;
}

static int64_t take_sleb(struct bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 57; shift += 7) {
        uint64_t byte = take_fixed(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return (int64_t)(byte & 0x40 ? value | (~UINT64_C(0) << (shift + 7)) : value);
    }
    bytes->bad = true;
    return 0;
}

static void skip(struct bytes *bytes, uint64_t size)
{
    if ((uint64_t)(bytes->end - bytes->next) < size)
        bytes->bad = true;
    else
        bytes->next += size;
}

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

enum { RBP = 6, RSP = 7, RA = 16 };

#define MAX_REMEMBERED 8

/* The columns of the table that matter here, at one address.  */
struct columns {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool saves_rbp;
    int64_t rbp_offset;
    bool ra_undefined;
    int64_t ra_offset;
};

struct machine {
    struct columns now, initial;
    struct columns remembered[MAX_REMEMBERED];
    unsigned depth;
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t location, wanted;
    bool odd; /* something that is not simple, of a register that matters */
};

static bool matters(uint64_t number)
{
    return number == RBP || number == RSP || number == RA;
}

static void save(struct machine *machine, uint64_t number, int64_t offset)
{
    if (number == RBP) {
        machine->now.saves_rbp = true;
        machine->now.rbp_offset = offset;
    } else if (number == RA) {
        machine->now.ra_undefined = false;
        machine->now.ra_offset = offset;
    } else if (number == RSP) {
        machine->odd = true;
    }
}

static void restore(struct machine *machine, uint64_t number)
{
    if (number == RBP) {
        machine->now.saves_rbp = machine->initial.saves_rbp;
        machine->now.rbp_offset = machine->initial.rbp_offset;
    } else if (number == RA) {
        machine->now.ra_undefined = machine->initial.ra_undefined;
        machine->now.ra_offset = machine->initial.ra_offset;
    }
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
        save(machine, number, (int64_t)take_uleb(bytes) * machine->data_factor);
        break;
    case 0x06: /* restore_extended */
        restore(machine, take_uleb(bytes));
        break;
    case 0x07: /* undefined */
        number = take_uleb(bytes);
        if (number == RA)
            machine->now.ra_undefined = true;
        else
            machine->odd |= matters(number);
        break;
    case 0x08: /* same_value */
        number = take_uleb(bytes);
        if (number == RBP)
            machine->now.saves_rbp = false;
        else
            machine->odd |= number == RA;
        break;
    case 0x09: /* register */
        machine->odd |= matters(take_uleb(bytes));
        (void)take_uleb(bytes);
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
        machine->now.cfa_register = take_uleb(bytes);
        break;
    case 0x0e: /* def_cfa_offset */
        machine->now.cfa_offset = (int64_t)take_uleb(bytes);
        break;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        machine->odd |= matters(take_uleb(bytes));
        skip(bytes, take_uleb(bytes));
        break;
    case 0x11: /* offset_extended_sf */
        number = take_uleb(bytes);
        save(machine, number, take_sleb(bytes) * machine->data_factor);
        break;
    case 0x12: /* def_cfa_sf */
        number = take_uleb(bytes);
        define_cfa(machine, number, take_sleb(bytes) * machine->data_factor);
        break;
    case 0x13: /* def_cfa_offset_sf */
        machine->now.cfa_offset = take_sleb(bytes) * machine->data_factor;
        break;
    case 0x2e: /* GNU_args_size */
        (void)take_uleb(bytes);
        break;
    default: /* def_cfa_expression (0x0f) and what is rare */
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
        struct columns before = machine->now;

        switch (code >> 6) {
        case 1: /* advance_loc */
            machine->location += low * machine->code_factor;
            break;
        case 2: /* offset */
            save(machine, low, (int64_t)take_uleb(&bytes) * machine->data_factor);
            break;
        case 3: /* restore */
            restore(machine, low);
            break;
        default:
            execute_extended(machine, code, &bytes);
            break;
        }
        if (machine->location > machine->wanted)
            machine->now = before;
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
    if (take_fixed(&bytes, 1) != RA)
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
        default: /* 'S', a signal frame, and what is rare */
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

/* What the table says of pc.  Not simple where there is none.  */
static struct rule read_rule(const uint8_t *header, uint64_t pc)
{
    const struct rule odd = { .simple = false };
    struct machine machine = { .now.ra_offset = 0 };
    const uint8_t *address = find_entry(header, pc);
    const uint8_t *common;
    struct bytes bytes;
    uint64_t start;

    if (!address)
        return odd;
    bytes = entry_at(address);
    common = bytes.next;
    common -= take_fixed(&bytes, 4);
    if (bytes.bad || common == address + 4 || !read_common(common, &machine))
        return odd;
    start = (uint64_t)(uintptr_t)bytes.next;
    start += (uint64_t)(int64_t)(int32_t)take_fixed(&bytes, 4);
    if (pc - start >= take_fixed(&bytes, 4) || bytes.bad)
        return odd;
    skip(&bytes, take_uleb(&bytes));
    machine.location = start;
    machine.wanted = pc;
    execute(&machine, bytes);
    if (machine.odd || (machine.now.cfa_register != RBP && machine.now.cfa_register != RSP) ||
        (machine.now.ra_offset != -8 && !machine.now.ra_undefined) || machine.now.cfa_offset <= 0 ||
        machine.now.cfa_offset >= 1 << 24 || machine.now.rbp_offset < -(1 << 14) ||
        machine.now.rbp_offset > 0 || machine.now.cfa_offset % 8 || machine.now.rbp_offset % 8)
        return odd;
    return (struct rule){
        .simple = true,
        .is_end = machine.now.ra_undefined,
        .from_rbp = machine.now.cfa_register == RBP,
        .saves_rbp = machine.now.saves_rbp,
        .cfa_offset = (int32_t)machine.now.cfa_offset,
        .rbp_offset = (int32_t)machine.now.rbp_offset,
    };
}

/* ---- Keeping rules ---- */

/* Two words that no lock guards: the first is the key exclusive-or the second, so that words of two
 * writers do not pass for an entry.  */
static struct {
    _Atomic uint64_t check, packed;
} kept[8192];

static uint64_t pack(const struct rule *rule)
{
    return 1 | (uint64_t)rule->simple << 1 | (uint64_t)rule->is_end << 2 |
           (uint64_t)rule->from_rbp << 3 | (uint64_t)rule->saves_rbp << 4 |
           (uint64_t)(uint32_t)rule->cfa_offset << 8 | (uint64_t)(uint32_t)-rule->rbp_offset << 40;
}

static struct rule unpack(uint64_t packed)
{
    return (struct rule){
        .simple = packed >> 1 & 1,
        .is_end = packed >> 2 & 1,
        .from_rbp = packed >> 3 & 1,
        .saves_rbp = packed >> 4 & 1,
        .cfa_offset = (int32_t)(packed >> 8 & 0xffffff),
        .rbp_offset = -(int32_t)(packed >> 40),
    };
}

/* The object that the last program counter was in: callers often are in the same one.  */
struct object {
    uint64_t start, size;
    const uint8_t *header;
    /* Part of the key of its rules, since another one may be loaded where one was.  */
    uint64_t mark;
};

static bool find_object(uint64_t pc, struct object *object, struct cfi_walk *walk)
{
    struct dl_find_object found;

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0)
        return false;
    object->start = (uint64_t)(uintptr_t)found.dlfo_map_start;
    object->size = (uint64_t)(uintptr_t)found.dlfo_map_end - object->start;
    object->header = found.dlfo_eh_frame;
    object->mark = shim_object_mark(&found);
    if (walk->visit)
        walk->visit(walk, &found, object->mark);
    return true;
}

static __attribute__((noinline)) uint64_t keep_rule(const struct object *object, uint64_t pc,
                                                    uint64_t key, size_t at)
{
    struct rule rule = { .simple = false };
    uint64_t packed;

    if (object->header)
        rule = read_rule(object->header, pc);
    packed = pack(&rule);
    atomic_store_explicit(&kept[at].packed, packed, memory_order_relaxed);
    atomic_store_explicit(&kept[at].check, key ^ packed, memory_order_relaxed);
    return packed;
}

static inline struct rule find_rule(const struct object *object, uint64_t pc)
{
    uint64_t key = (pc ^ object->mark) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = key >> 51;
    uint64_t packed = atomic_load_explicit(&kept[at].packed, memory_order_relaxed);

    if (!(packed & 1) ||
        (atomic_load_explicit(&kept[at].check, memory_order_relaxed) ^ packed) != key)
        packed = keep_rule(object, pc, key, at);
    return unpack(packed);
}

/* ---- Walking ---- */

static uint64_t word_at(uint64_t address)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return *(const uint64_t *)(uintptr_t)address;
}

struct registers {
    uint64_t pc, rsp, rbp;
};

/* What a caller had, by its frame pointer.  Callers' frames lie higher.  */
static bool step_by_pointer(struct registers *registers)
{
    uint64_t frame = registers->rbp;

    if (frame < registers->rsp || frame % 8 != 0 || !shim_stack_has(frame, 16))
        return false;
    registers->rbp = word_at(frame);
    registers->pc = word_at(frame + 8);
    registers->rsp = frame + 16;
    return true;
}

static bool step(struct registers *registers, struct rule rule)
{
    uint64_t cfa = (rule.from_rbp ? registers->rbp : registers->rsp) + (uint64_t)rule.cfa_offset;

    if (cfa <= registers->rsp || cfa % 8 != 0 || !shim_stack_has(cfa - 8, 8))
        return false;
    registers->pc = word_at(cfa - 8);
    if (rule.saves_rbp) {
        uint64_t saved = cfa + (uint64_t)(int64_t)rule.rbp_offset;

        if (!shim_stack_has(saved, 8))
            return false;
        registers->rbp = word_at(saved);
    }
    registers->rsp = cfa;
    return true;
}

bool shim_cfi_walk(uintptr_t frame, struct cfi_walk *walk)
{
    struct registers registers = { .rbp = word_at(frame),
                                   .pc = word_at(frame + 8),
                                   .rsp = frame + 16 };
    struct object object = { .size = 0 };

    shim_stack_begin(frame);
    while (registers.pc != 0) {
        uint64_t pc = registers.pc - 1; /* in the call */
        struct rule rule;

        walk->stack[walk->count++] = registers.pc;
        if (walk->count == walk->room)
            break;
        if (pc - object.start >= object.size && !find_object(pc, &object, walk)) {
            if (!step_by_pointer(&registers))
                break;
            continue;
        }
        rule = find_rule(&object, pc);
        if (!rule.simple)
            return false;
        if (rule.is_end || !step(&registers, rule))
            break;
    }
    return true;
}

#else

bool shim_cfi_walk(uintptr_t frame, struct cfi_walk *walk)
{
    (void)frame, (void)walk;
    return false;
}

#endif
