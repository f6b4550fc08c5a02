/* dwarf_split.c - debug information in companion files: split units (.dwo), packages of them
 * (.dwp), supplements (section 4).
 *
 * A skeleton keeps its line table and addresses; its functions are described by the split unit of
 * the same id.  Each open one is a sym_info of its own, also where several lie in one package. */
#include "libsymbolize/symbolize_internal.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    UNITS_TRIED_MAX = 256,
};

/* ---- Finding the unit ---- */

static const char OTHER_BUILD[] = "the file was built at another time";
static const char DAMAGED[] = "its unit is damaged";

/* Finds the unit of info that has the id of a skeleton.  If there is none, *out is NULL, and
 * *misfit is set to DAMAGED if a unit with that id, or one whose id is unknown, cannot be read.  */
static enum sym_status find_unit(struct sym_dwarf *dwarf, struct sym_info *info,
                                 const struct sym_unit *skeleton, struct sym_unit **out,
                                 const char **misfit)
{
    struct sym_abbrevs room = { 0 };
    struct sym_root root;
    enum sym_status status = SYM_OK;

    *out = NULL;
    for (size_t i = 0; i < info->unit_count && !*out && status != SYM_NO_MEMORY; i++) {
        struct sym_unit *unit = &info->units[i];
        status = sym_unit_read_root(&dwarf->decoder, unit, &room, &root);
        if (!status && unit->dwo_id == skeleton->dwo_id && root.tag == DW_TAG_compile_unit)
            *out = unit;
        else if (unit->dwo_id == skeleton->dwo_id || (status && unit->sizes.version < 5))
            *misfit = DAMAGED; /* before DWARF 5 the id is in what cannot be read */
    }
    sym_abbrevs_release(&room);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* What a split unit takes from its skeleton, which is where the linker works.  */
static void join(struct sym_unit *split, const struct sym_unit *skeleton)
{
    const struct sym_bytes *sections = skeleton->info->sections;

    split->info->sections[SYM_SECTION_ADDR] = sections[SYM_SECTION_ADDR];
    if (split->sizes.version < 5)
        split->info->sections[SYM_SECTION_RANGES] = sections[SYM_SECTION_RANGES];
    split->addr_base = skeleton->addr_base;
    split->ranges_base = skeleton->gnu_ranges_base;
    split->base = skeleton->base;
    if (!split->comp_dir[0])
        split->comp_dir = skeleton->comp_dir;
}

/* Takes info in any case.  *misfit is NULL if it holds the unit, else it says why not.  */
static enum sym_status adopt(struct sym_dwarf *dwarf, struct sym_unit *skeleton,
                             struct sym_info *info, const char **misfit)
{
    struct sym_unit *unit = NULL;
    enum sym_status status = SYM_OK;

    *misfit = OTHER_BUILD;
    if (info->big_endian == dwarf->main.big_endian) {
        unsigned before = dwarf->decoder.damage_count;

        status = sym_info_read(&dwarf->decoder, info);
        if (dwarf->decoder.damage_count != before) /* in headers: the unit may be left out */
            *misfit = DAMAGED;
        if (!status)
            status = find_unit(dwarf, info, skeleton, &unit, misfit);
    }
    if (!status && unit)
        status = sym_info_add(dwarf, info);
    if (status || !unit) {
        sym_info_release(info);
        base_free(info);
        return status;
    }
    join(unit, skeleton);
    skeleton->split = unit;
    *misfit = NULL;
    return SYM_OK;
}

/* ---- .dwo files ---- */

struct attempt {
    struct sym_dwarf *dwarf;
    struct sym_unit *skeleton;
    enum sym_status status;
};

/* A sym_fits_fn.  The split unit of a file that fits is joined to its skeleton.  */
static const char *fits(void *context, struct sym_object *object)
{
    static const char no_memory[] = "out of memory";
    struct attempt *attempt = context;
    struct sym_info *info = base_calloc(1, sizeof *info);
    const char *misfit = DAMAGED;

    if (attempt->status || !info) {
        attempt->status = SYM_NO_MEMORY;
        base_free(info);
        return no_memory;
    }
    enum sym_status status = sym_info_load(info, object, NULL);
    if (!status)
        status = adopt(attempt->dwarf, attempt->skeleton, info, &misfit);
    else
        base_free(info);
    if (status == SYM_NO_MEMORY)
        attempt->status = status;
    return status == SYM_NO_MEMORY ? no_memory : misfit;
}

/* misfit says what is wrong with the unit in the package; NULL: there is none in one.  */
static enum sym_status open_dwo(struct sym_dwarf *dwarf, struct sym_unit *skeleton,
                                const char *misfit)
{
    struct attempt attempt = { .dwarf = dwarf, .skeleton = skeleton };
    struct sym_object *object = NULL;
    struct sym_error error = { .message = "" };
    enum sym_status status = SYM_NOT_FOUND;

    if (dwarf->finder.dwo)
        status = dwarf->finder.dwo(dwarf->finder.context, skeleton, fits, &attempt, &object,
                                   &error);
    if (skeleton->split && !status) {
        skeleton->split->info->owns_object = true;
        return SYM_OK;
    }
    sym_unit_close_split(dwarf, skeleton); /* its file is gone already */
    if (attempt.status || status == SYM_NO_MEMORY)
        return SYM_NO_MEMORY;
    if (dwarf->missing_splits++ > 0)
        return SYM_OK;
    if (misfit)
        (void)snprintf(dwarf->missing, sizeof dwarf->missing, "%s: %s",
                       dwarf->package->object->path, misfit);
    else
        (void)snprintf(dwarf->missing, sizeof dwarf->missing, "%s", error.message);
    return SYM_OK;
}

/* ---- Packages ---- */

/* The columns of an index that matter here (DWARF 5, 7.3.5.3, and the GNU form before it).  */
static enum sym_section column_section(uint64_t version, uint64_t id)
{
    switch (id) {
    case 1:
        return SYM_SECTION_INFO;
    case 3:
        return SYM_SECTION_ABBREV;
    case 4:
        return SYM_SECTION_LINE;
    case 5:
        return version >= 5 ? SYM_SECTION_LOCLISTS : SYM_SECTION_LOC;
    case 6:
        return SYM_SECTION_STR_OFFSETS;
    case 8:
        return version >= 5 ? SYM_SECTION_RNGLISTS : SYM_SECTION_COUNT;
    default:
        return SYM_SECTION_COUNT;
    }
}

struct package_index {
    uint64_t version, columns, units, slots;
    struct sym_cursor signatures, rows, ids, offsets, sizes;
};

/* The next count items of size bytes.  */
static struct sym_cursor take_array(struct sym_cursor *cursor, uint64_t count, uint64_t size)
{
    struct sym_cursor array = *cursor;
    uint64_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = UINT64_MAX;
    sym_skip(cursor, bytes);
    array.left = cursor->failed ? 0 : (size_t)bytes;
    return array;
}

static uint64_t item(struct sym_cursor array, uint64_t index, size_t size)
{
    sym_skip(&array, index * size);
    return sym_read_number(&array, size);
}

static bool read_index(const struct sym_info *package, struct package_index *index)
{
    struct sym_cursor cursor = sym_cursor_at(&package->sections[SYM_SECTION_CU_INDEX], 0,
                                             package->big_endian);
    uint64_t cells;

    index->version = sym_read_number(&cursor, 2);
    uint64_t rest = sym_read_number(&cursor, 2);
    if (package->big_endian && index->version == 0)
        index->version = rest; /* 2, as four bytes */
    index->columns = sym_read_number(&cursor, 4);
    index->units = sym_read_number(&cursor, 4);
    index->slots = sym_read_number(&cursor, 4);
    if ((index->version != 2 && index->version != 5) || (index->slots & (index->slots - 1)) ||
        __builtin_mul_overflow(index->units, index->columns, &cells))
        return false;
    index->signatures = take_array(&cursor, index->slots, 8);
    index->rows = take_array(&cursor, index->slots, 4);
    index->ids = take_array(&cursor, index->columns, 4);
    index->offsets = take_array(&cursor, cells, 4);
    index->sizes = take_array(&cursor, cells, 4);
    return !cursor.failed && index->slots > 0;
}

/* The row of a unit, from 1; 0: none.  */
static uint64_t find_row(const struct package_index *index, uint64_t dwo_id)
{
    uint64_t mask = index->slots - 1, slot = dwo_id & mask, step = ((dwo_id >> 32) & mask) | 1;

    for (uint64_t probes = 0; probes < index->slots; probes++) {
        uint64_t row = item(index->rows, slot, 4);
        if (row == 0 || row > index->units)
            return 0;
        if (item(index->signatures, slot, 8) == dwo_id)
            return row;
        slot = (slot + step) & mask;
    }
    return 0;
}

/* Cuts the sections of info to what a row says.  */
static bool cut_sections(const struct package_index *index, uint64_t row, struct sym_info *info)
{
    for (uint64_t column = 0; column < index->columns; column++) {
        enum sym_section which = column_section(index->version, item(index->ids, column, 4));
        uint64_t cell = (row - 1) * index->columns + column;
        uint64_t offset = item(index->offsets, cell, 4), size = item(index->sizes, cell, 4);
        if (which == SYM_SECTION_COUNT)
            continue;
        struct sym_bytes *bytes = &info->sections[which];
        if (which == SYM_SECTION_LOC || which == SYM_SECTION_LOCLISTS) {
            info->locations_offset = offset; /* they are read later */
            info->locations_size = size;
            continue;
        }
        if (offset > bytes->size || size > bytes->size - offset)
            return false;
        if (offset > 0) /* one that is not there has no data to count from */
            bytes->data += offset;
        bytes->size = (size_t)size;
    }
    return true;
}

/* A sym_fits_fn: whether object is a package with a unit of the program.  It is enough to look for
 * the first units: a package has all, or is another program's.  */
static const char *is_package_of(void *context, struct sym_object *object)
{
    static const char misfit[] = "the package has none of its units";
    const struct sym_dwarf *dwarf = context;
    struct sym_info info = { .object = NULL };
    struct package_index index;

    if (sym_info_load(&info, object, NULL) || !read_index(&info, &index))
        return misfit;
    for (size_t i = 0, tried = 0; i < dwarf->unit_count && tried < UNITS_TRIED_MAX; i++) {
        if (!dwarf->units[i].dwo_name[0])
            continue;
        if (find_row(&index, dwarf->units[i].dwo_id))
            return NULL;
        tried++;
    }
    return misfit;
}

static enum sym_status seek_package(struct sym_dwarf *dwarf)
{
    struct sym_object *object = NULL;
    enum sym_status status = SYM_NOT_FOUND;

    if (dwarf->package_sought)
        return SYM_OK;
    dwarf->package_sought = true;
    if (dwarf->finder.dwp)
        status = dwarf->finder.dwp(dwarf->finder.context, is_package_of, dwarf, &object, NULL);
    if (status)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    struct sym_info *package = base_calloc(1, sizeof *package);
    if (!package) {
        sym_object_free(object);
        return SYM_NO_MEMORY;
    }
    status = sym_info_load(package, object, NULL);
    package->object = object;
    package->owns_object = true;
    dwarf->package = package;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* The unit of the package, if there is one and it has it.  *misfit, NULL before, says what is wrong
 * with it.  */
static enum sym_status open_packaged(struct sym_dwarf *dwarf, struct sym_unit *skeleton,
                                     const char **misfit)
{
    struct package_index index;
    enum sym_status status = seek_package(dwarf);

    if (status || !dwarf->package || !read_index(dwarf->package, &index))
        return status;
    uint64_t row = find_row(&index, skeleton->dwo_id);
    if (row == 0)
        return SYM_OK;
    struct sym_info *info = base_calloc(1, sizeof *info);
    if (!info)
        return SYM_NO_MEMORY;
    *info = *dwarf->package;
    info->owns_object = false;
    if (!cut_sections(&index, row, info)) {
        sym_decoder_damage(&dwarf->decoder, "damaged index of %s", dwarf->package->object->path);
        base_free(info);
        *misfit = "its index is damaged";
        return SYM_OK;
    }
    return adopt(dwarf, skeleton, info, misfit);
}

/* ---- For all of them ---- */

enum sym_status sym_unit_open_split(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    const char *misfit = NULL;

    if (unit->sought || unit->split || !unit->dwo_name[0])
        return SYM_OK;
    enum sym_status status = open_packaged(dwarf, unit, &misfit);
    if (!status && !unit->split)
        status = open_dwo(dwarf, unit, misfit);
    unit->sought = !status;
    return status;
}

void sym_unit_close_split(struct sym_dwarf *dwarf, struct sym_unit *unit)
{
    if (!unit->split)
        return;
    struct sym_info *info = unit->split->info;
    dwarf->infos[info->key >> SYM_KEY_BITS] = NULL;
    sym_info_release(info);
    base_free(info);
    unit->split = NULL;
    unit->sought = false;
}

void sym_splits_release(struct sym_dwarf *dwarf)
{
    struct sym_info *infos[] = { dwarf->package, dwarf->alt };

    for (size_t i = 0; i < 2; i++) {
        if (infos[i])
            sym_info_release(infos[i]);
        base_free(infos[i]);
    }
    dwarf->package = dwarf->alt = NULL;
}

/* ---- Supplements ---- */

enum sym_status sym_alt_open(struct sym_dwarf *dwarf)
{
    struct sym_object *object = NULL;
    struct sym_error error = { .message = "" };
    enum sym_status status = SYM_NOT_FOUND;

    if (!dwarf->object->has_alt)
        return SYM_OK;
    if (dwarf->finder.alt)
        status = dwarf->finder.alt(dwarf->finder.context, &object, &error);
    if (status == SYM_NO_MEMORY)
        return status;
    if (status) {
        (void)snprintf(dwarf->missing_alt, sizeof dwarf->missing_alt, "%s", error.message);
        return SYM_OK;
    }
    struct sym_info *alt = base_calloc(1, sizeof *alt);
    if (!alt) {
        sym_object_free(object);
        return SYM_NO_MEMORY;
    }
    status = sym_info_load(alt, object, &error);
    alt->object = object;
    alt->owns_object = true;
    dwarf->alt = alt; /* released with dwarf, whatever comes now */
    if (!status)
        status = sym_info_add(dwarf, alt);
    if (!status)
        status = sym_info_read(&dwarf->decoder, alt);
    if (status == SYM_MALFORMED)
        (void)snprintf(dwarf->missing_alt, sizeof dwarf->missing_alt, "%s", error.message);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}
