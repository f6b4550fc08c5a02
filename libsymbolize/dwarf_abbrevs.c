/* dwarf_abbrevs.c - tables of abbreviations, prepared for walking over DIEs fast.
 *
 * Most DIEs are of no interest and most have a fixed size: a walk gets over those with one
 * addition. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"

/* How the bytes that a form takes are found.  */
enum step {
    STEP_END,
    STEP_NONE, /* a pause: add does not hold more */
    STEP_LEB,
    STEP_STRING,
    STEP_BLOCK, /* its length as LEB128 */
    STEP_BLOCK1,
    STEP_BLOCK2,
    STEP_BLOCK4,
    STEP_INDIRECT, /* the form comes first */
    STEP_UNKNOWN,
};

static enum step step_of(uint16_t form)
{
    switch (form) {
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return STEP_LEB;
    case DW_FORM_string:
        return STEP_STRING;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return STEP_BLOCK;
    case DW_FORM_block1:
        return STEP_BLOCK1;
    case DW_FORM_block2:
        return STEP_BLOCK2;
    case DW_FORM_block4:
        return STEP_BLOCK4;
    case DW_FORM_indirect:
        return STEP_INDIRECT;
    default:
        return STEP_UNKNOWN;
    }
}

int sym_form_size(const struct sym_sizes *sizes, uint16_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sup8:
    case DW_FORM_ref_sig8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return sizes->address_size;
    case DW_FORM_ref_addr: /* DWARF 2 made it as large as an address */
        return sizes->version <= 2 ? sizes->address_size : sizes->offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return sizes->offset_size;
    default:
        return step_of(form) == STEP_UNKNOWN ? -2 : -1;
    }
}

/* ---- Skipping ---- */

static void take_step(enum step step, const struct sym_sizes *sizes, struct sym_cursor *cursor)
{
    switch (step) {
    case STEP_END:
    case STEP_NONE:
        break;
    case STEP_LEB:
        (void)sym_read_uleb(cursor);
        break;
    case STEP_STRING:
        (void)sym_read_string(cursor);
        break;
    case STEP_BLOCK:
        sym_skip(cursor, sym_read_uleb(cursor));
        break;
    case STEP_BLOCK1:
        sym_skip(cursor, sym_read_number(cursor, 1));
        break;
    case STEP_BLOCK2:
        sym_skip(cursor, sym_read_number(cursor, 2));
        break;
    case STEP_BLOCK4:
        sym_skip(cursor, sym_read_number(cursor, 4));
        break;
    case STEP_INDIRECT: {
        uint64_t form = sym_read_uleb(cursor);
        if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX)
            cursor->failed = true; /* neither can stand here (7.5.3) */
        else
            sym_form_skip(sizes, (uint16_t)form, cursor);
        break;
    }
    case STEP_UNKNOWN:
        cursor->failed = true;
        break;
    }
}

void sym_form_skip(const struct sym_sizes *sizes, uint16_t form, struct sym_cursor *cursor)
{
    int size = sym_form_size(sizes, form);

    if (size >= 0)
        sym_skip(cursor, (uint64_t)size);
    else
        take_step(step_of(form), sizes, cursor);
}

void sym_abbrev_skip_steps(const struct sym_abbrevs *abbrevs, const struct sym_abbrev *abbrev,
                           const struct sym_sizes *sizes, struct sym_cursor *cursor)
{
    const struct sym_step *step = &abbrevs->steps[abbrev->first_step];

    for (;; step++) {
        sym_skip(cursor, step->add);
        if (step->then == STEP_END || cursor->failed)
            break;
        take_step((enum step)step->then, sizes, cursor);
    }
}

/* ---- Reading ---- */

static enum sym_die_kind kind_of(uint16_t tag, bool has_addresses)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_entry_point:
        return has_addresses ? SYM_DIE_FUNCTION : SYM_DIE_ABSTRACT;
    case DW_TAG_inlined_subroutine:
        return SYM_DIE_INLINED;
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return SYM_DIE_TYPE;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
        return SYM_DIE_CLASS;
    default:
        return SYM_DIE_PLAIN;
    }
}

