#include "base/utf8.h"

#include <string.h>

size_t base_utf8_copy(char *out, size_t size, const char *text, size_t length)
{
    size_t used = 0;

    while (length > 0) {
        size_t character = base_utf8_character(text, length);
        size_t step = character ? character : 1;

        if (step > size - used)
            break;
        if (character)
            memcpy(out + used, text, step);
        else
            out[used] = '?';
        used += step;
        text += step;
        length -= step;
    }
    return used;
}
