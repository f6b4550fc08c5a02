/* dwarf_names.c - names of functions, which may lie several references away and in other units. */
#include "libsymbolize/internal.h"
#include <stdlib.h>

#include "base/grow.h"

enum {
    HOPS_MAX = 16, /* references from a DIE to the one that holds its name */
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

/* The readable form of an interned linkage name, interned: the name itself when it is not mangled.
 */
static enum sym_status make_readable(struct sym_dwarf *dwarf, const char *linkage_name,
                                     const char **out)
{
    uint64_t hash = base_hash((uintptr_t)linkage_name, 0);
    size_t probe;

    for (uint32_t id = base_index_first(&dwarf->readable_index, hash, &probe); id;
         id = base_index_next(&dwarf->readable_index, hash, &probe)) {
        *out = dwarf->readable[id - 1].function;
        if (dwarf->readable[id - 1].linkage_name == linkage_name)
            return SYM_OK;
    }
    *out = sym_readable_name(dwarf->strings, linkage_name);
    if (!*out)
        return SYM_NO_MEMORY;
    if (!base_make_room(&dwarf->readable, &dwarf->readable_capacity, dwarf->readable_count + 1,
                        sizeof *dwarf->readable) ||
        !base_index_reserve(&dwarf->readable_index))
        return SYM_NO_MEMORY;
    dwarf->readable[dwarf->readable_count++] = (struct sym_readable){ linkage_name, *out };
    base_index_add(&dwarf->readable_index, hash, (uint32_t)dwarf->readable_count);
    return SYM_OK;
}

/* ---- Table of names ---- */

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

/* Room for a name and its index entry.  */
static struct sym_name *new_name(struct sym_dwarf *dwarf)
{
    if (!base_make_room(&dwarf->names, &dwarf->name_capacity, dwarf->name_count + 1,
                        sizeof(struct sym_name *)))
        return NULL;
    if (!base_index_reserve(&dwarf->name_index))
        return NULL;
    return base_arena_alloc(&dwarf->name_arena, sizeof(struct sym_name));
}

enum sym_status sym_scope_name(struct sym_dwarf *dwarf, struct sym_scope *scope)
{
    uint64_t hash = base_hash(scope->die_key, 0);
    struct sym_name made, *name;
    enum sym_status status;
    size_t probe;

    if (scope->name)
        return SYM_OK;
    for (uint32_t id = base_index_first(&dwarf->name_index, hash, &probe); id;
         id = base_index_next(&dwarf->name_index, hash, &probe)) {
        if (dwarf->names[id - 1]->die_key != scope->die_key)
            continue;
        scope->name = dwarf->names[id - 1];
        return SYM_OK;
    }
    status = make_name(dwarf, scope->die_key, &made);
    name = status ? NULL : new_name(dwarf);
    if (!name)
        return SYM_NO_MEMORY;
    *name = made;
    dwarf->names[dwarf->name_count++] = name;
    base_index_add(&dwarf->name_index, hash, (uint32_t)dwarf->name_count);
    scope->name = name;
    return SYM_OK;
}

void sym_names_release(struct sym_dwarf *dwarf)
{
    base_arena_release(&dwarf->name_arena);
    base_index_release(&dwarf->name_index);
    base_index_release(&dwarf->readable_index);
    free(dwarf->names);
    free(dwarf->readable);
    dwarf->names = NULL;
    dwarf->readable = NULL;
}
