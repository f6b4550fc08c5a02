/* relocate.c - relocatable objects (kernel modules, compiler output): addresses for their sections,
 * and relocations of their debug sections.  */
#include "libsymbolize/elf_object.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Layout ---- */

enum pass { PASS_TEXT, PASS_CODE, PASS_INIT_CODE, PASS_DATA, PASSES };

static enum pass pass_of(const struct sym_elf_section *section)
{
    if (!(section->flags & SHF_EXECINSTR))
        return PASS_DATA;
    if (strcmp(section->name, ".text") == 0)
        return PASS_TEXT;
    return strncmp(section->name, ".init", 5) == 0 ? PASS_INIT_CODE : PASS_CODE;
}

/* The lowest multiple of alignment from at on; where that is not possible, at.  */
static uint64_t align_up(uint64_t at, uint64_t alignment)
{
    uint64_t mask = alignment - 1, sum;

    if (alignment == 0 || (alignment & mask) || __builtin_add_overflow(at, mask, &sum))
        return at;
    return sum & ~mask;
}

enum sym_status sym_object_lay_out(struct sym_object *object)
{
    static const uint64_t hole = 4096; /* so that the end of the code is not the start of data */
    uint64_t at = 0;

    for (enum pass pass = PASS_TEXT; pass < PASSES; pass++) {
        for (size_t i = 1; i < object->section_count; i++) {
            struct sym_elf_section *section = &object->sections[i];
            uint64_t limit;
            if (!(section->flags & SHF_ALLOC) || pass_of(section) != pass)
                continue;
            section->vaddr = align_up(at, section->alignment);
            if (!__builtin_add_overflow(section->vaddr, section->size, &limit))
                at = limit; /* one that cannot be real does not move the others */
        }
        if (pass == PASS_INIT_CODE && at && !__builtin_add_overflow(at, hole, &at))
            at = align_up(at, hole);
    }
    return SYM_OK;
}

/* ---- Relocations ---- */

/* How the value of a relocation is made, and how many bytes it has.  S: the symbol's address, A:
 * the addend, P: the place.  */
enum formula { FORMULA_NONE, FORMULA_S_A, FORMULA_S_A_P, FORMULA_ADD, FORMULA_SUB };

/* Those that compilers use in debug sections: absolute ones, offsets in thread-local storage (of
 * variables, which nobody looks up here), and distances.  */
/* From the psABIs; <elf.h> of older systems lacks them.  */
enum {
    MIPS_PC32 = 248,
    BPF_64_64 = 1,
    BPF_64_ABS64 = 2,
    BPF_64_ABS32 = 3,
    BPF_64_NODYLD32 = 4,
    BPF_64_32 = 10,
    LARCH_32 = 1,
    LARCH_64 = 2,
    LARCH_TLS_DTPREL32 = 8,
    LARCH_TLS_DTPREL64 = 9,
    LARCH_ADD8 = 47,
    LARCH_ADD16 = 48,
    LARCH_ADD32 = 50,
    LARCH_ADD64 = 51,
    LARCH_SUB8 = 52,
    LARCH_SUB16 = 53,
    LARCH_SUB32 = 55,
    LARCH_SUB64 = 56,
    LARCH_32_PCREL = 99,
    LARCH_64_PCREL = 109,
};

