/* function_bounds.c - reads the ranges of FDEs, and no more of what leads to them than that takes.
 * libunwind reads the rest of these tables.  */
#include "libsymbolize/function_bounds.h"
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
    ENCODING_ABSOLUTE = 0x00, /* of the size of an address */
    ENCODING_ULEB = 0x01,
    ENCODING_U2 = 0x02,
    ENCODING_U4 = 0x03,
    ENCODING_U8 = 0x04,
    ENCODING_SIGNED = 0x08, /* of the size of an address, or with one of the above */
    ENCODING_FORM = 0x0f,
    ENCODING_PCREL = 0x10,
    ENCODING_BASE = 0x70,
    ENCODING_INDIRECT = 0x80,
    ENCODING_UNKNOWN = 0xff,
    LETTERS_MAX = 16, /* of an augmentation */
    BOUNDS_MAX = 1 << 24,
};

/* A section, and what was found out about its latest CIE: most FDEs have the same.  */
struct table {
    const struct sym_object *object;
    struct sym_bytes bytes;
    uint64_t vaddr;
    bool is_eh_frame;
    uint64_t common; /* offset of the CIE; UINT64_MAX: none yet */
    uint8_t encoding;
    uint8_t address_size;
};

static uint64_t offset_of(const struct table *table, const struct sym_cursor *cursor)
{
    return (uint64_t)(cursor->next - table->bytes.data);
}

/* The contents of the entry that begins at cursor, which moves behind it; is_long: of the 64-bit
 * form.  False: there is no more.  */
static bool next_entry(struct sym_cursor *cursor, struct sym_cursor *inside, bool *is_long)
{
    uint64_t length = sym_read_number(cursor, 4);

    *is_long = length == UINT32_MAX;
    if (*is_long)
        length = sym_read_number(cursor, 8);
    if (cursor->failed || length == 0 || length > cursor->left)
        return false;
    *inside = *cursor;
    inside->left = (size_t)length;
    sym_skip(cursor, length);
    return true;
}

/* ---- CIEs ---- */

/* Skips the address of a personality routine.  */
static void skip_pointer(const struct table *table, struct sym_cursor *cursor, uint8_t encoding)
{
    static const uint8_t sizes[] = { 0, 0, 2, 4, 8 };
    uint8_t form = encoding & (ENCODING_FORM & ~ENCODING_SIGNED);

    if (form == ENCODING_ABSOLUTE)
        sym_skip(cursor, table->object->is_64 ? 8 : 4);
    else if (form == ENCODING_ULEB)
        (void)sym_read_uleb(cursor);
    else if (form < sizeof sizes)
        sym_skip(cursor, sizes[form]);
    else
        cursor->failed = true;
}

/* What "zR" and its like say of the addresses of FDEs.  */
static void read_augmentation(struct table *table, struct sym_cursor *cursor, const char *letters)
{
    (void)sym_read_uleb(cursor); /* its length */
    table->encoding = ENCODING_ABSOLUTE;
    for (size_t i = 1; i < LETTERS_MAX && letters[i] && !cursor->failed; i++) {
        switch (letters[i]) {
        case 'R':
            table->encoding = (uint8_t)sym_read_number(cursor, 1);
            return;
        case 'L':
            sym_skip(cursor, 1);
            break;
        case 'P':
            skip_pointer(table, cursor, (uint8_t)sym_read_number(cursor, 1));
            break;
        case 'S': /* a signal frame; B and G: signed and tagged stacks of arm64 */
        case 'B':
        case 'G':
            break;
        default:
            table->encoding = ENCODING_UNKNOWN;
            return;
        }
    }
    if (cursor->failed)
        table->encoding = ENCODING_UNKNOWN;
}

/* Sets table->encoding and address_size by the CIE at offset.  */
static void read_common(struct table *table, uint64_t offset)
{
    struct sym_cursor cursor = sym_cursor_at(&table->bytes, offset, table->object->big_endian);
    struct sym_cursor inside;
    bool is_long;

    if (table->common == offset)
        return;
    table->common = offset;
    table->encoding = ENCODING_UNKNOWN;
    table->address_size = table->object->is_64 ? 8 : 4;
    if (!next_entry(&cursor, &inside, &is_long))
        return;
    uint64_t id = sym_read_number(&inside, is_long ? 8 : 4);
    if (id != (table->is_eh_frame ? 0 : is_long ? UINT64_MAX : UINT32_MAX))
        return;
    uint64_t version = sym_read_number(&inside, 1);
    size_t limit = inside.left < LETTERS_MAX ? inside.left : LETTERS_MAX;
    const char *letters = (const char *)inside.next;
    size_t length = limit ? strnlen(letters, limit) : 0;
    if (length == limit || (version != 1 && version != 3 && version != 4))
        return;
    sym_skip(&inside, length + 1);
    if (version == 4) { /* DWARF 4 and 5: sizes of an address and of a segment's number */
        table->address_size = (uint8_t)sym_read_number(&inside, 1);
        if (sym_read_number(&inside, 1) != 0)
            return;
    }
    (void)sym_read_uleb(&inside);
    (void)sym_read_sleb(&inside);
    if (version == 1)
        sym_skip(&inside, 1);
    else
        (void)sym_read_uleb(&inside);
    if (inside.failed || (letters[0] && letters[0] != 'z'))
        return;
    if (letters[0])
        read_augmentation(table, &inside, letters);
    else
        table->encoding = ENCODING_ABSOLUTE;
}

