/* shim_cfi.c - the walk by rules that are simple, which are kept.  */
#include "sampler-capture/heap/shim/cfi_parts.h"

#include "sampler-capture/heap/shim/shim_object.h"
#include "sampler-capture/heap/shim/stack.h"

#include <stdatomic.h>
#include <stddef.h>

#ifdef SHIM_HAS_CFI

/* What a table says of one program counter.  */
struct rule {
    bool simple;
    bool is_end;        /* the return address is undefined: the first function of a thread */
    bool from_rbp;      /* the canonical frame address is relative to rbp, not rsp */
    bool saves_rbp;     /* at rbp_offset from it */
    bool is_realigned;  /* that address lies in memory, cfa_offset below rbp; rbp is saved at rbp */
    int32_t cfa_offset; /* bytes */
    int32_t rbp_offset; /* bytes */
};

static bool is_simple(const struct cfi_row *row)
{
    uint8_t rbp = row->kinds[CFI_X86_RBP], ra = row->kinds[CFI_X86_RA];
    int64_t rbp_offset = rbp == CFI_SAVED ? row->values[CFI_X86_RBP].offset : 0;

    return !row->is_signal && !row->cfa_expression && row->kinds[CFI_X86_RSP] == CFI_SAME &&
           (row->cfa_register == CFI_X86_RBP || row->cfa_register == CFI_X86_RSP) &&
           row->cfa_offset > 0 && row->cfa_offset < 1 << 24 && row->cfa_offset % 8 == 0 &&
           (rbp == CFI_SAME || rbp == CFI_SAVED) && rbp_offset <= 0 && rbp_offset >= -(1 << 14) &&
           rbp_offset % 8 == 0 &&
           (ra == CFI_UNDEFINED || (ra == CFI_SAVED && row->values[CFI_X86_RA].offset == -8));
}

/* What GCC says where it realigns a stack: the frame address is "breg6 -n; deref", n a multiple of
 * 8 up to 64, and rbp is saved at "breg6 0".  */
static bool is_realigned(const struct cfi_row *row)
{
    static const uint8_t at_rbp[] = { 2, 0x76, 0 };
    const uint8_t *cfa = row->cfa_expression;

    return !row->is_signal && cfa && cfa[0] == 3 && cfa[1] == 0x76 && (cfa[2] & 0xc7) == 0x40 &&
           cfa[3] == 0x06 && row->kinds[CFI_X86_RSP] == CFI_SAME &&
           row->kinds[CFI_X86_RBP] == CFI_SAVED_AT &&
           memcmp(row->values[CFI_X86_RBP].expression, at_rbp, sizeof at_rbp) == 0 &&
           row->kinds[CFI_X86_RA] == CFI_SAVED && row->values[CFI_X86_RA].offset == -8;
}

static struct rule read_rule(const struct cfi_object *object, uint64_t pc)
{
    struct rule rule = { .simple = false };
    struct cfi_row row;

    if (!find_row(object, pc, &row))
        return rule;
    if (is_realigned(&row)) {
        rule.simple = rule.is_realigned = true;
        rule.cfa_offset = 0x80 - row.cfa_expression[2]; /* of the signed LEB128 -n */
        return rule;
    }
    if (!is_simple(&row))
        return rule;
    rule.simple = true;
    rule.is_end = row.kinds[CFI_X86_RA] == CFI_UNDEFINED;
    rule.from_rbp = row.cfa_register == CFI_X86_RBP;
    rule.saves_rbp = row.kinds[CFI_X86_RBP] == CFI_SAVED;
    rule.cfa_offset = (int32_t)row.cfa_offset;
    rule.rbp_offset = rule.saves_rbp ? (int32_t)row.values[CFI_X86_RBP].offset : 0;
    return rule;
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
           (uint64_t)rule->is_realigned << 5 | (uint64_t)(uint32_t)rule->cfa_offset << 8 |
           (uint64_t)(uint32_t)-rule->rbp_offset << 40;
}

static struct rule unpack(uint64_t packed)
{
    return (struct rule){
        .simple = packed >> 1 & 1,
        .is_end = packed >> 2 & 1,
        .from_rbp = packed >> 3 & 1,
        .saves_rbp = packed >> 4 & 1,
        .is_realigned = packed >> 5 & 1,
        .cfa_offset = (int32_t)(packed >> 8 & 0xffffff),
        .rbp_offset = -(int32_t)(packed >> 40),
    };
}

bool shim_cfi_find(uint64_t pc, struct cfi_object *object, struct cfi_walk *walk)
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

static __attribute__((noinline)) uint64_t keep_rule(const struct cfi_object *object, uint64_t pc,
                                                    uint64_t key, size_t at)
{
    struct rule rule = read_rule(object, pc);
    uint64_t packed = pack(&rule);

    atomic_store_explicit(&kept[at].packed, packed, memory_order_relaxed);
    atomic_store_explicit(&kept[at].check, key ^ packed, memory_order_relaxed);
    return packed;
}

static inline struct rule find_rule(const struct cfi_object *object, uint64_t pc)
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

/* Callers' frames lie higher here, too: as far as the alignment, and no less.  */
static bool step_realigned(struct registers *registers, struct rule rule)
{
    uint64_t frame = registers->rbp, cfa;

    if (frame % 8 != 0 || !shim_stack_has(frame - (uint64_t)rule.cfa_offset, 8) ||
        !shim_stack_has(frame, 8))
        return false;
    cfa = word_at(frame - (uint64_t)rule.cfa_offset);
    if (cfa <= registers->rsp || cfa % 8 != 0 || !shim_stack_has(cfa - 8, 8))
        return false;
    registers->rbp = word_at(frame);
    registers->pc = word_at(cfa - 8);
    registers->rsp = cfa;
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
    struct cfi_object object = { .size = 0 };

    shim_stack_begin(frame, true);
    while (registers.pc != 0) {
        uint64_t pc = registers.pc - 1; /* in the call */
        struct rule rule;

        walk->stack[walk->count++] = registers.pc;
        if (walk->count == walk->room)
            break;
        if (!find_object(pc, &object, walk)) {
            if (!step_by_pointer(&registers))
                break;
            continue;
        }
        rule = find_rule(&object, pc);
        if (!rule.simple) {
            shim_cfi_walk_fully(frame, walk);
            return true;
        }
        if (rule.is_end ||
            !(rule.is_realigned ? step_realigned(&registers, rule) : step(&registers, rule)))
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
