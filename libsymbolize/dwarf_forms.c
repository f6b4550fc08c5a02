/* dwarf_forms.c - values of attributes by their forms (7.5.5). */
#include "libsymbolize/symbolize_internal.h"

static void read_indirect(const struct sym_unit *unit, struct sym_cursor *cursor,
                          struct sym_value *value)
{
    uint64_t form = sym_read_uleb(cursor);
    struct sym_attribute attribute = { .form = (uint16_t)form };

    if (form > UINT16_MAX || form == DW_FORM_indirect || form == DW_FORM_implicit_const)
        cursor->failed = true; /* neither can stand here */
    else
        sym_value_read(unit, &attribute, cursor, value);
}

static struct sym_value number_of(enum sym_value_class kind, uint64_t number)
{
    return (struct sym_value){ .kind = kind, .number = number };
}

/* A reference inside the unit; one that leaves it is none.  */
static struct sym_value local_reference(const struct sym_unit *unit, uint64_t number)
{
    if (number >= unit->limit - unit->offset)
        return number_of(SYM_VALUE_NONE, 0);
    return number_of(SYM_VALUE_DIE, unit->info->key + unit->offset + number);
}

static struct sym_value global_reference(const struct sym_unit *unit, uint64_t number)
{
    if (number >= unit->info->sections[SYM_SECTION_INFO].size)
        return number_of(SYM_VALUE_NONE, 0);
    return number_of(SYM_VALUE_DIE, unit->info->key + number);
}

static struct sym_value signed_constant(int64_t number)
{
    return number_of(number < 0 ? SYM_VALUE_NONE : SYM_VALUE_CONSTANT, (uint64_t)number);
}

/* What numbers in a form are; SYM_VALUE_NONE: of no use here (blocks, signatures, lists of
 * locations), or read in a way of their own.  */
static const uint8_t classes[] = {
    [DW_FORM_addr] = SYM_VALUE_ADDRESS,
    [DW_FORM_data1] = SYM_VALUE_CONSTANT,
    [DW_FORM_data2] = SYM_VALUE_CONSTANT,
    [DW_FORM_data4] = SYM_VALUE_CONSTANT,
    [DW_FORM_data8] = SYM_VALUE_CONSTANT,
    [DW_FORM_flag] = SYM_VALUE_CONSTANT,
    [DW_FORM_udata] = SYM_VALUE_CONSTANT,
    [DW_FORM_sec_offset] = SYM_VALUE_OFFSET,
    [DW_FORM_strp] = SYM_VALUE_STR,
    [DW_FORM_line_strp] = SYM_VALUE_LINE_STR,
    [DW_FORM_strp_sup] = SYM_VALUE_ALT_STR,
    [DW_FORM_strx] = SYM_VALUE_STR_INDEX,
    [DW_FORM_strx1] = SYM_VALUE_STR_INDEX,
    [DW_FORM_strx2] = SYM_VALUE_STR_INDEX,
    [DW_FORM_strx3] = SYM_VALUE_STR_INDEX,
    [DW_FORM_strx4] = SYM_VALUE_STR_INDEX,
    [DW_FORM_addrx] = SYM_VALUE_ADDRESS_INDEX,
    [DW_FORM_addrx1] = SYM_VALUE_ADDRESS_INDEX,
    [DW_FORM_addrx2] = SYM_VALUE_ADDRESS_INDEX,
    [DW_FORM_addrx3] = SYM_VALUE_ADDRESS_INDEX,
    [DW_FORM_addrx4] = SYM_VALUE_ADDRESS_INDEX,
    [DW_FORM_rnglistx] = SYM_VALUE_LIST_INDEX,
    [DW_FORM_loclistx] = SYM_VALUE_LIST_INDEX,
    [DW_FORM_ref1] = SYM_VALUE_DIE,
    [DW_FORM_ref2] = SYM_VALUE_DIE,
    [DW_FORM_ref4] = SYM_VALUE_DIE,
    [DW_FORM_ref8] = SYM_VALUE_DIE,
    [DW_FORM_ref_udata] = SYM_VALUE_DIE,
    [DW_FORM_ref_addr] = SYM_VALUE_DIE,
    [DW_FORM_ref_sup4] = SYM_VALUE_ALT_DIE,
    [DW_FORM_ref_sup8] = SYM_VALUE_ALT_DIE,
};

static enum sym_value_class class_of(uint16_t form)
{
    switch (form) {
    case DW_FORM_GNU_str_index:
        return SYM_VALUE_STR_INDEX;
    case DW_FORM_GNU_addr_index:
        return SYM_VALUE_ADDRESS_INDEX;
    case DW_FORM_GNU_ref_alt:
        return SYM_VALUE_ALT_DIE;
    case DW_FORM_GNU_strp_alt:
        return SYM_VALUE_ALT_STR;
    default:
        return form < sizeof classes ? (enum sym_value_class)classes[form] : SYM_VALUE_NONE;
    }
}

