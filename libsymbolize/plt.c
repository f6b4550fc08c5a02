/* plt.c - names for the stubs of the procedure linkage table: "puts@plt" (section 4).
 *
 * A stub jumps through a slot of the global offset table that a relocation fills with a function's
 * address.  On x86 and arm64 the stub is decoded and its slot looked up, which serves .plt,
 * .plt.sec and .plt.got alike, whatever order the linker chose.  Elsewhere stubs come in the order
 * of .rela.plt.  */
#include "libsymbolize/symtab.h"
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* A slot and the function it holds.  */
struct slot {
    uint64_t vaddr;
    const char *name; /* borrowed from the string table, with @VERSION or not */
};

struct plt {
    const struct sym_object *object;
    struct slot *slots; /* sorted by vaddr, once read */
    size_t count, capacity;
    uint64_t got; /* what i386 addresses slots from */
    struct sym_strings *strings;
    struct sym_entries *entries;
};

/* ---- Slots ---- */

static bool fills_slot(uint16_t machine, uint32_t type)
{
    static const struct {
        uint16_t machine, type;
    } fills[] = {
        { EM_X86_64, R_X86_64_JUMP_SLOT },   { EM_X86_64, R_X86_64_GLOB_DAT },
        { EM_386, R_386_JMP_SLOT },          { EM_386, R_386_GLOB_DAT },
        { EM_AARCH64, R_AARCH64_JUMP_SLOT }, { EM_AARCH64, R_AARCH64_GLOB_DAT },
        { EM_ARM, R_ARM_JUMP_SLOT },         { EM_RISCV, R_RISCV_JUMP_SLOT },
        { EM_S390, R_390_JMP_SLOT },
    };

    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++)
        if (fills[i].machine == machine && fills[i].type == type)
            return true;
    return false;
}

static enum sym_status add_slot(struct plt *plt, uint64_t vaddr, const char *name)
{
    if (!base_make_room(&plt->slots, &plt->capacity, plt->count + 1, sizeof *plt->slots))
        return SYM_NO_MEMORY;
    plt->slots[plt->count++] = (struct slot){ .vaddr = vaddr, .name = name };
    return SYM_OK;
}

/* The slots that a table of relocations fills, in its order.  */
static enum sym_status read_slots(struct plt *plt, const struct sym_elf_section *table)
{
    const struct sym_object *object = plt->object;
    const struct sym_elf_section *symbol_table = &object->sections[table->link];
    struct sym_bytes bytes = sym_object_raw(object, table);
    struct sym_bytes symbols = sym_object_raw(object, symbol_table), strings = { 0 };
    bool with_addend = table->type == SHT_RELA;
    size_t size = sym_relocation_size(object, with_addend), symbol_size = sym_symbol_size(object);
    enum sym_status status = SYM_OK;

    if (symbol_table->link < object->section_count)
        strings = sym_object_raw(object, &object->sections[symbol_table->link]);
    for (size_t i = 0; i < bytes.size / size && !status; i++) {
        struct sym_elf_relocation relocation = sym_object_relocation(object, bytes.data + i * size,
                                                                     with_addend);
        if (!fills_slot(object->machine, relocation.type) || relocation.symbol == 0 ||
            relocation.symbol >= symbols.size / symbol_size)
            continue;
        struct sym_elf_symbol symbol = sym_object_symbol(object, symbols.data + relocation.symbol *
                                                                                    symbol_size);
        if (symbol.name && symbol.name < strings.size)
            status = add_slot(plt, relocation.offset, (const char *)strings.data + symbol.name);
    }
    return status;
}

static bool is_dynamic_relocations(const struct sym_object *object,
                                   const struct sym_elf_section *section)
{
    return (section->type == SHT_RELA || section->type == SHT_REL) &&
           section->link < object->section_count &&
           object->sections[section->link].type == SHT_DYNSYM;
}

