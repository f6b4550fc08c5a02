/* dwarf_scopes.c - functions of a unit, and the copies inlined into them.
 *
 * The first visit of a unit walks over all its DIEs, mostly by additions, and lists the functions.
 * What was inlined into a function is read when an address of it is looked up. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/grow.h"

enum {
    DEPTH_MAX = 512, /* nesting of DIEs that is told apart; inlining a hundred deep nests 200 */
    RANGES_OF_ANY_FUNCTION = 1 << 12,
};

/* A walk over DIEs in the order of their offsets.  */
struct walk {
    struct sym_decoder *decoder;
    struct sym_scopes *scopes;   /* what is found goes there */
    const struct sym_unit *unit; /* whose DIEs these are */
    const struct sym_abbrevs *abbrevs;
    struct sym_cursor cursor;
    const uint8_t *info; /* where offsets count from */
};

static enum sym_status walk_init(struct walk *walk, struct sym_decoder *decoder,
                                 struct sym_unit *unit, uint64_t offset, uint64_t limit)
{
    const struct sym_unit *dies = sym_unit_dies(unit);
    const struct sym_bytes *info = &dies->info->sections[SYM_SECTION_INFO];

    *walk = (struct walk){
        .decoder = decoder,
        .scopes = &unit->scopes,
        .unit = dies,
        .cursor = sym_cursor_at(info, offset, dies->info->big_endian),
        .info = info->data,
    };
    if (!walk->cursor.failed && limit - offset < walk->cursor.left)
        walk->cursor.left = (size_t)(limit - offset);
    return sym_unit_abbrevs(decoder, dies, &walk->abbrevs);
}

static uint64_t offset_of(const struct walk *walk)
{
    return (uint64_t)(walk->cursor.next - walk->info);
}

/* The abbreviation for a code that was read; NULL: damage, and the walk ends.  */
static const struct sym_abbrev *find_abbrev(struct walk *walk, uint64_t code)
{
    const struct sym_abbrev *abbrev = sym_abbrevs_find(walk->abbrevs, code);

    if (abbrev && !walk->cursor.failed)
        return abbrev;
    sym_decoder_damage(walk->decoder, "damaged entry before 0x%llx of .debug_info",
                       (unsigned long long)offset_of(walk));
    walk->cursor.left = 0;
    return NULL;
}

static void skip_attributes(struct walk *walk, const struct sym_abbrev *abbrev)
{
    sym_abbrev_skip(walk->abbrevs, abbrev, &walk->unit->sizes, &walk->cursor);
    if (walk->cursor.failed)
        sym_decoder_damage(walk->decoder, "an entry leaves the unit at 0x%llx of .debug_info",
                           (unsigned long long)walk->unit->offset);
}

/* Jumps from behind the code of a DIE to its next sibling; false: it names none that lies ahead.
 */
static bool jump(struct walk *walk, const struct sym_abbrev *abbrev)
{
    struct sym_cursor *cursor = &walk->cursor;

    if (abbrev->sibling == SYM_NO_SIBLING ||
        cursor->left < (size_t)abbrev->sibling + abbrev->sibling_size)
        return false;
    uint64_t here = offset_of(walk) + abbrev->sibling + abbrev->sibling_size;
    uint64_t there = sym_load(cursor->next + abbrev->sibling, abbrev->sibling_size,
                              cursor->big_endian);
    if (there >= walk->unit->limit - walk->unit->offset)
        return false;
    there += walk->unit->offset;
    if (there < here || there - offset_of(walk) > cursor->left)
        return false;
    sym_skip(cursor, there - offset_of(walk));
    return true;
}

/* ---- Attributes ---- */

/* What a DIE with code says about it.  */
struct details {
    struct sym_extent extent;
    struct sym_value origin;
    uint32_t call_file, call_line, call_column, call_discriminator;
};

static uint32_t narrow(const struct sym_value *value, uint32_t otherwise)
{
    return value->kind == SYM_VALUE_CONSTANT && value->number <= UINT32_MAX
               ? (uint32_t)value->number
               : otherwise;
}

/* Reads the attributes of a DIE.  */
static void read_details(struct walk *walk, const struct sym_abbrev *abbrev,
                         struct details *details)
{
    const struct sym_attribute *attribute = &walk->abbrevs->attributes[abbrev->first_attribute];
    const struct sym_attribute *end = attribute + abbrev->attribute_count;
    struct sym_value value;

