/* bytes.c - numbers and strings from sections, as far as they are not read inline (base.h). */
#include "libsymbolize/symbolize_internal.h"
#include <string.h>

struct sym_cursor sym_cursor_at(const struct sym_bytes *bytes, uint64_t offset, bool big_endian)
{
    struct sym_cursor cursor = { .big_endian = big_endian };

    if (offset > bytes->size || !bytes->data) {
        cursor.failed = true;
        return cursor;
    }
    cursor.next = bytes->data + offset;
    cursor.left = bytes->size - (size_t)offset;
    return cursor;
}

uint64_t sym_read_long_uleb(struct sym_cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint64_t byte = sym_read_number(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    sym_skip(cursor, cursor->left + 1); /* no number has more than ten bytes */
    return 0;
}

int64_t sym_read_sleb(struct sym_cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint64_t byte = sym_read_number(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    sym_skip(cursor, cursor->left + 1);
    return 0;
}

const char *sym_read_string(struct sym_cursor *cursor)
{
    const uint8_t *end = cursor->left ? memchr(cursor->next, '\0', cursor->left) : NULL;

    if (!end) {
        sym_skip(cursor, cursor->left + 1);
        return "";
    }
    const char *string = (const char *)cursor->next;
    sym_skip(cursor, (size_t)(end - cursor->next) + 1);
    return string;
}
