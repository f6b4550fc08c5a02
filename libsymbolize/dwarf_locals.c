/* dwarf_locals.c - parameters and variables of a function, as debug information describes them. */
#include "libsymbolize/symbolize_internal.h"

enum {
    DEPTH_MAX = 512,           /* nesting of DIEs that is told apart */
    LOCATIONS_MAX = 1 << 16,   /* entries of a list that are looked at */
    RANGES_OF_A_COPY = 1 << 8, /* entries of range lists */
};

/* ---- Lists of locations ---- */

/* Where the list is that an attribute names; false: nowhere.  */
static bool find_list(const struct sym_unit *unit, const struct sym_value *value,
                      struct sym_cursor *list)
{
    const struct sym_bytes *section = &unit->info->sections[SYM_SECTION_LOCLISTS];
    uint64_t base = unit->loclists_base, offset = value->number;
    size_t size = unit->sizes.offset_size;

    if (unit->sizes.version < 5)
        section = &unit->info->sections[SYM_SECTION_LOC];
    if (value->kind == SYM_VALUE_LIST_INDEX) {
        if (base == 0 && unit->info->is_split) /* behind the header of its only table */
            base = size == 8 ? 20 : 12;
        if (__builtin_mul_overflow(offset, size, &offset) ||
            __builtin_add_overflow(offset, base, &offset))
            return false;
        struct sym_cursor cursor = sym_cursor_at(section, offset, unit->info->big_endian);
        offset = sym_read_number(&cursor, size);
        if (cursor.failed || __builtin_add_overflow(offset, base, &offset))
            return false;
    }
    *list = sym_cursor_at(section, offset, unit->info->big_endian);
    return !list->failed;
}

/* The expression that is next, behind its length.  */
static struct sym_cursor take_expression(struct sym_cursor *list, uint64_t length)
{
    struct sym_cursor expression = *list;

    sym_skip(list, length);
    expression.left = list->failed ? 0 : (size_t)length;
    return expression;
}

/* The next entry of a list of DWARF 2 to 4 (2.6.2); false: the list ends.  An entry without an
 * expression has one of no bytes.  */
static bool next_old(const struct sym_unit *unit, struct sym_cursor *list,
                     struct sym_cursor *expression)
{
    size_t size = unit->sizes.address_size;
    uint64_t highest = size == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t start, limit;

    expression->left = 0;
    if (unit->info->is_split) { /* the GNU form: kinds, as DWARF 5 has them later */
        uint64_t kind = sym_read_number(list, 1);
        if (kind == DW_LLE_end_of_list || kind > DW_LLE_startx_length)
            return false;
        if (kind == DW_LLE_base_addressx) {
            (void)sym_read_uleb(list);
            return !list->failed;
        }
        (void)sym_read_uleb(list);
        if (kind == DW_LLE_startx_endx)
            (void)sym_read_uleb(list);
        else
            sym_skip(list, 4);
    } else {
        start = sym_read_number(list, size);
        limit = sym_read_number(list, size);
        if (start == 0 && limit == 0)
            return false;
        if (start == highest)
            return !list->failed;
    }
    *expression = take_expression(list, sym_read_number(list, 2));
    return !list->failed;
}

/* The same of DWARF 5 (7.7.3).  */
static bool next_new(const struct sym_unit *unit, struct sym_cursor *list,
                     struct sym_cursor *expression)
{
    size_t size = unit->sizes.address_size;

    expression->left = 0;
    switch (sym_read_number(list, 1)) {
    case DW_LLE_base_addressx:
        (void)sym_read_uleb(list);
        return !list->failed;
    case DW_LLE_base_address:
        sym_skip(list, size);
        return !list->failed;
    case DW_LLE_startx_endx:
    case DW_LLE_startx_length:
    case DW_LLE_offset_pair:
        (void)sym_read_uleb(list);
        (void)sym_read_uleb(list);
        break;
    case DW_LLE_start_end:
        sym_skip(list, 2 * size);
        break;
    case DW_LLE_start_length:
        sym_skip(list, size);
        (void)sym_read_uleb(list);
        break;
    case DW_LLE_default_location:
        break;
    default:
        return false;
    }
    *expression = take_expression(list, sym_read_uleb(list));
    return !list->failed;
}

/* ---- Locals ---- */

struct locals {
    struct sym_module *module;
    struct sym_decoder *decoder;
    struct sym_unit *unit; /* that covers the address; its DIEs may be in a split unit */
    uint64_t vaddr;
    int base_register; /* of the frame; -1: it is no register */
    sym_local_fn visit;
    void *context;
    const char *functions[DEPTH_MAX]; /* around DIEs of that depth */
};