static const struct rule {
    uint16_t machine;
    uint16_t type;
    uint8_t size;
    enum formula formula;
} rules[] = {
    { EM_X86_64, R_X86_64_64, 8, FORMULA_S_A },
    { EM_X86_64, R_X86_64_32, 4, FORMULA_S_A },
    { EM_X86_64, R_X86_64_32S, 4, FORMULA_S_A },
    { EM_X86_64, R_X86_64_16, 2, FORMULA_S_A },
    { EM_X86_64, R_X86_64_8, 1, FORMULA_S_A },
    { EM_X86_64, R_X86_64_PC32, 4, FORMULA_S_A_P },
    { EM_X86_64, R_X86_64_PC64, 8, FORMULA_S_A_P },
    { EM_X86_64, R_X86_64_DTPOFF64, 8, FORMULA_S_A },
    { EM_X86_64, R_X86_64_DTPOFF32, 4, FORMULA_S_A },
    { EM_386, R_386_32, 4, FORMULA_S_A },
    { EM_386, R_386_PC32, 4, FORMULA_S_A_P },
    { EM_386, R_386_TLS_LDO_32, 4, FORMULA_S_A },
    { EM_AARCH64, R_AARCH64_ABS64, 8, FORMULA_S_A },
    { EM_AARCH64, R_AARCH64_ABS32, 4, FORMULA_S_A },
    { EM_AARCH64, R_AARCH64_ABS16, 2, FORMULA_S_A },
    { EM_AARCH64, R_AARCH64_PREL64, 8, FORMULA_S_A_P },
    { EM_AARCH64, R_AARCH64_PREL32, 4, FORMULA_S_A_P },
    { EM_AARCH64, R_AARCH64_TLS_DTPREL, 8, FORMULA_S_A },
    { EM_PPC64, R_PPC64_ADDR64, 8, FORMULA_S_A },
    { EM_PPC64, R_PPC64_ADDR32, 4, FORMULA_S_A },
    { EM_PPC64, R_PPC64_REL64, 8, FORMULA_S_A_P },
    { EM_PPC64, R_PPC64_REL32, 4, FORMULA_S_A_P },
    { EM_PPC64, R_PPC64_DTPREL64, 8, FORMULA_S_A },
    { EM_PPC, R_PPC_ADDR32, 4, FORMULA_S_A },
    { EM_PPC, R_PPC_REL32, 4, FORMULA_S_A_P },
    { EM_ARM, R_ARM_ABS32, 4, FORMULA_S_A },
    { EM_ARM, R_ARM_REL32, 4, FORMULA_S_A_P },
    { EM_S390, R_390_64, 8, FORMULA_S_A },
    { EM_S390, R_390_32, 4, FORMULA_S_A },
    { EM_MIPS, R_MIPS_32, 4, FORMULA_S_A },
    { EM_MIPS, R_MIPS_64, 8, FORMULA_S_A },
    { EM_MIPS, MIPS_PC32, 4, FORMULA_S_A_P },
    { EM_MIPS, R_MIPS_TLS_DTPREL32, 4, FORMULA_S_A },
    { EM_MIPS, R_MIPS_TLS_DTPREL64, 8, FORMULA_S_A },
    { EM_BPF, BPF_64_64, 8, FORMULA_S_A }, /* this and BPF_64_32: by LLVM before 13 */
    { EM_BPF, BPF_64_32, 4, FORMULA_S_A },
    { EM_BPF, BPF_64_ABS64, 8, FORMULA_S_A },
    { EM_BPF, BPF_64_ABS32, 4, FORMULA_S_A },
    { EM_BPF, BPF_64_NODYLD32, 4, FORMULA_S_A },
    { EM_LOONGARCH, LARCH_32, 4, FORMULA_S_A },
    { EM_LOONGARCH, LARCH_64, 8, FORMULA_S_A },
    { EM_LOONGARCH, LARCH_TLS_DTPREL32, 4, FORMULA_S_A },
    { EM_LOONGARCH, LARCH_TLS_DTPREL64, 8, FORMULA_S_A },
    { EM_LOONGARCH, LARCH_32_PCREL, 4, FORMULA_S_A_P },
    { EM_LOONGARCH, LARCH_64_PCREL, 8, FORMULA_S_A_P },
    { EM_LOONGARCH, LARCH_ADD8, 1, FORMULA_ADD },
    { EM_LOONGARCH, LARCH_ADD16, 2, FORMULA_ADD },
    { EM_LOONGARCH, LARCH_ADD32, 4, FORMULA_ADD },
    { EM_LOONGARCH, LARCH_ADD64, 8, FORMULA_ADD },
    { EM_LOONGARCH, LARCH_SUB8, 1, FORMULA_SUB },
    { EM_LOONGARCH, LARCH_SUB16, 2, FORMULA_SUB },
    { EM_LOONGARCH, LARCH_SUB32, 4, FORMULA_SUB },
    { EM_LOONGARCH, LARCH_SUB64, 8, FORMULA_SUB },
    { EM_RISCV, R_RISCV_64, 8, FORMULA_S_A },
    { EM_RISCV, R_RISCV_32, 4, FORMULA_S_A },
    { EM_RISCV, R_RISCV_ADD8, 1, FORMULA_ADD },
    { EM_RISCV, R_RISCV_ADD16, 2, FORMULA_ADD },
    { EM_RISCV, R_RISCV_ADD32, 4, FORMULA_ADD },
    { EM_RISCV, R_RISCV_ADD64, 8, FORMULA_ADD },
    { EM_RISCV, R_RISCV_SUB8, 1, FORMULA_SUB },
    { EM_RISCV, R_RISCV_SUB16, 2, FORMULA_SUB },
    { EM_RISCV, R_RISCV_SUB32, 4, FORMULA_SUB },
    { EM_RISCV, R_RISCV_SUB64, 8, FORMULA_SUB },
};

