/* dwarf_ranges.c - what addresses a DIE covers: low_pc and high_pc, .debug_ranges (up to DWARF 4)
 * and .debug_rnglists (DWARF 5).  The lists are read here and not by libdwarf, whose reader of
 * range lists allocates before it looks at bounds. */
#include "libsymbolize/internal.h"

static struct sym_cursor cursor_at(const struct sym_dwarf *dwarf, enum sym_section which,
                                   uint64_t offset)
{
    return sym_cursor_at(&dwarf->sections[which], offset, dwarf->big_endian);
}

/* Many DIEs may refer to one list; the budget bounds what that multiplies to.  */
static bool spend(struct sym_dwarf *dwarf)
{
    if (dwarf->range_budget == 0)
        return false;
    dwarf->range_budget--;
    return true;
}

/* Tombstones lie where no code is.  The end is cut to the section's, so that a damaged length does
 * not claim what follows.  */
static enum sym_status add_range(const struct sym_dwarf *dwarf, struct sym_ranges *ranges,
                                 struct sym_range range, uint64_t low, uint64_t high)
{
    const struct sym_code *code = sym_object_code(dwarf->object, low);

    if (!code)
        return SYM_OK;
    range.low = low;
    range.high = high < code->limit ? high : code->limit;
    return sym_ranges_add(ranges, range);
}

static enum sym_status read_ranges(struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                   uint64_t offset, struct sym_range like,
                                   struct sym_ranges *ranges)
{
    struct sym_cursor cursor = cursor_at(dwarf, SYM_SECTION_RANGES, offset);
    uint64_t base = unit->base, largest = unit->address_size == 4 ? UINT32_MAX : UINT64_MAX;

    while (!cursor.failed && spend(dwarf)) {
        uint64_t low = sym_read_number(&cursor, unit->address_size);
        uint64_t high = sym_read_number(&cursor, unit->address_size);
        if (cursor.failed)
            break;
        if (low == 0 && high == 0)
            return SYM_OK;
        if (low == largest) {
            base = high;
            continue;
        }
        enum sym_status status = add_range(dwarf, ranges, like, (base + low) & largest,
                                           (base + high) & largest);
        if (status)
            return status;
    }
    sym_dwarf_damage(dwarf, "damaged range list at 0x%llx of .debug_ranges",
                     (unsigned long long)offset);
    return SYM_MALFORMED;
}

