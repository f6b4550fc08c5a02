/* dwarf_place.c - what a decoded unit knows about an address. */
#include "base/bisect.h"
#include "libsymbolize/symbolize_internal.h"

static enum sym_status find_scope(struct sym_decoder *decoder, struct sym_unit *unit,
                                  uint64_t vaddr, struct sym_place *place)
{
    const struct sym_scopes *scopes = &unit->scopes;
    const struct sym_segments *segments = &scopes->segments;
    ptrdiff_t at = sym_segments_narrow(segments->items, segments->count, vaddr, place->function_at,
                                       &place->span);

    place->function_at = at;
    if (at < 0 || segments->items[at].value == SYM_NO_VALUE)
        return SYM_OK;
    uint32_t index = segments->items[at].value;
    enum sym_status status = sym_function_decode(decoder, unit, index);
    if (status)
        return status;
    const struct sym_function *function = &scopes->functions[index];
    place->scope = index;
    if (function->segment_count == 0)
        return SYM_OK;
    const struct sym_segment *inlined = &scopes->inlined.items[function->first_segment];
    at = sym_segments_narrow(inlined, function->segment_count, vaddr, place->inlined_at,
                             &place->span);
    place->inlined_at = at;
    if (at >= 0 && inlined[at].value != SYM_NO_VALUE)
        place->scope = inlined[at].value;
    return SYM_OK;
}

/* The row for vaddr: the last one at or before it in its sequence.  */
static void find_row(const struct sym_lines *lines, uint64_t vaddr, struct sym_place *place)
{
    const struct sym_segments *segments = &lines->segments;
    ptrdiff_t at = sym_segments_narrow(segments->items, segments->count, vaddr, place->sequence_at,
                                       &place->span);

    place->sequence_at = at;
    if (at < 0 || segments->items[at].value == SYM_NO_VALUE)
        return;
    const struct sym_sequence *sequence = &lines->sequences[segments->items[at].value];
    const struct sym_row *rows = lines->rows + sequence->first;
    size_t low = 0, high = sequence->count;
    /* The first row after vaddr.  */
    BASE_BISECT(low, high, i, rows[i].vaddr <= vaddr);
    if (low < sequence->count && rows[low].vaddr < place->span.limit)
        place->span.limit = rows[low].vaddr;
    if (low == 0)
        return;
    if (rows[low - 1].vaddr > place->span.start)
        place->span.start = rows[low - 1].vaddr;
    place->row = &rows[low - 1];
}

enum sym_status sym_unit_place(struct sym_decoder *decoder, struct sym_unit *unit, uint64_t vaddr,
                               struct sym_place *place)
{
    place->span = (struct sym_span){ .limit = UINT64_MAX };
    place->scope = SYM_NO_VALUE;
    place->row = NULL;
    enum sym_status status = find_scope(decoder, unit, vaddr, place);
    if (!status)
        find_row(&unit->lines, vaddr, place);
    return status;
}