/* Whether an attribute can be a reference to a list.  */
static bool is_list(const struct sym_value *value)
{
    return value->kind == SYM_VALUE_OFFSET || value->kind == SYM_VALUE_LIST_INDEX ||
           value->kind == SYM_VALUE_CONSTANT; /* before DWARF 4 */
}

/* The first place of the variable that is in the frame.  */
static bool find_offset(const struct locals *locals, struct sym_die *die,
                        const struct sym_attribute *attribute, int64_t *offset)
{
    struct sym_cursor before = die->cursor, list, expression;
    struct sym_value value;

    sym_value_read(die->unit, attribute, &die->cursor, &value);
    if (value.kind == SYM_VALUE_NONE) {
        expression = sym_block_read(die->unit, attribute->form, &before);
        return sym_expression_offset(expression, locals->base_register, offset);
    }
    if (!is_list(&value) || !find_list(die->unit, &value, &list))
        return false;
    for (int i = 0; i < LOCATIONS_MAX; i++) {
        if (!(die->unit->sizes.version < 5 ? next_old : next_new)(die->unit, &list, &expression))
            return false;
        if (sym_expression_offset(expression, locals->base_register, offset))
            return true;
    }
    return false;
}

static enum sym_status intern(const struct locals *locals, const char *text, const char **out)
{
    *out = sym_strings_intern(&locals->module->strings, text, strlen(text));
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

/* What its DIE and those it refers to say: name, declaration, type.  */
static enum sym_status describe(const struct locals *locals, uint64_t key, struct sym_local *local)
{
    struct sym_dwarf *dwarf = locals->decoder->dwarf;
    struct sym_texts texts;
    enum sym_status status = sym_die_texts(locals->decoder, key, &texts);

