/* dwarf_units.c - debug information of an object: its units, and which of them covers an address.
 *
 * Opening walks over the headers and looks at the first DIE of each unit.  .debug_aranges would
 * tell the same, but is missing or incomplete in many objects, and saves nothing worth having. */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/fail.h"

enum {
    /* Entries of range lists a unit may read whatever its share of the section is.  */
    RANGES_OF_ANY_UNIT = 1 << 16,
};

/* Decoded units that are kept.  All of a kernel take 100 MB, and what looks a million addresses up
 * in it needs half of its 150 for them.  */
static const size_t KEPT_BYTES_MAX = (size_t)24 << 20;

/* ---- Damage ---- */

void sym_decoder_damage(struct sym_decoder *decoder, const char *format, ...)
{
    decoder->damage_count++;
    if (decoder->damaged)
        return;
    decoder->damaged = true;
    BASE_FORMAT(decoder->damage, format);
}

void sym_decoder_release(struct sym_decoder *decoder)
{
    sym_ranges_release(&decoder->ranges);
    sym_sweep_release(&decoder->sweep);
}

/* ---- The first DIE of a unit ---- */

static uint64_t offset_or(const struct sym_value *value, uint64_t otherwise)
{
    return value->kind == SYM_VALUE_OFFSET || value->kind == SYM_VALUE_CONSTANT ? value->number
                                                                                : otherwise;
}

static bool is_c(uint64_t language)
{
    switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
        return true;
    default:
        return false;
    }
}

static void read_root_attribute(struct sym_unit *unit, const struct sym_attribute *attribute,
                                struct sym_cursor *cursor, struct sym_root *root)
{
    struct sym_value value;

    sym_value_read(unit, attribute, cursor, &value);
    switch (attribute->name) {
    case DW_AT_low_pc:
        root->extent.low = value;
        break;
    case DW_AT_high_pc:
        root->extent.high = value;
        break;
    case DW_AT_ranges:
        root->extent.ranges = value;
        root->has_ranges = true;
        break;
    case DW_AT_stmt_list:
        unit->line_offset = offset_or(&value, UINT64_MAX);
        break;
    case DW_AT_comp_dir:
        root->comp_dir = value;
        break;
    case DW_AT_language:
        unit->classes_hold_code = !is_c(value.number);
        break;
    case DW_AT_loclists_base:
        unit->loclists_base = offset_or(&value, 0);
        break;
    case DW_AT_rnglists_base:
        unit->rnglists_base = offset_or(&value, 0);
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        unit->addr_base = offset_or(&value, 0);
        break;
    case DW_AT_str_offsets_base:
        unit->str_offsets_base = offset_or(&value, 0);
        break;
    case DW_AT_GNU_ranges_base:
        unit->gnu_ranges_base = offset_or(&value, 0);
        break;
    case DW_AT_GNU_dwo_id:
        unit->dwo_id = value.number;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        root->dwo_name = value;
        break;
    default:
        break;
    }
}

/* Bases may stand behind what needs them, so that values are looked up when all are read.  */
enum sym_status sym_unit_read_root(struct sym_decoder *decoder, struct sym_unit *unit,
                                   struct sym_abbrevs *room, struct sym_root *root)
{
    const struct sym_abbrev_table *table = &unit->info->tables[unit->table];
    const struct sym_bytes *info = &unit->info->sections[SYM_SECTION_INFO];
    struct sym_cursor cursor = sym_cursor_at(info, unit->die_offset, unit->info->big_endian);
    const struct sym_abbrevs *abbrevs = room;
    uint64_t code = sym_read_uleb(&cursor);
    enum sym_status status;

    *root = (struct sym_root){ .tag = 0 };
    if (table->user_count > 1)
        status = sym_unit_abbrevs(decoder, unit, &abbrevs);
    else /* most units are never decoded: their root's is enough */
        status = sym_abbrevs_read(room, &unit->info->sections[SYM_SECTION_ABBREV], table->offset,
                                  table->limit, &table->sizes, code);
    if (status == SYM_NO_MEMORY)
        return status;
    const struct sym_abbrev *abbrev = sym_abbrevs_search(abbrevs, code);
    if (!abbrev || cursor.failed || code == 0)
        return SYM_MALFORMED;
    cursor.left = (size_t)(unit->limit - (uint64_t)(cursor.next - info->data));
    unit->classes_hold_code = true;
    for (uint32_t i = 0; i < abbrev->attribute_count && !cursor.failed; i++)
        read_root_attribute(unit, &abbrevs->attributes[abbrev->first_attribute + i], &cursor, root);
    root->tag = abbrev->tag;
    unit->comp_dir = sym_value_text(decoder, unit, &root->comp_dir);
    unit->dwo_name = sym_value_text(decoder, unit, &root->dwo_name);
    uint64_t base = sym_value_address(unit, &root->extent.low);
    unit->base = root->extent.low.kind == SYM_VALUE_NONE ? 0 : base;
    return cursor.failed ? SYM_MALFORMED : SYM_OK;
}

