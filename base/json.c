#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/visible.h"

/* A character that JSON, or base/visible.h, wants escaped.  */
static void put_escaped(const char *bytes, size_t size, base_json_put_fn put, void *context)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *place = size == 1 && *bytes ? strchr(plain, *bytes) : NULL;
    uint32_t point = base_code_point(bytes, size);
    char text[8];

    if (place) {
        text[0] = '\\';
        text[1] = letters[place - plain];
        put(context, text, 2);
    } else if (point == UINT32_MAX) {
        put(context, "\xef\xbf\xbd", 3); /* U+FFFD */
    } else {
        (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)(point & 0xffff));
        put(context, text, 6);
    }
}

void base_json_string(const char *bytes, size_t length, base_json_put_fn put, void *context)
{
    size_t start = 0, size;

    put(context, "\"", 1);
    for (size_t i = 0; i < length; i += size) {
        if (base_shown_as_is(bytes + i, length - i, &size) && bytes[i] != '"' && bytes[i] != '\\')
            continue;
        put(context, bytes + start, i - start);
        put_escaped(bytes + i, size, put, context);
        start = i + size;
    }
    put(context, bytes + start, length - start);
    put(context, "\"", 1);
}