static int compare_slots(const void *a, const void *b)
{
    const struct slot *left = a, *right = b;

    return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

static const char *name_in_slot(const struct plt *plt, uint64_t vaddr)
{
    struct slot key = { .vaddr = vaddr };
    const struct slot *slot = NULL;

    if (plt->count)
        slot = bsearch(&key, plt->slots, plt->count, sizeof *plt->slots, compare_slots);
    return slot ? slot->name : NULL;
}

/* ---- Stubs ---- */

/* The stub of size bytes at vaddr jumps to the function of that name.  */
static enum sym_status add_stub(struct plt *plt, uint64_t vaddr, size_t size, const char *name)
{
    size_t length = strnlen(name, SYM_NAME_MAX);
    const char *version = memchr(name, '@', length);
    char *text = sym_format("%.*s@plt", (int)(version ? version - name : (ptrdiff_t)length), name);

    if (!text)
        return SYM_NO_MEMORY;
    const char *interned = sym_strings_intern(plt->strings, text, strlen(text));
    base_free(text);
    if (!interned)
        return SYM_NO_MEMORY;
    return sym_entries_add(plt->entries, &(struct sym_entry){ .start = vaddr,
                                                              .size = size,
                                                              .limit = vaddr + size,
                                                              .name = interned,
                                                              .length = (uint32_t)strlen(interned),
                                                              .source = SYM_QUALITY_DYNSYM,
                                                              .sized_function = true });
}

/* The slot that a stub at bytes jumps through: [endbr] [bnd] jmp *slot.  Returns the length of
 * those instructions, 0: no stub.  */
static size_t decode_x86(const struct plt *plt, const uint8_t *bytes, size_t left, uint64_t vaddr,
                         uint64_t *slot)
{
    static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e };
    const uint8_t *start = bytes, *limit = bytes + left;

    if (limit - bytes >= 4 && memcmp(bytes, endbr, sizeof endbr) == 0) /* then fa or fb */
        bytes += 4;
    if (limit > bytes && *bytes == 0xf2)
        bytes++;
    if (limit - bytes < 6 || bytes[0] != 0xff || (bytes[1] != 0x25 && bytes[1] != 0xa3))
        return 0;
    size_t length = (size_t)(bytes - start) + 6;
    int32_t offset = (int32_t)sym_object_load(plt->object, bytes + 2, 4);
    if (bytes[1] == 0xa3) /* from the table's start, which is in a register */
        *slot = (plt->got + (uint64_t)(int64_t)offset) & UINT32_MAX;
    else if (plt->object->machine == EM_X86_64)
        *slot = vaddr + length + (uint64_t)(int64_t)offset;
    else
        *slot = (uint32_t)offset;
    return length;
}

static enum sym_status read_x86_stubs(struct plt *plt, const struct sym_elf_section *section)
{
    struct sym_bytes bytes = sym_object_raw(plt->object, section);
    enum { SHORT = 8, LONG = 16 }; /* bytes of a stub in .plt.got without endbr; of all others */
    bool is_got = strcmp(section->name, ".plt.got") == 0;
    size_t step, at = 0;
    uint64_t slot;

    for (; at < bytes.size; at += step) {
        size_t length = decode_x86(plt, bytes.data + at, bytes.size - at, section->vaddr + at,
                                   &slot);
        const char *name = length ? name_in_slot(plt, slot) : NULL;
        step = is_got && length <= SHORT ? SHORT : LONG;
        if (name && add_stub(plt, section->vaddr + at, step, name))
            return SYM_NO_MEMORY;
    }
    return SYM_OK;
}

/* adrp x16, PAGE; ldr x17, [x16, OFFSET]; add; br x17; perhaps bti c before and nops behind.  */
static enum sym_status read_arm64_stubs(struct plt *plt, const struct sym_elf_section *section)
{
    struct sym_bytes bytes = sym_object_raw(plt->object, section);
    static const uint32_t bti = 0xd503245f, nop = 0xd503201f;
    uint32_t before = 0;

