/* dwarf_frames.c - functions and inlined copies of a unit, and their names.
 *
 * The first visit walks all DIEs of the unit and keeps what covers code.  Names are looked up when
 * an address wants them: through abstract_origin and specification they may lie in other units. */
#include "libsymbolize/internal.h"
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 512, /* nesting of DIEs; inlining a hundred deep nests two hundred */
    HOPS_MAX = 16,   /* references from a DIE to the one that holds its name */
};

/* ---- Walking ---- */

struct level {
    Dwarf_Die die;
    uint32_t scope; /* around die */
};

struct walk {
    struct sym_dwarf *dwarf;
    struct sym_unit *unit;
    struct sym_ranges *ranges;
    struct level levels[DEPTH_MAX];
    uint32_t depth;
};

static enum sym_status add_scope(struct walk *walk, Dwarf_Die die, uint32_t parent, bool inlined)
{
    struct sym_scopes *scopes = &walk->unit->scopes;
    Dwarf_Off offset = 0;
    Dwarf_Error error = NULL;
    uint64_t file = 0, line = 0, column = 0;
    enum sym_status status = sym_dwarf_status(walk->dwarf, dwarf_dieoffset(die, &offset, &error),
                                              &error);

    if (!status && inlined)
        status = sym_dwarf_unsigned(walk->dwarf, die, DW_AT_call_file, UINT32_MAX, &file);
    if (!status && inlined)
        status = sym_dwarf_unsigned(walk->dwarf, die, DW_AT_call_line, 0, &line);
    if (!status && inlined)
        status = sym_dwarf_unsigned(walk->dwarf, die, DW_AT_call_column, 0, &column);
    if (status)
        return status;
    struct sym_scope *items = sym_grow(scopes->items, &scopes->capacity, scopes->count,
                                       sizeof *items);
    if (!items)
        return SYM_NO_MEMORY;
    scopes->items = items;
    items[scopes->count++] = (struct sym_scope){
        .die_offset = offset,
        .parent = inlined ? parent : SYM_NO_VALUE,
        .call_file = file <= UINT32_MAX ? (uint32_t)file : UINT32_MAX,
        .call_line = line <= UINT32_MAX ? (uint32_t)line : 0,
        .call_column = column <= UINT32_MAX ? (uint32_t)column : 0,
        .inlined = inlined,
    };
    return SYM_OK;
}

/* A DIE that covers code becomes a scope; *inner is what its children are in.  */
static enum sym_status visit_function(struct walk *walk, Dwarf_Die die, uint32_t parent,
                                      bool inlined, uint32_t *inner)
{
    size_t before = walk->ranges->count;
    struct sym_range like = { .rank = walk->depth, .value = (uint32_t)walk->unit->scopes.count };
    enum sym_status status = sym_dwarf_ranges(walk->dwarf, walk->unit, die, like, walk->ranges);

    *inner = inlined ? parent : SYM_NO_VALUE;
    if (walk->ranges->count == before)
        return status;
    if (status != SYM_NO_MEMORY)
        status = add_scope(walk, die, parent, inlined);
    if (status)
        walk->ranges->count = before;
    else
        *inner = like.value;
    return status;
}

static enum sym_status visit(struct walk *walk, const struct level *level, uint32_t *inner,
                             bool *descend)
{
    Dwarf_Half tag = 0;
    Dwarf_Error error = NULL;
    enum sym_status status = sym_dwarf_status(walk->dwarf, dwarf_tag(level->die, &tag, &error),
                                              &error);

    *inner = level->scope;
    *descend = true;
    if (status)
        return status;
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_entry_point:
        return visit_function(walk, level->die, level->scope, false, inner);
    case DW_TAG_inlined_subroutine:
        return visit_function(walk, level->die, level->scope, true, inner);
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        *descend = false; /* have children, never code */
        return SYM_OK;
    default:
        return SYM_OK;
    }
}

static enum sym_status push_child(struct walk *walk, Dwarf_Die die, uint32_t scope)
{
    Dwarf_Die child = NULL;
    Dwarf_Error error = NULL;

    if (walk->depth >= DEPTH_MAX)
        return SYM_NOT_FOUND;
    enum sym_status status = sym_dwarf_status(walk->dwarf, dwarf_child(die, &child, &error),
                                              &error);
    if (!status)
        walk->levels[walk->depth++] = (struct level){ .die = child, .scope = scope };
    return status;
}

/* A sibling lies behind; a reference backwards would be a loop.  */
static enum sym_status to_sibling(struct walk *walk, struct level *level)
{
    Dwarf_Die next = NULL;
    Dwarf_Error error = NULL;
    Dwarf_Off here = 0, there = 0;
    enum sym_status status = sym_dwarf_status(walk->dwarf,
                                              dwarf_dieoffset(level->die, &here, &error), &error);

    if (!status)
        status = sym_dwarf_status(
            walk->dwarf, dwarf_siblingof_b(walk->dwarf->dbg, level->die, true, &next, &error),
            &error);
    if (!status)
        status = sym_dwarf_status(walk->dwarf, dwarf_dieoffset(next, &there, &error), &error);
    dwarf_dealloc_die(level->die);
    level->die = next;
    if (!status && there <= here)
        status = SYM_MALFORMED;
    return status;
}

/* To the next DIE that has not been seen, up as far as needed.  */
static enum sym_status advance(struct walk *walk)
{
    enum sym_status status = SYM_NOT_FOUND;

