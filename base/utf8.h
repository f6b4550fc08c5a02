/* utf8.h - which bytes are text (RFC 3629): shortest forms, no surrogates, nothing beyond U+10FFFF.
 *
 * Between the parts of the toolchain only.  It is a header without libc, since libfxt/fidl has to
 * be freestanding.  */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many of the length bytes at text, at least 1, are its first character; 0 when the first of
 * them begins none.  */
static inline size_t base_utf8_character(const void *text, size_t length)
{
    const uint8_t *bytes = text;
    uint8_t lead = bytes[0];
    uint8_t lowest = 0x80; /* the range of the second byte depends on the first */
    uint8_t highest = 0xbf;
    size_t size;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4) /* 0xc0 and 0xc1 would be longer than needed */
        return 0;
    size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length < size)
        return 0;
    if (lead == 0xe0)
        lowest = 0xa0;
    else if (lead == 0xed)
        highest = 0x9f; /* surrogates lie above */
    else if (lead == 0xf0)
        lowest = 0x90;
    else if (lead == 0xf4)
        highest = 0x8f;
    if (bytes[1] < lowest || bytes[1] > highest)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Copy length bytes of text to out, which has room for size, with '?' in place of each byte that is
 * not part of a character.  The copy ends before the first character that does not fit, and has no
 * NUL.  Returns its length.  (utf8.c; not for libfxt/fidl)  */
size_t base_utf8_copy(char *out, size_t size, const char *text, size_t length);

#endif /* BASE_UTF8_H */