/* ---- FDEs ---- */

/* A number of the form that encoding tells, without what it counts from.  */
static uint64_t read_form(const struct table *table, struct sym_cursor *cursor, uint8_t encoding)
{
    bool is_signed = encoding & ENCODING_SIGNED;
    size_t size = 0;

    switch (encoding & (ENCODING_FORM & ~ENCODING_SIGNED)) {
    case ENCODING_ABSOLUTE:
        size = table->address_size;
        break;
    case ENCODING_ULEB:
        return is_signed ? (uint64_t)sym_read_sleb(cursor) : sym_read_uleb(cursor);
    case ENCODING_U2:
        size = 2;
        break;
    case ENCODING_U4:
        size = 4;
        break;
    case ENCODING_U8:
        size = 8;
        break;
    default:
        break;
    }
    if (size != 2 && size != 4 && size != 8) {
        cursor->failed = true;
        return 0;
    }
    uint64_t value = sym_read_number(cursor, size);
    unsigned unused = 64 - 8 * (unsigned)size;
    return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* The range of an FDE whose addresses begin at cursor.  False: it cannot be read, or is empty.  */
static bool read_range(const struct table *table, struct sym_cursor *cursor, struct sym_range *out)
{
    uint8_t encoding = table->encoding, base = encoding & ENCODING_BASE;
    uint64_t place = table->vaddr + offset_of(table, cursor);

    if (encoding == ENCODING_UNKNOWN || (encoding & ENCODING_INDIRECT) ||
        (base != 0 && base != ENCODING_PCREL))
        return false;
    uint64_t start = read_form(table, cursor, encoding);
    uint64_t size = read_form(table, cursor, encoding & (ENCODING_FORM & ~ENCODING_SIGNED));
    if (base == ENCODING_PCREL)
        start += place;
    if (!table->object->is_64)
        start &= UINT32_MAX;
    *out = (struct sym_range){ .low = start };
    return !cursor->failed && size > 0 && !__builtin_add_overflow(start, size, &out->high);
}

static enum sym_status add_range(struct sym_bounds *bounds, struct sym_ranges *ranges,
                                 struct sym_range range)
{
    if (!base_make_room(&bounds->starts, &bounds->capacity, bounds->count + 1,
                        sizeof *bounds->starts))
        return SYM_NO_MEMORY;
    range.value = (uint32_t)bounds->count;
    bounds->starts[bounds->count++] = range.low;
    return sym_ranges_add(ranges, range);
}

enum sym_status sym_bounds_add(struct sym_bounds *bounds, struct sym_ranges *ranges,
                               const struct sym_object *object, struct sym_bytes section,
                               uint64_t vaddr, bool is_eh_frame)
{
    struct table table = { .object = object,
                           .bytes = section,
                           .vaddr = vaddr,
                           .is_eh_frame = is_eh_frame,
                           .common = UINT64_MAX };
    struct sym_cursor cursor = sym_cursor_at(&section, 0, object->big_endian), inside;
    enum sym_status status = SYM_OK;
    struct sym_range range;
    bool is_long;

    while (!status && bounds->count < BOUNDS_MAX && next_entry(&cursor, &inside, &is_long)) {
        uint64_t place = offset_of(&table, &inside);
        uint64_t id = sym_read_number(&inside, is_long ? 8 : 4);
        if (id == (is_eh_frame ? 0 : is_long ? UINT64_MAX : UINT32_MAX) || inside.failed)
            continue;
        if (is_eh_frame && id > place)
            continue;
        read_common(&table, is_eh_frame ? place - id : id);
        if (read_range(&table, &inside, &range) && sym_object_code(object, range.low))
            status = add_range(bounds, ranges, range);
    }
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* ---- All ---- */

enum sym_status sym_bounds_read(struct sym_bounds *bounds, const struct sym_object *object)
{
    static const char *const names[] = { ".eh_frame", ".debug_frame" };
    struct sym_ranges ranges = { 0 };
    enum sym_status status = SYM_OK;

    if (object->relocatable) /* the tables hold nothing but zeros before they are linked */
        return SYM_OK;
    for (size_t i = 0; i < 2 && !status; i++) {
        const struct sym_elf_section *section = sym_object_by_name(object, names[i]);
        if (section && !(section->flags & SHF_COMPRESSED))
            status = sym_bounds_add(bounds, &ranges, object, sym_object_raw(object, section),
                                    section->vaddr, i == 0);
    }
    if (!status)
        status = sym_segments_build(&bounds->segments, &ranges);
    sym_ranges_release(&ranges);
    return status;
}

bool sym_bounds_find(const struct sym_bounds *bounds, uint64_t vaddr, struct sym_span *span,
                     uint64_t *start)
{
    const struct sym_segments *segments = &bounds->segments;
    ptrdiff_t at = sym_segments_narrow(segments->items, segments->count, vaddr, -1, span);

    if (at < 0 || segments->items[at].value == SYM_NO_VALUE)
        return false;
    *start = bounds->starts[segments->items[at].value];
    return true;
}

void sym_bounds_release(struct sym_bounds *bounds)
{
    base_free(bounds->starts);
    sym_segments_release(&bounds->segments);
    *bounds = (struct sym_bounds){ .starts = NULL };
}
