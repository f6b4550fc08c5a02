/* dwarf_units.c - debug information of an object: its units, and which of them covers an address.
 *
 * libdwarf takes DIEs, attributes and line tables apart.  It gets the bytes of the few sections
 * that matter from us, decompressed and bounded.  Unit headers are walked here first: one whose
 * fields contradict the section never reaches libdwarf. */
#include "libsymbolize/internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNITS_MAX = 1 << 24,
    /* libdwarf wants section 0 to be the empty one of ELF.  */
    FIRST_SECTION = 1,
};

static const char *const dwarf_names[SYM_SECTION_COUNT] = {
    [SYM_SECTION_TYPES] = "",
    [SYM_SECTION_ARANGES] = "",
    [SYM_SECTION_CU_INDEX] = "",
    [SYM_SECTION_TU_INDEX] = "",
    [SYM_SECTION_INFO] = ".debug_info",
    [SYM_SECTION_ABBREV] = ".debug_abbrev",
    [SYM_SECTION_LINE] = ".debug_line",
    [SYM_SECTION_STR] = ".debug_str",
    [SYM_SECTION_LINE_STR] = ".debug_line_str",
    [SYM_SECTION_RANGES] = ".debug_ranges",
    [SYM_SECTION_RNGLISTS] = ".debug_rnglists",
    [SYM_SECTION_ADDR] = ".debug_addr",
    [SYM_SECTION_STR_OFFSETS] = ".debug_str_offsets",
};

/* ---- What libdwarf asks us ---- */

/* Range lists and line tables are read here alone (dwarf_ranges.c, dwarf_lines.c).  */
static bool is_hidden(enum sym_section which)
{
    return which == SYM_SECTION_RANGES || which == SYM_SECTION_RNGLISTS ||
           which == SYM_SECTION_LINE || !dwarf_names[which][0];
}

static int give_section_info(void *context, Dwarf_Half index, Dwarf_Obj_Access_Section *out,
                             int *error)
{
    const struct sym_dwarf *dwarf = context;

    *error = DW_DLE_NE;
    memset(out, 0, sizeof *out);
    out->name = "";
    if (index >= FIRST_SECTION + SYM_SECTION_COUNT)
        return DW_DLV_NO_ENTRY;
    if (index < FIRST_SECTION || is_hidden(index - FIRST_SECTION))
        return DW_DLV_OK;
    out->name = dwarf_names[index - FIRST_SECTION];
    out->size = dwarf->sections[index - FIRST_SECTION].size;
    out->type = SHT_PROGBITS;
    return DW_DLV_OK;
}

static int give_section(void *context, Dwarf_Half index, Dwarf_Small **out, int *error)
{
    const struct sym_dwarf *dwarf = context;

    *error = DW_DLE_NE;
    if (index < FIRST_SECTION || index >= FIRST_SECTION + SYM_SECTION_COUNT ||
        !dwarf->sections[index - FIRST_SECTION].data)
        return DW_DLV_NO_ENTRY;
    /* Not const in the interface, but libdwarf does not write to it.  */
    memcpy(out, &dwarf->sections[index - FIRST_SECTION].data, sizeof *out);
    return DW_DLV_OK;
}