/* ---- Index of units ---- */

/* A unit that does not say what it covers: what its functions and its line table do.  */
static enum sym_status cover_by_contents(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                         struct sym_range like, struct sym_ranges *index)
{
    const struct sym_segments *segments = &unit->scopes.segments;
    enum sym_status status = sym_dwarf_decode(dwarf, unit);

    for (size_t i = 0; i + 1 < segments->count && !status; i++) {
        like.low = segments->items[i].start;
        like.high = segments->items[i + 1].start;
        if (segments->items[i].value != SYM_NO_VALUE)
            status = sym_ranges_add(index, like);
    }
    for (size_t i = 0; i < unit->lines.sequence_count && !status; i++) {
        like.low = unit->lines.sequences[i].low;
        like.high = unit->lines.sequences[i].high;
        status = sym_ranges_add(index, like);
    }
    sym_dwarf_keep(dwarf, unit);
    return status;
}

/* A unit whose own DIE is unreadable: what it covers is known when libdwarf reads it.  */
static enum sym_status cover_by_fallback(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                         struct sym_range like, struct sym_ranges *index)
{
    enum sym_status status = sym_dwarf_decode(dwarf, unit);

    if (!status)
        status = sym_fallback_unit(dwarf, unit);
    if (status)
        return status;
    if (unit->by_libdwarf) {
        unit->is_partial = false;
        return cover_by_contents(dwarf, unit, like, index);
    }
    sym_dwarf_keep(dwarf, unit);
    return SYM_OK;
}

static enum sym_status index_unit(struct sym_dwarf *dwarf, uint32_t number,
                                  struct sym_abbrevs *room, struct sym_ranges *index)
{
    struct sym_unit *unit = &dwarf->units[number];
    /* GNU ld and gold resolve the relocations of an inline function's discarded copy to the copy
     * that was kept, which is that of the unit linked first.  */
    struct sym_range like = { .rank = UINT32_MAX - number, .value = number };
    struct sym_root root;
    size_t before = index->count;
    enum sym_status status = sym_unit_read_root(&dwarf->decoder, unit, room, &root);

    if (status == SYM_NO_MEMORY)
        return status;
    if (status) {
        sym_decoder_damage(&dwarf->decoder, "damaged unit at 0x%llx of .debug_info",
                           (unsigned long long)unit->offset);
        unit->refused = SYM_PART_FUNCTIONS | SYM_PART_LINES;
    }
    unit->is_partial = root.tag != DW_TAG_compile_unit && root.tag != DW_TAG_skeleton_unit;
    if (unit->is_partial)
        return unit->refused ? cover_by_fallback(dwarf, unit, like, index) : SYM_OK;
    status = sym_extent_ranges(&dwarf->decoder, unit, &root.extent, like, index);
    if (status == SYM_MALFORMED) { /* noted; what was read is kept */
        sym_fallback_miss(dwarf, unit,
                          "damaged range list of the unit at 0x%llx of .debug_info; libdwarf is "
                          "not used for it",
                          (unsigned long long)unit->offset);
        status = SYM_OK;
    }
    /* Strict DWARF 2 has no ranges and names but one of the sections that the unit is in.  */
    bool is_vague = index->count == before || unit->sizes.version == 2;
    if (!status && unit->refused)
        status = cover_by_fallback(dwarf, unit, like, index);
    if (!status && is_vague && !root.has_ranges && !unit->by_libdwarf)
        status = cover_by_contents(dwarf, unit, like, index);
    return status;
}

static enum sym_status index_units(struct sym_dwarf *dwarf)
{
    struct sym_ranges index = { 0 };
    struct sym_abbrevs room = { 0 };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < dwarf->unit_count && !status; i++)
        status = index_unit(dwarf, (uint32_t)i, &room, &index);
    if (status != SYM_NO_MEMORY)
        status = sym_segments_build(&dwarf->segments, &index);
    sym_abbrevs_release(&room);
    sym_ranges_release(&index);
    return status;
}

/* ---- Opening ---- */

