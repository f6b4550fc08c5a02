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

/* Return the value of a digit of either case; -1: it is none.  */
static inline int base_hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Read a text that is nothing but two digits for each byte.  Returns the number of bytes; 0: it is
 * no such text, or it has more than capacity bytes, and what bytes has then means nothing.  */
static inline size_t base_unhex(const char *text, size_t length, uint8_t *bytes, size_t capacity)
{
    if (length % 2 || length / 2 > capacity)
        return 0;
    for (size_t i = 0; i < length; i += 2) {
        int high = base_hex_digit(text[i]), low = base_hex_digit(text[i + 1]);

        if (high < 0 || low < 0)
            return 0;
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    return length / 2;
}

#endif /* BASE_HEX_H */