static enum sym_status add_attribute(struct sym_abbrevs *abbrevs, uint64_t name, uint64_t form,
                                     int64_t constant)
{
    if (!base_make_room(&abbrevs->attributes, &abbrevs->attribute_capacity,
                        abbrevs->attribute_count + 1, sizeof *abbrevs->attributes))
        return SYM_NO_MEMORY;
    if (name > UINT16_MAX || constant != (int32_t)constant)
        name = 0;
    abbrevs->attributes[abbrevs->attribute_count++] = (struct sym_attribute){
        .name = (uint16_t)name,
        .form = form <= UINT16_MAX ? (uint16_t)form : 0, /* 0 is no form: unknown */
        .constant = name ? (int32_t)constant : 0,
    };
    return SYM_OK;
}

static enum sym_status add_step(struct sym_abbrevs *abbrevs, uint32_t add, enum step then)
{
    if (!base_make_room(&abbrevs->steps, &abbrevs->step_capacity, abbrevs->step_count + 1,
                        sizeof *abbrevs->steps))
        return SYM_NO_MEMORY;
    abbrevs->steps[abbrevs->step_count++] = (struct sym_step){ .add = (uint16_t)add,
                                                               .then = (uint8_t)then };
    return SYM_OK;
}

/* The steps over a DIE whose size is not fixed, or is so large that it is not held.  */
static enum sym_status add_steps(struct sym_abbrevs *abbrevs, const struct sym_abbrev *abbrev,
                                 const struct sym_sizes *sizes)
{
    enum sym_status status = SYM_OK;
    uint32_t add = 0;

    for (uint32_t i = 0; i < abbrev->attribute_count && !status; i++) {
        uint16_t form = abbrevs->attributes[abbrev->first_attribute + i].form;
        int size = sym_form_size(sizes, form);
        if (size < 0)
            status = add_step(abbrevs, add, step_of(form));
        else if (add + (uint32_t)size > UINT16_MAX)
            status = add_step(abbrevs, add, STEP_NONE);
        add = size < 0                            ? 0
              : add + (uint32_t)size > UINT16_MAX ? (uint32_t)size
                                                  : add + (uint32_t)size;
    }
    return status ? status : add_step(abbrevs, add, STEP_END);
}

/* Fills what follows from the attributes.  */
static enum sym_status prepare(struct sym_abbrevs *abbrevs, struct sym_abbrev *abbrev,
                               const struct sym_sizes *sizes)
{
    const struct sym_attribute *attributes = &abbrevs->attributes[abbrev->first_attribute];
    bool is_fixed = true, has_addresses = false;
    uint32_t size = 0;

    abbrev->sibling = SYM_NO_SIBLING;
    for (uint32_t i = 0; i < abbrev->attribute_count; i++) {
        int form_size = sym_form_size(sizes, attributes[i].form);
        has_addresses |= attributes[i].name == DW_AT_low_pc || attributes[i].name == DW_AT_ranges;
        abbrev->unknown |= form_size == -2;
        if (attributes[i].name == DW_AT_sibling && is_fixed && size < SYM_NO_SIBLING &&
            (attributes[i].form == DW_FORM_ref4 || attributes[i].form == DW_FORM_ref8 ||
             attributes[i].form == DW_FORM_ref2 || attributes[i].form == DW_FORM_ref1)) {
            abbrev->sibling = (uint16_t)size;
            abbrev->sibling_size = (uint8_t)form_size;
        }
        is_fixed &= form_size >= 0;
        size += form_size >= 0 ? (uint32_t)form_size : 0;
    }
    abbrev->kind = (uint8_t)kind_of(abbrev->tag, has_addresses);
    abbrev->size = is_fixed && size < SYM_NOT_FIXED ? (uint16_t)size : SYM_NOT_FIXED;
    abbrev->fast = abbrev->size;
    if (abbrev->kind == SYM_DIE_FUNCTION ||
        (abbrev->has_children && abbrev->sibling != SYM_NO_SIBLING &&
         (abbrev->kind == SYM_DIE_TYPE || abbrev->kind == SYM_DIE_CLASS)))
        abbrev->fast = SYM_NOT_FIXED;
    abbrev->first_step = (uint32_t)abbrevs->step_count;
    return abbrev->size == SYM_NOT_FIXED ? add_steps(abbrevs, abbrev, sizes) : SYM_OK;
}