static Dwarf_Endianness give_byte_order(void *context)
{
    const struct sym_dwarf *dwarf = context;

    return dwarf->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small give_word_size(void *context)
{
    const struct sym_dwarf *dwarf = context;

    return dwarf->object->is_64 ? 8 : 4;
}

static Dwarf_Unsigned give_section_count(void *context)
{
    (void)context;
    return FIRST_SECTION + SYM_SECTION_COUNT;
}

static const Dwarf_Obj_Access_Methods access_methods = {
    .get_section_info = give_section_info,
    .get_byte_order = give_byte_order,
    .get_length_size = give_word_size,
    .get_pointer_size = give_word_size,
    .get_section_count = give_section_count,
    .load_section = give_section,
};

/* ---- Status ---- */

void sym_dwarf_damage(struct sym_dwarf *dwarf, const char *format, ...)
{
    va_list arguments;

    if (dwarf->damaged)
        return;
    dwarf->damaged = true;
    va_start(arguments, format);
    if (vsnprintf(dwarf->damage, sizeof dwarf->damage, format, arguments) < 0)
        dwarf->damage[0] = '\0';
    va_end(arguments);
}

enum sym_status sym_dwarf_status(struct sym_dwarf *dwarf, int result, Dwarf_Error *error)
{
    enum sym_status status = SYM_MALFORMED;

    if (result == DW_DLV_OK)
        return SYM_OK;
    if (result == DW_DLV_NO_ENTRY)
        return SYM_NOT_FOUND;
    if (!*error || dwarf_errno(*error) == DW_DLE_ALLOC_FAIL)
        status = SYM_NO_MEMORY;
    else
        sym_dwarf_damage(dwarf, "%s", dwarf_errmsg(*error));
    if (*error)
        dwarf_dealloc_error(dwarf->dbg, *error);
    *error = NULL;
    return status;
}

/* The number in an attribute, whatever class its form belongs to.  */
static enum sym_status read_number(struct sym_dwarf *dwarf, Dwarf_Attribute value, uint64_t *out)
{
    Dwarf_Error error = NULL;
    Dwarf_Unsigned number = 0;
    Dwarf_Signed signed_number = 0;
    Dwarf_Off offset = 0;
    Dwarf_Half form = 0;
    enum sym_status status = sym_dwarf_status(dwarf, dwarf_whatform(value, &form, &error), &error);

    if (status)
        return status;
    switch (form) {
    case DW_FORM_sec_offset:
        status = sym_dwarf_status(dwarf, dwarf_global_formref(value, &offset, &error), &error);
        *out = offset;
        return status;
    case DW_FORM_implicit_const: /* dwarf_formudata() takes neither of these two */
    case DW_FORM_sdata:
        status = sym_dwarf_status(dwarf, dwarf_formsdata(value, &signed_number, &error), &error);
        *out = (uint64_t)signed_number;
        return !status && signed_number < 0 ? SYM_NOT_FOUND : status;
    default:
        status = sym_dwarf_status(dwarf, dwarf_formudata(value, &number, &error), &error);
        *out = number;
        return status;
    }
}

enum sym_status sym_dwarf_unsigned(struct sym_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute,
                                   uint64_t otherwise, uint64_t *out)
{
    Dwarf_Attribute value = NULL;
    Dwarf_Error error = NULL;
    uint64_t number = otherwise;
    enum sym_status status = sym_dwarf_status(dwarf, dwarf_attr(die, attribute, &value, &error),
                                              &error);

    if (!status) {
        status = read_number(dwarf, value, &number);
        dwarf_dealloc_attribute(value);
    }
    *out = status ? otherwise : number;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* ---- Unit headers ---- */

struct header {
    uint64_t die_offset; /* in .debug_info; 0: the unit is too short for a DIE */
    uint64_t limit;      /* where the next one starts */
    uint64_t abbrev_offset;
    uint64_t version, type;
    uint64_t address_size;
    uint8_t offset_size;
};

/* The bytes of a header behind its type that concern only some units.  */
static uint64_t extra_size(const struct header *header)
{
    switch (header->type) {
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        return 8; /* the .dwo file's id */
    case DW_UT_type:
    case DW_UT_split_type:
        return 8 + header->offset_size; /* signature, offset of the type */
    default:
        return 0;
    }
}

/* The unit at offset; false: no sensible length, so nothing behind it can be found either.  */
static bool read_header(const struct sym_dwarf *dwarf, uint64_t offset, struct header *out)
{
    const struct sym_bytes *section = &dwarf->sections[SYM_SECTION_INFO];
    struct sym_cursor cursor = sym_cursor_at(section, offset, dwarf->big_endian);
    uint64_t length = sym_read_number(&cursor, 4);

    *out = (struct header){ .offset_size = 4, .type = DW_UT_compile };
    if (length == 0xffffffff) {
        out->offset_size = 8;
        length = sym_read_number(&cursor, 8);
    }
    if (cursor.failed || length > cursor.left)
        return false;
    out->limit = section->size - cursor.left + length;
    cursor.left = (size_t)length;
    out->version = sym_read_number(&cursor, 2);
    if (out->version >= 5) {
        out->type = sym_read_number(&cursor, 1);
        out->address_size = sym_read_number(&cursor, 1);
        out->abbrev_offset = sym_read_number(&cursor, out->offset_size);
    } else {
        out->abbrev_offset = sym_read_number(&cursor, out->offset_size);
        out->address_size = sym_read_number(&cursor, 1);
    }
    sym_skip(&cursor, extra_size(out));
    out->die_offset = cursor.left ? (uint64_t)(cursor.next - section->data) : 0;
    return true;
}

static bool is_sound(const struct sym_dwarf *dwarf, const struct header *header)
{
    return header->die_offset != 0 && header->version >= 2 && header->version <= 5 &&
           (header->address_size == 4 || header->address_size == 8) &&
           header->abbrev_offset < dwarf->sections[SYM_SECTION_ABBREV].size;
}

static bool may_hold_code(const struct header *header)
{
    return header->type == DW_UT_compile || header->type == DW_UT_skeleton;
}

/* ---- Index of units ---- */

/* Base attributes may stand behind those that need them, so they are asked for first.  */
static enum sym_status read_bases(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr low = 0;
    enum sym_status status = sym_dwarf_unsigned(dwarf, die, DW_AT_rnglists_base, 0,
                                                &unit->rnglists_base);

    if (status)
        return status;
    status = sym_dwarf_status(dwarf, dwarf_lowpc(die, &low, &error), &error);
    unit->base = status ? 0 : low;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static bool has_attribute(struct sym_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute)
{
    Dwarf_Bool there = false;
    Dwarf_Error error = NULL;

    return sym_dwarf_status(dwarf, dwarf_hasattr(die, attribute, &there, &error), &error) ==
               SYM_OK &&
           there;
}

static enum sym_status decode_unit(struct sym_dwarf *dwarf, struct sym_unit *unit, Dwarf_Die die,
                                   struct sym_ranges *scope_ranges)
{
    unit->decoded = true;
    enum sym_status status = sym_lines_read(dwarf, unit, die);
    return status ? status : sym_scopes_read(dwarf, unit, die, scope_ranges);
}

/* A unit that does not say what it covers: what its functions and its line table do.  */
static enum sym_status cover_by_contents(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                         Dwarf_Die die, struct sym_range like,
                                         struct sym_ranges *index)
{
    struct sym_ranges scope_ranges = { 0 };
    enum sym_status status = decode_unit(dwarf, unit, die, &scope_ranges);

    for (size_t i = 0; i < scope_ranges.count && !status; i++) {
        like.low = scope_ranges.items[i].low;
        like.high = scope_ranges.items[i].high;
        status = sym_ranges_add(index, like);
    }
    for (size_t i = 0; i < unit->lines.sequence_count && !status; i++) {
        like.low = unit->lines.sequences[i].low;
        like.high = unit->lines.sequences[i].high;
        status = sym_ranges_add(index, like);
    }
    sym_ranges_release(&scope_ranges);
    return status;
}

static enum sym_status index_unit(struct sym_dwarf *dwarf, const struct header *header,
                                  Dwarf_Die die, struct sym_ranges *index)
{
    struct sym_unit *units = sym_grow(dwarf->units, &dwarf->unit_capacity, dwarf->unit_count,
                                      sizeof *units);
    size_t before = index->count;

    if (!units)
        return SYM_NO_MEMORY;
    dwarf->units = units;
    struct sym_unit *unit = &units[dwarf->unit_count];
    *unit = (struct sym_unit){
        .die_offset = header->die_offset,
        .version = (uint16_t)header->version,
        .offset_size = header->offset_size,
        .address_size = (uint8_t)header->address_size,
    };
    struct sym_range like = { .value = (uint32_t)dwarf->unit_count++ };
    enum sym_status status = read_bases(dwarf, unit, die);
    if (status)
        return status;
    dwarf->split |= has_attribute(dwarf, die, DW_AT_dwo_name) ||
                    has_attribute(dwarf, die, DW_AT_GNU_dwo_name);
    status = sym_dwarf_ranges(dwarf, unit, die, like, index);
    if (status == SYM_MALFORMED) /* noted; what was read is kept */
        status = SYM_OK;
    if (!status && index->count == before && !has_attribute(dwarf, die, DW_AT_ranges))
        status = cover_by_contents(dwarf, unit, die, like, index);
    return status;
}

static enum sym_status open_unit(struct sym_dwarf *dwarf, const struct header *header,
                                 struct sym_ranges *index)
{
    Dwarf_Die die = NULL;
    Dwarf_Error error = NULL;
    Dwarf_Half tag = 0;
    enum sym_status status = sym_dwarf_status(
        dwarf, dwarf_offdie_b(dwarf->dbg, header->die_offset, true, &die, &error), &error);

    if (status)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    status = sym_dwarf_status(dwarf, dwarf_tag(die, &tag, &error), &error);
    if (!status && (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit))
        status = index_unit(dwarf, header, die, index);
    dwarf_dealloc_die(die);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static enum sym_status open_units(struct sym_dwarf *dwarf)
{
    struct sym_ranges index = { 0 };
    struct header header;
    enum sym_status status = SYM_OK;
    uint64_t size = dwarf->sections[SYM_SECTION_INFO].size;

    for (uint64_t offset = 0; offset < size && !status; offset = header.limit) {
        if (!read_header(dwarf, offset, &header)) {
            sym_dwarf_damage(dwarf, "unit at 0x%llx of .debug_info leaves the section",
                             (unsigned long long)offset);
            break;
        }
        if (!is_sound(dwarf, &header)) {
            sym_dwarf_damage(dwarf, "damaged unit header at 0x%llx of .debug_info",
                             (unsigned long long)offset);
            break; /* libdwarf would not get past it either */
        }
        if (may_hold_code(&header) && dwarf->unit_count < UNITS_MAX)
            status = open_unit(dwarf, &header, &index);
    }
    if (!status)
        status = sym_segments_build(&dwarf->segments, &index);
    sym_ranges_release(&index);
    return status;
}

static enum sym_status load_sections(struct sym_dwarf *dwarf, struct sym_error *error)
{
    enum sym_status status = SYM_OK;

    for (unsigned i = 0; i < SYM_SECTION_COUNT && !status; i++)
        status = sym_object_section(dwarf->object, (enum sym_section)i, &dwarf->sections[i], error);
    return status;
}

enum sym_status sym_dwarf_open(struct sym_dwarf *dwarf, struct sym_object *object,
                               struct sym_strings *strings, struct sym_error *error)
{
    Dwarf_Error failure = NULL;

    *dwarf = (struct sym_dwarf){ .object = object, .strings = strings };
    dwarf->big_endian = object->big_endian;
    dwarf->access = (Dwarf_Obj_Access_Interface){ .object = dwarf, .methods = &access_methods };
    enum sym_status status = load_sections(dwarf, error);
    if (status)
        return status;
    dwarf->line_budget = 16 * (uint64_t)dwarf->sections[SYM_SECTION_LINE].size;
    dwarf->range_budget = 16 * ((uint64_t)dwarf->sections[SYM_SECTION_RANGES].size +
                                (uint64_t)dwarf->sections[SYM_SECTION_RNGLISTS].size);
    status = sym_dwarf_status(
        dwarf,
        dwarf_object_init_b(&dwarf->access, NULL, NULL, DW_GROUPNUMBER_ANY, &dwarf->dbg, &failure),
        &failure);
    if (!status)
        status = open_units(dwarf);
    if (status == SYM_NO_MEMORY)
        return sym_fail(error, status, "%s: out of memory", object->path);
    if (status || dwarf->unit_count == 0)
        return sym_fail(error, SYM_MALFORMED, "%s: unreadable debug information: %s", object->path,
                        dwarf->damaged ? dwarf->damage : "it has no unit");
    return SYM_OK;
}

void sym_dwarf_close(struct sym_dwarf *dwarf)
{
    Dwarf_Error error = NULL;

    for (size_t i = 0; i < dwarf->unit_count; i++) {
        sym_lines_release(&dwarf->units[i].lines);
        sym_scopes_release(&dwarf->units[i].scopes);
    }
    free(dwarf->units);
    sym_segments_release(&dwarf->segments);
    if (dwarf->dbg)
        (void)dwarf_object_finish(dwarf->dbg, &error);
    *dwarf = (struct sym_dwarf){ 0 };
}

enum sym_status sym_dwarf_unit(struct sym_dwarf *dwarf, uint64_t vaddr, struct sym_unit **out)
{
    uint32_t index = sym_segments_find(&dwarf->segments, vaddr);
    struct sym_ranges scope_ranges = { 0 };
    Dwarf_Die die = NULL;
    Dwarf_Error error = NULL;

    *out = NULL;
    if (index == SYM_NO_VALUE)
        return SYM_OK;
    struct sym_unit *unit = &dwarf->units[index];
    if (!unit->decoded) {
        unit->decoded = true; /* a damaged one is not tried again */
        enum sym_status status = sym_dwarf_status(
            dwarf, dwarf_offdie_b(dwarf->dbg, unit->die_offset, true, &die, &error), &error);
        if (!status)
            status = decode_unit(dwarf, unit, die, &scope_ranges);
        sym_ranges_release(&scope_ranges);
        if (die)
            dwarf_dealloc_die(die);
        if (status == SYM_NO_MEMORY)
            return status;
    }
    *out = unit;
    return SYM_OK;
}