    if (!status)
        status = intern(locals, texts.plain, &local->name);
    if (!status)
        status = sym_decl_file(dwarf, locals->unit, (uint32_t)texts.start_file, texts.start_key,
                               &local->file);
    local->line = (uint32_t)texts.start_line;
    if (status || !texts.has_type)
        return status;
    status = sym_type_size(locals->decoder, texts.type, &local->size);
    local->has_size = !status;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static enum sym_status tell_local(const struct locals *locals, struct sym_die die,
                                  const char *function)
{
    const struct sym_attribute *attribute = &die.abbrevs->attributes[die.abbrev->first_attribute];
    const struct sym_attribute *end = attribute + die.abbrev->attribute_count;
    struct sym_local local = { .function = function };
    struct sym_value value;
    enum sym_status status = describe(locals, die.key, &local);

    for (; attribute < end && !die.cursor.failed; attribute++) {
        if (attribute->name == DW_AT_location) {
            local.has_frame_offset = find_offset(locals, &die, attribute, &local.frame_offset);
        } else {
            sym_value_read(die.unit, attribute, &die.cursor, &value);
            if (attribute->name == DW_AT_LLVM_tag_offset && value.kind == SYM_VALUE_CONSTANT) {
                local.has_tag_offset = true;
                local.tag_offset = value.number;
            }
        }
    }
    if (!local.has_frame_offset)
        local.frame_offset = 0;
    if (status)
        return status;
    struct base_account *before = base_account_enter(NULL); /* the caller's memory is its own */
    bool more = locals->visit(locals->context, &local);

    (void)base_account_enter(before);
    return more ? SYM_OK : SYM_STOPPED;
}

/* ---- The function ---- */

/* What a DIE covers, whether that holds the address, and where its frame begins.  */
static enum sym_status read_extent(struct locals *locals, struct sym_die die, bool *covers,
                                   bool with_base)
{
    const struct sym_attribute *attribute = &die.abbrevs->attributes[die.abbrev->first_attribute];
    const struct sym_attribute *end = attribute + die.abbrev->attribute_count;
    struct sym_ranges *ranges = &locals->decoder->ranges;
    struct sym_extent extent = { 0 };
    struct sym_value value;
    uint8_t number;

    for (; attribute < end && !die.cursor.failed; attribute++) {
        struct sym_cursor before = die.cursor;

        sym_value_read(die.unit, attribute, &die.cursor, &value);
        if (attribute->name == DW_AT_low_pc)
            extent.low = value;
        else if (attribute->name == DW_AT_high_pc)
            extent.high = value;
        else if (attribute->name == DW_AT_ranges)
            extent.ranges = value;
        else if (attribute->name == DW_AT_frame_base && with_base &&
                 sym_expression_register(sym_block_read(die.unit, attribute->form, &before),
                                         &number))
            locals->base_register = number;
    }
    ranges->count = 0;
    sym_decoder_allow_ranges(locals->decoder, die.unit, 1, RANGES_OF_A_COPY);
    enum sym_status status = sym_extent_ranges(locals->decoder, die.unit, &extent,
                                               (struct sym_range){ .value = 0 }, ranges);
    *covers = false;
    for (size_t i = 0; i < ranges->count; i++)
        *covers |= locals->vaddr >= ranges->items[i].low && locals->vaddr < ranges->items[i].high;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* Functions inside a function, and types, have variables of their own.  */
static bool is_apart(const struct sym_die *die)
{
    return die->abbrev->kind != SYM_DIE_PLAIN && die->abbrev->kind != SYM_DIE_INLINED;
}

/* Moves *die from a function to the innermost copy in it that covers the address.  */
static enum sym_status find_innermost(struct locals *locals, struct sym_die *die)
{
    struct sym_die at = *die;
    uint32_t depth = 0, apart = UINT32_MAX;
    bool covers;

    while (sym_die_next(&at, &depth)) {
        if (depth > apart)
            continue;
        apart = is_apart(&at) ? depth : UINT32_MAX;
        if (at.abbrev->kind != SYM_DIE_INLINED)
            continue;
        enum sym_status status = read_extent(locals, at, &covers, false);
        if (status)
            return status;
        if (covers) /* deeper ones come later */
            *die = at;
    }
    return SYM_OK;
}

static enum sym_status name_function(const struct locals *locals, uint64_t key, const char **name)
{
    struct sym_texts texts;
    enum sym_status status = sym_die_texts(locals->decoder, key, &texts);

    return status ? status : intern(locals, texts.plain, name);
}

/* Tells the variables of a function or an inlined copy, and of what was inlined into that.  */
static enum sym_status tell_locals(struct locals *locals, struct sym_die die)
{
    uint32_t depth = 0, apart = UINT32_MAX;
    enum sym_status status = name_function(locals, die.key, &locals->functions[0]);

    while (!status && sym_die_next(&die, &depth)) {
        uint16_t tag = die.abbrev->tag;

        if (depth > apart || depth >= DEPTH_MAX)
            continue;
        apart = is_apart(&die) ? depth : UINT32_MAX;
        locals->functions[depth] = locals->functions[depth - 1];
        if (die.abbrev->kind == SYM_DIE_INLINED)
            status = name_function(locals, die.key, &locals->functions[depth]);
        else if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
            status = tell_local(locals, die, locals->functions[depth]);
    }
    return status;
}

static enum sym_status tell_all(struct locals *locals)
{
    struct sym_unit *unit = locals->unit;
    struct sym_place place = { .function_at = -1, .inlined_at = -1, .sequence_at = -1 };
    const struct sym_scopes *scopes = &unit->scopes;
    struct sym_die die;
    bool covers;
    enum sym_status status = sym_unit_place(locals->decoder, unit, locals->vaddr, &place);

    if (status || place.scope == SYM_NO_VALUE)
        return status;
    uint32_t scope = place.scope;
    while (scopes->items[scope].parent != SYM_NO_VALUE)
        scope = scopes->items[scope].parent;
    status = sym_die_open(locals->decoder, scopes->items[scope].die_key, &die);
    if (status || !die.abbrev)
        return status;
    status = sym_info_load_locations(die.unit->info);
    if (status == SYM_NO_MEMORY)
        return status;
    status = read_extent(locals, die, &covers, true);
    if (!status)
        status = find_innermost(locals, &die);
    return status ? status : tell_locals(locals, die);
}

enum sym_status sym_module_locals(struct sym_module *module, uint64_t vaddr, sym_local_fn visit,
                                  void *context, struct sym_error *error)
{
    struct sym_loaded *loaded = &module->loaded;
    struct locals locals = { .module = module,
                             .decoder = &loaded->dwarf.decoder,
                             .vaddr = vaddr,
                             .base_register = -1,
                             .visit = visit,
                             .context = context };
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = sym_module_load(module);

    if (!status && loaded->has_dwarf)
        status = sym_dwarf_unit(&loaded->dwarf, vaddr, NULL, &locals.unit);
    if (!status && locals.unit)
        status = tell_all(&locals);
    (void)base_account_enter(before);
    return status ? sym_module_fail(module, status, error) : SYM_OK;
}