/* Reads pairs of name and form up to the pair of zeros.  */
static enum sym_status read_attributes(struct sym_abbrevs *abbrevs, struct sym_cursor *cursor,
                                       bool keep)
{
    enum sym_status status = SYM_OK;

    while (!status) {
        uint64_t name = sym_read_uleb(cursor);
        uint64_t form = sym_read_uleb(cursor);
        int64_t constant = form == DW_FORM_implicit_const ? sym_read_sleb(cursor) : 0;
        if (cursor->failed)
            return SYM_MALFORMED;
        if (name == 0 && form == 0)
            break;
        if (keep)
            status = add_attribute(abbrevs, name, form, constant);
    }
    return status;
}

static enum sym_status read_declaration(struct sym_abbrevs *abbrevs, struct sym_cursor *cursor,
                                        uint64_t code, const struct sym_sizes *sizes, bool keep)
{
    struct sym_abbrev abbrev = { .code = (uint32_t)code,
                                 .first_attribute = (uint32_t)abbrevs->attribute_count };
    uint64_t tag = sym_read_uleb(cursor);

    abbrev.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    abbrev.has_children = sym_read_number(cursor, 1) != 0;
    enum sym_status status = read_attributes(abbrevs, cursor, keep);
    size_t count = abbrevs->attribute_count - abbrev.first_attribute;
    if (status || !keep)
        return status;
    if (count > UINT16_MAX || code > UINT32_MAX || abbrevs->attribute_count > UINT32_MAX)
        return SYM_MALFORMED;
    abbrev.attribute_count = (uint16_t)count;
    status = prepare(abbrevs, &abbrev, sizes);
    if (status)
        return status;
    if (!base_make_room(&abbrevs->items, &abbrevs->capacity, abbrevs->count + 1,
                        sizeof *abbrevs->items))
        return SYM_NO_MEMORY;
    abbrevs->is_sparse |= code != abbrevs->count + 1;
    abbrevs->items[abbrevs->count++] = abbrev;
    return SYM_OK;
}

static int compare_abbrevs(const void *a, const void *b)
{
    const struct sym_abbrev *left = a, *right = b;

    if (left->code != right->code)
        return left->code < right->code ? -1 : 1;
    return (left->first_attribute > right->first_attribute) -
           (left->first_attribute < right->first_attribute);
}

enum sym_status sym_abbrevs_read(struct sym_abbrevs *abbrevs, const struct sym_bytes *section,
                                 uint64_t offset, uint64_t limit, const struct sym_sizes *sizes,
                                 uint64_t only)
{
    struct sym_cursor cursor = sym_cursor_at(section, offset, false);
    enum sym_status status = SYM_OK;

    /* An array, also where no declaration has an attribute: positions in it are taken anyway.  */
    if (!base_make_room(&abbrevs->attributes, &abbrevs->attribute_capacity, 1,
                        sizeof *abbrevs->attributes))
        return SYM_NO_MEMORY;
    abbrevs->count = abbrevs->attribute_count = abbrevs->step_count = 0;
    abbrevs->is_sparse = false;
    if (limit > offset && limit - offset < cursor.left)
        cursor.left = (size_t)(limit - offset);
    while (cursor.left && !status) { /* some linkers cut the final zero off */
        uint64_t code = sym_read_uleb(&cursor);
        if (cursor.failed || code == 0)
            break;
        status = read_declaration(abbrevs, &cursor, code, sizes, !only || code == only);
        if (only && abbrevs->count)
            break;
    }
    if (abbrevs->is_sparse)
        qsort(abbrevs->items, abbrevs->count, sizeof *abbrevs->items, compare_abbrevs);
    return !status && cursor.failed ? SYM_MALFORMED : status;
}

const struct sym_abbrev *sym_abbrevs_search(const struct sym_abbrevs *abbrevs, uint64_t code)
{
    size_t low = 0, high = abbrevs->count;

    /* The first that is not below.  */
    BASE_BISECT(low, high, i, abbrevs->items[i].code < code);
    return low < abbrevs->count && abbrevs->items[low].code == code ? &abbrevs->items[low] : NULL;
}

void sym_abbrevs_release(struct sym_abbrevs *abbrevs)
{
    base_free(abbrevs->items);
    base_free(abbrevs->attributes);
    base_free(abbrevs->steps);
    *abbrevs = (struct sym_abbrevs){ 0 };
}
