/* hex.h - bytes as hexadecimal digits.  */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Write two lower-case digits for each byte, and no NUL.  Returns their number.  */
static inline size_t base_hex(char *text, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *next = bytes;

    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[next[i] >> 4];
        text[2 * i + 1] = digits[next[i] & 15];
    }
    return 2 * length;
}

#endif /* BASE_HEX_H */