/* A number of a fixed size, or else as LEB128.  */
static struct sym_value read_number(const struct sym_unit *unit, uint16_t form,
                                    enum sym_value_class kind, struct sym_cursor *cursor)
{
    int size = sym_form_size(&unit->sizes, form);
    uint64_t number = size > 0 ? sym_read_number(cursor, (size_t)size) : sym_read_uleb(cursor);

    if (kind != SYM_VALUE_DIE)
        return number_of(kind, number);
    return form == DW_FORM_ref_addr ? global_reference(unit, number)
                                    : local_reference(unit, number);
}

void sym_value_read(const struct sym_unit *unit, const struct sym_attribute *attribute,
                    struct sym_cursor *cursor, struct sym_value *value)
{
    enum sym_value_class kind = class_of(attribute->form);

    if (kind != SYM_VALUE_NONE) {
        *value = read_number(unit, attribute->form, kind, cursor);
        return;
    }
    *value = number_of(SYM_VALUE_NONE, 0);
    switch (attribute->form) {
    case DW_FORM_sdata:
        *value = signed_constant(sym_read_sleb(cursor));
        break;
    case DW_FORM_implicit_const:
        *value = signed_constant(attribute->constant);
        break;
    case DW_FORM_flag_present:
        *value = number_of(SYM_VALUE_CONSTANT, 1);
        break;
    case DW_FORM_string:
        *value = (struct sym_value){ .kind = SYM_VALUE_STRING, .string = sym_read_string(cursor) };
        break;
    case DW_FORM_indirect:
        read_indirect(unit, cursor, value);
        break;
    default:
        sym_form_skip(&unit->sizes, attribute->form, cursor);
        break;
    }
}

/* ---- Values that lie elsewhere ---- */

/* The number at an index behind base; false: there is none.  */
static bool read_indexed(const struct sym_bytes *section, uint64_t base, uint64_t index,
                         size_t size, bool big_endian, uint64_t *out)
{
    uint64_t offset;

    if (__builtin_mul_overflow(index, size, &offset) ||
        __builtin_add_overflow(offset, base, &offset))
        return false;
    struct sym_cursor cursor = sym_cursor_at(section, offset, big_endian);
    *out = sym_read_number(&cursor, size);
    return !cursor.failed;
}

static const char *text_at(const struct sym_bytes *section, uint64_t offset)
{
    struct sym_cursor cursor = sym_cursor_at(section, offset, false);

    return sym_read_string(&cursor);
}

const char *sym_value_text(const struct sym_decoder *decoder, const struct sym_unit *unit,
                           const struct sym_value *value)
{
    uint64_t offset;

    switch (value->kind) {
    case SYM_VALUE_STRING:
        return value->string;
    case SYM_VALUE_STR:
        return text_at(&unit->info->sections[SYM_SECTION_STR], value->number);
    case SYM_VALUE_LINE_STR:
        return text_at(&unit->info->sections[SYM_SECTION_LINE_STR], value->number);
    case SYM_VALUE_STR_INDEX:
        if (!read_indexed(&unit->info->sections[SYM_SECTION_STR_OFFSETS], unit->str_offsets_base,
                          value->number, unit->sizes.offset_size, unit->info->big_endian, &offset))
            return "";
        return text_at(&unit->info->sections[SYM_SECTION_STR], offset);
    case SYM_VALUE_ALT_STR:
        if (!decoder->dwarf->alt)
            return "";
        return text_at(&decoder->dwarf->alt->sections[SYM_SECTION_STR], value->number);
    default:
        return "";
    }
}

bool sym_value_die(const struct sym_decoder *decoder, struct sym_value *value)
{
    const struct sym_info *alt = decoder->dwarf->alt;

    if (value->kind == SYM_VALUE_ALT_DIE && alt &&
        value->number < alt->sections[SYM_SECTION_INFO].size)
        *value = number_of(SYM_VALUE_DIE, alt->key + value->number);
    return value->kind == SYM_VALUE_DIE;
}

uint64_t sym_indexed_address(const struct sym_unit *unit, uint64_t index)
{
    uint64_t address;

    if (!read_indexed(&unit->info->sections[SYM_SECTION_ADDR], unit->addr_base, index,
                      unit->sizes.address_size, unit->info->big_endian, &address))
        return UINT64_MAX;
    return address;
}

uint64_t sym_value_address(const struct sym_unit *unit, const struct sym_value *value)
{
    switch (value->kind) {
    case SYM_VALUE_ADDRESS:
        return value->number;
    case SYM_VALUE_ADDRESS_INDEX:
        return sym_indexed_address(unit, value->number);
    default:
        return UINT64_MAX;
    }
}
