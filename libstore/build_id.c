/* Build IDs as the store has them: hexadecimal texts.  */
#include "libstore/store_internal.h"

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

size_t store_parse_build_id(const char *text, uint8_t *id, size_t capacity)
{
    size_t length = 0;

    for (; text && text[0] && length < capacity; text += 2) {
        int high = digit_value(text[0]), low = digit_value(text[1]);

        if (high < 0 || low < 0)
            break;
        id[length++] = (uint8_t)(high << 4 | low);
    }
    return length;
}
