/* dwarf_names.c - names of functions, which may lie several references away and in other units. */
#include "libsymbolize/internal.h"
#include <stdlib.h>

enum {
    HOPS_MAX = 16, /* references from a DIE to the one that holds its name */
    BLOCK_NAMES = 512,
    FIRST_SLOTS = 256,
};

/* Names stay where they are: scopes point to them.  */
struct sym_name_block {
    struct sym_name_block *next;
    size_t count;
    struct sym_name names[BLOCK_NAMES];
};

/* A linkage name and its readable form; both interned, so that pointers compare.  */
struct sym_readable {
    const char *linkage_name; /* NULL: a free slot */
    const char *function;
};

/* ---- Reading DIEs ---- */

/* What a chain of DIEs says about a function.  The strings lie in the sections.  */
struct texts {
    const char *plain, *linkage; /* "" unknown */
    uint64_t start_line;
    uint64_t next; /* key of the DIE that the last one refers to */
    bool has_next;
};

static void read_text(const struct sym_decoder *decoder, const struct sym_unit *unit,
                      const struct sym_attribute *attribute, struct sym_cursor *cursor,
                      const char **text)
{
    struct sym_value value;

    sym_value_read(unit, attribute, cursor, &value);
    if (!(*text)[0] && !cursor->failed)
        *text = sym_value_text(decoder, unit, &value);
}

static void read_attribute(const struct sym_decoder *decoder, const struct sym_unit *unit,
                           const struct sym_attribute *attribute, struct sym_cursor *cursor,
                           struct texts *texts)
{
    struct sym_value value;

    switch (attribute->name) {
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        read_text(decoder, unit, attribute, cursor, &texts->linkage);
        break;
    case DW_AT_name:
        read_text(decoder, unit, attribute, cursor, &texts->plain);
        break;
    case DW_AT_decl_line:
        sym_value_read(unit, attribute, cursor, &value);
        if (!texts->start_line && value.kind == SYM_VALUE_CONSTANT && value.number <= UINT32_MAX)
            texts->start_line = value.number;
        break;
    case DW_AT_abstract_origin:
    case DW_AT_specification:
        sym_value_read(unit, attribute, cursor, &value);
        if (!sym_value_die(decoder, &value) ||
            (texts->has_next && attribute->name != DW_AT_abstract_origin))
            break;
        texts->next = value.number;
        texts->has_next = true;
        break;
    default:
        sym_form_skip(&unit->sizes, attribute->form, cursor);
        break;
    }
}

/* Adds what a DIE says.  SYM_OK or SYM_NO_MEMORY.  */
static enum sym_status read_die(struct sym_decoder *decoder, uint64_t die_key, struct texts *texts)
{
    const struct sym_unit *unit = sym_dwarf_unit_of(decoder->dwarf, die_key);
    const struct sym_abbrevs *abbrevs;

    if (!unit)
        return SYM_OK;
    enum sym_status status = sym_unit_abbrevs(decoder, unit, &abbrevs);
    if (status)
        return status;
    uint64_t offset = die_key - unit->info->key;
    struct sym_cursor cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_INFO], offset,
                                             unit->info->big_endian);
    if (!cursor.failed && unit->limit - offset < cursor.left)
        cursor.left = (size_t)(unit->limit - offset);
    const struct sym_abbrev *abbrev = sym_abbrevs_find(abbrevs, sym_read_uleb(&cursor));
    if (!abbrev)
        return SYM_OK;
    for (uint32_t i = 0; i < abbrev->attribute_count && !cursor.failed; i++)
        read_attribute(decoder, unit, &abbrevs->attributes[abbrev->first_attribute + i], &cursor,
                       texts);
    return SYM_OK;
}

static enum sym_status collect(struct sym_decoder *decoder, uint64_t die_key, struct texts *texts)
{
    enum sym_status status = SYM_OK;

    *texts = (struct texts){ .plain = "", .linkage = "" };
    for (int hops = 0; hops <= HOPS_MAX && !status; hops++) {
        texts->has_next = false;
        status = read_die(decoder, die_key, texts);
        if (!texts->has_next)
            break;
        die_key = texts->next;
    }
    return status;
}

/* ---- Readable forms ---- */