    *details = (struct details){ .call_file = UINT32_MAX };
    for (; attribute < end; attribute++) {
        switch (attribute->name) {
        case DW_AT_low_pc:
            sym_value_read(walk->unit, attribute, &walk->cursor, &details->extent.low);
            break;
        case DW_AT_high_pc:
            sym_value_read(walk->unit, attribute, &walk->cursor, &details->extent.high);
            break;
        case DW_AT_ranges:
            sym_value_read(walk->unit, attribute, &walk->cursor, &details->extent.ranges);
            break;
        case DW_AT_abstract_origin:
            sym_value_read(walk->unit, attribute, &walk->cursor, &details->origin);
            break;
        case DW_AT_call_file:
            sym_value_read(walk->unit, attribute, &walk->cursor, &value);
            details->call_file = narrow(&value, UINT32_MAX);
            break;
        case DW_AT_call_line:
            sym_value_read(walk->unit, attribute, &walk->cursor, &value);
            details->call_line = narrow(&value, 0);
            break;
        case DW_AT_call_column:
            sym_value_read(walk->unit, attribute, &walk->cursor, &value);
            details->call_column = narrow(&value, 0);
            break;
        case DW_AT_GNU_discriminator:
            sym_value_read(walk->unit, attribute, &walk->cursor, &value);
            details->call_discriminator = narrow(&value, 0);
            break;
        default:
            sym_form_skip(&walk->unit->sizes, attribute->form, &walk->cursor);
            break;
        }
    }
}

static enum sym_status add_scope_detail(const struct walk *walk, const struct details *details)
{
    struct sym_scopes *scopes = walk->scopes;

    if (!walk->decoder->dwarf->details)
        return SYM_OK;
    if (!base_make_room(&scopes->details, &scopes->detail_capacity, scopes->count + 1,
                        sizeof *scopes->details))
        return SYM_NO_MEMORY;
    scopes->details[scopes->count] = (struct sym_scope_detail){
        .start = sym_value_address(walk->unit, &details->extent.low),
        .call_discriminator = details->call_discriminator,
    };
    return SYM_OK;
}

static enum sym_status add_scope(const struct walk *walk, uint64_t die_key, uint32_t parent,
                                 const struct details *details)
{
    struct sym_scopes *scopes = walk->scopes;

    if (!base_make_room(&scopes->items, &scopes->capacity, scopes->count + 1,
                        sizeof *scopes->items))
        return SYM_NO_MEMORY;
    enum sym_status status = add_scope_detail(walk, details);
    if (status)
        return status;
    scopes->items[scopes->count++] = (struct sym_scope){
        .die_key = die_key,
        .parent = parent,
        .call_file = details->call_file,
        .call_line = details->call_line,
        .call_column = details->call_column,
    };
    return SYM_OK;
}

/* ---- Functions ---- */

static enum sym_status add_function(struct walk *walk, uint64_t offset, uint32_t around,
                                    uint32_t depth, const struct details *details)
{
    struct sym_scopes *scopes = walk->scopes;
    struct sym_range like = { .value = (uint32_t)scopes->function_count };

    if (!base_make_room(&scopes->functions, &scopes->function_capacity, scopes->function_count + 1,
                        sizeof *scopes->functions))
        return SYM_NO_MEMORY;
    enum sym_status status = add_scope(walk, walk->unit->info->key + offset, SYM_NO_VALUE, details);
    if (status)
        return status;
    scopes->functions[scopes->function_count++] = (struct sym_function){
        .children = offset_of(walk),
        .limit = offset_of(walk),
        .around = around,
        .depth = depth,
    };
    status = sym_extent_ranges(walk->decoder, walk->unit, &details->extent, like,
                               &walk->decoder->ranges);
    return status == SYM_NO_MEMORY ? status : SYM_OK; /* damage is noted */
}

/* A walk that lists functions.  */
struct listing {
    struct walk walk;
    uint32_t depth;    /* of the DIE that comes next; the unit's own has 0 */
    uint32_t function; /* the innermost whose children are being walked over, or SYM_NO_VALUE */
};

static enum sym_status visit(struct listing *listing, const struct sym_abbrev *abbrev,
                             uint64_t offset)
{
    struct walk *walk = &listing->walk;
    struct details details;

    if (abbrev->kind != SYM_DIE_FUNCTION) {
        bool may_jump = abbrev->kind == SYM_DIE_TYPE ||
                        (abbrev->kind == SYM_DIE_CLASS && !walk->unit->classes_hold_code);
        if (may_jump && abbrev->has_children && jump(walk, abbrev))
            return SYM_OK;
        skip_attributes(walk, abbrev);
        listing->depth += abbrev->has_children;
        return SYM_OK;
    }
    read_details(walk, abbrev, &details);
    if (walk->cursor.failed)
        return SYM_OK;
    enum sym_status status = add_function(walk, offset, listing->function, listing->depth,
                                          &details);
    if (!status && abbrev->has_children) {
        listing->function = (uint32_t)walk->scopes->function_count - 1;
        listing->depth++;
    }
    return status;
}

