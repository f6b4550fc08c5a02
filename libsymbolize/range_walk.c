/* range_walk.c - all addresses of a module, as disjoint ranges that share their frames.
 *
 * The walk asks for the frames of an address as a look-up would, and goes on behind the last
 * address that has the same: it has no opinion of its own. */
#include "libsymbolize/symbol_cache.h"
#include <stdlib.h>

#include "base/grow.h"

/* What one unit covers, or with SYM_NO_VALUE what none does: [start, limit).  */
struct piece {
    uint64_t start, limit;
    uint32_t unit;
    size_t rank; /* of the unit, by its first address */
};

struct pieces {
    struct piece *items;
    size_t count, capacity;
};

/* ---- Pieces ---- */

static enum sym_status add_piece(struct pieces *pieces, struct piece piece)
{
    if (piece.start >= piece.limit)
        return SYM_OK;
    if (!base_make_room(&pieces->items, &pieces->capacity, pieces->count + 1,
                        sizeof *pieces->items))
        return SYM_NO_MEMORY;
    pieces->items[pieces->count++] = piece;
    return SYM_OK;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->start > right->start) - (left->start < right->start);
}

/* The limit of the piece that starts with segment *index, which moves behind it: padding between
 * two functions of a unit belongs to that unit's piece.  */
static uint64_t piece_limit(const struct sym_segments *units, size_t *index)
{
    const struct sym_segment *items = units->items;
    uint32_t unit = items[*index].value;

    while (++*index < units->count) {
        bool padding = items[*index].value == SYM_NO_VALUE && *index + 1 < units->count &&
                       items[*index + 1].value == unit;
        if (items[*index].value != unit && !padding)
            return items[*index].start;
    }
    return UINT64_MAX;
}

/* All addresses but the last one there is, which no table can cover.  */
static enum sym_status find_pieces(const struct sym_segments *units, struct pieces *pieces)
{
    uint64_t first = units->count ? units->items[0].start : UINT64_MAX;
    enum sym_status status = add_piece(pieces,
                                       (struct piece){ .limit = first, .unit = SYM_NO_VALUE });

    for (size_t i = 0; i < units->count && !status;) {
        struct piece piece = { .start = units->items[i].start, .unit = units->items[i].value };
        piece.limit = piece_limit(units, &i);
        status = add_piece(pieces, piece);
    }
    return status;
}

/* Puts the pieces of a unit together, so that it is decoded once, and units in the order in which
 * they are decoded ahead; what no unit covers comes last.  */
static enum sym_status order_pieces(struct pieces *pieces, size_t unit_count)
{
    size_t *ranks = base_calloc(unit_count + 1, sizeof *ranks);

    if (!ranks)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i < pieces->count; i++) {
        struct piece *piece = &pieces->items[i];
        piece->rank = SIZE_MAX;
        if (piece->unit >= unit_count)
            continue;
        if (!ranks[piece->unit])
            ranks[piece->unit] = i + 1;
        piece->rank = ranks[piece->unit];
    }
    base_free(ranks);
    qsort(pieces->items, pieces->count, sizeof *pieces->items, compare_pieces);
    return SYM_OK;
}

/* ---- The walk ---- */

static enum sym_status walk_piece(struct sym_module *module, const struct piece *piece,
                                  struct sym_frames *frames, sym_walk_fn visit, void *context)
{
    struct sym_walk_range range = { .apart = true };
    enum sym_status status = SYM_OK;

    for (uint64_t vaddr = piece->start; vaddr < piece->limit && !status; vaddr = range.limit) {
        status = sym_module_frames(module, vaddr, frames);
        range.start = vaddr;
        range.limit = frames->span.limit < piece->limit ? frames->span.limit : piece->limit;
        if (status || !frames->count)
            continue;
        status = visit(context, &range, frames);
        range.apart = false;
    }
    return status;
}

enum sym_status sym_module_walk(struct sym_module *module, sym_walk_fn visit, void *context)
{
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    struct pieces pieces = { 0 };
    struct sym_frames frames = { 0 };
    enum sym_status status = find_pieces(&dwarf->segments, &pieces);

    if (!status)
        status = order_pieces(&pieces, dwarf->unit_count);
    if (!status && module->loaded.has_dwarf)
        status = sym_ahead_start(dwarf, NULL, module->seat->jobs);
    for (size_t i = 0; i < pieces.count && !status; i++)
        status = walk_piece(module, &pieces.items[i], &frames, visit, context);
    sym_ahead_end(dwarf);
    base_free(pieces.items);
    base_free(frames.items);
    return status;
}
