/* dwarf_units.c - debug information of an object: its units, and which of them covers an address.
 *
 * Opening walks over the headers and looks at the first DIE of each unit.  .debug_aranges would
 * tell the same, but is missing or incomplete in many objects, and saves nothing worth having. */
#include "libsymbolize/internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    UNITS_MAX = 1 << 24,
    /* Entries of range lists a unit may read whatever its share of the section is.  */
    RANGES_OF_ANY_UNIT = 1 << 16,
};

/* Decoded units that are kept.  All of a kernel take 100 MB.  */
static const size_t KEPT_BYTES_MAX = (size_t)48 << 20;

/* ---- Damage ---- */

void sym_decoder_damage(struct sym_decoder *decoder, const char *format, ...)
{
    va_list arguments;

    if (decoder->damaged)
        return;
    decoder->damaged = true;
    va_start(arguments, format);
    if (vsnprintf(decoder->damage, sizeof decoder->damage, format, arguments) < 0)
        decoder->damage[0] = '\0';
    va_end(arguments);
}

void sym_decoder_release(struct sym_decoder *decoder)
{
    sym_ranges_release(&decoder->ranges);
    sym_sweep_release(&decoder->sweep);
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

/* Types hold no code, and no names of functions that have any.  */
static bool is_wanted(const struct header *header)
{
    return header->type == DW_UT_compile || header->type == DW_UT_skeleton ||
           header->type == DW_UT_partial;
}

static enum sym_status add_unit(struct sym_dwarf *dwarf, uint64_t offset,
                                const struct header *header)
{
    struct sym_unit *units = sym_grow(dwarf->units, &dwarf->unit_capacity, dwarf->unit_count,
                                      sizeof *units);

    if (!units)
        return SYM_NO_MEMORY;
    dwarf->units = units;
    units[dwarf->unit_count++] = (struct sym_unit){
        .sections = dwarf->sections,
        .offset = offset,
        .die_offset = header->die_offset,
        .limit = header->limit,
        .abbrev_offset = header->abbrev_offset,
        .sizes = { .version = (uint16_t)header->version,
                   .offset_size = header->offset_size,
                   .address_size = (uint8_t)header->address_size },
        .line_offset = UINT64_MAX,
        .comp_dir = "",
        .task = SYM_NO_VALUE,
    };
    return SYM_OK;
}

static enum sym_status read_headers(struct sym_dwarf *dwarf)
{
    uint64_t size = dwarf->sections[SYM_SECTION_INFO].size;
    enum sym_status status = SYM_OK;
    struct header header;

    for (uint64_t offset = 0; offset < size && !status; offset = header.limit) {
        if (!read_header(dwarf, offset, &header)) {
            sym_decoder_damage(&dwarf->decoder, "unit at 0x%llx of .debug_info leaves the section",
                               (unsigned long long)offset);
            break;
        }
        if (!is_sound(dwarf, &header))
            sym_decoder_damage(&dwarf->decoder, "damaged unit header at 0x%llx of .debug_info",
                               (unsigned long long)offset);
        else if (is_wanted(&header) && dwarf->unit_count < UNITS_MAX)
            status = add_unit(dwarf, offset, &header);
    }
    return status;
}

/* ---- Tables of abbreviations ---- */

/* Tables lie one behind the other: where the next one starts that some unit names, one ends.  That
 * bounds what reading all of them takes by the size of the section.  */
struct table_use {
    uint64_t offset;
    uint32_t unit;
    struct sym_sizes sizes;
};

static int compare_sizes(const struct sym_sizes *a, const struct sym_sizes *b)
{
    int order = (a->version > b->version) - (a->version < b->version);

    if (!order)
        order = a->offset_size - b->offset_size;
    return order ? order : a->address_size - b->address_size;
}

static int compare_uses(const void *a, const void *b)
{
    const struct table_use *left = a, *right = b;

    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return compare_sizes(&left->sizes, &right->sizes);
}

static void add_tables(struct sym_dwarf *dwarf, const struct table_use *uses)
{
    struct sym_abbrev_table *table = NULL;

    for (size_t i = 0; i < dwarf->unit_count; i++) {
        if (i == 0 || compare_uses(&uses[i - 1], &uses[i]) != 0) {
            table = &dwarf->tables[dwarf->table_count++];
            *table = (struct sym_abbrev_table){ .offset = uses[i].offset,
                                                .limit = UINT64_MAX,
                                                .sizes = uses[i].sizes };
        }
        table->user_count++;
        dwarf->units[uses[i].unit].table = (uint32_t)dwarf->table_count - 1;
    }
    for (size_t i = dwarf->table_count; i-- > 1;)
        dwarf->tables[i - 1].limit = dwarf->tables[i - 1].offset == dwarf->tables[i].offset
                                         ? dwarf->tables[i].limit
                                         : dwarf->tables[i].offset;
}

static enum sym_status find_tables(struct sym_dwarf *dwarf)
{
    struct table_use *uses = calloc(dwarf->unit_count + 1, sizeof *uses);

    dwarf->tables = calloc(dwarf->unit_count + 1, sizeof *dwarf->tables);
    if (uses && dwarf->tables) {
        for (size_t i = 0; i < dwarf->unit_count; i++)
            uses[i] = (struct table_use){ .offset = dwarf->units[i].abbrev_offset,
                                          .unit = (uint32_t)i,
                                          .sizes = dwarf->units[i].sizes };
        qsort(uses, dwarf->unit_count, sizeof *uses, compare_uses);
        add_tables(dwarf, uses);
    }
    free(uses);
    return uses && dwarf->tables ? SYM_OK : SYM_NO_MEMORY;
}

/* Reads a table that was not read so far.  Damage is noted; what precedes it is used.  */
static enum sym_status read_table(struct sym_decoder *decoder, const struct sym_bytes *section,
                                  struct sym_abbrev_table *table)
{
    enum sym_status status = sym_abbrevs_read(&table->abbrevs, section, table->offset, table->limit,
                                              &table->sizes, 0);

    if (status == SYM_NO_MEMORY) {
        sym_abbrevs_release(&table->abbrevs);
        return status;
    }
    if (status)
        sym_decoder_damage(decoder, "damaged table at 0x%llx of .debug_abbrev",
                           (unsigned long long)table->offset);
    table->is_read = true;
    return SYM_OK;
}

enum sym_status sym_unit_abbrevs(struct sym_decoder *decoder, const struct sym_unit *unit,
                                 const struct sym_abbrevs **out)
{
    struct sym_dwarf *dwarf = decoder->dwarf;
    struct sym_abbrev_table *table = &dwarf->tables[unit->table];
    enum sym_status status = SYM_OK;

    (void)pthread_mutex_lock(&dwarf->table_lock);
    if (!table->is_read)
        status = read_table(decoder, &unit->sections[SYM_SECTION_ABBREV], table);
    (void)pthread_mutex_unlock(&dwarf->table_lock);
    *out = &table->abbrevs;
    return status;
}

/* ---- The first DIE of a unit ---- */

/* What it says.  */
struct root {
    uint16_t tag;
    bool has_ranges;
    struct sym_extent extent;
    struct sym_value comp_dir, dwo_name;
};

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
                                struct sym_cursor *cursor, struct root *root)
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
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        root->dwo_name = value;
        break;
    default:
        break;
    }
}

