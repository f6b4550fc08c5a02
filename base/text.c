#include "base/text.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for more bytes and a NUL.  */
static bool make_room(struct base_text *text, size_t more)
{
    size_t wanted = text->capacity ? text->capacity : 64;
    char *bigger;

    if (text->failed || more > SIZE_MAX / 4 - text->length ||
        (text->limit && more > text->limit - text->length)) {
        text->failed = true;
        return false;
    }
    if (more < text->capacity - text->length)
        return true;
    while (wanted - text->length <= more)
        wanted *= 2;
    bigger = realloc(text->bytes, wanted);
    if (!bigger) {
        text->failed = true;
        return false;
    }
    text->bytes = bigger;
    text->capacity = wanted;
    return true;
}

void base_text_add(struct base_text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        return;
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void base_text_adds(struct base_text *text, const char *string)
{
    base_text_add(text, string, strlen(string));
}

void base_text_addf(struct base_text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !make_room(text, (size_t)length))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void base_text_clear(struct base_text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->bytes)
        text->bytes[0] = '\0';
}

void base_text_release(struct base_text *text)
{
    free(text->bytes);
    *text = (struct base_text){ .limit = text->limit };
}
