#include "cmd/cli/utf8.h"

#include <stdint.h>

/* Lead bytes and the range of the second byte that keeps out overlong forms, surrogates and
 * what lies beyond U+10FFFF (Unicode, table 3-7).  */
static const struct {
    unsigned char first, last;
    unsigned char second_first, second_last;
    unsigned char length;
} forms[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
    { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
    { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

size_t utf8_character(const char *bytes, size_t length)
{
    const unsigned char *b = (const unsigned char *)bytes;

    if (b[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (b[0] < forms[i].first || b[0] > forms[i].last)
            continue;
        if (length < forms[i].length || b[1] < forms[i].second_first || b[1] > forms[i].second_last)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((b[k] & 0xc0) != 0x80)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}