/* Bases may stand behind what needs them, so that values are looked up when all are read.  */
static enum sym_status read_root(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                 struct sym_abbrevs *room, struct root *root)
{
    const struct sym_abbrev_table *table = &dwarf->tables[unit->table];
    const struct sym_bytes *info = &unit->sections[SYM_SECTION_INFO];
    struct sym_cursor cursor = sym_cursor_at(info, unit->die_offset, dwarf->big_endian);
    const struct sym_abbrevs *abbrevs = room;
    uint64_t code = sym_read_uleb(&cursor);
    enum sym_status status;

    *root = (struct root){ .tag = 0 };
    if (table->user_count > 1)
        status = sym_unit_abbrevs(&dwarf->decoder, unit, &abbrevs);
    else /* most units are never decoded: their root's is enough */
        status = sym_abbrevs_read(room, &unit->sections[SYM_SECTION_ABBREV], table->offset,
                                  table->limit, &table->sizes, code);
    if (status == SYM_NO_MEMORY)
        return status;
    const struct sym_abbrev *abbrev = sym_abbrevs_search(abbrevs, code);
    if (!abbrev || cursor.failed)
        return SYM_MALFORMED;
    cursor.left = (size_t)(unit->limit - (uint64_t)(cursor.next - info->data));
    unit->classes_hold_code = true;
    for (uint32_t i = 0; i < abbrev->attribute_count && !cursor.failed; i++)
        read_root_attribute(unit, &abbrevs->attributes[abbrev->first_attribute + i], &cursor, root);
    root->tag = abbrev->tag;
    unit->comp_dir = sym_value_text(&dwarf->decoder, unit, &root->comp_dir);
    uint64_t base = sym_value_address(&dwarf->decoder, unit, &root->extent.low);
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

static enum sym_status index_unit(struct sym_dwarf *dwarf, uint32_t number,
                                  struct sym_abbrevs *room, struct sym_ranges *index)
{
    struct sym_unit *unit = &dwarf->units[number];
    struct sym_range like = { .value = number };
    struct root root;
    size_t before = index->count;
    enum sym_status status = read_root(dwarf, unit, room, &root);

