#include "cmd/fxtq/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/cli/cli.h"

static void make_room(struct text *text, size_t more)
{
    size_t wanted;
    char *bigger;

    if (more < text->capacity - text->length)
        return;
    wanted = text->capacity ? 2 * text->capacity : 64;
    while (wanted - text->length <= more)
        wanted *= 2;
    bigger = realloc(text->bytes, wanted);
    if (!bigger) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    text->bytes = bigger;
    text->capacity = wanted;
}

void text_add(struct text *text, const char *bytes, size_t length)
{
    make_room(text, length);
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_adds(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    make_room(text, (size_t)length);
    va_start(arguments, format);
    (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void text_add_literal(struct text *text, const char *string)
{
    text_add(text, "'", 1);
    for (const char *quote; (quote = strchr(string, '\'')) != NULL; string = quote + 1) {
        text_add(text, string, (size_t)(quote - string) + 1);
        text_add(text, "'", 1);
    }
    text_adds(text, string);
    text_add(text, "'", 1);
}

static void add_control(struct text *text, unsigned char byte)
{
    static const char known[] = "\n\t\r";
    static const char letters[] = "ntr";
    const char *place = byte ? strchr(known, byte) : NULL;

    if (place)
        text_addf(text, "\\%c", letters[place - known]);
    else
        text_addf(text, "\\x%02x", byte);
}

void text_add_visible(struct text *text, const char *bytes, size_t length)
{
    size_t i = 0;

    while (i < length) {
        unsigned char byte = (unsigned char)bytes[i];
        size_t size = base_utf8_character(bytes + i, length - i);

        if (byte < 0x20 || byte == 0x7f)
            add_control(text, byte);
        else if (size == 0)
            text_adds(text, "\xef\xbf\xbd");
        else if (size == 2 && byte == 0xc2 && (unsigned char)bytes[i + 1] < 0xa0) /* U+0080.. */
            add_control(text, (unsigned char)bytes[i + 1]);
        else
            text_add(text, bytes + i, size);
        i += size ? size : 1;
    }
}
