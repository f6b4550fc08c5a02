#include "base/visible.h"
#include <stdio.h>

#include "base/utf8.h"

uint32_t base_code_point(const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;

    switch (size) {
    case 1:
        return b[0] < 0x80 ? b[0] : UINT32_MAX;
    case 2:
        return (uint32_t)(b[0] & 0x1f) << 6 | (b[1] & 0x3fu);
    case 3:
        return (uint32_t)(b[0] & 0x0f) << 12 | (uint32_t)(b[1] & 0x3f) << 6 | (b[2] & 0x3fu);
    default:
        return (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3f) << 12 |
               (uint32_t)(b[2] & 0x3f) << 6 | (b[3] & 0x3fu);
    }
}

static bool is_refused(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

bool base_shown_as_is(const char *bytes, size_t length, size_t *size)
{
    size_t character = base_utf8_character(bytes, length);

    *size = character ? character : 1;
    return character > 0 && !is_refused(base_code_point(bytes, character));
}

size_t base_escape(char escape[BASE_ESCAPE_BYTES], const char *bytes, size_t size)
{
    uint32_t point = base_code_point(bytes, size);
    int length;

    if (point == '\n' || point == '\t' || point == '\r')
        length = snprintf(escape, BASE_ESCAPE_BYTES, "\\%c",
                          point == '\n'   ? 'n'
                          : point == '\t' ? 't'
                                          : 'r');
    else if (point == UINT32_MAX)
        length = snprintf(escape, BASE_ESCAPE_BYTES, "\\x%02x", (unsigned char)bytes[0]);
    else if (point < 0x100)
        length = snprintf(escape, BASE_ESCAPE_BYTES, "\\x%02x", (unsigned)point);
    else
        length = snprintf(escape, BASE_ESCAPE_BYTES, "\\u%04x", (unsigned)(point & 0xffff));
    return length > 0 ? (size_t)length : 0;
}

void base_text_add_visible(struct base_text *text, const char *bytes, size_t length)
{
    size_t start = 0, size;

    for (size_t i = 0; i < length; i += size) {
        char escape[BASE_ESCAPE_BYTES];

        if (base_shown_as_is(bytes + i, length - i, &size))
            continue;
        base_text_add(text, bytes + start, i - start);
        base_text_add(text, escape, base_escape(escape, bytes + i, size));
        start = i + size;
    }
    base_text_add(text, bytes + start, length - start);
}
