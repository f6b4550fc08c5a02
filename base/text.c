#include "base/text.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"

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
    bigger = base_realloc(text->bytes, wanted);
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

bool base_text_append(struct base_text *text, const char *bytes, size_t length)
{
    bool failed;

    base_text_add(text, bytes, length);
    failed = text->failed;
    text->failed = false;
    return !failed;
}

void base_text_adds(struct base_text *text, const char *string)
{
    base_text_add(text, string, strlen(string));
}

void base_text_addv(struct base_text *text, const char *format, va_list arguments)
{
    va_list again;
    int length;

    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && make_room(text, (size_t)length)) {
        (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void base_text_addf(struct base_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    base_text_addv(text, format, arguments);
    va_end(arguments);
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
    base_free(text->bytes);
    *text = (struct base_text){ .limit = text->limit };
}