static uint64_t range_bytes(const struct sym_info *info)
{
    return (uint64_t)info->sections[SYM_SECTION_RANGES].size +
           (uint64_t)info->sections[SYM_SECTION_RNGLISTS].size;
}

static bool has_code_unit(const struct sym_dwarf *dwarf)
{
    for (size_t i = 0; i < dwarf->unit_count; i++)
        if (!dwarf->units[i].is_partial)
            return true;
    return false;
}

static enum sym_status open_main(struct sym_dwarf *dwarf, struct sym_error *error)
{
    struct sym_info *main = &dwarf->main;
    enum sym_status status = sym_info_load(main, dwarf->object, error);

    if (status)
        return status;
    dwarf->line_budget = 16 * (uint64_t)main->sections[SYM_SECTION_LINE].size;
    dwarf->decoder.range_budget = RANGES_OF_ANY_UNIT + 16 * range_bytes(main);
    status = sym_info_add(dwarf, main);
    if (!status)
        status = sym_info_read(&dwarf->decoder, main);
    dwarf->units = main->units;
    dwarf->unit_count = main->unit_count;
    if (!status)
        status = sym_alt_open(dwarf);
    if (!status)
        status = index_units(dwarf);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

enum sym_status sym_dwarf_open(struct sym_dwarf *dwarf, struct sym_object *object,
                               const struct sym_finder *finder, struct sym_strings *strings,
                               struct sym_error *error)
{
    *dwarf = (struct sym_dwarf){
        .object = object,
        .details = dwarf->details,
        .relative = dwarf->relative,
        .fallback = { .is_off = dwarf->fallback.is_off, .child = dwarf->fallback.child },
        .strings = strings,
        .newest = SYM_NO_VALUE,
        .oldest = SYM_NO_VALUE,
        .kept_bytes_max = KEPT_BYTES_MAX,
    };
    dwarf->decoder.dwarf = dwarf;
    if (finder)
        dwarf->finder = *finder;
    if (pthread_mutex_init(&dwarf->table_lock, NULL) != 0)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
    dwarf->has_lock = true;
    enum sym_status status = open_main(dwarf, error);
    if (status == SYM_NO_MEMORY)
        return sym_fail(error, status, "%s: out of memory", object->path);
    if (!status && !has_code_unit(dwarf))
        status = sym_fail(error, SYM_MALFORMED, "%s: unreadable debug information: %s",
                          object->path,
                          dwarf->decoder.damaged ? dwarf->decoder.damage : "it has no unit");
    return status;
}

void sym_dwarf_close(struct sym_dwarf *dwarf)
{
    sym_ahead_end(dwarf);
    for (size_t i = 0; i < dwarf->unit_count; i++)
        sym_unit_release(dwarf, &dwarf->units[i]);
    sym_splits_release(dwarf);
    sym_info_release(&dwarf->main);
    base_free(dwarf->infos);
    sym_segments_release(&dwarf->segments);
    sym_names_release(dwarf);
    sym_variables_release(dwarf);
    sym_lines_release(&dwarf->foreign.unit.lines);
    sym_decoder_release(&dwarf->decoder);
    if (dwarf->has_lock)
        (void)pthread_mutex_destroy(&dwarf->table_lock);
    *dwarf = (struct sym_dwarf){ 0 };
}

/* ---- Decoding ---- */

/* Units may share a line table; more than a few would make a small file run long.  */
void sym_unit_charge(struct sym_decoder *decoder, struct sym_unit *unit)
{
    struct sym_dwarf *dwarf = decoder->dwarf;
    struct sym_line_header header;

    if (unit->charged || unit->line_offset == UINT64_MAX)
        return;
    unit->charged = true;
    if (sym_line_header_read(unit, &header) != SYM_OK)
        return;
    if (header.program.left > dwarf->line_budget) {
        sym_decoder_damage(decoder, "too many units share line tables");
        unit->line_offset = UINT64_MAX;
        return;
    }
    dwarf->line_budget -= header.program.left;
}

/* Units and functions each by their size: the same whatever else was decoded, and by whom.  */
void sym_decoder_allow_ranges(struct sym_decoder *decoder, const struct sym_unit *dies,
                              uint64_t info_bytes, uint64_t at_least)
{
    const struct sym_info *info = dies->info;
    double all = (double)info->sections[SYM_SECTION_INFO].size;

    decoder->range_budget = at_least +
                            (uint64_t)(16 * (double)range_bytes(info) * (double)info_bytes / all);
}

enum sym_status sym_unit_decode(struct sym_decoder *decoder, struct sym_unit *unit)
{
    const struct sym_unit *dies = sym_unit_dies(unit);