    if (status == SYM_NO_MEMORY)
        return status;
    if (status)
        sym_decoder_damage(&dwarf->decoder, "damaged unit at 0x%llx of .debug_info",
                           (unsigned long long)unit->offset);
    unit->is_partial = root.tag != DW_TAG_compile_unit && root.tag != DW_TAG_skeleton_unit;
    if (unit->is_partial)
        return SYM_OK;
    dwarf->split |= root.dwo_name.kind != SYM_VALUE_NONE;
    status = sym_extent_ranges(&dwarf->decoder, unit, &root.extent, like, index);
    if (status == SYM_MALFORMED) /* noted; what was read is kept */
        status = SYM_OK;
    if (!status && index->count == before && !root.has_ranges)
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

static enum sym_status load_sections(struct sym_dwarf *dwarf, struct sym_error *error)
{
    static const enum sym_section wanted[] = {
        SYM_SECTION_INFO,        SYM_SECTION_ABBREV,   SYM_SECTION_LINE,
        SYM_SECTION_STR,         SYM_SECTION_LINE_STR, SYM_SECTION_RANGES,
        SYM_SECTION_STR_OFFSETS, SYM_SECTION_RNGLISTS, SYM_SECTION_ADDR,
    };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && !status; i++)
        status = sym_object_section(dwarf->object, wanted[i], &dwarf->sections[wanted[i]], error);
    return status;
}

static uint64_t range_bytes(const struct sym_dwarf *dwarf)
{
    return (uint64_t)dwarf->sections[SYM_SECTION_RANGES].size +
           (uint64_t)dwarf->sections[SYM_SECTION_RNGLISTS].size;
}

static bool has_code_unit(const struct sym_dwarf *dwarf)
{
    for (size_t i = 0; i < dwarf->unit_count; i++)
        if (!dwarf->units[i].is_partial)
            return true;
    return false;
}

enum sym_status sym_dwarf_open(struct sym_dwarf *dwarf, struct sym_object *object,
                               struct sym_strings *strings, struct sym_error *error)
{
    *dwarf = (struct sym_dwarf){
        .object = object,
        .strings = strings,
        .newest = SYM_NO_VALUE,
        .oldest = SYM_NO_VALUE,
        .kept_bytes_max = KEPT_BYTES_MAX,
    };
    dwarf->decoder.dwarf = dwarf;
    dwarf->big_endian = object->big_endian;
    if (pthread_mutex_init(&dwarf->table_lock, NULL) != 0)
        return sym_fail(error, SYM_NO_MEMORY, "%s: out of memory", object->path);
    dwarf->has_lock = true;
    enum sym_status status = load_sections(dwarf, error);
    if (status)
        return status;
    dwarf->line_budget = 16 * (uint64_t)dwarf->sections[SYM_SECTION_LINE].size;
    dwarf->decoder.range_budget = RANGES_OF_ANY_UNIT + 16 * range_bytes(dwarf);
    status = read_headers(dwarf);
    if (!status)
        status = find_tables(dwarf);
    if (!status)
        status = index_units(dwarf);
    if (status == SYM_NO_MEMORY)
        return sym_fail(error, status, "%s: out of memory", object->path);
    if (!has_code_unit(dwarf))
        return sym_fail(error, SYM_MALFORMED, "%s: unreadable debug information: %s", object->path,
                        dwarf->decoder.damaged ? dwarf->decoder.damage : "it has no unit");
    return SYM_OK;
}

void sym_dwarf_close(struct sym_dwarf *dwarf)
{
    sym_ahead_end(dwarf);
    for (size_t i = 0; i < dwarf->unit_count; i++)
        sym_unit_release(dwarf, &dwarf->units[i]);
    for (size_t i = 0; i < dwarf->table_count; i++)
        sym_abbrevs_release(&dwarf->tables[i].abbrevs);
    free(dwarf->units);
    free(dwarf->tables);
    sym_segments_release(&dwarf->segments);
    sym_names_release(dwarf);
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
    if (sym_line_header_read(unit, dwarf->big_endian, &header) != SYM_OK)
        return;
    if (header.program.left > dwarf->line_budget) {
        sym_decoder_damage(decoder, "too many units share line tables");
        unit->line_offset = UINT64_MAX;
        return;
    }
    dwarf->line_budget -= header.program.left;
}

/* Units and functions each by their size: the same whatever else was decoded, and by whom.  */
void sym_decoder_allow_ranges(struct sym_decoder *decoder, uint64_t info_bytes, uint64_t at_least)
{
    const struct sym_dwarf *dwarf = decoder->dwarf;
    double all = (double)dwarf->sections[SYM_SECTION_INFO].size;

    decoder->range_budget = at_least +
                            (uint64_t)(16 * (double)range_bytes(dwarf) * (double)info_bytes / all);
}

enum sym_status sym_unit_decode(struct sym_decoder *decoder, struct sym_unit *unit)
{
    uint64_t own = unit->limit - unit->offset;

