#include "tests/support/hex_text.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t hex_bytes(const char *text, uint8_t *bytes, size_t capacity)
{
    size_t used = 0;

    for (;;) {
        char digits[3] = { 0 };
        while (*text == ' ')
            text++;
        if (!*text)
            return used;
        memcpy(digits, text, text[1] ? 2 : 1);
        ck_assert_msg(isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]),
                      "no byte: \"%s\"", digits);
        ck_assert_uint_lt(used, capacity);
        bytes[used++] = (uint8_t)strtoul(digits, NULL, 16);
        text += 2;
    }
}
