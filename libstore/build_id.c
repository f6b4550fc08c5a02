/* Build IDs as the store has them: hexadecimal texts.  */
#include "base/hex.h"
#include "libstore/store_internal.h"

size_t store_parse_build_id(const char *text, uint8_t *id, size_t capacity)
{
    size_t length = 0;

    for (; text && text[0] && length < capacity; text += 2) {
        int high = base_hex_digit(text[0]), low = base_hex_digit(text[1]);

        if (high < 0 || low < 0)
            break;
        id[length++] = (uint8_t)(high << 4 | low);
    }
    return length;
}
