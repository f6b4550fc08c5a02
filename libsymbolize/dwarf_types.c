/* dwarf_types.c - sizes of types, and expressions that say where a variable is. */
#include "libsymbolize/symbolize_internal.h"

enum {
    HOPS_MAX = 64,         /* from a type to the one that has a size */
    DIMENSIONS_MAX = 1024, /* of an array */
};

/* ---- Sizes ---- */

/* What a DIE of a type or of an array's dimension says.  */
struct facts {
    bool has_size, has_count, has_upper, has_type;
    uint64_t size, count, upper, lower;
    uint64_t type; /* key */
};

/* A number that is there and not below 0.  */
static bool take_number(const struct sym_value *value, uint64_t *number)
{
    if (value->kind == SYM_VALUE_CONSTANT)
        *number = value->number;
    return value->kind == SYM_VALUE_CONSTANT;
}

/* Reads the attributes of a copy: the DIE stays in front of them.  */
static void read_facts(const struct sym_decoder *decoder, struct sym_die die, struct facts *facts)
{
    const struct sym_attribute *attribute = &die.abbrevs->attributes[die.abbrev->first_attribute];
    const struct sym_attribute *end = attribute + die.abbrev->attribute_count;
    struct sym_value value;

    *facts = (struct facts){ 0 };
    for (; attribute < end && !die.cursor.failed; attribute++) {
        sym_value_read(die.unit, attribute, &die.cursor, &value);
        if (attribute->name == DW_AT_byte_size)
            facts->has_size = take_number(&value, &facts->size);
        else if (attribute->name == DW_AT_count)
            facts->has_count = take_number(&value, &facts->count);
        else if (attribute->name == DW_AT_upper_bound)
            facts->has_upper = take_number(&value, &facts->upper);
        else if (attribute->name == DW_AT_lower_bound)
            (void)take_number(&value, &facts->lower);
        else if (attribute->name == DW_AT_type && sym_value_die(decoder, &value))
            facts->type = value.number, facts->has_type = true;
    }
}

/* Multiplies by the dimensions of an array.  False: the product is too large.  */
static bool multiply_dimensions(const struct sym_decoder *decoder, struct sym_die die,
                                uint64_t *factor)
{
    uint32_t depth = 0;
    struct facts facts;

    for (int i = 0; sym_die_next(&die, &depth); i++) {
        uint64_t count = 1;

        if (i == DIMENSIONS_MAX)
            return false;
        if (depth != 1 || die.abbrev->tag != DW_TAG_subrange_type)
            continue;
        read_facts(decoder, die, &facts);
        if (facts.has_count)
            count = facts.count;
        else if (facts.has_upper)
            count = facts.upper - facts.lower + 1;
        if (__builtin_mul_overflow(*factor, count, factor))
            return false;
    }
    return true;
}

/* The size of a type without one of its own; *known is false where the type it is made of tells,
 * which is then the next.  */
static uint64_t pointer_size(struct sym_decoder *decoder, const struct sym_die *die,
                             const struct facts *facts, bool *known)
{
    struct sym_die member;

    *known = true;
    switch (die->abbrev->tag) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return die->unit->sizes.address_size;
    case DW_TAG_ptr_to_member_type: /* of a function: with an adjustment of this */
        if (facts->has_type && !sym_die_open(decoder, facts->type, &member) && member.abbrev &&
            member.abbrev->tag == DW_TAG_subroutine_type)
            return 2 * (uint64_t)die->unit->sizes.address_size;
        return die->unit->sizes.address_size;
    default:
        *known = false;
        return 0;
    }
}

enum sym_status sym_type_size(struct sym_decoder *decoder, uint64_t type_key, uint64_t *size)
{
    uint64_t factor = 1, one = 0;
    bool known = false;

    for (int hops = 0; hops <= HOPS_MAX && !known; hops++) {
        struct sym_die die;
        struct facts facts;
        enum sym_status status = sym_die_open(decoder, type_key, &die);

        if (status || !die.abbrev)
            return status ? status : SYM_NOT_FOUND;
        read_facts(decoder, die, &facts);
        known = facts.has_size;
        one = facts.has_size ? facts.size : pointer_size(decoder, &die, &facts, &known);
        if (known)
            break;
        if (die.abbrev->tag == DW_TAG_array_type && !multiply_dimensions(decoder, die, &factor))
            return SYM_NOT_FOUND;
        if (!facts.has_type)
            return SYM_NOT_FOUND;
        type_key = facts.type;
    }
    return known && !__builtin_mul_overflow(one, factor, size) ? SYM_OK : SYM_NOT_FOUND;
}

/* ---- Expressions ---- */

struct sym_cursor sym_block_read(const struct sym_unit *unit, uint16_t form,
                                 struct sym_cursor *cursor)
{
    struct sym_cursor block = *cursor;
    uint64_t length;

    switch (form) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
        length = sym_read_uleb(cursor);
        break;
    case DW_FORM_block1:
        length = sym_read_number(cursor, 1);
        break;
    case DW_FORM_block2:
        length = sym_read_number(cursor, 2);
        break;
    case DW_FORM_block4:
        length = sym_read_number(cursor, 4);
        break;
    default:
        sym_form_skip(&unit->sizes, form, cursor);
        block.left = 0;
        return block;
    }
    block = *cursor;
    sym_skip(cursor, length);
    block.left = cursor->failed ? 0 : (size_t)length;
    return block;
}

bool sym_expression_register(struct sym_cursor expression, uint8_t *number)
{
    uint64_t operation = sym_read_number(&expression, 1);

    *number = (uint8_t)(operation - DW_OP_reg0);
    return !expression.failed && operation >= DW_OP_reg0 && operation <= DW_OP_reg31;
}

bool sym_expression_offset(struct sym_cursor expression, int base_register, int64_t *offset)
{
    uint64_t operation = sym_read_number(&expression, 1);
    bool from_base = operation == DW_OP_fbreg ||
                     (base_register >= 0 && operation == DW_OP_breg0 + (uint64_t)base_register);

    *offset = sym_read_sleb(&expression);
    if (!from_base || expression.failed)
        return false;
    /* An array of Fortran is where the variable points to.  */
    return expression.left == 0 || (expression.left == 1 && expression.next[0] == DW_OP_deref);
}

bool sym_expression_address(const struct sym_unit *unit, struct sym_cursor expression,
                            uint64_t *vaddr)
{
    uint64_t operation = sym_read_number(&expression, 1);

    if (operation == DW_OP_addr)
        *vaddr = sym_read_number(&expression, unit->sizes.address_size);
    else if (operation == DW_OP_addrx || operation == DW_OP_GNU_addr_index)
        *vaddr = sym_indexed_address(unit, sym_read_uleb(&expression));
    else
        return false;
    if (expression.left) { /* one of several variables that the compiler put together */
        if (sym_read_number(&expression, 1) != DW_OP_plus_uconst)
            return false;
        *vaddr += sym_read_uleb(&expression);
    }
    return !expression.failed && expression.left == 0;
}
