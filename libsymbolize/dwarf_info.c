/* dwarf_info.c - a .debug_info section: headers of its units, and where their abbreviations are. */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

enum { UNITS_MAX = 1 << 24 };

/* ---- Sections ---- */

enum sym_status sym_info_load(struct sym_info *info, struct sym_object *object,
                              struct sym_error *error)
{
    static const enum sym_section wanted[] = {
        SYM_SECTION_INFO,     SYM_SECTION_ABBREV,   SYM_SECTION_LINE,        SYM_SECTION_STR,
        SYM_SECTION_LINE_STR, SYM_SECTION_RANGES,   SYM_SECTION_STR_OFFSETS, SYM_SECTION_RNGLISTS,
        SYM_SECTION_ADDR,     SYM_SECTION_CU_INDEX,
    };
    enum sym_status status = SYM_OK;

    info->object = object;
    info->big_endian = object->big_endian;
    info->is_split = object->kind == SYM_OBJECT_SPLIT;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && !status; i++)
        status = sym_object_section(object, wanted[i], &info->sections[wanted[i]], error);
    return status;
}

/* A part of a section; an impossible one is empty.  */
static struct sym_bytes cut(struct sym_bytes bytes, uint64_t offset, uint64_t size)
{
    if (offset > bytes.size || size > bytes.size - offset)
        return (struct sym_bytes){ 0 };
    return (struct sym_bytes){ bytes.data + offset, (size_t)size };
}

enum sym_status sym_info_load_locations(struct sym_info *info)
{
    static const enum sym_section wanted[] = { SYM_SECTION_LOC, SYM_SECTION_LOCLISTS };
    enum sym_status status = SYM_OK;

    if (info->has_locations)
        return SYM_OK;
    for (size_t i = 0; i < 2 && !status; i++) {
        struct sym_bytes *bytes = &info->sections[wanted[i]];
        status = sym_object_section(info->object, wanted[i], bytes, NULL);
        if (!status && info->locations_size)
            *bytes = cut(*bytes, info->locations_offset, info->locations_size);
    }
    info->has_locations = status != SYM_NO_MEMORY;
    return status;
}

/* ---- Unit headers ---- */

struct header {
    uint64_t length;
    uint64_t die_offset; /* in .debug_info; 0: the unit is too short for a DIE */
    uint64_t limit;      /* where the next one starts */
    uint64_t abbrev_offset;
    uint64_t version, type;
    uint64_t dwo_id;
    uint64_t address_size;
    uint8_t offset_size;
};

/* What a header has behind its type in some units.  */
static void read_extra(struct sym_cursor *cursor, struct header *header)
{
    switch (header->type) {
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        header->dwo_id = sym_read_number(cursor, 8);
        break;
    case DW_UT_type:
    case DW_UT_split_type:
        sym_skip(cursor, 8 + header->offset_size); /* signature, offset of the type */
        break;
    default:
        break;
    }
}

/* The unit at offset; false: no sensible length, so nothing behind it can be found either.  */
static bool read_header(const struct sym_info *info, uint64_t offset, struct header *out)
{
    const struct sym_bytes *section = &info->sections[SYM_SECTION_INFO];
    struct sym_cursor cursor = sym_cursor_at(section, offset, info->big_endian);
    uint64_t length = sym_read_number(&cursor, 4);

    *out = (struct header){ .offset_size = 4, .type = DW_UT_compile };
    if (length == 0xffffffff) {
        out->offset_size = 8;
        length = sym_read_number(&cursor, 8);
    }
    out->length = length;
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
    read_extra(&cursor, out);
    out->die_offset = cursor.left ? (uint64_t)(cursor.next - section->data) : 0;
    return true;
}

static bool is_sound(const struct sym_info *info, const struct header *header)
{
    return header->die_offset != 0 && header->version >= 2 && header->version <= 5 &&
           (header->address_size == 4 || header->address_size == 8) &&
           header->abbrev_offset < info->sections[SYM_SECTION_ABBREV].size;
}

/* Types hold no code, and no names of functions that have any.  */
static bool is_wanted(const struct sym_info *info, const struct header *header)
{
    switch (header->type) {
    case DW_UT_compile:
    case DW_UT_partial:
        return true;
    case DW_UT_skeleton:
        return !info->is_split;
    case DW_UT_split_compile:
        return info->is_split;
    default:
        return false;
    }
}

static enum sym_status add_unit(struct sym_info *info, uint64_t offset, const struct header *header)
{
    const uint64_t length_size = header->offset_size == 8 ? 12 : 4;

    if (!base_make_room(&info->units, &info->unit_capacity, info->unit_count + 1,
                        sizeof *info->units))
        return SYM_NO_MEMORY;
    struct sym_unit *unit = &info->units[info->unit_count++];
    *unit = (struct sym_unit){
        .info = info,
        .offset = offset,
        .die_offset = header->die_offset,
        .limit = header->limit,
        .abbrev_offset = header->abbrev_offset,
        .dwo_id = header->dwo_id,
        .type = (uint8_t)header->type,
        .dwo_name = "",
        .sizes = { .version = (uint16_t)header->version,
                   .offset_size = header->offset_size,
                   .address_size = (uint8_t)header->address_size },
        .line_offset = UINT64_MAX,
        .comp_dir = "",
        .task = SYM_NO_VALUE,
    };
    if (header->version >=
        5) { /* behind the headers of the sections: split info->units do not say it */
        unit->str_offsets_base = unit->addr_base = length_size + 4;
        unit->rnglists_base = length_size + 8;
    }
    return SYM_OK;
}

