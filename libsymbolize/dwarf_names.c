/* dwarf_names.c - names of functions, which may lie several references away and in other units. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/grow.h"

enum {
    HOPS_MAX = 16,           /* references from a DIE to the one that holds its name */
    FOREIGN_FILES = 1 << 20, /* entries of tables of files */
};

/* ---- Reading DIEs ---- */

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
                           struct sym_texts *texts)
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
    case DW_AT_decl_file:
        sym_value_read(unit, attribute, cursor, &value);
        if (texts->start_file != UINT32_MAX || value.kind != SYM_VALUE_CONSTANT ||
            value.number >= UINT32_MAX)
            break;
        texts->start_file = value.number;
        texts->start_key = texts->here;
        break;
    case DW_AT_type:
        sym_value_read(unit, attribute, cursor, &value);
        if (texts->has_type || !sym_value_die(decoder, &value))
            break;
        texts->type = value.number;
        texts->has_type = true;
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
static enum sym_status read_die(struct sym_decoder *decoder, uint64_t die_key,
                                struct sym_texts *texts)
{
    struct sym_die die;
    enum sym_status status = sym_die_open(decoder, die_key, &die);

    if (status || !die.abbrev)
        return status;
    for (uint32_t i = 0; i < die.abbrev->attribute_count && !die.cursor.failed; i++)
        read_attribute(decoder, die.unit, &die.abbrevs->attributes[die.abbrev->first_attribute + i],
                       &die.cursor, texts);
    return SYM_OK;
}

enum sym_status sym_die_texts(struct sym_decoder *decoder, uint64_t die_key,
                              struct sym_texts *texts)
{
    enum sym_status status = SYM_OK;

    *texts = (struct sym_texts){ .plain = "", .linkage = "", .start_file = UINT32_MAX };
    for (int hops = 0; hops <= HOPS_MAX && !status; hops++) {
        texts->has_next = false;
        texts->here = die_key;
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

static enum sym_status fill_name(struct sym_dwarf *dwarf, const char *plain, const char *linkage,
                                 struct sym_name *name)
{
    name->linkage_name = sym_strings_intern(dwarf->strings, linkage, strlen(linkage));
    if (!name->linkage_name)
        return SYM_NO_MEMORY;
    if (linkage[0])
        return make_readable(dwarf, name->linkage_name, &name->function);
    name->function = sym_strings_intern(dwarf->strings, plain, strlen(plain));
    return name->function ? SYM_OK : SYM_NO_MEMORY;
}

static enum sym_status make_name(struct sym_dwarf *dwarf, uint64_t die_key, struct sym_name *name)
{
    struct sym_texts texts;
    enum sym_status status = sym_die_texts(&dwarf->decoder, die_key, &texts);

    if (status)
        return status;
    *name = (struct sym_name){ .die_key = die_key,
                               .start_line = (uint32_t)texts.start_line,
                               .start_file = (uint32_t)texts.start_file,
                               .start_key = texts.start_key };
    return fill_name(dwarf, texts.plain, texts.linkage, name);
}

enum sym_status sym_name_add(struct sym_dwarf *dwarf, const char *plain, const char *linkage,
                             const struct sym_name *like, struct sym_name **out)
{
    struct sym_name made = *like;
    enum sym_status status = fill_name(dwarf, plain, linkage, &made);

    if (status)
        return status;
    *out = base_arena_alloc(&dwarf->name_arena, sizeof **out);
    if (!*out)
        return SYM_NO_MEMORY;
    **out = made;
    return SYM_OK;
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

/* Other units may be decoded by other threads just now: of theirs, only what the index of units has
 * is looked at.  Tables of files are read again where units alternate, within a budget.  */
static enum sym_status foreign_file(struct sym_dwarf *dwarf, const struct sym_unit *from,
                                    uint32_t file, const char **path)
{
    struct sym_foreign *foreign = &dwarf->foreign;
    struct sym_lines *lines = &foreign->unit.lines;

    if (foreign->from != from) {
        sym_lines_release(lines);
        if (foreign->entries_read > FOREIGN_FILES + dwarf->main.sections[SYM_SECTION_LINE].size)
            from = NULL;
        *foreign = (struct sym_foreign){ .from = from, .entries_read = foreign->entries_read };
        if (!from)
            return SYM_OK;
        foreign->unit = (struct sym_unit){
            .info = from->info,
            .offset = from->offset,
            .limit = from->limit,
            .sizes = from->sizes,
            .str_offsets_base = from->str_offsets_base,
            .line_offset = from->line_offset,
            .comp_dir = from->comp_dir,
        };
    }
    bool had_files = lines->has_files;
    enum sym_status status = sym_unit_file(dwarf, &foreign->unit, file, path);
    if (!had_files)
        foreign->entries_read += lines->file_count + lines->directory_count;
    return status;
}

enum sym_status sym_decl_file(struct sym_dwarf *dwarf, struct sym_unit *unit, uint32_t file,
                              uint64_t die_key, const char **path)
{
    const struct sym_unit *from = file == UINT32_MAX ? NULL : sym_dwarf_unit_of(dwarf, die_key);

    *path = "";
    if (!from)
        return SYM_OK;
    return from == sym_unit_dies(unit) ? sym_unit_call_file(dwarf, unit, file, path)
                                       : foreign_file(dwarf, from, file, path);
}

enum sym_status sym_name_file(struct sym_dwarf *dwarf, struct sym_unit *unit, struct sym_name *name,
                              const char **path)
{
    enum sym_status status = SYM_OK;

    if (!name->start_path)
        status = sym_decl_file(dwarf, unit, name->start_file, name->start_key, &name->start_path);
    *path = !status && name->start_path[0] ? name->start_path : NULL;
    return status;
}

void sym_names_release(struct sym_dwarf *dwarf)
{
    base_arena_release(&dwarf->name_arena);
    base_index_release(&dwarf->name_index);
    base_index_release(&dwarf->readable_index);
    base_free(dwarf->names);
    base_free(dwarf->readable);
    dwarf->names = NULL;
    dwarf->readable = NULL;
}