/* The address at an index of .debug_addr; an unreadable one is a tombstone.  */
static enum sym_status indexed_address(struct sym_dwarf *dwarf, Dwarf_Die die, uint64_t index,
                                       uint64_t *out)
{
    Dwarf_Addr address = 0;
    Dwarf_Error error = NULL;
    enum sym_status status = sym_dwarf_status(
        dwarf, dwarf_debug_addr_index_to_addr(die, index, &address, &error), &error);

    *out = status ? UINT64_MAX : address;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* One entry of a range list; *done at its end.  Section "Range Lists" of DWARF 5, 7.25.  */
static enum sym_status read_entry(struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                  Dwarf_Die die, struct sym_cursor *cursor, uint64_t *base,
                                  uint64_t *low, uint64_t *high, bool *done)
{
    enum sym_status status = SYM_OK;
    uint64_t kind = sym_read_number(cursor, 1);

    *low = *high = 0;
    switch (kind) {
    case DW_RLE_end_of_list:
        *done = true;
        break;
    case DW_RLE_base_addressx:
        status = indexed_address(dwarf, die, sym_read_uleb(cursor), base);
        break;
    case DW_RLE_startx_endx:
        status = indexed_address(dwarf, die, sym_read_uleb(cursor), low);
        if (!status)
            status = indexed_address(dwarf, die, sym_read_uleb(cursor), high);
        break;
    case DW_RLE_startx_length:
        status = indexed_address(dwarf, die, sym_read_uleb(cursor), low);
        *high = *low + sym_read_uleb(cursor);
        break;
    case DW_RLE_offset_pair:
        *low = *base + sym_read_uleb(cursor);
        *high = *base + sym_read_uleb(cursor);
        break;
    case DW_RLE_base_address:
        *base = sym_read_number(cursor, unit->address_size);
        break;
    case DW_RLE_start_end:
        *low = sym_read_number(cursor, unit->address_size);
        *high = sym_read_number(cursor, unit->address_size);
        break;
    case DW_RLE_start_length:
        *low = sym_read_number(cursor, unit->address_size);
        *high = *low + sym_read_uleb(cursor);
        break;
    default:
        cursor->failed = true;
        break;
    }
    return status;
}

static enum sym_status read_rnglist(struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                    Dwarf_Die die, uint64_t offset, struct sym_range like,
                                    struct sym_ranges *ranges)
{
    struct sym_cursor cursor = cursor_at(dwarf, SYM_SECTION_RNGLISTS, offset);
    uint64_t base = unit->base, low, high;
    bool done = false;

    while (!cursor.failed && !done && spend(dwarf)) {
        enum sym_status status = read_entry(dwarf, unit, die, &cursor, &base, &low, &high, &done);
        if (!status && !cursor.failed && low < high)
            status = add_range(dwarf, ranges, like, low, high);
        if (status)
            return status;
    }
    if (done && !cursor.failed)
        return SYM_OK;
    sym_dwarf_damage(dwarf, "damaged range list at 0x%llx of .debug_rnglists",
                     (unsigned long long)offset);
    return SYM_MALFORMED;
}

/* Where the list of an index begins (DW_FORM_rnglistx).  */
static uint64_t indexed_list(const struct sym_dwarf *dwarf, const struct sym_unit *unit,
                             uint64_t index)
{
    uint64_t slot, offset;

    if (__builtin_mul_overflow(index, unit->offset_size, &slot) ||
        __builtin_add_overflow(slot, unit->rnglists_base, &slot))
        return UINT64_MAX;
    struct sym_cursor cursor = cursor_at(dwarf, SYM_SECTION_RNGLISTS, slot);
    uint64_t relative = sym_read_number(&cursor, unit->offset_size);
    if (cursor.failed || __builtin_add_overflow(relative, unit->rnglists_base, &offset))
        return UINT64_MAX;
    return offset;
}

/* The DW_AT_ranges of die, if it has one: offset of its list, and whether it is an index.  */
static enum sym_status ranges_attribute(struct sym_dwarf *dwarf, Dwarf_Die die, uint64_t *value,
                                        bool *is_index)
{
    Dwarf_Attribute attribute = NULL;
    Dwarf_Error error = NULL;
    Dwarf_Half form = 0;
    Dwarf_Unsigned number = 0;
    Dwarf_Off offset = 0;
    enum sym_status status = sym_dwarf_status(
        dwarf, dwarf_attr(die, DW_AT_ranges, &attribute, &error), &error);

    if (status)
        return status;
    status = sym_dwarf_status(dwarf, dwarf_whatform(attribute, &form, &error), &error);
    if (!status && form == DW_FORM_sec_offset) {
        status = sym_dwarf_status(dwarf, dwarf_global_formref(attribute, &offset, &error), &error);
        *value = offset;
    } else if (!status) { /* an index, or an offset as data4 or data8 as before DWARF 4 */
        status = sym_dwarf_status(dwarf, dwarf_formudata(attribute, &number, &error), &error);
        *value = number;
    }
    *is_index = form == DW_FORM_rnglistx;
    dwarf_dealloc_attribute(attribute);
    return status;
}

static enum sym_status contiguous_range(struct sym_dwarf *dwarf, Dwarf_Die die,
                                        struct sym_range like, struct sym_ranges *ranges)
{
    Dwarf_Addr low = 0, high = 0;
    Dwarf_Half form = 0;
    enum Dwarf_Form_Class form_class = DW_FORM_CLASS_UNKNOWN;
    Dwarf_Error error = NULL;
    enum sym_status status = sym_dwarf_status(dwarf, dwarf_lowpc(die, &low, &error), &error);

    if (!status)
        status = sym_dwarf_status(dwarf, dwarf_highpc_b(die, &high, &form, &form_class, &error),
                                  &error);
    if (status)
        return status == SYM_NOT_FOUND ? SYM_OK : status;
    if (form_class == DW_FORM_CLASS_CONSTANT && __builtin_add_overflow(low, high, &high))
        return SYM_MALFORMED;
    return add_range(dwarf, ranges, like, low, high);
}

enum sym_status sym_dwarf_ranges(struct sym_dwarf *dwarf, const struct sym_unit *unit,
                                 Dwarf_Die die, struct sym_range like, struct sym_ranges *ranges)
{
    uint64_t offset = 0;
    bool is_index = false;
    enum sym_status status = ranges_attribute(dwarf, die, &offset, &is_index);

    if (status == SYM_NOT_FOUND)
        return contiguous_range(dwarf, die, like, ranges);
    if (status)
        return status;
    if (unit->version < 5)
        return read_ranges(dwarf, unit, offset, like, ranges);
    if (is_index)
        offset = indexed_list(dwarf, unit, offset);
    return read_rnglist(dwarf, unit, die, offset, like, ranges);
}
