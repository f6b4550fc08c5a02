#include "sampler-capture/clean_text.h"

#include <string.h>

#include "base/utf8.h"

void utf8_copy(char *buffer, size_t size, const char *text)
{
    buffer[base_utf8_copy(buffer, size - 1, text, strlen(text))] = '\0';
}

void utf8_copy_tail(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size) {
        text += length - (size - 1);
        /* Not into the middle of a character, whose other bytes are at most three.  */
        for (unsigned i = 0; i < 3 && ((unsigned char)*text & 0xc0) == 0x80; i++)
            text++;
    }
    utf8_copy(buffer, size, text);
}