static const struct rule *find_rule(uint16_t machine, uint32_t type)
{
    static const struct rule none = { .formula = FORMULA_NONE };

    if (type == 0) /* the same on all machines */
        return &none;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].machine == machine && rules[i].type == type)
            return &rules[i];
    return NULL;
}

static void store(const struct sym_object *object, uint8_t *bytes, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * (object->big_endian ? size - 1 - i : i));
}

/* The tables of relocations of one section, and what they stand on.  */
struct target {
    const struct sym_object *object;
    const struct sym_elf_section *section;
    uint8_t *bytes;
    size_t size;
    const struct sym_elf_section *table; /* of relocations */
    struct sym_bytes symbols;
};

static bool applies(const struct sym_object *object, const struct sym_elf_section *table,
                    const struct sym_elf_section *section)
{
    return (table->type == SHT_RELA || table->type == SHT_REL) &&
           table->info < object->section_count &&
           object->sections[table->info].offset == section->offset &&
           object->sections[table->info].name == section->name;
}

bool sym_object_has_relocations(const struct sym_object *object,
                                const struct sym_elf_section *section)
{
    for (size_t i = 1; i < object->section_count; i++)
        if (applies(object, &object->sections[i], section))
            return true;
    return false;
}

/* Where a symbol is; false: no such symbol.  Undefined ones count as 0, and so do those of sections
 * from 65280 on, whose numbers stand in a table that is not read.  */
static bool find_value(const struct target *target, uint32_t index, uint64_t *value)
{
    const struct sym_object *object = target->object;
    size_t size = sym_symbol_size(object);

    if (index >= target->symbols.size / size)
        return false;
    struct sym_elf_symbol symbol = sym_object_symbol(object, target->symbols.data + index * size);
    *value = symbol.value;
    if (symbol.section > 0 && symbol.section < SHN_LORESERVE &&
        symbol.section < object->section_count)
        *value += object->sections[symbol.section].vaddr;
    return true;
}

static enum sym_status apply(const struct target *target,
                             const struct sym_elf_relocation *relocation, struct sym_error *error)
{
    const struct sym_object *object = target->object;
    const struct rule *rule = find_rule(object->machine, relocation->type);
    uint64_t value;

    if (!rule) {
        (void)sym_fail(error, SYM_MALFORMED,
                       "%s: relocation type %u of machine %u in %s is not known", object->path,
                       (unsigned)relocation->type, (unsigned)object->machine,
                       target->section->name);
        if (error)
            error->system_errno = ENOTSUP; /* the file is sound */
        return SYM_MALFORMED;
    }
    if (rule->formula == FORMULA_NONE)
        return SYM_OK;
    if (relocation->offset > target->size || rule->size > target->size - relocation->offset ||
        !find_value(target, relocation->symbol, &value))
        return sym_fail(error, SYM_MALFORMED, "%s: a relocation of %s leads nowhere", object->path,
                        target->section->name);
    uint8_t *place = target->bytes + relocation->offset;
    uint64_t old = sym_object_load(object, place, rule->size);
    value += target->table->type == SHT_RELA ? (uint64_t)relocation->addend : old;
    if (rule->formula == FORMULA_S_A_P)
        value -= target->section->vaddr + relocation->offset;
    else if (rule->formula == FORMULA_ADD)
        value = old + value;
    else if (rule->formula == FORMULA_SUB)
        value = old - value;
    store(object, place, rule->size, value);
    return SYM_OK;
}

static enum sym_status apply_table(const struct target *target, struct sym_error *error)
{
    const struct sym_object *object = target->object;
    struct sym_bytes table = sym_object_raw(object, target->table);
    bool with_addend = target->table->type == SHT_RELA;
    size_t size = sym_relocation_size(object, with_addend);

    for (size_t i = 0; i < table.size / size; i++) {
        struct sym_elf_relocation relocation = sym_object_relocation(object, table.data + i * size,
                                                                     with_addend);
        enum sym_status status = apply(target, &relocation, error);
        if (status)
            return status;
    }
    return SYM_OK;
}

enum sym_status sym_object_relocate(const struct sym_object *object,
                                    const struct sym_elf_section *section, uint8_t *bytes,
                                    size_t size, struct sym_error *error)
{
    struct target target = { .object = object, .section = section, .bytes = bytes, .size = size };
    enum sym_status status = SYM_OK;

    for (size_t i = 1; i < object->section_count && !status; i++) {
        target.table = &object->sections[i];
        if (!applies(object, target.table, section))
            continue;
        target.symbols = (struct sym_bytes){ 0 };
        if (target.table->link < object->section_count)
            target.symbols = sym_object_raw(object, &object->sections[target.table->link]);
        status = apply_table(&target, error);
    }
    return status;
}
