#include "libstore/store_text.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Eight ASCII characters, none of them NUL.  */
static bool is_plain(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

/* The length of the character at bytes; 0: there is none, or NUL.  */
static size_t character(const char *bytes, size_t length)
{
    return bytes[0] ? base_utf8_character(bytes, length) : 0;
}

size_t store_utf8_clean(const char *bytes, size_t length, char *out)
{
    static const char replacement[3] = { '\xef', '\xbf', '\xbd' };
    size_t written = 0;

    for (size_t at = 0; at < length;) {
        size_t size;

        if (length - at >= 8 && is_plain(bytes + at)) {
            memcpy(out + written, bytes + at, 8);
            at += 8;
            written += 8;
            continue;
        }
        size = character(bytes + at, length - at);
        memcpy(out + written, size ? bytes + at : replacement, size ? size : sizeof replacement);
        written += size ? size : sizeof replacement;
        at += size ? size : 1;
    }
    return written;
}

bool store_utf8_is_clean(const char *bytes, size_t length)
{
    while (length > 0) {
        size_t size = length >= 8 && is_plain(bytes) ? 8 : character(bytes, length);

        if (size == 0)
            return false;
        bytes += size;
        length -= size;
    }
    return true;
}

size_t store_utf8_cut(const char *bytes, size_t limit)
{
    for (size_t back = 0; back < 4 && back < limit; back++)
        if (((unsigned char)bytes[limit - back] & 0xc0) != 0x80)
            return limit - back;
    return limit;
}