static size_t hash_pointer(const void *pointer)
{
    return (size_t)(((uintptr_t)pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

static struct sym_readable *readable_slot(struct sym_readable *slots, size_t slot_count,
                                          const char *linkage_name)
{
    size_t at = hash_pointer(linkage_name) & (slot_count - 1);

    while (slots[at].linkage_name && slots[at].linkage_name != linkage_name)
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow_readable(struct sym_dwarf *dwarf)
{
    size_t slot_count = dwarf->readable_slot_count ? dwarf->readable_slot_count * 2 : FIRST_SLOTS;
    struct sym_readable *slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < dwarf->readable_slot_count; i++) {
        const struct sym_readable *old = &dwarf->readable[i];
        if (old->linkage_name)
            *readable_slot(slots, slot_count, old->linkage_name) = *old;
    }
    free(dwarf->readable);
    dwarf->readable = slots;
    dwarf->readable_slot_count = slot_count;
    return true;
}

/* The readable form of an interned linkage name, interned: the name itself when it is not mangled.
 */
static enum sym_status make_readable(struct sym_dwarf *dwarf, const char *linkage_name,
                                     const char **out)
{
    char *demangled;

    if (dwarf->readable_count >= dwarf->readable_slot_count / 2 && !grow_readable(dwarf))
        return SYM_NO_MEMORY;
    struct sym_readable *slot = readable_slot(dwarf->readable, dwarf->readable_slot_count,
                                              linkage_name);
    if (slot->linkage_name) {
        *out = slot->function;
        return SYM_OK;
    }
    enum sym_status status = sym_demangle_name(linkage_name, &demangled);
    if (status == SYM_NO_MEMORY)
        return status;
    *out = demangled ? sym_strings_intern(dwarf->strings, demangled, strlen(demangled))
                     : linkage_name;
    free(demangled);
    if (!*out)
        return SYM_NO_MEMORY;
    *slot = (struct sym_readable){ .linkage_name = linkage_name, .function = *out };
    dwarf->readable_count++;
    return SYM_OK;
}

/* ---- Table of names ---- */

static struct sym_name **name_slot(struct sym_name **slots, size_t slot_count, uint64_t die_key)
{
    size_t at = (size_t)(die_key * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (slot_count - 1);

    while (slots[at] && slots[at]->die_key != die_key)
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow_names(struct sym_dwarf *dwarf)
{
    size_t slot_count = dwarf->name_slot_count ? dwarf->name_slot_count * 2 : FIRST_SLOTS;
    struct sym_name **slots = calloc(slot_count, sizeof(struct sym_name *));

    if (!slots)
        return false;
    for (size_t i = 0; i < dwarf->name_slot_count; i++)
        if (dwarf->names[i])
            *name_slot(slots, slot_count, dwarf->names[i]->die_key) = dwarf->names[i];
    free(dwarf->names);
    dwarf->names = slots;
    dwarf->name_slot_count = slot_count;
    return true;
}

static struct sym_name *new_name(struct sym_dwarf *dwarf)
{
    struct sym_name_block *block = dwarf->name_blocks;

    if (!block || block->count == BLOCK_NAMES) {
        block = malloc(sizeof *block);
        if (!block)
            return NULL;
        block->next = dwarf->name_blocks;
        block->count = 0;
        dwarf->name_blocks = block;
    }
    return &block->names[block->count++];
}

static enum sym_status make_name(struct sym_dwarf *dwarf, uint64_t die_key, struct sym_name *name)
{
    struct texts texts;
    enum sym_status status = collect(&dwarf->decoder, die_key, &texts);

    if (status)
        return status;
    *name = (struct sym_name){ .die_key = die_key, .start_line = (uint32_t)texts.start_line };
    name->linkage_name = sym_strings_intern(dwarf->strings, texts.linkage, strlen(texts.linkage));
    if (!name->linkage_name)
        return SYM_NO_MEMORY;
    if (texts.linkage[0])
        return make_readable(dwarf, name->linkage_name, &name->function);
    name->function = sym_strings_intern(dwarf->strings, texts.plain, strlen(texts.plain));
    return name->function ? SYM_OK : SYM_NO_MEMORY;
}

enum sym_status sym_scope_name(struct sym_dwarf *dwarf, struct sym_scope *scope)
{
    struct sym_name made;

    if (scope->name)
        return SYM_OK;
    if (dwarf->name_count >= dwarf->name_slot_count / 2 && !grow_names(dwarf))
        return SYM_NO_MEMORY;
    struct sym_name **slot = name_slot(dwarf->names, dwarf->name_slot_count, scope->die_key);
    if (!*slot) {
        enum sym_status status = make_name(dwarf, scope->die_key, &made);
        struct sym_name *name = status ? NULL : new_name(dwarf);
        if (!name)
            return SYM_NO_MEMORY;
        *name = made;
        *slot = name;
        dwarf->name_count++;
    }
    scope->name = *slot;
    return SYM_OK;
}

void sym_names_release(struct sym_dwarf *dwarf)
{
    while (dwarf->name_blocks) {
        struct sym_name_block *next = dwarf->name_blocks->next;
        free(dwarf->name_blocks);
        dwarf->name_blocks = next;
    }
    free(dwarf->names);
    free(dwarf->readable);
    dwarf->names = NULL;
    dwarf->readable = NULL;
}