    if (unit->decoded)
        return SYM_OK;
    unit->decoded = true; /* a damaged one is not tried again */
    sym_decoder_allow_ranges(decoder, own, RANGES_OF_ANY_UNIT);
    enum sym_status status = sym_functions_read(decoder, unit);
    return status ? status : sym_lines_read(decoder, unit);
}

enum sym_status sym_dwarf_decode(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    sym_unit_charge(&dwarf->decoder, unit);
    return sym_unit_decode(&dwarf->decoder, unit);
}

void sym_unit_release(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    struct sym_abbrev_table *table = &dwarf->tables[unit->table];

    sym_dwarf_forget(dwarf, unit);
    if (!unit->decoded)
        return;
    sym_lines_release(&unit->lines);
    sym_scopes_release(&unit->scopes);
    unit->decoded = false;
    if (table->user_count == 1) {
        sym_abbrevs_release(&table->abbrevs);
        table->is_read = false;
    }
}

struct sym_unit *sym_dwarf_unit_at(const struct sym_dwarf *dwarf, uint64_t die_offset)
{
    size_t low = 0, high = dwarf->unit_count;

    while (low < high) { /* the first unit that starts behind die_offset */
        size_t middle = low + (high - low) / 2;
        if (dwarf->units[middle].offset <= die_offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || die_offset < dwarf->units[low - 1].die_offset ||
        die_offset >= dwarf->units[low - 1].limit)
        return NULL;
    return &dwarf->units[low - 1];
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
    sym_dwarf_keep(dwarf, *out);
    return status;
}

/* ---- Places ---- */

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
    while (low < high) { /* the first row behind vaddr */
        size_t middle = low + (high - low) / 2;
        if (rows[middle].vaddr <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < sequence->count && rows[low].vaddr < place->span.limit)
        place->span.limit = rows[low].vaddr;
    if (low == 0)
        return;
    if (rows[low - 1].vaddr > place->span.start)
        place->span.start = rows[low - 1].vaddr;
    if (rows[low - 1].line)
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
