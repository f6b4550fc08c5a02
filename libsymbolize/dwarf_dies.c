/* dwarf_dies.c - DIEs by their key, and from one to the next: for what is asked rarely. */
#include "libsymbolize/symbolize_internal.h"

/* Where a cursor is in .debug_info.  */
static uint64_t offset_of(const struct sym_die *die)
{
    return (uint64_t)(die->cursor.next - die->unit->info->sections[SYM_SECTION_INFO].data);
}

enum sym_status sym_die_open(struct sym_decoder *decoder, uint64_t key, struct sym_die *die)
{
    const struct sym_unit *unit = sym_dwarf_unit_of(decoder->dwarf, key);

    *die = (struct sym_die){ .unit = unit };
    if (!unit)
        return SYM_OK;
    enum sym_status status = sym_unit_abbrevs(decoder, unit, &die->abbrevs);
    if (status)
        return status;
    uint64_t offset = key - unit->info->key;
    die->cursor = sym_cursor_at(&unit->info->sections[SYM_SECTION_INFO], offset,
                                unit->info->big_endian);
    if (!die->cursor.failed && unit->limit - offset < die->cursor.left)
        die->cursor.left = (size_t)(unit->limit - offset);
    die->key = key;
    die->abbrev = sym_abbrevs_find(die->abbrevs, sym_read_uleb(&die->cursor));
    return SYM_OK;
}

bool sym_die_next(struct sym_die *die, uint32_t *depth)
{
    sym_abbrev_skip(die->abbrevs, die->abbrev, &die->unit->sizes, &die->cursor);
    *depth += die->abbrev->has_children;
    while (!die->cursor.failed && die->cursor.left && *depth > 0) {
        uint64_t offset = offset_of(die), code = sym_read_uleb(&die->cursor);
        if (code) {
            die->key = die->unit->info->key + offset;
            die->abbrev = sym_abbrevs_find(die->abbrevs, code);
            return die->abbrev && !die->cursor.failed;
        }
        --*depth;
    }
    return false;
}
