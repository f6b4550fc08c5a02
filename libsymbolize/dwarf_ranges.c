/* dwarf_ranges.c - what addresses a DIE covers: low_pc and high_pc, .debug_ranges (up to DWARF 4)
 * and .debug_rnglists (DWARF 5). */
#include "libsymbolize/symbolize_internal.h"

/* Many DIEs may refer to one list; the budget bounds what that multiplies to.  */
static bool spend(struct sym_decoder *decoder)
{
    if (decoder->range_budget == 0)
        return false;
    decoder->range_budget--;
    return true;
}

/* Tombstones lie where no code is.  The end is cut to the section's, so that a damaged length does
 * not claim what follows.  */
static enum sym_status add_range(struct sym_decoder *decoder, struct sym_ranges *ranges,
                                 struct sym_range range, uint64_t low, uint64_t high)
{
    const struct sym_code *code = decoder->code;

    if (!code || low < code->start || low >= code->limit) {
        code = sym_object_code(decoder->dwarf->object, low);
        if (!code)
            return SYM_OK;
        decoder->code = code;
    }
    range.low = low;
    range.high = high < code->limit ? high : code->limit;
    return sym_ranges_add(ranges, range);
}

static enum sym_status read_ranges(struct sym_decoder *decoder, const struct sym_unit *unit,
                                   uint64_t offset, struct sym_range like,
                                   struct sym_ranges *ranges)
{
    struct sym_cursor cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_RANGES], offset,
                                             unit->info->big_endian);
    size_t size = unit->sizes.address_size;
    uint64_t base = unit->base, largest = size == 4 ? UINT32_MAX : UINT64_MAX;

    while (!cursor.failed && spend(decoder)) {
        uint64_t low = sym_read_number(&cursor, size);
        uint64_t high = sym_read_number(&cursor, size);
        if (cursor.failed)
            break;
        if (low == 0 && high == 0)
            return SYM_OK;
        if (low == largest) {
            base = high;
            continue;
        }
        enum sym_status status = add_range(decoder, ranges, like, (base + low) & largest,
                                           (base + high) & largest);
        if (status)
            return status;
    }
    sym_decoder_damage(decoder, "damaged range list at 0x%llx of .debug_ranges",
                       (unsigned long long)offset);
    return SYM_MALFORMED;
}

/* ---- DWARF 5 ---- */

/* A list that is being read, and what its last entry said.  */
struct list {
    struct sym_cursor cursor;
    uint64_t base, low, high;
    bool done;
};

/* One entry (7.25).  */
static void read_entry(const struct sym_unit *unit, struct list *list)
{
    struct sym_cursor *cursor = &list->cursor;
    size_t size = unit->sizes.address_size;

    list->low = list->high = 0;
    switch (sym_read_number(cursor, 1)) {
    case DW_RLE_end_of_list:
        list->done = !cursor->failed;
        break;
    case DW_RLE_base_addressx:
        list->base = sym_indexed_address(unit, sym_read_uleb(cursor));
        break;
    case DW_RLE_startx_endx:
        list->low = sym_indexed_address(unit, sym_read_uleb(cursor));
        list->high = sym_indexed_address(unit, sym_read_uleb(cursor));
        break;
    case DW_RLE_startx_length:
        list->low = sym_indexed_address(unit, sym_read_uleb(cursor));
        list->high = list->low + sym_read_uleb(cursor);
        break;
    case DW_RLE_offset_pair:
        list->low = list->base + sym_read_uleb(cursor);
        list->high = list->base + sym_read_uleb(cursor);
        break;
    case DW_RLE_base_address:
        list->base = sym_read_number(cursor, size);
        break;
    case DW_RLE_start_end:
        list->low = sym_read_number(cursor, size);
        list->high = sym_read_number(cursor, size);
        break;
    case DW_RLE_start_length:
        list->low = sym_read_number(cursor, size);
        list->high = list->low + sym_read_uleb(cursor);
        break;
    default:
        cursor->failed = true;
        break;
    }
}

static enum sym_status read_rnglist(struct sym_decoder *decoder, const struct sym_unit *unit,
                                    uint64_t offset, struct sym_range like,
                                    struct sym_ranges *ranges)
{
    struct list list = {
        .cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_RNGLISTS], offset,
                                unit->info->big_endian),
        .base = unit->base,
    };

    while (!list.cursor.failed && spend(decoder)) {
        read_entry(unit, &list);
        if (list.done)
            return SYM_OK;
        if (list.cursor.failed || list.low >= list.high)
            continue;
        enum sym_status status = add_range(decoder, ranges, like, list.low, list.high);
        if (status)
            return status;
    }
    sym_decoder_damage(decoder, "damaged range list at 0x%llx of .debug_rnglists",
                       (unsigned long long)offset);
    return SYM_MALFORMED;
}

/* Where the list of an index begins (DW_FORM_rnglistx).  */
static uint64_t indexed_list(const struct sym_unit *unit, uint64_t index)
{
    size_t size = unit->sizes.offset_size;
    uint64_t slot, offset;

    if (__builtin_mul_overflow(index, size, &slot) ||
        __builtin_add_overflow(slot, unit->rnglists_base, &slot))
        return UINT64_MAX;
    struct sym_cursor cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_RNGLISTS], slot,
                                             unit->info->big_endian);
    uint64_t relative = sym_read_number(&cursor, size);
    if (cursor.failed || __builtin_add_overflow(relative, unit->rnglists_base, &offset))
        return UINT64_MAX;
    return offset;
}

/* ---- Extents ---- */

static enum sym_status contiguous_range(struct sym_decoder *decoder, const struct sym_unit *unit,
                                        const struct sym_extent *extent, struct sym_range like,
                                        struct sym_ranges *ranges)
{
    uint64_t low, high;

    if (extent->low.kind == SYM_VALUE_NONE || extent->high.kind == SYM_VALUE_NONE)
        return SYM_OK;
    low = sym_value_address(unit, &extent->low);
    if (extent->high.kind != SYM_VALUE_CONSTANT)
        high = sym_value_address(unit, &extent->high);
    else if (__builtin_add_overflow(low, extent->high.number, &high))
        return SYM_OK; /* a tombstone, or as good as one */
    return add_range(decoder, ranges, like, low, high);
}

enum sym_status sym_extent_ranges(struct sym_decoder *decoder, const struct sym_unit *unit,
                                  const struct sym_extent *extent, struct sym_range like,
                                  struct sym_ranges *ranges)
{
    uint64_t offset = extent->ranges.number;

    switch (extent->ranges.kind) {
    case SYM_VALUE_NONE:
        return contiguous_range(decoder, unit, extent, like, ranges);
    case SYM_VALUE_LIST_INDEX:
        offset = indexed_list(unit, offset);
        break;
    case SYM_VALUE_OFFSET:
    case SYM_VALUE_CONSTANT: /* data4 or data8, as before DWARF 4 */
        break;
    default:
        return SYM_OK;
    }
    if (unit->sizes.version < 5)
        return read_ranges(decoder, unit, offset + unit->ranges_base, like, ranges);
    return read_rnglist(decoder, unit, offset, like, ranges);
}