/* Behind the last sibling: the function whose children these were is over.  */
static void leave(struct listing *listing)
{
    struct sym_function *functions = listing->walk.scopes->functions;

    listing->depth--;
    if (listing->function == SYM_NO_VALUE || functions[listing->function].depth != listing->depth)
        return;
    functions[listing->function].limit = offset_of(&listing->walk);
    listing->function = functions[listing->function].around;
}

static enum sym_status list_functions(struct listing *listing)
{
    struct walk *walk = &listing->walk;
    struct sym_cursor *cursor = &walk->cursor;
    enum sym_status status = SYM_OK;

    while (cursor->left && !status) {
        uint64_t offset = offset_of(walk);
        uint64_t code = sym_read_uleb(cursor);
        if (code == 0) {
            leave(listing);
            if (listing->depth == 0)
                break;
            continue;
        }
        const struct sym_abbrev *abbrev = find_abbrev(walk, code);
        if (!abbrev)
            break;
        if (abbrev->fast <= cursor->left && abbrev->fast != SYM_NOT_FIXED) {
            cursor->next += abbrev->fast;
            cursor->left -= abbrev->fast;
            listing->depth += abbrev->has_children;
        } else {
            status = visit(listing, abbrev, offset);
        }
        if (listing->depth == 0) /* the unit's DIE has no children */
            break;
    }
    while (listing->function != SYM_NO_VALUE) { /* those that damage left open */
        struct sym_function *function = &walk->scopes->functions[listing->function];
        function->limit = offset_of(walk);
        listing->function = function->around;
    }
    return status;
}

enum sym_status sym_functions_read(struct sym_decoder *decoder, struct sym_unit *unit)
{
    struct listing listing = { .function = SYM_NO_VALUE };
    const struct sym_unit *dies = sym_unit_dies(unit);
    enum sym_status status = walk_init(&listing.walk, decoder, unit, dies->die_offset, dies->limit);

    decoder->ranges.count = 0;
    if (!status)
        status = list_functions(&listing);
    if (!status)
        status = sym_segments_append(&unit->scopes.segments, &decoder->ranges, &decoder->sweep);
    return status;
}

/* ---- Inlined copies ---- */

/* A walk over the children of one function.  */
struct copies {
    struct walk walk;
    uint32_t next;              /* the next function inside this one */
    uint32_t depth;             /* of the DIE that comes next; 0: a child of the function */
    uint32_t scopes[DEPTH_MAX]; /* around DIEs of that depth */
};

static uint32_t scope_around(const struct copies *copies)
{
    return copies->scopes[copies->depth < DEPTH_MAX ? copies->depth : DEPTH_MAX - 1];
}

static void enter(struct copies *copies, uint32_t scope)
{
    if (++copies->depth < DEPTH_MAX)
        copies->scopes[copies->depth] = scope;
}

/* Over a DIE and everything below it.  */
static void skip_subtree(struct walk *walk, const struct sym_abbrev *abbrev)
{
    uint64_t depth = 0;

    if (abbrev->has_children && jump(walk, abbrev))
        return;
    do {
        skip_attributes(walk, abbrev);
        depth += abbrev->has_children;
        while (depth && walk->cursor.left) {
            uint64_t code = sym_read_uleb(&walk->cursor);
            if (code) {
                abbrev = find_abbrev(walk, code);
                break;
            }
            depth--;
        }
    } while (depth && walk->cursor.left && abbrev);
}

/* Over a function inside the function, which has a listing of its own.  */
static void skip_function(struct copies *copies, const struct sym_abbrev *abbrev, uint64_t offset)
{
    const struct sym_scopes *scopes = copies->walk.scopes;
    uint64_t key = copies->walk.unit->info->key + offset;
    uint64_t here = offset_of(&copies->walk);

    while (copies->next < scopes->function_count && scopes->items[copies->next].die_key < key)
        copies->next++;
    if (copies->next < scopes->function_count && scopes->items[copies->next].die_key == key &&
        scopes->functions[copies->next].limit >= here)
        sym_skip(&copies->walk.cursor, scopes->functions[copies->next].limit - here);
    else
        skip_subtree(&copies->walk, abbrev);
}

