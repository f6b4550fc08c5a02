/* dwarf_forms.c - values of attributes by their forms (7.5.5). */
#include "libsymbolize/internal.h"

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

void sym_value_read(const struct sym_unit *unit, const struct sym_attribute *attribute,
                    struct sym_cursor *cursor, struct sym_value *value)
{
    const struct sym_sizes *sizes = &unit->sizes;
    const int fixed = sym_form_size(sizes, attribute->form);
    const size_t size = fixed > 0 && fixed <= 8 ? (size_t)fixed : 0;

    switch (attribute->form) {
    case DW_FORM_addr:
        *value = number_of(SYM_VALUE_ADDRESS, sym_read_number(cursor, size));
        break;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_flag:
        *value = number_of(SYM_VALUE_CONSTANT, sym_read_number(cursor, size));
        break;
    case DW_FORM_udata:
        *value = number_of(SYM_VALUE_CONSTANT, sym_read_uleb(cursor));
        break;
    case DW_FORM_sdata:
        *value = signed_constant(sym_read_sleb(cursor));
        break;
    case DW_FORM_implicit_const:
        *value = signed_constant(attribute->constant);
        break;
    case DW_FORM_flag_present:
        *value = number_of(SYM_VALUE_CONSTANT, 1);
        break;
    case DW_FORM_sec_offset:
        *value = number_of(SYM_VALUE_OFFSET, sym_read_number(cursor, size));
        break;
    case DW_FORM_string:
        *value = (struct sym_value){ .kind = SYM_VALUE_STRING, .string = sym_read_string(cursor) };
        break;
    case DW_FORM_strp:
        *value = number_of(SYM_VALUE_STR, sym_read_number(cursor, size));
        break;
    case DW_FORM_line_strp:
        *value = number_of(SYM_VALUE_LINE_STR, sym_read_number(cursor, size));
        break;
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        *value = number_of(SYM_VALUE_STR_INDEX, sym_read_uleb(cursor));
        break;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        *value = number_of(SYM_VALUE_STR_INDEX, sym_read_number(cursor, size));
        break;
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        *value = number_of(SYM_VALUE_ADDRESS_INDEX, sym_read_uleb(cursor));
        break;
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
        *value = number_of(SYM_VALUE_ADDRESS_INDEX, sym_read_number(cursor, size));
        break;
    case DW_FORM_rnglistx:
        *value = number_of(SYM_VALUE_LIST_INDEX, sym_read_uleb(cursor));
        break;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        *value = local_reference(unit, sym_read_number(cursor, size));
        break;
    case DW_FORM_ref_udata:
        *value = local_reference(unit, sym_read_uleb(cursor));
        break;
    case DW_FORM_ref_addr:
        *value = global_reference(unit, sym_read_number(cursor, size));
        break;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        *value = number_of(SYM_VALUE_ALT_DIE, sym_read_number(cursor, size));
        break;
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        *value = number_of(SYM_VALUE_ALT_STR, sym_read_number(cursor, size));
        break;
    case DW_FORM_indirect:
        *value = number_of(SYM_VALUE_NONE, 0);
        read_indirect(unit, cursor, value);
        break;
    default: /* blocks, signatures, lists of locations: of no use here */
        sym_form_skip(sizes, attribute->form, cursor);
        *value = number_of(SYM_VALUE_NONE, 0);
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
