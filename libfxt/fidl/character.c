/* UTF-8, as strict as FIDL asks: shortest form, no surrogates, nothing over U+10FFFF.  */
#include "libfxt/fidl/wire.h"

size_t fidl_character(const uint8_t *text, size_t left)
{
    uint8_t lead = text[0];
    uint8_t lowest = 0x80; /* the range of the second byte depends on the first */
    uint8_t highest = 0xbf;
    size_t length;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4) /* 0xc0 and 0xc1 would be longer than needed */
        return 0;
    length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (left < length)
        return 0;
    if (lead == 0xe0)
        lowest = 0xa0;
    else if (lead == 0xed)
        highest = 0x9f; /* surrogates lie above */
    else if (lead == 0xf0)
        lowest = 0x90;
    else if (lead == 0xf4)
        highest = 0x8f;
    if (text[1] < lowest || text[1] > highest)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}