    for (size_t at = 0; at + 16 <= bytes.size; at += 4) {
        uint32_t adrp = (uint32_t)sym_object_load(plt->object, bytes.data + at, 4);
        uint32_t ldr = (uint32_t)sym_object_load(plt->object, bytes.data + at + 4, 4);
        size_t start = before == bti ? at - 4 : at, end = at + 16;
        before = adrp;
        if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
            continue;
        uint64_t page = (uint64_t)(adrp >> 5 & 0x7ffff) << 14 | (uint64_t)(adrp >> 29 & 3) << 12;
        if (page >> 32 & 1)
            page |= UINT64_MAX << 33;
        uint64_t slot = ((section->vaddr + at) & ~UINT64_C(4095)) + page +
                        (uint64_t)(ldr >> 10 & 4095) * 8;
        while (end + 4 <= bytes.size && sym_object_load(plt->object, bytes.data + end, 4) == nop)
            end += 4;
        const char *name = name_in_slot(plt, slot);
        if (name && add_stub(plt, section->vaddr + start, end - start, name))
            return SYM_NO_MEMORY;
    }
    return SYM_OK;
}

/* Stubs of one size behind a header, in the order of their relocations.  */
static enum sym_status read_ordered_stubs(struct plt *plt, const struct sym_elf_section *section,
                                          size_t header, size_t size)
{
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < plt->count && !status; i++) {
        uint64_t at = header + (uint64_t)i * size;
        if (at >= section->size || section->size - at < size)
            break;
        status = add_stub(plt, section->vaddr + at, size, plt->slots[i].name);
    }
    return status;
}

static enum sym_status read_stubs(struct plt *plt, const struct sym_elf_section *section)
{
    switch (plt->object->machine) {
    case EM_X86_64:
    case EM_386:
        return read_x86_stubs(plt, section);
    case EM_AARCH64:
        return read_arm64_stubs(plt, section);
    case EM_ARM:
        return read_ordered_stubs(plt, section, 20, 12);
    case EM_RISCV:
        return read_ordered_stubs(plt, section, 32, 16);
    case EM_S390:
        return read_ordered_stubs(plt, section, 32, 32);
    default:
        return SYM_OK;
    }
}

static bool is_decoded(uint16_t machine)
{
    return machine == EM_X86_64 || machine == EM_386 || machine == EM_AARCH64;
}

/* Where i386 code takes the global offset table to be.  */
static uint64_t find_got(const struct sym_object *object)
{
    const struct sym_elf_section *section = sym_object_by_name(object, ".got.plt");
    struct sym_dynamic dynamic;

    sym_object_dynamic(object, &dynamic);
    if (dynamic.got)
        return dynamic.got;
    if (!section)
        section = sym_object_by_name(object, ".got");
    return section ? section->vaddr : 0;
}

enum sym_status sym_plt_read(const struct sym_object *object, struct sym_strings *strings,
                             struct sym_entries *entries)
{
    struct plt plt = { .object = object, .strings = strings, .entries = entries };
    enum sym_status status = SYM_OK;

    for (size_t i = 1; i < object->section_count && !status; i++)
        if (is_dynamic_relocations(object, &object->sections[i]))
            status = read_slots(&plt, &object->sections[i]);
    if (plt.count && is_decoded(object->machine))
        qsort(plt.slots, plt.count, sizeof *plt.slots, compare_slots);
    if (plt.count && object->machine == EM_386)
        plt.got = find_got(object);
    for (size_t i = 1; i < object->section_count && !status; i++) {
        const struct sym_elf_section *section = &object->sections[i];
        if ((section->flags & SHF_EXECINSTR) && section->type == SHT_PROGBITS &&
            (strcmp(section->name, ".plt") == 0 || strncmp(section->name, ".plt.", 5) == 0))
            status = read_stubs(&plt, section);
    }
    base_free(plt.slots);
    return status;
}