static enum sym_status visit_inlined(struct copies *copies, const struct sym_abbrev *abbrev,
                                     uint64_t offset)
{
    struct walk *walk = &copies->walk;
    struct sym_ranges *ranges = &walk->decoder->ranges;
    struct sym_scopes *scopes = walk->scopes;
    uint32_t around = scope_around(copies), inner = around;
    struct sym_range like = { .rank = copies->depth + 1, .value = (uint32_t)scopes->count };
    size_t before = ranges->count;
    struct details details;

    read_details(walk, abbrev, &details);
    if (walk->cursor.failed || scopes->count >= SYM_NO_VALUE)
        return SYM_OK;
    enum sym_status status = sym_extent_ranges(walk->decoder, walk->unit, &details.extent, like,
                                               ranges);
    if (status == SYM_NO_MEMORY)
        return status;
    if (ranges->count > before) {
        uint64_t origin = sym_value_die(walk->decoder, &details.origin)
                              ? details.origin.number
                              : walk->unit->info->key + offset;
        status = add_scope(walk, origin, around, &details);
        if (status)
            return status;
        inner = like.value;
    }
    if (abbrev->has_children)
        enter(copies, inner);
    return SYM_OK;
}

static enum sym_status visit_child(struct copies *copies, const struct sym_abbrev *abbrev,
                                   uint64_t offset)
{
    switch ((enum sym_die_kind)abbrev->kind) {
    case SYM_DIE_INLINED:
        return visit_inlined(copies, abbrev, offset);
    case SYM_DIE_FUNCTION:
        skip_function(copies, abbrev, offset);
        return SYM_OK;
    case SYM_DIE_ABSTRACT:
    case SYM_DIE_TYPE:
    case SYM_DIE_CLASS:
        skip_subtree(&copies->walk, abbrev);
        return SYM_OK;
    case SYM_DIE_PLAIN:
        break;
    }
    skip_attributes(&copies->walk, abbrev);
    if (abbrev->has_children)
        enter(copies, scope_around(copies));
    return SYM_OK;
}

static enum sym_status list_copies(struct copies *copies)
{
    struct walk *walk = &copies->walk;
    enum sym_status status = SYM_OK;

    while (walk->cursor.left && !status) {
        uint64_t offset = offset_of(walk);
        uint64_t code = sym_read_uleb(&walk->cursor);
        if (code == 0) {
            if (copies->depth-- == 0)
                break;
            continue;
        }
        const struct sym_abbrev *abbrev = find_abbrev(walk, code);
        if (!abbrev)
            break;
        status = visit_child(copies, abbrev, offset);
    }
    return status;
}

static enum sym_status decode_copies(struct sym_decoder *decoder, struct sym_unit *unit,
                                     uint32_t function)
{
    struct sym_scopes *scopes = &unit->scopes;
    struct sym_function *entry = &scopes->functions[function];
    struct copies copies = { .next = function + 1, .scopes = { function } };

    entry->decoded = true; /* a damaged one is not tried again */
    entry->first_segment = scopes->inlined.count;
    if (entry->children >= entry->limit)
        return SYM_OK;
    sym_decoder_allow_ranges(decoder, sym_unit_dies(unit), entry->limit - entry->children,
                             RANGES_OF_ANY_FUNCTION);
    enum sym_status status = walk_init(&copies.walk, decoder, unit, entry->children, entry->limit);
    decoder->ranges.count = 0;
    if (!status)
        status = list_copies(&copies);
    if (!status)
        status = sym_segments_append(&scopes->inlined, &decoder->ranges, &decoder->sweep);
    entry->segment_count = (uint32_t)(scopes->inlined.count - entry->first_segment);
    return status;
}

enum sym_status sym_function_decode(struct sym_decoder *decoder, struct sym_unit *unit,
                                    uint32_t function)
{
    const struct sym_function *entry = &unit->scopes.functions[function];
    unsigned before = decoder->damage_count;

    if (entry->decoded)
        return SYM_OK;
    enum sym_status status = decode_copies(decoder, unit, function);
    if (decoder->damage_count != before && !unit->lacks_calls) {
        unit->lacks_calls = true;
        unit->calls_from = entry->children;
    }
    return status;
}

enum sym_status sym_functions_decode(struct sym_decoder *decoder, struct sym_unit *unit)
{
    enum sym_status status = SYM_OK;

    for (uint32_t i = 0; i < unit->scopes.function_count && !status; i++)
        status = sym_function_decode(decoder, unit, i);
    return status;
}

void sym_scopes_release(struct sym_scopes *scopes)
{
    base_free(scopes->items);
    base_free(scopes->details);
    base_free(scopes->functions);
    sym_segments_release(&scopes->segments);
    sym_segments_release(&scopes->inlined);
    *scopes = (struct sym_scopes){ 0 };
}