    if (unit->decoded)
        return SYM_OK;
    unit->decoded = true; /* a damaged one is not tried again */
    sym_decoder_allow_ranges(decoder, dies, dies->limit - dies->offset, RANGES_OF_ANY_UNIT);
    unsigned before = decoder->damage_count;
    enum sym_status status = sym_functions_read(decoder, unit);
    unit->refused |= decoder->damage_count != before ? SYM_PART_FUNCTIONS : 0;
    before = decoder->damage_count;
    if (!status)
        status = sym_lines_read(decoder, unit);
    unit->refused |= decoder->damage_count != before ? SYM_PART_LINES : 0;
    return status;
}

enum sym_status sym_dwarf_decode(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    enum sym_status status = sym_unit_open_split(dwarf, unit);

    if (status)
        return status;
    sym_unit_charge(&dwarf->decoder, unit);
    return sym_unit_decode(&dwarf->decoder, unit);
}

void sym_unit_release(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_abbrev_table *table;

    sym_dwarf_forget(dwarf, unit);
    sym_unit_close_split(dwarf, unit);
    if (!unit->decoded)
        return;
    table = &unit->info->tables[unit->table];
    sym_lines_release(&unit->lines);
    sym_scopes_release(&unit->scopes);
    unit->decoded = false;
    if (table->user_count == 1) {
        sym_abbrevs_release(&table->abbrevs);
        table->is_read = false;
    }
}

/* ---- Keeping decoded units ---- */

size_t sym_unit_bytes(const struct sym_unit *unit)
{
    const struct sym_lines *lines = &unit->lines;
    const struct sym_scopes *scopes = &unit->scopes;
    size_t segments = lines->segments.capacity + scopes->segments.capacity +
                      scopes->inlined.capacity;

    return lines->row_capacity * sizeof *lines->rows +
           lines->sequence_capacity * sizeof *lines->sequences +
           lines->file_capacity * sizeof *lines->files + scopes->capacity * sizeof *scopes->items +
           scopes->function_capacity * sizeof *scopes->functions +
           segments * sizeof(struct sym_segment);
}

void sym_dwarf_forget(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    if (!unit->is_kept)
        return;
    *(unit->newer == SYM_NO_VALUE ? &dwarf->newest
                                  : &dwarf->units[unit->newer].older) = unit->older;
    *(unit->older == SYM_NO_VALUE ? &dwarf->oldest
                                  : &dwarf->units[unit->older].newer) = unit->newer;
    dwarf->kept_bytes -= unit->kept_bytes;
    unit->is_kept = false;
}

void sym_dwarf_keep(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    uint32_t number = (uint32_t)(unit - dwarf->units);

    if (!unit->decoded || dwarf->newest == number)
        return; /* what the newest has grown by is counted when its turn comes again */
    sym_dwarf_forget(dwarf, unit);
    if (unit->by_libdwarf) /* to read it again would take another child */
        return;
    unit->is_kept = true;
    unit->newer = SYM_NO_VALUE;
    unit->older = dwarf->newest;
    unit->kept_bytes = sym_unit_bytes(unit);
    *(dwarf->newest == SYM_NO_VALUE ? &dwarf->oldest : &dwarf->units[dwarf->newest].newer) = number;
    dwarf->newest = number;
    dwarf->kept_bytes += unit->kept_bytes;
    while (dwarf->kept_bytes > dwarf->kept_bytes_max && dwarf->oldest != number)
        sym_unit_release(dwarf, &dwarf->units[dwarf->oldest]);
}

enum sym_status sym_dwarf_unit(struct sym_dwarf *dwarf, uint64_t vaddr, struct sym_span *span,
                               struct sym_unit **out)
{
    const struct sym_segments *segments = &dwarf->segments;
    struct sym_span ignored = { 0 };
    enum sym_status status;

    dwarf->unit_at = sym_segments_narrow(segments->items, segments->count, vaddr, dwarf->unit_at,
                                         span ? span : &ignored);
    *out = NULL;
    if (dwarf->unit_at < 0 || segments->items[dwarf->unit_at].value == SYM_NO_VALUE)
        return SYM_OK;
    *out = &dwarf->units[segments->items[dwarf->unit_at].value];
    if ((*out)->task != SYM_NO_VALUE)
        status = sym_ahead_take(dwarf, *out);
    else
        status = sym_dwarf_decode(dwarf, *out);
    if (!status)
        status = sym_fallback_unit(dwarf, *out);
    sym_dwarf_keep(dwarf, *out);
    return status;
}