    while (walk->depth > 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        status = to_sibling(walk, level);
        if (status == SYM_OK || status == SYM_NO_MEMORY)
            break;
        if (level->die)
            dwarf_dealloc_die(level->die);
        walk->depth--;
    }
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static enum sym_status walk_unit(struct walk *walk, Dwarf_Die unit_die)
{
    uint32_t inner;
    bool descend;
    enum sym_status status = push_child(walk, unit_die, SYM_NO_VALUE);

    if (status)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    while (walk->depth > 0 && status != SYM_NO_MEMORY) {
        const struct level *level = &walk->levels[walk->depth - 1];
        status = visit(walk, level, &inner, &descend);
        if (status == SYM_NO_MEMORY)
            break;
        status = descend ? push_child(walk, level->die, inner) : SYM_NOT_FOUND;
        if (status == SYM_NOT_FOUND || status == SYM_MALFORMED)
            status = advance(walk);
    }
    while (walk->depth > 0) {
        walk->depth--;
        if (walk->levels[walk->depth].die)
            dwarf_dealloc_die(walk->levels[walk->depth].die);
    }
    return status;
}

enum sym_status sym_scopes_read(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die,
                                struct sym_ranges *ranges)
{
    struct walk walk = { .dwarf = dwarf, .unit = unit, .ranges = ranges };

    enum sym_status status = walk_unit(&walk, die);

    return status ? status : sym_segments_build(&unit->scopes.segments, ranges);
}

void sym_scopes_release(struct sym_scopes *scopes)
{
    free(scopes->items);
    sym_segments_release(&scopes->segments);
    *scopes = (struct sym_scopes){ 0 };
}

/* ---- Names ---- */

/* What a chain of DIEs says about a function.  The strings lie in the sections.  */
struct names {
    const char *plain;
    const char *linkage;
    uint64_t start_line;
};

static enum sym_status read_text(struct sym_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute,
                                 const char **text)
{
    char *found = NULL;
    Dwarf_Error error = NULL;

    if (*text)
        return SYM_OK;
    enum sym_status status = sym_dwarf_status(dwarf, dwarf_die_text(die, attribute, &found, &error),
                                              &error);
    if (!status && found && found[0])
        *text = found;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static enum sym_status read_names(struct sym_dwarf *dwarf, Dwarf_Die die, struct names *names)
{
    enum sym_status status = read_text(dwarf, die, DW_AT_linkage_name, &names->linkage);

    if (!status)
        status = read_text(dwarf, die, DW_AT_MIPS_linkage_name, &names->linkage);
    if (!status)
        status = read_text(dwarf, die, DW_AT_name, &names->plain);
    if (!status && !names->start_line)
        status = sym_dwarf_unsigned(dwarf, die, DW_AT_decl_line, 0, &names->start_line);
    return status;
}

/* The offset of the DIE that attribute refers to, in any unit.  */
static enum sym_status read_reference(struct sym_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute,
                                      Dwarf_Off *offset)
{
    Dwarf_Attribute value = NULL;
    Dwarf_Error error = NULL;
    enum sym_status status = sym_dwarf_status(dwarf, dwarf_attr(die, attribute, &value, &error),
                                              &error);

    if (status)
        return status;
    status = sym_dwarf_status(dwarf, dwarf_global_formref(value, offset, &error), &error);
    dwarf_dealloc_attribute(value);
    return status;
}

static enum sym_status collect_names(struct sym_dwarf *dwarf, uint64_t die_offset,
                                     struct names *names)
{
    Dwarf_Off offset = die_offset;
    enum sym_status status = SYM_OK;

    for (int hops = 0; hops <= HOPS_MAX && !status; hops++) {
        Dwarf_Die die = NULL;
        Dwarf_Error error = NULL;
        status = sym_dwarf_status(dwarf, dwarf_offdie_b(dwarf->dbg, offset, true, &die, &error),
                                  &error);
        if (status)
            break;
        status = read_names(dwarf, die, names);
        if (!status)
            status = read_reference(dwarf, die, DW_AT_abstract_origin, &offset);
        if (status == SYM_NOT_FOUND)
            status = read_reference(dwarf, die, DW_AT_specification, &offset);
        dwarf_dealloc_die(die);
    }
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* The readable form of a linkage name, interned: the name itself when it is not mangled.  */
static enum sym_status readable(struct sym_dwarf *dwarf, const char *linkage, const char **out)
{
    char *demangled;
    enum sym_status status = sym_demangle_name(linkage, &demangled);

    if (status == SYM_NO_MEMORY)
        return status;
    const char *name = status ? linkage : demangled;
    *out = sym_strings_intern(dwarf->strings, name, strlen(name));
    free(demangled);
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

enum sym_status sym_scope_name(struct sym_dwarf *dwarf, struct sym_scope *scope)
{
    struct names names = { 0 };

    if (scope->named)
        return SYM_OK;
    enum sym_status status = collect_names(dwarf, scope->die_offset, &names);
    if (status)
        return status;
    const char *linkage = names.linkage ? names.linkage : "";
    const char *plain = names.plain ? names.plain : "";
    scope->linkage_name = sym_strings_intern(dwarf->strings, linkage, strlen(linkage));
    scope->function = sym_strings_intern(dwarf->strings, plain, strlen(plain));
    if (!scope->linkage_name || !scope->function)
        return SYM_NO_MEMORY;
    if (names.linkage)
        status = readable(dwarf, names.linkage, &scope->function);
    scope->start_line = names.start_line <= UINT32_MAX ? (uint32_t)names.start_line : 0;
    scope->named = !status;
    return status;
}