/* Without a length: whether any unit follows is unknown.  */
static void miss_rest(struct sym_decoder *decoder, const struct sym_info *info, uint64_t offset)
{
    sym_decoder_damage(decoder, "unit at 0x%llx of .debug_info leaves the section",
                       (unsigned long long)offset);
    if (info == &decoder->dwarf->main)
        sym_fallback_miss(decoder->dwarf, NULL,
                          "unit at 0x%llx of .debug_info leaves the section; no unit after it is "
                          "found",
                          (unsigned long long)offset);
}

/* A length of 0 is padding, not a unit.  */
static void miss_header(struct sym_decoder *decoder, const struct sym_info *info, uint64_t offset,
                        const struct header *header)
{
    sym_decoder_damage(decoder, "damaged unit header at 0x%llx of .debug_info",
                       (unsigned long long)offset);
    if (info == &decoder->dwarf->main && header->length > 0)
        sym_fallback_miss(decoder->dwarf, NULL,
                          "damaged unit header at 0x%llx of .debug_info; libdwarf is not used for "
                          "it",
                          (unsigned long long)offset);
}

static enum sym_status read_headers(struct sym_decoder *decoder, struct sym_info *info)
{
    uint64_t size = info->sections[SYM_SECTION_INFO].size;
    enum sym_status status = SYM_OK;
    struct header header;

    for (uint64_t offset = 0; offset < size && !status; offset = header.limit) {
        if (!read_header(info, offset, &header)) {
            miss_rest(decoder, info, offset);
            break;
        }
        if (!is_sound(info, &header))
            miss_header(decoder, info, offset, &header);
        else if (is_wanted(info, &header) && info->unit_count < UNITS_MAX)
            status = add_unit(info, offset, &header);
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

static void add_tables(struct sym_info *info, const struct table_use *uses)
{
    struct sym_abbrev_table *table = NULL;

    for (size_t i = 0; i < info->unit_count; i++) {
        if (i == 0 || compare_uses(&uses[i - 1], &uses[i]) != 0) {
            table = &info->tables[info->table_count++];
            *table = (struct sym_abbrev_table){ .offset = uses[i].offset,
                                                .limit = UINT64_MAX,
                                                .sizes = uses[i].sizes };
        }
        table->user_count++;
        info->units[uses[i].unit].table = (uint32_t)info->table_count - 1;
    }
    for (size_t i = info->table_count; i-- > 1;)
        info->tables[i - 1].limit = info->tables[i - 1].offset == info->tables[i].offset
                                        ? info->tables[i].limit
                                        : info->tables[i].offset;
}

static enum sym_status find_tables(struct sym_info *info)
{
    struct table_use *uses = base_calloc(info->unit_count + 1, sizeof *uses);

    info->tables = base_calloc(info->unit_count + 1, sizeof *info->tables);
    if (uses && info->tables) {
        for (size_t i = 0; i < info->unit_count; i++)
            uses[i] = (struct table_use){ .offset = info->units[i].abbrev_offset,
                                          .unit = (uint32_t)i,
                                          .sizes = info->units[i].sizes };
        qsort(uses, info->unit_count, sizeof *uses, compare_uses);
        add_tables(info, uses);
    }
    base_free(uses);
    return uses && info->tables ? SYM_OK : SYM_NO_MEMORY;
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
    struct sym_abbrev_table *table = &unit->info->tables[unit->table];
    enum sym_status status = SYM_OK;

    (void)pthread_mutex_lock(&dwarf->table_lock);
    if (!table->is_read)
        status = read_table(decoder, &unit->info->sections[SYM_SECTION_ABBREV], table);
    (void)pthread_mutex_unlock(&dwarf->table_lock);
    *out = &table->abbrevs;
    return status;
}

/* ---- Infos ---- */

enum sym_status sym_info_read(struct sym_decoder *decoder, struct sym_info *info)
{
    enum sym_status status = read_headers(decoder, info);

    return status ? status : find_tables(info);
}

enum sym_status sym_info_add(struct sym_dwarf *dwarf, struct sym_info *info)
{
    if (!base_make_room(&dwarf->infos, &dwarf->info_capacity, dwarf->info_count + 1,
                        sizeof(struct sym_info *)))
        return SYM_NO_MEMORY;
    info->key = (uint64_t)dwarf->info_count << SYM_KEY_BITS;
    dwarf->infos[dwarf->info_count++] = info;
    return SYM_OK;
}

void sym_info_release(struct sym_info *info)
{
    for (size_t i = 0; i < info->unit_count; i++) {
        sym_lines_release(&info->units[i].lines);
        sym_scopes_release(&info->units[i].scopes);
    }
    for (size_t i = 0; i < info->table_count; i++)
        sym_abbrevs_release(&info->tables[i].abbrevs);
    base_free(info->units);
    base_free(info->tables);
    if (info->owns_object)
        sym_object_free(info->object);
    *info = (struct sym_info){ 0 };
}

struct sym_unit *sym_dwarf_unit_of(const struct sym_dwarf *dwarf, uint64_t die_key)
{
    uint64_t number = die_key >> SYM_KEY_BITS, offset = die_key - (number << SYM_KEY_BITS);
    const struct sym_info *info = number < dwarf->info_count ? dwarf->infos[number] : NULL;
    size_t low = 0, high = info ? info->unit_count : 0;

    /* The first unit that starts after offset.  */
    BASE_BISECT(low, high, i, info->units[i].offset <= offset);
    if (low == 0 || offset < info->units[low - 1].die_offset ||
        offset >= info->units[low - 1].limit)
        return NULL;
    return &info->units[low - 1];
}
